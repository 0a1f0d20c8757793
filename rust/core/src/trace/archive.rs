//! Archives of samples, as Inspect writes its logs (`.eval`): a zip file with a member for each sample.

use std::{
    cmp::Ordering,
    io::{self, Read, Seek},
};

use zip::{ZipArchive, result::ZipError};

use crate::{error::Error, show};

/// A sample that takes more is not read.
const MOST_BYTES: u64 = 64 << 20;
const SAMPLES: &str = "samples/";
const EPOCH: &str = "_epoch_";
const JSON: &str = ".json";
/// What stands in the place of a sample that is stored in pieces.
const SHELL: &str = "/sample.json";

/// By the first bytes: is it a zip file?
pub fn is_archive(head: &[u8]) -> bool {
    // The second is that of an archive without members.
    head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06")
}

/// A member that holds a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub name: String,
    place: usize,
    is_whole: bool,
}

/// What is written in it about sizes is never trusted.
pub struct Archive<R> {
    zip: ZipArchive<R>,
    members: Vec<Member>,
    most_bytes: u64,
}

impl<R: Read + Seek> Archive<R> {
    pub fn open(reader: R) -> io::Result<Self> {
        let zip = ZipArchive::new(reader).map_err(broken)?;
        let mut members: Vec<(Sample, Member)> = Vec::new();
        for (place, name) in zip.file_names_raw().enumerate() {
            let name = String::from_utf8_lossy(name).into_owned();
            if let Some((sample, is_whole)) = Sample::named(&name) {
                members.push((sample, Member { name, place, is_whole }));
            }
        }
        members.sort_by(|(one, _), (other, _)| one.order(other));
        let members = members.into_iter().map(|(_, member)| member).collect();
        Ok(Archive { zip, members, most_bytes: MOST_BYTES })
    }

    /// Those that hold samples, in the order in which Inspect lists these: by epoch, then by id.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// What a member holds. An error says what is wrong with it, and begins with its name.
    pub fn read(&mut self, member: &Member) -> Result<Vec<u8>, Error> {
        let path = show::in_a_sentence(&member.name);
        if !member.is_whole {
            let message = "this sample is stored in pieces, which is not read; write the log again as JSON";
            return Err(Error::value(message).inside(&path));
        }
        self.bytes(member.place).map_err(|error| Error::value(error.to_string()).inside(&path))
    }

    fn bytes(&mut self, place: usize) -> io::Result<Vec<u8>> {
        let member = self.zip.by_index(place).map_err(broken)?;
        let mut bytes = Vec::new();
        member.take(self.most_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > self.most_bytes {
            return Err(io::Error::other(format!("more than {} bytes; this sample is not read", self.most_bytes)));
        }
        Ok(bytes)
    }
}

/// Each member that holds a sample, with what it holds.
impl<R: Read + Seek> IntoIterator for Archive<R> {
    type Item = (Member, Result<Vec<u8>, Error>);
    type IntoIter = Members<R>;

    fn into_iter(mut self) -> Members<R> {
        let members = std::mem::take(&mut self.members);
        Members { archive: self, members: members.into_iter() }
    }
}

pub struct Members<R> {
    archive: Archive<R>,
    members: std::vec::IntoIter<Member>,
}

impl<R: Read + Seek> Iterator for Members<R> {
    type Item = (Member, Result<Vec<u8>, Error>);

    fn next(&mut self) -> Option<Self::Item> {
        let member = self.members.next()?;
        let bytes = self.archive.read(&member);
        Some((member, bytes))
    }
}

fn broken(error: ZipError) -> io::Error {
    match error {
        ZipError::Io(error) => error,
        other => io::Error::new(io::ErrorKind::InvalidData, other.to_string()),
    }
}

/// What the name of a member says: `samples/<id>_epoch_<epoch>.json`.
#[derive(Debug, PartialEq, Eq)]
struct Sample {
    id: String,
    epoch: u64,
}

impl Sample {
    /// And whether the member holds all of it.
    fn named(name: &str) -> Option<(Sample, bool)> {
        let name = name.strip_prefix(SAMPLES)?;
        let (name, is_whole) = match name.strip_suffix(SHELL) {
            Some(name) => (name, false),
            None => (name.strip_suffix(JSON)?, true),
        };
        let (id, epoch) = name.rsplit_once(EPOCH)?;
        Some((Sample { id: id.to_owned(), epoch: epoch.parse().ok()? }, is_whole))
    }

    fn order(&self, other: &Sample) -> Ordering {
        self.epoch.cmp(&other.epoch).then_with(|| in_numbers(&self.id).cmp(&in_numbers(&other.id)))
    }
}

/// Ids that are numbers come in their order, before all others.
fn in_numbers(id: &str) -> (Option<std::cmp::Reverse<()>>, usize, &str) {
    let digits = id.trim_start_matches('0');
    match !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()) {
        true => (None, digits.len(), digits),
        false => (Some(std::cmp::Reverse(())), 0, id),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

    use super::*;

    fn archive(members: &[(&str, CompressionMethod, &[u8])]) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, method, bytes) in members {
            writer.start_file(*name, SimpleFileOptions::default().compression_method(*method)).unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    fn read(bytes: Vec<u8>) -> Vec<(String, Result<Vec<u8>, String>)> {
        let archive = Archive::open(Cursor::new(bytes)).unwrap();
        archive.into_iter().map(|(member, bytes)| (member.name, bytes.map_err(|error| error.to_string()))).collect()
    }

    #[test]
    fn samples_in_whatever_they_are_packed_in() {
        let bytes = archive(&[
            ("header.json", CompressionMethod::Deflated, b"{}"),
            ("samples/10_epoch_1.json", CompressionMethod::Stored, b"[1]"),
            ("samples/9_epoch_1.json", CompressionMethod::Zstd, b"[2]"),
            ("samples/9_epoch_2.json", CompressionMethod::Zstd, b"[3]"),
            ("samples/a/b_epoch_c_epoch_1.json", CompressionMethod::Deflated, b"[4]"),
            ("samples/big_epoch_1/sample.json", CompressionMethod::Deflated, b"{}"),
            ("samples/big_epoch_1/events/0.json", CompressionMethod::Deflated, b"[]"),
            ("samples/x_epoch_one.json", CompressionMethod::Stored, b""),
            ("summaries.json", CompressionMethod::Stored, b"[]"),
        ]);
        assert!(is_archive(&bytes));
        let read = read(bytes);
        let names: Vec<_> = read.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "samples/9_epoch_1.json",
                "samples/10_epoch_1.json",
                "samples/a/b_epoch_c_epoch_1.json",
                "samples/big_epoch_1/sample.json",
                "samples/9_epoch_2.json",
            ]
        );
        let held: Vec<_> = read.iter().filter_map(|(_, bytes)| bytes.clone().ok()).collect();
        assert_eq!(held, [b"[2]", b"[1]", b"[4]", b"[3]"]);
        let problem = read.iter().find_map(|(_, bytes)| bytes.clone().err()).unwrap();
        assert!(problem.starts_with("samples/big_epoch_1/sample.json: this sample is stored in pieces"), "{problem}");
    }

    #[test]
    fn frames_one_after_the_other_are_one_member() {
        // As Inspect writes what is large.
        let frames = [zstd::encode_all(&b"[1, "[..], 1).unwrap(), zstd::encode_all(&b"2]"[..], 1).unwrap()].concat();
        let name = "samples/a_epoch_1.json";
        let mut bytes = archive(&[(name, CompressionMethod::Stored, &frames)]);
        // The method, the sizes and the checksum of what is in there, in both places.
        let crc = {
            let mut crc = flate2::Crc::new();
            crc.update(b"[1, 2]");
            crc.sum().to_le_bytes()
        };
        let central = memchr::memmem::find(&bytes, b"PK\x01\x02").unwrap();
        for (method, checksum, size) in [(8, 14, 22), (central + 10, central + 16, central + 24)] {
            bytes[method..method + 2].copy_from_slice(&93u16.to_le_bytes());
            bytes[checksum..checksum + 4].copy_from_slice(&crc);
            bytes[size..size + 4].copy_from_slice(&6u32.to_le_bytes());
        }
        assert_eq!(read(bytes), [(name.to_owned(), Ok(b"[1, 2]".to_vec()))]);
    }

    #[test]
    fn what_is_too_long_or_broken_is_a_problem_and_the_rest_is_read() {
        let long = vec![b' '; 1001];
        let mut bytes = archive(&[
            ("samples/a_epoch_1.json", CompressionMethod::Deflated, &long),
            ("samples/b_epoch_1.json", CompressionMethod::Zstd, &long),
            ("samples/c_epoch_1.json", CompressionMethod::Stored, b"{}"),
            ("samples/d_epoch_1.json", CompressionMethod::Stored, b"[]"),
            ("samples/e_epoch_1.json", CompressionMethod::Deflated, &long[1..]),
        ]);
        // The second says that it is short, and the third is not what was written.
        let second = memchr::memmem::find_iter(&bytes, b"PK\x01\x02").nth(1).unwrap();
        bytes[second + 24..second + 28].copy_from_slice(&2u32.to_le_bytes());
        let content = memchr::memmem::find(&bytes, b"{}").unwrap();
        bytes[content] = b'[';
        let mut archive = Archive::open(Cursor::new(bytes)).unwrap();
        archive.most_bytes = 1000;
        let read: Vec<_> = archive.into_iter().map(|(_, bytes)| bytes.map_err(|error| error.to_string())).collect();
        let problem = |place: usize| read[place].clone().unwrap_err();
        assert_eq!(problem(0), "samples/a_epoch_1.json: more than 1000 bytes; this sample is not read");
        assert!(problem(1).starts_with("samples/b_epoch_1.json: "), "{}", problem(1));
        assert!(problem(2).starts_with("samples/c_epoch_1.json: "), "{}", problem(2));
        assert_eq!(read[3].as_deref(), Ok(&b"[]"[..]));
        assert_eq!(read[4].as_ref().map(Vec::len), Ok(1000));
    }

    #[test]
    fn what_is_no_archive_is_an_error() {
        assert!(!is_archive(b"{}") && !is_archive(b"PK") && !is_archive(b""));
        assert!(is_archive(&archive(&[])));
        let whole = archive(&[("samples/a_epoch_1.json", CompressionMethod::Deflated, b"{}")]);
        for end in 0..whole.len() {
            let opened = Archive::open(Cursor::new(&whole[..end]));
            assert!(opened.is_err(), "{end}");
        }
        // Any byte may be wrong.
        for place in 0..whole.len() {
            for bit in 0..8 {
                let mut bytes = whole.clone();
                bytes[place] ^= 1 << bit;
                if let Ok(archive) = Archive::open(Cursor::new(bytes)) {
                    archive.into_iter().for_each(drop);
                }
            }
        }
    }
}
