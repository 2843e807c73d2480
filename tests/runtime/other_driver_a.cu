/* For other_driver.sh: what weircc's code leaves to Weir's driver, in relocatable code of two files:
 * launches from the device with parameters of all sizes, directly and through a pointer, mathematical
 * functions, managed variables, static variables. Prints "right" or what is not. */
#include <cmath>
#include <cstdio>

struct record {
    int a;
    char b;
    double c[3];
};
struct alignas(16) wide {
    int a;
};

extern __managed__ int counter;
extern __managed__ double values[8];
static __managed__ int own[4] = {1, 2, 3, 4};
static __device__ int hidden = 5;
__global__ void elsewhere(int n);

__global__ void child(char c, short s, record r, wide w, bool b, int *out)
{
    *out = c + s + r.a + r.b + (int)r.c[2] + w.a + b;
}
__global__ void other_child(record r, wide w, int n, int *out) { *out = r.a + w.a + n; }
typedef void (*kernel)(record, wide, int, int *);
__device__ kernel table[1] = {other_child};

static __global__ void inner(int *out) { atomicAdd(out, hidden); }
__device__ int launching(int *out)
{
    inner<<<1, 2>>>(out);
    return 7;
}

__global__ void parent(int *out, int n)
{
    record r = {1, 2, {3, 4, 50}};
    wide w = {100};
    child<<<1, 1>>>(1, 2, r, w, n > 0, out);
    table[0]<<<n, n>>>(r, w, launching(out + 2), out + 1);
    elsewhere<<<n, 3>>>(n);
    own[1] += n;
    values[3] = log(values[2] * n);
}

static int failures;
static void check(bool right, const char *what)
{
    if (!right) {
        printf("wrong: %s\n", what);
        failures++;
    }
}

int main()
{
    int *out;
    cudaError_t error = cudaMallocManaged(&out, 4 * sizeof *out);
    if (error != cudaSuccess) {
        printf("%s\n", cudaGetErrorString(error));
        return 1;
    }
    for (int i = 0; i < 4; i++)
        out[i] = 0;
    check(counter == 5 && values[0] == 1.5 && own[2] == 3, "initial values");
    counter = 10;
    values[2] = 20;
    parent<<<1, 1>>>(out, 1);
    error = cudaDeviceSynchronize();
    check(error == cudaSuccess, cudaGetErrorName(error));
    check(out[0] == 157 && out[1] == 108 && out[2] == 10, "what the children wrote");
    check(counter == 13 && own[1] == 3, "managed variables");
    check(std::fabs(values[3] - std::log(20.0)) < 1e-15, "the logarithm");
    void *address;
    check(cudaGetSymbolAddress(&address, counter) == cudaSuccess && address == &counter, "the address");
    cudaPointerAttributes attributes;
    check(cudaPointerGetAttributes(&attributes, &counter) == cudaSuccess &&
              attributes.type == cudaMemoryTypeManaged,
          "the kind of memory");
    if (failures == 0)
        puts("right");
    return failures != 0;
}
