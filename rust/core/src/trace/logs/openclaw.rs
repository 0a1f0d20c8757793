//! Sessions of Pi, and of OpenClaw, which is made of it: a header, then entries in a tree.

use super::{
    Log, Unit,
    session::{
        ASSISTANT, CONTENT, MESSAGE, Node, Parent, ROLE, Session, TYPE, USER, branch, check_unknown, without_noise,
    },
};
use crate::{
    error::Error,
    text::Text,
    trace::{
        messages::{
            blocks,
            content::content_text,
            parts::{self, Keys, not_an_object, reject_calls, word},
        },
        span::Span,
        stored::Found,
        time::Unit as Since,
        turns::Answer,
    },
    value::Value,
};

pub const LOG: Log = Log { name: "openclaw", title: "a session of OpenClaw or Pi", unit: Unit::File, fits, read };

const HEADER: &str = "session";
const CALL: &str = "toolCall";
const RESULT: &str = "toolResult";
const THINKING: &str = "thinking";
/// What the user ran, and what extensions and the tool itself wrote.
const SILENT: &[&str] = &["bashExecution", "custom", "branchSummary", "compactionSummary", "system"];
/// Entries without a message.
const OTHERS: &[&str] = &[
    HEADER,
    "model_change",
    "thinking_level_change",
    "compaction",
    "branch_summary",
    "custom",
    "custom_message",
    "label",
    "session_info",
];

const KEYS: Keys = Keys { id: &["id"], name: &["name"], arguments: &["arguments"] };

fn fits(record: Value<'_>) -> bool {
    let has = |key: &str| record.get(key).is_some();
    match word(record, TYPE, &[HEADER, MESSAGE]) {
        Some(HEADER) => has("id") && (has("version") || has("cwd")),
        Some(_) => {
            let message = record.get(MESSAGE).unwrap_or(Value::Null);
            let is_call = |block: &Value<'_>| word(*block, TYPE, &[CALL]).is_some();
            word(message, ROLE, &[RESULT]).is_some() || blocks::of(message.get(CONTENT)).iter().any(is_call)
        }
        None => false,
    }
}

fn read<'a>(found: &mut Found<'a>, records: &[Value<'a>]) -> Result<(), Error> {
    let mut session = Session::new(found.reader);
    for (index, (&record, counts)) in records.iter().zip(branch(&nodes(records))).enumerate() {
        if counts {
            session.inside(|error| error.at_index(index), |session| entry(session, record, index));
        }
    }
    let header = records.iter().find(|record| word(**record, TYPE, &[HEADER]).is_some());
    let model = |record: &Value<'a>| parts::text(record.get(MESSAGE)?, &["model"]);
    let model = records.iter().find_map(model);
    let trace = session.finish(found, |error, index| error.at_index(index));
    trace.id = header.and_then(|header| parts::text(*header, &["id"]));
    trace.note("model", model.map(Value::Text));
    Ok(())
}

/// The header and what has no id are in no branch.
fn nodes<'a>(records: &[Value<'a>]) -> Vec<Node<'a>> {
    let node = |record: &Value<'a>| {
        let is_header = word(*record, TYPE, &[HEADER]).is_some();
        Node {
            id: parts::text(*record, &["id"]).filter(|_| !is_header),
            parent: match record.get("parentId") {
                Some(Value::Text(parent)) => Parent::Of(parent),
                Some(Value::Null) => Parent::None,
                _ => Parent::NotRecorded,
            },
            is_said: word(*record, TYPE, &[MESSAGE]).is_some(),
        }
    };
    records.iter().map(node).collect()
}

fn entry<'a>(session: &mut Session<'a>, record: Value<'a>, index: usize) -> Result<(), Error> {
    if !matches!(record, Value::Object(_)) {
        return Err(not_an_object("an entry of a session", record));
    }
    if word(record, TYPE, &[MESSAGE]).is_none() {
        return match word(record, TYPE, OTHERS) {
            Some(_) => Ok(()),
            None => check_unknown(parts::text(record, &[TYPE]), record),
        };
    }
    let message = match record.get(MESSAGE) {
        Some(message @ Value::Object(_)) => message,
        other => return Err(not_an_object("a message", other.unwrap_or(Value::Null)).at_key(Text::from(MESSAGE))),
    };
    let timed = if record.get("timestamp").is_some() { record } else { message };
    let at = session.reading.time(timed, &["timestamp"], Since::Guess);
    session.inside(|error| error.at_key(Text::from(MESSAGE)), |session| told(session, message, at, index));
    Ok(())
}

fn told<'a>(session: &mut Session<'a>, message: Value<'a>, at: Value<'a>, index: usize) -> Result<(), Error> {
    let reader = session.reader();
    let content = message.get(CONTENT);
    match word(message, ROLE, &[USER, ASSISTANT, RESULT]).or_else(|| word(message, ROLE, SILENT)) {
        Some(USER) => {
            let text = content_text(content, reader.bump);
            if let Some(text) = text.and_then(|text| without_noise(reader, text, &[])) {
                session.asked(Some(text));
            }
        }
        Some(ASSISTANT) => {
            let mut texts = Vec::new();
            for (place, &block) in blocks::of(content).iter().enumerate() {
                let place = |error: Error| error.at_index(place).at_key(Text::from(CONTENT));
                session.inside(place, |session| {
                    texts.extend(self::block(session, block, at)?);
                    Ok(())
                });
            }
            if let Some(Value::Text(text)) = content {
                texts.push(text);
            }
            session.said(parts::joined(reader, &texts));
        }
        Some(RESULT) => {
            let answer = session.answer(message, &["toolCallId"]);
            let name = parts::text(message, &["toolName"]);
            session.answered(Answer { name, ..answer }, at, index);
        }
        Some(_) => {}
        None => check_unknown(parts::text(message, &[ROLE]), message)?,
    }
    Ok(())
}

/// What a block says; a call is told.
fn block<'a>(session: &mut Session<'a>, block: Value<'a>, at: Value<'a>) -> Result<Option<Text<'a>>, Error> {
    match word(block, TYPE, &[CALL, THINKING]) {
        Some(CALL) => {
            let span = session.reading.call(block, &KEYS)?;
            session.called(Span { started_at: at, ..span });
            Ok(None)
        }
        Some(_) => Ok(None),
        None => {
            match parts::text(block, &[TYPE]) {
                Some(kind) => reject_calls(kind, "the type of a block", &["text", THINKING, CALL])
                    .map_err(|error| error.at_key(Text::from(TYPE)))?,
                None => check_unknown(None, block)?,
            }
            Ok(content_text(Some(block), session.reader().bump))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::reading::told::{leaves, tells},
        *,
    };

    #[test]
    fn the_branch_to_the_last_message_counts() {
        tells(
            &LOG,
            r#"[
                {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T12:00:00Z", "cwd": "/"},
                {"type": "model_change", "id": "1", "parentId": null, "modelId": "claude"},
                {"type": "message", "id": "2", "parentId": "1", "timestamp": "2026-01-01T12:00:01Z",
                    "message": {"role": "user",
                    "content": [{"type": "text", "text": "List"}]}},
                {"type": "message", "id": "3", "parentId": "2", "message": {"role": "assistant", "content": [
                    {"type": "toolCall", "id": "x", "name": "rm", "arguments": {}}]}},
                {"type": "message", "id": "4", "parentId": "2", "timestamp": "2026-01-01T12:00:02Z",
                    "message": {"role": "assistant",
                    "model": "claude", "content": [{"type": "thinking", "thinking": "Hm"}, {"type": "text",
                        "text": "I list."},
                        {"type": "toolCall", "id": "a", "name": "bash", "arguments": {"command": "ls"}},
                        {"type": "toolCall", "id": "b", "name": "bash", "arguments": {"command": "rm"}}]}},
                {"type": "message", "id": "5", "parentId": "4", "timestamp": "2026-01-01T12:00:03Z",
                    "message": {"role": "toolResult",
                    "toolCallId": "b", "toolName": "bash", "content": [{"type": "text", "text": "no"}],
                        "isError": true}},
                {"type": "message", "id": "6", "parentId": "5", "message": {"role": "toolResult", "toolCallId": "a",
                    "toolName": "bash",
                    "content": [{"type": "text", "text": "a.txt"}], "isError": false, "timestamp": 1767268804000}},
                {"type": "message", "id": "7", "parentId": "6", "message": {"role": "bashExecution", "command": "ls",
                    "output": "a.txt"}},
                {"type": "message", "id": "8", "parentId": "7", "message": {"role": "assistant",
                    "content": [{"type": "text", "text": "Done."}]}},
                {"type": "label", "id": "9", "parentId": "3", "label": "x"}
            ]"#,
            &[
                r#"# s model="claude""#,
                "List → Done.",
                r#"  bash({"command": "ls"}) = "a.txt" #a 2026-01-01T12:00:02Z–2026-01-01T12:00:04Z"#,
                r#"  bash({"command": "rm"}) = "no" #b is error 2026-01-01T12:00:02Z–2026-01-01T12:00:03Z"#,
            ],
        );
    }

    #[test]
    fn what_cannot_be_read_is_a_problem() {
        tells(
            &LOG,
            r#"[
                {"type": "session", "id": "s", "cwd": "/"},
                {"type": "message", "message": {"role": "user", "content": "one"}},
                {"type": "message", "message": {"role": "assistant", "content": [
                    {"type": "toolCall", "id": "a", "arguments": "{\"x\": 1}"}, {"type": "call"}, {"type": "text",
                        "text": "two"}]}},
                {"type": "message", "message": {"role": "toolResult", "toolCallId": "gone", "toolName": "bash",
                    "content": []}},
                {"type": "message", "message": {"role": "critic", "name": "f"}},
                {"type": "message"},
                {"type": "new_call", "tool": "f"},
                {"type": "new_title", "title": "f"},
                5
            ]"#,
            &[
                "# s",
                "one → two",
                r#"  unknown tool({"x": 1}) = null #a"#,
                "problem [2].message.content[0]: a tool call without a name; it is given as name",
                r#"problem [2].message.content[1].type: the type of a block is one of text, thinking, toolCall, not "call""#,
                r#"problem [4].message: an entry of an unknown type, "critic", which may be a call: it has name"#,
                "problem [5].message: expected a message, an object, got null",
                r#"problem [6]: an entry of an unknown type, "new_call", which may be a call: it has tool"#,
                "problem [8]: expected an entry of a session, an object, got a number",
                r#"problem [3]: the result of a call that is not in the log, "gone""#,
            ],
        );
        leaves(
            &LOG,
            r#"[{"type": "message", "message": {"role": "user", "content": "x"}}, {"type": "session"},
            {"type": "message", "role": "toolResult"}]"#,
        );
    }
}
