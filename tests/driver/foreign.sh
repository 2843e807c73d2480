#!/bin/sh
# usage: foreign.sh PROGRAM: what a process tells at its end of libraries that carry NVIDIA's runtime: once,
# and only where it is asked to.
program=$1
"$program" || exit 1
quiet=$("$program" 2>&1 | grep -c 'carries NVIDIA')
told=$(WEIR_LIBRARIES=on "$program" 2>&1 | grep -c 'driver_foreign carries NVIDIA')
advice=$(WEIR_LIBRARIES=on "$program" 2>&1 | grep -c 'from source')
# of modules that were not loaded, each reason once
reason=$(WEIR_LIBRARIES=on "$program" 2>&1 | grep -c 'module was not loaded: .*frobnicate')
[ "$reason" = 1 ] || { echo "failed: $reason lines of a module that was not loaded"; exit 1; }
# NVRTC asks for such tables as well, and works without
cp "$program" libnvrtc_of_test && compiler=$(WEIR_LIBRARIES=on ./libnvrtc_of_test 2>&1 | grep -c 'from source')
rm -f libnvrtc_of_test
[ "$compiler" = 0 ] || { echo "failed: NVRTC is told of"; exit 1; }
[ "$quiet$told$advice" = 011 ] || {
    echo "failed: $quiet lines without WEIR_LIBRARIES, $told and $advice with it, instead of 0, 1, 1"
    exit 1
}
