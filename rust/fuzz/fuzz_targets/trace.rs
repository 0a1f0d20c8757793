//! Any text is read to turns and spans, or is an error; never a panic. The calls in it are those that are scored.

#![no_main]

use bumpalo::Bump;
use callmatch_core::{
    call::Reader,
    text::Text,
    trace::{self, messages::chat, span::{RecordedAs, Span}},
    value::Value,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if std::str::from_utf8(bytes).is_err() {
        return;
    }
    let bump = Bump::new();
    let reader = Reader::new(&bump, false);
    let value = Value::Text(Text::Utf8(bytes));
    let scored = reader.calls(value);
    let copies = Bump::new();
    let spans = trace::tool_calls(reader, value)
        .map(|spans| spans.map(|spans| spans.iter().map(|span| span.copy_to(&copies)).collect::<Vec<_>>()));
    match (scored, &spans) {
        (Ok(None), Ok(None)) => {}
        (Ok(Some(calls)), Ok(Some(spans))) => {
            let made: Vec<_> = spans.iter().filter(|span| span.recorded_as != RecordedAs::Executed).collect();
            assert_eq!(calls.len(), made.len());
            assert!(calls.iter().zip(made).all(|(call, span)| call.name == span.name));
        }
        // A call may have a mistake in what is not scored.
        (Ok(Some(_)), Err(_)) | (Err(_), Err(_)) => {}
        // Scoring reads no custom tools, and no calls that are JSON text in their turn.
        (Err(_), Ok(Some(_))) if has(bytes, b"custom") || has(bytes, b"tool_calls") => {}
        (scored, spans) => panic!("{scored:?} {spans:?}"),
    }
    // Of any dialect, in whatever they come in: what a list of calls is read to says nothing of these.
    if let Ok(conversation) = trace::conversation(reader, value) {
        let conversation = conversation.copy_to(&copies);
        let in_turns: Vec<&Span<'_>> = conversation.turns().flat_map(|(_, spans)| spans).collect();
        assert_eq!(in_turns.len(), conversation.spans().len());
        if let Ok((Value::Array(items), _)) = Reader::parse(bytes, &bump)
            && items.iter().all(chat::is_plain)
        {
            assert_eq!(in_turns.len(), spans.ok().flatten().map_or(0, |spans| spans.len()));
        }
    }
});

fn has(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|window| window == word)
}
