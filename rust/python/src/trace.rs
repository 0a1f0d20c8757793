//! Tool calls and messages as dicts of one shape.

use bumpalo::Bump;
use callmatch_core::{
    field::Field,
    text::Text,
    trace::{
        self,
        span::{Kind, RecordedAs, Span},
        turns::Turn,
    },
    value::Value,
};
use pyo3::{
    intern,
    prelude::*,
    types::{PyDict, PyList, PyString},
};

use crate::{errors, plain, read, write};

// Why this is sound: what was read borrows from Python objects, and making other ones may run the garbage collector, and
// with it code that changes those. So what is found is copied while nothing but the core runs, into an arena of its own,
// and dicts are made of the copy. The compiler holds us to that: a closure can't hand out what borrows from the values that
// it was given.

/// A list of tool calls, or the calls of chat messages; None if they were not reported.
#[pyfunction]
pub fn read_tool_calls<'py>(calls: &Bound<'py, PyAny>, r#where: &str) -> PyResult<Option<Bound<'py, PyList>>> {
    let py = calls.py();
    let bump = Bump::new();
    let spans = read::with_all(calls, |value, reader| {
        let spans = trace::tool_calls(reader, value)?;
        Ok(spans.map(|spans| spans.iter().map(|span| span.copy_to(&bump)).collect::<Vec<_>>()))
    })?;
    match spans.map_err(|error| errors::to_python(py, &error.inside(r#where)))? {
        Some(spans) => list(py, &spans).map(Some),
        None => Ok(None),
    }
}

/// The turns of a conversation, in the messages of any provider.
#[pyfunction]
pub fn read_messages<'py>(messages: &Bound<'py, PyAny>, r#where: &str) -> PyResult<Bound<'py, PyList>> {
    let py = messages.py();
    let bump = Bump::new();
    let conversation = read::with_messages(messages, |value, reader| {
        trace::conversation(reader, value).map(|conversation| conversation.copy_to(&bump))
    })?;
    let conversation = conversation.map_err(|error| errors::to_python(py, &error.inside(r#where)))?;
    let turns = PyList::empty(py);
    for (told, spans) in conversation.turns() {
        turns.append(turn(py, told, list(py, spans)?)?)?;
    }
    Ok(turns)
}

/// A turn with its spans.
pub fn turn<'py>(py: Python<'py>, turn: &Turn<'_>, spans: Bound<'py, PyList>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item(intern!(py, "input"), write::value(py, turn.input)?)?;
    dict.set_item(intern!(py, "output"), write::value(py, turn.output)?)?;
    dict.set_item(intern!(py, "spans"), spans)?;
    Ok(dict)
}

/// A copy of a JSON value, in which models, enum members and the like are what they stand for.
#[pyfunction]
pub fn read_value<'py>(value: &Bound<'py, PyAny>, r#where: &str) -> PyResult<Bound<'py, PyAny>> {
    plain::value(value)?.map_err(|error| errors::to_python(value.py(), &error.inside(r#where)))
}

/// What a dotted path or a JSON pointer leads to in a record; None if it leads nowhere.
#[pyfunction]
pub fn find<'py>(record: &Bound<'py, PyAny>, field: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let (py, bump, field) = (record.py(), Bump::new(), Field::parse(field));
    let found = read::with_messages(record, |value, _| Ok(field.find(value).map(|found| found.copy_to(&bump))))?;
    found.map_err(|error| errors::to_python(py, &error))?.map(|found| write::value(py, found)).transpose()
}

/// Spans, most of which are tool calls; the kind of one that isn't is told.
fn list<'py>(py: Python<'py>, spans: &[Span<'_>]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for read in spans {
        list.append(span(py, read)?)?;
    }
    Ok(list)
}

pub fn span<'py>(py: Python<'py>, span: &Span<'_>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item(intern!(py, "id"), text(py, span.id)?)?;
    dict.set_item(intern!(py, "name"), write::text(py, span.name)?)?;
    dict.set_item(intern!(py, "input"), write::value(py, span.input)?)?;
    dict.set_item(intern!(py, "output"), write::value(py, span.output)?)?;
    dict.set_item(intern!(py, "status"), text(py, span.status)?)?;
    dict.set_item(intern!(py, "error"), text(py, span.error)?)?;
    dict.set_item(intern!(py, "started_at"), write::value(py, span.started_at)?)?;
    dict.set_item(intern!(py, "ended_at"), write::value(py, span.ended_at)?)?;
    if span.kind != Kind::ToolCall {
        dict.set_item(intern!(py, "kind"), span.kind.word())?;
    }
    if span.agent.is_some() {
        dict.set_item(intern!(py, "agent"), text(py, span.agent)?)?;
    }
    if span.recorded_as != RecordedAs::Both {
        dict.set_item(intern!(py, "recorded_as"), span.recorded_as.word())?;
    }
    if span.parent_id.is_some() {
        dict.set_item(intern!(py, "parent_id"), text(py, span.parent_id)?)?;
    }
    if !span.attributes.is_empty() {
        dict.set_item(intern!(py, "attributes"), write::value(py, Value::Object(span.attributes))?)?;
    }
    Ok(dict)
}

pub fn text<'py>(py: Python<'py>, text: Option<Text<'_>>) -> PyResult<Option<Bound<'py, PyString>>> {
    text.map(|text| write::text(py, text)).transpose()
}
