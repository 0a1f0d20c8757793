//! What a text claims to have happened: what was done, what was not, what waits, and that there is nothing.
//!
//! A claim is found by the shape of its words (who, an auxiliary, the form of a verb of action, negation, mood), and where there is
//! no such verb, by phrases for how something went.

mod lexicon;

pub use lexicon::{Classes, Lexicon, Outcome, ToolVerbs, Word, lexicon};

use super::scan::{Block, Clause, Modality, Negation, Run, Scan, Span, Token, TokenKind};

/// What is claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says {
    Done,
    /// It was not done: "could not cancel", "was not sent".
    NotDone,
    /// It is being done.
    Moving,
    /// It will show soon: "on its way", "should arrive tomorrow".
    Coming,
    /// Not yet.
    Waiting,
    /// It will be tried again, or should be.
    Retry,
    /// Something failed.
    Failed,
    /// A word that goes with bad news, and may be mere politeness: "unfortunately".
    Sorry,
    /// There is none: "no results".
    Nothing,
}

/// Who is said to have done it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voice {
    /// "I", "we".
    Agent,
    /// Nobody is named, and the speaker is meant: "Sent!", "Booked your flight."
    Elided,
    /// "has been sent"
    Perfect,
    /// "is booked"
    Present,
    /// "was sent"
    Past,
    /// No action, but how something is or went: "is complete", "went through".
    State,
}

#[derive(Clone, Copy, Debug)]
pub struct Claim {
    pub says: Says,
    pub voice: Voice,
    /// What was done; empty where the words don't say.
    pub classes: Classes,
    /// What nouns and other verbs of action in its clause name.
    pub around: Classes,
    /// See [`Word::strong`].
    pub strong: bool,
    /// The token of the verb, or the first of a phrase.
    pub verb: u32,
    /// The clause says that it is so, and of no other time.
    pub asserted: bool,
    /// "all", "both", "everything"
    pub whole: bool,
    /// "some of", "only", "3 of"
    pub part: bool,
    /// A relative clause ("the order that was placed"), a date or "by the carrier": told as known, and not as one's own doing.
    pub background: bool,
    /// "could not find any", where `says` is `Nothing`.
    pub not_able: bool,
    pub tokens: Run,
    pub clause: u32,
    pub sentence: u32,
}

impl Claim {
    pub fn span(&self, scan: &Scan<'_>) -> Span {
        let of = |index: u32| scan.tokens.get(index as usize).map(|token| token.span);
        let first = of(self.tokens.first).map_or(0, |span| span.start);
        Span { start: first, end: of(self.tokens.end.saturating_sub(1)).map_or(first, |span| span.end) }
    }
}

/// How far an auxiliary or a subject may stand before its verb, adverbs counted.
const REACH: usize = 8;

/// All claims, in the order of the text. `verbs` are those of the tools that were called.
pub fn claims(scan: &Scan<'_>, verbs: &ToolVerbs) -> Vec<Claim> {
    let lexicon = lexicon();
    let word = |token: &Token<'_>| match token.kind {
        TokenKind::Word => lexicon.word(token.lower).or_else(|| verbs.unknown.get(token.lower)),
        _ => None,
    };
    let words = scan.tokens.iter().map(word).collect();
    let mut finder = Finder {
        scan,
        lexicon,
        verbs,
        words,
        claims: Vec::new(),
        coordinated: None,
        in_draft: false,
        line: (0, false),
    };
    for (index, clause) in scan.clauses.iter().enumerate() {
        finder.clause(index as u32, clause);
    }
    finder.claims
}

struct Finder<'s, 'a> {
    scan: &'s Scan<'a>,
    lexicon: &'static Lexicon,
    verbs: &'s ToolVerbs,
    /// Of each token.
    words: Vec<Option<&'s Word>>,
    claims: Vec<Claim>,
    /// What the last verb of this sentence was, which "and refunded" goes on with.
    coordinated: Option<(u32, Head)>,
    /// What follows is a text that somebody else is to say: "here's a draft:".
    in_draft: bool,
    /// How far lines have been read, and whether the last one is quoted with ">".
    line: (usize, bool),
}

/// A clause, and what its words say for all claims in it.
struct Here<'c> {
    index: u32,
    clause: &'c Clause,
    first: usize,
    end: usize,
    /// What nouns name.
    nouns: Classes,
    /// What nouns and verbs name.
    around: Classes,
    /// Is there a past form of a verb of action?
    has_past: bool,
    /// "all"
    whole: bool,
    /// "some of"
    part: bool,
    /// "yesterday"
    dated: bool,
    /// "by the carrier"
    by_other: bool,
    /// "as you asked"
    as_requested: bool,
    /// It begins with "since", "after" …
    since: bool,
    /// The first comma, or the end.
    comma: usize,
    /// Up to where claims have been looked for: "could", "unable"; "neither".
    able: bool,
    neither: bool,
    /// "will", "would", "if"
    supposed: bool,
}

impl Here<'_> {
    /// A claim that says nothing more than this.
    fn claim(&self, says: Says, voice: Voice, first: usize, end: usize) -> Claim {
        Claim {
            says,
            voice,
            classes: Classes::default(),
            around: Classes::default(),
            strong: false,
            verb: first as u32,
            asserted: self.clause.modality == Modality::Asserted,
            whole: false,
            part: false,
            background: false,
            not_able: false,
            tokens: Run { first: first as u32, end: end as u32 },
            clause: self.index,
            sentence: self.clause.sentence,
        }
    }
}

/// How a verb of action is meant.
#[derive(Clone, Copy, Debug)]
struct Head {
    says: Says,
    voice: Voice,
    /// The first token of the phrase: the auxiliary or subject.
    first: usize,
    classes: Classes,
    asserted: bool,
}

fn is_adverb(word: &str) -> bool {
    word.len() > 4 && word.ends_with("ly")
        || matches!(
            word,
            "just"
                | "already"
                | "also"
                | "now"
                | "then"
                | "all"
                | "both"
                | "each"
                | "since"
                | "only"
                | "even"
                | "indeed"
                | "too"
                | "once"
                | "always"
                | "ever"
                | "again"
                | "not"
                | "n't"
                | "never"
                | "so"
                | "well"
                | "still"
                | "yet"
                | "today"
                | "instead"
                | "thus"
                | "here"
                | "out"
                | "ahead"
                | "meanwhile"
                | "therefore"
        )
}

fn is_be(word: &str) -> bool {
    matches!(word, "is" | "are" | "was" | "were" | "am" | "'s" | "'re" | "'m" | "get" | "got" | "gets" | "be" | "been")
}

fn is_have(word: &str) -> bool {
    matches!(word, "has" | "have" | "had" | "'ve" | "'s" | "'d" | "having")
}

fn is_speaker(word: &str) -> bool {
    matches!(word, "i" | "we")
}

/// After these it is not said that it was so.
fn is_modal(word: &str) -> bool {
    matches!(word, "would" | "could" | "should" | "can" | "may" | "might" | "must" | "to" | "shall" | "ca" | "cannot")
}

fn is_future(word: &str) -> bool {
    matches!(word, "will" | "'ll" | "wo" | "going")
}

/// What somebody else does to what was asked for: "the restaurant has confirmed your table".
fn agrees(word: &str) -> bool {
    matches!(word, "confirmed" | "approved" | "accepted" | "received" | "granted" | "authorized" | "authorised")
}

fn is_preposition(word: &str) -> bool {
    matches!(
        word,
        "as" | "for" | "to" | "on" | "in" | "at" | "with" | "from" | "by" | "of" | "about" | "into" | "because"
    )
}

/// A verb that things do by themselves: "your order has shipped".
fn happens(word: &str) -> bool {
    matches!(
        word,
        "shipped"
            | "cleared"
            | "posted"
            | "completed"
            | "finished"
            | "succeeded"
            | "processed"
            | "started"
            | "restarted"
            | "updated"
            | "arrived"
            | "launched"
            | "settled"
            | "saved"
            | "opened"
            | "closed"
            | "rebooted"
    )
}

impl<'a> Finder<'_, 'a> {
    fn token(&self, index: usize) -> Option<&Token<'a>> {
        self.scan.tokens.get(index)
    }

    fn lower(&self, index: usize) -> &'a str {
        self.token(index).map_or("", |token| token.lower)
    }

    fn is_word(&self, index: usize) -> bool {
        self.token(index).is_some_and(|token| token.kind == TokenKind::Word)
    }

    fn clause(&mut self, index: u32, clause: &Clause) {
        let sentence = self.scan.sentences.get(clause.sentence as usize);
        let quoted = self.is_quoted_line(clause) || self.in_draft;
        self.in_draft |= self.begins_draft(clause);
        if quoted || sentence.is_some_and(|sentence| matches!(sentence.block, Block::Code)) {
            return;
        }
        if self.coordinated.is_some_and(|(sentence, _)| sentence != clause.sentence) {
            self.coordinated = None;
        }
        let mut here = self.look_around(index, clause);
        // An emoji or a bullet says nothing.
        let says_something =
            |at: &usize| self.is_word(*at) || self.is_number(*at) || self.token(*at).is_some_and(|token| token.quoted);
        here.first = (here.first..here.end).find(says_something).unwrap_or(here.end);
        let begin = self.claims.len();
        let mut place = here.first;
        while place < here.end {
            if self.token(place).is_none_or(|token| token.quoted) {
                place += 1;
                continue;
            }
            let within = |offset: usize| if place + offset < here.end { self.lower(place + offset) } else { "" };
            let may_begin = self.is_word(place) || self.is_number(place);
            if let Some(found) = if may_begin { self.lexicon.phrase(within) } else { None } {
                let last = place + found.length;
                let is_deed =
                    found.outcome == Outcome::Failed && found.length == 1 && self.verbs.did(self.lower(place));
                match found.outcome {
                    _ if is_deed => {}
                    Outcome::Whole => here.whole = true,
                    Outcome::Part => here.part = true,
                    _ => {
                        if !found.predicate || self.is_predicate(place, last, here.first, here.end) {
                            self.phrase(found.outcome, place, last, &here);
                            place = last;
                            continue;
                        }
                    }
                }
            }
            if let Some(word) = self.words.get(place).copied().flatten()
                && let Some(head) = self.head(place, word, here.first, here.end)
            {
                self.push(head, place, &here);
            }
            self.nothing(place, &here);
            match self.lower(place) {
                "n't" | "not" | "cannot" | "never" if !self.is_of_reader(place, here.first) => {
                    self.phrase(Outcome::Sorry, place, place + 1, &here);
                }
                "could" | "can" | "ca" | "able" => here.able = true,
                "neither" => here.neither = true,
                lower if is_modal(lower) || is_future(lower) || matches!(lower, "if" | "once" | "when" | "after") => {
                    here.supposed = true;
                }
                _ => {}
            }
            here.able |= matches!(self.lower(place), "cannot" | "unable");
            place += 1;
        }
        self.finish(begin, &here);
    }

    /// What the words of a clause say for all claims in it.
    fn look_around<'c>(&self, index: u32, clause: &'c Clause) -> Here<'c> {
        let Run { first, end } = clause.tokens;
        let (first, end) = (first as usize, end as usize);
        let mut here = Here {
            index,
            clause,
            first,
            end,
            nouns: Classes::default(),
            around: Classes::default(),
            has_past: false,
            whole: false,
            part: false,
            dated: false,
            by_other: false,
            as_requested: false,
            since: matches!(self.lower(first), "since" | "after" | "when" | "before" | "because" | "as"),
            comma: end,
            able: false,
            neither: false,
            supposed: false,
        };
        for at in first..end {
            let (lower, next) = (self.lower(at), self.lower(at + 1));
            if let Some(word) = self.words.get(at).copied().flatten() {
                here.nouns |= word.noun;
                here.has_past |= !word.past.is_empty();
                // The base form of a verb is as often something else: "change", "check", "in place".
                here.around |= word.noun | word.past | word.ing;
                let negated = self.token(at).is_some_and(|token| token.negation != Negation::None);
                if negated || at > first && self.lower(at - 1) == "to" {
                    here.around |= word.base;
                }
            }
            match lower {
                "," => here.comma = here.comma.min(at),
                // "3 of 5"
                "of" => here.part |= at > first && self.is_number(at - 1) && self.is_number(at + 1),
                "as" | "per" => here.as_requested |= matches!(next, "requested" | "asked" | "you" | "your"),
                "yesterday" | "ago" | "previously" | "originally" | "last" | "earlier" => here.dated = true,
                "by" => {
                    let own = matches!(next, "me" | "us" | "email" | "e" | "mail" | "text" | "phone" | "now");
                    let after_verb = at > first
                        && self.words.get(at - 1).copied().flatten().is_some_and(|word| !word.past.is_empty());
                    here.by_other |= after_verb && !own;
                }
                _ => {}
            }
        }
        here
    }

    /// "> Dear Mr Lund"
    fn is_quoted_line(&mut self, clause: &Clause) -> bool {
        let start = clause.span.start as usize;
        // The sign may be a clause of its own, or a part of this one.
        let read = self.scan.text.get(self.line.0..start.max(self.line.0)).unwrap_or_default();
        if let Some(at) = read.rfind('\n') {
            self.line.1 = read.get(at + 1..).unwrap_or_default().trim_start().starts_with('>');
            let begins = read.get(at + 1..).is_some_and(|rest| rest.trim().is_empty());
            self.line.1 |= begins && self.starts_quote(start);
        } else if self.line.0 == 0 {
            self.line.1 = read.trim_start().starts_with('>') || read.trim().is_empty() && self.starts_quote(start);
        }
        self.line.0 = start.max(self.line.0);
        self.line.1
    }

    fn starts_quote(&self, start: usize) -> bool {
        self.scan.text.get(start..).is_some_and(|text| text.starts_with('>'))
    }

    /// "Here's a draft you could send:"
    fn begins_draft(&self, clause: &Clause) -> bool {
        let Run { first, end } = clause.tokens;
        let names_one = (first..end).any(|at| {
            matches!(
                self.lower(at as usize),
                "draft" | "template" | "wording" | "reply" | "letter" | "sample" | "phrasing"
            )
        });
        names_one && end > first && (self.lower(end as usize - 1) == ":" || self.lower(end as usize) == ":")
    }

    fn is_number(&self, index: usize) -> bool {
        self.token(index).is_some_and(|token| {
            token.kind == TokenKind::Number || token.mention.is_some() && token.kind == TokenKind::Word
        })
    }

    /// What the rest of the clause says of its claims.
    fn finish(&mut self, begin: usize, here: &Here<'_>) {
        let found_nothing = self.claims.iter().skip(begin).any(|claim| claim.says == Says::Nothing);
        for claim in self.claims.iter_mut().skip(begin) {
            // "I found no …" is not a find.
            if found_nothing && claim.says == Says::Done && !self.lexicon.writes(claim.classes) {
                claim.asserted = false;
            }
            claim.around = here.around;
            claim.whole = here.whole;
            claim.part = here.part;
            claim.background |= here.dated && claim.voice == Voice::Past || here.by_other;
        }
    }

    /// Does what is from `place` to `last` stand behind a form of "be", or as the end of its clause?
    fn is_predicate(&self, place: usize, last: usize, first: usize, end: usize) -> bool {
        // "down 2 %", "complete list"
        let followed = self.is_number(last) && last < end
            || matches!(self.lower(last), "by" | "from" | "to") && self.lower(place) == "down";
        let before = self.skip_adverbs(place, first);
        let linked = before.is_some_and(|before| {
            is_be(self.lower(before))
                || matches!(
                    self.lower(before),
                    "seems"
                        | "seem"
                        | "seemed"
                        | "appears"
                        | "appear"
                        | "appeared"
                        | "looks"
                        | "look"
                        | "remains"
                        | "currently"
                        | "temporarily"
                        | "stays"
                        | "went"
                        | "came"
                        | "now"
                        | "be"
                        | "being"
                )
        });
        let at_end = (last..end).all(|at| !self.is_word(at) && !self.is_number(at));
        !followed && (linked || at_end)
    }

    /// The token before a verb that is no adverb; None at the start of the clause.
    fn skip_adverbs(&self, place: usize, first: usize) -> Option<usize> {
        let mut at = place;
        for _ in 0..REACH {
            at = at.checked_sub(1).filter(|&at| at >= first)?;
            if !is_adverb(self.lower(at)) {
                return Some(at);
            }
        }
        Some(at)
    }

    fn negation(&self, from: usize, to: usize) -> Negation {
        let all = (from..to).filter_map(|at| self.token(at)).map(|token| token.negation);
        all.fold(Negation::None, |so_far, next| match (so_far, next) {
            (Negation::Unclear, _) | (_, Negation::Unclear) => Negation::Unclear,
            (Negation::Negated, _) | (_, Negation::Negated) => Negation::Negated,
            _ => Negation::None,
        })
    }

    /// How is the verb (or noun) of action at `place` meant?
    fn head(&mut self, place: usize, word: &Word, first: usize, end: usize) -> Option<Head> {
        let negation = self.negation(place, place + 1);
        if negation == Negation::Unclear {
            return None;
        }
        let negated = negation == Negation::Negated;
        let before = self.skip_adverbs(place, first);
        // "ran into a problem"
        if matches!(self.lower(place + 1), "into" | "out") && matches!(self.lower(place), "ran" | "run" | "running") {
            return None;
        }
        // "let them know"
        if self.lower(place) == "let" && !(1..6).any(|offset| self.lower(place + offset) == "know") {
            return None;
        }
        // "dropped her a line"
        if self.lower(place) == "dropped"
            && matches!(self.lower(place + 1), "her" | "him" | "them" | "you" | "by" | "off" | "in")
        {
            return None;
        }
        let head = |says, voice, first, classes, asserted| Some(Head { says, voice, first, classes, asserted });
        let denied = |voice, first, classes| head(Says::NotDone, voice, first, classes, true);
        if !word.past.is_empty()
            && let Some((says, voice, start, asserted)) = self.past(place, before, word, first, end)
        {
            return match says {
                Says::Done if negated => denied(voice, start, word.past),
                _ if negated => None,
                _ => head(says, voice, start, word.past, asserted),
            };
        }
        if negated {
            let classes = if self.is_verb(before) { word.base | word.ing } else { Classes::default() };
            return if classes.is_empty() { None } else { denied(Voice::Agent, before.unwrap_or(place), classes) };
        }
        if !word.base.is_empty() {
            let before = before?;
            let to = self.lower(before) == "to";
            let able = self.skip_adverbs(before, first).filter(|_| to);
            if let Some(able) = able.filter(|&able| matches!(self.lower(able), "able" | "managed")) {
                let negated = self.negation(able, able + 1) != Negation::None;
                let speaks = (able.saturating_sub(REACH).max(first)..able).any(|at| is_speaker(self.lower(at)));
                return if negated {
                    denied(Voice::Agent, able, word.base)
                } else if speaks {
                    head(Says::Done, Voice::Agent, able, word.base, true)
                } else {
                    None
                };
            }
            if self.lower(before) == "did"
                && self.skip_adverbs(before, first).is_some_and(|at| is_speaker(self.lower(at)))
            {
                return head(Says::Done, Voice::Agent, before, word.base, true);
            }
            if matches!(self.lower(before), "and" | ",")
                && let Some((_, last)) = self.coordinated
                && last.voice == Voice::Agent
                && matches!(self.lower(last.first), "able" | "managed")
            {
                return head(last.says, last.voice, place, word.base, last.asserted);
            }
            return None;
        }
        if !word.ing.is_empty() {
            let before = before?;
            if self.lower(before) == "in" && before > first && self.lower(before - 1) == "succeeded" {
                return head(Says::Done, Voice::Agent, before - 1, word.ing, true);
            }
            return if is_be(self.lower(before)) {
                head(Says::Moving, Voice::Agent, before, word.ing, true)
            } else {
                None
            };
        }
        None
    }

    /// What a past form or participle says, with whose voice, from which token on, and whether it is said to be so.
    fn past(
        &self,
        place: usize,
        before: Option<usize>,
        word: &Word,
        first: usize,
        end: usize,
    ) -> Option<(Says, Voice, usize, bool)> {
        let Some(at) = before else { return self.elided(place, word, first, end) };
        let skip = |at: usize| self.skip_adverbs(at, first);
        let lower = self.lower(at);
        match lower {
            "been" => {
                let have = skip(at)?;
                let modal = skip(have).is_some_and(|modal| is_modal(self.lower(modal)) || is_future(self.lower(modal)));
                (is_have(self.lower(have)) && !modal).then_some((Says::Done, Voice::Perfect, have, true))
            }
            "being" => Some((Says::Moving, Voice::Present, at, true)),
            "be" => {
                let modal = skip(at)?;
                is_future(self.lower(modal)).then_some((Says::Moving, Voice::Present, modal, false))
            }
            // "Once it has gone out", "that was placed": told as known.
            _ if is_have(lower) && !(lower == "'s" && skip(at).is_some_and(|subject| self.is_thing(subject))) => {
                let subject = skip(at)?;
                match self.lower(subject) {
                    subject_word if is_speaker(subject_word) => Some((Says::Done, Voice::Agent, subject, true)),
                    subject_word if is_modal(subject_word) || is_future(subject_word) => None,
                    "you" | "they" | "he" | "she" => None,
                    _ if happens(self.lower(place)) || agrees(self.lower(place)) => {
                        Some((Says::Done, Voice::State, at, true))
                    }
                    _ => None,
                }
            }
            _ if is_be(lower) => {
                let past = matches!(lower, "was" | "were" | "got");
                let voice = if past { Voice::Past } else { Voice::Present };
                Some((Says::Done, voice, at, true))
            }
            _ if is_speaker(lower) => Some((Says::Done, Voice::Agent, at, true)),
            "and" if self.went_ahead(at) => Some((Says::Done, Voice::Agent, place, true)),
            "and" | "," | "then" | "&" | "plus" | "or" => self.goes_on(place),
            _ if self.is_noun_phrase(first, place) && self.ends_after(place, end) => {
                Some((Says::Done, Voice::Present, first, true))
            }
            _ => None,
        }
    }

    /// "I've gone ahead and booked it", where `and` is its place.
    fn went_ahead(&self, and: usize) -> bool {
        let words = (1..REACH).map_while(|back| and.checked_sub(back)).map(|at| self.lower(at));
        let mut words = words.skip_while(|word| *word == ",");
        words.next() == Some("ahead")
            && words.next().is_some_and(|word| matches!(word, "went" | "gone" | "go"))
            && words.take_while(|word| *word != ".").any(is_speaker)
    }

    /// "could not cancel", "unable to cancel", "failed cancelling", and not "no archive".
    fn is_verb(&self, before: Option<usize>) -> bool {
        let word = before.map_or("", |before| self.lower(before));
        is_modal(word)
            || is_future(word)
            || is_be(word)
            || is_have(word)
            || matches!(
                word,
                "do" | "does"
                    | "did"
                    | "i"
                    | "we"
                    | "and"
                    | "or"
                    | "of"
                    | "failed"
                    | "able"
                    | ","
                    | "please"
                    | "let"
                    | "me"
                    | "it"
            )
    }

    /// "'s" after a noun or "it" may be "is" or "has"; after "let" and "that" too.
    fn is_thing(&self, index: usize) -> bool {
        !matches!(self.lower(index), "he" | "she" | "who")
    }

    /// "… and refunded your card": as the verb before.
    fn goes_on(&self, place: usize) -> Option<(Says, Voice, usize, bool)> {
        if let Some((_, last)) = self.coordinated {
            return Some((last.says, last.voice, place, last.asserted));
        }
        // "I tagged a release and deployed it", where the first verb is none that is known.
        let before: Vec<&str> =
            (1..2 * REACH).map_while(|back| place.checked_sub(back)).map(|at| self.lower(at)).collect();
        let speaker = before.iter().position(|word| is_speaker(word))?;
        let between = before.get(..speaker)?;
        let others = |word: &&str| {
            matches!(*word, "." | "you" | "he" | "she" | "they" | "it" | "that" | "which" | "who" | "!" | "?" | ";")
        };
        let acted = between.iter().any(|word| word.ends_with("ed"));
        (acted
            && !between
                .iter()
                .any(|word| others(word) || is_modal(word) || is_future(word) || *word == "n't" || *word == "not"))
        .then_some((Says::Done, Voice::Agent, place, true))
    }

    /// A participle at the start of its clause: "Sent!", "Booked your flight."
    fn elided(&self, place: usize, word: &Word, first: usize, end: usize) -> Option<(Says, Voice, usize, bool)> {
        if first > 0 && self.lower(first - 1) == "and" && self.went_ahead(first - 1) {
            return Some((Says::Done, Voice::Agent, place, true));
        }
        if let Some((_, last)) = self.coordinated
            && first > 0
            && matches!(self.lower(first - 1), "and" | "," | "then" | "&" | "plus")
        {
            return Some((last.says, last.voice, place, last.asserted));
        }
        let next = self.lower(place + 1);
        let ends = self.ends_after(place, end);
        let takes_object = matches!(
            next,
            "your"
                | "the"
                | "it"
                | "that"
                | "them"
                | "both"
                | "all"
                | "an"
                | "a"
                | "this"
                | "everything"
                | "for"
                | "you"
        );
        let is_verb_alone = word.base.is_empty() && word.noun.is_empty();
        (ends || takes_object && is_verb_alone).then_some((Says::Done, Voice::Elided, place, true))
    }

    /// Nothing but a few words that are no verbs: "Order", "The email", "Payment of $30".
    fn is_noun_phrase(&self, first: usize, place: usize) -> bool {
        place > first
            && place - first <= 6
            && (first..place).all(|at| {
                let lower = self.lower(at);
                !is_be(lower)
                    && !is_have(lower)
                    && !is_modal(lower)
                    && !is_future(lower)
                    && !matches!(
                        lower,
                        "you"
                            | "he"
                            | "she"
                            | "they"
                            | "that"
                            | "which"
                            | "who"
                            | "it"
                            | "this"
                            | "these"
                            | "those"
                            | "as"
                            | "if"
                            | "when"
                            | "do"
                            | "does"
                            | "did"
                    )
            })
    }

    /// Is what follows the verb nothing, "successfully", or where to?
    fn ends_after(&self, place: usize, end: usize) -> bool {
        let next = place + 1;
        next >= end
            || !self.is_word(next) && !self.is_number(next)
            || matches!(self.lower(next), "successfully" | "to" | "for" | "and" | "as" | "already" | "from" | "with")
    }

    fn push(&mut self, head: Head, place: usize, here: &Here<'_>) {
        let word = self.words.get(place).copied().flatten();
        let clause = here.clause;
        self.coordinated = Some((clause.sentence, head));
        let is_passive = matches!(head.voice, Voice::Perfect | Voice::Present | Voice::Past);
        let asserted = match clause.modality {
            Modality::Asserted => true,
            // "You're booked: the tickets will come by mail"
            Modality::Future => !here.supposed,
            // "has been cancelled as requested": the request is the reader's, the rest is not.
            Modality::Reported => head.says == Says::NotDone || here.as_requested || here.since && here.comma < place,
            // "Order A-77 is cancelled" tells nobody to order.
            Modality::Imperative => {
                let is_mention = |at: usize| self.token(at).is_some_and(|token| token.mention.is_some());
                is_passive && (here.first + 1..here.first + 5).any(is_mention)
            }
            _ => false,
        };
        let relative = head.first > 0 && matches!(self.lower(head.first - 1), "that" | "which" | "who");
        // "sent your request" is no more than asking.
        let object = self.object_of(place, &head, clause);
        let is_submitted = object.is_some_and(|object| object.meets(self.lexicon.class("submit")));
        let asks = is_submitted && head.classes.meets(self.lexicon.class("send"));
        let light = word.is_some_and(|word| word.light);
        self.claims.push(Claim {
            classes: object.filter(|_| light || asks).unwrap_or(head.classes),
            strong: word.is_some_and(|word| word.strong),
            verb: place as u32,
            asserted: head.asserted && asserted,
            background: relative || here.since && here.comma >= head.first,
            ..here.claim(head.says, head.voice, head.first.min(place), place + 1)
        });
    }

    /// What a verb that says little was done to, as far as a noun next to it names an action: "issued your refund".
    fn object_of(&self, place: usize, head: &Head, clause: &Clause) -> Option<Classes> {
        let Run { first, end } = clause.tokens;
        let nouns =
            |at: usize| self.words.get(at).copied().flatten().map(|word| word.noun).filter(|noun| !noun.is_empty());
        if matches!(head.voice, Voice::Agent | Voice::Elided) || head.says == Says::Moving && head.voice == Voice::Agent
        {
            let after = (place + 1..(place + 7).min(end as usize)).take_while(|&at| !is_preposition(self.lower(at)));
            return after.into_iter().find_map(nouns);
        }
        (first as usize..head.first.min(place)).rev().take(REACH).find_map(nouns)
    }

    fn phrase(&mut self, outcome: Outcome, place: usize, last: usize, here: &Here<'_>) {
        let modality = here.clause.modality;
        let negation = self.negation(place, last);
        let says = match (outcome, negation) {
            (Outcome::Done, Negation::None) => Says::Done,
            (Outcome::Done, _) => Says::Failed,
            (Outcome::Moving, Negation::None) => Says::Moving,
            (Outcome::Coming, Negation::None) => Says::Coming,
            (Outcome::Moving | Outcome::Coming | Outcome::Waiting, _) => Says::Waiting,
            (Outcome::Retry, _) => Says::Retry,
            (Outcome::Sorry, _) => Says::Sorry,
            // "no problem": but "unable", which is a negation itself, says so of what follows.
            (Outcome::Failed, Negation::Negated) if !self.is_denial(place) => return,
            (Outcome::Failed, _)
                if place > here.first && matches!(self.lower(place - 1), "no" | "without" | "zero") =>
            {
                return;
            }
            (Outcome::Failed, _) => Says::Failed,
            (Outcome::Part | Outcome::Whole, _) => return,
        };
        // "I'd be sorry if it failed" tells nothing of what happened; "please try again" does.
        let asserted = match says {
            Says::Waiting | Says::Retry | Says::Sorry => true,
            Says::Failed => {
                !matches!(modality, Modality::Hypothetical | Modality::Question | Modality::Future)
                    || negation == Negation::Negated
            }
            Says::Moving | Says::Coming => {
                matches!(modality, Modality::Asserted | Modality::Future | Modality::Hypothetical)
            }
            _ => {
                modality == Modality::Asserted
                    || modality == Modality::Future && !here.supposed
                    || self.lower(place) == "consider"
            }
        };
        // "has been successfully cancelled" is told by its verb.
        if says == Says::Done && self.lower(place) == "successfully" && here.has_past {
            return;
        }
        let says_what = matches!(says, Says::Done | Says::Moving | Says::Coming);
        self.claims.push(Claim {
            classes: if says_what { here.nouns } else { Classes::default() },
            asserted,
            ..here.claim(says, Voice::State, place, last)
        });
    }

    /// A word that denies what follows, and is not denied itself.
    fn is_denial(&self, place: usize) -> bool {
        matches!(
            self.lower(place),
            "unable"
                | "incapable"
                | "failed"
                | "fails"
                | "fail"
                | "failing"
                | "no"
                | "not"
                | "without"
                | "any"
                | "refused"
                | "declined"
                | "lacks"
                | "impossible"
        ) && !(1..=3).any(|back| {
            place.checked_sub(back).is_some_and(|at| matches!(self.lower(at), "n't" | "not" | "never" | "without"))
        })
    }

    /// "You don't need to do anything", "don't worry"
    fn is_of_reader(&self, place: usize, first: usize) -> bool {
        let next = self.lower(place + 1);
        matches!(next, "only" | "just" | "hesitate" | "worry" | "forget" | "need")
            || next == "have" && self.lower(place + 2) == "to"
            || place.checked_sub(2).is_some_and(|at| at >= first && self.lower(at) == "you")
            || place.checked_sub(1).is_none_or(|at| at < first || at == first && self.lower(at) == "do")
    }

    /// "no results", "did not find any", "nothing new", "your inbox is empty".
    fn nothing(&mut self, place: usize, here: &Here<'_>) {
        let (first, end) = (here.first, here.end);
        let lower = self.lower(place);
        let negated = self.negation(place, place + 1) == Negation::Negated;
        let of_something = || {
            let nouns = (place + 1..end.min(place + 4)).map(|at| self.lower(at));
            !nouns.into_iter().any(|noun| self.lexicon.is_nothing_of(noun))
        };
        let is = match lower {
            "no" | "zero" => {
                place + 1 < end && self.is_word(place + 1) && (of_something() || self.lower(place + 1) == "one")
            }
            "0" => matches!(
                self.lower(place + 1),
                "results" | "matches" | "hits" | "records" | "items" | "documents" | "entries"
            ),
            "any" | "anything" => (negated || here.neither) && of_something() && self.lower(place + 1) != "luck",
            "nothing" => {
                !matches!(self.lower(place + 1), "else" | "to" | "more" | "further" | "went" | "was" | "has" | "you")
            }
            "none" | "nobody" => true,
            "empty" => place.checked_sub(1).is_some_and(|_| {
                self.skip_adverbs(place, first)
                    .is_some_and(|at| is_be(self.lower(at)) || matches!(self.lower(at), "came" | "back" | "up"))
            }),
            // "you're free", "your calendar is clear"
            "free" | "clear" | "open" => {
                !negated
                    && self.skip_adverbs(place, first).is_some_and(|at| {
                        let be = matches!(self.lower(at), "is" | "are" | "'s" | "'re" | "looks" | "wide");
                        be && (at.saturating_sub(REACH).max(first)..at).any(|at| {
                            matches!(self.lower(at), "you" | "calendar" | "schedule" | "day" | "afternoon" | "morning")
                        })
                    })
            }
            _ => false,
        };
        if is && here.clause.modality == Modality::Asserted {
            let claim = here.claim(Says::Nothing, Voice::State, place, (place + 2).min(end));
            self.claims.push(Claim { not_able: here.able, ..claim });
        }
    }
}
