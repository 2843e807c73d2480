// Sparse matrices times a vector in other formats than rows, and a segmented scan.
kernel void ell(global const int *column, global const float *value, global const float *x,
                global float *y, int rows, int width)
{
    int row = get_global_id(0);
    if (row >= rows)
        return;
    float sum = 0;
    for (int k = 0; k < width; k++) {
        int at = column[k * rows + row];
        if (at >= 0)
            sum += value[k * rows + row] * x[at];
    }
    y[row] = sum;
}

kernel void bsr(global const int *start, global const int *column, global const float *value,
                global const float *x, global float *y, int rows)
{
    int row = get_global_id(0);
    if (row >= rows)
        return;
    int block = row / 4, r = row % 4;
    float sum = 0;
    for (int i = start[block]; i < start[block + 1]; i++)
        for (int c = 0; c < 4; c++)
            sum += value[(i * 4 + r) * 4 + c] * x[column[i] * 4 + c];
    y[row] = sum;
}

kernel void segments(global const uchar *head, global const float *in, global float *out, int n)
{
    local float s[512];
    local uchar h[512];
    int t = get_local_id(0), first = (int)get_group_id(0) * 256 - 256;
    for (int k = t; k < 512; k += 256) {
        int i = first + k;
        s[k] = i >= 0 && i < n ? in[i] : 0;
        h[k] = i >= 0 && i < n ? head[i] : 1;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int distance = 1; distance < 256; distance *= 2) {
        float add[2];
        bool stop[2];
        for (int p = 0; p < 2; p++) {
            int k = t + p * 256;
            bool use = k >= distance && !h[k];
            add[p] = use ? s[k - distance] : 0;
            stop[p] = use && h[k - distance];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int p = 0; p < 2; p++) {
            s[t + p * 256] += add[p];
            h[t + p * 256] |= stop[p];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (first + 256 + t < n)
        out[first + 256 + t] = s[256 + t];
}
