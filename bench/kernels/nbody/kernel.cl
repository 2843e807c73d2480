// Accelerations of bodies under each other's gravity, all pairs, through tiles in local memory.
enum { TILE = 256 };

kernel void nbody(global const float4 *bodies, global float4 *accelerations, float softening, int n)
{
    local float4 tile[TILE];
    int i = get_global_id(0), t = get_local_id(0);
    float4 me = bodies[i];
    float x = 0, y = 0, z = 0;
    for (int at = 0; at < n; at += TILE) {
        tile[t] = bodies[at + t];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < TILE; j++) {
            float4 other = tile[j];
            float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
            float inverse = rsqrt(dx * dx + dy * dy + dz * dz + softening);
            float pull = other.w * inverse * inverse * inverse;
            x += dx * pull;
            y += dy * pull;
            z += dz * pull;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    accelerations[i] = (float4)(x, y, z, 0);
}
