#!/bin/sh
# Puts into the static runtime the directory of libraries that it belongs to: a program of C++ alone has
# no CUDA object that records it, and the linker no run path.
#
#   place.sh CC AR ARCHIVE DIRECTORY    (no DIRECTORY: it is not known where the archive will be)
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '%s' "$4" >"$work/directory"
cat >"$work/cudart_place.s" <<END
	.hidden	__cudaWeirPlace
	.globl	__cudaWeirPlace
	.section	.rodata.__cudaWeirPlace,"a",%progbits
__cudaWeirPlace:
	.incbin	"$work/directory"
	.byte	0
	.section	.note.GNU-stack,"",%progbits
END
"$1" -c "$work/cudart_place.s" -o "$work/cudart_place.o"
"$2" rcs "$3" "$work/cudart_place.o"
