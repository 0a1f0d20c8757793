//! Result fidelity: are the results of successful calls what the text says they are?
//!
//! Each mention of a value has its support (see [`support`]). What only the words around it tell is added here: that a value
//! stands for another thing than the one it belongs to ([`slots`], [`series`]), that its sign is lost ([`direction`]), that a count
//! is wrong ([`counts`]), that something is said to be the other way round ([`polarity`]), and that nothing of a result is told
//! ([`coverage`]).
//!
//! A sign that is sure by itself makes the check violated. One that is not (right value, other record) leaves it undecided,
//! and two of them make it violated.

mod arithmetic;
mod counts;
mod coverage;
mod direction;
mod explanation;
mod lexicon;
mod polarity;
mod ranking;
mod records;
mod series;
mod slots;
mod wording;

use std::cell::{Cell, OnceCell};

use bumpalo::Bump;

use self::{
    counts::Lists,
    coverage::Told,
    direction::Sign,
    lexicon::{Kind, Kinds, Meaning, lexicon},
    records::Records,
    series::Tables,
    slots::{Reader, Slots, Target},
    wording::Wording,
};
use super::{
    calibration::Rule,
    facts::{Facts, NO_CALL, Side, Step},
    report::{Check, Decision, Evidence, Relation, Verdict},
    request::Request,
    scan::{Block, Hedge, Mention, Modality, Negation, Number, Run, Scan, Span, TokenKind, Unit, What},
    settings::Settings,
    status::Outcome,
    support::{self, Mismatch, Support},
    units,
};
use crate::{show, value::Value};

/// So many numbers in the results that a number is found among them by chance.
const MANY_NUMBERS: usize = 200;
/// So many texts of results in the text are looked at more closely: whose state it is, and which end of a way.
const MOST_LITERALS: usize = 64;
/// With more dates than these, a date that follows from one of them is likely to be there as well.
const FEW_DATES: usize = 4;
/// So much of an id says which one it is.
const FEWEST_OF_AN_ID: usize = 4;
const LONGEST_ID: usize = 80;
/// So many leaves are looked at for an id that is a part of one.
const MOST_LEAVES: usize = 10_000;

/// Which calls are reflected in the text: a value of their response that is no echo is told there, or is an argument of a later call.
#[derive(Clone, Debug, Default)]
pub struct Reflected {
    pub told: Vec<bool>,
    pub passed_on: Vec<bool>,
}

/// What was found out about one place of the text.
#[derive(Clone, Debug)]
struct Finding {
    span: Option<Span>,
    kind: &'static str,
    relation: Relation,
    rule: Rule,
    strength: Strength,
    /// The leaf or the list that it was held against.
    leaf: Option<u32>,
    node: Option<u32>,
    /// Where the leaf is not what is right: the length of a list.
    expected: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    /// Says little by itself.
    Weak,
    Medium,
    /// Decides.
    Hard,
}

pub fn decide<'a>(
    request: &Request<'a>,
    scan: &Scan<'a>,
    facts: &Facts<'a>,
    outcomes: &[Outcome],
    settings: &Settings,
    bump: &'a Bump,
) -> (Decision, Reflected) {
    let mut calls = coverage::calls(request, facts, outcomes);
    let supports = support::of_all(scan, facts, bump);
    let findings = Judge::new(request, scan, facts, supports, settings).findings(&mut calls);
    let reflected = Reflected {
        told: calls.iter().map(|call| call.told).collect(),
        passed_on: calls.iter().map(|call| call.passed_on).collect(),
    };
    (decision(request, scan, facts, settings, &calls, findings), reflected)
}

/// All that findings are made of.
struct Judge<'j, 'a> {
    request: &'j Request<'a>,
    scan: &'j Scan<'a>,
    facts: &'j Facts<'a>,
    supports: &'j [Support<'a>],
    /// The leaves of responses of calls that did not fail.
    results: Vec<u32>,
    wording: Wording<'a>,
    slots: Slots,
    records: Records,
    tables: Tables,
    lists: Lists,
    /// Of each token.
    meanings: Vec<Meaning>,
    kinds: Vec<Kinds>,
    /// What is looked for once, where it is asked for: the only rank, and which facts a time may follow from.
    rank: OnceCell<Option<u32>>,
    times: OnceCell<Times>,
    /// What can be reckoned with; None if that is too much.
    operands: OnceCell<Option<Vec<arithmetic::Operand>>>,
}

/// Which facts of the results have to do with time: none, one, or more of each kind.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    durations: usize,
    dates: usize,
    times: usize,
}

impl<'j, 'a> Judge<'j, 'a> {
    fn new(
        request: &'j Request<'a>,
        scan: &'j Scan<'a>,
        facts: &'j Facts<'a>,
        supports: &'j [Support<'a>],
        settings: &Settings,
    ) -> Self {
        let is_result =
            |leaf: &super::facts::Leaf<'_>| leaf.side == Side::Response && !leaf.failed && leaf.call != NO_CALL;
        let results: Vec<u32> =
            (0..facts.leaves.len() as u32).filter(|&index| facts.leaf(index).is_some_and(is_result)).collect();
        let wording = Wording::new(scan);
        // What only numbers are held against is not made where there are none.
        let numbers = scan.mentions.iter().any(|mention| matches!(mention.what, What::Number(_) | What::Time(_)))
            || scan.tokens.iter().any(|token| lexicon().superlative(token.lower).is_some());
        let for_numbers: &[u32] = if numbers { &results } else { &[] };
        let said = scan.tokens.iter().map(|token| match token.kind {
            TokenKind::Word => lexicon().said(token.lower),
            _ => (Meaning::default(), lexicon().kinds(token.lower)),
        });
        let (meanings, kinds) = said.unzip();
        let failed: foldhash::HashSet<u32> =
            facts.leaves.iter().filter(|leaf| leaf.failed).map(|leaf| leaf.call).collect();
        Judge {
            slots: Slots::new(facts, for_numbers, &settings.key_aliases),
            records: Records::new(scan, facts, &results, &wording),
            tables: Tables::new(facts, for_numbers),
            lists: Lists::new(facts, &|call| failed.contains(&call)),
            meanings,
            kinds,
            rank: OnceCell::new(),
            times: OnceCell::new(),
            operands: OnceCell::new(),
            request,
            scan,
            facts,
            supports,
            results,
            wording,
        }
    }

    fn findings(&self, calls: &mut [Told]) -> Vec<Finding> {
        let reader = Reader {
            scan: self.scan,
            facts: self.facts,
            slots: &self.slots,
            records: &self.records,
            meanings: &self.meanings,
            kinds: &self.kinds,
            last_slot: Cell::new(None),
        };
        let mut findings = Vec::new();
        for (index, (mention, support)) in self.scan.mentions.iter().zip(self.supports).enumerate() {
            findings.push(self.of_mention(&reader, index as u32, mention, support));
        }
        for said in polarity::said(&reader, &self.results, &self.wording) {
            let other = if said.agrees { self.is_of_another_state(&reader, said.tokens, said.leaf) } else { None };
            let agrees = said.agrees && other.is_none();
            let span = self.span(said.tokens);
            // A phrase may be of two topics: it says one thing.
            if findings.last().is_some_and(|last| last.kind == "phrase" && last.span == span) {
                continue;
            }
            findings.push(Finding {
                span,
                kind: "phrase",
                relation: if agrees { Relation::Supported } else { Relation::Contradicted },
                rule: if agrees { Rule::AllSupported } else { Rule::ContradictedPolarity },
                // Where results say both, of different things, either may be meant.
                strength: if !said.agrees && self.differs_elsewhere(said.leaf) {
                    Strength::Medium
                } else {
                    Strength::Hard
                },
                leaf: other.or(Some(said.leaf)),
                node: None,
                expected: None,
            });
        }
        for (tokens, mention) in direction::wrong_trends(self.scan) {
            let leaf = match self.supports.get(mention as usize) {
                Some(Support::Supported(found)) => Some(found.leaf),
                _ => None,
            };
            findings.push(Finding {
                span: self.span(tokens),
                kind: "phrase",
                relation: Relation::Contradicted,
                rule: Rule::ContradictedSign,
                strength: Strength::Hard,
                leaf,
                node: None,
                expected: None,
            });
        }
        findings.extend(ranking::misranked(&reader).into_iter().map(|misranked| Finding {
            span: self.span(misranked.tokens),
            kind: "text",
            relation: Relation::Contradicted,
            rule: Rule::ContradictedSlot,
            strength: Strength::Hard,
            leaf: Some(misranked.leaf),
            node: None,
            expected: None,
        }));
        for finding in &findings {
            let told = matches!(finding.relation, Relation::Supported | Relation::Derived | Relation::Contradicted);
            let call = finding
                .leaf
                .and_then(|leaf| self.facts.leaf(leaf))
                .filter(|leaf| !leaf.echo && leaf.side == Side::Response)
                .map(|leaf| leaf.call)
                .or_else(|| finding.node.and_then(|node| self.facts.node(node)).map(|node| node.call));
            if let Some(call) = call.filter(|_| told).and_then(|call| calls.get_mut(call as usize)) {
                call.told = true;
            }
        }
        self.literals(&reader, calls, &mut findings);
        self.retold(calls, &mut findings);
        self.nothing(&reader, calls, &mut findings);
        self.ignored(calls, &mut findings);
        findings.sort_by_key(|finding| finding.span.map_or((u32::MAX, 0), |span| (span.start, span.end)));
        findings
    }

    /// Do results have another value under the same key?
    fn differs_elsewhere(&self, leaf: u32) -> bool {
        let Some(leaf) = self.facts.leaf(leaf) else { return false };
        // Under "value" there is another thing each time.
        if leaf.words.iter().all(|word| lexicon().is(word, Kind::Empty)) {
            return false;
        }
        let says_otherwise =
            |other: Value<'_>| matches!((leaf.value, other), (Value::True, Value::False) | (Value::False, Value::True));
        let others = self.results.iter().filter_map(|&other| self.facts.leaf(other));
        others
            .filter(|other| other.words == leaf.words)
            .any(|other| says_otherwise(other.value) || !other.text.is_empty() && other.text != leaf.text)
    }

    /// Texts of results that are in the answer word by word, where nothing else was found.
    fn literals(&self, reader: &Reader<'_, '_>, calls: &mut [Told], findings: &mut Vec<Finding>) {
        let taken = spans(findings);
        let mut end = 0;
        let mut looked_at = 0;
        for literal in coverage::literals(self.facts, &self.results, &self.wording, calls) {
            let Some(span) = self.span(literal.tokens) else { continue };
            let next = taken.partition_point(|taken| taken.end <= span.start);
            let free = taken.get(next).is_none_or(|taken| taken.start >= span.end) && span.start >= end;
            // "not cancelled, only delayed"
            let only = literal
                .tokens
                .first
                .checked_sub(1)
                .is_some_and(|index| matches!(reader.lower(index), "only" | "but" | "just"));
            let denied = !only
                && (literal.tokens.first..literal.tokens.end).any(|index| {
                    self.scan.tokens.get(index as usize).is_some_and(|token| token.negation != Negation::None)
                });
            if free && !denied {
                end = span.end;
                looked_at += 1;
                let look = looked_at <= MOST_LITERALS;
                let other = if look { self.is_of_another_state(reader, literal.tokens, literal.leaf) } else { None };
                let wrong = other.is_some() || look && self.is_the_wrong_end(&literal);
                findings.push(Finding {
                    span: Some(span),
                    kind: "text",
                    relation: if wrong { Relation::Contradicted } else { Relation::Supported },
                    rule: if wrong { Rule::ContradictedSlot } else { Rule::AllSupported },
                    strength: Strength::Hard,
                    leaf: Some(other.unwrap_or(literal.leaf)),
                    node: None,
                    expected: None,
                });
            }
        }
    }

    /// "from" before what results have as a destination and nothing else, "to" before what they have as an origin.
    fn is_the_wrong_end(&self, literal: &coverage::Literal) -> bool {
        let before = literal.tokens.first.checked_sub(1).and_then(|index| self.scan.tokens.get(index as usize));
        let (Some(before), Some(leaf)) = (before, self.facts.leaf(literal.leaf)) else { return false };
        let (right, wrong) = match before.lower {
            "from" => (Kind::From, Kind::To),
            "to" => (Kind::To, Kind::From),
            _ => return false,
        };
        let is = |words: &[&str], kind| words.iter().any(|word| lexicon().is(word, kind));
        is(leaf.words, wrong)
            && self
                .facts
                .leaves
                .iter()
                .filter(|other| other.text == leaf.text)
                .all(|other| is(other.words, wrong) && !is(other.words, right))
    }

    /// "S-102 has been delivered", where that is the state of another record, and this one's is something else.
    fn is_of_another_state(&self, reader: &Reader<'_, '_>, tokens: Run, leaf: u32) -> Option<u32> {
        let leaf = self.facts.leaf(leaf)?;
        if !leaf.words.iter().any(|word| lexicon().is(word, Kind::State)) {
            return None;
        }
        let same_key: Vec<u32> = self
            .results
            .iter()
            .copied()
            .filter(|&index| {
                self.facts.leaf(index).is_some_and(|other| other.words == leaf.words && !other.text.is_empty())
            })
            .collect();
        let differs =
            |index: &&u32| self.facts.leaf(**index).is_some_and(|other| !other.text.eq_ignore_ascii_case(leaf.text));
        // "All shipments have been delivered": one that was not is enough.
        if polarity::says_all(reader, tokens) {
            return same_key.iter().find(differs).copied();
        }
        let sentence = self.scan.tokens.get(tokens.first as usize)?.sentence;
        match reader.about(sentence, tokens, &same_key)?.as_ref() {
            [only] if same_key.len() > 1 => Some(*only).filter(|only| differs(&only)),
            _ => None,
        }
    }

    /// Sentences in the words of a long text of a result.
    fn retold(&self, calls: &mut [Told], findings: &mut Vec<Finding>) {
        let taken = spans(findings);
        for retold in coverage::retold(self.scan, self.facts, &self.results, &self.wording) {
            let Some(call) = self.facts.leaf(retold.leaf).and_then(|leaf| calls.get_mut(leaf.call as usize)) else {
                continue;
            };
            call.told = true;
            let span = self.span(retold.tokens);
            let free = span.is_some_and(|span| {
                let next = taken.partition_point(|taken| taken.end <= span.start);
                taken.get(next).is_none_or(|taken| taken.start >= span.end)
            });
            if free {
                findings.push(Finding {
                    span,
                    kind: "text",
                    relation: Relation::Supported,
                    rule: Rule::AllSupported,
                    strength: Strength::Medium,
                    leaf: Some(retold.leaf),
                    node: None,
                    expected: None,
                });
            }
        }
    }

    /// What is said to be empty: rightly, or of a list that has something.
    fn nothing(&self, reader: &Reader<'_, '_>, calls: &mut [Told], findings: &mut Vec<Finding>) {
        let list_told = match self.lists.top() {
            [node] => self.lists_told(*node, findings),
            _ => true,
        };
        for clause in self.scan.clauses.iter().filter(|clause| counts::says_nothing_is_there(reader, clause)) {
            let finding = |relation, rule, node, expected| Finding {
                span: Some(clause.span),
                kind: "phrase",
                relation,
                rule,
                strength: Strength::Hard,
                leaf: None,
                node,
                expected,
            };
            if let Some(call) = calls.iter_mut().find(|call| call.usable && call.empty && !call.told) {
                call.told = true;
                findings.push(finding(Relation::Supported, Rule::EmptyToldAsEmpty, None, None));
                return;
            }
            let full = match self.lists.top() {
                [node] => self.facts.node(*node).filter(|list| list.length > 0).map(|list| (*node, list.length)),
                _ => None,
            };
            if let Some((node, length)) = full
                && !list_told
                && counts::says_no_results(reader, clause, node)
            {
                findings.push(finding(
                    Relation::Contradicted,
                    Rule::ContradictedCount,
                    Some(node),
                    Some(length.to_string()),
                ));
                return;
            }
        }
    }

    /// Is something of this list told?
    fn lists_told(&self, list: u32, findings: &[Finding]) -> bool {
        let Some(leaves) = self.facts.node(list).map(|node| node.leaves) else { return true };
        findings.iter().any(|finding| {
            // A date is likely to be the one that was asked about.
            matches!(finding.relation, Relation::Supported | Relation::Derived)
                && finding.kind != "date"
                && (finding.node == Some(list) || finding.leaf.is_some_and(|leaf| leaves.0 <= leaf && leaf < leaves.1))
        })
    }

    /// A text that tells nothing of what came back, and says that it has no answer.
    fn ignored(&self, calls: &[Told], findings: &mut Vec<Finding>) {
        let ignored = |call: &&Told| call.usable && call.content && !call.told && !call.passed_on;
        let usable = calls.iter().filter(|call| call.usable && !call.passed_on);
        if usable.clone().count() == 0
            || usable.filter(ignored).count() != calls.iter().filter(|call| call.usable && !call.passed_on).count()
        {
            return;
        }
        let whole = || Some(Run { first: 0, end: self.scan.tokens.len() as u32 });
        let about_something_else = || {
            let asks = self.scan.clauses.iter().any(|clause| clause.modality == Modality::Question);
            (!asks && findings.is_empty() && coverage::is_about_something_else(self.request, self.facts, &self.wording))
                .then(whole)?
        };
        if let Some(tokens) = coverage::says_it_has_no_answer(self.scan).or_else(about_something_else) {
            let root = calls.iter().position(|call| ignored(&call)).and_then(|call| {
                self.facts.nodes.iter().position(|node| node.call as usize == call && node.side == Side::Response)
            });
            findings.push(Finding {
                span: self.span(tokens),
                kind: "result",
                relation: Relation::Contradicted,
                rule: Rule::IgnoredResult,
                strength: Strength::Hard,
                leaf: None,
                node: root.map(|root| root as u32),
                expected: None,
            });
        }
    }

    fn span(&self, tokens: Run) -> Option<Span> {
        let first = self.scan.tokens.get(tokens.first as usize)?;
        let last = self.scan.tokens.get(tokens.end.checked_sub(1)? as usize)?;
        Some(Span { start: first.span.start, end: last.span.end })
    }

    fn of_mention(&self, reader: &Reader<'_, '_>, index: u32, mention: &Mention<'_>, support: &Support<'_>) -> Finding {
        let finding = |relation, rule, strength, leaf| Finding {
            span: Some(mention.span),
            kind: mention.what.kind(),
            relation,
            rule,
            strength,
            leaf,
            node: None,
            expected: None,
        };
        let unchecked = finding(Relation::Unchecked, Rule::NoRule, Strength::Weak, None);
        let modality =
            self.scan.clauses.get(mention.clause as usize).map_or(Modality::Asserted, |clause| clause.modality);
        let code =
            self.scan.sentences.get(mention.sentence as usize).is_some_and(|sentence| sentence.block == Block::Code);
        if mention.idle || code {
            return unchecked;
        }
        // "It will arrive on Friday" tells a result, "I'll call on Friday" a plan.
        let asserted = match modality {
            Modality::Asserted | Modality::Reported => true,
            Modality::Future => !self.is_first_person(mention),
            // "You can call them on …": wherever an address stands, it is told.
            // So is what is allowed or needed: "receipts must be handed in within 14 days".
            Modality::Hypothetical | Modality::Imperative => {
                matches!(mention.what, What::Id(_) | What::Email(_) | What::Url(_))
                    || self.tells_a_rule(mention)
                    || self.is_reported(mention)
            }
            Modality::Question => false,
        };
        if let Some(counted) = self.lists.counted(reader, mention).filter(|_| asserted)
            && (counted.agrees || !self.is_a_told_count(support))
        {
            let (relation, rule) = match counted.agrees {
                true => (Relation::Derived, Rule::AllSupported),
                false => (Relation::Contradicted, Rule::ContradictedCount),
            };
            return Finding {
                node: Some(counted.node),
                expected: Some(counted.length.to_string()),
                ..finding(relation, rule, Strength::Hard, None)
            };
        }
        if asserted && let Some(contradicted) = self.misplaced(reader, index, mention, support) {
            return contradicted;
        }
        if asserted && self.is_another_rank(mention) {
            return finding(
                Relation::Contradicted,
                Rule::ContradictedSlot,
                Strength::Medium,
                self.rank.get().copied().flatten(),
            );
        }
        if asserted && let Some(leaf) = self.tables.wrong_date(reader, mention) {
            return finding(Relation::Contradicted, Rule::ContradictedSlot, Strength::Medium, Some(leaf));
        }
        match *support {
            Support::Supported(found) if found.sign_differs => {
                match direction::sign(mention, self.scan, self.facts, found.leaf) {
                    Sign::Contradicts if asserted && !is_spelled(mention) => {
                        finding(Relation::Contradicted, Rule::ContradictedSign, Strength::Hard, Some(found.leaf))
                    }
                    Sign::Agrees => finding(Relation::Supported, Rule::AllSupported, Strength::Hard, Some(found.leaf)),
                    _ => finding(Relation::Supported, Rule::AllSupported, Strength::Weak, Some(found.leaf)),
                }
            }
            Support::Supported(found) => {
                let strength = if found.weak { Strength::Medium } else { Strength::Hard };
                match direction::sign(mention, self.scan, self.facts, found.leaf) {
                    Sign::Contradicts if asserted && found.candidates.len() == 1 => {
                        finding(Relation::Contradicted, Rule::ContradictedSign, Strength::Hard, Some(found.leaf))
                    }
                    _ => finding(Relation::Supported, Rule::AllSupported, strength, Some(found.leaf)),
                }
            }
            Support::Derived { from, node, .. } => Finding {
                node,
                ..finding(Relation::Derived, Rule::AllSupported, Strength::Medium, from.first().copied())
            },
            Support::Echo(found) => finding(Relation::Echo, Rule::NoRule, Strength::Weak, Some(found.leaf)),
            Support::OfFailure(found) => finding(Relation::Echo, Rule::NoRule, Strength::Weak, Some(found.leaf)),
            Support::Mismatch { leaf, how } if asserted => {
                let rule = match how {
                    Mismatch::Unit | Mismatch::Currency | Mismatch::PercentScale => Rule::ContradictedUnit,
                    Mismatch::Weekday => Rule::ContradictedValue,
                };
                finding(Relation::Contradicted, rule, Strength::Hard, Some(leaf))
            }
            // "54:48" is no 54.
            Support::Unsupported { nearest } if asserted && reader.is_part_of_a_time(mention) => {
                finding(Relation::Unchecked, Rule::WeaklyUnsupported, Strength::Medium, nearest)
            }
            Support::Unsupported { .. }
                if asserted && (self.is_no_value(reader, mention) || self.is_part_of_an_id(mention)) =>
            {
                unchecked
            }
            Support::Unsupported { nearest } if asserted => match self.how_telling(mention) {
                Strength::Weak => finding(Relation::Unchecked, Rule::WeaklyUnsupported, Strength::Weak, nearest),
                Strength::Medium => finding(Relation::Unchecked, Rule::WeaklyUnsupported, Strength::Medium, nearest),
                Strength::Hard => finding(Relation::Unsupported, Rule::UnsupportedValue, Strength::Hard, nearest),
            },
            Support::Mismatch { .. } | Support::Unsupported { .. } | Support::Rhetoric | Support::Unchecked => {
                unchecked
            }
        }
    }

    /// "The customer writes: “…”" tells a result.
    fn is_reported(&self, mention: &Mention<'_>) -> bool {
        matches!(mention.what, What::Quote(_))
            && (mention.tokens.first.saturating_sub(4)..mention.tokens.first).any(|index| {
                self.scan.tokens.get(index as usize).is_some_and(|token| {
                    matches!(token.lower, "writes" | "wrote" | "says" | "said" | "reads" | "read" | "states" | "stated")
                })
            })
    }

    /// "e83b1f0" of a longer hash, "AB12" of "AB12CDE": a part of what a result says is not invented.
    fn is_part_of_an_id(&self, mention: &Mention<'_>) -> bool {
        let What::Id(id) = mention.what else { return false };
        id.len() >= FEWEST_OF_AN_ID
            && self.results.iter().take(MOST_LEAVES).any(|&leaf| {
                let text = self.facts.leaf(leaf).map_or("", |leaf| leaf.text);
                text.len() > id.len()
                    && text.len() <= LONGEST_ID
                    && text
                        .chars()
                        .filter(|c| c.is_alphanumeric())
                        .flat_map(char::to_lowercase)
                        .collect::<String>()
                        .contains(id)
            })
    }

    /// "in the week of 20 April"
    fn is_of_a_week(&self, mention: &Mention<'_>) -> bool {
        (mention.tokens.first.saturating_sub(4)..mention.tokens.first)
            .any(|index| self.scan.tokens.get(index as usize).is_some_and(|token| token.lower == "week"))
    }

    /// "CO2" where a key is called so, "out of 5".
    fn is_no_value(&self, reader: &Reader<'_, '_>, mention: &Mention<'_>) -> bool {
        let before = |distance: u32| {
            let index = mention.tokens.first.checked_sub(distance).map(|index| index as usize);
            index.and_then(|index| self.scan.tokens.get(index)).map_or("", |token| token.lower)
        };
        match mention.what {
            What::Id(id) => {
                let plain: String = id.chars().filter(|c| c.is_alphanumeric()).collect();
                self.slots.has_word(&plain)
            }
            // "4.4 out of 5" says nothing of five things.
            What::Number(_) => before(1) == "of" && before(2) == "out" && reader.counts_nothing(mention),
            _ => false,
        }
    }

    fn times(&self) -> Times {
        *self.times.get_or_init(|| {
            // When a record was made or changed is no date to count from.
            let told = |leaf: &u32| self.facts.leaf(*leaf).is_some_and(|leaf| !leaf.technical);
            let mut times = Times::default();
            for fact in self.results.iter().copied().filter(told).flat_map(|leaf| self.facts.facts_of(leaf)) {
                match fact.what {
                    What::Number(number) if is_of_time(&number) => times.durations += 1,
                    What::Moment(..) | What::Time(_) => times.times += 1,
                    What::Date(_) => times.dates += 1,
                    _ => {}
                }
            }
            times
        })
    }

    /// The only value of the results that is a rank.
    fn rank(&self) -> Option<u32> {
        let mut ranks = self.results.iter().copied().filter(|&leaf| {
            self.facts.leaf(leaf).is_some_and(|leaf| {
                matches!(leaf.words, ["rank" | "place" | "position" | "standing"])
                    && matches!(leaf.value, Value::Int(_))
            })
        });
        let only = ranks.next()?;
        ranks.next().is_none().then_some(only)
    }

    /// "2nd", where the rank is 3.
    fn is_another_rank(&self, mention: &Mention<'_>) -> bool {
        let What::Number(number) = mention.what else { return false };
        if !number.ordinal {
            return false;
        }
        let rank = self.rank.get_or_init(|| self.rank()).and_then(|leaf| self.facts.leaf(leaf));
        let Some(Value::Int(rank)) = rank.map(|leaf| leaf.value) else { return false };
        number.readings.iter().all(|told| told.value != rank.into())
    }

    /// "you can", "you may"
    fn is_advice(&self, mention: &Mention<'_>) -> bool {
        let Some(clause) = self.scan.clauses.get(mention.clause as usize) else { return false };
        clause.modality != Modality::Asserted
            && matches!(mention.what, What::Number(_) | What::Time(_))
            && (clause.tokens.first..mention.tokens.first).any(|index| {
                self.scan.tokens.get(index as usize).is_some_and(|token| matches!(token.lower, "can" | "may"))
            })
    }

    /// "must", "may", and nothing that makes it depend on something else.
    fn tells_a_rule(&self, mention: &Mention<'_>) -> bool {
        let Some(clause) = self.scan.clauses.get(mention.clause as usize) else { return false };
        let tokens = self.scan.tokens.get(clause.tokens.first as usize..clause.tokens.end as usize).unwrap_or_default();
        let has = |words: &[&str]| tokens.iter().any(|token| words.contains(&token.lower));
        has(&["must", "shall", "may", "can"])
            && !has(&["if", "would", "could", "might", "unless", "once", "when", "whether", "i", "we", "should", "let"])
    }

    fn is_first_person(&self, mention: &Mention<'_>) -> bool {
        let Some(clause) = self.scan.clauses.get(mention.clause as usize) else { return true };
        self.scan
            .tokens
            .get(clause.tokens.first as usize..clause.tokens.end as usize)
            .unwrap_or_default()
            .iter()
            .any(|token| matches!(token.lower, "i" | "we" | "let" | "me" | "us"))
    }

    /// How much it says that nothing has a value, where it may follow from two others.
    fn how_telling(&self, mention: &Mention<'_>) -> Strength {
        let strength = how_telling(mention);
        let follows = match mention.what {
            // A time may be another one plus a duration, and a duration lie between two dates or times.
            What::Time(_) => self.times().durations > 0,
            // And a date be another one plus some years or days.
            What::Date(date) | What::Moment(date, _) => {
                let times = self.times();
                date.day.is_some() && times.durations > 0 && times.dates <= FEW_DATES || self.is_of_a_week(mention)
            }
            What::Number(number) if is_of_time(&number) => {
                let times = self.times();
                match number.unit {
                    Some(Unit::Measure("second" | "minute" | "hour")) => times.times > 1,
                    _ => times.times + times.dates > 0,
                }
            }
            _ => false,
        };
        match () {
            () if self.is_reported(mention) || self.is_loose(mention) => Strength::Medium,
            // "You can try again in 5 minutes" may be no more than advice.
            () if follows || self.is_advice(mention) || self.might_be_worked_out(mention) => {
                strength.min(Strength::Medium)
            }
            () => strength,
        }
    }

    /// "two thirds", "four and a half years", "midnight": in words, and seldom to the point.
    fn is_loose(&self, mention: &Mention<'_>) -> bool {
        match mention.what {
            What::Number(number) => {
                number.spelled && number.readings.first().is_some_and(|told| !told.value.fract().is_zero())
            }
            What::Time(_) => {
                let written = self.scan.text.get(mention.span.start as usize..mention.span.end as usize);
                written.is_some_and(|written| !written.contains(|c: char| c.is_numeric()))
            }
            _ => false,
        }
    }

    fn might_be_worked_out(&self, mention: &Mention<'_>) -> bool {
        let operands = self.operands.get_or_init(|| arithmetic::operands(self.facts));
        operands.as_ref().is_some_and(|operands| arithmetic::might_give(mention, self.scan, operands))
    }

    /// The number is under a key that counts ("total": 57).
    fn is_a_told_count(&self, support: &Support<'_>) -> bool {
        let Support::Supported(found) = support else { return false };
        found.candidates.iter().any(|&leaf| {
            self.facts.leaf(leaf).is_some_and(|leaf| {
                leaf.words.iter().any(|word| {
                    matches!(
                        *word,
                        "total"
                            | "count"
                            | "num"
                            | "number"
                            | "found"
                            | "matches"
                            | "matched"
                            | "hits"
                            | "size"
                            | "results"
                            | "n"
                    )
                })
            })
        })
    }

    /// A number that is not what the results have where its words and its sentence put it.
    fn misplaced(
        &self,
        reader: &Reader<'_, '_>,
        index: u32,
        mention: &Mention<'_>,
        support: &Support<'_>,
    ) -> Option<Finding> {
        let What::Number(number) = mention.what else { return self.misplaced_time(reader, mention, support) };
        let finding = |leaf, strength| Finding {
            span: Some(mention.span),
            kind: mention.what.kind(),
            relation: Relation::Contradicted,
            rule: Rule::ContradictedSlot,
            strength,
            leaf: Some(leaf),
            node: None,
            expected: None,
        };
        let (said_by, more) = match support {
            Support::Supported(found) => (found.candidates, found.more),
            _ => (&[][..], false),
        };
        if !self.tables.is_empty()
            && !reader.is_a_change(mention)
            && let Some(found) = self.tables.contradiction(reader, index, mention, said_by)
        {
            let date = found.date.and_then(|date| self.scan.mentions.get(date as usize));
            let span = date.map_or(mention.span, |date| Span {
                start: mention.span.start.min(date.span.start),
                end: mention.span.end.max(date.span.end),
            });
            let expected = found.mean.map(|mean| mean.to_string());
            // What goes with a date that is one row's leaves no choice either.
            let strength = if said_by.is_empty() || found.sure { Strength::Hard } else { Strength::Medium };
            return Some(Finding { span: Some(span), expected, ..finding(found.leaf, strength) });
        }
        // What the user or an argument says is told of what they said it of.
        if number.ordinal
            || number.range
            || mention.hedge != Hedge::None
            || matches!(support, Support::Derived { .. } | Support::Echo(_) | Support::Rhetoric)
        {
            return None;
        }
        let Some((slot, _)) = reader.slot(mention) else {
            return self
                .of_another(reader, mention, support)
                .map(|leaf| finding(leaf, if reader.names_one(mention) { Strength::Hard } else { Strength::Medium }));
        };
        let slot = self.slots.slots.get(slot as usize)?;
        // "On slide 27", where 27 is one of a list of slides, and another key counts them.
        if let Support::Supported(found) = support
            && found
                .candidates
                .iter()
                .any(|&leaf| self.facts.leaf(leaf).is_some_and(|leaf| matches!(leaf.key, Step::Index(_)) && !leaf.cell))
        {
            return None;
        }
        // What says it under a key much like this one ("prices/economy" for "price") may be meant as well.
        if let Support::Supported(found) = support
            && reader.has_one_like(found.candidates, slot)
        {
            return None;
        }
        let half = number.unit.is_none() && reader.is_one_of_a_pair(mention);
        if half || reader.is_of_a_group(mention, slot) || reader.is_a_change(mention) {
            return None;
        }
        let agrees = |leaf: &u32| {
            matches!(support, Support::Supported(found) if found.candidates.contains(leaf))
                || self.facts.facts_of(*leaf).iter().any(|fact| support::agrees(mention, self.facts, fact).is_some())
        };
        match reader.target(mention, slot)? {
            Target::One(leaf) if !agrees(&leaf) && !reader.has_an_unknown_unit(mention, slot, leaf) => {
                // It is sure where there is no other such value, or where nothing has the number that is told.
                let nowhere = matches!(support, Support::Unsupported { .. }) && how_telling(mention) == Strength::Hard;
                let sure = slot.leaves.len() == 1 || nowhere || reader.names_one(mention);
                Some(finding(leaf, if sure { Strength::Hard } else { Strength::Medium }))
            }
            // All that say the number are known, and none of these is among them.
            Target::Any(leaves)
                if !more && !said_by.is_empty() && !said_by.iter().any(|leaf| leaves.binary_search(leaf).is_ok()) =>
            {
                let first = *leaves.first()?;
                (!reader.has_an_unknown_unit(mention, slot, first)).then(|| finding(first, Strength::Medium))
            }
            _ => None,
        }
    }
}

impl Judge<'_, '_> {
    /// "Standup starts at 14:00", where that is when another event does.
    fn misplaced_time(&self, reader: &Reader<'_, '_>, mention: &Mention<'_>, support: &Support<'_>) -> Option<Finding> {
        let (What::Time(_), Support::Supported(found)) = (mention.what, support) else { return None };
        let (slot, _) = reader.slot(mention)?;
        let slot = self.slots.slots.get(slot as usize)?;
        let Target::One(leaf) = reader.target(mention, slot)? else { return None };
        let others = !found.more
            && found.candidates.iter().all(|other| *other != leaf && slot.leaves.binary_search(other).is_ok());
        let agrees = self.facts.facts_of(leaf).iter().any(|fact| support::agrees(mention, self.facts, fact).is_some());
        (others && !agrees && mention.hedge == Hedge::None).then(|| Finding {
            span: Some(mention.span),
            kind: mention.what.kind(),
            relation: Relation::Contradicted,
            rule: Rule::ContradictedSlot,
            strength: if reader.names_one(mention) { Strength::Hard } else { Strength::Medium },
            leaf: Some(leaf),
            node: None,
            expected: None,
        })
    }

    /// A number without a word for what it is, told of one record, that another record has under the same key.
    fn of_another(&self, reader: &Reader<'_, '_>, mention: &Mention<'_>, support: &Support<'_>) -> Option<u32> {
        let Support::Supported(found) = support else { return None };
        let leaf = reader.only_number(mention)?;
        let words = self.facts.leaf(leaf)?.words;
        let others = !found.more
            && found
                .candidates
                .iter()
                .all(|&other| other != leaf && self.facts.leaf(other).is_some_and(|other| other.words == words));
        (others && !reader.is_a_change(mention)).then_some(leaf)
    }
}

/// "The clocks go back one hour": whoever writes numbers as words says their sign in words, too many to know.
fn is_spelled(mention: &Mention<'_>) -> bool {
    matches!(mention.what, What::Number(number) if number.spelled)
}

fn is_of_time(number: &Number<'_>) -> bool {
    number.unit.is_some_and(|unit| units::dimension(unit) == "time")
}

/// How much it says that nothing has a value.
fn how_telling(mention: &Mention<'_>) -> Strength {
    match mention.what {
        What::Id(_) | What::Email(_) | What::Url(_) => Strength::Hard,
        What::Number(number) => {
            let Some(told) = number.readings.first() else { return Strength::Weak };
            let small = told.value.abs() <= rust_decimal::Decimal::TEN && told.value.scale() == 0;
            let plain = number.unit.is_none() && small;
            match () {
                () if number.ordinal || mention.hedge == Hedge::About && small => Strength::Weak,
                () if plain && number.spelled => Strength::Weak,
                () if plain => Strength::Medium,
                () => Strength::Hard,
            }
        }
        What::Date(date) if date.day.is_some() && date.month.is_some() => Strength::Hard,
        What::Date(date) if date.year.is_some() && date.month.is_some() => Strength::Hard,
        What::Moment(..) => Strength::Hard,
        What::Time(time) if time.minute.is_some() => Strength::Hard,
        What::Date(_) | What::Time(_) => Strength::Medium,
        What::Quote(_) => Strength::Weak,
    }
}

/// Where findings stand, in order.
fn spans(findings: &[Finding]) -> Vec<Span> {
    let mut spans: Vec<Span> = findings.iter().filter_map(|finding| finding.span).collect();
    spans.sort_unstable();
    spans
}

fn decision(
    request: &Request<'_>,
    scan: &Scan<'_>,
    facts: &Facts<'_>,
    settings: &Settings,
    calls: &[Told],
    findings: Vec<Finding>,
) -> Decision {
    let (verdict, rule) = verdict(scan, facts, calls, &findings);
    let mut decision = Decision::new(Check::ResultFidelity, verdict, rule);
    for finding in &findings {
        let flagged = matches!(finding.relation, Relation::Unsupported | Relation::Contradicted);
        if flagged && !decision.rules.contains(&finding.rule) {
            decision.rules.push(finding.rule);
        }
    }
    if settings.wants_explanation(verdict) {
        decision.explanation = explanation::write(request, scan, facts, calls, &findings, verdict, rule);
    }
    decision.evidence = findings.iter().map(|finding| evidence(facts, finding)).collect();
    decision
}

fn verdict(scan: &Scan<'_>, facts: &Facts<'_>, calls: &[Told], findings: &[Finding]) -> (Verdict, Rule) {
    if !calls.iter().any(|call| call.usable) {
        return (Verdict::Vacuous, Rule::NothingToCheck);
    }
    let flags =
        || findings.iter().filter(|finding| matches!(finding.relation, Relation::Unsupported | Relation::Contradicted));
    let hard = || flags().filter(|finding| finding.strength == Strength::Hard);
    if let Some(first) = hard().next() {
        // What contradicts a result says more than what is in none.
        let telling = hard().find(|finding| finding.relation == Relation::Contradicted).unwrap_or(first);
        let rule = match telling.rule {
            Rule::UnsupportedValue if hard().count() > 1 => Rule::SeveralUnsupportedValues,
            rule => rule,
        };
        return (Verdict::Violated, rule);
    }
    match flags().count() {
        0 => {}
        1 => return (Verdict::Undecided, flags().next().map_or(Rule::NoRule, |finding| finding.rule)),
        _ => return (Verdict::Violated, Rule::ContradictedSlot),
    }
    if findings.iter().any(|finding| finding.rule == Rule::WeaklyUnsupported && finding.strength == Strength::Medium) {
        return (Verdict::Undecided, Rule::WeaklyUnsupported);
    }
    let supported = || {
        findings.iter().filter(|finding| {
            matches!(finding.relation, Relation::Supported | Relation::Derived) && finding.strength > Strength::Weak
        })
    };
    if supported().next().is_some() {
        let empty = supported().all(|finding| finding.rule == Rule::EmptyToldAsEmpty);
        let numbers =
            facts.facts.iter().take(MANY_NUMBERS * 4).filter(|fact| matches!(fact.what, What::Number(_))).count();
        let only_numbers = supported().all(|finding| matches!(finding.kind, "number" | "quantity" | "percent"));
        let rule = match () {
            () if empty => Rule::EmptyToldAsEmpty,
            () if only_numbers && numbers > MANY_NUMBERS => Rule::FoundAmongMany,
            () => Rule::AllSupported,
        };
        return (Verdict::Followed, rule);
    }
    // Nothing came back but what the user and the arguments say already, and that is told.
    let told = calls.iter().all(|call| !call.usable || call.told || call.passed_on || !(call.content || call.empty));
    if told && findings.iter().any(|finding| finding.relation == Relation::Echo && finding.leaf.is_some()) {
        return (Verdict::Followed, Rule::AllSupported);
    }
    let nothing_to_tell = !calls.iter().any(|call| call.usable && (call.content || call.empty));
    if nothing_to_tell && findings.is_empty() || scan.tokens.is_empty() {
        return (Verdict::Vacuous, Rule::NothingToCheck);
    }
    (Verdict::Undecided, Rule::NoRule)
}

fn evidence(facts: &Facts<'_>, finding: &Finding) -> Evidence {
    let source = match (finding.leaf, finding.node) {
        (Some(leaf), _) => facts.pointer(leaf),
        (None, Some(node)) => facts.pointer_to_node(node),
        (None, None) => None,
    };
    let wrong = finding.relation == Relation::Contradicted;
    let expected =
        finding.expected.clone().or_else(|| finding.leaf.filter(|_| wrong).and_then(|leaf| right(facts, leaf)));
    Evidence {
        kind: finding.kind,
        span: finding.span,
        relation: finding.relation,
        source,
        expected,
        rule: finding.rule,
    }
}

/// The value of a leaf as JSON text, if it is short.
fn right(facts: &Facts<'_>, leaf: u32) -> Option<String> {
    let leaf = facts.leaf(leaf)?;
    let value = match leaf.value {
        // A cell's value is what stands in it.
        Value::Text(_) => Value::Text(leaf.text.trim().into()),
        value => value,
    };
    (leaf.text.len() < 200).then(|| show::json_text(value))
}

#[cfg(test)]
mod tests;
