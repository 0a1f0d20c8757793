//! Ids, addresses and quotes of a text in the texts of payloads: all are looked for at once, in one walk through the payloads.

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

use crate::grounding::facts::Facts;

/// Hits beyond these are not looked at.
const MOST_HITS: usize = 1_000_000;
/// What is shorter than this, folded, is found by chance.
const SHORTEST: usize = 2;

/// What is looked for.
#[derive(Debug)]
pub struct Needle {
    /// The mentions that it is of: one, or those of a group.
    pub mentions: Range<usize>,
    /// Another way to say what others are looked for.
    pub is_other: bool,
    folded: Folded,
    /// It may be the end of something longer: "ending in 4743".
    is_end: bool,
}

/// Where a needle was found.
#[derive(Clone, Copy, Debug)]
pub struct Hit {
    pub needle: usize,
    pub leaf: u32,
    /// It is the end of something longer.
    pub is_end: bool,
}

/// A text without case, accents and all but letters and digits, and where something was left out.
#[derive(Debug, Default)]
pub struct Folded {
    text: String,
    cuts: Vec<u32>,
}

impl Folded {
    pub fn new(text: &str) -> Self {
        let mut folded = Folded::default();
        folded.set(text);
        folded
    }

    fn set(&mut self, text: &str) {
        self.text.clear();
        self.cuts.clear();
        if text.is_ascii() {
            for byte in text.bytes() {
                self.push(char::from(byte.to_ascii_lowercase()));
            }
        } else {
            for c in text.nfkd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_lowercase) {
                self.push(c);
            }
        }
    }

    fn push(&mut self, c: char) {
        if c.is_alphanumeric() {
            let begins_version = c.is_ascii_digit()
                && self.text.ends_with('v')
                && self.text.len().checked_sub(1).is_some_and(|at| at == 0 || self.cuts.last() == Some(&(at as u32)));
            if begins_version {
                self.cuts.push(self.text.len() as u32);
            }
            self.text.push(c);
        } else {
            let here = self.text.len() as u32;
            if self.cuts.last() != Some(&here) {
                self.cuts.push(here);
            }
        }
    }

    fn is_edge(&self, at: usize) -> bool {
        at == 0 || at == self.text.len() || self.cuts.binary_search(&(at as u32)).is_ok()
    }

    pub fn text(&self) -> &str {
        &self.text
    }
}

impl Needle {
    /// None if too little is left of it to be looked for.
    pub fn new(mentions: Range<usize>, text: &str, is_end: bool) -> Option<Self> {
        // "v2.14.1" is 2.14.1.
        let version = text.strip_prefix(['v', 'V']).filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let folded = Folded::new(version.unwrap_or(text));
        (folded.text.len() >= SHORTEST).then_some(Needle { mentions, is_other: false, folded, is_end })
    }

    /// The mentions are looked for in another way too.
    pub fn or_else(self) -> Self {
        Needle { is_other: true, ..self }
    }

    /// May it be the end of something longer?
    pub fn is_end(&self) -> bool {
        self.is_end
    }

    pub fn folded(&self) -> &str {
        &self.folded.text
    }
}

/// Where the needles are in the texts of the leaves, by leaf; and whether that is all.
pub fn find(needles: &[Needle], facts: &Facts<'_>) -> (Vec<Hit>, bool) {
    let mut hits = Vec::new();
    if needles.is_empty() {
        return (hits, true);
    }
    // What a text says a thousand times is looked for once.
    let mut order: Vec<usize> = (0..needles.len()).collect();
    let key = |&index: &usize| needles.get(index).map(|needle| (needle.folded(), needle.is_end));
    order.sort_by(|a, b| key(a).cmp(&key(b)));
    let groups: Vec<&[usize]> = order.chunk_by(|a, b| key(a) == key(b)).collect();
    let of_group = |group: &[usize]| group.first().and_then(|&first| needles.get(first));
    let automaton = AhoCorasick::builder()
        .match_kind(MatchKind::Standard)
        .kind(Some(if groups.len() > 50 { AhoCorasickKind::ContiguousNFA } else { AhoCorasickKind::NoncontiguousNFA }))
        .build(groups.iter().map(|group| of_group(group).map_or("", Needle::folded)));
    let Ok(automaton) = automaton else { return (hits, false) };
    let mut folded = Folded::default();
    // The leaf in which each was found last: once in each is enough.
    let mut last = vec![u32::MAX; groups.len()];
    let mut looked_at = 0;
    for (leaf, found) in facts.leaves.iter().enumerate().filter(|(_, leaf)| !leaf.text.is_empty()) {
        folded.set(found.text);
        for hit in automaton.find_overlapping_iter(&folded.text) {
            looked_at += 1;
            if looked_at > MOST_HITS {
                return (hits, false);
            }
            let index = hit.pattern().as_usize();
            let Some(&group) = groups.get(index) else { continue };
            let Some(needle) = of_group(group) else { continue };
            let (starts, ends) = (folded.is_edge(hit.start()), folded.is_edge(hit.end()));
            if ends && (starts || needle.is_end) && last.get(index) != Some(&(leaf as u32)) {
                if let Some(last) = last.get_mut(index) {
                    *last = leaf as u32;
                }
                if hits.len() + group.len() > MOST_HITS {
                    return (hits, false);
                }
                hits.extend(group.iter().map(|&needle| Hit { needle, leaf: leaf as u32, is_end: !starts }));
            }
        }
    }
    (hits, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_accents_and_punctuation_make_no_difference() {
        for (a, b) in
            [("WH-1000XM4", "wh1000xm4"), ("Café “Zoë”", "cafe zoe"), ("Ａ１", "a1"), ("(555) 123-4567", "5551234567")]
        {
            assert_eq!(Folded::new(a).text, Folded::new(b).text);
        }
    }

    #[test]
    fn edges_are_where_words_end() {
        let folded = Folded::new("id: A-99812, ok");
        assert_eq!(folded.text, "ida99812ok");
        assert!([0, 2, 3, 8, 10].iter().all(|&at| folded.is_edge(at)));
        assert!(![1, 4, 7, 9].iter().any(|&at| folded.is_edge(at)));
    }
}
