//! What dialects have in common: values that are put together again out of attributes, and messages that are made of
//! them.

use crate::{
    call::{REDACTED, Reader},
    json,
    text::Text,
    trace::{decode, messages, spans::attributes::Attributes, turns::Listener},
    value::{Member, Value},
};

/// What exporters write where they may not or can't write what was there, beside [`REDACTED`].
const LEFT_OUT: &[&str] = &["N/A", "[redacted]"];

/// How some write that there is no id.
const NO_ID: &str = "null";

/// The value of a key, or what stands under it where an exporter wrote the members of an object as keys of their own.
pub fn whole<'a>(reader: Reader<'a>, attributes: Attributes<'a>, key: &str) -> Option<Value<'a>> {
    let below = || attributes.any_below(key).then(|| attributes.nested(reader, &format!("{key}.")));
    attributes.get(key).or_else(below).filter(|value| !is_left_out(*value))
}

/// The first of these keys that has a value.
pub fn first_of<'a>(reader: Reader<'a>, attributes: Attributes<'a>, keys: &[&str]) -> Option<Value<'a>> {
    keys.iter().find_map(|key| whole(reader, attributes, key))
}

/// The same with JSON text of an object or a list decoded.
pub fn decoded<'a>(reader: Reader<'a>, attributes: Attributes<'a>, key: &str) -> Option<Value<'a>> {
    Some(decode::decoded(reader, whole(reader, attributes, key)?))
}

/// What JSON text says, whatever that is: of exporters who write nothing else.
pub fn said<'a>(reader: Reader<'a>, value: Value<'a>) -> Value<'a> {
    match decode::decoded(reader, value) {
        Value::Text(text) => json::parse(text.utf8_in(reader.bump), 1, reader.bump).unwrap_or(value),
        other => other,
    }
}

pub fn is_left_out(value: Value<'_>) -> bool {
    matches!(value, Value::Text(text) if REDACTED.iter().chain(LEFT_OUT).any(|word| text.is(word)))
}

pub fn id<'a>(reader: Reader<'a>, attributes: Attributes<'a>, keys: &[&str]) -> Option<Text<'a>> {
    keys.iter().find_map(|key| attributes.text(reader, &[key]).filter(|id| !id.is(NO_ID)))
}

/// Null and none are alike.
pub fn given(value: Option<Value<'_>>) -> Option<Value<'_>> {
    value.filter(|value| !matches!(value, Value::Null))
}

/// A text that isn't empty.
pub fn text<'a>(holder: Value<'a>, keys: &[&str]) -> Option<Text<'a>> {
    keys.iter().find_map(|key| match holder.get(key) {
        Some(Value::Text(text)) if !text.is_empty() => Some(text),
        _ => None,
    })
}

pub fn items<'a>(value: Option<Value<'a>>) -> &'a [Value<'a>] {
    match value {
        Some(Value::Array(items)) => items,
        _ => &[],
    }
}

pub fn list<'a>(reader: Reader<'a>, items: &[Value<'a>]) -> Value<'a> {
    Value::Array(reader.bump.alloc_slice_copy(items))
}

/// The calls in a list. What there is instead of a list is one of them, so that whoever reads it complains.
pub fn calls<'a>(written: Option<Value<'a>>) -> Vec<Value<'a>> {
    match written {
        Some(Value::Array(calls)) => calls.to_vec(),
        Some(Value::Text(text)) if !text.is_blank() => vec![Value::Text(text)],
        _ => Vec::new(),
    }
}

/// Nothing, where there is nothing in it.
pub fn list_of_some<'a>(reader: Reader<'a>, items: &[Value<'a>]) -> Option<Value<'a>> {
    (!items.is_empty()).then(|| list(reader, items))
}

/// An object of those members that there are.
pub fn object<'a>(reader: Reader<'a>, members: &[(&'static str, Option<Value<'a>>)]) -> Value<'a> {
    let member =
        |&(key, value): &(&'static str, Option<Value<'a>>)| Some(Member { key: Text::from(key), value: value? });
    let members: Vec<Member<'a>> = members.iter().filter_map(member).collect();
    Value::Object(reader.bump.alloc_slice_copy(&members))
}

/// Are these the keys of an object, all of them?
pub fn has_just(value: Value<'_>, keys: &[&str]) -> bool {
    matches!(value, Value::Object(members) if members.len() == keys.len()
        && members.iter().all(|member| keys.iter().any(|key| member.key.is(key))))
}

/// What follows a prefix, if there is anything.
pub fn after<'a>(reader: Reader<'a>, text: Text<'a>, prefix: &str) -> Option<Text<'a>> {
    let rest = text.utf8_in(reader.bump).strip_prefix(prefix.as_bytes())?.trim_ascii();
    (!rest.is_empty()).then_some(Text::Utf8(rest))
}

/// What stands before a suffix, if there is anything.
pub fn before<'a>(reader: Reader<'a>, text: Text<'a>, suffix: &str) -> Option<Text<'a>> {
    let rest = text.utf8_in(reader.bump).strip_suffix(suffix.as_bytes())?.trim_ascii();
    (!rest.is_empty()).then_some(Text::Utf8(rest))
}

/// The roles of chat messages, out of the words of instrumentations. None: no message that tells anything (smolagents
/// tells calls and results again as texts).
pub fn role(word: Option<Text<'_>>, default: &'static str) -> Option<&'static str> {
    let Some(word) = word else { return Some(default) };
    let word = word.utf8().to_ascii_lowercase();
    Some(match word.as_slice() {
        b"user" | b"human" => "user",
        b"assistant" | b"ai" | b"model" | b"chatbot" => "assistant",
        b"tool" | b"function" => "tool",
        b"tool-call" | b"tool-response" => return None,
        b"system" | b"developer" => "system",
        // What isn't known must not begin a turn.
        _ if default == "assistant" => "assistant",
        _ => "system",
    })
}

/// A chat message in the making.
#[derive(Default)]
pub struct Message<'a> {
    pub role: &'static str,
    pub content: Option<Value<'a>>,
    pub calls: Vec<Value<'a>>,
    /// Of the call that it answers.
    pub call_id: Option<Value<'a>>,
    pub name: Option<Value<'a>>,
}

impl<'a> Message<'a> {
    pub fn value(self, reader: Reader<'a>) -> Value<'a> {
        let is_tool = self.role == "tool";
        object(
            reader,
            &[
                ("role", Some(Value::Text(Text::from(self.role)))),
                ("content", Some(self.content.unwrap_or(Value::Null))),
                ("tool_calls", list_of_some(reader, &self.calls)),
                ("tool_call_id", self.call_id.filter(|_| is_tool)),
                // Of others it would be an agent.
                ("name", self.name.filter(|_| is_tool)),
            ],
        )
    }
}

/// A call of a chat message. None: it has no name.
pub fn call<'a>(
    reader: Reader<'a>,
    id: Option<Value<'a>>,
    name: Option<Value<'a>>,
    arguments: Option<Value<'a>>,
) -> Option<Value<'a>> {
    let name = name.filter(|name| matches!(name, Value::Text(text) if !text.is_empty()))?;
    let arguments = arguments.filter(|arguments| !is_left_out(*arguments));
    let function = object(reader, &[("name", Some(name)), ("arguments", arguments)]);
    Some(object(reader, &[("id", given(id)), ("function", Some(function))]))
}

/// Can these be read as messages, or as what messages come in?
pub fn are_messages<'a>(reader: Reader<'a>, value: Value<'a>) -> bool {
    matches!(value, Value::Array([_, ..]) | Value::Object([_, ..]))
        && messages::hear(reader, value, &mut Listener::default()).is_ok()
}

/// Is this text, which can't be read as JSON, one of messages all the same, cut off by who exported it? Then it is not
/// what somebody said.
pub fn are_cut_off(text: Text<'_>) -> bool {
    const WORDS: &[&[u8]] = &[
        b"\"role\"",
        b"\"parts\"",
        b"\"choices\"",
        b"\"messages\"",
        b"\"generations\"",
        b"\"tool_calls\"",
        b"\"tool_use\"",
        b"\"toolUse\"",
    ];
    const HEAD: usize = 1000;
    let text = text.utf8();
    let start = text.trim_ascii_start();
    let head = start.get(..HEAD).unwrap_or(start);
    matches!(head.first(), Some(b'{' | b'[')) && WORDS.iter().any(|word| memchr::memmem::find(head, word).is_some())
}

/// What a model was given or gave as a whole, if it can be read: a request, a response, messages, or a text. (Messages
/// that were cut off stay a text, which is no message.)
pub fn as_messages<'a>(reader: Reader<'a>, value: Value<'a>, role: &'static str) -> Option<Value<'a>> {
    match value {
        Value::Text(text) if text.is_blank() || is_left_out(value) => None,
        Value::Text(text) if are_cut_off(text) => Some(value),
        content @ Value::Text(_) => {
            Some(list(reader, &[Message { role, content: Some(content), ..Message::default() }.value(reader)]))
        }
        value => are_messages(reader, value).then_some(value),
    }
}

/// Content that is JSON text of blocks is those; all else is what it is.
pub fn content<'a>(reader: Reader<'a>, value: Value<'a>) -> Value<'a> {
    // Each of them is one that the readers of messages know.
    const KINDS: &[&str] = &[
        "text",
        "input_text",
        "output_text",
        "image",
        "image_url",
        "tool_use",
        "tool_result",
        "thinking",
        "redacted_thinking",
        "reasoning",
    ];
    let is_block = |block: &Value<'_>| match block.get("type") {
        Some(Value::Text(kind)) => KINDS.iter().any(|word| kind.is(word)),
        Some(_) => false,
        // Bedrock's.
        None => ["text", "toolUse", "toolResult", "reasoningContent"].iter().any(|key| block.get(key).is_some()),
    };
    match decode::decoded(reader, value) {
        Value::Array(blocks @ [_, ..]) if blocks.iter().all(is_block) => Value::Array(blocks),
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;

    use super::*;
    use crate::show;

    fn parsed<'a>(text: &'a str, bump: &'a Bump) -> (Value<'a>, Reader<'a>) {
        Reader::parse(text.as_bytes(), bump).unwrap()
    }

    #[test]
    fn what_was_written_as_keys_of_their_own_is_one_value() {
        let bump = Bump::new();
        let (value, reader) = parsed(r#"{"a.x": 1, "a.y.0": 2, "b": "{\"z\": 1}", "c": "N/A", "d": null}"#, &bump);
        let Value::Object(members) = value else { panic!("an object") };
        let shown = |key: &str| decoded(reader, Attributes(members), key).map(show::json_text);
        assert_eq!(shown("a").as_deref(), Some(r#"{"x": 1, "y": [2]}"#));
        assert_eq!(shown("b").as_deref(), Some(r#"{"z": 1}"#));
        assert_eq!((shown("c"), shown("d"), shown("e")), (None, None, None));
    }

    #[test]
    fn json_text_of_anything() {
        let bump = Bump::new();
        let (_, reader) = parsed("1", &bump);
        for (text, says) in [
            (r#""done""#, r#""done""#),
            ("5", "5"),
            ("plain", r#""plain""#),
            (r#""{\"a\": 1}""#, r#"{"a": 1}"#),
            ("", r#""""#),
        ] {
            assert_eq!(show::json_text(said(reader, Value::Text(Text::from(text)))), says);
        }
    }

    #[test]
    fn messages_that_were_cut_off_are_not_what_somebody_said() {
        for text in [r#"[{"role": "assi"#, r#" {"choices": [{"message": "#, r#"[{"parts": [{"type""#] {
            assert!(are_cut_off(Text::from(text)), "{text}");
        }
        for text in ["", "hi", "[1] says so", r#"{"a": 1,}"#, r#"the "role""#] {
            assert!(!are_cut_off(Text::from(text)), "{text}");
        }
    }

    #[test]
    fn content_is_blocks_only_if_all_of_it_is() {
        let bump = Bump::new();
        for (text, is_decoded) in [
            (r#"[{"type": "text", "text": "a"}]"#, true),
            (r#"[{"toolUse": {}}]"#, true),
            (r#"[{"a": 1}]"#, false),
            (r#"[{"type": "tool_mystery"}]"#, false),
            ("[]", false),
            ("a", false),
        ] {
            let (_, reader) = parsed("1", &bump);
            let found = content(reader, Value::Text(Text::from(text)));
            assert_eq!(matches!(found, Value::Array(_)), is_decoded, "{text}");
        }
    }
}
