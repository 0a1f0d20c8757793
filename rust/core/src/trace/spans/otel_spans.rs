//! Spans one by one, with their attributes as plain objects: what the SDKs print and keep in memory, and what
//! CloudWatch and others make of OTLP. Log records of the same kind may stand between them.

use super::{
    Encoding, Exported,
    otel::{self, Around},
};
use crate::{
    error::Error,
    text::Text,
    value::{Member, Value},
};

pub const ENCODING: Encoding =
    Encoding { name: "otel_spans", title: "OpenTelemetry spans as plain objects", fits, read };

/// The times of rows are called otherwise, so that these tell them apart.
const TIMES: &[&str] =
    &["start_time", "startTime", "startTimeUnixNano", "timeUnixNano", "observedTimeUnixNano", "timestamp"];
/// What a span has beside its name and times, of which exporters leave out what is empty.
const PARTS: &[&str] = &["attributes", "events", "span_events", "status", "kind", "links"];
/// Phoenix has spans with such a key.
const NOT_OURS: &[&str] = &["span_kind"];
const SPANS: &str = "spans";
const LOGS: &[&str] = &["logs", "log_records", "logRecords"];
/// Of what spans come in.
const SESSION: &[&str] = &["session_id", "sessionId"];

fn fits(value: Value<'_>) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|&item| is_span(item, false)),
        Value::Object(_) => {
            let spans = match value.get(SPANS) {
                Some(Value::Array(items)) => items,
                _ => &[],
            };
            is_span(value, false) || spans.iter().any(|&span| is_span(span, otel::has_trace_id(value)))
        }
        _ => false,
    }
}

/// Or a log record. Is the id of its trace known from what is around it?
fn is_span(value: Value<'_>, trace_is_known: bool) -> bool {
    let has_ids = otel::has_ids(value) || trace_is_known && otel::has_span_id(value);
    has_ids
        && otel::has(value, TIMES)
        && !otel::has(value, NOT_OURS)
        && (otel::is_log(value) || value.get("name").is_some() && PARTS.iter().any(|part| value.get(part).is_some()))
}

fn read<'a>(exported: &mut Exported<'a>, value: Value<'a>) -> Result<(), Error> {
    match value {
        Value::Array(_) => otel::each(exported, value, |exported, item| span(exported, item, Around::default())),
        Value::Object(_) if value.get(SPANS).is_some() => held(exported, value),
        Value::Object(_) => span(exported, value, Around::default()),
        other => return Err(Error::wrong_type(format!("expected a span, an object, got {}", other.kind()))),
    }
    Ok(())
}

/// Spans in an object with what they share.
fn held<'a>(exported: &mut Exported<'a>, value: Value<'a>) {
    let bump = exported.reader.bump;
    let mut resource = otel::resource(exported, value).to_vec();
    if let Some((_, session)) = otel::first(value, SESSION) {
        resource.push(Member { key: Text::from("session.id"), value: session });
    }
    let around = Around { trace_id: otel::trace_id(value, bump), resource: otel::object(resource, bump) };
    for &key in [SPANS].iter().chain(LOGS) {
        if let Some(list) = value.get(key) {
            otel::at_key(exported, key, |exported| {
                otel::each(exported, list, |exported, item| span(exported, item, around))
            });
        }
    }
}

fn span<'a>(exported: &mut Exported<'a>, value: Value<'a>, around: Around<'a>) {
    if !otel::is_log(value) {
        otel::span(exported, value, around);
    } else if !otel::log(exported, value, around) {
        exported.problems.push(Error::value("a log record without the id of its trace"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::spans::otel::told::told;

    #[test]
    fn a_span_as_the_console_exporter_of_python_prints_it() {
        let span = r#"{
            "name": "execute_tool refund",
            "context": {"trace_id": "0x5b8efff798038103d269b633813fc60c", "span_id": "0xeee19b7ec3c1b174"},
            "kind": "SpanKind.INTERNAL", "parent_id": "0xeee19b7ec3c1b173",
            "start_time": "1970-01-01T00:00:00.000001Z", "end_time": "1970-01-01T00:00:00.000002Z",
            "status": {"status_code": "ERROR", "description": "E: no"},
            "attributes": {"gen_ai.tool.name": "refund", "list": ["a"]},
            "events": [{"name": "exception", "timestamp": "1970-01-01T00:00:00.000002Z",
                        "attributes": {"exception.type": "E"}}],
            "links": [], "resource": {"attributes": {"service.name": "shop", "telemetry.sdk.name": "x"}}}"#;
        let lines = [
            "5b8efff798038103d269b633813fc60c/eee19b7ec3c1b174 < eee19b7ec3c1b173 execute_tool refund 1000..2000 \
             Error \"E: no\"",
            r#"  gen_ai.tool.name = "refund""#,
            r#"  list = ["a"]"#,
            r#"  service.name = "shop""#,
            r#"  event exception {"exception.type": "E"}"#,
        ];
        assert_eq!(told(&ENCODING, span), lines);
        assert_eq!(told(&ENCODING, &format!("[{span}]")), lines);
        assert_eq!(told(&ENCODING, &format!(r#"{{"spans": [{span}]}}"#)), lines);
    }

    #[test]
    fn spans_as_tests_and_cloudwatch_keep_them() {
        let spans = r#"{"session_id": "s1", "span_count": 3, "spans": [
            {"trace_id": "t-1", "span_id": "a", "parent_span_id": null, "name": "x", "start_time": 1700000000000000000,
             "end_time": 1700000001000000000, "attributes": {}, "scope": {"name": "y"}, "status": {"code": "UNSET"},
             "span_events": [{"event_name": "details", "span_id": "a", "timestamp": 1, "attributes": {"k": [1]},
                "body": {"input": {"messages": []}, "output": {"messages": []}}}]},
            {"traceId": "t-1", "spanId": "b", "parentSpanId": "a", "name": "y", "startTimeUnixNano": 5,
             "durationNano": 2, "attributes": {"session.id": "s2"}, "status": {"code": "OK"}},
            {"traceId": "t-1", "spanId": "b", "timeUnixNano": 6, "severityText": "", "attributes": {"event.name": "z"},
             "body": {"output": {"messages": [{"role": "assistant", "content": "hi"}]}}}]}"#;
        assert_eq!(
            told(&ENCODING, spans),
            [
                "t-1/a x 1700000000000000000..1700000001000000000",
                r#"  session.id = "s1""#,
                r#"  event details {"k": [1]} {"input": {"messages": []}, "output": {"messages": []}}"#,
                "t-1/b < a y 5..7 Ok",
                r#"  session.id = "s2""#,
                concat!(
                    r#"log t-1/b z {"event.name": "z"} "#,
                    r#"{"output": {"messages": [{"role": "assistant", "content": "hi"}]}}"#
                ),
            ]
        );
    }

    #[test]
    fn spans_of_javascript() {
        let span = r#"{"traceId": "5b8efff798038103d269b633813fc60c", "parentId": "eee19b7ec3c1b173",
            "name": "ai.toolCall", "id": "eee19b7ec3c1b174", "kind": 0, "timestamp": 1767268800000000, "duration": 5,
            "attributes": {"ai.toolCall.name": "f"}, "status": {"code": 0}, "events": [], "links": []}"#;
        assert_eq!(
            told(&ENCODING, span),
            [
                "5b8efff798038103d269b633813fc60c/eee19b7ec3c1b174 < eee19b7ec3c1b173 ai.toolCall \
                 1767268800000000000..1767268800000005000",
                r#"  ai.toolCall.name = "f""#,
            ]
        );
        let span = r#"{"_spanContext": {"traceId": "t", "spanId": "s"}, "name": "f",
            "parentSpanContext": {"traceId": "t", "spanId": "r"}, "startTime": [1, 5], "endTime": [2, 0],
            "attributes": {}, "status": {"code": 1}}"#;
        assert_eq!(told(&ENCODING, span), ["t/s < r f 1000000005..2000000000 Ok"]);
    }

    #[test]
    fn a_trace_that_has_the_id_for_its_spans() {
        let trace = r#"{"traceId": "t", "evaluationId": "e", "spans": [
            {"spanId": "s", "name": "f", "startTime": 1767268800000, "endTime": 1767268800001, "attributes": {"a": 1},
             "statusCode": 2, "statusMessage": "no"}]}"#;
        assert_eq!(told(&ENCODING, trace), [r#"t/s f 1767268800000000000..1767268800001000000 Error "no""#, "  a = 1"]);
    }

    #[test]
    fn attributes_may_be_left_out() {
        let span =
            r#"{"trace_id": "t", "span_id": "s", "name": "f", "start_time": "2026-01-01T12:00:00Z", "status": {}}"#;
        assert_eq!(told(&ENCODING, span), ["t/s f 1767268800000000000..?"]);
    }

    #[test]
    fn what_is_odd_is_a_problem_and_the_rest_is_read() {
        let spans = r#"[{"trace_id": "t", "span_id": "s", "name": 5, "start_time": true, "attributes": {},
             "events": {}}, {"body": "x", "span_id": "r"}, {"body": "y", "span_id": "s", "name": "e"}, 7]"#;
        assert_eq!(
            told(&ENCODING, spans),
            [
                "t/s 5 ?..?",
                r#"log t/s e {} "y""#,
                "! [0].start_time: not a time that can be read",
                "! [1]: a log record without the id of its trace",
                "! [3]: expected a span, an object, got a number",
            ]
        );
    }

    #[test]
    fn others_do_not_fit() {
        for text in [
            // Phoenix.
            r#"{"name": "a", "span_kind": "TOOL", "context": {"trace_id": "t", "span_id": "s"}, "start_time": "x",
                "attributes": {}}"#,
            // Rows.
            r#"{"trace_id": "t", "span_id": "s", "name": "a", "start_time_unix_nano": 5, "attributes": {}}"#,
            r#"{"trace_id": "t", "span_id": "s", "span_name": "a", "start_timestamp": "x", "attributes": {}}"#,
            // Langfuse.
            r#"{"id": "s", "traceId": "t", "name": "a", "startTime": "x", "type": "TOOL", "input": {}}"#,
            // The SDK of OpenAI's agents.
            r#"{"object": "trace.span", "id": "s", "trace_id": "t", "started_at": "x", "span_data": {}}"#,
            r#"{"spans": []}"#,
            r#"{"role": "user", "content": "hi"}"#,
            "[]",
        ] {
            assert_eq!(told(&ENCODING, text), ["does not fit"], "{text}");
        }
    }
}
