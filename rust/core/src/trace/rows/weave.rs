//! Calls of Weave, one by one.

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
        spans::{Dialect, Encoding, Exported, Recorded, Status, Step, attributes::Attributes, fill},
    },
    value::{Member, Value},
};

pub const ENCODING: Encoding = Encoding { name: "weave", title: "calls of Weave", fits, read };

pub const DIALECT: Dialect =
    Dialect { name: "weave", title: "calls of Weave", fits: |recorded| is_call(recorded.row), read: tell };

const CALLS: &str = "calls";
const OP: &[&str] = &["op_name", "opName"];

const KINDS: &[(&str, Kind)] = &[
    ("tool", Kind::ToolCall),
    ("llm", Kind::Llm),
    ("agent", Kind::Agent),
    ("search", Kind::Retrieval),
    ("retriever", Kind::Retrieval),
    ("embedding", Kind::Embedding),
    ("guardrail", Kind::Guardrail),
    ("scorer", Kind::Chain),
];

fn fits(record: Value<'_>) -> bool {
    is_call(record) || row::list(record, &[CALLS]).first().is_some_and(|call| is_call(*call))
}

fn is_call(row: Value<'_>) -> bool {
    found(row, OP).is_some()
        && (row.get("started_at").is_some() || row.get("trace_id").is_some() && row.get("inputs").is_some())
}

fn read<'a>(exported: &mut Exported<'a>, record: Value<'a>) -> Result<(), Error> {
    match record.get(CALLS) {
        Some(Value::Array(calls)) if fits(record) && !is_call(record) => {
            row::each(exported, calls, CALLS, call);
            Ok(())
        }
        _ => call(exported, record),
    }
}

fn call<'a>(exported: &mut Exported<'a>, row: Value<'a>) -> Result<(), Error> {
    if !is_call(row) {
        return Err(row::not_a_row("a call of Weave", row));
    }
    let reader = exported.reader;
    let id = row::id(reader, row, &["id"]);
    let exception = row::error(reader, found(row, &["exception"]), &["message", "type"]);
    let status = found(row, &["summary"]).and_then(|summary| found(found(summary, &["weave"])?, &["status"]));
    exported.spans.push(Recorded {
        trace_id: row::id(reader, row, &["trace_id"]).or(id).unwrap_or(Text::from("")),
        id,
        parent_id: row::id(reader, row, &["parent_id"]),
        name: found(row, OP).and_then(|op| name(reader, op)).unwrap_or(Text::from("")),
        started_at: row::time(row, &["started_at"]),
        ended_at: row::time(row, &["ended_at"]),
        status: exception.map(|_| Status::Error).or_else(|| row::status(status)),
        status_message: exception,
        attributes: attributes(reader, row),
        events: Vec::new(),
        row,
    });
    Ok(())
}

/// What an instrumentation of OpenTelemetry left, if that is what the call was made of.
fn attributes<'a>(reader: Reader<'a>, row: Value<'a>) -> Attributes<'a> {
    let span = found(row, &["attributes"]).and_then(|attributes| found(attributes, &["otel_span"]));
    row::flat(reader, row::members(reader, span.and_then(|span| span.get("attributes"))))
}

/// The name of an operation out of the reference to it: `weave:///entity/project/op/name:version`.
fn name<'a>(reader: Reader<'a>, op: Value<'a>) -> Option<Text<'a>> {
    let Value::Text(op) = op else { return None };
    let bytes = op.utf8_in(reader.bump);
    let Some(reference) = bytes.strip_prefix(b"weave:///") else { return Some(op) };
    let place = memchr::memmem::find(reference, b"/op/")?;
    let name = reference.get(place + 4..)?;
    let end = memchr::memrchr(b':', name).unwrap_or(name.len());
    name.get(..end).map(Text::Utf8)
}

/// What an operation is, and the name of a tool, by what Weave's integrations call theirs.
fn guessed<'a>(reader: Reader<'a>, name: Text<'a>, shown: Option<Text<'a>>) -> Option<(Kind, Text<'a>)> {
    let bytes = name.utf8_in(reader.bump);
    // Those of LangChain have the type of the run in it.
    if let Some(rest) = bytes.strip_prefix(b"langchain.") {
        let place = memchr::memchr(b'.', rest)?;
        let kind = match rest.get(..place)? {
            b"Tool" => Kind::ToolCall,
            b"Llm" | b"Chat_model" => Kind::Llm,
            b"Retriever" => Kind::Retrieval,
            _ => Kind::Chain,
        };
        return Some((kind, Text::Utf8(rest.get(place + 1..)?)));
    }
    // So have those of the Agents SDK, which are shown under the name of the tool or agent.
    if let Some(kind) = bytes.strip_prefix(AGENTS_SDK) {
        let kind = match kind {
            b"function" => Kind::ToolCall,
            b"generation" | b"response" => Kind::Llm,
            b"agent" => Kind::Agent,
            b"handoff" => Kind::Handoff,
            b"guardrail" => Kind::Guardrail,
            _ => Kind::Chain,
        };
        return Some((kind, shown.unwrap_or(name)));
    }
    let is_of_client = CLIENTS.iter().any(|client| bytes.starts_with(client.as_bytes()));
    let is_model = is_of_client && MODELS.iter().any(|word| memchr::memmem::find(bytes, word.as_bytes()).is_some());
    is_model.then_some((Kind::Llm, name))
}

const AGENTS_SDK: &[u8] = b"openai_agent_";

fn is_of_agents_sdk<'a>(reader: Reader<'a>, name: Text<'a>) -> bool {
    name.utf8_in(reader.bump).starts_with(AGENTS_SDK)
}

/// The clients of models, and what their operations are called that ask one.
const CLIENTS: &[&str] = &[
    "openai.",
    "anthropic.",
    "litellm.",
    "mistralai.",
    "groq.",
    "cohere.",
    "google.",
    "vertexai.",
    "together.",
    "cerebras.",
    "huggingface_hub.",
    "BedrockRuntime.",
    "dspy.",
];
const MODELS: &[&str] = &[
    "completions",
    "completion",
    "Messages.",
    "messages.",
    "responses",
    "generate_content",
    "chat",
    "converse",
    "invoke",
    "stream",
];

fn tell<'a>(reader: Reader<'a>, recorded: &Recorded<'a>, step: &mut Step<'a>) {
    let row = recorded.row;
    let weave = found(row, &["attributes"]).and_then(|attributes| found(attributes, &["weave"])).unwrap_or(Value::Null);
    let inputs = row::decoded(reader, row, &["inputs"]).map(|inputs| without_self(reader, inputs));
    let output = row::decoded(reader, row, &["output"]);
    fill(&mut step.conversation_id, row::id(reader, row, &["thread_id"]));
    fill(&mut step.turn_id, row::id(reader, row, &["turn_id"]));
    let own_name = found(row, &["attributes"]).and_then(|attributes| row::text(reader, attributes, &["lc_name"]));
    let guess = guessed(reader, recorded.name, row::text(reader, row, &["display_name"]));
    match (row::kind(weave, &["kind"], KINDS), guess) {
        (Some(kind), _) | (None, Some((kind, _))) => step.kind(kind),
        (None, None) => {}
    }
    let name = guess.map_or(recorded.name, |(_, name)| name);
    let (inputs, output) = if is_of_agents_sdk(reader, recorded.name) {
        let error = row::error(reader, output.and_then(|output| found(output, &["error"])), &["message"]);
        fill(&mut step.failed, error.map(|_| true));
        fill(&mut step.error, error);
        // The name of a tool stands where its arguments would.
        (inputs.and_then(|inputs| found(inputs, &["input"])), output.and_then(|output| found(output, &["output"])))
    } else {
        (inputs, output)
    };
    match step.kind {
        Some(Kind::ToolCall) => {
            fill(&mut step.name, Some(own_name.unwrap_or_else(|| row::tool_name(reader, name))));
            let input = inputs.map(|inputs| super::langsmith::arguments(reader, inputs, &mut step.call_id));
            fill(&mut step.input, input);
            let output = output.map(|output| result::output(reader, output));
            match output.and_then(|output| result::tool_message(reader, output)) {
                Some(message) => result::tell(reader, message, step),
                None => fill(&mut step.output, output),
            }
        }
        Some(Kind::Llm) => {
            fill(&mut step.name, inputs.and_then(|inputs| row::text(reader, inputs, &["model"])));
            fill(&mut step.asked, inputs.and_then(|inputs| said::by_model(reader, inputs, Speaker::User)));
            fill(&mut step.answered, output.and_then(|output| said::by_model(reader, output, Speaker::Assistant)));
        }
        kind => {
            if kind == Some(Kind::Agent) {
                fill(&mut step.name, row::text(reader, row, &["display_name"]).or(Some(name)));
            }
            said::tell(reader, step, inputs, output);
        }
    }
}

/// The object that a method belongs to is none of its arguments.
fn without_self<'a>(reader: Reader<'a>, inputs: Value<'a>) -> Value<'a> {
    let Value::Object(members) = inputs else { return inputs };
    if !members.iter().any(|member| member.key.is("self")) {
        return inputs;
    }
    let others: Vec<Member<'a>> = members.iter().filter(|member| !member.key.is("self")).copied().collect();
    Value::Object(reader.bump.alloc_slice_copy(&others))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{attributes, problems, steps};
    use super::*;

    fn call(columns: &str) -> String {
        let row = format!(
            r#"{{"id": "b", "project_id": "e/p", "trace_id": "t", "parent_id": "a",
                "started_at": "2026-01-01T12:00:00Z", {columns}}}"#
        );
        let lines = steps(&ENCODING, &DIALECT, &row);
        assert_eq!(steps(&ENCODING, &DIALECT, &format!(r#"{{"calls": [{row}]}}"#)), lines);
        lines[0].clone()
    }

    #[test]
    fn the_kinds_of_calls() {
        for (columns, wanted) in [
            (
                r#""op_name": "weave:///e/p/op/f:v1", "attributes": {"weave": {"kind": "tool"}}, "thread_id": "s",
                    "turn_id": "u",
                    "inputs": {"self": "weave:///e/p/object/o:1", "x": 1}, "output": {"y": 2}"#,
                r#"tool_call f ~s %u {"x": 1} = {"y": 2}"#,
            ),
            (
                r#""op_name": "weave:///e/p/op/f:v1", "attributes": {"weave": {"kind": "tool"}}, "inputs": {"x": 1},
                    "exception": "ValueError: boom""#,
                r#"tool_call f {"x": 1} = none !ValueError: boom"#,
            ),
            (
                r#""op_name": "langchain.Tool.f", "inputs": {"input": "{'x': 1}"}, "output": {"content": "R",
                    "type": "tool", "tool_call_id": "1"}"#,
                r#"tool_call f #1 {"x": 1} = "R""#,
            ),
            (
                r#""op_name": "weave:///e/p/op/openai.chat.completions.create:v", "inputs": {"model": "m", "self": {},
                    "messages": [{"role": "user", "content": "Q"}]},
                    "output": {"choices": [{"message": {"role": "assistant", "content": "A"}}]}"#,
                "llm m ?Q :A",
            ),
            (
                r#""op_name": "weave:///e/p/op/Boss.run:v", "display_name": "boss",
                    "attributes": {"weave": {"kind": "agent"}},
                    "inputs": {"prompt": "Q"}, "output": "A""#,
                r#"agent boss "Q" = "A""#,
            ),
            (
                r#""op_name": "helper", "inputs": {"x": 1}, "summary": {"weave": {"status": "error"}}"#,
                r#"- helper {"x": 1} = none !-"#,
            ),
            (
                r#""op_name": "openai_agent_function", "display_name": "f", "inputs": {"name": "f"},
                    "output": {"output": "R", "metrics": {}, "metadata": {}, "error": {"message": "boom"}}"#,
                r#"tool_call f none = "R" !boom"#,
            ),
            (
                r#""op_name": "openai_agent_response", "display_name": "Response", "inputs": {"name": "Response",
                    "input": [{"role": "user", "content": "Q"}]}, "output": {"output": [{"type": "function_call",
                    "call_id": "1",
                    "name": "f", "arguments": "{}"}], "metrics": {}, "metadata": {}, "error": null}"#,
                "llm openai_agent_response ?Q :f{}",
            ),
            (
                r#""op_name": "weave:///e/p/op/langchain.Tool.my_tool:v", "attributes": {"lc_name": "my-tool"},
                    "inputs": {"x": 1}"#,
                r#"tool_call my-tool {"x": 1} = none"#,
            ),
            (r#""op_name": "langchain.Chain.c", "inputs": {}"#, "chain langchain.Chain.c {} = none"),
        ] {
            assert_eq!(call(columns), format!("t b<a {wanted}"), "{columns}");
        }
    }

    #[test]
    fn calls_that_were_spans_of_opentelemetry_have_their_attributes() {
        let text = r#"{"id": "b", "trace_id": "t", "op_name": "execute_tool f", "started_at": 1767268800, "inputs": {},
            "attributes": {"otel_span": {"attributes": {"gen_ai": {"tool": {"name": "f",
            "call": {"arguments": {"x": 1}}}}}}}}"#;
        assert_eq!(
            attributes(&ENCODING, text),
            [r#"{"gen_ai.tool.name": "f", "gen_ai.tool.call.arguments": {"x": 1}}"#]
        );
    }

    #[test]
    fn what_cant_be_read_is_a_problem() {
        let text = r#"{"calls": [{"op_name": "f", "started_at": null}, 5]}"#;
        assert_eq!(problems(&ENCODING, text), ["calls[1]: expected a call of Weave, an object, got a number"]);
    }
}
