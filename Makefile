# The front door: CMake and Ninja do the work. `make` builds, `make check` tests, `make demo` shows.
#
#   make [BUILD=build] [PRESET=release|debug|asan|tsan]
#   make install PREFIX=/usr/local [DESTDIR=...]
#
# Debian packages that are missing are installed first, as root or by sudo.

BUILD  ?= build
PREFIX ?= /usr/local
PRESET ?= release

.PHONY: all deps configure check demo bench bench-api bench-deps install clean
all: configure
	@cmake --build $(BUILD)

deps:
	@sh cmake/deps.sh

configure: deps
	@[ -f $(BUILD)/build.ninja ] || cmake --preset $(PRESET) -B $(BUILD)

check: all
	@ctest --test-dir $(BUILD) --output-on-failure -j$$(nproc)

demo: all
	@sh examples/demo.sh $(BUILD)

bench: all
	@sh bench/run.sh $(BUILD)

bench-api: all
	@sh bench/run.sh $(BUILD) --api

bench-deps:
	@sh cmake/deps.sh pocl-opencl-icd ocl-icd-opencl-dev

install: all
	@cmake --install $(BUILD) --prefix $(PREFIX)

clean:
	rm -rf $(BUILD)
