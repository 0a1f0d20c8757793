//! Checking many requests: those of a batch, and the records of files on several threads. A request that can't be read is a
//! row with an error, and stops nothing.

use std::{
    io::{self, Read},
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::Arc,
    time::Duration,
};

use bumpalo::{Bump, collections::Vec as ArenaVec};

use super::{
    check,
    report::{self, Check, Report, Verdict},
    request::{REQUEST_DEPTH, Request},
    settings::Settings,
};
use crate::{
    error::Error,
    files::AHEAD,
    json,
    pipeline::{self, Pipeline},
    records::{Block, Records},
    score::{Id, Worker, id_of},
    show,
    source::{self, Progress},
    text::Text,
    value::{Member, Object, Value, get},
};

/// The rows that are given out at a time come from at least so many blocks, if there are.
const BLOCKS: usize = 4;

/// What came of one request.
#[derive(Debug)]
pub struct Row {
    pub id: Id,
    /// The line or the number of a record of a file, the index of a request in a batch.
    pub place: u64,
    /// Or what is wrong with the request.
    pub report: Result<Report, Box<str>>,
    /// The JSON text of the record, where it is kept for somebody.
    pub record: Option<Box<[u8]>>,
}

impl Row {
    pub fn error(place: u64, error: impl Into<Box<str>>) -> Self {
        Row { id: Id::of_place(place), place, report: Err(error.into()), record: None }
    }

    /// A row that is called by its place.
    pub fn of_batch(place: u64, report: Report) -> Self {
        Row { id: Id::of_place(place), place, report: Ok(report), record: None }
    }

    /// The answer as JSON text on one line, with the evidence for all instructions as one list.
    pub fn write_json(&self, bump: &Bump, out: &mut String) {
        let mut members = ArenaVec::new_in(bump);
        let member = |key: &'static str, value| Member { key: Text::from(key), value };
        members.push(member("id", id_value(&self.id)));
        match &self.report {
            Ok(report) => {
                if let Value::Object(answer) = report.value(bump) {
                    members.extend_from_slice(answer);
                }
                members.push(member("evidence", report.evidence(bump)));
            }
            Err(error) => members.push(member("error", Value::Text(Text::from(&**error)))),
        }
        show::write_json(Value::Object(&members), out);
    }
}

fn id_value(id: &Id) -> Value<'_> {
    match id {
        Id::Int(int) => Value::Int(*int),
        // JSON has no place for so many digits that every reader would keep.
        Id::Big(text) | Id::Text(text) => Value::Text(Text::from(&**text)),
    }
}

/// Check a request; what breaks on the way is its error.
pub fn checked(request: &Request<'_>, settings: &Settings, bump: &Bump) -> Result<Report, Error> {
    let report = catch_unwind(AssertUnwindSafe(|| check(request, settings, bump)));
    // The last net: no request stops those beside it.
    report.map_err(|_| Error::value("the check broke down; please report this request"))
}

/// Read a request and check it.
pub fn check_value<'a>(value: Value<'a>, settings: &Settings, bump: &'a Bump) -> Result<Report, Error> {
    let mut request = Request::read(value, bump)?;
    request.or_tools(settings, bump)?;
    checked(&request, settings, bump)
}

/// Check a request that is JSON text.
pub fn check_json(bytes: &[u8], settings: &Settings, worker: &mut Worker) -> Result<Report, Error> {
    let (bump, _) = worker.room();
    json::check_utf8(bytes).map_err(Error::not_json)?;
    check_value(json::parse(bytes, REQUEST_DEPTH, bump).map_err(Error::not_json)?, settings, bump)
}

/// Check a record: a request, or an object with one under `request`, and perhaps an `id` beside it or in it.
pub fn check_record(bytes: &[u8], place: u64, settings: &Settings, worker: &mut Worker) -> Row {
    let (bump, _) = worker.room();
    let parsed = json::check_utf8(bytes).and_then(|()| json::parse(bytes, REQUEST_DEPTH, bump));
    let record = match parsed {
        Ok(record) => record,
        Err(error) => return Row::error(place, Error::not_json(error).to_string()),
    };
    let members: Object<'_> = if let Value::Object(members) = record { members } else { &[] };
    let inner = get(members, Text::from("request"));
    let id = get(members, Text::from("id")).and_then(id_of).unwrap_or(Id::of_place(place));
    let report = match inner {
        Some(request) => check_value(request, settings, bump).map_err(|error| error.at_key(Text::from("request"))),
        None => check_value(record, settings, bump),
    };
    Row { id, place, report: report.map_err(|error| error.to_string().into()), record: None }
}

/// How often each verdict came up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub rows: usize,
    pub errors: usize,
    /// By [`Check`] and [`Verdict`], in the order of their `ALL`.
    pub verdicts: [[usize; Verdict::ALL.len()]; Check::ALL.len()],
}

impl Counts {
    pub fn of(rows: &[Row]) -> Self {
        let mut counts = Counts { rows: rows.len(), ..Counts::default() };
        for row in rows {
            let Ok(report) = &row.report else {
                counts.errors += 1;
                continue;
            };
            for (verdicts, decision) in counts.verdicts.iter_mut().zip(&report.decisions) {
                if let Some(count) = verdicts.get_mut(decision.verdict as usize) {
                    *count += 1;
                }
            }
        }
        counts
    }
}

/// The score of a report, and its check that sets it.
pub fn score(report: &Report) -> Option<(f64, Check)> {
    let (score, index) = report::score(&report.probabilities())?;
    Some((score, Check::ALL.get(index).copied()?))
}

/// Checks one file after the other.
pub struct Checker {
    settings: Arc<Settings>,
    threads: usize,
    /// Whether rows keep the JSON text of their records.
    keep: bool,
    file: Option<Running>,
}

struct Running {
    name: Arc<str>,
    blocks: Pipeline<Vec<Row>>,
    /// What is to be given out next, and of how many blocks it is.
    rows: Vec<Row>,
    count: usize,
    /// What to raise after those.
    failed: Option<io::Error>,
    at_end: bool,
}

/// What came of waiting for rows.
pub enum Next {
    Rows(Arc<str>, Vec<Row>),
    /// Nothing yet; ask again.
    Pending,
    End,
}

impl Checker {
    /// `threads`: 0 for as many as there are cores.
    pub fn new(settings: Settings, threads: usize, keep: bool) -> Self {
        Checker { settings: Arc::new(settings), threads: pipeline::threads(threads), keep, file: None }
    }

    /// Go on with a file; `-` is standard input.
    pub fn open(&mut self, path: &Path, progress: Progress) -> io::Result<()> {
        let records: Records<Box<dyn Read + Send>> = Records::new(source::open(path, progress)?);
        let name = if path == Path::new("-") { "standard input".into() } else { path.to_string_lossy() };
        let name: Arc<str> = name.into();
        let (settings, keep, file) = (self.settings.clone(), self.keep, name.clone());
        let blocks = Pipeline::start(records, self.threads, AHEAD, || {
            let (settings, file, mut worker) = (settings.clone(), file.clone(), Worker::default());
            move |block: &Block| rows_of(block, &file, &settings, keep, &mut worker)
        })?;
        self.file = Some(Running { name, blocks, rows: Vec::new(), count: 0, failed: None, at_end: false });
        Ok(())
    }

    /// Wait for the next rows of the file, but not longer than that.
    pub fn next(&mut self, longest: Duration) -> io::Result<Next> {
        let Some(file) = &mut self.file else { return Ok(Next::End) };
        while file.count < BLOCKS && file.failed.is_none() && !file.at_end {
            match file.blocks.next(longest) {
                Ok(pipeline::Next::Pending) => return Ok(Next::Pending),
                Ok(pipeline::Next::End) => file.at_end = true,
                // What came before it is given out first.
                Err(error) => file.failed = Some(error),
                Ok(pipeline::Next::Done(mut rows)) => {
                    file.count += 1;
                    file.rows.append(&mut rows);
                }
            }
        }
        file.count = 0;
        let rows = std::mem::take(&mut file.rows);
        if !rows.is_empty() {
            return Ok(Next::Rows(file.name.clone(), rows));
        }
        match file.failed.take() {
            Some(error) => Err(error),
            None => {
                self.file = None;
                Ok(Next::End)
            }
        }
    }
}

fn rows_of(block: &Block, file: &str, settings: &Settings, keep: bool, worker: &mut Worker) -> Vec<Row> {
    let row = |record: &crate::records::Record| {
        let place = record.place;
        let bytes = record.bytes.as_ref().map(|range| block.bytes.get(range.clone()).unwrap_or_default());
        let mut row = match bytes {
            Ok(bytes) => check_record(bytes, place, settings, worker),
            Err(problem) => Row::error(place, problem.as_str()),
        };
        if let Err(error) = &mut row.report {
            let place = if block.by_line { format!("{place}:") } else { format!(" record {place}:") };
            *error = format!("{}:{place} {error}", show::plain(Text::from(file))).into();
        } else if keep {
            row.record = bytes.ok().map(Into::into);
        }
        row
    };
    block.records.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const REQUEST: &str = r#"{"user_query": "q", "generated_text": "t", "tool_trace": []}"#;

    fn json_of(row: &Row) -> String {
        let mut out = String::new();
        row.write_json(&Bump::new(), &mut out);
        out
    }

    #[test]
    fn a_record_is_a_request_or_holds_one() {
        let mut worker = Worker::default();
        let mut check = |record: &str| check_record(record.as_bytes(), 7, &Settings::default(), &mut worker);
        for (record, id) in [
            (REQUEST.to_owned(), Id::Int(7)),
            (format!(r#"{{"id": "a", "request": {REQUEST}}}"#), Id::Text("a".into())),
            (REQUEST.replace("\"user_query\"", "\"id\": 3, \"user_query\""), Id::Int(3)),
        ] {
            let row = check(&record);
            assert!(row.report.is_ok() && row.id == id, "{row:?}");
        }
        let row = check(r#"{"id": "b", "request": {"user_query": ""}}"#);
        assert_eq!(json_of(&row), r#"{"id": "b", "error": "request.generated_text: missing; expected a text"}"#);
        assert_eq!(json_of(&check("[1")), r#"{"id": 7, "error": "not JSON: the text ends too early (at byte 2)"}"#);
        assert!(json_of(&check("3")).contains("expected an object"));
    }

    #[test]
    fn rows_of_a_file_are_in_its_order_and_errors_have_their_line() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        for line in 0..2000 {
            let line =
                if line == 1000 { "{}".to_owned() } else { format!(r#"{{"id": {line}, "request": {REQUEST}}}"#) };
            writeln!(file, "{line}").unwrap();
        }
        let mut checker = Checker::new(Settings::default(), 2, true);
        checker.open(file.path(), Progress::default()).unwrap();
        let mut rows = Vec::new();
        loop {
            match checker.next(Duration::from_secs(9)).unwrap() {
                Next::Rows(_, more) => rows.extend(more),
                Next::Pending => {}
                Next::End => break,
            }
        }
        assert_eq!(rows.len(), 2000);
        for (index, row) in rows.iter().enumerate() {
            assert_eq!(row.place, index as u64 + 1);
            if index == 1000 {
                let name = file.path().to_string_lossy();
                let error = row.report.as_ref().unwrap_err();
                assert_eq!(&**error, format!("{name}:1001: user_query: missing; expected a text"));
            } else {
                assert_eq!(row.id, Id::Int(index as i64));
                assert!(row.record.as_ref().is_some_and(|record| record.ends_with(b"}}")));
            }
        }
        let counts = Counts::of(&rows);
        assert_eq!((counts.rows, counts.errors), (2000, 1));
        assert!(counts.verdicts.iter().all(|verdicts| verdicts.iter().sum::<usize>() == 1999));
    }
}
