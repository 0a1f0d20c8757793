//! Claude Code: `span.type`, with or without `claude_code.` before it, and what a tool was given in attributes of their
//! own.

use super::values::{self, is_left_out};
use crate::{
    call::Reader,
    text::Text,
    trace::{
        decode,
        span::Kind,
        spans::{Dialect, Recorded, Step, attributes::Attributes, fill},
    },
    value::{Member, Value},
};

pub const DIALECT: Dialect = Dialect { name: "claude_code", title: "Claude Code spans", fits, read };

const TYPE: &str = "span.type";
const PREFIX: &[u8] = b"claude_code.";
const KINDS: &[(&[u8], Kind)] =
    &[(b"interaction", Kind::Agent), (b"llm_request", Kind::Llm), (b"tool", Kind::ToolCall)];
/// Parts of a tool's arguments, and what the arguments are called.
const DETAILS: &[(&str, &str)] = &[
    ("full_command", "command"),
    ("file_path", "file_path"),
    ("skill_name", "skill"),
    ("subagent_type", "subagent_type"),
];

fn fits(recorded: &Recorded<'_>) -> bool {
    recorded.attributes.has(TYPE) && (recorded.name.utf8().starts_with(PREFIX) || kind(recorded.attributes).is_some())
}

/// Some write the word as JSON text.
fn kind(attributes: Attributes<'_>) -> Option<Kind> {
    let Some(Value::Text(word)) = attributes.get(TYPE) else { return None };
    let word = word.utf8();
    let word = word.strip_prefix(b"\"").and_then(|word| word.strip_suffix(b"\"")).unwrap_or(&word);
    let word = word.strip_prefix(PREFIX).unwrap_or(word);
    KINDS.iter().find(|(known, _)| *known == word).map(|(_, kind)| *kind)
}

fn read<'a>(reader: Reader<'a>, recorded: &Recorded<'a>, step: &mut Step<'a>) {
    let attributes = recorded.attributes;
    if let Some(kind) = kind(attributes) {
        step.kind(kind);
    }
    let said =
        |key: &str| attributes.get(key).map(|value| values::said(reader, value)).filter(|value| !is_left_out(*value));
    match step.kind {
        Some(Kind::ToolCall) => {
            fill(&mut step.name, attributes.text(reader, &["tool_name", "tool.name", "gen_ai.tool.name"]));
            fill(&mut step.call_id, values::id(reader, attributes, &["tool_use_id", "tool.use_id"]));
            fill(&mut step.input, said("tool_input").or_else(|| details(reader, attributes)));
            for event in recorded.events.iter().filter(|event| event.name.is("tool.output")) {
                let output = ["output", "content", "diff"].iter().find_map(|key| event.attributes.get(key));
                let output = output.map(|output| decode::decoded(reader, output));
                fill(&mut step.output, output.filter(|output| !is_left_out(*output)));
            }
            let success = match said("success") {
                Some(Value::True) => Some(true),
                Some(Value::False) => Some(false),
                _ => None,
            };
            fill(&mut step.failed, success.map(|success| !success));
        }
        Some(Kind::Agent) => {
            fill(&mut step.input, said("user_prompt").or_else(|| said("new_context")));
        }
        Some(Kind::Llm) => {
            fill(&mut step.name, attributes.text(reader, &["model", "gen_ai.request.model"]));
            fill(&mut step.input, said("new_context"));
            let output = said("response.model_output");
            fill(&mut step.answered, output.and_then(|output| values::as_messages(reader, output, "assistant")));
        }
        _ => {}
    }
}

/// Of a Bash command or a file, what is recorded: not all arguments, but nothing else.
fn details<'a>(reader: Reader<'a>, attributes: Attributes<'a>) -> Option<Value<'a>> {
    let found: Vec<Member<'a>> = DETAILS
        .iter()
        .filter_map(|&(key, name)| {
            let value = attributes.get(key).filter(|value| !is_left_out(*value))?;
            Some(Member { key: Text::from(name), value })
        })
        .collect();
    (!found.is_empty()).then(|| Value::Object(reader.bump.alloc_slice_copy(&found)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::says;

    #[test]
    fn tools() {
        for word in ["tool", "claude_code.tool", r#"\"tool\""#] {
            says(
                &format!(
                    r#"{{"name": "claude_code.tool", "attributes": {{"span.type": "{word}", "tool_name": "Bash",
                        "full_command": "ls", "session.id": "s"}},
                        "events": [{{"name": "tool.output", "attributes": {{"output": "a.txt"}}}}]}}"#
                ),
                &[
                    "kind: tool_call",
                    "name: Bash",
                    r#"input: {"command": "ls"}"#,
                    r#"output: "a.txt""#,
                    "conversation: s",
                ],
            );
        }
        // What was left out is not recorded.
        says(
            r#"{"name": "claude_code.tool", "attributes": {"span.type": "tool", "tool_name": "Read",
                "file_path": "<REDACTED>"}, "events": [{"name": "tool.output", "attributes": {"output":
                "<REDACTED>"}}]}"#,
            &["kind: tool_call", "name: Read"],
        );
        says(
            r#"{"name": "claude_code.tool", "attributes": {"span.type": "tool", "tool_name": "Read",
                "tool_input": "{\"file_path\": \"a\", \"limit\": 5}", "file_path": "a", "success": "false"}}"#,
            &["kind: tool_call", "name: Read", r#"input: {"file_path": "a", "limit": 5}"#, "failed: true"],
        );
    }

    #[test]
    fn interactions_and_requests() {
        says(
            r#"{"name": "claude_code.interaction", "attributes": {"span.type": "interaction", "user_prompt": "hi"}}"#,
            &["kind: agent", "name: claude_code.interaction", r#"input: "hi""#],
        );
        says(
            r#"{"name": "claude_code.llm_request", "attributes": {"span.type": "llm_request", "model": "m",
                "response.model_output": "ho"}}"#,
            &["kind: llm", "name: m", "answered: - > ho"],
        );
        says(r#"{"name": "claude_code.tool.execution", "attributes": {"span.type": "tool.execution"}}"#, &[]);
        says(r#"{"name": "x", "attributes": {"span.type": "web"}}"#, &[]);
    }
}
