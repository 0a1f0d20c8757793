//! Which tables of spans are known, by the names of their columns, and which of these columns are read.

use crate::{
    error::{Error, nearest, one_of},
    show,
    trace::{
        rows,
        spans::{self, Encoding, otel},
    },
};

/// The columns of a table of spans.
pub struct Profile {
    /// What reads the rows. Its word is the profile's.
    pub encoding: &'static Encoding,
    /// Of each of these one has to be there.
    pub needs: &'static [&'static [&'static str]],
    /// Others that are read, in all their spellings.
    pub reads: &'static [&'static [&'static str]],
    /// Those that hold the attributes of a span.
    pub attributes: &'static [&'static str],
    /// What a column begins with that holds one attribute.
    pub attribute: Option<&'static str>,
    /// Those that say of which session a span is, if somebody asks for sessions.
    pub sessions: &'static [&'static str],
    /// What a span was given, in a column of its own.
    pub given: Option<Given>,
}

/// What a span was given is needed of tools alone. Where a column says that it is something else, and no instrumentation
/// says more, it is not read: in spans of models it is most of a table.
pub struct Given {
    pub columns: &'static [&'static str],
    pub kind: &'static str,
    /// The words for what is no tool, whatever their case.
    pub not_tools: &'static [&'static str],
    /// Where an instrumentation would have left attributes.
    pub beside: &'static [&'static str],
}

/// What the encodings of OpenTelemetry's spans read, whose spellings they share.
const OF_SPANS: &[&[&str]] = &[
    otel::PARENT_ID,
    otel::PARENT,
    otel::NAME,
    otel::STARTED_AT,
    otel::ENDED_AT,
    otel::DURATION,
    &[otel::CONSOLE_DURATION],
    otel::EVENTS,
    &["Events.Name", "Events.Attributes"],
    // Of what Logfire writes when a span begins.
    &["kind"],
];

pub const PROFILES: &[Profile] = &[
    Profile {
        encoding: &rows::PHOENIX,
        needs: &[&["context.trace_id"], &["context.span_id", "span_id"], &["span_kind", "name"]],
        reads: &[&["parent_id", "start_time", "end_time", "events"]],
        attributes: &["attributes"],
        attribute: Some("attributes."),
        sessions: &[],
        given: None,
    },
    Profile {
        encoding: &spans::CLICKHOUSE,
        needs: &[&["TraceId"], &["SpanId"], &["SpanName"]],
        reads: OF_SPANS,
        attributes: otel::ATTRIBUTES,
        attribute: None,
        sessions: otel::RESOURCE,
        given: None,
    },
    Profile {
        encoding: &spans::OTEL_TABLE,
        needs: &[&["trace_id"], &["span_id"], &["start_time_unix_nano"]],
        reads: OF_SPANS,
        attributes: otel::ATTRIBUTES,
        attribute: None,
        sessions: otel::RESOURCE,
        given: None,
    },
    Profile {
        encoding: &spans::LOGFIRE,
        needs: &[&["trace_id"], &["span_id"], &["span_name"], &["start_timestamp"]],
        reads: OF_SPANS,
        attributes: otel::ATTRIBUTES,
        attribute: None,
        sessions: otel::RESOURCE,
        given: None,
    },
    Profile {
        encoding: &rows::LANGFUSE,
        needs: &[
            &["trace_id", "traceId"],
            &["parent_observation_id", "parentObservationId"],
            &["type"],
            &["start_time", "startTime"],
        ],
        reads: &[&["id", "name", "end_time", "endTime", "metadata", "input", "output", "tool_calls", "toolCalls"]],
        attributes: &[],
        attribute: None,
        sessions: &["session_id", "sessionId"],
        given: Some(Given {
            columns: &["input"],
            kind: "type",
            not_tools: &["GENERATION", "AGENT", "CHAIN", "RETRIEVER", "EMBEDDING", "GUARDRAIL"],
            beside: &["metadata"],
        }),
    },
    Profile {
        encoding: &rows::LANGSMITH,
        needs: &[&["run_type"], &["id", "run_id"], &["trace_id", "dotted_order", "parent_run_id"]],
        reads: &[&["name", "start_time", "end_time", "inputs", "outputs", "extra", "metadata", "child_runs"]],
        attributes: &[],
        attribute: None,
        sessions: &[],
        given: Some(Given {
            columns: &["inputs"],
            kind: "run_type",
            not_tools: &["llm", "chain", "retriever", "embedding", "prompt", "parser"],
            beside: &["extra", "metadata"],
        }),
    },
    Profile {
        encoding: &rows::MLFLOW,
        needs: &[&["trace_id", "request_id"], &["trace_metadata", "request_metadata"], &["trace", "spans"]],
        reads: &[],
        attributes: &[],
        attribute: None,
        sessions: &["tags"],
        given: None,
    },
    Profile {
        encoding: &rows::ADK_BIGQUERY,
        needs: &[&["event_type"], &["invocation_id"], &["span_id"], &["content"]],
        reads: &[&["trace_id", "parent_span_id", "agent", "timestamp"]],
        attributes: &[],
        attribute: None,
        sessions: &["session_id"],
        given: None,
    },
];

impl Profile {
    pub fn name(&self) -> &'static str {
        self.encoding.name
    }

    /// What it needs and the table hasn't, as people would say it.
    fn lacks(&self, columns: &[&str]) -> Vec<String> {
        let is_there = |names: &&&[&str]| !names.iter().any(|name| columns.contains(name));
        self.needs.iter().filter(is_there).map(|names| names.join(" or ")).collect()
    }

    pub fn of_given(&self, column: &str) -> bool {
        self.given.as_ref().is_some_and(|given| given.columns.contains(&column))
    }
}

/// The words of all profiles.
pub fn words() -> Vec<&'static str> {
    PROFILES.iter().map(Profile::name).collect()
}

/// The profile that these columns fit, or the one that somebody insists on.
pub fn find(columns: &[&str], wanted: Option<&str>) -> Result<&'static Profile, Error> {
    let words = words();
    if let Some(word) = wanted {
        let known = PROFILES.iter().find(|profile| profile.name() == word);
        let profile = known.ok_or_else(|| Error::value(one_of("profile", word, &words)))?;
        return match profile.lacks(columns).is_empty() {
            true => Ok(profile),
            false => {
                Err(Error::value(format!("a table of {word} has {}{}", lacking(profile, columns), found(columns))))
            }
        };
    }
    let fitting: Vec<&Profile> = PROFILES.iter().filter(|profile| profile.lacks(columns).is_empty()).collect();
    match fitting[..] {
        [profile] => Ok(profile),
        [] => Err(unknown(columns, &words)),
        [first, ref others @ ..] => {
            let others: Vec<&str> = others.iter().map(|profile| profile.name()).collect();
            let (first, others) = (first.name(), others.join(" and "));
            Err(Error::value(format!(
                "the columns of the table are those of {first} and of {others}; say which it is: profile={first:?}"
            )))
        }
    }
}

fn unknown(columns: &[&str], words: &[&str]) -> Error {
    let known = format!("known are tables of {}", words.join(", "));
    // That of which most is there.
    let share = |profile: &&Profile| {
        let there = profile.needs.len() - profile.lacks(columns).len();
        there * 1000 / profile.needs.len()
    };
    let mut message = "these are the columns of no table of spans that is known".to_owned();
    let best = PROFILES.iter().map(|profile| share(&profile)).max().unwrap_or(0);
    if let Some(nearest) = PROFILES.iter().find(|profile| best > 0 && share(profile) == best) {
        message += &format!("; the nearest is {}, which has {}", nearest.name(), lacking(nearest, columns));
    }
    Error::value(format!("{message}{}; {known}", found(columns)))
}

/// What is lacking, with the column that was perhaps meant to be it.
fn lacking(profile: &Profile, columns: &[&str]) -> String {
    let lacks = profile.lacks(columns);
    let also = lacks.join(", and ");
    let is_strange =
        |name: &&&str| ![profile.needs, profile.reads].iter().any(|all| all.iter().any(|names| names.contains(name)));
    let strange: Vec<&str> = columns.iter().filter(is_strange).copied().collect();
    let near = lacks.iter().flat_map(|names| names.split(" or ")).find_map(|name| nearest(name, &strange));
    match near {
        Some(near) => format!("{also} too (did you mean {:?}?)", show::in_a_sentence(near)),
        None => format!("{also} too"),
    }
}

const MOST_SHOWN: usize = 12;

fn found(columns: &[&str]) -> String {
    let shown: Vec<String> = columns.iter().take(MOST_SHOWN).map(|name| show::in_a_sentence(name)).collect();
    let more = columns.len().saturating_sub(MOST_SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    match shown.is_empty() {
        true => "; the table has no columns".to_owned(),
        false => format!("; the table has {}{more}", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_found_by_what_it_needs() {
        for profile in PROFILES {
            // By either spelling.
            let first = |names: &&[&'static str]| names.first().copied().unwrap();
            let last = |names: &&[&'static str]| names.last().copied().unwrap();
            for columns in
                [profile.needs.iter().map(first).collect::<Vec<_>>(), profile.needs.iter().map(last).collect()]
            {
                let found = find(&columns, None).map(Profile::name);
                assert!(matches!(found, Ok(name) if name == profile.name()), "{columns:?}");
                for place in 0..columns.len() {
                    let mut fewer = columns.clone();
                    let name = fewer.remove(place);
                    let other = find(&fewer, None).map_err(|error| error.to_string());
                    assert!(other.is_err(), "without {name}");
                    let error = find(&fewer, Some(profile.name())).map(Profile::name).unwrap_err().to_string();
                    assert!(error.contains(name), "{error}");
                }
            }
        }
    }

    #[test]
    fn the_words_of_profiles_are_those_of_formats() {
        let formats = crate::trace::formats::words();
        assert!(words().iter().all(|word| formats.contains(word)));
    }
}
