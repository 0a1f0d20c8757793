//! Cells of Arrow columns as values.

use arrow_array::{Array, cast::AsArray, downcast_dictionary_array, downcast_run_array, types};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{DataType, Field, TimeUnit};
use bumpalo::{Bump, collections::Vec as ArenaVec};
use callmatch_core::{
    error::Error,
    json, show,
    text::Text,
    trace::time,
    value::{MAX_DEPTH, Member, Value},
};

/// What cells are read as.
#[derive(Clone, Copy)]
enum As<'n> {
    /// Tool calls: JSON text, or what JSON would hold.
    Calls,
    /// What rows are grouped by: the same, but bytes that are no text are hex.
    Group,
    /// What `callmatch.read` makes of a column with this name, or of what is inside of one.
    Record(Column<'n>),
}

#[derive(Clone, Copy)]
struct Column<'n> {
    name: &'n str,
    is_uuid: bool,
    /// And not inside of another.
    is_outer: bool,
}

impl<'n> As<'n> {
    fn record(field: &'n Field, is_outer: bool) -> As<'n> {
        As::Record(Column { name: field.name(), is_uuid: field.extension_type_name() == Some("arrow.uuid"), is_outer })
    }

    /// What is inside of it.
    fn inner(self) -> As<'n> {
        match self {
            As::Calls | As::Group => self,
            As::Record(column) => As::Record(Column { is_outer: false, ..column }),
        }
    }

    fn field(self, field: &'n Field) -> As<'n> {
        match self {
            As::Calls | As::Group => self,
            As::Record(_) => As::record(field, false),
        }
    }
}

/// Whether tool calls can be in columns of this type; else what they hold.
pub fn readable(of: &DataType) -> Result<(), &DataType> {
    match of {
        DataType::Null
        | DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_)
        | DataType::List(_)
        | DataType::LargeList(_)
        | DataType::ListView(_)
        | DataType::LargeListView(_)
        | DataType::FixedSizeList(..)
        | DataType::Struct(_) => Ok(()),
        DataType::Dictionary(_, values) => readable(values),
        other => Err(other),
    }
}

/// The value in a row of a column of tool calls.
pub fn at<'a>(column: &'a dyn Array, row: usize, bump: &'a Bump) -> Result<Value<'a>, Error> {
    value(column, row, As::Calls, bump, MAX_DEPTH)
}

/// The value in a row of a column that rows are grouped by.
pub fn of_group<'a>(column: &'a dyn Array, row: usize, bump: &'a Bump) -> Result<Value<'a>, Error> {
    value(column, row, As::Group, bump, MAX_DEPTH)
}

/// The value in a row of a column of what traces are made of: ids as hex, times as texts or as nanoseconds since 1970, NaN
/// as nothing.
pub fn of_record<'a>(column: &'a dyn Array, field: &'a Field, row: usize, bump: &'a Bump) -> Result<Value<'a>, Error> {
    value(column, row, As::record(field, true), bump, MAX_DEPTH)
}

/// Does a column of such records have anything in a row? Without reading it.
pub fn is_set(column: &dyn Array, row: usize) -> bool {
    if column.is_null(row) {
        return false;
    }
    match column.data_type() {
        DataType::Null => false,
        DataType::Float32 => !column.as_primitive::<types::Float32Type>().value(row).is_nan(),
        DataType::Float64 => !column.as_primitive::<types::Float64Type>().value(row).is_nan(),
        DataType::Dictionary(..) => downcast_dictionary_array!(
            column => column.key(row).is_some_and(|key| is_set(column.values(), key)),
            _ => true
        ),
        DataType::RunEndEncoded(..) => downcast_run_array!(
            column => is_set(column.values(), column.get_physical_index(row)),
            _ => true
        ),
        _ => true,
    }
}

/// Is it one of Spark's or Parquet's VARIANTs, or does it hold one? These are bytes of which nothing is known here.
pub fn has_variant(kind: &DataType) -> bool {
    match kind {
        DataType::Struct(fields) => {
            let is = |name: &str| fields.iter().any(|field| field.name() == name);
            let is_binary = |field: &Field| {
                matches!(field.data_type(), DataType::Binary | DataType::LargeBinary | DataType::BinaryView)
            };
            let is_variant = is("metadata")
                && is("value")
                && fields.len() == 2 + usize::from(is("typed_value"))
                && fields.iter().any(|field| field.name() == "metadata" && is_binary(field));
            is_variant || fields.iter().any(|field| has_variant(field.data_type()))
        }
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => has_variant(field.data_type()),
        DataType::Dictionary(_, values) => has_variant(values),
        _ => false,
    }
}

fn value<'a>(array: &'a dyn Array, row: usize, of: As<'a>, bump: &'a Bump, depth: usize) -> Result<Value<'a>, Error> {
    if array.is_null(row) {
        return Ok(Value::Null);
    }
    let Some(deeper) = depth.checked_sub(1) else { return Err(Error::too_deep()) };
    macro_rules! int {
        ($kind:ty) => {
            Value::Int(i64::from(array.as_primitive::<$kind>().value(row)))
        };
    }
    Ok(match array.data_type() {
        DataType::Null => Value::Null,
        DataType::Utf8 => Value::Text(Text::from(array.as_string::<i32>().value(row))),
        DataType::LargeUtf8 => Value::Text(Text::from(array.as_string::<i64>().value(row))),
        DataType::Utf8View => Value::Text(Text::from(array.as_string_view().value(row))),
        DataType::Binary => bytes(array.as_binary::<i32>().value(row), of, bump)?,
        DataType::LargeBinary => bytes(array.as_binary::<i64>().value(row), of, bump)?,
        DataType::BinaryView => bytes(array.as_binary_view().value(row), of, bump)?,
        DataType::FixedSizeBinary(_) => match of {
            As::Calls | As::Group => bytes(array.as_fixed_size_binary().value(row), of, bump)?,
            As::Record(column) => Value::Text(hex(array.as_fixed_size_binary().value(row), column.is_uuid, bump)),
        },
        DataType::Boolean => match array.as_boolean().value(row) {
            true => Value::True,
            false => Value::False,
        },
        DataType::Int8 => int!(types::Int8Type),
        DataType::Int16 => int!(types::Int16Type),
        DataType::Int32 => int!(types::Int32Type),
        DataType::Int64 => int!(types::Int64Type),
        DataType::UInt8 => int!(types::UInt8Type),
        DataType::UInt16 => int!(types::UInt16Type),
        DataType::UInt32 => int!(types::UInt32Type),
        DataType::Float32 => float(f64::from(array.as_primitive::<types::Float32Type>().value(row)), of),
        DataType::Float64 => float(array.as_primitive::<types::Float64Type>().value(row), of),
        DataType::List(_) => list(
            array.as_list::<i32>().value_offsets(),
            array.as_list::<i32>().values(),
            row,
            of.inner(),
            bump,
            deeper,
        )?,
        DataType::LargeList(_) => list(
            array.as_list::<i64>().value_offsets(),
            array.as_list::<i64>().values(),
            row,
            of.inner(),
            bump,
            deeper,
        )?,
        DataType::ListView(_) => {
            let lists = array.as_list_view::<i32>();
            items(
                lists.values(),
                lists.value_offset(row) as usize,
                lists.value_size(row) as usize,
                of.inner(),
                bump,
                deeper,
            )?
        }
        DataType::LargeListView(_) => {
            let lists = array.as_list_view::<i64>();
            items(
                lists.values(),
                lists.value_offset(row) as usize,
                lists.value_size(row) as usize,
                of.inner(),
                bump,
                deeper,
            )?
        }
        DataType::FixedSizeList(..) => {
            let lists = array.as_fixed_size_list();
            items(
                lists.values(),
                lists.value_offset(row) as usize,
                lists.value_length() as usize,
                of.inner(),
                bump,
                deeper,
            )?
        }
        DataType::Struct(fields) => {
            let columns = array.as_struct();
            let mut members = ArenaVec::with_capacity_in(fields.len(), bump);
            for (field, column) in fields.iter().zip(columns.columns()) {
                // Every row has every field of a struct: null is what Arrow writes for a key that is not there.
                if !column.is_null(row) {
                    let key = Text::from(field.name().as_str());
                    let value = value(column, row, of.field(field), bump, deeper).map_err(|error| error.at_key(key))?;
                    if !matches!((of, value), (As::Record(_), Value::Null)) {
                        members.push(Member { key, value });
                    }
                }
            }
            Value::Object(members.into_bump_slice())
        }
        DataType::Map(..) => map(array, row, of.inner(), bump, deeper)?,
        DataType::Timestamp(unit, _) if matches!(of, As::Record(_)) => moment(array, *unit, of, row, bump)?,
        DataType::Duration(unit) if matches!(of, As::Record(_)) => {
            let nanos = duration(array, *unit, row).checked_mul(nanos_in(*unit));
            nanos.map_or_else(|| shown(array, array.data_type(), row, bump), |nanos| Ok(Value::Int(nanos)))?
        }
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            match value(dictionary.keys(), row, As::Calls, bump, deeper)? {
                Value::Int(key) => value(dictionary.values(), usize::try_from(key).unwrap_or(0), of, bump, deeper)?,
                _ => Value::Null,
            }
        }
        DataType::RunEndEncoded(..) => downcast_run_array!(
            array => value(array.values(), array.get_physical_index(row), of, bump, deeper)?,
            _ => Value::Null
        ),
        other => match (shown(array, other, row, bump)?, of) {
            (Value::Float(one), As::Record(_)) => whole(one, of),
            (other, _) => other,
        },
    })
}

/// How many bytes the ids of spans and traces have.
const ID_SIZES: &[usize] = &[8, 16];

/// JSON text of calls in a binary column has to be text. Of a record what is an id, by its name and size, or no text, is
/// hex.
fn bytes<'a>(bytes: &'a [u8], of: As<'_>, bump: &'a Bump) -> Result<Value<'a>, Error> {
    match of {
        As::Calls => json::check_utf8(bytes).map_err(Error::not_json)?,
        As::Group if std::str::from_utf8(bytes).is_ok() => {}
        As::Group => return Ok(Value::Text(hex(bytes, false, bump))),
        As::Record(column) => {
            let name = column.name.as_bytes();
            let ends_with_id = name.len() >= 2 && name[name.len() - 2..].eq_ignore_ascii_case(b"id");
            if ends_with_id && ID_SIZES.contains(&bytes.len()) || std::str::from_utf8(bytes).is_err() {
                return Ok(Value::Text(hex(bytes, false, bump)));
            }
        }
    }
    Ok(Value::Text(Text::Utf8(bytes)))
}

fn hex<'a>(bytes: &[u8], is_uuid: bool, bump: &'a Bump) -> Text<'a> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut digits = ArenaVec::with_capacity_in(2 * bytes.len() + 4, bump);
    for (place, byte) in bytes.iter().enumerate() {
        if is_uuid && [4, 6, 8, 10].contains(&place) {
            digits.push(b'-');
        }
        digits.extend([byte >> 4, byte & 15].map(|digit| DIGITS[usize::from(digit)]));
    }
    Text::Utf8(digits.into_bump_slice())
}

/// Tables of records write NaN where there is nothing.
fn float(float: f64, of: As<'_>) -> Value<'static> {
    if matches!(of, As::Record(_)) && float.is_nan() { Value::Null } else { Value::Float(float) }
}

/// A decimal that is a whole number is an integer in a record, as ids have to be.
fn whole(decimal: f64, of: As<'_>) -> Value<'static> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if decimal.fract() == 0.0 && decimal.abs() < EXACT { Value::Int(decimal as i64) } else { float(decimal, of) }
}

fn nanos_in(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    }
}

/// The seconds since 1970 of the years 1 to 9999.
const OF_CALENDARS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

/// `start_time`, `endTime`, `Timestamp`, `start_time_unix_nano`; not `attributes.tool.parameters.start_time`, which a tool
/// was given.
fn is_of_times(name: &str) -> bool {
    !name.contains('.') && name.as_bytes().windows(4).any(|part| part.eq_ignore_ascii_case(b"time"))
}

/// A time as a text, and one that no calendar has as it is; in a column that is one of times as a number where that is a
/// time without doubt, which is quicker.
fn moment<'a>(
    array: &'a dyn Array,
    unit: TimeUnit,
    of: As<'_>,
    row: usize,
    bump: &'a Bump,
) -> Result<Value<'a>, Error> {
    let count = match unit {
        TimeUnit::Second => array.as_primitive::<types::TimestampSecondType>().value(row),
        TimeUnit::Millisecond => array.as_primitive::<types::TimestampMillisecondType>().value(row),
        TimeUnit::Microsecond => array.as_primitive::<types::TimestampMicrosecondType>().value(row),
        TimeUnit::Nanosecond => array.as_primitive::<types::TimestampNanosecondType>().value(row),
    };
    let is_time = matches!(of, As::Record(column) if column.is_outer && is_of_times(column.name));
    Ok(match count.checked_mul(nanos_in(unit)) {
        Some(nanos) if nanos >= time::NANOS_FROM && is_time => Value::Int(nanos),
        Some(nanos) => Value::Text(time::text(nanos, bump)),
        None if OF_CALENDARS.contains(&(count / (nanos_in(TimeUnit::Second) / nanos_in(unit)))) => {
            shown(array, array.data_type(), row, bump)?
        }
        None => Value::Int(count),
    })
}

fn duration(array: &dyn Array, unit: TimeUnit, row: usize) -> i64 {
    match unit {
        TimeUnit::Second => array.as_primitive::<types::DurationSecondType>().value(row),
        TimeUnit::Millisecond => array.as_primitive::<types::DurationMillisecondType>().value(row),
        TimeUnit::Microsecond => array.as_primitive::<types::DurationMicrosecondType>().value(row),
        TimeUnit::Nanosecond => array.as_primitive::<types::DurationNanosecondType>().value(row),
    }
}

fn list<'a, O: Copy + TryInto<usize>>(
    offsets: &[O],
    values: &'a dyn Array,
    row: usize,
    of: As<'a>,
    bump: &'a Bump,
    depth: usize,
) -> Result<Value<'a>, Error> {
    let offset = |at: usize| offsets.get(at).and_then(|offset| (*offset).try_into().ok()).unwrap_or(0);
    let (start, end) = (offset(row), offset(row + 1));
    items(values, start, end.saturating_sub(start), of, bump, depth)
}

fn items<'a>(
    values: &'a dyn Array,
    start: usize,
    count: usize,
    of: As<'a>,
    bump: &'a Bump,
    depth: usize,
) -> Result<Value<'a>, Error> {
    let mut items = ArenaVec::with_capacity_in(count, bump);
    for index in 0..count {
        items.push(value(values, start + index, of, bump, depth).map_err(|error| error.at_index(index))?);
    }
    Ok(Value::Array(items.into_bump_slice()))
}

/// A null in a map is one: its key is there. The last of several with one key counts, as in JSON text.
fn map<'a>(array: &'a dyn Array, row: usize, of: As<'a>, bump: &'a Bump, depth: usize) -> Result<Value<'a>, Error> {
    let maps = array.as_map();
    let offsets = maps.value_offsets();
    let offset = |at: usize| offsets.get(at).and_then(|offset| usize::try_from(*offset).ok()).unwrap_or(0);
    let mut members: ArenaVec<'a, Member<'a>> = ArenaVec::new_in(bump);
    let mut places = std::collections::HashMap::new();
    for entry in offset(row)..offset(row + 1) {
        let key = match (value(maps.keys(), entry, of, bump, depth)?, of) {
            (Value::Text(key), _) => key,
            (other, As::Record(_)) => Text::from(&*bump.alloc_str(&show::json_text(other))),
            _ => return Err(Error::wrong_type("a map of tool calls or arguments needs keys that are texts")),
        };
        let value = value(maps.values(), entry, of, bump, depth).map_err(|error| error.at_key(key))?;
        match places.insert(key.to_utf8(), members.len()) {
            Some(place) => {
                places.insert(key.to_utf8(), place);
                members[place].value = value;
            }
            None => members.push(Member { key, value }),
        }
    }
    Ok(Value::Object(members.into_bump_slice()))
}

/// What JSON has no type of its own for: decimals are numbers, times are texts.
fn shown<'a>(array: &'a dyn Array, of: &DataType, row: usize, bump: &'a Bump) -> Result<Value<'a>, Error> {
    let options = FormatOptions::default().with_display_error(false);
    let written = ArrayFormatter::try_new(array, &options).and_then(|all| all.value(row).try_to_string());
    let written: &'a str = match written {
        Ok(written) => bump.alloc_str(&written),
        Err(error) => return Err(Error::wrong_type(error.to_string())),
    };
    match of {
        DataType::UInt64
        | DataType::Float16
        | DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => json::parse(written.as_bytes(), 1, bump).map_err(Error::not_json),
        _ => Ok(Value::Text(Text::from(written))),
    }
}
