//! OpenInference, which Phoenix shows: `openinference.span.kind`, with what a span was given and gave in `input.value`
//! and `output.value`, and messages as flattened attributes, or as lists of objects that have dotted keys.

use std::{
    collections::{HashMap, HashSet},
    hash::RandomState,
};

use super::{
    names,
    values::{self, Message, after, call, first_of, id, items, list, list_of_some, object, role, text},
};
use crate::{
    call::Reader,
    compare,
    text::Text,
    trace::{
        decode,
        span::Kind,
        spans::{Dialect, Recorded, Step, attributes::Attributes, fill},
    },
    value::{Member, Value},
};

pub const DIALECT: Dialect = Dialect { name: "openinference", title: "OpenInference spans", fits, read };

const KIND: &str = "openinference.span.kind";
/// A column of Phoenix.
const KIND_COLUMN: &str = "span_kind";
const ASKED: &str = "llm.input_messages";
const ANSWERED: &str = "llm.output_messages";
const INPUT: &str = "input.value";
const OUTPUT: &str = "output.value";
const PARAMETERS: &str = "tool.parameters";
const AGENT: &[&str] = &["agent.name", "graph.node.name", "graph.node.id"];
/// Before the name of the agent that goes on.
const HANDOFF: &str = "handoff to ";
const SESSION: &[&str] = &["session_id", "thread_id", "conversation_id"];

const KINDS: &[(&str, Kind)] = &[
    ("LLM", Kind::Llm),
    ("TOOL", Kind::ToolCall),
    ("AGENT", Kind::Agent),
    ("CHAIN", Kind::Chain),
    ("RETRIEVER", Kind::Retrieval),
    ("EMBEDDING", Kind::Embedding),
    ("RERANKER", Kind::Rerank),
    ("GUARDRAIL", Kind::Guardrail),
    ("EVALUATOR", Kind::Chain),
    ("PROMPT", Kind::Chain),
    ("DECISION", Kind::Chain),
];

fn fits(recorded: &Recorded<'_>) -> bool {
    let attributes = recorded.attributes;
    attributes.has(KIND)
        || kind(recorded).is_some()
        || [ASKED, ANSWERED].iter().any(|key| attributes.has(key) || attributes.any_below(key))
}

fn kind(recorded: &Recorded<'_>) -> Option<Kind> {
    let column = match recorded.row.get(KIND_COLUMN) {
        Some(Value::Text(word)) => word.utf8(),
        _ => return recorded.attributes.meaning(KIND, KINDS),
    };
    let is = |word: &str| recorded.attributes.is(KIND, &[word]) || column.eq_ignore_ascii_case(word.as_bytes());
    KINDS.iter().find(|(word, _)| is(word)).map(|(_, kind)| *kind)
}

fn read<'a>(reader: Reader<'a>, recorded: &Recorded<'a>, step: &mut Step<'a>) {
    let attributes = recorded.attributes;
    match (kind(recorded), handoff(reader, recorded)) {
        // The Agents SDK has a kind of its own for it.
        (Some(Kind::ToolCall), Some((from, to))) => {
            step.kind(Kind::Handoff);
            fill(&mut step.name, Some(to));
            fill(&mut step.agent, from);
        }
        (Some(kind), _) => step.kind(kind),
        (None, _) => {}
    }
    if let Some(metadata) = values::decoded(reader, attributes, "metadata") {
        fill(&mut step.conversation_id, text(metadata, SESSION));
    }
    let agent = attributes.text(reader, &["agent.name"]);
    match step.kind {
        Some(Kind::Agent) => fill(&mut step.name, attributes.text(reader, AGENT)),
        _ => fill(&mut step.agent, agent),
    }
    match step.kind {
        Some(Kind::ToolCall) => tool(reader, attributes, step),
        Some(Kind::Retrieval) => {
            fill(&mut step.input, values::whole(reader, attributes, INPUT));
            fill(&mut step.output, documents(reader, attributes, "retrieval.documents"));
            fill(&mut step.output, values::decoded(reader, attributes, OUTPUT));
        }
        Some(Kind::Rerank) => {
            fill(&mut step.input, first_of(reader, attributes, &["reranker.query", INPUT]));
            fill(&mut step.output, documents(reader, attributes, "reranker.output_documents"));
        }
        Some(Kind::Embedding | Kind::Handoff) => {}
        Some(Kind::Llm) => {
            fill(&mut step.name, attributes.text(reader, &["llm.model_name"]));
            fill(&mut step.asked, told(reader, attributes, ASKED, "user"));
            fill(&mut step.answered, told(reader, attributes, ANSWERED, "assistant"));
            if let (None, Some(given)) = (step.asked, values::decoded(reader, attributes, INPUT)) {
                step.asked = values::as_messages(reader, opened(reader, given), "user");
            }
            if let (None, Some(gave)) = (step.answered, values::decoded(reader, attributes, OUTPUT)) {
                step.answered = values::as_messages(reader, gave, "assistant");
            }
        }
        _ => {
            fill(&mut step.asked, told(reader, attributes, ASKED, "user"));
            fill(&mut step.answered, told(reader, attributes, ANSWERED, "assistant"));
            fill(&mut step.input, values::decoded(reader, attributes, INPUT).map(|value| opened(reader, value)));
            fill(&mut step.output, values::decoded(reader, attributes, OUTPUT).map(|value| opened(reader, value)));
            state(reader, step);
        }
    }
}

/// From whom, where that is known, and to whom. These names are all that is recorded of it.
fn handoff<'a>(reader: Reader<'a>, recorded: &Recorded<'a>) -> Option<(Option<Text<'a>>, Text<'a>)> {
    let attributes = recorded.attributes;
    let to = after(reader, recorded.name, HANDOFF).filter(|_| !attributes.has("tool.name"))?;
    let from = match values::decoded(reader, attributes, INPUT) {
        None => None,
        Some(Value::Text(from)) => Some(from),
        Some(_) => return None,
    };
    let told = values::decoded(reader, attributes, OUTPUT);
    told.is_none_or(|told| compare::equal(told, Value::Text(to))).then_some((from, to))
}

/// A graph's state holds messages: what an agent or a chain was given, and what it gave.
fn state<'a>(reader: Reader<'a>, step: &mut Step<'a>) {
    let messages = |value: Option<Value<'a>>| {
        let messages = value?.get("messages").filter(|messages| !items(Some(*messages)).is_empty())?;
        values::are_messages(reader, messages).then_some(messages)
    };
    let (asked, answered) = (messages(step.input), messages(step.output));
    fill(&mut step.asked, asked);
    fill(&mut step.answered, answered);
}

/// Python objects of LangChain are written as what makes them again, sometimes without the mark of it; several prompts
/// as a list of lists.
pub fn opened<'a>(reader: Reader<'a>, value: Value<'a>) -> Value<'a> {
    let Value::Object(members) = value else { return value };
    let inner = |message: &Value<'a>| match message.get("kwargs") {
        Some(inner @ Value::Object(_)) if message.get("lc").is_none() && inner.get("type").is_some() => inner,
        _ => *message,
    };
    let member = |member: &Member<'a>| match member.value {
        Value::Array(messages) if member.key.is("messages") => {
            let messages = match messages {
                [Value::Array(only)] => only,
                _ => messages,
            };
            let messages: Vec<Value<'a>> = messages.iter().map(inner).collect();
            Member { key: member.key, value: list(reader, &messages) }
        }
        _ => *member,
    };
    Value::Object(reader.bump.alloc_slice_fill_iter(members.iter().map(member)))
}

/// Calls of chat messages, to be found by id, or where one of two has none, by name and arguments.
struct Calls<'a> {
    hasher: RandomState,
    ids: HashSet<Text<'a>>,
    /// By name and arguments: is there one without an id?
    functions: HashMap<(Text<'a>, u64), bool>,
}

impl<'a> Calls<'a> {
    fn of(reader: Reader<'a>, calls: &[Value<'a>]) -> Self {
        let mut all = Calls { hasher: RandomState::new(), ids: HashSet::new(), functions: HashMap::new() };
        for &call in calls {
            let id = text(call, &["id"]);
            all.ids.extend(id);
            if let Some(function) = all.function(reader, call) {
                *all.functions.entry(function).or_default() |= id.is_none();
            }
        }
        all
    }

    fn has(&self, reader: Reader<'a>, call: Value<'a>) -> bool {
        let id = text(call, &["id"]);
        let same = || self.functions.get(&self.function(reader, call)?);
        id.is_some_and(|id| self.ids.contains(&id)) || same().is_some_and(|has_no_id| *has_no_id || id.is_none())
    }

    fn function(&self, reader: Reader<'a>, call: Value<'a>) -> Option<(Text<'a>, u64)> {
        let function = call.get("function")?;
        let arguments = decode::arguments(reader, function.get("arguments").unwrap_or(Value::Null));
        Some((text(function, &["name"])?, compare::hash(arguments, &self.hasher)))
    }
}

fn tool<'a>(reader: Reader<'a>, attributes: Attributes<'a>, step: &mut Step<'a>) {
    let name = attributes.text(reader, &["tool.name", "tool_call.function.name"]);
    fill(&mut step.name, name.map(|name| names::tool(reader, name)));
    fill(&mut step.call_id, id(reader, attributes, &["tool.id", "tool_call.id", "tool_call_id"]));
    let schema = values::decoded(reader, attributes, PARAMETERS);
    // smolagents calls tools as Python does, with arguments by place, which the schema gives names to.
    let given = values::whole(reader, attributes, INPUT).map(|value| match schema {
        Some(schema) => decode::arguments_with_schema(reader, value, schema),
        None => value,
    });
    fill(&mut step.input, given);
    fill(&mut step.input, values::whole(reader, attributes, "tool_call.function.arguments"));
    // Claude's SDK writes arguments there.
    fill(&mut step.input, schema.filter(|parameters| !is_schema(*parameters)));
    fill(&mut step.output, values::whole(reader, attributes, OUTPUT));
}

/// Does this say what arguments there may be? If nothing says otherwise, it does.
fn is_schema(parameters: Value<'_>) -> bool {
    let Value::Object(members @ [_, ..]) = parameters else { return true };
    let describes = |member: &Member<'_>| {
        member.value.get("type").is_some() || member.value.get("description").is_some() || is_empty(member.value)
    };
    ["properties", "$schema", "additionalProperties", "$defs"].iter().any(|key| parameters.get(key).is_some())
        || matches!(parameters.get("type"), Some(Value::Text(word)) if word.is("object"))
        || members.iter().all(describes)
}

fn is_empty(value: Value<'_>) -> bool {
    matches!(value, Value::Object([]))
}

/// What stands under a key as a list, whichever way it was written: each item with its keys as a tree.
fn listed<'a>(reader: Reader<'a>, attributes: Attributes<'a>, key: &str) -> Vec<Value<'a>> {
    let found = values::decoded(reader, attributes, key);
    items(found).iter().map(|&item| tree(reader, item)).collect()
}

/// An object without dotted keys.
fn tree<'a>(reader: Reader<'a>, value: Value<'a>) -> Value<'a> {
    match value {
        Value::Object(members) if members.iter().any(|member| member.key.utf8().contains(&b'.')) => {
            Attributes(members).nested(reader, "")
        }
        other => other,
    }
}

fn documents<'a>(reader: Reader<'a>, attributes: Attributes<'a>, key: &str) -> Option<Value<'a>> {
    let all: Vec<Value<'a>> =
        listed(reader, attributes, key).into_iter().map(|item| item.get("document").unwrap_or(item)).collect();
    list_of_some(reader, &all)
}

fn told<'a>(reader: Reader<'a>, attributes: Attributes<'a>, key: &str, default: &'static str) -> Option<Value<'a>> {
    let all = listed(reader, attributes, key);
    let messages: Vec<Value<'a>> =
        all.into_iter().filter_map(|item| message(reader, item.get("message").unwrap_or(item), default)).collect();
    list_of_some(reader, &messages)
}

/// A chat message of one of OpenInference's.
fn message<'a>(reader: Reader<'a>, message: Value<'a>, default: &'static str) -> Option<Value<'a>> {
    let role = role(text(message, &["role"]), default)?;
    let made = |item: Value<'a>| {
        let item = tree(reader, item);
        let made = item.get("tool_call").unwrap_or(item);
        let function = made.get("function").unwrap_or(made);
        call(reader, made.get("id"), function.get("name"), function.get("arguments"))
    };
    let mut calls: Vec<Value<'a>> = items(message.get("tool_calls")).iter().filter_map(|&item| made(item)).collect();
    let contents = items(message.get("contents"));
    let listed = Calls::of(reader, if contents.is_empty() { &[] } else { &calls });
    let mut blocks = Vec::new();
    for &item in contents {
        let item = tree(reader, item);
        let content = item.get("message_content").unwrap_or(item);
        match content.get("type") {
            Some(Value::Text(kind)) if kind.is("tool_use") || kind.is("tool_call") => {
                let holder = if item.get("tool_call").is_some() { item } else { content };
                let call = made(holder);
                let is_known = |call: &Value<'a>| listed.has(reader, *call);
                // The ordered form says again what the other one says.
                calls.extend(call.filter(|call| !is_known(call)));
            }
            Some(Value::Text(kind)) if kind.is("text") => blocks.extend(
                content
                    .get("text")
                    .map(|said| object(reader, &[("type", Some(Value::Text(kind))), ("text", Some(said))])),
            ),
            // Thoughts.
            Some(Value::Text(kind)) if ["reasoning", "thinking", "redacted_thinking"].iter().any(|w| kind.is(w)) => {}
            Some(Value::Text(kind)) if kind.is("image") => {
                blocks.push(object(reader, &[("type", Some(Value::Text(kind)))]));
            }
            _ => {}
        }
    }
    if calls.is_empty() {
        calls.extend(call(
            reader,
            None,
            message.get("function_call_name"),
            message.get("function_call_arguments_json"),
        ));
    }
    let content = values::given(message.get("content"))
        .filter(|said| !values::is_left_out(*said))
        .map(|said| values::content(reader, said));
    let message = Message {
        role,
        content: content.or_else(|| list_of_some(reader, &blocks)),
        calls,
        call_id: message.get("tool_call_id"),
        name: message.get("name"),
    };
    Some(message.value(reader))
}

#[cfg(test)]
mod tests {
    use super::super::tests::says;

    fn tool(more: &str) -> String {
        format!(
            r#"{{"name": "SearchTool", "attributes": {{"openinference.span.kind": "TOOL", "tool.name": "search",
                {more}}}}}"#
        )
    }

    #[test]
    fn tools() {
        let of = |more: &str, expected: &[&str]| {
            says(&tool(more), &[&["kind: tool_call", "name: search"], expected].concat());
        };
        of(
            r#""tool.id": "c1", "input.value": {"q": 1}, "input.mime_type": "application/json", "output.value": "found",
               "session.id": "s""#,
            &["id: c1", r#"input: {"q": 1}"#, r#"output: "found""#, "conversation: s"],
        );
        // A schema is not taken for arguments; what can be no schema is.
        of(r#""tool.parameters": "{\"type\": \"object\", \"properties\": {}}""#, &[]);
        of(r#""tool.parameters.properties.q.type": "string""#, &[]);
        of(r#""tool.parameters": "{\"q\": {\"type\": \"string\", \"description\": \"d\"}}""#, &[]);
        of(r#""tool.parameters": "{}""#, &[]);
        of(r#""tool.parameters": "{\"command\": \"ls\"}""#, &[r#"input: {"command": "ls"}"#]);
        // ADK's.
        of(
            r#""tool_call.id": "c2", "output.value": {"id": "c2", "name": "search", "response": {"result": 1}}"#,
            &["id: c2", r#"output: {"result": 1}"#],
        );
    }

    #[test]
    fn a_handoff_is_no_tool() {
        says(
            r#"{"name": "handoff to desk", "attributes": {"openinference.span.kind": "TOOL"}}"#,
            &["kind: handoff", "name: desk"],
        );
        let handoff = |more: &str, expected: &[&str]| {
            let attributes = format!(r#""openinference.span.kind": "TOOL", {more}"#);
            says(&format!(r#"{{"name": "handoff to desk", "attributes": {{{attributes}}}}}"#), expected);
        };
        let told = ["kind: handoff", "name: desk", "agent: front"];
        handoff(r#""input.value": "front", "output.value": "desk""#, &told);
        handoff(r#""input.value": "front", "output.value": "__REDACTED__""#, &told);
        handoff(r#""input.value": "__REDACTED__", "output.value": "desk""#, &told[..2]);
        handoff(
            r#""input.value": {"to": "desk"}, "output.value": "desk""#,
            &["kind: tool_call", "name: handoff to desk", r#"input: {"to": "desk"}"#, r#"output: "desk""#],
        );
        handoff(
            r#""input.value": "front", "output.value": "done""#,
            &["kind: tool_call", "name: handoff to desk", r#"input: "front""#, r#"output: "done""#],
        );
        says(
            r#"{"name": "handoff to desk", "attributes": {"openinference.span.kind": "TOOL", "tool.name": "handoff"}}"#,
            &["kind: tool_call", "name: handoff"],
        );
    }

    #[test]
    fn arguments_by_place_get_the_names_of_the_schema() {
        let schema = r#""tool.parameters": "{\"q\": {\"type\": \"string\"}, \"n\": {\"type\": \"integer\"}}""#;
        let input = |args: &str, kwargs: &str, more: &str, expected: &[&str]| {
            let value = format!(r#"{{"args": {args}, "sanitize_inputs_outputs": false, "kwargs": {kwargs}}}"#);
            let of = tool(&format!("{more} \"input.value\": {value:?}"));
            says(&of, &[&["kind: tool_call", "name: search"], expected].concat());
        };
        let schema = format!("{schema},");
        input("[]", r#"{"q": "x"}"#, "", &[r#"input: {"q": "x"}"#]);
        input(r#"["x"]"#, r#"{"n": 2}"#, &schema, &[r#"input: {"q": "x", "n": 2}"#]);
        input(r#"[{"q": "x"}]"#, "{}", &schema, &[r#"input: {"q": "x"}"#]);
        // Without names they stay what they are.
        input(r#"["x"]"#, "{}", "", &[r#"input: {"args": ["x"], "sanitize_inputs_outputs": false, "kwargs": {}}"#]);
        input("[]", "{}", "", &["input: {}"]);
    }

    #[test]
    fn models_with_flattened_messages() {
        says(
            r#"{"name": "ChatModel", "attributes": {"openinference.span.kind": "LLM", "llm.model_name": "m",
                "llm.input_messages.0.message.role": "system", "llm.input_messages.0.message.content": "s",
                "llm.input_messages.1.message.role": "user", "llm.input_messages.1.message.content": "hi",
                "llm.input_messages.2.message.role": "assistant",
                "llm.input_messages.2.message.tool_calls.0.tool_call.id": "1",
                "llm.input_messages.2.message.tool_calls.0.tool_call.function.name": "a",
                "llm.input_messages.2.message.tool_calls.0.tool_call.function.arguments": "{}",
                "llm.input_messages.3.message.role": "tool", "llm.input_messages.3.message.content": "A",
                "llm.input_messages.3.message.tool_call_id": "1",
                "llm.input_messages.4.message.role": "tool-call", "llm.input_messages.4.message.content":
                "Calling tools",
                "llm.output_messages.0.message.role": "assistant",
                "llm.output_messages.0.message.contents.0.message_content.type": "reasoning",
                "llm.output_messages.0.message.contents.0.message_content.text": "hm",
                "llm.output_messages.0.message.contents.1.message_content.type": "text",
                "llm.output_messages.0.message.contents.1.message_content.text": "Wait.",
                "llm.output_messages.0.message.contents.2.message_content.type": "tool_use",
                "llm.output_messages.0.message.contents.2.tool_call.id": "2",
                "llm.output_messages.0.message.contents.2.tool_call.function.name": "b",
                "llm.output_messages.0.message.contents.2.tool_call.function.arguments": "{\"x\": 1}",
                "input.value": "ignored", "output.value": "ignored"}}"#,
            &[
                "kind: llm",
                "name: m",
                r#"asked: hi > -; 1 a({}) = "A""#,
                r#"answered: - > Wait.; 2 b({"x": 1}) = null"#,
            ],
        );
        says(
            r#"{"name": "ChatModel", "attributes": {"openinference.span.kind": "LLM",
                "llm.output_messages.0.message.function_call_name": "a",
                "llm.output_messages.0.message.function_call_arguments_json": "{\"x\": 1}"}}"#,
            &["kind: llm", r#"answered: - > -; - a({"x": 1}) = null"#],
        );
    }

    #[test]
    fn calls_in_both_forms_count_once() {
        let form = |start: &str, id: Option<&str>, arguments: &str| {
            let key = format!("llm.output_messages.0.message.{start}tool_call");
            let id = id.map_or(String::new(), |id| format!(r#""{key}.id": "{id}","#));
            format!(r#"{id} "{key}.function.name": "a", "{key}.function.arguments": {arguments:?}"#)
        };
        let kind = |place: usize| {
            format!(r#""llm.output_messages.0.message.contents.{place}.message_content.type": "tool_use""#)
        };
        for (listed, ordered) in [(Some("1"), Some(("1", "2"))), (None, None), (Some("1"), None)] {
            let span = [
                form("tool_calls.0.", listed, r#"{"x": 1}"#),
                kind(0),
                form("contents.0.", ordered.map(|ids| ids.0), r#"{"x":1}"#),
                kind(1),
                form("contents.1.", ordered.map(|ids| ids.1), r#"{"x":2}"#),
            ];
            let (first, second) = (listed.unwrap_or("-"), ordered.map_or("-", |ids| ids.1));
            let calls = format!(r#"{first} a({{"x": 1}}) = null; {second} a({{"x": 2}}) = null"#);
            says(
                &format!(r#"{{"name": "m", "attributes": {{"openinference.span.kind": "LLM", {}}}}}"#, span.join(", ")),
                &["kind: llm", &format!("answered: - > -; {calls}")],
            );
        }
    }

    #[test]
    fn models_with_lists_of_messages() {
        says(
            r#"{"name": "ChatModel", "row": {"span_kind": "LLM"}, "attributes": {
                "llm.input_messages": [{"message.role": "user", "message.content": "hi"}],
                "llm.output_messages": [{"message.role": "assistant", "message.tool_calls": [
                    {"tool_call.id": "1", "tool_call.function.name": "a", "tool_call.function.arguments": "{}"}]},
                    {"message": {"role": "assistant", "content": "ho"}}]}}"#,
            &["kind: llm", "asked: hi > -", "answered: - > ho; 1 a({}) = null"],
        );
    }

    #[test]
    fn models_with_nothing_but_values() {
        says(
            r#"{"name": "x", "attributes": {"openinference.span.kind": "LLM", "input.value": "hi",
                "output.value": "{\"choices\": [{\"message\": {\"role\": \"assistant\", \"content\": \"ho\"}}]}"}}"#,
            &["kind: llm", "asked: hi > -", "answered: - > ho"],
        );
        says(
            r#"{"name": "x", "attributes": {"openinference.span.kind": "LLM", "output.value": "{\"a\": 1}"}}"#,
            &["kind: llm"],
        );
    }

    #[test]
    fn what_was_hidden_is_not_recorded() {
        for kind in ["TOOL", "LLM", "AGENT", "CHAIN", "RETRIEVER"] {
            let span = format!(
                r#"{{"name": "x", "attributes": {{"openinference.span.kind": "{kind}",
                    "input.value": "__REDACTED__", "output.value": "__REDACTED__"}}}}"#
            );
            let expected: &[&str] = match kind {
                "TOOL" => &["kind: tool_call", "name: x"],
                "LLM" => &["kind: llm"],
                "AGENT" => &["kind: agent", "name: x"],
                "CHAIN" => &["kind: chain"],
                _ => &["kind: retrieval"],
            };
            says(&span, expected);
        }
        says(
            r#"{"name": "x", "attributes": {"openinference.span.kind": "LLM",
                "llm.output_messages.0.message.role": "assistant",
                "llm.output_messages.0.message.content": "__REDACTED__",
                "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "a",
                "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": "__REDACTED__"}}"#,
            &["kind: llm", "answered: - > -; - a(null) = null"],
        );
    }

    #[test]
    fn agents_and_chains() {
        says(
            r#"{"name": "Sdk.query", "attributes": {"openinference.span.kind": "AGENT", "input.value": "hi",
                "output.value": "ho", "llm.output_messages.0.message.content.0": "Wait.",
                "llm.output_messages.0.message.role": "assistant",
                "llm.output_messages.1.message.tool_calls.0.tool_call.id": "1",
                "llm.output_messages.1.message.tool_calls.0.tool_call.function.name": "a"}}"#,
            &[
                "kind: agent",
                "name: Sdk.query",
                r#"input: "hi""#,
                r#"output: "ho""#,
                "answered: - > Wait.; 1 a(null) = null",
            ],
        );
        says(
            r#"{"name": "LangGraph", "attributes": {"openinference.span.kind": "CHAIN", "metadata": {"thread_id": "t"},
                "input.value": "{\"messages\": [{\"kwargs\": {\"type\": \"human\", \"content\": \"hi\"}}]}",
                "output.value": {"messages": [{"type": "human", "content": "hi"}, {"type": "ai", "content": "ho"}]}}}"#,
            &[
                "kind: chain",
                r#"input: {"messages": [{"type": "human", "content": "hi"}]}"#,
                r#"output: {"messages": [{"type": "human", "content": "hi"}, {"type": "ai", "content": "ho"}]}"#,
                "conversation: t",
                "asked: hi > -",
                "answered: hi > ho",
            ],
        );
        says(
            r#"{"name": "x", "attributes": {"openinference.span.kind": "AGENT", "graph.node.id": "planner"}}"#,
            &["kind: agent", "name: planner"],
        );
    }

    #[test]
    fn documents() {
        says(
            r#"{"name": "x", "attributes": {"openinference.span.kind": "RETRIEVER", "input.value": "q",
                "retrieval.documents.0.document.id": "d", "retrieval.documents.0.document.content": "text",
                "retrieval.documents.1.document.content": "more"}}"#,
            &["kind: retrieval", r#"input: "q""#, r#"output: [{"id": "d", "content": "text"}, {"content": "more"}]"#],
        );
        says(
            r#"{"name": "x", "attributes": {"openinference.span.kind": "RETRIEVER",
                "retrieval.documents": [{"document.id": "d", "document.content": "text"}]}}"#,
            &["kind: retrieval", r#"output: [{"id": "d", "content": "text"}]"#],
        );
    }
}
