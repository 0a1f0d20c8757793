//! Values as Python objects.
//!
//! Making an object may run the garbage collector, and with it any Python code, so a value that is written may not borrow
//! from an object that was read: see `read.rs`.

use callmatch_core::{text::Text, value::Value};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyDict, PyList, PyString},
};

pub fn value<'py>(py: Python<'py>, read: Value<'_>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match read {
        Value::Null => py.None().into_bound(py),
        Value::False => false.into_pyobject(py)?.to_owned().into_any(),
        Value::True => true.into_pyobject(py)?.to_owned().into_any(),
        Value::Int(int) => int.into_pyobject(py)?.into_any(),
        Value::Float(float) => float.into_pyobject(py)?.into_any(),
        Value::Big(big) => big.to_bigint().into_pyobject(py)?.into_any(),
        Value::Text(read) => text(py, read)?.into_any(),
        Value::Array(items) => {
            let list = PyList::empty(py);
            for &item in items {
                list.append(value(py, item)?)?;
            }
            list.into_any()
        }
        Value::Object(members) => {
            let dict = PyDict::new(py);
            for member in members {
                dict.set_item(text(py, member.key)?, value(py, member.value)?)?;
            }
            dict.into_any()
        }
        // Nothing that is written holds one.
        Value::Foreign(name) => text(py, *name)?.into_any(),
    })
}

pub fn text<'py>(py: Python<'py>, text: Text<'_>) -> PyResult<Bound<'py, PyString>> {
    if let Text::Utf8(bytes) = text
        && let Ok(text) = str::from_utf8(bytes)
    {
        return Ok(PyString::new(py, text));
    }
    match text.code_points().map(char::from_u32).collect::<Option<String>>() {
        Some(text) => Ok(PyString::new(py, &text)),
        None => {
            PyString::from_encoded_object(&PyBytes::new(py, &text.to_utf8()), Some(c"utf-8"), Some(c"surrogatepass"))
        }
    }
}
