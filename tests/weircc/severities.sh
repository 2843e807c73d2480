# Warnings that nvcc has numbers for, by these: #pragma nv_diag_suppress and its kin, and the command line.
. "$(dirname "$0")/lib.sh"

cat >a.h <<'END'
inline void in_header(int x) { x + 1; }
#pragma nv_diag_suppress 174
END
cat >a.cu <<'END'
__device__ int variable;
void host(int);
void plain(int x) { x + 2; }
#include "a.h"
void after_header(int x) { x + 3; }
#pragma nv_diag_default 174
void again(int x) { x + 4; }
#pragma nv_diagnostic push
#pragma nv_diag_suppress = expr_has_no_effect, 940
void pushed(int x) { x + 5; }
__device__ int falls(int x) { if (x) return 3; }
#pragma nv_diagnostic pop
void popped(int x) { x + 6; }
#define QUIET _Pragma("nv_diag_suppress 174,20014")
QUIET
void by_macro(int x) { x + 7; }
__host__ __device__ int both(int x) { if (x > 4) host(x); return x; }
__global__ void kernel() { both(3); }
#pragma nv_diag_suppress 20091
int read() { return variable; }
#pragma nv_diag_warning 174
void warned(int x) { x + 8; }
#pragma diag_suppress 174
void old_word(int x) { x + 9; }
END
told() { # told KIND LINE...: it says that of these lines of a.cu alone
    kind=$1
    shift
    for line in "$@"; do
        says "a.cu:$line:"
    done
    [ "$(grep -c "$kind: " out)" = $# ]
    note $? "other lines than $*"
}
run weircc -c a.cu
ok
says 'a.h:1:34: warning: expression result unused'
sed -i '/a.h:1:/d' out
told warning 3 7 13 22 24
# The command line; what the source says comes after it.
run weircc -c a.cu -diag-suppress 174
ok
told warning 22 24
run weircc -c a.cu -Xcudafe --diag_suppress=expr_has_no_effect
ok
told warning 22 24
rm -f a.o
run weircc -c a.cu -Xcudafe --diag_suppress=174 -Werror all-warnings
fails
told error 22 24
says '2 errors detected'
missing a.o
sed -i 's/nv_diag_warning/nv_diag_suppress/' a.cu
run weircc -c a.cu -Xcudafe --diag_suppress=174 -Werror all-warnings
ok
says_not error
exists a.o
# Errors, in either half.
rm -f a.o
echo '#pragma nv_diag_error 174
void g(int x) { x + 1; }' >a.cu
run weircc -c a.cu -o a.o
fails
told error 2
missing a.o
run weircc -c a.cu -diag-suppress 174
fails
echo '__device__ int f(int x) { if (x) return 1; }' >a.cu
run weircc -c a.cu -diag-error 940 -o a.o
fails
told error 1
run weircc -c a.cu -Xcudafe --diag_error=177,--diag_warning=940
ok
told warning 1
# A warning of the whole file, and one of the preprocessor.
echo 'extern __device__ int x;
__global__ void k(int *p) { *p = x; }' >a.cu
run weircc -c a.cu -o a.o
ok
says "warning: the device variable 'x'"
rm -f a.o
run weircc -c a.cu -o a.o -Werror all-warnings
fails
says "error: the device variable 'x'"
missing a.o
sed -i '1i #pragma nv_diag_suppress 20044' a.cu
run weircc -c a.cu -o a.o -Werror all-warnings
ok
says_not "device variable"
printf '#warning so\nint x;\n' >a.cu
run weircc -E a.cu -Werror all-warnings
fails
says "a.cu:1:2: error: so"
run weircc -E a.cu
ok
# Logic with a constant: neither nvcc nor gcc speaks of it, unless asked.
cat >logic.cu <<'END'
constexpr int flag = 4;
template <int N> __global__ void k(int *p, int n) { *p = (n && flag) + (n || 3) + (n && N); }
int h(int *p, int n) { k<2><<<1, 1>>>(p, n); return n && 8; }
END
run weircc -Xcompiler -Wall -c logic.cu
ok
says_not warning
run weircc -Xcompiler -Wconstant-logical-operand -c logic.cu
ok
says "logic.cu:3:55: warning: use of logical '&&' with constant operand"
done_
