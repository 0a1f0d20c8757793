//! Events of CrewAI's bus: a tool was started, finished, failed.

use std::collections::{HashMap, HashSet};

use super::{
    Dialect,
    parts::{self, Keys, each, kind, word},
};
use crate::{
    call::Reader,
    error::Error,
    text::Text,
    trace::{
        span::Span,
        turns::{Answer, Listener},
    },
    value::Value,
};

pub const DIALECT: Dialect = Dialect { word: "crewai", name: "CrewAI events", fits, read };

const TYPE: &str = "type";
const STARTED: &str = "tool_usage_started";
const FINISHED: &str = "tool_usage_finished";
const FAILED: &str = "tool_usage_error";
const CREW_FINISHED: &str = "crew_kickoff_completed";
const KINDS: &[&str] = &[STARTED, FINISHED, FAILED, CREW_FINISHED];
/// These tell of the same calls again, or of calls of a model.
const SILENT: &[&str] = &[
    "tool_failure_detected",
    "tool_validate_input_error",
    "tool_selection_error",
    "tool_execution_error",
    "mcp_tool_execution_started",
    "mcp_tool_execution_completed",
    "mcp_tool_execution_failed",
    "llm_call_started",
    "llm_call_completed",
    "llm_call_failed",
];

const NAME: &str = "tool_name";
const KEYS: Keys = Keys { id: &["event_id"], name: &[NAME], arguments: &["tool_args"] };
/// In an event at the end of something, the id of the one at its start.
const STARTED_ID: &str = "started_event_id";
const AGENT: &str = "agent_role";
const OUTPUT: &str = "output";

fn fits(events: &[Value<'_>]) -> bool {
    let is_ours =
        |event: &Value<'_>| event.get(NAME).is_some() && word(*event, TYPE, &[STARTED, FINISHED, FAILED]).is_some();
    events.iter().any(is_ours)
}

fn read<'a>(reader: Reader<'a>, events: &[Value<'a>], listener: &mut Listener<'a>) -> Result<(), Error> {
    let mut running = Running::default();
    each(events, |event| listen(reader, event, &mut running, listener))
}

fn listen<'a>(
    reader: Reader<'a>,
    event: Value<'a>,
    running: &mut Running<'a>,
    listener: &mut Listener<'a>,
) -> Result<(), Error> {
    let kind = match kind(event, TYPE, "the type of an event", KINDS, SILENT)? {
        Some(CREW_FINISHED) => {
            let output = event.get(OUTPUT).unwrap_or(Value::Null);
            let whole = parts::text(event, &[OUTPUT]);
            listener.said(whole.or_else(|| parts::text(output, &["raw"])));
            return Ok(());
        }
        Some(kind) => kind,
        None => return Ok(()),
    };
    let span = Span { agent: parts::text(event, &[AGENT]), ..KEYS.call(reader, event)? };
    if kind == STARTED {
        running.start(&span);
        listener.called(span);
        return Ok(());
    }
    // A tool may finish without an error and say that it failed.
    let error = parts::error(reader, event, &["error", "failure"]);
    let answer = Answer {
        id: parts::id(reader, event, &[STARTED_ID]),
        name: Some(span.name),
        output: parts::output(reader, event, &[OUTPUT])?,
        status: (kind == FAILED || error.is_some()).then_some(Text::from("error")),
        error,
    };
    if running.end(&answer, span.name) {
        listener.answered(answer);
    } else {
        // Where only ends are kept, they tell all of a call.
        let Answer { output, status, error, .. } = answer;
        listener.done(Span { id: None, output, status, error, ..span });
    }
    Ok(())
}

/// The calls that have started.
#[derive(Default)]
struct Running<'a> {
    ids: HashSet<Text<'a>>,
    names: HashMap<Text<'a>, usize>,
}

impl<'a> Running<'a> {
    fn start(&mut self, span: &Span<'a>) {
        self.ids.extend(span.id);
        *self.names.entry(span.name).or_default() += 1;
    }

    /// Did this start?
    fn end(&mut self, answer: &Answer<'a>, name: Text<'a>) -> bool {
        let Some(count) = self.names.get_mut(&name).filter(|count| **count > 0) else { return false };
        let known = answer.id.is_none_or(|id| self.ids.remove(&id));
        if known {
            *count -= 1;
        }
        known
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::parts::told::{fails, tells},
        *,
    };

    #[test]
    fn ends_find_their_starts_by_id() {
        tells(
            &DIALECT,
            r#"[
                {"type": "crew_kickoff_started", "inputs": {}},
                {"type": "llm_call_started", "call_id": "x"},
                {"type": "tool_usage_started", "event_id": "1", "tool_name": "lookup", "tool_args": {"order": 42},
                 "agent_role": "Refunds"},
                {"type": "tool_usage_started", "event_id": "2", "tool_name": "lookup", "tool_args": "{\"order\": 43}",
                 "agent_role": "Refunds"},
                {"type": "tool_usage_error", "event_id": "3", "started_event_id": "2", "tool_name": "lookup",
                 "tool_args": {}, "error": "no such order"},
                {"type": "tool_usage_finished", "event_id": "4", "started_event_id": "1", "tool_name": "lookup",
                 "tool_args": {}, "output": "late", "failure": null},
                {"type": "crew_kickoff_completed", "output": {"raw": "Done"}}
            ]"#,
            &[
                "- → Done",
                r#"  lookup({"order": 42}) = "late" #1 @Refunds"#,
                r#"  lookup({"order": 43}) = null #2 @Refunds is error ! no such order"#,
            ],
        );
    }

    #[test]
    fn without_ids_by_name_and_order_and_an_end_alone_is_a_call() {
        tells(
            &DIALECT,
            r#"[
                {"type": "tool_usage_started", "tool_name": "a", "tool_args": {}},
                {"type": "tool_usage_finished", "tool_name": "a", "tool_args": {}, "output": {"x": 1}},
                {"type": "tool_usage_finished", "tool_name": "a", "tool_args": {"y": 2}, "agent_role": "Refunds",
                 "output": 2, "failure": {"message": "not done"}},
                {"type": "crew_kickoff_completed", "output": "Done"}
            ]"#,
            &["- → Done", r#"  a({}) = {"x": 1}"#, r#"  a({"y": 2}) = 2 @Refunds is error ! {"message": "not done"}"#],
        );
    }

    #[test]
    fn what_is_malformed_is_an_error_with_its_place() {
        for (event, error) in [
            ("7", "[1]: expected what the others of this list are, an object, got a number"),
            (
                r#"{"type": "mcp_tool_call", "tool_name": "a"}"#,
                concat!(
                    "[1].type: the type of an event is one of tool_usage_started, tool_usage_finished, tool_usage_error, ",
                    "crew_kickoff_completed, not \"mcp_tool_call\""
                ),
            ),
            (
                r#"{"type": "tool_usage_started", "tool_args": {}}"#,
                "[1]: a tool call without a name; it is given as tool_name",
            ),
        ] {
            let first = r#"{"type": "tool_usage_started", "tool_name": "a", "tool_args": {}}"#;
            fails(&DIALECT, &format!("[{first}, {event}]"), error);
        }
    }
}
