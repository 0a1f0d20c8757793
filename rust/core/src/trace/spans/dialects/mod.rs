//! The words of instrumentations, one file for each.

mod adk;
mod any;
mod claude_code;
mod cloudwatch;
mod events;
mod genai;
mod genkit;
mod logfire;
mod mlflow;
mod names;
mod openinference;
mod openllmetry;
mod platforms;
mod pydantic_ai;
mod rhesis;
mod strands;
mod values;
mod vercel;

use super::Dialect;

pub use values::are_cut_off;

/// The dialect that says of any span what all of them say alike: it is read whichever one is insisted on.
pub const FOR_ALL: &str = any::DIALECT.name;

/// In this order they decide what kind of a step a span is: the explicit word of a product first, guesses last.
pub const DIALECTS: &[Dialect] = &[
    platforms::LANGFUSE,
    platforms::LANGSMITH,
    platforms::LAMINAR,
    mlflow::DIALECT,
    openinference::DIALECT,
    genai::DIALECT,
    openllmetry::DIALECT,
    adk::DIALECT,
    pydantic_ai::DIALECT,
    logfire::DIALECT,
    strands::DIALECT,
    vercel::DIALECT,
    genkit::DIALECT,
    rhesis::DIALECT,
    claude_code::DIALECT,
    cloudwatch::DIALECT,
    any::DIALECT,
];

#[cfg(test)]
pub mod tests {
    use bumpalo::Bump;

    use super::{
        super::{Event, Recorded, Status, attributes::Attributes, tree},
        DIALECTS,
    };
    use crate::{
        call::Reader,
        show,
        text::Text,
        trace::{messages, turns::Listener},
        value::Value,
    };

    /// A span out of JSON: `name`, `attributes`, `events` (each with a `name`, `attributes` and a `body`), `status`
    /// (`OK`, `ERROR`), `message` and `row`.
    pub fn recorded<'a>(span: Value<'a>) -> Recorded<'a> {
        let text = |holder: Value<'a>, key: &str| match holder.get(key) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        };
        let attributes = |holder: Value<'a>| match holder.get("attributes") {
            Some(Value::Object(members)) => Attributes(members),
            _ => Attributes::default(),
        };
        let event = |&event: &Value<'a>| Event {
            name: text(event, "name").unwrap_or(Text::from("")),
            attributes: attributes(event),
            body: event.get("body").unwrap_or(Value::Null),
        };
        let events = match span.get("events") {
            Some(Value::Array(events)) => events.iter().map(event).collect(),
            _ => Vec::new(),
        };
        Recorded {
            trace_id: Text::from("t"),
            id: None,
            parent_id: None,
            name: text(span, "name").unwrap_or(Text::from("")),
            started_at: None,
            ended_at: None,
            status: text(span, "status").map(|word| if word.is("OK") { Status::Ok } else { Status::Error }),
            status_message: text(span, "message"),
            attributes: attributes(span),
            events,
            row: span.get("row").unwrap_or(Value::Null),
        }
    }

    /// What a span says, as lines of `what: it`. Messages are told as turns and calls.
    fn said(span: &str) -> Vec<String> {
        let bump = Bump::new();
        let (value, reader) = Reader::parse(span.as_bytes(), &bump).unwrap();
        let recorded = recorded(value);
        let step = tree::step(reader, &recorded, None);
        let word = |text: Option<Text<'_>>| text.map(show::plain);
        let json = |value: Option<Value<'_>>| value.map(show::json_text);
        let marks = [("is_repeated", step.is_repeated), ("is_mcp", step.is_mcp)];
        let mut lines = Vec::new();
        for (what, it) in [
            ("kind", step.kind.map(|kind| kind.word().to_owned())),
            ("name", word(step.name)),
            ("id", word(step.call_id)),
            ("agent", word(step.agent)),
            ("input", json(step.input)),
            ("output", json(step.output)),
            ("failed", step.failed.map(|failed| failed.to_string())),
            ("error", word(step.error)),
            ("conversation", word(step.conversation_id)),
            ("turn", word(step.turn_id)),
            ("asked", step.asked.map(|messages| heard(reader, messages))),
            ("answered", step.answered.map(|messages| heard(reader, messages))),
        ] {
            lines.extend(it.map(|it| format!("{what}: {it}")));
        }
        lines.extend(marks.iter().filter(|(_, is_so)| *is_so).map(|(what, _)| (*what).to_owned()));
        lines
    }

    fn heard<'a>(reader: Reader<'a>, messages: Value<'a>) -> String {
        let mut listener = Listener::default();
        if let Err(error) = messages::hear(reader, messages, &mut listener) {
            return format!("{error} in {}", show::json_text(messages));
        }
        let said = |value: Value<'_>| match value {
            Value::Text(text) => show::plain(text),
            _ => "-".to_owned(),
        };
        let mut told = Vec::new();
        for (turn, spans) in listener.finish().turns() {
            told.push(format!("{} > {}", said(turn.input), said(turn.output)));
            for span in spans {
                let id = span.id.map_or("-".to_owned(), show::plain);
                let (input, output) = (show::json_text(span.input), show::json_text(span.output));
                told.push(format!("{id} {}({input}) = {output}", show::plain(span.name)));
            }
        }
        told.join("; ")
    }

    #[track_caller]
    pub fn says(span: &str, expected: &[&str]) {
        assert_eq!(said(span), expected);
        mutate(span);
    }

    /// With any one value in it replaced by any other, a span is read without a panic.
    fn mutate(span: &str) {
        for place in 1.. {
            for other in [Value::Null, Value::True, Value::Int(7), Value::Text(Text::from("x")), Value::Array(&[])] {
                let bump = Bump::new();
                let (value, reader) = Reader::parse(span.as_bytes(), &bump).unwrap();
                let mut left = Some(place);
                let value = messages::parts::told::replaced(value, other, &mut left, &bump);
                if left.is_some() {
                    return;
                }
                tree::step(reader, &recorded(value), None);
            }
        }
    }

    #[test]
    fn a_span_of_something_else_says_nothing() {
        says(r#"{"name": "GET /", "attributes": {"http.method": "GET", "url.path": "/"}}"#, &[]);
        says(r#"{"name": "", "attributes": {}}"#, &[]);
    }

    #[test]
    fn what_one_dialect_leaves_out_another_one_says() {
        // The call's id and the conversation are GenAI's, the rest is OpenInference's.
        says(
            r#"{"name": "execute_tool f", "attributes": {"openinference.span.kind": "TOOL", "tool.name": "f",
                "input.value": "{\"x\": 1}", "output.value": "{\"id\": \"c\", \"name\": \"f\", \"response\": 5}",
                "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f", "gen_ai.tool.call.id": "c",
                "gen_ai.agent.name": "desk", "gcp.vertex.agent.tool_call_args": "{\"x\": 1}",
                "gcp.vertex.agent.invocation_id": "i", "session.id": "s"}}"#,
            &[
                "kind: tool_call",
                "name: f",
                "id: c",
                "agent: desk",
                r#"input: {"x": 1}"#,
                "output: 5",
                "conversation: s",
                "turn: i",
            ],
        );
        // What a span is may be said by a later dialect than what it was given.
        for kind in ["", r#""traceloop.span.kind": "tool","#, r#""ai.operationId": "ai.toolCall","#] {
            for given in [
                r#""gen_ai.tool.call.arguments": "{\"x\": 1}", "gen_ai.tool.call.result": "r""#,
                r#""mlflow.spanInputs": "{\"x\": 1}", "mlflow.spanOutputs": "r""#,
            ] {
                says(
                    &format!(r#"{{"name": "x", "attributes": {{{kind} "gen_ai.tool.name": "f", {given}}}}}"#),
                    &["kind: tool_call", "name: f", r#"input: {"x": 1}"#, r#"output: "r""#],
                );
            }
        }
        // A kind that says nothing leaves the word to others.
        says(
            r#"{"name": "x", "attributes": {"openinference.span.kind": "UNKNOWN", "traceloop.span.kind": "tool",
                "traceloop.entity.name": "f", "traceloop.entity.input": "{\"x\": 1}"}}"#,
            &["kind: tool_call", "name: f", r#"input: {"x": 1}"#],
        );
        says(
            r#"{"name": "ai.toolCall", "attributes": {"mlflow.spanType": "\"TOOL\"", "mlflow.spanInputs": "{\"x\": 1}",
                "ai.operationId": "ai.toolCall", "ai.toolCall.name": "f", "ai.toolCall.id": "c"}}"#,
            &["kind: tool_call", "name: f", "id: c", r#"input: {"x": 1}"#],
        );
    }

    #[test]
    fn every_dialect_has_a_word_of_its_own() {
        let words: std::collections::HashSet<_> = DIALECTS.iter().map(|dialect| dialect.name).collect();
        assert_eq!(words.len(), DIALECTS.len());
    }
}
