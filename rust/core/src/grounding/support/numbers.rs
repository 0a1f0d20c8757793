//! Numbers of a text against numbers of payloads.
//!
//! What a text says is taken for any of a few things that a payload may have in its place (the same number, a fraction of
//! one for a percentage, the number in another unit); each is an interval to look up, and a rule that decides. Intervals and
//! roundings are worked out with floats, and equality of numbers that floats can't tell apart with decimals.

use rust_decimal::Decimal;

use super::{How, Mismatch};
use crate::grounding::{
    facts::{Fact, Leaf, Traits, float},
    scan::{Hedge, Number, Unit, What},
    units,
};

/// What a number of a payload says to one of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Says {
    Same { how: How, weak: bool, sign_differs: bool },
    Otherwise(Mismatch),
}

/// What a payload may have where the text has a number.
#[derive(Clone, Copy, Debug)]
pub struct Sought {
    value: f64,
    /// What one in the last written place is worth.
    step: f64,
    exact: Decimal,
    form: Form,
    /// Not the likeliest reading of the text.
    second_reading: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Plain,
    /// With the other sign.
    Flipped,
    /// A fraction of one for a percentage.
    Fraction,
    /// A percentage for a fraction of one.
    Percentage,
    /// Hundredths of a currency in the payload, and in the text.
    Minor,
    Major,
    Converted(&'static str),
}

/// A number in an id that is smaller is rather no amount of anything.
const LONG_NUMBER: f64 = 10_000.0;
/// How far "over 30" and "under 30" reach.
const OVER: f64 = 0.5;
const UNDER: f64 = 0.15;
/// How far off "about 30" may be.
const ABOUT: f64 = 0.05;
/// What floats may be off by.
const SLACK: f64 = 1e-9;
/// Above this floats don't tell integers apart.
const EXACT: f64 = 9e15;

/// All that may stand for a number; `measures` are the units that payloads have, with what they measure.
pub fn sought(number: &Number<'_>, measures: &[(&'static str, &'static str)]) -> Vec<Sought> {
    let mut all = Vec::with_capacity(4 * number.readings.len());
    for (index, reading) in number.readings.iter().enumerate() {
        let (value, step) = (float(reading.value), float(reading.step));
        let mut add = |value: f64, step: f64, form| {
            all.push(Sought { value, step, exact: reading.value, form, second_reading: index > 0 });
        };
        add(value, step, Form::Plain);
        if value != 0.0 {
            add(-value, step, Form::Flipped);
        }
        match number.unit {
            Some(Unit::Percent) => add(value / 100.0, step / 100.0, Form::Fraction),
            Some(Unit::Measure("cent" | "penny")) => add(value / 100.0, step / 100.0, Form::Major),
            Some(Unit::Currency { .. }) => add(value * 100.0, step * 100.0, Form::Minor),
            None if value.abs() <= 1.0 && value.fract() != 0.0 => add(value * 100.0, step * 100.0, Form::Percentage),
            _ => {}
        }
        if let Some(unit) = number.unit {
            let dimension = units::dimension(unit);
            for &(name, _) in measures.iter().filter(|(name, of)| *of == dimension && unit != Unit::Measure(name)) {
                if let Some((value, step)) = converted(reading.value, reading.step, unit, name) {
                    add(value, step, Form::Converted(name));
                }
            }
        }
    }
    all
}

/// A number and its step in another unit.
fn converted(value: Decimal, step: Decimal, from: Unit<'_>, to: &'static str) -> Option<(f64, f64)> {
    let to = Unit::Measure(to);
    let here = units::convert(value, from, to)?;
    let next = units::convert(value.checked_add(step)?, from, to)?;
    Some((float(here), float((next - here).abs())))
}

impl Sought {
    /// From where to where numbers of payloads may lie.
    pub fn interval(&self, hedge: Hedge) -> (f64, f64) {
        let size = self.value.abs();
        let (mut below, mut above) = (self.step / 2.0, self.step);
        if self.value < 0.0 {
            (below, above) = (above, below);
        }
        match hedge {
            Hedge::None => {}
            Hedge::About => {
                let off = about(self.value);
                (below, above) = (below.max(off), above.max(off));
            }
            Hedge::Over => above = above.max(size * OVER),
            Hedge::Under => below = below.max(size * UNDER),
        }
        (self.value - below - size * SLACK, self.value + above + size * SLACK)
    }

    /// Does a number of a payload say this? `value` is its reading number `reading`, with a unit or not.
    pub fn compare(
        &self,
        told: &Number<'_>,
        hedge: Hedge,
        fact: &Fact<'_>,
        leaf: &Leaf<'_>,
        value: f64,
    ) -> Option<Says> {
        let What::Number(found) = fact.what else { return None };
        if fact.in_id && told.unit.is_some() && value < LONG_NUMBER {
            return None;
        }
        let how = self.rounded(hedge, value, found)?;
        let mut weak = self.second_reading || fact.loose || matches!(how, How::Truncated | How::Hedged);
        let share = leaf.traits.has(Traits::SHARE);
        let same = |how: How, weak: bool| Some(Says::Same { how, weak, sign_differs: self.form == Form::Flipped });
        match self.form {
            Form::Plain | Form::Flipped => match relation(told.unit, found.unit) {
                Relation::Same | Relation::TextSilent => same(how, weak),
                Relation::PayloadSilent => {
                    let percent = told.unit == Some(Unit::Percent);
                    if percent && share && fact.whole && value != 0.0 && value.abs() < 1.0 && self.form == Form::Plain {
                        return Some(Says::Otherwise(Mismatch::PercentScale));
                    }
                    weak |= !(percent && share && value.abs() > 1.0);
                    same(how, weak)
                }
                Relation::Alike => same(how, true),
                Relation::Clash(mismatch) => {
                    let sure = how <= How::Rounded && !fact.loose && self.form == Form::Plain && !self.second_reading;
                    sure.then_some(Says::Otherwise(mismatch))
                }
                Relation::Apart if share => same(how, true),
                Relation::Apart => None,
            },
            Form::Fraction => {
                let fraction = value.abs() <= 1.0 && matches!(found.unit, None | Some(Unit::Percent)) && !fact.loose;
                fraction.then(|| same(worse(how, How::Percent), weak || !share || found.unit.is_some()))?
            }
            Form::Percentage => {
                (found.unit == Some(Unit::Percent) && !fact.loose).then(|| same(worse(how, How::Percent), weak))?
            }
            Form::Minor => {
                let money = leaf.traits.has(Traits::MONEY.and(Traits::CENTS)) && fact.whole && value.fract() == 0.0;
                let currency = !matches!(relation(told.unit, found.unit), Relation::Clash(_) | Relation::Apart);
                (money && currency).then(|| same(worse(how, How::Percent), weak || !leaf.traits.has(Traits::CENTS)))?
            }
            Form::Major => {
                let money = match found.unit {
                    Some(Unit::Currency { .. }) => true,
                    None => leaf.traits.has(Traits::MONEY),
                    _ => false,
                };
                (money && !fact.loose).then(|| same(worse(how, How::UnitConverted), weak || found.unit.is_none()))?
            }
            Form::Converted(name) => {
                (found.unit == Some(Unit::Measure(name))).then(|| same(worse(how, How::UnitConverted), weak))?
            }
        }
    }

    /// The rule of precision: may a text that says this mean that?
    fn rounded(&self, hedge: Hedge, value: f64, found: Number<'_>) -> Option<How> {
        let off = (self.value - value).abs();
        let slack = self.value.abs() * SLACK;
        if off <= slack {
            let large = self.value.abs() > EXACT && matches!(self.form, Form::Plain);
            if !large || found.readings.iter().any(|reading| reading.value == self.exact) {
                return Some(How::Exact);
            }
        }
        if off <= self.step / 2.0 + slack {
            return (self.value.abs() <= EXACT || self.step > 1.0).then_some(How::Rounded);
        }
        let same_sign = self.value * value > 0.0;
        if same_sign && value.abs() > self.value.abs() && off < self.step - slack {
            return Some(How::Truncated);
        }
        let hedged = match hedge {
            Hedge::None => false,
            Hedge::About => off <= about(self.value),
            Hedge::Over => value > self.value && off <= self.value.abs() * OVER && same_sign,
            Hedge::Under => value < self.value && off <= self.value.abs() * UNDER && same_sign,
        };
        hedged.then_some(How::Hedged)
    }
}

/// 5 %, or half of one in the second significant digit.
fn about(value: f64) -> f64 {
    let size = value.abs();
    if size == 0.0 {
        return 0.0;
    }
    (size * ABOUT).max(10f64.powf(size.log10().floor() - 1.0) / 2.0)
}

fn worse(how: How, at_least: How) -> How {
    how.max(at_least)
}

enum Relation {
    Same,
    /// The text has no unit, and the payload has.
    TextSilent,
    PayloadSilent,
    /// Not the same, but often taken for it: GB and GiB, degrees and °C.
    Alike,
    /// Of one dimension, and not the same.
    Clash(Mismatch),
    /// A length and a price: they have nothing to do with each other.
    Apart,
}

fn relation(told: Option<Unit<'_>>, found: Option<Unit<'_>>) -> Relation {
    match (told, found) {
        (None, None) | (Some(Unit::Percent), Some(Unit::Percent)) => Relation::Same,
        (None, Some(_)) => Relation::TextSilent,
        (Some(_), None) => Relation::PayloadSilent,
        (Some(Unit::Currency { code: a, symbol: sign_a }), Some(Unit::Currency { code: b, symbol: sign_b })) => {
            if a == b || sign_a && share_sign(a, b) || sign_b && share_sign(b, a) {
                Relation::Same
            } else {
                Relation::Clash(Mismatch::Currency)
            }
        }
        (Some(Unit::Measure(a)), Some(Unit::Measure(b))) if a == b => Relation::Same,
        (Some(a), Some(b)) => {
            let (of_a, of_b) = (units::dimension(a), units::dimension(b));
            match (a, b) {
                (Unit::Measure("degree"), _) if of_b == "temperature" => Relation::Same,
                (_, Unit::Measure("degree")) if of_a == "temperature" => Relation::Alike,
                (Unit::Measure("pound"), Unit::Currency { code: "GBP", .. })
                | (Unit::Currency { code: "GBP", .. }, Unit::Measure("pound")) => Relation::Same,
                (Unit::Measure(a), Unit::Measure(b)) if of_a == of_b => {
                    if ALIKE.iter().any(|pair| pair.contains(&a) && pair.contains(&b)) {
                        Relation::Alike
                    } else {
                        Relation::Clash(Mismatch::Unit)
                    }
                }
                _ => Relation::Apart,
            }
        }
    }
}

/// Units that people write for each other.
const ALIKE: [[&str; 2]; 12] = [
    ["kilobit", "kilobyte"],
    ["megabit", "megabyte"],
    ["gigabit", "gigabyte"],
    ["kilobit_per_second", "kilobyte_per_second"],
    ["megabit_per_second", "megabyte_per_second"],
    ["gigabit_per_second", "gigabyte_per_second"],
    ["kilobyte", "kibibyte"],
    ["megabyte", "mebibyte"],
    ["gigabyte", "gibibyte"],
    ["terabyte", "tebibyte"],
    ["ton", "tonne"],
    ["calorie", "kilocalorie"],
];

/// Is the sign that stands for the first code (as the likeliest one) that of the second as well?
fn share_sign(likeliest: &str, code: &str) -> bool {
    match likeliest {
        "USD" => {
            code.ends_with('D')
                && !matches!(
                    code,
                    "IQD" | "JOD" | "KWD" | "BHD" | "LYD" | "TND" | "DZD" | "RSD" | "SDD" | "VND" | "AED"
                )
                || matches!(code, "MXN" | "ARS" | "CLP" | "COP" | "UYU" | "BRL")
        }
        "GBP" => code.ends_with('P') && code != "PHP" && code != "MOP",
        "JPY" => code == "CNY",
        "CNY" => code == "JPY",
        "INR" => matches!(code, "PKR" | "LKR" | "NPR" | "MUR" | "SCR" | "IDR"),
        "SEK" | "NOK" | "DKK" | "ISK" => matches!(code, "SEK" | "NOK" | "DKK" | "ISK" | "CZK"),
        "MXN" => matches!(code, "ARS" | "CLP" | "COP" | "UYU" | "PHP" | "CUP" | "DOP"),
        "CHF" => matches!(code, "XOF" | "XAF" | "XPF" | "BIF" | "RWF" | "GNF" | "DJF" | "KMF"),
        "TRY" => matches!(code, "LBP" | "SYP"),
        _ => false,
    }
}
