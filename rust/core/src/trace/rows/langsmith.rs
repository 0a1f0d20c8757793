//! Runs of LangSmith, one by one or each with those inside it. Inputs and outputs may be JSON text, as in exports in
//! bulk.

use super::{
    result,
    row::{self, found},
    said::{self, Speaker},
};
use crate::{
    call::Reader,
    error::Error,
    text::Text,
    trace::{
        decode,
        span::Kind,
        spans::{About, Dialect, Encoding, Exported, Recorded, Status, Step, fill},
    },
    value::{Member, Value},
};

pub const ENCODING: Encoding = Encoding { name: "langsmith", title: "runs of LangSmith", fits, read };

pub const DIALECT: Dialect =
    Dialect { name: "langsmith", title: "runs of LangSmith", fits: |recorded| is_run(recorded.row), read: tell };

const RUN_TYPE: &str = "run_type";
const RUNS: &str = "runs";
const CHILDREN: &str = "child_runs";

const KINDS: &[(&str, Kind)] = &[
    ("tool", Kind::ToolCall),
    ("llm", Kind::Llm),
    ("chain", Kind::Chain),
    ("retriever", Kind::Retrieval),
    ("embedding", Kind::Embedding),
    ("prompt", Kind::Chain),
    ("parser", Kind::Chain),
];

fn fits(record: Value<'_>) -> bool {
    is_run(record) || row::list(record, &[RUNS]).first().is_some_and(|run| is_run(*run))
}

fn is_run(row: Value<'_>) -> bool {
    row::is_text(row.get(RUN_TYPE))
        && ["inputs", "trace_id", "dotted_order", "parent_run_id", "start_time"]
            .iter()
            .any(|key| row.get(key).is_some())
}

fn read<'a>(exported: &mut Exported<'a>, record: Value<'a>) -> Result<(), Error> {
    if is_run(record) {
        return run(exported, record, None, None);
    }
    match record.get(RUNS) {
        Some(Value::Array(runs)) => {
            row::each(exported, runs, RUNS, |exported, item| run(exported, item, None, None));
            Ok(())
        }
        _ => Err(row::not_a_row("a run of LangSmith", record)),
    }
}

fn run<'a>(
    exported: &mut Exported<'a>,
    row: Value<'a>,
    trace_id: Option<Text<'a>>,
    around: Option<Text<'a>>,
) -> Result<(), Error> {
    if !matches!(row, Value::Object(_)) {
        return Err(row::not_a_row("a run of LangSmith", row));
    }
    let reader = exported.reader;
    let id = row::id(reader, row, &["id", "run_id"]);
    let trace_id = row::id(reader, row, &["trace_id"]).or(trace_id).or(id).unwrap_or(Text::from(""));
    let parent_id = row::id(reader, row, &["parent_run_id"]).or(around);
    let error = row::error(reader, row.get("error"), &["message", "error"]);
    let status = match error {
        Some(_) => Some(Status::Error),
        None => row::status(row.get("status")),
    };
    if parent_id.is_none() {
        let attributes = row::columns(reader, row, &["tags", "feedback_stats", "reference_example_id"]);
        if !matches!(attributes, Value::Null) {
            let conversation_id = thread(reader, metadata(reader, row));
            let [input, output] = [Value::Null; 2];
            exported.traces.push(About { trace_id, conversation_id, input, output, attributes });
        }
    }
    exported.spans.push(Recorded {
        trace_id,
        id,
        parent_id,
        name: row::text(reader, row, &["name"]).unwrap_or(Text::from("")),
        started_at: row::time(row, &["start_time"]),
        ended_at: row::time(row, &["end_time"]),
        status,
        status_message: error,
        attributes: row::dotted(reader, row::members(reader, Some(metadata(reader, row)))),
        events: Vec::new(),
        row,
    });
    if let Some(Value::Array(children)) = row::decoded(reader, row, &[CHILDREN]) {
        row::each(exported, children, CHILDREN, |exported, child| run(exported, child, Some(trace_id), id));
    }
    Ok(())
}

fn metadata<'a>(reader: Reader<'a>, row: Value<'a>) -> Value<'a> {
    let extra = row::decoded(reader, row, &["extra"]).unwrap_or(Value::Null);
    row::decoded(reader, extra, &["metadata"])
        .or_else(|| row::decoded(reader, row, &["metadata"]))
        .unwrap_or(Value::Null)
}

fn thread<'a>(reader: Reader<'a>, metadata: Value<'a>) -> Option<Text<'a>> {
    row::id(reader, metadata, &["session_id", "thread_id", "conversation_id"])
}

fn tell<'a>(reader: Reader<'a>, recorded: &Recorded<'a>, step: &mut Step<'a>) {
    let row = recorded.row;
    let metadata = metadata(reader, row);
    let inputs = row::decoded(reader, row, &["inputs"]).filter(|inputs| !is_empty(*inputs));
    let outputs = row::decoded(reader, row, &["outputs"]).filter(|outputs| !is_empty(*outputs));
    fill(&mut step.conversation_id, thread(reader, metadata));
    let (agent, is_agent) = row::agent_of_langchain(reader, metadata, recorded.name);
    fill(&mut step.agent, agent);
    if let Some(kind) = row::kind(row, &[RUN_TYPE], KINDS) {
        step.kind(if kind == Kind::Chain && is_agent { Kind::Agent } else { kind });
    }
    match step.kind {
        Some(Kind::ToolCall) => {
            tool(reader, recorded, row::decoded(reader, row, &["inputs"]), outputs, step);
        }
        Some(Kind::Llm) => {
            fill(&mut step.name, row::text(reader, metadata, &["ls_model_name"]));
            fill(&mut step.asked, inputs.and_then(|inputs| said::by_model(reader, inputs, Speaker::User)));
            fill(&mut step.answered, outputs.and_then(|outputs| said::by_model(reader, outputs, Speaker::Assistant)));
        }
        kind => {
            if kind == Some(Kind::Agent) {
                fill(&mut step.name, Some(recorded.name));
            }
            if kind == Some(Kind::Retrieval) {
                fill(&mut step.output, documents(outputs));
            }
            said::tell(reader, step, inputs, outputs);
        }
    }
}

/// LangChain has what a retriever found under a name.
fn documents(outputs: Option<Value<'_>>) -> Option<Value<'_>> {
    found(outputs?, &["documents"]).filter(|documents| matches!(documents, Value::Array(_)))
}

fn is_empty(value: Value<'_>) -> bool {
    matches!(value, Value::Object([]))
}

/// What LangChain records of a tool: its arguments, or the text of them, or the whole call; and what it answered.
fn tool<'a>(
    reader: Reader<'a>,
    recorded: &Recorded<'a>,
    inputs: Option<Value<'a>>,
    outputs: Option<Value<'a>>,
    step: &mut Step<'a>,
) {
    let extra = row::decoded(reader, recorded.row, &["extra"]).unwrap_or(Value::Null);
    fill(&mut step.name, Some(row::tool_name(reader, recorded.name)));
    fill(&mut step.call_id, row::id(reader, extra, &["tool_call_id"]));
    let input = inputs.map(|inputs| arguments(reader, inputs, &mut step.call_id));
    fill(&mut step.input, input);
    let Some(outputs) = outputs else { return };
    let output = result::output(reader, outputs);
    match result::tool_message(reader, output) {
        Some(message) => result::tell(reader, message, step),
        None => fill(&mut step.output, Some(output)),
    }
}

/// The arguments of a call, which may stand as a text under the one key of what a tool was given, or in the call as a
/// whole.
pub fn arguments<'a>(reader: Reader<'a>, inputs: Value<'a>, call_id: &mut Option<Text<'a>>) -> Value<'a> {
    if row::is_word(inputs, "type", &["tool_call"])
        && let Some(arguments) = found(inputs, &["args"])
    {
        fill(call_id, row::id(reader, inputs, &["id"]));
        return arguments;
    }
    let Value::Object([Member { key, value }]) = inputs else { return inputs };
    if !key.is("input") {
        return inputs;
    }
    match decode::arguments(reader, *value) {
        arguments @ Value::Object(_) => arguments,
        // A tool may have a parameter of this name.
        _ => inputs,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{problems, steps};
    use super::*;

    fn told(text: &str) -> Vec<String> {
        steps(&ENCODING, &DIALECT, text)
    }

    /// What one run inside of another says, with these further columns.
    fn run(columns: &str) -> String {
        told(&format!(r#"{{"id": "b", "trace_id": "t", "parent_run_id": "a", {columns}}}"#)).remove(0)
    }

    fn tool(columns: &str) -> String {
        run(&format!(r#""run_type": "tool", "name": "f", {columns}"#))
    }

    #[test]
    fn runs_one_by_one_and_inside_each_other() {
        let root =
            r#""id": "t", "run_type": "chain", "name": "c", "inputs": {"input": "Q"}, "outputs": {"output": "A"}"#;
        let child =
            r#""id": "b", "run_type": "tool", "name": "f", "inputs": {"x": 1}, "outputs": {"output": {"y": 2}}"#;
        let tail = r#""trace_id": "t", "parent_run_id": "t""#;
        let wanted = [r#"t t<- chain c "Q" = "A""#, r#"t b<t tool_call f {"x": 1} = {"y": 2}"#];
        assert_eq!(told(&format!(r#"{{{root}, "child_runs": [{{{child}}}]}}"#)), wanted);
        assert_eq!(told(&format!(r#"{{"runs": [{{{root}}}, {{{child}, {tail}}}], "cursors": {{}}}}"#)), wanted);
        assert_eq!(told(&format!(r#"{{{child}, {tail}}}"#)), wanted[1..]);
        let tagged = told(&format!(r#"{{{root}, "tags": ["x"], "extra": {{"metadata": {{"thread_id": "s"}}}}}}"#));
        assert_eq!(tagged, [r#"about t s null > null {"tags": ["x"]}"#, r#"t t<- chain c ~s "Q" = "A""#]);
    }

    #[test]
    fn arguments_and_results_of_tools() {
        let message = r#"{"output": {"lc": 1, "type": "constructor", "id": ["langchain", "ToolMessage"],
            "kwargs": {"content": "R", "tool_call_id": "1", "status": "success"}}}"#;
        assert_eq!(
            tool(&format!(r#""inputs": {{"x": 1}}, "outputs": {message}"#)),
            r#"t b<a tool_call f #1 {"x": 1} = "R""#
        );
        assert_eq!(
            tool(r#""inputs": "{\"x\": 1}", "outputs": "{\"output\": \"R\"}""#),
            r#"t b<a tool_call f {"x": 1} = "R""#
        );
        let call = r#""inputs": {"name": "f", "args": {"x": 1}, "id": "1", "type": "tool_call"}"#;
        assert_eq!(tool(&format!(r#"{call}, "outputs": null"#)), r#"t b<a tool_call f #1 {"x": 1} = none"#);
        let id = r#""inputs": {}, "extra": {"tool_call_id": "1"}"#;
        assert_eq!(tool(id), r#"t b<a tool_call f #1 {} = none"#);
        assert_eq!(tool(r#""inputs": {"input": "{\"x\": 1}"}"#), r#"t b<a tool_call f {"x": 1} = none"#);
        assert_eq!(tool(r#""inputs": {"input": "free text"}"#), r#"t b<a tool_call f {"input": "free text"} = none"#);
        assert_eq!(tool(r#""inputs": null"#), "t b<a tool_call f");
        let failed = tool(r#""inputs": {"x": 1}, "outputs": {}, "error": "ValueError('boom')""#);
        assert_eq!(failed, r#"t b<a tool_call f {"x": 1} = none !ValueError('boom')"#);
    }

    #[test]
    fn models_are_asked_and_answer() {
        let lc = |class: &str, fields: &str| {
            format!(r#"{{"lc": 1, "type": "constructor", "id": ["langchain", "{class}"], "kwargs": {{{fields}}}}}"#)
        };
        let asked = lc("HumanMessage", r#""content": "Q", "type": "human""#);
        let calls = r#""content": "", "type": "ai", "tool_calls": [{"name": "f", "args": {"x": 1}, "id": "1"}]"#;
        let answered = lc("AIMessage", calls);
        let text = format!(
            r#""run_type": "llm", "name": "ChatOpenAI", "extra": {{"metadata": {{"ls_model_name": "m",
                "session_id": "s"}}}},
            "inputs": {{"messages": [[{asked}]]}}, "outputs": {{"generations": [[{{"text": "",
            "message": {answered}}}]]}}"#
        );
        assert_eq!(run(&text), r#"t b<a llm m ~s ?Q :f{"x": 1}"#);
        let text = r#""run_type": "llm", "name": "m", "inputs": {"messages": [{"role": "user", "content": "Q"}]},
            "outputs": {"choices": [{"message": {"role": "assistant", "content": "A"}}]}"#;
        assert_eq!(run(text), "t b<a llm m ?Q :A");
    }

    #[test]
    fn agents_and_others() {
        let metadata = r#""extra": {"metadata": {"lc_agent_name": "boss"}}"#;
        assert_eq!(run(&format!(r#""run_type": "chain", "name": "boss", {metadata}"#)), "t b<a agent boss");
        assert_eq!(run(&format!(r#""run_type": "tool", "name": "f", {metadata}"#)), "t b<a tool_call f @boss");
        let retriever =
            r#""run_type": "retriever", "name": "r", "inputs": {"query": "q"}, "outputs": {"documents": [1]}"#;
        assert_eq!(run(retriever), r#"t b<a retrieval r {"query": "q"} = [1]"#);
        assert_eq!(run(&retriever.replace("[1]", "[]")), r#"t b<a retrieval r {"query": "q"} = []"#);
        let others = retriever.replace("documents", "output");
        assert_eq!(run(&others), r#"t b<a retrieval r {"query": "q"} = {"output": [1]}"#);
        assert_eq!(run(r#""run_type": "other", "name": "o", "status": "error""#), "t b<a - o !-");
    }

    #[test]
    fn what_cant_be_read_is_a_problem() {
        let text = r#"{"id": "t", "run_type": "chain", "inputs": {}, "child_runs": [{"id": "b"}, 5]}"#;
        assert_eq!(problems(&ENCODING, text), ["child_runs[1]: expected a run of LangSmith, an object, got a number"]);
    }
}
