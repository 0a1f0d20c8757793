//! Which turns a conversation has, and which result belongs to which call: one rule for every dialect.
//!
//! A user message starts a turn, and everything up to the next one belongs to it. What comes before the first user message
//! is a turn without an input.

use std::ops::Range;

use bumpalo::Bump;
use foldhash::{HashMap, HashMapExt, HashSet};

use super::{
    nesting::Nesting,
    span::{RecordedAs, Span},
    time::{self, Unit},
};
use crate::{compare, text::Text, value::Value};

#[derive(Debug, Default)]
pub struct Conversation<'a> {
    turns: Vec<Turn<'a>>,
    spans: Vec<Span<'a>>,
}

#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    /// What the user said; null if nothing is known of it.
    pub input: Value<'a>,
    /// The last text that the assistant wrote in it; null if there is none.
    pub output: Value<'a>,
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

    /// Begin a turn.
    pub fn open(&mut self, input: Value<'a>) {
        self.turns.push(Turn { input, output: Value::Null, first: self.spans.len() });
    }

    /// What came of the last turn, which is opened if there is none.
    pub fn close(&mut self, output: Value<'a>) {
        if self.turns.is_empty() {
            self.open(Value::Null);
        }
        if let Some(turn) = self.turns.last_mut() {
            turn.output = output;
        }
    }

    /// The next span of the last turn, which is opened if there is none.
    pub fn push(&mut self, span: Span<'a>) {
        if self.turns.is_empty() {
            self.open(Value::Null);
        }
        self.spans.push(span);
    }

    pub fn spans(&self) -> &[Span<'a>] {
        &self.spans
    }

    /// Put the spans of each turn in the order in which they started, if all of them say when: by the microsecond, which
    /// is what Python's times know, and of those that started together the outer ones first.
    pub fn sort(&mut self) {
        let starts: Vec<usize> = self.turns.iter().map(|turn| turn.first).chain([self.spans.len()]).collect();
        let mut all_depths = None;
        for bounds in starts.windows(2) {
            let [first, end] = bounds else { continue };
            let Some(spans) = self.spans.get(*first..*end) else { continue };
            let started = |span: &Span<'a>| Some(time::nanos(span.started_at, Unit::Guess)?.div_euclid(1000));
            let Some(times) = spans.iter().map(started).collect::<Option<Vec<i64>>>() else { continue };
            // Mostly they are in order, and none started together with another one.
            if times.is_sorted_by(|one, other| one < other) {
                continue;
            }
            let depths = all_depths.get_or_insert_with(|| self.depths());
            let depths = depths.iter().skip(*first).chain(std::iter::repeat(&0));
            let mut keys: Vec<((i64, usize), usize)> = times.into_iter().zip(depths.copied()).zip(0..).collect();
            if !keys.is_sorted() {
                keys.sort_unstable();
                let sorted: Vec<Span<'a>> =
                    keys.into_iter().filter_map(|(_, place)| spans.get(place).copied()).collect();
                if let Some(spans) = self.spans.get_mut(*first..*end) {
                    spans.copy_from_slice(&sorted);
                }
            }
        }
    }

    /// How many spans are around each; none are known of in a log without parents. Of several spans with the id of a
    /// parent the first in the same turn is meant.
    fn depths(&self) -> Vec<usize> {
        if self.spans.iter().all(|span| span.parent_id.is_none()) {
            return Vec::new();
        }
        let mut everywhere = HashMap::with_capacity(self.spans.len());
        // In one turn these are all.
        let mut own = HashMap::new();
        let mut place = 0;
        for (turn, (_, spans)) in self.turns().enumerate() {
            for id in spans.iter().map(|span| span.id) {
                if let Some(id) = id {
                    everywhere.entry(id).or_insert(place);
                    if self.turns.len() > 1 {
                        own.entry((turn, id)).or_insert(place);
                    }
                }
                place += 1;
            }
        }
        let parent = |turn: usize, span: &Span<'a>| {
            let id = span.parent_id?;
            own.get(&(turn, id)).or_else(|| everywhere.get(&id)).copied()
        };
        let parents = self.turns().enumerate();
        let parents = parents.flat_map(|(turn, (_, spans))| spans.iter().map(move |span| (turn, span)));
        Nesting::new(parents.map(|(turn, span)| parent(turn, span)).collect()).depths
    }

    pub fn spans_mut(&mut self) -> &mut [Span<'a>] {
        &mut self.spans
    }

    pub fn into_spans(self) -> Vec<Span<'a>> {
        self.spans
    }

    /// A copy that borrows nothing from the source.
    pub fn copy_to<'b>(&self, bump: &'b Bump) -> Conversation<'b> {
        let turn = |turn: &Turn<'a>| {
            let (input, output) = (turn.input.copy_to(bump), turn.output.copy_to(bump));
            Turn { input, output, first: turn.first }
        };
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
    /// Of what was heard elsewhere, as far as it was looked at: the calls by their ids, and the ids that were answered.
    calls: HashMap<Text<'a>, Heard>,
    answered: HashSet<Text<'a>>,
    /// The places of what was heard elsewhere and not looked at yet, which mostly is never needed.
    new: Vec<Range<usize>>,
}

/// A call by its id: the place of its event, and whether no other call has the id.
#[derive(Clone, Copy)]
struct Heard {
    place: usize,
    is_only: bool,
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

    /// The last call, of which more is told later.
    pub fn last_call(&mut self) -> Option<&mut Span<'a>> {
        self.events.iter_mut().rev().find_map(|event| match event {
            Event::Called(span) | Event::Done(span) => Some(span),
            _ => None,
        })
    }

    /// What was heard elsewhere, and comes after this.
    pub fn append(&mut self, other: Listener<'a>) {
        self.go_on(other, 0);
    }

    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Did the user ask anything?
    pub fn has_questions(&self) -> bool {
        self.questions > 0
    }

    /// What was heard elsewhere, which may tell all of this again and go on.
    pub fn then(&mut self, other: Listener<'a>) {
        let known = other.told_again(self).unwrap_or(0);
        self.go_on(other, known);
    }

    /// The same where it is known how much of it tells this again.
    pub fn go_on(&mut self, other: Listener<'a>, known: usize) {
        let mut events = other.events;
        if known > 0 {
            self.look();
            for event in events.drain(..known.min(events.len())) {
                // What came of a call may be told for the first time where all else is the past.
                if let Some(answer) = event.answer().filter(|answer| self.awaits(answer)) {
                    self.answered.extend(answer.id);
                    self.events.push(Event::Answered(answer));
                }
            }
        }
        self.questions += events.iter().filter(|event| matches!(event, Event::Asked(_))).count();
        let first = self.events.len();
        if self.events.is_empty() {
            self.events = events;
        } else {
            self.events.append(&mut events);
        }
        self.new.push(first..self.events.len());
    }

    /// Look at what was heard elsewhere.
    fn look(&mut self) {
        for places in self.new.drain(..) {
            for (place, event) in places.clone().zip(self.events.get(places).unwrap_or_default()) {
                if let Event::Called(span) | Event::Done(span) = event {
                    note(&mut self.calls, place, span);
                }
                self.answered.extend(event.answer().and_then(|answer| answer.id));
            }
        }
    }

    /// Is this the first answer to a call?
    fn awaits(&self, answer: &Answer<'a>) -> bool {
        answer.id.is_some_and(|id| self.calls.contains_key(&id) && !self.answered.contains(&id))
    }

    /// How much of this tells the other one again; None if this doesn't go on from there.
    pub fn told_again(&self, other: &mut Listener<'a>) -> Option<usize> {
        other.look();
        if self.events.len() >= other.events.len() && self.events.iter().zip(&other.events).all(|(a, b)| a.is_again(b))
        {
            return Some(other.events.len());
        }
        if let Some((place, known)) = self.last_known_call(other) {
            return Some(place + self.told_after(place, other.events.get(known..).unwrap_or_default()));
        }
        self.told_by_another(other).or_else(|| self.told_from_a_later_place(other))
    }

    fn told_by_another(&self, other: &Listener<'a>) -> Option<usize> {
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

    /// The same where the oldest is told no more: the longest end of the other one that this begins with. A single message
    /// may be alike by chance.
    fn told_from_a_later_place(&self, other: &Listener<'a>) -> Option<usize> {
        let most = self.events.len().min(other.events.len());
        let own = self.events.get(..most)?;
        let told = other.events.get(other.events.len() - most..)?;
        let begins = |length: usize, event: &Event<'a>| own.get(length).is_some_and(|again| again.is_again(event));
        // With how much each beginning of this ends that is a shorter beginning of it.
        let mut ends: Vec<usize> = Vec::with_capacity(most);
        let go_on = |ends: &[usize], mut length: usize, event: &Event<'a>| {
            while length > 0 && !begins(length, event) {
                length = ends.get(length - 1).copied().unwrap_or(0);
            }
            length + usize::from(begins(length, event))
        };
        for (place, event) in own.iter().enumerate() {
            let length = ends.last().map_or(0, |&length| go_on(&ends, length, event));
            ends.push(if place == 0 { 0 } else { length });
        }
        let length = told.iter().fold(0, |length, event| go_on(&ends, length, event));
        // An answer without an id is like two that are not alike.
        let end = told.get(told.len() - length..)?;
        (length > 1 && own.iter().zip(end).all(|(a, b)| a.is_again(b))).then_some(length)
    }

    /// Texts, arguments and the oldest messages may be told otherwise each time, or no more, but an id says which call is
    /// meant: up to the last one that both know, all is the past. What follows that call, here and in the other one.
    fn last_known_call(&self, other: &Listener<'a>) -> Option<(usize, usize)> {
        if other.calls.is_empty() {
            return None;
        }
        let mut calls = HashMap::new();
        for (place, event) in self.events.iter().enumerate() {
            if let Event::Called(span) | Event::Done(span) = event {
                note(&mut calls, place, span);
            }
        }
        let mut last = None;
        for (id, call) in calls.iter().filter(|(_, call)| call.is_only) {
            let Some(known) = other.calls.get(id).filter(|known| known.is_only) else { continue };
            let is_same = match (self.events.get(call.place), other.events.get(known.place)) {
                (Some(Event::Called(a) | Event::Done(a)), Some(Event::Called(b) | Event::Done(b))) => a.name == b.name,
                _ => false,
            };
            if is_same {
                last = last.max(Some((call.place + 1, known.place + 1)));
            }
        }
        last
    }

    /// How much of this, from a place on where both tell the same, tells the rest of the other one again.
    fn told_after(&self, place: usize, rest: &[Event<'a>]) -> usize {
        let own = self.events.get(place..).unwrap_or_default();
        let questions = |events: &[Event<'a>]| events.iter().filter(|event| matches!(event, Event::Asked(_))).count();
        // A question that is told otherwise is the same one if another follows.
        let goes_on = questions(own) > questions(rest);
        let mut told = 0;
        for event in rest {
            if let Event::Asked(_) = event {
                let next = own.iter().skip(told).position(|again| matches!(again, Event::Asked(_)));
                match next.map(|ahead| told + ahead) {
                    Some(next) if goes_on || own.get(next).is_some_and(|again| again.is_again(event)) => {
                        told = next + 1
                    }
                    _ => return told,
                }
            } else if own.get(told).is_some_and(|again| again.is_again(event)) {
                told += 1;
            }
        }
        told
    }

    pub fn finish(self) -> Conversation<'a> {
        self.told(|telling, _, answer| telling.only_answered(answer))
    }

    /// The same without the results that nothing called for, and which of all that was answered these are.
    pub fn finish_called(self) -> (Conversation<'a>, Vec<usize>) {
        let mut left_out = Vec::new();
        (self.told(|_, number, _| left_out.push(number)), left_out)
    }

    fn told(self, mut uncalled: impl FnMut(&mut Telling<'a>, usize, Answer<'a>)) -> Conversation<'a> {
        let (mut telling, mut number) = (Telling::default(), 0);
        for event in self.events {
            match event {
                Event::Asked(text) => telling.asked(text),
                Event::Said(text) => telling.said(text),
                Event::Called(span) => telling.called(span, true),
                Event::Done(span) => telling.called(span, false),
                Event::Answered(answer) => {
                    if !telling.answered(answer) {
                        uncalled(&mut telling, number, answer);
                    }
                    number += 1;
                }
            }
        }
        telling.conversation
    }
}

impl<'a> Event<'a> {
    /// What came of a call, if it says so.
    fn answer(&self) -> Option<Answer<'a>> {
        match *self {
            Event::Answered(answer) => Some(answer),
            Event::Called(Span { id, name, output, status, error, .. })
            | Event::Done(Span { id, name, output, status, error, .. }) => {
                let is_told = !matches!(output, Value::Null) || error.is_some();
                is_told.then_some(Answer { id, name: Some(name), output, status, error })
            }
            Event::Asked(_) | Event::Said(_) => None,
        }
    }

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

fn note<'a>(calls: &mut HashMap<Text<'a>, Heard>, place: usize, span: &Span<'a>) {
    if let Some(id) = span.id {
        calls.entry(id).and_modify(|call| call.is_only = false).or_insert(Heard { place, is_only: true });
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
        self.pending.ends_step();
        self.conversation.open(text.map_or(Value::Null, Value::Text));
    }

    fn said(&mut self, text: Text<'a>) {
        self.open();
        if let Some(turn) = self.conversation.turns.last_mut() {
            turn.output = Value::Text(text);
        }
    }

    fn called(&mut self, span: Span<'a>, is_pending: bool) {
        self.open();
        self.pending.push(self.conversation.spans.len(), &span, is_pending);
        self.conversation.spans.push(span);
    }

    /// Was there a call?
    fn answered(&mut self, answer: Answer<'a>) -> bool {
        self.pending.ends_step();
        if let Some(span) = self.pending.take(&answer).and_then(|place| self.conversation.spans.get_mut(place)) {
            span.output = answer.output;
            span.status = answer.status.or(span.status);
            span.error = answer.error.or(span.error);
            return true;
        }
        // The id is that of a call that has its answer: a log that repeats itself, or the answer that counts.
        if let Some(span) = self.pending.last(&answer).and_then(|place| self.conversation.spans.get_mut(place)) {
            if matches!(answer.output, Value::Null) || compare::equal(span.output, answer.output) {
                span.status = answer.status.or(span.status);
                span.error = answer.error.or(span.error);
            } else {
                span.output = answer.output;
                span.status = answer.status;
                span.error = answer.error;
            }
            return true;
        }
        false
    }

    /// A call of which only the result is known.
    fn only_answered(&mut self, answer: Answer<'a>) {
        let span = Span {
            id: answer.id,
            output: answer.output,
            status: answer.status,
            error: answer.error,
            recorded_as: RecordedAs::Executed,
            ..Span::new(answer.name.unwrap_or(Text::from("unknown tool")))
        };
        self.called(span, false);
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
    by_id: HashMap<Text<'a>, OfId>,
    /// What else an answer may find calls by, brought up to date when one has to: most have the id of a call.
    others: Others<'a>,
    /// The calls in their order, as far as they are not in there.
    new: Vec<Call<'a>>,
    /// By the place of the span.
    answered: Vec<bool>,
    /// The number of the step: of calls between which nobody asked and nothing was answered.
    step: usize,
}

/// Calls of an id.
#[derive(Default)]
struct OfId {
    steps: Steps,
    last: usize,
}

#[derive(Default)]
struct Others<'a> {
    all: Steps,
    by_name: HashMap<Text<'a>, Steps>,
    /// Those without an id, all and by name.
    without_id: Steps,
    without_id_by_name: HashMap<Text<'a>, Steps>,
}

struct Call<'a> {
    step: usize,
    place: usize,
    name: Text<'a>,
    has_id: bool,
}

/// The places of calls, step by step. Calls of one step are answered in their order. One of an earlier step that has no
/// answer will hardly get it after those that were made since.
#[derive(Default)]
pub struct Steps {
    calls: Vec<OfStep>,
}

struct OfStep {
    step: usize,
    place: usize,
    /// Does what is left of its step stand in reverse, so that the next one is the last?
    is_reversed: bool,
}

impl Steps {
    /// A call of the latest step. Of a step from which some were taken there are no more.
    pub fn push(&mut self, step: usize, place: usize) {
        self.calls.push(OfStep { step, place, is_reversed: false });
    }

    /// The earliest call of the latest step that has any.
    pub fn pop(&mut self) -> Option<usize> {
        let last = self.calls.last()?;
        if !last.is_reversed {
            let is_of_step = |call: &&OfStep| call.step == last.step && !call.is_reversed;
            let count = self.calls.iter().rev().take_while(is_of_step).count();
            let start = self.calls.len() - count;
            let of_step = self.calls.get_mut(start..).unwrap_or_default();
            of_step.reverse();
            of_step.iter_mut().for_each(|call| call.is_reversed = true);
        }
        self.calls.pop().map(|call| call.place)
    }
}

impl<'a> Pending<'a> {
    fn ends_step(&mut self) {
        self.step += 1;
    }

    /// A call. One that has its answer is only known by its id, so that another answer with it is told from others.
    fn push(&mut self, place: usize, span: &Span<'a>, is_pending: bool) {
        let step = self.step;
        if let Some(id) = span.id {
            let of_id = self.by_id.entry(id).or_default();
            // With an id that is used anew, the call is meant that has it now.
            of_id.steps.calls.retain(|call| call.step == step);
            if is_pending {
                of_id.steps.push(step, place);
            }
            of_id.last = place;
        }
        if is_pending {
            self.new.push(Call { step, place, name: span.name, has_id: span.id.is_some() });
        }
    }

    /// The call that this can be the answer to.
    fn take(&mut self, answer: &Answer<'a>) -> Option<usize> {
        let steps = match answer.id.and_then(|id| self.by_id.get_mut(&id)) {
            Some(of_id) => &mut of_id.steps,
            None => self.others.of(answer, &mut self.new)?,
        };
        while let Some(place) = steps.pop() {
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
        self.by_id.get(&answer.id?).map(|of_id| of_id.last)
    }
}

impl<'a> Others<'a> {
    /// Those that an answer may mean whose id is that of no call.
    fn of(&mut self, answer: &Answer<'a>, new: &mut Vec<Call<'a>>) -> Option<&mut Steps> {
        for Call { step, place, name, has_id } in new.drain(..) {
            self.all.push(step, place);
            self.by_name.entry(name).or_default().push(step, place);
            if !has_id {
                self.without_id.push(step, place);
                self.without_id_by_name.entry(name).or_default().push(step, place);
            }
        }
        match (answer.id, answer.name) {
            // Nothing has this id, so a call that has none may be meant.
            (Some(_), Some(name)) => self.without_id_by_name.get_mut(&name),
            (Some(_), None) => Some(&mut self.without_id),
            (None, Some(name)) => self.by_name.get_mut(&name),
            (None, None) => Some(&mut self.all),
        }
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

    fn said(value: Value<'_>) -> Option<String> {
        match value {
            Value::Text(text) => Some(plain(text)),
            _ => None,
        }
    }

    /// Each turn's input, output, and spans: name, output, and a mark where only the result is known.
    fn told(listener: Listener<'_>) -> Vec<(Option<String>, Option<String>, Vec<String>)> {
        let conversation = listener.finish();
        let span = |span: &Span<'_>| {
            let output = match span.output {
                Value::Int(output) => output.to_string(),
                _ => "-".to_owned(),
            };
            format!("{} {output}{}", plain(span.name), if span.recorded_as == RecordedAs::Executed { "?" } else { "" })
        };
        conversation
            .turns()
            .map(|(turn, spans)| (said(turn.input), said(turn.output), spans.iter().map(span).collect()))
            .collect()
    }

    fn outputs(calls: &[Span<'static>], answers: &[Answer<'static>]) -> Vec<String> {
        let mut listener = Listener::default();
        calls.iter().for_each(|&call| listener.called(call));
        answers.iter().for_each(|&answer| listener.answered(answer));
        told(listener).remove(0).2
    }

    #[test]
    fn spans_are_in_the_order_in_which_they_started() {
        let span = |id: &'static str, parent: Option<&'static str>, start: Option<&'static str>| Span {
            parent_id: parent.map(Text::from),
            started_at: start.map_or(Value::Null, |start| Value::Text(Text::from(start))),
            ..call(Some(id), id)
        };
        let order = |spans: &[Span<'static>]| {
            let mut conversation = Conversation::default();
            spans.iter().for_each(|&span| conversation.push(span));
            conversation.sort();
            conversation.spans().iter().map(|span| plain(span.name)).collect::<Vec<_>>().join("")
        };
        let (one, two) = (Some("2026-01-01T00:00:01Z"), Some("2026-01-01T00:00:02Z"));
        assert_eq!(order(&[span("a", None, two), span("b", None, one)]), "ba");
        // Unless one doesn't say when.
        assert_eq!(order(&[span("a", None, two), span("b", None, one), span("c", None, None)]), "abc");
        // Of those that started together, what is around comes first; else they stay as they are.
        assert_eq!(order(&[span("a", Some("c"), one), span("b", None, one), span("c", None, one)]), "bca");
        assert_eq!(order(&[span("a", Some("b"), one), span("b", Some("a"), one)]), "ab");
        let circle = [
            span("x", Some("c"), one),
            span("b", Some("c"), one),
            span("c", Some("d"), one),
            span("d", Some("b"), one),
        ];
        assert_eq!(order(&circle), "bdcx");
        let near = Some("2026-01-01T00:00:01.000000900Z");
        assert_eq!(order(&[span("a", None, near), span("b", None, one)]), "ab");
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
        assert_eq!(outputs(&calls, &[first, other, answer(Some("z"), Some("n"), 3)]), ["a 2", "n 3?"]);
        assert_eq!(outputs(&calls, &[answer(None, None, 1), answer(None, None, 1)]), ["a 1", "unknown tool 1?"]);
    }

    #[test]
    fn answers_that_nothing_called_for_may_be_left_out() {
        let mut listener = Listener::default();
        listener.answered(answer(Some("z"), None, 0));
        listener.called(call(Some("x"), "a"));
        listener.answered(answer(Some("x"), None, 1));
        listener.answered(answer(Some("x"), None, 1));
        listener.answered(answer(None, Some("b"), 2));
        let (conversation, left_out) = listener.finish_called();
        assert_eq!((conversation.spans().len(), left_out), (1, vec![0, 3]));
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
        assert_eq!(told(listener).remove(0).2, ["a 3", "b 2"]);
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

    #[test]
    fn the_last_result_of_an_id_counts_with_all_it_says() {
        let failed = Answer { status: Some(Text::from("error")), ..answer(Some("x"), None, 1) };
        let mut listener = Listener::default();
        listener.called(call(Some("x"), "a"));
        listener.answered(failed);
        listener.answered(answer(Some("x"), None, 2));
        listener.answered(Answer { status: Some(Text::from("ok")), ..answer(Some("x"), None, 2) });
        listener.answered(Answer { output: Value::Null, ..answer(Some("x"), None, 0) });
        let spans = listener.finish().into_spans();
        let known: Vec<_> = spans.iter().map(|span| (span.output.kind(), span.status.map(plain))).collect();
        assert_eq!(known, [(Value::Int(2).kind(), Some("ok".to_owned()))]);
        // Also where nobody knows the call.
        assert_eq!(outputs(&[], &[answer(Some("z"), None, 1), answer(Some("z"), None, 2)]), ["unknown tool 2?"]);
    }

    #[test]
    fn answers_go_to_the_latest_step_and_in_it_to_the_earliest_call() {
        // By id (which is used anew), by name, and by nothing.
        for (id, name) in [(Some("0"), Some("f")), (None, Some("f")), (None, None)] {
            let mut listener = Listener::default();
            listener.asked(Some(Text::from("one")));
            listener.called(call(id, "f"));
            listener.asked(Some(Text::from("two")));
            listener.called(call(id, "f"));
            listener.called(call(id, "f"));
            listener.answered(answer(id, name, 2));
            listener.answered(answer(id, name, 3));
            let spans: Vec<_> = told(listener).into_iter().flat_map(|(.., spans)| spans).collect();
            assert_eq!(spans, ["f -", "f 2", "f 3"], "{id:?}");
        }
        // After an answer comes another step.
        let mut listener = Listener::default();
        listener.called(call(None, "f"));
        listener.called(call(None, "g"));
        listener.answered(answer(None, Some("g"), 1));
        listener.called(call(None, "f"));
        listener.answered(answer(None, Some("f"), 2));
        assert_eq!(told(listener).remove(0).2, ["f -", "g 1", "f 2"]);
    }

    /// Events by a letter: `?` asks, `!` says, `+` calls with an id (and input), `=` answers it.
    fn heard(events: &[&'static str]) -> Listener<'static> {
        let mut listener = Listener::default();
        for event in events {
            let (kind, word) = event.split_at(1);
            let (id, input) = word.split_once(' ').unwrap_or((word, ""));
            match kind {
                "?" => listener.asked(Some(Text::from(word))),
                "!" => listener.said(Some(Text::from(word))),
                "+" => {
                    let input = Value::Text(Text::from(input));
                    listener.called(Span { input, ..call(Some(id).filter(|id| !id.is_empty()), "f") });
                }
                _ => listener.answered(answer(Some(id), None, 1)),
            }
        }
        listener
    }

    #[test]
    fn what_came_of_a_call_may_be_told_where_the_past_is() {
        let mut listener = Listener::default();
        listener.append(heard(&["?a", "+1 x"]));
        let mut next = Listener::default();
        next.asked(Some(Text::from("a")));
        next.done(Span { input: Value::Text(Text::from("x")), output: Value::Int(5), ..call(Some("1"), "f") });
        next.asked(Some(Text::from("b")));
        listener.then(next);
        let told: Vec<_> = told(listener).into_iter().map(|(.., spans)| spans.concat()).collect();
        assert_eq!(told, ["f 5", ""]);
    }

    #[test]
    fn calls_that_have_ids_say_what_was_told_before() {
        let after = |first: &[&'static str], next: &[&'static str]| {
            let mut listener = Listener::default();
            listener.append(heard(first));
            listener.then(heard(next));
            told(listener)
                .into_iter()
                .map(|(input, _, spans)| format!("{}: {}", input.unwrap_or_default(), spans.join(", ")))
                .collect::<Vec<_>>()
        };
        let first = ["?a", "+1 x", "+2 x", "=1", "=2", "!<think>done"];
        let both = ["a: f 1, f 1", "b: "];
        for next in [
            // A text without thoughts, arguments with a default, a reminder in the question, a summary, and a window.
            &["?a", "+1 x", "+2 x", "=1", "=2", "!done", "?b"][..],
            &["?a", "+1 x, y", "+2 x, y", "=1", "=2", "!<think>done", "?b"],
            &["?a (at noon)", "+1 x", "+2 x", "=1", "=2", "!done", "?b"],
            &["?a summary", "+2 x", "=2", "!done", "?b"],
            &["+2 x", "=2", "!<think>done", "?b"],
            // One of two calls was dropped, or they are in another order.
            &["?a", "+1 x", "=1", "!done", "?b"],
            &["?a", "+2 x", "+1 x", "=2", "=1", "!done", "?b"],
        ] {
            assert_eq!(after(&first, next), both, "{next:?}");
        }
        // Turns without calls come after the last known one.
        let longer = [&first[..], &["?b", "!B"]].concat();
        let three = ["a: f 1, f 1", "b: ", "c: "];
        for next in [
            ["?a", "+1 x", "+2 x", "=1", "=2", "!done", "?b", "!B", "?c"],
            ["?a", "+1 x", "+2 x", "=1", "=2", "!done", "?b (at noon)", "!b", "?c"],
        ] {
            assert_eq!(after(&longer, &next), three, "{next:?}");
        }
        // Results that were not told yet, whatever follows.
        let calls = ["?a", "+1 x", "+2 x"];
        assert_eq!(after(&calls, &["?a, please", "+1 x", "=1", "+2 x", "=2"]), ["a: f 1, f 1"]);
        // Where there are no ids, a window is known by all that was told last.
        let plain = ["?a", "!A", "?b", "+ x", "!B"];
        assert_eq!(after(&plain, &["?b", "+ x", "!B", "?c"]), ["a: ", "b: f -", "c: "]);
        assert_eq!(after(&plain, &["!B", "?c"]), ["a: ", "b: f -", "c: "]);
        assert_eq!(after(&plain, &["?b", "+ y", "!B", "?c"]), ["a: ", "b: f -", "b: f -", "c: "]);
        assert_eq!(after(&["?a", "!A", "?a", "!A", "?a", "!B"], &["?a", "!A", "?a", "!B", "?c"]).len(), 4);
        // An id that is used again says nothing.
        assert_eq!(after(&["?a", "+1 x", "?b", "+1 x"], &["?c", "+1 y"]).len(), 3);
        assert_eq!(after(&["?a", "+ x"], &["?b", "+ x"]).len(), 2);
    }
}
