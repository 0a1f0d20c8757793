//! What many reports say together: how many passed, the means of their shares, and what fails most.
//!
//! All of it is counted in integers, and what is too much to be told is left out as a whole. So the order in which reports
//! come, and how they were cut into parts whose summaries are merged, make no difference, not in the last bit.

mod groups;

pub use groups::{Group, GroupState, Key, MOST_GROUPS, Summaries};

use std::borrow::Cow;

use foldhash::HashMap;

use crate::{
    options::{DifferenceKind, Verdict},
    report::{Counts, Difference, Part, Report},
};

/// Of more tools and arguments that fail than this, a summary tells none.
pub const MOST_FAILING: usize = 10_000;
/// How much of a name or of a path is kept.
const MOST_CHARACTERS: usize = 200;

/// A share of 1. A share is a float from 0 to 1, and so a multiple of this small part of 1, but for tiny ones.
const ONE: u64 = 1 << 63;

/// Counts over rows, and sums over those that passed or failed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    verdicts: [u64; Verdict::ALL.len()],
    kinds: [u64; DifferenceKind::ALL.len()],
    calls: Counts,
    /// Of precision, recall and F1, in parts of [`ONE`].
    shares: [u128; 3],
    failing: Failing,
}

/// All of a summary, for other processes.
pub type State = (Vec<u64>, Vec<u64>, [u64; 3], [u128; 3], Option<Vec<ToolState>>);
/// A tool, how many rows it failed in, and in how many of these an argument is to blame.
pub type ToolState = (String, u64, Vec<(String, u64)>);

impl Summary {
    pub fn add(&mut self, report: &Report) {
        self.verdicts[report.verdict as usize] += 1;
        if let (Some(_), Some(counts)) = (report.score(), report.counts()) {
            self.calls.add(counts);
            for (sum, share) in self.shares.iter_mut().zip(counts.shares()) {
                *sum += u128::from((share * ONE as f64) as u64);
            }
        }
        if let Some(difference) = &report.difference {
            self.kinds[difference.kind as usize] += 1;
            self.failing.add(difference);
        }
    }

    pub fn merge(&mut self, other: &Summary) {
        // No count of rows gets so large; what another process handed over may be.
        let add = |sums: &mut [u64], counts: &[u64]| {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum = sum.saturating_add(*count));
        };
        add(&mut self.verdicts, &other.verdicts);
        add(&mut self.kinds, &other.kinds);
        self.calls.add(other.calls);
        self.shares.iter_mut().zip(other.shares).for_each(|(sum, share)| *sum = sum.saturating_add(share));
        self.failing.merge(&other.failing);
    }

    /// How many rows have a verdict.
    pub fn count(&self, verdict: Verdict) -> u64 {
        self.verdicts[verdict as usize]
    }

    /// How many failed rows differ first in this way.
    pub fn differing(&self, kind: DifferenceKind) -> u64 {
        self.kinds[kind as usize]
    }

    fn judged(&self) -> u64 {
        self.count(Verdict::Passed).saturating_add(self.count(Verdict::Failed))
    }

    /// The means of precision, recall and F1 over the rows that passed or failed.
    pub fn means(&self) -> Option<[f64; 3]> {
        let judged = self.judged();
        // Whole and rest apart, since a float has no room for a large sum.
        let mean = |sum: u128| {
            let (whole, rest) = (sum / u128::from(judged), sum % u128::from(judged));
            (whole as f64 + rest as f64 / judged as f64) / ONE as f64
        };
        (judged > 0).then(|| self.shares.map(mean))
    }

    /// Precision, recall and F1 of the calls of all rows that passed or failed, as if they were those of one.
    pub fn micro(&self) -> Option<[f64; 3]> {
        (self.judged() > 0).then(|| self.calls.shares())
    }

    /// The tools of the first differences, and in how many rows each is; those that fail most come first. None if there are
    /// too many to tell.
    pub fn failing_tools(&self) -> Option<Vec<(&str, u64)>> {
        let tools = self.failing.tools.as_ref()?;
        let mut all: Vec<(&str, u64)> = tools.iter().map(|(name, tool)| (&**name, tool.rows)).collect();
        all.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        Some(all)
    }

    /// The same of arguments, as the tool and the path of the argument.
    pub fn failing_arguments(&self) -> Option<Vec<((&str, &str), u64)>> {
        let tools = self.failing.tools.as_ref()?;
        let mut all = Vec::new();
        for (name, tool) in tools {
            all.extend(tool.arguments.iter().map(|(path, rows)| ((&**name, &**path), *rows)));
        }
        all.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Some(all)
    }

    pub fn state(&self) -> State {
        let Counts { matched, made, expected } = self.calls;
        let tools = self.failing.tools.as_ref().map(|tools| {
            let mut all: Vec<ToolState> =
                tools.iter().map(|(name, tool)| (name.to_string(), tool.rows, tool.state())).collect();
            all.sort_unstable();
            all
        });
        (self.verdicts.to_vec(), self.kinds.to_vec(), [matched, made, expected], self.shares, tools)
    }

    /// None of what is no state.
    pub fn of_state((verdicts, kinds, [matched, made, expected], shares, tools): State) -> Option<Self> {
        let mut failing = Failing::default();
        if tools.is_none() {
            failing.give_up();
        }
        for (name, rows, arguments) in tools.into_iter().flatten() {
            failing.count(&name, |tool| {
                tool.rows = tool.rows.saturating_add(rows);
                arguments.iter().map(|(path, rows)| tool.count(path, *rows)).sum()
            });
        }
        let (verdicts, kinds) = (verdicts.try_into().ok()?, kinds.try_into().ok()?);
        Some(Summary { verdicts, kinds, calls: Counts { matched, made, expected }, shares, failing })
    }
}

/// The tools that the first differences are about.
#[derive(Clone, Debug, PartialEq)]
struct Failing {
    /// None if they are too many.
    tools: Option<HashMap<Box<str>, Tool>>,
    /// How many tools and arguments there are; where they are too many, one more than there may be.
    entries: usize,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Tool {
    rows: u64,
    arguments: HashMap<Box<str>, u64>,
}

impl Default for Failing {
    fn default() -> Self {
        Failing { tools: Some(HashMap::default()), entries: 0 }
    }
}

impl Failing {
    fn add(&mut self, difference: &Difference) {
        let is_of_arguments = difference.kind == DifferenceKind::Arguments;
        let pointer = difference.texts.get(Part::Pointer).filter(|_| is_of_arguments).map(cut);
        let path = pointer.as_deref().map(any_item);
        let name = cut(difference.texts.get(Part::Name).unwrap_or_default());
        self.count(&name, |tool| {
            tool.rows += 1;
            path.map_or(0, |path| tool.count(&path, 1))
        });
    }

    fn merge(&mut self, other: &Failing) {
        let Some(tools) = &other.tools else { return self.give_up() };
        for (name, more) in tools {
            self.count(name, |tool| {
                tool.rows = tool.rows.saturating_add(more.rows);
                more.arguments.iter().map(|(path, rows)| tool.count(path, *rows)).sum()
            });
        }
    }

    /// Change what is counted of a tool; `change` says how many arguments that are new.
    fn count(&mut self, name: &str, change: impl FnOnce(&mut Tool) -> usize) {
        let Some(tools) = &mut self.tools else { return };
        // Where a part of the rows has too many, all rows have, so it makes no difference when this is seen.
        self.entries += match tools.get_mut(name) {
            Some(tool) => change(tool),
            None => {
                let mut tool = Tool::default();
                let new = change(&mut tool);
                tools.insert(name.into(), tool);
                1 + new
            }
        };
        if self.entries > MOST_FAILING {
            self.give_up();
        }
    }

    fn give_up(&mut self) {
        *self = Failing { tools: None, entries: MOST_FAILING + 1 };
    }
}

impl Tool {
    /// So many more rows in which an argument is to blame; says how many arguments are new.
    fn count(&mut self, path: &str, rows: u64) -> usize {
        match self.arguments.get_mut(path) {
            Some(known) => {
                *known = known.saturating_add(rows);
                0
            }
            None => {
                self.arguments.insert(path.into(), rows);
                1
            }
        }
    }

    fn state(&self) -> Vec<(String, u64)> {
        let mut all: Vec<_> = self.arguments.iter().map(|(path, rows)| (path.to_string(), *rows)).collect();
        all.sort_unstable();
        all
    }
}

/// A JSON pointer in which a place in a list is any: which item it is says nothing of which argument it is.
fn any_item(pointer: &str) -> Cow<'_, str> {
    let is_place = |step: &str| !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit());
    if !pointer.split('/').any(is_place) {
        return Cow::Borrowed(pointer);
    }
    let steps: Vec<&str> = pointer.split('/').map(|step| if is_place(step) { "*" } else { step }).collect();
    Cow::Owned(steps.join("/"))
}

/// The beginning of a long text.
fn cut(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(MOST_CHARACTERS).filter(|_| text.len() > MOST_CHARACTERS) {
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
        None => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Texts;

    /// SplitMix64.
    struct Random(u64);

    impl Random {
        fn below(&mut self, limit: u64) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            (mixed ^ mixed >> 31) % limit
        }
    }

    fn report(verdict: Verdict, matched: u32, made: u32, expected: u32) -> Report {
        let pairs = (0..matched).map(|place| (place, place)).collect();
        Report { verdict, made: Some(made), expected: Some(expected), pairs, ..Report::error("") }
    }

    pub(super) fn failed(kind: DifferenceKind, name: &str, pointer: Option<&str>) -> Report {
        let mut texts = Texts::default();
        let mut write = |part, text: &str| {
            texts.write(part, |out| {
                out.push_str(text);
                true
            })
        };
        write(Part::Name, name);
        pointer.into_iter().for_each(|pointer| write(Part::Pointer, pointer));
        let difference = Difference {
            kind,
            expected_index: None,
            actual_index: None,
            other_index: None,
            called: 0,
            wanted: 0,
            arguments: None,
            texts,
        };
        Report { difference: Some(Box::new(difference)), ..report(Verdict::Failed, 0, 1, 1) }
    }

    pub(super) fn some_reports(count: u64) -> Vec<Report> {
        let mut random = Random(7);
        let one = |_| {
            let expected = random.below(9) as u32;
            let made = random.below(9) as u32;
            let matched = random.below(1 + u64::from(expected.min(made))) as u32;
            match random.below(5) {
                0 => Report::not_applicable(None),
                1 => Report::error("no"),
                2 => failed(DifferenceKind::Missing, &format!("tool {}", random.below(4)), None),
                3 => failed(DifferenceKind::Arguments, "b", Some(&format!("/a/{}/c", random.below(9)))),
                _ => report(Verdict::Passed, matched, made, expected),
            }
        };
        (0..count).map(one).collect()
    }

    pub(super) fn of(reports: &[Report]) -> Summary {
        let mut summary = Summary::default();
        reports.iter().for_each(|report| summary.add(report));
        summary
    }

    #[test]
    fn neither_order_nor_cuts_make_a_difference() {
        let mut reports = some_reports(2000);
        let whole = of(&reports);
        for cut in [1, 7, 1999] {
            let mut sum = Summary::default();
            reports.chunks(cut).map(of).for_each(|part| sum.merge(&part));
            assert_eq!(sum, whole, "{cut}");
        }
        reports.reverse();
        let reversed = of(&reports);
        assert_eq!(reversed.means(), whole.means());
        assert_eq!(reversed.state(), whole.state());
        assert_eq!(Summary::of_state(whole.state()), Some(whole));
    }

    #[test]
    fn means_are_exact_but_for_the_last_rounding() {
        // 1/3 three times, and 2/3 six times: 5/9.
        let mut reports = vec![report(Verdict::Failed, 1, 3, 3); 3];
        reports.extend(vec![report(Verdict::Failed, 2, 3, 3); 6]);
        reports.push(Report::error("of which there are no shares"));
        let close = |share: f64, right: f64| assert!((share - right).abs() <= 2.0 * f64::EPSILON * right, "{share}");
        of(&reports).means().unwrap().iter().for_each(|mean| close(*mean, 5.0 / 9.0));
        of(&reports).micro().unwrap().iter().for_each(|share| close(*share, 15.0 / 27.0));
        let all = vec![report(Verdict::Passed, 2, 2, 2); 1000];
        assert_eq!(of(&all).means(), Some([1.0; 3]));
        // Rows with many calls weigh more in one of the two.
        let uneven = [report(Verdict::Passed, 8, 8, 8), report(Verdict::Failed, 0, 0, 2)];
        assert_eq!(of(&uneven).means(), Some([0.5; 3]));
        assert_eq!(of(&uneven).micro(), Some([1.0, 0.8, 16.0 / 18.0]));
        assert_eq!(of(&[Report::error("no")]).means(), None);
        assert_eq!(of(&[Report::not_reported(1)]).micro(), None);
    }

    #[test]
    fn tools_and_arguments_that_fail_most_come_first() {
        let reports = [
            failed(DifferenceKind::Missing, "b", None),
            failed(DifferenceKind::Arguments, "a", Some("/x/0/y")),
            failed(DifferenceKind::Arguments, "a", Some("/x/12/y")),
            failed(DifferenceKind::Arguments, "c", Some("")),
            failed(DifferenceKind::Arguments, "c", Some("/0x/~1")),
            failed(DifferenceKind::Order, "c", None),
        ];
        let summary = of(&reports);
        assert_eq!(summary.failing_tools(), Some(vec![("c", 3), ("a", 2), ("b", 1)]));
        let arguments = vec![(("a", "/x/*/y"), 2), (("c", ""), 1), (("c", "/0x/~1"), 1)];
        assert_eq!(summary.failing_arguments(), Some(arguments));
        let long = of(&[failed(DifferenceKind::Missing, &"é".repeat(9999), None)]);
        assert_eq!(long.failing_tools().unwrap()[0].0, format!("{}…", "é".repeat(MOST_CHARACTERS)));
    }

    #[test]
    fn of_too_many_tools_none_is_told_whatever_the_order() {
        let many = |count| -> Vec<Report> {
            (0..count).map(|place| failed(DifferenceKind::Missing, &format!("tool {place}"), None)).collect()
        };
        let reports = many(MOST_FAILING + 1);
        assert_eq!(of(&reports[1..]).failing_tools().map(|tools| tools.len()), Some(MOST_FAILING));
        let whole = of(&reports);
        assert_eq!((whole.failing_tools(), whole.failing_arguments()), (None, None));
        assert_eq!(whole.differing(DifferenceKind::Missing), reports.len() as u64);
        for cut in [1, 5000, 10_000] {
            let mut parts: Vec<Summary> = reports.chunks(cut).map(of).collect();
            parts.reverse();
            let mut sum = Summary::default();
            parts.iter().for_each(|part| sum.merge(part));
            assert_eq!(sum, whole, "{cut}");
            sum.merge(&of(&reports[..1]));
            assert_eq!(sum.failing_tools(), None);
        }
        assert_eq!(Summary::of_state(whole.state()), Some(whole));
    }

    #[test]
    fn what_is_no_state_makes_nothing() {
        let (verdicts, kinds, calls, shares, tools) = Summary::default().state();
        assert!(Summary::of_state((vec![0; 4], kinds.clone(), calls, shares, tools.clone())).is_none());
        assert!(Summary::of_state((verdicts, vec![0; 6], calls, shares, tools)).is_none());
    }
}
