/* wide_characters: what std::char_traits<wchar_t> (std::wstring_view) comes to where its arguments
 * are known only when the kernel runs. The C++ library calls functions of the host there, of which
 * these are the device's overloads; for char it asks the compiler, which calls functions of the
 * device library.
 *
 * Comes before <cwchar>, so that std::wcslen and the like mean these, too. */
#ifndef WEIR_WIDE_CHARACTERS_H
#define WEIR_WIDE_CHARACTERS_H

static __inline__ __device__ size_t wcslen(const wchar_t *text)
{
    size_t n = 0;
    while (text[n] != 0)
        n++;
    return n;
}

static __inline__ __device__ int wmemcmp(const wchar_t *a, const wchar_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

static __inline__ __device__ wchar_t *wmemchr(const wchar_t *from, wchar_t c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (from[i] == c)
            return const_cast<wchar_t *>(from + i);
    return 0;
}

static __inline__ __device__ wchar_t *wmemcpy(wchar_t *to, const wchar_t *from, size_t n)
{
    return static_cast<wchar_t *>(__builtin_memcpy(to, from, n * sizeof *to));
}

static __inline__ __device__ wchar_t *wmemmove(wchar_t *to, const wchar_t *from, size_t n)
{
    if (to <= from)
        for (size_t i = 0; i < n; i++)
            to[i] = from[i];
    else
        for (size_t i = n; i > 0; i--)
            to[i - 1] = from[i - 1];
    return to;
}

static __inline__ __device__ wchar_t *wmemset(wchar_t *to, wchar_t c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = c;
    return to;
}

#endif
