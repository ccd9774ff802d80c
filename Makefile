# `make help` lists the targets. Each sets up what it needs, is safe to repeat, and leaves
# everything it makes in .venv and in the data folder (FOREGATE_HOME).
.DEFAULT_GOAL := help
.PHONY: help setup run demo test test-models test-full check bench evaluation lock clean
MAKEFLAGS += --no-print-directory
unexport PYTHONPATH PYTHONHOME

SETUP := sh requirements/setup.sh
VPY := .venv/bin/python
MANAGE := $(VPY) manage.py
PYTEST := $(VPY) -m pytest
# Two workers suit two cores; every worker has its own test database.
WORKERS ?= 2
# Least branch coverage in percent; empty: not measured, which takes a third of the time less.
COVERAGE ?=
ARGS ?=
# Compiling every module anew in every process would take a tenth of the time of the tests.
run demo test test-models test-full: export PYTHONDONTWRITEBYTECODE =

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 } END { \
		print "\n  PYTHON=/path/to/python3 chooses the Python that .venv is made from;"; \
		print "  ARGS=\"...\" is passed on to run, demo, bench and the tests." }' $(MAKEFILE_LIST)

setup: ## Install what run and demo need (the other targets see to themselves)
	@$(SETUP) demo node-demo node-console

run: ## Set up, show the gateway at work on real MCP servers, then serve the console
	@$(SETUP) demo
	@$(MANAGE) demo --serve $(ARGS)

demo: ## The same, without staying to serve
	@$(SETUP) demo
	@$(MANAGE) demo $(ARGS)

test: ## Run the tests (without Node clients and browsers)
	@$(SETUP) dev node-console
	@# A worker that takes neighbouring tests sets up what they share once.
	@$(PYTEST) -n $(WORKERS) --dist worksteal -m "not full and not models" $(if $(COVERAGE), \
		--cov --cov-report=term:skip-covered --cov-fail-under=$(COVERAGE)) $(ARGS)

test-models: ## Test the sentence-transformers engine (fetches torch)
	@$(SETUP) dev sentence-transformers
	@$(PYTEST) -m models $(ARGS)

test-full: ## Test with Node clients, a real browser and broken processes
	@$(SETUP) dev node-console node-demo node-test
	@sh requirements/chromium.sh
	@# Tests of a file share what takes longest to set up, an installation.
	@$(PYTEST) -n $(WORKERS) --dist loadfile -m full $(ARGS)

check: ## Lint, types, imports, migrations, templates, deployment settings, locks
	@$(SETUP) dev
	@sh requirements/check.sh

bench: ## Measure speed, memory and retrieval quality
	@$(SETUP) demo node-demo
	@$(VPY) -m benchmarks $(ARGS)

evaluation: ## Judge suggestions by cross-validation, rewrite docs/evaluation.md (FOREGATE_DATA)
	@$(SETUP) dev
	@$(VPY) -m benchmarks.suggestion --write $(ARGS)

lock: ## Compile the locks anew from pyproject.toml and requirements/node (needs the network)
	@$(SETUP) demo
	@$(VPY) requirements/lock.py

clean: ## Remove .venv and every cache; data in FOREGATE_HOME stays
	rm -rf .venv .coverage .coverage.* htmlcov .mypy_cache .ruff_cache .pytest_cache .hypothesis \
		.import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
