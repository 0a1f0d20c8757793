//! Is a mention of the text backed by what the trace holds?
//!
//! A text may be less precise than a payload, never more. More data only ever gives more support: where there is too much
//! to look at all of it, the answer is [`Support::Unchecked`] and never [`Support::Unsupported`].

mod dates;
mod derived;
mod numbers;
mod texts;

use std::{collections::HashMap, ops::Range};

use bumpalo::Bump;

use super::{
    facts::{Fact, Facts, Leaf, Side, float},
    scan::{Date, Hedge, Mention, Number, Reading, Scan, Time, Unit, What},
    units,
};
use numbers::Says;
use texts::Needle;

/// What backs a mention.
#[derive(Clone, Copy, Debug)]
pub enum Support<'a> {
    /// A result of a call says the same.
    Supported(Match<'a>),
    /// Worked out of values that are told in the text, or of the values of one list or record.
    Derived {
        how: Derivation,
        /// The leaves that it was worked out of, as far as they are known.
        from: &'a [u32],
        /// A list whose length it is.
        node: Option<u32>,
    },
    /// The arguments of a call, the user or the context say it: the leaf's side tells.
    Echo(Match<'a>),
    /// Only a call that failed says it.
    OfFailure(Match<'a>),
    /// The same number with another unit, or the same date with another weekday, and nothing that fits.
    Mismatch { leaf: u32, how: Mismatch },
    /// A figure of speech or common knowledge: 24/7, 60 minutes, the year of the call.
    Rhetoric,
    /// Nothing says it. The nearest leaf of its kind, if one comes near.
    Unsupported { nearest: Option<u32> },
    /// Not looked at far enough to tell, or nothing that can be looked up.
    Unchecked,
}

#[derive(Clone, Copy, Debug)]
pub struct Match<'a> {
    pub leaf: u32,
    /// Index into `Facts::facts`; None where the text of the leaf has it without its being a fact (a quote, say).
    pub fact: Option<u32>,
    pub how: How,
    /// A unit is not known, a reading is one of several, it was hedged, or digits of something else say it.
    pub weak: bool,
    /// Only the magnitude is the same: -2.3 told as "fell by 2.3", or the other way round.
    pub sign_differs: bool,
    /// All leaves that say it, `leaf` among them, in their order; no more than [`MOST_CANDIDATES`].
    pub candidates: &'a [u32],
    /// There are more than that.
    pub more: bool,
    /// The chance that any number of this size and precision would be found: how full of numbers the results are there.
    pub chance: f32,
}

pub const MOST_CANDIDATES: usize = 64;

/// From the best to the poorest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    Exact,
    /// Another form of a date or time, or a part of it.
    DateForm,
    Rounded,
    /// 0.873 told as 87.3 %, or 1250 cents as 12.50.
    Percent,
    UnitConverted,
    Truncated,
    Hedged,
    /// The end of an id ("ending in 4743").
    Suffix,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Derivation {
    Sum,
    Difference,
    Product,
    Ratio,
    PercentChange,
    /// The length of a list, or how many of its items have the same value.
    Count,
    Mean,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    Unit,
    Currency,
    /// A hundred times too much or too little.
    PercentScale,
    Weekday,
}

/// How many facts are looked at for one mention, and for all of a text.
const MOST_FACTS: usize = 20_000;
const MOST_FACTS_OF_ALL: usize = 5_000_000;

/// Of keys, when an id is looked for among them.
const MOST_WORDS_OF_A_KEY: usize = 8;
const MOST_NAMES: usize = 100_000;
/// What is shorter is found by chance.
const SHORTEST_DATE: usize = 5;

/// For each mention of the text.
pub fn of_all<'a>(scan: &Scan<'a>, facts: &Facts<'a>, bump: &'a Bump) -> &'a [Support<'a>] {
    let mut searcher = Searcher { scan, facts, bump, room: MOST_FACTS_OF_ALL, leaves: Vec::new() };
    let mut all: Vec<Support<'a>> = scan.mentions.iter().map(|mention| searcher.of(mention)).collect();
    searcher.compounds(&mut all);
    searcher.units_of_others(&mut all);
    searcher.texts(&mut all);
    derived::add(scan, facts, &mut all, bump);
    for (mention, support) in scan.mentions.iter().zip(all.iter_mut()) {
        if let Support::Unsupported { .. } = support
            && (mention.idle
                || is_common(mention)
                || is_measure_of_a_rate(scan, mention)
                || is_time_of_a_call(mention, facts))
        {
            *support = Support::Rhetoric;
        }
        if let Support::Unsupported { .. } = support
            && facts.cut
        {
            *support = Support::Unchecked;
        }
    }
    bump.alloc_slice_copy(&all)
}

/// Does a fact say what a mention says, by itself? The rule of rounding, percent, units and forms of dates that [`of_all`]
/// goes by.
pub fn agrees(mention: &Mention<'_>, facts: &Facts<'_>, fact: &Fact<'_>) -> Option<How> {
    match says(mention, facts, fact)? {
        Says::Same { how, sign_differs: false, .. } => Some(how),
        _ => None,
    }
}

fn says(mention: &Mention<'_>, facts: &Facts<'_>, fact: &Fact<'_>) -> Option<Says> {
    let leaf = facts.leaf(fact.leaf)?;
    match (mention.what, fact.what) {
        (What::Number(number), What::Number(found)) => {
            let measure = match found.unit {
                Some(unit @ Unit::Measure(name)) => Some((name, units::dimension(unit))),
                _ => None,
            };
            let sought = numbers::sought(&number, measure.as_slice());
            let pairs = sought.iter().flat_map(|sought| found.readings.iter().map(move |reading| (sought, reading)));
            pairs
                .filter_map(|(sought, reading)| {
                    sought.compare(&number, mention.hedge, fact, leaf, float(reading.value))
                })
                .min_by_key(order)
        }
        (What::Number(number), What::Date(date) | What::Moment(date, _)) => year_or_day_says(&number, date),
        (What::Date(told), What::Number(found)) => year_says(told, &found),
        (What::Date(told), What::Date(found) | What::Moment(found, _)) => dates::date_says(told, found),
        (What::Time(told), What::Time(found) | What::Moment(_, found)) => dates::time_says(told, mention.hedge, found),
        (What::Moment(date, time), What::Moment(found_date, found_time)) => {
            if let (Some(told), Some(found)) = (dates::minutes(date, time), dates::minutes(found_date, found_time)) {
                let how = if time.offset == found_time.offset { How::Exact } else { How::DateForm };
                return (told == found).then_some(Says::Same { how, weak: false, sign_differs: false });
            }
            match (dates::date_says(date, found_date)?, dates::time_says(time, mention.hedge, found_time)?) {
                (Says::Same { how: a, weak: b, .. }, Says::Same { how: c, weak: d, .. }) => {
                    Some(Says::Same { how: a.max(c), weak: b || d, sign_differs: false })
                }
                (otherwise, Says::Same { .. }) => Some(otherwise),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The best first.
fn order(says: &Says) -> (bool, bool, bool, How) {
    match *says {
        Says::Same { how, weak, sign_differs } => (false, sign_differs, weak, how),
        Says::Otherwise(_) => (true, false, false, How::Exact),
    }
}

/// "2024" or "the 9th" as a number, of a date.
fn year_or_day_says(number: &Number<'_>, date: Date) -> Option<Says> {
    if number.unit.is_some() {
        return None;
    }
    let whole = |part: i64| number.readings.iter().any(|reading| reading.value == part.into());
    let year = date.year.is_some_and(|year| year >= 1000 && whole(year.into()));
    let day = number.ordinal && date.day.is_some_and(|day| whole(day.into()));
    (year || day).then_some(Says::Same { how: How::DateForm, weak: !number.ordinal && !year, sign_differs: false })
}

/// A year that a payload has as a number.
fn year_says(told: Date, number: &Number<'_>) -> Option<Says> {
    let year = told.year.filter(|_| told.month.is_none() && told.day.is_none())?;
    let found = number.readings.iter().any(|reading| reading.value == i64::from(year).into());
    (found && number.unit.is_none()).then_some(Says::Same { how: How::Exact, weak: false, sign_differs: false })
}

/// Keys of payloads with a leaf of each; None if there are too many.
type Names = Option<HashMap<String, u32>>;

struct Searcher<'s, 'a> {
    scan: &'s Scan<'a>,
    facts: &'s Facts<'a>,
    bump: &'a Bump,
    /// How many facts may still be looked at.
    room: usize,
    /// Room for what is found, from mention to mention.
    leaves: Vec<u32>,
}

/// What was found for a mention.
struct Found {
    rank: u8,
    best: Option<(u32, Option<u32>, Says)>,
    leaves: Vec<u32>,
    otherwise: Option<(u32, Mismatch)>,
    /// How many facts may still be looked at.
    room: usize,
    cut: bool,
}

/// The worst there is.
const NO_RANK: u8 = u8::MAX;
const FAILED: u8 = 10;

/// Results before arguments before what the user said; digits that stand in something else after all of that.
fn rank(leaf: &Leaf<'_>, loose: bool) -> u8 {
    if leaf.failed {
        return FAILED;
    }
    let side = match leaf.side {
        Side::Response => 0,
        Side::Request => 1,
        Side::Query => 2,
        Side::Context => 3,
        Side::Error => return FAILED,
    };
    side + if loose { 4 } else { 0 }
}

impl Found {
    fn new(room: usize) -> Self {
        Found { rank: NO_RANK, best: None, leaves: Vec::new(), otherwise: None, room, cut: false }
    }

    fn add(&mut self, leaf_index: u32, leaf: &Leaf<'_>, fact: Option<u32>, loose: bool, says: Says) {
        match says {
            Says::Otherwise(mismatch) => {
                if !leaf.failed
                    && leaf.side == Side::Response
                    && self.otherwise.is_none_or(|(other, _)| leaf_index < other)
                {
                    self.otherwise = Some((leaf_index, mismatch));
                }
            }
            Says::Same { .. } => {
                let rank = rank(leaf, loose);
                if rank > self.rank {
                    return;
                }
                if rank < self.rank {
                    self.leaves.clear();
                    self.best = None;
                    self.rank = rank;
                }
                self.leaves.push(leaf_index);
                let better = match &self.best {
                    None => true,
                    Some((other, _, best)) => (order(&says), leaf_index) < (order(best), *other),
                };
                if better {
                    self.best = Some((leaf_index, fact, says));
                }
            }
        }
    }
}

impl<'a> Searcher<'_, 'a> {
    fn of(&mut self, mention: &Mention<'a>) -> Support<'a> {
        let leaves = std::mem::take(&mut self.leaves);
        let mut found = Found { leaves, ..Found::new(MOST_FACTS.min(self.room)) };
        let before = found.room;
        match mention.what {
            What::Number(number) => self.number(mention, &number, &mut found),
            What::Date(date) => self.date(mention, date, &mut found),
            What::Time(time) => self.time(mention, time, &mut found),
            What::Moment(date, time) => self.moment(mention, date, time, &mut found),
            // These are looked for all at once.
            What::Id(_) | What::Email(_) | What::Url(_) | What::Quote(_) => {}
        }
        self.room = self.room.saturating_sub(before - found.room);
        let support = self.answer(mention, &mut found);
        self.leaves = found.leaves;
        self.leaves.clear();
        support
    }

    fn answer(&self, mention: &Mention<'a>, found: &mut Found) -> Support<'a> {
        // "8,420 kWh" of 8420 Wh: the likeliest reading is wrong by its unit, whatever another one would be.
        if let (Some((leaf, _, Says::Same { how: How::UnitConverted, weak: true, .. })), Some((other, how))) =
            (found.best, found.otherwise)
            && leaf == other
        {
            return Support::Mismatch { leaf, how };
        }
        if let Some((leaf, fact, Says::Same { how, weak, sign_differs })) = found.best {
            found.leaves.sort_unstable();
            found.leaves.dedup();
            let more = found.leaves.len() > MOST_CANDIDATES || found.cut;
            found.leaves.truncate(MOST_CANDIDATES);
            let candidates = self.bump.alloc_slice_copy(&found.leaves);
            let chance = self.chance(mention);
            let matched = Match { leaf, fact, how, weak, sign_differs, candidates, more, chance };
            return match found.rank {
                FAILED => Support::OfFailure(matched),
                0 | 4 => Support::Supported(matched),
                _ => Support::Echo(matched),
            };
        }
        match found.otherwise {
            Some((leaf, how)) => Support::Mismatch { leaf, how },
            None if found.cut => Support::Unchecked,
            None => Support::Unsupported { nearest: self.nearest(mention) },
        }
    }

    /// Look at facts one by one.
    fn look(&self, mention: &Mention<'a>, facts: impl IntoIterator<Item = u32>, found: &mut Found) {
        for index in facts {
            let Some(room) = found.room.checked_sub(1) else {
                found.cut = true;
                return;
            };
            found.room = room;
            let Some(fact) = self.facts.facts.get(index as usize) else { continue };
            let (Some(leaf), Some(says)) = (self.facts.leaf(fact.leaf), says(mention, self.facts, fact)) else {
                continue;
            };
            found.add(fact.leaf, leaf, Some(index), fact.loose, says);
        }
    }

    fn number(&self, mention: &Mention<'a>, number: &Number<'a>, found: &mut Found) {
        let index = &self.facts.index;
        for sought in numbers::sought(number, index.measures()) {
            let (low, high) = sought.interval(mention.hedge);
            for &(value, fact_index) in index.numbers(low, high) {
                let Some(room) = found.room.checked_sub(1) else {
                    found.cut = true;
                    return;
                };
                found.room = room;
                let Some(fact) = self.facts.facts.get(fact_index as usize) else { continue };
                let Some(leaf) = self.facts.leaf(fact.leaf) else { continue };
                if let Some(says) = sought.compare(number, mention.hedge, fact, leaf, value) {
                    found.add(fact.leaf, leaf, Some(fact_index), fact.loose, says);
                }
            }
        }
        if number.unit.is_none() && found.rank > 0 {
            for reading in number.readings.iter().filter(|reading| reading.value.fract().is_zero()) {
                let Ok(part) = i16::try_from(reading.value) else { continue };
                let date = Date { year: None, month: None, day: None, weekday: None, ambiguous: false };
                if part >= 1000 {
                    self.look(mention, index.dates(Date { year: Some(part), ..date }), found);
                } else if number.ordinal && (1..=31).contains(&part) {
                    self.look(mention, index.all_dates(), found);
                }
            }
        }
        if found.best.is_none()
            && self.is_end(mention)
            && let Some(end) = number.readings.first().and_then(|reading| u64::try_from(reading.value).ok())
        {
            let digits = mention.core.end.saturating_sub(mention.core.start);
            self.ends(end, digits, found);
        }
    }

    /// "ending in 4743": numbers that end so.
    fn ends(&self, end: u64, places: u32, found: &mut Found) {
        let Some(modulus) = 10u64.checked_pow(places) else { return };
        // Beyond that, floats are no integers.
        for &(value, index) in self.facts.index.numbers(modulus as f64, 9e15) {
            let Some(room) = found.room.checked_sub(1) else {
                found.cut = true;
                return;
            };
            found.room = room;
            if value.fract() != 0.0 || value as u64 % modulus != end {
                continue;
            }
            let Some(fact) = self.facts.facts.get(index as usize) else { continue };
            if let Some(leaf) = self.facts.leaf(fact.leaf) {
                let says = Says::Same { how: How::Suffix, weak: false, sign_differs: false };
                found.add(fact.leaf, leaf, Some(index), fact.loose, says);
            }
        }
    }

    /// Is it said to be the end of something ("ending in", "last four digits", "****")?
    fn is_end(&self, mention: &Mention<'a>) -> bool {
        let (first, end) = (mention.tokens.first as usize, mention.tokens.end as usize);
        let before = self.scan.tokens.get(first.saturating_sub(4)..end).unwrap_or_default();
        let word =
            before.iter().any(|token| matches!(token.lower, "ending" | "ends" | "end" | "digits" | "last" | "suffix"));
        let stars =
            self.scan.text.get(..mention.span.start as usize).is_some_and(|before| {
                before.trim_end_matches([' ', '-']).ends_with(['*', '•', '·', '…', 'x', 'X', '#'])
            });
        word || stars
    }

    fn date(&self, mention: &Mention<'a>, date: Date, found: &mut Found) {
        let index = &self.facts.index;
        let alone = date.year.is_none() && date.month.is_none();
        if alone {
            self.look(mention, index.all_dates(), found);
        } else {
            self.look(mention, index.dates(date), found);
            // A payload may not know the year.
            if date.month.is_some() && date.year.is_some() && found.best.is_none() {
                self.look(mention, index.dates(Date { year: None, ..date }), found);
            }
            if date.ambiguous && found.best.is_none() {
                self.look(mention, index.dates(Date { month: date.day, day: date.month, ..date }), found);
            }
            if let (Some(year), None, None) = (date.year, date.month, date.day) {
                let year = f64::from(year);
                self.look(mention, index.numbers(year, year).iter().map(|(_, fact)| *fact), found);
            }
        }
        if found.best.is_none() && (date.day.is_none() && date.year.is_none() || self.may_be_other_day(mention, date)) {
            found.cut = true;
        }
    }

    /// Is a moment of a payload the day before or after, so that it may be this day in another zone?
    fn may_be_other_day(&self, mention: &Mention<'a>, date: Date) -> bool {
        let Some(day) = dates::civil(date) else { return false };
        let zone_is_told = self.scan.mentions.iter().any(|other| {
            other.sentence == mention.sentence
                && matches!(
                    other.what,
                    What::Time(Time { offset: Some(_), .. }) | What::Moment(_, Time { offset: Some(_), .. })
                )
        });
        if zone_is_told {
            return false;
        }
        [day.yesterday().ok(), day.tomorrow().ok()].into_iter().flatten().any(|other| {
            self.facts.index.dates(dates::from_civil(other)).take(MOST_CANDIDATES).any(|fact| {
                match self.facts.facts.get(fact as usize).map(|fact| fact.what) {
                    // Late enough for those in the east, or early enough for those in the west.
                    Some(What::Moment(_, Time { offset: Some(_), hour, .. })) => {
                        if other < day {
                            hour >= 13
                        } else {
                            hour < 11
                        }
                    }
                    _ => false,
                }
            })
        })
    }

    fn time(&self, mention: &Mention<'a>, time: Time, found: &mut Found) {
        let index = &self.facts.index;
        let any_minute = time.minute.is_none() || mention.hedge == Hedge::About;
        let minute = if any_minute { None } else { time.minute };
        for hour in dates::hours(time) {
            self.look(mention, index.times(Time { hour, minute, ..time }), found);
        }
        if found.best.is_none() {
            self.running_time(time, found);
        }
        if found.best.is_none() {
            self.other_zones(mention, time, found);
        }
    }

    /// "3:34" is how long a song is, in minutes and seconds, or a journey, in hours and minutes.
    fn running_time(&self, time: Time, found: &mut Found) {
        let Some(minute) = time.minute else { return };
        let small = f64::from(time.hour) * 60.0 + f64::from(minute);
        let (value, names) = match time.second {
            Some(second) => (small * 60.0 + f64::from(second), ["second"].as_slice()),
            None => (small, ["second", "minute"].as_slice()),
        };
        for &(_, index) in self.facts.index.numbers(value, value).iter().take(MOST_FACTS) {
            let Some(fact) = self.facts.facts.get(index as usize) else { continue };
            let What::Number(Number { unit: Some(Unit::Measure(name)), .. }) = fact.what else { continue };
            if let (true, Some(leaf)) = (names.contains(&name), self.facts.leaf(fact.leaf)) {
                let says = Says::Same { how: How::UnitConverted, weak: false, sign_differs: false };
                found.add(fact.leaf, leaf, Some(index), fact.loose, says);
            }
        }
    }

    /// The same time in another zone: sure where both zones are known, and possible where that of the payload is.
    fn other_zones(&self, mention: &Mention<'a>, time: Time, found: &mut Found) {
        let index = &self.facts.index;
        for hour in 0..24 {
            for fact_index in index.times(Time { hour, minute: None, ..time }) {
                let Some(room) = found.room.checked_sub(1) else {
                    found.cut = true;
                    return;
                };
                found.room = room;
                let Some(fact) = self.facts.facts.get(fact_index as usize) else { continue };
                let (What::Time(other) | What::Moment(_, other)) = fact.what else { continue };
                let Some(of_other) = other.offset else { continue };
                let minutes = |time: Time| i32::from(time.hour) * 60 + i32::from(time.minute.unwrap_or(0));
                match time.offset {
                    Some(offset) => {
                        let apart = minutes(time) - i32::from(offset) - minutes(other) + i32::from(of_other);
                        if apart.rem_euclid(24 * 60) == 0
                            && let Some(leaf) = self.facts.leaf(fact.leaf)
                        {
                            let says = Says::Same { how: How::DateForm, weak: true, sign_differs: false };
                            found.add(fact.leaf, leaf, Some(fact_index), fact.loose, says);
                        }
                    }
                    None => {
                        found.cut |=
                            (minutes(time) - minutes(other)).rem_euclid(15) == 0 || mention.hedge == Hedge::About
                    }
                }
            }
        }
    }

    fn moment(&self, mention: &Mention<'a>, date: Date, time: Time, found: &mut Found) {
        let index = &self.facts.index;
        self.look(mention, index.dates(date), found);
        if date.ambiguous && found.best.is_none() {
            self.look(mention, index.dates(Date { month: date.day, day: date.month, ..date }), found);
        }
        if found.best.is_none()
            && let Some(day) = dates::civil(date)
        {
            for other in [day.yesterday().ok(), day.tomorrow().ok()].into_iter().flatten() {
                self.look(mention, index.dates(dates::from_civil(other)), found);
            }
        }
        if found.best.is_some() {
            return;
        }
        // Day and time may stand apart in payloads.
        let (mut of_day, mut of_time) = (Found::new(found.room), Found::new(found.room));
        self.date(&Mention { what: What::Date(date), ..*mention }, date, &mut of_day);
        self.time(&Mention { what: What::Time(time), ..*mention }, time, &mut of_time);
        found.room = found.room.min(of_day.room).min(of_time.room);
        found.cut |= of_day.cut || of_time.cut;
        found.otherwise = found.otherwise.or(of_day.otherwise);
        if let (Some((leaf, fact, Says::Same { how, .. })), Some(_)) = (of_day.best, of_time.best) {
            let rank = of_day.rank.max(of_time.rank);
            let says = Says::Same { how, weak: true, sign_differs: false };
            *found = Found { rank, best: Some((leaf, fact, says)), leaves: of_day.leaves, ..Found::new(found.room) };
        }
    }

    /// Values that are told in two.
    fn compounds(&mut self, all: &mut [Support<'a>]) {
        for second in 0..self.scan.mentions.len() {
            let Some((joined, of)) = compound(self.scan, second, self.bump) else { continue };
            let support = self.of(&joined);
            if matches!(support, Support::Supported(_) | Support::Echo(_) | Support::OfFailure(_)) {
                all.get_mut(of).unwrap_or_default().fill(support);
            }
        }
    }

    /// "6.4 of 8 TB", "5 or 6 km": the unit is told once.
    fn units_of_others(&mut self, all: &mut [Support<'a>]) {
        for (index, pair) in self.scan.mentions.windows(2).enumerate() {
            let [mention, next] = pair else { continue };
            let (What::Number(number), What::Number(other)) = (mention.what, next.what) else { continue };
            let between = self.scan.text.get(mention.span.end as usize..next.span.start as usize).unwrap_or_default();
            let joins = matches!(between.trim(), "of" | "out of" | "of the" | "to" | "-" | "–" | "/" | "or" | "and");
            if !joins || number.unit.is_some() || !matches!(all.get(index), Some(Support::Unsupported { .. })) {
                continue;
            }
            let support = self.of(&Mention { what: What::Number(Number { unit: other.unit, ..number }), ..*mention });
            if let (Support::Supported(_) | Support::Echo(_), Some(place)) = (support, all.get_mut(index)) {
                *place = support;
            }
        }
    }

    /// Ids, addresses and quotes.
    fn texts(&self, all: &mut [Support<'a>]) {
        let mut needles = Vec::new();
        for (index, mention) in self.scan.mentions.iter().enumerate() {
            let text = match mention.what {
                What::Id(text) | What::Email(text) | What::Url(text) | What::Quote(text) => text,
                What::Date(_) | What::Time(_) | What::Moment(..) => {
                    // However it is read: a payload may say it in the same letters.
                    let span = mention.span.start as usize..mention.span.end as usize;
                    let text = self.scan.text.get(span).filter(|text| text.len() >= SHORTEST_DATE);
                    if matches!(all.get(index), Some(Support::Unsupported { .. })) {
                        let needle = text.and_then(|text| Needle::new(index..index + 1, text, false));
                        needles.extend(needle.map(Needle::or_else));
                    }
                    continue;
                }
                What::Number(_) => continue,
            };
            match Needle::new(index..index + 1, text, self.is_end(mention)) {
                Some(needle) => {
                    needles.push(needle);
                    // "M4s" are several of "M4".
                    let one = text.strip_suffix('s').filter(|one| one.ends_with(|c: char| c.is_ascii_digit()));
                    needles.extend(one.and_then(|one| Needle::new(index..index + 1, one, false)).map(Needle::or_else));
                }
                None => {
                    if let Some(support) = all.get_mut(index) {
                        *support = Support::Unchecked;
                    }
                }
            }
        }
        self.groups(all, &mut needles);
        let (hits, whole) = texts::find(&needles, self.facts);
        let mut found: Vec<Found> = needles.iter().map(|_| Found::new(MOST_FACTS)).collect();
        for hit in hits {
            let (Some(found), Some(leaf)) = (found.get_mut(hit.needle), self.facts.leaf(hit.leaf)) else { continue };
            let how = if hit.is_end { How::Suffix } else { How::Exact };
            found.add(hit.leaf, leaf, None, false, Says::Same { how, weak: false, sign_differs: false });
        }
        let mut names = None;
        let mut room = MOST_FACTS_OF_ALL;
        for (needle, mut found) in needles.iter().zip(found) {
            found.room = found.room.min(room);
            let before = found.room;
            let Some(mention) = self.scan.mentions.get(needle.mentions.start) else { continue };
            if found.best.is_none() {
                self.digits_or_name(needle, &mut names, &mut found);
            }
            found.cut |= !whole;
            room = room.saturating_sub(before - found.room);
            if needle.is_other {
                // It says something where it is found, and nothing where it is not.
                let said = all.get(needle.mentions.start);
                if found.best.is_some() && !(needle.mentions.len() == 1 && matches!(said, Some(Support::Supported(_))))
                {
                    let support = self.answer(mention, &mut found);
                    all.get_mut(needle.mentions.clone()).unwrap_or_default().fill(support);
                }
            } else if let Some(support) = all.get_mut(needle.mentions.start) {
                *support = self.answer(mention, &mut found);
                let is_tool = |name: &str| texts::Folded::new(name).text() == needle.folded();
                // A word in quotation marks is often what the reader shall say or click.
                let is_word = matches!(mention.what, What::Quote(quote) if !quote.trim().contains(char::is_whitespace));
                if matches!(support, Support::Unsupported { .. }) && is_word {
                    *support = Support::Unchecked;
                }
                if matches!(support, Support::Unsupported { .. } | Support::Unchecked)
                    && self.facts.calls.iter().any(|call| is_tool(call.tool))
                {
                    *support = Support::Rhetoric;
                }
            }
        }
    }

    /// An id that is told in groups: "DE89 3704 0044".
    fn groups(&self, all: &[Support<'a>], needles: &mut Vec<Needle>) {
        let mentions = self.scan.mentions;
        let in_group = |mention: &Mention<'a>| match mention.what {
            What::Id(_) => true,
            What::Number(number) => number.unit.is_none() && !number.spelled,
            _ => false,
        };
        let mut first = 0;
        while first < mentions.len() {
            let mut end = first + 1;
            while let (Some(one), Some(next)) = (mentions.get(end - 1), mentions.get(end)) {
                let between = self.scan.text.get(one.span.end as usize..next.span.start as usize);
                if !in_group(one) || !in_group(next) || !matches!(between, Some(" " | "-" | "\u{a0}" | ".")) {
                    break;
                }
                end += 1;
            }
            if end - first > 1
                && all
                    .get(first..end)
                    .is_some_and(|group| group.iter().any(|one| !matches!(one, Support::Supported(_))))
                && let (Some(one), Some(last)) = (mentions.get(first), mentions.get(end - 1))
                && let Some(text) = self.scan.text.get(one.span.start as usize..last.span.end as usize)
                && let Some(needle) = Needle::new(first..end, text, false)
            {
                needles.push(needle.or_else());
            }
            first = end;
        }
    }

    /// An id that payloads have as a number, or that is one of their keys.
    fn digits_or_name(&self, needle: &Needle, names: &mut Option<Names>, found: &mut Found) {
        let folded = needle.folded();
        let same = Says::Same { how: How::Exact, weak: false, sign_differs: false };
        if let Ok(number) = folded.parse::<u64>() {
            if needle.is_end() {
                self.ends(number, folded.len() as u32, found);
            }
            for &(_, index) in self.facts.index.numbers(number as f64, number as f64) {
                let Some(fact) = self.facts.facts.get(index as usize) else { continue };
                let (What::Number(whole), Some(leaf)) = (fact.what, self.facts.leaf(fact.leaf)) else { continue };
                if whole.readings.iter().any(|reading| reading.value == number.into()) {
                    found.add(fact.leaf, leaf, Some(index), fact.loose, same);
                }
            }
        }
        if found.best.is_none() {
            match names.get_or_insert_with(|| self.names()) {
                Some(names) => {
                    if let Some(&index) = names.get(folded)
                        && let Some(leaf) = self.facts.leaf(index)
                    {
                        found.add(index, leaf, None, true, same);
                    }
                }
                None => found.cut = true,
            }
        }
    }

    /// The keys of payloads and parts of them (`pm25` of `pm25_ugm3`), each with its first leaf. None if there are too many.
    fn names(&self) -> Names {
        let mut names = HashMap::new();
        let mut last: &[&str] = &[];
        for (index, leaf) in self.facts.leaves.iter().enumerate() {
            if !std::ptr::eq(leaf.words, last) {
                for first in 0..leaf.words.len().min(MOST_WORDS_OF_A_KEY) {
                    let mut name = String::new();
                    for word in leaf.words.iter().skip(first).take(MOST_WORDS_OF_A_KEY) {
                        name.push_str(word);
                        names.entry(name.clone()).or_insert(index as u32);
                    }
                }
            }
            last = leaf.words;
            if names.len() > MOST_NAMES {
                return None;
            }
        }
        Some(names)
    }

    /// How many different numbers there are about a number's size, of all that could be told with its precision.
    fn chance(&self, mention: &Mention<'a>) -> f32 {
        let What::Number(number) = mention.what else { return 0.0 };
        let Some(reading) = number.readings.first() else { return 0.0 };
        let (value, step) = (float(reading.value), float(reading.step));
        let size = value.abs().max(step);
        let there = self.facts.index.distinct(size / 2.0, size * 2.0) as f64;
        (there / (1.5 * size / step).max(1.0)).min(1.0) as f32
    }

    fn nearest(&self, mention: &Mention<'a>) -> Option<u32> {
        let What::Number(number) = mention.what else { return None };
        let value = float(number.readings.first()?.value);
        let (near, index) = self.facts.index.nearest(value)?;
        let fact = self.facts.facts.get(index as usize)?;
        ((near - value).abs() <= value.abs() / 2.0 && !fact.loose).then_some(fact.leaf)
    }
}

/// "1 hour 25 minutes", "5 feet 11 inches", "an hour and 35 minutes": one value that is told in two, the second of which is
/// this mention; and the mentions that it is told in.
fn compound<'a>(scan: &Scan<'a>, second: usize, bump: &'a Bump) -> Option<(Mention<'a>, Range<usize>)> {
    let small = scan.mentions.get(second)?;
    let large = second.checked_sub(1).and_then(|first| scan.mentions.get(first));
    if let Some(joined) = large.and_then(|large| joined(scan, large, small, bump)) {
        return Some((joined, second - 1..second + 1));
    }
    let large = one_before(scan, small, bump)?;
    Some((joined(scan, &large, small, bump)?, second..second + 1))
}

/// The "an hour" before "and 35 minutes", which is no mention of its own.
fn one_before<'a>(scan: &Scan<'a>, small: &Mention<'a>, bump: &'a Bump) -> Option<Mention<'a>> {
    let token = |back: u32| scan.tokens.get(small.tokens.first.checked_sub(back)? as usize);
    let (article, unit, and) = (token(3)?, token(2)?, token(1)?);
    if and.lower != "and" || !matches!(article.lower, "a" | "an") {
        return None;
    }
    let What::Number(number) = small.what else { return None };
    let readings = bump.alloc_slice_copy(&[Reading { value: 1.into(), step: 1.into() }]);
    let what = What::Number(Number { readings, unit: Some(units::unit_in_text(unit.lower)?), ..number });
    Some(Mention { what, span: unit.span, ..*small })
}

/// The two as one, in the smaller unit.
fn joined<'a>(scan: &Scan<'a>, a: &Mention<'a>, b: &Mention<'a>, bump: &'a Bump) -> Option<Mention<'a>> {
    let (What::Number(large), What::Number(small)) = (a.what, b.what) else { return None };
    let between = scan.text.get(a.span.end as usize..b.span.start as usize)?;
    let large_unit = large.unit?;
    // "4 h 25"
    let bare = small.unit.is_none() && large_unit == Unit::Measure("hour") && between.trim().is_empty();
    let small_unit = if bare { Unit::Measure("minute") } else { small.unit? };
    if large_unit == small_unit
        || units::dimension(large_unit) != units::dimension(small_unit)
        || !matches!(between.trim().trim_matches(',').trim(), "" | "and" | "&")
    {
        return None;
    }
    let (large, small_reading) = (large.readings.first()?, small.readings.first()?);
    let one = units::convert(1.into(), large_unit, small_unit)?;
    if one <= 1.into() || small_reading.value >= one {
        return None;
    }
    let value = units::convert(large.value, large_unit, small_unit)?.checked_add(small_reading.value)?;
    // Money is in the large unit in payloads, and anything else in whichever.
    let (value, step, unit) = match large_unit {
        Unit::Currency { .. } => {
            let whole = |value| units::convert(value, small_unit, large_unit);
            (whole(value)?, whole(small_reading.step)?, large_unit)
        }
        _ => (value, small_reading.step, small_unit),
    };
    let readings = bump.alloc_slice_copy(&[Reading { value, step }]);
    Some(Mention { what: What::Number(Number { readings, unit: Some(unit), ..small }), hedge: a.hedge, ..*b })
}

/// What everybody knows: 24 hours, 7 days, 60 minutes, 12 months; "one", and places in an order.
fn is_common(mention: &Mention<'_>) -> bool {
    let What::Number(number) = mention.what else { return false };
    let Some(reading) = number.readings.first() else { return false };
    let is = |value: i64| reading.value == value.into();
    match number.unit {
        // "One dollar buys 151 yen"
        Some(Unit::Measure(_) | Unit::Currency { .. }) if is(1) => true,
        Some(Unit::Measure("hour")) => is(24),
        Some(Unit::Measure("minute" | "second")) => is(60),
        Some(Unit::Measure("day")) => is(7) || is(365),
        Some(Unit::Measure("month")) => is(12),
        Some(Unit::Measure("week")) => is(52),
        Some(Unit::Percent) => is(100),
        None => number.spelled && is(1) || number.ordinal && reading.value <= 10.into(),
        _ => false,
    }
}

/// "per 100", "for every 1,000 people", "the 20th century"
fn is_measure_of_a_rate(scan: &Scan<'_>, mention: &Mention<'_>) -> bool {
    let What::Number(number) = mention.what else { return false };
    let Some(reading) = number.readings.first() else { return false };
    let token = |at: u32| scan.tokens.get(at as usize).map_or("", |token| token.lower);
    let before = mention.tokens.first.checked_sub(1).map_or("", token);
    let power_of_ten = [100, 1000, 10_000, 100_000, 1_000_000].iter().any(|&power| reading.value == power.into());
    power_of_ten && matches!(before, "per" | "every" | "each")
        || number.ordinal && token(mention.tokens.end) == "century"
}

/// The day or year of a call: an answer may say when it was asked.
fn is_time_of_a_call(mention: &Mention<'_>, facts: &Facts<'_>) -> bool {
    let told = match mention.what {
        What::Date(date) => date,
        What::Number(Number { readings: [reading, ..], unit: None, .. }) => {
            let Ok(year) = i16::try_from(reading.value) else { return false };
            if !(1900..2200).contains(&year) {
                return false;
            }
            Date { year: Some(year), month: None, day: None, weekday: None, ambiguous: false }
        }
        _ => return false,
    };
    let moments = facts.calls.iter().flat_map(|call| [call.start, call.end]).flatten();
    moments
        .filter_map(|(millis, offset)| dates::local_day(millis, offset))
        .any(|day| matches!(dates::date_says(told, dates::from_civil(day)), Some(Says::Same { .. })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        grounding::{facts, request::Request, scan, settings::Settings, status},
        json,
    };

    /// What backs the mentions of a text, in words.
    fn support(trace: &str, text: &str) -> Vec<String> {
        let bump = Bump::new();
        let trace = if trace.starts_with("[{\"tool_name") {
            trace.to_owned()
        } else {
            format!(
                r#"[{{"tool_name": "t", "status": "success", "request_payload": {{}}, "response_payload": {trace}}}]"#
            )
        };
        let value = format!(
            r#"{{"user_query": "Please check 77 for me", "generated_text": {}, "tool_trace": {trace}}}"#,
            crate::show::json_text(crate::value::Value::Text(text.into()))
        );
        let value = json::parse(value.as_bytes(), 500, &bump).unwrap();
        let request = Request::read(value, &bump).unwrap();
        let settings = Settings::default();
        let scan = scan::scan(request.text, &bump);
        let outcomes = status::outcomes(&request, &settings);
        let facts = facts::collect(&request, &outcomes, &settings, &bump);
        of_all(&scan, &facts, &bump)
            .iter()
            .map(|support| match support {
                Support::Supported(matched) => {
                    let sign = if matched.sign_differs { " sign" } else { "" };
                    let weak = if matched.weak { " weak" } else { "" };
                    format!("{:?}{weak}{sign}", matched.how)
                }
                Support::Derived { how, .. } => format!("{how:?}"),
                Support::Echo(_) => "echo".to_owned(),
                Support::OfFailure(_) => "failure".to_owned(),
                Support::Mismatch { how, .. } => format!("not its {how:?}"),
                Support::Rhetoric => "rhetoric".to_owned(),
                Support::Unsupported { .. } => "nowhere".to_owned(),
                Support::Unchecked => "unchecked".to_owned(),
            })
            .collect()
    }

    #[track_caller]
    fn check(cases: &[(&str, &str, &[&str])]) {
        for (trace, text, expected) in cases {
            assert_eq!(support(trace, text), *expected, "{text:?} by {trace}");
        }
    }

    #[test]
    fn numbers_may_be_told_with_less_precision_and_not_with_more() {
        check(&[
            (r#"{"rate": 0.9234567}"#, "It is 0.92.", &["Rounded"]),
            (r#"{"x": 0.92}"#, "It is 0.9234.", &["nowhere"]),
            (r#"{"x": 1234567}"#, "There are 1.2 million of them.", &["Rounded"]),
            (r#"{"x": 1234567}"#, "There are 1,234,567 of them.", &["Exact"]),
            (r#"{"x": 6.78}"#, "It is 6.7.", &["Truncated weak"]),
            (r#"{"x": 6.78}"#, "It is 6.6.", &["nowhere"]),
            (r#"{"x": 1234}"#, "It is about 1,200.", &["Hedged weak"]),
            (r#"{"x": 34}"#, "It is over 30.", &["Hedged weak"]),
            (r#"{"x": 34}"#, "It is under 30.", &["nowhere"]),
            (r#"{"x": 9007199254740993}"#, "It is 9007199254740992.", &["nowhere"]),
            (r#"{"x": 118}"#, "It is 118.", &["Exact"]),
        ]);
    }

    #[test]
    fn units_have_to_agree_where_both_are_known() {
        check(&[
            (r#"{"temp_c": -3}"#, "It's -3 °C.", &["Exact"]),
            (r#"{"temp_c": -3}"#, "It's 3 °C.", &["Exact sign"]),
            (r#"{"temp_c": -3}"#, "It's -3 °F.", &["not its Unit"]),
            (r#"{"temp_c": -3}"#, "It's 26.6 °F.", &["UnitConverted"]),
            (
                r#"{"distance_m": 5400, "duration_s": 1500}"#,
                "It's 5.4 km, 25 minutes.",
                &["UnitConverted", "UnitConverted"],
            ),
            (r#"{"distance_m": 5400}"#, "It's 5.4 miles.", &["nowhere"]),
            (r#"{"distance_km": 5.4}"#, "It's 5.4 miles.", &["not its Unit"]),
            (r#"{"distance": 5.4}"#, "It's 5.4 miles.", &["Exact weak"]),
            (r#"{"value": 5.4, "unit": "km"}"#, "It's 5.4 miles.", &["not its Unit"]),
            (r#"{"total": 1234.5, "currency": "EUR"}"#, "The total is €1,234.50.", &["Exact"]),
            (r#"{"total": 1234.5, "currency": "EUR"}"#, "The total is $1,234.50.", &["not its Currency"]),
            (r#"{"total": 1234.5, "currency": "CAD"}"#, "The total is $1,234.50.", &["Exact"]),
            (r#"{"total": 1234.5}"#, "The total is $1,234.50.", &["Exact weak"]),
            (r#"{"duration_min": 85}"#, "It takes 1 hour 25 minutes.", &["Exact", "Exact"]),
            (r#"{"duration_min": 95}"#, "It takes an hour and 35 minutes.", &["Exact"]),
            (r#"{"total_usd": 41.07}"#, "It costs 41 dollars and 7 cents.", &["Exact", "Exact"]),
            (r#"{"wind_ms": 10, "revenue_musd": 3.5}"#, "Wind 10 m/s, revenue $3.5 million.", &["Exact", "Exact"]),
            (r#"{"memory": "64Mb RAM"}"#, "It has 64MB.", &["Exact weak"]),
            (r#"{"cpu": "4x2.3 GHz Cortex"}"#, "It has 2.3 GHz.", &["Exact weak"]),
            (r#"{"duration": "PT1H25M"}"#, "It takes 85 minutes.", &["UnitConverted"]),
            (r#"{"eur": 0.04}"#, "It costs 4 cents, or €0.04.", &["UnitConverted", "Exact"]),
            (r#"{"item": "M4"}"#, "It costs 4 cents.", &["nowhere"]),
            (r#"{"area_km2": 154.2}"#, "It covers 154 square kilometres.", &["Rounded"]),
            (r#"{"kwh_today": 11.84}"#, "It counted 11.84 MWh.", &["not its Unit"]),
            (r#"{"produced_wh": 8420}"#, "It made 8,420 kWh, or 8.42 kWh.", &["not its Unit", "UnitConverted"]),
            (r#"{"text": "up to 45 EUR per day"}"#, "It is up to €54 per day.", &["nowhere"]),
            (r#"{"ids": ["F-060"]}"#, "There are 60 of them.", &["nowhere"]),
            (r#"{"total_gb": 8000, "used_gb": 6400}"#, "It has used 6.4 of 8 TB.", &["UnitConverted", "UnitConverted"]),
            (r#"{"seconds": 214}"#, "The song is 3:34 long.", &["UnitConverted"]),
            (r#"{"vitamin_c": 80}"#, "It has 80 mg of it.", &["Exact weak"]),
            (r#"{"main": {"temp": 12.3, "temp_min": 9}}"#, "It's 12.3 °C and 9 °C.", &["Exact weak", "Exact weak"]),
        ]);
    }

    #[test]
    fn percentages_are_fractions() {
        check(&[
            (r#"{"pass_rate": 0.873}"#, "87.3% passed.", &["Percent"]),
            (r#"{"pass_rate": 0.873}"#, "Only 0.873% passed.", &["not its PercentScale"]),
            (r#"{"x": 0.873}"#, "87.3% passed.", &["Percent weak"]),
            (r#"{"humidity": 81}"#, "Humidity is 81%.", &["Exact weak"]),
            (r#"{"cpu_pct": 87.3}"#, "CPU is at 87.3%.", &["Exact"]),
        ]);
    }

    #[test]
    fn dates_and_times_in_their_forms() {
        let start = r#"{"start": "2026-03-09T14:05:00Z"}"#;
        check(&[
            (start, "Your visit is on 9 March 2026 at 2:05 PM UTC.", &["Exact", "DateForm"]),
            (start, "Your visit is on 03/09/2026.", &["Exact"]),
            (start, "Your visit is in March 2026.", &["DateForm"]),
            (start, "Your visit is on 10 March 2027.", &["nowhere"]),
            (r#"{"finished": 1773065100}"#, "It ended on 10 March 2026 at 14:05 UTC.", &["nowhere", "DateForm"]),
            (r#"{"finished": 1773065100}"#, "It ended on 10 March 2026.", &["unchecked"]),
            (start, "Your visit is on Tuesday, 9 March 2026.", &["not its Weekday"]),
            (r#"{"sunrise": 1773065100}"#, "It rises on 9 March 2026.", &["Exact"]),
            (r#"{"arrival": "03:00:00+1"}"#, "You arrive at 03:00 AM EST.", &["DateForm"]),
        ]);
    }

    #[test]
    fn ids_and_quotes() {
        check(&[
            (r#"{"id": "A-99812"}"#, "Order A99812 is ready.", &["Exact"]),
            (r#"{"id": "A-99812"}"#, "Order A-99813 is ready.", &["nowhere"]),
            (r#"{"id": "gift_card_6276644"}"#, "Paid by the gift card ending in 6644.", &["Suffix"]),
            (r#"{"card": 8544743}"#, "Paid by the card ending in 4743.", &["Suffix"]),
            (r#"{"id": "certificate_7504069"}"#, "Paid by certificate 7504069.", &["Exact weak"]),
            (r#"{"item": "M4"}"#, "The M4s are here.", &["Exact"]),
            (r#"{"pm25_ugm3": 52.3}"#, "PM2.5 stands at 52.3.", &["Exact", "Exact"]),
            (r#"{"expires": "08/28"}"#, "The card expires 08/28.", &["Exact"]),
            (r#"{"version": "2.14.1"}"#, "It is v2.14.1 now.", &["Exact"]),
            (r#"{"version": "v2.14.1"}"#, "It is 2.14.1 now.", &["Exact"]),
            (r#"{"iban": "DE89370400440532013000"}"#, "Your IBAN is DE89 3704 0044 0532 0130 00.", &["Exact"]),
            (r#"{"to": "Dana@Example.com"}"#, "I wrote to dana@example.com.", &["Exact"]),
            (r#"{"title": "Größe und Maß"}"#, "It is called \"Grösse und Maß\".", &["nowhere"]),
            (r#"{"title": "Boston Fern – Care"}"#, "It is called \"Boston fern\".", &["Exact"]),
        ]);
    }

    #[test]
    fn what_only_a_failed_call_says() {
        let failed = r#"[{"tool_name": "t", "status": "failed", "request_payload": {"n": 12345}, "response_payload": null, "error": "550 rejected"}]"#;
        let status = r#"[{"tool_name": "t", "status": 403, "request_payload": {}, "response_payload": null}]"#;
        check(&[
            (failed, "It was rejected (550).", &["failure"]),
            (failed, "It has 551.", &["nowhere"]),
            (status, "It says 403.", &["failure"]),
        ]);
    }

    #[test]
    fn echoes() {
        check(&[(r#"{"x": 1}"#, "You asked for 77.", &["echo"]), (r#"{"x": 77}"#, "You asked for 77.", &["Exact"])]);
    }

    #[test]
    fn what_was_worked_out() {
        check(&[
            (
                r#"{"items": [{"n": "mug", "price": 12.5}, {"n": "tea", "price": 7.25}]}"#,
                "Mug and tea come to $19.75.",
                &["Sum"],
            ),
            (
                r#"{"a": 120.5, "b": 79.25}"#,
                "From 120.5 down to 79.25, that is 41.25 less.",
                &["Exact", "Exact", "Difference"],
            ),
            (r#"{"fare": 152, "seats": 3}"#, "$152 for each of 3 seats: $456.", &["Exact weak", "Exact", "Product"]),
            (r#"{"old": 80, "new": 100}"#, "It went from 80 to 100, or up 25%.", &["Exact", "Exact", "PercentChange"]),
            (r#"{"a": 2, "b": 3}"#, "2 adults and 3 children, 5 in total.", &["Exact", "Exact", "Sum"]),
            (r#"{"a": 2, "b": 3}"#, "2 adults and 3 children with 5 bags.", &["Exact", "Exact", "nowhere"]),
            (
                r#"{"balance": 500, "legs": [{"price": 143}, {"price": 156}]}"#,
                "It costs $299, which leaves $201 remaining.",
                &["Sum", "Difference"],
            ),
            (r#"{"start": "20:00", "duration_min": 90}"#, "It runs until 9:30 pm.", &["Sum"]),
            (r#"{"due": "2026-03-12"}"#, "On March 9, 2026 you had three days.", &["nowhere", "nowhere"]),
            (
                r#"{"from": "2026-03-09", "to": "2026-03-12"}"#,
                "From March 9, 2026, for three days.",
                &["Exact", "Difference"],
            ),
            (
                r#"{"arrives": "10:20", "departs": "13:05"}"#,
                "You have 2 hours and 45 minutes.",
                &["Difference", "Difference"],
            ),
            (r#"{"scheduled": "18:20", "estimated": "19:05"}"#, "It is 45 minutes late.", &["Difference"]),
            (
                r#"{"entitled_days": 28, "taken_days": 11.5}"#,
                "16.5 days are left: 28 in all, 11.5 taken.",
                &["Difference", "Exact", "Exact"],
            ),
            (r#"{"capacity": 120, "inside": 78}"#, "There are 42 places left.", &["Difference"]),
            (r#"{"arr_usd": 48600, "seats": 54}"#, "That is $900 per seat.", &["Ratio"]),
            (r#"{"produced_kwh": 8.42, "consumed_kwh": 12.95}"#, "That is about 65% of it.", &["Ratio"]),
            (
                r#"{"price": 30, "currency": "EUR", "discount_pct": 10}"#,
                "With 10% off it is €27.",
                &["Exact", "Product"],
            ),
            (
                r#"{"adult": 14, "child": 6.5}"#,
                "2 tickets of €14 and one of €6.50: €34.50.",
                &["unchecked", "Exact weak", "Exact weak", "Sum"],
            ),
            (
                r#"{"table": [{"points": 64}, {"points": 59}]}"#,
                "Leeds have 64 points, five clear of Hull (59).",
                &["Exact", "Difference", "Exact"],
            ),
            (
                r#"{"v": [{"amount": 528.64}, {"amount": 473.25}, {"amount": 217.98}, {"amount": 237.12}, {"amount": 565.02}]}"#,
                "They come to €2,022.01 in all.",
                &["Sum"],
            ),
            (
                r#"{"on_hand": 14, "reserved": 9}"#,
                "Of the 14, 9 are reserved, which leaves 5 free.",
                &["Exact", "Exact", "Difference"],
            ),
            (
                r#"{"qty": 2, "unit_price": 19.5, "currency": "EUR"}"#,
                "The mugs (€39.00) are on their way.",
                &["Product"],
            ),
            (
                r#"{"low_c": 7, "high_c": 11}"#,
                "Between 7 °C and 11 °C; lows drop to -4 °C.",
                &["Exact", "Exact", "nowhere"],
            ),
            (r#"{"co2_ppm": 640}"#, "CO2 is at 640 ppm.", &["Exact", "Exact"]),
            (r#"{"a": {"eur": 0.04}, "b": {"eur": 0.07}}"#, "That is 3 cents more.", &["Difference"]),
            (r#"{"results": [{"t": "a"}, {"t": "b"}, {"t": "c"}]}"#, "I found 3 results.", &["Count"]),
            (r#"{"results": [{"t": "a"}, {"t": "b"}, {"t": "c"}]}"#, "I found 4 results.", &["nowhere"]),
        ]);
    }

    #[test]
    fn figures_of_speech() {
        check(&[
            (r#"{"x": 5}"#, "It takes 24 hours.", &["rhetoric"]),
            (r#"{"usd_jpy": 151.4}"#, "One dollar buys 151.4 yen.", &["rhetoric", "Exact"]),
            (r#"{"x": 5}"#, "There are 12 cases per 1,000 people.", &["nowhere", "rhetoric"]),
        ]);
    }

    #[test]
    fn less_data_never_gives_more_support() {
        let text = "It costs $456 (3 at $152), 12 of 40 are left, 87.3% sold, until 9 March 2026 at 2:05 PM, code A-99812; the total is $912 and the average 30.5.";
        let leaves = [
            r#""fare": 152"#,
            r#""seats": 3"#,
            r#""list": [30, 31, 12]"#,
            r#""more": [{"left": 12, "v": 456}, {"left": 12, "v": 456}, {"left": 40}]"#,
            r#""rate": 0.873"#,
            r#""until": "2026-03-09T14:05:00Z""#,
            r#""code": "A-99812""#,
        ];
        let with = |chosen: u32| {
            let some: Vec<&str> =
                leaves.iter().enumerate().filter(|(at, _)| chosen >> at & 1 == 1).map(|(_, leaf)| *leaf).collect();
            support(&format!("{{{}}}", some.join(", ")), text)
        };
        let all: Vec<Vec<String>> = (0..1 << leaves.len()).map(with).collect();
        for (chosen, support) in all.iter().enumerate() {
            for leaf in 0..leaves.len() {
                let Some(less) = (chosen >> leaf & 1 == 1).then(|| all.get(chosen & !(1 << leaf)).unwrap()) else {
                    continue;
                };
                for (more, less) in support.iter().zip(less) {
                    assert!(more != "nowhere" || less == "nowhere", "{more} → {less} without {:?}", leaves.get(leaf));
                }
            }
        }
    }
}
