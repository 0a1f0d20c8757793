//! Logs of Inspect: an evaluation with its samples, or a sample alone, as the members of an archive are.
//!
//! The messages of a sample tell its turns. Its events tell more of each call, and calls that no message has: those of
//! other agents, and those before the history was compacted.

use std::{
    cell::Cell,
    collections::{HashMap, VecDeque},
};

use super::{
    Log, Unit,
    reading::{ERROR, Reading, answer, at, has_any, is_list, members_of},
};
use crate::{
    call::Reader,
    error::Error,
    text::Text,
    trace::{
        messages::parts::{self, Keys, not_an_object, word},
        span::{self, Span},
        stored::Found,
        time::Unit as Since,
        turns::Answer,
    },
    value::{Member, Value},
};

pub const LOG: Log = Log { name: "inspect", title: "logs of Inspect", unit: Unit::Record, fits, read };

const SAMPLES: &str = "samples";
const MESSAGES: &str = "messages";
const EVENTS: &str = "events";
const CONTENT: &str = "content";
const TOOL_CALLS: &str = "tool_calls";
const ATTACHMENTS: &str = "attachments";
const CALL: Keys = Keys { id: &["id"], name: &["function", "name"], arguments: &["arguments"] };
/// How texts begin that stand elsewhere; the second is how they once did.
const ATTACHED: &[&[u8]] = &[b"attachment://", b"tc://"];

fn fits(record: Value<'_>) -> bool {
    is_log(record) || is_sample(record)
}

fn is_log(record: Value<'_>) -> bool {
    matches!(record.get("eval"), Some(Value::Object(_))) && has_any(record, &["version", "status", "plan"])
}

fn is_sample(record: Value<'_>) -> bool {
    has_any(record, &["id"])
        && has_any(record, &["epoch"])
        && has_any(record, &["target"])
        && (is_list(record.get(MESSAGES)) || is_list(record.get(EVENTS)))
}

fn read<'a>(found: &mut Found<'a>, records: &[Value<'a>]) -> Result<(), Error> {
    for (index, &record) in records.iter().enumerate() {
        if !is_log(record) {
            sample(found, record, None, |error| error.at_index(index));
            continue;
        }
        let mut reading = Reading::new(found.reader);
        let samples = reading.list(record, SAMPLES);
        found.problems.extend(reading.problems.into_iter().map(|error| error.at_index(index)));
        let model = at(record, &["eval", "model"]);
        for (inner, &item) in samples.iter().enumerate() {
            sample(found, item, model, |error| error.at_index(inner).at_key(Text::from(SAMPLES)).at_index(index));
        }
    }
    Ok(())
}

fn sample<'a>(found: &mut Found<'a>, sample: Value<'a>, model: Option<Value<'a>>, place: impl Fn(Error) -> Error) {
    if !matches!(sample, Value::Object(_)) {
        found.problems.push(place(not_an_object("a sample of Inspect", sample)));
        return;
    }
    let mut reading = Reading::new(found.reader);
    let attachments = Attachments::of(found.reader, sample);
    let events = Events::read(&mut reading, sample, &attachments);
    let reported = is_reported(sample);
    let messages = match sample.get(MESSAGES) {
        Some(Value::Array([_, ..])) => None,
        // Of a sample that came to no end, only events tell.
        _ => last_history(sample),
    };
    match messages {
        Some(messages) => Telling::new(&reading, &messages, &attachments, events).tell(&mut reading, &messages),
        None => {
            let messages = reading.list(sample, MESSAGES);
            let mut telling = Telling::new(&reading, messages, &attachments, events);
            if messages.is_empty() {
                telling.begin(&mut reading, sample);
            }
            reading.inside(
                |error| error.at_key(Text::from(MESSAGES)),
                |reading| {
                    telling.tell(reading, messages);
                    Ok(())
                },
            );
        }
    }
    reading.problems.extend(attachments.check().err());
    let reader = found.reader;
    let (id, scores) = (parts::id(reader, sample, &["id"]), scores(&reading, sample));
    let trace = reading.finish(found, place);
    trace.id = id;
    trace.test_id = id;
    trace.reported = reported;
    trace.note("epoch", sample.get("epoch"));
    if let Some(Value::Object([only])) = scores {
        trace.note("score", Some(only.value));
    }
    trace.note("scores", scores);
    trace.note("target", sample.get("target"));
    trace.note("model", model.or(at(sample, &["output", "model"])).filter(|model| is_named(*model)));
    trace.note("error", at(sample, &["error", "message"]));
    trace.note("limit", at(sample, &["limit", "type"]));
}

/// Of a sample that failed before the model answered, nothing is known.
fn is_reported(sample: Value<'_>) -> bool {
    let has = |key, inner, words: &[&str]| match sample.get(key) {
        Some(Value::Array(items)) => items.iter().any(|item| word(*item, inner, words).is_some()),
        _ => false,
    };
    has(MESSAGES, "role", &["assistant"]) || has(EVENTS, "event", &["model", "tool"])
}

fn is_named(model: Value<'_>) -> bool {
    matches!(model, Value::Text(model) if !model.is_empty())
}

/// The value of each score by its name.
fn scores<'a>(reading: &Reading<'a>, sample: Value<'a>) -> Option<Value<'a>> {
    let Some(Value::Object([first, rest @ ..])) = sample.get("scores") else { return None };
    let scores = std::iter::once(first).chain(rest);
    let value = |score: &Member<'a>| Some(Member { key: score.key, value: score.value.get("value")? });
    let values: Vec<_> = scores.filter_map(value).collect();
    Some(Value::Object(reading.reader.bump.alloc_slice_copy(&values)))
}

/// What the model was told last, and what it said to that.
fn last_history<'a>(sample: Value<'a>) -> Option<Vec<Value<'a>>> {
    let Some(Value::Array(events)) = sample.get(EVENTS) else { return None };
    let last = events.iter().rev().find(|event| word(**event, "event", &["model"]).is_some())?;
    let mut messages = match last.get("input") {
        Some(Value::Array(input @ [_, ..])) => input.to_vec(),
        _ => pooled(sample, *last),
    };
    messages.extend(at(*last, &["output", "choices", "0", "message"]));
    Some(messages)
}

/// Messages that stand in a pool, by ranges of places in it.
fn pooled<'a>(sample: Value<'a>, event: Value<'a>) -> Vec<Value<'a>> {
    let pool = at(sample, &["events_data", MESSAGES]).or(sample.get("message_pool"));
    let (Some(Value::Array(pool)), Some(Value::Array(ranges))) = (pool, event.get("input_refs")) else {
        return Vec::new();
    };
    let place = |value: &Value<'a>| match *value {
        Value::Int(place) => usize::try_from(place).ok(),
        _ => None,
    };
    let range = |range: &Value<'a>| match range {
        Value::Array([begin, end]) => pool.get(place(begin)?..place(end)?),
        _ => None,
    };
    // No history is longer than the pool, whatever the ranges say.
    ranges.iter().filter_map(range).flatten().copied().take(pool.len()).collect()
}

/// What may be put in the place of references, in bytes: a long text may be referred to again and again.
const MOST_ATTACHED: usize = 256 << 20;

/// Long texts and their lengths, by what is written in their place.
struct Attachments<'a> {
    texts: HashMap<&'a [u8], (Text<'a>, usize)>,
    /// How many bytes may still be put in place; None if it was tried to put more.
    room: Cell<Option<usize>>,
}

impl<'a> Attachments<'a> {
    fn of(reader: Reader<'a>, sample: Value<'a>) -> Self {
        let attachment = |member: &Member<'a>| match (member.key, member.value) {
            (Text::Utf8(hash), Value::Text(text)) => Some((hash, (text, text.utf8_in(reader.bump).len()))),
            _ => None,
        };
        let texts = match sample.get(ATTACHMENTS) {
            Some(Value::Object(members)) => members.iter().filter_map(attachment).collect(),
            _ => HashMap::new(),
        };
        Attachments { texts, room: Cell::new(Some(MOST_ATTACHED)) }
    }

    /// Is there a text that isn't in its place?
    fn check(&self) -> Result<(), Error> {
        match self.room.get() {
            Some(_) => Ok(()),
            None => {
                let message = format!("referred to for more than {MOST_ATTACHED} bytes in all; the rest is not read");
                Err(Error::value(message).at_key(Text::from(ATTACHMENTS)))
            }
        }
    }

    /// The same value with the texts that were meant.
    fn resolved(&self, reading: &Reading<'a>, value: Value<'a>) -> Value<'a> {
        if self.texts.is_empty() { value } else { self.changed(reading, value).unwrap_or(value) }
    }

    /// None: it has nothing to be resolved.
    fn changed(&self, reading: &Reading<'a>, value: Value<'a>) -> Option<Value<'a>> {
        let bump = reading.reader.bump;
        match value {
            Value::Text(text) => self.text(text).map(Value::Text),
            Value::Array(items) => {
                let items = changed(items, |item| self.changed(reading, *item))?;
                Some(Value::Array(bump.alloc_slice_copy(&items)))
            }
            Value::Object(members) => {
                let member = |member: &Member<'a>| {
                    self.changed(reading, member.value).map(|value| Member { key: member.key, value })
                };
                let members = changed(members, member)?;
                Some(Value::Object(bump.alloc_slice_copy(&members)))
            }
            _ => None,
        }
    }

    fn text(&self, text: Text<'a>) -> Option<Text<'a>> {
        let Text::Utf8(bytes) = text else { return None };
        let hash = ATTACHED.iter().find_map(|begin| bytes.strip_prefix(*begin))?;
        let (text, length) = *self.texts.get(hash)?;
        self.room.set(self.room.get().and_then(|room| room.checked_sub(length)));
        self.room.get().map(|_| text)
    }
}

/// The items with those that change; None if none does.
fn changed<T: Copy>(items: &[T], mut change: impl FnMut(&T) -> Option<T>) -> Option<Vec<T>> {
    let mut changed: Option<Vec<T>> = None;
    for (place, item) in items.iter().enumerate() {
        match (change(item), &mut changed) {
            (Some(item), Some(changed)) => changed.push(item),
            (Some(item), None) => {
                let mut all = items.get(..place).unwrap_or_default().to_vec();
                all.push(item);
                changed = Some(all);
            }
            (None, Some(changed)) => changed.push(*item),
            (None, None) => {}
        }
    }
    changed
}

/// Calls as events tell them.
struct Executed<'a> {
    span: Span<'a>,
    /// It has an end, and so what came of it is known.
    is_done: bool,
    is_claimed: bool,
    event_id: Option<Text<'a>>,
}

struct Events<'a> {
    executed: Vec<Executed<'a>>,
    by_id: HashMap<Text<'a>, VecDeque<usize>>,
}

impl<'a> Events<'a> {
    fn read(reading: &mut Reading<'a>, sample: Value<'a>, attachments: &Attachments<'a>) -> Self {
        let mut agents = Agents::of(sample);
        let mut events = Events { executed: Vec::new(), by_id: HashMap::new() };
        // What else happened is not of interest, whatever it looks like.
        if !is_list(sample.get(EVENTS)) {
            return events;
        }
        events.within(reading, sample, attachments, &mut agents);
        events
    }

    fn within(
        &mut self,
        reading: &mut Reading<'a>,
        holder: Value<'a>,
        attachments: &Attachments<'a>,
        agents: &mut Agents<'a>,
    ) {
        reading.each(holder, EVENTS, |reading, event| {
            let kind = word(event, "event", &["tool", "subtask"]);
            if kind == Some("tool") {
                self.tool(reading, event, attachments, agents)?;
            }
            // What happened inside was once kept there.
            if kind.is_some() && is_list(event.get(EVENTS)) {
                self.within(reading, event, attachments, agents);
            }
            Ok(())
        });
    }

    fn tool(
        &mut self,
        reading: &mut Reading<'a>,
        event: Value<'a>,
        attachments: &Attachments<'a>,
        agents: &mut Agents<'a>,
    ) -> Result<(), Error> {
        let value = |key| attachments.resolved(reading, event.get(key).unwrap_or(Value::Null));
        let (arguments, result, error) = (value("arguments"), value("result"), value(ERROR));
        let holder = reading.object(&[("arguments", arguments), ("result", result)]);
        let span = reading.call(event, &CALL)?;
        let is_done = !matches!(event.get("pending"), Some(Value::True));
        let failed = matches!(event.get("failed"), Some(Value::True));
        let span = Span {
            agent: event.get("span_id").and_then(|span| agents.around(span)),
            input: reading.arguments(arguments, "arguments"),
            output: if is_done { reading.output(holder, &["result"]) } else { Value::Null },
            started_at: reading.time(event, &["timestamp"], Since::Guess),
            ended_at: reading.time(event, &["completed"], Since::Guess),
            ..with_error(reading, span, Some(error), failed)
        };
        let event_id = parts::text(event, &["uuid"]);
        let executed = Executed { span, is_done, is_claimed: false, event_id };
        let places = span.id.map(|id| self.by_id.entry(id).or_default());
        let last = places.as_ref().and_then(|places| self.executed.get_mut(*places.back()?));
        match last {
            // Told again when it had come to an end, or by who wrote events twice.
            Some(last) if last.event_id == event_id && (event_id.is_some() || !last.is_done) => *last = executed,
            _ => {
                places.into_iter().for_each(|places| places.push_back(self.executed.len()));
                self.executed.push(executed);
            }
        }
        Ok(())
    }
}

/// An error has a type and a message.
fn with_error<'a>(reading: &Reading<'a>, span: Span<'a>, error: Option<Value<'a>>, failed: bool) -> Span<'a> {
    let (error, kind) = error_of(reading, error);
    let attributes = match kind {
        Value::Null => span.attributes,
        kind => members_of(reading.reader, &[("error_type", kind)]),
    };
    let status = (failed || error.is_some()).then_some(Text::from(ERROR));
    Span { status, error, attributes, ..span }
}

fn error_of<'a>(reading: &Reading<'a>, error: Option<Value<'a>>) -> (Option<Text<'a>>, Value<'a>) {
    match error {
        None | Some(Value::Null) => (None, Value::Null),
        Some(Value::Text(text)) => (Some(text), Value::Null),
        Some(error) => {
            let message = parts::text(error, &["message"]);
            let kind = error.get("type").unwrap_or(Value::Null);
            let text = message.or_else(|| parts::text(error, &["type"]));
            (Some(text.unwrap_or_else(|| span::json_text(error, reading.reader.bump))), kind)
        }
    }
}

/// The agents around what happened, by the spans that it happened in.
struct Agents<'a>(HashMap<Text<'a>, Around<'a>>);

struct Around<'a> {
    agent: Option<Text<'a>>,
    parent: Option<Text<'a>>,
}

impl<'a> Agents<'a> {
    fn of(sample: Value<'a>) -> Self {
        let Some(Value::Array(events)) = sample.get(EVENTS) else { return Agents(HashMap::new()) };
        let begins = events.iter().filter(|event| word(**event, "event", &["span_begin"]).is_some());
        let span = |event: &Value<'a>| {
            let agent = word(*event, "type", &["agent"]).and_then(|_| parts::text(*event, &["name"]));
            let parent = parts::text(*event, &["parent_id"]);
            Some((parts::text(*event, &["id"])?, Around { agent, parent }))
        };
        Agents(begins.filter_map(span).collect())
    }

    /// What was found is remembered of all spans on the way, so that each is stepped through once; as they forget what
    /// they are inside of, those inside of themselves have an end, too.
    fn around(&mut self, span: Value<'a>) -> Option<Text<'a>> {
        let Value::Text(first) = span else { return None };
        let (mut path, mut next, mut agent) = (Vec::new(), Some(first), None);
        while let Some(around) = next.and_then(|id| self.0.get_mut(&id)) {
            agent = around.agent;
            path.extend(next);
            next = around.parent.take().filter(|_| agent.is_none());
        }
        for id in path {
            if let Some(around) = self.0.get_mut(&id) {
                around.agent = agent;
            }
        }
        agent
    }
}

/// Tells messages, with what events tell of their calls, and after each call those that only events tell of.
struct Telling<'t, 'a> {
    attachments: &'t Attachments<'a>,
    events: Events<'a>,
    /// The place of the event of each call, in the order in which messages have them.
    claims: VecDeque<Option<usize>>,
    /// The calls up to here were told.
    told: usize,
    /// Of those that were told: did an event say what came of them?
    answered: HashMap<Text<'a>, bool>,
}

impl<'t, 'a> Telling<'t, 'a> {
    fn new(
        reading: &Reading<'a>,
        messages: &[Value<'a>],
        attachments: &'t Attachments<'a>,
        mut events: Events<'a>,
    ) -> Self {
        let mut claims = VecDeque::new();
        for message in messages.iter().filter(|message| word(**message, "role", &["assistant"]).is_some()) {
            let Some(Value::Array(calls)) = message.get(TOOL_CALLS) else { continue };
            for call in calls {
                let id = parts::id(reading.reader, *call, CALL.id);
                let place = id.and_then(|id| events.by_id.get_mut(&id)).and_then(VecDeque::pop_front);
                if let Some(executed) = place.and_then(|place| events.executed.get_mut(place)) {
                    executed.is_claimed = true;
                }
                claims.push_back(place);
            }
        }
        Telling { attachments, events, claims, told: 0, answered: HashMap::new() }
    }

    /// What a sample asks, where no message does.
    fn begin(&self, reading: &mut Reading<'a>, sample: Value<'a>) {
        match sample.get("input") {
            Some(Value::Text(text)) => {
                let text = self.attachments.text(text).unwrap_or(text);
                reading.listener.asked(Some(text));
            }
            Some(Value::Array(input)) => {
                let last = input.iter().rev().find(|message| word(**message, "role", &["user"]).is_some());
                let asked = last.and_then(|message| reading.said(message.get(CONTENT)));
                reading.listener.asked(asked);
            }
            _ => {}
        }
    }

    fn tell(&mut self, reading: &mut Reading<'a>, messages: &[Value<'a>]) {
        reading.all(messages, |reading, message| {
            let message = self.attachments.resolved(reading, message);
            self.message(reading, message)
        });
        self.tell_others(reading, usize::MAX);
    }

    fn message(&mut self, reading: &mut Reading<'a>, message: Value<'a>) -> Result<(), Error> {
        let roles = ["user", "assistant", "tool", "system"];
        let role = parts::one_word(message, "role", "the role of a message", &roles)?;
        let said = reading.said(message.get(CONTENT));
        match role {
            // A summary of what came before is no question.
            "user" if matches!(at(message, &["metadata", "summary"]), Some(Value::True)) => {}
            "user" => reading.listener.asked(said),
            "assistant" => {
                if is_list(message.get(CONTENT)) {
                    reading.each(message, CONTENT, of_server);
                }
                reading.each(message, TOOL_CALLS, |reading, item| self.call(reading, item));
                reading.listener.said(said);
            }
            "tool" => {
                let id = parts::id(reading.reader, message, &["tool_call_id"]);
                // The message with the call is not there any more, but its event is.
                let place = id.filter(|id| !self.answered.contains_key(id)).and_then(|id| self.events.by_id.get(&id));
                if let Some(place) = place.and_then(|places| places.front().copied()) {
                    self.tell_others(reading, place + 1);
                }
                if self.is_answered(id) {
                    return Ok(());
                }
                let (error, _) = error_of(reading, message.get(ERROR).or(message.get("tool_error")));
                let status = error.map(|_| Text::from(ERROR));
                let name = parts::text(message, &["function"]);
                let output = reading.output(message, &[CONTENT]);
                reading.listener.answered(Answer { name, status, error, ..answer(id, output) });
            }
            _ => {}
        }
        Ok(())
    }

    /// Did an event say what came of the last call with this id?
    fn is_answered(&self, id: Option<Text<'a>>) -> bool {
        id.and_then(|id| self.answered.get(&id)).copied().unwrap_or(false)
    }

    fn call(&mut self, reading: &mut Reading<'a>, item: Value<'a>) -> Result<(), Error> {
        let place = self.claims.pop_front().flatten();
        if let Some(id) = parts::id(reading.reader, item, CALL.id) {
            let executed = place.and_then(|place| self.events.executed.get(place));
            self.answered.insert(id, executed.is_some_and(|executed| executed.is_done));
        }
        if let Some(place) = place {
            self.tell_others(reading, place);
        }
        let span = reading.call(item, &CALL)?;
        // What the model wrote couldn't be read.
        let span = match (parts::text(item, &["parse_error"]), span.input) {
            (Some(error), input) => Span {
                input: if matches!(input, Value::Object([])) { Value::Null } else { input },
                status: Some(Text::from(ERROR)),
                error: Some(error),
                ..span
            },
            (None, _) => span,
        };
        match place.and_then(|place| self.events.executed.get(place)) {
            Some(Executed { span: executed, is_done, .. }) => {
                let span = Span {
                    agent: executed.agent,
                    output: executed.output,
                    status: executed.status.or(span.status),
                    error: executed.error.or(span.error),
                    started_at: executed.started_at,
                    ended_at: executed.ended_at,
                    attributes: executed.attributes,
                    ..span
                };
                match is_done {
                    true => reading.listener.done(span),
                    false => reading.listener.called(span),
                }
            }
            None => reading.listener.called(span),
        }
        if let Some(place) = place {
            self.told = self.told.max(place + 1);
            self.tell_inner(reading);
        }
        Ok(())
    }

    /// What was called after this call and before the next one that a message has.
    fn tell_inner(&mut self, reading: &mut Reading<'a>) {
        let rest = self.events.executed.get(self.told..).unwrap_or_default();
        let count = rest.iter().position(|event| event.is_claimed).unwrap_or(rest.len());
        self.tell_others(reading, self.told + count);
    }

    /// What only events tell of, up to a place.
    fn tell_others(&mut self, reading: &mut Reading<'a>, end: usize) {
        let end = end.min(self.events.executed.len());
        let rest = self.events.executed.get(self.told..end).unwrap_or_default();
        for event in rest.iter().filter(|event| !event.is_claimed) {
            self.answered.extend(event.span.id.map(|id| (id, event.is_done)));
            match event.is_done {
                true => reading.listener.done(event.span),
                false => reading.listener.called(event.span),
            }
        }
        self.told = self.told.max(end);
    }
}

/// A tool of the model's provider, which is told together with its result.
fn of_server<'a>(reading: &mut Reading<'a>, block: Value<'a>) -> Result<(), Error> {
    if word(block, "type", &["tool_use"]).is_none() {
        return Ok(());
    }
    let span = reading.call(block, &CALL)?;
    let output = reading.output(block, &["result"]);
    let span = with_error(reading, Span { output, ..span }, block.get(ERROR), false);
    reading.listener.done(span);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{
        super::reading::told::{leaves, tells},
        *,
    };

    #[test]
    fn messages_with_what_events_tell_of_their_calls() {
        tells(
            &LOG,
            r#"[{"version": 2, "status": "success", "eval": {"model": "m"}, "samples": [
                {"id": 1, "epoch": 2, "input": "Refund 42", "target": "late", "attachments": {"abc": "a long text"},
                 "scores": {"match": {"value": "C", "answer": "late"}}, "output": {"model": "other"},
                 "messages": [
                    {"role": "system", "content": "Be kind."},
                    {"role": "user", "content": [{"type": "text", "text": "attachment://abc"}]},
                    {"role": "assistant", "content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "I look."},
                        {"type": "tool_use", "tool_type": "web_search", "id": "w", "name": "web_search", "arguments": "{\"q\": 1}",
                         "result": "found", "error": null}],
                     "tool_calls": [
                        {"id": "1", "function": "look_up", "arguments": {"id": 42}, "type": "function"},
                        {"id": "2", "function": "refund", "arguments": {}, "parse_error": "not JSON"}]},
                    {"role": "tool", "tool_call_id": "1", "function": "look_up", "content": "late"},
                    {"role": "tool", "tool_call_id": "2", "function": "refund", "content": "", "error": {"type": "parsing", "message": "not JSON"}},
                    {"role": "assistant", "content": "Late."}],
                 "events": [
                    {"event": "span_begin", "id": "s1", "name": "planner", "type": "agent"},
                    {"event": "span_begin", "id": "s2", "parent_id": "s1", "name": "look_up", "type": "tool"},
                    {"event": "model", "input": []},
                    {"event": "tool", "id": "1", "function": "look_up", "arguments": {"id": 42}, "result": "attachment://abc",
                     "span_id": "s2", "timestamp": "2026-01-01T00:00:00+00:00", "completed": "2026-01-01T00:00:01+00:00"}]},
                {"id": "two", "epoch": 1, "input": "Hi", "target": "", "messages": [{"role": "robot"}, {"role": "user", "content": "Hi"}],
                 "error": {"message": "out of memory"}, "limit": {"type": "token"},
                 "scores": {"a": {"value": 1}, "b": {"value": 0}}},
                7]}]"#,
            &[
                r#"# 1 test 1 epoch=2 score="C" scores={"match": "C"} target="late" model="m""#,
                "a long text → Late.",
                r#"  web_search({"q": 1}) = "found" #w"#,
                r#"  look_up({"id": 42}) = "a long text" #1 @planner 2026-01-01T00:00:00Z–2026-01-01T00:00:01Z"#,
                r#"  refund(null) = "" #2 is error ! not JSON"#,
                r#"# two test two (not reported) epoch=1 scores={"a": 1, "b": 0} target="" model="m" error="out of memory" limit="token""#,
                "Hi → -",
                r#"problem [0].samples[1].messages[0].role: the role of a message is one of user, assistant, tool, system, not "robot""#,
                "problem [0].samples[2]: expected a sample of Inspect, an object, got a number",
            ],
        );
    }

    #[test]
    fn calls_that_only_events_tell_of() {
        let event = |id: &str, name: &str, span: &str| {
            format!(
                r#"{{"event": "tool", "id": "{id}", "function": "{name}", "arguments": {{}}, "result": "", "span_id": "{span}"}}"#
            )
        };
        // An agent that is a tool has calls of its own, and the first ones are in no message any more.
        let events = [
            event("0", "first", ""),
            event("1", "delegate", ""),
            r#"{"event": "span_begin", "id": "s", "name": "helper", "type": "agent"}"#.to_owned(),
            event("2", "inner", "s"),
            r#"{"event": "subtask", "events": [
                {"event": "tool", "id": "3", "function": "failing", "arguments": {}, "failed": true,
                 "error": {"type": "timeout", "message": "too late"}}]}"#
                .to_owned(),
            event("4", "next", ""),
            r#"{"event": "tool", "id": "5", "function": "running", "arguments": {}, "pending": true}"#.to_owned(),
        ]
        .join(", ");
        tells(
            &LOG,
            &format!(
                r#"[{{"id": "a", "epoch": 1, "input": "x", "target": "", "messages": [
                    {{"role": "user", "content": "Do it"}},
                    {{"role": "user", "content": "Summary: …", "metadata": {{"summary": true}}}},
                    {{"role": "assistant", "content": "", "tool_calls": [{{"id": "1", "function": "delegate", "arguments": {{}}}}]}},
                    {{"role": "tool", "tool_call_id": "1", "content": ""}},
                    {{"role": "user", "content": "Go on"}},
                    {{"role": "assistant", "content": "", "tool_calls": [{{"id": "4", "function": "next", "arguments": {{}}}}]}}],
                    "events": [{events}]}}]"#
            ),
            &[
                r#"# a test a epoch=1 target="""#,
                "Do it → -",
                r#"  first({}) = "" #0"#,
                r#"  delegate({}) = "" #1"#,
                r#"  inner({}) = "" #2 @helper"#,
                r#"  failing({}) = null #3 is error ! too late {"error_type": "timeout"}"#,
                "Go on → -",
                r#"  next({}) = "" #4"#,
                "  running({}) = null #5",
            ],
        );
    }

    #[test]
    fn a_sample_that_came_to_no_end() {
        tells(
            &LOG,
            r#"[{"id": "a", "epoch": 1, "input": "x", "target": "", "messages": [],
                 "events_data": {"messages": [
                    {"role": "system", "content": "s"}, {"role": "user", "content": "Hi"}, {"role": "user", "content": "other"}]},
                 "events": [
                    {"event": "model", "input": [], "input_refs": [[0, 2]], "output": {"choices": [{"message":
                        {"role": "assistant", "content": "I look.", "tool_calls": [{"id": "1", "function": "f", "arguments": {}}]}}]}},
                    {"event": "tool", "id": "1", "function": "f", "arguments": {}, "result": [{"type": "text", "text": "x"}]}]},
                {"id": "b", "epoch": 1, "input": [{"role": "user", "content": "Hi"}], "target": "", "messages": [], "events": []}]"#,
            &[
                r#"# a test a epoch=1 target="""#,
                "Hi → I look.",
                r#"  f({}) = "x" #1"#,
                r#"# b test b (not reported) epoch=1 target="""#,
                "Hi → -",
            ],
        );
    }

    #[test]
    fn an_event_counts_once() {
        let event = |more: &str| {
            format!(r#"{{"event": "tool", "function": "f", "arguments": {{}}, "span_id": "inner", {more}}}"#)
        };
        let events = [
            // Inside of themselves.
            r#"{"event": "span_begin", "id": "inner", "parent_id": "outer"}"#.to_owned(),
            r#"{"event": "span_begin", "id": "outer", "parent_id": "inner"}"#.to_owned(),
            event(r#""id": "1", "result": "early""#),
            event(r#""id": "2", "uuid": "u", "pending": true"#),
            event(r#""id": "2", "uuid": "u", "result": "two""#),
            event(r#""id": "2", "uuid": "u", "result": "two""#),
            event(r#""id": "3", "pending": true"#),
            event(r#""id": "3", "result": "three""#),
            event(r#""id": "3", "result": "again""#),
            event(r#""id": "4", "uuid": "v", "pending": true"#),
            event(r#""id": "4", "uuid": "w", "result": "attachment://self""#),
        ]
        .join(", ");
        // Of the first call only the result is among the messages.
        tells(
            &LOG,
            &format!(
                r#"[{{"id": "a", "epoch": 1, "target": "", "events": [{events}],
                "attachments": {{"self": "attachment://self"}}, "messages": [
                    {{"role": "tool", "tool_call_id": "1", "content": "early"}},
                    {{"role": "assistant", "content": "", "tool_calls": [
                        {{"id": "2", "function": "f", "arguments": {{}}}}, {{"id": "3", "function": "f", "arguments": {{}}}}]}}]}}]"#
            ),
            &[
                r#"# a test a epoch=1 target="""#,
                "- → -",
                r#"  f({}) = "early" #1"#,
                r#"  f({}) = "two" #2"#,
                r#"  f({}) = "three" #3"#,
                r#"  f({}) = "again" #3"#,
                "  f({}) = null #4",
                r#"  f({}) = "attachment://self" #4"#,
            ],
        );
    }

    #[test]
    fn a_long_text_is_put_in_place_only_so_often() {
        let event = r#"{"event": "tool", "function": "f", "arguments": {}, "result": "attachment://a"}"#;
        let sample = format!(
            r#"{{"id": 1, "epoch": 1, "target": "", "attachments": {{"a": "{}"}}, "events": [{}]}}"#,
            "x".repeat(1 << 20),
            vec![event; 300].join(",")
        );
        let bump = bumpalo::Bump::new();
        let (sample, reader) = Reader::parse(sample.as_bytes(), &bump).unwrap();
        let mut found = Found::new(reader);
        read(&mut found, &[sample]).unwrap();
        let is_read = |span: &&Span<'_>| matches!(span.output, Value::Text(Text::Utf8(text)) if text.len() == 1 << 20);
        assert_eq!(found.traces[0].spans().iter().filter(is_read).count(), 256);
        let problems: Vec<_> = found.problems.iter().map(ToString::to_string).collect();
        let problem = "[0].attachments: referred to for more than 268435456 bytes in all; the rest is not read";
        assert_eq!(problems, [problem]);
    }

    #[test]
    fn spans_are_stepped_through_once() {
        let begins = |place: usize| {
            let kind = if place == 0 { "agent" } else { "tool" };
            format!(
                r#"{{"event": "span_begin", "id": "{place}", "parent_id": "{}", "type": "{kind}", "name": "a"}}"#,
                place.wrapping_sub(1)
            )
        };
        let events: Vec<_> = (0..100_000).map(begins).collect();
        let text = format!(r#"{{"events": [{}]}}"#, events.join(","));
        let bump = bumpalo::Bump::new();
        let (sample, _) = Reader::parse(text.as_bytes(), &bump).unwrap();
        let mut agents = Agents::of(sample);
        for place in (0..100_000).rev() {
            let id = bump.alloc_str(&place.to_string());
            assert!(agents.around(Value::Text(Text::from(&*id))).is_some());
        }
    }

    #[test]
    fn a_log_without_samples_has_no_traces() {
        tells(&LOG, r#"[{"version": 2, "status": "success", "eval": {"model": "m"}, "results": {}}]"#, &[]);
        leaves(&LOG, r#"[{"version": 3, "status": "x"}, {"id": 1, "epoch": 2}, {"eval": "x", "status": 1}]"#);
    }
}
