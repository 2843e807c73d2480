# The front door: CMake and Ninja do the work. `make` builds, `make check` tests, `make demo` shows.
#
#   make [BUILD=build] [PRESET=release|debug|asan|tsan]
#   make check                      the tests: some minutes on two CPUs
#   make check-long                 what costs more than it usually finds: new seeds, every combination
#   make check-checks               the conformance programs under every check: an hour or more
#   make corpus                     the corpora of races and of other checks: a table by kind
#   make check-python               Python's packages from PyPI: the wheel, PyCUDA's and numba-cuda's suites
#   make check-asan | check-tsan    the tests under sanitizers, in builds of their own
#   make check-gpu                  the conformance programs on this machine's GPU, over Weir's runtime
#   make check-nvcc                 63 of the conformance programs as NVIDIA's nvcc 13 builds them, where it is
#   make check-gpu-pack             writes build/check-gpu.tar.xz: the same for a machine without a compiler
#   make model                      the allocator against a reference, 10 million operations
#   make kill                       processes that share memory, each killed 200 times at any point
#   make fuzz-kernels SECONDS=600   kernels at random against an interpreter of PTX
#   make fuzz-containers SECONDS=600  damaged fat binaries, objects and archives at random
#   make fuzz-programs SECONDS=600  CUDA programs at random against the same programs run on the host
#   make fuzz-api SECONDS=600       API calls at random against a model of their meaning
#   make load MINUTES=30            a day's load in short: processes that work in little memory and are killed
#   make coverage                   rewrites docs/coverage.md from what the code says
#   make wheel                      a Python wheel in BUILD/wheel: pip install it, then weir run python ...
#   make cccl                       brings Thrust, CUB and libcu++, where the machine has none
#   make install PREFIX=/usr/local [DESTDIR=...]
#
# Debian packages that are missing are installed first, as root or by sudo.

BUILD  ?= build
PREFIX ?= /usr/local
PRESET ?= release

.PHONY: all deps configure check check-long check-checks corpus check-python check-asan check-tsan check-gpu check-gpu-pack check-nvcc model kill fuzz-containers fuzz-kernels fuzz-programs fuzz-api load coverage demo bench bench-256 bench-api bench-gpu bench-checks bench-counts bench-scaling bench-pools bench-nested bench-deps cccl install wheel clean
all: configure
	@cmake --build $(BUILD)
	@sh cmake/cccl.sh $(BUILD) once

deps:
	@sh cmake/deps.sh

configure: deps
	@[ -f $(BUILD)/build.ninja ] || cmake --preset $(PRESET) -B $(BUILD)

check: all
	@ctest --test-dir $(BUILD) --output-on-failure -j$$(nproc)

# Only those of the label "long" (long_test in tests/CMakeLists.txt), which `make check` leaves out.
check-long: all
	@ctest --test-dir $(BUILD) --output-on-failure -j$$(nproc) -C long -L '^long$$'

# The conformance programs under every check (weir run --check): an hour or more.
check-checks: all
	@ctest --test-dir $(BUILD) --output-on-failure -C long -R '^checks.sweep$$'

# Which kinds of faults the checks find: a table.
corpus: all
	@python3 tests/races/table.py $(BUILD)/bin/weir $(BUILD)

check-python: all
	@sh cmake/deps.sh patchelf
	@sh tests/python/check.sh $(BUILD) all

# Address and undefined-behaviour sanitizers: everything but what only looks at the compiler, the
# headers or the names (see WEIR_SANITIZE under tests/). CUDA programs are linked with them too.
check-asan: deps
	@[ -f build-asan/build.ninja ] || cmake --preset asan
	@cmake --build build-asan
	@ctest --test-dir build-asan --output-on-failure -j$$(nproc)

# ThreadSanitizer knows no compiled kernels, so it checks what runs them: streams, events, workers.
check-tsan: deps
	@[ -f build-tsan/build.ninja ] || cmake --preset tsan
	@cmake --build build-tsan --target tests/device/all tests/pool/all tests/loader/all tests/sequences/all weir_conformance
	@TSAN_OPTIONS=suppressions=$(CURDIR)/tests/tsan.supp \
	  ctest --test-dir build-tsan --output-on-failure -j$$(nproc) -R '^(device|pool|loader|conformance|sequences)\.'

# Programs of weircc on NVIDIA's driver (docs/gpu.md). A machine with a GPU and without clang-19 unpacks the
# archive and runs check-gpu/run.sh.
check-gpu: configure
	@cmake --build $(BUILD) --target check_gpu_programs
	@$(BUILD)/check-gpu/run.sh

check-gpu-pack: configure
	@cmake --build $(BUILD) --target check_gpu_programs
	@tar -C $(BUILD) -cJf $(BUILD)/check-gpu.tar.xz check-gpu
	@echo "$(BUILD)/check-gpu.tar.xz: unpack it where the GPU is, and run check-gpu/run.sh"

# NVIDIA's compiler with Weir's runtime, shared and static.
check-nvcc: all
	@tests/nvcc/check.sh $(CURDIR) $(abspath $(BUILD))

# The tests do the same in short.
model: configure
	@cmake --build $(BUILD) --target test_pool_model
	@$(BUILD)/bin/test_pool_model 10000000

kill: configure
	@cmake --build $(BUILD) --target ipc_kill ipc_other weir-jit
	@WEIR_FAULTS=off $(BUILD)/tests/ipc/ipc_kill $(BUILD)/tests/ipc/ipc_other 200

# A process for each CPU, from seeds of the time; what differs stays in BUILD/fuzz-kernels.
SECONDS ?= 600
fuzz-kernels: configure
	@cmake --build $(BUILD) --target fuzz_kernels weir-jit
	@sh tests/fuzz/long.sh $(BUILD) $(SECONDS)

# Damaged fat binaries, objects, archives and the rest, by the readers alone and by the driver's calls.
fuzz-containers: configure
	@cmake --build $(BUILD) --target container_fuzz driver_load_fuzz
	@$(BUILD)/bin/container_fuzz $(SECONDS) $$(date +%s)
	@$(BUILD)/tests/driver/driver_load_fuzz $(SECONDS) $$(date +%s)

# What differs stays in BUILD/fuzz-programs.
fuzz-programs: configure
	@cmake --build $(BUILD) --target cuda cudart cudart_static cudadevrt weir-jit weircc weircc_support weir_headers weir_devlib
	@python3 tests/programs/run.py $(BUILD) --seeds now:100000000 --seconds $(SECONDS) --jobs $$(nproc) \
	  --sample 2 --keep $(BUILD)/fuzz-programs

# A process for each second CPU, since each has several threads.
fuzz-api: configure
	@cmake --build $(BUILD) --target api_sequences weir-jit
	@sh tests/sequences/long.sh $(BUILD) $(SECONDS)

MINUTES ?= 30
load: configure
	@cmake --build $(BUILD) --target load_day
	@$(BUILD)/bin/load_day $(BUILD)/tests/load/load_worker $$(($(MINUTES) * 60))

coverage: all
	@cmake --build $(BUILD) --target coverage

demo: all
	@sh examples/demo.sh $(BUILD)

# Draws BUILD/performance.svg, too.
bench: all
	@sh bench/run.sh $(BUILD)
	@python3 bench/checks.py $(BUILD) --rounds 1 --checks races=streams,races

# For a CPU with AVX-512: the same with 256 bits, against native code for AVX2.
bench-256: all
	@sh bench/run.sh $(BUILD) --vectors=256

bench-api: all
	@sh bench/run.sh $(BUILD) --api

# Calls on this machine's GPU, through Weir's runtime and NVIDIA's; without a GPU it says so.
bench-gpu: all
	@sh bench/gpu.sh $(BUILD)

bench-checks: all
	@cmake --build $(BUILD) --target weir_bench_kernels >/dev/null && python3 bench/checks.py $(BUILD)

bench-counts: all
	@sh bench/run.sh $(BUILD) --counts

bench-scaling: all
	@cmake --build $(BUILD) --target weir_bench >/dev/null && sh bench/scaling.sh $(BUILD)

bench-pools: all
	@sh bench/run.sh $(BUILD) --pools

bench-nested: all
	@sh bench/run.sh $(BUILD) --nested

bench-deps:
	@sh cmake/deps.sh pocl-opencl-icd ocl-icd-opencl-dev libmimalloc-dev libjemalloc-dev libopenblas0

install: all
	@cmake --install $(BUILD) --prefix $(PREFIX)

wheel: all
	@sh cmake/deps.sh patchelf
	@python3 tools/wheel/make.py $(BUILD) $(BUILD)/wheel

# NVIDIA's open libraries of headers, if the machine has none; `make` tries once and goes on without.
cccl: configure
	@cmake --build $(BUILD) --target weircc weir_headers
	@sh cmake/cccl.sh $(BUILD)

clean:
	rm -rf $(BUILD)
