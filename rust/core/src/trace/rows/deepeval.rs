//! Traces as DeepEval sends them to its platform: a list of spans for each kind, newest first.

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
        spans::{About, Dialect, Encoding, Exported, Recorded, Step, attributes::Attributes, fill},
    },
    value::{Member, Value},
};

pub const ENCODING: Encoding = Encoding { name: "deepeval", title: "traces of DeepEval", fits, read };

pub const DIALECT: Dialect =
    Dialect { name: "deepeval", title: "spans of DeepEval", fits: |recorded| is_span(recorded.row), read: tell };

const LISTS: &[&str] = &[
    "baseSpans",
    "agentSpans",
    "llmSpans",
    "retrieverSpans",
    "toolSpans",
    "base_spans",
    "agent_spans",
    "llm_spans",
    "retriever_spans",
    "tool_spans",
];
const UUID: &str = "uuid";
const PARENT: &[&str] = &["parentUuid", "parent_uuid"];
const START: &[&str] = &["startTime", "start_time"];
const END: &[&str] = &["endTime", "end_time"];
const THREAD: &[&str] = &["threadId", "thread_id"];
const TOOLS_CALLED: &[&str] = &["toolsCalled", "tools_called"];
const EXPECTED: &[&str] = &["expectedTools", "expected_tools"];

const KINDS: &[(&str, Kind)] = &[
    ("tool", Kind::ToolCall),
    ("llm", Kind::Llm),
    ("agent", Kind::Agent),
    ("retriever", Kind::Retrieval),
    ("base", Kind::Chain),
];

/// What the Vercel AI SDK calls its spans around those of models, of which there is one for each step.
const AROUND_MODELS: &[&str] = &["ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject"];

fn fits(record: Value<'_>) -> bool {
    row::is_text(record.get(UUID)) && LISTS.iter().any(|list| row::is_list(record.get(list)))
}

fn is_span(row: Value<'_>) -> bool {
    row::is_text(row.get(UUID)) && row::is_text(row.get("type")) && found(row, START).is_some()
}

fn read<'a>(exported: &mut Exported<'a>, record: Value<'a>) -> Result<(), Error> {
    if !fits(record) {
        return Err(row::not_a_row("a trace of DeepEval", record));
    }
    let reader = exported.reader;
    let trace_id = row::id(reader, record, &[UUID]).unwrap_or(Text::from(""));
    exported.traces.push(About {
        trace_id,
        conversation_id: row::id(reader, record, THREAD),
        input: said::last(reader, found(record, &["input"]), Speaker::User),
        output: said::last(reader, found(record, &["output"]), Speaker::Assistant),
        attributes: attributes(reader, record),
    });
    for key in LISTS {
        let spans = row::list(record, &[key]);
        row::each(exported, spans, key, |exported, span| self::span(exported, span, trace_id));
    }
    Ok(())
}

/// What else is said of a trace, with the calls that were expected.
fn attributes<'a>(reader: Reader<'a>, record: Value<'a>) -> Value<'a> {
    let columns = row::columns(reader, record, &["name", "metadata", "tags", "environment", "userId", "testCaseId"]);
    let expected: Vec<_> = row::list(record, EXPECTED).iter().map(|tool| expected(reader, *tool)).collect();
    if expected.is_empty() {
        return columns;
    }
    let mut members = row::members(reader, Some(columns)).to_vec();
    members.push(Member { key: Text::from("expected_tool_calls"), value: row::array(reader, &expected) });
    Value::Object(reader.bump.alloc_slice_copy(&members))
}

fn expected<'a>(reader: Reader<'a>, tool: Value<'a>) -> Value<'a> {
    let name = row::text(reader, tool, &["name"]).map_or(Value::Null, |name| Value::Text(row::tool_name(reader, name)));
    let arguments = found(tool, ARGUMENTS).unwrap_or(Value::Null);
    row::object(reader, &[("name", name), ("arguments", arguments)])
}

const ARGUMENTS: &[&str] = &["inputParameters", "input_parameters"];

fn span<'a>(exported: &mut Exported<'a>, row: Value<'a>, trace_id: Text<'a>) -> Result<(), Error> {
    let reader = exported.reader;
    if !matches!(row, Value::Object(_)) {
        return Err(row::not_a_row("a span of DeepEval", row));
    }
    exported.spans.push(Recorded {
        trace_id,
        id: row::id(reader, row, &[UUID]),
        parent_id: row::id(reader, row, PARENT),
        name: row::text(reader, row, &["name"]).unwrap_or(Text::from("")),
        started_at: row::time(row, START),
        ended_at: row::time(row, END),
        status: row::status(row.get("status")),
        status_message: row::error(reader, row.get("error"), &["message", "error"]),
        attributes: Attributes(&[]),
        events: Vec::new(),
        row,
    });
    Ok(())
}

fn tell<'a>(reader: Reader<'a>, recorded: &Recorded<'a>, step: &mut Step<'a>) {
    let row = recorded.row;
    let (input, output) = (found(row, &["input"]), found(row, &["output"]));
    if let Some(kind) = row::kind(row, &["type"], KINDS) {
        let is_around = kind == Kind::Llm && AROUND_MODELS.iter().any(|name| recorded.name.is(name));
        step.kind(if is_around { Kind::Chain } else { kind });
    }
    let called = row::list(row, TOOLS_CALLED);
    match step.kind {
        Some(Kind::ToolCall) => {
            fill(&mut step.name, Some(row::tool_name(reader, recorded.name)));
            fill(&mut step.input, input);
            fill(&mut step.output, output);
        }
        Some(Kind::Llm) => {
            fill(&mut step.name, row::text(reader, row, &["model"]));
            let answered = output.and_then(|output| said::by_model(reader, output, Speaker::Assistant));
            let has_calls = || answered.is_some_and(|answered| said::call_tools(reader, answered));
            let answered =
                if called.is_empty() || has_calls() { answered } else { Some(calling(reader, called, output)) };
            fill(&mut step.asked, input.and_then(|input| said::by_model(reader, input, Speaker::User)));
            fill(&mut step.answered, answered);
        }
        kind => {
            if row::is_word(row, "type", &["llm"]) {
                fill(&mut step.answered, output.and_then(|output| said::by_model(reader, output, Speaker::Assistant)));
            }
            if kind == Some(Kind::Agent) {
                fill(&mut step.name, Some(row::agent_name(reader, recorded.name)));
            }
            // They count where nothing inside of it says more.
            let answered =
                Some(called).filter(|called| !called.is_empty()).map(|called| calling(reader, called, output));
            fill(&mut step.answered, answered);
            said::tell(reader, step, input, output);
        }
    }
}

/// Messages that call tools, and that say what was said in the end.
fn calling<'a>(reader: Reader<'a>, called: &[Value<'a>], output: Option<Value<'a>>) -> Value<'a> {
    let call = |tool: &Value<'a>| {
        let mut members = row::members(reader, Some(expected(reader, *tool))).to_vec();
        members.extend(found(*tool, &["output"]).map(|value| Member { key: Text::from("output"), value }));
        Value::Object(reader.bump.alloc_slice_copy(&members))
    };
    let calls: Vec<_> = called.iter().map(call).collect();
    let text = said::last(reader, output, Speaker::Assistant);
    let said = row::object(reader, &[("role", Value::Text(Text::from("assistant"))), ("content", text)]);
    row::array(reader, &[said::calling(reader, Value::Null, &calls), said])
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;

    use super::super::tests::{problems, steps};
    use super::*;
    use crate::{
        show,
        trace::{messages, turns::Listener},
    };

    fn told(text: &str) -> Vec<String> {
        steps(&ENCODING, &DIALECT, text)
    }

    fn span(list: &str, kind: &str, columns: &str) -> String {
        let text = format!(
            r#"{{"uuid": "t", "{list}": [{{"uuid": "b", "parentUuid": "a", "type": "{kind}",
                "startTime": "2026-01-01T12:00:00.000Z",
            {columns}}}]}}"#
        );
        told(&text).remove(1)
    }

    #[test]
    fn a_trace_and_what_was_expected_of_it() {
        let text = r#"{"uuid": "t", "name": "n", "threadId": "s", "input": "{\"prompt\": \"Q\"}", "output": "A",
            "toolSpans": [],
            "expectedTools": [{"name": "f", "inputParameters": {"x": 1}}, {"name": "g"}]}"#;
        let expected = r#"[{"name": "f", "arguments": {"x": 1}}, {"name": "g", "arguments": null}]"#;
        assert_eq!(told(text), [format!(r#"about t s "Q" > "A" {{"name": "n", "expected_tool_calls": {expected}}}"#)]);
    }

    #[test]
    fn the_kinds_of_spans() {
        let tool = r#""name": "Function tool: f", "status": "SUCCESS", "input": {"x": 1}, "output": {"y": 2}"#;
        assert_eq!(span("toolSpans", "tool", tool), r#"t b<a tool_call f {"x": 1} = {"y": 2}"#);
        let failed = r#""name": "f", "status": "ERRORED", "error": "boom", "input": {}"#;
        assert_eq!(span("toolSpans", "tool", failed), "t b<a tool_call f {} = none !boom");
        let llm = r#""name": "n", "model": "m", "input": [{"type": "message", "role": "user", "content": "Q"}],
            "output": "{\"call_id\": \"1\", \"name\": \"f\", \"arguments\": \"{\\\"x\\\": 1}\"}""#;
        assert_eq!(span("llmSpans", "llm", llm), r#"t b<a llm m ?Q :f{"x": 1}"#);
        let agent = r#""name": "boss", "input": "Q", "output": "A",
            "toolsCalled": [{"name": "Function tool: f", "inputParameters": {"x": 1}, "output": "R"}]"#;
        assert_eq!(span("agentSpans", "agent", agent), r#"t b<a agent boss "Q" = "A" :f{"x": 1}|A"#);
        assert_eq!(
            span("retrieverSpans", "retriever", r#""name": "r", "input": "q""#),
            r#"t b<a retrieval r "q" = none"#
        );
        assert_eq!(span("baseSpans", "base", r#""name": "c", "input": {}"#), "t b<a chain c {} = none");
    }

    #[test]
    fn a_span_around_several_models_is_none() {
        let around = r#""name": "ai.generateText", "model": "m", "input": {"prompt": "Q"}, "output": "A""#;
        assert_eq!(span("llmSpans", "llm", around), r#"t b<a chain ai.generateText "Q" = "A" :A"#);
        let inside = around.replace("generateText", "generateText.doGenerate");
        assert_eq!(span("llmSpans", "llm", &inside), "t b<a llm m ?Q :A");
    }

    #[test]
    fn calls_of_models_that_only_deepeval_tells() {
        let called = r#""name": "n", "model": "m", "toolsCalled": [{"name": "f", "inputParameters": {}}]"#;
        assert_eq!(span("llmSpans", "llm", &format!(r#"{called}, "output": "A""#)), "t b<a llm m :f{}|A");
        let output =
            r#"{"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]}"#;
        assert_eq!(span("llmSpans", "llm", &format!(r#"{called}, "output": {output}"#)), "t b<a llm m :f{}");
    }

    #[test]
    fn each_call_has_its_own_result() {
        let bump = Bump::new();
        let text = r#"[{"name": "f", "inputParameters": {"x": 1}},
            {"name": "f", "inputParameters": {"x": 2}, "output": "R"}]"#;
        let (value, reader) = Reader::parse(text.as_bytes(), &bump).unwrap();
        let Value::Array(called) = value else { panic!("a list") };
        let mut listener = Listener::default();
        messages::hear(reader, calling(reader, called, None), &mut listener).unwrap();
        let outputs: Vec<_> = listener.finish().spans().iter().map(|span| show::json_text(span.output)).collect();
        assert_eq!(outputs, ["null", "\"R\""]);
    }

    #[test]
    fn what_cant_be_read_is_a_problem() {
        let text = r#"{"uuid": "t", "toolSpans": [5, {"uuid": "b"}]}"#;
        assert_eq!(problems(&ENCODING, text), ["toolSpans[0]: expected a span of DeepEval, an object, got a number"]);
    }
}
