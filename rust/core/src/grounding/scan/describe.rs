//! Mentions in readable words: for the binding, and for tests.

use std::fmt::Write;

use super::{Date, Mention, Number, Time, Unit, What};

/// What a mention is, and all that it can be read as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// number, ordinal, money, percent, quantity, date, time, datetime, id, email, url or quote
    pub kind: &'static str,
    /// The likeliest first: "1234.5"; "2026-03-09", "2026-03", "--03-09", with "?" where day and month may be the other way round, a
    /// weekday alone as "monday"; "14:05:30+03:00"; a text as it is compared.
    pub values: Vec<String>,
    /// "EUR", "kilometre", "percent"
    pub unit: Option<String>,
}

impl What<'_> {
    /// number, ordinal, money, percent, quantity, date, time, datetime, id, email, url or quote
    pub fn kind(&self) -> &'static str {
        match self {
            What::Number(number) => match number.unit {
                _ if number.ordinal => "ordinal",
                None => "number",
                Some(Unit::Percent) => "percent",
                Some(Unit::Currency { .. }) => "money",
                Some(Unit::Measure(_)) => "quantity",
            },
            What::Date(_) => "date",
            What::Time(_) => "time",
            What::Moment(..) => "datetime",
            What::Id(_) => "id",
            What::Email(_) => "email",
            What::Url(_) => "url",
            What::Quote(_) => "quote",
        }
    }
}

pub fn describe(mention: &Mention<'_>) -> Described {
    let kind = mention.what.kind();
    let one = |value: String| Described { kind, values: vec![value], unit: None };
    match mention.what {
        What::Number(number) => Described { kind, values: readings(number), unit: number.unit.map(unit) },
        What::Date(value) => one(date(value)),
        What::Time(value) => one(time(value)),
        What::Moment(day, value) => one(format!("{}T{}", date(day), time(value))),
        What::Id(text) | What::Email(text) | What::Url(text) | What::Quote(text) => one(text.to_owned()),
    }
}

fn readings(number: Number<'_>) -> Vec<String> {
    number.readings.iter().map(|reading| reading.value.normalize().to_string()).collect()
}

fn unit(unit: Unit<'_>) -> String {
    match unit {
        Unit::Percent => "percent",
        Unit::Currency { code, .. } => code,
        Unit::Measure(name) => name,
    }
    .to_owned()
}

const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// As ISO 8601 has it, also where parts are missing.
fn date(date: Date) -> String {
    let mut out = String::new();
    let written = match (date.year, date.month, date.day) {
        (Some(year), Some(month), Some(day)) => write!(out, "{year:04}-{month:02}-{day:02}"),
        (Some(year), Some(month), None) => write!(out, "{year:04}-{month:02}"),
        (Some(year), None, _) => write!(out, "{year:04}"),
        (None, Some(month), Some(day)) => write!(out, "--{month:02}-{day:02}"),
        (None, Some(month), None) => write!(out, "--{month:02}"),
        (None, None, _) => {
            let weekday = date.weekday.and_then(|weekday| WEEKDAYS.get(usize::try_from(weekday).ok()?.checked_sub(1)?));
            write!(out, "{}", weekday.copied().unwrap_or_default())
        }
    };
    // Writing to a text does not fail.
    let _ = written;
    if date.ambiguous {
        out.push('?');
    }
    out
}

fn time(time: Time) -> String {
    let mut out = format!("{:02}:{:02}", time.hour, time.minute.unwrap_or(0));
    let second = time.second.map_or(Ok(()), |second| write!(out, ":{second:02}"));
    let offset = match time.offset {
        None => Ok(()),
        Some(0) => write!(out, "Z"),
        Some(offset) => {
            let sign = if offset < 0 { '-' } else { '+' };
            write!(out, "{sign}{:02}:{:02}", offset.unsigned_abs() / 60, offset.unsigned_abs() % 60)
        }
    };
    let _ = (second, offset);
    out
}
