//! Messages that were recorded one by one, as events of a span or as log records (`gen_ai.user.message`,
//! `gen_ai.choice`), or in one event for all of them. Pydantic AI kept a list of such events in an attribute.

use super::values::{self, Message, after, content, items, list_of_some, role, text};
use crate::{
    call::Reader,
    text::Text,
    trace::{
        decode, span,
        spans::{Event, Recorded},
    },
    value::{Object, Value, get},
};

pub const INPUT: &str = "gen_ai.input.messages";
pub const OUTPUT: &str = "gen_ai.output.messages";
pub const CHOICE: &str = "gen_ai.choice";
pub const TOOL_MESSAGE: &str = "gen_ai.tool.message";
const MESSAGE: &str = ".message";
/// One event with all that was said: of an older convention, and of Traceloop.
const WHOLE: &[(&str, &str)] =
    &[("gen_ai.content.prompt", "gen_ai.prompt"), ("gen_ai.content.completion", "gen_ai.completion")];

/// What an event says, whether in attributes or in a body.
#[derive(Clone, Copy)]
pub struct Fields<'a> {
    body: Object<'a>,
    attributes: Object<'a>,
}

impl<'a> Fields<'a> {
    pub fn of(reader: Reader<'a>, event: &Event<'a>) -> Self {
        // Azure's SDK puts the body into an attribute.
        let written = values::given(Some(event.body)).or_else(|| event.attributes.get("gen_ai.event.content"));
        let body = match decode::decoded(reader, written.unwrap_or(Value::Null)) {
            Value::Object(members) => members,
            _ => &[],
        };
        Fields { body, attributes: event.attributes.0 }
    }

    pub fn get(self, key: &str) -> Option<Value<'a>> {
        let in_body = values::given(get(self.body, Text::from(key)));
        in_body.or_else(|| values::given(get(self.attributes, Text::from(key))))
    }

    fn decoded(self, reader: Reader<'a>, key: &str) -> Option<Value<'a>> {
        Some(decode::decoded(reader, self.get(key)?)).filter(|value| !values::is_left_out(*value))
    }
}

pub fn is_one(event: &Event<'_>) -> bool {
    event.name.utf8().starts_with(b"gen_ai.")
}

/// What the events of a span tell that a model was given, and what it answered.
pub fn messages<'a>(reader: Reader<'a>, recorded: &Recorded<'a>) -> (Option<Value<'a>>, Option<Value<'a>>) {
    let (mut asked, mut answered) = (Vec::new(), Vec::new());
    for event in &recorded.events {
        let (name, fields) = (event.name, Fields::of(reader, event));
        asked.extend_from_slice(items(fields.decoded(reader, INPUT)));
        answered.extend_from_slice(items(fields.decoded(reader, OUTPUT)));
        if let Some((_, key)) = WHOLE.iter().find(|(word, _)| name.is(word)) {
            let (told, role) = if name.is(WHOLE[0].0) { (&mut asked, "user") } else { (&mut answered, "assistant") };
            told.extend(all_at_once(reader, fields.decoded(reader, key), role));
        } else if let Some(message) = message(reader, name, fields) {
            if name.is(CHOICE) { answered.push(message) } else { asked.push(message) }
        }
    }
    (list_of_some(reader, &asked), list_of_some(reader, &answered))
}

/// A list of messages, or a text.
pub fn all_at_once<'a>(reader: Reader<'a>, value: Option<Value<'a>>, role: &'static str) -> Vec<Value<'a>> {
    match value {
        Some(Value::Array(messages)) => messages.to_vec(),
        Some(message @ Value::Object(_)) if message.get("role").is_some() => vec![message],
        Some(content @ Value::Text(_)) => {
            vec![Message { role, content: Some(content), ..Message::default() }.value(reader)]
        }
        _ => Vec::new(),
    }
}

/// The same out of a list of events that each have their name among their members.
pub fn of_list<'a>(reader: Reader<'a>, events: &[Value<'a>]) -> (Option<Value<'a>>, Option<Value<'a>>) {
    let is_choice = |event: &&Value<'a>| text(**event, &["event.name"]).is_some_and(|name| name.is(CHOICE));
    let (answered, asked): (Vec<&Value<'a>>, Vec<&Value<'a>>) = events.iter().partition(is_choice);
    let told = |events: Vec<&Value<'a>>| {
        let messages: Vec<Value<'a>> = events.into_iter().filter_map(|event| listed(reader, *event)).collect();
        list_of_some(reader, &messages)
    };
    (told(asked), told(answered))
}

/// All messages of such a list.
pub fn in_order<'a>(reader: Reader<'a>, events: &[Value<'a>]) -> Vec<Value<'a>> {
    events.iter().filter_map(|event| listed(reader, *event)).collect()
}

fn listed<'a>(reader: Reader<'a>, event: Value<'a>) -> Option<Value<'a>> {
    let Value::Object(body) = event else { return None };
    message(reader, text(event, &["event.name"])?, Fields { body, attributes: &[] })
}

/// A chat message of what an event says.
fn message<'a>(reader: Reader<'a>, name: Text<'a>, fields: Fields<'a>) -> Option<Value<'a>> {
    if name.is(CHOICE) {
        // The others are what else could have been said. (Some tables have all values as texts.)
        let index = fields.get("index").and_then(|index| span::word(index, reader.bump));
        if index.is_some_and(|index| !index.is("0")) {
            return None;
        }
        let inner = fields.get("message").map(|message| decode::decoded(reader, message));
        return match inner {
            Some(Value::Object(members)) => {
                built(reader, Fields { body: members, attributes: &[] }, "assistant", fields)
            }
            Some(Value::Text(said)) if values::are_cut_off(said) => Some(Value::Text(said)),
            Some(said) => built(reader, Fields { body: &[], attributes: &[] }, "assistant", fields).map(|message| {
                let calls = message.get("tool_calls");
                values::object(
                    reader,
                    &[
                        ("role", Some(Value::Text(Text::from("assistant")))),
                        ("content", Some(content(reader, said))),
                        ("tool_calls", calls),
                    ],
                )
            }),
            None => built(reader, fields, "assistant", fields),
        };
    }
    let who = after(reader, values::before(reader, name, MESSAGE)?, "gen_ai.")?;
    let default = role(Some(who), "system")?;
    built(reader, fields, default, fields)
}

/// Some have the calls beside the message.
fn built<'a>(reader: Reader<'a>, message: Fields<'a>, default: &'static str, beside: Fields<'a>) -> Option<Value<'a>> {
    let word = match message.get("role") {
        Some(Value::Text(word)) => Some(word),
        _ => None,
    };
    let mut role = role(word, default)?;
    let content = message.get("content").map(|value| content(reader, value));
    // Bedrock's results stand in messages of the user.
    if role == "tool" && items(content).iter().any(|block| block.get("toolResult").is_some()) {
        role = "user";
    }
    let calls = message.decoded(reader, "tool_calls").or_else(|| beside.decoded(reader, "tool_calls"));
    Some(
        Message {
            role,
            content,
            calls: values::calls(calls),
            call_id: message.get("id").or_else(|| message.get("tool_call_id")),
            name: message.get("name"),
        }
        .value(reader),
    )
}
