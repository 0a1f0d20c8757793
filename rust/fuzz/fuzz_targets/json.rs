//! The JSON parser never panics, and reads whatever `serde_json` reads as the same value.

#![no_main]

use std::hash::RandomState;

use bumpalo::Bump;
use callmatch_core::{
    compare,
    json::{self, Problem, Seen},
    number::{Big, Magnitude},
    text::Text,
    value::{MAX_DEPTH, Value, get},
};
use libfuzzer_sys::fuzz_target;
use serde_json::Value as Theirs;

/// A limit that inputs of a few bytes reach.
const FEW: usize = 4;

fuzz_target!(|bytes: &[u8]| {
    let bump = Bump::new();
    let ours = json::parse(bytes, MAX_DEPTH, &bump);
    let limited = json::parse(bytes, FEW, &bump);
    // What was seen is read as if it was not.
    let seen = Seen::of(usize::MAX, &bump);
    for _ in 0..2 {
        let again = json::parse_with(bytes, MAX_DEPTH, &bump, seen);
        assert_eq!(format!("{again:?}"), format!("{ours:?}"));
    }
    assert_eq!(json::check_utf8(bytes).is_ok(), str::from_utf8(bytes).is_ok());
    let Ok(text) = str::from_utf8(bytes) else { return };
    // A key that `serde_json` writes its numbers under while it reads them.
    if text.contains("$serde_json") {
        return;
    }
    match (serde_json::from_str::<Theirs>(text), ours) {
        (Ok(theirs), Ok(ours)) => {
            assert!(same(ours, &theirs), "{ours:?} is not {theirs:?}");
            match limited {
                Ok(limited) => assert!(same(limited, &theirs) && !limited.deeper_than(FEW)),
                // Deep down in a value of which a later one takes the place, this isn't so.
                Err(error) => {
                    assert!(error.problem == Problem::Depth && (ours.deeper_than(FEW) || brackets(text) > FEW))
                }
            }
            // Written with its keys in another order, and without a key twice.
            let again = theirs.to_string();
            let again = json::parse(again.as_bytes(), MAX_DEPTH, &bump).unwrap();
            let build = RandomState::new();
            assert!(compare::equal(ours, again) && compare::equal(again, ours));
            assert_eq!(compare::hash(ours, &build), compare::hash(again, &build));
        }
        (Ok(theirs), Err(error)) => panic!("{error} in {theirs:?}"),
        (Err(error), Ok(ours)) => {
            let surrogate = text.to_ascii_lowercase().contains("\\ud");
            let extended = text.contains("NaN") || text.contains("Infinity") || surrogate || brackets(text) >= 128;
            assert!(extended, "{error}, but read as {ours:?}");
        }
        (Err(_), Err(_)) => {}
    }
});

fn brackets(text: &str) -> usize {
    text.matches(['[', '{']).count()
}

fn same(ours: Value<'_>, theirs: &Theirs) -> bool {
    match (ours, theirs) {
        (Value::Null, Theirs::Null) | (Value::True, Theirs::Bool(true)) | (Value::False, Theirs::Bool(false)) => true,
        (Value::Text(a), Theirs::String(b)) => a == Text::from(b.as_str()),
        (Value::Array(a), Theirs::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(&a, b)| same(a, b)),
        (Value::Object(a), Theirs::Object(b)) => {
            let found =
                |(key, value): (&String, &Theirs)| get(a, Text::from(key.as_str())).is_some_and(|a| same(a, value));
            a.len() == b.len() && b.iter().all(found)
        }
        (ours, Theirs::Number(number)) => same_number(ours, &number.to_string()),
        _ => false,
    }
}

fn same_number(ours: Value<'_>, written: &str) -> bool {
    let whole = !written.contains(['.', 'e', 'E']);
    match ours {
        Value::Float(float) => !whole && written.parse().is_ok_and(|other: f64| other.to_bits() == float.to_bits()),
        Value::Int(int) => whole && written.parse() == Ok(int),
        Value::Big(&Big { negative, magnitude: Magnitude::Decimal(digits) }) => {
            let rest = written.strip_prefix('-');
            whole
                && written.parse::<i64>().is_err()
                && (negative, digits) == (rest.is_some(), rest.unwrap_or(written).as_bytes())
        }
        _ => false,
    }
}
