//! Rows of one span each, as they are stored in data bases: ClickHouse as OpenTelemetry's collector fills it, tables of
//! OTLP (Databricks, and what otlp2records writes), and the records of Logfire.

use super::{
    Encoding, Exported, Status,
    otel::{self, Around},
};
use crate::{error::Error, trace::span, value::Value};

pub const CLICKHOUSE: Encoding =
    Encoding { name: "clickhouse", title: "rows of OpenTelemetry in ClickHouse", fits: is_of_clickhouse, read };
pub const OTEL_TABLE: Encoding =
    Encoding { name: "otel_table", title: "rows of a table of OpenTelemetry", fits: is_of_table, read };
pub const LOGFIRE: Encoding =
    Encoding { name: "logfire", title: "records of Logfire", fits: is_of_logfire, read: read_logfire };

fn is_of_clickhouse(value: Value<'_>) -> bool {
    let is_span = otel::has(value, &["SpanName"]);
    otel::has(value, &["TraceId"]) && otel::has(value, &["SpanId"]) && (is_span || otel::has(value, &["Body"]))
}

fn is_of_table(value: Value<'_>) -> bool {
    let has = |key| otel::has(value, &[key]);
    has("trace_id") && has("span_id") && (has("start_time_unix_nano") || has("time_unix_nano") && has("body"))
}

fn is_of_logfire(value: Value<'_>) -> bool {
    ["trace_id", "span_id", "span_name", "start_timestamp"].iter().all(|&key| otel::has(value, &[key]))
}

fn read<'a>(exported: &mut Exported<'a>, value: Value<'a>) -> Result<(), Error> {
    let Value::Object(_) = value else {
        return Err(Error::wrong_type(format!("expected a row, an object, got {}", value.kind())));
    };
    if !otel::is_log(value) {
        otel::span(exported, value, Around::default());
    } else if !otel::log(exported, value, Around::default()) {
        exported.problems.push(Error::value("a log record without the id of its trace"));
    }
    Ok(())
}

/// How Logfire marks what it wrote when a span began.
const KIND: &str = "kind";
const PENDING: &str = "pending_span";
const PARENT_OF_PENDING: &str = "logfire.pending_parent_id";

fn read_logfire<'a>(exported: &mut Exported<'a>, value: Value<'a>) -> Result<(), Error> {
    let reader = exported.reader;
    let before = exported.spans.len();
    read(exported, value)?;
    let Some(span) = exported.spans.get_mut(before) else { return Ok(()) };
    if matches!(value.get("is_exception"), Some(Value::True)) {
        span.status.get_or_insert(Status::Error);
        let message = otel::first(value, &["exception_message", "exception_type"]);
        let message = message.and_then(|(_, message)| span::word(message, reader.bump));
        super::fill(&mut span.status_message, message);
    }
    if matches!(value.get(KIND), Some(Value::Text(kind)) if kind.is(PENDING)) {
        // It stands for its parent, of which a row comes when it has ended, unless it never does.
        let parent =
            span.attributes.get(PARENT_OF_PENDING).and_then(|id| otel::id(id, otel::SPAN_ID_BYTES, reader.bump));
        span.id = span.parent_id;
        span.parent_id = parent;
        span.ended_at = None;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::spans::otel::told::told;

    #[test]
    fn rows_of_clickhouse() {
        for attributes in [
            r#"{"gen_ai.tool.name": "refund", "n": "5"}"#,
            r#"[["gen_ai.tool.name", "refund"], ["n", "5"]]"#,
            r#"[{"key": "gen_ai.tool.name", "value": "refund"}, {"key": "n", "value": "5"}]"#,
        ] {
            let row = format!(
                r#"{{"Timestamp": "2026-01-01 12:00:00.000000001", "TraceId": "5b8efff798038103d269b633813fc60c",
                "SpanId": "eee19b7ec3c1b174", "ParentSpanId": "", "TraceState": "", "SpanName": "execute_tool refund",
                "SpanKind": "Internal", "ServiceName": "shop", "ResourceAttributes": {{"session.id": "s", "host": "h"}},
                "ScopeName": "x", "SpanAttributes": {attributes}, "Duration": "5", "StatusCode": "Error",
                "StatusMessage": "no", "Events.Timestamp": ["2026-01-01 12:00:00.000000002"],
                "Events.Name": ["exception"], "Events.Attributes": [{{"exception.type": "E"}}]}}"#
            );
            assert_eq!(
                told(&CLICKHOUSE, &row),
                [
                    "5b8efff798038103d269b633813fc60c/eee19b7ec3c1b174 execute_tool refund \
                     1767268800000000001..1767268800000000006 Error \"no\"",
                    r#"  gen_ai.tool.name = "refund""#,
                    r#"  n = "5""#,
                    r#"  service.name = "shop""#,
                    r#"  session.id = "s""#,
                    r#"  event exception {"exception.type": "E"}"#,
                ],
                "{attributes}"
            );
        }
    }

    #[test]
    fn what_clickhouse_nests() {
        let row = r#"{"Timestamp": 1767268800000000000, "TraceId": "t", "SpanId": "s", "ParentSpanId": "r",
            "SpanName": "f", "SpanAttributes": {"gen_ai": {"tool": {"name": "refund"}}}, "StatusCode": "Unset",
            "StatusMessage": "",
            "Events": [{"Timestamp": 1, "Name": "a", "Attributes": {"k": "v"}}]}"#;
        assert_eq!(
            told(&CLICKHOUSE, row),
            [
                "t/s < r f 1767268800000000000..?",
                r#"  gen_ai = {"tool": {"name": "refund"}}"#,
                r#"  gen_ai.tool = {"name": "refund"}"#,
                r#"  gen_ai.tool.name = "refund""#,
                r#"  event a {"k": "v"}"#,
            ]
        );
        let row =
            r#"{"TraceId": "t", "SpanId": "s", "SpanName": "f", "Events": {"Name": ["a", "b"], "Attributes": [{}]}}"#;
        assert_eq!(told(&CLICKHOUSE, row), ["t/s f ?..?", "  event a {}", "  event b {}"]);
        let row = r#"{"Timestamp": "2026-01-01 12:00:00", "TraceId": "t", "SpanId": "s", "SeverityText": "INFO",
            "Body": "{\"content\": \"hi\"}", "LogAttributes": {"event.name": "gen_ai.choice"}}"#;
        assert_eq!(
            told(&CLICKHOUSE, row),
            [r#"log t/s gen_ai.choice {"event.name": "gen_ai.choice"} "{\"content\": \"hi\"}""#]
        );
    }

    #[test]
    fn rows_of_tables_of_otlp() {
        for row in [
            // Databricks.
            r#"{"record_id": "1", "time": "x", "service_name": "shop", "trace_id": "t", "span_id": "s",
                "parent_span_id": "r", "name": "f", "kind": "SPAN_KIND_INTERNAL", "start_time_unix_nano": 1000,
                "end_time_unix_nano": 2000,
                "attributes": "{\"a.b\": {\"c\": 1}}", 
                "events": [{"name": "e", "time_unix_nano": 1, "attributes": "{\"k\": 1}"}],
                "status": {"code": "STATUS_CODE_ERROR", "message": "no"},
                "resource": {"attributes": {"host.name": "h"}}}"#,
            // otlp2records.
            r#"{"start_time_unix_nano": "1970-01-01T00:00:00.000001Z", "duration_time_unix_nano": 1000, "trace_id": "t",
                "span_id": "s", "parent_span_id": "r", "service_name": "shop", "name": "f", "status_code": 2,
                "status_status_message": "no", "span_attributes": "{\"a.b\": {\"c\": 1}}",
                "events_json": "[{\"name\": \"e\", \"attributes\": {\"k\": 1}}]",
                "resource_attributes": "{\"x\": 1}"}"#,
        ] {
            assert_eq!(
                told(&OTEL_TABLE, row),
                [
                    r#"t/s < r f 1000..2000 Error "no""#,
                    r#"  a.b = {"c": 1}"#,
                    r#"  service.name = "shop""#,
                    r#"  event e {"k": 1}"#,
                ],
                "{row}"
            );
        }
        let log = r#"{"trace_id": "t", "span_id": "s", "time_unix_nano": 5, "event_name": "e", "body": "{\"a\": 1}",
            "attributes": null}"#;
        assert_eq!(told(&OTEL_TABLE, log), [r#"log t/s e {} "{\"a\": 1}""#]);
    }

    #[test]
    fn records_of_logfire() {
        let record = r#"{"trace_id": "t", "span_id": "s", "parent_span_id": "r", "span_name": "running tool",
            "kind": "span", "message": "running tool: f", "start_timestamp": "2026-01-01T12:00:00Z",
            "end_timestamp": "2026-01-01T12:00:01Z", "duration": 1.0, "attributes": "{\"gen_ai.tool.name\": \"f\"}",
            "service_name": "shop", "is_exception": true,
            "exception_type": "ValueError", "exception_message": "no", "otel_scope_name": "pydantic-ai",
            "otel_events": [{"event_name": "exception", "event_timestamp": "x",
                "attributes": {"exception.type": "ValueError"}}],
            "otel_status_code": null, "level": 17, "tags": []}"#;
        assert_eq!(
            told(&LOGFIRE, record),
            [
                r#"t/s < r running tool 1767268800000000000..1767268801000000000 Error "no""#,
                r#"  gen_ai.tool.name = "f""#,
                r#"  service.name = "shop""#,
                r#"  event exception {"exception.type": "ValueError"}"#,
            ]
        );
        let pending = r#"{"trace_id": "t", "span_id": "p", "parent_span_id": "s", "span_name": "f",
            "kind": "pending_span", "start_timestamp": "2026-01-01T12:00:00Z", "end_timestamp": "2026-01-01T12:00:00Z",
            "attributes": {"logfire.pending_parent_id": "r"}, "is_exception": false}"#;
        assert_eq!(
            told(&LOGFIRE, pending),
            ["t/s < r f 1767268800000000000..?", r#"  logfire.pending_parent_id = "r""#]
        );
    }

    #[test]
    fn what_is_odd_is_a_problem_and_the_rest_is_read() {
        let row = r#"{"TraceId": "t", "SpanId": "s", "SpanName": "f", "Timestamp": "soon", "SpanAttributes": "{broken",
            "Duration": "long", "Events.Name": 5}"#;
        assert_eq!(
            told(&CLICKHOUSE, row),
            [
                "t/s f ?..?",
                "! Timestamp: not a time that can be read",
                "! SpanAttributes: expected attributes, got a string",
            ]
        );
    }

    #[test]
    fn no_row_fits_two() {
        let rows = [
            r#"{"TraceId": "t", "SpanId": "s", "SpanName": "f"}"#,
            r#"{"trace_id": "t", "span_id": "s", "name": "f", "start_time_unix_nano": 1}"#,
            r#"{"trace_id": "t", "span_id": "s", "span_name": "f", "start_timestamp": 1}"#,
            r#"{"trace_id": "t", "span_id": "s", "name": "f", "start_time": 1}"#,
        ];
        for (place, encoding) in [&CLICKHOUSE, &OTEL_TABLE, &LOGFIRE].iter().enumerate() {
            for (row, text) in rows.iter().enumerate() {
                let fits = told(encoding, text) != ["does not fit"];
                assert_eq!(fits, row == place, "{} {text}", encoding.name);
            }
        }
    }
}
