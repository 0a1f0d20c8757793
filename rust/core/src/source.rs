//! Opening what records are read from: a file or standard input, compressed or not.

use std::{
    fs::File,
    io::{self, BufReader, Cursor, Read},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use flate2::read::MultiGzDecoder;

/// How many bytes were read so far, before they were decompressed.
pub type Progress = Arc<AtomicU64>;

/// `-` is standard input. Gzip and Zstandard are told by their first bytes, whatever the name.
pub fn open(path: &Path, progress: Progress) -> io::Result<Box<dyn Read + Send>> {
    let raw: Box<dyn Read + Send> = if path == Path::new("-") {
        Box::new(io::stdin())
    } else {
        let file = File::open(path)?;
        if file.metadata()?.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        Box::new(file)
    };
    Ok(Box::new(Decompressed { raw: Some(Counted { inner: raw, progress }), inner: Box::new(io::empty()) }))
}

/// What is wrong with data, in words.
pub fn said(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the compressed data ends too early".to_owned(),
        _ => error.to_string(),
    }
}

/// Do these first bytes say that the rest is compressed?
pub fn is_compressed(head: &[u8]) -> bool {
    compression(head).is_some()
}

enum Compression {
    Gzip,
    Zstandard,
}

fn compression(head: &[u8]) -> Option<Compression> {
    match head {
        [0x1f, 0x8b, ..] => Some(Compression::Gzip),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Compression::Zstandard),
        _ => None,
    }
}

/// Finds out at the first reading what it is, so that opening waits for nothing.
struct Decompressed {
    /// Until then: the raw bytes.
    raw: Option<Counted>,
    inner: Box<dyn Read + Send>,
}

impl Read for Decompressed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(mut raw) = self.raw.take() {
            let mut head = Vec::new();
            raw.by_ref().take(4).read_to_end(&mut head)?;
            let compression = compression(&head);
            let whole = Cursor::new(head).chain(raw);
            self.inner = match compression {
                Some(Compression::Gzip) => Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, whole))),
                Some(Compression::Zstandard) => Box::new(zstd::Decoder::new(whole)?),
                None => Box::new(whole),
            };
        }
        self.inner.read(buffer)
    }
}

struct Counted {
    inner: Box<dyn Read + Send>,
    progress: Progress,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.progress.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
