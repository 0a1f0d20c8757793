//! Rows of Azure AI Evaluation: a query and a response, each a text or messages with calls and results among their
//! parts.
//!
//! The query may be a whole conversation: of it, the last message of the user is what the response answers, and calls
//! that were made before are not its own.

use super::{
    Log, Unit,
    reading::{EXPECTED, Reading, answer, at, has_any, is_list},
};
use crate::{
    error::Error,
    text::Text,
    trace::{
        decode,
        messages::parts::{self, Keys, found, not_an_object, word},
        span::Span,
        stored::Found,
        time::Unit as Since,
    },
    value::{Member, Value},
};

pub const LOG: Log = Log { name: "azure_ai", title: "rows of Azure AI Evaluation", unit: Unit::Record, fits, read };

const CALL: Keys = Keys { id: &["tool_call_id", "id"], name: &["name"], arguments: &["arguments"] };
const QUERY: &str = "query";
const RESPONSE: &str = "response";
const TOOL_CALLS: &str = "tool_calls";
const DEFINITIONS: &str = "tool_definitions";
const CONTENT: &str = "content";
const TYPE: &str = "type";
const TOOL_CALL: &str = "tool_call";
const TOOL_RESULT: &str = "tool_result";
const ROLES: &[&str] = &["user", "assistant", "tool", "system", "developer"];

fn fits(record: Value<'_>) -> bool {
    let are_messages = |key| match record.get(key) {
        Some(Value::Array(messages)) => messages.iter().any(|message| word(*message, "role", ROLES).is_some()),
        _ => false,
    };
    let has_query = has_any(record, &[QUERY]);
    has_query && are_messages(RESPONSE)
        || has_any(record, &[DEFINITIONS]) && (has_query || has_any(record, &[RESPONSE]))
}

fn read<'a>(found: &mut Found<'a>, records: &[Value<'a>]) -> Result<(), Error> {
    for (index, &record) in records.iter().enumerate() {
        let Value::Object(members) = record else {
            found.problems.push(not_an_object("a row of Azure AI Evaluation", record).at_index(index));
            continue;
        };
        // In tables the lists are JSON text.
        let decoded = |&Member { key, value }: &Member<'a>| {
            let is_list = [QUERY, RESPONSE, TOOL_CALLS].iter().any(|list| key.is(list));
            Member { key, value: if is_list { decode::decoded(found.reader, value) } else { value } }
        };
        let record = Value::Object(found.reader.bump.alloc_slice_fill_iter(members.iter().map(decoded)));
        let mut reading = Reading::new(found.reader);
        let question = match record.get(QUERY) {
            Some(Value::Array(messages)) => {
                let last = messages.iter().rev().find(|message| word(**message, "role", &["user"]).is_some());
                last.and_then(|message| reading.said(message.get(CONTENT)))
            }
            _ => parts::text(record, &[QUERY]),
        };
        reading.listener.asked(question);
        let mut calls = 0;
        let has_calls = matches!(record.get(TOOL_CALLS), Some(Value::Array(_) | Value::Object(_)));
        match record.get(RESPONSE) {
            Some(Value::Array(_)) => {
                reading.each(record, RESPONSE, |reading, item| message(reading, item, &mut calls));
            }
            _ => reading.listener.said(parts::text(record, &[RESPONSE])),
        }
        // The calls may stand beside the response, also where it has them.
        if calls == 0 {
            match record.get(TOOL_CALLS) {
                Some(single @ Value::Object(_)) => {
                    reading.inside(
                        |error| error.at_key(Text::from(TOOL_CALLS)),
                        |reading| call(reading, single, Value::Null),
                    );
                }
                Some(Value::Array(_)) => {
                    reading.each(record, TOOL_CALLS, |reading, item| call(reading, item, Value::Null));
                }
                _ => {}
            }
        }
        let expected = expected(&mut reading, record);
        let trace = reading.finish(found, |error| error.at_index(index));
        trace.reported = has_calls || is_list(record.get(RESPONSE));
        trace.note(EXPECTED, expected);
    }
    Ok(())
}

/// The names of the tools that were to be called, in order, and perhaps the arguments of each.
fn expected<'a>(reading: &mut Reading<'a>, record: Value<'a>) -> Option<Value<'a>> {
    let (_, truth) = found(record, &["ground_truth", "expected_actions"])?;
    let (names, arguments) = match truth {
        Value::Array([Value::Array(names), arguments @ Value::Object(_)]) => (*names, *arguments),
        Value::Array(names) => (names, Value::Null),
        _ => return None,
    };
    let mut calls = Vec::new();
    for name in names {
        let Value::Text(name) = *name else { return None };
        let given = match arguments {
            Value::Object(members) => crate::value::get(members, name).unwrap_or(Value::Null),
            _ => Value::Null,
        };
        calls.push(reading.expected_call(name, given));
    }
    Some(reading.array(&calls))
}

fn message<'a>(reading: &mut Reading<'a>, message: Value<'a>, calls: &mut usize) -> Result<(), Error> {
    let role = parts::one_word(message, "role", "the role of a message", ROLES)?;
    if let Some(Value::Array(_)) = message.get(CONTENT) {
        reading.each(message, CONTENT, |reading, part| match word(part, TYPE, &[TOOL_CALL, TOOL_RESULT]) {
            Some(TOOL_CALL) => {
                *calls += 1;
                call(reading, part, message)
            }
            Some(_) => {
                let output = reading.output(part, &[TOOL_RESULT]);
                let id = parts::id(reading.reader, part, &["tool_call_id"]);
                let id = id.or_else(|| parts::id(reading.reader, message, &["tool_call_id"]));
                reading.listener.answered(answer(id, output));
                Ok(())
            }
            None => match parts::text(part, &[TYPE]) {
                Some(kind) => parts::reject_calls(kind, "the type of a part", &["text", TOOL_CALL, TOOL_RESULT])
                    .map_err(|error| error.at_key(Text::from(TYPE))),
                None => Ok(()),
            },
        });
    }
    // As in a chat.
    reading.each(message, TOOL_CALLS, |reading, item| {
        *calls += 1;
        call(reading, item, message)
    });
    let said = said(reading, message);
    match role {
        "user" => reading.listener.asked(said),
        "assistant" => reading.listener.said(said),
        "tool" if !is_list(message.get(CONTENT)) => {
            let output = reading.output(message, &[CONTENT]);
            let id = parts::id(reading.reader, message, &["tool_call_id"]);
            reading.listener.answered(answer(id, output));
        }
        _ => {}
    }
    Ok(())
}

/// What a message says beside calls and results.
fn said<'a>(reading: &Reading<'a>, message: Value<'a>) -> Option<Text<'a>> {
    let Some(Value::Array(all)) = message.get(CONTENT) else { return reading.said(message.get(CONTENT)) };
    let is_said = |part: &Value<'a>| word(*part, TYPE, &[TOOL_CALL, TOOL_RESULT]).is_none();
    let kept: Vec<_> = all.iter().copied().filter(is_said).collect();
    reading.said(Some(reading.array(&kept)))
}

fn call<'a>(reading: &mut Reading<'a>, item: Value<'a>, message: Value<'a>) -> Result<(), Error> {
    // The first versions had OpenAI's call inside.
    let inner = item.get(TOOL_CALL).unwrap_or(item);
    let function = at(inner, &["function"]).unwrap_or(inner);
    let mut span = reading.call(function, &CALL)?;
    span.id = [function, inner, item].iter().find_map(|holder| parts::id(reading.reader, *holder, CALL.id));
    span.started_at = reading.time(message, &["createdAt", "created_at"], Since::Guess);
    let output = reading.output(item, &[TOOL_RESULT]);
    match output {
        Value::Null => reading.listener.called(span),
        output => reading.listener.done(Span { output, ..span }),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{super::reading::told::tells, *};

    #[test]
    fn calls_and_results_among_the_parts_of_messages() {
        tells(
            &LOG,
            r#"[
                {"query": [
                    {"role": "system", "content": "Be kind."},
                    {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
                    {"role": "assistant", "content": [{"type": "tool_call", "tool_call_id": "0", "name": "greet", "arguments": {}}]},
                    {"role": "user", "content": [{"type": "text", "text": "Refund 42"}]}],
                 "response": [
                    {"createdAt": "2026-03-26T17:27:35Z", "run_id": "r", "role": "assistant", "content": [
                        {"type": "tool_call", "tool_call_id": "1", "name": "look_up", "arguments": {"id": 42}},
                        {"type": "tool_call", "tool_call": {"id": "2", "type": "function",
                            "function": {"name": "notify", "arguments": "{}"}}}]},
                    {"run_id": "r", "role": "tool", "tool_call_id": "1", "content": [
                        {"type": "tool_result", "tool_result": {"state": "late"}}]},
                    {"role": "robot"},
                    {"role": "assistant", "content": [{"type": "mcp_call", "name": "f"}]},
                    {"role": "assistant", "content": [{"type": "text", "text": "It is late."}]}],
                 "ground_truth": [["look_up", "notify"], {"look_up": {"id": 42}}]},
                {"query": "Hi", "response": "Hello.", "tool_definitions": [{"name": "greet"}],
                 "tool_calls": {"type": "tool_call", "tool_call_id": "1", "name": "greet", "arguments": {}, "tool_result": "ok"}},
                {"query": "Hi", "response": "Hello.", "tool_definitions": [], "ground_truth": ["greet"]}
            ]"#,
            &[
                r#"# - expected_tool_calls=[{"name": "look_up", "arguments": {"id": 42}}, {"name": "notify"}]"#,
                "Refund 42 → It is late.",
                r#"  look_up({"id": 42}) = {"state": "late"} #1 2026-03-26T17:27:35Z–-"#,
                "  notify({}) = null #2 2026-03-26T17:27:35Z–-",
                "# -",
                "Hi → Hello.",
                r#"  greet({}) = "ok" #1"#,
                r#"# - (not reported) expected_tool_calls=[{"name": "greet"}]"#,
                "Hi → Hello.",
                r#"problem [0].response[2].role: the role of a message is one of user, assistant, tool, system, developer, not "robot""#,
                r#"problem [0].response[3].content[0].type: the type of a part is one of text, tool_call, tool_result, not "mcp_call""#,
            ],
        );
    }
}
