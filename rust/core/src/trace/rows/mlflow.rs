//! Traces of MLflow: as its API gives them, or as rows of what `search_traces` finds, with the trace as JSON text or
//! its spans as a list. Every value in the attributes of a span is JSON text; they are read by the dialect for them.

use super::{
    row::{self, found},
    said::{self, Speaker},
};
use crate::{
    call::Reader,
    error::Error,
    text::Text,
    trace::spans::{
        About, Encoding, Exported,
        attributes::Attributes,
        otel::{self, Around},
    },
    value::{Member, Value},
};

pub const ENCODING: Encoding = Encoding { name: "mlflow", title: "traces of MLflow", fits, read };

const INFO: &str = "info";
const DATA: &str = "data";
const SPANS: &str = "spans";
const TRACE: &str = "trace";
/// The second are the words of version 2.
const TRACE_ID: &[&str] = &["trace_id", "request_id"];
const METADATA: &[&str] = &["trace_metadata", "request_metadata"];
const SESSION: &[&str] = &["mlflow.trace.session"];

fn fits(record: Value<'_>) -> bool {
    is_trace(record) || is_row(record)
}

/// A trace as the API gives it.
pub fn is_trace(record: Value<'_>) -> bool {
    let Some(info) = record.get(INFO) else { return false };
    record.get(DATA).is_some_and(|data| data.get(SPANS).is_some()) && found(info, TRACE_ID).is_some()
}

fn is_row(record: Value<'_>) -> bool {
    found(record, TRACE_ID).is_some()
        && METADATA.iter().any(|key| record.get(key).is_some())
        && (record.get(TRACE).is_some() || record.get(SPANS).is_some())
}

fn read<'a>(exported: &mut Exported<'a>, record: Value<'a>) -> Result<(), Error> {
    let reader = exported.reader;
    if is_trace(record) {
        let info = record.get(INFO).unwrap_or(Value::Null);
        return trace(exported, info, record.get(DATA).unwrap_or(Value::Null));
    }
    if !is_row(record) {
        return Err(row::not_a_row("a trace of MLflow", record));
    }
    let whole = row::decoded(reader, record, &[TRACE]).filter(|trace| is_trace(*trace));
    let data = whole.and_then(|whole| whole.get(DATA)).unwrap_or(record);
    trace(exported, record, data)
}

fn trace<'a>(exported: &mut Exported<'a>, info: Value<'a>, data: Value<'a>) -> Result<(), Error> {
    let reader = exported.reader;
    let id = row::id(reader, info, TRACE_ID);
    if let Some(trace_id) = id {
        let [metadata, tags] =
            [METADATA, &["tags"]].map(|keys| row::decoded(reader, info, keys).unwrap_or(Value::Null));
        let said = |key, speaker| said::last(reader, found(info, &[key]).or_else(|| found(data, &[key])), speaker);
        exported.traces.push(About {
            trace_id,
            conversation_id: row::id(reader, metadata, SESSION).or_else(|| row::id(reader, tags, SESSION)),
            input: said("request", Speaker::User),
            output: said("response", Speaker::Assistant),
            attributes: row::columns(reader, info, &["state", "tags", "assessments"]),
        });
    }
    let Some(spans) = found(data, &[SPANS]) else {
        return Err(Error::value("a trace without its spans"));
    };
    let before = exported.spans.len();
    otel::at_key(exported, SPANS, |exported| {
        otel::each(exported, spans, |exported, span| {
            otel::span(exported, span, Around { trace_id: id, ..Around::default() });
        });
    });
    for span in exported.spans.iter_mut().skip(before) {
        // Spans have the id that OpenTelemetry gave the trace.
        span.trace_id = id.unwrap_or(span.trace_id);
        span.attributes = written(reader, span.attributes);
        if span.status_message.is_none_or(Text::is_empty) {
            span.status_message = row::exception(reader, &span.events);
        }
    }
    Ok(())
}

/// Attributes before each was written as JSON text.
fn written<'a>(reader: Reader<'a>, attributes: Attributes<'a>) -> Attributes<'a> {
    let member = |member: &Member<'a>| Member { key: member.key, value: row::opened(reader, member.value) };
    Attributes(reader.bump.alloc_slice_fill_iter(attributes.0.iter().map(member)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{attributes, problems, recorded};
    use super::*;

    const SPANS: &str = r#"[{"trace_id": "mrCVF+Mi4mJme4psZZ0qEg==", "span_id": "tang4ata65s=", "parent_span_id": null,
            "name": "boss", "start_time_unix_nano": 1000, "end_time_unix_nano": 2000,
            "status": {"code": "STATUS_CODE_OK", "message": ""},
            "attributes": {"mlflow.spanType": "\"AGENT\"", "mlflow.spanOutputs": "\"done\"",
            "mlflow.spanLogLevel": "20"}},
        {"trace_id": "mrCVF+Mi4mJme4psZZ0qEg==", "span_id": "XrfLvtxe/F0=", "parent_span_id": "tang4ata65s=",
        "name": "f",
            "start_time_unix_nano": 1100, "end_time_unix_nano": 1200, "status": {"code": "STATUS_CODE_ERROR",
            "message": ""},
            "events": [{"name": "exception", "attributes": {"exception.message": "boom",
            "exception.type": "ValueError"}}],
            "attributes": {"mlflow.spanType": "\"TOOL\"", "mlflow.spanInputs": "{\"x\": 1}"}}]"#;

    fn trace() -> String {
        format!(
            r#"{{"info": {{"trace_id": "tr-1", "state": "OK", "trace_metadata": {{"mlflow.trace.session": "s"}},
            "tags": {{"k": "v"}}, "assessments": []}}, "data": {{"spans": {SPANS}}}}}"#
        )
    }

    #[test]
    fn a_trace_with_its_spans() {
        let told = recorded(&ENCODING, &trace());
        let wanted = [
            r#"about tr-1 s null > null {"state": "OK", "tags": {"k": "v"}}"#,
            "tr-1 b5a9e0e1ab5aeb9b<- boss 1000..2000",
            "tr-1 5eb7cbbedc5efc5d<b5a9e0e1ab5aeb9b f 1100..1200 !boom",
        ];
        assert_eq!(told, wanted);
        let wanted = [
            r#"{"mlflow.spanType": "AGENT", "mlflow.spanOutputs": "done", "mlflow.spanLogLevel": "20"}"#,
            r#"{"mlflow.spanType": "TOOL", "mlflow.spanInputs": {"x": 1}}"#,
        ];
        assert_eq!(attributes(&ENCODING, &trace()), wanted);
    }

    #[test]
    fn rows_of_a_search() {
        let columns = r#""trace_id": "tr-1", "state": "OK", "request": {"x": "Q"}, "response": "done",
            "trace_metadata": {"mlflow.trace.session": "s"}, "tags": {}"#;
        for row in [
            format!(r#"{{{columns}, "trace": {:?}, "spans": {SPANS}}}"#, trace()),
            format!(r#"{{{columns}, "trace": {}}}"#, trace()),
            format!(r#"{{{columns}, "spans": {SPANS}}}"#),
        ] {
            let told = recorded(&ENCODING, &row);
            assert_eq!(told[0], r#"about tr-1 s null > "done" {"state": "OK"}"#);
            assert_eq!(told[1..], recorded(&ENCODING, &trace())[1..], "{row}");
        }
    }

    #[test]
    fn traces_of_version_2() {
        let text = r#"{"info": {"request_id": "r", "status": "OK", "request_metadata": {}, "tags": {}},
            "data": {"request": "{\"messages\": [{\"role\": \"user\", \"content\": \"Q\"}]}", "response": "\"A\"",
            "spans": [
                {"name": "f", "context": {"span_id": "0x9a1e", "trace_id": "0x5b8e"}, "parent_id": null,
                "start_time": 1767268800000000000,
                 "end_time": 1767268800000000001, "status_code": "ERROR", "status_message": "boom", "attributes": {},
                 "events": []}]}}"#;
        let wanted = [r#"about r - "Q" > "A" null"#, "r 9a1e<- f 1767268800000000000..1767268800000000001 !boom"];
        assert_eq!(recorded(&ENCODING, text), wanted);
    }

    #[test]
    fn what_cant_be_read_is_a_problem() {
        let text = r#"{"info": {"trace_id": "t"}, "data": {"spans": [5]}}"#;
        assert_eq!(problems(&ENCODING, text), ["spans[0]: expected a span, an object, got a number"]);
        let text = r#"{"info": {"trace_id": "t"}, "data": {"spans": null}}"#;
        assert_eq!(problems(&ENCODING, text), ["a trace without its spans"]);
    }
}
