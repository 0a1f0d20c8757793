//! Events of ADK's sessions: Gemini contents with an author and an invocation. And its invocations, as eval sets keep
//! them, with what was used in between. A session or an eval case may be given as a whole.

use std::collections::HashMap;

use super::{
    Dialect,
    gemini::{self, Speaker},
    parts::{self, each, each_of, found, not_an_object},
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

pub const DIALECT: Dialect = Dialect { word: "adk", name: "ADK events", fits, read };

const AUTHOR: &str = "author";
const USER: &str = "user";
const CONTENT: &str = "content";
const PARTS: &str = "parts";

const EVENTS: &str = "events";
const CONVERSATION: &str = "conversation";
const EVAL_CASES: &[&str] = &["evalCases", "eval_cases"];
const INVOCATION_ID: &[&str] = &["invocationId", "invocation_id"];
const USER_CONTENT: &[&str] = &["userContent", "user_content"];
const FINAL_RESPONSE: &[&str] = &["finalResponse", "final_response"];
const INTERMEDIATE_DATA: &[&str] = &["intermediateData", "intermediate_data"];
const TOOL_USES: &[&str] = &["toolUses", "tool_uses"];
const TOOL_RESPONSES: &[&str] = &["toolResponses", "tool_responses"];
const INVOCATION_EVENTS: &[&str] = &["invocationEvents", "invocation_events"];

fn fits(messages: &[Value<'_>]) -> bool {
    are_ours(messages)
        || messages.iter().any(|message| held(*message).is_some_and(|(_, items)| are_ours(items)) || is_set(*message))
}

fn are_ours(items: &[Value<'_>]) -> bool {
    items.iter().any(|item| is_invocation(*item) || is_event(*item))
}

/// Does it hold a whole conversation?
pub fn is_whole(message: Value<'_>) -> bool {
    is_set(message) || held(message).is_some_and(|(_, items)| are_ours(items))
}

/// The events of a session, or the invocations of an eval case.
fn held<'a>(message: Value<'a>) -> Option<(&'static str, &'a [Value<'a>])> {
    [EVENTS, CONVERSATION].into_iter().find_map(|key| match message.get(key) {
        Some(Value::Array(items)) => Some((key, items)),
        _ => None,
    })
}

fn is_set(message: Value<'_>) -> bool {
    let cases = found(message, EVAL_CASES);
    matches!(cases, Some((_, Value::Array(cases))) if cases.iter().any(|case| held(*case).is_some()))
}

fn is_event(message: Value<'_>) -> bool {
    let has_content = || message.get(CONTENT).is_some_and(gemini::has_parts);
    parts::text(message, &[AUTHOR]).is_some() && (found(message, INVOCATION_ID).is_some() || has_content())
}

fn is_invocation(message: Value<'_>) -> bool {
    found(message, USER_CONTENT).is_some()
}

fn read<'a>(reader: Reader<'a>, messages: &[Value<'a>], listener: &mut Listener<'a>) -> Result<(), Error> {
    let mut waiting = Waiting::new(messages);
    each(messages, |message| {
        if is_invocation(message) {
            return invocation(reader, message, listener);
        }
        if let Some((key, cases)) = found(message, EVAL_CASES) {
            return only_case(reader, cases, listener).map_err(|error| error.at_key(Text::from(key)));
        }
        match held(message) {
            Some((key, items)) => all(reader, items, listener).map_err(|error| error.at_key(Text::from(key))),
            None => event(reader, message, &mut waiting, listener),
        }
    })
}

/// What a session or a case holds, which are no further ones.
fn all<'a>(reader: Reader<'a>, items: &[Value<'a>], listener: &mut Listener<'a>) -> Result<(), Error> {
    let mut waiting = Waiting::new(items);
    each(items, |item| match is_invocation(item) {
        true => invocation(reader, item, listener),
        false => event(reader, item, &mut waiting, listener),
    })
}

/// The cases of an eval set are conversations of their own.
fn only_case<'a>(reader: Reader<'a>, cases: Value<'a>, listener: &mut Listener<'a>) -> Result<(), Error> {
    let Value::Array([case]) = cases else {
        return Err(Error::value("expected one eval case; read the conversation of each alone"));
    };
    let read = match held(*case) {
        Some((key, items)) => all(reader, items, listener).map_err(|error| error.at_key(Text::from(key))),
        None => Err(Error::value(format!("expected an eval case with a {CONVERSATION}"))),
    };
    read.map_err(|error| error.at_index(0))
}

/// The answers to come for each call that has several: a tool that runs long first says so, and later what came of it.
#[derive(Default)]
struct Waiting<'a>(HashMap<Text<'a>, usize>);

impl<'a> Waiting<'a> {
    fn new(events: &[Value<'a>]) -> Self {
        let mut calls_and_answers: HashMap<Text<'a>, (usize, usize)> = HashMap::new();
        let whole = events.iter().filter(|event| !is_partial(**event));
        for part in whole.filter_map(|event| event.get(CONTENT)).flat_map(|content| list(content, PARTS)) {
            let id = |keys| found(*part, keys).and_then(|(_, holder)| parts::text(holder, &["id"]));
            if let Some(id) = id(gemini::FUNCTION_CALL) {
                calls_and_answers.entry(id).or_default().0 += 1;
            }
            if let Some(id) = id(gemini::FUNCTION_RESPONSE) {
                calls_and_answers.entry(id).or_default().1 += 1;
            }
        }
        // Where an id comes again, each call has an answer of its own.
        let are_of_one = calls_and_answers.into_iter().filter(|(_, (calls, answers))| *calls == 1 && *answers > 1);
        Waiting(are_of_one.map(|(id, (_, answers))| (id, answers)).collect())
    }

    fn is_last(&mut self, answer: &Answer<'a>) -> bool {
        let Some(count) = answer.id.and_then(|id| self.0.get_mut(&id)) else { return true };
        *count = count.saturating_sub(1);
        *count == 0
    }
}

/// What is partial comes again as a whole.
fn is_partial(event: Value<'_>) -> bool {
    matches!(event.get("partial"), Some(Value::True))
}

fn list<'a>(holder: Value<'a>, key: &str) -> &'a [Value<'a>] {
    match holder.get(key) {
        Some(Value::Array(items)) => items,
        _ => &[],
    }
}

fn event<'a>(
    reader: Reader<'a>,
    event: Value<'a>,
    waiting: &mut Waiting<'a>,
    listener: &mut Listener<'a>,
) -> Result<(), Error> {
    if !matches!(event, Value::Object(_)) {
        return Err(not_an_object("an event of ADK", event));
    }
    if is_partial(event) {
        return Ok(());
    }
    let Some(author) = parts::text(event, &[AUTHOR]) else {
        return Err(Error::value("an event of ADK has an author").at_key(Text::from(AUTHOR)));
    };
    // An agent's author goes before the role, which is the user's where a tool answers.
    let speaker = if author.is(USER) { Speaker::User } else { Speaker::Model };
    // Some events only change the state.
    content(event, &[CONTENT], |content| {
        let agent = Some(author).filter(|author| !author.is(USER));
        gemini::listen(reader, content, speaker, agent, &mut |answer| waiting.is_last(answer), listener)
    })
}

/// Read the content under one of these keys, if there is one.
fn content<'a>(
    holder: Value<'a>,
    keys: &[&str],
    read: impl FnOnce(Value<'a>) -> Result<(), Error>,
) -> Result<(), Error> {
    let Some((key, content)) = found(holder, keys) else { return Ok(()) };
    let read = match content {
        Value::Object(_) => read(content),
        other => Err(not_an_object("a content", other)),
    };
    read.map_err(|error| error.at_key(Text::from(key)))
}

fn invocation<'a>(reader: Reader<'a>, invocation: Value<'a>, listener: &mut Listener<'a>) -> Result<(), Error> {
    let tell = |content, speaker, listener: &mut Listener<'a>| {
        gemini::listen(reader, content, speaker, None, &mut |_| true, listener)
    };
    content(invocation, USER_CONTENT, |content| tell(content, Speaker::User, listener))?;
    if let Some((key, between)) = found(invocation, INTERMEDIATE_DATA) {
        intermediate(reader, between, listener).map_err(|error| error.at_key(Text::from(key)))?;
    }
    content(invocation, FINAL_RESPONSE, |content| tell(content, Speaker::Model, listener))
}

fn intermediate<'a>(reader: Reader<'a>, between: Value<'a>, listener: &mut Listener<'a>) -> Result<(), Error> {
    if !matches!(between, Value::Object(_)) {
        return Err(not_an_object("what happened in between", between));
    }
    // Written by other tools: a content alone.
    if let Some(Value::Array(_)) = between.get(PARTS) {
        return gemini::listen(reader, between, Speaker::Model, None, &mut |_| true, listener);
    }
    for key in TOOL_USES {
        each_of(between, key, |call| {
            listener.called(Span::read(reader, call)?);
            Ok(())
        })?;
    }
    for key in TOOL_RESPONSES {
        each_of(between, key, |response| {
            if !matches!(response, Value::Object(_)) {
                return Err(not_an_object("the response of a tool", response));
            }
            listener.answered(gemini::answer(reader, response, &["name"])?);
            Ok(())
        })?;
    }
    for key in INVOCATION_EVENTS {
        each_of(between, key, |inner| event(reader, inner, &mut Waiting::default(), listener))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{
        super::parts::told::{fails, tells},
        *,
    };

    #[test]
    fn events_name_the_agent_of_each_call() {
        tells(
            &DIALECT,
            r#"[
                {"author": "user", "invocationId": "1", "content": {"role": "user", "parts": [{"text": "Refund 42"}]}},
                {"author": "triage", "invocationId": "1", "partial": true, "content": {"role": "model", "parts": [
                    {"functionCall": {"id": "a", "name": "transfer_to_agent", "args": {}}}]}},
                {"author": "triage", "invocationId": "1", "content": {"role": "model", "parts": [
                    {"functionCall": {"id": "a", "name": "transfer_to_agent", "args": {"agent_name": "refunds"}}}]}},
                {"author": "triage", "invocationId": "1", "content": {"role": "user", "parts": [
                    {"functionResponse": {"id": "a", "name": "transfer_to_agent", "response": {"result": null}}}]}},
                {"author": "refunds", "invocationId": "1", "actions": {"stateDelta": {"x": 1}}},
                {"author": "refunds", "invocation_id": "1", "content": {"role": "model", "parts": [
                    {"function_call": {"id": "b", "name": "refund", "args": {"order": 42}}},
                    {"function_call": {"id": "c", "name": "notify"}}]}},
                {"author": "refunds", "invocation_id": "1", "content": {"role": "user", "parts": [
                    {"function_response": {"id": "c", "name": "notify", "response": {"result": "ok"}}},
                    {"function_response": {"id": "b", "name": "refund", "response": {"error": "closed"}}}]}},
                {"author": "refunds", "invocation_id": "1", "content": {"role": "model", "parts": [{"text": "Closed."}]}},
                {"author": "user", "invocation_id": "2", "content": {"role": "user", "parts": [{"text": "Thanks"}]}}
            ]"#,
            &[
                "Refund 42 → Closed.",
                r#"  transfer_to_agent({"agent_name": "refunds"}) = null #a @triage"#,
                r#"  refund({"order": 42}) = null #b @refunds is error ! closed"#,
                r#"  notify(null) = "ok" #c @refunds"#,
                "Thanks → -",
            ],
        );
    }

    #[test]
    fn the_last_answer_of_a_tool_that_runs_long_counts() {
        tells(
            &DIALECT,
            r#"[
                {"author": "a", "invocationId": "1", "longRunningToolIds": ["x"], "content": {"role": "model", "parts": [
                    {"functionCall": {"id": "x", "name": "approve", "args": {}}}]}},
                {"author": "a", "invocationId": "1", "content": {"role": "user", "parts": [
                    {"functionResponse": {"id": "x", "name": "approve", "response": {"status": "pending"}}}]}},
                {"author": "a", "invocationId": "1", "content": {"role": "model", "parts": [{"text": "I asked."}]}},
                {"author": "user", "invocationId": "2", "content": {"role": "user", "parts": [
                    {"functionResponse": {"id": "x", "name": "approve", "response": {"status": "approved"}}}]}}
            ]"#,
            &["- → I asked.", r#"  approve({}) = {"status": "approved"} #x @a"#],
        );
        // Ids that come again are those of other calls.
        let called = r#"{"author": "a", "invocationId": "1", "content": {"parts": [{"functionCall": {"id": "x", "name": "f"}}]}}"#;
        let answered = |output: u8| {
            format!(
                r#"{{"author": "a", "invocationId": "1", "content": {{"parts": [
                    {{"functionResponse": {{"id": "x", "name": "f", "response": {{"result": {output}}}}}}}]}}}}"#
            )
        };
        tells(
            &DIALECT,
            &format!("[{called}, {}, {called}, {}]", answered(1), answered(2)),
            &["- → -", "  f(null) = 1 #x @a", "  f(null) = 2 #x @a"],
        );
    }

    #[test]
    fn invocations_tell_what_was_used_in_each_of_three_ways() {
        tells(
            &DIALECT,
            r#"[
                {"invocation_id": "1", "user_content": {"role": "user", "parts": [{"text": "one"}]},
                 "intermediate_data": {
                    "tool_uses": [{"id": null, "name": "a", "args": {"x": 1}}, {"id": "2", "name": "b", "args": {}}],
                    "tool_responses": [{"id": "2", "name": "b", "response": {"result": 2}}],
                    "intermediate_responses": []},
                 "final_response": {"role": "model", "parts": [{"text": "first"}]}},
                {"invocationId": "2", "userContent": {"role": "user", "parts": [{"text": "two"}]},
                 "intermediateData": {"invocationEvents": [
                    {"author": "refunds", "content": {"role": "model", "parts": [{"functionCall": {"id": "3", "name": "c"}}]}},
                    {"author": "refunds", "content": {"role": "user", "parts": [
                        {"functionResponse": {"id": "3", "name": "c", "response": {"found": []}}}]}}]},
                 "finalResponse": {"role": "model", "parts": [{"text": null}]}},
                {"user_content": {"parts": [{"text": "three"}]}, "final_response": null,
                 "intermediate_data": {"role": "model", "parts": [{"function_call": {"name": "d", "args": {"y": 2}}}]}}
            ]"#,
            &[
                "one → first",
                r#"  a({"x": 1}) = null"#,
                "  b({}) = 2 #2",
                "two → -",
                r#"  c(null) = {"found": []} #3 @refunds"#,
                "three → -",
                r#"  d({"y": 2}) = null"#,
            ],
        );
    }

    #[test]
    fn sessions_and_eval_cases_as_a_whole() {
        let event = r#"{"author": "user", "invocationId": "1", "content": {"parts": [{"text": "one"}]}}"#;
        let case = r#"{"evalId": "c", "conversation": [{"userContent": {"parts": [{"text": "one"}]},
            "intermediateData": {"toolUses": [{"name": "a", "args": {}}]}}]}"#;
        tells(&DIALECT, &format!(r#"[{{"appName": "a", "events": [{event}]}}]"#), &["one → -"]);
        tells(&DIALECT, &format!("[{case}]"), &["one → -", "  a({}) = null"]);
        tells(&DIALECT, &format!(r#"[{{"eval_cases": [{case}]}}]"#), &["one → -", "  a({}) = null"]);
        fails(
            &DIALECT,
            &format!(r#"[{{"eval_cases": [{case}, {case}]}}]"#),
            "[0].eval_cases: expected one eval case; read the conversation of each alone",
        );
        fails(
            &DIALECT,
            &format!(r#"[{{"events": [{event}, {{"author": "a", "content": 1}}]}}]"#),
            "[0].events[1].content: expected a content, an object, got a number",
        );
    }

    #[test]
    fn what_is_malformed_is_an_error_with_its_place() {
        for (message, error) in [
            ("7", "[1]: expected an event of ADK, an object, got a number"),
            (r#"{"invocationId": "1"}"#, "[1].author: an event of ADK has an author"),
            (
                r#"{"author": "a", "content": [{"functionCall": {"name": "f"}}]}"#,
                "[1].content: expected a content, an object, got a list",
            ),
            (
                r#"{"author": "a", "content": {"parts": [{"functionCall": {"name": 1}}]}}"#,
                "[1].content.parts[0].functionCall.name: a tool's name is a string, got a number",
            ),
            (
                r#"{"user_content": {"parts": []}, "intermediate_data": {"tool_uses": {"name": "a"}}}"#,
                "[1].intermediate_data.tool_uses: expected a list, got an object",
            ),
        ] {
            fails(&DIALECT, &format!(r#"[{{"author": "user", "invocationId": "1"}}, {message}]"#), error);
        }
    }
}
