//! `_core.Trajectory`: holding tool calls against expectations, one trace or many.

use std::cell::RefCell;

use bumpalo::Bump;
use callmatch_core::{
    error::Error,
    matching::Scratch,
    options::{ArgumentMode, MatchMode, Options},
    report::Report,
    score::{Id, Row, Side, Worker, score_values},
    text::Text,
};
use pyo3::{
    exceptions::PyException,
    prelude::*,
    pybacked::{PyBackedBytes, PyBackedStr},
    types::{PyBytes, PyString, PyTuple},
};
use rayon::prelude::*;

use crate::{batch, batch::Batch, errors, read};

/// How calls are matched. Stateless, and shared by any number of threads.
#[pyclass(frozen, module = "callmatch._core")]
pub struct Trajectory {
    pub options: Options,
}

thread_local! {
    /// Used again from call to call.
    static ROOM: RefCell<(Bump, Scratch)> = RefCell::default();
}

/// After a row that took more than this, the room is given back.
const MOST_KEPT: usize = 1 << 20;

#[pymethods]
impl Trajectory {
    #[new]
    fn new(py: Python<'_>, r#match: &str, arguments: &str) -> PyResult<Self> {
        let parsed = MatchMode::parse(r#match).and_then(|match_mode| {
            Ok(Options { match_mode, arguments: ArgumentMode::parse(arguments)? })
        });
        Ok(Trajectory { options: parsed.map_err(|error| errors::to_python(py, &error))? })
    }

    /// (score, verdict, passed, reason, details)
    fn evaluate<'py>(&self, tool_calls: &Bound<'py, PyAny>, expected: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        let py = tool_calls.py();
        match self.report(tool_calls, expected)? {
            Ok(report) => batch::result(py, &report, self.options),
            Err((Side::Actual, error)) => Err(errors::to_python(py, &error.at_key(Text::from("tool_calls")))),
            Err((Side::Expected, error)) => {
                let error = error.at_key(Text::from("tool_calls")).at_key(Text::from("expectations"));
                Err(errors::to_python(py, &error))
            }
        }
    }

    /// One row for each pair of lists; what is wrong with a row is that row's error.
    fn evaluate_batch(&self, tool_calls: &Bound<'_, PyTuple>, expected: &Bound<'_, PyTuple>) -> PyResult<Batch> {
        let py = tool_calls.py();
        let (actual, expected) = (tool_calls, expected);
        let reports = match (texts(actual), texts(expected)) {
            (Some(actual), Some(expected)) => py.detach(|| self.score_texts(&actual, &expected))?,
            _ => {
                let mut reports = Vec::with_capacity(actual.len());
                for (index, (actual, expected)) in actual.iter_borrowed().zip(expected.iter_borrowed()).enumerate() {
                    if index % 1024 == 1023 {
                        py.check_signals()?;
                    }
                    reports.push(match self.report(&actual, &expected) {
                        Ok(Ok(report)) => report,
                        Ok(Err(error)) => error_of(index, error),
                        // An object of the user raised: an error of its row, unless it is to end the program.
                        Err(error) if error.is_instance_of::<PyException>(py) => {
                            Report::error(format!("row {index}: {}", error.value(py).repr().map_or_else(|_| error.to_string(), |repr| repr.to_string_lossy().into_owned())))
                        }
                        Err(error) => return Err(error),
                    });
                }
                reports
            }
        };
        let row = |(place, report)| Row { id: Id::Int(place as i64), place, report };
        Ok(Batch { options: self.options, file: None, rows: (0..).zip(reports).map(row).collect() })
    }
}

impl Trajectory {
    fn report(&self, actual: &Bound<'_, PyAny>, expected: &Bound<'_, PyAny>) -> PyResult<Result<Report, (Side, Error)>> {
        let options = self.options;
        ROOM.with(|room| {
            // An object whose code evaluates in its turn finds the room taken.
            let Ok(mut room) = room.try_borrow_mut() else {
                let (bump, mut scratch) = Default::default();
                return report(options, actual, expected, &bump, &mut scratch);
            };
            let (bump, scratch) = &mut *room;
            let report = report(options, actual, expected, bump, scratch);
            if bump.allocated_bytes() > MOST_KEPT {
                *room = Default::default();
            } else {
                bump.reset();
            }
            report
        })
    }

    fn score_texts(&self, actual: &[Option<JsonText>], expected: &[Option<JsonText>]) -> PyResult<Vec<Report>> {
        let pool = rayon::ThreadPoolBuilder::new().build();
        let pool = pool.map_err(|error| pyo3::exceptions::PyRuntimeError::new_err(error.to_string()))?;
        Ok(pool.install(|| {
            let rows = actual.par_iter().zip(expected).enumerate().with_min_len(16);
            let score = |worker: &mut Worker, (index, (actual, expected)): (usize, (&Option<JsonText>, &Option<JsonText>))| {
                let scored = worker.score_texts(self.options, bytes_of(actual), bytes_of(expected));
                scored.unwrap_or_else(|error| error_of(index, error))
            };
            rows.map_init(Worker::default, score).collect()
        }))
    }
}

fn report(
    options: Options,
    actual: &Bound<'_, PyAny>,
    expected: &Bound<'_, PyAny>,
    bump: &Bump,
    scratch: &mut Scratch,
) -> PyResult<Result<Report, (Side, Error)>> {
    let scored = read::with_calls(actual, expected, bump, |actual, expected, reader| {
        score_values(options, (actual, reader), (expected, reader), scratch)
    })?;
    Ok(scored.and_then(|report| report))
}

fn error_of(index: usize, (side, error): (Side, Error)) -> Report {
    let side = match side {
        Side::Actual => "tool_calls",
        Side::Expected => "expected_tool_calls",
    };
    Report::error(error.at_index(index).at_key(Text::from(side)).to_string())
}

/// A JSON text, readable while detached from the interpreter.
enum JsonText {
    Str(PyBackedStr),
    Bytes(PyBackedBytes),
}

fn bytes_of(text: &Option<JsonText>) -> Option<&[u8]> {
    text.as_ref().map(|text| match text {
        JsonText::Str(text) => text.as_bytes(),
        JsonText::Bytes(bytes) => bytes,
    })
}

/// All rows, if every one of them is JSON text or None.
fn texts(rows: &Bound<'_, PyTuple>) -> Option<Vec<Option<JsonText>>> {
    let text = |row: Borrowed<'_, '_, PyAny>| {
        if row.is_none() {
            Some(None)
        } else if let Ok(bytes) = row.cast::<PyBytes>() {
            Some(Some(JsonText::Bytes(PyBackedBytes::from(bytes.to_owned()))))
        } else {
            // With a lone surrogate in it, it has no UTF-8.
            let text = row.cast::<PyString>().ok()?.to_owned();
            Some(Some(JsonText::Str(PyBackedStr::try_from(text).ok()?)))
        }
    };
    rows.iter_borrowed().map(text).collect()
}
