//! What messages come in: requests and responses of providers, pairs of them, streams, states of graphs.
//!
//! A list of messages may hold such things too, since people append a whole response to their history.

use super::{
    Dialect,
    chat::{self, ROLE, TYPE},
    gemini,
    parts::found,
    stream,
};
use crate::{
    call::Reader,
    error::{Error, Segment},
    text::Text,
    value::{Member, Value},
};

/// Messages that stand together.
pub struct Piece<'a> {
    pub items: Vec<Value<'a>>,
    /// May they tell again all that came before them, as a request does?
    pub is_history: bool,
    /// Does the provider know what came before, so that this goes on from there without telling it again?
    pub goes_on: bool,
    /// Where it is known without a look at the items.
    pub dialect: Option<&'static Dialect>,
    base: Vec<Segment>,
    /// Of each item in what stands at the base; None: it is that itself.
    places: Vec<Option<usize>>,
}

impl Piece<'_> {
    /// Where in the input an error is.
    pub fn locate(&self, error: Error) -> Error {
        error.relocated(|index| {
            let place = index.and_then(|index| self.places.get(index).copied().flatten());
            self.base.iter().cloned().chain(place.map(Segment::Index)).collect()
        })
    }
}

/// All pieces of what was given, in order, and what reads them.
pub fn unpack<'a>(reader: Reader<'a>, value: Value<'a>) -> Result<(Reader<'a>, Vec<Piece<'a>>), Error> {
    let mut unpacking = Unpacking { reader, pieces: Vec::new(), path: Vec::new(), goes_on: false };
    unpacking.any(value, false)?;
    Ok((unpacking.reader, unpacking.pieces))
}

struct Unpacking<'a> {
    reader: Reader<'a>,
    pieces: Vec<Piece<'a>>,
    path: Vec<Segment>,
    goes_on: bool,
}

impl<'a> Unpacking<'a> {
    /// Messages, one of them, or what holds them.
    fn any(&mut self, value: Value<'a>, is_history: bool) -> Result<(), Error> {
        match value {
            Value::Text(text) => {
                let value = self.parsed(text).map_err(|error| self.located(error))?;
                self.any(value, is_history)
            }
            Value::Array(items) => self.list(items, is_history),
            Value::Object(_) if stream::source(value) == Some(stream::Source::Chat) => self.list(&[value], is_history),
            Value::Object(_) if is_container(value) => self.container(value),
            Value::Object(_) if stream::source(value).is_some() => self.list(&[value], is_history),
            Value::Object(_) => {
                self.single(value, is_history);
                Ok(())
            }
            other => {
                let error = Error::wrong_type(format!("expected a list of chat messages, got {}", other.kind()));
                Err(self.located(error))
            }
        }
    }

    fn list(&mut self, items: &[Value<'a>], is_history: bool) -> Result<(), Error> {
        let mut piece = self.piece(is_history);
        let mut place = 0;
        while let Some((&item, after)) = items.get(place..).and_then(<[_]>::split_first) {
            // Most are messages.
            if is_role(item) {
                piece.items.push(item);
                piece.places.push(Some(place));
                place += 1;
                continue;
            }
            let source = stream::source(item);
            let length =
                1 + after.iter().take_while(|&&next| source.is_some() && stream::source(next) == source).count();
            // What Gemini streams are whole responses, of which one alone is one.
            if let Some(source) = source.filter(|&source| length > 1 || source != stream::Source::Gemini) {
                let run = items.get(place..place + length).unwrap_or_default();
                let assembled = stream::assembled(self.reader, source, run)
                    .map_err(|error| self.located(error.relocated(|index| at(place + index.unwrap_or_default()))))?;
                piece.places.extend(assembled.iter().map(|_| Some(place)));
                piece.items.extend(assembled);
                place += length;
                continue;
            }
            if is_container(item) {
                let next = self.piece(is_history);
                self.push(std::mem::replace(&mut piece, next));
                self.path.push(Segment::Index(place));
                self.container(item)?;
                self.path.pop();
            } else {
                piece.items.push(item);
                piece.places.push(Some(place));
            }
            place += 1;
        }
        self.push(piece);
        Ok(())
    }

    /// What a container holds: first what was asked, then what was answered.
    fn container(&mut self, value: Value<'a>) -> Result<(), Error> {
        let before = self.pieces.len();
        self.goes_on = found(value, &["previous_response_id", "conversation"]).is_some();
        // What isn't read may hold calls.
        let mut unread = vec![REQUEST, RESPONSE, INPUT, OUTPUT, MESSAGE, COMPLETION];
        for key in [REQUEST, BODY] {
            if self.inside(key, value.get(key))? {
                unread.retain(|other| *other != key);
            }
        }
        match (value.get(MESSAGES), value.get(CONTENTS), value.get(INPUT)) {
            (Some(messages @ Value::Array(_)), ..) => self.at_key(MESSAGES, |all| all.any(messages, true))?,
            (_, Some(contents @ Value::Array(_)), _) => self.at_key(CONTENTS, |all| all.any(contents, true))?,
            (_, Some(Value::Text(text)), _) => {
                let parts = self.objects(&[("text", Value::Text(text))]);
                self.asked(CONTENTS, "parts", Value::Array(self.reader.bump.alloc_slice_copy(&[parts])));
            }
            (_, _, Some(input @ Value::Text(_))) => self.asked(INPUT, "content", input),
            (_, _, Some(input)) if matches!(input, Value::Array(_)) || is_known(input) => {
                self.at_key(INPUT, |all| all.any(input, true))?;
                unread.retain(|other| *other != INPUT);
            }
            _ => {}
        }
        match value.get(RESPONSE) {
            // There was none.
            Some(response) if is_failure(response) && !is_known(response) => unread.retain(|other| *other != RESPONSE),
            // To messages belongs an answer, which must not get lost because nobody knows it.
            Some(response @ Value::Object([_, ..])) if self.pieces.len() > before && !is_known(response) => {
                self.at_path(&[Segment::Key(RESPONSE.to_owned())], response);
                unread.retain(|other| *other != RESPONSE);
            }
            response => {
                if self.inside(RESPONSE, response)? {
                    unread.retain(|other| *other != RESPONSE);
                }
            }
        }
        self.first_choice(value)?;
        for key in [OUTPUT, COMPLETION] {
            let is_read = match value.get(key) {
                Some(items @ Value::Array(_)) => {
                    self.at_key(key, |all| all.any(items, false))?;
                    true
                }
                Some(output) if is_known(output) => {
                    self.at_key(key, |all| all.any(output, false))?;
                    true
                }
                Some(output) => match output.get(MESSAGE) {
                    Some(message @ Value::Object(_)) => {
                        self.at_path(&[Segment::Key(key.to_owned()), Segment::Key(MESSAGE.to_owned())], message);
                        true
                    }
                    _ => false,
                },
                None => false,
            };
            if is_read {
                unread.retain(|other| *other != key);
            }
        }
        if let Some(message @ Value::Object(_)) = value.get(MESSAGE) {
            self.at_path(&[Segment::Key(MESSAGE.to_owned())], message);
            unread.retain(|other| *other != MESSAGE);
        }
        for key in unread {
            if let Some(Value::Object([_, ..]) | Value::Array([_, ..])) = value.get(key) {
                self.at_key(key, |all| Err(all.located(Error::wrong_type(UNREAD))))?;
            }
        }
        Ok(())
    }

    /// Of several choices or candidates the first one. The others are what else could have been said.
    fn first_choice(&mut self, value: Value<'a>) -> Result<(), Error> {
        if let Some(choice @ Value::Object(_)) = value.get(CHOICES).and_then(|all| all.get("0")) {
            let path = [Segment::Key(CHOICES.to_owned()), Segment::Index(0), Segment::Key(MESSAGE.to_owned())];
            match choice.get(MESSAGE) {
                Some(message @ Value::Object(_)) => self.at_path(&path, message),
                // Nothing was said.
                Some(Value::Null) => {}
                _ => {
                    let length = self.path.len();
                    self.path.extend(path);
                    let error = self.located(Error::wrong_type("expected a message, an object, in the first choice"));
                    self.path.truncate(length);
                    return Err(error);
                }
            }
        }
        let candidate = match value.get(CANDIDATES) {
            Some(Value::Array([candidate, ..])) => *candidate,
            // The question was blocked.
            _ if is_blocked(value) => Value::Null,
            _ => return Ok(()),
        };
        // It is the model's, whatever is missing.
        let content = match candidate.get("content") {
            None | Some(Value::Null) => self.objects(&[(ROLE, Value::Text(Text::from("model")))]),
            Some(Value::Object(members)) if members.iter().all(|member| !is_a_role(member)) => {
                let mut all = vec![Member { key: Text::from(ROLE), value: Value::Text(Text::from("model")) }];
                all.extend(members.iter().filter(|member| !member.key.is(ROLE)));
                Value::Object(self.reader.bump.alloc_slice_copy(&all))
            }
            Some(content) => content,
        };
        let length = self.path.len();
        let place = [Segment::Key(CANDIDATES.to_owned()), Segment::Index(0), Segment::Key("content".to_owned())];
        self.path.extend(place);
        self.single(content, false);
        self.path.truncate(length);
        if let Some(piece) = self.pieces.last_mut() {
            piece.dialect = Some(&gemini::DIALECT);
        }
        Ok(())
    }

    /// A request or a response, which may be of some other thing: is it read?
    fn inside(&mut self, key: &'static str, value: Option<Value<'a>>) -> Result<bool, Error> {
        match value {
            Some(Value::Text(text)) if text.is_blank() => return Ok(true),
            Some(value @ (Value::Text(_) | Value::Array(_))) => self.at_key(key, |all| all.any(value, false))?,
            Some(value) if is_known(value) => self.at_key(key, |all| all.any(value, false))?,
            // Of a conversation that was created or deleted, say.
            Some(value) => return Ok(says_what_it_is(value)),
            None => return Ok(false),
        }
        Ok(true)
    }

    fn at_key(&mut self, key: &str, read: impl FnOnce(&mut Self) -> Result<(), Error>) -> Result<(), Error> {
        self.path.push(Segment::Key(key.to_owned()));
        read(self)?;
        self.path.pop();
        Ok(())
    }

    fn at_path(&mut self, path: &[Segment], message: Value<'a>) {
        let length = self.path.len();
        self.path.extend_from_slice(path);
        self.single(message, false);
        self.path.truncate(length);
    }

    /// A message of a user that is given as a text.
    fn asked(&mut self, key: &str, holder: &'static str, content: Value<'a>) {
        let message = self.objects(&[(ROLE, Value::Text(Text::from("user"))), (holder, content)]);
        let length = self.path.len();
        self.path.push(Segment::Key(key.to_owned()));
        self.single(message, true);
        self.path.truncate(length);
    }

    fn objects(&self, members: &[(&'static str, Value<'a>)]) -> Value<'a> {
        stream::object(members, self.reader.bump)
    }

    fn single(&mut self, value: Value<'a>, is_history: bool) {
        let piece = Piece { items: vec![value], places: vec![None], ..self.piece(is_history) };
        self.push(piece);
    }

    fn piece(&self, is_history: bool) -> Piece<'a> {
        let (base, goes_on) = (self.path.clone(), self.goes_on);
        Piece { items: Vec::new(), is_history, goes_on, dialect: None, base, places: Vec::new() }
    }

    fn push(&mut self, piece: Piece<'a>) {
        if !piece.items.is_empty() {
            self.pieces.push(piece);
        }
    }

    fn located(&self, error: Error) -> Error {
        error.relocated(|index| self.path.iter().cloned().chain(index.map(Segment::Index)).collect())
    }

    /// JSON text, or the events of a stream as a server sends them.
    fn parsed(&mut self, text: Text<'a>) -> Result<Value<'a>, Error> {
        let bytes = text.utf8_in(self.reader.bump);
        let value = if stream::is_sent_by_server(bytes) {
            Value::Array(self.reader.bump.alloc_slice_copy(&self.events(bytes)?))
        } else {
            self.json(bytes).map_err(Error::not_json)?
        };
        match value {
            Value::Text(_) => Err(Error::wrong_type("expected a list of chat messages, got text inside JSON text")),
            value => Ok(value),
        }
    }

    fn json(&mut self, bytes: &'a [u8]) -> Result<Value<'a>, crate::json::JsonError> {
        let (value, reader) = Reader::parse(bytes, self.reader.bump)?;
        self.reader.may_be_deep |= reader.may_be_deep;
        Ok(value)
    }

    fn events(&mut self, bytes: &'a [u8]) -> Result<Vec<Value<'a>>, Error> {
        let mut events = Vec::new();
        for (place, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
            let Some(data) = line.strip_prefix(b"data:").map(<[u8]>::trim_ascii) else { continue };
            if data.is_empty() || data == b"[DONE]" {
                continue;
            }
            let event = self.json(data);
            events.push(event.map_err(|error| Error::value(format!("line {}: not JSON: {error}", place + 1)))?);
        }
        Ok(events)
    }
}

const REQUEST: &str = "request";
const RESPONSE: &str = "response";
const BODY: &str = "body";
const MESSAGES: &str = "messages";
const CONTENTS: &str = "contents";
const INPUT: &str = "input";
const CHOICES: &str = "choices";
const CANDIDATES: &str = "candidates";
const OUTPUT: &str = "output";
const MESSAGE: &str = "message";
const COMPLETION: &str = "completion";

const UNREAD: &str = "what stands here is not read, and may hold calls; expected messages, or a request or a response that \
                      holds them, and no others beside it";

/// What says of an object that it is a message, an item or an event itself; the last one of what an agent of LlamaIndex
/// put out.
const NO_CONTAINER: &[&str] = &[ROLE, TYPE, "kind", "current_agent_name"];

/// Is this one of the pieces that a conversation is made of, rather than something that holds one?
pub fn is_part(value: Value<'_>) -> bool {
    matches!(value, Value::Object(_))
        && (stream::source(value).is_some_and(|source| source != stream::Source::Gemini) || !is_container(value))
}

/// Messages of a chat and nothing else that could hold messages, all of which can plainly be read?
pub fn is_plain_chat(value: Value<'_>) -> bool {
    let Value::Object(members) = value else { return false };
    let holders = [REQUEST, RESPONSE, BODY, CONTENTS, INPUT, CHOICES, CANDIDATES, OUTPUT, MESSAGE, COMPLETION];
    let is_other =
        |key: Text<'_>| holders.iter().chain(NO_CONTAINER).chain([&chat::TOOL_CALLS]).any(|word| key.is(word));
    matches!(value.get(MESSAGES), Some(Value::Array(messages)) if messages.iter().all(chat::is_plainly_readable))
        && !members.iter().any(|member| is_other(member.key))
}

/// A request with its response.
pub fn is_exchange(value: Value<'_>) -> bool {
    value.get(REQUEST).is_some() && value.get(RESPONSE).is_some()
}

fn is_container(value: Value<'_>) -> bool {
    let Value::Object(members) = value else { return false };
    if members
        .iter()
        .any(|Member { key, value }| !matches!(value, Value::Null) && NO_CONTAINER.iter().any(|word| key.is(word)))
    {
        return false;
    }
    let is_list = |key| matches!(value.get(key), Some(Value::Array(_)));
    let is_text = |key| matches!(value.get(key), Some(Value::Text(_)));
    let holds = |key| value.get(key).is_some_and(|inner| is_container(inner) || is_role(inner));
    // What has a name may be a call, with anything in its input.
    let is_named = ["name", "tool_name", "call_id", "tool_call_id"].into_iter().any(is_text);
    let asks_or_answers = || match (holds(INPUT), holds(OUTPUT)) {
        (asks, answers) if is_named => asks && answers,
        (asks, answers) => asks || answers,
    };
    let is_pair = value.get(REQUEST).is_some() && value.get(RESPONSE).is_some();
    let asks = is_text(INPUT) && (is_list(OUTPUT) || is_text("model")) || is_text(CONTENTS) && is_text("model");
    [MESSAGES, CONTENTS, INPUT, CHOICES, CANDIDATES, OUTPUT].into_iter().any(is_list)
        || is_pair
        || asks
        || [REQUEST, RESPONSE, BODY].into_iter().any(holds)
        || [MESSAGE, OUTPUT].into_iter().any(|key| value.get(key).is_some_and(is_role))
        || value.get(OUTPUT).and_then(|output| output.get(MESSAGE)).is_some_and(is_role)
        || is_blocked(value)
        || asks_or_answers()
}

/// Did Gemini refuse to answer?
fn is_blocked(value: Value<'_>) -> bool {
    let feedback = found(value, &["promptFeedback", "prompt_feedback"]);
    feedback.is_some_and(|(_, feedback)| found(feedback, &["blockReason", "block_reason"]).is_some())
}

/// Does a response say that there was none?
fn is_failure(response: Value<'_>) -> bool {
    let is_error = |holder: Value<'_>| found(holder, &["error"]).is_some();
    is_error(response) || response.get(BODY).is_some_and(is_error)
}

/// An object that holds nothing, and says of what kind it is.
fn says_what_it_is(value: Value<'_>) -> bool {
    let Value::Object(members) = value else { return false };
    let is_plain = |value| !matches!(value, Value::Array([_, ..]) | Value::Object([_, ..]) | Value::Foreign(_));
    matches!(value.get("object"), Some(Value::Text(_))) && members.iter().all(|member| is_plain(member.value))
}

fn is_a_role(member: &Member<'_>) -> bool {
    member.key.is(ROLE) && !matches!(member.value, Value::Null)
}

fn is_known(value: Value<'_>) -> bool {
    is_container(value) || is_role(value) || stream::source(value).is_some()
}

fn is_role(value: Value<'_>) -> bool {
    matches!(value.get(ROLE), Some(Value::Text(_)))
}

fn at(index: usize) -> Vec<Segment> {
    vec![Segment::Index(index)]
}

#[cfg(test)]
mod tests {
    use crate::trace::messages::tests::told;

    const ASKED: &str = r#"{"role": "user", "content": "hi"}"#;
    const CALLED: &str = r#"{"role": "assistant", "content": null,
        "tool_calls": [{"id": "1", "function": {"name": "a", "arguments": "{}"}}]}"#;
    const GIVEN: &str = r#"{"role": "tool", "tool_call_id": "1", "content": "A"}"#;
    const SAID: &str = r#"{"role": "assistant", "content": "Done."}"#;

    #[test]
    fn containers_are_opened_wherever_they_stand() {
        let whole = ["hi > Done.", r#"1 a {} = "A""#];
        for text in [
            format!("[{ASKED}, {CALLED}, {GIVEN}, {SAID}]"),
            format!(r#"{{"messages": [{ASKED}, {CALLED}, {GIVEN}, {SAID}], "model": "m"}}"#),
            format!(r#"{{"messages": [{ASKED}, {CALLED}, {GIVEN}], "choices": [{{"message": {SAID}}}]}}"#),
            format!(r#"[{ASKED}, {{"choices": [{{"message": {CALLED}}}]}}, {GIVEN}, {{"message": {SAID}}}]"#),
            format!(
                r#"[{{"request": {{"messages": [{ASKED}]}}, "response": {{"choices": [{{"message": {CALLED}}}]}}}},
                {{"request": {{"messages": [{ASKED}, {CALLED}, {GIVEN}]}}, "response": {{"output": {{"message": {SAID}}}}}}}]"#
            ),
            format!(
                r#"[{{"body": {{"messages": [{ASKED}]}}}}, {{"response": {{"body": {{"message": {CALLED}}}}}}},
                {{"body": {{"messages": [{GIVEN}]}}, "output": {SAID}}}]"#
            ),
            format!(r#"[{{"messages": [{ASKED}, {CALLED}]}}, {{"messages": [{ASKED}, {CALLED}, {GIVEN}, {SAID}]}}]"#),
        ] {
            assert_eq!(told(&text).unwrap(), whole, "{text}");
        }
        let alone = format!(r#"{{"request": {{"messages": [{ASKED}]}}, "response": {:?}}}"#, format!("[{SAID}]"));
        assert_eq!(told(&alone).unwrap(), ["hi > Done."]);
        assert_eq!(told(SAID).unwrap(), ["- > Done."]);
        assert_eq!(told(r#"{"model": "m", "input": "hi", "output": []}"#).unwrap(), ["hi > -"]);
        for nothing in ["{}", "null", r#"{"error": {"code": 529}}"#] {
            let failed = format!(r#"{{"request": {{"messages": [{ASKED}]}}, "response": {nothing}}}"#);
            assert_eq!(told(&failed).unwrap(), ["hi > -"]);
        }
    }

    #[test]
    fn a_request_that_does_not_go_on_begins_anew() {
        let pair = |asked: &str, said: &str| {
            format!(
                r#"{{"request": {{"messages": [{{"role": "user", "content": {asked:?}}}]}},
                "response": {{"message": {{"role": "assistant", "content": {said:?}}}}}}}"#
            )
        };
        let texts = format!("[{}, {}, {}]", pair("one", "1"), pair("two", "2"), pair("one", "1"));
        assert_eq!(told(&texts).unwrap(), ["one > 1", "two > 2", "one > 1"]);
        let apart = format!(r#"[{{"messages": [{ASKED}]}}, {{"messages": [{{"role": "user", "content": "other"}}]}}]"#);
        assert_eq!(told(&apart).unwrap_err(), "[1].messages: another conversation begins here; read each alone");
    }

    #[test]
    fn errors_say_where_in_what_was_given() {
        let bad = r#"{"role": "assistant", "content": "", "tool_calls": [{"id": "1"}]}"#;
        for (text, path) in [
            (format!("[{ASKED}, {bad}]"), "[1].tool_calls[0]: a tool call without a name"),
            (format!(r#"{{"messages": [{ASKED}, {bad}]}}"#), "messages[1].tool_calls[0]: "),
            (bad.to_owned(), "tool_calls[0]: "),
            (
                format!(r#"[{ASKED}, {{"response": {{"choices": [{{"message": {bad}}}]}}}}]"#),
                "[1].response.choices[0].message.tool_calls[0]: ",
            ),
            (format!(r#"{{"messages": {ASKED}, "choices": 5, "input": [5]}}"#), "input: expected a list of chat"),
            (
                format!(r#"[{{"request": {{"messages": [{ASKED}]}}, "response": {{"text": "x"}}}}]"#),
                "[0].response: expected a list of chat messages",
            ),
            (r#"[{"request": "[", "response": {}}]"#.to_owned(), "[0].request: not JSON"),
            (r#""[]""#.to_owned(), "expected a list of chat messages, got text inside JSON text"),
            ("data: {}\n\ndata: {".to_owned(), "line 3: not JSON"),
        ] {
            let error = told(&text).unwrap_err();
            assert!(error.starts_with(path), "{text}: {error}");
        }
    }
}
