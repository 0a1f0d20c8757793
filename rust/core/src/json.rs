//! JSON text → [`Value`], as Python's `json` reads it, without building anything that isn't asked for.
//!
//! Written here rather than taken from a crate because no kept parser has all of what equality needs: integers of any
//! size, `NaN` and `Infinity`, lone surrogates, the last of duplicate keys, a depth limit, and texts that are borrowed
//! from the input. It is fuzzed against `serde_json` and tested against Python's `json`.

mod seen;

pub use seen::Seen;

use std::{
    cell::Cell,
    collections::{HashMap, HashSet},
    fmt,
};

use bumpalo::Bump;

use seen::Known;

use crate::{
    number::{Big, Magnitude},
    text::{self, Text},
    value::{MOST_VALUES, Member, Value},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// Bytes from the start of the text.
    pub at: usize,
    pub problem: Problem,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)] // a whole word, for the sake of `Result<Value, JsonError>`: see `Value`
pub enum Problem {
    Value,
    End,
    ControlCharacter,
    Escape,
    Key,
    Colon,
    ArrayComma,
    ObjectComma,
    Number,
    Trailing,
    Utf8,
    Depth,
    Values,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problem {
            Problem::Value => f.write_str("expected a JSON value")?,
            Problem::End => f.write_str("the text ends too early")?,
            Problem::ControlCharacter => f.write_str("a control character in a string")?,
            Problem::Escape => f.write_str("a bad escape in a string")?,
            Problem::Key => f.write_str("expected a key in double quotes")?,
            Problem::Colon => f.write_str("expected a colon after the key")?,
            Problem::ArrayComma => f.write_str("expected a comma or ]")?,
            Problem::ObjectComma => f.write_str("expected a comma or }")?,
            Problem::Number => f.write_str("a malformed number")?,
            Problem::Trailing => f.write_str("more text after the JSON value")?,
            Problem::Utf8 => f.write_str("not UTF-8")?,
            Problem::Depth => f.write_str("nested too deep")?,
            Problem::Values => write!(f, "more than {MOST_VALUES} values")?,
        }
        write!(f, " (at byte {})", self.at)
    }
}

/// Bytes from outside must be UTF-8. (JSON text inside a text may hold lone surrogates, as any text may.)
pub fn check_utf8(bytes: &[u8]) -> Result<(), JsonError> {
    simdutf8::basic::from_utf8(bytes).map(drop).map_err(|_| {
        // Only the slower one says where.
        let at = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), |_| bytes.len());
        JsonError { at, problem: Problem::Utf8 }
    })
}

/// Read one JSON value that may nest `max_depth` levels deep. Texts borrow from `bytes`, all else lies in `bump`.
pub fn parse<'a>(bytes: &'a [u8], max_depth: usize, bump: &'a Bump) -> Result<Value<'a>, JsonError> {
    parse_with(bytes, max_depth, bump, None)
}

/// The same, with what was seen before, which is not parsed again.
pub fn parse_with<'a>(
    bytes: &'a [u8],
    max_depth: usize,
    bump: &'a Bump,
    seen: Option<&'a Seen<'a>>,
) -> Result<Value<'a>, JsonError> {
    Parser::new(bytes, max_depth, bump, seen).whole()
}

thread_local! {
    /// Where a string with escapes is put together.
    static ROOM: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// No more of it is kept from one string to the next.
const MOST_KEPT: usize = 1 << 20;
/// Bytes behind an escape in which another one is looked for in small steps.
const NEAR: usize = 64;
/// So much of it is free behind what was filled, at least: for some plain words, and what an escape says.
const SPARE: usize = 64;

struct Parser<'a> {
    bytes: &'a [u8],
    position: usize,
    bump: &'a Bump,
    seen: Option<&'a Seen<'a>>,
    /// How many more levels may be opened.
    room: usize,
    /// How many more values may be read.
    values: usize,
    /// Stacks of what belongs to the containers that are open, innermost last; copied into the arena on closing.
    items: Vec<Value<'a>>,
    members: Vec<Member<'a>>,
}

impl<'a> Parser<'a> {
    fn new(bytes: &'a [u8], max_depth: usize, bump: &'a Bump, seen: Option<&'a Seen<'a>>) -> Self {
        Parser {
            bytes,
            position: 0,
            bump,
            seen,
            room: max_depth,
            values: MOST_VALUES,
            items: Vec::with_capacity(16),
            members: Vec::with_capacity(16),
        }
    }

    fn whole(mut self) -> Result<Value<'a>, JsonError> {
        let value = self.value()?;
        match self.token() {
            None => Ok(value),
            Some(_) => Err(self.error(Problem::Trailing)),
        }
    }

    #[cold]
    fn error(&self, problem: Problem) -> JsonError {
        let problem = if self.position >= self.bytes.len() { Problem::End } else { problem };
        JsonError { at: self.position, problem }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.position).copied()
    }

    /// The next byte that isn't white space, which stays unread.
    #[inline]
    fn token(&mut self) -> Option<u8> {
        loop {
            match self.peek()? {
                b' ' | b'\n' | b'\r' | b'\t' => self.position += 1,
                byte => return Some(byte),
            }
        }
    }

    // Inlined into the loops over members and items, so that scalars take no call. (In a debug build, a frame with all that
    // strings and numbers need would be too large for the deepest values.)
    #[inline(always)]
    fn value(&mut self) -> Result<Value<'a>, JsonError> {
        match self.token() {
            Some(b'"') => self.text(),
            Some(b'{' | b'[') => self.nested(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.other(),
        }
    }

    fn other(&mut self) -> Result<Value<'a>, JsonError> {
        match self.peek() {
            Some(b't') => self.word("true", Value::True),
            Some(b'f') => self.word("false", Value::False),
            Some(b'n') => self.word("null", Value::Null),
            Some(b'N') => self.word("NaN", Value::Float(f64::NAN)),
            Some(b'I') => self.word("Infinity", Value::Float(f64::INFINITY)),
            _ => Err(self.error(Problem::Value)),
        }
    }

    fn word(&mut self, word: &str, value: Value<'a>) -> Result<Value<'a>, JsonError> {
        if self.bytes[self.position..].starts_with(word.as_bytes()) {
            self.position += word.len();
            Ok(value)
        } else {
            Err(self.error(Problem::Value))
        }
    }

    /// What is in brackets.
    #[inline(never)]
    fn nested(&mut self) -> Result<Value<'a>, JsonError> {
        if self.room == 0 {
            return Err(JsonError { at: self.position, problem: Problem::Depth });
        }
        let (start, hash, before) = (self.position, self.hash(), self.values);
        if let Some(value) = self.seen_before(hash) {
            return Ok(value);
        }
        let is_object = self.peek() == Some(b'{');
        self.room -= 1;
        self.position += 1;
        let value = if is_object { self.object() } else { self.array() }?;
        self.room += 1;
        self.remember(hash, start, before, value);
        Ok(value)
    }

    /// What the value that starts here is found by, if it was parsed before.
    #[inline]
    fn hash(&self) -> Option<u64> {
        self.seen.and_then(|_| Seen::hash(self.bytes.get(self.position..)?))
    }

    /// That value; None if it would be too deep or too much here, so that reading it tells where.
    #[inline]
    fn seen_before(&mut self, hash: Option<u64>) -> Option<Value<'a>> {
        let known = self.seen?.get(hash?, self.bytes.get(self.position..)?)?;
        if known.room > self.room {
            return None;
        }
        self.values = self.values.checked_sub(known.values)?;
        self.position += known.text.len();
        Some(known.value)
    }

    #[inline]
    fn remember(&self, hash: Option<u64>, start: usize, before: usize, value: Value<'a>) {
        let text = &self.bytes[start..self.position];
        if let (Some(seen), Some(hash), seen::SHORTEST..) = (self.seen, hash, text.len()) {
            seen.put(Known { hash, text, value, room: self.room, values: before - self.values });
        }
    }

    fn array(&mut self) -> Result<Value<'a>, JsonError> {
        let start = self.items.len();
        if self.token() == Some(b']') {
            self.position += 1;
            return Ok(Value::Array(&[]));
        }
        loop {
            let item = self.value()?;
            self.items.push(item);
            match self.token() {
                Some(b',') => self.position += 1,
                Some(b']') => break,
                _ => return Err(self.error(Problem::ArrayComma)),
            }
        }
        self.position += 1;
        self.count(self.items.len() - start)?;
        let items = self.bump.alloc_slice_copy(&self.items[start..]);
        self.items.truncate(start);
        Ok(Value::Array(items))
    }

    fn object(&mut self) -> Result<Value<'a>, JsonError> {
        let start = self.members.len();
        if self.token() == Some(b'}') {
            self.position += 1;
            return Ok(Value::Object(&[]));
        }
        // Whether a key may have come twice.
        let (mut keys, mut repeated) = (0, false);
        loop {
            if self.token() != Some(b'"') {
                return Err(self.error(Problem::Key));
            }
            self.position += 1;
            let key = self.string()?;
            let bit = key_bit(key);
            repeated |= keys & bit != 0;
            keys |= bit;
            if self.token() != Some(b':') {
                return Err(self.error(Problem::Colon));
            }
            self.position += 1;
            let value = self.value()?;
            self.members.push(Member { key, value });
            match self.token() {
                Some(b',') => self.position += 1,
                Some(b'}') => break,
                _ => return Err(self.error(Problem::ObjectComma)),
            }
        }
        self.position += 1;
        self.count(self.members.len() - start)?;
        if repeated {
            keep_last(&mut self.members, start);
        }
        let members = self.bump.alloc_slice_copy(&self.members[start..]);
        self.members.truncate(start);
        Ok(Value::Object(members))
    }

    #[inline]
    fn count(&mut self, values: usize) -> Result<(), JsonError> {
        self.values =
            self.values.checked_sub(values).ok_or(JsonError { at: self.position, problem: Problem::Values })?;
        Ok(())
    }

    /// A string that isn't a key.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn text(&mut self) -> Result<Value<'a>, JsonError> {
        let start = self.position + 1;
        match short_end(self.bytes, start) {
            Some(end) if self.bytes.get(end) == Some(&b'"') => {
                self.position = end + 1;
                Ok(Value::Text(Text::Utf8(&self.bytes[start..end])))
            }
            _ => self.long_text(),
        }
    }

    #[inline(never)]
    fn long_text(&mut self) -> Result<Value<'a>, JsonError> {
        let (start, hash) = (self.position, self.hash());
        if let Some(value) = self.seen_before(hash) {
            return Ok(value);
        }
        self.position += 1;
        let value = Value::Text(self.string()?);
        self.remember(hash, start, self.values, value);
        Ok(value)
    }

    /// The string whose opening quote was just read.
    #[inline]
    fn string(&mut self) -> Result<Text<'a>, JsonError> {
        let start = self.position;
        self.position = plain_end(self.bytes, start);
        match self.peek() {
            Some(b'"') => {
                let text = &self.bytes[start..self.position];
                self.position += 1;
                Ok(Text::Utf8(text))
            }
            Some(b'\\') => self.escaped(start),
            _ => Err(self.error(Problem::ControlCharacter)),
        }
    }

    /// The rest of a string in which an escape was met, which has to be copied.
    #[inline(never)]
    fn escaped(&mut self, start: usize) -> Result<Text<'a>, JsonError> {
        let mut room = ROOM.take();
        let said = self.unescaped(start, &mut room);
        let text = said.map(|length| {
            let said = room.get(..length).unwrap_or_default();
            Text::Utf8(self.bump.alloc_slice_copy(said))
        });
        if room.len() <= MOST_KEPT {
            ROOM.set(room);
        }
        text
    }

    /// Write what a string says into a room, which grows as it has to, and say how much of that was filled.
    fn unescaped(&mut self, start: usize, room: &mut Vec<u8>) -> Result<usize, JsonError> {
        let (mut filled, mut from) = (0, start);
        loop {
            let plain = &self.bytes[from..self.position];
            let end = filled + plain.len();
            if room.len() < end + SPARE {
                room.resize((2 * room.len()).max(end + SPARE), 0);
            }
            // Mostly it was copied already, and copying nothing is a call of a function.
            if !plain.is_empty() {
                room[filled..end].copy_from_slice(plain);
                filled = end;
            }
            match self.peek() {
                Some(b'"') => {
                    self.position += 1;
                    return Ok(filled);
                }
                Some(b'\\') => {
                    self.position += 1;
                    filled += self.escape(&mut room[filled..])?;
                }
                _ => return Err(self.error(Problem::ControlCharacter)),
            }
            // Where one escape is, the next is near: what is before it is copied while it is looked for.
            from = self.position;
            self.position = 'next: {
                for _ in 0..NEAR / 16 {
                    let chunk = self.bytes.get(from..).and_then(<[u8]>::first_chunk::<16>);
                    let place = room.get_mut(filled..).and_then(<[u8]>::first_chunk_mut::<16>);
                    let (Some(chunk), Some(place)) = (chunk, place) else { break };
                    *place = *chunk;
                    // The lower half of its bits are those of the first eight bytes.
                    let both = u128::from_le_bytes(*chunk);
                    let special = [both as u64, (both >> 64) as u64].map(special_in);
                    let special = u128::from(special[0]) | u128::from(special[1]) << 64;
                    let plain = (special.trailing_zeros() / 8) as usize;
                    filled += plain;
                    from += plain;
                    if special != 0 {
                        break 'next from;
                    }
                }
                plain_end(self.bytes, from)
            };
        }
    }

    /// What follows a backslash, written at the beginning of a room of at least four bytes; says how many of them it takes.
    #[inline]
    fn escape(&mut self, room: &mut [u8]) -> Result<usize, JsonError> {
        let byte = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => byte,
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => {
                self.position += 1;
                return Ok(text::encode(self.code_point()?, room));
            }
            _ => return Err(self.error(Problem::Escape)),
        };
        room[0] = byte;
        self.position += 1;
        Ok(1)
    }

    /// What follows `\u`; two escapes that form a surrogate pair are one code point.
    fn code_point(&mut self) -> Result<u32, JsonError> {
        let unit = self.four_digits()?;
        if (0xd800..0xdc00).contains(&unit) && self.bytes[self.position..].starts_with(b"\\u") {
            let before = self.position;
            self.position += 2;
            // A malformed second escape is an error all the same, where the loop meets it again.
            if let Ok(low @ 0xdc00..0xe000) = self.four_digits() {
                return Ok(0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00));
            }
            self.position = before;
        }
        Ok(unit)
    }

    fn four_digits(&mut self) -> Result<u32, JsonError> {
        let digits = self.bytes.get(self.position..self.position + 4).unwrap_or(&[]);
        let mut unit = 0;
        for digit in digits {
            let digit = char::from(*digit).to_digit(16).ok_or_else(|| self.error(Problem::Escape))?;
            unit = unit << 4 | digit;
        }
        if digits.is_empty() {
            return Err(JsonError { at: self.bytes.len(), problem: Problem::End });
        }
        self.position += 4;
        Ok(unit)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn number(&mut self) -> Result<Value<'a>, JsonError> {
        let start = self.position;
        let negative = self.peek() == Some(b'-');
        self.position += usize::from(negative);
        let first = self.position;
        let size = self.digits(0);
        let length = self.position - first;
        if length == 0 {
            return if negative && self.peek() == Some(b'I') {
                self.word("Infinity", Value::Float(f64::NEG_INFINITY))
            } else {
                Err(self.error(Problem::Number))
            };
        }
        if length > 1 && self.bytes[first] == b'0' {
            return Err(JsonError { at: first, problem: Problem::Number });
        }
        if matches!(self.peek(), Some(b'.' | b'e' | b'E')) {
            return self.float(start, first, size);
        }
        if length <= 18 {
            return Ok(Value::Int(if negative { -size } else { size }));
        }
        let ascii = |range: &'a [u8]| std::str::from_utf8(range).unwrap_or_default();
        Ok(match ascii(&self.bytes[start..self.position]).parse() {
            Ok(int) => Value::Int(int),
            Err(_) => {
                let magnitude = Magnitude::Decimal(&self.bytes[first..self.position]);
                Value::Big(self.bump.alloc(Big { negative, magnitude }))
            }
        })
    }

    /// Step over digits, which follow others; the number that all make is right where there are at most 18.
    #[inline]
    fn digits(&mut self, before: i64) -> i64 {
        let mut size = before;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            size = size.wrapping_mul(10).wrapping_add(i64::from(digit - b'0'));
            self.position += 1;
        }
        size
    }

    /// The rest of a number whose sign and whole part were read.
    #[inline]
    fn float(&mut self, start: usize, first: usize, whole: i64) -> Result<Value<'a>, JsonError> {
        let point = self.position;
        let mut size = whole;
        if self.peek() == Some(b'.') {
            self.position += 1;
            size = self.some_digits(whole)?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.position += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.position += 1;
            }
            self.some_digits(0)?;
        } else if self.position - first <= EXACT_DIGITS
            && let Some(power) = POWERS.get((self.position - point).wrapping_sub(1))
        {
            // Both are exact, so the quotient is rounded once, to the nearest (Clinger, 1990).
            let float = size as f64 / power;
            return Ok(Value::Float(if start < first { -float } else { float }));
        }
        // `str::parse` rounds to the nearest binary64 and overflows to infinity, as Python does.
        let text = std::str::from_utf8(&self.bytes[start..self.position]).unwrap_or_default();
        text.parse().map(Value::Float).map_err(|_| self.error(Problem::Number))
    }

    fn some_digits(&mut self, before: i64) -> Result<i64, JsonError> {
        let from = self.position;
        let size = self.digits(before);
        if self.position == from { Err(self.error(Problem::Number)) } else { Ok(size) }
    }
}

/// Integers of so many digits are exact as binary64, and so are these powers of ten.
const EXACT_DIGITS: usize = 15;
const POWERS: [f64; EXACT_DIGITS + 1] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// Where the run of plain characters ends: at a quote, a backslash, a control character, or the end of the text.
#[inline]
fn plain_end(bytes: &[u8], start: usize) -> usize {
    // Most strings are short; of a long one, the compiler makes vector instructions that skip 32 bytes at a time.
    if let Some(end) = short_end(bytes, start) {
        return end;
    }
    let mut position = start + SHORT;
    while let Some(chunk) = bytes.get(position..).and_then(<[u8]>::first_chunk::<32>) {
        let special = |byte: u8| u8::from(byte < 0x20) | u8::from(byte == b'"') | u8::from(byte == b'\\');
        if chunk.iter().fold(0, |any, &byte| any | special(byte)) != 0 {
            break;
        }
        position += 32;
    }
    loop {
        match word_end(bytes, position) {
            Some(end) => return end,
            None => position += 8,
        }
    }
}

const SHORT: usize = 24;

/// The same for so many bytes; None if all of them are plain.
#[inline]
fn short_end(bytes: &[u8], start: usize) -> Option<usize> {
    (start..start + SHORT).step_by(8).find_map(|position| word_end(bytes, position))
}

/// The same for the next eight bytes; None if all of them are plain.
#[inline]
fn word_end(bytes: &[u8], position: usize) -> Option<usize> {
    let rest = bytes.get(position..).unwrap_or(&[]);
    let Some(&chunk) = rest.first_chunk::<8>() else {
        let special = |&byte: &u8| byte < 0x20 || byte == b'"' || byte == b'\\';
        return Some(position + rest.iter().position(special).unwrap_or(rest.len()));
    };
    let special = special_in(u64::from_le_bytes(chunk));
    (special != 0).then(|| position + (special.trailing_zeros() / 8) as usize)
}

const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
pub(crate) const TOPS: u64 = u64::from_ne_bytes([0x80; 8]);

/// The top bit of each of eight bytes that is a quote, a backslash or a control character. A borrow may spoil the bits above
/// a right one, but the lowest is right.
#[inline]
pub(crate) fn special_in(word: u64) -> u64 {
    let control = word.wrapping_sub(ONES * 0x20) & !word & TOPS;
    control | bytes_in(word, b'"') | bytes_in(word, b'\\')
}

/// The same of each that is this byte.
#[inline]
pub(crate) fn bytes_in(word: u64, byte: u8) -> u64 {
    let rest = word ^ (ONES * u64::from(byte));
    rest.wrapping_sub(ONES) & !rest & TOPS
}

/// A bit for a key: the same keys have the same, and most others have another.
#[inline]
fn key_bit(key: Text<'_>) -> u64 {
    let Text::Utf8(bytes) = key else { return u64::MAX };
    let byte = |place: usize| bytes.get(place).copied().map_or(0, usize::from);
    let length = bytes.len();
    let mixed = byte(0) ^ byte(length / 2) << 1 ^ byte(length.wrapping_sub(1)) << 3 ^ length << 2;
    1 << (mixed & 63)
}

/// Of members with the same key, from `start` on, keep the last value (in the place of the first, as Python does).
#[cold]
pub(crate) fn keep_last(members: &mut Vec<Member<'_>>, start: usize) {
    let fresh = &members[start..];
    let repeated = if fresh.len() <= 16 {
        (1..fresh.len()).any(|index| fresh[..index].iter().any(|member| member.key == fresh[index].key))
    } else {
        let mut seen = HashSet::with_capacity(fresh.len());
        fresh.iter().any(|member| !seen.insert(member.key))
    };
    if repeated {
        let mut places: HashMap<Text<'_>, usize> = HashMap::new();
        let mut kept = start;
        for index in start..members.len() {
            let member = members[index];
            let place = *places.entry(member.key).or_insert(kept);
            members[place] = member;
            kept = kept.max(place + 1);
        }
        members.truncate(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{compare, value::MAX_DEPTH};

    fn same(a: &str, b: &str) -> bool {
        let bump = Bump::new();
        let [a, b] = [a, b].map(|text| parse(text.as_bytes(), MAX_DEPTH, &bump).unwrap());
        compare::equal(a, b)
    }

    fn problem(text: &[u8]) -> Problem {
        parse(text, MAX_DEPTH, &Bump::new()).unwrap_err().problem
    }

    #[test]
    fn equal_texts() {
        for (a, b) in [
            (r#"{"a": 1, "b": [true, null]}"#, r#" {"b":[true,null],"a":1.0} "#),
            (r#""\u00e9\n\/\ud83d\ude00""#, "\"é\\n/😀\""),
            (r#"{"a": 1, "b": 2, "a": 3}"#, r#"{"a": 3, "b": 2}"#),
            ("NaN", "NaN"),
            ("1e999", "Infinity"),
            ("-1e999", "-Infinity"),
            ("-0", "0.0"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            ("-9223372036854775808", "-9223372036854775808.0"),
            (r#""\ud800x""#, r#""\uD800x""#),
        ] {
            assert!(same(a, b), "{a} {b}");
        }
    }

    #[test]
    fn different_texts() {
        for (a, b) in [
            ("true", "1"),
            ("null", "0"),
            ("\"1\"", "1"),
            ("9007199254740993", "9007199254740992.0"),
            ("[1,2]", "[2,1]"),
            ("[1]", "[1,1]"),
            (r#"{"a":null}"#, "{}"),
            (r#""\ud800""#, r#""\udc00""#),
            ("1e30", "1000000000000000000000000000000"),
        ] {
            assert!(!same(a, b), "{a} {b}");
        }
    }

    #[test]
    fn malformed_texts() {
        for (text, expected) in [
            (&b""[..], Problem::End),
            (b"  ", Problem::End),
            (b"{", Problem::End),
            (b"[1,]", Problem::Value),
            (b"{\"a\":1,}", Problem::Key),
            (b"{\"a\" 1}", Problem::Colon),
            (b"[1 2]", Problem::ArrayComma),
            (b"{\"a\":1 \"b\":2}", Problem::ObjectComma),
            (b"{} {}", Problem::Trailing),
            (b"\"a\nb\"", Problem::ControlCharacter),
            (b"\"\\x\"", Problem::Escape),
            (b"\"\\u12g4\"", Problem::Escape),
            (b"\"\\u12", Problem::End),
            (b"\"\\ud800\\u12g4\"", Problem::Escape),
            (b"01", Problem::Number),
            (b"-", Problem::End),
            (b"-a", Problem::Number),
            (b"1.", Problem::End),
            (b"1.x", Problem::Number),
            (b"1e+", Problem::End),
            (b"tru", Problem::Value),
            (b"'a'", Problem::Value),
        ] {
            assert_eq!(problem(text), expected, "{}", String::from_utf8_lossy(text));
        }
        assert_eq!(check_utf8(b"\"\xff\""), Err(JsonError { at: 1, problem: Problem::Utf8 }));
    }

    #[test]
    fn nesting_has_a_limit() {
        let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(nested(MAX_DEPTH).as_bytes(), MAX_DEPTH, &Bump::new()).is_ok());
        assert_eq!(problem(nested(MAX_DEPTH + 1).as_bytes()), Problem::Depth);
        assert_eq!(problem("[".repeat(1_000_000).as_bytes()), Problem::Depth);
    }

    #[test]
    fn plain_runs_end_at_any_offset() {
        for special in [b'"', b'\\', 0, 0x1f, b'\n'] {
            for length in 0..40 {
                for before in [b'a', 0x7f, b'!', b'#', b' ', 0x80, 0xff, b'[', b']'] {
                    let mut bytes = vec![before; length];
                    bytes.push(special);
                    bytes.extend([b'"'; 3]);
                    assert_eq!(plain_end(&bytes, 0), length);
                    assert_eq!(plain_end(&bytes[..length], 0), length);
                }
            }
        }
    }

    #[test]
    fn many_duplicate_keys() {
        let text: Vec<String> = (0..100).map(|index| format!("\"k{}\": {index}", index % 30)).collect();
        let last: Vec<String> =
            (0..30).map(|key| format!("\"k{key}\": {}", if key < 10 { 90 + key } else { 60 + key })).collect();
        assert!(same(&format!("{{{}}}", text.join(",")), &format!("{{{}}}", last.join(","))));
    }

    /// Numbers that look random, the same each time.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, most: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % most
        }

        /// JSON text, mostly right, which says some things twice.
        fn json(&mut self, pieces: &mut Vec<String>, depth: usize) -> String {
            if !pieces.is_empty() && self.below(3) == 0 {
                let piece = self.below(pieces.len());
                return pieces[piece].clone();
            }
            let text = match self.below(if depth == 0 { 5 } else { 9 }) {
                0 => "12345678901234567890123".to_owned(),
                1 => format!("\"a long text, longer than what is looked up by {}\"", self.below(3)),
                2 => format!("\"one with an escape, \\u00e9\\n, and something behind it {}\"", self.below(3)),
                3 => ["null", "-0.5", "NaN", "\"\"", "[]", "{}", "tru", "\"\\x\""][self.below(8)].to_owned(),
                4 => self.below(1000).to_string(),
                5 | 6 => {
                    let items: Vec<String> = (0..self.below(5)).map(|_| self.json(pieces, depth - 1)).collect();
                    format!("[{}]", items.join([", ", ","][self.below(2)]))
                }
                _ => {
                    let mut member = || format!("\"{}\": {}", self.below(4), self.json(pieces, depth - 1));
                    let members: Vec<String> = (0..4).map(|_| member()).collect();
                    format!("{{{}}}", members.join(", "))
                }
            };
            pieces.push(text.clone());
            text
        }
    }

    #[test]
    fn what_was_seen_is_read_as_if_it_was_not() {
        let (mut numbers, mut found, mut failed) = (Numbers(7), 0, 0);
        for _ in 0..5000 {
            let mut pieces = Vec::new();
            let texts = [numbers.json(&mut pieces, 5), numbers.json(&mut pieces, 5)];
            let (room, values) = (1 + numbers.below(7), 1 + numbers.below(60));
            let bump = Bump::new();
            let seen = Seen::of(1 << 20, &bump).unwrap();
            for text in &texts {
                let read = |seen| {
                    let mut parser = Parser::new(text.as_bytes(), room, &bump, seen);
                    parser.values = values;
                    parser.whole()
                };
                let (again, anew) = (read(Some(seen)), read(None));
                failed += usize::from(anew.is_err());
                assert_eq!(format!("{again:?}"), format!("{anew:?}"), "{text} with room for {room}, {values}");
            }
            // Read a second time, all of it is found.
            if let Ok(Value::Object(first)) = parse_with(texts[0].as_bytes(), room, &bump, Some(seen)) {
                let Ok(Value::Object(second)) = parse_with(texts[0].as_bytes(), room, &bump, Some(seen)) else {
                    panic!()
                };
                found += usize::from(std::ptr::eq(first, second));
            }
        }
        assert!(found > 500 && failed > 500 && failed < 9500, "{found} {failed}");
    }

    #[test]
    fn short_decimals_are_read_as_long_ones_are() {
        let mut numbers = Numbers(3);
        for _ in 0..20_000 {
            let whole = numbers.below(usize::pow(10, numbers.0 as u32 % 9));
            let digits = 1 + numbers.below(9);
            let text =
                format!("{}{whole}.{:0digits$}", ["", "-"][whole % 2], numbers.below(usize::pow(10, digits as u32)));
            let bump = Bump::new();
            let Ok(Value::Float(float)) = parse(text.as_bytes(), 1, &bump) else { panic!("{text}") };
            assert_eq!(float.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
        }
    }
}
