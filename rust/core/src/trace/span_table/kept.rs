//! What is kept of a span of a table until all of its trace was read: bytes, and as few as scoring its calls needs.
//!
//! Rows of a trace are anywhere in a table, so something of each has to stay in memory. Bytes that follow each other take
//! a third of what values in an arena would, go from thread to thread, and borrow nothing from the table.

use bumpalo::Bump;

use crate::{
    number::{Big, Magnitude},
    text::Text,
    trace::{
        span::{Kind, RecordedAs, Span},
        spans::{Recorded, Step, tree::Heard},
    },
    value::{Member, Value},
};

/// What there is of a trace.
pub enum Item<'a> {
    Span(Box<(Recorded<'a>, Step<'a>, Heard<'a>)>),
    /// The conversation, as it is told beside the spans.
    About(Option<Text<'a>>),
}

const SPAN: u8 = 1;
const ABOUT: u8 = 2;

const IS_REPEATED: u8 = 1;
const IS_MCP: u8 = 2;
/// It says what it answered.
const ANSWERED: u8 = 4;
const TELLS_PAST: u8 = 8;
const SAYS_ANYTHING: u8 = 16;
const HAS_INPUT: u8 = 32;

/// Write what there is beside the spans of a trace.
pub fn about(conversation_id: Option<Text<'_>>, out: &mut Vec<u8>) {
    out.push(ABOUT);
    text(conversation_id, out);
}

/// Write a span. `question`: what the user asked in it, if that is known and matters.
pub fn span(recorded: &Recorded<'_>, step: &Step<'_>, heard: &Heard<'_>, question: Option<&[u8]>, out: &mut Vec<u8>) {
    let is_tool = step.is(Kind::ToolCall);
    let input = step.input.filter(|_| is_tool);
    let flags = [
        (step.is_repeated, IS_REPEATED),
        (step.is_mcp, IS_MCP),
        (step.answered.is_some(), ANSWERED),
        (heard.tells_past, TELLS_PAST),
        (heard.says_anything, SAYS_ANYTHING),
        (input.is_some(), HAS_INPUT),
    ];
    out.push(SPAN);
    out.push(flags.iter().filter(|(is_set, _)| *is_set).fold(0, |all, (_, flag)| all | flag));
    out.push(step.kind.map_or(0, |kind| 1 + place(kind)));
    for one in [recorded.id, recorded.parent_id, Some(recorded.name), step.name, step.call_id, step.agent] {
        text(one, out);
    }
    text(step.conversation_id, out);
    text(step.turn_id, out);
    text(question.map(Text::Utf8), out);
    time(recorded.started_at, out);
    time(recorded.ended_at, out);
    if let Some(input) = input {
        value(input, out);
    }
    // What came of a call is told to nobody, so calls that nothing asked for are not missed.
    let asked_for = || heard.calls.iter().filter(|call| call.recorded_as != RecordedAs::Executed);
    number(asked_for().count() as u64, out);
    asked_for().for_each(|span| call(span, out));
}

fn call(span: &Span<'_>, out: &mut Vec<u8>) {
    out.push(place(span.kind));
    out.push(u8::from(span.recorded_as == RecordedAs::Requested) << 1 | u8::from(!matches!(span.output, Value::Null)));
    for one in [span.id, Some(span.name), span.agent] {
        text(one, out);
    }
    value(span.input, out);
}

fn place(kind: Kind) -> u8 {
    Kind::ALL.iter().position(|one| *one == kind).unwrap_or(0) as u8
}

/// Seven bits a byte, the lowest first.
fn number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn int(int: i64, out: &mut Vec<u8>) {
    number((int << 1 ^ int >> 63) as u64, out);
}

fn time(time: Option<i64>, out: &mut Vec<u8>) {
    out.push(u8::from(time.is_some()));
    out.extend(time.map(i64::to_le_bytes).into_iter().flatten());
}

/// The length and one, so that there is a place for none.
fn text(text: Option<Text<'_>>, out: &mut Vec<u8>) {
    match text {
        None => out.push(0),
        Some(Text::Utf8(bytes)) => bytes_of(bytes, 1, out),
        Some(other) => bytes_of(&other.to_utf8(), 1, out),
    }
}

fn bytes_of(bytes: &[u8], more: u64, out: &mut Vec<u8>) {
    number(bytes.len() as u64 + more, out);
    out.extend_from_slice(bytes);
}

const NULL: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const INT: u8 = 3;
const FLOAT: u8 = 4;
const TEXT: u8 = 5;
const ARRAY: u8 = 6;
const OBJECT: u8 = 7;
const BIG: u8 = 8;
const FOREIGN: u8 = 12;

/// Write any value.
pub fn value(of: Value<'_>, out: &mut Vec<u8>) {
    match of {
        Value::Null => out.push(NULL),
        Value::False => out.push(FALSE),
        Value::True => out.push(TRUE),
        Value::Int(of) => {
            out.push(INT);
            int(of, out);
        }
        Value::Float(float) => {
            out.push(FLOAT);
            out.extend_from_slice(&float.to_bits().to_le_bytes());
        }
        Value::Text(of) => {
            out.push(TEXT);
            text(Some(of), out);
        }
        Value::Array(items) => {
            out.push(ARRAY);
            number(items.len() as u64, out);
            items.iter().for_each(|item| value(*item, out));
        }
        Value::Object(members) => {
            out.push(OBJECT);
            number(members.len() as u64, out);
            for member in members {
                text(Some(member.key), out);
                value(member.value, out);
            }
        }
        Value::Big(big) => {
            let (is_binary, digits) = match big.magnitude {
                Magnitude::Decimal(digits) => (0, digits),
                Magnitude::Binary(bytes) => (1, bytes),
            };
            out.push(BIG + u8::from(big.negative) * 2 + is_binary);
            bytes_of(digits, 0, out);
        }
        Value::Foreign(name) => {
            out.push(FOREIGN);
            text(Some(*name), out);
        }
    }
}

/// Reads what was written. None: it was cut off, which it never is.
struct Cursor<'a> {
    rest: &'a [u8],
    bump: &'a Bump,
}

/// The item that begins here.
pub fn item<'a>(bytes: &'a [u8], trace_id: Text<'a>, bump: &'a Bump) -> Option<Item<'a>> {
    let mut cursor = Cursor { rest: bytes, bump };
    match cursor.byte()? {
        SPAN => Some(Item::Span(Box::new(cursor.span(trace_id)?))),
        ABOUT => Some(Item::About(cursor.text()?)),
        _ => None,
    }
}

/// The value that begins here.
pub fn value_in<'a>(bytes: &'a [u8], bump: &'a Bump) -> Option<Value<'a>> {
    Cursor { rest: bytes, bump }.value()
}

impl<'a> Cursor<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn bytes(&mut self, count: u64) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(usize::try_from(count).ok()?)?;
        self.rest = rest;
        Some(bytes)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn eight(&mut self) -> Option<[u8; 8]> {
        self.bytes(8)?.try_into().ok()
    }

    fn time(&mut self) -> Option<Option<i64>> {
        match self.byte()? {
            0 => Some(None),
            _ => Some(Some(i64::from_le_bytes(self.eight()?))),
        }
    }

    fn text(&mut self) -> Option<Option<Text<'a>>> {
        match self.number()?.checked_sub(1) {
            None => Some(None),
            Some(length) => Some(Some(Text::Utf8(self.bytes(length)?))),
        }
    }

    fn kind(place: u8) -> Option<Kind> {
        Kind::ALL.get(usize::from(place)).copied()
    }

    fn span(&mut self, trace_id: Text<'a>) -> Option<(Recorded<'a>, Step<'a>, Heard<'a>)> {
        let flags = self.byte()?;
        let has = |flag: u8| flags & flag != 0;
        let kind = self.byte()?.checked_sub(1).and_then(Self::kind);
        let (id, parent_id, recorded_name) = (self.text()?, self.text()?, self.text()?);
        let (name, call_id, agent) = (self.text()?, self.text()?, self.text()?);
        let (conversation_id, turn_id, question) = (self.text()?, self.text()?, self.text()?);
        let (started_at, ended_at) = (self.time()?, self.time()?);
        let input = if has(HAS_INPUT) { Some(self.value()?) } else { None };
        let mut calls = Vec::new();
        for _ in 0..self.number()? {
            calls.push(self.call()?);
        }
        let recorded = Recorded {
            trace_id,
            id,
            parent_id,
            name: recorded_name.unwrap_or(Text::from("")),
            started_at,
            ended_at,
            status: None,
            status_message: None,
            attributes: Default::default(),
            events: Vec::new(),
            row: Value::Null,
        };
        let step = Step {
            kind,
            name,
            call_id,
            agent,
            input,
            conversation_id,
            asked: question.map(Value::Text),
            answered: has(ANSWERED).then_some(Value::Null),
            is_repeated: has(IS_REPEATED),
            is_mcp: has(IS_MCP),
            turn_id,
            ..Step::default()
        };
        let heard = Heard { calls, tells_past: has(TELLS_PAST), says_anything: has(SAYS_ANYTHING) };
        Some((recorded, step, heard))
    }

    fn call(&mut self) -> Option<Span<'a>> {
        let kind = Self::kind(self.byte()?)?;
        let marks = self.byte()?;
        let (id, name, agent) = (self.text()?, self.text()?, self.text()?);
        let input = self.value()?;
        let output = if marks & 1 == 0 { Value::Null } else { Value::True };
        let recorded_as = if marks & 2 == 0 { RecordedAs::Both } else { RecordedAs::Requested };
        let name = name.unwrap_or(Text::from(""));
        Some(Span { kind, id, agent, input, output, recorded_as, ..Span::new(name) })
    }

    fn value(&mut self) -> Option<Value<'a>> {
        Some(match self.byte()? {
            NULL => Value::Null,
            FALSE => Value::False,
            TRUE => Value::True,
            INT => {
                let number = self.number()?;
                Value::Int((number >> 1) as i64 ^ -((number & 1) as i64))
            }
            FLOAT => Value::Float(f64::from_bits(u64::from_le_bytes(self.eight()?))),
            TEXT => Value::Text(self.text()??),
            ARRAY => {
                let mut items = Vec::new();
                for _ in 0..self.number()? {
                    items.push(self.value()?);
                }
                Value::Array(self.bump.alloc_slice_copy(&items))
            }
            OBJECT => {
                let mut members = Vec::new();
                for _ in 0..self.number()? {
                    members.push(Member { key: self.text()??, value: self.value()? });
                }
                Value::Object(self.bump.alloc_slice_copy(&members))
            }
            FOREIGN => Value::Foreign(self.bump.alloc(self.text()??)),
            tag => {
                let marks = tag.checked_sub(BIG)?;
                let length = self.number()?;
                let digits = self.bytes(length)?;
                let magnitude = if marks & 1 == 0 { Magnitude::Decimal(digits) } else { Magnitude::Binary(digits) };
                Value::Big(self.bump.alloc(Big { negative: marks & 2 != 0, magnitude }))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{call::Reader, show};

    #[test]
    fn values_are_what_they_were() {
        let bump = Bump::new();
        for text in [
            r#"{"a": [1, -1, 0, 9223372036854775807, -9223372036854775808, 1.5, -0.0, 1e300], "b": {"": null, "é": "\ud800"}}"#,
            r#"[true, false, null, "", "x", [], {}, 123456789012345678901234567890, -99999999999999999999]"#,
        ] {
            let (written, _) = Reader::parse(text.as_bytes(), &bump).unwrap();
            let mut bytes = Vec::new();
            value(written, &mut bytes);
            assert_eq!(show::json_text(value_in(&bytes, &bump).unwrap()), show::json_text(written));
            // Cut off anywhere, it is none.
            assert!((0..bytes.len()).all(|end| value_in(&bytes[..end], &bump).is_none()), "{text}");
        }
        let mut bytes = Vec::new();
        let big = Big { negative: true, magnitude: Magnitude::Binary(&[1, 2, 3]) };
        value(Value::Big(bump.alloc(big)), &mut bytes);
        let read = value_in(&bytes, &bump);
        assert!(matches!(read, Some(Value::Big(Big { negative: true, magnitude: Magnitude::Binary([1, 2, 3]) }))));
    }

    #[test]
    fn a_span_is_what_the_tree_needs_of_it() {
        let bump = Bump::new();
        let text = |text: &'static str| Some(Text::from(text));
        let recorded = Recorded {
            trace_id: Text::from("t"),
            id: text("a"),
            parent_id: text("b"),
            name: Text::from("span"),
            started_at: Some(-1),
            ended_at: None,
            status: None,
            status_message: None,
            attributes: Default::default(),
            events: Vec::new(),
            row: Value::Null,
        };
        let step = Step {
            kind: Some(Kind::ToolCall),
            name: text("tool"),
            call_id: text("1"),
            agent: text("boss"),
            input: Some(Value::Int(-5)),
            output: Some(Value::True),
            answered: Some(Value::True),
            conversation_id: text("s"),
            turn_id: text("i"),
            is_mcp: true,
            ..Step::default()
        };
        let made = Span { id: text("2"), output: Value::Int(7), input: Value::True, ..Span::new(Text::from("f")) };
        let asked = Span { recorded_as: RecordedAs::Requested, ..Span::new(Text::from("g")) };
        let executed = Span { recorded_as: RecordedAs::Executed, ..Span::new(Text::from("h")) };
        let heard = Heard { calls: vec![made, executed, asked], tells_past: true, says_anything: false };
        let mut bytes = Vec::new();
        span(&recorded, &step, &heard, Some(b"why?"), &mut bytes);
        let Some(Item::Span(read)) = item(&bytes, Text::from("t"), &bump) else { panic!("a span") };
        let (recorded, step, heard) = *read;
        assert_eq!((recorded.id, recorded.parent_id, recorded.name), (text("a"), text("b"), Text::from("span")));
        assert_eq!((recorded.started_at, recorded.ended_at), (Some(-1), None));
        assert_eq!((step.kind, step.name, step.call_id), (Some(Kind::ToolCall), text("tool"), text("1")));
        assert_eq!((step.agent, step.conversation_id, step.turn_id), (text("boss"), text("s"), text("i")));
        assert!(step.is_mcp && !step.is_repeated && step.output.is_none());
        assert!(matches!((step.input, step.answered), (Some(Value::Int(-5)), Some(Value::Null))));
        assert!(matches!(step.asked, Some(Value::Text(asked)) if asked.is("why?")));
        assert!(heard.tells_past && !heard.says_anything);
        let [made, asked] = &heard.calls[..] else { panic!("two calls") };
        assert_eq!((made.id, made.name, made.recorded_as), (text("2"), Text::from("f"), RecordedAs::Both));
        assert!(matches!((made.input, made.output), (Value::True, Value::True)));
        assert_eq!((asked.id, asked.name, asked.recorded_as), (None, Text::from("g"), RecordedAs::Requested));
        assert!(matches!((asked.input, asked.output), (Value::Null, Value::Null)));
        assert!((0..bytes.len()).all(|end| item(&bytes[..end], Text::from("t"), &bump).is_none()));
    }
}
