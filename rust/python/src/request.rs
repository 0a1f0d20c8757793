//! A copy of a request of Tool Call Check out of plain dicts, lists, texts and numbers, for one that holds other objects.
//!
//! Payloads are whatever tools take and give, so everything has some JSON value here: its own, or that of what it says it is
//! as text, or its type in brackets. Nothing in a request raises, but what is to end the program (Ctrl-C).

use std::cell::{Cell, RefCell};

use callmatch_core::{error::Error, grounding::request::REQUEST_DEPTH, show, text::Text, value::MOST_VALUES};
use pyo3::{
    exceptions::{PyBaseException, PyException},
    intern,
    prelude::*,
    sync::PyOnceLock,
    types::{PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMemoryView, PyString, PyType},
};

use crate::plain::{
    DECIMAL, ENUM, MAPPING, MODEL, SEQUENCE, decimal, dumped, is_instance, is_text, is_value, items_of, type_name,
};

/// How many notes are taken.
const MOST_NOTES: usize = 20;

/// What a request is read of.
pub struct Plain<'py> {
    pub copy: Bound<'py, PyAny>,
    /// What was odd.
    pub notes: Vec<String>,
}

pub fn plain<'py>(object: &Bound<'py, PyAny>) -> PyResult<Result<Plain<'py>, Error>> {
    let copying = Copying { room: Cell::new(MOST_VALUES), notes: RefCell::default() };
    match copying.value(object, &Path::Root, REQUEST_DEPTH) {
        Ok(copy) => Ok(Ok(Plain { copy, notes: copying.notes.into_inner() })),
        Err(Stop::TooMany) => Ok(Err(Error::too_many_values())),
        Err(Stop::Raised(error)) => Err(error),
    }
}

enum Stop {
    TooMany,
    Raised(PyErr),
}

impl From<PyErr> for Stop {
    fn from(error: PyErr) -> Self {
        Stop::Raised(error)
    }
}

type Copied<'py> = Result<Bound<'py, PyAny>, Stop>;

/// Where in the request something is.
enum Path<'p> {
    Root,
    Key(&'p Path<'p>, &'p str),
    Index(&'p Path<'p>, usize),
}

impl Path<'_> {
    fn said(&self, message: String) -> String {
        let mut error = Error::value(message);
        let mut path = self;
        loop {
            (error, path) = match path {
                Path::Root => return error.to_string(),
                Path::Key(outer, key) => (error.at_key(Text::from(*key)), *outer),
                Path::Index(outer, index) => (error.at_index(*index), *outer),
            };
        }
    }
}

struct Copying {
    /// How many more values may be copied.
    room: Cell<usize>,
    notes: RefCell<Vec<String>>,
}

impl Copying {
    fn note(&self, path: &Path<'_>, message: String) {
        let mut notes = self.notes.borrow_mut();
        if notes.len() < MOST_NOTES {
            notes.push(path.said(message));
        }
    }

    fn value<'py>(&self, object: &Bound<'py, PyAny>, path: &Path<'_>, depth: usize) -> Copied<'py> {
        let py = object.py();
        self.room.set(self.room.get().checked_sub(1).ok_or(Stop::TooMany)?);
        if depth == 0 {
            self.note(path, format!("nested too deep, or inside itself; read as [{}].", type_name(object)));
            return Ok(bracketed(object));
        }
        match self.known(object, path, depth) {
            // What an object of the user raises is as good as no value.
            Err(Stop::Raised(error)) if error.is_instance_of::<PyException>(py) => {
                let class =
                    error.get_type(py).name().map_or_else(|_| "an exception".to_owned(), |name| name.to_string());
                self.note(path, format!("{} raised {class}; read as [{0}].", type_name(object)));
                Ok(bracketed(object))
            }
            copied => copied,
        }
    }

    fn known<'py>(&self, object: &Bound<'py, PyAny>, path: &Path<'_>, depth: usize) -> Copied<'py> {
        let py = object.py();
        if let Some(items) = items_of(object)? {
            return self.list(items.iter(), py, path, depth);
        }
        if let Ok(dict) = object.cast::<PyDict>() {
            return self.dict(&dict.copy()?, path, depth);
        }
        if is_value(object) {
            return Ok(object.clone());
        }
        if let Some(text) = self.text_of_bytes(object, path)? {
            return Ok(text);
        }
        let class = object.get_type();
        // Asked of the type: an object may answer to any name.
        let has = |name: &str| class.getattr_opt(name).map(|found| found.is_some());
        if object.is_instance_of::<PyType>() {
            return Ok(bracketed(object));
        }
        if is_instance(object, &ENUM, "enum", "Enum")? {
            return self.value(&object.getattr(intern!(py, "value"))?, path, depth - 1);
        }
        if is_instance(object, &DECIMAL, "decimal", "Decimal")? {
            return Ok(decimal(object)?);
        }
        if is_instance(object, &MODEL, "pydantic", "BaseModel")? {
            return self.value(&dumped(object)?, path, depth - 1);
        }
        if let Some(fields) = class.getattr_opt(intern!(py, "__dataclass_fields__"))? {
            return self.attributes(object, fields.cast::<PyDict>().map_err(PyErr::from)?.copy()?.keys(), path, depth);
        }
        if has("isoformat")? {
            return self.value(&object.call_method0(intern!(py, "isoformat"))?, path, depth - 1);
        }
        // Arrays, and the numbers in them.
        if has("tolist")? {
            return self.value(&object.call_method0(intern!(py, "tolist"))?, path, depth - 1);
        }
        if is_instance(object, &MAPPING, "collections.abc", "Mapping")? {
            let dict = py.get_type::<PyDict>().call1((object,))?.cast_into::<PyDict>().map_err(PyErr::from)?;
            return self.dict(&dict, path, depth);
        }
        if has("to_dict")? {
            // A table says so of its rows.
            let dict = object.call_method1(intern!(py, "to_dict"), ("records",));
            let dict = dict.or_else(|_| object.call_method0(intern!(py, "to_dict")))?;
            return self.value(&dict, path, depth - 1);
        }
        if is_instance(object, &SEQUENCE, "collections.abc", "Sequence")?
            || is_instance(object, &COLLECTION, "collections.abc", "Collection")?
        {
            if object.len()? > self.room.get() {
                return Err(Stop::TooMany);
            }
            let list = py.get_type::<PyList>().call1((object,))?.cast_into::<PyList>().map_err(PyErr::from)?;
            if is_instance(object, &SET, "collections.abc", "Set")? {
                // The order of a set is not the same in every process. What can't be ordered stays in its own.
                let _ = list.sort();
            }
            return self.list(list.iter(), py, path, depth);
        }
        if object.is_instance_of::<PyBaseException>() {
            let said = format!("{}: {}", type_name(object), object.str()?.to_string_lossy());
            return Ok(PyString::new(py, said.trim_end_matches([':', ' '])).into_any());
        }
        self.other(object, &class, path, depth)
    }

    /// What says of itself what it is as a text, or has attributes.
    fn other<'py>(
        &self,
        object: &Bound<'py, PyAny>,
        class: &Bound<'py, PyType>,
        path: &Path<'_>,
        depth: usize,
    ) -> Copied<'py> {
        let py = object.py();
        if !class.getattr(intern!(py, "__str__"))?.is(py.get_type::<PyAny>().getattr(intern!(py, "__str__"))?) {
            self.note(path, format!("{} was read as the text that it says it is.", type_name(object)));
            return Ok(object.str()?.into_any());
        }
        let own = object.getattr_opt(intern!(py, "__dict__"))?;
        match own.and_then(|own| own.cast_into::<PyDict>().ok()) {
            Some(own) if !own.is_empty() => self.attributes(object, own.copy()?.keys(), path, depth),
            _ => {
                self.note(path, format!("{} has no JSON value; read as [{0}].", type_name(object)));
                Ok(bracketed(object))
            }
        }
    }

    /// Bytes are text: UTF-8, UTF-16 if they begin with its mark, or else Latin-1, in which any bytes are some text.
    fn text_of_bytes<'py>(
        &self,
        object: &Bound<'py, PyAny>,
        path: &Path<'_>,
    ) -> Result<Option<Bound<'py, PyAny>>, Stop> {
        let py = object.py();
        let bytes = if object.is_instance_of::<PyBytes>() {
            object.clone()
        } else if object.is_instance_of::<PyByteArray>() || object.is_instance_of::<PyMemoryView>() {
            py.get_type::<PyBytes>().call1((object,))?
        } else {
            return Ok(None);
        };
        let bytes = bytes.cast::<PyBytes>().map_err(PyErr::from)?;
        let marked = matches!(bytes.as_bytes(), [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
        for encoding in ["utf-8-sig", "utf-16", "latin-1"] {
            if encoding == "utf-16" && !marked {
                continue;
            }
            if let Ok(text) = bytes.call_method1(intern!(py, "decode"), (encoding,)) {
                self.note(path, format!("bytes were read as {}.", encoding.trim_end_matches("-sig").to_uppercase()));
                return Ok(Some(text));
            }
        }
        Ok(None)
    }

    fn list<'py>(
        &self,
        items: impl Iterator<Item = Bound<'py, PyAny>>,
        py: Python<'py>,
        path: &Path<'_>,
        depth: usize,
    ) -> Copied<'py> {
        let list = PyList::empty(py);
        for (index, item) in items.enumerate() {
            list.append(self.value(&item, &Path::Index(path, index), depth - 1)?)?;
        }
        Ok(list.into_any())
    }

    fn dict<'py>(&self, dict: &Bound<'py, PyDict>, path: &Path<'_>, depth: usize) -> Copied<'py> {
        let copy = PyDict::new(dict.py());
        for (key, member) in dict {
            let key = key_of(&key)?;
            copy.set_item(&key, self.value(&member, &Path::Key(path, &key.to_string_lossy()), depth - 1)?)?;
        }
        Ok(copy.into_any())
    }

    fn attributes<'py>(
        &self,
        object: &Bound<'py, PyAny>,
        names: Bound<'py, PyList>,
        path: &Path<'_>,
        depth: usize,
    ) -> Copied<'py> {
        let copy = PyDict::new(object.py());
        for name in names {
            let Ok(name) = name.cast::<PyString>() else { continue };
            if let Some(value) = object.getattr_opt(name)?
                && !name.to_string_lossy().starts_with('_')
            {
                copy.set_item(name, self.value(&value, &Path::Key(path, &name.to_string_lossy()), depth - 1)?)?;
            }
        }
        Ok(copy.into_any())
    }
}

/// A key as a text; what is none is written as Python's `json` does.
fn key_of<'py>(key: &Bound<'py, PyAny>) -> Result<Bound<'py, PyString>, Stop> {
    let py = key.py();
    if is_text(key) {
        return Ok(key.cast::<PyString>().map_err(PyErr::from)?.clone());
    }
    if key.is_none() {
        return Ok(PyString::new(py, "null"));
    }
    if let Ok(key) = key.cast::<PyBool>() {
        return Ok(PyString::new(py, if key.is_true() { "true" } else { "false" }));
    }
    if is_instance(key, &ENUM, "enum", "Enum")? {
        let value = key.getattr(intern!(py, "value"))?;
        return if is_instance(&value, &ENUM, "enum", "Enum")? { Ok(value.str()?) } else { key_of(&value) };
    }
    match key.str() {
        Ok(text) => Ok(text),
        Err(error) if error.is_instance_of::<PyException>(py) => {
            // As an integer with more digits than Python is set to write.
            let is_number = key.is_instance_of::<PyInt>() || key.is_instance_of::<PyFloat>();
            Ok(PyString::new(py, &if is_number { "a number".to_owned() } else { format!("[{}]", type_name(key)) }))
        }
        Err(error) => Err(error.into()),
    }
}

/// What has no value, by the name of its type.
fn bracketed<'py>(object: &Bound<'py, PyAny>) -> Bound<'py, PyAny> {
    PyString::new(object.py(), &format!("[{}]", show::plain(Text::from(&*type_name(object))))).into_any()
}

static COLLECTION: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static SET: PyOnceLock<Py<PyType>> = PyOnceLock::new();
