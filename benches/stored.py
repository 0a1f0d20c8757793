"""Files of stored traces for the measurements: chats as OpenAI writes them, and OTLP spans with GenAI attributes.

A chat has 4 to 10 calls, with results of a few hundred characters, as tau-bench has. A trace of spans has an agent, a
model span for each step whose input tells the whole history again, and a tool span for each call: what Pydantic AI
exports.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

TOOLS = (
    "get_user_details",
    "get_reservation_details",
    "search_direct_flight",
    "update_reservation",
    "think",
    "calculate",
)
WORDS = (
    "the",
    "a",
    "of",
    "to",
    "flight",
    "order",
    "user",
    "cabin",
    "date",
    "seat",
    "bag",
    "policy",
    "please",
    "cancel",
)


def sentence(rng: random.Random, words: int) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(words))


def arguments(rng: random.Random) -> dict[str, Any]:
    return {
        "reservation_id": f"{rng.randrange(16**6):06X}",
        "user_id": f"{rng.choice(WORDS)}_{rng.choice(WORDS)}_{rng.randrange(10_000)}",
        "passengers": [{"name": sentence(rng, 2), "age": rng.randrange(90)} for _ in range(rng.randrange(3))],
        "total": rng.randrange(100_000) / 100,
    }


def result(rng: random.Random) -> dict[str, Any]:
    flights = [
        {"flight": f"HAT{rng.randrange(300):03}", "price": rng.randrange(900), "seats": {"economy": rng.randrange(30)}}
        for _ in range(rng.randrange(1, 6))
    ]
    return {"status": "ok", "note": sentence(rng, 12), "flights": flights}


def steps(rng: random.Random) -> list[tuple[str, str, dict[str, Any], dict[str, Any]]]:
    """Calls: an id, a name, arguments, a result."""
    count = rng.randrange(4, 11)
    return [(f"call_{rng.randrange(16**8):08x}", rng.choice(TOOLS), arguments(rng), result(rng)) for _ in range(count)]


def chat(rng: random.Random, number: int) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": sentence(rng, 200)},
        {"role": "user", "content": sentence(rng, 20)},
    ]
    for id_, name, given, got in steps(rng):
        function = {"name": name, "arguments": json.dumps(given)}
        call = {"id": id_, "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": id_, "name": name, "content": json.dumps(got)})
    messages.append({"role": "assistant", "content": sentence(rng, 40)})
    return {"id": f"chat-{number}", "model": "gpt", "messages": messages}


def attribute(key: str, value: Any) -> dict[str, Any]:
    kind = "intValue" if isinstance(value, int) else "stringValue"
    return {"key": key, "value": {kind: str(value)}}


def otlp(rng: random.Random, number: int) -> dict[str, Any]:
    """One request of an exporter with the spans of one trace, in the order in which they ended."""
    trace_id = f"{rng.getrandbits(128):032x}"
    start = 1_764_500_000_000_000_000 + number * 10**9
    ids = iter(range(1, 1_000))

    def span(name: str, parent: str, attributes: dict[str, Any], begin: int, end: int, own: str = "") -> dict[str, Any]:
        return {
            "traceId": trace_id,
            "spanId": own or f"{number:08x}{next(ids):08x}",
            "parentSpanId": parent,
            "flags": 256,
            "name": name,
            "kind": 1,
            "startTimeUnixNano": str(start + begin),
            "endTimeUnixNano": str(start + end),
            "attributes": [attribute(key, value) for key, value in attributes.items()],
            "status": {},
        }

    root = f"{number:08x}{0:08x}"
    common = {"gen_ai.agent.name": "airline_agent", "gen_ai.conversation.id": f"conversation-{number}"}
    history: list[dict[str, Any]] = [
        {"role": "system", "parts": [{"type": "text", "content": sentence(rng, 200)}]},
        {"role": "user", "parts": [{"type": "text", "content": sentence(rng, 20)}]},
    ]
    spans: list[dict[str, Any]] = []
    clock = 0

    def asked(answer: dict[str, Any]) -> None:
        nonlocal clock
        spans.append(
            span(
                "chat gpt",
                root,
                {
                    "gen_ai.operation.name": "chat",
                    "gen_ai.request.model": "gpt",
                    "gen_ai.input.messages": json.dumps(history),
                    "gen_ai.output.messages": json.dumps([answer]),
                    "gen_ai.usage.input_tokens": 100 * len(history),
                    **common,
                },
                clock,
                clock + 1_000_000,
            )
        )
        clock += 2_000_000
        history.append(answer)

    for id_, name, given, got in steps(rng):
        call = {"type": "tool_call", "id": id_, "name": name, "arguments": given}
        asked({"role": "assistant", "parts": [call], "finish_reason": "tool_call"})
        tool = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": id_,
            "gen_ai.tool.call.arguments": json.dumps(given),
            "gen_ai.tool.call.result": json.dumps(got),
        }
        spans.append(span(f"execute_tool {name}", root, {**tool, **common}, clock, clock + 1_000_000))
        clock += 2_000_000
        answered = {"type": "tool_call_response", "id": id_, "name": name, "result": got}
        history.append({"role": "user", "parts": [answered]})
    asked({"role": "assistant", "parts": [{"type": "text", "content": sentence(rng, 40)}], "finish_reason": "stop"})
    agent = {"gen_ai.operation.name": "invoke_agent", **common}
    spans.append(span("invoke_agent airline_agent", "", agent, 0, clock, root))
    scope = {"scope": {"name": "pydantic-ai", "version": "2.0"}, "spans": spans}
    resource = {"attributes": [attribute("service.name", "airline")]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}


def lines(make: Callable[[random.Random, int], dict[str, Any]], seed: int) -> Iterator[bytes]:
    rng = random.Random(seed)
    number = 0
    while True:
        yield json.dumps(make(rng, number)).encode() + b"\n"
        number += 1


def write(path: Path, make: Callable[[random.Random, int], dict[str, Any]], size: int) -> list[bytes]:
    """A file of at least so many bytes, and its lines."""
    written: list[bytes] = []
    total = 0
    for line in lines(make, 11):
        written.append(line)
        total += len(line)
        if total >= size:
            break
    path.write_bytes(b"".join(written))
    return written
