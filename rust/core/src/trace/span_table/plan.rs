//! What is read of the columns of one table, and the record that is made of a row.

use super::{
    lean::{self, Use},
    profiles::{Given, Profile},
};
use crate::{
    call::Reader,
    error::Error,
    text::Text,
    trace::{
        decode,
        rows::{
            self,
            row::{self, is_there},
        },
    },
    value::{Member, Value, get},
};

/// What is read of the columns of a table.
pub struct Plan {
    pub profile: &'static Profile,
    /// Are conversations asked for?
    pub has_sessions: bool,
    /// Are questions read too?
    pub reads_all: bool,
    columns: Vec<Column>,
    /// What is looked at before anything else is read.
    kinds: Vec<usize>,
    /// Does no column say what a span is but the one that is looked at?
    is_told_once: bool,
    /// The place of the names of tools.
    tool_name: Option<usize>,
}

struct Column {
    /// In the table.
    place: usize,
    name: Box<str>,
    /// What is done with it.
    role: Role,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Whole,
    /// It holds attributes.
    Attributes,
    /// It is only known that it is there, under this key.
    Seen(&'static str),
    /// What a span was given, and what it gave.
    Given,
    Gave,
    /// What may say more of a span than its kind does.
    Beside,
    /// A whole trace, with its spans; and the spans, where that isn't one.
    Trace,
    Spans,
}

const KIND_OF_PHOENIX: &str = "span_kind";

impl Plan {
    pub fn new(names: &[&str], profile: &'static Profile, has_sessions: bool, reads_all: bool) -> Plan {
        let role = |name: &str| {
            let role = role(profile, name, has_sessions)?;
            Some(if reads_all { Role::Whole } else { role })
        };
        let mut columns: Vec<Column> = names
            .iter()
            .enumerate()
            .filter_map(|(place, name)| Some(Column { place, name: (*name).into(), role: role(name)? }))
            .collect();
        let of_kind = |column: &Column| match &profile.given {
            Some(Given { kind, .. }) => &*column.name == *kind,
            None => {
                profile.attribute.is_some()
                    && (&*column.name == KIND_OF_PHOENIX || attribute(profile, &column.name) == Some(lean::KIND))
            }
        };
        let mut kinds: Vec<usize> =
            columns.iter().enumerate().filter(|(_, column)| of_kind(column)).map(|(number, _)| number).collect();
        // An attribute stands before the column.
        kinds.sort_by_key(|number| columns.get(*number).is_some_and(|column| &*column.name == KIND_OF_PHOENIX));
        let may_say_more = |column: &Column| match attribute(profile, &column.name) {
            Some(key) => lean::may_say_more(key.as_bytes()),
            None => profile.attribute.is_some() && column.role == Role::Attributes,
        };
        let is_told_once = !columns.iter().any(may_say_more);
        if !is_told_once {
            // LangSmith's SDK has what tools were given there.
            let seen = columns.iter_mut().filter(|column| matches!(column.role, Role::Seen(_)));
            seen.for_each(|column| column.role = Role::Whole);
        }
        let tool_name = columns.iter().find(|column| attribute(profile, &column.name) == Some(lean::NAME));
        let tool_name = tool_name.map(|column| column.place);
        Plan { profile, has_sessions, reads_all, columns, kinds, is_told_once, tool_name }
    }

    /// The places of the columns that are read.
    pub fn columns(&self) -> impl Iterator<Item = usize> {
        let is_read = |column: &&Column| !matches!(column.role, Role::Seen(_));
        self.columns.iter().filter(is_read).map(|column| column.place)
    }

    /// The record of a row, out of the cells of those columns that are needed. None, or null: the row has no such cell.
    /// `is_set`: is there anything in a cell?
    pub fn record<'a>(
        &'a self,
        reader: Reader<'a>,
        is_set: impl Fn(usize) -> bool,
        cell: impl Fn(usize) -> Result<Value<'a>, Error>,
    ) -> Result<Value<'a>, Error> {
        let read = |column: &'a Column| {
            if !is_set(column.place) {
                return Ok(Value::Null);
            }
            cell(column.place).map_err(|error| error.at_key(Text::from(&*column.name)))
        };
        let mut members: Vec<Member<'a>> = Vec::with_capacity(self.columns.len());
        let kind = self.kind(read)?;
        let given_is_needed = self.reads_all || self.given_is_needed(reader, kind, read)?;
        // A handoff is told by what it gave.
        let is_named_tool = self.is_told_once && lean::is_tool(kind) && self.tool_name.is_some_and(&is_set);
        let mut seen: Vec<&'static str> = Vec::new();
        let mut has_trace = false;
        for column in &self.columns {
            let value = match column.role {
                Role::Seen(key) => {
                    if is_set(column.place) && !seen.contains(&key) {
                        seen.push(key);
                    }
                    continue;
                }
                Role::Given if !given_is_needed => match is_set(column.place) && self.profile.given.is_some() {
                    true => Value::Object(&[]),
                    false => Value::Null,
                },
                Role::Spans if has_trace => Value::Null,
                _ => read(column)?,
            };
            let value = match column.role {
                Role::Attributes => lean::attributes(reader, value),
                Role::Beside => decode::decoded(reader, value),
                Role::Gave if is_named_tool => lean::result(value),
                Role::Trace => {
                    let trace = decode::decoded(reader, value);
                    has_trace = rows::is_trace_of_mlflow(trace);
                    if has_trace { trace } else { value }
                }
                _ => value,
            };
            if !matches!(value, Value::Null) {
                members.push(Member { key: Text::from(&*column.name), value });
            }
        }
        if let Some(prefix) = self.profile.attribute {
            members.extend(seen.iter().map(|&key| {
                let key = Text::from(&*reader.bump.alloc_str(&format!("{prefix}{key}")));
                Member { key, value: Value::Array(&[]) }
            }));
        }
        Ok(Value::Object(reader.bump.alloc_slice_copy(&members)))
    }

    /// What a column says that a span is.
    fn kind<'a>(&'a self, read: impl Fn(&'a Column) -> Result<Value<'a>, Error>) -> Result<Option<Value<'a>>, Error> {
        for column in self.kinds.iter().filter_map(|number| self.columns.get(*number)) {
            let kind = read(column)?;
            if is_there(kind) {
                return Ok(Some(kind));
            }
        }
        Ok(None)
    }

    /// Is it a tool, or may it be one?
    fn given_is_needed<'a>(
        &'a self,
        reader: Reader<'a>,
        kind: Option<Value<'a>>,
        read: impl Fn(&'a Column) -> Result<Value<'a>, Error>,
    ) -> Result<bool, Error> {
        let Some(given) = &self.profile.given else {
            return Ok(!(self.is_told_once && lean::is_no_tool(kind)));
        };
        if !lean::is_one_of(kind, given.not_tools) {
            return Ok(true);
        }
        for column in self.columns.iter().filter(|column| column.role == Role::Beside) {
            if says_more(reader, read(column)?) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn role(profile: &Profile, name: &str, has_sessions: bool) -> Option<Role> {
    if let Some(key) = attribute(profile, name) {
        return match lean::use_of(key.as_bytes()) {
            Use::Read if key == lean::INPUT => Some(Role::Given),
            Use::Read if key == lean::OUTPUT => Some(Role::Gave),
            Use::Read => Some(Role::Whole),
            Use::Seen(key) => Some(Role::Seen(key)),
            Use::No => None,
        };
    }
    if profile.attributes.contains(&name) {
        return Some(Role::Attributes);
    }
    if profile.given.as_ref().is_some_and(|given| given.beside.contains(&name)) {
        return Some(Role::Beside);
    }
    if profile.of_given(name) {
        return Some(Role::Given);
    }
    let is_read = [profile.needs, profile.reads].iter().any(|all| all.iter().any(|names| names.contains(&name)));
    if is_read || has_sessions && profile.sessions.contains(&name) {
        return Some(match name {
            "trace" => Role::Trace,
            "spans" => Role::Spans,
            _ => Role::Whole,
        });
    }
    None
}

/// The attribute in a column.
fn attribute<'n>(profile: &Profile, name: &'n str) -> Option<&'n str> {
    name.strip_prefix(profile.attribute?)
}

/// Did an instrumentation leave attributes in what stands beside a span, which may say that it is something else? What is
/// no object is not looked into, and may.
fn says_more<'a>(reader: Reader<'a>, beside: Value<'a>) -> bool {
    let metadata = match decode::decoded(reader, beside) {
        Value::Null => return false,
        Value::Object(members) => members,
        _ => return true,
    };
    let inner = match get(metadata, Text::from("metadata")).map(|inner| decode::decoded(reader, inner)) {
        Some(Value::Object(members)) => members,
        _ => &[],
    };
    let is_attribute = |member: &Member<'a>| {
        let key = member.key.utf8_in(reader.bump);
        row::is_there(member.value) && (key == b"attributes" || memchr::memchr(b'.', key).is_some())
    };
    metadata.iter().chain(inner).any(is_attribute)
}
