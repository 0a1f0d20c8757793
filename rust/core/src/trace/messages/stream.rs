//! The chunks of a stream, put together to what would have come without one.

use std::collections::HashMap;

use bumpalo::Bump;

use super::chat::TYPE;
use crate::{
    call::Reader,
    error::Error,
    json,
    text::Text,
    value::{MAX_DEPTH, Member, Value, get},
};

/// Whose chunk it is.
#[derive(Clone, Copy)]
pub enum Source {
    /// Errors, and what keeps a connection open: of whichever stream they stand in.
    Any,
    Chat,
    Responses,
    Anthropic,
    Bedrock,
    Cohere,
    Gemini,
    Ollama,
}

/// May their chunks stand in one stream? What Gemini streams are whole responses, and an error is none of them.
impl PartialEq for Source {
    fn eq(&self, other: &Source) -> bool {
        match (self, other) {
            (Source::Any, Source::Gemini) | (Source::Gemini, Source::Any) => false,
            (Source::Any, _) | (_, Source::Any) => true,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

const ANY: &[&str] = &["ping", "keepalive", "error"];
/// What may stand beside an error that has no type.
const OF_ERROR: &[&str] = &["error", "request_id", "user_id"];
const ANTHROPIC: &[&str] = &[
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
];
/// Events that Anthropic's client makes of the others, so they say nothing new. Some have the type of a block, but no
/// block has the text so far.
const ANTHROPIC_MADE: &[&str] = &["input_json", "signature", "citation"];
const ANTHROPIC_MADE_WITH_SNAPSHOT: &[&str] = &["text", "thinking"];
const BEDROCK: &[&str] = &["messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop"];
const COHERE: &[&str] = &[
    "message-start",
    "content-start",
    "content-delta",
    "content-end",
    "tool-plan-delta",
    "tool-call-start",
    "tool-call-delta",
    "tool-call-end",
    "citation-start",
    "citation-end",
    "message-end",
];

/// Of what stream this is a chunk, if it is one.
pub fn source(value: Value<'_>) -> Option<Source> {
    let Value::Object(members) = value else { return None };
    match get(members, Text::from(TYPE)) {
        Some(Value::Text(kind)) => return source_of_event(kind, value),
        None | Some(Value::Null) => {}
        Some(_) => return None,
    }
    let is_chunk = matches!(value.get("object"), Some(Value::Text(object)) if object.is("chat.completion.chunk"));
    let has_delta = || first_choice(value).is_some_and(|choice| choice.get("delta").is_some());
    if is_chunk || has_delta() {
        Some(Source::Chat)
    } else if matches!(value.get("candidates"), Some(Value::Array(_))) {
        Some(Source::Gemini)
    } else if value.get("done").is_some() && value.get("message").is_some() {
        Some(Source::Ollama)
    } else if let [member] = members
        && (BEDROCK.iter().any(|word| member.key.is(word)) || member.value.get("usage").is_some())
    {
        Some(Source::Bedrock)
    } else if value.get("error").is_some()
        && members.iter().all(|member| OF_ERROR.iter().any(|word| member.key.is(word)))
    {
        Some(Source::Any)
    } else {
        None
    }
}

fn source_of_event(kind: Text<'_>, event: Value<'_>) -> Option<Source> {
    let Text::Utf8(bytes) = kind else { return None };
    let is_one_of = |words: &[&str]| words.iter().any(|word| kind.is(word));
    if bytes.starts_with(b"response.") {
        Some(Source::Responses)
    } else if is_one_of(ANY) {
        Some(Source::Any)
    } else if is_one_of(ANTHROPIC)
        || is_one_of(ANTHROPIC_MADE)
        || is_one_of(ANTHROPIC_MADE_WITH_SNAPSHOT) && event.get("snapshot").is_some()
    {
        Some(Source::Anthropic)
    } else if is_one_of(COHERE) {
        Some(Source::Cohere)
    } else {
        None
    }
}

/// Is this text what a server sends, event by event?
pub fn is_sent_by_server(bytes: &[u8]) -> bool {
    let bytes = bytes.trim_ascii_start();
    [&b"data:"[..], b"event:", b"id:", b"retry:", b": "].iter().any(|start| bytes.starts_with(start))
}

/// The messages or items that chunks of one source make. What belongs to any says nothing.
pub fn assembled<'a>(reader: Reader<'a>, given: Source, chunks: &[Value<'a>]) -> Result<Vec<Value<'a>>, Error> {
    let bump = reader.bump;
    let mut messages = Vec::new();
    let mut open: Option<(Source, Message<'a>)> = None;
    for (place, &chunk) in chunks.iter().enumerate() {
        let source = self::source(chunk).unwrap_or(given);
        if matches!(source, Source::Any) {
            continue;
        }
        let ended = open.take_if(|(last, message)| *last != source || message.ends_before(source, chunk));
        if let Some((last, message)) = ended {
            messages.extend(message.finished(last, bump));
        }
        let (_, message) = open.get_or_insert_with(|| (source, Message::default()));
        match source {
            Source::Any => Ok(()),
            Source::Chat => message.chat(chunk),
            Source::Responses => message.responses(chunk),
            Source::Anthropic => message.anthropic(chunk),
            Source::Bedrock => message.bedrock(chunk),
            Source::Cohere => message.cohere(chunk),
            Source::Gemini => message.gemini(chunk),
            Source::Ollama => message.ollama(chunk),
        }
        .map_err(|error: Error| error.at_index(place))?;
    }
    messages.extend(open.into_iter().flat_map(|(source, message)| message.finished(source, bump)));
    Ok(messages)
}

/// A message that is being put together.
#[derive(Default)]
struct Message<'a> {
    /// Did the stream say that it is whole?
    is_whole: bool,
    /// Did it stop since it became too long?
    is_cut: bool,
    id: Option<Text<'a>>,
    blocks: Vec<Block<'a>>,
    /// The last block of each index.
    by_index: HashMap<Index, usize>,
    /// What is there already.
    items: Vec<Value<'a>>,
}

/// Texts and calls are counted apart by some.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Index {
    Text,
    Refusal,
    /// The old way to call, without an index.
    Function,
    At(i64),
}

/// What is known of a block so far.
#[derive(Default)]
struct Block<'a> {
    kind: Kind,
    id: Option<Text<'a>>,
    name: Option<Text<'a>>,
    /// As it was begun.
    begun: Option<Value<'a>>,
    /// The text, or the arguments.
    pieces: Vec<Text<'a>>,
    /// Arguments that came as a whole.
    arguments: Option<Value<'a>>,
    is_whole: bool,
    /// Is it the last one of a message that became too long?
    is_cut: bool,
    /// Are the pieces JSON text of an object? Not known once another was added.
    is_read: Option<bool>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Text,
    Refusal,
    Call,
    Function,
    Custom,
}

impl<'a> Message<'a> {
    fn ends_before(&self, source: Source, chunk: Value<'a>) -> bool {
        let kind_is = |word| kind_is(chunk, word);
        match source {
            Source::Any => false,
            Source::Chat => matches!((self.id, text_of(chunk, "id")), (Some(a), Some(b)) if a != b),
            Source::Responses => kind_is("response.created"),
            Source::Anthropic => kind_is("message_start"),
            Source::Bedrock => chunk.get("messageStart").is_some(),
            Source::Cohere => kind_is("message-start"),
            Source::Gemini | Source::Ollama => self.is_whole,
        }
    }

    /// The stream says that it is whole if it says why it stopped.
    fn ended(&mut self, reason: Option<Text<'a>>) {
        self.is_whole |= reason.is_some();
        self.is_cut |= reason.is_some_and(is_for_length);
    }

    /// The block of an index, begun if it isn't there or if it is of another kind.
    fn block(&mut self, index: Index, kind: Kind) -> Option<&mut Block<'a>> {
        let known = self.by_index.get(&index).copied();
        let is_same = known.and_then(|place| self.blocks.get(place)).is_some_and(|block| block.kind == kind);
        if !is_same {
            self.begin(index, kind);
        }
        let place = self.by_index.get(&index).copied()?;
        self.blocks.get_mut(place)
    }

    fn begin(&mut self, index: Index, kind: Kind) {
        self.by_index.insert(index, self.blocks.len());
        self.blocks.push(Block { kind, ..Block::default() });
    }

    fn said(&mut self, index: Index, kind: Kind, text: Option<Value<'a>>) {
        if let Some(Value::Text(text)) = text
            && let Some(block) = self.block(index, kind)
        {
            block.pieces.push(text);
        }
    }

    /// A piece of a call. Some who send whole calls give all of them one index: another id begins another call, and so does
    /// a name where there is no id and the call before is whole.
    fn called(
        &mut self,
        index: Index,
        kind: Kind,
        id: Option<Text<'a>>,
        name: Option<Text<'a>>,
        arguments: Option<Value<'a>>,
    ) {
        let known = self.by_index.get(&index).and_then(|place| self.blocks.get_mut(*place));
        let is_other = known.is_some_and(|block| {
            let has_other_id = matches!((block.id, id), (Some(a), Some(b)) if a != b);
            let is_next = name.is_some() && id.is_none() && block.id.is_none() && block.name.is_some();
            has_other_id
                || is_next && (block.arguments.is_some() || block.pieces.len() == 1 && block.is_known_readable())
        });
        if is_other {
            self.begin(index, kind);
        }
        let Some(block) = self.block(index, kind) else { return };
        block.id = block.id.or(id);
        block.name = block.name.or(name);
        match arguments {
            Some(Value::Text(piece)) => {
                block.pieces.push(piece);
                block.is_read = None;
            }
            None | Some(Value::Null) => {}
            Some(whole) => block.arguments = Some(whole),
        }
    }

    fn chat(&mut self, chunk: Value<'a>) -> Result<(), Error> {
        self.id = self.id.or(text_of(chunk, "id"));
        let Some(choice) = first_choice(chunk) else { return Ok(()) };
        self.ended(text_of(choice, "finish_reason"));
        let Some(delta) = choice.get("delta") else { return Ok(()) };
        self.said(Index::Text, Kind::Text, delta.get("content"));
        self.said(Index::Refusal, Kind::Refusal, delta.get("refusal"));
        if let Some(call @ Value::Object(_)) = delta.get("function_call") {
            self.called(Index::Function, Kind::Function, None, text_of(call, "name"), call.get("arguments"));
        }
        let calls = match delta.get("tool_calls") {
            None | Some(Value::Null) => &[],
            Some(Value::Array(calls)) => calls,
            Some(other) => return Err(Error::no_calls(other.kind())),
        };
        for (place, call) in (0..).zip(calls) {
            let index = match call.get("index") {
                Some(Value::Int(index)) => index,
                _ => place,
            };
            let (kind, holder, arguments) = match call.get("custom") {
                Some(custom @ Value::Object(_)) => (Kind::Custom, custom, "input"),
                _ => (Kind::Call, call.get("function").unwrap_or(Value::Null), "arguments"),
            };
            self.called(Index::At(index), kind, text_of(*call, "id"), text_of(holder, "name"), holder.get(arguments));
        }
        Ok(())
    }

    /// The last event has all of them; where it is missing, each item that was done.
    fn responses(&mut self, event: Value<'a>) -> Result<(), Error> {
        if let Some(Value::Array(items)) = event.get("response").and_then(|response| response.get("output"))
            && !items.is_empty()
        {
            self.items = items.to_vec();
            self.is_whole = true;
            return Ok(());
        }
        let (Some(item @ Value::Object(_)), Some(Value::Int(index))) = (event.get("item"), event.get("output_index"))
        else {
            return Ok(());
        };
        if let Some(block) = self.block(Index::At(index), Kind::Text) {
            block.begun = Some(item);
        }
        Ok(())
    }

    fn anthropic(&mut self, event: Value<'a>) -> Result<(), Error> {
        self.ended(event.get("delta").and_then(|delta| text_of(delta, "stop_reason")));
        let is_one_of = |words: &[&str]| words.iter().any(|word| kind_is(event, word));
        if !is_one_of(ANTHROPIC) {
            return Ok(());
        }
        let Some(Value::Int(index)) = event.get("index") else { return Ok(()) };
        let index = Index::At(index);
        // The client's own streams have the whole block in its stop too.
        if kind_is(event, "content_block_start")
            && let Some(begun @ Value::Object(_)) = event.get("content_block")
        {
            self.begin(index, Kind::Call);
            if let Some(block) = self.block(index, Kind::Call) {
                block.begun = Some(begun);
            }
            return Ok(());
        }
        let Some(block) = self.block(index, Kind::Call) else { return Ok(()) };
        let Some(delta) = event.get("delta") else {
            block.is_whole = true;
            return Ok(());
        };
        for key in ["text", "partial_json"] {
            block.pieces.extend(match delta.get(key) {
                Some(Value::Text(piece)) => Some(piece),
                _ => None,
            });
        }
        Ok(())
    }

    fn bedrock(&mut self, event: Value<'a>) -> Result<(), Error> {
        if let Some(stop) = event.get("messageStop") {
            self.is_whole = true;
            self.ended(text_of(stop, "stopReason"));
        }
        let index = |event: Value<'a>| match event.get("contentBlockIndex") {
            Some(Value::Int(index)) => Index::At(index),
            _ => Index::At(0),
        };
        if let Some(event) = event.get("contentBlockStart")
            && let Some(call @ Value::Object(_)) = event.get("start").and_then(|start| start.get("toolUse"))
        {
            self.begin(index(event), Kind::Call);
            self.called(index(event), Kind::Call, text_of(call, "toolUseId"), text_of(call, "name"), None);
        }
        if let Some(event) = event.get("contentBlockDelta")
            && let Some(delta) = event.get("delta")
        {
            self.said(index(event), Kind::Text, delta.get("text"));
            if let Some(call) = delta.get("toolUse") {
                self.called(index(event), Kind::Call, None, None, call.get("input"));
            }
        }
        Ok(())
    }

    fn cohere(&mut self, event: Value<'a>) -> Result<(), Error> {
        if kind_is(event, "message-end") {
            self.is_whole = true;
            self.ended(event.get("delta").and_then(|delta| text_of(delta, "finish_reason")));
        }
        let Some(message) = event.get("delta").and_then(|delta| delta.get("message")) else { return Ok(()) };
        if let Some(content) = message.get("content") {
            self.said(Index::Text, Kind::Text, content.get("text"));
        }
        if let (Some(call @ Value::Object(_)), Some(Value::Int(index))) =
            (message.get("tool_calls"), event.get("index"))
        {
            let function = call.get("function").unwrap_or(Value::Null);
            let (id, name) = (text_of(call, "id"), text_of(function, "name"));
            self.called(Index::At(index), Kind::Call, id, name, function.get("arguments"));
        }
        Ok(())
    }

    /// Texts go on from chunk to chunk; all else comes in parts that are whole, or that the dialect puts together.
    fn gemini(&mut self, chunk: Value<'a>) -> Result<(), Error> {
        let Some(candidate) = chunk.get("candidates").and_then(|candidates| candidates.get("0")) else { return Ok(()) };
        self.is_whole |= ["finishReason", "finish_reason"].iter().any(|key| text_of(candidate, key).is_some());
        let Some(Value::Array(parts)) = candidate.get("content").and_then(|content| content.get("parts")) else {
            return Ok(());
        };
        let is_thought = |part: Value<'_>| matches!(part.get("thought"), Some(Value::True));
        for &part in parts {
            let text = match part.get("text") {
                Some(Value::Text(text)) => Some(text),
                _ => None,
            };
            let last = self.blocks.last_mut().filter(|block| {
                block.kind == Kind::Text && block.begun.is_some_and(|begun| is_thought(begun) == is_thought(part))
            });
            match (text, last) {
                (Some(text), Some(block)) => block.pieces.push(text),
                (text, _) => {
                    let kind = if text.is_some() { Kind::Text } else { Kind::Call };
                    self.blocks.push(Block { kind, begun: Some(part), ..Block::default() });
                }
            }
        }
        Ok(())
    }

    fn ollama(&mut self, chunk: Value<'a>) -> Result<(), Error> {
        self.is_whole |= matches!(chunk.get("done"), Some(Value::True));
        let Some(message) = chunk.get("message") else { return Ok(()) };
        self.said(Index::Text, Kind::Text, message.get("content"));
        match message.get("tool_calls") {
            None | Some(Value::Null) => {}
            // Each of them is whole.
            Some(Value::Array(calls)) => self.items.extend(calls),
            Some(other) => return Err(Error::no_calls(other.kind())),
        }
        Ok(())
    }

    fn finished(mut self, source: Source, bump: &'a Bump) -> Vec<Value<'a>> {
        if self.is_cut {
            // Where blocks are in order, a call before another block is whole.
            let is_ordered = matches!(source, Source::Anthropic | Source::Bedrock);
            let is_cut = |block: &&mut Block<'_>| is_ordered || !matches!(block.kind, Kind::Text | Kind::Refusal);
            if let Some(block) = self.blocks.iter_mut().rev().find(is_cut) {
                block.is_cut = true;
                block.is_whole = false;
            }
        }
        match source {
            Source::Any => Vec::new(),
            Source::Responses if self.is_whole => self.items,
            Source::Responses => self.blocks.iter().filter_map(|block| block.begun).collect(),
            Source::Anthropic => {
                let blocks = self.blocks.iter().map(|block| block.begun_and_ended(bump));
                vec![assistant(&[("content", list(blocks, bump))], bump)]
            }
            Source::Bedrock => {
                let blocks = self.blocks.iter().map(|block| match block.kind {
                    Kind::Call => {
                        let input = block.input(self.is_whole, bump);
                        let members = [("toolUseId", word(block.id)), ("name", word(block.name)), ("input", input)];
                        object(&[("toolUse", object(&members, bump))], bump)
                    }
                    _ => object(&[("text", block.text(bump))], bump),
                });
                vec![assistant(&[("content", list(blocks, bump))], bump)]
            }
            Source::Gemini => {
                let parts = self.blocks.iter().map(|block| block.begun_and_ended(bump));
                vec![object(&[("role", Value::Text(Text::from("model"))), ("parts", list(parts, bump))], bump)]
            }
            Source::Chat | Source::Cohere | Source::Ollama => vec![self.chat_message(bump)],
        }
    }

    fn chat_message(self, bump: &'a Bump) -> Value<'a> {
        let text_of = |kind| {
            let block = self.blocks.iter().find(|block| block.kind == kind);
            block.map_or(Value::Null, |block| block.text(bump))
        };
        let function = |block: &Block<'a>, arguments: &'static str| {
            object(&[("name", word(block.name)), (arguments, block.input(self.is_whole, bump))], bump)
        };
        let made = self.blocks.iter().filter_map(|block| {
            let (key, function) = match block.kind {
                Kind::Call => ("function", function(block, "arguments")),
                Kind::Custom => ("custom", function(block, "input")),
                Kind::Text | Kind::Refusal | Kind::Function => return None,
            };
            Some(object(&[("id", word(block.id)), (key, function)], bump))
        });
        let calls = list(made.chain(self.items.iter().copied()), bump);
        let legacy = self.blocks.iter().find(|block| block.kind == Kind::Function);
        let legacy = legacy.map_or(Value::Null, |block| function(block, "arguments"));
        let members = [
            ("content", text_of(Kind::Text)),
            ("refusal", text_of(Kind::Refusal)),
            ("tool_calls", calls),
            ("function_call", legacy),
        ];
        assistant(&members, bump)
    }
}

impl<'a> Block<'a> {
    fn text(&self, bump: &'a Bump) -> Value<'a> {
        Value::Text(Text::joined(&self.pieces, "", bump))
    }

    /// The arguments. Where the stream broke off, those that can't be read were cut, and so are not recorded.
    fn input(&self, is_whole: bool, bump: &'a Bump) -> Value<'a> {
        match self.arguments {
            Some(arguments) => arguments,
            None if is_whole && !self.is_cut || self.is_readable() => self.text(bump),
            None => Value::Null,
        }
    }

    fn is_known_readable(&mut self) -> bool {
        let is_read = self.is_read.unwrap_or_else(|| self.is_readable());
        self.is_read = Some(is_read);
        is_read
    }

    /// Do the pieces make JSON text of an object?
    fn is_readable(&self) -> bool {
        let bump = Bump::new();
        is_object(Text::joined(&self.pieces, "", &bump), &bump)
    }

    /// As it was begun, with what came after.
    fn begun_and_ended(&self, bump: &'a Bump) -> Value<'a> {
        let Some(Value::Object(members)) = self.begun else {
            return object(&[(TYPE, Value::Text(Text::from("text"))), ("text", self.text(bump))], bump);
        };
        let each = members.iter().map(|&Member { key, value }| {
            let value = match value {
                Value::Text(begun) if key.is("text") => {
                    let mut pieces = vec![begun];
                    pieces.extend(&self.pieces);
                    Value::Text(Text::joined(&pieces, "", bump))
                }
                begun if key.is("input") => match self.pieces.as_slice() {
                    [] if self.is_whole => begun,
                    _ => self.input(self.is_whole, bump),
                },
                other => other,
            };
            Member { key, value }
        });
        Value::Object(bump.alloc_slice_fill_iter(each.collect::<Vec<_>>()))
    }
}

/// Did a message with this reason stop since it became too long?
pub fn is_for_length(reason: Text<'_>) -> bool {
    ["length", "max_tokens", "MAX_TOKENS", "model_length", "model_context_window_exceeded"]
        .iter()
        .any(|word| reason.is(word))
}

fn kind_is(event: Value<'_>, word: &str) -> bool {
    matches!(event.get(TYPE), Some(Value::Text(kind)) if kind.is(word))
}

/// Is this JSON text of an object?
pub fn is_object<'a>(text: Text<'a>, bump: &'a Bump) -> bool {
    matches!(json::parse(text.utf8_in(bump), MAX_DEPTH, bump), Ok(Value::Object(_)))
}

fn first_choice(chunk: Value<'_>) -> Option<Value<'_>> {
    match chunk.get("choices") {
        // Others are what else could have been said.
        Some(Value::Array(choices)) => choices
            .iter()
            .copied()
            .find(|choice| matches!(choice.get("index"), None | Some(Value::Null | Value::Int(0)))),
        _ => None,
    }
}

fn text_of<'a>(value: Value<'a>, key: &str) -> Option<Text<'a>> {
    match value.get(key) {
        Some(Value::Text(text)) => Some(text).filter(|text| !text.is_empty()),
        _ => None,
    }
}

fn word(text: Option<Text<'_>>) -> Value<'_> {
    text.map_or(Value::Null, Value::Text)
}

fn assistant<'a>(members: &[(&'static str, Value<'a>)], bump: &'a Bump) -> Value<'a> {
    let mut all = vec![("role", Value::Text(Text::from("assistant")))];
    all.extend_from_slice(members);
    object(&all, bump)
}

fn list<'a>(values: impl Iterator<Item = Value<'a>>, bump: &'a Bump) -> Value<'a> {
    Value::Array(bump.alloc_slice_fill_iter(values.collect::<Vec<_>>()))
}

pub fn object<'a>(members: &[(&'static str, Value<'a>)], bump: &'a Bump) -> Value<'a> {
    let member = |&(key, value): &(&'static str, Value<'a>)| Member { key: Text::from(key), value };
    Value::Object(bump.alloc_slice_fill_iter(members.iter().map(member)))
}

#[cfg(test)]
mod tests {
    use crate::trace::messages::tests::told;

    fn chunks(chunks: &[&str]) -> Vec<String> {
        let list = told(&format!("[{}]", chunks.join(", ")));
        // A server sends the same, event by event.
        let sent: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
        let sent = told(&format!("event: x\n{sent}data: [DONE]\n\n"));
        assert_eq!(list, sent);
        list.unwrap()
    }

    fn chat(delta: &str, finish_reason: &str) -> String {
        format!(
            r#"{{"id": "c", "object": "chat.completion.chunk",
            "choices": [{{"index": 0, "delta": {delta}, "finish_reason": {finish_reason}}}]}}"#
        )
        .replace('\n', "")
    }

    #[test]
    fn chunks_of_chat_completions() {
        let deltas = [
            r#"{"role": "assistant", "content": "Let "}"#,
            r#"{"content": "me see."}"#,
            r#"{"tool_calls": [{"index": 0, "id": "1", "function": {"name": "a", "arguments": ""}}]}"#,
            r#"{"tool_calls": [{"index": 0, "function": {"arguments": "{\"x\": "}}]}"#,
            r#"{"tool_calls": [{"index": 1, "id": "2", "custom": {"name": "b", "input": "free"}}]}"#,
            r#"{"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}, {"index": 1, "custom": {"input": " text"}}]}"#,
        ];
        let mut all: Vec<String> = deltas.iter().map(|delta| chat(delta, "null")).collect();
        // What came of a call whose arguments were cut off is not known.
        let cut: Vec<&str> = all.iter().take(4).map(String::as_str).collect();
        assert_eq!(chunks(&cut), ["- > Let me see.", "1 a null = null"]);
        all.push(chat("{}", r#""tool_calls""#));
        all.push(r#"{"id": "c", "object": "chat.completion.chunk", "choices": []}"#.to_owned());
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        assert_eq!(chunks(&all), ["- > Let me see.", r#"1 a {"x": 1} = null"#, r#"2 b "free text" = null"#]);
    }

    #[test]
    fn whole_calls_with_one_index_are_apart() {
        let call = |id: &str, name: &str| {
            let function = format!(r#"{{"name": {name:?}, "arguments": "{{}}"}}"#);
            chat(&format!(r#"{{"tool_calls": [{{"index": 0, "id": {id:?}, "function": {function}}}]}}"#), "null")
        };
        let end = chat("{}", r#""stop""#);
        assert_eq!(chunks(&[&call("", "a"), &call("", "a"), &end]), ["- > -", "- a {} = null", "- a {} = null"]);
        assert_eq!(chunks(&[&call("1", "a"), &call("2", "b"), &end]), ["- > -", "1 a {} = null", "2 b {} = null"]);
    }

    #[test]
    fn events_of_anthropic() {
        let begin = r#"{"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}}"#;
        let events = [
            begin,
            r#"{"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}"#,
            r#"{"type": "ping"}"#,
            r#"{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "I "}}"#,
            r#"{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "look."}}"#,
            r#"{"type": "content_block_stop", "index": 0}"#,
            r#"{"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "1", "name": "a", "input": {}}}"#,
            r#"{"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": ""}}"#,
            r#"{"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{\"x\": [1"}}"#,
            r#"{"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "]}"}}"#,
            r#"{"type": "content_block_stop", "index": 1}"#,
            r#"{"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "2", "name": "b", "input": {}}}"#,
        ];
        let told = ["- > I look.", r#"1 a {"x": [1]} = null"#];
        assert_eq!(chunks(&events), [&told[..], &["2 b null = null"]].concat());
        let stopped = [&events[..], &[r#"{"type": "content_block_stop", "index": 2}"#]].concat();
        assert_eq!(chunks(&stopped), [&told[..], &["2 b {} = null"]].concat());
        let cut =
            [&events[..9], &events[10..11], &[r#"{"type": "message_delta", "delta": {"stop_reason": "max_tokens"}}"#]];
        assert_eq!(chunks(&cut.concat()), ["- > I look.", "1 a null = null"]);
        assert_eq!(chunks(&[&stopped[..6], &stopped[..6]].concat()), ["- > I look."]);
    }

    #[test]
    fn events_of_the_responses_api() {
        let call = r#"{"type": "function_call", "id": "fc", "call_id": "1", "name": "a", "arguments": "", "status": "in_progress"}"#;
        let whole = call.replace(r#""""#, r#""{}""#).replace("in_progress", "completed");
        let added = format!(r#"{{"type": "response.output_item.added", "output_index": 0, "item": {call}}}"#);
        let done = format!(r#"{{"type": "response.output_item.done", "output_index": 0, "item": {whole}}}"#);
        let created = r#"{"type": "response.created", "response": {"object": "response", "output": []}}"#;
        let completed = format!(r#"{{"type": "response.completed", "response": {{"output": [{whole}]}}}}"#);
        assert_eq!(chunks(&[created, &added]), ["- > -", "1 a null = null"]);
        assert_eq!(chunks(&[created, &added, &done]), ["- > -", "1 a {} = null"]);
        assert_eq!(chunks(&[created, &added, &done, &completed]), ["- > -", "1 a {} = null"]);
    }

    #[test]
    fn chunks_of_gemini() {
        let chunk = |parts: &str, more: &str| {
            format!(r#"{{"candidates": [{{"content": {{"parts": [{parts}], "role": "model"}}{more}, "index": 0}}]}}"#)
        };
        let all = [
            chunk(r#"{"text": "Hm", "thought": true}"#, ""),
            chunk(r#"{"text": "I "}"#, ""),
            chunk(r#"{"text": "look."}, {"functionCall": {"name": "a", "args": {"x": 1}}}"#, ""),
            chunk(r#"{"functionCall": {"name": "b"}}"#, r#", "finishReason": "STOP""#),
        ];
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let calls = chunks(&all);
        assert_eq!(calls.first().map(String::as_str), Some("- > I look."));
        assert_eq!(calls.len(), 3);
        // One alone is a response, and a whole one ends what goes before.
        assert_eq!(told(all[2]).unwrap().len(), 2);
        assert_eq!(chunks(&[&all[..], &all[1..2]].concat()), [&["- > I ".to_owned()], &calls[1..]].concat());
    }

    #[test]
    fn events_of_bedrock_cohere_and_ollama() {
        assert_eq!(
            chunks(&[
                r#"{"messageStart": {"role": "assistant"}}"#,
                r#"{"contentBlockDelta": {"delta": {"text": "I "}, "contentBlockIndex": 0}}"#,
                r#"{"contentBlockDelta": {"delta": {"text": "look."}, "contentBlockIndex": 0}}"#,
                r#"{"contentBlockStop": {"contentBlockIndex": 0}}"#,
                r#"{"contentBlockStart": {"start": {"toolUse": {"toolUseId": "1", "name": "a"}}, "contentBlockIndex": 1}}"#,
                r#"{"contentBlockDelta": {"delta": {"toolUse": {"input": "{\"x\""}}, "contentBlockIndex": 1}}"#,
                r#"{"contentBlockDelta": {"delta": {"toolUse": {"input": ": 1}"}}, "contentBlockIndex": 1}}"#,
                r#"{"messageStop": {"stopReason": "tool_use"}}"#,
                r#"{"metadata": {"usage": {}}}"#,
            ]),
            ["- > I look.", r#"1 a {"x": 1} = null"#]
        );
        assert_eq!(
            chunks(&[
                r#"{"type": "message-start", "delta": {"message": {"role": "assistant"}}}"#,
                r#"{"type": "tool-plan-delta", "delta": {"message": {"tool_plan": "I will"}}}"#,
                r#"{"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls": {"id": "1", "function": {"name": "a", "arguments": ""}}}}}"#,
                r#"{"type": "tool-call-delta", "index": 0, "delta": {"message": {"tool_calls": {"function": {"arguments": "{}"}}}}}"#,
                r#"{"type": "tool-call-end", "index": 0}"#,
                r#"{"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": "Done."}}}}"#,
                r#"{"type": "message-end", "delta": {"finish_reason": "TOOL_CALL"}}"#,
            ]),
            ["- > Done.", "1 a {} = null"]
        );
        assert_eq!(
            chunks(&[
                r#"{"model": "m", "message": {"role": "assistant", "content": "Do"}, "done": false}"#,
                r#"{"model": "m", "message": {"role": "assistant", "content": "ne.", "tool_calls": [{"function": {"name": "a", "arguments": {"x": 1}}}]}, "done": false}"#,
                r#"{"model": "m", "message": {"role": "assistant", "content": ""}, "done": true}"#,
            ]),
            ["- > Done.", r#"- a {"x": 1} = null"#]
        );
    }

    #[test]
    fn events_that_a_client_makes_of_the_others_say_nothing_new() {
        let begin = |block: &str| format!(r#"{{"type": "content_block_start", "index": 0, "content_block": {block}}}"#);
        let stop = |block: &str| format!(r#"{{"type": "content_block_stop", "index": 0, "content_block": {block}}}"#);
        let all = [
            r#"{"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}}"#.to_owned(),
            begin(r#"{"type": "tool_use", "id": "t1", "name": "f", "input": {}}"#),
            r#"{"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{\"x\": 1}"}}"#.to_owned(),
            r#"{"type": "input_json", "partial_json": "{\"x\": 1}", "snapshot": {"x": 1}}"#.to_owned(),
            r#"{"type": "text", "text": "no", "snapshot": "no"}"#.to_owned(),
            r#"{"type": "thinking", "thinking": "no", "snapshot": "no"}"#.to_owned(),
            r#"{"type": "signature", "signature": "s"}"#.to_owned(),
            r#"{"type": "citation", "citation": {}, "snapshot": []}"#.to_owned(),
            stop(r#"{"type": "tool_use", "id": "t1", "name": "f", "input": {"x": 1}}"#),
            r#"{"type": "message_delta", "delta": {"stop_reason": "tool_use"}}"#.to_owned(),
            r#"{"type": "message_stop", "message": {"id": "m", "role": "assistant", "content": []}}"#.to_owned(),
        ];
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        assert_eq!(chunks(&all), ["- > -", r#"t1 f {"x": 1} = null"#]);
    }

    #[test]
    fn errors_and_signs_of_life_belong_to_any_stream() {
        let call = r#"{"type": "function_call", "id": "fc", "call_id": "c1", "name": "a", "arguments": "{}"}"#;
        let done = format!(r#"{{"type": "response.output_item.done", "output_index": 0, "item": {call}}}"#);
        let completed = format!(r#"{{"type": "response.completed", "response": {{"output": [{call}]}}}}"#);
        let piece = |text: &str| chat(&format!(r#"{{"content": "{text}"}}"#), "null");
        let (first, last) = (piece("Good "), piece("day"));
        for other in [
            r#"{"type": "error", "code": "x"}"#,
            r#"{"type": "ping"}"#,
            r#"{"type": "keepalive"}"#,
            r#"{"error": {"message": "x"}}"#,
        ] {
            assert_eq!(chunks(&[&done, other, &completed]), ["- > -", "c1 a {} = null"], "{other}");
            assert_eq!(chunks(&[other, &first, other, &last, other]), ["- > Good day"], "{other}");
            // Around streams of different sources.
            let mixed = [other, &done, other, &first, &last, other].join(", ");
            assert_eq!(told(&format!("[{mixed}]")).unwrap(), ["- > Good day", "c1 a {} = null"], "{other}");
            let asked = r#"{"role": "user", "content": "hi"}"#;
            assert_eq!(told(&format!("[{asked}, {first}, {other}, {asked}]")).unwrap(), ["hi > Good ", "hi > -"]);
            // A response that is nothing else.
            let failed = format!(r#"{{"request": {{"messages": [{asked}]}}, "response": {other}}}"#);
            assert_eq!(told(&failed).unwrap(), ["hi > -"], "{other}");
        }
        let gemini = r#"{"candidates": [{"content": {"parts": [{"text": "Go"}], "role": "model"}, "index": 0}]}"#;
        assert_eq!(chunks(&[gemini, gemini, r#"{"error": {"code": 503}}"#]), ["- > GoGo"]);
    }

    #[test]
    fn the_last_call_of_a_message_that_became_too_long_may_be_cut() {
        let block = |name: &str, index: u8, input: &str| {
            let piece = format!(
                r#"{{"contentBlockDelta": {{"delta": {{"toolUse": {{"input": {input:?}}}}}, "contentBlockIndex": {index}}}}}"#
            );
            [
                format!(
                    r#"{{"contentBlockStart": {{"start": {{"toolUse": {{"toolUseId": "{name}", "name": "{name}"}}}}, "contentBlockIndex": {index}}}}}"#
                ),
                piece,
            ]
        };
        let bedrock = |input: &str, reason: &str| {
            let all = [
                block("a", 0, "").to_vec(),
                block("b", 1, input).to_vec(),
                vec![format!(r#"{{"messageStop": {{"stopReason": "{reason}"}}}}"#)],
            ];
            let all = all.concat();
            chunks(&all.iter().map(String::as_str).collect::<Vec<_>>())
        };
        let cohere = |input: &str, reason: &str| {
            let start = |name: &str, index: u8, input: &str| {
                format!(
                    r#"{{"type": "tool-call-start", "index": {index}, "delta": {{"message": {{"tool_calls": {{"id": "{name}", "function": {{"name": "{name}", "arguments": {input:?}}}}}}}}}}}"#
                )
            };
            let end = format!(r#"{{"type": "message-end", "delta": {{"finish_reason": "{reason}"}}}}"#);
            chunks(&[&start("a", 0, ""), &start("b", 1, input), &end])
        };
        let openai = |input: &str, reason: &str| {
            let start = |name: &str, index: u8, input: &str| {
                chat(
                    &format!(
                        r#"{{"tool_calls": [{{"index": {index}, "id": "{name}", "function": {{"name": "{name}", "arguments": {input:?}}}}}]}}"#
                    ),
                    "null",
                )
            };
            chunks(&[&start("a", 0, ""), &start("b", 1, input), &chat("{}", &format!("{reason:?}"))])
        };
        let told = |input: &str| vec!["- > -".to_owned(), "a a {} = null".to_owned(), format!("b b {input} = null")];
        for cut in ["", r#"{"x": "#] {
            assert_eq!(bedrock(cut, "max_tokens"), told("null"));
            assert_eq!(cohere(cut, "MAX_TOKENS"), told("null"));
            assert_eq!(openai(cut, "length"), told("null"));
        }
        for (bedrock_reason, cohere_reason, reason) in
            [("max_tokens", "MAX_TOKENS", "length"), ("tool_use", "TOOL_CALL", "tool_calls")]
        {
            assert_eq!(bedrock(r#"{"x": 1}"#, bedrock_reason), told(r#"{"x": 1}"#));
            assert_eq!(cohere(r#"{"x": 1}"#, cohere_reason), told(r#"{"x": 1}"#));
            assert_eq!(openai(r#"{"x": 1}"#, reason), told(r#"{"x": 1}"#));
        }
        assert_eq!(bedrock("", "tool_use"), told("{}"));
        assert_eq!(openai("", "tool_calls"), told("{}"));
    }
}
