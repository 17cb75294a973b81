# All targets write only into this folder: a virtual environment in .venv, the C shim in provio/libprovio.so.
# `make help` lists the targets.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
# One worker more than cores, because tests wait for processes; WORKERS=0 runs all tests in one process.
SPREAD := --dist worksteal --maxprocesses 4 -n $(or $(WORKERS),$(shell expr $$(getconf _NPROCESSORS_ONLN) + 1))
SHIM := provio/libprovio.so
WHEELS := x86_64-glibc aarch64-glibc x86_64-musl aarch64-musl
SHIMS := provio/preload/aarch64-musl/waiter  # the last one that is built
SHIM_SOURCES := $(filter-out %/vocab.h %.py %/vol,$(wildcard interceptors/include/*.h interceptors/posix/* interceptors/hdf5/* interceptors/mpiio/* interceptors/waiter/*))
C_SOURCES := $(wildcard interceptors/include/*.h interceptors/posix/*.[ch] interceptors/waiter/*.[ch] interceptors/hdf5/*.[ch] interceptors/mpiio/*.[ch] interceptors/hdf5/vol/*.[ch])
export PATH := $(CURDIR)/$(BIN):$(PATH)
# Byte code is written: without it each call of provio takes more than twice as long, and the tests make a thousand calls.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test thorough quick lint shim shims wheels mutants bench truth instructions vocab transcript screenshots calls clean

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):[^#]*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 24

demo: $(VENV)/examples $(SHIM)  ## install, run the example pipeline under provio, print its lineage
	@examples/dassa/demo.sh

test: $(VENV)/test $(SHIM)  ## install the requirements of the tests, run the tests, and failed ones again
	@.ci/needs
	@.ci/environments $(BIN)/python
	$(BIN)/python tests/rerun.py $(SPREAD) -m "$(or $(MARKS),not thorough)"

thorough:  ## run the tests that `make test` leaves out: other versions, sizes and programs
	@$(MAKE) -s test MARKS=thorough

quick: $(VENV)/test $(SHIM)  ## run all tests except those marked `integration`, `slow` or `thorough`
	$(BIN)/python -m pytest $(SPREAD) -q -m "not integration and not slow and not thorough"

lint: $(VENV)/lint  ## ruff, mypy --strict, clang-format, compiler warnings
	@.ci/needs >/dev/null
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy --strict
	$(if $(shell command -v clang-format),clang-format --dry-run -Werror $(C_SOURCES),@echo "clang-format is not installed: format of C not checked")
	CFLAGS="-Wall -Wextra -Werror" interceptors/posix/build $(CURDIR)/$(VENV)/lint.so
	CFLAGS="-Wall -Wextra -Werror" interceptors/waiter/build $(CURDIR)/$(VENV)/lint-waiter

shim: $(SHIM)  ## compile the C shim

shims: $(SHIMS)  ## compile the shims for every machine and C library, for wheels and containers

wheels: $(VENV)/shims shims  ## build the wheels for every machine and C library, in dist
	rm -rf build/lib* build/bdist*  # setuptools would include old files
	for kind in $(WHEELS); do PROVIO_WHEEL=$$kind $(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist . || exit 1; done

mutants: $(VENV)/test $(SHIM)  ## change single expressions, report the changes that no test detects; ARGUMENTS="lineage --count 50 --measure"
	nice $(BIN)/python tests/mutation/run.py $(ARGUMENTS)

bench: $(VENV)/bench $(SHIM)  ## measure the cost of recording, write docs/cost.md; CASES=b1,tar ROUNDS=9 prints a part; WRITE=1 replaces its rows
	@.ci/needs
	$(BIN)/python bench/run.py --rounds $(or $(ROUNDS),5) $(if $(CASES),--cases "$(CASES)" $(if $(WRITE),--write),--write)

truth: $(VENV)/test $(SHIM)  ## compare answers with planted truth, write docs/truth.md; ROWS=tar prints a part
	@.ci/needs
	PYTHONPATH=bench $(BIN)/python -m truth $(or $(ROWS),--write)

instructions: $(VENV)/test $(SHIM)  ## count the instructions of a call, store the figures for the tests
	@.ci/needs
	$(BIN)/python bench/instructions.py --keep

vocab: $(VENV)/test  ## write the C header of the ontology's terms, and the tables for Python
	$(BIN)/python -m provio.base.vocab --header > interceptors/posix/vocab.h
	$(BIN)/python interceptors/posix/shared_tables.py > build.tables && mv build.tables interceptors/python/shared_tables.py

transcript: $(VENV)/test $(SHIM)  ## execute a new user's first half hour, write docs/first-half-hour.md
	$(BIN)/python tests/half_hour.py > docs/.first-half-hour && mv docs/.first-half-hour docs/first-half-hour.md

screenshots: $(VENV)/test $(SHIM)  ## take screenshots of the pages, write docs/*.png
	@.ci/needs
	PYTHONPATH=interceptors/posix $(BIN)/python tests/screenshots.py

calls: $(VENV)/test  ## write the pages of calls, queries, words, commands, settings, columns and the HTTP API
	$(PYTHON) interceptors/posix/calls.py > docs/calls.md
	$(PYTHON) -m provio.render.queries > docs/queries.md
	$(PYTHON) -m provio.render.vocabulary_list > docs/words.md
	$(PYTHON) -m provio.render.records > docs/output.md
	$(PYTHON) -m provio.serve.openapi > docs/openapi.json
	$(PYTHON) -m provio.cli.manual > docs/commands.md
	$(PYTHON) -m provio.cli.settings_manual > docs/settings.md
	PYTHONPATH=. $(PYTHON) interceptors/hdf5/hdf5_calls.py > docs/calls-hdf5.md
	$(PYTHON) interceptors/mpiio/mpiio_calls.py > docs/calls-mpiio.md
	$(BIN)/python tests/licences.py > docs/licences.md

clean:  ## remove the virtual environment and everything built
	rm -rf $(VENV) $(SHIM) provio/waiter provio/preload build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

$(SHIMS): $(SHIM_SOURCES) interceptors/posix/vocab.h interceptors/posix/portable.py | $(VENV)/shims
	$(BIN)/python interceptors/posix/portable.py $(CURDIR)/provio/preload

$(SHIM): $(SHIM_SOURCES) interceptors/posix/vocab.h
	@.ci/tools $(PYTHON)
	interceptors/waiter/build $(CURDIR)/provio/waiter
	interceptors/posix/build $(CURDIR)/$@

# One stamp for each set of extras, updated only when the package's description changes.
$(VENV)/bin/python:
	@.ci/tools $(PYTHON)
	@echo "creating a virtual environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/examples $(VENV)/test $(VENV)/lint $(VENV)/bench $(VENV)/shims: $(VENV)/%: pyproject.toml setup.py | $(VENV)/bin/python
	@echo "installing provio with its extra $* into $(VENV)"
	@$(PIP) uninstall --yes provio  # the former name of this package
	@$(PIP) install --editable ".[$*]"
	@$(BIN)/python -m compileall -q provio  # pip does not compile an editable install
	@touch $@
