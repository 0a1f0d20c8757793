"""Files of plain data: what is read, what is refused and where, and that what was saved is read again."""

import os
import stat
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmatch import CallmatchError, InvalidInput
from callmatch.documents import Lines, load, loads, place_told, save, writing

posix = pytest.mark.skipif(sys.platform == "win32", reason="about file modes of POSIX")


def refused(text, kind="yaml"):
    with pytest.raises(InvalidInput) as caught:
        loads(text, kind, f"file.{kind}")
    return str(caught.value)


# YAML


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("on: tool_call", {"on": "tool_call"}),
        ("on: yes\noff: no", {"on": "yes", "off": "no"}),
        ("since: 2024-01-01\nat: 2024-01-01T10:00:00Z", {"since": "2024-01-01", "at": "2024-01-01T10:00:00Z"}),
        ("2024-01-01: x", {"2024-01-01": "x"}),
        ("at: 12:30:45", {"at": "12:30:45"}),
        ("operator: =", {"operator": "="}),
        ("a: [1, 1.5, true, null, ~, 'x']", {"a": [1, 1.5, True, None, None, "x"]}),
        ("base: &b {x: 1, y: 2}\nmore: {y: 3, <<: *b}", {"base": {"x": 1, "y": 2}, "more": {"x": 1, "y": 3}}),
        ("a: &a {x: 1}\nb: &b {x: 2, z: 2}\nc: {<<: [*a, *b]}", None),
        ("a: |\n  two\n  lines\n", {"a": "two\nlines\n"}),
        ("# nothing but a comment", None),
        ('{"a": [1, {"b": "\\ud83d\\udc4d"}]}', None),
    ],
)
def test_yaml_is_what_json_can_hold(text, data):
    read = loads(text, "yaml")
    if data is not None:
        assert read == data


def test_of_several_merged_mappings_the_first_counts():
    assert loads("a: &a {x: 1}\nb: &b {x: 2, z: 2}\nc: {<<: [*a, *b]}", "yaml")["c"] == {"x": 1, "z": 2}


@pytest.mark.parametrize(
    ("text", "line", "fact"),
    [
        ("a: 1\nb: 2\na: 3", 3, "'a' is there twice"),
        ("tests:\n  - id: x\n    id: y", 3, "'id' is there twice"),
        ("a:\n  1: x", 2, "write '1' in quotes"),
        ("true: x", 1, "write 'true' in quotes"),
        ("[a]: x", 1, "a key is a text, not list"),
        ("a: 1\nb: [1, 2", 2, "not YAML"),
        ("a: 1\n\tb: 2", 2, "not YAML"),
        ("a: 1\noperator: >=", 2, "needs quotes"),
        ("a: 1\noperator: !=", 2, "needs quotes"),
        ("a: !!python/object/apply:os.system [ls]", 1, "no JSON value"),
        ("a: !!set {b}", 1, "no JSON value"),
        ("a: !!binary aGk=", 1, "no JSON value"),
        ("a: !!int x", 1, "no int"),
        ("a: " + "9" * 100_001, 1, "no int"),
        ("a: 1\n---\nb: 2", 2, "another document"),
        ("a: 1\nb: \x01", 2, "unacceptable character"),
        ("a: 1\nb: *nope", 2, "nope"),
        ("a: &x [*x]", 1, "part of"),
        ("a: &x {b: {c: *x}}", 1, "part of"),
        ("a: &x {<<: *x}", 1, "part of"),
        ("a: {<<: 3}", 1, "<<"),
        ("- " * 2000 + "x", 1, "nested too deeply"),
    ],
)
def test_what_yaml_can_not_be_is_told_with_its_line(text, line, fact):
    message = refused(text)
    assert message.startswith(f"file.yaml:{line}: ")
    assert fact in message


@pytest.mark.parametrize("kind", ["list", "merge"])
def test_aliases_that_stand_for_too_much_are_refused_soon(kind, monkeypatch):
    monkeypatch.setattr("callmatch.yaml.MOST_VALUES", 50_000)
    one, many = {"list": ("[x]", "[{}]"), "merge": ("{x: 1}", "{{<<: [{}]}}")}[kind]
    lines = [f"a0: &a0 {one}"]
    lines += [f"a{n}: &a{n} {many.format(', '.join([f'*a{n - 1}'] * 10))}" for n in range(1, 20)]
    start = time.monotonic()
    assert "values" in refused("\n".join(lines))
    assert time.monotonic() - start < 30


# JSON


@pytest.mark.parametrize(
    ("text", "place", "fact"),
    [
        ('{\n  "a": 1,\n  b\n}', "file.json:3: ", "column 3"),
        ('{"a": 1', "file.json:1: ", "column"),
        ("[" * 100_000, "file.json:1: ", "nested too deeply"),
        ("1" * 100_001, "file.json:1: ", "an integer of more than 100,000 digits"),
        ("", "file.json: ", "empty"),
        (" \n", "file.json: ", "empty"),
    ],
)
def test_what_json_can_not_be_is_told_with_its_line(text, place, fact):
    message = refused(text, "json")
    assert message.startswith(place)
    assert fact in message


def test_lines_of_json():
    assert loads('{"a": 1}\n\n  \n[2]\r\n"\u2028"', "jsonl") == [{"a": 1}, [2], "\u2028"]
    assert loads("", "jsonl") == []
    assert refused('{"a": 1}\n\n{"a": }', "jsonl").startswith("file.jsonl:3: ")


# Files


def test_the_ending_says_what_a_file_holds(tmp_path):
    for name in ("a.json", "a.yaml", "a.YML", "a.jsonl"):
        save(tmp_path / name, [{"ü": 1}])
        assert load(tmp_path / name) == [{"ü": 1}]
        assert "ü" in (tmp_path / name).read_text("utf-8")
    with pytest.raises(InvalidInput, match=r"\.yaml.*did you mean"):
        load(tmp_path / "a.yamll")
    with pytest.raises(InvalidInput):
        save(tmp_path / "a.toml", {})
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "absent.json")


def test_a_byte_order_mark_is_no_text_and_other_encodings_are_refused(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1")
    assert load(path) == {"a": 1}
    path.write_bytes("a: 1\nb: ü".encode("latin-1"))
    with pytest.raises(InvalidInput, match=r"a\.yaml:2: .*UTF-8"):
        load(path)


def test_texts_of_several_lines_are_saved_as_lines(tmp_path):
    save(tmp_path / "a.yaml", {"z": "one\ntwo\n", "a": "x" * 300, "again": ["x"], "empty": []})
    assert (tmp_path / "a.yaml").read_text() == f"z: |\n  one\n  two\na: {'x' * 300}\nagain:\n- x\nempty: []\n"


def test_what_is_there_twice_is_saved_twice(tmp_path):
    twice = {"a": 1}
    save(tmp_path / "a.yaml", [twice, twice])
    assert (tmp_path / "a.yaml").read_text() == "- a: 1\n- a: 1\n"


def test_saved_json_cannot_steer_a_terminal(tmp_path):
    evil = "\x1b[31m\u202e\x9b\ud800"
    save(tmp_path / "a.json", evil)
    assert (tmp_path / "a.json").read_text("utf-8").isascii()
    assert load(tmp_path / "a.json") == evil


ODD = ["on", "=", "<<", "2024-01-01", "~", "1_0", "0x1", ".nan", "a: b", "- x", "#c", " a", "a ", "\n", "a\n", " a\nb"]
ODD += [
    "a\n b",
    "a\r\nb",
    "a\tb\nc",
    "\x85",
    "\u2028\n",
    "\ufeff",
    "👍",
    "---",
    "...\n---",
    "'",
    '"',
    "!x",
    "%",
    "\x00",
]
texts = st.text(st.characters(), max_size=8) | st.sampled_from(ODD)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@given(values)
@pytest.mark.parametrize("ending", ["json", "jsonl", "yaml"])
def test_what_was_saved_is_read_again(tmp_path_factory, ending, value):
    path = tmp_path_factory.getbasetemp() / f"saved.{ending}"
    value = [value]
    save(path, value)
    assert load(path) == value


@pytest.mark.parametrize("ending", ["json", "jsonl", "yaml"])
@pytest.mark.parametrize("digits", [639, 640, 641, 4300, 4301, 5000, 99_999, 100_000])
def test_integers_are_saved_and_read_whole_whatever_the_limit_of_python(tmp_path, ending, digits):
    """Python has a limit for the whole process, of 4300 digits or what it was set to; at least 640."""
    value = [{"a": [sign * (10**digits - 1 - low), '"1"', f"{'1' * 50}"]} for sign in (1, -1) for low in (0, 123)]
    value += [{"smallest": 10 ** (digits - 1)}]
    save(tmp_path / f"a.{ending}", value)
    assert load(tmp_path / f"a.{ending}") == value
    assert f"{'9' * (digits - 3)}876" in (tmp_path / f"a.{ending}").read_text()


@pytest.mark.parametrize("ending", ["json", "jsonl", "yaml"])
@pytest.mark.parametrize(("sign", "power"), [(1, 100_000), (-1, 100_000), (1, 300_000)])
def test_an_integer_of_too_many_digits_is_refused_and_nothing_written(tmp_path, ending, sign, power):
    with pytest.raises(InvalidInput, match="100,000 digits"):
        save(tmp_path / f"a.{ending}", [{"a": sign * 10**power}])
    assert not list(tmp_path.iterdir())


@posix
def test_a_file_that_is_replaced_keeps_its_mode_and_one_that_breaks_off_its_content(tmp_path):
    path = tmp_path / "a.json"
    save(path, 1)
    path.chmod(0o600)
    save(path, 2)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(ZeroDivisionError), writing(path) as file:
        print("half", 1 / 0, file=file)
    assert load(path) == 2
    assert os.listdir(tmp_path) == ["a.json"]


# Lines of places

TEXTS = {
    "yaml": """name: x
tests:
  - id: a
  - id: b
    metrics:
      - type: t
        target:
          on: z
""",
    "json": """{"name": "x",
"tests": [
{"id": "a"},
{"id": "b",
"metrics": [
{"type": "t",
"target": {
"on": "z"}}]}]}
""",
}


@pytest.mark.parametrize("ending", ["yaml", "json"])
@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("name", 1),
        ("tests[0]", 3),
        ("tests[1].id", 4),
        ("tests[1].metrics[0].target.on", 8),
        ("tests[1].metrics[0].threshold", 6),
        ("", None),
    ],
)
def test_the_line_of_a_place(tmp_path, ending, place, line):
    path = tmp_path / f"a.{ending}"
    path.write_text(TEXTS[ending])
    assert Lines(path).of(place) == line


def test_the_lines_of_many_places_are_found_in_one_reading(tmp_path):
    count = 2000
    for ending, text in (
        ("json", '{"metrics": [\n' + ",\n".join(f'{{"n": {n}}}' for n in range(count)) + "\n]}"),
        ("yaml", "metrics:\n" + "".join(f"- n: {n}\n" for n in range(count))),
        ("jsonl", "\n" + "".join(f'{{"n": {n}}}\n' for n in range(count))),
    ):
        path = tmp_path / f"many.{ending}"
        path.write_text(text)
        lines = Lines(path)
        root = "" if ending == "jsonl" else "metrics"
        start = time.monotonic()
        assert [lines.of(f"{root}[{n}].n") for n in range(count)] == [n + 2 for n in range(count)]
        assert time.monotonic() - start < 10


def test_errors_about_data_tell_its_file_and_line(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n\n{"a": 2}\n')
    with pytest.raises(InvalidInput) as caught, place_told(path, root="tests"):
        raise InvalidInput("tests[1].a: wrong", "tests[1].a")
    assert str(caught.value) == f"{path}:3: tests[1].a: wrong"
    assert caught.value.path == "tests[1].a"
    with pytest.raises(CallmatchError, match=r"^.*a\.jsonl: wrong$"), place_told(path):
        raise InvalidInput("wrong")
