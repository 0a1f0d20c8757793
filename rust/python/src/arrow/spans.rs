//! `_core.score_spans`: scoring the traces of a table of spans, whose rows may stand anywhere in it.
//!
//! Record batches are read one after the other, and of each row what scoring needs is kept (`span_table`). When all were
//! read, the calls of each trace are made, and held against those expected. Nothing here touches Python meanwhile.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use arrow_array::{ArrayRef, RecordBatch, RecordBatchIterator, RecordBatchReader, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use bumpalo::Bump;
use callmatch_core::{
    call::Reader,
    error::{Error, one_of},
    options::Options,
    report::Report,
    score::{Side, Worker, score_values},
    show,
    text::Text,
    trace::{
        span::RecordedAs,
        span_table::{self, Part, Plan, Table},
    },
    value::Value,
};
use pyo3::{intern, prelude::*, pybacked::PyBackedBytes};
use pyo3_arrow::PyRecordBatchReader;
use rayon::{ThreadPool, prelude::*};

use super::{ROWS, columns, rows_of, values};
use crate::{errors, trajectory::Trajectory};

/// So many rows are read before they are shared among the threads, which come in batches of any size.
const ROWS_AT_ONCE: usize = 32 * ROWS;
/// So many batches at most: they may be wide.
const BATCHES_AT_ONCE: usize = 64;
/// More memory than this isn't kept from row to row.
const MOST_KEPT: usize = 8 << 20;
/// So many problems are told in words; the others are counted.
const MOST_PROBLEMS: usize = 10_000;
/// Traces that are scored by one thread before it takes others.
const TRACES: usize = 256;

type Stream = Box<dyn RecordBatchReader + Send>;

/// The calls that should have been made, by what they are expected of: as JSON text, or a table with a column of ids and one
/// of calls.
#[derive(FromPyObject)]
pub enum Expected<'py> {
    #[pyo3(transparent)]
    Texts(Vec<(String, Option<PyBackedBytes>)>),
    #[pyo3(transparent)]
    Table(Bound<'py, PyAny>),
}

/// Score each trace, or each conversation, of a table whose rows are spans. `again`: what gives it once more, if anything
/// does, with the questions that were asked.
#[pyfunction]
#[pyo3(signature = (trajectory, table, expected, *, ids, calls_column, by, calls, profile, columns, again, threads))]
#[expect(clippy::too_many_arguments, reason = "by keyword")]
pub fn score_spans(
    py: Python<'_>,
    trajectory: &Trajectory,
    table: &Bound<'_, PyAny>,
    expected: Expected<'_>,
    ids: &str,
    calls_column: &str,
    by: &str,
    calls: &str,
    profile: Option<&str>,
    columns: Vec<String>,
    again: Option<&Bound<'_, PyAny>>,
    threads: usize,
) -> PyResult<SpanScores> {
    let failed = |error: Error| errors::to_python(py, &error);
    let columns = columns::Wanted::named(&columns).map_err(failed)?;
    let counted = RecordedAs::counted(calls).map_err(failed)?;
    let has_sessions = by == "conversation_id";
    let pool = crate::threads::threads(threads)?;
    let expected = match expected {
        Expected::Texts(texts) => texts
            .into_iter()
            .map(|(id, text)| (id, text.map_or(Wanted::Nothing, |text| Wanted::Text((*text).into()))))
            .collect(),
        Expected::Table(table) => expectations(py, rows_of(&table)?, ids, calls_column)?,
    };
    let stream = rows_of(table)?;
    let mut reading = Reading::open(&stream, profile, has_sessions, None).map_err(failed)?;
    reading.all(py, stream, &pool)?;
    let mut traces = py.detach(|| pool.install(|| outcomes(&reading.kept, counted, false)));
    py.check_signals()?;
    let Reading { kept, mut problems, plan, .. } = reading;
    let ids_of_traces = kept.into_ids();
    let in_doubt: HashSet<String> = ids_of_traces
        .iter()
        .zip(&traces)
        .filter(|(_, trace)| trace.is_in_doubt)
        .map(|(id, _)| id.to_string())
        .collect();
    let stream = again.filter(|_| !in_doubt.is_empty()).and_then(|table| rows_of(table).ok());
    let mut read: HashMap<Box<str>, Outcome> = HashMap::new();
    if let Some(stream) = stream {
        let only = Some(in_doubt.clone());
        let mut again = Reading::open(&stream, Some(plan.profile.name()), has_sessions, only).map_err(failed)?;
        again.all(py, stream, &pool)?;
        let whole = py.detach(|| pool.install(|| outcomes(&again.kept, counted, true)));
        read.extend(again.kept.into_ids().into_iter().zip(whole));
    }
    for (id, trace) in ids_of_traces.iter().zip(&mut traces).filter(|(_, trace)| trace.is_in_doubt) {
        match read.remove(id) {
            Some(whole) => *trace = whole,
            // A stream that had an end.
            None => problems.push(format!(
                "trace {:?}: the order of its calls depends on what models were asked, which is not read; it is that in \
                 which they began (a table that can be read twice would be)",
                show::in_a_sentence(id)
            )),
        }
    }
    let scoring = Scoring { options: trajectory.options, expected: &expected, traces: &traces };
    let rows = rows(&ids_of_traces, &traces, &expected, has_sessions);
    let reports = py.detach(|| pool.install(|| scoring.reports(&rows)));
    let fields = [Arc::new(Field::new(by, DataType::Utf8, true))].into_iter().chain(columns.fields());
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let made = py.detach(|| {
        let parts: Vec<(&[Row<'_>], &[Report])> = rows.chunks(ROWS).zip(reports.chunks(ROWS)).collect();
        let batch = |(rows, reports): &(&[Row<'_>], &[Report])| {
            let ids: StringArray = rows.iter().map(|row| row.id).collect();
            let arrays = columns.arrays(reports, trajectory.options);
            RecordBatch::try_new(schema.clone(), std::iter::once(Arc::new(ids) as ArrayRef).chain(arrays).collect())
        };
        pool.install(|| parts.par_iter().with_max_len(1).map(batch).collect::<Result<Vec<_>, ArrowError>>())
    });
    let batches = made.map_err(|error| failed(Error::value(error.to_string())))?;
    let count = rows.len();
    Ok(SpanScores { schema, batches, diagnostics: problems.told(), profile: plan.profile.name(), count })
}

/// Which of these columns of a table of spans are read: at first, or where it is read again.
#[pyfunction]
#[pyo3(signature = (names, *, profile, by, again))]
pub fn span_columns(
    py: Python<'_>,
    names: Vec<String>,
    profile: Option<&str>,
    by: &str,
    again: bool,
) -> PyResult<Vec<String>> {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let read = span_table::columns_read(&names, profile, by == "conversation_id", again);
    let read = read.map_err(|error| errors::to_python(py, &error))?;
    Ok(read.into_iter().map(str::to_owned).collect())
}

/// The words of the profiles of tables of spans.
pub fn profiles() -> Vec<&'static str> {
    span_table::words()
}

/// The scores of the traces of a table.
#[pyclass(frozen, module = "callmatch._core")]
pub struct SpanScores {
    schema: Arc<Schema>,
    batches: Vec<RecordBatch>,
    /// What could not be read, with the number of its row.
    #[pyo3(get)]
    diagnostics: Vec<String>,
    /// The profile that the table was read by.
    #[pyo3(get)]
    profile: &'static str,
    count: usize,
}

#[pymethods]
impl SpanScores {
    fn __len__(&self) -> usize {
        self.count
    }

    #[getter]
    fn column_names(&self) -> Vec<&str> {
        self.schema.fields().iter().map(|field| field.name().as_str()).collect()
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let batches = RecordBatchIterator::new(self.batches.clone().into_iter().map(Ok), self.schema.clone());
        let reader = Bound::new(py, PyRecordBatchReader::new(Box::new(batches)))?;
        reader.call_method1(intern!(py, "__arrow_c_stream__"), (requested_schema,))
    }
}

#[derive(Default)]
struct Problems {
    told: Vec<String>,
    untold: usize,
}

impl Problems {
    fn push(&mut self, problem: String) {
        if self.told.len() < MOST_PROBLEMS {
            self.told.push(problem);
        } else {
            self.untold += 1;
        }
    }

    fn told(mut self) -> Vec<String> {
        if self.untold > 0 {
            self.told.push(format!("and {} more", self.untold));
        }
        self.told
    }
}

/// Reading a table.
struct Reading {
    plan: Plan,
    fields: Vec<Arc<Field>>,
    /// Of these traces alone, everything.
    only: Option<HashSet<String>>,
    kept: Table,
    problems: Problems,
    /// How many rows were read.
    done: usize,
}

impl Reading {
    fn open(
        stream: &Stream,
        profile: Option<&str>,
        has_sessions: bool,
        only: Option<HashSet<String>>,
    ) -> Result<Self, Error> {
        let schema = stream.schema();
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        let plan = Plan::new(&names, span_table::find(&names, profile)?, has_sessions, only.is_some());
        if only.is_none() {
            let mut seen = HashSet::new();
            for field in plan.columns().filter_map(|place| schema.fields().get(place)) {
                let name = show::in_a_sentence(field.name());
                if !seen.insert(field.name()) {
                    return Err(Error::value(format!("the table has several columns {name:?}")));
                }
                if values::has_variant(field.data_type()) {
                    let instead = "make JSON text of it first, with to_json or a cast to a string";
                    return Err(Error::value(format!("column {name}: a VARIANT can't be read; {instead}")));
                }
            }
        }
        let fields = schema.fields().iter().cloned().collect();
        Ok(Reading { plan, fields, only, kept: Table::default(), problems: Problems::default(), done: 0 })
    }

    /// Read all batches, and look at signals now and then.
    fn all(&mut self, py: Python<'_>, mut stream: Stream, pool: &ThreadPool) -> PyResult<()> {
        loop {
            let batches = py.detach(|| some_batches(&mut stream));
            let batches = batches.map_err(|error| errors::to_python(py, &unreadable(&error)))?;
            if batches.is_empty() {
                py.detach(|| self.kept.finish());
                return Ok(());
            }
            py.detach(|| self.take(&batches, pool));
            py.check_signals()?;
        }
    }

    fn take(&mut self, batches: &[RecordBatch], pool: &ThreadPool) {
        let mut parts: Vec<(RecordBatch, usize)> = Vec::new();
        for batch in batches {
            for start in (0..batch.num_rows()).step_by(ROWS) {
                parts.push((batch.slice(start, ROWS.min(batch.num_rows() - start)), self.done + start));
            }
            self.done += batch.num_rows();
        }
        let read = |bump: &mut Bump, (part, before): &(RecordBatch, usize)| self.part(part, *before, bump);
        let read: Vec<Part> = pool.install(|| parts.par_iter().with_max_len(1).map_init(Bump::new, read).collect());
        for mut part in read {
            for (row, problem) in std::mem::take(&mut part.problems) {
                // What is read once more was told of.
                if self.only.is_none() {
                    self.problems.push(format!("row {row}: {problem}"));
                }
            }
            self.kept.add(part);
        }
    }

    fn part(&self, rows: &RecordBatch, before: usize, bump: &mut Bump) -> Part {
        let mut read = Part::default();
        for row in 0..rows.num_rows() {
            if bump.allocated_bytes() > MOST_KEPT {
                *bump = Bump::new();
            }
            bump.reset();
            let reader = Reader::new(bump, true);
            let column = |place: usize| rows.columns().get(place);
            let is_set = |place: usize| column(place).is_some_and(|column| values::is_set(column, row));
            let cell = |place: usize| match (column(place), self.fields.get(place)) {
                (Some(column), Some(field)) => values::of_record(column, field, row, reader.bump),
                _ => Ok(Value::Null),
            };
            let record = self.plan.record(reader, is_set, cell);
            read.read(&self.plan, reader, (before + row) as u64, record, self.only.as_ref());
        }
        read
    }
}

fn unreadable(error: &ArrowError) -> Error {
    let message = error.to_string();
    Error::value(format!("the table can't be read: {}", message.lines().next().unwrap_or_default()))
}

/// The next batches; none at the end.
fn some_batches(stream: &mut Stream) -> Result<Vec<RecordBatch>, ArrowError> {
    let (mut batches, mut rows) = (Vec::new(), 0);
    while rows < ROWS_AT_ONCE && batches.len() < BATCHES_AT_ONCE {
        let Some(batch) = stream.next().transpose()? else { break };
        rows += batch.num_rows();
        batches.push(batch);
    }
    Ok(batches)
}

/// The calls of a trace, as bytes.
struct Outcome {
    calls: Box<[u8]>,
    conversation_id: Option<Box<str>>,
    is_in_doubt: bool,
}

/// The calls of all traces, in their order.
fn outcomes(kept: &Table, counted: RecordedAs, is_whole: bool) -> Vec<Outcome> {
    let outcome = |bump: &mut Bump, number: usize| {
        if bump.allocated_bytes() > MOST_KEPT {
            *bump = Bump::new();
        }
        bump.reset();
        let reader = Reader::new(bump, true);
        let made = kept.trace(number, bump).calls(reader, counted, is_whole);
        let mut calls = Vec::new();
        span_table::write_value(made.calls, &mut calls);
        let conversation_id = made.conversation_id.map(|id| show::storable(id).into_boxed_str());
        Outcome { calls: calls.into_boxed_slice(), conversation_id, is_in_doubt: made.is_in_doubt }
    };
    (0..kept.ids.len()).into_par_iter().with_min_len(16).map_init(Bump::new, outcome).collect()
}

/// What should have been called.
enum Wanted {
    Nothing,
    /// As JSON text.
    Text(Box<[u8]>),
    /// As a value, in bytes.
    Value(Box<[u8]>),
}

type Expectations = Vec<(String, Wanted)>;

/// The calls expected in a table, by the ids in another of its columns.
fn expectations(py: Python<'_>, stream: Stream, ids: &str, calls: &str) -> PyResult<Expectations> {
    let failed = |error: Error| errors::to_python(py, &error);
    let schema = stream.schema();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let place = |name: &str| {
        let mut places = names.iter().enumerate().filter(|(_, known)| **known == name).map(|(place, _)| place);
        match (places.next(), places.next()) {
            (Some(place), None) => Ok(place),
            (Some(_), Some(_)) => {
                Err(failed(Error::value(format!("expected: the table has several columns {name:?}"))))
            }
            (None, _) => Err(failed(Error::value(one_of("expected: a column of the table", name, &names)))),
        }
    };
    // As in files of expectations, where the id may be called so.
    let id_place = if names.contains(&ids) || !names.contains(&"id") { place(ids)? } else { place("id")? };
    let calls_place = place(calls)?;
    let kind = schema.field(calls_place).data_type();
    values::readable(kind).map_err(|kind| {
        let what = "JSON text, or lists of structs with name and arguments";
        failed(Error::wrong_type(format!("expected: the column {calls:?} holds {kind}; tool calls come as {what}")))
    })?;
    let id_field = schema.field(id_place).clone();
    py.detach(|| {
        let (mut all, mut seen): (Expectations, HashMap<String, usize>) = Default::default();
        let mut bump = Bump::new();
        let mut number = 0;
        for batch in stream {
            let batch = batch.map_err(|error| unreadable(&error))?;
            for row in 0..batch.num_rows() {
                bump.reset();
                let at = |error: Error, name: &str| error.at_key(Text::from(name)).at_index(number).inside("expected");
                let id = values::of_record(batch.column(id_place), &id_field, row, &bump);
                let id = id.map_err(|error| at(error, id_field.name()))?;
                let id = match id {
                    Value::Text(id) => show::storable(id),
                    id @ (Value::Int(_) | Value::Big(_)) => show::json_text(id),
                    other => {
                        let message = format!("expected the id of a trace, got {}", other.kind());
                        return Err(at(Error::value(message), id_field.name()));
                    }
                };
                if let Some(first) = seen.insert(id.clone(), number) {
                    let id = show::in_a_sentence(&id);
                    let message = format!("the id {id:?} was there before, in row {first}");
                    return Err(at(Error::value(message), id_field.name()));
                }
                let wanted = values::at(batch.column(calls_place), row, &bump).map_err(|error| at(error, calls))?;
                let wanted = match wanted {
                    Value::Null => Wanted::Nothing,
                    wanted => {
                        let mut bytes = Vec::new();
                        span_table::write_value(wanted, &mut bytes);
                        Wanted::Value(bytes.into_boxed_slice())
                    }
                };
                all.push((id, wanted));
                number += 1;
            }
        }
        Ok(all)
    })
    .map_err(failed)
}

/// A row of scores.
struct Row<'r> {
    id: Option<&'r str>,
    /// The numbers of the traces whose calls count as those of one.
    traces: Vec<usize>,
    /// The number of the expectation.
    expected: Option<usize>,
}

/// The rows that there will be: those of traces, or of conversations, in the order in which they were met; then those of
/// expectations of which there is none.
fn rows<'r>(
    ids: &'r [Box<str>],
    traces: &'r [Outcome],
    expected: &'r Expectations,
    by_conversation: bool,
) -> Vec<Row<'r>> {
    let numbers: HashMap<&str, usize> =
        expected.iter().enumerate().map(|(number, (id, _))| (id.as_str(), number)).collect();
    let mut rows: Vec<Row<'r>> = Vec::with_capacity(ids.len());
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (number, (id, trace)) in ids.iter().zip(traces).enumerate() {
        let conversation = trace.conversation_id.as_deref();
        let known = conversation.filter(|_| by_conversation).and_then(|id| places.get(id).copied());
        if let Some(row) = known.and_then(|place| rows.get_mut(place)) {
            row.traces.push(number);
            continue;
        }
        let (id, has_expectation) = match conversation {
            _ if !by_conversation => (&**id, true),
            Some(conversation) => (conversation, true),
            // It is of no conversation, and called by its own id.
            None => (&**id, false),
        };
        if has_expectation {
            places.insert(id, rows.len());
        }
        let expected = numbers.get(id).copied().filter(|_| has_expectation);
        rows.push(Row { id: Some(id), traces: vec![number], expected });
    }
    let unmatched = expected.iter().enumerate().filter(|(_, (id, _))| !places.contains_key(id.as_str()));
    rows.extend(unmatched.map(|(number, (id, _))| Row { id: Some(id), traces: Vec::new(), expected: Some(number) }));
    rows
}

struct Scoring<'s> {
    options: Options,
    expected: &'s Expectations,
    traces: &'s [Outcome],
}

impl Scoring<'_> {
    fn reports(&self, rows: &[Row<'_>]) -> Vec<Report> {
        let some = |worker: &mut Worker, rows: &[Row<'_>]| -> Vec<Report> {
            rows.iter().map(|row| self.report(row, worker)).collect()
        };
        let parts: Vec<Vec<Report>> = rows.par_chunks(TRACES).map_init(Worker::default, some).collect();
        parts.into_iter().flatten().collect()
    }

    fn report(&self, row: &Row<'_>, worker: &mut Worker) -> Report {
        if row.traces.is_empty() {
            return Report::error("there is no trace with this id".to_owned());
        }
        let (bump, scratch) = worker.room();
        let reader = Reader::new(bump, true);
        let expected = row.expected.and_then(|number| self.expected.get(number)).map(|(_, wanted)| wanted);
        let expected = match expected {
            None | Some(Wanted::Nothing) => Value::Null,
            Some(Wanted::Text(text)) => Value::Text(Text::Utf8(text)),
            Some(Wanted::Value(bytes)) => span_table::read_value(bytes, bump).unwrap_or(Value::Null),
        };
        let made = self.made(&row.traces, bump);
        score_values(self.options, (made, reader), (expected, reader), scratch).unwrap_or_else(|(side, error)| {
            let side = match side {
                Side::Actual => "tool_calls",
                Side::Expected => "expected_tool_calls",
            };
            Report::error(error.at_key(Text::from(side)).to_string())
        })
    }

    /// The calls of several traces as those of one. Not reported, if they are not of one of them.
    fn made<'a>(&'a self, traces: &[usize], bump: &'a Bump) -> Value<'a> {
        let calls = |number: &usize| {
            let trace = self.traces.get(*number)?;
            span_table::read_value(&trace.calls, bump)
        };
        if let [only] = traces {
            return calls(only).unwrap_or(Value::Null);
        }
        let mut all = Vec::new();
        for number in traces {
            match calls(number) {
                Some(Value::Array(calls)) => all.extend_from_slice(calls),
                _ => return Value::Null,
            }
        }
        Value::Array(bump.alloc_slice_copy(&all))
    }
}
