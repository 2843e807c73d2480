# Host code that reads or writes a variable of the device by its name is warned of, by line; what only names it is not.
. "$(dirname "$0")/lib.sh"
cat >direct.cu <<'END_OF_FILE'
#include <cstdio>
__device__ int counter = 1;
__constant__ float table[4] = {1, 2, 3, 4};
static __device__ int own;
struct Pair { int a, b[3]; };
__device__ Pair pair;
__global__ void k() { counter += own + pair.a; }
int main(int argc, char **)
{
    counter = 40;
    printf("%d\n", counter);
    printf("%f\n", table[argc]);
    own = argc;
    pair.b[argc] = 3;
    Pair copy = pair;
    k<<<1, 1>>>();
    return copy.a;
}
END_OF_FILE
warns() {
    says 'direct.cu:10:'
    says "warning: a __device__ variable 'counter' cannot be directly written in a host function"
    says 'direct.cu:11:'
    says "warning: a __device__ variable 'counter' cannot be directly read in a host function"
    says "direct.cu:12:"
    says "warning: a __constant__ variable 'table' cannot be directly read in a host function"
    says 'direct.cu:13:'
    says "'own' cannot be directly written"
    says "direct.cu:14:"
    says "'pair' cannot be directly written"
    says 'direct.cu:15:'
    says "'pair' cannot be directly read"
    [ "$(grep -c 'warning:' out)" = 6 ]
    note $? 'there are not 6 warnings'
}
for options in '' -O2 -g -G -rdc=true '--host-frontend=ccbin'; do
    run weircc $options -c direct.cu
    ok
    warns
done
run weircc -w -c direct.cu
ok
says_not warning
run weircc -Werror all-warnings -c direct.cu
fails
says 'error: a __device__'
# nvcc's numbers of these warnings
for options in '-diag-suppress 20091' '-Xcudafe --diag_suppress=20091'; do
    run weircc $options -c direct.cu
    ok
    says 'cannot be directly written'
    says_not 'cannot be directly read'
done
run weircc --diag-suppress=20091,20092 -c direct.cu
ok
says_not warning
run weircc -diag-error 20092 -c direct.cu
fails
says "error: a __device__ variable 'own' cannot be directly written"
says 'warning: a __constant__'

cat >fine.cu <<'END_OF_FILE'
#include <cstdio>
#include <vector>
struct Empty {};
__device__ Empty empty;
__device__ int counter = 1, list[8];
__constant__ float table[4] = {1, 2, 3, 4};
__constant__ const int fixed = 5;
__device__ const int known = 6;
__managed__ int managed;
static __device__ int *pointer;
template <class T> __device__ T value;
__host__ __device__ int both()
{
#ifdef __CUDA_ARCH__
    return counter;
#else
    return 3;
#endif
}
__host__ __device__ int unguarded() { return counter; }
__global__ void k() { counter += both() + unguarded() + list[0] + *pointer + value<int> + known + fixed; }
int use(const int *);
int use(const int &n) { return use(&n); }
int main()
{
    int n = sizeof(counter) + sizeof table / sizeof table[0] + both(), *p;
    std::vector<int> v(sizeof list / sizeof *list);
    cudaMemcpyToSymbol(counter, &n, sizeof n);
    cudaMemcpyFromSymbol(&n, counter, sizeof n);
    cudaMemcpyToSymbol(list, v.data(), sizeof list);
    cudaMemcpyToSymbolAsync(table, v.data(), sizeof table, 0, cudaMemcpyHostToDevice, 0);
    cudaMemcpyToSymbol(pointer, &p, sizeof p);
    cudaMemcpyToSymbol(value<int>, &n, sizeof n);
    cudaGetSymbolAddress((void **)&p, counter);
    void *address = &counter;
    decltype(counter) other = 4;
    managed = 4 + managed;
    k<<<1, 1>>>();
    return use(&counter) + use(list) + (address == nullptr) + other + known + fixed;
}
END_OF_FILE
for options in '' -O2 -rdc=true '--host-frontend=ccbin'; do
    run weircc $options -c fine.cu
    ok
    says_not 'cannot be directly'
done
done_
