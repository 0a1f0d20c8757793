//! Which turns a conversation has, and which result belongs to which call: one rule for every dialect.
//!
//! A user message starts a turn, and everything up to the next one belongs to it. What comes before the first user message
//! is a turn without an input.

use std::collections::{HashMap, VecDeque};

use bumpalo::Bump;

use super::span::Span;
use crate::{compare, text::Text, value::Value};

#[derive(Debug, Default)]
pub struct Conversation<'a> {
    turns: Vec<Turn<'a>>,
    spans: Vec<Span<'a>>,
}

#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    pub input: Option<Text<'a>>,
    /// The last text that the assistant wrote in it.
    pub output: Option<Text<'a>>,
    /// The place of its first span among all of them.
    first: usize,
}

/// What a tool answered.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// Of the call.
    pub id: Option<Text<'a>>,
    pub name: Option<Text<'a>>,
    pub output: Value<'a>,
    pub status: Option<Text<'a>>,
    pub error: Option<Text<'a>>,
}

impl<'a> Conversation<'a> {
    /// Each turn with its spans.
    pub fn turns(&self) -> impl Iterator<Item = (&Turn<'a>, &[Span<'a>])> {
        let ends = self.turns.iter().skip(1).map(|turn| turn.first).chain([self.spans.len()]);
        self.turns.iter().zip(ends).map(|(turn, end)| (turn, self.spans.get(turn.first..end).unwrap_or_default()))
    }

    pub fn spans(&self) -> &[Span<'a>] {
        &self.spans
    }

    pub fn into_spans(self) -> Vec<Span<'a>> {
        self.spans
    }

    /// A copy that borrows nothing from the source.
    pub fn copy_to<'b>(&self, bump: &'b Bump) -> Conversation<'b> {
        let text = |text: Option<Text<'a>>| text.map(|text| text.copy_to(bump));
        let turn = |turn: &Turn<'a>| Turn { input: text(turn.input), output: text(turn.output), first: turn.first };
        Conversation {
            turns: self.turns.iter().map(turn).collect(),
            spans: self.spans.iter().map(|span| span.copy_to(bump)).collect(),
        }
    }
}

/// Takes what happened, in order.
#[derive(Default)]
pub struct Listener<'a> {
    events: Vec<Event<'a>>,
    /// How often the user asked.
    questions: usize,
}

#[derive(Clone, Copy)]
enum Event<'a> {
    Asked(Option<Text<'a>>),
    Said(Text<'a>),
    Called(Span<'a>),
    Done(Span<'a>),
    Answered(Answer<'a>),
}

impl<'a> Listener<'a> {
    /// A user message: it starts a turn.
    pub fn asked(&mut self, text: Option<Text<'a>>) {
        self.questions += 1;
        self.events.push(Event::Asked(text));
    }

    /// An assistant message. One without text says nothing.
    pub fn said(&mut self, text: Option<Text<'a>>) {
        self.events.extend(text.filter(|text| !text.is_blank()).map(Event::Said));
    }

    pub fn called(&mut self, span: Span<'a>) {
        self.events.push(Event::Called(span));
    }

    /// A call that is told with what came of it.
    pub fn done(&mut self, span: Span<'a>) {
        self.events.push(Event::Done(span));
    }

    pub fn answered(&mut self, answer: Answer<'a>) {
        self.events.push(Event::Answered(answer));
    }

    /// What was heard elsewhere, and comes after this.
    pub fn append(&mut self, other: Listener<'a>) {
        self.hear(other, 0);
    }

    /// What was heard elsewhere, which may tell all of this again and go on.
    pub fn then(&mut self, other: Listener<'a>) {
        let known = other.told_again(self).unwrap_or(0);
        self.hear(other, known);
    }

    fn hear(&mut self, other: Listener<'a>, known: usize) {
        let new = other.events.into_iter().skip(known);
        self.events.extend(new.inspect(|event| self.questions += usize::from(matches!(event, Event::Asked(_)))));
    }

    /// How much of this tells the other one again; None if this doesn't go on from there.
    pub fn told_again(&self, other: &Listener<'a>) -> Option<usize> {
        if self.events.len() >= other.events.len() && self.events.iter().zip(&other.events).all(|(a, b)| a.is_again(b))
        {
            return Some(other.events.len());
        }
        // Another provider may not be told of calls, or may be told texts as one. The same questions say what is meant, if
        // one follows that is new.
        if self.questions <= other.questions {
            return None;
        }
        let mut place = 0;
        for event in &other.events {
            match self.events.get(place) {
                Some(again) if again.is_again(event) => place += 1,
                _ if matches!(event, Event::Asked(_)) => return None,
                _ => {}
            }
        }
        let rest = self.events.get(place..)?;
        let texts = rest.iter().take_while(|event| matches!(event, Event::Said(_))).count();
        matches!(rest.get(texts), Some(Event::Asked(_))).then_some(place + texts)
    }

    pub fn finish(self) -> Conversation<'a> {
        let mut telling = Telling::default();
        for event in self.events {
            match event {
                Event::Asked(text) => telling.asked(text),
                Event::Said(text) => telling.said(text),
                Event::Called(span) => telling.called(span, true),
                Event::Done(span) => telling.called(span, false),
                Event::Answered(answer) => telling.answered(answer),
            }
        }
        telling.conversation
    }
}

impl Event<'_> {
    /// Is this the other one, told again? Ids may be missing or made up anew, and outputs left out or written differently.
    fn is_again(&self, other: &Event<'_>) -> bool {
        match (self, other) {
            (Event::Asked(a), Event::Asked(b)) => a == b,
            (Event::Said(a), Event::Said(b)) => a == b,
            (Event::Called(a) | Event::Done(a), Event::Called(b) | Event::Done(b)) => {
                a.name == b.name && compare::equal(a.input, b.input)
            }
            (Event::Answered(a), Event::Answered(b)) => a.id == b.id || a.id.is_none() || b.id.is_none(),
            _ => false,
        }
    }
}

/// Makes turns of what happened.
#[derive(Default)]
struct Telling<'a> {
    conversation: Conversation<'a>,
    pending: Pending<'a>,
}

impl<'a> Telling<'a> {
    fn asked(&mut self, text: Option<Text<'a>>) {
        self.conversation.turns.push(Turn { input: text, output: None, first: self.conversation.spans.len() });
    }

    fn said(&mut self, text: Text<'a>) {
        self.open();
        if let Some(turn) = self.conversation.turns.last_mut() {
            turn.output = Some(text);
        }
    }

    fn called(&mut self, span: Span<'a>, is_pending: bool) {
        self.open();
        self.pending.push(self.conversation.spans.len(), &span, is_pending);
        self.conversation.spans.push(span);
    }

    fn answered(&mut self, answer: Answer<'a>) {
        if let Some(span) = self.pending.take(&answer).and_then(|place| self.conversation.spans.get_mut(place)) {
            span.output = answer.output;
            span.status = answer.status.or(span.status);
            span.error = answer.error.or(span.error);
            return;
        }
        // The id is that of a call that has its answer.
        let call = self.pending.last(&answer).and_then(|place| self.conversation.spans.get(place));
        if call.is_some_and(|call| compare::equal(call.output, answer.output)) {
            // A log that repeats itself.
            return;
        }
        let name = answer.name.or(call.map(|call| call.name)).unwrap_or(Text::from("unknown tool"));
        self.open();
        self.conversation.spans.push(Span {
            id: answer.id,
            output: answer.output,
            status: answer.status,
            error: answer.error,
            result_only: true,
            ..Span::new(name)
        });
    }

    /// What comes before any user message is a turn too.
    fn open(&mut self) {
        if self.conversation.turns.is_empty() {
            self.asked(None);
        }
    }
}

/// Calls without an answer, by all that an answer may find them by. An answered one is dropped from the other lists when
/// it is met there, so all of it takes linear time.
#[derive(Default)]
struct Pending<'a> {
    all: VecDeque<usize>,
    by_id: HashMap<Text<'a>, (VecDeque<usize>, usize)>,
    by_name: HashMap<Text<'a>, VecDeque<usize>>,
    /// Those without an id, all and by name.
    without_id: VecDeque<usize>,
    without_id_by_name: HashMap<Text<'a>, VecDeque<usize>>,
    /// By the place of the span.
    answered: Vec<bool>,
}

impl<'a> Pending<'a> {
    /// A call. One that has its answer is only known by its id, so that another answer with it is told from others.
    fn push(&mut self, place: usize, span: &Span<'a>, is_pending: bool) {
        if let Some(id) = span.id {
            let (places, last) = self.by_id.entry(id).or_default();
            places.extend(is_pending.then_some(place));
            *last = place;
        }
        if is_pending {
            self.all.push_back(place);
            self.by_name.entry(span.name).or_default().push_back(place);
            if span.id.is_none() {
                self.without_id.push_back(place);
                self.without_id_by_name.entry(span.name).or_default().push_back(place);
            }
        }
    }

    /// The earliest call that this can be the answer to.
    fn take(&mut self, answer: &Answer<'a>) -> Option<usize> {
        let places = match (answer.id, answer.name) {
            (Some(id), _) if self.by_id.contains_key(&id) => self.by_id.get_mut(&id).map(|(places, _)| places),
            // Nothing has this id, so a call that has none may be meant.
            (Some(_), Some(name)) => self.without_id_by_name.get_mut(&name),
            (Some(_), None) => Some(&mut self.without_id),
            (None, Some(name)) => self.by_name.get_mut(&name),
            (None, None) => Some(&mut self.all),
        }?;
        while let Some(place) = places.pop_front() {
            if self.answered.len() <= place {
                self.answered.resize(place + 1, false);
            }
            match self.answered.get_mut(place) {
                Some(answered) if !*answered => {
                    *answered = true;
                    return Some(place);
                }
                _ => {}
            }
        }
        None
    }

    /// The last call of the answer's id.
    fn last(&self, answer: &Answer<'a>) -> Option<usize> {
        self.by_id.get(&answer.id?).map(|(_, last)| *last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call<'a>(id: Option<&'a str>, name: &'a str) -> Span<'a> {
        Span { id: id.map(Text::from), input: Value::Object(&[]), ..Span::new(Text::from(name)) }
    }

    fn answer<'a>(id: Option<&'a str>, name: Option<&'a str>, output: i64) -> Answer<'a> {
        let (id, name) = (id.map(Text::from), name.map(Text::from));
        Answer { id, name, output: Value::Int(output), status: None, error: None }
    }

    fn plain(text: Text<'_>) -> String {
        crate::show::plain(text)
    }

    /// Each turn's input, output, and spans: name, output, and a mark where only the result is known.
    fn told(listener: Listener<'_>) -> Vec<(Option<String>, Option<String>, Vec<String>)> {
        let conversation = listener.finish();
        let span = |span: &Span<'_>| {
            let output = match span.output {
                Value::Int(output) => output.to_string(),
                _ => "-".to_owned(),
            };
            format!("{} {output}{}", plain(span.name), if span.result_only { "?" } else { "" })
        };
        conversation
            .turns()
            .map(|(turn, spans)| (turn.input.map(plain), turn.output.map(plain), spans.iter().map(span).collect()))
            .collect()
    }

    fn outputs(calls: &[Span<'static>], answers: &[Answer<'static>]) -> Vec<String> {
        let mut listener = Listener::default();
        calls.iter().for_each(|&call| listener.called(call));
        answers.iter().for_each(|&answer| listener.answered(answer));
        told(listener).remove(0).2
    }

    #[test]
    fn a_user_message_starts_a_turn_and_the_rest_belongs_to_it() {
        let mut listener = Listener::default();
        listener.said(Some(Text::from("Welcome.")));
        listener.asked(Some(Text::from("one")));
        listener.called(call(Some("1"), "a"));
        listener.said(Some(Text::from("first")));
        listener.said(Some(Text::from("last")));
        listener.said(Some(Text::from(" \n")));
        listener.said(None);
        listener.asked(None);
        listener.asked(Some(Text::from("three")));
        // The answer goes to the turn of its call.
        listener.answered(answer(Some("1"), None, 7));
        listener.called(call(Some("2"), "b"));
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            told(listener),
            [
                (None, text("Welcome."), vec![]),
                (text("one"), text("last"), vec!["a 7".to_owned()]),
                (None, None, vec![]),
                (text("three"), None, vec!["b -".to_owned()]),
            ]
        );
        assert!(told(Listener::default()).is_empty());
    }

    #[test]
    fn what_comes_first_opens_a_turn_unless_it_says_nothing() {
        let mut listener = Listener::default();
        listener.said(Some(Text::from("")));
        assert!(told(listener).is_empty());
        let mut listener = Listener::default();
        listener.called(call(None, "a"));
        assert_eq!(told(listener), [(None, None, vec!["a -".to_owned()])]);
        let mut listener = Listener::default();
        listener.answered(answer(Some("1"), None, 1));
        assert_eq!(told(listener), [(None, None, vec!["unknown tool 1?".to_owned()])]);
    }

    #[test]
    fn answers_find_their_calls_by_id_whatever_their_order() {
        let calls = [call(Some("x"), "a"), call(Some("y"), "b"), call(Some("x"), "c"), call(None, "d")];
        let (x, y) = (Some("x"), Some("y"));
        assert_eq!(
            outputs(&calls, &[answer(y, None, 1), answer(x, None, 2), answer(x, None, 3)]),
            ["a 2", "b 1", "c 3", "d -"]
        );
        // The id decides, and not the name.
        assert_eq!(outputs(&calls, &[answer(y, Some("a"), 1)]), ["a -", "b 1", "c -", "d -"]);
    }

    #[test]
    fn answers_without_an_id_go_to_the_earliest_call_without_one() {
        let calls = [call(Some("x"), "a"), call(None, "b"), call(None, "a"), call(None, "b")];
        assert_eq!(outputs(&calls, &[answer(None, Some("b"), 1), answer(None, None, 2)]), ["a 2", "b 1", "a -", "b -"]);
        assert_eq!(
            outputs(&calls, &[answer(Some("x"), None, 1), answer(None, Some("a"), 2), answer(None, None, 3)]),
            ["a 1", "b 3", "a 2", "b -"]
        );
        assert_eq!(outputs(&calls, &[answer(None, Some("c"), 1)]), ["a -", "b -", "a -", "b -", "c 1?"]);
        // An id that no call has may belong to one whose id was not written down.
        assert_eq!(outputs(&calls, &[answer(Some("z"), Some("a"), 1)]), ["a -", "b -", "a 1", "b -"]);
        assert_eq!(
            outputs(&calls, &[answer(Some("z"), None, 1), answer(Some("y"), Some("c"), 2)]),
            ["a -", "b 1", "a -", "b -", "c 2?"]
        );
    }

    #[test]
    fn an_answer_that_nothing_called_for_is_kept_and_a_repeated_one_is_not() {
        let calls = [call(Some("x"), "a")];
        let (first, other) = (answer(Some("x"), None, 1), answer(Some("x"), None, 2));
        assert_eq!(outputs(&calls, &[first, first]), ["a 1"]);
        assert_eq!(outputs(&calls, &[first, other, answer(Some("z"), Some("n"), 3)]), ["a 1", "a 2?", "n 3?"]);
        assert_eq!(outputs(&calls, &[answer(None, None, 1), answer(None, None, 1)]), ["a 1", "unknown tool 1?"]);
    }

    #[test]
    fn a_call_that_is_told_with_its_answer_awaits_none() {
        let mut listener = Listener::default();
        listener.done(Span { output: Value::Int(1), ..call(Some("x"), "a") });
        listener.called(call(None, "b"));
        listener.answered(answer(None, None, 2));
        // Told again, and differently.
        listener.answered(answer(Some("x"), None, 1));
        listener.answered(answer(Some("x"), None, 3));
        assert_eq!(told(listener).remove(0).2, ["a 1", "b 2", "a 3?"]);
    }

    #[test]
    fn what_goes_on_is_told_once_and_all_else_as_it_is() {
        let heard = |asked: &'static str, calls: &[(Option<&'static str>, &'static str)], said: &'static str| {
            let mut listener = Listener::default();
            listener.asked(Some(Text::from(asked)));
            calls.iter().for_each(|&(id, name)| listener.called(call(id, name)));
            listener.said(Some(Text::from(said)));
            listener
        };
        let after = |next: Listener<'static>| {
            let mut listener = heard("one", &[(Some("x"), "a")], "");
            listener.then(next);
            told(listener).into_iter().map(|(.., spans)| spans.len()).collect::<Vec<_>>()
        };
        // Another dialect may have no ids, or make up its own.
        assert_eq!(after(heard("one", &[(Some("x"), "a"), (None, "b")], "done")), [2]);
        assert_eq!(after(heard("one", &[(None, "a")], "done")), [1]);
        assert_eq!(after(heard("two", &[(Some("x"), "a")], "")), [1, 1]);
        assert_eq!(after(heard("one", &[(Some("x"), "b")], "")), [1, 1]);
        assert_eq!(after(heard("one", &[], "")), [1, 0]);
        assert_eq!(after(Listener::default()), [1]);
        // The same question alone may be one that is asked again; with another one after it, it is the past.
        let past = |calls: &[(Option<&'static str>, &'static str)]| {
            let mut listener = heard("one", calls, "in one");
            listener.append(heard("two", &[(None, "b")], ""));
            listener
        };
        assert_eq!(after(past(&[])), [1, 1]);
        assert_eq!(after(past(&[(None, "a")])), [1, 1]);
        assert_eq!(after(past(&[(None, "other")])), [1, 1, 1]);
    }
}
