//! The text as a row of words, in which names and phrases of results are looked for.

use std::borrow::Cow;

use foldhash::{HashMap, HashMapExt};

use super::lexicon::{hash, hash_of};
use crate::grounding::scan::{Run, Scan, TokenKind};

/// A word. Tokens are split at all that is neither letter nor digit, so that "WH-1000XM4" is found however it is written.
#[derive(Debug)]
pub struct Word<'a> {
    pub lower: Cow<'a, str>,
    pub token: u32,
    pub capital: bool,
    hash: u64,
    /// Where the same word stands next.
    next: Option<u32>,
}

#[derive(Debug)]
pub struct Wording<'a> {
    pub words: Vec<Word<'a>>,
    /// Where each word stands first, by its hash.
    firsts: HashMap<u64, u32>,
}

impl<'a> Wording<'a> {
    pub fn new(scan: &Scan<'a>) -> Self {
        let mut words = Vec::with_capacity(scan.tokens.len());
        for (index, token) in scan.tokens.iter().enumerate() {
            if matches!(token.kind, TokenKind::Punctuation | TokenKind::Symbol) {
                continue;
            }
            let text = scan.text.get(token.span.start as usize..token.span.end as usize).unwrap_or_default();
            let mut add = |part: &'a str| {
                let capital = part.chars().next().is_some_and(char::is_uppercase);
                let lower = lower_case(part);
                words.push(Word { hash: hash(&lower), lower, token: index as u32, capital, next: None });
            };
            match text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                true => add(text),
                false => parts(text).for_each(add),
            }
        }
        let mut firsts = HashMap::with_capacity(words.len());
        for (index, word) in words.iter_mut().enumerate().rev() {
            word.next = firsts.insert(word.hash, index as u32);
        }
        Wording { words, firsts }
    }

    /// Where a word stands, in order.
    pub fn places(&self, lower: &str) -> impl Iterator<Item = usize> {
        let first = self.firsts.get(&hash(lower)).copied();
        std::iter::successors(first, |place| self.words.get(*place as usize)?.next).map(|place| place as usize)
    }

    /// Is the first word of this text, whatever its case, anywhere in the answer? Most texts of results are not, and need no closer look.
    pub fn may_have(&self, text: &str) -> bool {
        let Some(first) = parts(text).next() else { return false };
        let mut buffer = [0; 32];
        match buffer.get_mut(..first.len()) {
            Some(lower) if first.is_ascii() => {
                lower.copy_from_slice(first.as_bytes());
                lower.make_ascii_lowercase();
                self.has(hash_of(lower))
            }
            _ => self.has(hash(&first.to_lowercase())),
        }
    }

    fn has(&self, hash: u64) -> bool {
        self.firsts.contains_key(&hash)
    }

    /// Do these words, in lower case, stand here one after the other?
    pub fn stands_at(&self, first: usize, phrase: &[impl AsRef<str>]) -> bool {
        self.words
            .get(first..first + phrase.len())
            .is_some_and(|run| run.iter().zip(phrase).all(|(word, part)| word.lower == part.as_ref()))
    }

    /// The tokens of so many words.
    pub fn tokens(&self, first: usize, count: usize) -> Run {
        let token = |index: usize| self.words.get(index).map_or(0, |word| word.token);
        Run { first: token(first), end: token(first + count.saturating_sub(1)) + 1 }
    }
}

/// A copy only where it has to be one.
fn lower_case(part: &str) -> Cow<'_, str> {
    let is_lower = part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    if is_lower { Cow::Borrowed(part) } else { Cow::Owned(part.to_lowercase()) }
}

fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty())
}

/// A text of a result as such words; None if there are more than so many.
pub fn words_of(text: &str, most: usize) -> Option<Vec<String>> {
    let words: Vec<String> = parts(text).take(most + 1).map(str::to_lowercase).collect();
    (words.len() <= most).then_some(words)
}
