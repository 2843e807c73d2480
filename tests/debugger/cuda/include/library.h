// A kernel in a file that is a toolkit's, by its directory.
template <typename T> __global__ void library_kernel(T *out, int n)
{
    int inner = n * 2;
    out[threadIdx.x] = inner + threadIdx.x; // line 5
}
