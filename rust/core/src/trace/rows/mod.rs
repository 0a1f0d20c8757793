//! Exports of tracing products: rows with columns of their own, one file for each product.
//!
//! What an instrumentation left in the attributes of a row is read by the dialects for attributes. The dialect of a
//! product comes after them and reads its own columns.

mod adk_bigquery;
mod braintrust;
mod deepeval;
mod langfuse;
mod langsmith;
mod mlflow;
mod openai_agents;
mod opik;
mod phoenix;
mod result;
mod rhesis;
pub mod row;
mod said;
mod weave;

use super::spans::{Dialect, Encoding};

pub use adk_bigquery::ENCODING as ADK_BIGQUERY;
pub use langfuse::ENCODING as LANGFUSE;
pub use langsmith::ENCODING as LANGSMITH;
pub use mlflow::{ENCODING as MLFLOW, is_trace as is_trace_of_mlflow};
pub use phoenix::ENCODING as PHOENIX;

pub const ENCODINGS: &[Encoding] = &[
    langfuse::ENCODING,
    langsmith::ENCODING,
    mlflow::ENCODING,
    phoenix::ENCODING,
    openai_agents::ENCODING,
    braintrust::ENCODING,
    weave::ENCODING,
    opik::ENCODING,
    deepeval::ENCODING,
    rhesis::ENCODING,
    adk_bigquery::ENCODING,
];

pub const DIALECTS: &[Dialect] = &[
    langfuse::ATTRIBUTES,
    langfuse::DIALECT,
    langsmith::DIALECT,
    openai_agents::DIALECT,
    braintrust::DIALECT,
    weave::DIALECT,
    opik::DIALECT,
    deepeval::DIALECT,
    adk_bigquery::DIALECT,
];

#[cfg(test)]
mod tests {
    use bumpalo::Bump;

    use super::*;
    use crate::{
        call::Reader,
        show,
        text::Text,
        trace::{
            decode,
            logs::LOGS,
            messages,
            span::Kind,
            spans::{self, About, Exported, Recorded, Status, Step},
            turns::Listener,
        },
        value::Value,
    };

    fn word(text: Option<Text<'_>>) -> String {
        text.map_or("-".to_owned(), show::plain)
    }

    /// All that take a record for their own.
    fn fitting(value: Value<'_>) -> Vec<&'static str> {
        let encodings = spans::ENCODINGS.iter().chain(ENCODINGS).filter(|encoding| (encoding.fits)(value));
        let logs = LOGS.iter().filter(|log| (log.fits)(value));
        encodings.map(|encoding| encoding.title).chain(logs.map(|log| log.title)).collect()
    }

    fn exported<'a>(bump: &'a Bump, encoding: &Encoding, text: &'a str) -> Exported<'a> {
        let (value, reader) = Reader::parse(text.as_bytes(), bump).unwrap();
        assert_eq!(fitting(value), [encoding.title], "{text}");
        let mut exported = Exported::new(reader);
        if let Err(error) = (encoding.read)(&mut exported, value) {
            exported.problems.push(error);
        }
        exported
    }

    /// With any one value in it replaced by any other, a record is read without a panic.
    fn mutate(encoding: &Encoding, text: &str) {
        for place in 0.. {
            for other in [Value::Null, Value::True, Value::Int(7), Value::Text(Text::from("x")), Value::Array(&[])] {
                let bump = Bump::new();
                let (value, reader) = Reader::parse(text.as_bytes(), &bump).unwrap();
                let mut left = Some(place);
                let value = messages::parts::told::replaced(value, other, &mut left, &bump);
                if left.is_some() {
                    return;
                }
                let mut exported = Exported::new(reader);
                if (encoding.read)(&mut exported, value).is_err() {
                    continue;
                }
                for recorded in &exported.spans {
                    spans::tree::step(reader, recorded, None);
                }
            }
        }
    }

    /// A span of which nothing is known.
    pub fn empty<'a>() -> Recorded<'a> {
        Recorded {
            trace_id: Text::from("t"),
            id: None,
            parent_id: None,
            name: Text::from(""),
            started_at: None,
            ended_at: None,
            status: None,
            status_message: None,
            attributes: Default::default(),
            events: Vec::new(),
            row: Value::Null,
        }
    }

    /// Each trace as `about id conversation input > output attributes`, then each span as `trace id<parent kind name`,
    /// with what else is known of it: `#` its call id, `@` its agent, `~` its conversation, `%` its turn, the input `=`
    /// the output, `?` what it was asked, `:` what it answered, `!` that it failed and why.
    pub fn steps(encoding: &Encoding, dialect: &Dialect, text: &str) -> Vec<String> {
        let bump = Bump::new();
        let exported = exported(&bump, encoding, text);
        assert!(exported.problems.is_empty(), "{:?}", exported.problems);
        mutate(encoding, text);
        let reader = exported.reader;
        let spans = exported.spans.iter().map(|recorded| step(reader, dialect, recorded));
        exported.traces.iter().map(about).chain(spans).collect()
    }

    fn about(about: &About<'_>) -> String {
        let [input, output, attributes] = [about.input, about.output, about.attributes].map(show::json_text);
        let (id, conversation) = (show::plain(about.trace_id), word(about.conversation_id));
        format!("about {id} {conversation} {input} > {output} {attributes}")
    }

    /// The same of spans that say what they say in their attributes, which are not told: `trace id<parent name
    /// start..end`.
    pub fn recorded(encoding: &Encoding, text: &str) -> Vec<String> {
        let bump = Bump::new();
        let exported = exported(&bump, encoding, text);
        let time = |time: Option<i64>| time.map_or("-".to_owned(), |time| time.to_string());
        let span = |span: &Recorded<'_>| {
            let [trace, name] = [span.trace_id, span.name].map(show::plain);
            let (start, end) = (time(span.started_at), time(span.ended_at));
            let failed = match span.status {
                Some(Status::Error) => format!(" !{}", word(span.status_message)),
                _ => String::new(),
            };
            format!("{trace} {}<{} {name} {start}..{end}{failed}", word(span.id), word(span.parent_id))
        };
        exported.traces.iter().map(about).chain(exported.spans.iter().map(span)).collect()
    }

    pub fn attributes(encoding: &Encoding, text: &str) -> Vec<String> {
        let bump = Bump::new();
        let exported = exported(&bump, encoding, text);
        exported.spans.iter().map(|span| show::json_text(Value::Object(span.attributes.0))).collect()
    }

    fn step<'a>(reader: Reader<'a>, dialect: &Dialect, recorded: &Recorded<'a>) -> String {
        let mut step = Step::default();
        if (dialect.fits)(recorded) {
            (dialect.read)(reader, recorded, &mut step);
        }
        let (trace, id, parent) = (show::plain(recorded.trace_id), word(recorded.id), word(recorded.parent_id));
        let kind = step.kind.map_or("-", |kind| kind.word());
        let mut line = format!("{trace} {id}<{parent} {kind} {}", word(step.name.or(Some(recorded.name))));
        for (mark, more) in [("#", step.call_id), ("@", step.agent), ("~", step.conversation_id), ("%", step.turn_id)] {
            line += &more.map_or(String::new(), |more| format!(" {mark}{}", show::plain(more)));
        }
        // As the tree of a trace does with all tool calls.
        if step.is(Kind::ToolCall) {
            step.output = step.output.map(|output| decode::output(reader, output).0);
        }
        let value = |value: Option<Value<'a>>| value.map_or("none".to_owned(), show::json_text);
        if step.input.is_some() || step.output.is_some() {
            line += &format!(" {} = {}", value(step.input), value(step.output));
        }
        for (mark, messages) in [("?", step.asked), (":", step.answered)] {
            line += &messages.map_or(String::new(), |messages| format!(" {mark}{}", said(reader, messages)));
        }
        if recorded.status == Some(Status::Error) || step.failed == Some(true) {
            line += &format!(" !{}", word(step.error.or(recorded.status_message)));
        }
        line
    }

    /// Questions, answers, and calls.
    fn said<'a>(reader: Reader<'a>, value: Value<'a>) -> String {
        let mut listener = Listener::default();
        messages::hear(reader, value, &mut listener).unwrap();
        let conversation = listener.finish();
        let mut words = Vec::new();
        for (turn, spans) in conversation.turns() {
            let text = |value: Value<'a>| match value {
                Value::Text(text) => Some(show::plain(text)),
                _ => None,
            };
            words.extend(text(turn.input));
            words.extend(spans.iter().map(|span| format!("{}{}", show::plain(span.name), show::json_text(span.input))));
            words.extend(text(turn.output));
        }
        words.join("|")
    }

    pub fn problems(encoding: &Encoding, text: &str) -> Vec<String> {
        let bump = Bump::new();
        exported(&bump, encoding, text).problems.iter().map(|problem| problem.to_string()).collect()
    }

    /// As deep as values may nest.
    #[test]
    fn rows_in_each_other_are_read_to_the_last() {
        let nested = |open: &str, close: &str, inner: &str| format!("{}{inner}{}", open.repeat(500), close.repeat(500));
        let run = r#"{"id": "a", "run_type": "chain", "inputs": {}, "child_runs": ["#;
        let runs = nested(run, "]}", r#"{"id": "b", "run_type": "tool", "inputs": {}}"#);
        let span = r#"{"span_id": "a", "span_name": "s", "span_kind": "INTERNAL", "attributes": {}, "children": ["#;
        let spans = nested(span, "]}", &format!("{span}]}}"));
        for (encoding, text) in [(&langsmith::ENCODING, runs), (&rhesis::ENCODING, spans)] {
            assert_eq!(recorded(encoding, &text).len(), 501, "{}", encoding.name);
        }
        let whole = format!("{}1{}", r#"{"key": "#.repeat(900), "}".repeat(900));
        let row = format!(
            r#"{{"context": {{"trace_id": "t", "span_id": "a"}}, "span_kind": "TOOL", "name": "f",
            "attributes": {whole}}}"#
        );
        assert!(attributes(&phoenix::ENCODING, &row)[0].starts_with(r#"{"key.key."#));
    }

    /// What no encoding takes for its own by chance.
    #[test]
    fn every_encoding_keeps_to_its_own() {
        let bump = Bump::new();
        for text in [
            "5",
            "{}",
            "[]",
            r#"{"role": "user", "content": "x"}"#,
            r#"{"messages": []}"#,
            r#"{"resourceSpans": []}"#,
            r#"{"data": []}"#,
            r#"{"data": [{"traceID": "1", "spans": []}]}"#,
            r#"{"name": "a", "context": {"trace_id": "0x1", "span_id": "0x2"}, "kind": "SpanKind.INTERNAL",
                "attributes": {}}"#,
            r#"{"id": "1", "type": "message", "start_time": 5}"#,
            r#"{"trace_id": "1", "span_id": "2", "attributes": {}}"#,
        ] {
            let value = Reader::parse(text.as_bytes(), &bump).unwrap().0;
            for encoding in ENCODINGS {
                assert!(!(encoding.fits)(value), "{} {text}", encoding.name);
                let mut exported = Exported::new(Reader::new(&bump, false));
                assert!((encoding.read)(&mut exported, value).is_err(), "{} {text}", encoding.name);
            }
        }
    }
}
