//! What of the attributes of a span is read: what may say something of its calls, and not what models were told, which is
//! most of what is recorded.

use crate::{
    call::Reader,
    text::Text,
    trace::{decode, rows::row},
    value::{Member, Object, Value, get},
};

/// What models were told. That it is there may say in whose words a span is told.
const ASKED: &[&str] = &[
    "llm.input_messages",
    "gen_ai.input.messages",
    "gen_ai.prompt",
    "gen_ai.content.prompt",
    "gcp.vertex.agent.llm_request",
    "ai.prompt",
];

/// What says nothing of calls, or of what kind a span is.
const UNREAD: &[&str] = &[
    "llm.tools",
    "llm.functions",
    "llm.prompts",
    "llm.prompt_template",
    "llm.invocation_parameters",
    "llm.token_count",
    "llm.cost",
    "gen_ai.system_instructions",
    "gen_ai.tool.definitions",
    "gen_ai.usage",
    "gen_ai.retrieval.documents",
    "gen_ai.retrieval.query.text",
    "input.mime_type",
    "output.mime_type",
    "ai.usage",
    "ai.retrieval",
    "db.query",
    "db.search",
    "tool.description",
    "tool.json_schema",
    "mlflow.chat.tools",
];

/// The first words of the keys that instrumentations use for the rest, also where there is but one.
const READ: &[&str] = &[
    "agent",
    "agent_name",
    "ai",
    "all_messages",
    "all_messages_events",
    "arguments",
    "claude_code",
    "code",
    "command",
    "conversation_id",
    "db",
    "event",
    "event_loop",
    "events",
    "file_path",
    "final_result",
    "from_agent",
    "full_command",
    "function",
    "gcp",
    "gen_ai",
    "genkit",
    "graph",
    "http",
    "id",
    "input",
    "inputs",
    "langfuse",
    "langsmith",
    "llm",
    "lmnr",
    "logfire",
    "mcp",
    "metadata",
    "mlflow",
    "model_name",
    "model_request_parameters",
    "name",
    "new_context",
    "openinference",
    "output",
    "outputs",
    "pydantic_ai",
    "request_data",
    "response",
    "response_data",
    "result",
    "rhesis",
    "session",
    "session_id",
    "skill_name",
    "span",
    "subagent_type",
    "success",
    "thread_id",
    "to_agent",
    "tool",
    "tool_arguments",
    "tool_call",
    "tool_call_id",
    "tool_input",
    "tool_name",
    "tool_response",
    "tool_result",
    "tool_use_id",
    "traceloop",
    "user_prompt",
];

/// The attributes by which products say what a span is before anybody else does.
const PRODUCTS: &[&str] = &["langfuse.observation.type", "langsmith.span.kind", "lmnr.span.type", "mlflow.spanType"];
/// That by which OpenInference does.
pub const KIND: &str = "openinference.span.kind";
/// What OpenInference has that a span was given.
pub const INPUT: &str = "input.value";
const NOT_TOOLS: &[&str] =
    &["LLM", "AGENT", "CHAIN", "RETRIEVER", "EMBEDDING", "RERANKER", "GUARDRAIL", "EVALUATOR", "PROMPT", "DECISION"];

const TOOL: &[&str] = &["TOOL"];
/// What OpenInference has that a span gave, and the name of a tool.
pub const OUTPUT: &str = "output.value";
pub const NAME: &str = "tool.name";

/// What is done with an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    Read,
    /// It is only known that it is there, under this key.
    Seen(&'static str),
    No,
}

/// Is this the key, or does it go on with a dot?
fn is_under(key: &[u8], word: &str) -> bool {
    key.strip_prefix(word.as_bytes()).is_some_and(|rest| matches!(rest.first(), None | Some(b'.')))
}

/// Of an attribute that anybody may have recorded.
pub fn use_of(key: &[u8]) -> Use {
    if let Some(asked) = ASKED.iter().find(|asked| is_under(key, asked)) {
        return Use::Seen(asked);
    }
    if UNREAD.iter().any(|unread| is_under(key, unread)) {
        return Use::No;
    }
    let first = key.split(|byte| matches!(byte, b'.' | b':')).next().unwrap_or_default();
    if READ.iter().any(|word| word.as_bytes() == first) { Use::Read } else { Use::No }
}

/// May an attribute say what a span is, whatever OpenInference says? What is nested may hold one that does.
pub fn may_say_more(key: &[u8]) -> bool {
    let leads_to =
        |word: &str| word.as_bytes().strip_prefix(key).is_some_and(|rest| matches!(rest.first(), None | Some(b'.')));
    PRODUCTS.iter().any(|word| leads_to(word)) || key != KIND.as_bytes() && leads_to(KIND)
}

/// Is it a tool, as OpenInference says?
pub fn is_tool(kind: Option<Value<'_>>) -> bool {
    is_one_of(kind, TOOL)
}

/// What a tool gave, of which nothing is needed but the id of the call that it may name: long texts that name none are not
/// parsed.
pub fn result(gave: Value<'_>) -> Value<'_> {
    let Value::Text(Text::Utf8(bytes)) = gave else { return gave };
    // The keys that ids are found by.
    let may_name_one = [&b"call_id"[..], b"response"].iter().any(|key| memchr::memmem::find(bytes, key).is_some());
    if may_name_one { gave } else { Value::True }
}

/// Is it no tool, as OpenInference says? Then what it was given is not needed.
pub fn is_no_tool(kind: Option<Value<'_>>) -> bool {
    is_one_of(kind, NOT_TOOLS)
}

pub fn is_one_of(word: Option<Value<'_>>, words: &[&str]) -> bool {
    let Some(Value::Text(word)) = word else { return false };
    let word = word.to_utf8();
    words.iter().any(|one| word.eq_ignore_ascii_case(one.as_bytes()))
}

/// The attributes that are needed, of all those in a cell. What is written in another way than as an object, or JSON text
/// of one, stays as it is.
pub fn attributes<'a>(reader: Reader<'a>, cell: Value<'a>) -> Value<'a> {
    match decode::decoded(reader, cell) {
        Value::Object(members) => Value::Object(needed(reader, members)),
        Value::Array(items) => Value::Array(items),
        _ => cell,
    }
}

fn needed<'a>(reader: Reader<'a>, members: Object<'a>) -> Object<'a> {
    let find = |key: &str| get(members, Text::from(key));
    // LangSmith's SDK has what tools were given there.
    if members.iter().any(|member| may_say_more(&member.key.utf8())) {
        return members;
    }
    let given_is_needed = !is_no_tool(find(KIND));
    // A handoff is told by what it gave.
    let is_named_tool = is_tool(find(KIND)) && find(NAME).is_some_and(row::is_there);
    let mut seen: Vec<&'static str> = Vec::new();
    let mut kept: Vec<Member<'a>> = Vec::with_capacity(members.len());
    for member in members {
        let key = member.key.utf8_in(reader.bump);
        if let Some(&asked) = ASKED.iter().find(|asked| is_under(key, asked)) {
            if !seen.contains(&asked) && row::is_there(member.value) {
                seen.push(asked);
                kept.push(there(asked));
            }
        } else if is_named_tool && key == OUTPUT.as_bytes() {
            kept.push(Member { key: member.key, value: result(member.value) });
        } else if given_is_needed || key != INPUT.as_bytes() {
            kept.push(*member);
        }
    }
    reader.bump.alloc_slice_copy(&kept)
}

/// An attribute of which nothing is known but that it is there.
pub fn there<'a>(key: &'static str) -> Member<'a> {
    Member { key: Text::from(key), value: Value::Array(&[]) }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    /// The texts in the code of a file that are keys of attributes: words in lower case with dots between.
    fn keys(source: &str) -> BTreeSet<String> {
        let code = source.split("#[cfg(test)]").next().unwrap_or_default();
        let is_word = |part: &str| {
            part.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
                && part.starts_with(|letter: char| letter.is_ascii_lowercase())
        };
        let texts = code.split('"').skip(1).step_by(2);
        let keys = texts.filter(|text| text.contains('.') && text.trim_end_matches('.').split('.').all(is_word));
        keys.map(|key| key.trim_end_matches('.').to_owned()).collect()
    }

    /// What any dialect reads is read here too, or else is known to be left out.
    #[test]
    fn every_key_that_a_dialect_reads_is_accounted_for() {
        const LEFT_OUT: &[&str] = &[
            // What was retrieved, what went wrong, and the names of spans and events.
            "retrieval.documents",
            "reranker.query",
            "reranker.output_documents",
            "exception.message",
            "exception.type",
            "error.message",
            "error.type",
            "embedding.create",
            "embedding.generate",
        ];
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/trace/spans/dialects");
        let files = fs::read_dir(folder).unwrap().map(|file| fs::read_to_string(file.unwrap().path()).unwrap());
        let found: BTreeSet<String> = files.flat_map(|source| keys(&source)).collect();
        assert!(found.len() > 80, "{found:?}");
        let is_known = |key: &String| {
            let key = key.as_str();
            use_of(key.as_bytes()) == Use::Read
                || LEFT_OUT.contains(&key)
                || [ASKED, UNREAD].iter().any(|list| list.iter().any(|word| is_under(key.as_bytes(), word)))
        };
        let unknown: Vec<&String> = found.iter().filter(|key| !is_known(key)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    #[test]
    fn what_is_read_of_attributes() {
        for (key, wanted) in [
            ("input.value", Use::Read),
            ("llm.output_messages.0.message.role", Use::Read),
            ("llm.input_messages", Use::Seen("llm.input_messages")),
            ("llm.input_messages.0.message.role", Use::Seen("llm.input_messages")),
            ("llm.input_messages_of_mine", Use::Read),
            ("llm.token_count.prompt", Use::No),
            ("genkit:input", Use::Read),
            ("metadata", Use::Read),
            ("metadata.session_id", Use::Read),
            ("tool_arguments.order", Use::Read),
            ("embedding.embeddings", Use::No),
            ("my.own", Use::No),
            ("", Use::No),
        ] {
            assert_eq!(use_of(key.as_bytes()), wanted, "{key}");
        }
    }
}
