//! OpenAI chat messages: `tool_calls` of assistant messages, or the legacy `function_call`.

use crate::{
    call::{Call, Reader},
    error::Error,
    text::Text,
    value::{Value, get},
};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Role,
    ToolCalls,
    FunctionCall,
}

const ROLE: &str = "role";
const TOOL_CALLS: &str = "tool_calls";
const FUNCTION_CALL: &str = "function_call";

impl Key {
    pub const WORDS: &[&str] = &[ROLE, TOOL_CALLS, FUNCTION_CALL];

    pub fn of(bytes: &[u8]) -> Option<Key> {
        match bytes {
            b"role" => Some(Key::Role),
            b"tool_calls" => Some(Key::ToolCalls),
            b"function_call" => Some(Key::FunctionCall),
            _ => None,
        }
    }
}

pub fn is_message(item: &Value<'_>) -> bool {
    matches!(item, Value::Object(members) if get(members, Text::from(ROLE)).is_some())
}

type Calls<'a> = bumpalo::collections::Vec<'a, Call<'a>>;

/// All calls of a conversation, in order. Results (role `tool` or `function`) repeat the name of a call and are none.
pub fn read<'a>(reader: Reader<'a>, messages: &[Value<'a>]) -> Result<&'a [Call<'a>], Error> {
    let mut calls = Calls::new_in(reader.bump);
    for (index, &message) in messages.iter().enumerate() {
        read_message(reader, message, &mut calls).map_err(|error| error.at_index(index))?;
    }
    Ok(calls.into_bump_slice())
}

fn read_message<'a>(reader: Reader<'a>, message: Value<'a>, calls: &mut Calls<'a>) -> Result<(), Error> {
    let Some(role) = message.get(ROLE) else {
        let kind = message.kind();
        return Err(Error::wrong_type(format!(
            "expected a chat message with a role, like the others of this list, got {kind}"
        )));
    };
    if !matches!(role, Value::Text(role) if role.is("assistant")) {
        return Ok(());
    }
    match message.get(TOOL_CALLS) {
        None | Some(Value::Null | Value::Array([])) => {}
        Some(Value::Array(items)) => {
            return reader.push_list(items, calls).map_err(|error| error.at_key(Text::from(TOOL_CALLS)));
        }
        Some(other) => {
            let message = format!("expected a list of tool calls, got {}", other.kind());
            return Err(Error::wrong_type(message).at_key(Text::from(TOOL_CALLS)));
        }
    }
    match message.get(FUNCTION_CALL) {
        None | Some(Value::Null) => {}
        Some(call) => calls.push(reader.call(call).map_err(|error| error.at_key(Text::from(FUNCTION_CALL)))?),
    }
    Ok(())
}
