//! Results of τ²-bench and τ³-bench: simulations, where the simulated user calls tools too, and the tasks with the
//! calls that were right. A simulation may be given alone, as the files of a directory of results are.

use std::collections::HashMap;

use super::{
    Log, Unit,
    reading::{ERROR, EXPECTED, Reading, answer, at, has_any, is_list, members_of},
};
use crate::{
    error::Error,
    text::Text,
    trace::{
        messages::parts::{self, Keys, not_an_object, word},
        span::Span,
        stored::{Found, Trace},
        time::Unit as Since,
        turns::Answer,
    },
    value::Value,
};

pub const LOG: Log = Log { name: "tau2_bench", title: "results of tau2-bench", unit: Unit::Record, fits, read };

const CALL: Keys = Keys { id: &["id"], name: &["name"], arguments: &["arguments"] };
const USER: &str = "user";
const ASSISTANT: &str = "assistant";
const REQUESTOR: &str = "requestor";
const SIMULATIONS: &str = "simulations";
const TASKS: &str = "tasks";
const MESSAGES: &str = "messages";
const TICKS: &str = "ticks";
const TOOL_MESSAGES: &str = "tool_messages";

fn fits(record: Value<'_>) -> bool {
    is_results(record) || is_simulation(record)
}

/// Where the simulations are in files of their own, only the tasks are here.
fn is_results(record: Value<'_>) -> bool {
    let are_simulations = |items: &[Value<'_>]| items.iter().any(|item| is_simulation(*item));
    match record.get(SIMULATIONS) {
        Some(Value::Array(items)) => is_list(record.get(TASKS)) || are_simulations(items),
        _ => is_list(record.get(TASKS)) && at(record, &["info", "environment_info"]).is_some(),
    }
}

fn is_simulation(record: Value<'_>) -> bool {
    record.get("task_id").is_some()
        && (is_list(record.get(MESSAGES)) || is_list(record.get(TICKS)))
        && has_any(record, &["termination_reason", "reward_info"])
}

fn read<'a>(found: &mut Found<'a>, records: &[Value<'a>]) -> Result<(), Error> {
    for (index, &record) in records.iter().enumerate() {
        let place = |error: Error| error.at_index(index);
        if is_results(record) {
            let mut reading = Reading::new(found.reader);
            let (tasks, simulations) = (reading.list(record, TASKS), reading.list(record, SIMULATIONS));
            found.problems.extend(reading.problems.into_iter().map(place));
            let tasks = tasks.iter().filter_map(|task| Some((parts::id(found.reader, *task, &["id"])?, *task)));
            let by_id: HashMap<Text<'a>, Value<'a>> = tasks.collect();
            let model = at(record, &["info", "agent_info", "llm"]);
            for (inner, &item) in simulations.iter().enumerate() {
                let task = parts::id(found.reader, item, &["task_id"]).and_then(|id| by_id.get(&id)).copied();
                let place = |error: Error| place(error.at_index(inner).at_key(Text::from(SIMULATIONS)));
                if let Some(trace) = simulation(found, item, task, place) {
                    trace.note("model", model);
                }
            }
        } else {
            simulation(found, record, None, place);
        }
    }
    Ok(())
}

fn simulation<'a, 'f>(
    found: &'f mut Found<'a>,
    simulation: Value<'a>,
    task: Option<Value<'a>>,
    place: impl Fn(Error) -> Error,
) -> Option<&'f mut Trace<'a>> {
    if !matches!(simulation, Value::Object(_)) {
        found.problems.push(place(not_an_object("a simulation of tau2-bench", simulation)));
        return None;
    }
    let mut reading = Reading::new(found.reader);
    match simulation.get(MESSAGES) {
        Some(Value::Array([_, ..])) => reading.each(simulation, MESSAGES, message),
        _ => ticks(&mut reading, simulation),
    }
    let expected = expected(&mut reading, simulation, task);
    let reader = found.reader;
    let trace = reading.finish(found, place);
    trace.id = parts::id(reader, simulation, &["id"]);
    trace.test_id = parts::id(reader, simulation, &["task_id"]);
    trace.note(EXPECTED, expected);
    trace.note("reward", at(simulation, &["reward_info", "reward"]));
    for key in ["trial", "termination_reason"] {
        trace.note(key, simulation.get(key));
    }
    Some(trace)
}

/// The calls of the task, or else of what was checked of them.
fn expected<'a>(reading: &mut Reading<'a>, simulation: Value<'a>, task: Option<Value<'a>>) -> Option<Value<'a>> {
    let of_task = task.and_then(|task| at(task, &["evaluation_criteria", "actions"]));
    let actions: Vec<_> = match (of_task, at(simulation, &["reward_info", "action_checks"])) {
        (Some(Value::Array(actions)), _) => actions.to_vec(),
        (_, Some(Value::Array(checks))) => checks.iter().filter_map(|check| check.get("action")).collect(),
        _ => return None,
    };
    let mut calls = Vec::new();
    for action in actions {
        let Some(name) = parts::text(action, CALL.name) else { continue };
        let arguments = reading.arguments(action.get("arguments").unwrap_or(Value::Null), "arguments");
        calls.push(reading.expected_call(name, compared(reading, action, arguments)));
    }
    Some(reading.array(&calls))
}

/// Of the arguments those that are compared; none means that any will do.
fn compared<'a>(reading: &Reading<'a>, action: Value<'a>, arguments: Value<'a>) -> Value<'a> {
    let (Value::Object(members), Some(Value::Array(names))) = (arguments, action.get("compare_args")) else {
        return arguments;
    };
    let is_compared = |key: Text<'a>| names.iter().any(|name| matches!(name, Value::Text(name) if *name == key));
    let kept: Vec<_> = members.iter().filter(|member| is_compared(member.key)).copied().collect();
    match names {
        [] => Value::Null,
        _ => Value::Object(reading.reader.bump.alloc_slice_copy(&kept)),
    }
}

fn message<'a>(reading: &mut Reading<'a>, message: Value<'a>) -> Result<(), Error> {
    let roles = [USER, ASSISTANT, "tool", "system"];
    let role = parts::one_word(message, "role", "the role of a message", &roles)?;
    let said = reading.said(message.get("content")).filter(|text| !text.is_blank());
    match role {
        USER => {
            let calls = reading.list(message, "tool_calls");
            // Who only calls a tool says nothing to the agent.
            if said.is_some() || calls.is_empty() {
                reading.listener.asked(said);
            }
            reading.each(message, "tool_calls", |reading, item| call(reading, item, USER, message));
        }
        ASSISTANT => {
            reading.each(message, "tool_calls", |reading, item| call(reading, item, ASSISTANT, message));
            reading.listener.said(said);
        }
        "tool" if is_list(message.get(TOOL_MESSAGES)) => reading.each(message, TOOL_MESSAGES, result),
        "tool" => result(reading, message)?,
        _ => {}
    }
    Ok(())
}

fn call<'a>(reading: &mut Reading<'a>, item: Value<'a>, from: &'static str, message: Value<'a>) -> Result<(), Error> {
    let span = reading.call(item, &CALL)?;
    let requestor = word(item, REQUESTOR, &[USER, ASSISTANT]).unwrap_or(from);
    let requestor = Text::from(requestor);
    let (agent, attributes) = match requestor.is(USER) {
        true => (Some(requestor), members_of(reading.reader, &[(REQUESTOR, Value::Text(requestor))])),
        false => (None, span.attributes),
    };
    let started_at = reading.time(message, &["timestamp"], Since::Guess);
    reading.listener.called(Span { agent, attributes, started_at, ..span });
    Ok(())
}

fn result<'a>(reading: &mut Reading<'a>, result: Value<'a>) -> Result<(), Error> {
    if !matches!(result, Value::Object(_)) {
        return Err(not_an_object("the result of a tool", result));
    }
    let failed = matches!(result.get("error"), Some(Value::True));
    let output = reading.output(result, &["content"]);
    let id = parts::id(reading.reader, result, &["id"]);
    reading.listener.answered(Answer { status: failed.then_some(Text::from(ERROR)), ..answer(id, output) });
    Ok(())
}

/// Where both speak at once, time goes in ticks, and what is said comes in pieces. Who begins to speak after the other
/// one had the word has ended that one's speech.
fn ticks<'a>(reading: &mut Reading<'a>, simulation: Value<'a>) {
    let mut speech = Speech::default();
    reading.each(simulation, TICKS, |reading, tick| {
        if !matches!(tick, Value::Object(_)) {
            return Err(not_an_object("a tick", tick));
        }
        for (speaker, chunk, calls, results) in [
            (ASSISTANT, "agent_chunk", "agent_tool_calls", "agent_tool_results"),
            (USER, "user_chunk", "user_tool_calls", "user_tool_results"),
        ] {
            if let Some(text) = tick.get(chunk).and_then(|chunk| parts::text(chunk, &["content"])) {
                speech.goes_on(reading, speaker, text);
            }
            if is_list(tick.get(calls).filter(|calls| !matches!(calls, Value::Array([])))) {
                speech.ends(reading);
                reading.each(tick, calls, |reading, item| call(reading, item, speaker, tick));
            }
            reading.each(tick, results, result);
        }
        Ok(())
    });
    speech.ends(reading);
}

#[derive(Default)]
struct Speech<'a> {
    speaker: &'static str,
    pieces: Vec<Text<'a>>,
}

impl<'a> Speech<'a> {
    fn goes_on(&mut self, reading: &mut Reading<'a>, speaker: &'static str, piece: Text<'a>) {
        if self.speaker != speaker {
            self.ends(reading);
            self.speaker = speaker;
        }
        self.pieces.push(piece);
    }

    fn ends(&mut self, reading: &mut Reading<'a>) {
        let text = Text::joined(&self.pieces, "", reading.reader.bump);
        self.pieces.clear();
        match self.speaker {
            _ if text.is_blank() => {}
            USER => reading.listener.asked(Some(text)),
            _ => reading.listener.said(Some(text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::reading::told::tells, *};

    #[test]
    fn the_user_calls_tools_too() {
        tells(
            &LOG,
            r#"[{"timestamp": "2026-01-01T00:00:00", "info": {"agent_info": {"llm": "m"}, "environment_info": {}},
              "tasks": [{"id": "t1", "evaluation_criteria": {"actions": [
                    {"action_id": "a", "requestor": "assistant", "name": "look_up", "arguments": {"id": 1, "note": "x"},
                     "compare_args": ["id"]},
                    {"action_id": "b", "requestor": "user", "name": "restart", "arguments": {"now": true}},
                    {"action_id": "c", "name": "close", "arguments": {"x": 1}, "compare_args": []}]}}],
              "simulations": [
                {"id": "s1", "task_id": "t1", "trial": 0, "termination_reason": "user_stop",
                 "reward_info": {"reward": 1.0}, "messages": [
                    {"role": "assistant", "content": "Hi, how can I help?", "tool_calls": null},
                    {"role": "user", "content": "No network"},
                    {"role": "assistant", "content": null, "timestamp": "2026-01-01T00:00:01", "tool_calls": [
                        {"id": "1", "name": "look_up", "arguments": {"id": 1}, "requestor": "assistant"},
                        {"id": "2", "name": "look_up", "arguments": {"id": 2}, "requestor": "assistant"}]},
                    {"role": "tool", "tool_messages": [
                        {"id": "2", "role": "tool", "content": "none", "requestor": "assistant", "error": true},
                        {"id": "1", "role": "tool", "content": "on", "requestor": "assistant", "error": false}]},
                    {"role": "assistant", "content": "Please restart."},
                    {"role": "user", "content": null, "tool_calls": [
                        {"id": "3", "name": "restart", "arguments": {"now": true}, "requestor": "user"}]},
                    {"id": "3", "role": "tool", "content": "ok", "requestor": "user", "error": false},
                    {"role": "user", "content": "Works"}]},
                {"id": "s2", "task_id": "t9", "messages": [{"role": "robot"}], "reward_info": {"action_checks": [
                    {"action": {"name": "close", "arguments": {}}, "action_match": false}]}}]}]"#,
            &[
                r#"# s1 test t1 expected_tool_calls=[{"name": "look_up", "arguments": {"id": 1}}, {"name": "restart", "arguments": {"now": true}}, {"name": "close"}] reward=1.0 trial=0 termination_reason="user_stop" model="m""#,
                "- → Hi, how can I help?",
                "No network → Please restart.",
                r#"  look_up({"id": 1}) = "on" #1 2026-01-01T00:00:01Z–-"#,
                r#"  look_up({"id": 2}) = "none" #2 is error 2026-01-01T00:00:01Z–-"#,
                r#"  restart({"now": true}) = "ok" #3 @user {"requestor": "user"}"#,
                "Works → -",
                r#"# s2 test t9 expected_tool_calls=[{"name": "close", "arguments": {}}] model="m""#,
                r#"problem [0].simulations[1].messages[0].role: the role of a message is one of user, assistant, tool, system, not "robot""#,
            ],
        );
    }

    #[test]
    fn a_simulation_alone_and_speech_in_ticks() {
        tells(
            &LOG,
            r#"[{"id": "s", "task_id": "t", "termination_reason": "agent_stop", "messages": [], "ticks": [
                {"tick_id": 0, "user_chunk": {"role": "user", "content": "No "}},
                {"tick_id": 1, "user_chunk": {"role": "user", "content": "network"}, "agent_chunk": null},
                {"tick_id": 2, "agent_tool_calls": [{"id": "", "name": "look_up", "arguments": {}}]},
                {"tick_id": 3, "agent_tool_results": [{"id": "", "role": "tool", "content": "on"}]},
                {"tick_id": 4, "agent_chunk": {"role": "assistant", "content": "It is "}},
                {"tick_id": 5, "agent_chunk": {"role": "assistant", "content": "on."}},
                {"tick_id": 6, "user_chunk": {"role": "user", "content": "No!"}}]}]"#,
            &[
                r#"# s test t termination_reason="agent_stop""#,
                "No network → It is on.",
                r#"  look_up({}) = "on""#,
                "No! → -",
            ],
        );
    }

    #[test]
    fn an_experiment_whose_simulations_are_elsewhere() {
        tells(&LOG, r#"[{"info": {"environment_info": {"domain_name": "x"}}, "tasks": []}]"#, &[]);
    }
}
