//! Events of OpenHands: actions with what was observed of them, as its first version writes them or its SDK. Its
//! evaluations write the events of each run into a record.

use std::collections::{HashMap, HashSet};

use super::{
    Log, Unit,
    reading::{ERROR, Reading, answer, at, has_any, is_list},
    session::check_unknown,
};
use crate::{
    error::Error,
    text::Text,
    trace::{
        messages::parts::{self, Keys, found, not_an_object, without, word},
        span::Span,
        stored::Found,
        time::Unit as Since,
        turns::Answer,
    },
    value::Value,
};

pub const LOG: Log = Log { name: "openhands", title: "events of OpenHands", unit: Unit::File, fits, read };

/// What its evaluations write.
pub const OUTPUT: Log = Log {
    name: "openhands",
    title: "events of OpenHands",
    unit: Unit::Record,
    fits: |record| record.get(INSTANCE).is_some() && events_of(record).iter().any(|event| is_event(*event)),
    read: read_output,
};

const INSTANCE: &str = "instance_id";
const HISTORY: &str = "history";
const ITEMS: &str = "items";
const USER: &str = "user";
const AGENT: &str = "agent";
const ACTION: &str = "action";
const OBSERVATION: &str = "observation";
const METADATA: &str = "tool_call_metadata";
const KIND: &str = "kind";
const ACTION_ID: &str = "action_id";
const CALL_ID: &str = "tool_call_id";

/// Actions that call no tool.
const NO_TOOLS: &[&str] = &[
    "message",
    "system",
    "null",
    "recall",
    "change_agent_state",
    "condensation",
    "condensation_request",
    "pause",
    "resume",
    "start",
    "stop",
    "reject",
    "loop_recovery",
    "task_tracking_state",
];
/// What an action says of itself, beside what its tool is given.
const NO_ARGUMENTS: &[&str] =
    &["thought", "blocking", "hidden", "confirmation_state", "security_risk", "impl_source", "translated_ipython_code"];
/// What answers an action of the SDK.
const RESULTS: &[&str] = &["ObservationEvent", "UserRejectObservation", "AgentErrorEvent"];
const MESSAGE_EVENT: &str = "MessageEvent";
const ACTION_EVENT: &str = "ActionEvent";
/// Events of the SDK that look like calls, and aren't.
const SILENT: &[&str] = &["SystemPromptEvent", "HookExecutionEvent"];

const CALL: Keys =
    Keys { id: &[CALL_ID, "id"], name: &["tool_name", "name", "function_name"], arguments: &["arguments"] };

fn fits(record: Value<'_>) -> bool {
    match record.get(ITEMS) {
        Some(Value::Array(items)) => items.iter().any(|item| is_of_sdk(*item)),
        _ => is_event(record),
    }
}

fn is_event(event: Value<'_>) -> bool {
    is_of_sdk(event) || is_of_first_version(event)
}

fn is_of_sdk(event: Value<'_>) -> bool {
    word(event, KIND, RESULTS).is_some()
        || word(event, KIND, &[MESSAGE_EVENT, ACTION_EVENT]).is_some()
            && has_any(event, &["llm_message", ACTION, "tool_call", "tool_name"])
}

fn is_of_first_version(event: Value<'_>) -> bool {
    let is_text = |key| matches!(event.get(key), Some(Value::Text(_)));
    is_text("source")
        && (is_text(ACTION) && event.get("args").is_some() || is_text(OBSERVATION) && event.get("extras").is_some())
}

fn read<'a>(found: &mut Found<'a>, records: &[Value<'a>]) -> Result<(), Error> {
    let mut reading = Reading::new(found.reader);
    let mut told = Told::default();
    // What was observed is looked for by the action, and may stand on the next page.
    for record in records {
        match record.get(ITEMS) {
            Some(Value::Array(items)) => items.iter().for_each(|item| told.note(*item)),
            _ => told.note(*record),
        }
    }
    reading.all(records, |reading, record| match is_list(record.get(ITEMS)) {
        true => {
            reading.each(record, ITEMS, |reading, item| told.event(reading, item));
            Ok(())
        }
        false => told.event(reading, record),
    });
    let trace = reading.finish(found, |error| error);
    trace.note("model", told.model.map(Value::Text));
    Ok(())
}

fn read_output<'a>(found: &mut Found<'a>, records: &[Value<'a>]) -> Result<(), Error> {
    for (index, &record) in records.iter().enumerate() {
        if !matches!(record, Value::Object(_)) {
            found.problems.push(not_an_object("a run of OpenHands", record).at_index(index));
            continue;
        }
        let mut reading = Reading::new(found.reader);
        let mut told = Told::default();
        events_of(record).iter().for_each(|event| told.note(*event));
        let events = reading.list(record, HISTORY);
        reading.inside(
            |error| error.at_key(Text::from(HISTORY)),
            |reading| {
                reading.all(events, |reading, item| match item {
                    // The first versions wrote an action and what was observed as a pair.
                    Value::Array(pair) => {
                        reading.all(pair, |reading, event| told.event(reading, event));
                        Ok(())
                    }
                    event => told.event(reading, event),
                });
                Ok(())
            },
        );
        let id = parts::id(found.reader, record, &[INSTANCE]);
        let model = at(record, &["metadata", "llm_config", "model"]).or(told.model.map(Value::Text));
        let resolved = at(record, &["test_result", "resolved"]).or(at(record, &["report", "resolved"]));
        let trace = reading.finish(found, |error| error.at_index(index));
        trace.id = id;
        trace.test_id = id;
        trace.note("model", model);
        trace.note("success", resolved);
    }
    Ok(())
}

fn events_of<'a>(record: Value<'a>) -> Vec<Value<'a>> {
    let Some(Value::Array(history)) = record.get(HISTORY) else { return Vec::new() };
    let events = |item: &Value<'a>| match *item {
        Value::Array(pair) => pair.to_vec(),
        event => vec![event],
    };
    history.iter().flat_map(events).collect()
}

/// What is told of actions later on.
#[derive(Default)]
struct Told<'a> {
    /// Of the first version: what was observed, by the action that caused it.
    causes: HashMap<i64, Value<'a>>,
    /// The actions that are there.
    actions: HashSet<i64>,
    /// Of the SDK: the ids of calls by those of their actions, where both are known.
    ids: HashMap<Text<'a>, Text<'a>>,
    model: Option<Text<'a>>,
}

impl<'a> Told<'a> {
    fn note(&mut self, event: Value<'a>) {
        if let (Some(Value::Int(cause)), Some(Value::Text(_))) = (event.get("cause"), event.get(OBSERVATION)) {
            self.causes.entry(cause).or_insert(event);
        }
        if let (Some(Value::Int(id)), Some(Value::Text(_))) = (event.get("id"), event.get(ACTION)) {
            self.actions.insert(id);
        }
        if word(event, KIND, &[ACTION_EVENT]).is_some()
            && let (Some(own), Some(id)) = (parts::text(event, &["id"]), parts::text(event, &[CALL_ID]))
        {
            self.ids.entry(own).or_insert(id);
        }
    }

    fn event(&mut self, reading: &mut Reading<'a>, event: Value<'a>) -> Result<(), Error> {
        if !matches!(event, Value::Object(_)) {
            return Err(not_an_object("an event of OpenHands", event));
        }
        match parts::text(event, &[KIND]) {
            Some(kind) if kind.is(MESSAGE_EVENT) => {
                let content = at(event, &["llm_message", "content"]);
                let said = reading.said(content);
                match word(event, "source", &[USER]) {
                    Some(_) => reading.listener.asked(said),
                    None => reading.listener.said(said),
                }
                Ok(())
            }
            Some(kind) if kind.is(ACTION_EVENT) => self.sdk_action(reading, event),
            Some(kind) if RESULTS.iter().any(|result| kind.is(result)) => {
                self.sdk_result(reading, event);
                Ok(())
            }
            Some(kind) if SILENT.iter().any(|silent| kind.is(silent)) => Ok(()),
            Some(kind) => {
                let known = [MESSAGE_EVENT, ACTION_EVENT, RESULTS[0], RESULTS[1], RESULTS[2]];
                parts::reject_calls(kind, "the kind of an event", &known)
                    .map_err(|error| error.at_key(Text::from(KIND)))?;
                check_unknown(Some(kind), event)
            }
            None => self.action(reading, event),
        }
    }

    /// An action of the first version, together with what was observed of it.
    fn action(&mut self, reading: &mut Reading<'a>, event: Value<'a>) -> Result<(), Error> {
        let Some(action) = parts::text(event, &[ACTION]) else { return self.observation(reading, event) };
        let args = event.get("args").unwrap_or(Value::Null);
        let said = |key: &str| parts::text(args, &[key]).filter(|text| !text.is_blank());
        let source = word(event, "source", &[USER, AGENT]);
        if action.is("message") {
            let content = parts::text(args, &["content"]);
            match source {
                Some(USER) => reading.listener.asked(content),
                Some(_) => reading.listener.said(content),
                None => {}
            }
            return Ok(());
        }
        let metadata = event.get(METADATA).filter(|metadata| !matches!(metadata, Value::Null));
        if source != Some(AGENT) || metadata.is_none() && NO_TOOLS.iter().any(|other| action.is(other)) {
            return Ok(());
        }
        let requested = metadata.map(|metadata| (metadata, requested(metadata)));
        let mut span = match requested {
            Some((metadata, call)) => {
                let mut span = Span { id: parts::id(reading.reader, metadata, &[CALL_ID]), ..Span::new(action) };
                if let Some(name) = parts::text(metadata, CALL.name) {
                    span.name = name;
                }
                // Only what the model wrote is what the tool was given; the action has it in words of its own.
                let written = call.and_then(|call| call.get("arguments"));
                span.input = reading.arguments(written.unwrap_or(Value::Null), METADATA);
                if self.model.is_none() {
                    self.model =
                        at(metadata, &["model_response"]).and_then(|response| parts::text(response, &["model"]));
                }
                span
            }
            None => Span::new(action),
        };
        if let (Value::Null, Value::Object(members)) = (span.input, args) {
            span.input = without(reading.reader, members, NO_ARGUMENTS);
        }
        span.started_at = reading.time(event, &["timestamp"], Since::Guess);
        reading.listener.said(said("thought"));
        let observed = match event.get("id") {
            Some(Value::Int(id)) => self.causes.get(&id).copied(),
            _ => None,
        };
        match observed {
            Some(observed) => {
                (span.output, span.status) = self::observed(reading, observed);
                span.ended_at = reading.time(observed, &["timestamp"], Since::Guess);
                reading.listener.done(span);
            }
            None => reading.listener.called(span),
        }
        // Whoever finishes says so.
        if action.is("finish") {
            let message = parts::text(event, &["message"]);
            reading.listener.said(said("final_thought").or_else(|| said("thought")).or(message));
        }
        Ok(())
    }

    /// What was observed is told with its action. Where the log begins after that, it is a result without a call.
    fn observation(&self, reading: &mut Reading<'a>, event: Value<'a>) -> Result<(), Error> {
        let Some(Value::Text(_)) = event.get(OBSERVATION) else { return check_unknown(None, event) };
        let Some(metadata @ Value::Object(_)) = event.get(METADATA) else { return Ok(()) };
        if matches!(event.get("cause"), Some(Value::Int(cause)) if !self.actions.contains(&cause)) {
            let (output, status) = observed(reading, event);
            let (id, name) = (parts::id(reading.reader, metadata, &[CALL_ID]), parts::text(metadata, CALL.name));
            reading.listener.answered(Answer { name, status, ..answer(id, output) });
        }
        Ok(())
    }

    fn sdk_action(&mut self, reading: &mut Reading<'a>, event: Value<'a>) -> Result<(), Error> {
        let said = reading.said(event.get("thought"));
        reading.listener.said(said);
        let written = event.get("tool_call").unwrap_or(Value::Null);
        let written = match written.get("function") {
            Some(function @ Value::Object(_)) => function,
            _ => written,
        };
        // The tool's name may stand in either.
        let named = if found(event, CALL.name).is_some() { event } else { written };
        let mut span = match named {
            Value::Object(_) => reading.call(named, &CALL)?,
            _ => reading.call(event, &CALL)?,
        };
        span.id = parts::id(reading.reader, event, &[CALL_ID]);
        span.input = match (written.get("arguments"), event.get(ACTION)) {
            (Some(arguments), _) if !matches!(arguments, Value::Null) => reading.arguments(arguments, "tool_call"),
            (_, Some(Value::Object(members))) => without(reading.reader, members, &[KIND]),
            _ => Value::Null,
        };
        span.started_at = reading.time(event, &["timestamp"], Since::Guess);
        reading.listener.called(span);
        if let Some(action) = event.get(ACTION).filter(|action| word(*action, KIND, &["FinishAction"]).is_some()) {
            reading.listener.said(parts::text(action, &["message"]));
        }
        Ok(())
    }

    fn sdk_result(&mut self, reading: &mut Reading<'a>, event: Value<'a>) {
        let own = parts::id(reading.reader, event, &[CALL_ID]);
        let action = parts::text(event, &[ACTION_ID]);
        // What happened without an action belongs to none.
        if own.is_none() && action.is_none() {
            return;
        }
        let id = own.or_else(|| self.ids.get(&action?).copied());
        let name = parts::text(event, &["tool_name"]);
        let observation = event.get(OBSERVATION).unwrap_or(Value::Null);
        let answer = match word(event, KIND, RESULTS) {
            Some("UserRejectObservation") => Answer {
                status: Some(Text::from("rejected")),
                error: parts::text(event, &["rejection_reason"]),
                ..answer(id, Value::Null)
            },
            Some("AgentErrorEvent") => Answer {
                status: Some(Text::from(ERROR)),
                error: parts::error(reading.reader, event, &[ERROR]),
                ..answer(id, Value::Null)
            },
            _ => {
                let failed = matches!(observation.get("is_error"), Some(Value::True));
                let output = match (observation, found(observation, &["content", "output"])) {
                    (_, Some(_)) => reading.output(observation, &["content", "output"]),
                    (Value::Object(members), None) => without(reading.reader, members, &[KIND]),
                    (other, None) => other,
                };
                Answer { status: failed.then_some(Text::from(ERROR)), ..answer(id, output) }
            }
        };
        reading.listener.answered(Answer { name, ..answer });
    }
}

/// What an observation of the first version says of its action.
fn observed<'a>(reading: &mut Reading<'a>, observed: Value<'a>) -> (Value<'a>, Option<Text<'a>>) {
    let status = match word(observed, OBSERVATION, &[ERROR, "user_rejected"]) {
        Some(ERROR) => Some(Text::from(ERROR)),
        Some(_) => Some(Text::from("rejected")),
        None if matches!(observed.get("success"), Some(Value::False)) => Some(Text::from(ERROR)),
        None => None,
    };
    (reading.output(observed, &["content"]), status)
}

/// The call as the model wrote it: the one of its response with the same id.
fn requested<'a>(metadata: Value<'a>) -> Option<Value<'a>> {
    let Some(Value::Array(choices)) = at(metadata, &["model_response", "choices"]) else { return None };
    let id = parts::text(metadata, &[CALL_ID]);
    let calls = choices.iter().filter_map(|choice| match at(*choice, &["message", "tool_calls"]) {
        Some(Value::Array(calls)) => Some(calls),
        _ => None,
    });
    let call = calls.flatten().find(|call| parts::text(**call, &["id"]) == id)?;
    call.get("function")
}

#[cfg(test)]
mod tests {
    use super::{super::reading::told::tells, *};

    #[test]
    fn actions_of_the_first_version() {
        tells(
            &LOG,
            r#"[
                {"id": 0, "source": "user", "action": "message", "args": {"content": "Rename it"}},
                {"id": 1, "source": "environment", "observation": "agent_state_changed", "content": "", "extras": {"agent_state": "running"}},
                {"id": 2, "source": "agent", "action": "run", "timestamp": "2026-01-27T22:45:13.5",
                 "args": {"command": "mv a b", "thought": "I rename it.", "hidden": false},
                 "tool_call_metadata": {"function_name": "execute_bash", "tool_call_id": "x", "model_response": {"model": "m",
                    "choices": [{"message": {"tool_calls": [
                        {"id": "w", "function": {"name": "other", "arguments": "{}"}},
                        {"id": "x", "function": {"name": "execute_bash", "arguments": "{\"command\": \"mv a b\"}"}}]}}]}}},
                {"id": 3, "source": "agent", "observation": "run", "cause": 2, "content": "", "extras": {}, "success": false,
                 "timestamp": "2026-01-27T22:45:14"},
                {"id": 4, "source": "agent", "action": "browse", "args": {"url": "x", "thought": ""}},
                {"id": 5, "source": "agent", "observation": "error", "cause": 4, "content": "no", "extras": {}},
                {"id": 6, "source": "agent", "action": "change_agent_state", "args": {"agent_state": "finished"}},
                {"id": 7, "source": "agent", "action": "finish", "message": "All done!", "args": {"outputs": {}, "thought": ""}},
                {"id": 9, "source": "agent", "observation": "run", "cause": 8, "content": "cut", "extras": {},
                 "tool_call_metadata": {"function_name": "execute_bash", "tool_call_id": "z"}},
                {"id": 10, "source": "agent", "type": "future", "tool": {"name": "f"}},
                7
            ]"#,
            &[
                r#"# - model="m""#,
                "Rename it → All done!",
                r#"  execute_bash({"command": "mv a b"}) = "" #x is error 2026-01-27T22:45:13.5Z–2026-01-27T22:45:14Z"#,
                r#"  browse({"url": "x"}) = "no" is error"#,
                r#"  finish({"outputs": {}}) = null"#,
                r#"  execute_bash(null) = "cut" #z (only answered)"#,
                "problem [9]: an entry of an unknown type, which may be a call: it has tool",
                "problem [10]: expected an event of OpenHands, an object, got a number",
            ],
        );
    }

    #[test]
    fn events_of_the_sdk_on_pages() {
        tells(
            &LOG,
            r#"[{"items": [
                null,
                {"kind": "MessageEvent", "source": "user", "llm_message": {"content": [{"type": "text", "text": "Look"}]}},
                {"kind": "ActionEvent", "id": "a1", "thought": [{"type": "text", "text": "I look."}], "tool_name": "terminal",
                 "tool_call_id": "c1", "tool_call": {"id": "c1", "name": "terminal", "arguments": "{\"command\":\"pwd\"}"}},
                {"kind": "ActionEvent", "id": "a2", "tool_name": "file_editor",
                 "action": {"kind": "FileEditAction", "path": "a.py"}},
                {"kind": "ActionEvent", "id": "a3", "tool_call_id": "c3", "tool_call": {"id": "c3", "type": "function",
                    "function": {"name": "think", "arguments": "{}"}}},
                {"kind": "ActionEvent", "id": "a4", "tool_call": {"arguments": "[]"}}]},
              {"items": [
                {"kind": "ObservationEvent", "action_id": "a1", "observation": {"content": [{"type": "text", "text": "/w"}], "is_error": false}},
                {"kind": "UserRejectObservation", "action_id": "a2", "tool_name": "file_editor", "rejection_reason": "No."},
                {"kind": "AgentErrorEvent", "tool_call_id": "c3", "error": "broken"},
                {"kind": "ObservationEvent", "observation": {"content": [{"type": "text", "text": "ready"}]}},
                {"kind": "ActionEvent", "id": "a5", "tool_name": "finish", "tool_call_id": "c5",
                 "action": {"kind": "FinishAction", "message": "Done."}},
                {"kind": "SystemPromptEvent", "source": "agent", "tools": [{"name": "terminal"}]},
                {"kind": "ACPToolCallEvent", "source": "agent", "tool_call_id": "c6", "title": "ls", "raw_input": {}},
                {"kind": "FutureEvent", "steps": [{"type": "tool_use", "name": "f", "input": {}}]},
                {"kind": "MessageEvent", "source": "agent", "llm_message": {"content": []}}]}]"#,
            &[
                "# -",
                "Look → Done.",
                r#"  terminal({"command": "pwd"}) = "/w" #c1"#,
                r#"  file_editor({"path": "a.py"}) = null is rejected ! No."#,
                "  think({}) = null #c3 is error ! broken",
                r#"  unknown tool("[]") = null"#,
                r#"  finish({"message": "Done."}) = null #c5"#,
                "problem [0].items[0]: expected an event of OpenHands, an object, got null",
                "problem [0].items[5]: a tool call without a name; it is given as tool_name or name or function_name",
                r#"problem [1].items[6].kind: the kind of an event is one of MessageEvent, ActionEvent, ObservationEvent, UserRejectObservation, AgentErrorEvent, not "ACPToolCallEvent""#,
                r#"problem [1].items[7]: an entry of an unknown type, "FutureEvent", which may hold a call: it has tool_use"#,
            ],
        );
    }

    #[test]
    fn a_record_for_each_run() {
        tells(
            &OUTPUT,
            r#"[{"instance_id": "repo-1", "test_result": {"resolved": true}, "metadata": {"llm_config": {"model": "m"}},
                "history": [
                    [{"id": 0, "source": "user", "action": "message", "args": {"content": "Fix"}}, {}],
                    {"id": 1, "source": "agent", "action": "run", "args": {"command": "ls", "thought": ""}},
                    {"id": 2, "source": "agent", "observation": "run", "cause": 1, "content": "a.py", "extras": {}}]}]"#,
            &[r#"# repo-1 test repo-1 model="m" success=true"#, "Fix → -", r#"  run({"command": "ls"}) = "a.py""#],
        );
    }
}
