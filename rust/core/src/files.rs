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
    show,
    source::{self, Progress},
    text::Text,
};

/// The rows that are given out at a time come from at least so many blocks, if there are.
const BLOCKS: usize = 16;
/// How far ahead of the block whose turn it is another may be taken, for each thread.
const AHEAD: u64 = 2 * BLOCKS as u64;

/// How many files an error names.
const MOST_NAMES: usize = 5;

/// Scores one file after the other.
pub struct Scorer {
    task: Arc<Task>,
    threads: usize,
    file: Option<Running>,
    /// The first files, for an error about all of them.
    names: Vec<String>,
    /// Whether there was any record, readable or not.
    any: bool,
    found: Found,
    instead: Instead,
}

/// For each of the fields `actual` and `expected` that no record has had so far: what the first record has instead.
type Instead = [Option<Vec<String>>; 2];

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
}

/// A block that is done.
struct Scored {
    rows: Vec<Row>,
    found: Found,
    instead: Instead,
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
        Scorer {
            task: Arc::new(task),
            threads,
            file: None,
            names: Vec::new(),
            any: false,
            found: Found::default(),
            instead: [None, None],
        }
    }

    /// Go on with a file; `-` is standard input.
    pub fn open(&mut self, path: &Path, progress: Progress) -> io::Result<()> {
        let records = Records::new(source::open(path, progress)?);
        let name = if path == Path::new("-") { "standard input".into() } else { path.to_string_lossy() };
        let name: Arc<str> = name.into();
        if self.names.len() < MOST_NAMES {
            self.names.push(show::plain(Text::from(&*name)));
        }
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
        self.file = Some(Running { name, done, early, window, turn: 0, rows, blocks: 0 });
        Ok(())
    }

    /// Wait for the next rows of the file, but not longer than that.
    pub fn next(&mut self, longest: Duration) -> io::Result<Next> {
        let Some(file) = &mut self.file else { return Ok(Next::End) };
        loop {
            while file.blocks < BLOCKS
                && let Some(block) = file.early.remove(&file.turn)
            {
                let Scored { mut rows, found, instead } = match block {
                    Ok(block) => block,
                    // What came before it is given out first.
                    Err(error) if !file.rows.is_empty() => {
                        file.early.insert(file.turn, Err(error));
                        break;
                    }
                    Err(error) => return Err(error),
                };
                file.turn += 1;
                file.window.move_to(file.turn);
                file.blocks += 1;
                self.any |= !rows.is_empty();
                self.found |= found;
                if file.rows.is_empty() {
                    file.rows = rows;
                } else {
                    file.rows.append(&mut rows);
                }
                for (known, new) in self.instead.iter_mut().zip(instead) {
                    if known.is_none() {
                        *known = new;
                    }
                }
            }
            let rows = |file: &mut Running| {
                file.blocks = 0;
                Ok(Next::Chunk(Chunk { file: file.name.clone(), rows: std::mem::take(&mut file.rows) }))
            };
            let failed = file.early.get(&file.turn).is_some_and(Result::is_err);
            if file.blocks >= BLOCKS || failed {
                return rows(file);
            }
            match file.done.recv_timeout(longest) {
                Ok((number, block)) => drop(file.early.insert(number, block)),
                Err(RecvTimeoutError::Timeout) => return Ok(Next::Pending),
                Err(RecvTimeoutError::Disconnected) if !file.rows.is_empty() => return rows(file),
                Err(RecvTimeoutError::Disconnected) => {
                    self.file = None;
                    return Ok(Next::End);
                }
            }
        }
    }

    /// After the last file: no record at all, or a field that was in none, is a mistake.
    pub fn finish(&self) -> Result<(), Error> {
        if !self.any {
            return Err(Error::value(format!("{}: there are no records", self.names.join(", "))));
        }
        let fields =
            [(&self.task.actual, self.found.actual, "actual"), (&self.task.expected, self.found.expected, "expected")];
        for ((field, found, option), instead) in fields.into_iter().zip(&self.instead) {
            if self.found.readable && !found {
                let keys: Vec<&str> = instead.iter().flatten().map(String::as_str).take(20).collect();
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
        // Records need no id, but one that was asked for by another name should be there.
        if self.found.readable && !self.found.id && self.task.id.written != Field::ID {
            return Err(Error::value(format!("no record has the field {:?} (id)", self.task.id.written)));
        }
        Ok(())
    }
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
            let block = unbroken(|| source.records.next_block());
            source.finished = !matches!(block, Ok(Some(_)));
            let number = source.number;
            source.number += 1;
            (number, block)
        };
        let scored = match block {
            Ok(None) => return,
            Ok(Some(block)) => {
                let scored = unbroken(|| Ok(score(&mut worker, task, file, &block)));
                used = Some(block);
                scored
            }
            Err(error) => Err(error),
        };
        if done.send((number, scored)).is_err() {
            return;
        }
    }
}

/// The last net: what breaks a thread is an error of the block, and not a block that nobody misses.
fn unbroken<T>(work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(io::Error::other("a thread broke down")))
}

fn score(worker: &mut Worker, task: &Task, file: &str, block: &Block) -> Scored {
    let rows = Vec::with_capacity(block.records.len());
    let mut scored = Scored { rows, found: Found::default(), instead: [None, None] };
    for record in &block.records {
        let place = record.place;
        let mut row = match &record.bytes {
            Ok(range) => worker.score_record(task, place, &block.bytes[range.clone()]),
            Err(problem) => Row::new(place, Report::error(problem.as_str())),
        };
        if let Some(error) = &mut row.report.error {
            let place = if block.by_line { format!("{place}:") } else { format!(" record {place}:") };
            *error = format!("{}:{place} {error}", show::plain(Text::from(file))).into();
        }
        scored.found |= row.found;
        scored.rows.push(row);
    }
    if scored.found.readable && !(scored.found.actual && scored.found.expected) {
        let mut both = scored.rows.iter().zip(&block.records);
        let first = both.find_map(|(row, record)| record.bytes.as_ref().ok().filter(|_| row.found.readable));
        if let Some(range) = first {
            scored.instead = keys_instead(task, &block.bytes[range.clone()]);
        }
    }
    scored
}

fn keys_instead(task: &Task, bytes: &[u8]) -> Instead {
    let bump = Bump::new();
    match Reader::parse(bytes, &bump) {
        Ok((record, _)) => [&task.actual, &task.expected].map(|field| field.keys_instead(record)),
        Err(_) => [None, None],
    }
}
