# Everything runs in .venv; the first target that needs it makes it.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
DEVELOPED := .venv/.developed

.PHONY: demo test test-slow check format clean

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "elmokit needs Python 3.11 or newer; call make PYTHON=...")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt "torch==2.13.0"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(DEVELOPED): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

demo: $(INSTALLED)  ## embed words that mean different things in different sentences
	@$(BIN)/elmo demo

test: $(DEVELOPED)  ## the test suite (slow tests excluded), two tests at a time
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal

test-slow: $(DEVELOPED)  ## the tests that take minutes
	$(BIN)/python -m pytest -m slow

check: $(DEVELOPED)  ## lint, format, types, import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(DEVELOPED)  ## put the code into its shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
