//! The Vercel AI SDK up to version 6: `ai.operationId`, `ai.toolCall.…`, `ai.prompt.…`, `ai.response.…`.

use super::values::{self, Message, call, list, text};
use crate::{
    call::Reader,
    trace::{
        decode,
        span::Kind,
        spans::{Dialect, Recorded, Step, attributes::Attributes, fill},
    },
    value::Value,
};

pub const DIALECT: Dialect = Dialect { name: "vercel", title: "Vercel AI SDK spans", fits, read };

const OPERATION: &str = "ai.operationId";
const TOOL: &str = "ai.toolCall";
const NAME: &str = "ai.toolCall.name";
const SESSION: &[&str] = &[
    "ai.telemetry.metadata.sessionId",
    "ai.telemetry.metadata.threadId",
    "ai.telemetry.metadata.conversationId",
    "ai.telemetry.metadata.chatId",
];

fn fits(recorded: &Recorded<'_>) -> bool {
    recorded.attributes.has(OPERATION) || recorded.attributes.has(NAME)
}

/// The outer span of a call goes by the name of the function; the inner ones, `.doGenerate`, ask the model.
fn kind(attributes: Attributes<'_>) -> Option<Kind> {
    let Some(Value::Text(operation)) = attributes.get(OPERATION) else {
        return attributes.has(NAME).then_some(Kind::ToolCall);
    };
    let operation = operation.utf8();
    let ends = |suffix: &str| operation.ends_with(suffix.as_bytes());
    let begins = |prefix: &str| operation.starts_with(prefix.as_bytes());
    match () {
        () if operation == TOOL.as_bytes() => Some(Kind::ToolCall),
        () if begins("ai.embed") => Some(Kind::Embedding),
        () if begins("ai.rerank") => Some(Kind::Rerank),
        () if ends(".doGenerate") || ends(".doStream") => Some(Kind::Llm),
        () if begins("ai.generate") || begins("ai.stream") => Some(Kind::Chain),
        () => None,
    }
}

fn read<'a>(reader: Reader<'a>, recorded: &Recorded<'a>, step: &mut Step<'a>) {
    let attributes = recorded.attributes;
    if let Some(kind) = kind(attributes) {
        step.kind(kind);
    }
    fill(&mut step.conversation_id, values::id(reader, attributes, SESSION));
    match step.kind {
        Some(Kind::ToolCall) => {
            fill(&mut step.name, attributes.text(reader, &[NAME]));
            fill(&mut step.call_id, values::id(reader, attributes, &["ai.toolCall.id"]));
            fill(&mut step.input, values::first_of(reader, attributes, &["ai.toolCall.args", "ai.toolCall.input"]));
            let result = values::first_of(reader, attributes, &["ai.toolCall.result", "ai.toolCall.output"]);
            fill(&mut step.output, result.map(|result| values::said(reader, result)));
        }
        Some(Kind::Llm | Kind::Chain) => {
            if step.is(Kind::Llm) {
                fill(&mut step.name, attributes.text(reader, &["ai.model.id", "gen_ai.request.model"]));
            } else {
                fill(&mut step.input, prompt(attributes.decoded(reader, "ai.prompt")));
                fill(&mut step.output, spoken(attributes));
            }
            fill(&mut step.asked, asked(reader, attributes));
            fill(&mut step.answered, answered(reader, attributes));
        }
        _ => {}
    }
}

/// What was asked, as a text if it was one.
fn prompt(value: Option<Value<'_>>) -> Option<Value<'_>> {
    value.map(|value| text(value, &["prompt"]).map_or(value, Value::Text))
}

fn asked<'a>(reader: Reader<'a>, attributes: Attributes<'a>) -> Option<Value<'a>> {
    let written = attributes.decoded(reader, "ai.prompt.messages");
    let prompt = || attributes.decoded(reader, "ai.prompt");
    match written.or_else(|| prompt()?.get("messages")).or_else(|| prompt()?.get("prompt")) {
        Some(messages @ Value::Array([_, ..])) => Some(messages),
        Some(content @ Value::Text(_)) => {
            let message = Message { role: "user", content: Some(content), ..Message::default() };
            Some(list(reader, &[message.value(reader)]))
        }
        _ => None,
    }
}

/// Version 3 called it a result.
fn spoken(attributes: Attributes<'_>) -> Option<Value<'_>> {
    ["ai.response.text", "ai.result.text", "ai.response.object", "ai.result.object"]
        .iter()
        .find_map(|key| attributes.get(key))
        .filter(|said| !values::is_left_out(*said))
}

fn answered<'a>(reader: Reader<'a>, attributes: Attributes<'a>) -> Option<Value<'a>> {
    let made = ["ai.response.toolCalls", "ai.result.toolCalls"].iter().find_map(|key| attributes.decoded(reader, key));
    let calls: Vec<Value<'a>> = values::calls(made)
        .into_iter()
        .filter_map(|made| {
            if let Value::Text(_) = made {
                return Some(made);
            }
            let arguments = made.get("args").or_else(|| made.get("input"));
            let arguments = arguments.map(|arguments| decode::decoded(reader, arguments));
            call(reader, made.get("toolCallId"), made.get("toolName"), arguments)
        })
        .collect();
    let said = spoken(attributes).filter(|said| matches!(said, Value::Text(text) if !text.is_empty()));
    if calls.is_empty() && said.is_none() {
        return None;
    }
    let message = Message { role: "assistant", content: said, calls, ..Message::default() };
    Some(list(reader, &[message.value(reader)]))
}

#[cfg(test)]
mod tests {
    use super::super::tests::says;

    #[test]
    fn tools() {
        says(
            r#"{"name": "ai.toolCall", "attributes": {"ai.operationId": "ai.toolCall", "operation.name": "ai.toolCall",
                "ai.toolCall.name": "getWeather", "ai.toolCall.id": "c", "ai.toolCall.args": "{\"city\": \"Rome\"}",
                "ai.toolCall.result": "\"sunny\"", "ai.telemetry.metadata.sessionId": "s"}}"#,
            &[
                "kind: tool_call",
                "name: getWeather",
                "id: c",
                r#"input: {"city": "Rome"}"#,
                r#"output: "sunny""#,
                "conversation: s",
            ],
        );
    }

    #[test]
    fn models_and_what_is_around_them() {
        says(
            r#"{"name": "ai.generateText.doGenerate", "attributes": {"ai.operationId": "ai.generateText.doGenerate",
                "ai.model.id": "m", "ai.prompt.messages":
                [{"role": "user", "content": [{"type": "text", "text": "hi"}]}, {"role": "assistant", "content":
                [{"type": "tool-call", "toolCallId": "1", "toolName": "a", "input": {}}]}],
                "ai.response.text": "Wait.", "ai.response.toolCalls":
                "[{\"toolCallId\": \"2\", \"toolName\": \"b\", \"args\": \"{\\\"x\\\": 1}\"}]"}}"#,
            &["kind: llm", "name: m", "asked: hi > -; 1 a({}) = null", r#"answered: - > Wait.; 2 b({"x": 1}) = null"#],
        );
        says(
            r#"{"name": "ai.streamText", "attributes": {"ai.operationId": "ai.streamText", "ai.prompt": {"prompt":
                "hi"},
                "ai.response.text": "ho"}}"#,
            &["kind: chain", r#"input: "hi""#, r#"output: "ho""#, "asked: hi > -", "answered: - > ho"],
        );
        says(r#"{"name": "x", "attributes": {"ai.operationId": "ai.embedMany.doEmbed"}}"#, &["kind: embedding"]);
    }
}
