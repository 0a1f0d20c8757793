//! A string as a sequence of code points, whatever its storage.
//!
//! JSON text is UTF-8. A Python `str` is an array of 1, 2 or 4 byte units, and is read where it lies: neither copied nor
//! encoded. Both may hold lone surrogates (JSON as `"\ud800"`), which Rust's `str` can't, hence the raw bytes.

use std::{
    borrow::Cow,
    hash::{Hash, Hasher},
};

use bumpalo::{Bump, collections::Vec as ArenaVec};

#[derive(Clone, Copy, Debug)]
pub enum Text<'a> {
    /// Generalised UTF-8: surrogates may appear, as three bytes each. ASCII is always stored so.
    Utf8(&'a [u8]),
    /// One code point a byte.
    Latin1(&'a [u8]),
    /// One code point a unit: surrogates here are lone ones.
    Ucs2(&'a [u16]),
    Ucs4(&'a [u32]),
}

impl<'a> Text<'a> {
    pub fn code_points(self) -> CodePoints<'a> {
        CodePoints { text: self, position: 0 }
    }

    pub fn is_empty(self) -> bool {
        self.units() == 0
    }

    /// Is this the given ASCII word?
    pub fn is(self, word: &str) -> bool {
        matches!(self, Text::Utf8(bytes) if bytes == word.as_bytes())
    }

    /// Is there nothing in it but white space?
    pub fn is_blank(self) -> bool {
        self.code_points().all(|point| char::from_u32(point).is_some_and(char::is_whitespace))
    }

    /// The same text in generalised UTF-8, which is a copy if it isn't stored so.
    pub fn utf8_in(self, bump: &'a Bump) -> &'a [u8] {
        if let Text::Utf8(bytes) = self {
            return bytes;
        }
        let mut bytes = ArenaVec::new_in(bump);
        self.write_utf8(|part| bytes.extend_from_slice(part));
        bytes.into_bump_slice()
    }

    /// The same in generalised UTF-8, which is a copy if it isn't stored so.
    pub fn utf8(self) -> Cow<'a, [u8]> {
        match self {
            Text::Utf8(bytes) => Cow::Borrowed(bytes),
            other => Cow::Owned(other.to_utf8()),
        }
    }

    /// Generalised UTF-8 of its own.
    pub fn to_utf8(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write_utf8(|part| bytes.extend_from_slice(part));
        bytes
    }

    /// Texts one after the other.
    pub fn joined(texts: &[Text<'_>], between: &str, bump: &'a Bump) -> Text<'a> {
        let mut bytes = ArenaVec::new_in(bump);
        for (index, text) in texts.iter().enumerate() {
            if index > 0 {
                bytes.extend_from_slice(between.as_bytes());
            }
            text.write_utf8(|part| bytes.extend_from_slice(part));
        }
        Text::Utf8(bytes.into_bump_slice())
    }

    fn write_utf8(self, mut write: impl FnMut(&[u8])) {
        if let Text::Utf8(bytes) = self {
            return write(bytes);
        }
        for point in self.code_points() {
            let mut buffer = [0; 4];
            let length = encode(point, &mut buffer);
            write(&buffer[..length]);
        }
    }

    /// A copy that borrows nothing from the source.
    pub fn copy_to(self, bump: &Bump) -> Text<'_> {
        match self {
            Text::Utf8(bytes) => Text::Utf8(bump.alloc_slice_copy(bytes)),
            Text::Latin1(bytes) => Text::Latin1(bump.alloc_slice_copy(bytes)),
            Text::Ucs2(units) => Text::Ucs2(bump.alloc_slice_copy(units)),
            Text::Ucs4(units) => Text::Ucs4(bump.alloc_slice_copy(units)),
        }
    }

    fn units(self) -> usize {
        match self {
            Text::Utf8(bytes) | Text::Latin1(bytes) => bytes.len(),
            Text::Ucs2(units) => units.len(),
            Text::Ucs4(units) => units.len(),
        }
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Text::Utf8(text.as_bytes())
    }
}

impl PartialEq for Text<'_> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        match (*self, *other) {
            (Text::Utf8(a), Text::Utf8(b)) | (Text::Latin1(a), Text::Latin1(b)) => a == b,
            (Text::Ucs2(a), Text::Ucs2(b)) => a == b,
            (Text::Ucs4(a), Text::Ucs4(b)) => a == b,
            (a, b) => a.code_points().eq(b.code_points()),
        }
    }
}

impl Eq for Text<'_> {}

impl Hash for Text<'_> {
    /// Equal texts hash alike, so every storage is hashed as its UTF-8.
    fn hash<H: Hasher>(&self, state: &mut H) {
        if let Text::Utf8(bytes) = self {
            state.write(bytes);
        } else {
            let mut buffer = [0; 256];
            let mut filled = 0;
            for point in self.code_points() {
                if filled + 4 > buffer.len() {
                    state.write(&buffer[..filled]);
                    filled = 0;
                }
                filled += encode(point, &mut buffer[filled..]);
            }
            state.write(&buffer[..filled]);
        }
        state.write_u8(0xff);
    }
}

/// Write a code point (a surrogate too) as UTF-8 and return how many bytes that took; `out` holds at least four.
pub(crate) fn encode(point: u32, out: &mut [u8]) -> usize {
    let tail = |shift: u32| 0x80 | (point >> shift & 0x3f) as u8;
    let (head, length) = match point {
        0..0x80 => (point as u8, 1),
        0x80..0x800 => (0xc0 | (point >> 6) as u8, 2),
        0x800..0x1_0000 => (0xe0 | (point >> 12) as u8, 3),
        _ => (0xf0 | (point >> 18) as u8, 4),
    };
    out[0] = head;
    for (index, byte) in out[1..length].iter_mut().enumerate() {
        *byte = tail(6 * (length - 2 - index) as u32);
    }
    length
}

pub struct CodePoints<'a> {
    text: Text<'a>,
    position: usize,
}

impl Iterator for CodePoints<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let position = self.position;
        self.position += 1;
        match self.text {
            Text::Latin1(bytes) => bytes.get(position).map(|&byte| u32::from(byte)),
            Text::Ucs2(units) => units.get(position).map(|&unit| u32::from(unit)),
            Text::Ucs4(units) => units.get(position).copied(),
            Text::Utf8(bytes) => {
                let head = u32::from(*bytes.get(position)?);
                let (length, bits) = match head {
                    0..0x80 => return Some(head),
                    0x80..0xe0 => (2, head & 0x1f),
                    0xe0..0xf0 => (3, head & 0x0f),
                    _ => (4, head & 0x07),
                };
                let tail = bytes.get(position + 1..position + length).unwrap_or(&[]);
                self.position = position + length;
                Some(tail.iter().fold(bits, |point, &byte| point << 6 | u32::from(byte & 0x3f)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::{BuildHasher, RandomState};

    #[test]
    fn storages_of_the_same_code_points_are_equal_and_hash_alike() {
        let wide: Vec<u32> = "aé“😀".chars().map(u32::from).collect();
        let bytes: Vec<u32> = "aé".chars().map(u32::from).collect();
        let narrow: Vec<u16> = vec![0x61, 0xd800, 0x201c];
        let hash = RandomState::new();
        for (a, b) in [
            (Text::from("aé“😀"), Text::Ucs4(&wide)),
            (Text::Latin1(b"a\xe9"), Text::Ucs4(&bytes)),
            (Text::Utf8(b"a\xed\xa0\x80\xe2\x80\x9c"), Text::Ucs2(&narrow)),
        ] {
            assert_eq!(a, b);
            assert_eq!(hash.hash_one(a), hash.hash_one(b));
        }
        assert_ne!(Text::from("e\u{301}"), Text::Latin1(b"\xe9"));
    }

    #[test]
    fn every_code_point_survives_encoding() {
        for point in (0..0x11_0000).step_by(61) {
            let mut buffer = [0; 4];
            let length = encode(point, &mut buffer);
            assert_eq!(Text::Utf8(&buffer[..length]).code_points().collect::<Vec<_>>(), [point]);
        }
    }

    #[test]
    fn malformed_bytes_do_not_panic() {
        for bytes in [&b"\xf0"[..], b"\xe2\x80", b"\x80\x80", b"\xff\xff\xff"] {
            assert!(Text::Utf8(bytes).code_points().count() > 0);
        }
    }
}
