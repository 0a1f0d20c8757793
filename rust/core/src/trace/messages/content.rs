//! What the content of a message says, and whether that of a result is said or data.

use bumpalo::Bump;

use super::{
    blocks,
    chat::{SAID, TYPE},
};
use crate::{text::Text, trace::span, value::Value};

pub const TEXT: &str = "text";
pub const TEXTS: &[&str] = &["text", "input_text", "output_text"];
/// What a tool shows, rather than lists.
const MEDIA: &[&str] = &["image", "image_url", "input_image", "audio", "input_audio"];
const FILES: &[&str] = &["file", "input_file", "document", "resource", "resource_link", "search_result"];

/// What the content of a message says, as a text.
pub fn content_text<'a>(content: Option<Value<'a>>, bump: &'a Bump) -> Option<Text<'a>> {
    match content? {
        Value::Array(parts) => parts_text(parts, bump),
        other => part_text(other, bump),
    }
}

pub fn parts_text<'a>(parts: &[Value<'a>], bump: &'a Bump) -> Option<Text<'a>> {
    let texts: Vec<_> = parts.iter().filter_map(|&part| part_text(part, bump)).collect();
    match *texts {
        [] => None,
        [text] => Some(text),
        ref texts => Some(Text::joined(texts, "\n", bump)),
    }
}

fn part_text<'a>(part: Value<'a>, bump: &'a Bump) -> Option<Text<'a>> {
    let kind = match (part, part.get(TYPE)) {
        (Value::Null, _) => return None,
        (Value::Text(text), _) => return Some(text),
        (Value::Foreign(name), _) => return Some(in_brackets(*name, bump)),
        (Value::Object(_), Some(Value::Text(kind))) => Some(kind),
        (Value::Object(_), _) => None,
        (other, _) => return Some(span::json_text(other, bump)),
    };
    if kind.is_some_and(blocks::is_not_said) {
        return None;
    }
    for key in SAID {
        if let Some(Value::Text(text)) = part.get(key) {
            return Some(text);
        }
    }
    match kind {
        Some(kind) if is_one_of(kind, TEXTS) => None,
        Some(kind) => Some(in_brackets(kind, bump)),
        None => Some(span::json_text(part, bump)),
    }
}

/// What is no text, by the name of its kind.
pub fn in_brackets<'a>(kind: Text<'_>, bump: &'a Bump) -> Text<'a> {
    Text::joined(&[Text::from("["), kind, Text::from("]")], "", bump)
}

/// Is a result said, rather than data that happens to be a list? Then all of it is texts and what stands among texts.
pub fn are_said(parts: &[Value<'_>]) -> bool {
    let is_of = |part: &Value<'_>, kinds| matches!(part.get(TYPE), Some(Value::Text(kind)) if is_one_of(kind, kinds));
    let is_text = |part: &Value<'_>| is_of(part, TEXTS) && matches!(part.get(TEXT), Some(Value::Text(_)));
    let shows = |part: &Value<'_>| is_text(part) || is_of(part, MEDIA);
    let stands_among_texts = |part: &Value<'_>| matches!(part, Value::Text(_)) || is_of(part, FILES);
    parts.iter().any(shows) && parts.iter().all(|part| shows(part) || stands_among_texts(part))
}

/// Is it what a text, a picture or a file is called?
pub fn is_known(kind: Text<'_>) -> bool {
    [TEXTS, MEDIA, FILES].iter().any(|kinds| is_one_of(kind, kinds))
}

pub fn is_one_of(word: Text<'_>, words: &[&str]) -> bool {
    words.iter().any(|other| word.is(other))
}
