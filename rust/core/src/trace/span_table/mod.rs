//! Tables of spans, one a row: which columns are read, what is kept of a row, and the calls of a trace whose rows stand
//! anywhere in a table.
//!
//! A trace is made as that of a file is ([`spans::tree`]), of what was kept. So the calls are the same, but for one thing:
//! what models were told is not read, and where a trace has several roots, it may say where a turn begins, on which the
//! order of calls may depend. Such traces are told apart by making them both ways (see [`Trace::calls`]); they can be read
//! once more with everything in it.

mod kept;
mod lean;
mod plan;
mod profiles;

use std::collections::HashSet;

use bumpalo::Bump;
use foldhash::HashMap;

use super::{
    span::RecordedAs,
    spans::{
        Exported, Recorded, Step,
        tree::{self, Heard},
    },
    stored::Trace as Stored,
};
use crate::{call::Reader, compare, error::Error, show, text::Text, value::Value};

pub use kept::{value as write_value, value_in as read_value};
pub use plan::Plan;
pub use profiles::{find, words};

/// What was read of some rows that follow each other.
#[derive(Default)]
pub struct Part {
    bytes: Vec<u8>,
    /// The ids of traces, one after the other.
    ids: String,
    /// Where an id begins, and where what is of its trace does.
    items: Vec<(usize, usize)>,
    /// What could not be read, with the number of its row.
    pub problems: Vec<(u64, String)>,
}

impl Part {
    /// Read a row, whose number is told with what is wrong with it. `only`: of these traces alone.
    pub fn read<'a>(
        &mut self,
        plan: &Plan,
        reader: Reader<'a>,
        number: u64,
        record: Result<Value<'a>, Error>,
        only: Option<&HashSet<String>>,
    ) {
        let encoding = plan.profile.encoding;
        let mut exported = Exported::new(reader);
        let read = record.and_then(|record| match (encoding.fits)(record) {
            true => (encoding.read)(&mut exported, record),
            false => Err(Error::wrong_type(format!("this is no row of {}", encoding.name))),
        });
        let Exported { spans, traces, problems, .. } = exported;
        self.problems.extend(problems.into_iter().chain(read.err()).map(|error| (number, error.to_string())));
        for about in traces {
            if self.begin(about.trace_id, only) {
                kept::about(about.conversation_id.filter(|_| plan.has_sessions), &mut self.bytes);
            }
        }
        for recorded in spans {
            if self.begin(recorded.trace_id, only) {
                self.span(plan, reader, number, &recorded);
            }
        }
    }

    fn begin(&mut self, trace_id: Text<'_>, only: Option<&HashSet<String>>) -> bool {
        let start = self.ids.len();
        show::write_storable(trace_id, &mut self.ids);
        if only.is_some_and(|only| !self.ids.get(start..).is_some_and(|id| only.contains(id))) {
            self.ids.truncate(start);
            return false;
        }
        self.items.push((start, self.bytes.len()));
        true
    }

    fn span<'a>(&mut self, plan: &Plan, reader: Reader<'a>, number: u64, recorded: &Recorded<'a>) {
        let mut step = tree::step(reader, recorded, None);
        let (heard, problem) = tree::heard_in_answer(reader, recorded.trace_id, recorded.name, &step);
        self.problems.extend(problem.map(|error| (number, error.to_string())));
        let question = plan.reads_all.then(|| tree::question(reader, &step)).flatten();
        let question = question.map(|text| marked(&text.to_utf8()));
        if !plan.has_sessions {
            step.conversation_id = None;
        }
        kept::span(recorded, &step, &heard, question.as_deref(), &mut self.bytes);
    }
}

/// A question as it stands in the place of messages: no text that begins so is JSON or one that was cut off.
fn marked(question: &[u8]) -> Vec<u8> {
    [b"?", question].concat()
}

/// All that was kept of a table.
#[derive(Default)]
pub struct Table {
    /// The ids of the traces, in the order in which they were met.
    pub ids: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u32>,
    parts: Vec<Box<[u8]>>,
    /// Where what is of a trace stands: its number, that of a part, and a place in this. In the order of the table until all
    /// of it was read, then in that of the traces.
    items: Vec<(u32, u32, usize)>,
    /// Where the items of each trace begin.
    starts: Vec<usize>,
}

impl Table {
    /// Add what was read next.
    pub fn add(&mut self, part: Part) {
        let Part { bytes, ids, items, .. } = part;
        let number = self.parts.len() as u32;
        let ends = items.iter().skip(1).map(|(start, _)| *start).chain([ids.len()]);
        for (&(start, place), end) in items.iter().zip(ends) {
            let id = ids.get(start..end).unwrap_or_default();
            let trace = match self.numbers.get(id) {
                Some(known) => *known,
                None => {
                    let new = self.ids.len() as u32;
                    self.ids.push(id.into());
                    self.numbers.insert(id.into(), new);
                    new
                }
            };
            self.items.push((trace, number, place));
        }
        self.parts.push(bytes.into_boxed_slice());
    }

    /// After the last one: bring together what is of one trace.
    pub fn finish(&mut self) {
        self.items.sort_by_key(|(trace, ..)| *trace);
        let mut starts = vec![0; self.ids.len() + 1];
        self.items.iter().for_each(|(trace, ..)| starts[*trace as usize + 1] += 1);
        for place in 1..starts.len() {
            starts[place] += starts[place - 1];
        }
        self.starts = starts;
    }

    /// The ids alone, without what was kept.
    pub fn into_ids(self) -> Vec<Box<str>> {
        self.ids
    }

    /// A trace by its number.
    pub fn trace<'a>(&'a self, number: usize, bump: &'a Bump) -> Trace<'a> {
        let id = self.ids.get(number).map_or(Text::from(""), |id| Text::from(&**id));
        let mut trace = Trace { id, spans: Vec::new(), conversation_id: None };
        let bounds = self.starts.get(number).copied().zip(self.starts.get(number + 1).copied());
        let items = bounds.and_then(|(start, end)| self.items.get(start..end)).unwrap_or_default();
        for &(_, part, place) in items {
            let bytes = self.parts.get(part as usize).and_then(|part| part.get(place..)).unwrap_or_default();
            match kept::item(bytes, id, bump) {
                Some(kept::Item::Span(span)) => trace.spans.push(*span),
                Some(kept::Item::About(conversation)) => {
                    trace.conversation_id = trace.conversation_id.or(conversation);
                }
                None => {}
            }
        }
        trace
    }
}

/// A trace of a table, as it was kept.
pub struct Trace<'a> {
    id: Text<'a>,
    spans: Vec<(Recorded<'a>, Step<'a>, Heard<'a>)>,
    /// As it is told beside the spans.
    conversation_id: Option<Text<'a>>,
}

/// The calls of a trace.
pub struct Calls<'a> {
    /// As scoring reads them; null if they were not reported.
    pub calls: Value<'a>,
    pub conversation_id: Option<Text<'a>>,
    /// Their order depends on what models were told, which was not read.
    pub is_in_doubt: bool,
}

impl<'a> Trace<'a> {
    /// The calls that count. `is_whole`: the questions that were asked in it are known.
    pub fn calls(self, reader: Reader<'a>, counted: RecordedAs, is_whole: bool) -> Calls<'a> {
        let Trace { id, spans, conversation_id: told } = self;
        // Turns are told by questions only where there are several roots. As long as it makes no difference to the calls
        // whether each root that may begin a turn does, no question does.
        let other = (!is_whole && tree::has_several_roots(spans.iter().map(|(recorded, ..)| recorded)))
            .then(|| tree::of_read(reader, id, each_asked_anew(&spans, reader.bump)).calls(reader.bump, counted));
        let trace: Stored<'a> = tree::of_read(reader, id, spans);
        let calls = trace.calls(reader.bump, counted);
        let is_in_doubt = other.is_some_and(|other| !compare::equal(other, calls));
        Calls { calls, conversation_id: trace.conversation_id.or(told), is_in_doubt }
    }
}

/// The spans of a trace, as if each had been asked something else.
fn each_asked_anew<'a>(
    spans: &[(Recorded<'a>, Step<'a>, Heard<'a>)],
    bump: &'a Bump,
) -> Vec<(Recorded<'a>, Step<'a>, Heard<'a>)> {
    let anew = |(place, (recorded, step, heard)): (usize, &(Recorded<'a>, Step<'a>, Heard<'a>))| {
        let asked = Some(Value::Text(Text::from(&*bump.alloc_str(&format!("?{place}")))));
        let heard = Heard { calls: heard.calls.clone(), ..*heard };
        (recorded.clone(), Step { asked, ..step.clone() }, heard)
    };
    spans.iter().enumerate().map(anew).collect()
}

/// The columns of a table that are read, of those that it has; with questions, or without.
pub fn columns_read<'n>(
    names: &[&'n str],
    profile: Option<&str>,
    has_sessions: bool,
    reads_all: bool,
) -> Result<Vec<&'n str>, Error> {
    let plan = Plan::new(names, find(names, profile)?, has_sessions, reads_all);
    Ok(plan.columns().filter_map(|place| names.get(place).copied()).collect())
}
