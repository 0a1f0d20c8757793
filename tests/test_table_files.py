"""Tables in files, here and behind URLs, and files of scores: the same rows, whatever they come in and go out to."""

import contextlib
import csv
import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from datetime import datetime, timezone
from typing import ClassVar

import fsspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from answers import CASES, text
from callmatch import InvalidInput, InvalidType, _core, arrow_files, parts, score_files, table_files
from callmatch.cli import main
from callmatch.metrics import ToolCallTrajectory

PAIRS = [
    *((text(case["actual"]), text(case["expected"])) for case in CASES),
    (None, "[]"),
    ("[]", None),
    ("[", "[]"),
    ("[]", "[{}]"),
]
SCORES = list(_core.SCORE_COLUMNS)


def table_of(count, first=0):
    """Rows with an id, some columns to keep, and calls; every pair comes again and again."""
    numbers = range(first, first + count)
    pairs = [PAIRS[number % len(PAIRS)] for number in numbers]
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "model": pa.array([f"model {number % 3}" for number in numbers], pa.string()).dictionary_encode(),
            "unused": pa.array([float(number) for number in numbers]),
            "tool_calls": pa.array([made for made, _ in pairs], pa.string()),
            "expected_tool_calls": pa.array([expected for _, expected in pairs], pa.string()),
        }
    )


def write(table, path):
    """Write a table by its ending, with nothing of this package."""
    name = str(path)
    if name.endswith(".parquet"):
        pq.write_table(table, name)
    elif name.endswith(".arrow"):
        with pa.ipc.new_file(name, table.schema) as file:
            file.write_table(table.unify_dictionaries(), max_chunksize=100)
    elif name.endswith(".arrows"):
        with pa.ipc.new_stream(name, table.schema) as file:
            file.write_table(table, max_chunksize=100)
    else:
        with open(name, "w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(table.column_names)
            rows.writerows(zip(*table.to_pydict().values(), strict=True))
        if name.endswith((".gz", ".zst")):
            with open(name, "rb") as file:
                content = file.read()
            pack = gzip.compress if name.endswith(".gz") else lambda data: pa.compress(data, "zstd", asbytes=True)
            with open(name, "wb") as file:
                file.write(pack(content))
    return path


def evaluate(files, **options):
    return ToolCallTrajectory().evaluate_table(files, **options)


def in_memory(table, **options):
    """The scores of a table without files."""
    return pa.table(ToolCallTrajectory().evaluate_table(table, **options))


def readable(table):
    """The rows of a table whose calls can be read."""
    return table.filter(pc.not_equal(in_memory(table)["verdict"], "error"))


def without(table, *names):
    return table.drop_columns([name for name in names if name in table.column_names])


def same(got, right):
    """The same scores. Errors of files name the file first."""
    told = ("error", "reason")
    others = without(right, *told, "model")
    assert without(got, *told, "model").cast(others.schema).equals(others)
    for name in told:
        texts = (got[name].to_pylist(), right[name].to_pylist(), right["error"].to_pylist())
        for ours, theirs, error in zip(*texts, strict=True):
            assert ours == theirs or (error and ours.endswith(f": {theirs}"))


# What is read


@pytest.mark.parametrize(
    "name", ["a.parquet", "a.arrow", "a.arrows", "a.csv", "a.csv.gz", "a.csv.zst", "parquet", "a.ipc.feather"]
)
def test_the_scores_are_those_of_the_table_in_memory(tmp_path, name):
    table = table_of(1000)
    path = tmp_path / name
    if name in ("parquet", "a.ipc.feather"):  # what a file is, its first bytes say
        write(table, tmp_path / "a.parquet").rename(path)
    else:
        write(table, path)
    scores = evaluate(path, keep=["id", "model"])
    assert scores.columns == ("id", "model", *SCORES)
    got = pa.table(scores)
    right = in_memory(table, keep=["id", "model"])
    if "csv" in name:
        right = right.set_column(0, "id", right["id"].cast(pa.string()))
    same(got, right)
    assert got["model"].to_pylist() == right["model"].to_pylist()
    assert pa.table(scores).equals(got)  # once more


@pytest.mark.parametrize("count", [0, 1, 2, 255, 256, 257, 3000])
@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".csv"])
def test_as_many_rows_come_out_as_go_in(tmp_path, monkeypatch, count, ending):
    for at_once in (1, 500, 1 << 24):
        monkeypatch.setattr(table_files, "BATCH", at_once)
        if count * 2000 > at_once * 3000:
            continue
        write(table_of(count), tmp_path / f"a{ending}")
        write(table_of(7, count), tmp_path / f"b{ending}")
        write(table_of(0), tmp_path / f"c{ending}")
        write(table_of(1, count + 7), tmp_path / f"d{ending}")
        scores = evaluate([tmp_path / f"{name}{ending}" for name in "abcd"], keep=["id"])
        scores.write(tmp_path / "scores.parquet")
        ids = pq.read_table(tmp_path / "scores.parquet")["id"].to_pylist()
        assert [int(id) for id in ids] == list(range(count + 8))


def test_calls_come_in_lists_of_structs_too(tmp_path):
    calls = [[{"name": "search", "arguments": {"limit": 5}}], [], None]
    made = pa.array(
        calls, pa.list_(pa.struct([("name", pa.string()), ("arguments", pa.struct([("limit", pa.int64())]))]))
    )
    table = pa.table({"made": made, "wanted": ['[{"name": "search", "arguments": {"limit": 5.0}}]'] * 3})
    write(table, tmp_path / "a.parquet")
    write(table, tmp_path / "b.arrow")
    # In another file they may be of another type.
    texts = pa.array([None if made is None else json.dumps(made) for made in calls])
    write(table.set_column(0, "made", texts), tmp_path / "c.parquet")
    for files in (["a.parquet"], ["b.arrow"], ["a.parquet", "c.parquet"]):
        scores = evaluate(
            [tmp_path / file for file in files], tool_calls="made", expected_tool_calls="wanted", columns=["verdict"]
        )
        assert pa.table(scores)["verdict"].to_pylist() == ["passed", "failed", "inconclusive"] * len(files)


def test_only_the_columns_that_are_needed_are_read(tmp_path):
    """The others may be damaged."""
    table = table_of(5000).append_column("noise", pa.array([os.urandom(20).hex() for _ in range(5000)]))
    pq.write_table(table, tmp_path / "a.parquet", use_dictionary=False, write_page_checksum=True, compression="none")
    metadata = pq.read_metadata(tmp_path / "a.parquet").row_group(0)
    noise = metadata.column(metadata.num_columns - 1)
    content = bytearray((tmp_path / "a.parquet").read_bytes())
    content[noise.data_page_offset : noise.data_page_offset + 5000] = b"\xff" * 5000
    (tmp_path / "a.parquet").write_bytes(content)
    same(pa.table(evaluate(tmp_path / "a.parquet", keep=["id"])), in_memory(table, keep=["id"]))
    with pytest.raises(InvalidInput, match="row group 0"):
        evaluate(tmp_path / "a.parquet", keep=["noise"]).write(tmp_path / "b.parquet")


def test_a_csv_file_has_nulls_texts_with_line_breaks_and_rows_that_cannot_be_read(tmp_path):
    (tmp_path / "a.csv").write_bytes(
        b'\xef\xbb\xbfid,tool_calls,expected_tool_calls\n1,,[]\n2,"[\n]",\n3,"",[]\n4,"[""\xff""]",[]\n5,[],[]\n'
    )
    got = pa.table(evaluate(tmp_path / "a.csv", keep=["id"]))
    assert got["id"].to_pylist() == ["1", "2", "3", "4", "5"]
    verdicts = ["inconclusive", "not_applicable", "error", "error", "passed"]
    assert got["verdict"].to_pylist() == verdicts
    assert got["error"][2].as_py().startswith(f"{tmp_path / 'a.csv'}: tool_calls[2]: ")


def test_patterns(tmp_path):
    for name in ("b", "a", "c"):
        write(table_of(3, ord(name)), tmp_path / f"{name}.parquet")
    got = pa.table(evaluate(str(tmp_path / "*.parquet"), keep=["id"]))
    assert got["id"].to_pylist() == [97, 98, 99, 98, 99, 100, 99, 100, 101]
    (tmp_path / "[a].parquet").write_bytes((tmp_path / "b.parquet").read_bytes())
    assert pa.table(evaluate(tmp_path / "[a].parquet", keep=["id"]))["id"].to_pylist() == [98, 99, 100]
    with pytest.raises(FileNotFoundError):
        evaluate(str(tmp_path / "*.arrow"))


# Behind URLs


@pytest.fixture
def memory():
    """A store of its own that is gone with the process."""
    files = fsspec.filesystem("memory")
    yield files
    files.store.clear()
    files.pseudo_dirs[:] = [""]


def put(path, url):
    with open(path, "rb") as file, fsspec.open(url, "wb") as there:
        there.write(file.read())
    return url


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".arrows", ".csv", ".csv.gz"])
def test_files_behind_urls(tmp_path, memory, ending):
    path = write(table_of(900), tmp_path / f"a{ending}")
    url = put(path, f"memory://runs/a{ending}")
    same(pa.table(evaluate(url, keep=["id"])), in_memory_of(path))
    put(write(table_of(5, 900), tmp_path / f"b{ending}"), f"memory://runs/b{ending}")
    got = pa.table(evaluate(f"memory://runs/*{ending}", keep=["id"]))
    assert got.num_rows == 905
    errors = got.filter(pc.equal(got["verdict"], "error"))["error"].to_pylist()
    assert errors
    assert all(error.startswith(("memory://runs/", "memory:///runs/")) for error in errors)
    same(pa.table(evaluate(path.as_uri(), keep=["id"])), in_memory_of(path))


def in_memory_of(path):
    table = table_of(900)
    right = in_memory(table, keep=["id"])
    return right.set_column(0, "id", right["id"].cast(pa.string())) if "csv" in path.name else right


@pytest.mark.parametrize("ending", score_files.ENDINGS)
def test_scores_are_written_behind_urls(tmp_path, memory, ending):
    path = write(table_of(900), tmp_path / "a.parquet")
    scores = evaluate(path, keep=["id", "model"])
    scores.write(tmp_path / f"scores{ending}")
    for url in (f"memory://out/scores{ending}", (tmp_path / f"file{ending}").as_uri()):
        with fsspec.open(url, "wb") as file:
            file.write(b"from an earlier run")
        scores.write(url)
        with fsspec.open(url, "rb") as file:
            assert file.read() == (tmp_path / f"scores{ending}").read_bytes()
    assert [name.rsplit("/", 1)[-1] for name in memory.find("/out")] == [f"scores{ending}"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["a.parquet", f"file{ending}", f"scores{ending}"])


def test_a_url_that_leads_nowhere(memory):
    with pytest.raises(FileNotFoundError):
        evaluate("memory://nothing.parquet")
    with pytest.raises(FileNotFoundError):
        evaluate("memory://nothing/*.parquet")
    with pytest.raises(InvalidInput, match=r"nosuch://a\.parquet: .*nosuch"):
        evaluate("nosuch://a.parquet")


# What is written


def scores_of(path):
    """What is in a file of scores, as rows; None for what a CSV file has no value for."""
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    if path.suffix == ".arrow":
        with pa.ipc.open_file(path) as file:
            return file.read_all().to_pylist()
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    with path.open(newline="", encoding="utf-8") as file:
        return [{key: value or None for key, value in row.items()} for row in csv.DictReader(file)]


@pytest.mark.parametrize("ending", score_files.ENDINGS)
@pytest.mark.parametrize("source", ["file", "table"])
def test_all_formats_hold_the_same_rows(tmp_path, ending, source):
    when = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
    table = table_of(600)
    kept = {
        "when": pa.array([when] * 600),
        "tags": pa.array([["a", "b"], None] * 300),
        "about": pa.array([{"x": 1, "y": None}] * 600),
        "view": pa.array(["=1", "b", None] * 200, pa.string_view()),
    }
    for name, column in kept.items():
        table = table.append_column(name, column)
    write(table, tmp_path / "a.arrow")
    scores = evaluate(tmp_path / "a.arrow" if source == "file" else table, keep=["id", "model", *kept])
    scores.write(tmp_path / f"scores{ending}")
    right = pa.table(scores).to_pylist()
    got = scores_of(tmp_path / f"scores{ending}")
    assert len(got) == 600
    if ending in (".parquet", ".arrow"):
        assert got == right
        return
    for ours, theirs in zip(got, right, strict=True):
        assert list(ours) == list(theirs)
        for name in ("verdict", "reason", "model"):
            assert ours[name] == theirs[name]
        assert ours["f1"] == theirs["f1"] or float(ours["f1"]) == theirs["f1"]
        assert ours["when"] == "2026-01-02T03:04:05Z"
        if ending == ".jsonl":
            assert (ours["id"], ours["tags"], ours["about"], ours["view"]) == (
                theirs["id"],
                theirs["tags"],
                {"x": 1},
                theirs["view"],
            )
        else:
            assert ours["view"] in ("'=1", "b", None)  # no formula
            assert ours["tags"] in ('["a", "b"]', None)


@pytest.mark.parametrize("ending", score_files.ENDINGS)
def test_the_same_scores_are_the_same_bytes(tmp_path, monkeypatch, ending):
    """Whatever the batches, the row groups and formats that they come from, and the number of threads."""
    monkeypatch.setattr(score_files, "ROWS", 1000)
    # Errors name files and rows.
    table = pa.concat_tables([readable(table_of(len(PAIRS)))] * 60).combine_chunks().slice(0, 5500)
    table = table.set_column(0, "id", pa.array(range(5500)))
    long = pa.array(["x" * (number % 977) for number in range(5500)])
    table = table.append_column("long", long)
    keep = ["id", "model", "long"]
    written = set()

    def add(files, **options):
        scores = evaluate(files, keep=keep, **options)
        scores.write(tmp_path / f"scores{ending}")
        written.add((tmp_path / f"scores{ending}").read_bytes())

    for rows in (30, 333, 1000, 10_000):
        pq.write_table(table, tmp_path / "a.parquet", row_group_size=rows)
        add(tmp_path / "a.parquet")
    for at_once in (1 << 10, 1 << 16, 1 << 20):
        monkeypatch.setattr(table_files, "BATCH", at_once)
        add(tmp_path / "a.parquet", threads=1)
    add(tmp_path / "a.parquet", threads=5)
    monkeypatch.setattr(arrow_files, "PIECE", 100_000)
    add(tmp_path / "a.parquet")
    with pa.ipc.new_file(tmp_path / "a.arrow", table.schema) as file:
        file.write_table(table.unify_dictionaries(), max_chunksize=77)
    add(tmp_path / "a.arrow")
    add(table)
    pq.write_table(table.slice(0, 1234), tmp_path / "a.parquet")
    pq.write_table(table.slice(1234), tmp_path / "b.parquet")
    add([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    assert len(written) == 1
    if ending == ".parquet":
        groups = pq.read_metadata(tmp_path / "scores.parquet")
        assert [groups.row_group(place).num_rows for place in range(groups.num_row_groups)] == [1000] * 5 + [500]


def test_row_groups_of_long_texts_are_shorter_and_still_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(score_files, "TEXT", 1 << 20)
    rows = 6000
    texts = pa.array(["x" * 1000] * rows)
    table = table_of(rows).append_column("plain", texts)
    table = table.append_column("list", pa.array([["y" * 300, None]] * rows))
    table = table.append_column("map", pa.array([[("k", "z" * 100)]] * rows, pa.map_(pa.string(), pa.string())))
    written = set()
    for group in (100, 6000):
        pq.write_table(table, tmp_path / "a.parquet", row_group_size=group)
        evaluate(tmp_path / "a.parquet", keep=["plain", "list", "map"]).write(tmp_path / "scores.parquet")
        written.add((tmp_path / "scores.parquet").read_bytes())
    assert len(written) == 1
    metadata = pq.read_metadata(tmp_path / "scores.parquet")
    counts = [metadata.row_group(place).num_rows for place in range(metadata.num_row_groups)]
    # 1,401 bytes a row: above 1 MiB with the 749th.
    assert counts == [749] * 8 + [rows - 8 * 749]


def test_nothing_in_a_file_of_scores_tells_of_when_or_where(tmp_path):
    table = table_of(100).replace_schema_metadata({"written": "today"})
    write(table, tmp_path / "a.parquet")
    evaluate(tmp_path / "a.parquet", keep=["id"]).write(tmp_path / "scores.parquet")
    metadata = pq.read_metadata(tmp_path / "scores.parquet").metadata
    assert set(metadata) == {b"ARROW:schema"}
    assert pq.read_schema(tmp_path / "scores.parquet").metadata is None


@pytest.mark.skipif(sys.platform == "win32", reason="about links and modes")
def test_a_file_that_is_replaced_keeps_its_mode_and_links_lead_on(tmp_path):
    write(table_of(10), tmp_path / "a.parquet")
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "b.parquet").touch(0o640)
    (tmp_path / "real" / "b.parquet").chmod(0o640)
    (tmp_path / "b.parquet").symlink_to(tmp_path / "real" / "b.parquet")
    evaluate(tmp_path / "a.parquet").write(tmp_path / "b.parquet")
    assert (tmp_path / "b.parquet").is_symlink()
    assert (tmp_path / "real" / "b.parquet").stat().st_mode & 0o777 == 0o640
    assert pq.read_table(tmp_path / "b.parquet").num_rows == 10
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.parquet", "b.parquet", "b.parquet", "real"]


# What can't be


def bad_parquet(path, rows=9000, group=1000, damaged=5):
    """A file of which one row group is damaged."""
    pq.write_table(table_of(rows), path, row_group_size=group, use_dictionary=False, compression="snappy")
    metadata = pq.read_metadata(path).row_group(damaged)
    column = next(
        metadata.column(place)
        for place in range(metadata.num_columns)
        if metadata.column(place).path_in_schema == "tool_calls"
    )
    content = bytearray(path.read_bytes())
    start = column.data_page_offset
    content[start : start + column.total_compressed_size] = os.urandom(column.total_compressed_size)
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("make", "facts"),
    [
        (lambda path: path.write_bytes(b""), ["it is empty"]),
        (lambda path: path.write_bytes(b"PAR1"), ["it can't be read"]),
        (lambda path: path.write_bytes(b"PAR1" + os.urandom(1000) + b"PAR1"), ["it can't be read"]),
        (lambda path: path.write_bytes(b"ARROW1\0\0" + os.urandom(100)), ["it can't be read"]),
        (lambda path: path.write_bytes(b"no table"), ["this is no table", "Parquet", "Arrow IPC", "CSV"]),
        (lambda path: write(table_of(9).drop_columns("tool_calls"), path), ['"tool_calls"', "expected_tool_calls"]),
        (
            lambda path: write(table_of(9).set_column(3, "tool_calls", pa.array(range(9))), path),
            ["tool_calls", "Int64", "JSON text"],
        ),
        (
            lambda path: pq.write_table(
                pa.table([["[]"]] * 3, ["tool_calls", "expected_tool_calls", "tool_calls"]), path
            ),
            ["two columns 'tool_calls'"],
        ),
    ],
)
@pytest.mark.parametrize("place", ["first", "second"])
def test_a_file_that_cannot_be_says_so(tmp_path, make, facts, place):
    bad, good = tmp_path / "bad.parquet", write(table_of(30), tmp_path / "good.parquet")
    make(bad)
    with pytest.raises((InvalidInput, InvalidType)) as raised:
        evaluate([bad, good] if place == "first" else [good, bad]).write(tmp_path / "scores.parquet")
    for fact in [str(bad), *facts]:
        assert fact in str(raised.value)
    assert not (tmp_path / "scores.parquet").exists()


def test_columns_that_are_kept_hold_the_same_in_all_files(tmp_path):
    a = write(pa.table({"tool_calls": ["[]"], "expected_tool_calls": ["[]"], "x": ["1"]}), tmp_path / "a.parquet")
    kinds = {
        "large": pa.array(["2"], pa.large_string()),
        "dictionary": pa.array(["2"]).dictionary_encode(),
        "bytes": pa.array([b"2"]),
        "view": pa.array(["2"], pa.string_view()),
    }
    for name, column in kinds.items():
        path = write(
            pa.table({"x": column, "tool_calls": ["[]"], "expected_tool_calls": ["[]"]}), tmp_path / f"{name}.arrow"
        )
        assert pa.table(evaluate([a, path], keep=["x"]))["x"].to_pylist() == ["1", "2"]
    nulls = pa.table({"tool_calls": ["[]"], "expected_tool_calls": ["[]"], "x": pa.nulls(1)})
    assert pa.table(evaluate([a, write(nulls, tmp_path / "n.parquet")], keep=["x"]))["x"].to_pylist() == ["1", None]
    numbers = pa.table({"tool_calls": ["[]"], "expected_tool_calls": ["[]"], "x": [1]})
    path = write(numbers, tmp_path / "numbers.parquet")
    with pytest.raises(InvalidInput, match=r"numbers.parquet: the column 'x' holds int64, and string in .*a\.parquet"):
        evaluate([a, path], keep=["x"]).write(tmp_path / "scores.parquet")


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"tool_calls": "tool_cals"}, InvalidInput, 'did you mean "tool_calls"'),
        ({"keep": ["modl"]}, InvalidInput, 'did you mean "model"'),
        ({"keep": ["id", "id"]}, InvalidInput, "two columns 'id'"),
        ({"columns": ["verdit"]}, InvalidInput, 'did you mean "verdict"'),
        ({"tool_calls": "unused"}, InvalidType, "JSON text"),
    ],
)
def test_bad_options_are_told_before_anything_is_read(tmp_path, options, error, said):
    path = write(table_of(30), tmp_path / "a.parquet")
    with pytest.raises(error, match=said) as raised:
        evaluate(path, **options)
    assert str(path) in str(raised.value) or "two columns" in said


@pytest.mark.parametrize("name", ["scores.xlsx", "scores", "memory://scores.txt"])
def test_another_ending_of_what_is_written(tmp_path, name):
    scores = evaluate(write(table_of(30), tmp_path / "a.parquet"))
    with pytest.raises(InvalidInput, match=r"\.parquet, \.arrow, \.jsonl, \.csv"):
        scores.write(tmp_path / name if ":" not in name else name)
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


def test_no_files(tmp_path):
    with pytest.raises(InvalidInput, match="no files"):
        evaluate([])
    with pytest.raises(FileNotFoundError):
        evaluate(tmp_path / "absent.parquet")


def test_no_thread_is_left(tmp_path):
    path = write(table_of(3000), tmp_path / "a.parquet")
    before = threading.active_count()
    rows = pa.RecordBatchReader.from_stream(evaluate(path))
    rows.read_next_batch()
    rows.close()
    del rows
    bad_parquet(tmp_path / "bad.parquet")
    with pytest.raises(InvalidInput, match="row group 5, of the rows 5,000 to 5,999"):
        evaluate(tmp_path / "bad.parquet").write(tmp_path / "scores.parquet")
    assert threading.active_count() == before


# The command


COMMAND = """
import sys
from callmatch import arrow_files, parts, table_files
arrow_files.PIECE = parts.PIECE = 200_000
table_files.BATCH = 50_000
from callmatch.cli import main
main()
"""
"""The command with parts so small that a short run has some."""


def start(*arguments, cwd):
    pipes = dict.fromkeys(["stdout", "stderr"], subprocess.PIPE)
    command = [sys.executable, "-c", COMMAND, "score", *map(str, arguments)]
    return subprocess.Popen(command, cwd=cwd, stdin=subprocess.DEVNULL, **pipes)


def run(*arguments, cwd, code=0):
    """The same in this process, which takes less time."""
    out, err = io.StringIO(), io.StringIO()
    before, signals = os.getcwd(), [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    handlers = [signal.getsignal(number) for number in signals]
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.setattr(arrow_files, "PIECE", 200_000)
        patch.setattr(parts, "PIECE", 200_000)
        patch.setattr(table_files, "BATCH", 50_000)
        os.chdir(cwd)
        try:
            with pytest.raises(SystemExit) as ended:
                main(["score", *map(str, arguments)])
        finally:
            os.chdir(before)
            for number, handler in zip(signals, handlers, strict=True):
                signal.signal(number, handler)
    assert (ended.value.code or 0) == code, (out.getvalue(), err.getvalue())
    return out.getvalue(), err.getvalue()


def score(*arguments, cwd):
    return json.loads(run(*arguments, "--json", cwd=cwd)[0])


def names_in(path):
    return sorted(path.name for path in path.iterdir())


def test_the_command_scores_tables(tmp_path):
    write(table_of(700), tmp_path / "a.parquet")
    write(table_of(20, 700), tmp_path / "b.parquet")
    shown = score("*.parquet", "-o", "scores.parquet", "--keep", "model, unused", cwd=tmp_path)
    got = pq.read_table(tmp_path / "scores.parquet")
    assert got.column_names == ["id", "file", "row", "model", "unused", *SCORES]
    assert got["id"].to_pylist() == list(range(720))
    assert got["file"].to_pylist() == ["a.parquet"] * 700 + ["b.parquet"] * 20
    assert got["row"].to_pylist() == [*range(700), *range(20)]
    right = in_memory(table_of(720))
    assert got["verdict"].to_pylist() == right["verdict"].to_pylist()
    assert got["f1"].to_pylist() == right["f1"].to_pylist()
    counts = dict(zip(*right["verdict"].value_counts().flatten(), strict=True))
    for verdict in _core.VERDICTS:
        assert shown["summary"][verdict] == counts.get(pa.scalar(verdict), pa.scalar(0)).as_py()
    wanted = [row for row in got.to_pylist() if row["verdict"] not in ("passed", "not_applicable")]
    assert [(row["id"], row["reason"]) for row in shown["rows"]] == [(row["id"], row["reason"]) for row in wanted[:20]]
    assert names_in(tmp_path) == ["a.parquet", "b.parquet", "scores.parquet"]
    errors = [row for row in got.to_pylist() if row["error"]]
    assert errors
    assert all(f"{row['file']}: " in row["error"] and f"[{row['row']}]" in row["error"] for row in errors)
    assert all(row["reason"] == row["error"] for row in errors)


def test_rows_without_an_id_are_numbered_through_all_files(tmp_path):
    for name in "ab":
        write(table_of(40).drop_columns("id"), tmp_path / f"{name}.csv")
    run("a.csv", "b.csv", "-o", "scores.jsonl", cwd=tmp_path)
    rows = scores_of(tmp_path / "scores.jsonl")
    assert [row["id"] for row in rows] == list(range(80))
    assert [row["row"] for row in rows] == [*range(40)] * 2
    _, err = run("a.csv", "--id", "id", cwd=tmp_path, code=2)
    assert 'not "id"' in err


@pytest.mark.parametrize("source", ["runs.jsonl", "runs.parquet"])
@pytest.mark.parametrize("ending", score_files.ENDINGS)
def test_records_and_tables_go_to_all_formats(tmp_path, source, ending):
    table = readable(table_of(300)).select(["id", "tool_calls", "expected_tool_calls"])
    if source == "runs.jsonl":
        rows = [{key: value for key, value in row.items() if value is not None} for row in table.to_pylist()]
        (tmp_path / source).write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        write(table, tmp_path / source)
    run(source, "-o", f"scores{ending}", cwd=tmp_path)
    got, right = scores_of(tmp_path / f"scores{ending}"), in_memory(table, keep=["id"]).to_pylist()
    assert len(got) == len(right)
    for ours, theirs in zip(got, right, strict=True):
        assert str(ours["id"]) == str(theirs["id"])
        assert ours["file"] == source
        for name in ("verdict", "reason", "difference_kind"):
            assert ours[name] == theirs[name]
        for name in ("score", "made", "f1"):
            assert ours[name] == theirs[name] or float(ours[name]) == theirs[name]
    assert names_in(tmp_path) == sorted([source, f"scores{ending}"])


def test_the_bar(tmp_path):
    write(table_of(300), tmp_path / "a.parquet")
    rate = score("a.parquet", cwd=tmp_path)["summary"]["pass_rate"]
    run("a.parquet", "--fail-under", rate, "-o", "scores.arrow", cwd=tmp_path)
    _, err = run("a.parquet", "--fail-under", rate + 0.001, "-o", "scores.arrow", cwd=tmp_path, code=1)
    assert "below" in err
    assert names_in(tmp_path) == ["a.parquet", "scores.arrow"]


@pytest.mark.parametrize(
    ("arguments", "facts"),
    [
        (["a.parquet", "--actual", "tool_cals"], ["a.parquet", "tool_calls", "did you mean"]),
        (["a.parquet", "--keep", "modle"], ["a.parquet", "model", "did you mean"]),
        (["a.parquet", "--keep", "id"], ["two columns 'id'"]),
        (["a.parquet", "--resume"], ["--output"]),
        (["a.parquet", "runs.jsonl"], ["a.parquet is a table", "runs.jsonl", "apart"]),
        (["runs.jsonl", "--keep", "model"], ["--keep", "tables"]),
        (["runs.jsonl", "--resume", "-o", "scores.csv"], ["--resume", "tables"]),
        (["a.parquet", "-o", "a.parquet"], ["overwrite"]),
        (["a.parquet", "-o", "scores.xlsx"], [".parquet", ".arrow", ".jsonl", ".csv"]),
        (["a.parquet", "-o", "memory://scores.xlsx"], [".parquet", ".arrow", ".jsonl", ".csv"]),
        (["memory://runs/*.parquet"], ["no file matches"]),
        (["nosuch://a.parquet"], ["nosuch"]),
        (["empty.parquet"], ["empty.parquet: it is empty"]),
        (["bad.parquet"], ["none of the 5 records could be read", "bad.parquet: tool_calls[0]"]),
    ],
)
def test_bad_usage_says_what_would_be_right_and_leaves_nothing(tmp_path, arguments, facts):
    write(table_of(30), tmp_path / "a.parquet")
    write(pa.table({"tool_calls": ["["] * 5, "expected_tool_calls": ["[]"] * 5}), tmp_path / "bad.parquet")
    (tmp_path / "runs.jsonl").write_text('{"tool_calls": [], "expected_tool_calls": []}\n')
    (tmp_path / "empty.parquet").touch()
    before = names_in(tmp_path)
    more = ["-o", "scores.parquet"] if "-o" not in arguments and "--resume" not in arguments else []
    _, err = run(*arguments, *more, cwd=tmp_path, code=2)
    for fact in facts:
        assert fact in err
    assert names_in(tmp_path) == before


def test_a_folder_of_tables_is_none_of_them(tmp_path):
    (tmp_path / "runs").mkdir()
    write(table_of(3), tmp_path / "runs" / "a.parquet")
    _, err = run("runs", cwd=tmp_path, code=2)
    assert os.path.join("runs", "*.parquet") in err


@pytest.mark.parametrize(
    ("missing", "source", "output"),
    [
        ("pyarrow", "a.parquet", "scores.csv"),
        ("pyarrow", "runs.jsonl", "scores.parquet"),
        ("fsspec", "memory://a.parquet", "scores.csv"),
        ("fsspec", "runs.jsonl", "memory://scores.csv"),
    ],
)
def test_what_is_not_installed_is_told(tmp_path, missing, source, output):
    write(table_of(3), tmp_path / "a.parquet")
    (tmp_path / "runs.jsonl").write_text('{"tool_calls": [], "expected_tool_calls": []}\n')
    code = f"import sys; sys.modules[{missing!r}] = None; from callmatch.cli import main; main()"
    command = [sys.executable, "-c", code, "score", source, "-o", output]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert done.returncode == 2
    assert f"needs {missing}: pip install 'callmatch[parquet]'" in done.stderr.decode()
    assert b"Traceback" not in done.stderr
    assert names_in(tmp_path) == ["a.parquet", "runs.jsonl"]


def test_a_terminal_sees_how_fast_it_goes_and_a_pipe_nothing(tmp_path):
    pty = pytest.importorskip("pty")
    write(table_of(30_000), tmp_path / "a.parquet")
    _, err = run("a.parquet", cwd=tmp_path)
    assert err == ""
    ours, theirs = pty.openpty()
    environment = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "CI")} | {"TERM": "xterm"}
    command = [sys.executable, "-c", COMMAND, "score", "a.parquet"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=theirs, stdout=subprocess.DEVNULL, env=environment) as process:
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # the other side was closed
            while read := os.read(ours, 65536):
                shown += read
    os.close(ours)
    assert process.returncode == 0
    assert re.search(rb"scoring.*[1-9][0-9,]* rows, [1-9][0-9,]*/s", shown, re.DOTALL)


# Resuming


ROWS = 20_000
FILES = "[-0-9].parquet"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Some files, and the scores of a run that was not interrupted, in all formats."""
    folder = tmp_path_factory.mktemp("runs")
    for place, (first, end) in enumerate([(0, 7000), (7000, 7001), (7001, 7001), (7001, 15_000), (15_000, ROWS)]):
        pq.write_table(table_of(end - first, first), folder / f"{place}.parquet", row_group_size=1500)
    (folder / "right").mkdir()
    for ending in score_files.ENDINGS:
        run(FILES, "-o", f"right/scores{ending}", "--keep", "model", cwd=folder)
    return folder


def with_runs(runs, path):
    """The same files in another folder, with their times."""
    for file in runs.glob(FILES):
        os.link(file, path / file.name)
    return path


def until(there, process):
    """Wait for something; a run that ends before shows nothing."""
    for _ in range(6000):
        if there():
            return True
        if process.poll() is not None:
            return False
        time.sleep(0.005)
    raise AssertionError("it never came")


@pytest.mark.skipif(sys.platform == "win32", reason="about signals of POSIX")
@pytest.mark.parametrize(
    ("number", "ending"),
    [("SIGKILL", ".parquet"), ("SIGINT", ".parquet"), ("SIGTERM", ".arrow"), ("SIGKILL", ".jsonl")],
)
def test_a_run_that_was_ended_is_gone_on_with(runs, tmp_path, number, ending):
    """However often: what comes out in the end is what comes out of a run that was not."""
    with_runs(runs, tmp_path)
    folder = tmp_path / f"scores{ending}.parts"
    command = [FILES, "-o", f"scores{ending}", "--keep", "model"]
    ended = 0
    for parts_ in (1, 4, 9):
        with start(*command, "--resume", cwd=tmp_path) as process:
            if until(lambda count=parts_: len(list(folder.glob("*.json"))) > count, process):
                process.send_signal(getattr(signal, number))
            _, err = process.communicate(timeout=60)
        ended += process.returncode != 0
        assert b"Traceback" not in err
        if number == "SIGINT" and process.returncode != 0:
            assert b"rows are scored; the same command with --resume goes on" in err
            assert process.returncode == 130
    assert ended >= 2
    scored = sorted(path.stat().st_mtime_ns for path in folder.glob("*.arrows"))
    assert not (tmp_path / f"scores{ending}").exists()
    shown = score(*command, "--resume", "--threads", 1, cwd=tmp_path)
    assert len(scored) > 4
    assert (tmp_path / f"scores{ending}").read_bytes() == (runs / "right" / f"scores{ending}").read_bytes()
    assert shown == score(*command, cwd=tmp_path)
    assert names_in(tmp_path) == [*(f"{place}.parquet" for place in range(5)), f"scores{ending}"]


def interrupted(runs, path, output="scores.parquet", parts_=9):
    """A folder with what a run left that was killed."""
    with_runs(runs, path)
    folder = path / f"{output}.parts"
    with start(FILES, "-o", output, "--keep", "model", cwd=path) as process:
        assert until(lambda: len(list(folder.glob("0*.json"))) > parts_, process)
        process.kill()
        process.communicate(timeout=60)
    assert not (path / output).exists()
    return folder


def test_what_was_scored_is_not_scored_again(runs, tmp_path):
    folder = interrupted(runs, tmp_path)
    # No run would score so. Files that are scored are not opened either.
    part = folder / "00000.arrows"
    with pa.ipc.open_stream(part.read_bytes()) as stream:  # and not of the file, which is mapped and written again
        table = stream.read_all()
    place = table.column_names.index("verdict")
    marked = table.set_column(place, "verdict", pa.array(["marked"] * table.num_rows))
    with pa.ipc.new_stream(part, table.schema) as stream:
        stream.write_table(marked)
    run(FILES, "-o", "scores.parquet", "--keep", "model", "--resume", cwd=tmp_path)
    verdicts = pq.read_table(tmp_path / "scores.parquet")["verdict"].to_pylist()
    assert len(verdicts) == ROWS
    assert verdicts[: table.num_rows] == ["marked"] * table.num_rows
    assert "marked" not in verdicts[table.num_rows :]


CHANGES = {
    "the mode": (lambda path: None, ["--match", "exact"], ["match was in_order and is exact"]),
    "what is kept": (lambda path: None, ["--keep", "unused"], ["kept was id, model and is id, model, unused"]),
    "a file that was scored": (
        lambda path: (path / "0.parquet").unlink() or write(table_of(9), path / "0.parquet"),
        [],
        ["0.parquet has changed", "its size was"],
    ),
    "another file comes first": (
        lambda path: write(table_of(9), path / "-.parquet"),
        [],
        ["file 1 was 0.parquet and is -.parquet"],
    ),
    "a part is cut": (
        lambda path: (path / "scores.parquet.parts" / "00001.arrows").write_bytes(b"x"),
        [],
        ["00001.arrows", "is damaged"],
    ),
    "the version": (
        lambda path: (path / "scores.parquet.parts" / "manifest.json").write_text('{"callmatch": "0.0.0"}'),
        [],
        ["callmatch was 0.0.0 and is"],
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_has_changed_since_is_refused(runs, tmp_path, what):
    change, more, facts = CHANGES[what]
    folder = interrupted(runs, tmp_path)
    change(tmp_path)
    before = names_in(folder)
    command = [FILES, "-o", "scores.parquet", "--keep", "model"]
    _, err = run(*command, "--resume", *more, cwd=tmp_path, code=2)
    for fact in [*facts, "scores.parquet: it can't be resumed", "scores.parquet.parts"]:
        assert fact in err
    assert [name for name in names_in(folder) if name != "whole"] == [name for name in before if name != "whole"]
    # It starts anew without the option, and says so.
    _, err = run(*command, *more, cwd=tmp_path)
    assert "is discarded; --resume would have gone on with it" in err
    assert not folder.exists()


def test_files_that_were_not_reached_may_change(runs, tmp_path):
    interrupted(runs, tmp_path, parts_=3)
    (tmp_path / "4.parquet").unlink()
    write(table_of(5, 15_000), tmp_path / "4.parquet")
    write(table_of(5, 15_005), tmp_path / "5.parquet")
    run(FILES, "-o", "scores.parquet", "--keep", "model", "--resume", cwd=tmp_path)
    assert pq.read_table(tmp_path / "scores.parquet")["id"].to_pylist() == list(range(15_010))


def test_a_damaged_file_is_mended_and_the_run_gone_on_with(runs, tmp_path):
    with_runs(runs, tmp_path)
    whole = (tmp_path / "3.parquet").read_bytes()
    (tmp_path / "3.parquet").unlink()
    bad_parquet(tmp_path / "3.parquet", rows=7999, group=1500, damaged=4)
    command = [FILES, "-o", "scores.parquet", "--keep", "model"]
    for more in ([], ["--resume"]):
        _, err = run(*command, *more, cwd=tmp_path, code=2)
        assert "3.parquet: row group 4, of the rows 6,000 to 7,499" in err
        assert "13,001 rows are scored; the same command with --resume goes on" in err
    # Parts of what it held before are not taken for parts of what it holds now.
    (tmp_path / "3.parquet").write_bytes(whole)
    folder = tmp_path / "scores.parquet.parts"
    before = len(list(folder.glob("0*.json")))
    with start(*command, "--resume", cwd=tmp_path) as process:
        until(lambda: len(list(folder.glob("0*.json"))) < before, process)
        process.kill()
        process.communicate(timeout=60)
    run(*command, "--resume", cwd=tmp_path)
    assert (tmp_path / "scores.parquet").read_bytes() == (runs / "right" / "scores.parquet").read_bytes()


def test_a_run_that_left_nothing_can_be_resumed_too(runs, tmp_path):
    with_runs(runs, tmp_path)
    for _ in range(2):
        run(FILES, "-o", "scores.parquet", "--keep", "model", "--resume", cwd=tmp_path)
        assert (tmp_path / "scores.parquet").read_bytes() == (runs / "right" / "scores.parquet").read_bytes()


@pytest.mark.skipif(sys.platform == "win32", reason="about locks of POSIX")
def test_two_runs_do_not_write_the_same_file(runs, tmp_path):
    scores = evaluate(runs / "0.parquet")
    with score_files.running(scores, str(tmp_path / "scores.parquet")):
        _, err = run(runs / "0.parquet", "-o", "scores.parquet", "--resume", cwd=tmp_path, code=2)
        assert "another run is writing it" in err


def test_a_folder_of_somebody_else_is_left_alone(runs, tmp_path):
    parts = tmp_path / "scores.parquet.parts"
    parts.mkdir()
    (parts / "thesis.txt").write_text("years of work")
    for options in ([], ["--resume"]):
        _, err = run(runs / "0.parquet", "-o", "scores.parquet", *options, cwd=tmp_path, code=2)
        assert "scores.parquet.parts" in err
        assert "thesis.txt" in err
    assert [file.name for file in parts.iterdir()] == ["thesis.txt"]
    # A leaving of a run is no such thing.
    (parts / "thesis.txt").rename(parts / "00000.json.partial")
    run(runs / "0.parquet", "-o", "scores.parquet", cwd=tmp_path)
    assert not parts.exists()


class Flat(MemoryFileSystem):
    """Like an object store: there are no folders, and what is written can be seen when it is closed."""

    protocol = "flat"
    store: ClassVar[dict] = {}
    pseudo_dirs: ClassVar[list] = [""]

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(path.replace("flat://", "memory://"))

    def makedirs(self, path, exist_ok=False):
        pass

    def ls(self, path, detail=True, **kwargs):
        found = super().ls(path, detail=detail, **kwargs)
        if not found:
            raise FileNotFoundError(path)
        return found


@pytest.mark.parametrize("kind", ["memory", "flat"])
def test_python_resumes_too_and_behind_urls(tmp_path, memory, monkeypatch, kind):
    if kind == "flat":
        fsspec.register_implementation("flat", Flat, clobber=True)
        memory = fsspec.filesystem("flat")
        memory.store.clear()
    monkeypatch.setattr(arrow_files, "PIECE", 20_000)
    monkeypatch.setattr(parts, "PIECE", 20_000)
    monkeypatch.setattr(table_files, "BATCH", 10_000)
    put(write(table_of(2000), tmp_path / "a.parquet"), f"{kind}://runs/a.parquet")
    scores = evaluate(f"{kind}://runs/a.parquet", keep=["id"])
    scores.write(f"{kind}://right/scores.parquet")
    real = score_files.Run._write

    def breaks(self, batch):
        if self.kept > 500:
            raise OSError("the disk is full")
        real(self, batch)

    monkeypatch.setattr(score_files.Run, "_write", breaks)
    with pytest.raises(OSError, match="the disk is full"):
        scores.write(f"{kind}://out/scores.parquet")
    left = [name.rsplit("/", 1)[-1] for name in memory.find("/out/scores.parquet.parts")]
    assert {"manifest.json", "00000.json", "00000.arrows"} <= set(left)
    monkeypatch.setattr(score_files.Run, "_write", real)
    evaluate(f"{kind}://runs/a.parquet", keep=["id"]).write(f"{kind}://out/scores.parquet", resume=True)
    assert memory.cat_file("/out/scores.parquet") == memory.cat_file("/right/scores.parquet")
    assert memory.find("/out") == ["/out/scores.parquet"]
    with pytest.raises(InvalidInput, match="only the scores of files"):
        evaluate(table_of(3)).write(tmp_path / "scores.parquet", resume=True)


# Memory


PEAK = """
import sys
from callmatch.metrics import ToolCallTrajectory
ToolCallTrajectory().evaluate_table(sys.argv[1], keep=sys.argv[3:]).write(sys.argv[2])
# What getrusage says includes the process that started this one.
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def peak(*arguments):
    command = [sys.executable, "-c", PEAK, *map(str, arguments)]
    return int(subprocess.run(command, check=True, capture_output=True, timeout=120).stdout) / 1024


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux")
@pytest.mark.parametrize("kind", ["plain", "dictionary", "kept"])
def test_memory_is_bounded_by_no_size_of_row_groups_and_texts(tmp_path, kind):
    """A row group with 2 GB of texts, or of numbers that stand for such texts; or with 500 MB that are kept."""
    texts = pa.array([f'[{{"name": "a", "arguments": {{"x": "{str(number) * 1_000_000}"}}}}]' for number in range(4)])
    rows = 2000 if kind != "kept" else 500
    if kind == "dictionary":
        numbers = pa.array([number % 4 for number in range(rows)], pa.int32())
        made = pa.chunked_array([pa.DictionaryArray.from_arrays(numbers, texts)])
        options = {"use_dictionary": True, "dictionary_pagesize_limit": 10 << 20}
    else:
        made, options = pa.chunked_array([texts] * (rows // 4)), {"use_dictionary": False}
    table = pa.table({"tool_calls": made, "expected_tool_calls": ["[]"] * rows})
    pq.write_table(
        table, tmp_path / "a.parquet", row_group_size=rows, compression="zstd", store_schema=False, **options
    )
    del table, made, texts
    assert pq.read_metadata(tmp_path / "a.parquet").num_row_groups == 1
    assert peak(tmp_path / "a.parquet", tmp_path / "b.parquet", *["tool_calls"] * (kind == "kept")) < 500
    assert pq.read_metadata(tmp_path / "b.parquet").num_rows == rows


def test_records_behind_urls(tmp_path, memory):
    rows = readable(table_of(50)).select(["id", "tool_calls", "expected_tool_calls"]).to_pylist()
    content = "".join(json.dumps(row) + "\n" for row in rows) + "{\n"
    for name, data in (("a.jsonl", content.encode()), ("b.jsonl.gz", gzip.compress(content.encode()))):
        memory.pipe(f"/runs/{name}", data)
        (tmp_path / name).write_bytes(data)
    urls = ["memory://runs/a.jsonl", "memory://runs/b.jsonl.gz", (tmp_path / "a.jsonl").as_uri()]
    chunks = list(ToolCallTrajectory().evaluate_file(urls))
    assert [id for scores in chunks for id in scores.id] == [*(row["id"] for row in rows), 51] * 3
    assert [scores.file[0] for scores in chunks] == urls
    assert [scores.error[-1].startswith(f"{url}:51: ") for scores, url in zip(chunks, urls, strict=True)] == [True] * 3
    with pytest.raises(FileNotFoundError):
        ToolCallTrajectory().evaluate_file("memory://runs/absent.jsonl")
    shown = score((tmp_path / "a.jsonl").as_uri(), "-o", (tmp_path / "scores.csv").as_uri(), cwd=tmp_path)
    assert shown["summary"]["rows"] == 51
    assert len(scores_of(tmp_path / "scores.csv")) == 51


def test_the_command_takes_urls_in_and_out(tmp_path, memory):
    put(write(table_of(300), tmp_path / "a.parquet"), "memory://runs/a.parquet")
    memory.pipe("/runs/a.jsonl", b'{"id": 1, "tool_calls": [], "expected_tool_calls": []}\n')
    right = evaluate(tmp_path / "a.parquet").summary().to_dict()
    for _ in range(2):  # the second time there is something to replace
        for source, output in [
            ("memory://runs/*.parquet", "memory://out/scores.parquet"),
            ("memory://runs/*.parquet", "scores.jsonl"),
            ("memory://runs/a.jsonl", "memory://out/scores.csv"),
            ("memory://runs/a.jsonl", "scores.arrow"),
        ]:
            summary = score(source, "-o", output, cwd=tmp_path)["summary"]
            assert summary["rows"] == (300 if "parquet" in source else 1)
            assert "parquet" not in source or summary == json.loads(json.dumps(right))
    assert pq.read_table(io.BytesIO(memory.cat_file("/out/scores.parquet"))).num_rows == 300
    assert sorted(memory.find("/out")) == ["/out/scores.csv", "/out/scores.parquet"]
    _, err = run("memory://runs/*.parquet", "-o", "memory:///runs/a.parquet", cwd=tmp_path, code=2)
    assert "overwrite" in err


def test_groups_of_tables(tmp_path):
    for name, first in (("a", 0), ("b", 400)):
        write(table_of(400, first), tmp_path / f"{name}.parquet")
    shown = score("*.parquet", "--group-by", "model", cwd=tmp_path)
    right = ToolCallTrajectory().evaluate_table(table_of(800)).summaries(["model"])
    assert shown["groups"] == json.loads(json.dumps(right.to_dicts()))
    assert evaluate(str(tmp_path / "*.parquet")).summaries(["model"]) == right
    scores = evaluate(str(tmp_path / "*.parquet"))
    assert scores.summary() == right.total
    scores.write(tmp_path / "scores.csv")
    assert scores.summary() == right.total
    _, err = run("*.parquet", "--group-by", "modle", cwd=tmp_path, code=2)
    assert "did you mean" in err


# What would be lost, and what would never end


def test_an_input_is_not_written_over(tmp_path, memory):
    path = tmp_path / "runs.parquet"
    write(table_of(3), path)
    (tmp_path / "link.parquet").symlink_to(path)
    whole = path.read_bytes()
    fsspec.filesystem("memory").pipe("/runs.parquet", whole)
    for source, output in (
        (str(path), str(path)),
        (path.as_uri(), str(path)),
        (str(path), str(tmp_path / "link.parquet")),
        ("memory://runs.parquet", "memory:///runs.parquet"),
    ):
        with pytest.raises(InvalidInput, match=r"it would overwrite the input"):
            ToolCallTrajectory().evaluate_table(source).write(output)
        _, err = run(source, "-o", output, cwd=tmp_path, code=2)
        assert "would overwrite the input" in err
    assert path.read_bytes() == fsspec.filesystem("memory").cat("/runs.parquet") == whole
    assert sorted(os.listdir(tmp_path)) == ["link.parquet", "runs.parquet"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without named pipes")
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_named_pipe_is_refused_and_not_waited_for(tmp_path, ending):
    os.mkfifo(tmp_path / f"runs.{ending}")
    with pytest.raises(InvalidInput, match="this is no file"):
        ToolCallTrajectory().evaluate_table(tmp_path / f"runs.{ending}")


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_dictionaries_that_are_kept_come_out_a_few_rows_at_a_time(tmp_path, monkeypatch, ending):
    """A number in a file may stand for a long text, and a batch of numbers for more of them than memory has."""
    monkeypatch.setattr(arrow_files, "BATCH", 1 << 20)
    count, texts = 1000, {0: "x" * 30_000, 1: "y", None: None}
    chosen = [(0, 1, None)[place % 3] for place in range(count)]
    kept = pa.DictionaryArray.from_arrays(pa.array(chosen, pa.int32()), pa.array([texts[0], texts[1]]))
    path = tmp_path / f"runs.{ending}"
    table = pa.table({"tool_calls": ["[]"] * count, "expected_tool_calls": ["[]"] * count, "kept": kept})
    if ending == "parquet":
        pq.write_table(table, path)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    scores = pa.RecordBatchReader.from_stream(ToolCallTrajectory().evaluate_table(path, keep=["kept"]))
    batches = list(scores)
    assert [text for batch in batches for text in batch.column("kept").to_pylist()] == [texts[at] for at in chosen]
    assert max(batch.nbytes for batch in batches) < 2 << 20


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".jsonl", ".csv"])
def test_runs_that_are_kept_come_out_as_what_they_stand_for(tmp_path, ending):
    kept = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3, 5], pa.int32()), pa.array(["a", None, "b"]))
    table = pa.table({"tool_calls": ["[]"] * 5, "expected_tool_calls": ["[]"] * 5, "kept": kept})
    with pa.OSFile(str(tmp_path / "runs.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        for start in range(0, 5, 2):
            writer.write_table(table.slice(start, 2))
    for source in (table, tmp_path / "runs.arrow"):
        path = tmp_path / f"scores{ending}"
        ToolCallTrajectory().evaluate_table(source, keep=["kept"], columns=["score"]).write(path)
        if ending == ".parquet":
            found = pq.read_table(path)["kept"].to_pylist()
        elif ending == ".arrow":
            found = pa.ipc.open_file(path).read_all()["kept"].to_pylist()
        elif ending == ".jsonl":
            found = [json.loads(line)["kept"] for line in path.read_text().splitlines()]
        else:
            found = [row["kept"] or None for row in csv.DictReader(io.StringIO(path.read_text()))]
        assert found == ["a", "a", None, "b", "b"]
