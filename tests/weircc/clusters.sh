# Kernels with __cluster_dims__: what the PTX holds for every way to write it, programs that have it
# and launch such kernels from the device too, and what is an error.
. "$(dirname "$0")/lib.sh"

cat >forms.cu <<'END'
constexpr unsigned long W = 2;
enum { H = 1 };
#define DIMS __cluster_dims__
__global__ void __cluster_dims__(2, 1, 1) beyond(int *p) { *p = 1; }
__cluster_dims__(W, H + 2) __global__ void before(int *p) { *p = 1; }
__global__ DIMS(3) void declared(int *p);
__global__ void declared(int *p) { *p = 1; }
template <int N, class T>
__global__ void __cluster_dims__(N, sizeof(T) / 4) __launch_bounds__(128, 2) typed(T *p) { *p = N; }
template __global__ void typed<4>(int *);
static __global__ void __cluster_dims__(5) own() {}
namespace { __global__ __attribute__((annotate("mine", 7))) __cluster_dims__(6) void hidden() {} }
__global__ __attribute__((annotate("mine", 8))) void plain(int *p) { *p = 1; }
void launches(int *p)
{
    hidden<<<6, 1>>>();
    own<<<5, 1>>>();
    typed<2><<<dim3(2, 2), 1>>>((double *)p);
}
END
directives() { # directives FILE: "kernel x, y, z" for each kernel that has a cluster
    awk '/\.entry/ { sub(/^.*\.entry /, ""); sub(/[( ].*$/, ""); name = $0; e = 0 }
         /^\.explicitcluster/ { e = 1 }
         /^\.reqnctapercluster/ { sub(/^\.reqnctapercluster /, ""); print name, e, $0 }' "$1" | sort
}
cat >want <<'END'
_Z5typedILi2EdEvPT0_ 1 2, 2, 1
_Z5typedILi4EiEvPT0_ 1 4, 1, 1
_Z6beforePi 1 2, 3, 1
_Z6beyondPi 1 2, 1, 1
_Z8declaredPi 1 3, 1, 1
_ZL3ownv 1 5, 1, 1
_ZN12_GLOBAL__N_16hiddenEv 1 6, 1, 1
END
run weircc -arch=sm_90 -G -ptx forms.cu -o forms.ptx && ok
directives forms.ptx >have
run diff want have && ok
run weircc -arch=sm_90a -Xcompiler -Wall -Werror all-warnings -c forms.cu -o forms.o && ok
run weircc -arch=sm_90 -rdc=true -ptx forms.cu -o forms.ptx && ok
directives forms.ptx | sed 's/__intern__[0-9a-f]*//' >have
run diff want have && ok

# a file that is rewritten for other reasons, too
cat >mended.cu <<'END'
__global__ void __cluster_dims__(2) k(int *p) { asm("mov.u32 %0, %tid.x;" : "=r"(*p)); }
END
run weircc -arch=sm_90 -ptx mended.cu && ok
contains mended.ptx '.reqnctapercluster 2, 1, 1'

# in two files, one kernel launched by the device
cat >child.cu <<'END'
static __global__ void __cluster_dims__(4) own(int *p)
{
    unsigned n;
    asm volatile("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(n));
    atomicAdd(p, (int)n);
}
__global__ void __cluster_dims__(2) child(int *p)
{
    unsigned n;
    asm volatile("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(n));
    atomicAdd(p, (int)n);
    if (blockIdx.x == 0)
        own<<<4, 1>>>(p);
}
END
cat >parent.cu <<'END'
#include <cstdio>
__global__ void child(int *p);
__global__ void parent(int *p) { child<<<6, 1>>>(p); }
int main()
{
    int *p, sum;
    cudaMalloc(&p, 4);
    cudaMemset(p, 0, 4);
    parent<<<1, 1>>>(p);
    child<<<2, 1>>>(p);
    child<<<3, 1>>>(p);
    const char *error = cudaGetErrorName(cudaGetLastError());
    cudaMemcpy(&sum, p, 4, cudaMemcpyDeviceToHost);
    printf("sum %d %s\n", sum, error);
}
END
run weircc -arch=sm_90 -rdc=true child.cu parent.cu -o program && ok
run ./program && ok
says 'sum 48 cudaErrorInvalidClusterSize'

# what is refused
refuse() { # refuse SOURCE TEXT
    echo "$1" >wrong.cu
    run weircc -arch=sm_90 -c wrong.cu && fails
    says "$2"
    missing wrong.o
}
refuse '__global__ void __cluster_dims__(0) k() {}' "'_Z1kv': a cluster has at least one block"
refuse 'extern int n; __global__ void __cluster_dims__(n) k() {}' 'a constant expression'
says_not needs_weircc
refuse '__global__ void __block_size__((2, 1), (2, 1)) k() {}' '__block_size_is_not_supported__'
run weircc -arch=sm_80 -c forms.cu && fails
says '__cluster_dims__ needs -arch=sm_90 or newer; this is for sm_80'
done_
