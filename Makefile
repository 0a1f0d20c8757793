# On a machine with Python (3.10 or later) and Rust, every target sets up what it needs, in .venv and target.
# make test PYTHON=python3.14 · make fuzz FUZZ_SECONDS=600 · make bench BENCH=--quick

PYTHON ?= python3
FUZZ_SECONDS ?= 60
BENCH ?=

BIN := .venv/bin
# A change of interpreter makes the environment anew.
ENVIRONMENT := .venv/.made-by-$(subst /,-,$(PYTHON))
BUILT := .venv/.built
SOURCES := Cargo.toml Cargo.lock pyproject.toml $(shell find rust/core rust/python -name '*.rs' -o -name Cargo.toml)

export VIRTUAL_ENV := $(abspath .venv)
export PYO3_PYTHON := $(abspath $(BIN)/python)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test lint bench peers engines fuzz clean
# Environments are made by a pattern, and are no passing things.
.PRECIOUS: .venv-%/.group .venv-%/.built

demo: $(BUILT)
	$(BIN)/callmatch score examples/runs.jsonl
	$(BIN)/callmatch score examples/conversations.json --actual messages --expected test.expected --match any_order
	$(BIN)/callmatch read examples
	$(BIN)/callmatch score examples/spans.jsonl --expected-from examples/expected.jsonl
	$(BIN)/callmatch check examples/toolcheck.jsonl
	$(BIN)/callmatch test examples/refunds.yaml --traces examples/refund_traces.jsonl || test $$? -eq 1

test: $(BUILT) .venv/.group-test
	cargo test --workspace
	$(BIN)/python -m pytest --doctest-modules --doctest-glob='*.md' tests README.md docs python/callmatch

lint: $(BUILT) .venv/.group-lint
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/python -m mypy
	$(BIN)/python -m mypy.stubtest callmatch._core

bench: $(BUILT) .venv/.group-bench
	$(BIN)/python benches/ratios.py $(BENCH)

# What we read, held against the libraries whose formats they are. These are many, in an environment of their own; their
# warnings are theirs.
peers: export VIRTUAL_ENV := $(abspath .venv-peers)
peers: export PYO3_PYTHON := $(abspath .venv-peers/bin/python)
peers: .venv-peers/.built
	.venv-peers/bin/python -m pytest -W ignore tests/peers

# Spark and Ray, with two workers each. Spark needs a JVM.
engines: export VIRTUAL_ENV := $(abspath .venv-engines)
engines: export PYO3_PYTHON := $(abspath .venv-engines/bin/python)
engines: .venv-engines/.built
	.venv-engines/bin/python -m pytest -W ignore tests/engines

# The instrumentation is a compiler flag that the stable toolchain takes only so; see rust/fuzz/README.md.
fuzz: export RUSTC_BOOTSTRAP := 1
fuzz:
	@cargo fuzz --version >/dev/null 2>&1 || cargo install cargo-fuzz --locked
	set -e; cd rust/fuzz; for target in $$(cargo fuzz list --fuzz-dir .); do \
		mkdir -p corpus/$$target; \
		cargo fuzz run --fuzz-dir . --sanitizer none $$target corpus/$$target \
			$$(ls -d seeds/$$target 2>/dev/null) -- -dict=json.dict -max_total_time=$(FUZZ_SECONDS); \
	done

clean:
	rm -rf .venv .venv-peers .venv-engines .venv-rivals target dist rust/fuzz/target python/callmatch/_core.*.so
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	find python tests benches -name __pycache__ -type d -prune -exec rm -rf {} +

$(ENVIRONMENT):
	@command -v cargo >/dev/null || { echo 'callmatch is built with Rust, and cargo is not on the path' >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "callmatch needs Python 3.10 or later: make PYTHON=...")'
	$(PYTHON) -m venv --clear .venv
	@# The pip that comes with Python may be too old for dependency groups.
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --group build
	@touch $@

# The install is editable: changed Python sources count at once, changed Rust sources are built.
$(BUILT): $(ENVIRONMENT) $(SOURCES)
	$(BIN)/maturin develop --release
	@touch $@

.venv/.group-%: $(ENVIRONMENT) pyproject.toml
	$(BIN)/python -m pip install --quiet --group $*
	@touch $@

.venv-%/.group: pyproject.toml
	@command -v cargo >/dev/null || { echo 'callmatch is built with Rust, and cargo is not on the path' >&2; exit 1; }
	$(PYTHON) -m venv --clear .venv-$*
	.venv-$*/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	.venv-$*/bin/python -m pip install --quiet --group build --group $*
	@touch $@

.venv-%/.built: .venv-%/.group $(SOURCES)
	.venv-$*/bin/maturin develop --release
	@touch $@
