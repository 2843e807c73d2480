#!/bin/sh
# usage: shared_counters.sh WEIR: at which atomics warps wait so that one addition serves all of them: additions whose
# old value is read, at an address that follows from parameters, once and in no loop, in kernels in which nothing orders
# memory or belongs to a block.
set -eu
weir=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# kernel NAME TAKE [BEFORE]: appends the threads with an odd key to a list, taking a place each by TAKE, after BEFORE
kernel() {
    cat <<PTX
.visible .entry $1(.param .u64 keys, .param .u64 list, .param .u64 length)
{
.reg .b32 %t, %b, %d, %i, %v, %w, %n, %m; .reg .b64 %p<4>, %o, %a, %c, %e; .reg .pred %q, %more;
.shared .align 4 .b8 mine[128];
ld.param.u64 %p1, [keys]; ld.param.u64 %p2, [list]; ld.param.u64 %p3, [length];
mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %d, %ntid.x; mad.lo.s32 %i, %b, %d, %t;
mul.wide.u32 %o, %i, 4; add.s64 %a, %p1, %o; add.s64 %e, %p3, 8; ld.global.u32 %v, [%a]; mov.u32 %n, 0; mov.u32 %m, 0;
${3:-}
and.b32 %w, %v, 1; setp.eq.u32 %q, %w, 0; @%q bra DONE;
LOOP:
$2
mul.wide.u32 %o, %n, 4; add.s64 %c, %p2, %o; st.global.u32 [%c], %i;
DONE:
ret;
}
PTX
}
{
    printf '.version 8.0\n.target sm_80\n.address_size 64\n'
    kernel ones 'atom.global.add.u32 %n, [%p3], 1;' | grep -v 'mine'
    kernel beyond 'atom.relaxed.gpu.global.add.u32 %n, [%e+4], %v;' | grep -v 'mine'
    kernel unread 'atom.global.add.u32 %m, [%p3], 1;' | grep -v 'mine'
    kernel greatest 'atom.global.max.u32 %n, [%p3], %v;' | grep -v 'mine'
    kernel wrapping 'atom.global.inc.u32 %n, [%p3], %v;' | grep -v 'mine'
    kernel exchanged 'atom.global.exch.b32 %n, [%p3], %v;' | grep -v 'mine'
    kernel own 'atom.global.add.u32 %n, [%a], 1;' | grep -v 'mine'
    kernel acquiring 'atom.acquire.gpu.global.add.u32 %n, [%p3], 1;' | grep -v 'mine'
    kernel system 'atom.relaxed.sys.global.add.u32 %n, [%p3], 1;' | grep -v 'mine'
    kernel fenced 'atom.global.add.u32 %n, [%p3], 1;' 'membar.gl;' | grep -v 'mine'
    kernel volatile 'atom.global.add.u32 %n, [%p3], 1;' 'ld.volatile.global.u32 %m, [%p3];' | grep -v 'mine'
    kernel several 'atom.global.add.u32 %m, [%p3], 1; atom.global.add.u32 %n, [%e], %m;' | grep -v 'mine'
    kernel again 'atom.global.add.u32 %n, [%p3], 1; setp.lt.u32 %more, %n, %v; @%more bra LOOP;' | grep -v 'mine'
    kernel with_barrier 'atom.global.add.u32 %n, [%p3], 1;' 'bar.sync 0;' | grep -v 'mine'
    kernel with_shared 'atom.global.add.u32 %n, [%p3], 1;' 'ld.shared.u32 %v, [mine];'
} >"$dir/counters.ptx"

status=0
# expect HOW-MANY KERNEL...: atomics at which warps wait
expect() {
    many=$1
    shift
    for kernel; do
        found=$("$weir" dump --uniformity --kernel "$kernel" "$dir/counters.ptx" | grep -c '(counter)' || true)
        [ "$found" = "$many" ] || {
            echo "$kernel: warps wait at $found counters, expected $many"
            status=1
        }
    done
}
expect 1 ones beyond
expect 0 unread greatest wrapping exchanged own acquiring system fenced volatile several again with_barrier with_shared
exit $status
