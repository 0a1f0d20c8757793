//! Pydantic AI, beside what the GenAI conventions say: the words of its first version (`tool_arguments`, spans named
//! `running tool: X` and `running 3 tools`), and all messages of a run in one attribute of the agent's span.

use super::{
    events,
    values::{self, items, list, list_of_some},
};
use crate::{
    call::Reader,
    trace::{
        span::Kind,
        spans::{Dialect, Recorded, Step, fill},
    },
    value::Value,
};

pub const DIALECT: Dialect = Dialect { name: "pydantic_ai", title: "Pydantic AI spans", fits, read };

const ARGUMENTS: &str = "tool_arguments";
const RESPONSE: &str = "tool_response";
const ALL: &str = "pydantic_ai.all_messages";
/// Where the messages of this run begin, after those that it was given.
const NEW: &str = "pydantic_ai.new_message_index";
const ALL_EVENTS: &str = "all_messages_events";
const EVENTS: &str = "events";
const AGENT: &str = "agent_name";
const RESULT: &str = "final_result";
/// Before the name of the tool, or without it.
const RUNNING_TOOL: &str = "running tool";

fn fits(recorded: &Recorded<'_>) -> bool {
    let attributes = recorded.attributes;
    [ARGUMENTS, RESPONSE, ALL, ALL_EVENTS].iter().any(|key| attributes.has(key))
        || attributes.has(AGENT) && attributes.has("model_name")
        || attributes.has(EVENTS) && attributes.has("model_request_parameters")
        || is_group(recorded)
        || is_tool(recorded)
}

/// What holds the spans of several tools.
fn is_group(recorded: &Recorded<'_>) -> bool {
    let name = recorded.name.utf8();
    let counted = |tools: &[u8]| {
        let number = tools.strip_suffix(b" tools").or_else(|| tools.strip_suffix(b" tool")).unwrap_or_default();
        !number.is_empty() && number.iter().all(u8::is_ascii_digit)
    };
    name.strip_prefix(b"running ").is_some_and(|tools| tools == b"tools" || counted(tools))
}

fn is_tool(recorded: &Recorded<'_>) -> bool {
    let name = recorded.name.utf8();
    name.strip_prefix(RUNNING_TOOL.as_bytes()).is_some_and(|rest| rest.is_empty() || rest.starts_with(b": "))
}

fn read<'a>(reader: Reader<'a>, recorded: &Recorded<'a>, step: &mut Step<'a>) {
    let attributes = recorded.attributes;
    if is_group(recorded) {
        step.kind(Kind::Chain);
        return;
    }
    if attributes.has(ARGUMENTS) || attributes.has(RESPONSE) || is_tool(recorded) {
        step.kind(Kind::ToolCall);
    } else if attributes.has(AGENT) {
        step.kind(Kind::Agent);
    } else if attributes.has(EVENTS) {
        step.kind(Kind::Llm);
    }
    match step.kind {
        Some(Kind::ToolCall) => {
            fill(&mut step.input, values::whole(reader, attributes, ARGUMENTS));
            fill(&mut step.output, values::whole(reader, attributes, RESPONSE));
        }
        Some(Kind::Agent) => {
            let own = step.agent.take();
            fill(&mut step.name, own.or_else(|| attributes.text(reader, &[AGENT])));
            fill(&mut step.output, attributes.get(RESULT));
            let all = values::decoded(reader, attributes, ALL);
            let new = match attributes.get(NEW) {
                Some(Value::Int(new)) => usize::try_from(new).unwrap_or_default(),
                _ => 0,
            };
            let (asked, answered) = parted(reader, items(all), new);
            fill(&mut step.asked, asked);
            fill(&mut step.answered, answered);
            let all = values::decoded(reader, attributes, ALL_EVENTS);
            let told: Vec<Value<'a>> = events::in_order(reader, items(all));
            let (asked, answered) = parted(reader, &told, 0);
            fill(&mut step.asked, asked);
            fill(&mut step.answered, answered);
        }
        Some(Kind::Llm) => {
            let all = values::decoded(reader, attributes, EVENTS);
            let (asked, answered) = events::of_list(reader, items(all));
            fill(&mut step.asked, asked);
            fill(&mut step.answered, answered);
        }
        _ => {}
    }
}

/// What a run was asked, with all that was told before it, and what came of that.
fn parted<'a>(reader: Reader<'a>, all: &[Value<'a>], new: usize) -> (Option<Value<'a>>, Option<Value<'a>>) {
    let is_answer =
        |message: &Value<'a>| matches!(message.get("role"), Some(Value::Text(role)) if role.is("assistant"));
    let old = new.min(all.len());
    let fresh = all.get(old..).unwrap_or_default();
    let cut = old + fresh.iter().position(is_answer).unwrap_or(fresh.len());
    let (asked, answered) = all.split_at_checked(cut).unwrap_or((all, &[]));
    let answered = (!answered.is_empty()).then(|| list(reader, answered));
    (list_of_some(reader, asked), answered)
}

#[cfg(test)]
mod tests {
    use super::super::tests::says;

    #[test]
    fn tools_of_the_first_version() {
        says(
            r#"{"name": "running tool: lookup", "attributes": {"gen_ai.tool.name": "lookup", "gen_ai.tool.call.id": "c",
                "tool_arguments": "{\"order\": 42}", "tool_response": "late", "logfire.msg": "running tool: lookup"}}"#,
            &["kind: tool_call", "name: lookup", "id: c", r#"input: {"order": 42}"#, r#"output: "late""#],
        );
        says(r#"{"name": "running tool: lookup", "attributes": {}}"#, &["kind: tool_call", "name: lookup"]);
        says(
            r#"{"name": "running tool", "attributes": {"gen_ai.tool.name": "lookup", "gen_ai.tool.call.id": "c"}}"#,
            &["kind: tool_call", "name: lookup", "id: c"],
        );
        says(r#"{"name": "running a tool", "attributes": {"gen_ai.tool.name": "a"}}"#, &["kind: tool_call", "name: a"]);
        for group in ["running 3 tools", "running 1 tool", "running tools"] {
            says(
                &format!(r#"{{"name": "{group}", "attributes": {{"tools": ["a"], "gen_ai.tool.name": "a"}}}}"#),
                &["kind: chain"],
            );
        }
    }

    #[test]
    fn agents_with_all_messages() {
        says(
            r#"{"name": "invoke_agent desk", "attributes": {"gen_ai.operation.name": "invoke_agent", "model_name": "m",
                "agent_name": "desk", "gen_ai.agent.name": "desk", "final_result": "Done.",
                "pydantic_ai.all_messages": [{"role": "user", "parts": [{"type": "text", "content": "hi"}]}, {"role":
                "assistant", "parts": [{"type": "tool_call", "id": "1", "name": "a", "arguments": {}}]}, {"role":
                "user", "parts": [{"type": "tool_call_response", "id": "1", "result": "A"}]}, {"role": "assistant",
                "parts": [{"type": "text", "content": "Done."}]}]}}"#,
            &[
                "kind: agent",
                "name: desk",
                r#"output: "Done.""#,
                "asked: hi > -",
                r#"answered: - > Done.; 1 a({}) = "A""#,
            ],
        );
        // What was said before this run was asked, not answered.
        says(
            r#"{"name": "desk run", "attributes": {"model_name": "m", "agent_name": "desk",
                "pydantic_ai.new_message_index": 2,
                "pydantic_ai.all_messages": [{"role": "user", "parts": [{"type": "text", "content": "one"}]},
                    {"role": "assistant", "parts": [{"type": "text", "content": "first"}]},
                    {"role": "user", "parts": [{"type": "text", "content": "two"}]},
                    {"role": "assistant", "parts": [{"type": "text", "content": "second"}]}]}}"#,
            &["kind: agent", "name: desk", "asked: one > first; two > -", "answered: - > second"],
        );
    }

    #[test]
    fn events_in_an_attribute() {
        says(
            r#"{"name": "chat m", "attributes": {"gen_ai.operation.name": "chat", "model_request_parameters": "{}",
                "events":
                [{"event.name": "gen_ai.user.message", "content": "hi", "role": "user"}, {"event.name": "gen_ai.choice",
                "index": 0, "message": {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function":
                {"name": "a", "arguments": {}}}]}}]}}"#,
            &["kind: llm", "asked: hi > -", "answered: - > -; 1 a({}) = null"],
        );
        says(
            r#"{"name": "agent run", "attributes": {"model_name": "m", "agent_name": "desk", "all_messages_events": [
                {"event.name": "gen_ai.user.message", "content": "hi", "role": "user"},
                {"event.name": "gen_ai.assistant.message", "role": "assistant", "content": "ho"}]}}"#,
            &["kind: agent", "name: desk", "asked: hi > -", "answered: - > ho"],
        );
    }
}
