//! Reading tool calls in the shapes that people have them in (SPEC, section 1).

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

const NAMES: &[&str] = &["name", "tool_name"];
const ARGUMENTS: &[&str] = &["arguments", "args", "kwargs", "input", "request_payload"];
/// OpenAI's nested shape: `{"function": {"name": …, "arguments": …}}`.
const FUNCTION: &str = "function";
/// What other tools call the arguments. They are not read, since some of them hold a schema; but a call that has one of
/// them and no arguments is a mistake, not a call without arguments.
const NOT_ARGUMENTS: &[&str] = &["parameters", "params", "input_parameters", "tool_input", "tool_args"];

/// The keys of a call or of a message that are read. A reader of another source may leave out the values of all others,
/// but not their keys.
pub fn keys() -> impl Iterator<Item = &'static str> {
    NAMES.iter().chain(ARGUMENTS).chain([&FUNCTION]).chain(trace::messages::KEYS).copied()
}

pub fn is_read(key: Text<'_>) -> bool {
    keys().any(|word| key.is(word))
}

/// Does this key lead to further calls, rather than to a value?
pub fn holds_calls(key: Text<'_>) -> bool {
    key.is(FUNCTION) || trace::messages::holds_calls(key)
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
            Err(JsonError { problem: Problem::Depth(_), .. }) => {
                let value = json::parse(bytes, MAX_RECORD_DEPTH, bump)?;
                Ok((value, Reader { bump, may_be_deep: true }))
            }
            parsed => Ok((parsed?, Reader { bump, may_be_deep: false })),
        }
    }

    /// Read a list of tool calls, or of chat messages, or JSON text of either. None: the calls were not reported.
    pub fn calls(self, value: Value<'a>) -> Result<Option<Vec<Call<'a>>>, Error> {
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
    pub fn expected(self, value: Value<'a>) -> Result<Option<Vec<ExpectedCall<'a>>>, Error> {
        let Some(calls) = self.calls(value)? else { return Ok(None) };
        let expected = calls.into_iter().enumerate().map(|(index, call)| {
            let arguments = match call.arguments {
                Arguments::Object(members) => Some(members),
                Arguments::NotRecorded => None,
                Arguments::Unreadable => {
                    let message = "the arguments of an expected call are not a JSON object; leave them out to allow any";
                    return Err(Error::value(message).at_index(index));
                }
            };
            Ok(ExpectedCall { name: call.name, arguments })
        });
        expected.collect::<Result<_, _>>().map(Some)
    }

    pub(crate) fn list(self, items: &[Value<'a>]) -> Result<Vec<Call<'a>>, Error> {
        let calls = items.iter().enumerate();
        calls.map(|(index, &item)| self.call(item).map_err(|error| error.at_index(index))).collect()
    }

    pub(crate) fn call(self, value: Value<'a>) -> Result<Call<'a>, Error> {
        let Value::Object(members) = value else {
            let message = format!("expected a tool call with a name and arguments, got {}", value.kind());
            return Err(Error::wrong_type(message));
        };
        let mut found = Found::default();
        found.collect(members, self)?;
        if let Some(function) = members.iter().find(|member| member.key.is(FUNCTION)) {
            match function.value {
                Value::Object(members) => {
                    found.collect(members, self).map_err(|error| error.at_key(function.key))?;
                }
                Value::Null => {}
                other => {
                    let message = format!("expected an object with a name and arguments, got {}", other.kind());
                    return Err(Error::wrong_type(message).at_key(function.key));
                }
            }
        }
        let Some((_, name)) = found.name else {
            let message = format!("a tool call without a name; it is given as {}", NAMES.join(" or "));
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
                Err(JsonError { problem: Problem::Depth(_), .. }) => Err(too_deep()),
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

/// What a call says, each with the key that it was found under.
#[derive(Default)]
struct Found<'a> {
    name: Option<(&'static str, Text<'a>)>,
    arguments: Option<(&'static str, Arguments<'a>)>,
}

impl<'a> Found<'a> {
    fn collect(&mut self, members: Object<'a>, reader: Reader<'a>) -> Result<(), Error> {
        for member in members {
            if let Some(key) = NAMES.iter().find(|key| member.key.is(key)) {
                match member.value {
                    Value::Text(text) => set(&mut self.name, key, text, |a, b| a == b)?,
                    Value::Null => {}
                    other => {
                        let message = format!("a tool's name is a string, got {}", other.kind());
                        return Err(Error::wrong_type(message).at_key(member.key));
                    }
                }
            } else if let Some(key) = ARGUMENTS.iter().find(|key| member.key.is(key)) {
                match reader.arguments(member.value).map_err(|error| error.at_key(member.key))? {
                    Arguments::NotRecorded => {}
                    read => set(&mut self.arguments, key, read, same_arguments)?,
                }
            }
        }
        Ok(())
    }
}

/// Two names for one thing must agree.
fn set<T: Copy>(slot: &mut Option<(&'static str, T)>, key: &'static str, value: T, same: fn(T, T) -> bool) -> Result<(), Error> {
    match *slot {
        Some((first, old)) if !same(old, value) => {
            Err(Error::value(format!("{first} and {key} mean the same and have different values")))
        }
        Some(_) => Ok(()),
        None => {
            *slot = Some((key, value));
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
    for member in members {
        let key = crate::show::plain(member.key);
        if ARGUMENTS.contains(&key.as_str()) || NAMES.contains(&key.as_str()) {
            continue;
        }
        let near = nearest(&key, &ARGUMENTS[..1]).or(NOT_ARGUMENTS.contains(&key.as_str()).then_some(ARGUMENTS[0]));
        if let Some(near) = near {
            let words = ARGUMENTS.join(", ");
            return Err(Error::value(format!("unknown key {key:?} in a tool call without arguments; did you mean {near:?}? (arguments are read from {words})")));
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
