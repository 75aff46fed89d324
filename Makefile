# Every target sets up its own virtual environment from a bare python3, once per change of pyproject.toml.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.PHONY: demo test check java format coverage clean

demo: $(READY)  ## Run the main job on the bundled data.
	$(BIN)/pointwise demo

test: check java  ## Run all checks and all tests.
	$(BIN)/python -m pytest --cov --cov-report=

check: $(READY)  ## Run the fast checks: format, lint, types, import contract.
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy --no-error-summary
	$(BIN)/lint-imports --no-cache

# The Spark tests need Java: install it where that is possible, else they are skipped and say so.
java:
	@command -v java > /dev/null || test "$$(id -u)" != 0 || \
	{ apt-get update --quiet=2 && apt-get install --quiet=2 --yes openjdk-17-jre-headless; } || \
	{ apt-get install --quiet=2 --yes default-jre-headless; } || echo "No Java: the Spark tests will be skipped."

format: $(READY)  ## Format the code and fix what can be fixed.
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

coverage: test  ## Show which lines the tests do not reach.
	$(BIN)/coverage report --show-missing --skip-covered

clean:
	rm -rf $(VENV) build dist .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[report,spark]" --group dev
	touch $(READY)
