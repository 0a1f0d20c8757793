//! AutoGen from version 0.4 on: the messages and events of its agents (`TaskResult.messages`), and those that it keeps for
//! its models. Version 0.2 and AG2 have chat messages.

use super::{
    Dialect,
    content::content_text,
    parts::{self, each, each_of, not_an_object},
};
use crate::{
    call::Reader,
    error::{Error, one_of},
    show,
    text::Text,
    trace::{
        span::{Details, Span},
        turns::{Answer, Listener},
    },
    value::Value,
};

pub const DIALECT: Dialect = Dialect { word: "autogen", name: "AutoGen messages", fits, read };

const TYPE: &str = "type";
const CONTENT: &str = "content";
const SOURCE: &str = "source";

/// What somebody says to the others.
const SAYS: &[&str] = &["TextMessage", "MultiModalMessage", "StopMessage", "HandoffMessage", "ToolCallSummaryMessage"];
const CALLS: &str = "ToolCallRequestEvent";
const ANSWERS: &str = "ToolCallExecutionEvent";
/// Who is asked for input is a user.
const USER_IS_ASKED: &str = "UserInputRequestedEvent";
/// Messages for models.
const USER: &str = "UserMessage";
const ASSISTANT: &str = "AssistantMessage";
const RESULTS: &str = "FunctionExecutionResultMessage";
/// About what is going on, or said again elsewhere.
const SILENT: &[&str] = &[
    "SystemMessage",
    "ThoughtEvent",
    "MemoryQueryEvent",
    "ModelClientStreamingChunkEvent",
    "SelectSpeakerEvent",
    "SelectorEvent",
    "CodeGenerationEvent",
    "CodeExecutionEvent",
];
/// Followed by the name of what it holds in brackets.
const STRUCTURED: &[u8] = b"StructuredMessage";

fn fits(messages: &[Value<'_>]) -> bool {
    let is_ours = |message: &Value<'_>| {
        message.get(CONTENT).is_some()
            && matches!(message.get(TYPE), Some(Value::Text(kind)) if Kind::of(kind).is_some())
    };
    messages.iter().any(is_ours)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Says,
    Calls,
    Answers,
    UserIsAsked,
    User,
    Assistant,
    Silent,
}

impl Kind {
    fn of(word: Text<'_>) -> Option<Kind> {
        let is = |words: &[&str]| words.iter().any(|other| word.is(other));
        match word {
            Text::Utf8(word) if word.starts_with(STRUCTURED) => Some(Kind::Says),
            _ if is(SAYS) => Some(Kind::Says),
            _ if is(SILENT) => Some(Kind::Silent),
            _ if is(&[CALLS]) => Some(Kind::Calls),
            _ if is(&[ANSWERS, RESULTS]) => Some(Kind::Answers),
            _ if is(&[USER_IS_ASKED]) => Some(Kind::UserIsAsked),
            _ if is(&[USER]) => Some(Kind::User),
            _ if is(&[ASSISTANT]) => Some(Kind::Assistant),
            _ => None,
        }
    }

    /// Another kind may hold calls that nobody reads.
    fn read(message: Value<'_>) -> Result<Kind, Error> {
        if !matches!(message, Value::Object(_)) {
            return Err(not_an_object("a message or event of AutoGen", message));
        }
        let found = match message.get(TYPE) {
            Some(Value::Text(word)) => match Kind::of(word) {
                Some(kind) => return Ok(kind),
                None => show::in_a_sentence(&show::storable(word)),
            },
            other => other.map_or("nothing", Value::kind).to_owned(),
        };
        let words: Vec<_> = SAYS.iter().chain(&[CALLS, ANSWERS, USER, ASSISTANT, RESULTS]).copied().collect();
        Err(Error::value(one_of("the type of an AutoGen message", &found, &words)).at_key(Text::from(TYPE)))
    }
}

fn read<'a>(reader: Reader<'a>, messages: &[Value<'a>], listener: &mut Listener<'a>) -> Result<(), Error> {
    let mut users = vec![Text::from("user")];
    each(messages, |message| listen(reader, message, &mut users, listener))
}

fn listen<'a>(
    reader: Reader<'a>,
    message: Value<'a>,
    users: &mut Vec<Text<'a>>,
    listener: &mut Listener<'a>,
) -> Result<(), Error> {
    let kind = Kind::read(message)?;
    let source = parts::text(message, &[SOURCE]);
    let is_a_user = source.is_some_and(|source| users.contains(&source));
    let content = message.get(CONTENT);
    match kind {
        Kind::Silent => {}
        Kind::UserIsAsked => users.extend(source.filter(|_| !is_a_user)),
        Kind::Says if is_a_user => listener.asked(content_text(content, reader.bump)),
        Kind::User if is_a_user || source.is_none() => listener.asked(content_text(content, reader.bump)),
        // To a model, other agents are users too.
        Kind::User => {}
        Kind::Says => listener.said(content_text(content, reader.bump)),
        Kind::Calls | Kind::Assistant if matches!(content, Some(Value::Array(_))) => {
            each_of(message, CONTENT, |call| {
                listener.called(Span { agent: source, ..Span::read(reader, call)? });
                Ok(())
            })?;
        }
        Kind::Assistant => listener.said(content_text(content, reader.bump)),
        Kind::Calls => {
            let found = content.map_or("nothing", Value::kind);
            return Err(Error::wrong_type(format!("expected a list of calls, got {found}")).at_key(Text::from(CONTENT)));
        }
        Kind::Answers => each_of(message, CONTENT, |result| {
            listener.answered(answer(reader, result)?);
            Ok(())
        })?,
    }
    Ok(())
}

fn answer<'a>(reader: Reader<'a>, result: Value<'a>) -> Result<Answer<'a>, Error> {
    let Value::Object(members) = result else { return Err(not_an_object("the result of a call", result)) };
    let Details { call_id, status, error } = Details::read(reader, members)?;
    let output = parts::output(reader, result, &[CONTENT])?;
    Ok(Answer { id: call_id, name: parts::text(result, &["name"]), output, status, error })
}

#[cfg(test)]
mod tests {
    use super::{
        super::parts::told::{fails, tells},
        *,
    };

    #[test]
    fn messages_and_events_of_agents() {
        tells(
            &DIALECT,
            r#"[
                {"type": "TextMessage", "source": "user", "id": "m", "models_usage": null, "content": "Refund 42"},
                {"type": "ToolCallRequestEvent", "source": "refunds", "content": [
                    {"id": "1", "name": "lookup", "arguments": "{\"order\": 42}"},
                    {"id": "2", "name": "ping", "arguments": ""}, {"id": "3", "name": "cut", "arguments": "{\"a"}]},
                {"type": "ToolCallExecutionEvent", "source": "refunds", "content": [
                    {"call_id": "2", "name": "ping", "content": "boom", "is_error": true},
                    {"call_id": "1", "name": "lookup", "content": "late", "is_error": false}]},
                {"type": "ToolCallSummaryMessage", "source": "refunds", "content": "late\nboom", "tool_calls": [
                    {"id": "1", "name": "lookup", "arguments": "{\"order\": 42}"}], "results": []},
                {"type": "ThoughtEvent", "source": "refunds", "content": "hm"},
                {"type": "HandoffMessage", "source": "refunds", "target": "billing", "content": "Over to billing."},
                {"type": "UserInputRequestedEvent", "source": "customer", "request_id": "r", "content": ""},
                {"type": "TextMessage", "source": "customer", "content": "Thanks"},
                {"type": "StructuredMessage[Refund]", "source": "billing", "content": {"paid": true}},
                {"type": "MultiModalMessage", "source": "billing", "content": ["See", {"data": "…", "type": "image"}]}
            ]"#,
            &[
                "Refund 42 → Over to billing.",
                r#"  lookup({"order": 42}) = "late" #1 @refunds"#,
                r#"  ping({}) = "boom" #2 @refunds is error"#,
                r#"  cut("{\"a") = null #3 @refunds"#,
                "Thanks → See\\n[image]",
            ],
        );
    }

    #[test]
    fn messages_for_models() {
        tells(
            &DIALECT,
            r#"[
                {"type": "SystemMessage", "content": "Help."},
                {"type": "UserMessage", "source": "user", "content": "one"},
                {"type": "AssistantMessage", "source": "a", "thought": "hm", "content": [{"id": "1", "name": "f", "arguments": "{}"}]},
                {"type": "FunctionExecutionResultMessage", "content": [
                    {"call_id": "1", "name": "f", "content": "1", "is_error": false},
                    {"call_id": "9", "name": "g", "content": "2"}]},
                {"type": "UserMessage", "source": "another", "content": "I think so too."},
                {"type": "AssistantMessage", "source": "a", "content": "Done"}
            ]"#,
            &["one → Done", r#"  f({}) = "1" #1 @a"#, r#"  g(null) = "2" #9 (only answered)"#],
        );
    }

    #[test]
    fn what_is_malformed_is_an_error_with_its_place() {
        let types = concat!(
            "TextMessage, MultiModalMessage, StopMessage, HandoffMessage, ToolCallSummaryMessage, ",
            "ToolCallRequestEvent, ToolCallExecutionEvent, UserMessage, AssistantMessage, FunctionExecutionResultMessage"
        );
        for (message, error) in [
            ("7", "[1]: expected a message or event of AutoGen, an object, got a number".to_owned()),
            (
                r#"{"type": "ToolCallRequestEvents", "content": []}"#,
                format!(
                    "[1].type: the type of an AutoGen message is one of {types}, not \"ToolCallRequestEvents\"; did you mean \"ToolCallRequestEvent\"?"
                ),
            ),
            (
                r#"{"type": "ToolCallRequestEvent", "source": "a", "content": [{"id": "1", "arguments": "{}"}]}"#,
                "[1].content[0]: a tool call without a name; it is given as name or tool_name".to_owned(),
            ),
            (
                r#"{"type": "ToolCallRequestEvent", "source": "a", "content": "f"}"#,
                "[1].content: expected a list of calls, got a string".to_owned(),
            ),
            (
                r#"{"type": "ToolCallExecutionEvent", "source": "a", "content": ["late"]}"#,
                "[1].content[0]: expected the result of a call, an object, got a string".to_owned(),
            ),
        ] {
            fails(&DIALECT, &format!(r#"[{{"type": "TextMessage", "content": "x"}}, {message}]"#), &error);
        }
    }
}
