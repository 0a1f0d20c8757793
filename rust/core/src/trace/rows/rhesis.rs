//! Traces of Rhesis: a trace with spans that have others inside, rows of spans, what its SDK sends, and lists of traces
//! without their spans. What spans say is read by the dialects for attributes.

use super::row::{self, found};
use crate::{
    error::Error,
    text::Text,
    trace::spans::{
        About, Encoding, Exported,
        otel::{self, Around},
    },
    value::Value,
};

pub const ENCODING: Encoding = Encoding { name: "rhesis", title: "traces of Rhesis", fits, read };

const ROOTS: &str = "root_spans";
const CHILDREN: &str = "children";
const SPANS: &str = "spans";
const TRACES: &str = "traces";
const NAME: &str = "span_name";

fn fits(record: Value<'_>) -> bool {
    record.get(ROOTS).is_some()
        || is_span(record)
        || is_listed(record)
        || row::list(record, &[SPANS]).first().is_some_and(|first| is_span(*first))
        || row::list(record, &[TRACES]).first().is_some_and(|first| is_listed(*first))
}

fn is_span(row: Value<'_>) -> bool {
    ["span_id", NAME, "span_kind", "attributes"].iter().all(|key| row.get(key).is_some())
}

/// A trace in a list, of which no more is said than this.
fn is_listed(row: Value<'_>) -> bool {
    let Value::Object(members) = row else { return false };
    let is_summary = ["trace_id", "root_operation", "span_count"].iter().all(|key| row.get(key).is_some());
    let keys = ["id", "name", "status", "duration_ms", "created_at"];
    is_summary || members.len() == keys.len() && keys.iter().all(|key| row.get(key).is_some())
}

fn read<'a>(exported: &mut Exported<'a>, record: Value<'a>) -> Result<(), Error> {
    let reader = exported.reader;
    if let Some(roots) = record.get(ROOTS) {
        let trace_id = row::id(reader, record, &["trace_id"]);
        if let Some(trace_id) = trace_id {
            exported.traces.push(about(exported, record, trace_id));
        }
        otel::at_key(exported, ROOTS, |exported| {
            otel::each(exported, roots, |exported, node| span(exported, node, trace_id, None));
        });
        return Ok(());
    }
    if is_span(record) {
        span(exported, record, None, None);
        return Ok(());
    }
    if is_listed(record) {
        return listed(exported, record);
    }
    if let Some(spans) = record.get(SPANS).filter(|_| fits(record)) {
        otel::at_key(exported, SPANS, |exported| {
            otel::each(exported, spans, |exported, item| span(exported, item, None, None));
        });
        return Ok(());
    }
    match record.get(TRACES) {
        Some(Value::Array(items)) if fits(record) => {
            row::each(exported, items, TRACES, listed);
            Ok(())
        }
        _ => Err(row::not_a_row("a trace of Rhesis", record)),
    }
}

fn about<'a>(exported: &Exported<'a>, row: Value<'a>, trace_id: Text<'a>) -> About<'a> {
    let columns = ["name", "status", "environment", "test_id", "test_run_id", "test_result_id", "tags"];
    About {
        trace_id,
        conversation_id: row::id(exported.reader, row, &["conversation_id"]),
        input: Value::Null,
        output: Value::Null,
        attributes: row::columns(exported.reader, row, &columns),
    }
}

fn listed<'a>(exported: &mut Exported<'a>, row: Value<'a>) -> Result<(), Error> {
    let trace_id = row::id(exported.reader, row, &["trace_id", "id"]);
    let Some(trace_id) = trace_id else { return Err(row::not_a_row("a trace of Rhesis", row)) };
    exported.traces.push(about(exported, row, trace_id));
    Err(Error::value("a trace in a list, without its spans; export each trace with them"))
}

/// A span, and those inside it.
fn span<'a>(exported: &mut Exported<'a>, node: Value<'a>, trace_id: Option<Text<'a>>, around: Option<Text<'a>>) {
    let before = exported.spans.len();
    otel::span(exported, node, Around { trace_id, ..Around::default() });
    let Some(span) = exported.spans.get_mut(before) else { return };
    span.parent_id = span.parent_id.or(around);
    let (trace_id, id) = (span.trace_id, span.id);
    if let Some(children) = found(node, &[CHILDREN]) {
        otel::at_key(exported, CHILDREN, |exported| {
            otel::each(exported, children, |exported, child| {
                self::span(exported, child, Some(trace_id), id.or(around))
            });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{attributes, problems, recorded};
    use super::*;

    const TOOL: &str = r#"{"span_id": "000000000000000b", "span_name": "ai.tool.invoke", "span_kind": "INTERNAL",
        "start_time": "2026-01-01T12:00:00Z", "end_time": "2026-01-01T12:00:00Z", "status_code": "ERROR",
        "status_message": "boom", "attributes": {"ai.tool.name": "f"},
        "events": [{"name": "ai.tool.input", "attributes": {"ai.tool.input": "{}"}}], "children": []}"#;
    const WANTED: &str = "ai.tool.invoke 1767268800000000000..1767268800000000000 !boom";

    #[test]
    fn spans_inside_each_other() {
        let text = format!(
            r#"{{"trace_id": "0000000000000000000000000000000c", "project_id": "p", "environment": "e",
                "conversation_id": "s",
            "root_spans": [{{"span_id": "000000000000000a", "span_name": "function.chat", "span_kind": "INTERNAL",
                "attributes": {{}}, "events": [], "children": [{TOOL}]}}]}}"#
        );
        let id = "0000000000000000000000000000000c";
        let wanted = [
            format!(r#"about {id} s null > null {{"environment": "e"}}"#),
            format!("{id} 000000000000000a<- function.chat -..-"),
            format!("{id} 000000000000000b<000000000000000a {WANTED}"),
        ];
        assert_eq!(recorded(&ENCODING, &text), wanted);
        assert_eq!(attributes(&ENCODING, &text), ["{}", r#"{"ai.tool.name": "f"}"#]);
    }

    #[test]
    fn rows_and_what_the_sdk_sends() {
        let row = TOOL.replacen('{', r#"{"trace_id": "t", "parent_span_id": "000000000000000a", "#, 1);
        for text in [row.clone(), format!(r#"{{"spans": [{row}]}}"#)] {
            assert_eq!(recorded(&ENCODING, &text), [format!("t 000000000000000b<000000000000000a {WANTED}")]);
        }
    }

    #[test]
    fn what_cant_be_read_is_a_problem() {
        let wanted = "a trace in a list, without its spans; export each trace with them";
        let listed = r#"{"id": "t", "name": "n", "status": "completed", "duration_ms": 5, "created_at": "2025-01-01"}"#;
        assert_eq!(problems(&ENCODING, listed), [wanted]);
        let text = r#"{"traces": [{"trace_id": "t", "root_operation": "r", "span_count": 2}, 5], "total": 2}"#;
        let other = "traces[1]: expected a trace of Rhesis, an object, got a number";
        assert_eq!(problems(&ENCODING, text), [&format!("traces[0]: {wanted}"), other]);
        let text = r#"{"trace_id": "t", "root_spans": [{"span_id": "a", "children": [5]}]}"#;
        assert_eq!(problems(&ENCODING, text), ["root_spans[0].children[0]: expected a span, an object, got a number"]);
    }
}
