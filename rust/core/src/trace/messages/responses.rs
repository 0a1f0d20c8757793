//! The items of OpenAI's Responses API, which Codex and the sessions of the Agents SDK hold too.
//!
//! Tools of OpenAI's own servers tell in one item what they were asked and what came of it.

use std::collections::HashSet;

use super::{
    Dialect,
    chat::{self, ROLE, TYPE},
    content::{are_said, parts_text},
    parts::{found, id, word},
    stream,
};
use crate::{
    call::Reader,
    error::{self, Error},
    show,
    text::Text,
    trace::{
        span::{self, Details, Kind, Span},
        turns::{Answer, Listener},
    },
    value::{Object, Value},
};

pub const DIALECT: Dialect =
    Dialect { word: "openai_responses", name: "OpenAI Responses items", fits: |items| items.iter().any(is_item), read };

const CALL: &[u8] = b"_call";
const OUTPUT: &[u8] = b"_output";
const MESSAGE: &str = "message";
const APPROVAL_REQUEST: &str = "mcp_approval_request";
const APPROVAL_RESPONSE: &str = "mcp_approval_response";
/// Items that make no call and hold no answer of a tool.
const OTHERS: &[&str] = &[
    "reasoning",
    "mcp_list_tools",
    "compaction",
    "compaction_summary",
    "compaction_trigger",
    "context_compaction",
    "item_reference",
    "additional_tools",
    "ghost_snapshot",
];
/// Tools whose answers come as items of their own.
const ANSWERED: &[&str] = &[
    "function_call",
    "custom_tool_call",
    "computer_call",
    "local_shell_call",
    "shell_call",
    "apply_patch_call",
    "tool_search_call",
    "program",
];
/// What hands documents to the model.
const RETRIEVAL: &str = "file_search_call";

/// By a type that only these items have. Messages look like those of others.
fn is_item(item: &Value<'_>) -> bool {
    let Some(kind) = kind_of(*item) else { return false };
    let has = |key| item.get(key).is_some();
    !has(ROLE)
        && match what(kind) {
            What::Call => !kind.is("tool_call") && (has("call_id") || has("id") && !has("args") && !has("kwargs")),
            What::Output => has("call_id") || has("output"),
            What::ApprovalRequest | What::ApprovalResponse => true,
            What::Nothing => kind.is("reasoning") && has("summary") || kind.is("mcp_list_tools"),
            What::Message | What::Unknown => false,
        }
}

enum What {
    Message,
    Call,
    Output,
    ApprovalRequest,
    ApprovalResponse,
    Nothing,
    Unknown,
}

fn what(kind: Text<'_>) -> What {
    let Text::Utf8(word) = kind else { return What::Unknown };
    if kind.is(MESSAGE) {
        What::Message
    } else if word.ends_with(CALL) || kind.is("program") {
        What::Call
    } else if word.ends_with(OUTPUT) {
        What::Output
    } else if kind.is(APPROVAL_REQUEST) {
        What::ApprovalRequest
    } else if kind.is(APPROVAL_RESPONSE) {
        What::ApprovalResponse
    } else if OTHERS.iter().any(|other| kind.is(other)) {
        What::Nothing
    } else {
        What::Unknown
    }
}

fn kind_of(item: Value<'_>) -> Option<Text<'_>> {
    match item.get(TYPE) {
        Some(Value::Text(kind)) => Some(kind),
        _ => None,
    }
}

fn read<'a>(reader: Reader<'a>, items: &[Value<'a>], listener: &mut Listener<'a>) -> Result<(), Error> {
    let mut listening = Listening { reader, listener, requested: HashSet::new() };
    for (index, &item) in items.iter().enumerate() {
        listening.item(item).map_err(|error| error.at_index(index))?;
    }
    Ok(())
}

struct Listening<'a, 'l> {
    reader: Reader<'a>,
    listener: &'l mut Listener<'a>,
    /// Calls that somebody was asked to approve.
    requested: HashSet<Text<'a>>,
}

impl<'a> Listening<'a, '_> {
    fn item(&mut self, item: Value<'a>) -> Result<(), Error> {
        let Value::Object(members) = item else {
            return Err(Error::wrong_type(format!("expected an item of OpenAI's Responses API, got {}", item.kind())));
        };
        let Some(kind) = kind_of(item) else {
            // The short form of a message.
            return chat::listen(self.reader, item, self.listener);
        };
        match what(kind) {
            What::Message => chat::listen(self.reader, item, self.listener),
            What::Call => self.call(kind, item, members),
            What::Output => self.output(item, members),
            What::ApprovalRequest => {
                let mut span = Span::new(self.name(kind, item)?);
                span.id = id(self.reader, item, &["id"]);
                span.input = self.input(item)?;
                self.requested.extend(span.id);
                self.listener.called(span);
                Ok(())
            }
            What::ApprovalResponse => {
                // A call that was approved is told of when it was made.
                if matches!(item.get("approve"), Some(Value::False)) {
                    let id = id(self.reader, item, &["approval_request_id"]);
                    let error = match item.get("reason") {
                        Some(Value::Text(reason)) if !reason.is_blank() => Some(reason),
                        _ => None,
                    };
                    let status = Some(Text::from("denied"));
                    self.listener.answered(Answer { id, name: None, output: Value::Null, status, error });
                }
                Ok(())
            }
            What::Nothing => Ok(()),
            What::Unknown => Err(unknown(kind)),
        }
    }

    fn call(&mut self, kind: Text<'a>, item: Value<'a>, members: Object<'a>) -> Result<(), Error> {
        let details = Details::read(self.reader, members)?;
        let is_answered = ANSWERED.iter().any(|word| kind.is(word));
        let mut span = Span::new(self.name(kind, item)?);
        span.id = details.call_id.or_else(|| id(self.reader, item, &["id"]));
        span.input = self.input(item)?;
        span.error = details.error;
        if is_answered {
            // Their status is how far the item came, not the call.
            self.listener.called(span);
            return Ok(());
        }
        span.status = details.status;
        span.output = self.result(item, members)?;
        if kind.is(RETRIEVAL) {
            span.kind = Kind::Retrieval;
        }
        let request = id(self.reader, item, &["approval_request_id"]);
        match request.filter(|id| self.requested.contains(id)) {
            Some(id) => {
                let Span { output, status, error, .. } = span;
                self.listener.answered(Answer { id: Some(id), name: None, output, status, error });
            }
            None => self.listener.done(span),
        }
        Ok(())
    }

    fn output(&mut self, item: Value<'a>, members: Object<'a>) -> Result<(), Error> {
        let Details { call_id, status, error } = Details::read(self.reader, members)?;
        // Of these, a patch alone says whether it worked; the others, how far the item came.
        let status = status.filter(|_| kind_of(item).is_some_and(|kind| kind.is("apply_patch_call_output")));
        let id = call_id.or_else(|| id(self.reader, item, &["id"]));
        let output = self.result(item, members)?;
        self.listener.answered(Answer { id, name: None, output, status, error });
        Ok(())
    }

    /// The name that the call says, or else that of the tool, which the type says.
    fn name(&self, kind: Text<'a>, item: Value<'a>) -> Result<Text<'a>, Error> {
        match (item.get("name"), kind) {
            (Some(Value::Text(name)), _) if !name.is_empty() => Ok(name),
            (None | Some(Value::Null), Text::Utf8(kind)) if !is_named(kind) => {
                Ok(Text::Utf8(kind.strip_suffix(CALL).unwrap_or(kind)))
            }
            (None | Some(Value::Null | Value::Text(_)), _) => Err(Error::value("a tool call without a name")),
            (Some(other), _) => {
                let message = format!("a tool's name is a string, got {}", other.kind());
                Err(Error::wrong_type(message).at_key(Text::from("name")))
            }
        }
    }

    /// The arguments, by the key that holds them. Those of a call that was cut short can't be told from none.
    fn input(&self, item: Value<'a>) -> Result<Value<'a>, Error> {
        if let Some((key, written)) = found(item, &["arguments", "input", "action", "actions", "operation"]) {
            let is_cut = word(item, "status", &["incomplete", "in_progress"]).is_some();
            if is_cut && matches!(written, Value::Text(text) if !stream::is_object(text, self.reader.bump)) {
                return Ok(Value::Null);
            }
            return span::input(self.reader, written).map_err(|error| error.at_key(Text::from(key)));
        }
        // What a tool is asked for may have a key of its own.
        let asked = ["code", "queries"].into_iter().find_map(|key| {
            let (_, value) = found(item, &[key])?;
            Some(stream::object(&[(key, value)], self.reader.bump))
        });
        span::input(self.reader, asked.unwrap_or(Value::Null))
    }

    fn result(&self, item: Value<'a>, members: Object<'a>) -> Result<Value<'a>, Error> {
        let Some((key, value)) = found(item, &["output", "outputs", "results", "result", "tools"]) else {
            return Ok(Value::Null);
        };
        span::check_depth(self.reader, members, key)?;
        Ok(match value {
            Value::Array(parts) if are_said(parts) => {
                parts_text(parts, self.reader.bump).map_or(Value::Null, Value::Text)
            }
            value => value,
        })
    }
}

/// Do calls of this type name their tool?
fn is_named(kind: &[u8]) -> bool {
    [&b"function_call"[..], b"custom_tool_call", b"mcp_call", b"mcp_approval_request"].contains(&kind)
}

/// An item that isn't known may be a call, which must not pass for none.
#[cold]
fn unknown(kind: Text<'_>) -> Error {
    let known: Vec<&str> =
        [MESSAGE, APPROVAL_REQUEST, APPROVAL_RESPONSE].iter().chain(ANSWERED).chain(OTHERS).copied().collect();
    let kind = show::in_a_sentence(&show::storable(kind));
    let mut message = format!("an item of an unknown type, {kind:?}");
    if let Some(nearest) = error::nearest(&kind, &known) {
        message += &format!("; did you mean {nearest:?}?");
    }
    Error::value(message).at_key(Text::from(TYPE))
}

#[cfg(test)]
mod tests {
    use crate::trace::messages::tests::told;

    /// What is told of items, without the turn around them.
    fn items(items: &str) -> Vec<String> {
        told(&format!("[{items}]")).unwrap().split_off(1)
    }

    #[test]
    fn functions_and_custom_tools_are_answered_by_call_id() {
        let conversation = r#"[
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
            {"type": "reasoning", "id": "r", "summary": []},
            {"type": "function_call", "id": "fc_1", "call_id": "1", "name": "a", "arguments": "{\"x\": 1}", "status": "completed"},
            {"type": "custom_tool_call", "id": "ct_1", "call_id": "2", "name": "patch", "input": "*** free"},
            {"type": "custom_tool_call_output", "call_id": "2", "output": "P"},
            {"type": "function_call_output", "id": "fco", "call_id": "1", "output": [{"type": "input_text", "text": "A"}], "status": "completed"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
            {"type": "message", "role": "user", "content": "more"}]"#;
        let wanted = ["hi > Done.", r#"1 a {"x": 1} = "A""#, r#"2 patch "*** free" = "P""#, "more > -"];
        assert_eq!(told(conversation).unwrap(), wanted);
    }

    #[test]
    fn tools_of_the_server_tell_what_came_of_them() {
        assert_eq!(
            items(
                r#"{"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "q"}},
                {"type": "file_search_call", "id": "f", "status": "completed", "queries": ["q"], "results": [{"text": "t"}]},
                {"type": "code_interpreter_call", "id": "c", "status": "completed", "code": "1+1", "outputs": [{"type": "logs", "logs": "2"}]},
                {"type": "image_generation_call", "id": "i", "status": "completed", "result": "AAAA"},
                {"type": "mcp_list_tools", "id": "l", "server_label": "s", "tools": []},
                {"type": "mcp_call", "id": "m", "name": "ask", "server_label": "s", "arguments": "{}", "output": null, "error": {"code": 5}, "status": "failed"},
                {"type": "mcp_call", "id": "n", "name": "ask", "server_label": "s", "arguments": "{}", "output": "N", "error": null}"#
            ),
            [
                r#"w web_search {"type": "search", "query": "q"} = null completed"#,
                r#"f file_search {"queries": ["q"]} = [{"text": "t"}] completed*"#,
                r#"c code_interpreter {"code": "1+1"} = [{"type": "logs", "logs": "2"}] completed"#,
                r#"i image_generation null = "AAAA" completed"#,
                r#"m ask {} = null failed {"code": 5}"#,
                r#"n ask {} = "N""#,
            ]
        );
    }

    #[test]
    fn tools_of_the_client_have_names_of_their_own() {
        assert_eq!(
            items(
                r#"{"type": "computer_call", "id": "x", "call_id": "1", "action": {"type": "click"}},
                {"type": "computer_call_output", "call_id": "1", "output": {"type": "computer_screenshot", "file_id": "s"}},
                {"type": "local_shell_call", "id": "y", "call_id": "2", "action": {"type": "exec", "command": ["ls"]}},
                {"type": "local_shell_call_output", "id": "2", "output": "a.txt"},
                {"type": "apply_patch_call", "id": "z", "call_id": "3", "operation": {"type": "delete_file", "path": "p"}},
                {"type": "apply_patch_call_output", "call_id": "3", "status": "failed", "output": "no"}"#
            ),
            [
                r#"1 computer {"type": "click"} = {"type": "computer_screenshot", "file_id": "s"}"#,
                r#"2 local_shell {"type": "exec", "command": ["ls"]} = "a.txt""#,
                r#"3 apply_patch {"type": "delete_file", "path": "p"} = "no" failed"#,
            ]
        );
    }

    #[test]
    fn what_had_to_be_approved_counts_once() {
        let request = |id: &str| {
            format!(r#"{{"type": "mcp_approval_request", "id": {id:?}, "name": "drop", "arguments": "{{}}"}}"#)
        };
        let answer = |id: &str, approve: bool| {
            format!(r#"{{"type": "mcp_approval_response", "approval_request_id": {id:?}, "approve": {approve}}}"#)
        };
        let call = r#"{"type": "mcp_call", "id": "m", "approval_request_id": "1", "name": "drop", "arguments": "{}", "output": "D"}"#;
        let all = [request("1"), request("2"), request("3"), answer("1", true), answer("2", false), call.to_owned()];
        assert_eq!(items(&all.join(", ")), [r#"1 drop {} = "D""#, "2 drop {} = null denied", "3 drop {} = null"]);
        assert_eq!(items(call), [r#"m drop {} = "D""#]);
    }

    #[test]
    fn arguments_that_were_cut_are_not_recorded() {
        let call = |arguments: &str, status: &str| {
            format!(
                r#"{{"type": "function_call", "call_id": "1", "name": "a", "arguments": {arguments:?}, "status": {status}}}"#
            )
        };
        for (arguments, status, wanted) in [
            ("{}", "null", "{}"),
            ("", r#""completed""#, "{}"),
            ("", r#""in_progress""#, "null"),
            ("[", r#""incomplete""#, "null"),
            ("[", r#""completed""#, r#""[""#),
            ("{}", r#""incomplete""#, "{}"),
        ] {
            assert_eq!(items(&call(arguments, status)), [format!("1 a {wanted} = null")], "{arguments} {status}");
        }
    }

    #[test]
    fn an_unknown_item_is_an_error_and_an_unknown_call_is_a_call() {
        let call = r#"{"type": "function_call", "call_id": "1", "name": "a", "arguments": "{}"}"#;
        let error = told(&format!(r#"[{call}, {{"type": "reasonning"}}]"#)).unwrap_err();
        assert_eq!(error, r#"[1].type: an item of an unknown type, "reasonning"; did you mean "reasoning"?"#);
        let error = told(&format!(r#"[{call}, {{"type": "function_call", "call_id": "2", "arguments": "{{}}"}}]"#));
        assert_eq!(error.unwrap_err(), "[1]: a tool call without a name");
        assert_eq!(
            items(r#"{"type": "fly_call", "id": "1", "action": {"to": "Graz"}}"#),
            [r#"1 fly {"to": "Graz"} = null"#]
        );
    }
}
