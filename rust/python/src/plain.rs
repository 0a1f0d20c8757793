//! A copy of tool calls out of plain dicts, lists, texts and numbers, for input that holds other objects.
//!
//! Everything here may run code of the user, whose exceptions pass through unchanged (the outer `PyResult`).

use std::cell::Cell;

use callmatch_core::{
    call::Key,
    error::Error,
    text::Text,
    trace::{
        self,
        messages::{self, blocks, chat},
        span::Detail,
    },
    value::{MAX_DEPTH, MOST_VALUES},
};
use pyo3::{
    exceptions::{PyAttributeError, PyBaseException, PyTypeError, PyUnicodeDecodeError},
    intern,
    prelude::*,
    sync::PyOnceLock,
    types::{PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMemoryView, PyString, PyTuple, PyType},
};

use crate::read::{CONTENT_DEPTH, Extent, LEVELS, MESSAGES_DEPTH};

/// The object to be read, or what is wrong with it.
type Copied<'py> = PyResult<Result<Bound<'py, PyAny>, Error>>;

/// Bind the object, or return the error from the surrounding function.
macro_rules! copied {
    ($copied:expr, $located:expr) => {
        match $copied? {
            Ok(object) => object,
            Err(error) => return Ok(Err($located(error))),
        }
    };
}

/// A list of calls or messages.
pub fn calls<'py>(object: &Bound<'py, PyAny>, extent: Extent) -> Copied<'py> {
    Copying { extent, room: Cell::new(MOST_VALUES) }.calls(object)
}

/// Any JSON value.
pub fn value<'py>(object: &Bound<'py, PyAny>) -> Copied<'py> {
    Copying { extent: Extent::All, room: Cell::new(MOST_VALUES) }.value(object, MAX_DEPTH)
}

/// Messages of any dialect, or what they come in. What is no JSON value becomes bytes with the name of its type: it may be
/// said, but not given to a tool, and who reads the messages knows which.
pub fn messages<'py>(object: &Bound<'py, PyAny>) -> Copied<'py> {
    let py = object.py();
    if object.is_instance_of::<PyBytes>() || is_text(object) {
        return Ok(Ok(object.clone()));
    }
    // A cell of a table may be an array.
    let array = match object.getattr_opt(intern!(py, "tolist"))? {
        Some(to_list) if !object.is_instance_of::<PyType>() => to_list.call0()?,
        _ => object.clone(),
    };
    let copy =
        copied!(Copying { extent: Extent::All, room: Cell::new(MOST_VALUES) }.any(&array, MESSAGES_DEPTH), |error| {
            error
        });
    if copy.is_instance_of::<PyBytes>() {
        let message = format!("expected a list of chat messages, got {}", type_name(object));
        return Ok(Err(Error::wrong_type(message)));
    }
    Ok(Ok(copy))
}

struct Copying {
    extent: Extent,
    /// How many more values may be copied.
    room: Cell<usize>,
}

impl Copying {
    fn calls<'py>(&self, object: &Bound<'py, PyAny>) -> Copied<'py> {
        if object.is_instance_of::<PyBytes>() || object.is_none() || is_text(object) {
            return Ok(Ok(object.clone()));
        }
        // A cell of a table may be an array.
        let array = match object.getattr_opt(intern!(object.py(), "tolist"))? {
            Some(to_list) if !object.is_instance_of::<PyType>() => to_list.call0()?,
            _ => object.clone(),
        };
        let Some(items) = items_of(&array)? else {
            return Ok(Err(Error::no_calls(&type_name(object))));
        };
        self.list(object.py(), items, |item| self.call(item, LEVELS))
    }

    /// A call or a message: a dict, or an object with the same names as attributes.
    fn call<'py>(&self, object: &Bound<'py, PyAny>, levels: usize) -> Copied<'py> {
        let py = object.py();
        let plain = copied!(self.plain_or_itself(object), |error| error);
        let object = &plain;
        let copy = PyDict::new(py);
        let of_result = self.extent == Extent::All && holds_result(object)?;
        if let Ok(dict) = object.cast::<PyDict>() {
            for (key, value) in dict.copy()? {
                let word = copied!(key_of(&key), |error| error);
                copy.set_item(
                    &word,
                    copied!(self.field(&word, &value, levels, of_result)?, |error: Error| error
                        .at_key(Text::from(&*word))),
                )?;
            }
        } else if is_value(object) {
            let message = format!("expected a tool call with a name and arguments, got {}", type_name(object));
            return Ok(Err(Error::wrong_type(message)));
        } else {
            let mut known = false;
            let more = (self.extent == Extent::All).then(trace::words);
            for key in Key::words().chain(more.into_iter().flatten()) {
                let Some(value) = object.getattr_opt(key)? else { continue };
                // A method is none of the call's data.
                if !value.is_callable() {
                    known |= Key::of(Text::from(key)) != Key::Other;
                    copy.set_item(
                        key,
                        copied!(self.field(key, &value, levels, of_result)?, |error: Error| error
                            .at_key(Text::from(key))),
                    )?;
                }
            }
            if !known {
                let words = Key::words().collect::<Vec<_>>().join(", ");
                let message =
                    format!("expected a tool call, got {} with none of the attributes {words}", type_name(object));
                return Ok(Err(Error::wrong_type(message)));
            }
            for name in other_names(object)? {
                if !copy.contains(&name)? {
                    copy.set_item(name, py.None())?;
                }
            }
        }
        Ok(Ok(copy.into_any()))
    }

    /// The value of a key of a call or a message; `of_result` says that the content is the result of a call.
    fn field<'py>(
        &self,
        word: &str,
        object: &Bound<'py, PyAny>,
        levels: usize,
        of_result: bool,
    ) -> PyResult<Copied<'py>> {
        let key = Key::of(Text::from(word));
        let plain = if key.holds_calls() { self.plain_or_itself(object)? } else { Ok(object.clone()) };
        let object = &match plain {
            Ok(plain) => plain,
            Err(error) => return Ok(Ok(Err(error))),
        };
        if self.extent == Extent::All {
            match key {
                Key::Other if trace::is_word(Text::from(word)) => return Ok(self.detail(word, object)),
                Key::CONTENT => return Ok(self.content(object, levels, of_result)),
                _ => {}
            }
        }
        let items = items_of(object)?;
        Ok(match items {
            _ if key == Key::Other => Ok(none(object.py())),
            _ if !key.holds_calls() || levels == 0 => self.value(object, MAX_DEPTH),
            // Of what is said, only blocks that may be calls are of interest; all else may be anything.
            items if key == Key::CONTENT => match items {
                Some(items) => self.list(object.py(), items, |item| self.block(item, levels - 1)),
                None => self.block(object, levels - 1),
            },
            Some(items) => self.list(object.py(), items, |item| self.call(item, levels - 1)),
            // Something plain, which the core tells what it thinks of.
            None if is_value(object) && !object.is_instance_of::<PyDict>() => self.value(object, MAX_DEPTH),
            None => self.call(object, levels - 1),
        })
    }

    /// What may be a call, whose mistakes are to be told, or anything else.
    fn block<'py>(&self, object: &Bound<'py, PyAny>, levels: usize) -> Copied<'py> {
        let plain = copied!(self.plain_or_itself(object), |error| error);
        let object = &plain;
        let copied = self.call(object, levels)?;
        if copied.is_err()
            && word_of(object, chat::TYPE)?.is_some_and(|kind| blocks::is_kind_of_call(Text::from(&*kind)))
        {
            return Ok(copied);
        }
        Ok(copied.or_else(|_| none(object.py())))
    }

    /// What is told of a call beside its arguments. Unlike an output, the rest is still of use as a text, or without it.
    fn detail<'py>(&self, word: &str, object: &Bound<'py, PyAny>) -> Copied<'py> {
        let py = object.py();
        let error = match self.value(object, MAX_DEPTH)? {
            Ok(copy) => return Ok(Ok(copy)),
            Err(error) => error,
        };
        match Detail::of(word) {
            None | Some(Detail::Id | Detail::CallId) => Ok(none(py)),
            Some(Detail::StartedAt | Detail::EndedAt) => match object.getattr_opt(intern!(py, "isoformat"))? {
                Some(iso_format) if !object.is_instance_of::<PyType>() => self.value(&iso_format.call0()?, 0),
                _ => Ok(Err(error)),
            },
            Some(Detail::Error) if object.is_instance_of::<PyBaseException>() => Ok(Ok(object.str()?.into_any())),
            Some(_) => Ok(Err(error)),
        }
    }

    /// What a message says, which may be anything, or the result that it holds, which is a JSON value.
    fn content<'py>(&self, object: &Bound<'py, PyAny>, levels: usize, of_result: bool) -> Copied<'py> {
        if of_result {
            return self.value(object, CONTENT_DEPTH);
        }
        match items_of(object)? {
            Some(items) if levels > 0 => self.list(object.py(), items, |item| self.part(item, levels - 1)),
            _ => self.said(object, levels),
        }
    }

    /// A part of what is said. Calls and results are among them, and have mistakes that are to be told.
    fn part<'py>(&self, object: &Bound<'py, PyAny>, levels: usize) -> Copied<'py> {
        let plain = copied!(self.plain_or_itself(object), |error| error);
        let object = &plain;
        let kind = word_of(object, chat::TYPE)?;
        if kind.is_some_and(|kind| blocks::holds_keys(Text::from(&*kind))) {
            return self.call(object, levels);
        }
        self.said(object, levels)
    }

    /// If it isn't a value, then what is known of it counts, or else its type alone.
    fn said<'py>(&self, object: &Bound<'py, PyAny>, levels: usize) -> Copied<'py> {
        let py = object.py();
        let copied = self.value(object, CONTENT_DEPTH)?;
        if copied.is_ok() {
            return Ok(copied);
        }
        let kind = word_of(object, chat::TYPE)?;
        if kind.is_some() {
            let copied = self.call(object, levels)?;
            if copied.is_ok() {
                return Ok(copied);
            }
        }
        let copy = PyDict::new(py);
        copy.set_item(chat::TYPE, kind.unwrap_or_else(|| type_name(object)))?;
        Ok(Ok(copy.into_any()))
    }

    /// Anything that messages hold.
    fn any<'py>(&self, object: &Bound<'py, PyAny>, depth: usize) -> Copied<'py> {
        let py = object.py();
        let is_container = object.is_instance_of::<PyDict>()
            || object.is_instance_of::<PyList>()
            || object.is_instance_of::<PyTuple>();
        if is_value(object) && !is_container {
            return self.value(object, 0);
        }
        match self.room.get().checked_sub(1) {
            Some(room) => self.room.set(room),
            None => return Ok(Err(Error::too_many_values())),
        }
        if depth == 0 {
            return Ok(Err(Error::too_deep()));
        }
        if let Some(items) = items_of(object)? {
            return self.list(py, items, |item| self.any(item, depth - 1));
        }
        if let Ok(dict) = object.cast::<PyDict>() {
            let dict = dict.copy()?;
            // It has no JSON form.
            if dict.keys().iter().any(|key| !is_text(&key)) {
                return Ok(Ok(foreign(object)));
            }
            return self.members(dict.into_iter(), py, depth);
        }
        if is_instance(object, &ENUM, "enum", "Enum")? {
            return self.any(&object.getattr(intern!(py, "value"))?, depth - 1);
        }
        if is_instance(object, &DECIMAL, "decimal", "Decimal")? {
            return decimal(object).map(Ok);
        }
        if is_instance(object, &MODEL, "pydantic", "BaseModel")? {
            return self.any(&dumped(object)?, depth - 1);
        }
        // Asked of the type: an object may answer to any name.
        let fields = object.get_type().getattr_opt(intern!(py, "__dataclass_fields__"))?;
        let names = match fields.and_then(|fields| fields.cast_into::<PyDict>().ok()) {
            Some(fields) => fields.copy()?.keys(),
            None => {
                if let Some(plain) = self.plain(object)? {
                    return match plain {
                        Ok(plain) => self.any(&plain, depth - 1),
                        Err(error) => Ok(Err(error)),
                    };
                }
                if !is_message_or_call(object)? {
                    return Ok(Ok(foreign(object)));
                }
                names_of(object)?
            }
        };
        let mut members = Vec::with_capacity(names.len());
        for name in names {
            let Ok(word) = name.cast::<PyString>() else { continue };
            match object.getattr_opt(word)? {
                Some(value) if !value.is_callable() => members.push((name, value)),
                _ => {}
            }
        }
        self.members(members.into_iter(), py, depth)
    }

    /// An array, or what else answers like a list or a dict, as one. Pictures are arrays too, of more dimensions.
    fn plain<'py>(&self, object: &Bound<'py, PyAny>) -> PyResult<Option<Result<Bound<'py, PyAny>, Error>>> {
        let py = object.py();
        if object.is_instance_of::<PyBytes>()
            || object.is_instance_of::<PyByteArray>()
            || object.is_instance_of::<PyMemoryView>()
        {
            return Ok(None);
        }
        // Asked of the type: an object may answer to any name.
        if object.get_type().getattr_opt(intern!(py, "tolist"))?.is_some() {
            let dimensions = object.getattr_opt(intern!(py, "ndim"))?;
            let is_flat =
                dimensions.is_none_or(|dimensions| dimensions.extract::<usize>().is_ok_and(|count| count < 2));
            return if is_flat {
                object.call_method0(intern!(py, "tolist")).map(|list| Some(Ok(list)))
            } else {
                Ok(None)
            };
        }
        let is_mapping = is_instance(object, &MAPPING, "collections.abc", "Mapping")?;
        if !is_mapping && !is_instance(object, &SEQUENCE, "collections.abc", "Sequence")? {
            return Ok(None);
        }
        if object.len()? > self.room.get() {
            return Ok(Some(Err(Error::too_many_values())));
        }
        let class = if is_mapping { py.get_type::<PyDict>() } else { py.get_type::<PyTuple>() };
        class.call1((object,)).map(|plain| Some(Ok(plain)))
    }

    fn plain_or_itself<'py>(&self, object: &Bound<'py, PyAny>) -> Copied<'py> {
        let plain = if is_value(object) { None } else { self.plain(object)? };
        Ok(plain.unwrap_or_else(|| Ok(object.clone())))
    }

    fn members<'py>(
        &self,
        members: impl Iterator<Item = (Bound<'py, PyAny>, Bound<'py, PyAny>)>,
        py: Python<'py>,
        depth: usize,
    ) -> Copied<'py> {
        let copy = PyDict::new(py);
        let mut unread = None;
        for (key, member) in members {
            let word = copied!(key_of(&key), |error| error);
            let member = told(&word, member)?;
            let value = copied!(self.any(&member, depth - 1), |error: Error| error.at_key(Text::from(&*word)));
            if value.is_instance_of::<PyBytes>() && HOLDERS_OF_BLOCKS.contains(&&*word) {
                let message = format!("expected a text or a list, got {}", type_name(&member));
                unread = Some((word == chat::CONTENT, Error::wrong_type(message).at_key(Text::from(&*word))));
            }
            copy.set_item(&key, value)?;
        }
        let Some((is_content, error)) = unread else { return Ok(Ok(copy.into_any())) };
        // Calls may be in it, unless a user says it.
        Ok(match word_of(&copy, chat::ROLE)? {
            Some(role) if !is_content || role != "user" => Err(error),
            _ => Ok(copy.into_any()),
        })
    }

    /// Any value of the arguments.
    fn value<'py>(&self, object: &Bound<'py, PyAny>, depth: usize) -> Copied<'py> {
        let py = object.py();
        match self.room.get().checked_sub(1) {
            Some(room) => self.room.set(room),
            None => return Ok(Err(Error::too_many_values())),
        }
        let is_container = object.is_instance_of::<PyDict>()
            || object.is_instance_of::<PyList>()
            || object.is_instance_of::<PyTuple>();
        if is_value(object) && !is_container {
            return Ok(Ok(object.clone()));
        }
        if depth == 0 {
            return Ok(Err(Error::too_deep()));
        }
        if let Some(items) = items_of(object)? {
            return self.list(py, items, |item| self.value(item, depth - 1));
        }
        if let Ok(dict) = object.cast::<PyDict>() {
            let copy = PyDict::new(py);
            for (key, member) in dict.copy()? {
                let word = copied!(key_of(&key), |error| error);
                copy.set_item(
                    &key,
                    copied!(self.value(&member, depth - 1), |error: Error| error.at_key(Text::from(&*word))),
                )?;
            }
            return Ok(Ok(copy.into_any()));
        }
        if is_instance(object, &ENUM, "enum", "Enum")? {
            return self.value(&object.getattr(intern!(py, "value"))?, depth - 1);
        }
        if is_instance(object, &DECIMAL, "decimal", "Decimal")? {
            return decimal(object).map(Ok);
        }
        if is_instance(object, &MODEL, "pydantic", "BaseModel")? {
            let arguments = PyDict::new(py);
            arguments.set_item("mode", "json")?;
            return self.value(&object.call_method(intern!(py, "model_dump"), (), Some(&arguments))?, depth - 1);
        }
        // Asked of the type: an object may answer to any name.
        let fields = object.get_type().getattr_opt(intern!(py, "__dataclass_fields__"))?;
        if let Some(fields) = fields.and_then(|fields| fields.cast_into::<PyDict>().ok()) {
            let copy = PyDict::new(py);
            for key in fields.copy()?.keys() {
                let word = copied!(key_of(&key), |error| error);
                let member = match object.getattr(&*word) {
                    Err(error) if error.is_instance_of::<PyAttributeError>(py) => continue,
                    member => member?,
                };
                copy.set_item(
                    &key,
                    copied!(self.value(&member, depth - 1), |error: Error| error.at_key(Text::from(&*word))),
                )?;
            }
            return Ok(Ok(copy.into_any()));
        }
        let message = format!("{} is not a JSON value", type_name(object));
        Ok(Err(Error::wrong_type(message)))
    }

    fn list<'py>(
        &self,
        py: Python<'py>,
        items: Bound<'py, PyTuple>,
        copy: impl Fn(&Bound<'py, PyAny>) -> Copied<'py>,
    ) -> Copied<'py> {
        let list = PyList::empty(py);
        for (index, item) in items.iter().enumerate() {
            list.append(copied!(copy(&item), |error: Error| error.at_index(index)))?;
        }
        Ok(Ok(list.into_any()))
    }
}

/// Of times and exceptions, what a span tells.
fn told<'py>(word: &str, object: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    match Detail::of(word) {
        Some(Detail::StartedAt | Detail::EndedAt) if !is_value(&object) => {
            match object.getattr_opt(intern!(object.py(), "isoformat"))? {
                Some(iso_format) if !object.is_instance_of::<PyType>() => iso_format.call0(),
                _ => Ok(object),
            }
        }
        Some(Detail::Error) if object.is_instance_of::<PyBaseException>() => Ok(object.str()?.into_any()),
        _ => Ok(object),
    }
}

/// What a model says that it is. Bytes that are no text have no JSON form, and then its Python form is taken.
pub fn dumped<'py>(model: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = model.py();
    let dump = |mode: &str| {
        let arguments = PyDict::new(py);
        arguments.set_item("mode", mode)?;
        // A list of messages of any kind must not lose what only one kind has.
        arguments.set_item("serialize_as_any", true)?;
        // Of fields that hold other types than they declare, which is how some clients keep what is new to them.
        arguments.set_item("warnings", false)?;
        model.call_method(intern!(py, "model_dump"), (), Some(&arguments))
    };
    let failed = match dump("json") {
        Err(error) => error,
        dumped => return dumped,
    };
    let no_json = NO_JSON.import(py, "pydantic_core", "PydanticSerializationError")?;
    if failed.is_instance(py, no_json) || failed.is_instance_of::<PyUnicodeDecodeError>(py) {
        return dump("python");
    }
    // A method of its own that takes nothing, say.
    if failed.is_instance_of::<PyTypeError>(py) {
        return model.call_method0(intern!(py, "model_dump"));
    }
    Err(failed)
}

/// Does an object that is no model look like a message, a block or a call?
fn is_message_or_call(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    if object.is_instance_of::<PyType>() {
        return Ok(false);
    }
    for key in [chat::ROLE, chat::TYPE] {
        if word_of(object, key)?.is_some() {
            return Ok(true);
        }
    }
    if is_instance(object, &NAMESPACE, "types", "SimpleNamespace")? {
        return Ok(true);
    }
    for key in HOLDERS_OF_CALLS {
        if object.getattr_opt(*key)?.is_some_and(|value| !value.is_none() && !value.is_callable()) {
            return Ok(true);
        }
    }
    let mut is_named = false;
    let mut is_called = false;
    for word in Key::words() {
        match Key::of(Text::from(word)) {
            Key::Name(_) => is_named |= word_of(object, word)?.is_some(),
            Key::Arguments(_) | Key::Function => {
                is_called |= object.getattr_opt(word)?.is_some_and(|value| !value.is_callable());
            }
            Key::Message(_) | Key::Other => {}
        }
    }
    Ok(is_called && (is_named || object.getattr_opt("function")?.is_some()))
}

/// The names of an object's data: those that are known, which may be properties, and all that it keeps.
fn names_of<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    let py = object.py();
    let names = PyDict::new(py);
    for word in Key::words().chain(trace::words()).chain(HOLDERS_OF_CALLS.iter().copied()) {
        names.set_item(word, py.None())?;
    }
    if let Some(Ok(own)) = object.getattr_opt(intern!(py, "__dict__"))?.map(|own| own.cast_into::<PyDict>()) {
        for name in own.copy()?.keys() {
            if name.cast::<PyString>().is_ok_and(|word| !word.to_string_lossy().starts_with('_')) {
                names.set_item(name, py.None())?;
            }
        }
    }
    Ok(names.keys())
}

/// Does an object's role or type say that its content is the result of a call?
fn holds_result(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    for key in [chat::ROLE, chat::TYPE] {
        if word_of(object, key)?.is_some_and(|word| messages::holds_result(Text::from(&*word))) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The text that an object has by a key, or as an attribute.
fn word_of(object: &Bound<'_, PyAny>, key: &str) -> PyResult<Option<String>> {
    let found = match object.cast::<PyDict>() {
        Ok(dict) => dict.get_item(key)?,
        Err(_) => object.getattr_opt(key)?,
    };
    let Some(mut found) = found else { return Ok(None) };
    if is_instance(&found, &ENUM, "enum", "Enum")? {
        found = found.getattr(intern!(object.py(), "value"))?;
    }
    Ok(found.cast::<PyString>().ok().map(|word| word.to_string_lossy().into_owned()))
}

fn none<'py>(py: Python<'py>) -> Result<Bound<'py, PyAny>, Error> {
    Ok(py.None().into_bound(py))
}

/// The names of an object's data, so that a misspelt one is seen.
fn other_names<'py>(object: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let py = object.py();
    let mut names = Vec::new();
    for own in [intern!(py, "__dict__"), intern!(py, "__pydantic_extra__")] {
        if let Some(Ok(own)) = object.getattr_opt(own)?.map(|own| own.cast_into::<PyDict>()) {
            names.extend(own.copy()?.keys().iter().filter(is_text));
        }
    }
    // Slots and properties; methods are no data.
    let class = object.get_type();
    for name in class.dir()? {
        let Ok(word) = name.cast::<PyString>() else { continue };
        if !word.to_string_lossy().starts_with('_')
            && !class.getattr_opt(word)?.is_some_and(|found| found.is_callable())
        {
            names.push(name);
        }
    }
    Ok(names)
}

/// What a list or tuple holds now.
pub fn items_of<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyTuple>>> {
    Ok(if let Ok(list) = object.cast::<PyList>() {
        Some(list.to_tuple())
    } else {
        object.cast::<PyTuple>().ok().cloned()
    })
}

/// The key as text for a path; a lone surrogate in it is shown as a replacement there.
fn key_of(key: &Bound<'_, PyAny>) -> PyResult<Result<String, Error>> {
    Ok(match key.cast::<PyString>() {
        Ok(key) => Ok(key.to_string_lossy().into_owned()),
        Err(_) => Err(Error::wrong_type(format!("a key of a JSON object is a string, not {}", type_name(key)))),
    })
}

pub fn is_text(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyString>()
}

/// Is this read in place?
pub fn is_value(object: &Bound<'_, PyAny>) -> bool {
    is_text(object)
        || object.is_none()
        || object.is_instance_of::<PyBool>()
        || object.is_instance_of::<PyInt>()
        || object.is_instance_of::<PyFloat>()
        || object.is_instance_of::<PyDict>()
        || object.is_instance_of::<PyList>()
        || object.is_instance_of::<PyTuple>()
}

pub fn type_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "an object".to_owned(), |name| name.to_string())
}

/// What messages of any dialect have their blocks, parts or items under.
const HOLDERS_OF_BLOCKS: &[&str] = &["content", "parts", "items", "blocks"];

/// What makes an object a block that holds a call or the result of one.
const HOLDERS_OF_CALLS: &[&str] = &[
    "tool_calls",
    "tool_call",
    "toolCall",
    "tool_call_result",
    "toolUse",
    "toolResult",
    "functionCall",
    "functionResponse",
    "function_call",
    "function_response",
];

fn foreign<'py>(object: &Bound<'py, PyAny>) -> Bound<'py, PyAny> {
    PyBytes::new(object.py(), type_name(object).as_bytes()).into_any()
}

pub static MAPPING: PyOnceLock<Py<PyType>> = PyOnceLock::new();
pub static SEQUENCE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static NAMESPACE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
pub static ENUM: PyOnceLock<Py<PyType>> = PyOnceLock::new();
pub static DECIMAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static NO_JSON: PyOnceLock<Py<PyType>> = PyOnceLock::new();
pub static MODEL: PyOnceLock<Py<PyType>> = PyOnceLock::new();

pub fn is_instance(
    object: &Bound<'_, PyAny>,
    class: &PyOnceLock<Py<PyType>>,
    module: &str,
    name: &str,
) -> PyResult<bool> {
    object.is_instance(class.import(object.py(), module, name)?)
}

/// As JSON text is read: a whole number without an exponent is an integer, all else a binary64.
pub fn decimal<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let text = object.str()?.to_string();
    let digits = text.strip_prefix('-').unwrap_or(&text);
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        py.get_type::<PyInt>().call1((object,))
    } else {
        // A signalling NaN can't be converted, but is one.
        Ok(PyFloat::new(
            py,
            text.trim_start_matches(['-', 's'])
                .parse::<f64>()
                .map_or(f64::NAN, |size| if text.starts_with('-') { -size } else { size }),
        )
        .into_any())
    }
}
