# --host-frontend=ccbin: the host half of CUDA files is compiled by the host compiler. A program
# says which compiler that was, and reaches its kernels and variables in each way there is.
. "$(dirname "$0")/lib.sh"
WEIR_CACHE_DIR=$scratch/cache
export WEIR_CACHE_DIR
unset LD_LIBRARY_PATH
front=--host-frontend=ccbin

cat >ways.cu <<'END_OF_FILE'
#include <cstdio>
#include <vector>
__constant__ int c[4];
__device__ float v = 3.f;
__managed__ int m = 4;
static __device__ int hidden;
template <class T, int N> __device__ T twice(T x) { return x * N; }
template <class T> __global__ void k(T *p, T x)
{
    p[threadIdx.x] = twice<T, 2>(x) + c[0] + (T)v;
    if (threadIdx.x == 0) {
        m++;
        hidden = 8;
    }
}
static __global__ void s(int *p, int = 0)
{
    extern __shared__ int sh[];
    sh[0] = 1;
    p[0] = __popc(p[1]) + sh[0];
}
namespace
{
__global__ void in_namespace(float) { m += 10; }
__global__ void no_parameters() { m += 100; }
} // namespace
extern "C" __global__ void __launch_bounds__(32, 1) ext(int *p) { *p = 77; }
template <class F> __global__ void apply(F f, int n)
{
    int i = threadIdx.x;
    if (i < n)
        f(i);
}
template <typename... Ts> __global__ void many(int *out, Ts... xs) { *out = (0 + ... + (int)xs); }
template <void (*K)(int *)> void launch(int *p) { K<<<1, 1>>>(p); }
struct Counter {
    int n;
    __device__ Counter() : n{0} {}
    __host__ __device__ explicit Counter(int start) : n(start) {}
    __device__ int lane() const { return __shfl_sync(0xffffffff, n, 0); }
    __host__ __device__ auto get() const -> int
    {
#ifdef __CUDA_ARCH__
        return n + 1;
#else
        return n;
#endif
    }
};
__global__ void object(Counter x, int *p) { *p = x.get() + x.lane(); }

static int order[2], calls;
static int note(int which) { return order[calls++] = which; }
static void two(int, int) {}

int main()
{
    int *p, seven = 7, eight = 0;
    cudaMallocManaged(&p, 64);
    cudaMemcpyToSymbol(c, &seven, sizeof seven);
    k<<<1, 4>>>(p, 3);
    cudaDeviceSynchronize();
    printf("template %d %d %d\n", p[0], p[3], m);
    cudaMemcpyFromSymbol(&eight, hidden, sizeof eight);
    printf("static variable %d\n", eight);
    s<<<1, 1, 64>>>(p);
    in_namespace<<<1, 1>>>(2.f);
    no_parameters<<<1, 1>>>();
    cudaDeviceSynchronize();
    printf("static %d %d\n", p[0], m);
    launch<ext>(p);
    cudaDeviceSynchronize();
    printf("argument %d\n", p[0]);
    void (*fp)(int *, int) = k<int>;
    fp<<<dim3(1), 2>>>(p, 5);
    cudaDeviceSynchronize();
    printf("pointer %d\n", p[1]);
    apply<<<1, 8>>>([=] __device__(int i) { p[i] = i * i; }, 8);
    cudaDeviceSynchronize();
    printf("lambda %d\n", p[7]);
    many<<<1, 1>>>(p, 1, 2.5, 'a');
    cudaDeviceSynchronize();
    printf("pack %d\n", p[0]);
    object<<<1, 32>>>(Counter(20), p);
    cudaDeviceSynchronize();
    printf("object %d %d\n", p[0], Counter(20).get());
    cudaFuncAttributes attributes;
    printf("attributes %d\n", cudaFuncGetAttributes(&attributes, k<int>));
    void *args[] = {&p};
    cudaLaunchKernel(ext, 1, 1, args);
    printf("status %d\n", cudaDeviceSynchronize());
    two(note(1), note(2));
#ifdef __clang__
    printf("by clang\n");
#else
    printf("by gcc, arguments from %s\n", order[0] == 2 ? "the last" : "the first");
#endif
    return 0;
}
END_OF_FILE

check_ways() { # check_ways PROGRAM
    ok
    run "./$1"
    ok
    for text in 'template 16 16 5' 'static variable 8' 'static 2 115' 'argument 77' 'pointer 20' \
        'lambda 49' 'pack 100' 'object 41 20' 'attributes 0' 'status 0' \
        'by gcc, arguments from the last'; do
        says "$text"
    done
}

run weircc -ccbin g++ $front ways.cu -o ways
check_ways ways
run weircc -ccbin g++ $front -O2 -std=c++20 -arch=sm_90 -Xcompiler -Wall,-Wextra,-Werror ways.cu -o ways_o2
check_ways ways_o2
run weircc -ccbin g++ $front -rdc=true -Xcompiler -fPIC ways.cu -o ways_rdc
check_ways ways_rdc
run weircc $front --dryrun ways.cu -o ways_script
ok
says '--step=host-text'
says '--step=host-records'

# Without it, clang compiles both halves.
run weircc -ccbin g++ ways.cu -o by_clang
ok
run ./by_clang
says 'by clang'

# Several files: each has variables and kernels of its own, some of one name.
cat >one.cu <<'END_OF_FILE'
__constant__ int own = 1;
extern const int of_the_host;
const int of_the_host = 100;
template <class T> __global__ void add(T *p) { *p += own + *&of_the_host; }
void one(int *p) { add<<<1, 1>>>(p); }
END_OF_FILE
cat >two.cu <<'END_OF_FILE'
#include <cstdio>
__constant__ int own = 20;
extern const int of_the_host;
static __global__ void add_two(int *p) { *p += own; }
void one(int *p);
int main()
{
    int *p;
    cudaMallocManaged(&p, sizeof *p);
    one(p);
    add_two<<<1, 1>>>(p);
    cudaDeviceSynchronize();
    printf("sum %d\n", *p + of_the_host);
}
END_OF_FILE
run weircc $front one.cu two.cu -o files
ok
run ./files
says 'sum 221'
run weircc one.cu -c -o one_clang.o
ok
run weircc $front two.cu one_clang.o -o mixed
ok
run ./mixed
says 'sum 221'

# Relocatable device code: variables and functions of another file; kernels that launch kernels.
cat >far.cu <<'END_OF_FILE'
__device__ int far_variable = 30;
__device__ int far_function(int x) { return x + far_variable; }
END_OF_FILE
cat >near.cu <<'END_OF_FILE'
#include <cstdio>
extern __device__ int far_variable;
__device__ int far_function(int x);
__global__ void child(int *p) { *p = far_function(12); }
__global__ void parent(int *p) { child<<<1, 1>>>(p); }
int main()
{
    int *p, value;
    cudaMallocManaged(&p, sizeof *p);
    parent<<<1, 1>>>(p);
    cudaDeviceSynchronize();
    cudaMemcpyFromSymbol(&value, far_variable, sizeof value);
    printf("far %d %d\n", *p, value);
}
END_OF_FILE
run weircc $front -rdc=true far.cu near.cu -o far
ok
run ./far
says 'far 42 30'

# The headers that programs include.
cat >headers.cu <<'END_OF_FILE'
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuComplex.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_awbarrier_primitives.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>
#include <cuda_pipeline.h>
#include <curand_kernel.h>
#include <mma.h>
#include <cstdio>
__global__ void kernel(int *p, half h)
{
    auto g = cooperative_groups::this_thread_block();
    curandState s;
    curand_init(1, 0, 0, &s);
    *p = (int)__half2float(h) + (int)g.size();
}
int main()
{
    int *p;
    cudaMallocManaged(&p, sizeof *p);
    kernel<<<1, 1>>>(p, __float2half(41.f));
    cudaDeviceSynchronize();
    printf("headers %d\n", *p);
}
END_OF_FILE
run weircc $front -arch=sm_90 -MD -g -G headers.cu -o headers
ok
contains headers.d cuda_bf16.h
run ./headers
says 'headers 42'

# -cuda: of what it writes, any host compiler makes the object.
run weircc $front -cuda one.cu
ok
run g++ -c one.cu.cpp.ii -o one_cuda.o
ok
run weircc $front two.cu one_cuda.o -o by_cuda
ok
run ./by_cuda
says 'sum 221'

# --legacy-api: texture variables, those of several files with one name too; symbols by name; launches in steps.
for file in one two; do
    cat >texture_$file.cu <<END_OF_FILE
#include <cstdio>
texture<unsigned char, 1, cudaReadModeNormalizedFloat> bytes;
texture<float, 2> plane;
__constant__ float table_$file[2];
static __global__ void k(float *p) { p[0] = tex1Dfetch(bytes, 1) + tex2D(plane, 1.5f, 0.5f) + table_$file[1] + __shfl(64.f, 0); }
void $file(float *p, void *memory)
{
    float values[2] = {0, sizeof "$file" * 1000.f};
    cudaMemcpyToSymbol("table_$file", values, sizeof values);
    cudaBindTexture(0, bytes, memory, 8);
    cudaBindTexture2D(0, plane, (char *)memory + 512, 2, 1, 512);
    k<<<1, 1>>>(p);
    cudaThreadSynchronize();
}
END_OF_FILE
done
cat >>texture_two.cu <<'END_OF_FILE'
void one(float *, void *);
int main()
{
    float *p, *memory;
    cudaMallocManaged(&p, 8);
    cudaMallocManaged(&memory, 1024);
    ((unsigned char *)memory)[1] = 51;
    memory[129] = 8;
    one(p, memory);
    two(p + 1, memory);
    cudaDeviceProp properties;
    cudaGetDeviceProperties(&properties, 0);
    printf("textures %g %g %d\n", p[0], p[1], properties.clockRate > 0);
}
END_OF_FILE
run weircc $front --legacy-api -arch=sm_80 texture_one.cu texture_two.cu -o textures
ok
run ./textures
says 'textures 4072.2 4072.2 1'
run weircc $front --legacy-api -rdc=true -I "$source/tests" "$source/tests/conformance/textures/variables.cu" -o variables -lcuda
ok
run ./variables
ok

# What cannot be served is refused.
cat >differs.cu <<'END_OF_FILE'
struct S {
#ifdef __clang__
    int a;
#else
    int a, b;
#endif
};
__global__ void kernel(S) {}
int main() { kernel<<<1, 1>>>(S()); }
END_OF_FILE
run weircc $front differs.cu -o differs
fails
says "parameters of kernel '_Z6kernel1S' have other sizes"
cat >missing.cu <<'END_OF_FILE'
template <class T> __global__ void kernel() {}
int main()
{
#ifndef __clang__
    kernel<int><<<1, 1>>>();
#endif
}
END_OF_FILE
run weircc $front missing.cu -o missing_kernel
fails
says 'has a kernel that clang'
echo '__global__ void kernel(void (*)(int)) {}' >unnamed.cu
run weircc $front -c unnamed.cu
fails
says 'needs a name for each parameter'
run weircc $front -Xcompiler -flto -c one.cu
fails
says "not supported with '-flto'"
run weircc --host-frontend=gcc -c one.cu
fails
done_
