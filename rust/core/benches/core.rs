//! Micro-benchmarks of the core: `cargo bench -p callmatch-core`. What a user sees is measured in `benches/`.

#![allow(clippy::unwrap_used)]

use std::{fmt::Write, hint::black_box};

use bumpalo::Bump;
use callmatch_core::{
    call::{Arguments, Call, ExpectedCall, Reader},
    compare,
    expected::Expectation,
    json,
    matching::Scratch,
    options::{ArgumentMode, MatchMode, Names, Options, Verdict},
    value::MAX_DEPTH,
};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const PARTIAL: ArgumentMode = ArgumentMode::Partial;
const EXACT: ArgumentMode = ArgumentMode::Exact;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % limit as u64) as usize
    }

    fn phrase(&mut self, words: usize) -> String {
        const WORDS: [&str; 8] = ["order", "refund", "café", "\\\"quoted\\\"", "berlin", "review", "of", "invoice"];
        let words: Vec<&str> = (0..words).map(|_| WORDS[self.below(WORDS.len())]).collect();
        words.join(" ")
    }

    /// A list of calls as JSON text, about 550 bytes each.
    fn calls(&mut self, count: usize) -> String {
        let calls: Vec<String> = (0..count)
            .map(|_| {
                format!(
                    r#"{{"name": "tool_{}", "arguments": {{"query": "{}", "limit": {}, "ratio": {}.5, "all": true, "body": "{}",
                    "ids": [{}, {}, 7], "filters": {{"status": "open", "since": null, "tags": ["{}"]}}}}}}"#,
                    self.below(40),
                    self.phrase(4),
                    self.below(100),
                    self.below(1000),
                    self.phrase(50),
                    self.below(1000),
                    self.below(1000),
                    self.phrase(1),
                )
            })
            .collect();
        format!("[{}]", calls.join(", "))
    }
}

fn read<'a>(text: &'a str, bump: &'a Bump) -> (&'a [Call<'a>], &'a [ExpectedCall<'a>]) {
    let (value, reader) = Reader::parse(text.as_bytes(), bump).unwrap();
    (reader.calls(value).unwrap().unwrap(), reader.expected(value).unwrap().unwrap())
}

fn parsing(criterion: &mut Criterion) {
    let mut random = Random(1);
    let record = format!(r#"{{"id": 1, "actual": {}, "expected": {}}}"#, random.calls(5), random.calls(5));
    let mut group = criterion.benchmark_group("parse");
    group.throughput(Throughput::Bytes(record.len() as u64));
    let mut bump = Bump::new();
    group.bench_function("record", |bencher| {
        bencher.iter(|| {
            bump.reset();
            json::parse(black_box(record.as_bytes()), MAX_DEPTH, &bump).is_ok()
        });
    });
    group.finish();
}

fn comparing(criterion: &mut Criterion) {
    let bump = Bump::new();
    let text = Random(2).calls(1);
    let again = text.clone();
    let (actual, expected) = (read(&text, &bump).0, read(&again, &bump).1);
    let (Arguments::Object(actual), Some(expected)) = (actual[0].arguments, expected[0].arguments) else { return };
    let reversed: Vec<_> = expected.iter().rev().copied().collect();
    for (name, expected) in [("same keys", expected), ("keys in another order", &reversed)] {
        assert!(compare::arguments_match(actual, expected, EXACT));
        criterion.bench_function(&format!("compare/{name}"), |bencher| {
            bencher.iter(|| compare::arguments_match(black_box(actual), black_box(expected), EXACT));
        });
    }
}

fn checking(criterion: &mut Criterion) {
    let bump = Bump::new();
    let mut random = Random(3);
    let text = random.calls(5);
    let more = format!("{}, {}", text.trim_end_matches(']'), random.calls(1).trim_start_matches('['));
    let (expected, made) = (read(&text, &bump).1, read(&more, &bump).0);
    let mut group = criterion.benchmark_group("check, 5 expected, 6 made");
    for &match_mode in MatchMode::ALL {
        let options = Options { match_mode, arguments: PARTIAL, names: Names::Exact };
        let expectation = Expectation::compile(options, expected, &bump);
        let mut scratch = Scratch::default();
        let passes = matches!(match_mode, MatchMode::InOrder | MatchMode::Superset);
        assert_eq!(expectation.check(made, &mut scratch).verdict == Verdict::Passed, passes);
        group.bench_function(match_mode.word(), |bencher| {
            bencher.iter(|| expectation.check(black_box(made), &mut scratch));
        });
    }
    group.finish();
}

/// Many calls of one tool, made in the reverse order.
fn pairing(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pair");
    group.sample_size(20);
    for count in [1_000, 10_000] {
        let calls = |numbers: &mut dyn Iterator<Item = usize>| {
            let mut text = String::from("[");
            for number in numbers {
                let comma = if text.len() > 1 { "," } else { "" };
                let arguments = format!(r#"{{"id": {number}, "page": {}, "note": "number {number}"}}"#, number % 3);
                write!(text, r#"{comma}{{"name": "get", "arguments": {arguments}}}"#).unwrap();
            }
            text + "]"
        };
        let (wanted, made) = (calls(&mut (0..count)), calls(&mut (0..count).rev()));
        let bump = Bump::new();
        let (expected, actual) = (read(&wanted, &bump).1, read(&made, &bump).0);
        for arguments in [PARTIAL, EXACT] {
            let options = Options { match_mode: MatchMode::AnyOrder, arguments, names: Names::Exact };
            let report = Expectation::compile(options, expected, &bump).check(actual, &mut Scratch::default());
            let right = |(pair, &(left, right)): (u32, &(u32, u32))| left == pair && right == count as u32 - 1 - pair;
            assert!(report.pairs.len() == count && (0..).zip(&report.pairs).all(right));
            group.bench_function(BenchmarkId::new(arguments.word(), count), |bencher| {
                let expectation = Expectation::compile(options, expected, &bump);
                bencher.iter_batched_ref(
                    Scratch::default,
                    |scratch| expectation.check(black_box(actual), scratch),
                    BatchSize::LargeInput,
                );
            });
        }
    }
    group.finish();
}

criterion_group!(benches, parsing, comparing, checking, pairing);
criterion_main!(benches);
