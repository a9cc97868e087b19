# Everything a newcomer needs: `make quickstart` and `make test`.
PYTHON ?= python3
VENV ?= .venv
ONEDL_VENV ?= .venv-onedl
PURE_VENV ?= .venv-pure
ifneq ($(word 2,$(VENV)),)
$(error VENV='$(VENV)': make takes no folder with spaces, choose another)
endif
RUN := $(VENV)/bin/python
PINS := $(wildcard requirements/*) setup.py
INSTALL := PYTHON='$(PYTHON)' requirements/install.sh
PYTEST := -m pytest -n 2 --dist loadfile
PURE_TESTS := tests/test_pure.py tests/test_wrapped_model.py \
	tests/test_inference/test_wrapped_sampler.py \
	tests/test_evaluation/test_torchmetrics.py
# Part of the lines that the default suite must run, in percent.
COVERAGE := --cov --cov-report=term:skip-covered --cov-fail-under=95
# Idle threads sleep: on a busy machine, spinning ones slow training fivefold.
export OMP_WAIT_POLICY ?= PASSIVE

.DEFAULT_GOAL := help
.PHONY: help setup demo quickstart experiments synthetic-cityscapes test test-all test-gpu \
	test-browser test-onedl test-pure \
	test-package docs lint format

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-20s %s\n", $$1, $$2}' \
		$(firstword $(MAKEFILE_LIST))
	@echo '  PYTHON=... chooses the interpreter, VENV=... the environment.'

setup: $(VENV)/.mmcar-ready  ## Create the environment (seconds when current)

$(VENV)/.mmcar-ready: $(PINS)
	@$(INSTALL) '$(VENV)' official

$(ONEDL_VENV)/.mmcar-ready: $(PINS)
	@$(INSTALL) '$(ONEDL_VENV)' onedl

$(PURE_VENV)/.mmcar-ready: $(PINS)
	@$(INSTALL) '$(PURE_VENV)' pure

DEMO := demo/car_simulated.py $(wildcard demo/car_simulated-*.pth)
demo: setup  ## Samples of a small trained model for three images, in a minute
	@$(RUN) tools/infer.py $(DEMO) demo/images/test --out-dir work_dirs/demo
	@$(RUN) tools/analysis_tools/report.py $(DEMO) --out work_dirs/demo/report.html

quickstart: setup  ## Data, training, test and figures in minutes on a CPU
	@$(RUN) tools/quickstart.py

experiments: setup  ## Run all experiments in the background (hours)
	@mkdir -p work_dirs/experiments
	@nohup $(RUN) projects/cpu_experiments/run.py >> work_dirs/experiments/log.txt 2>&1 &
	@echo 'Running in the background; a second call goes on where one stopped.'
	@echo 'Progress: tail -f work_dirs/experiments/log.txt'

synthetic-cityscapes: setup  ## The Cityscapes experiment on drawn streets (an hour)
	@$(RUN) projects/synthetic_cityscapes/run.py

test: setup  ## Run the tests, with coverage
	@$(RUN) $(PYTEST) $(COVERAGE)

test-all: $(VENV)/.mmcar-notebook  ## Run slow tests, fault suites and projects too
	@$(RUN) $(PYTEST) -m 'not gpu and not browser' tests projects

test-gpu: setup  ## Run the tests of GPUs, where there are any
	@$(RUN) -m pytest -m gpu

test-browser: $(VENV)/.mmcar-browser  ## Run the tests of the report in chromium
	@$(RUN) -m pytest -m browser

$(VENV)/.mmcar-browser $(VENV)/.mmcar-notebook $(VENV)/.mmcar-docs: \
		$(VENV)/.mmcar-%: $(VENV)/.mmcar-ready
	@$(RUN) -m pip install -qq --disable-pip-version-check \
		-c requirements/constraints.txt -r requirements/$*.txt
	@touch $@

test-onedl: $(ONEDL_VENV)/.mmcar-ready  ## Run the tests on the onedl forks
	@$(ONEDL_VENV)/bin/python $(PYTEST)

test-pure: $(PURE_VENV)/.mmcar-ready  ## Run what needs no MMSegmentation without it
	@$(PURE_VENV)/bin/python -m pytest --noconftest $(PURE_TESTS)

test-package: setup  ## Build sdist and wheel, train a step from the wheel
	@$(RUN) .ci/try_package.py

docs: $(VENV)/.mmcar-docs  ## Build the site with guides, API and a live report
	@$(RUN) -m sphinx -W --keep-going -q -c docs -b html . site
	@$(RUN) tools/analysis_tools/report.py $(DEMO) --out site/demo_report.html
	@echo 'Open site/index.html'

lint: setup  ## Check style and types
	@$(RUN) -m ruff check . && $(RUN) -m ruff format --check .
	@$(RUN) -m mypy

format: setup  ## Fix style
	@$(RUN) -m ruff check --fix . && $(RUN) -m ruff format .
