//! Transcripts of Cursor: lines with a role, and a message of blocks like Anthropic's. They have no ids and no times,
//! and mostly no results.

use super::{
    Log, Unit,
    session::{ASSISTANT, CONTENT, Entry, MESSAGE, ROLE, Session, TYPE, USER, check_unknown, without_noise},
};
use crate::{
    call::Reader,
    error::Error,
    text::Text,
    trace::{
        messages::{
            blocks,
            content::content_text,
            parts::{self, not_an_object, word},
        },
        stored::Found,
    },
    value::Value,
};

pub const LOG: Log = Log { name: "cursor", title: "a transcript of Cursor", unit: Unit::File, fits, read };

const TOOL: &str = "tool";
/// Around what the user wrote, among what Cursor adds.
const QUERY: [&[u8]; 2] = [b"<user_query>", b"</user_query>"];

fn fits(record: Value<'_>) -> bool {
    word(record, ROLE, &[USER, ASSISTANT]).is_some()
        && record.get(TYPE).is_none()
        && record.get(MESSAGE).is_some_and(|message| message.get(CONTENT).is_some())
}

fn read<'a>(found: &mut Found<'a>, records: &[Value<'a>]) -> Result<(), Error> {
    let mut session = Session::new(found.reader);
    for (index, &record) in records.iter().enumerate() {
        session.inside(|error| error.at_index(index), |session| line(session, record, index));
    }
    session.finish(found, |error, index| error.at_index(index));
    Ok(())
}

fn line<'a>(session: &mut Session<'a>, record: Value<'a>, index: usize) -> Result<(), Error> {
    if !matches!(record, Value::Object(_)) {
        return Err(not_an_object("a line with a message", record));
    }
    let role = word(record, ROLE, &[USER, ASSISTANT, TOOL]);
    let message = match record.get(MESSAGE) {
        Some(message @ Value::Object(_)) => message,
        None if role.is_none() => return check_unknown(parts::text(record, &[TYPE]), record),
        other => return Err(not_an_object("a message", other.unwrap_or(Value::Null)).at_key(Text::from(MESSAGE))),
    };
    let is_assistant = role == Some(ASSISTANT);
    let entry = Entry {
        record: index,
        at: Value::Null,
        is_by_user: !is_assistant,
        agent: None,
        message_id: None,
        is_inner: !is_assistant,
    };
    session.inside(
        |error| error.at_key(Text::from(MESSAGE)),
        |session| {
            session.message(message, entry, &[]);
            Ok(())
        },
    );
    if role == Some(USER)
        && let Some(query) = query(session.reader(), message)
    {
        session.asked(Some(query));
    }
    Ok(())
}

fn query<'a>(reader: Reader<'a>, message: Value<'a>) -> Option<Text<'a>> {
    let content = message.get(CONTENT)?;
    let has_result = blocks::of(Some(content)).iter().any(|block| blocks::is_result(*block));
    let text = content_text(Some(content), reader.bump)?;
    let bytes = text.utf8_in(reader.bump);
    let Some(start) = memchr::memmem::find(bytes, QUERY[0]) else {
        // Beside a result, only what is marked was asked.
        return without_noise(reader, text, &[]).filter(|_| !has_result);
    };
    let rest = bytes.get(start + QUERY[0].len()..)?;
    let end = memchr::memmem::rfind(rest, QUERY[1]).unwrap_or(rest.len());
    rest.get(..end).map(|query| Text::Utf8(query.trim_ascii()))
}

#[cfg(test)]
mod tests {
    use super::{
        super::reading::told::{leaves, tells},
        *,
    };

    #[test]
    fn lines_with_a_role_and_a_message() {
        tells(
            &LOG,
            r#"[
                {"role": "user", "message": {"content": [{"type": "text",
                    "text": "<open_files>a</open_files>\n<user_query>\nList it\n</user_query>"}]}},
                {"role": "assistant", "message": {"content": [{"type": "text", "text": "I look."},
                    {"type": "tool_use", "name": "Shell", "input": {"command": "ls"}},
                    {"type": "tool_use", "name": "Read", "input": {"path": "p"}}]}},
                {"role": "tool", "message": {"content": [{"type": "tool_result", "content": "a.txt"}]}},
                {"role": "assistant", "message": {"content": [{"type": "text", "text": "Done."}]}},
                {"role": "user", "message": {"content": "More"}},
                {"role": "assistant"},
                {"kind": "tool", "tool": "f"},
                5
            ]"#,
            &[
                "# -",
                "List it → Done.",
                r#"  Shell({"command": "ls"}) = "a.txt""#,
                r#"  Read({"path": "p"}) = null"#,
                "More → -",
                "problem [5].message: expected a message, an object, got null",
                "problem [6]: an entry of an unknown type, which may be a call: it has tool",
                "problem [7]: expected a line with a message, an object, got a number",
            ],
        );
        leaves(
            &LOG,
            r#"[{"role": "user", "content": "x"}, {"role": "user", "message": "x"},
            {"type": "user", "role": "user", "message": {"content": "x"}}]"#,
        );
    }
}
