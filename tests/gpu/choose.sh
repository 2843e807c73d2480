#!/bin/sh
# Which device a program gets by each way of asking for one: choose.sh DRIVER PROGRAM [WEIR]. The program
# prints a line "device 0: NAME, ...", WEIR is the tool, where it is there. Prints one line a way, as the
# table of run.sh has them.
set -u
driver=$1 program=$2 weir=${3:-}
unset LD_PRELOAD WEIR_DRIVER

# way KIND COMMAND...: the program runs, on a device of that kind.
way() {
    kind=$1
    shift
    name=$(env "$@" 2>&1 </dev/null | sed -n 's/^device 0: \([^,]*\),.*/\1/p')
    case $name in
    '') got=none ;;
    *Weir*) got=cpu ;;
    *) got=gpu ;;
    esac
    if [ $got = "$kind" ]; then
        printf 'passed\tchoose %s\t\n' "$*"
    else
        printf 'failed\tchoose %s\tdevice: %s\n' "$*" "${name:-none}"
    fi
}

way gpu WEIR_DRIVER=gpu "$program"
way gpu WEIR_DRIVER=auto "$program"
way gpu WEIR_DRIVER="$driver" "$program"
[ -n "$weir" ] && [ -x "$weir" ] || exit 0
way gpu "$weir" run --device=gpu "$program"
way cpu "$weir" run --device=cpu "$program"
way cpu "$weir" run "$program"
if "$weir" info 2>&1 | grep -A1 '^GPU driver: /' | grep -q '^device 0: '; then
    printf 'passed\tchoose weir info\t\n'
else
    printf 'failed\tchoose weir info\tit names no driver of a GPU with a device\n'
fi
