# OpenMP in host code of CUDA files: objects are gcc's, so that whoever links them brings the library that they
# call; where gcc does not take the code, or clang is asked for, it is clang's.
. "$(dirname "$0")/lib.sh"
WEIR_CACHE_DIR=$scratch/cache
export WEIR_CACHE_DIR
unset LD_LIBRARY_PATH
omp='-Xcompiler -fopenmp'
libs="-L$build/lib/weir/cuda/lib64 -lcudadevrt -lcudart_static -ldl -lpthread -lrt"

cat >sums.cu <<'END_OF_FILE'
#include <cstdio>
#include <omp.h>
template <class F> __global__ void each(int *p, F f) { f(p); }
int main()
{
    int *p, threads = 0;
    cudaMallocManaged(&p, sizeof *p);
    *p = 0;
#pragma omp parallel for reduction(+ : threads) num_threads(4)
    for (int i = 0; i < 8; i++) {
        cudaStream_t stream;
        cudaStreamCreate(&stream);
        each<<<1, 32, 0, stream>>>(p, [=] __device__(int *to) { atomicAdd(to, i); });
        cudaStreamSynchronize(stream);
        threads += omp_get_num_threads();
    }
    printf("sum %d threads %d\n", *p, threads);
    return 0;
}
END_OF_FILE
computes() {
    ok
    run "./$1"
    ok
    says 'sum 896 threads 32'
}

# As CMake builds it: the link is g++'s.
for options in -c -dc '-c -Xptxas -v -Xcompiler -Wall,-fPIC -std=c++17'; do
    run weircc --extended-lambda $omp $options sums.cu -o sums.o
    ok
    run g++ -fopenmp sums.o $libs -o by_gcc
    computes by_gcc
    run weircc $omp sums.o -o by_weircc
    computes by_weircc
done
run weircc --extended-lambda $omp sums.cu -o at_once
computes at_once
run weircc --extended-lambda --host-frontend=clang $omp -c sums.cu
ok
run nm sums.o
says '__kmpc_fork_call'
run weircc $omp -o clangs sums.o
computes clangs

# Messages of gcc are shown once it has made the object.
cat >warns.cu <<'END_OF_FILE'
__global__ void k() {}
int main()
{
    int unused;
#pragma omp parallel
    k<<<1, 1>>>();
}
END_OF_FILE
run weircc $omp -Xcompiler -Wall -c warns.cu
ok
says 'unused variable'
run nm warns.o
says 'GOMP_parallel'

# What gcc does not take is clang's, with a warning; what neither takes is shown as clang says it.
cat >clang_alone.cu <<'END_OF_FILE'
typedef int pair __attribute__((ext_vector_type(2)));
__global__ void k() {}
int main()
{
    pair n = {1, 2};
#pragma omp parallel
    k<<<1, 1>>>();
    return n.x - 1;
}
END_OF_FILE
run weircc $omp -c clang_alone.cu
ok
says "weircc warning : 'g++' does not compile the host code of 'clang_alone.cu'"
says_not 'error'
run weircc $omp clang_alone.o -o clang_alone
ok
run ./clang_alone
ok
run weircc $omp -w -c clang_alone.cu
ok
says_not 'warning'
run weircc $omp --host-frontend=ccbin -c clang_alone.cu
fails
echo 'int main() { return nowhere; }' >wrong.cu
run weircc $omp -c wrong.cu
fails
says "use of undeclared identifier 'nowhere'"
says_not 'weircc warning'
run weircc $omp -Xcompiler -flto -c sums.cu --extended-lambda
ok
done_
