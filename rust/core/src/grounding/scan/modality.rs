//! Clauses, how they are meant, and what a negation governs.

use super::{
    Block, Clause, Modality, Negation, Run, Sentence, Span, TokenKind,
    lexicon::{self, Phrase, Role, Word},
    tokens::Tokens,
};

/// A negation reaches no further than this many words with certainty.
const REACH: usize = 12;
/// A clause has its verb within so many words.
const LONGEST_CLAUSE: usize = 48;
/// So many tokens may stand before the colon of a label.
const LONGEST_LABEL: usize = 10;
/// So far is looked for a verb, to tell a clause from a list.
const CLAUSE_BEGINNING: usize = 6;

/// The clauses of the sentences, whose `clauses` are filled in. Tells the tokens what a negation governs.
pub fn clauses(tokens: &mut Tokens<'_>, sentences: &mut [Sentence]) -> Vec<Clause> {
    let mut clauses = Vec::with_capacity(sentences.len() * 2);
    for (number, sentence) in sentences.iter_mut().enumerate() {
        let first = clauses.len();
        let (start, end) = (sentence.tokens.first as usize, sentence.tokens.end as usize);
        let mut from = start;
        for index in start + 1..end {
            if sentence.block != Block::Code && begins_clause(tokens, from, index, end, sentence.block) {
                clauses.push(clause(tokens, number, from, index));
                from = index;
            }
        }
        clauses.push(clause(tokens, number, from, end));
        sentence.clauses = Run { first: first as u32, end: clauses.len() as u32 };
        let own = clauses.get_mut(first..).unwrap_or_default();
        tell_modality(tokens, own, start, end);
        for clause in own.iter() {
            negate(tokens, clause.tokens.first as usize, clause.tokens.end as usize);
        }
    }
    clauses
}

fn clause(tokens: &Tokens<'_>, sentence: usize, first: usize, end: usize) -> Clause {
    Clause {
        span: Span { start: tokens.start(first) as u32, end: tokens.end(end - 1) as u32 },
        tokens: Run { first: first as u32, end: end as u32 },
        sentence: sentence as u32,
        modality: Modality::Asserted,
    }
}

/// Is a token part of the mention that the one before it is part of?
fn inside_mention(tokens: &Tokens<'_>, index: usize) -> bool {
    let mention = |index: usize| tokens.tokens.get(index).and_then(|token| token.mention);
    index > 0 && mention(index).is_some() && mention(index) == mention(index - 1)
}

/// What a word is in the grammar of the sentence: nothing inside a mention or a quotation.
fn word(tokens: &Tokens<'_>, index: usize) -> Word {
    match tokens.tokens.get(index) {
        Some(token) if token.mention.is_none() && !token.quoted && token.kind == TokenKind::Word => tokens.word(index),
        _ => Word::default(),
    }
}

/// Does a new clause begin at `index`, where the last one began at `from`?
fn begins_clause(tokens: &Tokens<'_>, from: usize, index: usize, end: usize, block: Block) -> bool {
    if inside_mention(tokens, index) {
        return false;
    }
    let before = tokens.written(index - 1);
    if !inside_mention(tokens, index - 1) {
        match before {
            "|" if block == Block::Row => return true,
            ";" => return true,
            "—" => return true,
            "–" | "-" if tokens.spaced(index) && tokens.spaced(index - 1) && index > from + 1 => {
                return tokens.kind(index) != Some(TokenKind::Number);
            }
            "," if tokens.spaced(index)
                && has_verb(tokens, from, index - 1)
                && begins_like_clause(tokens, index, end) =>
            {
                return true;
            }
            _ => {}
        }
    }
    let here = word(tokens, index);
    if here.is(Role::Conjunction) && index > from + usize::from(before == ",") {
        let next = word(tokens, index + 1);
        return match tokens.lower(index) {
            "if" | "unless" | "whether" | "but" | "however" | "although" | "whereas" | "because" => true,
            // "since 2012", "until Friday", "once a week", "while there"
            _ => {
                next.is_any(&[Role::Subject, Role::Determiner])
                    && tokens.lower(index + 2) != "week"
                    && !matches!(tokens.lower(index + 1), "then" | "both")
            }
        };
    }
    if here.is(Role::Coordination) && index + 1 < end {
        let next = index + 1 + usize::from(matches!(tokens.lower(index + 1), "then" | "also" | "so" | "now" | "that"));
        let heads = word(tokens, next);
        if heads.is(Role::Subject) && !matches!(tokens.lower(next), "'s") {
            // "you and I", "this and that are": there has to be a verb on both sides.
            return has_verb(tokens, from, index) && begins_like_clause(tokens, next, end);
        }
        if heads.is(Role::Auxiliary) && tokens.lower(index) != "or" {
            return has_verb(tokens, from, index);
        }
        return has_verb(tokens, from, index) && heads.is(Role::Determiner) && has_auxiliary_soon(tokens, next, end);
    }
    false
}

/// Is there a verb, as far as words of grammar tell?
fn has_verb(tokens: &Tokens<'_>, from: usize, end: usize) -> bool {
    // Looking further back would take long where there are many commas and no verb.
    let from = from.max(end.saturating_sub(LONGEST_CLAUSE));
    let subject = (from..end.min(from + 2)).any(|index| word(tokens, index).is(Role::Subject)) && end > from + 1;
    subject
        || (from..end).any(|index| word(tokens, index).is_any(&[Role::Auxiliary, Role::Past]))
        || word(tokens, from).is(Role::Conjunction)
        || matches!(tokens.lower(from), "when" | "after" | "before" | "as" | "to")
}

/// Behind a comma: does a clause begin, or does a list go on?
fn begins_like_clause(tokens: &Tokens<'_>, index: usize, end: usize) -> bool {
    let mut first = index;
    while word(tokens, first).is(Role::Coordination) || matches!(tokens.lower(first), "then" | "also") {
        first += 1;
    }
    let head = word(tokens, first);
    if matches!(tokens.lower(first), "please") || tokens.lower(first) == "let" {
        return true;
    }
    let pronoun = head.is(Role::Subject) && !head.is(Role::Determiner) && first + 1 < end;
    pronoun || has_auxiliary_soon(tokens, first, end)
}

fn has_auxiliary_soon(tokens: &Tokens<'_>, first: usize, end: usize) -> bool {
    for index in first..end.min(first + CLAUSE_BEGINNING) {
        if matches!(tokens.written(index), "," | ";" | "—" | "(")
            || index > first && word(tokens, index).is(Role::Conjunction)
        {
            return false;
        }
        let here = word(tokens, index);
        if here.is(Role::Auxiliary) && tokens.lower(index) != "'s" || here.is(Role::Past) && index > first {
            return true;
        }
        // "it's" is, "Anna's" is not.
        if tokens.lower(index) == "'s" && index > first && word(tokens, index - 1).is(Role::Subject) {
            return true;
        }
    }
    false
}

/// Where the words of a clause begin, behind marks, "and" and the like.
fn head(tokens: &Tokens<'_>, clause: &Clause) -> usize {
    let mut first = clause.tokens.first as usize;
    let end = clause.tokens.end as usize;
    // Behind a label: "**Reason**: Please tell me why."
    let colon = (first..end.min(first + LONGEST_LABEL)).find(|&index| tokens.is(index, ":") && index + 1 < end);
    if let Some(colon) = colon
        && !(first..colon).any(|index| word(tokens, index).is_any(&[Role::Auxiliary, Role::Subject, Role::Conjunction]))
    {
        first = colon + 1;
    }
    while first < end
        && (tokens.kind(first) != Some(TokenKind::Word)
            || word(tokens, first).is(Role::Coordination)
            || matches!(
                tokens.lower(first),
                "but"
                    | "also"
                    | "please"
                    | "kindly"
                    | "just"
                    | "however"
                    | "then"
                    | "though"
                    | "although"
                    | "because"
                    | "while"
            ))
    {
        if matches!(tokens.lower(first), "please" | "kindly") {
            return first;
        }
        first += 1;
    }
    first.min(end)
}

fn tell_modality(tokens: &Tokens<'_>, clauses: &mut [Clause], start: usize, end: usize) {
    let asks = (start..end).rev().take(4).any(|index| matches!(tokens.written(index), "?" | "？" | "؟"));
    let mut earlier: Option<Condition> = None;
    for number in 0..clauses.len() {
        let Some(clause) = clauses.get(number).copied() else { break };
        let first = head(tokens, &clause);
        let (own, condition) = modality(tokens, &clause, first, asks);
        let leads = clause.tokens.first as usize;
        let joined = word(tokens, leads).is(Role::Coordination);
        let turns = !joined && word(tokens, leads).is(Role::Conjunction);
        // What goes on with a condition ("and the card is charged"), and what hangs on one ("if it failed, your order is cancelled").
        let hangs =
            earlier.is_some_and(
                |before| if joined { before.open || !before.polite } else { before.fronted && !before.polite },
            );
        let hangs = hangs && own == Modality::Asserted && !turns;
        // "Was it late, cancelled, or moved?"
        let asked = asks
            && own == Modality::Asserted
            && !turns
            && number
                .checked_sub(1)
                .and_then(|before| clauses.get(before))
                .is_some_and(|before| before.modality == Modality::Question);
        if let Some(clause) = clauses.get_mut(number) {
            clause.modality = if hangs {
                Modality::Hypothetical
            } else if asked {
                Modality::Question
            } else {
                own
            };
        }
        earlier = match condition {
            Some(polite) => {
                let fronted = number == 0 || earlier.is_some_and(|before| before.fronted);
                if !polite && number > 0 {
                    hang(tokens, clauses, number, first);
                }
                Some(Condition { polite, fronted, open: true })
            }
            None if hangs => earlier.map(|before| Condition { open: joined && before.open, ..before }),
            None => None,
        };
    }
    let is_question = |clause: &Clause| clause.modality == Modality::Question;
    if asks
        && !clauses.iter().any(is_question)
        && let Some(last) = clauses.last_mut()
    {
        last.modality = Modality::Question;
    }
}

/// A condition that clauses may hang on.
#[derive(Clone, Copy)]
struct Condition {
    /// "if you need it": nothing hangs on it.
    polite: bool,
    /// It stands before what hangs on it.
    fronted: bool,
    /// It is the clause before.
    open: bool,
}

/// "The refund is sent once the parcel arrives": the clause before hangs on the condition that begins at `first`.
fn hang(tokens: &Tokens<'_>, clauses: &mut [Clause], number: usize, first: usize) {
    let Some(before) = number.checked_sub(1).and_then(|before| clauses.get_mut(before)) else { return };
    let (from, end) = (before.tokens.first as usize, before.tokens.end as usize);
    let whether = tokens.lower(first) == "whether"
        || (end.saturating_sub(2)..end).any(|index| word(tokens, index).is(Role::AsksWhether));
    let past = (from..end).any(|index| {
        matches!(
            tokens.lower(index),
            "was" | "were" | "had" | "did" | "'ve" | "have" | "has" | "been" | "n't" | "not" | "found" | "got"
        )
    });
    let timeless = (from..end).any(|index| word(tokens, index).is(Role::Timeless));
    let comma = tokens.is(end - 1, ",");
    if before.modality == Modality::Asserted && !whether && !past && timeless && !comma {
        before.modality = Modality::Hypothetical;
    }
}

/// How a clause is meant by its own words; and if it is a condition, whether only a polite one.
fn modality(tokens: &Tokens<'_>, clause: &Clause, first: usize, asks: bool) -> (Modality, Option<bool>) {
    let end = clause.tokens.end as usize;
    let lower = tokens.lower(first);
    let here = word(tokens, first);
    if first >= end || here == Word::default() && tokens.kind(first) != Some(TokenKind::Word) {
        return (Modality::Asserted, None);
    }
    if asks && is_question(tokens, first, end) {
        return (Modality::Question, None);
    }
    let condition =
        matches!(lower, "if" | "unless" | "whether" | "once" | "assuming" | "supposing" | "provided" | "until")
            && first + 1 < end
            || lower == "as" && matches!(tokens.lower(first + 1), "soon" | "long") && tokens.lower(first + 2) == "as"
            || lower == "in" && tokens.lower(first + 1) == "case"
            || matches!(lower, "even" | "only" | "what") && tokens.lower(first + 1) == "if";
    if condition {
        let polite =
            matches!(lower, "if" | "in") && (first..end).any(|index| word(tokens, index).is(Role::PoliteCondition));
        return (Modality::Hypothetical, Some(polite));
    }
    if is_reported(tokens, first, end) {
        return (Modality::Reported, None);
    }
    let phrase = phrase_at(tokens, first, end);
    let asserting = matches!(phrase, Some((Phrase::AssertingImperative, _)));
    if !asserting && is_imperative(tokens, first, end) {
        return (Modality::Imperative, None);
    }
    let mut future = false;
    for index in first..end {
        let here = word(tokens, index);
        if here == Word::default() {
            continue;
        }
        if here.is(Role::PhraseStart)
            && let Some((phrase, _)) = phrase_at(tokens, index, end)
        {
            match phrase {
                Phrase::Hypothetical => return (Modality::Hypothetical, None),
                Phrase::Future => future = true,
                _ => {}
            }
        }
        if here.is(Role::Ability) && !is_fact(tokens, index, end)
            || here.is(Role::Hypothetical) && !is_had(tokens, index) && !here.is(Role::Ability)
        {
            return (Modality::Hypothetical, None);
        }
        future |= here.is(Role::Future);
    }
    (if future { Modality::Future } else { Modality::Asserted }, None)
}

fn phrase_at(tokens: &Tokens<'_>, index: usize, end: usize) -> Option<(Phrase, usize)> {
    let first = tokens.word(index);
    if !first.is(Role::PhraseStart) {
        return None;
    }
    lexicon::phrase(
        tokens.lower(index),
        |ahead| if index + ahead < end { Some(tokens.lower(index + ahead)) } else { None },
    )
}

fn is_question(tokens: &Tokens<'_>, first: usize, end: usize) -> bool {
    let here = word(tokens, first);
    if !here.is(Role::QuestionWord) || first + 1 >= end {
        return false;
    }
    let next = first + 1 + usize::from(matches!(tokens.lower(first + 1), "n't" | "not"));
    match tokens.lower(first) {
        "what" | "which" | "who" | "whom" | "whose" | "where" | "why" | "how" => true,
        // "when I looked" asks nothing, "when did you" does.
        "when" => word(tokens, next).is(Role::Auxiliary),
        // "Is it", "Would you", "Are there"; names and nouns too.
        _ => !word(tokens, next).is(Role::Auxiliary),
    }
}

/// "I can confirm", "I couldn't find", "I could find only two": what is said to be so, and what was tried and was not so.
fn is_fact(tokens: &Tokens<'_>, index: usize, end: usize) -> bool {
    let next = tokens.lower(index + 1);
    if matches!(next, "not" | "n't") {
        // "couldn't have been" is a guess.
        return tokens.lower(index + 2) != "have";
    }
    let first_person = index > 0 && matches!(tokens.lower(index - 1), "i" | "we");
    let found = tokens.lower(index) == "could"
        && first_person
        && matches!(next, "find" | "see" | "locate" | "get" | "confirm" | "verify" | "only");
    let says = first_person && (index + 1..end.min(index + 3)).any(|index| word(tokens, index).is(Role::SaysItIsSo));
    let seen = tokens.lower(index) == "can"
        && matches!(next, "only" | "see")
        && !tokens.lower(index.saturating_sub(1)).starts_with("you");
    found || says && tokens.lower(index) == "can" || seen && first_person
}

/// "I'd already sent it" is "I had".
fn is_had(tokens: &Tokens<'_>, index: usize) -> bool {
    tokens.lower(index) == "'d"
        && matches!(
            tokens.lower(index + 1),
            "already" | "been" | "just" | "previously" | "never" | "asked" | "requested"
        )
}

/// "you said", "as you mentioned", "the docs say", "according to you"
fn is_reported(tokens: &Tokens<'_>, first: usize, end: usize) -> bool {
    if matches!(phrase_at(tokens, first, end), Some((Phrase::Reported, _))) {
        return true;
    }
    let first = first + usize::from(matches!(tokens.lower(first), "as" | "since" | "because" | "that"));
    let Some(speaker) = (first..end.min(first + 3)).find(|&index| word(tokens, index).is(Role::OtherSpeaker)) else {
        return false;
    };
    let article = speaker == first
        || (first..speaker)
            .all(|index| word(tokens, index).is_any(&[Role::Determiner, Role::Abbreviation]) || index > first);
    let mut verb = speaker + 1;
    while verb < end.min(speaker + 3)
        && (word(tokens, verb).is(Role::Auxiliary)
            || matches!(tokens.lower(verb), "also" | "just" | "already" | "originally"))
    {
        verb += 1;
    }
    article && word(tokens, verb).is(Role::Says) && verb < end
}

fn is_imperative(tokens: &Tokens<'_>, first: usize, end: usize) -> bool {
    let mut first = first;
    let please = matches!(tokens.lower(first), "please" | "kindly");
    if please {
        first += 1;
    }
    let lower = tokens.lower(first);
    if first + 1 >= end && !please {
        return false;
    }
    if matches!(lower, "do") && matches!(tokens.lower(first + 1), "n't" | "not") {
        return true;
    }
    if lower == "let" {
        return tokens.lower(first + 1) == "me" && tokens.lower(first + 2) == "know"
            || tokens.lower(first + 1) == "us" && tokens.lower(first + 2) == "know";
    }
    let here = word(tokens, first);
    if please {
        return here != Word::default() || tokens.kind(first) == Some(TokenKind::Word);
    }
    if !here.is(Role::Imperative) && !here.is(Role::ImperativeOrNoun) {
        return false;
    }
    if lower == "do" || lower == "don't" {
        return false;
    }
    let next = word(tokens, first + 1);
    // "Order A-77 is cancelled", "Request a is open"
    let stated = (first + 1..end.min(first + 5))
        .any(|index| matches!(tokens.lower(index), "is" | "are" | "was" | "were" | "has" | "have"));
    !here.is(Role::ImperativeOrNoun) || next.is(Role::AfterImperative) && !stated
}

/// Tell the tokens of a clause what is negated in it.
fn negate(tokens: &mut Tokens<'_>, first: usize, end: usize) {
    let mut state = Negation::None;
    let mut reach = 0;
    let mut skip = first;
    let mut cue_end = first;
    let mut behind = false;
    let mut outside = Negation::None;
    for index in first..end {
        let inside = tokens.tokens.get(index).is_some_and(|token| token.mention.is_some() || token.quoted);
        let here = word(tokens, index);
        let cue = if index < skip || inside { None } else { cue(tokens, index, end) };
        match cue {
            Some(Cue::Nothing(length)) => skip = index + length,
            Some(Cue::Negation(length)) => {
                skip = index + length;
                cue_end = skip;
                tell(tokens, index, skip.min(end), state);
                // "neither … nor" denies twice, and not the denial.
                let goes_on = tokens.lower(index) == "nor" && state == Negation::Negated;
                state = if state == Negation::None || goes_on { Negation::Negated } else { Negation::Unclear };
                reach = 0;
                continue;
            }
            None => {}
        }
        if index < cue_end {
            continue;
        }
        if !inside && outside != Negation::None && tokens.is(index, ")") {
            state = outside;
            outside = Negation::None;
        }
        if !inside && state != Negation::None {
            match tokens.lower(index) {
                // What is joined may be denied or not.
                "," | "and" => state = Negation::Unclear,
                // What is in brackets says why: "(fully booked)".
                "(" => {
                    outside = state;
                    state = Negation::None;
                }
                ";" | "—" | "due" | "except" | "besides" | ":" => state = Negation::None,
                _ => {}
            }
        }
        if tokens.kind(index) == Some(TokenKind::Word) {
            reach += 1;
            if reach > REACH && state == Negation::Negated {
                state = Negation::Unclear;
            }
        }
        tell(tokens, index, index + 1, state);
        if here.is(Role::NegationBehind) && !inside && !behind && state == Negation::None {
            behind = true;
            for earlier in first..index {
                if tokens.tokens.get(earlier).is_some_and(|token| {
                    token.negation == Negation::None && token.mention.is_none() && token.kind == TokenKind::Word
                }) {
                    tell(tokens, earlier, earlier + 1, Negation::Negated);
                }
            }
        }
    }
}

fn tell(tokens: &mut Tokens<'_>, first: usize, end: usize, negation: Negation) {
    for token in tokens.tokens.get_mut(first..end).unwrap_or_default() {
        token.negation = negation;
    }
}

enum Cue {
    Negation(usize),
    /// "not only", "no problem", "No, …": it looks like one.
    Nothing(usize),
}

fn cue(tokens: &Tokens<'_>, index: usize, end: usize) -> Option<Cue> {
    let here = tokens.word(index);
    match phrase_at(tokens, index, end) {
        Some((Phrase::Negation, length)) => return Some(Cue::Negation(length)),
        Some((Phrase::NoNegation, length)) => return Some(Cue::Nothing(length)),
        _ => {}
    }
    if !here.is(Role::Negation) {
        return None;
    }
    // "No, it is open": the answer denies nothing of what follows. Nor does one that ends the clause.
    if index + 1 >= end || matches!(tokens.written(index + 1), "," | "." | "!" | "?" | ":" | ";" | "—") {
        return Some(Cue::Nothing(1));
    }
    Some(Cue::Negation(1))
}

#[cfg(test)]
mod tests {
    use super::Modality::{Asserted, Future, Hypothetical, Imperative, Question, Reported};
    use crate::grounding::scan::{Modality, Negation, Scan, TokenKind, scan};
    use bumpalo::Bump;

    fn modalities(text: &str) -> Vec<Modality> {
        let bump = Bump::new();
        scan(text, &bump).clauses.iter().map(|clause| clause.modality).collect()
    }

    #[test]
    fn what_happened_is_asserted() {
        for text in [
            "I could not find any flights to Oslo.",
            "I couldn't find your order.",
            "I've emailed the invoice to Dana.",
            "I was able to cancel the order.",
            "I wasn't able to reach the server.",
            "I can confirm that your order A-99812 is cancelled.",
            "I can see three open tickets.",
            "It's -3 °C with light snow.",
            "The payment did not go through.",
            "Your order has been cancelled.",
            "I could only find two flights.",
            "Please note that your order was cancelled.",
            "Order A1 is placed.",
            "Order A-77 is now cancelled.",
            "Order 5120 has been shipped.",
            "I sent the email to Dana, but it bounced.",
            "Book club meets on Monday.",
            "Contact: dana@x.io",
            "I cannot access the calendar.",
            "I'd already sent it.",
            "The trip is in May.",
            "According to the weather service, it is 4 °C.",
            "Done! All set.",
            "The docs page is at https://x.io.",
        ] {
            assert!(modalities(text).iter().all(|&modality| modality == Asserted), "{text}: {:?}", modalities(text));
        }
    }

    #[test]
    fn what_is_not_said_to_be_so() {
        for (text, expected) in [
            ("I will send it tomorrow.", &[Future][..]),
            ("I'll book the flight.", &[Future]),
            ("I'm going to retry.", &[Future]),
            ("Let me check that.", &[Future]),
            ("It won't arrive today.", &[Future]),
            ("I would cancel it.", &[Hypothetical]),
            ("You can pay at the desk.", &[Hypothetical]),
            ("It may rain.", &[Hypothetical]),
            ("The order should arrive on Monday.", &[Hypothetical]),
            ("You need to confirm it.", &[Hypothetical]),
            ("Would you like me to book it?", &[Question]),
            ("Is the order shipped?", &[Question]),
            ("Is it a change of plan, an airline cancelled flight, or other?", &[Question, Question]),
            ("To proceed, please send the details.", &[Asserted, Imperative]),
            ("Let's search for it.", &[Future]),
            ("1. **Reason**: Please tell me why.", &[Imperative]),
            ("Note: it will rain.", &[Future]),
            ("What is your order number?", &[Question]),
            ("You said that it was cancelled.", &[Reported]),
            ("As you mentioned, the flight was late.", &[Reported, Asserted]),
            ("The docs say that it is free.", &[Reported]),
            ("Please check your inbox.", &[Imperative]),
            ("Try again later.", &[Imperative]),
            ("Let me know if you need anything.", &[Imperative, Hypothetical]),
            ("Don't worry.", &[Imperative]),
            ("Contact the support team.", &[Imperative]),
            ("If you need it, the number is A-99812.", &[Hypothetical, Asserted]),
            ("If the payment failed, your order is cancelled.", &[Hypothetical, Hypothetical]),
            (
                "If it failed and the card was charged, the sum is returned.",
                &[Hypothetical, Hypothetical, Hypothetical],
            ),
            (
                "If it had gone through, Dana would have it by now, but it failed.",
                &[Hypothetical, Hypothetical, Asserted],
            ),
            ("The refund is sent once the parcel arrives.", &[Hypothetical, Hypothetical]),
            ("I checked if the order was shipped.", &[Asserted, Hypothetical]),
            ("I found three flights, would you like me to book one?", &[Asserted, Question]),
            ("I sent the mail, but I couldn't book the room.", &[Asserted, Asserted]),
            ("I sent the email to Dana, but it bounced.", &[Asserted, Asserted]),
            ("Order A1 is placed and your card was charged $30.", &[Asserted, Asserted]),
            ("I cancelled the order and will refund you.", &[Asserted, Future]),
        ] {
            assert_eq!(modalities(text), expected, "{text}");
        }
    }

    fn negations(scan: &Scan<'_>) -> String {
        let mut words = Vec::new();
        for token in scan.tokens.iter().filter(|token| matches!(token.kind, TokenKind::Word | TokenKind::Number)) {
            words.push(match token.negation {
                Negation::None => token.lower.to_owned(),
                Negation::Negated => format!("-{}", token.lower),
                Negation::Unclear => format!("?{}", token.lower),
            });
        }
        words.join(" ")
    }

    #[test]
    fn a_negation_governs_what_follows_in_its_clause() {
        for (text, expected) in [
            ("It is not open.", "it is not -open"),
            ("It isn't open, but the shop is.", "it is n't -open but the shop is"),
            ("I couldn't find any flights.", "i could n't -find -any -flights"),
            ("I was unable to send the mail.", "i was unable to -send -the -mail"),
            ("It failed to load.", "it failed to -load"),
            ("There are no results.", "there are no -results"),
            ("It is no longer available.", "it is no longer -available"),
            ("The mail was sent without errors.", "the mail was sent without -errors"),
            ("It was not unsuccessful.", "it was not -unsuccessful"),
            ("The transfer was unsuccessful.", "-the -transfer -was unsuccessful"),
            ("It never failed to start.", "it never -failed -to ?start"),
            ("Not only is it open, it is free.", "not only is it open it is free"),
            ("No problem, the order is placed.", "no problem the order is placed"),
            ("No, the order is placed.", "no the order is placed"),
            ("I did not cancel it and the card was charged.", "i did n't -cancel -it and the card was charged"),
            ("It will take no more than 5 days.", "it will take no more than 5 days"),
            ("Neither the archive nor the library has it.", "neither -the -archive -nor -the -library -has -it"),
            ("It did not go through (fully booked) today.", "it did not -go -through fully booked -today"),
            ("It is not red and blue.", "it is not -red ?and ?blue"),
            ("Your card wasn't charged; the order is open.", "your card was n't -charged the order is open"),
        ] {
            let bump = Bump::new();
            let expected = expected.replace("did n't", "did not");
            assert_eq!(negations(&scan(text, &bump)).replace("did n't", "did not"), expected, "{text}");
        }
    }

    #[test]
    fn quoted_words_are_no_cues() {
        let bump = Bump::new();
        let scan = scan("The note says \"not found\" and it was sent.", &bump);
        assert!(scan.tokens.iter().all(|token| token.negation == Negation::None));
        assert!(scan.tokens.iter().filter(|token| matches!(token.lower, "not" | "found")).all(|token| token.quoted));
    }
}
