//! Logfire's integrations: of the Agents SDK, whose spans are told apart by the template of their message, and of
//! providers' clients, whose requests and responses are attributes.

use super::{
    events,
    values::{self, items, list},
};
use crate::{
    call::Reader,
    trace::{
        span::Kind,
        spans::{Dialect, Recorded, Step, attributes::Attributes, fill},
    },
    value::Value,
};

pub const DIALECT: Dialect = Dialect { name: "logfire", title: "Logfire spans", fits, read };

const TEMPLATE: &str = "logfire.msg_template";
const REQUEST: &str = "request_data";
const RESPONSE: &str = "response_data";
const EVENTS: &str = "events";

/// What the templates begin with.
const KINDS: &[(&str, Kind)] = &[
    ("Function: {name}", Kind::ToolCall),
    ("Agent run: {", Kind::Agent),
    ("Handoff: {", Kind::Handoff),
    ("Guardrail {", Kind::Guardrail),
    ("Responses API", Kind::Llm),
    ("Chat completion with {", Kind::Llm),
];

fn fits(recorded: &Recorded<'_>) -> bool {
    kind(recorded.attributes).is_some()
}

fn kind(attributes: Attributes<'_>) -> Option<Kind> {
    let Some(Value::Text(template)) = attributes.get(TEMPLATE) else { return None };
    let template = template.utf8();
    let found = KINDS.iter().find(|(start, _)| template.starts_with(start.as_bytes())).map(|(_, kind)| *kind);
    let asks = || attributes.has(REQUEST) && attributes.has("gen_ai.request.model");
    found.or_else(|| asks().then_some(Kind::Llm))
}

fn read<'a>(reader: Reader<'a>, recorded: &Recorded<'a>, step: &mut Step<'a>) {
    let attributes = recorded.attributes;
    if let Some(kind) = kind(attributes) {
        step.kind(kind);
    }
    match step.kind {
        Some(Kind::ToolCall) => {
            fill(&mut step.name, attributes.text(reader, &["name"]));
            fill(&mut step.input, attributes.get("input"));
            fill(&mut step.output, attributes.get("output"));
        }
        Some(Kind::Agent) => fill(&mut step.name, attributes.text(reader, &["name"])),
        Some(Kind::Handoff) => {
            fill(&mut step.name, attributes.text(reader, &["to_agent"]));
            fill(&mut step.agent, attributes.text(reader, &["from_agent"]));
        }
        Some(Kind::Llm) => {
            let all = attributes.decoded(reader, EVENTS);
            let (asked, answered) = events::of_list(reader, items(all));
            fill(&mut step.asked, asked);
            fill(&mut step.answered, answered);
            let asked = attributes.decoded(reader, REQUEST);
            fill(&mut step.asked, asked.and_then(|asked| values::as_messages(reader, asked, "user")));
            if let (None, Some(response)) = (step.answered, attributes.decoded(reader, RESPONSE)) {
                step.answered = answer(reader, response);
            }
        }
        _ => {}
    }
}

/// A message, or the text that came in pieces.
fn answer<'a>(reader: Reader<'a>, response: Value<'a>) -> Option<Value<'a>> {
    let message = values::given(response.get("message")).map(|message| list(reader, &[message]));
    let message = message.filter(|message| values::are_messages(reader, *message));
    let text = || values::given(response.get("combined_chunk_content").or_else(|| response.get("text")));
    message.or_else(|| values::as_messages(reader, text()?, "assistant"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::says;

    #[test]
    fn the_agents_sdk() {
        says(
            r#"{"name": "Function: {name}", "attributes": {"logfire.msg_template": "Function: {name}", "name": "lookup",
                "input": "{\"x\": 1}", "output": "late", "mcp_data": "null", "gen_ai.system": "openai"}}"#,
            &["kind: tool_call", "name: lookup", r#"input: {"x": 1}"#, r#"output: "late""#],
        );
        says(
            r#"{"name": "x", "attributes": {"logfire.msg_template": "Agent run: {name!r}", "name": "desk"}}"#,
            &["kind: agent", "name: desk"],
        );
        says(
            r#"{"name": "x", "attributes": {"logfire.msg_template": "Handoff: {from_agent} → {to_agent}",
                "from_agent": "a", "to_agent": "b"}}"#,
            &["kind: handoff", "name: b", "agent: a"],
        );
        says(
            r#"{"name": "x", "attributes": {"logfire.msg_template": "Responses API with {gen_ai.request.model!r}",
                "gen_ai.request.model": "m", "events": [
                {"event.name": "gen_ai.user.message", "content": "hi", "role": "user"},
                {"event.name": "gen_ai.choice", "index": 0, "message": {"role": "assistant", "content": "ho"}}]}}"#,
            &["kind: llm", "name: m", "asked: hi > -", "answered: - > ho"],
        );
    }

    #[test]
    fn clients() {
        let says = |response: &str, answered: &str| {
            says(
                &format!(
                    r#"{{"name": "x", "attributes": {{"logfire.msg_template": "Chat Completion with {{…}}",
                        "gen_ai.request.model": "m", "response_data": {response},
                        "request_data": {{"model": "m", "messages": [{{"role": "user", "content": "hi"}}]}}}}}}"#
                ),
                &["kind: llm", "name: m", "asked: hi > -", answered],
            );
        };
        says(r#"{"message": {"role": "assistant", "content": "ho"}, "usage": null}"#, "answered: - > ho");
        says(r#"{"combined_chunk_content": "ho", "chunk_count": 1}"#, "answered: - > ho");
        super::super::tests::says(
            r#"{"name": "x", "attributes": {"logfire.msg_template": "hello {name}", "name": "f", "input": "{}"}}"#,
            &[],
        );
    }
}
