//! Haystack's chat messages: content is a list of parts, each told by its key (`text`, `tool_call`, `tool_call_result` …).
//! Older versions, and the objects themselves, have an underscore before the keys of a message; the parts of objects stand
//! for themselves.

use super::{
    Dialect, blocks,
    content::in_brackets,
    parts::{self, each, each_of, found, is_read_as_chat, not_an_object, one_word, reject_calls},
};
use crate::{
    call::Reader,
    error::Error,
    text::Text,
    trace::{
        span::Span,
        turns::{Answer, Listener},
    },
    value::Value,
};

pub const DIALECT: Dialect = Dialect { word: "haystack", name: "Haystack chat messages", fits, read };

const TOOL_CALL: &str = "tool_call";
const RESULT: &str = "tool_call_result";
const TEXT: &str = "text";
const MEDIA: &[&str] = &["image", "file"];
const PARTS: &[&str] = &[TEXT, TOOL_CALL, RESULT, "image", "file", "reasoning"];

fn fits(messages: &[Value<'_>]) -> bool {
    let is_message = |message: &Value<'_>| match (message.get("_role"), message.get("meta")) {
        (Some(_), _) => message.get("_content").is_some(),
        (None, Some(Value::Object(_))) => matches!(
            message.get("content"),
            Some(Value::Array(parts)) if parts.iter().all(|part| part.get("type").is_none())
        ),
        _ => false,
    };
    messages.iter().any(is_message)
}

fn read<'a>(reader: Reader<'a>, messages: &[Value<'a>], listener: &mut Listener<'a>) -> Result<(), Error> {
    each(messages, |message| listen(reader, message, listener))
}

fn listen<'a>(reader: Reader<'a>, message: Value<'a>, listener: &mut Listener<'a>) -> Result<(), Error> {
    if is_read_as_chat(reader, message, &["_content"], listener)? {
        return Ok(());
    }
    let (role, content) = if message.get("_role").is_some() { ("_role", "_content") } else { ("role", "content") };
    let role = one_word(message, role, "the role of a Haystack message", &["user", "assistant", "tool", "system"])?;
    if role == "system" {
        return Ok(());
    }
    let mut texts = Vec::new();
    match message.get(content) {
        // Before version 2.9.
        Some(Value::Text(text)) => texts.push(text),
        _ => each_of(message, content, |part| {
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
    let members = match part {
        Value::Object(members) => members,
        Value::Text(text) => return Ok(Some(text)),
        other => return Err(not_an_object("a part of a Haystack message", other)),
    };
    if let Some((key, call)) = found(part, &[TOOL_CALL]) {
        listener.called(Span::read(reader, call).map_err(|error| error.at_key(Text::from(key)))?);
        return Ok(None);
    }
    if let Some((key, result)) = found(part, &[RESULT]) {
        listener.answered(answer(reader, result).map_err(|error| error.at_key(Text::from(key)))?);
        return Ok(None);
    }
    if found(part, &["tool_name"]).is_some() {
        listener.called(Span::read(reader, part)?);
        return Ok(None);
    }
    if found(part, &["origin"]).is_some() {
        listener.answered(answer(reader, part)?);
        return Ok(None);
    }
    blocks::check_none(part, true)?;
    if found(part, &[TEXT]).is_some() {
        return Ok(parts::text(part, &[TEXT]));
    }
    if let Some((key, _)) = found(part, MEDIA) {
        return Ok(Some(in_brackets(Text::from(key), reader.bump)));
    }
    for member in members.iter().filter(|member| !matches!(member.value, Value::Null)) {
        reject_calls(member.key, "a part of a Haystack message", PARTS)?;
    }
    Ok(None)
}

/// A result has the call that it answers in it.
fn answer<'a>(reader: Reader<'a>, result: Value<'a>) -> Result<Answer<'a>, Error> {
    if !matches!(result, Value::Object(_)) {
        return Err(not_an_object("the result of a tool call", result));
    }
    let origin = result.get("origin").unwrap_or(Value::Null);
    let failed = matches!(result.get("error"), Some(Value::True));
    Ok(Answer {
        id: parts::id(reader, origin, &["id"]),
        name: parts::text(origin, &["tool_name"]),
        output: output(reader, result)?,
        status: failed.then_some(Text::from("error")),
        error: None,
    })
}

/// A text, or a list of parts.
fn output<'a>(reader: Reader<'a>, result: Value<'a>) -> Result<Value<'a>, Error> {
    let output = parts::output(reader, result, &["result"])?;
    let Value::Array(items @ [_, ..]) = output else { return Ok(output) };
    let mut texts = Vec::new();
    for item in items {
        match (parts::text(*item, &[TEXT]), found(*item, MEDIA)) {
            (Some(text), _) => texts.push(text),
            (None, Some((key, _))) => {
                texts.push(in_brackets(Text::from(key), reader.bump));
            }
            (None, None) => return Ok(output),
        }
    }
    Ok(parts::joined(reader, &texts).map_or(output, Value::Text))
}

#[cfg(test)]
mod tests {
    use super::{
        super::parts::told::{fails, tells},
        *,
    };

    #[test]
    fn calls_and_results_with_their_origin() {
        tells(
            &DIALECT,
            r#"[
                {"role": "system", "meta": {}, "name": null, "content": [{"text": "Help."}]},
                {"role": "user", "meta": {}, "name": null, "content": [{"text": "Refund"}, {"image": {"base64_image": "…"}}]},
                {"role": "assistant", "meta": {}, "name": null, "content": [
                    {"reasoning": {"reasoning_text": "hm", "extra": {}}},
                    {"tool_call": {"tool_name": "lookup", "arguments": {"order": 42}, "id": "1", "extra": null}},
                    {"tool_call": {"tool_name": "lookup", "arguments": {"order": 43}, "id": "2", "extra": null}},
                    {"tool_call": {"tool_name": "ping", "arguments": {}, "id": null, "extra": null}}]},
                {"role": "tool", "meta": {}, "name": null, "content": [{"tool_call_result": {
                    "result": "no such order", "error": true,
                    "origin": {"tool_name": "lookup", "arguments": {"order": 43}, "id": "2"}}}]},
                {"role": "tool", "meta": {}, "name": null, "content": [{"tool_call_result": {
                    "result": [{"text": "late"}, {"image": {"base64_image": "…"}}], "error": false,
                    "origin": {"tool_name": "lookup", "arguments": {"order": 42}, "id": "1"}}}]},
                {"role": "tool", "meta": {}, "name": null, "content": [{"tool_call_result": {
                    "result": "pong", "error": false, "origin": {"tool_name": "ping", "arguments": {}, "id": null}}}]},
                {"role": "assistant", "meta": {}, "name": null, "content": [{"text": "Done"}]}
            ]"#,
            &[
                "Refund\\n[image] → Done",
                r#"  lookup({"order": 42}) = "late\n[image]" #1"#,
                r#"  lookup({"order": 43}) = "no such order" #2 is error"#,
                r#"  ping({}) = "pong""#,
            ],
        );
    }

    #[test]
    fn older_messages_and_objects() {
        tells(
            &DIALECT,
            r#"[
                {"_role": "user", "_content": [{"text": "one"}], "_name": null, "_meta": {}},
                {"_role": "assistant", "_content": [{"tool_call": {"tool_name": "a", "arguments": {}}}], "_meta": {}},
                {"_role": "assistant", "_content": [{"tool_name": "b", "arguments": {"x": 1}, "id": "2", "extra": null}]},
                {"_role": "assistant", "_content": [{"tool_call": null, "text": null}]},
                {"_role": "tool", "_content": [{"result": "ok", "error": false, "origin": {"tool_name": "b", "id": "2"}}]},
                {"role": "assistant", "content": "before 2.9", "meta": {}}
            ]"#,
            &["one → before 2.9", "  a({}) = null", r#"  b({"x": 1}) = "ok" #2"#],
        );
    }

    #[test]
    fn what_is_malformed_is_an_error_with_its_place() {
        for (message, error) in [
            ("null", "[1]: expected what the others of this list are, an object, got null"),
            (
                r#"{"role": "model", "meta": {}, "content": []}"#,
                "[1].role: the role of a Haystack message is one of user, assistant, tool, system, not \"model\"",
            ),
            (
                r#"{"role": "assistant", "content": [{"tool_call": {"arguments": {}}}]}"#,
                "[1].content[0].tool_call: a tool call without a name; it is given as name or tool_name",
            ),
            (
                r#"{"role": "assistant", "content": [{"toolcall": {"tool_name": "a"}}]}"#,
                concat!(
                    "[1].content[0]: a part of a Haystack message is one of text, tool_call, tool_call_result, image, ",
                    "file, reasoning, not \"toolcall\"; did you mean \"tool_call\"?"
                ),
            ),
            (
                r#"{"role": "tool", "content": [{"tool_call_result": "ok"}]}"#,
                "[1].content[0].tool_call_result: expected the result of a tool call, an object, got a string",
            ),
            (r#"{"role": "assistant", "content": 5}"#, "[1].content: expected a list, got a number"),
        ] {
            fails(&DIALECT, &format!(r#"[{{"role": "user", "meta": {{}}, "content": []}}, {message}]"#), error);
        }
    }
}
