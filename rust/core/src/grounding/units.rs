//! Units of measure: their spellings, in texts and in keys of payloads, and what they convert to.

use std::{collections::HashMap, sync::LazyLock};

use foldhash::fast::FixedState;
use rust_decimal::Decimal;

use super::scan::Unit;

/// A row of `words/units.txt`: `value * factor + offset` is the same in the base of the dimension.
#[derive(Clone, Copy, Debug)]
struct Row {
    name: &'static str,
    dimension: &'static str,
    factor: Decimal,
    offset: Decimal,
}

/// Where a spelling may stand.
#[derive(Clone, Copy, Debug)]
struct Spelling {
    row: usize,
    /// In keys and fields of units alone.
    keys_only: bool,
}

struct Table {
    rows: Vec<Row>,
    by_name: HashMap<&'static str, usize, FixedState>,
    exact: HashMap<&'static str, Spelling, FixedState>,
    /// In lower case, for spellings that are not told apart by case.
    folded: HashMap<String, Spelling, FixedState>,
    /// The bytes of the longest spelling.
    longest: usize,
    /// The bytes of the longest spelling that begins with a word, in lower case.
    beginnings: HashMap<String, usize, FixedState>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table {
        rows: Vec::new(),
        by_name: HashMap::with_hasher(FixedState::default()),
        exact: HashMap::with_hasher(FixedState::default()),
        folded: HashMap::with_hasher(FixedState::default()),
        longest: 0,
        beginnings: HashMap::with_hasher(FixedState::default()),
    };
    for line in include_str!("words/units.txt").lines().filter(|line| !line.starts_with('#')) {
        let parts: Vec<&'static str> = line.split('|').map(str::trim).collect();
        let [name, dimension, factor, offset, spellings] = parts[..] else { continue };
        let row = table.rows.len();
        table.rows.push(Row { name, dimension, factor: number(factor), offset: number(offset) });
        table.by_name.insert(name, row);
        for spelling in spellings.split(',').map(str::trim).filter(|spelling| !spelling.is_empty()) {
            let bare = spelling.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
            let entry = Spelling { row, keys_only: bare.is_some() };
            let spelling = bare.unwrap_or(spelling);
            table.exact.entry(spelling).or_insert(entry);
            if spelling.chars().count() > 2 {
                table.folded.entry(spelling.to_lowercase()).or_insert(entry);
            }
            table.longest = table.longest.max(spelling.len());
            let beginning = table.beginnings.entry(beginning(spelling)).or_default();
            *beginning = spelling.len().max(*beginning);
        }
    }
    table
});

/// The first word of a spelling, or its first sign, folded as words of texts are.
fn beginning(spelling: &str) -> String {
    let is_word = |c: char| (c.is_alphabetic() || c.is_ascii_digit()) && c != 'º' && c != '℃' && c != '℉';
    let length = spelling.find(|c| !is_word(c)).unwrap_or(spelling.len());
    let length = if length == 0 { spelling.chars().next().map_or(0, char::len_utf8) } else { length };
    // The micro sign is another character than the Greek letter, and folded to it.
    spelling.get(..length).unwrap_or("").to_lowercase().replace('µ', "μ")
}

/// "1000", "5/9", "" for 0.
fn number(written: &str) -> Decimal {
    if let Some((over, under)) = written.split_once('/') {
        return number(over).checked_div(number(under)).unwrap_or_default();
    }
    written.parse().unwrap_or_default()
}

impl Table {
    fn spelling(&self, written: &str, in_key: bool) -> Option<Unit<'static>> {
        if written.len() > self.longest {
            return None;
        }
        let found = match self.exact.get(written) {
            Some(found) => *found,
            None => {
                let mut buffer = [0; 48];
                *self.folded.get(lower_case(written, &mut buffer)?)?
            }
        };
        if found.keys_only && !in_key {
            return None;
        }
        self.rows.get(found.row).map(|row| Unit::Measure(row.name))
    }

    fn row(&self, unit: Unit<'_>) -> Option<Row> {
        match unit {
            Unit::Measure(name) => self.rows.get(*self.by_name.get(name)?).copied(),
            Unit::Percent => {
                Some(Row { name: "percent", dimension: "fraction", factor: Decimal::new(1, 2), offset: Decimal::ZERO })
            }
            Unit::Currency { .. } => None,
        }
    }
}

/// In lower case, without a copy on the heap: spellings are short.
fn lower_case<'b>(written: &str, buffer: &'b mut [u8; 48]) -> Option<&'b str> {
    let mut end = 0;
    for c in written.chars().flat_map(char::to_lowercase) {
        let place = buffer.get_mut(end..end + c.len_utf8())?;
        c.encode_utf8(place);
        end += c.len_utf8();
    }
    std::str::from_utf8(buffer.get(..end)?).ok()
}

/// How many bytes a unit can have whose first word (folded) or sign is this; 0 where none has.
pub fn longest_behind(first: &str) -> usize {
    TABLE.beginnings.get(first).copied().unwrap_or(0)
}

/// The unit that is spelled so in a text, behind a number: "km/h", "°C", "miles per hour". Not percent, and no currency.
pub fn unit_in_text(written: &str) -> Option<Unit<'static>> {
    TABLE.spelling(written, false)
}

/// The unit that a field names (`"unit": "celsius"`, `"units": "km/h"`, `"%"`), without a currency.
pub fn unit_in_field(written: &str) -> Option<Unit<'static>> {
    let written = written.trim();
    match written {
        "%" | "pct" | "percent" | "percentage" => Some(Unit::Percent),
        _ => TABLE
            .spelling(written, true)
            .or_else(|| if written.len() > 1 { in_key(&written.to_lowercase()) } else { None }),
    }
}

/// A text that is nothing but a unit, a currency or percent, as fields of units, headers and keys have it, with or without brackets: "°C",
/// "km/h", "(kg)", "USD", "$", "cents", "%".
pub fn parse(written: &str) -> Option<Unit<'static>> {
    let written = written.trim().trim_start_matches(['(', '[']).trim_end_matches([')', ']']).trim();
    unit_in_field(written)
        .or_else(|| super::scan::currency_sign(written))
        .or_else(|| super::scan::currency_word(&written.to_lowercase()))
        .or_else(|| currency_of_key_word(&written.to_lowercase()))
}

/// How many digits the minor unit of a currency has: cents 2, yen none.
pub fn minor_digits(code: &str) -> u32 {
    match code {
        "JPY" | "KRW" | "VND" | "CLP" | "ISK" | "PYG" | "XAF" | "XOF" => 0,
        "KWD" | "BHD" | "JOD" | "OMR" | "TND" => 3,
        _ => 2,
    }
}

/// Of one word of a key, in lower case: `celsius`, `km`, `pct`, `bytes`, `usd`. Words of one letter, and those that are as often something
/// else, are left to [`unit_of_key`], which knows what stands before them.
pub fn unit_of_key_word(word: &str) -> Option<Unit<'static>> {
    match word {
        "percent" | "percentage" | "pct" | "perc" => return Some(Unit::Percent),
        _ if word.chars().count() < 2 => return None,
        // Words of keys that are rather no units: `in`, `day_of_week`, `second_name`, `bar_id`.
        "in" | "ha" | "st" | "ac" | "mo" | "bar" | "second" | "score" | "quarter" | "point" | "degree" | "mp"
        | "as" | "cup" | "stone" | "bit" | "foot" | "pound" | "us" | "gr" | "um" => return None,
        _ => {}
    }
    in_key(word).or_else(|| currency_of_key_word(word))
}

/// The unit of a key by its last words, in lower case: `temp_c`, `wind_km_h`, `distance_meters`, `cpu_pct`, `price_usd`, `speed_m_per_s`.
pub fn unit_of_key(words: &[&str]) -> Option<Unit<'static>> {
    let (&last, before) = words.split_last()?;
    if let [.., one, "per"] | [.., one, "p"] = before {
        return in_key(&format!("{one}/{last}")).or_else(|| in_key(&format!("{one} per {last}")));
    }
    if let Some(&one) = before.last() {
        let squared = match one {
            "sq" | "square" => in_key(&format!("sq {last}")).or_else(|| in_key(&format!("square {last}"))),
            _ => None,
        };
        let ratio = if matches!(last, "h" | "s" | "hr" | "sec" | "hour" | "m3") {
            in_key(&format!("{one}/{last}"))
        } else {
            None
        };
        if let Some(unit) = squared.or(ratio) {
            return Some(unit);
        }
        // "temp_c", "distance_m", "took_s": the letter alone would be anything.
        if matches!(last, "c" | "f" | "k" | "m" | "s" | "h" | "g" | "l" | "w" | "v" | "ha" | "mp" | "us") {
            return in_key(last);
        }
        // "checked_in" is no length.
        if last == "in"
            && matches!(
                one,
                "height"
                    | "width"
                    | "length"
                    | "depth"
                    | "size"
                    | "rain"
                    | "snow"
                    | "precip"
                    | "precipitation"
                    | "diagonal"
            )
        {
            return in_key(last);
        }
    }
    unit_of_key_word(last)
}

fn in_key(word: &str) -> Option<Unit<'static>> {
    // Keys have lost their case: `file_size_mb` is not in megabits, `power_kw` in kilowatts.
    let spelling = match word {
        "w" => "W",
        "v" => "V",
        "mw" => "MW",
        "k" => "K",
        "pa" => "Pa",
        "kw" => "kW",
        "gw" => "GW",
        "wh" => "Wh",
        "ah" => "Ah",
        "kv" => "kV",
        "mv" => "mV",
        "ma" => "mA",
        "kj" => "kJ",
        "hz" => "Hz",
        "db" => "dB",
        "pb" => "PB",
        "mpa" => "MPa",
        "tempc" | "degc" | "cel" => "°C",
        "tempf" | "degf" => "°F",
        "ms" | "millis" | "msec" | "msecs" => "ms",
        "kmh" | "kph" => "km/h",
        "b" => "B",
        _ => word,
    };
    TABLE.spelling(spelling, true)
}

fn currency_of_key_word(word: &str) -> Option<Unit<'static>> {
    if word.len() != 3 {
        return if word.len() > 3 { super::scan::currency_word(word) } else { None };
    }
    // Words of English that are codes as well.
    if matches!(
        word,
        "all"
            | "top"
            | "try"
            | "ron"
            | "cop"
            | "mad"
            | "bob"
            | "eth"
            | "btc"
            | "won"
            | "yen"
            | "sar"
            | "pen"
            | "lei"
            | "mop"
    ) {
        return None;
    }
    super::scan::currency_sign(&word.to_uppercase())
}

/// What is measured ("length", "temperature", "money", "fraction" …), so that units of one dimension convert to each other.
pub fn dimension(unit: Unit<'_>) -> &'static str {
    match TABLE.row(unit) {
        Some(row) => row.dimension,
        None => "money",
    }
}

/// The same in another unit of the same dimension; None where there is no fixed rate. Currencies convert to themselves alone, and
/// to and from their hundredths ("cent").
pub fn convert(value: Decimal, from: Unit<'_>, to: Unit<'_>) -> Option<Decimal> {
    if let (Unit::Currency { code: a, .. }, Unit::Currency { code: b, .. }) = (from, to) {
        return if a == b { Some(value) } else { None };
    }
    if from == to {
        return Some(value);
    }
    // What milligrams of a substance are in moles depends on it.
    if dimension(from) != dimension(to) || dimension(from) == "concentration_of_substance" {
        return None;
    }
    let unit = |unit| TABLE.row(unit).map_or((Decimal::ONE, Decimal::ZERO), |row| (row.factor, row.offset));
    let ((a, a_offset), (b, b_offset)) = (unit(from), unit(to));
    if a == b && a_offset == b_offset {
        return Some(value);
    }
    let base = value.checked_mul(a)?.checked_add(a_offset)?;
    base.checked_sub(b_offset)?.checked_div(b).map(clean)
}

/// A difference between two values ("5 °C warmer") in another unit, for which the zero of the scale does not matter.
pub fn convert_difference(value: Decimal, from: Unit<'_>, to: Unit<'_>) -> Option<Decimal> {
    if dimension(from) != "temperature" {
        return convert(value, from, to);
    }
    if dimension(to) != "temperature" {
        return None;
    }
    value.checked_mul(TABLE.row(from)?.factor)?.checked_div(TABLE.row(to)?.factor).map(clean)
}

/// Without the digits far behind the point that factors like 5/9 leave: 32 °F are 0 °C.
fn clean(value: Decimal) -> Decimal {
    value.round_dp(18).normalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(value: &str, from: &str, to: &str) -> String {
        let unit = |name| unit_in_field(name).unwrap();
        convert(value.parse().unwrap(), unit(from), unit(to)).unwrap().to_string()
    }

    #[test]
    fn units_convert_exactly() {
        for (value, from, to, expected) in [
            ("5", "km", "m", "5000"),
            ("1", "mile", "km", "1.609344"),
            ("0", "°C", "°F", "32"),
            ("212", "°F", "°C", "100"),
            ("-40", "°F", "°C", "-40"),
            ("0", "K", "celsius", "-273.15"),
            ("36", "km/h", "m/s", "10"),
            ("90", "min", "hours", "1.5"),
            ("1", "GB", "MB", "1000"),
            ("1", "GiB", "MiB", "1024"),
            ("1", "MB", "Mb", "8"),
            ("2", "lbs", "kg", "0.90718474"),
            ("1", "acre", "m²", "4046.8564224"),
            ("1", "gallon", "l", "3.785411784"),
            ("1013", "hPa", "mbar", "1013"),
            ("2", "years", "months", "24"),
            ("5", "%", "permille", "50"),
        ] {
            assert_eq!(converted(value, from, to), expected, "{value} {from} in {to}");
        }
    }

    #[test]
    fn what_is_not_of_one_dimension_does_not_convert() {
        let (km, kg) = (unit_in_text("km").unwrap(), unit_in_text("kg").unwrap());
        let (month, day) = (unit_in_text("months").unwrap(), unit_in_text("days").unwrap());
        let (mg, mmol) = (unit_in_text("mg/dL").unwrap(), unit_in_text("mmol/L").unwrap());
        assert_eq!(dimension(mg), dimension(mmol));
        assert_eq!((convert(Decimal::ONE, mg, mmol), convert(Decimal::ONE, mg, mg)), (None, Some(Decimal::ONE)));
        let (usd, eur) = (Unit::Currency { code: "USD", symbol: true }, Unit::Currency { code: "EUR", symbol: false });
        for (from, to) in [(km, kg), (month, day), (usd, eur), (Unit::Percent, kg)] {
            assert_eq!(convert(Decimal::ONE, from, to), None);
        }
        assert_eq!(convert(Decimal::from(250), unit_in_text("cents").unwrap(), usd), Some(Decimal::new(25, 1)));
        assert_eq!(convert(Decimal::new(25, 1), eur, unit_in_text("cents").unwrap()), Some(Decimal::from(250)));
        let (c, f) = (unit_in_text("°C").unwrap(), unit_in_text("°F").unwrap());
        assert_eq!(convert_difference(Decimal::from(5), c, f), Some(Decimal::from(9)));
    }

    #[test]
    fn spellings_tell_case_apart_where_it_matters() {
        for (written, name) in [
            ("MB", "megabyte"),
            ("Mb", "megabit"),
            ("mW", "milliwatt"),
            ("MW", "megawatt"),
            ("KM", "kilometre"),
            ("Miles", "mile"),
            ("miles per hour", "mile_per_hour"),
            ("mAh", "milliampere_hour"),
            ("m", "metre"),
        ] {
            assert_eq!(unit_in_text(written), Some(Unit::Measure(name)), "{written}");
        }
        for written in ["M", "c", "f", "fern", ""] {
            assert_eq!(unit_in_text(written), None, "{written}");
        }
    }

    #[test]
    fn keys_name_units_at_their_end() {
        let measure = |name| Some(Unit::Measure(name));
        let dollars = Some(Unit::Currency { code: "USD", symbol: false });
        for (key, unit) in [
            ("temp_c", measure("celsius")),
            ("temp_f", measure("fahrenheit")),
            ("temperature_celsius", measure("celsius")),
            ("distance_km", measure("kilometre")),
            ("distance_meters", measure("metre")),
            ("height_m", measure("metre")),
            ("took_s", measure("second")),
            ("timeout_secs", measure("second")),
            ("latency_ms", measure("millisecond")),
            ("eta_min", measure("minute")),
            ("duration_h", measure("hour")),
            ("weight_kg", measure("kilogram")),
            ("cpu_pct", Some(Unit::Percent)),
            ("humidity_percent", Some(Unit::Percent)),
            ("price_usd", dollars),
            ("price_cents", measure("cent")),
            ("size_bytes", measure("byte")),
            ("size_mb", measure("megabyte")),
            ("size_kb", measure("kilobyte")),
            ("wind_kph", measure("kilometre_per_hour")),
            ("wind_km_h", measure("kilometre_per_hour")),
            ("wind_mph", measure("mile_per_hour")),
            ("speed_m_per_s", measure("metre_per_second")),
            ("speed_meters_per_second", measure("metre_per_second")),
            ("area_sq_ft", measure("square_foot")),
            ("power_kw", measure("kilowatt")),
            ("battery_mah", measure("milliampere_hour")),
            ("m", None),
            ("c", None),
            ("checked_in", None),
            ("height_in", measure("inch")),
            ("name", None),
            ("total", None),
        ] {
            let words: Vec<&str> = key.split('_').collect();
            assert_eq!(unit_of_key(&words), unit, "{key}");
        }
    }

    #[test]
    fn fields_of_units() {
        for (written, name) in [
            ("°C", "celsius"),
            ("kmh", "kilometre_per_hour"),
            (" (km) ", "kilometre"),
            ("cents", "cent"),
            ("in", "inch"),
            ("cm²", "square_centimetre"),
        ] {
            assert_eq!(parse(written), Some(Unit::Measure(name)), "{written}");
        }
        for written in ["usd", "USD", "us dollars"] {
            assert_eq!(parse(written), Some(Unit::Currency { code: "USD", symbol: false }), "{written}");
        }
        assert_eq!(parse("%"), Some(Unit::Percent));
        assert_eq!(parse("metric"), None);
    }

    #[test]
    fn every_row_of_the_table_is_read() {
        for row in &TABLE.rows {
            assert!(!row.factor.is_zero(), "{}", row.name);
        }
    }
}
