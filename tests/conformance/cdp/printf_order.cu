// FLAGS: -rdc=true -lcudadevrt
/* D2, D6: what parents and children print arrives in the order in which it was printed: a parent's
 * before the children that it launches afterwards, children of a stream one after the other, tail
 * launches last, grids that follow on the host's stream after all of them. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

__global__ void leaf(const char *name) { printf("%s;", name); }
__device__ char names[][16] = {"first", "second", "tail", "tail's tail", "below first"};
__global__ void first()
{
    printf("first;");
    leaf<<<1, 1>>>(names[4]);
}
__global__ void last()
{
    leaf<<<1, 1, 0, cudaStreamTailLaunch>>>(names[3]);
    printf("tail;");
}
__global__ void parent()
{
    printf("parent;");
    first<<<1, 1>>>();
    leaf<<<1, 1>>>(names[1]);
    last<<<1, 1, 0, cudaStreamTailLaunch>>>();
    printf("parent's end;");
}
__global__ void next() { printf("next;"); }

/* What the device prints until the device is done. */
static void print_to(char *text, size_t size)
{
    char path[] = "/tmp/weir-D2-XXXXXX";
    int file = mkstemp(path), out = dup(1);
    fflush(stdout);
    dup2(file, 1);
    parent<<<1, 1>>>();
    next<<<1, 1>>>();
    OK(cudaDeviceSynchronize());
    fflush(stdout);
    dup2(out, 1);
    ssize_t n = pread(file, text, size - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    close(out);
    close(file);
    unlink(path);
}

/* Where the line begins, counted from its end in front of it. */
static long at(const char *text, const char *line)
{
    const char *found = strstr(text, line);
    CHECK(found != NULL);
    return found != NULL ? (long)(found - text) : -1;
}

int main()
{
    static char text[4096];
    for (int round = 0; round < 20; round++) {
        print_to(text, sizeof text);
        CHECK_EQ_INT(at(text, "parent;"), 0);
        CHECK(at(text, "first;") < at(text, "below first;"));
        CHECK(at(text, "below first;") < at(text, "second;"));
        CHECK(at(text, "second;") < at(text, "tail;"));
        CHECK(at(text, "parent's end;") < at(text, "tail;"));
        CHECK(at(text, "tail;") < at(text, "tail's tail;"));
        CHECK(at(text, "tail's tail;") < at(text, "next;"));
        CHECK_EQ_INT(strlen(text), at(text, "next;") + 5);
    }
    return check_done();
}
