// Sum of an array, 256 elements per group and pass: by a tree in local memory, and by shuffles in
// each sub-group of 32.
kernel void reduce_tree(global const float *in, global float *out, int n)
{
    local float part[256];
    uint t = get_local_id(0), i = get_global_id(0);
    part[t] = i < n ? in[i] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint width = 128; width > 0; width /= 2) {
        if (t < width)
            part[t] += part[t + width];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (t == 0)
        out[get_group_id(0)] = part[0];
}

#ifdef cl_khr_subgroup_shuffle
static float warp_sum(float value)
{
    for (uint distance = 16; distance > 0; distance /= 2)
        value += sub_group_shuffle(value, (get_sub_group_local_id() + distance) % 32);
    return value;
}

__attribute__((intel_reqd_sub_group_size(32)))
kernel void reduce_shuffle(global const float *in, global float *out, int n)
{
    local float part[8];
    uint t = get_local_id(0), i = get_global_id(0);
    float sum = warp_sum(i < n ? in[i] : 0);
    if (t % 32 == 0)
        part[t / 32] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t < 32) {
        sum = warp_sum(t < 8 ? part[t] : 0);
        if (t == 0)
            out[get_group_id(0)] = sum;
    }
}
#endif
