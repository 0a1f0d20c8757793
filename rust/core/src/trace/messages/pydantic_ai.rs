//! Pydantic AI's `all_messages()`: requests and responses, each of parts.

use super::{
    Dialect,
    content::{content_text, in_brackets},
    parts::{self, each, each_of, one_word, word},
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

pub const DIALECT: Dialect = Dialect { word: "pydantic_ai", name: "Pydantic AI messages", fits, read };

const KIND: &str = "kind";
const PARTS: &str = "parts";
const PART_KIND: &str = "part_kind";
const CONTENT: &str = "content";
const NAME: &str = "tool_name";

const CALL: &str = "tool-call";
const RETURN: &str = "tool-return";
/// Of the provider's own tools.
const BUILTIN_CALL: &str = "builtin-tool-call";
const BUILTIN_RETURN: &str = "builtin-tool-return";
/// How older versions wrote down a return with the outcome `retried`; or, without a tool, what was wrong with a text.
const RETRY: &str = "retry-prompt";
const USER: &str = "user-prompt";
const TEXT: &str = "text";
const SPEECH: &str = "speech";
/// What has a tool's name or a call in its own, and is neither.
const SILENT: &[&str] = &["tool-availability-delta"];
const KINDS: &[&str] = &[CALL, RETURN, BUILTIN_CALL, BUILTIN_RETURN, RETRY, USER, TEXT, SPEECH];

fn fits(messages: &[Value<'_>]) -> bool {
    let is_message = |message: &Value<'_>| {
        word(*message, KIND, &["request", "response"]).is_some() && matches!(message.get(PARTS), Some(Value::Array(_)))
    };
    messages.iter().any(is_message)
}

fn read<'a>(reader: Reader<'a>, messages: &[Value<'a>], listener: &mut Listener<'a>) -> Result<(), Error> {
    each(messages, |message| listen(reader, message, listener))
}

fn listen<'a>(reader: Reader<'a>, message: Value<'a>, listener: &mut Listener<'a>) -> Result<(), Error> {
    one_word(message, KIND, "the kind of a Pydantic AI message", &["request", "response"])?;
    let (mut prompts, mut texts) = (Vec::new(), Vec::new());
    let mut answers = false;
    each_of(message, PARTS, |part| {
        match parts::kind(part, PART_KIND, "the kind of a part", KINDS, SILENT)? {
            Some(CALL | BUILTIN_CALL) => {
                let mut span = Span::read(reader, part)?;
                // How the library itself writes that there are none.
                if let Some(Value::Null) = part.get("args") {
                    span.input = Value::Object(&[]);
                }
                listener.called(span);
            }
            Some(RETRY) if parts::text(part, &[NAME]).is_none() => {}
            Some(RETURN | BUILTIN_RETURN | RETRY) => {
                answers = true;
                listener.answered(answer(reader, part)?);
            }
            Some(USER) => prompts.push(part.get(CONTENT).unwrap_or(Value::Null)),
            Some(SPEECH) if word(part, "speaker", &["user"]).is_some() => {
                prompts.push(part.get("transcript").unwrap_or(Value::Null));
            }
            Some(SPEECH) => texts.extend(parts::text(part, &["transcript"])),
            Some(TEXT) => texts.extend(parts::text(part, &[CONTENT])),
            _ => {}
        }
        Ok(())
    })?;
    if answers {
        // Files that a tool gave stand beside its return, in a prompt that is a list; the user asked nothing then.
        prompts.retain(|prompt| !matches!(prompt, Value::Array(_)));
    }
    if !prompts.is_empty() {
        let prompts: Vec<_> = prompts.iter().filter_map(|prompt| prompt_text(reader, *prompt)).collect();
        listener.asked(parts::joined(reader, &prompts));
    }
    texts.retain(|text| !text.is_blank());
    listener.said(parts::joined(reader, &texts));
    Ok(())
}

fn answer<'a>(reader: Reader<'a>, part: Value<'a>) -> Result<Answer<'a>, Error> {
    let retried = || word(part, PART_KIND, &[RETRY]).map(|_| Text::from("retried"));
    Ok(Answer {
        id: parts::id(reader, part, &["tool_call_id"]),
        name: parts::text(part, &[NAME]),
        output: parts::output(reader, part, &[CONTENT])?,
        status: parts::text(part, &["outcome"]).or_else(retried),
        error: None,
    })
}

/// A prompt is a text, or a list of texts and files.
fn prompt_text<'a>(reader: Reader<'a>, prompt: Value<'a>) -> Option<Text<'a>> {
    let Value::Array(items) = prompt else { return content_text(Some(prompt), reader.bump) };
    let item_text = |item: &Value<'a>| match (item, parts::text(*item, &[KIND])) {
        // A text with metadata.
        (Value::Object(_), Some(kind)) if kind.is("text-content") => parts::text(*item, &[CONTENT]),
        (Value::Object(_), Some(kind)) if kind.is("cache-point") => None,
        (Value::Object(_), Some(kind)) => Some(in_brackets(kind, reader.bump)),
        (item, _) => content_text(Some(*item), reader.bump),
    };
    parts::joined(reader, &items.iter().filter_map(item_text).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::{
        super::parts::told::{fails, tells},
        *,
    };

    #[test]
    fn parts_of_requests_and_responses() {
        tells(
            &DIALECT,
            r#"[
                {"kind": "request", "run_id": "r", "parts": [
                    {"part_kind": "system-prompt", "content": "Be kind."},
                    {"part_kind": "user-prompt", "content": "Refund order 42"}]},
                {"kind": "response", "parts": [
                    {"part_kind": "thinking", "content": "hm"},
                    {"part_kind": "text", "content": "Let me look."},
                    {"part_kind": "tool-call", "tool_name": "lookup", "args": "{\"order\": 42}", "tool_call_id": "1", "id": "x"},
                    {"part_kind": "tool-call", "tool_name": "lookup", "args": {"order": 43}, "tool_call_id": "2"},
                    {"part_kind": "tool-call", "tool_name": "ping", "args": null, "tool_call_id": "3"},
                    {"part_kind": "builtin-tool-call", "tool_name": "web_search", "args": "{\"q", "tool_call_id": "4"},
                    {"part_kind": "builtin-tool-return", "tool_name": "web_search", "content": [1], "tool_call_id": "4",
                     "outcome": "success"}]},
                {"kind": "request", "parts": [
                    {"part_kind": "retry-prompt", "tool_name": "lookup", "content": "no such order", "tool_call_id": "2"},
                    {"part_kind": "tool-return", "tool_name": "ping", "content": "denied by user", "tool_call_id": "3",
                     "outcome": "denied"},
                    {"part_kind": "tool-return", "tool_name": "lookup", "content": {"state": "late"}, "tool_call_id": "1"},
                    {"part_kind": "user-prompt", "content": ["This is file 1:", {"kind": "binary", "data": "…"}]}]},
                {"kind": "response", "parts": [{"part_kind": "text", "content": "Done"}]},
                {"kind": "request", "parts": [{"part_kind": "retry-prompt", "content": "not in the wanted form"}]},
                {"kind": "request", "parts": [{"part_kind": "user-prompt",
                    "content": ["See", {"kind": "image-url", "url": "…"}, {"kind": "cache-point"},
                                {"kind": "text-content", "content": "this"}]}]}
            ]"#,
            &[
                "Refund order 42 → Done",
                r#"  lookup({"order": 42}) = {"state": "late"} #1"#,
                r#"  lookup({"order": 43}) = "no such order" #2 is retried"#,
                r#"  ping({}) = "denied by user" #3 is denied"#,
                r#"  web_search("{\"q") = [1] #4 is success"#,
                "See\\n[image-url]\\nthis → -",
            ],
        );
    }

    #[test]
    fn a_prompt_beside_returns_is_the_users_where_it_is_a_text() {
        tells(
            &DIALECT,
            r#"[
                {"kind": "response", "parts": [{"part_kind": "tool-call", "tool_name": "ask", "args": {}}]},
                {"kind": "request", "parts": [
                    {"part_kind": "tool-return", "tool_name": "ask", "content": 1},
                    {"part_kind": "user-prompt", "content": "And now?"}]},
                {"kind": "request", "parts": [{"part_kind": "speech", "speaker": "user", "transcript": "Hello?"}]},
                {"kind": "response", "parts": [{"part_kind": "speech", "speaker": "assistant", "transcript": "Hi."}]}
            ]"#,
            &["- → -", "  ask({}) = 1", "And now? → -", "Hello? → Hi."],
        );
    }

    #[test]
    fn what_is_malformed_is_an_error_with_its_place() {
        for (message, error) in [
            ("[]", "[1]: expected what the others of this list are, an object, got a list"),
            (
                r#"{"kind": "respons", "parts": []}"#,
                "[1].kind: the kind of a Pydantic AI message is one of request, response, not \"respons\"; did you mean \"response\"?",
            ),
            (
                r#"{"kind": "response", "parts": [{"part_kind": "tool-call", "args": {}}]}"#,
                "[1].parts[0]: a tool call without a name; it is given as name or tool_name",
            ),
            (
                r#"{"kind": "response", "parts": [{"part_kind": "tool-call", "tool_name": "f", "arg": {}}]}"#,
                concat!(
                    "[1].parts[0]: unknown key \"arg\" in a tool call without arguments, which are read from arguments, ",
                    "args, kwargs, input, request_payload; did you mean \"args\"?"
                ),
            ),
            (
                r#"{"kind": "response", "parts": [{"part_kind": "tool_call", "tool_name": "f"}]}"#,
                concat!(
                    "[1].parts[0].part_kind: the kind of a part is one of tool-call, tool-return, builtin-tool-call, ",
                    "builtin-tool-return, retry-prompt, user-prompt, text, speech, not \"tool_call\"; ",
                    "did you mean \"tool-call\"?"
                ),
            ),
            (
                r#"{"kind": "response", "parts": ["text"]}"#,
                "[1].parts[0]: expected what the others of this list are, an object, got a string",
            ),
            (r#"{"kind": "response", "parts": "x"}"#, "[1].parts: expected a list, got a string"),
        ] {
            fails(&DIALECT, &format!(r#"[{{"kind": "request", "parts": []}}, {message}]"#), error);
        }
    }
}
