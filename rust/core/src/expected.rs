//! An expectation: the calls that should be made and how they are held against those that were. It is compiled once and
//! may be checked against any number of traces.

use std::collections::HashMap;

use crate::{
    call::{Arguments, Call, ExpectedCall},
    compare,
    matching::{self, Scratch},
    options::{ArgumentMode, Options},
    report::Report,
    text::Text,
};

pub struct Expectation<'a> {
    pub options: Options,
    pub calls: Vec<ExpectedCall<'a>>,
    /// For each expected call, which of the tools it names; tools are numbered in the order of their first call.
    pub tools: Vec<u32>,
    /// The names of these tools.
    pub names: Vec<Text<'a>>,
    index: Option<HashMap<Text<'a>, u32>>,
}

/// The number of a tool that no expected call names.
pub const NO_TOOL: u32 = u32::MAX;
/// More names than this are looked up by hash.
const LINEAR: usize = 16;

impl<'a> Expectation<'a> {
    pub fn compile(options: Options, calls: Vec<ExpectedCall<'a>>) -> Self {
        let mut expectation =
            Expectation { options, tools: Vec::with_capacity(calls.len()), calls, names: Vec::new(), index: None };
        for place in 0..expectation.calls.len() {
            let name = expectation.calls[place].name;
            let mut tool = expectation.tool(name);
            if tool == NO_TOOL {
                tool = expectation.names.len() as u32;
                expectation.names.push(name);
                match &mut expectation.index {
                    Some(index) => drop(index.insert(name, tool)),
                    None if expectation.names.len() > LINEAR => {
                        expectation.index = Some(expectation.names.iter().copied().zip(0..).collect());
                    }
                    None => {}
                }
            }
            expectation.tools.push(tool);
        }
        expectation
    }

    /// The number of the tool of this name, or [`NO_TOOL`].
    pub fn tool(&self, name: Text<'_>) -> u32 {
        match &self.index {
            Some(index) => index.get(&name).copied().unwrap_or(NO_TOOL),
            None => self.names.iter().position(|&known| known == name).map_or(NO_TOOL, |tool| tool as u32),
        }
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    No,
    Yes,
    /// The call's arguments were not recorded, and it depends on them.
    Unknown,
}
