//! `_core.Batch`: the rows of a batch, as columns or one by one.

use std::sync::Arc;

use bumpalo::Bump;
use callmatch_core::{
    error::Error,
    json,
    options::{ArgumentMode, DifferenceKind, MatchMode, Options, Verdict},
    reason,
    report::{Counts, Difference, Part, Report},
    score::{Id, Row},
    show::Shown,
    summary::{self, Key},
    text::Text,
    value::{MAX_DEPTH, Value},
};
use pyo3::{
    exceptions::PyIndexError,
    intern,
    prelude::*,
    sync::PyOnceLock,
    types::{PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple},
};

use crate::{errors, files::check_fields, read, summary::Summaries, write};

/// The columns, in the order in which they are written to files.
pub const COLUMNS: &[&str] = &[
    "id",
    "file",
    "line",
    "score",
    "verdict",
    "matched",
    "made",
    "expected",
    "precision",
    "recall",
    "f1",
    "difference_kind",
    "expected_index",
    "actual_index",
    "reason",
    "error",
];

#[pyclass(frozen, module = "callmatch._core")]
pub struct Batch {
    pub options: Options,
    /// Where the rows come from; None for objects in memory.
    pub file: Option<Arc<str>>,
    pub rows: Vec<Row>,
    /// The fields that the rows are grouped by.
    pub by: Arc<[String]>,
    /// How much of all files had been read, before it was decompressed.
    #[pyo3(get)]
    pub bytes_read: u64,
}

#[pymethods]
impl Batch {
    fn __len__(&self) -> usize {
        self.rows.len()
    }

    /// (score, verdict, passed, reason, details)
    fn row<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyTuple>> {
        let row = self.rows.get(index).ok_or_else(|| PyIndexError::new_err("row index out of range"))?;
        result(py, &row.report, self.options)
    }

    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        // Most shares are one of these two, and a float object needs no memory twice.
        let (none, all) = (PyFloat::new(py, 0.0), PyFloat::new(py, 1.0));
        let float = |number: f64| match number {
            0.0 => none.clone(),
            1.0 => all.clone(),
            other => PyFloat::new(py, other),
        };
        let counts = |share: fn(Counts) -> f64| self.list(py, |report| Some(float(share(report.counts()?))));
        match name {
            "id" => PyList::new(py, self.rows.iter().map(|row| IdObject(&row.id))),
            "file" => {
                let file = self.file.as_deref().map(|file| PyString::new(py, file));
                PyList::new(py, self.rows.iter().map(|_| &file))
            }
            "line" => PyList::new(py, self.rows.iter().map(|row| self.file.as_ref().map(|_| row.place))),
            "score" => self.list(py, |report| report.score().map(float)),
            "verdict" => PyList::new(py, self.rows.iter().map(|row| VERDICTS.get(py, row.report.verdict as usize))),
            "matched" => self.list(py, |report| report.counts().map(|counts| counts.matched)),
            "made" => self.list(py, |report| report.made),
            "expected" => self.list(py, |report| report.expected),
            "precision" => counts(Counts::precision),
            "recall" => counts(Counts::recall),
            "f1" => counts(Counts::f1),
            "difference_kind" => PyList::new(
                py,
                self.rows.iter().map(|row| {
                    row.report.difference.as_ref().map(|difference| KINDS.get(py, difference.kind as usize))
                }),
            ),
            "expected_index" => self.list(py, |report| report.difference.as_ref()?.expected_index),
            "actual_index" => self.list(py, |report| report.difference.as_ref()?.actual_index),
            "reason" => {
                PyList::new(py, self.rows.iter().map(|row| reason::sentence(&row.report, self.options.match_mode)))
            }
            "error" => self.list(py, |report| report.error.as_deref()),
            _ => Err(PyIndexError::new_err(format!("no column {name:?}"))),
        }
    }

    /// The rows summed up, in groups too where they were read with fields to group by, or where there are columns of values
    /// to group by, each with its name.
    #[pyo3(signature = (group_by = None))]
    fn summaries(&self, py: Python<'_>, group_by: Option<Vec<(String, Bound<'_, PyList>)>>) -> PyResult<Summaries> {
        let Some(columns) = group_by else {
            let mut summaries = summary::Summaries::new(self.by.clone());
            self.rows.iter().for_each(|row| summaries.add(&row.group, &row.report));
            return Ok(Summaries(summaries));
        };
        let (by, columns): (Vec<String>, Vec<_>) = columns.into_iter().unzip();
        check_fields(py, &by)?;
        let mut summaries = summary::Summaries::new(by.into());
        let mut key = Key::default();
        for (place, row) in self.rows.iter().enumerate() {
            key.clear();
            for (name, column) in summaries.by().iter().zip(&columns) {
                let cell = cell_key(&column.get_item(place)?)?.map_err(|error| {
                    errors::to_python(py, &error.at_index(place).at_key(name.as_str().into()).at_key("group_by".into()))
                })?;
                key.append(&cell);
            }
            summaries.add(key.as_bytes(), &row.report);
        }
        Ok(Summaries(summaries))
    }
}

impl Batch {
    fn list<'py, 'r, T: IntoPyObject<'py>>(
        &'r self,
        py: Python<'py>,
        of: impl Fn(&'r Report) -> Option<T>,
    ) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.rows.iter().map(|row| of(&row.report)))
    }
}

/// A value to group by. What data frames have in the place of null is null.
fn cell_key(cell: &Bound<'_, PyAny>) -> PyResult<Result<Key, Error>> {
    if let Ok(text) = cell.cast::<PyString>() {
        let Ok(text) = text.to_str() else {
            let bytes = text.call_method1("encode", ("utf-8", "surrogatepass"))?;
            return Ok(Ok(Key::of(Value::Text(Text::Utf8(bytes.cast::<PyBytes>()?.as_bytes())))));
        };
        return Ok(Ok(Key::of(Value::Text(Text::from(text)))));
    }
    read::with_messages(cell, |value, _| {
        Ok(match value {
            Value::Float(float) if float.is_nan() => Key::of(Value::Null),
            value => Key::of(value),
        })
    })
}

pub struct IdObject<'r>(pub &'r Id);

impl<'py> IntoPyObject<'py> for IdObject<'_> {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self.0 {
            Id::Int(int) => int.into_pyobject(py)?.into_any(),
            Id::Big(digits) => py.get_type::<PyInt>().call1((&**digits,))?,
            Id::Text(text) => PyString::new(py, text).into_any(),
        })
    }
}

/// The words of an option as Python objects, made once.
struct Words {
    words: &'static [&'static str],
    made: PyOnceLock<Vec<Py<PyString>>>,
}

static VERDICTS: Words = Words::of(Verdict::WORDS);
static KINDS: Words = Words::of(DifferenceKind::WORDS);
static MATCH_MODES: Words = Words::of(MatchMode::WORDS);
static ARGUMENT_MODES: Words = Words::of(ArgumentMode::WORDS);

impl Words {
    const fn of(words: &'static [&'static str]) -> Self {
        Words { words, made: PyOnceLock::new() }
    }

    fn get<'py>(&'static self, py: Python<'py>, index: usize) -> &'py Bound<'py, PyString> {
        let make = || self.words.iter().map(|word| PyString::intern(py, word).unbind()).collect();
        self.made.get_or_init(py, make)[index].bind(py)
    }
}

/// (score, verdict, passed, reason, details)
pub fn result<'py>(py: Python<'py>, report: &Report, options: Options) -> PyResult<Bound<'py, PyTuple>> {
    let reason = PyString::new(py, &reason::sentence(report, options.match_mode));
    let counts = report.counts();
    let details = PyDict::new(py);
    details.set_item(intern!(py, "match"), MATCH_MODES.get(py, options.match_mode as usize))?;
    details.set_item(intern!(py, "arguments"), ARGUMENT_MODES.get(py, options.arguments as usize))?;
    details.set_item(intern!(py, "reason"), &reason)?;
    details.set_item(intern!(py, "matched"), counts.map(|counts| counts.matched))?;
    details.set_item(intern!(py, "made"), report.made)?;
    details.set_item(intern!(py, "expected"), report.expected)?;
    details.set_item(intern!(py, "precision"), counts.map(Counts::precision))?;
    details.set_item(intern!(py, "recall"), counts.map(Counts::recall))?;
    details.set_item(intern!(py, "f1"), counts.map(Counts::f1))?;
    let pairs = PyList::empty(py);
    for &(expected, actual) in report.pairs.iter() {
        let pair = PyDict::new(py);
        pair.set_item(intern!(py, "expected"), expected)?;
        pair.set_item(intern!(py, "actual"), actual)?;
        pairs.append(pair)?;
    }
    details.set_item(intern!(py, "pairs"), pairs)?;
    details.set_item(intern!(py, "missing"), report.missing())?;
    details.set_item(intern!(py, "unexpected"), report.unexpected())?;
    details.set_item(
        intern!(py, "difference"),
        report.difference.as_deref().map(|found| difference(py, found)).transpose()?,
    )?;
    let passed = report.score().map(|score| score == 1.0);
    (report.score(), VERDICTS.get(py, report.verdict as usize), passed, reason, details).into_pyobject(py)
}

fn difference<'py>(py: Python<'py>, difference: &Difference) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item(intern!(py, "kind"), KINDS.get(py, difference.kind as usize))?;
    dict.set_item(intern!(py, "expected_index"), difference.expected_index)?;
    dict.set_item(intern!(py, "actual_index"), difference.actual_index)?;
    dict.set_item(intern!(py, "name"), difference.texts.get(Part::Name))?;
    if let Some(pointer) = difference.texts.get(Part::Pointer) {
        dict.set_item(intern!(py, "pointer"), pointer)?;
    }
    if let Some(value) = difference.texts.value(Part::Expected) {
        dict.set_item(intern!(py, "expected_value"), shown(py, value)?)?;
    }
    if let Some(value) = difference.texts.value(Part::Actual) {
        dict.set_item(intern!(py, "actual_value"), shown(py, value)?)?;
    }
    Ok(dict)
}

/// The value itself where it was kept whole, else the beginning of its JSON text with an ellipsis.
fn shown<'py>(py: Python<'py>, shown: Shown<'_>) -> PyResult<Bound<'py, PyAny>> {
    let bump = Bump::new();
    match json::parse(shown.json.as_bytes(), MAX_DEPTH, &bump) {
        Ok(parsed) if shown.whole => write::value(py, parsed),
        _ => Ok(PyString::new(py, &format!("{}…", shown.json)).into_any()),
    }
}
