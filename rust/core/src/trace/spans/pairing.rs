//! Which request of a model was executed by which tool span.

use foldhash::{HashMap, HashMapExt, HashSet};

use crate::{call, text::Text, trace::turns::Steps};

/// What a request and an execution are paired by.
pub struct Side<'a> {
    /// Of the span; of a request, that of the model's.
    pub place: usize,
    /// What isn't a tool is executed by none.
    pub is_tool: bool,
    pub id: Option<Text<'a>>,
    pub name: Option<Text<'a>>,
    /// The place of the agent's span.
    pub agent_span: Option<usize>,
    pub agent: Option<Text<'a>>,
    /// A hash of the arguments.
    pub input: u64,
    /// Do its id and that of the other side say nothing of each other?
    pub is_renamed: bool,
}

#[derive(Clone, Copy)]
enum By {
    /// The id, which may be used again, and the tool.
    Id,
    /// An id that no other request has.
    IdAlone,
    AgentSpan,
    AgentName,
    Tool,
    /// The agent, in which ids say nothing.
    Renamed,
}

/// By what pairs are found, from the surest on, and whether with the same arguments. Each way is tried for all spans
/// before the next. (Arguments may be checked and changed on the way; agents may not be known.)
const PASSES: &[&[(By, bool)]] = &[
    &[(By::Id, true), (By::Id, false), (By::IdAlone, false)],
    &[(By::AgentSpan, true), (By::AgentName, true)],
    &[(By::AgentSpan, false), (By::AgentName, false)],
    &[(By::Tool, true)],
    &[(By::Tool, false)],
    &[(By::Renamed, true)],
];

#[derive(PartialEq, Eq, Hash)]
struct Key<'a> {
    scope: Scope<'a>,
    name: Option<Name<'a>>,
    input: Option<u64>,
    /// Only requests without an id: an execution with one that was not found by it can be no other's.
    without_id: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Scope<'a> {
    Id(Text<'a>),
    AgentSpan(usize),
    AgentName(Option<Text<'a>>),
    All,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Name<'a> {
    Whole(Text<'a>),
    /// The last segment of what was asked for.
    Last(Text<'a>),
}

impl<'a> Side<'a> {
    fn scope(&self, by: By) -> Option<Scope<'a>> {
        Some(match by {
            By::Id | By::IdAlone => Scope::Id(self.id?),
            By::AgentSpan => Scope::AgentSpan(self.agent_span?),
            By::AgentName => Scope::AgentName(self.agent),
            By::Tool => Scope::All,
            By::Renamed => Some(self.own_agent()).filter(|_| self.is_renamed)?,
        })
    }

    fn own_agent(&self) -> Scope<'a> {
        self.agent_span.map_or(Scope::AgentName(self.agent), Scope::AgentSpan)
    }

    /// Under which keys a request is to be found.
    fn keys_of_request(&self, pass: &[(By, bool)], uses: &HashMap<Text<'a>, usize>) -> Vec<Key<'a>> {
        let is_only = self.id.is_some_and(|id| uses.get(&id) == Some(&1));
        let last = self.name.and_then(call::last_segment).map(Name::Last);
        let mut keys = self.keys(pass, false, [self.name.map(Name::Whole), last, None]);
        keys.retain(|key| key.name.is_some() || is_only);
        if self.id.is_none() {
            keys.extend(self.keys(pass, true, [self.name.map(Name::Whole), last, None]));
        }
        keys
    }

    /// Under which keys that of an execution may be.
    fn keys_of_execution(&self, pass: &[(By, bool)]) -> Vec<Key<'a>> {
        let last = self.name.and_then(call::last_segment).map(Name::Whole);
        let is_with_id = pass.iter().any(|(by, _)| matches!(by, By::Id | By::IdAlone | By::Renamed));
        let names = [self.name.map(Name::Whole), self.name.map(Name::Last), last];
        self.keys(pass, self.id.is_some() && !is_with_id, names)
    }

    fn keys(&self, pass: &[(By, bool)], without_id: bool, names: [Option<Name<'a>>; 3]) -> Vec<Key<'a>> {
        let mut keys = Vec::new();
        for &(by, same_input) in pass {
            let Some(scope) = self.scope(by) else { continue };
            let input = same_input.then_some(self.input);
            match by {
                By::IdAlone => keys.push(Key { scope, name: None, input, without_id }),
                _ => {
                    keys.extend(names.iter().flatten().map(|&name| Key { scope, name: Some(name), input, without_id }))
                }
            }
        }
        keys
    }
}

/// For the span at each place the number of the request that it was executed for: that of the latest model before
/// it that asked for such a call, of which there may be several; then the earliest of them.
///
/// `uses`: how often each id was used. `has_times`: do all spans say when they started?
pub fn partners<'a>(
    asked: &[Side<'a>],
    made: &[Option<Side<'a>>],
    uses: &HashMap<Text<'a>, usize>,
    has_times: bool,
) -> Vec<Option<usize>> {
    let mut taken: Vec<bool> = asked.iter().map(|side| !side.is_tool).collect();
    let mut partners: Vec<Option<usize>> = vec![None; made.len()];
    for pass in PASSES {
        // Mostly all are found by their ids.
        if taken.iter().all(|is_taken| *is_taken) {
            break;
        }
        let mut open: HashMap<Key<'a>, Steps> = HashMap::new();
        let mut next = 0;
        // Without times, and with the clocks of several machines, a model may stand after what it asked for.
        let is_in_order = has_times && !pass.iter().any(|(by, _)| matches!(by, By::Id | By::IdAlone));
        for is_last_look in if is_in_order { &[false][..] } else { &[false, true] } {
            for (place, made) in made.iter().enumerate() {
                while let Some(side) = asked.get(next).filter(|one| *is_last_look || one.place <= place) {
                    if !taken[next] {
                        for key in side.keys_of_request(pass, uses) {
                            open.entry(key).or_default().push(side.place, next);
                        }
                    }
                    next += 1;
                }
                let Some(made) = made.as_ref().filter(|_| partners[place].is_none()) else { continue };
                let mut found = None;
                for key in made.keys_of_execution(pass) {
                    let Some(steps) = open.get_mut(&key) else { continue };
                    while let (None, Some(number)) = (found, steps.pop()) {
                        found = Some(number).filter(|&number| !taken[number]);
                    }
                }
                if let Some(number) = found {
                    taken[number] = true;
                    partners[place] = found;
                }
            }
        }
    }
    partners
}

/// Find the agents in which no id of a request is that of an execution, and the other way round, though all have one:
/// who told them made up ids of his own (ADK does, where a model gives none).
pub fn find_renamed<'a>(asked: &mut [Side<'a>], made: &mut [Option<Side<'a>>]) {
    let asked_ids: HashSet<Text<'a>> = asked.iter().filter_map(|side| side.id).collect();
    let made_ids: HashSet<Text<'a>> = made.iter().flatten().filter_map(|side| side.id).collect();
    let mut has_renamed: HashMap<Scope<'a>, bool> = HashMap::new();
    let asked_sides = asked.iter().map(|side| (side, &made_ids));
    for (side, others) in asked_sides.chain(made.iter().flatten().map(|side| (side, &asked_ids))) {
        let is_unmet = side.id.is_some_and(|id| !others.contains(&id));
        *has_renamed.entry(side.own_agent()).or_insert(true) &= is_unmet;
    }
    for side in asked.iter_mut().chain(made.iter_mut().flatten()) {
        side.is_renamed = has_renamed.get(&side.own_agent()).is_some_and(|is_renamed| *is_renamed);
    }
}
