//! The spans of stored traces, column by column.

use std::{ops::Range, sync::Arc};

use arrow_array::{
    Array, ArrayRef,
    builder::{Int64Builder, LargeStringBuilder},
    cast::AsArray,
    types::Int64Type,
};
use arrow_schema::Field;
use callmatch_core::trace::{
    columns::{Columns, NAMES, Of, Rows},
    store::{Kept, Store},
};
use pyo3::{
    basic::CompareOp,
    intern,
    prelude::*,
    types::{PyCapsule, PyDict, PyIterator, PyList, PyString, PyTuple, PyType},
};
use pyo3_arrow::{error::PyArrowResult, ffi::to_array_pycapsules};
use rayon::prelude::*;

use crate::{store::shares, threads::threads};

/// The spans of traces, in parts of so many traces.
#[pyclass(module = "callmatch._core")]
pub struct SpanColumns {
    store: Arc<Store>,
    kept: Option<Kept>,
    of: Of,
    size: usize,
    /// The first trace of the next part.
    next: usize,
}

/// Columns of some traces.
struct Read {
    columns: Columns,
    /// The place of each trace, and its rows.
    traces: Vec<(usize, Range<usize>)>,
}

impl SpanColumns {
    pub fn new(store: Arc<Store>, kept: Option<Kept>, of: Of, size: usize) -> Self {
        SpanColumns { store, kept, of, size: size.max(1), next: 0 }
    }

    /// All columns of the spans of some traces, with their names.
    fn part(&self, traces: Range<usize>) -> Vec<(&'static str, ArrayRef)> {
        let known = |place: usize| self.kept.as_ref()?.rows(place);
        let unknown: Vec<usize> = traces.clone().filter(|&place| known(place).is_none()).collect();
        let runs = unknown.chunk_by(|one, other| one + 1 == *other);
        let runs = runs.filter_map(|run| Some(shares(*run.first()?..*run.last()? + 1))).flatten();
        let runs: Vec<Range<usize>> = runs.collect();
        let read: Vec<Read> = runs.into_par_iter().map(|traces| self.read(traces)).collect();
        let again = read.iter().flat_map(|Read { columns, traces }| {
            traces.iter().map(move |(place, rows)| Rows { place: *place, columns, rows: rows.clone() })
        });
        let mut all: Vec<Rows<'_>> = traces.filter_map(known).chain(again).collect();
        all.sort_by_key(|rows| rows.place);
        let count = all.iter().map(|rows| rows.rows.len()).sum();
        let (mut traces, mut turns) = (Int64Builder::with_capacity(count), Int64Builder::with_capacity(count));
        for Rows { place, columns, rows } in &all {
            traces.append_value_n(*place as i64, rows.len());
            let of_trace = columns.turns.get(rows.clone()).unwrap_or_default();
            of_trace.iter().for_each(|turn| turns.append_value(*turn as i64));
        }
        let numbers: [(&str, ArrayRef); 2] = [("trace", Arc::new(traces.finish())), ("turn", Arc::new(turns.finish()))];
        let texts = NAMES.par_iter().enumerate().map(|(column, name)| (*name, texts(&all, column, count)));
        numbers.into_iter().chain(texts.collect::<Vec<_>>()).collect()
    }

    fn read(&self, traces: Range<usize>) -> Read {
        let mut read = Read { columns: Columns::new(self.of), traces: Vec::with_capacity(traces.len()) };
        self.store.load(traces, |place, trace| {
            if let Ok(trace) = trace {
                read.traces.push((place, read.columns.push(trace)));
            }
        });
        read
    }
}

fn texts(all: &[Rows<'_>], column: usize, count: usize) -> ArrayRef {
    let parts = || all.iter().filter_map(|rows| Some((rows.columns.texts(column)?, rows.rows.clone())));
    let length = parts().map(|(texts, rows)| texts.length(rows)).sum();
    let mut builder = LargeStringBuilder::with_capacity(count, length);
    for (texts, rows) in parts() {
        texts.rows(rows).for_each(|text| builder.append_option(text));
    }
    Arc::new(builder.finish())
}

#[pymethods]
impl SpanColumns {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let traces = self.next..self.next.saturating_add(self.size).min(self.store.entries.len());
        if traces.is_empty() {
            self.kept = None;
            return Ok(None);
        }
        self.next = traces.end;
        py.check_signals()?;
        let pool = threads(0)?;
        let columns = py.detach(|| pool.install(|| self.part(traces)));
        let part = PyDict::new(py);
        for (name, cells) in columns {
            part.set_item(name, SpanColumn { cells })?;
        }
        Ok(Some(part))
    }
}

/// The cells of a column: a sequence, of which Python objects are made when somebody asks for them, and an Arrow array.
#[pyclass(frozen, sequence, module = "callmatch._core")]
pub struct SpanColumn {
    cells: ArrayRef,
}

#[pymethods]
impl SpanColumn {
    /// All cells, as a list.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        list(py, &self.cells)
    }

    fn __len__(&self) -> usize {
        self.cells.len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let length = self.cells.len();
        let place = index.extract::<isize>().ok().and_then(|place| match place {
            0.. => usize::try_from(place).ok(),
            _ => length.checked_add_signed(place),
        });
        match place.filter(|place| *place < length) {
            Some(place) => list(py, &self.cells.slice(place, 1))?.get_item(0),
            // A slice, or what a list has an error for.
            None => self.tolist(py)?.as_any().get_item(index),
        }
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.tolist(py)?.try_iter()
    }

    #[pyo3(signature = (value, /))]
    fn count<'py>(&self, py: Python<'py>, value: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.tolist(py)?.call_method1(intern!(py, "count"), (value,))
    }

    #[pyo3(signature = (*value_and_bounds))]
    fn index<'py>(&self, py: Python<'py>, value_and_bounds: Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        self.tolist(py)?.call_method1(intern!(py, "index"), value_and_bounds)
    }

    /// To a list, or another column: do they hold the same?
    fn __eq__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(other) = other.cast::<SpanColumn>() {
            return self.tolist(py)?.rich_compare(other.get().tolist(py)?, CompareOp::Eq);
        }
        if other.is_instance_of::<PyList>() {
            return self.tolist(py)?.rich_compare(other, CompareOp::Eq);
        }
        Ok(py.NotImplemented().into_bound(py))
    }

    fn __repr__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.tolist(py)?.repr()
    }

    /// It is pickled and copied as a list.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyType>, (Bound<'py, PyList>,))> {
        Ok((py.get_type::<PyList>(), (self.tolist(py)?,)))
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyArrowResult<Bound<'py, PyTuple>> {
        let field = Field::new("", self.cells.data_type().clone(), true);
        to_array_pycapsules(py, Arc::new(field), &self.cells, requested_schema)
    }
}

fn list<'py>(py: Python<'py>, cells: &ArrayRef) -> PyResult<Bound<'py, PyList>> {
    if let Some(numbers) = cells.as_primitive_opt::<Int64Type>() {
        return PyList::new(py, numbers.values());
    }
    // Many texts are the same as that of the row before, or one of a few words.
    let mut last: Option<(&str, Bound<'py, PyString>)> = None;
    let texts = cells.as_string::<i64>();
    let objects = (0..texts.len()).map(|row| {
        let text = texts.is_valid(row).then(|| texts.value(row))?;
        match &last {
            Some((known, object)) if *known == text => Some(object.clone()),
            _ => Some(last.insert((text, PyString::new(py, text))).1.clone()),
        }
    });
    PyList::new(py, objects)
}
