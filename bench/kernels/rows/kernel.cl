// Softmax and layer norm of the rows of a matrix: one work group of 256 a row, sums by a tree in
// local memory.
enum { THREADS = 256, EACH = 4 };

float total_of(float v, local float *part)
{
    int t = get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    part[t] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int width = THREADS / 2; width > 0; width /= 2) {
        if (t < width)
            part[t] += part[t + width];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return part[0];
}

float most_of(float v, local float *part)
{
    int t = get_local_id(0);
    part[t] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int width = THREADS / 2; width > 0; width /= 2) {
        if (t < width)
            part[t] = fmax(part[t], part[t + width]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return part[0];
}

kernel void softmax(global const float *in, global float *out, int columns)
{
    local float part[THREADS];
    size_t first = get_group_id(0) * (size_t)columns, t = get_local_id(0);
    float v[EACH], high = -1e30f, total = 0;
    for (int k = 0; k < EACH; k++) {
        v[k] = in[first + t + k * THREADS];
        high = fmax(high, v[k]);
    }
    high = most_of(high, part);
    for (int k = 0; k < EACH; k++) {
        v[k] = exp(v[k] - high);
        total += v[k];
    }
    total = total_of(total, part);
    for (int k = 0; k < EACH; k++)
        out[first + t + k * THREADS] = v[k] / total;
}

kernel void layer_norm(global const float *in, global const float *scale, global const float *shift,
                       global float *out, int columns)
{
    local float part[THREADS];
    size_t first = get_group_id(0) * (size_t)columns, t = get_local_id(0);
    float v[EACH], total = 0, squares = 0;
    for (int k = 0; k < EACH; k++) {
        v[k] = in[first + t + k * THREADS];
        total += v[k];
    }
    float mean = total_of(total, part) / columns;
    for (int k = 0; k < EACH; k++)
        squares += (v[k] - mean) * (v[k] - mean);
    float inverse = rsqrt(total_of(squares, part) / columns + 1e-5f);
    for (int k = 0; k < EACH; k++)
        out[first + t + k * THREADS] =
            (v[k] - mean) * inverse * scale[t + k * THREADS] + shift[t + k * THREADS];
}
