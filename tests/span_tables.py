"""Made-up traces, and tables of their spans as each store of them has its columns."""

from __future__ import annotations

import base64
import datetime
import json
import random
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

import callmatch
from callmatch import _core
from callmatch.metrics import ToolCallTrajectory

START = 1_767_268_800_000_000_000
"""Noon of the first of January 2026, in nanoseconds."""

TOOLS = ("lookup", "refund", "ask", "reply")


@dataclass
class Made:
    """A span: what kind it is, its times in microseconds after `START`, and what it says."""

    id: str
    trace: str
    parent: str | None
    kind: str  # CHAIN, AGENT, LLM, TOOL
    name: str
    start: int
    end: int
    arguments: dict[str, Any] | None = None
    call_id: str | None = None
    question: str | None = None
    text: str | None = None
    calls: list[tuple[str | None, str, dict[str, Any]]] = field(default_factory=list)
    history: list[str] = field(default_factory=list)
    session: str | None = None

    @property
    def times(self) -> tuple[int, int]:
        return START + self.start * 1000, START + self.end * 1000


def trace(rng: random.Random, number: int, *, roots: int = 1) -> list[Made]:
    """A trace of some roots, one after the other or at the same time, with agents, models and tools in them."""
    id, spans, at = f"{number + 1:032x}", list[Made](), rng.randrange(1000)
    session = f"session {number // 3}" if number % 5 else None

    def add(parent: Made | None, kind: str, name: str, start: int, end: int, **more: Any) -> Made:
        span_id = f"{number + 1:08x}{len(spans) + 1:08x}"
        spans.append(Made(span_id, id, parent and parent.id, kind, name, start, end, session=session, **more))
        return spans[-1]

    for _ in range(roots):
        length = rng.randrange(100, 400)
        question = rng.choice(["Where is it?", "Send it back.", None])
        root = add(None, rng.choice(["CHAIN", "AGENT"]), "root", at, at + length, question=question)
        inside, history = root, ["Hello"]
        if rng.random() < 0.5:
            inside = add(root, "AGENT", rng.choice(["desk", "clerk"]), at + 1, at + length, question=question)
        step = at + 2
        for turn in range(rng.randrange(4)):
            wanted = []
            for call in range(rng.randrange(3)):
                call_id = f"call_{turn}_{call}" if rng.random() < 0.7 else None
                wanted.append((call_id, rng.choice(TOOLS), {"order": rng.randrange(3), "note": "é " * call}))
            text = rng.choice([None, "Done."])
            if rng.random() < 0.9:
                given = {"question": question, "history": list(history)}
                add(inside, "LLM", "chat", step, step + 5, calls=wanted, text=text, **given)
            step += 6
            history += ["…", "A result."]
            for call_id, name, arguments in wanted:
                if rng.random() < 0.8:
                    lasts = rng.choice([3, 600])
                    given = {"arguments": arguments if rng.random() < 0.9 else None, "call_id": call_id}
                    add(inside, "TOOL", name, step, step + lasts, **given)
                    step += rng.choice([0, 4])
        at += rng.choice([length // 2, length, length + 50])
    if rng.random() < 0.1:
        spans.append(rng.choice(spans))  # exported twice
    return spans


def rows(seed: int, traces: int = 40, *, roots: int = 1) -> list[Made]:
    """The spans of some traces, in any order."""
    rng = random.Random(seed)
    spans = [span for number in range(traces) for span in trace(rng, number, roots=rng.randint(1, roots))]
    rng.shuffle(spans)
    return spans


def text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def openinference(span: Made) -> dict[str, Any]:
    """Its attributes in the words of OpenInference, with lists of messages as Phoenix's frames have them."""
    found: dict[str, Any] = {"openinference.span.kind": span.kind, "session.id": span.session}
    if span.kind == "TOOL":
        found |= {"tool.name": span.name, "tool.id": span.call_id, "output.value": '{"result": "a long text"}'}
        found["input.value"] = None if span.arguments is None else text(span.arguments)
    elif span.kind == "LLM":
        asked = [{"message.role": "user", "message.content": said} for said in [*span.history, span.question or "?"]]
        calls = [
            {"tool_call.id": id, "tool_call.function.name": name, "tool_call.function.arguments": text(arguments)}
            for id, name, arguments in span.calls
        ]
        answer = {"message.role": "assistant", "message.content": span.text, "message.tool_calls": calls or None}
        found |= {"llm.model_name": "m", "llm.input_messages": asked, "llm.output_messages": [answer]}
        found["llm.invocation_parameters"] = "{}"
    else:
        found |= {"input.value": span.question, "agent.name": span.name if span.kind == "AGENT" else None}
    return {key: value for key, value in found.items() if value is not None}


def genai(span: Made) -> dict[str, Any]:
    """The same in the words of the GenAI conventions, with JSON text for what isn't a text."""
    word = {"TOOL": "execute_tool", "LLM": "chat", "AGENT": "invoke_agent"}.get(span.kind)
    found: dict[str, Any] = {"gen_ai.operation.name": word, "gen_ai.conversation.id": span.session}
    if span.kind == "TOOL":
        found |= {"gen_ai.tool.name": span.name, "gen_ai.tool.call.id": span.call_id}
        found["gen_ai.tool.call.arguments"] = None if span.arguments is None else text(span.arguments)
    elif span.kind == "LLM":
        said = [*span.history, span.question or "?"]
        asked = [{"role": "user", "parts": [{"type": "text", "content": one}]} for one in said]
        parts: list[dict[str, Any]] = [{"type": "text", "content": span.text}] if span.text else []
        for id, name, arguments in span.calls:
            parts.append({"type": "tool_call", "id": id, "name": name, "arguments": arguments})
        answer = [{"role": "assistant", "parts": parts, "finish_reason": "stop"}]
        found |= {"gen_ai.request.model": "m", "gen_ai.input.messages": text(asked)}
        found["gen_ai.output.messages"] = text(answer)
    elif span.kind == "AGENT":
        found["gen_ai.agent.name"] = span.name
    return {key: value for key, value in found.items() if value is not None}


CALL = pa.struct([(f"tool_call.{key}", pa.string()) for key in ("id", "function.name", "function.arguments")])
MESSAGES = pa.list_(
    pa.struct([("message.role", pa.string()), ("message.content", pa.string()), ("message.tool_calls", pa.list_(CALL))])
)


def phoenix(spans: list[Made], kind: pa.DataType | None = None, unit: str = "ns") -> pa.Table:
    """A frame of Phoenix: a column for each attribute."""
    said = [openinference(span) for span in spans]
    keys = sorted({key for attributes in said for key in attributes})
    kind, zone = kind or pa.large_string(), pa.timestamp(unit, "UTC")
    columns = {
        "name": pa.array([span.name for span in spans], kind),
        "span_kind": pa.array([span.kind for span in spans], kind),
        "parent_id": pa.array([span.parent for span in spans], kind),
        "start_time": pa.array([span.times[0] for span in spans], pa.timestamp("ns", "UTC")).cast(zone),
        "end_time": pa.array([span.times[1] for span in spans], pa.timestamp("ns", "UTC")).cast(zone),
        "status_code": pa.array(["OK"] * len(spans), kind),
        "events": pa.array([[] for _ in spans], pa.list_(pa.null())),
        "context.span_id": pa.array([span.id for span in spans], kind),
        "context.trace_id": pa.array([span.trace for span in spans], kind),
    }
    for key in keys:
        values = [attributes.get(key) for attributes in said]
        columns[f"attributes.{key}"] = pa.array(values, MESSAGES if key.endswith("messages") else kind)
    return pa.table(columns)


def clickhouse(spans: list[Made]) -> pa.Table:
    """As OpenTelemetry's collector fills it: attributes as a map of texts."""

    def flat(span: Made) -> list[tuple[str, str]]:
        if span.kind != "LLM":
            return list(openinference(span).items())
        attributes = {key: value for key, value in openinference(span).items() if not key.endswith("messages")}
        for place, said in enumerate([*span.history, span.question or "?"]):
            prefix = f"llm.input_messages.{place}.message"
            attributes |= {f"{prefix}.role": "user", f"{prefix}.content": said}
        answer = "llm.output_messages.0.message"
        attributes |= {f"{answer}.role": "assistant", f"{answer}.content": span.text or ""}
        for place, (id, name, arguments) in enumerate(span.calls):
            prefix = f"{answer}.tool_calls.{place}.tool_call"
            attributes |= {f"{prefix}.function.name": name, f"{prefix}.function.arguments": text(arguments)}
            attributes |= {f"{prefix}.id": id} if id else {}
        return list(attributes.items())

    return pa.table(
        {
            "Timestamp": pa.array([span.times[0] for span in spans], pa.timestamp("ns")),
            "TraceId": [span.trace for span in spans],
            "SpanId": [span.id for span in spans],
            "ParentSpanId": [span.parent or "" for span in spans],
            "SpanName": [span.name for span in spans],
            "ServiceName": ["svc"] * len(spans),
            "ResourceAttributes": pa.array([[("host.name", "h")] for _ in spans], pa.map_(pa.string(), pa.string())),
            "SpanAttributes": pa.array([flat(span) for span in spans], pa.map_(pa.string(), pa.string())),
            "Duration": pa.array([(span.end - span.start) * 1000 for span in spans], pa.uint64()),
            "StatusCode": ["Ok"] * len(spans),
            "Events.Name": pa.array([[] for _ in spans], pa.list_(pa.string())),
        }
    )


def otlp2records(spans: list[Made]) -> pa.Table:
    """As DuckDB's `read_otlp` gives them: ids as bytes, attributes as JSON text."""
    return pa.table(
        {
            "start_time_unix_nano": pa.array([span.times[0] for span in spans], pa.timestamp("ns")),
            "duration_time_unix_nano": [(span.end - span.start) * 1000 for span in spans],
            "trace_id": pa.array([bytes.fromhex(span.trace) for span in spans], pa.binary(16)),
            "span_id": pa.array([bytes.fromhex(span.id) for span in spans], pa.binary(8)),
            "parent_span_id": pa.array([span.parent and bytes.fromhex(span.parent) for span in spans], pa.binary()),
            "service_name": ["svc"] * len(spans),
            "name": [span.name for span in spans],
            "kind": pa.array([1] * len(spans), pa.int32()),
            "status_code": pa.array([1] * len(spans), pa.int32()),
            "span_attributes": [text(genai(span)) for span in spans],
            "events_json": ["[]"] * len(spans),
            "links_json": ["[]"] * len(spans),
            "resource_attributes": ['{"session.id": "all of them"}'] * len(spans),
        }
    )


def databricks(spans: list[Made]) -> pa.Table:
    """Tables of OTLP in Unity Catalog, whose VARIANTs were made JSON text: nanoseconds as numbers."""
    return pa.table(
        {
            "record_id": [str(place) for place, _ in enumerate(spans)],
            "trace_id": [span.trace for span in spans],
            "span_id": pa.array([span.id for span in spans]).dictionary_encode(),
            "parent_span_id": [span.parent for span in spans],
            "name": pa.array([span.name for span in spans]).dictionary_encode(),
            "start_time_unix_nano": [span.times[0] for span in spans],
            "end_time_unix_nano": [span.times[1] for span in spans],
            "attributes": [text(genai(span)) for span in spans],
            "events": pa.array([[] for _ in spans], pa.list_(pa.struct([("name", pa.string())]))),
            "status": [{"code": "STATUS_CODE_OK", "message": ""} for _ in spans],
            "resource": [{"attributes": '{"host.name": "h"}'} for _ in spans],
        }
    )


def logfire(spans: list[Made]) -> pa.Table:
    return pa.table(
        {
            "trace_id": [span.trace for span in spans],
            "span_id": [span.id for span in spans],
            "parent_span_id": [span.parent for span in spans],
            "span_name": [span.name for span in spans],
            "kind": ["span"] * len(spans),
            "message": ["a long text"] * len(spans),
            "start_timestamp": pa.array([span.times[0] // 1000 for span in spans], pa.timestamp("us", "UTC")),
            "end_timestamp": pa.array([span.times[1] // 1000 for span in spans], pa.timestamp("us", "UTC")),
            "attributes": [text(genai(span)) for span in spans],
            "otel_events": ["[]"] * len(spans),
        }
    )


def chat(span: Made) -> dict[str, Any]:
    """What a model answered, as a chat message."""
    calls = [
        {"id": id, "type": "function", "function": {"name": name, "arguments": text(arguments)}}
        for id, name, arguments in span.calls
    ]
    return {"role": "assistant", "content": span.text, **({"tool_calls": calls} if calls else {})}


def _said(span: Made) -> tuple[Any, Any]:
    """What went into a span and what came out, as rows have it in two columns."""
    if span.kind == "TOOL":
        return span.arguments, {"result": "a long text"}
    if span.kind == "LLM":
        asked = [{"role": "user", "content": said} for said in [*span.history, span.question or "?"]]
        return {"messages": asked}, chat(span)
    return ({"input": span.question} if span.question else None), None


def _clock(ns: int, form: str) -> str:
    return (datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=ns // 1000)).strftime(form)


def langfuse(spans: list[Made]) -> pa.Table:
    """Observations of a blob export: snake case, JSON text, times without a zone."""
    kinds, said = {"LLM": "GENERATION"}, [_said(span) for span in spans]
    form = "%Y-%m-%d %H:%M:%S.%f"
    return pa.table(
        {
            "id": [span.id for span in spans],
            "trace_id": [span.trace for span in spans],
            "parent_observation_id": pa.array([span.parent for span in spans], pa.string()),
            "project_id": ["p"] * len(spans),
            "type": [kinds.get(span.kind, span.kind) for span in spans],
            "name": [span.name for span in spans],
            "start_time": [_clock(span.times[0], form) for span in spans],
            "end_time": [_clock(span.times[1], form) for span in spans],
            "input": [None if given is None else text(given) for given, _ in said],
            "output": [None if gave is None else text(gave) for _, gave in said],
            "metadata": [text({"tool_call_id": span.call_id} if span.call_id else {}) for span in spans],
            "session_id": pa.array([span.session for span in spans], pa.string()),
            "level": ["DEFAULT"] * len(spans),
            "tool_calls": pa.array([[] for _ in spans], pa.list_(pa.string())),
            "tool_definitions": pa.array([[("f", "{}")] for _ in spans], pa.map_(pa.string(), pa.string())),
        }
    )


def langsmith(spans: list[Made]) -> pa.Table:
    """Runs of an export in bulk: nested fields as JSON text."""
    kinds, said = {"LLM": "llm", "TOOL": "tool"}, [_said(span) for span in spans]

    def extra(span: Made) -> dict[str, Any]:
        metadata = {"thread_id": span.session, "lc_agent_name": span.name if span.kind == "AGENT" else None}
        return {"tool_call_id": span.call_id, "metadata": {key: one for key, one in metadata.items() if one}}

    form = "%Y-%m-%dT%H:%M:%S.%f"
    return pa.table(
        {
            "id": [span.id for span in spans],
            "trace_id": [span.trace for span in spans],
            "parent_run_id": pa.array([span.parent for span in spans], pa.string()),
            "dotted_order": [f"{span.start:09d}" for span in spans],
            "name": [span.name for span in spans],
            "run_type": [kinds.get(span.kind, "chain") for span in spans],
            "start_time": [_clock(span.times[0], form) for span in spans],
            "end_time": [_clock(span.times[1], form) for span in spans],
            "inputs": [text(given or {}) for given, _ in said],
            "outputs": [
                text({"output": gave} if span.kind == "TOOL" else {"messages": [gave]} if gave else {})
                for span, (_, gave) in zip(spans, said, strict=True)
            ],
            "extra": [text(extra(span)) for span in spans],
            "tags": pa.array([["a"] for _ in spans], pa.list_(pa.string())),
            "error": pa.nulls(len(spans), pa.string()),
        }
    )


def mlflow(spans: list[Made]) -> pa.Table:
    """Rows of `search_traces`: a row is a trace, with its spans as JSON text or as a list."""
    kinds = {"LLM": "CHAT_MODEL"}

    def b64(id: str | None) -> str | None:
        return None if id is None else base64.b64encode(bytes.fromhex(id)).decode()

    def one(span: Made) -> dict[str, Any]:
        given, gave = _said(span)
        attributes = {"mlflow.spanType": kinds.get(span.kind, span.kind), "mlflow.spanInputs": given}
        attributes["mlflow.spanOutputs"] = {"choices": [{"message": gave}]} if span.kind == "LLM" else gave
        return {
            "trace_id": b64(span.trace),
            "span_id": b64(span.id),
            "parent_span_id": b64(span.parent),
            "name": span.name,
            "start_time_unix_nano": span.times[0],
            "end_time_unix_nano": span.times[1],
            "status": {"code": "STATUS_CODE_OK", "message": ""},
            "attributes": {key: text(value) for key, value in attributes.items() if value is not None},
        }

    traces: dict[str, list[Made]] = {}
    for span in spans:
        traces.setdefault(span.trace, []).append(span)
    listed: list[dict[str, Any]] = []
    for number, (id, own) in enumerate(traces.items()):
        metadata = {"mlflow.trace.session": own[0].session} if own[0].session else {}
        info = {"trace_id": f"tr-{id}", "state": "OK", "trace_metadata": metadata, "tags": {}}
        whole = text({"info": info, "data": {"spans": [one(span) for span in own]}})
        row = {
            "trace_id": f"tr-{id}",
            "state": "OK",
            "trace": whole if number % 2 else None,
            "trace_metadata": metadata,
        }
        listed.append({**row, "request": "a long text", "spans": None if number % 2 else text([*map(one, own)])})
    return pa.table(
        {
            "trace_id": [row["trace_id"] for row in listed],
            "state": [row["state"] for row in listed],
            "request": [row["request"] for row in listed],
            "trace": pa.array([row["trace"] for row in listed], pa.string()),
            "spans": pa.array([row["spans"] for row in listed], pa.string()),
            "trace_metadata": pa.array(
                [list(row["trace_metadata"].items()) for row in listed], pa.map_(pa.string(), pa.string())
            ),
        }
    )


def adk_bigquery(spans: list[Made]) -> pa.Table:
    """Events: a row when something starts, and one when it is done."""
    listed: list[dict[str, Any]] = []

    def add(span: Made, word: str, at: int, content: Any) -> None:
        row = {"timestamp": START // 1000 + at, "event_type": word, "agent": "desk", "session_id": span.session}
        row |= {"invocation_id": f"e-{span.trace}", "trace_id": span.trace, "span_id": span.id}
        row |= {"parent_span_id": span.parent, "content": None if content is None else text(content)}
        listed.append({**row, "is_truncated": False})

    for span in spans:
        if span.kind == "TOOL":
            add(span, "TOOL_STARTING", span.start, {"tool": span.name, "args": span.arguments, "tool_origin": "LOCAL"})
            add(span, "TOOL_COMPLETED", span.end, {"tool": span.name, "result": {"a": "long text"}})
        elif span.kind == "LLM":
            said = [f"text: '{span.text}'"] if span.text else []
            told = " | ".join([*said, *(f"call: {name}" for _, name, _ in span.calls)])
            prompt = [{"role": "user", "content": span.question or "?"}]
            add(span, "LLM_REQUEST", span.start, {"prompt": prompt, "system_prompt": "You are."})
            add(span, "LLM_RESPONSE", span.end, {"response": told, "usage": {"total": 5}} if told else None)
        else:
            add(span, "AGENT_STARTING" if span.kind == "AGENT" else "INVOCATION_STARTING", span.start, None)
            add(span, "STATE_DELTA", span.start + 1, None)
    names = list(listed[0]) if listed else []
    types = {"timestamp": pa.timestamp("us", "UTC"), "is_truncated": pa.bool_()}
    return pa.table({name: pa.array([row[name] for row in listed], types.get(name, pa.string())) for name in names})


PROFILES = {
    "phoenix": (phoenix, "phoenix"),
    "clickhouse": (clickhouse, "clickhouse"),
    "otlp2records": (otlp2records, "otel_table"),
    "databricks": (databricks, "otel_table"),
    "logfire": (logfire, "logfire"),
    "langfuse": (langfuse, "langfuse"),
    "langsmith": (langsmith, "langsmith"),
    "mlflow": (mlflow, "mlflow"),
    "adk_bigquery": (adk_bigquery, "adk_bigquery"),
}
"""What makes tables in the columns of each store, and the profile that these are."""


# What comes of them

NAMES = [name for name in _core.SCORE_COLUMNS if name not in ("error", "f1")]
"""What is compared: errors name rows in their own way."""


def scored(table, expected, metric=None, **options):
    return pa.table((metric or ToolCallTrajectory()).evaluate_spans(table, expected, **options))


def through_files(metric, table, expected, by="trace_id"):
    """What comes of the way through `callmatch.read`."""
    columns = {by: [], **{name: [] for name in NAMES}}
    traces = callmatch.read(table)
    for scores in metric.evaluate_traces(traces, expected, by=by):
        columns[by] += scores.id
        for name in NAMES:
            columns[name] += getattr(scores, name)
    return columns, traces


def same_as_files(table, expected, metric=None, by="trace_id", **options):
    metric = metric or ToolCallTrajectory()
    scores = metric.evaluate_spans(table, expected, by=by, **options)
    columns, traces = through_files(metric, table, expected, by)
    assert pa.table(scores).select(list(columns)).to_pydict() == columns
    return scores, columns, traces


def expectations(spans, prefix=""):
    """For each trace the calls that its tools made, and often others."""
    rng, made = random.Random(5), {}
    for span in sorted(spans, key=lambda span: (span.start, span.id)):
        calls = made.setdefault(prefix + span.trace, [])
        if span.kind == "TOOL":
            calls.append({"name": span.name, **({"arguments": span.arguments} if span.arguments else {})})
    for calls in made.values():
        if rng.random() < 0.4 and calls:
            calls.pop()
        if rng.random() < 0.2:
            calls.append({"name": "other"})
    unexpected = dict.fromkeys(list(made)[::9])
    return {**made, **unexpected, "nobody": []}


def prefix_of(name):
    return "tr-" if name == "mlflow" else ""


def desk(trace, *, executed, asked, text=None):
    """A trace of an agent with a model and tools."""
    root = Made(f"{trace}0", trace, None, "AGENT", "desk", 0, 100, question="Q")
    calls = [(f"call_{place}", name, {"order": place}) for place, name in enumerate(asked)]
    model = Made(f"{trace}1", trace, root.id, "LLM", "chat", 1, 5, calls=calls, text=text, question="Q")
    tools = [
        Made(f"{trace}{place + 2}", trace, root.id, "TOOL", name, 10 + place, 12 + place, {"order": place}, call_id)
        for place, (call_id, name, _) in enumerate(calls)
        if name in executed
    ]
    return [root, model, *tools]


A, B, C, D = ("a" * 31 + str(number) for number in range(4))
BY_HAND = [
    *desk(A, executed=["lookup", "refund"], asked=["lookup", "refund"]),
    *desk(B, executed=["lookup"], asked=["lookup", "refund"]),
    *desk(C, executed=[], asked=[], text="Nothing to do."),
    *desk(D, executed=["ask"], asked=["ask"]),
]


def hexed(spans):
    """With ids that are hex of the right length, as what has bytes for ids needs."""
    ids = {span.id: f"{number + 1:016x}" for number, span in enumerate(spans)}
    return [Made(**{**vars(span), "id": ids[span.id], "parent": span.parent and ids[span.parent]}) for span in spans]


def swapped(table, name, column):
    return table.set_column(table.column_names.index(name), name, column)
