// Heat in a plate, cut into strips: one process for each strip, and one row of neighbours at each of its edges. The
// rows travel by MPI straight from device memory to device memory.
//
//     weircc -ccbin mpicxx -o halo halo.cu && mpirun -np 4 weir run ./halo
//
// Each sum of the plate is the same for any number of processes.
#include "check.h"
#include <cstdio>
#include <cstdlib>
#include <mpi.h>
#include <vector>

static const int width = 256, height = 256; // without the edges of the plate, which stay as they are

// New temperatures of rows 1 to rows; rows 0 and rows + 1 are the neighbours'.
__global__ void step(const double *now, double *next, int rows)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x + 1, y = blockIdx.y * blockDim.y + threadIdx.y + 1;
    const int pitch = width + 2;
    if (x <= width && y <= rows)
        next[y * pitch + x] = 0.25 * (now[y * pitch + x - 1] + now[y * pitch + x + 1] + now[(y - 1) * pitch + x] +
                                      now[(y + 1) * pitch + x]);
}

// Each process gives its first row to the one above and its last row to the one below.
static void exchange(double *plate, int rows, int above, int below)
{
    const int pitch = width + 2;
    MPI_Sendrecv(plate + pitch, pitch, MPI_DOUBLE, above, 0, plate + (rows + 1) * pitch, pitch, MPI_DOUBLE, below, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(plate + rows * pitch, pitch, MPI_DOUBLE, below, 1, plate, pitch, MPI_DOUBLE, above, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks, steps = argc > 1 ? atoi(argv[1]) : 200;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int pitch = width + 2, first = rank * height / ranks, rows = (rank + 1) * height / ranks - first;
    const int above = rank > 0 ? rank - 1 : MPI_PROC_NULL, below = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;

    std::vector<double> plate((rows + 2) * pitch, 0.0);
    for (int x = 0; x < pitch && rank == 0; x++)
        plate[x] = 100.0; // the upper edge is hot
    const size_t bytes = plate.size() * sizeof(double);
    double *now, *next;
    CHECK(cudaMalloc(&now, bytes));
    CHECK(cudaMalloc(&next, bytes));
    CHECK(cudaMemcpy(now, plate.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(next, plate.data(), bytes, cudaMemcpyHostToDevice));

    const dim3 block(32, 8), grid((width + 31) / 32, (rows + 7) / 8);
    for (int i = 0; i < steps; i++) {
        exchange(now, rows, above, below);
        step<<<grid, block>>>(now, next, rows);
        CHECK(cudaDeviceSynchronize()); // MPI knows nothing of streams
        std::swap(now, next);
    }

    CHECK(cudaMemcpy(plate.data(), now, bytes, cudaMemcpyDeviceToHost));
    std::vector<double> all(rank == 0 ? (size_t)height * pitch : 0);
    std::vector<int> counts(ranks), places(ranks);
    for (int i = 0; i < ranks; i++) {
        places[i] = i * height / ranks * pitch;
        counts[i] = (i + 1) * height / ranks * pitch - places[i];
    }
    MPI_Gatherv(plate.data() + pitch, rows * pitch, MPI_DOUBLE, all.data(), counts.data(), places.data(), MPI_DOUBLE, 0,
                MPI_COMM_WORLD);
    if (rank == 0) {
        double sum = 0;
        for (double t : all)
            sum += t;
        printf("after %d steps the plate holds %.9f\n", steps, sum);
    }
    CHECK(cudaFree(now));
    CHECK(cudaFree(next));
    MPI_Finalize();
}
