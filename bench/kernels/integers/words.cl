// Integer work: 64-bit mixing, greatest common divisors, distances of bit strings, CRC by table.
kernel void mix64(global const ulong *in, global ulong *out, int n, int rounds)
{
    int i = get_global_id(0);
    if (i >= n)
        return;
    ulong x = in[i];
    for (int r = 0; r < rounds; r++) {
        x += 0x9e3779b97f4a7c15ul;
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ul;
        x = (x ^ x >> 27) * 0x94d049bb133111ebul;
        x ^= x >> 31;
    }
    out[i] = x;
}

kernel void gcd(global const int *a, global const int *b, global int *out, int n)
{
    int i = get_global_id(0);
    if (i >= n)
        return;
    int x = a[i], y = b[i];
    while (y != 0) {
        int rest = x % y;
        x = y;
        y = rest;
    }
    out[i] = x;
}

kernel void hamming(global const uint4 *query, global const uint4 *all, global int *nearest, int n,
                    int others)
{
    int i = get_global_id(0);
    if (i >= n)
        return;
    uint4 mine = query[i];
    int best = 1 << 30;
    for (int k = 0; k < others; k++) {
        uint4 bits = popcount(mine ^ all[k]);
        int distance = bits.x + bits.y + bits.z + bits.w;
        best = min(best, distance << 16 | k);
    }
    nearest[i] = best;
}

kernel void crc(global const uchar *text, global const uint *table, global uint *sums, int n)
{
    int i = get_global_id(0);
    if (i >= n)
        return;
    uint sum = ~0u;
    for (int k = 0; k < 256; k++)
        sum = sum >> 8 ^ table[(sum ^ text[i * 256 + k]) & 255];
    sums[i] = ~sum;
}
