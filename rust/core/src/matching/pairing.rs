//! A largest one-to-one pairing of expected and made calls.
//!
//! Only calls of one tool can be paired, so every tool is a bipartite graph of its own. Within it, expected calls are
//! taken in order and each is kept if all kept ones can still be paired: the search for an augmenting path (Kuhn's
//! algorithm, breadth first) decides that. Since what can be paired is a matroid (Edmonds and Fulkerson, 1965), the calls
//! kept so are as many as can be, and they don't depend on how equal ones are listed. The made calls that stay are chosen
//! by the same rule, from the other end: going down from the last one, each is given up if the kept expected calls can do
//! without it.

use std::{
    collections::{HashMap, VecDeque},
    hash::RandomState,
};

use super::Check;
use crate::{
    call::{Arguments, Call},
    compare,
    expected::{Fit, NO_TOOL},
    options::ArgumentMode,
    value::{Member, Object},
};

const NONE: u32 = u32::MAX;
/// The owner of a made call that has been given up.
const GIVEN_UP: u32 = u32::MAX - 1;
/// Up to so many pairs of one tool are compared directly; above, arguments are looked up in an index.
const MOST_COMPARED: usize = 400;
/// Graphs of more edges than this are not written out.
const MOST_EDGES: usize = 16 << 20;

#[derive(Default)]
pub struct Pairing {
    /// For each expected call its made one, or [`NONE`].
    of_expected: Vec<u32>,
    of_actual: Vec<u32>,
    matched: usize,
}

impl Pairing {
    pub fn matched(&self) -> usize {
        self.matched
    }

    /// (expected, actual), ascending by the expected call.
    pub fn pairs(&self) -> Box<[(u32, u32)]> {
        let mut pairs = Vec::with_capacity(self.matched);
        let paired = (0..).zip(&self.of_expected).filter(|pair| *pair.1 != NONE);
        pairs.extend(paired.map(|(expected, &actual)| (expected, actual)));
        pairs.into_boxed_slice()
    }

    /// The first expected call that can't be kept.
    pub fn first_missing(&self) -> Option<usize> {
        self.of_expected.iter().position(|&actual| actual == NONE)
    }

    /// The first made call that can't be kept.
    pub fn first_unexpected(&self) -> Option<usize> {
        self.of_actual.iter().position(|&expected| expected == NONE)
    }

    /// The first made call of a tool that is left over, if any is.
    pub fn first_left_over(&self, tools: &[u32], tool: u32) -> Option<usize> {
        first_free(&self.of_actual, tools, tool)
    }

    /// The first expected call of a tool that is left over, if any is.
    pub fn first_lacking(&self, tools: &[u32], tool: u32) -> Option<usize> {
        first_free(&self.of_expected, tools, tool)
    }
}

fn first_free(partners: &[u32], tools: &[u32], tool: u32) -> Option<usize> {
    (0..partners.len()).find(|&place| partners[place] == NONE && tools[place] == tool)
}

#[derive(Default)]
pub struct Scratch {
    expected: Buckets,
    actual: Buckets,
    graph: Graph,
    search: Search,
}

/// Find a largest pairing; `unknown` says whether calls whose arguments weren't recorded are taken for fitting.
pub fn largest(check: &mut Check<'_, '_>, unknown: bool, pairing: &mut Pairing, scratch: &mut Scratch) {
    refill(&mut pairing.of_expected, check.expectation.calls.len(), NONE);
    refill(&mut pairing.of_actual, check.actual.len(), NONE);
    pairing.matched = 0;
    let Scratch { expected, actual, graph, search } = scratch;
    let tools = check.expectation.names.len();
    expected.sort(check.expectation.tools, tools);
    actual.sort(check.tools, tools);
    for tool in 0..tools {
        let (expected, actual) = (expected.of(tool), actual.of(tool));
        let mut pair = |left: u32, right: u32| {
            pairing.of_expected[left as usize] = right;
            pairing.of_actual[right as usize] = left;
            pairing.matched += 1;
        };
        match (expected, actual) {
            (_, []) => {}
            // One call on a side is paired with the first that fits.
            (&[left], _) => {
                if let Some(&right) = actual.iter().find(|&&right| check.fits(left as usize, right as usize, unknown)) {
                    pair(left, right);
                }
            }
            (_, &[right]) => {
                if let Some(&left) = expected.iter().find(|&&left| check.fits(left as usize, right as usize, unknown)) {
                    pair(left, right);
                }
            }
            _ => {
                if expected.len() * actual.len() <= MOST_COMPARED {
                    graph.compare(check, expected, actual, unknown);
                } else {
                    graph.index(check, expected, actual, unknown);
                }
                search.run(graph, actual.len());
                for (&left, &right) in expected.iter().zip(&search.partner) {
                    if right != NONE {
                        pair(left, actual[right as usize]);
                    }
                }
            }
        }
    }
}

/// The places of calls, sorted by tool.
#[derive(Default)]
struct Buckets {
    places: Vec<u32>,
    /// Where each tool's places start.
    starts: Vec<u32>,
}

impl Buckets {
    fn sort(&mut self, tools: &[u32], count: usize) {
        self.starts.clear();
        self.starts.resize(count + 2, 0);
        for &tool in tools.iter().filter(|&&tool| tool != NO_TOOL) {
            self.starts[tool as usize + 2] += 1;
        }
        for tool in 2..self.starts.len() {
            self.starts[tool] += self.starts[tool - 1];
        }
        self.places.clear();
        self.places.resize(self.starts[count + 1] as usize, 0);
        for (place, &tool) in (0..).zip(tools).filter(|pair| *pair.1 != NO_TOOL) {
            let next = &mut self.starts[tool as usize + 1];
            self.places[*next as usize] = place;
            *next += 1;
        }
    }

    fn of(&self, tool: usize) -> &[u32] {
        &self.places[self.starts[tool] as usize..self.starts[tool + 1] as usize]
    }
}

/// Which made calls of one tool fit which expected ones. Calls are numbered within the tool.
///
/// Expected calls that demand the same are of one class, and share a list of candidates. Where a class demands several
/// things, its candidates are those that meet the rarest of them; the others are checked once, or, where the graph would
/// take too much room if it were written out, whenever a candidate is looked at.
#[derive(Default)]
struct Graph {
    /// The class of each expected call.
    class: Vec<u32>,
    classes: Vec<Class>,
    /// Made calls, ascending within each class's list.
    candidates: Vec<u32>,
    /// Numbers of demands: of classes, and (each sorted) of made calls.
    demands: Vec<u32>,
    /// Where each made call's demands lie.
    met: Vec<Range>,
    /// Made calls that fit everything.
    always: Vec<u32>,
}

#[derive(Clone, Copy, Default)]
struct Range {
    start: u32,
    end: u32,
}

impl Range {
    fn of(self, all: &[u32]) -> &[u32] {
        &all[self.start as usize..self.end as usize]
    }
}

#[derive(Clone, Copy)]
struct Class {
    candidates: Range,
    /// What candidates must meet; empty where all of them do.
    demands: Range,
}

impl Graph {
    fn clear(&mut self) {
        self.class.clear();
        self.classes.clear();
        self.candidates.clear();
        self.demands.clear();
        self.met.clear();
        self.always.clear();
    }

    /// Compare every expected call with every made one.
    fn compare(&mut self, check: &mut Check<'_, '_>, expected: &[u32], actual: &[u32], unknown: bool) {
        self.clear();
        for (place, &left) in (0..).zip(expected) {
            let start = self.candidates.len() as u32;
            // Those that are known to fit come first, so that unknown ones are used only where they are needed.
            for wanted in [Fit::Yes, Fit::Unknown] {
                for (right, &place) in (0..).zip(actual) {
                    if check.fit(left as usize, place as usize) == wanted && (wanted == Fit::Yes || unknown) {
                        self.candidates.push(right);
                    }
                }
            }
            let candidates = Range { start, end: self.candidates.len() as u32 };
            self.class.push(place);
            self.classes.push(Class { candidates, demands: Range::default() });
        }
    }

    /// Look up what the expected calls demand in an index of what the made calls have.
    fn index(&mut self, check: &mut Check<'_, '_>, expected: &[u32], actual: &[u32], unknown: bool) {
        self.clear();
        let mode = check.expectation.options.arguments;
        let mut table = Table::default();
        let mut classes: HashMap<Vec<u32>, u32> = HashMap::new();
        let mut listed: Vec<Vec<u32>> = Vec::new();
        for &left in expected {
            let arguments = check.expectation.calls[left as usize].arguments;
            let mut demands: Vec<u32> = Demand::listed_by(arguments, mode).map(|demand| table.number(demand)).collect();
            demands.sort_unstable();
            let fresh = listed.len() as u32;
            let class = *classes.entry(demands).or_insert_with_key(|demands| {
                listed.push(demands.clone());
                fresh
            });
            self.class.push(class);
        }
        for (right, &place) in (0..).zip(actual) {
            let call = &check.actual[place as usize];
            let start = self.demands.len();
            if unknown && matches!(call.arguments, Arguments::NotRecorded) && check.doubted != Some(place as usize) {
                self.always.push(right);
            } else {
                self.demands.extend(Demand::met_by(call, mode).filter_map(|demand| table.known(demand)));
                self.demands[start..].sort_unstable();
            }
            self.met.push(Range { start: start as u32, end: self.demands.len() as u32 });
        }
        // For each demand, the calls that meet it, one list after the other; last, the list of all calls.
        let mut ends = vec![0u32; table.demands.len()];
        for met in &self.met {
            for &demand in met.of(&self.demands) {
                ends[demand as usize] += 1;
            }
        }
        let mut total = 0;
        let mut lists: Vec<Range> = Vec::with_capacity(ends.len());
        for count in ends {
            lists.push(Range { start: total, end: total });
            total += count;
        }
        self.candidates.resize(total as usize, 0);
        for (right, met) in (0..).zip(&self.met) {
            for &demand in met.of(&self.demands) {
                let list = &mut lists[demand as usize];
                self.candidates[list.end as usize] = right;
                list.end += 1;
            }
        }
        self.candidates.extend(0..actual.len() as u32);
        let everyone = Range { start: total, end: self.candidates.len() as u32 };
        let size = |list: Range| (list.end - list.start) as usize;
        let mut sets = Sets { words: actual.len().div_ceil(64), sets: HashMap::new() };
        let written = self.candidates.len();
        for demands in &listed {
            let met_by = demands.iter().map(|&demand| lists[demand as usize]);
            let rarest = met_by.min_by_key(|&list| size(list)).unwrap_or(everyone);
            let mut class = Class { candidates: rarest, demands: Range::default() };
            if demands.len() > 1 {
                if self.candidates.len() - written > MOST_EDGES {
                    let start = self.demands.len() as u32;
                    self.demands.extend(demands);
                    class.demands = Range { start, end: self.demands.len() as u32 };
                } else if size(rarest) > 2 * sets.words {
                    class.candidates = sets.intersection(demands, &lists, &mut self.candidates);
                } else {
                    let start = self.candidates.len() as u32;
                    for place in rarest.start..rarest.end {
                        let right = self.candidates[place as usize];
                        if includes(self.met[right as usize].of(&self.demands), demands) {
                            self.candidates.push(right);
                        }
                    }
                    class.candidates = Range { start, end: self.candidates.len() as u32 };
                }
            }
            self.classes.push(class);
        }
    }

    /// How many places the list of a class has, of which [`Graph::candidate`] tells the call if it really fits.
    fn length(&self, class: u32) -> u32 {
        let list = self.classes[class as usize].candidates;
        list.end - list.start + self.always.len() as u32
    }

    fn candidate(&self, class: u32, place: u32) -> Option<u32> {
        let Class { candidates, demands } = self.classes[class as usize];
        match candidates.of(&self.candidates).get(place as usize) {
            None => self.always.get((place - (candidates.end - candidates.start)) as usize).copied(),
            Some(&right) => {
                let demands = demands.of(&self.demands);
                (demands.is_empty() || includes(self.met[right as usize].of(&self.demands), demands)).then_some(right)
            }
        }
    }
}

/// For demands that many calls meet, these calls as sets of bits, made when they are first asked for.
struct Sets {
    words: usize,
    sets: HashMap<u32, Vec<u64>>,
}

impl Sets {
    /// Add the calls that meet all of the demands to the candidates.
    fn intersection(&mut self, demands: &[u32], lists: &[Range], candidates: &mut Vec<u32>) -> Range {
        let mut all = vec![u64::MAX; self.words];
        for &demand in demands {
            let set = self.sets.entry(demand).or_insert_with(|| {
                let mut set = vec![0; self.words];
                for &right in lists[demand as usize].of(candidates) {
                    set[right as usize / 64] |= 1 << (right % 64);
                }
                set
            });
            all.iter_mut().zip(set).for_each(|(all, word)| *all &= *word);
        }
        let start = candidates.len() as u32;
        for (place, mut word) in (0..).zip(all) {
            while word != 0 {
                candidates.push(64 * place + word.trailing_zeros());
                word &= word - 1;
            }
        }
        Range { start, end: candidates.len() as u32 }
    }
}

/// Does the one sorted list include the other?
fn includes(whole: &[u32], part: &[u32]) -> bool {
    if part.len() * 8 < whole.len() {
        return part.iter().all(|number| whole.binary_search(number).is_ok());
    }
    let mut rest = whole.iter();
    part.iter().all(|number| rest.by_ref().find(|&other| other >= number) == Some(number))
}

/// One thing that an expected call asks of the arguments.
#[derive(Clone, Copy)]
enum Demand<'a> {
    /// This key with this value.
    Member(Member<'a>),
    /// This object and no other.
    Whole(Object<'a>),
    /// Arguments that can be read, if they were recorded.
    Readable,
}

impl<'a> Demand<'a> {
    /// Nothing is demanded where any arguments will do.
    fn listed_by(arguments: Option<Object<'a>>, mode: ArgumentMode) -> impl Iterator<Item = Demand<'a>> {
        let listed = arguments.filter(|_| mode != ArgumentMode::Ignore);
        let lone = match (mode, listed) {
            (ArgumentMode::Exact, Some(object)) => Some(Demand::Whole(object)),
            (ArgumentMode::Partial, Some([])) => Some(Demand::Readable),
            _ => None,
        };
        let members = listed.filter(|_| mode == ArgumentMode::Partial).unwrap_or_default();
        lone.into_iter().chain(members.iter().copied().map(Demand::Member))
    }

    fn met_by(call: &Call<'a>, mode: ArgumentMode) -> impl Iterator<Item = Demand<'a>> {
        let (lone, members) = match (mode, call.arguments) {
            (ArgumentMode::Exact, Arguments::Object(object)) => (Some(Demand::Whole(object)), &[][..]),
            (ArgumentMode::Partial, Arguments::Object(object)) => (Some(Demand::Readable), object),
            (ArgumentMode::Partial, Arguments::NotRecorded) => (Some(Demand::Readable), &[][..]),
            _ => (None, &[][..]),
        };
        lone.into_iter().chain(members.iter().copied().map(Demand::Member))
    }

    fn hash(self, build: &RandomState) -> u64 {
        match self {
            Demand::Member(member) => compare::hash_member(member.key, member.value, build),
            Demand::Whole(object) => compare::hash_object(object, build),
            Demand::Readable => 0,
        }
    }

    fn same(self, other: Demand<'_>) -> bool {
        match (self, other) {
            (Demand::Member(a), Demand::Member(b)) => a.key == b.key && compare::equal(a.value, b.value),
            (Demand::Whole(a), Demand::Whole(b)) => compare::arguments_match(a, b, ArgumentMode::Exact),
            (Demand::Readable, Demand::Readable) => true,
            _ => false,
        }
    }
}

/// Numbers demands; equal ones get the same number.
#[derive(Default)]
struct Table<'a> {
    build: RandomState,
    demands: Vec<Demand<'a>>,
    /// The last demand of each hash, and for each demand the one before it of the same hash.
    last: HashMap<u64, u32>,
    before: Vec<u32>,
}

impl<'a> Table<'a> {
    fn known(&self, demand: Demand<'_>) -> Option<u32> {
        self.find(demand.hash(&self.build), demand)
    }

    fn find(&self, hash: u64, demand: Demand<'_>) -> Option<u32> {
        let mut number = *self.last.get(&hash)?;
        while number != NONE {
            if self.demands[number as usize].same(demand) {
                return Some(number);
            }
            number = self.before[number as usize];
        }
        None
    }

    fn number(&mut self, demand: Demand<'a>) -> u32 {
        let hash = demand.hash(&self.build);
        self.find(hash, demand).unwrap_or_else(|| {
            let number = self.demands.len() as u32;
            self.demands.push(demand);
            self.before.push(self.last.insert(hash, number).unwrap_or(NONE));
            number
        })
    }
}

#[derive(Default)]
struct Search {
    /// For each expected call its made one, and the other way round.
    partner: Vec<u32>,
    owner: Vec<u32>,
    /// For each class, the place of its list before which no call is free. A call that is taken is never free again.
    free_from: Vec<u32>,
    /// Classes from which no free call can be reached any more. Nothing that happens elsewhere changes that.
    dead: Vec<bool>,
    /// The last search that came by each class, and the made call through which it did.
    seen: Vec<u32>,
    through: Vec<u32>,
    /// For each made call that was gone through, the class from which.
    from: Vec<u32>,
    queue: VecDeque<u32>,
    reached: Vec<u32>,
    searches: u32,
}

impl Search {
    fn run(&mut self, graph: &Graph, actual: usize) {
        let classes = graph.classes.len();
        refill(&mut self.partner, graph.class.len(), NONE);
        refill(&mut self.owner, actual, NONE);
        refill(&mut self.free_from, classes, 0);
        refill(&mut self.dead, classes, false);
        refill(&mut self.seen, classes, 0);
        refill(&mut self.through, classes, NONE);
        refill(&mut self.from, actual, NONE);
        self.searches = 0;
        let mut free = actual;
        for left in 0..graph.class.len() as u32 {
            free -= usize::from(self.augment(graph, left));
        }
        for right in (0..actual).rev() {
            if free == 0 {
                break;
            }
            let owner = std::mem::replace(&mut self.owner[right], GIVEN_UP);
            if owner == NONE || self.augment(graph, owner) {
                free -= 1;
            } else {
                self.owner[right] = owner;
            }
        }
    }

    /// Find a partner for an expected call, moving others to other partners where need be.
    fn augment(&mut self, graph: &Graph, left: u32) -> bool {
        let root = graph.class[left as usize];
        if self.dead[root as usize] {
            return false;
        }
        self.searches += 1;
        self.queue.clear();
        self.reached.clear();
        self.reach(root, NONE);
        while let Some(class) = self.queue.pop_front() {
            if let Some(free) = self.free(graph, class) {
                self.shift(graph, left, class, free);
                return true;
            }
            for place in 0..graph.length(class) {
                let Some(right) = graph.candidate(class, place) else { continue };
                let owner = self.owner[right as usize];
                if owner == GIVEN_UP {
                    continue;
                }
                let next = graph.class[owner as usize];
                if self.seen[next as usize] != self.searches && !self.dead[next as usize] {
                    self.from[right as usize] = class;
                    self.reach(next, right);
                }
            }
        }
        for &class in &self.reached {
            self.dead[class as usize] = true;
        }
        false
    }

    fn reach(&mut self, class: u32, through: u32) {
        self.seen[class as usize] = self.searches;
        self.through[class as usize] = through;
        self.queue.push_back(class);
        self.reached.push(class);
    }

    /// The first free call of a class.
    fn free(&mut self, graph: &Graph, class: u32) -> Option<u32> {
        let length = graph.length(class);
        let mut place = self.free_from[class as usize];
        let mut found = None;
        while place < length && found.is_none() {
            found = graph.candidate(class, place).filter(|&right| self.owner[right as usize] == NONE);
            place += u32::from(found.is_none());
        }
        self.free_from[class as usize] = place;
        found
    }

    /// Along the path from `left` to a free call, give every expected call the made one after it.
    fn shift(&mut self, graph: &Graph, left: u32, class: u32, free: u32) {
        let (mut class, mut free) = (class, free);
        loop {
            let through = self.through[class as usize];
            let mover = if through == NONE { left } else { self.owner[through as usize] };
            self.owner[free as usize] = mover;
            self.partner[mover as usize] = free;
            if through == NONE {
                return;
            }
            debug_assert_eq!(graph.class[mover as usize], class);
            free = through;
            class = self.from[through as usize];
        }
    }
}

fn refill<T: Clone>(room: &mut Vec<T>, length: usize, with: T) {
    room.clear();
    room.resize(length, with);
}
