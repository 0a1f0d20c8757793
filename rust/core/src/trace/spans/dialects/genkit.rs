//! Genkit: `genkit:metadata:subtype` says what an action is, `genkit:input` and `genkit:output` are JSON text.

use super::values::{self, Message, call, items, list, object, role, text};
use crate::{
    call::Reader,
    text::Text,
    trace::{
        span::{self, Kind},
        spans::{Dialect, Recorded, Step, fill},
    },
    value::Value,
};

pub const DIALECT: Dialect = Dialect { name: "genkit", title: "Genkit spans", fits, read };

const SUBTYPE: &str = "genkit:metadata:subtype";
const NAME: &str = "genkit:name";
const STATE: &str = "genkit:state";

const KINDS: &[(&str, Kind)] = &[
    ("tool", Kind::ToolCall),
    ("tool.v2", Kind::ToolCall),
    ("model", Kind::Llm),
    ("background-model", Kind::Llm),
    ("agent", Kind::Agent),
    ("flow", Kind::Chain),
    ("prompt", Kind::Chain),
    ("executable-prompt", Kind::Chain),
    ("util", Kind::Chain),
    ("evaluator", Kind::Chain),
    ("retriever", Kind::Retrieval),
    ("embedder", Kind::Embedding),
    ("reranker", Kind::Rerank),
];

fn fits(recorded: &Recorded<'_>) -> bool {
    recorded.attributes.has(SUBTYPE) || recorded.attributes.has(NAME)
}

fn read<'a>(reader: Reader<'a>, recorded: &Recorded<'a>, step: &mut Step<'a>) {
    let attributes = recorded.attributes;
    if let Some(kind) = attributes.meaning(SUBTYPE, KINDS) {
        step.kind(kind);
    }
    fill(&mut step.conversation_id, values::id(reader, attributes, &["genkit:sessionId"]));
    if step.kind.is_none() {
        return;
    }
    fill(&mut step.name, attributes.text(reader, &[NAME]));
    let said = |key: &str| values::given(attributes.get(key).map(|value| values::said(reader, value)));
    let (input, output) = (said("genkit:input"), said("genkit:output"));
    match step.kind {
        Some(Kind::Llm) => {
            let messages = |found: &[Value<'a>], default| {
                let told: Vec<Value<'a>> = found.iter().flat_map(|&one| messages(reader, one, default)).collect();
                values::list_of_some(reader, &told)
            };
            let asked = input.and_then(|input| messages(items(input.get("messages")), "user"));
            fill(&mut step.asked, asked);
            let answer = output.and_then(|output| output.get("message"));
            fill(&mut step.answered, answer.and_then(|answer| messages(&[answer], "assistant")));
        }
        _ => {
            fill(&mut step.input, input);
            fill(&mut step.output, output);
        }
    }
    if attributes.is(STATE, &["error"]) {
        fill(&mut step.failed, Some(true));
    }
}

/// Chat messages of one of Genkit's, which may hold the results of several calls.
fn messages<'a>(reader: Reader<'a>, message: Value<'a>, default: &'static str) -> Vec<Value<'a>> {
    let Some(role) = role(text(message, &["role"]), default) else { return Vec::new() };
    let (mut blocks, mut calls, mut results) = (Vec::new(), Vec::new(), Vec::new());
    let id = |holder: Value<'a>| values::given(holder.get("ref"));
    for part in items(message.get("content")) {
        if let Some(request) = part.get("toolRequest") {
            calls.extend(call(reader, id(request), request.get("name"), request.get("input")));
        } else if let Some(response) = part.get("toolResponse") {
            let content = match response.get("output") {
                Some(said @ Value::Text(_)) => Some(said),
                Some(data) => Some(Value::Text(span::json_text(data, reader.bump))),
                None => None,
            };
            let name = response.get("name");
            let result = Message { role: "tool", content, call_id: id(response), name, ..Message::default() };
            results.push(result.value(reader));
        } else if let Some(said) = part.get("text") {
            blocks.push(object(reader, &[("type", Some(Value::Text(Text::from("text")))), ("text", Some(said))]));
        }
    }
    if !(results.is_empty() || role == "assistant") || role == "tool" {
        return results;
    }
    let content = (!blocks.is_empty()).then(|| list(reader, &blocks));
    let said = Message { role, content, calls, ..Message::default() }.value(reader);
    [said].into_iter().chain(results).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::says;

    #[test]
    fn tools() {
        says(
            r#"{"name": "getWeather", "attributes": {"genkit:name": "getWeather", "genkit:type": "action",
                "genkit:metadata:subtype": "tool", "genkit:input": "{\"city\": \"Rome\"}", "genkit:output": "\"sunny\"",
                "genkit:state": "success", "genkit:sessionId": "s"}}"#,
            &[
                "kind: tool_call",
                "name: getWeather",
                r#"input: {"city": "Rome"}"#,
                r#"output: "sunny""#,
                "conversation: s",
            ],
        );
        says(
            r#"{"name": "f", "attributes": {"genkit:name": "f", "genkit:metadata:subtype": "tool.v2", "genkit:state":
                "error"}}"#,
            &["kind: tool_call", "name: f", "failed: true"],
        );
    }

    #[test]
    fn models() {
        says(
            r#"{"name": "m", "attributes": {"genkit:name": "googleai/m", "genkit:metadata:subtype": "model",
                "genkit:input":
                {"messages": [{"role": "user", "content": [{"text": "hi"}]}, {"role": "model", "content":
                [{"toolRequest": {"name": "a", "ref": "1", "input": {}}}]}, {"role": "tool", "content":
                [{"toolResponse": {"name": "a", "ref": "1", "output": "A"}}]}]},
                "genkit:output":
                {"message": {"role": "model", "content": [{"text": "Wait."}, {"toolRequest": {"name": "b", "input":
                {"x": 1}}}]}}}}"#,
            &[
                "kind: llm",
                "name: googleai/m",
                r#"asked: hi > -; 1 a({}) = "A""#,
                r#"answered: - > Wait.; - b({"x": 1}) = null"#,
            ],
        );
    }

    #[test]
    fn flows() {
        says(
            r#"{"name": "flow", "attributes": {"genkit:name": "flow", "genkit:metadata:subtype": "flow",
                "genkit:input": "\"hi\"", "genkit:output": "\"ho\""}}"#,
            &["kind: chain", "name: flow", r#"input: "hi""#, r#"output: "ho""#],
        );
        says(r#"{"name": "step", "attributes": {"genkit:name": "step", "genkit:type": "flowStep"}}"#, &[]);
    }
}
