//! Which calls are attempts at the same thing, so that a later one makes up for the failure of an earlier one.

use std::{collections::HashMap, hash::RandomState};

use super::{super::names, Outcome, Status};
use crate::{
    compare,
    grounding::request::Call,
    value::{Object, Value},
};

/// How many values of a request are looked at for its identity, and how many later successes for the one that resolves a
/// failure: real requests have a handful.
const MOST_VALUES: usize = 100;
const MOST_CANDIDATES: usize = 16;

/// Keys that differ between attempts at the same thing.
const VOLATILE: [&str; 16] = [
    "timestamp",
    "ts",
    "nonce",
    "request id",
    "requestid",
    "trace id",
    "correlation id",
    "idempotency key",
    "attempt",
    "attempts",
    "retry",
    "retries",
    "retry count",
    "timeout",
    "timeout ms",
    "timeout s",
];

/// The last word of a key whose value says which thing is meant.
const IDENTITY: [&str; 47] = [
    "id",
    "ids",
    "uuid",
    "guid",
    "key",
    "number",
    "no",
    "num",
    "ref",
    "reference",
    "code",
    "sku",
    "email",
    "to",
    "recipient",
    "recipients",
    "name",
    "title",
    "slug",
    "url",
    "uri",
    "path",
    "file",
    "filename",
    "phone",
    "symbol",
    "ticker",
    "isbn",
    "order",
    "invoice",
    "ticket",
    "booking",
    "reservation",
    "event",
    "account",
    "city",
    "location",
    "place",
    "station",
    "service",
    "host",
    "repo",
    "branch",
    "issue",
    "topic",
    "query",
    "q",
];

/// Words of keys that say who acts or pays, which many calls for different things have in common.
const ACTOR: [&str; 20] = [
    "user",
    "customer",
    "client",
    "session",
    "tenant",
    "account",
    "from",
    "sender",
    "card",
    "payment",
    "method",
    "org",
    "organization",
    "organisation",
    "workspace",
    "project",
    "team",
    "currency",
    "source",
    "wallet",
];

/// Say of each failure which later call made up for it.
pub fn resolve(calls: &[Call<'_>], outcomes: &mut [Outcome]) {
    if !outcomes.iter().any(Outcome::is_unresolved) {
        return;
    }
    let good: Vec<bool> = calls.iter().zip(outcomes.iter()).map(|(call, outcome)| makes_up(call, *outcome)).collect();
    let attempts = Attempts::new(calls, &good);
    for (index, outcome) in outcomes.iter_mut().enumerate() {
        if outcome.is_unresolved() {
            outcome.resolved_by = attempts.later(index);
        }
    }
}

/// Of each call that is unresolved, is a later attempt at the same thing unresolved too, so that only that one counts?
pub fn superseded(calls: &[Call<'_>], outcomes: &[Outcome]) -> Vec<bool> {
    let unresolved: Vec<bool> = outcomes.iter().map(Outcome::is_unresolved).collect();
    if unresolved.iter().filter(|&&unresolved| unresolved).count() < 2 {
        return vec![false; calls.len()];
    }
    let attempts = Attempts::new(calls, &unresolved);
    let is_superseded = |(index, &unresolved): (usize, &bool)| unresolved && attempts.later(index).is_some();
    unresolved.iter().enumerate().map(is_superseded).collect()
}

/// A success; where the status is not known, an answer.
fn makes_up(call: &Call<'_>, outcome: Outcome) -> bool {
    match outcome.status {
        Status::Success => !outcome.suspect,
        Status::Unknown => call.response.is_some_and(|response| !matches!(response, Value::Null)),
        _ => false,
    }
}

struct Attempts<'c, 'a> {
    calls: &'c [Call<'a>],
    identities: Vec<Identity>,
    /// The calls that are looked for, by what they may share with an earlier one, in their order.
    wanted: HashMap<u64, Vec<u32>>,
}

/// What a call is about, as hashes that hold for its tool only.
struct Identity {
    /// The request, without what is volatile.
    whole: u64,
    /// Key and value of what says which thing is meant.
    things: Vec<(u64, u64)>,
    /// The keys of `things`, in ascending order.
    keys: Vec<u64>,
    /// The values of what says who acts.
    actors: Vec<u64>,
}

impl<'c, 'a> Attempts<'c, 'a> {
    fn new(calls: &'c [Call<'a>], wanted: &[bool]) -> Self {
        let build = RandomState::new();
        let identities: Vec<Identity> = calls.iter().map(|call| Identity::of(call, &build)).collect();
        let mut attempts = Attempts { calls, identities, wanted: HashMap::new() };
        for (index, (identity, &wanted)) in attempts.identities.iter().zip(wanted).enumerate() {
            if wanted {
                for hash in identity.hashes() {
                    attempts.wanted.entry(hash).or_default().push(index as u32);
                }
            }
        }
        attempts
    }

    /// The first later attempt at the same thing that is wanted.
    fn later(&self, index: usize) -> Option<u32> {
        let (call, identity) = (self.calls.get(index)?, self.identities.get(index)?);
        let fits = |by_actor: bool, other: u32| {
            let (Some(later), Some(other)) = (self.calls.get(other as usize), self.identities.get(other as usize))
            else {
                return false;
            };
            // Who acts is not enough where the things differ: two bookings of a user are two bookings.
            !(overlap(call, later) || by_actor && share(&identity.keys, &other.keys))
        };
        let first = |by_actor: bool, hash: u64| {
            let alike = self.wanted.get(&hash).map(Vec::as_slice).unwrap_or_default();
            let behind = alike.partition_point(|&other| other as usize <= index);
            alike.iter().skip(behind).take(MOST_CANDIDATES).copied().find(|&other| fits(by_actor, other))
        };
        let things = identity.things.iter().map(|&(_, value)| value);
        let by_thing = std::iter::once(identity.whole).chain(things).filter_map(|hash| first(false, hash));
        by_thing.chain(identity.actors.iter().filter_map(|&hash| first(true, hash))).min()
    }
}

/// Do two ascending lists have something in common?
fn share(a: &[u64], b: &[u64]) -> bool {
    a.iter().any(|value| b.binary_search(value).is_ok())
}

impl Identity {
    fn of(call: &Call<'_>, build: &RandomState) -> Self {
        let tool = compare::hash(Value::Text(call.tool.into()), build);
        let request = call.request.unwrap_or_default();
        let mix = |hash: u64| compare::hash(Value::Array(&[Value::Int(tool as i64), Value::Int(hash as i64)]), build);
        let whole = match request {
            Value::Object(members) => {
                let kept =
                    members.iter().filter(|member| !VOLATILE.contains(&key_of(&names::utf8(member.key)).as_str()));
                kept.fold(0u64, |sum, member| sum.wrapping_add(compare::hash_member(member.key, member.value, build)))
            }
            other => compare::hash(other, build),
        };
        let mut identity = Identity { whole: mix(whole), things: Vec::new(), keys: Vec::new(), actors: Vec::new() };
        if let Value::Object(members) = request {
            let mut room = MOST_VALUES;
            identity.read(members, &mix, build, &mut room);
        }
        identity.keys = identity.things.iter().map(|&(key, _)| key).collect();
        identity.keys.sort_unstable();
        identity
    }

    fn read(&mut self, members: Object<'_>, mix: &impl Fn(u64) -> u64, build: &RandomState, room: &mut usize) {
        for member in members {
            let words = names::words_of(&names::utf8(member.key));
            let is_volatile = VOLATILE.contains(&words.join(" ").as_str());
            let is_actor = words.iter().any(|word| ACTOR.contains(&word.as_str()));
            let is_thing = words.last().is_some_and(|word| IDENTITY.contains(&word.as_str()));
            let key = compare::hash(Value::Text(member.key), build);
            let items = match &member.value {
                Value::Array(items) => items,
                value => std::slice::from_ref(value),
            };
            for &item in items {
                *room = match room.checked_sub(1) {
                    Some(rest) => rest,
                    None => return,
                };
                match item {
                    Value::Object(members) => self.read(members, mix, build, room),
                    Value::Text(_) | Value::Int(_) | Value::Big(_) if !is_volatile => {
                        let value = mix(compare::hash(item, build));
                        if is_actor {
                            self.actors.push(value);
                        } else if is_thing || looks_like_an_id(item) {
                            self.things.push((key, value));
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    fn hashes(&self) -> impl Iterator<Item = u64> {
        let things = self.things.iter().map(|&(_, value)| value);
        std::iter::once(self.whole).chain(things).chain(self.actors.iter().copied())
    }
}

fn key_of(key: &str) -> String {
    names::words_of(key).join(" ")
}

/// "A-99812", "dana@example.com"
fn looks_like_an_id(value: Value<'_>) -> bool {
    let Value::Text(text) = value else { return false };
    let text = names::utf8(text);
    let has = |what: fn(char) -> bool| text.chars().any(what);
    (3..=64).contains(&text.len())
        && !has(char::is_whitespace)
        && (has(|c| c == '@') || has(char::is_alphabetic) && has(|c| c.is_ascii_digit()))
}

/// Did both run at the same time?
fn overlap(a: &Call<'_>, b: &Call<'_>) -> bool {
    let (Some((a_start, _)), Some((b_start, _))) = (a.start, b.start) else { return false };
    let ends_before = |end: Option<(i64, i16)>, start: i64| end.map_or(a_start != b_start, |(end, _)| end <= start);
    !(ends_before(a.end, b_start) && a_start <= b_start || ends_before(b.end, a_start) && b_start <= a_start)
}
