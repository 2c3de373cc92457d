# `make demo`: look at it.  `make test`: check it.  Both start from nothing but Python and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --quiet --constraint constraints.txt

.PHONY: demo test lint docs dist soak cluster mutate clean help

demo: $(VENV)/.installed-demo
	@$(BIN)/ccassg demo

test: $(VENV)/.installed-dev
	@echo "Running the tests ..."
	@$(BIN)/python -m pytest -n auto --maxprocesses 4

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Made site/. To see it, search included: python3 -m http.server -d site, then http://localhost:8000"

dist: $(VENV)/.installed-dev
	@$(BIN)/python -m build --no-isolation

soak: $(VENV)/.installed-dev
	@echo "Running the trust harnesses in full; about half an hour of one core ..."
	@CCASSG_SOAK=1 CCASSG_FUZZ_FILES=3000 $(BIN)/python -m pytest tests/trust tests/io/test_fuzz.py tests/report/test_page.py
	@$(BIN)/python tests/trust/table.py

cluster: $(VENV)/.installed-dev
	@$(BIN)/python -m tests.cluster.run

MINUTES ?= 15
SEED ?= 0
mutate: $(VENV)/.installed-dev
	@echo "Changing the core at random for $(MINUTES) minutes, after one run of its tests ..."
	@$(BIN)/python tests/mutate.py --minutes $(MINUTES) --seed $(SEED)

help:
	@echo "make demo   train on Cora, evaluate, write demo-report.html"
	@echo "make test   the whole test suite"
	@echo "make lint   ruff and mypy"
	@echo "make docs   the documentation site, in site/"
	@echo "make dist   the source archive and the wheel, in dist/"
	@echo "make soak   the long form of the trust harnesses"
	@echo "make cluster four machines that are network namespaces, as root; which fail and go on"
	@echo "make mutate small random changes to the core: which does no test notice? (MINUTES=15 SEED=0)"
	@echo "make clean  remove the virtual environment and build products"

clean:
	rm -rf $(VENV) build dist site .mypy_cache .ruff_cache .pytest_cache

$(BIN)/python:
	@echo "Creating the virtual environment $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)

# torch first and by its exact version, so that no other package's open range pulls another build.
$(VENV)/.installed-torch: constraints.txt | $(BIN)/python
	@echo "Installing PyTorch ..."
	@$(PIP) "$$(grep '^torch==' constraints.txt)"
	@touch $@

$(VENV)/.installed-demo: pyproject.toml constraints.txt $(VENV)/.installed-torch
	@echo "Installing ccassg ..."
	@$(PIP) --editable '.[plot]'
	@touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt $(VENV)/.installed-torch
	@echo "Installing ccassg with everything its tests need ..."
	@$(PIP) --editable '.[dev]'
	@touch $@ $(VENV)/.installed-demo
