//! Cells of Arrow columns as values.

use arrow_array::{Array, cast::AsArray, types};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::DataType;
use bumpalo::{Bump, collections::Vec as ArenaVec};
use callmatch_core::{
    error::Error,
    json,
    text::Text,
    value::{MAX_DEPTH, Member, Value},
};

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

/// The value in a row of a column.
pub fn at<'a>(column: &'a dyn Array, row: usize, bump: &'a Bump) -> Result<Value<'a>, Error> {
    value(column, row, bump, MAX_DEPTH)
}

fn value<'a>(array: &'a dyn Array, row: usize, bump: &'a Bump, depth: usize) -> Result<Value<'a>, Error> {
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
        DataType::Binary => bytes(array.as_binary::<i32>().value(row))?,
        DataType::LargeBinary => bytes(array.as_binary::<i64>().value(row))?,
        DataType::BinaryView => bytes(array.as_binary_view().value(row))?,
        DataType::FixedSizeBinary(_) => bytes(array.as_fixed_size_binary().value(row))?,
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
        DataType::Float32 => Value::Float(f64::from(array.as_primitive::<types::Float32Type>().value(row))),
        DataType::Float64 => Value::Float(array.as_primitive::<types::Float64Type>().value(row)),
        DataType::List(_) => {
            list(array.as_list::<i32>().value_offsets(), array.as_list::<i32>().values(), row, bump, deeper)?
        }
        DataType::LargeList(_) => {
            list(array.as_list::<i64>().value_offsets(), array.as_list::<i64>().values(), row, bump, deeper)?
        }
        DataType::ListView(_) => {
            let lists = array.as_list_view::<i32>();
            items(lists.values(), lists.value_offset(row) as usize, lists.value_size(row) as usize, bump, deeper)?
        }
        DataType::LargeListView(_) => {
            let lists = array.as_list_view::<i64>();
            items(lists.values(), lists.value_offset(row) as usize, lists.value_size(row) as usize, bump, deeper)?
        }
        DataType::FixedSizeList(..) => {
            let lists = array.as_fixed_size_list();
            items(lists.values(), lists.value_offset(row) as usize, lists.value_length() as usize, bump, deeper)?
        }
        DataType::Struct(fields) => {
            let columns = array.as_struct();
            let mut members = ArenaVec::with_capacity_in(fields.len(), bump);
            for (field, column) in fields.iter().zip(columns.columns()) {
                // Every row has every field of a struct: null is what Arrow writes for a key that is not there.
                if !column.is_null(row) {
                    let key = Text::from(field.name().as_str());
                    let value = value(column, row, bump, deeper).map_err(|error| error.at_key(key))?;
                    members.push(Member { key, value });
                }
            }
            Value::Object(members.into_bump_slice())
        }
        DataType::Map(..) => map(array, row, bump, deeper)?,
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            match value(dictionary.keys(), row, bump, deeper)? {
                Value::Int(key) => value(dictionary.values(), usize::try_from(key).unwrap_or(0), bump, deeper)?,
                _ => Value::Null,
            }
        }
        other => shown(array, other, row, bump)?,
    })
}

/// JSON text in a binary column, or whatever else it is, has to be text.
fn bytes(bytes: &[u8]) -> Result<Value<'_>, Error> {
    json::check_utf8(bytes).map_err(Error::not_json)?;
    Ok(Value::Text(Text::Utf8(bytes)))
}

fn list<'a, O: Copy + TryInto<usize>>(
    offsets: &[O],
    values: &'a dyn Array,
    row: usize,
    bump: &'a Bump,
    depth: usize,
) -> Result<Value<'a>, Error> {
    let offset = |at: usize| offsets.get(at).and_then(|offset| (*offset).try_into().ok()).unwrap_or(0);
    let (start, end) = (offset(row), offset(row + 1));
    items(values, start, end.saturating_sub(start), bump, depth)
}

fn items<'a>(
    values: &'a dyn Array,
    start: usize,
    count: usize,
    bump: &'a Bump,
    depth: usize,
) -> Result<Value<'a>, Error> {
    let mut items = ArenaVec::with_capacity_in(count, bump);
    for index in 0..count {
        items.push(value(values, start + index, bump, depth).map_err(|error| error.at_index(index))?);
    }
    Ok(Value::Array(items.into_bump_slice()))
}

/// A null in a map is one: its key is there. The last of several with one key counts, as in JSON text.
fn map<'a>(array: &'a dyn Array, row: usize, bump: &'a Bump, depth: usize) -> Result<Value<'a>, Error> {
    let maps = array.as_map();
    let offsets = maps.value_offsets();
    let offset = |at: usize| offsets.get(at).and_then(|offset| usize::try_from(*offset).ok()).unwrap_or(0);
    let mut members: ArenaVec<'a, Member<'a>> = ArenaVec::new_in(bump);
    let mut places = std::collections::HashMap::new();
    for entry in offset(row)..offset(row + 1) {
        let Value::Text(key) = value(maps.keys(), entry, bump, depth)? else {
            return Err(Error::wrong_type("a map of tool calls or arguments needs keys that are texts"));
        };
        let value = value(maps.values(), entry, bump, depth).map_err(|error| error.at_key(key))?;
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
