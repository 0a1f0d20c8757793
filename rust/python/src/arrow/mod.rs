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
use callmatch_core::{
    call::Reader,
    error::{self, Error},
    options::Options,
    report::Report,
    score::{Side, Worker, score_values},
    text::Text,
};
use pyo3::{exceptions::PyRuntimeError, intern, prelude::*};
use pyo3_arrow::{PyRecordBatchReader, input::AnyRecordBatch};
use rayon::{ThreadPool, ThreadPoolBuilder, prelude::*};

use crate::{errors, trajectory::Trajectory};

/// Rows that are scored by one thread before it takes others, and come out as one batch. It is small enough for two cores to
/// share the rows of a small table evenly.
const ROWS: usize = 2048;

/// Score each row of a table: the calls in one of its columns against those expected in another. Columns of the table may be
/// kept beside the scores.
#[pyfunction]
#[pyo3(signature = (trajectory, table, *, actual, expected, keep, columns, threads))]
#[expect(clippy::too_many_arguments, reason = "by keyword")]
pub fn score_table(
    py: Python<'_>,
    trajectory: &Trajectory,
    table: AnyRecordBatch,
    actual: &str,
    expected: &str,
    keep: Vec<String>,
    columns: Vec<String>,
    threads: usize,
) -> PyResult<ScoreStream> {
    let rows = table.into_reader()?;
    let names: Vec<String> = rows.schema().fields().iter().map(|field| field.name().clone()).collect();
    let place = |name: &str, of: &str| {
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut places = (0..names.len()).filter(|place| names.get(*place).is_some_and(|known| known == name));
        match (places.next(), places.next()) {
            (Some(place), None) => Ok(place),
            (Some(_), Some(_)) => Err(Error::value(format!(
                "{of}: the table has several columns {}",
                callmatch_core::show::in_a_sentence(name)
            ))),
            (None, _) => Err(Error::value(error::one_of(&format!("{of}: a column of the table"), name, &known))),
        }
    };
    let placed = || {
        let keep: Result<Vec<usize>, Error> = keep.iter().map(|name| place(name, "keep")).collect();
        Ok((place(actual, "tool_calls")?, place(expected, "expected_tool_calls")?, keep?))
    };
    let (actual, expected, keep) = placed().map_err(|error: Error| errors::to_python(py, &error))?;
    for place in [actual, expected] {
        let schema = rows.schema();
        let field = schema.field(place);
        values::readable(field.data_type()).map_err(|kind| {
            let what = "JSON text, or lists of structs with name and arguments";
            let message = format!("the column {:?} holds {kind}; tool calls come as {what}", field.name());
            errors::to_python(py, &Error::wrong_type(message))
        })?;
    }
    let columns = columns::Wanted::named(&columns).map_err(|error| errors::to_python(py, &error))?;
    let kept = keep.iter().map(|place| rows.schema().fields().get(*place).cloned()).collect::<Option<Vec<_>>>();
    let fields: Vec<Arc<Field>> = kept.unwrap_or_default().into_iter().chain(columns.fields()).collect();
    let schema = Arc::new(Schema::new(fields));
    let task = Task { options: trajectory.options, actual, expected, keep, columns, schema };
    let column_names = task.schema.fields().iter().map(|field| field.name().clone()).collect();
    let scored = Scored { rows, task, threads, pool: None, done: 0, ready: VecDeque::new() };
    Ok(ScoreStream { column_names, scored: Mutex::new(Some(scored)) })
}

/// The scores of a table, to be read once.
#[pyclass(frozen, module = "callmatch._core")]
pub struct ScoreStream {
    #[pyo3(get)]
    column_names: Vec<String>,
    scored: Mutex<Option<Scored>>,
}

#[pymethods]
impl ScoreStream {
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let scored = self.scored.lock().ok().and_then(|mut scored| scored.take());
        let scored = scored.ok_or_else(|| PyRuntimeError::new_err("these scores were read already"))?;
        let reader = Bound::new(py, PyRecordBatchReader::new(Box::new(scored)))?;
        reader.call_method1(intern!(py, "__arrow_c_stream__"), (requested_schema,))
    }
}

struct Task {
    options: Options,
    /// The places of columns in the table.
    actual: usize,
    expected: usize,
    keep: Vec<usize>,
    columns: columns::Wanted,
    schema: SchemaRef,
}

/// The scores of a table, made as they are asked for.
struct Scored {
    rows: Box<dyn RecordBatchReader + Send>,
    task: Task,
    /// 0 for as many as there are cores.
    threads: usize,
    /// Made for the first batch that is worth it: engines hand over a few rows at a time, on threads of their own.
    pool: Option<ThreadPool>,
    /// How many rows were scored.
    done: usize,
    ready: VecDeque<RecordBatch>,
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
            let batch = match self.rows.next()? {
                Ok(batch) => batch,
                Err(error) => return Some(Err(error)),
            };
            // Whoever asks may hold the interpreter's lock, which is not needed here.
            match Python::attach(|py| py.detach(|| self.score(&batch))) {
                Ok(parts) => self.ready.extend(parts),
                Err(error) => return Some(Err(error)),
            }
            self.done += batch.num_rows();
        }
        self.ready.pop_front().map(Ok)
    }
}

impl Scored {
    fn score(&mut self, batch: &RecordBatch) -> Result<Vec<RecordBatch>, ArrowError> {
        if batch.num_rows() <= ROWS {
            return Ok(vec![self.task.score(batch, self.done, &mut Worker::default())?]);
        }
        let pool = match &self.pool {
            Some(pool) => pool,
            None => {
                let made = ThreadPoolBuilder::new().num_threads(self.threads).build();
                self.pool.insert(made.map_err(|error| ArrowError::ExternalError(Box::new(error)))?)
            }
        };
        let starts: Vec<usize> = (0..batch.num_rows()).step_by(ROWS).collect();
        let (task, before) = (&self.task, self.done);
        let part = |worker: &mut Worker, start: &usize| {
            let part = batch.slice(*start, ROWS.min(batch.num_rows() - start));
            task.score(&part, before + start, worker)
        };
        pool.install(|| starts.par_iter().with_max_len(1).map_init(Worker::default, part).collect())
    }
}

impl Task {
    fn score(&self, part: &RecordBatch, before: usize, worker: &mut Worker) -> Result<RecordBatch, ArrowError> {
        let (actual, expected) = (part.column(self.actual), part.column(self.expected));
        let report = |row| {
            self.score_row(actual, expected, row, worker).unwrap_or_else(|(side, error)| {
                let of = match side {
                    Side::Actual => self.actual,
                    Side::Expected => self.expected,
                };
                let schema = part.schema();
                let error = error.at_index(before + row).at_key(Text::from(schema.field(of).name().as_str()));
                Report::error(error.to_string())
            })
        };
        let reports: Vec<Report> = (0..part.num_rows()).map(report).collect();
        let kept = self.keep.iter().map(|place| part.column(*place).clone());
        let columns: Vec<ArrayRef> = kept.chain(self.columns.arrays(&reports, self.options)).collect();
        RecordBatch::try_new(self.schema.clone(), columns)
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
        let reader = Reader { bump, may_be_deep: false };
        score_values(self.options, (actual, reader), (expected, reader), scratch)
    }
}
