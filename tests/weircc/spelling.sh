# What the options mean: the commands that weircc makes of them, read from --dryrun, and that clang
# and the host compiler take those commands.
. "$(dirname "$0")/lib.sh"

dry() { run weircc --dryrun "$@"; ok; }

# Every command starts with "#$", in two passes with a fat binary between them.
dry -c a.cu
says '--cuda-device-only'
says '--cuda-host-only'
says '--step=fatbin'
says '-o a.o'
says '--cuda-gpu-arch=sm_75'
says '-D__CUDA_ARCH_LIST__=750'
missing a.o

# Long and short spellings of the same thing.
for pair in '-o x.o|--output-file=x.o' '-D=A=1|--define-macro=A=1' '-I d|--include-path=d' \
    '-O2|--optimize=2' '-G|--device-debug' '-arch=sm_80|--gpu-architecture=sm_80' \
    '-gencode=arch=compute_80,code=sm_80|--generate-code=arch=compute_80,code=sm_80' \
    '-Xcompiler -Wall,-Wextra|--compiler-options=-Wall,-Wextra' '-rdc=true|--relocatable-device-code=true' \
    '-std=c++14|--std c++14' '-lineinfo|--generate-line-info' '-ftz=true|--ftz=true' \
    '-default-stream per-thread|--default-stream=per-thread' '-isystem s|--system-include=s' \
    '-include a.h|--pre-include=a.h' '-w|--disable-warnings' '-g|--debug' '-U X|--undefine-macro=X'; do
    # shellcheck disable=SC2086
    run weircc --dryrun -c a.cu ${pair%|*}
    ok
    sed 's/weircc-[A-Za-z0-9]*//g' out >first
    # shellcheck disable=SC2086
    run weircc --dryrun -c a.cu ${pair#*|}
    ok
    sed 's/weircc-[A-Za-z0-9]*//g' out >second
    cmp -s first second
    note $? "the spellings differ: $pair"
done

# What CUDA has dropped: where it is asked for, and for GPUs of that time.
for legacy in --legacy-api -arch=sm_35 '--legacy-api -x c++' '-gencode arch=compute_30,code=sm_30'; do
    # shellcheck disable=SC2086
    dry -c a.cu $legacy
    says '-DWEIR_LEGACY_API=1'
done
dry -c a.cu -arch=sm_60
says_not 'WEIR_LEGACY_API'

dry -c a.cu -DX=1,Y '-DZ="p,q"' -I d1,d2 -std=c++14
says '-DX=1 -DY'
says '-I d1 -I d2'
says '-std=c++14'

dry -c a.cu -Xcompiler -fPIC,-DFOO -Xcompiler '"-DL=a,b"' -O3
says '-O3 -fPIC -DFOO -DL=a,b'

dry -c a.cu -use_fast_math
says '-fgpu-approx-transcendentals'
says '-fgpu-flush-denormals-to-zero'
says '-nvptx-prec-divf32=0'
says '-nvptx-prec-sqrtf32=0'
says_not '-ffp-contract=off'
dry -c a.cu -fmad=false -prec-div=false
says '-ffp-contract=off'
says '-nvptx-prec-divf32=1'
says_not '-nvptx-prec-sqrtf32'

dry a.cu b.cpp c.c -o prog -Lx -lfoo -Xlinker -rpath,/r
says '-x c++'
says '-x c '
says '-lfoo -Xlinker -rpath -Xlinker /r'
says '-lcudart_static'
says "-Xlinker -rpath -Xlinker $build/lib"
dry a.cu -cudart shared
says '-lcudart '
says_not 'cudart_static'
dry a.cu -cudart=none
says_not 'cudart'
dry a.cu -shared -Xcompiler -fPIC -o lib.so
says ' -shared'
dry a.cu -ccbin g++
says '#$ g++ -m64'
dry c.c -c -std=c++17
says_not '-std='

# clang's own options and those of the host compiler are taken: many at once, and in the long test
# each by itself.
taken() {
    rm -f a.o
    run weircc -c a.cu "$@"
    ok
    exists a.o
    says_not 'warning'
}
taken -G -default-stream per-thread -std=c++11 -Xcompiler -Wall,-Wextra,-fPIC,-fno-strict-aliasing -noeh -pg
taken -lineinfo -src-in-ptx -frandom-seed 7 -rdc=true -std=c++20 -arch=sm_90a -brief-diag=true -Wreorder -w \
    -Xptxas -v,-O3 -maxrregcount 32 -res-usage
taken -g -O2 -use_fast_math -Werror all-warnings,reorder -ftemplate-depth 500 -ftemplate-backtrace-limit=3 \
    -arch=sm_52 --expt-relaxed-constexpr --extended-lambda -restrict -t 4 -m64
taken -ftz=true -prec-div=false -prec-sqrt=false -fmad=false \
    -Xcompiler -fopenmp,-march=native,-fno-gnu-unique,-fabi-version=11,-fno-tree-pre,-ftree-vectorize,-floop-block,-export-dynamic
for flags in '-G' '-lineinfo' '-g -O2' '-use_fast_math' '-ftz=true -prec-div=false -prec-sqrt=false -fmad=false' \
    '-default-stream per-thread' '-std=c++11' '-std=c++20' '-Xcompiler -Wall,-Wextra,-fPIC,-fno-strict-aliasing' \
    '-rdc=true' '-lineinfo -src-in-ptx' '-Werror all-warnings,reorder' '-Wreorder -w' '-noeh' \
    '-ftemplate-depth 500 -ftemplate-backtrace-limit=3' '-brief-diag=true' '-frandom-seed 7 -rdc=true' \
    '-arch=sm_52' '-arch=sm_90a' '-pg' '-Xcompiler -fopenmp,-march=native,-fno-gnu-unique,-fabi-version=11,-fno-tree-pre,-ftree-vectorize,-floop-block,-export-dynamic' '-Xptxas -v,-O3 -maxrregcount 32 -res-usage' \
    '--expt-relaxed-constexpr --extended-lambda -restrict -t 4 -m64'; do
    [ -n "$TEST_EXHAUSTIVE" ] || break
    # shellcheck disable=SC2086
    taken $flags
done
run weircc -c c.c b.cpp -O2 -g -Xcompiler -Wall
ok
exists c.o b.o

# The architecture reaches the source and the PTX.
cat >arch.cu <<'END'
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ != 860
#error wrong architecture
#endif
__global__ void k(int *p) { *p = __CUDA_ARCH__; }
END
run weircc -ptx arch.cu -gencode arch=compute_70,code=sm_70 -gencode arch=compute_86,code=[sm_86,compute_86]
ok
contains arch.ptx '.target sm_86'
contains arch.ptx '860'

# What the toolkit is.
run weircc --version
ok
says 'release 13.0, V13.0.'
says 'Weir'
run weircc --help
ok
says '--output-file <file>'
run weircc --list-gpu-arch
ok
says 'compute_90'
run weircc --list-gpu-code --list-gpu-arch
says 'arch=compute_75,code=sm_75'
done_
