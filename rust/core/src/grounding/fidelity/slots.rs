//! Which value of the results a number in the text is about: the words around it lead to a key, names and dates to a record.
//!
//! A number that some result has may still stand in the wrong place. It is held against a value only where the words of the text
//! leave no other choice: one key, and one record (or all of them, where no record has it under that key).

use std::{
    borrow::Cow,
    cell::{Cell, OnceCell},
};

use foldhash::{HashMap, HashMapExt};

use super::{
    lexicon::{Concept, Kind, Kinds, Meaning, lexicon},
    records::{Named, Records},
};
use crate::grounding::{
    facts::{Fact, Facts, Leaf, PerKey, Step, Traits},
    scan::{Mention, Number, Run, Scan, Span, Token, TokenKind, Unit, What},
    units,
};

/// How many keys, and how many values of one key, are looked at.
const MOST_SLOTS: usize = 512;
const MOST_LEAVES: usize = 4096;
/// So many values of one key are told apart by the words around them.
const MOST_TOLD_APART: usize = 64;
/// So many objects and lists around a value say which one it is.
const MOST_AROUND: usize = 4;
/// How far back the beginning of a contrast is looked for, in tokens.
const FARTHEST: u32 = 128;

/// How many of the values that say a number are asked whether they are much like another one.
const MOST_LIKE: usize = 16;

/// The values under one key, wherever in the results it stands.
#[derive(Debug)]
pub struct Slot {
    /// What the key is about, a meaning for each of its words: all have to be in the text.
    pub needs: Vec<Meaning>,
    /// In their order.
    pub leaves: Vec<u32>,
    /// Whether what is around them has the same words for all of them, so that these tell none from another.
    uniform: OnceCell<bool>,
}

#[derive(Debug, Default)]
pub struct Slots {
    pub slots: Vec<Slot>,
    by_concept: HashMap<Concept, Vec<u32>>,
}

/// The words before and behind a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Behind,
    Before,
}

impl Slots {
    pub fn new(facts: &Facts<'_>, results: &[u32], aliases: &std::collections::BTreeMap<String, Vec<String>>) -> Self {
        let mut out = Slots { slots: Vec::new(), by_concept: HashMap::new() };
        // A key that says something by itself is one slot; one that doesn't ("value") is one with what is around it.
        let mut saying: PerKey<bool> = PerKey::default();
        let mut known: PerKey<Option<u32>> = PerKey::default();
        let mut known_in: HashMap<(u32, Option<u32>), Option<u32>> = HashMap::new();
        for &index in results {
            let Some(leaf) = facts.leaf(index) else { continue };
            if leaf.technical || leaf.traits.has(Traits::IGNORED) || !facts.facts_of(index).iter().any(is_value) {
                continue;
            }
            let new = || {
                let needs = needs(leaf, facts);
                (!needs.is_empty() && out.slots.len() < MOST_SLOTS).then(|| out.add(needs))
            };
            let slot = *match *saying.get_or_insert_with(leaf.words_id, || says_something(leaf.words)) {
                true => known.get_or_insert_with(leaf.words_id, new),
                false => known_in.entry((leaf.words_id, leaf.node)).or_insert_with(new),
            };
            if let Some(slot) = slot.and_then(|slot| out.slots.get_mut(slot as usize))
                && slot.leaves.len() < MOST_LEAVES
            {
                slot.leaves.push(index);
            }
            if let Step::Key(key) = leaf.key
                && let Some(words) = aliases.get(key)
            {
                for alias in words {
                    let needs: Vec<Meaning> =
                        alias.split_whitespace().map(|word| lexicon().meaning(&word.to_lowercase())).collect();
                    let slot = out.add(needs);
                    if let Some(slot) = out.slots.get_mut(slot as usize) {
                        slot.leaves.push(index);
                    }
                }
            }
        }
        out
    }

    /// Is this a word of a key?
    pub fn has_word(&self, word: &str) -> bool {
        lexicon().meaning(word).iter().any(|concept| self.by_concept.contains_key(&concept))
    }

    /// A slot for these words: a known one, if there is one that needs the same.
    fn add(&mut self, needs: Vec<Meaning>) -> u32 {
        let first = needs.first().and_then(|need| need.iter().next());
        let candidates = first.and_then(|concept| self.by_concept.get(&concept)).map(Vec::as_slice).unwrap_or_default();
        let same = |slot: &&u32| {
            self.slots.get(**slot as usize).is_some_and(|slot| {
                slot.needs.len() == needs.len()
                    && slot.needs.iter().zip(&needs).all(|(one, other)| one.iter().eq(other.iter()))
            })
        };
        if let Some(&slot) = candidates.iter().find(same) {
            return slot;
        }
        let slot = self.slots.len() as u32;
        for concept in needs.iter().flat_map(Meaning::iter) {
            self.by_concept.entry(concept).or_default().push(slot);
        }
        self.slots.push(Slot { needs, leaves: Vec::new(), uniform: OnceCell::new() });
        slot
    }

    /// The only slot whose words are all in `words`.
    pub fn only_of(&self, words: &[Meaning]) -> Option<&Slot> {
        self.slots.get(self.covered(words.iter().copied())? as usize)
    }

    /// The slot whose words are all in `words`; of several, the one with the most words, if there is only one.
    fn covered(&self, words: impl Iterator<Item = Meaning> + Clone) -> Option<u32> {
        let (mut best, mut only, mut several) = (0, None, false);
        for concept in words.clone().flat_map(|word| word.iter()) {
            for &index in self.by_concept.get(&concept).map(Vec::as_slice).unwrap_or_default() {
                let Some(slot) = self.slots.get(index as usize) else { continue };
                if slot.needs.len() < best || only == Some(index) {
                    continue;
                }
                if slot.needs.iter().all(|need| words.clone().any(|word| word.shares(need))) {
                    several = slot.needs.len() == best;
                    (best, only) = (slot.needs.len(), Some(index));
                }
            }
        }
        only.filter(|_| !several)
    }
}

fn is_number(fact: &Fact<'_>) -> bool {
    !fact.loose && matches!(fact.what, What::Number(number) if !number.ordinal)
}

/// Something that a mention may be held against: a number, or a time.
fn is_value(fact: &Fact<'_>) -> bool {
    is_number(fact) || !fact.loose && matches!(fact.what, What::Time(_) | What::Moment(..))
}

fn says_something(words: &[&str]) -> bool {
    words.iter().any(|word| !lexicon().is(word, Kind::Empty))
}

/// What a key is about: its own words, or those of the label beside it, or those of what it is in.
fn needs(leaf: &Leaf<'_>, facts: &Facts<'_>) -> Vec<Meaning> {
    let own = telling(leaf.words, leaf.unit.is_some());
    if !own.is_empty() {
        return own;
    }
    let Some(node) = leaf.node else { return Vec::new() };
    if let Some(label) = label_of(node, facts) {
        let words: Vec<String> = label
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        return if words.len() > 4 { Vec::new() } else { telling(&words, false) };
    }
    let mut next = Some(node);
    while let Some(node) = next.and_then(|index| facts.node(index)) {
        let words = telling(node.words, leaf.unit.is_some());
        if !words.is_empty() {
            return words;
        }
        next = node.parent;
    }
    Vec::new()
}

fn telling(words: &[&str], has_unit: bool) -> Vec<Meaning> {
    let mut words = words;
    if has_unit
        && let Some((last, rest)) = words.split_last()
        && !rest.is_empty()
        && lexicon().is(last, Kind::Unit)
    {
        words = rest;
    }
    words.iter().filter(|word| !lexicon().is(word, Kind::Empty)).map(|word| lexicon().meaning(word)).collect()
}

/// In `{"name": "Humidity", "value": 81}`: "Humidity". Only where all other values of the object are under empty keys.
pub fn label_of<'a>(node: u32, facts: &Facts<'a>) -> Option<&'a str> {
    let leaves = facts.node(node)?.leaves;
    let mut label = None;
    // A label and its value are a small object: what has more in it is a record.
    if leaves.1.saturating_sub(leaves.0) > 6 {
        return None;
    }
    let mut values = false;
    for leaf in facts.leaves.get(leaves.0 as usize..leaves.1 as usize)?.iter().filter(|leaf| leaf.node == Some(node)) {
        let is_label = leaf.words.iter().any(|word| lexicon().is(word, Kind::Label)) && !leaf.text.is_empty();
        if is_label && label.is_none() {
            label = Some(leaf.text);
        } else if leaf.words.iter().all(|word| lexicon().is(word, Kind::Empty)) {
            values = true;
        }
    }
    label.filter(|_| values)
}

/// What is said about one sentence's numbers.
pub struct Reader<'r, 'a> {
    pub scan: &'r Scan<'a>,
    pub facts: &'r Facts<'a>,
    pub slots: &'r Slots,
    pub records: &'r Records,
    /// Of each token.
    pub meanings: &'r [Meaning],
    pub kinds: &'r [Kinds],
    /// The mention that a slot was looked for last, and the slot: it is asked for more than once.
    pub last_slot: Cell<Option<(Span, FoundSlot)>>,
}

/// A slot, and on which side of the number the words stand that lead to it.
pub type FoundSlot = Option<(u32, Side)>;

/// What a number is held against.
#[derive(Debug)]
pub enum Target<'l> {
    /// This value, and no other.
    One(u32),
    /// One of these: which, the text does not say.
    Any(Cow<'l, [u32]>),
}

impl<'a> Reader<'_, 'a> {
    fn token(&self, index: u32) -> Option<&Token<'a>> {
        self.scan.tokens.get(index as usize)
    }

    pub fn lower(&self, index: u32) -> &str {
        self.token(index).map_or("", |token| token.lower)
    }

    /// Is a token a word of this kind?
    pub fn is(&self, index: u32, kind: Kind) -> bool {
        self.kinds.get(index as usize).is_some_and(|kinds| kinds.has(kind))
    }

    /// The words behind a number that say what it counts: "18-point", "12 assists per game".
    pub fn behind(&self, mention: &Mention<'_>) -> Run {
        let end = self.scan.clauses.get(mention.clause as usize).map_or(0, |clause| clause.tokens.end);
        let first = mention.tokens.end;
        let mut index = first;
        while index < end && index < first + 5 {
            let Some(token) = self.token(index) else { break };
            let hyphen =
                token.kind == TokenKind::Punctuation && matches!(token.lower, "-" | "‑" | "–") && index == first;
            if token.mention.is_some() || (token.kind != TokenKind::Word && !hyphen) || self.is(index, Kind::EndsNoun) {
                break;
            }
            index += 1;
        }
        Run { first, end: index }
    }

    /// The words before a number, back to the number before it (and what that one counts) or the beginning of its clause.
    pub fn before(&self, mention: &Mention<'_>) -> Run {
        let clause = self.scan.clauses.get(mention.clause as usize).map_or(0, |clause| clause.tokens.first);
        let mut index = mention.tokens.first;
        while index > clause && index + 12 > mention.tokens.first {
            let Some(token) = self.token(index - 1) else { break };
            if let Some(other) = token.mention.and_then(|other| self.scan.mentions.get(other as usize)) {
                // "With €5 shipping that's €57": the shipping is €5.
                index = index.max(self.behind(other).end).min(mention.tokens.first);
                break;
            }
            if matches!(token.lower, "," | ";" | "(" | "and" | "or" | "but" | "while") {
                break;
            }
            index -= 1;
        }
        Run { first: index, end: mention.tokens.first }
    }

    fn meanings_of(&self, run: Run) -> impl Iterator<Item = Meaning> + Clone {
        (run.first..run.end)
            .filter(|&index| self.token(index).is_some_and(|token| token.kind == TokenKind::Word))
            .filter_map(|index| self.meanings.get(index as usize).copied())
    }

    /// The slot that words lead to, and how many words that slot has.
    fn led_to(&self, words: impl Iterator<Item = Meaning> + Clone) -> Option<(u32, usize)> {
        let slot = self.slots.covered(words)?;
        Some((slot, self.slots.slots.get(slot as usize)?.needs.len()))
    }

    /// Which slot the words around a number lead to.
    pub fn slot(&self, mention: &Mention<'_>) -> FoundSlot {
        if let Some((span, slot)) = self.last_slot.get()
            && span == mention.span
        {
            return slot;
        }
        let slot = self.look_for_slot(mention);
        self.last_slot.set(Some((mention.span, slot)));
        slot
    }

    fn look_for_slot(&self, mention: &Mention<'_>) -> FoundSlot {
        let behind = self.behind(mention);
        if self.lower(mention.tokens.end) == "-" && !self.is_a_feat(behind) {
            return None;
        }
        // "35 minutes": the unit may be what the key is called. "3Pt" is no number of points.
        let joined = self
            .scan
            .text
            .get(mention.core.end as usize..)
            .and_then(|rest| rest.chars().next())
            .is_some_and(char::is_alphabetic);
        let itself = if joined { Run { first: 0, end: 0 } } else { mention.tokens };
        if let Some((slot, _)) = self.led_to(self.meanings_of(itself).chain(self.meanings_of(behind))) {
            return Some((slot, Side::Behind));
        }
        // "14 on hand": the key itself has a word behind which no noun goes on.
        let further = Run { first: mention.tokens.end, end: mention.tokens.end + 2 };
        if let Some((slot, 2..)) = self.led_to(self.meanings_of(further)) {
            return Some((slot, Side::Behind));
        }
        // "3 tickets": what is counted is no slot, so what stands before is about something else.
        if !self.counts_nothing(mention) {
            return None;
        }
        // "iPhone 15": the number is a part of a name.
        let money = matches!(mention.what, What::Number(Number { unit: Some(Unit::Currency { .. }), .. }));
        if !money && self.follows_a_capital(mention) {
            return None;
        }
        let before = self.meanings_of(self.before(mention));
        if let Some((slot, _)) = self.led_to(before.clone()) {
            return Some((slot, Side::Before));
        }
        // "Adults pay €14" is about the price of adults: what the unit says counts, where other words say more.
        if let What::Number(Number { unit: Some(unit), .. }) = mention.what
            && before.clone().next().is_some()
        {
            let implied = lexicon().implied(units::dimension(unit)).iter().copied();
            if let Some((slot, words)) = self.led_to(before.chain(implied))
                && (words > 1 || !self.records.in_sentence(mention.sentence).is_empty())
            {
                return Some((slot, Side::Before));
            }
        }
        None
    }

    fn follows_a_capital(&self, mention: &Mention<'_>) -> bool {
        let first = self.scan.sentences.get(mention.sentence as usize).map_or(0, |sentence| sentence.tokens.first);
        mention.tokens.first > first + 1
            && self.token(mention.tokens.first - 1).is_some_and(|token| {
                let text = self.scan.text.get(token.span.start as usize..token.span.end as usize).unwrap_or_default();
                token.kind == TokenKind::Word && text.chars().next().is_some_and(char::is_uppercase)
            })
    }

    /// "18-point, 12-rebound effort": does what a number is joined to with a hyphen tell what somebody did?
    fn is_a_feat(&self, behind: Run) -> bool {
        (behind.first..behind.end + 8)
            .take_while(|&index| {
                let word = self.lower(index);
                !(self.is(index, Kind::EndsNoun) && word != "and" || matches!(word, "." | ";" | ":" | "("))
            })
            .any(|index| self.is(index, Kind::Feat))
    }

    /// Does the clause say that a number may be of more than one record, of another time, or a difference?
    pub fn is_of_a_group(&self, mention: &Mention<'_>, slot: &Slot) -> bool {
        let Some(clause) = self.scan.clauses.get(mention.clause as usize) else { return true };
        // The key itself may be about a total or an average.
        let of_the_slot = |index: u32| {
            self.meanings.get(index as usize).is_some_and(|meaning| slot.needs.iter().any(|need| need.shares(meaning)))
        };
        (clause.tokens.first..clause.tokens.end).any(|index| self.is(index, Kind::Group) && !of_the_slot(index))
    }

    /// "by 5", "5 more", "up 5": by how much, not how much.
    pub fn is_a_change(&self, mention: &Mention<'_>) -> bool {
        let near = |index: u32| self.is(index, Kind::Change);
        let first = mention.tokens.first;
        // "nine points over the Celtics"
        let over = matches!(self.lower(self.behind(mention).end), "over" | "above" | "below" | "ahead" | "behind");
        over || (first.saturating_sub(2)..first).chain(mention.tokens.end..mention.tokens.end + 2).any(near)
    }

    /// The values of a slot that a number may be about, by the records that its sentence names.
    pub fn target<'l>(&self, mention: &Mention<'_>, slot: &'l Slot) -> Option<Target<'l>> {
        let told_apart = || !*slot.uniform.get_or_init(|| self.is_uniform(&slot.leaves));
        let mut about = self.about_some(mention.sentence, mention.tokens, &slot.leaves, told_apart)?;
        match about.len() {
            0..=MOST_TOLD_APART => {
                let fits = |leaf: &u32| self.units_fit(mention, *leaf);
                if !about.iter().all(fits) {
                    about.to_mut().retain(fits);
                }
            }
            // Of very many, the first one stands for all.
            _ => {
                about.first().filter(|&&leaf| self.units_fit(mention, leaf))?;
            }
        }
        match about.as_ref() {
            [] => None,
            [leaf] => Some(Target::One(*leaf)),
            _ => Some(Target::Any(about)),
        }
    }

    /// Those of `leaves` that a place in the text is about, by the record that its sentence names and the words of keys further up.
    /// None: more than one record could be meant.
    pub fn about<'l>(&self, sentence: u32, tokens: Run, leaves: &'l [u32]) -> Option<Cow<'l, [u32]>> {
        self.about_some(sentence, tokens, leaves, || true)
    }

    fn about_some<'l>(
        &self,
        sentence: u32,
        tokens: Run,
        leaves: &'l [u32],
        told_apart: impl Fn() -> bool,
    ) -> Option<Cow<'l, [u32]>> {
        let leaves = match self.subject(sentence, tokens)? {
            Subject::Nobody => leaves,
            Subject::Record(node) => self.of_record(node, leaves),
        };
        Some(match leaves.len() {
            2..=MOST_TOLD_APART if told_apart() => Cow::Owned(self.qualified(tokens, leaves)),
            _ => Cow::Borrowed(leaves),
        })
    }

    /// Where no word names a key: the only number of the record that a sentence is about.
    pub fn only_number(&self, mention: &Mention<'_>) -> Option<u32> {
        let Subject::Record(node) = self.subject(mention.sentence, mention.tokens)? else { return None };
        let leaves = self.facts.node(node)?.leaves;
        if leaves.1.saturating_sub(leaves.0) > 12 || self.is_one_of_a_pair(mention) {
            return None;
        }
        let mut numbers = (leaves.0..leaves.1).filter(|&leaf| {
            self.facts.leaf(leaf).is_some_and(|found| !found.technical && !found.failed && says_something(found.words))
                && self.facts.facts_of(leaf).iter().any(|fact| fact.whole && is_number(fact))
                && self.units_fit(mention, leaf)
        });
        let only = numbers.next()?;
        numbers.next().is_none().then_some(only)
    }

    /// Is there no word behind a number that it could count?
    pub fn counts_nothing(&self, mention: &Mention<'_>) -> bool {
        let behind = self.behind(mention);
        (behind.first..behind.end).all(|index| self.is(index, Kind::Beside))
    }

    /// "54:48"
    pub fn is_part_of_a_time(&self, mention: &Mention<'_>) -> bool {
        if !matches!(mention.what, What::Number(_)) {
            return false;
        }
        let number = |index: u32| self.token(index).is_some_and(|token| token.mention.is_some());
        let first = mention.tokens.first;
        let end = mention.tokens.end;
        self.lower(end) == ":" && number(end + 1)
            || first.checked_sub(2).is_some_and(|before| self.lower(first - 1) == ":" && number(before))
    }

    /// "3–1", "8-of-13": a score, or another pair of numbers.
    pub fn is_one_of_a_pair(&self, mention: &Mention<'_>) -> bool {
        let joins =
            |index: u32| matches!(self.lower(index), "-" | "–" | "—" | ":" | "/" | "of" | "to" | "for" | "x" | "×");
        let number = |index: u32| self.token(index).is_some_and(|token| token.mention.is_some());
        let first = mention.tokens.first;
        first.checked_sub(2).is_some_and(|before| joins(first - 1) && number(before))
            || joins(mention.tokens.end) && number(mention.tokens.end + 1)
    }

    /// Is one of these values, which is none of the slot's, under keys that have all that the slot needs? ("prices/economy" and "price_max" are
    /// prices, "child_price" is no adult price.)
    pub fn has_one_like(&self, leaves: &[u32], slot: &Slot) -> bool {
        // The items of a list have the same keys: what was looked at is not looked at again.
        let mut known: Vec<u32> = Vec::new();
        let others = leaves.iter().filter(|leaf| slot.leaves.binary_search(leaf).is_err());
        others.take(MOST_LIKE).filter_map(|&leaf| Some((leaf, self.facts.leaf(leaf)?))).any(|(index, leaf)| {
            if known.contains(&leaf.words_id) {
                return false;
            }
            known.push(leaf.words_id);
            let around = self.facts.around(index).take(3).flat_map(|(_, node)| node.words);
            let meanings: Vec<Meaning> = leaf.words.iter().chain(around).map(|word| lexicon().meaning(word)).collect();
            slot.needs.iter().all(|need| meanings.iter().any(|meaning| meaning.shares(need)))
        })
    }

    /// Those of `leaves` that are in a record, or in what it is the name of: `{"team": {"name": …}, "score": …}`.
    fn of_record<'l>(&self, node: u32, leaves: &'l [u32]) -> &'l [u32] {
        let mut next = Some(node);
        while let Some(node) = next.and_then(|index| self.facts.node(index)) {
            if node.is_list {
                break;
            }
            let first = leaves.partition_point(|&leaf| leaf < node.leaves.0);
            let end = leaves.partition_point(|&leaf| leaf < node.leaves.1);
            let inside = leaves.get(first..end).unwrap_or_default();
            if !inside.is_empty() {
                return inside;
            }
            next = node.parent;
        }
        &[]
    }

    /// Of several values of one slot, those whose keys further up stand in the clause too: "home", "tomorrow", "wind".
    fn qualified(&self, tokens: Run, leaves: &[u32]) -> Vec<u32> {
        let clause = self.token(tokens.first).and_then(|token| self.scan.clauses.get(token.clause as usize));
        let Some(clause) = clause else { return leaves.to_vec() };
        let words: Vec<Meaning> = self.meanings_of(clause.tokens).collect();
        let mut known = Known { words: &words, counts: Vec::new() };
        let scores: Vec<usize> = leaves.iter().map(|&leaf| self.words_around(leaf, &mut known)).collect();
        let best = scores.iter().copied().max().unwrap_or_default();
        leaves.iter().zip(&scores).filter(|(_, score)| **score == best).map(|(leaf, _)| *leaf).collect()
    }

    /// Are the keys further up the same for all of these, without labels?
    fn is_uniform(&self, leaves: &[u32]) -> bool {
        let around = |leaf: u32| self.facts.around(leaf).take(MOST_AROUND);
        let keys = |leaf: u32| around(leaf).map(|(_, node)| (matches!(node.key, Step::Key(_)), node.words_id));
        let Some(&first) = leaves.first() else { return true };
        leaves.iter().all(|&leaf| {
            keys(leaf).eq(keys(first)) && around(leaf).all(|(node, _)| label_of(node, self.facts).is_none())
        })
    }

    /// How many words of the keys and labels around a leaf are in a clause.
    fn words_around(&self, leaf: u32, known: &mut Known<'_>) -> usize {
        let mut count = 0;
        for (index, node) in self.facts.around(leaf).take(MOST_AROUND) {
            if matches!(node.key, Step::Key(_)) {
                count += known.count(node.words_id, node.words);
            }
            if let Some(label) = label_of(index, self.facts) {
                count +=
                    label.split(|c: char| !c.is_alphanumeric()).filter(|word| known.has(&word.to_lowercase())).count();
            }
        }
        count
    }

    /// Whom or what the number is told of. None: more than one could be meant.
    fn subject(&self, sentence: u32, tokens: Run) -> Option<Subject> {
        let named = self.records.in_sentence(sentence);
        let first = self.contrast(sentence, tokens);
        let from = named.partition_point(|named| named.tokens.first < first);
        let until = named.partition_point(|named| named.tokens.end <= tokens.first);
        let before: Vec<&Named> = named.get(from..until).unwrap_or_default().iter().collect();
        // "12 points from Gordon", "$20 for the mug"
        let behind = named.iter().skip(until).find(|named| named.tokens.first >= tokens.end).filter(|named| {
            named.tokens.first <= tokens.end + 5 && self.stands_behind(named, &["from", "by", "for", "of", "in", "at"])
        });
        if let Some(nearest) = before.last()
            && self.is_beside(nearest, tokens)
        {
            return one_record(nearest);
        }
        if let Some(behind) = behind {
            // "19 °C in Cairo and 24 °C in Lima": what stands right behind it goes with it.
            let close =
                behind.tokens.first <= tokens.end + 2 && self.stands_behind(behind, &["in", "for", "at", "from"]);
            if before.is_empty() || close {
                return one_record(behind);
            }
            if !self.stands_behind(behind, &["by"]) {
                return None;
            }
        }
        if let Some(by) = before.iter().rev().find(|named| self.stands_behind(named, &["by"])) {
            return one_record(by);
        }
        let subjects: Vec<&&Named> = before
            .iter()
            .filter(|named| {
                !self.stands_behind(
                    named,
                    &["for", "over", "against", "of", "to", "past", "upon", "behind", "than", "with"],
                )
            })
            .collect();
        let candidates = if subjects.is_empty() { before.iter().collect() } else { subjects };
        let Some(first) = candidates.first() else { return Some(Subject::Nobody) };
        if candidates.iter().all(|named| named.nodes == first.nodes) {
            return one_record(first);
        }
        None
    }

    /// Where what is contrasted with what was said before begins: behind "while", "whereas", a semicolon.
    fn contrast(&self, sentence: u32, tokens: Run) -> u32 {
        let first = self.scan.sentences.get(sentence as usize).map_or(0, |sentence| sentence.tokens.first);
        let first = first.max(tokens.first.saturating_sub(FARTHEST));
        (first..tokens.first)
            .rev()
            .find(|&index| matches!(self.lower(index), "while" | "whereas" | ";" | "but"))
            .map_or(first, |index| index + 1)
    }

    /// Does one of these words stand before a name, a "the" between them aside?
    fn stands_behind(&self, named: &Named, words: &[&str]) -> bool {
        let mut before = named.tokens.first.checked_sub(1);
        if before.is_some_and(|index| matches!(self.lower(index), "the" | "a" | "an")) {
            before = before.and_then(|index| index.checked_sub(1));
        }
        before.is_some_and(|index| words.contains(&self.lower(index)))
    }

    /// "Gordon's 12 points", "Gordon (12 points": nothing but a possessive or a bracket is between them.
    fn is_beside(&self, named: &Named, tokens: Run) -> bool {
        tokens.first.saturating_sub(named.tokens.end) <= 2
            && (named.tokens.end..tokens.first)
                .all(|index| matches!(self.lower(index), "'s" | "'" | "’" | "s" | "(" | ":" | "-" | "–" | "—"))
    }

    /// "10 km", where the value has no unit: whether they are the same, nobody knows. Where the unit is what the key is called, it is.
    pub fn has_an_unknown_unit(&self, mention: &Mention<'_>, slot: &Slot, leaf: u32) -> bool {
        let What::Number(told) = mention.what else { return false };
        let called = || self.meanings_of(mention.tokens).any(|word| slot.needs.iter().any(|need| need.shares(&word)));
        matches!(told.unit, Some(Unit::Measure(_)))
            && !called()
            && !self
                .facts
                .facts_of(leaf)
                .iter()
                .any(|fact| matches!(fact.what, What::Number(number) if number.unit.is_some()))
    }

    /// Does the sentence name one record, and no other, so that there is no choice?
    pub fn names_one(&self, mention: &Mention<'_>) -> bool {
        let first = self.contrast(mention.sentence, mention.tokens);
        let mut named = self.records.in_sentence(mention.sentence).iter().filter(|named| named.tokens.first >= first);
        named.next().is_some_and(|named| named.nodes.len() == 1) && named.next().is_none()
    }

    /// Could the number be one of this leaf's, by its unit?
    fn units_fit(&self, mention: &Mention<'_>, leaf: u32) -> bool {
        let told = match mention.what {
            What::Number(told) => told,
            What::Time(_) => {
                let facts = self.facts.facts_of(leaf);
                return facts.iter().any(|fact| fact.whole && matches!(fact.what, What::Time(_) | What::Moment(..)));
            }
            _ => return false,
        };
        self.facts.facts_of(leaf).iter().filter(|fact| is_number(fact)).any(|fact| match fact.what {
            // One of several numbers in a text is meant only where it has the same unit.
            What::Number(number) if !fact.whole => told.unit.is_some() && told.unit == number.unit,
            What::Number(number) => same_kind(&told, &number),
            _ => false,
        })
    }
}

/// The words of a clause, and how many of those of a key are among them: the items of a list have the same keys.
struct Known<'k> {
    words: &'k [Meaning],
    /// By the id of its words.
    counts: Vec<(u32, usize)>,
}

impl Known<'_> {
    fn has(&self, word: &str) -> bool {
        let meaning = lexicon().meaning(word);
        self.words.iter().any(|known| known.shares(&meaning))
    }

    fn count(&mut self, id: u32, key: &[&str]) -> usize {
        if let Some((_, count)) = self.counts.iter().find(|(known, _)| *known == id) {
            return *count;
        }
        let count = key.iter().filter(|word| self.has(word)).count();
        self.counts.push((id, count));
        count
    }
}

enum Subject {
    Nobody,
    Record(u32),
}

fn one_record(named: &Named) -> Option<Subject> {
    match named.nodes.as_slice() {
        [node] => Some(Subject::Record(*node)),
        _ => None,
    }
}

/// Units that can't be compared are of different things; a number without one may be of anything but money and percent.
fn same_kind(told: &Number<'_>, fact: &Number<'_>) -> bool {
    match (told.unit, fact.unit) {
        (Some(Unit::Currency { .. }), Some(Unit::Currency { .. })) | (Some(Unit::Percent), Some(Unit::Percent)) => true,
        (Some(Unit::Measure(one)), Some(Unit::Measure(other))) => one == other,
        (Some(_), Some(_)) => false,
        _ => true,
    }
}
