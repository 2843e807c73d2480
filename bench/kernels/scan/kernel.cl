// Inclusive prefix sums: in each group of 256 (Hillis and Steele), then of the groups' sums by the
// same kernel, then added back.
kernel void scan_blocks(global const int *in, global int *out, global int *sums, int n)
{
    local int row[2][256];
    int t = get_local_id(0), i = get_global_id(0), from = 0;
    row[0][t] = i < n ? in[i] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int distance = 1; distance < 256; distance *= 2, from = 1 - from) {
        row[1 - from][t] = row[from][t] + (t >= distance ? row[from][t - distance] : 0);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < n)
        out[i] = row[from][t];
    if (t == 255)
        sums[get_group_id(0)] = row[from][t];
}

kernel void scan_add(global int *out, global const int *sums, int n)
{
    int i = get_global_id(0), group = get_group_id(0);
    if (group > 0 && i < n)
        out[i] += sums[group - 1];
}
