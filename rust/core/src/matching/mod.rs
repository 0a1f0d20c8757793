//! Holding the calls made against those expected: the verdict by match mode, a largest pairing, the first difference.
//!
//! Everything here works on a *fit* between an expected call and a made one, never on equality, and names calls by
//! their places. `order` decides the modes that look at positions, `pairing` finds a largest one-to-one pairing, and
//! `difference` says which call differs first.

mod difference;
mod order;
mod pairing;

use crate::{
    call::{Arguments, Call},
    expected::{Expectation, Fit, NO_TOOL},
    options::{MatchMode, Verdict},
    report::Report,
};

use pairing::Pairing;

/// Room that is used again from check to check.
#[derive(Default)]
pub struct Scratch {
    /// For each made call, the number of its tool in the expectation.
    tools: Vec<u32>,
    /// What is known of fits so far, for small lists: `expected × actual`, 0 for not known yet.
    fits: Vec<u8>,
    pairing: Pairing,
    /// The same with unknown fits taken for fitting.
    possible: Pairing,
    search: pairing::Scratch,
}

/// One expectation and one trace.
pub(crate) struct Check<'c, 'a> {
    expectation: &'c Expectation<'a>,
    actual: &'c [Call<'a>],
    tools: &'c [u32],
    fits: &'c mut [u8],
    /// A made call whose unknown fits are taken for none even where others are not.
    doubted: Option<usize>,
}

/// Remember fits where there are at most so many; finding out again costs less than much memory.
const MOST_REMEMBERED: usize = 4096;

/// Of how many calls it is worked out whether the answer depends on them.
const MOST_DOUBTED: usize = 16;

impl Check<'_, '_> {
    fn fit(&mut self, expected: usize, actual: usize) -> Fit {
        match self.recorded_fit(expected, actual) {
            Fit::Unknown if self.doubted == Some(actual) => Fit::No,
            fit => fit,
        }
    }

    fn recorded_fit(&mut self, expected: usize, actual: usize) -> Fit {
        if self.expectation.tools[expected] != self.tools[actual] {
            return Fit::No;
        }
        let place = expected * self.actual.len() + actual;
        match self.fits.get(place) {
            Some(1) => Fit::No,
            Some(2) => Fit::Yes,
            Some(3) => Fit::Unknown,
            known => {
                let remember = known.is_some();
                let fit = self.expectation.fit(expected, &self.actual[actual]);
                if remember {
                    self.fits[place] = 1 + fit as u8;
                }
                fit
            }
        }
    }

    /// With calls whose arguments weren't recorded taken for fitting, or not.
    fn fits(&mut self, expected: usize, actual: usize, unknown: bool) -> bool {
        match self.fit(expected, actual) {
            Fit::Yes => true,
            Fit::No => false,
            Fit::Unknown => unknown,
        }
    }

    /// The made calls without recorded arguments of which some expected call demands any.
    fn unknown(&self) -> Vec<usize> {
        let unrecorded = |call: &Call<'_>| matches!(call.arguments, Arguments::NotRecorded);
        let Some(first) = self.actual.iter().find(|call| unrecorded(call)) else { return Vec::new() };
        let mut demanding = vec![false; self.expectation.names.len()];
        for (expected, &tool) in self.expectation.tools.iter().enumerate() {
            demanding[tool as usize] |= self.expectation.fit(expected, first) == Fit::Unknown;
        }
        let matters = |tool: u32| tool != NO_TOOL && demanding[tool as usize];
        (0..self.actual.len())
            .filter(|&actual| unrecorded(&self.actual[actual]) && matters(self.tools[actual]))
            .collect()
    }
}

pub(crate) fn check<'a>(expectation: &Expectation<'a>, actual: &[Call<'a>], scratch: &mut Scratch) -> Report {
    scratch.tools.clear();
    scratch.tools.extend(actual.iter().map(|call| expectation.tool(call.name)));
    scratch.fits.clear();
    let all = expectation.calls.len().saturating_mul(actual.len());
    scratch.fits.resize(if all <= MOST_REMEMBERED { all } else { 0 }, 0);
    let Scratch { tools, fits, pairing, possible, search } = scratch;
    let mut check = Check { expectation, actual, tools, fits, doubted: None };

    pairing::largest(&mut check, false, pairing, search);
    let mut report = Report {
        verdict: Verdict::Passed,
        made: Some(actual.len() as u32),
        expected: Some(expectation.calls.len() as u32),
        pairs: pairing.pairs(),
        difference: None,
        unrecorded: None,
        error: None,
    };
    if !passes(&mut check, pairing, false) {
        // Fits are monotonic: if the unknown ones all fit and it still fails, no answer in between passes.
        let unknown = check.unknown();
        let mut could_pass = |check: &mut Check<'_, '_>, doubted| {
            check.doubted = doubted;
            pairing::largest(check, true, possible, search);
            let could_pass = passes(check, possible, true);
            check.doubted = None;
            could_pass
        };
        if !unknown.is_empty() && could_pass(&mut check, None) {
            // The first call without which it can't pass; where any of several would do, the first of them.
            let mut tried = unknown.iter().copied().take(MOST_DOUBTED);
            let decides = tried.find(|&call| !could_pass(&mut check, Some(call))).unwrap_or(unknown[0]);
            report.verdict = Verdict::Inconclusive;
            report.unrecorded = Some(Box::new((decides as u32, crate::show::storable(actual[decides].name))));
        } else {
            report.verdict = Verdict::Failed;
            report.difference = Some(Box::new(difference::first(&mut check, pairing)));
        }
    }
    report
}

/// Do the calls line up? `pairing` is a largest one, under the same view of what is unknown.
fn passes(check: &mut Check<'_, '_>, pairing: &Pairing, unknown: bool) -> bool {
    let (expected, made) = (check.expectation.calls.len(), check.actual.len());
    if expected == 0 {
        return made == 0;
    }
    let matched = pairing.matched();
    match check.expectation.options.match_mode {
        MatchMode::Exact => expected == made && order::first_misfit(check, unknown).is_none(),
        // Cheaper to see: what can't be paired at all can't be paired in order.
        MatchMode::InOrder => matched == expected && order::subsequence(check, unknown).failed.is_none(),
        MatchMode::AnyOrder => matched == expected && matched == made,
        MatchMode::Subset => matched == made,
        MatchMode::Superset => matched == expected,
    }
}
