//! Reading the traces that people have: one file per dialect, and what they have in common.
//!
//! A dialect says what was called, answered and said; [`turns::Conversation`] makes turns and spans of it, by one rule.

pub mod messages;
pub mod span;
pub mod turns;

use crate::{call::Reader, error::Error, text::Text, value::Value};
use span::{Detail, Span};
use turns::Conversation;

/// The keys of calls and messages that are read beside [`crate::call::Key`] where all that is known of them is wanted.
pub fn words() -> impl Iterator<Item = &'static str> {
    Detail::words().chain(messages::SAID.iter().copied())
}

pub fn is_word(key: Text<'_>) -> bool {
    words().any(|word| key.is(word))
}

/// A list of tool calls, or the calls of chat messages, or JSON text of either, with all that is known of them. None: the
/// calls were not reported.
pub fn tool_calls<'a>(reader: Reader<'a>, value: Value<'a>) -> Result<Option<Vec<Span<'a>>>, Error> {
    let Some((reader, items)) = reader.items(value)? else { return Ok(None) };
    if items.iter().any(messages::is_message) {
        return messages::conversation(reader, items).map(|conversation| Some(conversation.into_spans()));
    }
    let read = |(index, &item)| Span::read(reader, item).map_err(|error| error.at_index(index));
    items.iter().enumerate().map(read).collect::<Result<_, _>>().map(Some)
}

/// The conversation that a list of chat messages, or JSON text of one, holds.
pub fn conversation<'a>(reader: Reader<'a>, value: Value<'a>) -> Result<Conversation<'a>, Error> {
    match reader.items(value)? {
        Some((_, items)) if !items.is_empty() && !items.iter().any(messages::is_message) => {
            let message = "expected a list of chat messages, each with a role and without arguments; no item is one";
            Err(Error::wrong_type(message))
        }
        Some((reader, items)) => messages::conversation(reader, items),
        None => Err(Error::wrong_type(format!("expected a list of chat messages, got {}", value.kind()))),
    }
}
