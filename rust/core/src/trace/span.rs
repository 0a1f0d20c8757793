//! One tool call with all that is known of it.

use bumpalo::Bump;

use crate::{
    call::{Arguments, Reader, differ},
    compare,
    error::{Error, one_of},
    show,
    text::Text,
    value::{MAX_DEPTH, Object, Value, get},
};

#[derive(Clone, Copy, Debug)]
pub struct Span<'a> {
    pub kind: Kind,
    pub id: Option<Text<'a>>,
    pub name: Text<'a>,
    /// Who made the call, where the log names one of several.
    pub agent: Option<Text<'a>>,
    /// The arguments: an object; null if they were not recorded; anything else, as it was, if it couldn't be read as one.
    pub input: Value<'a>,
    pub output: Value<'a>,
    pub status: Option<Text<'a>>,
    pub error: Option<Text<'a>>,
    /// Texts, numbers or null, as they were.
    pub started_at: Value<'a>,
    pub ended_at: Value<'a>,
    pub recorded_as: RecordedAs,
    /// The id of the span around it, in a log of spans.
    pub parent_id: Option<Text<'a>>,
    /// All else that was recorded.
    pub attributes: Object<'a>,
}

/// Of a call, in a log that has both what a model asked for and what was executed: which of them it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedAs {
    Requested,
    /// Nothing asked for it in what is recorded: of a log that was cut, say.
    Executed,
    /// Or the log doesn't tell them apart.
    Both,
}

impl RecordedAs {
    /// Which of those that the log tells apart may be counted.
    pub const COUNTED: &[&str] = &["executed", "requested"];

    pub fn counted(word: &str) -> Result<RecordedAs, Error> {
        match word {
            "executed" => Ok(RecordedAs::Executed),
            "requested" => Ok(RecordedAs::Requested),
            other => Err(Error::value(one_of("calls", other, RecordedAs::COUNTED))),
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            RecordedAs::Requested => "requested",
            RecordedAs::Executed => "executed",
            RecordedAs::Both => "both",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    ToolCall,
    Retrieval,
    Agent,
    Llm,
    Embedding,
    Rerank,
    Guardrail,
    Handoff,
    Chain,
}

impl Kind {
    pub const ALL: &[Kind] = &[
        Kind::ToolCall,
        Kind::Retrieval,
        Kind::Agent,
        Kind::Llm,
        Kind::Embedding,
        Kind::Rerank,
        Kind::Guardrail,
        Kind::Handoff,
        Kind::Chain,
    ];

    pub fn named(word: &str) -> Result<Kind, Error> {
        let words: Vec<&str> = Kind::ALL.iter().map(|kind| kind.word()).collect();
        let known = Kind::ALL.iter().copied().find(|kind| kind.word() == word);
        known.ok_or_else(|| Error::value(one_of("kind", word, &words)))
    }

    pub fn word(self) -> &'static str {
        match self {
            Kind::ToolCall => "tool_call",
            Kind::Retrieval => "retrieval",
            Kind::Agent => "agent",
            Kind::Llm => "llm",
            Kind::Embedding => "embedding",
            Kind::Rerank => "rerank",
            Kind::Guardrail => "guardrail",
            Kind::Handoff => "handoff",
            Kind::Chain => "chain",
        }
    }
}

/// How Mistral's client writes that there is none.
const NO_ID: &str = "null";

/// What is known of a call beside its name and arguments, or of the result of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The id of what has this key.
    Id,
    /// The id of a call, whatever has this key: a message that holds a result has an id of its own.
    CallId,
    Output,
    Status,
    Failed,
    Error,
    StartedAt,
    EndedAt,
}

impl Detail {
    const ALL: &[Detail] = &[
        Detail::Id,
        Detail::CallId,
        Detail::Output,
        Detail::Status,
        Detail::Failed,
        Detail::Error,
        Detail::StartedAt,
        Detail::EndedAt,
    ];

    fn keys(self) -> &'static [&'static str] {
        match self {
            Detail::Id => &["id"],
            Detail::CallId => &["call_id", "tool_call_id", "tool_use_id"],
            Detail::Output => &["output", "result", "response", "response_payload"],
            Detail::Status => &["status"],
            Detail::Failed => &["is_error", "isError"],
            Detail::Error => &["error"],
            Detail::StartedAt => &["started_at", "start_time"],
            Detail::EndedAt => &["ended_at", "end_time"],
        }
    }

    pub fn words() -> impl Iterator<Item = &'static str> {
        Detail::ALL.iter().flat_map(|detail| detail.keys()).copied()
    }

    pub fn of(key: &str) -> Option<Detail> {
        Detail::ALL.iter().copied().find(|detail| detail.keys().contains(&key))
    }

    /// Its value, which two keys must not give differently.
    fn find<'a>(self, members: Object<'a>) -> Result<Value<'a>, Error> {
        let mut found = None;
        for &key in self.keys() {
            match (get(members, Text::from(key)), found) {
                (None | Some(Value::Null), _) => {}
                (Some(value), None) => found = Some((key, value)),
                (Some(value), Some((_, first))) if compare::equal(first, value) => {}
                (Some(_), Some((first, _))) => return Err(differ(first, key)),
            }
        }
        Ok(found.map_or(Value::Null, |(_, value)| value))
    }

    /// The first of its keys that has an id.
    fn id<'a>(self, members: Object<'a>, bump: &'a Bump) -> Option<Text<'a>> {
        let id = |key: &&str| word(get(members, Text::from(*key))?, bump).filter(|id| !id.is(NO_ID));
        self.keys().iter().find_map(id)
    }
}

impl<'a> Span<'a> {
    /// A call of which nothing but the name is known.
    pub fn new(name: Text<'a>) -> Self {
        Span {
            kind: Kind::ToolCall,
            id: None,
            name,
            agent: None,
            input: Value::Null,
            output: Value::Null,
            status: None,
            error: None,
            started_at: Value::Null,
            ended_at: Value::Null,
            recorded_as: RecordedAs::Both,
            parent_id: None,
            attributes: &[],
        }
    }

    pub fn read(reader: Reader<'a>, value: Value<'a>) -> Result<Span<'a>, Error> {
        let (call, written, members) = reader.call_as_written(value)?;
        let details = Details::read(reader, members)?;
        for key in Detail::Output.keys() {
            check_depth(reader, members, key)?;
        }
        // Arguments that are an object were looked at already.
        if reader.may_be_deep && written.deeper_than(MAX_DEPTH) {
            return Err(Error::too_deep());
        }
        Ok(Span {
            id: details.call_id.or_else(|| Detail::Id.id(members, reader.bump)),
            input: as_input(call.arguments, written),
            output: Detail::Output.find(members)?,
            status: details.status,
            error: details.error,
            started_at: time(Detail::StartedAt.find(members)?),
            ended_at: time(Detail::EndedAt.find(members)?),
            ..Span::new(call.name)
        })
    }

    /// A copy that borrows nothing from the source.
    pub fn copy_to(self, bump: &Bump) -> Span<'_> {
        let text = |text: Option<Text<'_>>| text.map(|text| text.copy_to(bump));
        Span {
            kind: self.kind,
            id: text(self.id),
            name: self.name.copy_to(bump),
            agent: text(self.agent),
            input: self.input.copy_to(bump),
            output: self.output.copy_to(bump),
            status: text(self.status),
            error: text(self.error),
            started_at: self.started_at.copy_to(bump),
            ended_at: self.ended_at.copy_to(bump),
            recorded_as: self.recorded_as,
            parent_id: text(self.parent_id),
            attributes: match Value::Object(self.attributes).copy_to(bump) {
                Value::Object(members) => members,
                _ => &[],
            },
        }
    }
}

/// What calls, messages with a result and blocks with a result say in the same way.
pub struct Details<'a> {
    pub call_id: Option<Text<'a>>,
    pub status: Option<Text<'a>>,
    pub error: Option<Text<'a>>,
}

impl<'a> Details<'a> {
    pub fn read(reader: Reader<'a>, members: Object<'a>) -> Result<Self, Error> {
        let failed = matches!(Detail::Failed.find(members)?, Value::True);
        let status = word(Detail::Status.find(members)?, reader.bump);
        let error = match Detail::Error.find(members)? {
            Value::Null | Value::False => None,
            Value::Text(text) => Some(text).filter(|text| !text.is_empty()),
            other => Some(json_text(other, reader.bump)),
        };
        Ok(Details {
            call_id: Detail::CallId.id(members, reader.bump),
            status: status.or(failed.then_some(Text::from("error"))),
            error,
        })
    }
}

/// The arguments of a call as its input: an object, or JSON text of one; null if they were not recorded; else as they were.
pub fn input<'a>(reader: Reader<'a>, written: Value<'a>) -> Result<Value<'a>, Error> {
    let arguments = reader.arguments(written)?;
    if reader.may_be_deep && written.deeper_than(MAX_DEPTH) {
        return Err(Error::too_deep());
    }
    Ok(as_input(arguments, written))
}

fn as_input<'a>(arguments: Arguments<'a>, written: Value<'a>) -> Value<'a> {
    match arguments {
        Arguments::Object(members) => Value::Object(members),
        Arguments::NotRecorded => Value::Null,
        Arguments::Unreadable => written,
    }
}

/// A text, or an integer as one, which is how ids and codes are written where types are taken lightly.
pub fn word<'a>(value: Value<'a>, bump: &'a Bump) -> Option<Text<'a>> {
    match value {
        Value::Text(text) => Some(text).filter(|text| !text.is_empty()),
        Value::Int(_) | Value::Big(_) => Some(json_text(value, bump)),
        _ => None,
    }
}

fn time(value: Value<'_>) -> Value<'_> {
    match value {
        Value::Text(_) | Value::Int(_) | Value::Big(_) | Value::Float(_) => value,
        _ => Value::Null,
    }
}

pub fn json_text<'a>(value: Value<'_>, bump: &'a Bump) -> Text<'a> {
    Text::from(&*bump.alloc_str(&show::json_text(value)))
}

/// What a span holds nests no deeper than arguments may.
pub fn check_depth<'a>(reader: Reader<'a>, members: Object<'a>, key: &str) -> Result<(), Error> {
    match get(members, Text::from(key)) {
        Some(value) if reader.may_be_deep && value.deeper_than(MAX_DEPTH) => {
            Err(Error::too_deep().at_key(Text::from(key)))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::Key;

    #[test]
    fn the_keys_of_details_are_no_others() {
        for word in Detail::words() {
            assert!(Key::of(Text::from(word)) == Key::Other && Detail::of(word).is_some(), "{word}");
        }
        assert_eq!(Detail::of("name"), None);
    }

    #[test]
    fn two_keys_for_one_thing_agree_in_whichever_order_they_stand() {
        let output = |text: &str| {
            let bump = Bump::new();
            let (value, reader) = Reader::parse(text.as_bytes(), &bump).unwrap();
            Span::read(reader, value).map(|span| show::json_text(span.output)).map_err(|error| error.to_string())
        };
        assert_eq!(output(r#"{"name": "a", "output": 1, "result": 1.0, "response": null}"#).unwrap(), "1");
        for text in [r#"{"name": "a", "output": 1, "result": 2}"#, r#"{"result": 2, "output": 1, "name": "a"}"#] {
            assert_eq!(output(text).unwrap_err(), "output and result mean the same and have different values");
        }
    }

    #[test]
    fn arguments_that_were_taken_out_are_not_recorded() {
        let input = |text: &str| {
            let bump = Bump::new();
            let (value, reader) = Reader::parse(text.as_bytes(), &bump).unwrap();
            show::json_text(input(reader, value).unwrap())
        };
        for text in [r#""<REDACTED>""#, r#""[REDACTED]""#, r#""[TRUNCATED]""#, r#""<not serializable>""#, "null"] {
            assert_eq!(input(text), "null", "{text}");
        }
        for text in [r#""<redacted by me>""#, r#"["[REDACTED]"]"#, r#""[""#, "5"] {
            assert_eq!(input(text), text);
        }
        assert_eq!(input(r#""{\"a\": \"[REDACTED]\"}""#), r#"{"a": "[REDACTED]"}"#);
        assert_eq!(input(r#""""#), "{}");
    }
}
