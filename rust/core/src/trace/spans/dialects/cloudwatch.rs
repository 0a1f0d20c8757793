//! Log records as CloudWatch keeps them for agents: the body of an event is `{"input": {"messages": […]}, "output":
//! {"messages": […]}}`, whatever the span is of. Where nothing else says what it is, the output tells.

use super::{
    names,
    values::{self, Message, call, content, items, list, list_of_some, role, text},
};
use crate::{
    call::Reader,
    trace::{
        decode,
        span::Kind,
        spans::{Dialect, Event, Recorded, Step, fill},
    },
    value::Value,
};

pub const DIALECT: Dialect = Dialect { name: "cloudwatch", title: "spans with CloudWatch's log records", fits, read };

const MESSAGES: &str = "messages";
const CONTENT: &str = "content";

fn fits(recorded: &Recorded<'_>) -> bool {
    recorded.events.iter().any(|event| match event.body {
        Value::Object(_) => ["input", "output"].iter().any(|key| event.body.get(key).is_some_and(holds_messages)),
        // JSON text of it.
        Value::Text(text) => {
            let text = text.utf8();
            text.starts_with(b"{") && memchr::memmem::find(&text, b"\"messages\"").is_some()
        }
        _ => false,
    })
}

fn holds_messages(side: Value<'_>) -> bool {
    matches!(side.get(MESSAGES), Some(Value::Array(_)))
}

/// Messages with what they say, JSON text of which is decoded.
struct Said<'a> {
    role: Option<crate::text::Text<'a>>,
    content: Value<'a>,
}

fn read<'a>(reader: Reader<'a>, recorded: &Recorded<'a>, step: &mut Step<'a>) {
    let (mut given, mut gave) = (Vec::new(), Vec::new());
    for event in &recorded.events {
        given.extend(side(reader, event, "input"));
        gave.extend(side(reader, event, "output"));
    }
    let last = gave.last().map_or(Value::Null, |said| said.content);
    let first = given.first().map_or(Value::Null, |said| said.content);
    if step.kind.is_none() {
        step.kind = guess(first, last);
    }
    match step.kind {
        Some(Kind::ToolCall) => {
            fill(&mut step.name, text(last, &["name"]).map(|name| names::tool(reader, name)));
            fill(&mut step.input, values::given(Some(first)));
            fill(&mut step.output, values::given(Some(last)));
        }
        Some(Kind::Llm) => {
            fill(&mut step.asked, told(reader, &given, "user"));
            let generated = generated(reader, last);
            fill(&mut step.answered, generated.or_else(|| told(reader, &gave, "assistant")));
        }
        Some(_) => {
            let input = values::given(Some(if holds_messages(first) { first } else { last_of(&given) }));
            fill(&mut step.input, input);
            fill(&mut step.output, values::given(Some(last)));
            let state =
                |value: Value<'a>| value.get(MESSAGES).filter(|messages| values::are_messages(reader, *messages));
            fill(&mut step.asked, state(first).or_else(|| told(reader, &given, "user")));
            fill(&mut step.answered, state(last).or_else(|| told(reader, &gave, "assistant")));
        }
        None => {}
    }
}

fn last_of<'a>(said: &[Said<'a>]) -> Value<'a> {
    said.last().map_or(Value::Null, |said| said.content)
}

fn side<'a>(reader: Reader<'a>, event: &Event<'a>, key: &str) -> Vec<Said<'a>> {
    let messages = decode::decoded(reader, event.body).get(key).and_then(|side| side.get(MESSAGES));
    let said = |message: &Value<'a>| {
        let mut content = decode::decoded(reader, message.get(CONTENT).unwrap_or(Value::Null));
        // What an event said, with the event's attributes around it.
        if let Value::Object(_) = content
            && let Some(inner) = content.get(CONTENT).or_else(|| content.get("message"))
            && content.get("tool_call_id").is_none()
            && content.get("type").is_none()
        {
            content = decode::decoded(reader, inner);
        }
        Said { role: text(*message, &["role"]), content }
    };
    items(messages).iter().map(said).collect()
}

/// By what LangChain's callbacks were told: what a model generated, the message of a tool, or the state of a graph.
fn guess(first: Value<'_>, last: Value<'_>) -> Option<Kind> {
    if last.get("generations").is_some() {
        return Some(Kind::Llm);
    }
    if last.get("tool_call_id").is_some() {
        return Some(Kind::ToolCall);
    }
    // Nodes inside of a graph know how many steps are left.
    let is_state = |value: Value<'_>| holds_messages(value) && value.get("remaining_steps").is_none();
    (is_state(first) && is_state(last)).then_some(Kind::Chain)
}

fn told<'a>(reader: Reader<'a>, said: &[Said<'a>], default: &'static str) -> Option<Value<'a>> {
    let mut all = Vec::new();
    for said in said {
        let content = match said.content {
            content @ Value::Text(_) => content,
            blocks => content(reader, blocks),
        };
        let mut role = role(said.role, default);
        if role == Some("tool") && items(Some(content)).iter().any(|block| block.get("toolResult").is_some()) {
            role = Some("user");
        }
        let message = role.map(|role| Message { role, content: Some(content), ..Message::default() }.value(reader));
        all.extend(message);
    }
    let all = list_of_some(reader, &all)?;
    values::are_messages(reader, all).then_some(all)
}

/// The first of what LangChain says that a model generated.
fn generated<'a>(reader: Reader<'a>, output: Value<'a>) -> Option<Value<'a>> {
    let first = output.get("generations")?.get("0")?;
    let first = first.get("0").unwrap_or(first);
    let message = first.get("message").unwrap_or(Value::Null);
    let fields = message.get("kwargs").unwrap_or(message);
    let calls = items(fields.get("tool_calls")).iter().filter_map(|made| {
        let function = made.get("function").unwrap_or(*made);
        let arguments = function.get("args").or_else(|| function.get("arguments"));
        call(reader, made.get("id"), function.get("name"), arguments)
    });
    let said = values::given(first.get("text")).or_else(|| values::given(fields.get(CONTENT)));
    let message = Message { role: "assistant", content: said, calls: calls.collect(), ..Message::default() };
    Some(list(reader, &[message.value(reader)]))
}

#[cfg(test)]
mod tests {
    use super::super::tests::says;

    fn span(attributes: &str, input: &str, output: &str) -> String {
        format!(
            r#"{{"name": "x", "attributes": {{{attributes}}}, "events": [{{"name": "x", "body": {{
                "input": {{"messages": [{{"role": "user", "content": {input}}}]}},
                "output": {{"messages": [{{"role": "assistant", "content": {output}}}]}}}}}}]}}"#
        )
    }

    #[test]
    fn what_is_told_by_the_output() {
        says(
            &span(
                "",
                r#""hi""#,
                r#"{"generations": [[{"text": "Wait.", "message": {"tool_calls": [{"name": "a", "args": {}, "id":
                    "1"}]}}]]}"#,
            ),
            &["kind: llm", "asked: hi > -", "answered: - > Wait.; 1 a({}) = null"],
        );
        let message = r#"{"name": "a", "type": "tool", "content": "A", "tool_call_id": "1", "status": "success"}"#;
        says(
            &span("", r#""{'x': 1}""#, message),
            &["kind: tool_call", "name: a", "id: 1", r#"input: {"x": 1}"#, r#"output: "A""#, "failed: false"],
        );
        let state = |said: &str| format!(r#"{{"messages": [{said}]}}"#);
        let (asked, answered) = (r#"{"type": "human", "content": "hi"}"#, r#"{"type": "ai", "content": "ho"}"#);
        says(
            &span("", &state(asked), &state(answered)),
            &[
                "kind: chain",
                r#"input: {"messages": [{"type": "human", "content": "hi"}]}"#,
                r#"output: {"messages": [{"type": "ai", "content": "ho"}]}"#,
                "asked: hi > -",
                "answered: - > ho",
            ],
        );
        says(&span("", r#"{"messages": [], "remaining_steps": 5}"#, &state(answered)), &[]);
        says(&span("", r#""some input""#, r#""__end__""#), &[]);
    }

    #[test]
    fn what_the_span_says_itself() {
        says(
            &span(
                r#""gen_ai.operation.name": "chat""#,
                r#"{"content": "[{\"text\": \"hi\"}]"}"#,
                r#"{"message": [{"toolUse": {"toolUseId": "1", "name": "a", "input": {}}}], "finish_reason":
                    "tool_use"}"#,
            ),
            &["kind: llm", "asked: hi > -", "answered: - > -; 1 a({}) = null"],
        );
        says(
            &span(
                r#""gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "a", "gen_ai.tool.call.id": "1""#,
                r#"{"content": "{\"x\": 1}", "role": "tool", "id": "1"}"#,
                r#"{"message": "A", "id": "1"}"#,
            ),
            &["kind: tool_call", "name: a", "id: 1", r#"input: {"x": 1}"#, r#"output: "A""#],
        );
        says(
            &span(r#""gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "desk""#, r#""hi""#, r#""ho""#),
            &["kind: agent", "name: desk", r#"input: "hi""#, r#"output: "ho""#, "asked: hi > -", "answered: - > ho"],
        );
    }
}
