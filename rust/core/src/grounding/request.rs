//! What is checked: a request in AIMon's shape, read leniently.
//!
//! What must be there is an error that names the field; whatever else is odd is a note, and never stops the check.

use std::fmt::Write;

use bumpalo::{Bump, collections::Vec as ArenaVec};
use jiff::fmt::temporal::Pieces;

use super::settings::Settings;
use crate::{
    error::{Error, misspelt},
    json, show,
    text::Text,
    trace::time,
    value::{MAX_DEPTH, Member, Object, Value, get},
};

/// All texts are valid UTF-8 in the arena: a lone surrogate became U+FFFD, so offsets in code points stay what they were.
#[derive(Debug)]
pub struct Request<'a> {
    pub query: &'a str,
    pub text: &'a str,
    /// In their order of execution: by `order`, then by start, then as they are listed.
    pub calls: &'a [Call<'a>],
    /// The tools that could have been called; None if nobody said.
    pub tools: Option<&'a [Tool<'a>]>,
    /// What else the model was given: earlier turns, retrieved texts, a system prompt.
    pub context: &'a [&'a str],
    /// What was odd about the request and did not stop it, for the reader of the report.
    pub notes: Vec<String>,
}

/// An entry of the trace of tools.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Where it stands in `tool_trace` as it was given: JSON pointers say so.
    pub index: usize,
    pub tool: &'a str,
    /// As it was given; None if it was not.
    pub status: Option<Value<'a>>,
    /// None if there was none: null, false, an empty text, object or list.
    pub error: Option<Value<'a>>,
    /// JSON in a text is parsed already, also in the texts inside. Nests no deeper than 128 levels.
    pub request: Option<Value<'a>>,
    pub response: Option<Value<'a>>,
    /// What the keys of these were, for JSON pointers ("response_payload", or "output" …; "function/arguments").
    pub request_key: &'a str,
    pub response_key: &'a str,
    /// Milliseconds since 1970, and the offset from UTC in minutes.
    pub start: Option<(i64, i16)>,
    pub end: Option<(i64, i16)>,
    pub retries: u64,
}

/// A tool of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct Tool<'a> {
    pub name: &'a str,
    pub description: Option<&'a str>,
    /// A JSON Schema, or whatever was given for one.
    pub parameters: Option<Value<'a>>,
}

/// How deep a request may nest, as JSON text or as objects.
pub const REQUEST_DEPTH: usize = MAX_DEPTH + 8;

/// The keys that a request has. Any others are of somebody else.
const KEYS: &[&str] = &["user_query", "generated_text", "tool_trace", "available_tools", "context"];
const NAME_KEYS: &[&str] = &["tool_name", "name", "tool"];
const REQUEST_KEYS: &[&str] = &["request_payload", "arguments", "args", "input"];
const RESPONSE_KEYS: &[&str] = &["response_payload", "output", "result", "response"];
const SCHEMA_KEYS: &[&str] = &["parameters", "inputSchema", "input_schema"];
/// What texts of the context are under, where they are in objects.
const TEXT_KEYS: &[&str] = &["content", "text", "page_content"];

/// How often a text may be JSON text inside JSON text.
const MOST_DECODED: usize = 2;
/// How deep a payload may nest, with the JSON text in it: so that nobody who walks through one needs much stack. What is
/// deeper is cut, and JSON text that is stays a text.
const MOST_LEVELS: usize = 128;
const TOO_DEEP: &str = "[nested too deep]";
/// How many places a note names.
const MOST_PLACES: usize = 3;

impl<'a> Request<'a> {
    /// Read a request. An error has the path of the field that is missing or can't be read.
    pub fn read(value: Value<'a>, bump: &'a Bump) -> Result<Self, Error> {
        let Value::Object(members) = value else {
            let wanted = "an object with user_query, generated_text and tool_trace";
            return Err(Error::wrong_type(format!("expected {wanted}, got {}", value.kind())));
        };
        let reader = Reader { bump };
        let query = reader.needed_text(members, "user_query")?;
        let text = reader.needed_text(members, "generated_text")?;
        let trace = reader.list(needed(members, "tool_trace")?).map_err(|error| at(error, "tool_trace"))?;
        let mut odd = Odd::default();
        let mut entries = Vec::with_capacity(trace.len());
        for (index, &entry) in trace.iter().enumerate() {
            let entry = reader.entry(index, entry, &mut odd);
            entries.push(entry.map_err(|error| at(error.at_index(index), "tool_trace"))?);
        }
        sort(&mut entries, &mut odd);
        let calls = bump.alloc_slice_fill_iter(entries.iter().map(|entry| entry.call));
        let tools = given(members, "available_tools").map(|tools| reader.tools(tools)).transpose();
        let tools = tools.map_err(|error| at(error, "available_tools"))?;
        let context = reader.context(members);
        Ok(Request { query, text, calls, tools, context, notes: odd.notes() })
    }

    /// Where a request doesn't say which tools were available, those of the settings were.
    pub fn or_tools(&mut self, settings: &Settings, bump: &'a Bump) -> Result<(), Error> {
        if self.tools.is_none()
            && let Some(tools) = &settings.available_tools
        {
            let text = bump.alloc_str(tools);
            self.tools = Some(catalogue(Value::Text(Text::from(&*text)), bump)?);
        }
        Ok(())
    }
}

/// Tools that can be called, in any of the shapes that they are listed in, or as JSON text.
pub fn catalogue<'a>(tools: Value<'a>, bump: &'a Bump) -> Result<&'a [Tool<'a>], Error> {
    Reader { bump }.tools(tools)
}

/// A text of any storage as UTF-8. Half of a pair of surrogates is no character and becomes U+FFFD, one for one.
pub fn utf8<'a>(text: Text<'a>, bump: &'a Bump) -> &'a str {
    if let Text::Utf8(bytes) = text
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        return text;
    }
    let mut copy = bumpalo::collections::String::new_in(bump);
    copy.extend(text.code_points().map(|point| char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER)));
    copy.into_bump_str()
}

fn at(error: Error, key: &str) -> Error {
    error.at_key(Text::from(key))
}

/// The value of the first of these keys that has one, and the key.
fn first<'a>(members: Object<'a>, keys: &[&'static str]) -> Option<(&'static str, Value<'a>)> {
    keys.iter().find_map(|key| Some((*key, given(members, key)?)))
}

/// The value of a key; null counts as none.
fn given<'a>(members: Object<'a>, key: &str) -> Option<Value<'a>> {
    get(members, Text::from(key)).filter(|value| !matches!(value, Value::Null))
}

/// A field that must be there.
fn needed<'a>(members: Object<'a>, key: &'static str) -> Result<Value<'a>, Error> {
    match get(members, Text::from(key)) {
        Some(Value::Null) => {
            let hint = if key == "tool_trace" { "; an empty list says that no tool was called" } else { "" };
            Err(at(Error::wrong_type(format!("expected {}, got null{hint}", kind_of(key))), key))
        }
        Some(value) => Ok(value),
        None => {
            let mut message = format!("missing; expected {}", kind_of(key));
            if let Some(other) = misspelling(members, key) {
                let _ = write!(message, "; there is {other:?}: did you mean {key:?}?");
            }
            Err(at(Error::value(message), key))
        }
    }
}

fn kind_of(key: &str) -> &'static str {
    if key == "tool_trace" { "a list of tool calls" } else { "a text" }
}

/// A key that is none of a request's, and can hardly be anything but a slip of this one.
fn misspelling(members: Object<'_>, key: &'static str) -> Option<String> {
    let others = members.iter().map(|member| show::in_a_sentence(&show::storable(member.key)));
    others.filter(|other| !KEYS.contains(&other.as_str())).find(|other| misspelt(other, &[key]).is_some())
}

#[derive(Clone, Copy)]
struct Reader<'a> {
    bump: &'a Bump,
}

/// A call with what it is ordered by.
struct Entry<'a> {
    call: Call<'a>,
    order: Option<i64>,
}

impl<'a> Reader<'a> {
    fn needed_text(self, members: Object<'a>, key: &'static str) -> Result<&'a str, Error> {
        let text = match needed(members, key)? {
            Value::Text(text) => utf8(text, self.bump),
            other => return Err(at(Error::wrong_type(format!("expected a text, got {}", other.kind())), key)),
        };
        // Places in it are counted in 32 bits.
        if u32::try_from(text.len()).is_err() {
            return Err(at(Error::value("more than 4 GB of text"), key));
        }
        Ok(text)
    }

    /// A list, or JSON text of one.
    fn list(self, value: Value<'a>) -> Result<&'a [Value<'a>], Error> {
        match value {
            Value::Array(items) => Ok(items),
            Value::Text(text) => {
                match json::parse(text.utf8_in(self.bump), REQUEST_DEPTH, self.bump).map_err(Error::not_json)? {
                    Value::Array(items) => Ok(items),
                    other => Err(Error::wrong_type(format!("expected a list, got JSON text of {}", other.kind()))),
                }
            }
            other => Err(Error::wrong_type(format!("expected a list, got {}", other.kind()))),
        }
    }

    fn entry(self, index: usize, value: Value<'a>, odd: &mut Odd) -> Result<Entry<'a>, Error> {
        let Value::Object(members) = value else {
            return Err(Error::wrong_type(format!("expected a tool call (an object), got {}", value.kind())));
        };
        // OpenAI's shape of a call.
        let function = match given(members, "function") {
            Some(Value::Object(function)) => function,
            _ => &[],
        };
        let tool = self.tool_name(members, function)?;
        let (request_key, request) = match first(members, REQUEST_KEYS) {
            None => match given(function, "arguments") {
                Some(value) => ("function/arguments", Some(value)),
                None => ("request_payload", None),
            },
            Some((key, value)) => (key, Some(value)),
        };
        let (response_key, response) =
            first(members, RESPONSE_KEYS).map_or(("response_payload", None), |(key, value)| (key, Some(value)));
        let request = request.map(|value| self.payload(value, index, request_key, odd));
        let response = response.map(|value| self.payload(value, index, response_key, odd));
        if let Some(value) = request
            && !matches!(value, Value::Object(_) | Value::Text(_))
        {
            odd.at(index, request_key, &format!("is {}, not an object", value.kind()));
        }
        if let Some(Value::Int(_) | Value::Big(_) | Value::Float(_) | Value::True | Value::False) = response {
            odd.at(index, response_key, "is a lone value, not an object or a list");
        }
        let start = self.time(members, "start_time", index, odd);
        let end = self.time(members, "end_time", index, odd);
        if let (Some((start, _)), Some((end, _))) = (start, end)
            && end < start
        {
            odd.at(index, "end_time", "is before start_time");
        }
        let order = given(members, "order").map(whole);
        if order == Some(None) {
            odd.at(index, "order", "is no whole number");
        }
        let retries = given(members, "retries").map(|value| whole(value).and_then(|count| u64::try_from(count).ok()));
        if retries == Some(None) {
            odd.at(index, "retries", "is no count");
        }
        let error = given(members, "error").filter(|&error| !is_nothing(error));
        let call = Call {
            index,
            tool,
            status: given(members, "status").map(|status| self.bounded(status, index, "status", odd)),
            error: error.map(|error| self.bounded(error, index, "error", odd)),
            request,
            response,
            request_key,
            response_key,
            start,
            end,
            retries: retries.flatten().unwrap_or(0),
        };
        Ok(Entry { call, order: order.flatten() })
    }

    fn tool_name(self, members: Object<'a>, function: Object<'a>) -> Result<&'a str, Error> {
        let found = first(members, NAME_KEYS).or_else(|| Some(("function", given(function, "name")?)));
        let name = match found {
            Some((_, Value::Text(name))) => utf8(name, self.bump),
            // {"tool": {"name": …}}
            Some((key, Value::Object(tool))) => match given(tool, "name") {
                Some(Value::Text(name)) => utf8(name, self.bump),
                _ => return Err(at(Error::value("missing"), "name").at_key(Text::from(key))),
            },
            Some((key, other)) => {
                return Err(at(Error::wrong_type(format!("expected a text, got {}", other.kind())), key));
            }
            None => {
                let mut message = format!("missing; the name of the tool is given as {}", NAME_KEYS.join(" or "));
                if let Some(other) = misspelling(members, "tool_name") {
                    let _ = write!(message, "; there is {other:?}: did you mean \"tool_name\"?");
                }
                return Err(at(Error::value(message), "tool_name"));
            }
        };
        if name.trim().is_empty() {
            return Err(at(Error::value("the name of the tool is empty"), "tool_name"));
        }
        Ok(name)
    }

    /// A value without what nests too deep.
    fn bounded(self, value: Value<'a>, index: usize, key: &str, odd: &mut Odd) -> Value<'a> {
        if !value.deeper_than(MOST_LEVELS) {
            return value;
        }
        odd.at(index, key, "nests too deep, and was cut");
        self.cut(value, MOST_LEVELS)
    }

    fn cut(self, value: Value<'a>, levels: usize) -> Value<'a> {
        match value {
            Value::Array(_) | Value::Object(_) if levels == 0 => Value::Text(Text::from(TOO_DEEP)),
            Value::Array(items) => {
                let items = items.iter().map(|&item| self.cut(item, levels - 1));
                Value::Array(self.bump.alloc_slice_fill_iter(items))
            }
            Value::Object(members) => {
                let cut = |member: &Member<'a>| Member { key: member.key, value: self.cut(member.value, levels - 1) };
                Value::Object(self.bump.alloc_slice_fill_iter(members.iter().map(cut)))
            }
            other => other,
        }
    }

    /// A payload, with the JSON in its texts parsed.
    fn payload(self, value: Value<'a>, index: usize, key: &str, odd: &mut Odd) -> Value<'a> {
        // Most payloads are as they should be, which one walk tells.
        if is_plain(value, MOST_LEVELS) {
            return value;
        }
        let value = self.bounded(value, index, key, odd);
        let decoded = match value {
            Value::Text(text) => self.of_text(text, MOST_DECODED, 0, true),
            other if says_json(other) => return self.decoded(other, MOST_DECODED, 0),
            // As it is.
            other => return other,
        };
        match decoded {
            Some(value) => {
                odd.at(index, key, "is JSON text, and was parsed");
                value
            }
            None => {
                odd.at(index, key, "is plain text");
                value
            }
        }
    }

    /// The value with JSON objects and lists in place of the texts that say them.
    fn decoded(self, value: Value<'a>, times: usize, depth: usize) -> Value<'a> {
        match value {
            Value::Text(text) => self.of_text(text, times, depth, false).unwrap_or(value),
            Value::Array(items) => {
                let items = items.iter().map(|&item| self.decoded(item, times, depth + 1));
                Value::Array(self.bump.alloc_slice_fill_iter(items))
            }
            Value::Object(members) => {
                let decoded = |member: &Member<'a>| {
                    let value = self.decoded(member.value, times, depth + 1);
                    Member { key: member.key, value }
                };
                Value::Object(self.bump.alloc_slice_fill_iter(members.iter().map(decoded)))
            }
            Value::Foreign(name) => Value::Text(*name),
            other => other,
        }
    }

    /// The object or list that a text says, as JSON text or as JSON text of that; `whole` payloads may say a text too.
    fn of_text(self, text: Text<'a>, times: usize, depth: usize, whole: bool) -> Option<Value<'a>> {
        let bytes = text.utf8_in(self.bump);
        let times = times.checked_sub(1)?;
        match bytes.trim_ascii_start().first() {
            Some(b'{' | b'[') => {}
            Some(b'"') if whole => {}
            _ => return None,
        }
        match json::parse(bytes, MOST_LEVELS.saturating_sub(depth), self.bump).ok()? {
            Value::Text(inner) => Some(self.of_text(inner, times, depth, true).unwrap_or(Value::Text(inner))),
            inner if times > 0 && says_json(inner) => Some(self.decoded(inner, times, depth)),
            inner => Some(inner),
        }
    }

    fn time(self, members: Object<'a>, key: &str, index: usize, odd: &mut Odd) -> Option<(i64, i16)> {
        let value = given(members, key)?;
        let Some(nanos) = time::nanos(value, time::Unit::Guess) else {
            odd.at(index, key, "is no time that can be read");
            return None;
        };
        let offset = match value {
            Value::Text(text) => offset(utf8(text, self.bump)),
            _ => 0,
        };
        Some((nanos.div_euclid(1_000_000), offset))
    }

    fn tools(self, tools: Value<'a>) -> Result<&'a [Tool<'a>], Error> {
        let items = match tools {
            // As MCP lists them.
            Value::Object(list) if given(list, "tools").is_some() => {
                self.list(given(list, "tools").unwrap_or_default()).map_err(|error| at(error, "tools"))?
            }
            value => self.list(value)?,
        };
        let mut tools = ArenaVec::with_capacity_in(items.len(), self.bump);
        for (index, &item) in items.iter().enumerate() {
            // Gemini has lists of functions in its tools.
            let declared = match item {
                Value::Object(members) => first(members, &["functionDeclarations", "function_declarations"]),
                _ => None,
            };
            if let Some((_, Value::Array(functions))) = declared {
                for &function in functions {
                    tools.push(self.tool(function).map_err(|error| error.at_index(index))?);
                }
            } else {
                tools.push(self.tool(item).map_err(|error| error.at_index(index))?);
            }
        }
        Ok(tools.into_bump_slice())
    }

    fn tool(self, value: Value<'a>) -> Result<Tool<'a>, Error> {
        let members = match value {
            Value::Text(name) => return Ok(Tool { name: utf8(name, self.bump), description: None, parameters: None }),
            Value::Object(members) => members,
            other => {
                let message = format!("expected a tool (an object with a name), got {}", other.kind());
                return Err(Error::wrong_type(message));
            }
        };
        // OpenAI and Bedrock wrap what they say of a tool.
        let members = match first(members, &["function", "toolSpec"]) {
            Some((_, Value::Object(inner))) => inner,
            _ => members,
        };
        let text = |value| match value {
            Value::Text(text) => Some(utf8(text, self.bump)),
            _ => None,
        };
        // A tool that a provider runs itself may have no other name than its type.
        let name = first(members, &["name", "tool_name", "type"]).and_then(|(_, name)| text(name));
        let Some(name) = name.filter(|name| !name.trim().is_empty()) else {
            return Err(at(Error::value("missing; a tool of the catalogue has a name"), "name"));
        };
        let description = given(members, "description").and_then(text);
        let parameters = first(members, SCHEMA_KEYS).map(|(_, schema)| schema);
        // Nobody looks into the depth of one that is so deep.
        let parameters = parameters.filter(|schema| !schema.deeper_than(MOST_LEVELS));
        Ok(Tool { name, description, parameters })
    }

    /// A text, a list of texts, or of messages or documents.
    fn context(self, members: Object<'a>) -> &'a [&'a str] {
        let items = match given(members, "context") {
            None => return &[],
            Some(Value::Array(items)) => items,
            Some(other) => self.bump.alloc_slice_copy(&[other]),
        };
        let mut texts = ArenaVec::with_capacity_in(items.len(), self.bump);
        for &item in items {
            let said = match item {
                Value::Object(members) => first(members, TEXT_KEYS).map_or(item, |(_, said)| said),
                other => other,
            };
            match said {
                Value::Null => {}
                Value::Text(text) => texts.push(utf8(text, self.bump)),
                other => {
                    let mut json = String::new();
                    show::write_json(other, &mut json);
                    texts.push(&*self.bump.alloc_str(&json));
                }
            }
        }
        texts.into_bump_slice()
    }
}

/// Is it an object or a list that nests no deeper than this, and says no JSON?
fn is_plain(value: Value<'_>, levels: usize) -> bool {
    let Some(levels) = levels.checked_sub(1) else { return false };
    let inside = |value| match value {
        Value::Null | Value::True | Value::False | Value::Int(_) | Value::Float(_) | Value::Big(_) => true,
        Value::Array(_) | Value::Object(_) => is_plain(value, levels),
        Value::Text(_) | Value::Foreign(_) => !says_json(value),
    };
    match value {
        Value::Array(items) => items.iter().all(|&item| inside(item)),
        Value::Object(members) => members.iter().all(|member| inside(member.value)),
        _ => false,
    }
}

/// Is there a text in it that may be JSON text (or something that is no JSON value)?
fn says_json(value: Value<'_>) -> bool {
    match value {
        Value::Text(Text::Utf8(bytes) | Text::Latin1(bytes)) => match bytes.first() {
            Some(b'{' | b'[') => true,
            Some(byte) if byte.is_ascii_whitespace() => {
                matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'['))
            }
            _ => false,
        },
        Value::Text(text) => text.code_points().next().is_some_and(|point| point == 0x7b || point == 0x5b),
        Value::Array(items) => items.iter().any(|&item| says_json(item)),
        Value::Object(members) => members.iter().any(|member| says_json(member.value)),
        Value::Foreign(_) => true,
        _ => false,
    }
}

/// Of an ISO 8601 text, in minutes from UTC.
fn offset(text: &str) -> i16 {
    let pieces = Pieces::parse(text.trim()).ok();
    let offset = pieces.and_then(|pieces| pieces.to_numeric_offset());
    offset.and_then(|offset| i16::try_from(offset.seconds() / 60).ok()).unwrap_or(0)
}

fn whole(value: Value<'_>) -> Option<i64> {
    match value {
        Value::Int(int) => Some(int),
        Value::Float(float) if float.fract() == 0.0 && float.abs() < 9.0e15 => Some(float as i64),
        Value::Text(text) => std::str::from_utf8(&text.to_utf8()).ok()?.trim().parse().ok(),
        _ => None,
    }
}

/// What stands where there was no error.
fn is_nothing(value: Value<'_>) -> bool {
    match value {
        Value::Null | Value::False => true,
        Value::Text(text) => text.is_blank(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

/// Into their order of execution. `order`, and then the start, count only where all calls have them: else they say nothing of
/// how the others stand to these.
fn sort(entries: &mut [Entry<'_>], odd: &mut Odd) {
    let ordered = entries.iter().filter(|entry| entry.order.is_some()).count();
    let by_order = ordered == entries.len();
    if ordered > 0 && !by_order {
        for entry in entries.iter().filter(|entry| entry.order.is_none()) {
            odd.at(entry.call.index, "order", "is missing, so that no call is ordered by it");
        }
    }
    let by_start = entries.iter().all(|entry| entry.call.start.is_some());
    entries.sort_by_key(|entry| {
        let order = entry.order.filter(|_| by_order);
        let start = entry.call.start.filter(|_| by_start).map(|(start, _)| start);
        (order, start, entry.call.index)
    });
    if !by_order {
        return;
    }
    let mut latest = None;
    for pair in entries.windows(2) {
        let [before, after] = pair else { continue };
        if before.order == after.order {
            odd.at(after.call.index, "order", "is that of another call too");
        }
        latest = latest.max(before.call.start.map(|(start, _)| start));
        if after.call.start.is_some_and(|(start, _)| latest.is_some_and(|latest| start < latest)) {
            odd.at(after.call.index, "start_time", "is before that of a call that comes earlier by order");
        }
    }
}

/// What is odd, and where.
#[derive(Default)]
struct Odd {
    /// A field, what is odd about it, and the entries in which it is.
    found: Vec<(String, String, Vec<usize>)>,
}

impl Odd {
    fn at(&mut self, index: usize, field: &str, what: &str) {
        match self.found.iter_mut().find(|(known, said, _)| known == field && said == what) {
            Some((_, _, places)) => places.push(index),
            None => self.found.push((field.to_owned(), what.to_owned(), vec![index])),
        }
    }

    /// A sentence for each.
    fn notes(self) -> Vec<String> {
        let note = |(field, what, places): (String, String, Vec<usize>)| {
            let field = field.replace('/', ".");
            let named: Vec<String> =
                places.iter().take(MOST_PLACES).map(|place| format!("tool_trace[{place}].{field}")).collect();
            let more = match places.len().saturating_sub(MOST_PLACES) {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            format!("{} {what}{more}.", named.join(", "))
        };
        self.found.into_iter().map(note).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes out of a request of this text, by what is asked of it.
    fn with<T>(text: &str, of: impl Fn(&Request<'_>) -> T) -> Result<T, String> {
        let bump = Bump::new();
        let value = json::parse(text.as_bytes(), REQUEST_DEPTH, &bump).unwrap();
        Request::read(value, &bump).map(|request| of(&request)).map_err(|error| error.to_string())
    }

    /// The same of a trace alone.
    fn with_trace<T>(trace: &str, of: impl Fn(&Request<'_>) -> T) -> Result<T, String> {
        with(&format!(r#"{{"user_query": "q", "generated_text": "t", "tool_trace": {trace}}}"#), of)
    }

    fn shown(value: Option<Value<'_>>) -> String {
        let mut json = String::new();
        value.map_or_else(
            || "none".to_owned(),
            |value| {
                show::write_json(value, &mut json);
                json.clone()
            },
        )
    }

    #[test]
    fn aimons_shape() {
        let trace = r#"[{"order": 1, "tool_name": "weather", "tool_version": "v1", "start_time": "2026-03-02T10:15:00+01:00",
            "end_time": "2026-03-02T09:15:01Z", "status": "success", "error": null, "request_payload": {"city": "Oslo"},
            "response_payload": {"temp_c": -3}, "retries": 2, "region": "eu"}]"#;
        with_trace(trace, |request| {
            assert_eq!((request.query, request.text, request.calls.len()), ("q", "t", 1));
            assert!(request.tools.is_none() && request.context.is_empty() && request.notes.is_empty());
            let call = request.calls[0];
            assert_eq!((call.index, call.tool, call.retries), (0, "weather", 2));
            assert_eq!(shown(call.status), r#""success""#);
            assert!(call.error.is_none());
            assert_eq!(shown(call.request), r#"{"city": "Oslo"}"#);
            assert_eq!(shown(call.response), r#"{"temp_c": -3}"#);
            assert_eq!(call.start, Some((1_772_442_900_000, 60)));
            assert_eq!(call.end, Some((1_772_442_901_000, 0)));
        })
        .unwrap();
    }

    #[test]
    fn other_names_of_the_same() {
        for entry in [
            r#"{"name": "f", "arguments": {"a": 1}, "output": 2}"#,
            r#"{"tool": "f", "args": {"a": 1}, "result": 2}"#,
            r#"{"tool": {"name": "f"}, "input": {"a": 1}, "response": 2}"#,
            r#"{"type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}, "output": 2}"#,
            r#"{"tool_name": null, "name": "f", "request_payload": null, "args": "{\"a\": 1}", "response_payload": 2}"#,
        ] {
            with_trace(&format!("[{entry}]"), |request| {
                let call = request.calls[0];
                assert_eq!(
                    (call.tool, shown(call.request), shown(call.response)),
                    ("f", r#"{"a": 1}"#.into(), "2".into())
                );
                assert!(entry.contains(&format!("\"{}\"", call.request_key.rsplit('/').next().unwrap())));
                assert!(entry.contains(&format!("\"{}\"", call.response_key)), "{entry}");
            })
            .unwrap();
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        for (request, error) in [
            ("[]", "expected an object with user_query, generated_text and tool_trace, got a list"),
            (r#"{"generated_text": "", "tool_trace": []}"#, "user_query: missing; expected a text"),
            (r#"{"user_query": "", "generated_text": null}"#, "generated_text: expected a text, got null"),
            (r#"{"user_query": "", "generated_text": 1}"#, "generated_text: expected a text, got a number"),
            (r#"{"user_query": "", "generated_text": ""}"#, "tool_trace: missing; expected a list of tool calls"),
            (
                r#"{"user_query": "", "generated_text": "", "tool_traces": []}"#,
                "tool_trace: missing; expected a list of tool calls; there is \"tool_traces\": did you mean \"tool_trace\"?",
            ),
            (
                r#"{"user_query": "", "generated_text": "", "tool_trace": null}"#,
                "tool_trace: expected a list of tool calls, got null; an empty list says that no tool was called",
            ),
        ] {
            assert_eq!(with(request, |_| ()).unwrap_err(), error);
        }
        for (trace, error) in [
            ("{}", "tool_trace: expected a list, got an object"),
            ("[{\"tool_name\": \"a\"}, 1]", "tool_trace[1]: expected a tool call (an object), got a number"),
            ("[{\"tool_name\": 1}]", "tool_trace[0].tool_name: expected a text, got a number"),
            ("[{\"tool_name\": \" \"}]", "tool_trace[0].tool_name: the name of the tool is empty"),
            (
                "[{\"toolname\": \"a\"}]",
                "tool_trace[0].tool_name: missing; the name of the tool is given as tool_name or name or tool; \
                 there is \"toolname\": did you mean \"tool_name\"?",
            ),
            ("[{\"tool\": {}}]", "tool_trace[0].tool.name: missing"),
        ] {
            assert_eq!(with_trace(trace, |_| ()).unwrap_err(), error);
        }
        assert_eq!(with_trace("[]", |request| request.calls.len()), Ok(0));
        assert_eq!(with_trace(r#""[{\"name\": \"f\"}]""#, |request| request.calls.len()), Ok(1));
    }

    #[test]
    fn json_in_texts_is_parsed_and_other_texts_stay() {
        let response = |text: &str| {
            let trace = format!(r#"[{{"tool_name": "f", "response_payload": {text}}}]"#);
            with_trace(&trace, |request| (shown(request.calls[0].response), request.notes.join(" "))).unwrap()
        };
        let parsed = "tool_trace[0].response_payload is JSON text, and was parsed.";
        let plain = "tool_trace[0].response_payload is plain text.";
        assert_eq!(response(r#""{\"a\": 1}""#), (r#"{"a": 1}"#.into(), parsed.into()));
        assert_eq!(response(r#""\"{\\\"a\\\": 1}\"""#), (r#"{"a": 1}"#.into(), parsed.into()));
        assert_eq!(response(r#""It is 3 °C.""#), (r#""It is 3 °C.""#.into(), plain.into()));
        assert_eq!(response(r#""{not json""#), (r#""{not json""#.into(), plain.into()));
        // As MCP servers answer.
        let content = r#"{"content": [{"type": "text", "text": "{\"a\": [1]}"}]}"#;
        assert_eq!(response(content).0, r#"{"content": [{"type": "text", "text": {"a": [1]}}]}"#);
        // JSON text that is in JSON text that is in JSON text is a text.
        let deep = r#"["[\"[\\\"[1]\\\"]\"]"]"#;
        assert_eq!(response(deep).0, r#"[[["[1]"]]]"#);
        assert_eq!(response(r#"{"n": "12", "s": "\"x\""}"#).0, r#"{"n": "12", "s": "\"x\""}"#);
    }

    #[test]
    fn what_is_odd_is_noted() {
        let notes = |trace: &str| with_trace(trace, |request| request.notes.clone()).unwrap();
        assert_eq!(
            notes(r#"[{"name": "f", "start_time": "soon", "order": "x", "retries": -1, "request_payload": [1]}]"#),
            [
                "tool_trace[0].request_payload is a list, not an object.",
                "tool_trace[0].start_time is no time that can be read.",
                "tool_trace[0].order is no whole number.",
                "tool_trace[0].retries is no count.",
            ]
        );
        assert_eq!(
            notes(r#"[{"name": "f", "start_time": "2026-01-01T10:00:00Z", "end_time": "2026-01-01T09:00:00Z"}]"#),
            ["tool_trace[0].end_time is before start_time."]
        );
        assert_eq!(
            notes(
                r#"[{"name": "f", "order": 1, "start_time": 1772442900}, {"name": "g", "order": 2, "start_time": 1772442800}]"#
            ),
            ["tool_trace[1].start_time is before that of a call that comes earlier by order."]
        );
        let five = format!("[{}]", [r#"{"name": "f", "output": "x"}"#; 5].join(","));
        assert_eq!(
            notes(&five),
            ["tool_trace[0].output, tool_trace[1].output, tool_trace[2].output is plain text (and 2 more)."]
        );
    }

    #[test]
    fn calls_are_in_order_of_execution() {
        let order = |trace: &str| {
            with_trace(trace, |request| request.calls.iter().map(|call| call.index).collect::<Vec<_>>()).unwrap()
        };
        assert_eq!(order(r#"[{"name": "f", "order": 2}, {"name": "g", "order": 1.0}]"#), [1, 0]);
        assert_eq!(order(r#"[{"name": "f", "start_time": 20}, {"name": "g", "start_time": 10}]"#), [1, 0]);
        // An order or a start that only some have says nothing.
        assert_eq!(order(r#"[{"name": "f", "order": 2}, {"name": "g"}, {"name": "h", "order": 1}]"#), [0, 1, 2]);
        assert_eq!(order(r#"[{"name": "f", "start_time": 20}, {"name": "g"}]"#), [0, 1]);
        // The same order: by start.
        assert_eq!(
            order(r#"[{"name": "f", "order": 1, "start_time": 20}, {"name": "g", "order": 1, "start_time": 10}]"#),
            [1, 0]
        );
    }

    #[test]
    fn errors_that_say_nothing_are_none() {
        for (error, is) in
            [("null", false), ("false", false), ("\" \"", false), ("{}", false), ("true", true), ("\"550\"", true)]
        {
            let trace = format!(r#"[{{"name": "f", "error": {error}}}]"#);
            assert_eq!(with_trace(&trace, |request| request.calls[0].error.is_some()), Ok(is), "{error}");
        }
    }

    #[test]
    fn the_catalogue_in_the_shapes_that_it_comes_in() {
        let schema = r#"{"type": "object"}"#;
        for tools in [
            format!(r#"[{{"name": "f", "description": "d", "parameters": {schema}}}]"#),
            format!(r#"[{{"name": "f", "description": "d", "input_schema": {schema}}}]"#),
            format!(r#"{{"tools": [{{"name": "f", "description": "d", "inputSchema": {schema}}}]}}"#),
            format!(
                r#"[{{"type": "function", "function": {{"name": "f", "description": "d", "parameters": {schema}}}}}]"#
            ),
            format!(r#"[{{"toolSpec": {{"name": "f", "description": "d", "inputSchema": {schema}}}}}]"#),
            format!(r#"[{{"functionDeclarations": [{{"name": "f", "description": "d", "parameters": {schema}}}]}}]"#),
        ] {
            let request =
                format!(r#"{{"user_query": "", "generated_text": "", "tool_trace": [], "available_tools": {tools}}}"#);
            with(&request, |request| {
                let [tool] = request.tools.unwrap() else { panic!("{tools}") };
                assert_eq!((tool.name, tool.description, shown(tool.parameters)), ("f", Some("d"), schema.to_owned()));
            })
            .unwrap();
        }
        let names = |tools: &str| {
            let request =
                format!(r#"{{"user_query": "", "generated_text": "", "tool_trace": [], "available_tools": {tools}}}"#);
            with(&request, |request| request.tools.map(|tools| tools.iter().map(|tool| tool.name.to_owned()).collect()))
        };
        assert_eq!(names("null"), Ok(None));
        assert_eq!(names(r#"["a", {"type": "web_search"}]"#), Ok(Some(vec!["a".to_owned(), "web_search".to_owned()])));
        assert_eq!(names("[{}]").unwrap_err(), "available_tools[0].name: missing; a tool of the catalogue has a name");
        assert_eq!(names("1").unwrap_err(), "available_tools: expected a list, got a number");
    }

    #[test]
    fn context_in_the_shapes_that_it_comes_in() {
        let context = |context: &str| {
            let request =
                format!(r#"{{"user_query": "", "generated_text": "", "tool_trace": [], "context": {context}}}"#);
            with(&request, |request| request.context.iter().map(|&text| text.to_owned()).collect::<Vec<_>>()).unwrap()
        };
        assert_eq!(context(r#""a""#), ["a"]);
        assert_eq!(context(r#"["a", {"role": "user", "content": "b"}, null, [1]]"#), ["a", "b", "[1]"]);
        assert!(context("null").is_empty());
    }

    #[test]
    fn half_a_pair_of_surrogates_is_one_replacement_character() {
        let request = r#"{"user_query": "", "generated_text": "a\ud83dé\ude00 😀", "tool_trace": []}"#;
        assert_eq!(with(request, |request| request.text.to_owned()).unwrap(), "a\u{fffd}é\u{fffd} 😀");
        let bump = Bump::new();
        assert_eq!(utf8(Text::Ucs2(&[0x61, 0xd800, 0x201c]), &bump), "a\u{fffd}“");
        assert_eq!(utf8(Text::Latin1(b"\xe9"), &bump), "é");
    }

    #[test]
    fn payloads_are_cut_where_they_nest_too_deep() {
        let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        let text = |json: &str| format!("\"{}\"", json.replace('"', "\\\""));
        let inside = format!("{}{}{}", "[".repeat(100), text(&nested(100)), "]".repeat(100));
        for (payload, whole) in [
            (nested(MOST_LEVELS), true),
            (nested(MOST_LEVELS + 1), false),
            (nested(REQUEST_DEPTH - 3), false),
            // JSON text that is too deep is a text.
            (text(&nested(MOST_LEVELS)), true),
            (text(&nested(MOST_LEVELS + 1)), true),
            (inside, true),
        ] {
            let trace = format!(r#"[{{"name": "f", "output": {payload}, "error": {payload}}}]"#);
            with_trace(&trace, |request| {
                let response = request.calls[0].response.unwrap();
                assert!(!response.deeper_than(MOST_LEVELS));
                assert_eq!(!shown(Some(response)).contains(TOO_DEEP), whole);
                assert_eq!(request.notes.iter().any(|note| note.contains("nests too deep")), !whole);
            })
            .unwrap();
        }
    }
}
