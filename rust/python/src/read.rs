//! Python objects as [`Value`]s, read in place: texts are borrowed from the `str` objects. The only unsafe file.
//!
//! What makes this sound: the thread stays attached to the interpreter, and from the first read to the last use of the
//! values no Python code runs, no Python object is made or released, and so nothing that was read can change or go away.
//! An object that would need code to be run (an `Enum` member, a pydantic model …) stops the reading; `plain.rs` then
//! makes a copy of the whole input out of plain objects that nobody else knows of, and that is read instead.
#![allow(unsafe_code)]

use bumpalo::Bump;
use callmatch_core::{
    call::{Key, Reader},
    error::Error,
    grounding::request::REQUEST_DEPTH,
    json,
    matching::Scratch,
    number::{Big, Magnitude},
    score::{Side, Worker},
    text::Text,
    trace,
    value::{MAX_DEPTH, MOST_VALUES, Member, Value},
};
use num_bigint::{BigInt, Sign};
use pyo3::{Borrowed, ffi, prelude::*};
use rayon::{ThreadPool, prelude::*};

use crate::{
    plain,
    request::{self, Plain},
};

/// A message holds calls, which hold functions; nothing else is looked into for calls.
pub const LEVELS: usize = 2;

/// Content is read as a whole: a list of blocks around the arguments of a call, or around its output.
pub const CONTENT_DEPTH: usize = MAX_DEPTH + 2;

/// What messages come in, and what is in them around arguments and outputs.
pub const MESSAGES_DEPTH: usize = MAX_DEPTH + 16;

/// Read both sides and use them. `using` must not touch Python; it isn't given the means to.
///
/// The outer result is what objects of the user raised, the inner one what is wrong with the input, and on which side.
pub fn with_calls<R>(
    actual: &Bound<'_, PyAny>,
    expected: &Bound<'_, PyAny>,
    worker: &mut Worker,
    using: impl for<'a> Fn(Value<'a>, Value<'a>, Reader<'a>, &mut Scratch) -> Result<R, (Side, Error)>,
) -> PyResult<Result<R, (Side, Error)>> {
    if let Ok(used) = read_and_use(actual.as_borrowed(), expected.as_borrowed(), true, worker, &using) {
        return Ok(used);
    }
    // What was read so far was given up before any Python code runs.
    let actual = match plain::calls(actual, Extent::Calls)? {
        Ok(copy) => copy,
        Err(error) => return Ok(Err((Side::Actual, error))),
    };
    let expected = match plain::calls(expected, Extent::Calls)? {
        Ok(copy) => copy,
        Err(error) => return Ok(Err((Side::Expected, error))),
    };
    let used = read_and_use(actual.as_borrowed(), expected.as_borrowed(), true, worker, using);
    Ok(used.unwrap_or_else(|Foreign| Err((Side::Actual, Error::wrong_type("not a JSON value")))))
}

/// Read one list with all that is known of its calls or messages, and use it. What is said of [`with_calls`] holds here.
pub fn with_all<R>(
    object: &Bound<'_, PyAny>,
    using: impl for<'a> Fn(Value<'a>, Reader<'a>) -> Result<R, Error>,
) -> PyResult<Result<R, Error>> {
    if let Ok(used) = read_all_and_use(object.as_borrowed(), &using) {
        return Ok(used);
    }
    // What was read so far was given up before any Python code runs.
    let copy = match plain::calls(object, Extent::All)? {
        Ok(copy) => copy,
        Err(error) => return Ok(Err(error)),
    };
    let used = read_all_and_use(copy.as_borrowed(), using);
    Ok(used.unwrap_or_else(|Foreign| Err(Error::wrong_type("not a JSON value"))))
}

/// Read messages of any dialect, or what they come in, and use them: everything, since only who reads them knows what
/// matters. What is said of [`with_calls`] holds here.
pub fn with_messages<R>(
    object: &Bound<'_, PyAny>,
    using: impl for<'a> Fn(Value<'a>, Reader<'a>) -> Result<R, Error>,
) -> PyResult<Result<R, Error>> {
    if let Ok(used) = read_messages_and_use(object.as_borrowed(), false, &using) {
        return Ok(used);
    }
    // What was read so far was given up before any Python code runs.
    let copy = match plain::messages(object)? {
        Ok(copy) => copy,
        Err(error) => return Ok(Err(error)),
    };
    let used = read_messages_and_use(copy.as_borrowed(), true, using);
    Ok(used.unwrap_or_else(|Foreign| Err(Error::wrong_type("not a JSON value"))))
}

fn read_messages_and_use<R>(
    object: Object<'_, '_>,
    is_copy: bool,
    using: impl for<'a> Fn(Value<'a>, Reader<'a>) -> Result<R, Error>,
) -> Result<Result<R, Error>, Foreign> {
    stacker::maybe_grow(2 * STACK, 4 * STACK, || {
        let bump = Bump::new();
        let mut reading = Reading::<true>::new(&bump, true);
        reading.is_copy = is_copy;
        let read = match Kind::of(object) {
            Kind::Bytes => reading.json(object),
            _ => reading.value(object, MESSAGES_DEPTH),
        };
        match read {
            Ok(value) => Ok(using(value, Reader::new(&bump, true))),
            Err(Stop::Error(error)) => Ok(Err(error)),
            Err(Stop::Foreign) => Err(Foreign),
        }
    })
}

fn read_all_and_use<R>(
    object: Object<'_, '_>,
    using: impl for<'a> Fn(Value<'a>, Reader<'a>) -> Result<R, Error>,
) -> Result<Result<R, Error>, Foreign> {
    stacker::maybe_grow(STACK, 2 * STACK, || {
        let bump = Bump::new();
        match Reading::<true>::new(&bump, true).calls(object) {
            // Content may be deeper than what it holds.
            Ok(value) => Ok(using(value, Reader::new(&bump, true))),
            Err(Stop::Error(error)) => Ok(Err(error)),
            Err(Stop::Foreign) => Err(Foreign),
        }
    })
}

/// [`with_calls`] for many rows, on all threads of a pool; None for a row that has to be read by [`with_calls`].
///
/// This thread stays attached and waits, so no Python code can run meanwhile, and the others may read what it could read.
/// Nothing that they call needs a thread to be attached: they look at types, sizes and contents, and count no references.
pub fn with_many_calls<R: Send>(
    pool: &ThreadPool,
    rows: &[(Object<'_, '_>, Object<'_, '_>)],
    using: impl for<'a> Fn(Value<'a>, Value<'a>, Reader<'a>, &mut Scratch) -> Result<R, (Side, Error)> + Sync,
) -> Vec<Option<Result<R, (Side, Error)>>> {
    struct Shared<'r, 'a, 'py>(&'r [(Object<'a, 'py>, Object<'a, 'py>)]);
    // SAFETY: see above; the objects are only read, while the thread that they belong to waits.
    unsafe impl Sync for Shared<'_, '_, '_> {}

    let shared = Shared(rows);
    let shared = &shared;
    pool.install(|| {
        let each = (0..shared.0.len()).into_par_iter().with_min_len(16).map_init(Worker::default, |worker, row| {
            let Shared(rows) = shared;
            let (actual, expected) = rows[row];
            read_and_use(actual, expected, false, worker, &using).ok()
        });
        each.collect()
    })
}

/// Read a request, or anything else that is one value or JSON text of one, and use it. Whatever is in it has a value
/// (`request.rs`), and what was odd about it is a note. What is said of [`with_calls`] holds here.
pub fn with_request<R>(
    object: &Bound<'_, PyAny>,
    worker: &mut Worker,
    using: impl for<'a> Fn(Value<'a>, Vec<String>, &'a Bump) -> Result<R, Error>,
) -> PyResult<Result<R, Error>> {
    if let Ok(used) = read_request_and_use(object.as_borrowed(), true, worker, |value, bump| using(value, vec![], bump))
    {
        return Ok(used);
    }
    // What was read so far was given up before any Python code runs.
    let Plain { copy, notes } = match request::plain(object)? {
        Ok(plain) => plain,
        Err(error) => return Ok(Err(error)),
    };
    let used = read_request_and_use(copy.as_borrowed(), true, worker, |value, bump| using(value, notes.clone(), bump));
    Ok(used.unwrap_or_else(|Foreign| Err(Error::wrong_type("not a JSON value"))))
}

/// [`with_request`] for many, on all threads of a pool; None for one that has to be read by [`with_request`]. What is said of
/// [`with_many_calls`] holds here.
pub fn with_many_requests<R: Send>(
    pool: &ThreadPool,
    requests: &[Object<'_, '_>],
    using: impl for<'a> Fn(Value<'a>, &'a Bump) -> Result<R, Error> + Sync,
) -> Vec<Option<Result<R, Error>>> {
    struct Shared<'r, 'a, 'py>(&'r [Object<'a, 'py>]);
    // SAFETY: see `with_many_calls`; the objects are only read, while the thread that they belong to waits.
    unsafe impl Sync for Shared<'_, '_, '_> {}

    let shared = &Shared(requests);
    pool.install(|| {
        let each = (0..shared.0.len()).into_par_iter().map_init(Worker::default, |worker, index| {
            let Shared(requests) = shared;
            read_request_and_use(requests[index], false, worker, &using).ok()
        });
        each.collect()
    })
}

fn read_request_and_use<R>(
    object: Object<'_, '_>,
    attached: bool,
    worker: &mut Worker,
    using: impl for<'a> Fn(Value<'a>, &'a Bump) -> Result<R, Error>,
) -> Result<Result<R, Error>, Foreign> {
    stacker::maybe_grow(2 * STACK, 4 * STACK, || {
        let (bump, _) = worker.room();
        let json = match Kind::of(object) {
            Kind::Bytes => bytes(object),
            Kind::Text => text(object).utf8_in(bump),
            _ => {
                let value = Reading::<true>::new(bump, attached).value(object, REQUEST_DEPTH).map_err(|_| Foreign)?;
                return Ok(using(value, bump));
            }
        };
        Ok(json::parse(json, REQUEST_DEPTH, bump).map_err(Error::not_json).and_then(|value| using(value, bump)))
    })
}

/// An object was met whose JSON value only Python code can tell.
struct Foreign;

fn read_and_use<R>(
    actual: Object<'_, '_>,
    expected: Object<'_, '_>,
    attached: bool,
    worker: &mut Worker,
    using: impl for<'a> Fn(Value<'a>, Value<'a>, Reader<'a>, &mut Scratch) -> Result<R, (Side, Error)>,
) -> Result<Result<R, (Side, Error)>, Foreign> {
    // Deep values need more stack than some threads have, such as those of musl.
    stacker::maybe_grow(STACK, 2 * STACK, || {
        let (bump, scratch) = worker.room();
        let mut reading = Reading::<false>::new(bump, attached);
        let stopped = |stop, side| match stop {
            Stop::Error(error) => Ok(Err((side, error))),
            Stop::Foreign => Err(Foreign),
        };
        let actual = match reading.calls(actual) {
            Ok(actual) => actual,
            Err(stop) => return stopped(stop, Side::Actual),
        };
        let expected = match reading.calls(expected) {
            Ok(expected) => expected,
            Err(stop) => return stopped(stop, Side::Expected),
        };
        Ok(using(actual, expected, Reader::new(bump, false), scratch))
    })
}

/// More than reading, comparing and showing values of the greatest depth takes.
pub const STACK: usize = 1 << 20;

/// Why reading stopped.
enum Stop {
    Error(Error),
    /// An object whose JSON value only Python code can tell.
    Foreign,
}

impl Stop {
    fn map(self, add: impl FnOnce(Error) -> Error) -> Stop {
        match self {
            Stop::Error(error) => Stop::Error(add(error)),
            Stop::Foreign => Stop::Foreign,
        }
    }
}

/// How much of a call or a message is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// What says which calls there are.
    Calls,
    /// All that is known of calls, and what was said.
    All,
}

/// `ALL`: whether all of [`Extent::All`] is read. Known to the compiler, so that reading calls alone costs no question.
struct Reading<'a, const ALL: bool> {
    bump: &'a Bump,
    /// Whether this thread is attached to the interpreter itself.
    attached: bool,
    /// Is it a copy by `plain::messages`? Bytes stand there for what is no JSON value, and are the name of its type.
    is_copy: bool,
    /// How many more values may be read.
    room: usize,
    /// Stacks of what belongs to the containers that are open, as in the JSON parser.
    items: Vec<Value<'a>>,
    members: Vec<Member<'a>>,
}

/// An object that is borrowed, and alive, for as long as the values are used.
pub type Object<'a, 'py> = Borrowed<'a, 'py, PyAny>;

impl<'a, const ALL: bool> Reading<'a, ALL> {
    fn new(bump: &'a Bump, attached: bool) -> Self {
        let (items, members) = (Vec::with_capacity(16), Vec::with_capacity(16));
        Reading { bump, attached, is_copy: false, room: MOST_VALUES, items, members }
    }

    /// A list of calls or messages, or JSON text of one.
    fn calls(&mut self, object: Object<'a, '_>) -> Result<Value<'a>, Stop> {
        match Kind::of(object) {
            Kind::List | Kind::Tuple => self.array(object, |reading, item| reading.call(item, LEVELS)),
            Kind::Bytes => self.json(object),
            Kind::Dict => Err(Stop::Error(Error::no_calls("a dict"))),
            _ => self.value(object, MAX_DEPTH),
        }
    }

    /// JSON text as bytes.
    fn json(&self, object: Object<'a, '_>) -> Result<Value<'a>, Stop> {
        let bytes = bytes(object);
        json::check_utf8(bytes).map_err(|error| Stop::Error(Error::not_json(error)))?;
        Ok(Value::Text(Text::Utf8(bytes)))
    }

    /// A call or a message: only what is asked of one is read, but no key is left out.
    fn call(&mut self, object: Object<'a, '_>, levels: usize) -> Result<Value<'a>, Stop> {
        match Kind::of(object) {
            Kind::Dict => self.object(object, |reading, key, value| match Key::of(key) {
                Key::Other if !ALL || !trace::is_word(key) => Ok(Value::Null),
                Key::CONTENT if ALL => reading.value(value, CONTENT_DEPTH),
                key if key.holds_calls() && levels > 0 => match Kind::of(value) {
                    Kind::List | Kind::Tuple => reading.array(value, |reading, item| reading.call(item, levels - 1)),
                    Kind::Dict | Kind::Foreign => reading.call(value, levels - 1),
                    _ => reading.value(value, MAX_DEPTH),
                },
                _ => reading.value(value, MAX_DEPTH),
            }),
            Kind::List | Kind::Tuple => Ok(Value::Array(&[])),
            _ => self.value(object, MAX_DEPTH),
        }
    }

    fn value(&mut self, object: Object<'a, '_>, depth: usize) -> Result<Value<'a>, Stop> {
        match Kind::of(object) {
            Kind::Text => Ok(Value::Text(text(object))),
            Kind::Int => self.int(object),
            // SAFETY: a float, by its type.
            Kind::Float => Ok(Value::Float(unsafe { ffi::PyFloat_AS_DOUBLE(object.as_ptr()) })),
            Kind::True => Ok(Value::True),
            Kind::False => Ok(Value::False),
            Kind::None => Ok(Value::Null),
            Kind::Dict | Kind::List | Kind::Tuple if depth == 0 => Err(Stop::Error(Error::too_deep())),
            Kind::Dict => self.object(object, |reading, _, value| reading.value(value, depth - 1)),
            Kind::List | Kind::Tuple => self.array(object, |reading, item| reading.value(item, depth - 1)),
            Kind::Bytes if self.is_copy => Ok(Value::Foreign(self.bump.alloc(Text::Utf8(bytes(object))))),
            Kind::Bytes | Kind::Foreign => Err(Stop::Foreign),
        }
    }

    fn int(&mut self, object: Object<'a, '_>) -> Result<Value<'a>, Stop> {
        let mut overflow = 0;
        // SAFETY: an int, by its type, so this can't fail.
        let int = unsafe { ffi::PyLong_AsLongLongAndOverflow(object.as_ptr(), &mut overflow) };
        if overflow == 0 {
            return Ok(Value::Int(int));
        }
        // What the conversion does inside is PyO3's affair, so it is left to the thread that is attached.
        let int = if self.attached { object.extract::<BigInt>().ok() } else { None };
        let Some(int) = int else { return Err(Stop::Foreign) };
        let bytes = self.bump.alloc_slice_copy(&int.magnitude().to_bytes_le());
        let big = Big { negative: int.sign() == Sign::Minus, magnitude: Magnitude::Binary(bytes) };
        Ok(Value::Big(self.bump.alloc(big)))
    }

    fn array<'py>(
        &mut self,
        object: Object<'a, 'py>,
        read: impl Fn(&mut Self, Object<'a, 'py>) -> Result<Value<'a>, Stop>,
    ) -> Result<Value<'a>, Stop> {
        let start = self.items.len();
        let pointer = object.as_ptr();
        let is_list = Kind::of(object) == Kind::List;
        // SAFETY: a list or a tuple, by its type.
        let length = unsafe { if is_list { ffi::PyList_GET_SIZE(pointer) } else { ffi::PyTuple_GET_SIZE(pointer) } };
        self.take(length.unsigned_abs())?;
        for index in 0..length {
            // SAFETY: in bounds, since nothing changes while values are read. The item is kept alive by its container.
            let item = unsafe {
                let item =
                    if is_list { ffi::PyList_GET_ITEM(pointer, index) } else { ffi::PyTuple_GET_ITEM(pointer, index) };
                Borrowed::from_ptr(object.py(), item)
            };
            let item = read(self, item).map_err(|stop| stop.map(|error| error.at_index(index.unsigned_abs())))?;
            self.items.push(item);
        }
        let items = self.bump.alloc_slice_copy(&self.items[start..]);
        self.items.truncate(start);
        Ok(Value::Array(items))
    }

    fn object<'py>(
        &mut self,
        object: Object<'a, 'py>,
        read: impl Fn(&mut Self, Text<'a>, Object<'a, 'py>) -> Result<Value<'a>, Stop>,
    ) -> Result<Value<'a>, Stop> {
        let start = self.members.len();
        let (mut position, mut key, mut value) = (0, std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: a dict, by its type, which doesn't change while values are read.
        while unsafe { ffi::PyDict_Next(object.as_ptr(), &mut position, &mut key, &mut value) } != 0 {
            // SAFETY: they are kept alive by the dict.
            let (key, value) =
                unsafe { (Borrowed::from_ptr(object.py(), key), Borrowed::from_ptr(object.py(), value)) };
            if Kind::of(key) != Kind::Text {
                // `plain.rs` can name the key and its type.
                return Err(Stop::Foreign);
            }
            let key = text(key);
            let value = read(self, key, value).map_err(|stop| stop.map(|error| error.at_key(key)))?;
            self.members.push(Member { key, value });
        }
        self.take(self.members.len() - start)?;
        let members = self.bump.alloc_slice_copy(&self.members[start..]);
        self.members.truncate(start);
        Ok(Value::Object(members))
    }

    fn take(&mut self, values: usize) -> Result<(), Stop> {
        self.room = self.room.checked_sub(values).ok_or_else(|| Stop::Error(Error::too_many_values()))?;
        Ok(())
    }
}

fn bytes<'a>(object: Object<'a, '_>) -> &'a [u8] {
    // SAFETY: a bytes object, by its kind, whose buffer lives as long as it does and never changes.
    unsafe {
        let pointer = object.as_ptr();
        let length = ffi::PyBytes_Size(pointer).unsigned_abs();
        std::slice::from_raw_parts(ffi::PyBytes_AsString(pointer).cast::<u8>(), length)
    }
}

fn text<'a>(object: Object<'a, '_>) -> Text<'a> {
    let pointer = object.as_ptr();
    // SAFETY: a str in its canonical form, by its kind: an array of units that lives as long as it does and never changes.
    unsafe {
        let length = ffi::PyUnicode_GET_LENGTH(pointer).unsigned_abs();
        let data = ffi::PyUnicode_DATA(pointer);
        match ffi::PyUnicode_KIND(pointer) {
            ffi::PyUnicode_2BYTE_KIND => Text::Ucs2(std::slice::from_raw_parts(data.cast(), length)),
            ffi::PyUnicode_4BYTE_KIND => Text::Ucs4(std::slice::from_raw_parts(data.cast(), length)),
            _ if ffi::PyUnicode_IS_ASCII(pointer) != 0 => Text::Utf8(std::slice::from_raw_parts(data.cast(), length)),
            _ => Text::Latin1(std::slice::from_raw_parts(data.cast(), length)),
        }
    }
}

/// What an object is, by its type. Subclasses count as the type: their contents are read, none of their methods is called.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Int,
    Float,
    True,
    False,
    None,
    Dict,
    List,
    Tuple,
    Bytes,
    Foreign,
}

impl Kind {
    #[inline]
    fn of(object: Borrowed<'_, '_, PyAny>) -> Kind {
        let pointer = object.as_ptr();
        // SAFETY: reads the type of a living object, its flags, and the addresses of static objects.
        unsafe {
            let class = ffi::Py_TYPE(pointer);
            if class == &raw mut ffi::PyUnicode_Type {
                Kind::of_text(pointer)
            } else if class == &raw mut ffi::PyDict_Type {
                Kind::Dict
            } else if class == &raw mut ffi::PyLong_Type {
                Kind::Int
            } else if class == &raw mut ffi::PyList_Type {
                Kind::List
            } else if class == &raw mut ffi::PyFloat_Type {
                Kind::Float
            } else if pointer == ffi::Py_None() {
                Kind::None
            } else if pointer == ffi::Py_True() {
                Kind::True
            } else if pointer == ffi::Py_False() {
                Kind::False
            } else {
                let is = |flag| ffi::PyType_FastSubclass(class, flag) != 0;
                if is(ffi::Py_TPFLAGS_UNICODE_SUBCLASS) {
                    Kind::of_text(pointer)
                } else if is(ffi::Py_TPFLAGS_DICT_SUBCLASS) {
                    Kind::Dict
                } else if is(ffi::Py_TPFLAGS_LIST_SUBCLASS) {
                    Kind::List
                } else if is(ffi::Py_TPFLAGS_TUPLE_SUBCLASS) {
                    Kind::Tuple
                } else if is(ffi::Py_TPFLAGS_LONG_SUBCLASS) {
                    Kind::Int
                } else if is(ffi::Py_TPFLAGS_BYTES_SUBCLASS) {
                    Kind::Bytes
                } else if ffi::PyFloat_Check(pointer) != 0 {
                    Kind::Float
                } else {
                    Kind::Foreign
                }
            }
        }
    }

    /// Before Python 3.12 a `str` made by an old interface may not have its canonical form yet.
    #[inline]
    unsafe fn of_text(_pointer: *mut ffi::PyObject) -> Kind {
        #[cfg(not(Py_3_12))]
        // SAFETY: a living str.
        if unsafe { ffi::PyUnicode_IS_READY(_pointer) } == 0 {
            return Kind::Foreign;
        }
        Kind::Text
    }
}
