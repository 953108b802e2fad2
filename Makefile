# Everything needed is Python 3.11 or newer and make. The first target that needs it creates .venv.

VENV  := .venv
BIN   := $(VENV)/bin
STAMP := $(VENV)/.installed
DOCS_STAMP := $(VENV)/.installed-docs
# Processes for the tests, and more arguments for pytest: make test JOBS=8 ARGS="-k absence"
JOBS  ?= 2
ARGS  ?=
# The Python to build .venv with; the first suitable one is found when this is empty.
PYTHON ?=

.DEFAULT_GOAL := help
.PHONY: help venv demo test check bench soak kafka-test cluster-test notebooks screenshots format clean distclean FORCE

help:  ## list the targets
	@echo "usage: make TARGET"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' Makefile
	@echo 'variables: PYTHON=python3.12 (for .venv), JOBS=2 (test processes), ARGS="-k name" (for pytest)'

venv: $(STAMP)  ## create .venv and install the package with its development tools

demo: $(STAMP)  ## run the demonstration
	@$(BIN)/cepheid demo

.PHONY: docs
docs: $(DOCS_STAMP)  ## build the documentation site into build/site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "Open build/site/index.html"

test: check  ## the checks, then all tests but the long ones
	@$(BIN)/python -m cepheid.engines.warm  # once, and not in every test process
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup $(ARGS)

check: $(STAMP)  ## ruff, formatting, types, import contract
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/lint-imports --no-logo

bench: $(STAMP)  ## run every benchmark
	@set -e; found=no; \
	for file in benchmarks/*.py; do \
	  case "$$file" in "benchmarks/*.py"|benchmarks/_*) continue;; esac; \
	  found=yes; echo "== $$file"; $(BIN)/python "$$file"; \
	done; \
	if [ $$found = no ]; then echo "There are no benchmarks yet (benchmarks/*.py)."; fi

soak: $(STAMP)  ## the long tests, marked soak: with examples of their own in every run
	@status=0; $(BIN)/python -m pytest -m soak --hypothesis-profile=fresh -n $(JOBS) --dist loadgroup $(ARGS) || status=$$?; \
	if [ $$status = 5 ]; then echo "There are no tests marked soak yet."; exit 0; fi; \
	exit $$status

kafka-test: $(STAMP)  ## the tests with a real Kafka broker, from its Maven jars; needs mvn and Java
	$(BIN)/python -m pytest -m kafka tests/kafka $(ARGS)

cluster-test: $(STAMP)  ## a job on a standalone Spark cluster here, from a packed environment; needs Java
	$(BIN)/python -m pytest -m cluster tests/cluster $(ARGS)

notebooks: $(STAMP)  ## run the notebooks and write their outputs anew
	$(BIN)/python tests/notebook_files.py

screenshots: $(STAMP)  ## make the pictures of the documents anew, docs/images; needs a Chromium
	CEPHEID_SCREENSHOTS=docs/images $(BIN)/python -m pytest tests/explain/test_newcomer.py

format: $(STAMP)  ## format the code and apply the safe fixes
	$(BIN)/python -m ruff check --fix-only .
	$(BIN)/python -m ruff format .

clean:  ## remove caches and build results
	rm -rf build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean  ## clean, and remove .venv
	rm -rf $(VENV)

# The stamp holds the folder it was made for. Scripts and the editable install hold that path too,
# so a .venv that was moved or copied along with its project is made again.
MADE_FOR := $(shell cat $(STAMP) 2>/dev/null)
ifneq ($(MADE_FOR),$(CURDIR))
$(STAMP): FORCE
endif

$(STAMP): pyproject.toml
	@set -e; \
	if [ -n "$(MADE_FOR)" ] && [ "$(MADE_FOR)" != "$(CURDIR)" ]; then rm -rf $(VENV); fi; \
	if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
	  python="$(PYTHON)"; \
	  if [ -z "$$python" ]; then \
	    for name in python3 python3.13 python3.12 python3.11 python3.14 python3.15 python; do \
	      if "$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	        python="$$name"; break; \
	      fi; \
	    done; \
	  fi; \
	  if [ -z "$$python" ]; then \
	    echo "Cepheid needs Python 3.11 or newer and found none. Install one, or name it: make PYTHON=/path/to/python3.11" >&2; \
	    exit 1; \
	  fi; \
	  if ! "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	    echo "PYTHON=$$python does not start or is older than 3.11, and Cepheid needs 3.11 or newer." >&2; \
	    exit 1; \
	  fi; \
	  if ! "$$python" -c 'import venv, ensurepip' >/dev/null 2>&1; then \
	    echo "$$python cannot make virtual environments: its venv module is missing. On Debian and Ubuntu: apt install python3-venv" >&2; \
	    exit 1; \
	  fi; \
	  echo "Creating $(VENV) with $$("$$python" --version)"; \
	  "$$python" -m venv --clear $(VENV); \
	fi; \
	echo "Installing cepheid and its tools into $(VENV) (the first time takes a minute or so)"; \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'; \
	printf '%s' "$(CURDIR)" > $(STAMP)

$(DOCS_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $(DOCS_STAMP)

FORCE:
