//! Reading tool calls out of the traces that people have; one file per dialect.

pub mod messages;
