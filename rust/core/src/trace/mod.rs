//! Reading the traces that people have: one file per dialect, and what they have in common.
//!
//! A dialect says what was called, answered and said; [`turns::Conversation`] makes turns and spans of it, by one rule.

pub mod archive;
pub mod columns;
pub mod decode;
pub mod formats;
pub mod logs;
pub mod messages;
pub mod nesting;
pub mod rows;
pub mod span;
pub mod span_table;
pub mod spans;
pub mod store;
pub mod stored;
pub mod time;
pub mod turns;

use crate::{call::Reader, error::Error, text::Text, value::Value};
use messages::chat;
use span::{Detail, Span};
use turns::Listener;

pub use messages::conversation;

/// The keys of calls and messages that are read beside [`crate::call::Key`] where all that is known of them is wanted.
pub fn words() -> impl Iterator<Item = &'static str> {
    Detail::words().chain(chat::SAID.iter().copied()).chain([chat::CUSTOM])
}

pub fn is_word(key: Text<'_>) -> bool {
    words().any(|word| key.is(word))
}

/// A list of tool calls, or the calls of chat messages, or JSON text of either, with all that is known of them. None: the
/// calls were not reported.
pub fn tool_calls<'a>(reader: Reader<'a>, value: Value<'a>) -> Result<Option<Vec<Span<'a>>>, Error> {
    let Some((reader, items)) = reader.items(value)? else { return Ok(None) };
    if items.iter().any(chat::is_message) {
        let mut listener = Listener::default();
        chat::read(reader, items, &mut listener)?;
        return Ok(Some(listener.finish().into_spans()));
    }
    let read = |(index, &item)| chat::span(reader, item).map_err(|error| error.at_index(index));
    items.iter().enumerate().map(read).collect::<Result<_, _>>().map(Some)
}
