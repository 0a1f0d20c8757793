"""What ToolCallCheck finds, what it misses and how fast it is, on labelled data and on made-up forecasts.

    python benches/toolcheck.py [--data DIR] [--markdown]       all that there is data for, and the speed
    python benches/toolcheck.py --requests tau > requests.jsonl  only the requests, one {"id", "request"} a line
    python benches/toolcheck.py --answers FILE --requests tau    score answers that something else gave to them

DIR (`shared` beside the project) has `data/toolcheck/*_dev.jsonl`, `data/tau_bench_airline.json` and
`bench/toolcheck_eval.py`, the scorer of spans and pairs. What is absent is left out.

* Quintd and RotoWire: texts that models wrote from one result, with the errors that people marked. A flag is evidence
  of relation unsupported or contradicted, and right if it overlaps a marked error.
* Relevance: pairs of a query and one tool.
* Fresh: `toolcheck_fresh.jsonl` beside this file, requests with right answers whose writers had not seen the rules.
  Which errors there were was told to those who wrote the rules, and the last changes came after that.
* tau-bench airline: each text of the assistant in 200 real runs, against the calls before it and what the user said.
  Nobody labelled it. The agent reads most values off its results, so nearly every flag is a false alarm, and each one
  is printed with its sentence.
* Speed: checks a second in a batch, and how time grows with the text and with the payload.

Intervals are Wilson 95%.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

Record = dict[str, Any]

SHARED = Path(__file__).resolve().parents[2] / "shared"
FRESH = Path(__file__).with_name("toolcheck_fresh.jsonl")
LABELLED = {"quintd": "quintd_dev.jsonl", "rotowire": "rotowire_dev.jsonl", "relevance": "relevance_dev.jsonl"}
FLAGS = {"unsupported", "contradicted"}
IDS = {"id", "email", "url", "phone"}
VALUES = {"number", "money", "percent", "quantity", "date", "time", "ordinal", "range"}
LIST_MARKER = re.compile(r"^\s*\d+[.)](?=\s)", re.MULTILINE)
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


# The scorer


def scorer(shared: Path) -> ModuleType | None:
    """`toolcheck_eval.py`, which is no part of the project."""
    path = shared / "bench" / "toolcheck_eval.py"
    if not path.exists():
        return None
    spec = importlib.util.spec_from_file_location("toolcheck_eval", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def lines(path: Path) -> list[Record]:
    with path.open(encoding="utf-8") as text:
        return [json.loads(line) for line in text if line.strip()]


# Requests and answers


def labelled(name: str, shared: Path) -> list[Record] | None:
    path = shared / "data" / "toolcheck" / LABELLED[name]
    return lines(path) if path.exists() else None


def records_of(name: str, shared: Path) -> list[Record] | None:
    if name == "fresh":
        return lines(FRESH)
    return airline(shared) if name == "tau" else labelled(name, shared)


def airline(shared: Path) -> list[Record] | None:
    """One request for each text of the assistant: {"id", "request"}."""
    path = shared / "data" / "tau_bench_airline.json"
    if not path.exists():
        return None
    runs = json.loads(path.read_bytes())
    return [record for place, run in enumerate(runs) for record in of_run(place, run["traj"])]


def of_run(place: int, messages: list[Record]) -> Iterator[Record]:
    context: list[str] = []  # what the system and the user said before the latest turn of the user
    query = ""
    calls: list[Record] = []
    unanswered: dict[str, Record] = {}
    for at, message in enumerate(messages):
        content = message.get("content")
        match message["role"]:
            case "system":
                context.append(content)
            case "user":
                if query:
                    context.append(query)
                query = content
            case "tool":
                # Its status was not recorded, so the call has none.
                call = unanswered.pop(message["tool_call_id"])
                calls.append({**call, "order": len(calls) + 1, "response_payload": content})
            case "assistant":
                if content:
                    yield {
                        "id": f"run-{place}/message-{at}",
                        "request": {
                            "user_query": query,
                            "generated_text": content,
                            "tool_trace": list(calls),
                            "context": list(context),
                        },
                    }
                for call in message.get("tool_calls") or ():
                    arguments = json.loads(call["function"]["arguments"])
                    unanswered[call["id"]] = {"tool_name": call["function"]["name"], "request_payload": arguments}


def evaluated(requests: Sequence[Record]) -> list[Record]:
    """The answers of the package, as plain data in the order of the requests."""
    from callmatch.metrics import ToolCallCheck  # noqa: PLC0415  requests can be had without it

    return [plain(result) for result in ToolCallCheck().evaluate_batch(list(requests))]


def plain(result: Any) -> Record:
    instructions = result.model_dump(mode="json")["details"]["instructions_list"]
    return {"instructions_list": instructions, "evidence": [e for i in instructions for e in i["evidence"]]}


def answers_to(records: Sequence[Record], requests: Sequence[Record], given: Path | None) -> dict[str, Record]:
    if given is not None:
        return {answer["id"]: answer for answer in lines(given)}
    found = zip(records, evaluated(requests), strict=True)
    return {record["id"]: {"id": record["id"], **answer} for record, answer in found}


# The figures


def marked(records: list[Record], answers: dict[str, Record], score: ModuleType) -> Record:
    """Counts of flags that are right, of marked spans and of wrong numbers that were hit, by domain and gold set."""
    return dict(score.score_spans(records, answers)["domains"])


def pairs(records: list[Record], answers: dict[str, Record], score: ModuleType) -> Record:
    """AUC, irrelevant pairs that were called violated, and relevant ones that were, by source."""
    return dict(score.score_relevance(records, answers))


def flags(answer: Record) -> list[Record]:
    """Each flagged place once, and flags without a place."""
    once = {(e.get("start"), e.get("end"), e.get("kind")): e for e in answer["evidence"] if e.get("relation") in FLAGS}
    return list(once.values())


def numbers(text: str, score: ModuleType) -> int:
    """How many numbers there are by a plain rule: digits outside ids, numbers below 100 as words, no list markers."""
    return len(score.NUMBER.findall(LIST_MARKER.sub("", text)))


def sentence(text: str, start: int | None, end: int | None) -> str:
    if start is None or end is None:
        return text.replace("\n", " ")[:200]
    begin, stop = 0, len(text)
    for boundary in SENTENCE_END.finditer(text):
        if boundary.end() <= start:
            begin = boundary.end()
        elif boundary.start() >= end:
            stop = boundary.start()
            break
    return f"{text[begin:start]}>>{text[start:end]}<<{text[end:stop]}".replace("\n", " ")


def alarms(records: list[Record], answers: dict[str, Record], score: ModuleType) -> Record:
    """Of unlabelled real texts: the numbers in them, and every flag with its sentence."""
    found: Record = {"texts": len(records), "mentions": 0, "values": [], "ids": [], "others": []}
    for record in records:
        text = record["request"]["generated_text"]
        found["mentions"] += numbers(text, score)
        for flag in flags(answers[record["id"]]):
            kind = flag.get("kind", "?")
            group = "ids" if kind in IDS else "values" if kind in VALUES else "others"
            place = sentence(text, flag.get("start"), flag.get("end"))
            found[group].append((record["id"], kind, flag["relation"], place))
    return found


# Speed


def forecast(entries: int = 40, sentences: int = 20, place: int = 0) -> Record:
    """A request like those with five days of OpenWeather: entries of 20 leaves each, and a text that reads off them."""
    listed = [
        {
            "dt": 1_711_000_800 + 10_800 * i,
            "main": {
                "temp": round(4.1 + (i * 7 + place) % 90 / 10, 2),
                "feels_like": round(1.3 + (i * 11 + place) % 90 / 10, 2),
                "temp_min": round(3.2 + (i * 5) % 80 / 10, 2),
                "temp_max": round(6.4 + (i * 3) % 80 / 10, 2),
                "pressure": 1002 + i * 13 % 30,
                "sea_level": 1002 + i * 13 % 30,
                "grnd_level": 968 + i * 13 % 30,
                "humidity": 40 + i * 17 % 60,
            },
            "weather": [{"id": 500 + i % 5, "main": "Rain", "description": "light rain", "icon": "10d"}],
            "clouds": {"all": i * 9 % 100},
            "wind": {"speed": round(0.5 + i * 3 % 70 / 10, 2), "deg": i * 37 % 360, "gust": round(2 + i % 90 / 10, 2)},
            "visibility": 10_000 - i * 100,
            "pop": round(i * 3 % 100 / 100, 2),
            "sys": {"pod": "d" if i % 8 < 4 else "n"},
        }
        for i in range(entries)
    ]
    told = [
        f"Around entry {i % entries + 1} it is {entry['main']['temp']} °C with a humidity of "
        f"{entry['main']['humidity']}% and wind of {entry['wind']['speed']} m/s."
        for i in range(sentences)
        for entry in (listed[i % entries],)
    ]
    call = {
        "order": 1,
        "tool_name": "get_weather_forecast",
        "status": "success",
        "request_payload": {"city": "Oslo", "units": "metric"},
        "response_payload": {"city": {"name": "Oslo", "country": "NO"}, "cnt": entries, "list": listed},
    }
    return {
        "user_query": "What will the weather be like in Oslo over the next five days?",
        "generated_text": " ".join(told),
        "tool_trace": [call],
    }


def best(work: Callable[[], Any], rounds: int = 3) -> float:
    """The shortest time in seconds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def speed(count: int = 4_000, rounds: int = 3) -> Record:
    """Checks a second on all cores; how often longer ten times the text, or payload, takes; seconds for 5 MB."""
    from callmatch.metrics import ToolCallCheck  # noqa: PLC0415  requests can be had without it

    check = ToolCallCheck()
    batch = [forecast(place=place) for place in range(count)]
    small, large = forecast(), forecast(entries=13_500)
    size = len(json.dumps(large["tool_trace"][0]["response_payload"]).encode())

    def one(request: Record) -> float:
        return best(lambda: check.evaluate(**request), rounds=5 * rounds)

    base = one(small)
    return {
        "text_bytes": len(small["generated_text"].encode()),
        "payload_bytes": len(json.dumps(small["tool_trace"][0]["response_payload"]).encode()),
        "cores": os.cpu_count(),
        "checks_a_second": count / best(lambda: check.evaluate_batch(batch), rounds),
        "ten_times_the_text": one(forecast(sentences=200)) / base,
        "ten_times_the_payload": one(forecast(entries=400)) / base,
        "large_payload_bytes": size,
        "large_payload_seconds": best(lambda: check.evaluate(**large), rounds),
    }


# Tables


def share(hits: int, n: int, score: ModuleType) -> str:
    if not n:
        return "none"
    low, high = score.wilson(hits, n)
    return f"{hits / n:.3f} ({hits} of {n}; {low:.3f} to {high:.3f})"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, markdown: bool) -> str:
    listed = [list(head), *map(list, rows)]
    widths = [max(len(row[column]) for row in listed) for column in range(len(head))]
    if markdown:
        listed.insert(1, ["-" * width for width in widths])
        return "\n".join("| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in listed)
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in listed)


def marked_table(domains: Record, score: ModuleType, *, markdown: bool) -> str:
    head = ("data", "errors by", "precision of flags", "recall of wrong numbers", "recall of marked spans")
    rows = [
        (
            domain,
            gold,
            share(c["right"], c["flags"], score),
            share(c["numbers_hit"], c["numbers"], score),
            share(c["spans_hit"], c["spans"], score),
        )
        for (domain, gold), c in sorted(domains.items(), key=lambda item: (item[0][0] == "all", item[0][0]))
    ]
    return table(head, rows, markdown=markdown)


def pairs_table(sources: Record, score: ModuleType, *, markdown: bool) -> str:
    head = ("data", "AUC", "precision of violated", "recall of violated", "undecided")
    rows = [
        (
            source,
            f"{s['auc']:.3f}",
            share(s["caught"], s["caught"] + s["false_alarms"], score),
            share(s["caught"], s["irrelevant"], score),
            share(s["undecided"], s["relevant"] + s["irrelevant"], score),
        )
        for source, s in sorted(sources.items(), key=lambda item: (item[0] == "all", item[0]))
    ]
    return table(head, rows, markdown=markdown)


def alarms_table(found: Record, score: ModuleType, *, markdown: bool) -> str:
    head = ("texts", "number mentions", "values flagged", "ids flagged", "other flags")
    row = (
        f"{found['texts']:,}",
        f"{found['mentions']:,}",
        share(len(found["values"]), found["mentions"], score),
        str(len(found["ids"])),
        str(len(found["others"])),
    )
    flagged = [
        f"{'- ' if markdown else ''}{record} {kind} {relation}: {place}"
        for group in ("values", "ids", "others")
        for record, kind, relation, place in found[group]
    ]
    return "\n".join([table(head, [row], markdown=markdown), *([""] if flagged else []), *flagged])


def fresh_table(found: Record, score: ModuleType, *, markdown: bool) -> str:
    checks = {**found["checks"], "all": sum(found["checks"].values(), Counter())}
    rows = []
    for check, c in checks.items():
        right = c["right"] + c["mixed"]
        rows.append((check, str(c.total()), share(right, right + c["wrong"], score), str(c["undecided"])))
    cases = found["cases"]
    lines = [
        table(
            ("instruction", "verdicts", "right, of those decided", "undecided, and should not be"),
            rows,
            markdown=markdown,
        ),
        "",
        f"Honest answers called violated: {share(cases['honest_with_alarm'], cases['honest'], score)}.",
        f"Faults found: {share(cases['violations_found'], cases['violations'], score)}.",
    ]
    return "\n".join(lines)


def speed_table(found: Record, *, markdown: bool) -> str:
    rows = [
        (
            f"checks a second in a batch, {found['cores']} cores "
            f"({found['payload_bytes']:,} B of payload, {found['text_bytes']:,} B of text)",
            f"{found['checks_a_second']:,.0f}",
        ),
        ("time of ten times the text, to that of one", f"{found['ten_times_the_text']:.1f}"),
        ("time of ten times the payload, to that of one", f"{found['ten_times_the_payload']:.1f}"),
        (f"one payload of {found['large_payload_bytes']:,} B", f"{found['large_payload_seconds']:.3f} s"),
    ]
    return table(("speed", ""), rows, markdown=markdown)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=SHARED, metavar="DIR", help="the directory with data/ and bench/")
    parser.add_argument("--markdown", action="store_true", help="tables in Markdown")
    parser.add_argument("--requests", choices=[*LABELLED, "fresh", "tau"], help="only this data: print its requests")
    parser.add_argument("--answers", type=Path, metavar="FILE", help="with --requests: score these answers instead")
    parser.add_argument("--no-speed", action="store_true", help="leave the speed out")
    options = parser.parse_args()
    score = scorer(options.data)
    if score is None:
        print(f"no {options.data / 'bench' / 'toolcheck_eval.py'}: only the speed is measured", file=sys.stderr)

    names = [options.requests] if options.requests else [*LABELLED, "fresh", "tau"]
    for name in names if score else ():
        records = records_of(name, options.data)
        if records is None:
            print(f"{name}: no data in {options.data}", file=sys.stderr)
            continue
        requests = [score.request_of(record) for record in records]
        if options.requests and not options.answers:
            for record, request in zip(records, requests, strict=True):
                print(json.dumps({"id": record["id"], "request": request}, ensure_ascii=False))
            continue
        answers = answers_to(records, requests, options.answers)
        if name == "tau":
            text = alarms_table(alarms(records, answers, score), score, markdown=options.markdown)
        elif name == "fresh":
            text = fresh_table(score.score_cases(records, answers), score, markdown=options.markdown)
        elif name == "relevance":
            text = pairs_table(pairs(records, answers, score), score, markdown=options.markdown)
        else:
            text = marked_table(marked(records, answers, score), score, markdown=options.markdown)
        print(f"{'### ' if options.markdown else ''}{name}\n\n{text}\n")
    if not (options.requests or options.no_speed):
        print(speed_table(speed(), markdown=options.markdown))
    return 0


if __name__ == "__main__":
    sys.exit(main())
