# Whole programs, as users build them: each way to build ends in a program that computes on the
# device and needs no path set.
. "$(dirname "$0")/lib.sh"
WEIR_CACHE_DIR=$scratch/cache
export WEIR_CACHE_DIR
unset LD_LIBRARY_PATH

cat >kernel.h <<'END'
void launch(int *p, int n);
END
cat >kernel.cu <<'END'
#include "kernel.h"
__device__ int counter = 10;
__constant__ int factor = 3;
__global__ void kernel(int *p) { p[threadIdx.x] = factor * (int)threadIdx.x + counter; }
void launch(int *p, int n) { kernel<<<1, n>>>(p); }
END
cat >main.cpp <<'END'
#include <cstdio>
#include <cuda_runtime.h>
#include "kernel.h"
int main()
{
    int *p, host[32];
    if (cudaMalloc(&p, sizeof host) != cudaSuccess)
        return 1;
    launch(p, 32);
    if (cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost) != cudaSuccess)
        return 2;
    printf("last %d\n", host[31]);
    return cudaFree(p);
}
END

check_run() { # check_run PROGRAM TEXT
    ok
    run "./$1"
    ok
    says "$2"
}

run weircc kernel.cu main.cpp -o one_step
check_run one_step 'last 103'
run weircc -cudart shared kernel.cu main.cpp -o shared_runtime
check_run shared_runtime 'last 103'
# -cuda: of what it writes, any host compiler makes the object.
run weircc -O2 -g -cuda kernel.cu
ok
exists kernel.cu.cpp.ii
run g++ -g -c kernel.cu.cpp.ii -o by_host.o
ok
run weircc by_host.o main.cpp -o by_host
check_run by_host 'last 103'
run weircc -c kernel.cu.cpp.ii -o by_host.o
ok
run weircc -cuda -rdc=true kernel.cu
fails
says '-cuda is not supported with -rdc=true'
echo '__managed__ int m;' >managed_only.cu
run weircc -cuda managed_only.cu
fails
says '__managed__'
missing managed_only.cu.cpp.ii
run weircc -default-stream per-thread kernel.cu main.cpp -o per_thread
check_run per_thread 'last 103'
for flags in -G '-lineinfo -O3 -g' -use_fast_math '-arch=sm_90a -std=c++20'; do
    # shellcheck disable=SC2086
    run weircc $flags kernel.cu main.cpp -o flagged
    check_run flagged 'last 103'
done
run weircc kernel.cu main.cpp -o run_it -run
ok
says 'last 103'

# Objects, archives, shared libraries; the last step by the host's compiler.
run weircc -c kernel.cu main.cpp
ok
run g++ kernel.o main.o -L"$build/lib" -lcudart_static -ldl -lpthread -lrt -o by_gxx
check_run by_gxx 'last 103'
run weircc -lib kernel.cu -o libkernel.a
ok
run weircc main.cpp -L. -lkernel -o with_archive
check_run with_archive 'last 103'
run weircc -shared -Xcompiler -fPIC kernel.cu -o libkernel.so
ok
run weircc main.cpp ./libkernel.so -cudart shared -o with_library
check_run with_library 'last 103'

# An old Makefile.
cat >Makefile <<'END'
NVCC = nvcc
GENCODE = $(foreach sm,75 80 90,-gencode arch=compute_$(sm),code=sm_$(sm))
made: kernel.cu.o main.cpp.o
	$(NVCC) -m64 $(GENCODE) -o $@ $+ -lcudart
%.o: %
	$(NVCC) -I. -m64 -Xcompiler -O2 -Xcompiler -Wall --threads 0 --std=c++17 $(GENCODE) -o $@ -c $<
END
run make NVCC=weircc
check_run made 'last 103'

# Device code linked across files.
cat >part1.cu <<'END'
#include <cstdio>
extern __device__ int add_two(int);
extern __device__ int shared_value;
static __device__ int own = 100;
__global__ void kernel(int *p) { *p = add_two(shared_value) + own; }
void launch_part2(int *p);
int main()
{
    int *p, a = 0, b = 0;
    cudaMalloc(&p, sizeof *p);
    kernel<<<1, 1>>>(p);
    cudaMemcpy(&a, p, sizeof a, cudaMemcpyDeviceToHost);
    launch_part2(p);
    cudaMemcpy(&b, p, sizeof b, cudaMemcpyDeviceToHost);
    printf("parts %d %d %s\n", a, b, cudaGetErrorName(cudaGetLastError()));
    return 0;
}
END
cat >part2.cu <<'END'
__device__ int shared_value = 5;
static __device__ int own = 2;
__device__ int add_two(int x) { return x + own; }
static __global__ void kernel(int *p) { *p = own; }
void launch_part2(int *p) { kernel<<<1, 1>>>(p); }
END
run weircc -rdc=true part1.cu part2.cu -o linked
check_run linked 'parts 107 2 cudaSuccess'
run weircc -arch=sm_35 -Wno-deprecated-gpu-targets -rdc=true part1.cu part2.cu -o linked -lcudadevrt
check_run linked 'parts 107 2 cudaSuccess'
run weircc -dc part1.cu part2.cu
ok
run weircc -dlink part1.o part2.o -o dlink.o
ok
run g++ dlink.o part1.o part2.o -L"$build/lib" -lcudart_static -ldl -lpthread -lrt -o staged
check_run staged 'parts 107 2 cudaSuccess'
run weircc -ptx -rdc=true part2.cu
ok

# Variables that host and device share.
cat >managed.cu <<'END'
#include <cstdio>
__managed__ int counter = 5;
__global__ void count() { atomicAdd(&counter, 2); }
int main()
{
    counter++;
    count<<<1, 32>>>();
    cudaDeviceSynchronize();
    printf("counter %d\n", counter);
    return 0;
}
END
run weircc managed.cu -o managed
check_run managed 'counter 70'
run weircc -rdc=true managed.cu -o managed_rdc
check_run managed_rdc 'counter 70'

# The driver API, with device code from a file.
cat >driver.c <<'END'
#include <cuda.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction function;
    CUdeviceptr p;
    int host[8] = {0};
    void *args[] = {&p};
    if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) ||
        cuCtxSetCurrent(context))
        return 1;
    if (cuModuleLoad(&module, argv[1]) || cuModuleGetFunction(&function, module, "square"))
        return 2;
    if (cuMemAlloc(&p, sizeof host) || cuLaunchKernel(function, 1, 1, 1, 8, 1, 1, 0, 0, args, 0) ||
        cuMemcpyDtoH(host, p, sizeof host))
        return 3;
    printf("square %d\n", host[7]);
    return 0;
}
END
cat >square.cu <<'END'
extern "C" __global__ void square(int *p) { p[threadIdx.x] = threadIdx.x * threadIdx.x; }
END
run weircc driver.c -o driver -lcuda
ok
run weircc -ptx square.cu
ok
run weircc -fatbin square.cu
ok
for file in square.ptx square.fatbin; do
    run ./driver $file
    ok
    says 'square 49'
done

# OpenMP: pragmas hold in CUDA and in C++ files, however the link is told of it.
cat >omp.cu <<'END'
#include <cstdio>
#include <omp.h>
__global__ void k(int *p) { *p += 1; }
int cpp_threads();
int main()
{
    int sum = 0, n = 0, most = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(4)
    for (int i = 0; i < 100; i++)
        sum += i;
#pragma omp parallel num_threads(4)
#pragma omp critical
    {
        n++;
        most = omp_get_thread_num() > most ? omp_get_thread_num() : most;
    }
    int *p, v = 0;
    cudaMalloc(&p, 4);
    cudaMemset(p, 0, 4);
    k<<<1, 1>>>(p);
    cudaMemcpy(&v, p, 4, cudaMemcpyDefault);
    printf("sum %d threads %d %d most %d kernel %d\n", sum, n, cpp_threads(), most, v);
}
END
cat >omp_part.cpp <<'END'
int cpp_threads()
{
    int n = 0;
#pragma omp parallel num_threads(3)
#pragma omp atomic
    n++;
    return n;
}
END
run weircc -Xcompiler -fopenmp omp.cu omp_part.cpp -o omp
check_run omp 'sum 4950 threads 4 3 most 3 kernel 1'
run weircc -Xcompiler=-O2,-fopenmp -c omp.cu omp_part.cpp
ok
for flags in -lgomp '-Xcompiler -fopenmp' '-Xcompiler -fopenmp -lgomp'; do
    # shellcheck disable=SC2086
    run weircc omp.o omp_part.o $flags -o omp
    check_run omp 'sum 4950 threads 4 3 most 3 kernel 1'
done

# The project's own examples.
for example in vector_add memory two_streams streams syncedmem mandelbrot; do
    library=
    [ $example != syncedmem ] || library=-lsyncedmem
    run weircc -O2 "$source/examples/$example.cu" -o $example $library
    ok
    check_run $example ''
done
# A function that ends without its return statement, in device code: its caller goes on.
cat >no_return.cu <<'END'
#include <cstdio>
struct counter {
    int n;
    __device__ int next() { n++; }
};
__global__ void count(int *p)
{
    counter c{1};
    c.next();
    p[threadIdx.x] = c.n;
}
int main()
{
    int *p, n = 0;
    cudaMalloc(&p, 128);
    count<<<1, 32>>>(p);
    cudaMemcpy(&n, p, 4, cudaMemcpyDefault);
    printf("counted %d\n", n);
}
END
run weircc -w -O2 no_return.cu -o no_return
ok
check_run no_return 'counted 2'

# The checked macro says file and line, the call, the code's name and its text.
cat >fails.cu <<'END'
#include "check.h"
int main()
{
    CHECK(cudaSetDevice(99));
}
END
run weircc -I "$source/examples" fails.cu -o fails
ok
run ./fails
fails
says 'fails.cu:4: cudaSetDevice(99): cudaErrorInvalidDevice (invalid device ordinal)'
run ./mandelbrot picture.ppm 64 48
ok
[ "$(wc -c <picture.ppm)" = $((64 * 48 * 3 + 13)) ]
note $? "the picture has another size"
done_
