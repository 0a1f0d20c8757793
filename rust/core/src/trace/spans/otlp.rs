//! OTLP as JSON: what exporters send and collectors write, and what Tempo and Jaeger answer with.

use super::{
    Encoding, Exported,
    otel::{self, Around},
};
use crate::{error::Error, value::Value};

pub const ENCODING: Encoding = Encoding { name: "otlp", title: "OTLP as JSON", fits, read };

/// `batches` is what Tempo calls them.
const SPANS_OF_RESOURCES: &[&str] = &["resourceSpans", "resource_spans", "batches"];
const LOGS_OF_RESOURCES: &[&str] = &["resourceLogs", "resource_logs"];
/// What Tempo and Jaeger put them in.
const AROUND: &[&str] = &["trace", "result"];
/// `instrumentationLibrarySpans` is what they were called until 2022, and Tempo still does.
const SPANS_OF_SCOPES: &[&str] =
    &["scopeSpans", "scope_spans", "instrumentationLibrarySpans", "instrumentation_library_spans"];
const LOGS_OF_SCOPES: &[&str] =
    &["scopeLogs", "scope_logs", "instrumentationLibraryLogs", "instrumentation_library_logs"];
const SPANS: &[&str] = &["spans"];
const LOGS: &[&str] = &["logRecords", "log_records", "logs"];

fn fits(value: Value<'_>) -> bool {
    match value {
        Value::Array(items) => items.first().is_some_and(|&item| fits(item)),
        Value::Object(_) => {
            has_list(value, &[SPANS_OF_RESOURCES, LOGS_OF_RESOURCES, SPANS_OF_SCOPES, LOGS_OF_SCOPES])
                || AROUND.iter().any(|key| {
                    value.get(key).is_some_and(|inner| has_list(inner, &[SPANS_OF_RESOURCES, LOGS_OF_RESOURCES]))
                })
        }
        _ => false,
    }
}

fn has_list(value: Value<'_>, keys: &[&[&str]]) -> bool {
    let Value::Object(_) = value else { return false };
    keys.iter().copied().flatten().any(|key| matches!(value.get(key), Some(Value::Array(_))))
}

fn read<'a>(exported: &mut Exported<'a>, value: Value<'a>) -> Result<(), Error> {
    let mut strays = 0;
    match value {
        Value::Array(_) => otel::each(exported, value, |exported, item| request(exported, item, &mut strays)),
        Value::Object(_) => request(exported, value, &mut strays),
        other => return Err(Error::wrong_type(format!("expected OTLP, an object, got {}", other.kind()))),
    }
    otel::mention_strays(exported, strays);
    Ok(())
}

/// What an exporter sent, or one resource of it.
fn request<'a>(exported: &mut Exported<'a>, value: Value<'a>, strays: &mut usize) {
    if !is_object(exported, value) {
        return;
    }
    resources(exported, value, strays);
    if has_list(value, &[SPANS_OF_SCOPES, LOGS_OF_SCOPES]) {
        of_resource(exported, value, strays);
    }
    for &key in AROUND {
        if let Some(inner @ Value::Object(_)) = value.get(key) {
            otel::at_key(exported, key, |exported| resources(exported, inner, strays));
        }
    }
}

fn resources<'a>(exported: &mut Exported<'a>, value: Value<'a>, strays: &mut usize) {
    each_of(exported, value, SPANS_OF_RESOURCES, |exported, item| of_resource(exported, item, strays));
    each_of(exported, value, LOGS_OF_RESOURCES, |exported, item| of_resource(exported, item, strays));
}

fn of_resource<'a>(exported: &mut Exported<'a>, value: Value<'a>, strays: &mut usize) {
    if !is_object(exported, value) {
        return;
    }
    let around = Around { trace_id: None, resource: otel::resource(exported, value) };
    each_of(exported, value, SPANS_OF_SCOPES, |exported, scope| {
        is_object(exported, scope);
        each_of(exported, scope, SPANS, |exported, span| otel::span(exported, span, around));
    });
    each_of(exported, value, LOGS_OF_SCOPES, |exported, scope| {
        each_of(exported, scope, LOGS, |exported, record| *strays += usize::from(!otel::log(exported, record, around)));
    });
}

/// It is a problem if not.
fn is_object<'a>(exported: &mut Exported<'a>, value: Value<'a>) -> bool {
    let is_object = matches!(value, Value::Object(_));
    if !is_object {
        exported.problems.push(Error::wrong_type(format!("expected an object, got {}", value.kind())));
    }
    is_object
}

/// Read each item of the lists under these keys.
fn each_of<'a>(
    exported: &mut Exported<'a>,
    value: Value<'a>,
    keys: &[&'static str],
    mut read: impl FnMut(&mut Exported<'a>, Value<'a>),
) {
    for &key in keys {
        if let Some(list) = value.get(key) {
            otel::at_key(exported, key, |exported| otel::each(exported, list, &mut read));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::spans::otel::told::told;

    const ATTRIBUTES: &str = r#"[
        {"key": "gen_ai.tool.name", "value": {"stringValue": "refund"}},
        {"key": "int", "value": {"intValue": "42"}}, {"key": "number", "value": {"intValue": 7}},
        {"key": "double", "value": {"doubleValue": "NaN"}}, {"key": "yes", "value": {"boolValue": true}},
        {"key": "list", "value": {"arrayValue": {"values": [{"intValue": "1"}, {"kvlistValue": {"values": []}}]}}},
        {"key": "arguments", "value": {"kvlistValue": {"values": [
            {"key": "order", "value": {"intValue": "42"}}, {"key": "nothing", "value": {}}]}}},
        {"key": "bytes", "value": {"bytesValue": "AAE="}}, {"key": "empty", "value": {}},
        {"key": "plain", "value": {"stringValue": "x", "other": 1}}, {"key": "none"}, {"value": 1}, 7]"#;

    #[test]
    fn a_request_of_an_exporter() {
        let request = format!(
            r#"{{"resourceSpans": [{{
                "resource": {{"attributes": [{{"key": "service.name", "value": {{"stringValue": "shop"}}}},
                    {{"key": "session.id", "value": {{"stringValue": "s1"}}}},
                    {{"key": "host.name", "value": {{"stringValue": "h"}}}}]}},
                "scopeSpans": [{{"scope": {{"name": "x"}}, "spans": [
                    {{"traceId": "5B8EFFF798038103D269B633813FC60C", "spanId": "EEE19B7EC3C1B174", "parentSpanId": "",
                      "name": "execute_tool refund", "kind": 1, "startTimeUnixNano": "1000", "endTimeUnixNano": 2000,
                      "attributes": {ATTRIBUTES}, "status": {{"code": 2, "message": "no"}},
                      "events": [{{"name": "exception", "timeUnixNano": "1", "attributes": [
                        {{"key": "exception.type", "value": {{"stringValue": "E"}}}}]}}]}},
                    {{"traceId": "W47/95gDgQPSabYzgT/GDA==", "spanId": "7uGbfsPBsXM=", "parentSpanId": "7uGbfsPBsXQ=",
                      "name": "b", "attributes": [{{"key": "session.id", "value": {{"stringValue": "s2"}}}}],
                      "status": {{"code": "STATUS_CODE_OK"}}}}]}}]}}]}}"#
        );
        assert_eq!(
            told(&ENCODING, &request),
            [
                "5b8efff798038103d269b633813fc60c/eee19b7ec3c1b174 execute_tool refund 1000..2000 Error \"no\"",
                r#"  gen_ai.tool.name = "refund""#,
                "  int = 42",
                "  number = 7",
                "  double = NaN",
                "  yes = true",
                "  list = [1, {}]",
                r#"  arguments = {"order": 42, "nothing": null}"#,
                r#"  bytes = "AAE=""#,
                "  empty = null",
                r#"  plain = {"stringValue": "x", "other": 1}"#,
                "  none = null",
                r#"  service.name = "shop""#,
                r#"  session.id = "s1""#,
                r#"  event exception {"exception.type": "E"}"#,
                "5b8efff798038103d269b633813fc60c/eee19b7ec3c1b173 < eee19b7ec3c1b174 b ?..? Ok",
                r#"  session.id = "s2""#,
                r#"  service.name = "shop""#,
                "! resourceSpans[0].scopeSpans[0].spans[0].attributes[11]: an attribute without a key",
                "! resourceSpans[0].scopeSpans[0].spans[0].attributes[12]: expected a key and a value, got a number",
            ]
        );
    }

    #[test]
    fn what_requests_come_in() {
        let spans = r#"[{"trace_id": "t", "span_id": "s", "name": "a", "start_time_unix_nano": 5}]"#;
        for text in [
            format!(r#"{{"resource_spans": [{{"scope_spans": [{{"spans": {spans}}}]}}]}}"#),
            format!(r#"{{"batches": [{{"instrumentationLibrarySpans": [{{"spans": {spans}}}]}}]}}"#),
            format!(r#"{{"trace": {{"resourceSpans": [{{"scopeSpans": [{{"spans": {spans}}}]}}]}}, "status": 1}}"#),
            format!(r#"{{"result": {{"resourceSpans": [{{"scopeSpans": [{{"spans": {spans}}}]}}]}}}}"#),
            format!(r#"[{{"resourceSpans": [{{"scopeSpans": [{{"spans": {spans}}}]}}]}}]"#),
            format!(r#"{{"resource": {{}}, "scopeSpans": [{{"spans": {spans}}}]}}"#),
        ] {
            assert_eq!(told(&ENCODING, &text), ["t/s a 5..?"], "{text}");
        }
    }

    #[test]
    fn log_records_belong_to_traces_and_spans() {
        let logs = r#"{"resourceLogs": [{"resource": {}, "scopeLogs": [{"logRecords": [
            {"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "eventName": "gen_ai.choice",
             "body": {"kvlistValue": {"values": [{"key": "index", "value": {"intValue": "0"}}]}}},
            {"traceId": "5b8efff798038103d269b633813fc60c", "body": {"stringValue": "tool_result?"},
             "attributes": [{"key": "event.name", "value": {"stringValue": "tool_result"}}]},
            {"traceId": "5b8efff798038103d269b633813fc60c", "body": {"stringValue": "said"}},
            {"eventName": "browser.page_view", "body": {}}]}]}]}"#;
        assert_eq!(
            told(&ENCODING, logs),
            [
                r#"log 5b8efff798038103d269b633813fc60c/eee19b7ec3c1b174 gen_ai.choice {} {"index": 0}"#,
                r#"log 5b8efff798038103d269b633813fc60c/- tool_result {"event.name": "tool_result"} "tool_result?""#,
                r#"log 5b8efff798038103d269b633813fc60c/- said {} "said""#,
                "! 1 log record belongs to no trace",
            ]
        );
    }

    #[test]
    fn what_is_odd_is_a_problem_and_the_rest_is_read() {
        let text = r#"{"resourceSpans": [7, {"scopeSpans": [{"spans": [null, {"name": "a", "startTimeUnixNano": "soon",
            "attributes": 5, "events": [1], "status": "odd"}]}, {"spans": 3}], "resource": []}]}"#;
        assert_eq!(
            told(&ENCODING, text),
            [
                "/- a ?..?",
                "! resourceSpans[0]: expected an object, got a number",
                "! resourceSpans[1].scopeSpans[0].spans[0]: expected a span, an object, got null",
                "! resourceSpans[1].scopeSpans[0].spans[1]: a span without the id of its trace",
                "! resourceSpans[1].scopeSpans[0].spans[1].startTimeUnixNano: not a time that can be read",
                "! resourceSpans[1].scopeSpans[0].spans[1].attributes: expected attributes, got a number",
                "! resourceSpans[1].scopeSpans[0].spans[1].events[0]: expected an event, an object, got a number",
                "! resourceSpans[1].scopeSpans[1].spans: expected a list, got a number",
            ]
        );
    }

    #[test]
    fn others_do_not_fit() {
        for text in [
            r#"{"data": [{"traceID": "1", "spans": []}]}"#,
            r#"{"batches": 5}"#,
            r#"{"result": {"resourceSpans": null}}"#,
            r#"{"messages": []}"#,
            "[]",
            "5",
        ] {
            assert_eq!(told(&ENCODING, text), ["does not fit"], "{text}");
        }
    }
}
