//! The attributes of a span: a flat object with dotted keys, in which exporters hide lists, objects and JSON text.

use std::collections::BTreeMap;

use crate::{
    call::Reader,
    text::Text,
    trace::decode,
    value::{Member, Object, Value, get},
};

#[derive(Clone, Copy, Debug, Default)]
pub struct Attributes<'a>(pub Object<'a>);

impl<'a> Attributes<'a> {
    /// The value of a key, unless it is null.
    pub fn get(self, key: &str) -> Option<Value<'a>> {
        get(self.0, Text::from(key)).filter(|value| !matches!(value, Value::Null))
    }

    pub fn has(self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// The first of these keys that has a text which isn't empty (a number is taken as a text).
    pub fn text(self, reader: Reader<'a>, keys: &[&str]) -> Option<Text<'a>> {
        keys.iter().find_map(|key| crate::trace::span::word(self.get(key)?, reader.bump))
    }

    /// Is there a text under the key that is one of these words, whatever their case?
    pub fn is(self, key: &str, words: &[&str]) -> bool {
        let Some(Value::Text(text)) = self.get(key) else { return false };
        let text = text.utf8();
        words.iter().any(|word| text.eq_ignore_ascii_case(word.as_bytes()))
    }

    /// What is said by the text under the key, by one of these words, whatever their case.
    pub fn meaning<T: Copy>(self, key: &str, words: &[(&str, T)]) -> Option<T> {
        let Some(Value::Text(text)) = self.get(key) else { return None };
        let text = text.utf8();
        words.iter().find(|(word, _)| text.eq_ignore_ascii_case(word.as_bytes())).map(|(_, meaning)| *meaning)
    }

    /// The value of a key, of which JSON text of an object or a list is decoded.
    pub fn decoded(self, reader: Reader<'a>, key: &str) -> Option<Value<'a>> {
        Some(decode::decoded(reader, self.get(key)?))
    }

    /// Is there a key that begins so?
    pub fn any_under(self, prefix: &str) -> bool {
        self.0.iter().any(|member| member.key.utf8().starts_with(prefix.as_bytes()))
    }

    /// Is there a key that goes on from this one with a dot?
    pub fn any_below(self, key: &str) -> bool {
        let is_below = |own: &[u8]| own.strip_prefix(key.as_bytes()).is_some_and(|rest| rest.starts_with(b"."));
        self.0.iter().any(|member| is_below(&member.key.utf8()))
    }

    /// What stands under a prefix, put together again: `a.0.b` and `a.1.b` under `a.` are a list of two objects. Null if
    /// nothing does. Steps that are numbers make a list in the order of the numbers.
    pub fn nested(self, reader: Reader<'a>, prefix: &str) -> Value<'a> {
        let found: Vec<(&'a [u8], Value<'a>)> =
            self.0.iter().filter_map(|member| Some((rest_in(member.key, prefix, reader)?, member.value))).collect();
        put_together(reader, found, 0)
    }

    /// The list under a prefix, whatever else stands there: `a.0.b` is of the list under `a.`, and `a.b` beside it is not.
    pub fn listed(self, reader: Reader<'a>, prefix: &str) -> &'a [Value<'a>] {
        let is_item = |key: &[u8]| key.first().is_some_and(u8::is_ascii_digit);
        let of_list = self.0.iter().filter(|member| rest_in(member.key, prefix, reader).is_some_and(is_item));
        let of_list: Vec<Member<'a>> = of_list.copied().collect();
        match Attributes(reader.bump.alloc_slice_copy(&of_list)).nested(reader, prefix) {
            Value::Array(items) => items,
            _ => &[],
        }
    }
}

/// What follows the prefix in a key.
fn rest_in<'a>(key: Text<'a>, prefix: &str, reader: Reader<'a>) -> Option<&'a [u8]> {
    key.utf8_in(reader.bump).strip_prefix(prefix.as_bytes())
}

/// Deeper keys stay dotted: nobody nests so deep, and recursion has an end.
const MOST_STEPS: usize = 64;

/// What stands under the rest of a key.
type Below<'a> = (&'a [u8], Value<'a>);

fn put_together<'a>(reader: Reader<'a>, found: Vec<Below<'a>>, depth: usize) -> Value<'a> {
    // By the next step, in the order in which they were met: what stands under it, and what is its own.
    let mut steps: Vec<(&'a [u8], Vec<Below<'a>>)> = Vec::new();
    let mut places: BTreeMap<&'a [u8], usize> = BTreeMap::new();
    for (key, value) in found {
        let cut = if depth < MOST_STEPS { memchr::memchr(b'.', key) } else { None };
        let (step, below) = match cut {
            Some(cut) => (&key[..cut], &key[cut + 1..]),
            None => (key, &b""[..]),
        };
        let place = *places.entry(step).or_insert_with(|| {
            steps.push((step, Vec::new()));
            steps.len() - 1
        });
        // What stands below it says more than a value of its own.
        match cut {
            None if !steps[place].1.is_empty() => {}
            Some(_) if matches!(steps[place].1[..], [(b"", _)]) => steps[place].1[0] = (below, value),
            _ => steps[place].1.push((below, value)),
        }
    }
    if steps.is_empty() {
        return Value::Null;
    }
    let number = |step: &[u8]| std::str::from_utf8(step).ok()?.parse::<u64>().ok();
    let is_list = steps.iter().all(|(step, _)| number(step).is_some());
    let mut members: Vec<(&'a [u8], Value<'a>)> = steps
        .into_iter()
        .map(|(step, below)| match below[..] {
            [(b"", own)] => (step, own),
            _ => (step, put_together(reader, below, depth + 1)),
        })
        .collect();
    if is_list {
        members.sort_by_key(|(step, _)| number(step));
        Value::Array(reader.bump.alloc_slice_fill_iter(members.into_iter().map(|(_, value)| value)))
    } else {
        let member = |(key, value)| Member { key: Text::Utf8(key), value };
        Value::Object(reader.bump.alloc_slice_fill_iter(members.into_iter().map(member)))
    }
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;

    use super::*;
    use crate::show;

    #[test]
    fn what_was_taken_apart_is_put_together() {
        let bump = Bump::new();
        let nested = |text: &str, prefix: &str| {
            let (value, reader) = Reader::parse(bump.alloc_str(text).as_bytes(), &bump).unwrap();
            let Value::Object(members) = value else { panic!("an object") };
            show::json_text(Attributes(members).nested(reader, prefix))
        };
        assert_eq!(
            nested(r#"{"a.1.b": 2, "a.0.b": 1, "a.10.c.d": 3, "b": 4}"#, "a."),
            r#"[{"b": 1}, {"b": 2}, {"c": {"d": 3}}]"#
        );
        assert_eq!(nested(r#"{"a.x": 1, "a.x.y": 2, "a.0": 3}"#, "a."), r#"{"x": {"y": 2}, "0": 3}"#);
        assert_eq!(nested(r#"{"a.x.y": 2, "a.x": 1}"#, "a."), r#"{"x": {"y": 2}}"#);
        assert_eq!(nested(r#"{"a": 1}"#, "a."), "null");
        // In time that grows with their number.
        let many = (0..100_000).map(|number| format!(r#""a.x.k{number}": 1"#)).collect::<Vec<_>>().join(", ");
        assert!(nested(&format!("{{{many}}}"), "a.").starts_with(r#"{"x": {"k0": 1, "k1": 1"#));
        let deep = format!(r#"{{"a.{}b": 1}}"#, "a.".repeat(100_000));
        assert!(nested(&deep, "a.").starts_with(r#"{"a": {"a": {"#));
    }
}
