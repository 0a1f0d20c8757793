//! What many reports say together: how many passed, the means of their shares, and what fails most.
//!
//! All of it is counted in integers, and what is too much to be told is left out as a whole. So the order in which reports
//! come, and how they were cut into parts whose summaries are merged, make no difference, not in the last bit.

use std::{borrow::Cow, cmp::Ordering, sync::Arc};

use foldhash::{HashMap, HashSet};

use crate::{
    error::Error,
    options::{DifferenceKind, Verdict},
    report::{Counts, Difference, Part, Report},
    show,
    text::Text,
    value::Value,
};

/// Of more tools and arguments that fail than this, a summary tells none.
pub const MOST_FAILING: usize = 10_000;
/// Nor do those of groups, of more than this in all of them.
const MOST_FAILING_IN_GROUPS: usize = 1_000_000;
/// Of more groups than this, or of values that take more bytes, none is told.
pub const MOST_GROUPS: usize = 100_000;
const MOST_BYTES: usize = 64 << 20;
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
        let add = |sums: &mut [u64], counts: &[u64]| sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        add(&mut self.verdicts, &other.verdicts);
        add(&mut self.kinds, &other.kinds);
        self.calls.add(other.calls);
        self.shares.iter_mut().zip(other.shares).for_each(|(sum, share)| *sum += share);
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
        self.count(Verdict::Passed) + self.count(Verdict::Failed)
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
                tool.rows += rows;
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
                tool.rows += more.rows;
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
                *known += rows;
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

/// The value of a row in each of the fields that it is grouped by, as bytes that tell all of them apart: texts as they are,
/// numbers and all else as JSON text, and null.
#[derive(Clone, Debug, Default)]
pub struct Key(Vec<u8>);

impl Key {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn push(&mut self, value: Value<'_>) {
        match value {
            Value::Null => self.0.push(0),
            Value::Text(Text::Utf8(text)) if std::str::from_utf8(text).is_ok() => self.push_text(text),
            Value::Text(text) => self.push_text(show::storable(text).as_bytes()),
            other => {
                let mut json = String::new();
                show::write_json(other, &mut json);
                self.push_text(json.as_bytes());
            }
        }
    }

    fn push_text(&mut self, text: &[u8]) {
        self.0.push(1);
        self.0.extend_from_slice(&(text.len() as u64).to_le_bytes());
        self.0.extend_from_slice(text);
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<Key> for Box<[u8]> {
    fn from(key: Key) -> Self {
        key.0.into()
    }
}

/// The values of a key.
fn values(mut key: &[u8]) -> Vec<Option<&str>> {
    let mut values = Vec::new();
    while let Some((tag, rest)) = key.split_first() {
        key = rest;
        if *tag == 0 {
            values.push(None);
        } else if let Some((length, rest)) = key.split_first_chunk() {
            let (text, rest) = rest.split_at_checked(u64::from_le_bytes(*length) as usize).unwrap_or_default();
            values.push(Some(std::str::from_utf8(text).unwrap_or_default()));
            key = rest;
        }
    }
    values
}

/// Nulls come first, then numbers by their size, then all other texts.
fn compare(a: &[Option<&str>], b: &[Option<&str>]) -> Ordering {
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| !number.is_nan());
    let rank = |value: Option<&str>| (value.is_some(), value.is_some_and(|text| number(text).is_none()));
    let each = a.iter().zip(b).map(|(a, b)| {
        let by_size = match (a.and_then(number), b.and_then(number)) {
            (Some(a), Some(b)) => a.total_cmp(&b),
            _ => Ordering::Equal,
        };
        rank(*a).cmp(&rank(*b)).then(by_size).then(a.cmp(b))
    });
    each.fold(Ordering::Equal, Ordering::then)
}

/// A summary of all rows, and one of each group of them.
#[derive(Clone, Debug)]
pub struct Summaries {
    by: Arc<[String]>,
    total: Summary,
    groups: HashMap<Box<[u8]>, Summary>,
    /// What the keys take.
    bytes: usize,
    /// How many tools and arguments all groups have.
    failing: usize,
    /// Whether those of groups are too many to tell.
    many_failing: bool,
    /// Why there are no groups to tell, if there are none.
    refused: Option<String>,
}

/// The values of a group, and its summary.
pub type Group<'s> = (Vec<Option<&'s str>>, &'s Summary);

/// All of some summaries, for other processes.
pub type GroupState = (Vec<String>, State, Vec<(Vec<Option<String>>, State)>, bool, Option<String>);

impl Summaries {
    /// Of rows that are grouped by the values of fields. If there are none, only all rows together are summed up.
    pub fn new(by: Arc<[String]>) -> Self {
        Summaries {
            by,
            total: Summary::default(),
            groups: HashMap::default(),
            bytes: 0,
            failing: 0,
            many_failing: false,
            refused: None,
        }
    }

    pub fn by(&self) -> &Arc<[String]> {
        &self.by
    }

    pub fn total(&self) -> &Summary {
        &self.total
    }

    /// `key`: the values of the row in the fields.
    pub fn add(&mut self, key: &[u8], report: &Report) {
        self.total.add(report);
        self.change(key, |group| group.add(report));
    }

    /// Says whether these are of rows that are grouped by the same fields.
    pub fn merge(&mut self, other: &Summaries) -> bool {
        if self.by != other.by {
            return false;
        }
        self.total.merge(&other.total);
        if other.many_failing {
            self.leave_out_failing();
        }
        if let Some(why) = &other.refused {
            self.refuse(why.clone());
        }
        for (key, summary) in &other.groups {
            self.change(key, |group| group.merge(summary));
        }
        true
    }

    /// The same rows, grouped by some of the fields; None if they are not grouped by one of these.
    pub fn by_fields(&self, fields: &[String]) -> Option<Summaries> {
        let places: Option<Vec<usize>> =
            fields.iter().map(|field| self.by.iter().position(|known| known == field)).collect();
        let places = places?;
        let mut larger = Summaries::new(fields.into());
        (larger.total, larger.many_failing, larger.refused) =
            (self.total.clone(), self.many_failing, self.refused.clone());
        let mut key = Key::default();
        for (small, summary) in &self.groups {
            let values = values(small);
            key.clear();
            for place in &places {
                key.push(values.get(*place).copied().flatten().map_or(Value::Null, |text| Value::Text(text.into())));
            }
            larger.change(key.as_bytes(), |group| group.merge(summary));
        }
        Some(larger)
    }

    fn change(&mut self, key: &[u8], change: impl FnOnce(&mut Summary)) {
        if self.by.is_empty() || self.refused.is_some() {
            return;
        }
        let change = |group: &mut Summary| {
            if self.many_failing {
                group.failing.give_up();
            }
            let before = group.failing.entries;
            change(group);
            self.failing += group.failing.entries.saturating_sub(before);
        };
        match self.groups.get_mut(key) {
            Some(group) => change(group),
            None => {
                let mut group = Summary::default();
                change(&mut group);
                self.groups.insert(key.into(), group);
                self.bytes += key.len();
            }
        }
        if self.failing > MOST_FAILING_IN_GROUPS {
            self.leave_out_failing();
        }
        if self.groups.len() > MOST_GROUPS || self.bytes > MOST_BYTES {
            let widest = self.by.get(self.widest()).map_or("", String::as_str);
            let most = "at most 100,000 groups are kept, and 64 MiB of their values";
            self.refuse(format!("group by {}: too many different values; {most}", show::in_a_sentence(widest)));
        }
    }

    fn leave_out_failing(&mut self) {
        (self.many_failing, self.failing) = (true, 0);
        self.groups.values_mut().for_each(|group| group.failing.give_up());
    }

    /// Keep no groups, and say why when they are asked for.
    pub fn refuse(&mut self, why: String) {
        // Of several reasons one is told, and always the same.
        self.refused = Some(self.refused.take().map_or(why.clone(), |known| known.min(why)));
        (self.groups, self.bytes, self.failing) = (HashMap::default(), 0, 0);
    }

    /// The field with the most values.
    fn widest(&self) -> usize {
        let mut distinct: Vec<HashSet<Option<&str>>> = self.by.iter().map(|_| HashSet::default()).collect();
        for key in self.groups.keys() {
            distinct.iter_mut().zip(values(key)).for_each(|(known, value)| {
                known.insert(value);
            });
        }
        let counts = distinct.iter().map(HashSet::len).enumerate();
        counts.max_by_key(|(place, count)| (*count, usize::MAX - place)).map_or(0, |(place, _)| place)
    }

    /// The values of each group, and its summary, in the order of the values.
    pub fn groups(&self) -> Result<Vec<Group<'_>>, Error> {
        if let Some(why) = &self.refused {
            return Err(Error::value(why));
        }
        let mut groups: Vec<_> = self.groups.iter().map(|(key, summary)| (values(key), summary)).collect();
        groups.sort_unstable_by(|a, b| compare(&a.0, &b.0));
        Ok(groups)
    }

    pub fn state(&self) -> GroupState {
        let owned = |values: Vec<Option<&str>>| values.into_iter().map(|value| value.map(str::to_owned)).collect();
        let groups = self.groups().unwrap_or_default();
        let groups = groups.into_iter().map(|(values, summary)| (owned(values), summary.state())).collect();
        (self.by.to_vec(), self.total.state(), groups, self.many_failing, self.refused.clone())
    }

    /// None of what is no state.
    pub fn of_state((by, total, groups, many_failing, refused): GroupState) -> Option<Self> {
        let mut all = Summaries::new(by.into());
        (all.total, all.many_failing, all.refused) = (Summary::of_state(total)?, many_failing, refused);
        let mut key = Key::default();
        for (values, state) in groups {
            let summary = Summary::of_state(state)?;
            if values.len() != all.by.len() {
                return None;
            }
            key.clear();
            values
                .iter()
                .for_each(|value| key.push(value.as_deref().map_or(Value::Null, |text| Value::Text(text.into()))));
            all.change(key.as_bytes(), |group| *group = summary);
        }
        Some(all)
    }
}
