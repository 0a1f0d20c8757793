//! Sessions of Hermes: rows of a table of messages, with calls as JSON text. Rows of what was taken back stay in it.

use std::collections::HashMap;

use super::{
    Log, Unit,
    session::{ASSISTANT, CONTENT, ROLE, Session, USER, check_unknown},
};
use crate::{
    call::Reader,
    error::Error,
    json,
    text::Text,
    trace::{
        decode,
        messages::parts::{self, Keys, not_an_object, word},
        span::Span,
        stored::Found,
        time::Unit as Since,
        turns::Answer,
    },
    value::{MAX_DEPTH, Value},
};

pub const LOG: Log = Log { name: "hermes", title: "rows of Hermes", unit: Unit::File, fits, read };

const MESSAGES: &str = "messages";
const SESSION_ID: &[&str] = &["session_id"];
const ACTIVE: &str = "active";
const OBSERVED: &str = "observed";
const CALLS: &str = "tool_calls";
const FUNCTION: &str = "function";
const TOOL: &str = "tool";
const SILENT: &[&str] = &["system", "session_meta"];
/// Before content that is no text.
const AS_JSON: &[u8] = b"\0json:";

const CALL: Keys = Keys { id: &["id", "call_id"], name: &["name"], arguments: &["arguments"] };

fn fits(record: Value<'_>) -> bool {
    match record.get(MESSAGES) {
        Some(Value::Array(rows)) => rows.iter().any(|row| is_row(*row)),
        _ => is_row(record),
    }
}

fn is_row(row: Value<'_>) -> bool {
    let has = |key: &str| row.get(key).is_some();
    has(ROLE) && parts::text(row, SESSION_ID).is_some() && (has(ACTIVE) || has(OBSERVED))
}

fn read<'a>(found: &mut Found<'a>, records: &[Value<'a>]) -> Result<(), Error> {
    // The rows of each session, with their places.
    let mut sessions: Vec<Vec<(usize, Value<'a>)>> = Vec::new();
    let mut by_id: HashMap<Option<Text<'a>>, usize> = HashMap::new();
    for (index, &record) in records.iter().enumerate() {
        match record.get(MESSAGES) {
            Some(Value::Array(rows)) => {
                let place = |error: Error, place| error.at_index(place).at_key(Text::from(MESSAGES)).at_index(index);
                let id = parts::text(record, &["id", "session_id"]);
                read_session(found, id, rows.iter().copied().enumerate().collect(), place);
            }
            _ if matches!(record, Value::Object(_)) => {
                let own = *by_id.entry(parts::text(record, SESSION_ID)).or_insert_with(|| {
                    sessions.push(Vec::new());
                    sessions.len() - 1
                });
                sessions.get_mut(own).into_iter().for_each(|rows| rows.push((index, record)));
            }
            _ => found.problems.push(not_an_object("a row of a message", record).at_index(index)),
        }
    }
    for rows in sessions {
        read_session(found, None, rows, |error, place| error.at_index(place));
    }
    Ok(())
}

fn read_session<'a>(
    found: &mut Found<'a>,
    id: Option<Text<'a>>,
    mut rows: Vec<(usize, Value<'a>)>,
    place: impl Fn(Error, usize) -> Error,
) {
    let number = |row: &Value<'a>| match row.get("id") {
        Some(Value::Int(id)) => Some(id),
        _ => None,
    };
    // A table has no order of its own.
    if rows.iter().all(|(_, row)| number(row).is_some()) {
        rows.sort_by_key(|(_, row)| number(row));
        // Exported twice, as where parts of the table overlap.
        rows.dedup_by(|row, known| {
            let is_again = number(&row.1) == number(&known.1);
            if is_again {
                *known = *row;
            }
            is_again
        });
    }
    let mut session = Session::new(found.reader);
    for &(index, row) in &rows {
        if !matches!(row.get(ACTIVE), Some(Value::Int(0) | Value::False)) {
            session.inside(|error| place(error, index), |session| self::row(session, row, index));
        }
    }
    session.finish(found, place).id = id.or_else(|| rows.iter().find_map(|(_, row)| parts::text(*row, SESSION_ID)));
}

fn row<'a>(session: &mut Session<'a>, row: Value<'a>, index: usize) -> Result<(), Error> {
    if !matches!(row, Value::Object(_)) {
        return Err(not_an_object("a row of a message", row));
    }
    let content = || row.get(CONTENT).map(|content| unpacked(session.reader(), content).unwrap_or(content));
    let at = session.reading.time(row, &["timestamp"], Since::Guess);
    match word(row, ROLE, &[USER, ASSISTANT, TOOL]).or_else(|| word(row, ROLE, SILENT)) {
        Some(USER) => {
            let text = session.reading.said(content());
            session.asked(text);
        }
        Some(ASSISTANT) => {
            let text = session.reading.said(content());
            session.said(text);
            session.inside(|error| error.at_key(Text::from(CALLS)), |session| calls(session, row, at));
        }
        Some(TOOL) => {
            let output = match row.get(CONTENT).and_then(|content| unpacked(session.reader(), content)) {
                Some(content) => parts::said(session.reader(), content),
                None => session.reading.output(row, &[CONTENT]),
            };
            let id = parts::id(session.reader(), row, &["tool_call_id"]);
            let name = parts::text(row, &["tool_name"]);
            session.answered(Answer { id, name, output, status: None, error: None }, at, index);
        }
        Some(_) => {}
        None => check_unknown(parts::text(row, &[ROLE]), row)?,
    }
    Ok(())
}

fn calls<'a>(session: &mut Session<'a>, row: Value<'a>, at: Value<'a>) -> Result<(), Error> {
    let calls = match row.get(CALLS).map(|calls| decode::decoded(session.reader(), calls)) {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Text(text)) if text.is_blank() => return Ok(()),
        Some(Value::Array(calls)) => calls,
        Some(other) => return Err(Error::no_calls(other.kind())),
    };
    for (index, &call) in calls.iter().enumerate() {
        session.inside(
            |error| error.at_index(index),
            |session| {
                let (holder, id) = match call.get(FUNCTION) {
                    Some(function @ Value::Object(_)) => (function, parts::id(session.reader(), call, CALL.id)),
                    _ => (call, None),
                };
                let span = session.reading.call(holder, &CALL)?;
                session.called(Span { id: id.or(span.id), started_at: at, ..span });
                Ok(())
            },
        );
    }
    Ok(())
}

/// What content says that is marked as JSON text.
fn unpacked<'a>(reader: Reader<'a>, content: Value<'a>) -> Option<Value<'a>> {
    let Value::Text(text) = content else { return None };
    json::parse(text.utf8_in(reader.bump).strip_prefix(AS_JSON)?, MAX_DEPTH, reader.bump).ok()
}

#[cfg(test)]
mod tests {
    use super::{
        super::reading::told::{leaves, tells},
        *,
    };

    #[test]
    fn rows_in_the_order_of_their_numbers_without_those_taken_back() {
        tells(
            &LOG,
            r#"[
                {"id": 1, "session_id": "s", "role": "user", "active": 1,
                 "content": "\u0000json:[{\"type\": \"text\", \"text\": \"Look\"}, {\"type\": \"image_url\"}]"},
                {"id": 2, "session_id": "s", "role": "assistant", "active": 1, "content": "", "timestamp": 1767268800.5,
                 "tool_calls": "[{\"name\": \"see\", \"arguments\": \"{\\\"a\\\": 1}\"}]"},
                {"id": 4, "session_id": "s", "role": "assistant", "active": 1, "content": "A window."},
                {"id": 3, "session_id": "s", "role": "tool", "active": 1, "content": "W", "tool_call_id": "x",
                    "tool_name": "see"},
                {"id": 5, "session_id": "s", "role": "user", "active": 1, "content": "No."},
                {"id": 2, "session_id": "s", "role": "assistant", "active": 1, "content": "", "timestamp": 1767268800.5,
                 "tool_calls": "[{\"name\": \"see\", \"arguments\": \"{\\\"a\\\": 1}\"}]"},
                {"id": 5, "session_id": "s", "role": "user", "active": 0, "content": "No."},
                {"id": 6, "session_id": "s", "role": "tool", "active": 1, "content": "old", "tool_call_id": "y",
                    "tool_name": "do"},
                {"id": 7, "session_id": "t", "role": "user", "observed": 0, "content": "Other"},
                {"id": 8, "session_id": "s", "role": "assistant", "active": 1, "content": "B", "tool_calls":
                    "[{\"id\": \"z\", \"function\": {\"name\": \"do\", \"arguments\": \"{}\"}}, {\"arguments\": 5}]"},
                {"id": 9, "session_id": "s", "role": "tool", "active": 1, "content": "done", "tool_call_id": "z"},
                {"id": 10, "session_id": "s", "role": "assistant", "content": null, "tool_calls": "{}"},
                {"id": 11, "session_id": "s", "role": "critic", "tool_calls": "[]"},
                5
            ]"#,
            &[
                "# s",
                "Look\\n[image_url] → B",
                r#"  see({"a": 1}) = "W" 2026-01-01T12:00:00.5Z–-"#,
                r#"  do({}) = "done" #z"#,
                "  unknown tool(5) = null",
                "# t",
                "Other → -",
                "problem [13]: expected a row of a message, an object, got a number",
                "problem [9].tool_calls[1]: a tool call without a name; it is given as name",
                "problem [11].tool_calls: expected a list of tool calls (or of chat messages), got an object",
                r#"problem [12]: an entry of an unknown type, "critic", which may be a call: it has tool_calls"#,
                r#"problem [7]: the result of a call that is not in the log, "y""#,
            ],
        );
    }

    #[test]
    fn a_session_with_its_rows() {
        tells(
            &LOG,
            r#"[{"id": "s", "messages": [{"session_id": "s", "role": "user", "content": "x", "active": 1}, 5]}]"#,
            &["# s", "x → -", "problem [0].messages[1]: expected a row of a message, an object, got a number"],
        );
        leaves(&LOG, r#"[{"role": "user"}, {"role": "user", "session_id": "s"}, {"active": 1, "session_id": "s"}]"#);
    }
}
