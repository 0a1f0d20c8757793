//! Traces in files: found once, and read when they are asked for.
//!
//! Finding them ([`finding`]) reads every record once, on several threads, and keeps where each trace is: a trace whose spans
//! are scattered has several places. What is read of a record is dropped again, so memory grows with the number of traces and
//! not with their size.

mod files;
mod finding;

use std::{
    cell::Cell,
    collections::{HashMap, HashSet},
    io,
    ops::Range,
    sync::{Arc, Mutex},
};

use bumpalo::Bump;

use super::{
    formats::{Format, Unit},
    spans::Exported,
    stored::{Found, Trace},
};
use crate::{
    call::Reader,
    error::Error,
    records::{Record, Records},
    show,
    source::Progress,
    text::Text,
    value::Value,
};
use finding::{Ids, Item};

pub use files::{Files, Input, Opener};
pub use finding::{Finder, Kept};

/// A session that takes more is not read.
const MOST_BYTES: u64 = 64 << 20;
/// So many problems are told in words; the others are counted.
const MOST_PROBLEMS: usize = 10_000;
/// So many bytes of traces are read at a time, which stay in the cache of a core.
const AT_ONCE: u64 = 256 << 10;
/// More memory than this isn't kept from one time to the next.
const MOST_KEPT: usize = 8 << 20;

thread_local! {
    /// What a thread reads into, and uses again: fresh memory takes as long as filling it.
    static ROOM: Cell<Bump> = Cell::default();
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

/// All traces of some files.
pub struct Store {
    files: Arc<Files>,
    pub entries: Vec<Entry>,
    by_id: HashMap<Box<str>, usize>,
    /// Traces in pieces whose id is that of an earlier trace which isn't.
    in_pieces: HashMap<Box<str>, usize>,
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

fn value<'a>(bump: &'a Bump, bytes: &'a [u8], record: &Record) -> Result<Value<'a>, Error> {
    let range = record.bytes.as_ref().map_err(|problem| Error::value(problem.as_str()))?;
    parse(bump, bytes.get(range.clone()).unwrap_or_default())
}

fn parse<'a>(bump: &'a Bump, bytes: &'a [u8]) -> Result<Value<'a>, Error> {
    crate::json::check_utf8(bytes).map_err(Error::not_json)?;
    Reader::parse(bytes, bump).map(|(value, _)| value).map_err(Error::not_json)
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
    fn new(files: Arc<Files>) -> Self {
        Store {
            files,
            entries: Vec::new(),
            by_id: HashMap::new(),
            in_pieces: HashMap::new(),
            again: (0, None),
            problems: Mutex::default(),
        }
    }

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

    /// The place of the trace with this id.
    pub fn find(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// What a record holds. `kept`: the columns that come with it.
    fn add(&mut self, item: Item, mut kept: Option<&mut Kept>) {
        item.problems.into_iter().for_each(|problem| self.problem(problem));
        let is_piece = self.is_piece(&item.place);
        for (ordinal, ids) in item.traces.into_iter().enumerate() {
            let known = ids.id.as_ref().filter(|_| is_piece).and_then(|id| self.known_in_pieces(id));
            if let Some((known, entry)) = known.and_then(|known| Some((known, self.entries.get_mut(known)?))) {
                entry.places.push(item.place);
                if let Some(kept) = &mut kept {
                    kept.forget(known);
                }
                continue;
            }
            if let (Some(kept), Some(rows)) = (&mut kept, &ids.rows) {
                kept.add_trace(self.entries.len(), rows.clone());
            }
            if let Some(id) = ids.id.as_ref().filter(|id| is_piece && self.by_id.contains_key(*id)) {
                self.in_pieces.insert(id.clone(), self.entries.len());
            }
            self.enter(ids, item.place, ordinal);
        }
    }

    fn is_piece(&self, place: &Place) -> bool {
        let format = self.files.all.get(place.file as usize).and_then(|file| file.format);
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
        let Ids { id, conversation_id, test_id, .. } = ids;
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
        let Some(file) = self.files.all.get(place.file as usize) else { return String::new() };
        let name = show::plain(Text::from(file.name.as_str()));
        match (place.is_whole, file.layout.is_by_line()) {
            (true, _) => name,
            (false, true) => format!("{name}:{}", place.number),
            (false, false) => format!("{name}: record {}", place.number),
        }
    }

    /// At the end of a file: a session is known only now.
    fn finish(&mut self, file: u32, first: usize, bytes: u64) -> io::Result<()> {
        self.call_by_name(file, first);
        let Some(opened) = self.files.all.get(file as usize) else { return Ok(()) };
        let Some(format) = opened.format.filter(|format| format.unit == Unit::File) else { return Ok(()) };
        let place = Place { file, is_whole: true, offset: 0, length: bytes, number: 1 };
        if bytes > MOST_BYTES {
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
        self.call_by_name(file, first);
        Ok(())
    }

    /// The only trace of a file is found by the file's name, if it has no id. `number`: the place of its first one.
    fn call_by_name(&mut self, file: u32, number: usize) {
        let files = self.files.clone();
        let id = files.all.get(file as usize).and_then(|file| file.id.as_deref());
        let Some(id) = id.filter(|_| self.entries.len() == number + 1) else { return };
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
        let Some(file) = places.first().and_then(|place| self.files.all.get(place.file as usize)) else {
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
            let mut records = Records::new(opened.reader(Progress::default()));
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
        let mut found = Found::new(Reader::new(bump, true));
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
        let file = places.first().and_then(|place| self.files.all.get(place.file as usize));
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
        let reader = Reader::new(bump, true);
        let wanted: HashSet<&str> = group.iter().filter_map(|entry| entry.id.as_deref()).collect();
        let mut exported = Exported::new(reader);
        let mut only = None;
        for places in places.chunk_by(|one, other| one.file == other.file) {
            let file = places.first().and_then(|place| self.files.all.get(place.file as usize));
            let Some((file, format)) = file.and_then(|file| Some((file, file.format?))) else { continue };
            let opened = file.bytes()?;
            only = format.only();
            for place in places {
                let bytes: &'a mut [u8] = bump.alloc_slice_fill_copy(place.length as usize, 0);
                opened.read_at(place.offset, bytes).map_err(|error| file.failed(&error))?;
                // What is wrong with a record was told when it was found.
                let _ = finding::export(format, file.layout, &mut exported, bytes);
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
        let Some(file) = self.files.all.get(at.file as usize) else { return Ok(None) };
        if file.format.is_none_or(|format| format.name != "callmatch") {
            return Ok(None);
        }
        let mut bytes = vec![0; at.length as usize];
        file.bytes()?.read_at(at.offset, &mut bytes).map_err(|error| file.failed(&error))?;
        Ok(Some(bytes))
    }
}
