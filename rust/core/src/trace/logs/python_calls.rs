//! Calls as Python writes them: `cd(folder='document')`, or a list of them. They are read, and never evaluated.

use std::collections::HashMap;

use crate::{
    call::Reader,
    text::Text,
    trace::{decode::python_literal, span::Span},
    value::{MAX_DEPTH, Member, Value},
};

/// The calls in a text that is nothing but calls: one, or several with commas or lines between them, in brackets or
/// not, and perhaps marked as code. None: it is something else, such as an answer.
pub fn calls<'a>(reader: Reader<'a>, text: Text<'a>) -> Option<Vec<Span<'a>>> {
    let mut rest = text.utf8_in(reader.bump).trim_ascii();
    if let Some(code) = rest.strip_prefix(b"```").and_then(|rest| rest.strip_suffix(b"```")) {
        rest = code.strip_prefix(b"python\n").unwrap_or(code).trim_ascii();
    }
    if let Some(inner) = rest.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]")) {
        rest = inner.trim_ascii();
    }
    let mut calls = Vec::new();
    while !rest.is_empty() {
        let (span, after) = call(reader, rest)?;
        calls.push(span);
        let after = after.trim_ascii_start();
        rest = match after.strip_prefix(b",").or_else(|| after.strip_prefix(b";")) {
            Some(rest) => rest.trim_ascii_start(),
            None if after.is_empty() || calls_begin(after) => after,
            None => return None,
        };
    }
    (!calls.is_empty()).then_some(calls)
}

fn calls_begin(text: &[u8]) -> bool {
    name(text).is_some_and(|(_, rest)| rest.starts_with(b"("))
}

/// A name with dots in it, and what follows.
fn name(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-') || *byte >= 0x80;
    let end = text.iter().position(|byte| !is_part(byte)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let first = name.first()?;
    (!first.is_ascii_digit() && !matches!(first, b'.' | b'-')).then_some((name, rest))
}

/// The call at the beginning, and what follows.
fn call<'a>(reader: Reader<'a>, text: &'a [u8]) -> Option<(Span<'a>, &'a [u8])> {
    let (name, rest) = name(text)?;
    let inside = rest.trim_ascii_start().strip_prefix(b"(")?;
    let (pieces, after) = pieces(inside)?;
    let whole = inside.get(..inside.len() - after.len() - 1).unwrap_or_default();
    let input = input(reader, &pieces).unwrap_or(Value::Text(Text::Utf8(whole.trim_ascii())));
    Some((Span { input, ..Span::new(Text::Utf8(name)) }, after))
}

/// What stands between commas up to the bracket that closes, and what follows it. What is in brackets or in quotes is
/// whole.
fn pieces(text: &[u8]) -> Option<(Vec<&[u8]>, &[u8])> {
    let (mut pieces, mut begin, mut open) = (Vec::new(), 0, Vec::new());
    let mut place = 0;
    while let Some(&byte) = text.get(place) {
        match byte {
            b'\'' | b'"' => place = end_of_quoted(text, place)?,
            b'(' | b'[' | b'{' if open.len() < MAX_DEPTH => open.push(byte),
            b'(' | b'[' | b'{' => return None,
            b')' if open.is_empty() => {
                let last = text.get(begin..place)?.trim_ascii();
                // A comma may stand at the end.
                if !last.is_empty() {
                    pieces.push(last);
                }
                return Some((pieces, text.get(place + 1..)?));
            }
            b')' | b']' | b'}' => {
                open.pop()?;
            }
            b',' if open.is_empty() => {
                pieces.push(text.get(begin..place)?.trim_ascii());
                begin = place + 1;
            }
            _ => {}
        }
        place += 1;
    }
    None
}

/// The place of the quote that ends what one begins.
fn end_of_quoted(text: &[u8], begin: usize) -> Option<usize> {
    let quote = *text.get(begin)?;
    let triple = [quote; 3];
    if text.get(begin..)?.starts_with(&triple) {
        let mut place = begin + 3;
        while !text.get(place..)?.starts_with(&triple) {
            place += if text.get(place) == Some(&b'\\') { 2 } else { 1 };
        }
        return Some(place + 2);
    }
    let mut place = begin + 1;
    loop {
        match *text.get(place)? {
            b'\\' => place += 2,
            byte if byte == quote => return Some(place),
            _ => place += 1,
        }
    }
}

/// Arguments by name are an object, and those by position a list, since what they are called isn't known. None: they
/// are mixed, or one of them is no value.
fn input<'a>(reader: Reader<'a>, pieces: &[&'a [u8]]) -> Option<Value<'a>> {
    let (mut members, mut items) = (Vec::<Member<'a>>::new(), Vec::new());
    // Where a name comes again, the last one counts.
    let mut places: HashMap<&[u8], usize> = HashMap::new();
    for &piece in pieces {
        let Some((name, value)) = named(piece) else {
            items.push(python_literal(reader, piece)?);
            continue;
        };
        let member = Member { key: Text::Utf8(name), value: python_literal(reader, value)? };
        let place = *places.entry(name).or_insert(members.len());
        match members.get_mut(place) {
            Some(known) => *known = member,
            None => members.push(member),
        }
    }
    match (members.is_empty(), items.is_empty()) {
        (_, true) => Some(Value::Object(reader.bump.alloc_slice_copy(&members))),
        (true, false) => Some(Value::Array(reader.bump.alloc_slice_copy(&items))),
        (false, false) => None,
    }
}

fn named(piece: &[u8]) -> Option<(&[u8], &[u8])> {
    let (key, rest) = name(piece)?;
    let value = rest.trim_ascii_start().strip_prefix(b"=")?;
    (!value.starts_with(b"=")).then_some((key, value.trim_ascii()))
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;

    use super::*;
    use crate::show;

    fn read(text: &str) -> Option<Vec<String>> {
        let bump = Bump::new();
        let reader = Reader::new(&bump, false);
        let calls = calls(reader, Text::from(text))?;
        Some(calls.iter().map(|span| format!("{}({})", show::plain(span.name), show::json_text(span.input))).collect())
    }

    #[test]
    fn calls_are_read() {
        for (text, expected) in [
            ("cd(folder='document')", &[r#"cd({"folder": "document"})"#][..]),
            ("sort('final_report.pdf')", &[r#"sort(["final_report.pdf"])"#]),
            ("ls()", &["ls({})"]),
            (
                " [a.b(x=1, y=[1, (2, 3)], z={'k': None},), c(True)] ",
                &[r#"a.b({"x": 1, "y": [1, [2, 3]], "z": {"k": null}})"#, "c([true])"],
            ),
            ("a(x='), b(')\nb(y = \"it's\\\"\")", &[r#"a({"x": "), b("})"#, r#"b({"y": "it's\""})"#]),
            ("a(x=1, x=2)", &[r#"a({"x": 2})"#]),
            // What is no plain value stays as it is written.
            ("a(b(1), x=2)", &[r#"a("b(1), x=2")"#]),
            ("a('x', y=2)", &[r#"a("'x', y=2")"#]),
            ("a(x == 1)", &[r#"a("x == 1")"#]),
            ("a(1, )", &["a([1])"]),
            ("```python\n[a(x=1)]\n```", &[r#"a({"x": 1})"#]),
            ("```a()```", &["a({})"]),
            ("a('''x,)''')", &[r#"a("'''x,)'''")"#]),
        ] {
            assert_eq!(
                read(text).as_deref(),
                Some(&expected.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>()[..]),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_call_is_none() {
        for text in [
            "",
            "[]",
            "Hello.",
            "I call a(1)",
            "a(1",
            "a('x)",
            "a(1))",
            "a(1) and b(2)",
            "3(x)",
            "()",
            "a",
            "a(]",
            "'a'(1)",
            "a('\\",
            "a('''x",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(read(&format!("a({})", "[".repeat(100_000))), None);
        // Would take minutes if each were read more than a few times.
        for part in ["f(", "f(1)", "f(x=1),", "f('", "f(\\", "a=", "f(a,", "f(a=f(1),)"] {
            read(&part.repeat(100_000));
            read(&format!("f({})", part.repeat(100_000)));
        }
        let deep = format!("a({}{})", "[".repeat(400), "]".repeat(400));
        assert_eq!(read(&deep), Some(vec![format!("a({:?})", &deep[2..802])]));
    }
}
