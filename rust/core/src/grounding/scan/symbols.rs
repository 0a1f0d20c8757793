//! Signs, codes and words of currencies.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use foldhash::fast::FixedState;

use super::Unit;

struct Currencies {
    /// As written: signs and codes.
    signs: HashMap<&'static str, Unit<'static>, FixedState>,
    /// Words, one or several with a space between.
    words: HashMap<&'static str, Unit<'static>, FixedState>,
    /// The second of two words.
    seconds: HashSet<&'static str, FixedState>,
}

static CURRENCIES: LazyLock<Currencies> = LazyLock::new(|| {
    let mut signs = HashMap::with_hasher(FixedState::default());
    let mut words = HashMap::with_hasher(FixedState::default());
    let mut seconds = HashSet::with_hasher(FixedState::default());
    for line in include_str!("../words/currencies.txt").lines().filter(|line| !line.starts_with('#')) {
        let Some((code, spellings)) = line.split_once('|') else { continue };
        let code = code.trim();
        signs.insert(code, Unit::Currency { code, symbol: false });
        for spelling in spellings.split(',').map(str::trim).filter(|spelling| !spelling.is_empty()) {
            let (spelling, symbol) = match spelling.strip_suffix('*') {
                Some(shared) => (shared, true),
                None => (spelling, false),
            };
            let is_word = spelling.len() > 3 && spelling.chars().all(|c| c.is_lowercase() || matches!(c, ' ' | '.'))
                || matches!(spelling, "yen" | "won" | "lei");
            if let Some((_, second)) = spelling.split_once(' ').filter(|_| is_word) {
                seconds.insert(second);
            }
            let table = if is_word { &mut words } else { &mut signs };
            table.insert(spelling, Unit::Currency { code, symbol });
        }
    }
    Currencies { signs, words, seconds }
});

/// A sign or a code as it is written: "$", "US$", "EUR", "Rs.".
pub fn currency_sign(written: &str) -> Option<Unit<'static>> {
    CURRENCIES.signs.get(written).copied()
}

/// Words in lower case: "euros", "us dollars".
pub fn currency_word(lower: &str) -> Option<Unit<'static>> {
    CURRENCIES.words.get(lower).copied()
}

/// Two words in lower case: "us dollars".
pub fn currency_words(first: &str, second: &str) -> Option<Unit<'static>> {
    if !CURRENCIES.seconds.contains(second) {
        return None;
    }
    currency_word(&format!("{first} {second}"))
}

/// A code that is written right before digits: "EUR12".
pub fn is_glued_code(written: &str) -> bool {
    (2..=4).contains(&written.len()) && currency_sign(written).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_codes_and_words_stand_for_their_currency() {
        let dollar = Some(Unit::Currency { code: "USD", symbol: true });
        assert_eq!(currency_sign("$"), dollar);
        assert_eq!(currency_word("dollars"), dollar);
        assert_eq!(currency_sign("US$"), Some(Unit::Currency { code: "USD", symbol: false }));
        assert_eq!(currency_sign("EUR"), Some(Unit::Currency { code: "EUR", symbol: false }));
        assert_eq!(currency_sign("eur"), None);
        assert_eq!(currency_word("us dollars"), Some(Unit::Currency { code: "USD", symbol: false }));
    }
}
