//! One JSON value, read from anywhere: JSON bytes, a Python object, later an Arrow column.
//!
//! Values are small, `Copy`, and live in the arena (`bumpalo::Bump`) of the row they belong to, borrowing texts from
//! their source. A reader guarantees two things that all code behind it relies on: an object has no key twice, and
//! nothing nests deeper than [`MAX_RECORD_DEPTH`], so recursion over a value is bounded.

use bumpalo::Bump;

use crate::{number::Big, text::Text};

/// How deep the arguments of a tool call may nest.
pub const MAX_DEPTH: usize = 512;
/// How deep a record around the arguments may nest, all in all.
pub const MAX_RECORD_DEPTH: usize = 2 * MAX_DEPTH;

/// How many values one side of a comparison, or a record, may have. A list that holds another one twice, which holds
/// another one twice …, has more than fit into any memory, and so has a record of nothing but commas and digits.
pub const MOST_VALUES: usize = 10_000_000;

#[derive(Clone, Copy, Debug, Default)]
pub enum Value<'a> {
    #[default]
    Null,
    // Not `Bool(bool)`: with all payloads in the same two words, values are copied word by word, which reading spends
    // most of its time with.
    False,
    True,
    Int(i64),
    /// An integer that `Int` can't hold.
    Big(&'a Big<'a>),
    Float(f64),
    Text(Text<'a>),
    Array(&'a [Value<'a>]),
    Object(Object<'a>),
    /// What is no JSON value, by the name of its type. Only messages hold such things, where they are said and not given
    /// to a tool or by one: see [`crate::trace::messages`].
    Foreign(&'a Text<'a>),
}

pub type Object<'a> = &'a [Member<'a>];

#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    pub key: Text<'a>,
    pub value: Value<'a>,
}

impl<'a> Value<'a> {
    /// The value of a key of an object, or of an index (as decimal digits) of an array.
    pub fn get(self, key: &str) -> Option<Value<'a>> {
        match self {
            Value::Object(members) => get(members, Text::from(key)),
            Value::Array(items) => items.get(key.parse::<usize>().ok()?).copied(),
            _ => None,
        }
    }

    /// What people call this kind of value.
    pub fn kind(self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::False | Value::True => "a boolean",
            Value::Int(_) | Value::Big(_) | Value::Float(_) => "a number",
            Value::Text(_) => "a string",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
            Value::Foreign(_) => "something that is no JSON value",
        }
    }

    /// A copy that borrows nothing from the source.
    pub fn copy_to(self, bump: &Bump) -> Value<'_> {
        match self {
            Value::Null => Value::Null,
            Value::False => Value::False,
            Value::True => Value::True,
            Value::Int(int) => Value::Int(int),
            Value::Big(big) => Value::Big(bump.alloc(big.copy_to(bump))),
            Value::Float(float) => Value::Float(float),
            Value::Text(text) => Value::Text(text.copy_to(bump)),
            Value::Array(items) => {
                Value::Array(bump.alloc_slice_fill_iter(items.iter().map(|item| item.copy_to(bump))))
            }
            Value::Object(members) => {
                let copy =
                    |member: &Member<'_>| Member { key: member.key.copy_to(bump), value: member.value.copy_to(bump) };
                Value::Object(bump.alloc_slice_fill_iter(members.iter().map(copy)))
            }
            Value::Foreign(name) => Value::Foreign(bump.alloc(name.copy_to(bump))),
        }
    }

    /// Does this nest deeper than `limit`? A scalar has depth 0, `[]` has 1.
    pub fn deeper_than(self, limit: usize) -> bool {
        let below = |value: Value<'a>| limit == 0 || value.deeper_than(limit - 1);
        match self {
            Value::Array(items) => limit == 0 || items.iter().any(|&item| below(item)),
            Value::Object(members) => limit == 0 || members.iter().any(|member| below(member.value)),
            _ => false,
        }
    }
}

#[inline]
pub fn get<'a>(members: Object<'a>, key: Text<'_>) -> Option<Value<'a>> {
    let member = match key {
        // Most lookups are this, and comparing anything with anything takes several times as long.
        Text::Utf8(wanted) => members.iter().find(|member| match member.key {
            Text::Utf8(bytes) => bytes == wanted,
            other => other == key,
        }),
        _ => members.iter().find(|member| member.key == key),
    };
    member.map(|member| member.value)
}
