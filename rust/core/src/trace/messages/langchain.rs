//! LangChain's messages, and with them LangGraph's state, in each way in which they are written down: `dumpd`
//! (`{"lc": 1, "id": […, "AIMessage"], "kwargs": {…}}`), `messages_to_dict` (`{"type": "ai", "data": {…}}`) and
//! `model_dump` (`{"type": "ai", …}`). `convert_to_openai_messages` makes chat messages.

use super::{
    Dialect, blocks,
    content::content_text,
    parts::{self, each_of, found, not_an_object, one_word},
    responses,
    stream::{is_for_length, is_object},
};
use crate::{
    call::Reader,
    compare,
    error::{Error, one_of},
    show,
    text::Text,
    trace::{
        span::{Details, Span},
        turns::{Answer, Listener},
    },
    value::Value,
};

pub const DIALECT: Dialect = Dialect { word: "langchain", name: "LangChain messages", fits, read };

const TYPE: &str = "type";
const LC: &str = "lc";
const DATA: &str = "data";
const KWARGS: &str = "kwargs";
const CONTENT: &str = "content";
const NAME: &str = "name";
const ROLE: &str = "role";
const TOOL_CALLS: &str = "tool_calls";
/// Calls whose arguments are no JSON.
const INVALID_TOOL_CALLS: &str = "invalid_tool_calls";
/// What the provider sent, as it sent it.
const ADDITIONAL: &str = "additional_kwargs";
const FUNCTION_CALL: &str = "function_call";

/// The word for each kind of message, and its class. A chunk of a stream has the name of its class for a word.
const KINDS: &[(&str, &str, Kind)] = &[
    ("human", "HumanMessage", Kind::Human),
    ("ai", "AIMessage", Kind::Ai),
    ("tool", "ToolMessage", Kind::Tool),
    ("function", "FunctionMessage", Kind::Tool),
    ("system", "SystemMessage", Kind::System),
    ("developer", "DeveloperMessage", Kind::System),
    ("chat", "ChatMessage", Kind::Chat),
    // Takes another message out of a graph's state.
    ("remove", "RemoveMessage", Kind::System),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Human,
    Ai,
    Tool,
    /// Says nothing that belongs to a turn.
    System,
    /// Has a role, as chat messages do.
    Chat,
}

impl Kind {
    fn of(word: Text<'_>) -> Option<Kind> {
        let word = show::plain(word);
        let class = word.strip_suffix("Chunk").unwrap_or(&word);
        KINDS.iter().find(|(kind, name, _)| *kind == word || *name == class).map(|(_, _, kind)| *kind)
    }

    /// Unknown ones may make calls in a way that isn't read.
    fn read(word: Option<Value<'_>>) -> Result<Kind, Error> {
        let words: Vec<_> = KINDS.iter().map(|(word, ..)| *word).collect();
        match word {
            Some(Value::Text(found)) => Kind::of(found).ok_or_else(|| {
                let found = show::in_a_sentence(&show::storable(found));
                Error::value(one_of("the type of a LangChain message", &found, &words))
            }),
            other => {
                let found = other.map_or("nothing", Value::kind);
                let message = format!("the type of a LangChain message is one of {}, not {found}", words.join(", "));
                Err(Error::wrong_type(message))
            }
        }
    }
}

fn fits(messages: &[Value<'_>]) -> bool {
    let is_message = |message: &Value<'_>| {
        let kind = match message.get(TYPE) {
            Some(Value::Text(word)) => Kind::of(word),
            _ => None,
        };
        match kind {
            _ if is_dumped(*message) => true,
            // Other logs have words such as "system" for a type too.
            Some(Kind::System) | None => matches!(message.get(DATA), Some(Value::Object(_))) && kind.is_some(),
            Some(_) => found(*message, &[DATA, CONTENT, TOOL_CALLS]).is_some(),
        }
    };
    messages.iter().any(is_message)
}

fn is_dumped(message: Value<'_>) -> bool {
    matches!(message.get(LC), Some(Value::Int(1))) && message.get("id").is_some()
}

fn read<'a>(reader: Reader<'a>, messages: &[Value<'a>], listener: &mut Listener<'a>) -> Result<(), Error> {
    let mut index = 0;
    for run in messages.chunk_by(|a, b| are_of_one_stream(*a, *b)) {
        match run {
            [message] => open(*message)
                .and_then(|message| message.at(|kind, fields| tell(reader, kind, fields, listener)))
                .map_err(|error| error.at_index(index))?,
            chunks => stream(reader, chunks, index, listener)?,
        }
        index += run.len();
    }
    Ok(())
}

/// A message, whichever way it is written down: what it is, what it holds, and the key under which that stands.
struct Opened<'a> {
    kind: Kind,
    fields: Value<'a>,
    key: Option<&'static str>,
}

impl<'a> Opened<'a> {
    fn at(self, read: impl FnOnce(Kind, Value<'a>) -> Result<(), Error>) -> Result<(), Error> {
        read(self.kind, self.fields).map_err(|error| match self.key {
            Some(key) => error.at_key(Text::from(key)),
            None => error,
        })
    }
}

fn open<'a>(message: Value<'a>) -> Result<Opened<'a>, Error> {
    if !matches!(message, Value::Object(_)) {
        return Err(not_an_object("a LangChain message", message));
    }
    let kind = |key: &'static str, word| Kind::read(word).map_err(|error| error.at_key(Text::from(key)));
    if is_dumped(message) {
        let Some(fields @ Value::Object(_)) = message.get(KWARGS) else {
            let message = "a message that could not be dumped; only its repr is known";
            return Err(Error::value(message).at_key(Text::from(KWARGS)));
        };
        return Ok(Opened { kind: kind("id", class_of(message))?, fields, key: Some(KWARGS) });
    }
    let kind = kind(TYPE, message.get(TYPE))?;
    match message.get(DATA) {
        Some(fields @ Value::Object(_)) => Ok(Opened { kind, fields, key: Some(DATA) }),
        _ => Ok(Opened { kind, fields: message, key: None }),
    }
}

/// The last part of a dumped object's id.
fn class_of(message: Value<'_>) -> Option<Value<'_>> {
    match message.get("id") {
        Some(Value::Array(path)) => path.last().copied(),
        other => other,
    }
}

/// Are these chunks of one message?
fn are_of_one_stream(a: Value<'_>, b: Value<'_>) -> bool {
    match (stream_of(a), stream_of(b)) {
        (Some(a), Some(b)) => a == b,
        _ => false,
    }
}

fn stream_of<'a>(message: Value<'a>) -> Option<Text<'a>> {
    let word = if is_dumped(message) { class_of(message) } else { message.get(TYPE) };
    match word {
        Some(Value::Text(word)) if word.is("AIMessageChunk") => parts::text(open(message).ok()?.fields, &["id"]),
        _ => None,
    }
}

/// Put together what comes in chunks: texts, and calls of which the first has the name.
fn stream<'a>(
    reader: Reader<'a>,
    chunks: &[Value<'a>],
    first: usize,
    listener: &mut Listener<'a>,
) -> Result<(), Error> {
    let mut stream = Stream { reader, calls: Vec::new(), texts: Vec::new(), is_open: false, is_cut: false };
    for (index, chunk) in (first..).zip(chunks) {
        let read = open(*chunk).and_then(|message| message.at(|_, fields| stream.chunk(fields)));
        read.map_err(|error| error.at_index(index))?;
    }
    stream.finish(listener).map_err(|error| error.at_index(first))
}

struct Stream<'a> {
    reader: Reader<'a>,
    calls: Vec<Begun<'a>>,
    texts: Vec<Text<'a>>,
    /// Did the last call come last, and did nobody say why the message ended?
    is_open: bool,
    /// Did the message end since it became too long?
    is_cut: bool,
}

/// A call of which more may come; or calls and results that came as a whole, and so have no index.
struct Begun<'a> {
    index: Option<Value<'a>>,
    heard: Listener<'a>,
    is_in_pieces: bool,
    arguments: Vec<Text<'a>>,
}

impl<'a> Stream<'a> {
    fn chunk(&mut self, fields: Value<'a>) -> Result<(), Error> {
        let text = said(self.reader, fields.get(CONTENT));
        let reason = reason(fields);
        self.is_cut |= reason.is_some_and(is_for_length);
        if text.is_some_and(|text| !text.is_empty()) {
            self.is_open = false;
        }
        self.texts.extend(text);
        if any_of(fields, CALL_CHUNKS) {
            each_of(fields, CALL_CHUNKS, |item| self.piece(fields, item))?;
        } else {
            self.whole(fields)?;
        }
        self.is_open &= reason.is_none() && !is_last(fields);
        Ok(())
    }

    fn piece(&mut self, fields: Value<'a>, piece: Value<'a>) -> Result<(), Error> {
        let index = found(piece, &["index"]).map(|(_, index)| index);
        let is_same = |call: &&mut Begun<'a>| match (call.index, index) {
            (Some(a), Some(b)) => compare::equal(a, b),
            (Some(_), None) => true,
            (None, None) => call.is_in_pieces,
            (None, Some(_)) => false,
        };
        let arguments = parts::text(piece, &["args", "partial_json"]);
        match (parts::text(piece, &[NAME]), self.calls.iter_mut().rev().find(is_same)) {
            (None, Some(call)) => call.arguments.extend(arguments),
            (None, None) => return Err(Error::value("a piece of a tool call whose name did not come before it")),
            (Some(name), _) => {
                let id = parts::id(self.reader, piece, &["id"]);
                let mut heard = Listener::default();
                heard.called(Span { id, agent: parts::text(fields, &[NAME]), ..Span::new(name) });
                let arguments = arguments.into_iter().collect();
                self.calls.push(Begun { index, heard, is_in_pieces: true, arguments });
            }
        }
        self.is_open = true;
        Ok(())
    }

    /// A chunk without pieces of calls may have whole ones, or blocks in which calls of the provider's own tools begin or go
    /// on.
    fn whole(&mut self, fields: Value<'a>) -> Result<(), Error> {
        let mut heard = Listener::default();
        calls(self.reader, fields, &mut heard)?;
        if heard.last_call().is_some() {
            let blocks = blocks::of(fields.get(CONTENT));
            let begun = blocks.iter().rev().find(|block| blocks::is_call(**block) || is_server_call(**block));
            let index = begun.and_then(|block| found(*block, &["index"])).map(|(_, index)| index);
            self.is_open = index.is_some();
            self.calls.push(Begun { index, heard, is_in_pieces: false, arguments: Vec::new() });
        } else {
            self.calls.push(Begun { index: None, heard, is_in_pieces: false, arguments: Vec::new() });
        }
        if !matches!(fields.get(CONTENT), Some(Value::Array(_))) {
            return Ok(());
        }
        each_of(fields, CONTENT, |block| match parts::word(block, TYPE, CHUNKS) {
            Some(_) => self.piece(fields, block),
            None => Ok(()),
        })
    }

    fn finish(mut self, listener: &mut Listener<'a>) -> Result<(), Error> {
        let last = self.calls.iter_mut().rposition(|call| call.heard.last_call().is_some());
        for (place, mut call) in self.calls.into_iter().enumerate() {
            let may_be_cut = (self.is_open || self.is_cut) && last == Some(place);
            if let Some(span) = call.heard.last_call() {
                if call.is_in_pieces || !call.arguments.is_empty() {
                    let text = Text::joined(&call.arguments, "", self.reader.bump);
                    span.input = if may_be_cut && !is_object(text, self.reader.bump) {
                        Value::Null
                    } else {
                        parts::arguments(self.reader, Value::Text(text))?
                    };
                } else if may_be_cut && call.index.is_some() && matches!(span.input, Value::Object([])) {
                    span.input = Value::Null;
                }
            }
            listener.append(call.heard);
        }
        listener.said(Some(Text::joined(&self.texts, "", self.reader.bump)));
        Ok(())
    }
}

/// Why a message ended, in the words of its provider.
fn reason(fields: Value<'_>) -> Option<Text<'_>> {
    let metadata = fields.get("response_metadata")?;
    parts::text(metadata, &["finish_reason", "stop_reason", "stopReason", "finishReason", "done_reason"])
}

fn is_last(chunk: Value<'_>) -> bool {
    parts::word(chunk, "chunk_position", &["last"]).is_some()
}

/// Was the last call of a message cut off? What was written of it is no JSON, and where it is a chunk, LangChain made of
/// that what it could.
fn is_cut<'a>(reader: Reader<'a>, fields: Value<'a>, last: &Span<'a>) -> bool {
    let reason = reason(fields);
    let is_for_length = reason.is_some_and(is_for_length);
    let piece = match fields.get(CALL_CHUNKS) {
        Some(Value::Array(pieces)) => pieces.last().filter(|piece| parts::text(**piece, &[NAME]) == Some(last.name)),
        _ => None,
    };
    match piece.and_then(|piece| piece.get("args")) {
        Some(Value::Text(text)) => {
            (is_for_length || reason.is_none() && !is_last(fields)) && !is_object(text, reader.bump)
        }
        _ => is_for_length && matches!(last.input, Value::Text(_)),
    }
}

const CALL_CHUNKS: &str = "tool_call_chunks";

fn is_server_call(block: Value<'_>) -> bool {
    parts::word(block, TYPE, &[SERVER_CALL]).is_some()
}

fn tell<'a>(reader: Reader<'a>, kind: Kind, fields: Value<'a>, listener: &mut Listener<'a>) -> Result<(), Error> {
    let content = fields.get(CONTENT);
    let kind = match kind {
        Kind::Chat => match one_word(fields, ROLE, "the role of a LangChain message", ROLES)? {
            "user" | "human" => Kind::Human,
            "assistant" | "ai" => Kind::Ai,
            _ => Kind::System,
        },
        kind => kind,
    };
    match kind {
        Kind::Human => listener.asked(content_text(content, reader.bump)),
        Kind::Ai => {
            let mut heard = Listener::default();
            calls(reader, fields, &mut heard)?;
            if let Some(span) = heard.last_call()
                && is_cut(reader, fields, span)
            {
                span.input = Value::Null;
            }
            listener.append(heard);
            listener.said(said(reader, content));
        }
        Kind::Tool => listener.answered(answer(reader, fields, &[CONTENT])?),
        Kind::System | Kind::Chat => {}
    }
    Ok(())
}

const ROLES: &[&str] = &["user", "human", "assistant", "ai", "system", "developer"];

/// The calls of an AI message, which may stand in several places of it: as LangChain read them, as the provider sent them,
/// and in its content.
fn calls<'a>(reader: Reader<'a>, fields: Value<'a>, listener: &mut Listener<'a>) -> Result<(), Error> {
    let agent = parts::text(fields, &[NAME]);
    let call = |listener: &mut Listener<'a>, call| {
        listener.called(Span { agent, ..Span::read(reader, call)? });
        Ok(())
    };
    each_of(fields, TOOL_CALLS, |item| call(listener, item))?;
    each_of(fields, INVALID_TOOL_CALLS, |item| call(listener, item))?;
    let mut are_read = any_of(fields, TOOL_CALLS) || any_of(fields, INVALID_TOOL_CALLS);
    if let (false, Some(sent)) = (are_read, fields.get(ADDITIONAL)) {
        let at = |error: Error| error.at_key(Text::from(ADDITIONAL));
        each_of(sent, TOOL_CALLS, |item| call(listener, item)).map_err(at)?;
        are_read = any_of(sent, TOOL_CALLS);
        if let (false, Some((key, function))) = (are_read, found(sent, &[FUNCTION_CALL])) {
            call(listener, function).map_err(|error| at(error.at_key(Text::from(key))))?;
            are_read = true;
        }
    }
    let Some(Value::Array(_)) = fields.get(CONTENT) else { return Ok(()) };
    each_of(fields, CONTENT, |block| {
        let Some(kind) = parts::text(block, &[TYPE]) else { return Ok(()) };
        if REPEATED.iter().any(|word| kind.is(word)) {
            return if are_read { Ok(()) } else { call(listener, block) };
        }
        // Calls of the provider's own tools, and their results, are nowhere else.
        if kind.is(SERVER_CALL) || blocks::is_call(block) {
            call(listener, block)
        } else if blocks::is_result(block) {
            listener.answered(answer(reader, block, &["output", CONTENT])?);
            Ok(())
        } else if is_of_a_call(kind) {
            let read = (responses::DIALECT.read)(reader, &[block], listener);
            // It is not an item of a list of one.
            read.map_err(|error| error.relocated(|_| Vec::new()))
        } else {
            Ok(())
        }
    })
}

/// Calls in the content that are among the calls of the message too.
const REPEATED: &[&str] = &["tool_use", "tool_call", "invalid_tool_call", "function_call", "custom_tool_call"];
const SERVER_CALL: &str = "server_tool_call";
/// Of a chunk, which is told by the calls of the message.
const CHUNKS: &[&str] = &["tool_call_chunk", "server_tool_call_chunk", "input_json_delta"];

/// The items of OpenAI's Responses API end so.
fn is_of_a_call(kind: Text<'_>) -> bool {
    matches!(kind, Text::Utf8(kind) if kind.ends_with(b"_call"))
}

/// What an AI message says beside its calls.
fn said<'a>(reader: Reader<'a>, content: Option<Value<'a>>) -> Option<Text<'a>> {
    let Some(Value::Array(blocks)) = content else { return content_text(content, reader.bump) };
    let says = |block: &Value<'a>| match parts::text(*block, &[TYPE]) {
        Some(kind) if is_of_a_call(kind) || CHUNKS.iter().any(|word| kind.is(word)) => None,
        _ => content_text(Some(*block), reader.bump),
    };
    parts::joined(reader, &blocks.iter().filter_map(says).collect::<Vec<_>>())
}

fn any_of(fields: Value<'_>, key: &str) -> bool {
    matches!(fields.get(key), Some(Value::Array([_, ..])))
}

fn answer<'a>(reader: Reader<'a>, holder: Value<'a>, output: &[&str]) -> Result<Answer<'a>, Error> {
    let Value::Object(members) = holder else { return Err(not_an_object("the result of a tool", holder)) };
    let Details { call_id, status, error } = Details::read(reader, members)?;
    let output = parts::output(reader, holder, output)?;
    let failure = blocks::failure(holder);
    let status = status.or(failure.map(|_| Text::from("error")));
    Ok(Answer { id: call_id, name: parts::text(holder, &[NAME]), output, status, error: error.or(failure) })
}

#[cfg(test)]
mod tests {
    use super::{
        super::parts::told::{fails, tells},
        *,
    };

    const TURN: &[&str] = &[
        "Refund 42 → Done",
        r#"  lookup({"order": 42}) = "{\"state\": \"late\"}" #1 is success"#,
        r#"  refund({"order": 42}) = "boom" #2 is error"#,
        r#"  notify("{\"x\": ") = null #3 ! not JSON"#,
    ];

    #[test]
    fn three_ways_to_write_the_same() {
        let calls = r#""tool_calls": [
            {"name": "lookup", "args": {"order": 42}, "id": "1", "type": "tool_call"},
            {"name": "refund", "args": {"order": 42}, "id": "2", "type": "tool_call"}],
            "invalid_tool_calls": [
            {"name": "notify", "args": "{\"x\": ", "id": "3", "error": "not JSON", "type": "invalid_tool_call"}]"#;
        let messages = [
            ("system", "SystemMessage", r#""content": "Help.""#.to_owned()),
            ("human", "HumanMessage", r#""content": "Refund 42""#.to_owned()),
            ("ai", "AIMessage", format!(r#""content": "", "name": null, {calls}"#)),
            (
                "tool",
                "ToolMessage",
                r#""content": "boom", "tool_call_id": "2", "name": "refund", "status": "error", "artifact": {"raw": 1}"#.to_owned(),
            ),
            (
                "tool",
                "ToolMessage",
                r#""content": "{\"state\": \"late\"}", "tool_call_id": "1", "name": "lookup", "id": "m", "status": "success""#
                    .to_owned(),
            ),
            ("ai", "AIMessage", r#""content": [{"type": "text", "text": "Done"}], "tool_calls": []"#.to_owned()),
        ];
        let list = |write: fn(&(&str, &str, String)) -> String| {
            format!("[{}]", messages.iter().map(write).collect::<Vec<_>>().join(", "))
        };
        tells(&DIALECT, &list(|(kind, _, fields)| format!(r#"{{"type": "{kind}", {fields}}}"#)), TURN);
        tells(&DIALECT, &list(|(kind, _, fields)| format!(r#"{{"type": "{kind}", "data": {{{fields}}}}}"#)), TURN);
        let dumped = list(|(_, class, fields)| {
            format!(
                r#"{{"lc": 1, "type": "constructor", "id": ["langchain", "schema", "{class}"], "kwargs": {{{fields}}}}}"#
            )
        });
        tells(&DIALECT, &dumped, TURN);
    }

    #[test]
    fn calls_as_the_provider_sent_them() {
        tells(
            &DIALECT,
            r#"[
                {"type": "human", "content": "one"},
                {"type": "ai", "content": "", "name": "refunds", "additional_kwargs": {"tool_calls": [
                    {"id": "1", "type": "function", "function": {"name": "a", "arguments": "{\"x\": 1}"}},
                    {"id": "2", "type": "function", "function": {"name": "b", "arguments": ""}}]}},
                {"type": "tool", "content": ["x", "y"], "tool_call_id": "2"},
                {"type": "ai", "content": "", "additional_kwargs": {"function_call": {"name": "c", "arguments": "x"}}},
                {"type": "function", "name": "c", "content": "late"},
                {"type": "ai", "content": [{"type": "text", "text": "Let me see."},
                    {"type": "tool_use", "id": "3", "name": "d", "input": {}}]},
                {"type": "ai", "tool_calls": [{"name": "e", "args": {}, "id": "4"}], "content": [
                    {"type": "tool_call", "id": "4", "name": "e", "args": {}},
                    {"type": "server_tool_call", "id": "5", "name": "web_search", "args": {"query": "x"}},
                    {"type": "server_tool_result", "tool_call_id": "5", "status": "success", "output": [1]}]},
                {"type": "ai", "content": [
                    {"type": "server_tool_use", "id": "6", "name": "web_search", "input": {"query": "y"}},
                    {"type": "web_search_tool_result", "tool_use_id": "6", "content": [{"url": "u"}]},
                    {"type": "mcp_call", "id": "7", "name": "ask", "server_label": "wiki", "arguments": "{\"q\": 1}",
                     "output": "42", "error": null},
                    {"type": "function_call", "id": "fc", "call_id": "8", "name": "f", "arguments": "{}"}]},
                {"type": "chat", "role": "user", "content": "two"},
                {"type": "remove", "content": "", "id": "m"}
            ]"#,
            &[
                "one → Let me see.",
                r#"  a({"x": 1}) = null #1 @refunds"#,
                r#"  b({}) = ["x", "y"] #2 @refunds"#,
                r#"  c("x") = "late""#,
                "  d({}) = null #3",
                "  e({}) = null #4",
                r#"  web_search({"query": "x"}) = [1] #5 is success"#,
                r#"  web_search({"query": "y"}) = [{"url": "u"}] #6"#,
                r#"  ask({"q": 1}) = "42" #7"#,
                "  f({}) = null #8",
                "two → -",
            ],
        );
    }

    #[test]
    fn chunks_of_a_stream_are_one_message() {
        let piece = |id: &str, name: &str, arguments: &str, index: u8| {
            format!(
                r#"{{"type": "AIMessageChunk", "id": "{id}", "content": "", "tool_calls": [{{"name": {name}, "args": {{}}}}],
                    "tool_call_chunks": [{{"name": {name}, "args": "{arguments}", "id": {name}, "index": {index}}}]}}"#
            )
        };
        let said = |text: &str| format!(r#"{{"type": "AIMessageChunk", "id": "m", "content": "{text}"}}"#);
        let messages = [
            r#"{"type": "human", "content": "one"}"#.to_owned(),
            piece("m", "\"a\"", "", 0),
            piece("m", "null", r#"{\"x\":"#, 0),
            piece("m", "\"b\"", "", 1),
            piece("m", "null", " 1}", 0),
            said("Good"),
            said(" day"),
            piece("n", "\"c\"", "", 0),
        ];
        tells(
            &DIALECT,
            &format!("[{}]", messages.join(",")),
            &["one → Good day", r#"  a({"x": 1}) = null #a"#, "  b({}) = null #b", "  c(null) = null"],
        );
        let orphan = format!("[{}, {}]", said("Good"), piece("m", "null", "1}", 0));
        fails(&DIALECT, &orphan, "[1].tool_call_chunks[0]: a piece of a tool call whose name did not come before it");
    }

    fn chunk(fields: &str) -> String {
        format!(r#"{{"type": "AIMessageChunk", "id": "m", {fields}}}"#)
    }

    #[test]
    fn chunks_without_pieces_of_calls_have_whole_ones_or_those_of_the_provider() {
        tells(
            &DIALECT,
            &format!(
                "[{}]",
                [
                    chunk(r#""content": "Let", "tool_call_chunks": []"#),
                    chunk(r#""content": "", "tool_calls": [{"name": "a", "args": {"x": 1}, "id": "1"}]"#),
                    chunk(
                        r#""content": [{"type": "server_tool_use", "id": "2", "name": "b", "input": {}, "index": 1}]"#
                    ),
                    chunk(
                        r#""content": [{"type": "input_json_delta", "partial_json": "{\"q\":", "index": 1}],
                        "tool_call_chunks": [{"name": null, "args": "{\"q\":", "id": null, "index": 1}]"#
                    ),
                    chunk(r#""content": [{"type": "input_json_delta", "partial_json": " 2}", "index": 1}]"#),
                    chunk(
                        r#""content": [{"type": "web_search_tool_result", "tool_use_id": "2", "content": [5], "index": 2}]"#
                    ),
                    chunk(r#""content": [{"type": "text", "text": " me", "index": 3}]"#),
                ]
                .join(", ")
            ),
            &["- → Let me", r#"  a({"x": 1}) = null #1"#, r#"  b({"q": 2}) = [5] #2"#],
        );
    }

    #[test]
    fn what_was_cut_off_is_not_recorded() {
        let piece = |name: &str, arguments: &str, index: u8| {
            chunk(&format!(
                r#""content": "", "tool_call_chunks": [{{"name": {name}, "args": {arguments:?}, "index": {index}}}]"#
            ))
        };
        let ends = |reason: &str| chunk(&format!(r#""content": "", "response_metadata": {{"{reason}"}}"#));
        let whole = r#"finish_reason": "tool_calls"#;
        for (arguments, end, told) in [
            ("", None, "null"),
            (r#"{"x":"#, None, "null"),
            (r#"{"x": 1}"#, None, r#"{"x": 1}"#),
            ("", Some(whole), "{}"),
            (r#"{"x":"#, Some(whole), r#""{\"x\":""#),
            ("", Some(r#"stop_reason": "max_tokens"#), "null"),
            (r#"{"x":"#, Some(r#"finish_reason": "length"#), "null"),
            (r#"{"x": 1}"#, Some(r#"stopReason": "max_tokens"#), r#"{"x": 1}"#),
        ] {
            let chunks = [piece("\"a\"", "", 0), piece("\"b\"", "", 1), piece("null", arguments, 1)];
            let chunks = chunks.into_iter().chain(end.map(&ends)).collect::<Vec<_>>().join(", ");
            tells(&DIALECT, &format!("[{chunks}]"), &["- → -", "  a({}) = null", &format!("  b({told}) = null")]);
        }
        let server =
            chunk(r#""content": [{"type": "server_tool_use", "id": "2", "name": "b", "input": {}, "index": 1}]"#);
        // The same where chunks were added up.
        for (written, read, end, told) in [
            ("", "{}", "", "null"),
            (r#"{"x": 1, "y"#, r#"{"x": 1}"#, "", "null"),
            (r#"{"x": 1}"#, r#"{"x": 1}"#, "", r#"{"x": 1}"#),
            ("", "{}", r#", "chunk_position": "last""#, "{}"),
            ("", "{}", r#", "response_metadata": {"finish_reason": "stop"}"#, "{}"),
            ("", "{}", r#", "response_metadata": {"finish_reason": "length"}, "chunk_position": "last""#, "null"),
        ] {
            let fields = format!(
                r#""content": "", "tool_calls": [{{"name": "b", "args": {read}}}],
                "tool_call_chunks": [{{"name": "b", "args": {written:?}, "index": 0}}]{end}"#
            );
            tells(&DIALECT, &format!("[{}]", chunk(&fields)), &["- → -", &format!("  b({told}) = null")]);
        }
        let cut = r#"{"type": "ai", "content": "", "invalid_tool_calls": [{"name": "b", "args": "{\"x\":"}],
            "response_metadata": {"finish_reason": "length"}}"#;
        tells(&DIALECT, &format!("[{cut}]"), &["- → -", "  b(null) = null"]);
        let begin = chunk(r#""content": """#);
        tells(&DIALECT, &format!("[{begin}, {server}]"), &["- → -", "  b(null) = null #2"]);
        tells(&DIALECT, &format!("[{begin}, {server}, {}]", ends(whole)), &["- → -", "  b({}) = null #2"]);
    }

    #[test]
    fn what_is_malformed_is_an_error_with_its_place() {
        let types = "human, ai, tool, function, system, developer, chat, remove";
        for (message, error) in [
            ("7", "[1]: expected a LangChain message, an object, got a number".to_owned()),
            (
                r#"{"type": "tol", "content": "x"}"#,
                format!(
                    "[1].type: the type of a LangChain message is one of {types}, not \"tol\"; did you mean \"tool\"?"
                ),
            ),
            (
                r#"{"content": "x"}"#,
                format!("[1].type: the type of a LangChain message is one of {types}, not nothing"),
            ),
            (
                r#"{"lc": 1, "type": "not_implemented", "id": ["m", "AIMessage"], "repr": "AIMessage()"}"#,
                "[1].kwargs: a message that could not be dumped; only its repr is known".to_owned(),
            ),
            (
                r#"{"type": "ai", "data": {"content": "", "tool_calls": [{"args": {}}]}}"#,
                "[1].data.tool_calls[0]: a tool call without a name; it is given as name or tool_name".to_owned(),
            ),
            (r#"{"type": "ai", "tool_calls": {}}"#, "[1].tool_calls: expected a list, got an object".to_owned()),
            (
                r#"{"type": "ai", "content": "", "additional_kwargs": {"tool_calls": [7]}}"#,
                "[1].additional_kwargs.tool_calls[0]: expected a tool call with a name and arguments, got a number"
                    .to_owned(),
            ),
        ] {
            fails(&DIALECT, &format!(r#"[{{"type": "human", "content": "x"}}, {message}]"#), &error);
        }
    }
}
