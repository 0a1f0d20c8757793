//! Traces as columns: a row for each span.

use super::{
    span::{Kind, Span},
    stored::Trace,
};
use crate::{show, text::Text, value::Value};

/// Texts one after the other, with where each of them ends.
#[derive(Debug, Default)]
pub struct Texts {
    all: String,
    ends: Vec<usize>,
    /// Is there one, or nothing?
    known: Vec<bool>,
}

impl Texts {
    fn end(&mut self, is_known: bool) {
        self.ends.push(self.all.len());
        self.known.push(is_known);
    }

    fn push(&mut self, text: Option<Text<'_>>) {
        if let Some(text) = text {
            show::write_storable(text, &mut self.all);
        }
        self.end(text.is_some());
    }

    fn push_word(&mut self, word: &str) {
        self.all.push_str(word);
        self.end(true);
    }

    /// A value as JSON text; nothing where it is null.
    fn push_json(&mut self, value: Value<'_>) {
        let is_known = !matches!(value, Value::Null);
        if is_known {
            show::write_json(value, &mut self.all);
        }
        self.end(is_known);
    }

    /// What a model was told is written as its exporter wrote it, if that is JSON text.
    fn push_input(&mut self, span: &Span<'_>) {
        match span.input {
            Value::Text(text @ Text::Utf8(bytes @ [b'[' | b'{', ..])) if span.kind == Kind::Llm && is_json(bytes) => {
                self.push(Some(text));
            }
            input => self.push_json(input),
        }
    }

    /// A text as it is, and a number as it is written.
    fn push_time(&mut self, value: Value<'_>) {
        match value {
            Value::Text(text) => self.push(Some(text)),
            value => self.push_json(value),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Option<&str>> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        let text = |((start, end), known): ((usize, usize), &bool)| {
            if *known { self.all.get(start..end) } else { None }
        };
        starts.zip(self.ends.iter().copied()).zip(&self.known).map(text)
    }
}

/// Is it JSON text, by how it begins and ends? Parsing it takes longer than all else. A prompt may begin with a bracket too:
/// `[INST] …`.
fn is_json(bytes: &[u8]) -> bool {
    let bytes = bytes.trim_ascii();
    let [open, rest @ .., close] = bytes else { return false };
    let next = rest.trim_ascii_start().first();
    match (open, close) {
        (b'[', b']') => matches!(next, None | Some(b'{' | b'[' | b'"')),
        (b'{', b'}') => matches!(next, None | Some(b'"')),
        _ => false,
    }
}

/// What is known of spans, column by column.
#[derive(Debug, Default)]
pub struct Columns {
    /// The place of the trace among all of them, and of the turn in it, both from 0.
    pub trace: Vec<usize>,
    pub turn: Vec<usize>,
    texts: [Texts; NAMES.len()],
}

/// The columns of texts, in their order.
pub const NAMES: &[&str; 14] = &[
    "trace_id",
    "conversation_id",
    "kind",
    "id",
    "parent_id",
    "name",
    "agent",
    "input",
    "output",
    "status",
    "error",
    "started_at",
    "ended_at",
    "recorded_as",
];

impl Columns {
    /// Add a row for each span, or for each of a kind. What models were told, which is most of a log and the same history again
    /// and again, is left out unless models are asked for.
    pub fn push(&mut self, place: usize, trace: &Trace<'_>, kind: Option<Kind>) {
        for (number, (_, spans)) in trace.conversation.turns().enumerate() {
            for span in spans.iter().filter(|span| kind.is_none_or(|kind| kind == span.kind)) {
                self.trace.push(place);
                self.turn.push(number);
                self.push_span(trace, span, kind);
            }
        }
    }

    fn push_span(&mut self, trace: &Trace<'_>, span: &Span<'_>, asked: Option<Kind>) {
        let [
            trace_id,
            conversation_id,
            kind,
            id,
            parent,
            name,
            agent,
            input,
            output,
            status,
            error,
            start,
            end,
            recorded,
        ] = &mut self.texts;
        trace_id.push(trace.id);
        conversation_id.push(trace.conversation_id);
        kind.push_word(span.kind.word());
        id.push(span.id);
        parent.push(span.parent_id);
        name.push(Some(span.name));
        agent.push(span.agent);
        if span.kind == Kind::Llm && asked.is_none() {
            input.push(None);
        } else {
            input.push_input(span);
        }
        output.push_json(span.output);
        status.push(span.status);
        error.push(span.error);
        start.push_time(span.started_at);
        end.push_time(span.ended_at);
        recorded.push_word(span.recorded_as.word());
    }

    pub fn texts(&self) -> impl Iterator<Item = (&'static str, &Texts)> {
        NAMES.iter().copied().zip(&self.texts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::turns::Conversation;

    #[test]
    fn what_a_model_was_told_is_json_text() {
        let mut conversation = Conversation::default();
        for (kind, input) in [
            (Kind::Llm, "[{\"role\":  \"user\"}]"),
            (Kind::Llm, "[INST] Q [/INST]"),
            (Kind::Llm, "{\"cut\": \"sho"),
            (Kind::Llm, "Q"),
            (Kind::ToolCall, "[1,  2]"),
        ] {
            let span = Span { kind, input: Value::Text(Text::from(input)), ..Span::new(Text::from("n")) };
            conversation.push(span);
        }
        conversation.push(Span::new(Text::from("f")));
        let trace = Trace::new(conversation);
        let inputs = |kind| {
            let mut columns = Columns::default();
            columns.push(0, &trace, kind);
            let (_, inputs) = columns.texts().find(|(name, _)| *name == "input").unwrap();
            inputs.iter().map(|text| text.map(str::to_owned)).collect::<Vec<_>>()
        };
        let models = ["[{\"role\":  \"user\"}]", "\"[INST] Q [/INST]\"", "\"{\\\"cut\\\": \\\"sho\"", "\"Q\""];
        assert_eq!(inputs(Some(Kind::Llm)), models.map(|text| Some(text.to_owned())));
        assert_eq!(inputs(Some(Kind::ToolCall)), [Some("\"[1,  2]\"".to_owned()), None]);
        assert_eq!(inputs(None), [None, None, None, None, Some("\"[1,  2]\"".to_owned()), None]);
    }
}
