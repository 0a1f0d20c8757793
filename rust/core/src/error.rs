//! Errors about input: what is wrong, and the path to it.

use std::fmt::{self, Write};

use crate::{
    json::JsonError,
    show,
    text::Text,
    value::{MAX_DEPTH, MOST_VALUES},
};

const MOST_SEGMENTS: usize = 20;

/// Built where the trouble is; every reader on the way back adds its step of the path.
#[derive(Debug)]
pub struct Error(Box<Inner>);

/// Behind a pointer, so that a result that is no error is small.
#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    message: String,
    /// Innermost first.
    path: Vec<Segment>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Something of the wrong type; Python's TypeError.
    Type,
    /// The right type with a value that can't be; Python's ValueError.
    Value,
}

#[derive(Clone, Debug)]
pub enum Segment {
    Key(String),
    Index(usize),
    /// Several steps, as the caller writes them.
    Path(String),
}

impl Error {
    #[cold]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error(Box::new(Inner { kind, message: message.into(), path: Vec::new() }))
    }

    #[cold]
    pub fn wrong_type(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Type, message)
    }

    #[cold]
    pub fn value(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Value, message)
    }

    #[cold]
    pub fn at_key(mut self, key: Text<'_>) -> Self {
        self.0.path.push(Segment::Key(show::in_a_sentence(&show::storable(key))));
        self
    }

    #[cold]
    pub fn at_index(mut self, index: usize) -> Self {
        self.0.path.push(Segment::Index(index));
        self
    }

    /// The path to the input itself, in the caller's words.
    #[cold]
    pub fn inside(mut self, path: &str) -> Self {
        if !path.is_empty() {
            self.0.path.push(Segment::Path(show::in_a_sentence(path)));
        }
        self
    }

    /// More to say.
    #[cold]
    pub fn with(mut self, more: &str) -> Self {
        self.0.message.push_str(more);
        self
    }

    /// What the path begins with is the place of an item, if it is an index, in a list that was put together of what stands
    /// elsewhere: there.
    #[cold]
    pub fn relocated(mut self, place: impl FnOnce(Option<usize>) -> Vec<Segment>) -> Self {
        let index = match self.0.path.last() {
            Some(&Segment::Index(index)) => Some(index),
            _ => None,
        };
        if index.is_some() {
            self.0.path.pop();
        }
        self.0.path.extend(place(index).into_iter().rev());
        self
    }

    /// Something that holds no calls.
    #[cold]
    pub fn no_calls(found: &str) -> Self {
        Error::wrong_type(format!("expected a list of tool calls (or of chat messages), got {found}"))
    }

    #[cold]
    pub fn not_json(error: JsonError) -> Self {
        Error::value(format!("not JSON: {error}"))
    }

    #[cold]
    pub fn too_deep() -> Self {
        Error::value(format!("nested deeper than {MAX_DEPTH} levels, or inside itself"))
    }

    #[cold]
    pub fn too_many_values() -> Self {
        Error::value(format!("more than {MOST_VALUES} values (what is reached in several ways counts each time)"))
    }

    /// The index that the path begins with, if it does, and the error without it.
    pub fn in_record(&self) -> (Option<usize>, String) {
        match self.0.path.last() {
            Some(&Segment::Index(index)) => {
                let path = self.0.path.get(..self.0.path.len() - 1).unwrap_or_default().to_vec();
                let Inner { kind, message, .. } = &*self.0;
                let rest = Error(Box::new(Inner { kind: *kind, message: message.clone(), path }));
                (Some(index), rest.to_string())
            }
            _ => (None, self.to_string()),
        }
    }

    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Such as `tool_calls[2].arguments.filters.since`; empty where the whole input is meant. The middle of a long one is
    /// left out.
    pub fn path(&self) -> String {
        let mut path = String::new();
        let length = self.0.path.len();
        for (place, segment) in self.0.path.iter().rev().enumerate() {
            if length > MOST_SEGMENTS && (MOST_SEGMENTS / 2..length - MOST_SEGMENTS / 2).contains(&place) {
                if place == MOST_SEGMENTS / 2 {
                    path.push_str("[…]");
                }
                continue;
            }
            let written = match segment {
                Segment::Index(index) => write!(path, "[{index}]"),
                Segment::Path(written) => write!(path, "{written}"),
                Segment::Key(key) if !is_word(key) => write!(path, "[{key:?}]"),
                Segment::Key(key) if path.is_empty() => write!(path, "{key}"),
                Segment::Key(key) => write!(path, ".{key}"),
            };
            debug_assert!(written.is_ok(), "writing to a String can't fail");
        }
        path
    }
}

fn is_word(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path();
        if !path.is_empty() {
            write!(f, "{path}: ")?;
        }
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {}

/// "match is one of exact, in_order, …, not 'inorder'; did you mean 'in_order'?"
pub fn one_of(what: &str, given: &str, words: &[&str]) -> String {
    let mut message = format!("{what} is one of {}, not {given:?}", words.join(", "));
    if let Some(nearest) = nearest(given, words) {
        let _ = write!(message, "; did you mean {nearest:?}?");
    }
    message
}

/// The word that a slip of the finger is nearest to, if any is near.
pub fn nearest<'w>(given: &str, words: &[&'w str]) -> Option<&'w str> {
    let (distance, word) = distance_to_nearest(given, words)?;
    (distance <= 1 + given.chars().count() / 4).then_some(word)
}

/// The word that this can hardly be anything but a slip of: one edit away, or two where the word is long.
pub fn misspelt<'w>(given: &str, words: &[&'w str]) -> Option<&'w str> {
    let (distance, word) = distance_to_nearest(given, words)?;
    (distance <= if word.len() < 8 { 1 } else { 2 }).then_some(word)
}

fn distance_to_nearest<'w>(given: &str, words: &[&'w str]) -> Option<(usize, &'w str)> {
    let given: Vec<char> = given.chars().take(64).collect();
    let distances = words.iter().map(|&word| (edit_distance(&given, word), word));
    distances.min_by_key(|&(distance, _)| distance)
}

/// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other, whatever the case and
/// the separator of words.
fn edit_distance(a: &[char], b: &str) -> usize {
    let plain = |c: char| if c == '-' || c == ' ' { '_' } else { c.to_ascii_lowercase() };
    let a: Vec<char> = a.iter().map(|&c| plain(c)).collect();
    let b: Vec<char> = b.chars().map(plain).collect();
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let mut best = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(rows[i - 2][j - 2] + 1);
                }
                best
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word() {
        let words = ["exact", "in_order", "any_order"];
        assert_eq!(nearest("inorder", &words), Some("in_order"));
        assert_eq!(nearest("in-order", &words), Some("in_order"));
        assert_eq!(nearest("IN_ORDER", &words), Some("in_order"));
        assert_eq!(nearest("excat", &words), Some("exact"));
        assert_eq!(nearest("strict", &words), None);
        assert_eq!(nearest("", &words), None);
    }

    #[test]
    fn the_path_reads_like_code() {
        let error = Error::value("no").at_key(Text::from("a b")).at_index(2).at_key(Text::from("tool_calls"));
        assert_eq!(error.to_string(), "tool_calls[2][\"a b\"]: no");
    }
}
