//! Scoring every record of a file: bytes in, reports out, on all cores.

use std::{io, path::Path, sync::Arc};

use bumpalo::Bump;
use rayon::prelude::*;

use crate::{
    call::Reader,
    error::{Error, nearest},
    expected::Expectation,
    field::Field,
    json,
    matching::Scratch,
    options::Options,
    records::{Block, Record, Records},
    report::Report,
    show,
    source::{self, Progress},
    text::Text,
    value::Value,
};

/// What to score, and where it lies in each record.
#[derive(Clone, Debug)]
pub struct Task {
    pub options: Options,
    pub actual: Field,
    pub expected: Field,
    pub id: Field,
}

pub struct Row {
    pub id: Id,
    pub place: u64,
    pub report: Report,
    pub found: Found,
}

impl Row {
    /// A row that is called by its place.
    pub fn new(place: u64, report: Report) -> Self {
        Row { id: Id::Int(i64::try_from(place).unwrap_or(i64::MAX)), place, report, found: Found::default() }
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
    pub fn score_texts<'t>(
        &'t mut self,
        options: Options,
        actual: Option<&'t [u8]>,
        expected: Option<&'t [u8]>,
    ) -> Result<Report, (Side, Error)> {
        let (bump, scratch) = self.room();
        let parse = |text: Option<&'t [u8]>| {
            text.map_or(Ok((Value::Null, Reader { bump, may_be_deep: false })), |text| parse_bytes(text, bump))
        };
        let actual = parse(actual).map_err(|error| (Side::Actual, error))?;
        let expected = parse(expected).map_err(|error| (Side::Expected, error))?;
        score_values(options, actual, expected, scratch)
    }

    fn score_record(&mut self, task: &Task, place: u64, bytes: &[u8]) -> Row {
        let (bump, scratch) = self.room();
        let mut found = Found::default();
        let row = |id, report, found| Row { id, place, report, found };
        let (record, reader) = match parse_bytes(bytes, bump) {
            Ok(parsed) => parsed,
            Err(error) => return Row::new(place, Report::error(error.to_string())),
        };
        let id = task.id.find(record).and_then(id_of).unwrap_or(Id::Int(i64::try_from(place).unwrap_or(i64::MAX)));
        if !matches!(record, Value::Object(_) | Value::Array(_)) {
            let message = format!("expected a record (an object), got {}", record.kind());
            return row(id, Report::error(message), found);
        }
        let actual = task.actual.find(record);
        let expected = task.expected.find(record);
        found = Found { readable: true, actual: actual.is_some(), expected: expected.is_some() };
        let (actual, expected) = (actual.unwrap_or(Value::Null), expected.unwrap_or(Value::Null));
        let scored = score_values(task.options, (actual, reader), (expected, reader), scratch);
        let report = scored.unwrap_or_else(|(side, error)| {
            let field = match side {
                Side::Actual => &task.actual,
                Side::Expected => &task.expected,
            };
            Report::error(field.locate(error).to_string())
        });
        row(id, report, found)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Actual,
    Expected,
}

fn parse_bytes<'a>(bytes: &'a [u8], bump: &'a Bump) -> Result<(Value<'a>, Reader<'a>), Error> {
    let parsed = json::check_utf8(bytes).and_then(|()| Reader::parse(bytes, bump));
    parsed.map_err(|error| Error::value(format!("not JSON: {error}")))
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
    Ok(match (actual, expected) {
        (actual, None) => Report::not_applicable(actual.map(<[_]>::len)),
        (None, Some(expected)) => Report::not_reported(expected.len()),
        (Some(actual), Some(expected)) => {
            Expectation::compile(options, expected, expected_reader.bump).check(actual, scratch)
        }
    })
}

/// Python converts no more digits than 4,300.
const MOST_DIGITS: usize = 4000;

fn id_of(value: Value<'_>) -> Option<Id> {
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
    readable: bool,
    actual: bool,
    expected: bool,
}

/// Scores one file after the other, a block of records at a time.
pub struct Scorer {
    task: Task,
    /// None: the thread that asks does all the work.
    pool: Option<rayon::ThreadPool>,
    file: Option<Open>,
    /// The block that was read while the last one was scored.
    ahead: Option<io::Result<Option<Block>>>,
    found: Found,
    /// For a field that was in no record: what the first record has instead.
    instead: Option<Vec<(String, Vec<String>)>>,
    rows: u64,
}

struct Open {
    name: Arc<str>,
    records: Records<Box<dyn io::Read + Send>>,
    rows: u64,
}

/// The rows of one block.
pub struct Chunk {
    pub file: Arc<str>,
    pub rows: Vec<Row>,
}

impl Scorer {
    /// `threads`: 0 for as many as there are cores.
    pub fn new(task: Task, threads: usize) -> io::Result<Self> {
        let pool = match threads {
            1 => None,
            _ => Some(rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(io::Error::other)?),
        };
        Ok(Scorer { task, pool, file: None, ahead: None, found: Found::default(), instead: None, rows: 0 })
    }

    /// Go on with a file; `-` is standard input.
    pub fn open(&mut self, path: &Path, progress: Progress) -> io::Result<()> {
        let records = Records::new(source::open(path, progress)?);
        let name = if path == Path::new("-") { "standard input".into() } else { path.to_string_lossy() };
        self.file = Some(Open { name: name.into(), records, rows: 0 });
        Ok(())
    }

    /// The rows of the next block of the file, or None at its end. After [`source::is_interrupt`] this can be called again.
    pub fn next_chunk(&mut self) -> io::Result<Option<Chunk>> {
        let Some(file) = &mut self.file else { return Ok(None) };
        let block = match self.ahead.take() {
            Some(block) => block?,
            None => file.records.next_block()?,
        };
        let Some(block) = block else {
            let rows = file.rows;
            self.file = None;
            return if rows > 0 {
                Ok(None)
            } else {
                Err(io::Error::new(io::ErrorKind::InvalidData, "it holds no records"))
            };
        };
        let task = &self.task;
        let name = &file.name;
        let (rows, ahead) = match &self.pool {
            None => {
                let mut worker = Worker::default();
                let each = block.records.iter().map(|record| score(&mut worker, task, &block.bytes, record, name));
                (each.collect(), None)
            }
            Some(pool) => {
                let mut rows: Vec<Row> = Vec::new();
                let ahead = pool.in_place_scope(|scope| {
                    scope.spawn(|_| {
                        let records = block.records.par_iter().with_min_len(16);
                        let each = records.map_init(Worker::default, |worker, record| {
                            score(worker, task, &block.bytes, record, name)
                        });
                        each.collect_into_vec(&mut rows);
                    });
                    file.records.next_block()
                });
                (rows, Some(ahead))
            }
        };
        // An error waits for its turn; an interrupted reading is taken up again.
        self.ahead = ahead.filter(|ahead| !ahead.as_ref().is_err_and(source::is_interrupt));
        for (row, record) in rows.iter().zip(&block.records) {
            if row.found.readable && self.instead.is_none() {
                self.instead =
                    record.bytes.as_ref().ok().map(|range| fields_instead(task, &block.bytes[range.clone()]));
            }
            self.found.readable |= row.found.readable;
            self.found.actual |= row.found.actual;
            self.found.expected |= row.found.expected;
        }
        file.records.recycle(block);
        file.rows += rows.len() as u64;
        self.rows += rows.len() as u64;
        Ok(Some(Chunk { file: file.name.clone(), rows }))
    }

    /// After the last file: a field that was in no record is a mistake.
    pub fn finish(&self) -> Result<(), Error> {
        let fields =
            [(&self.task.actual, self.found.actual, "actual"), (&self.task.expected, self.found.expected, "expected")];
        for (field, found, option) in fields {
            if self.found.readable && !found {
                let instead = self.instead.iter().flatten().find(|(written, _)| *written == field.written);
                let keys: Vec<&str> =
                    instead.iter().flat_map(|(_, keys)| keys.iter().map(String::as_str)).take(20).collect();
                let mut message = format!("no record has the field {:?} ({option})", field.written);
                if !keys.is_empty() {
                    message += &format!("; the first one has {}", keys.join(", "));
                }
                let last = field.written.rsplit(['.', '/']).next().unwrap_or_default();
                if let Some(near) = nearest(last, &keys) {
                    message += &format!("; did you mean {near:?}?");
                }
                return Err(Error::value(message));
            }
        }
        Ok(())
    }
}

fn score(worker: &mut Worker, task: &Task, bytes: &[u8], record: &Record, file: &str) -> Row {
    let place = record.place;
    let mut row = match &record.bytes {
        Ok(range) => worker.score_record(task, place, &bytes[range.clone()]),
        Err(problem) => Row::new(place, Report::error(problem.as_str())),
    };
    if let Some(error) = &mut row.report.error {
        *error = format!("{file}:{place}: {error}").into();
    }
    row
}

fn fields_instead(task: &Task, bytes: &[u8]) -> Vec<(String, Vec<String>)> {
    let bump = Bump::new();
    let Ok((record, _)) = Reader::parse(bytes, &bump) else { return Vec::new() };
    let fields = [&task.actual, &task.expected];
    fields.into_iter().filter_map(|field| Some((field.written.clone(), field.keys_instead(record)?))).collect()
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
