// Atomics that many threads aim at few places.
kernel void count_few(global const int *key, global int *counts, int n)
{
    int i = get_global_id(0);
    if (i < n)
        atomic_add(&counts[key[i] & 15], 1);
}

kernel void range_few(global const int *value, global int *range, int n)
{
    int i = get_global_id(0);
    if (i >= n)
        return;
    atomic_min(&range[0], value[i]);
    atomic_max(&range[1], value[i]);
}
