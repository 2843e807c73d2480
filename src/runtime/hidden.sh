#!/bin/sh
# Writes assembler text that makes the global symbols of an object file hidden in whatever is linked
# of both: a plugin with the static runtime must not lend its functions to another one.
#
#   hidden.sh NM OBJECT OUTPUT
set -eu
"$1" -g --defined-only "$2" | awk 'NF == 3 { print "\t.hidden\t" $3 }
    END { print "\t.section\t.note.GNU-stack,\"\",%progbits" }' >"$3"
