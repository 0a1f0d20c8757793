//! An expectation: the calls that should be made and how they are held against those that were. It is compiled once and
//! may be checked against any number of traces.

use std::collections::HashMap;

use bumpalo::Bump;

use crate::{
    call::{Arguments, Call, ExpectedCall, last_segment},
    compare,
    error::Error,
    matching::{self, Scratch},
    options::{ArgumentMode, Names, Options},
    report::Report,
    show,
    text::Text,
};

pub struct Expectation<'a> {
    pub options: Options,
    pub calls: &'a [ExpectedCall<'a>],
    /// For each expected call, which of the tools it names; tools are numbered in the order of their first call.
    pub tools: &'a [u32],
    /// The names of these tools.
    pub names: &'a [Text<'a>],
    index: Option<HashMap<Text<'a>, u32>>,
}

/// The number of a tool that no expected call names.
pub const NO_TOOL: u32 = u32::MAX;
/// More names than this are looked up by hash.
const LINEAR: usize = 16;

impl<'a> Expectation<'a> {
    pub fn compile(options: Options, calls: &'a [ExpectedCall<'a>], bump: &'a Bump) -> Self {
        let mut tools = bumpalo::collections::Vec::with_capacity_in(calls.len(), bump);
        let mut names = bumpalo::collections::Vec::with_capacity_in(calls.len().min(LINEAR), bump);
        let mut index: Option<HashMap<_, _>> = None;
        for call in calls {
            let tool = match find(&names, index.as_ref(), call.name) {
                NO_TOOL => {
                    let tool = names.len() as u32;
                    names.push(call.name);
                    match &mut index {
                        Some(index) => drop(index.insert(call.name, tool)),
                        None if names.len() > LINEAR => index = Some(names.iter().copied().zip(0..).collect()),
                        None => {}
                    }
                    tool
                }
                known => known,
            };
            tools.push(tool);
        }
        Expectation { options, calls, tools: tools.into_bump_slice(), names: names.into_bump_slice(), index }
    }

    /// The number of the tool that a made call of this name is one of, or [`NO_TOOL`].
    pub fn tool(&self, name: Text<'_>) -> u32 {
        match find(self.names, self.index.as_ref(), name) {
            NO_TOOL if self.options.names == Names::LastSegment => self.by_last_segment(name),
            tool => tool,
        }
    }

    /// Out of line, so that whole names are looked up as quickly as if there were nothing else.
    #[cold]
    fn by_last_segment(&self, name: Text<'_>) -> u32 {
        last_segment(name).map_or(NO_TOOL, |segment| find(self.names, self.index.as_ref(), segment))
    }

    /// No made call may be one of two tools: no name may be the last segment of another.
    pub fn unambiguous(&self) -> Result<(), Error> {
        if self.options.names == Names::Exact {
            return Ok(());
        }
        let both = (0..).zip(self.names).filter_map(|(tool, &name)| match self.by_last_segment(name) {
            NO_TOOL => None,
            segment => Some((segment.max(tool), tool, segment)),
        });
        let Some((later, tool, segment)) = both.min() else { return Ok(()) };
        let [name, segment] =
            [tool, segment].map(|tool| show::in_a_sentence(&show::storable(self.names[tool as usize])));
        let message = format!(
            "a call of `{name}` would be one of `{segment}` too, which is its last segment; use names=\"exact\", or \
             write the two names alike"
        );
        let place = self.tools.iter().position(|&tool| tool == later).unwrap_or_default();
        Err(Error::value(message).at_index(place))
    }

    /// Hold the calls that were made against this.
    pub fn check(&self, actual: &[Call<'a>], scratch: &mut Scratch) -> Report {
        matching::check(self, actual, scratch)
    }

    /// Does a made call of the same tool fit this expected one?
    pub fn fit(&self, expected: usize, call: &Call<'a>) -> Fit {
        let Some(listed) = self.calls[expected].arguments else { return Fit::Yes };
        let mode = self.options.arguments;
        match call.arguments {
            _ if mode == ArgumentMode::Ignore => Fit::Yes,
            Arguments::Object(members) if compare::arguments_match(members, listed, mode) => Fit::Yes,
            Arguments::Object(_) | Arguments::Unreadable => Fit::No,
            // Whatever they were, they had all of the keys listed, which are none.
            Arguments::NotRecorded if listed.is_empty() && mode == ArgumentMode::Partial => Fit::Yes,
            Arguments::NotRecorded => Fit::Unknown,
        }
    }
}

fn find<'a>(names: &[Text<'a>], index: Option<&HashMap<Text<'a>, u32>>, name: Text<'_>) -> u32 {
    match index {
        Some(index) => index.get(&name).copied().unwrap_or(NO_TOOL),
        None => names.iter().position(|&known| known == name).map_or(NO_TOOL, |tool| tool as u32),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    No,
    Yes,
    /// The call's arguments were not recorded, and it depends on them.
    Unknown,
}
