/* syncedmem.hpp: SyncedMemory, the C++ face of syncedmem.h, header only (link with libsyncedmem).
 *
 * The methods have the names that people know and return pointers; what fails throws
 * SyncedMemoryError with the runtime's code. States, order of copies and the rules for threads are
 * syncedmem.h's. C++11. */
#ifndef SYNCEDMEM_HPP
#define SYNCEDMEM_HPP

#include <cstddef>
#include <stdexcept>
#include <string>

#include "syncedmem.h"

/* What is thrown: the call, the code's name and its text in what(), and the code itself. */
class SyncedMemoryError : public std::runtime_error
{
  public:
    SyncedMemoryError(const char *call, cudaError_t code)
        : std::runtime_error(std::string(call) + ": " + cudaGetErrorName(code) + ": " +
                             cudaGetErrorString(code)),
          code_(code)
    {
    }
    cudaError_t code() const { return code_; }

  private:
    cudaError_t code_;
};

/* A buffer; it can be moved, not copied. */
class SyncedMemory
{
  public:
    enum SyncedHead {
        UNINITIALIZED = SYNCEDMEM_UNINITIALIZED,
        HEAD_AT_CPU = SYNCEDMEM_HEAD_AT_CPU,
        HEAD_AT_GPU = SYNCEDMEM_HEAD_AT_GPU,
        SYNCED = SYNCEDMEM_SYNCED
    };

    /* `flags`: SYNCEDMEM_DEFAULT or SYNCEDMEM_PAGEABLE. */
    explicit SyncedMemory(std::size_t size = 0, unsigned flags = SYNCEDMEM_DEFAULT) : mem_(nullptr)
    {
        check("SyncedMemory", syncedmem_create(&mem_, size, flags));
    }
    ~SyncedMemory() { syncedmem_destroy(mem_); } /* nobody to tell of an error */
    SyncedMemory(const SyncedMemory &) = delete;
    SyncedMemory &operator=(const SyncedMemory &) = delete;
    /* What is moved from may only be destroyed or assigned to. */
    SyncedMemory(SyncedMemory &&other) noexcept : mem_(other.mem_) { other.mem_ = nullptr; }
    SyncedMemory &operator=(SyncedMemory &&other) noexcept
    {
        struct syncedmem *mine = mem_;
        mem_ = other.mem_;
        other.mem_ = mine; /* the other destroys it */
        return *this;
    }

    const void *cpu_data()
    {
        const void *data = nullptr;
        check("cpu_data", syncedmem_cpu_data(mem_, &data));
        return data;
    }
    const void *gpu_data()
    {
        const void *data = nullptr;
        check("gpu_data", syncedmem_gpu_data(mem_, &data));
        return data;
    }
    void *mutable_cpu_data()
    {
        void *data = nullptr;
        check("mutable_cpu_data", syncedmem_mutable_cpu_data(mem_, &data));
        return data;
    }
    void *mutable_gpu_data()
    {
        void *data = nullptr;
        check("mutable_gpu_data", syncedmem_mutable_gpu_data(mem_, &data));
        return data;
    }
    void set_cpu_data(void *data) { check("set_cpu_data", syncedmem_set_cpu_data(mem_, data)); }
    void set_gpu_data(void *data) { check("set_gpu_data", syncedmem_set_gpu_data(mem_, data)); }
    void async_gpu_push(cudaStream_t stream)
    {
        check("async_gpu_push", syncedmem_async_gpu_push(mem_, stream));
    }
    SyncedHead head() const { return static_cast<SyncedHead>(syncedmem_head(mem_)); }
    std::size_t size() const { return syncedmem_size(mem_); }
    int device() const { return syncedmem_device(mem_); }

  private:
    static void check(const char *call, cudaError_t error)
    {
        if (error != cudaSuccess)
            throw SyncedMemoryError(call, error);
    }
    struct syncedmem *mem_;
};

#endif
