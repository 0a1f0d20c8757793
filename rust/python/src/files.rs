//! `_core.FileScorer`: scoring the records of files, block by block.

use std::{
    io,
    path::PathBuf,
    sync::{Mutex, atomic::Ordering},
    time::Duration,
};

use callmatch_core::{
    field::Field,
    files::{Next, Scorer},
    options::Options,
    score::Task,
    source::Progress,
};
use pyo3::{exceptions::PyRuntimeError, prelude::*};

use crate::{batch::Batch, errors, trajectory::Trajectory};

/// How long a wait for rows may last before signals (Ctrl-C) are looked at.
const BETWEEN_SIGNALS: Duration = Duration::from_millis(50);

#[pyclass(frozen, module = "callmatch._core")]
pub struct FileScorer {
    options: Options,
    progress: Progress,
    /// The process whose threads do the work; a fork of it has none of them.
    process: u32,
    state: Mutex<State>,
}

struct State {
    scorer: Scorer,
    path: PathBuf,
}

#[pymethods]
impl FileScorer {
    /// `threads`: 0 for as many as there are cores.
    #[new]
    fn new(trajectory: &Trajectory, actual: &str, expected: &str, id: &str, threads: usize) -> Self {
        let [actual, expected, id] = [actual, expected, id].map(Field::parse);
        let options = trajectory.options;
        let scorer = Scorer::new(Task { options, actual, expected, id }, threads);
        let state = State { scorer, path: PathBuf::new() };
        FileScorer { options, progress: Progress::default(), process: std::process::id(), state: Mutex::new(state) }
    }

    /// Go on with a file; `-` is standard input.
    fn open(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.locked(py, |state| {
            state.path = path;
            state.scorer.open(&state.path, self.progress.clone())
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
            return Ok(Some(Batch { options: self.options, file: Some(chunk.file), rows: chunk.rows, bytes_read }));
        }
    }

    /// After the last file: raises if a field was in no record.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let finished = self.state.lock().map_err(|_| poisoned())?.scorer.finish();
        finished.map_err(|error| errors::to_python(py, &error))
    }
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
