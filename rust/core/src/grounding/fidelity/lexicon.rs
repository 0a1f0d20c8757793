//! The words of keys and texts: which mean the same, and which say how a number is meant.

use std::{
    cell::RefCell,
    hash::{BuildHasher, Hasher},
    sync::LazyLock,
};

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use rust_stemmers::{Algorithm, Stemmer};

/// What a word means: all words of a line of `[same]` mean the same, and any word means its stem.
pub type Concept = u64;

/// All that a word may mean.
#[derive(Clone, Copy, Debug, Default)]
pub struct Meaning {
    concepts: [Concept; 3],
    count: u8,
}

impl Meaning {
    pub fn iter(&self) -> impl Iterator<Item = Concept> + use<> {
        self.concepts.into_iter().take(self.count.into())
    }

    /// What the word means by itself.
    pub fn stem(&self) -> Concept {
        self.iter().last().unwrap_or_default()
    }

    pub fn shares(&self, other: &Meaning) -> bool {
        self.iter().any(|concept| other.iter().any(|their| their == concept))
    }

    fn add(&mut self, concept: Concept) {
        if !self.iter().any(|known| known == concept)
            && let Some(place) = self.concepts.get_mut(usize::from(self.count))
        {
            *place = concept;
            self.count += 1;
        }
    }
}

/// What a word says beside what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing of what the value of a key is.
    Empty = 1,
    /// The unit at the end of a key.
    Unit = 1 << 1,
    /// The number may be of more than what one record says, or of another time.
    Group = 1 << 2,
    /// It is by how much, not how much.
    Change = 1 << 3,
    Most = 1 << 4,
    Least = 1 << 5,
    /// A key under which a record has its name.
    Name = 1 << 6,
    /// A key whose text says what the value beside it is.
    Label = 1 << 7,
    /// A noun that tells what somebody did by a number: "an 18-point effort".
    Feat = 1 << 8,
    /// A key whose text says what state something is in.
    State = 1 << 9,
    /// A key of where something begins.
    From = 1 << 10,
    /// A key of where something ends.
    To = 1 << 11,
    /// A word that is in any text.
    Common = 1 << 12,
    /// Behind such a word no noun goes on.
    EndsNoun = 1 << 13,
    /// It may stand behind a number without being what is counted.
    Beside = 1 << 14,
    /// It may stand before the words of a key without belonging to them.
    Before = 1 << 15,
    /// Behind such a word it is told what something is or has.
    Predicate = 1 << 16,
    /// Something in the sentence may be denied by it.
    Denial = 1 << 17,
    /// It may stand behind the words of a key without making something else of them.
    Facility = 1 << 18,
    /// It is said where a number was worked out of others.
    Reckoned = 1 << 19,
}

/// All kinds that a word is of.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kinds(u32);

impl Kinds {
    pub fn has(self, kind: Kind) -> bool {
        self.0 & kind as u32 != 0
    }
}

impl Kind {
    fn of_section(name: &str) -> Option<Kind> {
        Some(match name {
            "empty" => Kind::Empty,
            "unit" => Kind::Unit,
            "group" => Kind::Group,
            "change" => Kind::Change,
            "most" => Kind::Most,
            "least" => Kind::Least,
            "name" => Kind::Name,
            "label" => Kind::Label,
            "feat" => Kind::Feat,
            "state" => Kind::State,
            "from" => Kind::From,
            "to" => Kind::To,
            "common" => Kind::Common,
            "ends_noun" => Kind::EndsNoun,
            "beside" => Kind::Beside,
            "before" => Kind::Before,
            "predicate" => Kind::Predicate,
            "denial" => Kind::Denial,
            "facility" => Kind::Facility,
            "reckoned" => Kind::Reckoned,
            _ => return None,
        })
    }
}

pub struct Lexicon {
    same: HashMap<&'static str, Meaning>,
    kinds: HashMap<&'static str, Kinds>,
    /// By the dimension of a unit.
    implied: HashMap<&'static str, Vec<Meaning>>,
    /// Most (or least), and what of.
    superlatives: HashMap<&'static str, (bool, Vec<Meaning>)>,
    /// What superlatives of several words begin with: "best", of "best-rated".
    beginnings: HashSet<&'static str>,
    stemmer: Stemmer,
}

/// So many words are kept with their meanings in each thread, and none that is longer.
const MOST_KEPT: usize = 8192;
const LONGEST_KEPT: usize = 32;

thread_local! {
    /// Stems take long to find, and texts and keys have the same words again and again.
    static SAID: RefCell<HashMap<Box<str>, (Meaning, Kinds)>> = RefCell::new(HashMap::new());
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| Lexicon::read(include_str!("../words/keys.txt")));

pub fn lexicon() -> &'static Lexicon {
    &LEXICON
}

pub fn hash(word: &str) -> Concept {
    hash_of(word.as_bytes())
}

pub fn hash_of(word: &[u8]) -> Concept {
    let mut hasher = foldhash::fast::FixedState::default().build_hasher();
    hasher.write(word);
    hasher.finish()
}

impl Lexicon {
    fn read(list: &'static str) -> Self {
        let stemmer = Stemmer::create(Algorithm::English);
        let mut lexicon = Lexicon {
            same: HashMap::new(),
            kinds: HashMap::new(),
            implied: HashMap::new(),
            superlatives: HashMap::new(),
            beginnings: HashSet::new(),
            stemmer,
        };
        let mut section = "";
        for line in list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                section = name;
                continue;
            }
            let first = line.split_whitespace().next().unwrap_or_default();
            if section == "superlative" {
                let mut words = line.split_whitespace().skip(1);
                let most = words.next() == Some("most");
                let about = words.map(|word| lexicon.look_up(word)).collect();
                lexicon.superlatives.insert(first, (most, about));
                lexicon.beginnings.extend(first.match_indices('-').filter_map(|(hyphen, _)| first.get(..hyphen)));
                continue;
            }
            if section == "implied" {
                let words = line.split_whitespace().skip(1).map(|word| lexicon.look_up(word)).collect();
                lexicon.implied.insert(first, words);
                continue;
            }
            for word in line.split_whitespace() {
                match Kind::of_section(section) {
                    None => lexicon.same.entry(word).or_default().add(hash(first)),
                    Some(kind) => lexicon.kinds.entry(word).or_default().0 |= kind as u32,
                }
            }
        }
        lexicon
    }

    /// `word` is in lower case.
    pub fn meaning(&self, word: &str) -> Meaning {
        self.said(word).0
    }

    /// What a word means, and all kinds that it is of.
    pub fn said(&self, word: &str) -> (Meaning, Kinds) {
        if word.len() > LONGEST_KEPT {
            return (self.look_up(word), self.kinds(word));
        }
        SAID.with_borrow_mut(|kept| {
            if let Some(said) = kept.get(word) {
                return *said;
            }
            let said = (self.look_up(word), self.kinds(word));
            if kept.len() >= MOST_KEPT {
                kept.clear();
            }
            kept.insert(word.into(), said);
            said
        })
    }

    fn look_up(&self, word: &str) -> Meaning {
        let mut meaning = self.same.get(word).copied().unwrap_or_default();
        // Short words, and those that are in any text, are their own stems.
        match word.len() < 4 || self.is(word, Kind::Common) {
            true => meaning.add(hash(word)),
            false => meaning.add(hash(&self.stemmer.stem(word))),
        }
        meaning
    }

    /// What a number with a unit of this dimension is about.
    pub fn implied(&self, dimension: &str) -> &[Meaning] {
        self.implied.get(dimension).map(Vec::as_slice).unwrap_or_default()
    }

    /// Is it the most (or the least) that a word says, and what of?
    pub fn superlative(&self, word: &str) -> Option<(bool, &[Meaning])> {
        self.superlatives.get(word).map(|(most, about)| (*most, about.as_slice()))
    }

    /// May a superlative of several words begin with this one?
    pub fn begins_superlative(&self, word: &str) -> bool {
        self.beginnings.contains(word)
    }

    pub fn kinds(&self, word: &str) -> Kinds {
        self.kinds.get(word).copied().unwrap_or_default()
    }

    pub fn is(&self, word: &str, kind: Kind) -> bool {
        self.kinds(word).has(kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_line_mean_the_same_and_inflections_too() {
        let shares = |one, other| lexicon().meaning(one).shares(&lexicon().meaning(other));
        assert!(shares("temp", "temperatures"));
        assert!(shares("min", "minimum") && shares("min", "minutes"));
        assert!(shares("ticket", "tickets"));
        assert!(!shares("minimum", "minutes"));
        assert!(!shares("temperature", "humidity"));
    }

    #[test]
    fn a_word_may_be_of_several_kinds() {
        assert!(lexicon().is("peak", Kind::Most) && !lexicon().is("peak", Kind::Least));
        assert!(lexicon().is("name", Kind::Name) && lexicon().is("name", Kind::Label));
        assert!(!lexicon().is("zebra", Kind::Group));
    }
}
