//! What the encodings of OpenTelemetry's spans have in common. A span has the same parts in all of them; what differs
//! is how keys are spelt, and how ids, times and attributes are written. No spelling means two things, so all are
//! read everywhere.

mod ids;
mod values;

use bumpalo::Bump;

use super::{Event, Exported, Recorded, Status, attributes::Attributes};
use crate::{
    call::Reader,
    error::Error,
    text::Text,
    trace::{
        decode, span,
        time::{self, Unit},
    },
    value::{Member, Object, Value, get},
};

pub use ids::{SPAN_ID_BYTES, TRACE_ID_BYTES, base64_of, hex, id};
pub use values::{attributes, float, inherited, integer, object, untagged, with_fallback};

const TRACE_ID: &[&str] = &["traceId", "trace_id", "TraceId"];
const ID: &[&str] = &["spanId", "span_id", "SpanId"];
pub const PARENT_ID: &[&str] = &["parentSpanId", "parent_span_id", "ParentSpanId", "parent_id", "parentId"];
/// What the SDKs put the ids of a span in.
const CONTEXT: &[&str] = &["context", "spanContext", "span_context", "_spanContext"];
/// What they put the ids of its parent in.
pub const PARENT: &[&str] = &["parentSpanContext", "parent_span_context", "parent"];
pub const NAME: &[&str] = &["name", "span_name", "SpanName"];
pub const STARTED_AT: &[&str] = &[
    "startTimeUnixNano",
    "start_time_unix_nano",
    "start_time",
    "startTime",
    "start_timestamp",
    "Timestamp",
    CONSOLE_TIME,
];
pub const ENDED_AT: &[&str] = &["endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime", "end_timestamp"];
/// In nanoseconds, in place of an end.
pub const DURATION: &[&str] =
    &["Duration", "durationNano", "duration_nano", "durationNanos", "duration_time_unix_nano", "duration_ns"];
/// The start of a span as JavaScript's SDK prints it, beside a duration in microseconds.
const CONSOLE_TIME: &str = "timestamp";
pub const CONSOLE_DURATION: &str = "duration";
const STATUS: &[&str] = &["status", "Status"];
const STATUS_CODE: &[&str] = &["status_code", "statusCode", "StatusCode", "code", "otel_status_code"];
const STATUS_MESSAGE: &[&str] = &[
    "status_message",
    "statusMessage",
    "StatusMessage",
    "status_status_message",
    "status_description",
    "otel_status_message",
];
/// What a message is called inside of a status.
const MESSAGE: &[&str] = &["message", "description", "status_message", "statusMessage"];
pub const ATTRIBUTES: &[&str] =
    &["attributes", "span_attributes", "SpanAttributes", "spanAttributes", "attributes_json", "Attributes"];
pub const EVENTS: &[&str] = &["events", "span_events", "Events", "otel_events", "events_json"];
const EVENT_NAME: &[&str] = &["eventName", "event_name", "EventName", "name", "Name"];
const EVENT_ATTRIBUTES: &[&str] = &["attributes", "Attributes", "LogAttributes", "log_attributes"];
const BODY: &[&str] = &["body", "Body"];
/// The attribute that names a log record, where no field does.
const NAME_OF_EVENT: &str = "event.name";
pub const RESOURCE: &[&str] = &["resource", "Resource", "resource_attributes", "ResourceAttributes"];
const SERVICE: &[&str] = &["service_name", "ServiceName", "serviceName"];

/// What a span has from what it stands in.
#[derive(Clone, Copy, Default)]
pub struct Around<'a> {
    pub trace_id: Option<Text<'a>>,
    /// Attributes of the resource that hold for its spans too, unless they have them: see [`inherited`].
    pub resource: Object<'a>,
}

/// The value of the first of these keys that has one which isn't null.
pub fn first<'a>(value: Value<'a>, keys: &[&'static str]) -> Option<(&'static str, Value<'a>)> {
    let Value::Object(members) = value else { return None };
    let not_null = |key| get(members, Text::from(key)).filter(|value| !matches!(value, Value::Null));
    keys.iter().find_map(|&key| Some((key, not_null(key)?)))
}

pub fn has(value: Value<'_>, keys: &[&'static str]) -> bool {
    first(value, keys).is_some()
}

/// Has it the ids of a span, by whichever keys?
pub fn has_ids(value: Value<'_>) -> bool {
    let ids = |value| has(value, TRACE_ID) && has(value, ID);
    let of_console =
        has(value, TRACE_ID) && has(value, &["id"]) && has(value, &[CONSOLE_TIME]) && has(value, &[CONSOLE_DURATION]);
    of_console || ids(value) || first(value, CONTEXT).is_some_and(|(_, context)| ids(context))
}

/// Log records that belong to no trace are common where all of a service is logged: one problem for all of them.
pub fn mention_strays(exported: &mut Exported<'_>, count: usize) {
    if count > 0 {
        let records = if count == 1 { "log record belongs" } else { "log records belong" };
        exported.problems.push(Error::value(format!("{count} {records} to no trace")));
    }
}

pub fn has_span_id(value: Value<'_>) -> bool {
    has(value, ID)
}

pub fn has_trace_id(value: Value<'_>) -> bool {
    has(value, TRACE_ID)
}

pub fn trace_id<'a>(value: Value<'a>, bump: &'a Bump) -> Option<Text<'a>> {
    id(first(value, TRACE_ID)?.1, TRACE_ID_BYTES, bump)
}

/// Is it a log record of a trace, and no span?
pub fn is_log(value: Value<'_>) -> bool {
    const SPAN_ALONE: &[&str] = &["startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime"];
    has(value, ID) && has(value, BODY) && !has(value, PARENT_ID) && !has(value, SPAN_ALONE)
}

/// Read something that may have problems, whose paths lead to it by this step.
pub fn inside<'a>(exported: &mut Exported<'a>, step: impl Fn(Error) -> Error, read: impl FnOnce(&mut Exported<'a>)) {
    let before = exported.problems.len();
    read(exported);
    let inner = exported.problems.split_off(before);
    exported.problems.extend(inner.into_iter().map(step));
}

/// Read what stands under a key.
pub fn at_key<'a>(exported: &mut Exported<'a>, key: &'static str, read: impl FnOnce(&mut Exported<'a>)) {
    inside(exported, |error| error.at_key(Text::from(key)), read);
}

/// Read each item of a list, or of JSON text of one.
pub fn each<'a>(exported: &mut Exported<'a>, list: Value<'a>, mut read: impl FnMut(&mut Exported<'a>, Value<'a>)) {
    match decode::decoded(exported.reader, list) {
        Value::Array(items) => {
            for (index, &item) in items.iter().enumerate() {
                inside(exported, |error| error.at_index(index), |exported| read(exported, item));
            }
        }
        Value::Null => {}
        other => exported.problems.push(Error::wrong_type(format!("expected a list, got {}", other.kind()))),
    }
}

/// Read a span.
pub fn span<'a>(exported: &mut Exported<'a>, value: Value<'a>, around: Around<'a>) {
    let reader = exported.reader;
    let Value::Object(_) = value else {
        exported.problems.push(Error::wrong_type(format!("expected a span, an object, got {}", value.kind())));
        return;
    };
    let (trace_id, id) = ids(value, reader.bump);
    let trace_id = trace_id.or(around.trace_id).unwrap_or_else(|| {
        exported.problems.push(Error::value("a span without the id of its trace"));
        Text::from("")
    });
    let started_at = when(exported, value, STARTED_AT);
    let ended_at = when(exported, value, ENDED_AT).or_else(|| started_at?.checked_add(duration(value)?));
    let (status, status_message) = status_of(value, reader.bump);
    let own = first(value, ATTRIBUTES).map(|(key, value)| {
        let mut own = Vec::new();
        at_key(exported, key, |exported| own = attributes(exported, value));
        own
    });
    let resource = resource(exported, value);
    let events = events(exported, value);
    let attributes = with_fallback(own.unwrap_or_default(), &[resource, around.resource], reader.bump);
    exported.spans.push(Recorded {
        trace_id,
        id,
        parent_id: parent_id(value, reader.bump),
        name: first(value, NAME).map_or(Text::from(""), |(_, name)| as_text(name, reader.bump)),
        started_at,
        ended_at,
        status,
        status_message,
        attributes,
        events,
        row: Value::Null,
    });
}

/// Read a log record, unless it belongs to no trace.
pub fn log<'a>(exported: &mut Exported<'a>, value: Value<'a>, around: Around<'a>) -> bool {
    let Value::Object(_) = value else {
        exported.problems.push(Error::wrong_type(format!("expected a log record, an object, got {}", value.kind())));
        return true;
    };
    let (trace_id, id) = ids(value, exported.reader.bump);
    let Some(trace_id) = trace_id.or(around.trace_id).or_else(|| exported.trace_of(id?)) else { return false };
    let event = event(exported, value);
    exported.logs.push((trace_id, id, event));
    true
}

fn ids<'a>(value: Value<'a>, bump: &'a Bump) -> (Option<Text<'a>>, Option<Text<'a>>) {
    let context = first(value, CONTEXT).map_or(Value::Null, |(_, context)| context);
    let find = |keys, bytes| {
        let found = first(value, keys).or_else(|| first(context, keys));
        found.and_then(|(_, value)| id(value, bytes, bump))
    };
    let own = find(ID, SPAN_ID_BYTES);
    // JavaScript's SDK prints the id of a span so.
    let own = own.or_else(|| id(value.get("id").filter(|_| has(value, &[CONSOLE_TIME]))?, SPAN_ID_BYTES, bump));
    (find(TRACE_ID, TRACE_ID_BYTES), own)
}

fn parent_id<'a>(value: Value<'a>, bump: &'a Bump) -> Option<Text<'a>> {
    let (_, parent) = first(value, PARENT_ID).or_else(|| match first(value, PARENT)? {
        (_, parent @ Value::Object(_)) => first(parent, ID),
        parent => Some(parent),
    })?;
    id(parent, SPAN_ID_BYTES, bump)
}

/// The first of these times that is set, in nanoseconds where the key says so. One that can't be read is a problem.
fn when<'a>(exported: &mut Exported<'a>, value: Value<'a>, keys: &[&'static str]) -> Option<i64> {
    for &key in keys {
        let Some((_, written)) = first(value, &[key]) else { continue };
        let says_nanos = key.ends_with("UnixNano") || key.ends_with("unix_nano");
        match moment(written, if says_nanos { Unit::Nanos } else { Unit::Guess }) {
            // Protobuf's way to leave it out.
            Some(0) => {}
            Some(time) => return Some(time),
            None if matches!(written, Value::Text(text) if text.is_blank()) => {}
            None => exported.problems.push(Error::value("not a time that can be read").at_key(Text::from(key))),
        }
    }
    None
}

/// A time, also as JavaScript has those that a number can't hold: seconds and nanoseconds, or the halves of 64 bits.
fn moment(value: Value<'_>, unit: Unit) -> Option<i64> {
    match value {
        Value::Array(&[Value::Int(seconds), Value::Int(ns)]) => seconds.checked_mul(1_000_000_000)?.checked_add(ns),
        Value::Object(_) => {
            let half = |key| match value.get(key) {
                Some(Value::Int(half)) => Some(half),
                _ => None,
            };
            Some(half("high")?.checked_mul(1 << 32)? | half("low")? & 0xffff_ffff)
        }
        _ => time::nanos(value, unit),
    }
}

fn duration(value: Value<'_>) -> Option<i64> {
    let positive = |duration: i64| Some(duration).filter(|&duration| duration >= 0);
    if let Some((_, duration)) = first(value, DURATION) {
        return time::nanos(duration, Unit::Nanos).and_then(positive);
    }
    let (_, duration) = first(value, &[CONSOLE_TIME]).and_then(|_| first(value, &[CONSOLE_DURATION]))?;
    match duration {
        Value::Array(_) => moment(duration, Unit::Nanos),
        _ => time::nanos(duration, Unit::Micros),
    }
    .and_then(positive)
}

fn status_of<'a>(value: Value<'a>, bump: &'a Bump) -> (Option<Status>, Option<Text<'a>>) {
    let (code, message) = match first(value, STATUS) {
        Some((_, inner @ Value::Object(_))) => (first(inner, STATUS_CODE), first(inner, MESSAGE)),
        Some(word) => (Some(word), None),
        None => (None, None),
    };
    // `code` at the top is not a status.
    let code = code.or_else(|| first(value, &STATUS_CODE[..3])).or_else(|| first(value, &STATUS_CODE[4..]));
    let message = message.or_else(|| first(value, STATUS_MESSAGE));
    (code.and_then(|(_, code)| status(code)), message.and_then(|(_, message)| span::word(message, bump)))
}

/// By its number or any spelling of its name.
pub fn status(code: Value<'_>) -> Option<Status> {
    match code {
        Value::Int(1) => Some(Status::Ok),
        Value::Int(2) => Some(Status::Error),
        // Tables make floats of integers where some are missing.
        Value::Float(1.0) => Some(Status::Ok),
        Value::Float(2.0) => Some(Status::Error),
        Value::Text(text) => {
            let word = text.utf8().trim_ascii().to_ascii_uppercase();
            let word = [&b"STATUS_CODE_"[..], b"STATUSCODE."]
                .iter()
                .find_map(|prefix| word.strip_prefix(*prefix))
                .unwrap_or(&word);
            match word {
                b"OK" | b"1" => Some(Status::Ok),
                b"ERROR" | b"2" => Some(Status::Error),
                _ => None,
            }
        }
        _ => None,
    }
}

pub fn as_text<'a>(value: Value<'a>, bump: &'a Bump) -> Text<'a> {
    match value {
        Value::Text(text) => text,
        Value::Null => Text::from(""),
        other => span::json_text(other, bump),
    }
}

/// Of the resource that a span, or what spans stand in, names.
pub fn resource<'a>(exported: &mut Exported<'a>, value: Value<'a>) -> Object<'a> {
    let mut found = Vec::new();
    if let Some((_, name)) = first(value, SERVICE) {
        found.push(Member { key: Text::from("service.name"), value: name });
    }
    if let Some((key, value)) = first(value, RESOURCE) {
        at_key(exported, key, |exported| {
            let resource = decode::decoded(exported.reader, value);
            match resource.get("attributes") {
                Some(value) => at_key(exported, "attributes", |exported| found.extend(attributes(exported, value))),
                None => found.extend(attributes(exported, resource)),
            }
        });
    }
    inherited(found, exported.reader.bump)
}

fn events<'a>(exported: &mut Exported<'a>, value: Value<'a>) -> Vec<Event<'a>> {
    let mut found = Vec::new();
    if let Some((key, list)) = first(value, EVENTS) {
        at_key(exported, key, |exported| {
            if matches!(list, Value::Text(text) if text.is_blank()) {
                return;
            }
            match decode::decoded(exported.reader, list) {
                columns @ Value::Object(_) => {
                    found = events_of_columns(exported, columns.get("Name"), columns.get("Attributes"));
                }
                list => each(exported, list, |exported, item| match item {
                    Value::Object(_) => found.push(event(exported, item)),
                    other => {
                        let message = format!("expected an event, an object, got {}", other.kind());
                        exported.problems.push(Error::wrong_type(message));
                    }
                }),
            }
        });
    } else if let Some((_, names)) = first(value, &["Events.Name"]) {
        found = events_of_columns(exported, Some(names), value.get("Events.Attributes"));
    }
    found
}

/// ClickHouse keeps what is nested as a list for each field.
fn events_of_columns<'a>(
    exported: &mut Exported<'a>,
    names: Option<Value<'a>>,
    values: Option<Value<'a>>,
) -> Vec<Event<'a>> {
    let items = |list: Option<Value<'a>>| match list.map(|list| decode::decoded(exported.reader, list)) {
        Some(Value::Array(items)) => items,
        _ => &[],
    };
    let (names, values) = (items(names), items(values));
    let mut found = Vec::with_capacity(names.len());
    for (index, &name) in names.iter().enumerate() {
        let own = attributes(exported, values.get(index).copied().unwrap_or(Value::Null));
        found.push(Event {
            name: as_text(name, exported.reader.bump),
            attributes: Attributes(object(own, exported.reader.bump)),
            body: Value::Null,
        });
    }
    found
}

fn event<'a>(exported: &mut Exported<'a>, value: Value<'a>) -> Event<'a> {
    let reader = exported.reader;
    let mut own = Vec::new();
    if let Some((key, value)) = first(value, EVENT_ATTRIBUTES) {
        at_key(exported, key, |exported| own = attributes(exported, value));
    }
    let attributes = Attributes(object(own, reader.bump));
    let body = first(value, BODY).map_or(Value::Null, |(_, body)| untagged(body, reader.bump));
    let name = first(value, EVENT_NAME).map(|(_, name)| as_text(name, reader.bump));
    Event { name: event_name(reader, name, attributes, body), attributes, body }
}

/// What a log record is called: by its field, its attribute, or its body.
pub fn event_name<'a>(
    reader: Reader<'a>,
    field: Option<Text<'a>>,
    attributes: Attributes<'a>,
    body: Value<'a>,
) -> Text<'a> {
    let named = field.filter(|name| !name.is_empty()).or_else(|| attributes.text(reader, &[NAME_OF_EVENT]));
    named.unwrap_or(match body {
        Value::Text(text) => text,
        _ => Text::from(""),
    })
}

#[cfg(test)]
pub mod told {
    use super::*;
    use crate::{show, trace::spans::Encoding};

    /// What an encoding reads in a JSON text.
    pub fn told(encoding: &Encoding, text: &str) -> Vec<String> {
        let bump = Bump::new();
        let (value, reader) = Reader::parse(text.as_bytes(), &bump).unwrap();
        if !(encoding.fits)(value) {
            return vec!["does not fit".to_owned()];
        }
        let mut exported = Exported::new(reader);
        if let Err(error) = (encoding.read)(&mut exported, value) {
            return vec![format!("error {error}")];
        }
        lines(&exported)
    }

    pub fn lines(exported: &Exported<'_>) -> Vec<String> {
        let id = |id: Option<Text<'_>>| id.map_or("-".to_owned(), show::plain);
        let time = |time: Option<i64>| time.map_or("?".to_owned(), |time| time.to_string());
        let event = |event: &Event<'_>| {
            let attributes = show::json_text(Value::Object(event.attributes.0));
            let body = match event.body {
                Value::Null => String::new(),
                body => format!(" {}", show::json_text(body)),
            };
            format!("{} {attributes}{body}", show::plain(event.name))
        };
        let mut lines = Vec::new();
        for span in &exported.spans {
            let mut line = format!("{}/{}", show::plain(span.trace_id), id(span.id));
            if span.parent_id.is_some() {
                line += &format!(" < {}", id(span.parent_id));
            }
            line += &format!(" {} {}..{}", show::plain(span.name), time(span.started_at), time(span.ended_at));
            if let Some(status) = span.status {
                line += &format!(" {status:?}");
            }
            if let Some(message) = span.status_message {
                line += &format!(" {:?}", show::plain(message));
            }
            lines.push(line);
            for member in span.attributes.0 {
                lines.push(format!("  {} = {}", show::plain(member.key), show::json_text(member.value)));
            }
            lines.extend(span.events.iter().map(|found| format!("  event {}", event(found))));
        }
        for (trace_id, span_id, record) in &exported.logs {
            lines.push(format!("log {}/{} {}", show::plain(*trace_id), id(*span_id), event(record)));
        }
        lines.extend(exported.problems.iter().map(|problem| format!("! {problem}")));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show;

    #[test]
    fn a_status_is_told_by_any_of_its_names() {
        let read = |text: &str| {
            let bump = Bump::new();
            let (value, _) = Reader::parse(text.as_bytes(), &bump).unwrap();
            let (code, message) = status_of(value, &bump);
            (code, message.map(show::plain))
        };
        for text in [
            r#"{"status": {"code": 2, "message": "no"}}"#,
            r#"{"status": {"status_code": "ERROR", "description": "no"}}"#,
            r#"{"status": {"code": "STATUS_CODE_ERROR"}, "status_message": "no"}"#,
            r#"{"status_code": "StatusCode.ERROR", "status_message": "no"}"#,
            r#"{"StatusCode": "Error", "StatusMessage": "no"}"#,
            r#"{"status_code": 2, "status_status_message": "no"}"#,
            r#"{"status_code": 2.0, "status_message": "no"}"#,
            r#"{"otel_status_code": "ERROR", "otel_status_message": "no"}"#,
        ] {
            assert_eq!(read(text), (Some(Status::Error), Some("no".to_owned())), "{text}");
        }
        assert_eq!(read(r#"{"status": "OK"}"#), (Some(Status::Ok), None));
        for text in [
            r#"{"status": {}}"#,
            r#"{"status": {"code": "UNSET", "message": ""}}"#,
            r#"{"status": 0}"#,
            r#"{"code": 2}"#,
        ] {
            assert_eq!(read(text), (None, None), "{text}");
        }
    }

    #[test]
    fn times_that_a_number_of_javascript_can_not_hold() {
        let read = |text: &str| {
            let bump = Bump::new();
            let (value, _) = Reader::parse(text.as_bytes(), &bump).unwrap();
            moment(value, Unit::Nanos)
        };
        assert_eq!(read("[1767268800, 5]"), Some(1_767_268_800_000_000_005));
        assert_eq!(read(r#"{"low": -1, "high": 1, "unsigned": true}"#), Some(0x1_ffff_ffff));
        for text in ["[1, 2, 3]", "{}", r#"{"low": 1}"#, "[9223372036854775807, 1]"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
