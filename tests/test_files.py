"""Scoring files: formats, compression, where the calls lie in a record, and what can be wrong with a file."""

import gzip
import json
import os
import random
import subprocess
import sys

import pytest

from answers import text
from callmatch import CallmatchError, InvalidInput
from callmatch.metrics import ToolCallTrajectory


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


A, B = call("a", x=1), call("b", y=2)


def record(actual=(A,), expected=(A,), **more):
    return more | {"tool_calls": actual, "expected_tool_calls": expected}


GOOD, WRONG = record(), record([B])
RECORDS = [GOOD, WRONG, record([A, B]), GOOD]
VERDICTS = ["passed", "failed", "passed", "passed"]


def lines(records):
    return "".join(text(item) + "\n" for item in records).encode()


def zstd(data):
    """A Zstandard frame of uncompressed blocks (RFC 8878), one segment, with its size."""
    blocks = [data[i : i + 100_000] for i in range(0, len(data), 100_000)] or [b""]
    header = (0xFD2FB528).to_bytes(4, "little") + b"\xe0" + len(data).to_bytes(8, "little")
    body = b"".join(
        (len(block) << 3 | (i == len(blocks) - 1)).to_bytes(3, "little") + block for i, block in enumerate(blocks)
    )
    return header + body


def chunks(path, **options):
    return list(ToolCallTrajectory().evaluate_file(path, **options))


def column(name, path, **options):
    return [value for scores in chunks(path, **options) for value in getattr(scores, name)]


def verdicts(path, **options):
    return column("verdict", path, **options)


@pytest.fixture
def write(tmp_path):
    def write(content, name="runs.jsonl"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else lines(content))
        return path

    return write


# Formats


PRETTY = json.dumps(RECORDS, indent=2).encode()
FORMATS = {
    "lines": ("runs.jsonl", lines(RECORDS)),
    "lines, no newline at the end": ("runs.jsonl", lines(RECORDS).rstrip(b"\n")),
    "lines, CRLF": ("runs.jsonl", lines(RECORDS).replace(b"\n", b"\r\n")),
    "lines, BOM": ("runs.jsonl", b"\xef\xbb\xbf" + lines(RECORDS)),
    "lines, blank ones between": ("runs.jsonl", b"\n  \n\t\r\n" + lines(RECORDS).replace(b"\n", b"\n\n \n")),
    "lines, spaces around": ("runs.jsonl", lines(RECORDS).replace(b"\n", b"  \n  ")),
    "lines, another ending": ("runs.txt", lines(RECORDS)),
    "lines called json": ("runs.json", lines(RECORDS)),
    "array": ("runs.json", text(RECORDS).encode()),
    "array, pretty": ("runs.json", PRETTY),
    "array, BOM and space": ("runs.json", b"\xef\xbb\xbf\n \r\n" + PRETTY + b"\n\n"),
    "array called jsonl": ("runs.jsonl", PRETTY),
    "lines, gzip": ("runs.jsonl.gz", gzip.compress(lines(RECORDS))),
    "lines, gzip of two members": (
        "runs.jsonl.gz",
        gzip.compress(lines(RECORDS)[:100]) + gzip.compress(lines(RECORDS)[100:]),
    ),
    "array, gzip": ("runs.json.gz", gzip.compress(PRETTY)),
    "lines, zstd": ("runs.jsonl.zst", zstd(lines(RECORDS))),
    "lines, zstd of two frames": ("runs.jsonl.zst", zstd(lines(RECORDS)[:100]) + zstd(lines(RECORDS)[100:])),
    "array, zstd": ("runs.json.zst", zstd(PRETTY)),
}


@pytest.mark.parametrize(("name", "content"), FORMATS.values(), ids=FORMATS)
def test_every_format_is_read(write, name, content):
    path = write(content, name)
    assert verdicts(path) == VERDICTS
    assert verdicts(str(path)) == VERDICTS
    assert verdicts([path]) == VERDICTS


def test_several_files_are_read_in_the_order_given(write):
    first, second, third = write([WRONG], "b.jsonl"), write(PRETTY, "a.json"), write([GOOD], "c/d.jsonl")
    assert verdicts([first, second, third]) == ["failed", *VERDICTS, "passed"]
    files = column("file", [first, second, third])
    assert [name.endswith(end) for name, end in zip(files, ["b.jsonl", *["a.json"] * 4, "d.jsonl"], strict=True)] == [
        True
    ] * 6


def test_standard_input_is_read(tmp_path):
    program = (
        "from callmatch.metrics import ToolCallTrajectory\n"
        "for scores in ToolCallTrajectory().evaluate_file('-'): print(scores.verdict, scores.line)"
    )
    for content in (lines(RECORDS), PRETTY):
        done = subprocess.run([sys.executable, "-c", program], input=content, capture_output=True, check=True)
        assert done.stdout.decode().count("passed") == 3
        assert "[1, 2, 3, 4]" in done.stdout.decode()


def test_the_rows_of_many_lines_keep_their_order_whatever_the_threads(write):
    records = [record([call("a", x=i % 7)], [call("a", x=i % 5)], id=f"run-{i}") for i in range(20_000)]
    path = write(records)
    for threads in (None, 1, 2, 5):
        found = chunks(path, threads=threads)
        assert [v for scores in found for v in scores.verdict] == [
            "passed" if i % 7 == i % 5 else "failed" for i in range(20_000)
        ]
        assert [v for scores in found for v in scores.id] == [f"run-{i}" for i in range(20_000)]
        assert [v for scores in found for v in scores.line] == list(range(1, 20_001))


def test_a_chunk_is_a_batch(write):
    (scores,) = chunks(write(RECORDS))
    assert len(scores) == 4
    assert scores[1].verdict == "failed"
    assert scores[1].details["difference"]["kind"] == "missing"
    assert next(iter(scores.to_dict())) == "id"
    assert scores.summary().passed == 3


def test_a_huge_line_between_small_ones_is_read(write):
    huge = [call("a", x="y" * 8_000_000)]
    path = write([GOOD, record(huge, huge), record(huge, [call("a", x="y" * 7_999_999 + "z")]), WRONG])
    assert verdicts(path) == ["passed", "passed", "failed", "failed"]


def test_reading_is_lazy(write):
    """The rows before a bad place are given out: a file is not read as a whole first."""
    path = write(lines([GOOD] * 200_000))
    first = next(iter(ToolCallTrajectory().evaluate_file(path)))
    assert 0 < len(first) < 200_000


def test_rows_behind_a_record_that_takes_long_are_given_out_in_parts(write):
    """Other threads go on meanwhile, but only so far, and what they did is not given out all at once."""
    rng = random.Random(1)
    keys = [f"k{i}" for i in range(24)]
    made = [call("a", **{key: rng.randrange(2) for key in keys}) for _ in range(3000)]
    wanted = [call("a", **{key: rng.randrange(2) for key in rng.sample(keys, 3)}) for _ in range(3000)]
    filler = record([], [], note="x" * 4000)
    path = write(lines([record(made, wanted)]) + lines([filler]) * 8000)
    metric = ToolCallTrajectory(match="any_order")
    sizes, read = zip(*((len(s), s.bytes_read) for s in metric.evaluate_file(path, threads=2)), strict=True)
    assert sum(sizes) == 8001
    assert max(sizes) < 2000
    assert read[0] < 24 << 20 < path.stat().st_size


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_fork_cannot_read_on_and_is_told_so(write):
    """It has none of the threads that read, and would wait for them for ever."""
    program = """if True:
        import os, signal, sys
        from callmatch.metrics import ToolCallTrajectory
        chunks = ToolCallTrajectory().evaluate_file(sys.argv[1])
        rows = len(next(chunks))
        child = os.fork()
        if child == 0:
            signal.alarm(20)  # ends a child that waits
            try:
                next(chunks)
            except RuntimeError as error:
                os._exit(7 if "fork" in str(error) else 8)
            finally:
                os._exit(9)
        status = os.waitpid(child, 0)[1]
        print(os.WIFEXITED(status) and os.WEXITSTATUS(status), rows + sum(map(len, chunks)))"""
    path = write(lines([GOOD]) * 100_000)
    command = [sys.executable, "-W", "ignore", "-c", program, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["7", "100000"]


def test_unicode_file_names(write):
    assert verdicts(write(RECORDS, "läufe — 運行.jsonl")) == VERDICTS


# Where the calls are


def test_dotted_paths_and_pointers_lead_to_the_calls(write):
    path = write([{"run": {"info": {"task": [{"skip": 1}, {"calls": [A]}]}}, "want": {"a.b": [A], "c": [A]}}])
    for actual in ("run.info.task.1.calls", "/run/info/task/1/calls"):
        for expected in ("want.c", "/want/c", "/want/a.b"):
            assert verdicts(path, actual=actual, expected=expected) == ["passed"]


def test_pointers_are_unescaped(write):
    path = write([{"a/b": {"~": [A]}, "": {"": [A]}}])
    assert verdicts(path, actual="/a~1b/~0", expected="//") == ["passed"]


def test_the_empty_pointer_is_the_record_itself(write):
    message = {"role": "assistant", "tool_calls": [{"function": {"name": "a", "arguments": '{"x": 1}'}}]}
    path = write(text([[message, {"role": "user", "want": [A]}], [message, {"role": "user", "want": [B]}]]).encode())
    for expected in ("1.want", "/1/want"):
        assert verdicts(path, actual="", expected=expected) == ["passed", "failed"]


def test_calls_in_a_record_may_be_text_or_messages(write):
    message = {"role": "assistant", "tool_calls": [{"function": {"name": "a", "arguments": '{"x": 1}'}}]}
    path = write([record(text([A])), record([message]), record([A], text([A])), record(text([message]))])
    assert verdicts(path) == ["passed"] * 4


def test_null_and_absent_fields(write):
    path = write([GOOD, record(None), record([A], None), {"expected_tool_calls": [A]}, {"tool_calls": [A]}, {}])
    assert verdicts(path) == [
        "passed",
        "inconclusive",
        "not_applicable",
        "inconclusive",
        *["not_applicable"] * 2,
    ]


def test_a_field_below_a_value_that_holds_none_is_absent(write):
    path = write([{"a": {"b": [A]}, "e": [A]}, {"a": None, "e": [A]}, {"a": [1], "e": [A]}, {"a": "text", "e": [A]}])
    assert verdicts(path, actual="a.b", expected="e") == ["passed", *["inconclusive"] * 3]


@pytest.mark.parametrize("option", ["actual", "expected"])
@pytest.mark.parametrize("content", ["lines", "array"])
def test_a_field_that_no_record_has_is_an_error_with_the_keys_seen_and_the_nearest(write, option, content):
    records = [{"tool_calls": [A], "expected_tool_calls": [A], "note": 1}] * 3
    path = write(records if content == "lines" else text(records).encode())
    wrong, nearest = {
        "actual": ("tool_cals", "tool_calls"),
        "expected": ("expected_tools_calls", "expected_tool_calls"),
    }[option]
    with pytest.raises(InvalidInput) as caught:
        verdicts(path, **{option: wrong})
    for fact in (wrong, f"did you mean {nearest}", "note", "tool_calls", "expected_tool_calls"):
        assert fact in str(caught.value).replace("`", "").replace("'", "").replace('"', "")


def test_a_field_that_no_record_has_at_a_deeper_place(write):
    path = write([{"info": {"task": {"actions": [A]}}, "tool_calls": [A]}])
    with pytest.raises(InvalidInput, match="actions"):
        verdicts(path, expected="info.task.action")


def test_a_field_that_one_record_of_many_has_is_enough(write):
    records = [{"expected_tool_calls": [A]}] * 5000 + [GOOD]
    assert verdicts(write(records)) == ["inconclusive"] * 5000 + ["passed"]


@pytest.mark.parametrize("path", ["a..b", ".a", "a.", "/a/~2", "/a/~"])
def test_a_path_that_cannot_be_read_is_refused(write, path):
    with pytest.raises(CallmatchError):
        verdicts(write(RECORDS), actual=path)


# Ids


def test_ids_are_carried_through_or_else_the_line_number(write):
    path = write(
        b"\n" + lines([record(id="first"), record(id=7), record(), record(id=None), record(id=""), record(id=2**70)])
    )
    assert column("id", path) == ["first", 7, 4, 5, "", 2**70]
    assert column("line", path) == [2, 3, 4, 5, 6, 7]


def test_ids_may_lie_anywhere(write):
    path = write([record(meta={"run": ["x", 5]}), record(meta={"run": ["x", "six"]}), record()])
    for where in ("meta.run.1", "/meta/run/1"):
        assert column("id", path, id=where) == [5, "six", 3]


def test_an_id_that_was_asked_for_and_that_no_record_has_is_an_error(write):
    for where in ("uid", "/meta/uid", "meta.uid"):
        with pytest.raises(InvalidInput, match=where):
            verdicts(write([record(id="x"), record()]), id=where)
    assert column("id", write([record(), record(uid="x")]), id="uid") == [1, "x"]


def test_ids_of_an_array_are_record_numbers(write):
    assert column("id", write(json.dumps([GOOD, record(id="x"), WRONG], indent=1).encode(), "a.json")) == [
        1,
        "x",
        3,
    ]


# Bad lines


def test_a_malformed_line_in_the_middle_is_an_error_of_that_row(write):
    bad = [
        b"{oops",
        b"5",
        b'"text"',
        b"null",
        b"{} {}",
        b'{"a": 1}}',
        b"\xff\xfe",
        b'{"a": "\xff"}',
        b'{"a": tru}',
        b"[",
    ]
    for line in bad:
        path = write(lines([GOOD] * 16) + line + b"\n" + lines([WRONG, GOOD]))
        (scores,) = chunks(path)
        assert scores.verdict == ["passed"] * 16 + ["error", "failed", "passed"], line
        assert "runs.jsonl:17: " in scores.error[16]
        assert scores.error[16] == scores.reason[16] == scores[16].reason
        assert (scores.line[16], scores.id[16]) == (17, 17)
        assert scores.file[16].endswith("runs.jsonl")
        assert [e for i, e in enumerate(scores.error) if i != 16] == [None] * 18
        assert scores.summary().error == 1


def test_a_record_with_bad_calls_is_an_error_with_its_place(write):
    bad = [
        record(5),
        record([5]),
        record([{"name": 5}]),
        record([{}]),
        record([A], "oops"),
        record("oops"),
        record([A], {}),
    ]
    (scores,) = chunks(write([GOOD, *bad, GOOD]))
    assert scores.verdict == ["passed", *["error"] * len(bad), "passed"]
    for i in range(1, len(bad) + 1):
        assert f"runs.jsonl:{i + 1}: " in scores.error[i]
        assert "tool_calls" in scores.error[i]


def test_a_bad_record_of_an_array_is_an_error_of_that_row(write):
    (scores,) = chunks(write(json.dumps([GOOD, 5, record([{"name": 5}]), WRONG], indent=2).encode(), "a.json"))
    assert scores.verdict == ["passed", "error", "error", "failed"]
    assert [("a.json" in scores.error[i], f": record {i + 1}: " in scores.error[i]) for i in (1, 2)] == [
        (True, True)
    ] * 2


def test_a_first_line_of_a_lone_brace_is_an_error_of_that_row(write):
    """Pretty-printed objects begin so, too."""
    (scores,) = chunks(write(b"{\n" + lines(RECORDS)))
    assert scores.verdict == ["error", *VERDICTS]
    assert "runs.jsonl:1: " in scores.error[0]
    assert verdicts(write(b"\n".join(json.dumps(item, indent=2).encode() for item in RECORDS))) == VERDICTS


@pytest.mark.parametrize("name", ["runs.jsonl", "runs.json"])
def test_a_record_of_more_than_64_mib_is_an_error_of_that_row(write, name):
    huge = b'{"note": "' + b"x" * (65 << 20) + b'", ' + lines([GOOD])[1:]
    records = [lines([GOOD]), huge, lines([WRONG, GOOD][:1])]
    path = write(b"".join(records) if name == "runs.jsonl" else b"[" + b",".join(records) + b"]", name)
    (scores,) = chunks(path)
    assert scores.verdict == ["passed", "error", "failed"]
    assert "64 MiB" in scores.error[1]
    assert (f"{name}:2: " if name == "runs.jsonl" else f"{name}: record 2: ") in scores.error[1]


def test_a_last_line_that_was_cut_off_is_an_error_of_that_row(write):
    assert verdicts(write(lines(RECORDS) + lines([GOOD])[:30])) == [*VERDICTS, "error"]


def test_lines_deeper_than_the_bound_are_errors(write):
    deep = b'{"tool_calls": ' + b"[" * 100_000
    closed = b'{"tool_calls": ' + b"[" * 5000 + b"]" * 5000 + b', "expected_tool_calls": []}'
    assert verdicts(write(lines([GOOD]) + deep + b"\n" + closed + b"\n" + lines([GOOD]))) == [
        "passed",
        "error",
        "error",
        "passed",
    ]


def test_a_malformed_line_does_not_hide_a_field_that_no_record_has(write):
    with pytest.raises(InvalidInput):
        verdicts(write(b"{oops\n" + lines([{"other": 1}] * 2)))


# Bad files


@pytest.mark.parametrize(
    "content",
    [b"", b"\n\n  \n", b"\xef\xbb\xbf", b"[]", b" [ ] \n"],
    ids=["empty", "blank", "BOM", "array", "spaced array"],
)
def test_a_file_without_records_is_an_error_that_names_it(write, content):
    with pytest.raises(InvalidInput, match=r"nothing\.jsonl"):
        verdicts(write(content, "nothing.jsonl"))


def test_an_empty_file_among_others_is_no_error(write):
    empty, blank, good = write(b"", "empty.jsonl"), write(b" \n", "blank.json"), write(RECORDS)
    for paths in ([empty, good], [good, empty], [empty, blank, good, empty, good]):
        assert verdicts(paths) == VERDICTS * paths.count(good)
    with pytest.raises(InvalidInput) as caught:
        verdicts([empty, blank])
    assert "empty.jsonl" in str(caught.value)
    assert "blank.json" in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        bytes(range(256)) * 50,
        b"\x89PNG\r\n\x1a\n" + b"\x00" * 2000,
        b"PK\x03\x04" + bytes(range(256)) * 9,
        b"\x00" * 5000,
    ],
    ids=["all bytes", "png", "zip", "zeros"],
)
def test_a_binary_file_is_an_error_that_names_it(write, content):
    with pytest.raises(InvalidInput, match=r"picture\.jsonl"):
        verdicts(write(content, "picture.jsonl"))


def test_a_file_of_other_text_is_no_row_that_passes_or_fails(write):
    path = write(b"Dear diary,\ntoday no JSON was written.\n", "notes.txt")
    try:
        found = column("error", path)
    except InvalidInput as error:
        found = [str(error)]
    assert found
    assert all("notes.txt" in error for error in found)


@pytest.mark.parametrize(("name", "pack"), [("runs.jsonl.gz", gzip.compress), ("runs.jsonl.zst", zstd)])
@pytest.mark.parametrize("keep", [0.9, 0.5, 0.001])
def test_a_truncated_archive_is_an_error_that_names_it(write, name, pack, keep):
    packed = pack(lines([record(note=str(i * 7919)) for i in range(3000)]))
    with pytest.raises(InvalidInput, match=name.replace(".", r"\.")):
        verdicts(write(packed[: int(len(packed) * keep)], name))


@pytest.mark.parametrize(("name", "pack"), [("runs.jsonl.gz", gzip.compress), ("runs.jsonl.zst", zstd)])
def test_rows_before_the_damage_are_given_out_and_then_it_is_an_error(write, name, pack):
    packed = pack(lines([record([A if i % 3 else B], id=i, note=str(i * 7919)) for i in range(20_000)]))
    given = []
    with pytest.raises(InvalidInput, match=name.replace(".", r"\.") + ".*too early"):
        given.extend(ToolCallTrajectory().evaluate_file(write(packed[: len(packed) // 2], name)))
    ids = [id for scores in given for id in scores.id]
    assert 5_000 < len(ids) < 15_000
    assert ids == list(range(len(ids)))
    assert [v for scores in given for v in scores.verdict] == ["passed" if i % 3 else "failed" for i in ids]


@pytest.mark.parametrize("name", ["runs.jsonl.gz", "runs.jsonl.zst"])
def test_a_damaged_archive_is_an_error_that_names_it(write, name):
    with pytest.raises(InvalidInput, match=name.replace(".", r"\.")):
        verdicts(write((gzip.compress if name.endswith("gz") else zstd)(b"")[:8] + b"damaged beyond repair" * 9, name))


def test_a_gzip_with_a_wrong_checksum_is_an_error_that_names_it(write):
    packed = bytearray(gzip.compress(lines(RECORDS)))
    packed[-6] ^= 1
    with pytest.raises(InvalidInput, match=r"runs\.jsonl\.gz"):
        verdicts(write(bytes(packed), "runs.jsonl.gz"))


def test_an_archive_of_nothing_is_an_error_that_names_it(write):
    for name, pack in (("runs.jsonl.gz", gzip.compress), ("runs.jsonl.zst", zstd)):
        with pytest.raises(InvalidInput, match=name.replace(".", r"\.")):
            verdicts(write(pack(b""), name))


def verdicts_or_error(path):
    try:
        return verdicts(path)
    except InvalidInput as error:
        return str(error)


@pytest.mark.parametrize("cut", [2, 40, -20])
def test_an_array_that_was_cut_off_is_never_taken_for_a_whole_one(write, cut):
    found = verdicts_or_error(write(PRETTY[:cut], "runs.json"))
    assert "runs.json" in found or found[-1] == "error"


def test_one_array_may_follow_another(write):
    path = write(PRETTY + b"\n" + PRETTY + b"[]" + PRETTY, "runs.json")
    assert verdicts(path) == VERDICTS * 3
    assert column("line", path) == list(range(1, 13))


def test_text_after_an_array_is_not_ignored(write):
    found = verdicts_or_error(write(PRETTY + b" oops", "runs.json"))
    assert "runs.json" in found or found == [*VERDICTS, "error"]


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent\.jsonl"):
        verdicts(tmp_path / "absent.jsonl")


def test_a_missing_file_is_told_of_before_rows_are_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"missing\.jsonl"):
        ToolCallTrajectory().evaluate_file("missing.jsonl")


def test_a_missing_file_among_others(write, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent\.jsonl"):
        verdicts([write(RECORDS), tmp_path / "absent.jsonl"])


def test_a_directory(tmp_path):
    with pytest.raises(IsADirectoryError, match=tmp_path.name):
        verdicts(tmp_path)


@pytest.mark.parametrize("path", [None, 5, 1.5, [5], [None]])
def test_a_path_of_a_wrong_type_is_refused(path):
    with pytest.raises(TypeError):
        verdicts(path)


def test_no_paths_at_all_are_refused():
    with pytest.raises(CallmatchError):
        verdicts([])


@pytest.mark.parametrize("threads", [0, -1, 1.5, "two", True, 2**64])
def test_a_wrong_number_of_threads_is_refused(write, threads):
    with pytest.raises(CallmatchError, match="threads"):
        verdicts(write(RECORDS), threads=threads)


def test_a_misspelt_option_names_the_nearest(write):
    with pytest.raises(CallmatchError, match=r"did you mean .?expected"):
        verdicts(write(RECORDS), expectd="x")


def test_files_of_earlier_runs_are_left_alone(write, tmp_path):
    path = write(RECORDS)
    before = path.read_bytes()
    verdicts(path)
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["runs.jsonl"]


@pytest.mark.parametrize("files", [5, None, [], [5], b"runs.jsonl", [None]])
def test_files_that_are_no_paths_are_refused(files):
    with pytest.raises(CallmatchError, match="files"):
        ToolCallTrajectory().evaluate_file(files)
