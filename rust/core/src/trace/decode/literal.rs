//! Values as Python writes them: `{'a': (1, None), 'b': "it's"}`.
//!
//! Who exports what a Python program holds often writes its `repr`. What is made of plain values can be read again; an
//! object (`Foo(a=1)`, `<Foo at 0x…>`), a set, bytes or a key that is no text can't, and makes all of it a text.

use bumpalo::Bump;

use crate::{
    json,
    number::{Big, Magnitude},
    text::{self, Text},
    value::{MOST_VALUES, Member, Value},
};

/// Read one value that may nest `max_depth` levels deep.
pub(super) fn parse<'a>(bytes: &'a [u8], max_depth: usize, bump: &'a Bump) -> Option<Value<'a>> {
    let mut parser = Parser { bytes, position: 0, bump, room: max_depth, values: MOST_VALUES };
    let value = parser.value()?;
    parser.token().is_none().then_some(value)
}

struct Parser<'a> {
    bytes: &'a [u8],
    position: usize,
    bump: &'a Bump,
    /// How many more levels may be opened.
    room: usize,
    /// How many more values may be read.
    values: usize,
}

/// Each method returns None where the text is not what it reads.
impl<'a> Parser<'a> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.position).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.position += 1;
        Some(byte)
    }

    /// The next byte that isn't white space, which stays unread.
    fn token(&mut self) -> Option<u8> {
        loop {
            match self.peek()? {
                b' ' | b'\n' | b'\r' | b'\t' | b'\x0c' => self.position += 1,
                byte => return Some(byte),
            }
        }
    }

    /// Step over this byte, if it is the next token.
    fn takes(&mut self, byte: u8) -> bool {
        let is_next = self.token() == Some(byte);
        self.position += usize::from(is_next);
        is_next
    }

    fn value(&mut self) -> Option<Value<'a>> {
        self.values = self.values.checked_sub(1)?;
        match self.token()? {
            b'{' => self.nested(Self::dict),
            b'[' => self.nested(|parser| Some(Value::Array(parser.items(b']', &mut false)?))),
            b'(' => self.nested(Self::tuple),
            b'\'' | b'"' | b'u' => self.string().map(Value::Text),
            b'-' | b'.' | b'0'..=b'9' => self.number(),
            _ => self.word(),
        }
    }

    /// Step over the opening bracket and read what is inside.
    fn nested(&mut self, inside: impl FnOnce(&mut Self) -> Option<Value<'a>>) -> Option<Value<'a>> {
        self.room = self.room.checked_sub(1)?;
        self.position += 1;
        let value = inside(self)?;
        self.room += 1;
        Some(value)
    }

    fn dict(&mut self) -> Option<Value<'a>> {
        let mut members = Vec::new();
        while !self.takes(b'}') {
            let is_text = matches!(self.token()?, b'\'' | b'"' | b'u');
            let key = if is_text { self.string()? } else { return None };
            if !self.takes(b':') {
                return None;
            }
            members.push(Member { key, value: self.value()? });
            if !self.takes(b',') && self.token()? != b'}' {
                return None;
            }
        }
        json::keep_last(&mut members, 0);
        Some(Value::Object(self.bump.alloc_slice_copy(&members)))
    }

    /// What stands up to the closing bracket, and whether a comma ends it.
    fn items(&mut self, closing: u8, ends_with_comma: &mut bool) -> Option<&'a [Value<'a>]> {
        let mut items = Vec::new();
        while !self.takes(closing) {
            items.push(self.value()?);
            *ends_with_comma = self.takes(b',');
            if !*ends_with_comma && self.token()? != closing {
                return None;
            }
        }
        Some(self.bump.alloc_slice_copy(&items))
    }

    /// A tuple is a list, and a value in brackets the value.
    fn tuple(&mut self) -> Option<Value<'a>> {
        let mut ends_with_comma = false;
        match self.items(b')', &mut ends_with_comma)? {
            [only] if !ends_with_comma => Some(*only),
            items => Some(Value::Array(items)),
        }
    }

    /// One string, or several in a row, which are one: so long ones are printed.
    fn string(&mut self) -> Option<Text<'a>> {
        let first = self.one_string()?;
        let mut parts = Vec::new();
        while matches!(self.token(), Some(b'\'' | b'"')) {
            parts.push(self.one_string()?);
        }
        if parts.is_empty() {
            return Some(first);
        }
        parts.insert(0, first);
        Some(Text::joined(&parts, "", self.bump))
    }

    fn one_string(&mut self) -> Option<Text<'a>> {
        // Python 2 marks texts.
        self.position += usize::from(self.peek() == Some(b'u'));
        let quote = self.next().filter(|byte| matches!(byte, b'\'' | b'"'))?;
        let start = self.position;
        // Three quotes begin another kind of string, which nobody prints.
        if self.bytes.get(start..)?.starts_with(&[quote, quote]) {
            return None;
        }
        let length = self.plain_length(quote)?;
        let plain = self.bytes.get(start..start + length)?;
        self.position += length;
        if self.next()? == quote {
            return Some(Text::Utf8(plain));
        }
        let mut unescaped = plain.to_vec();
        loop {
            self.escape(&mut unescaped)?;
            let length = self.plain_length(quote)?;
            unescaped.extend_from_slice(self.bytes.get(self.position..self.position + length)?);
            self.position += length;
            if self.next()? == quote {
                return Some(Text::Utf8(self.bump.alloc_slice_copy(&unescaped)));
            }
        }
    }

    /// How many bytes stand before the next quote or backslash; None if a line ends there.
    fn plain_length(&self, quote: u8) -> Option<usize> {
        let rest = self.bytes.get(self.position..)?;
        let length = memchr::memchr2(quote, b'\\', rest)?;
        let is_of_a_line = |bytes: &[u8]| memchr::memchr3(b'\n', b'\r', 0, bytes).is_none();
        rest.get(..length).is_some_and(is_of_a_line).then_some(length)
    }

    /// What follows a backslash.
    fn escape(&mut self, out: &mut Vec<u8>) -> Option<()> {
        let point = match self.next()? {
            byte @ (b'\'' | b'"' | b'\\') => u32::from(byte),
            b'n' => 0x0a,
            b'r' => 0x0d,
            b't' => 0x09,
            b'a' => 0x07,
            b'b' => 0x08,
            b'f' => 0x0c,
            b'v' => 0x0b,
            b'x' => self.digits(2)?,
            b'u' => self.digits(4)?,
            b'U' => self.digits(8)?,
            first @ b'0'..=b'7' => {
                let mut point = u32::from(first - b'0');
                for _ in 0..2 {
                    let Some(digit @ b'0'..=b'7') = self.peek() else { break };
                    point = point * 8 + u32::from(digit - b'0');
                    self.position += 1;
                }
                point
            }
            // A line that goes on; a character by its name.
            b'\n' | b'\r' | b'N' => return None,
            other => {
                // Any other backslash stands for itself.
                out.extend_from_slice(&[b'\\', other]);
                return Some(());
            }
        };
        let mut buffer = [0; 4];
        let length = text::encode((point < 0x11_0000).then_some(point)?, &mut buffer);
        out.extend_from_slice(buffer.get(..length)?);
        Some(())
    }

    fn digits(&mut self, count: usize) -> Option<u32> {
        let mut number = 0;
        for _ in 0..count {
            number = number << 4 | char::from(self.next()?).to_digit(16)?;
        }
        Some(number)
    }

    fn number(&mut self) -> Option<Value<'a>> {
        let start = self.position;
        let is_negative = self.peek() == Some(b'-');
        self.position += usize::from(is_negative);
        let first = self.position;
        while matches!(self.peek(), Some(b'0'..=b'9' | b'.' | b'e' | b'E')) {
            let is_exponent = matches!(self.next(), Some(b'e' | b'E'));
            self.position += usize::from(is_exponent && matches!(self.peek(), Some(b'+' | b'-')));
        }
        // `-inf`, and what is written otherwise: `1_000`, `0x1f`, `1j`.
        if self.peek().is_some_and(goes_on) {
            let is_infinite = is_negative && first == self.position && self.skips("inf");
            return is_infinite.then_some(Value::Float(f64::NEG_INFINITY));
        }
        let digits = self.bytes.get(first..self.position)?;
        let written = std::str::from_utf8(self.bytes.get(start..self.position)?).ok()?;
        if !digits.iter().all(u8::is_ascii_digit) {
            return written.parse().ok().map(Value::Float);
        }
        match digits {
            [] | [b'0', _, ..] => None,
            _ => Some(match written.parse() {
                Ok(int) => Value::Int(int),
                Err(_) => {
                    let magnitude = Magnitude::Decimal(digits);
                    Value::Big(self.bump.alloc(Big { negative: is_negative, magnitude }))
                }
            }),
        }
    }

    fn word(&mut self) -> Option<Value<'a>> {
        let words = [
            ("None", Value::Null),
            ("True", Value::True),
            ("False", Value::False),
            ("nan", Value::Float(f64::NAN)),
            ("inf", Value::Float(f64::INFINITY)),
        ];
        words.into_iter().find_map(|(word, value)| self.skips(word).then_some(value))
    }

    fn skips(&mut self, word: &str) -> bool {
        let end = self.position + word.len();
        let is_there = self.bytes.get(self.position..end) == Some(word.as_bytes());
        let is_all = is_there && !self.bytes.get(end).copied().is_some_and(goes_on);
        self.position = if is_all { end } else { self.position };
        is_all
    }
}

/// May a name or a number hold this byte?
fn goes_on(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{compare, show, value::MAX_DEPTH};

    fn read(text: &str) -> Option<String> {
        let bump = Bump::new();
        parse(text.as_bytes(), 128, &bump).map(show::json_text)
    }

    #[test]
    fn plain_values_in_pythons_way() {
        for (text, json) in [
            ("{}", "{}"),
            ("{'a': 1, \"b\": -2.5}", r#"{"a": 1, "b": -2.5}"#),
            (
                "  {'a':[1,2,],'b':(),'c':(3,),'d':(4),'e':(5, 6),}\n",
                r#"{"a": [1, 2], "b": [], "c": [3], "d": 4, "e": [5, 6]}"#,
            ),
            ("[True, False, None]", "[true, false, null]"),
            ("[nan, inf, -inf, 1e-05, 1., .5, -0.0, 0]", "[NaN, Infinity, -Infinity, 1e-5, 1.0, 0.5, -0.0, 0]"),
            (
                "[9223372036854775807, 9223372036854775808, -9223372036854775808, -9223372036854775809]",
                "[9223372036854775807, 9223372036854775808, -9223372036854775808, -9223372036854775809]",
            ),
            (r#"["it's", 'say "hi"', 'it\'s', '', u'ü']"#, r#"["it's", "say \"hi\"", "it's", "", "ü"]"#),
            (r"'\n\t\\\x41\u00fc\U0001f600\101\d'", r#""\n\t\\Aü😀A\\d""#),
            ("('one '\n 'two')", r#""one two""#),
            ("{'a': 1, 'b': 2, 'a': 3}", r#"{"a": 3, "b": 2}"#),
            ("{'a': {'b': [{'c': None}]}}", r#"{"a": {"b": [{"c": null}]}}"#),
        ] {
            assert_eq!(read(text).as_deref(), Some(json), "{text}");
        }
    }

    #[test]
    fn whatever_else_python_prints_stays_a_text() {
        for text in [
            "",
            " ",
            "{",
            "{'a'",
            "{'a':",
            "{'a': 1",
            "['a'",
            "(1",
            "{'a': 1}}",
            "{'a': 1} x",
            "[1 2]",
            "{'a' 1}",
            "{,}",
            "[,]",
            "(,)",
            "Foo(a=1)",
            "{'a': Foo(a=1)}",
            "{'a': <Foo at 0x7f>}",
            "{'a': datetime.date(2026, 1, 2)}",
            "set()",
            "{1, 2}",
            "{'a', 'b'}",
            "b'x'",
            "{'a': b'x'}",
            "{b'a': 1}",
            "{1: 'a'}",
            "{None: 1}",
            "[...]",
            "{...}",
            "1_000",
            "0x1f",
            "1j",
            "007",
            "1.2.3",
            "1e",
            "-",
            ".",
            "e5",
            "- 1",
            "--1",
            "Nonesuch",
            "True1",
            "true",
            "null",
            "'a",
            "'a\nb'",
            "'a\\",
            r"'\x4'",
            r"'\u12'",
            r"'\U00110000'",
            r"'\N{BULLET}'",
            "'''a'''",
            "r'a'",
            "f'{a}'",
            "u",
            "uu'a'",
            "'a' + 'b'",
            "infinite",
            "-infinite",
            "-inf1",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn depth_is_limited_and_time_is_linear() {
        let deep = |open: &str, close: &str, depth| format!("{}{}", open.repeat(depth), close.repeat(depth));
        for (open, close) in [("[", "]"), ("(", ",)"), ("(", ")")] {
            let inner =
                |depth| deep(open, close, depth).replacen(&format!("{open}{close}"), &format!("{open}1{close}"), 1);
            assert!(read(&inner(128)).is_some() && read(&inner(129)).is_none(), "{open}");
        }
        assert!(read(&format!("{}1{}", "{'a': ".repeat(129), "}".repeat(129))).is_none());
        assert!(read(&"[".repeat(1_000_000)).is_none());
        // Would take minutes if each were read more than a few times.
        for part in ["'a' ", "[1], ", "'\\n", "'a', ", "(1, 2), "] {
            read(&format!("[{}", part.repeat(200_000)));
        }
        let keys: String = (0..100_000).map(|key| format!("'{}': 1, ", key % 50_000)).collect();
        let bump = Bump::new();
        let Some(Value::Object(members)) =
            parse(format!("{{{keys}}}").as_bytes(), 128, &bump).map(|v| v.copy_to(&bump))
        else {
            panic!("a dict")
        };
        assert_eq!(members.len(), 50_000);
    }

    /// As `repr` writes it, with quotes and escapes chosen at random where there is a choice.
    fn printed(value: Value<'_>, random: &mut Random, out: &mut String) {
        match value {
            Value::Null => out.push_str("None"),
            Value::True => out.push_str("True"),
            Value::False => out.push_str("False"),
            Value::Float(float) if float.is_nan() => out.push_str("nan"),
            Value::Float(float) if float.is_infinite() => out.push_str(if float > 0.0 { "inf" } else { "-inf" }),
            Value::Float(float) => out.push_str(&format!("{float:?}")),
            Value::Text(text) => printed_text(text, random, out),
            Value::Array(items) => {
                let is_tuple = random.below(2) == 0;
                out.push(if is_tuple { '(' } else { '[' });
                for (place, &item) in items.iter().enumerate() {
                    printed(item, random, out);
                    if place + 1 < items.len() || is_tuple && items.len() == 1 {
                        out.push_str(", ");
                    }
                }
                out.push(if is_tuple { ')' } else { ']' });
            }
            Value::Object(members) => {
                out.push('{');
                for (place, member) in members.iter().enumerate() {
                    out.push_str(if place > 0 { ", " } else { "" });
                    printed_text(member.key, random, out);
                    out.push_str(": ");
                    printed(member.value, random, out);
                }
                out.push('}');
            }
            number => out.push_str(&show::json_text(number)),
        }
    }

    fn printed_text(text: Text<'_>, random: &mut Random, out: &mut String) {
        let quote = if random.below(2) == 0 { '\'' } else { '"' };
        out.push(quote);
        for point in text.code_points() {
            match char::from_u32(point) {
                Some(c) if c == quote || c == '\\' => out.extend(['\\', c]),
                Some('\n') => out.push_str("\\n"),
                Some(c) if c >= ' ' && random.below(4) > 0 => out.push(c),
                _ if point < 0x100 => out.push_str(&format!("\\x{point:02x}")),
                _ if point < 0x1_0000 => out.push_str(&format!("\\u{point:04x}")),
                _ => out.push_str(&format!("\\U{point:08x}")),
            }
        }
        out.push(quote);
    }

    /// Numbers that look random (xorshift), the same in each run.
    struct Random(u64);

    impl Random {
        fn below(&mut self, end: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % end
        }
    }

    fn any_text<'a>(random: &mut Random, bump: &'a Bump) -> Text<'a> {
        let points =
            [0, 9, 10, 13, 0x20, 0x22, 0x27, 0x5c, 0x61, 0x7b, 0x7f, 0xe9, 0x2028, 0xd83d, 0xde00, 0xffff, 0x1_f600];
        let mut bytes = Vec::new();
        for _ in 0..random.below(6) {
            let mut buffer = [0; 4];
            let length = text::encode(points[random.below(points.len() as u64) as usize], &mut buffer);
            bytes.extend_from_slice(&buffer[..length]);
        }
        Text::Utf8(bump.alloc_slice_copy(&bytes))
    }

    fn any_value<'a>(random: &mut Random, depth: usize, bump: &'a Bump) -> Value<'a> {
        match random.below(if depth == 0 { 8 } else { 12 }) {
            0 => Value::Null,
            1 => Value::True,
            2 => Value::False,
            3 => Value::Int(random.below(u64::MAX) as i64),
            4 => Value::Float(f64::from_bits(random.below(u64::MAX))),
            5 => Value::Float(random.below(1000) as f64 / 8.0),
            6 => {
                Value::Big(bump.alloc(Big {
                    negative: random.below(2) == 0,
                    magnitude: Magnitude::Decimal(b"98765432109876543210"),
                }))
            }
            7 => Value::Text(any_text(random, bump)),
            8 | 9 => {
                let items: Vec<_> = (0..random.below(4)).map(|_| any_value(random, depth - 1, bump)).collect();
                Value::Array(bump.alloc_slice_copy(&items))
            }
            _ => {
                let mut members: Vec<_> = (0..random.below(4))
                    .map(|_| Member { key: any_text(random, bump), value: any_value(random, depth - 1, bump) })
                    .collect();
                json::keep_last(&mut members, 0);
                Value::Object(bump.alloc_slice_copy(&members))
            }
        }
    }

    #[test]
    fn what_is_printed_is_read_again() {
        let mut random = Random(0x2545_f491_4f6c_dd1d);
        for _ in 0..3000 {
            let bump = Bump::new();
            let value = any_value(&mut random, 5, &bump);
            let mut text = String::new();
            printed(value, &mut random, &mut text);
            let again = parse(text.as_bytes(), MAX_DEPTH, &bump);
            assert!(again.is_some_and(|again| compare::equal(again, value)), "{text}");
        }
    }

    #[test]
    fn no_text_makes_it_panic() {
        let mut random = Random(88_172_645_463_325_252);
        let parts = [
            "{", "}", "[", "]", "(", ")", "'", "\"", "\\", ",", ":", "a", "u", "1", "-", ".", "e", "x4", "None", "inf",
            " ", "\n", "é",
        ];
        for _ in 0..20_000 {
            let text: String =
                (0..random.below(12)).map(|_| parts[random.below(parts.len() as u64) as usize]).collect();
            read(&text);
        }
    }
}
