//! LlamaIndex: its chat messages, of blocks with a `block_type` or with what the provider sent under `additional_kwargs`,
//! and the events of its agent workflows (`ToolCall`, `ToolCallResult`, `AgentInput`, `AgentOutput`).

use std::collections::HashSet;

use super::{
    Dialect, blocks,
    content::{content_text, in_brackets},
    parts::{self, Keys, each, each_of, found, is_read_as_chat, kind, not_an_object, one_word},
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

pub const DIALECT: Dialect = Dialect { word: "llama_index", name: "LlamaIndex messages or events", fits, read };

const ROLE: &str = "role";
const BLOCKS: &str = "blocks";
const BLOCK_TYPE: &str = "block_type";
const CONTENT: &str = "content";
const ADDITIONAL: &str = "additional_kwargs";
const TOOL_CALLS: &str = "tool_calls";
const NAME: &str = "tool_name";
const TOOL_CALL: &str = "tool_call";
const TEXT: &str = "text";
const SHOWN: &[&str] = &["image", "audio", "video", "document"];
const KINDS: &[&str] = &[TOOL_CALL, TEXT, "image", "audio", "video", "document"];

const OF_BLOCKS: Keys = Keys { id: &["tool_call_id"], name: &[NAME], arguments: &["tool_kwargs"] };
const OF_EVENTS: Keys = Keys { id: &["tool_id"], name: &[NAME], arguments: &["tool_kwargs"] };
const TOOL_OUTPUT: &str = "tool_output";
const AGENT: &str = "current_agent_name";
const RESPONSE: &str = "response";
const INPUT: &str = "input";

const ROLES: &[&str] = &["user", "assistant", "chatbot", "model", "tool", "function", "system", "developer"];

fn fits(messages: &[Value<'_>]) -> bool {
    messages.iter().any(|message| is_message(*message) || is_event(*message))
}

/// Those of LangChain have a type instead of a role, or beside it.
fn is_message(message: Value<'_>) -> bool {
    message.get(ROLE).is_some() && message.get("type").is_none() && message.get(ADDITIONAL).is_some()
}

fn is_event(message: Value<'_>) -> bool {
    message.get(AGENT).is_some() || ["tool_id", "tool_kwargs"].iter().all(|key| message.get(key).is_some())
}

fn read<'a>(reader: Reader<'a>, messages: &[Value<'a>], listener: &mut Listener<'a>) -> Result<(), Error> {
    let mut events = Events::default();
    each(messages, |message| match message {
        Value::Object(_) if found(message, &[ROLE, BLOCKS, ADDITIONAL]).is_none() => {
            events.listen(reader, message, listener)
        }
        _ => listen(reader, message, None, listener),
    })
}

fn listen<'a>(
    reader: Reader<'a>,
    message: Value<'a>,
    agent: Option<Text<'a>>,
    listener: &mut Listener<'a>,
) -> Result<(), Error> {
    if is_read_as_chat(reader, message, &[BLOCKS], listener)? {
        return Ok(());
    }
    let role = one_word(message, ROLE, "the role of a LlamaIndex message", ROLES)?;
    if matches!(role, "system" | "developer") {
        return Ok(());
    }
    blocks::check_none_in(message.get(CONTENT), true)?;
    let additional = message.get(ADDITIONAL).unwrap_or(Value::Null);
    let mut texts = Vec::new();
    let mut calls = false;
    each_of(message, BLOCKS, |block| {
        match kind(block, BLOCK_TYPE, "the type of a block", KINDS, &[])? {
            Some(TOOL_CALL) => {
                calls = true;
                listener.called(Span { agent, ..OF_BLOCKS.call(reader, block)? });
            }
            Some(TEXT) => texts.extend(parts::text(block, &[TEXT])),
            Some(shown) if SHOWN.contains(&shown) => texts.push(in_brackets(Text::from(shown), reader.bump)),
            _ => {}
        }
        Ok(())
    })?;
    if texts.is_empty() {
        // Messages had only this before they had blocks.
        texts.extend(content_text(message.get(CONTENT), reader.bump));
    }
    // What the provider sent says the same as the blocks do.
    if !calls && !matches!(role, "tool" | "function") {
        each_of(additional, TOOL_CALLS, |call| {
            let span = Span::read(reader, call)?;
            // That of Bedrock.
            let id = span.id.or_else(|| parts::id(reader, call, &["toolUseId"]));
            listener.called(Span { agent, id, ..span });
            Ok(())
        })
        .map_err(|error| error.at_key(Text::from(ADDITIONAL)))?;
    }
    texts.retain(|text| !text.is_blank());
    let text = parts::joined(reader, &texts);
    match role {
        "user" => listener.asked(text),
        "tool" | "function" => listener.answered(Answer {
            id: parts::id(reader, additional, &["tool_call_id"]),
            name: parts::text(additional, &["name"]),
            output: text.map_or(Value::Null, Value::Text),
            status: None,
            error: None,
        }),
        _ => listener.said(text),
    }
    Ok(())
}

/// The events of a workflow tell of the same call several times.
#[derive(Default)]
struct Events<'a> {
    called: HashSet<Text<'a>>,
    /// Was something asked, and not answered yet?
    is_at_work: bool,
    agent: Option<Text<'a>>,
}

impl<'a> Events<'a> {
    fn listen(&mut self, reader: Reader<'a>, event: Value<'a>, listener: &mut Listener<'a>) -> Result<(), Error> {
        self.agent = parts::text(event, &[AGENT]).or(self.agent);
        if let Some((key, output)) = found(event, &[TOOL_OUTPUT]) {
            self.call(reader, event, listener)?;
            let answer = self.answer(reader, event, output).map_err(|error| error.at_key(Text::from(key)))?;
            listener.answered(answer);
            return Ok(());
        }
        if found(event, &["tool_id", NAME, "tool_kwargs"]).is_some() {
            return self.call(reader, event, listener);
        }
        // A piece of an answer, of which the whole follows.
        if event.get("delta").is_some() {
            return Ok(());
        }
        if let Some((key, response)) = found(event, &[RESPONSE]) {
            if let Value::Object(_) = response {
                // Its calls are those of the event.
                let text = message_text(reader, response).map_err(|error| error.at_key(Text::from(key)))?;
                listener.said(text);
            }
            let known = self.called.len();
            each_of(event, TOOL_CALLS, |call| self.call(reader, call, listener))?;
            // The last one tells all calls again.
            self.is_at_work = self.called.len() > known;
            return Ok(());
        }
        // What an agent is given, again and again until it answers: at first, the user speaks in the last message.
        if let Some(Value::Array([.., last])) = event.get(INPUT)
            && matches!(last.get(ROLE), Some(Value::Text(role)) if role.is("user"))
            && !std::mem::replace(&mut self.is_at_work, true)
        {
            listener.asked(message_text(reader, *last).map_err(|error| error.at_key(Text::from(INPUT)))?);
        }
        Ok(())
    }

    fn call(&mut self, reader: Reader<'a>, call: Value<'a>, listener: &mut Listener<'a>) -> Result<(), Error> {
        let span = OF_EVENTS.call(reader, call)?;
        if span.id.is_none_or(|id| self.called.insert(id)) {
            listener.called(Span { agent: self.agent, ..span });
        }
        Ok(())
    }

    fn answer(&self, reader: Reader<'a>, event: Value<'a>, output: Value<'a>) -> Result<Answer<'a>, Error> {
        if !matches!(output, Value::Object(_)) {
            return Err(not_an_object("the output of a tool", output));
        }
        let failed = matches!(output.get("is_error"), Some(Value::True));
        // What the tool gave, or else what the model saw of it.
        let value = match parts::output(reader, output, &["raw_output", CONTENT])? {
            Value::Null => message_text(reader, output)?.map_or(Value::Null, Value::Text),
            value => value,
        };
        Ok(Answer {
            id: parts::id(reader, event, &["tool_id"]),
            name: parts::text(event, &[NAME]),
            output: value,
            status: failed.then_some(Text::from("error")),
            error: None,
        })
    }
}

/// What blocks say, or else the content.
fn message_text<'a>(reader: Reader<'a>, message: Value<'a>) -> Result<Option<Text<'a>>, Error> {
    let mut texts = Vec::new();
    each_of(message, BLOCKS, |block| {
        texts.extend(parts::text(block, &[TEXT]).filter(|text| !text.is_blank()));
        Ok(())
    })?;
    Ok(parts::joined(reader, &texts).or_else(|| content_text(message.get(CONTENT), reader.bump)))
}

#[cfg(test)]
mod tests {
    use super::{
        super::parts::told::{fails, tells},
        *,
    };

    #[test]
    fn calls_in_blocks_or_as_the_provider_sent_them() {
        tells(
            &DIALECT,
            r#"[
                {"role": "user", "additional_kwargs": {}, "blocks": [
                    {"block_type": "text", "text": "Refund 42"}, {"block_type": "image", "url": "…"}]},
                {"role": "assistant", "blocks": [
                    {"block_type": "thinking", "content": "hm"},
                    {"block_type": "tool_call", "tool_call_id": "1", "tool_name": "lookup", "tool_kwargs": {"order": 42}},
                    {"block_type": "tool_call", "tool_call_id": "2", "tool_name": "lookup", "tool_kwargs": "{\"order\": 43}"}],
                 "additional_kwargs": {"tool_calls": [
                    {"id": "1", "type": "function", "function": {"name": "lookup", "arguments": "{\"order\": 42}"}}]}},
                {"role": "tool", "additional_kwargs": {"tool_call_id": "2"}, "blocks": [{"block_type": "text", "text": "?"}]},
                {"role": "tool", "additional_kwargs": {"tool_call_id": "1"}, "blocks": [{"block_type": "text", "text": "late"}]},
                {"role": "assistant", "blocks": [{"block_type": "text", "text": ""}], "additional_kwargs": {"tool_calls": [
                    {"id": "3", "type": "function", "function": {"name": "refund", "arguments": ""}},
                    {"toolUseId": "4", "name": "notify", "input": {"by": "mail"}}]}},
                {"role": "function", "additional_kwargs": {"name": "refund"}, "blocks": [{"block_type": "text", "text": "ok"}]},
                {"role": "assistant", "additional_kwargs": {}, "content": "Done"},
                {"role": "system", "additional_kwargs": {}, "blocks": []}
            ]"#,
            &[
                "Refund 42\\n[image] → Done",
                r#"  lookup({"order": 42}) = "late" #1"#,
                r#"  lookup({"order": 43}) = "?" #2"#,
                r#"  refund({}) = "ok" #3"#,
                r#"  notify({"by": "mail"}) = null #4"#,
            ],
        );
    }

    #[test]
    fn events_of_a_workflow_tell_of_a_call_once() {
        tells(
            &DIALECT,
            r#"[
                {"current_agent_name": "refunds", "input": [
                    {"role": "system", "additional_kwargs": {}, "blocks": []},
                    {"role": "user", "additional_kwargs": {}, "blocks": [{"block_type": "text", "text": "Refund 42"}]}]},
                {"current_agent_name": "refunds", "delta": "Let", "response": "Let", "tool_calls": []},
                {"current_agent_name": "refunds", "response": {"role": "assistant", "additional_kwargs": {}, "blocks": []},
                 "tool_calls": [{"tool_id": "1", "tool_name": "lookup", "tool_kwargs": {"order": 42}},
                                {"tool_id": "2", "tool_name": "ping", "tool_kwargs": {}}]},
                {"current_agent_name": "refunds", "input": [
                    {"role": "user", "blocks": [{"block_type": "text", "text": "Observation: late"}]}]},
                {"tool_id": "1", "tool_name": "lookup", "tool_kwargs": {"order": 42}},
                {"tool_id": "2", "tool_name": "ping", "tool_kwargs": {}},
                {"tool_id": "2", "tool_name": "ping", "tool_kwargs": {}, "return_direct": false, "tool_output":
                    {"tool_name": "ping", "blocks": [{"block_type": "text", "text": "boom"}], "raw_output": null, "is_error": true}},
                {"tool_id": "1", "tool_name": "lookup", "tool_kwargs": {"order": 42}, "return_direct": false, "tool_output":
                    {"tool_name": "lookup", "blocks": [], "raw_output": {"state": "late"}, "is_error": false}},
                {"current_agent_name": "refunds", "input": [{"role": "tool", "additional_kwargs": {}, "blocks": []}]},
                {"current_agent_name": "refunds", "response":
                    {"role": "assistant", "additional_kwargs": {}, "blocks": [{"block_type": "text", "text": "Done"}]},
                 "tool_calls": [{"tool_id": "1", "tool_name": "lookup", "tool_kwargs": {"order": 42}}]},
                {"result": {}},
                {"current_agent_name": "refunds", "input": [{"role": "user", "blocks": [{"block_type": "text", "text": "Thanks"}]}]}
            ]"#,
            &[
                "Refund 42 → Done",
                r#"  lookup({"order": 42}) = {"state": "late"} #1 @refunds"#,
                r#"  ping({}) = "boom" #2 @refunds is error"#,
                "Thanks → -",
            ],
        );
        tells(
            &DIALECT,
            r#"[{"tool_id": "1", "tool_name": "a", "tool_kwargs": {}, "tool_output": {"raw_output": "late", "is_error": false}}]"#,
            &["- → -", r#"  a({}) = "late" #1"#],
        );
    }

    #[test]
    fn what_is_malformed_is_an_error_with_its_place() {
        for (message, error) in [
            ("7", "[1]: expected what the others of this list are, an object, got a number"),
            (
                r#"{"role": "bot", "additional_kwargs": {}}"#,
                concat!(
                    "[1].role: the role of a LlamaIndex message is one of user, assistant, chatbot, model, tool, ",
                    "function, system, developer, not \"bot\""
                ),
            ),
            (
                r#"{"rol": "user", "additional_kwargs": {}}"#,
                concat!(
                    "[1].role: the role of a LlamaIndex message is one of user, assistant, chatbot, model, tool, ",
                    "function, system, developer, not nothing"
                ),
            ),
            (
                r#"{"role": "assistant", "blocks": [{"block_type": "tool_call", "tool_kwargs": {}}]}"#,
                "[1].blocks[0]: a tool call without a name; it is given as tool_name",
            ),
            (
                r#"{"role": "assistant", "blocks": [{"block_type": "tool_cal", "tool_name": "f"}]}"#,
                concat!(
                    "[1].blocks[0].block_type: the type of a block is one of tool_call, text, image, audio, video, ",
                    "document, not \"tool_cal\"; did you mean \"tool_call\"?"
                ),
            ),
            (
                r#"{"role": "assistant", "additional_kwargs": {"tool_calls": [{"id": "1"}]}}"#,
                "[1].additional_kwargs.tool_calls[0]: a tool call without a name; it is given as name or tool_name",
            ),
            (
                r#"{"tool_id": "1", "tool_name": "f", "tool_kwarg": {}}"#,
                "[1]: unknown key \"tool_kwarg\" in a tool call without arguments; did you mean \"tool_kwargs\"?",
            ),
        ] {
            fails(&DIALECT, &format!(r#"[{{"role": "user", "additional_kwargs": {{}}}}, {message}]"#), error);
        }
    }
}
