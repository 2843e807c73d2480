// Filters of images.
kernel void grey(global const uchar4 *in, global uchar *out, int n)
{
    int i = get_global_id(0);
    if (i < n)
        out[i] = (77 * in[i].x + 150 * in[i].y + 29 * in[i].z) >> 8;
}

kernel void sobel(global const uchar *in, global uchar *out, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1)
        return;
    global const uchar *p = in + y * width + x;
    int across = p[1 - width] + 2 * p[1] + p[1 + width] - p[-1 - width] - 2 * p[-1] - p[width - 1];
    int down = p[width - 1] + 2 * p[width] + p[width + 1] - p[-width - 1] - 2 * p[-width] -
               p[1 - width];
    out[y * width + x] = min((int)(abs(across) + abs(down)), 255);
}

#define ORDER(a, b)                                                                                \
    low = min(v[a], v[b]), v[b] = max(v[a], v[b]), v[a] = low
kernel void median(global const uchar *in, global uchar *out, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1)
        return;
    int v[9], low;
    for (int dy = 0; dy < 3; dy++)
        for (int dx = 0; dx < 3; dx++)
            v[dy * 3 + dx] = in[(y + dy - 1) * width + x + dx - 1];
    ORDER(1, 2), ORDER(4, 5), ORDER(7, 8), ORDER(0, 1), ORDER(3, 4), ORDER(6, 7);
    ORDER(1, 2), ORDER(4, 5), ORDER(7, 8), ORDER(0, 3), ORDER(5, 8), ORDER(4, 7);
    ORDER(3, 6), ORDER(1, 4), ORDER(2, 5), ORDER(4, 7), ORDER(4, 2), ORDER(6, 4);
    ORDER(4, 2);
    out[y * width + x] = v[4];
}

kernel void conv(global const float *in, global const float *weights, global float *out, int width,
                 int channels)
{
    int x = get_global_id(0), y = get_global_id(1), o = y / width;
    y %= width;
    if (x >= width)
        return;
    float sum = 0;
    for (int c = 0; c < channels; c++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                int sx = x + dx, sy = y + dy;
                if (sx >= 0 && sy >= 0 && sx < width && sy < width)
                    sum += in[(c * width + sy) * width + sx] *
                           weights[((o * channels + c) * 3 + dy + 1) * 3 + dx + 1];
            }
    out[(o * width + y) * width + x] = sum;
}
