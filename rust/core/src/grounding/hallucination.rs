//! No hallucination: are all tools and actions that the text claims in the trace?

#[cfg(test)]
mod tests;
mod trace;

use foldhash::{HashMap, HashMapExt, HashSet};

use super::{
    calibration::Rule,
    claims::{self, Claim, Classes, Says, ToolVerbs, Voice, lexicon},
    facts::Facts,
    names::{self, Mention, Shape},
    report::{Check, Decision, Evidence, Relation, Verdict},
    request::Request,
    scan::{Clause, Modality, Negation, Scan, Span, TokenKind},
    settings::Settings,
    status::Outcome,
};
use crate::show;
use trace::Trace;

/// How many names in the text are looked up.
const MOST_MENTIONS: usize = 1000;
/// What is in the names of tools that speak to people.
const CONTACTS: [&str; 12] = [
    "call", "phone", "dial", "contact", "message", "ask", "human", "transfer", "escalate", "send", "notify", "consult",
];
/// How many tokens around a verb or a name are looked at.
const WINDOW: usize = 40;

pub fn decide(
    request: &Request<'_>,
    scan: &Scan<'_>,
    facts: &Facts<'_>,
    _outcomes: &[Outcome],
    settings: &Settings,
) -> Decision {
    if scan.tokens.is_empty() {
        return Decision::new(Check::NoHallucination, Verdict::Vacuous, Rule::NothingToCheck);
    }
    let mut finder = Finder {
        request,
        scan,
        trace: Trace::new(request, facts),
        found: Vec::new(),
        named: Vec::new(),
        letter: None,
        success_told: false,
        doubtful: Vec::new(),
    };
    finder.letter = finder.letter();
    finder.names();
    finder.tools();
    finder.sources();
    finder.contacts();
    for claim in claims::claims(scan, &ToolVerbs::default()) {
        finder.claim(&claim);
    }
    finder.settle_doubts();
    let mut found = finder.found;
    found.sort_by_key(|found| (found.opinion, found.span));
    let (verdict, rule) =
        found.first().map_or((Verdict::Followed, Rule::NothingClaimed), |worst| worst.opinion.verdict());
    let mut decision = Decision::new(Check::NoHallucination, verdict, rule);
    for found in &found {
        let (_, rule) = found.opinion.verdict();
        if !decision.rules.contains(&rule) {
            decision.rules.push(rule);
        }
    }
    if settings.wants_explanation(verdict) {
        decision.explanation = explanation(request, scan, &found);
    }
    decision.evidence = found.iter().map(|found| found.evidence(request)).collect();
    decision.evidence.sort_by_key(|evidence| evidence.span);
    decision
}

/// What is thought of a tool or an action that the text claims, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Opinion {
    /// A tool of the catalogue, by its place there.
    Uncalled(u32),
    Unknown,
    NoCall,
    UnknownSource,
    /// It may be a name of something else, or named without a claim.
    Unclear,
    /// By a call.
    Called(Option<u32>),
}

impl Opinion {
    fn verdict(self) -> (Verdict, Rule) {
        match self {
            Opinion::Uncalled(_) => (Verdict::Violated, Rule::UncalledTool),
            Opinion::Unknown => (Verdict::Violated, Rule::UnknownTool),
            Opinion::NoCall => (Verdict::Violated, Rule::ActionWithoutCall),
            Opinion::UnknownSource => (Verdict::Violated, Rule::UnknownSource),
            Opinion::Unclear => (Verdict::Undecided, Rule::NoRule),
            Opinion::Called(_) => (Verdict::Followed, Rule::OnlyCalledTools),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Found {
    kind: &'static str,
    span: Span,
    opinion: Opinion,
}

impl Found {
    fn evidence(&self, request: &Request<'_>) -> Evidence {
        let (verdict, rule) = self.opinion.verdict();
        let call =
            |call: u32| request.calls.get(call as usize).map(|call| format!("/tool_trace/{}/tool_name", call.index));
        Evidence {
            kind: self.kind,
            span: Some(self.span),
            relation: match verdict {
                Verdict::Violated => Relation::NeverCalled,
                Verdict::Followed => Relation::Called,
                _ => Relation::Unchecked,
            },
            source: match self.opinion {
                Opinion::Called(Some(index)) => call(index),
                Opinion::Uncalled(index) => Some(format!("/available_tools/{index}")),
                _ => None,
            },
            expected: None,
            rule,
        }
    }
}

fn explanation(request: &Request<'_>, scan: &Scan<'_>, found: &[Found]) -> String {
    let Some(worst) = found.first() else {
        return "The text claims no tool and no action.".to_owned();
    };
    let (verdict, _) = worst.opinion.verdict();
    let alike: Vec<&Found> = found.iter().filter(|found| found.opinion.verdict().0 == verdict).collect();
    let words =
        |span: Span| show::in_a_sentence(scan.text.get(span.start as usize..span.end as usize).unwrap_or_default());
    let place = |span: Span| {
        let sentence = scan.sentences.iter().position(|sentence| sentence.span.end > span.start).unwrap_or_default();
        format!("\"{}\" (sentence {})", words(span), sentence + 1)
    };
    if verdict == Verdict::Followed {
        let count = alike.len();
        let (are, them) = if count == 1 { ("tool or action", "it") } else { ("tools or actions", "each of them") };
        return format!("The text claims {count} {are}, and the trace has a call for {them}.");
    }
    let calls = match request.calls {
        [] => "no tool was called".to_owned(),
        calls => {
            let mut tools: Vec<String> = calls.iter().map(|call| show::in_a_sentence(call.tool)).collect();
            tools.dedup();
            let more = if tools.len() > 5 { ", …" } else { "" };
            tools.truncate(5);
            format!("the trace has only {}{more}", tools.join(", "))
        }
    };
    let sentence = |found: &&Found| {
        let said = place(found.span);
        match found.opinion {
            Opinion::Uncalled(_) => {
                format!("The text claims the tool {said}, which was available and never called: {calls}.")
            }
            Opinion::Unknown => format!("The text claims the tool {said}, which was never called: {calls}."),
            Opinion::NoCall => format!("The text claims {said}, and no call could have done that: {calls}."),
            Opinion::UnknownSource => format!("The text claims to have looked at {said}, and no call did: {calls}."),
            _ if found.kind == "action" => {
                format!("The text claims {said}, and it is not clear whether a call did that: {calls}.")
            }
            _ => format!(
                "{said} may be the name of a tool that was never called, and it is not clear that its use is claimed."
            ),
        }
    };
    let mut sentences: Vec<String> = alike.iter().take(3).map(sentence).collect();
    if alike.len() > 3 {
        sentences.push(format!("The same holds for {} more.", alike.len() - 3));
    }
    sentences.join(" ")
}

struct Finder<'r, 'a> {
    request: &'r Request<'a>,
    scan: &'r Scan<'a>,
    trace: Trace<'r, 'a>,
    found: Vec<Found>,
    /// Where names stand that are written as code writes them.
    named: Vec<Span>,
    /// Where a letter begins that the user is to send, as a sentence.
    letter: Option<u32>,
    /// "All set!" was said.
    success_told: bool,
    /// Claims that fit a call badly, as places in `found`, and the call.
    doubtful: Vec<(usize, Option<u32>)>,
}

/// How well a claim of an action fits the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fit {
    Good,
    Doubtful,
    None,
}

/// How a name stands in its clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// "I used X", "according to X", "X returned"
    Claimed,
    /// "via X", "X returns"
    Maybe,
    None,
    /// Denied, supposed, asked, or told to the reader.
    Denied,
}

impl<'a> Finder<'_, 'a> {
    fn lower(&self, index: usize) -> &'a str {
        self.scan.tokens.get(index).map_or("", |token| token.lower)
    }

    fn push(&mut self, kind: &'static str, span: Span, opinion: Opinion) {
        self.found.push(Found { kind, span, opinion });
    }

    fn clause_of(&self, token: usize) -> Option<&Clause> {
        self.scan.clauses.get(self.scan.tokens.get(token)?.clause as usize)
    }

    /// The tokens that a span covers: first, and one behind the last.
    fn tokens_of(&self, span: Span) -> (usize, usize) {
        let first = self.scan.tokens.partition_point(|token| token.span.end <= span.start);
        let end = self.scan.tokens.partition_point(|token| token.span.start < span.end);
        (first, end.max(first + 1))
    }

    /// What is written as code writes names.
    fn names(&mut self) {
        // "m/s" may be written like a name again and again.
        let mut calls: HashMap<&str, Option<u32>> = HashMap::new();
        for mention in names::mentions(self.scan).iter().take(MOST_MENTIONS) {
            if mention.shape != Shape::Word {
                self.named.push(mention.span);
            }
            let known =
                calls.entry(mention.text).or_insert_with(|| self.trace.called.exactly(mention.text).first().copied());
            if let Some(call) = *known {
                if mention.shape != Shape::Word || mention.code {
                    self.push("tool", mention.span, Opinion::Called(Some(call)));
                }
                continue;
            }
            if let Some(opinion) = self.opinion_of(mention) {
                self.push("tool", mention.span, opinion);
            }
        }
    }

    fn opinion_of(&self, mention: &Mention<'_>) -> Option<Opinion> {
        let (first, end) = self.tokens_of(mention.span);
        let used = self.use_of(first, end);
        if used == Use::Denied || self.trace.is_in_context(mention.text) {
            return None;
        }
        let listed = self.trace.listed.as_ref().and_then(|listed| listed.exactly(mention.text).first().copied());
        if let Some(listed) = listed.filter(|_| mention.shape != Shape::Word || mention.code) {
            return match used {
                Use::Claimed => Some(Opinion::Uncalled(listed)),
                Use::Maybe if !self.trace.is_in_payloads(mention.text) => Some(Opinion::Unclear),
                _ => None,
            };
        }
        // What is left is not known to be a tool.
        let looks_like_one = match mention.shape {
            Shape::Snake => true,
            Shape::Camel => {
                names::words_of(mention.text).iter().filter(|word| word.len() > 2).count() >= 2
                    && mention.text.starts_with(|c: char| c.is_ascii_lowercase())
            }
            Shape::Dotted | Shape::Kebab | Shape::Word => {
                mention.code && names::is_tool_noun(self.lower(end + usize::from(self.lower(end) == "`")))
            }
        };
        if !looks_like_one || used == Use::None || !self.trace.called.nearly(mention.text).is_empty() {
            return None;
        }
        let in_payloads = self.trace.is_in_payloads(mention.text);
        // "I ran `import_csv()`", which a result speaks of; "I used the `price` field" is nothing to wonder about.
        if in_payloads && used == Use::Claimed && mention.called {
            return Some(Opinion::Unclear);
        }
        if in_payloads || used == Use::Maybe && self.trace.is_in_query(mention.text) {
            return None;
        }
        Some(if used == Use::Claimed { Opinion::Unknown } else { Opinion::Unclear })
    }

    /// Is the use of what stands from `first` to `end` claimed?
    fn use_of(&self, first: usize, end: usize) -> Use {
        let Some(clause) = self.clause_of(first) else { return Use::None };
        let negated = |at: usize| self.scan.tokens.get(at).is_some_and(|token| token.negation != Negation::None);
        if clause.modality != Modality::Asserted || (first..end).any(negated) {
            return Use::Denied;
        }
        let begins = (clause.tokens.first as usize).max(first.saturating_sub(WINDOW));
        let back: Vec<&str> =
            (begins..first).rev().map(|at| self.lower(at)).filter(|word| !is_small(word)).take(7).collect();
        let agent = (begins..first).any(|at| matches!(self.lower(at), "i" | "we" | "i've" | "we've"));
        let of_agent = (begins..first).any(|at| matches!(self.lower(at), "my" | "our"));
        let before = back.first().copied().unwrap_or_default();
        if before == "to" && back.get(1) == Some(&"according") {
            return Use::Claimed;
        }
        let verb = |word: &str| is_use_verb(word);
        if agent && back.iter().any(|word| verb(word)) {
            return Use::Claimed;
        }
        let by = matches!(before, "via" | "using" | "through" | "with" | "from" | "per" | "by" | "in");
        if by && (agent || of_agent && before != "with") {
            return Use::Claimed;
        }
        let mut at = end;
        while is_small(self.lower(at)) || names::is_tool_noun(self.lower(at)) {
            at += 1;
        }
        match self.lower(at) {
            "returned" | "said" | "reported" | "gave" | "confirmed" | "responded" | "told" | "found" | "showed"
            | "indicated" | "came" => {
                if self.request.calls.is_empty() {
                    Use::Maybe
                } else {
                    Use::Claimed
                }
            }
            "says" | "shows" | "returns" | "reports" | "gives" | "confirms" | "indicates" | "lists" | "listed" => {
                Use::Maybe
            }
            _ if matches!(before, "via" | "using" | "through" | "per" | "source") => Use::Maybe,
            _ => Use::None,
        }
    }

    /// "I used the weather tool"
    fn tools(&mut self) {
        for index in 0..self.scan.tokens.len() {
            let Some(token) = self.scan.tokens.get(index) else { return };
            if token.kind != TokenKind::Word || !names::is_tool_noun(token.lower) {
                continue;
            }
            let Some(clause) = self.clause_of(index) else { continue };
            let begins = (clause.tokens.first as usize).max(index.saturating_sub(4));
            let is_part = |at: &usize| {
                let lower = self.lower(*at);
                self.scan.tokens.get(*at).is_some_and(|token| token.kind == TokenKind::Word)
                    && !is_small(lower)
                    && !is_use_verb(lower)
                    && !matches!(
                        lower,
                        "with"
                            | "via"
                            | "using"
                            | "through"
                            | "of"
                            | "by"
                            | "to"
                            | "and"
                            | "from"
                            | "in"
                            | "another"
                            | "any"
                            | "no"
                            | "i"
                            | "we"
                            | "s"
                            | "'ve"
                            | "both"
                    )
            };
            let first = (begins..index).rev().take_while(is_part).last().unwrap_or(index);
            // A name such as `web_search` has been looked at already.
            let start = self.scan.tokens.get(first).map_or(0, |token| token.span.start);
            if self.named.iter().any(|span| span.end > start && span.start < token.span.end) {
                continue;
            }
            if (first..index).any(|at| self.lower(at).contains(['_', '.', '`']))
                || self.lower(index.wrapping_sub(1)) == "`"
            {
                continue;
            }
            if self.use_of(first, index + 1) != Use::Claimed {
                continue;
            }
            let span = Span {
                start: self.scan.tokens.get(first).map_or(token.span.start, |first| first.span.start),
                end: token.span.end,
            };
            let words: Vec<&str> = (first..index)
                .map(|at| self.lower(at))
                .filter(|word| !names::lists().vague.contains(word) && !names::is_head(word))
                .collect();
            let opinion = self.trace.tool_of(&words);
            self.push("tool", span, opinion);
        }
    }

    /// "I searched the web", "I've checked your calendar"
    fn sources(&mut self) {
        let read = lexicon().class("read");
        for index in 0..self.scan.tokens.len() {
            let Some(token) = self.scan.tokens.get(index) else { return };
            if token.kind != TokenKind::Word {
                continue;
            }
            let Some(source) = names::lists().source_said(token.lower) else {
                continue;
            };
            let Some(clause) = self.clause_of(index).filter(|clause| clause.modality == Modality::Asserted) else {
                continue;
            };
            if token.negation != Negation::None || token.quoted {
                continue;
            }
            let begins = (clause.tokens.first as usize).max(index.saturating_sub(8));
            let is_verb = |&at: &usize| {
                let word = lexicon().word(self.lower(at));
                word.is_some_and(|word| word.past.meets(read)) || matches!(self.lower(at), "used" | "googled")
            };
            let Some(verb) = (begins..=index).rev().find(is_verb) else { continue };
            let near = (verb.saturating_sub(9).max(clause.tokens.first as usize)..verb)
                .any(|at| matches!(self.lower(at), "i" | "we"));
            let negated = self.scan.tokens.get(verb).is_some_and(|token| token.negation != Negation::None);
            if !near || negated || (verb + 1..index).any(|at| matches!(self.lower(at), "that" | "for" | "and" | ",")) {
                continue;
            }
            let span = Span {
                start: self.scan.tokens.get(verb).map_or(token.span.start, |verb| verb.span.start),
                end: token.span.end,
            };
            let opinion = match self.trace.has_source(source) {
                Some(call) => Opinion::Called(call),
                None if self.request.context.is_empty() => Opinion::UnknownSource,
                None => continue,
            };
            self.push("source", span, opinion);
        }
    }

    /// "Dear Ms Lund, … Kind regards": where it begins, if the query asks for something to be written.
    fn letter(&self) -> Option<u32> {
        if !self.trace.asks_for_letter() {
            return None;
        }
        self.scan
            .sentences
            .iter()
            .position(|sentence| {
                let begin = sentence.tokens.first as usize;
                let is_word = |at: &usize| self.scan.tokens.get(*at).is_some_and(|token| token.kind == TokenKind::Word);
                let first = (begin..begin + 4).find(is_word).unwrap_or(begin);
                let heads = self.lower(first) == "subject" && self.lower(first + 1) == ":";
                heads || self.lower(first) == "dear"
            })
            .map(|sentence| sentence as u32)
    }

    /// "I called the hotel", "I spoke to Dr Lee"
    fn contacts(&mut self) {
        if !self.request.context.is_empty() || CONTACTS.iter().any(|word| self.trace.acts_by(word)) {
            return;
        }
        for index in 1..self.scan.tokens.len() {
            let Some(token) = self.scan.tokens.get(index) else { return };
            let with = match token.lower {
                "called" | "phoned" | "rang" | "telephoned" | "asked" | "told" => 0,
                "spoke" | "spoken" | "talked" | "checked" => 1,
                _ => continue,
            };
            if with == 1 && !matches!(self.lower(index + 1), "to" | "with") {
                continue;
            }
            let after: Vec<&str> = (index + 1 + with..index + 7).map(|at| self.lower(at)).collect();
            let somebody =
                matches!(after.first(), Some(&("the" | "your" | "our" | "dr" | "mr" | "ms" | "mrs" | "their")));
            let something = after.iter().any(|word| {
                names::is_tool_noun(word) || names::lists().texts.contains(word) || word.contains(['_', '`', '('])
            });
            let before = (index.saturating_sub(4)..index).rev().map(|at| self.lower(at)).find(|word| {
                !word.ends_with("ly") && !matches!(*word, "also" | "just" | "then" | "have" | "'ve" | "already")
            });
            let asserted = self.clause_of(index).is_some_and(|clause| clause.modality == Modality::Asserted);
            let speaks = matches!(before, Some("i" | "we" | "and"));
            if somebody
                && !something
                && speaks
                && asserted
                && token.negation == Negation::None
                && with + usize::from(self.is_person(&after)) > 0
            {
                self.push("action", token.span, Opinion::Unclear);
            }
        }
    }

    fn is_person(&self, words: &[&str]) -> bool {
        const PEOPLE: [&str; 34] = [
            "team",
            "hotel",
            "restaurant",
            "office",
            "support",
            "manager",
            "doctor",
            "dr",
            "mr",
            "ms",
            "mrs",
            "bank",
            "carrier",
            "airline",
            "landlord",
            "customer",
            "client",
            "staff",
            "desk",
            "reception",
            "pharmacy",
            "clinic",
            "department",
            "colleague",
            "colleagues",
            "supplier",
            "vendor",
            "seller",
            "shop",
            "store",
            "school",
            "legal",
            "venue",
            "owner",
        ];
        words.iter().take(4).any(|word| PEOPLE.contains(word))
    }

    /// "I've emailed you a copy", "has been cancelled"
    fn claim(&mut self, claim: &Claim) {
        if claim.says != Says::Done || !claim.asserted || claim.background {
            return;
        }
        // A letter speaks for the user.
        if self.letter.is_some_and(|letter| claim.sentence >= letter) {
            return;
        }
        self.success_told |= claim.voice == Voice::State && claim.classes.is_empty();
        let lexicon = lexicon();
        let writes = lexicon.writers(claim.classes);
        let opinion = if writes.is_empty() {
            self.of_reading(claim)
        } else {
            match self.trace.could_have_done(writes).map(|call| (call, self.fit(claim, call, writes))) {
                // What things are like needs nobody who made them so.
                Some((call, Fit::Good)) => matches!(claim.voice, Voice::Agent | Voice::Elided | Voice::Perfect)
                    .then_some(Opinion::Called(call)),
                Some((call, Fit::Doubtful)) => {
                    self.doubtful.push((self.found.len(), call));
                    Some(Opinion::Unclear)
                }
                Some((_, Fit::None)) | None => self.without_call(claim, writes),
            }
        };
        if let Some(opinion) = opinion {
            self.push("action", claim.span(self.scan), opinion);
        }
    }

    /// What fits a call badly that another claim fits well was done by no call: "I've set the bathroom, and lowered the bedroom".
    fn settle_doubts(&mut self) {
        let told: HashSet<u32> = self
            .found
            .iter()
            .filter_map(|found| match found.opinion {
                Opinion::Called(call) if found.kind == "action" => call,
                _ => None,
            })
            .collect();
        for &(place, call) in &self.doubtful {
            if let Some(found) = self.found.get_mut(place)
                && call.is_some_and(|call| told.contains(&call))
                && self.trace.is_only_of_its_tool(call)
            {
                found.opinion = Opinion::NoCall;
            }
        }
    }

    /// "I checked your account", where nothing was called at all.
    fn of_reading(&self, claim: &Claim) -> Option<Opinion> {
        if claim.classes.is_empty()
            || claim.voice != Voice::Agent
            || !self.request.calls.is_empty()
            || !self.request.context.is_empty()
        {
            return None;
        }
        let after = claim.tokens.end as usize;
        let objects: Vec<&str> = (after..after + 5).map(|at| self.lower(at)).collect();
        let verb = self.lower(after.saturating_sub(1));
        if looked_up(verb, &objects) {
            return Some(Opinion::Unclear);
        }
        let looks = matches!(
            verb,
            "checked"
                | "looked"
                | "searched"
                | "queried"
                | "retrieved"
                | "fetched"
                | "pulled"
                | "accessed"
                | "consulted"
                | "googled"
        );
        let of_somebody = objects.iter().take(3).any(|word| matches!(*word, "your" | "our" | "the"));
        let of_text = objects.iter().any(|word| names::lists().texts.contains(word));
        (looks && of_somebody && !of_text).then_some(Opinion::NoCall)
    }

    /// Is a change claimed that no call could have made?
    fn without_call(&self, claim: &Claim, classes: Classes) -> Option<Opinion> {
        let lexicon = lexicon();
        let trace = &self.trace;
        let general = lexicon.class("generic");
        if !self.request.context.is_empty() && trace.context_tells(classes) || classes == general {
            return None;
        }
        let clause = self.scan.clauses.get(claim.clause as usize)?;
        let window = WINDOW as u32;
        let from = clause.tokens.first.max(claim.verb.saturating_sub(window));
        let to = clause.tokens.end.min(claim.verb + window);
        let words = || (from..to).map(|at| self.lower(at as usize));
        let verb = self.lower(claim.verb as usize);
        let yours = words().any(|word| matches!(word, "your" | "you" | "yours"));
        let outside = words().any(|word| names::lists().objects.contains(word));
        let asked = trace.asked.meets(classes);
        // What the user asked for is named by more than the verb.
        let same_thing = words().any(|word| word.len() > 3 && word != verb && trace.query_has(word));
        let written = trace.asks_for_text();
        let outside = (!written || claim.strong) && (outside || asked && (yours || same_thing));
        // "as requested"
        let on_request = words().zip(words().skip(1)).any(|(word, next)| {
            matches!((word, next), ("as", "requested" | "asked" | "you") | ("per" | "at", "your") | ("for", "you"))
        });
        let ordered =
            trace.ordered.meets(classes) && (claim.strong || trace.orders(verb)) || on_request && claim.strong;
        let company = claim.voice == Voice::Agent && self.lower(claim.tokens.first as usize) == "we";
        let sure = match claim.voice {
            // "I've ordered them by price"
            Voice::Agent if words().any(|word| word == "by") && matches!(verb, "ordered" | "sorted") => false,
            // A company may have done what a look at its records told.
            Voice::Agent if company => ordered && !trace.tells(verb),
            Voice::Agent => claim.strong || outside,
            Voice::Elided => asked && (claim.strong || outside),
            Voice::Perfect if self.request.calls.is_empty() => ordered || asked && outside || yours && claim.strong,
            // A look at it may have told of it, unless it was asked for, or is a message that was not there to be seen.
            Voice::Perfect => ordered || trace.ordered.meets(classes) && outside || self.is_message(claim),
            // "All set! Your table is reserved."
            Voice::Present if self.success_told && claim.strong && yours => true,
            Voice::Present | Voice::State => ordered && outside,
            Voice::Past => ordered && outside && claim.strong,
        };
        let is_passive = !matches!(claim.voice, Voice::Agent | Voice::Elided);
        let maybe = sure || matches!(claim.voice, Voice::Perfect | Voice::Agent);
        if !maybe || is_passive && (trace.query_tells(verb) || trace.tells(verb)) {
            return None;
        }
        if !sure {
            // "removed the bread", of which a result speaks
            let removes = claim.voice == Voice::Agent && classes.meets(lexicon.class("delete"));
            let unsure = company && claim.strong && !trace.tells(verb)
                || claim.voice == Voice::Perfect && (claim.strong || self.is_news(claim, clause))
                || removes && self.trace.acts() && self.trace.has_word_of(&self.object(claim));
            return unsure.then_some(Opinion::Unclear);
        }
        // Names that say nothing of what they do may have done it.
        let words: Vec<&str> = words().collect();
        Some(match trace.may_have_done(&words) {
            _ if !trace.may_do_anything() => Opinion::NoCall,
            Some(call) => Opinion::Called(Some(call)),
            None => Opinion::Unclear,
        })
    }

    /// Does what the claim names fit the calls that could have done it? A verb that fits nearly every change needs more than that:
    /// "locked the door" is nothing that `set_light` does.
    fn fit(&self, claim: &Claim, call: Option<u32>, classes: Classes) -> Fit {
        let lexicon = lexicon();
        let verb = self.lower(claim.verb as usize);
        // An argument of a call says that it does so too: `notify_attendees`.
        if call.is_none() {
            return Fit::Good;
        }
        if let Some(channel) = names::lists().channels.iter().find(|channel| channel.said.contains(&verb)) {
            return if channel.stands_for.iter().any(|word| self.trace.acts_by(word)) { Fit::Good } else { Fit::None };
        }
        let broad = ["create", "update", "save", "sign", "delete"].map(|class| lexicon.class(class));
        let object = self.object(claim);
        let is_named = |word: &&str| word.len() > 2 && lexicon.word(word).is_none_or(|word| word.past.is_empty());
        if !matches!(claim.voice, Voice::Agent | Voice::Elided)
            || !broad.iter().any(|&class| classes.meets(class))
            || !object.iter().any(is_named)
            || self.trace.is_named(verb)
            || self.trace.has_word_of(&object)
        {
            return Fit::Good;
        }
        let exactly = call.is_none_or(|call| self.trace.does(call, classes));
        let outside = object.iter().any(|word| names::lists().objects.contains(word));
        if claim.strong || !exactly && outside {
            return Fit::None;
        }
        // What the user calls by another name than the tool may be meant.
        let asked = object.iter().any(|word| word.len() > 3 && self.trace.query_has(word));
        if exactly && !asked && object.len() > 1 { Fit::Doubtful } else { Fit::Good }
    }

    /// What stands behind the verb of a claim in its clause, up to the next verb.
    fn object(&self, claim: &Claim) -> Vec<&'a str> {
        let end = self.scan.clauses.get(claim.clause as usize).map_or(0, |clause| clause.tokens.end);
        let words = (claim.verb + 1..end).take(WINDOW).map(|at| self.lower(at as usize));
        words.take_while(|word| lexicon().word(word).is_none_or(|word| word.past.is_empty())).collect()
    }

    /// "A confirmation email has been sent"
    fn is_message(&self, claim: &Claim) -> bool {
        let send = lexicon().class("send");
        claim.classes.meets(send) && claim.around.meets(send) && {
            let before = (claim.tokens.first.saturating_sub(6)..claim.tokens.first).map(|at| self.lower(at as usize));
            before.into_iter().any(|word| lexicon().word(word).is_some_and(|word| word.noun.meets(send)))
        }
    }

    /// Something new is told to have been set up, that neither the query nor a result speaks of: "a reminder has been scheduled".
    fn is_news(&self, claim: &Claim, clause: &Clause) -> bool {
        let from = clause.tokens.first.max(claim.tokens.first.saturating_sub(WINDOW as u32));
        let subject = (from..claim.tokens.first).map(|at| self.lower(at as usize));
        let mut objects = subject.filter(|word| names::lists().objects.contains(word));
        objects.any(|word| !self.trace.query_has(word) && !self.trace.has_word_of(&[word]))
    }
}

/// "looked it up"
fn looked_up(verb: &str, after: &[&str]) -> bool {
    verb == "looked" && matches!(after, ["it" | "that" | "this" | "them", "up", ..])
}

/// Articles and the like, which stand between a verb and a name; signs too.
fn is_small(word: &str) -> bool {
    matches!(
        word,
        "the"
            | "a"
            | "an"
            | "my"
            | "our"
            | "your"
            | "its"
            | "`"
            | "\""
            | "'"
            | "*"
            | "“"
            | "”"
            | "("
            | ")"
            | "**"
            | "this"
            | "also"
            | "just"
            | "then"
            | "their"
            | "both"
    )
}

fn is_use_verb(word: &str) -> bool {
    matches!(
        word,
        "used"
            | "called"
            | "ran"
            | "run"
            | "invoked"
            | "queried"
            | "consulted"
            | "executed"
            | "checked"
            | "asked"
            | "hit"
            | "searched"
            | "tried"
            | "looked"
            | "utilized"
            | "utilised"
            | "leveraged"
            | "triggered"
            | "employed"
            | "accessed"
            | "calling"
            | "running"
            | "verified"
            | "fetched"
            | "got"
            | "pulled"
            | "retrieved"
            | "obtained"
    )
}
