//! Messages of the Vercel AI SDK: model messages, whose content has parts of the types `tool-call` and `tool-result`, and
//! UI messages, whose parts hold a call with its result, of a type that has the tool's name in it (`tool-getWeather`).

use super::{
    Dialect, blocks,
    content::in_brackets,
    parts::{self, Keys, each, each_of, found, is_read_as_chat, kind, not_an_object, one_word, word},
};
use crate::{
    call::Reader,
    error::Error,
    text::Text,
    trace::turns::{Answer, Listener},
    value::Value,
};

pub const DIALECT: Dialect = Dialect { word: "vercel", name: "Vercel AI SDK messages", fits, read };

const ROLE: &str = "role";
const TYPE: &str = "type";
const CONTENT: &str = "content";
const PARTS: &str = "parts";
const STATE: &str = "state";
/// Objects of Python have the same keys in the spelling of Python.
const CALL_ID: &[&str] = &["toolCallId", "tool_call_id"];
const NAME: &[&str] = &["toolName", "tool_name"];
/// `args` and `result` are the words of versions before 5.
const INPUT: &[&str] = &["input", "args"];
const OUTPUT: &[&str] = &["output", "result"];

const TOOL_CALL: &str = "tool-call";
const TOOL_RESULT: &str = "tool-result";
const TOOL_ERROR: &str = "tool-error";
/// Of UI messages: the name of the tool is told by a key.
const DYNAMIC_TOOL: &str = "dynamic-tool";
/// The same before version 5, with all of it under this key.
const TOOL_INVOCATION: &str = "tool-invocation";
const INVOCATION: &str = "toolInvocation";
const PREFIX: &str = "tool-";
const TEXT: &str = "text";
/// Questions to the user about a call, and their answers.
const SILENT: &[&str] = &["tool-approval-request", "tool-approval-response"];
const KINDS: &[&str] = &[TEXT, TOOL_CALL, TOOL_RESULT, TOOL_ERROR, DYNAMIC_TOOL, TOOL_INVOCATION];

const KEYS: Keys = Keys { id: CALL_ID, name: NAME, arguments: INPUT };

fn fits(messages: &[Value<'_>]) -> bool {
    messages.iter().any(|message| match parts_of(*message) {
        // Others have parts without a type, or texts under another key.
        (PARTS, parts) => parts.iter().any(|part| is_ours(*part) || is_text(*part)) && message.get("kind").is_none(),
        (_, parts) => parts.iter().any(|part| is_ours(*part)),
    })
}

fn is_text(part: Value<'_>) -> bool {
    word(part, TYPE, &[TEXT]).is_some() && part.get(TEXT).is_some()
}

/// Does a part have what only those of this SDK have?
fn is_ours(part: Value<'_>) -> bool {
    let Some(kind) = parts::text(part, &[TYPE]) else { return false };
    let has_id = |holder: Value<'_>| CALL_ID.iter().any(|key| holder.get(key).is_some());
    // The name of a tool is in it, in any script.
    let is_of_a_tool = kind.code_points().take(PREFIX.len()).eq(PREFIX.chars().map(u32::from));
    (is_of_a_tool || kind.is(DYNAMIC_TOOL)) && (has_id(part) || part.get(INVOCATION).is_some_and(has_id))
        || kind.is("step-start")
}

/// Those of a UI message go before its content, in which older ones say the same as a text.
fn parts_of<'a>(message: Value<'a>) -> (&'static str, &'a [Value<'a>]) {
    match (message.get(PARTS), message.get(CONTENT)) {
        (Some(Value::Array(parts)), _) => (PARTS, parts),
        (_, Some(Value::Array(parts))) => (CONTENT, parts),
        _ => (CONTENT, &[]),
    }
}

fn read<'a>(reader: Reader<'a>, messages: &[Value<'a>], listener: &mut Listener<'a>) -> Result<(), Error> {
    each(messages, |message| listen(reader, message, listener))
}

fn listen<'a>(reader: Reader<'a>, message: Value<'a>, listener: &mut Listener<'a>) -> Result<(), Error> {
    if is_read_as_chat(reader, message, &[PARTS], listener)? {
        return Ok(());
    }
    // "data" was one of older versions.
    let roles = &["user", "assistant", "tool", "system", "data"];
    let role = one_word(message, ROLE, "the role of a message", roles)?;
    if matches!(role, "system" | "data") {
        return Ok(());
    }
    let mut texts = Vec::new();
    let parts = parts_of(message);
    if parts.0 == PARTS || parts.1.is_empty() {
        blocks::check_none_in(message.get(CONTENT), true)?;
    }
    match parts {
        (_, []) => texts.extend(parts::text(message, &[CONTENT])),
        (key, _) => each_of(message, key, |part| {
            texts.extend(listen_to_part(reader, part, listener)?);
            Ok(())
        })?,
    }
    parts::speak(reader, role, texts, listener);
    Ok(())
}

/// Tell of the call or result that a part is; what else it says is returned.
fn listen_to_part<'a>(
    reader: Reader<'a>,
    part: Value<'a>,
    listener: &mut Listener<'a>,
) -> Result<Option<Text<'a>>, Error> {
    // A tool may have any name, so this goes first.
    if let (Some(name), Some(_)) = (tool_of(reader, part), part.get(STATE)) {
        invocation(reader, part, Some(name), listener)?;
        return Ok(None);
    }
    match kind(part, TYPE, "the type of a part", KINDS, SILENT)? {
        Some(TOOL_CALL) => listener.called(KEYS.call(reader, part)?),
        Some(TOOL_RESULT | TOOL_ERROR) => listener.answered(answer(reader, part)?),
        Some(DYNAMIC_TOOL) => invocation(reader, part, None, listener)?,
        Some(TOOL_INVOCATION) => {
            let inner = part.get(INVOCATION).unwrap_or(Value::Null);
            let read = match inner {
                Value::Object(_) => invocation(reader, inner, None, listener),
                other => Err(not_an_object("a call with its state", other)),
            };
            read.map_err(|error| error.at_key(Text::from(INVOCATION)))?;
        }
        Some(_) => return Ok(parts::text(part, &[TEXT])),
        None if word(part, TYPE, &["file", "image"]).is_some() => {
            return Ok(parts::text(part, &[TYPE]).map(|kind| in_brackets(kind, reader.bump)));
        }
        None => {}
    }
    Ok(None)
}

/// The name in the type of a part of a UI message.
fn tool_of<'a>(reader: Reader<'a>, part: Value<'a>) -> Option<Text<'a>> {
    let kind = parts::text(part, &[TYPE])?.utf8_in(reader.bump);
    kind.strip_prefix(PREFIX.as_bytes()).filter(|name| !name.is_empty()).map(Text::Utf8)
}

/// A call with all that became of it, as its state says.
fn invocation<'a>(
    reader: Reader<'a>,
    part: Value<'a>,
    name: Option<Text<'a>>,
    listener: &mut Listener<'a>,
) -> Result<(), Error> {
    let mut span = match name {
        Some(name) => KEYS.call_named(reader, part, name)?,
        None => KEYS.call(reader, part)?,
    };
    match word(part, STATE, STATES) {
        // What is there of the input may be part of it.
        Some("input-streaming" | "partial-call") => span.input = Value::Null,
        Some("output-error") => {
            // Input that the tool doesn't take is kept as it was sent.
            if let (Value::Null, Some((key, raw))) = (span.input, found(part, &["rawInput", "raw_input"])) {
                span.input = parts::arguments(reader, raw).map_err(|error| error.at_key(Text::from(key)))?;
            }
            span.status = Some(Text::from("error"));
            span.error = parts::error(reader, part, &["errorText", "error_text"]);
        }
        Some("output-denied") => {
            span.status = Some(Text::from("denied"));
            span.error = part.get("approval").and_then(|approval| parts::text(approval, &["reason"]));
        }
        _ => span.output = parts::output(reader, part, OUTPUT)?,
    }
    if span.status.is_some() || found(part, OUTPUT).is_some() {
        listener.done(span);
    } else {
        listener.called(span);
    }
    Ok(())
}

const STATES: &[&str] = &["input-streaming", "partial-call", "output-error", "output-denied"];

fn answer<'a>(reader: Reader<'a>, part: Value<'a>) -> Result<Answer<'a>, Error> {
    let written = parts::output(reader, part, OUTPUT)?;
    let mut answer = Answer {
        id: parts::id(reader, part, CALL_ID),
        name: parts::text(part, NAME),
        output: written,
        status: matches!(part.get("isError"), Some(Value::True)).then_some(Text::from("error")),
        error: None,
    };
    if word(part, TYPE, &[TOOL_ERROR]).is_some() {
        answer.status = Some(Text::from("error"));
        answer.error = parts::error(reader, part, &["error"]);
    }
    // From version 5 on, a result says what kind it is of. Before, it is whatever the tool gave.
    let kind = match (word(written, TYPE, KINDS_OF_OUTPUT), written.get("value")) {
        (Some(kind), Some(value)) => {
            answer.output = value;
            kind
        }
        (Some(kind @ DENIED), None) => {
            answer.output = Value::Null;
            kind
        }
        _ => return Ok(answer),
    };
    match kind {
        "error-text" | "error-json" => {
            answer.status = Some(Text::from("error"));
            answer.error = parts::error(reader, written, &["value"]);
            answer.output = Value::Null;
        }
        DENIED => {
            answer.status = Some(Text::from("denied"));
            answer.error = parts::text(written, &["reason"]);
        }
        "content" => answer.output = parts::said(reader, answer.output),
        _ => {}
    }
    Ok(answer)
}

const DENIED: &str = "execution-denied";
const KINDS_OF_OUTPUT: &[&str] = &["text", "json", "error-text", "error-json", DENIED, "content"];

#[cfg(test)]
mod tests {
    use super::{
        super::parts::told::{fails, tells},
        *,
    };

    #[test]
    fn model_messages() {
        tells(
            &DIALECT,
            r#"[
                {"role": "system", "content": "Help."},
                {"role": "user", "content": [{"type": "text", "text": "Refund 42"}, {"type": "image", "image": "…"}]},
                {"role": "assistant", "content": [
                    {"type": "reasoning", "text": "hm"},
                    {"type": "text", "text": "Let me look."},
                    {"type": "tool-call", "toolCallId": "1", "toolName": "lookup", "input": {"order": 42}},
                    {"type": "tool-call", "toolCallId": "2", "toolName": "refund", "args": {"order": 42}},
                    {"type": "tool-call", "toolCallId": "3", "toolName": "notify"},
                    {"type": "tool-call", "toolCallId": "4", "toolName": "web", "input": {}, "providerExecuted": true},
                    {"type": "tool-result", "toolCallId": "4", "toolName": "web", "output":
                        {"type": "content", "value": [{"type": "text", "text": "page"}, {"type": "image", "data": "…"}]}},
                    {"type": "tool-call", "toolCallId": "5", "toolName": "old", "args": {}},
                    {"type": "tool-call", "toolCallId": "6", "toolName": "old", "args": {}},
                    {"type": "tool-approval-request", "approvalId": "x", "toolCallId": "3"}]},
                {"role": "tool", "content": [
                    {"type": "tool-approval-response", "approvalId": "x", "approved": false},
                    {"type": "tool-result", "toolCallId": "3", "toolName": "notify", "output":
                        {"type": "execution-denied", "reason": "not now"}},
                    {"type": "tool-result", "toolCallId": "2", "toolName": "refund", "output":
                        {"type": "error-text", "value": "closed"}},
                    {"type": "tool-result", "toolCallId": "1", "toolName": "lookup", "output":
                        {"type": "json", "value": {"state": "late"}}},
                    {"type": "tool-result", "toolCallId": "5", "toolName": "old", "result": {"code": 4}, "isError": true},
                    {"type": "tool-result", "toolCallId": "6", "toolName": "old", "result": {"type": "text", "text": "x"}}]},
                {"role": "assistant", "content": "Done"}
            ]"#,
            &[
                "Refund 42\\n[image] → Done",
                r#"  lookup({"order": 42}) = {"state": "late"} #1"#,
                r#"  refund({"order": 42}) = null #2 is error ! closed"#,
                "  notify(null) = null #3 is denied ! not now",
                r#"  web({}) = "page\n[image]" #4"#,
                r#"  old({}) = {"code": 4} #5 is error"#,
                r#"  old({}) = {"type": "text", "text": "x"} #6"#,
            ],
        );
    }

    #[test]
    fn ui_messages() {
        tells(
            &DIALECT,
            r#"[
                {"id": "a", "role": "user", "parts": [{"type": "text", "text": "Weather?"}]},
                {"id": "b", "role": "assistant", "parts": [
                    {"type": "step-start"},
                    {"type": "tool-getWeather", "toolCallId": "1", "state": "output-available", "input": {"city": "Rome"},
                     "output": {"degrees": 20}},
                    {"type": "tool-getWeather", "toolCallId": "2", "state": "output-error", "rawInput": "{\"city",
                     "errorText": "no city"},
                    {"type": "dynamic-tool", "tool_name": "map", "tool_call_id": "3", "state": "input-available", "input": {}},
                    {"type": "tool-call", "toolCallId": "4", "state": "input-streaming", "input": {"ci": "Ro"}},
                    {"type": "tool-send", "toolCallId": "5", "state": "output-denied", "input": {"to": "me"},
                     "approval": {"id": "x", "approved": false, "reason": "not now"}},
                    {"type": "data-note", "data": {}},
                    {"type": "text", "text": "20 degrees.", "state": "done"}]},
                {"id": "b", "role": "assistant", "parts": [
                    {"type": "tool-größe", "toolCallId": "8", "state": "output-available", "input": {}, "output": 1}]},
                {"id": "c", "role": "user", "content": "And before version 5?"},
                {"id": "d", "role": "assistant", "content": "So.", "parts": [
                    {"type": "tool-invocation", "toolInvocation":
                        {"state": "result", "toolCallId": "6", "toolName": "old", "args": {"x": 1}, "result": [1, 2]}},
                    {"type": "tool-invocation", "toolInvocation":
                        {"state": "partial-call", "toolCallId": "7", "toolName": "old", "args": {"x": 1}}},
                    {"type": "text", "text": "So."}]}
            ]"#,
            &[
                "Weather? → 20 degrees.",
                r#"  getWeather({"city": "Rome"}) = {"degrees": 20} #1"#,
                r#"  getWeather("{\"city") = null #2 is error ! no city"#,
                "  map({}) = null #3",
                "  call(null) = null #4",
                r#"  send({"to": "me"}) = null #5 is denied ! not now"#,
                "  größe({}) = 1 #8",
                "And before version 5? → So.",
                r#"  old({"x": 1}) = [1, 2] #6"#,
                "  old(null) = null #7",
            ],
        );
    }

    #[test]
    fn ui_messages_without_tools() {
        tells(
            &DIALECT,
            r#"[{"id": "a", "role": "user", "parts": [{"type": "text", "text": "Hi"}, {"type": "file", "url": "…"}]},
                {"id": "b", "role": "assistant", "parts": []},
                {"id": "c", "role": "assistant", "parts": [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "Hello"}]}]"#,
            &["Hi\\n[file] → Hello"],
        );
    }

    #[test]
    fn what_is_malformed_is_an_error_with_its_place() {
        for (message, error) in [
            ("7", "[1]: expected what the others of this list are, an object, got a number"),
            (
                r#"{"role": "asistant", "content": []}"#,
                "[1].role: the role of a message is one of user, assistant, tool, system, data, not \"asistant\"; did you mean \"assistant\"?",
            ),
            (
                r#"{"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "1", "input": {}}]}"#,
                "[1].content[0]: a tool call without a name; it is given as toolName or tool_name",
            ),
            (
                r#"{"role": "assistant", "content": [{"type": "tool-call", "toolName": "f", "inputs": {}}]}"#,
                "[1].content[0]: unknown key \"inputs\" in a tool call without arguments; did you mean \"input\"?",
            ),
            (
                r#"{"role": "assistant", "content": [{"type": "toolCall", "toolName": "f"}]}"#,
                concat!(
                    "[1].content[0].type: the type of a part is one of text, tool-call, tool-result, tool-error, ",
                    "dynamic-tool, tool-invocation, not \"toolCall\"; did you mean \"tool-call\"?"
                ),
            ),
            (
                r#"{"role": "assistant", "parts": [{"type": "tool-invocation"}]}"#,
                "[1].parts[0].toolInvocation: expected a call with its state, an object, got null",
            ),
        ] {
            let first =
                r#"{"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "1", "toolName": "f"}]}"#;
            fails(&DIALECT, &format!("[{first}, {message}]"), error);
        }
    }
}
