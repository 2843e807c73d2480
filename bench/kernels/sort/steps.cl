// Merging of sorted runs by their diagonal, odd-even merge sort of rows.
kernel void merge_runs(global const int *in, global int *out, int n, int run)
{
    int start = get_global_id(0) * 16;
    if (start >= n)
        return;
    int base = start / (2 * run) * (2 * run), diagonal = start - base;
    global const int *a = in + base, *b = a + run;
    int low = max(0, diagonal - run), high = min(diagonal, run);
    while (low < high) {
        int middle = (low + high) / 2;
        if (a[middle] <= b[diagonal - 1 - middle])
            low = middle + 1;
        else
            high = middle;
    }
    int i = low, j = diagonal - low;
    for (int k = 0; k < 16; k++) {
        bool left = j >= run || (i < run && a[i] <= b[j]);
        out[start + k] = left ? a[i++] : b[j++];
    }
}

kernel void sort_rows(global const int *in, global int *out)
{
    local int s[512];
    int me = get_local_id(0), row = get_group_id(0) * 512;
    for (int k = me; k < 512; k += 256)
        s[k] = in[row + k];
    for (int p = 1; p < 512; p *= 2)
        for (int k = p; k > 0; k /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int t = me; t < 512; t += 256) {
                int from = k % p;
                if (t < from || t + k >= 512 || (t - from) / k % 2 != 0)
                    continue;
                if (t / (2 * p) != (t + k) / (2 * p))
                    continue;
                int a = s[t], b = s[t + k];
                s[t] = min(a, b);
                s[t + k] = max(a, b);
            }
        }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = me; k < 512; k += 256)
        out[row + k] = s[k];
}
