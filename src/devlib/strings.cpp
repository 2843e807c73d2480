/* What the C++ library's constexpr functions of characters and bytes come to where their arguments
 * are known only when the kernel runs: std::string_view, std::char_traits, std::equal of bytes. */
#include "devlib.h"

#define PLAIN extern "C" __attribute__((no_builtin))

PLAIN u64 strlen(const char *text)
{
    u64 n = 0;
    while (text[n] != 0)
        n++;
    return n;
}

PLAIN int memcmp(const void *a, const void *b, u64 n)
{
    const unsigned char *x = (const unsigned char *)a, *y = (const unsigned char *)b;
    for (u64 i = 0; i < n; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

PLAIN void *memchr(const void *from, int c, u64 n)
{
    const unsigned char *x = (const unsigned char *)from;
    for (u64 i = 0; i < n; i++)
        if (x[i] == (unsigned char)c)
            return (void *)(x + i);
    return 0;
}
