//! Conversations as people have them: one file for each dialect, found by what only it has.

pub mod blocks;
pub mod chat;
pub mod content;
pub mod parts;

mod adk;
mod autogen;
mod bedrock;
mod container;
mod crewai;
mod dspy;
pub mod gemini;
mod haystack;
mod langchain;
mod llama_index;
mod otel;
mod pydantic_ai;
pub mod responses;
mod semantic_kernel;
mod smolagents;
mod stream;
mod vercel;

use crate::{
    call::Reader,
    error::Error,
    show,
    text::Text,
    trace::turns::{Conversation, Listener},
    value::Value,
};

/// A way to write down a conversation.
pub struct Dialect {
    /// The word for it where a format is chosen: `gemini`.
    pub word: &'static str,
    /// What people call it, for errors: "Gemini contents".
    pub name: &'static str,
    /// Does this list look like it? Decided by keys that no other dialect has, not by the place in the table.
    pub fits: fn(&[Value<'_>]) -> bool,
    pub read: for<'a> fn(Reader<'a>, &[Value<'a>], &mut Listener<'a>) -> Result<(), Error>,
}

/// All but chat messages, which are what is left.
const DIALECTS: &[Dialect] = &[
    bedrock::DIALECT,
    responses::DIALECT,
    gemini::DIALECT,
    adk::DIALECT,
    langchain::DIALECT,
    pydantic_ai::DIALECT,
    vercel::DIALECT,
    haystack::DIALECT,
    llama_index::DIALECT,
    semantic_kernel::DIALECT,
    autogen::DIALECT,
    smolagents::DIALECT,
    dspy::DIALECT,
    crewai::DIALECT,
    otel::DIALECT,
];

/// Does a message with this role, or a block of this type, hold the result of a call?
pub fn holds_result(word: Text<'_>) -> bool {
    blocks::is_kind_of_result(word) || chat::is_role_of_tool(word)
}

/// The conversation that messages of any dialect hold, or JSON text of them, or what they come in.
pub fn conversation<'a>(reader: Reader<'a>, value: Value<'a>) -> Result<Conversation<'a>, Error> {
    let mut listener = Listener::default();
    hear(reader, value, &mut listener)?;
    let conversation = listener.finish();
    let foreign =
        conversation.spans().iter().find_map(|span| foreign_in(span.input).or_else(|| foreign_in(span.output)));
    foreign.map_or(Ok(conversation), |name| Err(no_value(value, name)))
}

/// The same, told to a listener.
pub fn hear<'a>(reader: Reader<'a>, value: Value<'a>, listener: &mut Listener<'a>) -> Result<(), Error> {
    hear_all(reader, value, listener, |listener, piece, heard, after_history| {
        // Between requests of one conversation come responses.
        if after_history {
            return Err(piece.locate(Error::value("another conversation begins here; read each alone")));
        }
        listener.append(heard);
        Ok(())
    })
}

/// The conversations in what a file holds, one after the other: a request that doesn't go on from what was told before it
/// begins another one.
pub fn conversations<'a>(reader: Reader<'a>, value: Value<'a>) -> Result<Vec<Listener<'a>>, Error> {
    let (mut told, mut listener) = (Vec::new(), Listener::default());
    hear_all(reader, value, &mut listener, |listener, piece, heard, _| {
        if piece.goes_on || listener.is_empty() || !heard.has_questions() {
            listener.append(heard);
        } else {
            told.push(std::mem::replace(listener, heard));
        }
        Ok(())
    })?;
    told.push(listener);
    Ok(told)
}

/// Asks what to do with a request that doesn't tell again what was told to the listener: does it go on with that, or does
/// another conversation begin? The last argument says that it comes right after another request.
fn hear_all<'a>(
    reader: Reader<'a>,
    value: Value<'a>,
    listener: &mut Listener<'a>,
    mut unknown: impl FnMut(&mut Listener<'a>, &container::Piece<'a>, Listener<'a>, bool) -> Result<(), Error>,
) -> Result<(), Error> {
    let (reader, pieces) = container::unpack(reader, value)?;
    let mut after_history = false;
    for piece in &pieces {
        let mut heard = Listener::default();
        let dialect = piece.dialect.map_or_else(|| dialect(&piece.items), Ok);
        let read = dialect.and_then(|dialect| (dialect.read)(reader, &piece.items, &mut heard));
        read.map_err(|error| piece.locate(error))?;
        if !piece.is_history {
            listener.append(heard);
        } else {
            match heard.told_again(listener) {
                Some(known) => listener.go_on(heard, known),
                None => unknown(listener, piece, heard, after_history)?,
            }
        }
        after_history = piece.is_history;
    }
    Ok(())
}

pub use container::is_plain_chat;

/// What the messages in a value are, if they are any.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Of the dialect: `gemini`.
    pub word: &'static str,
    /// One message, item, event or chunk of a conversation, of which others hold the rest.
    pub is_part: bool,
    /// A request and its response, which may go on with what came before.
    pub is_exchange: bool,
}

pub fn shape<'a>(reader: Reader<'a>, value: Value<'a>) -> Option<Shape> {
    let (_, pieces) = container::unpack(reader, value).ok()?;
    let words = pieces.iter().map(|piece| {
        let dialect = piece.dialect.map_or_else(|| dialect(&piece.items), Ok).ok()?;
        let is_chat = dialect.word == chat::DIALECT.word;
        Some(if is_chat && piece.items.iter().any(|&item| blocks::are_in(item)) { ANTHROPIC } else { dialect.word })
    });
    let words: Option<Vec<&'static str>> = words.collect();
    let words = words.filter(|words| !words.is_empty())?;
    // Only some messages have what tells whose they are; all others are as in a chat.
    let telling = |word: &&&str| **word != chat::DIALECT.word;
    let word = words.iter().rev().find(telling).or(words.last()).copied()?;
    // Its items may be messages like any.
    let is_response = [Some(value), value.get("response")]
        .into_iter()
        .flatten()
        .any(|response| parts::word(response, "object", &["response"]).is_some());
    Some(Shape {
        word: if is_response { responses::DIALECT.word } else { word },
        is_part: container::is_part(value) && word != dspy::DIALECT.word && !adk::is_whole(value),
        is_exchange: container::is_exchange(value),
    })
}

/// Chat messages with blocks of calls and results are Anthropic's.
pub const ANTHROPIC: &str = "anthropic";

/// The word and the name of each dialect.
pub fn dialects() -> impl Iterator<Item = (&'static str, &'static str)> {
    let chat = [(chat::DIALECT.word, chat::DIALECT.name), (ANTHROPIC, "Anthropic messages")];
    chat.into_iter().chain(DIALECTS.iter().map(|dialect| (dialect.word, dialect.name)))
}

/// Something that is no JSON value.
fn foreign_in<'a>(value: Value<'a>) -> Option<&'a Text<'a>> {
    match value {
        Value::Foreign(name) => Some(name),
        Value::Array(items) => items.iter().find_map(|&item| foreign_in(item)),
        Value::Object(members) => members.iter().find_map(|member| foreign_in(member.value)),
        _ => None,
    }
}

/// What tools are given and give are JSON values: what is none is an error, with the path to it.
#[cold]
fn no_value<'a>(root: Value<'a>, name: &'a Text<'a>) -> Error {
    fn within<'a>(value: Value<'a>, name: &'a Text<'a>) -> Option<Error> {
        match value {
            Value::Foreign(other) if std::ptr::eq(other, name) => {
                let name = show::in_a_sentence(&show::storable(*name));
                Some(Error::wrong_type(format!("{name} is not a JSON value")))
            }
            Value::Array(items) => {
                (0..).zip(items).find_map(|(index, &item)| Some(within(item, name)?.at_index(index)))
            }
            Value::Object(members) => {
                members.iter().find_map(|member| Some(within(member.value, name)?.at_key(member.key)))
            }
            _ => None,
        }
    }
    within(root, name).unwrap_or_else(|| Error::wrong_type("not a JSON value"))
}

/// The one dialect that the messages are in.
fn dialect(items: &[Value<'_>]) -> Result<&'static Dialect, Error> {
    // Asking all of them takes longer than reading.
    if items.iter().all(chat::is_plain) && !items.is_empty() {
        return Ok(&chat::DIALECT);
    }
    if items.iter().all(otel::is_plain) && !items.is_empty() {
        return Ok(&otel::DIALECT);
    }
    let mut fitting = DIALECTS.iter().filter(|dialect| (dialect.fits)(items));
    match (fitting.next(), fitting.next()) {
        (Some(first), Some(second)) => Err(two_dialects(items, first, second)),
        (Some(dialect), None) => Ok(dialect),
        (None, _) if (chat::DIALECT.fits)(items) => Ok(&chat::DIALECT),
        (None, _) => {
            let names = DIALECTS.iter().map(|dialect| dialect.name).collect::<Vec<_>>().join(", ");
            let message = format!(
                "expected a list of chat messages, each with a role and without arguments, or of {names}; no item is one"
            );
            Err(Error::wrong_type(message))
        }
    }
}

/// The path is that of the first item of the dialect that comes later.
#[cold]
fn two_dialects(items: &[Value<'_>], one: &Dialect, other: &Dialect) -> Error {
    let found = |dialect: &Dialect| items.chunks(1).position(dialect.fits);
    let ((early, first), (late, second)) = match (found(one), found(other)) {
        (a, b) if a.is_some() && a > b => ((other, b), (one, a)),
        (a, b) => ((one, a), (other, b)),
    };
    let item = |place: Option<usize>| place.map_or(String::new(), |place| format!(" (item {place})"));
    let (early, first, late, last) = (early.name, item(first), late.name, item(second));
    let error = Error::value(format!("these look like {early}{first} and like {late}{last}; read each alone"));
    match second {
        Some(place) => error.at_index(place),
        None => error,
    }
}

#[cfg(test)]
pub mod tests {
    use bumpalo::Bump;

    use super::*;
    use crate::trace::span::{Kind, RecordedAs};

    /// What a conversation tells, turn by turn: `input > output`, then each call as `id name input = output status error`.
    pub fn told(text: &str) -> Result<Vec<String>, String> {
        let bump = Bump::new();
        let reader = Reader::new(&bump, false);
        let conversation = conversation(reader, Value::Text(Text::from(text))).map_err(|error| error.to_string())?;
        let word = |text: Option<Text<'_>>| text.map_or("-".to_owned(), show::plain);
        let said = |value: Value<'_>| match value {
            Value::Text(said) => word(Some(said)),
            _ => "-".to_owned(),
        };
        let mut lines = Vec::new();
        for (turn, spans) in conversation.turns() {
            lines.push(format!("{} > {}", said(turn.input), said(turn.output)));
            for span in spans {
                let (id, name) = (word(span.id), show::plain(span.name));
                let (input, output) = (show::json_text(span.input), show::json_text(span.output));
                let mut line = format!("{id} {name} {input} = {output}");
                for more in [span.status, span.error, span.agent].into_iter().flatten() {
                    line += &format!(" {}", show::plain(more));
                }
                for (is_so, mark) in
                    [(span.recorded_as == RecordedAs::Executed, "?"), (span.kind != Kind::ToolCall, "*")]
                {
                    line += if is_so { mark } else { "" };
                }
                lines.push(line);
            }
        }
        Ok(lines)
    }

    #[test]
    fn one_dialect_reads_all_and_an_unknown_one_is_an_error_that_lists_them() {
        assert_eq!(told("[]").unwrap(), [""; 0]);
        for nothing in ["{}", "[5]", r#"[{"name": "a", "arguments": {}}]"#, r#"[{"role": "user", "args": {}}]"#] {
            let error = told(nothing).unwrap_err();
            assert!(error.starts_with("expected a list of chat messages, each with a role and without arguments"));
            assert!(DIALECTS.iter().all(|dialect| error.contains(dialect.name)), "{error}");
        }
        let both = r#"[{"role": "user", "content": [{"toolResult": {}}]},
            {"type": "function_call", "call_id": "1", "name": "a", "arguments": "{}"}]"#;
        let error = told(both).unwrap_err();
        let message = "these look like Bedrock Converse messages (item 0) and like OpenAI Responses items (item 1)";
        assert_eq!(error, format!("[1]: {message}; read each alone"));
        let held = format!(r#"{{"messages": {both}}}"#);
        assert_eq!(told(&held).unwrap_err(), format!("messages[1]: {message}; read each alone"));
        // In whichever order they stand.
        let turned = r#"[{"role": "user", "content": "x"}, {"type": "function_call", "call_id": "1", "name": "a"},
            {"role": "user", "content": [{"toolResult": {}}]}]"#;
        let message = "these look like OpenAI Responses items (item 1) and like Bedrock Converse messages (item 2)";
        assert_eq!(told(turned).unwrap_err(), format!("[2]: {message}; read each alone"));
    }

    #[test]
    fn no_other_dialect_fits_what_is_plainly_a_message_of_opentelemetry() {
        let bump = Bump::new();
        let parts = [
            r#"{"type": "text", "content": "hi"}"#,
            r#"{"type": "text", "content": null}"#,
            r#"{"type": "tool_call", "id": "1", "name": "a", "arguments": {"type": "x", "parts": []}}"#,
            r#"{"type": "tool_call"}"#,
            r#"{"type": "tool_call_response", "id": "1", "name": "a", "result": {"functionCall": {}}}"#,
            r#"{"type": "tool_call_response", "id": "1", "response": [{"type": "text", "text": "x"}]}"#,
        ];
        let roles = ["assistant", "user", "model", "tool", "system", "request"];
        let message =
            |role: &str, parts: &str| format!(r#"{{"role": "{role}", "parts": [{parts}], "finish_reason": "stop"}}"#);
        for text in roles.iter().flat_map(|role| parts.iter().map(move |part| message(role, part))) {
            let text = bump.alloc_str(&format!("[{text}, {}]", message("user", &parts.join(", "))));
            let (value, _) = Reader::parse(text.as_bytes(), &bump).unwrap();
            let Value::Array(items) = value else { panic!("a list") };
            assert!(items.iter().all(otel::is_plain) && (otel::DIALECT.fits)(items), "{text}");
            for dialect in DIALECTS.iter().filter(|dialect| dialect.word != otel::DIALECT.word) {
                assert!(!(dialect.fits)(items) && !items.chunks(1).any(dialect.fits), "{} {text}", dialect.name);
            }
        }
        for other in [
            r#"{"role": "user", "parts": [{"text": "hi"}]}"#,
            r#"{"role": "user", "parts": [{"type": "text", "text": "hi"}]}"#,
            r#"{"role": "user", "parts": [{"type": "text", "content": "hi", "state": "done"}]}"#,
            r#"{"role": "user", "kind": "request", "parts": [{"type": "text", "content": "hi"}]}"#,
            r#"{"role": "user", "parts": []}"#,
            r#"{"role": "user", "parts": [5]}"#,
            "5",
        ] {
            let text = bump.alloc_str(other);
            assert!(!otel::is_plain(&Reader::parse(text.as_bytes(), &bump).unwrap().0), "{other}");
        }
    }

    #[test]
    fn no_other_dialect_fits_what_is_plainly_a_chat_message() {
        let bump = Bump::new();
        let text = r#"[{"role": "user", "content": "hi"}, {"role": "user", "name": "u", "content": null},
            {"role": "assistant", "content": null, "refusal": null, "tool_calls": [{"type": "tool_call", "id": "1"}]},
            {"role": "assistant", "function_call": {"name": "a", "args": {}}}, {"role": "system", "content": "s"},
            {"role": "tool", "tool_call_id": "1", "content": "x"}, {"role": "function", "name": "a", "content": "{}"}]"#;
        let (value, _) = Reader::parse(text.as_bytes(), &bump).unwrap();
        let Value::Array(items) = value else { panic!("a list") };
        assert!(items.iter().all(chat::is_plain));
        for dialect in DIALECTS {
            assert!(!(dialect.fits)(items) && !items.chunks(1).any(dialect.fits), "{}", dialect.name);
        }
        for other in [
            r#"{"role": "model", "content": "hi"}"#,
            r#"{"content": "hi"}"#,
            r#"{"role": "user", "content": []}"#,
            r#"{"role": "user", "content": "hi", "type": "message"}"#,
            r#"{"role": "user", "content": "hi", "meta": {}}"#,
            r#"{"role": 5}"#,
            "5",
        ] {
            assert!(!chat::is_plain(&Reader::parse(other.as_bytes(), &bump).unwrap().0), "{other}");
        }
    }
}
