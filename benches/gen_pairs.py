"""Pairs of expected and made tool calls, the same for the same seed: about 5 calls and 5.7 KB of JSON each.

`python benches/gen_pairs.py FILE COUNT SEED` writes them as JSON Lines, or as a table if the file ends with .parquet.
"""

from __future__ import annotations

import copy
import json
import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet

Call = dict[str, Any]
Record = dict[str, Any]
Schemas = dict[str, list[tuple[str, str]]]


def words(text: str) -> list[str]:
    return text.split()


WORDS = words("""
    order invoice customer refund ticket flight hotel report budget search query index vector token deploy cluster
    alert metric log trace user account payment region latency schema table column join filter summary draft email
    calendar meeting agenda status urgent review merge branch commit diff patch build test release note weather city
    paris tokyo berlin madrid
""")
KEYS = words("""
    query city date start end limit offset user_id order_id path content body subject to cc filters options tags items
    lang mode verbose dry_run amount currency threshold ratio timeout retries template payload headers ids sort columns
    where format region page
""")
KINDS = words("str str id int float bool long list_str list_num dict list_dict null")
LEAVES = ["str", "id", "int", "float", "bool"]
VERBS = ("search", "get", "create", "update", "delete", "list", "send", "run")
NOUNS = ("order", "file", "email", "event", "ticket")
TOOLS = [f"{verb}_{noun}" for verb in VERBS for noun in NOUNS]

# What was done to the calls of a pair, with the part of all pairs up to which it is.
CHANGES = [
    (0.35, "same"),
    (0.50, "extra_keys"),
    (0.65, "extra_calls"),
    (0.75, "missing"),
    (0.85, "swapped"),
    (0.95, "changed"),
    (1.00, "multi"),
]


def make_schemas(rng: random.Random) -> Schemas:
    schemas = {}
    for tool in TOOLS:
        keys = rng.sample(KEYS, rng.randint(1, 6))
        schemas[tool] = [(key, rng.choice(KINDS)) for key in keys]
    return schemas


def phrase(rng: random.Random, fewest: int, most: int) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(fewest, most)))


def long_text(rng: random.Random) -> str:
    target = rng.randint(200, 2000)
    parts, length = [], 0
    while length < target:
        sentence = phrase(rng, 5, 14)
        if rng.random() < 0.08:
            sentence += " — “naïve” café\n"
        if rng.random() < 0.05:
            sentence += ' "quoted" \\path\\x\t'
        parts.append(sentence)
        length += len(sentence) + 2
    return ". ".join(parts)[:target]


def integer(rng: random.Random) -> int:
    return rng.choice([rng.randint(0, 100), rng.randint(0, 10**6), rng.randint(0, 10**12)])


def mapping(rng: random.Random, fewest: int, most: int) -> dict[str, Any]:
    return {key: value(rng, rng.choice(LEAVES)) for key in rng.sample(KEYS, rng.randint(fewest, most))}


def nested(rng: random.Random) -> dict[str, Any]:
    outer = mapping(rng, 2, 5)
    if rng.random() < 0.5:
        outer["nested"] = mapping(rng, 2, 5)
    return outer


MAKERS = {
    "str": lambda rng: phrase(rng, 1, 5),
    "id": lambda rng: f"{rng.getrandbits(32):08x}-{rng.getrandbits(16):04x}",
    "int": integer,
    "float": lambda rng: round(rng.uniform(-1000, 1000), rng.randint(1, 6)),
    "bool": lambda rng: rng.random() < 0.5,
    "null": lambda rng: None if rng.random() < 0.5 else rng.randint(0, 9),
    "long": long_text,
    "list_str": lambda rng: [phrase(rng, 1, 2) for _ in range(rng.randint(1, 6))],
    "list_num": lambda rng: [rng.randint(0, 1000) for _ in range(rng.randint(1, 10))],
    "dict": nested,
    "list_dict": lambda rng: [mapping(rng, 2, 4) for _ in range(rng.randint(1, 4))],
}


def value(rng: random.Random, kind: str) -> Any:
    return MAKERS[kind](rng)


def call(rng: random.Random, schemas: Schemas) -> Call:
    tool = rng.choice(TOOLS)
    return {"name": tool, "arguments": {key: value(rng, kind) for key, kind in schemas[tool]}}


def changed(rng: random.Random, old: Any) -> Any:
    """A value near the old one, and never equal to it."""
    new = "changed"
    match old:
        case bool():
            new = not old
        case int():
            new = old + 1
        case float():
            new = old + 0.5
        case str() if len(old) < 200:
            new = old + "x"
        case str():
            new = old[:-1] + ("~" if old[-1] != "~" else "!")
        case None:
            new = 7
        case [_, *_]:
            new = list(old)
            index = rng.randrange(len(new))
            new[index] = changed(rng, new[index])
        case dict() if old:
            new = dict(old)
            key = rng.choice(list(new))
            new[key] = changed(rng, new[key])
    return new


def change(rng: random.Random, kind: str, made: list[Call], schemas: Schemas) -> None:
    if kind == "extra_keys":
        for one in made:
            if rng.random() < 0.5:
                one["arguments"]["_trace_id"] = value(rng, "id")
    elif kind == "extra_calls":
        for _ in range(rng.randint(1, 3)):
            again = made and rng.random() < 0.3
            one = copy.deepcopy(rng.choice(made)) if again else call(rng, schemas)
            made.insert(rng.randint(0, len(made)), one)
    elif kind == "missing" and made:
        for _ in range(rng.randint(1, min(2, len(made)))):
            made.pop(rng.randrange(len(made)))
    elif kind == "swapped" and len(made) > 1:
        index = rng.randrange(len(made) - 1)
        made[index], made[index + 1] = made[index + 1], made[index]
    elif kind == "changed" and made:
        arguments = rng.choice(made)["arguments"]
        key = rng.choice(list(arguments))
        arguments[key] = changed(rng, arguments[key])


def shuffled(rng: random.Random, arguments: dict[str, Any]) -> dict[str, Any]:
    items = list(arguments.items())
    rng.shuffle(items)
    return dict(items)


def perturbed(rng: random.Random, expected: list[Call], schemas: Schemas) -> tuple[list[Call], str]:
    """The calls that were made instead, and what was done to them."""
    made = copy.deepcopy(expected)
    place = rng.random()
    kind = next(kind for up_to, kind in CHANGES if place < up_to)
    kinds = [kind]
    if kind == "multi":
        kinds = rng.sample(["extra_keys", "extra_calls", "missing", "swapped", "changed"], 2)
    for one in kinds:
        change(rng, one, made, schemas)
    if rng.random() < 0.3:  # the order of keys has no meaning
        for one_call in made:
            one_call["arguments"] = shuffled(rng, one_call["arguments"])
    return made, kind


def generate(count: int, seed: int) -> Iterator[tuple[Record, str]]:
    """Records with `id`, `actual` and `expected`, each with what was done to it."""
    rng = random.Random(seed)
    schemas = make_schemas(random.Random(1))
    for index in range(count):
        length = min(20, 1 + int(rng.expovariate(1 / 5.3)))
        expected = [call(rng, schemas) for _ in range(length)]
        made, kind = perturbed(rng, expected, schemas)
        yield {"id": index, "actual": made, "expected": expected}, kind


def records(count: int, seed: int = 7) -> list[Record]:
    return [record for record, _ in generate(count, seed)]


def line(record: Record) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"


def write_table(pairs: Iterable[Record], path: Path, **options: Any) -> None:
    """The same as a Parquet file, with the calls as JSON text. No text comes twice, so there is no dictionary."""
    rows = [(pair["id"], json.dumps(pair["actual"]), json.dumps(pair["expected"])) for pair in pairs]
    columns = dict(zip(("id", "tool_calls", "expected_tool_calls"), zip(*rows, strict=True), strict=True))
    pyarrow.parquet.write_table(pyarrow.table(columns), path, use_dictionary=False, **options)


def main(path: str, count: int, seed: int) -> None:
    lengths, kinds, pairs = [], Counter(), []
    for record, kind in generate(count, seed):
        lengths.append(len(record["expected"]))
        kinds[kind] += 1
        pairs.append(record)
    if path.endswith(".parquet"):
        write_table(pairs, Path(path))
    else:
        with Path(path).open("w", encoding="utf-8") as out:
            out.writelines(map(line, pairs))
    print(path, "n", count, f"mean len {sum(lengths) / count:.2f}", "max", max(lengths), dict(kinds))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
