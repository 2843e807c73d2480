"""PyTorch's wheel on Weir: memory and copies by Weir's runtime, operations by the host (torch_on_host.py), and
kernels of Triton, written by hand and by torch.compile; a training against the same one on the CPU."""
import sys

import torch_on_host  # noqa: F401
import torch
import triton
import triton.language as tl


@triton.jit
def add(a, b, out, n, size: tl.constexpr):
    """out = a + b"""
    at = tl.program_id(0) * size + tl.arange(0, size)
    tl.store(out + at, tl.load(a + at, at < n) + tl.load(b + at, at < n), at < n)


def kernels():
    """A kernel of Triton's over tensors of PyTorch's."""
    a, b = torch.randn(1000, device="cuda"), torch.randn(1000, device="cuda")
    out = torch.empty_like(a)
    add[(triton.cdiv(1000, 256),)](a, b, out, 1000, size=256)
    assert torch.equal(out.cpu(), a.cpu() + b.cpu())


def train(device, steps=20):
    """The losses of a small network."""
    torch.manual_seed(1)
    x, y = torch.randn(64, 16), torch.randn(64, 4)
    net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 4)).to(device)
    x, y, losses = x.to(device), y.to(device), []
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def compiled():
    """What torch.compile makes of a function: kernels of Triton."""
    @torch.compile
    def function(x, y):
        return torch.softmax(torch.nn.functional.gelu(x) * y + x.sum(dim=1, keepdim=True), dim=1)
    x, y = torch.randn(40, 100), torch.randn(40, 100)
    torch.testing.assert_close(function(x.cuda(), y.cuda()).cpu(), torch.softmax(
        torch.nn.functional.gelu(x) * y + x.sum(dim=1, keepdim=True), dim=1))


def main():
    kernels()
    torch.testing.assert_close(train("cuda"), train("cpu"), rtol=1e-4, atol=1e-5)
    if "compile" in sys.argv:
        compiled()
    print("PyTorch: passed")


if __name__ == "__main__":
    main()
