//! Might a number that no result has be worked out of those that there are?
//!
//! [`support`](crate::grounding::support) says what a number is derived from where that is plain. Here it is only asked whether
//! there is any way to it: people convert units, take shares, and reckon with what they asked for. Such a number is not
//! wrong for being in no result; nor is it right for that there is a way, since among some dozens of numbers there often is one.

use rust_decimal::prelude::ToPrimitive;

use super::lexicon::{Kind, lexicon};
use crate::grounding::{
    facts::Facts,
    scan::{Hedge, Mention, Scan, Unit, What},
    units,
};

/// With more numbers than these, there is a way to nearly everything, and a value that is nowhere still says something.
const MOST_OPERANDS: usize = 24;
/// The same for values of three digits, where nothing says that they were worked out.
const FEW_OPERANDS: usize = 8;
/// And for ways with three numbers.
const MOST_OF_THREE: usize = 12;

/// A number that can be reckoned with.
pub struct Operand {
    value: f64,
    /// Its unit is not known, so it may be any.
    is_plain: bool,
}

/// The numbers of payloads, of the query and of the context, each once; None if there are too many.
pub fn operands(facts: &Facts<'_>) -> Option<Vec<Operand>> {
    let mut operands: Vec<Operand> = Vec::new();
    for fact in facts.facts {
        let What::Number(number) = fact.what else { continue };
        let Some(value) = number.readings.first().and_then(|reading| reading.value.to_f64()) else { continue };
        let is_plain = number.unit.is_none() && facts.leaf(fact.leaf).is_none_or(|leaf| leaf.unit.is_none());
        match operands.iter_mut().find(|known| known.value == value) {
            Some(known) => known.is_plain |= is_plain,
            None => operands.push(Operand { value, is_plain }),
        }
        if operands.len() > MOST_OPERANDS {
            return None;
        }
    }
    Some(operands)
}

/// What one unit may be of another one of its dimension.
fn factors(unit: Unit<'_>) -> &'static [f64] {
    match units::dimension(unit) {
        "time" => &[60.0, 3600.0, 1000.0, 86_400.0],
        "data" => &[1000.0, 1024.0, 1e6, 1_048_576.0, 1e9, 1_073_741_824.0],
        "length" => &[100.0, 1000.0, 3.280_84, 2.54, 1.609_344],
        "mass" => &[1000.0, 0.453_592],
        "speed" => &[3.6, 1.609_344, 3600.0],
        _ => &[],
    }
}

/// Whether the number might follow from these.
pub fn might_give(mention: &Mention<'_>, scan: &Scan<'_>, operands: &[Operand]) -> bool {
    let What::Number(number) = mention.what else { return false };
    let Some(told) = number.readings.first() else { return false };
    let (Some(value), Some(step)) = (told.value.to_f64(), told.step.to_f64()) else { return false };
    if value == 0.0 {
        return false;
    }
    let slack = match mention.hedge {
        Hedge::About => (value.abs() * 0.05).max(step / 2.0),
        _ => step / 2.0 * 1.000_1,
    };
    let is = |result: f64| (result.abs() - value.abs()).abs() <= slack;
    let factors = number.unit.map_or(&[][..], factors);
    let is_temperature = number.unit.is_some_and(|unit| units::dimension(unit) == "temperature");
    let converted = |result: f64| {
        factors.iter().any(|factor| is(result * factor) || is(result / factor))
            || is_temperature && (is(result * 1.8 + 32.0) || is((result - 32.0) / 1.8))
    };
    // What has a unit was converted where its support was looked for.
    if operands.iter().any(|operand| operand.is_plain && converted(operand.value)) {
        return true;
    }
    let digits = told.value.normalize().mantissa().unsigned_abs().to_string().trim_end_matches('0').len();
    let few = operands.len() <= FEW_OPERANDS;
    let is_telling = digits > 3 || digits == 3 && few || reckons(mention, scan);
    let share = |a: f64, b: f64| {
        b != 0.0 && (is(100.0 * a / b) || is(100.0 * (a - b) / b)) || a + b != 0.0 && is(100.0 * a / (a + b))
    };
    let fits = |result: f64| is(result) || converted(result);
    let of_two = |a: f64, b: f64| {
        fits(a + b)
            || fits(a - b)
            || fits(a * b)
            || is(a * b / 100.0)
            || is(a * (1.0 - b / 100.0))
            || is(a * (1.0 + b / 100.0))
            || b != 0.0 && fits(a / b)
            || share(a, b)
    };
    let of_three = |a: f64, b: f64, c: f64| is(a + b + c) || is(a * b + c) || is(a * b - c) || is((a + b) * c);
    let any = |of: &dyn Fn(f64) -> bool| operands.iter().any(|operand| of(operand.value));
    is_telling && any(&|a| any(&|b| of_two(a, b)))
        || few && number.unit == Some(Unit::Percent) && any(&|a| any(&|b| share(a, b)))
        || digits > 3 && operands.len() <= MOST_OF_THREE && any(&|a| any(&|b| any(&|c| of_three(a, b, c))))
}

/// Does the sentence say that something was worked out?
fn reckons(mention: &Mention<'_>, scan: &Scan<'_>) -> bool {
    let Some(sentence) = scan.sentences.get(mention.sentence as usize) else { return false };
    let tokens = scan.tokens.get(sentence.tokens.first as usize..sentence.tokens.end as usize).unwrap_or_default();
    tokens.iter().any(|token| lexicon().is(token.lower, Kind::Reckoned))
}
