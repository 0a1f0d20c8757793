//! Results of tau-bench: for each run of a task its conversation, in chat messages, and the calls that were right.

use super::{
    Log, Unit,
    reading::{EXPECTED, Reading, at, is_list},
};
use crate::{
    error::Error,
    trace::{
        messages::parts::{self, Keys, not_an_object},
        stored::Found,
    },
    value::Value,
};

pub const LOG: Log = Log { name: "tau_bench", title: "results of tau-bench", unit: Unit::Record, fits, read };

const ACTIONS: Keys = Keys { id: &[], name: &["name"], arguments: &["kwargs", "arguments"] };

fn fits(record: Value<'_>) -> bool {
    is_list(record.get("traj")) && record.get("task_id").is_some()
}

fn read<'a>(found: &mut Found<'a>, records: &[Value<'a>]) -> Result<(), Error> {
    for (index, &record) in records.iter().enumerate() {
        if !matches!(record, Value::Object(_)) {
            found.problems.push(not_an_object("a result of tau-bench", record).at_index(index));
            continue;
        }
        let mut reading = Reading::new(found.reader);
        reading.messages(record, "traj");
        let task = at(record, &["info", "task"]).unwrap_or(Value::Null);
        let mut expected = None;
        let place = |error: Error| error.at_key("task".into()).at_key("info".into());
        reading.inside(place, |reading| {
            expected = reading.expected(task, "actions", &ACTIONS);
            Ok(())
        });
        let id = parts::id(found.reader, record, &["task_id"]);
        let trace = reading.finish(found, |error| error.at_index(index));
        trace.id = id;
        trace.test_id = id;
        trace.note(EXPECTED, expected);
        trace.note("reward", record.get("reward"));
        trace.note("trial", record.get("trial"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{super::reading::told::tells, *};

    #[test]
    fn a_run_of_a_task_with_the_calls_that_were_right() {
        tells(
            &LOG,
            r#"[
                {"task_id": 3, "reward": 0.0, "trial": 1, "info": {"task": {"user_id": "ann", "actions": [
                    {"name": "cancel", "kwargs": {"order": 42}}, {"name": "note", "kwargs": {}}, {"kwargs": {}}, {"name": "", "kwargs": {}}]}},
                 "traj": [
                    {"role": "system", "content": "Be kind."},
                    {"role": "user", "content": "Cancel it"},
                    {"role": "assistant", "content": null, "tool_calls": [
                        {"id": "c", "type": "function", "function": {"name": "look_up", "arguments": "{\"order\": 42}"}}]},
                    {"role": "tool", "tool_call_id": "c", "name": "look_up", "content": "Error: late"},
                    {"role": "user", "content": "STOP"}]},
                {"task_id": 4, "reward": 1.0, "info": {"task": {"actions": []}},
                 "traj": [{"role": "user", "content": "Hi"}, {"role": "assistant"}, {"role": "assistant", "content": "Yes?"}]},
                7
            ]"#,
            &[
                r#"# 3 test 3 expected_tool_calls=[{"name": "cancel", "arguments": {"order": 42}}, {"name": "note", "arguments": {}}] reward=0.0 trial=1"#,
                "Cancel it → -",
                r#"  look_up({"order": 42}) = "Error: late" #c"#,
                "STOP → -",
                "# 4 test 4 expected_tool_calls=[] reward=1.0",
                "Hi → Yes?",
                "problem [0].info.task.actions[2]: a tool call without a name; it is given as name",
                "problem [0].info.task.actions[3].name: a tool call with an empty name",
                "problem [1].traj[1]: an assistant message has content, tool_calls or function_call",
                "problem [2]: expected a result of tau-bench, an object, got a number",
            ],
        );
    }
}
