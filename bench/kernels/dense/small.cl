// Dense linear algebra on small things.
kernel void copy_floats(global const float *in, global float *out, int n)
{
    int i = get_global_id(0);
    if (i < n)
        out[i] = in[i];
}

#define A(r, c) all[((r) * 16 + (c)) * count + m]
kernel void cholesky(global float *all, int count)
{
    int m = get_global_id(0);
    if (m >= count)
        return;
    for (int k = 0; k < 16; k++) {
        float d = A(k, k);
        for (int j = 0; j < k; j++)
            d -= A(k, j) * A(k, j);
        d = sqrt(d);
        A(k, k) = d;
        for (int r = k + 1; r < 16; r++) {
            float s = A(r, k);
            for (int j = 0; j < k; j++)
                s -= A(r, j) * A(k, j);
            A(r, k) = s / d;
        }
    }
}

kernel void lu(global float *all)
{
    local float a[32][33];
    global float *mine = all + get_group_id(0) * 1024;
    int x = get_local_id(0), y = get_local_id(1);
    for (int r = y; r < 32; r += 16)
        for (int c = x; c < 32; c += 16)
            a[r][c] = mine[r * 32 + c];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 31; k++) {
        for (int r = k + 1 + y * 16 + x; r < 32; r += 256)
            a[r][k] /= a[k][k];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int r = k + 1 + y; r < 32; r += 16)
            for (int c = k + 1 + x; c < 32; c += 16)
                a[r][c] -= a[r][k] * a[k][c];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int r = y; r < 32; r += 16)
        for (int c = x; c < 32; c += 16)
            mine[r * 32 + c] = a[r][c];
}

kernel void attention(global const float *q, global const float *k, global const float *v,
                      global float *o, int n)
{
    local float ks[64 * 64], vs[64 * 64];
    int me = get_local_id(0), row = get_global_id(0);
    float mine[64], sum[64], high = -1e30f, total = 0;
    for (int d = 0; d < 64; d++) {
        mine[d] = q[row * 64 + d] * 0.125f;
        sum[d] = 0;
    }
    for (int at = 0; at < n; at += 64) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = me; i < 64 * 64; i += 64) {
            ks[i] = k[at * 64 + i];
            vs[i] = v[at * 64 + i];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < 64; j++) {
            float s = 0;
            for (int d = 0; d < 64; d++)
                s += mine[d] * ks[j * 64 + d];
            float now = fmax(high, s), old = native_exp(high - now), e = native_exp(s - now);
            total = total * old + e;
            for (int d = 0; d < 64; d++)
                sum[d] = sum[d] * old + e * vs[j * 64 + d];
            high = now;
        }
    }
    for (int d = 0; d < 64; d++)
        o[row * 64 + d] = sum[d] / total;
}

kernel void fft(global const float2 *in, global float2 *out)
{
    local float2 s[1024];
    int me = get_local_id(0), base = get_group_id(0) * 1024;
    for (int i = me; i < 1024; i += 256) {
        int reversed = 0;
        for (int b = 0; b < 10; b++)
            reversed |= (i >> b & 1) << (9 - b);
        s[reversed] = in[base + i];
    }
    for (int half_size = 1; half_size < 1024; half_size *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int t = me; t < 512; t += 256) {
            int k = t & (half_size - 1), i = 2 * (t - k) + k;
            float angle = -3.14159265f * k / half_size, c = native_cos(angle),
                  d = native_sin(angle);
            float2 a = s[i], b = s[i + half_size];
            float2 w = (float2)(b.x * c - b.y * d, b.x * d + b.y * c);
            s[i] = a + w;
            s[i + half_size] = a - w;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = me; i < 1024; i += 256)
        out[base + i] = s[i];
}

kernel void complex_product(global const float2 *a, global const float2 *b, global float2 *c, int n)
{
    int column = get_global_id(0), row = get_global_id(1);
    float2 sum = 0;
    for (int k = 0; k < n; k++) {
        float2 x = a[row * n + k], y = b[k * n + column];
        sum.x += x.x * y.x - x.y * y.y;
        sum.y += x.x * y.y + x.y * y.x;
    }
    c[row * n + column] = sum;
}
