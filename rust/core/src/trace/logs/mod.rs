//! Logs of evaluations and of coding agents: one file for each, which says what a record is and how it is read.
//!
//! In logs of evaluations a result without a call is a span of its own, as everywhere (see `turns.rs`); in those of coding
//! agents it is a problem (see `session.rs`).

mod adk_eval;
mod aimon;
mod atif;
mod azure_ai;
mod bfcl;
mod callmatch;
mod claude_code;
mod codex;
mod copilot_cli;
mod cursor;
mod deepeval;
mod droid;
mod gemini_cli;
mod hermes;
mod inspect;
mod openclaw;
mod opencode;
mod openhands;
mod promptfoo;
mod python_calls;
mod ragas;
mod reading;
mod records;
mod rhesis;
mod session;
mod swe_agent;
mod tau2_bench;
mod tau_bench;

use super::stored::Found;
use crate::{error::Error, value::Value};

/// A format in which traces are stored.
pub struct Log {
    /// The word for it: `swe_agent`.
    pub name: &'static str,
    /// What people call it, for errors: "a trajectory of SWE-agent".
    pub title: &'static str,
    pub unit: Unit,
    /// Does this record look like one? Decided by keys that no other format has, not by the place in the table. It is
    /// asked of the first records of a file, of which the first may be a header or be broken.
    pub fits: fn(Value<'_>) -> bool,
    /// Read records: one of them, or all of a file, as `unit` says. Paths of errors begin with the place of the record
    /// in the list, also if it holds only one. What can't be read of a record is a problem in `Found`, and the rest is
    /// read; an error means that nothing of them can.
    pub read: for<'a> fn(&mut Found<'a>, &[Value<'a>]) -> Result<(), Error>,
}

/// What makes a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Each record holds one trace or several.
    Record,
    /// All records of a file are one trace: a session.
    File,
}

pub const LOGS: &[Log] = &[
    callmatch::LOG,
    records::LOG,
    tau_bench::LOG,
    tau2_bench::LOG,
    aimon::LOG,
    swe_agent::LOG,
    atif::LOG,
    openhands::LOG,
    openhands::OUTPUT,
    deepeval::LOG,
    ragas::LOG,
    rhesis::LOG,
    azure_ai::LOG,
    adk_eval::LOG,
    adk_eval::QUESTIONS,
    bfcl::LOG,
    promptfoo::LOG,
    claude_code::LOG,
    codex::LOG,
    copilot_cli::LOG,
    gemini_cli::LOG,
    inspect::LOG,
    opencode::LOG,
    openclaw::LOG,
    droid::LOG,
    cursor::LOG,
    hermes::LOG,
];
