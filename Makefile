PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help setup generate check-generated spec-diff golden lint test smoke fuzz fuzz-native oracle sanitize bench demo dist docs conformance

PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
# Says what is going on, and shows what the command prints only if it fails: $(call quietly,what,command)
define quietly
@echo "$(1)"
@log=$$(mktemp); ($(2)) >$$log 2>&1 || { cat $$log >&2; rm -f $$log; exit 1; }; rm -f $$log
endef

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## make .venv and install the package with its development tools

# The native module is built by the install, so what it is made of makes the install anew.
NATIVE := setup.py $(wildcard src/thawline/native/sources/* src/thawline/native/constants/*.py) $(addprefix generated/,$(addprefix kernels/,scans.py probes.py readers.py constants.py) encoders/encodings.py)

$(READY): pyproject.toml $(NATIVE)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "thawline needs Python 3.11 or newer; $(PYTHON) is not. Try: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@test -x $(BIN)/python || { echo "making $(VENV)" && $(PYTHON) -m venv $(VENV); }
	$(call quietly,installing thawline and its development tools into $(VENV) (the first time takes a few minutes),$(PIP) install --upgrade pip && $(PIP) install --editable '.[dev]')
	@touch $@

generate: $(READY) ## compile the specs in schemas/ into generated/ (needs Node.js)
	$(BIN)/python -m tools.generate
	$(BIN)/python -m tools.stubs
	$(BIN)/python -m tools.manual

check-generated: $(READY) ## fail where generated/ is not what the specs give (needs Node.js)
	$(BIN)/python -m tools.generate --check
	$(BIN)/python -m pytest -q -n auto tests/test_generate.py tests/test_columnar_parsers.py tests/test_spec_behaviour.py tests/test_readme.py::test_a_review_says_what_is_shown

# Make knows no exit codes but 0 and 2: a compatible change passes, a breaking one fails.
BASE ?= HEAD
spec-diff: $(READY) ## what the specs here do to the wire, the API and real files, against BASE=<git ref> (CORPUS=<folder>: more files)
	@$(BIN)/thawline spec diff $(BASE):schemas schemas $(if $(CORPUS),--corpus $(CORPUS)) || test $$? -eq 1

golden: $(READY) ## rebuild the golden files in tests/golden/
	$(BIN)/python -m tools.samples

lint: $(READY) ## ruff, mypy, the layers, and the style of the specs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/thawline spec lint

test: $(READY) ## run the tests
	@echo "running the tests on all cores"
	@$(BIN)/python -m pytest -q -n auto --dist loadgroup

smoke: $(READY) ## run every command over a file of every kind, in under a minute
	@echo "running every command over a file of every kind"
	@$(BIN)/python -m pytest -q -n auto tests/test_matrix.py

fuzz: $(READY) ## hold 100,000 mutants of files and 10,000 of folders to what holds for every input (THAWLINE_SEED=<seed>: the same again)
	$(BIN)/python -m pytest -q -n auto -m fuzz

fuzz-native: $(READY) ## feed the native module by what it covers, under sanitizers (needs clang; RUNS=<of each format>, 10 million)
	$(BIN)/python -m tools.fuzz.native --merge $(if $(RUNS),--runs $(RUNS)) $(if $(SECONDS),--seconds $(SECONDS))

conformance: $(READY) ## run Kaitai's own tests over columns, and write what holds into README.md and docs/kaitai.md
	$(BIN)/python -m tools.conformance

demo: $(READY) ## sample files of all formats, some damaged, taken in on Spark, and three queries
	@$(BIN)/python -m tools.demo

docs: $(READY) ## build the site into build/site; a link that leads nowhere is an error
	$(BIN)/python -m mkdocs build --strict --quiet

dist: $(READY) ## build sdist and wheel into dist/
	@rm -rf dist
	$(call quietly,building the sdist and from it the wheel,$(BIN)/python -m build)
	@ls dist/*

oracle: $(READY) ## read Kafka segments with Kafka's own classes, too (needs a JDK; installs 200 MB)
	$(call quietly,installing Kafka's own reader,$(PIP) install --editable '.[oracle]')
	$(BIN)/python -m pytest -q -rs tests/test_kafka_oracle.py

sanitize: $(READY) ## run the kernels, and compiled readers of specs, over mutants under AddressSanitizer
	$(BIN)/python -m tools.sanitize
	$(BIN)/python -m tools.spec_mutants

bench: $(READY) ## measure, as ratios in one run (ONLY=hostile: what worst cases cost, ONLY=jobs: what two jobs gain)
	$(call quietly,installing what is compared with,$(PIP) install --editable '.[bench]')
	$(BIN)/python -m tools.bench $(if $(ONLY),--only $(ONLY))
