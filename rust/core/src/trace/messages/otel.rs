//! Messages of OpenTelemetry's conventions for generative AI, as spans and events carry them: a role, and parts of
//! which each has a type: `{"role": "assistant", "parts": [{"type": "tool_call", "id": …, "name": …, "arguments":
//! {…}}]}`. Pydantic AI calls the result of a call `result`, others call it `response`.

use super::{
    Dialect, chat,
    content::in_brackets,
    parts::{self, Keys, each, each_of, found, kind, not_an_object, word},
};
use crate::{
    call::Reader,
    error::Error,
    text::Text,
    trace::{
        decode,
        span::{self, Span},
        turns::{Answer, Listener},
    },
    value::Value,
};

pub const DIALECT: Dialect = Dialect { word: "otel_messages", name: "OpenTelemetry GenAI messages", fits, read };

const ROLE: &str = "role";
const PARTS: &str = "parts";
const TYPE: &str = "type";
const CONTENT: &str = "content";
/// Who speaks, where there are several.
const NAME: &str = "name";

const TEXT: &str = "text";
const TOOL_CALL: &str = "tool_call";
const TOOL_CALL_RESPONSE: &str = "tool_call_response";
/// Of the provider's own tools, whose arguments and results stand under the name of the type.
const SERVER_TOOL_CALL: &str = "server_tool_call";
const SERVER_TOOL_CALL_RESPONSE: &str = "server_tool_call_response";
const CALLS: &[&str] = &[TOOL_CALL, TOOL_CALL_RESPONSE, SERVER_TOOL_CALL, SERVER_TOOL_CALL_RESPONSE];
const KINDS: &[&str] = &[TEXT, TOOL_CALL, TOOL_CALL_RESPONSE, SERVER_TOOL_CALL, SERVER_TOOL_CALL_RESPONSE];
/// What was thought, or was made shorter.
const SILENT: &[&str] = &["reasoning", "thinking", "compaction", "interrupt_response"];
/// What is shown rather than said.
const SHOWN: &[&str] = &["blob", "file", "uri", "image", "audio", "video", "document"];
/// What hands documents to the model.
const FILE_SEARCH: &str = "file_search";

const KEYS: Keys = Keys { id: &["id"], name: &[NAME], arguments: &["arguments"] };

/// The texts of others stand under another key, and so do their calls.
fn fits(messages: &[Value<'_>]) -> bool {
    let is_part = |part: &Value<'_>| match part.get(TYPE) {
        Some(Value::Text(kind)) if kind.is(TEXT) || kind.is("reasoning") => {
            // A text that was left out for privacy leaves nothing but its type.
            part.get(CONTENT).is_some() || matches!(part, Value::Object([_]))
        }
        Some(Value::Text(kind)) if kind.is("file") => part.get("file_id").is_some(),
        Some(Value::Text(kind)) => ["blob", "uri", "compaction"].iter().chain(CALLS).any(|word| kind.is(word)),
        _ => false,
    };
    let has_part = |message: &Value<'_>| match message.get(PARTS) {
        Some(Value::Array(parts)) => parts.iter().any(is_part),
        _ => false,
    };
    let says_nothing = |message: &Value<'_>| {
        matches!((message.get(ROLE), message.get(PARTS)), (Some(Value::Text(_)), Some(Value::Array([]))))
    };
    messages.iter().any(has_part) || !messages.is_empty() && messages.iter().all(says_nothing)
}

/// Can this be nothing but such a message? It has no key, and no part with a key, that those of other dialects have too.
pub fn is_plain(message: &Value<'_>) -> bool {
    let has_only = |holder: &Value<'_>, keys: &[&str]| match holder {
        Value::Object(members) => members.iter().all(|member| keys.iter().any(|key| member.key.is(key))),
        _ => false,
    };
    let is_plain_part = |part: &Value<'_>| match part.get(TYPE) {
        Some(Value::Text(kind)) if kind.is(TEXT) => part.get(CONTENT).is_some() && has_only(part, &[TYPE, CONTENT]),
        Some(Value::Text(kind)) if kind.is(TOOL_CALL) => has_only(part, &[TYPE, "id", NAME, "arguments"]),
        Some(Value::Text(kind)) if kind.is(TOOL_CALL_RESPONSE) => {
            has_only(part, &[TYPE, "id", NAME, "result", "response"])
        }
        _ => false,
    };
    let parts = match message.get(PARTS) {
        Some(Value::Array(parts)) => parts,
        _ => &[],
    };
    !parts.is_empty() && parts.iter().all(is_plain_part) && has_only(message, &[ROLE, PARTS, "finish_reason"])
}

fn read<'a>(reader: Reader<'a>, messages: &[Value<'a>], listener: &mut Listener<'a>) -> Result<(), Error> {
    each(messages, |message| listen(reader, message, listener))
}

fn listen<'a>(reader: Reader<'a>, message: Value<'a>, listener: &mut Listener<'a>) -> Result<(), Error> {
    if !matches!(message, Value::Object(_)) {
        return Err(not_an_object("a message with parts", message));
    }
    // Older instrumentations of one agent write chat messages.
    if message.get(PARTS).is_none() && message.get(CONTENT).is_some() {
        return chat::listen(reader, message, listener);
    }
    if word(message, ROLE, &["system", "developer"]).is_some() {
        return Ok(());
    }
    let is_assistant = word(message, ROLE, &["assistant", "model"]).is_some();
    let agent = parts::text(message, &[NAME]).filter(|_| is_assistant);
    let (mut texts, mut answers) = (Vec::new(), false);
    each_of(message, PARTS, |part| {
        match part_of(reader, part)? {
            Part::Called(span) => listener.called(Span { agent, ..span }),
            Part::Answered(answer) => {
                answers = true;
                listener.answered(answer);
            }
            Part::Said(text) => texts.push(text),
            Part::Nothing => {}
        }
        Ok(())
    })?;
    texts.retain(|text| !text.is_blank());
    let text = parts::joined(reader, &texts);
    if is_assistant {
        listener.said(text);
    } else if word(message, ROLE, &["tool", "function"]).is_some() {
        // A result without a part of its own.
        if let (false, Some(text)) = (answers, text) {
            let id = parts::id(reader, message, &["id", "tool_call_id"]);
            let name = parts::text(message, &[NAME]);
            listener.answered(Answer { id, name, output: Value::Text(text), status: None, error: None });
        }
    } else if text.is_some() || !answers {
        listener.asked(text);
    }
    Ok(())
}

enum Part<'a> {
    Called(Span<'a>),
    Answered(Answer<'a>),
    Said(Text<'a>),
    Nothing,
}

fn part_of<'a>(reader: Reader<'a>, part: Value<'a>) -> Result<Part<'a>, Error> {
    match part {
        Value::Text(text) => return Ok(Part::Said(text)),
        Value::Object(_) => {}
        other => return Err(not_an_object("a part of a message", other)),
    }
    match kind(part, TYPE, "the type of a part", KINDS, SILENT)? {
        Some(TOOL_CALL) => Ok(Part::Called(KEYS.call(reader, part)?)),
        Some(SERVER_TOOL_CALL) => server_call(reader, part).map(Part::Called),
        Some(TOOL_CALL_RESPONSE) => answer(reader, part, &["response", "result"]).map(Part::Answered),
        Some(SERVER_TOOL_CALL_RESPONSE) => {
            answer(reader, part, &[SERVER_TOOL_CALL_RESPONSE, "response", "result"]).map(Part::Answered)
        }
        Some(_) => Ok(parts::text(part, &[CONTENT, TEXT]).map_or(Part::Nothing, Part::Said)),
        None => Ok(match parts::text(part, &[TYPE]) {
            Some(kind) if is_shown(kind) => Part::Said(in_brackets(kind, reader.bump)),
            _ => Part::Nothing,
        }),
    }
}

/// Pydantic AI says `image-url`.
fn is_shown(kind: Text<'_>) -> bool {
    let kind = kind.utf8();
    SHOWN.iter().any(|word| kind == word.as_bytes()) || kind.ends_with(b"-url") || *kind == *b"binary"
}

fn server_call<'a>(reader: Reader<'a>, part: Value<'a>) -> Result<Span<'a>, Error> {
    let details = part.get(SERVER_TOOL_CALL).unwrap_or(Value::Null);
    let name = parts::text(part, &[NAME]).or_else(|| parts::text(details, &[TYPE]));
    let mut span = match name {
        Some(name) => KEYS.call_named(reader, part, name)?,
        None => KEYS.call(reader, part)?,
    };
    if let (Value::Null, Value::Object(members)) = (span.input, details) {
        span.input = match found(details, &["arguments"]) {
            Some((_, arguments)) => parts::arguments(reader, arguments)?,
            None => parts::without(reader, members, &[TYPE]),
        };
    }
    if span.name.is(FILE_SEARCH) || word(details, TYPE, &[FILE_SEARCH]).is_some() {
        span.kind = span::Kind::Retrieval;
    }
    Ok(span)
}

fn answer<'a>(reader: Reader<'a>, part: Value<'a>, keys: &[&str]) -> Result<Answer<'a>, Error> {
    let id = parts::id(reader, part, &["id", "tool_call_id"]);
    let output = parts::output(reader, part, keys)?;
    let error = parts::error(reader, part, &["error"]);
    let failed = error.is_some() || matches!(found(part, &["is_error", "isError"]), Some((_, Value::True)));
    Ok(Answer {
        id,
        name: parts::text(part, &[NAME]),
        // Some write JSON text where an object may stand.
        output: parts::said(reader, decode::decoded(reader, output)),
        status: failed.then_some(Text::from("error")),
        error,
    })
}

#[cfg(test)]
mod tests {
    use super::{
        super::parts::told::{fails, tells},
        *,
    };

    #[test]
    fn calls_and_their_responses() {
        tells(
            &DIALECT,
            r#"[
                {"role": "system", "parts": [{"type": "text", "content": "Help."}]},
                {"role": "user", "parts": [{"type": "text", "content": "Refund 42"}]},
                {"role": "assistant", "name": "desk", "parts": [
                    {"type": "reasoning", "content": "Look first."},
                    {"type": "text", "content": "Looking."},
                    {"type": "tool_call", "id": "1", "name": "lookup", "arguments": {"order": 42}},
                    {"type": "tool_call", "id": "2", "name": "notify", "arguments": "{\"to\": \"me\"}"}],
                 "finish_reason": "tool_call"},
                {"role": "tool", "parts": [{"type": "tool_call_response", "id": "2", "response": "{\"sent\": true}"}]},
                {"role": "tool", "parts": [
                    {"type": "tool_call_response", "id": "1", "response": [{"type": "text", "text": "late"}]}]},
                {"role": "assistant", "parts": [{"type": "text", "content": "Done."}], "finish_reason": "stop"}
            ]"#,
            &[
                "Refund 42 → Done.",
                r#"  lookup({"order": 42}) = "late" #1 @desk"#,
                r#"  notify({"to": "me"}) = {"sent": true} #2 @desk"#,
            ],
        );
    }

    #[test]
    fn results_in_the_messages_of_the_user_start_no_turn() {
        tells(
            &DIALECT,
            r#"[
                {"role": "user", "parts": [{"type": "text", "content": "one"}, {"type": "image-url", "url":
                "https://x"}]},
                {"role": "assistant", "parts": [{"type": "tool_call", "id": "1", "name": "a", "arguments": {}},
                    {"type": "tool_call", "id": "2", "name": "b"}]},
                {"role": "user", "parts": [{"type": "tool_call_response", "id": "1", "name": "a", "result": {"x": 1}}]},
                {"role": "user", "parts": [{"type": "tool_call_response", "id": "2", "name": "b", "result": ""},
                    {"type": "text", "content": "two"}]},
                {"role": "assistant", "parts": []},
                {"role": "user", "parts": [{"type": "text"}]}
            ]"#,
            &["one\\n[image-url] → -", r#"  a({}) = {"x": 1} #1"#, r#"  b(null) = "" #2"#, "two → -", "- → -"],
        );
    }

    #[test]
    fn tools_of_the_provider() {
        tells(
            &DIALECT,
            r#"[{"role": "assistant", "parts": [
                {"type": "server_tool_call", "id": "1", "name": "code_interpreter",
                 "server_tool_call": {"type": "code_interpreter", "code": "1 + 1"}},
                {"type": "server_tool_call_response", "id": "1",
                 "server_tool_call_response": {"type": "code_interpreter", "output": "2"}},
                {"type": "server_tool_call", "id": "2", "server_tool_call": {"type": "web_search", "query": "q"}},
                {"type": "compaction", "content": "…"}, {"type": "holiday"}]}]"#,
            &[
                "- → -",
                r#"  code_interpreter({"code": "1 + 1"}) = {"type": "code_interpreter", "output": "2"} #1"#,
                r#"  web_search({"query": "q"}) = null #2"#,
            ],
        );
    }

    #[test]
    fn a_result_may_be_told_as_a_text() {
        tells(
            &DIALECT,
            r#"[{"role": "assistant", "parts": [{"type": "tool_call", "id": "1", "name": "a", "arguments": null}]},
                {"role": "tool", "id": "1", "parts": [{"type": "text", "content": "A"}]},
                {"role": "assistant", "content": "Done."}]"#,
            &["- → Done.", r#"  a(null) = "A" #1"#],
        );
    }

    #[test]
    fn what_is_malformed_is_an_error_with_its_place() {
        for (message, error) in [
            ("7", "[1]: expected a message with parts, an object, got a number"),
            (r#"{"role": "user", "parts": {}}"#, "[1].parts: expected a list, got an object"),
            (
                r#"{"role": "user", "parts": [7]}"#,
                "[1].parts[0]: expected a part of a message, an object, got a number",
            ),
            (
                r#"{"role": "assistant", "parts": [{"type": "tool_call", "arguments": {}}]}"#,
                "[1].parts[0]: a tool call without a name; it is given as name",
            ),
        ] {
            let first = r#"{"role": "user", "parts": [{"type": "text", "content": "x"}]}"#;
            fails(&DIALECT, &format!("[{first}, {message}]"), error);
        }
    }
}
