//! `_core.FileScorer`: scoring the records of files, block by block.

use std::{
    io,
    path::PathBuf,
    sync::{Arc, Mutex, atomic::Ordering},
    time::Duration,
};

use callmatch_core::{
    error::Error,
    field::Field,
    files::{Next, Scorer},
    options::Options,
    score::{MOST_FIELDS, Task},
    show,
    source::Progress,
};
use pyo3::{exceptions::PyRuntimeError, prelude::*};

use crate::{batch::Batch, errors, trajectory::Trajectory};

/// How long a wait for rows may last before signals (Ctrl-C) are looked at.
const BETWEEN_SIGNALS: Duration = Duration::from_millis(50);

#[pyclass(frozen, module = "callmatch._core")]
pub struct FileScorer {
    options: Options,
    /// The fields that the rows are grouped by.
    by: Arc<[String]>,
    progress: Progress,
    /// The process whose threads do the work; a fork of it has none of them.
    process: u32,
    state: Mutex<State>,
}

struct State {
    scorer: Scorer,
    /// What errors call the file.
    path: PathBuf,
}

#[pymethods]
impl FileScorer {
    /// `threads`: 0 for as many as there are cores. `group_by`: fields that the rows are grouped by.
    #[new]
    #[pyo3(signature = (trajectory, actual, expected, id, threads, group_by = Vec::new()))]
    fn new(
        py: Python<'_>,
        trajectory: &Trajectory,
        actual: &str,
        expected: &str,
        id: &str,
        threads: usize,
        group_by: Vec<String>,
    ) -> PyResult<Self> {
        check_fields(py, &group_by)?;
        let [actual, expected, id] = [actual, expected, id].map(Field::parse);
        let options = trajectory.options;
        let fields = group_by.iter().map(|field| Field::parse(field)).collect();
        let scorer = Scorer::new(Task { options, actual, expected, id, group_by: fields }, threads);
        let state = State { scorer, path: PathBuf::new() };
        let (progress, process, state) = (Progress::default(), std::process::id(), Mutex::new(state));
        Ok(FileScorer { options, by: group_by.into(), progress, process, state })
    }

    /// Go on with a file; `-` is standard input. `name` is what people call it, if that is not its path.
    #[pyo3(signature = (path, name = None))]
    fn open(&self, py: Python<'_>, path: PathBuf, name: Option<String>) -> PyResult<()> {
        self.locked(py, |state| {
            state.path = name.as_ref().map_or_else(|| path.clone(), PathBuf::from);
            state.scorer.open(&path, name.as_deref(), self.progress.clone())
        })
    }

    /// The rows of the next part of the file, or None at its end.
    fn next_chunk(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        loop {
            let chunk = match self.locked(py, |state| state.scorer.next(BETWEEN_SIGNALS))? {
                Next::Chunk(chunk) => chunk,
                Next::Pending => {
                    py.check_signals()?;
                    continue;
                }
                Next::End => return Ok(None),
            };
            let bytes_read = self.progress.load(Ordering::Relaxed);
            let (options, file, rows, by) = (self.options, Some(chunk.file), chunk.rows, self.by.clone());
            return Ok(Some(Batch { options, file, rows, by, bytes_read }));
        }
    }

    /// After the last file: raises if a field was in no record.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let finished = self.state.lock().map_err(|_| poisoned())?.scorer.finish();
        finished.map_err(|error| errors::to_python(py, &error))
    }
}

/// Refuse fields that rows can't be grouped by.
pub fn check_fields(py: Python<'_>, group_by: &[String]) -> PyResult<()> {
    let twice = (1..).zip(group_by).find(|(next, field)| group_by.iter().skip(*next).any(|other| other == *field));
    let message = match twice {
        Some((_, field)) => format!("group_by: {} is there twice", show::in_a_sentence(field)),
        None if group_by.len() > MOST_FIELDS => format!("group_by: rows are grouped by at most {MOST_FIELDS} fields"),
        None => return Ok(()),
    };
    Err(errors::to_python(py, &Error::value(message)))
}

fn poisoned() -> PyErr {
    PyRuntimeError::new_err("an earlier call was broken off")
}

impl FileScorer {
    /// Work while other threads may run Python code.
    fn locked<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut State) -> io::Result<T> + Send) -> PyResult<T> {
        if std::process::id() != self.process {
            return Err(PyRuntimeError::new_err("a file can't be read on in a fork of the process that opened it"));
        }
        let done = py.detach(|| {
            let mut state = self.state.lock().map_err(|_| None)?;
            work(&mut state).map_err(|error| Some((error, state.path.clone())))
        });
        done.map_err(|failed| match failed {
            Some((error, path)) => errors::of_file(py, &path, &error),
            None => poisoned(),
        })
    }
}
