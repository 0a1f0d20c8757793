//! What is left to guess: what a span's name says that nothing else does, and that what names a model is a model's
//! span.

use super::{
    genai,
    values::{after, before, id},
};
use crate::{
    call::Reader,
    text::Text,
    trace::{
        span::Kind,
        spans::{Recorded, Step, fill},
    },
    value::Value,
};

/// What instrumentations put before the name of a tool.
const BEFORE_TOOLS: &[&str] = &["execute_tool ", "running tool: ", "Function tool: ", "tools/call ", "Tool: "];
/// Those that nothing else is called.
const OF_TOOLS: &[&str] = &["execute_tool ", "running tool: ", "tools/call "];
const BEFORE_AGENTS: &[&str] = &["invoke_agent ", "create_agent "];

/// The name of a tool without what an instrumentation put around it.
pub fn tool<'a>(reader: Reader<'a>, name: Text<'a>) -> Text<'a> {
    let rest = BEFORE_TOOLS.iter().find_map(|prefix| after(reader, name, prefix)).unwrap_or(name);
    before(reader, rest, ".tool").unwrap_or(rest)
}

/// The same of an agent.
pub fn agent<'a>(reader: Reader<'a>, name: Text<'a>) -> Text<'a> {
    let in_brackets = || before(reader, after(reader, name, "agent_run [")?, "]");
    let rest = BEFORE_AGENTS.iter().find_map(|prefix| after(reader, name, prefix)).or_else(in_brackets);
    rest.or_else(|| before(reader, name, ".agent")).unwrap_or(name)
}

/// Say what nothing else said.
pub fn complete<'a>(reader: Reader<'a>, recorded: &Recorded<'a>, step: &mut Step<'a>) {
    let attributes = recorded.attributes;
    if step.kind.is_none() {
        step.kind = guess(reader, recorded);
    }
    if step.is(Kind::Llm) {
        fill(&mut step.name, attributes.text(reader, genai::MODEL));
    }
    if step.is(Kind::ToolCall) {
        fill(&mut step.name, genai::tool_name(reader, attributes));
        fill(&mut step.call_id, id(reader, attributes, &[genai::CALL_ID]));
        fill(&mut step.name, Some(tool(reader, recorded.name)).filter(|name| !name.is_empty()));
    }
    if step.is(Kind::Agent) {
        let own = step.agent.take();
        fill(&mut step.name, own);
        fill(&mut step.name, Some(agent(reader, recorded.name)).filter(|name| !name.is_empty()));
    }
}

fn guess<'a>(reader: Reader<'a>, recorded: &Recorded<'a>) -> Option<Kind> {
    let attributes = recorded.attributes;
    // What a tool asks for on the way may say which call it belongs to.
    let is_request = attributes.any_under("http.");
    let names_a_tool =
        || genai::tool_name(reader, attributes).is_some() || id(reader, attributes, &[genai::CALL_ID]).is_some();
    if !is_request && names_a_tool() {
        return Some(Kind::ToolCall);
    }
    // The product that a row is of says what it is, and is asked later.
    if matches!(recorded.row, Value::Object(_)) {
        return None;
    }
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| after(reader, recorded.name, prefix).is_some());
    let names_a_model = genai::MODEL.iter().chain(&["llm.model_name"]).any(|key| attributes.has(key));
    if !names_a_model && begins(OF_TOOLS) {
        return Some(Kind::ToolCall);
    }
    if begins(&["invoke_agent ", "agent_run ["]) {
        return Some(Kind::Agent);
    }
    names_a_model.then_some(Kind::Llm)
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;

    use super::{super::tests::says, *};
    use crate::show;

    #[test]
    fn names_without_what_is_put_around_them() {
        let bump = Bump::new();
        let reader = Reader::new(&bump, false);
        for (name, is) in [
            ("execute_tool a", "a"),
            ("running tool: a", "a"),
            ("Function tool: a", "a"),
            ("tools/call a", "a"),
            ("a.tool", "a"),
            ("mcp__server__a", "mcp__server__a"),
            ("execute_tool ", "execute_tool "),
            ("a", "a"),
        ] {
            assert_eq!(show::plain(tool(reader, Text::from(name))), is);
        }
        for (name, is) in [("invoke_agent a", "a"), ("agent_run [a]", "a"), ("a.agent", "a"), ("a run", "a run")] {
            assert_eq!(show::plain(agent(reader, Text::from(name))), is);
        }
    }

    #[test]
    fn only_where_nothing_else_says_what_it_is() {
        says(r#"{"name": "execute_tool lookup", "attributes": {}}"#, &["kind: tool_call", "name: lookup"]);
        says(r#"{"name": "agent_run [desk]", "attributes": {}}"#, &["kind: agent", "name: desk"]);
        says(
            r#"{"name": "x", "attributes": {"gen_ai.tool.name": "f", "gen_ai.tool.call.id": "1"}}"#,
            &["kind: tool_call", "name: f", "id: 1"],
        );
        says(r#"{"name": "x", "attributes": {"gen_ai.response.model": "m"}}"#, &["kind: llm", "name: m"]);
        says(
            r#"{"name": "execute_tool x", "attributes": {"gen_ai.operation.name": "chat", "gen_ai.request.model":
                "m"}}"#,
            &["kind: llm", "name: m"],
        );
        says(r#"{"name": "execute", "attributes": {}}"#, &[]);
        says(r#"{"name": "execute_tool x", "row": {}, "attributes": {"gen_ai.request.model": "m"}}"#, &[]);
        says(r#"{"name": "POST", "attributes": {"http.method": "POST", "gen_ai.tool.call.id": "1"}}"#, &[]);
    }
}
