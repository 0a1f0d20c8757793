//! The Berkeley Function Calling Leaderboard: what models called, how that was scored, possible answers, and questions.
//!
//! A possible answer is read as if its calls had been made, each argument with the first of the values that are right;
//! one that may be left out is. Questions say nothing of tools.

use super::{
    Log, Unit, python_calls,
    reading::{EXPECTED, Reading, at, has_any, is_list},
};
use crate::{
    error::Error,
    text::Text,
    trace::{
        messages::parts::{self, not_an_object, word},
        span::Span,
        stored::Found,
    },
    value::{Member, Object, Value},
};

pub const LOG: Log = Log { name: "bfcl", title: "BFCL results", unit: Unit::Record, fits, read };

const ID: &str = "id";
/// The others are those of scores.
const RESULTS: &[&str] = &["result", "model_result_decoded", "model_result", "model_result_raw"];
const POSSIBLE: &str = "possible_answer";
const GROUND_TRUTH: &str = "ground_truth";
const QUESTION: &str = "question";
/// What stands beside a result.
const OF_RESULTS: &[&str] = &["inference_log", "latency", "input_token_count", "output_token_count"];
/// What stands beside a question.
const OF_QUESTIONS: &[&str] = &["function", "initial_config", "involved_classes", "missed_function"];

fn fits(record: Value<'_>) -> bool {
    has_any(record, &[ID])
        && (is_list(record.get(GROUND_TRUTH))
            || has_any(record, &["result"]) && (has_any(record, OF_RESULTS) || is_of_a_category(record))
            || has_any(record, RESULTS) && has_any(record, &["valid"])
            || is_question(record))
}

/// Ids are a category with a number: `live_simple_3-1-0`.
fn is_of_a_category(record: Value<'_>) -> bool {
    let Some(Value::Text(Text::Utf8(id))) = record.get(ID) else { return false };
    CATEGORIES.iter().any(|category| id.starts_with(category.as_bytes())) && id.last().is_some_and(u8::is_ascii_digit)
}

const CATEGORIES: &[&str] = &[
    "simple_",
    "java_",
    "javascript_",
    "multiple_",
    "parallel_",
    "irrelevance_",
    "relevance_",
    "live_",
    "multi_turn_",
    "exec_",
    "rest_",
    "memory_",
    "web_search_",
    "format_sensitivity_",
];

fn is_question(record: Value<'_>) -> bool {
    let are_turns = |turns: &[Value<'_>]| turns.iter().any(|turn| matches!(turn, Value::Array(_)));
    matches!(record.get(QUESTION), Some(Value::Array(turns)) if are_turns(turns)) && has_any(record, OF_QUESTIONS)
}

fn read<'a>(found: &mut Found<'a>, records: &[Value<'a>]) -> Result<(), Error> {
    for (index, &record) in records.iter().enumerate() {
        if !matches!(record, Value::Object(_)) {
            found.problems.push(not_an_object("a row of BFCL", record).at_index(index));
            continue;
        }
        let result = parts::found(record, RESULTS);
        // The first row of scores sums them up.
        if result.is_none() && !has_any(record, &[ID]) && has_any(record, &["accuracy"]) {
            continue;
        }
        let mut reading = Reading::new(found.reader);
        let asked = questions(&reading, record);
        let reported;
        if let Some((key, result)) = result {
            // Of an inference that failed, nothing is known.
            reported = !has_any(record, &["traceback"]);
            let place = |error: Error| error.at_key(Text::from(key));
            reading.inside(place, |reading| turns(reading, result, &asked, result_call));
        } else if let Some(truth) = record.get(GROUND_TRUTH) {
            let place = |error: Error| error.at_key(Text::from(GROUND_TRUTH));
            reading.inside(place, |reading| turns(reading, truth, &asked, possible_call));
            // Some tests are of what is said, and list answers.
            reported = matches!(truth, Value::Array([])) || reading.listener.last_call().is_some();
        } else {
            reported = false;
            reading.each(record, QUESTION, |reading, turn| match turn {
                Value::Array(messages) => {
                    reading.all(messages, question);
                    Ok(())
                }
                message => question(reading, message),
            });
        }
        let expected = expected(&mut reading, record);
        let id = parts::id(found.reader, record, &[ID]);
        let trace = reading.finish(found, |error| error.at_index(index));
        trace.id = id;
        trace.test_id = id;
        trace.reported = reported;
        trace.note(EXPECTED, expected);
        trace.note("success", record.get("valid"));
        trace.note("model", record.get("model_name"));
    }
    Ok(())
}

/// What the user asks in each turn, where the question stands beside.
fn questions<'a>(reading: &Reading<'a>, record: Value<'a>) -> Vec<Option<Text<'a>>> {
    let question = record.get(QUESTION).or(at(record, &["prompt", QUESTION])).or(record.get("prompt"));
    let Some(Value::Array(turns)) = question else { return Vec::new() };
    let asked = |turn: &Value<'a>| {
        let Value::Array(messages) = turn else { return None };
        let last = messages.iter().rev().find(|message| word(**message, "role", &["user"]).is_some())?;
        reading.said(last.get("content"))
    };
    turns.iter().map(asked).collect()
}

/// The possible answer beside a result.
fn expected<'a>(reading: &mut Reading<'a>, record: Value<'a>) -> Option<Value<'a>> {
    let possible = record.get(POSSIBLE)?;
    let mut other = Reading::new(reading.reader);
    other.inside(|error| error.at_key(Text::from(POSSIBLE)), |other| turns(other, possible, &[], possible_call));
    reading.problems.append(&mut other.problems);
    let spans = other.listener.finish().into_spans();
    let is_of_calls = !spans.is_empty() || matches!(possible, Value::Array([]));
    let calls: Vec<_> = spans.iter().map(|span| reading.expected_call(span.name, span.input)).collect();
    is_of_calls.then(|| reading.array(&calls))
}

fn question<'a>(reading: &mut Reading<'a>, message: Value<'a>) -> Result<(), Error> {
    if !matches!(message, Value::Object(_)) {
        return Err(not_an_object("a message", message));
    }
    let said = reading.said(message.get("content"));
    match word(message, "role", &["user", "assistant"]) {
        Some("user") => reading.listener.asked(said),
        Some(_) => reading.listener.said(said),
        None => {}
    }
    Ok(())
}

type ReadCall = for<'a> fn(&mut Reading<'a>, Object<'a>) -> Vec<Span<'a>>;

/// One turn, or a list of turns, each of which is a list.
fn turns<'a>(
    reading: &mut Reading<'a>,
    value: Value<'a>,
    asked: &[Option<Text<'a>>],
    read: ReadCall,
) -> Result<(), Error> {
    let mut asked = asked.iter().copied();
    match value {
        Value::Array(turns) if turns.iter().any(|turn| matches!(turn, Value::Array(_))) => {
            reading.all(turns, |reading, turn| {
                reading.listener.asked(asked.next().flatten());
                step(reading, turn, read, 0)
            });
            Ok(())
        }
        _ => {
            reading.listener.asked(asked.next().flatten());
            step(reading, value, read, 0)
        }
    }
}

/// A turn has steps, and a step has calls: as objects, or as a text. Any other text is said.
fn step<'a>(reading: &mut Reading<'a>, value: Value<'a>, read: ReadCall, level: usize) -> Result<(), Error> {
    match value {
        Value::Null => Ok(()),
        Value::Array(items) if level < MOST_LEVELS => {
            reading.all(items, |reading, item| step(reading, item, read, level + 1));
            Ok(())
        }
        Value::Object(members) => {
            for span in read(reading, members) {
                reading.listener.called(span);
            }
            Ok(())
        }
        Value::Text(text) => {
            match python_calls::calls(reading.reader, text) {
                Some(calls) => calls.into_iter().for_each(|span| reading.listener.called(span)),
                None if is_no_calls(text) => {}
                None => reading.listener.said(Some(text)),
            }
            Ok(())
        }
        other => Err(Error::wrong_type(format!("expected calls, got {}", other.kind()))),
    }
}

/// A list of turns of steps of calls.
const MOST_LEVELS: usize = 4;

fn is_no_calls(text: Text<'_>) -> bool {
    let text = text.utf8();
    text.trim_ascii() == b"[]"
}

/// `{name: arguments}`, mostly as JSON text.
fn result_call<'a>(reading: &mut Reading<'a>, members: Object<'a>) -> Vec<Span<'a>> {
    let span = |member: &Member<'a>| {
        let mut input = Value::Null;
        reading.inside(
            |error| error,
            |reading| {
                let key = member.key.utf8();
                input = reading.arguments(member.value, &String::from_utf8_lossy(&key));
                Ok(())
            },
        );
        Span { input, ..Span::new(member.key) }
    };
    members.iter().map(span).collect()
}

/// `{name: {argument: [values that are right]}}`.
fn possible_call<'a>(reading: &mut Reading<'a>, members: Object<'a>) -> Vec<Span<'a>> {
    let span = |member: &Member<'a>| Span { input: first_right(reading, member.value), ..Span::new(member.key) };
    members.iter().map(span).collect()
}

fn first_right<'a>(reading: &Reading<'a>, possible: Value<'a>) -> Value<'a> {
    let Value::Object(members) = possible else { return possible };
    let right = members.iter().filter_map(|&Member { key, value }| match value {
        Value::Array([Value::Text(first), ..]) if first.is_empty() => None,
        Value::Array([first, ..]) => Some(Member { key, value: one_of(reading, *first) }),
        Value::Array([]) => None,
        value => Some(Member { key, value }),
    });
    let right: Vec<_> = right.collect();
    Value::Object(reading.reader.bump.alloc_slice_copy(&right))
}

/// Inside of an argument, too, each key has a list of values that are right.
fn one_of<'a>(reading: &Reading<'a>, value: Value<'a>) -> Value<'a> {
    match value {
        Value::Object(members) if members.iter().all(|member| matches!(member.value, Value::Array(_))) => {
            first_right(reading, value)
        }
        Value::Array(items) if items.iter().all(|item| matches!(item, Value::Object(_))) => {
            let items: Vec<_> = items.iter().map(|item| one_of(reading, *item)).collect();
            reading.array(&items)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::{super::reading::told::tells, *};

    #[test]
    fn what_models_called() {
        tells(
            &LOG,
            r#"[
                {"id": "parallel_0", "result": [{"area": "{\"base\": 10}"}, {"math.sum": {"a": 1}}], "latency": 1.5},
                {"id": "simple_1", "result": "[area(base=10), sort('x')]", "latency": 1},
                {"id": "irrelevance_2", "result": "I can't do that.", "output_token_count": 3},
                {"id": "irrelevance_3", "result": []},
                {"id": "simple_9", "result": "Error during inference: x", "traceback": "…"},
                {"id": "multi_turn_4", "latency": [[1]], "result": [
                    [[{"cd": "{\"folder\": \"a\"}"}, {"ls": "{}"}], [{"mv": "{"}], "Moved."], ["[pwd()]", "Here."], [], [7]]},
                7
            ]"#,
            &[
                "# parallel_0 test parallel_0",
                "- → -",
                r#"  area({"base": 10}) = null"#,
                r#"  math.sum({"a": 1}) = null"#,
                "# simple_1 test simple_1",
                "- → -",
                r#"  area({"base": 10}) = null"#,
                r#"  sort(["x"]) = null"#,
                "# irrelevance_2 test irrelevance_2",
                "- → I can't do that.",
                "# irrelevance_3 test irrelevance_3",
                "- → -",
                "# simple_9 test simple_9 (not reported)",
                "- → Error during inference: x",
                "# multi_turn_4 test multi_turn_4",
                "- → Moved.",
                r#"  cd({"folder": "a"}) = null"#,
                "  ls({}) = null",
                r#"  mv("{") = null"#,
                "- → Here.",
                "  pwd({}) = null",
                "- → -",
                "- → -",
                "problem [5].result[3][0]: expected calls, got a number",
                "problem [6]: expected a row of BFCL, an object, got a number",
            ],
        );
    }

    #[test]
    fn possible_answers_with_the_first_value_that_is_right() {
        tells(
            &LOG,
            r#"[
                {"id": "simple_0", "ground_truth": [{"area": {"base": [10, 10.5], "unit": ["", "m"], "sizes": [[1, 2]],
                    "box": [{"w": [1], "h": ["", 2]}], "none": []}}, {"noop": {}}]},
                {"id": "multi_turn_1", "ground_truth": [["cd(folder='a')", "sort('b')"], [], ["ls(a=True)"]]},
                {"id": "memory_2", "ground_truth": ["blue", "navy blue"]}
            ]"#,
            &[
                "# simple_0 test simple_0",
                "- → -",
                r#"  area({"base": 10, "sizes": [1, 2], "box": {"w": 1}}) = null"#,
                "  noop({}) = null",
                "# multi_turn_1 test multi_turn_1",
                "- → -",
                r#"  cd({"folder": "a"}) = null"#,
                r#"  sort(["b"]) = null"#,
                "- → -",
                "- → -",
                r#"  ls({"a": true}) = null"#,
                "# memory_2 test memory_2 (not reported)",
                "- → navy blue",
            ],
        );
    }

    #[test]
    fn scores_have_both() {
        tells(
            &LOG,
            r#"[
                {"accuracy": 0.5, "correct_count": 1, "total_count": 2},
                {"id": "simple_0", "model_name": "m", "valid": false, "error": ["x"], "prompt": {"id": "simple_0", "question":
                    [[{"role": "user", "content": "How big?"}]]}, "model_result_raw": "[area(base=1)]",
                 "model_result_decoded": [{"area": {"base": 1}}], "possible_answer": [{"area": {"base": [10], "unit": [""]}}]},
                {"id": "multi_turn_1", "valid": false, "model_result_decoded": [[["ls()"]], [["pwd()"]]],
                 "question": [[{"role": "user", "content": "What?"}], [{"role": "user", "content": "Where?"}]],
                 "possible_answer": [["cd(folder='a')"], ["pwd()"]]}
            ]"#,
            &[
                r#"# simple_0 test simple_0 expected_tool_calls=[{"name": "area", "arguments": {"base": 10}}] success=false model="m""#,
                "How big? → -",
                r#"  area({"base": 1}) = null"#,
                r#"# multi_turn_1 test multi_turn_1 expected_tool_calls=[{"name": "cd", "arguments": {"folder": "a"}}, {"name": "pwd", "arguments": {}}] success=false"#,
                "What? → -",
                "  ls({}) = null",
                "Where? → -",
                "  pwd({}) = null",
            ],
        );
    }

    #[test]
    fn questions_say_nothing_of_tools() {
        tells(
            &LOG,
            r#"[{"id": "live_0", "function": [{"name": "area", "parameters": {}}], "question": [
                [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "How big?"}],
                [{"role": "user", "content": "And this?"}, 7]]}]"#,
            &[
                "# live_0 test live_0 (not reported)",
                "How big? → -",
                "And this? → -",
                "problem [0].question[1][1]: expected a message, an object, got a number",
            ],
        );
    }
}
