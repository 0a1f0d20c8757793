//! Spans and traces of Opik: rows, a page of them, or a trace with its spans.

use super::{
    langsmith::arguments,
    result,
    row::{self, found},
    said::{self, Speaker},
};
use crate::{
    call::Reader,
    error::Error,
    text::Text,
    trace::{
        span::Kind,
        spans::{About, Dialect, Encoding, Exported, Recorded, Status, Step, fill},
    },
    value::Value,
};

pub const ENCODING: Encoding = Encoding { name: "opik", title: "traces of Opik", fits, read };

pub const DIALECT: Dialect =
    Dialect { name: "opik", title: "spans of Opik", fits: |recorded| is_span(recorded.row), read: tell };

const CONTENT: &str = "content";
const TRACE: &str = "trace";
const SPANS: &str = "spans";
const TRACE_ID: &[&str] = &["trace_id", "traceId"];
const PARENT: &[&str] = &["parent_span_id", "parentSpanId"];
const START: &[&str] = &["start_time", "startTime"];
const END: &[&str] = &["end_time", "endTime"];
const THREAD: &[&str] = &["thread_id", "threadId"];
const ERROR: &[&str] = &["error_info", "errorInfo"];

const KINDS: &[(&str, Kind)] =
    &[("tool", Kind::ToolCall), ("llm", Kind::Llm), ("guardrail", Kind::Guardrail), ("general", Kind::Chain)];
/// Only its rows have such a column.
const OWN: &[&str] = &[
    "project_id",
    "projectId",
    "project_name",
    "projectName",
    "error_info",
    "errorInfo",
    "feedback_scores",
    "feedbackScores",
    "total_estimated_cost",
    "totalEstimatedCost",
    "parent_span_id",
    "parentSpanId",
];

/// What LangSmith's and Langfuse's rows have, which have a type and a trace too.
const OTHERS: &[&str] = &["run_type", "parentObservationId", "parent_observation_id"];

fn fits(record: Value<'_>) -> bool {
    is_row(record)
        || has_spans(record)
        || row::list(record, &[CONTENT]).first().is_some_and(|first| is_row(*first) || has_spans(*first))
}

fn is_row(row: Value<'_>) -> bool {
    is_span(row) || is_trace(row)
}

fn is_span(row: Value<'_>) -> bool {
    let is_typed = row::kind(row, &["type"], KINDS).is_some();
    is_typed && found(row, TRACE_ID).is_some() && is_ours(row)
}

/// A trace has no type, and no trace that it belongs to.
fn is_trace(row: Value<'_>) -> bool {
    let is_scored =
        ["feedback_scores", "feedbackScores", "span_count", "spanCount", "thread_id", "threadId", "error_info"];
    row.get("type").is_none()
        && found(row, TRACE_ID).is_none()
        && row::is_text(row.get("id"))
        && is_ours(row)
        && is_scored.iter().any(|key| row.get(key).is_some())
}

fn is_ours(row: Value<'_>) -> bool {
    let is_there = |key: &&str| row.get(key).is_some();
    found(row, START).is_some() && OWN.iter().any(is_there) && !OTHERS.iter().any(is_there)
}

fn has_spans(record: Value<'_>) -> bool {
    row::list(record, &[SPANS]).first().is_some_and(|first| is_span(*first))
}

fn read<'a>(exported: &mut Exported<'a>, record: Value<'a>) -> Result<(), Error> {
    if let Some(Value::Array(items)) = record.get(CONTENT).filter(|_| fits(record) && !is_row(record)) {
        row::each(exported, items, CONTENT, one);
        return Ok(());
    }
    one(exported, record)
}

fn one<'a>(exported: &mut Exported<'a>, record: Value<'a>) -> Result<(), Error> {
    if is_span(record) {
        return span(exported, record);
    }
    let has_spans = has_spans(record);
    let about = record.get(TRACE).filter(|trace| matches!(trace, Value::Object(_))).unwrap_or(record);
    if !has_spans && !is_trace(about) {
        return Err(row::not_a_row("a trace or a span of Opik", record));
    }
    let reader = exported.reader;
    if let Some(trace_id) = row::id(reader, about, &["id"]) {
        exported.traces.push(About {
            trace_id,
            conversation_id: row::id(reader, about, THREAD),
            input: said::last(reader, found(about, &["input"]), Speaker::User),
            output: said::last(reader, found(about, &["output"]), Speaker::Assistant),
            attributes: row::columns(reader, about, &["name", "tags", "metadata", "feedback_scores", "error_info"]),
        });
    }
    row::each(exported, row::list(record, &[SPANS]), SPANS, |exported, item| match item {
        Value::Object(_) => span(exported, item),
        other => Err(row::not_a_row("a span of Opik", other)),
    });
    Ok(())
}

fn span<'a>(exported: &mut Exported<'a>, row: Value<'a>) -> Result<(), Error> {
    let reader = exported.reader;
    let error = found(row, ERROR).filter(|error| !matches!(error, Value::Object([])));
    exported.spans.push(Recorded {
        trace_id: row::id(reader, row, TRACE_ID).unwrap_or(Text::from("")),
        id: row::id(reader, row, &["id"]),
        parent_id: row::id(reader, row, PARENT),
        name: row::text(reader, row, &["name"]).unwrap_or(Text::from("")),
        started_at: row::time(row, START),
        ended_at: row::time(row, END),
        status: error.map(|_| Status::Error),
        status_message: row::error(reader, error, &["message", "exception_type", "exceptionType", "traceback"]),
        attributes: row::dotted(reader, row::members(reader, found(row, &["metadata"]))),
        events: Vec::new(),
        row,
    });
    Ok(())
}

fn tell<'a>(reader: Reader<'a>, recorded: &Recorded<'a>, step: &mut Step<'a>) {
    let row = recorded.row;
    let metadata = row::decoded(reader, row, &["metadata"]).unwrap_or(Value::Null);
    let input = row::decoded(reader, row, &["input"]);
    let output = row::decoded(reader, row, &["output"]);
    fill(&mut step.conversation_id, row::id(reader, metadata, &["thread_id", "session_id"]));
    let (agent, is_agent) = row::agent_of_langchain(reader, metadata, recorded.name);
    fill(&mut step.agent, agent);
    if let Some(kind) = row::kind(row, &["type"], KINDS) {
        step.kind(if kind == Kind::Chain && is_agent { Kind::Agent } else { kind });
    }
    match step.kind {
        Some(Kind::ToolCall) => {
            fill(&mut step.name, Some(row::tool_name(reader, recorded.name)));
            fill(&mut step.call_id, row::id(reader, metadata, &["tool_call_id"]));
            let input = input.map(|input| arguments(reader, input, &mut step.call_id));
            fill(&mut step.input, input);
            let output = output.map(|output| result::output(reader, output));
            match output.and_then(|output| result::tool_message(reader, output)) {
                Some(message) => result::tell(reader, message, step),
                None => fill(&mut step.output, output),
            }
        }
        Some(Kind::Llm) => {
            fill(&mut step.name, row::text(reader, row, &["model"]));
            fill(&mut step.asked, input.and_then(|input| said::by_model(reader, input, Speaker::User)));
            fill(&mut step.answered, output.and_then(|output| said::by_model(reader, output, Speaker::Assistant)));
        }
        _ => {
            said::tell(reader, step, input, output);
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

    fn span(columns: &str) -> String {
        format!(
            r#"{{"id": "b", "project_id": "p", "trace_id": "t", "parent_span_id": "a",
                "start_time": "2026-01-01T12:00:00Z",
            {columns}}}"#
        )
    }

    const TRACE: &str = r#"{"id": "t", "project_id": "p", "name": "n", "start_time": "2026-01-01T12:00:00Z",
        "thread_id": "s",
        "input": {"input": "Q"}, "output": {"output": "A"}, "tags": [], "span_count": 1}"#;
    const TOOL: &str = r#""type": "tool", "name": "f", "input": {"x": 1}, "output": {"output": "R"}"#;

    #[test]
    fn traces_and_spans_alone_and_together() {
        let tool = span(TOOL);
        let about = r#"about t s "Q" > "A" {"name": "n"}"#;
        let step = r#"t b<a tool_call f {"x": 1} = "R""#;
        assert_eq!(told(TRACE), [about]);
        assert_eq!(told(&tool), [step]);
        assert_eq!(told(&format!(r#"{{"trace": {TRACE}, "spans": [{tool}]}}"#)), [about, step]);
        assert_eq!(told(&TRACE.replacen('{', &format!(r#"{{"spans": [{tool}], "#), 1)), [about, step]);
        assert_eq!(told(&format!(r#"{{"page": 1, "size": 2, "total": 2, "content": [{tool}]}}"#)), [step]);
        assert_eq!(told(&format!(r#"{{"page": 1, "size": 2, "total": 2, "content": [{TRACE}]}}"#)), [about]);
    }

    #[test]
    fn the_kinds_of_spans() {
        for (columns, wanted) in [
            (
                r#""type": "tool", "name": "f", "input": {"input": "{'x': 1}"}, "output": null"#,
                r#"tool_call f {"x": 1} = none"#,
            ),
            (
                r#""type": "tool", "name": "f", "input": {"x": 1}, "output": {"output": {"content": "R", "type": "tool",
                    "tool_call_id": "1", "status": "success"}}"#,
                r#"tool_call f #1 {"x": 1} = "R""#,
            ),
            (
                r#""type": "tool", "name": "f", "input": {}, "error_info": {"exception_type": "E", "message": "boom",
                    "traceback": "…"}"#,
                "tool_call f {} = none !boom",
            ),
            (
                r#""type": "llm", "name": "chat", "model": "m", "input": {"messages": [{"role": "user",
                    "content": "Q"}]},
                    "output": {"choices": [{"message": {"role": "assistant", "content": "A"}}]}"#,
                "llm m ?Q :A",
            ),
            (r#""type": "general", "name": "c", "input": {"query": 5}"#, r#"chain c {"query": 5} = none"#),
            (r#""type": "guardrail", "name": "g""#, "guardrail g"),
            (r#""type": "general", "name": "boss", "metadata": {"lc_agent_name": "boss"}"#, "agent boss"),
        ] {
            assert_eq!(told(&span(columns)), [format!("t b<a {wanted}")], "{columns}");
        }
    }

    #[test]
    fn what_cant_be_read_is_a_problem() {
        let text = format!(r#"{{"content": [{}, 5]}}"#, span(TOOL));
        assert_eq!(
            problems(&ENCODING, &text),
            ["content[1]: expected a trace or a span of Opik, an object, got a number"]
        );
    }
}
