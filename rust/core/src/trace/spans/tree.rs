//! A trace out of its spans: one rule for all that was exported, whatever the dialects of the spans.
//!
//! A call may stand in a trace several times: as what a model asked for (the output of an llm), as what was executed (a
//! tool span), again as the spans of an MCP client and server inside of that, and in what later models were told. Calls
//! are taken from outputs and tool spans alone, and the two are paired; what models were told gives results.

use std::collections::BTreeMap;

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt, fast::RandomState};

use super::{
    About, DIALECTS, Dialect, Event, Exported, FOR_ALL, Recorded, Status, Step, are_cut_off,
    pairing::{self, Side},
};
use crate::{
    call::{self, Reader},
    compare,
    error::Error,
    show,
    text::Text,
    trace::{
        decode, messages,
        nesting::Nesting,
        rows,
        span::{Kind, RecordedAs, Span},
        stored::{Found, Trace},
        time,
        turns::{Conversation, Listener},
    },
    value::{Member, Value},
};

/// Attributes that nest deeper are left out of a span: its Python model could not hold them.
const MOST_LEVELS: usize = 200;

/// Make a trace of each trace id, in the order in which the ids were met.
///
/// `only`: the one dialect that is read, if somebody insists on it.
pub fn traces<'a>(exported: Exported<'a>, only: Option<&str>, found: &mut Found<'a>) {
    let mut order: Vec<Text<'a>> = Vec::new();
    let mut groups: HashMap<Text<'a>, Group<'a>> = HashMap::new();
    fn group<'g, 'a>(
        groups: &'g mut HashMap<Text<'a>, Group<'a>>,
        order: &mut Vec<Text<'a>>,
        id: Text<'a>,
    ) -> &'g mut Group<'a> {
        groups.entry(id).or_insert_with(|| {
            order.push(id);
            Group::default()
        })
    }
    found.problems.extend(exported.problems);
    for about in exported.traces {
        group(&mut groups, &mut order, about.trace_id).about.push(about);
    }
    for span in exported.spans {
        group(&mut groups, &mut order, span.trace_id).spans.push(span);
    }
    for (trace_id, span_id, event) in exported.logs {
        group(&mut groups, &mut order, trace_id).logs.push((span_id, event));
    }
    for id in order {
        if let Some(group) = groups.remove(&id) {
            let trace = group.trace(found.reader, id, only, &mut found.problems);
            found.traces.push(trace);
        }
    }
}

/// All that was exported of one trace.
#[derive(Default)]
struct Group<'a> {
    spans: Vec<Recorded<'a>>,
    logs: Vec<(Option<Text<'a>>, Event<'a>)>,
    about: Vec<About<'a>>,
}

impl<'a> Group<'a> {
    fn trace(self, reader: Reader<'a>, id: Text<'a>, only: Option<&str>, problems: &mut Vec<Error>) -> Trace<'a> {
        let about = self.about;
        let nodes = nodes(self.spans, self.logs, |recorded| (step(reader, recorded, only), None));
        let mut trace = of_nodes(reader, id, nodes, &about, problems, false);
        for about in about {
            super::fill(&mut trace.conversation_id, about.conversation_id);
            if let Value::Object(members) = about.attributes {
                trace.attributes.extend_from_slice(members);
            }
        }
        trace
    }
}

/// A trace of spans that were read before: of each what it says, and the calls in what was answered. The first ones of two
/// that are the same span count less, as among spans that are read now.
pub fn of_read<'a>(reader: Reader<'a>, id: Text<'a>, spans: Vec<(Recorded<'a>, Step<'a>, Heard<'a>)>) -> Trace<'a> {
    let mut said: Vec<Option<(Step<'a>, Option<Heard<'a>>)>> = Vec::with_capacity(spans.len());
    let mut all = Vec::with_capacity(spans.len());
    for (place, (recorded, step, heard)) in spans.into_iter().enumerate() {
        said.push(Some((step, Some(heard))));
        all.push(Recorded { row: Value::Int(place as i64), ..recorded });
    }
    let nodes = nodes(all, Vec::new(), |recorded| {
        let Value::Int(place) = recorded.row else { return Default::default() };
        said.get_mut(place as usize).and_then(Option::take).unwrap_or_default()
    });
    of_nodes(reader, id, nodes, &[], &mut Vec::new(), true)
}

fn of_nodes<'a>(
    reader: Reader<'a>,
    id: Text<'a>,
    nodes: Vec<Node<'a>>,
    about: &[About<'a>],
    problems: &mut Vec<Error>,
    has_calls_alone: bool,
) -> Trace<'a> {
    let mut tree = Tree { reader, id, nodes, problems, results: Vec::new(), knows_models: false, has_calls_alone };
    tree.link();
    tree.merge_repeated();
    let asked_for = tree.listen();
    let requests = tree.pair(asked_for);
    let mut trace = tree.told(requests, about);
    trace.id = Some(id).filter(|id| !id.is_empty());
    trace.conversation.sort();
    trace
}

/// A span, what it says, and where it is in the tree.
struct Node<'a> {
    recorded: Recorded<'a>,
    step: Step<'a>,
    /// The calls in what was answered, where they were read before.
    heard: Option<Heard<'a>>,
    around: Around,
    /// Left out: it tells again what another span says.
    repeated: bool,
    recorded_as: RecordedAs,
    /// What the model asked for, where that differs from what was executed.
    requested: Option<Value<'a>>,
}

/// What is around a span: the places of other ones.
#[derive(Clone, Copy, Debug, Default)]
struct Around {
    parent: Option<usize>,
    /// The outermost.
    root: usize,
    depth: usize,
    agent: Option<usize>,
    /// The nearest that says whom it belongs to.
    says_agent: Option<usize>,
    /// The nearest tool, if no agent and no model is between.
    tool: Option<usize>,
}

/// A call that a model asked for.
struct Request<'a> {
    /// The place of the model's span.
    by: usize,
    /// Of what the same answer asked for before it, the place of what was executed last.
    after: Option<usize>,
    span: Span<'a>,
}

fn nodes<'a>(
    spans: Vec<Recorded<'a>>,
    logs: Vec<(Option<Text<'a>>, Event<'a>)>,
    mut say: impl FnMut(&Recorded<'a>) -> (Step<'a>, Option<Heard<'a>>),
) -> Vec<Node<'a>> {
    let mut kept: Vec<Recorded<'a>> = Vec::with_capacity(spans.len());
    let mut places: HashMap<Text<'a>, usize> = HashMap::with_capacity(spans.len());
    // Of ids that come again: by id, name and start; the first of an id and a name without the start, too.
    let mut known: HashMap<(Text<'a>, Text<'a>, Option<i64>), usize> = HashMap::new();
    for span in spans {
        let Some(id) = span.id else {
            kept.push(span);
            continue;
        };
        let place = *places.entry(id).or_insert(kept.len());
        let Some(first) = kept.get(place) else {
            kept.push(span);
            continue;
        };
        known.entry((id, first.name, first.started_at)).or_insert(place);
        known.entry((id, first.name, None)).or_insert(place);
        // Exports overlap, and rows are written again when more is known. Spans that started at different times are
        // different ones, whatever their id.
        let first = || known.get(&(id, span.name, None)).filter(|&&place| kept[place].started_at.is_none());
        let again = known.get(&(id, span.name, span.started_at)).or_else(first).copied();
        let place = again.unwrap_or(kept.len());
        known.entry((id, span.name, span.started_at)).or_insert(place);
        known.entry((id, span.name, None)).or_insert(place);
        match kept.get_mut(place) {
            Some(known) => {
                let started_at = known.started_at.or(span.started_at);
                if known.ended_at.is_none() || span.ended_at.is_some() {
                    *known = span;
                }
                known.started_at = started_at;
            }
            None => kept.push(span),
        }
    }
    for (id, event) in logs {
        let known = id.and_then(|id| places.get(&id)).copied();
        match known.and_then(|place| kept.get_mut(place)) {
            Some(span) => span.events.push(event),
            // The span itself was not exported.
            None => {
                if let Some(id) = id {
                    places.insert(id, kept.len());
                }
                kept.push(Recorded {
                    trace_id: Text::from(""),
                    id,
                    parent_id: None,
                    name: Text::from(""),
                    started_at: None,
                    ended_at: None,
                    status: None,
                    status_message: None,
                    attributes: Default::default(),
                    events: vec![event],
                    row: Value::Null,
                });
            }
        }
    }
    if kept.iter().all(|span| span.started_at.is_some()) {
        kept.sort_by_key(|span| span.started_at);
        // Of those that started together, the outer ones come first.
        if kept.windows(2).any(|pair| matches!(pair, [one, other] if one.started_at == other.started_at)) {
            let depths = Nesting::new(parents(kept.iter())).depths;
            let mut with_depths: Vec<(Recorded<'a>, usize)> = kept.into_iter().zip(depths).collect();
            with_depths.sort_by_key(|(span, depth)| (span.started_at, *depth));
            kept = with_depths.into_iter().map(|(span, _)| span).collect();
        }
    }
    let node = |(place, recorded): (usize, Recorded<'a>)| {
        let (step, heard) = say(&recorded);
        let around = Around { root: place, ..Around::default() };
        Node { recorded, step, heard, around, repeated: false, recorded_as: RecordedAs::Both, requested: None }
    };
    kept.into_iter().enumerate().map(node).collect()
}

/// The place of each span's parent. Of several spans with its id the first is meant.
fn parents<'r, 'a: 'r>(spans: impl Iterator<Item = &'r Recorded<'a>> + Clone) -> Vec<Option<usize>> {
    let mut places: HashMap<Text<'a>, usize> = HashMap::new();
    for (place, span) in spans.clone().enumerate() {
        if let Some(id) = span.id {
            places.entry(id).or_insert(place);
        }
    }
    spans.map(|span| places.get(&span.parent_id?).copied()).collect()
}

/// What a span says, in the words of all dialects that it has words of.
pub fn step<'a>(reader: Reader<'a>, recorded: &Recorded<'a>, only: Option<&str>) -> Step<'a> {
    let speaks = |dialect: &&Dialect| {
        only.is_none_or(|only| [only, FOR_ALL].contains(&dialect.name)) && (dialect.fits)(recorded)
    };
    let (mut step, mut knows_more) = (Step::default(), false);
    for dialect in DIALECTS.iter().filter(speaks) {
        (dialect.read)(reader, recorded, &mut step);
        knows_more |= step.kind.is_none();
    }
    // A dialect that was asked before another one said what kind of a step it is may have more to say.
    if knows_more && step.kind.is_some() {
        step = Step { kind: step.kind, ..Step::default() };
        DIALECTS.iter().filter(speaks).for_each(|dialect| (dialect.read)(reader, recorded, &mut step));
    }
    rows::DIALECTS.iter().filter(speaks).for_each(|dialect| (dialect.read)(reader, recorded, &mut step));
    if step.is(Kind::ToolCall) {
        step.input = step.input.map(|input| decode::arguments(reader, input));
        if let Some(written) = step.output {
            let (output, failed, call_id) = decode::output(reader, written);
            step.output = Some(output);
            super::fill(&mut step.failed, failed);
            super::fill(&mut step.call_id, call_id);
        }
    }
    super::fill(&mut step.failed, recorded.status.map(|status| status == Status::Error));
    if step.failed == Some(true) {
        super::fill(&mut step.error, recorded.status_message.filter(|message| !message.is_empty()));
    }
    step
}

struct Tree<'t, 'a> {
    reader: Reader<'a>,
    id: Text<'a>,
    /// In the order in which they started.
    nodes: Vec<Node<'a>>,
    problems: &'t mut Vec<Error>,
    /// The calls in what models answered, some of them with what came of them.
    results: Vec<Span<'a>>,
    /// Is anything known of what models answered?
    knows_models: bool,
    /// Is nothing wanted but the calls? Then nobody reads what was said, nor times but to sort by them.
    has_calls_alone: bool,
}

impl<'a> Tree<'_, 'a> {
    fn node(&self, place: usize) -> Option<&Node<'a>> {
        self.nodes.get(place)
    }

    /// Find out what is around each span.
    fn link(&mut self) {
        let nesting = Nesting::new(parents(self.nodes.iter().map(|node| &node.recorded)));
        for place in nesting.outer_first {
            if let Some(outer) = nesting.parents[place] {
                self.nodes[place].around = self.inside_of(outer);
            }
        }
    }

    /// What is around a span that is inside of this one.
    fn inside_of(&self, outer: usize) -> Around {
        let Node { step, around, .. } = &self.nodes[outer];
        Around {
            parent: Some(outer),
            root: around.root,
            depth: around.depth + 1,
            agent: if step.is(Kind::Agent) { Some(outer) } else { around.agent },
            says_agent: if step.agent.is_some() { Some(outer) } else { around.says_agent },
            tool: match step.kind {
                Some(Kind::ToolCall) if !step.is_repeated => Some(outer),
                Some(Kind::Agent | Kind::Llm) => None,
                _ => around.tool,
            },
        }
    }

    /// The nearest agent around a span, or else whom it says it belongs to, or whom what is around it says that.
    fn agent(&self, place: usize) -> Option<Text<'a>> {
        let node = self.node(place)?;
        self.agent_around(place)
            .or(node.step.agent)
            .or_else(|| node.around.says_agent.and_then(|outer| self.node(outer)?.step.agent))
    }

    fn agent_around(&self, place: usize) -> Option<Text<'a>> {
        name_of_agent(self.node(self.node(place)?.around.agent?)?)
    }

    /// A tool span in a tool span of the same name is the same call: an MCP client's or server's view of it, or that of
    /// a second instrumentation. So is another one with the id of a call that was under way.
    fn merge_repeated(&mut self) {
        let mut by_id: HashMap<Text<'a>, usize> = HashMap::new();
        // The span that tells the call of each span; mostly itself.
        let mut tellers: Vec<usize> = (0..self.nodes.len()).collect();
        for place in 0..self.nodes.len() {
            let Node { step, around, recorded, .. } = &self.nodes[place];
            if step.is_repeated {
                self.nodes[place].repeated = true;
                continue;
            }
            if !step.is(Kind::ToolCall) {
                continue;
            }
            let is_inside = |&outer: &usize| {
                let outer = &self.nodes[outer].step;
                is_same_tool(outer, step) && (outer.is_mcp || step.is_mcp || may_have_same_input(outer, step))
            };
            let is_under_way = |&other: &usize| {
                let Node { step: other, recorded: span, .. } = &self.nodes[other];
                let overlap = matches!((span.ended_at, recorded.started_at), (Some(end), Some(start)) if start < end);
                overlap && is_same_tool(other, step) && may_have_same_input(other, step)
            };
            let same = around.tool.filter(is_inside);
            let same = same.or_else(|| by_id.get(&step.call_id?).copied().filter(is_under_way));
            let teller = same.map_or(place, |same| teller(&mut tellers, same));
            if teller == place {
                if let Some(id) = step.call_id {
                    by_id.insert(id, place);
                }
                continue;
            }
            tellers[place] = teller;
            let inner = step.clone();
            self.nodes[place].repeated = true;
            let step = &mut self.nodes[teller].step;
            if step.input.is_none_or(|input| matches!(input, Value::Null)) {
                step.input = inner.input;
            }
            super::fill(&mut step.output, inner.output);
            super::fill(&mut step.call_id, inner.call_id);
            super::fill(&mut step.failed, inner.failed);
            super::fill(&mut step.error, inner.error);
            if let Some(id) = step.call_id {
                by_id.entry(id).or_insert(teller);
            }
        }
    }

    /// Read what models were told and what they answered: the calls that they asked for.
    fn listen(&mut self) -> Vec<Request<'a>> {
        let mut heard: Vec<Heard<'a>> = Vec::with_capacity(self.nodes.len());
        for place in 0..self.nodes.len() {
            let mut here = match self.nodes[place].heard.take() {
                Some(here) => here,
                None => {
                    let Node { recorded, step, .. } = &self.nodes[place];
                    let (here, problem) = heard_in_answer(self.reader, self.id, recorded.name, step);
                    self.problems.extend(problem);
                    here
                }
            };
            self.knows_models |= here.says_anything;
            self.results.extend(&here.calls);
            here.calls.retain(|span| span.recorded_as != RecordedAs::Executed);
            heard.push(here);
        }
        let counts = self.counting(&heard);
        let mut requests: Vec<Request<'a>> = Vec::new();
        let hasher = RandomState::default();
        let mut known: HashMap<(Text<'a>, Text<'a>, u64), usize> = HashMap::new();
        for (place, Heard { calls, tells_past, .. }) in
            heard.into_iter().enumerate().filter(|(place, _)| counts[*place])
        {
            for span in calls {
                let call = span.id.map(|id| (id, span.name, compare::hash(span.input, &hasher)));
                let earlier = call.and_then(|call| known.insert(call, place));
                // Ids come again. What a model answered after another one had, is new.
                if earlier.is_none_or(|earlier| !tells_past && self.answers_after(place, earlier)) {
                    requests.push(Request { by: place, after: None, span });
                }
            }
        }
        requests
    }

    /// Of which spans that tell what was answered the calls count. What is inside of a span that tells its messages,
    /// too, tells them better; but of models the outer one is the one that the agent asked, if it tells of calls at
    /// all. What is inside of a tool is something else.
    fn counting(&self, heard: &[Heard<'a>]) -> Vec<bool> {
        let outer = |place: usize| self.nodes[place].around.parent;
        let outer_in_tool = |place: usize| outer(place).filter(|&outer| !self.nodes[outer].step.is(Kind::ToolCall));
        let mut has_model_inside = vec![false; self.nodes.len()];
        for (place, node) in self.nodes.iter().enumerate() {
            if node.step.is(Kind::Llm) && node.step.answered.is_some() {
                let mut next = outer_in_tool(place);
                while let Some(place) = next.filter(|&place| !has_model_inside[place]) {
                    has_model_inside[place] = true;
                    next = outer_in_tool(place);
                }
            }
        }
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        order.sort_by_key(|&place| self.nodes[place].around.depth);
        let mut counts = vec![false; self.nodes.len()];
        // By something around them: a model that tells of calls, or what tells its messages and isn't one.
        let (mut told_by_model, mut told_by_other) = (counts.clone(), counts.clone());
        for place in order {
            let step = &self.nodes[place].step;
            let is_model = step.is(Kind::Llm);
            if let Some(outer) = outer_in_tool(place) {
                let of_model = self.nodes[outer].step.is(Kind::Llm);
                let between = matches!(self.nodes[outer].step.kind, Some(Kind::Agent));
                told_by_model[place] = !between && (told_by_model[outer] || of_model && !heard[outer].calls.is_empty());
                told_by_other[place] = told_by_other[outer] || counts[outer];
            }
            counts[place] = step.answered.is_some()
                && if is_model { !told_by_model[place] } else { !has_model_inside[place] && !told_by_other[place] };
        }
        counts
    }

    /// Did a model begin to answer when an earlier one had answered?
    fn answers_after(&self, place: usize, earlier: usize) -> bool {
        let (node, earlier) = (&self.nodes[place], &self.nodes[earlier]);
        let times = (earlier.recorded.started_at, earlier.recorded.ended_at, node.recorded.started_at);
        let is_later = matches!(times, (Some(first), Some(end), Some(start)) if end <= start && first < start);
        is_later && node.step.is(Kind::Llm) && earlier.step.is(Kind::Llm)
    }

    fn heard(&mut self, place: usize, what: &str, messages: Value<'a>) -> Listener<'a> {
        let span = self.node(place).map_or(Text::from(""), |node| node.recorded.name);
        hear(self.reader, (self.id, span), what, messages).unwrap_or_else(|error| {
            self.problems.push(error);
            Listener::default()
        })
    }

    /// Pair what was asked for with what was executed. Left are the requests that were not executed, as far as is
    /// known.
    fn pair(&mut self, mut requests: Vec<Request<'a>>) -> Vec<Request<'a>> {
        let hasher = RandomState::default();
        let mut uses: HashMap<Text<'a>, usize> = HashMap::new();
        requests.iter().filter_map(|request| request.span.id).for_each(|id| *uses.entry(id).or_default() += 1);
        let mut asked: Vec<Side<'a>> = requests.iter().map(|request| self.side_of_request(request, &hasher)).collect();
        let mut made: Vec<Option<Side<'a>>> =
            (0..self.nodes.len()).map(|place| self.side_of_execution(place, &hasher)).collect();
        pairing::find_renamed(&mut asked, &mut made);
        let has_times = self.nodes.iter().all(|node| node.recorded.started_at.is_some());
        let partners = pairing::partners(&asked, &made, &uses, has_times);
        let taken = put_after(&mut requests, &partners);
        // What an execution is known by: what was asked for, and what it says itself.
        let sides =
            |place: usize| [partners[place].map(|number| &asked[number]), made[place].as_ref()].into_iter().flatten();
        let mut missing: HashSet<Text<'a>> = HashSet::new();
        for (number, request) in requests.iter().enumerate().filter(|(number, _)| !taken[*number]) {
            missing.extend(asked[number].id.filter(|_| matches!(request.span.output, Value::Null)));
        }
        for (place, node) in self.nodes.iter().enumerate().filter(|(place, _)| made[*place].is_some()) {
            if node.step.output.is_none() {
                missing.extend(sides(place).filter_map(|side| side.id));
            }
        }
        let told = self.told_results(missing, &uses, &hasher);
        let knows_models = self.knows_models;
        for (place, node) in self.nodes.iter_mut().enumerate().filter(|(place, _)| made[*place].is_some()) {
            match partners[place].and_then(|number| requests.get(number)) {
                Some(request) => {
                    super::fill(&mut node.step.call_id, request.span.id);
                    match node.step.input {
                        None | Some(Value::Null) => node.step.input = Some(request.span.input),
                        Some(input) if compare::equal(input, request.span.input) => {}
                        Some(_) if matches!(request.span.input, Value::Null) => {}
                        Some(_) => node.requested = Some(request.span.input),
                    }
                }
                None if knows_models => node.recorded_as = RecordedAs::Executed,
                None => {}
            }
            if node.step.output.is_none() {
                node.step.output = sides(place).find_map(|side| told.of(side, &uses)).map(|span| span.output);
            }
        }
        let any_executed = made.iter().any(Option::is_some);
        let left = requests.into_iter().zip(&asked).zip(taken).filter(|(_, taken)| !taken);
        let left = left.map(|((mut request, side), _)| {
            let span = &mut request.span;
            // What the provider ran itself was answered together with the call.
            let is_done = !matches!(span.output, Value::Null) || span.kind == Kind::Retrieval;
            if any_executed && !is_done {
                span.recorded_as = RecordedAs::Requested;
            }
            if let (false, Some(result)) = (is_done, told.of(side, &uses)) {
                span.output = result.output;
                span.status = span.status.or(result.status);
                span.error = span.error.or(result.error);
            }
            request
        });
        left.collect()
    }

    fn side_of_request(&self, request: &Request<'a>, hasher: &RandomState) -> Side<'a> {
        let Request { by, span, .. } = request;
        let node = &self.nodes[*by];
        Side {
            place: *by,
            is_tool: span.kind == Kind::ToolCall,
            id: span.id,
            name: Some(span.name),
            agent_span: if node.step.is(Kind::Agent) { Some(*by) } else { node.around.agent },
            agent: self.agent_with_own(*by),
            input: compare::hash(span.input, hasher),
            is_renamed: false,
        }
    }

    /// None of what is not the span of a tool, and of what tells a call again.
    fn side_of_execution(&self, place: usize, hasher: &RandomState) -> Option<Side<'a>> {
        let node = self.node(place).filter(|node| node.step.is(Kind::ToolCall) && !node.repeated)?;
        Some(Side {
            place,
            is_tool: true,
            id: node.step.call_id,
            name: node.step.name,
            agent_span: node.around.agent,
            agent: self.agent(place),
            input: compare::hash(node.step.input.unwrap_or(Value::Null), hasher),
            is_renamed: false,
        })
    }

    /// What models were told came of calls of which no span says it. A history is long, and told again each time, so it
    /// is read only where something is missing, from the last one on.
    fn told_results(
        &mut self,
        mut missing: HashSet<Text<'a>>,
        uses: &HashMap<Text<'a>, usize>,
        hasher: &RandomState,
    ) -> Told<'a> {
        let mut told = Told::default();
        self.results.iter().rev().for_each(|span| told.add(span, hasher));
        let is_only = |id: &Text<'a>| uses.get(id).is_none_or(|&count| count < 2);
        missing.retain(|id| !is_only(id) || !told.by_id.contains_key(id));
        for place in (0..self.nodes.len()).rev() {
            if missing.is_empty() {
                break;
            }
            if let Some(asked) = self.nodes[place].step.asked {
                let conversation = self.heard(place, "what the model was told", asked).finish();
                for span in conversation.spans().iter().rev() {
                    told.add(span, hasher);
                    if let Some(id) = span.id.filter(|id| is_only(id) && told.by_id.contains_key(id)) {
                        missing.remove(&id);
                    }
                }
            }
        }
        told
    }

    /// The trace: turns, and in each of them its spans.
    fn told(&mut self, requests: Vec<Request<'a>>, about: &[About<'a>]) -> Trace<'a> {
        let reported = self.knows_models || self.nodes.iter().any(|node| node.step.is(Kind::ToolCall));
        let mut turns = self.turns();
        if turns.is_empty() {
            turns.push(Vec::new());
        }
        let mut turn_of = vec![0; self.nodes.len()];
        for (number, places) in turns.iter().enumerate() {
            places.iter().for_each(|&place| turn_of[place] = number);
        }
        // By the places that they stand behind.
        let mut left: HashMap<usize, Vec<Span<'a>>> = HashMap::new();
        for Request { by, after, mut span } in requests {
            let after = after.filter(|&after| turn_of[after] == turn_of[by]);
            span.parent_id = self.node(by).and_then(|node| node.recorded.id);
            span.agent = span.agent.or_else(|| self.agent_with_own(by));
            span.started_at =
                self.time(self.nodes[by].recorded.ended_at.max(after.and_then(|after| self.behind(after, by))));
            span.ended_at = Value::Null;
            if let Some(id) = span.id {
                span.attributes = self.members(&[("call_id", Value::Text(id))]);
            }
            left.entry(after.map_or(by, |after| after.max(by))).or_default().push(span);
        }
        let mut conversation = Conversation::default();
        for (number, places) in turns.iter().enumerate() {
            if self.has_calls_alone {
                conversation.open(Value::Null);
            } else {
                let (input, output) = self.said(places, if number == 0 { about } else { &[] });
                conversation.open(input);
                conversation.close(output);
            }
            for &place in places {
                if !self.nodes[place].repeated {
                    conversation.push(self.span(place));
                }
                left.remove(&place).into_iter().flatten().for_each(|span| conversation.push(span));
            }
        }
        let mut trace = Trace::new(conversation);
        trace.reported = reported;
        trace.conversation_id = self.nodes.iter().find_map(|node| node.step.conversation_id);
        trace
    }

    /// When something that a model asked for came after what was executed. Of what began together the outer ones stand
    /// first, and what is asked for is right inside of the model.
    fn behind(&self, executed: usize, model: usize) -> Option<i64> {
        let (executed, model) = (&self.nodes[executed], &self.nodes[model]);
        let is_inner = executed.around.depth > model.around.depth + 1;
        executed.recorded.started_at?.checked_add(if is_inner { NANOS_OF_MICROSECOND } else { 0 })
    }

    /// The places of the spans of each turn. There is one turn, unless the dialect numbers the questions of the user,
    /// or there are several roots, one after the other, of which each was asked something else.
    fn turns(&mut self) -> Vec<Vec<usize>> {
        if let Some(turns) = self.numbered_turns() {
            return turns;
        }
        let mut of_root: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (place, node) in self.nodes.iter().enumerate() {
            of_root.entry(node.around.root).or_default().push(place);
        }
        if of_root.len() == 1 {
            return of_root.into_values().collect();
        }
        let mut turns: Vec<Vec<usize>> = Vec::new();
        let (mut question, mut end) = (None, None);
        for (root, places) in of_root {
            let (asked, _) = self.said(&places, &[]);
            let asked = Some(asked).filter(|asked| matches!(asked, Value::Text(_)));
            let recorded = &self.nodes[root].recorded;
            let is_after = matches!((recorded.started_at, end), (Some(start), Some(end)) if start >= end);
            end = end.max(recorded.ended_at);
            let is_new = matches!((asked, question), (Some(asked), Some(last)) if !compare::equal(asked, last));
            question = asked.or(question);
            match turns.last_mut() {
                Some(turn) if !(is_after && is_new) => turn.extend(places),
                _ => turns.push(places),
            }
        }
        turns.iter_mut().for_each(|turn| turn.sort_unstable());
        turns
    }

    /// By what the spans, or those around them, say of the question that they belong to, if they name several.
    fn numbered_turns(&self) -> Option<Vec<Vec<usize>>> {
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        order.sort_by_key(|&place| self.nodes[place].around.depth);
        let mut ids: Vec<Option<Text<'a>>> = vec![None; self.nodes.len()];
        for place in order {
            let Node { step, around, .. } = &self.nodes[place];
            ids[place] = step.turn_id.or_else(|| ids[around.parent?]);
        }
        let mut turns: Vec<Vec<usize>> = Vec::new();
        let mut numbers: HashMap<Text<'a>, usize> = HashMap::new();
        // What belongs to none comes with what is before it, and in the first turn if nothing is.
        let mut unnumbered = Vec::new();
        for (place, id) in ids.into_iter().enumerate() {
            match (id, turns.last_mut()) {
                (Some(id), _) => {
                    let number = *numbers.entry(id).or_insert_with(|| {
                        turns.push(std::mem::take(&mut unnumbered));
                        turns.len() - 1
                    });
                    turns[number].push(place);
                }
                (None, Some(turn)) => turn.push(place),
                (None, None) => unnumbered.push(place),
            }
        }
        (turns.len() > 1).then_some(turns)
    }

    /// What the user said and what came of it, in these spans, the first of which is the outermost.
    fn said(&mut self, places: &[usize], about: &[About<'a>]) -> (Value<'a>, Value<'a>) {
        let mut input = Choice::default();
        let mut output = Choice::default();
        for about in about {
            input.offer(said_in(self.reader, about.input, Who::User));
            output.offer(said_in(self.reader, about.output, Who::Assistant));
        }
        let shallowest = places.iter().filter_map(|&place| Some(self.node(place)?.around.depth)).min();
        let roots: Vec<usize> = places
            .iter()
            .copied()
            .filter(|&place| self.node(place).map(|node| node.around.depth) == shallowest)
            .filter(|&place| self.node(place).is_some_and(|node| !node.step.is(Kind::ToolCall)))
            .collect();
        let steps = |tree: &Self, place: usize| tree.node(place).map(|node| node.step.clone());
        for &place in &roots {
            let Some(step) = steps(self, place) else { continue };
            if !step.is(Kind::Llm) {
                input.offer(said_in(self.reader, step.input.unwrap_or(Value::Null), Who::User));
            }
            input.offer(said_in(self.reader, step.asked.unwrap_or(Value::Null), Who::User));
        }
        for &place in roots.iter().rev() {
            let Some(step) = steps(self, place) else { continue };
            if !step.is(Kind::Llm) {
                output.offer(said_in(self.reader, step.output.unwrap_or(Value::Null), Who::Assistant));
            }
            output.offer(said_in(self.reader, step.answered.unwrap_or(Value::Null), Who::Assistant));
        }
        let models = |kinds: &[Kind]| -> Vec<usize> {
            let is_one = |place: &usize| {
                self.node(*place).is_some_and(|node| node.step.kind.is_some_and(|kind| kinds.contains(&kind)))
            };
            places.iter().copied().filter(is_one).collect()
        };
        let (agents, models) = (models(&[Kind::Agent]), models(&[Kind::Llm]));
        for &place in agents.iter().chain(&models) {
            if input.is_text() {
                break;
            }
            let Some(step) = steps(self, place) else { continue };
            if step.is(Kind::Agent) {
                input.offer(said_in(self.reader, step.input.unwrap_or(Value::Null), Who::User));
            }
            input.offer(said_in(self.reader, step.asked.unwrap_or(Value::Null), Who::User));
        }
        for &place in agents.iter().take(1).chain(models.iter().rev()) {
            if output.is_text() {
                break;
            }
            let Some(step) = steps(self, place) else { continue };
            if !step.is(Kind::Llm) {
                output.offer(said_in(self.reader, step.output.unwrap_or(Value::Null), Who::Assistant));
            }
            output.offer(said_in(self.reader, step.answered.unwrap_or(Value::Null), Who::Assistant));
        }
        (input.0, output.0)
    }

    fn span(&self, place: usize) -> Span<'a> {
        let Some(node) = self.node(place) else { return Span::new(Text::from("")) };
        let Node { recorded, step, .. } = node;
        let kind = step.kind.unwrap_or(Kind::Chain);
        let name = match kind {
            Kind::Agent => name_of_agent(node),
            _ => step.name,
        };
        let mut more: Vec<(&'static str, Value<'a>)> = Vec::new();
        if kind == Kind::ToolCall {
            more.extend(step.call_id.map(|id| ("call_id", Value::Text(id))));
            more.extend(node.requested.map(|requested| ("requested_arguments", requested)));
        }
        let model = |value: Option<Value<'a>>, messages: Option<Value<'a>>| value.or(messages).unwrap_or(Value::Null);
        Span {
            kind,
            id: recorded.id,
            parent_id: self.parent_id(place),
            name: name.unwrap_or(recorded.name),
            agent: if kind == Kind::Agent { self.agent_around(place) } else { self.agent(place) },
            input: self.shallow(model(step.input, step.asked)),
            output: self.shallow(model(step.output, step.answered)),
            status: match (step.failed, recorded.status) {
                (Some(true), _) => Some(Text::from("error")),
                (Some(false), _) | (None, Some(Status::Ok)) => Some(Text::from("ok")),
                (None, _) => None,
            },
            error: step.error,
            started_at: self.time(recorded.started_at),
            ended_at: self.time(recorded.ended_at),
            recorded_as: node.recorded_as,
            attributes: if self.has_calls_alone { &[] } else { self.attributes(recorded, &more) },
        }
    }

    /// That of the next span around it which is not left out, or else what was recorded.
    fn parent_id(&self, place: usize) -> Option<Text<'a>> {
        let node = self.node(place)?;
        let Some(mut outer) = node.around.parent else {
            return node.recorded.parent_id.filter(|id| Some(*id) != node.recorded.id);
        };
        while self.nodes[outer].repeated {
            outer = self.nodes[outer].around.parent?;
        }
        self.nodes[outer].recorded.id
    }

    /// Of what a model asked for: the agent that the model's span is in, or is.
    fn agent_with_own(&self, place: usize) -> Option<Text<'a>> {
        let node = self.node(place)?;
        if node.step.is(Kind::Agent) { name_of_agent(node) } else { self.agent(place) }
    }

    fn time(&self, nanos: Option<i64>) -> Value<'a> {
        match nanos {
            None => Value::Null,
            // Writing a text takes longer, and so does reading it.
            Some(nanos) if self.has_calls_alone && nanos >= time::NANOS_FROM => Value::Int(nanos),
            Some(nanos) => Value::Text(time::text(nanos, self.reader.bump)),
        }
    }

    fn shallow(&self, value: Value<'a>) -> Value<'a> {
        if value.deeper_than(MOST_LEVELS) { Value::Null } else { value }
    }

    fn attributes(&self, recorded: &Recorded<'a>, more: &[(&'static str, Value<'a>)]) -> &'a [Member<'a>] {
        let own = recorded.attributes.0;
        let is_shallow = |member: &&Member<'a>| !member.value.deeper_than(MOST_LEVELS);
        if more.is_empty() && own.iter().all(|member| is_shallow(&member)) {
            return own;
        }
        let mut all = Vec::with_capacity(own.len() + more.len());
        all.extend(own.iter().filter(is_shallow).copied());
        for &(key, value) in more {
            all.retain(|member| !member.key.is(key));
            all.push(Member { key: Text::from(key), value });
        }
        self.reader.bump.alloc_slice_copy(&all)
    }

    fn members(&self, members: &[(&'static str, Value<'a>)]) -> &'a [Member<'a>] {
        let member = |&(key, value): &(&'static str, Value<'a>)| Member { key: Text::from(key), value };
        self.reader.bump.alloc_slice_fill_iter(members.iter().map(member))
    }
}

/// What the user asked in a span, as turns are told apart by it.
pub fn question<'a>(reader: Reader<'a>, step: &Step<'a>) -> Option<Text<'a>> {
    let input = step.input.filter(|_| !step.is(Kind::Llm));
    [input, step.asked].into_iter().flatten().find_map(|value| match said_in(reader, value, Who::User) {
        Value::Text(text) => Some(text),
        _ => None,
    })
}

/// Are there several spans that are inside of none?
pub fn has_several_roots<'r, 'a: 'r>(spans: impl Iterator<Item = &'r Recorded<'a>> + Clone) -> bool {
    Nesting::new(parents(spans)).depths.iter().filter(|depth| **depth == 0).count() > 1
}

/// A text; of messages what was said last; of an object that holds one text, that; else what it is.
fn said_in<'a>(reader: Reader<'a>, value: Value<'a>, who: Who) -> Value<'a> {
    let value = decode::decoded(reader, value);
    match value {
        Value::Null | Value::Array([]) | Value::Object([]) => return Value::Null,
        Value::Text(text) if are_cut_off(text) => return Value::Null,
        Value::Array(_) | Value::Object(_) => {}
        other => return other,
    }
    let mut listener = Listener::default();
    if messages::hear(reader, value, &mut listener).is_ok() {
        let conversation = listener.finish();
        let said = conversation.turns().last().map(|(turn, _)| match who {
            Who::User => turn.input,
            Who::Assistant => turn.output,
        });
        if let Some(said @ Value::Text(_)) = said {
            return said;
        }
        return Value::Null;
    }
    if let Value::Object([Member { value: text @ Value::Text(_), .. }]) = value {
        return *text;
    }
    let named = QUESTIONS.iter().find_map(|key| value.get(key));
    named.filter(|text| matches!((who, text), (Who::User, Value::Text(_)))).unwrap_or(value)
}

/// Under which of their arguments agents are asked.
const QUESTIONS: &[&str] = &["task", "input", "question", "query", "prompt", "user_input", "message"];

#[derive(Clone, Copy)]
enum Who {
    User,
    Assistant,
}

/// A text, if there is one; else the first that is anything at all.
#[derive(Default)]
struct Choice<'a>(Value<'a>);

impl<'a> Choice<'a> {
    fn offer(&mut self, value: Value<'a>) {
        if matches!(self.0, Value::Null) || matches!(value, Value::Text(_)) && !self.is_text() {
            self.0 = value;
        }
    }

    fn is_text(&self) -> bool {
        matches!(self.0, Value::Text(_))
    }
}

fn name_of_agent<'a>(node: &Node<'a>) -> Option<Text<'a>> {
    node.step.agent.or(node.step.name).or(Some(node.recorded.name)).filter(|name| !name.is_empty())
}

/// The span that tells the call of another one, which is then known without going all the way again.
fn teller(tellers: &mut [usize], mut place: usize) -> usize {
    while tellers[place] != place {
        tellers[place] = tellers[tellers[place]];
        place = tellers[place];
    }
    place
}

/// A client may know a tool by a name that says whose it is: `mcp__server__tool`.
fn is_same_tool(one: &Step<'_>, other: &Step<'_>) -> bool {
    let (Some(a), Some(b)) = (one.name, other.name) else { return false };
    let ids_differ = matches!((one.call_id, other.call_id), (Some(a), Some(b)) if a != b);
    !ids_differ && (a == b || call::last_segment(a) == Some(b) || call::last_segment(b) == Some(a))
}

/// Also where that of one of them is not recorded.
fn may_have_same_input(one: &Step<'_>, other: &Step<'_>) -> bool {
    match (one.input, other.input) {
        (None | Some(Value::Null), _) | (_, None | Some(Value::Null)) => true,
        (Some(one), Some(other)) => compare::equal(one, other),
    }
}

/// Which requests were taken by executions. Calls of one answer stay in its order: those that were not executed come
/// after what it asked for before them.
fn put_after(requests: &mut [Request<'_>], partners: &[Option<usize>]) -> Vec<bool> {
    let mut places: Vec<Option<usize>> = vec![None; requests.len()];
    for (place, &number) in partners.iter().enumerate() {
        if let Some(number) = number {
            places[number] = Some(place);
        }
    }
    let (mut model, mut last) = (None, None);
    for (request, &place) in requests.iter_mut().zip(&places) {
        if model != Some(request.by) {
            (model, last) = (Some(request.by), None);
        }
        // Places are in the order of the starts.
        last = last.max(place);
        request.after = last;
    }
    places.iter().map(Option::is_some).collect()
}

/// The calls that something told in an answer.
#[derive(Default)]
pub struct Heard<'a> {
    pub calls: Vec<Span<'a>>,
    /// With what was asked before.
    pub tells_past: bool,
    pub says_anything: bool,
}

/// What a span told in what it answered, or why that can't be read.
pub fn heard_in_answer<'a>(
    reader: Reader<'a>,
    trace_id: Text<'a>,
    name: Text<'a>,
    step: &Step<'a>,
) -> (Heard<'a>, Option<Error>) {
    let Some(answered) = step.answered else { return Default::default() };
    let listener = match hear(reader, (trace_id, name), "what the model answered", answered) {
        Ok(listener) => listener,
        Err(error) => return (Heard::default(), Some(error)),
    };
    let (says_anything, tells_past) = (!listener.is_empty(), listener.has_questions());
    let conversation = listener.finish();
    let of_last_turn = conversation.turns().last().map_or(&[][..], |(_, spans)| spans);
    let calls = if step.is(Kind::Llm) { conversation.spans() } else { of_last_turn };
    // A search in files that a provider makes is one of them.
    let calls = calls.iter().filter(|span| matches!(span.kind, Kind::ToolCall | Kind::Retrieval)).copied();
    (Heard { calls: calls.collect(), tells_past, says_anything }, None)
}

/// Messages of a span, which the ids of its trace and its name tell apart in an error.
fn hear<'a>(
    reader: Reader<'a>,
    (trace_id, name): (Text<'a>, Text<'a>),
    what: &str,
    messages: Value<'a>,
) -> Result<Listener<'a>, Error> {
    let mut listener = Listener::default();
    let messages = decode::decoded(reader, messages);
    match messages {
        Value::Text(text) if are_cut_off(text) => Err(Error::value("messages that are cut off")),
        Value::Object(_) | Value::Array(_) => messages::hear(reader, messages, &mut listener),
        _ => Ok(()),
    }
    .map_err(|error| {
        let shown = |text| show::in_a_sentence(&show::storable(text));
        error.inside(&format!("trace {:?}, span {:?}, {what}: ", shown(trace_id), shown(name)))
    })?;
    if let Value::Text(text) = messages {
        listener.said(Some(text));
    }
    Ok(listener)
}

/// What Python's times tell apart.
const NANOS_OF_MICROSECOND: i64 = 1000;

/// Calls with what came of them.
#[derive(Default)]
struct Told<'a> {
    by_call: HashMap<(Text<'a>, Text<'a>, u64), Span<'a>>,
    /// None where an id is that of several calls.
    by_id: HashMap<Text<'a>, Option<Span<'a>>>,
}

impl<'a> Told<'a> {
    /// Of what is told twice, the first counts.
    fn add(&mut self, span: &Span<'a>, hasher: &RandomState) {
        let Some(id) = span.id.filter(|_| !matches!(span.output, Value::Null)) else { return };
        self.by_call.entry((id, span.name, compare::hash(span.input, hasher))).or_insert(*span);
        let known = self.by_id.entry(id).or_insert(Some(*span));
        if known.is_some_and(|known| known.name != span.name || !compare::equal(known.input, span.input)) {
            *known = None;
        }
    }

    fn of(&self, side: &Side<'a>, uses: &HashMap<Text<'a>, usize>) -> Option<&Span<'a>> {
        let id = side.id?;
        let exactly = side.name.and_then(|name| self.by_call.get(&(id, name, side.input)));
        let is_only = uses.get(&id).is_none_or(|&count| count < 2);
        exactly.or_else(|| self.by_id.get(&id).filter(|_| is_only)?.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use bumpalo::Bump;

    use super::*;
    use crate::trace::spans::attributes::Attributes;

    /// A span as `{"id", "in", "at": [start, end]}` (microseconds, or `ns`) with one of `agent`, `tool` (and `call`,
    /// `with`, `gave`), `mcp` (as `tool`), `llm` (and `ask`, `say`: messages) or `chain`, which is its name.
    fn recorded<'a>(reader: Reader<'a>, value: Value<'a>) -> Recorded<'a> {
        let text = |key: &str| match value.get(key) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        };
        let times = |key: &str| match value.get(key) {
            Some(Value::Array(times)) => times,
            _ => &[],
        };
        let time = |place: usize| match (times("at").get(place), times("ns").get(place)) {
            (Some(Value::Int(time)), _) => Some(time * 1000),
            (_, Some(Value::Int(time))) => Some(*time),
            _ => None,
        };
        let mut attributes = Vec::new();
        let mut set = |key: &'static str, value: Option<Value<'a>>| {
            attributes.extend(value.map(|value| Member { key: Text::from(key), value }));
        };
        for (kind, key, operation, name) in [
            ("agent", "gen_ai.operation.name", "invoke_agent", "gen_ai.agent.name"),
            ("tool", "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name"),
            ("mcp", "mcp.method.name", "tools/call", "gen_ai.tool.name"),
            ("llm", "gen_ai.operation.name", "chat", "gen_ai.request.model"),
        ] {
            if let Some(named) = value.get(kind) {
                set(key, Some(Value::Text(Text::from(operation))));
                set(name, Some(named));
            }
        }
        for (key, attribute) in [
            ("call", "gen_ai.tool.call.id"),
            ("with", "gen_ai.tool.call.arguments"),
            ("gave", "gen_ai.tool.call.result"),
            ("ask", "gen_ai.input.messages"),
            ("say", "gen_ai.output.messages"),
        ] {
            set(attribute, value.get(key));
        }
        let name = ["chain", "agent", "tool", "mcp", "llm"].into_iter().find_map(text);
        Recorded {
            trace_id: Text::from("t"),
            id: text("id"),
            parent_id: text("in"),
            name: name.unwrap_or(Text::from("")),
            started_at: time(0),
            ended_at: time(1),
            status: text("status").map(|word| if word.is("ok") { Status::Ok } else { Status::Error }),
            status_message: None,
            attributes: Attributes(reader.bump.alloc_slice_copy(&attributes)),
            events: Vec::new(),
            row: Value::Null,
        }
    }

    fn with<T>(text: &str, tell: impl FnOnce(&Trace<'_>) -> T) -> T {
        let bump = Bump::new();
        let (value, reader) = Reader::parse(text.as_bytes(), &bump).unwrap();
        let Value::Array(spans) = value else { panic!("a list of spans") };
        let mut exported = Exported::new(reader);
        exported.spans = spans.iter().map(|span| recorded(reader, *span)).collect();
        let mut found = Found::new(reader);
        traces(exported, None, &mut found);
        assert!(found.problems.is_empty(), "{:?}", found.problems);
        assert_eq!(found.traces.len(), 1);
        tell(&found.traces[0])
    }

    /// Each tool call as `name@agent input = output`, with `#` its id, `?` if it was requested alone, `!` if it was
    /// executed alone, and what was asked for where that differs.
    fn calls(text: &str) -> Vec<String> {
        let call = |span: &Span<'_>| {
            let found = |key: &str| span.attributes.iter().rev().find(|member| member.key.is(key));
            let told = |before: &str, key| {
                found(key).map_or(String::new(), |found| format!(" {before}{}", show::json_text(found.value)))
            };
            let agent = span.agent.map_or(String::new(), |agent| format!("@{}", show::plain(agent)));
            let mark = match span.recorded_as {
                RecordedAs::Requested => " ?",
                RecordedAs::Executed => " !",
                RecordedAs::Both => "",
            };
            let id = told("#", "call_id").replace('"', "");
            let asked = told("asked ", "requested_arguments");
            let [input, output] = [span.input, span.output].map(show::json_text);
            format!("{}{agent} {input} = {output}{id}{mark}{asked}", show::plain(span.name))
        };
        with(text, |trace| trace.spans().iter().filter(|span| span.kind == Kind::ToolCall).map(call).collect())
    }

    fn list(spans: &[&str]) -> String {
        format!("[{}]", spans.join(", "))
    }

    /// A model that asks for calls: `id name arguments`, with `-` for no id.
    fn model(about: &str, calls: &[&str]) -> String {
        let part = |call: &&str| {
            let mut words = call.splitn(3, ' ');
            let [id, name, arguments] = [(); 3].map(|()| words.next().unwrap());
            let id = if id == "-" { String::new() } else { format!(r#""id": "{id}", "#) };
            format!(r#"{{"type": "tool_call", {id}"name": "{name}", "arguments": {arguments}}}"#)
        };
        let parts: Vec<String> = calls.iter().map(part).collect();
        let said =
            format!(r#"[{{"role": "assistant", "parts": [{}], "finish_reason": "tool_call"}}]"#, parts.join(", "));
        format!(r#"{{{about}, "llm": "m", "say": {said}}}"#)
    }

    /// What a model is told: `? text`, `+ id name arguments` or `= id output`.
    fn history(events: &[&str]) -> String {
        let message = |event: &&str| {
            let mut words = event.splitn(2, ' ');
            let [kind, rest] = [(); 2].map(|()| words.next().unwrap());
            let (role, part) = match kind {
                "?" => ("user", format!(r#"{{"type": "text", "content": "{rest}"}}"#)),
                "+" => {
                    let mut words = rest.splitn(3, ' ');
                    let [id, name, arguments] = [(); 3].map(|()| words.next().unwrap());
                    let call = format!(r#""id": "{id}", "name": "{name}", "arguments": {arguments}"#);
                    ("assistant", format!(r#"{{"type": "tool_call", {call}}}"#))
                }
                _ => {
                    let (id, output) = rest.split_once(' ').unwrap();
                    ("tool", format!(r#"{{"type": "tool_call_response", "id": "{id}", "response": {output}}}"#))
                }
            };
            format!(r#"{{"role": "{role}", "parts": [{part}]}}"#)
        };
        format!("[{}]", events.iter().map(message).collect::<Vec<_>>().join(", "))
    }

    #[test]
    fn a_call_is_told_once_by_its_id() {
        let model = model(r#""id": "m", "at": [1, 2]"#, &[r#"1 f {"x": 1}"#, "2 g {}"]);
        // Parallel calls, in another order.
        let g = r#"{"id": "g", "tool": "g", "call": "2", "at": [3, 5], "with": {}, "gave": "G"}"#;
        let f = r#"{"id": "f", "tool": "f", "call": "1", "at": [4, 6], "gave": "F"}"#;
        for order in [[&*model, g, f], [f, &*model, g]] {
            assert_eq!(calls(&list(&order)), [r#"g {} = "G" #2"#, r#"f {"x": 1} = "F" #1"#]);
        }
        // The clock of the tools is behind, or there is none.
        let early = f.replace("[4, 6]", "[0, 1]");
        assert_eq!(calls(&list(&[&early, &model, g])), [r#"f {"x": 1} = "F" #1"#, r#"g {} = "G" #2"#]);
        let untimed = list(&[f, &model, g]).replace(r#""at""#, r#""-""#);
        assert_eq!(calls(&untimed), [r#"f {"x": 1} = "F" #1"#, r#"g {} = "G" #2"#]);
    }

    #[test]
    fn without_ids_it_goes_by_agent_arguments_and_order() {
        let model = model(r#""id": "m", "at": [1, 2]"#, &[r#"- f {"x": 2}"#, r#"- f {"x": "1"}"#, r#"- f {"x": 3}"#]);
        let tool = |at: i64, x: &str| format!(r#"{{"tool": "f", "at": [{at}, 9], "with": {{"x": {x}}}}}"#);
        // What is coerced takes none that another one fits exactly.
        let told = calls(&list(&[&model, &tool(3, "1"), &tool(4, "2"), &tool(5, "3")]));
        assert_eq!(told, [r#"f {"x": 1} = null asked {"x": "1"}"#, r#"f {"x": 2} = null"#, r#"f {"x": 3} = null"#]);
        // One was never executed.
        let told = calls(&list(&[&model, &tool(3, "3"), &tool(4, "2")]));
        assert_eq!(told, [r#"f {"x": 3} = null"#, r#"f {"x": 2} = null"#, r#"f {"x": "1"} = null ?"#]);
        // Nobody asked for the fourth.
        let told = calls(&list(&[&model, &tool(3, "3"), &tool(4, "2"), &tool(5, "9"), &tool(6, "9")]));
        assert_eq!(told[2..], [r#"f {"x": 9} = null asked {"x": "1"}"#, r#"f {"x": 9} = null !"#]);
    }

    #[test]
    fn an_execution_with_another_id_is_another_call() {
        let model = model(r#""id": "m", "at": [1, 2]"#, &["1 f {}", "- f {}"]);
        let tool = |call: &str, at: i64| format!(r#"{{"tool": "f", "with": {{}}{call}, "at": [{at}, 9]}}"#);
        let (one, two, none) = (tool(r#", "call": "7""#, 3), tool(r#", "call": "8""#, 4), tool("", 5));
        assert_eq!(calls(&list(&[&model, &one, &none])), ["f {} = null #7", "f {} = null #1"]);
        assert_eq!(calls(&list(&[&model, &one, &two])), ["f {} = null #1 ?", "f {} = null #7", "f {} = null #8 !"]);
    }

    #[test]
    fn ids_that_an_agent_has_on_one_side_alone_say_nothing() {
        let asked = [r#"f_0 f {"x": 1}"#, r#"f_1 f {"x": 2}"#, "g_2 g {}"];
        let first = model(r#""id": "m", "in": "a", "at": [1, 2]"#, &asked);
        let second = model(r#""id": "n", "in": "a", "at": [6, 7]"#, &[r#"f_0 f {"x": 1}"#]);
        let tool = |id: &str, name: &str, with: &str, at: i64| {
            let about = format!(r#""id": "{id}", "in": "a", "at": [{at}, {at}]"#);
            format!(r#"{{{about}, "tool": "{name}", "call": "{id}", "with": {with}, "gave": {at}}}"#)
        };
        let agent = r#"{"id": "a", "agent": "a", "at": [0, 20]}"#;
        let (f, again) = (tool("adk-1", "f", r#"{"x": 2}"#, 3), tool("adk-2", "f", r#"{"x": 1}"#, 4));
        let (g, later) = (tool("adk-3", "g", "{}", 5), tool("adk-4", "f", r#"{"x": 1}"#, 8));
        let told = [
            r#"f@a {"x": 2} = 3 #adk-1"#,
            r#"f@a {"x": 1} = 4 #adk-2"#,
            "g@a {} = 5 #adk-3",
            r#"f@a {"x": 1} = 8 #adk-4"#,
        ];
        assert_eq!(calls(&list(&[agent, &first, &f, &again, &g, &second, &later])), told);
        // Other arguments make another call.
        let other = tool("adk-3", "g", r#"{"x": 1}"#, 5);
        assert_eq!(
            calls(&list(&[agent, &first, &f, &again, &other])),
            [told[0], told[1], "g@a {} = null #g_2 ?", r#"g@a {"x": 1} = 5 #adk-3 !"#]
        );
        // One id that is known says that all of them say something, and so does what has none.
        for known in [tool("f_1", "f", r#"{"x": 2}"#, 3), f.replace(r#""call": "adk-1", "#, "")] {
            let told = calls(&list(&[agent, &first, &known, &g]));
            assert!(told.contains(&"g@a {} = null #g_2 ?".to_owned()), "{told:?}");
            assert!(told.contains(&"g@a {} = 5 #adk-3 !".to_owned()), "{told:?}");
        }
        // Those of another agent say nothing of them.
        let others = [
            r#"{"id": "b", "agent": "b", "at": [10, 20]}"#.to_owned(),
            model(r#""id": "o", "in": "b", "at": [11, 12]"#, &["1 f {}"]),
            tool("1", "f", "{}", 13).replace(r#""in": "a""#, r#""in": "b""#),
        ];
        let told = calls(&list(&[agent, &first, &f, &again, &g, &others[0], &others[1], &others[2]]));
        assert_eq!(told[3..], ["f@b {} = 13 #1"]);
    }

    #[test]
    fn what_was_not_executed_stands_behind_what_was_asked_for_before_it() {
        let model = model(r#""id": "m", "in": "a", "at": [1, 2]"#, &["1 f {}", "2 absent {}", "3 g {}", "4 none {}"]);
        let tool = |name: &str, inside: &str, call: &str, at: i64| {
            let about = format!(r#""id": "{name}", "in": "{inside}", "at": [{at}, 9]"#);
            format!(r#"{{{about}, "tool": "{name}", "call": "{call}", "with": {{}}}}"#)
        };
        let (f, g) = (tool("f", "a", "1", 3), tool("g", "a", "3", 5));
        let outer = r#"{"id": "a", "chain": "a", "at": [0, 20]}"#;
        let around = r#"{"id": "b", "in": "a", "chain": "b", "at": [2, 20]}"#;
        let deeper = r#"{"id": "c", "in": "b", "chain": "c", "at": [2, 20]}"#;
        let told = ["f {} = null #1", "absent {} = null #2 ?", "g {} = null #3", "none {} = null #4 ?"];
        assert_eq!(calls(&list(&[outer, &model, &f, &g])), told);
        for inside in ["b", "c"] {
            let (f, g) = (tool("f", inside, "1", 3), tool("g", inside, "3", 5));
            assert_eq!(calls(&list(&[outer, &model, around, deeper, &f, &g])), told, "{inside}");
        }
        let untimed = list(&[outer, &model, &f, &g]).replace(r#""at""#, r#""-""#);
        assert_eq!(calls(&untimed), told);
        // What was executed first stands there, whatever it was asked for before.
        let early = tool("g", "a", "3", 3);
        let late = tool("f", "a", "1", 5);
        assert_eq!(calls(&list(&[outer, &model, &early, &late])), [told[2], told[0], told[1], told[3]]);
        // Before all that was executed.
        let only = tool("g", "a", "3", 5);
        assert_eq!(calls(&list(&[outer, &model, &only]))[2..], [told[2], told[3]]);
    }

    #[test]
    fn searches_of_the_provider_are_retrievals_and_no_tool_executes_them() {
        let part = |kind: &str, more: &str| {
            format!(r#"{{"type": "{kind}", "id": "1", "{kind}": {{"type": "file_search", {more}}}}}"#)
        };
        let (call, response) = ("server_tool_call", "server_tool_call_response");
        let (call, response) = (part(call, r#""query": "q""#), part(response, r#""results": [1]"#));
        let f = r#"{"type": "tool_call", "id": "2", "name": "f", "arguments": {}}"#;
        let say = |parts: &[&str]| {
            let message =
                format!(r#"{{"role": "assistant", "parts": [{}], "finish_reason": "stop"}}"#, parts.join(", "));
            format!(r#"{{"id": "m", "llm": "m", "at": [1, 2], "say": [{message}]}}"#)
        };
        let executed = r#"{"tool": "file_search", "with": {"query": "q"}, "at": [3, 4]}"#;
        let tool = r#"{"tool": "f", "call": "2", "with": {}, "at": [3, 4]}"#;
        let told = |text: &str| {
            with(text, |trace| {
                let found = trace.spans().iter().filter(|span| span.kind == Kind::Retrieval);
                let tell = |span: &Span<'_>| {
                    assert_eq!(span.recorded_as, RecordedAs::Both);
                    [span.input, span.output].map(show::json_text).join(" = ")
                };
                found.map(tell).collect::<Vec<_>>()
            })
        };
        let all = list(&[&say(&[&call, &response, f]), tool]);
        assert_eq!(told(&all), [r#"{"query": "q"} = {"type": "file_search", "results": [1]}"#]);
        assert_eq!(calls(&all), ["f {} = null #2"]);
        // Of which the results are not told; and a tool that has the name.
        let all = list(&[&say(&[&call]), executed]);
        assert_eq!(told(&all), [r#"{"query": "q"} = null"#]);
        assert_eq!(calls(&all), [r#"file_search {"query": "q"} = null !"#]);
    }

    #[test]
    fn each_attempt_is_a_call() {
        let model = model(r#""id": "m", "at": [1, 2]"#, &["1 f {}"]);
        let attempt = |id: &str, start: i64, end: i64| {
            format!(r#"{{"id": "{id}", "tool": "f", "call": "1", "with": {{}}, "at": [{start}, {end}]}}"#)
        };
        let told = calls(&list(&[&model, &attempt("a", 3, 4), &attempt("b", 4, 5)]));
        assert_eq!(told, ["f {} = null #1", "f {} = null #1 !"]);
        // A second instrumentation tells the same one while it is under way.
        assert_eq!(calls(&list(&[&model, &attempt("a", 3, 6), &attempt("b", 4, 5)])), ["f {} = null #1"]);
    }

    #[test]
    fn what_was_denied_is_requested_alone() {
        let model = model(r#""id": "m", "at": [1, 2]"#, &["1 f {}", "2 g {}"]);
        let tool = r#"{"id": "g", "tool": "g", "call": "2", "at": [3, 4], "with": {}, "gave": 5}"#;
        let told = history(&["? Q", "+ 1 f {}", r#"= 1 "denied""#]);
        let next = format!(r#"{{"id": "n", "llm": "m", "at": [5, 6], "ask": {told}}}"#);
        assert_eq!(calls(&list(&[&model, tool, &next])), [r#"f {} = "denied" #1 ?"#, "g {} = 5 #2"]);
        // Where no tool is a span, nothing is known of executions.
        assert_eq!(calls(&list(&[&model, &next])), [r#"f {} = "denied" #1"#, "g {} = null #2"]);
    }

    #[test]
    fn ids_that_come_again_are_new_calls() {
        let first = model(r#""id": "m", "at": [1, 2]"#, &[r#"0 f {"x": 1}"#]);
        let second = model(r#""id": "n", "at": [5, 6]"#, &[r#"0 f {"x": 2}"#]);
        let third = model(r#""id": "o", "at": [8, 9]"#, &["0 g {}", r#"0 f {"x": 2}"#]);
        let (one, two) = (r#"f {"x": 1} = null #0"#, r#"f {"x": 2} = null #0"#);
        assert_eq!(calls(&list(&[&first, &second, &third])), [one, two, "g {} = null #0", two]);
        let tool = |at: i64, name: &str, x: &str| {
            let about = format!(r#""id": "{at}", "call": "0", "at": [{at}, {at}]"#);
            format!(r#"{{{about}, "tool": "{name}", "with": {{{x}}}, "gave": {at}}}"#)
        };
        let f = |at, x| tool(at, "f", x);
        let tools = [f(3, r#""x": 1"#), f(7, r#""x": 2"#), f(10, r#""x": 2"#), tool(11, "g", "")];
        assert_eq!(
            calls(&list(&[&first, &tools[0], &second, &tools[1], &third, &tools[2], &tools[3]])),
            [r#"f {"x": 1} = 3 #0"#, r#"f {"x": 2} = 7 #0"#, r#"f {"x": 2} = 10 #0"#, "g {} = 11 #0"]
        );
        // The result that was told last is not that of the first.
        let told = history(&["? Q", r#"+ 0 f {"x": 2}"#, "= 0 22"]);
        let last = format!(r#"{{"id": "p", "llm": "m", "at": [7, 8], "ask": {told}}}"#);
        assert_eq!(calls(&list(&[&first, &second, &last])), [one, r#"f {"x": 2} = 22 #0"#]);
    }

    #[test]
    fn a_second_instrumentation_of_a_model_tells_the_same_calls() {
        let outer = model(r#""id": "m", "at": [1, 5]"#, &["- f {}"]);
        let inner = model(r#""id": "n", "in": "m", "at": [2, 4]"#, &["- f {}"]);
        assert_eq!(calls(&list(&[&outer, &inner])), ["f {} = null"]);
        // Of which the outer one doesn't tell them.
        let said = r#"[{"role": "assistant", "parts": [{"type": "text", "content": "A"}], "finish_reason": "stop"}]"#;
        let silent = format!(r#"{{"id": "m", "at": [1, 5], "llm": "m", "say": {said}}}"#);
        assert_eq!(calls(&list(&[&silent, &inner])), ["f {} = null"]);
        // Beside each other, at the same time.
        let one = model(r#""id": "m", "at": [1, 5]"#, &["1 f {}"]);
        let other = model(r#""id": "n", "at": [2, 4]"#, &["1 f {}"]);
        assert_eq!(calls(&list(&[&one, &other])), ["f {} = null #1"]);
        // What is inside of a tool, or an agent, is something else.
        let tool = r#"{"id": "t", "tool": "f", "in": "m", "at": [2, 4]}"#;
        let inside = model(r#""id": "n", "in": "t", "at": [3, 4]"#, &["- g {}"]);
        assert_eq!(calls(&list(&[&outer, tool, &inside])), ["f {} = null", "g {} = null ?"]);
        let agent = r#"{"id": "t", "agent": "b", "in": "m", "at": [2, 4]}"#;
        assert_eq!(calls(&list(&[&outer, agent, &inside])), ["g@b {} = null", "f {} = null"]);
    }

    #[test]
    fn a_history_makes_no_calls() {
        let told = history(&["? Q", "+ 8 f {}", "= 8 1", "? R"]);
        let model = model(&format!(r#""id": "m", "at": [1, 2], "ask": {told}"#), &["9 f {}"]);
        assert_eq!(calls(&list(&[&model])), ["f {} = null #9"]);
    }

    #[test]
    fn a_tool_inside_of_itself_is_another_view_of_it() {
        let outer = r#"{"id": "a", "tool": "srv__f", "call": "1", "with": {"x": "1"}, "at": [1, 9]}"#;
        let mcp = r#"{"id": "b", "in": "a", "mcp": "f", "with": {"x": 1, "session": 5}, "gave": "R", "at": [2, 8]}"#;
        let server = r#"{"id": "c", "in": "b", "tool": "f", "with": {"x": 1, "session": 5}, "at": [3, 7]}"#;
        let told = [r#"srv__f {"x": "1"} = "R" #1"#];
        assert_eq!(calls(&list(&[outer, mcp, server])), told);
        assert_eq!(calls(&list(&[server, mcp, outer])), told);
        // Another name, other arguments, or another id.
        for inner in [r#""tool": "g""#, r#""tool": "f", "with": {"x": 2}"#, r#""tool": "f", "call": "2""#] {
            let inner = format!(r#"{{"id": "b", "in": "a", "at": [2, 8], {inner}}}"#);
            assert_eq!(calls(&list(&[outer, &inner])).len(), 2, "{inner}");
        }
    }

    #[test]
    fn the_nearest_agent_makes_the_call() {
        let told = calls(&list(&[
            r#"{"id": "a", "agent": "boss", "at": [0, 20]}"#,
            &model(r#""id": "m", "in": "a", "at": [1, 2]"#, &["- ask {}", "- f {}"]),
            r#"{"id": "t", "in": "a", "tool": "ask", "with": {}, "at": [3, 12]}"#,
            r#"{"id": "b", "in": "t", "agent": "clerk", "at": [4, 11]}"#,
            &model(r#""id": "n", "in": "b", "at": [5, 6]"#, &["- f {}"]),
            // Of two agents at the same time each made its own.
            r#"{"id": "g", "in": "a", "tool": "f", "with": {}, "gave": 1, "at": [7, 8]}"#,
            r#"{"id": "x", "in": "b", "chain": "x", "at": [8, 9]}"#,
            r#"{"id": "h", "in": "x", "tool": "f", "with": {}, "gave": 2, "at": [9, 10]}"#,
        ]));
        assert_eq!(told, ["ask@boss {} = null", "f@boss {} = 1", "f@clerk {} = 2"]);
    }

    #[test]
    fn agents_of_one_name_are_told_apart_by_their_spans() {
        let told = calls(&list(&[
            r#"{"id": "a", "agent": "w", "at": [0, 20]}"#,
            r#"{"id": "b", "agent": "w", "at": [0, 20]}"#,
            &model(r#""id": "m", "in": "a", "at": [1, 2]"#, &["1 f {}"]),
            &model(r#""id": "n", "in": "b", "at": [1, 2]"#, &["2 f {}"]),
            r#"{"id": "g", "in": "b", "tool": "f", "with": {}, "at": [3, 4]}"#,
            r#"{"id": "h", "in": "a", "tool": "f", "with": {}, "at": [5, 6]}"#,
        ]));
        assert_eq!(told, ["f@w {} = null #2", "f@w {} = null #1"]);
    }

    #[test]
    fn spans_that_are_exported_again_count_once_and_ids_that_come_again_do_not() {
        let tool = |at: i64| format!(r#"{{"id": "a", "tool": "f", "with": {{"at": {at}}}, "at": [{at}, 9]}}"#);
        let pending = || r#"{"id": "a", "tool": "f", "at": [1]}"#.to_owned();
        let untimed = || r#"{"id": "a", "tool": "f"}"#.to_owned();
        let (one, two) = (r#"f {"at": 1} = null"#, r#"f {"at": 2} = null"#);
        for (spans, wanted) in [
            (vec![tool(1), tool(1)], vec![one]),
            (vec![pending(), tool(1)], vec![one]),
            (vec![tool(1), pending()], vec![one]),
            (vec![untimed(), tool(1)], vec![one]),
            (vec![tool(1), untimed()], vec![one]),
            (vec![tool(1), tool(2), tool(1), tool(2)], vec![one, two]),
            (vec![tool(1), tool(1).replace(r#""f""#, r#""g""#)], vec![one, r#"g {"at": 1} = null"#]),
        ] {
            assert_eq!(calls(&format!("[{}]", spans.join(", "))), wanted, "{spans:?}");
        }
    }

    #[test]
    fn spans_are_in_the_order_of_their_start_and_outer_ones_first() {
        let names = |text: &str| {
            with(text, |trace| trace.spans().iter().map(|span| show::plain(span.name)).collect::<Vec<_>>().join(" "))
        };
        let spans = list(&[
            r#"{"id": "c", "in": "b", "chain": "c", "ns": [1000, 2000]}"#,
            r#"{"id": "b", "in": "a", "chain": "b", "ns": [1000, 3000]}"#,
            r#"{"id": "e", "chain": "e", "ns": [1000, 3000]}"#,
            r#"{"id": "a", "chain": "a", "ns": [1000, 4000]}"#,
            r#"{"id": "d", "in": "c", "chain": "d", "ns": [900, 950]}"#,
        ]);
        assert_eq!(names(&spans), "d e a b c");
        // Where one has no time, in that of the log.
        assert_eq!(names(&spans.replace("[900, 950]", "[]")), "c b e a d");
        // Python's times know no more than microseconds.
        assert_eq!(names(&spans.replace("[1000, 4000]", "[1999, 4000]")), "d e a b c");
        // What was asked for stands where the model had answered.
        let long = model(r#""id": "m", "at": [0, 9]"#, &["1 f {}"]);
        assert_eq!(names(&list(&[&long, r#"{"tool": "g", "at": [4, 5]}"#])), "m g f");
    }

    #[test]
    fn circles_of_parents_are_cut_at_their_first_span() {
        let agent = |id: &str, outer: &str, at: i64| {
            format!(r#"{{"id": "{id}", "in": "{outer}", "agent": "{id}", "at": [{at}, 99]}}"#)
        };
        let tool = r#"{"id": "t", "in": "c", "tool": "f", "with": {}, "at": [50, 60]}"#;
        let text = list(&[&agent("b", "c", 20), &agent("c", "a", 30), &agent("a", "b", 10), tool]);
        let agents = with(&text, |trace| {
            let agent = |span: &Span<'_>| span.agent.map_or("-".to_owned(), show::plain);
            trace.spans().iter().map(|span| format!("{}@{}", show::plain(span.name), agent(span))).collect::<Vec<_>>()
        });
        assert_eq!(agents, ["a@-", "b@c", "c@a", "f@c"]);
        assert_eq!(calls(r#"[{"id": "t", "in": "t", "tool": "f"}]"#), ["f null = null"]);
    }

    #[test]
    fn what_is_not_recorded_is_neither_empty_nor_none() {
        assert_eq!(calls(r#"[{"tool": "f"}]"#), ["f null = null"]);
        assert_eq!(calls(r#"[{"tool": "f", "with": {}}]"#), ["f {} = null"]);
        let is_reported = |text: &str| with(text, |trace| trace.reported);
        assert!(!is_reported(r#"[{"llm": "m"}]"#) && !is_reported(r#"[{"agent": "a"}]"#));
        let said = r#"[{"role": "assistant", "parts": [{"type": "text", "content": "A"}], "finish_reason": "stop"}]"#;
        assert!(is_reported(&format!(r#"[{{"llm": "m", "say": {said}}}]"#)) && is_reported(r#"[{"tool": "f"}]"#));
    }

    #[test]
    fn a_status_is_what_was_recorded() {
        let status = |text: &str| with(text, |trace| trace.spans()[0].status.map(show::plain));
        assert_eq!(status(r#"[{"tool": "f", "gave": "Error: boom"}]"#), None);
        assert_eq!(status(r#"[{"tool": "f", "status": "ok", "gave": "Error: boom"}]"#).as_deref(), Some("ok"));
        assert_eq!(status(r#"[{"tool": "f", "status": "error", "gave": "fine"}]"#).as_deref(), Some("error"));
    }

    #[test]
    fn turns_are_told_by_what_was_asked() {
        let agent = |id: &str, question: &str, start: i64, end: i64| {
            let ask = history(&[&format!("? {question}")]);
            format!(r#"{{"id": "{id}", "agent": "a", "ask": {ask}, "at": [{start}, {end}]}}"#)
        };
        let tool = |outer: &str, at: i64| format!(r#"{{"in": "{outer}", "tool": "{outer}", "at": [{at}, {at}]}}"#);
        let turns = |spans: &[String]| {
            with(&format!("[{}]", spans.join(", ")), |trace| {
                let turns = trace.conversation.turns();
                turns
                    .map(|(turn, spans)| format!("{} {}", show::json_text(turn.input), spans.len()))
                    .collect::<Vec<_>>()
            })
        };
        let two = [agent("a", "Q", 0, 5), tool("a", 1), agent("b", "R", 5, 9), tool("b", 6), tool("b", 7)];
        assert_eq!(turns(&two), [r#""Q" 2"#, r#""R" 3"#]);
        // At the same time, or asked the same: one turn.
        assert_eq!(turns(&[agent("a", "Q", 0, 6), tool("a", 1), agent("b", "R", 5, 9)]), [r#""Q" 3"#]);
        assert_eq!(turns(&[agent("a", "Q", 0, 5), tool("a", 1), agent("b", "Q", 5, 9)]), [r#""Q" 3"#]);
    }

    /// Ten times as many spans take no more than some ten times as long; that the calls are right is asserted, too.
    fn takes_linear_time(what: &str, span: impl Fn(usize, usize) -> String, calls: impl Fn(usize) -> usize) {
        let time = |count: usize| {
            let text = format!("[{}]", (0..count).map(|at| span(at, count)).collect::<Vec<_>>().join(", "));
            let start = Instant::now();
            let found = with(&text, |trace| trace.spans().iter().filter(|span| span.kind == Kind::ToolCall).count());
            assert_eq!(found, calls(count), "{what}");
            start.elapsed()
        };
        let (small, large) = (time(2_000), time(20_000));
        assert!(large < 60 * small, "{what}: {small:?}, {large:?}");
    }

    #[test]
    fn large_traces_take_linear_time() {
        let nested = |kind: &'static str| {
            move |at: usize, count: usize| {
                let outer = at.checked_sub(1).map_or(String::new(), |outer| format!(r#""in": "{outer}", "#));
                format!(r#"{{{outer}"id": "{at}", "{kind}": "f", "at": [{at}, {}]}}"#, 2 * count - at)
            }
        };
        takes_linear_time("tools in each other", nested("tool"), |_| 1);
        takes_linear_time("agents in each other", nested("agent"), |_| 0);
        takes_linear_time("models in each other", nested("llm"), |_| 0);
        let circle = |at: usize, count: usize| {
            format!(r#"{{"id": "{at}", "in": "{}", "chain": "c", "at": [{at}, {at}]}}"#, (at + 1) % count)
        };
        takes_linear_time("a circle", circle, |_| 0);
        // Of one tool, each asked for and executed.
        for (call, id) in [("- f {}", ""), (r#"- f {"x": AT}"#, ""), ("0 f {}", r#""call": "0", "#)] {
            let pair = |at: usize, _| {
                let (start, end) = (2 * at, 2 * at + 1);
                let model = model(&format!(r#""at": [{start}, {start}]"#), &[&call.replace("AT", &at.to_string())]);
                format!(r#"{model}, {{"tool": "f", {id}"at": [{end}, {end}], "with": {{"y": 1}}}}"#)
            };
            takes_linear_time(call, pair, |count| count);
        }
        // All in one step.
        let step = |at: usize, count: usize| match at {
            0 => {
                let calls: Vec<String> = (1..count).map(|at| format!(r#"- f {{"x": {at}}}"#)).collect();
                model(r#""at": [0, 0]"#, &calls.iter().map(String::as_str).collect::<Vec<_>>())
            }
            _ => format!(r#"{{"tool": "f", "at": [{at}, {at}], "with": {{"x": {}}}}}"#, count - at),
        };
        takes_linear_time("one step", step, |count| count - 1);
    }
}
