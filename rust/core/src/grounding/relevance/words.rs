//! Words of queries and tools: how texts and identifiers are taken apart, how much a word says, and what it is about.

use std::{cell::RefCell, collections::HashMap, ops::Range, rc::Rc, sync::LazyLock};

use foldhash::fast::FixedState;
use rust_stemmers::{Algorithm, Stemmer};

/// Only the beginning of a text is looked at, in words: what a query or a tool is about stands there.
const MOST_WORDS: usize = 1000;
/// How far a quotation in a query may reach, in bytes.
const LONGEST_QUOTATION: usize = 80;
/// Nobody's word is longer, in bytes; what is, says nothing.
const LONGEST_WORD: usize = 40;

type Map<K, V> = HashMap<K, V, FixedState>;

/// A set of groups of `concepts.txt`, one bit each.
pub type Groups = u128;

/// What the data files say of a stem.
#[derive(Clone, Copy, Debug)]
pub struct Meaning {
    /// How much it says that two texts share it: from 0 to 1.
    pub weight: f64,
    pub things: Groups,
    pub actions: Groups,
    pub executor: bool,
    pub auxiliary: bool,
    /// What it does as a verb is as often the name of a thing.
    pub noun: bool,
    /// It is in one of the files: English, as far as anybody can tell.
    pub known: bool,
}

const UNKNOWN: Meaning =
    Meaning { weight: 1.0, things: 0, actions: 0, executor: false, auxiliary: false, noun: false, known: false };

struct Lexicon {
    stemmer: Stemmer,
    /// Not stemmed.
    stop_words: Map<&'static str, ()>,
    meanings: Map<String, Meaning>,
    /// The names of the groups of things, by bit.
    things: Vec<&'static str>,
    families: Vec<Groups>,
    read: Groups,
    want: Groups,
    create: Groups,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(Lexicon::read);

impl Lexicon {
    fn read() -> Self {
        let stemmer = Stemmer::create(Algorithm::English);
        let stop_words = lines(include_str!("../words/stopwords.txt"))
            .flat_map(str::split_whitespace)
            .map(|word| (word, ()))
            .collect();
        let mut meanings: Map<String, Meaning> = Map::default();
        for line in lines(include_str!("../words/idf.txt")) {
            if let Some((stem, weight)) = line.split_once(' ')
                && let Ok(weight) = weight.parse()
            {
                meanings.insert(stem.to_owned(), Meaning { weight, known: true, ..UNKNOWN });
            }
        }
        let (mut things, mut families) = (Vec::new(), Vec::new());
        let (mut actions, mut read, mut want, mut create) = (0, 0, 0, 0);
        let mut section = "";
        for line in lines(include_str!("../words/concepts.txt")) {
            if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                section = name.split(':').next().unwrap_or(name);
                families.extend((section == "things").then_some(0));
                continue;
            }
            let Some((name, words)) = line.split_once(':') else { continue };
            let group = match section {
                "things" => bit(things.len()),
                "actions" => bit(actions),
                _ => 0,
            };
            match (section, families.last_mut()) {
                ("things", Some(family)) => {
                    *family |= group;
                    things.push(name);
                }
                ("actions", _) => {
                    actions += 1;
                    match name {
                        "read" => read = group,
                        "want" => want = group,
                        "create" => create = group,
                        _ => {}
                    }
                }
                _ => {}
            }
            for word in words.split_whitespace() {
                let meaning = meanings.entry(stemmer.stem(word).into_owned()).or_insert(UNKNOWN);
                meaning.known = true;
                match section {
                    "things" => meaning.things |= group,
                    "actions" => meaning.actions |= group,
                    "executors" => meaning.executor = true,
                    "nouns" => meaning.noun = true,
                    _ => meaning.auxiliary = true,
                }
            }
        }
        Lexicon { stemmer, stop_words, meanings, things, families, read, want, create }
    }
}

fn lines(file: &'static str) -> impl Iterator<Item = &'static str> {
    file.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// None of more groups than there are bits: a test counts them.
fn bit(index: usize) -> Groups {
    u32::try_from(index).ok().and_then(|index| Groups::checked_shl(1, index)).unwrap_or(0)
}

/// The group of actions that only look something up.
pub fn reading() -> Groups {
    LEXICON.read
}

/// The group of actions that need a noun to say what is done: `create_order`, `make_payment`.
pub fn creating() -> Groups {
    LEXICON.create
}

/// The words that leave open what is asked for: "I need …".
pub fn wanting() -> Groups {
    LEXICON.want
}

/// Is a group of the one in the same family as a group of the other?
pub fn are_near(a: Groups, b: Groups) -> bool {
    LEXICON.families.iter().any(|family| a & family != 0 && b & family != 0)
}

pub fn group_name(things: Groups) -> Option<&'static str> {
    LEXICON.things.get(things.trailing_zeros() as usize).copied()
}

/// What is known of a word in lower case.
#[derive(Clone)]
struct Known {
    stem: Rc<str>,
    is_stop_word: bool,
    meaning: Meaning,
}

/// Words come again and again, and finding their stems takes longer than all else.
const MOST_REMEMBERED: usize = 5000;

thread_local! {
    static REMEMBERED: RefCell<Map<String, Known>> = RefCell::default();
}

fn known(lower: &str) -> Known {
    REMEMBERED.with_borrow_mut(|remembered| {
        if let Some(known) = remembered.get(lower) {
            return known.clone();
        }
        let stem = LEXICON.stemmer.stem(lower);
        let known = Known {
            meaning: LEXICON.meanings.get(stem.as_ref()).copied().unwrap_or(UNKNOWN),
            is_stop_word: LEXICON.stop_words.contains_key(lower),
            stem: Rc::from(stem.as_ref()),
        };
        if remembered.len() >= MOST_REMEMBERED {
            remembered.clear();
        }
        remembered.insert(lower.to_owned(), known.clone());
        known
    })
}

/// A word that says something.
#[derive(Clone, Debug)]
pub struct Word {
    pub stem: Rc<str>,
    /// As it stands in the text, in lower case.
    pub form: String,
    pub meaning: Meaning,
    /// How much it counts that a tool has nothing of it: less for names and quotations, which are what a tool is given and not
    /// what it is about, and nothing for an identifier besides its parts.
    pub expected: f64,
}

/// The words of a text that say something, each once, by their stems.
#[derive(Clone, Debug)]
pub struct Bag {
    words: Vec<Word>,
    /// Things of these, and actions of all words, also of those that are too common to count.
    pub things: Groups,
    pub actions: Groups,
    /// What it does, if a verb is among its first words.
    pub verb: Groups,
    /// All its words say only how it is used.
    pub all_executor: bool,
    pub any_executor: bool,
    /// All its words are those of a step on the way.
    pub all_auxiliary: bool,
    verb_is_noun: bool,
    parts: usize,
    /// All words, each time, and how many of them are English, as far as anybody can tell; names are left out.
    pub seen: usize,
    pub known: usize,
}

impl Default for Bag {
    fn default() -> Self {
        Bag {
            words: Vec::new(),
            things: 0,
            actions: 0,
            verb: 0,
            all_executor: true,
            any_executor: false,
            all_auxiliary: true,
            verb_is_noun: false,
            parts: 0,
            seen: 0,
            known: 0,
        }
    }
}

impl Bag {
    /// Of a text in sentences, in which names and quotations are told from other words.
    pub fn of_text(text: &str) -> Self {
        let mut bag = Bag::default();
        for token in tokens(text).take(MOST_WORDS) {
            let expected = if token.is_name { NAME } else { 1.0 };
            let mut parts = 0;
            for part in parts_of(token.text) {
                bag.add(part, expected, !token.is_name);
                parts += 1;
            }
            if parts > 1 {
                let joined: String = token.text.chars().filter(|c| c.is_alphanumeric()).collect();
                bag.add(&joined, 0.0, false);
            }
        }
        bag.finished()
    }

    /// Of names, keys, descriptions: of some of all their words.
    pub fn of_words<'t>(texts: impl IntoIterator<Item = &'t str>, which: Range<usize>) -> Self {
        let mut bag = Bag::default();
        let parts = texts.into_iter().flat_map(tokens).flat_map(|token| parts_of(token.text));
        for part in parts.skip(which.start).take(which.len()) {
            bag.add(part, 1.0, true);
        }
        bag.finished()
    }

    fn add(&mut self, part: &str, expected: f64, counts_as_seen: bool) {
        if part.len() > LONGEST_WORD || !part.starts_with(char::is_alphabetic) {
            return;
        }
        let form = part.to_lowercase();
        let Known { stem, is_stop_word, meaning } = known(&form);
        if counts_as_seen {
            self.seen += 1;
            self.known += usize::from(is_stop_word || meaning.known);
        }
        self.actions |= meaning.actions;
        if self.verb == 0 && self.parts < VERB_AMONG {
            self.verb = meaning.actions;
            self.verb_is_noun = meaning.noun;
        }
        self.parts += 1;
        self.all_executor &= meaning.executor;
        self.any_executor |= meaning.executor;
        self.all_auxiliary &= meaning.auxiliary || meaning.actions & LEXICON.read != 0;
        if is_stop_word || form.len() < 2 {
            return;
        }
        self.things |= meaning.things;
        self.words.push(Word { stem, form, meaning, expected });
    }

    /// Sorted, each stem once: as expected as the least expected one.
    fn finished(mut self) -> Self {
        self.words.sort_by(|a, b| a.stem.cmp(&b.stem).then(a.expected.total_cmp(&b.expected)));
        self.words.dedup_by(|later, earlier| later.stem == earlier.stem);
        // `order_status` orders nothing.
        if self.verb_is_noun {
            self.verb = self.actions;
        }
        if self.verb & LEXICON.read != 0 {
            self.verb = LEXICON.read;
        }
        self
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    pub fn words(&self) -> &[Word] {
        &self.words
    }

    pub fn has(&self, stem: &str) -> bool {
        self.words.binary_search_by(|word| (*word.stem).cmp(stem)).is_ok()
    }

    /// Is it English, as far as anybody can tell? A text of names alone is.
    pub fn is_english(&self) -> bool {
        5 * self.known >= 2 * self.seen
    }
}

/// What a name or a description does is among its first words.
const VERB_AMONG: usize = 4;

/// See [`Word::expected`].
const NAME: f64 = 0.3;

struct Token<'t> {
    text: &'t str,
    /// It is in quotation marks, or begins with a capital inside a sentence.
    is_name: bool,
}

/// Runs of letters and digits, and of `_`, `-` and `.` between them.
fn tokens(text: &str) -> impl Iterator<Item = Token<'_>> {
    let mut position = 0;
    let mut quoted_until = 0;
    let mut sentence_begins = true;
    std::iter::from_fn(move || {
        loop {
            let rest = text.get(position..)?;
            let first = rest.chars().next()?;
            if first.is_alphanumeric() {
                let length = token_length(rest);
                let token = rest.get(..length)?;
                let is_name = position < quoted_until || (first.is_uppercase() && !sentence_begins);
                position += length;
                sentence_begins = false;
                return Some(Token { text: token, is_name });
            }
            if position >= quoted_until
                && let Some(closing) = closing_mark(first)
                && !text.get(..position)?.ends_with(char::is_alphanumeric)
                && let Some(length) = quotation_length(rest, closing)
            {
                quoted_until = position + length;
            }
            if matches!(first, '.' | '?' | '!' | ':' | '\n') {
                sentence_begins = true;
            } else if !first.is_whitespace() {
                sentence_begins = false;
            }
            position += first.len_utf8();
        }
    })
}

/// Of the token that the text begins with, in bytes.
fn token_length(text: &str) -> usize {
    let mut end = 0;
    let mut joint = false;
    for (at, c) in text.char_indices() {
        if c.is_alphanumeric() {
            end = at + c.len_utf8();
            joint = false;
        } else if matches!(c, '_' | '-' | '.') && !joint {
            joint = true;
        } else {
            break;
        }
    }
    end
}

fn closing_mark(opening: char) -> Option<char> {
    match opening {
        '"' | '\'' | '`' => Some(opening),
        '“' | '„' => Some('”'),
        '‘' => Some('’'),
        '«' => Some('»'),
        _ => None,
    }
}

/// Of the quotation that the text begins with, if it ends soon: an apostrophe is no end.
fn quotation_length(text: &str, closing: char) -> Option<usize> {
    let mut characters = text.char_indices().skip(1).take_while(|(at, _)| *at <= LONGEST_QUOTATION).peekable();
    while let Some((at, c)) = characters.next() {
        if c == closing && characters.peek().is_none_or(|(_, next)| !next.is_alphanumeric()) {
            return Some(at);
        }
    }
    None
}

/// The words of an identifier: split at case, digits and punctuation.
pub fn parts_of(token: &str) -> impl Iterator<Item = &str> {
    let mut rest = token;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
        let mut characters = rest.char_indices().peekable();
        let (_, mut before) = characters.next()?;
        let mut end = rest.len();
        while let Some((at, c)) = characters.next() {
            let next_is_lower = characters.peek().is_some_and(|(_, next)| next.is_lowercase());
            let ends = !c.is_alphanumeric()
                || c.is_numeric() != before.is_numeric()
                || (c.is_uppercase() && (!before.is_uppercase() || next_is_lower));
            if ends {
                end = at;
                break;
            }
            before = c;
        }
        let (part, tail) = rest.split_at_checked(end)?;
        rest = tail;
        Some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(token: &str) -> Vec<&str> {
        parts_of(token).collect()
    }

    fn stems(bag: &Bag) -> Vec<&str> {
        bag.words().iter().map(|word| &*word.stem).collect()
    }

    #[test]
    fn identifiers_are_split_where_people_see_words() {
        assert_eq!(split("getUserByName"), ["get", "User", "By", "Name"]);
        assert_eq!(split("HTTPServer_v2.list-all"), ["HTTP", "Server", "v", "2", "list", "all"]);
        assert_eq!(split("__"), Vec::<&str>::new());
        assert_eq!(split("wetterÖsterreich"), ["wetter", "Österreich"]);
    }

    #[test]
    fn a_bag_has_the_words_that_say_something() {
        let bag = Bag::of_text("Could you please find flights to Oslo? I don't want trains.");
        assert_eq!(stems(&bag), ["flight", "oslo", "train"]);
        assert!(bag.is_english());
        let expected = |stem: &str| bag.words().iter().find(|word| &*word.stem == stem).map(|word| word.expected);
        assert_eq!((expected("flight"), expected("oslo")), (Some(1.0), Some(NAME)));
    }

    #[test]
    fn a_hyphenated_word_is_also_one_word() {
        assert!(Bag::of_text("How many sign-ups?").has("signup"));
        assert!(Bag::of_text("use getUserByName").has("getuserbynam"));
    }

    #[test]
    fn names_and_quotations_are_told_from_other_words() {
        let names = |text| tokens(text).filter(|token| token.is_name).map(|token| token.text).collect::<Vec<_>>();
        assert_eq!(
            names("Weather in Oslo. Weather today, Dana's 'red line' isn't it"),
            ["Oslo", "Dana", "red", "line"]
        );
        assert_eq!(names("the players' scores and the teams' names"), Vec::<&str>::new());
    }

    #[test]
    fn other_languages_are_not_taken_for_english() {
        assert!(!Bag::of_text("¿cuál es el clima hoy en la ciudad?").is_english());
        assert!(Bag::of_text("").is_english());
        assert!(Bag::of_text("请帮我检索一下").words().len() <= 1);
    }

    #[test]
    fn groups_fit_into_their_bits() {
        assert!(LEXICON.things.len() <= 128);
        assert_ne!(reading(), 0);
        let mut names = LEXICON.things.clone();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), LEXICON.things.len());
    }
}
