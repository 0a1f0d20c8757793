//! Signs: "gained 2.3 %" of -2.3, "3 °C" of -3.

use std::sync::LazyLock;

use foldhash::{HashMap, HashMapExt};

use crate::grounding::{
    facts::{Facts, Leaf},
    scan::{Mention, Negation, Run, Scan, Unit, What},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Up,
    Down,
    /// A word for an amount that is told without its sign ("a refund of 45" of -45).
    Either,
    /// A key that holds a change.
    Change,
}

static WAYS: LazyLock<HashMap<&'static str, Way>> = LazyLock::new(|| {
    let mut ways = HashMap::new();
    let mut way = Way::Either;
    for line in include_str!("../words/direction.txt").lines().filter(|line| !line.starts_with('#')) {
        match line.trim() {
            "[up]" => way = Way::Up,
            "[down]" => way = Way::Down,
            "[either]" => way = Way::Either,
            "[change]" => way = Way::Change,
            words => ways.extend(words.split_whitespace().map(|word| (word, way))),
        }
    }
    ways
});

/// What the sign of a told number says against a value of the same size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    Agrees,
    Contradicts,
    /// It could be meant either way.
    Open,
}

/// How many words around the number may tell its direction.
const NEAR: u32 = 8;

pub fn sign(mention: &Mention<'_>, scan: &Scan<'_>, facts: &Facts<'_>, leaf: u32) -> Sign {
    let (What::Number(told), Some(leaf_)) = (mention.what, facts.leaf(leaf)) else { return Sign::Open };
    let Some(value) = facts.facts_of(leaf).iter().find_map(|fact| match fact.what {
        What::Number(number) => number.readings.first().map(|reading| reading.value),
        _ => None,
    }) else {
        return Sign::Open;
    };
    if value.is_zero() || told.range {
        return Sign::Open;
    }
    let told_negative = told.readings.first().is_some_and(|reading| reading.value.is_sign_negative());
    let around = || around(mention, scan);
    match (value.is_sign_negative(), told_negative) {
        (true, true) => Sign::Agrees,
        (true, false) => match around() {
            Some(Way::Down) => Sign::Agrees,
            Some(Way::Up) => Sign::Contradicts,
            Some(_) => Sign::Open,
            None => Sign::Contradicts,
        },
        // A dash before a number is not always a minus.
        (false, true) if told.signed && is_a_temperature_or_share(told.unit) => Sign::Contradicts,
        (false, true) => Sign::Open,
        (false, false) if is_change(leaf_) && around() == Some(Way::Down) => Sign::Contradicts,
        (false, false) => Sign::Agrees,
    }
}

fn is_a_temperature_or_share(unit: Option<Unit<'_>>) -> bool {
    match unit {
        Some(Unit::Percent) => true,
        Some(Unit::Measure(name)) => matches!(name, "celsius" | "fahrenheit" | "kelvin" | "°C" | "°F" | "K"),
        _ => false,
    }
}

fn is_change(leaf: &Leaf<'_>) -> bool {
    leaf.words.iter().any(|word| WAYS.get(word) == Some(&Way::Change))
}

/// The direction that the words around a number give it: of those that are near, the nearest.
fn around(mention: &Mention<'_>, scan: &Scan<'_>) -> Option<Way> {
    let clause = scan.clauses.get(mention.clause as usize)?;
    let first = clause.tokens.first.max(mention.tokens.first.saturating_sub(NEAR));
    let end = clause.tokens.end.min(mention.tokens.end + NEAR);
    let mut best: Option<(u32, Way)> = None;
    for index in first..end {
        let Some(token) = scan.tokens.get(index as usize) else { break };
        let Some(&way) = WAYS.get(token.lower) else { continue };
        let way = match (way, token.negation) {
            (Way::Change, _) => continue,
            (way, Negation::None) => way,
            _ => Way::Either,
        };
        let distance = if index < mention.tokens.first {
            mention.tokens.first - index
        } else {
            index.saturating_sub(mention.tokens.end) + 1
        };
        if best.is_none_or(|(nearest, _)| distance < nearest) {
            best = Some((distance, way));
        }
    }
    best.map(|(_, way)| way)
}

/// "fell from 1,200 to 1,350": from the word that tells the direction to the second number.
pub fn wrong_trends(scan: &Scan<'_>) -> Vec<(Run, u32)> {
    let mut out = Vec::new();
    let at =
        |index: Option<u32>| index.and_then(|index| scan.tokens.get(index as usize)).map_or("", |token| token.lower);
    for (index, pair) in scan.mentions.windows(2).enumerate() {
        let [one, other] = pair else { continue };
        let (What::Number(first), What::Number(second)) = (one.what, other.what) else { continue };
        let near = other.tokens.first.saturating_sub(one.tokens.end) <= 6 && one.sentence == other.sentence;
        let (Some(a), Some(b)) = (first.readings.first(), second.readings.first()) else { continue };
        if !near || first.unit != second.unit || a.value == b.value {
            continue;
        }
        let before = |mention: &Mention<'_>| at(mention.tokens.first.checked_sub(1));
        let rises = match (before(one), before(other)) {
            ("from", "to") => a.value < b.value,
            ("to", "from") => a.value > b.value,
            _ => continue,
        };
        let verb = (one.tokens.first.saturating_sub(7)..one.tokens.first).rev().find_map(|index| {
            let token = scan
                .tokens
                .get(index as usize)
                .filter(|token| token.clause == one.clause && token.negation == Negation::None)?;
            WAYS.get(token.lower).filter(|way| matches!(way, Way::Up | Way::Down)).map(|way| (index, *way == Way::Up))
        });
        if let Some((verb, up)) = verb
            && up != rises
        {
            out.push((Run { first: verb, end: other.tokens.end }, index as u32));
        }
    }
    out
}
