//! What a text says that can be checked: sentences, clauses and how they are meant, and typed mentions.
//!
//! Offsets are bytes of the text. Linear in the length of the text.

mod characters;
mod dates;
mod describe;
mod identifiers;
mod lexicon;
mod mentions;
mod modality;
mod numbers;
mod sentences;
mod symbols;
mod tokens;

use bumpalo::Bump;
use rust_decimal::Decimal;

pub use describe::{Described, describe};
pub use symbols::{currency_sign, currency_word};
use tokens::Tokens;

/// A part of the text, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

#[derive(Debug)]
pub struct Scan<'a> {
    pub text: &'a str,
    pub tokens: &'a [Token<'a>],
    pub clauses: &'a [Clause],
    pub sentences: &'a [Sentence],
    /// In the order of the text; none overlaps another.
    pub mentions: &'a [Mention<'a>],
}

#[derive(Clone, Copy, Debug)]
pub struct Token<'a> {
    pub span: Span,
    pub kind: TokenKind,
    /// For words: NFKC, folded to lower case, without accents, with straight apostrophes. "n't" is split off ("is", "n't"), and so
    /// are "'s", "'ve", "'re", "'ll", "'d", "'m".
    pub lower: &'a str,
    pub sentence: u32,
    pub clause: u32,
    /// Does a negation govern it ("not", "n't", "no", "never", "without", "unable to", "failed to" …)?
    pub negation: Negation,
    /// Inside quotation marks, or a code span.
    pub quoted: bool,
    /// The mention that it belongs to.
    pub mention: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    Word,
    /// Whatever begins with a digit, or a sign and a digit.
    Number,
    Punctuation,
    Symbol,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Negation {
    #[default]
    None,
    Negated,
    /// Doubly negated, or else not clear.
    Unclear,
}

/// A run of tokens, first and one behind the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub first: u32,
    pub end: u32,
}

/// Of at most 256 tokens: what is longer is cut, so that all that looks around in a sentence takes bounded time.
#[derive(Clone, Copy, Debug)]
pub struct Sentence {
    pub span: Span,
    pub tokens: Run,
    pub clauses: Run,
    pub mentions: Run,
    /// A heading, a row of a table, an item of a list, code, or prose.
    pub block: Block,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    Prose,
    Heading,
    Item,
    Row,
    Code,
}

#[derive(Clone, Copy, Debug)]
pub struct Clause {
    pub span: Span,
    pub tokens: Run,
    pub sentence: u32,
    pub modality: Modality,
}

/// How a clause is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modality {
    Asserted,
    /// if, unless, would, could, can, may, might, once …: it is not said that it is so. ("I could not find it" is asserted.)
    Hypothetical,
    /// will, going to, I'll, let me …
    Future,
    Question,
    /// "you said that", "the docs say", "according to you"
    Reported,
    /// "please check", "try again": what the reader is told to do.
    Imperative,
}

#[derive(Clone, Copy, Debug)]
pub struct Mention<'a> {
    /// With sign, currency, unit and percent sign ("-3 °C", "€1,234.50"); `core` is the number alone.
    pub span: Span,
    pub core: Span,
    pub what: What<'a>,
    pub sentence: u32,
    pub clause: u32,
    pub tokens: Run,
    pub hedge: Hedge,
    /// Something that only looks like a value: a list marker, a number in a heading, a footnote, a rhetorical figure (24/7, 100% sure).
    pub idle: bool,
}

#[derive(Clone, Copy, Debug)]
pub enum What<'a> {
    Number(Number<'a>),
    Date(Date),
    Time(Time),
    /// A date with a time, as ISO 8601 has it. In prose ("9 March at 2 pm") they are two mentions.
    Moment(Date, Time),
    /// A token of letters and digits: an order number, a model name, a UUID, a hash, a version, an IP address, a phone number; also nine digits
    /// or more in a row, digits that begin with a zero, four or more behind "#", and those behind a mask ("****4743"). Folded to lower case,
    /// without spaces and dashes.
    Id(&'a str),
    /// Lower case.
    Email(&'a str),
    /// Without scheme, `www.` and trailing slash; lower-case host.
    Url(&'a str),
    /// What stands in quotation marks, as it is: of at most eight words, also if there are numbers in it ("Blade Runner 2049"); of up to
    /// sixteen, if there is no other mention in it. A quotation that is nothing but one date, id or number is that.
    Quote(&'a str),
}

#[derive(Clone, Copy, Debug)]
pub struct Number<'a> {
    /// All that it can be read as, the likeliest first: "1.234" is 1.234 and 1234. Signed: "-3" is negative; "(45)" in a row of a table is
    /// negative or else positive, "($45)" in prose the other way round.
    pub readings: &'a [Reading],
    pub unit: Option<Unit<'a>>,
    /// The sign was written ("+5", "-3", "minus 3").
    pub signed: bool,
    /// In words: "twenty-one", "a dozen", "half an hour".
    pub spelled: bool,
    /// "third", "21st"
    pub ordinal: bool,
    /// One of the two ends of a range ("3-5 days", "3 to 5", "between 3 and 5"), which are mentions of their own. Not "from 3 to 5", which
    /// tells of a change as often, and not what descends with a dash between ("113-107"), which is a score.
    pub range: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    pub value: Decimal,
    /// What one in the last written place is worth: 0.1 for "6.5", 100,000 for "6.5 million", 1 for "1,200".
    pub step: Decimal,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unit<'a> {
    Percent,
    /// An ISO 4217 code in capitals; "$" alone is "USD" with `symbol` true, which may be any dollar.
    Currency {
        code: &'a str,
        symbol: bool,
    },
    /// Of the table of units (`units.rs`): its canonical name.
    Measure(&'static str),
}

/// The parts that are known: "March 2024" has no day, "9 March" has no year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Date {
    pub year: Option<i16>,
    pub month: Option<i8>,
    pub day: Option<i8>,
    /// Monday is 1.
    pub weekday: Option<i8>,
    /// "03/09/2026": day and month may be the other way round.
    pub ambiguous: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time {
    pub hour: i8,
    pub minute: Option<i8>,
    pub second: Option<i8>,
    /// Minutes from UTC, where a zone is given.
    pub offset: Option<i16>,
    /// Neither am nor pm was said, and the hour is 1 to 12.
    pub half_day_open: bool,
}

/// "about 30", "over 30", "up to 30"
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Hedge {
    #[default]
    None,
    About,
    Over,
    Under,
}

/// All that is in a text.
pub fn scan<'a>(text: &'a str, bump: &'a Bump) -> Scan<'a> {
    let mut tokens = Tokens::new(text, bump);
    let mut mentions = mentions::find(&tokens, bump);
    for (number, mention) in mentions.iter().enumerate() {
        let run = mention.tokens.first as usize..mention.tokens.end as usize;
        for token in tokens.tokens.get_mut(run).unwrap_or_default() {
            token.mention = Some(number as u32);
        }
    }
    let mut sentences = sentences::split(&tokens);
    let clauses = modality::clauses(&mut tokens, &mut sentences);
    place(&mut tokens, &mut sentences, &clauses, &mut mentions);
    Scan {
        text: tokens.text,
        tokens: bump.alloc_slice_copy(&tokens.tokens),
        clauses: bump.alloc_slice_copy(&clauses),
        sentences: bump.alloc_slice_copy(&sentences),
        mentions: bump.alloc_slice_copy(&mentions),
    }
}

/// Tell tokens and mentions which sentence and clause they are in. A mention belongs to those of its first token.
fn place(tokens: &mut Tokens<'_>, sentences: &mut [Sentence], clauses: &[Clause], mentions: &mut [Mention<'_>]) {
    for (number, clause) in clauses.iter().enumerate() {
        let run = clause.tokens.first as usize..clause.tokens.end as usize;
        for token in tokens.tokens.get_mut(run).unwrap_or_default() {
            (token.sentence, token.clause) = (clause.sentence, number as u32);
        }
    }
    let mut next = 0;
    for (number, sentence) in sentences.iter_mut().enumerate() {
        sentence.mentions.first = next as u32;
        while let Some(mention) = mentions.get_mut(next).filter(|mention| mention.tokens.first < sentence.tokens.end) {
            mention.sentence = number as u32;
            mention.clause = tokens.tokens.get(mention.tokens.first as usize).map_or(0, |token| token.clause);
            next += 1;
        }
        sentence.mentions.end = next as u32;
    }
}

/// The mentions alone, for texts of payloads, which may be long. They tell nothing of tokens, sentences and clauses.
pub fn mentions<'a>(text: &'a str, bump: &'a Bump) -> &'a [Mention<'a>] {
    let mut found = Vec::new();
    let mut start = 0;
    // A part at a time, so that the tokens of long texts do not fill the memory.
    while start < text.len() {
        let end = end_of_part(text, start);
        let Some(part) = text.get(start..end) else { break };
        let tokens = Tokens::new(part, bump);
        found.extend(mentions::find(&tokens, bump).into_iter().map(|mention| moved(mention, start)));
        start = end;
    }
    bump.alloc_slice_copy(&found)
}

/// How long a part of a long text is, at least.
const PART: usize = 1 << 16;

/// Behind the line that a part ends with; behind a word where there are no lines.
fn end_of_part(text: &str, start: usize) -> usize {
    let least = start + PART;
    let Some(rest) = text.as_bytes().get(least..) else { return text.len() };
    let line = memchr::memchr(b'\n', rest.get(..PART).unwrap_or(rest));
    let end = line.or_else(|| memchr::memchr(b' ', rest.get(..PART).unwrap_or(rest))).map(|place| least + place + 1);
    let mut end = end.unwrap_or(least).min(text.len());
    while !text.is_char_boundary(end) {
        end += 1;
    }
    end
}

/// Of a text that begins at a place of another.
fn moved<'a>(mention: Mention<'a>, place: usize) -> Mention<'a> {
    let moved = |span: Span| {
        let shifted = |at: u32| u32::try_from(at as usize + place).unwrap_or(u32::MAX);
        Span { start: shifted(span.start), end: shifted(span.end) }
    };
    let tokens = Run { first: 0, end: 0 };
    Mention { span: moved(mention.span), core: moved(mention.core), tokens, ..mention }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mentions_of_long_texts_are_those_of_their_parts() {
        let bump = Bump::new();
        let line = "On 9 March 2026 it was 3.5 °C, and A-99812 cost €1,234.50.\n";
        let text = line.repeat(4000);
        let found = mentions(&text, &bump);
        assert_eq!(found.len(), 4 * 4000);
        for (number, mention) in found.iter().enumerate() {
            let written = text.get(mention.span.start as usize..mention.span.end as usize).unwrap();
            assert_eq!(written, ["9 March 2026", "3.5 °C", "A-99812", "€1,234.50"][number % 4]);
        }
        let one_line = "12 ".repeat(100_000);
        assert_eq!(mentions(&one_line, &bump).len(), 100_000);
        mentions(&"é".repeat(200_000), &bump);
    }
}
