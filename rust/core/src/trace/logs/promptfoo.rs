//! Results of promptfoo: for each prompt and test what the provider returned, in which there may be calls as that
//! provider writes them.

use super::{
    Log, Unit,
    reading::{EXPECTED, Reading, at, has_any, is_list},
};
use crate::{
    error::Error,
    text::Text,
    trace::{
        decode,
        messages::parts::{self, Keys, not_an_object, word},
        span::Span,
        stored::Found,
    },
    value::Value,
};

pub const LOG: Log = Log { name: "promptfoo", title: "results of promptfoo", unit: Unit::Record, fits, read };

const RESULTS: &str = "results";
const RESPONSE: &str = "response";
const OUTPUT: &str = "output";
const CALL: Keys = Keys { id: &["id", "call_id"], name: &["name"], arguments: &["arguments", "args", "input"] };
/// What stands beside the response.
const OF_RESULTS: &[&str] = &["promptIdx", "testIdx", "testCase", "gradingResult", "namedScores"];

fn fits(record: Value<'_>) -> bool {
    is_result(record) || results(record).is_some_and(|(_, results)| results.iter().any(|result| is_result(*result)))
}

fn is_result(record: Value<'_>) -> bool {
    has_any(record, OF_RESULTS)
        && has_any(record, &[RESPONSE, "error"])
        && has_any(record, &["prompt", "vars", "provider"])
}

/// The results of an evaluation, and under how many keys they stand.
fn results<'a>(record: Value<'a>) -> Option<(usize, &'a [Value<'a>])> {
    match (record.get(RESULTS), at(record, &[RESULTS, RESULTS])) {
        (Some(Value::Array(results)), _) => Some((1, results)),
        (_, Some(Value::Array(results))) => Some((2, results)),
        _ => None,
    }
}

fn read<'a>(found: &mut Found<'a>, records: &[Value<'a>]) -> Result<(), Error> {
    for (index, &record) in records.iter().enumerate() {
        match results(record) {
            Some((keys, results)) => {
                for (inner, &item) in results.iter().enumerate() {
                    let inside = |error: Error, _| error.at_key(Text::from(RESULTS));
                    result(found, item, |error| (0..keys).fold(error.at_index(inner), inside).at_index(index));
                }
            }
            None => result(found, record, |error| error.at_index(index)),
        }
    }
    Ok(())
}

fn result<'a>(found: &mut Found<'a>, result: Value<'a>, place: impl Fn(Error) -> Error) {
    if !matches!(result, Value::Object(_)) {
        found.problems.push(place(not_an_object("a result of promptfoo", result)));
        return;
    }
    let mut reading = Reading::new(found.reader);
    let question = question(&reading, result);
    reading.listener.asked(question);
    let response = result.get(RESPONSE).unwrap_or(Value::Null);
    let output = match response.get(OUTPUT) {
        None | Some(Value::Null) => None,
        output => output,
    };
    // Agents tell their calls apart from what they answer.
    let metadata = response.get("metadata").unwrap_or(Value::Null);
    reading.inside(
        |error| error.at_key(Text::from("metadata")).at_key(Text::from(RESPONSE)),
        |reading| {
            reading.each(metadata, "toolCalls", |reading, item| {
                let span = reading.call(item, &CALL)?;
                let output = reading.output(item, &["output", "result"]);
                let failed = matches!(item.get("is_error").or(item.get("isError")), Some(Value::True));
                reading.listener.done(Span { output, status: failed.then_some(Text::from("error")), ..span });
                Ok(())
            });
            Ok(())
        },
    );
    if let Some(output) = output {
        reading.inside(
            |error| error.at_key(Text::from(OUTPUT)).at_key(Text::from(RESPONSE)),
            |reading| answer(reading, output),
        );
    }
    let expected = expected(&reading, result);
    let reported = output.is_some() || is_list(metadata.get("toolCalls"));
    let reader = found.reader;
    let trace = reading.finish(found, place);
    trace.id = parts::id(reader, result, &["id"]);
    trace.conversation_id = parts::text(metadata, &["sessionId", "conversationId"]);
    trace.test_id = parts::id(reader, result, &["testIdx"]);
    trace.reported = reported;
    trace.note(EXPECTED, expected);
    trace.note("success", result.get("success"));
    trace.note("score", result.get("score"));
    trace.note("model", at(result, &["provider", "id"]));
}

/// A prompt is a text, or JSON text of messages.
fn question<'a>(reading: &Reading<'a>, result: Value<'a>) -> Option<Text<'a>> {
    let prompt = result.get("prompt")?;
    let raw = prompt.get("raw").unwrap_or(prompt);
    match decode::decoded(reading.reader, raw) {
        Value::Array(messages) => {
            let last = messages.iter().rev().find(|message| word(**message, "role", &["user"]).is_some())?;
            reading.said(last.get("content"))
        }
        Value::Text(text) => Some(text),
        _ => None,
    }
}

/// Calls, a message, JSON text of either, or a text.
fn answer<'a>(reading: &mut Reading<'a>, output: Value<'a>) -> Result<(), Error> {
    let decoded = decode::decoded(reading.reader, output);
    match (decoded, output) {
        (Value::Array(items), _) if items.iter().any(|item| is_call(*item)) => {
            reading.all(items, |reading, item| call(reading, item));
            Ok(())
        }
        (Value::Object(_), _) if is_call(decoded) => call(reading, decoded),
        (Value::Object(_), _) if has_any(decoded, &["tool_calls", "function_call"]) => {
            let Value::Object(members) = decoded else { return Ok(()) };
            let mut message = members.to_vec();
            if !has_any(decoded, &["role"]) {
                let value = Value::Text(Text::from("assistant"));
                message.push(crate::value::Member { key: Text::from("role"), value });
            }
            let list = reading.array(&[Value::Object(reading.reader.bump.alloc_slice_copy(&message))]);
            reading.hear_only(list)
        }
        (_, Value::Text(text)) => {
            // Blocks of Anthropic's as JSON text, with empty lines between them and what is said.
            let bytes = text.utf8_in(reading.reader.bump);
            let mut said = Vec::new();
            for part in paragraphs(bytes) {
                let block = decode::decoded(reading.reader, Value::Text(Text::Utf8(part)));
                match is_call(block) {
                    true => call(reading, block)?,
                    false => said.push(Text::Utf8(part)),
                }
            }
            let joined = Text::joined(&said, "\n\n", reading.reader.bump);
            reading.listener.said(Some(joined));
            Ok(())
        }
        // Data that was asked for.
        (other, _) => {
            let text = crate::trace::span::json_text(other, reading.reader.bump);
            reading.listener.said(Some(text));
            Ok(())
        }
    }
}

fn paragraphs(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        match memchr::memmem::find(text, b"\n\n") {
            Some(end) => {
                rest = text.get(end + 2..);
                text.get(..end)
            }
            None => {
                rest = None;
                Some(text)
            }
        }
    })
}

const CALLS: &[&str] = &["tool_use", "function_call", "tool_call"];
const WRAPPERS: &[&str] = &["function", "functionCall", "function_call", "toolUse"];

fn is_call(value: Value<'_>) -> bool {
    let has_name = |value: Value<'_>| parts::text(value, CALL.name).is_some();
    let is_kind = word(value, "type", CALLS).is_some();
    WRAPPERS.iter().any(|key| value.get(key).is_some_and(has_name))
        || has_name(value) && (is_kind || has_any(value, &["arguments", "args"]))
}

/// A call of OpenAI's, Anthropic's, Google's or Amazon's; what stands among them says something.
fn call<'a>(reading: &mut Reading<'a>, item: Value<'a>) -> Result<(), Error> {
    if !is_call(item) {
        if let Some(kind) = parts::text(item, &["type"]) {
            parts::reject_calls(kind, "the type of an item", CALLS)
                .map_err(|error| error.at_key(Text::from("type")))?;
        }
        let said = parts::text(item, &["text"]);
        reading.listener.said(said);
        return Ok(());
    }
    let inner = WRAPPERS.iter().find_map(|key| item.get(key)).unwrap_or(item);
    let mut span = reading.call(inner, &CALL)?;
    let ids = ["id", "call_id", "toolUseId"];
    span.id = parts::id(reading.reader, item, &ids).or_else(|| parts::id(reading.reader, inner, &ids));
    reading.listener.called(span);
    Ok(())
}

/// The names that an assertion on calls lists.
fn expected<'a>(reading: &Reading<'a>, result: Value<'a>) -> Option<Value<'a>> {
    let Some(Value::Array(assertions)) = at(result, &["testCase", "assert"]) else { return None };
    let listed = assertions.iter().find(|assertion| word(**assertion, "type", &["tool-call-f1"]).is_some())?;
    let names: Vec<_> = match listed.get("value")? {
        Value::Array(names) => names
            .iter()
            .filter_map(|name| match *name {
                Value::Text(name) => Some(name),
                _ => None,
            })
            .collect(),
        Value::Text(names) => {
            let names = names.utf8_in(reading.reader.bump).split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
            names.filter(|name| !name.is_empty()).map(Text::Utf8).collect()
        }
        _ => return None,
    };
    let calls: Vec<_> = names.into_iter().map(|name| reading.expected_call(name, Value::Null)).collect();
    Some(reading.array(&calls))
}

#[cfg(test)]
mod tests {
    use super::{super::reading::told::tells, *};

    #[test]
    fn calls_in_what_providers_return() {
        tells(
            &LOG,
            r#"[{"evalId": "e", "results": {"version": 3, "results": [
                {"id": "r0", "promptIdx": 0, "testIdx": 4, "prompt": {"raw": "Refund 42"}, "success": true, "score": 1,
                 "provider": {"id": "openai:m"}, "vars": {},
                 "testCase": {"assert": [{"type": "tool-call-f1", "value": ["look_up", "refund"]}]},
                 "response": {"output": [{"id": "1", "type": "function", "function": {"name": "look_up", "arguments": "{\"id\": 42}"}}, 7, {"type": "tool_call_of_another"}]}},
                {"testIdx": 1, "prompt": {"raw": "[{\"role\": \"system\", \"content\": \"Be kind.\"}, {\"role\": \"user\", \"content\": \"Hi\"}]"},
                 "vars": {}, "testCase": {"assert": [{"type": "tool-call-f1", "value": "a, b"}]},
                 "response": {"output": "I look.\n\n{\"type\": \"tool_use\", \"id\": \"2\", \"name\": \"look_up\", \"input\": {}}"}},
                {"testIdx": 2, "prompt": {"raw": "Hi"}, "vars": {}, "response": {"output": {"content": "Ok", "tool_calls": [
                    {"id": "3", "type": "function", "function": {"name": "greet", "arguments": "{}"}}]}}},
                {"testIdx": 3, "prompt": {"raw": "Hi"}, "vars": {}, "response": {"output": "{\"functionCall\": {\"name\": \"greet\", \"args\": {}}}"}},
                {"testIdx": 4, "prompt": {"raw": "Hi"}, "vars": {}, "response": {"output": "Hello.", "metadata": {"sessionId": "s",
                    "toolCalls": [{"id": "5", "name": "Read", "input": {"path": "a"}, "output": "x", "is_error": true}]}}},
                {"testIdx": 5, "prompt": {"raw": "Hi"}, "vars": {}, "response": {"output": {"greeting": "Hello"}}},
                {"testIdx": 6, "prompt": {"raw": "Hi"}, "vars": {}, "error": "timeout", "response": null},
                7]}}]"#,
            &[
                r#"# r0 test 4 expected_tool_calls=[{"name": "look_up"}, {"name": "refund"}] success=true score=1 model="openai:m""#,
                "Refund 42 → -",
                r#"  look_up({"id": 42}) = null #1"#,
                r#"# - test 1 expected_tool_calls=[{"name": "a"}, {"name": "b"}]"#,
                "Hi → I look.",
                "  look_up({}) = null #2",
                "# - test 2",
                "Hi → Ok",
                "  greet({}) = null #3",
                "# - test 3",
                "Hi → -",
                "  greet({}) = null",
                "# - in s test 4",
                "Hi → Hello.",
                r#"  Read({"path": "a"}) = "x" #5 is error"#,
                "# - test 5",
                r#"Hi → {"greeting": "Hello"}"#,
                "# - test 6 (not reported)",
                "Hi → -",
                r#"problem [0].results.results[0].response.output[2].type: the type of an item is one of tool_use, function_call, tool_call, not "tool_call_of_another""#,
                "problem [0].results.results[7]: expected a result of promptfoo, an object, got a number",
            ],
        );
    }
}
