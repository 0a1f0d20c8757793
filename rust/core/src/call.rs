//! Reading tool calls in the shapes that people have them in (SPEC, section 1).

use std::fmt;

use bumpalo::Bump;

use crate::{
    compare,
    error::{Error, nearest},
    json::{self, JsonError, Problem},
    text::{self, Text},
    trace,
    value::{MAX_DEPTH, MAX_RECORD_DEPTH, Object, Value},
};

/// A call that was made.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    pub name: Text<'a>,
    pub arguments: Arguments<'a>,
}

#[derive(Clone, Copy, Debug)]
pub enum Arguments<'a> {
    Object(Object<'a>),
    /// The key is absent or null. Never taken for an empty object.
    NotRecorded,
    /// Text that isn't JSON, or JSON that isn't an object.
    Unreadable,
}

/// What the keys of a call or of a message mean.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Name(&'static str),
    Arguments(&'static str),
    /// OpenAI's nested shape: `{"function": {"name": …, "arguments": …}}`.
    Function,
    Message(trace::messages::Key),
    /// Not read. A reader of another source may leave out its value, but not the key.
    Other,
}

impl Key {
    const NAMES: &[&str] = &["name", "tool_name"];
    const ARGUMENTS: &[&str] = &["arguments", "args", "kwargs", "input", "request_payload"];
    /// What other tools call the arguments. They are not read, since some of them hold a schema; but a call that has one
    /// of them and no arguments is a mistake, not a call without arguments.
    const NOT_ARGUMENTS: &[&str] = &["parameters", "params", "input_parameters", "tool_input", "tool_args"];
    const FUNCTION: &str = "function";

    /// All that are read.
    pub fn words() -> impl Iterator<Item = &'static str> {
        let messages = trace::messages::Key::WORDS;
        Key::NAMES.iter().chain(Key::ARGUMENTS).chain([&Key::FUNCTION]).chain(messages).copied()
    }

    #[inline]
    pub fn of(text: Text<'_>) -> Key {
        // All of them are ASCII.
        let Text::Utf8(bytes) = text else { return Key::Other };
        match bytes {
            b"name" => Key::Name("name"),
            b"arguments" => Key::Arguments("arguments"),
            b"args" => Key::Arguments("args"),
            b"kwargs" => Key::Arguments("kwargs"),
            b"input" => Key::Arguments("input"),
            b"request_payload" => Key::Arguments("request_payload"),
            b"tool_name" => Key::Name("tool_name"),
            b"function" => Key::Function,
            _ => trace::messages::Key::of(bytes).map_or(Key::Other, Key::Message),
        }
    }

    /// Does it lead to further calls, rather than to a value?
    pub fn holds_calls(self) -> bool {
        matches!(
            self,
            Key::Function | Key::Message(trace::messages::Key::ToolCalls | trace::messages::Key::FunctionCall)
        )
    }
}

/// Reads calls out of values.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    pub bump: &'a Bump,
    /// May the arguments in the values nest deeper than [`MAX_DEPTH`]? Finding out takes a walk through all of them, so a
    /// source that has kept to that limit as a whole says no.
    pub may_be_deep: bool,
}

impl<'a> Reader<'a> {
    /// Parse JSON text that holds calls, at any depth.
    pub fn parse(bytes: &'a [u8], bump: &'a Bump) -> Result<(Value<'a>, Reader<'a>), JsonError> {
        match json::parse(bytes, MAX_DEPTH, bump) {
            Err(JsonError { problem: Problem::Depth, .. }) => {
                let value = json::parse(bytes, MAX_RECORD_DEPTH, bump)?;
                Ok((value, Reader { bump, may_be_deep: true }))
            }
            parsed => Ok((parsed?, Reader { bump, may_be_deep: false })),
        }
    }

    /// Read a list of tool calls, or of chat messages, or JSON text of either. None: the calls were not reported.
    pub fn calls(self, value: Value<'a>) -> Result<Option<&'a [Call<'a>]>, Error> {
        match value {
            Value::Null => Ok(None),
            Value::Array(items) if items.iter().any(trace::messages::is_message) => {
                trace::messages::read(self, items).map(Some)
            }
            Value::Array(items) => self.list(items).map(Some),
            Value::Text(text) => {
                let (value, reader) = Reader::parse(utf8(text, self.bump), self.bump).map_err(not_json)?;
                if let Value::Text(_) = value {
                    return Err(Error::wrong_type("expected a list of tool calls, got text inside JSON text"));
                }
                reader.calls(value)
            }
            other => {
                let message = format!("expected a list of tool calls (or of chat messages), got {}", other.kind());
                Err(Error::wrong_type(message))
            }
        }
    }

    /// Read expected calls, which have the shape of calls that were made. None: nothing is expected of the calls.
    pub fn expected(self, value: Value<'a>) -> Result<Option<&'a [ExpectedCall<'a>]>, Error> {
        let Some(calls) = self.calls(value)? else { return Ok(None) };
        let mut expected = bumpalo::collections::Vec::with_capacity_in(calls.len(), self.bump);
        for (index, call) in calls.iter().enumerate() {
            let arguments = match call.arguments {
                Arguments::Object(members) => Some(members),
                Arguments::NotRecorded => None,
                Arguments::Unreadable => {
                    let message =
                        "the arguments of an expected call are not a JSON object; leave them out to allow any";
                    return Err(Error::value(message).at_index(index));
                }
            };
            expected.push(ExpectedCall { name: call.name, arguments });
        }
        Ok(Some(expected.into_bump_slice()))
    }

    fn list(self, items: &[Value<'a>]) -> Result<&'a [Call<'a>], Error> {
        let mut calls = bumpalo::collections::Vec::with_capacity_in(items.len(), self.bump);
        self.push_list(items, &mut calls)?;
        Ok(calls.into_bump_slice())
    }

    pub(crate) fn push_list(
        self,
        items: &[Value<'a>],
        calls: &mut bumpalo::collections::Vec<'a, Call<'a>>,
    ) -> Result<(), Error> {
        for (index, &item) in items.iter().enumerate() {
            calls.push(self.call(item).map_err(|error| error.at_index(index))?);
        }
        Ok(())
    }

    pub(crate) fn call(self, value: Value<'a>) -> Result<Call<'a>, Error> {
        let Value::Object(members) = value else {
            let message = format!("expected a tool call with a name and arguments, got {}", value.kind());
            return Err(Error::wrong_type(message));
        };
        let mut found = Found::default();
        found.collect(members, false, self)?;
        let Some((_, name)) = found.name else {
            let message = format!("a tool call without a name; it is given as {}", Key::NAMES.join(" or "));
            return Err(Error::value(message));
        };
        let Some((_, arguments)) = found.arguments else {
            reject_misspelt(members)?;
            return Ok(Call { name, arguments: Arguments::NotRecorded });
        };
        Ok(Call { name, arguments })
    }

    fn arguments(self, value: Value<'a>) -> Result<Arguments<'a>, Error> {
        let too_deep = || Error::value(format!("nested deeper than {MAX_DEPTH} levels"));
        match value {
            Value::Null => Ok(Arguments::NotRecorded),
            Value::Object(_) if self.may_be_deep && value.deeper_than(MAX_DEPTH) => Err(too_deep()),
            Value::Object(members) => Ok(Arguments::Object(members)),
            // Providers send this for a tool without parameters.
            Value::Text(text) if text.is_empty() => Ok(Arguments::Object(&[])),
            Value::Text(text) => match json::parse(utf8(text, self.bump), MAX_DEPTH, self.bump) {
                Ok(Value::Object(members)) => Ok(Arguments::Object(members)),
                Err(JsonError { problem: Problem::Depth, .. }) => Err(too_deep()),
                Ok(_) | Err(_) => Ok(Arguments::Unreadable),
            },
            _ => Ok(Arguments::Unreadable),
        }
    }
}

fn not_json(error: JsonError) -> Error {
    Error::value(format!("not JSON: {error}"))
}

fn utf8<'a>(text: Text<'a>, bump: &'a Bump) -> &'a [u8] {
    if let Text::Utf8(bytes) = text {
        return bytes;
    }
    let mut bytes = bumpalo::collections::Vec::new_in(bump);
    for point in text.code_points() {
        let mut buffer = [0; 4];
        let length = text::encode(point, &mut buffer);
        bytes.extend_from_slice(&buffer[..length]);
    }
    bytes.into_bump_slice()
}

/// What a call says, each with the place that it was found in.
#[derive(Default)]
struct Found<'a> {
    name: Option<(Place, Text<'a>)>,
    arguments: Option<(Place, Arguments<'a>)>,
}

/// A key, and whether it is inside `function`.
#[derive(Clone, Copy)]
struct Place(&'static str, bool);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.1 { "function." } else { "" }, self.0)
    }
}

impl<'a> Found<'a> {
    fn collect(&mut self, members: Object<'a>, nested: bool, reader: Reader<'a>) -> Result<(), Error> {
        for member in members {
            match (Key::of(member.key), member.value) {
                (Key::Name(key), Value::Text(text)) => set(&mut self.name, Place(key, nested), text, |a, b| a == b)?,
                (Key::Arguments(key), value) => {
                    match reader.arguments(value).map_err(|error| error.at_key(member.key))? {
                        Arguments::NotRecorded => {}
                        read => set(&mut self.arguments, Place(key, nested), read, same_arguments)?,
                    }
                }
                (Key::Function, Value::Object(members)) if !nested => {
                    self.collect(members, true, reader).map_err(|error| error.at_key(member.key))?;
                }
                (Key::Name(_) | Key::Function, Value::Null) | (Key::Message(_) | Key::Other, _) => {}
                (Key::Name(_), other) => {
                    let message = format!("a tool's name is a string, got {}", other.kind());
                    return Err(Error::wrong_type(message).at_key(member.key));
                }
                (Key::Function, other) => {
                    let message = format!("expected an object with a name and arguments, got {}", other.kind());
                    return Err(Error::wrong_type(message).at_key(member.key));
                }
            }
        }
        Ok(())
    }
}

/// Two names for one thing must agree.
fn set<T: Copy>(slot: &mut Option<(Place, T)>, place: Place, value: T, same: fn(T, T) -> bool) -> Result<(), Error> {
    match *slot {
        Some((first, old)) if !same(old, value) => {
            Err(Error::value(format!("{first} and {place} mean the same and have different values")))
        }
        Some(_) => Ok(()),
        None => {
            *slot = Some((place, value));
            Ok(())
        }
    }
}

fn same_arguments(a: Arguments<'_>, b: Arguments<'_>) -> bool {
    match (a, b) {
        (Arguments::Object(a), Arguments::Object(b)) => compare::equal(Value::Object(a), Value::Object(b)),
        (Arguments::Unreadable, Arguments::Unreadable) | (Arguments::NotRecorded, Arguments::NotRecorded) => true,
        _ => false,
    }
}

/// A call without arguments fits a lot, so a misspelt key must not pass for one.
fn reject_misspelt(members: Object<'_>) -> Result<(), Error> {
    for member in members.iter().filter(|member| Key::of(member.key) == Key::Other) {
        let key = crate::show::plain(member.key);
        let wanted = Key::ARGUMENTS[0];
        if Key::NOT_ARGUMENTS.contains(&key.as_str()) || nearest(&key, &[wanted]).is_some() {
            let words = Key::ARGUMENTS.join(", ");
            let message = format!(
                "unknown key {key:?} in a tool call without arguments, which are read from {words}; did you mean {wanted:?}?"
            );
            return Err(Error::value(message));
        }
    }
    Ok(())
}

/// An expected call. Arguments that are absent or null mean any.
#[derive(Clone, Copy, Debug)]
pub struct ExpectedCall<'a> {
    pub name: Text<'a>,
    pub arguments: Option<Object<'a>>,
}
