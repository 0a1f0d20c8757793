//! Names of tools, as traces and texts write them, and what their words say that they do.

use std::{borrow::Cow, sync::LazyLock};

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};

use super::{
    claims::{Classes, lexicon},
    request::Tool,
    scan::{Scan, Span, What},
};
use crate::text::Text;

/// The text in UTF-8. Texts of a request are so already.
pub fn utf8(text: Text<'_>) -> Cow<'_, str> {
    match text {
        Text::Utf8(bytes) => String::from_utf8_lossy(bytes),
        other => Cow::Owned(String::from_utf8_lossy(&other.to_utf8()).into_owned()),
    }
}

/// The lines of a list of words: a class, and what stands behind the colon. "#" begins a comment.
pub fn lines_of(list: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    list.lines().filter_map(|line| {
        let line = line.split('#').next().unwrap_or_default();
        let (class, words) = line.split_once(':')?;
        Some((class.trim(), words.trim()))
    })
}

/// The words of a name in lower case, split at case, at what is neither letter nor digit, and between letters and digits:
/// `getUserDetails2`, `get-user_details.2` and `GET USER DETAILS 2` have the same.
pub fn words_of(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before: Option<char> = None;
    let mut characters = name.chars().peekable();
    while let Some(c) = characters.next() {
        let begins = before.is_some_and(|before| {
            let next_is_lower = characters.peek().is_some_and(|next| next.is_lowercase());
            // "userDetails", "HTTPError", "sha256"
            before.is_lowercase() && c.is_uppercase()
                || before.is_uppercase() && c.is_uppercase() && next_is_lower
                || before.is_alphabetic() && c.is_numeric()
                || before.is_numeric() && c.is_alphabetic()
        });
        if (begins || !c.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        before = Some(c);
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Where agents look things up, by the words that texts have for it.
pub struct Source {
    pub said: Vec<&'static str>,
    /// What in names, descriptions and payloads of tools stands for it too.
    pub stands_for: Vec<&'static str>,
}

pub struct Lists {
    /// Things outside of the answer.
    pub objects: HashSet<&'static str>,
    /// Adjectives that say nothing of which tool is meant.
    pub vague: HashSet<&'static str>,
    /// What is looked at without a tool.
    pub texts: HashSet<&'static str>,
    pub sources: Vec<Source>,
    /// By what texts have for them: the first such source.
    sources_said: HashMap<&'static str, usize>,
    /// What a model makes by writing.
    pub products: HashSet<&'static str>,
    /// Ways of sending.
    pub channels: Vec<Source>,
    anything: HashSet<&'static str>,
    maybe: HashSet<&'static str>,
    gives: HashSet<&'static str>,
    things: HashSet<&'static str>,
    heads: HashSet<&'static str>,
    tools: HashSet<&'static str>,
}

static LISTS: LazyLock<Lists> = LazyLock::new(|| {
    let mut lists = Lists {
        objects: HashSet::new(),
        channels: Vec::new(),
        products: HashSet::new(),
        vague: HashSet::new(),
        texts: HashSet::new(),
        anything: HashSet::new(),
        maybe: HashSet::new(),
        gives: HashSet::new(),
        things: HashSet::new(),
        heads: HashSet::new(),
        tools: HashSet::new(),
        sources: Vec::new(),
        sources_said: HashMap::new(),
    };
    for (name, words) in lines_of(include_str!("words/sources.txt")) {
        match name {
            "anything" => lists.anything.extend(words.split_whitespace()),
            "maybe" => lists.maybe.extend(words.split_whitespace()),
            "gives" => lists.gives.extend(words.split_whitespace()),
            "thing" => lists.things.extend(words.split_whitespace()),
            "product" => lists.products.extend(words.split_whitespace()),
            "object" => lists.objects.extend(words.split_whitespace()),
            "vague" => lists.vague.extend(words.split_whitespace()),
            "text" => lists.texts.extend(words.split_whitespace()),
            "head" => lists.heads.extend(words.split_whitespace()),
            "tool" => lists.tools.extend(words.split_whitespace()),
            _ => {
                let (said, stands_for) = words.split_once(':').unwrap_or((words, ""));
                let all = |words: &'static str| words.split_whitespace().collect::<Vec<_>>();
                let source = Source { said: all(said), stands_for: all(stands_for) };
                if name == "channel" { &mut lists.channels } else { &mut lists.sources }.push(source);
            }
        }
    }
    for (index, source) in lists.sources.iter().enumerate() {
        for said in &source.said {
            lists.sources_said.entry(said).or_insert(index);
        }
    }
    lists
});

impl Lists {
    /// The source that a word of a text stands for.
    pub fn source_said(&self, word: &str) -> Option<&Source> {
        self.sources.get(*self.sources_said.get(word)?)
    }
}

/// Is this a noun for tools: "tool", "API"?
pub fn is_tool_noun(word: &str) -> bool {
    LISTS.tools.contains(word)
}

pub fn lists() -> &'static Lists {
    &LISTS
}

/// Does the word say only that something is a tool?
pub fn is_head(word: &str) -> bool {
    LISTS.heads.contains(word)
}

/// What a tool does, as far as its name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    Reads,
    Writes(Classes),
    /// It runs what it is given, or its name says nothing.
    Anything,
}

impl Deed {
    pub fn of(tool: &str) -> Self {
        let lexicon = lexicon();
        let words = words_of(tool);
        let own = words_of(last_segment(tool));
        let kind = |word: &String| lexicon.word(word).copied().unwrap_or_default();
        let gives = |word: &String| LISTS.gives.contains(word.as_str());
        let read = lexicon.class("read");
        let verb = |word: &String| {
            let word = kind(word);
            word.base | word.past
        };
        let writes = |word: &String| lexicon.writers(verb(word));
        if own.iter().any(|word| LISTS.anything.contains(word.as_str())) {
            return Deed::Anything;
        }
        let (Some(first), Some(last)) = (own.first(), own.last()) else { return Deed::Anything };
        let classes =
            words.iter().fold(Classes::default(), |all, word| all | writes(word) | lexicon.writers(kind(word).noun));
        // "find_and_replace", "get_or_create"
        let coordinated =
            own.iter().skip_while(|word| !matches!(word.as_str(), "and" | "or")).any(|word| !writes(word).is_empty());
        let begins_with_write = !writes(first).is_empty() && !LISTS.things.contains(first.as_str());
        if begins_with_write || coordinated {
            return Deed::Writes(classes);
        }
        let is_question = matches!(
            first.as_str(),
            "is" | "has"
                | "can"
                | "what"
                | "who"
                | "when"
                | "where"
                | "how"
                | "which"
                | "explain"
                | "suggest"
                | "recommend"
                | "predict"
                | "describe"
                | "summarize"
                | "preview"
                | "think"
                | "plan"
                | "detect"
                | "classify"
                | "validate"
        );
        if verb(first).meets(read) || is_question || own.len() > 1 && gives(last) || own.len() == 1 && gives(first) {
            return Deed::Reads;
        }
        if last != first && verb(last).meets(read) && writes(last).is_empty() {
            return Deed::Reads;
        }
        let maybe = own.iter().any(|word| LISTS.maybe.contains(word.as_str()));
        if classes.is_empty() || maybe { Deed::Anything } else { Deed::Writes(classes) }
    }
}

/// What a name begins with, which is its verb if it has one: "whitelist" of `whitelist_ip`.
pub fn first_word(tool: &str) -> Option<String> {
    let first = words_of(last_segment(tool)).into_iter().next()?;
    let plain = (3..=20).contains(&first.len()) && first.bytes().all(|byte| byte.is_ascii_lowercase());
    plain.then_some(first)
}

/// What stands behind a server or a name space: `server__tool`, `ns.tool`, `ns/tool`.
fn last_segment(name: &str) -> &str {
    let name = name.rsplit("__").next().unwrap_or(name);
    let segment = name.rsplit(['.', '/', ':']).next().unwrap_or(name);
    if segment.is_empty() { name } else { segment }
}

/// The forms that a name goes by: all its words, and those of its last part; each without a head such as "tool".
fn forms(name: &str) -> Vec<String> {
    let mut forms = Vec::new();
    for part in [name, last_segment(name)] {
        let words = words_of(part);
        forms.push(words.join(" "));
        let content = content_of(&words);
        if content.len() < words.len() && !content.is_empty() {
            forms.push(content.join(" "));
        }
    }
    forms.sort_unstable();
    forms.dedup();
    forms.retain(|form| !form.is_empty());
    forms
}

/// The words that are no heads.
fn content_of(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).filter(|word| !LISTS.heads.contains(word)).collect()
}

/// Names that are known: of the tools that were called, or of a catalogue.
pub struct Names {
    /// By form: where it stands in what was given.
    by_form: HashMap<String, Vec<u32>>,
    contents: Vec<Vec<String>>,
}

impl Names {
    pub fn new<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        let mut known = Names { by_form: HashMap::new(), contents: Vec::new() };
        let mut seen: HashMap<&str, Vec<String>> = HashMap::new();
        for (index, name) in names.enumerate() {
            let forms = seen.entry(name).or_insert_with(|| forms(name));
            for form in forms.iter() {
                known.by_form.entry(form.clone()).or_default().push(index as u32);
            }
            known.contents.push(content_of(&words_of(name)).into_iter().map(str::to_owned).collect());
        }
        known
    }

    pub fn of_tools(tools: &[Tool<'_>]) -> Self {
        Names::new(tools.iter().map(|tool| tool.name))
    }

    /// Those that go by this name.
    pub fn exactly(&self, name: &str) -> &[u32] {
        forms(name).iter().find_map(|form| self.by_form.get(form)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Those whose words are at least half the same.
    pub fn nearly(&self, name: &str) -> Vec<u32> {
        let words = words_of(name);
        let content = content_of(&words);
        let near = |known: &Vec<String>| {
            let common = content.iter().filter(|word| known.iter().any(|other| other == *word)).count();
            common > 0 && 2 * common >= content.len() + known.len() - common
        };
        self.contents.iter().enumerate().filter(|(_, known)| near(known)).map(|(index, _)| index as u32).collect()
    }
}

/// What is written as code writes names.
#[derive(Clone, Copy, Debug)]
pub struct Mention<'a> {
    pub text: &'a str,
    pub span: Span,
    pub shape: Shape,
    /// In backticks.
    pub code: bool,
    /// A bracket follows at once: `get_user(`.
    pub called: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `web_search`, `server__tool`
    Snake,
    /// `getUser`
    Camel,
    /// `ns.tool`, `ns/tool`
    Dotted,
    Kebab,
    /// Only as code.
    Word,
}

/// All that could be names of tools by the way they are written, in their order.
pub fn mentions<'a>(scan: &Scan<'a>) -> Vec<Mention<'a>> {
    let text = scan.text;
    let bytes = text.as_bytes();
    let byte = |index: usize| bytes.get(index).copied().unwrap_or_default();
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let from = |place: usize| bytes.get(place..).unwrap_or_default().iter();
    let mut found = Vec::new();
    let mut links =
        scan.mentions.iter().filter(|mention| matches!(mention.what, What::Url(_) | What::Email(_))).peekable();
    let mut place = 0;
    // A letter of another script goes on with a word that is no name.
    while let Some(skipped) = from(place).position(is_part) {
        let start = place + skipped;
        place = start + from(start).take_while(|byte| is_part(byte)).count();
        while matches!(byte(place), b'.' | b'-' | b':' | b'/') && is_part(&byte(place + 1)) {
            place += 1;
            place += from(place).take_while(|byte| is_part(byte)).count();
        }
        let other_script = start > 0 && byte(start - 1) >= 0x80 || byte(place) >= 0x80;
        while links.peek().is_some_and(|link| link.span.end as usize <= start) {
            links.next();
        }
        let in_link = links.peek().is_some_and(|link| (link.span.start as usize) < place);
        let Some(run) = text.get(start..place).filter(|_| !in_link) else { continue };
        let run = if run.starts_with('_') || run.ends_with('_') { run.trim_matches('_') } else { run };
        let code = start > 0 && byte(start - 1) == b'`' && matches!(byte(place), b'`' | b'(');
        let called = byte(place) == b'(';
        // Most words are no names.
        let is_word = || run.bytes().skip(1).all(|byte| byte.is_ascii_lowercase());
        if !code && (other_script || !called && is_word()) {
            continue;
        }
        if let Some(shape) = shape_of(run, code || called) {
            let start = start + text.get(start..place).map_or(0, |all| all.len() - all.trim_start_matches('_').len());
            let span = Span { start: start as u32, end: (start + run.len()) as u32 };
            found.push(Mention { text: run, span, shape, code, called });
        }
    }
    found
}

fn shape_of(run: &str, code: bool) -> Option<Shape> {
    let first = run.chars().next()?;
    if !first.is_ascii_alphabetic() || run.len() > 128 {
        return None;
    }
    let letters = |c: char| run.split(c).all(|part| part.chars().next().is_some_and(|c| c.is_ascii_alphanumeric()));
    if run.contains('_') {
        Some(Shape::Snake)
    } else if run.contains(['.', '/', ':']) {
        letters('.').then_some(Shape::Dotted)
    } else if run.contains('-') {
        Some(Shape::Kebab)
    } else if run
        .as_bytes()
        .windows(2)
        .any(|pair| matches!(pair, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase()))
    {
        Some(Shape::Camel)
    } else {
        code.then_some(Shape::Word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_split_into_words_however_they_are_written() {
        for name in ["get_user_details", "getUserDetails", "get-user-details", "GetUserDetails", "GET.USER DETAILS"] {
            assert_eq!(words_of(name), ["get", "user", "details"], "{name}");
        }
        assert_eq!(words_of("crm__HTTPErrorV2"), ["crm", "http", "error", "v", "2"]);
        assert_eq!(words_of("__"), [""; 0]);
        assert_eq!(words_of("Straßen_Größe"), ["straßen", "größe"]);
    }

    #[test]
    fn names_say_what_tools_do() {
        let writes = |name: &str, class: &str| match Deed::of(name) {
            Deed::Writes(classes) => classes.meets(lexicon().class(class)),
            _ => false,
        };
        for (name, class) in [
            ("send_email", "send"),
            ("email_user", "send"),
            ("gmail__sendMessage", "send"),
            ("cancel_order", "cancel"),
            ("order_cancel", "cancel"),
            ("refund", "refund"),
            ("transfer", "transfer"),
            ("charge_card", "pay"),
            ("create_order", "order"),
            ("book-flight", "book"),
            ("calendar.create_event", "create"),
            ("restart_service", "run"),
            ("update_status", "update"),
            ("schedule_meeting", "book"),
            ("get_or_create_user", "create"),
            ("send_report", "send"),
            ("mcp__github__create_issue", "create"),
            ("update_reservation_flights", "update"),
        ] {
            assert!(writes(name, class), "{name}: {:?}", Deed::of(name));
        }
        for name in [
            "get_order",
            "search_docs",
            "weather_lookup",
            "quote_lookup",
            "get_service_status",
            "list_orders",
            "order_status",
            "find",
            "findEmails",
            "check_availability",
            "stock",
            "news",
            "eta",
            "test_report",
            "search_email",
            "track_shipment",
            "get_email",
            "kb_lookup",
            "stock.getQuote",
            "booking_details",
            "getBooking",
            "read_inbox",
            "weather",
        ] {
            assert_eq!(Deed::of(name), Deed::Reads, "{name}");
        }
        for name in ["run_sql", "http_request", "python", "execute", "fx", "cart", "tickets", "", "🙂", "mcp"] {
            assert_eq!(Deed::of(name), Deed::Anything, "{name}");
        }
    }

    /// So that nothing else has to be looked up.
    #[test]
    fn sources_are_words() {
        for word in LISTS.sources_said.keys() {
            assert!(word.starts_with(char::is_alphabetic), "{word}");
        }
    }

    #[test]
    fn a_name_goes_by_several_forms() {
        let known = Names::new(["crm__web_search", "getUserDetails", "weather_api", "send-email"].into_iter());
        for (said, index) in [
            ("web_search", 0),
            ("webSearch", 0),
            ("web-search", 0),
            ("crm.web_search", 0),
            ("get_user_details", 1),
            ("weather", 2),
            ("weather_tool", 2),
            ("send_email", 3),
            ("SendEmail", 3),
        ] {
            assert_eq!(known.exactly(said), [index], "{said}");
        }
        for unknown in ["web", "search", "get_user", "email", ""] {
            assert!(known.exactly(unknown).is_empty(), "{unknown}");
        }
        assert_eq!(known.nearly("get_user"), [1]);
        assert!(known.nearly("kb_search").is_empty() && known.nearly("").is_empty());
    }
}
