"""The data of the measurements on traces: made-up runs of an agent that calls tools, some of them inside sub-agents."""

from __future__ import annotations

from typing import Any

from callmatch import Span, Trace
from callmatch.metrics import code_metric

TOOLS = ("lookup_order", "check_policy", "issue_refund", "send_mail", "search", "track_parcel", "reply")


def span(place: int, parent: int | None, kind: str) -> dict[str, Any]:
    return {
        "id": str(place),
        "parent_id": None if parent is None else str(parent),
        "kind": kind,
        "name": TOOLS[place % len(TOOLS)] if kind == "tool_call" else f"agent-{place % 3}",
        "input": {
            "order_id": place,
            "items": [{"sku": "A-1", "count": 2}, {"sku": "B-7", "count": 1}],
            "dry_run": False,
        },
        "output": "ok" if place % 5 else "not found",
        "status": "ok",
        "started_at": f"2026-11-30T12:{place // 600 % 60:02}:{place // 10 % 60:02}.{place % 10}00000Z",
    }


def spans(count: int, *, deep: bool = False) -> list[dict[str, Any]]:
    """A tenth of them agents. Each is inside the agent before it, or all are inside the first one."""
    made, agent = [], None
    for place in range(count):
        is_agent = place % 10 == 0
        parent = agent if deep or place % 10 else (0 if place else None)
        made.append(span(place, parent, "agent" if is_agent else "tool_call"))
        if is_agent:
            agent = place
    return made


def runs(count: int, calls: int) -> list[Trace]:
    """Traces of one turn with so many tool calls each."""
    tools = [span(place, None, "tool_call") for place in range(calls)]
    return [Trace.from_parts(input="Refund order 42", output="Refunded.", spans=tools) for _ in range(count)]


@code_metric(target="tool_call")
def succeeded(output: Any) -> bool:
    return bool(output == "ok")


@code_metric(name="succeeded", target="tool_call")
def succeeded_on_a_copy(span: Span) -> bool:
    """The same, on an object of its own for each span."""
    return bool(Span.model_validate(span.model_dump()).output == "ok")


@code_metric(name="succeeded", target="tool_call")
def succeeded_on_a_deep_copy(span: Span) -> bool:
    return bool(span.model_copy(deep=True).output == "ok")
