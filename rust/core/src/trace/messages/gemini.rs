//! Gemini contents, `{"role": "model", "parts": [{"functionCall": {…}}]}`, with the keys of the REST API or those of the
//! Python SDK (`function_call`). A part is told by the key that it has. ADK keeps the same contents in its events.

use super::{
    Dialect,
    content::in_brackets,
    parts::{self, Keys, each, each_of, found, not_an_object, one_word, reject_calls},
};
use crate::{
    call::Reader,
    error::Error,
    text::Text,
    trace::{
        span::Span,
        turns::{Answer, Listener},
    },
    value::{Member, Value},
};

pub const DIALECT: Dialect = Dialect { word: "gemini", name: "Gemini contents", fits, read };

const PARTS: &str = "parts";
const ROLE: &str = "role";
const NAME: &str = "name";

pub(super) const FUNCTION_CALL: &[&str] = &["functionCall", "function_call"];
pub(super) const FUNCTION_RESPONSE: &[&str] = &["functionResponse", "function_response"];
/// What the provider's own tools did.
const TOOL_CALL: &[&str] = &["toolCall", "tool_call"];
const TOOL_RESPONSE: &[&str] = &["toolResponse", "tool_response"];
const TOOL_TYPE: &[&str] = &["toolType", "tool_type"];
const EXECUTABLE_CODE: &[&str] = &["executableCode", "executable_code"];
const CODE_EXECUTION_RESULT: &[&str] = &["codeExecutionResult", "code_execution_result"];
const MEDIA: &[&str] = &["inlineData", "inline_data", "fileData", "file_data"];
const MIME_TYPE: &[&str] = &["mimeType", "mime_type"];
/// All of them that a call may be in, for errors.
const CALLS: &[&str] =
    &["functionCall", "functionResponse", "toolCall", "toolResponse", "executableCode", "codeExecutionResult"];

/// What the tool that runs code is called where it is switched on.
const CODE_EXECUTION: &str = "code_execution";

const TOOL: Keys = Keys { id: &["id"], name: TOOL_TYPE, arguments: &["args"] };

fn fits(messages: &[Value<'_>]) -> bool {
    messages.iter().any(|message| message.get("kind").is_none() && has_parts(*message))
}

/// Parts have no type: those of other formats do.
pub(super) fn has_parts(content: Value<'_>) -> bool {
    let is_part = |part: &Value<'_>| {
        matches!(part, Value::Object([_, ..])) && found(*part, &["type", "kind", "part_kind", "partKind"]).is_none()
    };
    matches!(content.get(PARTS), Some(Value::Array(parts)) if !parts.is_empty() && parts.iter().any(is_part))
}

fn read<'a>(reader: Reader<'a>, messages: &[Value<'a>], listener: &mut Listener<'a>) -> Result<(), Error> {
    each(messages, |content| match content {
        // As the SDK takes what a user says.
        Value::Text(text) => {
            listener.asked(Some(text));
            Ok(())
        }
        _ => listen(reader, content, speaker(content)?, None, &mut |_| true, listener),
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    Model,
    /// The user, or the program around the model, which answers its calls.
    User,
    /// Instructions, which belong to no turn.
    System,
}

/// A content without a role is the user's.
pub(super) fn speaker(content: Value<'_>) -> Result<Speaker, Error> {
    if let (Value::Object(_), None | Some(Value::Null)) = (content, content.get(ROLE)) {
        return Ok(Speaker::User);
    }
    let role =
        one_word(content, ROLE, "the role of a Gemini content", &["model", "user", "function", "tool", "system"])?;
    Ok(match role {
        "model" => Speaker::Model,
        "system" => Speaker::System,
        _ => Speaker::User,
    })
}

/// Tell what a content says. Where a call has several answers, only the last one is told of.
pub(super) fn listen<'a>(
    reader: Reader<'a>,
    content: Value<'a>,
    speaker: Speaker,
    agent: Option<Text<'a>>,
    is_last: &mut dyn FnMut(&Answer<'a>) -> bool,
    listener: &mut Listener<'a>,
) -> Result<(), Error> {
    if speaker == Speaker::System {
        return Ok(());
    }
    let mut texts = Vec::new();
    let mut answers = false;
    each_of(content, PARTS, |part| {
        match event(reader, part)? {
            Event::Called(span) => listener.called(Span { agent, ..span }),
            Event::Answered(answer) => {
                answers = true;
                if is_last(&answer) {
                    listener.answered(answer);
                }
            }
            Event::AnswersLater => answers = true,
            Event::Said(text) => texts.push(text),
            Event::Nothing => {}
        }
        Ok(())
    })?;
    texts.retain(|text| !text.is_blank());
    match speaker {
        Speaker::User if answers && texts.is_empty() => {}
        Speaker::User => listener.asked(parts::joined(reader, &texts)),
        Speaker::Model | Speaker::System => listener.said(parts::joined(reader, &texts)),
    }
    Ok(())
}

enum Event<'a> {
    Called(Span<'a>),
    Answered(Answer<'a>),
    /// Part of an answer, of which the rest follows.
    AnswersLater,
    Said(Text<'a>),
    Nothing,
}

fn event<'a>(reader: Reader<'a>, part: Value<'a>) -> Result<Event<'a>, Error> {
    let members = match part {
        Value::Object(members) => members,
        Value::Text(text) => return Ok(Event::Said(text)),
        other => return Err(not_an_object("a part of a Gemini content", other)),
    };
    for (keys, read) in READERS {
        if let Some((key, holder)) = found(part, keys) {
            let read = match holder {
                Value::Object(_) => read(reader, holder),
                other => Err(not_an_object("what this part holds", other)),
            };
            return read.map_err(|error| error.at_key(Text::from(key)));
        }
    }
    if let Some(Value::True) = part.get("thought") {
        return Ok(Event::Nothing);
    }
    match part.get("text") {
        Some(Value::Text(text)) => return Ok(Event::Said(text)),
        None | Some(Value::Null) => {}
        Some(other) => {
            let message = format!("expected a string, got {}", other.kind());
            return Err(Error::wrong_type(message).at_key(Text::from("text")));
        }
    }
    if let Some((_, media)) = found(part, MEDIA) {
        let kind = parts::text(media, MIME_TYPE).unwrap_or(Text::from("media"));
        return Ok(Event::Said(in_brackets(kind, reader.bump)));
    }
    for member in members.iter().filter(|member| !matches!(member.value, Value::Null)) {
        reject_calls(member.key, "a part with a call or a result", CALLS)?;
    }
    Ok(Event::Nothing)
}

type ReadPart = for<'a> fn(Reader<'a>, Value<'a>) -> Result<Event<'a>, Error>;

const READERS: &[(&[&str], ReadPart)] = &[
    (FUNCTION_CALL, function_call),
    (FUNCTION_RESPONSE, |reader, response| function_response(reader, response, &[NAME])),
    (TOOL_CALL, |reader, call| TOOL.call(reader, call).map(Event::Called)),
    (TOOL_RESPONSE, |reader, response| function_response(reader, response, TOOL_TYPE)),
    (EXECUTABLE_CODE, executable_code),
    (CODE_EXECUTION_RESULT, code_execution_result),
];

fn function_call<'a>(reader: Reader<'a>, call: Value<'a>) -> Result<Event<'a>, Error> {
    let Value::Object(members) = call else { return Ok(Event::Nothing) };
    let is = |key: Text<'_>, keys: &[&str]| keys.iter().any(|word| key.is(word));
    let continues = |member: &Member<'_>| {
        matches!(member.value, Value::Null) || is(member.key, WILL_CONTINUE) || is(member.key, PARTIAL_ARGS)
    };
    // Where arguments are streamed, the name comes with the first piece, and an empty one is the last.
    if members.iter().all(|member| continues(member) || member.key.is("id")) {
        return Ok(Event::Nothing);
    }
    let span = Span::read(reader, call)?;
    let is_a_piece =
        members.iter().any(|member| continues(member) && !matches!(member.value, Value::Null | Value::False));
    Ok(Event::Called(if is_a_piece { Span { input: Value::Null, ..span } } else { span }))
}

const PARTIAL_ARGS: &[&str] = &["partialArgs", "partial_args"];

const WILL_CONTINUE: &[&str] = &["willContinue", "will_continue"];

fn function_response<'a>(reader: Reader<'a>, response: Value<'a>, name: &[&str]) -> Result<Event<'a>, Error> {
    if let Some((_, Value::True)) = found(response, WILL_CONTINUE) {
        return Ok(Event::AnswersLater);
    }
    answer(reader, response, name).map(Event::Answered)
}

/// A function's response: its `output` (`result` in ADK) or `error`, or else all of it, which has to be an object.
pub fn answer<'a>(reader: Reader<'a>, response: Value<'a>, name: &[&str]) -> Result<Answer<'a>, Error> {
    let (id, name) = (parts::id(reader, response, &["id"]), parts::text(response, name));
    let whole = parts::output(reader, response, &["response"])?;
    let error = failure(whole).and_then(|_| parts::error(reader, whole, &["error"]));
    let output = match whole {
        // A code beside the words is something that the tool gave.
        _ if error.is_some() && whole.get(CODE).is_none() => {
            found(whole, RESULTS).map_or(Value::Null, |(_, output)| output)
        }
        Value::Object([only]) if only.key.is("output") || only.key.is("result") => only.value,
        whole => whole,
    };
    // The results of MCP tools say so themselves.
    let failed = error.is_some() || matches!(found(whole, &["isError", "is_error"]), Some((_, Value::True)));
    Ok(Answer { id, name, output, status: failed.then_some(Text::from("error")), error })
}

/// The tool's own data may have an `error` too, which says nothing of the call.
fn failure<'a>(response: Value<'a>) -> Option<Value<'a>> {
    let Value::Object(members) = response else { return None };
    let is_of_a_response = |member: &Member<'_>| RESULTS.iter().chain(ERRORS).any(|key| member.key.is(key));
    match response.get("error") {
        Some(Value::Text(text)) if text.is_empty() => None,
        Some(error @ (Value::Text(_) | Value::Object([_, ..]))) if members.iter().all(is_of_a_response) => Some(error),
        _ => None,
    }
}

const RESULTS: &[&str] = &["output", "result"];
/// ADK's own tools give it beside the words.
const CODE: &str = "error_code";
const ERRORS: &[&str] = &["error", CODE];

fn executable_code<'a>(reader: Reader<'a>, code: Value<'a>) -> Result<Event<'a>, Error> {
    let Value::Object(members) = code else { return Ok(Event::Nothing) };
    let input = parts::arguments(reader, parts::without(reader, members, &["id"]))?;
    let id = parts::id(reader, code, &["id"]);
    Ok(Event::Called(Span { id, input, ..Span::new(Text::from(CODE_EXECUTION)) }))
}

fn code_execution_result<'a>(reader: Reader<'a>, result: Value<'a>) -> Result<Event<'a>, Error> {
    Ok(Event::Answered(Answer {
        id: parts::id(reader, result, &["id"]),
        name: Some(Text::from(CODE_EXECUTION)),
        // Left out where nothing was printed.
        output: match parts::output(reader, result, &["output"])? {
            Value::Null => Value::Text(Text::from("")),
            output => output,
        },
        status: parts::text(result, &["outcome"]),
        error: None,
    }))
}

#[cfg(test)]
mod tests {
    use super::{
        super::parts::told::{fails, tells},
        *,
    };

    #[test]
    fn calls_and_responses_in_either_spelling() {
        tells(
            &DIALECT,
            r#"[
                {"role": "user", "parts": [{"text": "Refund order 42"}]},
                {"role": "model", "parts": [
                    {"text": "thinking", "thought": true},
                    {"functionCall": {"id": "1", "name": "lookup", "args": {"order": 42}}, "thoughtSignature": "x"},
                    {"functionCall": {"id": "2", "name": "lookup", "args": {"order": 43}}}
                ]},
                {"role": "user", "parts": [
                    {"functionResponse": {"id": "2", "name": "lookup", "response": {"output": "late"}}},
                    {"functionResponse": {"id": "1", "name": "lookup", "response": {"state": "late", "days": 2}}}
                ]},
                {"role": "model", "parts": [{"function_call": {"id": null, "name": "refund", "args": {}, "will_continue": null},
                                             "function_response": null, "text": null}]},
                {"role": "function", "parts": [{"function_response": {"name": "refund", "response": {"error": "closed"}}}]},
                {"role": "model", "parts": [{"text": "Sorry,"}, {"text": "it is closed."}]},
                {"role": "user", "parts": [{"inline_data": {"mime_type": "image/png", "data": "…"}}, {"text": "Look."}]}
            ]"#,
            &[
                "Refund order 42 → Sorry,\\nit is closed.",
                r#"  lookup({"order": 42}) = {"state": "late", "days": 2} #1"#,
                r#"  lookup({"order": 43}) = "late" #2"#,
                r#"  refund({}) = null is error ! closed"#,
                "[image/png]\\nLook. → -",
            ],
        );
    }

    #[test]
    fn without_ids_responses_go_by_name_and_order() {
        tells(
            &DIALECT,
            r#"[
                "First.",
                {"parts": [{"text": "Both?"}]},
                {"role": "model", "parts": [
                    {"functionCall": {"name": "a"}}, {"functionCall": {"name": "b", "args": {"x": 1}}},
                    {"functionCall": {"name": "a", "args": {"x": 2}}}
                ]},
                {"role": "tool", "parts": [
                    {"functionResponse": {"name": "a", "response": {"result": 1}}},
                    {"functionResponse": {"name": "a", "response": {"result": [2]}}},
                    {"functionResponse": {"name": "b", "response": {"error": {"code": 5}, "retry": false}}},
                    {"functionResponse": {"name": "c", "response": {}}}
                ]}
            ]"#,
            &[
                "First. → -",
                "Both? → -",
                "  a(null) = 1",
                r#"  b({"x": 1}) = {"error": {"code": 5}, "retry": false}"#,
                r#"  a({"x": 2}) = [2]"#,
                "  c(null) = {} (only answered)",
            ],
        );
    }

    #[test]
    fn an_error_in_the_data_of_a_tool_is_no_status() {
        for (response, told) in [
            (r#"{"mean": 3.1, "error": 0}"#, r#"{"mean": 3.1, "error": 0}"#),
            (r#"{"error": 0}"#, r#"{"error": 0}"#),
            (r#"{"error": ""}"#, r#"{"error": ""}"#),
            (r#"{"error": {}}"#, r#"{"error": {}}"#),
            (r#"{"error": "no", "rows": 3}"#, r#"{"error": "no", "rows": 3}"#),
            (r#"{"error": "no"}"#, "null is error ! no"),
            (r#"{"error": {"code": 5}, "output": null}"#, r#"null is error ! {"code": 5}"#),
            (r#"{"result": [1], "error": "late"}"#, "[1] is error ! late"),
        ] {
            let part = format!(r#"{{"functionResponse": {{"name": "f", "response": {response}}}}}"#);
            let call = r#"{"functionCall": {"name": "f", "args": {}}}"#;
            let line = format!("  f({{}}) = {told}");
            tells(&DIALECT, &format!(r#"[{{"role": "model", "parts": [{call}, {part}]}}]"#), &["- → -", &line]);
        }
    }

    #[test]
    fn tools_of_the_provider() {
        tells(
            &DIALECT,
            r#"[{"role": "model", "parts": [
                {"executableCode": {"language": "PYTHON", "code": "1/0", "id": "a"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "ZeroDivisionError", "id": "a"}},
                {"executable_code": {"language": "PYTHON", "code": "print(1)"}},
                {"code_execution_result": {"outcome": "OUTCOME_OK", "output": "1\n"}},
                {"executableCode": {"language": "PYTHON", "code": "2"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK"}},
                {"toolCall": {"id": "s", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["x"]}}},
                {"toolResponse": {"id": "s", "toolType": "GOOGLE_SEARCH_WEB", "response": {"found": 3}}},
                {"text": "One."}
            ]}]"#,
            &[
                "- → One.",
                concat!(
                    r#"  code_execution({"language": "PYTHON", "code": "1/0"}) = "ZeroDivisionError" #a"#,
                    " is OUTCOME_FAILED"
                ),
                r#"  code_execution({"language": "PYTHON", "code": "print(1)"}) = "1\n" is OUTCOME_OK"#,
                r#"  code_execution({"language": "PYTHON", "code": "2"}) = "" is OUTCOME_OK"#,
                r#"  GOOGLE_SEARCH_WEB({"queries": ["x"]}) = {"found": 3} #s"#,
            ],
        );
    }

    #[test]
    fn arguments_in_pieces_are_not_recorded() {
        tells(
            &DIALECT,
            r#"[{"role": "model", "parts": [
                {"functionCall": {"name": "f", "id": "1", "willContinue": true}},
                {"functionCall": {"partialArgs": [{"jsonPath": "$.a", "stringValue": "x"}], "willContinue": true}},
                {"functionCall": {}}
            ]}, {"role": "user", "parts": [
                {"functionResponse": {"name": "f", "id": "1", "response": {"output": 1}, "willContinue": true}},
                {"functionResponse": {"name": "f", "id": "1", "response": {"output": 2}}}
            ]}]"#,
            &["- → -", "  f(null) = 2 #1"],
        );
    }

    #[test]
    fn results_of_mcp_tools_say_whether_they_failed() {
        tells(
            &DIALECT,
            r#"[{"role": "user", "parts": [{"functionResponse":
                {"name": "f", "response": {"content": [{"type": "text", "text": "no"}], "isError": true}}}]}]"#,
            &[
                "- → -",
                concat!(
                    r#"  f(null) = {"content": [{"type": "text", "text": "no"}], "isError": true}"#,
                    " is error (only answered)"
                ),
            ],
        );
    }

    #[test]
    fn what_is_malformed_is_an_error_with_its_place() {
        for (message, error) in [
            (
                r#"{"role": "assistant", "parts": []}"#,
                "[1].role: the role of a Gemini content is one of model, user, function, tool, system, not \"assistant\"",
            ),
            ("7", "[1]: expected what the others of this list are, an object, got a number"),
            (
                r#"{"role": "model", "parts": [{"functionCall": {"args": {"a": 1}}}]}"#,
                "[1].parts[0].functionCall: a tool call without a name; it is given as name or tool_name",
            ),
            (
                r#"{"role": "model", "parts": [{"functionCall": "f"}]}"#,
                "[1].parts[0].functionCall: expected what this part holds, an object, got a string",
            ),
            (
                r#"{"role": "model", "parts": [{"functionCal": {"name": "f"}}]}"#,
                concat!(
                    "[1].parts[0]: a part with a call or a result is one of functionCall, functionResponse, toolCall, ",
                    "toolResponse, executableCode, codeExecutionResult, not \"functionCal\"; did you mean \"functionCall\"?"
                ),
            ),
            (r#"{"role": "model", "parts": {}}"#, "[1].parts: expected a list, got an object"),
            (r#"{"role": "model", "parts": [{"text": 1}]}"#, "[1].parts[0].text: expected a string, got a number"),
        ] {
            fails(&DIALECT, &format!(r#"[{{"role": "user", "parts": [{{"text": "x"}}]}}, {message}]"#), error);
        }
    }
}
