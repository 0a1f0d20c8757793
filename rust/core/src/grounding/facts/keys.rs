//! What the key of a value says of it: its words, and what these are known for.

use std::{cell::RefCell, sync::LazyLock};

use bumpalo::{Bump, collections::Vec as ArenaVec};
use foldhash::{HashMap, HashSet};

use super::{
    super::{request::utf8, scan::Unit, settings::Settings},
    measure,
};
use crate::text::Text;

const LEAVES: &str = include_str!("../words/leaves.txt");

/// What the words of a key say of its value. Several may be true.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits(u16);

impl Traits {
    pub const NONE: Self = Traits(0);
    /// Nobody expects it in an answer: an id, a link, a page number.
    pub const TECHNICAL: Self = Traits(1);
    /// A number that may be seconds or milliseconds since 1970.
    pub const TIME: Self = Traits(1 << 1);
    pub const MONEY: Self = Traits(1 << 2);
    /// A share of one, where the value is between -1 and 1.
    pub const SHARE: Self = Traits(1 << 3);
    pub const TEMPERATURE: Self = Traits(1 << 4);
    /// "value", "amount": a sibling says what of.
    pub const GENERIC: Self = Traits(1 << 5);
    /// Its value is the unit of its siblings.
    pub const UNIT: Self = Traits(1 << 6);
    pub const CURRENCY: Self = Traits(1 << 7);
    /// `ignore_keys` has it: it supports, but contradicts nothing.
    pub const IGNORED: Self = Traits(1 << 8);
    /// It counts in thousands, millions, billions, or in hundredths of a currency.
    pub const THOUSANDS: Self = Traits(1 << 9);
    pub const MILLIONS: Self = Traits(1 << 10);
    pub const BILLIONS: Self = Traits(1 << 11);
    pub const CENTS: Self = Traits(1 << 12);

    /// Is any of these among them?
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Traits(self.0 | other.0)
    }

    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "technical" => Self::TECHNICAL,
            "time" => Self::TIME,
            "money" => Self::MONEY,
            "share" => Self::SHARE,
            "temperature" => Self::TEMPERATURE,
            "generic" => Self::GENERIC,
            "unit" => Self::UNIT,
            "currency" => Self::CURRENCY,
            "thousands" => Self::THOUSANDS,
            "millions" => Self::MILLIONS,
            "billions" => Self::BILLIONS,
            "cents" => Self::CENTS,
            _ => return None,
        })
    }
}

/// The data file, read once.
#[derive(Default)]
struct Lists {
    /// Of a word wherever it stands in a key, and of the last word of a key.
    anywhere: HashMap<&'static str, Traits>,
    last: HashMap<&'static str, Traits>,
    /// Short words that are a unit only beside certain others.
    beside: HashMap<&'static str, Vec<&'static str>>,
    /// Words that are units wherever they stand.
    units: HashSet<&'static str>,
    /// Words that are another unit beside certain others: a word, the unit, the others.
    instead: Vec<(&'static str, &'static str, Vec<&'static str>)>,
}

static LISTS: LazyLock<Lists> = LazyLock::new(|| {
    let mut lists = Lists::default();
    for line in LEAVES.lines().filter(|line| !line.starts_with('#')) {
        let Some((name, words)) = line.split_once(": ") else { continue };
        if let Some(short) = name.strip_prefix("beside ") {
            lists.beside.insert(short, words.split_whitespace().collect());
        } else if name == "unit anywhere" {
            lists.units.extend(words.split_whitespace());
        } else if let Some((word, unit)) = name.strip_prefix("instead ").and_then(|rest| rest.split_once(' ')) {
            lists.instead.push((word, unit, words.split_whitespace().collect()));
        } else if let Some(new) = Traits::named(name) {
            for word in words.split_whitespace() {
                let (map, word) = match word.strip_prefix('+') {
                    Some(word) => (&mut lists.last, word),
                    None => (&mut lists.anywhere, word),
                };
                let traits = map.entry(word).or_default();
                *traits = traits.and(new);
            }
        }
    }
    lists
});

/// A key, looked into once.
#[derive(Clone, Copy, Debug)]
pub struct Key<'a> {
    pub words: &'a [&'a str],
    /// The same for the same words, and 0 for none.
    pub words_id: u32,
    pub traits: Traits,
    pub unit: Option<Unit<'a>>,
    /// The unit is a hint of the settings, which nothing overrules.
    pub hinted: bool,
}

impl Key<'_> {
    pub const NONE: Key<'static> = Key { words: &[], words_id: 0, traits: Traits::NONE, unit: None, hinted: false };
}

/// A key by its name, and which one was asked for after it the last time: the items of a list have the same keys in the same order.
struct Known<'a> {
    name: &'a str,
    key: &'a Key<'a>,
    next: usize,
}

/// The keys of a request, which come again and again.
pub struct Keys<'a, 's> {
    known: Vec<Known<'a>>,
    by_name: HashMap<&'a str, usize>,
    /// The one that was asked for last.
    last: usize,
    ids: HashMap<&'a [&'a str], u32>,
    settings: &'s Settings,
    bump: &'a Bump,
}

impl<'a, 's> Keys<'a, 's> {
    pub fn new(settings: &'s Settings, bump: &'a Bump) -> Self {
        Keys { known: Vec::new(), by_name: HashMap::default(), last: 0, ids: HashMap::default(), settings, bump }
    }

    /// A key and its name in UTF-8.
    pub fn get(&mut self, name: Text<'a>) -> (&'a str, &'a Key<'a>) {
        let next = self.known.get(self.last).map_or(0, |last| last.next);
        if let (Text::Utf8(bytes), Some(known)) = (name, self.known.get(next))
            && known.name.as_bytes() == bytes
        {
            self.last = next;
            return (known.name, known.key);
        }
        let name = utf8(name, self.bump);
        let place = match self.by_name.get(name) {
            Some(place) => *place,
            None => {
                let key = self.bump.alloc(self.read(name));
                self.known.push(Known { name, key, next: 0 });
                self.by_name.insert(name, self.known.len() - 1);
                self.known.len() - 1
            }
        };
        if let Some(last) = self.known.get_mut(self.last) {
            last.next = place;
        }
        self.last = place;
        self.known.get(place).map_or((name, &Key::NONE), |known| (known.name, known.key))
    }

    fn read(&mut self, key: &'a str) -> Key<'a> {
        let read = spelled(key, |spelled| {
            let words = spelled.words.iter().map(|word| &*self.bump.alloc_str(word));
            (&*self.bump.alloc_slice_fill_iter(words), spelled.traits, spelled.unit, spelled.scale)
        });
        let (words, mut traits, unit, scale) = read;
        if self.settings.ignore_keys.iter().any(|ignored| ignored == key) {
            traits = traits.and(Traits::IGNORED).and(Traits::TECHNICAL);
        }
        let hint = self.settings.unit_hints.get(key).and_then(|hint| measure::unit(hint));
        if hint.is_none() {
            traits = traits.and(scale);
        }
        Key { words, words_id: self.id(words), traits, unit: hint.or(unit), hinted: hint.is_some() }
    }

    fn id(&mut self, words: &'a [&'a str]) -> u32 {
        let next = self.ids.len() as u32 + 1;
        if words.is_empty() { 0 } else { *self.ids.entry(words).or_insert(next) }
    }
}

/// What a key says as it is spelled, whatever the settings are.
struct Spelled {
    words: Box<[Box<str>]>,
    traits: Traits,
    unit: Option<Unit<'static>>,
    /// How many of its unit it counts in, where no hint says otherwise: `revenue_musd`.
    scale: Traits,
}

/// So many keys are kept in each thread, and none that is longer.
const MOST_KEPT: usize = 4096;
const LONGEST_KEPT: usize = 64;

thread_local! {
    /// A key takes long to read, and requests of one tool have the same keys again and again.
    static SPELLED: RefCell<HashMap<Box<str>, Spelled>> = RefCell::default();
}

fn spelled<T>(key: &str, using: impl FnOnce(&Spelled) -> T) -> T {
    if key.len() > LONGEST_KEPT {
        return using(&Spelled::read(key));
    }
    SPELLED.with_borrow_mut(|kept| {
        if !kept.contains_key(key) {
            if kept.len() >= MOST_KEPT {
                kept.clear();
            }
            kept.insert(key.into(), Spelled::read(key));
        }
        match kept.get(key) {
            Some(spelled) => using(spelled),
            None => using(&Spelled::read(key)),
        }
    })
}

impl Spelled {
    fn read(key: &str) -> Self {
        // A header may have its unit in brackets: "Temperature (°C)", "price [USD]".
        let (name, inside) = match key.split_once(['(', '[']) {
            Some((name, inside)) if !name.trim().is_empty() => (name, Some(inside.trim_end_matches([')', ']', ' ']))),
            _ => (key, None),
        };
        let bump = Bump::new();
        let words = words(name, &bump);
        let unit = inside.and_then(measure::unit).or_else(|| suffix(words));
        let (scale, unit) = match (unit, words.last()) {
            (None, Some(word)) => {
                scaled_currency(word).map_or((Traits::NONE, None), |(scale, unit)| (scale, Some(unit)))
            }
            (unit, _) => (Traits::NONE, unit),
        };
        Spelled { words: words.iter().map(|word| Box::from(*word)).collect(), traits: traits(words), unit, scale }
    }
}

/// What is found out of the words of a key, once for each key.
pub struct PerKey<T>(Vec<Option<T>>);

impl<T> Default for PerKey<T> {
    fn default() -> Self {
        PerKey(Vec::new())
    }
}

impl<T> PerKey<T> {
    pub fn get_or_insert_with(&mut self, words_id: u32, find_out: impl FnOnce() -> T) -> &mut T {
        let place = words_id as usize;
        if self.0.len() <= place {
            self.0.resize_with(place + 1, || None);
        }
        self.0[place].get_or_insert_with(find_out)
    }

    /// What was found out, in the order of the ids.
    pub fn into_values(self) -> impl Iterator<Item = T> {
        self.0.into_iter().flatten()
    }
}

/// The words of a key: split at case, digits and punctuation, in lower case. `getHTTPStatus2xx` is [get, http, status, 2, xx].
pub fn words<'a>(key: &str, bump: &'a Bump) -> &'a [&'a str] {
    #[derive(Clone, Copy, PartialEq)]
    enum Class {
        Lower,
        Upper,
        Digit,
        Other,
    }
    let class = |c: char| match c {
        _ if c.is_numeric() => Class::Digit,
        _ if c.is_uppercase() => Class::Upper,
        _ if c.is_alphabetic() || matches!(c, '%' | '°' | '$' | '€' | '£') => Class::Lower,
        _ => Class::Other,
    };
    let mut words = ArenaVec::new_in(bump);
    let mut word = bumpalo::collections::String::new_in(bump);
    let mut last = Class::Other;
    let mut chars = key.chars().peekable();
    while let Some(c) = chars.next() {
        let now = class(c);
        let next = chars.peek().map(|&c| class(c));
        let begins = match (last, now) {
            (_, Class::Other) => true,
            (Class::Lower, Class::Upper) | (Class::Digit, Class::Upper | Class::Lower) => true,
            (Class::Lower | Class::Upper, Class::Digit) => true,
            // The last capital of "HTTPStatus" begins the word behind it.
            (Class::Upper, Class::Upper) => next == Some(Class::Lower),
            _ => false,
        };
        if begins && !word.is_empty() {
            words.push(std::mem::replace(&mut word, bumpalo::collections::String::new_in(bump)).into_bump_str());
        }
        if now != Class::Other {
            word.extend(c.to_lowercase());
        }
        last = now;
    }
    if !word.is_empty() {
        words.push(word.into_bump_str());
    }
    words.into_bump_slice()
}

fn traits(words: &[&str]) -> Traits {
    let lists = &*LISTS;
    let anywhere = words.iter().filter_map(|word| lists.anywhere.get(word));
    let last = words.last().and_then(|word| lists.last.get(word));
    anywhere.chain(last).fold(Traits::NONE, |all, &traits| all.and(traits))
}

/// The unit that the last words of a key are: `temp_c`, `max_mg`, `speed_km_h`, `price_usd`. That `vitamin_c` is no temperature
/// and `temp_min` no time is what lists say.
fn suffix(words: &[&str]) -> Option<Unit<'static>> {
    let (last, before) = words.split_last()?;
    let among = |others: &[&str]| before.iter().any(|word| others.contains(word));
    if let Some((_, unit, _)) = LISTS.instead.iter().find(|(word, _, others)| word == last && among(others)) {
        return measure::unit(unit);
    }
    // `area_km2`
    if let ("2" | "3", Some(base)) = (*last, before.last()) {
        return measure::unit(&format!("{base}{last}"));
    }
    match LISTS.beside.get(last) {
        Some(others) if !before.iter().any(|word| others.contains(word) || *word == "per") => None,
        _ => measure::of_key(words).or_else(|| {
            let word = before.iter().find(|word| LISTS.units.contains(**word))?;
            measure::of_key(&[word])
        }),
    }
}

/// `revenue_musd` is in millions of dollars.
fn scaled_currency(word: &str) -> Option<(Traits, Unit<'static>)> {
    let scale = match word.as_bytes() {
        [b'k', _, _, _] => Traits::THOUSANDS,
        [b'm', _, _, _] => Traits::MILLIONS,
        [b'b', _, _, _] => Traits::BILLIONS,
        _ => return None,
    };
    let unit = measure::unit(&word.get(1..)?.to_uppercase())?;
    matches!(unit, Unit::Currency { .. }).then_some((scale, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_split_at_case_digits_and_punctuation() {
        let bump = Bump::new();
        for (key, expected) in [
            ("tempC", &["temp", "c"][..]),
            ("temp_c", &["temp", "c"]),
            ("FG3_PCT", &["fg", "3", "pct"]),
            ("HTTPStatus", &["http", "status"]),
            ("feels-like.max", &["feels", "like", "max"]),
            ("PTS_QTR1", &["pts", "qtr", "1"]),
            ("Größe", &["größe"]),
            ("", &[]),
            ("  ", &[]),
            ("in_stock?", &["in", "stock"]),
        ] {
            assert_eq!(words(key, &bump), expected, "{key}");
        }
    }

    #[test]
    fn a_key_is_the_same_in_whatever_order_and_storage_it_comes() {
        let bump = Bump::new();
        let settings = Settings::default();
        let mut keys = Keys::new(&settings, &bump);
        let in_order = ["main", "temp_c", "main", "wind", "größe", "temp_c", "tempC"];
        let mut read = |name: &'static str| {
            let (found, key) = keys.get(Text::from(name));
            assert_eq!((found, key.words), (name, words(name, &bump)));
            key.words_id
        };
        // Twice, so that each is found by the one before it; and the other way round, so that none is.
        let first = in_order.map(&mut read);
        assert_eq!(in_order.map(&mut read), first);
        let mut backwards = in_order;
        backwards.reverse();
        let mut ids = backwards.map(&mut read);
        ids.reverse();
        assert_eq!(ids, first);
        // The same words are the same, however they are written, and others are not.
        assert_eq!((first[1], first[0] == first[3]), (first[6], false));
        assert_eq!(keys.get(Text::Latin1(b"gr\xf6\xdfe")).1.words_id, first[4]);
    }

    #[test]
    fn a_hint_overrules_what_a_key_says_of_its_unit() {
        let bump = Bump::new();
        let hinted = Settings {
            unit_hints: [("revenue_musd".to_owned(), "EUR".to_owned())].into_iter().collect(),
            ignore_keys: vec!["temp_c".to_owned()],
            ..Settings::default()
        };
        // One after the other in one thread, which remembers keys, and not what settings say of them.
        for settings in [&Settings::default(), &hinted, &Settings::default()] {
            let is_hinted = !settings.unit_hints.is_empty();
            let mut keys = Keys::new(settings, &bump);
            let revenue = keys.get(Text::from("revenue_musd")).1;
            let code = if is_hinted { "EUR" } else { "USD" };
            assert!(matches!(revenue.unit, Some(Unit::Currency { code: found, .. }) if found == code));
            assert_eq!((revenue.hinted, revenue.traits.has(Traits::MILLIONS)), (is_hinted, !is_hinted));
            assert_eq!(keys.get(Text::from("temp_c")).1.traits.has(Traits::IGNORED), is_hinted);
        }
    }

    #[test]
    fn words_of_a_key_say_what_it_is() {
        let bump = Bump::new();
        let of = |key| traits(words(key, &bump));
        assert!(of("request_id").has(Traits::TECHNICAL) && of("orderId").has(Traits::TECHNICAL));
        assert!(!of("id_card_holder").has(Traits::TECHNICAL));
        assert!(of("total_price").has(Traits::MONEY) && of("pass_rate").has(Traits::SHARE));
        assert!(of("sunrise").has(Traits::TIME) && of("currencyCode").has(Traits::CURRENCY));
        assert_eq!(of("humidity"), Traits::NONE);
    }
}
