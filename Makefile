# Two commands do all set-up on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PYTEST := $(BIN)/python -m pytest

.PHONY: demo test test-all lint types format bench lock clean setup

setup: $(READY)

# The environment is made from the lock file alone; the project itself is installed editable, without isolation,
# so nothing outside the lock is ever fetched for it.
$(READY): requirements.lock pyproject.toml
	@tools/java.sh
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	$(BIN)/heliograph doctor --warm --quiet
	@touch $@

demo: $(READY)
	@$(BIN)/heliograph demo feeds exchange social spark

test: $(READY)
	$(PYTEST) -n auto --dist loadgroup -m "not long"

# Coverage is measured here: tracing takes a quarter of the time, of which `make test` has a quarter of an hour.
# Each engine is fuzzed for so many seconds: `make test-all FUZZ=1800`.
FUZZ ?= 20
test-all: $(READY)
	HELIOGRAPH_EXAMPLES=thorough HELIOGRAPH_FUZZ_SECONDS=$(FUZZ) $(PYTEST) -n auto --dist loadgroup --cov --cov-report=term:skip-covered

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)
	$(BIN)/heliograph bench

# Maintainers only: needs uv. The lock holds hashes and names no package index.
lock:
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	  --no-annotate --all-extras --quiet --upgrade --output-file requirements.lock pyproject.toml

clean:
	rm -rf $(VENV) build dist htmlcov .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
