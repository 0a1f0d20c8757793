//! ADK: `gcp.vertex.agent.…`. What a model was asked and answered stands in the spans named `call_llm`, as Gemini
//! contents.

use super::values::{self, has_just, items, list};
use crate::{
    call::Reader,
    trace::{
        decode,
        span::Kind,
        spans::{Dialect, Recorded, Step, attributes::Attributes, fill},
    },
    value::Value,
};

pub const DIALECT: Dialect = Dialect { name: "adk", title: "ADK spans", fits, read };

const PREFIX: &str = "gcp.vertex.agent.";
const ARGUMENTS: &str = "gcp.vertex.agent.tool_call_args";
const RESPONSE: &str = "gcp.vertex.agent.tool_response";
const REQUEST: &str = "gcp.vertex.agent.llm_request";
const ANSWER: &str = "gcp.vertex.agent.llm_response";
const INVOCATION: &str = "gcp.vertex.agent.invocation_id";
const SESSION: &str = "gcp.vertex.agent.session_id";
/// A span that tells again, all together, what parallel calls gave.
const MERGED: &[&str] = &["execute_tool (merged)", "execute_tool (merged tools)"];
const MERGED_TOOLS: &str = "(merged tools)";

fn fits(recorded: &Recorded<'_>) -> bool {
    recorded.attributes.any_under(PREFIX) || is_merged(recorded)
}

fn is_merged(recorded: &Recorded<'_>) -> bool {
    MERGED.iter().any(|name| recorded.name.is(name)) || recorded.attributes.is(super::genai::TOOL_NAME, &[MERGED_TOOLS])
}

fn read<'a>(reader: Reader<'a>, recorded: &Recorded<'a>, step: &mut Step<'a>) {
    let attributes = recorded.attributes;
    fill(&mut step.turn_id, values::id(reader, attributes, &[INVOCATION]));
    fill(&mut step.conversation_id, values::id(reader, attributes, &[SESSION]));
    if is_merged(recorded) {
        step.kind(Kind::ToolCall);
        step.is_repeated = true;
        return;
    }
    if attributes.has(ARGUMENTS) || attributes.has(RESPONSE) {
        step.kind(Kind::ToolCall);
    } else if attributes.has(ANSWER) {
        step.kind(Kind::Llm);
    }
    match step.kind {
        Some(Kind::ToolCall) => {
            fill(&mut step.input, values::whole(reader, attributes, ARGUMENTS));
            let response = values::decoded(reader, attributes, RESPONSE);
            if let (None, Some(response)) = (step.output, response) {
                answered(reader, response, step);
            }
        }
        Some(Kind::Llm) => {
            fill(&mut step.name, attributes.text(reader, super::genai::MODEL));
            let contents = object(reader, attributes, REQUEST).and_then(|request| request.get("contents"));
            fill(&mut step.asked, contents.filter(|contents| !items(Some(*contents)).is_empty()));
            let content = object(reader, attributes, ANSWER).and_then(|answer| answer.get("content"));
            let content = content.filter(|content| !items(content.get("parts")).is_empty());
            fill(&mut step.answered, content.map(|content| list(reader, &[content])));
        }
        _ => {}
    }
}

/// Nothing but braces where contents are not captured.
fn object<'a>(reader: Reader<'a>, attributes: Attributes<'a>, key: &str) -> Option<Value<'a>> {
    values::decoded(reader, attributes, key).filter(|value| matches!(value, Value::Object([_, ..])))
}

/// A function's response is an object: what isn't one is put into one, and so are errors.
fn answered<'a>(reader: Reader<'a>, response: Value<'a>, step: &mut Step<'a>) {
    let inner = ["result", "output"].iter().find(|key| has_just(response, &[key])).and_then(|key| response.get(key));
    if let (true, Some(error)) = (has_just(response, &["error"]), response.get("error")) {
        fill(&mut step.failed, Some(true));
        let text = match error {
            Value::Text(text) => text,
            other => crate::trace::span::json_text(other, reader.bump),
        };
        fill(&mut step.error, Some(text));
    }
    step.output = Some(inner.map_or(response, |inner| decode::decoded(reader, inner)));
}

#[cfg(test)]
mod tests {
    use super::super::tests::says;

    #[test]
    fn tools() {
        says(
            r#"{"name": "execute_tool calc", "attributes": {"gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "calc", "gen_ai.tool.call.id": "c", "gcp.vertex.agent.llm_request": "{}",
                "gcp.vertex.agent.llm_response": "{}", "gcp.vertex.agent.tool_call_args": "{\"x\": 1}",
                "gcp.vertex.agent.tool_response": "{\"result\": \"1\"}", "gcp.vertex.agent.invocation_id": "i",
                "gcp.vertex.agent.session_id": "s"}}"#,
            &[
                "kind: tool_call",
                "name: calc",
                "id: c",
                r#"input: {"x": 1}"#,
                r#"output: "1""#,
                "conversation: s",
                "turn: i",
            ],
        );
        says(
            r#"{"name": "execute_tool calc", "attributes": {"gcp.vertex.agent.tool_call_args": "N/A",
                "gcp.vertex.agent.tool_response": {"error": "closed"}}}"#,
            &["kind: tool_call", "name: calc", r#"output: {"error": "closed"}"#, "failed: true", "error: closed"],
        );
    }

    #[test]
    fn merged_spans_tell_again() {
        for name in ["execute_tool (merged)", "execute_tool x"] {
            says(
                &format!(
                    r#"{{"name": "{name}", "attributes": {{"gen_ai.operation.name": "execute_tool",
                        "gen_ai.tool.name": "(merged tools)", "gcp.vertex.agent.tool_call_args": "N/A"}}}}"#
                ),
                &["kind: tool_call", "name: (merged tools)", "is_repeated"],
            );
        }
    }

    #[test]
    fn models() {
        says(
            r#"{"name": "call_llm", "attributes": {"gen_ai.request.model": "m", "gcp.vertex.agent.llm_request":
                {"model": "m", "config": {}, "contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
                "gcp.vertex.agent.llm_response":
                {"content": {"role": "model", "parts": [{"function_call": {"id": "1", "name": "a", "args": {}}}]}}}}"#,
            &["kind: llm", "name: m", "asked: hi > -", "answered: - > -; 1 a({}) = null"],
        );
        says(
            r#"{"name": "call_llm", "attributes": {"gcp.vertex.agent.llm_request": "{}",
                "gcp.vertex.agent.llm_response": "{}"}}"#,
            &["kind: llm"],
        );
    }
}
