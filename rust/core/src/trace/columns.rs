//! Traces as columns: a row for each span.

use std::ops::Range;

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

    /// What some of the rows hold.
    pub fn rows(&self, rows: Range<usize>) -> impl ExactSizeIterator<Item = Option<&str>> {
        rows.map(|row| {
            let start = row.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
            self.all.get(start..*self.ends.get(row)?).filter(|_| self.known.get(row) == Some(&true))
        })
    }

    /// How many bytes the texts of some of the rows take.
    pub fn length(&self, rows: Range<usize>) -> usize {
        let end = |row: usize| row.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        end(rows.end).saturating_sub(end(rows.start))
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

/// Of which spans there are rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    All,
    Kind(Kind),
}

/// What is known of spans, column by column.
#[derive(Debug)]
pub struct Columns {
    of: Of,
    /// The place of the turn in its trace, from 0.
    pub turns: Vec<usize>,
    texts: [Texts; NAMES.len()],
}

/// How much room columns take.
#[derive(Clone, Copy, Debug, Default)]
pub struct Room {
    rows: usize,
    texts: [usize; NAMES.len()],
}

/// The rows of a trace.
pub struct Rows<'c> {
    /// The place of the trace among all of them.
    pub place: usize,
    pub columns: &'c Columns,
    pub rows: Range<usize>,
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
    pub fn new(of: Of) -> Self {
        Columns { of, turns: Vec::new(), texts: Default::default() }
    }

    /// With room for as much as these hold, and somewhat more.
    pub fn like(of: Of, Room { rows, texts }: &Room) -> Self {
        let more = |size: usize| size + size / 8;
        let texts = texts.map(|bytes| Texts {
            all: String::with_capacity(more(bytes)),
            ends: Vec::with_capacity(more(*rows)),
            known: Vec::with_capacity(more(*rows)),
        });
        Columns { of, turns: Vec::with_capacity(more(*rows)), texts }
    }

    /// How much they hold.
    pub fn room(&self) -> Room {
        Room { rows: self.turns.len(), texts: self.texts.each_ref().map(|texts| texts.all.len()) }
    }

    /// Add the rows of a trace, and say where they are. What models were told, which is most of a log and the same history
    /// again and again, is left out unless models are asked for.
    pub fn push(&mut self, trace: &Trace<'_>) -> Range<usize> {
        let (start, of) = (self.turns.len(), self.of);
        for (number, (_, spans)) in trace.conversation.turns().enumerate() {
            for span in spans.iter().filter(|span| of == Of::All || of == Of::Kind(span.kind)) {
                self.turns.push(number);
                self.push_span(trace, span);
            }
        }
        start..self.turns.len()
    }

    /// How much memory they take.
    pub fn bytes(&self) -> usize {
        let text =
            |texts: &Texts| texts.all.capacity() + texts.ends.capacity() * size_of::<usize>() + texts.known.capacity();
        size_of::<Self>() + self.turns.capacity() * size_of::<usize>() + self.texts.iter().map(text).sum::<usize>()
    }

    fn push_span(&mut self, trace: &Trace<'_>, span: &Span<'_>) {
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
        if span.kind == Kind::Llm && self.of == Of::All {
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

    /// A column of texts, by its place among [`NAMES`].
    pub fn texts(&self, column: usize) -> Option<&Texts> {
        self.texts.get(column)
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
        let inputs = |of| {
            let mut columns = Columns::new(of);
            let rows = columns.push(&trace);
            let inputs = columns.texts(NAMES.iter().position(|name| *name == "input").unwrap()).unwrap();
            inputs.rows(rows).map(|text| text.map(str::to_owned)).collect::<Vec<_>>()
        };
        let models = ["[{\"role\":  \"user\"}]", "\"[INST] Q [/INST]\"", "\"{\\\"cut\\\": \\\"sho\"", "\"Q\""];
        assert_eq!(inputs(Of::Kind(Kind::Llm)), models.map(|text| Some(text.to_owned())));
        assert_eq!(inputs(Of::Kind(Kind::ToolCall)), [Some("\"[1,  2]\"".to_owned()), None]);
        assert_eq!(inputs(Of::All), [None, None, None, None, Some("\"[1,  2]\"".to_owned()), None]);
    }
}
