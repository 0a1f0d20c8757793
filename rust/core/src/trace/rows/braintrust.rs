//! Rows of Braintrust's logs and experiments, each a span; later rows of the same id that are merged with it; and
//! summaries of spans under the names of scenarios, which say what there was, and not what was in it.

use super::{
    result,
    row::{self, found},
    said::{self, Speaker},
};
use crate::{
    call::Reader,
    error::Error,
    text::Text,
    trace::{
        span::Kind,
        spans::{About, Dialect, Encoding, Exported, Recorded, Status, Step, fill},
    },
    value::{Member, Value},
};

pub const ENCODING: Encoding = Encoding { name: "braintrust", title: "logs of Braintrust", fits, read };

pub const DIALECT: Dialect =
    Dialect { name: "braintrust", title: "spans of Braintrust", fits: |recorded| is_row(recorded.row), read: tell };

const PAGES: &[&str] = &["events", "data", "rows"];
const ROOT_ID: &str = "root_span_id";
const ID: &str = "span_id";
const PARENTS: &str = "span_parents";
const SPAN: &str = "span_attributes";
const METADATA: &str = "metadata";
const IS_MERGE: &str = "_is_merge";
/// Of a row of a summary: the scenario that it belongs to.
const SCENARIO: &str = "scenario";
/// How far back the row may be that another one is merged with.
const FARTHEST: usize = 4096;

const KINDS: &[(&str, Kind)] = &[
    ("tool", Kind::ToolCall),
    ("llm", Kind::Llm),
    ("task", Kind::Chain),
    ("function", Kind::Chain),
    ("eval", Kind::Chain),
    ("score", Kind::Chain),
];

fn fits(record: Value<'_>) -> bool {
    is_row(record) || page(record).is_some() || is_summary(record)
}

fn is_row(row: Value<'_>) -> bool {
    let has_ids = || row.get(ID).is_some() || row.get("id").is_some();
    row.get(ROOT_ID).is_some() && has_ids() && (row.get(PARENTS).is_some() || row::is_object(row.get(SPAN)))
        || row::is_object(row.get(SPAN)) && has_ids() && row.get("trace_id").is_none()
        || row.get(IS_MERGE).is_some() && has_ids()
}

fn page<'a>(record: Value<'a>) -> Option<(&'static str, &'a [Value<'a>])> {
    PAGES.iter().find_map(|key| match record.get(key) {
        Some(Value::Array(rows)) if rows.first().is_some_and(|first| is_row(*first)) => Some((*key, rows)),
        _ => None,
    })
}

/// Scenarios, each with spans under names of what they are, or a span itself.
fn is_summary(record: Value<'_>) -> bool {
    let Value::Object(members @ [_, ..]) = record else { return false };
    let has_rows = |value: Value<'_>| matches!(value, Value::Object(rows) if rows.iter().any(|row| is_row(row.value)));
    members.iter().all(|member| is_row(member.value) || has_rows(member.value))
}

fn read<'a>(exported: &mut Exported<'a>, record: Value<'a>) -> Result<(), Error> {
    if is_row(record) {
        return span(exported, record);
    }
    if let Some((key, rows)) = page(record) {
        row::each(exported, rows, key, span);
        return Ok(());
    }
    match record {
        Value::Object(scenarios) if is_summary(record) => {
            scenarios.iter().for_each(|scenario| summary(exported, *scenario));
            Ok(())
        }
        _ => Err(row::not_a_row("a row of Braintrust", record)),
    }
}

fn summary<'a>(exported: &mut Exported<'a>, scenario: Member<'a>) {
    let reader = exported.reader;
    let rows = match scenario.value {
        Value::Object(members) if !is_row(scenario.value) => members,
        _ => std::slice::from_ref(reader.bump.alloc(scenario)),
    };
    for (key, row) in rows.iter().map(|member| (member.key, member.value)) {
        // Of what a scenario could have had, null says that it hadn't.
        let Value::Object(members) = row else { continue };
        let mut members = members.to_vec();
        if key != scenario.key {
            members.push(Member { key: Text::from(SCENARIO), value: Value::Text(scenario.key) });
        }
        if let Err(error) = span(exported, Value::Object(reader.bump.alloc_slice_copy(&members))) {
            exported.problems.push(error.at_key(key));
        }
    }
}

fn span<'a>(exported: &mut Exported<'a>, row: Value<'a>) -> Result<(), Error> {
    if !is_row(row) {
        return Err(row::not_a_row("a row of Braintrust", row));
    }
    let reader = exported.reader;
    if matches!(row.get(IS_MERGE), Some(Value::True))
        && let Some(id) = row::id(reader, row, &["id"])
    {
        let is_same = |span: &&mut Recorded<'a>| row::id(reader, span.row, &["id"]) == Some(id);
        if let Some(known) = exported.spans.iter_mut().rev().take(FARTHEST).find(is_same) {
            *known = recorded(reader, merged(reader, known.row, row, 0));
            return Ok(());
        }
    }
    let recorded = recorded(reader, row);
    if recorded.parent_id.is_none() {
        let attributes = row::columns(reader, row, &["tags", "scores", "expected"]);
        if !matches!(attributes, Value::Null) {
            let [input, output] = [Value::Null; 2];
            let trace_id = recorded.trace_id;
            exported.traces.push(About { trace_id, conversation_id: None, input, output, attributes });
        }
    }
    exported.spans.push(recorded);
    Ok(())
}

fn recorded<'a>(reader: Reader<'a>, row: Value<'a>) -> Recorded<'a> {
    let id = row::id(reader, row, &[ID, "id"]);
    let metrics = row::decoded(reader, row, &["metrics"]).unwrap_or(Value::Null);
    let error = row::error(reader, found(row, &["error"]), &["message", "error", "name"]);
    let parents = row::decoded(reader, row, &[PARENTS]).unwrap_or(Value::Null);
    Recorded {
        trace_id: row::id(reader, row, &[ROOT_ID]).or(id).unwrap_or(Text::from("")),
        id,
        parent_id: row::id(reader, parents, &["0"]),
        name: row::text(reader, attributes(reader, row), &["name"]).unwrap_or(Text::from("")),
        started_at: row::time(metrics, &["start"]).or_else(|| row::time(row, &["created"])),
        ended_at: row::time(metrics, &["end"]),
        status: error.map(|_| Status::Error),
        status_message: error,
        attributes: row::dotted(reader, row::members(reader, found(row, &[METADATA]))),
        events: Vec::new(),
        row,
    }
}

/// The name and the type of a span, which stand in the row itself where it is a summary.
fn attributes<'a>(reader: Reader<'a>, row: Value<'a>) -> Value<'a> {
    row::decoded(reader, row, &[SPAN]).unwrap_or(row)
}

/// A row with what a later one says of it: objects are merged, and all else is what was said last.
fn merged<'a>(reader: Reader<'a>, known: Value<'a>, more: Value<'a>, depth: usize) -> Value<'a> {
    let (Value::Object(known), Value::Object(more)) = (known, more) else { return more };
    // What is said of a span nests no deeper than this; what its input is, counts as a whole.
    const MOST_LEVELS: usize = 2;
    let is_whole = depth >= MOST_LEVELS;
    let mut members: Vec<Member<'a>> = known.to_vec();
    for member in more.iter().filter(|member| !member.key.is(IS_MERGE)) {
        match members.iter_mut().find(|other| other.key == member.key) {
            Some(other) if is_whole => other.value = member.value,
            Some(other) => other.value = merged(reader, other.value, member.value, depth + 1),
            None => members.push(*member),
        }
    }
    Value::Object(reader.bump.alloc_slice_copy(&members))
}

fn tell<'a>(reader: Reader<'a>, recorded: &Recorded<'a>, step: &mut Step<'a>) {
    let row = recorded.row;
    let metadata = row::decoded(reader, row, &[METADATA]).unwrap_or(Value::Null);
    let input = found(row, &["input"]).map(|input| row::opened(reader, input));
    let output = found(row, &["output"]).map(|output| row::opened(reader, output));
    fill(&mut step.turn_id, row::text(reader, row, &[SCENARIO]));
    fill(&mut step.conversation_id, row::id(reader, metadata, &["session_id", "thread_id", "conversation_id"]));
    if let Some(kind) = row::kind(attributes(reader, row), &["type"], KINDS) {
        step.kind(kind);
    }
    match step.kind {
        Some(Kind::ToolCall) => {
            let (named, input) = input.map_or((None, None), |input| called(reader, input));
            fill(&mut step.name, named.or(Some(tool_name(reader, recorded.name))));
            fill(
                &mut step.call_id,
                row::id(reader, metadata, &["tool_call_id", "toolCallId", "call_id", "tool_use_id"]),
            );
            fill(&mut step.input, input);
            match output.and_then(|output| result::tool_message(reader, output)) {
                Some(message) => result::tell(reader, message, step),
                None => fill(&mut step.output, output),
            }
        }
        Some(Kind::Llm) => {
            fill(&mut step.name, row::text(reader, metadata, &["model"]));
            let input = input.or_else(|| found(row, &["input_contents"]));
            fill(&mut step.asked, input.and_then(|input| asked(reader, input)));
            fill(&mut step.answered, output.and_then(|output| said::by_model(reader, output, Speaker::Assistant)));
        }
        _ => {
            said::tell(reader, step, input, output);
        }
    }
}

/// The name of a tool and its arguments, where its input says both: `{"tool_name": …, "arguments": …}`, or with the
/// whole call.
fn called<'a>(reader: Reader<'a>, input: Value<'a>) -> (Option<Text<'a>>, Option<Value<'a>>) {
    let Some(name) = row::text(reader, input, &["tool_name"]) else { return (None, Some(input)) };
    let call = found(input, &["tool_call"]).map(|call| row::opened(reader, call));
    match (input.get("arguments"), call) {
        (Some(arguments), _) => (Some(name), Some(arguments)),
        (None, Some(call)) => (Some(name), found(call, &["input", "arguments", "args"])),
        // A tool may have a parameter of this name.
        (None, None) => (None, Some(input)),
    }
}

/// Messages, or the texts of a summary.
fn asked<'a>(reader: Reader<'a>, input: Value<'a>) -> Option<Value<'a>> {
    let Value::Array(texts @ [Value::Text(_), ..]) = input else {
        return said::by_model(reader, input, Speaker::User);
    };
    let texts: Vec<Text<'a>> = texts
        .iter()
        .filter_map(|text| match text {
            Value::Text(text) => Some(*text),
            _ => None,
        })
        .collect();
    said::by_model(reader, Value::Text(Text::joined(&texts, "\n", reader.bump)), Speaker::User)
}

/// The name of a tool, of which that of an MCP server stands before it: `tool: server/name`.
fn tool_name<'a>(reader: Reader<'a>, name: Text<'a>) -> Text<'a> {
    let bytes = name.utf8_in(reader.bump);
    match bytes.strip_prefix(b"tool: ") {
        Some(rest) => Text::Utf8(memchr::memrchr(b'/', rest).and_then(|place| rest.get(place + 1..)).unwrap_or(rest)),
        None => row::tool_name(reader, name),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{attributes, problems, recorded, steps};
    use super::*;

    fn told(text: &str) -> Vec<String> {
        steps(&ENCODING, &DIALECT, text)
    }

    fn row(attributes: &str, columns: &str) -> String {
        format!(
            r#"{{"id": "r", "span_id": "b", "root_span_id": "t", "span_parents": ["a"], "is_root": false,
            "span_attributes": {{{attributes}}}, "metrics": {{"start": 1767268800.5, "end": 1767268801.0}},
            {columns}}}"#
        )
    }

    const TOOL: &str = r#""name": "tool: server/f", "type": "tool""#;

    #[test]
    fn rows_and_pages_of_them() {
        let tool =
            row(TOOL, r#""input": {"x": 1}, "output": "R", "metadata": {"tool_call_id": "1", "session_id": "s"}"#);
        let wanted = [r#"t b<a tool_call f #1 ~s {"x": 1} = "R""#];
        for text in
            [tool.clone(), format!(r#"{{"events": [{tool}], "cursor": "c"}}"#), format!(r#"{{"data": [{tool}]}}"#)]
        {
            assert_eq!(told(&text), wanted);
        }
        assert_eq!(recorded(&ENCODING, &tool), ["t b<a tool: server/f 1767268800500000000..1767268801000000000"]);
        let root = r#"{"id": "r", "span_id": "t", "root_span_id": "t", "span_parents": null,
            "created": "2026-01-01T12:00:00Z",
            "span_attributes": {"name": "run", "type": "task"}, "input": "Q", "output": "A", "scores": {"k": 1},
            "tags": []}"#;
        assert_eq!(told(root), [r#"about t - null > null {"scores": {"k": 1}}"#, r#"t t<- chain run "Q" = "A""#]);
    }

    #[test]
    fn the_kinds_of_spans() {
        let llm = row(
            r#""name": "Chat Completion", "type": "llm""#,
            r#""metadata": {"model": "m"}, "input": [{"role": "user", "content": "Q"}], "output": [{"index": 0,
                "message": {"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function",
                "function": {"name": "f", "arguments": "{}"}}]}, "finish_reason": "tool_calls"}]"#,
        );
        assert_eq!(told(&llm), ["t b<a llm m ?Q :f{}"]);
        let failed = row(r#""name": "f", "type": "tool""#, r#""input": "{\"x\": 1}", "error": "boom""#);
        assert_eq!(told(&failed), [r#"t b<a tool_call f {"x": 1} = none !boom"#]);
        for (input, wanted) in [
            (r#"{"tool_name": "f", "arguments": {"x": 1}}"#, r#"f {"x": 1}"#),
            (r#"{"tool_name": "f", "tool_call": {"id": "1", "name": "f", "input": {"x": 1}}}"#, r#"f {"x": 1}"#),
            (r#"{"tool_name": "f"}"#, r#"mcp_tool [f] {"tool_name": "f"}"#),
        ] {
            let tool = row(r#""name": "mcp_tool [f]", "type": "tool""#, &format!(r#""input": {input}"#));
            assert_eq!(told(&tool), [format!("t b<a tool_call {wanted} = none")]);
        }
        assert_eq!(told(&row(r#""name": "s", "type": "score""#, r#""output": 1"#)), ["t b<a chain s none = 1"]);
        assert_eq!(told(&row(r#""name": "s", "type": null"#, r#""output": null"#)), ["t b<a - s"]);
    }

    #[test]
    fn later_rows_are_merged() {
        let first = row(TOOL, r#""input": {"x": 1}, "metadata": {"session_id": "s", "k": {"a": 1}}"#);
        let later = r#"{"id": "r", "_is_merge": true, "root_span_id": "t", "output": "R",
            "metadata": {"tool_call_id": "1"},
            "metrics": {"end": 1767268802}}"#;
        let text = format!(r#"{{"events": [{first}, {later}]}}"#);
        assert_eq!(told(&text), [r#"t b<a tool_call f #1 ~s {"x": 1} = "R""#]);
        assert_eq!(recorded(&ENCODING, &text), ["t b<a tool: server/f 1767268800500000000..1767268802000000000"]);
        // What it belongs to is not there.
        assert_eq!(recorded(&ENCODING, later).len(), 1);
    }

    #[test]
    fn a_summary_by_scenario() {
        let ids =
            |id: &str, parent: &str| format!(r#""root_span_id": "t", "span_id": "{id}", "span_parents": [{parent}]"#);
        let text = format!(
            r#"{{"basic": {{
                "llm": {{"has_input": true, "input_contents": ["Q", "and"], "name": "create", "type": "llm",
                "metadata": {{"model": "m"}}, {}}},
                "tool": {{"name": "tool: server/g", "type": "tool", "metadata": {{"gen_ai.tool.name": "f"}},
                "error": "boom", {}}},
                "other": null}},
            "root": {{"name": "run", "type": "task", "metadata": null, {}}}}}"#,
            ids("b", r#""a""#),
            ids("c", r#""a""#),
            ids("t", ""),
        );
        let wanted = [r"t b<a llm m %basic ?Q\u000aand", "t c<a tool_call g %basic !boom", "t t<- chain run"];
        assert_eq!(told(&text), wanted);
        assert_eq!(attributes(&ENCODING, &text), ["{}", r#"{"gen_ai.tool.name": "f"}"#, "{}"]);
    }

    #[test]
    fn what_cant_be_read_is_a_problem() {
        let text = format!(r#"{{"events": [{}, 5]}}"#, row(TOOL, r#""input": null"#));
        assert_eq!(problems(&ENCODING, &text), ["events[1]: expected a row of Braintrust, an object, got a number"]);
    }
}
