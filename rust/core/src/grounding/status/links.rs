//! Which calls a claim is about.

use std::{
    cell::OnceCell,
    collections::{HashMap, HashSet},
};

use super::{
    super::{
        claims::{Claim, Classes, Says, Voice, lexicon},
        names::{self, Deed, Names},
        request::{Call, Request},
        scan::{Scan, Span},
    },
    Outcome, Status, attempts,
};
use crate::value::Value;

/// How many words of a payload are looked at, and how many calls that did not succeed.
const MOST_WORDS: usize = 500;
const MOST_CALLS: usize = 100;
const MOST_ALIKE: usize = 20;
/// How many words of query and text.
const MOST_SAID: usize = 20_000;

/// What a call is about.
pub struct About {
    pub deed: Deed,
    classes: Classes,
    /// Words of its name that are no verbs of action.
    nouns: HashSet<String>,
}

impl About {
    fn of(call: &Call<'_>) -> Self {
        let deed = Deed::of(call.tool);
        let lexicon = lexicon();
        let unknown = match names::first_word(call.tool) {
            Some(verb) if lexicon.word(&verb).is_none() => Classes::OF_TOOLS,
            _ => Classes::default(),
        };
        let classes = unknown
            | match deed {
                Deed::Writes(classes) => classes,
                Deed::Reads => lexicon.class("read"),
                Deed::Anything => Classes::default(),
            };
        let is_verb = |word: &String| lexicon.word(word).is_some_and(|word| !word.base.is_empty());
        let words = names::words_of(call.tool);
        let verbs = usize::from(words.first().is_some_and(is_verb));
        let nouns = words.iter().skip(verbs).filter(|word| word.len() > 2).map(|word| singular(word).to_owned());
        About { deed, classes, nouns: nouns.collect() }
    }

    pub fn reads(&self) -> bool {
        !matches!(self.deed, Deed::Writes(_))
    }

    pub fn writes(&self) -> bool {
        self.deed != Deed::Reads
    }

    fn does(&self, classes: Classes) -> bool {
        classes.meets(self.classes)
    }

    fn could_do(&self, classes: Classes) -> bool {
        !self.classes.is_empty() && lexicon().could_do(self.classes, classes)
    }
}

/// The calls that a claim is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// These that did not succeed.
    To(Vec<usize>),
    /// Nothing in the claim names them, but no other call could be meant.
    Only(Vec<usize>),
    /// Calls that succeeded, or none.
    Other,
    /// Calls of both kinds could be meant.
    Unclear,
}

pub struct Links<'r, 'a> {
    scan: &'r Scan<'a>,
    about: Vec<About>,
    /// Of all calls.
    classes: Classes,
    /// Calls that did not succeed, and whose last attempt they are.
    pub open: Vec<usize>,
    /// Calls that succeeded and have something to do with query or text: an unrelated one must change nothing.
    pub good: Vec<usize>,
    /// By clause: the calls that it names.
    named: HashMap<u32, Vec<usize>>,
    /// By word: the calls that have it among their arguments.
    given: HashMap<String, Vec<usize>>,
    clauses: Vec<OnceCell<Words>>,
    sentences: Vec<OnceCell<Words>>,
    nothing: OnceCell<Words>,
}

/// Of a part of the text.
struct Words {
    words: HashSet<String>,
    /// Calls that were given one of them.
    calls: HashSet<usize>,
}

impl<'r, 'a> Links<'r, 'a> {
    pub fn new(request: &'r Request<'a>, scan: &'r Scan<'a>, outcomes: &[Outcome]) -> Self {
        let superseded = attempts::superseded(request.calls, outcomes);
        let calls = || outcomes.iter().enumerate();
        let is_last = |index: usize| !superseded.get(index).copied().unwrap_or_default();
        let open =
            calls().filter(|&(index, outcome)| outcome.is_unresolved() && is_last(index)).map(|(index, _)| index);
        let good = calls().filter(|(_, outcome)| matches!(outcome.status, Status::Success | Status::Unknown));
        let mut said = HashSet::new();
        for text in [request.query, request.text] {
            words_of_text(text, &mut { MOST_SAID }, &mut |word| {
                said.insert(singular(&word).to_owned());
            });
        }
        let about: Vec<About> = request.calls.iter().map(About::of).collect();
        Links {
            scan,
            classes: about.iter().fold(Classes::default(), |all, about| all | about.classes),
            about,
            open: open.take(MOST_CALLS).collect(),
            good: good
                .map(|(index, _)| index)
                .filter(|&index| request.calls.get(index).is_some_and(|call| is_related(call, &said)))
                .take(10 * MOST_CALLS)
                .collect(),
            named: named(request, scan),
            given: given(request),
            clauses: scan.clauses.iter().map(|_| OnceCell::new()).collect(),
            sentences: scan.sentences.iter().map(|_| OnceCell::new()).collect(),
            nothing: OnceCell::new(),
        }
    }

    /// Is this word among the arguments of a call?
    pub fn is_given(&self, word: &str) -> bool {
        self.given.contains_key(word)
    }

    pub fn about(&self, call: usize) -> Option<&About> {
        self.about.get(call)
    }

    /// Which calls is this claim about?
    pub fn of(&self, claim: &Claim) -> Link {
        if let Some(named) = self.named.get(&claim.clause) {
            let open: Vec<usize> = self.open.iter().copied().filter(|call| named.contains(call)).collect();
            return if open.is_empty() { Link::Other } else { Link::To(open) };
        }
        if !claim.classes.is_empty() && !is_general(claim.classes) {
            for fits in [About::does, About::could_do] {
                let (open, good) = self.both(|about| fits(about, claim.classes));
                if !open.is_empty() {
                    return self.among(open, &good, claim);
                }
                if !good.is_empty() {
                    return Link::Other;
                }
            }
            // A verb that no call fits: it may be one that runs anything, or that goes by another word.
            return self.only(claim);
        }
        let clause = self.words_of_clause(claim);
        let (open, good) = self.both(|about| {
            about.does(claim.around) && lexicon().writes(claim.around)
                || about.nouns.iter().any(|noun| clause.words.contains(noun))
        });
        if !open.is_empty() {
            return self.among(open, &good, claim);
        }
        if !good.is_empty() {
            return Link::Other;
        }
        let (open, good) = self.by_values(clause, &self.open, &self.good);
        match (open.is_empty(), good.is_empty()) {
            (false, true) => Link::To(open),
            (_, false) => Link::Other,
            (true, true) => self.only(claim),
        }
    }

    /// Calls that did not succeed, and calls that did, of which something is true.
    fn both(&self, fits: impl Fn(&About) -> bool) -> (Vec<usize>, Vec<usize>) {
        let which =
            |calls: &[usize]| calls.iter().copied().filter(|&call| self.about(call).is_some_and(&fits)).collect();
        (which(&self.open), which(&self.good))
    }

    /// The claim fits all of these: which of them does it name by what they were given?
    fn among(&self, open: Vec<usize>, good: &[usize], claim: &Claim) -> Link {
        for words in [self.words_of_clause(claim), self.words_of_sentence(claim)] {
            let (named, others) = self.by_values(words, &open, good);
            if !named.is_empty() {
                return Link::To(named);
            }
            if !others.is_empty() {
                return Link::Other;
            }
        }
        match (good.is_empty(), claim.whole) {
            (true, _) => Link::To(open),
            (false, true) => Link::Only(open),
            (false, false) => Link::Unclear,
        }
    }

    /// Those that have a word among their arguments that none on the other side has.
    fn by_values(&self, words: &Words, open: &[usize], good: &[usize]) -> (Vec<usize>, Vec<usize>) {
        let (mut of_open, mut of_good) = (Vec::new(), Vec::new());
        for calls in words.words.iter().filter_map(|word| self.given.get(word)) {
            let which =
                |calls_of: &[usize]| calls.iter().copied().filter(|call| calls_of.contains(call)).collect::<Vec<_>>();
            match (which(open), which(good)) {
                (open, good) if good.is_empty() => of_open.extend(open),
                (open, good) if open.is_empty() => of_good.extend(good),
                _ => {}
            }
        }
        for calls in [&mut of_open, &mut of_good] {
            calls.sort_unstable();
            calls.dedup();
        }
        (of_open, of_good)
    }

    /// No word of the claim says which call is meant.
    fn only(&self, claim: &Claim) -> Link {
        let claims_reading = !claim.classes.is_empty() && !lexicon().writes(claim.classes);
        let fits = |about: &About| if claims_reading { about.reads() } else { about.writes() };
        let (open, good) = self.both(fits);
        match (open.is_empty(), good.is_empty()) {
            (true, _) if claim.voice == Voice::State && self.good.is_empty() => Link::Only(self.open.clone()),
            (true, _) => Link::Other,
            (false, true) => Link::Only(open),
            (false, false) if claim.whole => Link::Only(open),
            (false, false) => Link::Unclear,
        }
    }

    /// Is what failed here, or was not done, this call's business? It is, unless other calls fit and this one doesn't.
    pub fn may_be_about(&self, claim: &Claim, call: usize) -> bool {
        let Some(about) = self.about(call) else { return false };
        if let Some(named) = self.named.get(&claim.clause) {
            return named.contains(&call);
        }
        let given = &self.words_of_clause(claim).calls;
        if !given.is_empty() && !given.contains(&call) && claim.says != Says::Sorry {
            return false;
        }
        let classes = if claim.classes.is_empty() { lexicon().writers(claim.around) } else { claim.classes };
        classes.is_empty() || is_general(classes) || about.could_do(classes) || !classes.meets(self.classes)
    }

    /// Does the claim's clause have a word that only this call was given, or one of its tool's name?
    pub fn is_near(&self, claim: &Claim, call: usize) -> bool {
        let words = self.words_of_sentence(claim);
        let (open, _) = self.by_values(words, &[call], &self.good);
        let nouns = self.about(call).is_some_and(|about| about.nouns.iter().any(|noun| words.words.contains(noun)));
        !open.is_empty() || nouns
    }

    fn words_of_clause(&self, claim: &Claim) -> &Words {
        let span = || self.scan.clauses.get(claim.clause as usize).map(|clause| clause.span);
        self.words_of(self.clauses.get(claim.clause as usize), span)
    }

    fn words_of_sentence(&self, claim: &Claim) -> &Words {
        let span = || self.scan.sentences.get(claim.sentence as usize).map(|sentence| sentence.span);
        self.words_of(self.sentences.get(claim.sentence as usize), span)
    }

    fn words_of<'w>(&'w self, place: Option<&'w OnceCell<Words>>, span: impl FnOnce() -> Option<Span>) -> &'w Words {
        let read = || {
            let span = span().and_then(|span| self.scan.text.get(span.start as usize..span.end as usize));
            let mut words = HashSet::new();
            words_of_text(span.unwrap_or_default(), &mut { MOST_WORDS }, &mut |word| {
                words.insert(singular(&word).to_owned());
                words.insert(word);
            });
            let calls = words.iter().filter_map(|word| self.given.get(word)).flatten().copied().collect();
            Words { words, calls }
        };
        place.unwrap_or(&self.nothing).get_or_init(read)
    }
}

/// "done", "handled", "confirmed": what was done stands elsewhere.
fn is_general(classes: Classes) -> bool {
    let lexicon = lexicon();
    !lexicon.class("generic").is_empty() && classes == lexicon.class("generic")
}

/// The calls that clauses name.
fn named(request: &Request<'_>, scan: &Scan<'_>) -> HashMap<u32, Vec<usize>> {
    let mut named: HashMap<u32, Vec<usize>> = HashMap::new();
    let mentions = names::mentions(scan);
    if mentions.is_empty() {
        return named;
    }
    let tools = Names::new(request.calls.iter().map(|call| call.tool));
    for mention in mentions {
        let clause = scan.clauses.partition_point(|clause| clause.span.end <= mention.span.start);
        let calls = tools.exactly(mention.text);
        if !calls.is_empty() {
            named.entry(clause as u32).or_default().extend(calls.iter().map(|&call| call as usize));
        }
    }
    named
}

/// Does a call have a word in common with what was asked and answered?
fn is_related(call: &Call<'_>, said: &HashSet<String>) -> bool {
    let mut related = names::words_of(call.tool).iter().any(|word| word.len() > 3 && said.contains(singular(word)));
    let mut room = MOST_WORDS;
    for value in [call.request, call.response].into_iter().flatten() {
        words_of_value(value, &mut room, &mut |word| related |= said.contains(singular(&word)));
    }
    related
}

/// The calls that have a word among their arguments. A word that many have tells none of them apart.
fn given(request: &Request<'_>) -> HashMap<String, Vec<usize>> {
    let mut given: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, call) in request.calls.iter().enumerate() {
        let mut room = MOST_WORDS;
        words_of_value(call.request.unwrap_or_default(), &mut room, &mut |word| {
            let calls = given.entry(word).or_default();
            if calls.last() != Some(&index) {
                calls.push(index);
            }
        });
    }
    given.retain(|_, calls| calls.len() <= MOST_ALIKE);
    given
}

fn singular(word: &str) -> &str {
    word.strip_suffix('s').filter(|stem| stem.len() > 2 && !stem.ends_with('s')).unwrap_or(word)
}

/// The words of all texts and numbers in a value.
pub fn words_of_value(value: Value<'_>, room: &mut usize, each: &mut impl FnMut(String)) {
    if *room == 0 {
        return;
    }
    match value {
        Value::Text(text) => words_of_text(&names::utf8(text), room, each),
        Value::Int(int) => words_of_text(&int.to_string(), room, each),
        Value::Float(float) => words_of_text(&float.to_string(), room, each),
        Value::Array(items) => items.iter().for_each(|&item| words_of_value(item, room, each)),
        Value::Object(members) => members.iter().for_each(|member| words_of_value(member.value, room, each)),
        _ => {}
    }
}

/// Words of three letters and numbers of two digits and more, without the most frequent ones.
fn words_of_text(text: &str, room: &mut usize, each: &mut impl FnMut(String)) {
    const FREQUENT: [&str; 36] = [
        "the", "and", "for", "with", "you", "your", "from", "this", "that", "are", "was", "has", "have", "been", "not",
        "all", "com", "org", "net", "www", "http", "https", "example", "its", "but", "our", "new", "can", "will",
        "now", "any", "into", "out", "one", "status", "true",
    ];
    // "b.pdf", "T-9"
    let whole = text.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    for word in
        whole.filter(|word| word.len() > 2 && word.contains(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’'))
    {
        *room = match room.checked_sub(1) {
            Some(rest) => rest,
            None => return,
        };
        each(word.to_lowercase());
    }
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
        if word.len() < if is_number { 2 } else { 3 } || is_number && word.bytes().all(|byte| byte == b'0') {
            continue;
        }
        *room = match room.checked_sub(1) {
            Some(rest) => rest,
            None => return,
        };
        let word = word.to_lowercase();
        if !FREQUENT.contains(&word.as_str()) {
            each(word);
        }
    }
}
