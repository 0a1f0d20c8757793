//! What the trace holds: the leaves of payloads with their typed values, and where they stand.
//!
//! The query and the context are leaves too, since what a text repeats of them is no invention.

mod flatten;
mod index;
mod keys;
pub mod measure;
mod tables;
mod typed;

use std::fmt::Write;

use bumpalo::Bump;

use super::{
    request::{Call, Request},
    scan::{Unit, What},
    settings::Settings,
    status::Outcome,
};
use crate::value::Value;

pub use index::{Index, float};
pub use keys::{PerKey, Traits};

/// Room for most JSON pointers.
const USUAL_STEPS: usize = 8;
const USUAL_POINTER: usize = 64;

/// `Leaf::call` and `Node::call` of what belongs to no call: the query, the context.
pub const NO_CALL: u32 = u32::MAX;

/// A scalar of a payload (or an empty object or list), a cell of a table of text, the query, or a text of the context.
#[derive(Clone, Copy, Debug)]
pub struct Leaf<'a> {
    /// Index into `Request::calls`, or [`NO_CALL`].
    pub call: u32,
    pub side: Side,
    /// The call did not succeed: what it says supports nothing but talk of the failure.
    pub failed: bool,
    /// The node that it is in (an object or a list; None for a payload that is a scalar), and its own key or index there:
    /// see [`Facts::pointer`].
    pub node: Option<u32>,
    pub key: Step<'a>,
    /// The words of its nearest key, split at case, digits and punctuation, in lower case: `tempC` is ["temp", "c"]. Those
    /// of the keys around it are found through `node`.
    pub words: &'a [&'a str],
    /// The same for the same words, within a request: what is found out about them has to be found out once.
    pub words_id: u32,
    /// What the words of that key say of it.
    pub traits: Traits,
    pub value: Value<'a>,
    /// Of a text: in UTF-8, with double escapes (a literal `\u2009`) undone.
    pub text: &'a str,
    /// The unit that key, sibling (`unit`, `currency`), arguments (`units: imperial`) or hint gives it.
    pub unit: Option<Unit<'a>>,
    /// An id, a time of a record's own, a page number, a link …: nobody expects it in an answer.
    pub technical: bool,
    /// In a response: the arguments of the call say the same.
    pub echo: bool,
    /// A cell of a table of text (CSV): the header is its key, and `node` is its row.
    pub cell: bool,
    /// Its facts stand together: first, and one behind the last.
    pub facts: (u32, u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Request,
    Response,
    /// The error of a call, or the status of one that failed.
    Error,
    Query,
    /// The leaf's key is the index into `Request::context`.
    Context,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    Key(&'a str),
    Index(u32),
}

/// An object or a list.
#[derive(Clone, Copy, Debug)]
pub struct Node<'a> {
    pub call: u32,
    pub side: Side,
    pub parent: Option<u32>,
    pub key: Step<'a>,
    /// Of its own key; of an item of a list, those of the list.
    pub words: &'a [&'a str],
    pub words_id: u32,
    /// How many it has.
    pub length: u32,
    pub is_list: bool,
    /// It was found in a text (JSON in a string, a table, a row of it): pointers end at that text.
    pub embedded: bool,
    /// Its leaves, and those of all that is in it, stand together: first, and one behind the last.
    pub leaves: (u32, u32),
}

/// A typed value of a leaf: the number that it is, or one of those in its text.
#[derive(Clone, Copy, Debug)]
pub struct Fact<'a> {
    pub leaf: u32,
    /// A number has the unit of its leaf, where it has none of its own.
    pub what: What<'a>,
    /// The leaf is nothing but this (a number; or a text that is no more than one, such as "72F").
    pub whole: bool,
    /// Digits inside of something else (a model name, a date, "24/30/60fps"): enough not to call a number invented, and no more.
    pub loose: bool,
    /// Of these, what is inside of an id: no amount of anything.
    pub in_id: bool,
}

#[derive(Debug, Default)]
pub struct Facts<'a> {
    pub calls: &'a [Call<'a>],
    pub leaves: &'a [Leaf<'a>],
    pub nodes: &'a [Node<'a>],
    /// In the order of their leaves.
    pub facts: &'a [Fact<'a>],
    pub index: Index<'a>,
    /// There was more in the payloads than is looked at, so that nothing can be said to be nowhere.
    pub cut: bool,
}

pub fn collect<'a>(request: &Request<'a>, outcomes: &[Outcome], settings: &Settings, bump: &'a Bump) -> Facts<'a> {
    flatten::facts(request, outcomes, settings, bump)
}

impl<'a> Facts<'a> {
    pub fn leaf(&self, index: u32) -> Option<&Leaf<'a>> {
        self.leaves.get(index as usize)
    }

    pub fn node(&self, index: u32) -> Option<&Node<'a>> {
        self.nodes.get(index as usize)
    }

    /// The facts of a leaf.
    pub fn facts_of(&self, leaf: u32) -> &'a [Fact<'a>] {
        self.leaf(leaf)
            .and_then(|leaf| self.facts.get(leaf.facts.0 as usize..leaf.facts.1 as usize))
            .unwrap_or_default()
    }

    /// The nodes around a leaf, the nearest first.
    pub fn around(&self, leaf: u32) -> impl Iterator<Item = (u32, &Node<'a>)> {
        let mut next = self.leaf(leaf).and_then(|leaf| leaf.node);
        std::iter::from_fn(move || {
            let index = next?;
            let node = self.node(index)?;
            next = node.parent;
            Some((index, node))
        })
    }

    /// Where a leaf stands in the request: an RFC 6901 JSON pointer. What was found in a text has the pointer of the text.
    pub fn pointer(&self, leaf: u32) -> Option<String> {
        let found = self.leaf(leaf)?;
        let mut steps = Vec::with_capacity(USUAL_STEPS);
        let mut key = found.key;
        for (_, node) in self.around(leaf) {
            if node.embedded {
                // Whatever is in it is in the text that `node` was read from, whose place is that of `node`.
                steps.clear();
            } else {
                steps.push(key);
            }
            key = node.key;
        }
        Some(self.written(found.call, found.side, key, &steps))
    }

    /// Where an object or a list stands in the request.
    pub fn pointer_to_node(&self, node: u32) -> Option<String> {
        let found = self.node(node)?;
        let mut steps = Vec::new();
        let mut key = found.key;
        let mut next = found.parent;
        while let Some(node) = next.and_then(|index| self.node(index)) {
            if node.embedded {
                steps.clear();
            } else {
                steps.push(key);
            }
            key = node.key;
            next = node.parent;
        }
        Some(self.written(found.call, found.side, key, &steps))
    }

    /// `steps` from the inside out; `root` is the key of the outermost.
    fn written(&self, call: u32, side: Side, root: Step<'_>, steps: &[Step<'_>]) -> String {
        let of_call = |call: &Call<'_>, key: &str| {
            let mut out = String::with_capacity(USUAL_POINTER);
            out.push_str("/tool_trace");
            push(&mut out, Step::Index(call.index as u32));
            push(&mut out, Step::Key(key));
            out
        };
        let mut out = match (side, self.calls.get(call as usize), root) {
            (Side::Query, ..) => "/user_query".to_owned(),
            (Side::Context, _, Step::Index(index)) => format!("/context/{index}"),
            (Side::Context, ..) | (_, None, _) => "/context".to_owned(),
            (Side::Request, Some(call), _) => of_call(call, call.request_key),
            (Side::Response, Some(call), _) => of_call(call, call.response_key),
            (Side::Error, Some(call), Step::Key(key)) => of_call(call, key),
            (Side::Error, Some(call), _) => of_call(call, "error"),
        };
        steps.iter().rev().for_each(|step| push(&mut out, *step));
        out
    }
}

/// A step of a JSON pointer.
fn push(pointer: &mut String, step: Step<'_>) {
    pointer.push('/');
    match step {
        Step::Key(key) if key.contains(['~', '/']) => pointer.push_str(&key.replace('~', "~0").replace('/', "~1")),
        Step::Key(key) => pointer.push_str(key),
        // Nothing can go wrong where text is written to a String.
        Step::Index(index) => drop(write!(pointer, "{index}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        grounding::{
            scan::Reading,
            status::{Outcome, Status},
        },
        json,
    };

    fn call<'a>(request: Option<Value<'a>>, response: Option<Value<'a>>) -> Call<'a> {
        Call {
            index: 0,
            tool: "t",
            status: None,
            error: None,
            request,
            response,
            request_key: "request_payload",
            response_key: "response_payload",
            start: None,
            end: None,
            retries: 0,
        }
    }

    fn parsed<'a>(text: &'a str, bump: &'a Bump) -> Value<'a> {
        json::parse(text.as_bytes(), 500, bump).unwrap()
    }

    fn of<'a>(request: &'a str, response: &'a str, status: Status, bump: &'a Bump) -> Facts<'a> {
        let calls = bump.alloc_slice_copy(&[call(Some(parsed(request, bump)), Some(parsed(response, bump)))]);
        let request =
            Request { query: "what is 7?", text: "", calls, tools: None, context: &["it was 8"], notes: Vec::new() };
        let outcomes = [Outcome { status, suspect: false, resolved_by: None }];
        collect(&request, &outcomes, &Settings::default(), bump)
    }

    fn response<'a>(response: &'a str, bump: &'a Bump) -> Facts<'a> {
        of("{}", response, Status::Success, bump)
    }

    fn at<'f, 'a>(facts: &'f Facts<'a>, pointer: &str) -> &'f Leaf<'a> {
        let found = (0..facts.leaves.len()).find(|&leaf| facts.pointer(leaf as u32).as_deref() == Some(pointer));
        facts.leaves.get(found.unwrap_or_else(|| panic!("no {pointer}"))).unwrap()
    }

    fn numbers(facts: &Facts<'_>, leaf: &Leaf<'_>) -> Vec<String> {
        let facts = facts.facts.get(leaf.facts.0 as usize..leaf.facts.1 as usize).unwrap();
        let first = |fact: &Fact<'_>| match fact.what {
            What::Number(number) => number.readings.first().map(|reading: &Reading| reading.value.to_string()),
            _ => None,
        };
        facts.iter().filter_map(first).collect()
    }

    #[test]
    fn leaves_have_pointers_that_lead_back_to_them() {
        let bump = Bump::new();
        let facts = response(r#"{"a/b": [{"c~d": 1}, [true, null]], "": {"e": []}, "f": "x"}"#, &bump);
        let pointers: Vec<_> = (0..facts.leaves.len()).filter_map(|leaf| facts.pointer(leaf as u32)).collect();
        let root = "/tool_trace/0/response_payload";
        let expected: Vec<_> = ["/a~1b/0/c~0d", "/a~1b/1/0", "/a~1b/1/1", "//e", "/f"]
            .iter()
            .map(|tail| format!("{root}{tail}"))
            .chain(["/user_query".to_owned(), "/context/0".to_owned()])
            .collect();
        assert_eq!(pointers.get(1..).unwrap(), expected, "the first is the empty request");
        assert_eq!(at(&facts, "/tool_trace/0/response_payload/a~1b/0/c~0d").words, ["c", "d"]);
    }

    #[test]
    fn leaves_of_a_node_stand_together() {
        let bump = Bump::new();
        let facts = response(r#"{"a": [1, 2, {"b": 3}], "c": 4}"#, &bump);
        let list = facts.nodes.iter().find(|node| node.is_list).unwrap();
        let leaves = facts.leaves.get(list.leaves.0 as usize..list.leaves.1 as usize).unwrap();
        assert_eq!(leaves.iter().flat_map(|leaf| numbers(&facts, leaf)).collect::<Vec<_>>(), ["1", "2", "3"]);
        assert_eq!((list.length, list.words), (3, &["a"][..]));
    }

    #[test]
    fn what_is_inside_of_a_text_has_the_pointer_of_the_text() {
        let bump = Bump::new();
        let text = r#"{"content": "{\"t\": [{\"x\": 5}]}", "table": "date,value\n2021-02-25,0.09\n2021-02-26,0.14"}"#;
        let facts = response(text, &bump);
        let x = facts.leaves.iter().position(|leaf| leaf.words == ["x"]).unwrap();
        assert_eq!(facts.pointer(x as u32).unwrap(), "/tool_trace/0/response_payload/content");
        let cell = facts.leaves.iter().position(|leaf| leaf.text == "0.14").unwrap();
        assert_eq!(facts.pointer(cell as u32).unwrap(), "/tool_trace/0/response_payload/table");
        let cell = facts.leaves.get(cell).unwrap();
        assert!(cell.cell && cell.key == Step::Key("value") && numbers(&facts, cell) == ["0.14"]);
        let row = facts.node(cell.node.unwrap()).unwrap();
        assert_eq!((row.key, row.length, row.is_list), (Step::Index(1), 2, false));
    }

    #[test]
    fn echoes_of_the_arguments() {
        let bump = Bump::new();
        let facts = of(
            r#"{"city": "Oslo", "limit": 10}"#,
            r#"{"name": "Oslo", "total": 10, "limit": 10, "temp": 4}"#,
            Status::Success,
            &bump,
        );
        let echo = |key| at(&facts, &format!("/tool_trace/0/response_payload/{key}")).echo;
        assert_eq!(["name", "total", "limit", "temp"].map(echo), [true, false, true, false]);
    }

    #[test]
    fn failed_calls_are_marked() {
        let bump = Bump::new();
        let facts = of("{}", r#"{"a": 1}"#, Status::Failed, &bump);
        assert!(at(&facts, "/tool_trace/0/response_payload/a").failed);
        assert!(!at(&facts, "/user_query").failed);
        assert!(!of("{}", r#"{"a": 1}"#, Status::Pending, &bump).leaves.iter().any(|leaf| leaf.failed));
    }

    #[test]
    fn too_much_is_cut_and_said_so() {
        let bump = Bump::new();
        let many = format!("[{}1]", "1,".repeat(250_000));
        let facts = response(&many, &bump);
        assert!(facts.cut && facts.leaves.len() < 200_010);
        assert!(facts.leaves.iter().any(|leaf| leaf.side == Side::Query));
        let deep = format!("{}1{}", "[".repeat(300), "]".repeat(300));
        assert!(response(&deep, &bump).cut);
        assert!(!response(r#"[1, {"a": 2}]"#, &bump).cut);
    }
}
