//! What the SDKs of platforms write into attributes: a word for what a span is, and what it was given and gave as JSON
//! text. (The rows that the same platforms export have columns instead.)

use super::{genai, openinference, values};
use crate::{
    call::Reader,
    trace::{
        span::Kind,
        spans::{Dialect, Recorded, Step, fill},
    },
};

pub const LANGFUSE: Dialect = Dialect {
    name: "langfuse",
    title: "spans of Langfuse's SDK",
    fits: |recorded| recorded.attributes.any_under("langfuse.observation."),
    read: |reader, recorded, step| {
        read(&OF_LANGFUSE, reader, recorded, step);
        let attributes = recorded.attributes;
        if attributes.is("langfuse.observation.level", &["ERROR"]) {
            fill(&mut step.failed, Some(true));
            fill(&mut step.error, attributes.text(reader, &["langfuse.observation.status_message"]));
        }
    },
};

pub const LANGSMITH: Dialect = Dialect {
    name: "langsmith",
    title: "spans of LangSmith's SDK",
    fits: |recorded| recorded.attributes.has(OF_LANGSMITH.kind),
    read: |reader, recorded, step| read(&OF_LANGSMITH, reader, recorded, step),
};

pub const LAMINAR: Dialect = Dialect {
    name: "laminar",
    title: "spans of Laminar's SDK",
    fits: |recorded| recorded.attributes.any_under("lmnr.span."),
    read: |reader, recorded, step| read(&OF_LAMINAR, reader, recorded, step),
};

/// The keys of a platform.
struct Platform {
    kind: &'static str,
    input: &'static str,
    output: &'static str,
    model: &'static [&'static str],
    session: &'static [&'static str],
}

const OF_LANGFUSE: Platform = Platform {
    kind: "langfuse.observation.type",
    input: "langfuse.observation.input",
    output: "langfuse.observation.output",
    model: &["langfuse.observation.model.name"],
    session: &["langfuse.session.id"],
};
const OF_LANGSMITH: Platform = Platform {
    kind: "langsmith.span.kind",
    input: "gen_ai.prompt",
    output: "gen_ai.completion",
    model: genai::MODEL,
    session: &["langsmith.metadata.thread_id", "langsmith.metadata.session_id", "langsmith.metadata.conversation_id"],
};
const OF_LAMINAR: Platform = Platform {
    kind: "lmnr.span.type",
    input: "lmnr.span.input",
    output: "lmnr.span.output",
    model: genai::MODEL,
    session: &["lmnr.association.properties.session_id"],
};

/// In any case of letters. A `span`, or one of the type `DEFAULT`, may be anything.
const KINDS: &[(&str, Kind)] = &[
    ("tool", Kind::ToolCall),
    ("generation", Kind::Llm),
    ("llm", Kind::Llm),
    ("agent", Kind::Agent),
    ("chain", Kind::Chain),
    ("evaluator", Kind::Chain),
    ("prompt", Kind::Chain),
    ("parser", Kind::Chain),
    ("retriever", Kind::Retrieval),
    ("embedding", Kind::Embedding),
    ("guardrail", Kind::Guardrail),
];

fn read<'a>(platform: &Platform, reader: Reader<'a>, recorded: &Recorded<'a>, step: &mut Step<'a>) {
    let attributes = recorded.attributes;
    if let Some((_, kind)) = KINDS.iter().find(|(word, _)| attributes.is(platform.kind, &[word])) {
        step.kind(*kind);
    }
    fill(&mut step.conversation_id, values::id(reader, attributes, platform.session));
    let said = |key: &str| attributes.get(key).map(|value| values::said(reader, value));
    let (input, output) = (values::given(said(platform.input)), values::given(said(platform.output)));
    match step.kind {
        Some(Kind::Llm) => {
            fill(&mut step.name, attributes.text(reader, platform.model));
            let input = input.map(|input| openinference::opened(reader, input));
            fill(&mut step.asked, input.and_then(|input| values::as_messages(reader, input, "user")));
            fill(&mut step.answered, output.and_then(|output| values::as_messages(reader, output, "assistant")));
        }
        _ => {
            fill(&mut step.input, input);
            fill(&mut step.output, output);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::says;

    #[test]
    fn observations() {
        says(
            r#"{"name": "lookup", "attributes": {"langfuse.observation.type": "tool", "session.id": "s",
                "langfuse.observation.input": "{\"args\": [], \"kwargs\": {\"x\": 1}}",
                "langfuse.observation.output": "\"late\"", "langfuse.observation.level": "ERROR",
                "langfuse.observation.status_message": "boom"}}"#,
            &[
                "kind: tool_call",
                "name: lookup",
                r#"input: {"x": 1}"#,
                r#"output: "late""#,
                "failed: true",
                "error: boom",
                "conversation: s",
            ],
        );
        says(
            r#"{"name": "m", "attributes": {"langfuse.observation.type": "generation",
                "langfuse.observation.model.name": "m", "langfuse.observation.input": [{"role": "user", "content":
                "hi"}],
                "langfuse.observation.output": "ho"}}"#,
            &["kind: llm", "name: m", "asked: hi > -", "answered: - > ho"],
        );
        says(
            r#"{"name": "x", "attributes": {"langfuse.observation.type": "span", "langfuse.observation.input": "1"}}"#,
            &["input: 1"],
        );
    }

    #[test]
    fn of_other_platforms() {
        says(
            r#"{"name": "lookup", "attributes": {"langsmith.span.kind": "tool", "gen_ai.operation.name": "execute_tool",
                "gen_ai.prompt": "{\"x\": 1}", "gen_ai.completion": "late", "langsmith.metadata.thread_id": "t"}}"#,
            &["kind: tool_call", "name: lookup", r#"input: {"x": 1}"#, r#"output: "late""#, "conversation: t"],
        );
        says(
            r#"{"name": "lookup", "attributes": {"lmnr.span.type": "TOOL", "lmnr.span.input": "{\"x\": 1}",
                "lmnr.span.output": "3"}}"#,
            &["kind: tool_call", "name: lookup", r#"input: {"x": 1}"#, "output: 3"],
        );
        says(
            r#"{"name": "m", "attributes": {"lmnr.span.type": "LLM", "gen_ai.request.model": "m",
                "lmnr.span.output": [{"role": "assistant", "content": "ho"}]}}"#,
            &["kind: llm", "name: m", "answered: - > ho"],
        );
    }
}
