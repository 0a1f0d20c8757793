//! Reading tool calls in the shapes that people have them in (SPEC, section 1).

use std::fmt;

use bumpalo::Bump;

use crate::{
    compare,
    error::{Error, misspelt},
    json::{self, JsonError, Problem, Seen},
    text::Text,
    trace,
    value::{MAX_DEPTH, MAX_RECORD_DEPTH, Object, Value, get},
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
    Message(trace::messages::chat::Key),
    /// Not read. A reader of another source may leave out its value, but not the key.
    Other,
}

impl Key {
    const NAMES: &[&str] = &["name", "tool_name"];
    const ARGUMENTS: &[&str] = &["arguments", "args", "kwargs", "input", "request_payload"];
    /// What other tools call the arguments. They are not read, since some of them hold a schema; but a call that has one
    /// of them and no arguments is a mistake, not a call without arguments.
    const NOT_ARGUMENTS: &[&str] = &[
        "parameters",
        "params",
        "input_parameters",
        "tool_input",
        "tool_args",
        "tool_kwargs",
        "tool_arguments",
        "function_args",
        "function_arguments",
    ];
    const FUNCTION: &str = "function";
    pub const CONTENT: Key = Key::Message(trace::messages::chat::Key::Content);

    /// All that are read.
    pub fn words() -> impl Iterator<Item = &'static str> {
        let messages = trace::messages::chat::Key::WORDS;
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
            _ => trace::messages::chat::Key::of(bytes).map_or(Key::Other, Key::Message),
        }
    }

    /// Does it lead to further calls, rather than to a value?
    pub fn holds_calls(self) -> bool {
        self == Key::Function || matches!(self, Key::Message(key) if key.holds_calls())
    }
}

/// What is written in the place of arguments that were taken out.
pub(crate) const REDACTED: &[&str] = &["<REDACTED>", "[REDACTED]", "[TRUNCATED]", "<not serializable>", "__REDACTED__"];

/// Reads calls out of values.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    pub bump: &'a Bump,
    /// May the arguments in the values nest deeper than [`MAX_DEPTH`]? Finding out takes a walk through all of them, so a
    /// source that has kept to that limit as a whole says no.
    pub may_be_deep: bool,
    /// What JSON text was parsed before.
    seen: Option<&'a Seen<'a>>,
}

impl<'a> Reader<'a> {
    pub fn new(bump: &'a Bump, may_be_deep: bool) -> Reader<'a> {
        Reader { bump, may_be_deep, seen: None }
    }

    /// For a row with so many bytes of JSON text, whose two sides may say the same.
    pub fn of_row(bump: &'a Bump, bytes: usize) -> Reader<'a> {
        Reader { bump, may_be_deep: false, seen: Seen::of(bytes, bump) }
    }

    /// Parse JSON text that holds calls, at any depth.
    pub fn parse(bytes: &'a [u8], bump: &'a Bump) -> Result<(Value<'a>, Reader<'a>), JsonError> {
        Reader::new(bump, false).parsed(bytes)
    }

    /// The same, with what reads the values in it.
    pub fn parsed(self, bytes: &'a [u8]) -> Result<(Value<'a>, Reader<'a>), JsonError> {
        let parse = |max_depth| json::parse_with(bytes, max_depth, self.bump, self.seen);
        match parse(MAX_DEPTH) {
            Err(JsonError { problem: Problem::Depth, .. }) => {
                Ok((parse(MAX_RECORD_DEPTH)?, Reader { may_be_deep: true, ..self }))
            }
            parsed => Ok((parsed?, Reader { may_be_deep: false, ..self })),
        }
    }

    /// Read a list of tool calls, or of chat messages, or JSON text of either. None: the calls were not reported.
    pub fn calls(self, value: Value<'a>) -> Result<Option<&'a [Call<'a>]>, Error> {
        let Some((reader, items)) = self.items(value)? else { return Ok(None) };
        if items.iter().any(trace::messages::chat::is_message) {
            trace::messages::chat::calls(reader, items).map(Some)
        } else {
            reader.list(items).map(Some)
        }
    }

    /// The items of a list, or of JSON text of one, and what reads them.
    pub(crate) fn items(self, value: Value<'a>) -> Result<Option<(Reader<'a>, &'a [Value<'a>])>, Error> {
        match value {
            Value::Null => Ok(None),
            // How tables write that there is nothing.
            Value::Float(float) if float.is_nan() => Ok(None),
            Value::Array(items) => Ok(Some((self, items))),
            Value::Text(text) => {
                let (value, reader) = self.parsed(text.utf8_in(self.bump)).map_err(Error::not_json)?;
                if let Value::Text(_) = value {
                    return Err(Error::wrong_type("expected a list of tool calls, got text inside JSON text"));
                }
                reader.items(value)
            }
            other => Err(Error::no_calls(other.kind())),
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
        for (index, &item) in items.iter().enumerate() {
            calls.push(self.call(item).map_err(|error| error.at_index(index))?);
        }
        Ok(calls.into_bump_slice())
    }

    pub(crate) fn call(self, value: Value<'a>) -> Result<Call<'a>, Error> {
        let (call, ..) = self.call_as_written(value)?;
        Ok(call)
    }

    /// A call, with its arguments as they were before they were read, and all that is written of it.
    // Inlined, so that what nobody asks for isn't handed over.
    #[inline(always)]
    pub(crate) fn call_as_written(self, value: Value<'a>) -> Result<(Call<'a>, Value<'a>, Object<'a>), Error> {
        let Value::Object(members) = value else {
            let message = format!("expected a tool call with a name and arguments, got {}", value.kind());
            return Err(Error::wrong_type(message));
        };
        let mut parts = Parts::default();
        parts.collect(members, false, self)?;
        let Some((_, name)) = parts.name else {
            let message = format!("a tool call without a name; it is given as {}", Key::NAMES.join(" or "));
            return Err(Error::value(message));
        };
        let Some((_, written, arguments)) = parts.arguments else {
            reject_misspelt(members)?;
            if let Some(Value::Object(members)) = get(members, Text::from(Key::FUNCTION)) {
                reject_misspelt(members).map_err(|error| error.at_key(Text::from(Key::FUNCTION)))?;
            }
            return Ok((Call { name, arguments: Arguments::NotRecorded }, Value::Null, members));
        };
        Ok((Call { name, arguments }, written, members))
    }

    pub(crate) fn arguments(self, value: Value<'a>) -> Result<Arguments<'a>, Error> {
        match value {
            Value::Null => Ok(Arguments::NotRecorded),
            Value::Object(_) if self.may_be_deep && value.deeper_than(MAX_DEPTH) => Err(Error::too_deep()),
            Value::Object(members) => Ok(Arguments::Object(members)),
            // Providers send this for a tool without parameters.
            Value::Text(text) if text.is_empty() => Ok(Arguments::Object(&[])),
            Value::Text(text) => match json::parse_with(text.utf8_in(self.bump), MAX_DEPTH, self.bump, self.seen) {
                Ok(Value::Object(members)) => Ok(Arguments::Object(members)),
                Err(JsonError { problem: Problem::Depth, .. }) => Err(Error::too_deep()),
                Err(JsonError { problem: Problem::Values, .. }) => Err(Error::too_many_values()),
                Err(_) if REDACTED.iter().any(|word| text.is(word)) => Ok(Arguments::NotRecorded),
                Ok(_) | Err(_) => Ok(Arguments::Unreadable),
            },
            _ => Ok(Arguments::Unreadable),
        }
    }
}

/// What a call says, each with the place that it was found in.
#[derive(Default)]
struct Parts<'a> {
    name: Option<(Place, Text<'a>)>,
    /// As they were, and as they were read.
    arguments: Option<(Place, Value<'a>, Arguments<'a>)>,
}

/// A key, and whether it is inside `function`.
#[derive(Clone, Copy)]
struct Place(&'static str, bool);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.1 { "function." } else { "" }, self.0)
    }
}

impl<'a> Parts<'a> {
    fn collect(&mut self, members: Object<'a>, nested: bool, reader: Reader<'a>) -> Result<(), Error> {
        for member in members {
            let expected =
                |what: &str| Err(Error::wrong_type(format!("{what}, got {}", member.value.kind())).at_key(member.key));
            match (Key::of(member.key), member.value) {
                (Key::Name(key), Value::Text(text)) => self.name(Place(key, nested), text)?,
                (Key::Arguments(key), value) => {
                    let read = reader.arguments(value).map_err(|error| error.at_key(member.key))?;
                    self.arguments(Place(key, nested), value, read)?;
                }
                (Key::Function, Value::Object(members)) if !nested => {
                    self.collect(members, true, reader).map_err(|error| error.at_key(member.key))?;
                }
                (Key::Name(_) | Key::Function, Value::Null) | (Key::Message(_) | Key::Other, _) => {}
                (Key::Name(_), _) => return expected("a tool's name is a string"),
                (Key::Function, _) if nested => return expected("a function has a name and arguments, not a function"),
                (Key::Function, _) => return expected("expected an object with a name and arguments"),
            }
        }
        Ok(())
    }

    fn name(&mut self, place: Place, name: Text<'a>) -> Result<(), Error> {
        match self.name {
            Some((first, other)) if other != name => return Err(differ(first, place)),
            Some(_) => {}
            None => self.name = Some((place, name)),
        }
        Ok(())
    }

    fn arguments(&mut self, place: Place, value: Value<'a>, read: Arguments<'a>) -> Result<(), Error> {
        let same = match (self.arguments, read) {
            (_, Arguments::NotRecorded) => true,
            (None, _) => {
                self.arguments = Some((place, value, read));
                true
            }
            (Some((_, _, Arguments::Object(a))), Arguments::Object(b)) => {
                compare::equal(Value::Object(a), Value::Object(b))
            }
            (Some((_, other, _)), _) => compare::equal(other, value),
        };
        match self.arguments {
            Some((first, ..)) if !same => Err(differ(first, place)),
            _ => Ok(()),
        }
    }
}

/// Two names for one thing must agree.
pub(crate) fn differ(a: impl fmt::Display, b: impl fmt::Display) -> Error {
    Error::value(format!("{a} and {b} mean the same and have different values"))
}

/// A call without arguments fits a lot, so a misspelt key must not pass for one.
fn reject_misspelt(members: Object<'_>) -> Result<(), Error> {
    for member in members.iter().filter(|member| Key::of(member.key) == Key::Other) {
        let key = crate::show::plain(member.key);
        let other_word = Key::NOT_ARGUMENTS.contains(&key.as_str()).then_some(Key::ARGUMENTS[0]);
        if let Some(wanted) = other_word.or_else(|| misspelt(&key, Key::ARGUMENTS)) {
            let words = Key::ARGUMENTS.join(", ");
            let message = format!(
                "unknown key {key:?} in a tool call without arguments, which are read from {words}; did you mean {wanted:?}?"
            );
            return Err(Error::value(message));
        }
    }
    Ok(())
}

/// The tool's own part of a name that begins with its server or plugin: what follows the last `__`, `.`, `/` or `:`, or,
/// without any of these, the one hyphen of Semantic Kernel's `Plugin-func`. None where the name has no such part. It lies in
/// the storage of the name, so it is for comparing with `==`, and not for [`Text::is`].
pub fn last_segment(name: Text<'_>) -> Option<Text<'_>> {
    match name {
        Text::Utf8(units) => segment(units).map(Text::Utf8),
        Text::Latin1(units) => segment(units).map(Text::Latin1),
        Text::Ucs2(units) => segment(units).map(Text::Ucs2),
        Text::Ucs4(units) => segment(units).map(Text::Ucs4),
    }
}

/// All separators are ASCII, which stands for itself in every storage.
fn segment<T: Copy + Into<u32>>(units: &[T]) -> Option<&[T]> {
    let is = |at: usize, c: char| units[at].into() == u32::from(c);
    let ends_separator = |&at: &usize| match is(at, '_') {
        true => at > 0 && is(at - 1, '_'),
        false => is(at, '.') || is(at, '/') || is(at, ':'),
    };
    let last = match (0..units.len()).rev().find(ends_separator) {
        Some(at) => &units[at + 1..],
        None => after_hyphen(units)?,
    };
    (!last.is_empty()).then_some(last)
}

/// Hyphens are part of many a name (`get-the-weather`), so only one between two identifiers separates.
fn after_hyphen<T: Copy + Into<u32>>(units: &[T]) -> Option<&[T]> {
    let mut parts = units.split(|&unit| unit.into() == u32::from('-'));
    let (plugin, function) = (parts.next()?, parts.next()?);
    let in_identifier = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_identifier = |part: &[T]| {
        !part.is_empty() && part.iter().all(|&unit| char::from_u32(unit.into()).is_some_and(in_identifier))
    };
    (parts.next().is_none() && is_identifier(plugin) && is_identifier(function)).then_some(function)
}

/// An expected call. Arguments that are absent or null mean any.
#[derive(Clone, Copy, Debug)]
pub struct ExpectedCall<'a> {
    pub name: Text<'a>,
    pub arguments: Option<Object<'a>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_known_and_every_other_is_not() {
        for word in Key::words() {
            assert!(Key::of(Text::from(word)) != Key::Other, "{word}");
        }
        for word in Key::NOT_ARGUMENTS.iter().chain(&["id", "argument", "documents", ""]) {
            assert!(Key::of(Text::from(*word)) == Key::Other, "{word}");
        }
    }

    #[test]
    fn the_last_segment_is_what_follows_the_last_separator() {
        for (name, last) in [
            ("mcp__github__create_issue", "create_issue"),
            ("calculator__add", "add"),
            ("ns.func", "func"),
            ("server/tool", "tool"),
            ("server:tool", "tool"),
            // The last of them, whichever it is.
            ("a.b/c:d__e", "e"),
            ("a__b.c", "c"),
            ("https://host/mcp:tool", "tool"),
            // Of three underscores the last two are the last `__`.
            ("a___b", "b"),
            ("__b", "b"),
            // One underscore is part of a name, and so is what is not ASCII.
            ("é__ü_ü", "ü_ü"),
            ("工具/搜索", "搜索"),
            // A hyphen separates if nothing else does ...
            ("Plugin-func", "func"),
            ("my_plugin-get_2", "get_2"),
            // ... and else it is part of a name.
            ("github.create-issue", "create-issue"),
            ("my-server__add", "add"),
        ] {
            assert_eq!(last_segment(Text::from(name)), Some(Text::from(last)), "{name}");
        }
    }

    #[test]
    fn many_names_have_no_last_segment() {
        for name in [
            "",
            "search",
            "create_issue",
            "_",
            "__",
            ".",
            "a__",
            "a____",
            "a.b.",
            "a/",
            "a.b__",
            "a-b.",
            "-",
            "a-",
            "-b",
            "get-the-weather",
            "a--b",
            "a b-c",
            "a-b!",
            "é-b",
            "a-é",
        ] {
            assert_eq!(last_segment(Text::from(name)), None, "{name}");
        }
    }

    #[test]
    fn the_last_segment_is_the_same_in_every_storage() {
        let point = |text: &str| text.chars().map(u32::from).collect::<Vec<_>>();
        for name in ["é__add", "é.add", "é:add", "é/add"] {
            let points = point(name);
            let units: Vec<u16> = points.iter().map(|&point| point as u16).collect();
            let bytes: Vec<u8> = points.iter().map(|&point| point as u8).collect();
            for name in [Text::Latin1(&bytes), Text::Ucs2(&units), Text::Ucs4(&points)] {
                assert_eq!(last_segment(name), Some(Text::from("add")));
            }
        }
        // The code of `Į` ends in that of a full stop.
        assert_eq!(last_segment(Text::Ucs2(&[0x61, 0x12e, 0x62])), None);
    }

    #[test]
    fn a_misspelt_key_is_told_from_another_one() {
        let call = |text: &str| {
            let bump = Bump::new();
            let (value, reader) = Reader::parse(text.as_bytes(), &bump).unwrap();
            reader.call(value).map(drop).map_err(|error| error.to_string())
        };
        for key in ["argumets", "argument", "inputs", "arg", "kwarg", "tool_kwargs", "request_payloads", "parameters"] {
            assert!(call(&format!(r#"{{"name": "t", "{key}": {{}}}}"#)).unwrap_err().contains("did you mean"), "{key}");
            let nested = format!(r#"{{"function": {{"name": "t", "{key}": {{}}}}}}"#);
            assert!(call(&nested).unwrap_err().starts_with("function: "), "{key}");
            assert!(call(&format!(r#"{{"name": "t", "args": {{}}, "{key}": {{}}}}"#)).is_ok(), "{key}");
        }
        for key in ["documents", "segments", "output", "tags", "id", "type", "status", "index"] {
            assert!(call(&format!(r#"{{"name": "t", "{key}": []}}"#)).is_ok(), "{key}");
        }
    }
}
