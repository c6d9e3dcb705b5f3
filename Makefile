# Two commands do all set-up on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := VIRTUAL_ENV=$(VENV) $(BIN)/uv pip
READY := $(VENV)/.ready
TESTS_READY := $(VENV)/.tests-ready
PYTEST := $(BIN)/python -m pytest

.PHONY: demo test test-all lint format bench lock clean setup

setup: $(TESTS_READY)

# The environment is made from lock files with hashes alone: uv first, which installs what the project needs to run.
# The project itself is installed editable, without isolation, so nothing outside the locks is ever fetched for it.
# Then the kernels of the three verbs are compiled; metrics and the papers' algorithms are compiled at first use.
$(READY): requirements-install.lock requirements.lock pyproject.toml
	@tools/java.sh
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-install.lock
	$(UV) install --quiet --require-hashes -r requirements.lock
	$(UV) install --quiet --no-deps --no-build-isolation -e .
	$(BIN)/heliograph doctor --warm --quiet
	@touch $@

# What only tests and benchmarks need, on top.
$(TESTS_READY): $(READY) requirements-dev.lock
	$(UV) install --quiet --no-deps --require-hashes -r requirements-dev.lock
	$(BIN)/heliograph doctor --warm-all --quiet
	@touch $@

demo: $(READY)
	@$(BIN)/heliograph demo feeds exchange social spark

test: $(TESTS_READY)
	$(PYTEST) -n auto --dist loadgroup -m "not long"

# Coverage is measured here: tracing takes a quarter of the time, of which `make test` has a quarter of an hour.
# Each engine is fuzzed for so many seconds: `make test-all FUZZ=1800`.
FUZZ ?= 20
test-all: $(TESTS_READY)
	HELIOGRAPH_EXAMPLES=thorough HELIOGRAPH_FUZZ_SECONDS=$(FUZZ) $(PYTEST) -n auto --dist loadgroup --cov --cov-report=term:skip-covered

lint: $(TESTS_READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(TESTS_READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(TESTS_READY)
	$(BIN)/heliograph bench

# For maintainers. The locks hold hashes and name no package index. The second one leaves out what the first one holds.
COMPILE := $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
  --no-annotate --quiet --upgrade
lock: $(READY)
	$(COMPILE) --group install --output-file requirements-install.lock
	$(COMPILE) --extra spark --group build --output-file requirements.lock pyproject.toml
	$(COMPILE) --all-extras --constraint requirements.lock --output-file requirements-dev.lock pyproject.toml \
	  $$(sed -n 's/^\([a-z0-9.-]*\)==.*/--no-emit-package \1/p' requirements.lock)

clean:
	rm -rf $(VENV) build dist htmlcov .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
