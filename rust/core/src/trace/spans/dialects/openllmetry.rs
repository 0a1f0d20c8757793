//! Traceloop's OpenLLMetry: `traceloop.span.kind` and `traceloop.entity.…` around what the GenAI conventions say, and
//! the spans of vector databases.

use super::{
    genai, names,
    values::{self, before, text},
};
use crate::{
    call::Reader,
    trace::{
        span::Kind,
        spans::{Dialect, Recorded, Step, fill},
    },
    value::Value,
};

pub const DIALECT: Dialect = Dialect { name: "openllmetry", title: "OpenLLMetry spans", fits, read };

const KIND: &str = "traceloop.span.kind";
const NAME: &str = "traceloop.entity.name";
const INPUT: &str = "traceloop.entity.input";
const OUTPUT: &str = "traceloop.entity.output";
const REQUEST_TYPE: &str = "llm.request.type";
const DATABASE: &str = "db.system";
const OPERATION: &str = "db.operation";
const SESSION: &[&str] = &[
    "traceloop.association.properties.session_id",
    "traceloop.association.properties.thread_id",
    "traceloop.association.properties.conversation_id",
];

const KINDS: &[(&str, Kind)] =
    &[("tool", Kind::ToolCall), ("agent", Kind::Agent), ("workflow", Kind::Chain), ("task", Kind::Chain)];
const REQUESTS: &[(&str, Kind)] =
    &[("chat", Kind::Llm), ("completion", Kind::Llm), ("embedding", Kind::Embedding), ("rerank", Kind::Rerank)];
/// Other databases are none that hand documents to a model.
const VECTORS: &[&str] =
    &["chroma", "chromadb", "pinecone", "qdrant", "weaviate", "milvus", "lancedb", "marqo", "vespa", "redis_vector"];
const SEARCHES: &[&str] = &["query", "search", "search_batch", "retrieve", "get", "recommend", "peek", "hybrid_search"];

fn fits(recorded: &Recorded<'_>) -> bool {
    let attributes = recorded.attributes;
    attributes.any_under("traceloop.")
        || attributes.has(REQUEST_TYPE)
        || attributes.is(DATABASE, VECTORS) && attributes.has(OPERATION)
}

fn read<'a>(reader: Reader<'a>, recorded: &Recorded<'a>, step: &mut Step<'a>) {
    let attributes = recorded.attributes;
    if let Some(kind) = attributes.meaning(KIND, KINDS).or_else(|| attributes.meaning(REQUEST_TYPE, REQUESTS)) {
        step.kind(kind);
    }
    fill(&mut step.conversation_id, values::id(reader, attributes, SESSION));
    if attributes.is(DATABASE, VECTORS) && attributes.is(OPERATION, SEARCHES) {
        step.kind(Kind::Retrieval);
        retrieved(reader, recorded, step);
    }
    let entity = attributes.text(reader, &[NAME]);
    let (input, output) = (attributes.get(INPUT), attributes.get(OUTPUT).map(|value| values::said(reader, value)));
    match step.kind {
        Some(Kind::ToolCall) => {
            let own = || entity.or_else(|| before(reader, recorded.name, ".tool"));
            fill(&mut step.name, genai::tool_name(reader, attributes));
            fill(&mut step.name, own().map(|name| names::tool(reader, name)));
            fill(&mut step.input, input);
            fill(&mut step.output, output);
        }
        Some(Kind::Agent) => {
            let own = step.agent.take();
            fill(&mut step.name, own);
            fill(&mut step.name, entity.or_else(|| before(reader, recorded.name, ".agent")));
            fill(&mut step.input, input.map(|value| given(reader, value)));
            fill(&mut step.output, output.map(gave));
        }
        Some(Kind::Chain) => {
            let workflow = || attributes.text(reader, &["traceloop.workflow.name"]);
            fill(&mut step.name, entity.or_else(workflow));
            fill(&mut step.input, input.map(|value| given(reader, value)));
            fill(&mut step.output, output.map(gave));
        }
        _ => {}
    }
}

/// LangChain's callbacks are told of more than what a chain was given.
fn given<'a>(reader: Reader<'a>, value: Value<'a>) -> Value<'a> {
    let value = values::said(reader, value);
    let is_wrapped = value.get("kwargs").is_some() && value.get("metadata").is_some();
    values::given(value.get("inputs")).filter(|_| is_wrapped).unwrap_or(value)
}

fn gave(value: Value<'_>) -> Value<'_> {
    let is_wrapped = value.get("kwargs").is_some();
    values::given(value.get("outputs").or_else(|| value.get("output"))).filter(|_| is_wrapped).unwrap_or(value)
}

/// The documents that a search found are events.
fn retrieved<'a>(reader: Reader<'a>, recorded: &Recorded<'a>, step: &mut Step<'a>) {
    const RESULT: &str = "db.query.result";
    let found: Vec<Value<'a>> = recorded
        .events
        .iter()
        .filter(|event| event.name.is(RESULT) || event.name.is("db.search.result"))
        .map(|event| match event.attributes.nested(reader, &format!("{RESULT}.")) {
            Value::Null => Value::Object(event.attributes.0),
            document => document,
        })
        .collect();
    fill(&mut step.output, values::list_of_some(reader, &found));
    let asked = recorded.events.iter().find_map(|event| {
        let holder = Value::Object(event.attributes.0);
        text(holder, &["db.query.embeddings.text", "db.query.text"])
    });
    fill(&mut step.input, asked.map(Value::Text));
}

#[cfg(test)]
mod tests {
    use super::super::tests::says;

    #[test]
    fn tools_in_the_envelope_of_langchain() {
        says(
            r#"{"name": "search.tool", "attributes": {"traceloop.span.kind": "tool", "traceloop.entity.name": "search",
                "traceloop.entity.input": {"input_str": "{'q': 1}", "tags": [], "metadata": {}, "inputs": {"q": 1},
                "kwargs": {}},
                "traceloop.entity.output": "{\"output\": \"found\", \"kwargs\": {\"run_id\": \"r\"}}",
                "traceloop.association.properties.session_id": "s"}}"#,
            &["kind: tool_call", "name: search", r#"input: {"q": 1}"#, r#"output: "found""#, "conversation: s"],
        );
        says(
            r#"{"name": "execute_tool search", "attributes": {"gen_ai.operation.name": "execute_tool",
                "traceloop.span.kind": "tool", "gen_ai.tool.name": "search",
                "gen_ai.tool.call.arguments": {"input_str": "{'q': 1}", "tags": [], "metadata": {}, "inputs": null,
                "kwargs": {}},
                "gen_ai.tool.call.result": "{\"output\": {\"n\": 1}, \"kwargs\": {}}"}}"#,
            &["kind: tool_call", "name: search", r#"input: {"q": 1}"#, r#"output: {"n": 1}"#],
        );
    }

    #[test]
    fn decorated_functions() {
        says(
            r#"{"name": "lookup.tool", "attributes": {"traceloop.span.kind": "tool",
                "traceloop.entity.input": {"args": [], "kwargs": {"order": 42}}, "traceloop.entity.output":
                "\"late\""}}"#,
            &["kind: tool_call", "name: lookup", r#"input: {"order": 42}"#, r#"output: "late""#],
        );
        says(
            r#"{"name": "lookup.tool", "attributes": {"traceloop.span.kind": "tool",
                "traceloop.entity.input": "{\"args\": [42], \"kwargs\": {}}"}}"#,
            &["kind: tool_call", "name: lookup", r#"input: {"args": [42], "kwargs": {}}"#],
        );
        says(
            r#"{"name": "search.tool", "attributes": {"traceloop.span.kind": "tool", "gen_ai.operation.name":
                "execute_tool",
                "gen_ai.tool.name": "search", "gen_ai.tool.call.arguments": {"q": 1}, "gen_ai.tool.call.result":
                "\"x\""}}"#,
            &["kind: tool_call", "name: search", r#"input: {"q": 1}"#, r#"output: "\"x\"""#],
        );
    }

    #[test]
    fn agents_workflows_and_models() {
        says(
            r#"{"name": "desk.agent", "attributes": {"traceloop.span.kind": "agent", "gen_ai.agent.name": "desk"}}"#,
            &["kind: agent", "name: desk"],
        );
        says(
            r#"{"name": "flow.workflow", "attributes": {"traceloop.span.kind": "workflow", "traceloop.entity.name":
                "flow",
                "traceloop.entity.input": {"inputs": {"question": "hi"}, "tags": [], "metadata": {}, "kwargs": {}}}}"#,
            &["kind: chain", "name: flow", r#"input: {"question": "hi"}"#],
        );
        says(r#"{"name": "x", "attributes": {"llm.request.type": "embedding"}}"#, &["kind: embedding"]);
    }

    #[test]
    fn vector_databases() {
        says(
            r#"{"name": "chroma.query", "attributes": {"db.system": "chroma", "db.operation": "query"}, "events": [
                {"name": "db.query.result", "attributes": {"db.query.result.id": "d", "db.query.result.document":
                "text"}}]}"#,
            &["kind: retrieval", r#"output: [{"id": "d", "document": "text"}]"#],
        );
        says(r#"{"name": "x", "attributes": {"db.system": "chroma", "db.operation": "add"}}"#, &[]);
        says(r#"{"name": "x", "attributes": {"db.system": "postgresql", "db.operation": "query"}}"#, &[]);
    }
}
