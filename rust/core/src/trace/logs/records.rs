//! Records as `callmatch score` takes them: the calls of a run, and perhaps those that were expected.

use super::{Log, Unit};
use crate::{
    error::Error,
    text::Text,
    trace::{
        self, span,
        stored::{Found, Trace},
        turns::Conversation,
    },
    value::Value,
};

pub const LOG: Log = Log { name: "records", title: "records with tool calls", unit: Unit::Record, fits, read };

const CALLS: &str = "tool_calls";
const EXPECTED: &str = "expected_tool_calls";
/// What says that the calls are those of a run.
const OWN: &[&str] = &[EXPECTED, "trace_id", "conversation_id", "test_id"];
/// What others have beside calls under this key.
const OF_OTHERS: &[&str] = &["role", "messages", "test_configuration", "type", "delta"];

fn fits(record: Value<'_>) -> bool {
    let is_list = |key| matches!(record.get(key), Some(Value::Array(_)));
    let is_ours = is_list(CALLS) && OWN.iter().any(|key| record.get(key).is_some())
        || is_list(EXPECTED) && record.get(CALLS).is_some();
    is_ours && OF_OTHERS.iter().all(|key| record.get(key).is_none())
}

fn read<'a>(found: &mut Found<'a>, records: &[Value<'a>]) -> Result<(), Error> {
    for (place, &record) in records.iter().enumerate() {
        let at = |error: Error| error.at_key(Text::from(CALLS)).at_index(place);
        let calls = trace::tool_calls(found.reader, record.get(CALLS).unwrap_or_default()).map_err(at)?;
        let mut conversation = Conversation::default();
        conversation.open(record.get("input").unwrap_or_default());
        conversation.close(record.get("output").unwrap_or_default());
        let reported = calls.is_some();
        calls.into_iter().flatten().for_each(|call| conversation.push(call));
        let id = |key| span::word(record.get(key)?, found.reader.bump);
        let mut trace = Trace::new(conversation);
        trace.reported = reported;
        trace.id = id("trace_id").or(id("id"));
        trace.conversation_id = id("conversation_id");
        trace.test_id = id("test_id");
        trace.note(EXPECTED, record.get(EXPECTED));
        found.traces.push(trace);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;

    use super::*;
    use crate::{call::Reader, show};

    #[test]
    fn a_record_is_a_trace_of_one_turn() {
        let bump = Bump::new();
        let text = br#"{"id": 7, "input": "hi", "tool_calls": [{"name": "a", "arguments": "{}", "output": 1}],
            "expected_tool_calls": [{"name": "a"}]}"#;
        let (record, reader) = Reader::parse(text, &bump).unwrap();
        assert!(fits(record));
        let mut found = Found::new(reader);
        read(&mut found, &[record]).unwrap();
        let [trace] = &found.traces[..] else { panic!("one trace") };
        assert_eq!(trace.id.map(show::storable).as_deref(), Some("7"));
        assert_eq!((trace.spans().len(), trace.conversation.turns().count()), (1, 1));
        assert_eq!(show::json_text(trace.attributes[0].value), r#"[{"name": "a"}]"#);
        assert!(trace.reported);
    }

    #[test]
    fn others_do_not_fit() {
        let bump = Bump::new();
        for text in [
            r#"{"role": "assistant", "tool_calls": []}"#,
            r#"{"messages": [], "tool_calls": []}"#,
            r#"{"tool_calls": null}"#,
            r#"{"expected_tool_calls": []}"#,
            r#"{"step_number": 1, "tool_calls": []}"#,
            "[]",
        ] {
            assert!(!fits(Reader::parse(text.as_bytes(), &bump).unwrap().0), "{text}");
        }
    }
}
