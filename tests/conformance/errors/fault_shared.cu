/* E2.4: an access far outside of a block's shared memory is a fault, before it and after it, by
 * shared and by generic addresses, and touches nothing else. Each access is made by a process of
 * its own: on a GPU a device that had a fault is lost to the process. */
#include "check.h"
#include "processes.h"

enum { BYTES = 1024, SHARED_READ = 0, SHARED_WRITE, GENERIC_READ, GENERIC_WRITE, WAYS };

__global__ void access(int offset, int way, int *out)
{
    extern __shared__ char shared[];
    char *volatile hidden = shared;
    char *generic = hidden;
    int t = threadIdx.x;
    shared[t] = (char)t;
    __syncthreads();
    switch (way) {
    case SHARED_READ: out[t] = ((volatile char *)shared)[offset]; break;
    case SHARED_WRITE:
        if (t == 3)
            ((volatile char *)shared)[offset] = 5;
        break;
    case GENERIC_READ: out[t] = *(volatile char *)(generic + offset); break;
    default:
        if (t == 3)
            *(volatile char *)(generic + offset) = 5;
    }
}

/* The exit status of a process that makes one access. */
enum { NO_FAULT, ILLEGAL_ADDRESS, OTHER_FAULT, NOT_BEGUN };

static int one_access(int offset, int way)
{
    int *out;
    if (cudaMalloc((void **)&out, 32 * sizeof *out) != cudaSuccess)
        return NOT_BEGUN;
    access<<<2, 32, BYTES>>>(offset, way, out);
    if (cudaGetLastError() != cudaSuccess)
        return NOT_BEGUN;
    switch (cudaDeviceSynchronize()) {
    case cudaSuccess: return NO_FAULT;
    case cudaErrorIllegalAddress: return ILLEGAL_ADDRESS;
    default: return OTHER_FAULT;
    }
}

static int outcome(int offset, int way)
{
    char role[16];
    snprintf(role, sizeof role, "%d", offset);
    return end_of(start_process("/proc/self/exe", role, way));
}

int main(int argc, char **argv)
{
    if (argc == 3)
        return one_access(atoi(argv[1]), atoi(argv[2]));
    static const int after[] = {8192, 66000, 262144, 1000000};
    for (int way = 0; way < WAYS; way++) {
        CHECK_EQ_INT(outcome(BYTES - 1, way), NO_FAULT);
        for (int offset : after)
            CHECK_EQ_INT(outcome(offset, way), ILLEGAL_ADDRESS);
        /* Before it, a GPU calls the instruction illegal. */
        for (int offset : {-8192, -262144})
            CHECK(outcome(offset, way) == ILLEGAL_ADDRESS || outcome(offset, way) == OTHER_FAULT);
    }
    return check_done();
}
