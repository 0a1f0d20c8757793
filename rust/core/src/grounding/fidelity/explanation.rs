//! What was found, in a sentence or two.

use super::{Finding, Strength, Told};
use crate::{
    grounding::{
        calibration::Rule,
        facts::{Facts, Leaf, Step},
        report::{Relation, Verdict},
        request::Request,
        scan::{Scan, Span},
    },
    show,
};

/// So many findings are told one by one.
const MOST_TOLD: usize = 3;

pub fn write(
    request: &Request<'_>,
    scan: &Scan<'_>,
    facts: &Facts<'_>,
    calls: &[Told],
    findings: &[Finding],
    verdict: Verdict,
    rule: Rule,
) -> String {
    let words = Words { request, scan, facts };
    match verdict {
        Verdict::Vacuous if calls.iter().any(|call| call.usable) => {
            "The results of the calls that succeeded have nothing that an answer could get wrong.".to_owned()
        }
        Verdict::Vacuous => "No call succeeded, so there is no result to tell.".to_owned(),
        Verdict::Followed => words.followed(findings, rule),
        Verdict::Violated => words.wrong(findings, Strength::Hard),
        Verdict::Undecided if rule == Rule::NoRule => {
            "Nothing in the text can be held against a result by rules.".to_owned()
        }
        Verdict::Undecided => words.wrong(findings, Strength::Medium),
    }
}

struct Words<'w, 'a> {
    request: &'w Request<'a>,
    scan: &'w Scan<'a>,
    facts: &'w Facts<'a>,
}

impl Words<'_, '_> {
    fn followed(&self, findings: &[Finding], rule: Rule) -> String {
        let supported = findings
            .iter()
            .filter(|finding| matches!(finding.relation, Relation::Supported | Relation::Derived))
            .count();
        let mut out = match (rule, supported) {
            (Rule::EmptyToldAsEmpty, _) => "The result is empty, and the text says so.".to_owned(),
            (_, 0) => "What came back was what the next call needed, or what the user had said.".to_owned(),
            (_, 1) => "The one value that could be checked agrees with the results.".to_owned(),
            (_, count) => format!("All {count} values that could be checked agree with the results."),
        };
        if rule == Rule::FoundAmongMany {
            out.push_str(" There are so many numbers in the results that some would be found by chance.");
        }
        let unchecked = findings.iter().filter(|finding| finding.relation == Relation::Unchecked).count();
        match unchecked {
            0 => {}
            1 => out.push_str(" One was not checked."),
            count => out.push_str(&format!(" {count} were not checked.")),
        }
        out
    }

    fn wrong(&self, findings: &[Finding], at_least: Strength) -> String {
        let flagged = |finding: &&Finding| {
            matches!(finding.relation, Relation::Unsupported | Relation::Contradicted)
                || finding.rule == Rule::WeaklyUnsupported
        };
        let mut told: Vec<&Finding> =
            findings.iter().filter(flagged).filter(|finding| finding.strength >= at_least).collect();
        if told.is_empty() {
            told = findings.iter().filter(flagged).collect();
        }
        let mut sentences: Vec<String> = told.iter().take(MOST_TOLD).map(|finding| self.sentence(finding)).collect();
        match told.len().saturating_sub(MOST_TOLD) {
            0 => {}
            1 => sentences.push("One more is like this.".to_owned()),
            more => sentences.push(format!("{more} more are like this.")),
        }
        sentences.join(" ")
    }

    fn sentence(&self, finding: &Finding) -> String {
        let said = finding.span.map_or_else(String::new, |span| self.quoted(span));
        let leaf = finding.leaf.and_then(|leaf| self.facts.leaf(leaf));
        match (finding.rule, leaf) {
            (Rule::ContradictedCount, _) => {
                let length = finding.expected.as_deref().unwrap_or("another number");
                format!("The text says {said}, but the list of results has a length of {length}.")
            }
            (Rule::IgnoredResult, _) => {
                format!("The text says {said}, and tells nothing of the result that came back.")
            }
            (Rule::UnsupportedValue | Rule::WeaklyUnsupported, None) => {
                format!("{said} is in no result of a successful call, and neither the user nor an argument says it.")
            }
            (Rule::UnsupportedValue | Rule::WeaklyUnsupported, Some(leaf)) => format!(
                "{said} is in no result of a successful call, and neither the user nor an argument says it; the nearest is {}.",
                self.value(leaf)
            ),
            (Rule::ContradictedSign, Some(leaf)) => {
                format!("The text says {said}, but the sign of {} is another.", self.value(leaf))
            }
            (Rule::ContradictedUnit, Some(leaf)) => {
                format!("The text says {said}, but {} has another unit or scale.", self.value(leaf))
            }
            (_, Some(leaf)) => format!("The text says {said}, but the result has {}.", self.value(leaf)),
            (_, None) => format!("The text says {said}, which no result does."),
        }
    }

    fn quoted(&self, span: Span) -> String {
        let text = self.scan.text.get(span.start as usize..span.end as usize).unwrap_or_default();
        format!("\"{}\"", show::in_a_sentence(text))
    }

    /// `temp_c = -3 (weather_lookup, call 1)`
    fn value(&self, leaf: &Leaf<'_>) -> String {
        let key = match leaf.key {
            Step::Key(key) => show::in_a_sentence(key),
            Step::Index(index) => format!("item {}", index + 1),
        };
        let value = show::in_a_sentence(&show::json_text(leaf.value));
        match self.request.calls.get(leaf.call as usize) {
            Some(call) => format!("`{key}` = {value} ({}, call {})", show::in_a_sentence(call.tool), call.index + 1),
            None => format!("`{key}` = {value}"),
        }
    }
}
