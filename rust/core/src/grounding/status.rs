//! Status consistency: is what failed or waits told as what it is?

mod attempts;
mod decide;
mod links;
#[cfg(test)]
mod tests;
mod words;

use super::{
    names,
    request::{Call, Request},
    settings::Settings,
};
use crate::value::Value;
pub use decide::decide;

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub status: Status,
    /// The status says success, and the response or `error` says otherwise (`success: false`, `isError: true`).
    pub suspect: bool,
    /// A later call made up for its failure: index into `Request::calls`.
    pub resolved_by: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Success,
    Partial,
    Failed,
    TimedOut,
    Pending,
    Skipped,
    /// Not given, or a word that nobody knows: taken for a success that is not sure.
    Unknown,
}

impl Outcome {
    /// Neither did it succeed, nor did a later attempt.
    pub fn is_unresolved(&self) -> bool {
        !matches!(self.status, Status::Success | Status::Unknown) && self.resolved_by.is_none()
    }
}

/// For each call.
pub fn outcomes(request: &Request<'_>, settings: &Settings) -> Vec<Outcome> {
    let mut outcomes: Vec<Outcome> = request.calls.iter().map(|call| outcome(call, settings)).collect();
    attempts::resolve(request.calls, &mut outcomes);
    outcomes
}

fn outcome(call: &Call<'_>, settings: &Settings) -> Outcome {
    let status = call.status.and_then(words::read);
    let of = |status, suspect| Outcome { status, suspect, resolved_by: None };
    if fails_by_settings(call, settings) {
        return match status {
            Some(failure @ (Status::Failed | Status::TimedOut)) => of(failure, false),
            _ => of(Status::Failed, false),
        };
    }
    let says_failure = call.error.is_some_and(is_something) || call.response.is_some_and(is_an_error);
    match status {
        Some(Status::Success) => of(Status::Success, says_failure),
        Some(status) => of(status, false),
        None if says_failure => of(Status::Failed, false),
        None => of(Status::Unknown, false),
    }
}

/// Does a rule of the caller say of this response that it is a failure?
fn fails_by_settings(call: &Call<'_>, settings: &Settings) -> bool {
    let Some(response) = call.response else { return false };
    let rules = [call.tool, "*"].into_iter().filter_map(|tool| settings.failure_when.get(tool)).flatten();
    let mut found = rules.filter_map(|pointer| at(response, pointer));
    found.any(is_something)
}

/// What an RFC 6901 pointer points to. One without a slash in front is read as if it had one.
fn at<'a>(value: Value<'a>, pointer: &str) -> Option<Value<'a>> {
    let pointer = pointer.strip_prefix('/').or((!pointer.is_empty()).then_some(pointer));
    match pointer {
        None => Some(value),
        Some(path) => {
            path.split('/').try_fold(value, |value, step| value.get(&step.replace("~1", "/").replace("~0", "~")))
        }
    }
}

/// Neither null, false, zero nor empty.
fn is_something(value: Value<'_>) -> bool {
    match value {
        Value::Null | Value::False | Value::Int(0) => false,
        Value::Float(float) => float != 0.0,
        Value::Text(text) => !text.is_blank(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::True | Value::Int(_) | Value::Big(_) | Value::Foreign(_) => true,
    }
}

/// Does a response say on its own that it is none? What stands deeper in it, and a `status`, is data.
fn is_an_error(response: Value<'_>) -> bool {
    let is_false = |key| matches!(response.get(key), Some(Value::False));
    let is_set = |key| response.get(key).is_some_and(is_something);
    match response {
        Value::Object(_) => {
            ["success", "ok"].into_iter().any(is_false)
                || ["isError", "is_error", "error", "errors"].into_iter().any(is_set)
        }
        Value::Text(text) => {
            let text = names::utf8(text);
            let begins =
                |with: &str| text.trim_start().get(..with.len()).is_some_and(|text| text.eq_ignore_ascii_case(with));
            ["error:", "exception:", "traceback (most recent call last)"].into_iter().any(begins)
        }
        _ => false,
    }
}

#[cfg(test)]
mod outcome_tests {
    use bumpalo::Bump;

    use super::*;
    use crate::json;

    fn value<'a>(text: &'a str, bump: &'a Bump) -> Value<'a> {
        json::parse(text.as_bytes(), 64, bump).unwrap()
    }

    /// Calls from a list of objects with the keys of a request.
    fn calls<'a>(text: &'a str, bump: &'a Bump) -> Vec<Call<'a>> {
        let Value::Array(items) = value(text, bump) else { panic!("a list") };
        let given = |value: Option<Value<'a>>| value.filter(|value| !matches!(value, Value::Null));
        let time = |value: Option<Value<'a>>| match value {
            Some(Value::Int(time)) => Some((time, 0)),
            _ => None,
        };
        let call = |(index, item): (usize, &Value<'a>)| Call {
            index,
            tool: match item.get("tool") {
                Some(Value::Text(crate::text::Text::Utf8(bytes))) => std::str::from_utf8(bytes).unwrap(),
                _ => "tool",
            },
            status: given(item.get("status")),
            error: given(item.get("error")),
            request: given(item.get("request")),
            response: given(item.get("response")),
            request_key: "request_payload",
            response_key: "response_payload",
            start: time(item.get("start")),
            end: time(item.get("end")),
            retries: 0,
        };
        items.iter().enumerate().map(call).collect()
    }

    fn outcomes_of(text: &str, settings: &Settings) -> Vec<Outcome> {
        let bump = Bump::new();
        let calls = calls(text, &bump);
        let request = Request { query: "", text: "", calls: &calls, tools: None, context: &[], notes: Vec::new() };
        outcomes(&request, settings)
    }

    fn resolved_by(text: &str) -> Vec<Option<u32>> {
        outcomes_of(text, &Settings::default()).iter().map(|outcome| outcome.resolved_by).collect()
    }

    #[test]
    fn a_failure_that_the_status_denies_is_suspect() {
        for (call, status, suspect) in [
            (r#"{"status": "success"}"#, Status::Success, false),
            (r#"{"status": "success", "error": "boom"}"#, Status::Success, true),
            (r#"{"status": "success", "response": {"success": false}}"#, Status::Success, true),
            (r#"{"status": "success", "response": {"isError": true, "content": []}}"#, Status::Success, true),
            (r#"{"status": "success", "response": {"error": null, "errors": []}}"#, Status::Success, false),
            (r#"{"status": "success", "response": {"order": {"success": false}}}"#, Status::Success, false),
            (r#"{"status": "success", "response": {"status": "failed"}}"#, Status::Success, false),
            (r#"{"response": {"ok": false}}"#, Status::Failed, false),
            (r#"{"status": "purple", "response": {"error": "boom"}}"#, Status::Failed, false),
            (r#"{"response": "Error: payment amount does not add up"}"#, Status::Failed, false),
            (r#"{"error": "boom"}"#, Status::Failed, false),
            (r#"{"status": "purple"}"#, Status::Unknown, false),
            (r#"{}"#, Status::Unknown, false),
            (r#"{"status": "pending", "error": "slow"}"#, Status::Pending, false),
        ] {
            let outcomes = outcomes_of(&format!("[{call}]"), &Settings::default());
            assert_eq!(outcomes, [Outcome { status, suspect, resolved_by: None }], "{call}");
        }
    }

    #[test]
    fn callers_say_what_a_failure_is() {
        let mut settings = Settings::default();
        settings.failure_when.insert("refund".to_owned(), vec!["/denied".to_owned(), "/result/0/a~1b".to_owned()]);
        let status = |call: &str| outcomes_of(&format!("[{call}]"), &settings)[0].status;
        let refund =
            |response: &str| status(&format!(r#"{{"tool": "refund", "status": "success", "response": {response}}}"#));
        assert_eq!(refund(r#"{"denied": true}"#), Status::Failed);
        assert_eq!(refund(r#"{"denied": "window closed"}"#), Status::Failed);
        assert_eq!(refund(r#"{"result": [{"a/b": 1}]}"#), Status::Failed);
        for nothing in
            ["{}", r#"{"denied": false}"#, r#"{"denied": 0}"#, r#"{"denied": ""}"#, "[]", "7", r#"{"result": [{}]}"#]
        {
            assert_eq!(refund(nothing), Status::Success, "{nothing}");
        }
        assert_eq!(status(r#"{"tool": "other", "status": "success", "response": {"denied": true}}"#), Status::Success);
        settings.failure_when.insert("*".to_owned(), vec!["/denied".to_owned()]);
        let any = r#"[{"tool": "other", "status": "success", "response": {"denied": true}}]"#;
        assert_eq!(outcomes_of(any, &settings)[0].status, Status::Failed);
    }

    #[test]
    fn a_later_success_of_the_same_request_resolves_a_failure() {
        let failed = r#"{"tool": "t", "status": "timeout", "request": {"team": "ops", "request_id": "r1"}}"#;
        let again = r#"{"tool": "t", "status": "success", "request": {"team": "ops", "request_id": "r2"}}"#;
        let other = r#"{"tool": "u", "status": "success", "request": {"team": "ops"}}"#;
        assert_eq!(resolved_by(&format!("[{failed}, {other}, {again}]")), [Some(2), None, None]);
        assert_eq!(resolved_by(&format!("[{failed}, {failed}, {again}]")), [Some(2), Some(2), None]);
        // An earlier success makes up for nothing.
        assert_eq!(resolved_by(&format!("[{again}, {failed}]")), [None, None]);
        assert_eq!(resolved_by(&format!("[{failed}, {other}]")), [None, None]);
    }

    #[test]
    fn another_request_for_the_same_thing_resolves_a_failure_too() {
        let of = |tool: &str, status: &str, request: &str| {
            format!(r#"{{"tool": "{tool}", "status": "{status}", "request": {request}}}"#)
        };
        for (first, second, resolves) in [
            (r#"{"order_id": "A1", "card": "c-1"}"#, r#"{"order_id": "A1", "card": "c-2"}"#, true),
            (r#"{"to": "dana@x.io", "subject": "a"}"#, r#"{"to": "dana@x.io", "subject": "b"}"#, true),
            (r#"{"to": "dana@x.io", "from": "me@x.io"}"#, r#"{"to": "bob@x.io", "from": "me@x.io"}"#, false),
            (r#"{"order_id": "A1"}"#, r#"{"order_id": "A2"}"#, false),
            (
                r#"{"user_id": "u7", "flights": [{"flight_number": "HAT1"}]}"#,
                r#"{"user_id": "u7", "flights": [{"flight_number": "HAT1"}], "amount": 3}"#,
                true,
            ),
            (
                r#"{"user_id": "u7", "flights": [{"flight_number": "HAT1"}]}"#,
                r#"{"user_id": "u7", "flights": [{"flight_number": "HAT2"}]}"#,
                false,
            ),
            (r#"{"user_id": "u7", "amount": 1}"#, r#"{"user_id": "u7", "amount": 2}"#, true),
            (r#"{"city": "Oslo"}"#, r#"{"city": "Oslo", "units": "metric"}"#, true),
            (r#"{"city": "Oslo", "units": "metric"}"#, r#"{"city": "Lima", "units": "metric"}"#, false),
            (r#"{"amount": 30}"#, r#"{"amount": 40}"#, false),
            ("{}", "{}", true),
            ("null", "null", true),
        ] {
            let calls = format!("[{}, {}]", of("t", "failed", first), of("t", "success", second));
            assert_eq!(resolved_by(&calls)[0].is_some(), resolves, "{calls}");
            let another_tool = format!("[{}, {}]", of("t", "failed", first), of("u", "success", second));
            assert_eq!(resolved_by(&another_tool), [None, None]);
        }
    }

    #[test]
    fn calls_at_the_same_time_are_no_attempts_of_each_other() {
        let of = |status: &str, start: i64, end: i64| {
            format!(r#"{{"status": "{status}", "request": {{"q": "fern"}}, "start": {start}, "end": {end}}}"#)
        };
        assert_eq!(resolved_by(&format!("[{}, {}]", of("failed", 0, 10), of("success", 5, 15))), [None, None]);
        assert_eq!(resolved_by(&format!("[{}, {}]", of("failed", 0, 10), of("success", 0, 10))), [None, None]);
        assert_eq!(resolved_by(&format!("[{}, {}]", of("failed", 0, 10), of("success", 10, 15))), [Some(1), None]);
    }

    #[test]
    fn what_may_have_failed_itself_makes_up_for_nothing() {
        let failed = r#"{"status": "failed", "request": {"id": "R1"}}"#;
        for (later, resolves) in [
            (r#"{"status": "success", "request": {"id": "R1"}, "response": {"success": false}}"#, false),
            (r#"{"status": "pending", "request": {"id": "R1"}}"#, false),
            (r#"{"status": "partial", "request": {"id": "R1"}}"#, false),
            (r#"{"request": {"id": "R1"}}"#, false),
            (r#"{"request": {"id": "R1"}, "response": {"done": 1}}"#, true),
        ] {
            assert_eq!(resolved_by(&format!("[{failed}, {later}]"))[0].is_some(), resolves, "{later}");
        }
    }

    #[test]
    fn many_calls_take_no_long_time() {
        let call = |index: usize| {
            format!(r#"{{"tool": "t", "status": "failed", "request": {{"user_id": "u", "id": {index}}}}}"#)
        };
        let calls: Vec<String> = (0..20_000).map(call).collect();
        assert!(resolved_by(&format!("[{}]", calls.join(","))).iter().all(Option::is_none));
    }
}
