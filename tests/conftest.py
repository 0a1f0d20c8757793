import threading
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("callmatch", deadline=None, derandomize=True, max_examples=100, database=None)
settings.load_profile("callmatch")


@pytest.fixture
def in_small_stack():
    """Do something in a thread with so many bytes of stack."""

    def run(work, size):
        before = threading.stack_size(size)
        try:
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        finally:
            threading.stack_size(before)

    return run


SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def airline():
    """200 real runs of tau-bench, kept outside the project."""
    path = SHARED / "data" / "tau_bench_airline.json"
    if not path.exists():
        pytest.skip(f"{path.name} is not beside the project")
    return path
