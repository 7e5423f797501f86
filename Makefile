# make run | test | check | bench: each makes the environment it needs first.
# Needs a Python >= 3.11; PYTHON=/path/to/python3.11 chooses one.

BIN := .venv/bin
PYTHON_HERE := $(BIN)/python
RUN := .venv/.lockgate-run
DEV := .venv/.lockgate-dev
DEPLOY := .venv/.lockgate-deploy
CONFIG ?=
QUALITY ?=
PACING ?=
ROUTER ?=
RUNS ?=
BENCH := $(if $(LITELLM_PYTHON),--litellm-python $(LITELLM_PYTHON))
export PYTHON

help:
	@echo "make run [CONFIG=FILE]  start the gateway (without a file: a simulation, on 127.0.0.1:8080)"
	@echo "make test               run the tests"
	@echo "make check              formatting, lint, types, import rules, documents"
	@echo "make test-deploy        test the files of Docker and Kubernetes, with the tools that this takes"
	@echo "make clients            install the clients that the tests of clients want; test-clients: with command lines"
	@echo "make bench              measure the gateway beside a bare relay; bench-quick: roughly"
	@echo "make bench-quality      replay recorded answers of real models (QUALITY=--quick for a few minutes)"
	@echo "make bench-router       route recorded prompts of real models (ROUTER=--quick for a minute)"
	@echo "make bench-pacing       many agents on one account, with pacing and without (PACING=--quick)"
	@echo "make bench-budgets      many requests at once against one budget, and a replica killed"
	@echo "make bench-runs         runs while replicas are killed, and how soon killed work goes on (RUNS=--quick)"
	@echo "make format docs lock   rewrite the formatting, the generated tables, the lock files"

run: $(RUN)
	@exec $(BIN)/lockgate serve $(if $(CONFIG),-c $(CONFIG))

test: $(DEV)
	$(PYTHON_HERE) -m pytest -n 2 --randomly-seed=1

test-deploy: $(DEPLOY)
	$(PYTHON_HERE) -m pytest tests/deploy

deploy-tools: $(DEPLOY)

# Where these are not installed, make test leaves their tests out.
clients: $(DEV)
	@.ci/clients frameworks older sdks

test-clients: $(DEV)
	@.ci/clients frameworks older aider sdks lines
	$(PYTHON_HERE) -m pytest tests/clients -n 2

check: $(DEV)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry .
	$(PYTHON_HERE) -m docs.generate --check
	$(PYTHON_HERE) -m docs.dashboards --check
	$(PYTHON_HERE) -m docs.links
	$(PYTHON_HERE) -m tests.conformance.catalogue --check

bench: $(DEV)
	$(PYTHON_HERE) -m bench.run $(BENCH)

bench-quick: $(DEV)
	$(PYTHON_HERE) -m bench.run --quick $(BENCH)

bench-quality: $(DEV)
	$(PYTHON_HERE) -m bench.quality $(QUALITY)

bench-router: $(DEV)
	$(PYTHON_HERE) -m bench.router $(ROUTER)

bench-pacing: $(DEV)
	$(PYTHON_HERE) -m bench.pacing $(PACING)

bench-budgets: $(DEV)
	$(PYTHON_HERE) -m bench.budgets $(BUDGETS)

bench-runs bench-chaos: $(DEV)
	$(PYTHON_HERE) -m bench.runs $(RUNS)

format: $(DEV)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(DEV)
	$(PYTHON_HERE) -m docs.generate --write
	$(PYTHON_HERE) -m docs.dashboards --write
	$(PYTHON_HERE) -m tests.conformance.catalogue --write

# The one target that needs uv. setuptools builds this project, so it is locked with the rest.
LOCK := uv pip compile --quiet --python-version 3.11 --universal --generate-hashes --no-annotate --no-header
lock:
	echo 'setuptools>=77' | $(LOCK) pyproject.toml - --all-extras --group dev -o requirements-dev.lock
	echo 'setuptools>=77' | $(LOCK) pyproject.toml - --extra eval -c requirements-dev.lock -o requirements.lock
	echo 'setuptools>=77' | $(LOCK) pyproject.toml - -c requirements-dev.lock -o requirements-image.lock
	echo 'setuptools>=77' | $(LOCK) pyproject.toml - --all-extras --group dev --group deploy -c requirements-dev.lock -o requirements-deploy.lock
	for name in frameworks older aider; do \
	    $(LOCK) tests/clients/environments/$$name.in -o tests/clients/environments/$$name.lock; done
	for name in sdks lines; do (cd tests/clients/node/$$name && npm install --package-lock-only --ignore-scripts); done

$(RUN): requirements.lock pyproject.toml .ci/environment
	@.ci/environment requirements.lock
	@touch $@

$(DEV): requirements-dev.lock pyproject.toml .ci/environment
	@.ci/environment requirements-dev.lock
	@touch $@ $(RUN)

$(DEPLOY): requirements-deploy.lock pyproject.toml .ci/environment
	@.ci/environment requirements-deploy.lock
	@touch $@ $(DEV) $(RUN)

.PHONY: help run test test-deploy deploy-tools clients test-clients check bench bench-quick bench-quality bench-pacing bench-budgets bench-runs bench-chaos format docs lock
