//! Values that a text worked out: of other values that it tells, or of those of a list.
//!
//! Whatever is looked at is a set that only grows with more data: pairs of values that are told and backed, differences
//! within a column. Where the answer would depend on a column being whole (an average, a total, a count) and the value could
//! be that of a part of it, the mention is unchecked.

use std::{
    cell::{Cell, OnceCell},
    sync::LazyLock,
};

use bumpalo::Bump;
use foldhash::{HashMap, HashMapExt, HashSet};
use rust_decimal::prelude::ToPrimitive;

use super::{Derivation, How, Support, dates};
use crate::{
    grounding::{
        facts::{Facts, Leaf, NO_CALL, PerKey, Side, Traits, float},
        scan::{Date, Mention, Number, Scan, Time, Token, Unit, What},
        units,
    },
    value::Value,
};

/// How many mentions before and behind are operands.
const WINDOW: usize = 12;
/// Numbers without a unit and below this are near each other too often: only their neighbours in the sentence are operands.
const SMALL: f64 = 1000.0;
const NEIGHBOURS: usize = 4;
/// What may be multiplied by: "3 bags", "2 nights".
const MOST_TIMES: f64 = 31.0;
/// Of columns of up to so many values, all sums of some are worked out.
const MOST_ADDENDS: usize = 12;
/// Values of columns and records that are looked at for all of a text.
const MOST_STEPS: usize = 20_000_000;

/// Lists of no more items have their sums worked out.
const SHORT_LIST: u32 = 4;
/// Records of more numbers are not looked into.
const MOST_NUMBERS: usize = 30;
/// Dates, times and durations beyond these are not put together.
const MOST_DATES: usize = 200;
const MOST_TIMES_OF_DAY: usize = 64;

#[derive(Default)]
struct Cues {
    sum: Words,
    difference: Words,
    mean: Words,
}

/// Words, and pairs of words, which lists write as "went_up".
#[derive(Default)]
struct Words {
    words: HashSet<&'static str>,
    pairs: HashSet<(&'static str, &'static str)>,
}

impl Words {
    fn extend(&mut self, words: impl Iterator<Item = &'static str> + Clone) {
        self.pairs.extend(words.clone().filter_map(|word| word.split_once('_')));
        self.words.extend(words);
    }
}

static CUES: LazyLock<Cues> = LazyLock::new(|| {
    let mut cues = Cues::default();
    for line in include_str!("../words/arithmetic.txt").lines() {
        let Some((way, words)) = line.split_once(": ") else { continue };
        let words = words.split_whitespace();
        match way {
            "sum" => cues.sum.extend(words),
            "difference" => cues.difference.extend(words),
            "mean" => cues.mean.extend(words),
            _ => {}
        }
    }
    cues
});

/// A number that the text tells.
#[derive(Clone, Copy)]
struct Told<'a> {
    value: f64,
    step: f64,
    unit: Option<Unit<'a>>,
    /// Something rose or fell to it, so it is no difference.
    is_level: bool,
    /// The trace, the user, or what was worked out before says it.
    backed: bool,
    leaf: Option<u32>,
    sentence: u32,
}

/// Find out of what unsupported values may have been worked out.
pub fn add<'a>(scan: &Scan<'a>, facts: &Facts<'a>, all: &mut [Support<'a>], bump: &'a Bump) {
    if !all.iter().any(|support| matches!(support, Support::Unsupported { .. })) {
        return;
    }
    let mut told: Vec<Option<Told<'a>>> =
        scan.mentions.iter().zip(all.iter()).map(|(mention, support)| told(mention, facts, support)).collect();
    let calendar = Calendar::new(scan, facts, all);
    let lists = Lists {
        facts,
        counts: OnceCell::new(),
        columns: OnceCell::new(),
        sums: OnceCell::new(),
        records: OnceCell::new(),
        room: Cell::new(MOST_STEPS),
    };
    for index in 0..all.len() {
        let (Some(mention), Some(Support::Unsupported { .. })) = (scan.mentions.get(index), all.get(index)) else {
            continue;
        };
        let support = match mention.what {
            What::Number(number) => {
                let Some(mut target) = target(mention, &number) else { continue };
                let before = mention.tokens.first.checked_sub(1).and_then(|at| scan.tokens.get(at as usize));
                target.is_level = before.is_some_and(|token| matches!(token.lower, "to" | "at"))
                    || target.value < 0.0 && target.unit.is_some_and(|unit| units::dimension(unit) == "temperature");
                let cue = |words: &Words| cued(scan, mention, words);
                arithmetic(&target, index, &told, cue, bump)
                    .or_else(|| lists.explain(&target, &number, cue, bump))
                    .or_else(|| lists.money(&target, index, &told, cue, bump))
                    .or_else(|| lists.record(&target, cue, bump))
                    .or_else(|| calendar.days(&target))
                    .or_else(|| {
                        // Of "2 hours 45 minutes", each is part of the whole.
                        let whole = [index + 1, index].into_iter().find_map(|second| {
                            let (whole, of) = super::compound(scan, second, bump)?;
                            if of.contains(&index) { Some(whole) } else { None }
                        });
                        let What::Number(number) = whole.as_ref().unwrap_or(mention).what else { return None };
                        calendar.minutes_apart(number.unit?, number.readings.first()?.value)
                    })
            }
            What::Date(date) => calendar.is_next_day(date).then_some(Support::Unchecked),
            What::Time(time) => calendar.end_time(time, &told),
            _ => None,
        };
        if let (Some(support), Some(place)) = (support, all.get_mut(index)) {
            *place = support;
            if let (Support::Derived { .. }, Some(Some(told))) = (support, told.get_mut(index)) {
                told.backed = true;
            }
        }
    }
    multipliers(&told, all);
}

/// How many there are, as in "2 tickets of €14 and one of €6.50: €34.50", where an amount was worked out with it: a number that
/// is nowhere, but was most likely the user's.
fn multipliers(told: &[Option<Told<'_>>], all: &mut [Support<'_>]) {
    let derived = |(_, support): &(usize, &Support<'_>)| {
        matches!(support, Support::Derived { how: Derivation::Sum | Derivation::Product | Derivation::Ratio, .. })
    };
    let derived: Vec<usize> = all.iter().enumerate().filter(derived).map(|(index, _)| index).collect();
    for (index, (told, support)) in told.iter().zip(all.iter_mut()).enumerate() {
        if matches!(support, Support::Unsupported { .. })
            && told.is_some_and(|told| told.is_count())
            && derived.iter().any(|other| other.abs_diff(index) <= WINDOW)
        {
            *support = Support::Unchecked;
        }
    }
}

/// Is one of these words in the clause of a mention, or in its sentence where that is short?
fn cued(scan: &Scan<'_>, mention: &Mention<'_>, words: &Words) -> bool {
    let Some(sentence) = scan.sentences.get(mention.sentence as usize) else { return false };
    let tokens = scan.tokens.get(sentence.tokens.first as usize..sentence.tokens.end as usize).unwrap_or_default();
    let at = (mention.tokens.first.saturating_sub(sentence.tokens.first)) as usize;
    let near = tokens.get(at.saturating_sub(12)..(at + 9).min(tokens.len())).unwrap_or_default();
    let in_a_row = |pair: &[Token<'_>]| match pair {
        [one, next] => words.pairs.contains(&(one.lower, next.lower)),
        _ => false,
    };
    near.iter().any(|token| words.words.contains(token.lower)) || near.windows(2).any(in_a_row)
}

fn told<'a>(mention: &Mention<'a>, facts: &Facts<'a>, support: &Support<'a>) -> Option<Told<'a>> {
    let What::Number(number) = mention.what else { return None };
    let told = target(mention, &number)?;
    let (Support::Supported(matched) | Support::Echo(matched)) = support else {
        return (!number.ordinal).then_some(told);
    };
    // What the text leaves out, the payload may say.
    let unit = matched.fact.and_then(|fact| match facts.facts.get(fact as usize)?.what {
        What::Number(found) if matches!(matched.how, How::Exact | How::Rounded) => found.unit,
        _ => None,
    });
    let told = Told { leaf: Some(matched.leaf), backed: true, unit: told.unit.or(unit), ..told };
    (!number.ordinal).then_some(told)
}

fn target<'a>(mention: &Mention<'a>, number: &Number<'a>) -> Option<Told<'a>> {
    let reading = number.readings.first()?;
    let (mut value, mut step, mut unit) = (float(reading.value), float(reading.step), number.unit);
    if matches!(unit, Some(Unit::Measure("cent" | "penny"))) {
        (value, step) = (value / 100.0, step / 100.0);
        unit = Some(Unit::Currency { code: "USD", symbol: true });
    }
    Some(Told { value, step, unit, is_level: false, backed: false, leaf: None, sentence: mention.sentence })
}

impl Told<'_> {
    /// Is this what was worked out, as precisely as it is told?
    fn is(&self, value: f64) -> bool {
        (self.value - value).abs() <= self.step / 2.0 + value.abs() * 1e-9
            || (self.value + value).abs() <= self.step / 2.0 + value.abs() * 1e-9
    }

    /// A number without a unit that counts something.
    fn is_count(&self) -> bool {
        self.unit
            .is_none_or(|unit| matches!(unit, Unit::Measure(_)) && matches!(units::dimension(unit), "time" | "months"))
            && self.value.fract() == 0.0
            && (2.0..=MOST_TIMES).contains(&self.value)
    }

    fn of_one_kind(&self, other: &Self) -> bool {
        match (self.unit, other.unit) {
            (None, None) => true,
            (Some(a), Some(b)) => a == b || is_money(a) && is_money(b),
            // "Two bags at $50, 100 in total": money is often told without its sign.
            (Some(unit), None) | (None, Some(unit)) => is_money(unit) && self.value.abs() >= 10.0,
        }
    }
}

/// What two or three values that are told near it give.
fn arithmetic<'a>(
    target: &Told<'a>,
    index: usize,
    told: &[Option<Told<'a>>],
    cue: impl Fn(&Words) -> bool,
    bump: &'a Bump,
) -> Option<Support<'a>> {
    let small = target.unit.is_none() && target.value.abs() < SMALL;
    // One digit is what any two numbers differ by, so it has to be said that it was worked out.
    let one_digit = target.value.abs() < 10.0 * target.step;
    let (summed, differs) = if small || one_digit { (cue(&CUES.sum), cue(&CUES.difference)) } else { (false, false) };
    if one_digit && !summed && !differs {
        return None;
    }
    let window = if small { NEIGHBOURS } else { WINDOW };
    let around = told.get(index.saturating_sub(window)..(index + window + 1).min(told.len())).unwrap_or_default();
    let near: Vec<Told<'a>> = around
        .iter()
        .flatten()
        .filter(|other| other.backed && (!small || other.sentence == target.sentence || summed || differs))
        .copied()
        .collect();
    let derived = |how: Derivation, from: &[&Told<'a>]| {
        let leaves: Vec<u32> = from.iter().filter_map(|told| told.leaf).collect();
        Some(Support::Derived { how, from: bump.alloc_slice_copy(&leaves), node: None })
    };
    let percent = target.unit == Some(Unit::Percent);
    // How many there are needs no backing: "2 × $14".
    let counts = || around.iter().flatten().filter(|other| other.is_count() && other.value != target.value);
    for (at, a) in near.iter().enumerate() {
        for n in counts().filter(|_| !small && !one_digit && a.of_one_kind(target)) {
            if target.is(a.value * n.value) {
                return derived(Derivation::Product, &[a, n]);
            }
            if target.is(a.value / n.value) {
                return derived(Derivation::Ratio, &[a, n]);
            }
        }
        for b in near.iter().skip(at + 1) {
            let alike = a.of_one_kind(b);
            if alike && a.of_one_kind(target) && b.of_one_kind(target) {
                if target.is(a.value + b.value) && (!one_digit || summed) {
                    return derived(Derivation::Sum, &[a, b]);
                }
                if target.is(a.value - b.value) && (!one_digit || differs) && !target.is_level {
                    return derived(Derivation::Difference, &[a, b]);
                }
            }
            for (a, b) in [(a, b), (b, a)] {
                if small && summed && b.is_count() && a.is_count() && target.is(a.value * b.value) {
                    return derived(Derivation::Product, &[a, b]);
                }
                if small && !percent || b.value == 0.0 || one_digit {
                    continue;
                }
                if b.unit == Some(Unit::Percent) && a.of_one_kind(target) && !percent {
                    let part = a.value * b.value / 100.0;
                    if target.is(part) || target.is(a.value + part) || target.is(a.value - part) {
                        return derived(Derivation::Product, &[a, b]);
                    }
                }
                if percent && alike && a.unit != Some(Unit::Percent) {
                    if target.is(a.value / b.value * 100.0) {
                        return derived(Derivation::Ratio, &[a, b]);
                    }
                    if target.is((a.value - b.value) / b.value * 100.0) {
                        return derived(Derivation::PercentChange, &[a, b]);
                    }
                }
            }
        }
    }
    let money = target.unit.is_some_and(is_money);
    if money {
        let amounts: Vec<&Told<'a>> = near.iter().filter(|told| told.of_one_kind(target)).collect();
        for (first, a) in amounts.iter().enumerate() {
            for (second, b) in amounts.iter().enumerate().skip(first + 1) {
                for c in amounts.iter().skip(second + 1) {
                    let (x, y, z) = (a.value, b.value, c.value);
                    if [x + y + z, x + y - z, x - y + z, y + z - x].into_iter().any(|value| target.is(value)) {
                        return derived(Derivation::Sum, &[a, b, c]);
                    }
                }
                for n in counts() {
                    if target.is(a.value * n.value + b.value) || target.is(a.value + b.value * n.value) {
                        return derived(Derivation::Sum, &[a, b, n]);
                    }
                    if target.is((a.value + b.value) * n.value) || target.is((a.value - b.value) * n.value) {
                        return derived(Derivation::Product, &[a, b, n]);
                    }
                }
            }
        }
    }
    let run = run(target, index, told)?;
    let leaves: Vec<u32> = run.iter().filter_map(|told| told.leaf).collect();
    Some(Support::Derived { how: Derivation::Sum, from: bump.alloc_slice_copy(&leaves), node: None })
}

/// Values told one after the other, right before or behind the number, whose sum it is.
fn run<'a>(target: &Told<'a>, index: usize, told: &[Option<Told<'a>>]) -> Option<Vec<Told<'a>>> {
    let before = told.get(index.saturating_sub(WINDOW)..index)?.iter().rev();
    let behind = told.get(index + 1..(index + 1 + WINDOW).min(told.len()))?.iter();
    added_up(target, before).or_else(|| added_up(target, behind))
}

fn added_up<'t, 'a: 't>(target: &Told<'a>, told: impl Iterator<Item = &'t Option<Told<'a>>>) -> Option<Vec<Told<'a>>> {
    let mut sum = 0.0;
    let mut run = Vec::new();
    // One that is not backed ends the run, so that no other is next to it where data is missing.
    for told in told.flatten().filter(|told| told.of_one_kind(target)) {
        if !told.backed {
            return None;
        }
        sum += told.value;
        run.push(*told);
        if run.len() > 1 && target.is(sum) {
            return Some(run);
        }
    }
    None
}

/// What lists and keys give, worked out when it is asked for.
struct Lists<'f, 'a> {
    facts: &'f Facts<'a>,
    counts: OnceCell<Counts>,
    columns: OnceCell<Vec<Column>>,
    sums: OnceCell<Option<Vec<Sum>>>,
    records: OnceCell<Option<Vec<Record<'a>>>>,
    /// How many values of columns and records may still be looked at.
    room: Cell<usize>,
}

/// How many there are.
struct Counts {
    /// Lists by their length, those of results alone.
    lengths: Vec<(u32, u32)>,
    /// The longest list of scalars, which gets shorter with one of them.
    longest_of_scalars: u32,
    /// How many calls there are, in all and of one tool, and how many of them failed or did not.
    calls: Vec<u32>,
    /// How often items of a list have the same value under the same key, and the first leaf of those that are there so often.
    alike: Vec<(u32, u32)>,
}

/// Numbers with their leaves, by their size.
type Column = Vec<(f64, u32)>;

/// Numbers with their units and leaves.
type Record<'a> = Vec<(f64, Option<Unit<'a>>, u32)>;

/// A sum, and the leaves of what was added up.
type Sum = (f64, Vec<u32>);

impl<'a> Lists<'_, 'a> {
    fn counts(&self) -> &Counts {
        self.counts.get_or_init(|| {
            let mut lengths: Vec<(u32, u32)> = Vec::new();
            let mut longest_of_scalars = 0;
            for (index, node) in self.facts.nodes.iter().enumerate() {
                if node.side == Side::Response && node.is_list {
                    lengths.push((node.length, index as u32));
                    if node.leaves.1 - node.leaves.0 == node.length {
                        longest_of_scalars = longest_of_scalars.max(node.length);
                    }
                }
            }
            lengths.sort_unstable();
            let calls = self.calls();
            // How many items of a list have the same value under the same last word, and the first of them: values that are texts,
            // and all others by their bits.
            let mut texts: HashMap<(u64, &str), (u32, u32)> = HashMap::new();
            let mut others: HashMap<u128, (u32, u32)> = HashMap::with_capacity(self.facts.leaves.len());
            let (mut last_words, mut words) = (PerKey::default(), HashMap::new());
            let (mut node, mut list) = (None, None);
            for (index, leaf) in self.results() {
                if node != leaf.node {
                    (node, list) = (leaf.node, list_of(self.facts, leaf));
                }
                let Some(list) = list else { continue };
                let bits = match leaf.value {
                    Value::Int(int) => int as u64,
                    Value::Float(float) => float.to_bits(),
                    Value::True => 1,
                    Value::False => 2,
                    _ => 0,
                };
                let last = *last_words.get_or_insert_with(leaf.words_id, || {
                    let next = words.len() as u32;
                    *words.entry(leaf.words.last().copied().unwrap_or_default()).or_insert(next)
                });
                let place = u64::from(list) << 32 | u64::from(last);
                let known = match leaf.text {
                    "" => others.entry(u128::from(place) << 64 | u128::from(bits)).or_insert((0, index)),
                    text => texts.entry((place, text)).or_insert((0, index)),
                };
                known.0 += 1;
            }
            // The first leaf of those that are there so many times, by how many.
            let mut firsts: Vec<Option<u32>> = Vec::new();
            for (times, leaf) in texts.into_values().chain(others.into_values()) {
                if firsts.len() <= times as usize {
                    firsts.resize(times as usize + 1, None);
                }
                if let Some(first) = firsts.get_mut(times as usize) {
                    *first = Some(first.map_or(leaf, |first| first.min(leaf)));
                }
            }
            let alike = (0..).zip(firsts).filter_map(|(times, first)| Some((times, first?))).collect();
            Counts { lengths, longest_of_scalars, alike, calls }
        })
    }

    /// Is there room for so many steps?
    fn spend(&self, steps: usize) -> bool {
        let left = self.room.get().checked_sub(steps);
        self.room.set(left.unwrap_or(0));
        left.is_some()
    }

    fn calls(&self) -> Vec<u32> {
        let mut failed = vec![false; self.facts.calls.len()];
        for leaf in self.facts.leaves.iter().filter(|leaf| leaf.failed) {
            if let Some(failed) = failed.get_mut(leaf.call as usize) {
                *failed = true;
            }
        }
        let mut of_tools: HashMap<&str, [u32; 2]> = HashMap::default();
        for (call, failed) in self.facts.calls.iter().zip(&failed) {
            for tool in [call.tool, ""] {
                let [fine, bad] = of_tools.entry(tool).or_default();
                *(if *failed { bad } else { fine }) += 1;
            }
        }
        of_tools.into_values().flat_map(|[fine, bad]| [fine, bad, fine + bad]).collect()
    }

    fn results(&self) -> impl Iterator<Item = (u32, &Leaf<'a>)> {
        let result = |(_, leaf): &(usize, &Leaf<'_>)| leaf.side == Side::Response && !leaf.failed;
        self.facts.leaves.iter().enumerate().filter(result).map(|(index, leaf)| (index as u32, leaf))
    }

    /// The number that a leaf is, with its unit.
    fn number(&self, leaf: u32) -> Option<(f64, Option<Unit<'a>>)> {
        self.facts.facts_of(leaf).iter().find_map(|fact| match fact.what {
            What::Number(Number { readings: [reading, ..], unit, .. }) if fact.whole => {
                Some((float(reading.value), unit))
            }
            _ => None,
        })
    }

    /// The numbers under one key, in all results.
    fn columns(&self) -> &[Column] {
        self.columns.get_or_init(|| {
            let mut columns: PerKey<Column> = PerKey::default();
            for (index, leaf) in self.results() {
                if let Some((value, _)) = self.number(index) {
                    columns.get_or_insert_with(leaf.words_id, Vec::new).push((value, index));
                }
            }
            sorted(columns.into_values())
        })
    }

    /// Sums of two or more numbers under one key of a short list of records, by their size: the legs of a journey, the lines of
    /// a bill. None if there are too many.
    fn sums(&self) -> Option<&[Sum]> {
        let sums = self.sums.get_or_init(|| {
            let mut lists: HashMap<(u32, u32), Column> = HashMap::default();
            for (index, leaf) in self.results() {
                // A list of records is as long as it is, whatever is missing in them.
                if let (Some(list), Some((value, unit))) = (list_of(self.facts, leaf), self.number(index))
                    && unit.is_none_or(is_money)
                    && leaf.node != Some(list)
                    && self.facts.node(list).is_some_and(|node| node.length <= SHORT_LIST)
                {
                    lists.entry((list, leaf.words_id)).or_default().push((value, index));
                }
            }
            let mut sums: Vec<Sum> = Vec::new();
            for column in lists.values() {
                if column.len() > MOST_ADDENDS {
                    return None;
                }
                for chosen in (1u32..1 << column.len()).filter(|chosen| chosen.count_ones() > 1) {
                    let some: Column = chosen_of(column, chosen).collect();
                    sums.push((some.iter().map(|(value, _)| value).sum(), leaves(&some)));
                }
            }
            sums.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
            Some(sums)
        });
        sums.as_deref()
    }

    /// An amount of money of a result.
    fn amount(&self, value: f64, slack: f64) -> Option<u32> {
        self.facts.index.numbers(value - slack, value + slack).iter().find_map(|(_, fact)| {
            let fact = self.facts.facts.get(*fact as usize)?;
            let leaf = self.facts.leaf(fact.leaf)?;
            let money = leaf.unit.is_some_and(is_money) || leaf.traits.has(Traits::MONEY);
            (fact.whole && money && leaf.side == Side::Response && !leaf.failed).then_some(fact.leaf)
        })
    }

    /// The numbers of each record that is not one of many. None if one has too many.
    fn records(&self) -> Option<&[Record<'a>]> {
        let records = self.records.get_or_init(|| {
            let mut records: HashMap<u32, Record<'a>> = HashMap::default();
            for (index, leaf) in self.results() {
                let (Some(node), Some((value, unit))) = (leaf.node, self.number(index)) else { continue };
                if self.is_one_of_many(node) {
                    continue;
                }
                let record = records.entry(node).or_default();
                record.push((value, unit, index));
                if record.len() > MOST_NUMBERS {
                    return None;
                }
            }
            let mut records: Vec<Record<'a>> = records.into_values().collect();
            records.sort_unstable_by_key(|record| record.first().map(|(_, _, leaf)| *leaf));
            Some(records)
        });
        records.as_deref()
    }

    /// Is it a list, or in a list that is no short one?
    fn is_one_of_many(&self, node: u32) -> bool {
        let mut next = Some(node);
        while let Some(found) = next.and_then(|index| self.facts.node(index)) {
            if found.is_list && (next == Some(node) || found.length > SHORT_LIST) {
                return true;
            }
            next = found.parent;
        }
        false
    }

    /// What two numbers of one record give: "42 places left" of 120, where 78 are inside.
    fn record(&self, target: &Told<'a>, cue: impl Fn(&Words) -> bool, bump: &'a Bump) -> Option<Support<'a>> {
        let (summed, differs, shared) = (cue(&CUES.sum), cue(&CUES.difference) && !target.is_level, cue(&CUES.mean));
        let percent = target.unit == Some(Unit::Percent);
        let money = target.unit.is_some_and(is_money);
        if !(summed || differs || shared || percent || money) || target.value == 0.0 {
            return None;
        }
        let Some(records) = self.records() else { return Some(Support::Unchecked) };
        // In the unit of the target; None for what is something else.
        let measured = |value: f64, unit: Option<Unit<'a>>| match (unit, target.unit) {
            (Some(unit), Some(wanted)) if unit != wanted => {
                let one = float(units::convert(1.into(), unit, wanted)?);
                let zero = float(units::convert(0.into(), unit, wanted)?);
                (zero == 0.0).then_some(value * one)
            }
            (Some(_), None) if !percent => Some(value),
            _ => Some(value),
        };
        let sure = target.value.abs() >= 10.0 * target.step;
        let is_amount = |unit: Option<Unit<'a>>, leaf: u32| {
            unit.is_some_and(is_money) || self.facts.leaf(leaf).is_some_and(|leaf| leaf.traits.has(Traits::MONEY))
        };
        for record in records {
            if !self.spend(record.len() * record.len()) {
                return Some(Support::Unchecked);
            }
            for &(a, a_unit, a_leaf) in record {
                for &(b, b_unit, b_leaf) in record.iter().filter(|(_, _, leaf)| *leaf != a_leaf) {
                    let how = if percent {
                        let ratio = a / b * 100.0;
                        if b == 0.0 || a_unit != b_unit {
                            None
                        } else if sure && target.is(ratio) {
                            Some(Derivation::Ratio)
                        } else if differs && sure && target.is(ratio - 100.0) {
                            Some(Derivation::PercentChange)
                        } else {
                            None
                        }
                    } else {
                        let (x, y) = (measured(a, a_unit), measured(b, b_unit));
                        match (x, y) {
                            (Some(x), Some(y)) if differs && a_unit == b_unit && target.is(x - y) => {
                                Some(Derivation::Difference)
                            }
                            (Some(x), Some(y)) if summed && a_unit == b_unit && target.is(x + y) => {
                                Some(Derivation::Sum)
                            }
                            (Some(x), _) if shared && sure && b != 0.0 && b_unit.is_none() && target.is(x / b) => {
                                Some(Derivation::Ratio)
                            }
                            // So many at so much each.
                            (Some(x), _)
                                if money
                                    && sure
                                    && is_amount(a_unit, a_leaf)
                                    && b_unit.is_none()
                                    && b.fract() == 0.0
                                    && target.is(x * b) =>
                            {
                                Some(Derivation::Product)
                            }
                            _ => None,
                        }
                    };
                    if let Some(how) = how {
                        return Some(Support::Derived {
                            how,
                            from: bump.alloc_slice_copy(&[a_leaf, b_leaf]),
                            node: None,
                        });
                    }
                }
            }
        }
        None
    }

    /// An amount of money: a sum over a short list, for one or for several; or what is left of one amount after another one.
    fn money(
        &self,
        target: &Told<'a>,
        index: usize,
        told: &[Option<Told<'a>>],
        cue: impl Fn(&Words) -> bool,
        bump: &'a Bump,
    ) -> Option<Support<'a>> {
        if !target.unit.is_some_and(is_money) || target.value.abs() < 10.0 * target.step {
            return None;
        }
        let Some(sums) = self.sums() else { return Some(Support::Unchecked) };
        let sum = |value: f64, slack: f64| {
            let at = sums.partition_point(|(sum, _)| *sum < value - slack);
            sums.get(at).filter(|(sum, _)| *sum <= value + slack).map(|(_, from)| &**from)
        };
        let derived = |how, from: &[u32]| Some(Support::Derived { how, from: bump.alloc_slice_copy(from), node: None });
        let slack = target.step / 2.0 + target.value.abs() * 1e-9;
        if let Some(from) = sum(target.value.abs(), slack) {
            return derived(Derivation::Sum, from);
        }
        let near = told.get(index.saturating_sub(WINDOW)..(index + WINDOW + 1).min(told.len()))?;
        let near = || near.iter().flatten().filter(|told| told.backed);
        for count in near().filter(|told| told.is_count()) {
            if let Some(from) = sum(target.value.abs() / count.value, slack / count.value) {
                return derived(Derivation::Product, from);
            }
        }
        for percent in near().filter(|told| told.unit == Some(Unit::Percent) && told.value != 100.0) {
            let part = percent.value / 100.0;
            for factor in [1.0 - part, 1.0 + part, part] {
                let whole = target.value / factor;
                if let Some(leaf) = self.amount(whole, slack / factor.abs()) {
                    return derived(Derivation::Product, &[leaf]);
                }
            }
        }
        if !cue(&CUES.difference) || target.is_level {
            return None;
        }
        for other in near().filter(|told| told.of_one_kind(target)) {
            for whole in [other.value + target.value, other.value - target.value] {
                if let Some(from) = sum(whole, slack) {
                    return derived(Derivation::Difference, from);
                }
                if let Some(leaf) = self.amount(whole, slack) {
                    return derived(Derivation::Difference, &[leaf]);
                }
            }
        }
        None
    }

    fn explain(
        &self,
        target: &Told<'a>,
        number: &Number<'a>,
        cue: impl Fn(&Words) -> bool,
        bump: &'a Bump,
    ) -> Option<Support<'a>> {
        let derived = |how, from: &[u32]| Some(Support::Derived { how, from: bump.alloc_slice_copy(from), node: None });
        if number.unit.is_none() && target.value.fract() == 0.0 && !number.ordinal && (0.0..1e9).contains(&target.value)
        {
            let count = target.value as u32;
            let counts = self.counts();
            if count > 0 && counts.calls.contains(&count) {
                return derived(Derivation::Count, &[]);
            }
            let at = counts.lengths.partition_point(|(length, _)| *length < count);
            if let Some((length, node)) = counts.lengths.get(at)
                && *length == count
            {
                return Some(Support::Derived { how: Derivation::Count, from: &[], node: Some(*node) });
            }
            let at = counts.alike.partition_point(|(times, _)| *times < count);
            match counts.alike.get(at) {
                Some((times, leaf)) if *times == count && count > 1 => return derived(Derivation::Count, &[*leaf]),
                Some(_) if count > 0 => return Some(Support::Unchecked),
                _ if counts.longest_of_scalars >= count => return Some(Support::Unchecked),
                _ => {}
            }
        }
        if cue(&CUES.mean) {
            if !self.spend(self.columns().iter().map(Vec::len).sum()) {
                return Some(Support::Unchecked);
            }
            if let Some(column) = self.columns().iter().find(|column| target.is(mean(column))) {
                return derived(Derivation::Mean, &leaves(column));
            }
            let within = |column: &&Column| {
                column.first().is_some_and(|(low, _)| *low <= target.value)
                    && column.last().is_some_and(|(high, _)| *high >= target.value)
            };
            if self.columns().iter().any(|column| within(&column)) {
                return Some(Support::Unchecked);
            }
        }
        if cue(&CUES.sum) {
            for column in self.columns() {
                // All sums of a short column are worked out.
                let steps = if column.len() <= MOST_ADDENDS { column.len() << column.len() } else { column.len() };
                if !self.spend(steps) {
                    return Some(Support::Unchecked);
                }
                match sum_of_some(column, target) {
                    Some(Some(from)) => return derived(Derivation::Sum, &from),
                    Some(None) => {}
                    None => return Some(Support::Unchecked),
                }
            }
        }
        if cue(&CUES.difference) && !target.is_level {
            if target.unit == Some(Unit::Percent) && !self.columns().is_empty() {
                return Some(Support::Unchecked);
            }
            for column in self.columns() {
                if !self.spend(column.len()) {
                    return Some(Support::Unchecked);
                }
                if let Some((a, b)) = difference(column, target) {
                    return derived(Derivation::Difference, &[a, b]);
                }
            }
        }
        None
    }
}

/// The nearest list around a leaf.
fn list_of(facts: &Facts<'_>, leaf: &Leaf<'_>) -> Option<u32> {
    let mut next = leaf.node;
    while let Some(index) = next {
        let node = facts.node(index)?;
        if node.is_list {
            return Some(index);
        }
        next = node.parent;
    }
    None
}

fn is_money(unit: Unit<'_>) -> bool {
    units::dimension(unit) == "money"
}

/// Columns of more than one, each by size, and not in the order of a hash.
fn sorted(columns: impl Iterator<Item = Column>) -> Vec<Column> {
    let mut columns: Vec<Column> = columns.filter(|column| column.len() > 1).collect();
    for column in &mut columns {
        column.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    }
    columns.sort_unstable_by_key(|column| column.iter().map(|(_, leaf)| *leaf).min());
    columns
}

fn chosen_of(column: &[(f64, u32)], chosen: u32) -> impl Iterator<Item = (f64, u32)> {
    column.iter().enumerate().filter(move |(at, _)| chosen >> at & 1 == 1).map(|(_, pair)| *pair)
}

fn leaves(column: &[(f64, u32)]) -> Vec<u32> {
    let mut leaves: Vec<u32> = column.iter().take(super::MOST_CANDIDATES).map(|(_, leaf)| *leaf).collect();
    leaves.sort_unstable();
    leaves
}

fn mean(column: &[(f64, u32)]) -> f64 {
    column.iter().map(|(value, _)| value).sum::<f64>() / column.len() as f64
}

/// Values of a column that add up to a number, if any do; None if there are too many to tell.
fn sum_of_some(column: &[(f64, u32)], target: &Told<'_>) -> Option<Option<Vec<u32>>> {
    let total: f64 = column.iter().map(|(value, _)| value).sum();
    if target.is(total) {
        return Some(Some(leaves(column)));
    }
    let most: f64 = column.iter().map(|(value, _)| value.max(0.0)).sum();
    if target.value > most + target.step {
        return Some(None);
    }
    if column.len() > MOST_ADDENDS {
        return None;
    }
    let chosen = (1u32..1 << column.len()).find(|chosen| {
        let sum: f64 =
            column.iter().enumerate().filter(|(at, _)| chosen >> at & 1 == 1).map(|(_, (value, _))| value).sum();
        chosen.count_ones() > 1 && target.is(sum)
    });
    Some(chosen.map(|chosen| {
        let some: Column = chosen_of(column, chosen).collect();
        leaves(&some)
    }))
}

/// Two values of a sorted column that differ by a number.
fn difference(column: &[(f64, u32)], target: &Told<'_>) -> Option<(u32, u32)> {
    let size = target.value.abs();
    let (mut low, mut high) = (0, 1);
    while let (Some((a, from)), Some((b, to))) = (column.get(low), column.get(high)) {
        if low != high && target.is(b - a) {
            return Some((*from, *to));
        }
        if b - a < size {
            high += 1
        } else {
            low += 1
        }
        if low == high {
            high += 1;
        }
    }
    None
}

/// Days and times of day that the trace has, the text tells, and the calls were made on.
struct Calendar {
    /// Of the calls, and of the text where they are backed.
    told: Vec<jiff::civil::Date>,
    /// Of the user and the context.
    said: Vec<jiff::civil::Date>,
    /// Of results; None if there are too many.
    results: Option<Vec<(jiff::civil::Date, u32)>>,
    /// Minutes after midnight, and of durations, of results; None if there are too many.
    times: Option<Vec<(i64, u32)>>,
    durations: Option<Vec<(i64, u32)>>,
}

impl Calendar {
    fn new(scan: &Scan<'_>, facts: &Facts<'_>, all: &[Support<'_>]) -> Self {
        let moments = facts.calls.iter().flat_map(|call| [call.start, call.end]).flatten();
        let mut told: Vec<jiff::civil::Date> =
            moments.filter_map(|(millis, offset)| dates::local_day(millis, offset)).collect();
        for (mention, support) in scan.mentions.iter().zip(all) {
            if let (What::Date(date) | What::Moment(date, _), Support::Supported(_) | Support::Echo(_)) =
                (mention.what, support)
            {
                told.extend(dates::civil(date));
            }
        }
        let mut calendar = Calendar {
            told,
            said: Vec::new(),
            results: Some(Vec::new()),
            times: Some(Vec::new()),
            durations: Some(Vec::new()),
        };
        let measures = facts.index.measures().iter();
        let durations: Vec<&str> = measures.filter(|(_, of)| *of == "time").map(|(name, _)| *name).collect();
        for fact in facts.facts {
            let Some(leaf) = facts.leaf(fact.leaf) else { continue };
            if let What::Date(date) | What::Moment(date, _) = fact.what
                && let Some(day) = dates::civil(date)
            {
                if leaf.call == NO_CALL {
                    calendar.said.push(day);
                } else {
                    push(&mut calendar.results, (day, fact.leaf), MOST_DATES);
                }
            }
            if leaf.call == NO_CALL {
                continue;
            }
            match fact.what {
                What::Time(time) | What::Moment(_, time) => {
                    push(&mut calendar.times, (minutes(time), fact.leaf), MOST_TIMES_OF_DAY);
                }
                What::Number(Number { readings: [reading, ..], unit: Some(Unit::Measure(measure)), .. })
                    if !fact.loose && durations.contains(&measure) =>
                {
                    let minutes = units::convert(reading.value, Unit::Measure(measure), Unit::Measure("minute"))
                        .and_then(|value| value.to_i64());
                    if let Some(minutes) = minutes {
                        push(&mut calendar.durations, (minutes, fact.leaf), MOST_TIMES_OF_DAY);
                    }
                }
                _ => {}
            }
        }
        calendar
    }

    /// A day before or after one that the text or the user told: "a day later", the arrival of a night flight.
    fn is_next_day(&self, date: Date) -> bool {
        let Some(day) = dates::civil(date) else { return false };
        let near = |other: &jiff::civil::Date| days_between(day, *other).abs() == 1;
        self.told.iter().any(near) || self.said.iter().any(near)
    }

    /// "three days left", "a stay of 4 days": between a day of a result, and another one that is told or the day of a call.
    fn days<'a>(&self, target: &Told<'a>) -> Option<Support<'a>> {
        let days = match target.unit? {
            Unit::Measure("day") => target.value,
            Unit::Measure("week") => target.value * 7.0,
            _ => return None,
        };
        let Some(results) = &self.results else { return Some(Support::Unchecked) };
        let apart = |a: jiff::civil::Date, b: jiff::civil::Date| days_between(a, b).abs() as f64 == days;
        let found = self.told.iter().enumerate().any(|(at, &a)| {
            self.told.iter().skip(at + 1).any(|&b| apart(a, b)) || results.iter().any(|(b, _)| apart(a, *b))
        });
        let derived = Support::Derived { how: Derivation::Difference, from: &[], node: None };
        (found && days != 0.0).then_some(derived)
    }

    /// How long it is from one time of a result to another one.
    fn minutes_apart<'a>(&self, unit: Unit<'a>, value: rust_decimal::Decimal) -> Option<Support<'a>> {
        if units::dimension(unit) != "time" {
            return None;
        }
        let wanted = units::convert(value, unit, Unit::Measure("minute"))?.to_i64()?;
        let Some(times) = &self.times else { return Some(Support::Unchecked) };
        let apart = times.iter().enumerate().find_map(|(at, (a, leaf))| {
            let others = times.get(at + 1..)?;
            let is = |b: &i64| [a - b, b - a].iter().any(|minutes| minutes.rem_euclid(24 * 60) == wanted);
            others.iter().any(|(b, _)| is(b)).then_some(*leaf)
        });
        apart.filter(|_| wanted > 0)?;
        Some(Support::Derived { how: Derivation::Difference, from: &[], node: None })
    }

    /// A time and how long it takes: until when.
    fn end_time<'a>(&self, time: Time, told: &[Option<Told<'_>>]) -> Option<Support<'a>> {
        let (Some(times), Some(durations)) = (&self.times, &self.durations) else { return Some(Support::Unchecked) };
        let told = told.iter().flatten().filter(|told| told.backed).filter_map(|told| match told.unit? {
            Unit::Measure("hour") => Some((told.value * 60.0) as i64),
            Unit::Measure("minute") => Some(told.value as i64),
            _ => None,
        });
        let durations: Vec<i64> =
            durations.iter().map(|(minutes, _)| *minutes).chain(told.take(MOST_TIMES_OF_DAY)).collect();
        let is =
            |minute: i64| dates::hours(time).any(|hour| minutes(Time { hour, ..time }) == minute.rem_euclid(24 * 60));
        let found = times.iter().any(|(start, _)| {
            durations.iter().any(|duration| *duration != 0 && (is(start + duration) || is(start - duration)))
        });
        found.then_some(Support::Derived { how: Derivation::Sum, from: &[], node: None })
    }
}

/// Add to what is not too much yet.
fn push<T>(list: &mut Option<Vec<T>>, item: T, most: usize) {
    if let Some(items) = list {
        items.push(item);
        if items.len() > most {
            *list = None;
        }
    }
}

fn minutes(time: Time) -> i64 {
    i64::from(time.hour) * 60 + i64::from(time.minute.unwrap_or(0))
}

fn days_between(a: jiff::civil::Date, b: jiff::civil::Date) -> i64 {
    (a.duration_since(b).as_hours()) / 24
}
