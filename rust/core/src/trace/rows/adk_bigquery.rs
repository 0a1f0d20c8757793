//! Events of ADK as its plugin for BigQuery writes them: a row when something starts and another when it is done, under
//! the id of one span. What came of a tool stands inside of the tool, where another view of a call stands too, and what a
//! model answered inside of the model.
//!
//! What was answered is written for people: the texts, and the names of the tools that were called, without arguments.

use super::{
    row::{self, found},
    said,
};
use crate::{
    call::Reader,
    error::Error,
    text::Text,
    trace::{
        span::Kind,
        spans::{About, Dialect, Encoding, Exported, Recorded, Status, Step, fill},
    },
    value::Value,
};

pub const ENCODING: Encoding =
    Encoding { name: "adk_bigquery", title: "events of ADK in BigQuery", fits: is_event, read };

pub const DIALECT: Dialect = Dialect {
    name: "adk_bigquery",
    title: "events of ADK in BigQuery",
    fits: |recorded| is_event(recorded.row),
    read: tell,
};

const TYPE: &str = "event_type";
const CONTENT: &str = "content";
const AGENT: &str = "agent";
const INVOCATION: &str = "invocation_id";
const TOOL: &str = "tool";
const ARGUMENTS: &str = "args";

/// What is a span, and of what kind; and whether it tells what came of one that began before.
const EVENTS: &[(&str, Kind, bool)] = &[
    ("INVOCATION_STARTING", Kind::Chain, false),
    ("AGENT_STARTING", Kind::Agent, false),
    ("LLM_REQUEST", Kind::Llm, false),
    ("LLM_RESPONSE", Kind::Llm, true),
    ("LLM_ERROR", Kind::Llm, true),
    ("TOOL_STARTING", Kind::ToolCall, false),
    ("TOOL_COMPLETED", Kind::ToolCall, true),
    ("TOOL_ERROR", Kind::ToolCall, true),
];
const QUESTION: &str = "USER_MESSAGE_RECEIVED";

fn is_event(row: Value<'_>) -> bool {
    row::is_text(row.get(TYPE)) && row::is_text(row.get(INVOCATION)) && row.get("span_id").is_some()
}

fn event(row: Value<'_>) -> Option<(Kind, bool)> {
    EVENTS.iter().find(|(word, ..)| row::is_word(row, TYPE, &[word])).map(|(_, kind, is_end)| (*kind, *is_end))
}

fn content<'a>(reader: Reader<'a>, row: Value<'a>) -> Value<'a> {
    row::decoded(reader, row, &[CONTENT]).unwrap_or(Value::Null)
}

fn read<'a>(exported: &mut Exported<'a>, row: Value<'a>) -> Result<(), Error> {
    if !is_event(row) {
        return Err(row::not_a_row("an event of ADK", row));
    }
    let reader = exported.reader;
    // The plugin takes the invocation for the trace where there is none.
    let Some(trace_id) = row::id(reader, row, &["trace_id", INVOCATION]) else {
        return Err(Error::value("an event without the id of its trace"));
    };
    let id = row::id(reader, row, &["span_id"]);
    let Some((kind, is_end)) = event(row) else {
        let is_question = row::is_word(row, TYPE, &[QUESTION]);
        let question = found(content(reader, row), &["text_summary"]).filter(|_| is_question);
        exported.traces.push(About {
            trace_id,
            conversation_id: row::id(reader, row, &["session_id"]),
            input: question.filter(|question| row::is_text(Some(*question))).unwrap_or(Value::Null),
            output: Value::Null,
            attributes: Value::Null,
        });
        return Ok(());
    };
    let tool = row::text(reader, content(reader, row), &[TOOL]);
    if kind == Kind::ToolCall && tool.is_none() {
        return Err(Error::value("an event of a tool that names none").at_key(Text::from(CONTENT)));
    }
    let agent = row::text(reader, row, &[AGENT]);
    let word = row::text(reader, row, &[TYPE]).unwrap_or(Text::from(""));
    let time = row::time(row, &["timestamp"]);
    let is_failed = row::is_word(row, "status", &["ERROR"]) || row::is_word(row, TYPE, &["TOOL_ERROR", "LLM_ERROR"]);
    exported.spans.push(Recorded {
        trace_id,
        id: if is_end { id.map(|id| Text::joined(&[id, word], "/", reader.bump)) } else { id },
        parent_id: if is_end { id } else { row::id(reader, row, &["parent_span_id"]) },
        name: tool.or(agent.filter(|_| kind == Kind::Agent)).unwrap_or(word),
        started_at: time,
        ended_at: time.filter(|_| is_end),
        status: if is_failed { Some(Status::Error) } else { is_end.then_some(Status::Ok) },
        status_message: row::text(reader, row, &["error_message"]),
        attributes: Default::default(),
        events: Vec::new(),
        row,
    });
    Ok(())
}

fn tell<'a>(reader: Reader<'a>, recorded: &Recorded<'a>, step: &mut Step<'a>) {
    let row = recorded.row;
    let Some((kind, is_end)) = event(row) else { return };
    let content = content(reader, row);
    step.kind(kind);
    fill(&mut step.conversation_id, row::id(reader, row, &["session_id"]));
    fill(&mut step.turn_id, row::id(reader, row, &[INVOCATION]));
    match kind {
        Kind::ToolCall => {
            fill(&mut step.name, Some(recorded.name));
            fill(&mut step.input, found(content, &[ARGUMENTS]));
            fill(&mut step.output, found(content, &["result"]));
        }
        Kind::Llm if is_end => {
            fill(&mut step.answered, found(content, &["response"]).and_then(|told| answer(reader, told)))
        }
        Kind::Llm => {
            let prompt = found(content, &["prompt"]);
            fill(&mut step.asked, prompt.and_then(|prompt| said::by_model(reader, prompt, said::Speaker::User)));
        }
        Kind::Agent => fill(&mut step.name, row::text(reader, row, &[AGENT])),
        _ => {}
    }
    if kind != Kind::Agent {
        fill(&mut step.agent, row::text(reader, row, &[AGENT]));
    }
}

const BETWEEN: &[u8] = b" | ";
const CALL: &[u8] = b"call: ";
const SAID: &[u8] = b"text: '";

/// `text: 'Let me see.' | call: lookup`. Names of tools have no spaces, and what looks else like a call was said.
fn answer<'a>(reader: Reader<'a>, told: Value<'a>) -> Option<Value<'a>> {
    let Value::Text(text) = told else { return None };
    let bytes = text.utf8_in(reader.bump);
    let mut calls = Vec::new();
    let mut end = bytes.len();
    // Calls stand last.
    loop {
        let head = bytes.get(..end).unwrap_or_default();
        let start = memchr::memmem::rfind(head, BETWEEN).map_or(0, |place| place + BETWEEN.len());
        let part = head.get(start..).unwrap_or_default();
        match part.strip_prefix(CALL) {
            Some(name) if !name.is_empty() && !name.contains(&b' ') => {
                calls.push(row::object(reader, &[("name", Value::Text(Text::Utf8(name)))]));
                end = start.saturating_sub(BETWEEN.len());
                if start > 0 {
                    continue;
                }
            }
            // What a tool answered, or no text.
            _ if start > 0 && (part == b"other" || part.starts_with(b"resp: ")) => {
                end = start - BETWEEN.len();
                continue;
            }
            _ => {}
        }
        break;
    }
    calls.reverse();
    let said = bytes.get(..end).unwrap_or_default();
    let said = said.strip_prefix(SAID).and_then(|said| said.strip_suffix(b"'")).unwrap_or(said);
    let said = if said.is_empty() || said == b"None" { Value::Null } else { Value::Text(Text::Utf8(said)) };
    match calls[..] {
        [] if matches!(said, Value::Null) => None,
        _ => Some(row::array(reader, &[said::calling(reader, said, &calls)])),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{problems, steps};
    use super::*;

    fn told(columns: &str) -> String {
        let row = format!(
            r#"{{"timestamp": "2026-01-01T12:00:00Z", "agent": "desk", "session_id": "s", "invocation_id": "i",
            "trace_id": "t", "span_id": "b", "parent_span_id": "a", {columns}}}"#
        );
        steps(&ENCODING, &DIALECT, &row).remove(0)
    }

    #[test]
    fn what_starts_and_what_came_of_it() {
        for content in [r#""{\"tool\": \"f\", \"args\": {\"x\": 1}}""#, r#"{"tool": "f", "args": {"x": 1}}"#] {
            let row = format!(r#""event_type": "TOOL_STARTING", "content": {content}"#);
            assert_eq!(told(&row), r#"t b<a tool_call f @desk ~s %i {"x": 1} = none"#);
        }
        assert_eq!(
            told(r#""event_type": "TOOL_COMPLETED", "content": {"tool": "f", "result": {"y": 2}}, "status": "OK""#),
            r#"t b/TOOL_COMPLETED<b tool_call f @desk ~s %i none = {"y": 2}"#
        );
        assert_eq!(
            told(r#""event_type": "TOOL_ERROR", "content": {"tool": "f", "args": {}}, "error_message": "boom""#),
            "t b/TOOL_ERROR<b tool_call f @desk ~s %i {} = none !boom"
        );
        assert_eq!(told(r#""event_type": "AGENT_STARTING", "content": null"#), "t b<a agent desk ~s %i");
        assert_eq!(
            told(r#""event_type": "LLM_REQUEST", "content": {"prompt": [{"role": "user", "content": "Q"}]}"#),
            "t b<a llm LLM_REQUEST @desk ~s %i ?Q"
        );
        assert_eq!(
            told(r#""event_type": "USER_MESSAGE_RECEIVED", "content": {"text_summary": "Q"}"#),
            r#"about t s "Q" > null null"#
        );
        assert_eq!(told(r#""event_type": "STATE_DELTA", "content": null"#), "about t s null > null null");
    }

    #[test]
    fn answers_name_the_tools_that_they_call() {
        for (response, wanted) in [
            ("text: 'A'", ":A"),
            ("call: f", ":fnull"),
            ("text: 'A' | call: f | call: g", ":fnull|gnull|A"),
            ("text: 'say | call: me maybe'", ":say | call: me maybe"),
            ("call: f | other", ":fnull"),
        ] {
            let row = format!(r#""event_type": "LLM_RESPONSE", "content": {{"response": "{response}"}}"#);
            assert_eq!(told(&row), format!("t b/LLM_RESPONSE<b llm LLM_RESPONSE @desk ~s %i {wanted}"), "{response}");
        }
    }

    #[test]
    fn what_cant_be_read_is_a_problem() {
        let row = r#"{"event_type": "TOOL_STARTING", "invocation_id": "i", "span_id": "b", "content": "Tool Name: f"}"#;
        assert_eq!(problems(&ENCODING, row), ["content: an event of a tool that names none"]);
    }
}
