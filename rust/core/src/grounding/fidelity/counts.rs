//! How many results there are: "I found four results", "nothing matched".

use super::{
    lexicon::{Meaning, lexicon},
    slots::Reader,
};
use crate::grounding::{
    facts::{Facts, Side},
    scan::{Clause, Hedge, Mention, Modality, TokenKind, What},
};

/// The lists of the results.
#[derive(Debug, Default)]
pub struct Lists {
    /// Lists that are in no other list.
    top: Vec<u32>,
    all: Vec<u32>,
    /// What each list is called by: its key, and, of a list in no other one, the keys of its items ("four courses": things that have a course
    /// each).
    names: Vec<(u32, Meaning)>,
    keys: Vec<(u32, Meaning)>,
}

/// A number in the text that says how long a list is.
#[derive(Debug)]
pub struct Counted {
    pub node: u32,
    pub length: u32,
    pub agrees: bool,
}

const MOST_LISTS: usize = 64;
const MOST_KEYS: usize = 12;

impl Lists {
    pub fn new(facts: &Facts<'_>, failed: &dyn Fn(u32) -> bool) -> Self {
        let mut lists = Lists::default();
        for (index, node) in facts.nodes.iter().enumerate() {
            if node.side != Side::Response || !node.is_list || failed(node.call) || lists.all.len() >= MOST_LISTS {
                continue;
            }
            lists.all.push(index as u32);
            lists.names.extend(node.words.last().map(|word| (index as u32, lexicon().meaning(word))));
            let in_list = node.parent.and_then(|parent| facts.node(parent)).is_some_and(|parent| {
                parent.is_list || parent.parent.and_then(|above| facts.node(above)).is_some_and(|above| above.is_list)
            });
            if !in_list {
                lists.top.push(index as u32);
                let first = facts.leaf(node.leaves.0).and_then(|leaf| leaf.node);
                let items = facts
                    .leaves
                    .iter()
                    .skip(node.leaves.0 as usize)
                    .take(MOST_KEYS)
                    .take_while(|leaf| leaf.node == first);
                let keys = items.filter_map(|leaf| match leaf.words {
                    [word] if !leaf.text.is_empty() => Some((index as u32, lexicon().meaning(word))),
                    _ => None,
                });
                lists.keys.extend(keys);
            }
        }
        lists
    }

    /// Whether a number says how long a list is, and rightly.
    pub fn counted(&self, reader: &Reader<'_, '_>, mention: &Mention<'_>) -> Option<Counted> {
        let What::Number(number) = mention.what else { return None };
        let told = number.readings.first().filter(|told| told.value.scale() == 0)?.value;
        if number.unit.is_some() || number.ordinal || number.range || mention.hedge != Hedge::None || mention.idle {
            return None;
        }
        let behind = reader.behind(mention);
        if behind.end == behind.first || reader.lower(behind.first) == "-" {
            return None;
        }
        let noun = behind.end - 1;
        let plain = behind.end - behind.first == 1;
        let node = match is_result_noun(reader.lower(noun)) {
            true => self.only_top()?,
            false => self.of_noun(reader.meanings.get(noun as usize)?)?,
        };
        let length = reader.facts.node(node)?.length;
        let agrees = told == length.into();
        // Fewer than there are may be those that fit: with a word between, or one behind, the number counts something narrower.
        let ends = reader.scan.tokens.get(behind.end as usize).is_none_or(|token| token.kind == TokenKind::Punctuation);
        let clear = plain && (told > length.into() || ends && says_found(reader, mention));
        (agrees || clear).then_some(Counted { node, length, agrees })
    }

    fn only_top(&self) -> Option<u32> {
        match self.top.as_slice() {
            [node] => Some(*node),
            _ => None,
        }
    }

    /// The only list that is called by this word.
    fn of_noun(&self, noun: &Meaning) -> Option<u32> {
        [&self.names, &self.keys].into_iter().find_map(|names| {
            let mut fitting = names.iter().filter(|(_, name)| name.shares(noun)).map(|(node, _)| *node);
            let only = fitting.next()?;
            Some(fitting.all(|other| other == only).then_some(only))
        })?
    }

    /// The lists that are in no other one.
    pub fn top(&self) -> &[u32] {
        &self.top
    }
}

fn is_result_noun(word: &str) -> bool {
    matches!(
        word,
        "result"
            | "results"
            | "match"
            | "matches"
            | "hit"
            | "hits"
            | "item"
            | "items"
            | "entry"
            | "entries"
            | "record"
            | "records"
            | "option"
            | "options"
    )
}

/// "I found four", "there are four", "the search returned four": all of them, not some.
fn says_found(reader: &Reader<'_, '_>, mention: &Mention<'_>) -> bool {
    (mention.tokens.first.saturating_sub(3)..mention.tokens.first)
        .all(|index| !matches!(reader.lower(index), "top" | "first" | "best" | "these"))
        && (mention.tokens.first.saturating_sub(3)..mention.tokens.first).any(|index| {
            matches!(
                reader.lower(index),
                "found" | "returned" | "there" | "are" | "were" | "got" | "turned" | "back" | "with" | "total"
            )
        })
}

/// "No documents matched", "I couldn't find anything": the clause says that there is nothing.
pub fn says_nothing_is_there(reader: &Reader<'_, '_>, clause: &Clause) -> bool {
    clause.modality == Modality::Asserted
        && (clause.tokens.first..clause.tokens.end).any(|index| {
            matches!(
                reader.lower(index),
                "no" | "none" | "nothing" | "not" | "n't" | "zero" | "empty" | "without" | "nobody" | "nowhere"
            )
        })
}

/// The same, of the results themselves: "no results", "nothing was found", "no events" of a list of events.
pub fn says_no_results(reader: &Reader<'_, '_>, clause: &Clause, list: u32) -> bool {
    if !says_nothing_is_there(reader, clause) {
        return false;
    }
    let words = clause.tokens.first..clause.tokens.end;
    let found = |word: &str| matches!(word, "found" | "find" | "matched" | "matches" | "returned" | "back");
    let there =
        |index: u32| reader.lower(index) == "there" && matches!(reader.lower(index + 1), "is" | "are" | "was" | "were");
    words.clone().any(|index| match reader.lower(index) {
        "nothing" => words.clone().any(|index| found(reader.lower(index))),
        "no" | "any" | "zero"
            if !matches!(reader.lower(index + 1), "other" | "more" | "further" | "longer" | "additional") =>
        {
            (index + 1..(index + 4).min(clause.tokens.end))
                .any(|index| is_result_noun(reader.lower(index)) || names(reader, list, reader.lower(index)))
                || there(index.saturating_sub(2))
        }
        _ => false,
    })
}

/// Is a list called by this word?
fn names(reader: &Reader<'_, '_>, list: u32, word: &str) -> bool {
    let meaning = lexicon().meaning(word);
    reader
        .facts
        .node(list)
        .is_some_and(|node| node.words.last().is_some_and(|word| lexicon().meaning(word).shares(&meaning)))
}
