//! The typed values of a leaf.

use std::collections::HashMap;

use bumpalo::{Bump, collections::Vec as ArenaVec};
use foldhash::fast::RandomState;
use jiff::{Timestamp, fmt::temporal::Pieces, tz::Offset};
use rust_decimal::{Decimal, prelude::FromPrimitive};

use super::{
    super::scan::{self, Date, Mention, Number, Reading, Time, Unit, What},
    Fact, Traits, measure,
};
use crate::value::Value;

/// Typed values beyond these are not looked at.
const MOST_FACTS: usize = 500_000;
/// How much of all texts is looked into.
const MOST_TEXT: usize = 32 << 20;
/// A long text is looked into in pieces of about this many bytes, so that what is needed on the way is soon given back.
const PIECE: usize = 1 << 15;

/// Texts of so many bytes come again.
const SHORT: usize = 64;

/// Makes facts of leaves, one after the other.
pub struct Typist<'a> {
    pub facts: ArenaVec<'a, Fact<'a>>,
    /// There were too many.
    pub cut: bool,
    /// How much text may still be looked into.
    room: usize,
    /// The digits that are looked at stand in an id.
    in_id: bool,
    /// Short texts that were looked into, and the facts that they gave: records often say the same.
    known: HashMap<&'a str, (u32, u32), RandomState>,
    scratch: Bump,
    bump: &'a Bump,
}

impl<'a> Typist<'a> {
    pub fn new(expected: usize, bump: &'a Bump) -> Self {
        let facts = ArenaVec::with_capacity_in(expected, bump);
        Typist {
            facts,
            cut: false,
            room: MOST_TEXT,
            in_id: false,
            known: HashMap::default(),
            scratch: Bump::new(),
            bump,
        }
    }

    /// The facts of a leaf: first, and one behind the last.
    pub fn of_leaf(
        &mut self,
        leaf: u32,
        value: Value<'a>,
        text: &'a str,
        unit: Option<Unit<'a>>,
        traits: Traits,
    ) -> (u32, u32) {
        let first = self.facts.len() as u32;
        match value {
            Value::Text(_) | Value::Foreign(_) => self.text(leaf, text, unit, traits),
            _ => {
                if let Some(reading) = reading(value) {
                    self.number(leaf, reading, unit, traits);
                }
                if let Some((date, time)) = moment_of_epoch(value, traits) {
                    self.push(leaf, What::Moment(date, time), true, false);
                }
            }
        }
        (first, self.facts.len() as u32)
    }

    fn push(&mut self, leaf: u32, what: What<'a>, whole: bool, loose: bool) {
        if self.facts.len() >= MOST_FACTS {
            self.cut = true;
            return;
        }
        self.facts.push(Fact { leaf, what, whole, loose, in_id: self.in_id });
    }

    /// A leaf that is a number and no more.
    fn number(&mut self, leaf: u32, reading: Reading, unit: Option<Unit<'a>>, traits: Traits) {
        let readings = match scale(traits) {
            Some(factor) => {
                let scaled = |value: Decimal| value.checked_mul(factor).unwrap_or(value);
                &*self.bump.alloc([reading, Reading { value: scaled(reading.value), step: scaled(reading.step) }])
            }
            None => std::slice::from_ref(self.bump.alloc(reading)),
        };
        self.push(leaf, What::Number(plain_number(readings, unit)), true, false);
    }

    fn text(&mut self, leaf: u32, text: &'a str, unit: Option<Unit<'a>>, traits: Traits) {
        let has_digits = text.bytes().any(|byte| byte.is_ascii_digit());
        // A word or two without digits is nothing that has a type.
        if !has_digits && text.len() < 16 && !text.contains('@') {
            return;
        }
        if has_digits && let Some(reading) = plain_decimal(text) {
            return self.number(leaf, reading, unit, traits);
        }
        if has_digits && let Some(what) = iso(text).or_else(|| time_of_another_day(text)) {
            return self.push(leaf, what, true, false);
        }
        if has_digits && let Some(reading) = duration(text) {
            return self.number(leaf, reading, measure::unit("s"), Traits::NONE);
        }
        let short = text.len() <= SHORT && unit.is_none();
        if short && let Some(&(first, end)) = self.known.get(text) {
            for index in first..end {
                if let Some(fact) = self.facts.get(index as usize).copied() {
                    self.in_id = fact.in_id;
                    self.push(leaf, fact.what, fact.whole, fact.loose);
                }
            }
            self.in_id = false;
            return;
        }
        if text.len() > self.room {
            self.cut = true;
            return;
        }
        let first = self.facts.len() as u32;
        self.room -= text.len();
        // Taken out for as long as its mentions are looked at.
        let mut scratch = std::mem::take(&mut self.scratch);
        for piece in pieces(text) {
            let whole_leaf = piece.len() == text.len();
            let mentions = scan::mentions(piece, &scratch);
            self.mentions(leaf, piece, mentions, unit, whole_leaf);
            scratch.reset();
        }
        self.scratch = scratch;
        if short {
            self.known.insert(text, (first, self.facts.len() as u32));
        }
    }

    fn mentions(&mut self, leaf: u32, text: &str, mentions: &[Mention<'_>], unit: Option<Unit<'a>>, whole_leaf: bool) {
        let mut end = 0;
        for mention in mentions {
            let whole = whole_leaf && text.trim().len() == (mention.span.end - mention.span.start) as usize;
            let skipped = match mention.what {
                What::Number(number) => {
                    let number = self.kept(number, unit);
                    self.push(leaf, What::Number(number), whole, false);
                    !begins_inside_a_number(text, mention)
                }
                What::Date(date) => {
                    self.push(leaf, What::Date(date), whole, false);
                    date.year.is_some() && date.month.is_some()
                }
                What::Moment(date, time) => {
                    self.push(leaf, What::Moment(date, time), whole, false);
                    true
                }
                What::Time(time) => {
                    self.push(leaf, What::Time(time), whole, false);
                    false
                }
                What::Id(id) => {
                    self.push(leaf, What::Id(self.bump.alloc_str(id)), whole, false);
                    if !ends_inside_a_number(text, mention) {
                        self.loose(leaf, text, end as usize, mention.span.start as usize);
                        self.in_id = true;
                        if !is_hash(id) {
                            self.loose(leaf, text, mention.span.start as usize, mention.span.end as usize);
                        }
                        self.in_id = false;
                        end = mention.span.end;
                    }
                    false
                }
                What::Email(_) | What::Url(_) => true,
                What::Quote(_) => false,
            };
            if skipped {
                self.loose(leaf, text, end as usize, mention.span.start as usize);
                end = mention.span.end;
            }
        }
        self.loose(leaf, text, end as usize, text.len());
    }

    /// A copy of a number that outlives the scan.
    fn kept(&self, number: Number<'_>, of_leaf: Option<Unit<'a>>) -> Number<'a> {
        let readings = self.bump.alloc_slice_copy(number.readings);
        let unit = match number.unit {
            Some(Unit::Percent) => Some(Unit::Percent),
            Some(Unit::Measure(name)) => Some(Unit::Measure(name)),
            Some(Unit::Currency { code, symbol }) => Some(Unit::Currency { code: self.bump.alloc_str(code), symbol }),
            None => of_leaf,
        };
        Number { readings, unit, ..plain_number(&[], None) }
    }

    /// The digits in a part of a text.
    fn loose(&mut self, leaf: u32, text: &str, start: usize, end: usize) {
        let Some(part) = text.get(start..end) else { return };
        let bytes = part.as_bytes();
        let mut at = 0;
        while let Some(begin) = bytes.iter().skip(at).position(u8::is_ascii_digit).map(|offset| at + offset) {
            let mut stop = begin;
            // Digits, with single points and commas between them.
            while bytes.get(stop).is_some_and(u8::is_ascii_digit)
                || matches!(bytes.get(stop), Some(b'.' | b',')) && bytes.get(stop + 1).is_some_and(u8::is_ascii_digit)
            {
                stop += 1;
            }
            let negative = begin > 0
                && bytes.get(begin - 1) == Some(&b'-')
                && !begin.checked_sub(2).and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_alphanumeric);
            if let Some(digits) = part.get(begin..stop) {
                self.loose_readings(leaf, digits, negative);
            }
            at = stop.max(begin + 1);
        }
    }

    /// "3.3", "1,200" (as one number, and as two), "1,2,3"
    fn loose_readings(&mut self, leaf: u32, digits: &str, negative: bool) {
        let mut readings = ArenaVec::new_in(self.bump);
        // "F-060" has no number 60.
        let in_id = self.in_id;
        let mut add = |text: &str| {
            if in_id && text.len() > 1 && text.starts_with('0') {
                return;
            }
            if let Some(Reading { value, step }) = plain_decimal(text) {
                readings.push(Reading { value: if negative { -value } else { value }, step });
            }
        };
        let (points, commas) = (digits.matches('.').count(), digits.matches(',').count());
        if points <= 1 {
            let grouped = digits.split('.').next().unwrap_or_default();
            let mut groups = grouped.split(',');
            let strict = groups.next().is_some_and(|first| first.len() <= 3)
                && groups.all(|group| group.len() == 3)
                && !digits.split_once('.').is_some_and(|(_, places)| places.contains(','));
            match (commas, points) {
                (0, _) => add(digits),
                _ if strict => add(&digits.replace(',', "")),
                (1, 0) => add(&digits.replace(',', ".")),
                _ => {}
            }
        }
        if commas > 0 || points > 1 {
            for part in digits.split([',', '.']) {
                add(part);
            }
        }
        if !readings.is_empty() {
            let readings = readings.into_bump_slice();
            self.push(leaf, What::Number(plain_number(readings, None)), false, true);
        }
    }
}

/// Does a number begin behind the point of another one ("4x2.3 GHz")?
fn begins_inside_a_number(text: &str, mention: &Mention<'_>) -> bool {
    let before = text.get(..mention.span.start as usize).unwrap_or_default();
    before.strip_suffix(['.', ',']).is_some_and(|before| before.ends_with(|c: char| c.is_ascii_digit()))
}

/// Does it end before the point of a number?
fn ends_inside_a_number(text: &str, mention: &Mention<'_>) -> bool {
    let behind = text.get(mention.span.end as usize..).unwrap_or_default();
    behind.strip_prefix(['.', ',']).is_some_and(|behind| behind.starts_with(|c: char| c.is_ascii_digit()))
}

/// An id in which letters and digits take turns: its digits are no numbers.
fn is_hash(id: &str) -> bool {
    let digits = id.bytes().map(|byte| byte.is_ascii_digit());
    id.len() > 16 && digits.clone().zip(digits.skip(1)).filter(|(one, next)| one != next).count() > 4
}

/// Pieces of a long text, each ending at a line or a word.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = if rest.len() <= PIECE {
            rest.len()
        } else {
            let bytes = rest.as_bytes().get(..PIECE).unwrap_or_default();
            let at = memchr::memrchr(b'\n', bytes).or_else(|| memchr::memrchr(b' ', bytes)).map_or(PIECE, |at| at + 1);
            (at..rest.len()).find(|&at| rest.is_char_boundary(at)).unwrap_or(rest.len())
        };
        let (piece, behind) = rest.split_at_checked(end)?;
        rest = behind;
        Some(piece)
    })
}

fn plain_number<'a>(readings: &'a [Reading], unit: Option<Unit<'a>>) -> Number<'a> {
    Number { readings, unit, signed: false, spelled: false, ordinal: false, range: false }
}

/// Of a key that counts in thousands, millions or billions.
fn scale(traits: Traits) -> Option<Decimal> {
    let power = if traits.has(Traits::THOUSANDS) {
        3
    } else if traits.has(Traits::MILLIONS) {
        6
    } else if traits.has(Traits::BILLIONS) {
        9
    } else {
        return None;
    };
    Some(Decimal::from(10i64.pow(power)))
}

/// A number as a decimal; None for what has no room in one.
pub fn reading(value: Value<'_>) -> Option<Reading> {
    match value {
        Value::Int(int) => Some(Reading { value: Decimal::from(int), step: Decimal::ONE }),
        Value::Float(float) => decimal(float),
        Value::Big(big) => plain_decimal(&big.digits(29)?),
        _ => None,
    }
}

/// The shortest decimal number that reads back as this float: what was written.
fn decimal(float: f64) -> Option<Reading> {
    const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53
    let mut power = 1.0;
    for places in 0..=9 {
        let whole = (float * power).round();
        // Both are exact, and a division is rounded rightly: this is the float nearest to whole / 10^places.
        if whole.abs() < EXACT && whole / power == float {
            return Some(Reading { value: Decimal::new(whole as i64, places), step: Decimal::new(1, places) });
        }
        power *= 10.0;
    }
    if !float.is_finite() {
        return None;
    }
    let value = float.to_string().parse::<Decimal>().ok().or_else(|| Decimal::from_f64(float))?;
    Some(Reading { value, step: Decimal::new(1, value.scale().min(28)) })
}

/// A text that is digits, with a sign and places if need be, and no more.
fn plain_decimal(text: &str) -> Option<Reading> {
    let text = text.trim();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, places) = digits.split_once('.').unwrap_or((digits, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || digits.len() > 28 || digits.ends_with('.') || !is_digits(whole) || !is_digits(places) {
        return None;
    }
    let step = Decimal::new(1, places.len() as u32);
    if digits.len() <= 18 {
        let joined =
            digits.bytes().filter(u8::is_ascii_digit).fold(0i64, |sum, digit| sum * 10 + i64::from(digit - b'0'));
        let signed = if text.starts_with('-') { -joined } else { joined };
        return Some(Reading { value: Decimal::new(signed, places.len() as u32), step });
    }
    Some(Reading { value: text.parse().ok()?, step })
}

/// "2026-03-09", "2026-03-09T14:05:00Z", "2026-03-09 14:05:00+01:00"
fn iso(text: &str) -> Option<What<'static>> {
    let text = text.trim();
    let bytes = text.as_bytes();
    if bytes.len() < 10 || bytes.len() > 40 || bytes.get(4) != Some(&b'-') || bytes.get(7) != Some(&b'-') {
        return None;
    }
    let pieces = Pieces::parse(text).ok()?;
    let date = date_of(pieces.date());
    let Some(time) = pieces.time() else { return Some(What::Date(date)) };
    let offset = pieces.to_numeric_offset().map(|offset| (offset.seconds() / 60) as i16);
    Some(What::Moment(date, time_of(time, offset)))
}

/// "03:00:00+1": on the next day.
fn time_of_another_day(text: &str) -> Option<What<'static>> {
    let (time, days) = text.trim().split_once(['+', '-'])?;
    if days.len() != 1 || !days.bytes().all(|byte| byte.is_ascii_digit()) || !time.contains(':') {
        return None;
    }
    Some(What::Time(time_of(time.trim().parse().ok()?, None)))
}

/// "PT1H25M" in seconds.
fn duration(text: &str) -> Option<Reading> {
    if !text.starts_with('P') || !text.ends_with(|c: char| c.is_ascii_uppercase()) {
        return None;
    }
    let duration: jiff::SignedDuration = text.parse().ok()?;
    Some(Reading { value: Decimal::from(duration.as_secs()), step: Decimal::ONE })
}

fn date_of(date: jiff::civil::Date) -> Date {
    Date {
        year: Some(date.year()),
        month: Some(date.month()),
        day: Some(date.day()),
        weekday: Some(date.weekday().to_monday_one_offset()),
        ambiguous: false,
    }
}

fn time_of(time: jiff::civil::Time, offset: Option<i16>) -> Time {
    Time { hour: time.hour(), minute: Some(time.minute()), second: Some(time.second()), offset, half_day_open: false }
}

/// Is it seconds or milliseconds since 1970?
pub fn is_epoch(value: Value<'_>, traits: Traits) -> bool {
    epoch_seconds(value, traits).is_some()
}

/// Between 1973 and 2128, under the key of a time.
fn epoch_seconds(value: Value<'_>, traits: Traits) -> Option<i64> {
    if !traits.has(Traits::TIME) {
        return None;
    }
    let number = match value {
        Value::Int(int) => int,
        Value::Float(float) if float.abs() < 1e15 => float as i64,
        _ => return None,
    };
    match number {
        100_000_000..5_000_000_000 => Some(number),
        100_000_000_000..5_000_000_000_000 => Some(number / 1000),
        _ => None,
    }
}

fn moment_of_epoch(value: Value<'_>, traits: Traits) -> Option<(Date, Time)> {
    let seconds = epoch_seconds(value, traits)?;
    let moment = Offset::UTC.to_datetime(Timestamp::from_second(seconds).ok()?);
    Some((date_of(moment.date()), time_of(moment.time(), Some(0))))
}

/// A text in which `\u2009` stands literally, since it was escaped twice, with what is meant.
pub fn without_double_escapes<'a>(text: &'a str, bump: &'a Bump) -> &'a str {
    if memchr::memchr(b'\\', text.as_bytes()).is_none() {
        return text;
    }
    let mut out = bumpalo::collections::String::with_capacity_in(text.len(), bump);
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("\\u") {
        out.push_str(before);
        let hex = behind.get(..4).filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match hex.and_then(|hex| u32::from_str_radix(hex, 16).ok()).and_then(char::from_u32) {
            Some(c) => {
                out.push(c);
                rest = behind.get(4..).unwrap_or_default();
            }
            None => {
                out.push_str("\\u");
                rest = behind;
            }
        }
    }
    out.push_str(rest);
    out.into_bump_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_what_was_written() {
        for (float, written, step) in [
            (0.1, "0.1", "0.1"),
            (1234.5, "1234.5", "0.1"),
            (-3.0, "-3", "1"),
            (0.873, "0.873", "0.001"),
            (1e20, "100000000000000000000", "1"),
        ] {
            let reading = decimal(float).unwrap();
            assert_eq!((reading.value, reading.step), (written.parse().unwrap(), step.parse().unwrap()));
        }
        assert_eq!(decimal(0.9234567).unwrap().value, "0.9234567".parse().unwrap());
        assert_eq!(decimal(1.0 / 3.0).unwrap().value, "0.3333333333333333".parse().unwrap());
        assert!(decimal(f64::NAN).is_none() && decimal(1e300).is_none() && decimal(f64::INFINITY).is_none());
    }

    #[test]
    fn plain_numbers_in_texts() {
        for (text, value) in
            [("12", Some("12")), ("-0.50", Some("-0.50")), ("1234567890123456789012", Some("1234567890123456789012"))]
        {
            assert_eq!(plain_decimal(text).map(|reading| reading.value), value.map(|value| value.parse().unwrap()));
        }
        for text in ["", "-", "1.", ".5", "1,2", "1e5", "0x1f", "٣"] {
            assert!(plain_decimal(text).is_none(), "{text}");
        }
    }

    #[test]
    fn dates_and_durations() {
        assert!(matches!(iso("2026-03-09"), Some(What::Date(Date { year: Some(2026), weekday: Some(1), .. }))));
        let Some(What::Moment(_, time)) = iso("2026-03-09T14:05:00+01:30") else { panic!() };
        assert_eq!((time.hour, time.minute, time.offset), (14, Some(5), Some(90)));
        assert!(matches!(iso("2026-03-09 14:05:00"), Some(What::Moment(_, Time { offset: None, .. }))));
        assert!(iso("2026-13-09").is_none() && iso("2026-03-09x").is_none());
        assert_eq!(duration("PT1H25M").unwrap().value, Decimal::from(5100));
        assert!(duration("PASS1").is_none() && duration("P").is_none());
    }

    #[test]
    fn epochs_are_times_under_the_keys_of_times_alone() {
        let (date, time) = moment_of_epoch(Value::Int(1_773_065_100), Traits::TIME).unwrap();
        assert_eq!((date.year, date.month, date.day), (Some(2026), Some(3), Some(9)));
        assert_eq!((time.hour, time.minute), (14, Some(5)));
        assert_eq!(moment_of_epoch(Value::Int(1_773_065_100_000), Traits::TIME), Some((date, time)));
        assert!(moment_of_epoch(Value::Int(1_773_065_100), Traits::NONE).is_none());
        assert!(moment_of_epoch(Value::Int(118), Traits::TIME).is_none());
    }

    #[test]
    fn double_escapes_are_undone() {
        let bump = Bump::new();
        assert_eq!(without_double_escapes("5\\u2009mm", &bump), "5\u{2009}mm");
        for text in ["C:\\users\\u", "\\uzzzz", "\\ud800", "plain"] {
            assert_eq!(without_double_escapes(text, &bump), text);
        }
    }

    #[test]
    fn loose_digits() {
        let bump = Bump::new();
        let values = |text: &'static str| {
            let mut typist = Typist::new(0, &bump);
            typist.loose(0, text, 0, text.len());
            let mut values: Vec<String> = typist
                .facts
                .iter()
                .filter_map(|fact| if let What::Number(number) = fact.what { Some(number.readings) } else { None })
                .flatten()
                .map(|reading| reading.value.to_string())
                .collect();
            values.dedup();
            values
        };
        assert_eq!(values("4K@24/30/60fps"), ["4", "24", "30", "60"]);
        assert_eq!(values("1,2,3"), ["1", "2", "3"]);
        assert_eq!(values("1,200"), ["1200", "1", "200"]);
        assert_eq!(values("0,09"), ["0.09", "0", "09"].map(|text| text.parse::<Decimal>().unwrap().to_string()));
        assert_eq!(values("v1.2.3 at -5"), ["1", "2", "3", "-5"]);
        assert_eq!(values("12,34,567.5"), ["12", "34", "567", "5"]);
    }
}
