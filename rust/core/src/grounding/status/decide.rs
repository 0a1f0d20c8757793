//! What the text says of each call that did not succeed.

use std::{cell::OnceCell, collections::HashSet};

use super::{
    super::{
        calibration::Rule,
        claims::{self, Claim, Classes, Says, ToolVerbs, Voice, lexicon},
        names,
        report::{Check, Decision, Evidence, Relation, Verdict},
        request::{Call, Request},
        scan::{self, Block, Modality, Scan, Span, TokenKind, What},
        settings::Settings,
    },
    Outcome, Status,
    links::{self, Link, Links},
};
use crate::{show, value::Value};

/// How many words of results are looked at for what excuses a claim.
const MOST_WORDS: usize = 20_000;
const MOST_NOTES: usize = 20;
/// No answer that anybody reads claims more.
const MOST_CLAIMS: usize = 2000;
/// How many claims behind another one are looked at for what takes it back.
const MOST_BEHIND: usize = 40;

pub fn decide(request: &Request<'_>, scan: &Scan<'_>, outcomes: &[Outcome], settings: &Settings) -> Decision {
    let is_suspect = |outcome: &Outcome| outcome.suspect;
    if !outcomes.iter().any(Outcome::is_unresolved) && !outcomes.iter().any(is_suspect) {
        return nothing_failed(request, outcomes, settings);
    }
    let mut claims = claims::claims(scan, &ToolVerbs::of(request.calls.iter().map(|call| call.tool)));
    claims.truncate(MOST_CLAIMS);
    let judge = Judge {
        request,
        scan,
        outcomes,
        claims,
        links: Links::new(request, scan, outcomes),
        results: OnceCell::new(),
        numbers: OnceCell::new(),
        content: OnceCell::new(),
    };
    let mut findings = judge.findings();
    findings.sort_by_key(|finding| finding.opinion);
    let Some(worst) = findings.first() else { return nothing_failed(request, outcomes, settings) };
    let (verdict, rule) = judge.verdict(worst);
    let mut decision = Decision::new(Check::StatusConsistency, verdict, rule);
    for finding in &findings {
        let (_, rule) = judge.verdict(finding);
        if !decision.rules.contains(&rule) {
            decision.rules.push(rule);
        }
        decision.evidence.push(judge.evidence(finding));
        if finding.opinion == Opinion::NotTold && decision.notes.len() < MOST_NOTES {
            decision.notes.push(format!("failure_not_disclosed: nothing is said of {}", judge.call(finding.call)));
        }
    }
    decision.evidence.sort_by_key(|evidence| (evidence.span.is_none(), evidence.span));
    decision.notes.extend(unknown_statuses(request, outcomes));
    if settings.wants_explanation(verdict) {
        decision.explanation = judge.explanation(&findings);
    }
    decision
}

/// No call is left that failed or waits.
fn nothing_failed(request: &Request<'_>, outcomes: &[Outcome], settings: &Settings) -> Decision {
    let resolved = outcomes.iter().enumerate().find_map(|(index, outcome)| Some((index, outcome.resolved_by?)));
    let (verdict, rule) = match resolved {
        Some(_) => (Verdict::Followed, Rule::AllSucceeded),
        None => (Verdict::Vacuous, Rule::NothingToCheck),
    };
    let mut decision = Decision::new(Check::StatusConsistency, verdict, rule);
    decision.notes = unknown_statuses(request, outcomes);
    if settings.wants_explanation(verdict) {
        decision.explanation = match resolved {
            Some((first, by)) => {
                let tool = show::in_a_sentence(request.calls.get(first).map_or("", |call| call.tool));
                format!(
                    "{tool} (call {}) did not succeed at first, but did in call {}, and no failure is left.",
                    first + 1,
                    by + 1
                )
            }
            None if request.calls.is_empty() => "No tool was called.".to_owned(),
            None => "No call failed or waits.".to_owned(),
        };
    }
    decision
}

fn unknown_statuses(request: &Request<'_>, outcomes: &[Outcome]) -> Vec<String> {
    let calls = request.calls.iter().enumerate().zip(outcomes);
    let unknown = calls.filter_map(|((index, call), outcome)| {
        let status = call.status.filter(|_| outcome.status == Status::Unknown)?;
        let (tool, status) = (show::in_a_sentence(call.tool), show::in_a_sentence(&show::json_text(status)));
        Some(format!(
            "unknown_status: {tool} (call {}) has the status {status}, which is taken for a success",
            index + 1
        ))
    });
    unknown.take(MOST_NOTES).collect()
}

/// What the text says of a call, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Opinion {
    ToldAsDone,
    /// It failed, and is told as under way.
    ToldAsMoving,
    /// It has a value that only this call could have given.
    HasItsValue,
    ToldAsNothing,
    /// Success is claimed, and this call is the only one that could be meant.
    OnlyOneMeant,
    /// More than one call could be meant, or what is meant is not clear.
    Unclear,
    /// Nothing is said of it, and no other call answered.
    NothingElse,
    NotTold,
    Told,
}

#[derive(Clone, Copy, Debug)]
struct Finding {
    call: usize,
    opinion: Opinion,
    /// What says so in the text.
    span: Option<Span>,
}

struct Judge<'r, 'a> {
    request: &'r Request<'a>,
    scan: &'r Scan<'a>,
    outcomes: &'r [Outcome],
    claims: Vec<Claim>,
    links: Links<'r, 'a>,
    /// Of all results: classes of participles, and whether one of them says that something ended well.
    results: OnceCell<(Classes, bool)>,
    numbers: OnceCell<HashSet<String>>,
    content: OnceCell<bool>,
}

impl Judge<'_, '_> {
    fn findings(&self) -> Vec<Finding> {
        let linked: Vec<(&Claim, Link)> = self
            .claims
            .iter()
            .filter(|claim| {
                claim.asserted && !claim.background && matches!(claim.says, Says::Done | Says::Moving | Says::Coming)
            })
            .map(|claim| (claim, self.links.of(claim)))
            .collect();
        let open = self.links.open.iter().map(|&call| self.of_failure(call, &linked));
        let suspects = self.outcomes.iter().enumerate().filter(|(_, outcome)| outcome.suspect);
        open.chain(suspects.filter_map(|(call, _)| self.of_suspect(call))).collect()
    }

    fn status(&self, call: usize) -> Status {
        self.outcomes.get(call).map_or(Status::Unknown, |outcome| outcome.status)
    }

    /// What is said of a call that did not succeed?
    fn of_failure(&self, call: usize, linked: &[(&Claim, Link)]) -> Finding {
        let status = self.status(call);
        let finding = |opinion, span| Finding { call, opinion, span };
        let not_found = self.is_not_found(call);
        let told = self.told(call, not_found);
        let denied = self.last_denial(call);
        let span = |claim: &Claim| Some(claim.span(self.scan));
        let mut unclear = None;
        for (claim, link) in linked {
            let (calls, opinion) = match link {
                Link::To(calls) => (calls, Opinion::ToldAsDone),
                Link::Only(calls) => (calls, Opinion::OnlyOneMeant),
                Link::Unclear => {
                    unclear = unclear.or(Some(*claim).filter(|claim| claim.says == Says::Done));
                    continue;
                }
                Link::Other => continue,
            };
            if !calls.contains(&call) || self.is_taken_back(claim, call, denied) {
                continue;
            }
            let honest_of_pending = status == Status::Pending && (claim.says != Says::Done || self.only_begins(claim));
            if honest_of_pending {
                continue;
            }
            // "is fully booked", where the error says so
            if self.is_in_error(self.verb(claim), call) {
                return finding(Opinion::Told, span(claim));
            }
            if claim.says == Says::Done {
                if self.is_excused(claim) || status == Status::Partial && (claim.part || !claim.whole) {
                    unclear = unclear.or(Some(claim));
                    continue;
                }
                return finding(opinion, span(claim));
            }
            // "is being processed", of what failed.
            if opinion == Opinion::ToldAsDone && told.is_none() {
                match status {
                    Status::Failed | Status::Skipped => return finding(Opinion::ToldAsMoving, span(claim)),
                    _ => unclear = unclear.or(Some(claim)),
                }
            }
        }
        if let Some((opinion, claim)) = self.told_as_nothing(call).filter(|_| !not_found) {
            return finding(opinion, span(claim));
        }
        if let Some(claim) = told {
            return finding(Opinion::Told, span(claim));
        }
        if let Some(span) = self.tells_reason(call) {
            return finding(Opinion::Told, Some(span));
        }
        if let Some(span) = self.value_of_failure(call) {
            return finding(Opinion::HasItsValue, Some(span));
        }
        if let Some(claim) = unclear {
            return finding(Opinion::Unclear, span(claim));
        }
        let answered = self
            .links
            .good
            .iter()
            .any(|&good| self.request.calls.get(good).is_some_and(|call| call.response.is_some()));
        let opinion = if answered || !*self.content.get_or_init(|| self.has_content()) {
            Opinion::NotTold
        } else {
            Opinion::NothingElse
        };
        finding(opinion, None)
    }

    /// A success that its own result denies: what the text makes of it is for the fidelity of results, unless it is told.
    fn of_suspect(&self, call: usize) -> Option<Finding> {
        let told = self.told(call, false);
        let (opinion, claim) = match told {
            Some(claim) => (Opinion::Told, claim),
            None => (
                Opinion::Unclear,
                self.claims
                    .iter()
                    .find(|claim| claim.says == Says::Done && claim.asserted && self.links.may_be_about(claim, call))?,
            ),
        };
        Some(Finding { call, opinion, span: Some(claim.span(self.scan)) })
    }

    /// What tells that this call did not succeed: the plainest wording.
    fn told(&self, call: usize, not_found: bool) -> Option<&Claim> {
        let tells = |claim: &&Claim| {
            (self.tells(claim, call) || not_found && claim.says == Says::Nothing)
                && self.links.may_be_about(claim, call)
        };
        let plainness = |claim: &&Claim| match claim.says {
            Says::NotDone => 0,
            Says::Failed => 1,
            Says::Sorry => 3,
            _ => 2,
        };
        self.claims.iter().filter(tells).min_by_key(plainness)
    }

    fn tells(&self, claim: &Claim, call: usize) -> bool {
        let status = self.status(call);
        claim.asserted
            && match claim.says {
                Says::NotDone | Says::Failed | Says::Retry | Says::Sorry => true,
                Says::Waiting => matches!(status, Status::Pending | Status::TimedOut | Status::Partial),
                Says::Moving | Says::Coming => status == Status::Pending,
                Says::Done => {
                    status == Status::Partial && claim.part || status == Status::Pending && self.only_begins(claim)
                }
                Says::Nothing => false,
            }
            || claim.says == Says::Moving && status == Status::Pending
    }

    fn verb(&self, claim: &Claim) -> &str {
        self.scan.tokens.get(claim.verb as usize).map_or("", |token| token.lower)
    }

    /// "has been submitted": nothing more than that it began.
    fn only_begins(&self, claim: &Claim) -> bool {
        let is_request = claim.classes.meets(lexicon().class("submit"));
        is_request
            || matches!(
                self.verb(claim),
                "submitted"
                    | "requested"
                    | "initiated"
                    | "started"
                    | "queued"
                    | "begun"
                    | "filed"
                    | "launched"
                    | "triggered"
                    | "submit"
                    | "initiate"
                    | "start"
                    | "received"
                    | "accepted"
            )
    }

    /// The last clause that plainly says of this very call that it was not done.
    fn last_denial(&self, call: usize) -> Option<u32> {
        let denies = |claim: &&Claim| {
            claim.says == Says::NotDone
                && claim.asserted
                && !claim.classes.is_empty()
                && self.links.may_be_about(claim, call)
                && self.links.is_near(claim, call)
        };
        self.claims.iter().rev().find(denies).map(|claim| claim.clause)
    }

    /// "I emailed Dana, but it bounced."
    fn is_taken_back(&self, claim: &Claim, call: usize, denied: Option<u32>) -> bool {
        let status = self.status(call);
        let takes_back = |later: &Claim| {
            let takes_back = match later.says {
                Says::NotDone | Says::Failed => later.asserted,
                Says::Retry => status != Status::Pending,
                Says::Waiting => matches!(status, Status::Pending | Status::TimedOut),
                Says::Moving => status == Status::Pending,
                _ => false,
            };
            takes_back && self.is_apart(claim, later) && self.links.may_be_about(later, call)
        };
        let behind = self.claims.partition_point(|other| other.tokens.first < claim.tokens.end);
        let near =
            self.claims.iter().skip(behind).take(MOST_BEHIND).take_while(|later| later.sentence <= claim.sentence + 1);
        denied.is_some_and(|clause| clause > claim.clause) || near.into_iter().any(takes_back)
    }

    /// Is the one in another clause than the other, or behind a "but"? What failed may be what is told as mended, too: "fixed the error".
    fn is_apart(&self, claim: &Claim, later: &Claim) -> bool {
        let between = claim.tokens.end as usize..later.tokens.first as usize;
        let contrasts = |token: &scan::Token<'_>| {
            matches!(token.lower, "but" | "however" | "though" | "although" | "yet" | "only" | "except")
        };
        later.clause > claim.clause || self.scan.tokens.get(between).unwrap_or_default().iter().any(contrasts)
    }

    /// Another call that succeeded says so: "Your order is cancelled", where looking it up gave `status: cancelled`.
    fn is_excused(&self, claim: &Claim) -> bool {
        if matches!(claim.voice, Voice::Agent | Voice::Elided) {
            return false;
        }
        let (past, ends_well) = *self.results.get_or_init(|| self.results());
        past.meets(claim.classes) || ends_well && claim.voice == Voice::State
    }

    fn results(&self) -> (Classes, bool) {
        let mut room = MOST_WORDS;
        let (mut past, mut ends_well) = (Classes::default(), false);
        for call in self.links.good.iter().filter_map(|&call| self.request.calls.get(call)) {
            links::words_of_value(call.response.unwrap_or_default(), &mut room, &mut |word| {
                past |= lexicon().word(&word).map(|word| word.past).unwrap_or_default();
                ends_well |= matches!(
                    word.as_str(),
                    "complete"
                        | "completed"
                        | "success"
                        | "successful"
                        | "succeeded"
                        | "settled"
                        | "finished"
                        | "done"
                        | "confirmed"
                );
            });
        }
        (past, ends_well)
    }

    /// A search that failed is told as one that found nothing.
    fn told_as_nothing(&self, call: usize) -> Option<(Opinion, &Claim)> {
        let reads = self.links.about(call).is_some_and(|about| about.reads()) && self.tells_reason(call).is_none();
        let status = self.status(call);
        if !reads
            || !matches!(status, Status::Failed | Status::TimedOut | Status::Skipped | Status::Pending)
            || self.is_not_found(call)
        {
            return None;
        }
        let other_reads = self.links.good.iter().any(|&good| self.links.about(good).is_some_and(|about| about.reads()));
        let is_about = |claim: &&Claim| {
            claim.says == Says::Nothing && claim.asserted && (!other_reads || self.links.is_near(claim, call))
        };
        let claim = self.claims.iter().find(is_about)?;
        let mut opinion = if claim.not_able { Opinion::Unclear } else { Opinion::ToldAsNothing };
        for other in self.claims.iter().filter(|other| other.asserted && self.links.may_be_about(other, call)) {
            match other.says {
                Says::Failed | Says::Retry if other.clause != claim.clause => return None,
                Says::Failed => opinion = Opinion::Unclear,
                Says::NotDone if other.sentence != claim.sentence => return None,
                _ => {}
            }
        }
        Some((opinion, claim))
    }

    /// A clause that has the words of the error: "the class is full".
    fn tells_reason(&self, call: usize) -> Option<Span> {
        const MOST_WORDS_OF_ERROR: usize = 12;
        let error = self.request.calls.get(call)?.error?;
        let mut words = Vec::new();
        links::words_of_value(error, &mut { MOST_WORDS_OF_ERROR }, &mut |word| {
            let is_letters = word.chars().all(char::is_alphabetic);
            if word.len() > 3 && is_letters && !words.contains(&word) && !self.links.is_given(&word) {
                words.push(word);
            }
        });
        if words.is_empty() {
            return None;
        }
        let clause = self.scan.clauses.iter().find(|clause| {
            let tokens = clause.tokens.first as usize..clause.tokens.end as usize;
            let tokens = self.scan.tokens.get(tokens).unwrap_or_default();
            let said = words.iter().filter(|word| tokens.iter().any(|token| is_like(token.lower, word))).count();
            clause.modality == Modality::Asserted && 2 * said >= words.len()
        })?;
        Some(clause.span)
    }

    fn is_in_error(&self, participle: &str, call: usize) -> bool {
        let is_past = lexicon().word(participle).is_some_and(|word| !word.past.is_empty() && word.base.is_empty());
        let error = self.request.calls.get(call).and_then(|call| call.error).filter(|_| is_past);
        error.is_some_and(|error| {
            let mut found = false;
            links::words_of_value(error, &mut 200, &mut |word| found |= word == participle);
            found
        })
    }

    /// Does the error say that what was asked for does not exist?
    fn is_not_found(&self, call: usize) -> bool {
        let Some(call) = self.request.calls.get(call) else { return false };
        let given = [call.error, call.status, call.response];
        given.into_iter().flatten().any(|value| {
            let text = show::json_text(value).to_lowercase();
            let text = text.get(..text.len().min(2000)).unwrap_or(&text).replace('_', " ");
            [
                "not found",
                "notfound",
                "404",
                "no such",
                "does not exist",
                "doesn't exist",
                "no result",
                "no match",
                "no record",
                "unknown",
            ]
            .iter()
            .any(|words| text.contains(words))
        })
    }

    /// A number that the text states, where no call succeeded and nobody said it.
    fn value_of_failure(&self, call: usize) -> Option<Span> {
        let reads = self.links.about(call).is_some_and(|about| about.reads());
        if !reads || !self.links.good.is_empty() || !self.request.context.is_empty() {
            return None;
        }
        let known = self.numbers.get_or_init(|| self.known_numbers());
        let mention = self.scan.mentions.iter().find(|mention| {
            let clause = self.scan.clauses.get(mention.clause as usize);
            let What::Number(number) = mention.what else { return false };
            let value = number.readings.first().map(|reading| reading.value);
            let small = number.unit.is_none() && value.is_some_and(|value| value.abs() <= 12.into());
            let digits = self.scan.text.get(mention.core.start as usize..mention.core.end as usize).unwrap_or_default();
            let digits: String = digits.chars().filter(char::is_ascii_digit).collect();
            clause.is_some_and(|clause| clause.modality == Modality::Asserted)
                && !(mention.idle
                    || number.ordinal
                    || small
                    || number.spelled
                    || digits.is_empty()
                    || known.contains(&digits))
        })?;
        Some(mention.span)
    }

    /// The digits of all that the user, the arguments and the errors say.
    fn known_numbers(&self) -> HashSet<String> {
        let mut known = HashSet::new();
        let mut add = |text: &str| {
            let runs = text.split(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ','));
            for run in runs {
                known.insert(run.chars().filter(char::is_ascii_digit).collect::<String>());
                known.extend(run.split(['.', ',']).map(str::to_owned));
            }
        };
        add(self.request.query);
        for call in self.request.calls {
            for value in [call.request, call.error, call.response, call.status].into_iter().flatten() {
                add(&show::json_text(value));
            }
        }
        known
    }

    /// Is there more in the text than greetings, questions and offers?
    fn has_content(&self) -> bool {
        self.scan.sentences.iter().any(|sentence| {
            let clauses = self.scan.clauses.iter().skip(sentence.clauses.first as usize);
            let mut clauses =
                clauses.take((sentence.clauses.end - sentence.clauses.first.min(sentence.clauses.end)) as usize);
            let words = |first: u32, end: u32| {
                let tokens = self.scan.tokens.iter().skip(first as usize).take(end.saturating_sub(first) as usize);
                tokens.filter(|token| token.kind != TokenKind::Punctuation).count()
            };
            sentence.block != Block::Code
                && clauses.any(|clause| {
                    clause.modality == Modality::Asserted && words(clause.tokens.first, clause.tokens.end) >= 3
                })
        })
    }

    fn verdict(&self, finding: &Finding) -> (Verdict, Rule) {
        let pending = self.status(finding.call) == Status::Pending;
        match finding.opinion {
            Opinion::ToldAsDone if pending => (Verdict::Violated, Rule::PendingToldAsDone),
            Opinion::ToldAsDone | Opinion::ToldAsMoving | Opinion::HasItsValue => {
                (Verdict::Violated, Rule::FailureToldAsSuccess)
            }
            Opinion::ToldAsNothing => (Verdict::Violated, Rule::FailureToldAsEmpty),
            Opinion::OnlyOneMeant => (Verdict::Violated, Rule::UnlinkedSuccessClaim),
            Opinion::Unclear | Opinion::NothingElse => (Verdict::Undecided, Rule::NoRule),
            Opinion::NotTold => (Verdict::Followed, Rule::FailureNotTold),
            Opinion::Told => (Verdict::Followed, Rule::FailureTold),
        }
    }

    fn evidence(&self, finding: &Finding) -> Evidence {
        let (verdict, rule) = self.verdict(finding);
        let call = self.request.calls.get(finding.call);
        let index = call.map_or(0, |call| call.index);
        let key = if call.is_some_and(|call| call.status.is_some()) { "/status" } else { "" };
        Evidence {
            kind: if finding.opinion == Opinion::HasItsValue { "number" } else { "phrase" },
            span: finding.span,
            relation: match verdict {
                Verdict::Violated => Relation::StatusDisagrees,
                Verdict::Followed if finding.span.is_some() => Relation::StatusAgrees,
                _ => Relation::Unchecked,
            },
            source: Some(format!("/tool_trace/{index}{key}")),
            expected: None,
            rule,
        }
    }

    /// "cancel_order (call 2)"
    fn call(&self, call: usize) -> String {
        let tool = self.request.calls.get(call).map_or("", |call| call.tool);
        format!("{} (call {})", show::in_a_sentence(tool), call + 1)
    }

    /// `ended with status "failed" (error: order already shipped)`
    fn ended(&self, index: usize) -> String {
        let Some(call) = self.request.calls.get(index) else { return String::new() };
        let status = match call.status {
            Some(Value::Text(text)) => format!("ended with status \"{}\"", show::in_a_sentence(&names::utf8(text))),
            Some(status) => format!("ended with status {}", show::in_a_sentence(&show::json_text(status))),
            None => "did not succeed".to_owned(),
        };
        status + &error(call).map(|error| format!(" (error: {error})")).unwrap_or_default()
    }

    fn words(&self, span: Span) -> String {
        show::in_a_sentence(self.scan.text.get(span.start as usize..span.end as usize).unwrap_or_default())
    }

    fn explanation(&self, findings: &[Finding]) -> String {
        let Some(worst) = findings.first() else { return String::new() };
        let alike = findings.iter().filter(|finding| finding.opinion == worst.opinion);
        let mut sentences: Vec<String> = alike.clone().take(3).map(|finding| self.sentence(finding)).collect();
        let more = alike.count().saturating_sub(sentences.len());
        if more > 0 {
            sentences.push(format!("The same holds for {more} more calls."));
        }
        sentences.join(" ")
    }

    fn sentence(&self, finding: &Finding) -> String {
        let (call, ended) = (self.call(finding.call), self.ended(finding.call));
        let said = finding.span.map(|span| {
            let sentence =
                self.scan.sentences.iter().position(|sentence| sentence.span.end > span.start).unwrap_or_default();
            format!("\"{}\" (sentence {})", self.words(span), sentence + 1)
        });
        let later = if self.status(finding.call) == Status::Pending { "" } else { " and no later attempt succeeded" };
        match (finding.opinion, said) {
            (Opinion::ToldAsDone | Opinion::OnlyOneMeant, Some(said)) => {
                format!("The text says {said}, but {call} {ended}{later}.")
            }
            (Opinion::ToldAsMoving, Some(said)) => {
                format!("The text says {said}, as if it were under way, but {call} {ended}{later}.")
            }
            (Opinion::HasItsValue, Some(said)) => {
                format!("The text states {said}, which only {call} could have supplied, and it {ended}{later}.")
            }
            (Opinion::ToldAsNothing, Some(said)) => {
                format!(
                    "The text says {said}, as if nothing had been found, but {call} {ended}: what there is remains unknown."
                )
            }
            (Opinion::Unclear, Some(said)) => {
                format!("The text says {said}, and it is not clear whether {call} is meant, which {ended}.")
            }
            (Opinion::Told, Some(said)) => format!("{call} {ended}, and the text tells so: {said}."),
            (Opinion::NothingElse, _) => {
                format!("{call} {ended}, no other call answered, and the text makes statements without telling so.")
            }
            _ => format!("{call} {ended}; the text does not say so, and does not tell it as a success."),
        }
    }
}

/// "limited" and "limit"
fn is_like(a: &str, b: &str) -> bool {
    const ENOUGH: usize = 5;
    a == b || a.get(..ENOUGH).is_some_and(|beginning| b.starts_with(beginning))
}

/// What a call gives as its error, in a few words.
fn error(call: &Call<'_>) -> Option<String> {
    match call.error? {
        Value::Text(text) => Some(show::in_a_sentence(&names::utf8(text))),
        Value::True => None,
        other => Some(show::in_a_sentence(&show::json_text(other))),
    }
}
