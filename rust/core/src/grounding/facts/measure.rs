//! Units and currencies by their names, whichever they are.

use super::super::{scan::Unit, units};

/// The unit, percent or currency that a text names which is nothing else.
pub fn unit(text: &str) -> Option<Unit<'static>> {
    units::parse(text)
}

/// The unit that a key ends in.
pub fn of_key(words: &[&str]) -> Option<Unit<'static>> {
    units::unit_of_key(words)
}

pub fn is_temperature(name: &'static str) -> bool {
    units::dimension(Unit::Measure(name)) == "temperature"
}
