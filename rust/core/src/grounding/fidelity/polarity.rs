//! What can be one way or the other: booleans, yes and no, and words of state such as "degraded" or "sold out".

use std::sync::LazyLock;

use foldhash::{HashMap, HashMapExt};

use super::{
    lexicon::{Kind, lexicon},
    slots::{Reader, label_of},
    wording::{Wording, words_of},
};
use crate::{
    grounding::{
        facts::{PerKey, Step},
        scan::{Modality, Negation, Run, TokenKind},
    },
    value::Value,
};

/// The longest text that is a word of state, and the longest phrase for one.
const MOST_WORDS: usize = 5;

const MOST_BYTES: usize = 60;

/// A phrase in the text that agrees with a value or contradicts it.
#[derive(Debug)]
pub struct Said {
    pub tokens: Run,
    pub leaf: u32,
    pub agrees: bool,
}

/// Which way a thing is: so or not so, or so far on in a chain of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Is(bool),
    Step(u8),
}

impl Way {
    /// Is what a text says (or denies) true of a thing that is this way?
    fn bears(self, said: Way, denied: bool) -> bool {
        match (self, said) {
            (Way::Step(reached), Way::Step(said)) => (said <= reached) != denied,
            (is, said) => (is == said) != denied,
        }
    }
}

/// Things that can be one way or the other, by number, and how keys and texts say so.
#[derive(Debug, Default)]
struct Topics {
    /// By their first word: keys, with their topic and whether true is yes. In the order of the topics.
    keys: HashMap<String, Vec<(Vec<String>, usize, bool)>>,
    /// By their first word: the phrase, its topic, and which way it is. Longest first.
    phrases: HashMap<String, Vec<(Vec<String>, usize, Way)>>,
}

static TOPICS: LazyLock<Topics> = LazyLock::new(|| Topics::read(include_str!("../words/polarity.txt")));

impl Topics {
    fn read(list: &'static str) -> Self {
        let mut out = Topics::default();
        let phrases_of = |part: &str| -> Vec<Vec<String>> {
            part.split(',')
                .filter_map(|phrase| words_of(phrase, MOST_WORDS))
                .filter(|words| !words.is_empty())
                .collect()
        };
        let lines = list.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
        for (topic, line) in lines.enumerate() {
            if let Some(steps) = line.strip_prefix("chain:") {
                for (step, phrases) in (0..).zip(steps.split('>')) {
                    out.add(phrases_of(phrases), topic, Way::Step(step));
                }
                continue;
            }
            let mut parts = line.split('|').map(phrases_of);
            let mut part = || parts.next().unwrap_or_default();
            for (keys, yes) in [(part(), true), (part(), false)] {
                for key in keys {
                    if let Some(first) = key.first() {
                        out.keys.entry(first.clone()).or_default().push((key, topic, yes));
                    }
                }
            }
            out.add(part(), topic, Way::Is(true));
            out.add(part(), topic, Way::Is(false));
        }
        for phrases in out.phrases.values_mut() {
            phrases.sort_by_key(|(words, ..)| std::cmp::Reverse(words.len()));
        }
        out
    }

    fn add(&mut self, phrases: Vec<Vec<String>>, topic: usize, way: Way) {
        for words in phrases {
            if let Some(first) = words.first() {
                self.phrases.entry(first.clone()).or_default().push((words, topic, way));
            }
        }
    }

    /// The topic of a key, and whether true is yes.
    fn of_key(&self, words: &[&str]) -> Option<(usize, bool)> {
        let (_, topic, yes) = self.keys.get(*words.first()?)?.iter().find(|(key, ..)| key.iter().eq(words.iter()))?;
        Some((*topic, *yes))
    }

    /// The topics that a whole text is a word of, as a phrase or as a key ("up").
    fn of_value<'t>(&'t self, words: &'t [String]) -> impl Iterator<Item = (usize, Way)> {
        let candidates = words.first().and_then(|first| self.phrases.get(first)).map(Vec::as_slice).unwrap_or_default();
        let phrases =
            candidates.iter().filter(move |(phrase, ..)| phrase == words).map(|(_, topic, way)| (*topic, *way));
        let keys = words.first().and_then(|first| self.keys.get(first)).map(Vec::as_slice).unwrap_or_default();
        let mut last = None;
        let keys = keys.iter().filter(move |(key, ..)| key == words).filter_map(move |(_, topic, yes)| {
            // Of a topic, the first one counts.
            (last.replace(*topic) != Some(*topic)).then_some((*topic, Way::Is(*yes)))
        });
        phrases.chain(keys)
    }
}

/// Does a leaf say yes (or no), and nothing else?
fn yes_or_no(value: Value<'_>, text: &str) -> Option<bool> {
    match value {
        Value::True => Some(true),
        Value::False => Some(false),
        _ => {
            // Most texts begin with another letter.
            let first = text.chars().find(|c| c.is_alphanumeric())?;
            if !matches!(first, 'y' | 'Y' | 't' | 'T' | 'n' | 'N' | 'f' | 'F') {
                return None;
            }
            let word = text.trim_matches(|c: char| !c.is_alphanumeric());
            let is = |one: &&str| word.eq_ignore_ascii_case(one);
            if ["yes", "true"].iter().any(is) {
                Some(true)
            } else {
                ["no", "false", "none"].iter().any(is).then_some(false)
            }
        }
    }
}

/// What a key says of whether its value is a state.
#[derive(Clone, Copy)]
struct KeyOfState {
    /// Whose it is, and whether true is yes.
    topic: Option<(usize, bool)>,
    is_name: bool,
    is_state: bool,
}

/// All phrases of the text that a result agrees with or contradicts.
pub fn said(reader: &Reader<'_, '_>, results: &[u32], wording: &Wording<'_>) -> Vec<Said> {
    let mut keys: PerKey<KeyOfState> = PerKey::default();
    let mut texts: HashMap<&str, Vec<(usize, Way)>> = HashMap::new();
    let mut by_topic: HashMap<usize, Vec<(u32, Way)>> = HashMap::new();
    let mut out = Vec::new();
    let mut own: HashMap<Vec<String>, Vec<(u32, Way)>> = HashMap::new();
    for &index in results {
        let Some(leaf) = reader.facts.leaf(index) else { continue };
        if !matches!(leaf.value, Value::True | Value::False | Value::Text(_)) || leaf.text.len() > MOST_BYTES {
            continue;
        }
        // A text is looked at where its key says that it is a state, or where it may be yes or no.
        // The items of a list have the same keys.
        let key = *keys.get_or_insert_with(leaf.words_id, || {
            let has = |kind| leaf.words.iter().any(|word| lexicon().is(word, kind));
            KeyOfState { topic: TOPICS.of_key(leaf.words), is_name: has(Kind::Name), is_state: has(Kind::State) }
        });
        let plain = leaf.text.chars().next().is_some_and(char::is_lowercase) && !key.is_name;
        let is_state = key.topic.is_some() || key.is_state || plain;
        if !is_state && leaf.text.len() > "false".len() {
            continue;
        }
        let Some(yes) = yes_or_no(leaf.value, leaf.text) else {
            if is_state {
                let topics = texts.entry(leaf.text).or_insert_with(|| {
                    let words = words_of(leaf.text, MOST_WORDS).unwrap_or_default();
                    TOPICS.of_value(&words).collect()
                });
                for (topic, way) in topics {
                    let leaves = by_topic.entry(*topic).or_default();
                    if leaves.last().is_none_or(|(last, _)| *last != index) {
                        leaves.push((index, *way));
                    }
                }
            }
            continue;
        };
        if let Some((topic, way)) = key.topic {
            by_topic.entry(topic).or_default().push((index, Way::Is(yes == way)));
        } else if let Some(phrase) = own_phrase(reader, index) {
            own.entry(phrase).or_default().push((index, Way::Is(yes)));
        }
    }
    if !by_topic.is_empty() {
        topics_said(reader, wording, results, &by_topic, &mut out);
    }
    let mut own: Vec<_> = own.into_iter().collect();
    own.sort_by_key(|(_, leaves)| leaves.first().map(|(leaf, _)| *leaf));
    for (phrase, leaves) in own {
        own_said(reader, wording, &phrase, &leaves, &mut out);
    }
    // "Your cancellation is confirmed": where one phrase agrees, another one that does not is about something else.
    let sentence = |said: &Said| reader.scan.tokens.get(said.tokens.first as usize).map(|token| token.sentence);
    let agreeing: Vec<_> = out.iter().filter(|said| said.agrees).map(|said| (sentence(said), said.leaf)).collect();
    out.retain(|said| said.agrees || !agreeing.contains(&(sentence(said), said.leaf)));
    out.sort_by_key(|said| (said.tokens.first, said.tokens.end, !said.agrees, said.leaf));
    out
}

/// What a boolean is about, by its key ("has_parking") or the label beside it.
fn own_phrase(reader: &Reader<'_, '_>, index: u32) -> Option<Vec<String>> {
    let leaf = reader.facts.leaf(index)?;
    if !matches!(leaf.key, Step::Key(_)) {
        return None;
    }
    let label = leaf.node.and_then(|node| label_of(node, reader.facts));
    let words = match label {
        Some(label) => words_of(label, MOST_WORDS)?,
        None => leaf.words.iter().map(|word| (*word).to_owned()).collect(),
    };
    let words: Vec<String> =
        words.into_iter().filter(|word| !lexicon().is(word, Kind::Empty) && !is_auxiliary(word)).collect();
    let long = words.iter().map(String::len).sum::<usize>() > 2;
    (long && words.len() <= MOST_WORDS).then_some(words)
}

fn is_auxiliary(word: &str) -> bool {
    matches!(
        word,
        "is" | "has"
            | "have"
            | "can"
            | "are"
            | "was"
            | "allows"
            | "allow"
            | "supports"
            | "support"
            | "with"
            | "includes"
    )
}

fn topics_said(
    reader: &Reader<'_, '_>,
    wording: &Wording<'_>,
    results: &[u32],
    by_topic: &HashMap<usize, Vec<(u32, Way)>>,
    out: &mut Vec<Said>,
) {
    // What a result says word by word may be meant: "the RAID is degraded" beside `healthy: true`.
    let texts: Vec<(Vec<String>, &[&str])> = results
        .iter()
        .filter_map(|&index| reader.facts.leaf(index))
        .filter(|leaf| !leaf.text.is_empty() && leaf.text.len() < MOST_BYTES && wording.may_have(leaf.text))
        .filter_map(|leaf| Some((words_of(leaf.text, MOST_WORDS)?, leaf.words)))
        .collect();
    let of_another_key = |phrase: &[String], leaf: u32| {
        let key = reader.facts.leaf(leaf).map(|leaf| leaf.words);
        texts.iter().any(|(text, words)| text == phrase && Some(*words) != key)
    };
    let mut place = 0;
    while let Some(word) = wording.words.get(place) {
        let candidates = TOPICS.phrases.get(&*word.lower).map(Vec::as_slice).unwrap_or_default();
        let mut longest = 1;
        for (phrase, topic, way) in candidates.iter().filter(|(phrase, ..)| wording.stands_at(place, phrase)) {
            if phrase.len() < longest {
                break;
            }
            longest = phrase.len();
            let Some(leaves) = by_topic.get(topic) else { continue };
            let tokens = wording.tokens(place, phrase.len());
            let Some(negated) = negated(reader, tokens, phrase) else { continue };
            if let Some((leaf, agrees)) = held(reader, tokens, leaves, *way, negated)
                && (agrees || !is_of_something_else(reader, tokens) && !of_another_key(phrase, leaf))
            {
                out.push(Said { tokens, leaf, agrees });
            }
        }
        place += longest;
    }
}

/// Is a phrase said (false) or denied (true)? None: neither.
fn negated(reader: &Reader<'_, '_>, tokens: Run, phrase: &[String]) -> Option<bool> {
    let last = reader.scan.tokens.get(tokens.end.checked_sub(1)? as usize)?;
    let clause = reader.scan.clauses.get(last.clause as usize)?;
    if last.quoted || clause.modality != Modality::Asserted {
        return None;
    }
    // "not available" says by itself what is denied.
    if phrase.iter().any(|word| matches!(word.as_str(), "not" | "no" | "never")) {
        return Some(false);
    }
    match last.negation {
        Negation::None => Some(false),
        Negation::Negated => Some(true),
        Negation::Unclear => None,
    }
}

/// What is said, held against the values that it may be about.
fn held(reader: &Reader<'_, '_>, tokens: Run, leaves: &[(u32, Way)], said: Way, denied: bool) -> Option<(u32, bool)> {
    let sentence = reader.scan.tokens.get(tokens.first as usize)?.sentence;
    let indices: Vec<u32> = leaves.iter().map(|(leaf, _)| *leaf).collect();
    let about = reader.about(sentence, tokens, &indices)?;
    let mut outcomes = leaves
        .iter()
        .filter(|(leaf, _)| about.binary_search(leaf).is_ok())
        .map(|(leaf, way)| (*leaf, way.bears(said, denied)));
    // "All systems operational": one that is not is enough.
    if says_all(reader, tokens) {
        return outcomes.clone().find(|(_, agrees)| !agrees).or_else(|| outcomes.next());
    }
    // Of one of many, whichever it is, nothing is held against what is said.
    let unnamed = leaves.len() > 1 && about.len() == leaves.len();
    let (leaf, agrees) = outcomes.next().filter(|(_, agrees)| *agrees || !unnamed)?;
    outcomes.all(|(_, other)| other == agrees).then_some((leaf, agrees))
}

/// "There are no seats available", "it cannot be cancelled": something else is not so, or it is not said what is so.
fn is_of_something_else(reader: &Reader<'_, '_>, tokens: Run) -> bool {
    let Some(clause) =
        reader.scan.tokens.get(tokens.first as usize).and_then(|token| reader.scan.clauses.get(token.clause as usize))
    else {
        return true;
    };
    let is_noun = matches!(
        reader.lower(tokens.end.saturating_sub(1)),
        "issues" | "incident" | "incidents" | "outage" | "problems"
    );
    (clause.tokens.first..tokens.first).any(|index| match reader.lower(index) {
        "there" => !is_noun && matches!(reader.lower(index + 1), "is" | "are" | "was" | "were" | "'s"),
        "can" | "cannot" | "ca" | "could" | "able" => true,
        // "It becomes available at 15:30"
        "becomes" | "become" | "became" | "until" | "once" | "when" | "again" | "next" | "soon" => true,
        _ => false,
    })
}

/// Is something said of all there are?
pub fn says_all(reader: &Reader<'_, '_>, tokens: Run) -> bool {
    let first = reader
        .scan
        .tokens
        .get(tokens.first as usize)
        .and_then(|token| reader.scan.clauses.get(token.clause as usize))
        .map_or(tokens.first, |clause| clause.tokens.first);
    (first.max(tokens.first.saturating_sub(8))..=tokens.first)
        .any(|index| matches!(reader.lower(index), "all" | "everything" | "every" | "both" | "no"))
}

/// A boolean whose key is no topic: the words of its key in the text, said or denied.
fn own_said(
    reader: &Reader<'_, '_>,
    wording: &Wording<'_>,
    phrase: &[String],
    leaves: &[(u32, Way)],
    out: &mut Vec<Said>,
) {
    let Some(first) = phrase.first() else { return };
    for place in wording.places(first) {
        let Some(tokens) = stands(reader, wording, place, phrase) else { continue };
        let Some(denied) = negated(reader, tokens, &[]) else { continue };
        if !(stands_alone(reader, tokens) || begins_with_a_verb(phrase))
            || !(is_a_name(reader, tokens) || phrase.len() > 1 || is_predicate(reader, tokens))
        {
            continue;
        }
        let Some((leaf, agrees)) = held(reader, tokens, leaves, Way::Is(true), denied) else { continue };
        let without = tokens.first.checked_sub(1).is_some_and(|before| reader.lower(before) == "without");
        if !agrees && (without || is_of_something_else(reader, tokens)) {
            continue;
        }
        // Something else in the sentence may deny it in a way that nobody sees here.
        if !agrees && !denied && denies_something(reader, tokens) {
            continue;
        }
        out.push(Said { tokens, leaf, agrees });
    }
}

/// The words of a key as they are, or with a verb between: "email verified", "the email is verified".
fn stands(reader: &Reader<'_, '_>, wording: &Wording<'_>, place: usize, phrase: &[String]) -> Option<Run> {
    if wording.stands_at(place, phrase) {
        return Some(wording.tokens(place, phrase.len()));
    }
    let (last, rest) = phrase.split_last().filter(|(_, rest)| !rest.is_empty())?;
    if !wording.stands_at(place, rest) {
        return None;
    }
    let verb = place + rest.len();
    let end = (verb + 1..verb + 6).find(|&index| wording.words.get(index).is_some_and(|word| word.lower == *last))?;
    let is_verb = |word: &str| matches!(word, "is" | "are" | "was" | "were" | "has" | "have");
    let token = reader.scan.tokens.get(wording.tokens(verb, 1).first as usize)?;
    is_verb(token.lower).then(|| Run { first: wording.tokens(place, 1).first, end: wording.tokens(end, 1).end })
}

/// "mini-SIM card slot" is no card slot: before the phrase stands nothing that belongs to it.
fn stands_alone(reader: &Reader<'_, '_>, tokens: Run) -> bool {
    let Some(before) = tokens.first.checked_sub(1) else { return true };
    let Some(token) = reader.scan.tokens.get(before as usize) else { return true };
    let after = reader.scan.tokens.get(tokens.end as usize);
    let joined = after.is_some_and(|after| {
        matches!(after.lower, "-" | "/") || (after.kind == TokenKind::Number && after.mention.is_some())
    });
    // "insurance providers" are no insurance.
    let one = tokens.end - tokens.first == 1 && !is_a_name(reader, tokens);
    let goes_on = one
        && after.is_some_and(|after| {
            after.kind == TokenKind::Word
                && !is_small(after.lower)
                && !lexicon().is(after.lower, Kind::EndsNoun)
                && !lexicon().is(after.lower, Kind::Facility)
        });
    !joined && !goes_on && (token.kind == TokenKind::Punctuation && token.lower != "-" || is_small(token.lower))
}

/// "contains nuts" has its subject before it.
fn begins_with_a_verb(phrase: &[String]) -> bool {
    phrase.len() > 1
        && phrase.first().is_some_and(|first| {
            matches!(
                first.as_str(),
                "contains"
                    | "accepts"
                    | "offers"
                    | "serves"
                    | "requires"
                    | "needs"
                    | "provides"
                    | "uses"
                    | "comes"
                    | "runs"
                    | "works"
            )
        })
}

/// It may stand before the words of a key without belonging to them.
fn is_small(word: &str) -> bool {
    lexicon().is(word, Kind::Before)
}

/// "NFC", "5G": written as a name, it is no verb and no adjective.
fn is_a_name(reader: &Reader<'_, '_>, tokens: Run) -> bool {
    reader.scan.tokens.get(tokens.first as usize).is_some_and(|token| {
        let text = reader.scan.text.get(token.span.start as usize..token.span.end as usize).unwrap_or_default();
        text.len() > 1 && !text.chars().any(char::is_lowercase)
    })
}

fn is_predicate(reader: &Reader<'_, '_>, tokens: Run) -> bool {
    (tokens.first.saturating_sub(3)..tokens.first).any(|index| reader.is(index, Kind::Predicate))
}

fn denies_something(reader: &Reader<'_, '_>, tokens: Run) -> bool {
    let Some(sentence) = reader
        .scan
        .tokens
        .get(tokens.first as usize)
        .and_then(|token| reader.scan.sentences.get(token.sentence as usize))
    else {
        return true;
    };
    (sentence.tokens.first..sentence.tokens.end).any(|index| reader.is(index, Kind::Denial))
}
