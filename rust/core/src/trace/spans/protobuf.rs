//! OTLP as protobuf: one message of an exporter, or a stream of them.
//!
//! The schema below has the fields that are read, by the numbers that the protocol gives them; others are stepped over.
//! Texts are read as bytes: an exporter that cut one in the middle of a character spoils this text, and not the
//! message.

use bumpalo::Bump;
use prost::Message;

use super::{
    Event, Exported, Recorded, Status,
    attributes::Attributes,
    otel::{self, SPAN_ID_BYTES, TRACE_ID_BYTES},
};
use crate::{
    error::Error,
    text::Text,
    value::{Member, Object, Value},
};

/// What an exporter sends, and what a file of traces holds. Of logs, it has the same shape.
#[derive(Clone, PartialEq, Message)]
struct Traces {
    #[prost(message, repeated, tag = "1")]
    resources: Vec<SpansOfResource>,
}

#[derive(Clone, PartialEq, Message)]
struct SpansOfResource {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scopes: Vec<SpansOfScope>,
    /// Where spans stood until 2022.
    #[prost(message, repeated, tag = "1000")]
    libraries: Vec<SpansOfScope>,
}

#[derive(Clone, PartialEq, Message)]
struct SpansOfScope {
    #[prost(message, repeated, tag = "2")]
    spans: Vec<Span>,
}

#[derive(Clone, PartialEq, Message)]
struct Resource {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct Span {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    span_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    parent_span_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "5")]
    name: Vec<u8>,
    #[prost(fixed64, tag = "7")]
    start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<KeyValue>,
    #[prost(message, repeated, tag = "11")]
    events: Vec<SpanEvent>,
    #[prost(message, optional, tag = "15")]
    status: Option<SpanStatus>,
}

#[derive(Clone, PartialEq, Message)]
struct SpanEvent {
    #[prost(fixed64, tag = "1")]
    time_unix_nano: u64,
    #[prost(bytes = "vec", tag = "2")]
    name: Vec<u8>,
    #[prost(message, repeated, tag = "3")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct SpanStatus {
    #[prost(bytes = "vec", tag = "2")]
    message: Vec<u8>,
    #[prost(int32, tag = "3")]
    code: i32,
}

#[derive(Clone, PartialEq, Message)]
struct Logs {
    #[prost(message, repeated, tag = "1")]
    resources: Vec<LogsOfResource>,
}

#[derive(Clone, PartialEq, Message)]
struct LogsOfResource {
    #[prost(message, repeated, tag = "2")]
    scopes: Vec<LogsOfScope>,
    #[prost(message, repeated, tag = "1000")]
    libraries: Vec<LogsOfScope>,
}

#[derive(Clone, PartialEq, Message)]
struct LogsOfScope {
    #[prost(message, repeated, tag = "2")]
    records: Vec<LogRecord>,
}

#[derive(Clone, PartialEq, Message)]
struct LogRecord {
    #[prost(fixed64, tag = "1")]
    time_unix_nano: u64,
    #[prost(int32, tag = "2")]
    severity_number: i32,
    #[prost(message, optional, tag = "5")]
    body: Option<AnyValue>,
    #[prost(message, repeated, tag = "6")]
    attributes: Vec<KeyValue>,
    #[prost(bytes = "vec", tag = "9")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "10")]
    span_id: Vec<u8>,
    #[prost(fixed64, tag = "11")]
    observed_time_unix_nano: u64,
    #[prost(bytes = "vec", tag = "12")]
    event_name: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct KeyValue {
    #[prost(bytes = "vec", tag = "1")]
    key: Vec<u8>,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct AnyValue {
    #[prost(oneof = "Kind", tags = "1, 2, 3, 4, 5, 6, 7")]
    kind: Option<Kind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Kind {
    #[prost(bytes = "vec", tag = "1")]
    Text(Vec<u8>),
    #[prost(bool, tag = "2")]
    Bool(bool),
    #[prost(int64, tag = "3")]
    Int(i64),
    #[prost(double, tag = "4")]
    Double(f64),
    #[prost(message, tag = "5")]
    List(List),
    #[prost(message, tag = "6")]
    Map(Map),
    #[prost(bytes = "vec", tag = "7")]
    Bytes(Vec<u8>),
}

#[derive(Clone, PartialEq, Message)]
struct List {
    #[prost(message, repeated, tag = "1")]
    values: Vec<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct Map {
    #[prost(message, repeated, tag = "1")]
    values: Vec<KeyValue>,
}

enum Request {
    Traces(Traces),
    Logs(Logs),
}

/// Read a message, or a stream of messages each after its length.
pub fn read(bytes: &[u8], exported: &mut Exported<'_>) -> Result<(), Error> {
    let Some(requests) = requests(bytes) else {
        return Err(Error::value("expected OTLP as protobuf: traces or logs, or a stream of such messages"));
    };
    for request in requests {
        match request {
            Request::Traces(traces) => add_traces(traces, exported),
            Request::Logs(logs) => add_logs(logs, exported),
        }
    }
    Ok(())
}

/// Nearly any bytes are some protobuf message, so this asks for spans or log records whose ids have their lengths.
pub fn looks_like(bytes: &[u8]) -> bool {
    requests(bytes).is_some()
}

fn requests(bytes: &[u8]) -> Option<Vec<Request>> {
    if let Some(request) = request(bytes) {
        return Some(vec![request]);
    }
    stream(bytes, varint).or_else(|| stream(bytes, four_bytes))
}

fn request(bytes: &[u8]) -> Option<Request> {
    // Each begins with a resource, and an empty one says nothing.
    if bytes.first() != Some(&0x0a) {
        return None;
    }
    let traces = Traces::decode(bytes).ok().filter(Traces::is_plausible).map(Request::Traces);
    traces.or_else(|| Logs::decode(bytes).ok().filter(Logs::is_plausible).map(Request::Logs))
}

/// Reads the length of a message, and leaves the rest.
type Length = fn(&[u8]) -> Option<(usize, &[u8])>;

/// Messages, each after its length.
fn stream(mut bytes: &[u8], length: Length) -> Option<Vec<Request>> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let (length, rest) = length(bytes)?;
        let (message, rest) = rest.split_at_checked(length)?;
        if length > 0 {
            found.push(request(message)?);
        }
        bytes = rest;
    }
    Some(found).filter(|found| !found.is_empty())
}

fn varint(mut bytes: &[u8]) -> Option<(usize, &[u8])> {
    let length = prost::encoding::decode_varint(&mut bytes).ok()?;
    Some((usize::try_from(length).ok()?, bytes))
}

/// As the file exporter of OpenTelemetry's collector writes it.
fn four_bytes(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    Some((usize::try_from(u32::from_be_bytes(*length)).ok()?, rest))
}

impl Traces {
    fn spans(&self) -> impl Iterator<Item = &Span> {
        let resources = self.resources.iter();
        resources.flat_map(|of| of.scopes.iter().chain(&of.libraries)).flat_map(|scope| &scope.spans)
    }

    fn is_plausible(&self) -> bool {
        let has_ids = |span: &Span| span.trace_id.len() == TRACE_ID_BYTES && span.span_id.len() == SPAN_ID_BYTES;
        self.spans().next().is_some() && self.spans().all(has_ids)
    }
}

impl Logs {
    fn records(&self) -> impl Iterator<Item = &LogRecord> {
        let resources = self.resources.iter();
        resources.flat_map(|of| of.scopes.iter().chain(&of.libraries)).flat_map(|scope| &scope.records)
    }

    /// Log records may have no ids; some do, or nothing of them belongs to a trace.
    fn is_plausible(&self) -> bool {
        let fits = |id: &[u8], bytes| id.is_empty() || id.len() == bytes;
        let have_ids =
            |record: &LogRecord| fits(&record.trace_id, TRACE_ID_BYTES) && fits(&record.span_id, SPAN_ID_BYTES);
        self.records().all(have_ids) && self.records().any(|record| !record.trace_id.is_empty())
    }
}

fn add_traces(traces: Traces, exported: &mut Exported<'_>) {
    let bump = exported.reader.bump;
    for resource in traces.resources {
        let inherited =
            otel::inherited(members(resource.resource.map_or(Vec::new(), |own| own.attributes), exported), bump);
        for span in resource.scopes.into_iter().chain(resource.libraries).flat_map(|scope| scope.spans) {
            add_span(span, inherited, exported);
        }
    }
}

fn add_span<'a>(span: Span, inherited: Object<'a>, exported: &mut Exported<'a>) {
    let bump = exported.reader.bump;
    let time = |ns: u64| i64::try_from(ns).ok().filter(|&ns| ns != 0);
    let status = span.status.unwrap_or_default();
    let own = members(span.attributes, exported);
    let mut events = Vec::with_capacity(span.events.len());
    for event in span.events {
        let own = members(event.attributes, exported);
        events.push(Event {
            name: text(&event.name, bump),
            attributes: Attributes(otel::object(own, bump)),
            body: Value::Null,
        });
    }
    exported.spans.push(Recorded {
        trace_id: otel::hex(&span.trace_id, bump).unwrap_or(Text::from("")),
        id: otel::hex(&span.span_id, bump),
        parent_id: otel::hex(&span.parent_span_id, bump),
        name: text(&span.name, bump),
        started_at: time(span.start_time_unix_nano),
        ended_at: time(span.end_time_unix_nano),
        status: match status.code {
            1 => Some(Status::Ok),
            2 => Some(Status::Error),
            _ => None,
        },
        status_message: Some(text(&status.message, bump)).filter(|message| !message.is_empty()),
        attributes: otel::with_fallback(own, &[inherited], bump),
        events,
        row: Value::Null,
    });
}

fn add_logs(logs: Logs, exported: &mut Exported<'_>) {
    let reader = exported.reader;
    let mut strays = 0;
    let scopes = logs.resources.into_iter().flat_map(|resource| resource.scopes.into_iter().chain(resource.libraries));
    for record in scopes.flat_map(|scope| scope.records) {
        let Some(trace_id) = otel::hex(&record.trace_id, reader.bump) else {
            strays += 1;
            continue;
        };
        let attributes = Attributes(otel::object(members(record.attributes, exported), reader.bump));
        let body = value(record.body, exported);
        let field = text(&record.event_name, reader.bump);
        let name = otel::event_name(reader, Some(field), attributes, body);
        exported.logs.push((trace_id, otel::hex(&record.span_id, reader.bump), Event { name, attributes, body }));
    }
    otel::mention_strays(exported, strays);
}

fn text<'a>(bytes: &[u8], bump: &'a Bump) -> Text<'a> {
    Text::from(&*bump.alloc_str(&String::from_utf8_lossy(bytes)))
}

fn members<'a>(attributes: Vec<KeyValue>, exported: &Exported<'a>) -> Vec<Member<'a>> {
    let member = |attribute: KeyValue| Member {
        key: text(&attribute.key, exported.reader.bump),
        value: value(attribute.value, exported),
    };
    attributes.into_iter().map(member).collect()
}

/// Messages nest no deeper than prost lets them, which is a hundred levels, so this recursion ends.
fn value<'a>(written: Option<AnyValue>, exported: &Exported<'a>) -> Value<'a> {
    let bump = exported.reader.bump;
    match written.and_then(|value| value.kind) {
        None => Value::Null,
        Some(Kind::Text(bytes)) => Value::Text(text(&bytes, bump)),
        Some(Kind::Bool(true)) => Value::True,
        Some(Kind::Bool(false)) => Value::False,
        Some(Kind::Int(int)) => Value::Int(int),
        Some(Kind::Double(double)) => Value::Float(double),
        Some(Kind::List(list)) => {
            let items: Vec<Value<'a>> = list.values.into_iter().map(|item| value(Some(item), exported)).collect();
            Value::Array(bump.alloc_slice_copy(&items))
        }
        Some(Kind::Map(map)) => Value::Object(otel::object(members(map.values, exported), bump)),
        Some(Kind::Bytes(bytes)) => Value::Text(otel::base64_of(&bytes, bump)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{call::Reader, trace::spans::otel::told::lines};

    fn said(text: &str) -> Option<AnyValue> {
        Some(AnyValue { kind: Some(Kind::Text(text.into())) })
    }

    fn attribute(key: &str, value: Kind) -> KeyValue {
        KeyValue { key: key.into(), value: Some(AnyValue { kind: Some(value) }) }
    }

    fn traces() -> Traces {
        let arguments =
            Map { values: vec![attribute("order", Kind::Int(42)), KeyValue { key: "no".into(), value: None }] };
        let span = Span {
            trace_id: vec![0xab; 16],
            span_id: vec![2; 8],
            parent_span_id: vec![1; 8],
            name: "execute_tool refund".into(),
            start_time_unix_nano: 1000,
            end_time_unix_nano: 2000,
            attributes: vec![
                attribute("gen_ai.tool.name", Kind::Text("refund".into())),
                attribute("arguments", Kind::Map(arguments)),
                attribute("list", Kind::List(List { values: vec![AnyValue { kind: Some(Kind::Bool(true)) }] })),
                attribute("double", Kind::Double(0.5)),
                attribute("bytes", Kind::Bytes(vec![0, 1])),
                attribute("double", Kind::Double(1.5)),
            ],
            events: vec![SpanEvent {
                time_unix_nano: 1500,
                name: "exception".into(),
                attributes: vec![attribute("exception.type", Kind::Text("E".into()))],
            }],
            status: Some(SpanStatus { message: "no".into(), code: 2 }),
        };
        let root = Span { trace_id: vec![0xab; 16], span_id: vec![1; 8], name: "root".into(), ..Span::default() };
        let resource = Resource {
            attributes: vec![
                attribute("service.name", Kind::Text("shop".into())),
                attribute("host.name", Kind::Text("h".into())),
            ],
        };
        let resources = vec![SpansOfResource {
            resource: Some(resource),
            scopes: vec![SpansOfScope { spans: vec![span] }],
            libraries: vec![SpansOfScope { spans: vec![root] }],
        }];
        Traces { resources }
    }

    const TOLD: &[&str] = &[
        "abababababababababababababababab/0202020202020202 < 0101010101010101 execute_tool refund 1000..2000 \
         Error \"no\"",
        r#"  gen_ai.tool.name = "refund""#,
        r#"  arguments = {"order": 42, "no": null}"#,
        "  list = [true]",
        "  double = 1.5",
        r#"  bytes = "AAE=""#,
        r#"  service.name = "shop""#,
        r#"  event exception {"exception.type": "E"}"#,
        "abababababababababababababababab/0101010101010101 root ?..?",
        r#"  service.name = "shop""#,
    ];

    fn told(bytes: &[u8]) -> Vec<String> {
        let bump = Bump::new();
        let mut exported = Exported::new(Reader::new(&bump, false));
        assert_eq!(looks_like(bytes), read(bytes, &mut exported).is_ok());
        lines(&exported)
    }

    #[test]
    fn a_message_and_streams_of_them() {
        let message = traces().encode_to_vec();
        assert_eq!(told(&message), TOLD);
        let varints = [traces().encode_length_delimited_to_vec(), traces().encode_length_delimited_to_vec()].concat();
        let lengths = u32::try_from(message.len()).unwrap().to_be_bytes();
        let fours = [&lengths[..], &message, &lengths, &message].concat();
        for stream in [varints, fours] {
            assert_eq!(told(&stream), [TOLD, TOLD].concat());
            assert!(!looks_like(&stream[..stream.len() - 1]));
        }
    }

    #[test]
    fn log_records() {
        let record = LogRecord {
            trace_id: vec![0xab; 16],
            span_id: vec![2; 8],
            event_name: "gen_ai.choice".into(),
            body: Some(AnyValue { kind: Some(Kind::Map(Map { values: vec![attribute("index", Kind::Int(0))] })) }),
            ..LogRecord::default()
        };
        let named = LogRecord {
            trace_id: vec![0xab; 16],
            attributes: vec![attribute("event.name", Kind::Text("e".into()))],
            body: said("said"),
            time_unix_nano: 5,
            ..LogRecord::default()
        };
        let stray =
            LogRecord { body: said("x"), severity_number: 9, observed_time_unix_nano: 7, ..LogRecord::default() };
        let scope = LogsOfScope { records: vec![record, named, stray] };
        let logs = Logs { resources: vec![LogsOfResource { scopes: vec![scope], libraries: Vec::new() }] };
        assert_eq!(
            told(&logs.encode_to_vec()),
            [
                r#"log abababababababababababababababab/0202020202020202 gen_ai.choice {} {"index": 0}"#,
                r#"log abababababababababababababababab/- e {"event.name": "e"} "said""#,
                "! 1 log record belongs to no trace",
            ]
        );
    }

    #[test]
    fn other_bytes_are_none() {
        let mut odd = traces();
        odd.resources[0].scopes[0].spans[0].span_id = vec![1; 7];
        let cut = traces().encode_to_vec();
        for bytes in [&b""[..], b"\n", b"\n\x00", b"\n\n\n\n", b"{}", b"[1]", b"\0\0\0\0", &[0x80; 40], &[0; 8]] {
            assert!(!looks_like(bytes) && told(bytes).is_empty(), "{bytes:?}");
        }
        assert!(!looks_like(&odd.encode_to_vec()));
        for length in 0..cut.len() {
            assert!(!looks_like(&cut[..length]), "{length}");
        }
    }

    #[test]
    fn a_text_that_was_cut_inside_of_a_character_spoils_no_other() {
        let mut cut = traces();
        let span = &mut cut.resources[0].scopes[0].spans[0];
        span.attributes = vec![attribute("a", Kind::Text(b"caf\xc3".into())), attribute("b", Kind::Int(1))];
        assert_eq!(told(&cut.encode_to_vec())[1..3], ["  a = \"caf\u{fffd}\"", "  b = 1"]);
    }

    #[test]
    fn what_nests_without_end_is_no_message() {
        let mut value = AnyValue { kind: Some(Kind::Int(1)) };
        for _ in 0..200 {
            value = AnyValue { kind: Some(Kind::List(List { values: vec![value] })) };
        }
        let mut deep = traces();
        deep.resources[0].scopes[0].spans[0].attributes = vec![KeyValue { key: "a".into(), value: Some(value) }];
        assert!(!looks_like(&deep.encode_to_vec()));
    }
}
