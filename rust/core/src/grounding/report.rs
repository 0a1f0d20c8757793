//! What a check found, as data, and the one definition of how an answer looks. A report owns all that it says.

use bumpalo::{Bump, collections::Vec as ArenaVec};

use super::{
    calibration::{Row, Rule},
    request::Request,
    scan::{Scan, Span},
    settings::Settings,
};
use crate::{
    json,
    text::Text,
    value::{MAX_RECORD_DEPTH, Member, Value},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    ToolRelevance,
    ResultFidelity,
    StatusConsistency,
    NoHallucination,
}

impl Check {
    /// In the order in which they are reported.
    pub const ALL: [Check; 4] =
        [Check::ToolRelevance, Check::ResultFidelity, Check::StatusConsistency, Check::NoHallucination];

    pub fn word(self) -> &'static str {
        match self {
            Check::ToolRelevance => "tool_relevance",
            Check::ResultFidelity => "result_fidelity",
            Check::StatusConsistency => "status_consistency",
            Check::NoHallucination => "no_hallucination",
        }
    }

    /// What is asked of the answer.
    pub fn instruction(self) -> &'static str {
        match self {
            Check::ToolRelevance => "Call only tools that fit what the user asked for.",
            Check::ResultFidelity => "State the results of successful tool calls as the tools returned them.",
            Check::StatusConsistency => {
                "Tell of a tool call that failed or has not finished as what it is, never as a success."
            }
            Check::NoHallucination => "Claim no tool and no action that is not in the tool trace.",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Followed,
    Violated,
    /// No rule decides it.
    Undecided,
    /// There was nothing that could have been violated.
    Vacuous,
}

impl Verdict {
    pub const ALL: [Verdict; 4] = [Verdict::Followed, Verdict::Violated, Verdict::Undecided, Verdict::Vacuous];

    pub fn word(self) -> &'static str {
        match self {
            Verdict::Followed => "followed",
            Verdict::Violated => "violated",
            Verdict::Undecided => "undecided",
            Verdict::Vacuous => "vacuous",
        }
    }

    /// Was the instruction followed? None: no rule knows.
    pub fn label(self) -> Option<bool> {
        match self {
            Verdict::Followed | Verdict::Vacuous => Some(true),
            Verdict::Violated => Some(false),
            Verdict::Undecided => None,
        }
    }

    /// What an explanation begins with.
    fn opening(self) -> &'static str {
        match self {
            Verdict::Followed => "Followed: ",
            Verdict::Violated => "Violated: ",
            Verdict::Undecided => "Undecided: ",
            Verdict::Vacuous => "Nothing to check: ",
        }
    }
}

/// What a check decided. Its probability is that of its `rule` in the calibration, unless it has one of its own.
#[derive(Clone, Debug)]
pub struct Decision {
    pub check: Check,
    pub verdict: Verdict,
    /// What decided.
    pub rule: Rule,
    /// All rules that fired, the deciding one first, each once.
    pub rules: Vec<Rule>,
    /// A probability finer than that of the rule (the relevance of a tool has one).
    pub probability: Option<f64>,
    /// In the order of the text; what has no place in it at the end.
    pub evidence: Vec<Evidence>,
    /// What was not decided by, and may matter: `failure_not_disclosed`, … in words.
    pub notes: Vec<String>,
    /// One sentence or a few, without the leading verdict ("Violated: ") and ending in a full stop; "" unless it is wanted
    /// ([`Settings::wants_explanation`]).
    pub explanation: String,
}

/// One thing in the text (or missing in it), and what it was held against.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// number, money, percent, quantity, date, time, id, email, url, quote, phrase (of polarity, of status), tool, action, result …
    pub kind: &'static str,
    /// Where in the text it stands; None for what is missing in it.
    pub span: Option<Span>,
    pub relation: Relation,
    /// What it was held against: an RFC 6901 JSON pointer into the request (`/tool_trace/0/response_payload/temp_c`, `/user_query`).
    pub source: Option<String>,
    /// The right value, where there is one, as JSON text.
    pub expected: Option<String>,
    pub rule: Rule,
}

/// `Unsupported` and `Contradicted` are what the score of evaluations counts as flags: only a mention of a value or a phrase that result
/// fidelity holds to be wrong may have them. The other checks use the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// A result says the same, exactly or rounded or in another form.
    Supported,
    /// Worked out of results: a sum, a count, a converted unit.
    Derived,
    /// The user, an argument of a call or the context says it.
    Echo,
    /// Nothing says it.
    Unsupported,
    /// A result says otherwise.
    Contradicted,
    /// Not looked at any further, or more than one thing could be meant.
    Unchecked,
    /// A claim about a call that the call's status agrees with, and one that it does not agree with.
    StatusAgrees,
    StatusDisagrees,
    /// A tool or action that was called, and one that was not.
    Called,
    NeverCalled,
}

impl Relation {
    pub const ALL: [Relation; 10] = [
        Relation::Supported,
        Relation::Derived,
        Relation::Echo,
        Relation::Unsupported,
        Relation::Contradicted,
        Relation::Unchecked,
        Relation::StatusAgrees,
        Relation::StatusDisagrees,
        Relation::Called,
        Relation::NeverCalled,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Relation::Supported => "supported",
            Relation::Derived => "derived",
            Relation::Echo => "echo",
            Relation::Unsupported => "unsupported",
            Relation::Contradicted => "contradicted",
            Relation::Unchecked => "unchecked",
            Relation::StatusAgrees => "status_agrees",
            Relation::StatusDisagrees => "status_disagrees",
            Relation::Called => "called",
            Relation::NeverCalled => "never_called",
        }
    }
}

/// Of all that is checked.
#[derive(Clone, Debug)]
pub struct Report {
    /// Tool relevance, result fidelity, status consistency, no hallucination.
    pub decisions: [Decision; 4],
    /// What is said of each decision beside what decided it.
    pub told: [Told; 4],
    pub coverage: Coverage,
    pub notes: Vec<String>,
}

/// How likely the instruction was followed, and why that is thought.
#[derive(Clone, Debug)]
pub struct Told {
    pub probability: f64,
    /// The row of the calibration; None where nothing is decided.
    pub basis: Option<Row>,
    /// With its verdict; "" if it isn't asked for.
    pub explanation: String,
    /// Of each piece of evidence; None if it has no place in the text.
    pub places: Vec<Option<Place>>,
}

/// A part of the text, in code points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub text: String,
    pub start: usize,
    pub end: usize,
    /// The number of the sentence, from 1 on, as people count.
    pub sentence: Option<usize>,
}

/// How much of the text rules could look at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Coverage {
    pub sentences: usize,
    /// Sentences in which nothing could be checked.
    pub unchecked_sentences: usize,
    pub mentions: usize,
    pub supported: usize,
    pub unsupported: usize,
    pub contradicted: usize,
}

/// Of probabilities with their verdicts: the lowest of those that are decided, and which it is (the first of several); None
/// if none is decided. What is vacuous is decided: nothing could be violated, and its probability is 1.
pub fn score(all: &[(Verdict, f64)]) -> Option<(f64, usize)> {
    let decided = all.iter().enumerate().filter(|(_, (verdict, _))| *verdict != Verdict::Undecided);
    decided.map(|(index, &(_, probability))| (probability, index)).reduce(|a, b| if b.0 < a.0 { b } else { a })
}

/// The score that counts what is undecided as violated.
pub fn score_floor(all: &[(Verdict, f64)]) -> f64 {
    let floor =
        |&(verdict, probability): &(Verdict, f64)| if verdict == Verdict::Undecided { 0.0 } else { probability };
    all.iter().map(floor).fold(1.0, f64::min)
}

impl Report {
    pub fn new(request: &Request<'_>, scan: &Scan<'_>, decisions: [Decision; 4], settings: &Settings) -> Self {
        let points = CodePoints::new(request.text, &decisions);
        let told = decisions.each_ref().map(|decision| {
            let row = settings.calibration.row(decision.rule);
            let probability = match decision.verdict {
                Verdict::Undecided => 0.5,
                Verdict::Vacuous => 1.0,
                _ => decision.probability.unwrap_or_else(|| settings.calibration.probability(decision.rule)),
            };
            let basis = row.filter(|_| decision.verdict != Verdict::Undecided).cloned();
            let explanation = if settings.explains(decision.verdict) {
                let meaning = row.map_or("", |row| &row.meaning);
                explained(decision, meaning)
            } else {
                String::new()
            };
            let places = decision.evidence.iter().map(|evidence| points.place(evidence.span?, scan)).collect();
            Told { probability, basis, explanation, places }
        });
        let coverage = Coverage::of(scan, &decisions);
        Report { decisions, told, coverage, notes: request.notes.clone() }
    }

    /// The verdict and the probability of each instruction.
    pub fn probabilities(&self) -> [(Verdict, f64); 4] {
        let mut all = [(Verdict::Undecided, 0.5); 4];
        for (slot, (decision, told)) in all.iter_mut().zip(self.decisions.iter().zip(&self.told)) {
            *slot = (decision.verdict, told.probability);
        }
        all
    }

    /// The whole in a sentence: why the worst violation is one, or what was decided.
    pub fn reason(&self) -> String {
        let both = self.decisions.iter().zip(&self.told);
        let violated = both.filter(|(decision, _)| decision.verdict == Verdict::Violated);
        let worst = violated.reduce(|a, b| if b.1.probability < a.1.probability { b } else { a });
        if let Some((decision, told)) = worst {
            return explained(decision, told.basis.as_ref().map_or("", |basis| &basis.meaning));
        }
        let of = |verdict: Verdict| {
            let found = self.decisions.iter().filter(move |decision| decision.verdict == verdict);
            found.map(|decision| decision.check.word()).collect::<Vec<_>>()
        };
        let mut parts = vec![format!("{} of 4 instructions followed", of(Verdict::Followed).len())];
        for (verdict, said) in [(Verdict::Vacuous, "nothing to check for"), (Verdict::Undecided, "undecided")] {
            let checks = of(verdict);
            if !checks.is_empty() {
                parts.push(format!("{said} {}", checks.join(", ")));
            }
        }
        format!("{}.", parts.join("; "))
    }

    /// The answer, in AIMon's shape with more keys.
    pub fn value<'a>(&'a self, bump: &'a Bump) -> Value<'a> {
        let all = self.probabilities();
        let score = score(&all);
        let basis = score.and_then(|(_, index)| self.decisions.get(index)).map(|decision| decision.check.word());
        let instructions = self.decisions.iter().zip(&self.told);
        let instructions = list(bump, instructions.map(|(decision, told)| instruction(decision, told, bump)));
        let write = Write { bump };
        write.object(&[
            ("score", score.map_or(Value::Null, |(score, _)| Value::Float(score))),
            ("score_floor", Value::Float(score_floor(&all))),
            ("score_basis", basis.map_or(Value::Null, text)),
            ("reason", write.owned(&self.reason())),
            ("instructions_list", instructions),
            ("coverage", self.coverage.value(bump)),
            ("notes", texts(bump, &self.notes)),
            ("model_used", Value::False),
            ("version", text(env!("CARGO_PKG_VERSION"))),
        ])
    }

    /// The evidence for all instructions as one list, each with the id of its instruction.
    pub fn evidence<'a>(&'a self, bump: &'a Bump) -> Value<'a> {
        let both = self.decisions.iter().zip(&self.told);
        let all = both
            .flat_map(|(decision, told)| decision.evidence.iter().zip(&told.places).map(move |pair| (decision, pair)));
        list(bump, all.map(|(decision, (evidence, place))| write_evidence(evidence, place, Some(decision.check), bump)))
    }
}

/// With the verdict first. Where the check says nothing, what the rule means does.
fn explained(decision: &Decision, meaning: &str) -> String {
    let said = if decision.explanation.is_empty() { meaning } else { &decision.explanation };
    format!("{}{said}", decision.verdict.opening())
}

fn instruction<'a>(decision: &'a Decision, told: &'a Told, bump: &'a Bump) -> Value<'a> {
    let write = Write { bump };
    let basis = told.basis.as_ref().map_or(Value::Null, |basis| {
        write.object(&[
            ("rule", text(basis.rule.word())),
            ("followed", number(basis.followed)),
            ("n", number(basis.n)),
            ("source", text(&basis.source)),
            ("assumed", flag(basis.assumed)),
        ])
    });
    let pairs = decision.evidence.iter().zip(&told.places);
    write.object(&[
        ("instruction", text(decision.check.instruction())),
        ("label", decision.verdict.label().map_or(Value::Null, flag)),
        ("follow_probability", Value::Float(told.probability)),
        ("explanation", text(&told.explanation)),
        ("id", text(decision.check.word())),
        ("verdict", text(decision.verdict.word())),
        ("decided_by", text(if decision.verdict == Verdict::Undecided { "none" } else { "rules" })),
        ("rules", list(bump, decision.rules.iter().map(|rule| text(rule.word())))),
        ("probability_basis", basis),
        ("evidence", list(bump, pairs.map(|(evidence, place)| write_evidence(evidence, place, None, bump)))),
        ("notes", texts(bump, &decision.notes)),
    ])
}

fn write_evidence<'a>(
    evidence: &'a Evidence,
    place: &'a Option<Place>,
    check: Option<Check>,
    bump: &'a Bump,
) -> Value<'a> {
    let write = Write { bump };
    let expected = evidence.expected.as_ref().map_or(Value::Null, |json| {
        json::parse(json.as_bytes(), MAX_RECORD_DEPTH / 2, bump).unwrap_or_else(|_| text(json))
    });
    let place = |of: &dyn Fn(&'a Place) -> Value<'a>| place.as_ref().map_or(Value::Null, of);
    let members = [
        ("instruction", check.map_or(Value::Null, |check| text(check.word()))),
        ("kind", text(evidence.kind)),
        ("text", place(&|place| text(&place.text))),
        ("start", place(&|place| count(place.start))),
        ("end", place(&|place| count(place.end))),
        ("sentence", place(&|place| place.sentence.map_or(Value::Null, count))),
        ("relation", text(evidence.relation.word())),
        ("source", evidence.source.as_deref().map_or(Value::Null, text)),
        ("expected", expected),
        ("rule", text(evidence.rule.word())),
    ];
    write.object(members.get(usize::from(check.is_none())..).unwrap_or_default())
}

#[derive(Clone, Copy)]
struct Write<'a> {
    bump: &'a Bump,
}

impl<'a> Write<'a> {
    fn object(self, members: &[(&'static str, Value<'a>)]) -> Value<'a> {
        let members = members.iter().map(|&(key, value)| Member { key: Text::from(key), value });
        Value::Object(self.bump.alloc_slice_fill_iter(members))
    }

    fn owned(self, said: &str) -> Value<'a> {
        text(self.bump.alloc_str(said))
    }
}

fn text(text: &str) -> Value<'_> {
    Value::Text(Text::from(text))
}

fn texts<'a>(bump: &'a Bump, all: &'a [String]) -> Value<'a> {
    list(bump, all.iter().map(|one| text(one)))
}

fn list<'a>(bump: &'a Bump, items: impl Iterator<Item = Value<'a>>) -> Value<'a> {
    let mut all = ArenaVec::new_in(bump);
    all.extend(items);
    Value::Array(all.into_bump_slice())
}

fn flag<'a>(is: bool) -> Value<'a> {
    if is { Value::True } else { Value::False }
}

fn count<'a>(count: usize) -> Value<'a> {
    Value::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

/// Counts are whole, unless somebody weighed them.
fn number<'a>(number: f64) -> Value<'a> {
    if number.fract() == 0.0 && number.abs() < 9.0e15 { Value::Int(number as i64) } else { Value::Float(number) }
}

impl Coverage {
    fn of(scan: &Scan<'_>, decisions: &[Decision; 4]) -> Self {
        let mut coverage = Coverage {
            sentences: scan.sentences.len(),
            unchecked_sentences: 0,
            mentions: scan.mentions.iter().filter(|mention| !mention.idle).count(),
            supported: 0,
            unsupported: 0,
            contradicted: 0,
        };
        let mut checked = vec![false; scan.sentences.len()];
        for evidence in decisions.iter().flat_map(|decision| &decision.evidence) {
            match evidence.relation {
                Relation::Supported | Relation::Derived => coverage.supported += 1,
                Relation::Unsupported => coverage.unsupported += 1,
                Relation::Contradicted => coverage.contradicted += 1,
                Relation::Unchecked => continue,
                _ => {}
            }
            let sentence = evidence.span.and_then(|span| sentence_at(scan, span));
            if let Some(slot) = sentence.and_then(|sentence| checked.get_mut(sentence)) {
                *slot = true;
            }
        }
        coverage.unchecked_sentences = checked.iter().filter(|&&is| !is).count();
        coverage
    }

    fn value<'a>(&self, bump: &'a Bump) -> Value<'a> {
        let write = Write { bump };
        write.object(&[
            ("sentences", count(self.sentences)),
            ("unchecked_sentences", count(self.unchecked_sentences)),
            ("mentions", count(self.mentions)),
            ("supported", count(self.supported)),
            ("unsupported", count(self.unsupported)),
            ("contradicted", count(self.contradicted)),
        ])
    }
}

/// The sentence that a part of the text begins in.
fn sentence_at(scan: &Scan<'_>, span: Span) -> Option<usize> {
    let after = scan.sentences.partition_point(|sentence| sentence.span.start <= span.start);
    let index = after.checked_sub(1)?;
    scan.sentences.get(index).filter(|sentence| span.start < sentence.span.end).map(|_| index)
}

/// Where bytes of a text are in code points, for the places that a report names: one walk for all of them.
struct CodePoints<'t> {
    text: &'t str,
    /// Bytes that are asked for, each once, and the code points before them; empty where the text is ASCII.
    bytes: Vec<u32>,
    points: Vec<usize>,
}

impl<'t> CodePoints<'t> {
    fn new(text: &'t str, decisions: &[Decision; 4]) -> Self {
        if text.is_ascii() {
            return CodePoints { text, bytes: Vec::new(), points: Vec::new() };
        }
        let spans = decisions.iter().flat_map(|decision| &decision.evidence).filter_map(|evidence| evidence.span);
        let mut bytes: Vec<u32> = spans.flat_map(|span| [span.start, span.end]).collect();
        bytes.sort_unstable();
        bytes.dedup();
        let mut points = Vec::with_capacity(bytes.len());
        let (mut from, mut before) = (0, 0);
        for &byte in &bytes {
            let part = text.get(from..byte as usize).unwrap_or_default();
            before += part.chars().count();
            points.push(before);
            from += part.len();
        }
        CodePoints { text, bytes, points }
    }

    fn place(&self, span: Span, scan: &Scan<'_>) -> Option<Place> {
        let text = self.text.get(span.start as usize..span.end as usize)?.to_owned();
        let point = |byte: u32| match self.bytes.binary_search(&byte) {
            Ok(index) => self.points.get(index).copied(),
            Err(_) => Some(byte as usize),
        };
        let (start, end) = (point(span.start)?, point(span.end)?);
        Some(Place { text, start, end, sentence: sentence_at(scan, span).map(|index| index + 1) })
    }
}

impl Decision {
    /// A decision by one rule.
    pub fn new(check: Check, verdict: Verdict, rule: Rule) -> Self {
        Decision {
            check,
            verdict,
            rule,
            rules: vec![rule],
            probability: None,
            evidence: Vec::new(),
            notes: Vec::new(),
            explanation: String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        grounding::scan::{Block, Run, Sentence},
        show,
    };

    /// A text of sentences that end in a full stop.
    fn scanned<'a>(text: &'a str, bump: &'a Bump) -> Scan<'a> {
        let run = Run { first: 0, end: 0 };
        let mut start = 0;
        let sentences = text.split_inclusive('.').map(|sentence| {
            let span = Span { start, end: start + sentence.len() as u32 };
            start = span.end;
            Sentence { span, tokens: run, clauses: run, mentions: run, block: Block::Prose }
        });
        let sentences = bump.alloc_slice_fill_iter(sentences.collect::<Vec<_>>());
        Scan { text, tokens: &[], clauses: &[], sentences, mentions: &[] }
    }

    fn reported(text: &str, verdicts: [(Verdict, Rule); 4], evidence: Vec<Evidence>, settings: &Settings) -> Report {
        let bump = Bump::new();
        let request = Request { query: "", text, calls: &[], tools: None, context: &[], notes: Vec::new() };
        let mut decisions = [0, 1, 2, 3].map(|index: usize| {
            let (verdict, rule) = verdicts[index];
            Decision::new(Check::ALL[index], verdict, rule)
        });
        decisions[1].evidence = evidence;
        Report::new(&request, &scanned(text, &bump), decisions, settings)
    }

    fn json(report: &Report) -> String {
        let bump = Bump::new();
        let mut out = String::new();
        show::write_json(report.value(&bump), &mut out);
        out
    }

    const UNDECIDED: (Verdict, Rule) = (Verdict::Undecided, Rule::NoRule);
    const VACUOUS: (Verdict, Rule) = (Verdict::Vacuous, Rule::NothingToCheck);
    const VIOLATED: (Verdict, Rule) = (Verdict::Violated, Rule::UnsupportedValue);
    const FOLLOWED: (Verdict, Rule) = (Verdict::Followed, Rule::OnlyCalledTools);

    #[test]
    fn the_score_is_the_lowest_probability_of_what_is_decided() {
        let settings = Settings::default();
        let of = |verdicts| {
            let report = reported("", verdicts, Vec::new(), &settings);
            let all = report.probabilities();
            (score(&all), score_floor(&all))
        };
        let low = settings.calibration.probability(Rule::UnsupportedValue);
        assert_eq!(of([FOLLOWED, VIOLATED, VACUOUS, UNDECIDED]), (Some((low, 1)), 0.0));
        assert_eq!(of([UNDECIDED; 4]), (None, 0.0));
        // Nothing could be violated: that is decided.
        assert_eq!(of([VACUOUS; 4]), (Some((1.0, 0)), 1.0));
        assert_eq!(of([UNDECIDED, UNDECIDED, VACUOUS, UNDECIDED]), (Some((1.0, 2)), 0.0));
        assert_eq!(score(&[]), None);
    }

    #[test]
    fn offsets_count_code_points_and_slice_back() {
        let text = "Ünï 😀. It is −3 °C.";
        let found = text.find("−3 °C").unwrap() as u32;
        let span = Span { start: found, end: found + "−3 °C".len() as u32 };
        let evidence = |span| Evidence {
            kind: "quantity",
            span,
            relation: Relation::Supported,
            source: Some("/tool_trace/0/response_payload/t".to_owned()),
            expected: Some("-3".to_owned()),
            rule: Rule::AllSupported,
        };
        // A place that is none, in the middle of a character, is left out.
        let broken = Span { start: 1, end: 2 };
        let all = vec![evidence(Some(span)), evidence(None), evidence(Some(broken))];
        let verdicts = [UNDECIDED, (Verdict::Followed, Rule::AllSupported), VACUOUS, FOLLOWED];
        let report = reported(text, verdicts, all, &Settings::default());
        let places = &report.told[1].places;
        let place = places[0].as_ref().unwrap();
        let sliced: String = text.chars().skip(place.start).take(place.end - place.start).collect();
        assert_eq!((sliced.as_str(), place.text.as_str(), place.sentence), ("−3 °C", "−3 °C", Some(2)));
        assert_eq!(places[1..], [None, None]);
        assert!(json(&report).contains(
            r#""evidence": [{"kind": "quantity", "text": "−3 °C", "start": 13, "end": 18, "sentence": 2, "relation": "supported", "source": "/tool_trace/0/response_payload/t", "expected": -3, "rule": "all_supported"}"#
        ), "{}", json(&report));
        let ascii =
            reported("It is 3.", verdicts, vec![evidence(Some(Span { start: 6, end: 7 }))], &Settings::default());
        assert_eq!(ascii.coverage.unchecked_sentences, 0);
        assert_eq!(ascii.told[1].places[0].as_ref().map(|place| (place.start, place.end)), Some((6, 7)));
    }

    #[test]
    fn explanations_are_given_where_they_are_asked_for() {
        use super::super::settings::Explain;
        let verdicts = [FOLLOWED, VIOLATED, VACUOUS, UNDECIDED];
        let told = |explain| {
            let settings = Settings { explain, ..Settings::default() };
            reported("", verdicts, Vec::new(), &settings).told.map(|told| told.explanation)
        };
        assert_eq!(told(Explain::No), ["", "", "", ""]);
        let [followed, violated, vacuous, undecided] = told(Explain::Yes);
        assert!(followed.starts_with("Followed: ") && violated.starts_with("Violated: "));
        assert!(vacuous.starts_with("Nothing to check: ") && undecided.starts_with("Undecided: "));
        assert_eq!(told(Explain::NegativesOnly), [String::new(), violated, String::new(), String::new()]);
    }

    #[test]
    fn the_reason_is_that_of_the_worst_violation_or_a_count() {
        let settings = Settings::default();
        let report = reported("", [FOLLOWED, VIOLATED, VACUOUS, UNDECIDED], Vec::new(), &settings);
        assert!(report.reason().starts_with("Violated: "), "{}", report.reason());
        let report = reported("", [FOLLOWED, FOLLOWED, VACUOUS, UNDECIDED], Vec::new(), &settings);
        assert_eq!(
            report.reason(),
            "2 of 4 instructions followed; nothing to check for status_consistency; undecided no_hallucination."
        );
    }

    #[test]
    fn what_is_undecided_has_no_label_no_basis_and_says_nothing() {
        let report = reported("", [UNDECIDED, VIOLATED, VACUOUS, FOLLOWED], Vec::new(), &Settings::default());
        let json = json(&report);
        assert!(json.contains(r#""label": null, "follow_probability": 0.5"#), "{json}");
        assert!(json.contains(r#""decided_by": "none", "rules": ["no_rule"], "probability_basis": null"#), "{json}");
        assert!(json.contains(r#""score_basis": "result_fidelity""#), "{json}");
        assert!(json.contains(r#""model_used": false"#), "{json}");
    }
}
