//! "The cheapest one is Alpha": which record of a list has the most or the least of something.

use rust_decimal::Decimal;

use super::{
    lexicon::{Meaning, lexicon},
    records::Named,
    slots::{Reader, Slot},
};
use crate::grounding::{
    facts::Facts,
    scan::{Modality, Run, Sentence, What},
};

/// A name in the text that is said to be first, where another record is.
#[derive(Debug)]
pub struct Misranked {
    pub tokens: Run,
    /// The value that is the most or the least.
    pub leaf: u32,
}

/// A list needs so many values before one can be the most of them, and so many are looked at.
const FEWEST: usize = 2;
const MOST: usize = 4096;

pub fn misranked(reader: &Reader<'_, '_>) -> Vec<Misranked> {
    let mut out = Vec::new();
    for (index, sentence) in reader.scan.sentences.iter().enumerate() {
        // Of two names, either may be the one.
        let [named] = reader.records.in_sentence(index as u32) else { continue };
        let [node] = named.nodes.as_slice() else { continue };
        if let Some(leaf) = superlative(reader, sentence, named).and_then(|found| found.first(reader, *node)) {
            out.push(Misranked { tokens: named.tokens, leaf });
        }
    }
    out
}

struct Superlative<'s> {
    most: bool,
    slot: &'s Slot,
}

/// The superlative of a sentence, if it says of the named record that it is the first by a slot, and of nothing narrower than the whole list.
fn superlative<'s>(reader: &Reader<'s, '_>, sentence: &Sentence, named: &Named) -> Option<Superlative<'s>> {
    let (place, words, (most, about)) = (sentence.tokens.first..sentence.tokens.end).find_map(|index| {
        let one = reader.lower(index);
        let two = || format!("{one}-{}", reader.lower(index + 1));
        let with_next = if lexicon().begins_superlative(one) { lexicon().superlative(&two()) } else { None };
        with_next.map(|found| (index, 2, found)).or_else(|| lexicon().superlative(one).map(|found| (index, 1, found)))
    })?;
    let clause =
        reader.scan.tokens.get(place as usize).and_then(|token| reader.scan.clauses.get(token.clause as usize))?;
    if clause.modality != Modality::Asserted {
        return None;
    }
    // What stands between the superlative and the verb (or behind it, if the name stands before it).
    let behind = place + words;
    let is_verb = |index: u32| matches!(reader.lower(index), "is" | "was" | "'s" | ":" | "=");
    let noun = if named.tokens.first > place {
        let verb = (behind..named.tokens.first).find(|&index| is_verb(index))?;
        let plain = (verb + 1..named.tokens.first).all(|index| is_filler(reader.lower(index)));
        plain.then_some(behind..verb)?
    } else {
        let verb = (named.tokens.end..place).find(|&index| is_verb(index))?;
        let plain = (named.tokens.end..place).all(|index| index == verb || is_filler(reader.lower(index)));
        let end = (behind..sentence.tokens.end)
            .find(|&index| matches!(reader.lower(index), "." | "," | ";" | "!" | ":" | "(" | "with" | "at"));
        plain.then_some(behind..end.unwrap_or(sentence.tokens.end))?
    };
    let meanings: Vec<Meaning> =
        noun.clone().filter_map(|index| reader.meanings.get(index as usize).copied()).collect();
    let slot = reader.slots.only_of(&meanings).or_else(|| {
        let mut slots = about.iter().filter_map(|about| reader.slots.only_of(std::slice::from_ref(about)));
        let first = slots.next()?;
        slots.all(|other| std::ptr::eq(first, other)).then_some(first)
    })?;
    // Nothing but what it is the most of, and what the list is of: "the cheapest nonstop flight" is one of fewer.
    let list = list_of(reader.facts, *named.nodes.first()?)?;
    let of_list: Vec<Meaning> = reader
        .facts
        .node(list)
        .map(|list| list.words.iter().map(|word| lexicon().meaning(word)).collect())
        .unwrap_or_default();
    let known = |index: u32| {
        let meaning = reader.meanings.get(index as usize).copied().unwrap_or_default();
        is_filler(reader.lower(index))
            || slot.needs.iter().chain(&of_list).any(|known| known.shares(&meaning))
            || matches!(
                reader.lower(index),
                "one" | "option" | "item" | "result" | "choice" | "rated" | "priced" | "expensive"
            )
    };
    noun.into_iter().all(known).then_some(Superlative { most, slot })
}

fn is_filler(word: &str) -> bool {
    matches!(
        word,
        "the"
            | "a"
            | "an"
            | "by"
            | "far"
            | "of"
            | "all"
            | "them"
            | "these"
            | "your"
            | "our"
            | "her"
            | "his"
            | "their"
            | "its"
            | "\""
            | "“"
            | "”"
            | "`"
            | "*"
            | "**"
            | "currently"
            | "now"
    )
}

fn list_of(facts: &Facts<'_>, node: u32) -> Option<u32> {
    let parent = facts.node(node)?.parent?;
    facts.node(parent).filter(|parent| parent.is_list).map(|_| parent)
}

impl Superlative<'_> {
    /// The value that is the most (or the least) of the list, if it is not that of this record.
    fn first(&self, reader: &Reader<'_, '_>, node: u32) -> Option<u32> {
        let facts = reader.facts;
        let list = facts.node(list_of(facts, node)?)?.leaves;
        let from = self.slot.leaves.partition_point(|&leaf| leaf < list.0);
        let until = self.slot.leaves.partition_point(|&leaf| leaf < list.1);
        let leaves =
            self.slot.leaves.get(from..until).filter(|leaves| leaves.len() >= FEWEST && leaves.len() <= MOST)?;
        let values: Vec<(Decimal, u32)> =
            leaves.iter().filter_map(|&leaf| Some((number(facts, leaf)?, leaf))).collect();
        let (first, leaf) = match self.most {
            true => values.iter().rev().max_by_key(|(value, _)| *value)?,
            false => values.iter().min_by_key(|(value, _)| *value)?,
        };
        let own = facts.node(node)?.leaves;
        let mut of_node = values.iter().filter(|(_, leaf)| own.0 <= *leaf && *leaf < own.1);
        let (value, _) = of_node.next()?;
        (of_node.next().is_none() && value != first).then_some(*leaf)
    }
}

fn number(facts: &Facts<'_>, leaf: u32) -> Option<Decimal> {
    facts.facts_of(leaf).iter().find_map(|fact| match fact.what {
        What::Number(number) if fact.whole => number.readings.first().map(|reading| reading.value),
        _ => None,
    })
}
