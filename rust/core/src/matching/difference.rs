//! The first call that differs (SPEC, section 5).

use super::{Check, Pairing, order};
use crate::{
    call::Arguments,
    compare::{self, Mismatch, Step},
    options::{DifferenceKind, MatchMode},
    report::{ArgumentDifference, Compared, Difference, Part, Texts},
    show,
    text::Text,
    value::Value,
};

/// Of a check that fails with unknown fits taken for none.
pub fn first(check: &mut Check<'_, '_>, pairing: &Pairing) -> Difference {
    if check.expectation.calls.is_empty() {
        return check.unexpected(0);
    }
    match check.expectation.options.match_mode {
        MatchMode::Exact => by_position(check),
        MatchMode::InOrder => in_order(check),
        MatchMode::AnyOrder | MatchMode::Superset => match pairing.first_missing() {
            Some(expected) => match pairing.first_left_over(check.tools, check.expectation.tools[expected]) {
                Some(actual) => Difference { actual_index: None, ..check.arguments(expected, actual) },
                None => check.missing(expected),
            },
            None => check.unexpected(pairing.first_unexpected().unwrap_or(0)),
        },
        MatchMode::Subset => {
            let actual = pairing.first_unexpected().unwrap_or(0);
            match pairing.first_lacking(check.expectation.tools, check.tools[actual]) {
                Some(expected) => Difference { expected_index: None, ..check.arguments(expected, actual) },
                None => check.unexpected(actual),
            }
        }
    }
}

fn by_position(check: &mut Check<'_, '_>) -> Difference {
    let (expected, made) = (check.expectation.calls.len(), check.actual.len());
    match order::first_misfit(check, false) {
        Some(place) if check.expectation.tools[place] == check.tools[place] => check.arguments(place, place),
        Some(place) => Difference {
            actual_index: Some(place as u32),
            ..check.about_expected(DifferenceKind::Name, place, Some(place))
        },
        None if made < expected => check.missing(made),
        None => check.unexpected(expected),
    }
}

fn in_order(check: &mut Check<'_, '_>) -> Difference {
    let order::Subsequence { used, failed } = order::subsequence(check, false);
    let expected = failed.unwrap_or(0);
    let after = used.last().map_or(0, |last| last + 1);
    let mut is_used = vec![false; after];
    for &actual in &used {
        is_used[actual] = true;
    }
    let earlier: Vec<usize> = (0..after).filter(|&actual| !is_used[actual]).collect();
    if let Some(&actual) = earlier.iter().find(|&&actual| check.fits(expected, actual, false)) {
        return Difference {
            actual_index: Some(actual as u32),
            ..check.about_expected(DifferenceKind::Order, expected, used.last().copied())
        };
    }
    let tool = check.expectation.tools[expected];
    match (after..check.actual.len()).chain(earlier).find(|&actual| check.tools[actual] == tool) {
        Some(actual) => check.arguments(expected, actual),
        None => check.missing(expected),
    }
}

impl Check<'_, '_> {
    fn missing(&self, expected: usize) -> Difference {
        self.about_expected(DifferenceKind::Missing, expected, None)
    }

    /// `other`: a made call of another tool that has to do with it.
    fn about_expected(&self, kind: DifferenceKind, expected: usize, other: Option<usize>) -> Difference {
        let tool = self.expectation.tools[expected];
        let mut texts = named(self.expectation.calls[expected].name);
        if let Some(other) = other {
            texts.write(Part::Other, |out| write_name(self.actual[other].name, out));
        }
        Difference {
            kind,
            expected_index: Some(expected as u32),
            actual_index: None,
            other_index: other.map(|other| other as u32),
            called: count(self.tools, tool),
            wanted: count(self.expectation.tools, tool),
            arguments: None,
            texts,
        }
    }

    fn unexpected(&self, actual: usize) -> Difference {
        let (recorded, tool) = (self.actual[actual].name, self.tools[actual]);
        // A tool that is expected may have been called by several names, and is told by the one that is expected.
        let (name, called) = match self.expectation.names.get(tool as usize) {
            Some(&name) => (name, count(self.tools, tool)),
            None => (recorded, self.actual.iter().filter(|call| call.name == recorded).count() as u32),
        };
        Difference {
            kind: DifferenceKind::Unexpected,
            expected_index: None,
            actual_index: Some(actual as u32),
            other_index: None,
            called,
            wanted: count(self.expectation.tools, tool),
            arguments: None,
            texts: named(name),
        }
    }

    /// Calls of the same tool whose arguments don't match.
    fn arguments(&self, expected: usize, actual: usize) -> Difference {
        let listed = self.expectation.calls[expected].arguments.unwrap_or_default();
        let (state, mismatch) = match self.actual[actual].arguments {
            Arguments::Object(members) => {
                (Compared::Read, compare::first_mismatch(members, listed, self.expectation.options.arguments))
            }
            Arguments::NotRecorded => (Compared::NotRecorded, None),
            Arguments::Unreadable => (Compared::Unreadable, None),
        };
        // Where there is nothing to compare with, all of it differs.
        let mismatch =
            mismatch.unwrap_or(Mismatch { pointer: Vec::new(), actual: None, expected: Some(Value::Object(listed)) });
        let mut difference = self.about_expected(DifferenceKind::Arguments, expected, None);
        difference.actual_index = Some(actual as u32);
        difference.arguments = Some(ArgumentDifference { compared: actual as u32, state });
        let texts = &mut difference.texts;
        texts.write(Part::Pointer, |out| {
            for step in &mismatch.pointer {
                out.push('/');
                match step {
                    Step::Index(index) => out.push_str(&index.to_string()),
                    Step::Key(key) => out.push_str(&show::storable(*key).replace('~', "~0").replace('/', "~1")),
                }
            }
            true
        });
        for (part, value) in [(Part::Actual, mismatch.actual), (Part::Expected, mismatch.expected)] {
            if let Some(value) = value {
                texts.write(part, |out| show::value(value, out));
            }
        }
        difference
    }
}

fn named(name: Text<'_>) -> Texts {
    let mut texts = Texts::default();
    texts.write(Part::Name, |out| write_name(name, out));
    texts
}

fn write_name(name: Text<'_>, out: &mut String) -> bool {
    show::write_storable(name, out);
    true
}

fn count(tools: &[u32], tool: u32) -> u32 {
    tools.iter().filter(|&&other| other == tool).count() as u32
}
