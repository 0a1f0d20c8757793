//! `_core.FileScorer`: scoring the records of files, block by block.

use std::{
    io,
    path::PathBuf,
    sync::{Mutex, atomic::Ordering},
};

use callmatch_core::{
    field::Field,
    options::Options,
    score::{Scorer, Task},
    source::{self, Progress},
};
use pyo3::{exceptions::PyRuntimeError, prelude::*};

use crate::{batch::Batch, errors, trajectory::Trajectory};

#[pyclass(frozen, module = "callmatch._core")]
pub struct FileScorer {
    options: Options,
    progress: Progress,
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
    fn new(trajectory: &Trajectory, actual: &str, expected: &str, id: &str, threads: usize) -> PyResult<Self> {
        let [actual, expected, id] = [actual, expected, id].map(Field::parse);
        let options = trajectory.options;
        let scorer = Scorer::new(Task { options, actual, expected, id }, threads)?;
        let state = State { scorer, path: PathBuf::new() };
        Ok(FileScorer { options, progress: Progress::default(), state: Mutex::new(state) })
    }

    /// Go on with a file; `-` is standard input.
    fn open(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.locked(py, |state| {
            state.path.clone_from(&path);
            state.scorer.open(&path, self.progress.clone())
        })
    }

    /// The rows of the next block, or None at the end of the file.
    fn next_chunk(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let chunk = self.locked(py, |state| state.scorer.next_chunk())?;
        let bytes_read = self.progress.load(Ordering::Relaxed);
        Ok(chunk.map(|chunk| Batch { options: self.options, file: Some(chunk.file), rows: chunk.rows, bytes_read }))
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
    /// Work while other threads may run Python code; a signal that interrupts it is seen to, and then it goes on.
    fn locked<T: Send>(&self, py: Python<'_>, work: impl Fn(&mut State) -> io::Result<T> + Sync) -> PyResult<T> {
        loop {
            let done = py.detach(|| {
                let mut state = self.state.lock().map_err(|_| None)?;
                work(&mut state).map_err(|error| Some((error, state.path.clone())))
            });
            return match done {
                Ok(done) => Ok(done),
                Err(None) => Err(poisoned()),
                Err(Some((error, _))) if source::is_interrupt(&error) => {
                    py.check_signals()?;
                    continue;
                }
                Err(Some((error, path))) => Err(errors::of_file(py, &path, &error)),
            };
        }
    }
}
