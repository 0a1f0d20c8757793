//! Kinds of characters: digits of any script, white space, dashes, quotation marks.

/// The zeros of the decimal digits of Unicode, beyond ASCII; each is followed by its 1 to 9.
const ZEROS: [u32; 46] = [
    0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xDE6, 0xE50, 0xED0, 0xF20,
    0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50, 0x1BB0, 0x1C40, 0x1C50, 0xA620, 0xA8D0,
    0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10, 0x104A0, 0x11066, 0x110F0, 0x11136, 0x1D7CE, 0x1D7D8, 0x1D7E2,
    0x1D7EC, 0x1D7F6, 0x1E950,
];

/// The decimal digit that a character is, in whatever script.
#[inline]
pub fn digit(c: char) -> Option<u8> {
    if c.is_ascii() {
        return if c.is_ascii_digit() { Some(c as u8 - b'0') } else { None };
    }
    let point = u32::from(c);
    let block = ZEROS.partition_point(|&zero| zero <= point).checked_sub(1)?;
    let value = point - ZEROS.get(block)?;
    if value < 10 { Some(value as u8) } else { None }
}

/// Takes no room: joiners, marks of direction, soft hyphens.
pub fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// A mark that a word is the same word without: accents, and the vowel points of Hebrew and Arabic. The vowel signs of Indian scripts are none.
pub fn is_accent(c: char) -> bool {
    matches!(
        c,
        '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5c7}' | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{1ab0}'..='\u{1aff}'
            | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}'
    )
}

/// White space, or nothing visible.
#[inline]
pub fn is_blank(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_whitespace() || c == '\u{b}' } else { c.is_whitespace() || is_invisible(c) }
}

/// An emoji or a part of one, or what stands for a character that is lost. It says nothing that can be checked, and a sentence
/// begins behind it. Ticks and crosses mark items.
pub fn is_picture(c: char) -> bool {
    matches!(
        c,
        '\u{1f000}'..='\u{1faff}' | '\u{2600}'..='\u{27bf}' | '\u{fe0e}' | '\u{fe0f}' | '\u{20e3}' | '\u{fffd}'
    ) && !matches!(c, '✅' | '❌' | '✓' | '✔' | '✗' | '✘' | '\u{2776}'..='\u{2793}')
}

#[inline]
pub fn is_line_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

pub fn is_minus(c: char) -> bool {
    matches!(c, '-' | '\u{2212}' | '\u{2013}' | '\u{2012}' | '\u{fe63}' | '\u{ff0d}')
}

/// Joins words or the ends of a range.
pub fn is_dash(c: char) -> bool {
    matches!(c, '-' | '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}')
}

pub fn is_hyphen(c: char) -> bool {
    matches!(c, '-' | '\u{2010}' | '\u{2011}')
}

pub fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '\u{2019}' | '\u{2bc}' | '\u{ff07}')
}

/// Signs of their own rather than punctuation, beyond ASCII.
pub fn is_punctuation(c: char) -> bool {
    match c {
        '\u{2010}'..='\u{2031}' | '\u{2035}'..='\u{205e}' | '\u{3001}'..='\u{3011}' | '\u{3014}'..='\u{301f}' => true,
        '«' | '»' | '¿' | '¡' | '·' | '\u{60c}' | '\u{61b}' | '\u{61f}' | '\u{6d4}' | '\u{964}' => true,
        '\u{ff01}' | '\u{ff08}' | '\u{ff09}' | '\u{ff0c}' | '\u{ff0e}' | '\u{ff1a}' | '\u{ff1b}' | '\u{ff1f}' => true,
        _ => {
            c.is_ascii_punctuation()
                && !matches!(c, '$' | '+' | '<' | '=' | '>' | '^' | '`' | '|' | '~' | '%' | '#' | '*')
        }
    }
}

/// A vulgar fraction: its numerator and denominator.
pub fn vulgar_fraction(c: char) -> Option<(u8, u8)> {
    Some(match c {
        '¼' => (1, 4),
        '½' => (1, 2),
        '¾' => (3, 4),
        '⅐' => (1, 7),
        '⅑' => (1, 9),
        '⅒' => (1, 10),
        '⅓' => (1, 3),
        '⅔' => (2, 3),
        '⅕' => (1, 5),
        '⅖' => (2, 5),
        '⅗' => (3, 5),
        '⅘' => (4, 5),
        '⅙' => (1, 6),
        '⅚' => (5, 6),
        '⅛' => (1, 8),
        '⅜' => (3, 8),
        '⅝' => (5, 8),
        '⅞' => (7, 8),
        _ => return None,
    })
}

pub fn superscript(c: char) -> Option<u8> {
    Some(match c {
        '⁰' => 0,
        '¹' => 1,
        '²' => 2,
        '³' => 3,
        '⁴'..='⁹' => (u32::from(c) - 0x2070) as u8,
        _ => return None,
    })
}

/// Chinese, Japanese and Thai write no space behind a number.
pub fn is_script_without_spaces(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}')
}

/// The character at a place, and the one before it.
#[inline]
pub fn at(text: &str, place: usize) -> Option<char> {
    let byte = *text.as_bytes().get(place)?;
    if byte.is_ascii() { Some(char::from(byte)) } else { text.get(place..)?.chars().next() }
}

#[inline]
pub fn before(text: &str, place: usize) -> Option<char> {
    text.get(..place)?.chars().next_back()
}

/// Behind blanks that stay on the line, at most `most` of them.
pub fn skip_blanks(text: &str, mut place: usize, most: usize) -> usize {
    for _ in 0..most {
        match at(text, place) {
            Some(c) if is_blank(c) && !is_line_break(c) => place += c.len_utf8(),
            _ => break,
        }
    }
    place
}
