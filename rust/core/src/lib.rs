//! The core of callmatch: decides whether the tool calls that an agent made are the ones expected, and says why not.
//!
//! The way of a call: a reader makes [`value::Value`]s out of JSON bytes ([`json`]) or of Python objects (the binding);
//! [`call::Reader`] finds the calls in them; an [`expected::Expectation`] is held against them by [`matching`], which
//! compares arguments with [`compare`]; the answer is a [`report::Report`], and [`reason`] makes a sentence of it.
//! [`files`] does that for every record of a file, which [`records`] finds.

#![forbid(unsafe_code)]

pub mod call;
pub mod compare;
pub mod error;
pub mod expected;
pub mod field;
pub mod files;
pub mod grounding;
pub mod json;
pub mod matching;
pub mod number;
pub mod options;
pub mod pipeline;
pub mod reason;
pub mod records;
pub mod report;
pub mod score;
pub mod show;
pub mod source;
pub mod summary;
pub mod text;
pub mod trace;
pub mod value;
