//! Strands: what a tool was given and gave stands in events of its span, and how it went in an attribute. Its first
//! version had attributes for all of it.

use super::{
    events::{self, CHOICE, Fields, TOOL_MESSAGE},
    values::{self, id, items, text},
};
use crate::{
    call::Reader,
    text::Text,
    trace::{
        decode,
        span::Kind,
        spans::{Dialect, Recorded, Step, fill},
    },
    value::Value,
};

pub const DIALECT: Dialect = Dialect { name: "strands", title: "Strands spans", fits, read };

const STATUS: &str = "gen_ai.tool.status";
const CYCLE: &str = "event_loop.cycle_id";
const OLD_STATUS: &str = "tool.status";

fn fits(recorded: &Recorded<'_>) -> bool {
    let attributes = recorded.attributes;
    [STATUS, CYCLE, OLD_STATUS].iter().any(|key| attributes.has(key)) || recorded.events.iter().any(events::is_one)
}

fn read<'a>(reader: Reader<'a>, recorded: &Recorded<'a>, step: &mut Step<'a>) {
    let attributes = recorded.attributes;
    if attributes.has(STATUS) || attributes.has(OLD_STATUS) {
        step.kind(Kind::ToolCall);
    } else if attributes.has(CYCLE) {
        step.kind(Kind::Chain);
    }
    if !step.is(Kind::ToolCall) {
        return;
    }
    for status in [STATUS, OLD_STATUS] {
        let failed = attributes.is(status, &["error"]);
        fill(&mut step.failed, (failed || attributes.is(status, &["success"])).then_some(failed));
    }
    if attributes.has(OLD_STATUS) {
        fill(&mut step.name, attributes.text(reader, &["tool.name"]));
        fill(&mut step.call_id, id(reader, attributes, &["tool.id"]));
        fill(&mut step.input, attributes.get("tool.parameters"));
        fill(&mut step.output, attributes.decoded(reader, "tool.result").map(|result| unpacked(reader, result)));
    }
    // The key that the conventions have for it holds blocks, too.
    if attributes.has(STATUS)
        && let Some(blocks @ Value::Array(_)) = step.output.map(|output| decode::decoded(reader, output))
    {
        step.output = Some(unpacked(reader, blocks));
    }
    for event in &recorded.events {
        let (name, fields) = (event.name, Fields::of(reader, event));
        if name.is(TOOL_MESSAGE) {
            fill(&mut step.input, fields.get("content"));
        } else if name.is(CHOICE) {
            let gave = fields.get("message").map(|message| decode::decoded(reader, message));
            fill(&mut step.output, gave.map(|blocks| unpacked(reader, blocks)));
        } else {
            told(reader, fields, step);
        }
    }
}

/// The parts of messages that hold the call and its response.
fn told<'a>(reader: Reader<'a>, fields: Fields<'a>, step: &mut Step<'a>) {
    for key in [events::INPUT, events::OUTPUT] {
        let messages = fields.get(key).map(|messages| decode::decoded(reader, messages));
        for &part in items(messages).iter().flat_map(|message| items(message.get("parts"))) {
            let kind = text(part, &["type"]).unwrap_or(Text::from(""));
            if kind.is("tool_call") {
                fill(&mut step.name, text(part, &["name"]));
                fill(&mut step.call_id, text(part, &["id"]));
                fill(&mut step.input, values::given(part.get("arguments")));
            } else if kind.is("tool_call_response") {
                let response = values::given(part.get("response").or_else(|| part.get("result")));
                fill(&mut step.output, response.map(|blocks| unpacked(reader, blocks)));
            }
        }
    }
}

/// The blocks of a result: texts become a text, and a single piece of data is that.
fn unpacked<'a>(reader: Reader<'a>, blocks: Value<'a>) -> Value<'a> {
    let Value::Array(items @ [_, ..]) = blocks else { return blocks };
    let texts: Vec<Text<'a>> = items
        .iter()
        .filter_map(|block| match block {
            Value::Object([only]) if only.key.is("text") => text(*block, &["text"]).or(Some(Text::from(""))),
            _ => None,
        })
        .collect();
    match (items, texts.as_slice()) {
        ([block @ Value::Object([only])], []) if only.key.is("json") => block.get("json").unwrap_or(blocks),
        (_, [text]) if items.len() == 1 => Value::Text(*text),
        (_, all) if all.len() == items.len() => Value::Text(Text::joined(all, "\n", reader.bump)),
        _ => blocks,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::says;

    const TOOL: &str = r#""name": "execute_tool calc", "attributes": {"gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "calc", "gen_ai.tool.call.id": "c", "gen_ai.tool.status": "success"}"#;

    #[test]
    fn tools() {
        let says = |events: &str| {
            says(
                &format!(r#"{{{TOOL}, "events": [{events}]}}"#),
                &[
                    "kind: tool_call",
                    "name: calc",
                    "id: c",
                    r#"input: {"x": 1}"#,
                    r#"output: "one\ntwo""#,
                    "failed: false",
                ],
            );
        };
        says(
            r#"{"name": "gen_ai.tool.message", "attributes": {"role": "tool", "content": {"x": 1}, "id": "c"}},
               {"name": "gen_ai.choice", "attributes": {"message": [{"text": "one"}, {"text": "two"}], "id": "c"}}"#,
        );
        says(
            r#"{"name": "gen_ai.client.inference.operation.details", "attributes": {"gen_ai.input.messages":
                [{"role": "tool", "parts": [{"type": "tool_call", "name": "calc", "id": "c", "arguments": {"x":
                1}}]}]}},
               {"name": "gen_ai.client.inference.operation.details", "attributes": {"gen_ai.output.messages":
                [{"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": [{"text": "one"},
                {"text": "two"}]}]}]}}"#,
        );
    }

    #[test]
    fn a_tool_that_failed_and_one_of_the_first_version() {
        says(
            r#"{"name": "execute_tool calc", "status": "OK", "attributes": {"gen_ai.tool.name": "calc",
                "gen_ai.tool.status": "error"}, "events": [
                {"name": "gen_ai.choice", "attributes": {"message": "[{\"json\": {\"y\": 2}}]"}}]}"#,
            &["kind: tool_call", "name: calc", r#"output: {"y": 2}"#, "failed: true"],
        );
        says(
            r#"{"name": "Tool: calc", "attributes": {"tool.name": "calc", "tool.id": "c", "tool.parameters": {"x": 1},
                "tool.result": "[{\"text\": \"1\"}]", "tool.status": "success"}}"#,
            &["kind: tool_call", "name: calc", "id: c", r#"input: {"x": 1}"#, r#"output: "1""#, "failed: false"],
        );
    }

    #[test]
    fn results_under_the_key_of_the_conventions() {
        for (gave, output) in [
            (r#"[{"text": "ok"}]"#, r#""ok""#),
            (r#"[{"json": {"y": 2}}]"#, r#"{"y": 2}"#),
            (r#"[{"text": "one"}, {"text": "two"}]"#, r#""one\ntwo""#),
            (r#"[{"text": "one"}, {"json": 2}]"#, r#"[{"text": "one"}, {"json": 2}]"#),
            ("[1, 2]", "[1, 2]"),
        ] {
            says(
                &format!(
                    r#"{{"name": "execute_tool f", "attributes": {{"gen_ai.operation.name": "execute_tool",
                        "gen_ai.tool.name": "f", "gen_ai.tool.call.result": {gave:?},
                        "gen_ai.tool.status": "success"}}}}"#
                ),
                &["kind: tool_call", "name: f", &format!("output: {output}"), "failed: false"],
            );
        }
    }

    #[test]
    fn models_and_cycles() {
        let events = r#""events": [{"name": "gen_ai.user.message", "attributes": {"content": "[{\"text\": \"hi\"}]"}},
            {"name": "gen_ai.assistant.message", "attributes": {"content":
                "[{\"toolUse\": {\"toolUseId\": \"1\", \"name\": \"a\", \"input\": {}}}]"}},
            {"name": "gen_ai.tool.message", "attributes": {"content":
                [{"toolResult": {"toolUseId": "1", "content": [{"text": "A"}], "status": "success"}}]}},
            {"name": "gen_ai.choice", "attributes": {"finish_reason": "tool_use", "message":
                [{"text": "Wait."}, {"toolUse": {"toolUseId": "2", "name": "b", "input": {"x": 1}}}]}}]"#;
        let told = [r#"asked: hi > -; 1 a({}) = "A""#, r#"answered: - > Wait.; 2 b({"x": 1}) = null"#];
        says(
            &format!(r#"{{"name": "chat", "attributes": {{"gen_ai.operation.name": "chat"}}, {events}}}"#),
            &[&["kind: llm"][..], &told].concat(),
        );
        says(
            &format!(r#"{{"name": "cycle", "attributes": {{"event_loop.cycle_id": "1"}}, {events}}}"#),
            &[&["kind: chain"][..], &told].concat(),
        );
    }
}
