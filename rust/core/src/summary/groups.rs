//! Groups of rows, each with a summary.

use std::{cmp::Ordering, sync::Arc};

use foldhash::{HashMap, HashSet};

use super::{State, Summary};
use crate::{error::Error, report::Report, show, text::Text, value::Value};

/// Of more tools and arguments that fail than this, in all groups together, no group tells its own.
const MOST_FAILING_IN_GROUPS: usize = 1_000_000;
/// Of more groups than this, or of values that take more bytes, none is told.
pub const MOST_GROUPS: usize = 100_000;
const MOST_BYTES: usize = 64 << 20;

/// The value of a row in each of the fields that it is grouped by, as bytes that tell all of them apart: texts as they are,
/// numbers and all else as JSON text, and null.
#[derive(Clone, Debug, Default)]
pub struct Key(Vec<u8>);

impl Key {
    /// Of one field.
    pub fn of(value: Value<'_>) -> Self {
        let mut key = Key::default();
        key.push(value);
        key
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn push(&mut self, value: Value<'_>) {
        match value {
            Value::Null => self.0.push(0),
            Value::Text(Text::Utf8(text)) if std::str::from_utf8(text).is_ok() => self.push_text(text),
            Value::Text(text) => self.push_text(show::storable(text).as_bytes()),
            other => {
                let mut json = String::new();
                show::write_json(other, &mut json);
                self.push_text(json.as_bytes());
            }
        }
    }

    /// The values of another key after these.
    pub fn append(&mut self, other: &Key) {
        self.0.extend_from_slice(&other.0);
    }

    fn push_text(&mut self, text: &[u8]) {
        self.0.push(1);
        self.0.extend_from_slice(&(text.len() as u64).to_le_bytes());
        self.0.extend_from_slice(text);
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<Key> for Box<[u8]> {
    fn from(key: Key) -> Self {
        key.0.into()
    }
}

/// The values of a key.
fn values(mut key: &[u8]) -> Vec<Option<&str>> {
    let mut values = Vec::new();
    while let Some((tag, rest)) = key.split_first() {
        key = rest;
        if *tag == 0 {
            values.push(None);
        } else if let Some((length, rest)) = key.split_first_chunk() {
            let (text, rest) = rest.split_at_checked(u64::from_le_bytes(*length) as usize).unwrap_or_default();
            values.push(Some(std::str::from_utf8(text).unwrap_or_default()));
            key = rest;
        }
    }
    values
}

/// Nulls come first, then numbers by their size, then all other texts.
fn compare(a: &[Option<&str>], b: &[Option<&str>]) -> Ordering {
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| !number.is_nan());
    let rank = |value: Option<&str>| (value.is_some(), value.is_some_and(|text| number(text).is_none()));
    let each = a.iter().zip(b).map(|(a, b)| {
        let by_size = match (a.and_then(number), b.and_then(number)) {
            (Some(a), Some(b)) => a.total_cmp(&b),
            _ => Ordering::Equal,
        };
        rank(*a).cmp(&rank(*b)).then(by_size).then(a.cmp(b))
    });
    each.fold(Ordering::Equal, Ordering::then)
}

/// A summary of all rows, and one of each group of them.
#[derive(Clone, Debug)]
pub struct Summaries {
    by: Arc<[String]>,
    total: Summary,
    groups: HashMap<Box<[u8]>, Summary>,
    /// What the keys take.
    bytes: usize,
    /// How many tools and arguments all groups have.
    failing: usize,
    /// Whether those of groups are too many to tell.
    many_failing: bool,
    /// Why there are no groups to tell, if there are none.
    refused: Option<String>,
}

/// The values of a group, and its summary.
pub type Group<'s> = (Vec<Option<&'s str>>, &'s Summary);

/// All of some summaries, for other processes.
pub type GroupState = (Vec<String>, State, Vec<(Vec<Option<String>>, State)>, bool, Option<String>);

impl Summaries {
    /// Of rows that are grouped by the values of fields. If there are none, only all rows together are summed up.
    pub fn new(by: Arc<[String]>) -> Self {
        Summaries {
            by,
            total: Summary::default(),
            groups: HashMap::default(),
            bytes: 0,
            failing: 0,
            many_failing: false,
            refused: None,
        }
    }

    pub fn by(&self) -> &Arc<[String]> {
        &self.by
    }

    pub fn total(&self) -> &Summary {
        &self.total
    }

    /// `key`: the values of the row in the fields.
    pub fn add(&mut self, key: &[u8], report: &Report) {
        self.total.add(report);
        self.change(key, |group| group.add(report));
    }

    /// Says whether these are of rows that are grouped by the same fields.
    pub fn merge(&mut self, other: &Summaries) -> bool {
        if self.by != other.by {
            return false;
        }
        self.total.merge(&other.total);
        if other.many_failing {
            self.leave_out_failing();
        }
        if let Some(why) = &other.refused {
            self.refuse(why.clone());
        }
        for (key, summary) in &other.groups {
            self.change(key, |group| group.merge(summary));
        }
        true
    }

    /// The same rows, grouped by some of the fields; None if they are not grouped by one of these.
    pub fn by_fields(&self, fields: &[String]) -> Option<Summaries> {
        let places: Option<Vec<usize>> =
            fields.iter().map(|field| self.by.iter().position(|known| known == field)).collect();
        let places = places?;
        let mut larger = Summaries::new(fields.into());
        (larger.total, larger.many_failing, larger.refused) =
            (self.total.clone(), self.many_failing, self.refused.clone());
        let mut key = Key::default();
        for (small, summary) in &self.groups {
            let values = values(small);
            key.clear();
            for place in &places {
                key.push(values.get(*place).copied().flatten().map_or(Value::Null, |text| Value::Text(text.into())));
            }
            larger.change(key.as_bytes(), |group| group.merge(summary));
        }
        Some(larger)
    }

    fn change(&mut self, key: &[u8], change: impl FnOnce(&mut Summary)) {
        if self.by.is_empty() || self.refused.is_some() {
            return;
        }
        let change = |group: &mut Summary| {
            if self.many_failing {
                group.failing.give_up();
            }
            let before = group.failing.entries;
            change(group);
            self.failing += group.failing.entries.saturating_sub(before);
        };
        match self.groups.get_mut(key) {
            Some(group) => change(group),
            None => {
                let mut group = Summary::default();
                change(&mut group);
                self.groups.insert(key.into(), group);
                self.bytes += key.len();
            }
        }
        if self.failing > MOST_FAILING_IN_GROUPS {
            self.leave_out_failing();
        }
        if self.groups.len() > MOST_GROUPS || self.bytes > MOST_BYTES {
            let widest = self.by.get(self.widest()).map_or("", String::as_str);
            let most = "at most 100,000 groups are kept, and 64 MiB of their values";
            self.refuse(format!("group by {}: too many different values; {most}", show::in_a_sentence(widest)));
        }
    }

    fn leave_out_failing(&mut self) {
        (self.many_failing, self.failing) = (true, 0);
        self.groups.values_mut().for_each(|group| group.failing.give_up());
    }

    /// Keep no groups, and say why when they are asked for.
    pub fn refuse(&mut self, why: String) {
        // Of several reasons one is told, and always the same.
        self.refused = Some(self.refused.take().map_or(why.clone(), |known| known.min(why)));
        (self.groups, self.bytes, self.failing) = (HashMap::default(), 0, 0);
    }

    /// The field with the most values.
    fn widest(&self) -> usize {
        let mut distinct: Vec<HashSet<Option<&str>>> = self.by.iter().map(|_| HashSet::default()).collect();
        for key in self.groups.keys() {
            distinct.iter_mut().zip(values(key)).for_each(|(known, value)| {
                known.insert(value);
            });
        }
        let counts = distinct.iter().map(HashSet::len).enumerate();
        counts.max_by_key(|(place, count)| (*count, usize::MAX - place)).map_or(0, |(place, _)| place)
    }

    /// The values of each group, and its summary, in the order of the values.
    pub fn groups(&self) -> Result<Vec<Group<'_>>, Error> {
        if let Some(why) = &self.refused {
            return Err(Error::value(why));
        }
        let mut groups: Vec<_> = self.groups.iter().map(|(key, summary)| (values(key), summary)).collect();
        groups.sort_unstable_by(|a, b| compare(&a.0, &b.0));
        Ok(groups)
    }

    pub fn state(&self) -> GroupState {
        let owned = |values: Vec<Option<&str>>| values.into_iter().map(|value| value.map(str::to_owned)).collect();
        let groups = self.groups().unwrap_or_default();
        let groups = groups.into_iter().map(|(values, summary)| (owned(values), summary.state())).collect();
        (self.by.to_vec(), self.total.state(), groups, self.many_failing, self.refused.clone())
    }

    /// None of what is no state.
    pub fn of_state((by, total, groups, many_failing, refused): GroupState) -> Option<Self> {
        let mut all = Summaries::new(by.into());
        (all.total, all.many_failing, all.refused) = (Summary::of_state(total)?, many_failing, refused);
        let mut key = Key::default();
        for (values, state) in groups {
            let summary = Summary::of_state(state)?;
            if values.len() != all.by.len() {
                return None;
            }
            key.clear();
            values
                .iter()
                .for_each(|value| key.push(value.as_deref().map_or(Value::Null, |text| Value::Text(text.into()))));
            all.change(key.as_bytes(), |group| *group = summary);
        }
        Some(all)
    }
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;

    use super::{
        super::tests::{failed, of as sum_of, some_reports},
        *,
    };
    use crate::{
        json,
        number::{Big, Magnitude},
        options::{DifferenceKind, Verdict},
    };

    fn key(values: &[Value<'_>]) -> Key {
        let mut key = Key::default();
        values.iter().for_each(|value| key.push(*value));
        key
    }

    fn text(text: &str) -> Value<'_> {
        Value::Text(Text::from(text))
    }

    fn fields(names: &[&str]) -> Arc<[String]> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn keys_tell_all_values_apart() {
        let bump = Bump::new();
        let big = Big { negative: true, magnitude: Magnitude::Decimal(b"99999999999999999999") };
        let list = json::parse(br#"[1, "a"]"#, 9, &bump).unwrap();
        let cells = [
            (Value::Null, None),
            (text("null"), Some("null")),
            (text(""), Some("")),
            (Value::True, Some("true")),
            (Value::Int(-5), Some("-5")),
            (Value::Float(0.5), Some("0.5")),
            (Value::Big(&big), Some("-99999999999999999999")),
            (list, Some(r#"[1, "a"]"#)),
            (Value::Text(Text::Latin1(b"\xe9")), Some("é")),
            (Value::Text(Text::Utf8(b"\xed\xa0\x80")), Some("\\ud800")),
        ];
        for (value, told) in cells {
            for (other, too) in cells {
                assert_eq!(values(key(&[value, other]).as_bytes()), [told, too]);
            }
        }
        let ambiguous = [key(&[text("a"), text("bc")]), key(&[text("ab"), text("c")]), key(&[text("a"), Value::Null])];
        assert!(
            ambiguous.iter().enumerate().all(|(place, one)| {
                ambiguous.iter().skip(place + 1).all(|other| one.as_bytes() != other.as_bytes())
            })
        );
        // What no key is, is none, and no panic.
        for bytes in [&b"\x01"[..], b"\x01\xff\xff\xff\xff\xff\xff\xff\xff", b"\x07\x00"] {
            assert!(values(bytes).len() < 3);
        }
    }

    #[test]
    fn groups_come_in_the_order_of_their_values() {
        let mut summaries = Summaries::new(fields(&["n"]));
        let cells = [Some("b"), Some("10"), None, Some("9"), Some("NaN"), Some("-1"), Some("a"), Some("9.0")];
        for cell in cells {
            summaries.add(key(&[cell.map_or(Value::Null, text)]).as_bytes(), &Report::error("no"));
        }
        let order: Vec<_> = summaries.groups().unwrap().into_iter().map(|(values, _)| values[0]).collect();
        assert_eq!(order, [None, Some("-1"), Some("9"), Some("9.0"), Some("10"), Some("NaN"), Some("a"), Some("b")]);
    }

    #[test]
    fn groups_are_the_same_however_rows_were_cut() {
        let reports = some_reports(3000);
        let keys: Vec<Key> =
            (0..3000).map(|row| key(&[Value::Int(row % 7), text(if row % 3 == 0 { "x" } else { "y" })])).collect();
        let rows: Vec<_> = keys.iter().zip(&reports).collect();
        let of = |rows: &[(&Key, &Report)]| {
            let mut summaries = Summaries::new(fields(&["a", "b"]));
            rows.iter().for_each(|(key, report)| summaries.add(key.as_bytes(), report));
            summaries
        };
        let whole = of(&rows);
        assert_eq!(whole.groups().unwrap().len(), 14);
        for cut in [1, 11, 2999] {
            let mut parts: Vec<Summaries> = rows.chunks(cut).map(of).collect();
            parts.reverse();
            let mut sum = Summaries::new(fields(&["a", "b"]));
            assert!(parts.iter().all(|part| sum.merge(part)));
            assert_eq!(sum.state(), whole.state(), "{cut}");
        }
        assert_eq!(Summaries::of_state(whole.state()).unwrap().state(), whole.state());
        let larger = whole.by_fields(&["b".to_owned()]).unwrap();
        let groups = larger.groups().unwrap();
        assert_eq!(groups.iter().map(|(values, _)| values[0]).collect::<Vec<_>>(), [Some("x"), Some("y")]);
        let of_x: Vec<_> = reports.iter().step_by(3).cloned().collect();
        assert_eq!(*groups[0].1, sum_of(&of_x));
        assert_eq!(larger.total(), whole.total());
        assert!(whole.by_fields(&["c".to_owned()]).is_none());
        assert!(!Summaries::new(fields(&["a"])).merge(&whole));
    }

    #[test]
    fn of_too_many_groups_none_is_told_but_all_rows_count() {
        let one = |place: usize| {
            let mut summaries = Summaries::new(fields(&["few", "many"]));
            let key = key(&[Value::Int(place as i64 % 3), Value::Int(place as i64)]);
            summaries.add(key.as_bytes(), &Report::error("no"));
            summaries
        };
        let mut summaries = Summaries::new(fields(&["few", "many"]));
        for place in 0..MOST_GROUPS as i64 {
            summaries.add(key(&[Value::Int(place % 3), Value::Int(place)]).as_bytes(), &Report::error("no"));
        }
        assert_eq!(summaries.groups().unwrap().len(), MOST_GROUPS);
        summaries.merge(&one(MOST_GROUPS));
        let error = summaries.groups().unwrap_err().to_string();
        assert!(error.contains("many") && !error.contains("few"), "{error}");
        summaries.merge(&one(0));
        assert_eq!(summaries.total().count(Verdict::Error), MOST_GROUPS as u64 + 2);
        // Whoever adds them learns of it too.
        let mut sum = one(1);
        sum.merge(&summaries);
        assert_eq!(sum.groups().unwrap_err().to_string(), error);
        assert!(Summaries::of_state(sum.state()).unwrap().groups().is_err());
        // Nor may values be as long as they like.
        let mut long = Summaries::new(fields(&["text"]));
        for place in 0..40 {
            let value = format!("{place}{}", "x".repeat(2 << 20));
            long.add(key(&[text(&value)]).as_bytes(), &Report::error("no"));
        }
        assert!(long.groups().is_err());
    }

    #[test]
    fn of_too_many_tools_in_all_groups_none_is_told() {
        let (groups, tools) = (MOST_FAILING_IN_GROUPS as i64 / 5000 + 1, 5000);
        let mut summaries = Summaries::new(fields(&["group"]));
        for group in 0..groups {
            for tool in 0..tools {
                let report = failed(DifferenceKind::Missing, &format!("{tool}"), None);
                summaries.add(key(&[Value::Int(group)]).as_bytes(), &report);
            }
        }
        let told = summaries.groups().unwrap();
        assert_eq!(told.len() as i64, groups);
        assert!(told.iter().all(|(_, group)| group.failing_tools().is_none()));
        assert_eq!(summaries.total().failing_tools().map(|tools| tools.len()), Some(tools));
    }

    #[test]
    fn what_is_no_state_makes_nothing() {
        let (by, total, _, many, refused) = Summaries::new(fields(&["a"])).state();
        let groups = vec![(vec![None, None], Summary::default().state())];
        assert!(Summaries::of_state((by, total, groups, many, refused)).is_none());
    }
}
