# Operands of asm statements that are texts ("C"): they stand in the template, as with nvcc.
. "$(dirname "$0")/lib.sh"
export WEIR_CACHE_DIR="$scratch/cache"
unset LD_LIBRARY_PATH

cat >a.cu <<'END'
#include <cstdio>
template <int N> struct op;
template <> struct op<0> { static constexpr const char name[] = "add.s32"; };
template <> struct op<1> { static constexpr const char name[] = {'s', 'u', 'b', '.', 's', '3', '2', '\0'}; };
template <int N> struct scope { static constexpr const char begin[] = "{ // $1 \"a\\b\"\n", end[] = "}", none[] = ""; };
template <int N> __device__ int compute(int a, int b)
{
    int d;
    asm("%1 %0, %2, %3;" : "=r"(d) : "C"(op<N>::name), "r"(a), "r"(b));
    return d;
}
template <int N> __device__ int twice(int a)
{
    asm volatile("%2 %1 %0, %0, %0;%4 %3" : "+r"(a) : "C"(op<N>::name), "C"(scope<N>::begin), "C"(scope<N>::end), "C"(scope<N>::none) : "memory");
    return a;
}
__global__ void k(int *p)
{
    p[0] = compute<0>(5, 2), p[1] = compute<1>(5, 2), p[2] = twice<0>(p[2]);
}
int main()
{
    int *p;
    cudaMallocManaged(&p, 16);
    p[2] = 8;
    k<<<1, 1>>>(p);
    cudaDeviceSynchronize();
    printf("are %d %d %d\n", p[0], p[1], p[2]);
}
END
for options in '' -G -rdc=true '-O0 -lineinfo' '-ccbin g++ --host-frontend=ccbin'; do
    run weircc -std=c++17 $options a.cu -o program
    ok
    run ./program
    says 'are 7 3 16'
done
# What is no text.
cat >a.cu <<'END'
__global__ void k(int *p) { asm("%1 %0;" : "=r"(*p) : "C"(p)); }
END
run weircc -c a.cu
fails
done_
