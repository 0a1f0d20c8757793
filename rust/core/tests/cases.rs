//! The cases with right answers (`tests/cases/`), by the core alone. `tests/test_cases.py` runs them by every other path.

#![allow(clippy::unwrap_used, clippy::panic)]

use bumpalo::Bump;
use callmatch_core::{
    call::Reader,
    expected::Expectation,
    matching::Scratch,
    options::{ArgumentMode, MatchMode, Names, Options},
    report::Report,
    value::Value,
};

fn text<'a>(value: Value<'a>) -> &'a str {
    match value {
        Value::Text(callmatch_core::text::Text::Utf8(bytes)) => std::str::from_utf8(bytes).unwrap(),
        other => panic!("expected a string, got {}", other.kind()),
    }
}

fn number(value: Value<'_>) -> Option<u32> {
    match value {
        Value::Int(int) => Some(int.try_into().unwrap()),
        _ => None,
    }
}

fn options(pair: &str) -> Options {
    let (match_mode, arguments) = pair.split_once('/').unwrap();
    let (match_mode, arguments) = (MatchMode::parse(match_mode).unwrap(), ArgumentMode::parse(arguments).unwrap());
    Options { match_mode, arguments, names: Names::Exact }
}

/// Does the report say what is wanted: `[verdict, matched, [kind, expected_index, actual_index] or null]`?
fn assert_wanted(report: &Report, want: Value<'_>, place: &str) {
    let at = |index: &str| want.get(index).unwrap();
    assert_eq!(report.verdict.word(), text(at("0")), "{place}");
    assert_eq!(report.pairs.len() as u32, number(at("1")).unwrap(), "{place}");
    let found = report.difference.as_ref().map(|found| (found.kind.word(), found.expected_index, found.actual_index));
    let wanted = match at("2") {
        Value::Null => None,
        list => Some((text(list.get("0").unwrap()), number(list.get("1").unwrap()), number(list.get("2").unwrap()))),
    };
    assert_eq!(found, wanted, "{place}");
}

#[test]
fn every_case_in_every_mode() {
    let mut checked = 0;
    for file in ["trajectory.jsonl", "more.jsonl"] {
        let path = format!("{}/../../tests/cases/{file}", env!("CARGO_MANIFEST_DIR"));
        let mut scratch = Scratch::default();
        for line in std::fs::read_to_string(path).unwrap().lines() {
            let bump = Bump::new();
            let (case, reader) = Reader::parse(line.as_bytes(), &bump).unwrap();
            let id = text(case.get("id").unwrap());
            let actual = reader.calls(case.get("actual").unwrap()).unwrap().unwrap();
            let expected = reader.expected(case.get("expected").unwrap()).unwrap().unwrap();
            let Some(Value::Object(wanted)) = case.get("want") else { panic!("{id} wants nothing") };
            for want in wanted {
                let pair = text(Value::Text(want.key));
                let report = Expectation::compile(options(pair), expected, &bump).check(actual, &mut scratch);
                assert_wanted(&report, want.value, &format!("{id} {pair}"));
                checked += 1;
            }
        }
    }
    assert!(checked >= 15 * 53);
}

#[test]
fn an_expectation_is_compiled_once_for_many_traces() {
    let bump = Bump::new();
    let (expected, reader) = Reader::parse(br#"[{"name": "a", "arguments": {"x": 1}}, {"name": "b"}]"#, &bump).unwrap();
    let expected = reader.expected(expected).unwrap().unwrap();
    let expectation = Expectation::compile(options("in_order/partial"), expected, &bump);
    let mut scratch = Scratch::default();
    for (trace, matched) in [
        (r#"[{"name": "a", "arguments": {"x": 1.0}}, {"name": "b", "arguments": {}}]"#, 2),
        (r#"[{"name": "b"}]"#, 1),
        (r#"[]"#, 0),
    ] {
        let bump = Bump::new();
        let (actual, reader) = Reader::parse(trace.as_bytes(), &bump).unwrap();
        let report = expectation.check(reader.calls(actual).unwrap().unwrap(), &mut scratch);
        assert_eq!(report.pairs.len(), matched, "{trace}");
    }
}

/// The direct comparison and the index must not differ, so the same calls are paired alone and among many others.
#[test]
fn many_calls_are_paired_as_few_are() {
    let call = |index: usize| {
        format!(r#"{{"name": "t", "arguments": {{"k{}": {}, "l": [{}]}}}}"#, index % 3, index % 5, index % 2)
    };
    for arguments in ["partial", "exact"] {
        for count in [3, 12, 40, 150] {
            let list = |calls: Vec<String>| format!("[{}]", calls.join(","));
            let made = list((0..count).map(call).collect());
            let wanted = list((0..count).rev().map(call).collect());
            let bump = Bump::new();
            let (made, reader) = Reader::parse(made.as_bytes(), &bump).unwrap();
            let (wanted, _) = Reader::parse(wanted.as_bytes(), &bump).unwrap();
            let expected = reader.expected(wanted).unwrap().unwrap();
            let expectation = Expectation::compile(options(&format!("any_order/{arguments}")), expected, &bump);
            let report = expectation.check(reader.calls(made).unwrap().unwrap(), &mut Scratch::default());
            assert_eq!(report.pairs.len(), count);
        }
    }
}
