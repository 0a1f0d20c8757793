//! A stream of protobuf → blocks of whole messages, without decoding them.

use std::io::{self, Read};

use super::protobuf;
use crate::{
    pipeline,
    records::{Block, Record},
};

/// How messages follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// One message, whose fields stand for themselves: each of them is a message of the same kind.
    Fields,
    /// Each message after its length, as a varint.
    Varint,
    /// Or as four bytes.
    FourBytes,
}

const MOST_BYTES: usize = 64 << 20;
const BLOCK: usize = 256 << 10;

/// Text has no other control characters, and ids and times hardly none.
pub fn is_text(head: &[u8]) -> bool {
    head.iter().all(|byte| !byte.is_ascii_control() || byte.is_ascii_whitespace())
}

/// The framing, if the beginning of a file is one of these. `head` holds the first message, unless that is very long.
pub fn recognise(head: &[u8]) -> Option<Framing> {
    if is_text(head) {
        return None;
    }
    [Framing::Fields, Framing::Varint, Framing::FourBytes].into_iter().find(|framing| {
        let first = framing.first(head);
        first.is_some_and(|(start, end)| head.get(start..end).is_some_and(protobuf::looks_like))
    })
}

impl Framing {
    /// Where in these bytes the first message begins and ends; None if they don't say.
    fn first(self, bytes: &[u8]) -> Option<(usize, usize)> {
        match self {
            Framing::FourBytes => {
                let (length, _) = bytes.split_first_chunk::<4>()?;
                Some((4, 4usize.checked_add(u32::from_be_bytes(*length) as usize)?))
            }
            Framing::Varint => {
                let (length, size) = varint(bytes)?;
                Some((size, size.checked_add(length)?))
            }
            Framing::Fields => {
                let rest = bytes.strip_prefix(&[0x0a])?;
                let (length, size) = varint(rest)?;
                Some((0, (1 + size).checked_add(length)?))
            }
        }
    }
}

/// A number and how many bytes it takes.
fn varint(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut rest = bytes;
    let number = prost::encoding::decode_varint(&mut rest).ok()?;
    Some((usize::try_from(number).ok()?, bytes.len() - rest.len()))
}

pub struct Frames<R> {
    source: R,
    framing: Framing,
    buffer: Vec<u8>,
    offset: u64,
    number: u64,
    at_end: bool,
}

impl<R: Read> Frames<R> {
    pub fn new(source: R, framing: Framing) -> Self {
        Frames { source, framing, buffer: Vec::new(), offset: 0, number: 0, at_end: false }
    }

    pub fn next_block(&mut self) -> io::Result<Option<Block>> {
        loop {
            self.fill()?;
            let mut records = Vec::new();
            let mut done = 0;
            let mut give = |bytes| {
                self.number += 1;
                records.push(Record { place: self.number, bytes });
            };
            while let Some(rest) = self.buffer.get(done..).filter(|rest| !rest.is_empty()) {
                match self.framing.first(rest) {
                    Some((start, end)) if end <= rest.len() => {
                        if end > start {
                            give(Ok(done + start..done + end));
                        }
                        done += end;
                    }
                    Some((_, end)) if end > MOST_BYTES => {
                        give(Err(format!(
                            "a message of more than {} MiB is not read, nor what follows",
                            MOST_BYTES >> 20
                        )));
                        (done, self.at_end) = (self.buffer.len(), true);
                    }
                    // The rest comes with the next bytes.
                    _ if !self.at_end => break,
                    _ => {
                        give(Err("the file ends, or is broken, within a message".to_owned()));
                        done = self.buffer.len();
                    }
                }
            }
            if records.is_empty() && self.at_end && done == self.buffer.len() {
                return Ok(None);
            }
            let rest = self.buffer.split_off(done);
            let bytes = std::mem::replace(&mut self.buffer, rest);
            let offset = self.offset;
            self.offset += done as u64;
            if !records.is_empty() {
                return Ok(Some(Block { bytes, offset, records, by_line: false }));
            }
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        if !self.at_end {
            let wanted = BLOCK.max(self.buffer.len()) as u64;
            self.at_end = self.source.by_ref().take(wanted).read_to_end(&mut self.buffer)? == 0;
        }
        Ok(())
    }
}

impl<R: Read + Send + 'static> pipeline::Source for Frames<R> {
    type Piece = Block;

    fn next(&mut self) -> io::Result<Option<Block>> {
        self.next_block()
    }

    fn recycle(&mut self, _: Block) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message of traces with one span.
    fn message(name: &str) -> Vec<u8> {
        let field = |tag: u8, bytes: &[u8]| [&[tag << 3 | 2, bytes.len() as u8][..], bytes].concat();
        let span = [field(1, &[1; 16]), field(2, &[2; 8]), field(5, name.as_bytes())].concat();
        field(1, &field(2, &field(2, &span)))
    }

    fn blocks(bytes: &[u8], framing: Framing) -> Vec<Result<Vec<u8>, String>> {
        let mut frames = Frames::new(bytes, framing);
        let mut all = Vec::new();
        while let Some(block) = frames.next_block().unwrap() {
            all.extend(block.records.into_iter().map(|record| record.bytes.map(|range| block.bytes[range].to_vec())));
        }
        all
    }

    #[test]
    fn messages_are_found_whatever_stands_between_them() {
        let (one, other) = (message("a"), message("b"));
        let both = [Ok(one.clone()), Ok(other.clone())];
        let fields = [one.clone(), other.clone()].concat();
        let varints = [&[one.len() as u8][..], &one, &[other.len() as u8], &other].concat();
        let fours = [&[0, 0, 0, one.len() as u8][..], &one, &[0, 0, 0, other.len() as u8], &other].concat();
        for (bytes, framing) in [(fields, Framing::Fields), (varints, Framing::Varint), (fours, Framing::FourBytes)] {
            assert_eq!(recognise(&bytes), Some(framing));
            assert_eq!(blocks(&bytes, framing), both);
            let cut = blocks(&bytes[..bytes.len() - 1], framing);
            assert!(cut.len() == 2 && cut[0] == both[0] && cut[1].is_err(), "{cut:?}");
        }
        assert_eq!(blocks(b"", Framing::Fields), []);
    }

    #[test]
    fn other_files_are_none() {
        for other in [&b""[..], b"{\"a\": 1}", b"\n{\"a\": 1}", b"\n\n\n", b"PAR1\x00", &[0x0a, 2, 1, 1], &[0; 64]] {
            assert_eq!(recognise(other), None, "{other:?}");
        }
    }
}
