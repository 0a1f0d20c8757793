//! What the dialects of frameworks have in common: keys in more than one spelling, and calls and answers made of what
//! stands under them.

use super::{
    chat,
    content::{are_said, parts_text},
};
use crate::{
    call::{Arguments, Reader},
    error::{Error, misspelt, one_of},
    show,
    text::Text,
    trace::{
        span::{self, Span},
        turns::Listener,
    },
    value::{MAX_DEPTH, Member, Object, Value},
};

/// A chat message with calls, or with the result of one, among messages of another dialect is read as what it is. It must
/// not have what only the others have, under these keys; nor may any other message have calls in the blocks of a content
/// that isn't read.
pub fn is_read_as_chat<'a>(
    reader: Reader<'a>,
    message: Value<'a>,
    own: &[&str],
    listener: &mut Listener<'a>,
) -> Result<bool, Error> {
    let key = chat::key_of_calls(message);
    if key.is_none() && !chat::is_plain_result(&message) {
        return Ok(false);
    }
    let is_there = |key: &&&str| !matches!(message.get(key), None | Some(Value::Null | Value::Array([])));
    if let (Some(key), Some(own)) = (key, own.iter().find(is_there)) {
        let error = format!("calls as in a chat message, beside {own} as in those of others; only one of them is read");
        return Err(Error::value(error).at_key(Text::from(key)));
    }
    if let (Some(key), None) = (key, word(message, chat::ROLE, &["assistant"])) {
        return Err(Error::value("only messages of the assistant have calls").at_key(Text::from(key)));
    }
    chat::listen(reader, message, listener)?;
    Ok(true)
}

/// What a message said in several texts, if it is the user's or the assistant's.
pub fn speak<'a>(reader: Reader<'a>, role: &str, mut texts: Vec<Text<'a>>, listener: &mut Listener<'a>) {
    texts.retain(|text| !text.is_blank());
    let text = joined(reader, &texts);
    match role {
        "user" => listener.asked(text),
        "assistant" => listener.said(text),
        _ => {}
    }
}

/// Read one after the other; an error says which.
pub fn each<'a>(items: &[Value<'a>], mut read: impl FnMut(Value<'a>) -> Result<(), Error>) -> Result<(), Error> {
    for (index, &item) in items.iter().enumerate() {
        read(item).map_err(|error| error.at_index(index))?;
    }
    Ok(())
}

/// The same for the list that stands under a key, of which null and none are empty ones.
pub fn each_of<'a>(
    holder: Value<'a>,
    key: &str,
    read: impl FnMut(Value<'a>) -> Result<(), Error>,
) -> Result<(), Error> {
    let read = match holder.get(key) {
        None | Some(Value::Null) => Ok(()),
        Some(Value::Array(items)) => each(items, read),
        Some(other) => Err(Error::wrong_type(format!("expected a list, got {}", other.kind()))),
    };
    read.map_err(|error| error.at_key(Text::from(key)))
}

/// The first of these keys whose value isn't null, with its value.
pub fn found<'a, 'k>(holder: Value<'a>, keys: &[&'k str]) -> Option<(&'k str, Value<'a>)> {
    keys.iter().find_map(|&key| match holder.get(key) {
        None | Some(Value::Null) => None,
        Some(value) => Some((key, value)),
    })
}

/// A text that isn't empty.
pub fn text<'a>(holder: Value<'a>, keys: &[&str]) -> Option<Text<'a>> {
    match found(holder, keys) {
        Some((_, Value::Text(text))) if !text.is_empty() => Some(text),
        _ => None,
    }
}

/// The first of these keys that has an id, which may be a number where types are taken lightly.
pub fn id<'a>(reader: Reader<'a>, holder: Value<'a>, keys: &[&str]) -> Option<Text<'a>> {
    keys.iter().find_map(|key| match holder.get(key)? {
        Value::Text(text) => Some(text).filter(|text| !text.is_empty()),
        number @ (Value::Int(_) | Value::Big(_)) => Some(span::json_text(number, reader.bump)),
        _ => None,
    })
}

/// Which of these words stands under the key?
pub fn word<'w>(holder: Value<'_>, key: &str, words: &[&'w str]) -> Option<&'w str> {
    match holder.get(key) {
        Some(Value::Text(found)) => words.iter().copied().find(|word| found.is(word)),
        _ => None,
    }
}

/// The same where no other word may stand: it might hold calls that nobody reads.
pub fn one_word<'w>(holder: Value<'_>, key: &str, what: &str, words: &[&'w str]) -> Result<&'w str, Error> {
    if !matches!(holder, Value::Object(_)) {
        return Err(not_an_object("what the others of this list are", holder));
    }
    word(holder, key, words).ok_or_else(|| {
        let error = match holder.get(key) {
            Some(Value::Text(found)) => Error::value(one_of(what, &show::in_a_sentence(&show::storable(found)), words)),
            other => {
                let found = other.map_or("nothing", Value::kind);
                Error::wrong_type(format!("{what} is one of {}, not {found}", words.join(", ")))
            }
        };
        error.at_key(Text::from(key))
    })
}

pub fn not_an_object(wanted: &str, found: Value<'_>) -> Error {
    Error::wrong_type(format!("expected {wanted}, an object, got {}", found.kind()))
}

/// The kind of a part, if it is one that is read.
pub fn kind<'w>(
    part: Value<'_>,
    key: &str,
    what: &str,
    read: &[&'w str],
    silent: &[&str],
) -> Result<Option<&'w str>, Error> {
    match (word(part, key, read), part.get(key)) {
        (Some(kind), _) => Ok(Some(kind)),
        (None, Some(Value::Text(kind))) if silent.iter().any(|word| kind.is(word)) => Ok(None),
        (None, Some(Value::Text(kind))) => {
            reject_calls(kind, what, read).map_err(|error| error.at_key(Text::from(key)))?;
            Ok(None)
        }
        (None, _) => one_word(part, key, what, read).map(Some),
    }
}

/// A kind of part that isn't known says nothing that is asked for here, unless it is a call, which must not be lost.
pub fn reject_calls(kind: Text<'_>, what: &str, known: &[&str]) -> Result<(), Error> {
    let kind = show::in_a_sentence(&show::storable(kind));
    let lower = kind.to_ascii_lowercase();
    if ["call", "tool", "function"].iter().any(|word| lower.contains(word)) {
        return Err(Error::value(one_of(what, &kind, known)));
    }
    Ok(())
}

/// Under which keys a dialect writes down a call.
pub struct Keys {
    pub id: &'static [&'static str],
    pub name: &'static [&'static str],
    pub arguments: &'static [&'static str],
}

impl Keys {
    pub fn call<'a>(&self, reader: Reader<'a>, holder: Value<'a>) -> Result<Span<'a>, Error> {
        if !matches!(holder, Value::Object(_)) {
            return Err(not_an_object("a tool call", holder));
        }
        self.call_named(reader, holder, self.name(holder)?)
    }

    fn name<'a>(&self, holder: Value<'a>) -> Result<Text<'a>, Error> {
        match found(holder, self.name) {
            Some((_, Value::Text(name))) => Ok(name),
            Some((key, other)) => {
                let message = format!("a tool's name is a string, got {}", other.kind());
                Err(Error::wrong_type(message).at_key(Text::from(key)))
            }
            None => {
                let message = format!("a tool call without a name; it is given as {}", self.name.join(" or "));
                Err(Error::value(message))
            }
        }
    }

    /// A call whose name stands elsewhere.
    pub fn call_named<'a>(&self, reader: Reader<'a>, holder: Value<'a>, name: Text<'a>) -> Result<Span<'a>, Error> {
        let input = match found(holder, self.arguments) {
            Some((key, value)) => arguments(reader, value).map_err(|error| error.at_key(Text::from(key)))?,
            None => {
                reject_misspelt(holder, self.arguments)?;
                Value::Null
            }
        };
        Ok(Span { id: id(reader, holder, self.id), input, ..Span::new(name) })
    }
}

/// Arguments that are not recorded fit a lot, so a misspelt key must not pass for none.
fn reject_misspelt(holder: Value<'_>, keys: &[&str]) -> Result<(), Error> {
    let Value::Object(members) = holder else { return Ok(()) };
    for member in members.iter().filter(|member| !keys.iter().any(|key| member.key.is(key))) {
        let key = show::plain(member.key);
        if let Some(wanted) = misspelt(&key, keys) {
            let message = format!("unknown key {key:?} in a tool call without arguments; did you mean {wanted:?}?");
            return Err(Error::value(message));
        }
    }
    Ok(())
}

/// Arguments as a span has them: an object, also where it is written as JSON text; null if they aren't recorded; else what
/// they are.
pub fn arguments<'a>(reader: Reader<'a>, value: Value<'a>) -> Result<Value<'a>, Error> {
    match reader.arguments(value)? {
        Arguments::Object(members) => Ok(Value::Object(members)),
        Arguments::NotRecorded => Ok(Value::Null),
        Arguments::Unreadable => shallow(reader, value),
    }
}

/// What stands under a key of a result. Texts in blocks become a text, and data stays as it is.
pub fn output<'a>(reader: Reader<'a>, holder: Value<'a>, keys: &[&str]) -> Result<Value<'a>, Error> {
    let Some((key, value)) = found(holder, keys) else { return Ok(Value::Null) };
    let value = shallow(reader, value).map_err(|error| error.at_key(Text::from(key)))?;
    Ok(said(reader, value))
}

pub fn said<'a>(reader: Reader<'a>, value: Value<'a>) -> Value<'a> {
    match value {
        Value::Array(parts) if are_said(parts) => parts_text(parts, reader.bump).map_or(Value::Null, Value::Text),
        other => other,
    }
}

/// What a span holds nests no deeper than arguments may.
fn shallow<'a>(reader: Reader<'a>, value: Value<'a>) -> Result<Value<'a>, Error> {
    if reader.may_be_deep && value.deeper_than(MAX_DEPTH) { Err(Error::too_deep()) } else { Ok(value) }
}

/// What failed, as a text; nothing where there is nothing.
pub fn error<'a>(reader: Reader<'a>, holder: Value<'a>, keys: &[&str]) -> Option<Text<'a>> {
    match found(holder, keys)?.1 {
        Value::False => None,
        Value::Text(text) => Some(text).filter(|text| !text.is_empty()),
        other => Some(span::json_text(other, reader.bump)),
    }
}

pub fn joined<'a>(reader: Reader<'a>, texts: &[Text<'a>]) -> Option<Text<'a>> {
    match *texts {
        [] => None,
        [text] => Some(text),
        ref texts => Some(Text::joined(texts, "\n", reader.bump)),
    }
}

/// An object without some of its keys.
pub fn without<'a>(reader: Reader<'a>, members: Object<'a>, keys: &[&str]) -> Value<'a> {
    let mut kept = bumpalo::collections::Vec::with_capacity_in(members.len(), reader.bump);
    kept.extend(members.iter().filter(|member| !keys.iter().any(|key| member.key.is(key))).copied());
    let kept: &'a [Member<'a>] = kept.into_bump_slice();
    Value::Object(kept)
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;

    use super::*;

    const KEYS: Keys = Keys { id: &["id"], name: &["name"], arguments: &["input"] };

    #[test]
    fn what_a_span_holds_is_not_too_deep() {
        let deep = |depth: usize| format!("{}{}", r#"{"a": "#.repeat(depth), "1".to_owned() + &"}".repeat(depth));
        for (depth, is_read) in [(MAX_DEPTH, true), (MAX_DEPTH + 1, false)] {
            let deep = deep(depth);
            for input in [
                deep.clone(),
                format!("{deep:?}"),
                format!("[{}]", deep.replacen(r#"{"a": "#, "", 1).replacen('}', "", 1)),
            ] {
                let text = format!(r#"{{"name": "f", "input": {input}, "result": {deep}}}"#);
                let bump = Bump::new();
                let (value, reader) = Reader::parse(text.as_bytes(), &bump).unwrap();
                let read = KEYS.call(reader, value).map_err(|error| error.to_string());
                assert_eq!(read.is_ok(), is_read, "{read:?}");
                if let Err(error) = read {
                    assert!(error.starts_with("input: nested deeper than 512 levels"), "{error}");
                }
                let output = output(reader, value, &["result"]).map_err(|error| error.to_string());
                assert_eq!(output.is_ok(), is_read);
            }
        }
    }

    #[test]
    fn ids_may_be_numbers_and_are_never_empty() {
        let bump = Bump::new();
        let (value, reader) = Reader::parse(br#"{"a": "", "b": null, "c": 7, "d": "x"}"#, &bump).unwrap();
        let found = |keys: &[&str]| id(reader, value, keys).map(show::plain);
        assert_eq!(found(&["a", "b"]), None);
        assert_eq!(found(&["a", "b", "c", "d"]).as_deref(), Some("7"));
        assert_eq!(found(&["d", "c"]).as_deref(), Some("x"));
    }
}

/// For the tests of dialects: what was read, in a form that is easy to write down by hand.
#[cfg(test)]
pub mod told {
    use bumpalo::Bump;

    use super::super::{DIALECTS, Dialect};
    use crate::{
        call::Reader,
        show,
        text::Text,
        trace::{span::RecordedAs, turns::Listener},
        value::{Member, Value},
    };

    /// A line for each turn (`input → output`, a dash for nothing) and, below it, one for each span:
    /// `name(arguments) = output`, with the id, the agent, the status and the error where there are any.
    pub fn told(dialect: &Dialect, messages: &str) -> Result<String, String> {
        let bump = Bump::new();
        let (value, reader) = Reader::parse(messages.as_bytes(), &bump).unwrap();
        let Value::Array(messages) = value else { panic!("messages are a list") };
        let fitting: Vec<_> = DIALECTS.iter().filter(|dialect| (dialect.fits)(messages)).map(|d| d.name).collect();
        assert_eq!(fitting, [dialect.name], "this dialect fits, and no other");
        let mut listener = Listener::default();
        (dialect.read)(reader, messages, &mut listener).map_err(|error| error.to_string())?;
        let text =
            |text: Option<Text<'_>>| text.map_or("-".to_owned(), |text| show::storable(text).replace('\n', "\\n"));
        let said = |value: Value<'_>| match value {
            Value::Text(said) => text(Some(said)),
            _ => "-".to_owned(),
        };
        let mut lines = Vec::new();
        for (turn, spans) in listener.finish().turns() {
            lines.push(format!("{} → {}", said(turn.input), said(turn.output)));
            for span in spans {
                let mut line = format!("  {}", show::plain(span.name));
                line += &format!("({}) = {}", show::json_text(span.input), show::json_text(span.output));
                for (mark, known) in [("#", span.id), ("@", span.agent), ("is ", span.status), ("! ", span.error)] {
                    if known.is_some() {
                        line += &format!(" {mark}{}", text(known));
                    }
                }
                if span.recorded_as == RecordedAs::Executed {
                    line += " (only answered)";
                }
                lines.push(line);
            }
        }
        Ok(lines.join("\n"))
    }

    #[track_caller]
    pub fn tells(dialect: &Dialect, messages: &str, expected: &[&str]) {
        assert_eq!(told(dialect, messages).unwrap().lines().collect::<Vec<_>>(), expected);
        mutate(dialect, messages);
    }

    /// With any one value in them replaced by any other, messages are read, or are an error that says where.
    fn mutate(dialect: &Dialect, messages: &str) {
        let others = [
            Value::Null,
            Value::True,
            Value::Int(7),
            Value::Text(Text::from("x")),
            Value::Array(&[]),
            Value::Object(&[]),
        ];
        for place in 1.. {
            for other in others {
                let bump = Bump::new();
                let (value, reader) = Reader::parse(messages.as_bytes(), &bump).unwrap();
                let mut left = Some(place);
                let Value::Array(messages) = replaced(value, other, &mut left, &bump) else { panic!("a list") };
                if left.is_some() {
                    return;
                }
                let mut listener = Listener::default();
                match (dialect.read)(reader, messages, &mut listener) {
                    Ok(()) => drop(listener.finish()),
                    Err(error) => assert!(error.to_string().starts_with('['), "{error}"),
                }
            }
        }
    }

    /// The value with the one at this place (counted from the outside, in order) replaced.
    pub fn replaced<'a>(value: Value<'a>, other: Value<'a>, left: &mut Option<usize>, bump: &'a Bump) -> Value<'a> {
        match *left {
            Some(0) => {
                *left = None;
                return other;
            }
            Some(place) => *left = Some(place - 1),
            None => return value,
        }
        match value {
            Value::Array(items) => {
                Value::Array(bump.alloc_slice_fill_iter(items.iter().map(|&item| replaced(item, other, left, bump))))
            }
            Value::Object(members) => Value::Object(
                bump.alloc_slice_fill_iter(
                    members
                        .iter()
                        .map(|member| Member { key: member.key, value: replaced(member.value, other, left, bump) }),
                ),
            ),
            other => other,
        }
    }

    #[track_caller]
    pub fn fails(dialect: &Dialect, messages: &str, error: &str) {
        assert_eq!(told(dialect, messages).unwrap_err(), error);
    }
}
