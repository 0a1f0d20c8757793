//! Which results are reflected in the text, or went into a later call.

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};

use super::{
    lexicon::{Kind, lexicon},
    wording::{Wording, words_of},
};
use crate::{
    grounding::{
        facts::{Facts, Leaf, Side},
        request::Request,
        scan::{Run, Scan},
        status::{Outcome, Status},
    },
    value::Value,
};

/// A text of a result of so many words is looked for as a whole; of longer ones, single words are.
const MOST_WORDS: usize = 8;
/// So many words of a sentence have to be in long texts of results, and so many words of those are looked at.
const FEWEST_COMMON: usize = 3;
const MOST_LOOKED_AT: usize = 4000;
/// Words that are shorter are in any text.
const SHORTEST: usize = 3;

/// What there is to tell of a call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told {
    /// It succeeded, as far as anybody knows.
    pub usable: bool,
    /// Its response has something that an answer could tell.
    pub content: bool,
    /// Its response says that there is nothing.
    pub empty: bool,
    /// Something of its response is in the text.
    pub told: bool,
    /// Something of its response is an argument of a later call.
    pub passed_on: bool,
}

/// A text of a result that is in the answer as it is.
#[derive(Debug)]
pub struct Literal {
    pub tokens: Run,
    pub leaf: u32,
}

/// For each call, without what is told of it.
pub fn calls(request: &Request<'_>, facts: &Facts<'_>, outcomes: &[Outcome]) -> Vec<Told> {
    let mut calls: Vec<Told> = outcomes
        .iter()
        .map(|outcome| Told {
            usable: matches!(outcome.status, Status::Success | Status::Partial | Status::Unknown),
            ..Told::default()
        })
        .collect();
    for (index, leaf) in facts.leaves.iter().enumerate().filter(|(_, leaf)| leaf.side == Side::Response) {
        // Where there is something to tell, it's not empty.
        let Some(call) = calls.get_mut(leaf.call as usize).filter(|call| !call.content) else { continue };
        match leaf.value {
            Value::Null | Value::Array([]) | Value::Object([]) | Value::Int(0) => call.empty = true,
            Value::True | Value::False => {}
            _ => call.content = is_content(leaf, facts, index as u32),
        }
    }
    for call in &mut calls {
        call.empty &= !call.content;
    }
    passed_on(request, facts, &mut calls);
    calls
}

/// Would anybody expect it in an answer?
fn is_content(leaf: &Leaf<'_>, facts: &Facts<'_>, index: u32) -> bool {
    !(leaf.echo || leaf.technical || leaf.text.trim().is_empty() && facts.facts_of(index).is_empty())
}

/// What of a response is an argument of a later call: texts of some length, and numbers that are no small ones.
fn passed_on(request: &Request<'_>, facts: &Facts<'_>, calls: &mut [Told]) {
    if calls.len() < 2 {
        return;
    }
    let telling = |leaf: &Leaf<'_>| match leaf.value {
        Value::Text(_) => leaf.text.len() > 2,
        Value::Int(int) => int.unsigned_abs() > 9,
        Value::Float(_) | Value::Big(_) => true,
        _ => false,
    };
    let written = |leaf: &Leaf<'_>| match leaf.value {
        Value::Text(_) => leaf.text.to_lowercase(),
        Value::Int(int) => int.to_string(),
        Value::Float(float) => float.to_string(),
        _ => String::new(),
    };
    // The last call that has such an argument.
    let mut arguments: HashMap<String, u32> = HashMap::new();
    for leaf in facts.leaves.iter().filter(|leaf| leaf.side == Side::Request && telling(leaf)) {
        arguments.insert(written(leaf), leaf.call);
    }
    if arguments.is_empty() {
        return;
    }
    for leaf in facts.leaves.iter().filter(|leaf| leaf.side == Side::Response && !leaf.echo && telling(leaf)) {
        if arguments.get(&written(leaf)).is_some_and(|&call| call > leaf.call || overlap(request, call, leaf.call))
            && let Some(call) = calls.get_mut(leaf.call as usize)
        {
            call.passed_on = true;
        }
    }
}

/// Did two calls run at the same time? Then nothing says which of them was first.
fn overlap(request: &Request<'_>, one: u32, other: u32) -> bool {
    let (Some(one), Some(other)) = (request.calls.get(one as usize), request.calls.get(other as usize)) else {
        return false;
    };
    let times = (one.start, one.end, other.start, other.end);
    let (Some((start, _)), Some((end, _)), Some((other_start, _)), Some((other_end, _))) = times else { return false };
    one.index != other.index && start < other_end && other_start < end
}

/// Short texts of results that are in the answer as they are.
pub fn literals(facts: &Facts<'_>, results: &[u32], wording: &Wording<'_>, calls: &mut [Told]) -> Vec<Literal> {
    let mut out: Vec<Literal> = Vec::new();
    let mut seen: HashSet<(u32, &str)> = HashSet::new();
    for &index in results {
        let Some(leaf) = facts.leaf(index) else { continue };
        if leaf.echo
            || leaf.text.len() < 3
            || !matches!(leaf.value, Value::Text(_))
            || !seen.insert((leaf.call, leaf.text))
        {
            continue;
        }
        let Some(call) = calls.get_mut(leaf.call as usize) else { continue };
        if !wording.may_have(leaf.text) {
            continue;
        }
        let Some(words) = words_of(leaf.text, MOST_WORDS) else { continue };
        let letters = words.iter().flat_map(|word| word.chars()).filter(|c| c.is_alphabetic()).count();
        let Some(first) = words.first().filter(|_| letters > 2) else { continue };
        if let Some(place) = wording.places(first).find(|&place| wording.stands_at(place, &words)) {
            call.told = true;
            out.push(Literal { tokens: wording.tokens(place, words.len()), leaf: index });
        }
    }
    out.sort_by_key(|literal| (literal.tokens.first, literal.leaf));
    out
}

/// Sentences most of whose words are in one call's long texts, with the first such text.
pub fn retold(scan: &Scan<'_>, facts: &Facts<'_>, results: &[u32], wording: &Wording<'_>) -> Vec<Literal> {
    let mut long: HashMap<u64, u32> = HashMap::new();
    let mut left = MOST_LOOKED_AT;
    for &index in results {
        let Some(leaf) = facts.leaf(index).filter(|leaf| leaf.text.len() > 30 && !leaf.echo) else { continue };
        for word in leaf.text.split(|c: char| !c.is_alphanumeric()).take(left).filter_map(telling) {
            left = left.saturating_sub(1);
            long.entry(word).or_insert(index);
        }
    }
    if long.is_empty() {
        return Vec::new();
    }
    let mut out = Vec::new();
    let mut words = wording.words.iter().peekable();
    for sentence in scan.sentences {
        let mut all = 0_usize;
        let mut common: Vec<u32> = Vec::new();
        while let Some(word) = words.next_if(|word| word.token < sentence.tokens.end) {
            if let Some(meaning) = telling(&word.lower).filter(|_| word.token >= sentence.tokens.first) {
                all += 1;
                common.extend(long.get(&meaning));
            }
        }
        if common.len() >= FEWEST_COMMON
            && common.len() * 2 >= all
            && let Some(&leaf) = common.first()
        {
            out.push(Literal { tokens: sentence.tokens, leaf });
        }
    }
    out
}

/// What a word of some length means; None for one that is in any text.
fn telling(word: &str) -> Option<u64> {
    let lower = word.to_lowercase();
    (word.chars().count() >= SHORTEST && !lexicon().is(&lower, Kind::Common)).then(|| lexicon().meaning(&lower).stem())
}

/// Has the text nothing to do with the call: no word of the query, of its name, its arguments or its response?
pub fn is_about_something_else(request: &Request<'_>, facts: &Facts<'_>, wording: &Wording<'_>) -> bool {
    let told: HashSet<u64> = wording.words.iter().filter_map(|word| telling(&word.lower)).collect();
    if told.len() < FEWEST_COMMON {
        return false;
    }
    let in_text = |text: &str| {
        text.split(|c: char| !c.is_alphanumeric())
            .take(MOST_LOOKED_AT)
            .filter_map(telling)
            .any(|word| told.contains(&word))
    };
    !in_text(request.query)
        && !request.calls.iter().any(|call| in_text(call.tool))
        && !facts
            .leaves
            .iter()
            .take(MOST_LOOKED_AT)
            .any(|leaf| in_text(leaf.text) || leaf.words.iter().any(|word| in_text(word)))
}

/// Does the text say that it has no answer: "I don't have access to", "I can't look that up"?
pub fn says_it_has_no_answer(scan: &Scan<'_>) -> Option<Run> {
    let at = |index: u32| scan.tokens.get(index as usize).map_or("", |token| token.lower);
    scan.clauses.iter().find_map(|clause| {
        let first_person = (clause.tokens.first..clause.tokens.end).any(|index| matches!(at(index), "i" | "we"));
        let denied = (clause.tokens.first..clause.tokens.end)
            .any(|index| matches!(at(index), "not" | "n't" | "unable" | "cannot" | "no"));
        let access = (clause.tokens.first..clause.tokens.end)
            .any(|index| matches!(at(index), "access" | "real-time" | "realtime" | "live" | "up-to-date" | "browse"));
        (first_person && denied && access).then_some(clause.tokens)
    })
}
