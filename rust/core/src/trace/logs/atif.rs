//! ATIF, the format of trajectories that Harbor defined: steps with the calls of an agent and what was observed.

use std::collections::{HashMap, VecDeque};

use super::{
    Log, Unit,
    reading::{ERROR, Reading, answer, at},
};
use crate::{
    error::Error,
    text::Text,
    trace::{
        messages::parts::{self, Keys, not_an_object},
        span::Span,
        stored::Found,
        time::Unit as Since,
        turns::Answer,
    },
    value::Value,
};

pub const LOG: Log = Log { name: "atif", title: "ATIF trajectories", unit: Unit::Record, fits, read };

const VERSION: &str = "schema_version";
const CALL: Keys = Keys { id: &["tool_call_id"], name: &["function_name"], arguments: &["arguments"] };
const STEPS: &str = "steps";
const TOOL_CALLS: &str = "tool_calls";
const SUBAGENTS: &str = "subagent_trajectories";
const TRAJECTORY_ID: &str = "trajectory_id";
const SESSION_ID: &str = "session_id";
/// Agents inside of agents inside of …
const MOST_LEVELS: usize = 64;

fn fits(record: Value<'_>) -> bool {
    matches!(record.get(VERSION), Some(Value::Text(Text::Utf8(version))) if version.starts_with(b"ATIF-"))
}

fn read<'a>(found: &mut Found<'a>, records: &[Value<'a>]) -> Result<(), Error> {
    for (index, &record) in records.iter().enumerate() {
        if !matches!(record, Value::Object(_)) {
            found.problems.push(not_an_object("an ATIF trajectory", record).at_index(index));
            continue;
        }
        let mut reading = Reading::new(found.reader);
        trajectory(&mut reading, record, 0);
        let trace = reading.finish(found, |error| error.at_index(index));
        let (own, session) = (parts::text(record, &[TRAJECTORY_ID]), parts::text(record, &[SESSION_ID]));
        trace.id = own.or(session);
        trace.conversation_id = own.and(session);
        trace.note("model", at(record, &["agent", "model_name"]));
    }
    Ok(())
}

/// What another agent did inside of this one: its calls are told, and not what it was asked and said.
fn trajectory<'a>(reading: &mut Reading<'a>, trajectory: Value<'a>, level: usize) {
    let agent = trajectory.get("agent").and_then(|agent| parts::text(agent, &["name"]));
    let inner = reading.list(trajectory, SUBAGENTS);
    let mut named: HashMap<Text<'a>, Vec<usize>> = HashMap::new();
    for (place, inner) in inner.iter().enumerate() {
        if let Some(id) = id_of(*inner) {
            named.entry(id).or_default().push(place);
        }
    }
    let mut told = vec![false; inner.len()];
    reading.each(trajectory, STEPS, |reading, step| {
        let roles = ["user", "agent", "system"];
        let source = parts::one_word(step, "source", "the source of a step", &roles)?;
        // Told again of what came before a trajectory that this one goes on with.
        if matches!(step.get("is_copied_context"), Some(Value::True)) {
            return Ok(());
        }
        let said = reading.said(step.get("message")).filter(|_| level == 0);
        if source != "agent" && !reading.list(step, TOOL_CALLS).is_empty() {
            let error = Error::value("only steps of an agent have calls");
            reading.problems.push(error.at_key(Text::from(TOOL_CALLS)));
        }
        match source {
            "user" if level == 0 => reading.listener.asked(said),
            "agent" => {
                let mut calls = Calls::default();
                reading.each(step, TOOL_CALLS, |reading, item| {
                    calls.add(Span { agent, ..call(reading, item, step)? });
                    Ok(())
                });
                let observation = step.get("observation").unwrap_or(Value::Null);
                let mut others = Vec::new();
                let place = |error: Error| error.at_key(Text::from("observation"));
                reading.inside(place, |reading| {
                    reading
                        .each(observation, "results", |reading, item| result(reading, item, &mut calls, &mut others));
                    Ok(())
                });
                calls.spans.into_iter().for_each(|call| reading.listener.done(call));
                others.into_iter().for_each(|answer| reading.listener.answered(answer));
                reading.listener.said(said);
                // Whom it handed over to did that now.
                let now = referred_to(observation).into_iter().filter_map(|id| named.remove(&id)).flatten();
                for place in now {
                    if let Some(told) = told.get_mut(place) {
                        *told = true;
                    }
                    inside(reading, inner, place, level);
                }
            }
            _ => {}
        }
        Ok(())
    });
    let left = told.iter().enumerate().filter(|(_, told)| !**told);
    left.for_each(|(place, _)| inside(reading, inner, place, level));
}

fn inside<'a>(reading: &mut Reading<'a>, inner: &[Value<'a>], place: usize, level: usize) {
    let Some(&inner) = inner.get(place) else { return };
    reading.inside(
        |error| error.at_index(place).at_key(Text::from(SUBAGENTS)),
        |reading| match inner {
            Value::Object(_) if level < MOST_LEVELS => {
                trajectory(reading, inner, level + 1);
                Ok(())
            }
            Value::Object(_) => Err(Error::too_deep()),
            _ => Err(not_an_object("an ATIF trajectory", inner)),
        },
    );
}

fn id_of(trajectory: Value<'_>) -> Option<Text<'_>> {
    parts::text(trajectory, &[TRAJECTORY_ID]).or_else(|| parts::text(trajectory, &[SESSION_ID]))
}

/// The trajectories of agents that results refer to.
fn referred_to<'a>(observation: Value<'a>) -> Vec<Text<'a>> {
    let Some(Value::Array(results)) = observation.get("results") else { return Vec::new() };
    let references = results.iter().filter_map(|result| result.get("subagent_trajectory_ref"));
    let ids = references.flat_map(|references| match references {
        Value::Array(references) => references.iter().copied().filter_map(id_of).collect::<Vec<_>>(),
        reference => id_of(reference).into_iter().collect(),
    });
    ids.collect()
}

/// The calls of a step. Where an id comes again, results come in the order of the calls.
#[derive(Default)]
struct Calls<'a> {
    spans: Vec<Span<'a>>,
    by_id: HashMap<Text<'a>, VecDeque<usize>>,
}

impl<'a> Calls<'a> {
    fn add(&mut self, span: Span<'a>) {
        if let Some(id) = span.id {
            self.by_id.entry(id).or_default().push_back(self.spans.len());
        }
        self.spans.push(span);
    }

    /// The next call with this id, or the last one.
    fn with(&mut self, id: Text<'a>) -> Option<&mut Span<'a>> {
        let places = self.by_id.get_mut(&id)?;
        let place = if places.len() > 1 { places.pop_front() } else { places.front().copied() };
        self.spans.get_mut(place?)
    }
}

fn call<'a>(reading: &mut Reading<'a>, item: Value<'a>, step: Value<'a>) -> Result<Span<'a>, Error> {
    let span = reading.call(item, &CALL)?;
    // Written by NeMo Agent Toolkit.
    let invocation = at(item, &["extra", "invocation"]).unwrap_or(Value::Null);
    let started_at = match reading.time(invocation, &["start_timestamp"], Since::Seconds) {
        Value::Null => reading.time(step, &["timestamp"], Since::Guess),
        time => time,
    };
    Ok(Span {
        status: parts::text(invocation, &["status"]),
        error: parts::error(reading.reader, invocation, &["error"]),
        started_at,
        ended_at: reading.time(invocation, &["end_timestamp"], Since::Seconds),
        ..span
    })
}

/// Whose result it is says the id of a call of the same step. What names none was observed otherwise.
fn result<'a>(
    reading: &mut Reading<'a>,
    item: Value<'a>,
    calls: &mut Calls<'a>,
    others: &mut Vec<Answer<'a>>,
) -> Result<(), Error> {
    if !matches!(item, Value::Object(_)) {
        return Err(not_an_object("a result", item));
    }
    let Some(id) = parts::id(reading.reader, item, &["source_call_id"]) else { return Ok(()) };
    let output = reading.output(item, &["content"]);
    let failed = matches!(at(item, &["extra", "is_error"]), Some(Value::True));
    let status = failed.then_some(Text::from(ERROR));
    match calls.with(id) {
        Some(call) => {
            // One that says nothing takes nothing back.
            if !matches!(output, Value::Null) {
                call.output = output;
            }
            call.status = status.or(call.status);
        }
        None => others.push(Answer { status, ..answer(Some(id), output) }),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{super::reading::told::tells, *};

    #[test]
    fn steps_with_what_was_observed() {
        tells(
            &LOG,
            r#"[{"schema_version": "ATIF-v1.8", "session_id": "s", "trajectory_id": "t",
                "agent": {"name": "planner", "version": "1", "model_name": "m"}, "steps": [
                {"step_id": 0, "source": "user", "message": "Before", "is_copied_context": true},
                {"step_id": 1, "source": "system", "message": "Be kind."},
                {"step_id": 2, "source": "user", "message": [{"type": "text", "text": "Refund 42"}, {"type": "image"}]},
                {"step_id": 3, "source": "agent", "timestamp": "2026-01-02T00:00:02Z", "message": "I look.", "tool_calls": [
                    {"tool_call_id": "1", "function_name": "look_up", "arguments": {"id": 42}, "extra": {"invocation": {
                        "status": "completed", "start_timestamp": 1767312003.5, "end_timestamp": 1767312004.0}}},
                    {"tool_call_id": "1", "function_name": "notify", "arguments": ["x"]},
                    {"tool_call_id": "3", "function_name": "delegate", "arguments": {}}],
                 "observation": {"results": [
                    {"source_call_id": "1", "content": "late"},
                    {"source_call_id": "1", "content": [{"type": "text", "text": "sent"}]},
                    {"source_call_id": "1", "content": null},
                    {"content": "The lights went out."},
                    {"source_call_id": "3", "subagent_trajectory_ref": [{"trajectory_id": "t2"}]}]}},
                {"step_id": 4, "source": "agent", "message": "Done.", "tool_calls": [{"arguments": {}}, 7]},
                {"step_id": 5, "source": "system", "message": "x", "tool_calls": [{"function_name": "f"}]}],
                "subagent_trajectories": [
                    {"schema_version": "ATIF-v1.8", "trajectory_id": "t1", "agent": {"name": "other"}, "steps": [
                        {"source": "agent", "message": "x", "tool_calls": [{"function_name": "a", "arguments": {}}]}]},
                    {"schema_version": "ATIF-v1.8", "trajectory_id": "t2", "agent": {"name": "refunds"}, "steps": [
                        {"source": "user", "message": "Do it"},
                        {"source": "agent", "message": "ok", "tool_calls": [{"function_name": "refund", "arguments": {}}]}]},
                    5]}]"#,
            &[
                r#"# t in s model="m""#,
                "Refund 42\\n[image] → Done.",
                r#"  look_up({"id": 42}) = "late" #1 @planner is completed 2026-01-02T00:00:03.5Z–2026-01-02T00:00:04Z"#,
                r#"  notify(["x"]) = "sent" #1 @planner 2026-01-02T00:00:02Z–-"#,
                "  delegate({}) = null #3 @planner 2026-01-02T00:00:02Z–-",
                "  refund({}) = null @refunds",
                "  unknown tool({}) = null @planner",
                "  a({}) = null @other",
                "problem [0].steps[4].tool_calls[0]: a tool call without a name; it is given as function_name",
                "problem [0].steps[4].tool_calls[1]: expected a tool call, an object, got a number",
                "problem [0].steps[5].tool_calls: only steps of an agent have calls",
                "problem [0].subagent_trajectories[2]: expected an ATIF trajectory, an object, got a number",
            ],
        );
    }
}
