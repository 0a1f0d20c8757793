//! Tool relevance: do the tools that were called fit the query?
//!
//! Each call is held against the query: by the words that both have ([`fit`]), by where its arguments come from
//! ([`arguments`]), and by whether its result is used. The check is as good as its worst call. Words alone can't tell a tool that
//! fits from one that nearly does, so the probability of `followed` has a cap, and `violated` needs that nothing at all speaks for
//! a call, or that the catalogue has a tool that fits far better.

mod arguments;
mod fit;
mod words;

use std::collections::HashMap;

use bumpalo::Bump;
use foldhash::fast::FixedState;

use self::{
    arguments::{Argument, Interval, Query, Results},
    fit::{Document, Fit, Given},
};
use super::{
    calibration::Rule,
    facts::Facts,
    fidelity::Reflected,
    report::{Check, Decision, Evidence, Relation, Verdict},
    request::{Call, Request, Tool},
    settings::Settings,
};
use crate::{show, value::Value};

/// Between these is the probability. Above: as near misses share their words with the query too. Below: as some tools that fit
/// share none.
const LOWEST: f64 = 0.03;
const HIGHEST: f64 = 0.85;

/// The scores between which nothing is decided: even odds, and those of a tool that has next to nothing of the query.
const RELATED: f64 = 0.0;
const UNRELATED: f64 = -2.0;
/// What an argument from the query or from an earlier result adds to the score. Assumed: the labelled pairs have no arguments.
const ARGUMENT: f64 = 0.5;
/// So many texts that were said before the query are looked at.
const MOST_BEFORE: usize = 12;
/// A score from which an argument of the query is enough.
const LEAN: f64 = -1.75;
/// The score of a call that shares little with the query, and works on an earlier result, or does what is asked for with what the query
/// says.
const ASSUMED: f64 = 0.5;
/// How many arguments are looked at, of a call and of all.
const MOST_OF_A_CALL: usize = 64;
const MOST_ARGUMENTS: usize = 10_000;
/// A query says enough for a violation with so many words that say something.
const LEAST_WORDS: usize = 2;

/// Another tool is the better one if its score is at least this, and this much higher.
const BETTER: f64 = 1.0;
const MUCH_BETTER: f64 = 3.5;
/// The most that the score of the other one can be then.
const WORSE: f64 = -1.0;

/// How a call stands to the query.
#[derive(Debug)]
struct Standing<'a> {
    call: &'a Call<'a>,
    verdict: Verdict,
    rule: Rule,
    score: f64,
    fit: Fit,
    arguments: usize,
    given: Given,
    /// Arguments from the query, and from earlier results.
    said: Vec<Argument<'a>>,
    chained: Vec<Argument<'a>>,
    used: bool,
    better: Option<&'a str>,
    /// A step on the way: what it is there for is seen in another call.
    is_step: bool,
}

pub fn decide(request: &Request<'_>, _facts: &Facts<'_>, reflected: &Reflected, settings: &Settings) -> Decision {
    if request.calls.is_empty() {
        let mut decision = Decision::new(Check::ToolRelevance, Verdict::Vacuous, Rule::NothingToCheck);
        decision.probability = Some(1.0);
        if settings.wants_explanation(decision.verdict) {
            decision.explanation = "No tool was called.".to_owned();
        }
        return decision;
    }
    let bump = Bump::new();
    let query = Query::new(request.query);
    // The latest is what a call may be about.
    let before = request.context.iter().rev().take(MOST_BEFORE).map(|text| Query::before(text)).collect();
    let standings = Judge { request, query: &query, before, reflected, bump: &bump }.standings();
    let Some(worst) = worst(&standings) else {
        return Decision::new(Check::ToolRelevance, Verdict::Undecided, Rule::NoRule);
    };
    let mut decision = Decision::new(Check::ToolRelevance, worst.verdict, worst.rule);
    decision.probability = (worst.verdict != Verdict::Undecided).then(|| probability(worst.score));
    decision.evidence = evidence(worst);
    if settings.wants_explanation(worst.verdict) {
        let tool = request.tools.unwrap_or_default().iter().find(|tool| tool.name == worst.call.tool);
        decision.explanation = explanation(worst, &query, &Document::new(worst.call.tool, tool, &bump));
    }
    decision
}

/// Rises with the score, and is a half at even odds.
fn probability(score: f64) -> f64 {
    let odds = 1.0 / (1.0 + (-score).exp());
    if score > RELATED { 0.5 + (HIGHEST - 0.5) * (2.0 * odds - 1.0) } else { LOWEST + (0.5 - LOWEST) * 2.0 * odds }
}

/// The call that the check is as good as: a violated one, an undecided one, the least of the followed ones. Steps on the way count
/// only if there is nothing else.
fn worst<'s, 'a>(standings: &'s [Standing<'a>]) -> Option<&'s Standing<'a>> {
    let least = |steps: bool| {
        let rank = |standing: &Standing<'_>| match standing.verdict {
            Verdict::Violated => 0,
            Verdict::Undecided => 1,
            _ => 2,
        };
        standings
            .iter()
            .filter(|standing| steps || !standing.is_step)
            .min_by(|a, b| rank(a).cmp(&rank(b)).then(a.score.total_cmp(&b.score)))
    };
    least(false).or_else(|| least(true))
}

struct Judge<'r, 'a> {
    request: &'r Request<'a>,
    query: &'r Query,
    /// What was said before.
    before: Vec<Query>,
    reflected: &'r Reflected,
    bump: &'r Bump,
}

impl<'r, 'a: 'r> Judge<'r, 'a> {
    fn standings(&self) -> Vec<Standing<'r>> {
        let tools: HashMap<&str, &Tool<'a>, FixedState> =
            self.request.tools.unwrap_or_default().iter().map(|tool| (tool.name, tool)).collect();
        let mut documents: HashMap<&str, Document, FixedState> = HashMap::default();
        for call in self.request.calls {
            documents
                .entry(call.tool)
                .or_insert_with(|| Document::new(call.tool, tools.get(call.tool).copied(), self.bump));
        }
        let mut best: Option<Option<(&'r str, f64)>> = None;
        let mut results = Results::default();
        let mut room = MOST_ARGUMENTS;
        let mut standings = Vec::with_capacity(self.request.calls.len());
        for (index, call) in self.request.calls.iter().enumerate() {
            let Some(document) = documents.get(call.tool) else { continue };
            let mut standing = self.standing(index, call, document, &results, room.min(MOST_OF_A_CALL));
            room = room.saturating_sub(standing.arguments);
            if (standing.verdict != Verdict::Followed || standing.score <= ASSUMED) && !standing.is_step {
                let best = *best.get_or_insert_with(|| self.best_uncalled(&documents));
                self.hold_against(&mut standing, best);
            }
            standings.push(standing);
            if index + 1 < self.request.calls.len()
                && let Some(response) = call.response
            {
                results.add(response, interval(call), self.bump);
            }
        }
        standings
    }

    /// Of one call, of which at most so many arguments are looked at.
    fn standing(
        &self,
        index: usize,
        call: &'r Call<'a>,
        document: &Document,
        results: &Results,
        most: usize,
    ) -> Standing<'r> {
        let arguments = call.request.map(|request| arguments::of_call(request, most, self.bump)).unwrap_or_default();
        let said: Vec<_> = arguments.iter().filter(|argument| self.query.says(argument)).cloned().collect();
        let chained: Vec<_> = arguments
            .iter()
            .filter(|argument| {
                results.brought(argument, interval(call)) || self.before.iter().any(|text| text.says(argument))
            })
            .cloned()
            .collect();
        let is_purpose = |argument: &&Argument<'_>| !argument.is_number && (document.executor || argument.is_purpose());
        let given = Given::new(
            said.iter().map(|argument| argument.text),
            arguments.iter().filter(is_purpose).map(|argument| argument.text),
            arguments.iter().map(|argument| argument.key),
        );
        let fit = Fit::of(&self.query.bag, document, &given);
        let flag = |flags: &[bool]| flags.get(index).copied().unwrap_or(false);
        let (told, passed_on) = (flag(&self.reflected.told), flag(&self.reflected.passed_on));
        let from_somewhere = !said.is_empty() || !chained.is_empty();
        let score = fit.score() + if from_somewhere { ARGUMENT } else { 0.0 };

        let mut standing = Standing {
            call,
            verdict: Verdict::Undecided,
            rule: Rule::NoRule,
            score,
            fit,
            arguments: arguments.len(),
            given,
            said,
            chained,
            used: told || passed_on,
            better: None,
            is_step: passed_on || document.auxiliary,
        };
        if self.is_unrelated(&standing, document) {
            (standing.verdict, standing.rule) = (Verdict::Violated, Rule::Unrelated);
        } else if let Some((rule, score)) = self.speaks_for(&standing, document) {
            (standing.verdict, standing.rule, standing.score) = (Verdict::Followed, rule, score);
        }
        standing
    }

    /// What speaks for a call, and its score.
    fn speaks_for(&self, standing: &Standing<'_>, document: &Document) -> Option<(Rule, f64)> {
        let Standing { fit, said, chained, score, .. } = standing;
        if self.query.bag.is_empty() || fit.other_field || self.only_looks(fit) {
            return None;
        }
        if *score > RELATED {
            return Some((Rule::Related, *score));
        }
        let is_linked = !fit.shares_nothing() || !fit.values_of_other_field;
        let is_for_the_query = fit.asked_action || standing.used || fit.score() > LEAN || document.executor;
        if !said.is_empty() && !fit.unasked_action && is_linked && is_for_the_query {
            return Some((Rule::Related, ASSUMED));
        }
        if !chained.is_empty() && !fit.unasked_action {
            return Some((Rule::Chained, ASSUMED));
        }
        // What little the query says is answered by what the tool found.
        let little = self.query.bag.words().len() <= 1 || (document.executor && !fit.shares_nothing());
        (standing.used && little && !fit.unasked_action).then_some((Rule::Related, ASSUMED))
    }

    /// Does the query ask to look something up, where the tool changes something?
    fn only_looks(&self, fit: &Fit) -> bool {
        fit.unasked_action && self.query.bag.actions & words::reading() != 0
    }

    /// Does nothing speak for the call, though the query and the tool say enough that something could?
    fn is_unrelated(&self, standing: &Standing<'_>, document: &Document) -> bool {
        let Standing { fit, said, chained, .. } = standing;
        let query = &self.query.bag;
        // A name alone is too little to share nothing with, unless it is from another field.
        let says_enough = fit.other_field || document.is_described() || (document.in_catalogue && fit.other_subject);
        let words_differ = fit.shares_nothing() || (fit.other_subject && fit.score() < UNRELATED);
        let readable = query.is_english() && query.words().len() >= LEAST_WORDS;
        let comes_from_nowhere = said.is_empty() && chained.is_empty() && !standing.used && !standing.is_step;
        // What was said before may be what the call is about.
        let is_all = self.request.context.is_empty();
        words_differ && says_enough && readable && comes_from_nowhere && is_all && !document.executor
    }

    /// The tool of the catalogue that fits best, of those that were not called.
    fn best_uncalled(&self, called: &HashMap<&str, Document, FixedState>) -> Option<(&'r str, f64)> {
        let tools = self.request.tools?;
        let nothing = Given::default();
        tools
            .iter()
            .filter(|tool| !called.contains_key(tool.name))
            .map(|tool| (tool.name, Fit::of(&self.query.bag, &Document::brief(tool), &nothing).score()))
            .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(a.0)))
    }

    /// Violated, if the best tool that was not called fits far better than the one that was; undecided, if something else speaks for
    /// that one.
    fn hold_against(&self, standing: &mut Standing<'r>, best: Option<(&'r str, f64)>) {
        let Some((name, score)) = best else { return };
        if score < BETTER || score - standing.fit.score() < MUCH_BETTER {
            return;
        }
        let comes_from_somewhere = standing.used || !standing.said.is_empty();
        let counts_for_it = (comes_from_somewhere && !standing.fit.other_field) || !standing.chained.is_empty();
        if counts_for_it || !self.query.bag.is_english() || !self.request.context.is_empty() {
            (standing.verdict, standing.rule) = (Verdict::Undecided, Rule::NoRule);
            return;
        }
        (standing.verdict, standing.rule) = (Verdict::Violated, Rule::BetterToolAvailable);
        standing.score = standing.fit.score().min(WORSE);
        standing.better = Some(name);
    }
}

fn interval(call: &Call<'_>) -> Option<Interval> {
    Some(Interval { start: call.start?.0, end: call.end?.0 })
}

fn evidence(standing: &Standing<'_>) -> Vec<Evidence> {
    let place = format!("/tool_trace/{}", standing.call.index);
    let relation = if standing.verdict == Verdict::Followed { Relation::Called } else { Relation::Unchecked };
    let mut evidence = vec![Evidence {
        kind: "tool",
        span: None,
        relation,
        source: Some(format!("{place}/tool_name")),
        expected: standing.better.map(|name| {
            let mut json = String::new();
            show::write_json(Value::Text(name.into()), &mut json);
            json
        }),
        rule: standing.rule,
    }];
    let key = standing.call.request_key;
    let of_one = |argument: &Argument<'_>| Evidence {
        kind: "argument",
        span: None,
        relation: Relation::Echo,
        source: Some(format!("{place}/{key}{}", argument.pointer)),
        expected: None,
        rule: standing.rule,
    };
    evidence.extend(standing.said.iter().take(MOST_NAMED).map(of_one));
    evidence.extend(standing.chained.iter().take(MOST_NAMED).map(of_one));
    evidence
}

/// How many words and arguments are named.
const MOST_NAMED: usize = 4;

fn explanation(standing: &Standing<'_>, query: &Query, document: &Document) -> String {
    let tool = format!("`{}`", show::in_a_sentence(standing.call.tool));
    let (words, group) = fit::shared(&query.bag, document, &standing.given);
    let fits = match (words.is_empty(), group) {
        (false, _) => {
            let words: Vec<_> = words.iter().take(MOST_NAMED).map(|word| show::in_a_sentence(word)).collect();
            Some(format!("{tool} and the query share the words: {}", words.join(", ")))
        }
        (true, Some(group)) => Some(format!("{tool} and the query are both about {}", group.replace('_', " "))),
        (true, None) => None,
    };
    let mut sentences = Vec::new();
    match (standing.verdict, standing.better) {
        (_, Some(better)) => {
            sentences.push(format!("`{}` fits the query far better than {tool}", show::in_a_sentence(better)));
        }
        (Verdict::Violated, None) => sentences.push(format!(
            "Nothing links {tool} to the query: they share no word and no subject, no argument comes from the query, and the \
             text tells nothing of the result"
        )),
        (Verdict::Followed, None) => sentences.extend(fits),
        (_, None) if query.bag.is_empty() => sentences.push("The query has no words that a tool could fit".to_owned()),
        (_, None) if standing.fit.other_field => {
            sentences.push(format!("The query and {tool} seem to be about different things"));
        }
        (_, None) if standing.fit.unasked_action => {
            sentences.push(format!("{tool} does something that the query does not plainly ask for"));
        }
        (_, None) => {
            sentences.push(format!("Too little links {tool} to the query for rules to tell"));
            sentences.extend(fits);
        }
    }
    for (arguments, origin) in [(&standing.said, "the query"), (&standing.chained, "what came before")] {
        let named: Vec<_> = arguments.iter().take(MOST_NAMED).map(named).collect();
        if !named.is_empty() {
            sentences.push(format!("From {origin}: {}", named.join(", ")));
        }
    }
    sentences.into_iter().map(|sentence| sentence + ".").collect::<Vec<_>>().join(" ")
}

fn named(argument: &Argument<'_>) -> String {
    format!("{} (\"{}\")", show::in_a_sentence(argument.key), show::in_a_sentence(argument.text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{grounding::settings::Explain, json, value::MAX_RECORD_DEPTH};

    /// What is decided of calls (tool, arguments, response as JSON, told in the text), with a catalogue of names and descriptions.
    fn decided(query: &str, calls: &[(&str, &str, &str, bool)], tools: &[(&str, &str)]) -> Decision {
        decided_after(&[], query, calls, tools)
    }

    /// The same, after something was said.
    fn decided_after(
        context: &[&str],
        query: &str,
        calls: &[(&str, &str, &str, bool)],
        tools: &[(&str, &str)],
    ) -> Decision {
        let bump = Bump::new();
        let value = |text: &str| json::parse(bump.alloc_str(text).as_bytes(), MAX_RECORD_DEPTH, &bump).ok();
        let calls_read: Vec<Call<'_>> = calls
            .iter()
            .enumerate()
            .map(|(index, &(tool, request, response, _))| Call {
                index,
                tool: bump.alloc_str(tool),
                status: None,
                error: None,
                request: value(request),
                response: value(response),
                request_key: "request_payload",
                response_key: "response_payload",
                start: None,
                end: None,
                retries: 0,
            })
            .collect();
        let tools: Vec<Tool<'_>> = tools
            .iter()
            .map(|&(name, description)| Tool { name, description: Some(description), parameters: None })
            .collect();
        let request = Request {
            query,
            text: "",
            calls: &calls_read,
            tools: (!tools.is_empty()).then_some(&tools),
            context,
            notes: Vec::new(),
        };
        let reflected =
            Reflected { told: calls.iter().map(|call| call.3).collect(), passed_on: vec![false; calls.len()] };
        let settings = Settings { explain: Explain::Yes, ..Settings::default() };
        decide(&request, &Facts::default(), &reflected, &settings)
    }

    fn verdict(query: &str, tool: &str, arguments: &str, told: bool) -> Verdict {
        decided(query, &[(tool, arguments, "{}", told)], &[]).verdict
    }

    #[test]
    fn without_calls_there_is_nothing_to_check() {
        assert_eq!(decided("hi", &[], &[]).verdict, Verdict::Vacuous);
    }

    #[test]
    fn a_tool_that_shares_words_or_a_subject_with_the_query_is_related() {
        for (query, tool, arguments) in [
            ("What's the weather in Oslo?", "weather_lookup", r#"{"city": "Oslo"}"#),
            ("Do I need an umbrella in Bergen tomorrow?", "get_forecast", r#"{"city": "Bergen"}"#),
            ("How many euros is one US dollar?", "fx", r#"{"from": "USD", "to": "EUR"}"#),
            ("How long until my delivery gets here?", "eta", r#"{"order": "D-41"}"#),
            ("Cancel my order.", "cancel_order", r#"{"order_id": "A-99812"}"#),
            ("Order the blue lamp", "create_order", r#"{"item": "blue lamp"}"#),
            ("Tell Dana that the meeting moved", "send_message", r#"{"to": "Dana"}"#),
        ] {
            assert_eq!(verdict(query, tool, arguments, true), Verdict::Followed, "{query} {tool}");
        }
    }

    #[test]
    fn what_an_executor_is_given_says_what_it_is_for() {
        let sql = r#"{"query": "select count(*) from signups where week = 31"}"#;
        assert_eq!(verdict("How many sign-ups did we have last week?", "run_sql", sql, true), Verdict::Followed);
        let find = r#"{"q": "fern", "limit": 10}"#;
        assert_eq!(verdict("Search the plant catalogue for ferns.", "find", find, true), Verdict::Followed);
        assert_ne!(verdict("Search the plant catalogue for ferns.", "run_sql", "{}", false), Verdict::Violated);
    }

    #[test]
    fn a_tool_of_another_field_is_never_followed() {
        let stock = r#"{"symbol": "LIMA"}"#;
        assert_eq!(verdict("What's the weather in Lima?", "get_stock_price", stock, true), Verdict::Undecided);
        assert_eq!(verdict("Am I free on Friday?", "weather_lookup", r#"{"city": "Oslo"}"#, true), Verdict::Undecided);
        assert_eq!(verdict("Am I free on Friday?", "weather_lookup", r#"{"city": "Oslo"}"#, false), Verdict::Violated);
    }

    #[test]
    fn an_action_that_nobody_asked_for_is_not_followed() {
        assert_eq!(verdict("Show my todo list", "clear_todo_list", "{}", true), Verdict::Undecided);
        assert_eq!(verdict("Clear my todo list", "clear_todo_list", "{}", true), Verdict::Followed);
    }

    #[test]
    fn a_better_tool_that_was_not_called_counts() {
        let tools = [("get_stock_price", "Latest price of a stock"), ("get_weather", "Current weather in a city")];
        let call = ("get_stock_price", r#"{"symbol": "LIMA"}"#, "{}", true);
        let decision = decided("What's the weather in Lima?", &[call], &tools);
        assert_eq!((decision.verdict, decision.rule), (Verdict::Violated, Rule::BetterToolAvailable));
        assert_eq!(decision.evidence[0].expected.as_deref(), Some("\"get_weather\""));
        assert!(decision.probability.unwrap() < 0.5);
        let both = [call, ("get_weather", r#"{"city": "Lima"}"#, "{}", true)];
        assert_eq!(decided("What's the weather in Lima?", &both, &tools).verdict, Verdict::Undecided);
    }

    #[test]
    fn steps_on_the_way_are_no_fault() {
        let calls = [
            ("login", "{}", r#"{"token": "t-1"}"#, false),
            ("get_user", r#"{"email": "x@y.example"}"#, r#"{"id": "u-778"}"#, false),
            ("cancel_subscription", r#"{"user_id": "u-778"}"#, "{}", true),
        ];
        let decision = decided("Please cancel my subscription.", &calls, &[]);
        assert_eq!(decision.verdict, Verdict::Followed);
        assert!(
            decision.explanation.contains("From what came before: user_id (\"u-778\")."),
            "{}",
            decision.explanation
        );
    }

    #[test]
    fn a_call_that_works_on_an_earlier_result_is_followed() {
        let calls = [
            ("get_order", r#"{"order": "B-77"}"#, r#"{"carrier_ref": "zx-4410"}"#, true),
            ("lookup_ref", r#"{"ref": "ZX-4410"}"#, "{}", true),
        ];
        let decision = decided("What about order B-77?", &calls, &[]);
        assert_eq!((decision.verdict, decision.rule), (Verdict::Followed, Rule::Chained), "{decision:?}");
    }

    #[test]
    fn nothing_is_violated_in_a_language_that_is_not_read() {
        let tools = [("get_weather", "Current weather in a city")];
        let decision =
            decided("¿Qué película ponen esta noche en el cine?", &[("get_weather", "{}", "{}", false)], &tools);
        assert_eq!((decision.verdict, decision.probability), (Verdict::Undecided, None));
        assert_eq!(decided("hello", &[("get_weather", "{}", "{}", false)], &tools).verdict, Verdict::Undecided);
    }

    #[test]
    fn probabilities_rise_with_the_score_and_stay_within_their_bounds() {
        let scores = [-900.0, -5.0, -0.1, 0.0, 0.1, 3.0, 900.0];
        let all: Vec<f64> = scores.into_iter().map(probability).collect();
        assert!(all.is_sorted() && all.iter().all(|p| (LOWEST..=HIGHEST).contains(p)));
        assert!((probability(0.0) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn what_was_said_before_may_be_what_a_call_is_for() {
        let calls = [("get_weather", r#"{"city": "Oslo"}"#, "{}", false)];
        let query = "Cancel my gym membership";
        assert_eq!(decided(query, &calls, &[]).verdict, Verdict::Violated);
        assert_ne!(decided_after(&["What else?"], query, &calls, &[]).verdict, Verdict::Violated);
        let calls = [("update_booking", r#"{"id": "GV1N64"}"#, "{}", false)];
        let decision = decided_after(&["Booking GV1N64 it is."], "Yes, use my credit card", &calls, &[]);
        assert_eq!(decision.verdict, Verdict::Undecided);
    }

    #[test]
    fn calls_that_overlap_know_nothing_of_each_other() {
        let interval = |start, end| Some(Interval { start, end });
        let bump = Bump::new();
        let value = json::parse(br#"{"ref": "ZX-4410"}"#, MAX_RECORD_DEPTH, &bump).unwrap();
        let argument = &arguments::of_call(value, 1, &bump)[0];
        let mut results = Results::default();
        results.add(value, interval(10, 20), &bump);
        assert!(results.brought(argument, interval(20, 30)) && results.brought(argument, None));
        assert!(!results.brought(argument, interval(10, 20)) && !results.brought(argument, interval(15, 30)));
    }

    #[test]
    fn odd_input_is_no_trouble() {
        let long = "x_".repeat(200_000);
        let deep = format!("{}{}", "[".repeat(900), "]".repeat(900));
        for query in ["", "'", "“", "\u{0}\u{301}é-é.", long.as_str()] {
            for tool in ["", "__", "é.É", long.as_str()] {
                decided(
                    query,
                    &[(tool, &deep, &deep, false), (tool, r#"{"": 1e400}"#, "null", true)],
                    &[("", ""), (tool, "é")],
                );
            }
        }
    }
}
