# Everything a newcomer needs: `make quickstart` and `make test`.
PYTHON ?= python3
VENV ?= .venv
ONEDL_VENV ?= .venv-onedl
RUN := $(VENV)/bin/python
PINS := $(wildcard requirements/*.txt) setup.py
PIP_INSTALL := -m pip install -qq --disable-pip-version-check
PYTEST := -m pytest -n 2 --dist loadfile
# Idle threads sleep: on a busy machine, spinning ones slow training fivefold.
export OMP_WAIT_POLICY ?= PASSIVE

.DEFAULT_GOAL := help
.PHONY: help setup quickstart experiments test test-all test-onedl lint format

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' \
		$(firstword $(MAKEFILE_LIST))
	@echo '  PYTHON=... chooses the interpreter, VENV=... the environment.'

# $(call install,VENV,STACK): the stamp is written last. A venv made here
# that has no stamp was cut short: half-installed packages look whole to pip,
# so it is made anew. A venv made elsewhere is never removed.
define install
	@if [ -e $(1)/.mmcar-made ] && [ ! -e $(1)/.mmcar-ready ]; then \
		echo '$(1) is incomplete: starting over'; rm -rf $(1); fi
	@if [ ! -x $(1)/bin/python ]; then mkdir -p $(1) && \
		touch $(1)/.mmcar-made && $(PYTHON) -m venv $(1); fi
	@rm -f $(1)/.mmcar-ready
	@echo 'Installing into $(1): pip, torch (large), the $(2) stack, mmcar'
	@$(1)/bin/python $(PIP_INSTALL) --upgrade pip
	@$(1)/bin/python $(PIP_INSTALL) -c requirements/constraints.txt \
		torch==2.13.0 setuptools wheel
	@$(1)/bin/python $(PIP_INSTALL) -c requirements/constraints.txt \
		-r requirements/runtime.txt -r requirements/$(2).txt \
		-r requirements/tests.txt
	@$(1)/bin/python $(PIP_INSTALL) --no-deps --no-build-isolation -e .
	@touch $(1)/.mmcar-ready
endef

setup: $(VENV)/.mmcar-ready  ## Create the environment (seconds when current)

$(VENV)/.mmcar-ready: $(PINS)
	$(call install,$(VENV),official)

$(ONEDL_VENV)/.mmcar-ready: $(PINS)
	$(call install,$(ONEDL_VENV),onedl)

quickstart: setup  ## Data, training, test and figures in minutes on a CPU
	@$(RUN) tools/quickstart.py

experiments: setup  ## Run all experiments in the background (hours)
	@mkdir -p work_dirs/experiments
	@nohup $(RUN) projects/cpu_experiments/run.py >> work_dirs/experiments/log.txt 2>&1 &
	@echo 'Running in the background; a second call goes on where one stopped.'
	@echo 'Progress: tail -f work_dirs/experiments/log.txt'

test: setup  ## Run the tests
	@$(RUN) $(PYTEST)

test-all: setup  ## Run the tests, the slow ones included
	@$(RUN) $(PYTEST) -m 'slow or not slow'

test-onedl: $(ONEDL_VENV)/.mmcar-ready  ## Run the tests on the onedl forks
	@$(ONEDL_VENV)/bin/python $(PYTEST)

lint: setup  ## Check style
	@$(RUN) -m ruff check . && $(RUN) -m ruff format --check .

format: setup  ## Fix style
	@$(RUN) -m ruff check --fix . && $(RUN) -m ruff format .
