//! What a tool answered, where LangChain's tool message stands for it, in each way in which it is written down.

use super::row;
use crate::{
    call::Reader,
    text::Text,
    trace::{
        decode,
        spans::{Step, fill},
    },
    value::{Member, Value},
};

/// The message of a tool that stands for what it answered: as it is, or in a graph's command or state that holds one
/// and no other, or as Python shows it.
pub fn tool_message<'a>(reader: Reader<'a>, value: Value<'a>) -> Option<Value<'a>> {
    let value = decode::decoded(reader, value);
    if let Value::Text(text) = value {
        return shown(reader, text);
    }
    let state =
        || row::found(value, &["messages"]).or_else(|| row::found(row::found(value, &["update"])?, &["messages"]));
    let only = |list: Value<'a>| match list {
        Value::Array([item]) => Some(*item).filter(|item| is_message(reader, *item)),
        _ => None,
    };
    Some(value).filter(|value| is_message(reader, *value)).or_else(|| only(value)).or_else(|| only(state()?))
}

/// What a tool answered, under the one key of what it put out or not.
pub fn output<'a>(reader: Reader<'a>, outputs: Value<'a>) -> Value<'a> {
    match outputs {
        Value::Object([Member { key, value }]) if key.is("output") => row::opened(reader, *value),
        other => other,
    }
}

/// Tell what such a message says of a call. It is opened where results are.
pub fn tell<'a>(reader: Reader<'a>, message: Value<'a>, step: &mut Step<'a>) {
    let (_, failed, call_id) = decode::output(reader, message);
    fill(&mut step.call_id, call_id);
    fill(&mut step.failed, failed);
    fill(&mut step.output, Some(message));
}

fn is_message<'a>(reader: Reader<'a>, value: Value<'a>) -> bool {
    let is_of_langchain = ["kwargs", "data", "content"].iter().any(|key| value.get(key).is_some());
    is_of_langchain && matches!(decode::output(reader, value), (_, _, Some(_)))
}

/// `content='…' name='…' tool_call_id='…'`, as a message.
fn shown<'a>(reader: Reader<'a>, text: Text<'a>) -> Option<Value<'a>> {
    let bytes = text.utf8_in(reader.bump);
    let rest = bytes.strip_prefix(b"content=")?;
    let (content, rest) = quoted(rest)?;
    let after = |key: &[u8]| {
        let place = memchr::memmem::rfind(rest, key)?;
        let (word, _) = quoted(rest.get(place + key.len()..)?)?;
        Some(Value::Text(Text::Utf8(word))).filter(|_| !word.is_empty())
    };
    let call_id = after(b" tool_call_id=")?;
    let [status, name] = [&b" status="[..], b" name="].map(|key| after(key).unwrap_or(Value::Null));
    let kind = Value::Text(Text::from("tool"));
    let content = Value::Text(unescaped(reader, content));
    let message = [("type", kind), ("content", content), ("name", name), ("tool_call_id", call_id), ("status", status)];
    Some(row::object(reader, &message))
}

/// What stands between the quotes that a text begins with, and the rest.
fn quoted(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let quote = *text.first().filter(|quote| matches!(quote, b'\'' | b'"'))?;
    let mut place = 1;
    loop {
        match *text.get(place)? {
            b'\\' => place += 2,
            byte if byte == quote => return Some((text.get(1..place)?, text.get(place + 1..)?)),
            _ => place += 1,
        }
    }
}

/// The escapes that Python writes in most texts; others stay.
fn unescaped<'a>(reader: Reader<'a>, text: &'a [u8]) -> Text<'a> {
    if !text.contains(&b'\\') {
        return Text::Utf8(text);
    }
    let mut plain = Vec::with_capacity(text.len());
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, bytes.clone().next()) {
            (b'\\', Some(next)) if matches!(next, b'\\' | b'\'' | b'"' | b'n' | b't' | b'r') => {
                bytes.next();
                plain.push(match next {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    other => other,
                });
            }
            _ => plain.push(byte),
        }
    }
    Text::Utf8(reader.bump.alloc_slice_copy(&plain))
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;

    use super::*;
    use crate::show;

    fn told(text: &str) -> Option<String> {
        let bump = Bump::new();
        let (value, reader) = Reader::parse(text.as_bytes(), &bump).unwrap();
        let mut step = Step::default();
        tell(reader, tool_message(reader, value)?, &mut step);
        let output = decode::output(reader, step.output?).0;
        let id = step.call_id.map_or("-".to_owned(), show::plain);
        Some(format!("{id} {} {:?}", show::json_text(output), step.failed))
    }

    #[test]
    fn a_tool_message_is_opened_however_it_is_written() {
        let flat = r#"{"type": "tool", "content": "A", "name": "a", "tool_call_id": "1", "status": "success"}"#;
        let dumped = r#"{"lc": 1, "type": "constructor", "id": ["langchain", "ToolMessage"],
            "kwargs": {"content": [{"type": "text", "text": "A"}], "name": "a", "tool_call_id": "1",
            "status": "success"}}"#;
        for text in [
            flat.to_owned(),
            format!("{:?}", flat),
            format!("[{flat}]"),
            format!(r#"{{"messages": [{flat}]}}"#),
            format!(r#"{{"goto": [], "update": {{"messages": [{dumped}]}}}}"#),
            format!(r#"{{"type": "tool", "data": {flat}}}"#),
            dumped.to_owned(),
        ] {
            assert_eq!(told(&text).unwrap(), r#"1 "A" Some(false)"#, "{text}");
        }
        let failed = r#"{"content": [{"a": 1}], "tool_call_id": "1", "status": "error"}"#;
        assert_eq!(told(failed).unwrap(), r#"1 [{"a": 1}] Some(true)"#);
    }

    #[test]
    fn what_python_shows_of_one_is_read() {
        let shown = r#""content='it\\'s \\n 5' name='a' tool_call_id='1'""#;
        assert_eq!(told(shown).unwrap(), r#"1 "it's \n 5" None"#);
        let shown = r#""content=\"it's\" tool_call_id='1' status='error'""#;
        assert_eq!(told(shown).unwrap(), r#"1 "it's" Some(true)"#);
        for other in
            [r#""content='a' name='b'""#, r#""content=[1] tool_call_id='1'""#, r#""content='a""#, r#""content='\\""#]
        {
            assert_eq!(told(other), None, "{other}");
        }
    }

    #[test]
    fn other_results_are_none() {
        for other in [
            r#"{"content": "A"}"#,
            r#"{"type": "ai", "content": "A", "tool_call_id": "1"}"#,
            r#"{"id": "1", "name": "a", "response": {}}"#,
            r#"{"lc": 1, "id": ["AIMessage"], "kwargs": {"content": "A"}}"#,
            r#"{"messages": []}"#,
            "5",
            "[]",
        ] {
            assert_eq!(told(other), None, "{other}");
        }
    }
}
