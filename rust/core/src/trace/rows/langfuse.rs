//! Exports of Langfuse: a trace with its observations, a page of either, or rows of observations, in the spelling of
//! the API or of the export to files. Input, output and metadata may be JSON text.

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
        spans::{About, Dialect, Encoding, Exported, Recorded, Status, Step, attributes::Attributes, fill},
    },
    value::{Member, Object, Value},
};

pub const ENCODING: Encoding = Encoding { name: "langfuse", title: "an export of Langfuse", fits, read };

/// What its SDK leaves in the attributes of spans that are exported elsewhere too.
pub const ATTRIBUTES: Dialect = Dialect {
    name: "langfuse",
    title: "attributes of Langfuse",
    fits: |recorded| recorded.attributes.has(TYPE_ATTRIBUTE),
    read: tell_attributes,
};

pub const DIALECT: Dialect = Dialect {
    name: "langfuse",
    title: "observations of Langfuse",
    fits: |recorded| is_observation(recorded.row),
    read: tell,
};

const TYPE_ATTRIBUTE: &str = "langfuse.observation.type";
const OBSERVATIONS: &str = "observations";
const TRACE: &str = "trace";
const DATA: &str = "data";
const TRACE_ID: &[&str] = &["traceId", "trace_id"];
const PARENT_ID: &[&str] = &["parentObservationId", "parent_observation_id"];
const START: &[&str] = &["startTime", "start_time"];
const END: &[&str] = &["endTime", "end_time"];
const SESSION: &[&str] = &["sessionId", "session_id"];
const STATUS_MESSAGE: &[&str] = &["statusMessage", "status_message"];
const TOOL_CALLS: &[&str] = &["toolCalls", "tool_calls"];

/// Of these, only what makes a difference is a kind of step: a span may be anything.
const KINDS: &[(&str, Kind)] = &[
    ("GENERATION", Kind::Llm),
    ("TOOL", Kind::ToolCall),
    ("AGENT", Kind::Agent),
    ("CHAIN", Kind::Chain),
    ("RETRIEVER", Kind::Retrieval),
    ("EMBEDDING", Kind::Embedding),
    ("GUARDRAIL", Kind::Guardrail),
];
const TYPES: &[&str] =
    &["SPAN", "EVENT", "EVALUATOR", "GENERATION", "TOOL", "AGENT", "CHAIN", "RETRIEVER", "EMBEDDING", "GUARDRAIL"];

fn fits(record: Value<'_>) -> bool {
    let is_ours = |record: Value<'_>| is_row(record) || is_trace(record);
    is_ours(record) || row::list(record, &[DATA]).first().is_some_and(|first| is_ours(*first))
}

/// A row that stands for itself. In a table the outermost has no column for what is around it; its type is written in
/// capitals, as no other product writes one.
fn is_row(row: Value<'_>) -> bool {
    let is_outermost = || {
        let is_type = matches!(row.get("type"), Some(Value::Text(word)) if TYPES.iter().any(|one| word.is(one)));
        is_type && found(row, TRACE_ID).is_some()
    };
    is_observation(row) && (PARENT_ID.iter().any(|key| row.get(key).is_some()) || is_outermost())
}

fn is_observation(row: Value<'_>) -> bool {
    row::is_word(row, "type", TYPES) && found(row, START).is_some() && row.get("run_type").is_none()
}

fn is_trace(record: Value<'_>) -> bool {
    if is_trace_alone(record) {
        return true;
    }
    match record.get(OBSERVATIONS) {
        Some(Value::Array([first, ..])) => is_observation(*first) || is_listed(record, *first),
        Some(Value::Array([])) => record.get("projectId").is_some() || row::is_object(record.get(TRACE)),
        _ => false,
    }
}

/// A row of the export of traces to files, whose observations stand in other ones.
fn is_trace_alone(row: Value<'_>) -> bool {
    ["bookmarked", "public", "timestamp"].iter().all(|key| row.get(key).is_some()) && row.get(OBSERVATIONS).is_none()
}

/// A list of traces names their observations.
fn is_listed(trace: Value<'_>, first: Value<'_>) -> bool {
    matches!(first, Value::Text(_)) && trace.get("htmlPath").is_some()
}

fn read<'a>(exported: &mut Exported<'a>, record: Value<'a>) -> Result<(), Error> {
    if !fits(record) {
        return Err(row::not_a_row("a trace or an observation of Langfuse", record));
    }
    if is_trace(record) {
        return trace(exported, record);
    }
    if let Some(Value::Array(items)) = record.get(DATA) {
        row::each(exported, items, DATA, |exported, item| {
            if is_trace(item) { trace(exported, item) } else { observation(exported, item, None) }
        });
        return Ok(());
    }
    observation(exported, record, None)
}

fn trace<'a>(exported: &mut Exported<'a>, record: Value<'a>) -> Result<(), Error> {
    let reader = exported.reader;
    let about = record.get(TRACE).filter(|trace| matches!(trace, Value::Object(_))).unwrap_or(record);
    let id = row::id(reader, about, &["id"]);
    if let Some(trace_id) = id {
        let metadata = row::decoded(reader, about, &["metadata"]).unwrap_or(Value::Null);
        exported.traces.push(About {
            trace_id,
            conversation_id: row::id(reader, about, SESSION).or_else(|| thread(reader, metadata)),
            input: said::last(reader, found(about, &["input"]), Speaker::User),
            output: said::last(reader, found(about, &["output"]), Speaker::Assistant),
            attributes: row::columns(reader, about, &["name", "tags", "metadata", "scores", "userId"]),
        });
    }
    // In some exports the trace has them as well, without what they say.
    let observations = match row::list(record, &[OBSERVATIONS]) {
        [] => row::list(about, &[OBSERVATIONS]),
        observations => observations,
    };
    row::each(exported, observations, OBSERVATIONS, |exported, item| observation(exported, item, id));
    Ok(())
}

fn observation<'a>(exported: &mut Exported<'a>, row: Value<'a>, trace_id: Option<Text<'a>>) -> Result<(), Error> {
    let reader = exported.reader;
    if let Value::Text(_) = row {
        return Err(Error::value(
            "an observation that is given by its id alone; export the trace with its observations",
        ));
    }
    if !matches!(row, Value::Object(_)) {
        return Err(row::not_a_row("an observation", row));
    }
    let is_failed = row::is_word(row, "level", &["ERROR"]);
    let metadata = row::members(reader, found(row, &["metadata"]));
    exported.spans.push(Recorded {
        trace_id: row::id(reader, row, TRACE_ID).or(trace_id).unwrap_or(Text::from("")),
        id: row::id(reader, row, &["id"]),
        parent_id: row::id(reader, row, PARENT_ID),
        name: row::text(reader, row, &["name"]).unwrap_or(Text::from("")),
        started_at: row::time(row, START),
        ended_at: row::time(row, END),
        status: is_failed.then_some(Status::Error),
        status_message: row::text(reader, row, STATUS_MESSAGE),
        attributes: attributes(reader, metadata),
        events: Vec::new(),
        row,
    });
    Ok(())
}

/// What an instrumentation left, under a key or with keys that begin with it.
fn attributes<'a>(reader: Reader<'a>, metadata: Object<'a>) -> Attributes<'a> {
    const PREFIX: &[u8] = b"attributes.";
    let nested = metadata.iter().find(|member| member.key.is("attributes"));
    if let Some(member) = nested {
        return Attributes(row::members(reader, Some(member.value)));
    }
    let rest = |member: &Member<'a>| {
        let key = Text::Utf8(member.key.utf8_in(reader.bump).strip_prefix(PREFIX)?);
        Some(Member { key, value: member.value })
    };
    let members: Vec<_> = metadata.iter().filter_map(rest).collect();
    Attributes(reader.bump.alloc_slice_copy(&members))
}

/// What frameworks call the conversation.
fn thread<'a>(reader: Reader<'a>, metadata: Value<'a>) -> Option<Text<'a>> {
    row::id(reader, metadata, &["thread_id", "langfuse_session_id", "session_id", "conversation_id"])
}

fn tell<'a>(reader: Reader<'a>, recorded: &Recorded<'a>, step: &mut Step<'a>) {
    tell_row(reader, recorded.name, recorded.row, step);
}

fn tell_attributes<'a>(reader: Reader<'a>, recorded: &Recorded<'a>, step: &mut Step<'a>) {
    let attributes = recorded.attributes;
    let value = |key: &str| attributes.get(key).unwrap_or(Value::Null);
    let row = [
        ("type", value(TYPE_ATTRIBUTE)),
        ("input", value("langfuse.observation.input")),
        ("output", value("langfuse.observation.output")),
        ("metadata", attributes.nested(reader, "langfuse.observation.metadata.")),
        ("model", value("langfuse.observation.model.name")),
        ("session_id", value("session.id")),
    ];
    tell_row(reader, recorded.name, row::object(reader, &row), step);
    if attributes.is("langfuse.observation.level", &["ERROR"]) {
        fill(&mut step.failed, Some(true));
        fill(&mut step.error, attributes.text(reader, &["langfuse.observation.status_message"]));
    }
}

fn tell_row<'a>(reader: Reader<'a>, name: Text<'a>, row: Value<'a>, step: &mut Step<'a>) {
    let metadata = row::decoded(reader, row, &["metadata"]).unwrap_or(Value::Null);
    let input = found(row, &["input"]).map(|input| row::opened(reader, input));
    let output = found(row, &["output"]).map(|output| row::opened(reader, output));
    fill(&mut step.conversation_id, row::id(reader, row, SESSION).or_else(|| thread(reader, metadata)));
    let message = output.and_then(|output| result::tool_message(reader, output));
    let (agent, is_agent) = row::agent_of_langchain(reader, metadata, name);
    fill(&mut step.agent, agent);
    match row::kind(row, &["type"], KINDS) {
        Some(Kind::Chain) | None if is_agent => step.kind(Kind::Agent),
        Some(kind) => step.kind(kind),
        // LangChain's handler recorded tools as spans before version 3.4.
        None if is_tool(name, metadata, input, message.is_some()) => step.kind(Kind::ToolCall),
        None => {}
    }
    match step.kind {
        Some(Kind::ToolCall) => {
            fill(&mut step.name, Some(row::tool_name(reader, name)));
            fill(&mut step.call_id, row::id(reader, metadata, &["tool_call_id"]));
            let (given, id) = match input.and_then(|input| said::given_in_event(reader, input)) {
                Some((given, id)) => (Some(given), id),
                None => (input, None),
            };
            fill(&mut step.call_id, id);
            fill(&mut step.input, found(metadata, &["inputs"]).filter(|inputs| is_asked(*inputs, input)).or(given));
            let answered = output.and_then(|output| said::answered_in_event(reader, output));
            match message {
                Some(message) => result::tell(reader, message, step),
                None => fill(&mut step.output, answered.or(output)),
            }
        }
        Some(Kind::Llm) => {
            let asked = input.and_then(|input| said::by_model(reader, input, Speaker::User));
            let answered = output.and_then(|output| said::by_model(reader, output, Speaker::Assistant));
            fill(&mut step.name, row::text(reader, row, &["model", "provided_model_name"]));
            fill(&mut step.asked, asked);
            fill(&mut step.answered, with_calls(reader, row, output, answered));
        }
        kind => {
            if kind == Some(Kind::Agent) {
                fill(&mut step.name, Some(row::agent_name(reader, name)));
            }
            said::tell(reader, step, input, output);
        }
    }
}

/// Is it a tool that LangChain's handler recorded as a span? It answers with a tool message, or was given the text of
/// its arguments, which stand in the metadata too, or stands inside of a graph's node for tools.
fn is_tool(name: Text<'_>, metadata: Value<'_>, input: Option<Value<'_>>, has_message: bool) -> bool {
    let is_node = row::is_text(metadata.get("langgraph_node"))
        && matches!(metadata.get("langgraph_node"), Some(Value::Text(node)) if node == name);
    let is_shown = || matches!(input, Some(Value::Text(text)) if text.utf8().starts_with(b"{'"));
    !is_node
        && (has_message
            || metadata.get("inputs").is_some_and(|inputs| is_asked(inputs, input))
            || row::is_word(metadata, "langgraph_node", &["tools"]) && is_shown())
}

/// The arguments of which the input is a text.
fn is_asked(inputs: Value<'_>, input: Option<Value<'_>>) -> bool {
    matches!((inputs, input), (Value::Object(_), Some(Value::Text(_))))
}

/// With the calls that Langfuse found, where the output has none in it.
fn with_calls<'a>(
    reader: Reader<'a>,
    row: Value<'a>,
    output: Option<Value<'a>>,
    answered: Option<Value<'a>>,
) -> Option<Value<'a>> {
    let calls = match row::decoded(reader, row, TOOL_CALLS) {
        Some(Value::Array(calls)) if !calls.is_empty() => calls,
        _ => return answered,
    };
    if answered.is_some_and(|answered| said::call_tools(reader, answered)) {
        return answered;
    }
    let calls: Vec<_> = calls.iter().map(|call| decode::decoded(reader, *call)).collect();
    let text = said::last(reader, output, Speaker::Assistant);
    Some(row::array(reader, &[said::calling(reader, text, &calls)]))
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;

    use super::super::tests::{empty, problems, steps};
    use super::*;

    fn told(text: &str) -> Vec<String> {
        steps(&ENCODING, &DIALECT, text)
    }

    /// What one row of the export to files says, with these further columns.
    fn row(columns: &str) -> String {
        let text = format!(
            r#"{{"id": "b", "trace_id": "t", "project_id": "p", "parent_observation_id": "a",
                "start_time": "2026-01-01 12:00:00.001000", {columns}}}"#
        );
        told(&text).remove(0)
    }

    const AGENT: &str = r#"{"id": "a", "traceId": "t", "parentObservationId": null, "type": "AGENT",
        "name": "agent_run [boss]", "startTime": "2026-01-01T12:00:00Z", "output": "\"A\"",
        "input": {"messages": [{"role": "user", "content": "Q"}]}}"#;
    const TOOL: &str = r#"{"id": "b", "traceId": "t", "parentObservationId": "a", "type": "TOOL",
        "name": "running tool: f", "startTime": "2026-01-01T12:00:00.001Z", "level": "DEFAULT", "input": "{\"x\": 1}",
        "output": "{\"y\": 2}", "metadata": "{\"attributes\": {\"gen_ai.tool.name\": \"g\", \"k\": {\"l\": 5}}}"}"#;

    #[test]
    fn a_trace_with_its_observations() {
        let trace = r#""id": "t", "sessionId": "s", "input": "\"Q\"", "output": "A", "tags": ["x"], "name": null"#;
        let inside = format!(r#"{{{trace}, "observations": [{AGENT}, {TOOL}]}}"#);
        for text in [
            format!(r#"{{"trace": {{{trace}, "observations": ["a"]}}, "observations": [{AGENT}, {TOOL}]}}"#),
            format!(r#"{{"data": [{inside}], "meta": {{"page": 1}}}}"#),
            inside,
        ] {
            let wanted = [
                r#"about t s "Q" > "A" {"tags": ["x"]}"#,
                r#"t a<- agent boss {"messages": [{"role": "user", "content": "Q"}]} = "A" ?Q"#,
                r#"t b<a tool_call f {"x": 1} = {"y": 2}"#,
            ];
            assert_eq!(told(&text), wanted, "{text}");
        }
    }

    #[test]
    fn what_an_instrumentation_left_stands_in_the_attributes() {
        let bump = Bump::new();
        for metadata in [
            r#""{\"attributes\": {\"gen_ai.tool.name\": \"g\"}, \"scope\": {}}""#,
            r#"{"attributes": "{\"gen_ai.tool.name\": \"g\"}"}"#,
            r#"{"attributes.gen_ai.tool.name": "g", "resourceAttributes.a": 1}"#,
        ] {
            let text = format!(
                r#"{{"traceId": "t", "parentObservationId": "a", "type": "SPAN", "startTime": 5,
                "metadata": {metadata}}}"#
            );
            let (value, reader) = Reader::parse(text.as_bytes(), &bump).unwrap();
            let mut exported = Exported::new(reader);
            read(&mut exported, value).unwrap();
            assert!(exported.spans[0].attributes.text(reader, &["gen_ai.tool.name"]).is_some(), "{metadata}");
            assert_eq!(exported.spans[0].started_at, Some(5_000_000_000));
        }
    }

    #[test]
    fn rows_and_what_they_say_of_errors_and_sessions() {
        let failed =
            row(r#""type": "TOOL", "name": "f", "session_id": "s", "level": "ERROR", "status_message": "boom",
            "input": "{}", "output": null"#);
        assert_eq!(failed, "t b<a tool_call f ~s {} = none !boom");
        assert_eq!(row(r#""type": "TOOL", "name": "f", "input": null"#), "t b<a tool_call f");
        assert_eq!(
            row(r#""type": "RETRIEVER", "name": "r", "input": "q", "output": "[1]""#),
            r#"t b<a retrieval r "q" = [1]"#
        );
        assert_eq!(row(r#""type": "SPAN", "name": "x", "metadata": {"thread_id": "s"}"#), "t b<a - x ~s");
        assert_eq!(row(r#""type": "EVENT", "name": "x""#), "t b<a - x");
        let metadata = r#""metadata": {"lc_agent_name": "boss"}"#;
        assert_eq!(row(&format!(r#""type": "CHAIN", "name": "boss", {metadata}"#)), "t b<a agent boss");
        assert_eq!(row(&format!(r#""type": "TOOL", "name": "f", {metadata}"#)), "t b<a tool_call f @boss");
    }

    #[test]
    fn generations_say_and_call() {
        let asked = r#""type": "GENERATION", "model": "m", "input": "[{\"role\": \"user\", \"content\": \"Q\"}]""#;
        for (output, calls, wanted) in [
            (r#""A""#, "[]", ":A"),
            (r#""[{\"role\": \"assistant\", \"content\": \"A\"}]""#, "null", ":A"),
            (r#""A""#, r#"["{\"id\": \"1\", \"name\": \"f\", \"arguments\": \"{\\\"x\\\": 1}\"}"]"#, r#":f{"x": 1}|A"#),
            ("null", r#""[{\"id\": \"1\", \"name\": \"f\", \"arguments\": \"{}\"}]""#, ":f{}"),
            (
                r#"{"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]}"#,
                r#"["{\"id\": \"1\", \"name\": \"f\", \"arguments\": \"{}\"}"]"#,
                ":f{}",
            ),
        ] {
            let told = row(&format!(r#"{asked}, "output": {output}, "tool_calls": {calls}"#));
            assert_eq!(told, format!("t b<a llm m ?Q {wanted}"));
        }
        assert_eq!(row(r#""type": "GENERATION", "name": "n""#), "t b<a llm n");
    }

    #[test]
    fn tools_that_are_spans_are_told_by_what_they_were_given_and_answered() {
        let message = r#"{"content": "R", "type": "tool", "name": "f", "tool_call_id": "1", "status": "error"}"#;
        let given = r#""type": "SPAN", "name": "f", "input": "{'x': 1}""#;
        assert_eq!(row(&format!(r#"{given}, "output": {message}"#)), r#"t b<a tool_call f #1 "{'x': 1}" = "R" !-"#);
        let metadata = r#""metadata": {"langgraph_node": "tools", "inputs": {"x": 1}, "tool_call_id": "2"}"#;
        assert_eq!(row(&format!("{given}, {metadata}")), r#"t b<a tool_call f #2 {"x": 1} = none"#);
        let metadata = r#""level": "ERROR", "metadata": {"langgraph_node": "tools"}"#;
        assert_eq!(row(&format!("{given}, {metadata}")), r#"t b<a tool_call f "{'x': 1}" = none !-"#);
        // The node around tools, a node for something else, and what is inside of a tool.
        let node = format!(
            r#""type": "SPAN", "name": "tools", "output": {{"messages": [{message}]}},
            "metadata": {{"langgraph_node": "tools"}}"#
        );
        assert!(row(&node).starts_with("t b<a - tools"), "{}", row(&node));
        assert_eq!(
            row(r#""type": "SPAN", "name": "f", "input": "x", "metadata": {"langgraph_node": "tools"}"#),
            r#"t b<a - f "x" = none"#
        );
        assert_eq!(
            row(&format!(r#"{given}, "metadata": {{"langgraph_node": "agent"}}"#)),
            r#"t b<a - f "{'x': 1}" = none"#
        );
    }

    #[test]
    fn events_stand_for_what_a_tool_was_given_and_answered() {
        let told = row(r#""type": "TOOL", "name": "execute_tool f",
            "input": "[{\"role\": \"tool\", \"content\": \"{\\\"x\\\": 1}\", \"id\": \"1\"}]",
            "output": "{\"message\": \"[{\\\"text\\\": \\\"R\\\"}]\", \"id\": \"1\"}""#);
        assert_eq!(told, r#"t b<a tool_call f #1 "{\"x\": 1}" = "R""#);
        let told = row(r#""type": "TOOL", "name": "f", "input": {"role": "tool"}, "output": {"message": "R"}"#);
        assert_eq!(told, r#"t b<a tool_call f {"role": "tool"} = {"message": "R"}"#);
    }

    #[test]
    fn the_outermost_row_of_a_table_has_no_parent() {
        let row = r#"{"id": "a", "trace_id": "t", "type": "AGENT", "name": "boss", "start_time": 5}"#;
        assert_eq!(told(row), ["t a<- agent boss"]);
        let bump = Bump::new();
        // Other products write types in lower case, and a message is no observation.
        for other in [row.replace("AGENT", "agent"), row.replace("trace_id", "x"), row.replace("AGENT", "message")] {
            assert!(!fits(Reader::parse(other.as_bytes(), &bump).unwrap().0), "{other}");
        }
    }

    #[test]
    fn a_trace_whose_observations_are_elsewhere() {
        let text = r#"{"id": "t", "timestamp": "2026-01-01 12:00:00.000000", "session_id": "s", "bookmarked": false,
            "public": false, "input": "{\"messages\": [{\"role\": \"user\", \"content\": \"Q\"}]}", "output": null}"#;
        assert_eq!(told(text), [r#"about t s "Q" > null null"#]);
    }

    #[test]
    fn attributes_of_the_sdk() {
        let bump = Bump::new();
        let text = r#"{"langfuse.observation.type": "tool", "langfuse.observation.input": "{\"x\": 1}",
            "langfuse.observation.level": "ERROR", "langfuse.observation.status_message": "boom", "session.id": "s",
            "langfuse.observation.metadata.tool_call_id": "1"}"#;
        let (value, reader) = Reader::parse(text.as_bytes(), &bump).unwrap();
        let recorded = Recorded { attributes: Attributes(row::members(reader, Some(value))), ..empty() };
        assert!((ATTRIBUTES.fits)(&recorded));
        let mut step = Step::default();
        (ATTRIBUTES.read)(reader, &recorded, &mut step);
        assert!(step.is(Kind::ToolCall) && step.failed == Some(true) && step.call_id.is_some_and(|id| id.is("1")));
        assert!(step.conversation_id.is_some_and(|id| id.is("s")) && step.error.is_some_and(|text| text.is("boom")));
        assert_eq!(step.input.map(crate::show::json_text).as_deref(), Some(r#"{"x": 1}"#));
    }

    #[test]
    fn what_cant_be_read_is_a_problem() {
        let text = format!(r#"{{"data": [{{"id": "t", "observations": [{TOOL}, 5, {{"name": "x"}}]}}]}}"#);
        let wanted = "data[0].observations[1]: expected an observation, an object, got a number";
        assert_eq!(problems(&ENCODING, &text), [wanted]);
        let listed = problems(&ENCODING, r#"{"id": "t", "htmlPath": "/t", "observations": ["a"]}"#);
        assert!(listed[0].starts_with("observations[0]: an observation that is given by its id alone"), "{listed:?}");
    }
}
