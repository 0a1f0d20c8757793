//! What the tracing of OpenAI's Agents SDK exports: traces and spans one by one, or in the body of what it sends.

use super::{
    row::{self, found},
    said::{self, Speaker},
};
use crate::{
    call::Reader,
    error::Error,
    text::Text,
    trace::{
        span::Kind,
        spans::{About, Dialect, Encoding, Exported, Recorded, Status, Step, attributes::Attributes, fill},
    },
    value::Value,
};

pub const ENCODING: Encoding = Encoding { name: "openai_agents", title: "traces of OpenAI's Agents SDK", fits, read };

pub const DIALECT: Dialect = Dialect {
    name: "openai_agents",
    title: "spans of OpenAI's Agents SDK",
    fits: |recorded| is_span(recorded.row),
    read: tell,
};

const DATA: &str = "data";
const SPAN_DATA: &str = "span_data";

const KINDS: &[(&str, Kind)] = &[
    ("function", Kind::ToolCall),
    ("generation", Kind::Llm),
    ("response", Kind::Llm),
    ("agent", Kind::Agent),
    ("handoff", Kind::Handoff),
    ("guardrail", Kind::Guardrail),
    ("custom", Kind::Chain),
];

fn fits(record: Value<'_>) -> bool {
    let is_ours = |record| is_trace(record) || is_span(record);
    is_ours(record) || row::list(record, &[DATA]).first().is_some_and(|first| is_ours(*first))
}

fn is_trace(record: Value<'_>) -> bool {
    row::is_word(record, "object", &["trace"]) && record.get("workflow_name").is_some()
}

fn is_span(record: Value<'_>) -> bool {
    row::is_word(record, "object", &["trace.span"]) && row::is_object(record.get(SPAN_DATA))
}

fn read<'a>(exported: &mut Exported<'a>, record: Value<'a>) -> Result<(), Error> {
    if let Some(Value::Array(items)) = record.get(DATA).filter(|_| fits(record)) {
        row::each(exported, items, DATA, one);
        return Ok(());
    }
    one(exported, record)
}

fn one<'a>(exported: &mut Exported<'a>, row: Value<'a>) -> Result<(), Error> {
    let reader = exported.reader;
    if is_trace(row) {
        if let Some(trace_id) = row::id(reader, row, &["id"]) {
            exported.traces.push(About {
                trace_id,
                conversation_id: row::id(reader, row, &["group_id"]),
                input: Value::Null,
                output: Value::Null,
                attributes: row::columns(reader, row, &["workflow_name", "metadata"]),
            });
        }
        return Ok(());
    }
    if !row::is_word(row, "object", &["trace.span"]) {
        return Err(row::not_a_row("a trace or a span of the Agents SDK", row));
    }
    let data = found(row, &[SPAN_DATA]).unwrap_or(Value::Null);
    let error = found(row, &["error"]);
    exported.spans.push(Recorded {
        trace_id: row::id(reader, row, &["trace_id"]).unwrap_or(Text::from("")),
        id: row::id(reader, row, &["id"]),
        parent_id: row::id(reader, row, &["parent_id"]),
        name: row::text(reader, data, &["name", "type"]).unwrap_or(Text::from("")),
        started_at: row::time(row, &["started_at"]),
        ended_at: row::time(row, &["ended_at"]),
        status: error.map(|_| Status::Error),
        status_message: reason(reader, error),
        attributes: Attributes(&[]),
        events: Vec::new(),
        row,
    });
    Ok(())
}

/// The message of an error is the same for all tools; its data says more.
fn reason<'a>(reader: Reader<'a>, error: Option<Value<'a>>) -> Option<Text<'a>> {
    let message = row::error(reader, error, &["message"])?;
    let detail = error.and_then(|error| error.get(DATA)).and_then(|data| row::text(reader, data, &["error"]));
    Some(detail.map_or(message, |detail| Text::joined(&[message, detail], ": ", reader.bump)))
}

fn tell<'a>(reader: Reader<'a>, recorded: &Recorded<'a>, step: &mut Step<'a>) {
    let data = found(recorded.row, &[SPAN_DATA]).unwrap_or(Value::Null);
    let name = row::text(reader, data, &["name"]);
    let (input, output) = (found(data, &["input"]), found(data, &["output"]));
    if let Some(kind) = row::kind(data, &["type"], KINDS) {
        step.kind(kind);
    }
    match step.kind {
        Some(Kind::ToolCall) => {
            fill(&mut step.name, name);
            fill(&mut step.input, input);
            // What Python shows of a result stays that text: it may have been one.
            fill(&mut step.output, output);
        }
        Some(Kind::Llm) => {
            fill(&mut step.name, row::text(reader, data, &["model"]));
            let asked = input.and_then(|input| said::by_model(reader, input, Speaker::User));
            let answered = output.or_else(|| found(data, &["response"]));
            fill(&mut step.asked, asked);
            fill(&mut step.answered, answered.and_then(|said| said::by_model(reader, said, Speaker::Assistant)));
        }
        Some(Kind::Handoff) => {
            fill(&mut step.name, row::text(reader, data, &["to_agent"]));
            fill(&mut step.agent, row::text(reader, data, &["from_agent"]));
        }
        _ => {
            fill(&mut step.name, name);
            fill(&mut step.input, input);
            fill(&mut step.output, output);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{problems, steps};
    use super::*;

    fn told(text: &str) -> Vec<String> {
        steps(&ENCODING, &DIALECT, text)
    }

    fn span(data: &str, error: &str) -> String {
        let span = format!(
            r#"{{"object": "trace.span", "id": "b", "trace_id": "t", "parent_id": "a",
                "started_at": "2026-01-01T12:00:00+00:00",
            "ended_at": null, "span_data": {data}, "error": {error}}}"#
        );
        let lines = told(&span);
        assert_eq!(told(&format!(r#"{{"data": [{span}]}}"#)), lines);
        lines[0].clone()
    }

    #[test]
    fn traces_and_the_kinds_of_spans() {
        let trace = r#"{"object": "trace", "id": "t", "workflow_name": "w", "group_id": "s", "metadata": null}"#;
        assert_eq!(told(trace), [r#"about t s null > null {"workflow_name": "w"}"#]);
        for (data, wanted) in [
            (
                r#"{"type": "function", "name": "f", "input": "{\"x\": 1}", "output": "{'y': 2}"}"#,
                r#"tool_call f "{\"x\": 1}" = "{'y': 2}""#,
            ),
            (r#"{"type": "function", "name": "f", "input": null, "output": null}"#, "tool_call f"),
            (r#"{"type": "agent", "name": "boss", "tools": ["f"]}"#, "agent boss"),
            (r#"{"type": "handoff", "from_agent": "boss", "to_agent": "clerk"}"#, "handoff clerk @boss"),
            (r#"{"type": "guardrail", "name": "g", "triggered": false}"#, "guardrail g"),
            (r#"{"type": "custom", "name": "turn", "data": {}}"#, "chain turn"),
            (r#"{"type": "mcp_tools", "server": "s", "result": ["f"]}"#, "- mcp_tools"),
            (r#"{"type": "response", "response_id": "r", "usage": null}"#, "llm response"),
            (
                r#"{"type": "response", "input": [{"role": "user", "content": "Q"}], "response": {"object": "response",
                "output": [{"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"}]}}"#,
                "llm response ?Q :f{}",
            ),
            (
                r#"{"type": "generation", "model": "m", "input": [{"role": "user", "content": "Q"}],
                "output": [{"role": "assistant", "tool_calls": [{"id": "1", "type": "function",
                "function": {"name": "f", "arguments": "{}"}}]}]}"#,
                "llm m ?Q :f{}",
            ),
        ] {
            assert_eq!(span(data, "null"), format!("t b<a {wanted}"));
        }
    }

    #[test]
    fn errors_say_what_went_wrong() {
        let data = r#"{"type": "function", "name": "f", "input": "{}", "output": null}"#;
        let error = r#"{"message": "Error running tool", "data": {"tool_name": "f", "error": "boom"}}"#;
        assert_eq!(span(data, error), r#"t b<a tool_call f "{}" = none !Error running tool: boom"#);
        assert_eq!(span(data, r#"{"message": "M", "data": null}"#), r#"t b<a tool_call f "{}" = none !M"#);
    }

    #[test]
    fn what_cant_be_read_is_a_problem() {
        let text = r#"{"data": [{"object": "trace", "id": "t", "workflow_name": "w"}, 5,
            {"object": "trace.span", "trace_id": "t", "span_data": null}]}"#;
        let wanted = "data[1]: expected a trace or a span of the Agents SDK, an object, got a number";
        assert_eq!(problems(&ENCODING, text), [wanted]);
    }
}
