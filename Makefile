# The doors to building Stretto. CMake does the work; `make` alone lists what there is.

SHELL := /bin/bash
.DEFAULT_GOAL := help

# A Matrix Market file for `make demo`, how many seeds `make soak` tries, and how many inputs `make fuzz`.
MATRIX ?=
SEEDS ?= 100000
RUNS ?= 20000

.PHONY: help setup build demo test bench setup-bench figures format lint asan tsan fuzz soak clean

help:  ## this text
	@echo "Stretto: an asynchronous many-task runtime with first-class collectives."
	@echo
	@sed -n 's/^\([a-z-]*\):  *## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | awk -F'\t' '{ printf "  make %-12s %s\n", $$1, $$2 }'
	@echo
	@echo "Programs land in build/release/bin/. CMake presets: release, dev, asan, tsan, fuzz, clang."

setup:  ## install what is missing to build and test: Debian packages, and .venv for the Python tools
	@scripts/setup build python

build:  ## build everything, optimised, into build/release
	@scripts/setup build
	@scripts/build release

demo:  ## solve a real sparse system on several nodes (MATRIX=file.mtx adds your own)
	@scripts/setup build python
	@scripts/build release programs
	@MATRIX='$(MATRIX)' scripts/demo

test:  ## build and run all tests
	@scripts/setup build python-if-possible
	@scripts/test release

bench:  ## measure Stretto, and beside it the rivals that are installed (make setup-bench)
	@scripts/setup build
	@scripts/build release
	@scripts/bench

setup-bench:  ## install the rivals: MPICH, Open MPI and Intel's MPI
	@scripts/setup build
	@scripts/setup-bench

figures:  ## draw the papers' figures anew into docs/figures
	@scripts/setup build
	@scripts/build release
	@scripts/figures

format:  ## format all C++ files
	@scripts/setup lint
	@scripts/sources | xargs -0 clang-format-19 -i

lint:  ## check format and run clang-tidy
	@scripts/setup build lint
	@scripts/lint

asan:  ## run the tests of local and sim under the address and undefined-behaviour sanitizers
	@scripts/setup build sanitizers
	@scripts/test asan -LE multiprocess

tsan:  ## run the tests under the thread sanitizer, but those that have one thread: schedule's, and all kinds of sim
	@scripts/setup build sanitizers
	@scripts/test tsan -LE multiprocess -E '/sim(_[a-z]+)*$$'

fuzz:  ## run the fuzzers with many inputs (RUNS=20000)
	@scripts/setup build sanitizers
	@scripts/fuzz $(RUNS)

soak:  ## run the randomised tests with many seeds (SEEDS=100000)
	@scripts/setup build
	@scripts/build release
	@scripts/soak $(SEEDS)

clean:  ## remove what was built (.venv stays)
	rm -rf build out
