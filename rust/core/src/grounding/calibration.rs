//! Which rules there are, and how often each is right: one table, shipped as data.

use std::sync::{Arc, LazyLock};

use bumpalo::Bump;

use crate::{
    error::{Error, one_of},
    json,
    text::Text,
    value::{MAX_DEPTH, Member, Object, Value, get},
};

/// The rules, each with its word in `calibration.json`.
macro_rules! rules {
    ($($(#[$doc:meta])* $rule:ident = $word:literal),+ $(,)?) => {
        /// What decided a check.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Rule { $($(#[$doc])* $rule),+ }

        impl Rule {
            pub const ALL: &'static [Rule] = &[$(Rule::$rule),+];
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            pub fn word(self) -> &'static str {
                match self { $(Rule::$rule => $word),+ }
            }
        }
    };
}

rules! {
    /// There was nothing to check.
    NothingToCheck = "nothing_to_check",
    /// No rule could decide.
    NoRule = "no_rule",
    // Result fidelity.
    AllSupported = "all_supported",
    /// All found, but among so many numbers that some would be found by chance.
    FoundAmongMany = "found_among_many",
    EmptyToldAsEmpty = "empty_told_as_empty",
    UnsupportedValue = "unsupported_value",
    SeveralUnsupportedValues = "several_unsupported_values",
    /// One weak sign alone, which leaves the check undecided.
    WeaklyUnsupported = "weakly_unsupported",
    ContradictedValue = "contradicted_value",
    ContradictedSign = "contradicted_sign",
    ContradictedUnit = "contradicted_unit",
    ContradictedPolarity = "contradicted_polarity",
    ContradictedCount = "contradicted_count",
    ContradictedSlot = "contradicted_slot",
    ErrorToldAsEmptyResult = "error_told_as_empty_result",
    IgnoredResult = "ignored_result",
    // Status consistency.
    AllSucceeded = "all_succeeded",
    FailureTold = "failure_told",
    FailureNotTold = "failure_not_told",
    FailureToldAsSuccess = "failure_told_as_success",
    PendingToldAsDone = "pending_told_as_done",
    FailureToldAsEmpty = "failure_told_as_empty",
    UnlinkedSuccessClaim = "unlinked_success_claim",
    // No hallucination.
    NothingClaimed = "nothing_claimed",
    OnlyCalledTools = "only_called_tools",
    UncalledTool = "uncalled_tool",
    UnknownTool = "unknown_tool",
    UnknownSource = "unknown_source",
    ActionWithoutCall = "action_without_call",
    // Tool relevance.
    Related = "related",
    Chained = "chained",
    Unrelated = "unrelated",
    BetterToolAvailable = "better_tool_available",
}

/// What is known of a rule: how often, where it decided, the instruction was followed.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub rule: Rule,
    /// The check that it decides, by its word; "any" for the two that say that nothing is decided.
    pub check: Arc<str>,
    /// What the rule says, in a sentence.
    pub meaning: Arc<str>,
    /// In so many of `n` cases in which it decided, the instruction was followed. Of assumed ones these are pseudo-counts.
    pub followed: f64,
    pub n: f64,
    /// What was counted.
    pub source: Arc<str>,
    /// Nobody counted: the numbers say what is thought.
    pub assumed: bool,
}

impl Row {
    /// The mean of Jeffreys' posterior: never 0 or 1. By definition, nothing is wrong where there is nothing to check, and
    /// nothing is known where no rule decides.
    pub fn probability(&self) -> f64 {
        match self.rule {
            Rule::NothingToCheck => 1.0,
            Rule::NoRule => 0.5,
            _ => (self.followed + 0.5) / (self.n + 1.0),
        }
    }
}

/// The table, and what was refitted of it. A copy costs nothing.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// By [`Rule`].
    rows: Arc<[Row]>,
}

static SHIPPED: LazyLock<Calibration> =
    LazyLock::new(|| Calibration { rows: rows(include_str!("calibration.json")).unwrap_or_default().into() });

impl Default for Calibration {
    /// As it is shipped.
    fn default() -> Self {
        SHIPPED.clone()
    }
}

impl Calibration {
    /// The probability that an instruction was followed where this rule decided.
    pub fn probability(&self, rule: Rule) -> f64 {
        self.row(rule).map_or(0.5, Row::probability)
    }

    /// What is known of a rule. (Of each something is: a test holds the table against the rules.)
    pub fn row(&self, rule: Rule) -> Option<&Row> {
        self.rows.get(rule as usize)
    }

    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The table with other counts for some rules: an object of `{rule: {"followed", "n", "source", "assumed"}}`.
    pub fn with(&self, counts: Object<'_>) -> Result<Self, Error> {
        let mut rows = self.rows.to_vec();
        for member in counts {
            let refitted = || {
                let word = word(member.key);
                let Some(row) = rows.iter_mut().find(|row| row.rule.word() == word) else {
                    return Err(Error::value(one_of("a rule", &word, Rule::WORDS)));
                };
                let Value::Object(members) = member.value else {
                    return Err(Error::wrong_type(format!("expected an object, got {}", member.value.kind())));
                };
                row.refit(members)
            };
            let mut refitted = refitted;
            refitted().map_err(|error| error.at_key(member.key))?;
        }
        Ok(Calibration { rows: rows.into() })
    }
}

impl Row {
    fn refit(&mut self, members: Object<'_>) -> Result<(), Error> {
        const KEYS: &[&str] = &["followed", "n", "source", "assumed"];
        for member in members {
            let key = word(member.key);
            if !KEYS.contains(&key.as_str()) {
                return Err(Error::value(one_of("a key of a rule", &key, KEYS)).at_key(member.key));
            }
        }
        let count = |key: &'static str| match get(members, Text::from(key)) {
            Some(Value::Int(count)) if count >= 0 => Ok(count as f64),
            Some(Value::Float(count)) if count >= 0.0 && count.is_finite() => Ok(count),
            Some(_) => Err(Error::value("expected a count (0 or more)").at_key(Text::from(key))),
            None => Err(Error::value("missing").at_key(Text::from(key))),
        };
        let (followed, n) = (count("followed")?, count("n")?);
        if followed > n {
            return Err(Error::value("more than there are (n)").at_key(Text::from("followed")));
        }
        let source = match get(members, Text::from("source")) {
            Some(Value::Text(source)) => word(source).into(),
            Some(_) => return Err(Error::wrong_type("expected a text").at_key(Text::from("source"))),
            None => "refitted".into(),
        };
        let assumed = match get(members, Text::from("assumed")) {
            Some(Value::True) => true,
            Some(Value::False) | None => false,
            Some(_) => return Err(Error::wrong_type("expected true or false").at_key(Text::from("assumed"))),
        };
        (self.followed, self.n, self.source, self.assumed) = (followed, n, source, assumed);
        Ok(())
    }
}

fn word(text: Text<'_>) -> String {
    crate::show::storable(text)
}

/// The rows of the shipped table, by rule.
fn rows(table: &str) -> Result<Vec<Row>, Error> {
    let bump = Bump::new();
    let Value::Object(members) = json::parse(table.as_bytes(), MAX_DEPTH, &bump).map_err(Error::not_json)? else {
        return Err(Error::wrong_type("expected an object"));
    };
    let row = |&rule: &Rule| {
        let text = |row: Object<'_>, key: &str| match get(row, Text::from(key)) {
            Some(Value::Text(text)) => Ok(word(text)),
            _ => Err(Error::value("missing").at_key(Text::from(key))),
        };
        let Some(Value::Object(read)) = get(members, Text::from(rule.word())) else {
            return Err(Error::value(format!("no row {:?}", rule.word())));
        };
        let mut row = Row {
            rule,
            check: text(read, "check")?.into(),
            meaning: text(read, "meaning")?.into(),
            followed: 0.0,
            n: 0.0,
            source: "".into(),
            assumed: false,
        };
        let counts: Vec<Member<'_>> =
            read.iter().filter(|member| !member.key.is("check") && !member.key.is("meaning")).copied().collect();
        row.refit(&counts)?;
        Ok(row)
    };
    Rule::ALL.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grounding::report::Check;

    fn object<'a>(text: &'a str, bump: &'a Bump) -> Object<'a> {
        let Ok(Value::Object(members)) = json::parse(text.as_bytes(), MAX_DEPTH, bump) else { panic!("{text}") };
        members
    }

    #[test]
    fn the_table_has_a_row_for_each_rule_and_no_other() {
        let table = include_str!("calibration.json");
        let bump = Bump::new();
        let words: Vec<String> = object(table, &bump).iter().map(|member| word(member.key)).collect();
        assert_eq!(words, Rule::WORDS);
        let rows = rows(table).unwrap();
        for (row, &rule) in rows.iter().zip(Rule::ALL) {
            assert_eq!(row.rule, rule);
            assert!(&*row.check == "any" || Check::ALL.iter().any(|check| check.word() == &*row.check), "{row:?}");
            assert!(row.meaning.ends_with('.') && !row.source.is_empty(), "{row:?}");
            assert_eq!(row.assumed, row.source.starts_with("assumed"), "{row:?}");
        }
    }

    #[test]
    fn a_probability_is_never_sure() {
        let table = Calibration::default();
        for &rule in Rule::ALL {
            let probability = table.probability(rule);
            match rule {
                Rule::NothingToCheck => assert_eq!(probability, 1.0),
                Rule::NoRule => assert_eq!(probability, 0.5),
                _ => assert!(probability > 0.0 && probability < 1.0, "{rule:?}"),
            }
        }
        // Jeffreys: 61 of 664 is (61 + 0.5) / (664 + 1).
        let bump = Bump::new();
        let counts = object(r#"{"unsupported_value": {"followed": 61, "n": 664, "source": "mine"}}"#, &bump);
        let refitted = table.with(counts).unwrap();
        assert_eq!(refitted.probability(Rule::UnsupportedValue), 61.5 / 665.0);
        assert_eq!(&*refitted.row(Rule::UnsupportedValue).unwrap().source, "mine");
        assert_eq!(refitted.probability(Rule::Related), table.probability(Rule::Related));
    }

    #[test]
    fn counts_that_can_not_be_are_refused() {
        let bump = Bump::new();
        for (counts, error) in [
            (r#"{"related": {"followed": 3, "n": 2}}"#, "related.followed: more than there are (n)"),
            (r#"{"related": {"followed": -1, "n": 2}}"#, "related.followed: expected a count (0 or more)"),
            (r#"{"related": {"followed": 1}}"#, "related.n: missing"),
            (r#"{"related": 1}"#, "related: expected an object, got a number"),
        ] {
            assert_eq!(Calibration::default().with(object(counts, &bump)).unwrap_err().to_string(), error);
        }
        let unknown = Calibration::default().with(object(r#"{"relatet": {}}"#, &bump)).unwrap_err().to_string();
        assert!(unknown.ends_with("did you mean \"related\"?"), "{unknown}");
    }
}
