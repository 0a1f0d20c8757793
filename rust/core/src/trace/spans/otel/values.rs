//! Attributes and their values, in all the ways that they are written.

use std::collections::HashMap;

use bumpalo::Bump;

use super::each;
use crate::{
    error::Error,
    text::Text,
    trace::{
        decode,
        spans::{Exported, attributes::Attributes},
    },
    value::{Member, Object, Value},
};

/// Attributes in any way that they are written: an object, or JSON text of one; a list of keys and tagged values; a
/// list of pairs, as tables write a map.
pub fn attributes<'a>(exported: &mut Exported<'a>, value: Value<'a>) -> Vec<Member<'a>> {
    let reader = exported.reader;
    let mut found = Vec::new();
    match decode::decoded(reader, value) {
        Value::Object(members) => flatten(members, &mut found, reader.bump),
        list @ Value::Array(_) => each(exported, list, |exported, item| match item {
            Value::Object(_) => match item.get("key") {
                Some(Value::Text(key)) => {
                    found.push(Member {
                        key,
                        value: item.get("value").map_or(Value::Null, |value| untagged(value, reader.bump)),
                    });
                }
                _ => exported.problems.push(Error::value("an attribute without a key")),
            },
            Value::Array(&[Value::Text(key), value]) => found.push(Member { key, value }),
            other => {
                exported.problems.push(Error::wrong_type(format!("expected a key and a value, got {}", other.kind())))
            }
        }),
        Value::Null => {}
        Value::Text(text) if text.is_blank() => {}
        other => exported.problems.push(Error::wrong_type(format!("expected attributes, got {}", other.kind()))),
    }
    found
}

/// The first words of keys that instrumentations use. What else is nested is a value.
const NESTED: &[&str] = &[
    "gen_ai",
    "llm",
    "openinference",
    "traceloop",
    "ai",
    "input",
    "output",
    "tool",
    "agent",
    "graph",
    "session",
    "retrieval",
    "embedding",
    "reranker",
    "mcp",
    "gcp",
    "mlflow",
    "langfuse",
    "genkit",
    "logfire",
    "pydantic_ai",
    "exception",
    "error",
    "event",
    "service",
    "user",
    "langsmith",
    "lmnr",
    "tool_call",
    "event_loop",
    "span",
    "db",
    "code",
    "http",
    "rhesis",
];

/// Attributes have dotted keys. Where an exporter nested them instead, a key with all that is inside it stays, since it
/// may be one value, and what is inside it gets dotted keys as well.
fn flatten<'a>(members: Object<'a>, found: &mut Vec<Member<'a>>, bump: &'a Bump) {
    for member in members {
        found.push(*member);
        if NESTED.iter().any(|word| member.key.is(word)) {
            flatten_within(*member, MOST_LEVELS, found, bump);
        }
    }
}

/// No instrumentation nests deeper, and each level repeats the keys of those around it.
const MOST_LEVELS: usize = 16;

fn flatten_within<'a>(member: Member<'a>, levels: usize, found: &mut Vec<Member<'a>>, bump: &'a Bump) {
    let Some(levels) = levels.checked_sub(1) else { return };
    let below = |key: Text<'a>, value| Member { key: Text::joined(&[member.key, key], ".", bump), value };
    match member.value {
        Value::Object(members) => {
            for inner in members {
                let inner = below(inner.key, inner.value);
                found.push(inner);
                flatten_within(inner, levels, found, bump);
            }
        }
        Value::Array(items) if !items.is_empty() && items.iter().all(|item| matches!(item, Value::Object(_))) => {
            for (index, &item) in items.iter().enumerate() {
                let index = Text::from(&*bump.alloc_str(&index.to_string()));
                flatten_within(below(index, item), levels, found, bump);
            }
        }
        _ => {}
    }
}

/// The value that OTLP's JSON wraps in an object with its type. What isn't wrapped stays as it is.
pub fn untagged<'a>(value: Value<'a>, bump: &'a Bump) -> Value<'a> {
    let Value::Object(members) = value else { return value };
    // Some write all types, of which one is set.
    let mut set = members.iter().filter(|member| !matches!(member.value, Value::Null));
    let Some(Member { key, value: inner }) = set.next().or(members.first()) else { return Value::Null };
    if set.next().is_some() {
        return value;
    }
    let is = |words: [&str; 2]| words.iter().any(|word| key.is(word));
    let inside = |key| match inner {
        Value::Object(_) => inner.get(key),
        _ => Some(*inner),
    };
    if is(["stringValue", "string_value"]) || is(["boolValue", "bool_value"]) || is(["bytesValue", "bytes_value"]) {
        *inner
    } else if is(["intValue", "int_value"]) {
        integer(*inner, bump)
    } else if is(["doubleValue", "double_value"]) {
        match inner {
            Value::Text(text) => float(*text).map_or(*inner, Value::Float),
            _ => *inner,
        }
    } else if is(["arrayValue", "array_value"]) {
        match inside("values") {
            Some(Value::Array(items)) => {
                Value::Array(bump.alloc_slice_fill_iter(items.iter().map(|&item| untagged(item, bump))))
            }
            _ => Value::Array(&[]),
        }
    } else if is(["kvlistValue", "kvlist_value"]) {
        match inside("values") {
            Some(Value::Array(items)) => {
                let member = |item: &Value<'a>| match item.get("key") {
                    Some(Value::Text(key)) => Some(Member {
                        key,
                        value: item.get("value").map_or(Value::Null, |value| untagged(value, bump)),
                    }),
                    _ => None,
                };
                Value::Object(object(items.iter().filter_map(member).collect(), bump))
            }
            _ => Value::Object(&[]),
        }
    } else {
        value
    }
}

/// An integer that may be written as a text, as JSON has those of 64 bits.
pub fn integer<'a>(value: Value<'a>, bump: &'a Bump) -> Value<'a> {
    let Value::Text(text) = value else { return value };
    let parsed = std::str::from_utf8(text.utf8_in(bump)).ok().and_then(|text| text.trim().parse().ok());
    parsed.map_or(value, Value::Int)
}

pub fn float(text: Text<'_>) -> Option<f64> {
    std::str::from_utf8(&text.utf8()).ok()?.trim().parse().ok()
}

/// An object has no key twice: the last value of one stays.
pub fn object<'a>(members: Vec<Member<'a>>, bump: &'a Bump) -> Object<'a> {
    with_fallback(members, &[], bump).0
}

const FEW: usize = 32;

fn position(members: &[Member<'_>], key: Text<'_>) -> Option<usize> {
    members.iter().position(|member| member.key == key)
}

/// Attributes, and those that are only taken where they are missing.
pub fn with_fallback<'a>(own: Vec<Member<'a>>, others: &[Object<'a>], bump: &'a Bump) -> Attributes<'a> {
    // Looking through the first few keys is quicker than hashing them.
    let mut places: HashMap<Text<'a>, usize> = HashMap::new();
    let mut kept: Vec<Member<'a>> = Vec::with_capacity(own.len() + 1);
    let fallback = others.iter().copied().flatten().map(|member| (*member, false));
    for (member, is_own) in own.into_iter().map(|member| (member, true)).chain(fallback) {
        let first = kept.get(..FEW).unwrap_or(&kept);
        let place = position(first, member.key).or_else(|| places.get(&member.key).copied());
        match place.and_then(|place| kept.get_mut(place)) {
            Some(earlier) if is_own || matches!(earlier.value, Value::Null) => earlier.value = member.value,
            Some(_) => {}
            None => {
                if kept.len() >= FEW {
                    places.insert(member.key, kept.len());
                }
                kept.push(member);
            }
        }
    }
    Attributes(bump.alloc_slice_copy(&kept))
}

/// The attributes of a resource that say something of each of its spans: the service, and to which conversation they
/// belong. Others (the host, the SDK) would only be repeated in each.
pub fn inherited<'a>(attributes: Vec<Member<'a>>, bump: &'a Bump) -> Object<'a> {
    const ENDS: &[&[u8]] =
        &[b"session.id", b"session_id", b"conversation.id", b"conversation_id", b"thread.id", b"thread_id"];
    let is_inherited = |member: &Member<'a>| {
        let key = member.key.utf8_in(bump);
        key == b"service.name" || key == b"mlflow.trace.session" || ENDS.iter().any(|end| key.ends_with(end))
    };
    object(attributes.into_iter().filter(is_inherited).collect(), bump)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{call::Reader, show};

    #[test]
    fn attributes_in_any_form() {
        let read = |text: &str| {
            let bump = Bump::new();
            let (value, reader) = Reader::parse(text.as_bytes(), &bump).unwrap();
            let mut exported = Exported::new(reader);
            let found = attributes(&mut exported, value);
            assert!(exported.problems.is_empty());
            show::json_text(Value::Object(object(found, &bump)))
        };
        for text in [
            r#"{"a.b": "x", "c.d": {"e": 1}}"#,
            r#""{\"a.b\": \"x\", \"c.d\": {\"e\": 1}}""#,
            r#"[["a.b", "x"], ["c.d", {"e": 1}]]"#,
            r#"[{"key": "a.b", "value": "x"}, {"key": "c.d", "value": {"e": 1}}]"#,
            r#"[{"key": "a.b", "value": "y"}, {"key": "c.d", "value": {"e": 1}},
                {"key": "a.b", "value": {"string_value": "x"}}]"#,
        ] {
            assert_eq!(read(text), r#"{"a.b": "x", "c.d": {"e": 1}}"#, "{text}");
        }
        assert_eq!(
            read(
                r#"[{"key": "a", "value": {"string_value": null, "int_value": 5}}, {"key": "b", "value":
                {"string_value": null, "int_value": null}}, {"key": "c", "value": {"d": null, "e": 1}}]"#
            ),
            r#"{"a": 5, "b": null, "c": {"d": null, "e": 1}}"#
        );
        for text in ["null", r#""""#, "{}", "[]"] {
            assert_eq!(read(text), "{}");
        }
        assert_eq!(
            read(r#"{"llm": {"model": "m", "messages": [{"role": "user"}], "tags": ["a"]}}"#),
            concat!(
                r#"{"llm": {"model": "m", "messages": [{"role": "user"}], "tags": ["a"]}, "llm.model": "m", "#,
                r#""llm.messages": [{"role": "user"}], "llm.messages.0.role": "user", "llm.tags": ["a"]}"#
            )
        );
        let deep = format!(r#"{{"gen_ai": {}1{}}}"#, r#"{"a": "#.repeat(400), "}".repeat(400));
        assert!(read(&deep).len() < 100_000);
        assert_eq!(read(r#"{"mine": {"model": "m"}}"#), r#"{"mine": {"model": "m"}}"#);
    }
}
