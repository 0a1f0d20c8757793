//! Chat messages: the `tool_calls` of OpenAI's assistant messages, or the legacy `function_call`, or the `tool_use` blocks
//! in Anthropic's; and what is said around them, with the results that tools gave.

use bumpalo::Bump;

use super::{
    span::{self, Details, Span},
    turns::{Answer, Conversation, Listener},
};
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

pub const ROLE: &str = "role";
const TOOL_CALLS: &str = "tool_calls";
const FUNCTION_CALL: &str = "function_call";
const CONTENT: &str = "content";
/// Of a block of the content.
pub const TYPE: &str = "type";
const NAME: &str = "name";
const TEXT: &str = "text";
const REFUSAL: &str = "refusal";

/// Beside those of [`Key`], what is read for what is said.
pub(super) const SAID: &[&str] = &[TEXT, REFUSAL];

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

/// Who speaks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Assistant,
    User,
    /// A tool, or whoever answers in its place.
    Tool,
    /// Instructions, which belong to no turn.
    System,
}

impl Role {
    fn of(word: Text<'_>) -> Option<Role> {
        let Text::Utf8(word) = word else { return None };
        match word {
            b"assistant" => Some(Role::Assistant),
            b"user" => Some(Role::User),
            b"tool" | b"function" => Some(Role::Tool),
            b"system" | b"developer" => Some(Role::System),
            _ => None,
        }
    }

    #[inline(always)]
    fn read(message: Value<'_>) -> Result<Role, Error> {
        if !is_message(&message) {
            let message = "expected a chat message with a role and without arguments, like the others of this list";
            return Err(Error::wrong_type(message));
        }
        let word = message.get(ROLE);
        match word {
            Some(Value::Text(text)) => Role::of(text).ok_or_else(|| Role::unknown(word)),
            _ => Err(Role::unknown(word)),
        }
    }

    /// Another role may make calls in a way that isn't read, and they must not pass for none.
    #[cold]
    fn unknown(word: Option<Value<'_>>) -> Error {
        let found = match word {
            Some(Value::Text(word)) => format!("{:?}", show::in_a_sentence(&show::storable(word))),
            other => other.map_or("nothing", Value::kind).to_owned(),
        };
        let message = format!("the role of a chat message is one of {ROLES}, not {found}");
        Error::value(message).at_key(Text::from(ROLE))
    }
}

const ROLES: &str = "assistant, system, developer, user, tool, function";

/// All calls of a conversation, in order. Results (role `tool` or `function`) repeat the name of a call and are none.
pub fn calls<'a>(reader: Reader<'a>, messages: &[Value<'a>]) -> Result<&'a [Call<'a>], Error> {
    let mut calls = bumpalo::collections::Vec::new_in(reader.bump);
    let mut read = |message| match Role::read(message)? {
        Role::Assistant => calls_of(message, |call| {
            calls.push(reader.call(call)?);
            Ok(())
        }),
        Role::User | Role::Tool | Role::System => Ok(()),
    };
    for (index, &message) in messages.iter().enumerate() {
        read(message).map_err(|error: Error| error.at_index(index))?;
    }
    Ok(calls.into_bump_slice())
}

/// The calls that a message of the assistant makes.
// Inlined, like `Role::read`: scoring reads messages with nothing else.
#[inline(always)]
fn calls_of<'a>(message: Value<'a>, mut each: impl FnMut(Value<'a>) -> Result<(), Error>) -> Result<(), Error> {
    let (content, tool_calls, call) = (message.get(CONTENT), message.get(TOOL_CALLS), message.get(FUNCTION_CALL));
    if let (None, None, None) = (content, tool_calls, call)
        && message.get(REFUSAL).is_none()
    {
        let message = format!("an assistant message has {CONTENT}, {TOOL_CALLS} or {FUNCTION_CALL}");
        return Err(Error::value(message));
    }
    // What says the same again is not asked.
    match tool_calls {
        None | Some(Value::Null | Value::Array([])) => {}
        Some(Value::Array(items)) => {
            for (index, &item) in items.iter().enumerate() {
                each(item).map_err(|error| error.at_index(index).at_key(Text::from(TOOL_CALLS)))?;
            }
            return Ok(());
        }
        Some(other) => return Err(Error::no_calls(other.kind()).at_key(Text::from(TOOL_CALLS))),
    }
    match call {
        None | Some(Value::Null) => {}
        Some(call) => return each(call).map_err(|error| error.at_key(Text::from(FUNCTION_CALL))),
    }
    for (index, &block) in blocks(content).iter().enumerate().filter(|(_, block)| is_block(**block, TOOL_USE)) {
        each(block).map_err(|error| error.at_index(index).at_key(Text::from(CONTENT)))?;
    }
    Ok(())
}

/// What a conversation says: its turns, with the calls and their results.
pub fn conversation<'a>(reader: Reader<'a>, messages: &[Value<'a>]) -> Result<Conversation<'a>, Error> {
    let mut listener = Listener::default();
    for (index, &message) in messages.iter().enumerate() {
        listen(reader, message, &mut listener).map_err(|error| error.at_index(index))?;
    }
    Ok(listener.finish())
}

fn listen<'a>(reader: Reader<'a>, message: Value<'a>, listener: &mut Listener<'a>) -> Result<(), Error> {
    let role = Role::read(message)?;
    if role == Role::System {
        return Ok(());
    }
    if role == Role::Assistant {
        calls_of(message, |call| {
            listener.called(Span::read(reader, call)?);
            Ok(())
        })?;
    }
    let content = message.get(CONTENT);
    let mut results = 0;
    for (index, &block) in blocks(content).iter().enumerate().filter(|(_, block)| is_block(**block, TOOL_RESULT)) {
        results += 1;
        let answer = answer(reader, block).map_err(|error| error.at_index(index).at_key(Text::from(CONTENT)))?;
        listener.answered(answer);
    }
    match role {
        Role::Assistant => {
            let refusal = || match message.get(REFUSAL) {
                Some(Value::Text(text)) => Some(text),
                _ => None,
            };
            let text = content_text(content, reader.bump).filter(|text| !text.is_blank());
            listener.said(text.or_else(refusal));
        }
        Role::User if results > 0 && results == blocks(content).len() => {}
        Role::User => listener.asked(content_text(content, reader.bump)),
        Role::Tool if results > 0 => {}
        Role::Tool => listener.answered(answer(reader, message)?),
        Role::System => {}
    }
    Ok(())
}

/// The result that a message of a tool holds, or a block.
fn answer<'a>(reader: Reader<'a>, holder: Value<'a>) -> Result<Answer<'a>, Error> {
    let Value::Object(members) = holder else { return Err(Error::wrong_type("expected the result of a tool")) };
    span::check_depth(reader, members, CONTENT)?;
    let Details { call_id, status, error } = Details::read(reader, members)?;
    let name = match holder.get(NAME) {
        Some(Value::Text(name)) if !name.is_empty() => Some(name),
        _ => None,
    };
    let output = match holder.get(CONTENT) {
        Some(Value::Array(parts)) if are_said(parts) => parts_text(parts, reader.bump).map_or(Value::Null, Value::Text),
        content => content.unwrap_or(Value::Null),
    };
    Ok(Answer { id: call_id, name, output, status, error })
}

fn blocks<'a>(content: Option<Value<'a>>) -> &'a [Value<'a>] {
    match content {
        Some(Value::Array(blocks)) => blocks,
        _ => &[],
    }
}

fn is_block(block: Value<'_>, kind: &str) -> bool {
    matches!(block.get(TYPE), Some(Value::Text(found)) if found.is(kind))
}

/// Does a message with this role, or a block of this type, hold the result of a call? Such content is data, so a reader of
/// another source may not leave any of it out.
pub fn holds_result(word: Text<'_>) -> bool {
    word.is(TOOL_RESULT) || Role::of(word) == Some(Role::Tool)
}

/// Is a block of this type read by its keys, as a call is, rather than as a value?
pub fn holds_keys(kind: Text<'_>) -> bool {
    kind.is(TOOL_USE) || kind.is(TOOL_RESULT)
}

const TOOL_USE: &str = "tool_use";
const TOOL_RESULT: &str = "tool_result";
/// Calls and results, which are told otherwise, and thoughts, which are not said.
const NOT_SAID: &[&str] = &[TOOL_USE, TOOL_RESULT, "thinking", "redacted_thinking", "reasoning"];
const TEXTS: &[&str] = &["text", "input_text", "output_text"];
/// What a tool shows, rather than lists.
const MEDIA: &[&str] = &["image", "image_url", "input_image", "audio", "input_audio"];
const FILES: &[&str] = &["file", "input_file", "document", "resource", "resource_link", "search_result"];

/// What the content of a message says, as a text.
fn content_text<'a>(content: Option<Value<'a>>, bump: &'a Bump) -> Option<Text<'a>> {
    match content? {
        Value::Array(parts) => parts_text(parts, bump),
        other => part_text(other, bump),
    }
}

fn parts_text<'a>(parts: &[Value<'a>], bump: &'a Bump) -> Option<Text<'a>> {
    let texts: Vec<_> = parts.iter().filter_map(|&part| part_text(part, bump)).collect();
    match *texts {
        [] => None,
        [text] => Some(text),
        ref texts => Some(Text::joined(texts, "\n", bump)),
    }
}

fn part_text<'a>(part: Value<'a>, bump: &'a Bump) -> Option<Text<'a>> {
    let kind = match (part, part.get(TYPE)) {
        (Value::Null, _) => return None,
        (Value::Text(text), _) => return Some(text),
        (Value::Object(_), Some(Value::Text(kind))) => Some(kind),
        (Value::Object(_), _) => None,
        (other, _) => return Some(span::json_text(other, bump)),
    };
    if kind.is_some_and(|kind| is_one_of(kind, NOT_SAID)) {
        return None;
    }
    for key in SAID {
        if let Some(Value::Text(text)) = part.get(key) {
            return Some(text);
        }
    }
    match kind {
        Some(kind) if is_one_of(kind, TEXTS) => None,
        Some(kind) => Some(Text::joined(&[Text::from("["), kind, Text::from("]")], "", bump)),
        None => Some(span::json_text(part, bump)),
    }
}

/// Is a result said, rather than data that happens to be a list? Then all of it is texts and what stands among texts.
fn are_said(parts: &[Value<'_>]) -> bool {
    let is_of = |part: &Value<'_>, kinds| matches!(part.get(TYPE), Some(Value::Text(kind)) if is_one_of(kind, kinds));
    let is_text = |part: &Value<'_>| is_of(part, TEXTS) && matches!(part.get(TEXT), Some(Value::Text(_)));
    let shows = |part: &Value<'_>| is_text(part) || is_of(part, MEDIA);
    let stands_among_texts = |part: &Value<'_>| matches!(part, Value::Text(_)) || is_of(part, FILES);
    parts.iter().any(shows) && parts.iter().all(|part| shows(part) || stands_among_texts(part))
}

fn is_one_of(word: Text<'_>, words: &[&str]) -> bool {
    words.iter().any(|other| word.is(other))
}
