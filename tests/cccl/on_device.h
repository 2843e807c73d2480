/* What the tests of CUB and Thrust share: vectors on the device, calls that ask for storage first.
 */
#ifndef TEST_CCCL_ON_DEVICE_H
#define TEST_CCCL_ON_DEVICE_H

#include <algorithm>
#include <vector>

#include "check.h"

#define OK(call) CHECK_EQ_INT(call, cudaSuccess)

template <class U> struct buffer {
    U *p = nullptr;
    size_t n;
    explicit buffer(size_t count) : n(count) { OK(cudaMalloc(&p, count * sizeof(U) + 1)); }
    explicit buffer(const std::vector<U> &from) : buffer(from.size())
    {
        OK(cudaMemcpy(p, from.data(), n * sizeof(U), cudaMemcpyHostToDevice));
    }
    buffer(const buffer &) = delete;
    ~buffer() { cudaFree(p); }
    std::vector<U> host(size_t count) const
    {
        std::vector<U> to(count);
        OK(cudaMemcpy(to.data(), p, count * sizeof(U), cudaMemcpyDeviceToHost));
        return to;
    }
    std::vector<U> host() const { return host(n); }
};

/* Calls twice, as CUB wants it: for the size of its storage, then with that. */
template <class F> static void in_storage(F call)
{
    size_t bytes = 0;
    void *storage = nullptr;
    OK(call((void *)nullptr, bytes));
    OK(cudaMalloc(&storage, bytes + 1));
    OK(call(storage, bytes));
    OK(cudaDeviceSynchronize());
    OK(cudaFree(storage));
}

template <class U> static void same(const std::vector<U> &a, const std::vector<U> &b)
{
    CHECK_EQ_INT(a.size(), b.size());
    auto at = std::mismatch(a.begin(), a.end(), b.begin());
    CHECK_EQ_INT(at.first - a.begin(), a.size());
}

#endif
