//! Ids of traces and spans.

use bumpalo::Bump;

use crate::{
    number::{Big, Magnitude},
    text::Text,
    value::Value,
};

pub const TRACE_ID_BYTES: usize = 16;
pub const SPAN_ID_BYTES: usize = 8;

/// An id of so many bytes, in lower-case hex if it is one of OpenTelemetry's, whether it was written as hex, base64, a
/// number or bytes. One of somebody else's stays as it is. One that is empty, null or nothing but zeros is none.
pub fn id<'a>(value: Value<'a>, bytes: usize, bump: &'a Bump) -> Option<Text<'a>> {
    match value {
        Value::Text(text) => {
            let written = text.utf8_in(bump).trim_ascii();
            let digits = written.strip_prefix(b"0x").unwrap_or(written);
            if digits.len() == 2 * bytes && digits.iter().all(u8::is_ascii_hexdigit) {
                let lower = digits.to_ascii_lowercase();
                return Some(Text::Utf8(bump.alloc_slice_copy(&lower)))
                    .filter(|_| lower.iter().any(|&digit| digit != b'0'));
            }
            if let Some(decoded) = base64(written).filter(|decoded| decoded.len() == bytes) {
                return hex(&decoded, bump);
            }
            let is_none = written.is_empty()
                || written.eq_ignore_ascii_case(b"null")
                || digits.iter().all(|&digit| digit == b'0');
            Some(Text::Utf8(digits)).filter(|_| !is_none)
        }
        Value::Int(int) => of_number(u128::try_from(int).ok()?, bytes, bump),
        Value::Big(&Big { negative: false, magnitude }) => of_number(
            match magnitude {
                Magnitude::Decimal(digits) => std::str::from_utf8(digits).ok()?.parse().ok()?,
                Magnitude::Binary(bytes) => {
                    let mut number = [0; TRACE_ID_BYTES];
                    let significant = bytes.len() - bytes.iter().rev().take_while(|&&byte| byte == 0).count();
                    number.get_mut(..significant)?.copy_from_slice(bytes.get(..significant)?);
                    u128::from_le_bytes(number)
                }
            },
            bytes,
            bump,
        ),
        Value::Array(items) if items.len() == bytes => {
            let byte = |item: &Value<'_>| match item {
                Value::Int(byte) => u8::try_from(*byte).ok(),
                _ => None,
            };
            hex(&items.iter().map(byte).collect::<Option<Vec<u8>>>()?, bump)
        }
        _ => None,
    }
}

fn of_number(number: u128, bytes: usize, bump: &Bump) -> Option<Text<'_>> {
    let number = number.to_be_bytes();
    let (above, id) = number.split_at_checked(number.len().checked_sub(bytes)?)?;
    if above.iter().any(|&byte| byte != 0) { None } else { hex(id, bump) }
}

/// None if they are all zero, which stands for no id.
pub fn hex<'a>(bytes: &[u8], bump: &'a Bump) -> Option<Text<'a>> {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
    let text: String = bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect();
    bytes.iter().any(|&byte| byte != 0).then(|| Text::from(&*bump.alloc_str(&text)))
}

/// The bytes of base64 with padding, in either alphabet.
fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let data = text.strip_suffix(b"==").or_else(|| text.strip_suffix(b"=")).unwrap_or(text);
    if !text.len().is_multiple_of(4) || text.is_empty() {
        return None;
    }
    let mut bytes = Vec::new();
    let (mut bits, mut filled) = (0_u32, 0);
    for &letter in data {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        filled += 6;
        if filled >= 8 {
            filled -= 8;
            bytes.push((bits >> filled) as u8);
            bits &= (1 << filled) - 1;
        }
    }
    Some(bytes)
}

pub fn base64_of<'a>(bytes: &[u8], bump: &'a Bump) -> Text<'a> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |place: usize| u32::from(three.get(place).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place > three.len() { b'=' } else { letter });
        }
    }
    Text::Utf8(bump.alloc_slice_copy(&text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{call::Reader, show};

    fn read(text: &str, bytes: usize) -> String {
        let bump = Bump::new();
        let (value, _) = Reader::parse(text.as_bytes(), &bump).unwrap();
        id(value, bytes, &bump).map_or("-".to_owned(), show::plain)
    }

    #[test]
    fn one_id_however_it_is_written() {
        for text in [
            r#""5b8efff798038103d269b633813fc60c""#,
            r#""5B8EFFF798038103D269B633813FC60C""#,
            r#""0x5b8efff798038103d269b633813fc60c""#,
            r#""W47/95gDgQPSabYzgT/GDA==""#,
            r#""W47_95gDgQPSabYzgT_GDA==""#,
            "121702245401190319682828931810593850892",
            "[91, 142, 255, 247, 152, 3, 129, 3, 210, 105, 182, 51, 129, 63, 198, 12]",
        ] {
            assert_eq!(read(text, 16), "5b8efff798038103d269b633813fc60c", "{text}");
        }
        for text in [
            r#""0tVCcAQQdDk=""#,
            r#""0xD2D5427004107439""#,
            "15192121966876193849",
            "[210, 213, 66, 112, 4, 16, 116, 57]",
        ] {
            assert_eq!(read(text, 8), "d2d5427004107439", "{text}");
        }
        assert_eq!(read("255", 8), "00000000000000ff");
    }

    #[test]
    fn the_ids_of_others_stay_and_none_is_none() {
        for text in ["live-trace-1", "00000000000000FF", "tr-1234567890abcdef", "bm90IGFuIGlkIG9mIDE2IGJ5dGVz", "===="]
        {
            assert_eq!(read(&format!("{text:?}"), 16), text);
        }
        for text in [
            r#""""#,
            r#"" ""#,
            r#""null""#,
            r#""0000000000000000""#,
            r#""0x0""#,
            "null",
            "0",
            "-1",
            "{}",
            "[1, 2]",
            "1.5",
        ] {
            assert_eq!(read(text, 8), "-", "{text}");
        }
        assert_eq!(read(r#""AAAAAAAAAAA=""#, 8), "-");
        assert_eq!(read("18446744073709551616", 8), "-");
        assert_eq!(read(&"9".repeat(400), 16), "-");
    }
}
