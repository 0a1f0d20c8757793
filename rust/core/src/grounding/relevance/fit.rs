//! How well a tool fits a query, by the words that both have.

use bumpalo::Bump;

use super::{
    arguments::MOST_LEVELS,
    words::{self, Bag, Groups, Word},
};
use crate::{
    grounding::request::{Tool, utf8},
    value::Value,
};

/// What is known of a tool, in words.
#[derive(Clone, Debug)]
pub struct Document {
    /// Of its name.
    pub name: Bag,
    /// Of the beginning of its description, which says what it is for.
    lead: Bag,
    /// Of the rest of it.
    details: Bag,
    parameters: Bag,
    verb: Groups,
    /// The name says only how it is used, such as `run_sql` or `find`.
    pub executor: bool,
    /// A step on the way to most answers, such as `login`.
    pub auxiliary: bool,
    /// The catalogue has it: nothing more can be known of it.
    pub in_catalogue: bool,
}

/// How many words of a description say what the tool is for. More are details, which share words with anything.
const LEAD: usize = 20;
const MOST_OF_A_NAME: usize = 30;
const MOST_OF_A_DESCRIPTION: usize = 150;
const MOST_OF_PARAMETERS: usize = 100;

/// A word of the query counts so much where the tool has another word of the same group, where it is only in the description,
/// and where it is only in the parameters.
const SAME_GROUP: f64 = 0.5;
const IN_DESCRIPTION: f64 = 0.9;
const IN_PARAMETERS: f64 = 0.5;

/// The weight of a word that says what a text is about, where its groups say otherwise.
const TELLING: f64 = 0.5;

impl Document {
    /// Of a tool by its name alone, if the catalogue does not have it.
    pub fn new<'a>(name: &str, tool: Option<&Tool<'a>>, bump: &'a Bump) -> Self {
        let Some(tool) = tool else { return Document::named(name, "") };
        let description = tool.description.unwrap_or_default();
        let mut parameters = Vec::new();
        if let Some(schema) = tool.parameters {
            collect_parameters(schema, MOST_LEVELS, bump, &mut parameters);
        }
        Document {
            details: Bag::of_words([description], LEAD..MOST_OF_A_DESCRIPTION),
            parameters: Bag::of_words(parameters, 0..MOST_OF_PARAMETERS),
            ..Document::brief(tool)
        }
    }

    /// Of what it is for, without details, which is enough to find the one that fits best of many.
    pub fn brief(tool: &Tool<'_>) -> Self {
        Document { in_catalogue: true, ..Document::named(tool.name, tool.description.unwrap_or_default()) }
    }

    fn named(name: &str, description: &str) -> Self {
        let lead = Bag::of_words([description], 0..LEAD);
        // What stands before the last part of a name is where the tool is from.
        let last = name.rsplit(['.', ':', '/']).next().and_then(|last| last.rsplit("__").next()).unwrap_or(name);
        let verb = match Bag::of_words([last], 0..MOST_OF_A_NAME).verb {
            0 => lead.verb,
            verb => verb,
        };
        let name = Bag::of_words([name], 0..MOST_OF_A_NAME);
        Document {
            executor: name.all_executor,
            auxiliary: name.all_auxiliary,
            in_catalogue: false,
            lead,
            details: Bag::default(),
            parameters: Bag::default(),
            verb,
            name,
        }
    }

    /// Is there a description, in English as far as anybody can tell?
    pub fn is_described(&self) -> bool {
        !self.lead.is_empty() && self.lead.is_english()
    }
}

/// What a call gave to its tool, in words.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// What it shares with the query.
    pub said: Bag,
    /// Arguments that say what it was used for, such as a query.
    pub purpose: Bag,
    pub keys: Bag,
}

impl Given {
    pub fn new<'t>(
        said: impl IntoIterator<Item = &'t str>,
        purpose: impl IntoIterator<Item = &'t str>,
        keys: impl IntoIterator<Item = &'t str>,
    ) -> Self {
        Given {
            said: Bag::of_words(said, 0..MOST_OF_PARAMETERS),
            purpose: Bag::of_words(purpose, 0..LEAD),
            keys: Bag::of_words(keys, 0..MOST_OF_PARAMETERS),
        }
    }
}

/// Names of parameters, and what is said of them.
fn collect_parameters<'a>(schema: Value<'a>, levels: usize, bump: &'a Bump, out: &mut Vec<&'a str>) {
    if out.len() >= MOST_OF_PARAMETERS || levels == 0 {
        return;
    }
    match schema {
        Value::Object(members) => {
            for member in members {
                match member.value {
                    Value::Text(text) if member.key.is("description") => out.push(utf8(text, bump)),
                    Value::Object(properties) if member.key.is("properties") => {
                        for property in properties {
                            out.push(utf8(property.key, bump));
                            collect_parameters(property.value, levels - 1, bump, out);
                        }
                    }
                    value => collect_parameters(value, levels - 1, bump, out),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|&item| collect_parameters(item, levels - 1, bump, out)),
        _ => {}
    }
}

/// How well a tool fits a query.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fit {
    /// How much of what the query says the tool says too, by weight: from 0 to 1.
    pub of_query: f64,
    /// How much of the tool's name, or of the beginning of its description, the query says too.
    pub of_tool: f64,
    /// Both are about things that have a group, not one group is that of both, and they share no telling word.
    pub other_subject: bool,
    /// The same, and their groups are not even of one family.
    pub other_field: bool,
    /// The same, where the values that the tool was given count too, and shared words don't.
    pub values_of_other_field: bool,
    /// It does something that the query does not ask for, and does not look anything up.
    pub unasked_action: bool,
    /// It does what the query asks for, and that is more than looking something up.
    pub asked_action: bool,
}

// Of a logistic regression over 809 labelled pairs of a query and a tool (the development parts of RelyToolBench and When2Call), rounded. Fitted on
// nine tenths of the queries, each stays within 0.9 of these.
const OF_QUERY: f64 = 2.5;
const OF_TOOL: f64 = 4.8;
const OTHER_SUBJECT: f64 = -2.0;
const UNASKED_ACTION: f64 = -1.9;
const NOTHING: f64 = -2.65;

impl Fit {
    pub fn of(query: &Bag, tool: &Document, given: &Given) -> Self {
        let sides = Sides::new(tool, given);
        let [name, lead, purpose] =
            [sides.name, &tool.lead, &given.purpose].map(|bag| covered(bag, query).unwrap_or(0.0));
        let does = sides.verb & !words::reading();
        // Who orders asks for `create_order`.
        let nouns = if does & words::creating() != 0 { sides.name.actions & !words::reading() } else { 0 };
        let is_asked_for = (does | nouns) & query.actions != 0;
        // What the tool is used on is not what the query is about.
        let (mut all_subjects, mut subjects) = (0, 0);
        for word in query.words().iter().filter(|word| word.expected == 1.0) {
            all_subjects |= word.meaning.things;
            subjects |= if given.said.has(&word.stem) { 0 } else { word.meaning.things };
        }
        let things = sides.things();
        let both_have_subjects = subjects != 0 && things != 0 && !sides.share_telling_word(query);
        Fit {
            of_query: sides.covered_query(query),
            of_tool: name.max(lead).max(purpose),
            other_subject: both_have_subjects && query.things & things == 0,
            other_field: both_have_subjects && !words::are_near(query.things, things) && !is_asked_for,
            unasked_action: does != 0 && !is_asked_for && query.actions & words::wanting() == 0,
            asked_action: is_asked_for,
            values_of_other_field: all_subjects != 0 && things != 0 && !words::are_near(query.things, things),
        }
    }

    /// The log odds that the tool is relevant, as far as its words tell.
    pub fn score(&self) -> f64 {
        let flag = |set: bool, weight: f64| if set { weight } else { 0.0 };
        // The root, as a tool for one of several things that are asked for has little of the query.
        NOTHING
            + OF_QUERY * self.of_query.sqrt()
            + OF_TOOL * self.of_tool
            + flag(self.other_subject, OTHER_SUBJECT)
            + flag(self.unasked_action, UNASKED_ACTION)
    }

    pub fn shares_nothing(&self) -> bool {
        self.of_query == 0.0 && self.of_tool == 0.0
    }
}

/// The words of the query that the tool has too, the weightiest first, and the group that both are about.
pub fn shared<'q>(query: &'q Bag, tool: &Document, given: &Given) -> (Vec<&'q str>, Option<&'static str>) {
    let sides = Sides::new(tool, given);
    let bags = [sides.name, &tool.lead, &tool.details, sides.parameters, &given.purpose];
    let mut words: Vec<_> = query.words().iter().filter(|word| bags.iter().any(|bag| bag.has(&word.stem))).collect();
    words.sort_by(|a, b| b.meaning.weight.total_cmp(&a.meaning.weight));
    (words.into_iter().map(|word| word.form.as_str()).collect(), words::group_name(query.things & sides.things()))
}

/// A tool as it was used.
struct Sides<'t> {
    tool: &'t Document,
    purpose: &'t Bag,
    /// Of an executor, what it was used for.
    name: &'t Bag,
    verb: Groups,
    keys: &'t Bag,
    /// The keys of the arguments, if nothing else is known of them.
    parameters: &'t Bag,
}

impl<'t> Sides<'t> {
    fn new(tool: &'t Document, given: &'t Given) -> Self {
        let parameters = if tool.parameters.is_empty() { &given.keys } else { &tool.parameters };
        let (name, verb) =
            if tool.executor && !given.purpose.is_empty() { (&given.purpose, 0) } else { (&tool.name, tool.verb) };
        Sides { tool, purpose: &given.purpose, name, verb, keys: &given.keys, parameters }
    }

    fn things(&self) -> Groups {
        self.name.things | self.tool.lead.things
    }

    /// Is a word of the query that says much in the tool's name, or in what it is for?
    fn share_telling_word(&self, query: &Bag) -> bool {
        // What one searches for is what it is about.
        let searched = |word: &Word| self.tool.name.any_executor && self.purpose.has(&word.stem);
        query.words().iter().filter(|word| word.meaning.weight >= TELLING).any(|word| {
            self.name.has(&word.stem) || self.tool.lead.has(&word.stem) || self.keys.has(&word.stem) || searched(word)
        })
    }

    fn covered_query(&self, query: &Bag) -> f64 {
        let (mut found, mut expected) = (0.0, 0.0);
        for word in query.words() {
            let is_in = |bag: &Bag, degree: f64| if bag.has(&word.stem) { degree } else { 0.0 };
            // A group in details of the description is a coincidence.
            let in_description = is_in(&self.tool.details, 1.0).max(degree(word, &self.tool.lead));
            let degree = degree(word, self.name)
                .max(is_in(self.purpose, 1.0))
                .max(IN_DESCRIPTION * in_description)
                .max(is_in(self.parameters, IN_PARAMETERS));
            found += word.meaning.weight * degree;
            expected += word.meaning.weight * word.expected.max(degree);
        }
        if expected > 0.0 { found / expected } else { 0.0 }
    }
}

/// How far one word is in a bag: whole, or by its group.
fn degree(word: &Word, bag: &Bag) -> f64 {
    if bag.has(&word.stem) {
        1.0
    } else if word.meaning.things & bag.things != 0 {
        SAME_GROUP
    } else {
        0.0
    }
}

/// How much of what a tool says is in the query, by weight; None if it says nothing.
fn covered(bag: &Bag, query: &Bag) -> Option<f64> {
    let all: f64 = bag.words().iter().map(|word| word.meaning.weight).sum();
    let found: f64 = bag.words().iter().map(|word| word.meaning.weight * degree(word, query)).sum();
    (all > 0.0).then(|| found / all)
}
