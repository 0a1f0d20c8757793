//! Samples of Ragas: conversations with the calls that were expected.

use super::{
    Log, Unit,
    reading::{EXPECTED, Reading, answer, at},
};
use crate::{
    error::Error,
    text::Text,
    trace::{
        decode,
        messages::parts::{self, Keys, not_an_object, word},
        stored::Found,
    },
    value::{Member, Value},
};

pub const LOG: Log = Log { name: "ragas", title: "samples of Ragas", unit: Unit::Record, fits, read };

const CALL: Keys = Keys { id: &["id"], name: &["name"], arguments: &["args", "arguments"] };
const MESSAGES: &str = "user_input";
const REFERENCE: &str = "reference_tool_calls";
const CONTENT: &str = "content";
const TOOL_CALLS: &str = "tool_calls";
const TYPES: &[&str] = &["human", "ai", "tool"];

fn fits(record: Value<'_>) -> bool {
    match record.get(MESSAGES) {
        Some(Value::Array(messages)) => messages.iter().any(|message| word(*message, "type", TYPES).is_some()),
        Some(_) => record.get(REFERENCE).is_some(),
        None => false,
    }
}

fn read<'a>(found: &mut Found<'a>, records: &[Value<'a>]) -> Result<(), Error> {
    for (index, &record) in records.iter().enumerate() {
        let Value::Object(members) = record else {
            found.problems.push(not_an_object("a sample of Ragas", record).at_index(index));
            continue;
        };
        let mut reading = Reading::new(found.reader);
        // In tables the lists are JSON text.
        let is_list = |key: Text<'a>| key.is(MESSAGES) || key.is(REFERENCE);
        let decoded = |&Member { key, value }: &Member<'a>| match is_list(key) {
            true => Member { key, value: decode::decoded(found.reader, value) },
            false => Member { key, value },
        };
        let record = Value::Object(found.reader.bump.alloc_slice_fill_iter(members.iter().map(decoded)));
        let mut reported = true;
        match record.get(MESSAGES) {
            Some(Value::Text(question)) => {
                reading.listener.asked(Some(question));
                reading.listener.said(parts::text(record, &["response"]));
                // A single question and its answer say nothing of tools.
                reported = false;
            }
            _ => reading.each(record, MESSAGES, message),
        }
        let expected = reading.expected(record, REFERENCE, &CALL);
        let trace = reading.finish(found, |error| error.at_index(index));
        trace.reported = reported;
        trace.note(EXPECTED, expected);
    }
    Ok(())
}

fn message<'a>(reading: &mut Reading<'a>, message: Value<'a>) -> Result<(), Error> {
    let kind = parts::one_word(message, "type", "the type of a message", TYPES)?;
    // Calls may stand inside of the content.
    let inner = at(message, &[CONTENT, TOOL_CALLS]).and(message.get(CONTENT));
    let said = match inner {
        Some(content) => parts::text(content, &["text"]),
        None => reading.said(message.get(CONTENT)),
    };
    match kind {
        "human" => reading.listener.asked(said),
        "ai" => {
            reading.each(message, TOOL_CALLS, call);
            if let Some(content) = inner {
                let place = |error: Error| error.at_key(Text::from(CONTENT));
                reading.inside(place, |reading| {
                    reading.each(content, TOOL_CALLS, call);
                    Ok(())
                });
            }
            reading.listener.said(said);
        }
        // Results come in the order of the calls, and have no id.
        _ => {
            let output = reading.output(message, &[CONTENT]);
            let id = parts::id(reading.reader, message, &["tool_call_id"]);
            reading.listener.answered(answer(id, output));
        }
    }
    Ok(())
}

fn call<'a>(reading: &mut Reading<'a>, item: Value<'a>) -> Result<(), Error> {
    let span = reading.call(item, &CALL)?;
    reading.listener.called(span);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{super::reading::told::tells, *};

    #[test]
    fn conversations_with_the_calls_that_were_expected() {
        tells(
            &LOG,
            r#"[
                {"user_input": [
                    {"type": "human", "content": "Refund 42 and 43"},
                    {"type": "ai", "content": "I look.", "tool_calls": [
                        {"name": "look_up", "args": {"id": 42}}, {"name": "look_up", "args": {"id": 43}}]},
                    {"type": "tool", "content": "late"}, {"type": "tool", "content": "lost", "metadata": null},
                    {"type": "ai", "content": {"text": "Both.", "tool_calls": [{"name": "refund", "args": {}}]}},
                    {"type": "robot"}, {"type": "human", "content": "Thanks"}],
                 "reference": "Both are refunded.", "reference_tool_calls": [{"name": "look_up", "args": {"id": 42}}]},
                {"user_input": "[{\"type\": \"human\", \"content\": \"Hi\"}]", "reference_tool_calls": "[]"},
                {"user_input": "Hi", "response": "Hello.", "reference_tool_calls": null}
            ]"#,
            &[
                r#"# - expected_tool_calls=[{"name": "look_up", "arguments": {"id": 42}}]"#,
                "Refund 42 and 43 → Both.",
                r#"  look_up({"id": 42}) = "late""#,
                r#"  look_up({"id": 43}) = "lost""#,
                "  refund({}) = null",
                "Thanks → -",
                "# - expected_tool_calls=[]",
                "Hi → -",
                "# - (not reported)",
                "Hi → Hello.",
                r#"problem [0].user_input[5].type: the type of a message is one of human, ai, tool, not "robot""#,
            ],
        );
    }
}
