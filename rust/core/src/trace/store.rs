//! Traces in files: found once, and read when they are asked for.
//!
//! Finding them reads every record once, on several threads, and keeps where each trace is: a trace whose spans are scattered
//! has several places. What is read of a record is dropped again, so memory grows with the number of traces and not with
//! their size.

use std::{
    cell::Cell,
    collections::{HashMap, HashSet},
    fs::File,
    io::{self, BufWriter, Read, Seek, SeekFrom, Write},
    ops::Range,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::Ordering,
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    thread,
    time::Duration,
};

use bumpalo::Bump;

use super::{
    archive::{self, Archive},
    formats::{self, Format, Unit, Wanted},
    spans::{
        Exported,
        frames::{self, Frames, Framing},
        protobuf,
    },
    stored::{Found, Trace},
};
use crate::{
    call::Reader,
    error::Error,
    pipeline::{self, Pipeline},
    records::{Block, Record, Records},
    show,
    source::{self, Progress},
    text::Text,
    value::Value,
};

/// How many bytes of a file are looked at to tell its format, if so many records are not enough.
const HEAD: usize = 1 << 20;
const HEAD_RECORDS: usize = 50;
/// A session that takes more is not read.
const MOST_BYTES: u64 = 64 << 20;
/// So many problems are told in words; the others are counted.
const MOST_PROBLEMS: usize = 10_000;
/// So many bytes of traces are read at a time, which stay in the cache of a core.
const AT_ONCE: u64 = 256 << 10;
/// More memory than this isn't kept from one time to the next.
const MOST_KEPT: usize = 8 << 20;
/// How far ahead of the block whose turn it is another may be taken, for each thread.
const AHEAD: u64 = 8;
/// So many files stay open; systems allow a process few. Others are opened again when they are read.
const MOST_OPEN: usize = 64;

thread_local! {
    /// What a thread reads into, and uses again: fresh memory takes as long as filling it.
    static ROOM: Cell<Bump> = Cell::default();
}

/// A file to be read, under the name that it is called by.
#[derive(Clone, Debug)]
pub struct Input {
    pub path: PathBuf,
    pub name: String,
    /// What its only trace is called, if that has no id.
    pub id: Option<String>,
    /// It will be gone, so it can't be opened again.
    pub is_temporary: bool,
}

/// Where a trace is.
#[derive(Clone, Copy, Debug)]
struct Place {
    file: u32,
    /// All of the file, for a session.
    is_whole: bool,
    offset: u64,
    length: u64,
    /// The line, or the number of the record.
    number: u64,
}

/// A trace, as far as it is known without being read again.
#[derive(Debug)]
pub struct Entry {
    pub id: Option<Box<str>>,
    pub conversation_id: Option<Box<str>>,
    pub test_id: Option<Box<str>>,
    places: Places,
    /// Which of the traces at its place it is.
    ordinal: u32,
}

impl Entry {
    /// Which file it is in, or begins in.
    pub fn file(&self) -> usize {
        self.places.all().first().map_or(0, |place| place.file as usize)
    }
}

/// Most traces are at one place.
#[derive(Debug)]
enum Places {
    One(Place),
    #[expect(clippy::box_collection, reason = "so that most entries are small")]
    Many(Box<Vec<Place>>),
}

impl Places {
    fn all(&self) -> &[Place] {
        match self {
            Places::One(place) => std::slice::from_ref(place),
            Places::Many(places) => places,
        }
    }

    fn push(&mut self, place: Place) {
        match self {
            Places::One(first) => *self = Places::Many(Box::new(vec![*first, place])),
            Places::Many(places) => places.push(place),
        }
    }
}

/// A file that traces are read from, again and again.
struct Opened {
    name: String,
    path: PathBuf,
    /// None: it is opened when it is read.
    bytes: Option<Bytes>,
    format: Option<Format>,
    layout: Layout,
}

/// A file, or what is between two places of one.
#[derive(Clone)]
struct Bytes {
    file: Arc<File>,
    start: u64,
    end: u64,
}

impl Bytes {
    fn whole(file: File) -> Self {
        Bytes { file: Arc::new(file), start: 0, end: u64::MAX }
    }

    /// Read at a place, whatever else reads the same file.
    fn read_some_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let at = self.start + offset;
        let most = usize::try_from(self.end.saturating_sub(at)).unwrap_or(usize::MAX).min(buffer.len());
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::read_at(&*self.file, &mut buffer[..most], at);
        #[cfg(windows)]
        return std::os::windows::fs::FileExt::seek_read(&*self.file, &mut buffer[..most], at);
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            match self.read_some_at(&mut bytes[done..], offset + done as u64) {
                Ok(0) => {
                    let message = "the file has become shorter since its traces were found";
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
                }
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn reader(&self) -> FromStart {
        FromStart { bytes: self.clone(), offset: 0, progress: Progress::default() }
    }
}

/// How the records of a file follow each other.
#[derive(Clone, Copy)]
enum Layout {
    /// JSON, on lines of their own or not.
    Json {
        by_line: bool,
    },
    Protobuf(Framing),
}

impl Layout {
    /// Of a file in which nothing is.
    const NONE: Layout = Layout::Json { by_line: true };

    fn is_by_line(self) -> bool {
        matches!(self, Layout::Json { by_line: true })
    }
}

/// All traces of some files.
pub struct Store {
    files: Vec<Opened>,
    pub entries: Vec<Entry>,
    by_id: HashMap<Box<str>, usize>,
    /// Traces in pieces whose id is that of an earlier trace which isn't.
    in_pieces: HashMap<Box<str>, usize>,
    /// How many files stay open.
    open: usize,
    /// How many traces have the id of an earlier one, and the first of them.
    again: (usize, Option<String>),
    problems: Mutex<Problems>,
}

#[derive(Default)]
struct Problems {
    told: Vec<String>,
    untold: u64,
}

impl Problems {
    fn push(&mut self, problem: String) {
        if self.told.len() < MOST_PROBLEMS {
            self.told.push(problem);
        } else {
            self.untold += 1;
        }
    }
}

/// Finds the traces of files, step by step, so that whoever waits can look at signals.
pub struct Finder {
    inputs: std::vec::IntoIter<Input>,
    wanted: Option<Wanted>,
    threads: usize,
    progress: Progress,
    /// Must every file be one of traces? One among many may be something else.
    only_traces: bool,
    store: Store,
    /// What was unpacked, one after the other.
    spool: Option<Arc<File>>,
    now: Option<Now>,
}

/// What is going on.
enum Now {
    /// Something is unpacked by a thread, which may have to wait for it.
    Unpacking(Input, Receiver<io::Result<(Bytes, Vec<Error>)>>),
    Finding(Running),
}

struct Running {
    blocks: Pipeline<Vec<Item>>,
    file: u32,
    id: Option<String>,
    /// The place of its first trace.
    first: usize,
    /// Of all records.
    bytes: u64,
}

/// What a record holds.
struct Item {
    place: Place,
    traces: Vec<Ids>,
    problems: Vec<String>,
}

struct Ids {
    id: Option<Box<str>>,
    conversation_id: Option<Box<str>>,
    test_id: Option<Box<str>>,
}

/// What came of a step.
pub enum Step {
    Pending,
    Done(Box<Store>),
}

impl Finder {
    /// `threads`: 0 for as many as there are cores. `only_traces`: is a file of another kind an error, or passed over?
    pub fn new(
        inputs: Vec<Input>,
        wanted: Option<Wanted>,
        threads: usize,
        only_traces: bool,
        progress: Progress,
    ) -> Self {
        let store = Store {
            files: Vec::new(),
            entries: Vec::new(),
            by_id: HashMap::new(),
            in_pieces: HashMap::new(),
            open: 0,
            again: (0, None),
            problems: Mutex::default(),
        };
        let threads = pipeline::threads(threads);
        Finder { inputs: inputs.into_iter(), wanted, threads, progress, only_traces, store, spool: None, now: None }
    }

    /// Go on, but not much longer than that.
    pub fn step(mut self, longest: Duration) -> io::Result<(Option<Self>, Step)> {
        loop {
            match &mut self.now {
                None => match self.inputs.next() {
                    Some(input) => self.open(input)?,
                    None => {
                        self.store.tell_of_ids();
                        return Ok((None, Step::Done(Box::new(self.store))));
                    }
                },
                Some(Now::Unpacking(_, unpacked)) => {
                    let unpacked = match unpacked.recv_timeout(longest) {
                        Err(RecvTimeoutError::Timeout) => return Ok((Some(self), Step::Pending)),
                        Err(RecvTimeoutError::Disconnected) => Err(io::Error::other("a thread broke down")),
                        Ok(unpacked) => unpacked,
                    };
                    if let Some(Now::Unpacking(input, _)) = self.now.take() {
                        self.begin(input, unpacked, false)?;
                    }
                }
                Some(Now::Finding(running)) => match running.blocks.next(longest)? {
                    pipeline::Next::Pending => return Ok((Some(self), Step::Pending)),
                    pipeline::Next::Done(items) => {
                        for item in items {
                            running.bytes += item.place.length;
                            self.store.add(item);
                        }
                    }
                    pipeline::Next::End => {
                        if let Some(Now::Finding(running)) = self.now.take() {
                            self.store.finish(&running)?;
                        }
                    }
                },
            }
        }
    }

    /// What is compressed, an archive, or comes from a pipe is unpacked into a temporary file, which is gone when it is closed.
    fn open(&mut self, input: Input) -> io::Result<()> {
        let mut archive = None;
        if input.path != Path::new("-") && input.path.is_file() {
            let plain = Bytes::whole(File::open(&input.path)?);
            let mut head = Vec::new();
            plain.reader().take(4).read_to_end(&mut head)?;
            let must_stay = input.is_temporary && self.store.open >= MOST_OPEN;
            if archive::is_archive(&head) {
                archive = Some(File::open(&input.path)?);
            } else if !source::is_compressed(&head) && !must_stay {
                return self.begin(input, Ok((plain, Vec::new())), true);
            }
        }
        let spool = match &self.spool {
            Some(spool) => spool.clone(),
            None => self.spool.insert(Arc::new(tempfile::tempfile()?)).clone(),
        };
        let (path, progress) = (input.path.clone(), self.progress.clone());
        let (sender, unpacked) = channel();
        let unpack = move || drop(sender.send(unpacked_to(&spool, &path, progress, archive)));
        thread::Builder::new().name("callmatch".to_owned()).spawn(unpack)?;
        self.now = Some(Now::Unpacking(input, unpacked));
        Ok(())
    }

    /// Go on with what can be read again and again. `is_plain`: it is the file itself.
    fn begin(&mut self, input: Input, bytes: io::Result<(Bytes, Vec<Error>)>, is_plain: bool) -> io::Result<()> {
        let shown = show::plain(Text::from(&*input.name));
        let number = self.store.files.len() as u32;
        let of_file = |error: &dyn std::fmt::Display| format!("{shown}: {error}");
        let mut found = None;
        let read = bytes.and_then(|(bytes, problems)| {
            problems.into_iter().for_each(|error| self.store.problem(of_file(&error)));
            head(&found.insert(bytes).clone())
        });
        let recognised = match read {
            // What the system says has its own words.
            Err(error) if error.raw_os_error().is_some() => return Err(error),
            Err(error) => Err(of_file(&source::said(&error))),
            Ok(head) => recognise(&input.name, &head, self.wanted),
        };
        let (format, layout) = match recognised {
            Ok(Some((format, layout))) => (Some(format), layout),
            // Nothing in it.
            Ok(None) => (None, Layout::NONE),
            Err(error) if self.only_traces => {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, error));
            }
            Err(error) => {
                self.store.problem(error);
                (None, Layout::NONE)
            }
        };
        let mut kept = found.clone();
        if is_plain {
            let stays = self.store.open < MOST_OPEN && format.is_some();
            self.store.open += usize::from(stays);
            kept = kept.filter(|_| stays);
        }
        if let (Some(format), Some(bytes)) = (format, found) {
            // What was unpacked counts by what it was unpacked from.
            let progress = if is_plain { self.progress.clone() } else { Progress::default() };
            let source = FromStart { progress, ..bytes.reader() };
            let name: Arc<str> = input.name.as_str().into();
            let worker = || {
                let (name, mut bump) = (name.clone(), Bump::new());
                move |block: &Block| items(&mut bump, format, layout, &name, number, block)
            };
            let blocks = match layout {
                Layout::Json { .. } => {
                    let records = Records::new(Box::new(source) as Box<dyn Read + Send>);
                    Pipeline::start(records, self.threads, AHEAD, worker)?
                }
                Layout::Protobuf(framing) => {
                    Pipeline::start(Frames::new(source, framing), self.threads, AHEAD, worker)?
                }
            };
            let (first, id) = (self.store.entries.len(), input.id);
            self.now = Some(Now::Finding(Running { blocks, file: number, id, first, bytes: 0 }));
        }
        // The process may be elsewhere when it is opened again.
        let path = std::path::absolute(&input.path).unwrap_or(input.path);
        self.store.files.push(Opened { name: input.name, path, bytes: kept, format, layout });
        Ok(())
    }
}

/// Reads a file from its start, wherever others that share it are.
struct FromStart {
    bytes: Bytes,
    offset: u64,
    progress: Progress,
}

impl Read for FromStart {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.read_some_at(buffer, self.offset)?;
        self.offset += count as u64;
        self.progress.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Write what a source holds, or an archive, behind all that was unpacked before.
fn unpacked_to(
    spool: &Arc<File>,
    path: &Path,
    progress: Progress,
    archive: Option<File>,
) -> io::Result<(Bytes, Vec<Error>)> {
    let mut file = &**spool;
    let start = file.seek(SeekFrom::End(0))?;
    let mut writer = BufWriter::with_capacity(1 << 16, file);
    let problems = match archive {
        Some(archive) => unpack(archive, &mut writer)?,
        None => io::copy(&mut source::open(path, progress)?, &mut writer).map(|_| Vec::new())?,
    };
    writer.flush()?;
    drop(writer);
    Ok((Bytes { file: spool.clone(), start, end: file.stream_position()? }, problems))
}

/// Each member of an archive on a line of its own, and what is wrong with those that can't be read.
fn unpack(file: File, spool: &mut impl Write) -> io::Result<Vec<Error>> {
    let mut problems = Vec::new();
    for (_, bytes) in Archive::open(file)? {
        match bytes {
            Ok(mut bytes) => {
                // Between the parts of JSON they are white space, and within a text they are written otherwise.
                bytes.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
                spool.write_all(&bytes)?;
                spool.write_all(b"\n")?;
            }
            Err(error) => problems.push(error),
        }
    }
    Ok(problems)
}

/// The first records, or none of an empty file.
struct Head {
    bytes: Vec<u8>,
    records: Vec<Record>,
    by_line: bool,
    framing: Option<Framing>,
}

fn head(file: &Bytes) -> io::Result<Head> {
    let mut bytes = Vec::new();
    file.reader().take(HEAD as u64).read_to_end(&mut bytes)?;
    let mut head = Head { bytes: Vec::new(), records: Vec::new(), by_line: true, framing: frames::recognise(&bytes) };
    if head.framing.is_some() {
        return Ok(head);
    }
    let mut records = Records::new(file.reader());
    while head.records.len() < HEAD_RECORDS && head.bytes.len() < HEAD {
        let Some(block) = records.next_block()? else { break };
        let shift = head.bytes.len();
        head.by_line = block.by_line;
        let end = block.records.iter().filter_map(|record| Some(record.bytes.as_ref().ok()?.end)).max().unwrap_or(0);
        head.bytes.extend_from_slice(block.bytes.get(..end).unwrap_or_default());
        head.records.extend(block.records.into_iter().map(|record| Record {
            place: record.place,
            bytes: record.bytes.map(|range| range.start + shift..range.end + shift),
        }));
    }
    Ok(head)
}

/// None if nothing is in the file.
fn recognise(name: &str, head: &Head, wanted: Option<Wanted>) -> Result<Option<(Format, Layout)>, String> {
    let of_file = |error: Error| told(name, head.by_line, &error, &[]);
    if let Some(framing) = head.framing {
        let format = formats::of_protobuf(wanted).map_err(of_file)?;
        return Ok(Some((format, Layout::Protobuf(framing))));
    }
    let by_line = head.by_line;
    let bump = Bump::new();
    let reader = Reader { bump: &bump, may_be_deep: true };
    let mut values = Vec::new();
    let mut broken: Option<String> = None;
    for record in head.records.iter().take(HEAD_RECORDS) {
        match value(&bump, &head.bytes, record) {
            Ok(value) => values.push(value),
            Err(error) => {
                broken.get_or_insert_with(|| told(name, by_line, &error.at_index(0), &[record.place]));
            }
        }
    }
    match (values.is_empty(), broken) {
        (true, None) => Ok(None),
        (true, Some(broken)) => Err(broken),
        (false, _) => {
            let format = formats::recognise(reader, &values, by_line, wanted).map_err(of_file)?;
            Ok(Some((format, Layout::Json { by_line })))
        }
    }
}

fn value<'a>(bump: &'a Bump, bytes: &'a [u8], record: &Record) -> Result<Value<'a>, Error> {
    let range = record.bytes.as_ref().map_err(|problem| Error::value(problem.as_str()))?;
    parse(bump, bytes.get(range.clone()).unwrap_or_default())
}

fn parse<'a>(bump: &'a Bump, bytes: &'a [u8]) -> Result<Value<'a>, Error> {
    crate::json::check_utf8(bytes).map_err(Error::not_json)?;
    Reader::parse(bytes, bump).map(|(value, _)| value).map_err(Error::not_json)
}

/// What the records of a block hold.
fn items(bump: &mut Bump, format: Format, layout: Layout, name: &str, file: u32, block: &Block) -> Vec<Item> {
    let mut items = Vec::with_capacity(block.records.len());
    for record in &block.records {
        bump.reset();
        let range = record.bytes.clone().unwrap_or(0..0);
        let (offset, length) = (block.offset + range.start as u64, range.len() as u64);
        let place = Place { file, is_whole: false, offset, length, number: record.place };
        let mut item = Item { place, traces: Vec::new(), problems: Vec::new() };
        let tell = |error: Error| told(name, block.by_line, &error, &[record.place]);
        let reader = Reader { bump, may_be_deep: true };
        let bytes = record.bytes.as_ref().map_err(|problem| Error::value(problem.as_str()));
        let bytes = bytes.map(|range| block.bytes.get(range.clone()).unwrap_or_default());
        let found = bytes.and_then(|bytes| match format.unit {
            Unit::Pieces => {
                let mut exported = Exported::new(reader);
                export(format, layout, &mut exported, bytes)?;
                pieces(exported, &mut item, tell);
                Ok(())
            }
            Unit::Record => {
                whole(reader, format, parse(bump, bytes)?, &mut item, tell);
                Ok(())
            }
            // What a session holds is known at its end.
            Unit::File => parse(bump, bytes).map(drop),
        });
        item.problems.extend(found.err().map(|error| tell(error.at_index(0))));
        items.push(item);
    }
    items
}

/// Read a record of spans.
fn export<'a>(format: Format, layout: Layout, exported: &mut Exported<'a>, bytes: &'a [u8]) -> Result<(), Error> {
    match layout {
        Layout::Json { .. } => format.export(exported, 0, parse(exported.reader.bump, bytes)?),
        Layout::Protobuf(_) => protobuf::read(bytes, exported)?,
    }
    Ok(())
}

/// Which traces have pieces in a record.
fn pieces(exported: Exported<'_>, item: &mut Item, tell: impl Fn(Error) -> String) {
    let about = exported.traces.iter().map(|about| about.trace_id);
    let all = about.chain(exported.spans.iter().map(|span| span.trace_id));
    let mut seen = HashSet::new();
    for id in all.chain(exported.logs.iter().map(|(id, ..)| *id)).filter(|id| seen.insert(*id)) {
        item.traces.push(Ids { id: Some(show::storable(id).into()), conversation_id: None, test_id: None });
    }
    item.problems.extend(exported.problems.into_iter().map(tell));
}

/// Which traces a record holds.
fn whole<'a>(reader: Reader<'a>, format: Format, value: Value<'a>, item: &mut Item, tell: impl Fn(Error) -> String) {
    if let Some(trace) = format.glance(value) {
        item.traces.push(Ids::of(&trace));
        return;
    }
    let mut found = Found::new(reader);
    let read = format.read(&mut found, &[value]);
    item.problems.extend(found.problems.into_iter().chain(read.err()).map(tell));
    item.traces.extend(found.traces.iter().map(Ids::of));
}

impl Ids {
    fn of(trace: &Trace<'_>) -> Ids {
        let text = |text: Option<Text<'_>>| text.map(|text| show::storable(text).into_boxed_str());
        Ids { id: text(trace.id), conversation_id: text(trace.conversation_id), test_id: text(trace.test_id) }
    }
}

/// A problem with the place of its record in the file: the path begins with the place among those that were read.
fn told(name: &str, by_line: bool, error: &Error, places: &[u64]) -> String {
    let (index, rest) = error.in_record();
    let name = show::plain(Text::from(name));
    match index.and_then(|index| places.get(index)) {
        Some(place) if by_line => format!("{name}:{place}: {rest}"),
        Some(place) => format!("{name}: record {place}: {rest}"),
        None => format!("{name}: {rest}"),
    }
}

impl Store {
    fn problem(&self, problem: String) {
        if let Ok(mut problems) = self.problems.lock() {
            problems.push(problem);
        }
    }

    /// Ids of test cases come again with each trial, so they are told of once.
    fn tell_of_ids(&mut self) {
        if let (count, Some(example)) = std::mem::take(&mut self.again) {
            let others = match count {
                1 => String::new(),
                2 => " (and so was that of 1 trace more)".to_owned(),
                _ => format!(" (and so were those of {} traces more)", count - 1),
            };
            self.problem(example + &others);
        }
    }

    /// What could not be read or was guessed, with its place, in the order in which it was met; the last says how many more.
    pub fn problems(&self) -> Vec<String> {
        let Ok(problems) = self.problems.lock() else { return Vec::new() };
        let mut told = problems.told.clone();
        if problems.untold > 0 {
            told.push(format!("and {} more", problems.untold));
        }
        told
    }

    /// The formats that the files are in, each once.
    pub fn formats(&self) -> Vec<&'static str> {
        let mut names: Vec<&'static str> = Vec::new();
        for name in self.files.iter().filter_map(|file| Some(file.format?.name)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// The names of the files, and the format of each; None where nothing is in it that could be read.
    pub fn files(&self) -> impl Iterator<Item = (&str, Option<&'static str>)> {
        self.files.iter().map(|file| (&*file.name, file.format.map(|format| format.name)))
    }

    /// The place of the trace with this id.
    pub fn find(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    fn add(&mut self, item: Item) {
        item.problems.into_iter().for_each(|problem| self.problem(problem));
        let is_piece = self.is_piece(&item.place);
        for (ordinal, ids) in item.traces.into_iter().enumerate() {
            let known = ids.id.as_ref().filter(|_| is_piece).and_then(|id| self.known_in_pieces(id));
            if let Some(entry) = known.and_then(|known| self.entries.get_mut(known)) {
                entry.places.push(item.place);
                continue;
            }
            if let Some(id) = ids.id.as_ref().filter(|id| is_piece && self.by_id.contains_key(*id)) {
                self.in_pieces.insert(id.clone(), self.entries.len());
            }
            self.enter(ids, item.place, ordinal);
        }
    }

    fn is_piece(&self, place: &Place) -> bool {
        let format = self.files.get(place.file as usize).and_then(|file| file.format);
        format.is_some_and(|format| format.unit == Unit::Pieces)
    }

    /// The trace that further pieces with this id belong to. A whole trace may have it too: the same one, written again in
    /// this library's own format.
    fn known_in_pieces(&self, id: &str) -> Option<usize> {
        let is_in_pieces = |place: &usize| {
            let entry = self.entries.get(*place);
            entry.and_then(|entry| entry.places.all().first()).is_some_and(|place| self.is_piece(place))
        };
        self.by_id.get(id).copied().filter(is_in_pieces).or_else(|| self.in_pieces.get(id).copied())
    }

    fn enter(&mut self, ids: Ids, place: Place, ordinal: usize) {
        let Ids { id, conversation_id, test_id } = ids;
        // Another run of a test may have the id that the test is called by.
        if let Some(id) = id.as_ref().filter(|id| test_id.as_ref() != Some(*id) || !self.by_id.contains_key(*id)) {
            self.register(id, &place, self.entries.len());
        }
        self.entries.push(Entry { id, conversation_id, test_id, places: Places::One(place), ordinal: ordinal as u32 });
    }

    /// A trace is found by its id, if no other one has it already.
    fn register(&mut self, id: &str, place: &Place, number: usize) {
        match self.by_id.get(id) {
            None => drop(self.by_id.insert(id.into(), number)),
            Some(&first) => {
                let first = self.entries.get(first).map_or(String::new(), |entry| self.named(entry));
                let (at, id) = (self.at(place), show::in_a_sentence(id));
                let (again, example) = &mut self.again;
                *again += 1;
                example.get_or_insert_with(|| format!("{at}: the id {id:?} was there before, at {first}"));
            }
        }
    }

    /// Where an entry is, for people: `runs.jsonl:3`.
    pub fn named(&self, entry: &Entry) -> String {
        entry.places.all().first().map_or(String::new(), |place| self.at(place))
    }

    fn at(&self, place: &Place) -> String {
        let Some(file) = self.files.get(place.file as usize) else { return String::new() };
        let name = show::plain(Text::from(file.name.as_str()));
        match (place.is_whole, file.layout.is_by_line()) {
            (true, _) => name,
            (false, true) => format!("{name}:{}", place.number),
            (false, false) => format!("{name}: record {}", place.number),
        }
    }

    /// At the end of a file: a session is known only now.
    fn finish(&mut self, running: &Running) -> io::Result<()> {
        self.call_by_name(running);
        let Some(file) = self.files.get(running.file as usize) else { return Ok(()) };
        let Some(format) = file.format.filter(|format| format.unit == Unit::File) else { return Ok(()) };
        let place = Place { file: running.file, is_whole: true, offset: 0, length: running.bytes, number: 1 };
        if running.bytes > MOST_BYTES {
            self.problem(format!("{}: a session of more than {} MiB is not read", self.at(&place), MOST_BYTES >> 20));
            return Ok(());
        }
        let bump = Bump::new();
        let mut ids = Vec::new();
        let problems = self.read(&bump, format, &[place], |found| {
            ids.extend(found.traces.iter().map(Ids::of));
        })?;
        problems.into_iter().for_each(|problem| self.problem(problem));
        for (ordinal, ids) in ids.into_iter().enumerate() {
            self.enter(ids, place, ordinal);
        }
        self.call_by_name(running);
        Ok(())
    }

    /// The only trace of a file is found by the file's name, if it has no id.
    fn call_by_name(&mut self, running: &Running) {
        let number = running.first;
        let Some(id) = running.id.as_deref().filter(|_| self.entries.len() == number + 1) else { return };
        let Some(Entry { id: None, places, .. }) = self.entries.get(number) else { return };
        let Some(place) = places.all().first().copied() else { return };
        self.register(id, &place, number);
        if let Some(entry) = self.entries.get_mut(number) {
            entry.id = Some(id.into());
        }
    }

    /// Read what is at some places of one file, and tell what is wrong with it. Broken records are passed over: they were told
    /// of when they were found.
    fn read<'a>(
        &self,
        bump: &'a Bump,
        format: Format,
        places: &[Place],
        take: impl FnOnce(&Found<'a>),
    ) -> io::Result<Vec<String>> {
        let Some(file) = places.first().and_then(|place| self.files.get(place.file as usize)) else {
            return Ok(Vec::new());
        };
        let opened = file.bytes()?;
        let (mut values, mut numbers) = (Vec::new(), Vec::new());
        for place in places {
            if !place.is_whole {
                let bytes: &'a mut [u8] = bump.alloc_slice_fill_copy(place.length as usize, 0);
                opened.read_at(place.offset, bytes).map_err(|error| file.failed(&error))?;
                values.extend(parse(bump, bytes).ok());
                numbers.push(place.number);
                continue;
            }
            let mut records = Records::new(opened.reader());
            while let Some(block) = records.next_block()? {
                let bytes: &'a [u8] = bump.alloc_slice_copy(&block.bytes);
                for record in &block.records {
                    if let Ok(value) = value(bump, bytes, record) {
                        values.push(value);
                        numbers.push(record.place);
                    }
                }
            }
        }
        let mut found = Found::new(Reader { bump, may_be_deep: true });
        let read = format.read(&mut found, &values);
        take(&found);
        let problems = found.problems.iter().chain(read.as_ref().err());
        Ok(problems.map(|error| told(&file.name, file.layout.is_by_line(), error, &numbers)).collect())
    }

    /// Read some traces, and give each of them out, or why it can't be read.
    pub fn load(&self, range: Range<usize>, mut take: impl FnMut(usize, Result<&Trace<'_>, String>)) {
        let entries = self.entries.get(range.clone()).unwrap_or_default();
        let mut bump = ROOM.take();
        let mut next = 0;
        while next < entries.len() {
            // What is at the same places, or begins in the same file, is read at once.
            let count = self.together(&entries[next..]);
            let group = &entries[next..next + count];
            self.load_group(&bump, range.start + next, group, &mut take);
            next += count;
            if bump.allocated_bytes() > MOST_KEPT {
                bump = Bump::new();
            }
            bump.reset();
        }
        ROOM.set(bump);
    }

    /// How many of these entries are read at once.
    fn together(&self, entries: &[Entry]) -> usize {
        let Some(first) = entries.first().and_then(|entry| entry.places.all().first()) else { return entries.len() };
        let is_pieces = self.is_piece(first);
        let mut bytes = 0;
        let same = |entry: &&Entry| match entry.places.all() {
            [place] if !is_pieces => {
                place.file == first.file && place.offset == first.offset && place.is_whole == first.is_whole
            }
            places => {
                bytes += places.iter().map(|place| place.length).sum::<u64>();
                is_pieces && places.iter().all(|place| place.file == first.file) && bytes <= AT_ONCE
            }
        };
        entries.iter().take_while(same).count().max(1)
    }

    fn load_group(
        &self,
        bump: &Bump,
        start: usize,
        group: &[Entry],
        take: &mut impl FnMut(usize, Result<&Trace<'_>, String>),
    ) {
        let mut places: Vec<Place> = group.iter().flat_map(|entry| entry.places.all()).copied().collect();
        places.sort_by_key(|place| (place.file, place.offset));
        places.dedup_by_key(|place| (place.file, place.offset));
        let file = places.first().and_then(|place| self.files.get(place.file as usize));
        let Some(format) = file.and_then(|file| file.format) else { return };
        let mut given = vec![false; group.len()];
        let mut failed = None;
        let mut give = |found: &Found<'_>| {
            if format.unit == Unit::Pieces {
                let ids: HashMap<String, &Trace<'_>> = found
                    .traces
                    .iter()
                    .map(|trace| (trace.id.map(show::storable).unwrap_or_default(), trace))
                    .collect();
                for (number, entry) in group.iter().enumerate() {
                    if let Some(trace) = entry.id.as_ref().and_then(|id| ids.get(&**id)) {
                        given[number] = true;
                        take(start + number, Ok(trace));
                    }
                }
            } else {
                for (number, entry) in group.iter().enumerate() {
                    if let Some(trace) = found.traces.get(entry.ordinal as usize) {
                        given[number] = true;
                        take(start + number, Ok(trace));
                    }
                }
            }
        };
        let read = match format.unit {
            Unit::Pieces => self.read_pieces(bump, &places, group, &mut give),
            Unit::Record | Unit::File => self.read(bump, format, &places, &mut give),
        };
        match read {
            Ok(problems) if format.unit == Unit::Pieces => {
                problems.into_iter().for_each(|problem| self.problem_once(problem));
            }
            Ok(problems) => failed = problems.into_iter().next(),
            Err(error) => failed = Some(error.to_string()),
        }
        for (number, entry) in group.iter().enumerate().filter(|(number, _)| !given[*number]) {
            let why = failed.clone().unwrap_or_else(|| "it is not there any more".to_owned());
            let why = if failed.is_some() { why } else { format!("{}: {why}", self.named(entry)) };
            take(start + number, Err(why));
        }
    }

    fn read_pieces<'a>(
        &self,
        bump: &'a Bump,
        places: &[Place],
        group: &[Entry],
        take: impl FnOnce(&Found<'a>),
    ) -> io::Result<Vec<String>> {
        let reader = Reader { bump, may_be_deep: true };
        let wanted: HashSet<&str> = group.iter().filter_map(|entry| entry.id.as_deref()).collect();
        let mut exported = Exported::new(reader);
        let mut only = None;
        for places in places.chunk_by(|one, other| one.file == other.file) {
            let file = places.first().and_then(|place| self.files.get(place.file as usize));
            let Some((file, format)) = file.and_then(|file| Some((file, file.format?))) else { continue };
            let opened = file.bytes()?;
            only = format.only();
            for place in places {
                let bytes: &'a mut [u8] = bump.alloc_slice_fill_copy(place.length as usize, 0);
                opened.read_at(place.offset, bytes).map_err(|error| file.failed(&error))?;
                // What is wrong with a record was told when it was found.
                let _ = export(format, file.layout, &mut exported, bytes);
            }
        }
        // What is wrong with the records was told when they were found. They may hold spans of other traces.
        exported.problems.clear();
        let is_wanted = |id: Text<'_>| wanted.contains(&*show::storable(id));
        exported.spans.retain(|span| is_wanted(span.trace_id));
        exported.traces.retain(|about| is_wanted(about.trace_id));
        exported.logs.retain(|(id, ..)| is_wanted(*id));
        let mut found = Found::new(reader);
        super::spans::tree::traces(exported, only, &mut found);
        found.traces.iter_mut().for_each(|trace| trace.conversation.sort());
        take(&found);
        Ok(found.problems.iter().map(Error::to_string).collect())
    }

    fn problem_once(&self, problem: String) {
        if let Ok(mut problems) = self.problems.lock()
            && !problems.told.contains(&problem)
        {
            problems.push(problem);
        }
    }

    /// The JSON text of a trace in this library's own format; None where it is in another one.
    pub fn text(&self, place: usize) -> io::Result<Option<Vec<u8>>> {
        let Some([at]) = self.entries.get(place).map(|entry| entry.places.all()) else { return Ok(None) };
        let Some(file) = self.files.get(at.file as usize) else { return Ok(None) };
        if file.format.is_none_or(|format| format.name != "callmatch") {
            return Ok(None);
        }
        let mut bytes = vec![0; at.length as usize];
        file.bytes()?.read_at(at.offset, &mut bytes).map_err(|error| file.failed(&error))?;
        Ok(Some(bytes))
    }
}

impl Opened {
    fn bytes(&self) -> io::Result<Bytes> {
        match &self.bytes {
            Some(bytes) => Ok(bytes.clone()),
            None => File::open(&self.path).map(Bytes::whole).map_err(|error| self.failed(&error)),
        }
    }

    fn failed(&self, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}", show::plain(Text::from(&*self.name))))
    }
}
