//! Tool Call Check: one request, many, and those in files.

use std::{
    cell::RefCell,
    io,
    path::PathBuf,
    sync::{Arc, Mutex, atomic::Ordering},
    time::Duration,
};

use bumpalo::Bump;
use callmatch_core::{
    error::Error,
    grounding::{
        calibration::{Calibration, Row as Calibrated},
        report::{self, Check, Relation, Report, Verdict},
        request::{REQUEST_DEPTH, Request},
        rows::{self, Checker, Counts, Next, Row, checked},
        settings::Settings,
    },
    json,
    score::Worker,
    show,
    source::Progress,
    text::Text,
    value::Value,
};
use pyo3::{
    exceptions::{PyException, PyIndexError, PyRuntimeError},
    prelude::*,
    types::{PyBytes, PyDict, PyFloat, PyList, PyString, PyTuple},
};
use rayon::{ThreadPool, prelude::*};

use crate::{
    batch::IdObject,
    errors, read,
    threads::threads,
    trajectory::{JsonText, texts},
    write,
};

/// How requests are checked. Stateless, and shared by any number of threads.
#[pyclass(frozen, module = "callmatch._core")]
pub struct ToolCheck {
    settings: Settings,
    /// What it was made with, for pickle.
    given: Py<PyAny>,
}

thread_local! {
    /// Used again from call to call.
    static WORKER: RefCell<Worker> = RefCell::default();
}

/// A batch of fewer requests isn't worth other threads.
const FEWEST_SHARED: usize = 16;
/// How many requests are checked before signals (Ctrl-C) are looked at.
const AT_A_TIME: usize = 1 << 10;
/// How long a wait for rows may last before signals (Ctrl-C) are looked at.
const BETWEEN_SIGNALS: Duration = Duration::from_millis(50);

#[pymethods]
impl ToolCheck {
    #[new]
    #[pyo3(signature = (settings = None))]
    fn new(py: Python<'_>, settings: Option<Bound<'_, PyAny>>) -> PyResult<Self> {
        let given = settings.unwrap_or_else(|| py.None().into_bound(py));
        let read = read::with_request(&given, &mut Worker::default(), |value, _, _| Settings::read(value))?;
        let settings = read.map_err(|error| errors::to_python(py, &error))?;
        Ok(ToolCheck { settings, given: given.unbind() })
    }

    /// How to make it again, for pickle.
    fn __getnewargs__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyAny>,) {
        (self.given.bind(py).clone(),)
    }

    /// The answer to a request: a dict, or what is like one, or JSON text.
    fn check<'py>(&self, request: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = request.py();
        let report = self.report(request)?.map_err(|error| errors::to_python(py, &error))?;
        answer(py, &report)
    }

    /// One row for each request; what is wrong with a request is its row's error.
    fn check_many(&self, requests: &Bound<'_, PyTuple>) -> PyResult<CheckBatch> {
        let py = requests.py();
        let pool = (requests.len() >= FEWEST_SHARED).then(|| threads(0)).transpose()?;
        let reports = match (&pool, texts(requests)) {
            (Some(pool), Some(texts)) => self.check_texts(py, pool, &texts)?,
            (pool, _) => self.check_objects(pool.as_deref(), requests)?,
        };
        let row = |(place, report): (u64, Result<Report, String>)| {
            report.map_or_else(|error| Row::error(place, error), |report| Row::of_batch(place, report))
        };
        Ok(CheckBatch { rows: (0..).zip(reports).map(row).collect(), file: None, bytes_read: 0 })
    }
}

impl ToolCheck {
    fn report(&self, request: &Bound<'_, PyAny>) -> PyResult<Result<Report, Error>> {
        WORKER.with(|worker| match worker.try_borrow_mut() {
            Ok(mut worker) => self.report_with(request, &mut worker),
            // An object whose code, run by the reading, checks in its turn.
            Err(_) => self.report_with(request, &mut Worker::default()),
        })
    }

    fn report_with(&self, request: &Bound<'_, PyAny>, worker: &mut Worker) -> PyResult<Result<Report, Error>> {
        read::with_request(request, worker, |value, notes, bump| self.checked(value, notes, bump))
    }

    fn checked<'a>(&self, value: Value<'a>, notes: Vec<String>, bump: &'a Bump) -> Result<Report, Error> {
        let mut request = Request::read(value, bump)?;
        request.notes.extend(notes);
        request.or_tools(&self.settings, bump)?;
        checked(&request, &self.settings, bump)
    }

    fn check_objects(
        &self,
        pool: Option<&ThreadPool>,
        requests: &Bound<'_, PyTuple>,
    ) -> PyResult<Vec<Result<Report, String>>> {
        let py = requests.py();
        let mut reports = Vec::with_capacity(requests.len());
        let requests: Vec<_> = requests.iter_borrowed().collect();
        for requests in requests.chunks(AT_A_TIME) {
            py.check_signals()?;
            let shared = pool.map(|pool| {
                read::with_many_requests(pool, requests, |value, bump| self.checked(value, Vec::new(), bump))
            });
            let mut shared = shared.into_iter().flatten();
            for request in requests {
                let report = match shared.next().flatten() {
                    Some(report) => Ok(report),
                    None => self.report(request),
                };
                reports.push(match report {
                    Ok(report) => report.map_err(|error| error.to_string()),
                    Err(error) if error.is_instance_of::<PyException>(py) => {
                        let class = error.get_type(py).name()?;
                        Err(format!("{class}: {}", show::in_a_sentence(&error.value(py).to_string())))
                    }
                    Err(error) => return Err(error),
                });
            }
        }
        Ok(reports)
    }

    fn check_texts(
        &self,
        py: Python<'_>,
        pool: &ThreadPool,
        requests: &[Option<JsonText>],
    ) -> PyResult<Vec<Result<Report, String>>> {
        let mut reports = Vec::with_capacity(requests.len());
        for requests in requests.chunks(AT_A_TIME) {
            py.check_signals()?;
            let each = requests.par_iter().map_init(Worker::default, |worker, request| {
                let bytes = request.as_ref().map_or(&b"null"[..], JsonText::bytes);
                rows::check_json(bytes, &self.settings, worker).map_err(|error| error.to_string())
            });
            py.detach(|| pool.install(|| reports.par_extend(each)));
        }
        Ok(reports)
    }
}

fn answer<'py>(py: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyAny>> {
    let bump = Bump::new();
    write::value(py, report.value(&bump))
}

/// The rows of a batch, or of a part of a file. Objects are made of them when they are asked for.
#[pyclass(frozen, module = "callmatch._core")]
pub struct CheckBatch {
    rows: Vec<Row>,
    /// Where the rows come from; None for objects in memory.
    file: Option<Arc<str>>,
    /// How much of all files had been read, before it was decompressed.
    #[pyo3(get)]
    bytes_read: u64,
}

#[pymethods]
impl CheckBatch {
    fn __len__(&self) -> usize {
        self.rows.len()
    }

    /// The answer, or a dict with an `error` alone.
    fn row<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyAny>> {
        match &self.get(index)?.report {
            Ok(report) => answer(py, report),
            Err(error) => {
                let dict = PyDict::new(py);
                dict.set_item("error", &**error)?;
                Ok(dict.into_any())
            }
        }
    }

    /// What all rows have of: `id`, `file`, `line`, `score`, `score_floor`, `score_basis`, `error`, or the verdicts of a check.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        match name {
            "id" => PyList::new(py, self.rows.iter().map(|row| IdObject(&row.id))),
            "file" => {
                let file = self.file.as_deref().map(|file| PyString::new(py, file));
                PyList::new(py, self.rows.iter().map(|_| &file))
            }
            "line" => PyList::new(py, self.rows.iter().map(|row| self.file.as_ref().map(|_| row.place))),
            "score" => self.list(py, |report| rows::score(report).map(|(score, _)| score)),
            "score_floor" => self.list(py, |report| Some(report::score_floor(&report.probabilities()))),
            "score_basis" => self.list(py, |report| rows::score(report).map(|(_, check)| check.word())),
            "error" => PyList::new(py, self.rows.iter().map(|row| row.report.as_ref().err().map(|error| &**error))),
            _ => match Check::ALL.iter().position(|check| check.word() == name) {
                Some(check) => self.list(py, |report| Some(report.decisions.get(check)?.verdict.word())),
                None => Err(PyIndexError::new_err(format!("no column {name:?}"))),
            },
        }
    }

    /// A row as JSON text on one line: its id, the answer, and the evidence for all instructions as one list.
    fn json(&self, index: usize) -> PyResult<String> {
        let mut out = String::new();
        self.get(index)?.write_json(&Bump::new(), &mut out);
        Ok(out)
    }

    /// All rows as such lines, in UTF-8.
    fn json_lines<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let lines = py.detach(|| {
            let (mut out, mut bump) = (String::new(), Bump::new());
            for row in &self.rows {
                row.write_json(&bump, &mut out);
                out.push('\n');
                bump.reset();
            }
            out
        });
        PyBytes::new(py, lines.as_bytes())
    }

    /// The request of a row, where it was kept and could be read; else None.
    fn request<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(record) = &self.get(index)?.record else { return Ok(None) };
        let bump = Bump::new();
        let Ok(value) = json::parse(record, REQUEST_DEPTH, &bump) else { return Ok(None) };
        write::value(py, value.get("request").unwrap_or(value)).map(Some)
    }

    /// How many rows and errors there are, and how often each verdict of each check came up.
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = Counts::of(&self.rows);
        let dict = PyDict::new(py);
        dict.set_item("rows", counts.rows)?;
        dict.set_item("errors", counts.errors)?;
        for (check, verdicts) in Check::ALL.iter().zip(counts.verdicts) {
            let of_check = PyDict::new(py);
            for (verdict, count) in Verdict::ALL.iter().zip(verdicts) {
                of_check.set_item(verdict.word(), count)?;
            }
            dict.set_item(check.word(), of_check)?;
        }
        Ok(dict)
    }
}

impl CheckBatch {
    fn get(&self, index: usize) -> PyResult<&Row> {
        self.rows.get(index).ok_or_else(|| PyIndexError::new_err("row index out of range"))
    }

    fn list<'py, 'r, T: IntoPyObject<'py>>(
        &'r self,
        py: Python<'py>,
        of: impl Fn(&'r Report) -> Option<T>,
    ) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.rows.iter().map(|row| row.report.as_ref().ok().and_then(&of)))
    }
}

/// Checks the requests of files, block by block.
#[pyclass(frozen, module = "callmatch._core")]
pub struct FileChecker {
    progress: Progress,
    /// The process whose threads do the work; a fork of it has none of them.
    process: u32,
    state: Mutex<State>,
}

struct State {
    checker: Checker,
    path: PathBuf,
    any: bool,
}

#[pymethods]
impl FileChecker {
    /// `threads`: 0 for as many as there are cores. `keep`: whether rows keep their requests.
    #[new]
    #[pyo3(signature = (check, threads = 0, keep = false))]
    fn new(check: &ToolCheck, threads: usize, keep: bool) -> Self {
        let checker = Checker::new(check.settings.clone(), threads, keep);
        let state = State { checker, path: PathBuf::new(), any: false };
        FileChecker { progress: Progress::default(), process: std::process::id(), state: Mutex::new(state) }
    }

    /// Go on with a file; `-` is standard input.
    fn open(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.locked(py, |state| {
            state.path = path;
            state.checker.open(&state.path, self.progress.clone())
        })
    }

    /// The rows of the next part of the file, or None at its end.
    fn next_chunk(&self, py: Python<'_>) -> PyResult<Option<CheckBatch>> {
        loop {
            match self.locked(py, |state| state.checker.next(BETWEEN_SIGNALS))? {
                Next::Rows(file, rows) => {
                    self.state.lock().map_err(|_| poisoned())?.any = true;
                    let bytes_read = self.progress.load(Ordering::Relaxed);
                    return Ok(Some(CheckBatch { rows, file: Some(file), bytes_read }));
                }
                Next::Pending => py.check_signals()?,
                Next::End => return Ok(None),
            }
        }
    }

    /// After the last file: raises if there was no record.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let state = self.state.lock().map_err(|_| poisoned())?;
        if state.any {
            return Ok(());
        }
        let name = show::plain(Text::from(&*state.path.to_string_lossy()));
        Err(errors::to_python(py, &Error::value(format!("{name}: there are no records"))))
    }
}

fn poisoned() -> PyErr {
    PyRuntimeError::new_err("an earlier call was broken off")
}

impl FileChecker {
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

/// Of the verdict and the probability of each instruction: the score, the score that counts what is undecided as 0, and the
/// place of the instruction that sets the score.
#[pyfunction]
pub fn check_score(py: Python<'_>, instructions: Vec<(String, f64)>) -> PyResult<(Option<f64>, f64, Option<usize>)> {
    let verdict = |word: &str| Verdict::ALL.into_iter().find(|verdict| verdict.word() == word);
    let read = |(word, probability): (String, f64)| {
        let Some(verdict) = verdict(&word) else {
            let words = Verdict::ALL.map(Verdict::word);
            let message = callmatch_core::error::one_of("a verdict", &word, &words);
            return Err(errors::to_python(py, &Error::value(message)));
        };
        Ok((verdict, probability))
    };
    let all = instructions.into_iter().map(read).collect::<PyResult<Vec<_>>>()?;
    let score = report::score(&all);
    Ok((score.map(|(score, _)| score), report::score_floor(&all), score.map(|(_, index)| index)))
}

/// The words of Tool Call Check, and the table of its rules.
pub fn words(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("CHECKS", PyTuple::new(py, Check::ALL.map(Check::word))?)?;
    module.add("CHECK_VERDICTS", PyTuple::new(py, Verdict::ALL.map(Verdict::word))?)?;
    module.add("CHECK_RELATIONS", PyTuple::new(py, Relation::ALL.map(Relation::word))?)?;
    let instructions = PyDict::new(py);
    for check in Check::ALL {
        instructions.set_item(check.word(), check.instruction())?;
    }
    module.add("CHECK_INSTRUCTIONS", instructions)?;
    let row = |row: &Calibrated| {
        let dict = PyDict::new(py);
        dict.set_item("rule", row.rule.word())?;
        dict.set_item("check", &*row.check)?;
        dict.set_item("meaning", &*row.meaning)?;
        dict.set_item("followed", PyFloat::new(py, row.followed))?;
        dict.set_item("n", PyFloat::new(py, row.n))?;
        dict.set_item("source", &*row.source)?;
        dict.set_item("assumed", row.assumed)?;
        dict.set_item("probability", row.probability())?;
        Ok(dict)
    };
    let rows = Calibration::default().rows().iter().map(row).collect::<PyResult<Vec<_>>>()?;
    module.add("CHECK_RULES", PyTuple::new(py, rows)?)
}
