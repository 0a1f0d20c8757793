//! The core's errors as Python exceptions, which are classes of `callmatch.errors`.

use std::{borrow::Cow, io, path::Path};

use callmatch_core::{
    error::{self, Error, ErrorKind},
    show, source,
    text::Text,
};
use pyo3::{
    exceptions::PyOSError,
    prelude::*,
    sync::PyOnceLock,
    types::{PyBytes, PyString, PyType},
};

pub fn to_python(py: Python<'_>, error: &Error) -> PyErr {
    static INVALID_INPUT: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static INVALID_TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let class = match error.kind() {
        ErrorKind::Value => INVALID_INPUT.import(py, "callmatch.errors", "InvalidInput"),
        ErrorKind::Type => INVALID_TYPE.import(py, "callmatch.errors", "InvalidType"),
    };
    match class.and_then(|class| class.call1((error.to_string(), error.path()))) {
        Ok(instance) => PyErr::from_value(instance),
        Err(failed) => failed,
    }
}

/// What the system says about a file stays an `OSError`; what is wrong inside it is invalid input.
pub fn of_file(py: Python<'_>, path: &Path, error: &io::Error) -> PyErr {
    let system = match error.kind() {
        io::ErrorKind::IsADirectory => Some(21),
        _ => error.raw_os_error(),
    };
    if let Some(number) = system {
        let strerror = py.import("os").and_then(|os| os.call_method1("strerror", (number,)));
        let message = strerror.unwrap_or_else(|_| PyString::new(py, "error").into_any());
        return PyOSError::new_err((number, message.unbind(), path.as_os_str().to_owned()));
    }
    let what = source::said(error);
    let name = if path == Path::new("-") { "standard input".into() } else { path.to_string_lossy() };
    to_python(py, &Error::value(format!("{name}: {what}")))
}

/// A text that may come from a trace, without what could drive a terminal.
#[pyfunction]
pub fn printable(text: &Bound<'_, PyString>) -> PyResult<String> {
    Ok(show::plain(Text::from(&*characters(text)?)))
}

/// The same with its line breaks, for JSON text and for cells of a table.
#[pyfunction]
pub fn printable_lines(text: &Bound<'_, PyString>) -> PyResult<String> {
    Ok(show::printable_lines(&characters(text)?))
}

/// What to say of a word that is none of those that are known.
#[pyfunction]
pub fn one_of(
    what: &Bound<'_, PyString>,
    given: &Bound<'_, PyString>,
    words: Vec<Bound<'_, PyString>>,
) -> PyResult<String> {
    let words = words.iter().map(characters).collect::<PyResult<Vec<_>>>()?;
    let words: Vec<&str> = words.iter().map(|word| &**word).collect();
    Ok(error::one_of(&characters(what)?, &characters(given)?, &words))
}

/// The characters of a text. Half of a pair of surrogates is none, and becomes an escape.
fn characters<'t>(text: &'t Bound<'_, PyString>) -> PyResult<Cow<'t, str>> {
    if let Ok(text) = text.to_str() {
        return Ok(Cow::Borrowed(text));
    }
    let bytes = text.call_method1("encode", ("utf-8", "backslashreplace"))?;
    Ok(Cow::Owned(String::from_utf8_lossy(bytes.cast::<PyBytes>()?.as_bytes()).into_owned()))
}
