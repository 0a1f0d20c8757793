//! The formats of traces, and which of them a file is in.

use std::{collections::HashMap, hash::RandomState};

use super::{
    logs::{LOGS, Log, Unit as LogUnit},
    messages, rows,
    span::{Kind, Span},
    spans::{self, DIALECTS, ENCODINGS, Encoding, Exported, tree},
    stored::{Found, Trace},
    turns::Conversation,
};
use crate::{
    call::Reader,
    compare,
    error::{Error, one_of},
    show,
    text::Text,
    value::Value,
};

/// How a file is read.
#[derive(Clone, Copy)]
pub struct Format {
    pub name: &'static str,
    pub unit: Unit,
    engine: Engine,
    /// The one dialect that spans are read in, if somebody insists.
    only: Option<&'static str>,
}

/// What makes a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Each record holds one trace or several.
    Record,
    /// All records of a file are one trace or several: a session, or messages one after the other.
    File,
    /// Records are pieces of traces, which belong together by the id of their trace.
    Pieces,
}

#[derive(Clone, Copy)]
enum Engine {
    Messages,
    /// Each record is an object in which messages stand under names.
    Named,
    Log(&'static Log),
    Spans(&'static Encoding),
}

fn encodings() -> impl Iterator<Item = &'static Encoding> {
    ENCODINGS.iter().chain(rows::ENCODINGS)
}

fn dialects() -> impl Iterator<Item = &'static spans::Dialect> {
    DIALECTS.iter().chain(rows::DIALECTS)
}

/// The words of all formats: of logs, of messages, and of spans by what they are written in or by whose words they are.
pub fn words() -> Vec<&'static str> {
    let mut words: Vec<&'static str> = LOGS.iter().map(|log| log.name).collect();
    words.extend(encodings().map(|encoding| encoding.name));
    words.extend(dialects().map(|dialect| dialect.name));
    words.extend(messages::dialects().map(|(word, _)| word));
    let mut seen = std::collections::HashSet::new();
    words.retain(|word| seen.insert(*word));
    words
}

/// What the user insists on.
#[derive(Clone, Copy, Debug)]
pub struct Wanted(&'static str);

impl Wanted {
    pub fn named(word: &str) -> Result<Wanted, Error> {
        let words = words();
        let known = words.iter().find(|known| **known == word);
        known.map(|known| Wanted(known)).ok_or_else(|| Error::value(one_of("format", word, &words)))
    }
}

/// The format of a file by its first records. `by_line`: they stand on lines of their own, not in an array.
pub fn recognise<'a>(
    reader: Reader<'a>,
    records: &[Value<'a>],
    by_line: bool,
    wanted: Option<Wanted>,
) -> Result<Format, Error> {
    let mut fitting: Vec<(usize, Format, &'static str)> = Vec::new();
    let count = |fits: fn(Value<'_>) -> bool| records.iter().filter(|&&record| fits(record)).count();
    for log in LOGS {
        let unit = if log.unit == LogUnit::File { Unit::File } else { Unit::Record };
        let format = Format { name: log.name, unit, engine: Engine::Log(log), only: None };
        fitting.push((count(log.fits), format, log.title));
    }
    for encoding in encodings() {
        let format = Format { name: encoding.name, unit: Unit::Pieces, engine: Engine::Spans(encoding), only: None };
        fitting.push((count(encoding.fits), format, encoding.title));
    }
    fitting.retain(|(count, ..)| *count > 0);
    let shapes: Vec<messages::Shape> = match fitting.is_empty() || wanted.is_some() {
        true => records.iter().filter_map(|&record| messages::shape(reader, record)).collect(),
        false => Vec::new(),
    };
    // A conversation that went on with another provider is called by the last one. Blocks stand in some messages only.
    let of_last = shapes.last().map(|last| match last.word {
        "openai_chat" => shapes.iter().find(|shape| shape.word == messages::ANTHROPIC).unwrap_or(last),
        _ => last,
    });
    if let Some(shape) = of_last {
        let is_part = shapes.iter().any(|shape| shape.is_part || shape.is_exchange && !by_line);
        let unit = if is_part { Unit::File } else { Unit::Record };
        fitting.push((
            shapes.len(),
            Format { name: shape.word, unit, engine: Engine::Messages, only: None },
            "messages",
        ));
    } else if fitting.is_empty() && !records.is_empty() && records.iter().all(|&record| is_named(reader, record)) {
        let name = records.iter().find_map(|&record| Some(named(reader, record)?.first()?.2)).unwrap_or("openai_chat");
        fitting.push((1, Format { name, unit: Unit::Record, engine: Engine::Named, only: None }, "messages"));
    }
    if let Some(Wanted(wanted)) = wanted {
        return insisted(records, &fitting, wanted);
    }
    let most = fitting.iter().map(|(count, ..)| *count).max().unwrap_or(0);
    let mut best = fitting.iter().filter(|(count, ..)| *count == most);
    match (best.next(), best.next()) {
        (Some((_, format, _)), None) => Ok(*format),
        (Some((_, one, first)), Some((_, other, second))) => Err(Error::value(format!(
            "this looks like {first} and like {second}; say which with format={:?} or format={:?}",
            one.name, other.name
        ))),
        (None, _) => Err(unknown(records)),
    }
}

/// OTLP as protobuf has one shape.
pub fn of_protobuf(wanted: Option<Wanted>) -> Result<Format, Error> {
    let encoding = encodings().find(|encoding| encoding.name == OTLP);
    let encoding = encoding.ok_or_else(|| Error::value("OTLP is not read"))?;
    let format = Format { name: OTLP, unit: Unit::Pieces, engine: Engine::Spans(encoding), only: None };
    match wanted {
        None => Ok(format),
        Some(Wanted(wanted)) => insisted(&[], &[(1, format, encoding.title)], wanted),
    }
}

const OTLP: &str = "otlp";

fn insisted(
    records: &[Value<'_>],
    fitting: &[(usize, Format, &'static str)],
    wanted: &'static str,
) -> Result<Format, Error> {
    if let Some((_, format, _)) = fitting.iter().find(|(_, format, _)| format.name == wanted) {
        return Ok(*format);
    }
    let is_spans = |format: &Format| matches!(format.engine, Engine::Spans(_));
    if dialects().any(|dialect| dialect.name == wanted)
        && let Some((_, format, _)) = fitting.iter().find(|(_, format, _)| is_spans(format))
    {
        return Ok(Format { only: Some(wanted), ..*format });
    }
    // Anthropic's messages without blocks are chat messages like any.
    let is_chat = |format: &Format| matches!(format.engine, Engine::Messages) && format.name == "openai_chat";
    if let (messages::ANTHROPIC, Some((_, format, _))) = (wanted, fitting.iter().find(|(_, format, _)| is_chat(format)))
    {
        return Ok(Format { name: wanted, ..*format });
    }
    let found: Vec<&str> = fitting.iter().map(|(_, format, _)| format.name).collect();
    Err(match found.is_empty() {
        true => unknown(records).with(&format!("; format={wanted:?} was asked for")),
        false => Error::value(format!("this is not {wanted}, but looks like {}", found.join(", "))),
    })
}

/// What stands under each name, if all that stands under them is messages: the name, what it is, and the dialect.
type Named<'a> = Vec<(Text<'a>, Value<'a>, &'static str)>;

fn named<'a>(reader: Reader<'a>, record: Value<'a>) -> Option<Named<'a>> {
    let Value::Object(members) = record else { return None };
    let shape = |value| messages::shape(reader, value).filter(|shape| !shape.is_part);
    members.iter().map(|member| Some((member.key, member.value, shape(member.value)?.word))).collect()
}

fn is_named<'a>(reader: Reader<'a>, record: Value<'a>) -> bool {
    named(reader, record).is_some_and(|named| !named.is_empty())
}

impl Format {
    /// Read records: one of them, or all that belong to a trace, as the unit says. The paths of problems and of the error begin
    /// with the place of the record among them.
    pub fn read<'a>(&self, found: &mut Found<'a>, records: &[Value<'a>]) -> Result<(), Error> {
        let before = found.traces.len();
        let read = match self.engine {
            Engine::Log(log) => (log.read)(found, records),
            Engine::Spans(_) => {
                let mut exported = Exported::new(found.reader);
                for (place, &record) in records.iter().enumerate() {
                    self.export(&mut exported, place, record);
                }
                tree::traces(exported, self.only, found);
                Ok(())
            }
            Engine::Messages => self.read_messages(found, records),
            Engine::Named => read_named(found, records),
        };
        found.traces.iter_mut().skip(before).for_each(|trace| trace.conversation.sort());
        read
    }

    /// What a record says of its only trace, where a glance tells that it holds one which can be read: finding traces takes
    /// half of the time so.
    pub fn glance<'a>(&self, record: Value<'a>) -> Option<Trace<'a>> {
        if !matches!(self.engine, Engine::Messages) || self.unit != Unit::Record || !messages::is_plain_chat(record) {
            return None;
        }
        let mut trace = Trace::new(Conversation::default());
        about(record, &mut trace);
        Some(trace)
    }

    /// Read a record of spans; what is wrong with it is a problem.
    pub fn export<'a>(&self, exported: &mut Exported<'a>, place: usize, record: Value<'a>) {
        let Engine::Spans(encoding) = self.engine else { return };
        let before = exported.problems.len();
        let read = if (encoding.fits)(record) {
            (encoding.read)(exported, record)
        } else {
            Err(Error::wrong_type(format!("this is no {}", encoding.title)))
        };
        exported.problems.extend(read.err());
        let problems: Vec<Error> = exported.problems.drain(before..).map(|error| error.at_index(place)).collect();
        exported.problems.extend(problems);
    }

    /// The one dialect that is read, if somebody insists.
    pub fn only(&self) -> Option<&'static str> {
        self.only
    }

    fn read_messages<'a>(&self, found: &mut Found<'a>, records: &[Value<'a>]) -> Result<(), Error> {
        let reader = found.reader;
        if self.unit == Unit::File {
            let all = Value::Array(reader.bump.alloc_slice_copy(records));
            for heard in messages::conversations(reader, all)? {
                found.trace(heard).conversation_id = records.iter().find_map(|&record| conversation_id(record));
            }
            return Ok(());
        }
        for (place, &record) in records.iter().enumerate() {
            let heard = messages::conversations(reader, record).map_err(|error| error.at_index(place))?;
            let before = found.traces.len();
            for heard in heard {
                about(record, found.trace(heard));
            }
            if let Err(error) = beside(reader, record, found.traces.get_mut(before..).unwrap_or_default()) {
                found.problems.push(error.at_key(Text::from(CALLS)).at_index(place));
            }
        }
        Ok(())
    }
}

fn read_named<'a>(found: &mut Found<'a>, records: &[Value<'a>]) -> Result<(), Error> {
    for (place, &record) in records.iter().enumerate() {
        let Value::Object(members) = record else { continue };
        for member in members {
            let heard = messages::conversations(found.reader, member.value);
            for heard in heard.map_err(|error| error.at_key(member.key).at_index(place))? {
                found.trace(heard).id = Some(member.key);
            }
        }
    }
    Ok(())
}

/// What stands beside messages: ids, and the calls that were expected.
fn about<'a>(record: Value<'a>, trace: &mut Trace<'a>) {
    let text = |keys: &[&str]| {
        keys.iter().find_map(|key| match record.get(key) {
            Some(Value::Text(text)) if !text.is_empty() => Some(text),
            _ => None,
        })
    };
    trace.id = text(&["trace_id", "id", "custom_id"]);
    trace.conversation_id = conversation_id(record);
    trace.test_id = text(&["test_id"]);
    trace.note("expected_tool_calls", record.get("expected_tool_calls"));
}

const CALLS: &str = "tool_calls";

/// Calls that stand beside the messages of a record with expected calls. They are those of the run, if the messages
/// hold none; else they should be the same.
fn beside<'a>(reader: Reader<'a>, record: Value<'a>, traces: &mut [Trace<'a>]) -> Result<(), Error> {
    let (Some(_), Some(calls @ Value::Array(_))) = (record.get("expected_tool_calls"), record.get(CALLS)) else {
        return Ok(());
    };
    let calls = super::tool_calls(reader, calls)?.unwrap_or_default();
    let hasher = RandomState::new();
    let counted = |spans: &mut dyn Iterator<Item = &Span<'a>>| {
        let mut counts: HashMap<(Text<'a>, u64), usize> = HashMap::new();
        for span in spans.filter(|span| span.kind == Kind::ToolCall) {
            *counts.entry((span.name, compare::hash(span.input, &hasher))).or_default() += 1;
        }
        counts
    };
    let told = counted(&mut traces.iter().flat_map(|trace| trace.spans()));
    match traces.last_mut() {
        Some(trace) if told.is_empty() => calls.into_iter().for_each(|call| trace.conversation.push(call)),
        _ if told == counted(&mut calls.iter()) => {}
        _ => {
            let message =
                "these are not the calls in the messages, which are the ones that were read; leave out either";
            return Err(Error::value(message));
        }
    }
    Ok(())
}

/// As messages have it, or a request or response of OpenAI's, which may be an object.
fn conversation_id(record: Value<'_>) -> Option<Text<'_>> {
    let holders = [Some(record), record.get("response"), record.get("request")];
    let ids = holders.into_iter().flatten().flat_map(|holder| {
        let named = ["conversation_id", "session_id", "thread_id", "conversation"].map(|key| holder.get(key));
        named.into_iter().chain([holder.get("conversation").and_then(|conversation| conversation.get("id"))])
    });
    ids.into_iter().find_map(|id| match id {
        Some(Value::Text(id)) if !id.is_empty() => Some(id),
        _ => None,
    })
}

/// Keys by which people would tell what a record was meant to be; for errors only.
const TELLING: &[(&str, &[&str])] = &[
    ("callmatch", &["turns", "conversation_id", "test_id"]),
    ("openai_chat", &["messages", "role", "content", "tool_calls", "choices"]),
    ("openai_responses", &["output", "call_id", "previous_response_id", "instructions"]),
    ("gemini", &["contents", "candidates", "parts"]),
    ("langchain", &["lc", "kwargs", "type", "data"]),
    ("otlp", &["resourceSpans", "scopeSpans", "spans", "resource", "scope"]),
    ("otel_spans", &["context", "parent_id", "start_time", "end_time", "attributes", "events", "trace_id", "span_id"]),
    ("phoenix", &["span_kind", "context", "context.trace_id", "status_code"]),
    ("jaeger", &["traceID", "spanID", "operationName", "processes", "spans"]),
    ("langfuse", &["observations", "traceId", "parentObservationId", "trace"]),
    ("langsmith", &["run_type", "dotted_order", "inputs", "outputs", "parent_run_id", "child_runs"]),
    ("mlflow", &["info", "data", "spans", "trace_metadata"]),
    ("adk_bigquery", &["event_type", "invocation_id", "span_id", "content_parts"]),
    ("inspect", &["eval", "samples", "plan", "results", "version"]),
    ("tau_bench", &["traj", "reward", "task_id", "info"]),
    ("tau2_bench", &["simulations", "tasks", "reward_info"]),
    ("bfcl", &["ground_truth", "result", "question", "function"]),
    ("atif", &["schema_version", "steps", "agent"]),
    ("deepeval", &["tools_called", "expected_tools", "actual_output", "input"]),
    ("ragas", &["user_input", "reference_tool_calls"]),
    ("promptfoo", &["evalId", "results"]),
    ("aimon", &["tool_trace", "user_query", "generated_text"]),
    ("adk_eval", &["eval_cases", "eval_set_id", "conversation"]),
    ("claude_code", &["uuid", "parentUuid", "sessionId", "message"]),
    ("codex", &["payload", "timestamp", "type"]),
];

/// How many formats an error names.
const MOST_NEAREST: usize = 3;

#[cold]
fn unknown(records: &[Value<'_>]) -> Error {
    let Some(first) = records.first() else { return Error::value("there is nothing to be read in it") };
    let Value::Object(members) = first else {
        let message = format!("no format of traces is known whose records are {}", plural(first.kind()));
        return Error::wrong_type(format!("{message}; expected objects"));
    };
    let keys: Vec<String> = members.iter().map(|member| show::storable(member.key)).collect();
    let shared = |telling: &[&str]| telling.iter().filter(|key| keys.iter().any(|own| own == *key)).count();
    let mut nearest: Vec<(usize, &str)> = TELLING.iter().map(|(name, keys)| (shared(keys), *name)).collect();
    nearest.retain(|(shared, _)| *shared > 0);
    nearest.sort_by_key(|(shared, _)| std::cmp::Reverse(*shared));
    let keys: Vec<String> = keys.iter().take(12).map(|key| show::in_a_sentence(key)).collect();
    let mut message = "no known format of traces has such records".to_owned();
    message += &match keys.is_empty() {
        true => "; the first is an empty object".to_owned(),
        false => format!("; the first has the keys {}", keys.join(", ")),
    };
    if nearest.is_empty() {
        let words = words();
        message += &format!("; known are {}", words.join(", "));
    } else {
        let nearest: Vec<&str> = nearest.iter().take(MOST_NEAREST).map(|(_, name)| *name).collect();
        let are = if nearest.len() == 1 { "is" } else { "are" };
        message += &format!("; the nearest {are} {}", nearest.join(", "));
    }
    Error::value(message)
}

fn plural(kind: &str) -> &str {
    match kind {
        "null" => "null",
        "a boolean" => "booleans",
        "a number" => "numbers",
        "a string" => "strings",
        _ => "lists",
    }
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;

    use super::*;

    /// The names of the calls that are read, and the problems.
    fn told(text: &str) -> (Vec<String>, Vec<String>) {
        let bump = Bump::new();
        let (record, reader) = Reader::parse(text.as_bytes(), &bump).unwrap();
        let mut found = Found::new(reader);
        recognise(reader, &[record], true, None).unwrap().read(&mut found, &[record]).unwrap();
        let [trace] = &found.traces[..] else { panic!("one trace") };
        assert!(trace.attributes.iter().any(|member| member.key.is("expected_tool_calls")));
        let calls = trace.spans().iter().map(|span| show::plain(span.name) + &show::json_text(span.input));
        (calls.collect(), found.problems.iter().map(Error::to_string).collect())
    }

    #[test]
    fn calls_beside_messages_are_not_lost() {
        let asked = r#"{"role": "user", "content": "Q"}"#;
        let made = |name: &str| {
            let function = format!(r#"{{"name": "{name}", "arguments": "{{\"x\": 1}}"}}"#);
            format!(r#"{{"role": "assistant", "tool_calls": [{{"id": "1", "function": {function}}}]}}"#)
        };
        let record = |messages: &[&str], calls: &str| {
            let messages = messages.join(", ");
            told(&format!(r#"{{"messages": [{messages}], "expected_tool_calls": [], "tool_calls": {calls}}}"#))
        };
        let (a, b) = (made("a"), made("b"));
        let both = r#"[{"name": "b", "arguments": {"x": 1}}, {"name": "a", "arguments": {"x": 1.0}}]"#;
        let of = |calls: &[&str]| calls.iter().map(|call| call.to_string()).collect::<Vec<_>>();
        let (x, y) = (r#"a{"x": 1}"#, r#"b{"x": 1}"#);
        assert_eq!(record(&[asked, &a, &b], both), (of(&[x, y]), vec![]));
        assert_eq!(record(&[asked], both), (of(&[y, r#"a{"x": 1.0}"#]), vec![]));
        assert_eq!(record(&[asked, &a], "null"), (of(&[x]), vec![]));
        let differ = "[0].tool_calls: these are not the calls in the messages, which are the ones that were read; \
                      leave out either";
        for other in [both, "[]", r#"[{"name": "a", "arguments": {"x": 2}}]"#] {
            assert_eq!(record(&[asked, &a], other), (of(&[x]), of(&[differ])), "{other}");
        }
        let (calls, problems) = record(&[asked, &a], r#"[{"arguments": {}}]"#);
        assert_eq!(calls, of(&[x]));
        assert!(problems.len() == 1 && problems[0].starts_with("[0].tool_calls[0]: "), "{problems:?}");
    }
}
