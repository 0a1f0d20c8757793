//! Where the arguments of a call come from: the query, or an earlier result.

use std::collections::HashMap;

use bumpalo::Bump;
use foldhash::fast::FixedState;

use super::words::Bag;
use crate::{grounding::request::utf8, value::Value};

/// How deep is looked: deeper down is nothing that anybody said.
pub const MOST_LEVELS: usize = 32;
/// How many values of results are remembered.
const MOST_RESULTS: usize = 20_000;
/// Longer texts, in bytes, are no names of things.
const LONGEST: usize = 200;
/// Shorter values of results are found anywhere.
const SHORTEST_RESULT: usize = 3;

/// A scalar argument as text.
#[derive(Clone, Debug)]
pub struct Argument<'a> {
    /// Its nearest key.
    pub key: &'a str,
    pub text: &'a str,
    pub is_number: bool,
    /// An RFC 6901 JSON pointer into the arguments.
    pub pointer: String,
}

impl Argument<'_> {
    /// Does it say in words what the tool is asked?
    pub fn is_purpose(&self) -> bool {
        const KEYS: [&str; 16] = [
            "q",
            "query",
            "question",
            "keyword",
            "keywords",
            "term",
            "terms",
            "search",
            "prompt",
            "sql",
            "code",
            "script",
            "command",
            "cmd",
            "expression",
            "jql",
        ];
        !self.is_number
            && super::words::parts_of(self.key).any(|part| KEYS.iter().any(|word| part.eq_ignore_ascii_case(word)))
    }
}

/// At most so many.
pub fn of_call<'a>(request: Value<'a>, most: usize, bump: &'a Bump) -> Vec<Argument<'a>> {
    let mut arguments = Vec::new();
    if most == 0 {
        return arguments;
    }
    each_scalar(request, "", MOST_LEVELS, &mut String::new(), bump, &mut |key, text, is_number, pointer| {
        arguments.push(Argument { key, text, is_number, pointer: pointer.to_owned() });
        arguments.len() < most
    });
    arguments
}

/// All texts and numbers, until `each` says that it is enough; false then.
fn each_scalar<'a>(
    value: Value<'a>,
    key: &'a str,
    levels: usize,
    pointer: &mut String,
    bump: &'a Bump,
    each: &mut impl FnMut(&'a str, &'a str, bool, &str) -> bool,
) -> bool {
    let length = pointer.len();
    match value {
        Value::Text(text) => each(key, utf8(text, bump), false, pointer),
        Value::Int(int) => each(key, bump.alloc_str(&int.to_string()), true, pointer),
        Value::Float(float) => each(key, bump.alloc_str(&float.to_string()), true, pointer),
        Value::Big(big) => match big.digits(LONGEST) {
            Some(digits) => each(key, bump.alloc_str(&digits), true, pointer),
            None => true,
        },
        Value::Object(_) | Value::Array(_) if levels == 0 => true,
        Value::Object(members) => members.iter().all(|member| {
            let key = utf8(member.key, bump);
            pointer.push('/');
            pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
            let goes_on = each_scalar(member.value, key, levels - 1, pointer, bump, each);
            pointer.truncate(length);
            goes_on
        }),
        Value::Array(items) => items.iter().enumerate().all(|(index, &item)| {
            pointer.push('/');
            pointer.push_str(&index.to_string());
            let goes_on = each_scalar(item, key, levels - 1, pointer, bump, each);
            pointer.truncate(length);
            goes_on
        }),
        Value::Null | Value::False | Value::True | Value::Foreign(_) => true,
    }
}

/// A text in which arguments are looked for: the query, or what was said before it.
pub struct Query {
    pub bag: Bag,
    /// In lower case, its words with one blank around each.
    spaced: String,
}

/// More of a query is not looked at, in bytes.
const MOST_OF_A_QUERY: usize = 10_000;

fn beginning(text: &str) -> &str {
    (0..4).find_map(|back| text.get(..MOST_OF_A_QUERY - back)).unwrap_or(text)
}

impl Query {
    pub fn new(text: &str) -> Self {
        let text = beginning(text);
        Query { bag: Bag::of_text(text), spaced: spaced(text) }
    }

    /// A text that was said before the query: only its values are of interest.
    pub fn before(text: &str) -> Self {
        Query { bag: Bag::default(), spaced: spaced(beginning(text)) }
    }

    /// Does the query say this value, and is it more than a word or a number that is in any query?
    pub fn says(&self, argument: &Argument<'_>) -> bool {
        if argument.text.len() > LONGEST {
            return false;
        }
        if argument.is_number && (argument.text.len() < 2 || is_pagination(argument.key)) {
            return false;
        }
        let value = spaced(argument.text);
        if value.len() < 4 {
            return false;
        }
        if argument.is_number {
            return self.spaced.contains(&value);
        }
        // An expression works on the numbers of the query.
        if argument.is_purpose() && self.says_numbers(&value) {
            return true;
        }
        let bag = Bag::of_words([argument.text], 0..LONGEST);
        let says_something = !bag.is_empty() || value.bytes().any(|byte| byte.is_ascii_digit());
        if says_something && self.spaced.contains(&value) {
            return true;
        }
        if let Some(date) = Day::read(argument.text) {
            return self.says_day(date);
        }
        let has_digits = value.bytes().any(|byte| byte.is_ascii_digit());
        !bag.is_empty() && !has_digits && bag.words().iter().all(|word| self.bag.has(&word.stem))
    }

    /// All numbers of some digits in a text of which each word has blanks around, if there are any.
    fn says_numbers(&self, spaced: &str) -> bool {
        let mut numbers = spaced
            .split(' ')
            .filter(|word| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_digit()))
            .peekable();
        numbers.peek().is_some() && numbers.all(|number| self.spaced.contains(&format!(" {number} ")))
    }

    fn says_day(&self, Day { month, day }: Day) -> bool {
        let Some(name) = month.checked_sub(1).and_then(|index| MONTHS.get(index)) else { return false };
        let says = |word: &str| self.spaced.contains(&format!(" {word} "));
        let ordinal = ["st", "nd", "rd", "th"].iter().any(|ending| says(&format!("{day}{ending}")));
        let says_month = says(name) || name.get(..3).is_some_and(says);
        says_month && (ordinal || says(&day.to_string()) || says(&format!("{day:02}")))
    }
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// A date as programs write it, without its year, which people leave out.
#[derive(Clone, Copy)]
struct Day {
    month: usize,
    day: u32,
}

impl Day {
    /// From `2026-03-09` and what begins with it.
    fn read(text: &str) -> Option<Self> {
        let (year, rest) = text.split_once('-')?;
        let (month, rest) = rest.split_once('-')?;
        let day = rest.get(..2)?;
        let digits = |part: &str, length: usize| part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit());
        if !(digits(year, 4) && digits(month, 2) && digits(day, 2)) {
            return None;
        }
        Some(Day { month: month.parse().ok()?, day: day.parse().ok()? })
    }
}

/// Keys of numbers that say how much is asked for, and not what.
fn is_pagination(key: &str) -> bool {
    const KEYS: [&str; 16] = [
        "limit", "page", "offset", "size", "count", "max", "top", "k", "n", "per", "skip", "cursor", "results",
        "timeout", "retries", "depth",
    ];
    super::words::parts_of(key).any(|part| KEYS.iter().any(|word| part.eq_ignore_ascii_case(word)))
}

/// In lower case, with one blank around each run of letters and digits; a comma between digits is left out.
fn spaced(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push(' ');
    let mut characters = text.chars().peekable();
    let mut before = ' ';
    while let Some(c) = characters.next() {
        let digits_around = before.is_ascii_digit() && characters.peek().is_some_and(char::is_ascii_digit);
        if c.is_alphanumeric() || (c == '.' && digits_around) {
            out.extend(c.to_lowercase());
        } else if !(out.ends_with(' ') || (c == ',' && digits_around)) {
            out.push(' ');
        }
        before = c;
    }
    if !out.ends_with(' ') {
        out.push(' ');
    }
    out
}

/// The values of the results of earlier calls, with when the first of these calls began and ended.
#[derive(Default)]
pub struct Results {
    values: HashMap<String, Option<Interval>, FixedState>,
}

/// In milliseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    pub start: i64,
    pub end: i64,
}

impl Results {
    /// To be called in the order of the calls. Nothing is known of the time of what was there before all calls.
    pub fn add<'a>(&mut self, response: Value<'a>, time: Option<Interval>, bump: &'a Bump) {
        let values = &mut self.values;
        each_scalar(response, "", MOST_LEVELS, &mut String::new(), bump, &mut |_, text, _, _| {
            if (SHORTEST_RESULT..=LONGEST).contains(&text.len()) {
                values.entry(text.to_lowercase()).or_insert(time);
            }
            values.len() < MOST_RESULTS
        });
    }

    /// Was this value in one of them, before this time? Calls that overlap know nothing of each other.
    pub fn brought(&self, argument: &Argument<'_>, time: Option<Interval>) -> bool {
        if !(SHORTEST_RESULT..=LONGEST).contains(&argument.text.len()) || is_pagination(argument.key) {
            return false;
        }
        match (self.values.get(&argument.text.to_lowercase()), time) {
            (None, _) => false,
            (Some(Some(earlier)), Some(this)) => earlier.end <= this.start && earlier.start < this.start,
            (Some(_), _) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;

    use super::*;
    use crate::{json, value::MAX_RECORD_DEPTH};

    fn says(query: &str, arguments: &str) -> bool {
        let bump = Bump::new();
        let value = json::parse(arguments.as_bytes(), MAX_RECORD_DEPTH, &bump).unwrap();
        let query = Query::new(query);
        of_call(value, 64, &bump).iter().any(|argument| query.says(argument))
    }

    #[test]
    fn values_of_the_query_are_found_in_it() {
        for (query, arguments) in [
            ("Is it warm in Santa Rosa?", r#"{"city": "santa rosa"}"#),
            ("Move $1,200 to savings", r#"{"amount": 1200}"#),
            ("Refund B-77, please", r#"{"id": "b-77"}"#),
            ("Search for ferns", r#"{"q": ["fern"]}"#),
            ("Flights on the 13th of March", r#"{"date": "2026-03-13"}"#),
            ("Flights on Mar 3", r#"{"date": "2026-03-03T00:00:00Z"}"#),
            ("Write to dana@example.com", r#"{"to": {"address": "dana@example.com"}}"#),
        ] {
            assert!(says(query, arguments), "{query}");
        }
    }

    #[test]
    fn other_values_are_not() {
        for (query, arguments) in [
            ("Is it warm in Santa Rosa?", r#"{"city": "Rosario"}"#),
            ("Show 10 results for ferns", r#"{"limit": 10}"#),
            ("What about the 2 of them?", r#"{"id": 2, "x": "the", "y": true, "z": ""}"#),
            ("Order 77", r#"{"id": "B-77"}"#),
            ("Flights on 13 March", r#"{"date": "2026-04-13"}"#),
        ] {
            assert!(!says(query, arguments), "{query}");
        }
    }

    #[test]
    fn pointers_lead_to_the_arguments() {
        let bump = Bump::new();
        let value = json::parse(br#"{"a/b": [{"~": "x"}]}"#, MAX_RECORD_DEPTH, &bump).unwrap();
        assert_eq!(of_call(value, 64, &bump)[0].pointer, "/a~1b/0/~0");
    }
}
