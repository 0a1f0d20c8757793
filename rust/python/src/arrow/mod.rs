//! `_core.score_table`: scoring the rows of an Arrow table, a batch at a time, with columns as they come and columns out.
//!
//! Texts are read where they lie in the buffers of the table. Nothing here touches Python while rows are scored.

mod columns;
mod spans;
mod values;

pub use columns::names;
pub use spans::{SpanScores, profiles, score_spans, span_columns};

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use bumpalo::Bump;
use callmatch_core::{
    call::Reader,
    error::{self, Error},
    options::Options,
    report::Report,
    score::{Side, Worker, score_values},
    show,
    summary::{Key, Summaries},
    text::Text,
    value::Value,
};
use pyo3::{
    exceptions::{PyRuntimeError, PyValueError},
    intern,
    prelude::*,
};
use pyo3_arrow::{PyRecordBatchReader, error::PyArrowError, input::AnyRecordBatch};
use rayon::prelude::*;

use crate::{errors, files::check_fields, read::STACK, threads::threads, trajectory::Trajectory};

/// Rows that come out as one batch.
const ROWS: usize = 2048;
/// Fewer rows are not worth another thread, unless they take as many bytes as this.
const FEWEST: usize = 256;
const LARGE: usize = 1 << 20;

/// More memory than this isn't kept while values to group by are read.
const MOST_KEPT: usize = 1 << 20;

/// Score each row of a table: the calls in one of its columns against those expected in another. Columns of the table may be
/// kept beside the scores. The rows are summed up on the way, in groups too where there are columns to group by. Errors name
/// the file that the table is of, if there is one, and count from the number of the first row.
#[pyfunction]
#[pyo3(signature = (
    trajectory, table, *, actual, expected, keep, columns, threads, group_by = Vec::new(), file = None, first_row = 0
))]
#[expect(clippy::too_many_arguments, reason = "by keyword")]
pub fn score_table(
    py: Python<'_>,
    trajectory: &Trajectory,
    table: &Bound<'_, PyAny>,
    actual: &str,
    expected: &str,
    keep: Vec<String>,
    columns: Vec<String>,
    threads: usize,
    group_by: Vec<String>,
    file: Option<String>,
    first_row: usize,
) -> PyResult<ScoreStream> {
    let rows = rows_of(table)?;
    let schema = rows.schema();
    let placed = || {
        let keep = keep.iter().map(|name| place(&schema, name, "keep")).collect::<Result<Vec<_>, _>>()?;
        Ok((place(&schema, actual, "tool_calls")?, place(&schema, expected, "expected_tool_calls")?, keep))
    };
    let (actual, expected, keep) = placed().map_err(|error: Error| errors::to_python(py, &error))?;
    for place in [actual, expected] {
        let field = schema.field(place);
        values::readable(field.data_type()).map_err(|kind| {
            let what = "JSON text, or lists of structs with name and arguments";
            let message = format!("the column {:?} holds {kind}; tool calls come as {what}", field.name());
            errors::to_python(py, &Error::wrong_type(message))
        })?;
    }
    let columns = columns::Wanted::named(&columns).map_err(|error| errors::to_python(py, &error))?;
    let kept = keep.iter().filter_map(|place| schema.fields().get(*place).cloned());
    let fields: Vec<Arc<Field>> = kept.chain(columns.fields()).collect();
    let column_names = fields.iter().map(|field| field.name().clone()).collect();
    let (options, by, schema) = (trajectory.options, Arc::default(), Arc::new(Schema::new(fields)));
    let task = Task { options, file, actual, expected, groups: Vec::new(), by, keep, columns, schema };
    let told = Told::default();
    let (ready, summaries) = (VecDeque::new(), None);
    let scored = Scored { rows, task, threads, done: first_row, ready, summaries, told: told.clone() };
    let stream = ScoreStream { column_names, scored: Mutex::new(Some(scored)), told };
    stream.group_by(py, group_by)?;
    Ok(stream)
}

type Rows = Box<dyn RecordBatchReader + Send>;

/// The rows of what Python has for a table.
fn rows_of(table: &Bound<'_, PyAny>) -> PyResult<Rows> {
    let rows = table.extract::<AnyRecordBatch>().and_then(AnyRecordBatch::into_reader);
    rows.map_err(|error| match error.is_instance_of::<PyValueError>(table.py()) {
        // It has something of Arrow's, but no columns.
        true => {
            let message = format!("expected a table, whose rows have columns: {}", error.value(table.py()));
            errors::to_python(table.py(), &Error::wrong_type(message))
        }
        false => error,
    })
}

/// The place of a column in a table; `of` is what asks for it.
fn place(schema: &Schema, name: &str, of: &str) -> Result<usize, Error> {
    let known: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let mut places = known.iter().enumerate().filter(|(_, known)| **known == name).map(|(place, _)| place);
    match (places.next(), places.next()) {
        (Some(place), None) => Ok(place),
        (Some(_), Some(_)) => {
            Err(Error::value(format!("{of}: the table has several columns {}", show::in_a_sentence(name))))
        }
        (None, _) => Err(Error::value(error::one_of(&format!("{of}: a column of the table"), name, &known))),
    }
}

/// What a stream tells when its end is reached.
type Told = Arc<Mutex<Option<Summaries>>>;

/// The scores of a table, to be read once.
#[pyclass(frozen, module = "callmatch._core")]
pub struct ScoreStream {
    #[pyo3(get)]
    column_names: Vec<String>,
    scored: Mutex<Option<Scored>>,
    told: Told,
}

#[pymethods]
impl ScoreStream {
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let scored = self.take().ok_or_else(read_already)?;
        let reader = Bound::new(py, PyRecordBatchReader::new(Box::new(scored)))?;
        reader.call_method1(intern!(py, "__arrow_c_stream__"), (requested_schema,))
    }

    /// Whether all scores were read.
    #[getter]
    fn at_end(&self) -> bool {
        self.told.lock().is_ok_and(|told| told.is_some())
    }

    /// Before the scores are read, say by which columns of the table the rows are grouped.
    fn group_by(&self, py: Python<'_>, group_by: Vec<String>) -> PyResult<()> {
        check_fields(py, &group_by)?;
        let mut unread = self.scored.lock().map_err(|_| read_already())?;
        let scored = unread.as_mut().ok_or_else(read_already)?;
        let schema = scored.rows.schema();
        let places = group_by.iter().map(|name| place(&schema, name, "group_by")).collect::<Result<Vec<_>, _>>();
        scored.task.groups = places.map_err(|error| errors::to_python(py, &error))?;
        scored.task.by = group_by.into();
        scored.summaries = Some(Summaries::new(scored.task.by.clone()));
        Ok(())
    }

    /// The rows summed up. If the scores were not read, the rows are scored now, and no column is made.
    fn summaries(&self, py: Python<'_>) -> PyResult<crate::summary::Summaries> {
        if let Some(mut scored) = self.take() {
            while scored.sum_up_next().map_err(PyArrowError::from)? {
                py.check_signals()?;
            }
        }
        let told = self.told.lock().ok().and_then(|told| told.clone());
        let unread = || PyRuntimeError::new_err("these scores were not read to their end, so they are not summed up");
        told.map(crate::summary::Summaries).ok_or_else(unread)
    }
}

fn read_already() -> PyErr {
    PyRuntimeError::new_err("these scores were read already")
}

impl ScoreStream {
    fn take(&self) -> Option<Scored> {
        self.scored.lock().ok().and_then(|mut scored| scored.take())
    }
}

struct Task {
    options: Options,
    file: Option<String>,
    /// The places of columns in the table.
    actual: usize,
    expected: usize,
    groups: Vec<usize>,
    keep: Vec<usize>,
    /// The names of the columns that rows are grouped by.
    by: Arc<[String]>,
    columns: columns::Wanted,
    schema: SchemaRef,
}

/// The scores of a table, made as they are asked for.
struct Scored {
    rows: Rows,
    task: Task,
    /// 0 for as many as there are cores.
    threads: usize,
    /// How many rows come before the next one.
    done: usize,
    ready: VecDeque<RecordBatch>,
    /// Of the rows that were scored; None if some rows could not be.
    summaries: Option<Summaries>,
    told: Told,
}

impl RecordBatchReader for Scored {
    fn schema(&self) -> SchemaRef {
        self.task.schema.clone()
    }
}

impl Iterator for Scored {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() {
            match self.score_next(Task::columns).transpose()? {
                Ok(parts) => self.ready.extend(parts),
                Err(error) => return Some(Err(error)),
            }
        }
        self.ready.pop_front().map(Ok)
    }
}

impl Scored {
    /// Score the next rows for the sake of their summary; false at the end of the table.
    fn sum_up_next(&mut self) -> Result<bool, ArrowError> {
        Ok(self.score_next(|_, _, _| Ok(()))?.is_some())
    }

    /// Score the next rows, sum them up, and make something of the reports of each part of them. At the end of the table,
    /// the summaries are told.
    fn score_next<T: Send>(&mut self, make: impl Make<T>) -> Result<Option<Vec<T>>, ArrowError> {
        let Some(batch) = self.rows.next() else {
            if let (Ok(mut told), Some(summaries)) = (self.told.lock(), self.summaries.take()) {
                *told = Some(summaries);
            }
            return Ok(None);
        };
        // Whoever asks may hold the interpreter's lock, which is not needed here.
        let parts = batch.and_then(|batch| Python::attach(|py| py.detach(|| self.score(&batch, make))));
        if parts.is_err() {
            self.summaries = None;
        }
        parts.map(Some)
    }

    fn score<T: Send>(&mut self, batch: &RecordBatch, make: impl Make<T>) -> Result<Vec<T>, ArrowError> {
        let (task, before) = (&self.task, self.done);
        let starts: Vec<usize> = (0..batch.num_rows()).step_by(ROWS).collect();
        let part = |start: usize| batch.slice(start, ROWS.min(batch.num_rows() - start));
        let finished = |part: &RecordBatch, reports: &[Report]| -> Result<_, ArrowError> {
            Ok((task.sum_up(part, reports), make(task, part, reports)?))
        };
        let is_small = batch.num_rows() < FEWEST && batch.get_array_memory_size() < LARGE;
        let parts = if self.threads == 1 || is_small {
            let mut worker = Worker::default();
            let mut one = |start: &usize| {
                let part = part(*start);
                let reports = (0..part.num_rows()).map(|row| task.report(&part, before + start, row, &mut worker));
                finished(&part, &reports.collect::<Vec<_>>())
            };
            // The caller's thread may have less than the deepest values need.
            let one = |start: &usize| stacker::maybe_grow(STACK, 2 * STACK, || one(start));
            starts.iter().map(one).collect::<Result<Vec<_>, ArrowError>>()?
        } else {
            let pool = threads(self.threads)?;
            let one = |start: &usize| {
                let part = part(*start);
                let report = |worker: &mut Worker, row| task.report(&part, before + start, row, worker);
                let reports = (0..part.num_rows()).into_par_iter().map_init(Worker::default, report);
                finished(&part, &reports.collect::<Vec<_>>())
            };
            pool.install(|| starts.par_iter().with_max_len(1).map(one).collect::<Result<Vec<_>, ArrowError>>())?
        };
        self.done += batch.num_rows();
        let mut made = Vec::with_capacity(parts.len());
        for (summaries, part) in parts {
            if let Some(all) = &mut self.summaries {
                all.merge(&summaries);
            }
            made.push(part);
        }
        Ok(made)
    }
}

/// What is made of the reports of some rows.
trait Make<T>: Fn(&Task, &RecordBatch, &[Report]) -> Result<T, ArrowError> + Send + Sync {}

impl<T, F: Fn(&Task, &RecordBatch, &[Report]) -> Result<T, ArrowError> + Send + Sync> Make<T> for F {}

impl Task {
    fn columns(&self, part: &RecordBatch, reports: &[Report]) -> Result<RecordBatch, ArrowError> {
        let kept = self.keep.iter().map(|place| part.column(*place).clone());
        let columns: Vec<ArrayRef> = kept.chain(self.columns.arrays(reports, self.options)).collect();
        RecordBatch::try_new(self.schema.clone(), columns)
    }

    /// The report on a row of a part, before which the table has some others.
    fn report(&self, part: &RecordBatch, before: usize, row: usize, worker: &mut Worker) -> Report {
        let (actual, expected) = (part.column(self.actual), part.column(self.expected));
        self.score_row(actual, expected, row, worker).unwrap_or_else(|(side, error)| {
            let of = match side {
                Side::Actual => self.actual,
                Side::Expected => self.expected,
            };
            let schema = part.schema();
            let error = error.at_index(before + row).at_key(Text::from(schema.field(of).name().as_str()));
            Report::error(match &self.file {
                Some(file) => format!("{file}: {error}"),
                None => error.to_string(),
            })
        })
    }

    fn sum_up(&self, part: &RecordBatch, reports: &[Report]) -> Summaries {
        let mut summaries = Summaries::new(self.by.clone());
        let (mut key, mut bump) = (Key::default(), Bump::new());
        for (row, report) in reports.iter().enumerate() {
            key.clear();
            for (place, name) in self.groups.iter().zip(self.by.iter()) {
                match values::of_group(part.column(*place), row, &bump) {
                    Ok(value) => key.push(value),
                    // The rows are scored all the same.
                    Err(error) => summaries.refuse(format!("group by {}: {error}", show::in_a_sentence(name))),
                }
            }
            summaries.add(key.as_bytes(), report);
            if bump.allocated_bytes() > MOST_KEPT {
                bump.reset();
            }
        }
        summaries
    }

    fn score_row(
        &self,
        actual: &dyn Array,
        expected: &dyn Array,
        row: usize,
        worker: &mut Worker,
    ) -> Result<Report, (Side, Error)> {
        let (bump, scratch) = worker.room();
        let actual = values::at(actual, row, bump).map_err(|error| (Side::Actual, error))?;
        let expected = values::at(expected, row, bump).map_err(|error| (Side::Expected, error))?;
        let text = |value: &Value<'_>| if let Value::Text(Text::Utf8(text)) = value { text.len() } else { 0 };
        let reader = Reader::of_row(bump, text(&actual) + text(&expected));
        score_values(self.options, (actual, reader), (expected, reader), scratch)
    }
}
