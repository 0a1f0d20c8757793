//! The conventions of OpenTelemetry for generative AI, `gen_ai.…`, in each of their generations: messages as flattened
//! attributes, as events, as attributes that hold them all, or as one event that does. And those for MCP, whose spans
//! tell a call again that an agent's span tells.

use super::{
    events, names,
    values::{self, Message, call, content, decoded, first_of, id, items, list_of_some, role, whole},
};
use crate::{
    call::Reader,
    text::Text,
    trace::{
        decode,
        span::Kind,
        spans::{Dialect, Recorded, Step, attributes::Attributes, fill},
    },
    value::{Member, Value},
};

pub const DIALECT: Dialect = Dialect { name: "otel_genai", title: "OpenTelemetry GenAI spans", fits, read };

const OPERATION: &str = "gen_ai.operation.name";
pub const TOOL_NAME: &str = "gen_ai.tool.name";
pub const CALL_ID: &str = "gen_ai.tool.call.id";
const ARGUMENTS: &str = "gen_ai.tool.call.arguments";
const RESULT: &str = "gen_ai.tool.call.result";
const AGENT: &str = "gen_ai.agent.name";
pub const MODEL: &[&str] = &["gen_ai.request.model", "gen_ai.response.model"];
const DOCUMENTS: &str = "gen_ai.retrieval.documents";
const MCP_METHOD: &str = "mcp.method.name";

const OPERATIONS: &[(&str, Kind)] = &[
    ("execute_tool", Kind::ToolCall),
    ("invoke_agent", Kind::Agent),
    // Nothing runs in it yet.
    ("create_agent", Kind::Chain),
    ("invoke_workflow", Kind::Chain),
    ("execute_task", Kind::Chain),
    ("plan", Kind::Chain),
    ("chat", Kind::Llm),
    ("generate_content", Kind::Llm),
    ("text_completion", Kind::Llm),
    ("llm_request", Kind::Llm),
    ("embeddings", Kind::Embedding),
    ("retrieval", Kind::Retrieval),
    ("vector_db_retrieve", Kind::Retrieval),
    ("rerank", Kind::Rerank),
    ("handoff", Kind::Handoff),
    ("agent_handoff", Kind::Handoff),
    ("transfer", Kind::Handoff),
];

fn fits(recorded: &Recorded<'_>) -> bool {
    let attributes = recorded.attributes;
    attributes.any_under("gen_ai.") || attributes.has(MCP_METHOD) || recorded.events.iter().any(events::is_one)
}

fn read<'a>(reader: Reader<'a>, recorded: &Recorded<'a>, step: &mut Step<'a>) {
    let attributes = recorded.attributes;
    if attributes.is(MCP_METHOD, &["tools/call"]) {
        mcp(reader, attributes, step);
    }
    if let Some(kind) = kind(attributes) {
        step.kind(kind);
    }
    fill(&mut step.conversation_id, attributes.text(reader, &["gen_ai.conversation.id"]));
    let agent = attributes.text(reader, &[AGENT]);
    match step.kind {
        Some(Kind::Agent) => fill(&mut step.name, agent),
        Some(Kind::Handoff) => {
            fill(&mut step.name, attributes.text(reader, TARGETS));
            fill(&mut step.agent, attributes.text(reader, SOURCES).or(agent));
        }
        _ => fill(&mut step.agent, agent),
    }
    match step.kind {
        Some(Kind::ToolCall) => tool(reader, attributes, step),
        Some(Kind::Retrieval) => {
            fill(&mut step.input, attributes.get("gen_ai.retrieval.query.text"));
            fill(&mut step.output, decoded(reader, attributes, DOCUMENTS));
        }
        Some(Kind::Handoff | Kind::Embedding | Kind::Rerank) => {}
        kind => {
            match kind {
                Some(Kind::Llm) => fill(&mut step.name, attributes.text(reader, MODEL)),
                Some(Kind::Chain) => fill(&mut step.name, attributes.text(reader, &["gen_ai.workflow.name"])),
                _ => {}
            }
            let (asked, answered) = messages(reader, recorded);
            fill(&mut step.asked, asked);
            fill(&mut step.answered, answered);
        }
    }
}

/// To and from whom control is handed.
const TARGETS: &[&str] = &["gen_ai.transfer.target.name", "gen_ai.handoff.to_agent"];
const SOURCES: &[&str] = &["gen_ai.handoff.from_agent", "gen_ai.caller.name"];

fn kind(attributes: Attributes<'_>) -> Option<Kind> {
    let known = attributes.meaning(OPERATION, OPERATIONS);
    let invoked = || match attributes.get(OPERATION) {
        // Swarms and graphs of Strands.
        Some(Value::Text(word)) if word.utf8().starts_with(b"invoke_") => Some(Kind::Chain),
        _ => None,
    };
    let handed = || {
        let is_told = TARGETS.iter().any(|key| attributes.has(key));
        (is_told && !attributes.has(OPERATION) && !attributes.has(TOOL_NAME)).then_some(Kind::Handoff)
    };
    known.or_else(invoked).or_else(handed)
}

/// The name, unless it is something else: a list of the definitions of tools.
pub fn tool_name<'a>(reader: Reader<'a>, attributes: Attributes<'a>) -> Option<Text<'a>> {
    let name = attributes.text(reader, &[TOOL_NAME])?;
    let is_name = matches!(decode::decoded(reader, Value::Text(name)), Value::Text(_));
    is_name.then(|| names::tool(reader, name))
}

fn tool<'a>(reader: Reader<'a>, attributes: Attributes<'a>, step: &mut Step<'a>) {
    fill(&mut step.name, tool_name(reader, attributes));
    fill(&mut step.call_id, id(reader, attributes, &[CALL_ID]));
    let arguments = whole(reader, attributes, ARGUMENTS);
    let within = match arguments.map(|arguments| decode::decoded(reader, arguments)) {
        Some(Value::Object(members)) => of_function(reader, Attributes(members)),
        _ => None,
    };
    fill(&mut step.input, within.or(arguments));
    fill(&mut step.input, of_function(reader, attributes));
    fill(&mut step.output, whole(reader, attributes, RESULT));
    fill(&mut step.output, attributes.get("code.function.return.value"));
}

/// How the instrumentation of Google's client writes arguments: a type for each, and a value if it may.
fn of_function<'a>(reader: Reader<'a>, attributes: Attributes<'a>) -> Option<Value<'a>> {
    let Value::Object(parameters) = attributes.nested(reader, "code.function.parameters.") else { return None };
    let given = |member: &Member<'a>| Some(Member { key: member.key, value: member.value.get("value")? });
    let members = parameters.iter().map(given).collect::<Option<Vec<Member<'a>>>>()?;
    Some(Value::Object(reader.bump.alloc_slice_copy(&members)))
}

fn mcp<'a>(reader: Reader<'a>, attributes: Attributes<'a>, step: &mut Step<'a>) {
    const ARGUMENT: &str = "mcp.request.argument";
    step.is_mcp = true;
    step.kind(Kind::ToolCall);
    tool(reader, attributes, step);
    fill(&mut step.name, attributes.text(reader, &["mcp.tool.name"]));
    fill(&mut step.input, attributes.get(ARGUMENT).or_else(|| attributes.get("mcp.request.arguments")));
    // Each of them is JSON text of its own.
    if let (None, Value::Object(members)) = (step.input, attributes.nested(reader, &format!("{ARGUMENT}."))) {
        let member = |member: &Member<'a>| Member { key: member.key, value: values::said(reader, member.value) };
        step.input = Some(Value::Object(reader.bump.alloc_slice_fill_iter(members.iter().map(member))));
    }
    fill(&mut step.output, first_of(reader, attributes, &["mcp.tool.result.content", "mcp.response.value"]));
    if let Some(Value::True) = attributes.get("mcp.tool.result.is_error") {
        fill(&mut step.failed, Some(true));
    }
}

/// What a model was told and what it answered: attributes first, then events.
fn messages<'a>(reader: Reader<'a>, recorded: &Recorded<'a>) -> (Option<Value<'a>>, Option<Value<'a>>) {
    let attributes = recorded.attributes;
    // What a model was told is long, and hardly anybody asks for it, so it is left as it is written.
    let (mut asked, mut answered) =
        (whole(reader, attributes, events::INPUT), decoded(reader, attributes, events::OUTPUT));
    if asked.is_none() {
        asked = flattened(reader, attributes, "gen_ai.prompt", "user");
    }
    if answered.is_none() {
        answered = flattened(reader, attributes, "gen_ai.completion", "assistant");
    }
    if asked.is_none() || answered.is_none() {
        let (by_events, answered_by_events) = events::messages(reader, recorded);
        fill(&mut asked, by_events);
        fill(&mut answered, answered_by_events);
    }
    (asked, answered)
}

/// `gen_ai.prompt.0.role` and so on, or a text, or JSON text of all messages.
fn flattened<'a>(
    reader: Reader<'a>,
    attributes: Attributes<'a>,
    key: &str,
    default: &'static str,
) -> Option<Value<'a>> {
    if let Some(whole) = attributes.decoded(reader, key) {
        return list_of_some(reader, &events::all_at_once(reader, Some(whole), default));
    }
    let told = attributes.listed(reader, &format!("{key}.")).iter().filter_map(|&message| {
        let word = values::text(message, &["role"]);
        let mut calls: Vec<Value<'a>> = items(message.get("tool_calls"))
            .iter()
            .filter_map(|made| call(reader, made.get("id"), made.get("name"), made.get("arguments")))
            .collect();
        if let (true, Some(made)) = (calls.is_empty(), message.get("function_call")) {
            calls.extend(call(reader, None, made.get("name"), made.get("arguments")));
        }
        let message = Message {
            role: role(word, default)?,
            content: message.get("content").map(|said| content(reader, said)),
            calls,
            call_id: message.get("tool_call_id"),
            name: message.get("name"),
        };
        Some(message.value(reader))
    });
    let told: Vec<Value<'a>> = told.collect();
    list_of_some(reader, &told)
}

#[cfg(test)]
mod tests {
    use super::super::tests::says;

    #[test]
    fn a_tool_that_is_executed() {
        says(
            r#"{"name": "execute_tool lookup", "status": "OK", "attributes": {"gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "lookup", "gen_ai.tool.call.id": "c1", "gen_ai.tool.call.arguments": {"order": 42},
                "gen_ai.tool.call.result": "late", "gen_ai.agent.name": "desk", "gen_ai.conversation.id": "s1"}}"#,
            &[
                "kind: tool_call",
                "name: lookup",
                "id: c1",
                "agent: desk",
                r#"input: {"order": 42}"#,
                r#"output: "late""#,
                "failed: false",
                "conversation: s1",
            ],
        );
        // As keys of their own; and nothing recorded but that it ran.
        says(
            r#"{"name": "x", "attributes": {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f",
                "gen_ai.tool.call.id": "null", "gen_ai.tool.call.arguments.city": "Rome"}}"#,
            &["kind: tool_call", "name: f", r#"input: {"city": "Rome"}"#],
        );
        says(
            r#"{"name": "execute_tool calculate", "attributes": {"gen_ai.operation.name": "execute_tool"}}"#,
            &["kind: tool_call", "name: calculate"],
        );
        says(
            r#"{"name": "execute_tool f", "attributes": {"gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "[{\"name\": \"g\"}]"}}"#,
            &["kind: tool_call", "name: f"],
        );
    }

    #[test]
    fn arguments_of_functions() {
        let of = |more: &str, expected: &[&str]| {
            let start = r#""gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f""#;
            let span = format!(r#"{{"name": "execute_tool f", "attributes": {{{start}, {more}}}}}"#);
            says(&span, &[&["kind: tool_call", "name: f"], expected].concat());
        };
        let parameters = r#""code.function.parameters.x.type": "int", "code.function.parameters.x.value": 1"#;
        of(
            &format!(r#"{parameters}, "code.function.return.value": "one""#),
            &[r#"input: {"x": 1}"#, r#"output: "one""#],
        );
        of(&format!(r#""gen_ai.tool.call.arguments": {{{parameters}}}"#), &[r#"input: {"x": 1}"#]);
        of(r#""code.function.parameters.x.type": "int""#, &[]);
    }

    #[test]
    fn agents_and_handoffs() {
        says(
            r#"{"name": "invoke_agent desk", "attributes": {"gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": "desk",
                "gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": "hi"}]}],
                "gen_ai.output.messages": [{"role": "assistant", "parts": [{"type": "text", "content": "ho"}]}]}}"#,
            &["kind: agent", "name: desk", "asked: hi > -", "answered: - > ho"],
        );
        says(
            r#"{"name": "x", "attributes": {"gen_ai.operation.name": "agent_handoff", "gen_ai.handoff.from_agent": "a",
                "gen_ai.handoff.to_agent": "b"}}"#,
            &["kind: handoff", "name: b", "agent: a"],
        );
        says(
            r#"{"name": "create_agent a", "attributes": {"gen_ai.operation.name": "create_agent", "gen_ai.agent.name":
                "a"}}"#,
            &["kind: chain", "agent: a"],
        );
    }

    #[test]
    fn retrieval() {
        says(
            r#"{"name": "retrieval", "attributes": {"gen_ai.operation.name": "retrieval",
                "gen_ai.retrieval.query.text": "q", "gen_ai.retrieval.documents": "[{\"id\": \"d\", \"score\": 1}]"}}"#,
            &["kind: retrieval", r#"input: "q""#, r#"output: [{"id": "d", "score": 1}]"#],
        );
    }

    #[test]
    fn messages_as_flattened_attributes() {
        says(
            r#"{"name": "openai.chat", "attributes": {"gen_ai.request.model": "m", "llm.request.type": "chat",
                "gen_ai.prompt.prompt_filter_results": "[]",
                "gen_ai.prompt.0.role": "system", "gen_ai.prompt.0.content": "s",
                "gen_ai.prompt.1.role": "user", "gen_ai.prompt.1.content": "hi",
                "gen_ai.prompt.2.role": "assistant", "gen_ai.prompt.2.tool_calls.0.id": "1",
                "gen_ai.prompt.2.tool_calls.0.name": "a", "gen_ai.prompt.2.tool_calls.0.arguments": "{}",
                "gen_ai.prompt.3.role": "tool", "gen_ai.prompt.3.content": "A", "gen_ai.prompt.3.tool_call_id": "1",
                "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.finish_reason": "tool_calls",
                "gen_ai.completion.0.tool_calls.0.id": "2", "gen_ai.completion.0.tool_calls.0.name": "b",
                "gen_ai.completion.0.tool_calls.0.arguments": "{\"x\": 1}",
                "gen_ai.completion.0.tool_calls.1.name": "c"}}"#,
            &[
                "kind: llm",
                "name: m",
                r#"asked: hi > -; 1 a({}) = "A""#,
                r#"answered: - > -; 2 b({"x": 1}) = null; - c(null) = null"#,
            ],
        );
        says(
            r#"{"name": "x", "attributes": {"gen_ai.operation.name": "chat", "gen_ai.prompt": "hi",
                "gen_ai.completion.0.content": [{"type": "tool_use", "id": "1", "name": "a", "input": {}}]}}"#,
            &["kind: llm", "asked: hi > -", "answered: - > -; 1 a({}) = null"],
        );
        says(
            r#"{"name": "x", "attributes": {"gen_ai.operation.name": "chat",
                "gen_ai.tool.name": "a",
                "gen_ai.completion.0.function_call.name": "a", "gen_ai.completion.0.function_call.arguments": "{}"}}"#,
            &["kind: llm", "answered: - > -; - a({}) = null"],
        );
    }

    #[test]
    fn messages_as_events() {
        says(
            r#"{"name": "chat m", "attributes": {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"},
                "events": [
                {"name": "gen_ai.system.message", "attributes": {"content": "s"}},
                {"name": "gen_ai.user.message", "attributes": {"content": "hi"}},
                {"name": "gen_ai.assistant.message", "body": {"tool_calls": [
                    {"id": "1", "type": "function", "function": {"name": "a", "arguments": "{}"}}]}},
                {"name": "gen_ai.tool.message", "body": {"content": "A", "id": "1"}},
                {"name": "gen_ai.choice", "body": {"index": 0, "finish_reason": "stop", "message": {"content": "ho",
                    "tool_calls": [{"id": "2", "function": {"name": "b", "arguments": {"x": 1}}}]}}},
                {"name": "gen_ai.choice", "body": {"index": 1, "message": {"content": "or this"}}},
                {"name": "gen_ai.choice", "body": {"index": "2", "message": {"content": "or that"}}}]}"#,
            &["kind: llm", "name: m", r#"asked: hi > -; 1 a({}) = "A""#, r#"answered: - > ho; 2 b({"x": 1}) = null"#],
        );
        says(
            r#"{"name": "chat m", "attributes": {"gen_ai.operation.name": "chat"}, "events": [
                {"name": "gen_ai.user.message", "attributes": {"gen_ai.event.content": "{\"content\": \"hi\"}"}},
                {"name": "gen_ai.choice", "attributes": {"finish_reason": "stop", "message": "ho",
                    "tool_calls": "[{\"id\": \"2\", \"function\": {\"name\": \"b\"}}]"}}]}"#,
            &["kind: llm", "asked: hi > -", "answered: - > ho; 2 b(null) = null"],
        );
        says(
            r#"{"name": "chat m", "attributes": {"gen_ai.operation.name": "chat"}, "events": [
                {"name": "gen_ai.content.prompt", "attributes": {"gen_ai.prompt": [{"role": "user", "content": "hi"}]}},
                {"name": "gen_ai.content.completion", "attributes": {"gen_ai.completion": "ho"}}]}"#,
            &["kind: llm", "asked: hi > -", "answered: - > ho"],
        );
    }

    #[test]
    fn calls_that_were_cut_off_are_not_none() {
        for (event, error) in [
            (
                r#"{"message": "ho", "tool_calls": "[{\"id\": \"1\", \"function"}"#,
                "[0].tool_calls[0]: expected a tool call",
            ),
            (r#"{"message": "[{\"toolUse\": {\"toolUseId"}"#, "expected a list of chat messages"),
        ] {
            let bump = bumpalo::Bump::new();
            let span = format!(
                r#"{{"name": "chat", "attributes": {{"gen_ai.operation.name": "chat"}}, "events": [
                    {{"name": "gen_ai.choice", "attributes": {event}}}]}}"#
            );
            let (value, reader) = crate::call::Reader::parse(span.as_bytes(), &bump).unwrap();
            let recorded = super::super::tests::recorded(value);
            let answered = crate::trace::spans::tree::step(reader, &recorded, None).answered.unwrap();
            let mut listener = crate::trace::turns::Listener::default();
            let found = crate::trace::messages::hear(reader, answered, &mut listener).unwrap_err().to_string();
            assert!(found.starts_with(error), "{found}");
        }
    }

    #[test]
    fn all_messages_in_one_event() {
        says(
            r#"{"name": "chat m", "attributes": {"gen_ai.operation.name": "chat"}, "events": [
                {"name": "gen_ai.client.inference.operation.details", "attributes": {
                    "gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": "hi"}]}],
                    "gen_ai.output.messages": [{"role": "assistant", "parts": [
                        {"type": "tool_call", "id": "1", "name": "a", "arguments": {}}], "finish_reason":
                        "tool_call"}]}}]}"#,
            &["kind: llm", "asked: hi > -", "answered: - > -; 1 a({}) = null"],
        );
    }

    #[test]
    fn spans_of_mcp() {
        says(
            r#"{"name": "tools/call lookup", "attributes": {"mcp.method.name": "tools/call",
                "gen_ai.operation.name": "execute_tool", "error.type": "tool_error",
                "mcp.request.argument.order": "42", "mcp.request.argument.note": "\"late\""}}"#,
            &[
                "kind: tool_call",
                "name: lookup",
                r#"input: {"order": 42, "note": "late"}"#,
                "failed: true",
                "error: tool_error",
                "is_mcp",
            ],
        );
        says(r#"{"name": "initialize", "attributes": {"mcp.method.name": "initialize"}}"#, &[]);
    }
}
