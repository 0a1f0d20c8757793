//! Scoring the records of files on several threads: each takes the next block of the file.

use std::{
    io::{self, Read},
    path::Path,
    sync::Arc,
    time::Duration,
};

use bumpalo::Bump;

use crate::{
    call::Reader,
    error::{Error, nearest},
    field::Field,
    pipeline::{self, Pipeline},
    records::{Block, Records},
    score::{Found, Row, Task, Worker},
    show,
    source::{self, Progress},
    text::Text,
};

/// The rows that are given out at a time come from at least so many blocks, if there are.
const BLOCKS: usize = 16;
/// How far ahead of the block whose turn it is another may be taken, for each thread.
pub const AHEAD: u64 = 2 * BLOCKS as u64;

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

/// For each of the fields that some record should have, and that none has had so far: what the first record has instead.
type Instead = Vec<Option<Vec<String>>>;

/// The rows of some blocks.
pub struct Chunk {
    pub file: Arc<str>,
    pub rows: Vec<Row>,
}

/// A file that is being scored.
struct Running {
    name: Arc<str>,
    blocks: Pipeline<Scored>,
    /// What is to be given out next, and of how many blocks it is.
    rows: Vec<Row>,
    count: usize,
    /// What to raise after those.
    failed: Option<io::Error>,
    at_end: bool,
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
        Scorer {
            task: Arc::new(task),
            threads: pipeline::threads(threads),
            file: None,
            names: Vec::new(),
            any: false,
            found: Found::default(),
            instead: Vec::new(),
        }
    }

    /// Go on with a file; `-` is standard input. It may have another name for people: where it was copied from.
    pub fn open(&mut self, path: &Path, name: Option<&str>, progress: Progress) -> io::Result<()> {
        let records = Records::new(source::open(path, progress)?);
        let name = match name {
            Some(name) => name.into(),
            None if path == Path::new("-") => "standard input".into(),
            None => path.to_string_lossy(),
        };
        let name: Arc<str> = name.into();
        if self.names.len() < MOST_NAMES {
            self.names.push(show::plain(Text::from(&*name)));
        }
        let (task, file) = (self.task.clone(), name.clone());
        let blocks = Pipeline::start(records, self.threads, AHEAD, || {
            let (task, file, mut worker) = (task.clone(), file.clone(), Worker::default());
            move |block: &Block| score(&mut worker, &task, &file, block)
        })?;
        self.file = Some(Running { name, blocks, rows: Vec::new(), count: 0, failed: None, at_end: false });
        Ok(())
    }

    /// Wait for the next rows of the file, but not longer than that.
    pub fn next(&mut self, longest: Duration) -> io::Result<Next> {
        let Some(file) = &mut self.file else { return Ok(Next::End) };
        while file.count < BLOCKS && file.failed.is_none() && !file.at_end {
            match file.blocks.next(longest) {
                Ok(pipeline::Next::Pending) => return Ok(Next::Pending),
                Ok(pipeline::Next::End) => file.at_end = true,
                // What came before it is given out first.
                Err(error) => file.failed = Some(error),
                Ok(pipeline::Next::Done(Scored { mut rows, found, instead })) => {
                    file.count += 1;
                    self.any |= !rows.is_empty();
                    self.found |= found;
                    if file.rows.is_empty() {
                        file.rows = rows;
                    } else {
                        file.rows.append(&mut rows);
                    }
                    self.instead.resize(self.instead.len().max(instead.len()), None);
                    for (known, new) in self.instead.iter_mut().zip(instead) {
                        if known.is_none() {
                            *known = new;
                        }
                    }
                }
            }
        }
        file.count = 0;
        let rows = std::mem::take(&mut file.rows);
        if !rows.is_empty() {
            return Ok(Next::Chunk(Chunk { file: file.name.clone(), rows }));
        }
        match file.failed.take() {
            Some(error) => Err(error),
            None => {
                self.file = None;
                Ok(Next::End)
            }
        }
    }

    /// After the last file: no record at all, or a field that was in none, is a mistake.
    pub fn finish(&self) -> Result<(), Error> {
        if !self.any {
            return Err(Error::value(format!("{}: there are no records", self.names.join(", "))));
        }
        for (place, (field, option)) in self.task.needed().enumerate() {
            if self.found.readable && !self.found.has(place) {
                let instead = self.instead.get(place);
                let keys: Vec<&str> = instead.into_iter().flatten().flatten().map(String::as_str).take(20).collect();
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

impl pipeline::Source for Records<Box<dyn Read + Send>> {
    type Piece = Block;

    fn next(&mut self) -> io::Result<Option<Block>> {
        self.next_block()
    }

    fn recycle(&mut self, block: Block) {
        Records::recycle(self, block);
    }
}

fn score(worker: &mut Worker, task: &Task, file: &str, block: &Block) -> Scored {
    let rows = Vec::with_capacity(block.records.len());
    let mut scored = Scored { rows, found: Found::default(), instead: Vec::new() };
    for record in &block.records {
        let place = record.place;
        let mut row = match &record.bytes {
            Ok(range) => worker.score_record(task, place, &block.bytes[range.clone()]),
            Err(problem) => task.unreadable(place, problem.as_str()),
        };
        if let Some(error) = &mut row.report.error {
            let place = if block.by_line { format!("{place}:") } else { format!(" record {place}:") };
            *error = format!("{}:{place} {error}", show::plain(Text::from(file))).into();
        }
        scored.found |= row.found;
        scored.rows.push(row);
    }
    if scored.found.readable && task.needed().enumerate().any(|(place, _)| !scored.found.has(place)) {
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
        Ok((record, _)) => task.needed().map(|(field, _)| field.keys_instead(record)).collect(),
        Err(_) => Vec::new(),
    }
}
