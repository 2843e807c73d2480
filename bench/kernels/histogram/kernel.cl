// How often each byte occurs: per group with local atomics, then added to the whole.
kernel void histogram(global const uchar *bytes, global uint *counts, int n)
{
    local uint mine[256];
    int t = get_local_id(0);
    mine[t] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        atomic_add(&mine[bytes[i]], 1);
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&counts[t], mine[t]);
}
