//! The only definition of equality, and of what it means that a call's arguments match.

use std::{collections::HashMap, hash::BuildHasher};

use crate::{
    number,
    options::ArgumentMode,
    text::Text,
    value::{Object, Value, get},
};

/// Objects of more members than this are looked up by hash.
const LINEAR: usize = 16;

pub fn equal(a: Value<'_>, b: Value<'_>) -> bool {
    match (a, b) {
        (Value::Text(a), Value::Text(b)) => a == b,
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::Float(a), Value::Float(b)) => number::float_equal(a, b),
        (Value::Int(int), Value::Float(float)) | (Value::Float(float), Value::Int(int)) => {
            number::int_is_float(int, float)
        }
        (Value::Null, Value::Null) | (Value::False, Value::False) | (Value::True, Value::True) => true,
        (Value::Array(a), Value::Array(b)) if std::ptr::eq(a, b) => true,
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => a.len() == b.len() && contains(a, b),
        (Value::Big(a), Value::Big(b)) => number::big_equal(a, b),
        (Value::Big(big), Value::Float(float)) | (Value::Float(float), Value::Big(big)) => {
            number::big_is_float(big, float)
        }
        _ => false,
    }
}

/// Has `whole` every member of `part`, with an equal value?
fn contains(whole: Object<'_>, part: Object<'_>) -> bool {
    // What was parsed once is the same, and NaN is NaN.
    if std::ptr::eq(whole, part) {
        return true;
    }
    // Both usually list their keys in one order.
    let same = whole.iter().zip(part).take_while(|(a, b)| a.key == b.key).count();
    if !whole.iter().zip(&part[..same]).all(|(a, b)| equal(a.value, b.value)) {
        return false;
    }
    let (whole, part) = (&whole[same..], &part[same..]);
    if part.is_empty() {
        return true;
    }
    let find = Lookup::new(whole, part.len());
    part.iter().all(|member| find.get(member.key).is_some_and(|value| equal(value, member.value)))
}

/// Finds members by key: one by one where that is cheap, else by hash.
struct Lookup<'a> {
    members: Object<'a>,
    index: Option<HashMap<Text<'a>, Value<'a>>>,
}

impl<'a> Lookup<'a> {
    fn new(members: Object<'a>, times: usize) -> Self {
        let index = (members.len() > LINEAR && times > 1)
            .then(|| members.iter().map(|member| (member.key, member.value)).collect());
        Lookup { members, index }
    }

    fn get(&self, key: Text<'_>) -> Option<Value<'a>> {
        match &self.index {
            Some(index) => index.get(&key).copied(),
            None => get(self.members, key),
        }
    }
}

/// Do these arguments match the ones listed by an expected call?
pub fn arguments_match(actual: Object<'_>, expected: Object<'_>, mode: ArgumentMode) -> bool {
    match mode {
        ArgumentMode::Ignore => true,
        ArgumentMode::Partial => expected.len() <= actual.len() && contains(actual, expected),
        ArgumentMode::Exact => expected.len() == actual.len() && contains(actual, expected),
    }
}

/// The place where two values first differ, with what each side has there.
pub struct Mismatch<'a> {
    pub pointer: Vec<Step<'a>>,
    pub actual: Option<Value<'a>>,
    pub expected: Option<Value<'a>>,
}

pub enum Step<'a> {
    Key(Text<'a>),
    Index(usize),
}

/// Where the arguments first differ, in the order in which the expected ones are listed; None if they match.
pub fn first_mismatch<'a>(actual: Object<'a>, expected: Object<'a>, mode: ArgumentMode) -> Option<Mismatch<'a>> {
    let mut mismatch = match mode {
        ArgumentMode::Ignore => None,
        ArgumentMode::Partial => differing_member(actual, expected),
        ArgumentMode::Exact => differing_object(actual, expected),
    }?;
    mismatch.pointer.reverse();
    Some(mismatch)
}

/// The pointer is put together from its end, on the way back.
fn differing_value<'a>(actual: Value<'a>, expected: Value<'a>) -> Option<Mismatch<'a>> {
    match (actual, expected) {
        (Value::Object(actual), Value::Object(expected)) => differing_object(actual, expected),
        (Value::Array(actual), Value::Array(expected)) => {
            for index in 0..actual.len().max(expected.len()) {
                let found = differing(actual.get(index).copied(), expected.get(index).copied());
                if let Some(mut mismatch) = found {
                    mismatch.pointer.push(Step::Index(index));
                    return Some(mismatch);
                }
            }
            None
        }
        _ if equal(actual, expected) => None,
        _ => Some(Mismatch { pointer: Vec::new(), actual: Some(actual), expected: Some(expected) }),
    }
}

fn differing<'a>(actual: Option<Value<'a>>, expected: Option<Value<'a>>) -> Option<Mismatch<'a>> {
    match (actual, expected) {
        (Some(actual), Some(expected)) => differing_value(actual, expected),
        (None, None) => None,
        (actual, expected) => Some(Mismatch { pointer: Vec::new(), actual, expected }),
    }
}

fn differing_object<'a>(actual: Object<'a>, expected: Object<'a>) -> Option<Mismatch<'a>> {
    differing_member(actual, expected).or_else(|| {
        let find = Lookup::new(expected, actual.len());
        let extra = actual.iter().find(|member| find.get(member.key).is_none())?;
        Some(Mismatch { pointer: vec![Step::Key(extra.key)], actual: Some(extra.value), expected: None })
    })
}

fn differing_member<'a>(actual: Object<'a>, expected: Object<'a>) -> Option<Mismatch<'a>> {
    let find = Lookup::new(actual, expected.len());
    expected.iter().find_map(|member| {
        let mut mismatch = differing(find.get(member.key), Some(member.value))?;
        mismatch.pointer.push(Step::Key(member.key));
        Some(mismatch)
    })
}

/// Equal values hash alike.
pub fn hash<S: BuildHasher>(value: Value<'_>, build: &S) -> u64 {
    match value {
        Value::Null => build.hash_one(0u8),
        Value::False => build.hash_one(false),
        Value::True => build.hash_one(true),
        Value::Int(int) => number::hash_int(int, build),
        Value::Float(float) => number::hash_float(float, build),
        Value::Big(big) => number::hash_big(big, build),
        Value::Text(text) => build.hash_one(text),
        Value::Array(items) => {
            items.iter().fold(build.hash_one(items.len()), |so_far, &item| build.hash_one((so_far, hash(item, build))))
        }
        Value::Object(members) => hash_object(members, build),
        Value::Foreign(name) => build.hash_one(name),
    }
}

/// Whatever the order of the keys.
pub fn hash_object<S: BuildHasher>(members: Object<'_>, build: &S) -> u64 {
    let each = members.iter().map(|member| hash_member(member.key, member.value, build));
    each.fold(members.len() as u64, u64::wrapping_add)
}

pub fn hash_member<S: BuildHasher>(key: Text<'_>, value: Value<'_>, build: &S) -> u64 {
    build.hash_one((key, hash(value, build)))
}
