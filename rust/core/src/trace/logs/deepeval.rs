//! Test cases of DeepEval: one question with the tools that were called, or a conversation; alone, in a list, or in the
//! file of a test run.

use super::{
    Log, Unit,
    reading::{EXPECTED, Reading, has_any, is_list, members_of},
};
use crate::{
    error::Error,
    text::Text,
    trace::{
        messages::parts::{self, Keys, found, not_an_object},
        span::Span,
        stored::Found,
    },
    value::Value,
};

pub const LOG: Log = Log { name: "deepeval", title: "test cases of DeepEval", unit: Unit::Record, fits, read };

const CALL: Keys =
    Keys { id: &[], name: &["name"], arguments: &["input_parameters", "inputParameters", "args", "arguments"] };
const CALLED: &[&str] = &["tools_called", "toolsCalled"];
const MCP_CALLED: &[&str] = &["mcp_tools_called", "mcpToolsCalled"];
const EXPECTED_TOOLS: &[&str] = &["expected_tools", "expectedTools"];
const OUTPUT: &[&str] = &["actual_output", "actualOutput"];
const TURNS: &str = "turns";
/// What only conversations have.
const OF_CONVERSATION: &[&str] = &[
    "scenario",
    "expected_outcome",
    "expectedOutcome",
    "chatbot_role",
    "chatbotRole",
    "user_description",
    "userDescription",
];
const CASES: &[&str] = &[
    "test_cases",
    "testCases",
    "conversational_test_cases",
    "conversationalTestCases",
    "llm_test_cases",
    "llmTestCases",
];
const RUN: &str = "testRunData";
/// What its traces have, which are no test cases.
const OF_TRACES: &[&str] = &["baseSpans", "agentSpans", "llmSpans", "retrieverSpans", "toolSpans"];

fn fits(record: Value<'_>) -> bool {
    let run = record.get(RUN).unwrap_or(record);
    is_case(record)
        || CASES
            .iter()
            .any(|key| matches!(run.get(key), Some(Value::Array(cases)) if cases.iter().any(|case| is_case(*case))))
}

fn is_case(record: Value<'_>) -> bool {
    if has_any(record, OF_TRACES) {
        return false;
    }
    is_conversation(record)
        || record.get("input").is_some() && [CALLED, EXPECTED_TOOLS, OUTPUT].iter().any(|keys| has_any(record, keys))
}

fn is_conversation(record: Value<'_>) -> bool {
    let Some(Value::Array(turns)) = record.get(TURNS) else { return false };
    let is_turn = |turn: &Value<'_>| has_any(*turn, &["role"]) && has_any(*turn, &["content"]);
    turns.iter().any(is_turn)
        && (has_any(record, OF_CONVERSATION)
            || turns.iter().any(|turn| has_any(*turn, CALLED) || has_any(*turn, MCP_CALLED)))
}

fn read<'a>(found: &mut Found<'a>, records: &[Value<'a>]) -> Result<(), Error> {
    for (index, &record) in records.iter().enumerate() {
        let (run, inside) = match record.get(RUN) {
            Some(run) => (run, true),
            None => (record, false),
        };
        let lists = CASES.iter().filter_map(|&key| match run.get(key) {
            Some(Value::Array(cases)) => Some((key, cases)),
            _ => None,
        });
        let mut lists = lists.peekable();
        if lists.peek().is_none() {
            case(found, record, |error| error.at_index(index));
        }
        for (key, cases) in lists {
            for (inner, &item) in cases.iter().enumerate() {
                case(found, item, |error| {
                    let error = error.at_index(inner).at_key(Text::from(key));
                    if inside { error.at_key(Text::from(RUN)) } else { error }.at_index(index)
                });
            }
        }
    }
    Ok(())
}

fn case<'a>(found: &mut Found<'a>, case: Value<'a>, place: impl Fn(Error) -> Error) {
    if !matches!(case, Value::Object(_)) {
        found.problems.push(place(not_an_object("a test case of DeepEval", case)));
        return;
    }
    let mut reading = Reading::new(found.reader);
    let reported = match case.get(TURNS) {
        Some(Value::Array(_)) => {
            let mut reported = false;
            reading.each(case, TURNS, |reading, turn| {
                let roles = ["user", "assistant"];
                let role = parts::one_word(turn, "role", "the role of a turn", &roles)?;
                reported |= tools(reading, turn);
                let content = parts::text(turn, &["content"]);
                match role {
                    "user" => reading.listener.asked(content),
                    _ => reading.listener.said(content),
                }
                Ok(())
            });
            reported
        }
        _ => {
            reading.listener.asked(parts::text(case, &["input"]));
            let reported = tools(&mut reading, case);
            reading.listener.said(parts::text(case, OUTPUT));
            reported
        }
    };
    let expected = EXPECTED_TOOLS.iter().find_map(|key| reading.expected(case, key, &CALL));
    let trace = reading.finish(found, place);
    trace.test_id = parts::text(case, &["name"]);
    trace.reported = reported;
    trace.note(EXPECTED, expected);
    trace.note("success", case.get("success"));
}

/// The tools that were called, if it is told whether any were.
fn tools<'a>(reading: &mut Reading<'a>, holder: Value<'a>) -> bool {
    let mut reported = false;
    for (keys, output) in [(CALLED, "output"), (MCP_CALLED, "result")] {
        let Some((key, _)) = found(holder, keys) else { continue };
        reported |= is_list(holder.get(key));
        reading.each(holder, key, |reading, item| {
            let span = reading.call(item, &CALL)?;
            let output = reading.output(item, &[output]);
            let reasoning = item.get("reasoning").unwrap_or(Value::Null);
            let attributes = members_of(reading.reader, &[("reasoning", reasoning)]);
            reading.listener.done(Span { output, attributes, ..span });
            Ok(())
        });
    }
    reported
}

#[cfg(test)]
mod tests {
    use super::{
        super::reading::told::{leaves, tells},
        *,
    };

    #[test]
    fn a_question_with_the_tools_that_were_called() {
        tells(
            &LOG,
            r#"[
                {"input": "Refund 42", "actual_output": "Done.", "name": "refund",
                 "tools_called": [
                    {"name": "look_up", "type": "FUNCTION", "input_parameters": {"id": 42}, "output": "late", "reasoning": "first"},
                    {"name": "refund", "input_parameters": null}, {"input_parameters": {}}],
                 "expected_tools": [{"name": "look_up", "input_parameters": {"id": 42}}, {"name": "refund"}]},
                {"input": "Hi", "actualOutput": "Hello.", "toolsCalled": null, "mcpToolsCalled": null},
                {"input": "Hi", "actualOutput": "Hello.", "toolsCalled": [],
                 "mcpToolsCalled": [{"name": "greet", "args": {}, "result": {"content": []}}]}
            ]"#,
            &[
                r#"# - test refund expected_tool_calls=[{"name": "look_up", "arguments": {"id": 42}}, {"name": "refund"}]"#,
                "Refund 42 → Done.",
                r#"  look_up({"id": 42}) = "late" {"reasoning": "first"}"#,
                "  refund(null) = null",
                "  unknown tool({}) = null",
                "# - (not reported)",
                "Hi → Hello.",
                "# -",
                "Hi → Hello.",
                r#"  greet({}) = {"content": []}"#,
                "problem [0].tools_called[2]: a tool call without a name; it is given as name",
            ],
        );
    }

    #[test]
    fn conversations_in_a_test_run() {
        tells(
            &LOG,
            r#"[{"testRunData": {
                "testCases": [{"name": "a", "input": "Hi", "actualOutput": "Hello.", "success": true, "toolsCalled": []}, 7],
                "conversationalTestCases": [{"scenario": "s", "turns": [
                    {"role": "user", "content": "Refund 42"},
                    {"role": "assistant", "content": "Done.", "toolsCalled": [{"name": "refund", "inputParameters": {"id": 42}}]},
                    {"role": "robot", "content": "?"},
                    {"role": "user", "content": "Thanks"}]}]}}]"#,
            &[
                "# - test a success=true",
                "Hi → Hello.",
                "# -",
                "Refund 42 → Done.",
                r#"  refund({"id": 42}) = null"#,
                "Thanks → -",
                "problem [0].testRunData.testCases[1]: expected a test case of DeepEval, an object, got a number",
                r#"problem [0].testRunData.conversationalTestCases[0].turns[2].role: the role of a turn is one of user, assistant, not "robot""#,
            ],
        );
    }

    #[test]
    fn its_traces_are_no_test_cases() {
        leaves(
            &LOG,
            r#"[{"uuid": "1", "toolSpans": [], "input": "Hi", "toolsCalled": []}, {"turns": 5}, {"input": "Hi"}]"#,
        );
    }
}
