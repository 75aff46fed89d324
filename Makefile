# Every target sets up the virtual environment that it needs from a bare python3, once per change of pyproject.toml:
# `make demo` the package alone, all others also what checks and tests take.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/installed
READY := $(VENV)/ready

# Targets install with apt and into one virtual environment, which allow one at a time.
.NOTPARALLEL:
.PHONY: demo test laws fuzz check bench bench-billion bench-diff bench-spark browser java docs screenshot format coverage clean

demo: $(INSTALLED)  ## Run the main job on the bundled data.
	$(BIN)/pointwise demo

# Tests write and remove some ten thousand small files: in memory, where a folder of the system is large enough.
IN_MEMORY := test "$$(df -Pk /dev/shm 2> /dev/null | awk 'NR == 2 {print $$4}')" -gt 2000000 2> /dev/null
TEMPORARY := export TMPDIR=$$($(IN_MEMORY) && mktemp -d -p /dev/shm || mktemp -d) && chmod 711 "$$TMPDIR" && \
	trap 'exit 1' INT TERM && trap 'kill $$beside 2> /dev/null; rm -rf "$$TMPDIR"' EXIT

# What the tests on the embedded engine reach of all lines and branches, in per cent; Spark's add what only they can reach.
COVERED := 95

# A worker for each core: what waits, for a browser or for a program that it starts, leaves its core to Spark.
EMBEDDED := $(BIN)/python -m pytest -m "not spark and not cluster" -n 2 --dist worksteal --cov --cov-report=
ON_SPARK := $(BIN)/python -m pytest -m "spark or cluster" --hypothesis-profile=spark

# Spark's tests wait for one thread or another half of the time, so they run beside all else, and are shown at the end.
test: $(READY) java  ## Run all checks and all tests, which must reach what they reach today.
	@$(TEMPORARY) || exit; $(ON_SPARK) > "$$TMPDIR/on_spark" 2>&1 & beside=$$!; \
	$(MAKE) --no-print-directory browser check || exit; \
	$(EMBEDDED) --cov-fail-under=$(COVERED); embedded=$$?; \
	wait $$beside; on_spark=$$?; cat "$$TMPDIR/on_spark"; exit $$((embedded | on_spark))

# Seconds to spend, and where the random numbers start: `make fuzz FUZZ_SECONDS=60 FUZZ_SEED=1`.
FUZZ_SECONDS ?= 3600
FUZZ_SEED := $(or $(FUZZ_SEED),$(shell od -An -N3 -tu4 /dev/urandom | tr -d ' '))

fuzz: $(READY)  ## Attack for an hour: random inputs, names, manifests, places; prints seeds and shrunk failures.
	@echo "seed $(FUZZ_SEED)"
	POINTWISE_FUZZ_SECONDS=$(FUZZ_SECONDS) POINTWISE_FUZZ_SEED=$(FUZZ_SEED) \
		$(BIN)/python -m pytest tests/adversarial -m "not spark" -n 2 --hypothesis-profile=fuzz \
		-W "ignore:Generating overly large repr"

laws: $(READY)  ## Try the laws on a thousand examples each, on the embedded engine; takes a night.
	$(BIN)/python -m pytest tests/test_laws.py -m "not spark and not cluster" -n 2 --hypothesis-profile=laws

check: $(READY)  ## Run the fast checks: format, lint, types (ours, and as a user sees them), import contract.
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy --no-error-summary --strict --config-file= --cache-dir=.mypy_cache/user tests/typing/usage.py & users=$$!; \
		$(BIN)/mypy --no-error-summary && wait $$users
	$(BIN)/lint-imports --no-cache

bench: $(READY)  ## Measure speed and memory next to peers and limits; about a quarter of an hour.
	$(BIN)/uv pip install --quiet --python $(BIN)/python --group bench
	$(BIN)/python benchmarks/labels.py --largest 1000000
	$(BIN)/python benchmarks/peers.py
	$(BIN)/python benchmarks/large.py
	$(BIN)/python benchmarks/everyday.py
	$(BIN)/python benchmarks/page.py

bench-billion: $(READY)  ## Evaluate a billion items; needs 25 GB of disk and half an hour.
	$(BIN)/python benchmarks/billion.py
	$(BIN)/python benchmarks/page.py

docs: $(READY)  ## Build the site into build/site; anything that is wrong with it is an error.
	$(BIN)/python docs/make_metrics.py docs/metrics.md
	$(BIN)/python docs/make_figures.py docs/figures
	$(BIN)/python -m pointwise.cli.reference docs/cli-reference.md
	$(BIN)/zensical build --strict --clean

# What the browser tests need. Where it cannot be installed they are skipped, or fail if CI=true.
browser: $(READY)
	-@command -v chromedriver > /dev/null || test "$$(id -u)" != 0 || \
		(apt-get update -qq && apt-get install -y -qq chromium chromium-driver fonts-liberation > /dev/null)
	-@test -e $(VENV)/axe/node_modules/axe-core/axe.min.js || ! command -v npm > /dev/null || \
		npm install --silent --no-audit --no-fund --prefix $(VENV)/axe axe-core@4.14.0

screenshot: browser  ## Take the pictures of the report and the explorer that the pages show.
	PYTHONPATH=tests $(BIN)/python docs/make_screenshot.py docs

bench-diff: $(READY)  ## Measure estimates from judgements, and a diff of 100 million items.
	$(BIN)/python benchmarks/diff.py --large 100e6
	$(BIN)/python benchmarks/page.py

bench-spark: $(READY) java  ## Evaluate 20 million items on a Spark cluster of two executors.
	$(BIN)/python benchmarks/spark.py --kill
	$(BIN)/python benchmarks/page.py

# What the Spark tests need. Where it cannot be installed they are skipped, or fail if CI=true.
java:
	-@command -v java > /dev/null || test "$$(id -u)" != 0 || \
		(apt-get update -qq && apt-get install -y -qq openjdk-17-jre-headless > /dev/null) || \
		apt-get install -y -qq default-jre-headless > /dev/null

format: $(READY)  ## Format the code and fix what can be fixed.
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

coverage: check browser java  ## Run all tests, and show which lines and branches none of them reaches.
	$(TEMPORARY) && $(EMBEDDED) --trace-all && $(ON_SPARK) --trace-all --cov --cov-append --cov-report=term-missing:skip-covered

clean:
	rm -rf $(VENV) build dist .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache

$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable ".[report]"
	touch $(INSTALLED)

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python --editable ".[report,spark,explore]" --group dev --group docs
	touch $(INSTALLED) $(READY)
