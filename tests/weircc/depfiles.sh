# Rules for make: targets, prerequisites, and that make itself reads them.
. "$(dirname "$0")/lib.sh"

run weircc -M a.cu
ok
says 'a.o : a.cu'
says 'a.h'
says '/include/cuda_runtime.h'
run weircc -MM a.cu -odir sub
ok
says 'sub/a.o : a.cu'
says_not 'cuda_runtime.h'
run weircc -MM b.cpp -MT 'one two'
ok
says 'one two :'
run weircc -MM b.cpp -MT 'target' -MF b.rule
ok
contains b.rule 'target : b.cpp'
contains b.rule 'a.h'
missing a.o b.o
run weircc -M a.cu -o rule.d
contains rule.d 'cuda_runtime.h'
! grep -q 'lib/weir' rule.d
note $? "names files that only weircc knows"

mkdir sub
run weircc -MMD -MP -c a.cu -o sub/x.o
ok
exists sub/x.o sub/x.d
contains sub/x.d 'sub/x.o : a.cu'
contains sub/x.d 'a.h:'
run weircc -MD -c a.cu b.cpp
ok
contains a.d 'a.o : a.cu'
contains b.d 'b.o : b.cpp'
run weircc -MMD -MF my.d -c a.cu
ok
contains my.d 'a.o : a.cu'
# one file with the rules of all inputs, anew each time
for again in 1 2; do
    run weircc -MMD a.cu b.cpp -MF x.d -c
    ok
    contains x.d 'a.o : a.cu'
    contains x.d 'b.o : b.cpp'
    [ "$(grep -c 'a.o :' x.d)" = 1 ]
    note $? "the rule of a.cu is not there once"
done
run weircc -MM a.cu b.cpp -MF y.d
ok
contains y.d 'a.o : a.cu'
contains y.d 'b.o : b.cpp'
run weircc -MM a.cu b.cpp -o y.d
fails
says 'A single input file is required'
run weircc -MD -E a.cu
fails

# What only one of the two passes includes is in the rule as well.
cat >both.cu <<'END'
#ifdef __CUDA_ARCH__
#include "device only.h"
#else
#include "host$only.h"
#endif
__global__ void k() {}
END
echo >'device only.h'
echo >'host$only.h'
run weircc -MMD -c both.cu
ok
contains both.d 'device\ only.h'
contains both.d 'host$$only.h'
contains both.d 'both.cu'
run weircc -MM both.cu
ok
says 'host$$only.h'

# make rebuilds when a header changes, and only then.
cat >Makefile <<'END'
NVCC = weircc
obj/%.o: %.cu
	@mkdir -p obj
	$(NVCC) -MMD -MP -c $< -o $@
all: obj/a.o
-include obj/a.d
END
run make all
ok
says 'weircc -MMD'
run make all
says_not 'weircc -MMD'
sleep 1
touch a.h
run make all
ok
says 'weircc -MMD'
done_
