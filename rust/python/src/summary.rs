//! `_core.Summary` and `_core.Summaries`: what many rows say together.

use callmatch_core::{
    options::{DifferenceKind, Verdict},
    summary::{self, GroupState, State},
};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    intern,
    prelude::*,
    types::{PyDict, PyTuple},
};

use crate::errors;

/// Counts over rows, and means over those that passed or failed.
#[pyclass(frozen, eq, module = "callmatch._core")]
#[derive(Clone, Default, PartialEq)]
pub struct Summary(summary::Summary);

#[pymethods]
impl Summary {
    #[new]
    #[pyo3(signature = (state = None))]
    fn new(state: Option<State>) -> PyResult<Self> {
        let Some(state) = state else { return Ok(Summary::default()) };
        summary::Summary::of_state(state)
            .map(Summary)
            .ok_or_else(|| PyValueError::new_err("not the state of a summary"))
    }

    /// All of it, as lists, numbers and texts, of which it can be made again.
    fn state(&self) -> State {
        self.0.state()
    }

    fn __getnewargs__(&self) -> (State,) {
        (self.state(),)
    }

    fn __add__(&self, other: &Summary) -> Summary {
        let mut sum = self.0.clone();
        sum.merge(&other.0);
        Summary(sum)
    }

    /// All that is told, by name.
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let facts = PyDict::new(py);
        for verdict in Verdict::ALL {
            facts.set_item(verdict.word(), self.0.count(*verdict))?;
        }
        for (prefix, shares) in [("", self.0.means()), ("micro_", self.0.micro())] {
            for (place, name) in ["precision", "recall", "f1"].into_iter().enumerate() {
                facts.set_item(format!("{prefix}{name}"), shares.and_then(|shares| shares.get(place).copied()))?;
            }
        }
        let kinds = PyDict::new(py);
        for kind in DifferenceKind::ALL {
            match self.0.differing(*kind) {
                0 => {}
                count => kinds.set_item(kind.word(), count)?,
            }
        }
        facts.set_item(intern!(py, "difference_kinds"), kinds)?;
        facts.set_item(intern!(py, "failing_tools"), counted(py, self.0.failing_tools())?)?;
        facts.set_item(intern!(py, "failing_arguments"), counted(py, self.0.failing_arguments())?)?;
        Ok(facts)
    }
}

fn counted<'py, K: IntoPyObject<'py>>(
    py: Python<'py>,
    all: Option<Vec<(K, u64)>>,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(all) = all else { return Ok(None) };
    let dict = PyDict::new(py);
    for (key, count) in all {
        dict.set_item(key, count)?;
    }
    Ok(Some(dict))
}

/// A summary of all rows, and one of each group of them.
#[pyclass(module = "callmatch._core")]
#[derive(Clone)]
pub struct Summaries(pub summary::Summaries);

#[pymethods]
impl Summaries {
    #[new]
    #[pyo3(signature = (by = Vec::new(), state = None))]
    fn new(by: Vec<String>, state: Option<GroupState>) -> PyResult<Self> {
        let Some(state) = state else { return Ok(Summaries(summary::Summaries::new(by.into()))) };
        let made = summary::Summaries::of_state(state).filter(|made| **made.by() == *by);
        made.map(Summaries).ok_or_else(|| PyValueError::new_err("not the state of summaries"))
    }

    /// All of it, as lists, numbers and texts, of which it can be made again.
    fn state(&self) -> GroupState {
        self.0.state()
    }

    fn __getnewargs__(&self) -> (Vec<String>, GroupState) {
        (self.0.by().to_vec(), self.state())
    }

    fn __add__(&self, other: &Summaries) -> PyResult<Summaries> {
        let mut sum = self.clone();
        sum.add(other)?;
        Ok(sum)
    }

    /// Add to these, in place.
    fn add(&mut self, other: &Summaries) -> PyResult<()> {
        match self.0.merge(&other.0) {
            true => Ok(()),
            false => Err(PyTypeError::new_err("these are summaries of rows that are grouped by other fields")),
        }
    }

    /// The same rows, grouped by some of the fields.
    fn by_fields(&self, fields: Vec<String>) -> PyResult<Summaries> {
        let narrowed = self.0.by_fields(&fields).map(Summaries);
        narrowed.ok_or_else(|| PyValueError::new_err("the rows are not grouped by this field"))
    }

    /// The fields that the rows are grouped by.
    #[getter]
    fn by(&self) -> Vec<String> {
        self.0.by().to_vec()
    }

    /// The summary of all rows.
    #[getter]
    fn total(&self) -> Summary {
        Summary(self.0.total().clone())
    }

    /// The values of each group, and its summary, in the order of the values.
    fn groups<'py>(&self, py: Python<'py>) -> PyResult<Vec<(Bound<'py, PyTuple>, Summary)>> {
        let groups = self.0.groups().map_err(|error| errors::to_python(py, &error))?;
        let group =
            |(values, group): (Vec<_>, &summary::Summary)| Ok((PyTuple::new(py, values)?, Summary(group.clone())));
        groups.into_iter().map(group).collect()
    }
}
