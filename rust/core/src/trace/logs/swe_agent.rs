//! Trajectories of SWE-agent, and of mini-SWE-agent.
//!
//! The history is what counts: steps of the trajectory say the same again, with a command as text. Where no calls of
//! tools are recorded, because the model wrote commands, each command is a call: its first word is the tool's name.

use super::{
    Log, Unit,
    reading::{Reading, answer, at, has_any, is_list},
};
use crate::{
    error::Error,
    text::Text,
    trace::{
        decode,
        messages::{
            chat,
            parts::{self, not_an_object, word},
        },
        span::Span,
        stored::Found,
    },
    value::Value,
};

pub const LOG: Log = Log { name: "swe_agent", title: "trajectories of SWE-agent", unit: Unit::Record, fits, read };

const HISTORY: &str = "history";
const TRAJECTORY: &str = "trajectory";
const MESSAGES: &str = "messages";
const FORMAT: &str = "trajectory_format";
const TOOL_CALLS: &str = "tool_calls";
const ACTION: &str = "action";
const CONTENT: &str = "content";
/// The one tool of mini-SWE-agent.
const BASH: &str = "bash";
const COMMAND: &str = "command";

fn fits(record: Value<'_>) -> bool {
    is_mini(record) || is_list(record.get(TRAJECTORY)) && has_any(record, &[HISTORY, "environment"])
}

fn is_mini(record: Value<'_>) -> bool {
    record.get(FORMAT).is_some() && is_list(record.get(MESSAGES))
}

fn read<'a>(found: &mut Found<'a>, records: &[Value<'a>]) -> Result<(), Error> {
    for (index, &record) in records.iter().enumerate() {
        if !matches!(record, Value::Object(_)) {
            found.problems.push(not_an_object("a trajectory of SWE-agent", record).at_index(index));
            continue;
        }
        let mut reading = Reading::new(found.reader);
        let config = decode::decoded(found.reader, record.get("replay_config").unwrap_or(Value::Null));
        let (test, model) = if is_mini(record) {
            let mut awaits = false;
            reading.each(record, MESSAGES, |reading, item| mini(reading, item, &mut awaits));
            (parts::id(found.reader, record, &["instance_id"]), at(record, &["info", "config", "model", "model_name"]))
        } else {
            match record.get(HISTORY) {
                Some(Value::Array([_, ..])) => history(&mut reading, record),
                _ => reading.each(record, TRAJECTORY, step),
            }
            let problem = config.get("problem_statement").unwrap_or(Value::Null);
            (parts::id(found.reader, problem, &["id"]), at(config, &["agent", "model", "name"]))
        };
        let trace = reading.finish(found, |error| error.at_index(index));
        trace.test_id = test;
        trace.note("model", model);
        trace.note("exit_status", at(record, &["info", "exit_status"]));
    }
    Ok(())
}

fn history<'a>(reading: &mut Reading<'a>, record: Value<'a>) {
    // What comes of a command that the model wrote is told by a user.
    let mut awaits = false;
    reading.each(record, HISTORY, |reading, entry| {
        let roles = ["user", "assistant", "tool", "system"];
        let role = parts::one_word(entry, "role", "the role of an entry", &roles)?;
        // What another run did, shown to the model.
        if matches!(entry.get("is_demo"), Some(Value::True)) {
            return Ok(());
        }
        let agent = parts::text(entry, &["agent"]);
        match role {
            "assistant" => {
                awaits = false;
                let calls = reading.list(entry, TOOL_CALLS);
                if calls.is_empty() {
                    if let Some(action) = parts::text(entry, &[ACTION]).filter(|action| !action.is_blank()) {
                        reading.listener.called(Span { agent, ..command(reading, action) });
                        awaits = true;
                    }
                } else {
                    calls_of(reading, entry, agent);
                }
                let said = reading.said(entry.get(CONTENT));
                reading.listener.said(said);
            }
            "tool" => result(reading, entry),
            "user" if awaits => {
                awaits = false;
                let output = reading.output(entry, &[CONTENT]);
                reading.listener.answered(answer(None, output));
            }
            "user" => {
                let said = reading.said(entry.get(CONTENT));
                reading.listener.asked(said);
            }
            _ => {}
        }
        Ok(())
    });
}

fn calls_of<'a>(reading: &mut Reading<'a>, entry: Value<'a>, agent: Option<Text<'a>>) {
    reading.each(entry, TOOL_CALLS, |reading, item| {
        let span = chat::span(reading.reader, item)?;
        reading.listener.called(Span { agent, ..span });
        Ok(())
    });
}

/// The result of the calls of a step, which is one text: whose it is, is only known of a single call.
fn result<'a>(reading: &mut Reading<'a>, entry: Value<'a>) {
    let output = reading.output(entry, &[CONTENT]);
    match entry.get("tool_call_ids") {
        Some(Value::Array([Value::Text(id)])) => reading.listener.answered(answer(Some(*id), output)),
        Some(Value::Array([_, _, ..])) => {}
        _ => {
            let id = parts::id(reading.reader, entry, &["tool_call_id"]);
            reading.listener.answered(answer(id, output));
        }
    }
}

/// A step without a history.
fn step<'a>(reading: &mut Reading<'a>, step: Value<'a>) -> Result<(), Error> {
    if !matches!(step, Value::Object(_)) {
        return Err(not_an_object("a step of a trajectory", step));
    }
    if let Some(action) = parts::text(step, &[ACTION]).filter(|action| !action.is_blank()) {
        let output = reading.output(step, &["observation"]);
        let span = command(reading, action);
        reading.listener.done(Span { output, ..span });
    }
    reading.listener.said(parts::text(step, &["thought", "response"]));
    Ok(())
}

/// `open "a b.py" 12` calls `open` with the text that follows. A command alone has nothing to it.
fn command<'a>(reading: &Reading<'a>, action: Text<'a>) -> Span<'a> {
    let action = action.utf8_in(reading.reader.bump).trim_ascii();
    let end = action.iter().position(u8::is_ascii_whitespace).unwrap_or(action.len());
    let (name, rest) = action.split_at(end);
    let input = match rest.trim_ascii() {
        [] => Value::Object(&[]),
        rest => Value::Text(Text::Utf8(rest)),
    };
    Span { input, ..Span::new(Text::Utf8(name)) }
}

/// A message of mini-SWE-agent: of a chat, of the Responses API, or with commands that were found in the text.
fn mini<'a>(reading: &mut Reading<'a>, message: Value<'a>, awaits: &mut bool) -> Result<(), Error> {
    if !matches!(message, Value::Object(_)) {
        return Err(not_an_object("a message", message));
    }
    let Some(role) = word(message, "role", &["user", "assistant", "tool", "system", "exit"]) else {
        // Items and responses of the Responses API.
        return match has_any(message, &["output", "type", "object"]) {
            true => reading.hear(message),
            false => parts::one_word(message, "role", "the role of a message", &["user", "assistant"]).map(drop),
        };
    };
    match role {
        "assistant" if matches!(message.get(TOOL_CALLS), Some(Value::Array([_, ..]))) => {
            *awaits = false;
            calls_of(reading, message, None);
            let said = reading.said(message.get(CONTENT));
            reading.listener.said(said);
        }
        "assistant" => {
            let said = reading.said(message.get(CONTENT));
            let actions = at(message, &["extra", "actions"]);
            let commands: Vec<_> = match actions {
                Some(Value::Array(actions)) => actions.iter().filter_map(|action| written(*action)).collect(),
                _ => said.and_then(|said| only_block(said.utf8_in(reading.reader.bump))).into_iter().collect(),
            };
            *awaits = !commands.is_empty();
            for command in commands {
                let input = reading.object(&[(COMMAND, Value::Text(command))]);
                reading.listener.called(Span { input, ..Span::new(Text::from(BASH)) });
            }
            reading.listener.said(said);
        }
        "tool" => result(reading, message),
        "user" if *awaits => {
            *awaits = false;
            let output = reading.output(message, &[CONTENT]);
            reading.listener.answered(answer(None, output));
        }
        "user" => {
            let said = reading.said(message.get(CONTENT));
            reading.listener.asked(said);
        }
        _ => {}
    }
    Ok(())
}

fn written<'a>(action: Value<'a>) -> Option<Text<'a>> {
    match action {
        Value::Text(command) => Some(command),
        action => parts::text(action, &[COMMAND]),
    }
}

/// The command in the one block of a text that is marked as one, which is how the first versions asked for it.
fn only_block(text: &[u8]) -> Option<Text<'_>> {
    let mut blocks = Vec::new();
    let mut rest = std::str::from_utf8(text).ok()?;
    while blocks.len() < 2
        && let Some((_, after)) = rest.split_once("```bash").or_else(|| rest.split_once("```mswea_bash_command"))
    {
        let (_, inside) = after.split_once('\n')?;
        let (block, next) = inside.split_once("\n```")?;
        blocks.push(block);
        rest = next;
    }
    match *blocks {
        [block] => Some(Text::from(block.trim())).filter(|block| !block.is_empty()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{super::reading::told::tells, *};

    #[test]
    fn a_history_with_calls() {
        tells(
            &LOG,
            r#"[{"environment": "main", "info": {"exit_status": "submitted"},
                "replay_config": "{\"agent\": {\"model\": {\"name\": \"m\"}}, \"problem_statement\": {\"id\": \"repo-1\"}}",
                "trajectory": [{"action": "create a.py", "observation": "ok"}],
                "history": [
                    {"role": "system", "content": "Fix.", "agent": "main", "message_type": "system_prompt"},
                    {"role": "user", "content": "A demonstration", "agent": "main", "is_demo": true},
                    {"role": "user", "content": "Fix it", "agent": "main", "message_type": "observation"},
                    {"role": "assistant", "content": "First", "action": "create a.py", "agent": "main", "tool_calls": [
                        {"function": {"arguments": "{\"filename\":\"a.py\"}", "name": "create"}, "id": "x", "type": "function"}]},
                    {"role": "tool", "content": "ok", "agent": "main", "tool_call_ids": ["x"]},
                    {"role": "assistant", "content": "Then", "action": "ls", "agent": "main", "tool_calls": [
                        {"function": {"arguments": "{\"command\":\"ls\"}", "name": "bash"}, "id": "x", "type": "function"},
                        {"function": {"name": null}}]},
                    {"role": "tool", "content": "", "agent": "main", "tool_call_ids": ["x"]},
                    7]}]"#,
            &[
                r#"# - test repo-1 model="m" exit_status="submitted""#,
                "Fix it → Then",
                r#"  create({"filename": "a.py"}) = "ok" #x @main"#,
                r#"  bash({"command": "ls"}) = "" #x @main"#,
                "problem [0].history[5].tool_calls[1]: a tool call without a name; it is given as name or tool_name",
                "problem [0].history[7]: expected what the others of this list are, an object, got a number",
            ],
        );
    }

    #[test]
    fn commands_as_text() {
        tells(
            &LOG,
            r#"[{"environment": "main", "trajectory": [], "history": [
                    {"role": "user", "content": "Fix it", "agent": "primary"},
                    {"role": "assistant", "content": "I open it", "thought": "I open it", "action": "open \"a b.py\" 12\n",
                     "agent": "primary"},
                    {"role": "user", "content": "[File: a b.py]", "agent": "primary"},
                    {"role": "assistant", "content": "Done", "action": "submit", "agent": "primary"},
                    {"role": "assistant", "content": "I wait", "action": ""},
                    {"role": "user", "content": "And more"}]},
                {"environment": "main", "trajectory": [
                    {"action": "ls -F", "observation": "a.py\n", "thought": "Look"},
                    {"action": "", "observation": "?", "response": "Hm"}]}]"#,
            &[
                "# -",
                "Fix it → I wait",
                r#"  open("\"a b.py\" 12") = "[File: a b.py]" @primary"#,
                "  submit({}) = null @primary",
                "And more → -",
                "# -",
                "- → Hm",
                r#"  ls("-F") = "a.py\n""#,
            ],
        );
    }

    #[test]
    fn messages_of_the_mini_one() {
        tells(
            &LOG,
            r#"[{"trajectory_format": "mini-swe-agent-1.1", "instance_id": "repo-2",
                "info": {"exit_status": "Submitted", "config": {"model": {"model_name": "m"}}}, "messages": [
                    {"role": "system", "content": "Fix."}, {"role": "user", "content": "Fix it"},
                    {"role": "assistant", "content": "Look", "extra": {"actions": [{"command": "ls", "tool_call_id": "1"}]},
                     "tool_calls": [{"id": "1", "type": "function", "function": {"name": "bash", "arguments": "{\"command\": \"ls\"}"}}]},
                    {"role": "tool", "tool_call_id": "1", "content": "a.py", "extra": {"returncode": 0}},
                    {"role": "assistant", "content": "THOUGHT: now", "tool_calls": [], "extra": {"actions": ["cat a.py"]}},
                    {"role": "user", "content": "x = 1"},
                    {"role": "assistant", "content": "So:\n```bash\nrm a.py\n```"},
                    {"role": "user", "content": ""},
                    {"role": "assistant", "content": "Two:\n```bash\na\n```\n```bash\nb\n```"},
                    {"role": "user", "content": "Only one, please"},
                    {"type": "function_call", "call_id": "9", "name": "bash", "arguments": "{\"command\": \"true\"}"},
                    {"type": "function_call_output", "call_id": "9", "output": "done"},
                    {"role": "exit", "content": "Submitted"}, {"role": "guest", "content": "x"}]}]"#,
            &[
                r#"# - test repo-2 model="m" exit_status="Submitted""#,
                "Fix it → Two:\\n```bash\\na\\n```\\n```bash\\nb\\n```",
                r#"  bash({"command": "ls"}) = "a.py" #1"#,
                r#"  bash({"command": "cat a.py"}) = "x = 1""#,
                r#"  bash({"command": "rm a.py"}) = """#,
                "Only one, please → -",
                r#"  bash({"command": "true"}) = "done" #9"#,
                r#"problem [0].messages[13].role: the role of a message is one of user, assistant, not "guest""#,
            ],
        );
    }
}
