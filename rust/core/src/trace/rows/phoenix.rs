//! Spans of Phoenix: as its API gives them, with attributes that are flat or nested; or as rows of its data frames,
//! with a column for each attribute, in which lists hold objects with dotted keys. What they say is read by the
//! dialects for attributes.

use super::row::{self, found};
use crate::{
    call::Reader,
    error::Error,
    text::Text,
    trace::spans::{
        Encoding, Exported,
        attributes::Attributes,
        otel::{self, Around},
    },
    value::{Member, Value},
};

pub const ENCODING: Encoding = Encoding { name: "phoenix", title: "spans of Phoenix", fits, read };

const DATA: &str = "data";
const SPANS: &str = "spans";
const KIND: &str = "span_kind";
const CONTEXT: &str = "context";
/// The columns of a data frame.
const TRACE_ID: &str = "context.trace_id";
const ID: &[&str] = &["context.span_id", "span_id"];
const ATTRIBUTES: &[u8] = b"attributes.";
/// The attribute that says the same as the column for the kind.
const KIND_ATTRIBUTE: &str = "openinference.span.kind";

fn fits(record: Value<'_>) -> bool {
    is_span(record) || row::list(record, &[DATA, SPANS]).first().is_some_and(|first| is_span(*first))
}

fn is_span(row: Value<'_>) -> bool {
    let is_of_frame = row.get(TRACE_ID).is_some() && (row.get(KIND).is_some() || row.get("name").is_some());
    is_of_frame || row.get(KIND).is_some() && row.get(CONTEXT).is_some_and(|context| context.get("trace_id").is_some())
}

fn read<'a>(exported: &mut Exported<'a>, record: Value<'a>) -> Result<(), Error> {
    if is_span(record) {
        return span(exported, record);
    }
    for key in [DATA, SPANS] {
        if let Some(Value::Array(items)) = record.get(key).filter(|_| fits(record)) {
            row::each(exported, items, key, span);
            return Ok(());
        }
    }
    Err(row::not_a_row("a span of Phoenix", record))
}

fn span<'a>(exported: &mut Exported<'a>, row: Value<'a>) -> Result<(), Error> {
    if !matches!(row, Value::Object(_)) {
        return Err(row::not_a_row("a span of Phoenix", row));
    }
    let reader = exported.reader;
    let context = row.get(CONTEXT).unwrap_or(Value::Null);
    let column = |key: &'static str| found(row, &[key]).unwrap_or(Value::Null);
    let id = |frame: &[&str], inner| found(row, frame).or_else(|| found(context, &[inner])).unwrap_or(Value::Null);
    let attributes = attributes(reader, row);
    let span = [
        ("trace_id", id(&[TRACE_ID], "trace_id")),
        ("span_id", id(ID, "span_id")),
        ("parent_id", column("parent_id")),
        ("name", column("name")),
        ("start_time", column("start_time")),
        ("end_time", column("end_time")),
        ("status_code", column("status_code")),
        ("status_message", column("status_message")),
        ("events", column("events")),
        ("attributes", Value::Object(attributes.0)),
    ];
    otel::span(exported, row::object(reader, &span), Around::default());
    Ok(())
}

fn attributes<'a>(reader: Reader<'a>, row: Value<'a>) -> Attributes<'a> {
    let mut all = row::members(reader, row.get("attributes")).to_vec();
    if let Value::Object(members) = row {
        all.extend(members.iter().filter_map(|member| {
            let key = Text::Utf8(member.key.utf8_in(reader.bump).strip_prefix(ATTRIBUTES)?);
            Some(Member { key, value: member.value })
        }));
    }
    let flat = row::flat(reader, reader.bump.alloc_slice_copy(&all));
    let Some(kind @ Value::Text(_)) = row.get(KIND).filter(|_| !flat.has(KIND_ATTRIBUTE)) else { return flat };
    let mut all = flat.0.to_vec();
    all.push(Member { key: Text::from(KIND_ATTRIBUTE), value: kind });
    Attributes(reader.bump.alloc_slice_copy(&all))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{attributes, problems, recorded};
    use super::*;

    const COLUMNS: &str = r#""name": "f", "span_kind": "TOOL", "parent_id": "000000000000000a",
        "start_time": "2026-01-01T12:00:00+00:00", "end_time": "2026-01-01T12:00:00.000000001Z", "status_code": "ERROR",
        "status_message": "boom", "events": []"#;
    const IDS: &str = r#""trace_id": "0000000000000000000000000000000c", "span_id": "000000000000000b""#;
    const WANTED: &str = "0000000000000000000000000000000c 000000000000000b<000000000000000a f \
        1767268800000000000..1767268800000000001 !boom";

    #[test]
    fn spans_of_the_api_with_flat_and_nested_attributes() {
        for (attributes_as_written, wanted) in [
            (
                r#"{"openinference.span.kind": "TOOL", "tool.name": "f", "input.value": "{}"}"#,
                r#"{"openinference.span.kind": "TOOL", "tool.name": "f", "input.value": "{}"}"#,
            ),
            (
                r#"{"tool": {"name": "f", "parameters": {"properties": {}}}, "input": {"value": {"x": [1]}},
                    "llm": {"output_messages": [{"message": {"role": "assistant",
                    "tool_calls": [{"tool_call": {"id": "1"}}]}}]}}"#,
                concat!(
                    r#"{"tool.name": "f", "tool.parameters": {"properties": {}}, "input.value": {"x": [1]}, "#,
                    r#""llm.output_messages.0.message.role": "assistant", "#,
                    r#""llm.output_messages.0.message.tool_calls.0.tool_call.id": "1", "#,
                    r#""openinference.span.kind": "TOOL"}"#
                ),
            ),
        ] {
            let span =
                format!(r#"{{"id": "x", {COLUMNS}, "context": {{{IDS}}}, "attributes": {attributes_as_written}}}"#);
            let page = format!(r#"{{"data": [{span}], "next_cursor": null}}"#);
            for text in [span, page] {
                assert_eq!(recorded(&ENCODING, &text), [WANTED]);
                assert_eq!(attributes(&ENCODING, &text), [wanted]);
            }
        }
    }

    #[test]
    fn rows_of_a_data_frame() {
        let ids = IDS.replace("\"trace_id", "\"context.trace_id").replace("\"span_id", "\"context.span_id");
        let row = format!(
            r#"{{{COLUMNS}, {ids}, "attributes.tool.name": "f", "attributes.input.value": null, "attributes.x": NaN,
            "attributes.llm.output_messages": [{{"message.role": "assistant", "message.content": null,
                "message.tool_calls": [{{"tool_call.id": "1", "tool_call.function.arguments": "{{}}"}}]}}],
            "attributes.llm.tools": ["a"]}}"#
        );
        assert_eq!(recorded(&ENCODING, &row), [WANTED]);
        let wanted = concat!(
            r#"{"tool.name": "f", "llm.output_messages.0.message.role": "assistant", "#,
            r#""llm.output_messages.0.message.tool_calls.0.tool_call.id": "1", "#,
            r#""llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": "{}", "#,
            r#""llm.tools": ["a"], "openinference.span.kind": "TOOL"}"#
        );
        assert_eq!(attributes(&ENCODING, &row), [wanted]);
    }

    #[test]
    fn what_cant_be_read_is_a_problem() {
        let text = format!(r#"{{"data": [{{{COLUMNS}, "context": {{{IDS}}}}}, 5]}}"#);
        assert_eq!(problems(&ENCODING, &text), ["data[1]: expected a span of Phoenix, an object, got a number"]);
    }
}
