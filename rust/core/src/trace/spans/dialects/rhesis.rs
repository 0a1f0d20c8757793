//! Rhesis: spans called `ai.tool.invoke` and the like, with what they were given and gave as events.

use super::values::{self, Message, list_of_some, role, text};
use crate::{
    call::Reader,
    trace::{
        span::Kind,
        spans::{Dialect, Event, Recorded, Step, attributes::Attributes, fill},
    },
    value::Value,
};

pub const DIALECT: Dialect = Dialect { name: "rhesis", title: "Rhesis spans", fits, read };

const OPERATION: &str = "ai.operation.type";
const TOOL: &str = "ai.tool.name";
const AGENT: &str = "ai.agent.name";

const KINDS: &[(&str, Kind)] = &[
    ("tool.invoke", Kind::ToolCall),
    ("llm.invoke", Kind::Llm),
    ("agent.invoke", Kind::Agent),
    ("agent.handoff", Kind::Handoff),
    ("retrieval", Kind::Retrieval),
    ("embedding.create", Kind::Embedding),
    ("embedding.generate", Kind::Embedding),
    ("rerank", Kind::Rerank),
    ("guardrail", Kind::Guardrail),
    ("evaluation", Kind::Chain),
    ("transform", Kind::Chain),
];

fn fits(recorded: &Recorded<'_>) -> bool {
    recorded.attributes.has(OPERATION) || recorded.attributes.has(TOOL) || kind(recorded).is_some()
}

/// By the type of operation, or else by the name of the span, which is the same word.
fn kind(recorded: &Recorded<'_>) -> Option<Kind> {
    let name = recorded.name.utf8();
    let by_name = name.strip_prefix(b"ai.");
    let of_name = || KINDS.iter().find(|(word, _)| by_name == Some(word.as_bytes())).map(|(_, kind)| *kind);
    recorded.attributes.meaning(OPERATION, KINDS).or_else(of_name)
}

fn read<'a>(reader: Reader<'a>, recorded: &Recorded<'a>, step: &mut Step<'a>) {
    let attributes = recorded.attributes;
    if let Some(kind) = kind(recorded) {
        step.kind(kind);
    }
    fill(&mut step.conversation_id, values::id(reader, attributes, &["ai.session.id", "rhesis.conversation.id"]));
    // Some have it among the attributes of the span.
    let said = |key: &str| {
        let event = recorded.events.iter().find(|event| event.name.is(key));
        let own = |event: &Event<'a>| {
            let content =
                || event.attributes.get("content").or_else(|| event.attributes.get(&format!("{key}.content")));
            event.attributes.get(key).or_else(content)
        };
        event.and_then(own).or_else(|| values::whole(reader, attributes, key)).filter(|it| !values::is_left_out(*it))
    };
    let agent = attributes.text(reader, &[AGENT]);
    match step.kind {
        Some(Kind::ToolCall) => {
            fill(&mut step.name, attributes.text(reader, &[TOOL]));
            fill(&mut step.call_id, values::id(reader, attributes, &["ai.tool.call.id", "ai.tool.call_id"]));
            fill(&mut step.agent, agent);
            fill(&mut step.input, said("ai.tool.input").or_else(|| of_function(reader, attributes)));
            fill(&mut step.output, said("ai.tool.output").or_else(|| attributes.get("function.result")));
        }
        Some(Kind::Agent) => {
            fill(&mut step.name, agent);
            fill(&mut step.input, said("ai.agent.input"));
            fill(&mut step.output, said("ai.agent.output"));
        }
        Some(Kind::Handoff) => {
            fill(&mut step.name, attributes.text(reader, &["ai.agent.handoff.to"]));
            fill(&mut step.agent, attributes.text(reader, &["ai.agent.handoff.from"]).or(agent));
        }
        Some(Kind::Retrieval) => {
            fill(&mut step.input, said("ai.retrieval.query"));
            fill(&mut step.output, said("ai.retrieval.results"));
        }
        Some(Kind::Llm) => {
            fill(&mut step.name, attributes.text(reader, &["ai.model.name"]));
            fill(&mut step.agent, agent);
            fill(&mut step.asked, told(reader, recorded, "ai.prompt", "ai.prompt.content", "user"));
            fill(&mut step.answered, told(reader, recorded, "ai.completion", "ai.completion.content", "assistant"));
        }
        _ => {}
    }
}

/// What an observed function was given, as functions of Python are.
fn of_function<'a>(reader: Reader<'a>, attributes: Attributes<'a>) -> Option<Value<'a>> {
    let (args, kwargs) = (attributes.get("function.args"), attributes.get("function.kwargs"));
    (args.is_some() || kwargs.is_some()).then(|| {
        values::object(
            reader,
            &[("args", Some(args.unwrap_or(Value::Null))), ("kwargs", Some(kwargs.unwrap_or(Value::Null)))],
        )
    })
}

/// A message for each event of this name.
fn told<'a>(
    reader: Reader<'a>,
    recorded: &Recorded<'a>,
    name: &str,
    key: &str,
    default: &'static str,
) -> Option<Value<'a>> {
    let messages = recorded.events.iter().filter(|event| event.name.is(name)).filter_map(|event| {
        let content = event.attributes.get(key)?;
        let word = text(Value::Object(event.attributes.0), &["ai.prompt.role"]);
        Some(Message { role: role(word, default)?, content: Some(content), ..Message::default() }.value(reader))
    });
    let messages: Vec<Value<'a>> = messages.collect();
    list_of_some(reader, &messages)
}

#[cfg(test)]
mod tests {
    use super::super::tests::says;

    #[test]
    fn tools() {
        says(
            r#"{"name": "ai.tool.invoke", "status": "OK", "attributes": {"ai.operation.type": "tool.invoke",
                "ai.tool.name": "lookup", "ai.tool.type": "function", "ai.session.id": "s"}, "events": [
                {"name": "ai.tool.input", "attributes": {"ai.tool.input": "{\"order\": 42}"}},
                {"name": "ai.tool.output", "attributes": {"ai.tool.output": "late"}}]}"#,
            &[
                "kind: tool_call",
                "name: lookup",
                r#"input: {"order": 42}"#,
                r#"output: "late""#,
                "failed: false",
                "conversation: s",
            ],
        );
        says(r#"{"name": "ai.tool.invoke", "attributes": {"ai.tool.name": "f"}}"#, &["kind: tool_call", "name: f"]);
        says(
            r#"{"name": "ai.tool.invoke", "attributes": {"ai.tool.name": "f", "function.args": "[]",
                "function.kwargs": "{\"x\": 1}"}}"#,
            &["kind: tool_call", "name: f", r#"input: {"x": 1}"#],
        );
    }

    #[test]
    fn agents_handoffs_and_models() {
        says(
            r#"{"name": "ai.agent.invoke", "attributes": {"ai.operation.type": "agent.invoke", "ai.agent.name": "desk"},
                "events": [{"name": "ai.agent.input", "attributes": {"ai.agent.input": "hi"}},
                    {"name": "ai.agent.output", "attributes": {"ai.agent.output": "ho"}}]}"#,
            &["kind: agent", "name: desk", r#"input: "hi""#, r#"output: "ho""#],
        );
        says(
            r#"{"name": "ai.agent.handoff", "attributes": {"ai.agent.handoff.from": "a", "ai.agent.handoff.to": "b"}}"#,
            &["kind: handoff", "name: b", "agent: a"],
        );
        says(
            r#"{"name": "ai.llm.invoke", "attributes": {"ai.model.name": "m"}, "events": [
                {"name": "ai.prompt", "attributes": {"ai.prompt.role": "system", "ai.prompt.content": "s"}},
                {"name": "ai.prompt", "attributes": {"ai.prompt.role": "user", "ai.prompt.content": "hi"}},
                {"name": "ai.completion", "attributes": {"ai.completion.content": "ho"}}]}"#,
            &["kind: llm", "name: m", "asked: hi > -", "answered: - > ho"],
        );
    }
}
