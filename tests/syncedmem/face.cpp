/* M5.3: the C++ face of syncedmem: the methods people know, exceptions, moving; linked with the
 * library and the runtime as a program would be, shared and static. */
#include <cstdio>
#include <cstring>
#include <utility>

#include "check.h"
#include "syncedmem.hpp"

static void methods()
{
    SyncedMemory mem(1000);
    CHECK_EQ_INT(mem.head(), SyncedMemory::UNINITIALIZED);
    CHECK_EQ_INT(mem.size(), 1000);
    CHECK_EQ_INT(mem.device(), 0);
    CHECK_EQ_INT(static_cast<const char *>(mem.cpu_data())[999], 0);
    CHECK_EQ_INT(mem.head(), SyncedMemory::HEAD_AT_CPU);
    memset(mem.mutable_cpu_data(), 5, mem.size());
    const void *gpu = mem.gpu_data();
    CHECK_EQ_INT(mem.head(), SyncedMemory::SYNCED);
    CHECK(mem.mutable_gpu_data() == gpu);
    CHECK_EQ_INT(mem.head(), SyncedMemory::HEAD_AT_GPU);
    CHECK_EQ_INT(cudaMemset(mem.mutable_gpu_data(), 6, 500), cudaSuccess);
    CHECK_EQ_INT(static_cast<const char *>(mem.cpu_data())[499], 6);
    CHECK_EQ_INT(static_cast<const char *>(mem.cpu_data())[500], 5);
    char own[1000] = "own";
    mem.set_cpu_data(own);
    mem.async_gpu_push(0);
    CHECK_EQ_INT(mem.head(), SyncedMemory::SYNCED);
    CHECK_EQ_INT(cudaStreamSynchronize(0), cudaSuccess);
    mem.mutable_gpu_data();
    memset(own, 0, sizeof own);
    CHECK(mem.cpu_data() == own);
    CHECK_STR(own, "own");
}

static void errors()
{
    SyncedMemory mem(1000, SYNCEDMEM_PAGEABLE);
    bool thrown = false;
    try {
        mem.async_gpu_push(0);
    } catch (const SyncedMemoryError &e) {
        thrown = true;
        CHECK_EQ_INT(e.code(), cudaErrorInvalidValue);
        CHECK(strstr(e.what(), "async_gpu_push: cudaErrorInvalidValue: ") == e.what());
    }
    CHECK(thrown);
}

static void moves()
{
    SyncedMemory a(10), b(20);
    memcpy(a.mutable_cpu_data(), "one", 4);
    SyncedMemory c(std::move(a));
    CHECK_STR(static_cast<const char *>(c.cpu_data()), "one");
    b = std::move(c);
    CHECK_EQ_INT(b.size(), 10);
    CHECK_STR(static_cast<const char *>(b.cpu_data()), "one");
}

int main()
{
    methods();
    errors();
    moves();
    return check_done();
}
