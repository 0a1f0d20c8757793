//! The trajectory of DSPy's ReAct: an object with a thought, a tool, its arguments and an observation for each step, which
//! its keys number (`tool_name_0`).

use super::{
    Dialect,
    parts::{self, each, found, not_an_object},
};
use crate::{
    call::Reader,
    error::Error,
    show,
    text::Text,
    trace::{span::Span, turns::Listener},
    value::Value,
};

pub const DIALECT: Dialect = Dialect { word: "dspy", name: "DSPy trajectories", fits, read };

const TRAJECTORY: &str = "trajectory";
const NAME: &str = "tool_name_";
const ARGUMENTS: &str = "tool_args_";
const OBSERVATION: &str = "observation_";

fn fits(items: &[Value<'_>]) -> bool {
    items.iter().any(|item| steps_of(*item).get("tool_name_0").is_some())
}

/// A prediction has its trajectory beside its outputs.
fn steps_of(item: Value<'_>) -> Value<'_> {
    match item.get(TRAJECTORY) {
        Some(inner @ Value::Object(_)) => inner,
        _ => item,
    }
}

fn read<'a>(reader: Reader<'a>, items: &[Value<'a>], listener: &mut Listener<'a>) -> Result<(), Error> {
    each(items, |item| {
        // Each is what one question led to, which stands elsewhere.
        listener.asked(None);
        listen(reader, steps_of(item), listener)
    })
}

fn listen<'a>(reader: Reader<'a>, steps: Value<'a>, listener: &mut Listener<'a>) -> Result<(), Error> {
    let Value::Object(members) = steps else { return Err(not_an_object("a trajectory of DSPy", steps)) };
    // In the order of the numbers, which is not always that of the keys.
    let mut numbers: Vec<u64> = members.iter().filter_map(|member| number(member.key)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    for number in numbers {
        let [name, arguments, observation] = [NAME, ARGUMENTS, OBSERVATION].map(|key| format!("{key}{number}"));
        let Some(Value::Text(word)) = steps.get(&name) else {
            let message = format!("a step of a trajectory has a tool; expected a string as {name}");
            return Err(Error::value(message).at_key(Text::from(name.as_str())));
        };
        let mut span = Span::new(word);
        if let Some((key, value)) = found(steps, &[&arguments]) {
            span.input = parts::arguments(reader, value).map_err(|error| error.at_key(Text::from(key)))?;
        }
        // An observation may be what went wrong; only its words say so.
        span.output = parts::output(reader, steps, &[&observation])?;
        listener.done(span);
    }
    Ok(())
}

/// The number of the step that a key with a tool or its arguments belongs to.
fn number(key: Text<'_>) -> Option<u64> {
    let key = show::plain(key);
    key.strip_prefix(NAME).or_else(|| key.strip_prefix(ARGUMENTS))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{
        super::parts::told::{fails, tells},
        *,
    };

    #[test]
    fn steps_in_the_order_of_their_numbers() {
        tells(
            &DIALECT,
            r#"[{
                "tool_name_10": "finish", "tool_args_10": {}, "observation_10": "Completed.",
                "thought_0": "look", "tool_name_0": "lookup", "tool_args_0": {"order": 42}, "observation_0": {"state": "late"},
                "tool_name_2": "refund", "tool_args_2": "{\"order\": 42}", "observation_2": "Execution error in refund: boom",
                "tool_name_3": "lookup", "observation_3": null
            }, {"trajectory": {"tool_name_0": "lookup", "tool_args_0": {}, "observation_0": 1}, "answer": "Done"}]"#,
            &[
                "- → -",
                r#"  lookup({"order": 42}) = {"state": "late"}"#,
                r#"  refund({"order": 42}) = "Execution error in refund: boom""#,
                "  lookup(null) = null",
                r#"  finish({}) = "Completed.""#,
                "- → -",
                "  lookup({}) = 1",
            ],
        );
    }

    #[test]
    fn what_is_malformed_is_an_error_with_its_place() {
        let first = r#"{"tool_name_0": "a"}"#;
        fails(&DIALECT, &format!("[{first}, []]"), "[1]: expected a trajectory of DSPy, an object, got a list");
        fails(
            &DIALECT,
            &format!(r#"[{first}, {{"tool_args_0": {{}}}}]"#),
            "[1].tool_name_0: a step of a trajectory has a tool; expected a string as tool_name_0",
        );
    }
}
