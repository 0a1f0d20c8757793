//! Reports as Arrow columns.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, builder::StringBuilder};
use arrow_schema::{DataType, Field};
use callmatch_core::{
    error::{Error, one_of},
    options::Options,
    reason,
    report::{Counts, Difference, Report},
};

/// A column of scores. Counts and indexes are signed, since not every engine has unsigned numbers.
type Make = fn(&[Report], Options) -> ArrayRef;

const ALL: &[(&str, DataType, Make)] = &[
    ("score", DataType::Float64, |reports, _| floats(reports, Report::score)),
    ("verdict", DataType::Utf8, |reports, _| texts(reports, |report| Some(report.verdict.word()))),
    ("matched", DataType::Int32, |reports, _| ints(reports, |report| Some(report.counts()?.matched as usize))),
    ("made", DataType::Int32, |reports, _| ints(reports, |report| report.made.map(|made| made as usize))),
    ("expected", DataType::Int32, |reports, _| ints(reports, |report| report.expected.map(|count| count as usize))),
    ("precision", DataType::Float64, |reports, _| floats(reports, |report| report.counts().map(Counts::precision))),
    ("recall", DataType::Float64, |reports, _| floats(reports, |report| report.counts().map(Counts::recall))),
    ("f1", DataType::Float64, |reports, _| floats(reports, |report| report.counts().map(Counts::f1))),
    ("difference_kind", DataType::Utf8, |reports, _| {
        texts(reports, |report| difference(report).map(|found| found.kind.word()))
    }),
    ("expected_index", DataType::Int32, |reports, _| {
        ints(reports, |report| difference(report)?.expected_index.map(|index| index as usize))
    }),
    ("actual_index", DataType::Int32, |reports, _| {
        ints(reports, |report| difference(report)?.actual_index.map(|index| index as usize))
    }),
    ("reason", DataType::Utf8, |reports, options| {
        let mut sentences = StringBuilder::with_capacity(reports.len(), 64 * reports.len());
        reports.iter().for_each(|report| sentences.append_value(reason::sentence(report, options.match_mode)));
        Arc::new(sentences.finish())
    }),
    ("error", DataType::Utf8, |reports, _| texts(reports, |report| report.error.as_deref())),
];

/// The names of all columns.
pub fn names() -> impl ExactSizeIterator<Item = &'static str> {
    ALL.iter().map(|(name, ..)| *name)
}

/// The columns that are wanted.
pub struct Wanted(Vec<&'static (&'static str, DataType, Make)>);

impl Wanted {
    /// Those with these names; all of them, if none is named.
    pub fn named(names: &[String]) -> Result<Self, Error> {
        if names.is_empty() {
            return Ok(Wanted(ALL.iter().collect()));
        }
        let known: Vec<&str> = self::names().collect();
        let find = |name: &String| {
            let found = ALL.iter().find(|(known, ..)| known == name);
            found.ok_or_else(|| Error::value(one_of("columns: a column", name, &known)))
        };
        Ok(Wanted(names.iter().map(find).collect::<Result<_, _>>()?))
    }

    pub fn fields(&self) -> impl Iterator<Item = Arc<Field>> {
        self.0.iter().map(|(name, kind, _)| Arc::new(Field::new(*name, kind.clone(), true)))
    }

    pub fn arrays(&self, reports: &[Report], options: Options) -> impl Iterator<Item = ArrayRef> {
        self.0.iter().map(move |(_, _, make)| make(reports, options))
    }
}

fn difference(report: &Report) -> Option<&Difference> {
    report.difference.as_deref()
}

fn floats(reports: &[Report], of: impl Fn(&Report) -> Option<f64>) -> ArrayRef {
    Arc::new(reports.iter().map(of).collect::<Float64Array>())
}

fn ints(reports: &[Report], of: impl Fn(&Report) -> Option<usize>) -> ArrayRef {
    // A trace has no more calls than an i32 can count: see `MOST_VALUES`.
    let int = |report| of(report).map(|count| i32::try_from(count).unwrap_or(i32::MAX));
    Arc::new(reports.iter().map(int).collect::<Int32Array>())
}

fn texts<'r>(reports: &'r [Report], of: impl Fn(&'r Report) -> Option<&'r str>) -> ArrayRef {
    let mut texts = StringBuilder::with_capacity(reports.len(), 8 * reports.len());
    reports.iter().for_each(|report| texts.append_option(of(report)));
    Arc::new(texts.finish())
}
