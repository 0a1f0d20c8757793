//! Sessions of Factory's Droid: a header, then messages of blocks like Anthropic's.

use super::{
    Log, Unit,
    session::{CONTENT, Entry, MESSAGE, Node, Parent, ROLE, Session, TYPE, USER, branch, check_unknown},
};
use crate::{
    error::Error,
    text::Text,
    trace::{
        messages::{
            blocks,
            parts::{self, not_an_object, word},
        },
        stored::Found,
        time::Unit as Since,
    },
    value::Value,
};

pub const LOG: Log = Log { name: "droid", title: "a session of Droid", unit: Unit::File, fits, read };

const HEADER: &str = "session_start";
const ID: &[&str] = &["id", "sessionId"];

fn fits(record: Value<'_>) -> bool {
    match word(record, TYPE, &[HEADER, MESSAGE]) {
        Some(HEADER) => parts::text(record, ID).is_some(),
        Some(_) => {
            let blocks = blocks::of(record.get(MESSAGE).and_then(|message| message.get(CONTENT)));
            record.get(ROLE).is_none()
                && blocks.iter().any(|block| blocks::is_call(*block) || blocks::is_result(*block))
        }
        None => false,
    }
}

fn read<'a>(found: &mut Found<'a>, records: &[Value<'a>]) -> Result<(), Error> {
    let node = |record: &Value<'a>| {
        let is_said = word(*record, TYPE, &[MESSAGE]).is_some();
        Node {
            id: parts::text(*record, &["id"]).filter(|_| is_said),
            parent: match record.get("parentId") {
                Some(Value::Text(parent)) => Parent::Of(parent),
                Some(Value::Null) => Parent::None,
                _ => Parent::NotRecorded,
            },
            is_said,
        }
    };
    let nodes: Vec<_> = records.iter().map(node).collect();
    let mut session = Session::new(found.reader);
    for (index, (&record, counts)) in records.iter().zip(branch(&nodes)).enumerate() {
        if counts {
            session.inside(|error| error.at_index(index), |session| entry(session, record, index));
        }
    }
    let header = records.iter().find(|record| word(**record, TYPE, &[HEADER]).is_some());
    session.finish(found, |error, index| error.at_index(index)).id = header.and_then(|header| parts::text(*header, ID));
    Ok(())
}

fn entry<'a>(session: &mut Session<'a>, record: Value<'a>, index: usize) -> Result<(), Error> {
    if !matches!(record, Value::Object(_)) {
        return Err(not_an_object("an entry of a session", record));
    }
    match word(record, TYPE, &[MESSAGE, HEADER]) {
        Some(MESSAGE) => {}
        Some(_) => return Ok(()),
        None => return check_unknown(parts::text(record, &[TYPE]), record),
    }
    let message = match record.get(MESSAGE) {
        Some(message @ Value::Object(_)) => message,
        other => return Err(not_an_object("a message", other.unwrap_or(Value::Null)).at_key(Text::from(MESSAGE))),
    };
    let entry = Entry {
        record: index,
        at: session.reading.time(record, &["timestamp"], Since::Guess),
        is_by_user: word(message, ROLE, &[USER]).is_some(),
        agent: None,
        message_id: None,
        // Instructions.
        is_inner: word(message, ROLE, &["system"]).is_some(),
    };
    session.inside(
        |error| error.at_key(Text::from(MESSAGE)),
        |session| {
            session.message(message, entry, &[]);
            Ok(())
        },
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{
        super::reading::told::{leaves, tells},
        *,
    };

    #[test]
    fn a_header_and_messages() {
        tells(
            &LOG,
            r#"[
                {"type": "session_start", "id": "s", "title": "List", "cwd": "/"},
                {"type": "message", "id": "1", "timestamp": "2026-01-01T12:00:00Z", "message": {"role": "user",
                    "content": [
                    {"type": "text", "text": "<system-reminder>x</system-reminder>"}, {"type": "text",
                        "text": "List"}]}},
                {"type": "message", "id": "2", "timestamp": "2026-01-01T12:00:01Z", "message": {"role": "assistant",
                    "content": [
                    {"type": "text", "text": "I look."}, {"type": "tool_use", "id": "a", "name": "Execute",
                        "input": {"command": "ls"}}]}},
                {"type": "message", "id": "3", "timestamp": "2026-01-01T12:00:02Z", "message": {"role": "user",
                    "content": [
                    {"type": "tool_result", "tool_use_id": "a", "is_error": false, "content": "a.txt"}]}},
                {"type": "todo_state", "todos": []},
                {"type": "message", "id": "4", "message": {"role": "assistant", "content": [{"type": "text",
                    "text": "Done."}]}},
                {"type": "message", "id": "5"},
                {"type": "tool_call", "name": "f"},
                7
            ]"#,
            &[
                "# s",
                "List → Done.",
                r#"  Execute({"command": "ls"}) = "a.txt" #a 2026-01-01T12:00:01Z–2026-01-01T12:00:02Z"#,
                "problem [6].message: expected a message, an object, got null",
                r#"problem [7]: an entry of an unknown type, "tool_call", which may be a call: it has name"#,
                "problem [8]: expected an entry of a session, an object, got a number",
            ],
        );
        // Without the header, a call shows what it is.
        let message = |id: &str, parent: &str, call: &str| {
            format!(
                r#"{{"type": "message", "id": {id:?}, "parentId": {parent}, "message": {{"role": "assistant",
                    "content": [
                    {{"type": "tool_use", "id": {call:?}, "name": "f", "input": {{}}}}]}}}}"#
            )
        };
        let left = [message("1", "null", "a"), message("2", r#""1""#, "b"), message("3", r#""1""#, "c")];
        tells(&LOG, &format!("[{}]", left.join(",")), &["# -", "- → -", "  f({}) = null #a", "  f({}) = null #c"]);
        leaves(
            &LOG,
            r#"[{"type": "message", "message": {"role": "user", "content": "x"}}, {"type": "session_start"}]"#,
        );
    }
}
