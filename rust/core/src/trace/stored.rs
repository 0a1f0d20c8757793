//! What a file holds: traces, and what of it could not be read.

use bumpalo::Bump;

use super::{
    decode,
    span::{Kind, RecordedAs, Span},
    turns::{Conversation, Listener},
};
use crate::{
    call::Reader,
    error::Error,
    text::Text,
    value::{Member, Value},
};

/// One trace as a file holds it.
#[derive(Debug)]
pub struct Trace<'a> {
    pub id: Option<Text<'a>>,
    /// What the traces of one conversation share.
    pub conversation_id: Option<Text<'a>>,
    /// The test that it is a run of.
    pub test_id: Option<Text<'a>>,
    pub conversation: Conversation<'a>,
    /// Is it known which tools were called? None at all is known, and differs from this.
    pub reported: bool,
    /// All else that was recorded, such as `expected_tool_calls` and `reward`.
    pub attributes: Vec<Member<'a>>,
}

impl<'a> Trace<'a> {
    pub fn new(conversation: Conversation<'a>) -> Self {
        Trace { id: None, conversation_id: None, test_id: None, conversation, reported: true, attributes: Vec::new() }
    }

    /// Remember what was recorded under a name, unless it is null.
    pub fn note(&mut self, key: &'static str, value: Option<Value<'a>>) {
        if let Some(value) = value.filter(|value| !matches!(value, Value::Null)) {
            self.attributes.push(Member { key: Text::from(key), value });
        }
    }

    /// The tool calls that count, as a list of calls that scoring reads; null if they were not reported.
    pub fn calls(&self, bump: &'a Bump, counted: RecordedAs) -> Value<'a> {
        if !self.reported {
            return Value::Null;
        }
        let counts =
            |span: &&Span<'a>| span.kind == Kind::ToolCall && [RecordedAs::Both, counted].contains(&span.recorded_as);
        let call = |span: &Span<'a>| {
            let member = |key: &'static str, value: Value<'a>| Member { key: Text::from(key), value };
            let members = [member("name", Value::Text(span.name)), member("arguments", span.input)];
            Value::Object(bump.alloc_slice_copy(&members))
        };
        let calls: Vec<Value<'a>> = self.spans().iter().filter(counts).map(call).collect();
        Value::Array(bump.alloc_slice_copy(&calls))
    }

    /// With what models were told decoded, where it is JSON text.
    pub fn decoded(mut self, reader: Reader<'a>) -> Self {
        for span in self.conversation.spans_mut().iter_mut().filter(|span| span.kind == Kind::Llm) {
            span.input = decode::decoded(reader, span.input);
        }
        self
    }

    /// A copy that borrows nothing from the source.
    pub fn copy_to<'b>(&self, bump: &'b Bump) -> Trace<'b> {
        let text = |text: Option<Text<'a>>| text.map(|text| text.copy_to(bump));
        let member = |member: &Member<'a>| Member { key: member.key.copy_to(bump), value: member.value.copy_to(bump) };
        Trace {
            id: text(self.id),
            conversation_id: text(self.conversation_id),
            test_id: text(self.test_id),
            conversation: self.conversation.copy_to(bump),
            reported: self.reported,
            attributes: self.attributes.iter().map(member).collect(),
        }
    }

    pub fn spans(&self) -> &[Span<'a>] {
        self.conversation.spans()
    }
}

/// Where readers put what they find.
pub struct Found<'a> {
    pub reader: Reader<'a>,
    pub traces: Vec<Trace<'a>>,
    /// What was passed over or guessed, with the path to it, which begins with the place of the record among those that
    /// were given.
    pub problems: Vec<Error>,
}

impl<'a> Found<'a> {
    pub fn new(reader: Reader<'a>) -> Self {
        Found { reader, traces: Vec::new(), problems: Vec::new() }
    }

    /// A trace of what was heard; its ids and attributes can be set on it.
    pub fn trace(&mut self, heard: Listener<'a>) -> &mut Trace<'a> {
        self.told(heard.finish())
    }

    /// The same where turns were made of it already.
    pub fn told(&mut self, conversation: Conversation<'a>) -> &mut Trace<'a> {
        let place = self.traces.len();
        self.traces.push(Trace::new(conversation));
        &mut self.traces[place]
    }
}
