#!/bin/sh
# usage: foreign.sh PROGRAM: what a process tells at its end of libraries that carry NVIDIA's runtime: once,
# and only where it is asked to.
program=$1
"$program" || exit 1
quiet=$("$program" 2>&1 | grep -c 'carries NVIDIA')
told=$(WEIR_LIBRARIES=on "$program" 2>&1 | grep -c 'driver_foreign carries NVIDIA')
advice=$(WEIR_LIBRARIES=on "$program" 2>&1 | grep -c 'from source')
[ "$quiet$told$advice" = 011 ] || {
    echo "failed: $quiet lines without WEIR_LIBRARIES, $told and $advice with it, instead of 0, 1, 1"
    exit 1
}
