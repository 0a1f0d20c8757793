//! MLflow: `mlflow.spanType`, `mlflow.spanInputs` and `mlflow.spanOutputs`, each of them JSON text. A tool's inputs go
//! by the names of its parameters.

use super::values::{self, items, list};
use crate::{
    call::Reader,
    trace::{
        span::Kind,
        spans::{Dialect, Recorded, Step, attributes::Attributes, fill},
    },
    value::Value,
};

pub const DIALECT: Dialect = Dialect { name: "mlflow", title: "MLflow spans", fits, read };

const TYPE: &str = "mlflow.spanType";
const INPUTS: &str = "mlflow.spanInputs";
const OUTPUTS: &str = "mlflow.spanOutputs";
const MESSAGES: &str = "mlflow.chat.messages";
const SESSION: &str = "mlflow.trace.session";

const KINDS: &[(&str, Kind)] = &[
    ("TOOL", Kind::ToolCall),
    ("LLM", Kind::Llm),
    ("CHAT_MODEL", Kind::Llm),
    ("AGENT", Kind::Agent),
    ("RETRIEVER", Kind::Retrieval),
    ("EMBEDDING", Kind::Embedding),
    ("RERANKER", Kind::Rerank),
    ("GUARDRAIL", Kind::Guardrail),
    ("CHAIN", Kind::Chain),
    ("WORKFLOW", Kind::Chain),
    ("TASK", Kind::Chain),
    ("PARSER", Kind::Chain),
    ("MEMORY", Kind::Chain),
    ("EVALUATOR", Kind::Chain),
];

fn fits(recorded: &Recorded<'_>) -> bool {
    [TYPE, INPUTS, OUTPUTS].iter().any(|key| recorded.attributes.has(key))
}

fn read<'a>(reader: Reader<'a>, recorded: &Recorded<'a>, step: &mut Step<'a>) {
    let attributes = recorded.attributes;
    let said = |key: &str| attributes.get(key).map(|value| values::said(reader, value));
    if let Some(Value::Text(word)) = said(TYPE)
        && let Some((_, kind)) = KINDS.iter().find(|(name, _)| word.is(name))
    {
        step.kind(*kind);
    }
    if let Some(Value::Text(session)) = said(SESSION) {
        fill(&mut step.conversation_id, Some(session).filter(|session| !session.is_empty()));
    }
    let (inputs, outputs) = (values::given(said(INPUTS)), values::given(said(OUTPUTS)));
    match step.kind {
        Some(Kind::ToolCall) => {
            fill(&mut step.input, inputs);
            fill(&mut step.output, outputs);
        }
        Some(Kind::Llm) => {
            let (asked, answered) = chat(reader, attributes);
            let given = inputs.and_then(|inputs| values::as_messages(reader, inputs, "user"));
            let gave = outputs.and_then(|outputs| values::as_messages(reader, outputs, "assistant"));
            fill(&mut step.asked, given.or(asked));
            fill(&mut step.answered, gave.or(answered));
        }
        Some(_) => {
            fill(&mut step.input, inputs);
            fill(&mut step.output, outputs);
        }
        None => {}
    }
}

/// All messages of a request and its response, the last of which is the answer.
fn chat<'a>(reader: Reader<'a>, attributes: Attributes<'a>) -> (Option<Value<'a>>, Option<Value<'a>>) {
    let all = attributes.get(MESSAGES).map(|value| values::said(reader, value));
    let is_answer =
        |message: &Value<'a>| matches!(message.get("role"), Some(Value::Text(role)) if role.is("assistant"));
    match items(all) {
        [asked @ .., answer] if is_answer(answer) => {
            (values::list_of_some(reader, asked), Some(list(reader, &[*answer])))
        }
        asked => (values::list_of_some(reader, asked), None),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::says;

    #[test]
    fn tools_and_agents() {
        says(
            r#"{"name": "lookup", "status": "OK", "attributes": {"mlflow.spanType": "\"TOOL\"",
                "mlflow.spanInputs": "{\"order\": 42}", "mlflow.spanOutputs": "\"late\""}}"#,
            &["kind: tool_call", "name: lookup", r#"input: {"order": 42}"#, r#"output: "late""#, "failed: false"],
        );
        says(
            r#"{"name": "refund", "status": "ERROR", "attributes": {"mlflow.spanType": "TOOL", "mlflow.spanInputs": {}},
                "events": [{"name": "exception", "attributes": {"exception.message": "boom"}}]}"#,
            &["kind: tool_call", "name: refund", "input: {}", "failed: true", "error: boom"],
        );
        says(
            r#"{"name": "desk", "attributes": {"mlflow.spanType": "\"AGENT\"", "mlflow.spanInputs": "{\"x\": \"hi\"}",
                "mlflow.spanOutputs": "\"done\"", "mlflow.trace.session": "\"s\""}}"#,
            &["kind: agent", "name: desk", r#"input: {"x": "hi"}"#, r#"output: "done""#, "conversation: s"],
        );
    }

    #[test]
    fn models() {
        says(
            r#"{"name": "m", "attributes": {"mlflow.spanType": "\"CHAT_MODEL\"",
                "mlflow.spanInputs": "{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}]}",
                "mlflow.spanOutputs": {"choices": [{"message": {"role": "assistant", "content": "ho"}}]}}}"#,
            &["kind: llm", "asked: hi > -", "answered: - > ho"],
        );
        says(
            r#"{"name": "m", "attributes": {"mlflow.spanType": "\"LLM\"", "mlflow.spanInputs": "{\"a\": 1}",
                "mlflow.chat.messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]}}"#,
            &["kind: llm", "asked: hi > -", "answered: - > ho"],
        );
    }

    #[test]
    fn others_words_beside_it() {
        says(
            r#"{"name": "execute_tool lookup", "attributes": {"mlflow.spanType": "\"TOOL\"", "gen_ai.tool.name":
                "lookup",
                "gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.id": "c", "gen_ai.tool.call.arguments":
                "{}"}}"#,
            &["kind: tool_call", "name: lookup", "id: c", r#"input: {}"#],
        );
        says(r#"{"name": "x", "attributes": {"mlflow.spanType": "\"UNKNOWN\"", "mlflow.spanInputs": "1"}}"#, &[]);
    }
}
