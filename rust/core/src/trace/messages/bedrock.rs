//! Messages of Bedrock's Converse API, which Strands keeps too: blocks that are told apart by the key that they have.

use super::{
    Dialect, blocks,
    chat::{CONTENT, ROLE},
    content::{TEXT, content_text, in_brackets},
    parts::{Keys, found, is_read_as_chat},
};
use crate::{
    call::Reader,
    error::Error,
    text::Text,
    trace::{
        span,
        turns::{Answer, Listener},
    },
    value::{MAX_DEPTH, Value},
};

pub const DIALECT: Dialect =
    Dialect { word: "bedrock", name: "Bedrock Converse messages", fits: |items| items.iter().any(is_message), read };

const TOOL_USE: &str = "toolUse";
const TOOL_RESULT: &str = "toolResult";
const REASONING: &str = "reasoningContent";

fn is_message(item: &Value<'_>) -> bool {
    let is_own = |block: &Value<'_>| found(*block, &[TOOL_USE, TOOL_RESULT, REASONING]).is_some();
    item.get(ROLE).is_some()
        && match item.get(CONTENT) {
            Some(Value::Array(blocks)) => blocks.iter().any(is_own),
            content => content.is_some_and(|block| is_own(&block)),
        }
}

fn read<'a>(reader: Reader<'a>, messages: &[Value<'a>], listener: &mut Listener<'a>) -> Result<(), Error> {
    for (index, &message) in messages.iter().enumerate() {
        listen(reader, message, listener).map_err(|error| error.at_index(index))?;
    }
    Ok(())
}

fn listen<'a>(reader: Reader<'a>, message: Value<'a>, listener: &mut Listener<'a>) -> Result<(), Error> {
    if is_read_as_chat(reader, message, &[], listener)? {
        return Ok(());
    }
    let is_user = match message.get(ROLE) {
        Some(Value::Text(role)) if role.is("user") => true,
        Some(Value::Text(role)) if role.is("assistant") => false,
        Some(Value::Text(role)) if role.is("system") => return Ok(()),
        _ => {
            let error = Error::value("the role of a Bedrock message is one of user, assistant");
            return Err(error.at_key(Text::from(ROLE)));
        }
    };
    let (mut said, mut results) = (Vec::new(), 0);
    let (blocks, is_list): (&[Value<'a>], _) = match message.get(CONTENT) {
        // Some leave out the list around a single block.
        Some(block @ Value::Object(_)) => (&[block], false),
        content => (blocks::of(content), true),
    };
    for (index, &block) in blocks.iter().enumerate() {
        let located = |error: Error| {
            let error = if is_list { error.at_index(index) } else { error };
            error.at_key(Text::from(CONTENT))
        };
        if let Some((_, call)) = found(block, &[TOOL_USE]) {
            listener.called(KEYS.call(reader, call).map_err(|error| located(error.at_key(Text::from(TOOL_USE))))?);
        } else if let Some((_, result)) = found(block, &[TOOL_RESULT]) {
            results += 1;
            // What comes after the result of a server's tool is said after it.
            if !is_user {
                let before = std::mem::take(&mut said);
                listener.said(Some(Text::joined(&before, "\n", reader.bump)));
            }
            listener.answered(answer(reader, result).map_err(|error| located(error.at_key(Text::from(TOOL_RESULT))))?);
        } else if found(block, &[REASONING, "cachePoint"]).is_none() {
            blocks::check_none(block, true).map_err(located)?;
            said.extend(part_text(reader, block));
        }
    }
    let text = match (message.get(CONTENT), said.as_slice()) {
        // Some leave out the list around a single text.
        (content @ Some(Value::Text(_)), _) => content_text(content, reader.bump),
        (_, []) => None,
        (_, texts) => Some(Text::joined(texts, "\n", reader.bump)),
    };
    match (is_user, text) {
        (true, None) if results > 0 => {}
        (true, text) => listener.asked(text),
        (false, text) => listener.said(text),
    }
    Ok(())
}

const KEYS: Keys = Keys { id: &["toolUseId"], name: &["name"], arguments: &["input"] };

fn answer<'a>(reader: Reader<'a>, result: Value<'a>) -> Result<Answer<'a>, Error> {
    let status = match result.get("status") {
        Some(Value::Text(status)) => Some(status),
        _ => None,
    };
    let output = match result.get(CONTENT) {
        Some(Value::Array(parts)) => output(reader, parts),
        other => other.unwrap_or(Value::Null),
    };
    if reader.may_be_deep && output.deeper_than(MAX_DEPTH) {
        return Err(Error::too_deep().at_key(Text::from(CONTENT)));
    }
    Ok(Answer { id: id(reader, result), name: None, output, status, error: None })
}

fn id<'a>(reader: Reader<'a>, holder: Value<'a>) -> Option<Text<'a>> {
    span::word(holder.get("toolUseId")?, reader.bump)
}

/// Data that stands alone is the output; what stands together is a text.
fn output<'a>(reader: Reader<'a>, parts: &[Value<'a>]) -> Value<'a> {
    if let [part] = parts
        && let Some(data) = part.get("json")
    {
        return data;
    }
    let texts: Vec<_> = parts.iter().filter_map(|&part| part_text(reader, part)).collect();
    if texts.is_empty() { Value::Null } else { Value::Text(Text::joined(&texts, "\n", reader.bump)) }
}

/// A text, data as JSON text, or what else it is: `[image]`.
fn part_text<'a>(reader: Reader<'a>, part: Value<'a>) -> Option<Text<'a>> {
    match (part, part.get(TEXT), part.get("json")) {
        (Value::Text(text), ..) | (_, Some(Value::Text(text)), _) => Some(text),
        (_, _, Some(data)) => Some(span::json_text(data, reader.bump)),
        (Value::Object(members @ [first, ..]), ..) => {
            let there = members.iter().find(|member| !matches!(member.value, Value::Null));
            Some(in_brackets(there.unwrap_or(first).key, reader.bump))
        }
        (part, ..) => content_text(Some(part), reader.bump),
    }
}

#[cfg(test)]
mod tests {
    use crate::trace::messages::tests::told;

    #[test]
    fn blocks_are_told_apart_by_their_keys() {
        let conversation = r#"[
            {"role": "user", "content": [{"text": "hi"}, {"image": {"format": "png", "source": {}}}]},
            {"role": "assistant", "content": [
                {"reasoningContent": {"reasoningText": {"text": "hm"}}},
                {"text": "I look."},
                {"toolUse": {"toolUseId": "1", "name": "a", "input": {"x": 1}}},
                {"toolUse": {"toolUseId": "2", "name": "b", "input": {}}},
                {"toolUse": {"toolUseId": "3", "name": "c"}}]},
            {"role": "user", "content": [
                {"toolResult": {"toolUseId": "2", "status": "error", "content": [{"text": "no"}, {"json": {"code": 5}}]}},
                {"toolResult": {"toolUseId": "1", "status": "success", "content": [{"json": [1]}]}},
                {"toolResult": {"toolUseId": "3", "content": [{"image": {}}]}},
                {"cachePoint": {"type": "default"}}]},
            {"role": "assistant", "content": [{"text": "Done."}]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "1", "content": [{"json": [1]}]}}, {"text": "more"}]}]"#;
        assert_eq!(
            told(conversation).unwrap(),
            [
                "hi\\u000a[image] > Done.",
                r#"1 a {"x": 1} = [1] success"#,
                r#"2 b {} = "no\n{\"code\": 5}" error"#,
                r#"3 c null = "[image]""#,
                "more > -",
            ]
        );
    }

    #[test]
    fn tools_of_the_server_answer_in_the_same_message() {
        let message = r#"[{"role": "assistant", "content": [
            {"toolUse": {"toolUseId": "1", "name": "nova", "input": {}, "type": "server_tool_use"}},
            {"toolResult": {"toolUseId": "1", "content": [{"text": "N"}], "type": "nova_result"}},
            {"text": "Done."}]}]"#;
        assert_eq!(told(message).unwrap(), ["- > Done.", r#"1 nova {} = "N""#]);
    }

    #[test]
    fn errors_say_where() {
        let in_block = |block: &str| {
            told(&format!(r#"[{{"role": "assistant", "content": [{{"toolUse": {{"name": "a"}}}}, {block}]}}]"#))
        };
        assert_eq!(
            in_block(r#"{"toolUse": {"input": {}}}"#).unwrap_err(),
            "[0].content[1].toolUse: a tool call without a name; it is given as name"
        );
        assert_eq!(
            in_block(r#"{"toolUse": {"name": "b", "inputs": {}}}"#).unwrap_err(),
            "[0].content[1].toolUse: unknown key \"inputs\" in a tool call without arguments; did you mean \"input\"?"
        );
        let role = r#"[{"role": "tool", "content": [{"toolResult": {}}]}]"#;
        assert!(
            told(role).unwrap_err().starts_with("[0].role: the role of a Bedrock message is one of user, assistant")
        );
    }
}
