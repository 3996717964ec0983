# make check: everything CI checks. PYTHON may point to a virtual environment's interpreter.
PYTHON ?= python

.PHONY: check format lint types layers test ray slow fuzz

check: lint types layers test ray

format:
	$(PYTHON) -m ruff format .
	$(PYTHON) -m ruff check --fix .

lint:
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .

types:
	$(PYTHON) -m mypy

layers:
	$(PYTHON) -c "from importlinter.cli import lint_imports_command; lint_imports_command()"

test:
	OMP_NUM_THREADS=1 $(PYTHON) -m pytest -q -n auto --maxprocesses 4 --dist loadfile

# One at a time: each test starts Ray with as many processes as it has workers.
ray:
	OMP_NUM_THREADS=1 $(PYTHON) -m pytest -q -m ray

slow:
	OMP_NUM_THREADS=1 $(PYTHON) -m pytest -q -m slow

fuzz:
	$(PYTHON) -m pytest -q -m fuzz tests/fuzz
