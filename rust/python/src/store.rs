//! Traces in files.

use std::{
    io,
    ops::Range,
    path::PathBuf,
    sync::{Arc, OnceLock, atomic::Ordering},
    time::Duration,
};

use bumpalo::Bump;
use callmatch_core::{
    call::Reader,
    error::Error,
    matching::Scratch,
    options::Options,
    report::Report,
    score::{Id, Row, Side, Worker, score_values},
    show::storable,
    source::Progress,
    text::Text,
    trace::{
        columns::Of,
        formats,
        span::{Kind, RecordedAs},
        store::{Entry, Files, Finder, Input, Kept, Opener, Store},
        stored::Trace,
    },
    value::Value,
};
use pyo3::{
    intern,
    prelude::*,
    pybacked::PyBackedBytes,
    types::{PyBytes, PyDict, PyList},
};
use rayon::prelude::*;

use crate::{batch::Batch, columns::SpanColumns, errors, threads::threads, trace, trajectory::Trajectory, write};

/// How often signals are looked at.
const PATIENCE: Duration = Duration::from_millis(50);

/// All traces of some files, found when they are first needed and read when they are asked for.
#[pyclass(frozen, module = "callmatch._core")]
pub struct TraceStore {
    files: Arc<Files>,
    threads: usize,
    found: OnceLock<Arc<Store>>,
}

#[pymethods]
impl TraceStore {
    /// Open files, each given as its path, its name, the id of its only trace if that has none, and whether it is temporary.
    /// `progress` is told how many bytes were read; where it is given, the traces are found at once. So they are where the
    /// first records don't say that there is any.
    #[new]
    #[pyo3(signature = (files, *, format = None, threads = 0, only_traces = true, progress = None))]
    fn new(
        py: Python<'_>,
        files: Vec<(PathBuf, String, Option<String>, bool)>,
        format: Option<&str>,
        threads: usize,
        only_traces: bool,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let wanted = format.map(formats::Wanted::named).transpose().map_err(|error| errors::to_python(py, &error))?;
        let inputs = files.into_iter().map(|(path, name, id, is_temporary)| Input { path, name, id, is_temporary });
        let read = Progress::default();
        let mut opener = Opener::new(inputs.collect(), wanted, only_traces, read.clone());
        let files = waiting(py, progress, &read, || opener.step(PATIENCE))?;
        let is_sure = files.hold_a_trace;
        let store = TraceStore { files: Arc::new(files), threads, found: OnceLock::new() };
        if progress.is_some() || !is_sure {
            store.find_all(py, None, progress, read)?;
        }
        Ok(store)
    }

    /// Is there a trace?
    fn __bool__(&self) -> bool {
        self.files.hold_a_trace || self.found.get().is_some_and(|store| !store.entries.is_empty())
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.store(py)?.entries.len())
    }

    /// The ids of the traces, in their order; None where one has none.
    fn ids(&self, py: Python<'_>) -> PyResult<Vec<Option<&str>>> {
        Ok(self.store(py)?.entries.iter().map(|entry| entry.id.as_deref()).collect())
    }

    /// The place of the first trace with this id.
    fn find(&self, py: Python<'_>, id: &str) -> PyResult<Option<usize>> {
        Ok(self.store(py)?.find(id))
    }

    /// Where a trace is, for people.
    fn place(&self, py: Python<'_>, place: usize) -> PyResult<Option<String>> {
        let store = self.store(py)?;
        Ok(store.entries.get(place).map(|entry| store.named(entry)))
    }

    /// The traces from one place to another, as dicts; in this library's own format as JSON text; or why one can't be read, as a
    /// text.
    fn load<'py>(&self, py: Python<'py>, start: usize, stop: usize) -> PyResult<Bound<'py, PyList>> {
        let (list, store) = (PyList::empty(py), self.store(py)?);
        let stop = stop.min(store.entries.len());
        if (start..stop).len() == 1
            && let Some(text) = store.text(start)?
        {
            list.append(PyBytes::new(py, &text))?;
            return Ok(list);
        }
        let bump = Bump::new();
        for read in copies(store, start..stop, &bump) {
            match read {
                Ok(trace) => list.append(to_dict(py, &trace)?)?,
                Err(why) => list.append(why)?,
            }
        }
        Ok(list)
    }

    /// The ids of the conversations and of the tests of all traces, in their order.
    fn about(&self, py: Python<'_>) -> PyResult<(Ids, Ids)> {
        let (mut conversations, mut tests) = (Vec::new(), Vec::new());
        let plain = |text: Option<Text<'_>>| text.map(storable);
        let store = self.store(py)?;
        for start in (0..store.entries.len()).step_by(STEP) {
            let stop = (start + STEP).min(store.entries.len());
            let (more, and_more) = py.detach(|| {
                let (mut conversations, mut tests) = (Vec::new(), Vec::new());
                store.load(start..stop, |_, trace| {
                    let trace = trace.ok();
                    conversations.push(trace.and_then(|trace| plain(trace.conversation_id)));
                    tests.push(trace.and_then(|trace| plain(trace.test_id)));
                });
                (conversations, tests)
            });
            conversations.extend(more);
            tests.extend(and_more);
            py.check_signals()?;
        }
        Ok((conversations, tests))
    }

    /// What is known of the spans of all traces, or of those of a kind, column by column, in parts of so many traces. Where the
    /// traces were not found yet, they are read while they are.
    #[pyo3(signature = (size, kind = None))]
    fn columns(&self, py: Python<'_>, size: usize, kind: Option<&str>) -> PyResult<SpanColumns> {
        let kind = kind.map(Kind::named).transpose().map_err(|error| errors::to_python(py, &error))?;
        let of = kind.map_or(Of::All, Of::Kind);
        let kept = match self.found.get() {
            Some(_) => None,
            None => self.find_all(py, Some(of), None, Progress::default())?,
        };
        Ok(SpanColumns::new(self.store(py)?.clone(), kept, of, size))
    }

    /// Hold tool calls against those expected of them: for each row what it is called, the places of the traces whose calls
    /// count as those of one, and the JSON text of the expected calls, if anything is expected.
    fn score(&self, py: Python<'_>, trajectory: &Trajectory, rows: Vec<Wanted>, calls: &str) -> PyResult<Batch> {
        let counted = RecordedAs::counted(calls).map_err(|error| errors::to_python(py, &error))?;
        let scoring = Scoring { store: self.store(py)?, options: trajectory.options, counted };
        py.check_signals()?;
        let parts = rows.par_chunks(A_THREADS_SHARE).map(|rows| scoring.rows(rows));
        let pool = threads(0)?;
        let parts = py.detach(|| pool.install(|| parts.collect::<Vec<_>>()));
        let options = trajectory.options;
        let rows = parts.into_iter().flatten().collect();
        Ok(Batch { options, file: None, rows, by: Arc::default(), bytes_read: 0 })
    }

    /// The files, each with its name and its format; None where nothing is in it that could be read.
    #[getter]
    fn files(&self) -> Vec<(&str, Option<&'static str>)> {
        self.files.formats().collect()
    }

    /// Which of the files each trace is in, or begins in.
    fn file_of(&self, py: Python<'_>) -> PyResult<Vec<usize>> {
        Ok(self.store(py)?.entries.iter().map(Entry::file).collect())
    }

    /// Of each trace from one place to another, how many turns it has, and whether it is known which tools were called in it;
    /// or why it can't be read.
    fn outlines(&self, py: Python<'_>, start: usize, stop: usize) -> PyResult<Vec<Outline>> {
        let store = self.store(py)?;
        let outlines = |range: Range<usize>| {
            let mut outlines = Vec::with_capacity(range.len());
            store.load(range, |_, trace| {
                outlines.push(match trace {
                    Ok(trace) => Outline::Read(trace.conversation.turns().count(), trace.reported),
                    Err(why) => Outline::Unread(why),
                });
            });
            outlines
        };
        let all = start..stop.min(store.entries.len());
        py.check_signals()?;
        let parts = shares(all).into_par_iter().map(outlines);
        let pool = threads(0)?;
        let parts: Vec<Vec<Outline>> = py.detach(|| pool.install(|| parts.collect()));
        Ok(parts.into_iter().flatten().collect())
    }

    /// What could not be read or was guessed, with its place.
    #[getter]
    fn problems(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.store(py)?.problems())
    }

    /// The formats that the files are in.
    #[getter]
    fn formats(&self) -> Vec<&'static str> {
        let mut names: Vec<&'static str> = Vec::new();
        for (_, name) in self.files.formats() {
            names.extend(name.filter(|name| !names.contains(name)));
        }
        names
    }
}

type Ids = Vec<Option<String>>;

/// What is known of a trace at first sight.
#[derive(IntoPyObject)]
enum Outline {
    Read(usize, bool),
    Unread(String),
}

/// How many traces are read between two looks at signals.
const STEP: usize = 256;

/// Traces that are read by one thread before it takes others.
const A_THREADS_SHARE: usize = 64;

/// A row to be scored.
type Wanted = (Option<String>, Vec<usize>, Option<PyBackedBytes>);

#[derive(Clone, Copy)]
struct Scoring<'s> {
    store: &'s Store,
    options: Options,
    counted: RecordedAs,
}

impl Scoring<'_> {
    fn rows(self, wanted: &[Wanted]) -> Vec<Row> {
        let mut worker = Worker::default();
        let mut rows = Vec::with_capacity(wanted.len());
        let mut rest = wanted;
        while let Some((first, others)) = rest.split_first() {
            // Traces that are stored one after the other are read together.
            let follows = |(place, (_, places, _)): (usize, &Wanted)| matches!(places[..], [one] if one == place);
            let run = match first.1[..] {
                [place] => 1 + (place + 1..).zip(others).take_while(|pair| follows(*pair)).count(),
                _ => 1,
            };
            let (together, after) = rest.split_at(run);
            match first.1[..] {
                [place] => self.store.load(place..place + run, |at, trace| {
                    if let Some(wanted) = together.get(at - place) {
                        let (bump, scratch) = worker.room();
                        let reader = Reader::new(bump, true);
                        let made = trace.map(|trace| trace.calls(reader.bump, self.counted));
                        rows.push(self.row(wanted, made, reader, scratch));
                    }
                }),
                _ => {
                    let (bump, scratch) = worker.room();
                    let reader = Reader::new(bump, true);
                    rows.push(self.row(first, self.joined(&first.1, reader), reader, scratch));
                }
            }
            rest = after;
        }
        rows
    }

    /// The calls of several traces as those of one. Not reported, if they are not of one of them.
    fn joined<'b>(self, places: &[usize], reader: Reader<'b>) -> Result<Value<'b>, String> {
        let mut all = Vec::new();
        let (mut failed, mut reported) = (None, true);
        for &place in places {
            self.store.load(place..place + 1, |_, trace| match trace {
                Ok(trace) => match trace.calls(reader.bump, self.counted).copy_to(reader.bump) {
                    Value::Array(calls) => all.extend_from_slice(calls),
                    _ => reported = false,
                },
                Err(why) => failed = Some(why),
            });
        }
        match failed {
            Some(why) => Err(why),
            None if places.is_empty() => Err("there is no trace with this id".to_owned()),
            None if !reported => Ok(Value::Null),
            None => Ok(Value::Array(reader.bump.alloc_slice_copy(&all))),
        }
    }

    fn row<'a>(
        self,
        (id, places, expected): &'a Wanted,
        made: Result<Value<'a>, String>,
        reader: Reader<'a>,
        scratch: &mut Scratch,
    ) -> Row {
        let expected = expected.as_deref().map_or(Value::Null, |text| Value::Text(Text::Utf8(text)));
        let report = made.map_or_else(Report::error, |made| {
            score_values(self.options, (made, reader), (expected, reader), scratch).unwrap_or_else(|(side, error)| {
                let side = match side {
                    Side::Actual => "tool_calls",
                    Side::Expected => "expected_tool_calls",
                };
                Report::error(error.at_key(Text::from(side)).to_string())
            })
        });
        let mut row = Row::new(places.first().map_or(0, |place| *place as u64 + 1), report);
        if let Some(id) = id {
            row.id = Id::Text(id.as_str().into());
        }
        row
    }
}

impl TraceStore {
    /// The traces, which are found now if they were not yet. Several threads may do so at the same time; the first is believed.
    fn store(&self, py: Python<'_>) -> PyResult<&Arc<Store>> {
        match self.found.get() {
            Some(store) => Ok(store),
            None => {
                self.find_all(py, None, None, Progress::default())?;
                self.found.get().ok_or_else(|| to_python(py, io::ErrorKind::UnexpectedEof.into()))
            }
        }
    }

    /// Find the traces, and keep the columns of those that are wanted.
    fn find_all(
        &self,
        py: Python<'_>,
        columns: Option<Of>,
        progress: Option<&Bound<'_, PyAny>>,
        read: Progress,
    ) -> PyResult<Option<Kept>> {
        let mut finder = Finder::new(self.files.clone(), self.threads, columns, read.clone());
        let (store, kept) = waiting(py, progress, &read, || finder.step(PATIENCE))?;
        let is_first = self.found.set(Arc::new(store)).is_ok();
        // What is kept says nothing of what another thread found meanwhile.
        Ok(kept.filter(|_| is_first))
    }
}

/// Go on step by step until something comes of it, looking at signals meanwhile.
fn waiting<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    read: &Progress,
    mut step: impl FnMut() -> io::Result<Option<T>> + Send,
) -> PyResult<T> {
    loop {
        let done = py.detach(&mut step).map_err(|error| to_python(py, error))?;
        if let Some(progress) = progress {
            progress.call1((read.load(Ordering::Relaxed),))?;
        }
        if let Some(done) = done {
            return Ok(done);
        }
        py.check_signals()?;
    }
}

/// Traces that are one after the other, as parts that a thread works on before it takes another.
pub fn shares(all: Range<usize>) -> Vec<Range<usize>> {
    let stop = all.end;
    all.step_by(A_THREADS_SHARE).map(|start| start..(start + A_THREADS_SHARE).min(stop)).collect()
}

fn copies<'b>(store: &Store, range: Range<usize>, bump: &'b Bump) -> Vec<Result<Trace<'b>, String>> {
    let mut copies = Vec::with_capacity(range.len());
    let reader = Reader::new(bump, true);
    store.load(range, |_, trace| copies.push(trace.map(|trace| trace.copy_to(bump).decoded(reader))));
    copies
}

/// The words of all formats.
#[pyfunction]
pub fn trace_formats() -> Vec<&'static str> {
    formats::words()
}

fn to_python(py: Python<'_>, error: io::Error) -> PyErr {
    match error.kind() {
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
            errors::to_python(py, &Error::value(error.to_string()))
        }
        _ => error.into(),
    }
}

fn to_dict<'py>(py: Python<'py>, read: &Trace<'_>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item(intern!(py, "id"), trace::text(py, read.id)?)?;
    dict.set_item(intern!(py, "conversation_id"), trace::text(py, read.conversation_id)?)?;
    dict.set_item(intern!(py, "test_id"), trace::text(py, read.test_id)?)?;
    let turns = PyList::empty(py);
    for (turn, spans) in read.conversation.turns() {
        let list = PyList::empty(py);
        for span in spans {
            let dict = trace::span(py, span)?;
            dict.set_item(intern!(py, "kind"), span.kind.word())?;
            list.append(dict)?;
        }
        let dict = trace::turn(py, turn, list)?;
        dict.set_item(intern!(py, "tool_calls_reported"), read.reported)?;
        turns.append(dict)?;
    }
    dict.set_item(intern!(py, "turns"), turns)?;
    dict.set_item(intern!(py, "attributes"), write::value(py, Value::Object(&read.attributes))?)?;
    Ok(dict)
}
