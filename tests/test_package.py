"""What the package as a whole promises: one truth for words, light imports, types that ship."""

import inspect
import subprocess
import sys
from importlib import resources
from typing import get_args, get_type_hints

import pytest

import callmatch
from callmatch import Scores, _core, metrics, results


def test_the_words_of_options_are_those_of_the_core():
    assert get_args(metrics.MatchMode) == _core.MATCH_MODES
    assert get_args(metrics.ArgumentMode) == _core.ARGUMENT_MODES
    assert get_args(results.Verdict) == _core.VERDICTS


def test_every_column_of_the_core_has_a_property():
    for column in _core.COLUMNS:
        assert inspect.getdoc(getattr(Scores, column)), column


def test_every_public_name_is_there_and_documented():
    for module in (callmatch, metrics):
        for name in module.__all__:
            thing = getattr(module, name)
            assert inspect.getdoc(thing) or name in ("__version__", "Verdict", "MatchMode", "ArgumentMode"), name
    with pytest.raises(AttributeError, match="no attribute 'MetricResults'"):
        _ = callmatch.MetricResults


def test_names_that_are_loaded_late_are_listed_before():
    code = "import callmatch; print('MetricResult' in dir(callmatch), 'Verdict' in dir(callmatch))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"]
    assert {*callmatch.__all__} <= {*dir(callmatch)}


@pytest.mark.parametrize("method", ["__init__", "evaluate", "evaluate_batch", "evaluate_file"])
def test_the_types_of_the_metric_can_be_asked_for(method):
    """As frameworks do that build a form or a schema from a signature."""
    code = f"""if True:
        from typing import get_type_hints
        from callmatch.metrics import ToolCallTrajectory
        print(*get_type_hints(ToolCallTrajectory.{method}))"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "return" in done.stdout.split()
    hints = get_type_hints(metrics.ToolCallTrajectory.evaluate)
    assert hints["return"] is callmatch.MetricResult


def test_importing_waits_for_nothing_that_is_not_needed_yet():
    heavy = "{'pydantic', 'click', 'rich', 'numpy', 'pandas'}"
    code = f"import sys, callmatch; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_types_ship_with_the_package():
    files = resources.files("callmatch")
    assert files.joinpath("py.typed").is_file()
    assert files.joinpath("_core.pyi").is_file()


def test_the_version_is_that_of_the_distribution():
    from importlib.metadata import version

    assert callmatch.__version__ == version("callmatch")
