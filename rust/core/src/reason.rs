//! A report as one sentence.

use crate::{
    options::{DifferenceKind, MatchMode, Verdict},
    report::{ArgumentDifference, Compared, Counts, Difference, Part, Report},
    show,
};

pub fn sentence(report: &Report, mode: MatchMode) -> String {
    match (report.verdict, &report.difference, &report.unrecorded, report.counts()) {
        (Verdict::Error, ..) => report.error.as_deref().unwrap_or("unknown error").to_owned(),
        (Verdict::NotApplicable, ..) => "There is no expectation to hold the tool calls against.".to_owned(),
        (Verdict::Failed, Some(difference), _, Some(counts)) => failure(difference, counts),
        (Verdict::Passed, _, _, Some(counts)) => success(counts, mode),
        (_, _, Some(unrecorded), _) => {
            let (place, name) = &**unrecorded;
            let name = tool(name);
            format!(
                "Whether the calls match depends on the arguments of {name} (call {}), which were not recorded.",
                place + 1
            )
        }
        _ => "The tool calls were not reported, so they can't be judged.".to_owned(),
    }
}

fn tool(name: &str) -> String {
    format!("`{}`", show::in_a_sentence(name))
}

/// "1 call was", "2 calls were"
fn calls_were(count: u64, what: &str) -> String {
    format!("{count} {what}call{} {}", if count == 1 { "" } else { "s" }, was_were(count))
}

fn was_were(count: u64) -> &'static str {
    if count == 1 { "was" } else { "were" }
}

fn times(count: u32) -> String {
    match count {
        0 => "never".to_owned(),
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        _ => format!("{count} times"),
    }
}

fn success(Counts { matched, made, expected }: Counts, mode: MatchMode) -> String {
    let the_expected = match expected {
        1 => "The expected call was".to_owned(),
        _ => format!("The {expected} expected calls were"),
    };
    let others = match made - matched {
        0 => String::new(),
        1 => ", and 1 other".to_owned(),
        count => format!(", and {count} others"),
    };
    match mode {
        _ if made == 0 && expected == 0 => "No tool calls were expected, and no tool calls were recorded.".to_owned(),
        MatchMode::Subset if made == 0 => {
            format!(
                "No tool calls were recorded; {} expected, which `subset` allows to be missing.",
                calls_were(expected, "")
            )
        }
        MatchMode::Subset => {
            let the_made = match made {
                1 => "The call made was".to_owned(),
                _ => format!("The {made} calls made were"),
            };
            let missing = match expected - matched {
                0 => String::new(),
                count => format!("; {} not made", calls_were(count, "other expected ")),
            };
            format!("{the_made} expected{missing}.")
        }
        MatchMode::Exact if expected > 1 => format!("{the_expected} made in order, and no others."),
        MatchMode::Exact | MatchMode::AnyOrder => format!("{the_expected} made, and no others."),
        MatchMode::InOrder if expected > 1 => format!("{the_expected} made in order{others}."),
        MatchMode::InOrder | MatchMode::Superset => format!("{the_expected} made{others}."),
    }
}

fn failure(difference: &Difference, counts: Counts) -> String {
    let text = |part| difference.texts.get(part).unwrap_or_default();
    let (name, other) = (tool(text(Part::Name)), tool(text(Part::Other)));
    let place = |index: Option<u32>| index.map_or(0, |index| index + 1);
    let (called, wanted) = (difference.called, difference.wanted);
    match difference.kind {
        DifferenceKind::Missing if counts.made == 0 => format!("Expected {name}; no tool calls were recorded."),
        DifferenceKind::Missing if called == 0 => format!("Expected {name}; it was never called."),
        DifferenceKind::Missing => format!("Expected {name} {}; it was called {}.", times(wanted), times(called)),
        DifferenceKind::Unexpected if counts.expected == 0 => {
            format!("No tool calls were expected, but {} {} made, first {name}.", counts.made, was_were(counts.made))
        }
        DifferenceKind::Unexpected if wanted == 0 => {
            format!("{name} was called (call {}), which was not expected.", place(difference.actual_index))
        }
        DifferenceKind::Unexpected => {
            format!("{name} was called {}; it was expected {}.", times(called), times(wanted))
        }
        DifferenceKind::Name => {
            let at = place(difference.actual_index);
            let never = if called == 0 { ", which was never called" } else { "" };
            format!("Call {at} was {other}; expected {name}{never}.")
        }
        DifferenceKind::Order => {
            let (at, other_at) = (place(difference.actual_index), place(difference.other_index));
            format!("{name} (call {at}) was called before {other} (call {other_at}); it was expected after it.")
        }
        DifferenceKind::Arguments => {
            let repeated = if called > 1 || wanted > 1 {
                format!(" It was called {} and expected {}.", times(called), times(wanted))
            } else {
                String::new()
            };
            format!("{}{repeated}", arguments(&name, difference))
        }
    }
}

fn arguments(name: &str, difference: &Difference) -> String {
    let Some(ArgumentDifference { compared, state }) = difference.arguments else {
        return format!("The arguments of {name} differ.");
    };
    let call = format!("{name} (call {})", compared + 1);
    match state {
        Compared::NotRecorded => format!("The arguments of {call} were not recorded, and others were expected."),
        Compared::Unreadable => format!("The arguments of {call} can't be read as a JSON object."),
        Compared::Read => {
            // One step down is told by its key, as people write it.
            let pointer = difference.texts.get(Part::Pointer).unwrap_or_default();
            let place = show::in_a_sentence(match pointer.strip_prefix('/') {
                Some(key) if !key.contains(['/', '~']) && !key.is_empty() => key,
                _ => pointer,
            });
            match (difference.texts.value(Part::Actual), difference.texts.value(Part::Expected)) {
                (Some(actual), Some(expected)) => {
                    let (actual, expected) = (actual.in_a_sentence(), expected.in_a_sentence());
                    let note = if actual == expected { " (they differ further on)" } else { "" };
                    format!("{call} was called with {place} = {actual}; expected {expected}{note}.")
                }
                (Some(actual), None) => {
                    format!("{call} was called with {place} = {}, which was not expected.", actual.in_a_sentence())
                }
                (None, Some(expected)) => {
                    format!("{call} was called without {place}; expected {}.", expected.in_a_sentence())
                }
                (None, None) => format!("The arguments of {call} differ."),
            }
        }
    }
}
