//! The words of claims: verbs and nouns of actions in classes, and phrases of how something went.

use std::{
    ops::{BitAnd, BitOr, BitOrAssign},
    sync::LazyLock,
};

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};

use super::super::names;

/// A set of classes of actions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Classes(u32);

impl Classes {
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn meets(self, other: Classes) -> bool {
        self.0 & other.0 != 0
    }

    /// Verbs of the names of called tools that the lists don't have: "whitelisted", of `whitelist_ip`.
    pub const OF_TOOLS: Classes = Classes(1 << 31);

    fn one(index: usize) -> Self {
        Classes(1u32.checked_shl(index as u32).unwrap_or_default())
    }

    fn indices(self) -> impl Iterator<Item = usize> {
        (0..32).filter(move |&index| self.meets(Classes::one(index)))
    }
}

impl BitOr for Classes {
    type Output = Classes;

    fn bitor(self, other: Classes) -> Classes {
        Classes(self.0 | other.0)
    }
}

impl BitOrAssign for Classes {
    fn bitor_assign(&mut self, other: Classes) {
        self.0 |= other.0;
    }
}

impl BitAnd for Classes {
    type Output = Classes;

    fn bitand(self, other: Classes) -> Classes {
        Classes(self.0 & other.0)
    }
}

struct Class {
    name: &'static str,
    writes: bool,
    /// Those that may do it as a part of their own work.
    part_of: Classes,
    part_of_any: bool,
}

/// What a word can be. One word may be several: "set", "order".
#[derive(Clone, Copy, Debug, Default)]
pub struct Word {
    pub base: Classes,
    pub past: Classes,
    pub ing: Classes,
    pub noun: Classes,
    /// Nobody says it of a thing done without doing anything but writing the answer.
    pub strong: bool,
    /// What is done stands in the noun: "the refund has been issued".
    pub light: bool,
}

impl Word {
    pub fn all(&self) -> Classes {
        self.base | self.past | self.ing | self.noun
    }
}

/// How a phrase says that something went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// It has begun.
    Moving,
    /// It will show soon.
    Coming,
    /// It is not yet.
    Waiting,
    /// It will be tried again, or should be.
    Retry,
    Failed,
    /// Something may not have worked.
    Sorry,
    Part,
    Whole,
}

struct Phrase {
    rest: Vec<&'static str>,
    outcome: Outcome,
    /// An adjective: it has to stand behind a form of "be", or at the end.
    predicate: bool,
}

/// A phrase that was found.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    pub outcome: Outcome,
    pub length: usize,
    pub predicate: bool,
}

pub struct Lexicon {
    classes: Vec<Class>,
    words: HashMap<String, Word>,
    phrases: HashMap<&'static str, Vec<Phrase>>,
    nothing_of: HashSet<&'static str>,
    writers: Classes,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(Lexicon::read);

pub fn lexicon() -> &'static Lexicon {
    &LEXICON
}

impl Lexicon {
    fn read() -> Self {
        let lines: Vec<_> = names::lines_of(include_str!("../words/actions.txt")).collect();
        let class_names: Vec<&str> = lines.iter().map(|(head, _)| head.split(',').next().unwrap_or_default()).collect();
        let named = |name: &str| class_names.iter().position(|class| *class == name);
        let mut lexicon = Lexicon {
            classes: Vec::new(),
            words: HashMap::new(),
            phrases: HashMap::new(),
            nothing_of: HashSet::new(),
            writers: Classes::OF_TOOLS,
        };
        for (index, (head, words)) in lines.iter().enumerate() {
            let kinds: Vec<&str> = head.split([',', ' ']).collect();
            let is = |kind| kinds.contains(&kind);
            let mut parts = words.split(';');
            for verb in parts.next().unwrap_or_default().split_whitespace() {
                lexicon.add_verb(verb, index, is("strong"), is("light"));
            }
            for noun in parts.next().unwrap_or_default().split_whitespace() {
                lexicon.words.entry(noun.to_owned()).or_default().noun |= Classes::one(index);
            }
            let others: Vec<&str> = parts.next().unwrap_or_default().split_whitespace().collect();
            let part_of = others
                .iter()
                .filter_map(|name| named(name))
                .fold(Classes::default(), |all, index| all | Classes::one(index));
            lexicon.classes.push(Class {
                name: class_names.get(index).copied().unwrap_or_default(),
                writes: is("write"),
                part_of,
                part_of_any: others.contains(&"*"),
            });
            if is("write") {
                lexicon.writers |= Classes::one(index);
            }
        }
        for (name, phrases) in names::lines_of(include_str!("../words/outcomes.txt")) {
            let outcome = match name {
                "done" => Outcome::Done,
                "moving" => Outcome::Moving,
                "coming" => Outcome::Coming,
                "waiting" => Outcome::Waiting,
                "retry" => Outcome::Retry,
                "failed" => Outcome::Failed,
                "sorry" => Outcome::Sorry,
                "part" => Outcome::Part,
                "whole" => Outcome::Whole,
                _ => {
                    lexicon.nothing_of.extend(phrases.split_whitespace());
                    continue;
                }
            };
            for phrase in phrases.split('|') {
                lexicon.add_phrase(phrase.trim(), outcome);
            }
        }
        for phrases in lexicon.phrases.values_mut() {
            phrases.sort_by_key(|phrase| std::cmp::Reverse(phrase.rest.len()));
        }
        lexicon
    }

    fn add_verb(&mut self, verb: &'static str, class: usize, strong: bool, light: bool) {
        let mark = |c: char| matches!(c, '!' | '-' | '~');
        let marks: String = verb.chars().filter(|&c| mark(c)).collect();
        let strong = (strong || marks.contains('!')) && !marks.contains('-');
        let light = light || marks.contains('~');
        let mut forms = verb.trim_end_matches(mark).split('/');
        let base = forms.next().unwrap_or_default();
        let given: Vec<String> = forms.map(str::to_owned).collect();
        let ing = present_participle(base, given.first().map(String::as_str));
        let pasts = if given.is_empty() { vec![regular_past(base)] } else { given };
        let class = Classes::one(class);
        let mut add = |form: String, which: fn(&mut Word) -> &mut Classes| {
            let word = self.words.entry(form).or_default();
            *which(word) |= class;
            word.strong |= strong;
            word.light |= light;
        };
        for past in pasts {
            add(past, |word| &mut word.past);
        }
        add(base.to_owned(), |word| &mut word.base);
        add(ing, |word| &mut word.ing);
    }

    /// "on its/their way" is several phrases.
    fn add_phrase(&mut self, phrase: &'static str, outcome: Outcome) {
        let (predicate, phrase) = match phrase.strip_prefix('=') {
            Some(phrase) => (true, phrase),
            None => (false, phrase),
        };
        let mut all: Vec<Vec<&'static str>> = vec![Vec::new()];
        for word in phrase.split_whitespace() {
            let with = |so_far: &Vec<&'static str>| {
                let so_far = so_far.clone();
                word.split('/').map(move |form| so_far.iter().copied().chain([form]).collect::<Vec<_>>())
            };
            all = all.iter().flat_map(with).collect();
        }
        for words in all {
            if let Some((&first, rest)) = words.split_first() {
                self.phrases.entry(first).or_default().push(Phrase { rest: rest.to_vec(), outcome, predicate });
            }
        }
    }

    pub fn word(&self, lower: &str) -> Option<&Word> {
        self.words.get(lower)
    }

    /// The longest phrase that these words begin with, of which `word` gives the one at a place.
    pub fn phrase<'w>(&self, word: impl Fn(usize) -> &'w str) -> Option<Found> {
        let phrases = self.phrases.get(word(0))?;
        let begins = |phrase: &&Phrase| phrase.rest.iter().enumerate().all(|(index, &rest)| word(index + 1) == rest);
        let phrase = phrases.iter().find(begins)?;
        Some(Found { outcome: phrase.outcome, length: phrase.rest.len() + 1, predicate: phrase.predicate })
    }

    /// "no problem": how many there are is not what is said.
    pub fn is_nothing_of(&self, noun: &str) -> bool {
        self.nothing_of.contains(noun)
    }

    pub fn class(&self, name: &str) -> Classes {
        let index = self.classes.iter().position(|class| class.name == name);
        index.map(Classes::one).unwrap_or_default()
    }

    /// Does one of them change something?
    pub fn writes(&self, classes: Classes) -> bool {
        classes.meets(self.writers)
    }

    pub fn writers(&self, classes: Classes) -> Classes {
        classes & self.writers
    }

    /// Could a tool of these classes have done what is claimed?
    pub fn could_do(&self, tool: Classes, claimed: Classes) -> bool {
        claimed.meets(tool)
            || claimed.indices().filter_map(|index| self.classes.get(index)).any(|class| {
                tool.meets(class.part_of)
                    || class.part_of_any && (self.writes(tool) || !class.writes && !tool.is_empty())
            })
    }
}

/// Verbs that names of tools begin with.
#[derive(Default)]
pub struct ToolVerbs {
    /// Forms of those that the lists don't have. Whether the last letter is doubled, no name says.
    pub unknown: HashMap<String, Word>,
    /// All of them, in their base form.
    bases: HashSet<String>,
}

impl ToolVerbs {
    pub fn of<'n>(tools: impl Iterator<Item = &'n str>) -> Self {
        let mut verbs = ToolVerbs::default();
        for base in tools.filter_map(names::first_word) {
            if !verbs.bases.insert(base.clone()) || LEXICON.word(&base).is_some() {
                continue;
            }
            let mut add = |form: String, which: fn(&mut Word) -> &mut Classes| {
                *which(verbs.unknown.entry(form).or_default()) |= Classes::OF_TOOLS;
            };
            let doubled = format!("{base}{}", base.chars().last().unwrap_or_default());
            add(regular_past(&base), |word| &mut word.past);
            add(format!("{doubled}ed"), |word| &mut word.past);
            add(present_participle(&base, None), |word| &mut word.ing);
            add(format!("{doubled}ing"), |word| &mut word.ing);
            add(base, |word| &mut word.base);
        }
        verbs
    }

    /// Is this the past form of one of them? What `block_card` did is "blocked", which is no failure.
    pub fn did(&self, past: &str) -> bool {
        let stem = past.strip_suffix("ed").unwrap_or(past);
        let undoubled = || stem.get(..stem.len().saturating_sub(1)).unwrap_or_default();
        let is = |base: &str| self.bases.contains(base);
        is(stem)
            || is(undoubled())
            || self.bases.contains(&format!("{stem}e"))
            || self.bases.contains(&format!("{}y", undoubled()))
    }
}

fn is_vowel(c: char) -> bool {
    matches!(c, 'a' | 'e' | 'i' | 'o' | 'u')
}

fn regular_past(base: &str) -> String {
    let before_last = base.chars().rev().nth(1);
    match base.strip_suffix('y') {
        Some(stem) if !before_last.is_some_and(is_vowel) => format!("{stem}ied"),
        _ if base.ends_with('e') => format!("{base}d"),
        _ => format!("{base}ed"),
    }
}

/// A past form that doubles the last letter says that the participle does too.
fn present_participle(base: &str, past: Option<&str>) -> String {
    let last = base.chars().last().unwrap_or_default();
    let doubles = past.is_some_and(|past| past == format!("{base}{last}ed"))
        || matches!(base, "set" | "put" | "get" | "run" | "shut" | "reset");
    match base.strip_suffix('e') {
        _ if doubles => format!("{base}{last}ing"),
        Some(stem) if !base.ends_with("ee") => format!("{stem}ing"),
        _ => format!("{base}ing"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So that nothing else has to be looked up.
    #[test]
    fn claims_are_words_and_phrases_begin_with_words_or_numbers() {
        for word in lexicon().words.keys() {
            assert!(word.starts_with(char::is_alphabetic), "{word}");
        }
        for word in lexicon().phrases.keys() {
            assert!(word.trim_start_matches('\'').starts_with(char::is_alphanumeric), "{word}");
        }
    }

    #[test]
    fn verbs_have_their_forms() {
        let lexicon = lexicon();
        for (form, class) in [
            ("sent", "send"),
            ("emailed", "send"),
            ("cancelled", "cancel"),
            ("canceled", "cancel"),
            ("refunded", "refund"),
            ("notified", "send"),
            ("placed", "order"),
            ("bought", "order"),
            ("paid", "pay"),
            ("modified", "update"),
        ] {
            assert!(lexicon.word(form).unwrap().past.meets(lexicon.class(class)), "{form}");
        }
        for (form, class) in [
            ("sending", "send"),
            ("cancelling", "cancel"),
            ("placing", "order"),
            ("running", "run"),
            ("setting", "update"),
        ] {
            assert!(lexicon.word(form).unwrap().ing.meets(lexicon.class(class)), "{form}");
        }
        assert!(lexicon.word("sent").unwrap().strong && !lexicon.word("created").unwrap().strong);
        assert!(lexicon.word("deleted").unwrap().strong && !lexicon.word("removed").unwrap().strong);
        assert!(lexicon.word("issued").unwrap().light && !lexicon.word("refunded").unwrap().light);
    }

    #[test]
    fn the_lists_are_well_formed() {
        let lexicon = lexicon();
        assert!(lexicon.classes.len() < 32);
        for (_, words) in names::lines_of(include_str!("../words/actions.txt")) {
            assert_eq!(words.split(';').count(), 3, "{words}");
            let others = words.split(';').nth(2).unwrap().split_whitespace();
            for other in others.filter(|&other| other != "*") {
                assert!(!lexicon.class(other).is_empty(), "{other}");
            }
        }
    }

    #[test]
    fn some_actions_are_part_of_others() {
        let lexicon = lexicon();
        let could = |tool, claimed| lexicon.could_do(lexicon.class(tool), lexicon.class(claimed));
        assert!(could("cancel", "refund") && could("book", "pay") && could("send", "update"));
        assert!(!could("cancel", "send") && !could("read", "send") && !could("read", "update"));
        assert!(could("read", "read") && could("create", "read"));
    }

    #[test]
    fn the_longest_phrase_counts() {
        let find = |text: &str| {
            let words: Vec<&str> = text.split(' ').collect();
            lexicon().phrase(|index| words.get(index).copied().unwrap_or_default())
        };
        assert!(matches!(find("timed out on me"), Some(Found { outcome: Outcome::Failed, length: 2, .. })));
        assert!(matches!(find("on their way"), Some(Found { outcome: Outcome::Coming, length: 3, .. })));
        assert!(find("on foot").is_none());
    }
}
