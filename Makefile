# What a person types. CMake does the work (CMakePresets.json); every target here can be run from a
# fresh checkout and brings what it needs.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

JOBS ?= $(shell nproc)
BUILD ?= build
PREFIX ?= /usr/local
CMAKE_ARGS ?=
# The executors of the virtual GPU for all CPUs; the demo needs but this one's.
ALL_ENGINES := "-DVGPU_ENGINES=v3;v4"
DEMO_ENGINES := $(if $(wildcard $(BUILD)/CMakeCache.txt),,-DVGPU_ENGINES=native)
# A name or regular expression: make test TESTS=hip
TESTS ?= .
# The same for the steps of test-rocm: make test-rocm ROCM='sid rocblas'
ROCM ?= .
SOAK ?= 1h
SOAK_ROUNDS ?= 200
# How many calls of each role, kind and way to fail: make test-faults FAULTS=1000 leaves out few.
FAULTS ?= 40

.PHONY: help deps test-deps build test test-san test-kernel test-kernel-full test-rocm test-faults test-systemd dist packages test-dist dkms-deb fuzz bench bench-full soak demo demo-llm install format format-check lint clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

deps: ## Install the packages that are missing (apt)
	@scripts/install-deps

test-deps: deps ## Install also what some tests look at results with: Chromium, protoc (apt)
	@scripts/install-deps --test

build: deps ## Build everything into build/ (programs in build/bin, libraries in build/lib)
	@cmake --preset release -B $(BUILD) $(ALL_ENGINES) $(CMAKE_ARGS) > /dev/null
	@cmake --build $(BUILD) -j $(JOBS)

test: test-deps build ## Build and run all tests (TESTS=<regex> runs some of them)
	@ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS) -R '$(TESTS)'

test-san: deps ## Build and run the tests again under AddressSanitizer and ThreadSanitizer
	@scripts/test-san -j $(JOBS)

test-kernel: deps ## Test the kernel patches, and the stock driver, in virtual machines
	@cmake --preset release -B $(BUILD) $(CMAKE_ARGS) > /dev/null
	@cmake --build $(BUILD) -j $(JOBS) --target gpreempt gpreemptd kernel_stock_test kernel_online_program
	@kernel/test --build $(BUILD)

test-kernel-full: deps ## The same and the whole module, and a kernel with KASAN and lockdep: long
	@cmake --preset release -B $(BUILD) $(CMAKE_ARGS) > /dev/null
	@cmake --build $(BUILD) -j $(JOBS) --target gpreempt gpreemptd kernel_stock_test kernel_online_program
	@kernel/test --full --build $(BUILD)

test-rocm: deps ## Test on ROCm 6.1, 6.4 and 7.2 (ROCM=<regex> runs some steps): 4 GB to fetch, 30 min
	@cmake --preset release -B $(BUILD) $(ALL_ENGINES) $(CMAKE_ARGS) > /dev/null
	@cmake --build $(BUILD) -j $(JOBS) --target rocm_programs
	@tests/rocm/all --build $(BUILD) --only '$(ROCM)' --table docs/rocm.md || [ $$? -eq 77 ]

dist: deps ## Make the archive of a release: for every x86-64 Linux with glibc 2.28 or newer
	@scripts/dist --build $(BUILD)

packages: deps ## The same, and packages of it: .deb, and .rpm where there is rpmbuild
	@scripts/dist --build $(BUILD) --packages

test-dist: dist ## Run that archive on the oldest and the newest Debian there is: some MB to fetch
	@tests/packaging/other-systems --build $(BUILD) || [ $$? -eq 77 ]

dkms-deb: ## Build the package gpreempt-dkms: amdgpu with the kernel patches (docs/dkms.md)
	@packaging/dkms/build-deb $(BUILD)

fuzz: deps ## Fuzz the decoder, parsers, messages and vgpud for a minute
	@scripts/fuzz -j $(JOBS)

bench: deps ## Measure: the virtual GPU against native code, then gpreempt's scenarios in short
	@cmake --preset release -B $(BUILD) $(CMAKE_ARGS) > /dev/null
	@cmake --build $(BUILD) -j $(JOBS) --target demo_programs bench_programs
	@bench/run --build $(BUILD) --output bench.json
	@$(BUILD)/bin/gpreempt bench --output gpreempt-bench

bench-full: deps ## The scenarios at full length: two hours and more
	@cmake --preset release -B $(BUILD) $(CMAKE_ARGS) > /dev/null
	@cmake --build $(BUILD) -j $(JOBS) --target demo_programs
	@$(BUILD)/bin/gpreempt bench --full --output gpreempt-bench

test-faults: deps ## Each call and allocation of daemon, keeper and agent fails once: 2,000 faults, half an hour
	@cmake --preset release -B $(BUILD) $(CMAKE_ARGS) > /dev/null
	@cmake --build $(BUILD) -j $(JOBS) --target daemon_gpu_tests
	@GPREEMPT_FAULTS_MOST=$(FAULTS) $(BUILD)/bin/vgpu run --kfd 1.17 -- \
	  $(BUILD)/bin/daemon_gpu_tests --gtest_filter='GpuFaults.*'

test-systemd: deps ## Run the unit under a systemd of its own, with every mechanism; as root
	@cmake --preset release -B $(BUILD) $(CMAKE_ARGS) > /dev/null
	@cmake --build $(BUILD) -j $(JOBS) --target gpreempt gpreemptd gpreempt-keeper \
	  gpreempt-pause-guard gpreempt_agent vgpu vgpud vgpu_preload hip_helpers
	@tests/packaging/under-systemd $(BUILD) || [ $$? -eq 77 ]

soak: deps ## Random deaths, then random requests for hours (SOAK=1h): leaks, lost results, jobs left stopped
	@cmake --preset release -B $(BUILD) $(CMAKE_ARGS) > /dev/null
	@cmake --build $(BUILD) -j $(JOBS) --target demo_programs daemon_gpu_tests
	@GPREEMPT_SEED=$${GPREEMPT_SEED:-$$RANDOM} GPREEMPT_ROUNDS=$(SOAK_ROUNDS) $(BUILD)/bin/vgpu run --kfd 1.17 -- \
	  $(BUILD)/bin/daemon_gpu_tests --gtest_filter='GpuRandom.*'
	@$(BUILD)/bin/gpreempt bench stability --full --duration $(SOAK) --output gpreempt-soak

demo: deps ## Two HIP programs share a GPU, without and with gpreempt: a table and a report
	@cmake --preset release -B $(BUILD) $(DEMO_ENGINES) $(CMAKE_ARGS) > /dev/null
	@cmake --build $(BUILD) -j $(JOBS) --target demo_programs
	@$(BUILD)/bin/gpreempt demo

# One that is installed is used; else Debian sid's is fetched, and runs beside this system.
demo-llm: deps ## The same with a language model: llama-server answers while a job trains
	@cmake --preset release -B $(BUILD) $(DEMO_ENGINES) $(CMAKE_ARGS) > /dev/null
	@cmake --build $(BUILD) -j $(JOBS) --target demo_programs
	@server=$$(command -v llama-server) || server=$$(scripts/llama-cpp)/llama-server; \
	  $(BUILD)/bin/gpreempt demo --llm --llama-server "$$server" --output gpreempt-demo-llm

install: build ## Install under PREFIX (/usr/local)
	@cmake --install $(BUILD) --prefix $(PREFIX)

format: ## Format all sources
	@scripts/format --write

format-check: ## Say which sources are not formatted, and what is wrong in the docs
	@scripts/format --check
	@python3 tests/docs/check_docs.py

lint: deps ## Run clang-tidy
	@scripts/lint -j $(JOBS)

clean: ## Remove what was built
	@rm -rf build build-asan build-tsan build-fuzz build-lint bench.json gpreempt-demo gpreempt-demo-llm gpreempt-bench gpreempt-soak
