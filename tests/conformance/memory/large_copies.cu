/* M3: copies of more than any cache holds, which may take another way than small ones: every byte
 * of them arrives, at any alignment of either side, in rows and in one piece, and none beside them
 * is touched. */
#include <cstdlib>
#include <cstring>
#include <vector>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

static const size_t BYTES = (size_t)65 << 20, MARGIN = 256;

static unsigned char pattern(size_t i) { return (unsigned char)(i * 131 + (i >> 13)); }

/* Whether what is there is the pattern's bytes from `first` on. */
static bool is_pattern(const unsigned char *at, size_t first, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != pattern(first + i))
            return false;
    return true;
}

static bool is_all(const unsigned char *at, unsigned char value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != value)
            return false;
    return true;
}

static std::vector<unsigned char> source(BYTES + 2 * MARGIN), result(BYTES + 2 * MARGIN);
static unsigned char *device[2];

/* To the device, on it and back, each side at an offset of its own. */
static void one_piece(size_t from, size_t there, size_t to)
{
    size_t n = BYTES - 77;
    OK(cudaMemset(device[0], 0xee, BYTES + 2 * MARGIN));
    OK(cudaMemset(device[1], 0xdd, BYTES + 2 * MARGIN));
    OK(cudaMemcpy(device[0] + there, &source[from], n, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(device[1] + to, device[0] + there, n, cudaMemcpyDeviceToDevice));
    memset(result.data(), 0xcc, result.size());
    OK(cudaMemcpy(result.data(), device[1], result.size(), cudaMemcpyDeviceToHost));
    CHECK(is_all(result.data(), 0xdd, to));
    CHECK(is_pattern(&result[to], from, n));
    CHECK(is_all(&result[to + n], 0xdd, result.size() - to - n));
}

/* Rows of odd lengths, of which some are shorter than what may be worth another way. */
static void rows(size_t width, size_t pitch)
{
    size_t count = BYTES / pitch;
    OK(cudaMemset(device[0], 0xee, BYTES));
    OK(cudaMemcpy2D(device[0] + 3, pitch, &source[5], pitch, width, count - 1,
                    cudaMemcpyHostToDevice));
    OK(cudaMemcpy(result.data(), device[0], count * pitch, cudaMemcpyDeviceToHost));
    bool inside = true, between = true;
    for (size_t row = 0; row + 1 < count; row++) {
        inside &= is_pattern(&result[row * pitch + 3], row * pitch + 5, width);
        between &= is_all(&result[row * pitch + 3 + width], 0xee, pitch - width);
    }
    CHECK(inside);
    CHECK(between);
}

int main()
{
    for (size_t i = 0; i < source.size(); i++)
        source[i] = pattern(i);
    for (unsigned char *&d : device)
        OK(cudaMalloc(&d, BYTES + 2 * MARGIN));
    one_piece(0, 0, 0);
    one_piece(3, 64, 1);
    one_piece(64, 63, 65);
    rows(1001, 1500);
    rows(4095, 4096);
    for (unsigned char *d : device)
        OK(cudaFree(d));
    return check_done();
}
