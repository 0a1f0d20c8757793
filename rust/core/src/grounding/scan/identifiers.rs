//! What is a name and no number, though it has digits: addresses, ids, phone numbers, versions.

use bumpalo::{Bump, collections::String as ArenaString};
use memchr::{memchr_iter, memmem};

use super::{
    TokenKind, What,
    characters::{at, before, digit, is_blank, is_dash, is_hyphen},
    lexicon::Role,
    symbols,
    tokens::Tokens,
};
use crate::grounding::units;

/// An address in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    pub start: usize,
    pub end: usize,
    pub is_email: bool,
}

/// E-mail addresses, and URLs with a scheme, in their order.
pub fn addresses(text: &str) -> Vec<Address> {
    let mut found = Vec::new();
    let mut behind = 0;
    for sign in memmem::find_iter(text.as_bytes(), b"://") {
        if sign >= behind
            && let Some(address) = url(text, sign, behind)
        {
            behind = address.end;
            found.push(address);
        }
    }
    let urls = found.len();
    behind = 0;
    let mut next_url = 0;
    for sign in memchr_iter(b'@', text.as_bytes()) {
        while found.get(next_url).is_some_and(|url| next_url < urls && url.end <= sign) {
            behind = behind.max(found.get(next_url).map_or(0, |url| url.end));
            next_url += 1;
        }
        let in_url = found.get(next_url).is_some_and(|url| next_url < urls && url.start <= sign);
        if !in_url
            && sign >= behind
            && let Some(address) = email(text, sign, behind)
        {
            behind = address.end;
            found.push(address);
        }
    }
    found.sort_by_key(|address| address.start);
    found
}

/// Longer schemes, local parts and domains there are none.
const LONGEST_SCHEME: usize = 12;
const LONGEST_LOCAL_PART: usize = 64;
const LONGEST_DOMAIN: usize = 253;

fn url(text: &str, sign: usize, from: usize) -> Option<Address> {
    let bytes = text.as_bytes();
    let head = bytes.get(from..sign)?;
    let scheme = head.iter().rev().take(LONGEST_SCHEME + 1).take_while(|byte| byte.is_ascii_alphabetic()).count();
    if !(2..=LONGEST_SCHEME).contains(&scheme) {
        return None;
    }
    let end = end_of_url(text, sign + 3);
    if end <= sign + 3 { None } else { Some(Address { start: sign - scheme, end, is_email: false }) }
}

/// Where a URL ends that goes on at a place: at a blank, a quotation mark, a closing bracket that it does not open; not with punctuation.
fn end_of_url(text: &str, start: usize) -> usize {
    let mut end = start;
    let mut round = 0i32;
    let mut square = 0i32;
    while let Some(c) = at(text, end) {
        match c {
            '(' => round += 1,
            '[' => square += 1,
            ')' if round == 0 => break,
            ']' if square == 0 => break,
            ')' => round -= 1,
            ']' => square -= 1,
            '<' | '>' | '"' | '`' | '|' | '\\' | '^' | '{' | '}' | '“' | '”' | '‘' | '’' | '«' | '»' => break,
            '、' | '。' | '，' | '）' => break,
            _ if is_blank(c) => break,
            _ => {}
        }
        end += c.len_utf8();
    }
    while end > start
        && let Some(c) = before(text, end)
        && matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | '\'' | '*' | '_' | '~' | '…')
    {
        end -= c.len_utf8();
    }
    end
}

fn email(text: &str, sign: usize, from: usize) -> Option<Address> {
    let bytes = text.as_bytes();
    let head = bytes.get(from..sign)?;
    let is_local = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'%' | b'+' | b'-');
    let mut start = sign - head.iter().rev().take(LONGEST_LOCAL_PART).take_while(|byte| is_local(byte)).count();
    while start < sign && !bytes.get(start)?.is_ascii_alphanumeric() {
        start += 1;
    }
    let end = end_of_domain(text, sign + 1)?;
    if start == sign { None } else { Some(Address { start, end, is_email: true }) }
}

/// Labels with points between, the last of letters: where they end.
fn end_of_domain(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes().get(start..)?;
    let length = bytes
        .iter()
        .take(LONGEST_DOMAIN)
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'))
        .count();
    let domain = text.get(start..start + length)?.trim_end_matches(['.', '-']);
    let (head, last) = domain.rsplit_once('.')?;
    let labels = !head.is_empty() && head.split('.').all(|label| !label.is_empty() && !label.starts_with('-'));
    let top = last.len() >= 2 && last.bytes().all(|byte| byte.is_ascii_alphabetic());
    if labels && top { Some(start + domain.len()) } else { None }
}

/// The ends of names of hosts that are written without a scheme.
const TOP_LEVEL: [&str; 25] = [
    "com", "org", "net", "io", "dev", "gov", "edu", "co", "ai", "app", "info", "biz", "eu", "uk", "de", "fr", "nl",
    "ch", "ca", "au", "jp", "cn", "br", "tv", "xyz",
];

/// "example.com/path", "www.example.com" at the beginning of a word: where it ends.
pub fn bare_url(text: &str, start: usize) -> Option<usize> {
    let host = end_of_domain(text, start)?;
    let name = text.get(start..host)?;
    let (head, last) = name.rsplit_once('.')?;
    let www = name.len() > 4 && name.as_bytes().get(..4).is_some_and(|head| head.eq_ignore_ascii_case(b"www."));
    // "e.g", "it.is" are no hosts.
    let is_host = TOP_LEVEL.contains(&last) && head.len() > 1 && !head.bytes().any(|byte| byte.is_ascii_uppercase());
    if !www && !is_host {
        return None;
    }
    Some(if matches!(at(text, host), Some('/' | ':' | '?' | '#')) { end_of_url(text, host) } else { host })
}

/// A URL as it is compared: without scheme, `www.` and slashes at the end, the host in lower case.
pub fn plain_url<'a>(url: &'a str, bump: &'a Bump) -> &'a str {
    let url = url.split_once("://").map_or(url, |(_, rest)| rest).trim_end_matches('/');
    let url = match url.get(..4) {
        Some(head) if head.eq_ignore_ascii_case("www.") => url.get(4..).unwrap_or(url),
        _ => url,
    };
    let host = url.find(['/', '?', '#']).unwrap_or(url.len());
    let (host, path) = url.split_at_checked(host).unwrap_or((url, ""));
    if !host.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return url;
    }
    let mut plain = ArenaString::with_capacity_in(url.len(), bump);
    plain.push_str(host);
    plain.make_ascii_lowercase();
    plain.push_str(path);
    plain.into_bump_str()
}

pub fn lower_case<'a>(written: &'a str, bump: &'a Bump) -> &'a str {
    if !written.bytes().any(|byte| byte.is_ascii_uppercase() || !byte.is_ascii()) {
        return written;
    }
    let mut lower = ArenaString::with_capacity_in(written.len(), bump);
    lower.extend(written.chars().flat_map(char::to_lowercase));
    lower.into_bump_str()
}

/// An id as it is compared: lower case, no spaces, dashes and brackets of phone numbers, ASCII digits.
pub fn plain_id<'a>(written: &'a str, bump: &'a Bump) -> &'a str {
    if written.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase()) {
        return written;
    }
    let mut plain = ArenaString::with_capacity_in(written.len(), bump);
    for c in written.chars().filter(|&c| !is_blank(c) && !is_dash(c) && !matches!(c, '(' | ')' | '#' | '*' | '•')) {
        match digit(c) {
            Some(value) => plain.push(char::from(b'0' + value)),
            None => plain.extend(c.to_lowercase()),
        }
    }
    plain.into_bump_str()
}

/// "+1 (555) 123-4567", "(555) 123-4567", "555-123-4567", "555.123.4567", "555-1234": where it ends.
pub fn phone(text: &str, start: usize) -> Option<usize> {
    let plus = at(text, start) == Some('+');
    let bracket = at(text, start) == Some('(');
    let mut place = start + usize::from(plus);
    let mut groups = [0u8; 8];
    let mut group = 0;
    let mut end = place;
    let mut digits = 0;
    let mut separators = 0;
    // No phone number is longer than 15 digits and what parts them.
    for _ in 0..30 {
        let Some(c) = at(text, place) else { break };
        if c.is_ascii_digit() {
            *groups.get_mut(group)? += 1;
            digits += 1;
            end = place + 1;
        } else {
            let next = at(text, place + c.len_utf8());
            let parts = match c {
                ' ' | '\u{a0}' => next.is_some_and(|next| next.is_ascii_digit() || next == '('),
                '-' | '.' | '\u{2011}' => next.is_some_and(|next| next.is_ascii_digit()),
                '(' => {
                    next.is_some_and(|next| next.is_ascii_digit()) && groups.get(group) == Some(&0) || place == start
                }
                ')' => next.is_some_and(|next| next.is_ascii_digit() || matches!(next, ' ' | '-' | '.')),
                _ => false,
            };
            if !parts {
                break;
            }
            if groups.get(group).is_some_and(|&size| size > 0) {
                group += 1;
                separators += 1;
            }
        }
        place += c.len_utf8();
    }
    if at(text, end).is_some_and(|c| c.is_alphanumeric()) || groups.iter().take(group + 1).any(|&size| size > 12) {
        return None;
    }
    let written = text.get(start..end)?;
    let dashed = written.bytes().filter(|&byte| byte == b'-').count() + written.matches('\u{2011}').count();
    let dotted = written.bytes().filter(|&byte| byte == b'.').count();
    let fits = match groups {
        // North American numbers, with or without the country's.
        [3, 3, 4, 0, ..] | [1, 3, 3, 4, 0, ..] => bracket || plus || dashed >= 2 || dotted >= 2,
        [3, 4, 0, ..] => dashed == 1,
        _ => plus && (8..=15).contains(&digits) && (separators > 0 || digits >= 10),
    };
    if fits { Some(end) } else { None }
}

/// "10.0.0.1", "2.3.1", "1.2.3-rc1": three groups of digits or more with points between; where it ends.
pub fn dotted(text: &str, start: usize) -> Option<usize> {
    let mut place = start;
    let mut groups = 0;
    let mut threes = true;
    loop {
        let first = place;
        while at(text, place).is_some_and(|c| c.is_ascii_digit()) {
            place += 1;
        }
        if place == first {
            return None;
        }
        groups += 1;
        threes &= groups == 1 && place - first <= 3 || place - first == 3;
        if at(text, place) == Some('.') && at(text, place + 1).is_some_and(|c| c.is_ascii_digit()) {
            place += 1;
        } else {
            break;
        }
    }
    // "1.234.567" is a number; "192.168.100.200" is not, by its first group.
    let address =
        groups == 4 && text.get(start..place)?.split('.').all(|part| part.parse::<u8>().is_ok() && part.len() <= 3);
    if groups < 3 || threes && !address {
        return None;
    }
    let suffix = text
        .get(place..)
        .unwrap_or("")
        .bytes()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+'))
        .count();
    let suffix = text.get(place..place + suffix).unwrap_or("").trim_end_matches(['-', '+']).len();
    Some(place + suffix)
}

/// Groups of four with a space between, as cards ("4111 1111 1111 1111") and accounts ("DE89 3704 0044 0532 0130 00") have: where they end.
pub fn grouped(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let group = |from: usize| {
        let size = bytes
            .get(from..)?
            .iter()
            .take(5)
            .take_while(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
            .count();
        if (1..=4).contains(&size) { Some(size) } else { None }
    };
    let head = bytes.get(start..start + 4)?;
    let account = head
        .iter()
        .enumerate()
        .all(|(place, byte)| if place < 2 { byte.is_ascii_uppercase() } else { byte.is_ascii_digit() });
    let card = head.iter().all(u8::is_ascii_digit);
    if !account && !card {
        return None;
    }
    let mut end = start + 4;
    let mut groups = 1;
    // An account has at most 34 characters.
    while groups < 9 && bytes.get(end) == Some(&b' ') {
        let Some(size) = group(end + 1) else { break };
        let next = bytes.get(end + 1..end + 1 + size)?;
        if card && (size < 4 || !next.iter().all(u8::is_ascii_digit)) || !next.iter().any(u8::is_ascii_digit) && account
        {
            break;
        }
        end += 1 + size;
        groups += 1;
        if size < 4 {
            break;
        }
    }
    let fits = if card { groups == 4 } else { groups >= 4 };
    if fits && !at(text, end).is_some_and(char::is_alphanumeric) { Some(end) } else { None }
}

/// Digits in groups with hyphens between that are no range: "978-3-16-148410-0", "123-45-6789"; where they end.
pub fn hyphenated_digits(text: &str, start: usize) -> Option<usize> {
    let mut place = start;
    let mut sizes = [0usize; 3];
    let mut groups = 0;
    let mut total = 0;
    loop {
        let first = place;
        while at(text, place).is_some_and(|c| c.is_ascii_digit()) {
            place += 1;
        }
        if place == first {
            return None;
        }
        if let Some(size) = sizes.get_mut(groups) {
            *size = place - first;
        }
        groups += 1;
        total += place - first;
        match at(text, place) {
            Some(c) if is_hyphen(c) && at(text, place + c.len_utf8()).is_some_and(|c| c.is_ascii_digit()) => {
                place += c.len_utf8()
            }
            Some(c) if c.is_alphanumeric() => return None,
            _ => break,
        }
    }
    if groups >= 3 && (total >= 9 || sizes == [3, 2, 4]) || groups > 3 && total >= 7 { Some(place) } else { None }
}

/// A run of letters, digits, hyphens and underscores.
struct Piece<'t> {
    written: &'t str,
    end: usize,
}

/// Longer than any id that a person would read; the run is one thing all the same.
fn piece(text: &str, start: usize) -> Piece<'_> {
    let mut end = start;
    while let Some(c) = at(text, end) {
        let next = at(text, end + c.len_utf8());
        let inner = c == '_' || is_hyphen(c);
        if !(c.is_alphanumeric() && !matches!(c, '½' | '¼' | '¾' | '²' | '³' | '¹')
            || inner && next.is_some_and(char::is_alphanumeric))
        {
            break;
        }
        end += c.len_utf8();
    }
    Piece { written: text.get(start..end).unwrap_or(""), end }
}

/// Does a number with a unit, a scale or an ending of an ordinal stand here, as in "10km", "5k", "3rd", "2pm", "90s"?
fn is_quantity(part: &str) -> bool {
    let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ',')).len();
    let Some((number, letters)) = part.split_at_checked(digits) else { return false };
    if number.is_empty() || letters.is_empty() {
        return false;
    }
    if by(letters) {
        return true;
    }
    let lower = letters.to_ascii_lowercase();
    matches!(lower.as_str(), "st" | "nd" | "rd" | "th" | "am" | "pm" | "s" | "x" | "h" | "pct")
        || super::lexicon::scale_suffix(letters).is_some()
        || units::unit_in_text(letters).is_some()
        || symbols::currency_sign(letters).is_some()
        || is_exponent(letters)
        || lower.split_once('h').is_some_and(|(hour, minute)| {
            hour.is_empty() && minute.len() == 2 && minute.bytes().all(|byte| byte.is_ascii_digit())
        })
}

/// "x16" of "4x16"
fn by(letters: &str) -> bool {
    letters
        .strip_prefix(['x', 'X'])
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_exponent(letters: &str) -> bool {
    letters
        .strip_prefix(['e', 'E'])
        .is_some_and(|rest| !rest.is_empty() && rest.len() <= 3 && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// An id of letters and digits that begins at a token, with hyphens and all: where it ends. To be asked only where a run of letters, digits
/// and hyphens begins, so that each run is looked at once.
pub fn code(tokens: &Tokens<'_>, index: usize) -> Option<usize> {
    let text = tokens.text;
    let start = tokens.start(index);
    let Piece { written, end } = piece(text, start);
    let has_digit = written.bytes().any(|byte| byte.is_ascii_digit());
    let has_letter = written.chars().any(char::is_alphabetic);
    if !has_digit || !has_letter {
        return None;
    }
    if is_uuid(written) {
        return Some(end);
    }
    let is_letters = |part: &str| part.chars().all(char::is_alphabetic);
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let is_word =
        |part: &str| is_letters(part) && part.chars().count() > 3 && part.chars().skip(1).all(char::is_lowercase);
    let parts = || written.split(|c| c == '_' || is_hyphen(c));
    let digits = written.bytes().filter(u8::is_ascii_digit).count();
    let mixed = parts().any(|part| !is_letters(part) && !is_digits(part) && !is_quantity(part));
    let snake = written.contains('_');
    let count = parts().count();
    if count == 1 {
        // "K9", "HAT139" are ids; "10km" and "3D" are for those who read numbers.
        return if mixed && tokens.kind(index) == Some(TokenKind::Word) { Some(version(text, end)) } else { None };
    }
    if mixed {
        let words = parts().any(is_word);
        return if !words || snake || digits > 2 { Some(version(text, end)) } else { None };
    }
    if parts().any(is_quantity) {
        // "5-10km", and "A-10km" too.
        return None;
    }
    let first = parts().next().unwrap_or("");
    let letters = parts().filter(|part| is_letters(part));
    if is_digits(first) {
        // "10-day" and "12-inch" count; "10-K" and "737-MAX" are names.
        let capitals =
            letters.clone().all(|part| part.chars().all(char::is_uppercase) && units::unit_in_text(part).is_none());
        return if snake || capitals { Some(end) } else { None };
    }
    if snake {
        return Some(end);
    }
    let word = super::lexicon::look_up(&first.to_lowercase());
    // "A-99812" is no "a" of something.
    let initial = first.len() == 1 && first.chars().all(char::is_uppercase);
    let counts = !initial
        && word.is_any(&[
            Role::NumberPrefix,
            Role::About,
            Role::Over,
            Role::Under,
            Role::Cardinal,
            Role::Month,
            Role::WeakMonth,
            Role::Label,
        ])
        || count == 2 && symbols::is_glued_code(first);
    // "and-5": words of grammar make no names.
    let grammar = word.is_any(&[Role::Coordination, Role::AfterImperative, Role::Auxiliary])
        && first.chars().any(char::is_lowercase);
    if counts || grammar { None } else { Some(end) }
}

/// "2.3.1" behind "v": the digits with points that go on an id.
fn version(text: &str, mut end: usize) -> usize {
    while at(text, end) == Some('.') && at(text, end + 1).is_some_and(|c| c.is_ascii_digit()) {
        end += 1;
        while at(text, end).is_some_and(|c| c.is_ascii_alphanumeric()) {
            end += 1;
        }
    }
    end
}

fn is_uuid(written: &str) -> bool {
    written.len() == 36
        && written.bytes().enumerate().all(|(place, byte)| {
            if matches!(place, 8 | 13 | 18 | 23) { byte == b'-' } else { byte.is_ascii_hexdigit() }
        })
}

/// "****4743", "•••• 4743", "xxxx-xxxx-4743": digits behind a mask; where the digits begin and end.
pub fn masked(text: &str, start: usize) -> Option<(usize, usize)> {
    let mask = at(text, start).filter(|&c| matches!(c, '*' | '•' | '●' | 'x' | 'X' | '·'))?;
    let mut place = start;
    let mut masks = 0;
    // Four groups of four, with something between.
    for _ in 0..24 {
        match at(text, place)? {
            c if c == mask => masks += 1,
            ' ' | '-' if masks > 3 => {}
            _ => break,
        }
        place += at(text, place)?.len_utf8();
    }
    let first = place;
    while at(text, place).is_some_and(|c| c.is_ascii_digit()) {
        place += 1;
    }
    // "**12**" is bold, "** 2026-03-09" a date behind something bold.
    let goes_on = at(text, place).is_some_and(|c| c.is_alphanumeric() || c == mask)
        || matches!(at(text, place), Some('-' | '.' | ',' | '/' | ':'))
            && at(text, place + 1).and_then(digit).is_some();
    let fits = masks >= 3 && (2..=6).contains(&(place - first)) && !goes_on;
    if fits { Some((first, place)) } else { None }
}

/// Letters that go on a number without being a unit: "3D", "5G", "14C", "550e84": where the run ends.
pub fn run_on(text: &str, start: usize, place: usize) -> Option<usize> {
    if !at(text, place)?.is_alphanumeric() {
        return None;
    }
    let Piece { written, end } = piece(text, start);
    // Hyphens go on where the run itself has letters and digits throughout; else only the first part is meant.
    let parts = written.split(is_hyphen).all(|part| part.bytes().any(|byte| byte.is_ascii_digit()));
    if parts && end > place {
        return Some(end);
    }
    let mut end = place;
    while let Some(c) = at(text, end).filter(|c| c.is_alphanumeric()) {
        end += c.len_utf8();
    }
    Some(end)
}

pub fn id<'a>(written: &'a str, bump: &'a Bump) -> What<'a> {
    What::Id(plain_id(written, bump))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        addresses(text).iter().filter_map(|address| text.get(address.start..address.end)).collect()
    }

    #[test]
    fn addresses_end_where_the_sentence_goes_on() {
        for (text, expected) in [
            ("See https://example.com/a?b=1&c=2.", &["https://example.com/a?b=1&c=2"][..]),
            ("(see http://example.com/x_(y))", &["http://example.com/x_(y)"]),
            ("[docs](https://example.com/docs), and", &["https://example.com/docs"]),
            ("<https://example.com>", &["https://example.com"]),
            ("Write to dana.b+x@mail.example.co.uk.", &["dana.b+x@mail.example.co.uk"]),
            ("https://u@example.com/ a@b.io", &["https://u@example.com/", "a@b.io"]),
            ("a@b and @handle and x@y.", &[]),
            ("://", &[]),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
        assert_eq!(bare_url("example.com/a.", 0), Some(13));
        assert_eq!(bare_url("www.example.museum", 0), Some(18));
        assert_eq!(bare_url("e.g. this", 0), None);
        let bump = Bump::new();
        assert_eq!(plain_url("HTTPS://www.Example.com/A/", &bump), "example.com/A");
    }

    #[test]
    fn phone_numbers() {
        for text in [
            "+1 (555) 123-4567",
            "(555) 123-4567",
            "555-123-4567",
            "555.123.4567",
            "1-800-555-0199",
            "+44 20 7946 0958",
            "+493012345678",
            "555-0199",
        ] {
            assert_eq!(phone(text, 0), Some(text.len()), "{text}");
        }
        for text in ["+5", "(45)", "3-5", "113-107", "555 123", "+12,345,678", "1234567890", "(2024)"] {
            assert_eq!(phone(text, 0), None, "{text}");
        }
    }

    #[test]
    fn versions_and_addresses_of_machines() {
        for (text, end) in [
            ("10.0.0.1", Some(8)),
            ("2.3.1,", Some(5)),
            ("1.2.3-rc1", Some(9)),
            ("192.168.100.200", Some(15)),
            ("1.234.567", None),
            ("3.11", None),
        ] {
            assert_eq!(dotted(text, 0), end, "{text}");
        }
        assert_eq!(hyphenated_digits("978-3-16-148410-0", 0), Some(17));
        assert_eq!(hyphenated_digits("123-45-6789", 0), Some(11));
        assert_eq!(hyphenated_digits("10-5-3", 0), None);
    }

    #[test]
    fn masks() {
        assert_eq!(masked("****4743", 0), Some((4, 8)));
        assert_eq!(masked("xxxx-xxxx-xxxx-4743", 0), Some((15, 19)));
        assert_eq!(masked("**** **** **** 4743", 0), Some((15, 19)));
        for text in ["**4743**", "** 2024-05-14", "** 12", "xx12"] {
            assert_eq!(masked(text, 0), None, "{text}");
        }
        assert_eq!(masked("x 4", 0), None);
        assert_eq!(masked("* 45 apples", 0), None);
    }
}
