//! The blocks in which Anthropic's messages hold calls and their results: tools of the client, of the server and of MCP.

use super::{
    chat::{CONTENT, READS_OTHERS, TYPE},
    content, parts,
};
use crate::{call::Key, error::Error, text::Text, value::Value};

/// The last is that of others who write such blocks.
const CALLS: &[&str] = &["tool_use", "server_tool_use", "mcp_tool_use", "tool_call"];
/// What holds a call in the blocks of others, which have no type.
const OTHERS: &[&str] = &["toolUse", "functionCall", "function_call", "tool_call"];
const RESULT: &[u8] = b"tool_result";
/// Thoughts.
const THOUGHTS: &[&str] = &["thinking", "redacted_thinking", "reasoning"];

pub fn of<'a>(content: Option<Value<'a>>) -> &'a [Value<'a>] {
    match content {
        Some(Value::Array(blocks)) => blocks,
        _ => &[],
    }
}

/// Does a message hold blocks of calls or results?
pub fn are_in(message: Value<'_>) -> bool {
    of(message.get(super::chat::CONTENT)).iter().any(|&block| is_call(block) || is_result(block))
}

pub fn is_call(block: Value<'_>) -> bool {
    kind(block).is_some_and(is_kind_of_call)
}

/// A call in a block of another dialect, or of a type that nobody knows, must not pass for none. Where blocks are not read
/// as a whole, null stands for any value.
pub fn check_own(block: Value<'_>, is_whole: bool) -> Result<(), Error> {
    match (block, kind(block)) {
        (_, Some(kind)) if content::is_known(kind) || is_not_said(kind) => Ok(()),
        (_, Some(kind)) => parts::reject_calls(kind, "the type of a block of a chat message", CALLS)
            .map_err(|error| error.with(READS_OTHERS).at_key(Text::from(TYPE))),
        (Value::Object(members), None) => {
            let is_there = |key: &&&str| match block.get(key) {
                None => false,
                Some(value) => !is_whole || !matches!(value, Value::Null),
            };
            if let Some(key) = OTHERS.iter().find(is_there) {
                return Err(Error::value(format!("a block with {key} is none of a chat message{READS_OTHERS}")));
            }
            let has = |is: fn(Key) -> bool| {
                members.iter().any(|member| is(Key::of(member.key)) && !matches!(member.value, Value::Null))
            };
            if has(|key| matches!(key, Key::Name(_))) && has(|key| matches!(key, Key::Arguments(_) | Key::Function)) {
                let message = format!("a tool call in a block without a type, which is one of {}", CALLS.join(", "));
                return Err(Error::value(message + READS_OTHERS));
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The same where no call at all is read: in the message of another dialect, or where a list of blocks belongs.
pub fn check_none(block: Value<'_>, is_whole: bool) -> Result<(), Error> {
    if is_call(block) {
        return Err(Error::value("a tool call as in a block of a chat message of the assistant, where none can be"));
    }
    check_own(block, is_whole)
}

/// None of all blocks of a content may be a call, nor the content itself.
pub fn check_none_in(content: Option<Value<'_>>, is_whole: bool) -> Result<(), Error> {
    let checked = match content {
        Some(Value::Array(blocks)) => parts::each(blocks, |block| check_none(block, is_whole)),
        Some(content @ Value::Object(_)) => check_none(content, is_whole),
        _ => Ok(()),
    };
    checked.map_err(|error| error.at_key(Text::from(CONTENT)))
}

pub fn is_result(block: Value<'_>) -> bool {
    kind(block).is_some_and(is_kind_of_result)
}

/// Why a tool of the server failed, which its result says by its type.
pub fn failure<'a>(result: Value<'a>) -> Option<Text<'a>> {
    let content = result.get(CONTENT)?;
    match (kind(content)?, content.get("error_code")?) {
        (Text::Utf8(kind), Value::Text(code)) if is_result(result) && kind.ends_with(b"_error") => Some(code),
        _ => None,
    }
}

fn kind<'a>(block: Value<'a>) -> Option<Text<'a>> {
    match block.get(TYPE) {
        Some(Value::Text(kind)) => Some(kind),
        _ => None,
    }
}

pub fn is_kind_of_call(kind: Text<'_>) -> bool {
    CALLS.iter().any(|call| kind.is(call))
}

/// Servers have a kind of result for each of their tools, such as `web_search_tool_result`.
pub fn is_kind_of_result(kind: Text<'_>) -> bool {
    matches!(kind, Text::Utf8(kind) if kind.ends_with(RESULT))
}

/// Is a block of this type read by its keys, as a call is, rather than as a value?
pub fn holds_keys(kind: Text<'_>) -> bool {
    is_kind_of_call(kind) || is_kind_of_result(kind)
}

/// Calls and results, which are told otherwise, and thoughts.
pub fn is_not_said(kind: Text<'_>) -> bool {
    holds_keys(kind) || THOUGHTS.iter().any(|thought| kind.is(thought))
}
