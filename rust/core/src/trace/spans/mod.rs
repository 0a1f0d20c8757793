//! Traces of spans: in which encoding they come ([`Encoding`]), what a span says in the words of whoever instrumented the
//! agent ([`Dialect`], chosen for each span by its attributes), and how a trace is made of them ([`tree`]).

pub mod attributes;
pub mod dialects;
pub mod frames;
mod jaeger;
pub mod otel;
mod otel_spans;
mod otlp;
mod pairing;
pub mod protobuf;
mod tables;
pub mod tree;

use std::collections::HashMap;

use super::span::Kind;
use crate::{call::Reader, error::Error, text::Text, value::Value};
use attributes::Attributes;

/// One span as it was exported, whatever it was written in.
#[derive(Clone, Debug)]
pub struct Recorded<'a> {
    /// In lower-case hex where it is one of OpenTelemetry's, also where it was written as base64 or bytes.
    pub trace_id: Text<'a>,
    pub id: Option<Text<'a>>,
    pub parent_id: Option<Text<'a>>,
    pub name: Text<'a>,
    /// Nanoseconds since 1970.
    pub started_at: Option<i64>,
    pub ended_at: Option<i64>,
    /// What the exporter says of how it went; None where it says nothing (`UNSET`).
    pub status: Option<Status>,
    pub status_message: Option<Text<'a>>,
    /// With dotted keys; of what an exporter nested, too.
    pub attributes: Attributes<'a>,
    pub events: Vec<Event<'a>>,
    /// The whole row, where a product has columns beside attributes (Langfuse, LangSmith …); else null.
    pub row: Value<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Ok,
    Error,
}

/// An event of a span, or a log record that belongs to it.
#[derive(Clone, Debug)]
pub struct Event<'a> {
    pub name: Text<'a>,
    pub attributes: Attributes<'a>,
    /// The body of a log record; null where there is none.
    pub body: Value<'a>,
}

/// What spans are written in.
pub struct Encoding {
    pub name: &'static str,
    pub title: &'static str,
    /// Does this record look like it? Decided by keys that no other encoding and no log has.
    pub fits: fn(Value<'_>) -> bool,
    /// Read a record: a request of an exporter, a whole trace, or one span. What can't be read of it is a problem in
    /// `Exported`, and the rest is read. Paths are those inside the record.
    pub read: for<'a> fn(&mut Exported<'a>, Value<'a>) -> Result<(), Error>,
}

/// Where encodings put what they find.
pub struct Exported<'a> {
    pub reader: Reader<'a>,
    pub spans: Vec<Recorded<'a>>,
    /// Log records, by the trace and the span that they belong to.
    pub logs: Vec<(Text<'a>, Option<Text<'a>>, Event<'a>)>,
    /// What is said of a trace beside its spans.
    pub traces: Vec<About<'a>>,
    pub problems: Vec<Error>,
    /// The traces of the first so many spans, by the ids of these.
    known: (usize, HashMap<Text<'a>, Text<'a>>),
}

impl<'a> Exported<'a> {
    pub fn new(reader: Reader<'a>) -> Self {
        Exported {
            reader,
            spans: Vec::new(),
            logs: Vec::new(),
            traces: Vec::new(),
            problems: Vec::new(),
            known: Default::default(),
        }
    }

    /// The trace that the span with this id is of: ids of spans are unique.
    fn trace_of(&mut self, id: Text<'a>) -> Option<Text<'a>> {
        let (count, traces) = &mut self.known;
        let new = self.spans.get(*count..).unwrap_or_default();
        traces.extend(new.iter().filter_map(|span| Some((span.id?, span.trace_id))));
        *count = self.spans.len();
        traces.get(&id).copied()
    }
}

/// What is said of a trace beside its spans.
#[derive(Clone, Debug)]
pub struct About<'a> {
    pub trace_id: Text<'a>,
    pub conversation_id: Option<Text<'a>>,
    /// What the user said and what the agent answered; null where it isn't recorded.
    pub input: Value<'a>,
    pub output: Value<'a>,
    /// Further attributes of the trace: an object, or null.
    pub attributes: Value<'a>,
}

/// The words of an instrumentation.
pub struct Dialect {
    /// The word for it: `openinference`.
    pub name: &'static str,
    pub title: &'static str,
    /// Is a span told in it? By its attributes (or its row), never by the name or version of the scope.
    pub fits: fn(&Recorded<'_>) -> bool,
    /// Say what the span says. Spans with the words of several dialects are read by each of them, in the order of the table;
    /// what was said before stays (`Step` has methods for that).
    pub read: for<'a> fn(Reader<'a>, &Recorded<'a>, &mut Step<'a>),
}

/// What a span says.
#[derive(Clone, Debug, Default)]
pub struct Step<'a> {
    /// None: an unknown span, which is walked through.
    pub kind: Option<Kind>,
    /// Of the tool, agent or model.
    pub name: Option<Text<'a>>,
    /// Of a tool call, as the model gave it.
    pub call_id: Option<Text<'a>>,
    /// Who it says it belongs to.
    pub agent: Option<Text<'a>>,
    /// Of a tool call: the arguments as written, or None if they were not recorded. Of others: what it was given.
    pub input: Option<Value<'a>>,
    pub output: Option<Value<'a>>,
    pub failed: Option<bool>,
    pub error: Option<Text<'a>>,
    pub conversation_id: Option<Text<'a>>,
    /// Of an llm: messages of any dialect that [`super::messages`] reads (a list, or what they come in): what it was given,
    /// and what it answered. An agent or chain may have them too, where nothing inside it has.
    pub asked: Option<Value<'a>>,
    pub answered: Option<Value<'a>>,
    /// It repeats what other spans say (ADK's merged spans), and is left out; what is inside it is not.
    pub is_repeated: bool,
    /// It is how an MCP client or server tells a call that the span of a tool around it or inside of it may tell, too.
    pub is_mcp: bool,
    /// The user question that it belongs to, where the dialect numbers them (ADK's invocations).
    pub turn_id: Option<Text<'a>>,
}

impl<'a> Step<'a> {
    /// Set what was not said before.
    pub fn kind(&mut self, kind: Kind) {
        self.kind.get_or_insert(kind);
    }

    pub fn is(&self, kind: Kind) -> bool {
        self.kind == Some(kind)
    }
}

/// Sets a field of a step unless it was set before or there is nothing to set.
pub fn fill<T>(field: &mut Option<T>, value: Option<T>) {
    if field.is_none() {
        *field = value;
    }
}

pub const ENCODINGS: &[Encoding] =
    &[otlp::ENCODING, otel_spans::ENCODING, jaeger::ENCODING, tables::CLICKHOUSE, tables::OTEL_TABLE, tables::LOGFIRE];

pub use tables::{CLICKHOUSE, LOGFIRE, OTEL_TABLE};

pub use dialects::{DIALECTS, FOR_ALL, are_cut_off};
