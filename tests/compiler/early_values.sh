#!/bin/sh
# usage: early_values.sh WEIR: what is made after a barrier of many values that nothing else needs is made
# before it, each part where its operands are known; not where the register is read before.
set -eu
weir=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
status=0

# The lanes that have a thread's digit, chosen after a barrier among four votes. In `carried`, the
# register that gets them is read after the barrier before that: it has what the last iteration put there.
kernel()
{
    cat <<PTX
.visible .entry $1(.param .u64 in, .param .u64 out, .param .u32 n)
{
.reg .b32 %t, %n, %x, %a, %b, %c, %d, %k, %l, %m, %s, %u; .reg .b64 %p, %w, %q; .reg .pred %e, %f, %g, %h, %i;
mov.u32 %t, %tid.x; mul.wide.u32 %w, %t, 4; ld.param.u64 %p, [in]; add.u64 %q, %p, %w; ld.param.u32 %n, [n];
mov.u32 %u, 0;
ld.global.u32 %x, [%q];
LOOP:
add.u32 %x, %x, 1;
setp.eq.u32 %e, %x, 0; vote.sync.ballot.b32 %a, %e, -1;
setp.eq.u32 %f, %x, 1; vote.sync.ballot.b32 %b, %f, -1;
setp.eq.u32 %g, %x, 2; vote.sync.ballot.b32 %c, %g, -1;
setp.eq.u32 %h, %x, 3; vote.sync.ballot.b32 %d, %h, -1;
bar.sync 0;
$2
selp.b32 %k, %a, 7, %e; selp.b32 %l, %b, %k, %f; selp.b32 %m, %c, %l, %g; selp.b32 %s, %d, %m, %h;
add.u32 %u, %u, %s;
sub.u32 %n, %n, 1; setp.ne.u32 %i, %n, 0;
@%i bra LOOP;
ld.param.u64 %p, [out]; add.u64 %q, %p, %w; st.global.u32 [%q], %u;
ret;
}
PTX
}
{
    printf '.version 8.0\n.target sm_80\n.address_size 64\n'
    kernel early ""
    kernel carried "xor.b32 %u, %u, %s;"
} >"$dir/values.ptx"

# expect KERNEL NUMBER: selections that are made between the first vote and the barrier
expect()
{
    "$weir" dump --uniformity --block 256 --kernel "$1" "$dir/values.ptx" >"$dir/out"
    early=$(awk '/^block/ { after = barrier; barrier = /barrier/ } / selp/ && !after { n++ } END { print n + 0 }' "$dir/out")
    [ "$early" = "$2" ] || {
        echo "$1: $early selections before the barrier, not $2" >&2
        cat "$dir/out" >&2
        status=1
    }
}
expect early 4
expect carried 3
exit $status
