//! The threads that share work.

use std::{
    io, mem, process,
    sync::{Arc, Mutex},
};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// The stack of a thread. `read.rs` wants to have 2 MiB of it left: with less, every row would get a stack of its own, and pages
/// of it from the system.
const STACK: usize = 8 << 20;

/// So many threads; for 0 one for each core, which are kept for the next time.
pub fn threads(count: usize) -> io::Result<Arc<ThreadPool>> {
    /// With the process that they are of. A fork has none of the threads of its parent, and would wait for them for ever.
    static KEPT: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

    let made = || {
        let threads = ThreadPoolBuilder::new().num_threads(count).stack_size(STACK).build();
        threads.map(Arc::new).map_err(io::Error::other)
    };
    if count != 0 {
        return made();
    }
    // In a fork, whoever held the lock may be gone.
    let Ok(mut kept) = KEPT.try_lock() else { return made() };
    let process = process::id();
    match &*kept {
        Some((of, threads)) if *of == process => Ok(threads.clone()),
        _ => {
            let threads = made()?;
            // Those of the parent can't be told to stop.
            mem::forget(kept.replace((process, threads.clone())));
            Ok(threads)
        }
    }
}
