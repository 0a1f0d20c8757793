//! Numbers in digits and in words, and all that they can be read as.

use rust_decimal::Decimal;

use super::{
    Reading,
    characters::{at, before, digit, is_apostrophe, skip_blanks, superscript, vulgar_fraction},
    lexicon::{self, Role},
    tokens::Tokens,
};

/// More digits than a decimal has.
const MOST_DIGITS: u32 = 28;

/// A number in digits, without sign, unit or scale.
#[derive(Clone, Copy, Debug)]
pub struct Numeral {
    pub end: usize,
    pub readings: Readings,
    /// Digits before the decimal sign.
    pub whole_digits: u32,
    /// Nothing but digits.
    pub plain: bool,
    /// It begins with a zero and goes on with a digit: "007".
    pub padded: bool,
}

/// At most two.
#[derive(Clone, Copy, Debug)]
pub struct Readings {
    pub first: Reading,
    pub second: Option<Reading>,
}

impl Readings {
    pub fn one(value: Decimal, step: Decimal) -> Self {
        Readings { first: Reading { value, step }, second: None }
    }

    pub fn map(self, change: impl Fn(Decimal) -> Option<Decimal>) -> Option<Self> {
        let reading = |old: Reading| Some(Reading { value: change(old.value)?, step: change(old.step)? });
        Some(Readings { first: reading(self.first)?, second: self.second.and_then(reading) })
    }

    pub fn negative(self) -> Self {
        let negative = |old: Reading| Reading { value: -old.value, step: old.step };
        Readings { first: negative(self.first), second: self.second.map(negative) }
    }

    pub fn times_power(self, power: u32) -> Option<Self> {
        let factor = power_of_ten(power)?;
        self.map(|value| value.checked_mul(factor))
    }
}

pub fn power_of_ten(power: u32) -> Option<Decimal> {
    if power > 27 {
        return None;
    }
    Some(Decimal::from_i128_with_scale(10i128.pow(power), 0))
}

/// A run of digits.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    end: usize,
    digits: u32,
    value: u128,
}

fn group(text: &str, start: usize) -> Option<Group> {
    let mut group = Group { end: start, ..Group::default() };
    while let Some((c, value)) = at(text, group.end).and_then(|c| Some((c, digit(c)?))) {
        group.end += c.len_utf8();
        group.digits += 1;
        // Beyond the digits of a decimal the value is of no use, and is not looked at.
        group.value = group.value.saturating_mul(10).saturating_add(u128::from(value));
    }
    if group.digits > 0 { Some(group) } else { None }
}

/// What may stand between the groups of digits of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Separator {
    Point,
    Comma,
    Apostrophe,
    Space,
    Underscore,
    /// The Arabic decimal sign, which is never anything else, and the Arabic sign of thousands.
    ArabicPoint,
    ArabicComma,
}

fn separator(c: char) -> Option<Separator> {
    Some(match c {
        '.' | '·' => Separator::Point,
        ',' => Separator::Comma,
        '_' => Separator::Underscore,
        '\u{66b}' => Separator::ArabicPoint,
        '\u{66c}' | '\u{60c}' => Separator::ArabicComma,
        ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}' | '\u{2007}' | '\u{2008}' => Separator::Space,
        _ if is_apostrophe(c) => Separator::Apostrophe,
        _ => return None,
    })
}

/// Where the digits of a number end that begins at `start` (maybe with its decimal point), not looking beyond a space.
pub fn end_of_digits(text: &str, start: usize) -> usize {
    numeral_with(text, start, false)
        .map_or_else(|| group(text, start).map_or(start + 1, |group| group.end), |numeral| numeral.end)
}

/// The number in digits that begins at a place.
pub fn numeral(text: &str, start: usize) -> Option<Numeral> {
    numeral_with(text, start, true)
}

/// Few numbers have more groups than a decimal has room for.
const MOST_GROUPS: usize = 10;

fn numeral_with(text: &str, start: usize, spaces: bool) -> Option<Numeral> {
    if at(text, start) == Some('.') {
        let group = group(text, start + 1)?;
        return Some(Numeral {
            end: group.end,
            readings: Readings::one(decimal(group.value, group.digits, group.digits)?, step(group.digits)?),
            whole_digits: 0,
            plain: false,
            padded: false,
        });
    }
    let first = group(text, start)?;
    if let Some(simple) = simple(text, start, first) {
        return Some(simple);
    }
    // In "5,10,15" the 10 has no decimals.
    let listed = before(text, start) == Some(',') && start > 1 && before(text, start - 1).and_then(digit).is_some();
    let mut groups = [(Separator::Space, first); MOST_GROUPS];
    let mut count = 1;
    let mut last = first;
    while let Some(c) = at(text, last.end)
        && let Some(between) = separator(c)
        && let Some(next) = group(text, last.end + c.len_utf8())
    {
        if listed && between == Separator::Comma {
            break;
        }
        if between == Separator::Space {
            // A space is part of a number only between groups of three, and never where two numbers stand in a row.
            if !spaces
                || next.digits != 3
                || last.digits > 3
                || count > 1 && last.digits != 3
                || first_is_zero(text, start)
            {
                break;
            }
            if count > 1 && groups.get(count - 1).is_some_and(|&(other, _)| other != Separator::Space) {
                break;
            }
        }
        let Some(slot) = groups.get_mut(count) else { break };
        *slot = (between, next);
        count += 1;
        last = next;
    }
    let groups = groups.get(..count)?;
    // A run of groups with spaces that goes on with digits which do not fit was no number ("555 123 4567").
    let spaced = groups.iter().skip(1).filter(|(between, _)| *between == Separator::Space).count();
    if spaced > 0 {
        let behind = skip_blanks(text, last.end, 1);
        if behind > last.end && at(text, behind).and_then(digit).is_some() {
            return whole_number(text, start, first);
        }
        // "100 200" are rather two numbers, "100 000" and "100 200,50" one.
        let row = at(text, first.end) == Some(' ') && first.digits == 3 && last.value != 0;
        if row && groups.last().is_some_and(|&(sign, _)| sign == Separator::Space) {
            return whole_number(text, start, first);
        }
    }
    // "5,10,15" is a list, and "2.3.1" a version.
    let same = groups.get(1).is_some_and(|&(sign, _)| groups.iter().skip(1).all(|&(other, _)| other == sign));
    if groups.len() > 2 && same {
        return read(text, start, groups).or_else(|| whole_number(text, start, first));
    }
    // The longest beginning that is a number.
    (1..=groups.len()).rev().find_map(|length| read(text, start, groups.get(..length)?))
}

/// "12", "12.5", as most numbers are written: nothing in them can be read in another way.
fn simple(text: &str, start: usize, first: Group) -> Option<Numeral> {
    let bytes = text.as_bytes();
    // Behind the last digit: the end, or a sign that is no part of a number.
    let ends = |place: usize| match bytes.get(place) {
        None => true,
        Some(b'.' | b',' | b'_' | b'\'' | b' ') => {
            bytes.get(place + 1).is_none_or(|byte| byte.is_ascii() && !byte.is_ascii_digit())
        }
        Some(byte) => byte.is_ascii(),
    };
    if ends(first.end) {
        return whole_number(text, start, first);
    }
    if bytes.get(first.end) != Some(&b'.') {
        return None;
    }
    let second = group(text, first.end + 1)?;
    let digits = first.digits + second.digits;
    if second.digits == 3 || digits > 18 || !ends(second.end) {
        return None;
    }
    let value = first.value.checked_mul(10u128.checked_pow(second.digits)?)?.checked_add(second.value)?;
    Some(Numeral {
        end: second.end,
        readings: Readings::one(decimal(value, digits, second.digits)?, step(second.digits)?),
        whole_digits: first.digits,
        plain: false,
        padded: first.digits > 1 && first_is_zero(text, start),
    })
}

fn first_is_zero(text: &str, start: usize) -> bool {
    at(text, start).and_then(digit) == Some(0)
}

fn whole_number(text: &str, start: usize, first: Group) -> Option<Numeral> {
    Some(Numeral {
        end: first.end,
        readings: Readings::one(decimal(first.value, first.digits, 0)?, Decimal::ONE),
        whole_digits: first.digits,
        plain: true,
        padded: first.digits > 1 && first_is_zero(text, start),
    })
}

fn read(text: &str, start: usize, groups: &[(Separator, Group)]) -> Option<Numeral> {
    let (&(_, first), rest) = groups.split_first()?;
    let Some((&(last_sign, last), middle)) = rest.split_last() else {
        return whole_number(text, start, first);
    };
    let padded = first.digits > 1 && first_is_zero(text, start);
    let grouping = |parts: &[(Separator, Group)]| is_grouping(first, first_is_zero(text, start), parts);
    let digits = |parts: &[(Separator, Group)]| first.digits + parts.iter().map(|(_, group)| group.digits).sum::<u32>();
    let join = |parts: &[(Separator, Group)]| {
        parts.iter().try_fold(first.value, |value, (_, group)| {
            value.checked_mul(10u128.checked_pow(group.digits)?)?.checked_add(group.value)
        })
    };
    let thousands = || Some(Reading { value: decimal(join(rest)?, digits(rest), 0)?, step: Decimal::ONE });
    let decimals = || {
        let may = matches!(last_sign, Separator::Point | Separator::Comma | Separator::ArabicPoint);
        let fits = middle.is_empty() || grouping(middle) && middle.iter().all(|&(sign, _)| sign != last_sign);
        if !may || !fits {
            return None;
        }
        Some(Reading { value: decimal(join(rest)?, digits(rest), last.digits)?, step: step(last.digits)? })
    };
    let as_thousands = if grouping(rest) { thousands() } else { None };
    let as_decimals = decimals();
    let (first_reading, second) = match (as_decimals, as_thousands) {
        // "1.234" is rather a decimal, "1,234" rather not.
        (Some(a), Some(b)) if last_sign == Separator::Point => (a, Some(b)),
        (Some(a), Some(b)) => (b, Some(a)),
        (Some(one), None) | (None, Some(one)) => (one, None),
        (None, None) => return None,
    };
    let is_decimal = !first_reading.step.is_integer();
    Some(Numeral {
        end: last.end,
        readings: Readings { first: first_reading, second },
        whole_digits: if is_decimal { digits(middle) } else { digits(rest) },
        plain: false,
        padded,
    })
}

/// Do signs part thousands here: always the same sign, groups of three, or of two as in India?
fn is_grouping(first: Group, zero: bool, rest: &[(Separator, Group)]) -> bool {
    let Some((&(sign, last), middle)) = rest.split_last() else { return false };
    if zero || sign == Separator::ArabicPoint || middle.iter().any(|&(other, _)| other != sign) {
        return false;
    }
    let threes = first.digits <= 3 && rest.iter().all(|(_, group)| group.digits == 3);
    let twos = sign == Separator::Comma
        && !middle.is_empty()
        && first.digits <= 2
        && last.digits == 3
        && middle.iter().all(|(_, group)| group.digits == 2);
    threes || twos
}

fn decimal(value: u128, digits: u32, scale: u32) -> Option<Decimal> {
    if digits > MOST_DIGITS {
        return None;
    }
    Decimal::try_from_i128_with_scale(i128::try_from(value).ok()?, scale).ok()
}

fn step(decimals: u32) -> Option<Decimal> {
    Decimal::try_from_i128_with_scale(1, decimals).ok()
}

/// "e3", "×10³", " x 10^6" behind a number: the power of ten, and where it ends.
pub fn exponent(text: &str, place: usize) -> Option<(i32, usize)> {
    if matches!(at(text, place), Some('e' | 'E')) {
        let (power, end) = signed_small(text, place + 1)?;
        // "12e4f" is no number.
        return if at(text, end).is_some_and(char::is_alphanumeric) { None } else { Some((power, end)) };
    }
    let sign = skip_blanks(text, place, 1);
    let times = at(text, sign).filter(|&c| matches!(c, '×' | 'x' | 'X' | '*' | '·' | '⋅'))?;
    let ten = skip_blanks(text, sign + times.len_utf8(), 1);
    if text.get(ten..ten + 2) != Some("10") {
        return None;
    }
    power_of(text, ten + 2)
}

/// "^6" or "³" behind a number: the power.
pub fn power_of(text: &str, place: usize) -> Option<(i32, usize)> {
    if at(text, place) == Some('^') {
        return signed_small(text, place + 1);
    }
    let mut end = place;
    let minus = at(text, end) == Some('⁻');
    if minus {
        end += '⁻'.len_utf8();
    }
    let mut power = None;
    while let Some((c, value)) = at(text, end).and_then(|c| Some((c, superscript(c)?))) {
        power = Some(power.unwrap_or(0i32).saturating_mul(10).saturating_add(i32::from(value)));
        end += c.len_utf8();
    }
    power.map(|power| (if minus { -power } else { power }, end))
}

fn signed_small(text: &str, place: usize) -> Option<(i32, usize)> {
    let sign = at(text, place).filter(|&c| matches!(c, '-' | '+' | '−'));
    let digits = group(text, place + sign.map_or(0, char::len_utf8))?;
    if digits.digits > 3 {
        return None;
    }
    let power = i32::try_from(digits.value).ok()?;
    Some((if matches!(sign, Some('-' | '−')) { -power } else { power }, digits.end))
}

/// Scale readings by a power of ten that may be negative.
pub fn scaled(readings: Readings, power: i32) -> Option<Readings> {
    let factor = power_of_ten(power.unsigned_abs())?;
    if power >= 0 {
        return readings.map(|value| value.checked_mul(factor));
    }
    readings.map(|value| {
        let scaled = value.checked_div(factor)?;
        // A value too small for a decimal would become 0.
        if scaled.is_zero() && !value.is_zero() { None } else { Some(scaled) }
    })
}

/// "½", "¾": the value.
pub fn vulgar(c: char) -> Option<Decimal> {
    let (numerator, denominator) = vulgar_fraction(c)?;
    Decimal::from(numerator).checked_div(Decimal::from(denominator))
}

/// "1/2" behind nothing, or "1/2" behind a whole number: only halves, thirds, quarters … with both parts in digits.
pub fn fraction(text: &str, start: usize) -> Option<(Decimal, usize)> {
    let over = group(text, start)?;
    let slash = at(text, over.end).filter(|&c| matches!(c, '/' | '⁄'))?;
    let under = group(text, over.end + slash.len_utf8())?;
    let usual = matches!(under.value, 2 | 3 | 4 | 8 | 16) || slash == '⁄';
    let goes_on = at(text, under.end).is_some_and(|c| c.is_alphanumeric() || matches!(c, '/' | '%'))
        || matches!(at(text, under.end), Some('.' | ',' | '-')) && at(text, under.end + 1).and_then(digit).is_some();
    if !usual || goes_on || over.value == 0 || over.value >= under.value || over.digits > 2 || under.digits > 2 {
        return None;
    }
    Some((Decimal::from(over.value).checked_div(Decimal::from(under.value))?, under.end))
}

/// A number in words.
#[derive(Clone, Copy, Debug)]
pub struct Spelled {
    /// One behind its last token.
    pub end: usize,
    pub value: Decimal,
    pub step: Decimal,
    pub ordinal: bool,
    /// It is nothing but "one" (or "first"…), which seldom counts anything.
    pub single: bool,
}

/// The number in words that begins at a token.
pub fn spelled(tokens: &Tokens<'_>, start: usize) -> Option<Spelled> {
    let mut index = start;
    // "a dozen", "a hundred", "a million"; "half a dozen", "half a million".
    if matches!(tokens.lower(index), "a" | "an") {
        let word = tokens.word(index + 1);
        if !word.is_any(&[Role::Hundred, Role::Scale, Role::Collective]) || tokens.lower(index + 1) == "score" {
            return None;
        }
        index += 1;
    }
    let mut total = Decimal::ZERO;
    let mut current: Option<u64> = None;
    let mut step = Decimal::ONE;
    let mut ordinal = false;
    let mut lowest_power = 28;
    let mut end = index;
    let first = index;
    let mut years = false;
    loop {
        let word = tokens.word(index);
        if word.is(Role::Cardinal) {
            let value = u64::from(word.number);
            current = match current {
                None => Some(value),
                Some(before) if !years && before % 100 == 0 && before > 0 => Some(before + value),
                Some(before) if !years && value > 0 && value < 10 && before % 10 == 0 && before % 100 >= 20 => {
                    Some(before + value)
                }
                // "nineteen eighty-four", "twenty twenty-four"
                Some(before)
                    if !years && total.is_zero() && (10..=20).contains(&before) && (10..100).contains(&value) =>
                {
                    years = true;
                    Some(before * 100 + value)
                }
                Some(before) if years && value < 10 && value > 0 && before % 10 == 0 && before % 100 >= 20 => {
                    Some(before + value)
                }
                Some(_) => break,
            };
            step = Decimal::ONE;
        } else if word.is(Role::Hundred) && !years {
            match current.unwrap_or(1) {
                before @ 1..100 => current = Some(before * 100),
                _ => break,
            }
            step = Decimal::ONE_HUNDRED;
        } else if word.is(Role::Scale) && !years && word.power < lowest_power {
            let factor = power_of_ten(u32::from(word.power))?;
            total = total.checked_add(Decimal::from(current.take().unwrap_or(1)).checked_mul(factor)?)?;
            lowest_power = word.power;
            step = factor;
        } else if word.is(Role::Collective) && tokens.lower(index) != "score" {
            total = Decimal::from(current.take().unwrap_or(1)).checked_mul(Decimal::from(word.number))?;
            end = index + 1;
            step = Decimal::ONE;
            break;
        } else if word.is(Role::Ordinal) {
            let value = u64::from(word.number);
            let joins = match current {
                None => total.is_zero() && index == first,
                Some(before) => value < 10 && before % 10 == 0 && before % 100 >= 20 || before % 100 == 0 && before > 0,
            };
            if !joins {
                break;
            }
            // "twenty seconds" is no 22nd, and neither is "five hundred seconds".
            current = Some(if value == 100 { 100 } else { current.unwrap_or(0) + value });
            ordinal = true;
            end = index + 1;
            step = Decimal::ONE;
            break;
        } else {
            break;
        }
        end = index + 1;
        // What may stand before the next word: a space, a hyphen, "and" behind a hundred or more.
        let mut next = end;
        if tokens.written(next).chars().all(super::characters::is_hyphen)
            && !tokens.spaced(next)
            && !tokens.spaced(next + 1)
        {
            next += 1;
        } else if tokens.lower(next) == "and"
            && (current.is_some_and(|value| value >= 100 && value % 100 == 0) || current.is_none())
        {
            next += 1;
            if !tokens.word(next).is_any(&[Role::Cardinal, Role::Ordinal])
                || tokens.word(next + 1).is_any(&[Role::Hundred, Role::Scale]) && current.is_some()
            {
                break;
            }
        }
        if tokens.breaks(next) > 0 {
            break;
        }
        index = next;
    }
    if end == first {
        return None;
    }
    let mut value = total.checked_add(Decimal::from(current.unwrap_or(0)))?;
    if !ordinal && let Some((part, behind)) = spelled_decimals(tokens, end) {
        (value, step) = (value.checked_add(part)?, Decimal::new(1, part.scale()));
        end = behind;
        if tokens.word(end).is(Role::Scale) && tokens.breaks(end) == 0 {
            let factor = power_of_ten(u32::from(tokens.word(end).power))?;
            (value, step) = (value.checked_mul(factor)?, step.checked_mul(factor)?);
            end += 1;
        }
    }
    if !ordinal && let Some((part, behind)) = spelled_part(tokens, start, end, value) {
        return Some(Spelled {
            end: behind,
            value: part,
            step: Decimal::new(1, part.scale().min(2)),
            ordinal: false,
            single: false,
        });
    }
    Some(Spelled { end, value, step, ordinal, single: end == first + 1 && value == Decimal::ONE })
}

/// "point five", "point two five"
fn spelled_decimals(tokens: &Tokens<'_>, mut index: usize) -> Option<(Decimal, usize)> {
    if tokens.lower(index) != "point" {
        return None;
    }
    index += 1;
    let (mut value, mut scale) = (0i64, 0);
    while tokens.word(index).is(Role::Cardinal) && tokens.word(index).number < 10 && scale < 9 {
        value = value * 10 + i64::from(tokens.word(index).number);
        scale += 1;
        index += 1;
    }
    if scale > 0 { Some((Decimal::new(value, scale), index)) } else { None }
}

/// "two and a half", "two and a half million", "two thirds", "three-quarters": the value, and one behind the last token.
fn spelled_part(tokens: &Tokens<'_>, start: usize, end: usize, value: Decimal) -> Option<(Decimal, usize)> {
    if tokens.lower(end) == "and" && matches!(tokens.lower(end + 1), "a" | "one") && tokens.word(end + 2).is(Role::Part)
    {
        let denominator = Decimal::from(tokens.word(end + 2).denominator);
        let part = Decimal::ONE.checked_div(denominator)?;
        let mut behind = end + 3;
        let mut value = value.checked_add(part)?;
        if tokens.word(behind).is(Role::Scale) {
            value = value.checked_mul(power_of_ten(u32::from(tokens.word(behind).power))?)?;
            behind += 1;
        }
        return Some((value.normalize(), behind));
    }
    let hyphen =
        usize::from(tokens.written(end).chars().all(super::characters::is_hyphen) && end < tokens.tokens.len());
    let part = tokens.word(end + hyphen);
    let denominator = Decimal::from(part.denominator);
    // Not "one second", nor "two quarters" of a year: the parts of a whole are fewer than it has.
    if part.is(Role::Part) && end == start + 1 && value < denominator && value > Decimal::ZERO {
        return Some((value.checked_div(denominator)?.normalize(), end + hyphen + 1));
    }
    None
}

/// "half an hour", "half a million", "half of", "a quarter of an hour": the value, and one behind the last token, which leaves the noun.
pub fn spelled_half(tokens: &Tokens<'_>, start: usize) -> Option<(Decimal, usize)> {
    let quarter = matches!(tokens.lower(start), "a" | "one")
        && tokens.lower(start + 1) == "quarter"
        && tokens.lower(start + 2) == "of";
    if quarter && matches!(tokens.lower(start + 3), "a" | "an") {
        return Some((Decimal::new(25, 2), start + 4));
    }
    if tokens.lower(start) != "half" || !matches!(tokens.lower(start + 1), "a" | "an") {
        return None;
    }
    let word = tokens.word(start + 2);
    if word.is(Role::Collective) && tokens.lower(start + 2) == "dozen" {
        return Some((Decimal::from(6), start + 3));
    }
    if word.is(Role::Scale) {
        return Some((power_of_ten(u32::from(word.power))?.checked_mul(Decimal::new(5, 1))?, start + 3));
    }
    Some((Decimal::new(5, 1), start + 2))
}

/// "k", "M", "bn", "million" behind a number in digits: the power, and where it ends. Single letters have to stand right behind the digits.
pub fn scale(tokens: &Tokens<'_>, place: usize, from: usize, is_money: bool) -> Option<(u32, usize)> {
    let gap = skip_blanks(tokens.text, place, 1);
    let gap = if at(tokens.text, gap).is_some_and(super::characters::is_hyphen) { gap + 1 } else { gap };
    let index = tokens.index_at(from, place);
    let index = if tokens.start(index) < gap { index + 1 } else { index };
    if tokens.start(index) != gap || tokens.breaks(index) > 0 {
        return None;
    }
    let word = tokens.word(index);
    if word.is(Role::Scale) {
        return Some((u32::from(word.power), tokens.end(index)));
    }
    if word.is(Role::Hundred) {
        return Some((2, tokens.end(index)));
    }
    let written = tokens.written(index);
    let power = lexicon::scale_suffix(written)?;
    let glued = gap == place;
    let sure = match written {
        "k" | "K" | "M" | "B" | "T" => glued || is_money && written != "T",
        // "5m" is metres unless it is money.
        "m" | "b" => is_money && glued,
        _ => true,
    };
    if sure { Some((u32::from(power), tokens.end(index))) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        let numeral = numeral(text, 0).unwrap();
        assert_eq!(numeral.end, text.len(), "{text}");
        let mut values = vec![numeral.readings.first.value.normalize().to_string()];
        values.extend(numeral.readings.second.map(|second| second.value.normalize().to_string()));
        values
    }

    #[test]
    fn separators_of_all_countries() {
        for (text, expected) in [
            ("1234", &["1234"][..]),
            ("1,234.50", &["1234.5"]),
            ("1.234,50", &["1234.5"]),
            ("1 234,50", &["1234.5"]),
            ("1\u{a0}234,50", &["1234.5"]),
            ("1\u{202f}234\u{202f}567,5", &["1234567.5"]),
            ("1\u{2009}234", &["1234"]),
            ("1'234.50", &["1234.5"]),
            ("1’234.50", &["1234.5"]),
            ("12,34,567", &["1234567"]),
            ("12,34,567.89", &["1234567.89"]),
            ("1,234,567", &["1234567"]),
            ("1.234.567", &["1234567"]),
            ("1_000_000", &["1000000"]),
            ("1.234", &["1.234", "1234"]),
            ("1,234", &["1234", "1.234"]),
            ("0.123", &["0.123"]),
            ("0,123", &["0.123"]),
            ("3,5", &["3.5"]),
            (".5", &["0.5"]),
            ("2,001.2345", &["2001.2345"]),
            ("١٬٢٣٤٫٥٠", &["1234.5"]),
            ("১২,৩৪,৫৬৭", &["1234567"]),
            ("１２３", &["123"]),
        ] {
            assert_eq!(values(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_number_ends_where_the_number_ends() {
        for (text, end) in
            [("5,10,15", 1), ("12 3456", 2), ("555 123 4567", 3), ("5, 6", 1), ("5.", 1), ("2024 300", 4)]
        {
            assert_eq!(numeral(text, 0).unwrap().end, end, "{text}");
        }
        assert!(numeral(&"9".repeat(40), 0).is_none());
        assert!(numeral("", 0).is_none());
    }

    #[test]
    fn the_step_is_the_worth_of_the_last_place() {
        let step = |text| numeral(text, 0).unwrap().readings.first.step.to_string();
        assert_eq!(step("6.50"), "0.01");
        assert_eq!(step("1,200"), "1");
        assert_eq!(step("1.200,5"), "0.1");
    }

    #[test]
    fn powers_of_ten() {
        assert_eq!(exponent("e3", 0), Some((3, 2)));
        assert_eq!(exponent("E-5 m", 0), Some((-5, 3)));
        assert_eq!(exponent("×10³", 0), Some((3, "×10³".len())));
        assert_eq!(exponent(" x 10^6", 0), Some((6, 7)));
        assert_eq!(exponent("e", 0), None);
        assert_eq!(exponent("e4f", 0), None);
    }
}
