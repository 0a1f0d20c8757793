//! Rows by date, and lists of numbers: what a text says of a day, of the highest and the lowest, and of the range.

use std::{
    cell::{Cell, OnceCell},
    ops::RangeInclusive,
};

use foldhash::{HashMap, HashMapExt};
use rust_decimal::Decimal;

use super::{lexicon::Kind, slots::Reader};
use crate::grounding::{
    facts::{Facts, Leaf, Step},
    scan::{Date, Hedge, Mention, What},
    support,
};

/// A table needs so many rows before "the highest" says anything.
const FEWEST_ROWS: usize = 3;
/// Tables and rows that are looked at.
const MOST_TABLES: usize = 16;
const MOST_ROWS: usize = 20_000;
/// Rows that are looked at for all dates and extremes of one text.
const MOST_ROWS_LOOKED_AT: usize = 500_000;
/// How far around a number its sentence is looked at, in tokens.
const FARTHEST: u32 = 64;
/// How many tokens may stand between a word such as "highest" and its number.
const NEAR: u32 = 12;

/// What a number is contradicted by: a leaf, and whether the date is as likely to be wrong as the number.
#[derive(Clone, Copy, Debug)]
pub struct Contradiction {
    pub leaf: u32,
    /// The mention of a date that goes with the number.
    pub date: Option<u32>,
    /// One row is meant, and no other.
    pub sure: bool,
    /// What the average is, where the number was said to be one.
    pub mean: Option<Decimal>,
}

/// A list of objects with a date each, or a list of numbers.
#[derive(Debug, Default)]
struct Table {
    rows: Vec<(Date, u32)>,
    /// By key: the numbers in the order of the rows.
    columns: Vec<Column>,
}

#[derive(Debug, Default)]
struct Column {
    cells: Vec<Value>,
}

#[derive(Clone, Copy, Debug)]
struct Value {
    leaf: u32,
    row: u32,
    value: Decimal,
}

#[derive(Debug, Default)]
pub struct Tables {
    tables: Vec<Table>,
    /// How many rows may still be looked at for dates.
    rows_left: Cell<usize>,
    /// Where this word stands in the text.
    respectively: OnceCell<Vec<u32>>,
}

impl Tables {
    pub fn new(facts: &Facts<'_>, results: &[u32]) -> Self {
        let mut tables: Vec<(u32, Table)> = Vec::new();
        // Of each node whether it is a table, and which.
        let mut table_of: Vec<Option<Option<usize>>> = vec![None; facts.nodes.len()];
        let mut columns: HashMap<(usize, &str), usize> = HashMap::new();
        for &index in results {
            let Some(leaf) = facts.leaf(index) else { continue };
            let Some(node) = leaf.node else { continue };
            // The list that this is an item of, or a value of an item.
            let list = match leaf.key {
                Step::Index(_) => Some(node),
                Step::Key(_) => facts.node(node).and_then(|node| node.parent),
            };
            let Some(list) = list else { continue };
            let (Some(table), Some(found)) = (table_of.get_mut(list as usize), facts.node(list)) else { continue };
            let table = *table.get_or_insert_with(|| {
                let long = found.is_list && found.length as usize >= FEWEST_ROWS && found.length as usize <= MOST_ROWS;
                (long && tables.len() < MOST_TABLES).then(|| {
                    tables.push((list, Table::default()));
                    tables.len() - 1
                })
            });
            let Some(place) = table else { continue };
            let Some((_, table)) = tables.get_mut(place) else { continue };
            let row = match leaf.key {
                Step::Index(row) => row,
                Step::Key(key) => {
                    if let Some(date) = date_of(leaf, facts, index) {
                        if table.rows.last().is_none_or(|(_, row)| *row != node) {
                            table.rows.push((date, node));
                        }
                        continue;
                    }
                    let _ = key;
                    node
                }
            };
            let Some(value) = number_of(facts, index) else { continue };
            if leaf.technical {
                continue;
            }
            let key = match leaf.key {
                Step::Key(key) => key,
                Step::Index(_) => "",
            };
            let column = *columns.entry((place, key)).or_insert_with(|| {
                table.columns.push(Column::default());
                table.columns.len() - 1
            });
            if let Some(column) = table.columns.get_mut(column) {
                column.cells.push(Value { leaf: index, row, value });
            }
        }
        let long = |table: &Table| table.columns.iter().any(|column| column.cells.len() >= FEWEST_ROWS);
        Tables {
            tables: tables.into_iter().map(|(_, table)| table).filter(long).collect(),
            rows_left: Cell::new(MOST_ROWS_LOOKED_AT),
            respectively: OnceCell::new(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// What contradicts this number, if anything does.
    /// `said_by` are the leaves that have the number.
    pub fn contradiction(
        &self,
        reader: &Reader<'_, '_>,
        index: u32,
        mention: &Mention<'_>,
        said_by: &[u32],
    ) -> Option<Contradiction> {
        let What::Number(number) = mention.what else { return None };
        if number.ordinal || is_a_span_of_time(reader, mention) || date_of_mention(mention).is_some() {
            return None;
        }
        // "44.2, 49.9 and 53.2 in 1921, 1930 and 1937, respectively": pairs that are not side by side.
        let sentence = reader.scan.sentences.get(mention.sentence as usize)?;
        let near = sentence.tokens.first.max(mention.tokens.first.saturating_sub(FARTHEST))
            ..sentence.tokens.end.min(mention.tokens.end + FARTHEST);
        let respectively = self.respectively.get_or_init(|| {
            let is = |index: &u32| reader.lower(*index) == "respectively";
            (0..reader.scan.tokens.len() as u32).filter(is).collect()
        });
        let next = respectively.partition_point(|index| *index < near.start);
        if respectively.get(next).is_some_and(|index| near.contains(index)) {
            return None;
        }
        let (table, column) = self.column(reader, mention)?;
        self.rows_left.set(self.rows_left.get().checked_sub(table.rows.len().max(column.cells.len()))?);
        // "over 20,000", where not even the highest is so high.
        if mention.hedge == Hedge::Over && table.columns.len() == 1 {
            let all: Vec<&Value> = column.cells.iter().collect();
            let highest = extreme(&all, true)?;
            if !is(reader, mention, highest) {
                return Some(Contradiction { leaf: highest.leaf, date: None, sure: false, mean: None });
            }
        }
        // What something else says as well may be what is told.
        if said_by.iter().any(|leaf| column.cells.binary_search_by_key(leaf, |cell| cell.leaf).is_err()) {
            return None;
        }
        if is_a_mean(reader, mention) {
            return column.not_the_mean(mention);
        }
        // "The lowest price that fits" is not that of all, where there is no more to tell the rows apart by than names.
        let plain = match table.columns.len() {
            1 => !table.rows.is_empty() || self.tables.len() == 1,
            _ => !table.rows.is_empty() && !said_by.is_empty(),
        };
        if let Some((most, _)) = extreme_word(reader, mention).filter(|_| plain) {
            return table.not_the_extreme(reader, index, mention, column, most);
        }
        if is_in_a_range(reader, mention) && number.range {
            return table.not_the_extreme(reader, index, mention, column, !number_follows(reader, index));
        }
        table.not_on_that_day(reader, index, mention, column)
    }

    /// "It was highest in April 2020", where it was not: a cell that is the highest.
    pub fn wrong_date(&self, reader: &Reader<'_, '_>, mention: &Mention<'_>) -> Option<u32> {
        let told = date_of_mention(mention)?;
        let [table] = self.tables.as_slice() else { return None };
        let [column] = table.columns.as_slice() else { return None };
        let (most, word) = extreme_word(reader, mention)?;
        // There may be many peaks and highs, but one highest.
        let article = word.checked_sub(1).map(|before| reader.lower(before)).unwrap_or_default();
        let one_of_many = matches!(reader.lower(word), "peak" | "peaks" | "high" | "low" | "top" | "bottom")
            && !matches!(article, "its" | "the");
        if one_of_many || table.rows.is_empty() || said_of_something_else(reader, word, mention) {
            return None;
        }
        self.rows_left.set(self.rows_left.get().checked_sub(table.rows.len())?);
        let cells: Vec<&Value> = column.cells.iter().collect();
        let extreme = extreme(&cells, most)?;
        let rows: Vec<u32> = table.rows_on(&told).collect();
        let is_one = |cell: &&Value| cell.value == extreme.value && rows.binary_search(&cell.row).is_ok();
        (!rows.is_empty() && !column.cells.iter().any(|cell| is_one(&cell))).then_some(extreme.leaf)
    }

    /// The column that a number is about: the only one, or the one that the words around the number name.
    fn column(&self, reader: &Reader<'_, '_>, mention: &Mention<'_>) -> Option<(&Table, &Column)> {
        if let Some((slot, _)) = reader.slot(mention) {
            let slot = reader.slots.slots.get(slot as usize)?;
            let first = *slot.leaves.first()?;
            return self.tables.iter().find_map(|table| {
                let column = table
                    .columns
                    .iter()
                    .find(|column| column.cells.binary_search_by_key(&first, |cell| cell.leaf).is_ok())?;
                Some((table, column))
            });
        }
        match self.tables.as_slice() {
            [table] => match table.columns.as_slice() {
                [column] if is_precise(mention) || is_a_mean(reader, mention) => Some((table, column)),
                _ => None,
            },
            _ => None,
        }
    }
}

impl Column {
    /// A number that is said to be the average of the column, and is neither its mean nor its median.
    fn not_the_mean(&self, mention: &Mention<'_>) -> Option<Contradiction> {
        let What::Number(number) = mention.what else { return None };
        let mut values: Vec<Decimal> = self.cells.iter().map(|cell| cell.value).collect();
        values.sort_unstable();
        let sum = values.iter().try_fold(Decimal::ZERO, |sum, value| sum.checked_add(*value))?;
        let mean = sum.checked_div(Decimal::from(values.len()))?;
        let (below, above) = (values.get((values.len() - 1) / 2)?, values.get(values.len() / 2)?);
        let median = below.checked_add(*above)?.checked_div(Decimal::TWO)?;
        let near = |value: Decimal| {
            number.readings.iter().any(|told| {
                let slack =
                    if mention.hedge == Hedge::None { told.step } else { told.step.max(value.abs() / Decimal::TEN) };
                (told.value - value).abs() <= slack
            })
        };
        let first = self.cells.first()?;
        (!near(mean) && !near(median)).then_some(Contradiction {
            leaf: first.leaf,
            date: None,
            sure: false,
            mean: Some(mean.round_dp(2)),
        })
    }
}

impl Table {
    fn rows_on(&self, date: &Date) -> impl Iterator<Item = u32> {
        self.rows.iter().filter(|(known, _)| fits(date, known)).map(|(_, row)| *row)
    }

    /// A number that goes with a date: is it that of the row, or within the rows, of that date?
    fn not_on_that_day(
        &self,
        reader: &Reader<'_, '_>,
        index: u32,
        mention: &Mention<'_>,
        column: &Column,
    ) -> Option<Contradiction> {
        let (date_index, date) = date_beside(reader, index, mention)?;
        let rows: Vec<u32> = self.rows_on(&date).collect();
        let cells: Vec<&Value> = column.cells.iter().filter(|cell| rows.binary_search(&cell.row).is_ok()).collect();
        let first = cells.first()?;
        if cells.iter().any(|cell| agrees(reader, mention, cell)) || within(mention, &range(&cells)?) {
            return None;
        }
        let leaf = nearest(mention, &cells).unwrap_or(first.leaf);
        Some(Contradiction { leaf, date: Some(date_index), sure: rows.len() == 1, mean: None })
    }

    /// A number that is said to be the highest (or the lowest) of the column, or of a time.
    fn not_the_extreme(
        &self,
        reader: &Reader<'_, '_>,
        index: u32,
        mention: &Mention<'_>,
        column: &Column,
        most: bool,
    ) -> Option<Contradiction> {
        let all: Vec<&Value> = column.cells.iter().collect();
        let extreme = extreme(&all, most)?;
        if is(reader, mention, extreme) {
            return None;
        }
        // The highest of a time that the sentence names is no less an extreme.
        let sentence = reader.scan.sentences.get(mention.sentence as usize)?;
        let mut date = None;
        for other in sentence.mentions.first.max(index.saturating_sub(4))..sentence.mentions.end.min(index + 5) {
            let Some(told) = reader.scan.mentions.get(other as usize).and_then(date_of_mention) else { continue };
            let rows: Vec<u32> = self.rows_on(&told).collect();
            let cells: Vec<&Value> = column.cells.iter().filter(|cell| rows.binary_search(&cell.row).is_ok()).collect();
            if let Some(extreme) = self::extreme(&cells, most)
                && is(reader, mention, extreme)
            {
                return None;
            }
            date = date
                .or(Some(other))
                .filter(|_| date_beside(reader, index, mention).is_some_and(|(beside, _)| beside == other));
        }
        Some(Contradiction { leaf: extreme.leaf, date, sure: false, mean: None })
    }
}

fn is(reader: &Reader<'_, '_>, mention: &Mention<'_>, cell: &Value) -> bool {
    let What::Number(number) = mention.what else { return true };
    match mention.hedge {
        Hedge::None => agrees(reader, mention, cell),
        // "a peak of over 10,000" may be far below it.
        Hedge::Over => number.readings.iter().any(|told| told.value <= cell.value),
        Hedge::Under => number.readings.iter().any(|told| told.value >= cell.value),
        Hedge::About => {
            let tenth = cell.value.abs() / Decimal::TEN;
            agrees(reader, mention, cell) || number.readings.iter().any(|told| (told.value - cell.value).abs() <= tenth)
        }
    }
}

fn agrees(reader: &Reader<'_, '_>, mention: &Mention<'_>, cell: &Value) -> bool {
    let What::Number(number) = mention.what else { return true };
    number.readings.iter().any(|told| (told.value - cell.value).abs() <= told.step)
        || reader.facts.facts_of(cell.leaf).iter().any(|fact| support::agrees(mention, reader.facts, fact).is_some())
}

fn extreme<'c>(cells: &[&'c Value], most: bool) -> Option<&'c Value> {
    let by_value = |cell: &&&Value| cell.value;
    if most { cells.iter().rev().max_by_key(by_value).copied() } else { cells.iter().min_by_key(by_value).copied() }
}

fn range(cells: &[&Value]) -> Option<RangeInclusive<Decimal>> {
    Some(extreme(cells, false)?.value..=extreme(cells, true)?.value)
}

/// Between the lowest and the highest of several values: an average of theirs, or one that was rounded.
fn within(mention: &Mention<'_>, range: &RangeInclusive<Decimal>) -> bool {
    let What::Number(number) = mention.what else { return true };
    number.readings.iter().any(|told| match mention.hedge {
        Hedge::None => *range.start() - told.step <= told.value && told.value <= *range.end() + told.step,
        Hedge::Over => told.value <= *range.end(),
        Hedge::Under => told.value >= *range.start(),
        Hedge::About => {
            let slack = (range.start().abs().max(range.end().abs())) / Decimal::TEN;
            *range.start() - slack <= told.value && told.value <= *range.end() + slack
        }
    })
}

fn nearest(mention: &Mention<'_>, cells: &[&Value]) -> Option<u32> {
    let What::Number(number) = mention.what else { return None };
    let told = number.readings.first()?.value;
    cells.iter().min_by_key(|cell| (cell.value - told).abs()).map(|cell| cell.leaf)
}

/// The number that a leaf is.
fn number_of(facts: &Facts<'_>, leaf: u32) -> Option<Decimal> {
    facts.facts_of(leaf).iter().find_map(|fact| match fact.what {
        What::Number(number) if fact.whole && !fact.loose => number.readings.first().map(|reading| reading.value),
        _ => None,
    })
}

/// The date of a row: a date, a moment, or a year under a key that says so.
fn date_of(leaf: &Leaf<'_>, facts: &Facts<'_>, index: u32) -> Option<Date> {
    let date = facts.facts_of(index).iter().find_map(|fact| match fact.what {
        What::Date(date) | What::Moment(date, _) if fact.whole => Some(date),
        _ => None,
    });
    if date.is_some() {
        return date.filter(|date| date.year.is_some() || date.day.is_some());
    }
    let year = number_of(facts, index)
        .and_then(|number| i16::try_from(number).ok())
        .filter(|year| (1000..=2200).contains(year))?;
    leaf.words
        .iter()
        .any(|word| matches!(*word, "year" | "date" | "day" | "time" | "period" | "season"))
        .then_some(Date { year: Some(year), month: None, day: None, weekday: None, ambiguous: false })
}

fn date_of_mention(mention: &Mention<'_>) -> Option<Date> {
    match mention.what {
        What::Date(date) | What::Moment(date, _) => Some(date),
        What::Number(number) => {
            // A year alone may come as a number.
            let reading = number.readings.first().filter(|_| number.unit.is_none() && !number.spelled)?;
            let year = i16::try_from(reading.value)
                .ok()
                .filter(|year| (1800..=2200).contains(year) && reading.value.scale() == 0)?;
            Some(Date { year: Some(year), month: None, day: None, weekday: None, ambiguous: false })
        }
        _ => None,
    }
}

/// Is a row of this date meant by what was told, as far as both are known?
fn fits(told: &Date, row: &Date) -> bool {
    fn same<T: PartialEq>(one: Option<T>, other: Option<T>) -> bool {
        one.is_none() || other.is_none() || one == other
    }
    if told.year.is_none() && told.month.is_none() && told.day.is_none() {
        return told.weekday.is_some() && told.weekday == row.weekday;
    }
    let swapped = told.ambiguous && same(told.year, row.year) && same(told.month, row.day) && same(told.day, row.month);
    swapped || (same(told.year, row.year) && same(told.month, row.month) && same(told.day, row.day))
}

/// The date that a number goes with: the nearest one, with nothing between that begins something else.
fn date_beside(reader: &Reader<'_, '_>, index: u32, mention: &Mention<'_>) -> Option<(u32, Date)> {
    let sentence = reader.scan.sentences.get(mention.sentence as usize)?;
    let at = |index: u32| reader.scan.mentions.get(index as usize);
    let before = index
        .checked_sub(1)
        .filter(|&before| before >= sentence.mentions.first)
        .and_then(|before| Some((before, at(before)?)));
    let after =
        Some(index + 1).filter(|&after| after < sentence.mentions.end).and_then(|after| Some((after, at(after)?)));
    let distance = |other: &Mention<'_>| {
        other.tokens.first.saturating_sub(mention.tokens.end) + mention.tokens.first.saturating_sub(other.tokens.end)
    };
    let mut candidates: Vec<(u32, u32, Date)> = [before, after]
        .into_iter()
        .flatten()
        .filter_map(|(place, other)| Some((distance(other), place, date_of_mention(other)?)))
        .collect();
    candidates.sort_by_key(|(distance, ..)| *distance);
    let (_, place, date) = *candidates.first()?;
    let other = at(place)?;
    let between = other.tokens.end.min(mention.tokens.end)..other.tokens.first.max(mention.tokens.first);
    let parted = between.clone().any(|index| {
        matches!(
            reader.lower(index),
            "and" | "or" | "from" | "to" | "while" | "but" | ";" | "until" | "since" | "before" | "after" | "through"
        )
    });
    (!parted && between.len() < 16).then_some((place, date))
}

/// Is there a comma between, or as much as half a sentence?
fn said_of_something_else(reader: &Reader<'_, '_>, word: u32, mention: &Mention<'_>) -> bool {
    mention.tokens.first.saturating_sub(word) > 10
        || (word..mention.tokens.first).any(|index| reader.lower(index) == ",")
}

/// "the highest", "a low of", "peaking at": does one stand before the number? Most (true) or least (false), and where it stands.
fn extreme_word(reader: &Reader<'_, '_>, mention: &Mention<'_>) -> Option<(bool, u32)> {
    let clause = reader.scan.sentences.get(mention.sentence as usize)?;
    let first = clause.tokens.first.max(mention.tokens.first.saturating_sub(NEAR));
    for index in (first..mention.tokens.first).rev() {
        let token = reader.scan.tokens.get(index as usize)?;
        let word = token.lower;
        let number_between = token
            .mention
            .and_then(|other| reader.scan.mentions.get(other as usize))
            .is_some_and(|other| date_of_mention(other).is_none() && matches!(other.what, What::Number(_)));
        let parts =
            matches!(word, ";" | "and" | "but" | "while" | "from") || word == "to" && index + 1 < mention.tokens.first;
        if number_between || parts {
            return None;
        }
        let of = reader.lower(index + 1) == "of" || reader.lower(index + 2) == "of";
        if reader.is(index, Kind::Most) && word != "top" || matches!(word, "high" | "top") && of {
            return Some((true, index));
        }
        if reader.is(index, Kind::Least) || word == "low" && of {
            return Some((false, index));
        }
    }
    None
}

/// "the average is 47", "a mean of 3.2", with no time or part that it is the average of
fn is_a_mean(reader: &Reader<'_, '_>, mention: &Mention<'_>) -> bool {
    let Some(sentence) = reader.scan.sentences.get(mention.sentence as usize) else { return false };
    let alone = sentence.mentions.end - sentence.mentions.first == 1;
    let before = |index: u32| matches!(reader.lower(index), "average" | "averages" | "averaged" | "mean" | "median");
    alone && (mention.tokens.first.saturating_sub(4).max(sentence.tokens.first)..mention.tokens.first).any(before)
}

/// "ranging from 2 to 5", "fluctuated between 2 and 5"
fn is_in_a_range(reader: &Reader<'_, '_>, mention: &Mention<'_>) -> bool {
    (mention.tokens.first.saturating_sub(10)..mention.tokens.first).any(|index| {
        matches!(
            reader.lower(index),
            "range"
                | "ranges"
                | "ranged"
                | "ranging"
                | "fluctuate"
                | "fluctuates"
                | "fluctuated"
                | "fluctuating"
                | "varied"
                | "varies"
                | "varying"
        )
    })
}

/// The first end of a range has its second end behind it.
fn number_follows(reader: &Reader<'_, '_>, index: u32) -> bool {
    let is_end = |index: u32| {
        reader
            .scan
            .mentions
            .get(index as usize)
            .is_some_and(|mention| matches!(mention.what, What::Number(number) if number.range))
    };
    !index.checked_sub(1).is_some_and(is_end) || is_end(index + 1)
}

/// "7-day", "30 days": how long, not how much.
fn is_a_span_of_time(reader: &Reader<'_, '_>, mention: &Mention<'_>) -> bool {
    let hyphen = reader.lower(mention.tokens.end) == "-";
    let past = matches!(
        reader.lower(mention.tokens.first.saturating_sub(1)),
        "past" | "last" | "next" | "over" | "per" | "every" | "first"
    );
    hyphen || past
}

/// A number that is no small count: it has decimals or many digits.
fn is_precise(mention: &Mention<'_>) -> bool {
    let What::Number(number) = mention.what else { return false };
    number.readings.first().is_some_and(|told| told.step < Decimal::ONE || told.value.abs() >= Decimal::ONE_HUNDRED)
}
