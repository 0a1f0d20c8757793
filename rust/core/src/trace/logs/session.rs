//! What the logs of coding agents have in common: entries of a session, some of them on branches that were left, or
//! written by the tool itself in the name of the user.
//!
//! A result whose call is not there is a problem, and no span: a session is whole but for lines that are broken, and what
//! was taken back or made shorter leaves results behind.

use std::collections::{HashMap, HashSet};

use super::reading::{ERROR, Reading};
use crate::{
    call::Reader,
    error::Error,
    show,
    text::Text,
    trace::{
        messages::{
            blocks,
            content::{TEXT, content_text},
            parts::{self, Keys, reject_calls},
        },
        span::Span,
        stored::{Found, Trace},
        turns::Answer,
    },
    value::Value,
};

pub const TYPE: &str = "type";
pub const ROLE: &str = "role";
pub const CONTENT: &str = "content";
pub const MESSAGE: &str = "message";
pub const USER: &str = "user";
pub const ASSISTANT: &str = "assistant";

const BLOCK: Keys = Keys { id: &["id", "tool_use_id"], name: &["name"], arguments: &["input", "arguments", "args"] };

/// What a session told so far.
pub struct Session<'a> {
    pub reading: Reading<'a>,
    told: Vec<Told<'a>>,
    /// The calls of messages that have an id.
    calls: HashSet<(Text<'a>, Text<'a>)>,
}

#[derive(Clone, Copy)]
enum Told<'a> {
    Asked(Option<Text<'a>>),
    Said(Text<'a>),
    Called(Span<'a>),
    Done(Span<'a>),
    Answered(Answered<'a>),
}

/// An answer, when it came, and in which record.
#[derive(Clone, Copy)]
struct Answered<'a> {
    answer: Answer<'a>,
    at: Value<'a>,
    record: usize,
}

/// Whose message it is, and where it stands.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    pub record: usize,
    pub at: Value<'a>,
    pub is_by_user: bool,
    pub agent: Option<Text<'a>>,
    /// Of the message, of which there may be several entries, and the same calls in more than one.
    pub message_id: Option<Text<'a>>,
    /// It belongs to an agent that was called as a tool: what is asked and said there is neither by the user nor to
    /// them.
    pub is_inner: bool,
}

impl<'a> Session<'a> {
    pub fn new(reader: Reader<'a>) -> Self {
        Session { reading: Reading::new(reader), told: Vec::new(), calls: HashSet::new() }
    }

    pub fn reader(&self) -> Reader<'a> {
        self.reading.reader
    }

    pub fn asked(&mut self, text: Option<Text<'a>>) {
        self.told.push(Told::Asked(text));
    }

    pub fn said(&mut self, text: Option<Text<'a>>) {
        self.told.extend(text.filter(|text| !text.is_blank()).map(Told::Said));
    }

    /// The place of what was told last.
    pub fn last(&self) -> usize {
        self.told.len().saturating_sub(1)
    }

    /// What was said at a place, told anew.
    pub fn say_instead(&mut self, place: usize, text: Text<'a>) {
        if let Some(told @ Told::Said(_)) = self.told.get_mut(place) {
            *told = Told::Said(text);
        }
    }

    pub fn called(&mut self, span: Span<'a>) {
        self.told.push(Told::Called(span));
    }

    /// A call that is told with what came of it.
    pub fn done(&mut self, span: Span<'a>) {
        self.told.push(Told::Done(span));
    }

    pub fn answered(&mut self, answer: Answer<'a>, at: Value<'a>, record: usize) {
        self.told.push(Told::Answered(Answered { answer, at, record }));
    }

    /// The last questions and all that followed them were taken back.
    pub fn rewind(&mut self, questions: usize) {
        for _ in 0..questions {
            let Some(place) = self.told.iter().rposition(|told| matches!(told, Told::Asked(_))) else { return };
            self.told.truncate(place);
        }
    }

    /// Read what stands at a place: its problems get that place.
    pub fn inside(&mut self, place: impl Fn(Error) -> Error, read: impl FnOnce(&mut Self) -> Result<(), Error>) {
        let before = self.reading.problems.len();
        let read = read(self);
        self.locate(before, read, place);
    }

    /// The same where it was read already, beginning with so many problems.
    pub fn locate(&mut self, before: usize, read: Result<(), Error>, place: impl Fn(Error) -> Error) {
        self.reading.problems.extend(read.err());
        let inside = self.reading.problems.split_off(before);
        self.reading.problems.extend(inside.into_iter().map(place));
    }

    /// A message of blocks like Anthropic's: calls and results, texts and thoughts. Returns what was asked or said in
    /// it.
    pub fn message(&mut self, message: Value<'a>, entry: Entry<'a>, noise: &[&str]) -> Option<Text<'a>> {
        let content = message.get(CONTENT);
        let mut texts = Vec::new();
        self.inside(
            |error| error.at_key(Text::from(CONTENT)),
            |session| {
                for (index, &block) in blocks::of(content).iter().enumerate() {
                    session.inside(|error| error.at_index(index), |session| session.block(block, entry));
                }
                Ok(())
            },
        );
        match content {
            Some(Value::Array(blocks)) => {
                texts.extend(
                    blocks.iter().filter(|block| !is_told(**block)).filter_map(|&block| self.heard(block, noise)),
                );
            }
            Some(content) => texts.extend(self.heard(content, noise)),
            None => {}
        }
        let text = parts::joined(self.reader(), &texts).filter(|_| !entry.is_inner)?;
        if entry.is_by_user {
            self.asked(Some(text));
        } else {
            self.said(Some(text));
        }
        Some(text)
    }

    fn block(&mut self, block: Value<'a>, entry: Entry<'a>) -> Result<(), Error> {
        if blocks::is_call(block) {
            let span = self.reading.call(block, &BLOCK)?;
            if let (Some(message), Some(id)) = (entry.message_id, span.id)
                && !self.calls.insert((message, id))
            {
                return Ok(());
            }
            self.called(Span { agent: entry.agent, started_at: entry.at, ..span });
        } else if blocks::is_result(block) {
            let answer = self.answer(block, &["tool_use_id", "tool_call_id"]);
            self.answered(answer, entry.at, entry.record);
        } else if let Some(kind) = parts::text(block, &[TYPE]).filter(|kind| !blocks::is_not_said(*kind)) {
            reject_calls(kind, "the type of a block", &["tool_use", "tool_result", TEXT])
                .map_err(|error| error.at_key(Text::from(TYPE)))?;
        } else if block.get(TYPE).is_none() {
            check_unknown(None, block)?;
        }
        Ok(())
    }

    /// The result of a call: what it was, and whether it is marked as an error.
    pub fn answer(&mut self, holder: Value<'a>, ids: &[&str]) -> Answer<'a> {
        let failed = matches!(parts::found(holder, &["is_error", "isError"]), Some((_, Value::True)));
        let failure = blocks::failure(holder);
        Answer {
            id: parts::id(self.reader(), holder, ids),
            name: None,
            output: self.reading.output(holder, &[CONTENT]),
            status: (failed || failure.is_some()).then_some(Text::from(ERROR)),
            error: failure,
        }
    }

    /// What a text or block says, unless it is noise.
    fn heard(&self, block: Value<'a>, noise: &[&str]) -> Option<Text<'a>> {
        let text = content_text(Some(block), self.reader().bump)?;
        without_noise(self.reader(), text, noise)
    }

    /// The trace of what was told. A result belongs to the call of its id, also if that comes later. Where a call without
    /// a result stands in the log says `place`.
    pub fn finish<'f>(mut self, found: &'f mut Found<'a>, place: impl Fn(Error, usize) -> Error) -> &'f mut Trace<'a> {
        let mut calls: HashMap<Text<'a>, Calls> = HashMap::new();
        for (place, told) in self.told.iter().enumerate() {
            let (Told::Called(span) | Told::Done(span)) = told else { continue };
            if let Some(id) = span.id {
                calls.entry(id).or_insert(Calls { first: place, count: 0 }).count += 1;
            }
        }
        let (mut ends, mut early): (HashMap<usize, Value<'a>>, HashMap<usize, Vec<Answered<'a>>>) = Default::default();
        for (place, told) in self.told.iter().enumerate() {
            let Told::Answered(answered) = told else { continue };
            let Some(calls) = answered.answer.id.and_then(|id| calls.get(&id)) else { continue };
            if calls.count == 1 {
                ends.insert(calls.first, answered.at);
            }
            if calls.first > place {
                early.entry(calls.first).or_default().push(*answered);
            }
        }
        let mut listener = std::mem::take(&mut self.reading.listener);
        let mut answers = Vec::new();
        for (index, told) in self.told.into_iter().enumerate() {
            match told {
                Told::Asked(text) => listener.asked(text),
                Told::Said(text) => listener.said(Some(text)),
                Told::Done(span) => listener.done(span),
                Told::Called(span) => {
                    let ended_at = ends.get(&index).copied().unwrap_or(span.ended_at);
                    listener.called(Span { ended_at, ..span });
                }
                Told::Answered(answered) => {
                    let calls = answered.answer.id.and_then(|id| calls.get(&id));
                    if calls.is_none_or(|calls| calls.first < index) {
                        listener.answered(answered.answer);
                        answers.push(answered);
                    }
                }
            }
            for answered in early.remove(&index).into_iter().flatten() {
                listener.answered(answered.answer);
                answers.push(answered);
            }
        }
        let (conversation, left_out) = listener.finish_called();
        let orphans = left_out.into_iter().filter_map(|number| answers.get(number));
        self.reading.problems.extend(orphans.map(|orphan| place(self::orphan(orphan.answer.id), orphan.record)));
        found.problems.append(&mut self.reading.problems);
        found.told(conversation)
    }
}

/// The calls with an id.
struct Calls {
    /// Its place among all that was told.
    first: usize,
    count: usize,
}

#[cold]
fn orphan(id: Option<Text<'_>>) -> Error {
    let id = id.map_or(String::new(), |id| format!(", {:?}", show::in_a_sentence(&show::storable(id))));
    Error::value(format!("the result of a call that is not in the log{id}"))
}

/// Calls and results, which are told otherwise, and thoughts.
fn is_told(block: Value<'_>) -> bool {
    parts::text(block, &[TYPE]).is_some_and(blocks::is_not_said)
}

const REMINDER: (&[u8], &[u8]) = (b"<system-reminder>", b"</system-reminder>");

/// What is left of a text without the reminders before it; None if nothing is, or if it begins as what only the tool
/// writes.
pub fn without_noise<'a>(reader: Reader<'a>, text: Text<'a>, noise: &[&str]) -> Option<Text<'a>> {
    let bytes = text.utf8_in(reader.bump);
    let mut rest = bytes.trim_ascii_start();
    while let Some(reminder) = rest.strip_prefix(REMINDER.0) {
        let end = memchr::memmem::find(reminder, REMINDER.1)? + REMINDER.1.len();
        rest = reminder.get(end..)?.trim_ascii_start();
    }
    if rest.is_empty() || noise.iter().any(|noise| rest.starts_with(noise.as_bytes())) {
        return None;
    }
    Some(if rest.len() == bytes.trim_ascii_start().len() { text } else { Text::Utf8(rest) })
}

/// An entry that nobody knows may be a call, or hold one, which must not pass for none.
pub fn check_unknown(kind: Option<Text<'_>>, entry: Value<'_>) -> Result<(), Error> {
    let sign = parts::found(entry, SIGNS).map(|(key, _)| ("be", key.to_owned()));
    let Some((how, key)) = sign.or_else(|| Some(("hold", call_in(entry, MOST_LEVELS)?))) else { return Ok(()) };
    let quoted = |text: String| format!("{:?}", show::in_a_sentence(&text));
    let kind = kind.map_or(String::new(), |kind| format!(", {}", quoted(show::storable(kind))));
    Err(Error::value(format!("an entry of an unknown type{kind}, which may {how} a call: it has {key}")))
}

/// What an entry has that is a call.
const SIGNS: &[&str] = &[
    "name",
    "arguments",
    "args",
    "input",
    "tool",
    "toolName",
    "tool_name",
    "toolCalls",
    "toolCall",
    "toolInvocation",
    "tool_calls",
];
/// What holds calls, whatever is around it.
const HOLDERS: &[&str] =
    &["tool_calls", "toolCalls", "toolCall", "toolInvocation", "toolUse", "functionCall", "function_call"];
/// How deep it is searched for.
const MOST_LEVELS: usize = 8;

/// By what a value is known to hold a call.
fn call_in(value: Value<'_>, levels: usize) -> Option<String> {
    let levels = levels.checked_sub(1)?;
    let members = match value {
        Value::Array(items) => return items.iter().find_map(|item| call_in(*item, levels)),
        Value::Object(members) => members,
        _ => return None,
    };
    let kind = parts::text(value, &[TYPE]).filter(|kind| reject_calls(*kind, "", &[]).is_err());
    if let Some(kind) = kind.filter(|_| parts::found(value, SIGNS).is_some()) {
        return Some(show::in_a_sentence(&show::storable(kind)));
    }
    let held = parts::found(value, HOLDERS).filter(|(_, held)| !matches!(held, Value::Array([])));
    held.map(|(key, _)| key.to_owned()).or_else(|| members.iter().find_map(|member| call_in(member.value, levels)))
}

/// An entry in the tree that a session is where the user went back and began anew.
pub struct Node<'a> {
    /// One without an id is in no branch, and counts.
    pub id: Option<Text<'a>>,
    pub parent: Parent<'a>,
    /// May it be the end of the conversation? Other entries (of a model that was chosen, of a progress) only lead
    /// there.
    pub is_said: bool,
}

#[derive(Clone, Copy)]
pub enum Parent<'a> {
    Of(Text<'a>),
    /// The conversation begins here.
    None,
    /// Whatever stands before it.
    NotRecorded,
}

/// Which entries are on the branch that leads to the last one. Where a parent can't be found, because it isn't recorded
/// or its line was broken, it is the entry before.
pub fn branch(nodes: &[Node<'_>]) -> Vec<bool> {
    let mut places = HashMap::new();
    for (place, node) in nodes.iter().enumerate() {
        if let Some(id) = node.id {
            places.entry(id).or_insert(place);
        }
    }
    let parent = |node: &Node<'_>| match node.parent {
        Parent::Of(id) => places.get(&id).copied(),
        _ => None,
    };
    if !nodes.iter().any(|node| parent(node).is_some()) {
        return vec![true; nodes.len()];
    }
    let mut is_on: Vec<bool> = nodes.iter().map(|node| node.id.is_none()).collect();
    let before = |place: usize| nodes.iter().take(place).rposition(|node| node.id.is_some());
    let mut next = nodes.iter().rposition(|node| node.id.is_some() && node.is_said);
    while let Some(place) = next {
        match is_on.get_mut(place) {
            Some(is_on) if !*is_on => *is_on = true,
            // Around in a circle.
            _ => break,
        }
        next = nodes.get(place).and_then(|node| match node.parent {
            Parent::None => None,
            _ => parent(node).or_else(|| before(place)),
        });
    }
    is_on
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;

    use super::*;

    fn on(nodes: &[(&'static str, Option<&'static str>)]) -> String {
        let text = |text: &'static str| Some(Text::from(text)).filter(|text| !text.is_empty());
        let node = |&(id, parent): &(&'static str, Option<&'static str>)| Node {
            id: text(id),
            parent: match parent {
                Some("") => Parent::NotRecorded,
                Some(parent) => Parent::Of(Text::from(parent)),
                None => Parent::None,
            },
            is_said: id != "x",
        };
        let nodes: Vec<_> = nodes.iter().map(node).collect();
        branch(&nodes).into_iter().map(|is_on| if is_on { '+' } else { '-' }).collect()
    }

    #[test]
    fn the_branch_to_the_last_entry_counts() {
        for (nodes, wanted) in [
            (&[("a", None), ("b", Some("a")), ("c", Some("b"))][..], "+++"),
            (&[("a", None), ("b", Some("a")), ("c", Some("a")), ("d", Some("c"))], "+-++"),
            (&[("a", None), ("b", Some("a")), ("c", None), ("d", Some("c"))], "--++"),
            // What is not said doesn't end a branch.
            (&[("a", None), ("b", Some("a")), ("x", Some("a"))], "++-"),
            (&[("a", None), ("x", Some("a")), ("b", Some("x"))], "+++"),
            // Without a tree, and with holes in it.
            (&[("a", None), ("b", None), ("c", Some(""))], "+++"),
            (&[("a", None), ("b", Some("a")), ("c", Some("lost")), ("d", Some("c"))], "++++"),
            (&[("a", None), ("b", Some("a")), ("", Some("")), ("c", Some(""))], "++++"),
            (&[("a", None), ("b", Some("a")), ("c", Some("a")), ("", None)], "+-++"),
            // Circles, and an entry that comes again.
            (&[("a", Some("b")), ("b", Some("a"))], "++"),
            (&[("a", Some("a"))], "+"),
            (&[("a", None), ("b", Some("a")), ("b", Some("a"))], "+-+"),
            (&[], ""),
        ] {
            assert_eq!(on(nodes), wanted, "{nodes:?}");
        }
    }

    #[test]
    fn an_unknown_entry_that_may_hold_a_call_is_a_problem() {
        for (entry, sign) in [
            (r#"{"toolName": "f"}"#, Some("be a call: it has toolName")),
            (r#"{"message": {"content": [{"type": "tool_use", "name": "f"}]}}"#, Some("hold a call: it has tool_use")),
            (r#"{"payload": {"type": "FunctionCall", "name": "f"}}"#, Some("hold a call: it has FunctionCall")),
            (r#"{"parts": [{"functionCall": {}}]}"#, Some("hold a call: it has functionCall")),
            (r#"{"message": {"tool_calls": []}, "data": {"toolCall": null}}"#, None),
            (r#"{"type": "tool_list", "snapshot": {"name": "x", "type": "file"}}"#, None),
            ("7", None),
        ] {
            let bump = Bump::new();
            let (value, _) = Reader::parse(entry.as_bytes(), &bump).unwrap();
            let told = check_unknown(Some(Text::from("new")), value).err().map(|error| error.to_string());
            let wanted = sign.map(|sign| format!(r#"an entry of an unknown type, "new", which may {sign}"#));
            assert_eq!(told, wanted, "{entry}");
        }
    }

    #[test]
    fn what_the_tool_writes_is_not_asked() {
        let bump = Bump::new();
        let reader = Reader::new(&bump, false);
        let read = |text: &'static str| without_noise(reader, Text::from(text), &["<note>"]).map(show::plain);
        assert_eq!(read("hi <note>").as_deref(), Some("hi <note>"));
        assert_eq!(read(" hi").as_deref(), Some(" hi"));
        assert_eq!(
            read("<system-reminder>x</system-reminder>\n<system-reminder>y</system-reminder> hi").as_deref(),
            Some("hi")
        );
        for noise in [
            "",
            " ",
            "<note>x</note>",
            " <note>",
            "<system-reminder>x</system-reminder>",
            "<system-reminder>x",
            "<system-reminder>x</system-reminder><note>",
        ] {
            assert_eq!(read(noise), None, "{noise}");
        }
    }

    #[test]
    fn results_find_calls_that_come_later_and_those_without_an_id() {
        let bump = Bump::new();
        let reader = Reader::new(&bump, false);
        let mut session = Session::new(reader);
        let call = |id: Option<&'static str>, name: &'static str| Span {
            id: id.map(Text::from),
            ..Span::new(Text::from(name))
        };
        let answer = |id: Option<&'static str>, name: Option<&'static str>, output| {
            let (id, name) = (id.map(Text::from), name.map(Text::from));
            Answer { id, name, output: Value::Int(output), status: None, error: None }
        };
        let at = Value::Text(Text::from("noon"));
        // The same names and results in any order of hashing.
        for _ in 0..20 {
            let mut session = Session::new(reader);
            session.answered(answer(None, Some("f"), 0), at, 0);
            session.called(call(None, "f"));
            session.called(call(None, "g"));
            session.answered(answer(None, None, 1), at, 3);
            session.answered(answer(None, Some("g"), 2), at, 4);
            session.called(call(Some("1"), "h"));
            session.answered(answer(None, Some("h"), 3), at, 6);
            let mut found = Found::new(reader);
            let spans = session.finish(&mut found, |error, place| error.at_index(place)).spans();
            let told: Vec<_> = spans.iter().map(|span| show::json_text(span.output)).collect();
            assert_eq!(told, ["1", "2", "3"]);
            let problems: Vec<_> = found.problems.iter().map(ToString::to_string).collect();
            assert_eq!(problems, ["[0]: the result of a call that is not in the log"]);
        }
        session.answered(answer(Some("1"), None, 1), at, 0);
        session.called(call(Some("1"), "a"));
        session.called(call(None, "b"));
        session.answered(answer(Some("2"), Some("c"), 3), at, 3);
        session.answered(answer(Some("3"), Some("b"), 2), at, 4);
        session.answered(answer(None, Some("b"), 4), at, 5);
        let mut found = Found::new(reader);
        let spans = session.finish(&mut found, |error, place| error.at_index(place)).spans();
        let told: Vec<_> = spans.iter().map(|span| (show::plain(span.name), show::json_text(span.output))).collect();
        assert_eq!(told, [("a".to_owned(), "1".to_owned()), ("b".to_owned(), "2".to_owned())]);
        assert_eq!(show::json_text(spans[0].ended_at), r#""noon""#);
        let problems: Vec<_> = found.problems.iter().map(ToString::to_string).collect();
        let lost = "the result of a call that is not in the log";
        assert_eq!(problems, [format!(r#"[3]: {lost}, "2""#), format!("[5]: {lost}")]);
    }
}
