//! Times as logs and spans have them, and as they are told: nanoseconds since 1970 inside, ISO 8601 outside.

use bumpalo::Bump;
use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

use crate::{text::Text, value::Value};

/// From here on a number can't be anything but nanoseconds since 1970, where its unit has to be guessed.
pub const NANOS_FROM: i64 = 100_000_000_000_000_000;

/// What a number counts, since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Seconds,
    Millis,
    Micros,
    Nanos,
    /// The unit in which it is a time between 1973 and 5138, or seconds if it is too small for any.
    Guess,
}

impl Unit {
    /// How many decimal places a unit has more than nanoseconds have.
    fn places(self, whole: i128) -> u32 {
        match self {
            Unit::Seconds => 9,
            Unit::Millis => 6,
            Unit::Micros => 3,
            Unit::Nanos => 0,
            Unit::Guess => match whole.unsigned_abs() {
                0..100_000_000_000 => 9,
                100_000_000_000..100_000_000_000_000 => 6,
                100_000_000_000_000..100_000_000_000_000_000 => 3,
                _ => 0,
            },
        }
    }
}

/// A time as nanoseconds since 1970. A number, also as a text, counts in the unit; any other text is ISO 8601, with or
/// without a zone (then it is UTC). None: it isn't known, or can't be read, or is not between 1677 and 2262.
pub fn nanos(value: Value<'_>, unit: Unit) -> Option<i64> {
    match value {
        Value::Int(int) => decimal(&int.to_string(), unit),
        // The shortest decimal number that reads back as this float: what was written, and no digit of rounding.
        Value::Float(float) if float.is_finite() => decimal(&float.to_string(), unit),
        Value::Text(text) => {
            let bytes = text.utf8();
            let text = std::str::from_utf8(&bytes).ok()?.trim();
            decimal(text, unit).or_else(|| iso(text)).or_else(|| {
                let float = text.parse::<f64>().ok().filter(|float| float.is_finite())?;
                decimal(&float.to_string(), unit)
            })
        }
        _ => None,
    }
}

/// As ISO 8601, in UTC.
pub fn text(ns: i64, bump: &Bump) -> Text<'_> {
    // Any number of nanoseconds that an i64 holds is a time.
    let time = Timestamp::from_nanosecond(i128::from(ns)).unwrap_or_default();
    Text::from(&*bump.alloc_str(&time.to_string()))
}

/// More digits before the point are no time in any unit, and as nanoseconds more than 128 bits.
const MOST_DIGITS: usize = 20;

fn decimal(text: &str, unit: Unit) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > MOST_DIGITS || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let mut ns: i128 = whole.parse().ok()?;
    let mut fraction = fraction.bytes();
    for _ in 0..unit.places(ns) {
        ns = ns * 10 + i128::from(fraction.next().unwrap_or(b'0') - b'0');
    }
    i64::try_from(if negative { -ns } else { ns }).ok()
}

fn iso(text: &str) -> Option<i64> {
    // As BigQuery writes it.
    let time = match text.strip_suffix(" UTC") {
        Some(text) => civil(text),
        None => text.parse::<Timestamp>().ok().or_else(|| civil(text)),
    };
    i64::try_from(time?.as_nanosecond()).ok()
}

/// A time without a zone.
fn civil(text: &str) -> Option<Timestamp> {
    let time: DateTime = text.parse().ok()?;
    TimeZone::UTC.to_timestamp(time).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: i64 = 1_767_268_800_000_000_000;

    #[test]
    fn numbers_and_texts_of_one_time() {
        let bump = Bump::new();
        for (value, unit) in [
            (Value::Int(1_767_268_800), Unit::Seconds),
            (Value::Float(1_767_268_800.0), Unit::Seconds),
            (Value::Float(1_767_268_800.0), Unit::Guess),
            (Value::Int(1_767_268_800_000), Unit::Millis),
            (Value::Int(1_767_268_800_000), Unit::Guess),
            (Value::Int(1_767_268_800_000_000), Unit::Micros),
            (Value::Int(1_767_268_800_000_000), Unit::Guess),
            (Value::Int(NOON), Unit::Nanos),
            (Value::Int(NOON), Unit::Guess),
        ] {
            assert_eq!(nanos(value, unit), Some(NOON), "{value:?} {unit:?}");
            let Value::Int(int) = value else { continue };
            let text = bump.alloc_str(&int.to_string());
            assert_eq!(nanos(Value::Text(Text::from(&*text)), unit), Some(NOON), "{text} {unit:?}");
        }
        for text in [
            "2026-01-01T12:00:00Z",
            "2026-01-01T12:00:00",
            "2026-01-01 12:00:00",
            "2026-01-01 12:00:00.000000 UTC",
            "2026-01-01T13:00:00+01:00",
            "2026-01-01 07:00:00.000-05:00",
            "2026-01-01T12:00:00.000000000+0000",
            " 2026-01-01T12:00:00Z ",
            "1767268800.000",
            "1.7672688e9",
        ] {
            assert_eq!(nanos(Value::Text(Text::from(text)), Unit::Seconds), Some(NOON), "{text}");
        }
    }

    #[test]
    fn fractions_are_exact() {
        let read = |text| nanos(Value::Text(Text::from(text)), Unit::Seconds);
        assert_eq!(nanos(Value::Float(1_767_268_800.123_456), Unit::Seconds), Some(NOON + 123_456_000));
        assert_eq!(nanos(Value::Float(1_767_268_800_123.5), Unit::Guess), Some(NOON + 123_500_000));
        assert_eq!(read("1767268800.123456789012"), Some(NOON + 123_456_789));
        assert_eq!(read("2026-01-01T12:00:00.123456789Z"), Some(NOON + 123_456_789));
        assert_eq!(read("-0.5"), Some(-500_000_000));
        assert_eq!(nanos(Value::Float(1.5), Unit::Guess), Some(1_500_000_000));
        assert_eq!(nanos(Value::Int(0), Unit::Nanos), Some(0));
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in ["", "soon", "NaN", "inf", "1e400", "12:00", "2026-13-01T00:00:00Z", "9999-01-01T00:00:00Z", "."] {
            assert_eq!(nanos(Value::Text(Text::from(text)), Unit::Guess), None, "{text}");
        }
        assert_eq!(nanos(Value::Text(Text::Latin1(b"\xe9")), Unit::Guess), None);
        for value in [Value::Null, Value::True, Value::Float(f64::NAN), Value::Float(1e300), Value::Array(&[])] {
            assert_eq!(nanos(value, Unit::Nanos), None, "{value:?}");
        }
        assert_eq!(nanos(Value::Int(i64::MAX), Unit::Seconds), None);
        for digits in (20..50).chain([10_000]) {
            let long = "9".repeat(digits);
            for unit in [Unit::Seconds, Unit::Millis, Unit::Micros, Unit::Nanos, Unit::Guess] {
                assert_eq!(nanos(Value::Text(Text::from(&*long)), unit), None, "{digits} {unit:?}");
            }
        }
        assert_eq!(nanos(Value::Float(1e29), Unit::Seconds), None);
    }

    #[test]
    fn every_number_of_nanoseconds_is_told() {
        let bump = Bump::new();
        let told = |ns| crate::show::plain(text(ns, &bump));
        assert_eq!(told(NOON), "2026-01-01T12:00:00Z");
        assert_eq!(told(NOON + 120_000_000), "2026-01-01T12:00:00.12Z");
        assert_eq!(told(-1), "1969-12-31T23:59:59.999999999Z");
        for ns in [i64::MIN, i64::MAX, 0, NOON + 1] {
            assert_eq!(nanos(Value::Text(text(ns, &bump)), Unit::Seconds), Some(ns));
        }
    }
}
