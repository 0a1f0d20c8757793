//! What models, agents and traces were given and answered, as messages that [`crate::trace::messages`] reads: products
//! write them down as their SDK got them, in objects of many shapes, or as a text alone.

use super::row::{self, array, found, object};
use crate::{
    call::Reader,
    text::Text,
    trace::{
        decode,
        messages::{self, chat, content},
        span,
        spans::{Step, fill},
        turns::Listener,
    },
    value::{Member, Value},
};

/// Whose words they are, where they don't say it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    User,
    Assistant,
}

impl Speaker {
    fn role(self) -> &'static str {
        match self {
            Speaker::User => "user",
            Speaker::Assistant => "assistant",
        }
    }
}

const ROLE: &str = "role";
const CONTENT: &str = "content";
const PARTS: &str = "parts";
const TYPE: &str = "type";
const TOOL_CALLS: &str = "tool_calls";

/// How often something stands in something else.
const MOST_LAYERS: usize = 8;

/// The messages in a value; None if it plainly holds none. A text alone is none.
pub fn messages<'a>(reader: Reader<'a>, value: Value<'a>, speaker: Speaker) -> Option<Value<'a>> {
    let items = Saying { reader, speaker }.find(decode::decoded(reader, value), 0)?;
    Some(array(reader, &items))
}

/// The same of a model, whose words are messages even if nothing says so: a text, or data that it was to answer with.
pub fn by_model<'a>(reader: Reader<'a>, value: Value<'a>, speaker: Speaker) -> Option<Value<'a>> {
    let value = row::opened(reader, value);
    if let Some(messages) = messages(reader, value, speaker) {
        return Some(messages);
    }
    // Streams, and what else messages come in.
    if matches!(value, Value::Array(_) | Value::Object(_)) && messages::shape(reader, value).is_some() {
        return Some(value);
    }
    let text = match (plain(reader, value).or_else(|| main_text(value, speaker)), value) {
        (Some(text), _) => text,
        (None, Value::Null | Value::Array([]) | Value::Object([])) => return None,
        (None, Value::Text(text)) if speaker == Speaker::Assistant => text,
        // What a model was given may be anything, such as the names of files.
        (None, _) if speaker == Speaker::User => return None,
        (None, other) => span::json_text(other, reader.bump),
    };
    Some(array(reader, &[Saying { reader, speaker }.message(Value::Text(text))]))
}

/// What a model was asked or answered, among what else is known of it.
fn main_text<'a>(value: Value<'a>, speaker: Speaker) -> Option<Text<'a>> {
    let keys: &[&str] = match speaker {
        Speaker::User => &["prompt", "prompts", "input", "contents", "query", "question", "text"],
        // Data that a model was to answer with may have any other key.
        Speaker::Assistant => &["content", "text", "completion", "output_text"],
    };
    let said = if row::is_list(Some(value)) { value } else { found(value, keys)? };
    match said {
        Value::Text(text) => Some(text),
        Value::Array([Value::Text(text)]) => Some(*text),
        _ => None,
    }
}

/// A text, or what holds one and nothing else that is said: `{"input": "…"}`.
pub fn plain<'a>(reader: Reader<'a>, value: Value<'a>) -> Option<Text<'a>> {
    let text = match row::opened(reader, value) {
        Value::Text(text) => text,
        Value::Object(members) => {
            let is_wrapper = |member: &&Member<'a>| WRAPPERS.iter().any(|word| member.key.is(word));
            let is_beside = |member: &Member<'a>| is_wrapper(&member) || BESIDE.iter().any(|word| member.key.is(word));
            let mut wrapped = members.iter().filter(is_wrapper);
            match (wrapped.next(), wrapped.next()) {
                (Some(Member { value: Value::Text(text), .. }), None) if members.iter().all(is_beside) => *text,
                _ => return None,
            }
        }
        _ => return None,
    };
    Some(text).filter(|text| !text.is_blank())
}

const WRAPPERS: &[&str] = &["input", "output", "prompt", "text", "content"];
/// What stands beside the words of a user or an agent, such as those that were said before.
const BESIDE: &[&str] =
    &["chat_history", "intermediate_steps", "agent_scratchpad", "system", "model", "tools", "config", "stream"];

/// What a user said last, or an agent, as a text: said alone, or in messages. Null if it is something else.
pub fn last<'a>(reader: Reader<'a>, value: Option<Value<'a>>, speaker: Speaker) -> Value<'a> {
    let Some(value) = value else { return Value::Null };
    if let Some(text) = plain(reader, value) {
        return Value::Text(text);
    }
    let mut listener = Listener::default();
    match messages(reader, value, speaker).map(|found| messages::hear(reader, found, &mut listener)) {
        Some(Ok(())) => {}
        _ => return Value::Null,
    }
    let conversation = listener.finish();
    let said = conversation.turns().last().map(|(turn, _)| match speaker {
        Speaker::User => turn.input,
        Speaker::Assistant => turn.output,
    });
    said.unwrap_or(Value::Null)
}

/// Tell what something that is neither a tool nor a model was given and answered: messages, a text, or what it was.
pub fn tell<'a>(reader: Reader<'a>, step: &mut Step<'a>, input: Option<Value<'a>>, output: Option<Value<'a>>) {
    let of = |value: Option<Value<'a>>, speaker| {
        let Some(value) = value.map(|value| row::opened(reader, value)) else { return (None, None) };
        let found = messages(reader, value, speaker);
        let whole = match (plain(reader, value), value, found) {
            (Some(text), ..) => Value::Text(text),
            // A list alone may hold calls of nobody.
            (None, Value::Array(_), Some(found)) => found,
            (None, ..) => value,
        };
        (Some(whole), found)
    };
    let ((input, asked), (output, answered)) = (of(input, Speaker::User), of(output, Speaker::Assistant));
    fill(&mut step.asked, asked);
    fill(&mut step.answered, answered);
    fill(&mut step.input, input);
    fill(&mut step.output, output);
}

/// Do messages call a tool?
pub fn call_tools<'a>(reader: Reader<'a>, found: Value<'a>) -> bool {
    let mut listener = Listener::default();
    // What can't be read may hold calls.
    messages::hear(reader, found, &mut listener).is_err() || !listener.finish().spans().is_empty()
}

/// A message that calls tools, whose calls are in a list.
pub fn calling<'a>(reader: Reader<'a>, content: Value<'a>, calls: &[Value<'a>]) -> Value<'a> {
    let calls: Vec<_> = calls.iter().map(|call| as_call(reader, decode::decoded(reader, *call))).collect();
    let role = Value::Text(Text::from("assistant"));
    object(reader, &[(ROLE, role), (CONTENT, content), (TOOL_CALLS, array(reader, &calls))])
}

/// A call as those of chat messages are, with what came of it where that stands in it.
fn as_call<'a>(reader: Reader<'a>, call: Value<'a>) -> Value<'a> {
    let Some(name) = found(call, &["toolName", "tool_name", "name"]).filter(|_| call.get("function").is_none()) else {
        return call;
    };
    let keys = ["arguments", "args", "input", "inputParameters", "input_parameters", "parameters"];
    let arguments = found(call, &keys).unwrap_or(Value::Null);
    let id = found(call, &["toolCallId", "tool_call_id", "call_id", "id"]).unwrap_or(Value::Null);
    let output = found(call, &["output", "result"]).unwrap_or(Value::Null);
    object(reader, &[("id", id), ("name", name), ("arguments", arguments), ("output", output)])
}

#[derive(Clone, Copy)]
struct Saying<'a> {
    reader: Reader<'a>,
    speaker: Speaker,
}

impl<'a> Saying<'a> {
    fn find(self, value: Value<'a>, layer: usize) -> Option<Vec<Value<'a>>> {
        if layer > MOST_LAYERS {
            return None;
        }
        match value {
            Value::Array(items) => self.list(items, layer),
            Value::Object(_) => self.object(value, layer),
            _ => None,
        }
    }

    fn list(self, items: &'a [Value<'a>], layer: usize) -> Option<Vec<Value<'a>>> {
        let first = *items.first()?;
        // Of a batch the first; what is generated comes in lists of lists too.
        if let Value::Array(_) = first {
            return self.find(first, layer + 1);
        }
        if items.iter().all(is_bare_call) {
            return Some(vec![calling(self.reader, Value::Null, items)]);
        }
        if items.iter().all(is_block) || items.iter().all(is_block_of_bedrock) {
            return Some(vec![self.message(Value::Array(items))]);
        }
        if items.iter().all(is_choice) {
            return self.find(first, layer + 1);
        }
        if !items.iter().any(is_said) {
            return None;
        }
        let mut messages = Vec::with_capacity(items.len());
        items.iter().for_each(|item| self.mended(decode::decoded(self.reader, *item), &mut messages));
        Some(messages)
    }

    fn object(self, value: Value<'a>, layer: usize) -> Option<Vec<Value<'a>>> {
        if is_said(&value) {
            let mut messages = Vec::new();
            self.mended(value, &mut messages);
            return Some(messages);
        }
        if let Some(content) = value.get(CONTENT).filter(|content| row::is_list(content.get(PARTS))) {
            // An event of ADK says whose it is.
            let is_event = row::is_text(value.get("author"));
            return Some(vec![if is_event { value } else { content }]);
        }
        if row::is_list(value.get(PARTS)) {
            return Some(vec![value]);
        }
        if row::is_list(value.get("candidates")) {
            return Some(vec![value]);
        }
        if let [choice, ..] = row::list(value, &["choices"]) {
            let text = || Some(vec![self.message(choice.get("text").filter(|text| row::is_text(Some(*text)))?)]);
            return self.find(*choice, layer + 1).or_else(text);
        }
        let calls = row::list(value, &[TOOL_CALLS, "toolCalls"]);
        if calls.iter().any(|call| is_bare_call(&decode::decoded(self.reader, *call))) {
            let content = found(value, &[CONTENT, "text"]).unwrap_or(Value::Null);
            return Some(vec![calling(self.reader, content, calls)]);
        }
        // What a model of the Vercel AI SDK generated.
        if let Some(Value::Array(parts)) = value.get(CONTENT)
            && parts.iter().any(|part| row::is_text(part.get(TYPE)))
            && parts.iter().all(|part| part.get(ROLE).is_none())
        {
            return Some(vec![self.message(Value::Array(parts))]);
        }
        for key in HOLDERS {
            let Some(inner) = value.get(key).map(|inner| decode::decoded(self.reader, inner)) else { continue };
            if let Some(messages) = self.find(inner, layer + 1) {
                return Some(messages);
            }
        }
        is_generation(value).then(|| vec![self.message(value.get("text").unwrap_or(Value::Null))])
    }

    /// A message of whom it must be, with this content.
    fn message(self, content: Value<'a>) -> Value<'a> {
        object(self.reader, &[(ROLE, Value::Text(Text::from(self.speaker.role()))), (CONTENT, content)])
    }

    /// A message as it is, or as those whose dialect it is have it.
    fn mended(self, message: Value<'a>, messages: &mut Vec<Value<'a>>) {
        let reader = self.reader;
        let Value::Object(members) = message else {
            if let Value::Text(_) = message {
                messages.push(self.message(message));
            }
            return;
        };
        let is_result = row::is_word(message, ROLE, &["tool", "function"]);
        let blocks = message.get(CONTENT).filter(|content| row::is_text(Some(*content)) && !is_result);
        let blocks = blocks.and_then(|content| blocks_in(reader, content));
        if blocks.is_none() && chat::is_plain(&message) && !row::is_word(message, ROLE, &["assistant"]) {
            return messages.push(message);
        }
        if is_definition(message) {
            return;
        }
        // A call or the result of one, without a role or a type that says so.
        if row::is_text(message.get("call_id")) && message.get(TYPE).is_none() {
            return messages.push(match message.get("output") {
                Some(output) => object(
                    reader,
                    &[
                        (ROLE, Value::Text(Text::from("tool"))),
                        ("tool_call_id", message.get("call_id").unwrap_or(Value::Null)),
                        (CONTENT, output),
                    ],
                ),
                None => calling(reader, Value::Null, &[message]),
            });
        }
        let Some(Value::Text(role)) = message.get(ROLE) else { return messages.push(message) };
        // Those of other dialects.
        if [PARTS, TYPE, "blocks", "items", "meta"].iter().any(|key| message.get(key).is_some()) {
            return messages.push(message);
        }
        let mut fields: Vec<Member<'a>> = members.to_vec();
        let mut set = |key: &'static str, value: Value<'a>| match fields.iter_mut().find(|member| member.key.is(key)) {
            Some(member) => member.value = value,
            None => fields.push(Member { key: Text::from(key), value }),
        };
        let role = match () {
            () if ["human", "Human", "USER", "User"].iter().any(|word| role.is(word)) => "user",
            () if ["ai", "model", "Assistant", "ASSISTANT", "AI"].iter().any(|word| role.is(word)) => "assistant",
            () if ROLES.iter().any(|word| role.is(word)) => "",
            // It may be anybody's, such as an agent's.
            () if found(message, &[TOOL_CALLS]).is_some() => "assistant",
            () => "system",
        };
        if !role.is_empty() {
            set(ROLE, Value::Text(Text::from(role)));
        }
        // As LangChain's handlers write down what the provider sent.
        let sent = message.get("additional_kwargs").map_or(&[][..], |sent| row::list(sent, &[TOOL_CALLS]));
        if !sent.is_empty() && row::list(message, &[TOOL_CALLS]).is_empty() {
            set(TOOL_CALLS, array(reader, sent));
        }
        if let Some(content) = blocks.or(Some(Value::Null).filter(|_| message.get(CONTENT).is_none())) {
            set(CONTENT, content);
        }
        if !sent.is_empty() {
            fields.retain(|member| !member.key.is("additional_kwargs"));
        }
        messages.push(Value::Object(reader.bump.alloc_slice_copy(&fields)));
    }
}

const ROLES: &[&str] = &["user", "assistant", "tool", "function", "system", "developer"];

/// Under which keys messages stand, of which the first that has some counts.
const HOLDERS: &[&str] = &[
    "messages",
    "message",
    "new_message",
    "newMessage",
    "input_messages",
    "contents",
    "generations",
    "prompt",
    "prompts",
    "input",
    "output",
    "response",
    "result",
    "completion",
    "inputs",
    "outputs",
    "kwargs",
];

/// A message, or an item of OpenAI's: who says it, or of what type it is.
fn is_said(item: &Value<'_>) -> bool {
    let has_content = || item.get(CONTENT).is_some() || item.get("data").is_some() || item.get(TOOL_CALLS).is_some();
    row::is_text(item.get(ROLE)) && !row::is_object(item.get(PARTS))
        || is_dumped(*item)
        || row::is_word(*item, TYPE, MESSAGE_TYPES) && has_content()
        || row::is_word(*item, TYPE, ITEM_TYPES)
        || row::is_text(item.get("kind")) && row::is_list(item.get(PARTS))
        || row::is_text(item.get("call_id")) && (item.get("name").is_some() || item.get("output").is_some())
}

const MESSAGE_TYPES: &[&str] =
    &["human", "ai", "tool", "system", "AIMessageChunk", "HumanMessage", "AIMessage", "ToolMessage", "message"];

const ITEM_TYPES: &[&str] =
    &["function_call", "function_call_output", "custom_tool_call", "mcp_call", "web_search_call"];

/// A message of LangChain as it was dumped.
fn is_dumped(item: Value<'_>) -> bool {
    let is_message = |class: &Value<'_>| match class {
        Value::Text(class) => {
            let class = class.utf8();
            class.ends_with(b"Message") || class.ends_with(b"MessageChunk")
        }
        _ => false,
    };
    item.get("lc").is_some()
        && matches!(item.get("id"), Some(Value::Array(path)) if path.last().is_some_and(is_message))
}

/// A call that stands where a message could.
fn is_bare_call(item: &Value<'_>) -> bool {
    if item.get(ROLE).is_some() || item.get(CONTENT).is_some() || item.get("output").is_some() {
        return false;
    }
    let has_arguments = || ["arguments", "args", "input"].iter().any(|key| item.get(key).is_some());
    let is_typed = row::is_text(item.get(TYPE));
    let is_of_call = row::is_word(*item, TYPE, &["function", "tool_call", "tool-call"]);
    row::is_text(item.get("toolName"))
        || row::is_object(item.get("function")) && (!is_typed || is_of_call) && is_called(item.get("function"))
        || row::is_text(item.get("name")) && has_arguments() && (!is_typed || is_of_call)
}

/// Not the definition of a function.
fn is_called(function: Option<Value<'_>>) -> bool {
    function.is_some_and(|function| function.get("arguments").is_some() || function.get("parameters").is_none())
}

/// A block of a content, of whoever speaks.
fn is_block(item: &Value<'_>) -> bool {
    item.get(ROLE).is_none()
        && match item.get(TYPE) {
            Some(Value::Text(kind)) => {
                content::is_known(kind)
                    || ["tool_use", "thinking", "redacted_thinking"].iter().any(|word| kind.is(word))
            }
            _ => false,
        }
}

/// A block of Bedrock's, which is told by its one key.
fn is_block_of_bedrock(item: &Value<'_>) -> bool {
    match item {
        Value::Object([Member { key, .. }]) => {
            ["text", "toolUse", "toolResult", "reasoningContent", "json"].iter().any(|word| key.is(word))
        }
        _ => false,
    }
}

/// The blocks of a content that was written as JSON text, as events of Strands are.
fn blocks_in<'a>(reader: Reader<'a>, content: Value<'a>) -> Option<Value<'a>> {
    match decode::decoded(reader, content) {
        Value::Array(blocks) if !blocks.is_empty() && blocks.iter().all(is_block_of_bedrock) => {
            Some(Value::Array(blocks))
        }
        _ => None,
    }
}

/// What a tool was given and which call it was, where events stand for it:
/// `[{"role": "tool", "content": …, "id": …}]`.
pub fn given_in_event<'a>(reader: Reader<'a>, value: Value<'a>) -> Option<(Value<'a>, Option<Text<'a>>)> {
    let event = match value {
        Value::Array([event]) => *event,
        other => other,
    };
    let content = event.get(CONTENT).filter(|_| row::is_word(event, ROLE, &["tool"]))?;
    Some((content, row::id(reader, event, &["id", "tool_call_id"])))
}

/// What it answered: `{"message": …, "id": …}`, with texts in blocks of their own.
pub fn answered_in_event<'a>(reader: Reader<'a>, value: Value<'a>) -> Option<Value<'a>> {
    let event = match value {
        Value::Array([event]) => *event,
        other => other,
    };
    let Value::Object(members) = event else { return None };
    let keys = ["message", "id", "role", "index", "finish_reason"];
    let is_event = members.len() > 1 && members.iter().all(|member| keys.iter().any(|key| member.key.is(key)));
    let message = event.get("message").filter(|_| is_event)?;
    let Some(Value::Array(blocks)) = blocks_in(reader, message) else { return Some(message) };
    let text = |block: &Value<'a>| match block.get("text") {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    };
    match blocks.iter().map(text).collect::<Option<Vec<_>>>() {
        Some(texts) => Some(Value::Text(Text::joined(&texts, "\n", reader.bump))),
        None => Some(Value::Array(blocks)),
    }
}

/// One of the answers of a model, of which only the first one was given.
fn is_choice(item: &Value<'_>) -> bool {
    row::is_object(item.get("message")) && item.get(ROLE).is_none() || is_generation(*item)
}

/// What LangChain calls an answer that is a text.
fn is_generation(item: Value<'_>) -> bool {
    row::is_text(item.get("text")) && item.get("generation_info").is_some()
}

/// LangChain's handler of Langfuse writes down what tools there are as messages of the tool.
fn is_definition(message: Value<'_>) -> bool {
    let Some(content) = message.get(CONTENT).filter(|_| row::is_word(message, ROLE, &["tool"])) else { return false };
    row::is_word(content, TYPE, &["function"]) && row::is_object(content.get("function"))
        || row::is_object(content.get("input_schema"))
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;

    use super::*;
    use crate::show;

    /// What the messages of a model say: questions, texts and calls with what came of them.
    fn told(text: &str, speaker: Speaker) -> Vec<String> {
        let bump = Bump::new();
        let (value, reader) = Reader::parse(text.as_bytes(), &bump).unwrap();
        let Some(found) = by_model(reader, value, speaker) else { return Vec::new() };
        let mut listener = Listener::default();
        messages::hear(reader, found, &mut listener).unwrap();
        let said = |value: Value<'_>| match value {
            Value::Text(text) => show::plain(text),
            _ => "-".to_owned(),
        };
        let conversation = listener.finish();
        let mut lines = Vec::new();
        for (turn, spans) in conversation.turns() {
            lines.push(format!("{} > {}", said(turn.input), said(turn.output)));
            for span in spans {
                let id = span.id.map_or("-".to_owned(), show::plain);
                let (input, output) = (show::json_text(span.input), show::json_text(span.output));
                lines.push(format!("{id} {} {input} = {output}", show::plain(span.name)));
            }
        }
        lines
    }

    const CALL: &str = r#"1 a {"x": 1} = null"#;

    #[test]
    fn answers_of_models_are_read_in_all_shapes() {
        let chat = r#"{"role": "assistant", "content": "A",
            "tool_calls": [{"id": "1", "function": {"name": "a", "arguments": "{\"x\": 1}"}}]}"#;
        let lc = r#"{"lc": 1, "type": "constructor", "id": ["langchain", "AIMessage"],
            "kwargs": {"content": "A", "type": "ai", "tool_calls": [{"name": "a", "args": {"x": 1}, "id": "1"}]}}"#;
        for text in [
            chat.to_owned(),
            format!("[{chat}]"),
            format!("{:?}", format!("[{chat}]")),
            format!(r#"{{"messages": [{chat}]}}"#),
            format!(r#"{{"choices": [{{"index": 0, "message": {chat}}}]}}"#),
            format!(r#"[{{"index": 0, "message": {chat}, "finish_reason": "stop"}}]"#),
            format!(r#"{{"generations": [[{{"text": "A", "generation_info": {{}}, "message": {lc}}}]],
                "llm_output": null}}"#),
            format!(r#"{{"output": {lc}}}"#),
            r#"{"role": "assistant", "content": "A", "additional_kwargs": {"tool_calls": [{"id": "1",
                "function": {"name": "a", "arguments": {"x": 1}}}]}}"#.to_owned(),
            r#"[{"role": "assistant", "parts": [{"type": "text", "content": "A"}, {"type": "reasoning", "content": "…"},
                {"type": "tool_call", "id": "1", "name": "a", "arguments": {"x": 1}}],
                "finish_reason": "tool_call"}]"#.to_owned(),
            r#"{"role": "assistant", "content": [{"type": "text", "text": "A"},
                {"type": "tool_use", "id": "1", "name": "a", "input": {"x": 1}}]}"#
                .to_owned(),
            r#"{"id": "msg", "type": "message", "role": "assistant", "stop_reason": "tool_use",
                "content": [{"type": "text", "text": "A"},
                {"type": "tool_use", "id": "1", "name": "a", "input": {"x": 1}}]}"#
                .to_owned(),
            r#"{"output": {"message": {"role": "assistant", "content": [{"text": "A"},
                {"toolUse": {"toolUseId": "1", "name": "a", "input": {"x": 1}}}]}}, "stopReason": "tool_use"}"#
                .to_owned(),
            r#"{"content": [{"type": "text", "text": "A"},
                {"type": "tool-call", "toolCallId": "1", "toolName": "a", "input": "{\"x\": 1}"}],
                "finishReason": "tool-calls"}"#
                .to_owned(),
            r#"{"text": "A", "toolCalls": [{"toolCallId": "1", "toolName": "a", "args": {"x": 1}}],
                "usage": {}}"#.to_owned(),
            r#"{"kind": "response", "parts": [{"part_kind": "text", "content": "A"},
                {"part_kind": "tool-call", "tool_name": "a", "args": "{\"x\": 1}", "tool_call_id": "1"}]}"#
                .to_owned(),
            r#"{"role": "assistant", "blocks": [{"block_type": "text", "text": "A"}],
                "additional_kwargs": {"tool_calls":
                [{"id": "1", "type": "function", "function": {"name": "a", "arguments": "{\"x\": 1}"}}]}}"#
                .to_owned(),
            r#"{"message":
                "[{\"text\": \"A\"}, {\"toolUse\": {\"toolUseId\": \"1\", \"name\": \"a\", \"input\": {\"x\": 1}}}]",
                "finish_reason": "tool_use"}"#
                .to_owned(),
            r#"[{"choices": [{"index": 0, "delta": {"role": "assistant", "content": "A", "tool_calls": [{"index": 0,
                "id": "1",
                "function": {"name": "a", "arguments": ""}}]}}]}, {"choices": [{"index": 0,
                "delta": {"tool_calls": [{"index": 0, "function": {"arguments": "{\"x\": 1}"}}]}}]}]"#
                .to_owned(),
            r#"[{"type": "text", "text": "A"}, {"type": "tool_use", "id": "1", "name": "a",
                "input": {"x": 1}}]"#.to_owned(),
            r#"{"content": {"parts": [{"text": "A"}, {"function_call": {"id": "1", "name": "a", "args": {"x": 1}}}],
                "role": "model"}, "finish_reason": "STOP"}"#.to_owned(),
            r#"{"content": {"parts": [{"text": "A"}, {"function_call": {"id": "1", "name": "a", "args": {"x": 1}}}],
                "role": "model"}, "author": "b", "invocation_id": "e"}"#.to_owned(),
            r#"{"content": "A",
                "tool_calls": ["{\"id\": \"1\", \"name\": \"a\", \"arguments\": \"{\\\"x\\\": 1}\"}"]}"#.to_owned(),
        ] {
            assert_eq!(told(&text, Speaker::Assistant), ["- > A", CALL], "{text}");
        }
        for text in [
            r#"[{"toolCallId": "1", "toolName": "a", "input": "{\"x\": 1}"}]"#,
            r#""{\"call_id\": \"1\", \"name\": \"a\", \"arguments\": \"{\\\"x\\\": 1}\"}""#,
            r#"{"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "a",
                "arguments": "{\"x\": 1}"}}]}"#,
            r#"{"object": "response", "output": [{"type": "function_call", "call_id": "1", "name": "a",
                "arguments": "{\"x\": 1}"}]}"#,
        ] {
            assert_eq!(told(text, Speaker::Assistant), ["- > -", CALL], "{text}");
        }
        for text in [
            r#""A""#,
            r#"{"output": "A"}"#,
            r#"{"generations": [[{"text": "A", "generation_info": null}]]}"#,
            r#"{"content": "A", "usage": {}}"#,
            r#"{"choices": [{"text": "A", "index": 0, "logprobs": null}]}"#,
            r#"{"output": "A", "intermediate_steps": []}"#,
        ] {
            assert_eq!(told(text, Speaker::Assistant), ["- > A"], "{text}");
        }
        assert_eq!(told(r#"{"animal": "cat"}"#, Speaker::Assistant), [r#"- > {"animal": "cat"}"#]);
        for nothing in ["null", "{}", "[]", r#""""#] {
            assert!(told(nothing, Speaker::Assistant).is_empty(), "{nothing}");
        }
    }

    #[test]
    fn questions_to_models_are_read_in_all_shapes() {
        let chat = r#"{"role": "user", "content": "Q"}"#;
        for text in [
            r#""Q""#.to_owned(),
            format!("[{chat}]"),
            format!(r#"{{"model": "m", "messages": [{chat}]}}"#),
            format!(r#"{{"messages": [[{chat}]]}}"#),
            r#"{"prompt": "Q"}"#.to_owned(),
            r#"{"messages": [[{"lc": 1, "type": "constructor", "id": ["langchain", "HumanMessage"],
                "kwargs": {"content": "Q"}}]]}"#
                .to_owned(),
            r#"{"contents": [{"parts": [{"text": "Q"}], "role": "user"}], "model": "gemini"}"#.to_owned(),
            r#"{"user_id": "u", "new_message": {"parts": [{"text": "Q"}], "role": "user"}}"#.to_owned(),
            r#"[{"role": "human", "content": "Q"}]"#.to_owned(),
            r#"{"input": "Q", "chat_history": [{"type": "human", "content": "old"}]}"#.to_owned(),
            r#"{"model": "m", "input": "Q", "instructions": "I"}"#.to_owned(),
            r#"{"prompts": ["Q"]}"#.to_owned(),
            r#"[{"role": "user", "content": "[{\"text\": \"Q\"}]"}]"#.to_owned(),
            r#"["Q"]"#.to_owned(),
            r#"[{"role": "placeholder", "content": "…"}, {"role": "user", "content": [{"type": "text",
                "text": "Q"}]}]"#
                .to_owned(),
        ] {
            assert_eq!(told(&text, Speaker::User), ["Q > -"], "{text}");
        }
        for nothing in [r#"{"x": "Q"}"#, r#"{"args": ["Q"], "kwargs": {}}"#, r#"{"input": {"a": 1}}"#] {
            assert!(told(nothing, Speaker::User).is_empty(), "{nothing}");
        }
    }

    #[test]
    fn results_and_definitions_of_tools_in_questions() {
        let text = r#"[{"role": "user", "content": "Q"},
            {"role": "assistant", "content": "", "additional_kwargs": {"tool_calls": [{"id": "1",
            "function": {"name": "a",
                "arguments": {"x": 1}}}], "refusal": null}},
            {"role": "tool", "content": [{"u": 1}], "tool_call_id": "1"},
            {"role": "tool", "content": {"type": "function", "function": {"name": "a", "parameters": {}}}}]"#;
        assert_eq!(told(text, Speaker::User), ["Q > -", r#"1 a {"x": 1} = [{"u": 1}]"#]);
        let text = r#"[{"type": "message", "role": "user", "content": "Q"}, {"call_id": "1", "name": "a",
            "arguments": "{\"x\": 1}"},
            {"role": "tool", "call_id": "1", "output": "R"}]"#;
        assert_eq!(told(text, Speaker::User), ["Q > -", r#"1 a {"x": 1} = "R""#]);
        let text = r#"[{"role": "user", "parts": [{"type": "text", "content": "Q"}]},
            {"role": "assistant", "parts": [{"type": "tool_call", "id": "1", "name": "a", "arguments": {"x": 1}}]},
            {"role": "user", "parts": [{"type": "tool_call_response", "id": "1", "result": "R"}]}]"#;
        assert_eq!(told(text, Speaker::User), ["Q > -", r#"1 a {"x": 1} = "R""#]);
    }

    #[test]
    fn the_last_words_are_a_text() {
        let last = |text: &str, speaker| {
            let bump = Bump::new();
            let (value, reader) = Reader::parse(text.as_bytes(), &bump).unwrap();
            show::json_text(last(reader, Some(value), speaker))
        };
        for (text, speaker, wanted) in [
            (r#""Q""#, Speaker::User, r#""Q""#),
            (r#"{"input": "Q"}"#, Speaker::User, r#""Q""#),
            (r#""{\"prompt\": \"Q\"}""#, Speaker::User, r#""Q""#),
            (r#"{"x": "Q"}"#, Speaker::User, "null"),
            (r#"[{"role": "system", "content": "S"}, {"role": "user", "content": "Q"}]"#, Speaker::User, r#""Q""#),
            (
                r#"{"messages": [{"type": "human", "content": "Q"}, {"type": "ai", "content": "A"}]}"#,
                Speaker::Assistant,
                r#""A""#,
            ),
            (r#"[{"toolCallId": "1", "toolName": "a", "input": {}}]"#, Speaker::Assistant, "null"),
            (r#"{"joke": "J"}"#, Speaker::Assistant, "null"),
            ("5", Speaker::Assistant, "null"),
        ] {
            assert_eq!(last(text, speaker), wanted, "{text}");
        }
    }

    #[test]
    fn nesting_ends() {
        let text = format!("{}{{}}{}", r#"{"input": "#.repeat(100), "}".repeat(100));
        assert!(told(&text, Speaker::User).is_empty());
    }
}
