//! Evaluations of ADK: sets of cases, the results of running them, and the lists of questions that came before those.
//!
//! A case is a conversation as it should be, and is read as one that was had.

use super::{
    Log, Unit,
    reading::{EXPECTED, Reading, has_any, is_list},
};
use crate::{
    error::Error,
    text::Text,
    trace::{
        decode,
        messages::parts::{self, Keys, found, not_an_object},
        stored::Found,
    },
    value::{Member, Value},
};

pub const LOG: Log = Log { name: "adk_eval", title: "ADK eval sets", unit: Unit::Record, fits, read };

/// A list of questions is one conversation.
pub const QUESTIONS: Log =
    Log { name: "adk_eval", title: "ADK eval sets", unit: Unit::File, fits: is_question, read: read_questions };

const CASES: &[&str] = &["eval_cases", "evalCases"];
const RESULTS: &[&str] = &["eval_case_results", "evalCaseResults"];
const CASE_ID: &[&str] = &["eval_id", "evalId", "case_id", "caseId"];
const CONVERSATION: &str = "conversation";
const SESSION_ID: &[&str] = &["session_id", "sessionId"];
const PER_INVOCATION: &[&str] = &["eval_metric_result_per_invocation", "evalMetricResultPerInvocation"];
const SESSION: &[&str] = &["session_details", "sessionDetails"];
const EVENTS: &str = "events";
const ACTUAL: &[&str] = &["actual_invocation", "actualInvocation"];
const WANTED: &[&str] = &["expected_invocation", "expectedInvocation"];
const STATUS: &[&str] = &["final_eval_status", "finalEvalStatus"];
/// What another tool has for the final response.
const AGENT_CONTENT: &[&str] = &["agent_content", "agentContent"];
const FINAL_RESPONSE: &[&str] = &["final_response", "finalResponse"];
const DATA: &str = "data";
const EXPECTED_USE: &[&str] = &["expected_tool_use", "expectedToolUse"];
const USE: Keys = Keys { id: &[], name: &["tool_name", "toolName"], arguments: &["tool_input", "toolInput"] };

fn fits(record: Value<'_>) -> bool {
    // Results were written as JSON text inside of JSON.
    if let Value::Text(Text::Utf8(text)) = record {
        return RESULTS.iter().any(|key| memchr::memmem::find(text, key.as_bytes()).is_some());
    }
    let are_questions = |items: &[Value<'_>]| items.iter().any(|item| is_question(*item));
    has_any(record, CASES)
        || has_any(record, RESULTS)
        || is_list(record.get(CONVERSATION)) && has_any(record, CASE_ID)
        || matches!(record.get(DATA), Some(Value::Array(items)) if are_questions(items))
}

fn is_question(record: Value<'_>) -> bool {
    record.get("query").is_some() && EXPECTED_USE.iter().any(|key| is_list(record.get(key)))
}

fn read<'a>(found: &mut Found<'a>, records: &[Value<'a>]) -> Result<(), Error> {
    for (index, &record) in records.iter().enumerate() {
        let record = decode::decoded(found.reader, record);
        if !matches!(record, Value::Object(_)) {
            found.problems.push(not_an_object("an ADK eval set", record).at_index(index));
            continue;
        }
        let mut is_read = false;
        for (keys, are_results) in [(CASES, false), (RESULTS, true)] {
            let Some((key, cases)) = parts::found(record, keys) else { continue };
            is_read = true;
            let Value::Array(cases) = cases else {
                let message = format!("expected a list, got {}", cases.kind());
                found.problems.push(Error::wrong_type(message).at_key(Text::from(key)).at_index(index));
                continue;
            };
            for (inner, &item) in cases.iter().enumerate() {
                let place = |error: Error| error.at_index(inner).at_key(Text::from(key)).at_index(index);
                if are_results { result(found, item, place) } else { case(found, item, place) }
            }
        }
        if !is_read {
            case(found, record, |error| error.at_index(index));
        }
    }
    Ok(())
}

fn case<'a>(found: &mut Found<'a>, case: Value<'a>, place: impl Fn(Error) -> Error) {
    if !matches!(case, Value::Object(_)) {
        found.problems.push(place(not_an_object("an eval case", case)));
        return;
    }
    let mut reading = Reading::new(found.reader);
    match case.get(DATA) {
        Some(Value::Array(_)) => reading.each(case, DATA, question),
        _ => reading.each(case, CONVERSATION, invocation),
    }
    let (reader, is_reported) = (found.reader, is_list(case.get(CONVERSATION)) || is_list(case.get(DATA)));
    let trace = reading.finish(found, place);
    trace.id = parts::id(reader, case, CASE_ID).or_else(|| parts::text(case, &["name"]));
    trace.test_id = trace.id;
    trace.reported = is_reported;
}

/// A case that was run: what came of each invocation, beside what should.
fn result<'a>(found: &mut Found<'a>, result: Value<'a>, place: impl Fn(Error) -> Error) {
    if !matches!(result, Value::Object(_)) {
        found.problems.push(place(not_an_object("the result of an eval case", result)));
        return;
    }
    let mut reading = Reading::new(found.reader);
    let (mut expected, mut is_expected) = (Vec::new(), false);
    let key = match parts::found(result, PER_INVOCATION) {
        Some((key, invocations)) if !matches!(invocations, Value::Array([])) => key,
        // Then only the session tells what happened.
        _ => {
            session(&mut reading, result);
            ""
        }
    };
    reading.each(result, key, |reading, item| {
        if let Some((key, actual)) = parts::found(item, ACTUAL) {
            reading.inside(|error| error.at_key(Text::from(key)), |reading| invocation(reading, actual));
        }
        if let Some((key, wanted)) = parts::found(item, WANTED) {
            is_expected = true;
            let mut other = Reading::new(reading.reader);
            other.inside(|error| error.at_key(Text::from(key)), |other| invocation(other, wanted));
            reading.problems.append(&mut other.problems);
            let spans = std::mem::take(&mut other.listener).finish().into_spans();
            expected.extend(spans.iter().map(|span| reading.expected_call(span.name, span.input)));
        }
        Ok(())
    });
    let expected = is_expected.then(|| reading.array(&expected));
    let reader = found.reader;
    let trace = reading.finish(found, place);
    trace.id = parts::text(result, SESSION_ID);
    trace.test_id = parts::id(reader, result, &[CASE_ID, &["eval_case_id"]].concat());
    trace.note(EXPECTED, expected);
    // 1 is passed, 2 failed, 3 not evaluated.
    trace.note(
        "success",
        match parts::found(result, STATUS) {
            Some((_, Value::Int(1))) => Some(Value::True),
            Some((_, Value::Int(2))) => Some(Value::False),
            _ => None,
        },
    );
}

fn session<'a>(reading: &mut Reading<'a>, result: Value<'a>) {
    if let Some((key, session)) = found(result, SESSION) {
        reading.inside(
            |error| error.at_key(Text::from(key)),
            |reading| {
                reading.messages(session, EVENTS);
                Ok(())
            },
        );
    }
}

fn invocation<'a>(reading: &mut Reading<'a>, invocation: Value<'a>) -> Result<(), Error> {
    let Value::Object(members) = invocation else { return Err(not_an_object("an invocation", invocation)) };
    let renamed = |&Member { key, value }: &Member<'a>| match AGENT_CONTENT.iter().any(|other| key.is(other)) {
        true => Member { key: Text::from("final_response"), value },
        false => Member { key, value },
    };
    let invocation = match found(invocation, FINAL_RESPONSE) {
        Some(_) => invocation,
        None => {
            let kept = members.iter().filter(|member| !FINAL_RESPONSE.iter().any(|key| member.key.is(key)));
            let renamed: Vec<_> = kept.map(renamed).collect();
            Value::Object(reading.reader.bump.alloc_slice_copy(&renamed))
        }
    };
    let list = reading.array(&[invocation]);
    // The place in this list is no place in the file.
    reading.hear_only(list)
}

fn read_questions<'a>(found: &mut Found<'a>, records: &[Value<'a>]) -> Result<(), Error> {
    let mut reading = Reading::new(found.reader);
    reading.all(records, question);
    reading.finish(found, |error| error);
    Ok(())
}

fn question<'a>(reading: &mut Reading<'a>, item: Value<'a>) -> Result<(), Error> {
    if !matches!(item, Value::Object(_)) {
        return Err(not_an_object("a question", item));
    }
    reading.listener.asked(parts::text(item, &["query"]));
    for key in EXPECTED_USE {
        reading.each(item, key, |reading, item| {
            let span = reading.call(item, &USE)?;
            reading.listener.called(span);
            Ok(())
        });
    }
    reading.listener.said(parts::text(item, &["reference"]));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{super::reading::told::tells, *};

    #[test]
    fn sets_of_cases_in_any_spelling() {
        tells(
            &LOG,
            r#"[{"eval_set_id": "s", "eval_cases": [
                {"eval_id": "c1", "conversation": [
                    {"invocation_id": "1", "user_content": {"role": "user", "parts": [{"text": "Refund 42"}]},
                     "final_response": {"role": "model", "parts": [{"text": "Done."}]},
                     "intermediate_data": {"tool_uses": [{"id": null, "name": "refund", "args": {"id": 42}}]}},
                    7]},
                {"evalId": "c2", "conversation": [
                    {"invocationId": "1", "userContent": {"parts": [{"text": "Hi"}]},
                     "intermediateData": {"invocationEvents": [{"author": "greeter", "content": {"role": "model",
                        "parts": [{"functionCall": {"id": "1", "name": "greet", "args": {}}}]}}]}}]},
                {"case_id": "c3", "conversation": [
                    {"user_content": {"parts": [{"text": "Hi"}]}, "agent_content": {"role": "model", "parts": [{"text": "Hello."}]},
                     "intermediate_data": {"role": "model", "parts": [{"function_call": {"name": "greet", "args": {}}}]}}]},
                7]}]"#,
            &[
                "# c1 test c1",
                "Refund 42 → Done.",
                r#"  refund({"id": 42}) = null"#,
                "# c2 test c2",
                "Hi → -",
                "  greet({}) = null #1 @greeter",
                "# c3 test c3",
                "Hi → Hello.",
                "  greet({}) = null",
                "problem [0].eval_cases[0].conversation[1]: expected an invocation, an object, got a number",
                "problem [0].eval_cases[3]: expected an eval case, an object, got a number",
            ],
        );
    }

    #[test]
    fn results_say_what_came_and_what_should() {
        let result = r#"{"eval_set_result_id": "r", "eval_case_results": [{"eval_id": "c1", "session_id": "s1",
            "final_eval_status": 2, "eval_metric_result_per_invocation": [{
                "actual_invocation": {"user_content": {"parts": [{"text": "Refund 42"}]},
                    "intermediate_data": {"tool_uses": [{"name": "look_up", "args": {}}]}},
                "expected_invocation": {"user_content": {"parts": [{"text": "Refund 42"}]},
                    "intermediate_data": {"tool_uses": [{"name": "refund", "args": {"id": 42}}]}}}]}]}"#;
        let expected = [
            r#"# s1 test c1 expected_tool_calls=[{"name": "refund", "arguments": {"id": 42}}] success=false"#,
            "Refund 42 → -",
            "  look_up({}) = null",
        ];
        tells(&LOG, &format!("[{result}]"), &expected);
        tells(&LOG, &format!("[{:?}]", result.replace('\n', "")), &expected);
        tells(
            &LOG,
            r#"[{"eval_case_results": [{"eval_id": "c2", "final_eval_status": "FAIL", "eval_metric_result_per_invocation": [],
                "session_details": {"id": "s", "events": [
                    {"author": "user", "invocationId": "1", "content": {"parts": [{"text": "Hi"}]}},
                    {"author": "greeter", "invocationId": "1", "content": {"parts": [{"functionCall": {"name": "greet", "args": {}}}]}}]}}]}]"#,
            &["# - test c2", "Hi → -", "  greet({}) = null @greeter"],
        );
    }

    #[test]
    fn lists_of_questions() {
        let questions = r#"[{"query": "Hi", "expected_tool_use": [], "reference": "Hello."},
            {"query": "Refund 42", "expected_tool_use": [
                {"tool_name": "refund", "tool_input": {"id": 42}}, {"toolName": "note", "toolInput": {}}, 7]}]"#;
        let lines = ["Hi → Hello.", "Refund 42 → -", r#"  refund({"id": 42}) = null"#, "  note({}) = null"];
        let problem = "expected a tool call, an object, got a number";
        let of_list = format!("problem [1].expected_tool_use[2]: {problem}");
        let whole = [&["# -"], &lines[..], &[&of_list]].concat();
        tells(&QUESTIONS, questions, &whole);
        let problem = format!("problem [0].data[1].expected_tool_use[2]: {problem}");
        let case = [&["# simple test simple"], &lines[..], &[&problem]].concat();
        tells(&LOG, &format!(r#"[{{"name": "simple", "data": {questions}, "initial_session": {{}}}}]"#), &case);
    }
}
