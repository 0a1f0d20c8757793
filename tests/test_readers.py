"""Stored traces: found by their ids, read once, and nothing lost in silence."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from callmatch import InvalidInput, Trace, Traces, readers


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
    assert traces.ids() == ["a", "one", "two", "four"]
    assert [trace.id for trace in traces] == [None, "one", "two", "one", "four"]
    assert len(traces) == 5
    assert isinstance(traces.pull("four"), Trace)


def test_what_can_not_be_read_is_told_with_its_place_and_the_reason(folder):
    traces = Traces(folder)
    assert traces.diagnostics == []
    broken, again, key = (list(traces), traces.diagnostics)[1]
    assert broken.startswith(f"{folder / 'b.jsonl'}:3: not JSON")
    assert again == f"{folder / 'b.jsonl'}:5: the id 'one' was there before, at {folder / 'b.jsonl'}:1"
    assert key.startswith(f"{folder / 'inner' / 'c.jsonl'}:1: turn: a key of Trace is one of")
    assert 'did you mean "turns"?' in key


def test_a_trace_is_pulled_without_reading_what_comes_after_it(folder):
    traces = Traces(folder / "b.jsonl")
    assert traces.pull("one").test_id == "t1"
    assert traces.diagnostics == []
    assert traces.pull("two").id == "two"
    assert len(traces.diagnostics) == 1


def test_each_part_of_a_file_is_read_once_and_a_trace_that_was_passed_alone(tmp_path, monkeypatch):
    path = tmp_path / "many.jsonl"
    path.write_text("".join(stored(id=f"t{place}") + "\n" for place in range(100)))
    read = []
    plain = Trace.read_json.__func__

    def counted(cls, text, where=""):
        read.append(json.loads(text)["id"])
        return plain(cls, text, where)

    monkeypatch.setattr(Trace, "read_json", classmethod(counted))
    traces = Traces(path)
    assert traces.pull("t9").id == "t9"
    assert read == [f"t{place}" for place in range(10)]
    read.clear()
    assert (traces.pull("t3").id, traces.pull("t10").id) == ("t3", "t10")
    assert read == ["t3", "t10"]
    read.clear()
    assert len(traces) == 100
    assert read == [f"t{place}" for place in range(11, 100)]


def test_a_file_may_begin_with_a_trace_that_was_changed_meanwhile(tmp_path):
    path = tmp_path / "changing.jsonl"
    path.write_text(stored(id="a") + "\n" + stored(id="b") + "\n")
    traces = Traces(path)
    assert traces.ids() == ["a", "b"]
    path.write_text("{}")
    with pytest.raises(InvalidInput, match=r"changing\.jsonl:2: not JSON"):
        traces.pull("b")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [("oen", "did you mean 'one'?"), ("zzzzz", "there are 'a', 'four', 'one', 'two'")],
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
    with pytest.raises(InvalidInput, match=r"end with \.json or \.jsonl"):
        Traces(folder / "notes.txt")
    with pytest.raises(FileNotFoundError):
        Traces(folder / "missing.jsonl")


def test_an_empty_folder_has_no_traces(tmp_path):
    traces = Traces(tmp_path)
    assert (list(traces), len(traces), traces.ids(), traces.diagnostics) == ([], 0, [], [])
    with pytest.raises(InvalidInput, match=r"no trace with the id 'x'$"):
        traces.pull("x")


def test_a_line_that_is_too_long_is_passed_over(tmp_path, monkeypatch):
    monkeypatch.setattr(readers, "MOST_BYTES", 1 << 20)
    path = tmp_path / "long.jsonl"
    path.write_text(stored(id="a", attributes={"x": "y" * (3 << 20)}) + "\n" + stored(id="b") + "\n")
    traces = Traces(path)
    assert traces.ids() == ["b"]
    assert traces.pull("b").id == "b"
    assert traces.diagnostics == [f"{path}:1: longer than 1 MiB"]


def test_hostile_lines_are_told_and_nothing_breaks(tmp_path):
    path = tmp_path / "hostile.jsonl"
    lines = [b"[" * 100_000, b"\xff\xfe", b"null", b"[]", b'"text"', b"{}", b'{"id": 5}', b'{"turns": {}}', b"\x00"]
    path.write_bytes(b"\r\n".join(lines))
    traces = Traces(path)
    assert [trace.turns for trace in traces] == [()]
    assert len(traces.diagnostics) == len(lines) - 1
    assert [int(told.split(":")[1]) for told in traces.diagnostics] == [1, 2, 3, 4, 5, 7, 8, 9]


def test_the_traces_of_a_test_are_joined_whichever_way_they_name_it(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text("\n".join([stored(id="x", test_id="a"), stored(id="a"), stored(id="b", test_id="c")]))
    traces = Traces(path)
    assert len(traces.for_test("a").turns) == 2
    assert traces.for_test("c").id == "b"
    # A trace that is of another test is not this one's.
    with pytest.raises(InvalidInput, match="no trace with the test 'b'"):
        traces.for_test("b")


def test_a_file_that_vanished_is_told_and_the_rest_is_read(folder):
    traces = Traces(folder)
    (folder / "b.jsonl").unlink()
    assert traces.ids() == ["a", "four"]
    assert any(told.startswith(f"{folder / 'b.jsonl'}: No such file") for told in traces.diagnostics)


def test_reading_goes_on_where_it_was_interrupted(tmp_path, monkeypatch):
    path = tmp_path / "many.jsonl"
    path.write_text("".join(stored(id=f"t{place}") + "\n" for place in range(50)))
    traces, plain = Traces(path), Trace.read_json.__func__

    def interrupted(cls, text, where=""):
        if b"t20" in text:
            monkeypatch.undo()
            raise KeyboardInterrupt
        return plain(cls, text, where)

    monkeypatch.setattr(Trace, "read_json", classmethod(interrupted))
    with pytest.raises(KeyboardInterrupt):
        traces.ids()
    assert len(traces.ids()) >= 49
    assert traces.ids()[-1] == "t49"


def test_several_threads_find_each_trace_once(tmp_path):
    path = tmp_path / "many.jsonl"
    path.write_text("".join(stored(id=f"t{place}") + "\n" for place in range(500)))
    traces = Traces(path)
    with ThreadPoolExecutor(4) as pool:
        each = list(pool.map(lambda _: [trace.id for trace in traces], range(4)))
    assert each == [[f"t{place}" for place in range(500)]] * 4
