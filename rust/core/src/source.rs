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
    Ok(Box::new(Decompressed {
        raw: Some(Counted { inner: raw, progress }),
        head: Vec::new(),
        inner: Box::new(io::empty()),
    }))
}

/// Finds out at the first reading what it is.
struct Decompressed {
    /// Until then: the raw bytes, and the first of them.
    raw: Option<Counted>,
    head: Vec<u8>,
    inner: Box<dyn Read + Send>,
}

impl Read for Decompressed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(raw) = &mut self.raw {
            raw.take(4 - self.head.len() as u64).read_to_end(&mut self.head)?;
            if let Some(raw) = self.raw.take() {
                let whole = Cursor::new(self.head.clone()).chain(raw);
                self.inner = match self.head[..] {
                    [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, whole))),
                    [0x28, 0xb5, 0x2f, 0xfd] => Box::new(zstd::Decoder::new(whole)?),
                    _ => Box::new(whole),
                };
            }
        }
        self.inner.read(buffer)
    }
}

struct Counted {
    inner: Box<dyn Read + Send>,
    progress: Progress,
}

impl Read for Counted {
    /// A signal ends the reading with [`is_interrupt`]: the standard library would wait on, deaf to Ctrl-C. Nothing that was
    /// read is lost, and reading may go on.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => io::ErrorKind::WouldBlock.into(),
            _ => error,
        })?;
        self.progress.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

pub fn is_interrupt(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}
