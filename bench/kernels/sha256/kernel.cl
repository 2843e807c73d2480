// SHA-256 of many messages of 1,024 bytes: one message per work item, words interleaved so that
// neighbours read neighbours.
constant uint round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint turn(uint v, int by) { return rotate(v, (uint)(32 - by)); }

void block(uint *h, uint *w)
{
    uint s[8];
    for (int k = 0; k < 8; k++)
        s[k] = h[k];
#pragma unroll
    for (int r = 0; r < 64; r++) {
        if (r >= 16) {
            uint a = w[(r + 1) % 16], b = w[(r + 14) % 16];
            w[r % 16] += (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + w[(r + 9) % 16] +
                         (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
        }
        uint t1 = s[7] + (turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)) +
                      ((s[4] & s[5]) ^ (~s[4] & s[6])) + round_constants[r] + w[r % 16];
        uint t2 = (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) +
                      ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        for (int k = 7; k > 0; k--)
            s[k] = s[k - 1];
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (int k = 0; k < 8; k++)
        h[k] += s[k];
}

kernel void sha256(global const uint *words, global uint *digests, int messages)
{
    int m = get_global_id(0);
    if (m >= messages)
        return;
    uint h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    uint w[16];
    for (int b = 0; b < 16; b++) {
        for (int k = 0; k < 16; k++)
            w[k] = words[(size_t)(b * 16 + k) * messages + m];
        block(h, w);
    }
    for (int k = 0; k < 16; k++)
        w[k] = k == 0 ? 0x80000000u : k == 15 ? 8192 : 0;
    block(h, w);
    for (int k = 0; k < 8; k++)
        digests[(size_t)k * messages + m] = h[k];
}
