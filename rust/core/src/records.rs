//! Splitting a stream of bytes into records, without parsing them: JSON Lines, a JSON array, or objects one after the
//! other as pretty-printers write them. Nothing is kept of what has been given out.

use std::{
    io::{self, Read},
    ops::Range,
};

use memchr::{memchr, memchr2};

/// Bytes that hold whole records, and perhaps others behind them.
pub struct Block {
    pub bytes: Vec<u8>,
    /// Where in the stream they begin.
    pub offset: u64,
    pub records: Vec<Record>,
    /// Whether the places of records are lines; else they are numbers.
    pub by_line: bool,
}

pub struct Record {
    /// The line that the record is on, or, in an array, its number; from 1.
    pub place: u64,
    /// Where its bytes are, or what is wrong with the file here.
    pub bytes: Result<Range<usize>, String>,
}

/// How much is read at a time: what stays in the cache of a core until it has been parsed.
const BLOCK: usize = 256 << 10;
/// A longer record is an error instead of being read.
const MOST_BYTES: usize = 64 << 20;

pub struct Records<R> {
    source: R,
    block: usize,
    most: usize,
    /// What was read and not given out yet, and behind it room that is written over: clearing it costs as much as reading.
    buffer: Vec<u8>,
    filled: usize,
    /// Buffers to be used again.
    spare: Vec<Vec<u8>>,
    /// Where in the stream the buffer begins.
    offset: u64,
    at_end: bool,
    finished: bool,
    failed: Option<io::Error>,
    layout: Option<Layout>,
    /// The place of the last record, or of the last line.
    place: u64,
}

enum Layout {
    Lines {
        /// Inside a line that is too long to be read.
        skipping: bool,
    },
    Values(Scan),
}

impl<R: Read> Records<R> {
    pub fn new(source: R) -> Self {
        Records::with_sizes(source, BLOCK, MOST_BYTES)
    }

    /// For tests, which need small blocks.
    pub fn with_sizes(source: R, block: usize, most: usize) -> Self {
        Records {
            source,
            block,
            most,
            buffer: Vec::new(),
            filled: 0,
            spare: Vec::new(),
            offset: 0,
            at_end: false,
            finished: false,
            failed: None,
            layout: None,
            place: 0,
        }
    }

    /// The next records, or None after the last.
    pub fn next_block(&mut self) -> io::Result<Option<Block>> {
        while !self.finished {
            if let Err(error) = self.fill() {
                self.failed = Some(error);
            }
            let layout = match self.layout.take() {
                Some(layout) => layout,
                None => self.recognise()?,
            };
            let mut records = Vec::new();
            let mut split = Split {
                buffer: &self.buffer[..self.filled],
                at_end: self.at_end,
                most: self.most,
                place: &mut self.place,
                records: &mut records,
            };
            let layout = self.layout.insert(layout);
            let done = match layout {
                Layout::Lines { skipping } => split.lines(skipping),
                Layout::Values(scan) => scan.split(&mut split),
            };
            self.finished = self.at_end || self.failed.is_some();
            let by_line = matches!(layout, Layout::Lines { .. });
            let rest = done..self.filled;
            let offset = self.offset;
            self.offset += done as u64;
            self.filled = rest.len();
            if records.is_empty() {
                self.buffer.copy_within(rest, 0);
                continue;
            }
            let mut buffer = self.spare.pop().unwrap_or_default();
            if buffer.len() < rest.len() {
                buffer.resize(rest.len(), 0);
            }
            buffer[..rest.len()].copy_from_slice(&self.buffer[rest]);
            let bytes = std::mem::replace(&mut self.buffer, buffer);
            return Ok(Some(Block { bytes, offset, records, by_line }));
        }
        // What was whole before the error has been given out.
        self.failed.take().map_or(Ok(None), Err)
    }

    /// Use the memory of a block again.
    pub fn recycle(&mut self, block: Block) {
        if block.bytes.len() <= 4 * self.block {
            self.spare.push(block.bytes);
        }
    }

    /// Read a block, or as much again as was not enough for a record.
    fn fill(&mut self) -> io::Result<()> {
        if self.at_end {
            return Ok(());
        }
        let wanted = self.filled + self.block.max(self.filled);
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted, 0);
        }
        while self.filled < wanted && !self.at_end {
            match self.source.read(&mut self.buffer[self.filled..wanted]) {
                Ok(count) => {
                    self.filled += count;
                    self.at_end = count == 0;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Tell the layout by the first bytes, and step over a byte order mark.
    fn recognise(&mut self) -> io::Result<Layout> {
        if self.buffer[..self.filled].starts_with(b"\xef\xbb\xbf") {
            self.buffer.copy_within(3..self.filled, 0);
            self.filled -= 3;
            self.offset += 3;
        }
        let head = &self.buffer[..self.filled.min(1 << 16)];
        if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") || memchr(0, head).is_some() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not JSON text in UTF-8 (binary data, or UTF-16)"));
        }
        let text = self.buffer[..self.filled].trim_ascii_start();
        let (first, rest) = text.split_at(memchr(b'\n', text).unwrap_or(text.len()));
        let (first, second) = (first.trim_ascii_end(), rest.trim_ascii_start());
        Ok(match first {
            // Unless each line is an array.
            [b'[', ..] if !(first.ends_with(b"]") && second.starts_with(b"[")) => {
                Layout::Values(Scan::new(State::Before))
            }
            // Unless the first line of JSON Lines is broken.
            [b'{', ..] if !rest.is_empty() && !second.starts_with(b"{") && is_open(first) => {
                Layout::Values(Scan::new(State::Inside))
            }
            _ => Layout::Lines { skipping: false },
        })
    }
}

/// Do more brackets open in a line than close?
fn is_open(line: &[u8]) -> bool {
    let (mut depth, mut in_string, mut position) = (0usize, false, 0);
    while let Some(&byte) = line.get(position) {
        position += 1;
        match (in_string, byte) {
            (true, b'\\') => position += 1,
            (_, b'"') => in_string = !in_string,
            (false, b'{' | b'[') => depth += 1,
            (false, b'}' | b']') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    depth > 0 && !in_string
}

/// Where records of a part of the stream go. Its methods return how many bytes are done with.
struct Split<'b> {
    buffer: &'b [u8],
    at_end: bool,
    most: usize,
    place: &'b mut u64,
    records: &'b mut Vec<Record>,
}

impl Split<'_> {
    fn give(&mut self, bytes: Result<Range<usize>, String>) {
        *self.place += 1;
        let bytes = match bytes {
            Ok(range) if range.len() > self.most => Err(too_long(self.most)),
            bytes => bytes,
        };
        self.records.push(Record { place: *self.place, bytes });
    }

    fn give_too_long(&mut self) {
        self.give(Err(too_long(self.most)));
    }

    fn is_blank(&self, range: &Range<usize>) -> bool {
        self.buffer[range.clone()].trim_ascii().is_empty()
    }

    fn lines(&mut self, skipping: &mut bool) -> usize {
        let mut start = 0;
        while start < self.buffer.len() {
            let end = match memchr(b'\n', &self.buffer[start..]) {
                Some(length) => start + length,
                None if self.at_end => self.buffer.len(),
                None if self.buffer.len() - start > self.most => {
                    if !std::mem::replace(skipping, true) {
                        self.give_too_long();
                    }
                    return self.buffer.len();
                }
                None => return start,
            };
            if std::mem::take(skipping) {
                // The rest of a line that was given as too long.
            } else if self.is_blank(&(start..end)) {
                *self.place += 1;
            } else {
                self.give(Ok(start..end));
            }
            start = end + 1;
        }
        self.buffer.len()
    }
}

fn too_long(most: usize) -> String {
    format!("a record of more than {} MiB is not read", most >> 20)
}

/// Looks for the ends of the values of an array, or of objects one after the other, minding strings and brackets.
struct Scan {
    state: State,
    /// An array, with a bracket and commas around its values.
    array: bool,
    /// Up to where the buffer has been looked at; past its end where an escape is cut in two.
    position: usize,
    /// Open brackets around that place, within the value.
    depth: usize,
    in_string: bool,
    /// Inside a value that is too long to be read.
    skipping: bool,
    /// Whether any comma between values was met.
    comma: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Before,
    Inside,
    /// Behind the closing bracket of the array.
    Closed,
    /// Behind that, and behind something that should not be there.
    Ignored,
}

impl Scan {
    fn new(state: State) -> Self {
        let array = state == State::Before;
        Scan { state, array, position: 0, depth: 0, in_string: false, skipping: false, comma: false }
    }

    fn split(&mut self, split: &mut Split<'_>) -> usize {
        let buffer = split.buffer;
        let mut start = 0;
        while let Some(&byte) = buffer.get(self.position) {
            if self.in_string {
                match memchr2(b'"', b'\\', &buffer[self.position..]) {
                    Some(length) if buffer[self.position + length] == b'\\' => self.position += length + 2,
                    Some(length) => {
                        self.position += length + 1;
                        self.in_string = false;
                    }
                    None => self.position = buffer.len(),
                }
                continue;
            }
            self.position += 1;
            let here = self.position;
            match (self.state, byte) {
                // One array may follow another.
                (State::Before | State::Closed, b'[') => {
                    self.state = State::Inside;
                    self.comma = false;
                    start = here;
                }
                (State::Inside, b'"') => self.in_string = true,
                (State::Inside, b'{' | b'[') => self.depth += 1,
                (State::Inside, b',') if self.depth == 0 && self.array => {
                    self.comma = true;
                    self.give(start..here - 1, split);
                    start = here;
                }
                (State::Inside, b']') if self.depth == 0 && self.array => {
                    // Nothing between the brackets is an empty array; nothing after a comma is a mistake.
                    if self.comma || !split.is_blank(&(start..here - 1)) {
                        self.give(start..here - 1, split);
                    }
                    self.state = State::Closed;
                    start = here;
                }
                (State::Inside, b'}' | b']') => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 && !self.array {
                        self.give(start..here, split);
                        start = here;
                    }
                }
                (State::Closed, byte) if !byte.is_ascii_whitespace() => {
                    split.give(Err("there is more text after the end of the array".to_owned()));
                    self.state = State::Ignored;
                }
                _ => {}
            }
        }
        if self.state != State::Inside {
            start = buffer.len();
        } else if split.at_end {
            let complete = self.depth == 0 && !self.in_string;
            if self.skipping || !split.is_blank(&(start..buffer.len())) {
                self.give(start..buffer.len(), split);
            }
            if self.array && complete {
                split.give(Err("the file ends inside the array".to_owned()));
            }
            start = buffer.len();
        } else if buffer.len() - start > split.most {
            if !std::mem::replace(&mut self.skipping, true) {
                split.give_too_long();
            }
            start = buffer.len();
        }
        self.position -= start;
        start
    }

    fn give(&mut self, range: Range<usize>, split: &mut Split<'_>) {
        // One that is too long was given as such when that was seen.
        if !std::mem::take(&mut self.skipping) {
            split.give(Ok(range));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places and texts of all records, `!` before a problem, with blocks of every size.
    fn records(text: &str) -> Vec<(u64, String)> {
        let all = |size| {
            let mut records = Records::with_sizes(text.as_bytes(), size, 64);
            let mut found = Vec::new();
            while let Some(block) = records.next_block().unwrap() {
                for record in block.records {
                    let text = match record.bytes {
                        Ok(range) => String::from_utf8_lossy(block.bytes[range].trim_ascii()).into_owned(),
                        Err(problem) => format!("!{problem}"),
                    };
                    found.push((record.place, text));
                }
            }
            found
        };
        let whole = all(1 << 12);
        // The layout is told by the first line and what follows it, which a real block holds.
        let head = text.find('\n').unwrap_or(text.len().min(2)) + 2;
        for size in head..text.len() {
            assert_eq!(all(size), whole, "{text:?} in blocks of {size}");
        }
        whole
    }

    fn texts(text: &str) -> Vec<String> {
        records(text).into_iter().map(|record| record.1).collect()
    }

    #[test]
    fn lines() {
        let text = "{\"a\":1}\r\n\n{\"b\":\n  \n3";
        assert_eq!(records(text), [(1, "{\"a\":1}".into()), (3, "{\"b\":".into()), (5, "3".into())]);
        assert_eq!(records("\u{feff}{\"a\":1}"), [(1, "{\"a\":1}".into())]);
        assert_eq!(texts("[1]\n[2]\n"), ["[1]", "[2]"]);
        assert_eq!(texts("{\n{\"a\":1}\n{\"b\":2}"), ["{", "{\"a\":1}", "{\"b\":2}"]);
        assert!(records("").is_empty() && records(" \n\n").is_empty());
    }

    #[test]
    fn arrays() {
        assert_eq!(texts(r#"[{"a":"],\\\"["}, {"b":[1,{}]}]"#), [r#"{"a":"],\\\"["}"#, r#"{"b":[1,{}]}"#]);
        assert_eq!(texts("[\n  1,\n  2\n]\n"), ["1", "2"]);
        assert!(texts("[ ]").is_empty());
        assert_eq!(texts("[1,]"), ["1", ""]);
        assert_eq!(texts("[1] x y"), ["1", "!there is more text after the end of the array"]);
        assert_eq!(texts("[\n1\n]\n[\n2, 3]\n[]"), ["1", "2", "3"]);
        assert_eq!(texts("[{},{}"), ["{}", "{}", "!the file ends inside the array"]);
        assert_eq!(texts("[{},{\"a\": \"b"), ["{}", "{\"a\": \"b"]);
        assert_eq!(texts("[{},"), ["{}", "!the file ends inside the array"]);
    }

    #[test]
    fn printed_objects() {
        assert_eq!(texts("{\n \"a\": 1\n}\n{\n \"b\": \"}\"\n}\n"), ["{\n \"a\": 1\n}", "{\n \"b\": \"}\"\n}"]);
        assert_eq!(texts("{\n \"a\": 1\n} x"), ["{\n \"a\": 1\n}", "x"]);
    }

    #[test]
    fn records_that_are_too_long() {
        let long = "x".repeat(200);
        for text in [format!("[{{}},\"{long}\",{{}}]"), format!("{{}}\n\"{long}\"\n{{}}")] {
            for block in [4, 16, 150, 1000] {
                let mut records = Records::with_sizes(text.as_bytes(), block, 64);
                let mut found = Vec::new();
                while let Some(block) = records.next_block().unwrap() {
                    found.extend(block.records.into_iter().map(|record| (record.place, record.bytes.is_ok())));
                }
                assert_eq!(found, [(1, true), (2, false), (3, true)], "{text} in blocks of {block}");
            }
        }
    }

    #[test]
    fn an_error_comes_after_what_was_whole_before_it() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::UnexpectedEof.into())
            }
        }
        let mut records = Records::new(b"{\"a\":1}\n{\"b\":2}\n{\"c".chain(Broken));
        let block = records.next_block().unwrap().unwrap();
        assert_eq!(block.records.len(), 2);
        assert!(records.next_block().is_err());
    }

    #[test]
    fn binary_data_is_refused() {
        for bytes in [&b"\x89PNG\x00"[..], b"\xff\xfe{\x00"] {
            assert!(Records::new(bytes).next_block().is_err());
        }
    }
}
