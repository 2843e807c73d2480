// Work of networks and of images in small types: gradients of pooling, a stencil of bytes over a
// tile with its surroundings, complex numbers made by each thread.
kernel void pool_gradient(global const float *top, global float *bottom, int n, int width,
                          int pooled, int window, int step)
{
    for (int i = get_global_id(0); i < n; i += get_global_size(0)) {
        int x = i % width, y = i / width % width, plane = i / width / width;
        int px0 = x < window ? 0 : (x - window) / step + 1, px1 = min(x / step + 1, pooled);
        int py0 = y < window ? 0 : (y - window) / step + 1, py1 = min(y / step + 1, pooled);
        global const float *from = top + plane * pooled * pooled;
        float gradient = 0;
        for (int py = py0; py < py1; py++)
            for (int px = px0; px < px1; px++) {
                int high = min(py * step + window, width) - py * step;
                int wide = min(px * step + window, width) - px * step;
                gradient += from[py * pooled + px] / (high * wide);
            }
        bottom[i] = gradient;
    }
}

kernel void apron(global const uchar *in, global uchar *out, int width, int height)
{
    local uchar tile[20][20];
    int lx = get_local_id(0), ly = get_local_id(1);
    int x0 = get_group_id(0) * 16 - 2, y0 = get_group_id(1) * 16 - 2;
    for (int ty = ly; ty < 20; ty += 16)
        for (int tx = lx; tx < 20; tx += 16) {
            int x = clamp(x0 + tx, 0, width - 1), y = clamp(y0 + ty, 0, height - 1);
            tile[ty][tx] = in[y * width + x];
        }
    barrier(CLK_LOCAL_MEM_FENCE);
    const int weight[5] = {1, 4, 6, 4, 1};
    int sum = 128, x = get_global_id(0), y = get_global_id(1);
    for (int dy = 0; dy < 5; dy++)
        for (int dx = 0; dx < 5; dx++)
            sum += weight[dy] * weight[dx] * tile[ly + dy][lx + dx];
    if (x < width && y < height)
        out[y * width + x] = sum >> 8;
}

float drawn(uint *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (int)(*state >> 8) * 0x1p-24f + 0.5f;
}
kernel void complex_drawn(global float *out)
{
    int t = get_global_id(0);
    uint state = t * 2654435761u + 99;
    float sum = 0;
    for (int i = 0; i < 16; i++) {
        float ar = drawn(&state), ai = drawn(&state), br = drawn(&state), bi = drawn(&state);
        float scale = 1 / (br * br + bi * bi);
        float r = ar * br - ai * bi + (ar * br + ai * bi) * scale;
        float m = ar * bi + ai * br + (ai * br - ar * bi) * scale;
        sum += sqrt(r * r + m * m);
    }
    out[t] = sum;
}
