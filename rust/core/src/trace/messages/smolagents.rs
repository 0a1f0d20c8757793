//! The memory of smolagents: a task, then steps with calls and what was observed.

use super::{
    Dialect,
    parts::{self, each, each_of, found, not_an_object},
};
use crate::{
    call::Reader,
    error::Error,
    text::Text,
    trace::{
        span::{self, Span},
        turns::Listener,
    },
    value::Value,
};

pub const DIALECT: Dialect = Dialect { word: "smolagents", name: "smolagents steps", fits, read };

const STEPS: &str = "steps";
const STEP_NUMBER: &str = "step_number";
const TASK: &str = "task";
const TOOL_CALLS: &str = "tool_calls";
const MODEL_OUTPUT: &str = "model_output_message";
const OBSERVATIONS: &str = "observations";
const ACTION_OUTPUT: &str = "action_output";
const ERROR: &str = "error";
/// Instructions, plans, and the final answer, which the last step has too.
const OTHERS: &[&str] = &["system_prompt", "plan", "output"];

fn fits(messages: &[Value<'_>]) -> bool {
    let is_step = |step: &Value<'_>| {
        step.get(STEP_NUMBER).is_some() && [OBSERVATIONS, ACTION_OUTPUT].iter().any(|key| step.get(key).is_some())
    };
    let is_run = |run: &Value<'_>| matches!(run.get(STEPS), Some(Value::Array(steps)) if steps.iter().any(is_step));
    messages.iter().any(|message| is_step(message) || is_run(message))
}

fn read<'a>(reader: Reader<'a>, steps: &[Value<'a>], listener: &mut Listener<'a>) -> Result<(), Error> {
    each(steps, |step| match step.get(STEPS) {
        // The result of a run.
        Some(Value::Array(_)) => each_of(step, STEPS, |step| listen(reader, step, listener)),
        _ => listen(reader, step, listener),
    })
}

fn listen<'a>(reader: Reader<'a>, step: Value<'a>, listener: &mut Listener<'a>) -> Result<(), Error> {
    let Value::Object(members) = step else { return Err(not_an_object("a step of smolagents", step)) };
    if step.get(STEP_NUMBER).is_some() {
        return listen_to_action(reader, step, listener);
    }
    if step.get(TASK).is_some() {
        listener.asked(parts::text(step, &[TASK]));
        return Ok(());
    }
    if found(step, OTHERS).is_some() {
        return Ok(());
    }
    for member in members.iter().filter(|member| !matches!(member.value, Value::Null)) {
        parts::reject_calls(member.key, "the key of a step", &[STEP_NUMBER, TASK])?;
    }
    Err(Error::value(format!("expected a step of smolagents, with {STEP_NUMBER} or {TASK}")))
}

fn listen_to_action<'a>(reader: Reader<'a>, step: Value<'a>, listener: &mut Listener<'a>) -> Result<(), Error> {
    // The calls of a step that failed may be kept only where the model said them.
    let (holder, key) = match (step.get(TOOL_CALLS), step.get(MODEL_OUTPUT)) {
        (None | Some(Value::Null | Value::Array([])), Some(message @ Value::Object(_))) => {
            (message, Some(MODEL_OUTPUT))
        }
        _ => (step, None),
    };
    // A step has one text for all that was observed in it, and one error. Whose they are is only known of a single call.
    let is_single = matches!(holder.get(TOOL_CALLS), Some(Value::Array([_])));
    let (output, error) = match is_single {
        true => (parts::output(reader, step, &[OBSERVATIONS, ACTION_OUTPUT])?, error(reader, step)),
        false => (Value::Null, None),
    };
    let read = each_of(holder, TOOL_CALLS, |call| {
        listener.done(Span { output, error, status: error.map(|_| Text::from(ERROR)), ..Span::read(reader, call)? });
        Ok(())
    });
    read.map_err(|error| match key {
        Some(key) => error.at_key(Text::from(key)),
        None => error,
    })?;
    if let (Some(Value::True), Some((_, answer))) =
        (step.get("is_final_answer"), found(step, &[ACTION_OUTPUT, OBSERVATIONS]))
    {
        listener.said(Some(match answer {
            Value::Text(text) => text,
            other => span::json_text(other, reader.bump),
        }));
    }
    Ok(())
}

/// `{"type": …, "message": …}`, or a text.
fn error<'a>(reader: Reader<'a>, step: Value<'a>) -> Option<Text<'a>> {
    let message = step.get(ERROR).and_then(|error| parts::text(error, &["message"]));
    message.or_else(|| parts::error(reader, step, &[ERROR]))
}

#[cfg(test)]
mod tests {
    use super::{
        super::parts::told::{fails, tells},
        *,
    };

    #[test]
    fn observations_belong_to_a_call_that_is_alone_in_its_step() {
        tells(
            &DIALECT,
            r#"[
                {"system_prompt": "Help."},
                {"task": "Refund 42", "task_images": null},
                {"plan": "Look, then refund.", "model_input_messages": []},
                {"step_number": 1, "tool_calls": [
                    {"id": "1", "type": "function", "function": {"name": "lookup", "arguments": {"order": 42}}}],
                 "observations": "late", "error": null, "action_output": null, "is_final_answer": false},
                {"step_number": 2, "tool_calls": [
                    {"id": "2", "type": "function", "function": {"name": "a", "arguments": {}}},
                    {"id": "3", "name": "b", "arguments": {"x": 1}}],
                 "observations": "1\n2", "error": null, "action_output": null, "is_final_answer": false},
                {"step_number": 3, "tool_calls": [
                    {"id": "4", "type": "function", "function": {"name": "python_interpreter", "arguments": "refund(42)"}}],
                 "observations": null, "error": {"type": "AgentExecutionError", "message": "closed"},
                 "action_output": null, "is_final_answer": false},
                {"step_number": 4, "tool_calls": null, "observations": null, "error": {"type": "E", "message": "x"},
                 "model_output_message": null},
                {"step_number": 4, "tool_calls": [], "observations": null, "error": {"type": "E", "message": "no"},
                 "model_output_message": {"role": "assistant", "content": "hm", "tool_calls": [
                    {"id": "6", "type": "function", "function": {"name": "boom", "arguments": {"x": 1}}}]}},
                {"step_number": 5, "tool_calls": [{"id": "5", "name": "final_answer", "arguments": {"answer": "Done"}}],
                 "observations": "Done", "action_output": null, "is_final_answer": true},
                {"output": "Done"},
                {"task": "And 43?"}
            ]"#,
            &[
                "Refund 42 → Done",
                r#"  lookup({"order": 42}) = "late" #1"#,
                "  a({}) = null #2",
                r#"  b({"x": 1}) = null #3"#,
                r#"  python_interpreter("refund(42)") = null #4 is error ! closed"#,
                r#"  boom({"x": 1}) = null #6 is error ! no"#,
                r#"  final_answer({"answer": "Done"}) = "Done" #5"#,
                "And 43? → -",
            ],
        );
    }

    #[test]
    fn the_result_of_a_run() {
        tells(
            &DIALECT,
            r#"[{"output": "Done", "state": "success", "steps": [{"task": "one"},
                {"step_number": 1, "tool_calls": [], "observations": null, "action_output": "Done", "is_final_answer": true}]}]"#,
            &["one → Done"],
        );
        fails(
            &DIALECT,
            r#"[{"steps": [{"step_number": 1, "observations": null}, 7]}]"#,
            "[0].steps[1]: expected a step of smolagents, an object, got a number",
        );
    }

    #[test]
    fn what_is_malformed_is_an_error_with_its_place() {
        for (step, error) in [
            ("7", "[1]: expected a step of smolagents, an object, got a number"),
            (r#"{"steps": 2}"#, "[1]: expected a step of smolagents, with step_number or task"),
            (
                r#"{"tool_calls": [{"name": "f"}]}"#,
                "[1]: the key of a step is one of step_number, task, not \"tool_calls\"",
            ),
            (
                r#"{"step_number": 2, "tool_calls": [{"arguments": {}}]}"#,
                "[1].tool_calls[0]: a tool call without a name; it is given as name or tool_name",
            ),
            (r#"{"step_number": 2, "tool_calls": "f"}"#, "[1].tool_calls: expected a list, got a string"),
        ] {
            fails(&DIALECT, &format!(r#"[{{"step_number": 1, "observations": null}}, {step}]"#), error);
        }
    }
}
