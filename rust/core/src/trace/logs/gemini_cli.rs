//! Sessions of Gemini CLI: one object with all messages, in which a call stands with what came of it; or an entry for
//! each message, which may come again when more is known of it.
//!
//! Entries may also set all messages anew. Where that leaves out the last ones, they were taken back. Where it leaves
//! out others, the history was made shorter for the model, and what happened before still counts.

use std::collections::HashMap;

use super::{
    Log, Unit,
    reading::{ERROR, at},
    session::{CONTENT, Session, TYPE, check_unknown, without_noise},
};
use crate::{
    call::Reader,
    error::Error,
    show,
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
const SET: &str = "$set";
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
            // A header before entries has an empty list.
            Some(Value::Array(messages @ [_, ..])) => {
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
    let mut history = History::default();
    for &(index, entry) in entries {
        session.inside(|error| place(error, index), |_| history.add(index, entry));
    }
    let mut model = None;
    for Written { entry, index, inner } in history.messages {
        let inside = |error: Error| match inner {
            Some(inner) => error.at_index(inner).at_key(Text::from(MESSAGES)).at_key(Text::from(SET)),
            None => error,
        };
        session.inside(|error| place(inside(error), index), |session| message(session, entry));
        model = model.or_else(|| parts::text(entry, &["model"]));
    }
    let trace = session.finish(found, place);
    trace.id = id;
    trace.note("model", model.map(Value::Text));
}

/// The messages, each as it was written last, without those that were taken back.
#[derive(Default)]
struct History<'a> {
    messages: Vec<Written<'a>>,
    places: HashMap<Text<'a>, usize>,
}

/// A message, the place of the entry with it, and which of the messages it is that are set there.
#[derive(Clone, Copy)]
struct Written<'a> {
    entry: Value<'a>,
    index: usize,
    inner: Option<usize>,
}

impl<'a> History<'a> {
    fn add(&mut self, index: usize, entry: Value<'a>) -> Result<(), Error> {
        if let Some(Value::Text(id)) = entry.get(REWIND) {
            let Some(&place) = self.places.get(&id) else {
                let id = show::in_a_sentence(&show::storable(id));
                let message = format!("a message that is not in the log, {id:?}; it isn't known what was taken back");
                return Err(Error::value(message).at_key(Text::from(REWIND)));
            };
            self.cut(place);
            return Ok(());
        }
        let Some(Value::Array(messages)) = at(entry, &[SET, MESSAGES]) else {
            self.write(Written { entry, index, inner: None });
            return Ok(());
        };
        let mut known = self.messages.iter().filter_map(|known| id_of(known.entry));
        if messages.iter().all(|message| id_of(*message).is_some_and(|id| known.next() == Some(id))) {
            let last = messages.last().and_then(|last| self.places.get(&id_of(*last)?));
            self.cut(last.map_or(0, |last| last + 1));
        }
        for (inner, &entry) in messages.iter().enumerate() {
            self.write(Written { entry, index, inner: Some(inner) });
        }
        Ok(())
    }

    fn write(&mut self, written: Written<'a>) {
        let place = id_of(written.entry).map(|id| *self.places.entry(id).or_insert(self.messages.len()));
        match place.and_then(|place| self.messages.get_mut(place)) {
            Some(known) => *known = written,
            None => self.messages.push(written),
        }
    }

    fn cut(&mut self, place: usize) {
        for id in self.messages.drain(place..).filter_map(|left| id_of(left.entry)) {
            self.places.remove(&id);
        }
    }
}

fn id_of(entry: Value<'_>) -> Option<Text<'_>> {
    parts::text(entry, &["id"])
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
        None if is_header(message) || message.get(SET).is_some() => {}
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
        // All messages may be set anew: the last ones were taken back, or earlier ones were made shorter.
        let call = |id: &str| {
            format!(
                r#"{{"id": {id:?}, "type": "gemini", "content": "", "toolCalls": [{{"id": "of {id}",
            "name": "f", "args": {{}}}}]}}"#
            )
        };
        let set = |messages: &[String]| format!(r#"{{"$set": {{"messages": [{}]}}}}"#, messages.join(","));
        let header = r#"{"sessionId": "s", "projectHash": "p", "messages": []}"#.to_owned();
        let summary = r#"{"id": "4", "type": "user", "content": "So far: f"}"#.to_owned();
        let first = [header, set(&[call("1"), call("2")]), set(&[call("1")])];
        let entries = [&first[..], &[call("3"), set(&[summary, call("3"), call("5")])]].concat();
        tells(
            &LOG,
            &format!("[{}]", entries.join(",")),
            &["# s", "- → -", "  f({}) = null #of 1", "  f({}) = null #of 3", "So far: f → -", "  f({}) = null #of 5"],
        );
        tells(
            &LOG,
            &format!(r#"[{}, {{"$rewindTo": "gone"}}, {}]"#, call("1"), set(&["7".to_owned()])),
            &[
                "# -",
                "- → -",
                "  f({}) = null #of 1",
                r#"problem [1]["$rewindTo"]: a message that is not in the log, "gone"; it isn't known what was taken back"#,
                r#"problem [2]["$set"].messages[0]: expected a message, an object, got a number"#,
            ],
        );
        leaves(
            &LOG,
            r#"[{"type": "user", "content": "x"}, {"messages": [{"type": "user", "content": 1}]}, {"sessionId": ""}]"#,
        );
    }
}
