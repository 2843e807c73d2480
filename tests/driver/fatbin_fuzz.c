/* K3.2: damaged fat binaries: every byte of good ones changed in turn, every length cut off, and
 * random damage of several bytes. Built with the address and undefined-behaviour sanitizers; the
 * reader must answer, whatever the answer, and read nothing outside. */
#include "check.h"
#include "container/fatbin.h"

#include <lz4.h>
#include <stdlib.h>
#include <zstd.h>

static const char text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry k()\n{\nret;\n}\n// aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n";

static void put(unsigned char *at, unsigned long long value, int bytes)
{
    memcpy(at, &value, bytes);
}

/* A fat binary of machine code and three PTX entries: as it is, LZ4, zstd. */
static size_t make(unsigned char *b)
{
    size_t at = 16;
    memset(b, 0, 4096);
    put(b, 0xBA55ED50u, 4);
    put(b + 4, 1, 2);
    put(b + 6, 16, 2);
    for (int kind = 0; kind < 4; kind++) {
        unsigned char *h = b + at, *payload = h + 64;
        size_t packed = sizeof text;
        if (kind == 2)
            packed = (size_t)LZ4_compress_default(text, (char *)payload, sizeof text, 512);
        else if (kind == 3)
            packed = ZSTD_compress(payload, 512, text, sizeof text, 3);
        else
            memcpy(payload, text, sizeof text);
        size_t padded = (packed + 7) / 8 * 8;
        put(h, kind == 0 ? 2 : 1, 2);
        put(h + 4, 64, 4);
        put(h + 8, padded, 8);
        put(h + 16, kind < 2 ? 0 : packed, 4);
        put(h + 28, 70 + (unsigned)kind, 4);
        put(h + 40, kind == 2 ? 0x2011 : kind == 3 ? 0x8011 : 0x11, 8);
        put(h + 56, kind < 2 ? 0 : sizeof text, 8);
        at += 64 + padded;
    }
    put(b + 8, at - 16, 8);
    return at;
}

/* Reads a copy that ends exactly where the heap block does. */
static enum fatbin_status read_exact(const unsigned char *b, size_t size, unsigned sm)
{
    struct diag d = {0};
    struct fatbin_ptx ptx = {0};
    unsigned char *copy = malloc(size ? size : 1);
    memcpy(copy, b, size);
    enum fatbin_status s = fatbin_find_ptx(copy, size, sm, &ptx, &d);
    if (s == FATBIN_OK)
        free(ptx.text);
    else if (s != FATBIN_NOT_ONE)
        CHECK(d.text[0] != '\0');
    free(copy);
    return s;
}

/* Programs hand images over without their size: what one claims must make sense by itself. */
static void claims_too_much(unsigned char *b)
{
    struct diag d = {0};
    struct fatbin_ptx ptx = {0};
    const unsigned long long packed = 0x80000010u; /* less than 0 as an int */
    unsigned char *h = b + 16;
    memset(b, 0, 4096);
    put(b, 0xBA55ED50u, 4);
    put(b + 4, 1, 2);
    put(b + 6, 16, 2);
    put(b + 8, 64 + packed, 8);
    put(h, 1, 2);
    put(h + 4, 64, 4);
    put(h + 8, packed, 8);
    put(h + 16, packed, 4);
    put(h + 28, 70, 4);
    put(h + 40, 0x2011, 8); /* LZ4 */
    put(h + 56, 100, 8);
    CHECK_EQ_INT(fatbin_find_ptx(b, SIZE_MAX, 90, &ptx, &d), FATBIN_BROKEN);
    CHECK_STR(d.text, "fat binary: a PTX entry claims 2147483664 bytes");
}

int main(void)
{
    static unsigned char good[4096], bad[4096];
    size_t size = make(good);
    for (unsigned sm = 71; sm <= 73; sm++)
        CHECK_EQ_INT(read_exact(good, size, sm), FATBIN_OK);
    CHECK_EQ_INT(read_exact(good, size, 50), FATBIN_NO_PTX);
    for (size_t n = 0; n < size; n++)
        CHECK(read_exact(good, n, 90) != FATBIN_OK);
    for (size_t n = 0; n < size; n++)
        for (int change = 1; change < 256; change = change * 3 + 1) {
            memcpy(bad, good, size);
            bad[n] ^= (unsigned char)change;
            for (unsigned sm = 71; sm <= 73; sm++)
                CHECK(read_exact(bad, size, sm) <= FATBIN_NO_PTX);
        }
    unsigned long long seed = 88172645463325252ull;
    for (int round = 0; round < 20000; round++) {
        memcpy(bad, good, size);
        for (int k = 0; k < 6; k++) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            bad[seed % size] = (unsigned char)(seed >> 32);
        }
        CHECK(read_exact(bad, size, 71 + (unsigned)round % 3) <= FATBIN_NO_PTX);
    }
    claims_too_much(good);
    return check_done();
}
