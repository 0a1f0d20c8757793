//! What the status of a call says: a word, a number or a boolean, whoever wrote it.

use std::{collections::HashMap, sync::LazyLock};

use super::{super::names, Status};
use crate::value::{Object, Value};

/// A longer text is no status.
const MOST_BYTES: usize = 200;

/// What a status says; None if that is not known.
pub fn read(status: Value<'_>) -> Option<Status> {
    match status {
        Value::True => Some(Status::Success),
        Value::False => Some(Status::Failed),
        Value::Int(code) => code_of_http(code),
        Value::Float(code) if code.fract() == 0.0 && (0.0..1000.0).contains(&code) => code_of_http(code as i64),
        Value::Text(text) => word(&names::utf8(text)),
        Value::Object(members) => of_object(members),
        _ => None,
    }
}

/// A status that has parts, as that of an OpenTelemetry span has.
fn of_object(members: Object<'_>) -> Option<Status> {
    ["code", "status", "status_code", "state"].iter().find_map(|key| match Value::Object(members).get(key)? {
        Value::Object(_) => None,
        value => read(value),
    })
}

fn code_of_http(code: i64) -> Option<Status> {
    match code {
        408 | 504 => Some(Status::TimedOut),
        202 | 100..200 => Some(Status::Pending),
        206 | 207 => Some(Status::Partial),
        200..300 | 304 => Some(Status::Success),
        400..600 => Some(Status::Failed),
        _ => None,
    }
}

struct Words {
    whole: HashMap<String, Status>,
    begins: Vec<(String, Status)>,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let mut words = Words { whole: HashMap::new(), begins: Vec::new() };
    for (class, listed) in names::lines_of(include_str!("../words/statuses.txt")) {
        let status = match class {
            "success" => Status::Success,
            "partial" => Status::Partial,
            "failed" => Status::Failed,
            "timeout" => Status::TimedOut,
            "pending" => Status::Pending,
            "skipped" => Status::Skipped,
            _ => continue,
        };
        for word in listed.split_whitespace() {
            let word = word.replace('_', " ");
            match word.strip_suffix('*') {
                Some(beginning) => words.begins.push((beginning.to_owned(), status)),
                None => drop(words.whole.insert(word, status)),
            }
        }
    }
    words
});

impl Words {
    fn get(&self, word: &str) -> Option<Status> {
        let is_of = |beginning: &str| word.strip_prefix(beginning).is_some_and(|rest| !rest.contains(' '));
        let begins = || self.begins.iter().find(|(beginning, _)| is_of(beginning));
        self.whole.get(word).copied().or_else(|| begins().map(|&(_, status)| status))
    }
}

fn word(text: &str) -> Option<Status> {
    if text.len() > MOST_BYTES {
        return None;
    }
    let all = names::words_of(text);
    let mut words = all.as_slice();
    // "STATUS_CODE_OK", "HTTP/1.1 503 Service Unavailable", "status: failed"
    while let [first, rest @ ..] = words
        && !rest.is_empty()
        && matches!(first.as_str(), "status" | "code" | "http" | "https" | "state" | "statuscode" | "1" | "0" | "2")
    {
        words = rest;
    }
    if let Some(code) = words.first().and_then(|word| word.parse::<i64>().ok()) {
        return code_of_http(code);
    }
    WORDS.get(&words.join(" ")).or_else(|| of_words(words))
}

/// A status of several words is what its words are, unless one of them turns another around.
fn of_words(words: &[String]) -> Option<Status> {
    let mut found = [false; 6];
    let mut any = None;
    for (index, word) in words.iter().enumerate() {
        if matches!(word.as_str(), "not" | "no" | "without" | "non" | "never" | "un") && words.len() > 1 {
            return None;
        }
        let pair = words.get(index + 1).and_then(|next| WORDS.whole.get(&format!("{word} {next}")).copied());
        if let Some(status) = pair.or_else(|| WORDS.get(word)) {
            if let Some(slot) = found.get_mut(status as usize) {
                *slot = true;
            }
            any = any.or(Some(status));
        }
    }
    let has = |status: Status| found.get(status as usize).copied().unwrap_or_default();
    if has(Status::Partial) || has(Status::Success) && has(Status::Failed) {
        return Some(Status::Partial);
    }
    [Status::TimedOut, Status::Failed, Status::Pending, Status::Skipped].into_iter().find(|&status| has(status)).or(any)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Option<Status> {
        read(Value::Text(text.into()))
    }

    #[test]
    fn words_of_all_kinds_of_tools() {
        use Status::*;
        for (status, words) in [
            (Success, "success SUCCESS succeeded ok OK Completed done STATUS_CODE_OK true 200 201 204"),
            (
                Failed,
                "failed FAILURE error Error errored exception denied rejected cancelled canceled CANCELED aborted 400 404 429 500 503 false",
            ),
            (
                Failed,
                "PERMISSION_DENIED NOT_FOUND INVALID_ARGUMENT RESOURCE_EXHAUSTED UNAVAILABLE INTERNAL STATUS_CODE_ERROR",
            ),
            (TimedOut, "timeout TIMEOUT timed_out timedOut timed-out DEADLINE_EXCEEDED 504 408 GatewayTimeout"),
            (
                Pending,
                "pending PENDING queued running in_progress in-progress InProgress processing scheduled awaiting_approval accepted 202 retrying",
            ),
            (Partial, "partial partial_success PartiallyCompleted partially-failed degraded 207 completed_with_errors"),
            (Skipped, "skipped SKIPPED not_executed"),
        ] {
            for word in words.split_whitespace() {
                assert_eq!(text(word), Some(status), "{word}");
            }
        }
        for (status, phrase) in [
            (Success, " Completed successfully "),
            (Success, "200 OK"),
            (Failed, "HTTP/1.1 503 Service Unavailable"),
            (Failed, "failed: connection refused"),
            (Failed, "HTTP 500"),
            (TimedOut, "timed out"),
            (TimedOut, "failed (timed out)"),
            (Pending, "still in progress"),
            (Partial, "partially completed"),
        ] {
            assert_eq!(text(phrase), Some(status), "{phrase}");
        }
    }

    #[test]
    fn what_nobody_knows_is_unknown() {
        for word in ["", " ", "purple", "unknown", "unset", "STATUS_CODE_UNSET", "0", "7", "not bad", "🙂", "no idea"]
        {
            assert_eq!(text(word), None, "{word}");
        }
        assert_eq!(text(&"ok ".repeat(1000)), None);
        assert_eq!(read(Value::Null), None);
        assert_eq!(read(Value::Array(&[])), None);
    }

    #[test]
    fn numbers_and_booleans() {
        assert_eq!(read(Value::Int(200)), Some(Status::Success));
        assert_eq!(read(Value::Int(503)), Some(Status::Failed));
        assert_eq!(read(Value::Float(504.0)), Some(Status::TimedOut));
        assert_eq!(read(Value::True), Some(Status::Success));
        assert_eq!(read(Value::False), Some(Status::Failed));
        for unknown in [Value::Int(0), Value::Int(1), Value::Int(-1), Value::Float(0.5), Value::Float(f64::NAN)] {
            assert_eq!(read(unknown), None);
        }
    }
}
