//! What a check found, as data. `reason.rs` makes a sentence of it.

use crate::{
    options::{DifferenceKind, Verdict},
    show::Shown,
};

/// The answer for one trace, free of everything it was read from.
#[derive(Clone, Debug)]
pub struct Report {
    pub verdict: Verdict,
    /// How many calls were made; None where they weren't reported.
    pub made: Option<u32>,
    /// How many were expected; None without an expectation.
    pub expected: Option<u32>,
    /// A largest one-to-one pairing, as (expected, actual), ascending by the expected call. Whatever the match mode.
    pub pairs: Box<[(u32, u32)]>,
    pub difference: Option<Box<Difference>>,
    /// Where the verdict is inconclusive: a call whose arguments weren't recorded, with its name.
    pub unrecorded: Option<Box<(u32, String)>>,
    /// Where the verdict is an error.
    pub error: Option<Box<str>>,
}

/// The first call that differs.
#[derive(Clone, Debug)]
pub struct Difference {
    pub kind: DifferenceKind,
    pub expected_index: Option<u32>,
    pub actual_index: Option<u32>,
    /// `name`: the call that was made instead. `order`: the call that was made after it.
    pub other_index: Option<u32>,
    /// How often the tool was called, and how often that was expected.
    pub called: u32,
    pub wanted: u32,
    pub arguments: Option<ArgumentDifference>,
    pub texts: Texts,
}

#[derive(Clone, Copy, Debug)]
pub struct ArgumentDifference {
    /// The call that was compared. Where calls are paired in any order this is the first that was left over.
    pub compared: u32,
    pub state: Compared,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    Read,
    NotRecorded,
    Unreadable,
}

/// The texts of a difference, in one piece of memory: a file has a lot of them.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    all: String,
    ends: [u32; 5],
    /// Which of them there are.
    present: [bool; 5],
    /// Whether the shown values are whole.
    whole: [bool; 5],
}

#[derive(Clone, Copy)]
pub enum Part {
    /// The tool of the call.
    Name,
    /// The tool of the other call.
    Other,
    /// JSON pointer of the first place of the arguments that differs.
    Pointer,
    /// What was there, and what should have been.
    Actual,
    Expected,
}

impl Texts {
    /// Parts are written in the order in which they are declared. `write` says whether it wrote the whole.
    pub fn write(&mut self, part: Part, write: impl FnOnce(&mut String) -> bool) {
        if self.all.is_empty() {
            self.all.reserve(96);
        }
        let whole = write(&mut self.all);
        self.ends[part as usize..].fill(self.all.len() as u32);
        self.present[part as usize] = true;
        self.whole[part as usize] = whole;
    }

    pub fn get(&self, part: Part) -> Option<&str> {
        let part = part as usize;
        let start = if part == 0 { 0 } else { self.ends[part - 1] };
        self.present[part].then(|| &self.all[start as usize..self.ends[part] as usize])
    }

    pub fn value(&self, part: Part) -> Option<Shown<'_>> {
        Some(Shown { json: self.get(part)?, whole: self.whole[part as usize] })
    }
}

impl Report {
    fn without_counts(verdict: Verdict) -> Self {
        Report {
            verdict,
            made: None,
            expected: None,
            pairs: Box::default(),
            difference: None,
            unrecorded: None,
            error: None,
        }
    }

    /// There is nothing to hold the calls against.
    pub fn not_applicable(made: Option<usize>) -> Self {
        Report { made: made.map(|made| made as u32), ..Report::without_counts(Verdict::NotApplicable) }
    }

    /// The calls weren't reported.
    pub fn not_reported(expected: usize) -> Self {
        Report { expected: Some(expected as u32), ..Report::without_counts(Verdict::Inconclusive) }
    }

    pub fn error(message: impl Into<Box<str>>) -> Self {
        Report { error: Some(message.into()), ..Report::without_counts(Verdict::Error) }
    }

    pub fn counts(&self) -> Option<Counts> {
        Some(Counts { matched: self.pairs.len() as u64, made: self.made?.into(), expected: self.expected?.into() })
    }

    pub fn score(&self) -> Option<f64> {
        match self.verdict {
            Verdict::Passed => Some(1.0),
            Verdict::Failed => Some(0.0),
            Verdict::Inconclusive | Verdict::NotApplicable | Verdict::Error => None,
        }
    }

    /// The expected calls without a partner.
    pub fn missing(&self) -> Vec<u32> {
        left_over(self.counts().map_or(0, |counts| counts.expected as usize), self.pairs.iter().map(|pair| pair.0))
    }

    /// The calls made without a partner.
    pub fn unexpected(&self) -> Vec<u32> {
        left_over(self.counts().map_or(0, |counts| counts.made as usize), self.pairs.iter().map(|pair| pair.1))
    }
}

fn left_over(of: usize, paired: impl ExactSizeIterator<Item = u32>) -> Vec<u32> {
    if paired.len() == of {
        return Vec::new();
    }
    let mut is_paired = vec![false; of];
    for place in paired {
        is_paired[place as usize] = true;
    }
    (0..of as u32).filter(|&place| !is_paired[place as usize]).collect()
}

/// Of the calls of one trace, or of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The size of a largest one-to-one pairing.
    pub matched: u64,
    pub made: u64,
    pub expected: u64,
}

impl Counts {
    pub fn add(&mut self, other: Counts) {
        self.matched = self.matched.saturating_add(other.matched);
        self.made = self.made.saturating_add(other.made);
        self.expected = self.expected.saturating_add(other.expected);
    }

    /// The share of the calls made that were expected.
    pub fn precision(self) -> f64 {
        self.share(self.made)
    }

    /// The share of the expected calls that were made.
    pub fn recall(self) -> f64 {
        self.share(self.expected)
    }

    /// The harmonic mean of both.
    pub fn f1(self) -> f64 {
        if self.made == 0 && self.expected == 0 {
            1.0
        } else {
            2.0 * self.matched as f64 / (self.made as f64 + self.expected as f64)
        }
    }

    /// Precision, recall and F1.
    pub fn shares(self) -> [f64; 3] {
        [self.precision(), self.recall(), self.f1()]
    }

    /// Nothing made and nothing expected is all right; nothing on one side alone is all wrong.
    fn share(self, of: u64) -> f64 {
        match (self.made, self.expected) {
            (0, 0) => 1.0,
            (0, _) | (_, 0) => 0.0,
            _ => self.matched as f64 / of as f64,
        }
    }
}
