# See README.md. `make demo` and `make test` set up what they need.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do command -v $$p >/dev/null && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
DEMO := $(or $(TANDEM_DEMO_DIR),$(CURDIR)/.demo)
LINK := collections/ansible_collections/tandem/campaign
PIP := -m pip --disable-pip-version-check --quiet
export ANSIBLE_CONFIG := $(CURDIR)/ansible.cfg
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)

.PHONY: help setup setup-test demo-files demo-host demo demo-stop test test-hosts test-docker test-faults bench-mode bench-engine bench-snapshot bench-gates bench-packet docs
help:
	@echo "make demo   qualify a real model on this machine (no GPU, no Docker): a campaign from end to end"
	@echo "make test   everything that CI checks"

# Python 3.11 or newer with venv. As root the missing Debian packages are installed, otherwise the line is printed.
.PHONY: system system-test
system:
	@tools/system_packages.sh

# What the tests' own Docker Engine needs beside.
system-test:
	@tools/system_packages.sh test

$(VENV)/.ready: requirements.txt | system
	@echo "== setting up $(VENV)"
	@$(or $(PYTHON),python3) -m venv $(VENV) && $(VENV)/bin/python $(PIP) install -r requirements.txt && touch $@

$(VENV)/.ready-test: requirements-test.txt $(VENV)/.ready
	@echo "== setting up the checks"
	@$(VENV)/bin/python $(PIP) install -r requirements-test.txt && touch $@

$(LINK):
	@mkdir -p $(dir $(LINK)) && ln -sfn ../../.. $(LINK)

setup: $(VENV)/.ready $(LINK)
setup-test: setup $(VENV)/.ready-test

$(DEMO)/venv/.ready: requirements-demo.txt playbooks/recipes/locks/xllamacpp.txt | system
	@echo "== setting up the demo host's engine and router"
	@mkdir -p $(DEMO) && $(or $(PYTHON),python3) -m venv $(DEMO)/venv && $(DEMO)/venv/bin/python $(PIP) install -r requirements-demo.txt && touch $@

# The demo's engine, router and weights; the tests start hosts of their own from them.
demo-files: setup $(DEMO)/venv/.ready
	@$(VENV)/bin/python tools/demo_weights.py $(DEMO)/cache/hub >/dev/null

demo-host: demo-files
	@ANSIBLE_DISPLAY_OK_HOSTS=false ansible-playbook tools/demo_host.yml -i inventories/demo -l primary

demo:
	@start=$$(date +%s); $(MAKE) --no-print-directory demo-host && ready=$$(date +%s) && \
	ansible-playbook playbooks/campaign.yml -i inventories/demo -l primary; rc=$$?; end=$$(date +%s); \
	echo "Report: $(CURDIR)/campaigns/demo/primary/report.html"; \
	echo "set-up $$((ready - start)) s, campaign $$((end - ready)) s. The demo's services go on running; stop them with: make demo-stop"; exit $$rc

# The same two lanes with their engines in containers of a Docker Engine of its own; ends with an assertion on the packet. Needs root.
demo-docker: test-hosts demo-host
	@$(VENV)/bin/python tools/demo_docker.py && echo "Report: $(CURDIR)/campaigns/demo-docker/primary/report.md"

demo-stop:
	@$(or $(PYTHON),python3) tools/demo_stop.py $(DEMO)

# Hosts of the tests have a second router.
$(DEMO)/venv/.ready-test: requirements-hosts.txt $(DEMO)/venv/.ready
	@$(DEMO)/venv/bin/python $(PIP) install -r requirements-hosts.txt && touch $@

# The image of the demo's engine for a Docker Engine of the tests' own, and the files that our patch sets edit.
$(DEMO)/docker/engine.tar: tools/demo_image.py plugins/module_utils/_engine/llama_cpp_server.py playbooks/recipes/locks/xllamacpp.txt | setup system-test
	@echo "== making the engine's image (a minute, once)"
	@if [ "$$(id -u)" = 0 ] && command -v debootstrap >/dev/null; then $(VENV)/bin/python tools/demo_image.py $@ && touch $@; \
	else echo "left out: it needs root and debootstrap" >&2; fi

$(DEMO)/sources/sglang-0.5.16: tools/engine_sources.py | setup
	@$(VENV)/bin/python tools/engine_sources.py $@ && touch $@

test-hosts: system-test setup-test demo-files $(DEMO)/venv/.ready-test $(DEMO)/docker/engine.tar $(DEMO)/sources/sglang-0.5.16

test: test-hosts
	@$(VENV)/bin/python tools/stages.py

test-docker: test-hosts
	@$(VENV)/bin/python -m pytest -q tests/integration/test_docker_mode.py tests/integration/test_systemd_mode.py \
		tests/integration/test_docker_engine.py tests/integration/test_docker_images.py

test-faults: test-hosts
	@TANDEM_FAULTS=all $(VENV)/bin/python -m pytest -q tests/faults tests/integration/test_docker_mode.py tests/integration/test_interrupts.py

# Against the raw Docker API and a play of community.docker tasks, whose collections are installed for it.
.bench/venv/.ready: | system
	@$(or $(PYTHON),python3) -m venv .bench/venv && .bench/venv/bin/python $(PIP) install ansible==12.3.0 docker==7.2.0 requests && touch $@

bench-mode: test-hosts .bench/venv/.ready
	@PYTHONPATH=collections $(VENV)/bin/python benchmarks/mode.py

bench-engine: test-hosts
	@PYTHONPATH=collections $(VENV)/bin/python benchmarks/engine.py

.bench/hf/.ready: | system
	@$(or $(PYTHON),python3) -m venv .bench/hf && .bench/hf/bin/python $(PIP) install huggingface_hub==2.4.0 && touch $@

bench-snapshot: setup-test .bench/hf/.ready
	@PYTHONPATH=collections $(VENV)/bin/python benchmarks/snapshot.py

bench-gates: setup-test
	@PYTHONPATH=collections $(VENV)/bin/python benchmarks/gates.py

bench-packet: setup-test
	@PYTHONPATH=collections $(VENV)/bin/python benchmarks/packet.py

docs: setup-test
	@mkdir -p build/docs && ANSIBLE_COLLECTIONS_PATH=$(CURDIR)/collections antsibull-docs collection --use-current --squash-hierarchy --dest-dir build/docs tandem.campaign
