//! What logs have in common: a record is read as far as it can be, and what is wrong with it is collected on the way.

use crate::{
    call::Reader,
    error::Error,
    text::Text,
    trace::{
        decode,
        messages::{
            self,
            content::content_text,
            parts::{self, Keys, found, not_an_object},
        },
        span::Span,
        stored::{Found, Trace},
        time::{self, Unit},
        turns::{Answer, Listener},
    },
    value::{MAX_DEPTH, Member, Object, Value},
};

/// What a call is named whose name wasn't recorded.
pub const UNKNOWN: &str = "unknown tool";
pub const ERROR: &str = "error";
pub const EXPECTED: &str = "expected_tool_calls";

/// What was heard of one trace so far, and what was wrong with it.
pub struct Reading<'a> {
    pub reader: Reader<'a>,
    pub listener: Listener<'a>,
    /// With paths inside of what is read at the moment.
    pub problems: Vec<Error>,
}

impl<'a> Reading<'a> {
    pub fn new(reader: Reader<'a>) -> Self {
        Reading { reader, listener: Listener::default(), problems: Vec::new() }
    }

    /// The trace of what was heard. Where in the file it was read says `place`.
    pub fn finish<'f>(self, found: &'f mut Found<'a>, place: impl Fn(Error) -> Error) -> &'f mut Trace<'a> {
        found.problems.extend(self.problems.into_iter().map(place));
        found.trace(self.listener)
    }

    /// Read what stands at a place: its problems get that place.
    pub fn inside(&mut self, place: impl Fn(Error) -> Error, read: impl FnOnce(&mut Reading<'a>) -> Result<(), Error>) {
        let before = self.problems.len();
        if let Err(error) = read(self) {
            self.problems.push(error);
        }
        let inside = self.problems.split_off(before);
        self.problems.extend(inside.into_iter().map(place));
    }

    /// Read each item of the list that stands under a key, if there is one.
    pub fn each(
        &mut self,
        holder: Value<'a>,
        key: &str,
        read: impl FnMut(&mut Reading<'a>, Value<'a>) -> Result<(), Error>,
    ) {
        let list = self.list(holder, key);
        self.inside(
            |error| error.at_key(Text::from(key)),
            |reading| {
                reading.all(list, read);
                Ok(())
            },
        );
    }

    /// Read each of these items.
    pub fn all(&mut self, items: &[Value<'a>], mut read: impl FnMut(&mut Reading<'a>, Value<'a>) -> Result<(), Error>) {
        for (index, &item) in items.iter().enumerate() {
            self.inside(|error| error.at_index(index), |reading| read(reading, item));
        }
    }

    /// The list that stands under a key, of which null and none are empty ones.
    pub fn list(&mut self, holder: Value<'a>, key: &str) -> &'a [Value<'a>] {
        match holder.get(key) {
            None | Some(Value::Null) => &[],
            Some(Value::Array(items)) => items,
            Some(other) => {
                let message = format!("expected a list, got {}", other.kind());
                self.problems.push(Error::wrong_type(message).at_key(Text::from(key)));
                &[]
            }
        }
    }

    /// The messages that stand under a key, in any dialect. Where they can't be read as a whole, each is read alone.
    pub fn messages(&mut self, holder: Value<'a>, key: &str) {
        let Some(value) = holder.get(key).filter(|value| !matches!(value, Value::Null)) else { return };
        self.inside(|error| error.at_key(Text::from(key)), |reading| reading.hear(value));
    }

    /// Messages that were put together of what stands elsewhere.
    pub fn hear_only(&mut self, value: Value<'a>) -> Result<(), Error> {
        let mut heard = Listener::default();
        messages::hear(self.reader, value, &mut heard).map_err(|error| error.relocated(|_| Vec::new()))?;
        self.listener.append(heard);
        Ok(())
    }

    pub fn hear(&mut self, value: Value<'a>) -> Result<(), Error> {
        if let Value::Array([]) = value {
            return Ok(());
        }
        let mut heard = Listener::default();
        let error = match messages::hear(self.reader, value, &mut heard) {
            Ok(()) => {
                self.listener.append(heard);
                return Ok(());
            }
            Err(error) => error,
        };
        let Value::Array(items) = value else { return Err(error) };
        self.all(items, |reading, item| {
            let mut heard = Listener::default();
            messages::hear(reading.reader, item, &mut heard)?;
            reading.listener.append(heard);
            Ok(())
        });
        Ok(())
    }

    /// A call, by the keys that it has. What can't be read of it is a problem, and not a part of it.
    pub fn call(&mut self, holder: Value<'a>, keys: &Keys) -> Result<Span<'a>, Error> {
        if !matches!(holder, Value::Object(_)) {
            return Err(not_an_object("a tool call", holder));
        }
        let name = match found(holder, keys.name) {
            Some((_, Value::Text(name))) if !name.is_empty() => name,
            Some((key, other)) => {
                let message = match other {
                    Value::Text(_) => "a tool call with an empty name".to_owned(),
                    other => format!("a tool's name is a string, got {}", other.kind()),
                };
                self.problems.push(Error::wrong_type(message).at_key(Text::from(key)));
                Text::from(UNKNOWN)
            }
            None => {
                let message = format!("a tool call without a name; it is given as {}", keys.name.join(" or "));
                self.problems.push(Error::value(message));
                Text::from(UNKNOWN)
            }
        };
        let input = match found(holder, keys.arguments) {
            Some((key, written)) => self.arguments(written, key),
            None => Value::Null,
        };
        Ok(Span { id: parts::id(self.reader, holder, keys.id), input, ..Span::new(name) })
    }

    /// Arguments out of what stands under a key.
    pub fn arguments(&mut self, written: Value<'a>, key: &str) -> Value<'a> {
        let input = decode::arguments(self.reader, written);
        self.shallow(input, key)
    }

    /// The result of a call that stands under one of these keys.
    pub fn output(&mut self, holder: Value<'a>, keys: &[&str]) -> Value<'a> {
        match found(holder, keys) {
            Some((key, output)) => {
                let output = self.shallow(output, key);
                parts::said(self.reader, output)
            }
            None => Value::Null,
        }
    }

    /// What a span holds nests no deeper than arguments may.
    fn shallow(&mut self, value: Value<'a>, key: &str) -> Value<'a> {
        // What was decoded may be deeper than the record was.
        if matches!(value, Value::Object(_) | Value::Array(_)) && value.deeper_than(MAX_DEPTH) {
            self.problems.push(Error::too_deep().at_key(Text::from(key)));
            return Value::Null;
        }
        value
    }

    /// The list of expected calls under a key as `{name, arguments}`; None where there is no such list.
    pub fn expected(&mut self, holder: Value<'a>, key: &str, keys: &Keys) -> Option<Value<'a>> {
        let Some(Value::Array(items)) = holder.get(key) else { return None };
        let mut calls = Vec::new();
        self.inside(
            |error| error.at_key(Text::from(key)),
            |reading| {
                reading.all(items, |reading, item| {
                    let call = reading.call(item, keys)?;
                    // One without a name can't be expected.
                    if parts::text(item, keys.name).is_some() {
                        calls.push(reading.expected_call(call.name, call.input));
                    }
                    Ok(())
                });
                Ok(())
            },
        );
        Some(self.array(&calls))
    }

    /// Arguments that are no object can't be expected, so they are left open.
    pub fn expected_call(&self, name: Text<'a>, input: Value<'a>) -> Value<'a> {
        match input {
            Value::Object(_) => self.object(&[("name", Value::Text(name)), ("arguments", input)]),
            _ => self.object(&[("name", Value::Text(name))]),
        }
    }

    pub fn object(&self, members: &[(&'static str, Value<'a>)]) -> Value<'a> {
        Value::Object(members_of(self.reader, members))
    }

    pub fn array(&self, items: &[Value<'a>]) -> Value<'a> {
        Value::Array(self.reader.bump.alloc_slice_copy(items))
    }

    /// What a content says: a text, or a list of parts.
    pub fn said(&self, content: Option<Value<'a>>) -> Option<Text<'a>> {
        content_text(content, self.reader.bump)
    }

    /// A time that stands under one of these keys; null where there is none or it can't be read.
    pub fn time(&self, holder: Value<'a>, keys: &[&str], unit: Unit) -> Value<'a> {
        let ns = found(holder, keys).and_then(|(_, time)| time::nanos(time, unit));
        ns.map_or(Value::Null, |ns| Value::Text(time::text(ns, self.reader.bump)))
    }
}

pub fn members_of<'a>(reader: Reader<'a>, members: &[(&'static str, Value<'a>)]) -> Object<'a> {
    let known = members.iter().filter(|(_, value)| !matches!(value, Value::Null));
    let members: Vec<_> = known.map(|&(key, value)| Member { key: Text::from(key), value }).collect();
    reader.bump.alloc_slice_copy(&members)
}

/// The result of a call, of which nothing but its id is known.
pub fn answer<'a>(id: Option<Text<'a>>, output: Value<'a>) -> Answer<'a> {
    Answer { id, name: None, output, status: None, error: None }
}

/// What the value of this key leads to, and so on.
pub fn at<'a>(holder: Value<'a>, path: &[&str]) -> Option<Value<'a>> {
    let value = path.iter().try_fold(holder, |holder, key| holder.get(key))?;
    (!matches!(value, Value::Null)).then_some(value)
}

pub fn is_list(value: Option<Value<'_>>) -> bool {
    matches!(value, Some(Value::Array(_)))
}

pub fn has_any(holder: Value<'_>, keys: &[&str]) -> bool {
    keys.iter().any(|key| holder.get(key).is_some())
}

/// For the tests of logs: what was read, in a form that is easy to write down by hand.
#[cfg(test)]
pub mod told {
    use bumpalo::Bump;

    use super::super::{LOGS, Log};
    use crate::{
        call::Reader,
        show,
        text::Text,
        trace::{messages::parts::told::replaced, span::RecordedAs, stored::Found},
        value::{Member, Value},
    };

    /// For each trace `# id` with what else is known of it, a line for each turn (`input → output`, a dash for nothing)
    /// and, below it, one for each span: `name(arguments) = output`, with the id, the agent, the status, the error and
    /// so on where there are any; at last the problems.
    fn lines(found: Found<'_>) -> Vec<String> {
        let text =
            |text: Option<Text<'_>>| text.map_or("-".to_owned(), |text| show::storable(text).replace('\n', "\\n"));
        let said = |value: Value<'_>| match value {
            Value::Text(said) => text(Some(said)),
            Value::Null => "-".to_owned(),
            other => show::json_text(other),
        };
        let mut lines = Vec::new();
        for trace in &found.traces {
            let mut line = format!("# {}", text(trace.id));
            for (mark, known) in [("in", trace.conversation_id), ("test", trace.test_id)] {
                if known.is_some() {
                    line += &format!(" {mark} {}", text(known));
                }
            }
            if !trace.reported {
                line += " (not reported)";
            }
            for Member { key, value } in &trace.attributes {
                line += &format!(" {}={}", show::plain(*key), show::json_text(*value));
            }
            lines.push(line);
            for (turn, spans) in trace.conversation.turns() {
                lines.push(format!("{} → {}", said(turn.input), said(turn.output)));
                for span in spans {
                    let mut line = format!("  {}", show::plain(span.name));
                    line += &format!("({}) = {}", show::json_text(span.input), show::json_text(span.output));
                    for (mark, known) in [("#", span.id), ("@", span.agent), ("is ", span.status), ("! ", span.error)] {
                        if known.is_some() {
                            line += &format!(" {mark}{}", text(known));
                        }
                    }
                    if !matches!((span.started_at, span.ended_at), (Value::Null, Value::Null)) {
                        line += &format!(" {}–{}", said(span.started_at), said(span.ended_at));
                    }
                    if !span.attributes.is_empty() {
                        line += &format!(" {}", show::json_text(Value::Object(span.attributes)));
                    }
                    if span.recorded_as == RecordedAs::Executed {
                        line += " (only answered)";
                    }
                    lines.push(line);
                }
            }
        }
        lines.extend(found.problems.iter().map(|problem| format!("problem {problem}")));
        lines
    }

    fn read<'a>(log: &Log, records: &[Value<'a>], reader: Reader<'a>) -> Vec<String> {
        let mut found = Found::new(reader);
        if let Err(error) = (log.read)(&mut found, records) {
            found.problems.push(error);
        }
        lines(found)
    }

    fn parse<'a>(records: &str, bump: &'a Bump) -> (&'a [Value<'a>], Reader<'a>) {
        let (value, reader) = Reader::parse(bump.alloc_str(records).as_bytes(), bump).unwrap();
        let Value::Array(records) = value else { panic!("records are a list") };
        (records, reader)
    }

    /// The records are those of this log and of no other, and this is read of them.
    #[track_caller]
    pub fn tells(log: &Log, records: &str, expected: &[&str]) {
        let bump = Bump::new();
        let (values, reader) = parse(records, &bump);
        assert!(values.iter().any(|record| (log.fits)(*record)), "it fits");
        for other in LOGS.iter().filter(|other| other.name != log.name) {
            assert!(!values.iter().any(|record| (other.fits)(*record)), "{} fits, too", other.name);
        }
        assert_eq!(read(log, values, reader), expected);
        mutate(log, records);
    }

    /// The log doesn't take any of these for its own.
    #[track_caller]
    pub fn leaves(log: &Log, records: &str) {
        let bump = Bump::new();
        assert!(!parse(records, &bump).0.iter().any(|record| (log.fits)(*record)));
    }

    /// With any one value in them replaced by any other, records are read, and problems say where.
    fn mutate(log: &Log, records: &str) {
        let others = [
            Value::Null,
            Value::True,
            Value::Int(7),
            Value::Text(Text::from("x")),
            Value::Array(&[]),
            Value::Array(&[Value::Null]),
            Value::Object(&[]),
        ];
        for place in 1.. {
            for other in others {
                let bump = Bump::new();
                let (values, reader) = parse(records, &bump);
                let mut left = Some(place);
                let value = replaced(Value::Array(values), other, &mut left, &bump);
                if left.is_some() {
                    return;
                }
                let Value::Array(values) = value else { continue };
                let _ = values.iter().filter(|record| (log.fits)(**record)).count();
                for line in read(log, values, reader) {
                    assert!(!line.starts_with("problem ") || line.starts_with("problem ["), "{line}");
                }
            }
        }
    }
}
