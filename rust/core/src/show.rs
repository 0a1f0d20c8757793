//! Values and names as they are shown to people. What a trace says is data: characters that could drive a terminal, turn
//! the direction of the text around them, or not be stored as UTF-8 are shown as escapes.

use std::fmt::Write;

use crate::{
    json,
    number::Big,
    text::Text,
    value::{MAX_DEPTH, MAX_RECORD_DEPTH, Object, Value},
};

/// A value as JSON text: whole, or cut where it would be too long or too deep to show.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'t> {
    pub json: &'t str,
    pub whole: bool,
}

pub const MOST_CHARACTERS: usize = 2000;
const MOST_LEVELS: usize = 64;
const MOST_OF_A_TEXT: usize = 100_000;
/// How much of a value or a name stands in a sentence.
const IN_A_SENTENCE: usize = 80;

/// Write a value as JSON text; says whether it is whole.
pub fn value(value: Value<'_>, out: &mut String) -> bool {
    Writer { out, room: MOST_CHARACTERS }.value(value, MOST_LEVELS).is_some()
}

/// A value as JSON text that stands for itself, such as an error that is an object. It is cut where it would be very long,
/// and the cut is marked.
pub fn json_text(value: Value<'_>) -> String {
    let mut out = String::new();
    let whole = Writer { out: &mut out, room: MOST_OF_A_TEXT }.value(value, MAX_DEPTH);
    if whole.is_none() {
        out.push('…');
    }
    out
}

/// A value as JSON text, whole.
pub fn write_json(value: Value<'_>, out: &mut String) {
    Writer { out, room: usize::MAX }.value(value, MAX_RECORD_DEPTH);
}

impl Shown<'_> {
    pub fn in_a_sentence(self) -> String {
        if self.whole { in_a_sentence(self.json) } else { in_a_sentence(&format!("{}…", self.json)) }
    }
}

/// A text as it stands in a sentence: without what [`visible`] forbids, and at most [`IN_A_SENTENCE`] characters of it; an
/// ellipsis marks a cut.
pub fn in_a_sentence(text: &str) -> String {
    let text = plain(Text::from(text));
    match text.char_indices().nth(IN_A_SENTENCE) {
        Some((end, _)) => format!("{}…", text[..end].trim_end_matches(['…', '\\'])),
        None => text,
    }
}

/// The text itself, with lone surrogates as escapes, since UTF-8 has none.
pub fn storable(text: Text<'_>) -> String {
    let mut out = String::new();
    write_storable(text, &mut out);
    out
}

pub fn write_storable(text: Text<'_>, out: &mut String) {
    if let Text::Utf8(bytes) = text
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        return out.push_str(text);
    }
    for point in text.code_points() {
        match char::from_u32(point) {
            Some(c) => out.push(c),
            None => escape(out, point),
        }
    }
}

/// A name or key without quotes.
pub fn plain(text: Text<'_>) -> String {
    let mut out = String::new();
    for point in text.code_points() {
        match visible(point) {
            Some(c) => out.push(c),
            None => escape(&mut out, point),
        }
    }
    out
}

/// A text of several lines, such as JSON text, with escapes (JSON's) for all else that must not reach a terminal.
pub fn printable_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\n' || visible(u32::from(c)).is_some() {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                escape(&mut out, u32::from(*unit));
            }
        }
    }
    out
}

fn escape(out: &mut String, point: u32) {
    let _ = if point < 0x1_0000 { write!(out, "\\u{point:04x}") } else { write!(out, "\\u{{{point:x}}}") };
}

/// The character, unless it is one that must not reach a terminal or a file as it is.
fn visible(point: u32) -> Option<char> {
    match point {
        0..0x20
        | 0x7f..0xa0
        | 0x061c
        | 0x200b..=0x200f
        | 0x2028..=0x202e
        | 0x2060..=0x206f
        | 0xfeff
        | 0xfff9..=0xfffb
        | 0xfffe..=0xffff
        | 0xe_0000..=0xe_0fff => None,
        _ => char::from_u32(point),
    }
}

/// Each method returns None when the room is used up.
struct Writer<'o> {
    out: &'o mut String,
    room: usize,
}

impl Writer<'_> {
    fn put(&mut self, text: &str) -> Option<()> {
        self.room = self.room.checked_sub(text.len())?;
        self.out.push_str(text);
        Some(())
    }

    fn value(&mut self, value: Value<'_>, levels: usize) -> Option<()> {
        match value {
            Value::Null => self.put("null"),
            Value::False => self.put("false"),
            Value::True => self.put("true"),
            Value::Int(int) => self.int(int),
            Value::Big(big) => self.big(big),
            Value::Float(float) => self.put(&number(float)),
            Value::Text(text) => self.text(text),
            Value::Array(items) => {
                let levels = levels.checked_sub(1)?;
                self.put("[")?;
                for (index, &item) in items.iter().enumerate() {
                    self.put(if index == 0 { "" } else { ", " })?;
                    self.value(item, levels)?;
                }
                self.put("]")
            }
            Value::Object(members) => self.object(members, levels.checked_sub(1)?),
            Value::Foreign(name) => self.put(&format!("\"[{}]\"", plain(*name))),
        }
    }

    fn object(&mut self, members: Object<'_>, levels: usize) -> Option<()> {
        self.put("{")?;
        for (index, member) in members.iter().enumerate() {
            self.put(if index == 0 { "" } else { ", " })?;
            self.text(member.key)?;
            self.put(": ")?;
            self.value(member.value, levels)?;
        }
        self.put("}")
    }

    fn int(&mut self, int: i64) -> Option<()> {
        let before = self.out.len();
        let _ = write!(self.out, "{int}");
        match self.room.checked_sub(self.out.len() - before) {
            Some(room) => self.room = room,
            None => {
                self.out.truncate(before);
                return None;
            }
        }
        Some(())
    }

    fn big(&mut self, big: &Big<'_>) -> Option<()> {
        match big.digits(self.room) {
            Some(digits) => self.put(&digits),
            None => {
                self.put("an integer of many digits")?;
                None
            }
        }
    }

    fn text(&mut self, text: Text<'_>) -> Option<()> {
        self.put("\"")?;
        match text {
            Text::Utf8(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => self.utf8(text)?,
                Err(_) => self.points(Text::Utf8(bytes))?,
            },
            other => self.points(other)?,
        }
        self.put("\"")
    }

    /// Most of a text stands for itself.
    fn utf8(&mut self, text: &str) -> Option<()> {
        let stands = |byte: &u8| (0x20..0x7f).contains(byte) && !matches!(byte, b'"' | b'\\');
        let mut rest = text;
        while !rest.is_empty() {
            // What doesn't is ASCII, or begins a character.
            let end = standing(rest.as_bytes());
            let (plain, other) = rest.split_at(end);
            self.put(plain)?;
            rest = match other.as_bytes().first() {
                None => other,
                Some(b'"') => {
                    self.put("\\\"")?;
                    &other[1..]
                }
                Some(_) => {
                    let end = other.bytes().position(|byte| stands(&byte) || byte == b'"').unwrap_or(other.len());
                    let (other, rest) = other.split_at(end);
                    self.points(Text::from(other))?;
                    rest
                }
            };
        }
        Some(())
    }

    fn points(&mut self, text: Text<'_>) -> Option<()> {
        let mut buffer = [0; 4];
        for point in text.code_points() {
            match (point, visible(point)) {
                (0x22, _) => self.put("\\\"")?,
                (0x5c, _) => self.put("\\\\")?,
                (0x0a, _) => self.put("\\n")?,
                (0x09, _) => self.put("\\t")?,
                (_, Some(c)) => self.put(c.encode_utf8(&mut buffer))?,
                // No JSON reader takes a lone surrogate for a character, so its escape is shown as text.
                (0xd800..0xe000, None) => self.put(&format!("\\\\u{point:04x}"))?,
                (0..0x1_0000, None) => self.put(&format!("\\u{point:04x}"))?,
                (_, None) => self.put(&format!("\\\\u{{{point:x}}}"))?,
            }
        }
        Some(())
    }
}

/// How many bytes at the beginning stand for themselves in JSON text.
fn standing(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    for (number, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let other = json::special_in(word) | json::bytes_in(word, 0x7f) | word & json::TOPS;
        if other != 0 {
            return 8 * number + (other.trailing_zeros() / 8) as usize;
        }
    }
    let stands = |byte: &u8| (0x20..0x7f).contains(byte) && !matches!(byte, b'"' | b'\\');
    8 * words.len() + rest.iter().position(|byte| !stands(byte)).unwrap_or(rest.len())
}

/// As Python's `json` writes it.
fn number(float: f64) -> String {
    if float.is_nan() {
        "NaN".to_owned()
    } else if float.is_infinite() {
        if float > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
    } else {
        format!("{float:?}")
    }
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;

    use super::*;
    use crate::{json, value::MAX_RECORD_DEPTH};

    /// The text, and whether it is whole.
    fn shown(text: &str) -> (String, bool) {
        let bump = Bump::new();
        let mut out = String::new();
        let whole = value(json::parse(text.as_bytes(), MAX_RECORD_DEPTH, &bump).unwrap(), &mut out);
        (out, whole)
    }

    #[test]
    fn short_values_are_whole() {
        for text in
            [r#"{"a": [1, 2.5, null, true], "é": "x\"\\\n"}"#, "1e+300", "NaN", "-Infinity", "99999999999999999999"]
        {
            assert_eq!(shown(text), (text.replace("e+", "e"), true));
        }
    }

    #[test]
    fn nothing_that_drives_a_terminal_is_left() {
        let text = "\"\\u001b[31mred\\u009b \\u202e \\ud800 \\u0007\"";
        assert_eq!(shown(text).0, r#""\u001b[31mred\u009b \u202e \\ud800 \u0007""#);
        assert_eq!(plain(Text::Ucs2(&[0x1b, 0xd800, 0x61])), "\\u001b\\ud800a");
    }

    #[test]
    fn long_and_deep_values_are_cut() {
        let (json, whole) = shown(&format!("\"{}\"", "é".repeat(5000)));
        assert!(!whole && json.len() <= MOST_CHARACTERS && Shown { json: &json, whole }.in_a_sentence().ends_with('…'));
        assert!(!shown(&format!("{}{}", "[".repeat(100), "]".repeat(100))).1);
        assert!(!shown(&"9".repeat(5000)).1);
    }
}
