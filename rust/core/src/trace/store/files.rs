//! Files that traces are read from: opened, unpacked where they have to be, and with the format of each, which its first
//! records tell.

use std::{
    fs::File,
    io::{self, BufWriter, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    thread,
    time::Duration,
};

use bumpalo::Bump;

use super::{finding, told, value};
use crate::{
    call::Reader,
    error::Error,
    records::{Record, Records},
    show,
    source::{self, Progress},
    text::Text,
    trace::{
        archive::{self, Archive},
        formats::{self, Format, Wanted},
        spans::frames::{self, Framing},
    },
};

/// So many records of a file are looked at to tell its format, or fewer if they have so many bytes.
const HEAD_RECORDS: usize = 50;
const HEAD: usize = 256 << 10;
/// So many bytes tell whether it is text, and so many what else it is.
const FIRST: usize = 4 << 10;
const FIRST_OF_OTHERS: usize = 1 << 20;
/// So many files stay open; systems allow a process few. Others are opened again when they are read.
const MOST_OPEN: usize = 64;

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

/// Files whose formats are known.
#[derive(Default)]
pub struct Files {
    pub(super) all: Vec<Opened>,
    /// Do the first records of one of them hold a trace?
    pub hold_a_trace: bool,
}

impl Files {
    /// Their names, and the format of each; None where nothing is in it that could be read.
    pub fn formats(&self) -> impl Iterator<Item = (&str, Option<&'static str>)> {
        self.all.iter().map(|file| (&*file.name, file.format.map(|format| format.name)))
    }
}

/// A file that is read again and again.
pub(super) struct Opened {
    pub name: String,
    /// What its only trace is called, if that has no id.
    pub id: Option<String>,
    path: PathBuf,
    /// None: it is opened when it is read.
    bytes: Option<Bytes>,
    /// None: nothing is in it that could be read.
    pub format: Option<Format>,
    pub layout: Layout,
    /// It was not unpacked to be read.
    pub is_plain: bool,
    /// What was wrong with it as a whole.
    pub problems: Vec<String>,
}

impl Opened {
    pub fn bytes(&self) -> io::Result<Bytes> {
        match &self.bytes {
            Some(bytes) => Ok(bytes.clone()),
            None => File::open(&self.path).map(Bytes::whole).map_err(|error| self.failed(&error)),
        }
    }

    pub fn failed(&self, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}", show::plain(Text::from(&*self.name))))
    }
}

/// A file, or what is between two places of one.
#[derive(Clone)]
pub(super) struct Bytes {
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

    pub fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
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

    /// Read all of it, telling how far that is.
    pub fn reader(&self, progress: Progress) -> FromStart {
        FromStart { bytes: self.clone(), offset: 0, progress }
    }
}

/// Reads a file from its start, wherever others that share it are.
pub(super) struct FromStart {
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

/// How the records of a file follow each other.
#[derive(Clone, Copy)]
pub(super) enum Layout {
    /// JSON, on lines of their own or not.
    Json {
        by_line: bool,
    },
    Protobuf(Framing),
}

impl Layout {
    /// Of a file in which nothing is.
    const NONE: Layout = Layout::Json { by_line: true };

    pub fn is_by_line(self) -> bool {
        matches!(self, Layout::Json { by_line: true })
    }
}

/// What can be read again and again, and what of it could not be unpacked.
type Unpacked = (Bytes, Vec<Error>);

/// Opens files, step by step, so that whoever waits can look at signals.
pub struct Opener {
    inputs: std::vec::IntoIter<Input>,
    wanted: Option<Wanted>,
    progress: Progress,
    /// Must every file be one of traces? One among many may be something else.
    only_traces: bool,
    files: Files,
    /// How many files stay open.
    open: usize,
    /// What was unpacked, one after the other.
    spool: Option<Arc<File>>,
    /// What is unpacked by a thread, which may have to wait for it.
    unpacking: Option<(Input, Receiver<io::Result<Unpacked>>)>,
}

impl Opener {
    /// `only_traces`: is a file of another kind an error, or passed over?
    pub fn new(inputs: Vec<Input>, wanted: Option<Wanted>, only_traces: bool, progress: Progress) -> Self {
        let inputs = inputs.into_iter();
        let files = Files::default();
        Opener { inputs, wanted, progress, only_traces, files, open: 0, spool: None, unpacking: None }
    }

    /// Go on, but not much longer than that; None if there is more to do.
    pub fn step(&mut self, longest: Duration) -> io::Result<Option<Files>> {
        loop {
            if let Some((_, unpacked)) = &self.unpacking {
                let unpacked = match unpacked.recv_timeout(longest) {
                    Err(RecvTimeoutError::Timeout) => return Ok(None),
                    Err(RecvTimeoutError::Disconnected) => Err(io::Error::other("a thread broke down")),
                    Ok(unpacked) => unpacked,
                };
                if let Some((input, _)) = self.unpacking.take() {
                    self.add(input, unpacked, false)?;
                }
                continue;
            }
            match self.inputs.next() {
                Some(input) => self.open(input)?,
                None => return Ok(Some(std::mem::take(&mut self.files))),
            }
        }
    }

    /// What is compressed, an archive, or comes from a pipe is unpacked into a temporary file, which is gone when it is closed.
    fn open(&mut self, input: Input) -> io::Result<()> {
        let mut archive = None;
        if input.path != Path::new("-") && input.path.is_file() {
            let plain = Bytes::whole(File::open(&input.path)?);
            let mut head = Vec::new();
            plain.reader(Progress::default()).take(4).read_to_end(&mut head)?;
            let must_stay = input.is_temporary && self.open >= MOST_OPEN;
            if archive::is_archive(&head) {
                archive = Some(File::open(&input.path)?);
            } else if !source::is_compressed(&head) && !must_stay {
                return self.add(input, Ok((plain, Vec::new())), true);
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
        self.unpacking = Some((input, unpacked));
        Ok(())
    }

    /// A file that can be read again and again. `is_plain`: it is the file itself.
    fn add(&mut self, input: Input, bytes: io::Result<Unpacked>, is_plain: bool) -> io::Result<()> {
        let shown = show::plain(Text::from(&*input.name));
        let of_file = |error: &dyn std::fmt::Display| format!("{shown}: {error}");
        let mut problems = Vec::new();
        let mut found = None;
        let read = bytes.and_then(|(bytes, wrong)| {
            problems.extend(wrong.iter().map(|error| of_file(error)));
            head(found.insert(bytes))
        });
        let recognised = match read {
            // What the system says has its own words.
            Err(error) if error.raw_os_error().is_some() => return Err(error),
            Err(error) => Err(of_file(&source::said(&error))),
            Ok(head) => recognise(&input.name, &head, self.wanted),
        };
        let (format, layout) = match recognised {
            Ok(Some(Recognised { format, layout, holds_a_trace })) => {
                self.files.hold_a_trace |= holds_a_trace;
                (Some(format), layout)
            }
            // Nothing in it.
            Ok(None) => (None, Layout::NONE),
            Err(error) if self.only_traces => {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, error));
            }
            Err(error) => {
                problems.push(error);
                (None, Layout::NONE)
            }
        };
        let stays = !is_plain || self.open < MOST_OPEN && format.is_some();
        self.open += usize::from(is_plain && stays);
        // The process may be elsewhere when it is opened again.
        let (bytes, Input { path, name, id, .. }) = (found.filter(|_| stays), input);
        let path = std::path::absolute(&path).unwrap_or(path);
        self.files.all.push(Opened { name, id, path, bytes, format, layout, is_plain, problems });
        Ok(())
    }
}
/// Write what a source holds, or an archive, behind all that was unpacked before.
fn unpacked_to(spool: &Arc<File>, path: &Path, progress: Progress, archive: Option<File>) -> io::Result<Unpacked> {
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
    let mut framing = None;
    // Most files are text, which few bytes tell.
    for most in [FIRST, FIRST_OF_OTHERS] {
        let mut bytes = Vec::new();
        file.reader(Progress::default()).take(most as u64).read_to_end(&mut bytes)?;
        if frames::is_text(&bytes) {
            break;
        }
        framing = frames::recognise(&bytes);
    }
    let mut head = Head { bytes: Vec::new(), records: Vec::new(), by_line: true, framing };
    if head.framing.is_some() {
        return Ok(head);
    }
    let mut records = Records::new(file.reader(Progress::default()));
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

struct Recognised {
    format: Format,
    layout: Layout,
    /// Do the first records hold a trace?
    holds_a_trace: bool,
}

/// None if nothing is in the file.
fn recognise(name: &str, head: &Head, wanted: Option<Wanted>) -> Result<Option<Recognised>, String> {
    let of_file = |error: Error| told(name, head.by_line, &error, &[]);
    if let Some(framing) = head.framing {
        let format = formats::of_protobuf(wanted).map_err(of_file)?;
        return Ok(Some(Recognised { format, layout: Layout::Protobuf(framing), holds_a_trace: false }));
    }
    let by_line = head.by_line;
    let bump = Bump::new();
    let reader = Reader::new(&bump, true);
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
            let holds_a_trace = values.iter().any(|&value| finding::is_trace(reader, format, value));
            Ok(Some(Recognised { format, layout: Layout::Json { by_line }, holds_a_trace }))
        }
    }
}
