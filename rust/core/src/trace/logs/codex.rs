//! Sessions of Codex: the items of OpenAI's Responses API in envelopes, beside events that tell the same again; and the
//! events that `codex exec --json` prints.

use std::collections::HashMap;

use super::{
    Log, Unit,
    reading::{at, members_of},
    session::{ASSISTANT, Entry, ROLE, Session, TYPE, USER, check_unknown},
};
use crate::{
    error::Error,
    text::Text,
    trace::{
        messages::{
            parts::{self, Keys, not_an_object, reject_calls, word},
            responses,
        },
        span::{RecordedAs, Span},
        stored::Found,
        time::Unit as Since,
        turns::{Answer, Listener},
    },
    value::Value,
};

pub const LOG: Log = Log { name: "codex", title: "a session of Codex", unit: Unit::File, fits, read };

const PAYLOAD: &str = "payload";
const RESPONSE_ITEM: &str = "response_item";
const EVENT: &str = "event_msg";
const SESSION_META: &str = "session_meta";
const TURN_CONTEXT: &str = "turn_context";
/// The last has the past, made shorter.
const ENVELOPES: &[&str] = &[RESPONSE_ITEM, EVENT, SESSION_META, TURN_CONTEXT, "compacted"];

const EVENTS: &str = "events";
const ITEM: &str = "item";
const COMPLETED: &str = "item.completed";
const ITEMS: &[&str] = &["item.started", "item.updated", COMPLETED];
const THREAD: &str = "thread.started";
const THREAD_ID: &[&str] = &["thread_id"];
const TURN: &str = "turn.started";
/// Events that say nothing that is asked for here.
const SILENT: &[&str] = &["turn.completed", "turn.failed", "error"];

const MCP: Keys = Keys { id: &["id"], name: &["tool"], arguments: &["arguments"] };
const MCP_CALL: &str = "mcp_tool_call";
const AGENT_CALL: &str = "collab_tool_call";
const AGENT_MESSAGE: &str = "agent_message";
/// Calls that are named after their type, with what they are asked.
const CALLS: &[(&str, &[&str])] = &[
    ("command_execution", &["command"]),
    ("file_change", &["changes"]),
    ("web_search", &["query", "action"]),
    (AGENT_CALL, &["prompt", "receiver_thread_ids"]),
];
const OUTPUTS: &[&str] = &["aggregated_output", "result", "output"];

/// What messages in the name of the user begin with that they didn't write.
const NOISE: &[&str] = &[
    "<environment_context>",
    "<user_instructions>",
    "<INSTRUCTIONS>",
    "# AGENTS.md instructions",
    "<permissions instructions>",
    "<collaboration_mode>",
    "<model_switch>",
    "<turn_aborted>",
    "<skill>",
    "<user_shell_command>",
    "<subagent_notification>",
    "<hook_prompt",
];

fn fits(record: Value<'_>) -> bool {
    let is_run = || events(record).is_some_and(|events| events.iter().any(|event| is_event(*event)));
    is_envelope(record) || is_event(record) || is_run()
}

fn is_envelope(record: Value<'_>) -> bool {
    word(record, TYPE, ENVELOPES).is_some() && matches!(record.get(PAYLOAD), Some(Value::Object(_)))
}

fn is_event(record: Value<'_>) -> bool {
    match word(record, TYPE, ITEMS) {
        Some(_) => at(record, &[ITEM, TYPE]).is_some(),
        None => word(record, TYPE, &[THREAD]).is_some() && record.get("thread_id").is_some(),
    }
}

/// The events of a run that was kept as one object.
fn events<'a>(record: Value<'a>) -> Option<&'a [Value<'a>]> {
    match record.get(EVENTS) {
        Some(Value::Array(events)) => Some(events),
        _ => None,
    }
}

fn read<'a>(found: &mut Found<'a>, records: &[Value<'a>]) -> Result<(), Error> {
    let runs: Vec<_> = records.iter().map(|record| events(*record)).collect();
    if runs.iter().all(Option::is_none) {
        read_all(found, records, |error| error);
    }
    if runs.iter().any(Option::is_some) {
        for (index, (run, record)) in runs.into_iter().zip(records).enumerate() {
            match run {
                Some(events) => {
                    read_all(found, events, |error| error.at_key(Text::from(EVENTS)).at_index(index));
                }
                None => found.problems.push(not_an_object("a run of Codex, with its events", *record).at_index(index)),
            }
        }
    }
    Ok(())
}

fn read_all<'a>(found: &mut Found<'a>, records: &[Value<'a>], place: impl Fn(Error) -> Error) {
    let mut reading = Reading { session: Session::new(found.reader), id: None, model: None, items: items(records) };
    for (index, &record) in records.iter().enumerate() {
        let before = reading.session.reading.problems.len();
        let read = reading.record(record, index);
        reading.session.locate(before, read, |error| error.at_index(index));
    }
    let Reading { session, id, model, .. } = reading;
    let before = found.problems.len();
    let trace = session.finish(found, |error, index| error.at_index(index));
    trace.id = id;
    trace.note("model", model.map(Value::Text));
    let inside = found.problems.split_off(before);
    found.problems.extend(inside.into_iter().map(place));
}

/// By the event that tells of an item first, the one that tells of it last. The ids begin anew with each run.
fn items<'a>(records: &[Value<'a>]) -> HashMap<usize, Value<'a>> {
    let mut first: HashMap<Text<'a>, usize> = HashMap::new();
    let mut items = HashMap::new();
    for (index, &record) in records.iter().enumerate() {
        if word(record, TYPE, &[THREAD]).is_some() {
            first.clear();
        }
        if word(record, TYPE, ITEMS).is_some() {
            let id = record.get(ITEM).and_then(|item| parts::text(item, &["id"]));
            let first = id.map_or(index, |id| *first.entry(id).or_insert(index));
            items.insert(first, record);
        }
    }
    items
}

struct Reading<'a> {
    session: Session<'a>,
    id: Option<Text<'a>>,
    model: Option<Text<'a>>,
    items: HashMap<usize, Value<'a>>,
}

impl<'a> Reading<'a> {
    fn record(&mut self, record: Value<'a>, index: usize) -> Result<(), Error> {
        if !matches!(record, Value::Object(_)) {
            return Err(not_an_object("an entry of a session", record));
        }
        let kind = word(record, TYPE, ENVELOPES).or_else(|| word(record, TYPE, ITEMS));
        if let Some(kind) = kind.filter(|kind| ENVELOPES.contains(kind)) {
            let payload = match record.get(PAYLOAD) {
                Some(payload @ Value::Object(_)) => payload,
                other => {
                    let error = not_an_object("what is in an entry", other.unwrap_or(Value::Null));
                    return Err(error.at_key(Text::from(PAYLOAD)));
                }
            };
            return self.payload(kind, record, payload, index).map_err(|error| error.at_key(Text::from(PAYLOAD)));
        }
        if kind.is_some() {
            let Some(event) = self.items.remove(&index) else { return Ok(()) };
            let Some(item @ Value::Object(_)) = event.get(ITEM) else {
                return Err(not_an_object("an item", event.get(ITEM).unwrap_or(Value::Null)).at_key(Text::from(ITEM)));
            };
            let is_whole = word(event, TYPE, &[COMPLETED]).is_some();
            return self.item(item, is_whole).map_err(|error| error.at_key(Text::from(ITEM)));
        }
        match word(record, TYPE, &[THREAD, TURN]) {
            Some(THREAD) => self.id = self.id.or_else(|| parts::text(record, THREAD_ID)),
            // What was asked is not among the events.
            Some(_) => self.session.asked(None),
            None if word(record, TYPE, SILENT).is_some() => {}
            None => check_unknown(parts::text(record, &[TYPE]), record)?,
        }
        Ok(())
    }

    fn payload(&mut self, kind: &str, record: Value<'a>, payload: Value<'a>, index: usize) -> Result<(), Error> {
        match kind {
            RESPONSE_ITEM => {
                let at = self.session.reading.time(record, &["timestamp"], Since::Guess);
                let is_by_user = word(payload, ROLE, &[USER]).is_some();
                let entry = Entry { record: index, at, is_by_user, agent: None, message_id: None, is_inner: false };
                self.response_item(payload, entry)?;
            }
            SESSION_META => self.id = self.id.or_else(|| parts::text(payload, &["id"])),
            TURN_CONTEXT => self.model = self.model.or_else(|| parts::text(payload, &["model"])),
            EVENT if word(payload, TYPE, &["thread_rolled_back"]).is_some() => {
                if let Some(Value::Int(turns)) = payload.get("num_turns") {
                    self.session.rewind(usize::try_from(turns).unwrap_or(0));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn response_item(&mut self, item: Value<'a>, entry: Entry<'a>) -> Result<(), Error> {
        if word(item, TYPE, &["message"]).is_some() {
            if word(item, ROLE, &[USER, ASSISTANT]).is_some() {
                self.session.message(item, entry, NOISE);
            }
            return Ok(());
        }
        let mut heard = Listener::default();
        if let Err(error) = (responses::DIALECT.read)(self.session.reader(), &[item], &mut heard) {
            let kind = parts::text(item, &[TYPE]);
            let may_be_a_call = kind.is_none_or(|kind| reject_calls(kind, "", &[]).is_err());
            if may_be_a_call || check_unknown(kind, item).is_err() {
                return Err(error.relocated(|_| Vec::new()));
            }
        }
        for span in heard.finish().into_spans() {
            let Span { id, output, status, error, .. } = span;
            if span.recorded_as == RecordedAs::Executed {
                self.session.answered(Answer { id, name: None, output, status, error }, entry.at, entry.record);
            } else if status.is_some() || !matches!(output, Value::Null) {
                self.session.done(Span { started_at: entry.at, ..span });
            } else {
                self.session.called(Span { started_at: entry.at, ..span });
            }
        }
        Ok(())
    }

    fn item(&mut self, item: Value<'a>, is_whole: bool) -> Result<(), Error> {
        let reader = self.session.reader();
        if word(item, TYPE, &[AGENT_MESSAGE]).is_some() {
            self.session.said(parts::text(item, &["text"]));
            return Ok(());
        }
        let span = match CALLS.iter().find(|(kind, _)| word(item, TYPE, &[kind]).is_some()) {
            Some((kind, keys)) => {
                let asked: Vec<_> = keys.iter().map(|&key| (key, item.get(key).unwrap_or(Value::Null))).collect();
                let asked = members_of(reader, &asked);
                let input = if asked.is_empty() { Value::Null } else { Value::Object(asked) };
                let name = parts::text(item, &["tool"]).filter(|_| *kind == AGENT_CALL).unwrap_or(Text::from(*kind));
                let id = parts::id(reader, item, &["id"]);
                Span { id, input: self.session.reading.arguments(input, ITEM), ..Span::new(name) }
            }
            None if word(item, TYPE, &[MCP_CALL]).is_some() => self.session.reading.call(item, &MCP)?,
            None => {
                let kind = parts::text(item, &[TYPE]);
                let known: Vec<_> = CALLS.iter().map(|(kind, _)| *kind).chain([MCP_CALL, AGENT_MESSAGE]).collect();
                if let Some(kind) = kind {
                    reject_calls(kind, "the type of an item", &known)
                        .map_err(|error| error.at_key(Text::from(TYPE)))?;
                }
                return check_unknown(kind, item);
            }
        };
        let output = match item.get("result") {
            Some(result) if result.get("content").is_some() => self.session.reading.output(result, &["content"]),
            _ if is_whole => self.session.reading.output(item, OUTPUTS),
            _ => Value::Null,
        };
        let error = match item.get("error") {
            Some(error @ Value::Object(_)) if error.get("message").is_some() => {
                parts::error(reader, error, &["message"])
            }
            _ => parts::error(reader, item, &["error"]),
        };
        let exit_code = [("exit_code", item.get("exit_code").unwrap_or(Value::Null))];
        let attributes = members_of(reader, &exit_code);
        let status = parts::text(item, &["status"]);
        self.session.done(Span { output, error, status, attributes, ..span });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::reading::told::{leaves, tells},
        *,
    };

    #[test]
    fn only_response_items_count() {
        tells(
            &LOG,
            r##"[
                {"timestamp": "2026-01-01T12:00:00Z", "type": "session_meta", "payload": {"id": "s", "cwd": "/"}},
                {"timestamp": "2026-01-01T12:00:00Z", "type": "turn_context", "payload": {"model": "gpt"}},
                {"timestamp": "2026-01-01T12:00:00Z", "type": "response_item", "payload": {"type": "message",
                    "role": "developer",
                    "content": [{"type": "input_text", "text": "Be brief."}]}},
                {"timestamp": "2026-01-01T12:00:00Z", "type": "response_item", "payload": {"type": "message",
                    "role": "user", "content": [
                    {"type": "input_text", "text": "# AGENTS.md instructions for /"},
                    {"type": "input_text", "text": "<environment_context>x</environment_context>"}]}},
                {"timestamp": "2026-01-01T12:00:01Z", "type": "event_msg", "payload": {"type": "user_message",
                    "message": "list"}},
                {"timestamp": "2026-01-01T12:00:01Z", "type": "response_item", "payload": {"type": "message",
                    "role": "user",
                    "content": [{"type": "input_text", "text": "list"}]}},
                {"timestamp": "2026-01-01T12:00:02Z", "type": "response_item", "payload": {"type": "reasoning",
                    "summary": []}},
                {"timestamp": "2026-01-01T12:00:03Z", "type": "response_item", "payload": {"type": "function_call",
                    "call_id": "1",
                    "name": "shell", "arguments": "{\"command\": [\"ls\"]}"}},
                {"timestamp": "2026-01-01T12:00:04Z", "type": "event_msg", "payload": {"type": "exec_command_end",
                    "call_id": "1"}},
                {"timestamp": "2026-01-01T12:00:04Z", "type": "response_item",
                    "payload": {"type": "function_call_output", "call_id": "1",
                    "output": "a.txt"}},
                {"timestamp": "2026-01-01T12:00:05Z", "type": "response_item",
                    "payload": {"type": "custom_tool_call", "call_id": "2",
                    "name": "apply_patch", "input": "*** Begin", "status": "completed"}},
                {"timestamp": "2026-01-01T12:00:06Z", "type": "response_item", "payload": {"type": "web_search_call",
                    "id": "w",
                    "status": "completed", "action": {"type": "search", "query": "q"}}},
                {"timestamp": "2026-01-01T12:00:06Z", "type": "response_item", "payload": {"type": "new_snapshot",
                    "ghost": {}}},
                {"timestamp": "2026-01-01T12:00:07Z", "type": "response_item", "payload": {"type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "Done."}]}},
                {"timestamp": "2026-01-01T12:00:08Z", "type": "compacted", "payload": {"message": "x",
                    "replacement_history": []}}
            ]"##,
            &[
                r#"# s model="gpt""#,
                "list → Done.",
                r#"  shell({"command": ["ls"]}) = "a.txt" #1 2026-01-01T12:00:03Z–2026-01-01T12:00:04Z"#,
                r#"  apply_patch("*** Begin") = null #2 2026-01-01T12:00:05Z–-"#,
                r#"  web_search({"type": "search", "query": "q"}) = null #w is completed 2026-01-01T12:00:06Z–-"#,
            ],
        );
    }

    fn item(payload: &str) -> String {
        format!(r#"{{"type": "response_item", "payload": {payload}}}"#)
    }

    #[test]
    fn turns_that_were_rolled_back_do_not_count() {
        let asked = |text: &str| item(&format!(r#"{{"type": "message", "role": "user", "content": {text:?}}}"#));
        let called = |id: &str| {
            item(&format!(r#"{{"type": "function_call", "call_id": {id:?}, "name": "f", "arguments": "{{}}"}}"#))
        };
        let back = r#"{"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 2}}"#;
        let records = [
            asked("one"),
            called("1"),
            asked("two"),
            called("2"),
            asked("three"),
            back.to_owned(),
            asked("four"),
            called("3"),
        ];
        tells(
            &LOG,
            &format!("[{}]", records.join(",")),
            &["# -", "one → -", "  f({}) = null #1", "four → -", "  f({}) = null #3"],
        );
    }

    #[test]
    fn an_id_that_comes_twice_and_results_of_nothing() {
        let call = |arguments: &str| {
            item(&format!(r#"{{"type": "function_call", "call_id": "1", "name": "f", "arguments": {arguments:?}}}"#))
        };
        let output = |id: &str, output: &str| {
            item(&format!(r#"{{"type": "function_call_output", "call_id": {id:?}, "output": {output:?}}}"#))
        };
        let records = [
            call(r#"{"a": 1}"#),
            call("no json"),
            output("1", "A"),
            output("1", "B"),
            output("2", "C"),
            item(r#"{"type": "function_call", "call_id": "3"}"#),
            item(r#"{"type": "strange", "arguments": "{}"}"#),
            r#"{"type": "response_item"}"#.to_owned(),
            "null".to_owned(),
        ];
        tells(
            &LOG,
            &format!("[{}]", records.join(",")),
            &[
                "# -",
                "- → -",
                r#"  f({"a": 1}) = "A" #1"#,
                r#"  f("no json") = "B" #1"#,
                "problem [5].payload: a tool call without a name",
                r#"problem [6].payload.type: an item of an unknown type, "strange""#,
                "problem [7].payload: expected what is in an entry, an object, got null",
                "problem [8]: expected an entry of a session, an object, got null",
                r#"problem [4]: the result of a call that is not in the log, "2""#,
            ],
        );
    }

    const RUN: &str = r#"
        {"type": "thread.started", "thread_id": "t"},
        {"type": "turn.started"},
        {"type": "item.completed", "item": {"id": "item_0", "type": "reasoning", "text": "Hm"}},
        {"type": "item.started", "item": {"id": "item_1", "type": "command_execution", "command": "ls",
            "aggregated_output": "",
            "exit_code": null, "status": "in_progress"}},
        {"type": "item.started", "item": {"id": "item_2", "type": "mcp_tool_call", "server": "s", "tool": "ask",
            "arguments": {"q": 1},
            "result": null, "error": null, "status": "in_progress"}},
        {"type": "item.completed", "item": {"id": "item_2", "type": "mcp_tool_call", "server": "s", "tool": "ask",
            "arguments": {"q": 1},
            "result": {"content": [{"type": "text", "text": "A"}], "structured_content": null}, "error": null,
                "status": "completed"}},
        {"type": "item.completed", "item": {"id": "item_1", "type": "command_execution", "command": "ls",
            "aggregated_output": "a.txt",
            "exit_code": 2, "status": "failed"}},
        {"type": "item.completed", "item": {"id": "item_3", "type": "file_change", "changes": [{"path": "p",
            "kind": "add"}],
            "status": "completed"}},
        {"type": "item.completed", "item": {"id": "item_4", "type": "mcp_tool_call", "tool": "ask", "arguments": {},
            "error": {"message": "gone"}, "status": "failed"}},
        {"type": "item.completed", "item": {"id": "item_5", "type": "todo_list", "items": [{"text": "x",
            "completed": true}]}},
        {"type": "item.completed", "item": {"id": "item_6", "type": "agent_message", "text": "Done."}},
        {"type": "item.started", "item": {"id": "item_7", "type": "web_search", "query": "q"}},
        {"type": "turn.completed", "usage": {}}"#;

    const TOLD: &[&str] = &[
        "# t",
        "- → Done.",
        r#"  command_execution({"command": "ls"}) = "a.txt" #item_1 is failed {"exit_code": 2}"#,
        r#"  ask({"q": 1}) = "A" #item_2 is completed"#,
        r#"  file_change({"changes": [{"path": "p", "kind": "add"}]}) = null #item_3 is completed"#,
        "  ask({}) = null #item_4 is failed ! gone",
        r#"  web_search({"query": "q"}) = null #item_7"#,
    ];

    #[test]
    fn what_codex_exec_prints() {
        tells(&LOG, &format!("[{RUN}]"), TOLD);
        let twice = [TOLD, TOLD].concat();
        tells(&LOG, &format!(r#"[{{"events": [{RUN}]}}, {{"events": [{RUN}]}}]"#), &twice);
        tells(
            &LOG,
            r#"[{"events": [{"type": "item.completed", "item": {"id": "1", "type": "flying_tool"}},
                {"type": "item.completed",
                "item": 5}, {"type": "more", "tool": "f"}]}, 7]"#,
            &[
                "# -",
                r#"problem [0].events[0].item.type: the type of an item is one of command_execution, file_change, web_search, collab_tool_call, mcp_tool_call, agent_message, not "flying_tool""#,
                "problem [0].events[1].item: expected an item, an object, got a number",
                r#"problem [0].events[2]: an entry of an unknown type, "more", which may be a call: it has tool"#,
                "problem [1]: expected a run of Codex, with its events, an object, got a number",
            ],
        );
    }

    #[test]
    fn other_entries_are_left_to_others() {
        leaves(
            &LOG,
            r#"[{"type": "message", "role": "user"}, {"type": "session_meta"}, {"events": []},
                {"events": [{"type": "x"}]},
            {"type": "item.completed"}, {"type": "function_call", "call_id": "1", "name": "f"}]"#,
        );
    }
}
