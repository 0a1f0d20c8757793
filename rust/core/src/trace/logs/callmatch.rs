//! This library's own format: the JSON of a trace, as `trace.model_dump_json()` writes it.

use super::{Log, Unit};
use crate::{
    error::Error,
    show,
    text::Text,
    trace::{
        span::{Kind, RecordedAs, Span},
        stored::{Found, Trace},
        turns::Conversation,
    },
    value::{Object, Value},
};

pub const LOG: Log = Log { name: "callmatch", title: "traces of callmatch", unit: Unit::Record, fits, read };

const TURNS: &str = "turns";
const KEYS: &[&str] = &["id", "conversation_id", "test_id", TURNS, "attributes"];

fn fits(record: Value<'_>) -> bool {
    let Value::Object(members) = record else { return false };
    // One with a key too many is told what is wrong with it, if it can hardly be anything else.
    let is_ours = |turn: &Value<'_>| turn.get("spans").is_some() || turn.get("tool_calls_reported").is_some();
    let Some(Value::Array(turns)) = record.get(TURNS) else { return false };
    turns.iter().any(is_ours) || members.iter().all(|member| KEYS.iter().any(|key| member.key.is(key)))
}

/// What is wrong with the parts of a trace is told by its Python model; this reads what it takes to score it.
fn read<'a>(found: &mut Found<'a>, records: &[Value<'a>]) -> Result<(), Error> {
    for (place, &record) in records.iter().enumerate() {
        let turns = match record.get(TURNS) {
            Some(Value::Array(turns)) => turns,
            _ => {
                return Err(Error::wrong_type("a trace has a list of turns").at_key(Text::from(TURNS)).at_index(place));
            }
        };
        let mut conversation = Conversation::default();
        let mut reported = !turns.is_empty();
        for turn in turns {
            conversation.open(turn.get("input").unwrap_or_default());
            conversation.close(turn.get("output").unwrap_or_default());
            let spans = match turn.get("spans").or_else(|| turn.get("recorded")) {
                Some(Value::Array(spans)) => Some(spans),
                _ => None,
            };
            reported &= match turn.get("tool_calls_reported") {
                Some(Value::True) => true,
                Some(Value::False) => false,
                _ => spans.is_some(),
            };
            for (number, &span) in spans.into_iter().flatten().enumerate() {
                let read = self::span(span).map_err(|error| error.at_index(number).at_key(Text::from("spans")));
                conversation.push(read.map_err(|error| {
                    error.at_index(conversation.turns().count() - 1).at_key(Text::from(TURNS)).at_index(place)
                })?);
            }
        }
        let mut trace = Trace::new(conversation);
        trace.reported = reported;
        trace.id = text(record, "id");
        trace.conversation_id = text(record, "conversation_id");
        trace.test_id = text(record, "test_id");
        if let Some(Value::Object(members)) = record.get("attributes") {
            trace.attributes.extend_from_slice(members);
        }
        found.traces.push(trace);
    }
    Ok(())
}

fn span(value: Value<'_>) -> Result<Span<'_>, Error> {
    let kind = match text(value, "kind").map(show::storable).as_deref() {
        // `model` is another word for it.
        Some("model") => Kind::Llm,
        kind => Kind::named(kind.unwrap_or_default()).map_err(|error| error.at_key(Text::from("kind")))?,
    };
    let recorded_as = text(value, "recorded_as");
    let is = |word: RecordedAs| recorded_as.is_some_and(|recorded| recorded.is(word.word()));
    let members: Object<'_> = match value.get("attributes") {
        Some(Value::Object(members)) => members,
        _ => &[],
    };
    Ok(Span {
        kind,
        id: text(value, "id"),
        parent_id: text(value, "parent_id"),
        agent: text(value, "agent"),
        input: value.get("input").unwrap_or_default(),
        output: value.get("output").unwrap_or_default(),
        status: text(value, "status"),
        error: text(value, "error"),
        started_at: value.get("started_at").unwrap_or_default(),
        ended_at: value.get("ended_at").unwrap_or_default(),
        recorded_as: match (is(RecordedAs::Requested), is(RecordedAs::Executed)) {
            (true, _) => RecordedAs::Requested,
            (_, true) => RecordedAs::Executed,
            _ => RecordedAs::Both,
        },
        attributes: members,
        ..Span::new(text(value, "name").unwrap_or(Text::from("")))
    })
}

fn text<'a>(holder: Value<'a>, key: &str) -> Option<Text<'a>> {
    match holder.get(key) {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    }
}
