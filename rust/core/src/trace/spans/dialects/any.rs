//! What any span says: how it went, of which session it is, and by its name, if by nothing else, what it is.

use super::{names, values};
use crate::{
    call::Reader,
    text::Text,
    trace::spans::{Dialect, Event, Recorded, Status, Step, fill},
};

pub const DIALECT: Dialect = Dialect { name: "otel_spans", title: "OpenTelemetry spans", fits: |_| true, read };

const SESSION: &[&str] = &["session.id", "langfuse.session.id"];
const ERROR_TYPE: &str = "error.type";

fn is_exception(event: &Event<'_>) -> bool {
    event.name.is("exception")
}

fn read<'a>(reader: Reader<'a>, recorded: &Recorded<'a>, step: &mut Step<'a>) {
    let attributes = recorded.attributes;
    fill(&mut step.conversation_id, values::id(reader, attributes, SESSION));
    let exception = recorded.events.iter().rev().find(|event| is_exception(event));
    let failed = match recorded.status {
        // An exception that was caught is no failure.
        Some(status) => Some(status == Status::Error),
        None => (exception.is_some() || attributes.has(ERROR_TYPE)).then_some(true),
    };
    fill(&mut step.failed, failed);
    if step.failed == Some(true) {
        let message = |event: &Event<'a>| event.attributes.text(reader, &["exception.message", "exception.type"]);
        let said: Option<Text<'a>> = recorded.status_message.filter(|message| !message.is_empty());
        fill(&mut step.error, said.or_else(|| exception.and_then(message)));
        fill(&mut step.error, attributes.text(reader, &["error.message", ERROR_TYPE]));
    }
    names::complete(reader, recorded, step);
}

#[cfg(test)]
mod tests {
    use super::super::tests::says;

    #[test]
    fn how_it_went() {
        let span = |status: &str, more: &str| {
            format!(
                r#"{{"name": "execute_tool a", {status} "attributes": {{{more}}}, "events": [
                {{"name": "exception", "attributes": {{"exception.type": "E", "exception.message": "boom"}}}}]}}"#
            )
        };
        let tool = ["kind: tool_call", "name: a"];
        says(&span(r#""status": "ERROR","#, ""), &[&tool[..], &["failed: true", "error: boom"]].concat());
        says(
            &span(r#""status": "ERROR", "message": "E: boom","#, r#""error.type": "E""#),
            &[&tool[..], &["failed: true", "error: E: boom"]].concat(),
        );
        says(&span("", ""), &[&tool[..], &["failed: true", "error: boom"]].concat());
        says(&span(r#""status": "OK","#, ""), &[&tool[..], &["failed: false"]].concat());
        says(
            r#"{"name": "execute_tool a", "attributes": {"error.type": "Timeout", "session.id": "s"}}"#,
            &["kind: tool_call", "name: a", "failed: true", "error: Timeout", "conversation: s"],
        );
    }
}
