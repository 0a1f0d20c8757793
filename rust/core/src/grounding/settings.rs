//! How is checked.

use std::collections::BTreeMap;

use bumpalo::Bump;

use super::{calibration::Calibration, report::Verdict, request};
use crate::{
    error::{Error, nearest, one_of},
    show,
    text::Text,
    value::{Object, Value},
};

#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub explain: Explain,
    pub calibration: Calibration,
    /// Of a tool (or `*`), JSON pointers into its response: where one of them is found and not false, null, zero or empty, the
    /// call failed, whatever its status.
    pub failure_when: BTreeMap<String, Vec<String>>,
    /// Of a key of payloads, other words that texts have for it.
    pub key_aliases: BTreeMap<String, Vec<String>>,
    /// Of a key of payloads, the unit of its numbers.
    pub unit_hints: BTreeMap<String, String>,
    /// Keys of payloads that nothing is held against.
    pub ignore_keys: Vec<String>,
    /// The tools that can be called where a request doesn't say so, as JSON text.
    pub available_tools: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Explain {
    #[default]
    No,
    Yes,
    NegativesOnly,
}

/// What can be set.
const KEYS: &[&str] =
    &["explain", "calibration", "failure_when", "key_aliases", "unit_hints", "ignore_keys", "available_tools"];
const NEGATIVES_ONLY: &str = "negatives_only";

impl Settings {
    /// Read settings: an object, or null for the usual ones. A key that there is not is an error.
    pub fn read(value: Value<'_>) -> Result<Self, Error> {
        let members = match value {
            Value::Null => return Ok(Settings::default()),
            Value::Object(members) => members,
            other => return Err(Error::wrong_type(format!("expected an object of settings, got {}", other.kind()))),
        };
        let mut settings = Settings::default();
        for member in members {
            settings.set(member.key, member.value).map_err(|error| error.at_key(member.key))?;
        }
        Ok(settings)
    }

    fn set(&mut self, key: Text<'_>, value: Value<'_>) -> Result<(), Error> {
        let key = show::storable(key);
        match key.as_str() {
            "explain" => self.explain = explain(value)?,
            "calibration" => {
                if let Some(counts) = object(value)? {
                    self.calibration = self.calibration.with(counts)?;
                }
            }
            "failure_when" => {
                self.failure_when = map(value, texts)?;
                for (tool, pointers) in &self.failure_when {
                    if let Some(index) = pointers.iter().position(|pointer| !pointer.starts_with('/')) {
                        let error = Error::value("expected a JSON pointer, which starts with a slash");
                        return Err(error.at_index(index).at_key(Text::from(&**tool)));
                    }
                }
            }
            "key_aliases" => self.key_aliases = map(value, texts)?,
            "unit_hints" => self.unit_hints = map(value, text)?,
            "ignore_keys" => self.ignore_keys = texts(value)?,
            "available_tools" => self.available_tools = tools(value)?,
            _ => {
                let mut message = format!("no such setting; there are {}", KEYS.join(", "));
                if let Some(near) = nearest(&key, KEYS) {
                    message.push_str(&format!("; did you mean {near:?}?"));
                }
                return Err(Error::value(message));
            }
        }
        Ok(())
    }

    /// Should a decision explain itself? A violation always does: of the worst one the whole report says why.
    pub fn wants_explanation(&self, verdict: Verdict) -> bool {
        verdict == Verdict::Violated || self.explain == Explain::Yes
    }

    /// Is the explanation of such a verdict asked for?
    pub fn explains(&self, verdict: Verdict) -> bool {
        match self.explain {
            Explain::No => false,
            Explain::Yes => true,
            Explain::NegativesOnly => verdict == Verdict::Violated,
        }
    }
}

/// AIMon's: false, true or "negatives_only".
fn explain(value: Value<'_>) -> Result<Explain, Error> {
    match value {
        Value::Null | Value::False => Ok(Explain::No),
        Value::True => Ok(Explain::Yes),
        Value::Text(text) if text.is(NEGATIVES_ONLY) => Ok(Explain::NegativesOnly),
        Value::Text(text) => {
            Err(Error::value(one_of("explain", &show::storable(text), &["true", "false", NEGATIVES_ONLY])))
        }
        other => Err(Error::wrong_type(format!("expected true, false or {NEGATIVES_ONLY:?}, got {}", other.kind()))),
    }
}

/// A catalogue, as the JSON text that each request reads: what it is made of lives no longer than the request.
fn tools(value: Value<'_>) -> Result<Option<String>, Error> {
    if let Value::Null = value {
        return Ok(None);
    }
    let bump = Bump::new();
    request::catalogue(value.copy_to(&bump), &bump)?;
    let mut json = String::new();
    show::write_json(value, &mut json);
    Ok(Some(json))
}

/// An object, or null for none.
fn object(value: Value<'_>) -> Result<Option<Object<'_>>, Error> {
    match value {
        Value::Null => Ok(None),
        Value::Object(members) => Ok(Some(members)),
        other => Err(Error::wrong_type(format!("expected an object, got {}", other.kind()))),
    }
}

fn map<T>(value: Value<'_>, of: fn(Value<'_>) -> Result<T, Error>) -> Result<BTreeMap<String, T>, Error> {
    let members = object(value)?.unwrap_or_default().iter();
    members
        .map(|member| Ok((show::storable(member.key), of(member.value).map_err(|error| error.at_key(member.key))?)))
        .collect()
}

/// A list of texts; a lone text is a list of one.
fn texts(value: Value<'_>) -> Result<Vec<String>, Error> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Text(_) => Ok(vec![text(value)?]),
        Value::Array(items) => {
            let texts = items.iter().enumerate();
            texts.map(|(index, &item)| text(item).map_err(|error| error.at_index(index))).collect()
        }
        other => Err(Error::wrong_type(format!("expected a list of texts, got {}", other.kind()))),
    }
}

fn text(value: Value<'_>) -> Result<String, Error> {
    match value {
        Value::Text(text) => Ok(show::storable(text)),
        other => Err(Error::wrong_type(format!("expected a text, got {}", other.kind()))),
    }
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;

    use super::*;
    use crate::{grounding::calibration::Rule, json};

    fn read(text: &str) -> Result<Settings, String> {
        let bump = Bump::new();
        let value = json::parse(text.as_bytes(), 9, &bump).unwrap();
        Settings::read(value).map_err(|error| error.to_string())
    }

    #[test]
    fn everything_can_be_set() {
        let settings = read(
            r#"{"explain": "negatives_only", "failure_when": {"refund": "/failed", "*": ["/error", "/errors/0"]},
                "key_aliases": {"pts": ["points", "scored"]}, "unit_hints": {"t": "°C"}, "ignore_keys": ["took"],
                "available_tools": [{"name": "f"}], "calibration": {"related": {"followed": 1, "n": 4}}}"#,
        )
        .unwrap();
        assert_eq!(settings.explain, Explain::NegativesOnly);
        assert_eq!(settings.failure_when["refund"], ["/failed"]);
        assert_eq!(settings.failure_when["*"], ["/error", "/errors/0"]);
        assert_eq!(settings.key_aliases["pts"], ["points", "scored"]);
        assert_eq!(settings.unit_hints["t"], "°C");
        assert_eq!(settings.ignore_keys, ["took"]);
        assert_eq!(settings.available_tools.as_deref(), Some(r#"[{"name": "f"}]"#));
        assert_eq!(settings.calibration.probability(Rule::Related), 1.5 / 5.0);
        assert!(settings.explains(Verdict::Violated) && !settings.explains(Verdict::Followed));
        for text in ["{}", "null", r#"{"explain": null, "ignore_keys": null, "calibration": null}"#] {
            assert_eq!(read(text).unwrap().explain, Explain::No);
        }
    }

    #[test]
    fn mistakes_are_told_with_their_place() {
        for (text, error) in [
            ("[]", "expected an object of settings, got a list"),
            (r#"{"explain": 1}"#, "explain: expected true, false or \"negatives_only\", got a number"),
            (r#"{"ignore_keys": ["a", 1]}"#, "ignore_keys[1]: expected a text, got a number"),
            (r#"{"available_tools": [{}]}"#, "available_tools[0].name: missing; a tool of the catalogue has a name"),
            (r#"{"unit_hints": {"t": []}}"#, "unit_hints.t: expected a text, got a list"),
            (
                r#"{"failure_when": {"refund": ["failed"]}}"#,
                "failure_when.refund[0]: expected a JSON pointer, which starts with a slash",
            ),
        ] {
            assert_eq!(read(text).unwrap_err(), error);
        }
        let unknown = read(r#"{"unit_hint": {}}"#).unwrap_err();
        assert!(unknown.starts_with("unit_hint: no such setting") && unknown.ends_with("did you mean \"unit_hints\"?"));
        let word = read(r#"{"explain": "negative_only"}"#).unwrap_err();
        assert!(word.ends_with("did you mean \"negatives_only\"?"), "{word}");
    }
}
