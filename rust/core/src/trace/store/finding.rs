//! Finding the traces in files: every record is read once, by several threads. Whoever wants the columns of all traces gets
//! them with it, as far as they fit into memory, so that no record has to be read twice.

use std::{
    io::{self, Read},
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bumpalo::Bump;
use foldhash::{HashSet, HashSetExt};

use super::{
    Place, Store,
    files::{Files, Layout},
    parse, told,
};
use crate::{
    call::Reader,
    error::Error,
    pipeline::{self, Pipeline},
    records::{Block, Records},
    show,
    source::Progress,
    text::Text,
    trace::{
        columns::{Columns, Of, Room, Rows},
        formats::{Format, Unit},
        spans::{Exported, frames::Frames, protobuf, tree},
        stored::{Found, Trace},
    },
    value::Value,
};

/// How far ahead of the block whose turn it is another may be taken, for each thread.
const AHEAD: u64 = 8;
/// No more bytes of columns than these are kept while traces are found.
const MOST_KEPT: usize = 128 << 20;

/// Finds the traces of files, step by step, so that whoever waits can look at signals.
pub struct Finder {
    threads: usize,
    progress: Progress,
    store: Store,
    /// How many of the files were begun.
    begun: usize,
    running: Option<Running>,
    kept: Option<Kept>,
}

struct Running {
    blocks: Pipeline<Held>,
    file: u32,
    /// The place of its first trace.
    first: usize,
    /// Of all records.
    bytes: u64,
}

/// The columns of traces that were read when they were found.
pub struct Kept {
    of: Of,
    blocks: Vec<Columns>,
    /// In which block the rows of each trace are. None: the trace has to be read again, since it is in several places, or
    /// something is wrong with it that is told when it is read.
    traces: Vec<Option<(usize, Range<usize>)>>,
    /// How much memory all of that takes.
    bytes: usize,
    most: usize,
    is_full: Arc<AtomicBool>,
}

impl Kept {
    fn new(of: Of, most: usize) -> Self {
        Kept { of, blocks: Vec::new(), traces: Vec::new(), bytes: 0, most, is_full: Arc::default() }
    }

    /// The rows of a trace, if they are known.
    pub fn rows(&self, place: usize) -> Option<Rows<'_>> {
        let (block, rows) = self.traces.get(place)?.as_ref()?;
        Some(Rows { place, columns: self.blocks.get(*block)?, rows: rows.clone() })
    }

    /// The columns of a block, whose traces come next; false if there is no room for more.
    fn add(&mut self, columns: Columns) -> bool {
        if self.bytes > self.most {
            return false;
        }
        self.bytes += columns.bytes();
        self.blocks.push(columns);
        self.is_full.store(self.bytes > self.most, Ordering::Relaxed);
        true
    }

    /// The rows of a trace among those of the last block.
    pub(super) fn add_trace(&mut self, place: usize, rows: Range<usize>) {
        self.traces.resize(place, None);
        self.traces.push(Some((self.blocks.len().saturating_sub(1), rows)));
    }

    /// A trace goes on elsewhere.
    pub(super) fn forget(&mut self, place: usize) {
        if let Some(rows) = self.traces.get_mut(place) {
            *rows = None;
        }
    }
}

/// What a block holds.
struct Held {
    items: Vec<Item>,
    columns: Option<Columns>,
}

/// What a record holds.
pub(super) struct Item {
    pub place: Place,
    pub traces: Vec<Ids>,
    pub problems: Vec<String>,
}

pub(super) struct Ids {
    pub id: Option<Box<str>>,
    pub conversation_id: Option<Box<str>>,
    pub test_id: Option<Box<str>>,
    /// Its rows among those of the block, if it was read.
    pub rows: Option<Range<usize>>,
}

impl Ids {
    pub fn of(trace: &Trace<'_>) -> Ids {
        let text = |text: Option<Text<'_>>| text.map(|text| show::storable(text).into_boxed_str());
        let (id, conversation_id, test_id) = (text(trace.id), text(trace.conversation_id), text(trace.test_id));
        Ids { id, conversation_id, test_id, rows: None }
    }
}

impl Finder {
    /// `threads`: 0 for as many as there are cores. `columns`: which are wanted of all traces, if any are.
    pub fn new(files: Arc<Files>, threads: usize, columns: Option<Of>, progress: Progress) -> Self {
        let kept = columns.map(|of| Kept::new(of, MOST_KEPT));
        let threads = pipeline::threads(threads);
        Finder { threads, progress, store: Store::new(files), begun: 0, running: None, kept }
    }

    /// Go on, but not much longer than that; None if there is more to do.
    pub fn step(&mut self, longest: Duration) -> io::Result<Option<(Store, Option<Kept>)>> {
        loop {
            let Some(running) = &mut self.running else {
                if self.begun < self.store.files.all.len() {
                    self.begin()?;
                    continue;
                }
                self.store.tell_of_ids();
                let done = Store::new(self.store.files.clone());
                return Ok(Some((std::mem::replace(&mut self.store, done), self.kept.take())));
            };
            match running.blocks.next(longest)? {
                pipeline::Next::Pending => return Ok(None),
                pipeline::Next::Done(Held { items, columns }) => {
                    let is_kept = match (&mut self.kept, columns) {
                        (Some(kept), Some(columns)) => kept.add(columns),
                        _ => false,
                    };
                    for mut item in items {
                        if !is_kept {
                            item.traces.iter_mut().for_each(|ids| ids.rows = None);
                        }
                        running.bytes += item.place.length;
                        self.store.add(item, self.kept.as_mut());
                    }
                }
                pipeline::Next::End => {
                    if let Some(Running { file, first, bytes, .. }) = self.running.take() {
                        self.store.finish(file, first, bytes)?;
                    }
                }
            }
        }
    }

    /// Begin with the next file.
    fn begin(&mut self) -> io::Result<()> {
        let (number, files) = (self.begun, self.store.files.clone());
        self.begun += 1;
        let Some(file) = files.all.get(number) else { return Ok(()) };
        file.problems.iter().for_each(|problem| self.store.problem(problem.clone()));
        let Some(format) = file.format else { return Ok(()) };
        // What was unpacked counted when it was.
        let progress = if file.is_plain { self.progress.clone() } else { Progress::default() };
        let source = file.bytes()?.reader(progress);
        let name: Arc<str> = file.name.as_str().into();
        let (layout, number) = (file.layout, number as u32);
        let wanted = self.kept.as_ref().map(|kept| (kept.of, kept.is_full.clone()));
        let worker = || {
            let (name, wanted) = (name.clone(), wanted.clone());
            let mut reading = Reading { bump: Bump::new(), format, layout, name, file: number, room: Room::default() };
            move |block: &Block| {
                let of = wanted.as_ref().filter(|(_, is_full)| !is_full.load(Ordering::Relaxed));
                reading.block(block, of.map(|(of, _)| *of))
            }
        };
        let blocks = match layout {
            Layout::Json { .. } => {
                let records = Records::new(Box::new(source) as Box<dyn Read + Send>);
                Pipeline::start(records, self.threads, AHEAD, worker)?
            }
            Layout::Protobuf(framing) => Pipeline::start(Frames::new(source, framing), self.threads, AHEAD, worker)?,
        };
        self.running = Some(Running { blocks, file: number, first: self.store.entries.len(), bytes: 0 });
        Ok(())
    }
}

/// What a thread reads the blocks of a file with.
struct Reading {
    bump: Bump,
    format: Format,
    layout: Layout,
    name: Arc<str>,
    file: u32,
    /// What the columns of the last block took.
    room: Room,
}

impl Reading {
    fn block(&mut self, block: &Block, of: Option<Of>) -> Held {
        let mut columns = of.map(|of| Columns::like(of, &self.room));
        let mut items = Vec::with_capacity(block.records.len());
        for record in &block.records {
            self.bump.reset();
            let range = record.bytes.clone().unwrap_or(0..0);
            let (offset, length) = (block.offset + range.start as u64, range.len() as u64);
            let place = Place { file: self.file, is_whole: false, offset, length, number: record.place };
            let mut item = Item { place, traces: Vec::new(), problems: Vec::new() };
            let tell = |error: Error| told(&self.name, block.by_line, &error, &[record.place]);
            let bytes = record.bytes.as_ref().map_err(|problem| Error::value(problem.as_str()));
            let bytes = bytes.map(|range| block.bytes.get(range.clone()).unwrap_or_default());
            let found = bytes.and_then(|bytes| self.record(bytes, columns.as_mut(), &mut item, &tell));
            item.problems.extend(found.err().map(|error| tell(error.at_index(0))));
            items.push(item);
        }
        self.room = columns.as_ref().map_or(self.room, Columns::room);
        Held { items, columns }
    }

    fn record(
        &self,
        bytes: &[u8],
        columns: Option<&mut Columns>,
        item: &mut Item,
        tell: &impl Fn(Error) -> String,
    ) -> Result<(), Error> {
        let reader = Reader::new(&self.bump, true);
        match self.format.unit {
            Unit::Pieces => {
                let mut exported = Exported::new(reader);
                export(self.format, self.layout, &mut exported, bytes)?;
                item.problems.extend(exported.problems.drain(..).map(tell));
                item.traces = pieces(&exported);
                if let Some(columns) = columns {
                    self.read_pieces(exported, columns, &mut item.traces);
                }
            }
            Unit::Record => self.read(parse(&self.bump, bytes)?, columns, item, tell),
            // What a session holds is known at its end.
            Unit::File => drop(parse(&self.bump, bytes)?),
        }
        Ok(())
    }

    /// Read the traces that have pieces in a record as if they had none elsewhere, which is mostly so.
    fn read_pieces<'a>(&self, exported: Exported<'a>, columns: &mut Columns, ids: &mut [Ids]) {
        let mut found = Found::new(exported.reader);
        tree::traces(exported, self.format.only(), &mut found);
        if found.problems.is_empty() && found.traces.len() == ids.len() {
            for (ids, trace) in ids.iter_mut().zip(&found.traces) {
                ids.rows = Some(columns.push(trace));
            }
        }
    }

    /// Which traces a record holds.
    fn read<'a>(
        &'a self,
        value: Value<'a>,
        columns: Option<&mut Columns>,
        item: &mut Item,
        tell: impl Fn(Error) -> String,
    ) {
        let reader = Reader::new(&self.bump, true);
        if columns.is_none()
            && let Some(trace) = self.format.glance(value)
        {
            item.traces.push(Ids::of(&trace));
            return;
        }
        let mut found = Found::new(reader);
        let read = self.format.read(&mut found, &[value]);
        item.problems.extend(found.problems.drain(..).chain(read.err()).map(tell));
        item.traces.extend(found.traces.iter().map(Ids::of));
        if let Some(columns) = columns {
            for (ids, trace) in item.traces.iter_mut().zip(&found.traces) {
                ids.rows = Some(columns.push(trace));
            }
        }
    }
}

/// Does a record hold a trace, or a piece of one?
pub(super) fn is_trace<'a>(reader: Reader<'a>, format: Format, value: Value<'a>) -> bool {
    match format.unit {
        Unit::Pieces => {
            let mut exported = Exported::new(reader);
            format.export(&mut exported, 0, value);
            !pieces(&exported).is_empty()
        }
        Unit::Record => {
            let mut found = Found::new(reader);
            format.glance(value).is_some() || {
                let _ = format.read(&mut found, &[value]);
                !found.traces.is_empty()
            }
        }
        Unit::File => false,
    }
}

/// Read a record of spans.
pub(super) fn export<'a>(
    format: Format,
    layout: Layout,
    exported: &mut Exported<'a>,
    bytes: &'a [u8],
) -> Result<(), Error> {
    match layout {
        Layout::Json { .. } => format.export(exported, 0, parse(exported.reader.bump, bytes)?),
        Layout::Protobuf(_) => protobuf::read(bytes, exported)?,
    }
    Ok(())
}

/// Which traces have pieces in a record, in the order in which [`tree::traces`] makes them.
fn pieces(exported: &Exported<'_>) -> Vec<Ids> {
    let about = exported.traces.iter().map(|about| about.trace_id);
    let all = about.chain(exported.spans.iter().map(|span| span.trace_id));
    let mut seen = HashSet::new();
    let ids = all.chain(exported.logs.iter().map(|(id, ..)| *id)).filter(|id| seen.insert(*id));
    let ids =
        ids.map(|id| Ids { id: Some(show::storable(id).into()), conversation_id: None, test_id: None, rows: None });
    ids.collect()
}

#[cfg(test)]
mod tests {
    use std::{fmt::Write as _, io::Write as _};

    use super::*;
    use crate::trace::store::{Input, Opener};

    fn files(text: &str) -> Arc<Files> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let path = file.path().to_owned();
        let input = Input { path, name: "f.jsonl".to_owned(), id: None, is_temporary: false };
        let mut opener = Opener::new(vec![input], None, true, Progress::default());
        loop {
            if let Some(files) = opener.step(Duration::from_secs(9)).unwrap() {
                return Arc::new(files);
            }
        }
    }

    fn found(files: &Arc<Files>, most: usize, threads: usize) -> (Store, Kept) {
        let mut finder = Finder::new(files.clone(), threads, Some(Of::All), Progress::default());
        finder.kept = Some(Kept::new(Of::All, most));
        loop {
            if let Some((store, kept)) = finder.step(Duration::from_secs(9)).unwrap() {
                return (store, kept.unwrap());
            }
        }
    }

    fn names(rows: &Rows<'_>) -> Vec<String> {
        let names = rows.columns.texts(5).unwrap();
        names.rows(rows.rows.clone()).map(|name| name.unwrap().to_owned()).collect()
    }

    /// Chats with a call each, of which the name says the place; some blocks of them.
    fn chats() -> String {
        let filler = "x".repeat(5_000);
        (0..400).fold(String::new(), |mut text, place| {
            let call = format!(r#"{{"function": {{"name": "f{place}", "arguments": "{{}}"}}}}"#);
            let message = format!(r#"{{"role": "assistant", "content": "{filler}", "tool_calls": [{call}]}}"#);
            writeln!(text, r#"{{"messages": [{message}]}}"#).unwrap();
            text
        })
    }

    #[test]
    fn no_more_columns_are_kept_than_fit() {
        let files = files(&chats());
        assert!(files.hold_a_trace);
        for threads in [1, 2] {
            for (most, all) in [(usize::MAX, true), (20_000, false)] {
                let (store, kept) = found(&files, most, threads);
                assert_eq!(store.entries.len(), 400);
                let known: Vec<Rows<'_>> = (0..400).filter_map(|place| kept.rows(place)).collect();
                // Those of the first block, at least; and what was under way when it was full.
                assert!(!known.is_empty() && (known.len() == 400) == all, "{}", known.len());
                assert!(known.iter().all(|rows| names(rows) == [format!("f{}", rows.place)]));
                assert!(kept.rows(400).is_none());
            }
        }
    }

    #[test]
    fn a_trace_in_several_places_has_no_rows_until_it_is_read_again() {
        let span = |trace: u8, tool: &str| {
            let attribute =
                |key: &str, value: &str| format!(r#"{{"key": "{key}", "value": {{"stringValue": "{value}"}}}}"#);
            let attributes = [attribute("gen_ai.operation.name", "execute_tool"), attribute("gen_ai.tool.name", tool)];
            let span = format!(
                r#"{{"traceId": "{:032x}", "spanId": "{:016x}", "name": "{tool}", "attributes": [{}]}}"#,
                trace,
                tool.len(),
                attributes.join(", ")
            );
            format!(r#"{{"resourceSpans": [{{"scopeSpans": [{{"spans": [{span}]}}]}}]}}"#)
        };
        let lines = [span(1, "a"), span(2, "b"), span(1, "cc"), span(3, "d"), span(2, "ee"), span(2, "fff")];
        let (store, kept) = found(&files(&lines.join("\n")), usize::MAX, 1);
        assert_eq!(store.entries.len(), 3);
        assert!(kept.rows(0).is_none() && kept.rows(1).is_none());
        assert_eq!(kept.rows(2).map(|rows| names(&rows)).unwrap(), ["d"]);
    }
}
