//! Work on the pieces of a source by several threads, whose results come in the order of the pieces.
//!
//! Each thread takes the next piece, while the others wait for their turn, and works on it while it is still in its core's
//! cache. The results come back in whatever order they are done, and are put in order again. No thread runs more than some
//! pieces ahead of what was given out, so memory doesn't grow with the source.

use std::{
    collections::BTreeMap,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread,
    time::Duration,
};

/// Where pieces come from. It gets back the piece that a thread is done with, whose memory it may use again.
pub trait Source: Send + 'static {
    type Piece: Send + 'static;

    fn next(&mut self) -> io::Result<Option<Self::Piece>>;

    fn recycle(&mut self, piece: Self::Piece);
}

pub struct Pipeline<T> {
    done: Arc<Done<T>>,
    window: Arc<Window>,
}

/// What came of waiting.
pub enum Next<T> {
    Done(T),
    /// Nothing yet; ask again.
    Pending,
    End,
}

/// As many threads as there are cores, if nobody says how many.
pub fn threads(wanted: usize) -> usize {
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    if wanted == 0 { cores() } else { wanted }
}

impl<T: Send + 'static> Pipeline<T> {
    /// `ahead`: how far ahead of the piece whose turn it is another may be taken, for each thread. `worker` makes what each
    /// thread works with.
    pub fn start<S: Source, W: FnMut(&S::Piece) -> T + Send + 'static>(
        source: S,
        threads: usize,
        ahead: u64,
        worker: impl Fn() -> W,
    ) -> io::Result<Self> {
        let source = Arc::new(Mutex::new(Taking { source, number: 0, finished: false }));
        let window = Arc::new(Window::new(ahead * threads as u64));
        // If a thread can't be started, dropping this stops the others.
        let pipeline = Pipeline { done: Arc::new(Done::new()), window };
        for _ in 0..threads {
            let (source, window, worker, sender) =
                (source.clone(), pipeline.window.clone(), worker(), Sender::new(&pipeline.done));
            let work = move || work(&source, &window, worker, &sender);
            thread::Builder::new().name("callmatch".to_owned()).spawn(work)?;
        }
        Ok(pipeline)
    }

    /// Wait for the next result, but not longer than that. After an error there is no other result.
    pub fn next(&mut self, longest: Duration) -> io::Result<Next<T>> {
        let (next, turn) = self.done.next(longest);
        self.window.move_to(turn);
        next
    }
}

impl<T> Drop for Pipeline<T> {
    fn drop(&mut self) {
        self.window.close();
    }
}

/// What is done and was not given out yet.
struct Done<T> {
    results: Mutex<Results<T>>,
    changed: Condvar,
}

struct Results<T> {
    /// By the number of the piece.
    early: BTreeMap<u64, io::Result<T>>,
    /// The number of the piece whose turn it is.
    turn: u64,
    /// How many threads may have more.
    senders: usize,
}

/// Whoever waits is woken for so many results: waking a thread takes as long as some tens of rows, and takes a core from
/// those that work.
const WAKE_FOR: usize = 8;

impl<T> Results<T> {
    fn worth_waking(&self) -> bool {
        self.senders == 0 || self.early.len() >= WAKE_FOR && self.early.contains_key(&self.turn)
    }
}

impl<T> Done<T> {
    fn new() -> Self {
        Done { results: Mutex::new(Results { early: BTreeMap::new(), turn: 0, senders: 0 }), changed: Condvar::new() }
    }

    /// The next result, or what is instead of it after that time, and whose turn it is then.
    fn next(&self, longest: Duration) -> (io::Result<Next<T>>, u64) {
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        if !results.early.contains_key(&results.turn) {
            let waited = self.changed.wait_timeout_while(results, longest, |results| !results.worth_waking());
            (results, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        let turn = results.turn;
        let next = match results.early.remove(&turn) {
            Some(result) => {
                results.turn += 1;
                result.map(Next::Done)
            }
            None if results.senders == 0 => Ok(Next::End),
            None => Ok(Next::Pending),
        };
        (next, results.turn)
    }

    fn change(&self, change: impl FnOnce(&mut Results<T>)) {
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut results);
        if results.worth_waking() {
            self.changed.notify_all();
        }
    }
}

/// One for each thread that works.
struct Sender<T>(Arc<Done<T>>);

impl<T> Sender<T> {
    fn new(done: &Arc<Done<T>>) -> Self {
        done.change(|results| results.senders += 1);
        Sender(done.clone())
    }

    fn send(&self, number: u64, result: io::Result<T>) {
        self.0.change(|results| drop(results.early.insert(number, result)));
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.change(|results| results.senders -= 1);
    }
}

/// Which pieces may be taken now.
struct Window {
    size: u64,
    /// The piece whose turn it is; None when nobody wants more.
    turn: Mutex<Option<u64>>,
    moved: Condvar,
}

impl Window {
    fn new(size: u64) -> Self {
        Window { size, turn: Mutex::new(Some(0)), moved: Condvar::new() }
    }

    /// Wait until a piece may be taken; false when nobody wants it any more.
    fn admits(&self, number: u64) -> bool {
        let Ok(turn) = self.turn.lock() else { return false };
        let full = |turn: &mut Option<u64>| turn.is_some_and(|turn| number >= turn + self.size);
        self.moved.wait_while(turn, full).is_ok_and(|turn| turn.is_some())
    }

    fn move_to(&self, turn: u64) {
        self.set(Some(turn));
    }

    fn close(&self) {
        self.set(None);
    }

    fn set(&self, to: Option<u64>) {
        if let Ok(mut turn) = self.turn.lock() {
            *turn = to;
        }
        self.moved.notify_all();
    }
}

struct Taking<S> {
    source: S,
    /// How many pieces were taken.
    number: u64,
    finished: bool,
}

/// What each thread does until the source ends, or nobody wants more of it.
fn work<S: Source, T>(
    source: &Mutex<Taking<S>>,
    window: &Window,
    mut worker: impl FnMut(&S::Piece) -> T,
    done: &Sender<T>,
) {
    let mut used: Option<S::Piece> = None;
    loop {
        let (number, piece) = {
            let Ok(mut taking) = source.lock() else { return };
            if let Some(piece) = used.take() {
                taking.source.recycle(piece);
            }
            // The others wait for the source meanwhile, as they would have to wait for the window.
            if taking.finished || !window.admits(taking.number) {
                return;
            }
            let piece = unbroken(|| taking.source.next());
            taking.finished = !matches!(piece, Ok(Some(_)));
            let number = taking.number;
            taking.number += 1;
            (number, piece)
        };
        let result = match piece {
            Ok(None) => return,
            Ok(Some(piece)) => {
                let result = unbroken(|| Ok(worker(&piece)));
                used = Some(piece);
                result
            }
            Err(error) => Err(error),
        };
        done.send(number, result);
    }
}

/// The last net: what breaks a thread is an error of the piece, and not a piece that nobody misses.
fn unbroken<T>(work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(io::Error::other("a thread broke down")))
}
