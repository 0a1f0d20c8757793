//! Sessions of Gemini CLI: one object with all messages, in which a call stands with what came of it; or an entry for
//! each message, which may come again when more is known of it.

use std::collections::HashMap;

use super::{
    Log, Unit,
    reading::ERROR,
    session::{CONTENT, Session, TYPE, check_unknown, without_noise},
};
use crate::{
    call::Reader,
    error::Error,
    text::Text,
    trace::{
        messages::{
            content::{content_text, in_brackets},
            gemini,
            parts::{self, Keys, not_an_object, word},
        },
        span::Span,
        stored::Found,
        time::Unit as Since,
    },
    value::Value,
};

pub const LOG: Log = Log { name: "gemini_cli", title: "a session of Gemini CLI", unit: Unit::File, fits, read };

const MESSAGES: &str = "messages";
const SESSION_ID: &[&str] = &["sessionId"];
const USER: &str = "user";
const GEMINI: &str = "gemini";
const CALLS: &str = "toolCalls";
const RESULT: &str = "result";
const REWIND: &str = "$rewindTo";
/// Messages of the tool itself, and changes of what is known of the session.
const SILENT: &[&str] = &["info", "error", "warning"];

const CALL: Keys = Keys { id: &["id"], name: &["name"], arguments: &["args"] };

fn fits(record: Value<'_>) -> bool {
    let is_message =
        |message: &Value<'_>| word(*message, TYPE, &[USER, GEMINI]).is_some() && message.get(CONTENT).is_some();
    match record.get(MESSAGES) {
        Some(Value::Array(messages)) => record.get("sessionId").is_some() && messages.iter().any(is_message),
        _ => is_header(record) || word(record, TYPE, &[GEMINI]).is_some() && is_message(&record),
    }
}

fn is_header(record: Value<'_>) -> bool {
    record.get("sessionId").is_some() && record.get("projectHash").is_some()
}

fn read<'a>(found: &mut Found<'a>, records: &[Value<'a>]) -> Result<(), Error> {
    let mut entries = Vec::new();
    for (index, &record) in records.iter().enumerate() {
        match record.get(MESSAGES) {
            Some(Value::Array(messages)) => {
                let place = |error: Error, place| error.at_index(place).at_key(Text::from(MESSAGES)).at_index(index);
                let messages: Vec<_> = messages.iter().copied().enumerate().collect();
                read_session(found, parts::text(record, SESSION_ID), &messages, place);
            }
            _ => entries.push((index, record)),
        }
    }
    if entries.iter().any(|(_, entry)| fits(*entry)) || entries.len() == records.len() {
        let id = entries.iter().find_map(|(_, entry)| parts::text(*entry, SESSION_ID));
        read_session(found, id, &entries, |error, place| error.at_index(place));
    } else {
        let error =
            |&(index, entry): &(usize, Value<'a>)| not_an_object("a session with its messages", entry).at_index(index);
        found.problems.extend(entries.iter().map(error));
    }
    Ok(())
}

fn read_session<'a>(
    found: &mut Found<'a>,
    id: Option<Text<'a>>,
    entries: &[(usize, Value<'a>)],
    place: impl Fn(Error, usize) -> Error,
) {
    let mut session = Session::new(found.reader);
    let mut model = None;
    for (index, entry) in latest(entries) {
        session.inside(|error| place(error, index), |session| message(session, entry));
        model = model.or_else(|| parts::text(entry, &["model"]));
    }
    let trace = session.finish(found, place);
    trace.id = id;
    trace.note("model", model.map(Value::Text));
}

/// The messages, each as it was written last, without those that were taken back.
fn latest<'a>(entries: &[(usize, Value<'a>)]) -> Vec<(usize, Value<'a>)> {
    let mut latest: Vec<(usize, Value<'a>)> = Vec::new();
    let mut places: HashMap<Text<'a>, usize> = HashMap::new();
    for &(index, entry) in entries {
        if let Some(Value::Text(id)) = entry.get(REWIND) {
            if let Some(&place) = places.get(&id) {
                latest.truncate(place);
                places.retain(|_, other| *other < place);
            }
            continue;
        }
        match parts::text(entry, &["id"]) {
            Some(id) => match places.get(&id).and_then(|place| latest.get_mut(*place)) {
                Some(known) => *known = (index, entry),
                None => {
                    places.insert(id, latest.len());
                    latest.push((index, entry));
                }
            },
            None => latest.push((index, entry)),
        }
    }
    latest
}

fn message<'a>(session: &mut Session<'a>, message: Value<'a>) -> Result<(), Error> {
    if !matches!(message, Value::Object(_)) {
        return Err(not_an_object("a message", message));
    }
    let reader = session.reader();
    match word(message, TYPE, &[USER, GEMINI]).or_else(|| word(message, TYPE, SILENT)) {
        Some(USER) => {
            if let Some(text) = said(reader, message.get(CONTENT)).and_then(|text| without_noise(reader, text, &[])) {
                session.asked(Some(text));
            }
        }
        Some(GEMINI) => {
            session.said(said(reader, message.get(CONTENT)));
            let calls = session.reading.list(message, CALLS);
            for (index, &written) in calls.iter().enumerate() {
                let place = |error: Error| error.at_index(index).at_key(Text::from(CALLS));
                session.inside(place, |session| call(session, message, written));
            }
        }
        Some(_) => {}
        None if is_header(message) || message.get("$set").is_some() => {}
        None => check_unknown(parts::text(message, &[TYPE]), message)?,
    }
    Ok(())
}

/// A text, or the parts of a content, of which those without a text are shown as what they are.
fn said<'a>(reader: Reader<'a>, content: Option<Value<'a>>) -> Option<Text<'a>> {
    let Some(Value::Array(parts)) = content else { return content_text(content, reader.bump) };
    let part = |part: &Value<'a>| match *part {
        Value::Text(text) => Some(text),
        Value::Object([first, ..]) => {
            Some(parts::text(*part, &["text"]).unwrap_or_else(|| in_brackets(first.key, reader.bump)))
        }
        _ => None,
    };
    parts::joined(reader, &parts.iter().filter_map(part).collect::<Vec<_>>())
}

fn call<'a>(session: &mut Session<'a>, message: Value<'a>, written: Value<'a>) -> Result<(), Error> {
    let span = session.reading.call(written, &CALL)?;
    let timed = if written.get("timestamp").is_some() { written } else { message };
    let mut span = Span {
        started_at: session.reading.time(timed, &["timestamp"], Since::Guess),
        status: parts::text(written, &["status"]),
        error: parts::error(session.reader(), written, &[ERROR]),
        ..span
    };
    // The parts of the message with which the tool answered, of which the first holds it.
    let response = match written.get(RESULT) {
        Some(Value::Array(parts)) => parts.iter().find_map(|part| part.get("functionResponse")),
        _ => None,
    };
    match response {
        Some(response @ Value::Object(_)) => {
            let answer =
                gemini::answer(session.reader(), response, &["name"]).map_err(|error| error.at_key(Text::from(RESULT)));
            match answer {
                Ok(answer) => {
                    span.output = answer.output;
                    span.status = span.status.or(answer.status);
                    span.error = span.error.or(answer.error);
                }
                Err(error) => session.reading.problems.push(error),
            }
        }
        _ => span.output = session.reading.output(written, &[RESULT]),
    }
    session.done(span);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{
        super::reading::told::{leaves, tells},
        *,
    };

    #[test]
    fn a_session_with_its_messages() {
        let session = r#"{"sessionId": "s", "projectHash": "p", "messages": [
            {"id": "0", "type": "info", "content": "Update!"},
            {"id": "1", "type": "user", "content": [{"text": "Read"}, {"text": "both"}]},
            {"id": "2", "type": "gemini", "timestamp": "2026-01-01T12:00:00Z", "model": "g", "content": "I read.",
                "toolCalls": [
                {"id": "a", "name": "read_file", "args": {"path": "a"}, "status": "success",
                    "timestamp": "2026-01-01T12:00:01Z",
                 "result": [{"functionResponse": {"id": "a", "name": "read_file", "response": {"output": "A"}}}]},
                {"id": "b", "name": "read_file", "args": {"path": "b"}, "status": "error",
                 "result": [{"functionResponse": {"id": "b", "name": "read_file", "response": {"error": "gone"}}}]},
                {"id": "c", "name": "ask", "status": "cancelled"}, {"args": {}}, 7]},
            {"id": "3", "type": "user", "content": [{"text": "More"}, {"inlineData": {"data": "AAAA"}}]},
            {"id": "4", "type": "gemini", "content": ""},
            {"type": "tool_group", "toolCalls": []}, null]}"#;
        tells(
            &LOG,
            &format!("[{session}]"),
            &[
                r#"# s model="g""#,
                "Read\\nboth → I read.",
                r#"  read_file({"path": "a"}) = "A" #a is success 2026-01-01T12:00:01Z–-"#,
                r#"  read_file({"path": "b"}) = null #b is error ! gone 2026-01-01T12:00:00Z–-"#,
                "  ask(null) = null #c is cancelled 2026-01-01T12:00:00Z–-",
                "  unknown tool({}) = null 2026-01-01T12:00:00Z–-",
                "More\\n[inlineData] → -",
                "problem [0].messages[2].toolCalls[3]: a tool call without a name; it is given as name",
                "problem [0].messages[2].toolCalls[4]: expected a tool call, an object, got a number",
                r#"problem [0].messages[5]: an entry of an unknown type, "tool_group", which may be a call: it has toolCalls"#,
                "problem [0].messages[6]: expected a message, an object, got null",
            ],
        );
        let small = r#"{"sessionId": "t", "messages": [{"type": "user", "content": "x"}]}"#;
        tells(
            &LOG,
            &format!("[{small}, {small}, 5]"),
            &[
                "# t",
                "x → -",
                "# t",
                "x → -",
                "problem [2]: expected a session with its messages, an object, got a number",
            ],
        );
    }

    #[test]
    fn entries_that_come_again_and_are_taken_back() {
        tells(
            &LOG,
            r#"[
                {"sessionId": "s", "projectHash": "p", "kind": "main"},
                {"id": "1", "type": "user", "content": "one"},
                {"id": "2", "type": "gemini", "content": "Wait."},
                {"id": "2", "type": "gemini", "content": "Wait.", "toolCalls": [{"id": "a", "name": "f", "args": {}}]},
                {"$set": {"lastUpdated": "x"}},
                {"id": "3", "type": "user", "content": "two"},
                {"id": "4", "type": "gemini", "content": "", "toolCalls": [{"id": "b", "name": "g", "args": {}}]},
                {"$rewindTo": "3"},
                {"id": "5", "type": "user", "content": "three"}
            ]"#,
            &["# s", "one → Wait.", "  f({}) = null #a", "three → -"],
        );
        leaves(
            &LOG,
            r#"[{"type": "user", "content": "x"}, {"messages": [{"type": "user", "content": 1}]}, {"sessionId": ""}]"#,
        );
    }
}
