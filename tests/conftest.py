from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("callmatch", deadline=None, derandomize=True, max_examples=100, database=None)
settings.load_profile("callmatch")

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def airline():
    """200 real runs of tau-bench, kept outside the project."""
    path = SHARED / "data" / "tau_bench_airline.json"
    if not path.exists():
        pytest.skip(f"{path.name} is not beside the project")
    return path
