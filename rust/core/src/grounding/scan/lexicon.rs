//! What single words can be: one look-up for each word of a text tells all the roles that it has.
//!
//! The words are in files. `[section]` begins a role, `word=3` gives a word the value 3 in it, `a_phrase` is several words.

use std::{collections::HashMap, sync::LazyLock};

use foldhash::fast::FixedState;

/// The roles of a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Word {
    roles: u64,
    /// Of a cardinal, an ordinal or a collective: its value.
    pub number: u8,
    /// Of a scale: the power of ten.
    pub power: u8,
    /// Of a part ("quarters"): the denominator.
    pub denominator: u8,
    pub month: u8,
    pub weekday: u8,
    /// Of a time zone: minutes from UTC.
    pub zone: i16,
}

macro_rules! roles {
    ($($name:ident $section:literal),* $(,)?) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Role { $($name),* }

        impl Role {
            fn of_section(section: &str) -> Option<Role> {
                match section { $($section => Some(Role::$name),)* _ => None }
            }
        }
    };
}

roles! {
    NumberPrefix "number-prefix", Term "term", Label "label",
    Cardinal "cardinal", Hundred "hundred", Scale "scale", Collective "collective", Ordinal "ordinal", Part "part", NotOne "not-one",
    About "about", Over "over", Under "under", HedgePhrase "hedge-phrase-end",
    Abbreviation "abbreviation", AbbreviationOfNumber "abbreviation-of-number", AbbreviationOrEnd "abbreviation-or-end",
    Month "month", WeakMonth "weak-month", Weekday "weekday", WeekdayShort "weekday-short", Zone "zone",
    Negation "negation", NegationBehind "negation-behind", Negative "negative", PhraseStart "phrase-start",
    Auxiliary "auxiliary", Subject "subject", Determiner "determiner", Conjunction "conjunction", Coordination "coordination",
    Hypothetical "hypothetical", Ability "ability", SaysItIsSo "says-it-is-so", PoliteCondition "polite-condition",
    Future "future", QuestionWord "question-word", Says "says", OtherSpeaker "other-speaker",
    Past "past", AsksWhether "asks-whether", Timeless "timeless",
    Imperative "imperative", ImperativeOrNoun "imperative-or-noun", AfterImperative "after-imperative",
}

impl Word {
    #[inline]
    pub fn is(self, role: Role) -> bool {
        self.roles >> role as u8 & 1 == 1
    }

    #[inline]
    pub fn is_any(self, roles: &[Role]) -> bool {
        roles.iter().any(|&role| self.is(role))
    }

    fn add(&mut self, role: Role) {
        self.roles |= 1 << role as u8;
    }
}

/// What a phrase of several words does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phrase {
    Negation,
    NoNegation,
    Hypothetical,
    Future,
    Reported,
    AssertingImperative,
    About,
    Over,
    Under,
}

impl Phrase {
    fn of_section(section: &str) -> Option<Phrase> {
        Some(match section {
            "negation-phrase" => Phrase::Negation,
            "no-negation-phrase" => Phrase::NoNegation,
            "hypothetical-phrase" => Phrase::Hypothetical,
            "future-phrase" => Phrase::Future,
            "reported-phrase" => Phrase::Reported,
            "asserting-imperative-phrase" => Phrase::AssertingImperative,
            "about-phrase" => Phrase::About,
            "over-phrase" => Phrase::Over,
            "under-phrase" => Phrase::Under,
            _ => return None,
        })
    }

    pub fn is_hedge(self) -> bool {
        matches!(self, Phrase::About | Phrase::Over | Phrase::Under)
    }
}

type Map<T> = HashMap<&'static str, T, FixedState>;

struct Lexicon {
    words: Map<Word>,
    /// By their first word.
    phrases: Map<Vec<(Vec<&'static str>, Phrase)>>,
    /// Hedges by their last word, since they are looked for from the number backwards.
    hedges: Map<Vec<(Vec<&'static str>, Phrase)>>,
    scale_suffixes: Map<u8>,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
    let hasher = FixedState::default();
    let mut lexicon = Lexicon {
        words: HashMap::with_hasher(hasher.clone()),
        phrases: HashMap::with_hasher(hasher.clone()),
        hedges: HashMap::with_hasher(hasher.clone()),
        scale_suffixes: HashMap::with_hasher(hasher),
    };
    for file in [
        include_str!("../words/numbers.txt"),
        include_str!("../words/abbreviations.txt"),
        include_str!("../words/dates.txt"),
        include_str!("../words/modality.txt"),
    ] {
        lexicon.read(file);
    }
    lexicon
});

impl Lexicon {
    fn read(&mut self, file: &'static str) {
        let mut section = "";
        for line in file.lines() {
            if line.starts_with("# ") || line == "#" {
                continue;
            }
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                section = name;
                continue;
            }
            for entry in line.split_whitespace() {
                let (word, value) = match entry.split_once('=') {
                    Some((word, value)) if !word.is_empty() && !value.is_empty() => (word, value.parse().unwrap_or(0)),
                    _ => (entry, 0),
                };
                self.add(section, word, value);
            }
        }
    }

    fn add(&mut self, section: &'static str, word: &'static str, value: i16) {
        let small = u8::try_from(value).unwrap_or(0);
        if section == "scale-suffix" {
            self.scale_suffixes.insert(word, small);
        } else if let Some(phrase) = Phrase::of_section(section) {
            let words: Vec<&str> = word.split('_').collect();
            let (Some(&first), Some(&last)) = (words.first(), words.last()) else { return };
            if phrase.is_hedge() {
                self.words.entry(last).or_default().add(Role::HedgePhrase);
                self.hedges.entry(last).or_default().push((words, phrase));
            } else {
                self.words.entry(first).or_default().add(Role::PhraseStart);
                self.phrases.entry(first).or_default().push((words, phrase));
            }
        } else if let Some(role) = Role::of_section(section) {
            let entry = self.words.entry(word).or_default();
            entry.add(role);
            match role {
                Role::Cardinal | Role::Ordinal | Role::Collective => entry.number = small,
                Role::Hundred | Role::Scale => entry.power = small,
                Role::Part => entry.denominator = small,
                Role::Month | Role::WeakMonth => entry.month = small,
                Role::Weekday | Role::WeekdayShort => entry.weekday = small,
                Role::Zone => entry.zone = value,
                _ => {}
            }
        }
    }
}

/// The roles of a word in lower case.
#[inline]
pub fn look_up(word: &str) -> Word {
    LEXICON.words.get(word).copied().unwrap_or_default()
}

/// The power of ten of "k", "M", "bn".
pub fn scale_suffix(word: &str) -> Option<u8> {
    LEXICON.scale_suffixes.get(word).copied()
}

/// The longest phrase that begins with `first`: how many words it has. `word(n)` is the word n places on.
pub fn phrase<'w>(first: &str, word: impl Fn(usize) -> Option<&'w str>) -> Option<(Phrase, usize)> {
    let phrases = LEXICON.phrases.get(first)?;
    let fits = |words: &[&str]| words.iter().enumerate().skip(1).all(|(place, &part)| word(place) == Some(part));
    phrases
        .iter()
        .filter(|(words, _)| fits(words))
        .max_by_key(|(words, _)| words.len())
        .map(|&(ref words, phrase)| (phrase, words.len()))
}

/// The longest hedge of several words that ends with `last`; `word(n)` is the word n places before it.
pub fn hedge_phrase<'w>(last: &str, word: impl Fn(usize) -> Option<&'w str>) -> Option<(Phrase, usize)> {
    let phrases = LEXICON.hedges.get(last)?;
    let fits = |words: &[&str]| words.iter().rev().enumerate().skip(1).all(|(place, &part)| word(place) == Some(part));
    phrases
        .iter()
        .filter(|(words, _)| fits(words))
        .max_by_key(|(words, _)| words.len())
        .map(|&(ref words, phrase)| (phrase, words.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_the_roles_of_all_their_sections() {
        let second = look_up("second");
        assert!(second.is(Role::Ordinal) && second.number == 2);
        let third = look_up("third");
        assert!(third.is(Role::Ordinal) && third.is(Role::Part) && third.number == 3 && third.denominator == 3);
        assert_eq!(look_up("million").power, 6);
        assert_eq!(look_up("est").zone, -300);
        assert!(look_up("fern") == Word::default());
        assert_eq!(scale_suffix("bn"), Some(9));
    }

    #[test]
    fn every_section_of_the_files_is_known() {
        for file in ["numbers", "abbreviations", "dates", "modality"] {
            let text = std::fs::read_to_string(format!("src/grounding/words/{file}.txt")).unwrap();
            for section in text.lines().filter_map(|line| line.strip_prefix('[')?.strip_suffix(']')) {
                assert!(
                    section == "scale-suffix"
                        || Role::of_section(section).is_some()
                        || Phrase::of_section(section).is_some(),
                    "[{section}] in {file}.txt"
                );
            }
        }
    }

    #[test]
    fn phrases_are_found_from_their_first_and_hedges_from_their_last_word() {
        let words = ["no", "longer", "open"];
        assert_eq!(phrase("no", |n| words.get(n).copied()), Some((Phrase::Negation, 2)));
        let back = ["than", "more"];
        assert_eq!(hedge_phrase("than", |n| back.get(n).copied()), Some((Phrase::Over, 2)));
        assert_eq!(hedge_phrase("than", |n| ["than", "rather"].get(n).copied()), None);
    }
}
