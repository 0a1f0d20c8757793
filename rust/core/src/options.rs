//! The words of every option, once. Python's `Literal`s and the command line are asserted equal to these.

use crate::error::{Error, one_of};

/// An enum whose variants are words.
macro_rules! words {
    ($(#[$about:meta])* $name:ident, $what:literal, { $($(#[$doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$doc])* $variant),+ }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            pub fn parse(word: &str) -> Result<Self, Error> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(Error::value(one_of($what, word, Self::WORDS))),
                }
            }
        }
    };
}

words!(
    /// How the calls must line up.
    MatchMode, "match", {
        /// As many calls as expected, each fitting the one at its position.
        Exact = "exact",
        /// The expected calls are a subsequence of the calls made.
        InOrder = "in_order",
        /// The calls can be paired with none left over on either side.
        AnyOrder = "any_order",
        /// Every call made can be paired.
        Subset = "subset",
        /// Every expected call can be paired.
        Superset = "superset",
    }
);

words!(
    /// When the arguments of a call match the expected ones.
    ArgumentMode, "arguments", {
        /// Every listed key is there with an equal value.
        Partial = "partial",
        /// The two objects are equal.
        Exact = "exact",
        /// Only names are compared.
        Ignore = "ignore",
    }
);

words!(
    /// When the name of a call is the one wanted.
    Names, "names", {
        /// They are equal.
        Exact = "exact",
        /// They are equal, or the wanted one is the last segment of the recorded one (`call::last_segment`).
        LastSegment = "last_segment",
    }
);

words!(
    Verdict, "verdict", {
        Passed = "passed",
        Failed = "failed",
        Inconclusive = "inconclusive",
        NotApplicable = "not_applicable",
        Error = "error",
    }
);

words!(
    /// In what the first call that differs, differs.
    DifferenceKind, "difference", {
        Missing = "missing",
        Unexpected = "unexpected",
        Arguments = "arguments",
        Name = "name",
        Order = "order",
    }
);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    pub match_mode: MatchMode,
    pub arguments: ArgumentMode,
    pub names: Names,
}
