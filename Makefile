# `make run` measures a model with nothing but Python: no key, no network beyond the package index. `make test` checks
# everything. Both install into .venv first; constraints.txt pins what was tested.

PYTHON ?= python3
BIN = .venv/bin

.PHONY: run test clean

run: .venv/installed
	$(BIN)/maskbench run

test: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest --numprocesses auto --dist loadfile

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[report]'
	touch $@

.venv/installed-dev: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

clean:
	rm -rf .venv build dist src/*.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
