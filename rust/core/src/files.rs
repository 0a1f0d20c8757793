//! Scoring the records of files on several threads.
//!
//! Each thread takes the next block of the file, while the others wait for their turn, and scores its records while the
//! block is still in its core's cache. The blocks come back in whatever order they are done, and are put in order again.
//! No thread runs more than some blocks ahead of what was given out, so memory doesn't grow with the file.

use std::{
    collections::BTreeMap,
    io::{self, Read},
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{
        Arc, Condvar, Mutex,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::Duration,
};

use bumpalo::Bump;

use crate::{
    call::Reader,
    error::{Error, nearest},
    field::Field,
    records::{Block, Records},
    report::Report,
    score::{Found, Row, Task, Worker},
    source::{self, Progress},
};

/// The rows that are given out at a time come from at least so many blocks, if there are.
const BLOCKS: usize = 16;
/// How far ahead of the block whose turn it is another may be taken, for each thread.
const AHEAD: u64 = 2 * BLOCKS as u64;

/// Scores one file after the other.
pub struct Scorer {
    task: Arc<Task>,
    threads: usize,
    file: Option<Running>,
    found: Found,
    /// For a field that no record has had so far: what the first record has instead.
    instead: Option<Vec<(String, Vec<String>)>>,
}

/// The rows of some blocks.
pub struct Chunk {
    pub file: Arc<str>,
    pub rows: Vec<Row>,
}

/// A file that is being scored.
struct Running {
    name: Arc<str>,
    done: Receiver<(u64, io::Result<Scored>)>,
    /// Blocks that came before their turn.
    early: BTreeMap<u64, io::Result<Scored>>,
    window: Arc<Window>,
    /// The number of the block whose turn it is.
    turn: u64,
    /// What is to be given out next.
    rows: Vec<Row>,
    blocks: usize,
    any: bool,
}

/// A block that is done.
struct Scored {
    rows: Vec<Row>,
    found: Found,
    instead: Option<Vec<(String, Vec<String>)>>,
}

/// What came of waiting for rows.
pub enum Next {
    Chunk(Chunk),
    /// Nothing yet; ask again.
    Pending,
    End,
}

impl Scorer {
    /// `threads`: 0 for as many as there are cores.
    pub fn new(task: Task, threads: usize) -> Self {
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        let threads = if threads == 0 { cores() } else { threads };
        Scorer { task: Arc::new(task), threads, file: None, found: Found::default(), instead: None }
    }

    /// Go on with a file; `-` is standard input.
    pub fn open(&mut self, path: &Path, progress: Progress) -> io::Result<()> {
        let records = Records::new(source::open(path, progress)?);
        let name = if path == Path::new("-") { "standard input".into() } else { path.to_string_lossy() };
        let name: Arc<str> = name.into();
        let source = Arc::new(Mutex::new(Source { records, number: 0, finished: false }));
        let window = Arc::new(Window::new(AHEAD * self.threads as u64));
        let (sender, done) = channel();
        for _ in 0..self.threads {
            let (source, window, sender) = (source.clone(), window.clone(), sender.clone());
            let (task, name) = (self.task.clone(), name.clone());
            let work = move || work(&source, &window, &task, &name, &sender);
            thread::Builder::new().name("callmatch".to_owned()).spawn(work)?;
        }
        let (early, rows) = (BTreeMap::new(), Vec::new());
        self.file = Some(Running { name, done, early, window, turn: 0, rows, blocks: 0, any: false });
        Ok(())
    }

    /// Wait for the next rows of the file, but not longer than that.
    pub fn next(&mut self, longest: Duration) -> io::Result<Next> {
        let Some(file) = &mut self.file else { return Ok(Next::End) };
        loop {
            while let Some(block) = file.early.remove(&file.turn) {
                file.turn += 1;
                let Scored { mut rows, found, instead } = block?;
                file.any |= !rows.is_empty();
                if file.rows.is_empty() {
                    file.rows = rows;
                } else {
                    file.rows.append(&mut rows);
                }
                file.blocks += 1;
                self.found.readable |= found.readable;
                self.found.actual |= found.actual;
                self.found.expected |= found.expected;
                if self.instead.is_none() {
                    self.instead = instead;
                }
                file.window.move_to(file.turn);
            }
            let rows = |file: &mut Running| {
                file.blocks = 0;
                Ok(Next::Chunk(Chunk { file: file.name.clone(), rows: std::mem::take(&mut file.rows) }))
            };
            if file.blocks >= BLOCKS {
                return rows(file);
            }
            match file.done.recv_timeout(longest) {
                Ok((number, block)) => drop(file.early.insert(number, block)),
                Err(RecvTimeoutError::Timeout) => return Ok(Next::Pending),
                Err(RecvTimeoutError::Disconnected) if !file.rows.is_empty() => return rows(file),
                Err(RecvTimeoutError::Disconnected) if !file.any => return Err(invalid("it holds no records")),
                Err(RecvTimeoutError::Disconnected) => {
                    self.file = None;
                    return Ok(Next::End);
                }
            }
        }
    }

    /// After the last file: a field that was in no record is a mistake.
    pub fn finish(&self) -> Result<(), Error> {
        let fields =
            [(&self.task.actual, self.found.actual, "actual"), (&self.task.expected, self.found.expected, "expected")];
        for (field, found, option) in fields {
            if self.found.readable && !found {
                let instead = self.instead.iter().flatten().find(|(written, _)| *written == field.written);
                let keys: Vec<&str> =
                    instead.iter().flat_map(|(_, keys)| keys.iter().map(String::as_str)).take(20).collect();
                let mut message = format!("no record has the field {:?} ({option})", field.written);
                if !keys.is_empty() {
                    message += &format!("; the first one has {}", keys.join(", "));
                }
                let last = field.written.rsplit(['.', '/']).next().unwrap_or_default();
                if let Some(near) = nearest(last, &keys) {
                    message += &format!("; did you mean {near:?}?");
                }
                return Err(Error::value(message));
            }
        }
        Ok(())
    }
}

fn invalid(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

impl Drop for Running {
    fn drop(&mut self) {
        self.window.close();
    }
}

/// Which blocks may be taken now.
struct Window {
    size: u64,
    /// The block whose turn it is; None when nobody wants more.
    turn: Mutex<Option<u64>>,
    moved: Condvar,
}

impl Window {
    fn new(size: u64) -> Self {
        Window { size, turn: Mutex::new(Some(0)), moved: Condvar::new() }
    }

    /// Wait until a block may be taken; false when nobody wants it any more.
    fn admits(&self, number: u64) -> bool {
        let Ok(turn) = self.turn.lock() else { return false };
        let full = |turn: &mut Option<u64>| turn.is_some_and(|turn| number >= turn + self.size);
        self.moved.wait_while(turn, full).is_ok_and(|turn| turn.is_some())
    }

    fn move_to(&self, turn: u64) {
        self.set(Some(turn));
    }

    fn close(&self) {
        self.set(None);
    }

    fn set(&self, to: Option<u64>) {
        if let Ok(mut turn) = self.turn.lock() {
            *turn = to;
        }
        self.moved.notify_all();
    }
}

struct Source {
    records: Records<Box<dyn Read + Send>>,
    /// How many blocks were taken.
    number: u64,
    finished: bool,
}

/// What each thread does until the file ends, or nobody wants more of it.
fn work(source: &Mutex<Source>, window: &Window, task: &Task, file: &str, done: &Sender<(u64, io::Result<Scored>)>) {
    let mut worker = Worker::default();
    let mut used: Option<Block> = None;
    loop {
        let (number, block) = {
            let Ok(mut source) = source.lock() else { return };
            if let Some(block) = used.take() {
                source.records.recycle(block);
            }
            // The others wait for the source meanwhile, as they would have to wait for the window.
            if source.finished || !window.admits(source.number) {
                return;
            }
            let block = source.records.next_block();
            source.finished = !matches!(block, Ok(Some(_)));
            let number = source.number;
            source.number += 1;
            (number, block)
        };
        let scored = match block {
            Ok(None) => return,
            Ok(Some(block)) => {
                // The last net: a block that breaks the thread must not be missed.
                let scored = catch_unwind(AssertUnwindSafe(|| score(&mut worker, task, file, &block)));
                used = Some(block);
                scored.map_err(|_| io::Error::other("scoring broke down"))
            }
            Err(error) => Err(error),
        };
        if done.send((number, scored)).is_err() {
            return;
        }
    }
}

fn score(worker: &mut Worker, task: &Task, file: &str, block: &Block) -> Scored {
    let mut scored = Scored { rows: Vec::with_capacity(block.records.len()), found: Found::default(), instead: None };
    for record in &block.records {
        let place = record.place;
        let mut row = match &record.bytes {
            Ok(range) => worker.score_record(task, place, &block.bytes[range.clone()]),
            Err(problem) => Row::new(place, Report::error(problem.as_str())),
        };
        if let Some(error) = &mut row.report.error {
            *error = format!("{file}:{place}: {error}").into();
        }
        scored.found.readable |= row.found.readable;
        scored.found.actual |= row.found.actual;
        scored.found.expected |= row.found.expected;
        scored.rows.push(row);
    }
    if scored.found.readable && !(scored.found.actual && scored.found.expected) {
        let mut both = scored.rows.iter().zip(&block.records);
        let first = both.find_map(|(row, record)| record.bytes.as_ref().ok().filter(|_| row.found.readable));
        scored.instead = first.map(|range| fields_instead(task, &block.bytes[range.clone()]));
    }
    scored
}

fn fields_instead(task: &Task, bytes: &[u8]) -> Vec<(String, Vec<String>)> {
    let bump = Bump::new();
    let Ok((record, _)) = Reader::parse(bytes, &bump) else { return Vec::new() };
    let fields = [&task.actual, &task.expected];
    fields.into_iter().filter_map(|field: &Field| Some((field.written.clone(), field.keys_instead(record)?))).collect()
}
