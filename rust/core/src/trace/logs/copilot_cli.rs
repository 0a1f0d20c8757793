//! Sessions of GitHub's Copilot CLI: events, of which messages ask for tools, and others tell how they are executed.

use std::collections::{HashMap, HashSet};

use super::{
    Log, Unit,
    reading::{ERROR, at},
    session::{CONTENT, Session, TYPE, check_unknown, without_noise},
};
use crate::{
    error::Error,
    text::Text,
    trace::{
        messages::parts::{self, Keys, not_an_object, word},
        span::Span,
        stored::Found,
        time::Unit as Since,
        turns::Answer,
    },
    value::Value,
};

pub const LOG: Log = Log { name: "copilot_cli", title: "a session of Copilot CLI", unit: Unit::File, fits, read };

const DATA: &str = "data";
const SESSION: &[&str] = &["session.start", "session.resume"];
const ASKED: &str = "user.message";
const HOOK: &str = "hook.start";
const SAID: &str = "assistant.message";
const STARTED: &str = "tool.execution_start";
const COMPLETED: &str = "tool.execution_complete";
const AGENT: &str = "subagent.started";
const REQUESTS: &str = "toolRequests";
const CALL_ID: &[&str] = &["toolCallId"];
/// The call of the agent that an event belongs to.
const PARENT_CALL: &[&str] = &["parentToolCallId"];
const AGENT_NAME: &[&str] = &["agentName", "agentDisplayName"];
const MODEL: &[&str] = &["selectedModel", "model", "newModel"];
/// The prefixes of events that say nothing else.
const SILENT: &[&str] =
    &["session.", "hook.", "user.", "subagent.", "system.", "permission.", "skill.", "abort", "tool.user_requested"];

const REQUEST: Keys = Keys { id: CALL_ID, name: &["name"], arguments: &["arguments"] };
const EXECUTION: Keys = Keys { id: CALL_ID, name: &["toolName"], arguments: &["arguments"] };

fn fits(record: Value<'_>) -> bool {
    let kinds = [SESSION[0], SESSION[1], ASKED, HOOK, SAID, STARTED, COMPLETED];
    word(record, TYPE, &kinds).is_some() && matches!(record.get(DATA), Some(Value::Object(_)))
}

fn read<'a>(found: &mut Found<'a>, records: &[Value<'a>]) -> Result<(), Error> {
    let mut reading = Reading {
        session: Session::new(found.reader),
        has_messages: records.iter().any(|record| word(*record, TYPE, &[ASKED]).is_some()),
        executions: HashMap::new(),
        agents: HashMap::new(),
        called: HashSet::new(),
    };
    for &record in records {
        let Some(data) = record.get(DATA) else { continue };
        let Some(id) = parts::text(data, CALL_ID) else { continue };
        match word(record, TYPE, &[STARTED, AGENT]) {
            Some(STARTED) => drop(reading.executions.entry(id).or_insert(record)),
            Some(_) => reading.agents.extend(parts::text(data, AGENT_NAME).map(|name| (id, name))),
            None => {}
        }
    }
    let mut seen = HashSet::new();
    for (index, &record) in records.iter().enumerate() {
        // An event may have been written twice.
        if parts::text(record, &["id"]).is_some_and(|id| !seen.insert(id)) {
            continue;
        }
        reading.record(record, index);
    }
    let all =
        |keys: &[&str]| records.iter().filter_map(|record| record.get(DATA)).find_map(|data| parts::text(data, keys));
    let start = records.iter().find(|record| word(**record, TYPE, SESSION).is_some());
    let trace = reading.session.finish(found, |error, index| error.at_index(index));
    trace.id = start.and_then(|start| parts::text(start.get(DATA)?, &["sessionId"]));
    trace.note("model", all(MODEL).map(Value::Text));
    Ok(())
}

struct Reading<'a> {
    session: Session<'a>,
    /// Is it told what the user wrote? Else, what hooks were given of it.
    has_messages: bool,
    /// How calls began to be executed, by their ids.
    executions: HashMap<Text<'a>, Value<'a>>,
    /// The names of agents, by the ids of their calls.
    agents: HashMap<Text<'a>, Text<'a>>,
    called: HashSet<Text<'a>>,
}

impl<'a> Reading<'a> {
    fn record(&mut self, record: Value<'a>, index: usize) {
        let before = self.session.reading.problems.len();
        let read = self.event(record, index);
        self.session.locate(before, read, |error| error.at_index(index));
    }

    fn event(&mut self, record: Value<'a>, index: usize) -> Result<(), Error> {
        if !matches!(record, Value::Object(_)) {
            return Err(not_an_object("an event", record));
        }
        let Some(kind) = word(record, TYPE, &[ASKED, HOOK, SAID, STARTED, COMPLETED]) else {
            let kind = parts::text(record, &[TYPE]);
            let is_silent = |kind: Text<'_>| SILENT.iter().any(|start| kind.utf8().starts_with(start.as_bytes()));
            if kind.is_some_and(is_silent) {
                return Ok(());
            }
            if let Some(data) = record.get(DATA) {
                check_unknown(kind, data).map_err(|error| error.at_key(Text::from(DATA)))?;
            }
            return check_unknown(kind, record);
        };
        let data = match record.get(DATA) {
            Some(data @ Value::Object(_)) => data,
            other => {
                return Err(not_an_object("what an event tells", other.unwrap_or(Value::Null)).at_key(Text::from(DATA)));
            }
        };
        self.told(kind, record, data, index);
        Ok(())
    }

    fn told(&mut self, kind: &str, record: Value<'a>, data: Value<'a>, index: usize) {
        let agent = parts::text(data, PARENT_CALL);
        match kind {
            ASKED if agent.is_none() => {
                let text = self.session.reading.said(data.get(CONTENT));
                self.session.asked(text);
            }
            HOOK if !self.has_messages && word(data, "hookType", &["userPromptSubmitted"]).is_some() => {
                let prompt = data.get("input").and_then(|input| parts::text(input, &["prompt"]));
                if let Some(prompt) = prompt.and_then(|prompt| without_noise(self.session.reader(), prompt, &[])) {
                    self.session.asked(Some(prompt));
                }
            }
            SAID => {
                let requests = self.session.reading.list(data, REQUESTS);
                for (place, &request) in requests.iter().enumerate() {
                    let before = self.session.reading.problems.len();
                    let span = self.session.reading.call(request, &REQUEST);
                    let read = span.map(|span| self.called(span, agent, record));
                    let place =
                        |error: Error| error.at_index(place).at_key(Text::from(REQUESTS)).at_key(Text::from(DATA));
                    self.session.locate(before, read, place);
                }
                if agent.is_none() {
                    let text = self.session.reading.said(data.get(CONTENT));
                    self.session.said(text);
                }
            }
            STARTED if parts::text(data, CALL_ID).is_none_or(|id| !self.called.contains(&id)) => {
                let before = self.session.reading.problems.len();
                let span = self.session.reading.call(data, &EXECUTION);
                let read = span.map(|span| self.called(span, agent, record));
                self.session.locate(before, read, |error| error.at_key(Text::from(DATA)));
            }
            COMPLETED => {
                let answer = self.answer(data);
                let at = self.session.reading.time(record, &["timestamp"], Since::Guess);
                self.session.answered(answer, at, index);
            }
            _ => {}
        }
    }

    /// A call counts when a message asks for it, or, if none does, when it is executed. How it was executed says more
    /// of it.
    fn called(&mut self, span: Span<'a>, parent: Option<Text<'a>>, record: Value<'a>) {
        if span.id.is_some_and(|id| !self.called.insert(id)) {
            return;
        }
        let reading = &mut self.session.reading;
        let execution = span.id.and_then(|id| self.executions.get(&id).copied());
        let given = execution.and_then(|execution| at(execution, &[DATA, "arguments"]));
        let input = match (span.input, given) {
            (input @ Value::Object(_), _) | (input, None) => input,
            (input, Some(given)) => match reading.arguments(given, "arguments") {
                given @ Value::Object(_) => given,
                _ => input,
            },
        };
        let started_at = reading.time(execution.unwrap_or(record), &["timestamp"], Since::Guess);
        let agent = parent.and_then(|parent| self.agents.get(&parent).copied());
        self.session.called(Span { input, started_at, agent, ..span });
    }

    fn answer(&mut self, data: Value<'a>) -> Answer<'a> {
        let reader = self.session.reader();
        let status = match data.get("success") {
            Some(Value::False) => Some(Text::from(ERROR)),
            Some(Value::True) => Some(Text::from("success")),
            _ => None,
        };
        let error = match data.get(ERROR) {
            Some(error @ Value::Object(_)) if error.get("message").is_some() => {
                parts::error(reader, error, &["message"])
            }
            _ => parts::error(reader, data, &[ERROR]),
        };
        let output = match data.get("result") {
            Some(result) if result.get(CONTENT).is_some() => self.session.reading.output(result, &[CONTENT]),
            _ => self.session.reading.output(data, &["result"]),
        };
        Answer { id: parts::id(reader, data, CALL_ID), name: None, output, status, error }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::reading::told::{leaves, tells},
        *,
    };

    #[test]
    fn what_is_asked_for_and_executed_counts_once() {
        tells(
            &LOG,
            r#"[
                {"type": "session.start", "id": "0", "timestamp": "2026-01-01T12:00:00Z", "data": {"sessionId": "s",
                    "selectedModel": "gpt"}},
                {"type": "hook.start", "id": "1", "data": {"hookType": "userPromptSubmitted",
                    "input": {"prompt": "List"}}},
                {"type": "user.message", "id": "2", "data": {"content": "List", "transformedContent": "<date> List"}},
                {"type": "assistant.message", "id": "3", "timestamp": "2026-01-01T12:00:01Z",
                    "data": {"content": "I look.", "toolRequests": [
                    {"toolCallId": "a", "name": "bash", "arguments": {"command": "ls"}},
                    {"toolCallId": "b", "name": "task", "arguments": "{\"agent_type\": \"x\"}"}]}},
                {"type": "tool.execution_start", "id": "4", "timestamp": "2026-01-01T12:00:02Z",
                    "data": {"toolCallId": "a", "toolName": "bash",
                    "arguments": {"command": "ls"}}},
                {"type": "subagent.started", "id": "5", "data": {"toolCallId": "b", "agentName": "explorer"}},
                {"type": "assistant.message", "id": "6", "data": {"content": "inner", "parentToolCallId": "b",
                    "toolRequests": []}},
                {"type": "tool.execution_start", "id": "7", "timestamp": "2026-01-01T12:00:03Z",
                    "data": {"toolCallId": "c", "toolName": "view",
                    "arguments": {"path": "p"}, "parentToolCallId": "b"}},
                {"type": "tool.execution_complete", "id": "8", "timestamp": "2026-01-01T12:00:04Z",
                    "data": {"toolCallId": "c", "success": true,
                    "result": {"content": "C", "detailedContent": "more"}}},
                {"type": "tool.execution_complete", "id": "9", "timestamp": "2026-01-01T12:00:05Z",
                    "data": {"toolCallId": "a", "success": false,
                    "error": {"code": "failed", "message": "no"}}},
                {"type": "tool.execution_complete", "id": "9", "data": {"toolCallId": "a", "success": true,
                    "result": {"content": "A"}}},
                {"type": "assistant.message", "id": "10", "data": {"content": "Done.", "toolRequests": null}},
                {"type": "session.info", "id": "11", "data": {"name": "x"}}
            ]"#,
            &[
                r#"# s model="gpt""#,
                "List → Done.",
                r#"  bash({"command": "ls"}) = null #a is error ! no 2026-01-01T12:00:02Z–2026-01-01T12:00:05Z"#,
                r#"  task({"agent_type": "x"}) = null #b 2026-01-01T12:00:01Z–-"#,
                r#"  view({"path": "p"}) = "C" #c @explorer is success 2026-01-01T12:00:03Z–2026-01-01T12:00:04Z"#,
            ],
        );
    }

    #[test]
    fn what_hooks_are_given_is_asked_where_nothing_else_says_it() {
        tells(
            &LOG,
            r#"[
                {"type": "hook.start", "data": {"hookType": "sessionStart", "input": {"prompt": "no"}}},
                {"type": "hook.start", "data": {"hookType": "userPromptSubmitted", "input": {"prompt": "Run"}}},
                {"type": "assistant.message", "data": {"content": "", "toolRequests": [
                    {"toolCallId": "a", "name": "shell", "arguments": "no json"}, {"toolCallId": "b"}, 5]}},
                {"type": "tool.execution_complete", "data": {"toolCallId": "gone", "success": true}},
                {"type": "assistant.message"},
                {"type": "future.event", "data": {"value": 1}},
                {"type": "future.call", "data": {"toolName": "f"}},
                {"type": "tool.user_requested", "data": {"toolName": "f", "arguments": {}}},
                {"type": "tool.execution_progress", "data": {"toolCallId": "a", "progressMessage": "x"}},
                {"type": "tool.future", "data": {"toolName": "f"}},
                {"type": "assistant.future", "data": {"parts": [{"toolCalls": [{}]}]}},
                {"type": "tool.execution_start", "data": {"toolCallId": "c"}}
            ]"#,
            &[
                "# -",
                "Run → -",
                r#"  shell("no json") = null #a"#,
                "  unknown tool(null) = null #b",
                "  unknown tool(null) = null #c",
                "problem [2].data.toolRequests[1]: a tool call without a name; it is given as name",
                "problem [2].data.toolRequests[2]: expected a tool call, an object, got a number",
                "problem [4].data: expected what an event tells, an object, got null",
                r#"problem [6].data: an entry of an unknown type, "future.call", which may be a call: it has toolName"#,
                r#"problem [9].data: an entry of an unknown type, "tool.future", which may be a call: it has toolName"#,
                r#"problem [10].data: an entry of an unknown type, "assistant.future", which may hold a call: it has toolCalls"#,
                "problem [11].data: a tool call without a name; it is given as toolName",
                r#"problem [3]: the result of a call that is not in the log, "gone""#,
            ],
        );
        leaves(&LOG, r#"[{"type": "session", "id": "1"}, {"type": "user.message"}, {"type": "message", "data": {}}]"#);
    }
}
