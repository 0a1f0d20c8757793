//! Requests to AIMon: what the user asked, what was answered, and a trace of the tools that were called.

use super::{
    Log, Unit,
    reading::{Reading, is_list, members_of},
};
use crate::{
    error::Error,
    trace::{
        messages::parts::{self, Keys, not_an_object},
        span::Span,
        stored::Found,
        time::Unit as Since,
    },
    value::Value,
};

pub const LOG: Log = Log { name: "aimon", title: "requests to AIMon", unit: Unit::Record, fits, read };

const CALL: Keys =
    Keys { id: &[], name: &["tool_name", "name"], arguments: &["request_payload", "arguments", "input"] };
const TRACE: &str = "tool_trace";

fn fits(record: Value<'_>) -> bool {
    is_list(record.get(TRACE))
}

fn read<'a>(found: &mut Found<'a>, records: &[Value<'a>]) -> Result<(), Error> {
    for (index, &record) in records.iter().enumerate() {
        if !matches!(record, Value::Object(_)) {
            found.problems.push(not_an_object("a request to AIMon", record).at_index(index));
            continue;
        }
        let mut reading = Reading::new(found.reader);
        reading.listener.asked(parts::text(record, &["user_query"]));
        let mut steps = Vec::new();
        reading.each(record, TRACE, |reading, step| {
            steps.push((order(step), span(reading, step)?));
            Ok(())
        });
        // Where all steps have a number, that is their order, whatever they are listed in.
        if steps.iter().all(|(order, _)| order.is_some()) {
            steps.sort_by(|(one, _), (other, _)| one.partial_cmp(other).unwrap_or(std::cmp::Ordering::Equal));
        }
        steps.into_iter().for_each(|(_, span)| reading.listener.done(span));
        reading.listener.said(parts::text(record, &["generated_text"]));
        let is_reported = is_list(record.get(TRACE));
        reading.finish(found, |error| error.at_index(index)).reported = is_reported;
    }
    Ok(())
}

fn order(step: Value<'_>) -> Option<f64> {
    match step.get("order")? {
        Value::Int(order) => Some(order as f64),
        Value::Float(order) if order.is_finite() => Some(order),
        _ => None,
    }
}

fn span<'a>(reading: &mut Reading<'a>, step: Value<'a>) -> Result<Span<'a>, Error> {
    let span = reading.call(step, &CALL)?;
    let other = ["tool_version", "retries"].map(|key| (key, step.get(key).unwrap_or(Value::Null)));
    Ok(Span {
        output: reading.output(step, &["response_payload", "output"]),
        status: parts::text(step, &["status"]),
        error: parts::error(reading.reader, step, &["error"]),
        started_at: reading.time(step, &["start_time"], Since::Guess),
        ended_at: reading.time(step, &["end_time"], Since::Guess),
        attributes: members_of(reading.reader, &other),
        ..span
    })
}

#[cfg(test)]
mod tests {
    use super::{super::reading::told::tells, *};

    #[test]
    fn tools_in_the_order_of_their_numbers() {
        tells(
            &LOG,
            r#"[
                {"user_query": "Refund 42", "generated_text": "Done.", "config": {}, "tool_trace": [
                    {"order": 2, "tool_name": "refund", "status": "error", "error": "closed", "retries": 1,
                     "request_payload": {"id": 42}, "response_payload": null},
                    {"order": 1, "tool_name": "look_up", "tool_version": "1.2", "status": "success",
                     "start_time": "2026-01-15T10:30:00Z", "end_time": "2026-01-15T10:30:02Z",
                     "request_payload": {"id": 42}, "response_payload": {"state": "late"}}]},
                {"user_query": "Hi", "generated_text": "Hello.", "tool_trace": [{"order": 1}, 5]}
            ]"#,
            &[
                "# -",
                "Refund 42 → Done.",
                r#"  look_up({"id": 42}) = {"state": "late"} is success 2026-01-15T10:30:00Z–2026-01-15T10:30:02Z {"tool_version": "1.2"}"#,
                r#"  refund({"id": 42}) = null is error ! closed {"retries": 1}"#,
                "# -",
                "Hi → Hello.",
                "  unknown tool(null) = null",
                "problem [1].tool_trace[0]: a tool call without a name; it is given as tool_name or name",
                "problem [1].tool_trace[1]: expected a tool call, an object, got a number",
            ],
        );
    }
}
