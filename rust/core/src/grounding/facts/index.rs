//! Facts by value, for looking them up.

use bumpalo::{Bump, collections::Vec as ArenaVec};
use rust_decimal::{Decimal, prelude::ToPrimitive};

use super::{
    super::{
        scan::{Date, Time, Unit, What},
        units,
    },
    Fact,
};

/// Facts in the order of what they say. Numbers stand by their value as a float, which finds all that may be equal; whether
/// they are is for decimals to say.
#[derive(Debug, Default)]
pub struct Index<'a> {
    /// All readings of all numbers, and the facts that they are of.
    numbers: &'a [(f64, u32)],
    /// The different values among them that stand for themselves (that are no loose digits).
    distinct: &'a [f64],
    /// Year, month and day (0 if not known), and the fact.
    dates: &'a [((i16, i8, i8), u32)],
    /// The same by month and day alone.
    days: &'a [((i8, i8), u32)],
    /// Hour and minute.
    times: &'a [((i8, i8), u32)],
    /// Units of measure that there are, and what they measure.
    measures: &'a [(&'static str, &'static str)],
}

impl<'a> Index<'a> {
    pub fn new(facts: &[Fact<'a>], bump: &'a Bump) -> Self {
        let mut numbers = Vec::with_capacity(facts.len());
        let mut distinct = ArenaVec::with_capacity_in(facts.len(), bump);
        let mut dates = ArenaVec::new_in(bump);
        let mut days = ArenaVec::new_in(bump);
        let mut times = ArenaVec::new_in(bump);
        let mut measures: ArenaVec<'_, (&'static str, &'static str)> = ArenaVec::new_in(bump);
        for (index, fact) in facts.iter().enumerate() {
            let index = index as u32;
            let mut day = |date: Date| {
                let (year, month, day) = (date.year.unwrap_or(0), date.month.unwrap_or(0), date.day.unwrap_or(0));
                dates.push(((year, month, day), index));
                days.push(((month, day), index));
                if date.ambiguous {
                    dates.push(((year, day, month), index));
                    days.push(((day, month), index));
                }
            };
            match fact.what {
                What::Number(number) => {
                    for reading in number.readings {
                        numbers.push(ordered(float(reading.value), index));
                    }
                    if let Some(unit @ Unit::Measure(name)) = number.unit
                        && !measures.iter().any(|(known, _)| *known == name)
                    {
                        measures.push((name, units::dimension(unit)));
                    }
                }
                What::Date(date) => day(date),
                What::Moment(date, time) => {
                    day(date);
                    times.push(((time.hour, time.minute.unwrap_or(0)), index));
                }
                What::Time(time) => times.push(((time.hour, time.minute.unwrap_or(0)), index)),
                What::Id(_) | What::Email(_) | What::Url(_) | What::Quote(_) => {}
            }
        }
        numbers.sort_unstable();
        let numbers = bump.alloc_slice_fill_iter(numbers.into_iter().map(value_and_fact));
        let sure = numbers.iter().filter(|(_, fact)| facts.get(*fact as usize).is_some_and(|fact| !fact.loose));
        distinct.extend(sure.map(|(value, _)| *value));
        distinct.dedup();
        dates.sort_unstable();
        days.sort_unstable();
        times.sort_unstable();
        Index {
            numbers,
            distinct: distinct.into_bump_slice(),
            dates: dates.into_bump_slice(),
            days: days.into_bump_slice(),
            times: times.into_bump_slice(),
            measures: measures.into_bump_slice(),
        }
    }

    /// Facts with a number from `low` to `high`, give or take what floats are off by; by value.
    pub fn numbers(&self, low: f64, high: f64) -> &'a [(f64, u32)] {
        let slack = |bound: f64| bound.abs() * 1e-12;
        let from = self.numbers.partition_point(|(value, _)| *value < low - slack(low));
        let to = self.numbers.partition_point(|(value, _)| *value <= high + slack(high));
        self.numbers.get(from..to).unwrap_or_default()
    }

    /// The number nearest to a value.
    pub fn nearest(&self, value: f64) -> Option<(f64, u32)> {
        let at = self.numbers.partition_point(|(other, _)| *other < value);
        let around = [at.checked_sub(1).and_then(|at| self.numbers.get(at)), self.numbers.get(at)];
        around.into_iter().flatten().copied().min_by(|a, b| (a.0 - value).abs().total_cmp(&(b.0 - value).abs()))
    }

    /// How many different numbers there are from `low` to `high`.
    pub fn distinct(&self, low: f64, high: f64) -> usize {
        let below = |bound: f64| self.distinct.partition_point(|value| *value < bound);
        below(high.next_up()).saturating_sub(below(low))
    }

    pub fn measures(&self) -> &'a [(&'static str, &'static str)] {
        self.measures
    }

    /// Facts with such a date, as far as parts of it are asked for, which are year, year and month, all three, or day and
    /// month.
    pub fn dates(&self, date: Date) -> impl Iterator<Item = u32> {
        let day = date.day.unwrap_or(i8::MAX);
        let of_year = date.year.map(|year| {
            let low = (year, date.month.unwrap_or(0), date.day.unwrap_or(0));
            let high = (year, date.month.unwrap_or(i8::MAX), day);
            between(self.dates, low, high)
        });
        let of_month = match (date.year, date.month) {
            (None, Some(month)) => Some(between(self.days, (month, date.day.unwrap_or(0)), (month, day))),
            _ => None,
        };
        of_year
            .unwrap_or_default()
            .iter()
            .map(|(_, fact)| *fact)
            .chain(of_month.unwrap_or_default().iter().map(|(_, fact)| *fact))
    }

    /// All facts with a date.
    pub fn all_dates(&self) -> impl Iterator<Item = u32> {
        self.dates.iter().map(|(_, fact)| *fact)
    }

    /// Facts with such a time of day, whatever its second and zone.
    pub fn times(&self, time: Time) -> impl Iterator<Item = u32> {
        let low = (time.hour, time.minute.unwrap_or(0));
        let high = (time.hour, time.minute.unwrap_or(i8::MAX));
        between(self.times, low, high).iter().map(|(_, fact)| *fact)
    }
}

const SIGN: u64 = 1 << 63;

/// A value and its fact as one number, which sorts fast: in the order of `f64::total_cmp`, and facts of the same value in their own.
fn ordered(value: f64, fact: u32) -> u128 {
    let bits = value.to_bits();
    u128::from(if bits & SIGN == 0 { bits | SIGN } else { !bits }) << 32 | u128::from(fact)
}

fn value_and_fact(ordered: u128) -> (f64, u32) {
    let bits = (ordered >> 32) as u64;
    (f64::from_bits(if bits & SIGN == 0 { !bits } else { bits ^ SIGN }), ordered as u32)
}

fn between<T: Ord + Copy>(sorted: &[(T, u32)], low: T, high: T) -> &[(T, u32)] {
    let from = sorted.partition_point(|(key, _)| *key < low);
    let to = sorted.partition_point(|(key, _)| *key <= high);
    sorted.get(from..to.max(from)).unwrap_or_default()
}

/// A decimal as a float: the nearest one, where it has no more digits than a float can have.
pub fn float(value: Decimal) -> f64 {
    const POWERS: [f64; 16] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
    const EXACT: i128 = 1 << 53;
    let mantissa = value.mantissa();
    match POWERS.get(value.scale() as usize) {
        // Both are exact, and a division is rounded rightly.
        Some(power) if mantissa.abs() < EXACT => mantissa as i64 as f64 / power,
        _ => value.to_f64().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_the_nearest_floats() {
        for text in ["0", "-0.1", "0.873", "1234.5", "9007199254740993", "79228162514264337593543950335"] {
            assert_eq!(float(text.parse().unwrap()), text.parse::<f64>().unwrap(), "{text}");
        }
    }
}
