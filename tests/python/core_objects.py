"""cuda.core and cuda.bindings: programs from PTX and from C++, streams, events, buffers, a graph of the driver,
textures of mipmapped arrays."""
import numpy as np
from cuda.bindings import driver
from cuda.core import Device, EventOptions, LaunchConfig, Program, ProgramOptions, launch
from cuda.core.texture import MipmappedArrayOptions, ResourceDescriptor, TextureObjectOptions

PTX = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry twice(.param .u64 values)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [values];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r2, [%rd3];
    add.u32 %r2, %r2, %r2;
    st.global.u32 [%rd3], %r2;
    ret;
}
.visible .entry level(.param .u64 texture, .param .u64 value)
{
    .reg .b64 %rd<3>;
    .reg .f32 %f<6>;
    ld.param.u64 %rd1, [texture];
    ld.param.u64 %rd2, [value];
    mov.f32 %f0, 0f3F000000;
    mov.f32 %f1, 0f3FA00000;
    tex.level.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd1, {%f0, %f0}], %f1;
    st.global.f32 [%rd2], %f2;
    ret;
}
"""


TEMPLATE = "template<typename T> __global__ void twice(T *v) { v[threadIdx.x] *= 2; }"


def compiled(device):
    """The same kernel by NVRTC, asked for machine code as cuda.core's examples ask for it."""
    options = ProgramOptions(arch=f"sm_{device.arch}", std="c++17")
    return Program(TEMPLATE, "c++", options).compile("cubin", name_expressions=("twice<int>",)).get_kernel("twice<int>")


def check(result):
    """The values of a call of the bindings; the first is its code."""
    assert result[0] == driver.CUresult.CUDA_SUCCESS, result[0]
    return result[1] if len(result) == 2 else result[1:]


def mipmapped(device, stream, kernel):
    """Each level holds its number; what is read at level 1.25 lies between two."""
    array = device.create_mipmapped_array(
        MipmappedArrayOptions(shape=(8, 4), format="float32", num_channels=1, num_levels=4))
    for n in range(4):
        level = array.get_level(n)
        assert level.shape == (8 >> n, max(4 >> n, 1))
        level.copy_from(np.full(level.shape[::-1], n, np.float32), stream=stream)
        level.close()
    options = TextureObjectOptions(address_mode="clamp", filter_mode="linear", normalized_coords=True,
                                   mipmap_filter_mode="linear", max_mipmap_level_clamp=3.0)
    texture = device.create_texture_object(resource=ResourceDescriptor.from_mipmapped_array(array), options=options)
    buffer, value = device.allocate(4, stream=stream), np.empty(1, np.float32)
    launch(stream, LaunchConfig(grid=1, block=1), kernel, texture.handle, buffer)
    stream.sync()
    check(driver.cuMemcpyDtoH(value.ctypes.data, int(buffer.handle), 4))
    assert value[0] == 1.25, value
    buffer.close(stream)
    texture.close()
    array.close()


def main():
    device = Device(0)
    device.set_current()
    assert device.compute_capability.major in (8, 9, 10, 12)
    stream = device.create_stream()
    program = Program(PTX, "ptx", ProgramOptions(arch=f"sm_{device.arch}")).compile("cubin")
    kernel = program.get_kernel("twice")
    mipmapped(device, stream, program.get_kernel("level"))

    values = np.arange(64, dtype=np.int32)
    buffer = device.allocate(values.nbytes, stream=stream)
    check(driver.cuMemcpyHtoD(int(buffer.handle), values.ctypes.data, values.nbytes))
    began = stream.record(options=EventOptions(timing_enabled=True))
    launch(stream, LaunchConfig(grid=1, block=64), kernel, buffer)
    launch(stream, LaunchConfig(grid=1, block=64), compiled(device), buffer)
    ended = stream.record(options=EventOptions(timing_enabled=True))
    stream.sync()
    assert ended - began >= 0
    result = np.empty_like(values)
    check(driver.cuMemcpyDtoH(result.ctypes.data, int(buffer.handle), values.nbytes))
    np.testing.assert_array_equal(result, values * 4)

    graph = check(driver.cuGraphCreate(0))
    check(driver.cuGraphAddEmptyNode(graph, None, 0))
    runnable = check(driver.cuGraphInstantiate(graph, 0))
    check(driver.cuGraphLaunch(runnable, int(stream.handle)))
    stream.sync()
    check(driver.cuGraphExecDestroy(runnable))
    check(driver.cuGraphDestroy(graph))
    buffer.close(stream)
    print("cuda.core: passed")


if __name__ == "__main__":
    main()
