"""A module to import, or a plugin of pytest: PyTorch's own operations on tensors of the device, by the host.

PyTorch's wheels hold kernels as machine code of GPUs alone, which cannot run; memory, copies, streams and Triton's
kernels can. Here each operation that would launch a kernel of the wheel copies its tensors to the host, runs there,
and copies the results back."""
import ctypes

import torch
from torch.utils._pytree import tree_map

_driver = ctypes.CDLL("libcuda.so.1")
# What needs no kernel: allocation, views, single values.
AS_IT_IS = {"empty", "empty_strided", "resize_", "set_", "view", "view_as_real", "view_as_complex", "as_strided",
            "_reshape_alias", "unfold", "_local_scalar_dense", "record_stream", "is_pinned", "_pin_memory", "is_set_to",
            "alias"}


def is_dense(tensor):
    """Whether the elements lie side by side, each once."""
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.size())):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def move(target, source, count):
    """Copies bytes, after all work of the device."""
    torch.cuda.synchronize()  # in a thread of autograd this makes the context current, too
    result = _driver.cuMemcpy(ctypes.c_uint64(target), ctypes.c_uint64(source), ctypes.c_size_t(count)) if count else 0
    if result != 0:
        name = ctypes.c_char_p()
        _driver.cuGetErrorName(result, ctypes.byref(name))
        raise RuntimeError(f"CUDA error: {name.value.decode()}")


def storage_on_host(tensor):
    """A tensor of the host's with the whole storage of one of the device's, laid out like that."""
    storage = tensor.untyped_storage()
    whole = torch.empty(storage.nbytes(), dtype=torch.uint8)
    move(whole.data_ptr(), storage.data_ptr(), storage.nbytes())
    return torch.empty(0, dtype=tensor.dtype).set_(whole.untyped_storage(), tensor.storage_offset(), tensor.size(),
                                                   tensor.stride())


def to_host(tensor):
    """A tensor's values on the host."""
    if not tensor.is_cuda:
        return tensor
    if not is_dense(tensor):
        return storage_on_host(tensor)
    host = torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype)
    move(host.data_ptr(), tensor.data_ptr(), tensor.numel() * tensor.element_size())
    return host


def write(target, values):
    """Writes values of the host's into a tensor of the device's."""
    if is_dense(target):
        host = torch.empty_strided(target.size(), target.stride(), dtype=target.dtype).copy_(values)
        move(target.data_ptr(), host.data_ptr(), target.numel() * target.element_size())
    else:
        host = storage_on_host(target).copy_(values)
        storage = host.untyped_storage()
        move(target.untyped_storage().data_ptr(), storage.data_ptr(), storage.nbytes())


def copy(target, source, non_blocking=False):
    """aten::copy_"""
    if target.is_cuda:
        write(target, to_host(source))
        return target
    return target.copy_(to_host(source))


def to_device(value, device):
    """A copy of a tensor of the host's, of the same layout."""
    if not is_dense(value):
        value = value.contiguous()
    result = torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device=device)
    write(result, value)
    return result


def by_host(function):
    """The operation on copies of its tensors; what it writes is copied back."""
    written = [(n, a.name) for n, a in enumerate(function._schema.arguments)
               if a.alias_info is not None and a.alias_info.is_write]

    def run(*args, **kwargs):
        copies, devices = {}, []

        def host(value):
            if isinstance(value, torch.Tensor) and value.is_cuda:
                devices.append(value.device)
                if id(value) not in copies:
                    copies[id(value)] = (value, to_host(value))
                return copies[id(value)][1]
            if isinstance(value, torch.device):
                devices.append(value)
                return torch.device("cpu")
            return None if isinstance(value, torch.Generator) else value

        # a number in a tensor's place is for another overload
        number = any(isinstance(v, (int, float)) and str(a.type) == "Tensor"
                     for v, a in zip(args, function._schema.arguments))
        result = (function.overloadpacket if number else function)(*tree_map(host, args), **{**tree_map(host, kwargs), **(
            {"pin_memory": False} if "pin_memory" in kwargs else {})})
        back = {}
        for n, name in written:
            def store(value):
                if isinstance(value, torch.Tensor) and value.is_cuda:
                    if value.shape != copies[id(value)][1].shape:
                        value.resize_(copies[id(value)][1].shape)
                    write(value, copies[id(value)][1])
                    back[id(copies[id(value)][1])] = value
            tree_map(store, args[n] if n < len(args) else kwargs.get(name))
        device = devices[0] if devices else torch.device("cuda")
        return tree_map(lambda v: v if not isinstance(v, torch.Tensor) else
                        back[id(v)] if id(v) in back else to_device(v, device), result)
    return run


def take_over():
    """Puts the host's in the place of every kernel of PyTorch's for CUDA."""
    library = torch.library.Library("aten", "IMPL")
    for whole in torch._C._dispatch_get_registrations_for_dispatch_key("CUDA"):
        space, name = whole.split("::")
        operation, _, overload = name.partition(".")
        if space != "aten" or operation in AS_IT_IS:
            continue
        function = getattr(getattr(torch.ops.aten, operation), overload or "default")
        library.impl(name, by_host(function), "CUDA", allow_override=True)
    library.impl("copy_", copy, "CUDA", allow_override=True)
    return library


torch.cuda.init()
LIBRARY = take_over()
