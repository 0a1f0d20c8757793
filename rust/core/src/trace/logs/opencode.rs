//! Sessions of OpenCode: messages of parts, in which a call stands with what came of it.

use super::{
    Log, Unit,
    reading::{at, is_list},
    session::{ASSISTANT, ROLE, Session, TYPE, USER, check_unknown},
};
use crate::{
    error::Error,
    text::Text,
    trace::{
        messages::{
            content::content_text,
            parts::{self, Keys, not_an_object, reject_calls, word},
        },
        span::Span,
        stored::Found,
        time::Unit as Since,
    },
    value::Value,
};

pub const LOG: Log = Log { name: "opencode", title: "a session of OpenCode", unit: Unit::File, fits, read };

const MESSAGES: &str = "messages";
const INFO: &str = "info";
const PARTS: &str = "parts";
const STATE: &str = "state";
const TOOL: &str = "tool";
const TEXT: &str = "text";
const FILE: &str = "file";
/// A command that another agent works on.
const SUBTASK: &str = "subtask";
const SILENT: &[&str] =
    &["reasoning", "step-start", "step-finish", "snapshot", "patch", "agent", "retry", "compaction", FILE];
/// Texts that the user didn't write, or that the model isn't given.
const NOT_SAID: &[&str] = &["synthetic", "ignored"];

const CALL: Keys = Keys { id: &["callID"], name: &[TOOL], arguments: &[] };

fn fits(record: Value<'_>) -> bool {
    match record.get(MESSAGES) {
        Some(Value::Array(messages)) => messages.iter().any(|message| is_message(*message)),
        _ => is_message(record),
    }
}

fn is_message(message: Value<'_>) -> bool {
    at(message, &[INFO, ROLE]).is_some() && is_list(message.get(PARTS))
}

fn read<'a>(found: &mut Found<'a>, records: &[Value<'a>]) -> Result<(), Error> {
    let mut messages = Vec::new();
    for (index, &record) in records.iter().enumerate() {
        match record.get(MESSAGES) {
            Some(Value::Array(items)) => {
                let items: Vec<_> = items.iter().copied().enumerate().collect();
                let place = |error: Error, place| error.at_index(place).at_key(Text::from(MESSAGES)).at_index(index);
                read_session(found, record.get(INFO), &items, place);
            }
            _ if matches!(record, Value::Object(_)) => messages.push((index, record)),
            _ => found.problems.push(not_an_object("a session, or a message of one", record).at_index(index)),
        }
    }
    if !messages.is_empty() {
        read_session(found, None, &messages, |error, place| error.at_index(place));
    }
    Ok(())
}

fn read_session<'a>(
    found: &mut Found<'a>,
    info: Option<Value<'a>>,
    messages: &[(usize, Value<'a>)],
    place: impl Fn(Error, usize) -> Error,
) {
    let mut session = Session::new(found.reader);
    let (mut id, mut model) = (info.and_then(|info| parts::text(info, &["id"])), None);
    // The user went back to where this message, or this part of it, stood.
    let revert = info.and_then(|info| info.get("revert"));
    let is_reverted = |holder: Option<Value<'a>>, key: &str| {
        let to = revert.and_then(|revert| parts::text(revert, &[key]));
        to.is_some() && to == holder.and_then(|holder| parts::text(holder, &["id"]))
    };
    for &(index, message) in messages {
        let info = message.get(INFO);
        let is_last = is_reverted(info, "messageID");
        let is_whole = !is_last || revert.and_then(|revert| parts::text(revert, &["partID"])).is_none();
        if is_last && is_whole {
            break;
        }
        session.inside(
            |error| place(error, index),
            |session| self::message(session, message, |part| !is_whole && is_reverted(Some(part), "partID")),
        );
        id = id.or_else(|| parts::text(info?, &["sessionID"]));
        model = model.or_else(|| parts::text(info?, &["modelID"]));
        if is_last {
            break;
        }
    }
    let trace = session.finish(found, place);
    trace.id = id;
    trace.note("model", model.map(Value::Text));
}

fn message<'a>(
    session: &mut Session<'a>,
    message: Value<'a>,
    is_reverted: impl Fn(Value<'a>) -> bool,
) -> Result<(), Error> {
    let Some(info @ Value::Object(_)) = message.get(INFO) else {
        return Err(not_an_object("what is known of a message", message.get(INFO).unwrap_or(Value::Null))
            .at_key(Text::from(INFO)));
    };
    let written = session.reading.list(message, PARTS);
    let parts = written.get(..written.iter().position(|part| is_reverted(*part)).unwrap_or(written.len()));
    let mut texts = Vec::new();
    for (index, &part) in parts.unwrap_or_default().iter().enumerate() {
        let place = |error: Error| error.at_index(index).at_key(Text::from(PARTS));
        session.inside(place, |session| {
            texts.extend(self::part(session, info, part)?);
            Ok(())
        });
    }
    let reader = session.reader();
    let text = parts::joined(reader, &texts);
    match word(info, ROLE, &[USER, ASSISTANT]) {
        Some(USER) if text.is_some() => session.asked(text),
        Some(USER) => {
            // Files alone.
            let files: Vec<_> =
                parts.unwrap_or_default().iter().copied().filter(|part| word(*part, TYPE, &[FILE]).is_some()).collect();
            if let [first, ..] = *files {
                session.asked(content_text(Some(first), reader.bump));
            }
        }
        // What was said so far, made shorter.
        Some(_) if matches!(info.get("summary"), Some(Value::True)) => {}
        Some(_) => session.said(text),
        None => {
            return parts::one_word(info, ROLE, "the role of a message", &[USER, ASSISTANT])
                .map(drop)
                .map_err(|error| error.at_key(Text::from(INFO)));
        }
    }
    Ok(())
}

/// What a part says; a call is told.
fn part<'a>(session: &mut Session<'a>, info: Value<'a>, part: Value<'a>) -> Result<Option<Text<'a>>, Error> {
    if !matches!(part, Value::Object(_)) {
        return Err(not_an_object("a part of a message", part));
    }
    match word(part, TYPE, &[TOOL, TEXT, SUBTASK]).or_else(|| word(part, TYPE, SILENT)) {
        Some(TOOL) => call(session, info, part).map(|()| None),
        Some(TEXT) => {
            let is_said = NOT_SAID.iter().all(|key| !matches!(part.get(key), Some(Value::True)));
            Ok(parts::text(part, &[TEXT]).filter(|_| is_said))
        }
        Some(SUBTASK) => Ok(parts::text(part, &["prompt", "description"])),
        Some(_) => Ok(None),
        None => {
            let kind = parts::text(part, &[TYPE]);
            if let Some(kind) = kind {
                reject_calls(kind, "the type of a part", &[TOOL, TEXT, SUBTASK])
                    .map_err(|error| error.at_key(Text::from(TYPE)))?;
            }
            check_unknown(kind, part).map(|()| None)
        }
    }
}

fn call<'a>(session: &mut Session<'a>, info: Value<'a>, part: Value<'a>) -> Result<(), Error> {
    let span = session.reading.call(part, &CALL)?;
    let reader = session.reader();
    let state = part.get(STATE).unwrap_or(Value::Null);
    let reading = &mut session.reading;
    let status = parts::text(state, &["status"]);
    let input = match state.get("input") {
        // They are not known before they were all written.
        Some(Value::Object([])) if status.is_some_and(|status| status.is("pending")) => Value::Null,
        Some(input) => reading.arguments(input, STATE),
        None => Value::Null,
    };
    let time = state.get("time").unwrap_or(Value::Null);
    let span = Span {
        input,
        output: reading.output(state, &["output"]),
        status,
        error: parts::error(reader, state, &["error"]),
        agent: parts::text(info, &["agent", "mode"]),
        started_at: match reading.time(time, &["start"], Since::Guess) {
            Value::Null => reading.time(info.get("time").unwrap_or(Value::Null), &["created"], Since::Guess),
            started_at => started_at,
        },
        ended_at: reading.time(time, &["end"], Since::Guess),
        ..span
    };
    session.done(span);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{
        super::reading::told::{leaves, tells},
        *,
    };

    const MESSAGES: &str = r#"
        {"info": {"id": "m1", "role": "user", "sessionID": "s"}, "parts": [
            {"type": "text", "text": "Read it", "id": "p1"}, {"type": "text", "text": "file text", "synthetic": true}]},
        {"info": {"id": "m2", "role": "assistant", "sessionID": "s", "modelID": "gpt", "agent": "build",
            "time": {"created": 1767268800000}},
         "parts": [{"type": "step-start"}, {"type": "text", "text": "I read."},
            {"type": "tool", "id": "p2", "callID": "a", "tool": "read", "state": {"status": "completed",
                "input": {"path": "p"}, "output": "P",
                "time": {"start": 1767268801000, "end": 1767268802500}}},
            {"type": "tool", "id": "p3", "callID": "b", "tool": "bash", "state": {"status": "error", "input": {},
                "error": "denied"}},
            {"type": "tool", "id": "p4", "callID": "c", "tool": "bash", "state": {"status": "pending", "input": {}}}]},
        {"info": {"id": "m3", "role": "user"}, "parts": [{"type": "file", "url": "data:"}]},
        {"info": {"id": "m4", "role": "assistant", "summary": true}, "parts": [{"type": "text", "text": "Summary"}]}"#;

    #[test]
    fn parts_hold_calls_with_what_came_of_them() {
        let told = [
            r#"# s model="gpt""#,
            "Read it → I read.",
            r#"  read({"path": "p"}) = "P" #a @build is completed 2026-01-01T12:00:01Z–2026-01-01T12:00:02.5Z"#,
            "  bash({}) = null #b @build is error ! denied 2026-01-01T12:00:00Z–-",
            "  bash(null) = null #c @build is pending 2026-01-01T12:00:00Z–-",
            "[file] → -",
        ];
        tells(&LOG, &format!(r#"[{{"info": {{"id": "s"}}, "messages": [{MESSAGES}]}}]"#), &told);
        // The messages alone.
        tells(&LOG, &format!("[{MESSAGES}]"), &told);
    }

    #[test]
    fn what_was_reverted_does_not_count() {
        let session =
            |revert: &str| format!(r#"[{{"info": {{"id": "s", "revert": {revert}}}, "messages": [{MESSAGES}]}}]"#);
        let model = r#"# s model="gpt""#;
        let read = r#"  read({"path": "p"}) = "P" #a @build is completed 2026-01-01T12:00:01Z–2026-01-01T12:00:02.5Z"#;
        tells(&LOG, &session(r#"{"messageID": "m2"}"#), &["# s", "Read it → -"]);
        tells(&LOG, &session(r#"{"messageID": "m2", "partID": "p3"}"#), &[model, "Read it → I read.", read]);
    }

    #[test]
    fn what_cannot_be_read_is_a_problem() {
        tells(
            &LOG,
            r#"[5, {"messages": [
                {"info": {"role": "user"}, "parts": [{"type": "subtask", "prompt": "Look"}, {"type": "compaction"}]},
                {"info": {"role": "assistant"}, "parts": [{"type": "tool"}, {"type": "tool-invocation"},
                    {"type": "new", "toolName": "f"},
                    {"type": "newer"}, 7]},
                {"info": {"role": "critic"}, "parts": []},
                {"parts": []}]}]"#,
            &[
                "# -",
                "Look → -",
                "  unknown tool(null) = null",
                "problem [0]: expected a session, or a message of one, an object, got a number",
                "problem [1].messages[1].parts[0]: a tool call without a name; it is given as tool",
                r#"problem [1].messages[1].parts[1].type: the type of a part is one of tool, text, subtask, not "tool-invocation""#,
                r#"problem [1].messages[1].parts[2]: an entry of an unknown type, "new", which may be a call: it has toolName"#,
                "problem [1].messages[1].parts[4]: expected a part of a message, an object, got a number",
                r#"problem [1].messages[2].info.role: the role of a message is one of user, assistant, not "critic""#,
                "problem [1].messages[3].info: expected what is known of a message, an object, got null",
            ],
        );
        leaves(&LOG, r#"[{"info": {"role": "user"}}, {"messages": [{"role": "user", "parts": []}]}]"#);
    }
}
