//! Values to leaves.

use std::{collections::HashSet, hash::BuildHasher};

use bumpalo::{Bump, collections::Vec as ArenaVec};
use foldhash::fast::RandomState;

use super::{
    super::{
        request::{Request, utf8},
        scan::Unit,
        settings::Settings,
        status::{Outcome, Status},
    },
    Facts, Leaf, NO_CALL, Node, Side, Step,
    index::Index,
    keys::{Key, Keys, Traits},
    measure, tables,
    typed::{self, Typist},
};
use crate::{
    call::Reader,
    json,
    text::Text,
    trace::decode,
    value::{Object, Value},
};

/// Leaves of payloads beyond these are not looked at.
const MOST_LEAVES: usize = 200_000;
/// How deep payloads are looked into.
const MOST_LEVELS: usize = 128;
/// How many times JSON may stand in a text in JSON.
const MOST_TEXTS: u8 = 2;
/// Arguments that are held against responses, to find echoes.
const MOST_ARGUMENTS: usize = 1000;

pub fn facts<'a>(request: &Request<'a>, outcomes: &[Outcome], settings: &Settings, bump: &'a Bump) -> Facts<'a> {
    let payloads = request.calls.iter().flat_map(|call| [call.request, call.response, call.error]);
    let expected = payloads.flatten().map(|value| scalars(value, MOST_LEVELS)).sum::<usize>().min(MOST_LEAVES) + 16;
    let mut out = Flattener {
        keys: Keys::new(settings, bump),
        leaves: ArenaVec::with_capacity_in(expected, bump),
        nodes: ArenaVec::new_in(bump),
        typist: Typist::new(expected, bump),
        members: Vec::new(),
        arguments: Arguments::default(),
        cut: false,
        bump,
    };
    for (index, call) in request.calls.iter().enumerate() {
        let failed = outcomes
            .get(index)
            .is_some_and(|outcome| matches!(outcome.status, Status::Failed | Status::TimedOut | Status::Skipped));
        let place = |side| Place {
            call: index as u32,
            side,
            failed: failed || side == Side::Error,
            node: None,
            embedded: false,
            texts: 0,
            levels: MOST_LEVELS,
        };
        let root = At { step: Step::Index(0), key: &Key::NONE };
        out.arguments.clear();
        let scope = Scope::default().with_system(call.request);
        if let Some(arguments) = call.request {
            out.value(arguments, root, &place(Side::Request), &scope);
        }
        if let Some(response) = call.response {
            out.value(response, root, &place(Side::Response), &scope);
        }
        if let Some(error) = call.error {
            out.value(error, root, &place(Side::Error), &scope);
        }
        // A status such as 403 is told with a failure.
        if let Some(status @ (Value::Int(_) | Value::Text(_))) = call.status.filter(|_| failed) {
            out.value(status, At { step: Step::Key("status"), ..root }, &place(Side::Error), &scope);
        }
    }
    out.arguments.clear();
    let said =
        [(Side::Query, request.query)].into_iter().chain(request.context.iter().map(|&text| (Side::Context, text)));
    for (index, (side, text)) in said.enumerate() {
        let place =
            Place { call: NO_CALL, side, failed: false, node: None, embedded: false, texts: 0, levels: MOST_LEVELS };
        let at = At { step: Step::Index(index.saturating_sub(1) as u32), key: &Key::NONE };
        out.text(text, Value::Text(Text::from(text)), at, &place, &Scope::default());
    }
    let cut = out.cut || out.typist.cut;
    let leaves = out.leaves.into_bump_slice();
    let nodes = out.nodes.into_bump_slice();
    let facts = out.typist.facts.into_bump_slice();
    let index = Index::new(facts, bump);
    Facts { calls: request.calls, leaves, nodes, facts, index, cut }
}

fn scalars(value: Value<'_>, levels: usize) -> usize {
    let inside = |value| match value {
        Value::Array(_) | Value::Object(_) => scalars(value, levels - 1),
        _ => 1,
    };
    match value {
        _ if levels == 0 => 1,
        Value::Array(items) => items.iter().map(|&item| inside(item)).sum::<usize>().max(1),
        Value::Object(members) => members.iter().map(|member| inside(member.value)).sum::<usize>().max(1),
        _ => 1,
    }
}

/// Whose value it is: what all values of an object or list have in common.
#[derive(Clone, Copy)]
struct Place {
    call: u32,
    side: Side,
    failed: bool,
    /// The object or list that it is in.
    node: Option<u32>,
    embedded: bool,
    /// How many texts it was read out of.
    texts: u8,
    levels: usize,
}

/// Where it stands there.
#[derive(Clone, Copy)]
struct At<'a> {
    step: Step<'a>,
    /// Its nearest key.
    key: &'a Key<'a>,
}

/// Units that what stands around a value gives it.
#[derive(Clone, Copy, Default)]
struct Scope<'a> {
    currency: Option<Unit<'a>>,
    /// Of temperatures.
    degrees: Option<Unit<'a>>,
    /// That of a sibling `unit`.
    sibling: Option<Unit<'a>>,
    /// `"hourly_units": {"temperature_2m": "°C"}`
    by_key: Option<Object<'a>>,
}

impl<'a> Scope<'a> {
    /// `units: metric` among the arguments, or beside the values.
    fn with_system(mut self, arguments: Option<Value<'a>>) -> Self {
        let system = ["units", "unit", "unit_system", "system"]
            .iter()
            .find_map(|key| arguments?.get(key))
            .and_then(|value| if let Value::Text(text) = value { Some(text) } else { None });
        if let Some(degrees) = system.and_then(degrees_of) {
            self.degrees = Some(degrees);
        }
        self
    }

    /// The unit of a number under a key.
    fn unit(&self, key: &Key<'a>, written: Option<&str>) -> Option<Unit<'a>> {
        if key.hinted {
            return key.unit;
        }
        let by_key = || {
            let Value::Text(Text::Utf8(unit)) = crate::value::get(self.by_key?, Text::from(written?))? else {
                return None;
            };
            measure::unit(std::str::from_utf8(unit).ok()?)
        };
        let of_sibling = || {
            let unit = self.sibling?;
            match unit {
                _ if key.traits.has(Traits::GENERIC) => Some(unit),
                Unit::Measure(name) if key.traits.has(Traits::TEMPERATURE) && measure::is_temperature(name) => {
                    Some(unit)
                }
                Unit::Currency { .. } if key.traits.has(Traits::MONEY) => Some(unit),
                _ => None,
            }
        };
        let degrees = || self.degrees.filter(|_| key.traits.has(Traits::TEMPERATURE));
        let currency = || self.currency.filter(|_| key.traits.has(Traits::MONEY));
        by_key().or(key.unit).or_else(of_sibling).or_else(degrees).or_else(currency)
    }
}

/// What temperatures are in, in a system of units.
fn degrees_of(system: Text<'_>) -> Option<Unit<'static>> {
    let is = |words: &[&str]| {
        let text = system.to_utf8();
        words.iter().any(|word| text.eq_ignore_ascii_case(word.as_bytes()))
    };
    if is(&["metric", "si", "celsius", "c", "°c"]) {
        measure::unit("°C")
    } else if is(&["imperial", "us", "fahrenheit", "f", "°f"]) {
        measure::unit("°F")
    } else if is(&["standard", "kelvin"]) {
        measure::unit("kelvin")
    } else {
        None
    }
}

struct Flattener<'a, 's> {
    keys: Keys<'a, 's>,
    leaves: ArenaVec<'a, Leaf<'a>>,
    nodes: ArenaVec<'a, Node<'a>>,
    typist: Typist<'a>,
    /// The keys of the objects that are being walked through, the innermost last.
    members: Vec<(&'a str, &'a Key<'a>)>,
    arguments: Arguments,
    cut: bool,
    bump: &'a Bump,
}

impl<'a> Flattener<'a, '_> {
    /// Recursion ends at `Place::levels`.
    fn value(&mut self, value: Value<'a>, at: At<'a>, place: &Place, scope: &Scope<'a>) {
        match value {
            Value::Array(_) | Value::Object(_) if place.levels == 0 => self.cut = true,
            Value::Array([]) | Value::Object([]) => self.push(value, "", at, place, None, false),
            Value::Array(items) => {
                let node = self.open(at, place, items.len(), true);
                let inside = place.inside(node);
                for (index, &item) in items.iter().enumerate() {
                    self.value(item, At { step: Step::Index(index as u32), ..at }, &inside, scope);
                }
                self.close(node);
            }
            Value::Object(members) => self.object(members, at, place, scope),
            Value::Text(text) | Value::Foreign(&text) => {
                let text = utf8(text, self.bump);
                self.text(text, value, at, place, scope);
            }
            _ => self.push(value, "", at, place, scope.unit(at.key, at.written()), false),
        }
    }

    fn object(&mut self, members: Object<'a>, at: At<'a>, place: &Place, scope: &Scope<'a>) {
        if self.leaves.len() >= MOST_LEAVES {
            self.cut = true;
            return;
        }
        let node = self.open(at, place, members.len(), false);
        let first = self.members.len();
        let mut inner = Scope { sibling: None, ..*scope };
        let mut tables_of_units = false;
        for member in members {
            let (name, key) = self.keys.get(member.key);
            self.members.push((name, key));
            if key.traits.has(Traits::UNIT.and(Traits::CURRENCY)) {
                match member.value {
                    Value::Text(text) => inner.told(text, key.traits, self.bump),
                    Value::Object(_) => tables_of_units |= key.words.last() == Some(&"units"),
                    _ => {}
                }
            }
        }
        let inside = place.inside(node);
        for (index, member) in members.iter().enumerate() {
            let Some(&(name, key)) = self.members.get(first + index) else { continue };
            if tables_of_units {
                inner.by_key = self.units_for(members, first, key).or(scope.by_key);
            }
            // A key such as "0" or "value" says nothing that the one around it doesn't say better, but it's the nearest.
            self.value(member.value, At { step: Step::Key(name), key }, &inside, &inner);
        }
        self.members.truncate(first);
        self.close(node);
    }

    /// The units for what is under a key: `hourly_units` for `hourly`, or else `units`.
    fn units_for(&self, members: Object<'a>, first: usize, of: &Key<'a>) -> Option<Object<'a>> {
        let of_words = |words: &[&str]| {
            members.iter().enumerate().find_map(|(index, member)| {
                let (_, key) = self.members.get(first + index)?;
                match (key.words.split_last(), member.value) {
                    (Some((&"units", before)), Value::Object(units)) if before == words => Some(units),
                    _ => None,
                }
            })
        };
        of_words(of.words).or_else(|| of_words(&[]))
    }

    fn open(&mut self, at: At<'a>, place: &Place, length: usize, is_list: bool) -> u32 {
        let here = self.leaves.len() as u32;
        self.nodes.push(Node {
            call: place.call,
            side: place.side,
            parent: place.node,
            key: at.step,
            words: at.key.words,
            words_id: at.key.words_id,
            length: length as u32,
            is_list,
            embedded: place.embedded,
            leaves: (here, here),
        });
        self.nodes.len() as u32 - 1
    }

    fn close(&mut self, node: u32) {
        let end = self.leaves.len() as u32;
        if let Some(node) = self.nodes.get_mut(node as usize) {
            node.leaves.1 = end;
        }
    }

    /// A text: what JSON or a table in it says, or else the text.
    fn text(&mut self, text: &'a str, value: Value<'a>, at: At<'a>, place: &Place, scope: &Scope<'a>) {
        let said = place.side == Side::Query || place.side == Side::Context;
        if place.texts < MOST_TEXTS && place.levels > 0 {
            let inside = || Place { texts: place.texts + 1, embedded: true, ..*place };
            if let Some(value) = written_value(text, place.levels - 1, self.bump) {
                return self.value(value, at, &inside(), scope);
            }
            if !said && let Some(table) = tables::find(text, self.bump) {
                return self.table(&table, at, &inside(), scope);
            }
        }
        let text = typed::without_double_escapes(text, self.bump);
        let unit = if text.len() <= 40 { scope.unit(at.key, at.written()) } else { None };
        self.push(value, text, at, place, unit, false);
    }

    fn table(&mut self, table: &tables::Table<'a>, at: At<'a>, place: &Place, scope: &Scope<'a>) {
        let node = self.open(at, place, table.rows.len(), true);
        let inside = place.inside(node);
        let mut inner = Scope { sibling: None, ..*scope };
        for &(name, text) in table.remarks {
            let (name, key) = self.keys.get(Text::from(name));
            if key.traits.has(Traits::UNIT.and(Traits::CURRENCY)) {
                inner.told(Text::from(text), key.traits, self.bump);
            }
            self.push(Value::Text(Text::from(text)), text, At { step: Step::Key(name), key }, &inside, None, false);
        }
        let header = self.bump.alloc_slice_fill_iter(table.header.iter().map(|&name| self.keys.get(Text::from(name))));
        for (index, row) in table.rows.iter().enumerate() {
            if self.leaves.len() >= MOST_LEAVES {
                self.cut = true;
                break;
            }
            let row_node = self.open(At { step: Step::Index(index as u32), ..at }, &inside, row.len(), false);
            let in_row = inside.inside(row_node);
            for (&cell, &(name, key)) in row.iter().zip(header.iter()) {
                let unit = inner.unit(key, Some(name));
                self.push(Value::Text(Text::from(cell)), cell, At { step: Step::Key(name), key }, &in_row, unit, true);
            }
            self.close(row_node);
        }
        for text in table.prose {
            self.push(Value::Text(Text::from(*text)), text, at, &inside, None, false);
        }
        self.close(node);
    }

    fn push(&mut self, value: Value<'a>, text: &'a str, at: At<'a>, place: &Place, unit: Option<Unit<'a>>, cell: bool) {
        // What the user said is never left out.
        if self.leaves.len() >= MOST_LEAVES && place.call != NO_CALL {
            self.cut = true;
            return;
        }
        let At { step, key } = at;
        let echo = match place.side {
            Side::Request => {
                self.arguments.add(value, text, key);
                false
            }
            Side::Response => self.arguments.has(value, text, key),
            _ => false,
        };
        let index = self.leaves.len() as u32;
        let facts = self.typist.of_leaf(index, value, text, unit, key.traits);
        self.leaves.push(Leaf {
            call: place.call,
            side: place.side,
            failed: place.failed,
            node: place.node,
            key: step,
            words: key.words,
            words_id: key.words_id,
            traits: key.traits,
            value,
            text,
            unit,
            technical: key.traits.has(Traits::TECHNICAL) || typed::is_epoch(value, key.traits),
            echo,
            cell,
            facts,
        });
    }
}

/// What a call was asked with: texts under any key; numbers and short texts under the same key.
#[derive(Default)]
struct Arguments {
    /// Their hashes.
    texts: HashSet<u64, RandomState>,
    numbers: HashSet<u64, RandomState>,
    hash: RandomState,
}

impl Arguments {
    fn clear(&mut self) {
        self.texts.clear();
        self.numbers.clear();
    }

    fn add(&mut self, value: Value<'_>, text: &str, key: &Key<'_>) {
        if self.texts.len() + self.numbers.len() >= MOST_ARGUMENTS {
            return;
        }
        if let Some(hash) = self.hash_of_text(value, text, key) {
            self.texts.insert(hash);
        } else if let Some(hash) = self.hash_of_number(value, key) {
            self.numbers.insert(hash);
        }
    }

    fn has(&self, value: Value<'_>, text: &str, key: &Key<'_>) -> bool {
        let known =
            |hashes: &HashSet<u64, RandomState>, hash: Option<u64>| hash.is_some_and(|hash| hashes.contains(&hash));
        !self.texts.is_empty() && known(&self.texts, self.hash_of_text(value, text, key))
            || !self.numbers.is_empty() && known(&self.numbers, self.hash_of_number(value, key))
    }

    fn hash_of_text(&self, value: Value<'_>, text: &str, key: &Key<'_>) -> Option<u64> {
        match value {
            Value::Text(_) if text.len() > 2 => Some(self.hash.hash_one(text)),
            Value::Text(_) => Some(self.hash.hash_one((key.words.last(), text))),
            _ => None,
        }
    }

    fn hash_of_number(&self, value: Value<'_>, key: &Key<'_>) -> Option<u64> {
        match value {
            Value::Int(int) => Some(self.hash.hash_one((key.words.last(), int))),
            Value::Float(float) => Some(self.hash.hash_one((key.words.last(), float.to_bits()))),
            _ => None,
        }
    }
}

impl Place {
    fn inside(&self, node: u32) -> Self {
        Place { node: Some(node), levels: self.levels.saturating_sub(1), ..*self }
    }
}

impl<'a> At<'a> {
    /// Its own key, as it is written.
    fn written(&self) -> Option<&'a str> {
        if let Step::Key(key) = self.step { Some(key) } else { None }
    }
}

impl<'a> Scope<'a> {
    /// A sibling says what the unit or the currency is.
    fn told(&mut self, text: Text<'a>, traits: Traits, bump: &'a Bump) {
        if let Some(degrees) = degrees_of(text) {
            self.degrees = Some(degrees);
        }
        let text = utf8(text, bump);
        match measure::unit(text) {
            Some(unit @ Unit::Currency { .. }) if traits.has(Traits::CURRENCY) => self.currency = Some(unit),
            Some(unit) if traits.has(Traits::UNIT) => self.sibling = Some(unit),
            _ => {}
        }
    }
}

/// JSON or a Python literal in a text, if it is an object or a list.
fn written_value<'a>(text: &'a str, levels: usize, bump: &'a Bump) -> Option<Value<'a>> {
    if !text.trim_ascii_start().starts_with(['{', '[']) {
        return None;
    }
    let value = json::parse(text.as_bytes(), levels, bump)
        .ok()
        .or_else(|| decode::python_literal(Reader::new(bump, true), text.as_bytes()))?;
    matches!(value, Value::Object(_) | Value::Array(_)).then_some(value)
}
