//! Jaeger's JSON: what its user interface downloads (traces), and what it keeps in Elasticsearch (spans).

use bumpalo::Bump;

use super::{
    Encoding, Event, Exported, Recorded, Status,
    attributes::Attributes,
    otel::{self, SPAN_ID_BYTES, TRACE_ID_BYTES},
};
use crate::{
    error::Error,
    show,
    text::Text,
    trace::{
        span,
        time::{self, Unit},
    },
    value::{Member, Object, Value},
};

pub const ENCODING: Encoding = Encoding { name: "jaeger", title: "Jaeger's JSON", fits, read };

/// With this capital letter, nobody else writes it.
const TRACE_ID: &str = "traceID";
const SPAN_ID: &str = "spanID";
const TRACES: &str = "data";
const SPANS: &str = "spans";
const PROCESSES: &str = "processes";
/// What Elasticsearch puts a document in.
const DOCUMENT: &str = "_source";
const TAGS: &str = "tags";
/// Tags that Elasticsearch indexes, by their keys with `@` for dots.
const INDEXED_TAGS: &str = "tag";
const STATUS: &str = "otel.status_code";
const STATUS_MESSAGE: &str = "otel.status_description";
const ERROR: &str = "error";
/// The field of a log that names it.
const EVENT: &str = "event";

fn fits(value: Value<'_>) -> bool {
    let has_id = |value: Value<'_>| matches!(value.get(TRACE_ID), Some(Value::Text(_)));
    let is_trace = |value: Value<'_>| has_id(value) && matches!(value.get(SPANS), Some(Value::Array(_)));
    let is_span = |value: Value<'_>| has_id(value) && value.get(SPAN_ID).is_some();
    let fits = |value: Value<'_>| match value {
        Value::Object(_) => is_trace(value) || is_span(value) || value.get(DOCUMENT).is_some_and(is_span),
        _ => false,
    };
    match value {
        Value::Array(items) => items.first().is_some_and(|&item| fits(item)),
        _ => fits(value) || matches!(value.get(TRACES), Some(Value::Array(&[first, ..])) if is_trace(first)),
    }
}

fn read<'a>(exported: &mut Exported<'a>, value: Value<'a>) -> Result<(), Error> {
    match value {
        Value::Array(_) => otel::each(exported, value, one),
        Value::Object(_) => match value.get(TRACES) {
            Some(traces) => otel::at_key(exported, TRACES, |exported| otel::each(exported, traces, one)),
            None => one(exported, value),
        },
        other => return Err(Error::wrong_type(format!("expected a trace of Jaeger, an object, got {}", other.kind()))),
    }
    Ok(())
}

/// A trace, or a document with one span.
fn one<'a>(exported: &mut Exported<'a>, value: Value<'a>) {
    if let Some(document) = value.get(DOCUMENT) {
        return otel::at_key(exported, DOCUMENT, |exported| one(exported, document));
    }
    let Some(spans) = value.get(SPANS) else { return span(exported, value, None, Value::Null) };
    let bump = exported.reader.bump;
    let trace_id = value.get(TRACE_ID).and_then(|id| otel::id(id, TRACE_ID_BYTES, bump));
    let processes = value.get(PROCESSES).unwrap_or(Value::Null);
    otel::at_key(exported, SPANS, |exported| {
        otel::each(exported, spans, |exported, value| span(exported, value, trace_id, processes));
    });
}

fn span<'a>(exported: &mut Exported<'a>, value: Value<'a>, around: Option<Text<'a>>, processes: Value<'a>) {
    let bump = exported.reader.bump;
    let Value::Object(_) = value else {
        exported.problems.push(Error::wrong_type(format!("expected a span, an object, got {}", value.kind())));
        return;
    };
    let own_trace_id = value.get(TRACE_ID).and_then(|id| otel::id(id, TRACE_ID_BYTES, bump));
    let trace_id = own_trace_id.or(around).unwrap_or_else(|| {
        exported.problems.push(Error::value("a span without the id of its trace"));
        Text::from("")
    });
    let started_at = micros(exported, value, "startTime");
    let duration = micros(exported, value, "duration").unwrap_or(0);
    let tags = tags_of(exported, value);
    let process = match value.get("process") {
        Some(process @ Value::Object(_)) => process,
        _ => value.get("processID").and_then(|id| named(processes, id)).unwrap_or(Value::Null),
    };
    let process = of_process(exported, process);
    let attributes = otel::with_fallback(tags, &[process], bump);
    let failed = matches!(attributes.get(ERROR), Some(Value::True)) || attributes.is(ERROR, &["true"]);
    let status = attributes.get(STATUS).and_then(otel::status).or(failed.then_some(Status::Error));
    let mut events = Vec::new();
    if let Some(logs) = value.get("logs") {
        otel::at_key(exported, "logs", |exported| {
            otel::each(exported, logs, |exported, log| events.push(event(exported, log)));
        });
    }
    exported.spans.push(Recorded {
        trace_id,
        id: value.get(SPAN_ID).and_then(|id| otel::id(id, SPAN_ID_BYTES, bump)),
        parent_id: parent_id(value, bump),
        name: value.get("operationName").map_or(Text::from(""), |name| otel::as_text(name, bump)),
        started_at,
        ended_at: started_at.and_then(|start| start.checked_add(duration)),
        status,
        status_message: attributes.get(STATUS_MESSAGE).and_then(|message| span::word(message, bump)),
        attributes,
        events,
        row: Value::Null,
    });
}

fn named<'a>(processes: Value<'a>, id: Value<'a>) -> Option<Value<'a>> {
    match id {
        Value::Text(id) => processes.get(&show::plain(id)),
        _ => None,
    }
}

fn micros<'a>(exported: &mut Exported<'a>, value: Value<'a>, key: &'static str) -> Option<i64> {
    let written = value.get(key).filter(|written| !matches!(written, Value::Null))?;
    let time = time::nanos(written, Unit::Micros);
    if time.is_none() {
        exported.problems.push(Error::value("not a time that can be read").at_key(Text::from(key)));
    }
    time
}

/// A reference to another trace is a link.
fn parent_id<'a>(value: Value<'a>, bump: &'a Bump) -> Option<Text<'a>> {
    let id = |value: Option<Value<'a>>| otel::id(value?, SPAN_ID_BYTES, bump);
    let references = match value.get("references") {
        Some(Value::Array(references)) => references,
        _ => &[],
    };
    let trace_id = |value: Value<'a>| otel::id(value.get(TRACE_ID)?, TRACE_ID_BYTES, bump);
    let own = trace_id(value);
    let is_parent = |reference: &&Value<'a>| {
        matches!(reference.get("refType"), Some(Value::Text(kind)) if kind.is("CHILD_OF"))
            && trace_id(**reference).is_none_or(|trace| own.is_none_or(|own| own == trace))
    };
    let found = references.iter().filter(is_parent).find_map(|reference| id(reference.get(SPAN_ID)));
    found.or_else(|| id(value.get("parentSpanID")))
}

/// The tags of a span or of a process, from the list and from the index.
fn tags_of<'a>(exported: &mut Exported<'a>, value: Value<'a>) -> Vec<Member<'a>> {
    let mut found = fields(exported, value, TAGS);
    if let Some(Value::Object(indexed)) = value.get(INDEXED_TAGS) {
        for member in indexed {
            let key = show::plain(member.key).replace('@', ".");
            found.push(Member { key: Text::from(&*exported.reader.bump.alloc_str(&key)), value: member.value });
        }
    }
    found
}

/// Keys with typed values. Elasticsearch has all values as texts.
fn fields<'a>(exported: &mut Exported<'a>, value: Value<'a>, key: &'static str) -> Vec<Member<'a>> {
    let bump = exported.reader.bump;
    let mut found = Vec::new();
    let Some(list) = value.get(key) else { return found };
    otel::at_key(exported, key, |exported| {
        otel::each(exported, list, |exported, item| {
            let Some(Value::Text(key)) = item.get("key") else {
                exported.problems.push(Error::value("a tag without a key"));
                return;
            };
            let value = item.get("value").unwrap_or(Value::Null);
            let kind = |word: &str| matches!(item.get("type"), Some(Value::Text(kind)) if kind.is(word));
            let value = match value {
                Value::Text(_) if kind("int64") => otel::integer(value, bump),
                Value::Text(text) if kind("float64") => otel::float(text).map_or(value, Value::Float),
                Value::Text(text) if kind("bool") && text.is("true") => Value::True,
                Value::Text(text) if kind("bool") && text.is("false") => Value::False,
                _ => value,
            };
            found.push(Member { key, value });
        });
    });
    found
}

fn of_process<'a>(exported: &mut Exported<'a>, process: Value<'a>) -> Object<'a> {
    let mut found = match process {
        Value::Object(_) => tags_of(exported, process),
        _ => return &[],
    };
    if let Some(name) = process.get("serviceName") {
        found.push(Member { key: Text::from("service.name"), value: name });
    }
    otel::inherited(found, exported.reader.bump)
}

fn event<'a>(exported: &mut Exported<'a>, log: Value<'a>) -> Event<'a> {
    let mut fields = fields(exported, log, "fields");
    let place = fields.iter().position(|field| field.key.is(EVENT));
    let name = place.map(|place| otel::as_text(fields.remove(place).value, exported.reader.bump));
    Event {
        name: name.unwrap_or(Text::from("")),
        attributes: Attributes(otel::object(fields, exported.reader.bump)),
        body: Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::spans::otel::told::told;

    #[test]
    fn a_download_of_the_user_interface() {
        let text = r#"{"data": [{"traceID": "1f", "spans": [
            {"traceID": "1f", "spanID": "2a", "operationName": "root", "references": [], "startTime": 1767268800000000,
             "duration": 5, "tags": [], "logs": [], "processID": "p1", "warnings": null},
            {"traceID": "1f", "spanID": "2b", "operationName": "execute_tool refund", "flags": 1,
             "references": [{"refType": "FOLLOWS_FROM", "traceID": "1f", "spanID": "29"},
                {"refType": "CHILD_OF", "traceID": "ee", "spanID": "99"},
                {"refType": "CHILD_OF", "traceID": "1f", "spanID": "2a"}],
             "startTime": 1767268800000001, "duration": 3,
             "tags": [{"key": "gen_ai.tool.name", "type": "string", "value": "refund"},
                {"key": "n", "type": "int64", "value": 5}, {"key": "error", "type": "bool", "value": true},
                {"key": "otel.status_description", "type": "string", "value": "no"}],
             "logs": [{"timestamp": 1767268800000002, "fields": [
                {"key": "exception.type", "type": "string", "value": "E"},
                {"key": "event", "type": "string", "value": "exception"}]}],
             "processID": "p1"}],
            "processes": {"p1": {"serviceName": "shop", "tags": [
                {"key": "session.id", "type": "string", "value": "s"},
                {"key": "error", "type": "bool", "value": true}]}}}],
            "total": 0, "errors": null}"#;
        assert_eq!(
            told(&ENCODING, text),
            [
                "1f/2a root 1767268800000000000..1767268800000005000",
                r#"  session.id = "s""#,
                r#"  service.name = "shop""#,
                r#"1f/2b < 2a execute_tool refund 1767268800000001000..1767268800000004000 Error "no""#,
                r#"  gen_ai.tool.name = "refund""#,
                "  n = 5",
                "  error = true",
                r#"  otel.status_description = "no""#,
                r#"  session.id = "s""#,
                r#"  service.name = "shop""#,
                r#"  event exception {"exception.type": "E"}"#,
            ]
        );
    }

    #[test]
    fn a_document_of_elasticsearch() {
        let document = r#"{"traceID": "5B8EFFF798038103D269B633813FC60C", "spanID": "EEE19B7EC3C1B174",
            "operationName": "f", "parentSpanID": "EEE19B7EC3C1B173", "references": [], "startTime": 5,
            "startTimeMillis": 0, "duration": 1,
            "tags": [{"key": "n", "type": "int64", "value": "5"}, {"key": "x", "type": "float64", "value": "0.5"},
                {"key": "no", "type": "bool", "value": "false"}, {"key": "odd", "type": "int64", "value": "five"}],
            "tag": {"gen_ai@tool@name": "refund", "otel@status_code": "OK"}, "logs": [],
            "process": {"serviceName": "shop", "tags": []}}"#;
        let lines = [
            "5b8efff798038103d269b633813fc60c/eee19b7ec3c1b174 < eee19b7ec3c1b173 f 5000..6000 Ok",
            "  n = 5",
            "  x = 0.5",
            "  no = false",
            r#"  odd = "five""#,
            r#"  gen_ai.tool.name = "refund""#,
            r#"  otel.status_code = "OK""#,
            r#"  service.name = "shop""#,
        ];
        assert_eq!(told(&ENCODING, document), lines);
        assert_eq!(told(&ENCODING, &format!(r#"{{"_index": "jaeger", "_source": {document}}}"#)), lines);
        assert_eq!(told(&ENCODING, &format!("[{document}]")), lines);
    }

    #[test]
    fn what_is_odd_is_a_problem_and_the_rest_is_read() {
        let text = r#"{"traceID": "1", "spans": [7, {"spanID": "2", "startTime": "soon", "tags": [{"value": 1}, 3],
            "logs": 5, "processID": "p9", "references": "none"}], "processes": {}}"#;
        assert_eq!(
            told(&ENCODING, text),
            [
                "1/2  ?..?",
                "! spans[0]: expected a span, an object, got a number",
                "! spans[1].startTime: not a time that can be read",
                "! spans[1].tags[0]: a tag without a key",
                "! spans[1].tags[1]: a tag without a key",
                "! spans[1].logs: expected a list, got a number",
            ]
        );
    }

    #[test]
    fn others_do_not_fit() {
        for text in [
            r#"{"traceId": "1", "spans": []}"#,
            r#"{"data": [{"object": "trace"}]}"#,
            r#"{"data": {"traceID": "1"}}"#,
            r#"{"traceID": "1"}"#,
            "[1]",
            "5",
        ] {
            assert_eq!(told(&ENCODING, text), ["does not fit"], "{text}");
        }
    }
}
