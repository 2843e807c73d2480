// Ciphers in counter mode: ChaCha20 by additions and rotations, AES-128 by tables, a block a thread.
#include "harness.h"

static __device__ unsigned rotated(unsigned x, int by) { return x << by | x >> (32 - by); }
struct by_shifts {
    static __device__ unsigned left(unsigned x, int by) { return rotated(x, by); }
};
struct by_funnel {
    static __device__ unsigned left(unsigned x, int by) { return __funnelshift_l(x, x, by); }
};
template <class R> static __device__ void quarter(unsigned &a, unsigned &b, unsigned &c, unsigned &d)
{
    a += b, d = R::left(d ^ a, 16);
    c += d, b = R::left(b ^ c, 12);
    a += b, d = R::left(d ^ a, 8);
    c += d, b = R::left(b ^ c, 7);
}
template <class R, bool FOUR>
__global__ void chacha(const int *key, const int *text, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned x[16], start[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    for (int k = 0; k < 8; k++)
        start[4 + k] = key[k];
    start[12] = i;
    start[13] = start[14] = start[15] = 7;
    for (int k = 0; k < 16; k++)
        x[k] = start[k];
    for (int round = 0; round < 10; round++) {
        quarter<R>(x[0], x[4], x[8], x[12]);
        quarter<R>(x[1], x[5], x[9], x[13]);
        quarter<R>(x[2], x[6], x[10], x[14]);
        quarter<R>(x[3], x[7], x[11], x[15]);
        quarter<R>(x[0], x[5], x[10], x[15]);
        quarter<R>(x[1], x[6], x[11], x[12]);
        quarter<R>(x[2], x[7], x[8], x[13]);
        quarter<R>(x[3], x[4], x[9], x[14]);
    }
    if (FOUR) {
        for (int k = 0; k < 4; k++) {
            int4 t = reinterpret_cast<const int4 *>(text)[i * 4 + k];
            t.x ^= x[4 * k] + start[4 * k];
            t.y ^= x[4 * k + 1] + start[4 * k + 1];
            t.z ^= x[4 * k + 2] + start[4 * k + 2];
            t.w ^= x[4 * k + 3] + start[4 * k + 3];
            reinterpret_cast<int4 *>(out)[i * 4 + k] = t;
        }
    } else {
        for (int k = 0; k < 16; k++)
            out[i * 16 + k] = text[i * 16 + k] ^ (x[k] + start[k]);
    }
}
BENCH_SPELLING(chacha, 0, chacha<by_shifts, false>);
BENCH_SPELLING(chacha, 1, chacha<by_funnel, false>);
BENCH_SPELLING(chacha, 2, chacha<by_funnel, true>);

// The table's first 256 words join a byte's substitute with its multiples; the others are turned.
template <bool SHARED, bool TURNED>
__global__ void aes(const int *keys, const int *tables, const uint4 *text, uint4 *out, int n)
{
    __shared__ unsigned own[1024];
    const unsigned *table = (const unsigned *)tables;
    if (SHARED) {
        for (int k = threadIdx.x; k < 1024; k += blockDim.x)
            own[k] = tables[k];
        __syncthreads();
        table = own;
    }
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const unsigned *key = (const unsigned *)keys;
    unsigned s[4] = {i ^ key[0], key[1], key[2], 7 ^ key[3]}, t[4];
    for (int round = 1; round < 10; round++) {
        key += 4;
        for (int c = 0; c < 4; c++) {
            unsigned a = s[c] & 255, b = s[(c + 1) & 3] >> 8 & 255, d = s[(c + 2) & 3] >> 16 & 255,
                     e = s[(c + 3) & 3] >> 24;
            if (TURNED)
                t[c] = table[a] ^ rotated(table[b], 8) ^ rotated(table[d], 16) ^
                       rotated(table[e], 24) ^ key[c];
            else
                t[c] = table[a] ^ table[256 + b] ^ table[512 + d] ^ table[768 + e] ^ key[c];
        }
        for (int c = 0; c < 4; c++)
            s[c] = t[c];
    }
    key += 4;
    for (int c = 0; c < 4; c++) // the second byte of a word is the substitute alone
        t[c] = (table[s[c] & 255] >> 8 & 255) ^ (table[s[(c + 1) & 3] >> 8 & 255] & 0xff00) ^
               (table[s[(c + 2) & 3] >> 16 & 255] << 8 & 0xff0000) ^
               (table[s[(c + 3) & 3] >> 24] << 16 & 0xff000000) ^ key[c];
    uint4 in = text[i];
    out[i] = make_uint4(in.x ^ t[0], in.y ^ t[1], in.z ^ t[2], in.w ^ t[3]);
}
BENCH_SPELLING(aes, 0, aes<true, false>);
BENCH_SPELLING(aes, 1, aes<false, false>);
BENCH_SPELLING(aes, 2, aes<true, true>);
