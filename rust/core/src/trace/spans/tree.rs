//! A trace out of its spans: one rule for all that was exported, whatever the dialects of the spans.
//!
//! A call may stand in a trace several times: as what a model asked for (the output of an llm), as what was executed (a tool
//! span), again as the spans of an MCP client and server inside of that, and in what later models were told. Calls are taken
//! from outputs and tool spans alone, and the two are paired; what models were told gives results.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    hash::RandomState,
};

use super::{About, DIALECTS, Event, Exported, FOR_ALL, Recorded, Status, Step};
use crate::{
    call::Reader,
    compare,
    error::Error,
    show,
    text::Text,
    trace::{
        decode, messages, rows,
        span::{Kind, RecordedAs, Span},
        stored::{Found, Trace},
        time,
        turns::{Conversation, Listener, Steps},
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
        let nodes = nodes(reader, self.spans, self.logs, only);
        let mut tree = Tree { reader, id, nodes, problems, results: Vec::new(), knows_models: false };
        tree.link();
        tree.merge_repeated();
        let asked_for = tree.listen();
        let requests = tree.pair(asked_for);
        let mut trace = tree.told(requests, &about);
        trace.id = Some(id).filter(|id| !id.is_empty());
        for about in about {
            super::fill(&mut trace.conversation_id, about.conversation_id);
            if let Value::Object(members) = about.attributes {
                trace.attributes.extend_from_slice(members);
            }
        }
        trace
    }
}

/// A span, what it says, and where it is in the tree.
struct Node<'a> {
    recorded: Recorded<'a>,
    step: Step<'a>,
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
    /// The nearest model that answered.
    model: Option<usize>,
}

/// A call that a model asked for.
struct Request<'a> {
    /// The place of the model's span.
    by: usize,
    span: Span<'a>,
}

fn nodes<'a>(
    reader: Reader<'a>,
    spans: Vec<Recorded<'a>>,
    logs: Vec<(Option<Text<'a>>, Event<'a>)>,
    only: Option<&str>,
) -> Vec<Node<'a>> {
    let mut kept: Vec<Recorded<'a>> = Vec::with_capacity(spans.len());
    let mut places: HashMap<Text<'a>, usize> = HashMap::with_capacity(spans.len());
    for span in spans {
        // Exports overlap, and rows are written again when more is known.
        let again = span.id.and_then(|id| places.get(&id)).copied();
        match again.and_then(|place| kept.get_mut(place)) {
            Some(known) if known.name == span.name => {
                let started_at = known.started_at.or(span.started_at);
                if known.ended_at.is_none() || span.ended_at.is_some() {
                    *known = span;
                }
                known.started_at = started_at;
            }
            _ => {
                if let Some(id) = span.id {
                    places.entry(id).or_insert(kept.len());
                }
                kept.push(span);
            }
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
    }
    let node = |(place, recorded): (usize, Recorded<'a>)| Node {
        step: step(reader, &recorded, only),
        recorded,
        around: Around { root: place, ..Around::default() },
        repeated: false,
        recorded_as: RecordedAs::Both,
        requested: None,
    };
    kept.into_iter().enumerate().map(node).collect()
}

/// What a span says, in the words of all dialects that it has words of.
pub fn step<'a>(reader: Reader<'a>, recorded: &Recorded<'a>, only: Option<&str>) -> Step<'a> {
    let mut step = Step::default();
    for dialect in DIALECTS.iter().chain(rows::DIALECTS) {
        if only.is_none_or(|only| [only, FOR_ALL].contains(&dialect.name)) && (dialect.fits)(recorded) {
            (dialect.read)(reader, recorded, &mut step);
        }
    }
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
}

impl<'a> Tree<'_, 'a> {
    fn node(&self, place: usize) -> Option<&Node<'a>> {
        self.nodes.get(place)
    }

    /// Find out what is around each span. A circle is cut at its first span.
    fn link(&mut self) {
        let mut places: HashMap<Text<'a>, usize> = HashMap::with_capacity(self.nodes.len());
        for (place, node) in self.nodes.iter().enumerate() {
            if let Some(id) = node.recorded.id {
                places.entry(id).or_insert(place);
            }
        }
        let parent = |node: &Node<'a>| node.recorded.parent_id.and_then(|id| places.get(&id)).copied();
        let mut parents: Vec<Option<usize>> = self.nodes.iter().map(parent).collect();
        let mut seen = vec![Seen::Not; parents.len()];
        for start in 0..parents.len() {
            let mut path = Vec::new();
            let mut next = Some(start);
            while let Some(place) = next.filter(|&place| seen[place] == Seen::Not) {
                seen[place] = Seen::OnTheWay;
                path.push(place);
                if parents[place].is_some_and(|up| seen[up] == Seen::OnTheWay) {
                    parents[place] = None;
                }
                next = parents[place];
            }
            for &place in path.iter().rev() {
                seen[place] = Seen::Done;
                if let Some(up) = parents[place] {
                    self.nodes[place].around = self.inside_of(up);
                }
            }
        }
    }

    /// What is around a span that is inside of this one.
    fn inside_of(&self, up: usize) -> Around {
        let node = &self.nodes[up];
        let (step, around) = (&node.step, node.around);
        let is_model = step.is(Kind::Llm);
        Around {
            parent: Some(up),
            root: around.root,
            depth: around.depth + 1,
            agent: if step.is(Kind::Agent) { Some(up) } else { around.agent },
            says_agent: if step.agent.is_some() { Some(up) } else { around.says_agent },
            tool: match step.kind {
                Some(Kind::ToolCall) => Some(up),
                Some(Kind::Agent | Kind::Llm) => None,
                _ => around.tool,
            },
            model: if is_model && step.answered.is_some() { Some(up) } else { around.model },
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

    /// A tool span in a tool span of the same name is the same call: an MCP client's or server's view of it, or that of a
    /// second instrumentation. So is another one with the id of a call that was under way.
    fn merge_repeated(&mut self) {
        let mut by_id: HashMap<Text<'a>, usize> = HashMap::new();
        for place in 0..self.nodes.len() {
            let Some(node) = self.node(place) else { continue };
            if node.step.is_repeated {
                self.nodes[place].repeated = true;
                continue;
            }
            if !node.step.is(Kind::ToolCall) {
                continue;
            }
            let outer = node.around.tool.filter(|&outer| is_same_call(&self.nodes[outer].step, &node.step));
            let same = outer.or_else(|| {
                let known = by_id.get(&node.step.call_id?).copied()?;
                let other = self.node(known)?;
                let under_way = match (other.recorded.ended_at, node.recorded.started_at) {
                    (Some(end), Some(start)) => start < end,
                    _ => false,
                };
                (under_way && is_same_call(&other.step, &node.step)).then_some(known)
            });
            match same {
                Some(mut same) => {
                    while let (true, Some(outer)) = (self.nodes[same].repeated, self.nodes[same].around.tool) {
                        same = outer;
                    }
                    let inner = self.nodes[place].step.clone();
                    self.nodes[place].repeated = true;
                    let step = &mut self.nodes[same].step;
                    if step.input.is_none_or(|input| matches!(input, Value::Null)) {
                        step.input = inner.input;
                    }
                    super::fill(&mut step.output, inner.output);
                    super::fill(&mut step.call_id, inner.call_id);
                    super::fill(&mut step.failed, inner.failed);
                    super::fill(&mut step.error, inner.error);
                }
                None => {
                    if let Some(id) = self.nodes[place].step.call_id {
                        by_id.insert(id, place);
                    }
                }
            }
        }
    }

    /// Read what models were told and what they answered: the calls that they asked for.
    fn listen(&mut self) -> Vec<Request<'a>> {
        let mut requests: Vec<Request<'a>> = Vec::new();
        let mut known: HashSet<Text<'a>> = HashSet::new();
        // What is inside of a span that tells its messages, too, tells them better; but of models the outer one is the
        // one that the agent asked.
        let mut has_model_inside = vec![false; self.nodes.len()];
        for node in self.nodes.iter().filter(|node| node.step.is(Kind::Llm) && node.step.answered.is_some()) {
            let mut outer = node.around.parent;
            while let Some(place) = outer.filter(|&place| !has_model_inside[place]) {
                has_model_inside[place] = true;
                outer = self.nodes[place].around.parent;
            }
        }
        let mut told_by_outer = vec![false; self.nodes.len()];
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        order.sort_by_key(|&place| self.nodes[place].around.depth);
        let mut counts = vec![false; self.nodes.len()];
        for place in order {
            let Node { step, around, .. } = &self.nodes[place];
            let is_told = around.parent.is_some_and(|outer| told_by_outer[outer] || counts[outer]);
            counts[place] = step.answered.is_some()
                && if step.is(Kind::Llm) { around.model.is_none() } else { !has_model_inside[place] && !is_told };
            told_by_outer[place] = is_told;
        }
        for (place, counts) in counts.into_iter().enumerate() {
            let Node { step, .. } = &self.nodes[place];
            let is_llm = step.is(Kind::Llm);
            let Some(answered) = step.answered else { continue };
            let heard = self.heard(place, "what the model answered", answered);
            self.knows_models |= !heard.is_empty();
            let conversation = heard.finish();
            let of_last_turn = conversation.turns().last().map_or(&[][..], |(_, spans)| spans);
            let calls = if is_llm { conversation.spans() } else { of_last_turn };
            for &span in calls.iter().filter(|span| span.kind == Kind::ToolCall) {
                self.results.push(span);
                let is_new = counts && span.id.is_none_or(|id| known.insert(id));
                if is_new && span.recorded_as != RecordedAs::Executed {
                    requests.push(Request { by: place, span });
                }
            }
        }
        requests
    }

    fn heard(&mut self, place: usize, what: &str, messages: Value<'a>) -> Listener<'a> {
        let mut listener = Listener::default();
        let messages = decode::decoded(self.reader, messages);
        if matches!(messages, Value::Object(_) | Value::Array(_))
            && let Err(error) = messages::hear(self.reader, messages, &mut listener)
        {
            let span = self.node(place).map_or(Text::from(""), |node| node.recorded.name);
            let shown = |text| show::in_a_sentence(&show::storable(text));
            let place = format!("trace {:?}, span {:?}, {what}: ", shown(self.id), shown(span));
            self.problems.push(error.inside(&place));
            return Listener::default();
        }
        if let Value::Text(text) = messages {
            listener.said(Some(text));
        }
        listener
    }

    /// Pair what was asked for with what was executed. Left are the requests that were not executed, as far as is known.
    ///
    /// By id; else a call was asked for by the latest model before it that asked for such a one: of this agent with these
    /// arguments, or of this agent (arguments may be checked and changed on the way), or of any.
    fn pair(&mut self, requests: Vec<Request<'a>>) -> Vec<Request<'a>> {
        let is_executed = |node: &Node<'a>| node.step.is(Kind::ToolCall) && !node.repeated;
        let mut taken = vec![false; requests.len()];
        let mut partners: HashMap<usize, usize> = HashMap::new();
        let by_id: HashMap<Text<'a>, usize> =
            (0..).zip(&requests).filter_map(|(number, request)| Some((request.span.id?, number))).collect();
        for (place, node) in self.nodes.iter().enumerate().filter(|(_, node)| is_executed(node)) {
            let number = node.step.call_id.and_then(|id| by_id.get(&id)).copied();
            if let Some(number) = number.filter(|&number| !taken[number]) {
                taken[number] = true;
                partners.insert(place, number);
            }
        }
        let hasher = RandomState::new();
        let keys = |agent: Option<Text<'a>>, name: Text<'a>, input: Value<'a>| {
            let (name, hash) = (last_segment(name), compare::hash(input, &hasher));
            [(name, Some(agent), Some(hash)), (name, Some(agent), None), (name, None, None)]
        };
        let mut open: HashMap<_, Steps> = HashMap::new();
        let mut next = 0;
        for (place, node) in self.nodes.iter().enumerate() {
            while let Some(request) = requests.get(next).filter(|request| request.by <= place) {
                if !taken[next] {
                    for key in keys(self.agent_with_own(request.by), request.span.name, request.span.input) {
                        open.entry(key).or_default().push(request.by, next);
                    }
                }
                next += 1;
            }
            let Some(name) = node.step.name.filter(|_| is_executed(node) && !partners.contains_key(&place)) else {
                continue;
            };
            let could_be = |number: usize| {
                let request = &requests[number];
                let ids_differ = request.span.id.is_some() && node.step.call_id.is_some();
                !taken[number] && !ids_differ && is_same_name(name, request.span.name)
            };
            let mut found = None;
            for key in keys(self.agent(place), name, node.step.input.unwrap_or(Value::Null)) {
                let Some(steps) = open.get_mut(&key) else { continue };
                while let (None, Some(number)) = (found, steps.pop()) {
                    found = Some(number).filter(|&number| could_be(number));
                }
            }
            if let Some(number) = found {
                taken[number] = true;
                partners.insert(place, number);
            }
        }
        let told = self.told_results(&requests, &taken, &partners);
        let mut any_executed = false;
        for place in 0..self.nodes.len() {
            let knows_models = self.knows_models;
            let node = &mut self.nodes[place];
            if !is_executed(node) {
                continue;
            }
            any_executed = true;
            match partners.get(&place).and_then(|&number| requests.get(number)) {
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
                node.step.output = node.step.call_id.and_then(|id| told.get(&id)).map(|span| span.output);
            }
        }
        let mut left: Vec<Request<'a>> =
            requests.into_iter().zip(taken).filter(|(_, taken)| !taken).map(|(request, _)| request).collect();
        for Request { span, .. } in &mut left {
            span.recorded_as = if any_executed { RecordedAs::Requested } else { RecordedAs::Both };
            if let (Value::Null, Some(result)) = (span.output, span.id.and_then(|id| told.get(&id))) {
                span.output = result.output;
                span.status = span.status.or(result.status);
                span.error = span.error.or(result.error);
            }
        }
        left
    }

    /// What models were told came of calls of which no span says it. A history is long, and told again each time, so it is
    /// read only where something is missing, from the last one on.
    fn told_results(
        &mut self,
        requests: &[Request<'a>],
        taken: &[bool],
        partners: &HashMap<usize, usize>,
    ) -> HashMap<Text<'a>, Span<'a>> {
        let with_output = |spans: &[Span<'a>]| -> HashMap<Text<'a>, Span<'a>> {
            let known = spans.iter().filter(|span| !matches!(span.output, Value::Null));
            known.filter_map(|span| Some((span.id?, *span))).collect()
        };
        let mut told = with_output(&self.results);
        let left = requests.iter().zip(taken).filter(|(_, taken)| !**taken).map(|(request, _)| request.span);
        let mut missing: HashSet<Text<'a>> =
            left.filter(|span| matches!(span.output, Value::Null)).filter_map(|span| span.id).collect();
        for (place, node) in self.nodes.iter().enumerate() {
            if node.step.is(Kind::ToolCall) && !node.repeated && node.step.output.is_none() {
                let asked_for = partners.get(&place).and_then(|&number| requests.get(number)?.span.id);
                missing.extend(node.step.call_id.or(asked_for));
            }
        }
        missing.retain(|id| !told.contains_key(id));
        for place in (0..self.nodes.len()).rev() {
            if missing.is_empty() {
                break;
            }
            if let Some(asked) = self.nodes[place].step.asked {
                let spans = self.heard(place, "what the model was told", asked).finish().into_spans();
                for (id, span) in with_output(&spans) {
                    missing.remove(&id);
                    told.entry(id).or_insert(span);
                }
            }
        }
        told
    }

    /// The trace: turns, and in each of them its spans.
    fn told(&mut self, requests: Vec<Request<'a>>, about: &[About<'a>]) -> Trace<'a> {
        let reported = self.knows_models || self.nodes.iter().any(|node| node.step.is(Kind::ToolCall));
        let mut of_model: HashMap<usize, Vec<Span<'a>>> = HashMap::new();
        for Request { by, mut span } in requests {
            span.parent_id = self.node(by).and_then(|node| node.recorded.id);
            span.agent = span.agent.or_else(|| self.agent_with_own(by));
            span.started_at = self.node(by).map_or(Value::Null, |node| self.time(node.recorded.ended_at));
            span.ended_at = Value::Null;
            if let Some(id) = span.id {
                span.attributes = self.members(&[("call_id", Value::Text(id))]);
            }
            of_model.entry(by).or_default().push(span);
        }
        let mut conversation = Conversation::default();
        let mut turns = self.turns();
        if turns.is_empty() {
            turns.push(Vec::new());
        }
        for (number, places) in turns.iter().enumerate() {
            let (input, output) = self.said(places, if number == 0 { about } else { &[] });
            conversation.open(input);
            conversation.close(output);
            for &place in places {
                if !self.nodes[place].repeated {
                    conversation.push(self.span(place));
                }
                of_model.remove(&place).into_iter().flatten().for_each(|span| conversation.push(span));
            }
        }
        let mut trace = Trace::new(conversation);
        trace.reported = reported;
        trace.conversation_id = self.nodes.iter().find_map(|node| node.step.conversation_id);
        trace
    }

    /// The places of the spans of each turn. There is one turn, unless the dialect numbers the questions of the user, or there
    /// are several roots, one after the other, of which each was asked something else.
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
            input.offer(self.said_in(about.input, Who::User));
            output.offer(self.said_in(about.output, Who::Assistant));
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
                input.offer(self.said_in(step.input.unwrap_or(Value::Null), Who::User));
            }
            input.offer(self.said_in(step.asked.unwrap_or(Value::Null), Who::User));
        }
        for &place in roots.iter().rev() {
            let Some(step) = steps(self, place) else { continue };
            if !step.is(Kind::Llm) {
                output.offer(self.said_in(step.output.unwrap_or(Value::Null), Who::Assistant));
            }
            output.offer(self.said_in(step.answered.unwrap_or(Value::Null), Who::Assistant));
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
                input.offer(self.said_in(step.input.unwrap_or(Value::Null), Who::User));
            }
            input.offer(self.said_in(step.asked.unwrap_or(Value::Null), Who::User));
        }
        for &place in agents.iter().take(1).chain(models.iter().rev()) {
            if output.is_text() {
                break;
            }
            let Some(step) = steps(self, place) else { continue };
            if !step.is(Kind::Llm) {
                output.offer(self.said_in(step.output.unwrap_or(Value::Null), Who::Assistant));
            }
            output.offer(self.said_in(step.answered.unwrap_or(Value::Null), Who::Assistant));
        }
        (input.0, output.0)
    }

    /// A text; of messages what was said last; of an object that holds one text, that; else what it is.
    fn said_in(&self, value: Value<'a>, who: Who) -> Value<'a> {
        let value = decode::decoded(self.reader, value);
        match value {
            Value::Null | Value::Array([]) | Value::Object([]) => return Value::Null,
            Value::Array(_) | Value::Object(_) => {}
            other => return other,
        }
        let mut listener = Listener::default();
        if messages::hear(self.reader, value, &mut listener).is_ok() {
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
            attributes: self.attributes(recorded, &more),
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
        nanos.map_or(Value::Null, |nanos| Value::Text(time::text(nanos, self.reader.bump)))
    }

    fn shallow(&self, value: Value<'a>) -> Value<'a> {
        if value.deeper_than(MOST_LEVELS) { Value::Null } else { value }
    }

    fn attributes(&self, recorded: &Recorded<'a>, more: &[(&'static str, Value<'a>)]) -> &'a [Member<'a>] {
        let own = recorded.attributes.0.iter().filter(|member| !member.value.deeper_than(MOST_LEVELS)).copied();
        let mut all: Vec<Member<'a>> = own.collect();
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

/// Under which of their arguments agents are asked.
const QUESTIONS: &[&str] = &["task", "input", "question", "query", "prompt", "user_input", "message"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    Not,
    OnTheWay,
    Done,
}

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

/// With the same arguments, or where those of one of them are not recorded.
fn is_same_call(one: &Step<'_>, other: &Step<'_>) -> bool {
    let (Some(a), Some(b)) = (one.name, other.name) else { return false };
    let ids_differ = matches!((one.call_id, other.call_id), (Some(a), Some(b)) if a != b);
    let (x, y) = (one.input.unwrap_or(Value::Null), other.input.unwrap_or(Value::Null));
    let is_unknown = |value| matches!(value, Value::Null);
    !ids_differ && is_same_name(a, b) && (is_unknown(x) || is_unknown(y) || compare::equal(x, y))
}

/// A client may know a tool by a name that says whose it is: `mcp__server__tool`.
fn is_same_name(a: Text<'_>, b: Text<'_>) -> bool {
    a == b || last_segment(a) == b || last_segment(b) == a
}

fn last_segment(name: Text<'_>) -> Text<'_> {
    name
}
