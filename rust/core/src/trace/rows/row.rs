//! The columns of a row: in more than one spelling, as JSON text or as what it says, and null or NaN where there is
//! nothing.

use crate::{
    call::Reader,
    error::Error,
    text::Text,
    trace::{
        decode,
        span::{self, Kind},
        spans::{Event, Exported, Status, attributes::Attributes},
        time::{self, Unit},
    },
    value::{Member, Object, Value},
};

/// The first of these keys that has a value.
pub fn found<'a>(row: Value<'a>, keys: &[&str]) -> Option<Value<'a>> {
    keys.iter().find_map(|key| row.get(key).filter(|value| is_there(*value)))
}

/// Tables write NaN where there is nothing.
pub fn is_there(value: Value<'_>) -> bool {
    match value {
        Value::Null => false,
        Value::Float(float) => !float.is_nan(),
        _ => true,
    }
}

/// A text that isn't empty, or an integer as one.
pub fn text<'a>(reader: Reader<'a>, row: Value<'a>, keys: &[&str]) -> Option<Text<'a>> {
    keys.iter().find_map(|key| span::word(row.get(key)?, reader.bump))
}

/// An id, which is not what stands for none.
pub fn id<'a>(reader: Reader<'a>, row: Value<'a>, keys: &[&str]) -> Option<Text<'a>> {
    let is_id = |id: &Text<'_>| !["null", "None", "nan"].iter().any(|none| id.is(none));
    keys.iter().find_map(|key| span::word(row.get(key)?, reader.bump).filter(is_id))
}

/// The value of the first of these keys that has one, of which JSON text of an object or a list is decoded.
pub fn decoded<'a>(reader: Reader<'a>, row: Value<'a>, keys: &[&str]) -> Option<Value<'a>> {
    found(row, keys).map(|value| decode::decoded(reader, value))
}

/// The same, also of JSON text of a text.
pub fn opened<'a>(reader: Reader<'a>, value: Value<'a>) -> Value<'a> {
    match (value, decode::decoded(reader, value)) {
        (Value::Text(text), Value::Text(_)) => {
            let bytes = text.utf8_in(reader.bump);
            match bytes.starts_with(b"\"").then(|| Reader::parse(bytes, reader.bump)) {
                Some(Ok((inner @ Value::Text(_), _))) => inner,
                _ => value,
            }
        }
        (_, decoded) => decoded,
    }
}

pub fn list<'a>(row: Value<'a>, keys: &[&str]) -> &'a [Value<'a>] {
    match found(row, keys) {
        Some(Value::Array(items)) => items,
        _ => &[],
    }
}

pub fn is_object(value: Option<Value<'_>>) -> bool {
    matches!(value, Some(Value::Object(_)))
}

pub fn is_text(value: Option<Value<'_>>) -> bool {
    matches!(value, Some(Value::Text(_)))
}

pub fn is_list(value: Option<Value<'_>>) -> bool {
    matches!(value, Some(Value::Array(_)))
}

/// Does the key have one of these words, whatever their case?
pub fn is_word(row: Value<'_>, key: &str, words: &[&str]) -> bool {
    let Some(Value::Text(text)) = row.get(key) else { return false };
    let text = text.utf8();
    words.iter().any(|word| text.eq_ignore_ascii_case(word.as_bytes()))
}

/// What a product's word for the kind of a span means, whatever its case.
pub fn kind(row: Value<'_>, keys: &[&str], words: &[(&str, Kind)]) -> Option<Kind> {
    let Some(Value::Text(text)) = found(row, keys) else { return None };
    let text = text.utf8();
    words.iter().find(|(word, _)| text.eq_ignore_ascii_case(word.as_bytes())).map(|(_, kind)| *kind)
}

pub fn time(row: Value<'_>, keys: &[&str]) -> Option<i64> {
    found(row, keys).and_then(|value| time::nanos(value, Unit::Guess))
}

/// A status as a code, a word or a part of one: 2, `ERROR`, `STATUS_CODE_ERROR`, `ERRORED`.
pub fn status(value: Option<Value<'_>>) -> Option<Status> {
    match value? {
        Value::Int(1) => Some(Status::Ok),
        Value::Int(2) => Some(Status::Error),
        Value::Text(text) => {
            let word = text.utf8().to_ascii_uppercase();
            match word.strip_prefix(b"STATUS_CODE_").unwrap_or(&word) {
                b"OK" | b"SUCCESS" | b"1" => Some(Status::Ok),
                b"ERROR" | b"ERRORED" | b"FAILED" | b"FAILURE" | b"2" => Some(Status::Error),
                _ => None,
            }
        }
        _ => None,
    }
}

/// What went wrong, as a text: what is an object says it under one of these keys, or is shown as a whole.
pub fn error<'a>(reader: Reader<'a>, value: Option<Value<'a>>, keys: &[&str]) -> Option<Text<'a>> {
    match opened(reader, value?) {
        Value::Null | Value::False | Value::Object([]) | Value::Array([]) => None,
        Value::Text(text) => Some(text).filter(|text| !text.is_blank()),
        other => text(reader, other, keys).or_else(|| Some(span::json_text(other, reader.bump))),
    }
}

/// The name of a tool without what instrumentations put before it.
pub fn tool_name<'a>(reader: Reader<'a>, name: Text<'a>) -> Text<'a> {
    const PREFIXES: &[&[u8]] = &[b"execute_tool ", b"running tool: ", b"Function tool: ", b"tools/call "];
    let bytes = name.utf8_in(reader.bump);
    let rest = PREFIXES.iter().find_map(|prefix| bytes.strip_prefix(*prefix));
    Text::Utf8(rest.map_or(bytes, <[u8]>::trim_ascii))
}

/// The name of an agent without what instrumentations put around it.
pub fn agent_name<'a>(reader: Reader<'a>, name: Text<'a>) -> Text<'a> {
    let bytes = name.utf8_in(reader.bump);
    let bracketed = bytes.strip_prefix(b"agent_run [").and_then(|rest| rest.strip_suffix(b"]"));
    Text::Utf8(bracketed.or_else(|| bytes.strip_prefix(b"invoke_agent ")).unwrap_or(bytes))
}

/// The agent of LangChain that a run belongs to, as all that is inside of an agent says in its metadata, and whether
/// the run is that agent.
pub fn agent_of_langchain<'a>(reader: Reader<'a>, metadata: Value<'a>, name: Text<'a>) -> (Option<Text<'a>>, bool) {
    let agent = text(reader, metadata, &["lc_agent_name"]);
    (agent.filter(|agent| *agent != name), agent == Some(name))
}

pub fn object<'a>(reader: Reader<'a>, members: &[(&'static str, Value<'a>)]) -> Value<'a> {
    let member = |&(key, value): &(&'static str, Value<'a>)| Member { key: Text::from(key), value };
    Value::Object(reader.bump.alloc_slice_fill_iter(members.iter().map(member)))
}

pub fn array<'a>(reader: Reader<'a>, items: &[Value<'a>]) -> Value<'a> {
    Value::Array(reader.bump.alloc_slice_copy(items))
}

/// Those of a row's columns that say something: further attributes of a trace.
pub fn columns<'a>(reader: Reader<'a>, row: Value<'a>, keys: &[&'static str]) -> Value<'a> {
    let said = |value: &Value<'_>| !matches!(value, Value::Array([]) | Value::Object([])) && is_there(*value);
    let column = |key: &&'static str| {
        let value = decode::decoded(reader, row.get(key)?);
        Some((*key, value)).filter(|(_, value)| said(value))
    };
    match &*keys.iter().filter_map(column).collect::<Vec<_>>() {
        [] => Value::Null,
        columns => object(reader, columns),
    }
}

/// The members of an object, or of JSON text of one.
pub fn members<'a>(reader: Reader<'a>, value: Option<Value<'a>>) -> Object<'a> {
    match value.map(|value| decode::decoded(reader, value)) {
        Some(Value::Object(members)) => members,
        _ => &[],
    }
}

/// Of metadata what is an attribute of OpenTelemetry, which has dots in its key.
pub fn dotted<'a>(reader: Reader<'a>, metadata: Object<'a>) -> Attributes<'a> {
    let is_dotted = |member: &&Member<'a>| memchr::memchr(b'.', member.key.utf8_in(reader.bump)).is_some();
    let members: Vec<_> = metadata.iter().filter(is_dotted).copied().collect();
    Attributes(reader.bump.alloc_slice_copy(&members))
}

/// Attributes of which lists and objects that an exporter nested get dotted keys; what is null is left out. Values that
/// are arguments, results or schemas stay what they are.
pub fn flat<'a>(reader: Reader<'a>, members: Object<'a>) -> Attributes<'a> {
    if !members.iter().any(|member| matches!(member.value, Value::Object(_) | Value::Array(_) | Value::Null)) {
        return Attributes(members);
    }
    let mut flat = Vec::with_capacity(members.len());
    let mut key = Vec::new();
    members.iter().for_each(|member| flatten(reader, *member, &mut key, &mut flat));
    Attributes(reader.bump.alloc_slice_copy(&flat))
}

/// Keys under which a value stands that is no further level of attributes.
const WHOLE: &[&[u8]] = &[
    b"input.value",
    b"output.value",
    b"tool.parameters",
    b"function.arguments",
    b"tool.call.arguments",
    b"tool.call.result",
    b"tool_arguments",
    b"tool_response",
    b"metadata",
    b"input.messages",
    b"output.messages",
    b"all_messages",
];

/// A key that is longer is no attribute, and what stands under it stays whole: each key below would have all of it.
const LONGEST: usize = 256;

fn flatten<'a>(reader: Reader<'a>, member: Member<'a>, path: &mut Vec<u8>, flat: &mut Vec<Member<'a>>) {
    let length = path.len();
    if length > 0 {
        path.push(b'.');
    }
    path.extend_from_slice(member.key.utf8_in(reader.bump));
    let ends_with = |key: &&[u8]| path.strip_suffix(*key).is_some_and(|rest| matches!(rest.last(), None | Some(b'.')));
    let is_whole = path.len() > LONGEST || WHOLE.iter().any(ends_with);
    match member.value {
        Value::Object(members @ [_, ..]) if !is_whole => {
            members.iter().for_each(|member| flatten(reader, *member, path, flat));
        }
        // A list of texts or numbers is a value.
        Value::Array(items) if !is_whole && items.iter().any(|item| matches!(item, Value::Object(_))) => {
            for (index, &value) in items.iter().enumerate() {
                let key = Text::from(&*reader.bump.alloc_str(&index.to_string()));
                flatten(reader, Member { key, value }, path, flat);
            }
        }
        value if is_there(value) => {
            let key = Text::Utf8(reader.bump.alloc_slice_copy(path));
            flat.push(Member { key, value });
        }
        _ => {}
    }
    path.truncate(length);
}

/// What an exception says of itself.
pub fn exception<'a>(reader: Reader<'a>, events: &[Event<'a>]) -> Option<Text<'a>> {
    let event = events.iter().rev().find(|event| event.name.is("exception"))?;
    event.attributes.text(reader, &["exception.message", "exception.type"])
}

/// The rows of a page, of which one that can't be read is a problem.
pub fn each<'a>(
    exported: &mut Exported<'a>,
    rows: &[Value<'a>],
    key: &str,
    mut read: impl FnMut(&mut Exported<'a>, Value<'a>) -> Result<(), Error>,
) {
    for (index, &row) in rows.iter().enumerate() {
        let before = exported.problems.len();
        if let Err(error) = read(exported, row) {
            exported.problems.push(error);
        }
        let inner: Vec<_> = exported.problems.drain(before..).collect();
        exported.problems.extend(inner.into_iter().map(|error| error.at_index(index).at_key(Text::from(key))));
    }
}

pub fn not_a_row(what: &str, row: Value<'_>) -> Error {
    Error::wrong_type(format!("expected {what}, an object, got {}", row.kind()))
}
