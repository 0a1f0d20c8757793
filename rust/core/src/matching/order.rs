//! The modes that look at positions.

use super::Check;

/// `exact`: the first position at which the made call doesn't fit the expected one, of those that both sides have.
pub fn first_misfit(check: &mut Check<'_, '_>, unknown: bool) -> Option<usize> {
    let both = check.expectation.calls.len().min(check.actual.len());
    (0..both).find(|&place| !check.fits(place, place, unknown))
}

/// How far the expected calls go as a subsequence of the calls made.
pub struct Subsequence {
    /// The made call used for each expected one, ascending.
    pub used: Vec<usize>,
    /// The first expected call that nothing after the last one used fits.
    pub failed: Option<usize>,
}

/// `in_order`: taking the earliest fitting call each time finds a subsequence if there is one.
pub fn subsequence(check: &mut Check<'_, '_>, unknown: bool) -> Subsequence {
    let mut used = Vec::with_capacity(check.expectation.calls.len());
    let mut next = 0;
    for expected in 0..check.expectation.calls.len() {
        match (next..check.actual.len()).find(|&actual| check.fits(expected, actual, unknown)) {
            Some(actual) => {
                used.push(actual);
                next = actual + 1;
            }
            None => return Subsequence { used, failed: Some(expected) },
        }
    }
    Subsequence { used, failed: None }
}
