//! Which record of the results a sentence is about: the player, the city, the product that it names.

use super::{
    lexicon::{Kind, lexicon},
    slots::label_of,
    wording::{Wording, words_of},
};
use crate::grounding::{
    facts::{Facts, Leaf, Step},
    scan::{Run, Scan, TokenKind, What},
};

/// The longest name, in words and in bytes.
const MOST_WORDS: usize = 6;
const MOST_BYTES: usize = 80;
/// How often names are found, and how many records of one name there may be, before no more are looked for.
const MOST_FOUND: usize = 20_000;
const MOST_OF_A_NAME: usize = 64;

/// A name in the text.
#[derive(Clone, Debug)]
pub struct Named {
    pub tokens: Run,
    /// The objects that have this name. None: a name that is in no result. Several: any of them may be meant.
    pub nodes: Vec<u32>,
    pub sentence: u32,
}

/// All names in the text, in its order; none overlaps another.
#[derive(Debug, Default)]
pub struct Records {
    pub named: Vec<Named>,
}

/// Where a name, or a part of one, was found.
struct Found {
    first: usize,
    words: usize,
    leaf: u32,
    whole: bool,
}

impl Records {
    pub fn new(scan: &Scan<'_>, facts: &Facts<'_>, results: &[u32], wording: &Wording<'_>) -> Self {
        let mut found = Vec::new();
        for &index in results {
            if let Some(leaf) = facts.leaf(index)
                && found.len() < MOST_FOUND
                && may_be_a_name(leaf)
                && may_be_told(leaf.text, wording)
                && names_something(leaf, facts, index)
            {
                find(leaf.text, index, wording, &mut found);
            }
        }
        Records { named: named(found, scan, facts, wording) }
    }

    pub fn in_sentence(&self, sentence: u32) -> &[Named] {
        let first = self.named.partition_point(|named| named.sentence < sentence);
        let end = self.named.partition_point(|named| named.sentence <= sentence);
        self.named.get(first..end).unwrap_or_default()
    }
}

/// May the text of this leaf be what its record is called, by itself and its key?
fn may_be_a_name(leaf: &Leaf<'_>) -> bool {
    let text = leaf.text.trim();
    if text.len() < 2 || text.len() > MOST_BYTES || !matches!(leaf.key, Step::Key(_)) || leaf.node.is_none() {
        return false;
    }
    text.chars().next().is_some_and(|first| first.is_uppercase() || first.is_ascii_digit())
        || leaf.words.iter().any(|word| lexicon().is(word, Kind::Name))
}

/// Is the first or the last word of it in the answer? Most texts of results are not, and need no closer look.
fn may_be_told(text: &str, wording: &Wording<'_>) -> bool {
    let last = text.rsplit(|c: char| !c.is_alphanumeric()).find(|part| !part.is_empty()).unwrap_or_default();
    wording.may_have(text) || wording.may_have(last)
}

/// Is it no value, and no label of one?
fn names_something(leaf: &Leaf<'_>, facts: &Facts<'_>, index: u32) -> bool {
    if facts.facts_of(index).iter().any(|fact| fact.whole && !matches!(fact.what, What::Id(_) | What::Quote(_))) {
        return false;
    }
    // {"name": "NFC", "value": "No"} is a value with a label, and no record.
    leaf.node.is_none_or(|node| label_of(node, facts) != Some(leaf.text))
}

fn find(text: &str, leaf: u32, wording: &Wording<'_>, found: &mut Vec<Found>) {
    let Some(name) = words_of(text, MOST_WORDS) else { return };
    let Some(first) = name.first() else { return };
    for place in wording.places(first).filter(|&place| wording.stands_at(place, &name)) {
        let run = wording.words.get(place..place + name.len()).unwrap_or_default();
        if run.iter().any(|word| word.capital || word.lower.len() > 3) {
            found.push(Found { first: place, words: name.len(), leaf, whole: true });
        }
    }
    // People are called by a part of their name, and so are products and places.
    if name.len() > 1 {
        for part in [name.first(), name.last()].into_iter().flatten().filter(|part| part.chars().count() > 2) {
            for place in wording.places(part) {
                if wording.words.get(place).is_some_and(|word| word.capital) {
                    found.push(Found { first: place, words: 1, leaf, whole: false });
                }
            }
        }
    }
}

/// The longest names win, and whole ones before parts.
fn named(mut found: Vec<Found>, scan: &Scan<'_>, facts: &Facts<'_>, wording: &Wording<'_>) -> Vec<Named> {
    found.sort_by_key(|found| (found.first, std::cmp::Reverse((found.words, found.whole)), found.leaf));
    let mut out: Vec<Named> = Vec::new();
    let mut next = 0;
    let mut index = 0;
    while let Some(longest) = found.get(index) {
        let same = found.iter().skip(index).take_while(|other| {
            (other.first, other.words, other.whole) == (longest.first, longest.words, longest.whole)
        });
        let leaves: Vec<u32> = same.map(|found| found.leaf).collect();
        let (first, count) = (longest.first, longest.words);
        index += leaves.len();
        if first < next {
            continue;
        }
        next = first + count;
        let tokens = wording.tokens(first, count);
        let nodes = owners(leaves.get(..MOST_OF_A_NAME).unwrap_or(&leaves), facts);
        let sentence = scan.tokens.get(tokens.first as usize).map_or(0, |token| token.sentence);
        push(&mut out, Named { tokens, nodes, sentence });
    }
    unknown_names(scan, &mut out);
    out
}

/// "Boston Celtics": two names of one record, side by side, are one.
fn push(out: &mut Vec<Named>, named: Named) {
    if let Some(last) = out.last_mut()
        && last.tokens.end == named.tokens.first
        && last.sentence == named.sentence
    {
        let both: Vec<u32> = last.nodes.iter().copied().filter(|node| named.nodes.contains(node)).collect();
        if !both.is_empty() {
            last.nodes = both;
            last.tokens.end = named.tokens.end;
            return;
        }
    }
    out.push(named);
}

/// The objects that these leaves are in. What several records of one list share (the city of all players of a team) names none of
/// them, if it names something else.
fn owners(leaves: &[u32], facts: &Facts<'_>) -> Vec<u32> {
    // By the list that a record is in (or the record itself) and the key of its name.
    let mut groups: Vec<(u32, Step<'_>, Vec<u32>)> = Vec::new();
    for leaf in leaves.iter().filter_map(|&leaf| facts.leaf(leaf)) {
        let Some(node) = leaf.node else { continue };
        let parent = facts.node(node).and_then(|node| node.parent);
        let list = parent.filter(|&parent| facts.node(parent).is_some_and(|parent| parent.is_list)).unwrap_or(node);
        match groups.iter_mut().find(|(known, key, _)| (*known, *key) == (list, leaf.key)) {
            Some((.., nodes)) => nodes.push(node),
            None => groups.push((list, leaf.key, vec![node])),
        }
    }
    let alone = groups.iter().any(|(.., nodes)| nodes.len() == 1);
    let mut own: Vec<u32> =
        groups.into_iter().filter(|(.., nodes)| !alone || nodes.len() == 1).flat_map(|(.., nodes)| nodes).collect();
    own.sort_unstable();
    own.dedup();
    own
}

/// Two capitalised words or more that are no name of a result: somebody or something else may be meant.
fn unknown_names(scan: &Scan<'_>, out: &mut Vec<Named>) {
    let mut more = Vec::new();
    let mut known = vec![false; scan.tokens.len()];
    for named in out.iter() {
        known
            .iter_mut()
            .take(named.tokens.end as usize)
            .skip(named.tokens.first as usize)
            .for_each(|known| *known = true);
    }
    for (sentence, found) in scan.sentences.iter().enumerate() {
        let mut run: Option<Run> = None;
        for index in found.tokens.first..=found.tokens.end {
            let token = scan.tokens.get(index as usize).filter(|_| index < found.tokens.end);
            let capital = token.is_some_and(|token| {
                token.kind == TokenKind::Word
                    && token.mention.is_none()
                    && scan
                        .text
                        .get(token.span.start as usize..token.span.end as usize)
                        .is_some_and(|text| text.chars().next().is_some_and(char::is_uppercase) && text.len() > 1)
            });
            let known = known.get(index as usize).copied().unwrap_or_default();
            match (&mut run, capital && !known) {
                (Some(run), true) => run.end = index + 1,
                (None, true) => run = Some(Run { first: index, end: index + 1 }),
                (_, false) => {
                    if let Some(run) =
                        run.take().filter(|run| run.end - run.first > 1 && run.first > found.tokens.first)
                    {
                        more.push(Named { tokens: run, nodes: Vec::new(), sentence: sentence as u32 });
                    }
                }
            }
        }
    }
    out.extend(more);
    out.sort_by_key(|named| named.tokens.first);
}
