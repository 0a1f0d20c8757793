//! Chat messages: the `tool_calls` of OpenAI's assistant messages, or the legacy `function_call`, or the blocks of calls in
//! Anthropic's; and what is said around them, with the results that tools gave.
//!
//! All who offer OpenAI's interface write these (Mistral, Cohere, Ollama, Gemini's endpoint for it, litellm, vLLM).

use super::{
    Dialect, blocks,
    content::{TEXT, are_said, content_text, parts_text},
};
use crate::{
    call::{Arguments, Call, Key as CallKey, Reader},
    compare,
    error::Error,
    show,
    text::Text,
    trace::{
        span::{self, Details, Span},
        turns::{Answer, Listener},
    },
    value::{Member, Value, get},
};

/// What `role` and `content` are read as, unless another dialect knows the messages by what only it has.
pub const DIALECT: Dialect =
    Dialect { word: "openai_chat", name: "chat messages", fits: |items| items.iter().any(is_message), read };

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
pub const TOOL_CALLS: &str = "tool_calls";
const FUNCTION_CALL: &str = "function_call";
pub const CONTENT: &str = "content";
/// Of a block of the content.
pub const TYPE: &str = "type";
const NAME: &str = "name";
/// Where a block of this type has no content, it has its result under the type's name.
const TOOL_RESULT: &str = "tool_result";
/// Ollama's word for it, in a result.
const TOOL_NAME: &str = "tool_name";
pub const REFUSAL: &str = "refusal";

/// Beside those of [`Key`], what is read for what is said.
pub const SAID: &[&str] = &[TEXT, REFUSAL];

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

fn plain_key(key: Text<'_>) -> Option<Key> {
    match key {
        Text::Utf8(bytes) => Key::of(bytes),
        _ => None,
    }
}

/// Can this be nothing but a chat message? A role, and no key and no content that other dialects have too.
pub fn is_plain(item: &Value<'_>) -> bool {
    let Value::Object(members) = item else { return false };
    let mut has_role = false;
    members.iter().all(|&Member { key, value }| match plain_key(key) {
        Some(Key::Role) => {
            has_role = matches!(value, Value::Text(role) if Role::of(role).is_some());
            has_role
        }
        Some(Key::Content) => matches!(value, Value::Text(_) | Value::Null),
        Some(Key::ToolCalls | Key::FunctionCall) => true,
        Some(Key::Type) => false,
        None => key.is("tool_call_id") || key.is(NAME) || key.is(REFUSAL),
    }) && has_role
}

/// The same, of which it is plain as well that it can be read: its calls, if it has any, are all functions with a name and JSON
/// text.
pub fn is_plainly_readable(item: &Value<'_>) -> bool {
    let is_text = |holder: Value<'_>, key| matches!(holder.get(key), Some(Value::Text(text)) if !text.is_empty());
    let is_call = |call: &Value<'_>| {
        let function = call.get(FUNCTION).unwrap_or_default();
        matches!(function, Value::Object([_, _])) && is_text(function, NAME) && is_text(function, "arguments")
    };
    let are_calls = match item.get(TOOL_CALLS) {
        None | Some(Value::Null) => true,
        Some(Value::Array(calls)) => {
            matches!(item.get(ROLE), Some(Value::Text(role)) if role.is("assistant")) && calls.iter().all(is_call)
        }
        Some(_) => false,
    };
    let speaks = item.get(CONTENT).is_some() || item.get(TOOL_CALLS).is_some();
    are_calls && speaks && item.get(FUNCTION_CALL).is_none() && is_plain(item)
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
    let mut read = |message| match Role::read(message).map_err(|error| error.with(READS_OTHERS))? {
        Role::Assistant => calls_of(reader, message, false, |call| {
            calls.push(reader.call(call).map_err(|error| of_custom(call, error))?);
            Ok(())
        }),
        Role::User | Role::Tool | Role::System => Ok(()),
    };
    for (index, &message) in messages.iter().enumerate() {
        read(message).map_err(|error: Error| error.at_index(index))?;
    }
    Ok(calls.into_bump_slice())
}

/// Scoring knows no custom tools, and says who does.
#[cold]
fn of_custom(call: Value<'_>, error: Error) -> Error {
    if call.get(CUSTOM).is_some() { error.with(READS_OTHERS) } else { error }
}

/// For who has messages of another dialect in hand.
pub const READS_OTHERS: &str = "; Trace.from_messages reads the messages of other providers";

/// The calls that a message of the assistant makes. Where it is not read as a whole, ids are not known.
// Inlined, like `Role::read`: scoring reads messages with nothing else.
#[inline(always)]
fn calls_of<'a>(
    reader: Reader<'a>,
    message: Value<'a>,
    is_whole: bool,
    mut each: impl FnMut(Value<'a>) -> Result<(), Error>,
) -> Result<(), Error> {
    let (content, tool_calls, call) = (message.get(CONTENT), message.get(TOOL_CALLS), message.get(FUNCTION_CALL));
    if let (None, None, None) = (content, tool_calls, call)
        && message.get(REFUSAL).is_none()
    {
        let message = format!("an assistant message has {CONTENT}, {TOOL_CALLS} or {FUNCTION_CALL}");
        return Err(Error::value(message));
    }
    let mut told: &[Value<'a>] = &[];
    // What says the same again is not asked.
    let function_call = match call {
        None | Some(Value::Null) => None,
        Some(call) => Some([call]),
    };
    match tool_calls {
        None | Some(Value::Null | Value::Array([])) => {}
        Some(Value::Array(items)) => {
            for (index, &item) in items.iter().enumerate() {
                each(item).map_err(|error| error.at_index(index).at_key(Text::from(TOOL_CALLS)))?;
            }
            told = items;
        }
        Some(other) => return Err(Error::no_calls(other.kind()).at_key(Text::from(TOOL_CALLS))),
    }
    if let (Some([call]), []) = (&function_call, told) {
        each(*call).map_err(|error| error.at_key(Text::from(FUNCTION_CALL)))?;
        told = function_call.as_slice().as_flattened();
    }
    for (index, &block) in blocks::of(content).iter().enumerate() {
        let made = match blocks::is_call(block) {
            true if tells_again(reader, block, told, is_whole) => Ok(()),
            true => each(block),
            false => match blocks::check_own(block, is_whole) {
                Err(_) if tells_again(reader, block, told, is_whole) => Ok(()),
                checked => checked,
            },
        };
        made.map_err(|error| error.at_index(index).at_key(Text::from(CONTENT)))?;
    }
    match content {
        Some(block @ Value::Object(_)) if !tells_again(reader, block, told, is_whole) => {
            blocks::check_none_in(content, is_whole)
        }
        _ => Ok(()),
    }
}

/// Does a block say what a call of the message says? It has the id of one, or without an id the name and the arguments.
/// Who puts a stream together may leave the arguments to the call.
fn tells_again<'a>(reader: Reader<'a>, block: Value<'a>, told: &[Value<'a>], is_whole: bool) -> bool {
    let ids = |holder: Value<'a>| IDS.iter().filter_map(move |key| span::word(holder.get(key)?, reader.bump));
    if told.is_empty() {
        return false;
    }
    if is_whole && ids(block).next().is_some() && told.iter().any(|call| ids(*call).next().is_some()) {
        return told.iter().any(|call| ids(*call).any(|id| ids(block).any(|other| other == id)));
    }
    let Ok(block) = reader.call(block) else { return false };
    told.iter().filter_map(|call| reader.call(*call).ok()).any(|call| {
        call.name == block.name
            && match (call.arguments, block.arguments) {
                (_, Arguments::NotRecorded | Arguments::Object([])) => true,
                (Arguments::Object(one), Arguments::Object(other)) => {
                    compare::equal(Value::Object(one), Value::Object(other))
                }
                _ => false,
            }
    })
}

/// Of a call, wherever it is written down.
const IDS: &[&str] = &["id", "call_id", "tool_call_id", "tool_use_id", "toolCallId"];

/// Tell what a conversation says, with the calls and their results.
pub fn read<'a>(reader: Reader<'a>, messages: &[Value<'a>], listener: &mut Listener<'a>) -> Result<(), Error> {
    for (index, &message) in messages.iter().enumerate() {
        listen(reader, message, listener).map_err(|error| error.at_index(index))?;
    }
    Ok(())
}

pub fn listen<'a>(reader: Reader<'a>, message: Value<'a>, listener: &mut Listener<'a>) -> Result<(), Error> {
    let (reader, message) = with_calls(reader, message)?;
    let role = Role::read(message)?;
    if role == Role::System {
        return Ok(());
    }
    if role == Role::Assistant {
        // One of several agents has a name.
        let agent = name_of(message);
        calls_of(reader, message, true, |call| {
            listener.called(Span { agent, ..span(reader, call)? });
            Ok(())
        })?;
    }
    let content = message.get(CONTENT);
    let mut results = 0;
    for (index, &block) in blocks::of(content).iter().enumerate().filter(|(_, block)| blocks::is_result(**block)) {
        results += 1;
        let mut answer = answer(reader, block).map_err(|error| error.at_index(index).at_key(Text::from(CONTENT)))?;
        if let (None, Value::Object(members)) = (answer.id, message) {
            answer.id = Details::read(reader, members)?.call_id;
        }
        listener.answered(answer);
    }
    match role {
        Role::Assistant => {
            let other = |value: Option<Value<'a>>| match value {
                Some(Value::Text(text)) => Some(text),
                _ => None,
            };
            let refusal = || other(message.get(REFUSAL));
            let spoken = || other(message.get("audio").and_then(|audio| audio.get("transcript")));
            let mut text = content_text(content, reader.bump).filter(|text| !text.is_blank());
            if results > 0 {
                // What comes after the result of a server's tool is said after it.
                let parts = blocks::of(content).split(|&block| blocks::is_result(block));
                let said = parts.filter_map(|parts| parts_text(parts, reader.bump));
                text = said.filter(|text| !text.is_blank()).last();
            }
            listener.said(text.or_else(refusal).or_else(spoken));
        }
        Role::User if results > 0 && results == blocks::of(content).len() => {}
        Role::User => listener.asked(content_text(content, reader.bump)),
        Role::Tool if results > 0 => {}
        Role::Tool => listener.answered(answer(reader, message)?),
        Role::System => {}
    }
    Ok(())
}

/// The message, with the calls that a table keeps as JSON text.
fn with_calls<'a>(reader: Reader<'a>, message: Value<'a>) -> Result<(Reader<'a>, Value<'a>), Error> {
    let (Value::Object(members), Some(Value::Text(text))) = (message, message.get(TOOL_CALLS)) else {
        return Ok((reader, message));
    };
    let items = reader.items(Value::Text(text)).map_err(|error| error.at_key(Text::from(TOOL_CALLS)))?;
    let (reader, calls) = items.map_or((reader, Value::Null), |(reader, items)| (reader, Value::Array(items)));
    let with_calls = |&Member { key, value }: &Member<'a>| {
        let value = if key.is(TOOL_CALLS) { calls } else { value };
        Member { key, value }
    };
    Ok((reader, Value::Object(reader.bump.alloc_slice_fill_iter(members.iter().map(with_calls)))))
}

/// A call. What a custom tool is asked for is a text.
pub fn span<'a>(reader: Reader<'a>, call: Value<'a>) -> Result<Span<'a>, Error> {
    match (call.get(FUNCTION), call.get(CUSTOM)) {
        (None | Some(Value::Null), Some(custom @ Value::Object(_))) => {
            let span = Span::read(reader, custom).map_err(|error| error.at_key(Text::from(CUSTOM)))?;
            let id = call.get("id").and_then(|id| span::word(id, reader.bump));
            Ok(Span { id: id.or(span.id), ..span })
        }
        _ => Span::read(reader, call),
    }
}

const FUNCTION: &str = "function";
pub const CUSTOM: &str = "custom";

fn name_of(message: Value<'_>) -> Option<Text<'_>> {
    match message.get(NAME) {
        Some(Value::Text(name)) if !name.is_empty() => Some(name),
        _ => None,
    }
}

/// The result that a message of a tool holds, or a block.
fn answer<'a>(reader: Reader<'a>, holder: Value<'a>) -> Result<Answer<'a>, Error> {
    let Value::Object(members) = holder else { return Err(Error::wrong_type("expected the result of a tool")) };
    span::check_depth(reader, members, CONTENT)?;
    let Details { call_id, status, error } = Details::read(reader, members)?;
    let name = name_of(holder).or_else(|| match holder.get(TOOL_NAME) {
        Some(Value::Text(name)) => Some(name).filter(|name| !name.is_empty()),
        _ => None,
    });
    let output = match holder.get(CONTENT).or_else(|| holder.get(TOOL_RESULT)) {
        Some(Value::Array(parts)) if are_said(parts) => parts_text(parts, reader.bump).map_or(Value::Null, Value::Text),
        content => content.unwrap_or(Value::Null),
    };
    let failure = blocks::failure(holder);
    let status = status.or(failure.map(|_| Text::from("error")));
    Ok(Answer { id: call_id, name, output, status, error: error.or(failure) })
}

/// Does this message hold the result of a call, and is it nothing but a chat message?
pub fn is_plain_result(message: &Value<'_>) -> bool {
    matches!(message.get(ROLE), Some(Value::Text(role)) if is_role_of_tool(role)) && is_plain(message)
}

/// The key under which a message has calls as those of chat do.
pub fn key_of_calls(message: Value<'_>) -> Option<&'static str> {
    [TOOL_CALLS, FUNCTION_CALL].into_iter().find(|key| match message.get(key) {
        None | Some(Value::Null | Value::Array([]) | Value::Object([])) => false,
        Some(Value::Text(text)) => !text.is_blank(),
        Some(_) => true,
    })
}

/// Does a message with this role hold the result of a call? Such content is data, so a reader of another source may not
/// leave any of it out.
pub fn is_role_of_tool(word: Text<'_>) -> bool {
    Role::of(word) == Some(Role::Tool)
}
