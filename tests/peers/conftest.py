"""What the comparisons share: spans as they are recorded, and quiet libraries."""

import os

import pytest

pytest.register_assert_rewrite("peers.calls")

# Libraries look at these when they are imported. No test here may need a network.
os.environ.update(
    DO_NOT_TRACK="true",
    LANGSMITH_TRACING="false",
    MLFLOW_ALLOW_FILE_STORE="true",
    MLFLOW_DISABLE_TELEMETRY="true",
    OPENAI_AGENTS_DISABLE_TRACING="false",
)


def pytest_collection_modifyitems(items):
    """Warnings of other libraries are not our errors."""
    for item in items:
        if "peers" in item.path.parts:
            item.add_marker(pytest.mark.filterwarnings("ignore"))


class Recorder:
    """A tracer provider that keeps what it is given."""

    def __init__(self):
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    @property
    def spans(self):
        return self.exporter.get_finished_spans()


@pytest.fixture
def recorder():
    pytest.importorskip("opentelemetry.sdk.trace")
    return Recorder()


@pytest.fixture(scope="session")
def global_provider():
    """For libraries that take no provider but that of the process, which can be set once."""
    pytest.importorskip("opentelemetry.sdk.trace")
    from opentelemetry import trace

    made = Recorder()
    trace.set_tracer_provider(made.provider)
    return made


@pytest.fixture
def global_recorder(global_provider):
    global_provider.exporter.clear()
    return global_provider
