//! Semantic Kernel's chat history: messages of items, each with a type. Python and .NET write the same in words of their own.

use super::{
    Dialect, blocks,
    content::{content_text, in_brackets},
    parts::{self, Keys, each, each_of, is_read_as_chat, kind, one_word, word},
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

pub const DIALECT: Dialect = Dialect { word: "semantic_kernel", name: "Semantic Kernel messages", fits, read };

const ROLE: &str = "role";
const ROLES: &[&str] = &["user", "assistant", "tool", "system", "developer"];
/// In .NET, a role is an object.
const ROLE_OF_NET: &str = "Role";
const LABEL: &str = "Label";
const LABELS: &[&str] =
    &["user", "assistant", "tool", "system", "developer", "User", "Assistant", "Tool", "System", "Developer"];

/// What a language calls the same.
struct Words {
    items: &'static str,
    kind: &'static str,
    /// The kinds of items that are read: calls, results, texts, and what is shown by its kind.
    kinds: &'static [&'static str],
    call: Keys,
    /// Joined with the name to what the model calls the tool.
    plugin: Option<&'static str>,
    result_id: &'static [&'static str],
    result: &'static str,
    text: &'static str,
    content: &'static str,
    agent: &'static str,
}

const PYTHON: Words = Words {
    items: "items",
    kind: "content_type",
    kinds: &["function_call", "function_result", "text", "image", "audio", "binary", "file_reference"],
    // Of two ids, `id` may be that of the entry.
    call: Keys { id: &["call_id", "id"], name: &["name"], arguments: &["arguments"] },
    plugin: None,
    result_id: &["call_id", "id"],
    result: "result",
    text: "text",
    content: "content",
    agent: "name",
};

const NET: Words = Words {
    items: "Items",
    kind: "$type",
    kinds: &[
        "FunctionCallContent",
        "FunctionResultContent",
        "TextContent",
        "ImageContent",
        "AudioContent",
        "BinaryContent",
        "FileReferenceContent",
    ],
    call: Keys { id: &["Id"], name: &["FunctionName"], arguments: &["Arguments"] },
    plugin: Some("PluginName"),
    result_id: &["CallId"],
    result: "Result",
    text: "Text",
    content: "Content",
    agent: "AuthorName",
};

fn fits(messages: &[Value<'_>]) -> bool {
    let has_items = |message: &Value<'_>, words: &Words| matches!(message.get(words.items), Some(Value::Array(_)));
    let is_message = |message: &Value<'_>| {
        has_items(message, &PYTHON) && word(*message, PYTHON.kind, &["message"]).is_some()
            || has_items(message, &NET) && message.get(ROLE_OF_NET).is_some_and(|role| role.get(LABEL).is_some())
    };
    messages.iter().any(is_message)
}

fn read<'a>(reader: Reader<'a>, messages: &[Value<'a>], listener: &mut Listener<'a>) -> Result<(), Error> {
    each(messages, |message| match message.get(ROLE_OF_NET) {
        _ if is_read_as_chat(reader, message, &[PYTHON.items, NET.items], listener)? => Ok(()),
        Some(role) => {
            let role = one_word(role, LABEL, "the role of a Semantic Kernel message", LABELS)
                .map_err(|error| error.at_key(Text::from(ROLE_OF_NET)))?;
            NET.listen(reader, message, &role.to_ascii_lowercase(), listener)
        }
        None => {
            let role = one_word(message, ROLE, "the role of a Semantic Kernel message", ROLES)?;
            PYTHON.listen(reader, message, role, listener)
        }
    })
}

impl Words {
    fn listen<'a>(
        &self,
        reader: Reader<'a>,
        message: Value<'a>,
        role: &str,
        listener: &mut Listener<'a>,
    ) -> Result<(), Error> {
        if matches!(role, "system" | "developer") {
            return Ok(());
        }
        blocks::check_none_in(message.get(self.content), true)?;
        let agent = parts::text(message, &[self.agent]).filter(|_| role == "assistant");
        let mut texts = Vec::new();
        let mut answers = false;
        each_of(message, self.items, |item| {
            let kind = kind(item, self.kind, "the type of an item", self.kinds, &[])?;
            match kind.and_then(|kind| self.kinds.iter().position(|word| *word == kind)) {
                Some(0) => {
                    let span = self.call.call(reader, item)?;
                    listener.called(Span { agent, name: self.named(reader, item, span.name), ..span });
                }
                Some(1) => {
                    answers = true;
                    listener.answered(self.answer(reader, item)?);
                }
                Some(2) => texts.extend(parts::text(item, &[self.text])),
                Some(shown) => {
                    texts.extend(PYTHON.kinds.get(shown).map(|kind| in_brackets(Text::from(*kind), reader.bump)))
                }
                None => {}
            }
            Ok(())
        })?;
        if matches!(message.get(self.items), None | Some(Value::Array([]))) {
            texts.extend(content_text(message.get(self.content), reader.bump));
        }
        texts.retain(|text| !text.is_blank());
        let text = parts::joined(reader, &texts);
        match role {
            "user" if answers && text.is_none() => {}
            "user" => listener.asked(text),
            "assistant" => listener.said(text),
            _ => {}
        }
        Ok(())
    }

    fn answer<'a>(&self, reader: Reader<'a>, item: Value<'a>) -> Result<Answer<'a>, Error> {
        Ok(Answer {
            id: parts::id(reader, item, self.result_id),
            name: parts::text(item, self.call.name).map(|name| self.named(reader, item, name)),
            output: parts::output(reader, item, &[self.result])?,
            status: None,
            error: None,
        })
    }

    fn named<'a>(&self, reader: Reader<'a>, item: Value<'a>, name: Text<'a>) -> Text<'a> {
        match self.plugin.and_then(|key| parts::text(item, &[key])) {
            Some(plugin) => Text::joined(&[plugin, name], "-", reader.bump),
            None => name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::parts::told::{fails, tells},
        *,
    };

    #[test]
    fn items_with_calls_and_results() {
        tells(
            &DIALECT,
            r#"[
                {"content_type": "message", "role": "system", "items": [{"content_type": "text", "text": "Help."}]},
                {"content_type": "message", "role": "user", "items": [
                    {"content_type": "text", "text": "Refund 42"}, {"content_type": "image", "uri": "…"}]},
                {"content_type": "message", "role": "assistant", "name": "refunds", "items": [
                    {"content_type": "function_call", "id": "1", "name": "Orders-lookup", "function_name": "lookup",
                     "plugin_name": "Orders", "arguments": "{\"order\": 42}"},
                    {"content_type": "function_call", "id": "fc", "call_id": "2", "name": "ping", "function_name": "ping",
                     "plugin_name": null, "arguments": null},
                    {"content_type": "function_call", "id": "3", "name": "cut", "function_name": "cut", "arguments": "{\"a"}]},
                {"content_type": "message", "role": "tool", "items": [
                    {"content_type": "function_result", "id": "fc", "call_id": "2", "name": "ping", "result": {"ok": true}}]},
                {"content_type": "message", "role": "tool", "items": [
                    {"content_type": "function_result", "id": "1", "name": "Orders-lookup", "result": "late"}]},
                {"content_type": "message", "role": "assistant", "items": [{"content_type": "text", "text": "Done"}]}
            ]"#,
            &[
                "Refund 42\\n[image] → Done",
                r#"  Orders-lookup({"order": 42}) = "late" #1 @refunds"#,
                r#"  ping(null) = {"ok": true} #2 @refunds"#,
                r#"  cut("{\"a") = null #3 @refunds"#,
            ],
        );
    }

    #[test]
    fn messages_of_dot_net() {
        tells(
            &DIALECT,
            r#"[
                {"Role": {"Label": "system"}, "Items": [{"$type": "TextContent", "Text": "Help."}]},
                {"Role": {"Label": "user"}, "Items": [
                    {"$type": "TextContent", "Text": "Refund 42"}, {"$type": "ImageContent", "Uri": "…"}]},
                {"Role": {"Label": "Assistant"}, "AuthorName": "refunds", "ModelId": "m", "Items": [
                    {"$type": "TextContent", "Text": ""},
                    {"$type": "FunctionCallContent", "Id": "1", "PluginName": "Orders", "FunctionName": "lookup",
                     "Arguments": {"order": 42}},
                    {"$type": "FunctionCallContent", "Id": "2", "FunctionName": "ping"}]},
                {"Role": {"Label": "tool"}, "Items": [
                    {"$type": "FunctionResultContent", "CallId": "2", "FunctionName": "ping", "Result": {"ok": true}}]},
                {"Role": {"Label": "tool"}, "Items": [
                    {"$type": "FunctionResultContent", "CallId": "1", "PluginName": "Orders", "FunctionName": "lookup",
                     "Result": "late"}]},
                {"Role": {"Label": "assistant"}, "Items": [{"$type": "TextContent", "Text": "Done"}]}
            ]"#,
            &[
                "Refund 42\\n[image] → Done",
                r#"  Orders-lookup({"order": 42}) = "late" #1 @refunds"#,
                r#"  ping(null) = {"ok": true} #2 @refunds"#,
            ],
        );
        let first = r#"{"Role": {"Label": "user"}, "Items": []}"#;
        fails(
            &DIALECT,
            &format!(r#"[{first}, {{"Role": {{"Label": "tools"}}, "Items": []}}]"#),
            concat!(
                "[1].Role.Label: the role of a Semantic Kernel message is one of user, assistant, tool, system, developer, ",
                "User, Assistant, Tool, System, Developer, not \"tools\"; did you mean \"tool\"?"
            ),
        );
        fails(
            &DIALECT,
            &format!(
                r#"[{first}, {{"Role": {{"Label": "assistant"}}, "Items": [{{"$type": "FunctionCallContent"}}]}}]"#
            ),
            "[1].Items[0]: a tool call without a name; it is given as FunctionName",
        );
    }

    #[test]
    fn without_ids_results_go_by_name() {
        tells(
            &DIALECT,
            r#"[
                {"content_type": "message", "role": "assistant", "items": [
                    {"content_type": "function_call", "id": null, "name": "a", "arguments": ""},
                    {"content_type": "function_call", "id": null, "name": "b", "arguments": {"x": 1}}]},
                {"content_type": "message", "role": "user", "items": [
                    {"content_type": "function_result", "id": null, "name": "b", "result": 2},
                    {"content_type": "function_result", "id": null, "name": "a", "result": 1}]}
            ]"#,
            &["- → -", "  a({}) = 1", r#"  b({"x": 1}) = 2"#],
        );
    }

    #[test]
    fn what_is_malformed_is_an_error_with_its_place() {
        for (message, error) in [
            ("[]", "[1]: expected what the others of this list are, an object, got a list"),
            (
                r#"{"content_type": "message", "role": "agent", "items": []}"#,
                "[1].role: the role of a Semantic Kernel message is one of user, assistant, tool, system, developer, not \"agent\"",
            ),
            (
                r#"{"role": "assistant", "items": [{"content_type": "function_call", "arguments": "{}"}]}"#,
                "[1].items[0]: a tool call without a name; it is given as name",
            ),
            (
                r#"{"role": "assistant", "items": [{"content_type": "functioncall", "name": "f"}]}"#,
                concat!(
                    "[1].items[0].content_type: the type of an item is one of function_call, function_result, text, ",
                    "image, audio, binary, file_reference, not \"functioncall\"; did you mean \"function_call\"?"
                ),
            ),
            (r#"{"role": "assistant", "items": {}}"#, "[1].items: expected a list, got an object"),
        ] {
            fails(
                &DIALECT,
                &format!(r#"[{{"content_type": "message", "role": "user", "items": []}}, {message}]"#),
                error,
            );
        }
    }
}
