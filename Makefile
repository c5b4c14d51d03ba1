# make run: the workflow on simulated data. make test: all tests. make lint: style. Needs Python 3.11 or later and make.
PYTHON ?= python3
CORES ?= 2
VENV := .venv
BIN := $(VENV)/bin
DATA := resources/test-data

.PHONY: run test lint format docs clean

run: $(VENV)/.installed $(DATA)/.made
	@$(BIN)/snakemake --cores $(CORES) --quiet host reason progress

test: $(VENV)/.installed
	$(BIN)/python -m pytest tests

lint: $(VENV)/.installed $(DATA)/.made
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint

format: $(VENV)/.installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile workflow

# schemas, reference pages and rule graph: written from the code (the graph needs Graphviz)
docs: $(VENV)/.installed $(DATA)/.made
	$(BIN)/python scripts/document.py --rulegraph

# The stamp is newer than pyproject.toml once everything that it names is installed.
$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "haplowave needs Python 3.11 or later: make PYTHON=/path/to/python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[workflow,test]'
	touch $@

$(DATA)/.made: scripts/simulate.py $(wildcard scripts/haplowave/simulate/*.py) | $(VENV)/.installed
	$(BIN)/python scripts/simulate.py --output $(DATA) --seed 1
	touch $@

clean:
	rm -rf results $(DATA) .snakemake
