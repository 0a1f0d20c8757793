//! Test runs of Rhesis: what was asked and answered, the tools that were called, and those that the test expects.

use super::{
    Log, Unit,
    reading::{EXPECTED, Reading, at, has_any, is_list},
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

pub const LOG: Log = Log { name: "rhesis", title: "test runs of Rhesis", unit: Unit::Record, fits, read };

const CALL: Keys =
    Keys { id: &["id", "call_id"], name: &["name", "tool_name"], arguments: &["arguments", "args", "input"] };
const CONFIGURATION: &str = "test_configuration";
const TOOL_CALLS: &str = "tool_calls";
const EXPECTED_CALLS: &str = "expected_tool_calls";
/// What an endpoint returned, where it is kept as it was.
const RETURNED: &[&str] = &["test_output", "output", "response"];
/// What stands beside the output of a test.
const OF_RESULTS: &[&str] = &["test_run_id", "test_metrics", "test_configuration_id"];
const INPUT: &[&str] = &["input", "prompt", "question"];
const OUTPUT: &[&str] = &["output", "response", "content", "answer"];

fn fits(record: Value<'_>) -> bool {
    match (record.get(CONFIGURATION), record.get("test_output")) {
        (Some(configuration @ Value::Object(_)), _) => {
            has_any(configuration, &[EXPECTED_CALLS]) || has_any(record, &[TOOL_CALLS]) || has_any(record, RETURNED)
        }
        (_, Some(Value::Object(_))) => has_any(record, OF_RESULTS),
        _ => false,
    }
}

fn read<'a>(found: &mut Found<'a>, records: &[Value<'a>]) -> Result<(), Error> {
    for (index, &record) in records.iter().enumerate() {
        if !matches!(record, Value::Object(_)) {
            found.problems.push(not_an_object("a test run of Rhesis", record).at_index(index));
            continue;
        }
        let mut reading = Reading::new(found.reader);
        let configuration = record.get(CONFIGURATION).unwrap_or(Value::Null);
        reading.listener.asked(said(record, INPUT).or_else(|| said(configuration, INPUT)));
        let returned = RETURNED.iter().copied().find(|key| at(record, &[key, TOOL_CALLS]).is_some());
        let mut reported = is_list(record.get(TOOL_CALLS));
        match returned {
            Some(key) if !reported => {
                let holder = record.get(key).unwrap_or(Value::Null);
                reported = is_list(holder.get(TOOL_CALLS));
                reading.inside(
                    |error| error.at_key(Text::from(key)),
                    |reading| {
                        reading.each(holder, TOOL_CALLS, call);
                        Ok(())
                    },
                );
            }
            _ => reading.each(record, TOOL_CALLS, call),
        }
        reading.listener.said(said(record, RETURNED));
        let mut expected = None;
        reading.inside(
            |error| error.at_key(Text::from(CONFIGURATION)),
            |reading| {
                expected = reading.expected(configuration, EXPECTED_CALLS, &CALL);
                Ok(())
            },
        );
        let trace = reading.finish(found, |error| error.at_index(index));
        trace.id = parts::text(record, &["trace_id", "id"]);
        trace.conversation_id = parts::text(record, &["session_id", "conversation_id"]);
        trace.test_id = parts::text(record, &["test_id"]).or_else(|| parts::text(configuration, &["test_id"]));
        trace.reported = reported;
        trace.note(EXPECTED, expected);
    }
    Ok(())
}

fn call<'a>(reading: &mut Reading<'a>, item: Value<'a>) -> Result<(), Error> {
    let span = reading.call(item, &CALL)?;
    let output = reading.output(item, &["output", "result"]);
    let error = parts::error(reading.reader, item, &["error"]);
    reading.listener.done(Span { output, error, status: parts::text(item, &["status"]), ..span });
    Ok(())
}

/// A text, or what holds one.
fn said<'a>(holder: Value<'a>, keys: &[&str]) -> Option<Text<'a>> {
    match found(holder, keys)?.1 {
        Value::Text(text) => Some(text).filter(|text| !text.is_empty()),
        inner @ Value::Object(_) => parts::text(inner, OUTPUT),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{super::reading::told::tells, *};

    #[test]
    fn runs_with_the_calls_that_the_test_expects() {
        tells(
            &LOG,
            r#"[
                {"id": "r1", "test_id": "t1", "session_id": "s", "input": "Refund 42", "output": "Done.",
                 "tool_calls": [{"name": "look_up", "arguments": {"id": 42}, "output": "late"},
                                {"name": "refund", "arguments": {"id": 42}, "error": "closed"}, 7],
                 "test_configuration": {"expected_tool_calls": [{"name": "look_up", "arguments": {"id": 42}}]}},
                {"test_configuration": {"prompt": {"content": "Hi"}},
                 "test_output": {"output": "Hello.", "tool_calls": [{"name": "greet", "arguments": {}}]}},
                {"input": "Hi", "output": "Hello.", "test_configuration": {"expected_tool_calls": []}},
                {"id": "r4", "test_run_id": "x", "test_id": "t", "test_output": {"output": "Hello.", "tool_calls": []}}
            ]"#,
            &[
                r#"# r1 in s test t1 expected_tool_calls=[{"name": "look_up", "arguments": {"id": 42}}]"#,
                "Refund 42 → Done.",
                r#"  look_up({"id": 42}) = "late""#,
                r#"  refund({"id": 42}) = null ! closed"#,
                "# -",
                "Hi → Hello.",
                "  greet({}) = null",
                "# - (not reported) expected_tool_calls=[]",
                "Hi → Hello.",
                "# r4 test t",
                "- → Hello.",
                "problem [0].tool_calls[2]: expected a tool call, an object, got a number",
            ],
        );
    }
}
