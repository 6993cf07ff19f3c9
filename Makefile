# demo test lint counts soak fuzz bench docs wheel: `make TARGET`. Everything is kept in .venv and target.

SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
RUST_SOURCES := $(shell find crates -name '*.rs' -o -name 'Cargo.toml') Cargo.toml Cargo.lock rust-toolchain.toml

# The first Python of at least 3.11 that runs.
PYTHON ?= $(shell for candidate in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$candidate" -c 'import sys; raise SystemExit(sys.version_info < (3, 11))' 2>/dev/null \
	&& { echo "$$candidate"; break; }; done)

export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_QUIET := 1

.PHONY: demo test lint counts soak fuzz bench docs wheel setup

demo: setup
	@NO_COLOR=$(NO_COLOR) $(BIN)/python tools/demo.py

test: setup $(VENV)/.test
	cargo test --workspace
	$(BIN)/python -m pytest

lint: setup $(VENV)/.test
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest protok._core --allowlist tests/house/stubtest.txt

# Instructions of the core jobs beside benchmarks/counts.json: growth of over 5 % fails.
counts: setup $(VENV)/.test
	$(BIN)/python -m benchmarks.counts

# The tests with other random cases each round, and more of them.
SOAK_ROUNDS ?= 3
soak: setup $(VENV)/.test
	@for round in $$(seq $(SOAK_ROUNDS)); do \
		PROPTEST_RNG_SEED=$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ') cargo test --workspace \
		&& $(BIN)/python -m pytest --examples 2000 || exit 1; done

# FUZZ_SECONDS for each target. libFuzzer with the coverage that the compiler's own passes count:
# that takes a C++ compiler, and no other toolchain than the one that builds protok. An input that
# breaks something, or takes more than 10 seconds or 2 GB, is kept in fuzz/artifacts.
FUZZ_SECONDS ?= 60
FUZZ_TARGETS ?= $(basename $(notdir $(wildcard fuzz/targets/*.rs)))
FUZZ_HOST := $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')
FUZZ_FLAGS := -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
	-Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
	-Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares \
	--cfg fuzzing -Clink-dead-code
fuzz:
	@command -v c++ >/dev/null || { echo "make fuzz needs a C++ compiler called c++: install g++ or clang"; exit 1; }
	RUSTFLAGS="$(FUZZ_FLAGS)" cargo build --package protok-fuzz --features libfuzzer --bins \
		--profile fuzz --target $(FUZZ_HOST) --target-dir target/fuzz
	@for target in $(FUZZ_TARGETS); do \
		echo "fuzz: $$target"; \
		mkdir -p fuzz/artifacts/$$target target/fuzz/corpus/$$target; \
		target/fuzz/$(FUZZ_HOST)/fuzz/$$target -max_total_time=$(FUZZ_SECONDS) -timeout=10 \
			-rss_limit_mb=2048 -max_len=16384 -print_final_stats=1 -verbosity=0 \
			-artifact_prefix=fuzz/artifacts/$$target/ \
			target/fuzz/corpus/$$target fuzz/corpus/$$target $$(ls -d fuzz/regressions/$$target 2>/dev/null) || exit 1; done

# Every pinned library beside protok, protok against its goals, and what only protok does. Texts and
# vocabularies are made once, in BENCH_DATA; `python -m benchmarks --help` says how to measure less.
BENCH_DATA ?= $(HOME)/.cache/protok-benchmarks
BENCH_FLAGS ?=
bench: setup $(VENV)/.test $(VENV)/.bench
	$(BIN)/python -m benchmarks --data $(BENCH_DATA) $(BENCH_FLAGS)
	$(BIN)/python benchmarks/worst_case.py
	$(BIN)/python benchmarks/chat.py
	$(BIN)/python -m benchmarks goals --data $(BENCH_DATA) $(BENCH_FLAGS)

# The reference of both languages: the crate's by rustdoc, the package's by its doctests.
docs: setup $(VENV)/.test
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps -p protok-core
	$(BIN)/python -m pytest tests/house/test_readme.py python/protok

wheel: $(VENV)/.tools
	$(BIN)/maturin build --release --out dist
	@ls -l dist

# ---------------------------------------------------------------------------------------------

setup: $(VENV)/.built

$(VENV)/.tools: pyproject.toml
	@test -n "$(PYTHON)" || { echo "protok needs Python 3.11 or later: install it, or say make PYTHON=/path/to/python3"; exit 1; }
	@command -v cargo >/dev/null || { echo "protok needs Rust: install rustup, which reads rust-toolchain.toml"; exit 1; }
	@command -v cc >/dev/null || { echo "protok needs a C linker called cc: install gcc or clang"; exit 1; }
	@test -x $(BIN)/python || "$(PYTHON)" -m venv $(VENV) || { \
		echo "$(PYTHON) cannot create a virtual environment: on Debian install python3-venv"; exit 1; }
	$(BIN)/python -m pip install --quiet 'maturin>=1.16,<2'
	@touch $@

$(VENV)/.built: $(VENV)/.tools $(RUST_SOURCES)
	$(BIN)/maturin develop --release --quiet
	@touch $@

$(VENV)/.bench: $(VENV)/.tools benchmarks/peers.toml
	@$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["bench"], sep="\n")' > $(VENV)/requirements-bench.txt
	$(BIN)/python -m pip install --quiet -r $(VENV)/requirements-bench.txt
	$(BIN)/python -m benchmarks install
	@touch $@

$(VENV)/.test: $(VENV)/.tools
	@$(BIN)/python -c 'import tomllib; extras = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]; print(*extras["test"], *extras["dev"], sep="\n")' > $(VENV)/requirements.txt
	$(BIN)/python -m pip install --quiet -r $(VENV)/requirements.txt
	@touch $@
