//! Verdicts and pairings of small lists of calls are those that an obvious search finds, in every mode, and stay so where
//! every call is repeated until the calls are looked up in an index.

#![no_main]

use std::collections::BTreeMap;

use callmatch_core::{
    options::{ArgumentMode, MatchMode, Names, Options, Verdict},
    report::Report,
    score::Worker,
};
use libfuzzer_sys::{
    arbitrary::{Result, Unstructured},
    fuzz_target,
};

/// JSON texts; those with one number are one value.
const VALUES: &[(&str, u8)] = &[
    ("1", 0),
    ("1.0", 0),
    ("true", 1),
    ("\"1\"", 2),
    ("null", 3),
    ("100000000000000000000", 4),
    ("1e20", 4),
    ("[1, {}]", 5),
    ("[1e0, {}]", 5),
    ("[{}, 1]", 6),
    (r#"{"a": 1, "b": null}"#, 7),
    (r#"{"b": null, "a": 1.0}"#, 7),
    (r#"{"a": 1}"#, 8),
    ("9007199254740993", 9),
    ("9007199254740992.0", 10),
];
const KEYS: &[(&str, u8)] = &[("a", 0), ("\\u0061", 0), ("b", 1), ("", 2)];

struct Call {
    text: String,
    tool: u8,
    arguments: Arguments,
}

enum Arguments {
    Object(BTreeMap<u8, u8>),
    NotRecorded,
    Unreadable,
}

#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Fit {
    No,
    Unknown,
    Yes,
}

/// For each expected call and each made one, whether they fit.
type Fits<'a> = &'a dyn Fn(usize, usize) -> bool;

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = Unstructured::new(bytes);
    // Lists of more than 20 calls are looked up in an index.
    let most = if bytes.ratio(1, 4).unwrap_or(false) { 24 } else { 5 };
    let Ok(expected) = calls(&mut bytes, most, true) else { return };
    let Ok(actual) = calls(&mut bytes, most, false) else { return };
    let mut worker = Worker::default();
    for &match_mode in MatchMode::ALL {
        for &arguments in ArgumentMode::ALL {
            let options = Options { match_mode, arguments, names: Names::Exact };
            let report = score(&mut worker, options, &expected, &actual, 1);
            let verdict = check(&report, options, &expected, &actual);
            if most == 5 {
                let repeated = score(&mut worker, options, &expected, &actual, 21);
                assert_eq!(repeated.verdict, verdict);
                assert_eq!(repeated.pairs.len(), 21 * report.pairs.len());
            }
        }
    }
});

fn calls(bytes: &mut Unstructured<'_>, most: usize, expected: bool) -> Result<Vec<Call>> {
    let count = bytes.int_in_range(0..=most)?;
    (0..count).map(|_| call(bytes, expected)).collect()
}

fn call(bytes: &mut Unstructured<'_>, expected: bool) -> Result<Call> {
    // Most calls are of one tool.
    let tool = u8::from(bytes.ratio(1, 5)?);
    let name = ["f", "\\u0067"][usize::from(tool)];
    Ok(match bytes.int_in_range(0..=9)? {
        0 => Call { text: format!(r#"{{"name": "{name}"}}"#), tool, arguments: Arguments::NotRecorded },
        1 if !expected => {
            Call { text: format!(r#"{{"name": "{name}", "args": "{{"}}"#), tool, arguments: Arguments::Unreadable }
        }
        _ => {
            let mut members = Vec::new();
            let mut object = BTreeMap::new();
            for _ in 0..bytes.int_in_range(0..=3)? {
                let (key, key_number) = *bytes.choose(KEYS)?;
                let (value, value_number) = *bytes.choose(VALUES)?;
                members.push(format!(r#""{key}": {value}"#));
                object.insert(key_number, value_number);
            }
            let text = format!(r#"{{"arguments": {{{}}}, "name": "{name}"}}"#, members.join(", "));
            Call { text, tool, arguments: Arguments::Object(object) }
        }
    })
}

fn score(worker: &mut Worker, options: Options, expected: &[Call], actual: &[Call], times: usize) -> Report {
    let text = |calls: &[Call]| {
        let texts: Vec<&str> = calls.iter().flat_map(|call| std::iter::repeat_n(call.text.as_str(), times)).collect();
        format!("[{}]", texts.join(", "))
    };
    let (actual, expected) = (text(actual), text(expected));
    worker.score_texts(options, Some(actual.as_bytes()), Some(expected.as_bytes())).expect("the calls can be read")
}

fn fit(expected: &Call, made: &Call, mode: ArgumentMode) -> Fit {
    if expected.tool != made.tool {
        return Fit::No;
    }
    let Arguments::Object(listed) = &expected.arguments else { return Fit::Yes };
    let matches = match (&made.arguments, mode) {
        (_, ArgumentMode::Ignore) => true,
        (Arguments::Object(object), ArgumentMode::Exact) => object == listed,
        (Arguments::Object(object), ArgumentMode::Partial) => {
            listed.iter().all(|(key, value)| object.get(key) == Some(value))
        }
        (Arguments::Unreadable, _) => false,
        (Arguments::NotRecorded, ArgumentMode::Partial) if listed.is_empty() => true,
        (Arguments::NotRecorded, _) => return Fit::Unknown,
    };
    if matches { Fit::Yes } else { Fit::No }
}

/// Compare a report with what is found here, and return the verdict.
fn check(report: &Report, options: Options, expected: &[Call], actual: &[Call]) -> Verdict {
    let least = |least: Fit| move |i: usize, j: usize| fit(&expected[i], &actual[j], options.arguments) >= least;
    let (certain, possible) = (least(Fit::Yes), least(Fit::Unknown));
    let (rows, columns) = (expected.len(), actual.len());

    let passes = |fits: Fits<'_>| passes(options.match_mode, rows, columns, fits);
    let verdict = match (passes(&certain), passes(&possible)) {
        (true, _) => Verdict::Passed,
        (false, true) => Verdict::Inconclusive,
        (false, false) => Verdict::Failed,
    };
    assert_eq!(report.verdict, verdict, "{options:?}");
    assert_eq!(report.difference.is_some(), verdict == Verdict::Failed);
    assert_eq!(report.unrecorded.is_some(), verdict == Verdict::Inconclusive);

    let (mut lefts, mut rights): (Vec<u32>, Vec<u32>) = report.pairs.iter().copied().unzip();
    assert!(report.pairs.iter().all(|&(i, j)| certain(i as usize, j as usize)));
    assert!(lefts.is_sorted());
    lefts.dedup();
    rights.sort_unstable();
    rights.dedup();
    assert!(lefts.len() == report.pairs.len() && rights.len() == report.pairs.len());
    assert_eq!(report.missing(), not_kept(rows, columns, &certain));
    assert_eq!(report.unexpected(), not_kept(columns, rows, &|j, i| certain(i, j)));
    verdict
}

fn passes(mode: MatchMode, rows: usize, columns: usize, fits: Fits<'_>) -> bool {
    if rows == 0 {
        return columns == 0;
    }
    let all: Vec<usize> = (0..rows).collect();
    let pairs = || largest(&all, columns, fits);
    match mode {
        MatchMode::Exact => rows == columns && (0..rows).all(|place| fits(place, place)),
        MatchMode::InOrder => {
            let mut made = 0..columns;
            (0..rows).all(|i| made.any(|j| fits(i, j)))
        }
        MatchMode::AnyOrder => rows == columns && pairs() == rows,
        MatchMode::Subset => pairs() == columns,
        MatchMode::Superset => pairs() == rows,
    }
}

/// Rows are taken in order, and each is kept if all kept ones can still be paired: the others.
fn not_kept(rows: usize, columns: usize, fits: Fits<'_>) -> Vec<u32> {
    let mut kept = Vec::new();
    let mut others = Vec::new();
    for row in 0..rows {
        kept.push(row);
        if largest(&kept, columns, fits) < kept.len() {
            kept.pop();
            others.push(row as u32);
        }
    }
    others
}

/// How many of these rows can be paired with columns of their own: for few columns by trying everything.
fn largest(rows: &[usize], columns: usize, fits: Fits<'_>) -> usize {
    fn everything(rows: &[usize], columns: usize, taken: u32, fits: Fits<'_>) -> usize {
        let Some((&row, rest)) = rows.split_first() else { return 0 };
        let free = (0..columns).filter(|&column| taken & 1 << column == 0 && fits(row, column));
        let with = free.map(|column| 1 + everything(rest, columns, taken | 1 << column, fits)).max();
        with.unwrap_or(0).max(everything(rest, columns, taken, fits))
    }
    fn augment(row: usize, owner: &mut [Option<usize>], seen: &mut [bool], fits: Fits<'_>) -> bool {
        for column in 0..owner.len() {
            let fresh = fits(row, column) && !std::mem::replace(&mut seen[column], true);
            if fresh && owner[column].is_none_or(|other| augment(other, owner, seen, fits)) {
                owner[column] = Some(row);
                return true;
            }
        }
        false
    }
    if rows.len().max(columns) <= 5 {
        return everything(rows, columns, 0, fits);
    }
    let mut owner = vec![None; columns];
    rows.iter().filter(|&&row| augment(row, &mut owner, &mut vec![false; columns], fits)).count()
}
