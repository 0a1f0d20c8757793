//! What the trace, the query and the context can back of what a text claims to have used or done.

use std::cell::OnceCell;

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use memchr::memmem;

use super::{
    super::{
        claims::{Classes, lexicon},
        facts::{Facts, Leaf, Side, Step},
        names::{self, Deed, Names, Source},
        request::{Call, Request},
    },
    Opinion,
};
use crate::value::Value;

/// How many tools are looked at: nobody calls so many.
const MOST_TOOLS: usize = 200;
/// How many leaves are looked through for a word, and how many bytes of each.
const MOST_LEAVES: usize = 50_000;
const MOST_BYTES: usize = 20_000;
/// Two words that begin with as many letters are forms of one, as far as names go.
const SAME_BEGINNING: usize = 4;

pub struct Trace<'r, 'a> {
    request: &'r Request<'a>,
    facts: &'r Facts<'a>,
    pub called: Names,
    /// The catalogue.
    pub listed: Option<Names>,
    /// Actions that the query speaks of, and those that it tells to do: "cancel my order", not "my order".
    pub asked: Classes,
    pub ordered: Classes,
    /// The words of the query.
    query: HashSet<String>,
    /// The tools that were called, each once: its first call, what it does, and the words of its name.
    tools: Vec<Called>,
    arguments: OnceCell<Classes>,
    participles: OnceCell<HashSet<String>>,
    vocabularies: OnceCell<(Vocabulary, Vocabulary)>,
}

struct Called {
    call: u32,
    deed: Deed,
    words: Vec<String>,
}

/// Words of the calls, by their first letters.
#[derive(Default)]
struct Vocabulary {
    words: HashMap<String, Vec<String>>,
    /// There was more.
    cut: bool,
}

/// As many words with the same beginning are enough: more would make looking one up slow.
const MOST_ALIKE: usize = 100;

impl Vocabulary {
    /// Is there this word, or another form of it?
    fn has(&self, word: &str) -> bool {
        self.cut || self.words.get(beginning(word)).is_some_and(|alike| alike.iter().any(|other| same(word, other)))
    }

    fn add(&mut self, word: String) {
        let alike = self.words.entry(beginning(&word).to_owned()).or_default();
        if alike.len() < MOST_ALIKE {
            if !alike.contains(&word) {
                alike.push(word);
            }
        } else {
            self.cut = true;
        }
    }
}

/// What words that are forms of one begin with.
fn beginning(word: &str) -> &str {
    word.get(..SAME_BEGINNING).unwrap_or(word)
}

impl<'r, 'a> Trace<'r, 'a> {
    pub fn new(request: &'r Request<'a>, facts: &'r Facts<'a>) -> Self {
        let lexicon = lexicon();
        let query = names::words_of(request.query);
        let (mut asked, mut ordered) = (Classes::default(), Classes::default());
        let mut before = None;
        for word in &query {
            if let Some(word) = lexicon.word(word) {
                asked |= word.base | word.ing | word.noun;
                if word.noun.is_empty() || before.is_none_or(tells_to_do) {
                    ordered |= word.base;
                }
            }
            before = Some(word.as_str());
        }
        Trace {
            request,
            facts,
            called: Names::new(request.calls.iter().map(|call| call.tool)),
            listed: request.tools.map(Names::of_tools),
            asked: lexicon.writers(asked),
            ordered: lexicon.writers(ordered),
            query: query.into_iter().collect(),
            tools: tools(request),
            arguments: OnceCell::new(),
            participles: OnceCell::new(),
            vocabularies: OnceCell::new(),
        }
    }

    /// A call that could have done such a thing, if there is one.
    pub fn could_have_done(&self, classes: Classes) -> Option<Option<u32>> {
        let lexicon = lexicon();
        let first = |fits: &dyn Fn(Classes) -> bool| {
            self.tools.iter().find(|tool| matches!(tool.deed, Deed::Writes(does) if fits(does))).map(|tool| tool.call)
        };
        let exactly = first(&|tool| tool.meets(classes));
        let call = exactly.or_else(|| first(&|tool| lexicon.could_do(tool, classes))).map(Some);
        call.or_else(|| self.arguments().meets(classes).then_some(None))
    }

    fn deed(&self, call: u32) -> Option<Deed> {
        let tool = self.request.calls.get(call as usize)?.tool;
        let known = self
            .tools
            .iter()
            .find(|known| self.request.calls.get(known.call as usize).is_some_and(|call| call.tool == tool));
        known.map(|known| known.deed)
    }

    /// Is the tool of this call called no second time?
    pub fn is_only_of_its_tool(&self, call: Option<u32>) -> bool {
        let tool = call.and_then(|call| self.request.calls.get(call as usize)).map(|call| call.tool);
        self.request.calls.iter().filter(|call| Some(call.tool) == tool).count() == 1
    }

    /// Does the name of this call's tool say just that?
    pub fn does(&self, call: u32, classes: Classes) -> bool {
        matches!(self.deed(call), Some(Deed::Writes(tool)) if tool.meets(classes))
    }

    /// Has a called tool this verb in its name?
    pub fn is_named(&self, verb: &str) -> bool {
        self.tools.iter().any(|tool| tool.words.iter().any(|word| same(word, verb)))
    }

    /// Has a called tool that does more than read this word in its name?
    pub fn acts_by(&self, word: &str) -> bool {
        let mut acting = self.tools.iter().filter(|tool| tool.deed != Deed::Reads);
        acting.any(|tool| tool.words.iter().any(|own| same(own, word)))
    }

    /// Does the query ask for something that is made by writing it?
    pub fn asks_for_text(&self) -> bool {
        !self.acts() && self.query.iter().any(|word| names::lists().products.contains(word.as_str()))
    }

    /// Or for a message that the user is to send?
    pub fn asks_for_letter(&self) -> bool {
        let is_one = |word: &str| matches!(word, "email" | "mail" | "message" | "reply" | "letter" | "draft");
        !self.acts() && self.query.iter().any(|word| is_one(word)) || self.asks_for_text()
    }

    /// Is there a call that changes something?
    pub fn acts(&self) -> bool {
        self.tools.iter().any(|tool| matches!(tool.deed, Deed::Writes(_)))
    }

    /// Is there a call whose name doesn't say what it does?
    pub fn may_do_anything(&self) -> bool {
        self.tools.len() == MOST_TOOLS || self.tools.iter().any(|tool| tool.deed == Deed::Anything)
    }

    /// A call whose name doesn't say what it does, and which was given at least two of these words.
    pub fn may_have_done(&self, words: &[&str]) -> Option<u32> {
        let given = |leaf: &&Leaf<'_>| leaf.side == Side::Request && self.deed(leaf.call) == Some(Deed::Anything);
        let mut common: HashMap<u32, HashSet<&str>> = HashMap::new();
        for leaf in self.facts.leaves.iter().take(MOST_LEAVES).filter(given) {
            for word in cut(leaf.text).split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2) {
                let said = words.iter().copied().find(|said| word.eq_ignore_ascii_case(said));
                common.entry(leaf.call).or_default().extend(said);
            }
        }
        common.into_iter().filter(|(_, words)| words.len() > 1).map(|(call, _)| call).min()
    }

    /// Classes of verbs in the arguments of calls: `{"action": "restart"}`. What a search looks for is not done by it.
    fn arguments(&self) -> Classes {
        *self.arguments.get_or_init(|| {
            let mut classes = Classes::default();
            for leaf in self.facts.leaves.iter().take(MOST_LEAVES) {
                let of_call = matches!(leaf.side, Side::Request | Side::Response);
                if of_call && self.deed(leaf.call) != Some(Deed::Reads) {
                    // `notify_attendees: true`, `invitations_sent: 3`
                    let is_set = !matches!(leaf.value, Value::Null | Value::False | Value::Int(0));
                    let is_flag = matches!(leaf.value, Value::True | Value::Int(_));
                    for word in leaf.words.iter().filter(|_| is_set).filter_map(|word| lexicon().word(word)) {
                        classes |= word.past | word.ing;
                        if is_flag {
                            classes |= word.base | word.noun;
                        }
                    }
                    for word in short_words(leaf.text).take_while(|_| leaf.side == Side::Request) {
                        classes |=
                            lexicon().word(&word).map(|word| word.base | word.past | word.ing).unwrap_or_default();
                    }
                }
            }
            classes
        })
    }

    /// Participles of verbs of action in results and their keys.
    fn participles(&self) -> &HashSet<String> {
        self.participles.get_or_init(|| {
            let is_past = |word: &String| lexicon().word(word).is_some_and(|word| !word.past.is_empty());
            let results = self
                .facts
                .leaves
                .iter()
                .take(MOST_LEAVES)
                .filter(|leaf| matches!(leaf.side, Side::Response | Side::Error));
            let words =
                results.flat_map(|leaf| short_words(leaf.text).chain(leaf.words.iter().map(|word| (*word).to_owned())));
            words.filter(is_past).collect()
        })
    }

    /// Does a result have this participle, or another of the same meaning?
    pub fn tells(&self, participle: &str) -> bool {
        let lexicon = lexicon();
        let participles = self.participles();
        let strong = lexicon.word(participle).filter(|word| word.strong).map(|word| word.past).unwrap_or_default();
        let alike = |other: &String| lexicon.word(other).is_some_and(|word| word.strong && word.past.meets(strong));
        participles.contains(participle) || participles.iter().any(alike)
    }

    pub fn query_has(&self, word: &str) -> bool {
        self.query.contains(word)
    }

    /// Does the query have the verb of this participle?
    pub fn orders(&self, participle: &str) -> bool {
        self.query.iter().any(|word| same(word, participle))
    }

    /// Does the user tell of it as something that happened?
    pub fn query_tells(&self, participle: &str) -> bool {
        let is_base = lexicon().word(participle).is_some_and(|word| !word.base.is_empty());
        !is_base && self.query_has(participle)
    }

    /// Does the context tell of such a thing done, or of a tool that could have done it?
    pub fn context_tells(&self, classes: Classes) -> bool {
        let lexicon = lexicon();
        self.request.context.iter().any(|text| {
            let words = names::words_of(cut(text));
            words
                .iter()
                .filter_map(|word| lexicon.word(word))
                .any(|word| lexicon.could_do(lexicon.writers(word.all()), classes))
        })
    }

    pub fn is_in_context(&self, name: &str) -> bool {
        self.request.context.iter().any(|text| has(text, name))
    }

    pub fn is_in_query(&self, name: &str) -> bool {
        has(self.request.query, name)
    }

    /// Is this a key or a part of a text in what went in and out of the tools, or in the catalogue?
    pub fn is_in_payloads(&self, name: &str) -> bool {
        let in_leaf = self.facts.leaves.iter().any(|leaf| {
            leaf.side != Side::Query
                && (has(leaf.text, name) || matches!(leaf.key, Step::Key(key) if key.eq_ignore_ascii_case(name)))
        });
        let in_node =
            || self.facts.nodes.iter().any(|node| matches!(node.key, Step::Key(key) if key.eq_ignore_ascii_case(name)));
        let listed = || {
            self.request
                .tools
                .unwrap_or_default()
                .iter()
                .any(|tool| tool.description.is_some_and(|text| has(text, name)))
        };
        in_leaf || in_node() || listed() || self.facts.cut
    }

    /// What tool do the words before "tool" or "API" mean?
    pub fn tool_of(&self, words: &[&str]) -> Opinion {
        let lexicon = lexicon();
        if words.is_empty() {
            let calls = self.request.calls;
            return if calls.is_empty() && self.request.context.is_empty() {
                Opinion::NoCall
            } else {
                Opinion::Called(None)
            };
        }
        let fits = |tool: &&Called| {
            words.iter().any(|word| {
                let verb = lexicon.word(word).map(|word| word.base | word.noun | word.ing).unwrap_or_default();
                tool.words.iter().any(|own| same(own, word))
                    || match tool.deed {
                        Deed::Reads => verb.meets(lexicon.class("read")),
                        Deed::Writes(classes) => lexicon.writers(verb).meets(classes),
                        Deed::Anything => false,
                    }
            })
        };
        if let Some(tool) = self.tools.iter().find(fits) {
            return Opinion::Called(Some(tool.call));
        }
        if self.is_backed(words) {
            return Opinion::Called(None);
        }
        if !self.request.context.is_empty() {
            return Opinion::Unclear;
        }
        let all = |name: &str| {
            let own = names::words_of(name);
            words.iter().all(|word| own.iter().any(|own| same(own, word)))
        };
        let listed = self.request.tools.unwrap_or_default().iter().position(|tool| all(tool.name));
        match listed {
            Some(index) => Opinion::Uncalled(index as u32),
            None if self.may_do_anything() => Opinion::Unclear,
            None => Opinion::Unknown,
        }
    }

    /// Do descriptions of called tools, arguments or results have one of these words, or of the words that stand for them?
    fn is_backed(&self, words: &[&str]) -> bool {
        let is_of =
            |source: &&Source| words.iter().any(|word| source.said.contains(word) || source.stands_for.contains(word));
        let sources = names::lists().sources.iter().filter(is_of);
        let others = sources.flat_map(|source| source.said.iter().chain(&source.stands_for)).copied();
        others.chain(words.iter().copied()).any(|word| self.has_word(word))
    }

    /// Is one of these words in the name of a called tool, its description, arguments or result? Small words don't count.
    pub fn has_word_of(&self, words: &[&str]) -> bool {
        const SMALL: [&str; 12] =
            ["the", "you", "your", "for", "and", "has", "have", "been", "was", "also", "now", "with"];
        words.iter().any(|word| word.len() > 2 && !SMALL.contains(word) && self.has_word(word))
    }

    fn has_word(&self, word: &str) -> bool {
        let (named, results) = self.vocabularies();
        named.has(word) || results.has(word)
    }

    /// Is this a word of a name, a description, a key or an argument, and not of a result alone?
    fn is_named_word(&self, word: &str) -> bool {
        self.vocabularies().0.has(word)
    }

    /// Words of names, descriptions, keys and arguments; and those of results.
    fn vocabularies(&self) -> &(Vocabulary, Vocabulary) {
        self.vocabularies.get_or_init(|| {
            let (mut named, mut results) = (Vocabulary::default(), Vocabulary::default());
            let called = |name: &str| !self.called.exactly(name).is_empty();
            let described = self.request.tools.unwrap_or_default().iter().filter(|tool| called(tool.name));
            let names = self.request.calls.iter().map(|call| call.tool);
            for text in names.chain(described.filter_map(|tool| tool.description)) {
                names::words_of(cut(text)).into_iter().for_each(|word| named.add(word));
            }
            named.cut = self.facts.cut || self.facts.leaves.len() > MOST_LEAVES;
            let leaves = self.facts.leaves.iter().take(MOST_LEAVES);
            for leaf in leaves.filter(|leaf| matches!(leaf.side, Side::Request | Side::Response)) {
                leaf.words.iter().for_each(|word| named.add((*word).to_owned()));
                let words = cut(leaf.text).split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 1);
                let vocabulary = if leaf.side == Side::Request { &mut named } else { &mut results };
                words.for_each(|word| vocabulary.add(word.to_lowercase()));
            }
            (named, results)
        })
    }

    /// Has a call asked this source? None if not; the call, where one is known.
    pub fn has_source(&self, source: &Source) -> Option<Option<u32>> {
        let wanted: Vec<&str> = source.said.iter().chain(&source.stands_for).copied().collect();
        let is_of = |tool: &&Called| tool.words.iter().any(|word| wanted.iter().any(|wanted| same(word, wanted)));
        if let Some(tool) = self.tools.iter().find(is_of) {
            return Some(Some(tool.call));
        }
        // A tool that can do anything can search the web too.
        let says = source.said.iter().any(|word| self.has_word(word));
        let stands_for = source.stands_for.iter().any(|word| self.is_named_word(word));
        (self.may_do_anything() || says || stands_for).then_some(None)
    }
}

fn tools(request: &Request<'_>) -> Vec<Called> {
    let mut seen = HashSet::new();
    let calls = request.calls.iter().enumerate().filter(|(_, call)| seen.insert(call.tool)).take(MOST_TOOLS);
    let called = |(index, call): (usize, &Call<'_>)| Called {
        call: index as u32,
        deed: Deed::of(call.tool),
        words: names::words_of(call.tool),
    };
    calls.map(called).collect()
}

/// Behind these stands what is to be done.
fn tells_to_do(word: &str) -> bool {
    matches!(
        word,
        "please" | "to" | "you" | "and" | "then" | "just" | "kindly" | "now" | "also" | "pls" | "go" | "ahead"
    )
}

/// Words that may be verbs, in lower case.
fn short_words(text: &str) -> impl Iterator<Item = String> {
    let words = cut(text).split(|c: char| !c.is_alphanumeric()).filter(|word| (3..=20).contains(&word.len()));
    words.map(str::to_lowercase)
}

fn cut(text: &str) -> &str {
    let mut end = text.len().min(MOST_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// Forms of one word: "convert" and "converter".
fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let common = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    a == b || common >= SAME_BEGINNING && common + 3 >= a.len().max(b.len())
}

/// Does the text have this name, not as a part of another?
fn has(text: &str, name: &str) -> bool {
    let bytes = text.as_bytes();
    let is_part = |at: Option<&u8>| at.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    memmem::find_iter(bytes, name.as_bytes()).any(|at| {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        !is_part(before) && !is_part(bytes.get(at + name.len()))
    })
}
