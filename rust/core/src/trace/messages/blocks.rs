//! The blocks in which Anthropic's messages hold calls and their results: tools of the client, of the server and of MCP.

use super::chat::{CONTENT, READS_OTHERS, TYPE};
use crate::{error::Error, text::Text, value::Value};

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

pub fn is_call(block: Value<'_>) -> bool {
    kind(block).is_some_and(is_kind_of_call)
}

/// A call in a block of another dialect must not pass for none.
pub fn check_own(block: Value<'_>) -> Result<(), Error> {
    match (block, kind(block)) {
        (Value::Object(_), None) => match OTHERS.iter().find(|key| block.get(key).is_some()) {
            None => Ok(()),
            Some(key) => Err(Error::value(format!("a block with {key} is none of a chat message{READS_OTHERS}"))),
        },
        _ => Ok(()),
    }
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

fn is_kind_of_call(kind: Text<'_>) -> bool {
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
