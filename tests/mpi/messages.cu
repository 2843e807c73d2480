// Device pointers in calls of MPI: every way in which MPI moves bytes, small messages and large
// ones, memory of all kinds. With a word as argument, a mistake that checks find: "past" sends more
// than was allocated, "freed" what was freed, "race" what a kernel may still write. "two-sided"
// leaves windows out.
#include "check.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mpi.h>
#include <vector>

#define CUDA(call) CHECK((call) == cudaSuccess)

extern "C" int MPIX_Query_cuda_support(void);

static int rank, ranks;

__global__ void fill(int *p, int n, int first)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        p[i] = first + i;
}

// How many elements are not first + i.
static int wrong(const int *p, int n, int first)
{
    std::vector<int> h(n);
    CUDA(cudaMemcpy(h.data(), p, n * sizeof(int), cudaMemcpyDefault));
    int count = 0;
    for (int i = 0; i < n; i++)
        count += h[i] != first + i;
    return count;
}

static void filled(int *p, int n, int first)
{
    fill<<<8, 128>>>(p, n, first);
    CUDA(cudaDeviceSynchronize());
}

static void cleared(int *p, int byte, int n)
{
    CUDA(cudaMemset(p, byte, n * sizeof(int)));
    CUDA(cudaDeviceSynchronize()); // the host goes on before a set ends
}

// Round the ring: blocking, begun and waited for, persistent.
static void ring(int *out, int *in, int n)
{
    int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
    filled(out, n, rank);
    cleared(in, 0xff, n);
    MPI_Sendrecv(out, n, MPI_INT, to, 1, in, n, MPI_INT, from, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK(wrong(in, n, from) == 0);

    MPI_Request request[2];
    cleared(in, 0xff, n);
    MPI_Irecv(in, n, MPI_INT, from, 2, MPI_COMM_WORLD, &request[0]);
    MPI_Isend(out, n, MPI_INT, to, 2, MPI_COMM_WORLD, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    CHECK(wrong(in, n, from) == 0);

    MPI_Recv_init(in, n, MPI_INT, from, 3, MPI_COMM_WORLD, &request[0]);
    MPI_Send_init(out, n, MPI_INT, to, 3, MPI_COMM_WORLD, &request[1]);
    for (int i = 0; i < 2; i++) {
        cleared(in, 0xff, n);
        MPI_Startall(2, request);
        for (int left = 2, done; left > 0; left--)
            MPI_Waitany(2, request, &done, MPI_STATUS_IGNORE);
        CHECK(wrong(in, n, from) == 0);
    }
    MPI_Request_free(&request[0]);
    MPI_Request_free(&request[1]);
}

// Every second element, by a type of the program.
static void strided(int *out, int *in, int n)
{
    MPI_Datatype every_second;
    MPI_Type_vector(n / 2, 1, 2, MPI_INT, &every_second);
    MPI_Type_commit(&every_second);
    filled(out, n, 0);
    cleared(in, 0, n);
    int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
    MPI_Sendrecv(out, 1, every_second, to, 4, in, n / 2, MPI_INT, from, 4, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    std::vector<int> h(n / 2);
    CUDA(cudaMemcpy(h.data(), in, h.size() * sizeof(int), cudaMemcpyDefault));
    int bad = 0;
    for (int i = 0; i < n / 2; i++)
        bad += h[i] != 2 * i;
    CHECK(bad == 0);
    MPI_Type_free(&every_second);
}

static void collectives(int *a, int *b, int n)
{
    int each = n / ranks;
    filled(a, n, rank == 0 ? 7 : 0);
    MPI_Bcast(a, n, MPI_INT, 0, MPI_COMM_WORLD);
    CHECK(wrong(a, n, 7) == 0);

    filled(a, n, rank);
    MPI_Reduce(a, b, n, MPI_INT, MPI_MAX, ranks - 1, MPI_COMM_WORLD);
    CHECK(rank != ranks - 1 || wrong(b, n, ranks - 1) == 0);
    MPI_Allreduce(MPI_IN_PLACE, a, n, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    CHECK(wrong(a, n, 0) == 0);

    filled(a, each, rank * each);
    MPI_Allgather(a, each, MPI_INT, b, each, MPI_INT, MPI_COMM_WORLD);
    CHECK(wrong(b, ranks * each, 0) == 0);
    MPI_Scatter(b, each, MPI_INT, a, each, MPI_INT, 0, MPI_COMM_WORLD);
    CHECK(wrong(a, each, rank * each) == 0);
    std::vector<int> counts(ranks, each), places(ranks);
    for (int i = 0; i < ranks; i++)
        places[i] = i * each;
    cleared(b, 0, n);
    MPI_Gatherv(a, each, MPI_INT, b, counts.data(), places.data(), MPI_INT, 0, MPI_COMM_WORLD);
    CHECK(rank != 0 || wrong(b, ranks * each, 0) == 0);

    for (int i = 0; i < ranks; i++) // to rank i: its numbers, from here on
        filled(a + i * each, each, 1000 * i + rank);
    MPI_Alltoall(a, each, MPI_INT, b, each, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < ranks; i++)
        CHECK(wrong(b + i * each, each, 1000 * rank + i) == 0);
}

static void windows(int *a, int *b, int n)
{
    MPI_Win window;
    filled(a, n, rank);
    cleared(b, 0, n);
    MPI_Win_create(b, n * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Put(a, n, MPI_INT, (rank + 1) % ranks, 0, n, MPI_INT, window);
    MPI_Win_fence(0, window);
    CHECK(wrong(b, n, (rank + ranks - 1) % ranks) == 0);
    MPI_Get(a, n, MPI_INT, (rank + 1) % ranks, 0, n, MPI_INT, window);
    MPI_Win_fence(0, window);
    CHECK(wrong(a, n, rank) == 0);
    MPI_Win_free(&window);
}

// By rank 0; what rank 1 does is right.
static void mistake(const char *which)
{
    const int n = 1 << 18;
    int *p;
    CUDA(cudaMalloc(&p, (rank + 1) * n * sizeof(int)));
    if (rank == 1) {
        MPI_Recv(p, 2 * n, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    if (strcmp(which, "freed") == 0)
        CUDA(cudaFree(p));
    else
        fill<<<8, 128>>>(p, n, 0);
    if (strcmp(which, "race") != 0)
        CUDA(cudaDeviceSynchronize());
    MPI_Send(p, strcmp(which, "past") == 0 ? n + 1 : n, MPI_INT, 1, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    CHECK(MPIX_Query_cuda_support() == 1);
    bool one_sided = argc == 1, mistaken = argc > 1 && strcmp(argv[1], "two-sided") != 0;
    if (mistaken)
        mistake(argv[1]);
    for (int n : {64, 1 << 16})
        for (int kind = 0; kind < 4 && !mistaken; kind++) {
            int *a, *b;
            size_t bytes = n * sizeof(int);
            CUDA(kind == 0   ? cudaMalloc(&a, bytes)
                 : kind == 1 ? cudaMallocManaged(&a, bytes)
                 : kind == 2 ? cudaMallocHost(&a, bytes)
                             : cudaMallocAsync(&a, bytes, 0));
            CUDA(cudaMalloc(&b, bytes));
            CUDA(cudaDeviceSynchronize());
            ring(a, b, n);
            strided(a, b, n);
            collectives(a, b, n);
            if (one_sided)
                windows(b, a, n);
            CUDA(kind == 2 ? cudaFreeHost(a) : cudaFree(a));
            CUDA(cudaFree(b));
        }
    MPI_Finalize();
    return check_done();
}
