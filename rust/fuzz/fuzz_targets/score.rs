//! Any two texts get an answer that makes sense, or an error; never a panic.

#![no_main]

use std::cell::RefCell;

use callmatch_core::{
    options::{ArgumentMode, MatchMode, Names, Options, Verdict},
    reason,
    report::Report,
    score::{Side, Worker},
};
use libfuzzer_sys::fuzz_target;

thread_local! {
    /// What was scored before must not matter.
    static USED: RefCell<Worker> = RefCell::default();
}

// The two texts have a zero byte between them, which no JSON text holds.
fuzz_target!(|bytes: &[u8]| {
    let mut parts = bytes.splitn(2, |&byte| byte == 0);
    let (actual, expected) = (parts.next(), parts.next());
    for &match_mode in MatchMode::ALL {
        for &arguments in ArgumentMode::ALL {
            let options = Options { match_mode, arguments, names: Names::Exact };
            let fresh = answer(&mut Worker::default(), options, actual, expected);
            let used = USED.with_borrow_mut(|worker| answer(worker, options, actual, expected));
            assert_eq!(fresh, used);
        }
    }
});

fn answer(
    worker: &mut Worker,
    options: Options,
    actual: Option<&[u8]>,
    expected: Option<&[u8]>,
) -> Result<String, String> {
    let report = worker.score_texts(options, actual, expected).map_err(|(side, error)| {
        assert!(side == Side::Actual || expected.is_some());
        error.to_string()
    })?;
    let sentence = reason::sentence(&report, options.match_mode);
    check(&report);
    assert!(!sentence.is_empty() && !sentence.contains(|character: char| character.is_control()), "{sentence:?}");
    Ok(format!("{sentence} {report:?}"))
}

fn check(report: &Report) {
    assert_eq!(report.difference.is_some(), report.verdict == Verdict::Failed);
    assert!(report.error.is_none() && report.verdict != Verdict::Error);
    let Some(counts) = report.counts() else {
        assert!(report.pairs.is_empty() && report.score().is_none());
        return;
    };
    assert_eq!(report.missing().len(), (counts.expected - counts.matched) as usize);
    assert_eq!(report.unexpected().len(), (counts.made - counts.matched) as usize);
    for share in [counts.precision(), counts.recall(), counts.f1()] {
        assert!((0.0..=1.0).contains(&share));
    }
}
