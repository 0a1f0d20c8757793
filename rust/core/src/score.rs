//! Scoring one trace: values, JSON texts or a record of a file in, a report out.

use std::ops::BitOrAssign;

use bumpalo::Bump;

use crate::{
    call::Reader, error::Error, expected::Expectation, field::Field, json, matching::Scratch, options::Options,
    report::Report, show, summary::Key, text::Text, value::Value,
};

/// What to score, and where it lies in each record.
#[derive(Clone, Debug)]
pub struct Task {
    pub options: Options,
    pub actual: Field,
    pub expected: Field,
    pub id: Field,
    /// The fields that rows are grouped by; not more than [`MOST_FIELDS`].
    pub group_by: Vec<Field>,
}

/// Rows are grouped by at most so many fields.
pub const MOST_FIELDS: usize = 32;

impl Task {
    /// The fields that some record should have, each with its option.
    pub fn needed(&self) -> impl Iterator<Item = (&Field, &'static str)> {
        let calls = [(&self.actual, "actual"), (&self.expected, "expected")];
        calls.into_iter().chain(self.group_by.iter().map(|field| (field, "group_by")))
    }

    /// The row of a record that can't be read.
    pub fn unreadable(&self, place: u64, why: impl Into<Box<str>>) -> Row {
        let mut group = Key::default();
        self.group_by.iter().for_each(|_| group.push(Value::Null));
        Row { group: group.into(), ..Row::new(place, Report::error(why)) }
    }
}

pub struct Row {
    pub id: Id,
    pub place: u64,
    /// What its record has in the fields to group by, as a [`Key`].
    pub group: Box<[u8]>,
    pub report: Report,
    pub found: Found,
}

impl Row {
    /// A row that is called by its place.
    pub fn new(place: u64, report: Report) -> Self {
        Row { id: Id::of_place(place), place, group: Box::default(), report, found: Found::default() }
    }
}

/// What a row is called: the id that its record has, or else its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Id {
    Int(i64),
    /// The digits of an integer that `Int` can't hold.
    Big(Box<str>),
    Text(Box<str>),
}

impl Id {
    pub(crate) fn of_place(place: u64) -> Self {
        Id::Int(i64::try_from(place).unwrap_or(i64::MAX))
    }
}

/// More memory than this isn't kept from row to row.
const MOST_KEPT: usize = 8 << 20;

/// Room that one thread uses again from row to row.
#[derive(Default)]
pub struct Worker {
    bump: Bump,
    scratch: Scratch,
}

impl Worker {
    /// The arena, emptied, and the scratch room.
    pub fn room(&mut self) -> (&Bump, &mut Scratch) {
        // After a row that took a lot, the memory is given back.
        if self.bump.allocated_bytes() > MOST_KEPT {
            *self = Worker::default();
        }
        self.bump.reset();
        (&self.bump, &mut self.scratch)
    }

    /// Hold one list of calls against another, both as JSON text.
    pub fn score_texts(
        &mut self,
        options: Options,
        actual: Option<&[u8]>,
        expected: Option<&[u8]>,
    ) -> Result<Report, (Side, Error)> {
        let (bump, scratch) = self.room();
        for (text, side) in [(actual, Side::Actual), (expected, Side::Expected)] {
            text.map_or(Ok(()), json::check_utf8).map_err(|error| (side, Error::not_json(error)))?;
        }
        let value = |text: Option<_>| text.map_or(Value::Null, |text| Value::Text(Text::Utf8(text)));
        let reader = Reader::of_row(bump, actual.map_or(0, <[u8]>::len) + expected.map_or(0, <[u8]>::len));
        score_values(options, (value(actual), reader), (value(expected), reader), scratch)
    }

    /// Score a record, given as JSON text.
    pub fn score_record(&mut self, task: &Task, place: u64, bytes: &[u8]) -> Row {
        let (bump, scratch) = self.room();
        let (record, reader) =
            match json::check_utf8(bytes).and_then(|()| Reader::of_row(bump, bytes.len()).parsed(bytes)) {
                Ok(parsed) => parsed,
                Err(error) => return task.unreadable(place, Error::not_json(error).to_string()),
            };
        if !matches!(record, Value::Object(_) | Value::Array(_)) {
            return task.unreadable(place, format!("expected a record (an object), got {}", record.kind()));
        }
        let id = task.id.find(record).and_then(id_of);
        let actual = task.actual.find(record);
        let expected = task.expected.find(record);
        let mut found = Found {
            readable: true,
            actual: actual.is_some(),
            expected: expected.is_some(),
            id: id.is_some(),
            groups: 0,
        };
        let mut group = Key::default();
        for (place, field) in task.group_by.iter().enumerate() {
            let value = field.find(record);
            found.groups |= u32::from(value.is_some()).checked_shl(place as u32).unwrap_or(0);
            group.push(value.unwrap_or(Value::Null));
        }
        let (actual, expected) = (actual.unwrap_or(Value::Null), expected.unwrap_or(Value::Null));
        let scored = score_values(task.options, (actual, reader), (expected, reader), scratch);
        let report = scored.unwrap_or_else(|(side, error)| {
            let field = match side {
                Side::Actual => &task.actual,
                Side::Expected => &task.expected,
            };
            Report::error(field.locate(error).to_string())
        });
        Row { id: id.unwrap_or(Id::of_place(place)), place, group: group.into(), report, found }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Actual,
    Expected,
}

/// Hold the calls in one value against those expected in the other.
pub fn score_values<'a>(
    options: Options,
    (actual, actual_reader): (Value<'a>, Reader<'a>),
    (expected, expected_reader): (Value<'a>, Reader<'a>),
    scratch: &mut Scratch,
) -> Result<Report, (Side, Error)> {
    let actual = actual_reader.calls(actual).map_err(|error| (Side::Actual, error))?;
    let expected = expected_reader.expected(expected).map_err(|error| (Side::Expected, error))?;
    let expectation = expected.map(|calls| Expectation::compile(options, calls, expected_reader.bump));
    expectation.as_ref().map_or(Ok(()), Expectation::unambiguous).map_err(|error| (Side::Expected, error))?;
    Ok(match (actual, expectation) {
        (actual, None) => Report::not_applicable(actual.map(<[_]>::len)),
        (None, Some(expectation)) => Report::not_reported(expectation.calls.len()),
        (Some(actual), Some(expectation)) => expectation.check(actual, scratch),
    })
}

/// Python may be set to convert no more digits than 640.
const MOST_DIGITS: usize = 600;

pub(crate) fn id_of(value: Value<'_>) -> Option<Id> {
    match value {
        Value::Null => None,
        Value::Int(int) => Some(Id::Int(int)),
        Value::Text(text) => Some(Id::Text(show::storable(text).into())),
        Value::Big(big) => big.digits(MOST_DIGITS).map(|digits| Id::Big(digits.into())),
        other => {
            let mut json = String::new();
            show::value(other, &mut json);
            Some(Id::Text(json.into()))
        }
    }
}

/// Which fields a record had.
#[derive(Clone, Copy, Default)]
pub struct Found {
    pub readable: bool,
    pub actual: bool,
    pub expected: bool,
    pub id: bool,
    /// Of the fields to group by, a bit for each.
    pub groups: u32,
}

impl Found {
    /// Was there one of the fields that are needed, by its place among them?
    pub fn has(self, place: usize) -> bool {
        match place {
            0 => self.actual,
            1 => self.expected,
            _ => self.groups.checked_shr(place as u32 - 2).is_some_and(|bits| bits & 1 == 1),
        }
    }
}

impl BitOrAssign for Found {
    fn bitor_assign(&mut self, other: Found) {
        self.readable |= other.readable;
        self.actual |= other.actual;
        self.expected |= other.expected;
        self.id |= other.id;
        self.groups |= other.groups;
    }
}

/// The path of an error inside a field starts with the field.
impl Field {
    fn locate(&self, error: Error) -> Error {
        self.steps().rev().fold(error, |error, step| match step.parse() {
            Ok(index) => error.at_index(index),
            Err(_) => error.at_key(Text::from(step)),
        })
    }
}
