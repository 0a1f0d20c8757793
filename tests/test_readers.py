"""Stored traces in the library's own format: found by their ids, and nothing lost in silence."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from callmatch import InvalidInput, Trace, Traces


def stored(**fields):
    return json.dumps({"turns": [{"input": "hi", "output": "hello", "spans": []}], **fields})


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "b.jsonl").write_text(
        "\n".join(
            [
                stored(id="one", conversation_id="c", test_id="t1"),
                "",
                '{"id": "broken", ',
                stored(id="two", conversation_id="c"),
                stored(id="one"),
            ]
        )
    )
    (tmp_path / "a.json").write_text(json.dumps(json.loads(stored()), indent=2))
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "c.jsonl").write_text(stored(id="three", turn=1) + "\n" + stored(id="four", test_id="t2"))
    (tmp_path / "notes.txt").write_text("no trace")
    return tmp_path


def test_a_folder_holds_the_traces_of_its_files_in_the_order_of_their_names(folder):
    traces = Traces(folder)
    # One that has no id is found by the name of its file, if it is alone there.
    assert traces.ids() == ["a", "one", "two", "three", "four"]
    assert [trace.id for trace in traces] == [None, "one", "two", "one", "four"]
    # The other one can't be read, which is known now.
    assert len(traces) == 6
    assert isinstance(traces.pull("four"), Trace)


def test_what_can_not_be_read_is_told_with_its_place_and_the_reason(folder):
    traces = Traces(folder)
    broken, again = traces.diagnostics
    assert broken.startswith(f"{folder / 'b.jsonl'}:3: not JSON")
    assert again == f'{folder / "b.jsonl"}:5: the id "one" was there before, at {folder / "b.jsonl"}:1'
    # What is wrong inside a trace is known when it is read.
    with pytest.raises(InvalidInput, match="turn: a key of Trace is one of"):
        traces.pull("three")
    assert len(list(traces)) == 5
    assert traces.diagnostics[:2] == [broken, again]
    (key,) = traces.diagnostics[2:]
    assert key.startswith(f"{folder / 'inner' / 'c.jsonl'}:1: turn: a key of Trace is one of")
    assert 'did you mean "turns"?' in key


def test_a_file_that_is_changed_meanwhile_is_told_and_never_read_past_its_end(tmp_path):
    path = tmp_path / "changing.jsonl"
    path.write_text(stored(id="a") + "\n" + stored(id="b") + "\n")
    traces = Traces(path)
    assert traces.ids() == ["a", "b"]
    path.write_text("{}")
    with pytest.raises((InvalidInput, OSError), match=r"changing\.jsonl: the file has become shorter"):
        traces.pull("b")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [("oen", "did you mean 'one'?"), ("zzzzz", "there are 'a', 'four', 'one', 'three', 'two'")],
)
def test_an_id_that_is_not_there_names_the_nearest(folder, wrong, said):
    with pytest.raises(InvalidInput) as caught:
        Traces(folder).pull(wrong)
    assert said in str(caught.value)
    assert repr(wrong) in str(caught.value)
    # What could not be read may have been it.
    assert "b.jsonl:3" in str(caught.value)


def test_a_test_is_found_by_its_id_or_by_that_of_the_trace(folder):
    traces = Traces(folder)
    assert traces.for_test("t2").id == "four"
    assert traces.for_test("two").id == "two"
    with pytest.raises(InvalidInput, match="no trace with the test 'tvo'; did you mean 'two'"):
        traces.for_test("tvo")


def test_a_conversation_is_joined_out_of_its_traces(folder):
    joined = Traces(folder).conversation("c")
    assert (joined.id, joined.conversation_id, len(joined.turns)) == ("one", "c", 2)
    with pytest.raises(InvalidInput, match="no trace with the conversation 'd'"):
        Traces(folder).conversation("d")


def test_a_file_of_one_trace(folder):
    assert Trace.from_file(folder / "a.json").output == "hello"
    with pytest.raises(InvalidInput, match=r"expected one trace, found 3; .*not JSON"):
        Trace.from_file(folder / "b.jsonl")


def test_what_is_no_file_of_traces_is_refused_at_once(folder):
    with pytest.raises(InvalidInput, match=r"notes\.txt:1: not JSON"):
        Traces(folder / "notes.txt")
    with pytest.raises(FileNotFoundError):
        Traces(folder / "missing.jsonl")


def test_an_empty_folder_has_no_traces(tmp_path):
    traces = Traces(tmp_path)
    assert (list(traces), len(traces), traces.ids(), traces.diagnostics) == ([], 0, [], [])
    with pytest.raises(InvalidInput, match=r"no trace with the id 'x'$"):
        traces.pull("x")


def test_hostile_lines_are_told_and_nothing_breaks(tmp_path):
    path = tmp_path / "hostile.jsonl"
    good = stored(id="good").encode()
    lines = [
        good,
        b"[" * 100_000,
        b"\xff\xfe",
        b"null",
        b"[]",
        b'"text"',
        b'{"id": 5}',
        b'{"turns": {}}',
        b"\x00",
        good,
    ]
    path.write_bytes(b"\r\n".join(lines))
    traces = Traces(path)
    assert [trace.id for trace in traces] == ["good", "good"]
    told = sorted(int(told.split(":")[1]) for told in traces.diagnostics)
    assert told == list(range(2, len(lines) + 1))  # the last one for its id


def test_the_traces_of_a_test_are_joined_whichever_way_they_name_it(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text("\n".join([stored(id="x", test_id="a"), stored(id="a"), stored(id="b", test_id="c")]))
    traces = Traces(path)
    assert len(traces.for_test("a").turns) == 2
    assert traces.for_test("c").id == "b"
    # A trace that is of another test is not this one's.
    with pytest.raises(InvalidInput, match="no trace with the test 'b'"):
        traces.for_test("b")


def test_a_file_may_vanish_once_its_traces_were_found(folder):
    traces = Traces(folder)
    (folder / "b.jsonl").unlink()
    assert traces.pull("two").id == "two"


def test_several_threads_find_each_trace_once(tmp_path):
    path = tmp_path / "many.jsonl"
    path.write_text("".join(stored(id=f"t{place}") + "\n" for place in range(500)))
    traces = Traces(path)
    with ThreadPoolExecutor(4) as pool:
        each = list(pool.map(lambda _: [trace.id for trace in traces], range(4)))
    assert each == [[f"t{place}" for place in range(500)]] * 4
