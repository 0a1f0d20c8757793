//! `_core.Trajectory`: holding tool calls against expectations, one trace or many.

use std::{cell::RefCell, sync::Arc};

use callmatch_core::{
    call::{self, Reader},
    error::Error,
    matching::Scratch,
    options::{ArgumentMode, MatchMode, Names, Options},
    report::Report,
    score::{Row, Side, Worker, score_values},
    show,
    text::Text,
    value::Value,
};
use pyo3::{
    exceptions::PyException,
    prelude::*,
    pybacked::{PyBackedBytes, PyBackedStr},
    types::{PyBytes, PyString, PyTuple},
};
use rayon::{ThreadPool, prelude::*};

use crate::{batch, batch::Batch, errors, read, threads::threads, write};

/// How calls are matched. Stateless, and shared by any number of threads.
#[pyclass(frozen, module = "callmatch._core")]
pub struct Trajectory {
    pub options: Options,
}

thread_local! {
    /// Used again from call to call.
    static WORKER: RefCell<Worker> = RefCell::default();
}

/// A batch of fewer rows isn't worth other threads.
const FEWEST_SHARED: usize = 256;
/// How many rows are scored before signals (Ctrl-C) are looked at.
const AT_A_TIME: usize = 1 << 14;

#[pymethods]
impl Trajectory {
    #[new]
    fn new(py: Python<'_>, r#match: &str, arguments: &str, names: &str) -> PyResult<Self> {
        let parsed = || {
            let (match_mode, arguments) = (MatchMode::parse(r#match)?, ArgumentMode::parse(arguments)?);
            Ok(Options { match_mode, arguments, names: Names::parse(names)? })
        };
        Ok(Trajectory { options: parsed().map_err(|error| errors::to_python(py, &error))? })
    }

    /// How to make it again, for pickle.
    fn __getnewargs__(&self) -> (&'static str, &'static str, &'static str) {
        (self.options.match_mode.word(), self.options.arguments.word(), self.options.names.word())
    }

    /// (score, verdict, passed, reason, details)
    fn evaluate<'py>(
        &self,
        tool_calls: &Bound<'py, PyAny>,
        expected: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyTuple>> {
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
        let pool = (tool_calls.len() >= FEWEST_SHARED).then(|| threads(0)).transpose()?;
        let reports = match (&pool, texts(tool_calls), texts(expected)) {
            (Some(pool), Some(actual), Some(expected)) => self.score_texts(py, pool, &actual, &expected)?,
            (pool, ..) => self.score_objects(pool.as_deref(), tool_calls, expected)?,
        };
        let rows = (0..).zip(reports).map(|(place, report)| Row::new(place, report)).collect();
        Ok(Batch { options: self.options, file: None, rows, by: Arc::default(), bytes_read: 0 })
    }
}

impl Trajectory {
    fn report(&self, actual: &Bound<'_, PyAny>, expected: &Bound<'_, PyAny>) -> PyResult<Scored> {
        WORKER.with(|worker| match worker.try_borrow_mut() {
            Ok(mut worker) => read::with_calls(actual, expected, &mut worker, self.scoring()),
            // An object whose code, run by the reading, evaluates in its turn.
            Err(_) => read::with_calls(actual, expected, &mut Worker::default(), self.scoring()),
        })
    }

    fn scoring(
        &self,
    ) -> impl for<'a> Fn(Value<'a>, Value<'a>, Reader<'a>, &mut Scratch) -> Result<Report, (Side, Error)> + use<> {
        let options = self.options;
        move |actual, expected, reader, scratch| score_values(options, (actual, reader), (expected, reader), scratch)
    }

    fn score_objects(
        &self,
        pool: Option<&ThreadPool>,
        actual: &Bound<'_, PyTuple>,
        expected: &Bound<'_, PyTuple>,
    ) -> PyResult<Vec<Report>> {
        let py = actual.py();
        let mut reports = Vec::with_capacity(actual.len());
        let rows: Vec<_> = actual.iter_borrowed().zip(expected.iter_borrowed()).collect();
        for rows in rows.chunks(AT_A_TIME) {
            py.check_signals()?;
            let shared = pool.map(|pool| read::with_many_calls(pool, rows, self.scoring()));
            let mut shared = shared.into_iter().flatten();
            for (actual, expected) in rows {
                let index = reports.len();
                let scored = match shared.next().flatten() {
                    Some(scored) => Ok(scored),
                    None => self.report(actual, expected),
                };
                reports.push(match scored {
                    Ok(scored) => scored.unwrap_or_else(|error| error_of(index, error)),
                    // An object of the user raised: an error of its row, unless it is to end the program.
                    Err(error) if error.is_instance_of::<PyException>(py) => {
                        let class = error.get_type(py).name()?;
                        let said = show::in_a_sentence(&error.value(py).to_string());
                        Report::error(format!("row {index}: {class}: {said}"))
                    }
                    Err(error) => return Err(error),
                });
            }
        }
        Ok(reports)
    }

    fn score_texts(
        &self,
        py: Python<'_>,
        pool: &ThreadPool,
        actual: &[Option<JsonText>],
        expected: &[Option<JsonText>],
    ) -> PyResult<Vec<Report>> {
        let mut reports: Vec<Report> = Vec::with_capacity(actual.len());
        for (actual, expected) in actual.chunks(AT_A_TIME).zip(expected.chunks(AT_A_TIME)) {
            py.check_signals()?;
            let first = reports.len();
            let rows = actual.par_iter().zip(expected).enumerate().with_min_len(16);
            let each = rows.map_init(Worker::default, |worker, (index, (actual, expected))| {
                let scored = worker.score_texts(self.options, bytes_of(actual), bytes_of(expected));
                scored.unwrap_or_else(|error| error_of(first + index, error))
            });
            py.detach(|| pool.install(|| reports.par_extend(each)));
        }
        Ok(reports)
    }
}

/// The last segment of the name of a tool, or None if it has none.
#[pyfunction]
pub fn last_segment<'py>(name: &Bound<'py, PyString>) -> PyResult<Option<Bound<'py, PyString>>> {
    let py = name.py();
    let written = |bytes| call::last_segment(Text::Utf8(bytes)).map(|segment| write::text(py, segment)).transpose();
    match name.to_str() {
        Ok(text) => written(text.as_bytes()),
        // With a lone surrogate in it, it has no UTF-8.
        Err(_) => written(name.call_method1("encode", ("utf-8", "surrogatepass"))?.cast::<PyBytes>()?.as_bytes()),
    }
}

type Scored = Result<Report, (Side, Error)>;

fn error_of(index: usize, (side, error): (Side, Error)) -> Report {
    let side = match side {
        Side::Actual => "tool_calls",
        Side::Expected => "expected_tool_calls",
    };
    Report::error(error.at_index(index).at_key(Text::from(side)).to_string())
}

/// A JSON text, readable while detached from the interpreter.
pub enum JsonText {
    Str(PyBackedStr),
    Bytes(PyBackedBytes),
}

impl JsonText {
    pub fn bytes(&self) -> &[u8] {
        match self {
            JsonText::Str(text) => text.as_bytes(),
            JsonText::Bytes(bytes) => bytes,
        }
    }
}

fn bytes_of(text: &Option<JsonText>) -> Option<&[u8]> {
    text.as_ref().map(JsonText::bytes)
}

/// All rows, if every one of them is JSON text or None.
pub fn texts(rows: &Bound<'_, PyTuple>) -> Option<Vec<Option<JsonText>>> {
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
