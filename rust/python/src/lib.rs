//! `callmatch._core`: exports only. What is behind them lies in the file of its name.

mod arrow;
mod batch;
mod check;
mod columns;
mod errors;
mod files;
mod mentions;
mod plain;
mod read;
mod request;
mod store;
mod summary;
mod threads;
mod trace;
mod trajectory;
mod write;

#[cfg(Py_GIL_DISABLED)]
compile_error!("callmatch reads Python objects in place, which needs an interpreter with its global lock");

#[pyo3::pymodule(name = "_core", gil_used = true)]
mod core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::arrow::{ScoreStream, SpanScores, score_spans, score_table, span_columns};
    #[pymodule_export]
    use crate::batch::Batch;
    #[pymodule_export]
    use crate::check::{CheckBatch, FileChecker, ToolCheck, check_score};
    #[pymodule_export]
    use crate::columns::{SpanColumn, SpanColumns};
    #[pymodule_export]
    use crate::errors::{one_of, printable, printable_lines};
    #[pymodule_export]
    use crate::files::FileScorer;
    #[pymodule_export]
    use crate::mentions::mentions;
    #[pymodule_export]
    use crate::store::{TraceStore, trace_formats};
    #[pymodule_export]
    use crate::summary::{Summaries, Summary};
    #[pymodule_export]
    use crate::trace::{find, read_messages, read_tool_calls, read_value};
    #[pymodule_export]
    use crate::trajectory::{Trajectory, last_segment};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        use callmatch_core::options::{ArgumentMode, DifferenceKind, MatchMode, Names, Verdict};
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("DEBUG", cfg!(debug_assertions))?;
        for (name, words) in [
            ("MATCH_MODES", MatchMode::WORDS),
            ("ARGUMENT_MODES", ArgumentMode::WORDS),
            ("NAME_MODES", Names::WORDS),
            ("VERDICTS", Verdict::WORDS),
            ("DIFFERENCE_KINDS", DifferenceKind::WORDS),
            ("COLUMNS", crate::batch::COLUMNS),
        ] {
            module.add(name, pyo3::types::PyTuple::new(module.py(), words)?)?;
        }
        module.add("SPAN_PROFILES", pyo3::types::PyTuple::new(module.py(), crate::arrow::profiles())?)?;
        module.add("SCORE_COLUMNS", pyo3::types::PyTuple::new(module.py(), crate::arrow::names())?)?;
        crate::check::words(module)
    }
}
