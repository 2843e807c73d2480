# expect.sh: for tests that look for a line in what `weir dump` says of kernels; they have set $weir
# and $dir, and end with `exit $status`.
#
# expect STAGE FILE PATTERN WHAT KERNEL MANY: does the dump of the stage have lines that match the
# pattern, which WHAT names: "some" or "no"
status=0
expect()
{
    "$weir" dump "$1" --kernel "$5" "$2" > "$dir/out"
    found=no
    grep -q "$3" "$dir/out" && found=some
    if [ "$found" != "$6" ]; then
        echo "failed: $5 has $found $4, not $6"
        status=1
    fi
}
