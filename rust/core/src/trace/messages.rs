//! Chat messages: the `tool_calls` of OpenAI's assistant messages, or the legacy `function_call`, or the `tool_use` blocks
//! in Anthropic's.

use crate::{
    call::{Call, Key as CallKey, Reader},
    error::Error,
    show,
    text::Text,
    value::{Value, get},
};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Role,
    ToolCalls,
    FunctionCall,
    Content,
    /// Of a block of the content.
    Type,
}

const ASSISTANT: &str = "assistant";
const OTHER_ROLES: &[&str] = &["system", "developer", "user", "tool", "function"];
const ROLE: &str = "role";
const TOOL_CALLS: &str = "tool_calls";
const FUNCTION_CALL: &str = "function_call";
const CONTENT: &str = "content";
const TYPE: &str = "type";

impl Key {
    pub const WORDS: &[&str] = &[ROLE, TOOL_CALLS, FUNCTION_CALL, CONTENT, TYPE];

    pub fn of(bytes: &[u8]) -> Option<Key> {
        match bytes {
            b"role" => Some(Key::Role),
            b"tool_calls" => Some(Key::ToolCalls),
            b"function_call" => Some(Key::FunctionCall),
            b"content" => Some(Key::Content),
            b"type" => Some(Key::Type),
            _ => None,
        }
    }

    pub fn holds_calls(self) -> bool {
        matches!(self, Key::ToolCalls | Key::FunctionCall | Key::Content)
    }
}

/// A role makes a message, unless there are arguments, which only calls have.
pub fn is_message(item: &Value<'_>) -> bool {
    let Value::Object(members) = item else { return false };
    get(members, Text::from(ROLE)).is_some()
        && !members.iter().any(|member| matches!(CallKey::of(member.key), CallKey::Arguments(_) | CallKey::Function))
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
    if !is_message(&message) {
        let message = "expected a chat message with a role and without arguments, like the others of this list";
        return Err(Error::wrong_type(message));
    }
    // Another role may make calls in a way that isn't read, and they must not pass for none.
    match message.get(ROLE) {
        Some(Value::Text(role)) if role.is(ASSISTANT) => {}
        Some(Value::Text(role)) if OTHER_ROLES.iter().any(|other| role.is(other)) => return Ok(()),
        role => {
            let found = match role {
                Some(Value::Text(role)) => format!("{:?}", show::in_a_sentence(&show::storable(role))),
                other => other.map_or("nothing", Value::kind).to_owned(),
            };
            let words = OTHER_ROLES.join(", ");
            let message = format!("the role of a chat message is one of {ASSISTANT}, {words}, not {found}");
            return Err(Error::value(message).at_key(Text::from(ROLE)));
        }
    }
    let (content, tool_calls, call) = (message.get(CONTENT), message.get(TOOL_CALLS), message.get(FUNCTION_CALL));
    if let (None, None, None) = (content, tool_calls, call) {
        let message = format!("an assistant message has {CONTENT}, {TOOL_CALLS} or {FUNCTION_CALL}");
        return Err(Error::value(message));
    }
    // What says the same again is not asked.
    match tool_calls {
        None | Some(Value::Null | Value::Array([])) => {}
        Some(Value::Array(items)) => {
            return reader.push_list(items, calls).map_err(|error| error.at_key(Text::from(TOOL_CALLS)));
        }
        Some(other) => return Err(Error::no_calls(other.kind()).at_key(Text::from(TOOL_CALLS))),
    }
    match call {
        None | Some(Value::Null) => {}
        Some(call) => {
            calls.push(reader.call(call).map_err(|error| error.at_key(Text::from(FUNCTION_CALL)))?);
            return Ok(());
        }
    }
    if let Some(Value::Array(blocks)) = content {
        for (index, &block) in blocks.iter().enumerate() {
            if matches!(block.get(TYPE), Some(Value::Text(kind)) if kind.is("tool_use")) {
                let call = reader.call(block).map_err(|error| error.at_index(index).at_key(Text::from(CONTENT)))?;
                calls.push(call);
            }
        }
    }
    Ok(())
}
