"""tinygrad: a small convolutional network learns to name four shapes, with TinyJit and Adam.

usage: tinygrad_training.py [STEPS]: prints the loss before and after and the time of a step; DEV=CPU takes
tinygrad's own back end, for comparison."""
import sys
import time

import numpy as np
from tinygrad import Device, Tensor, TinyJit, nn
from tinygrad.helpers import Context


class Network:
    def __init__(self):
        self.first, self.second = nn.Conv2d(1, 8, 3), nn.Conv2d(8, 16, 3)
        self.last = nn.Linear(16 * 2 * 2, 4)

    def __call__(self, x):
        x = self.first(x).relu().max_pool2d()
        return self.last(self.second(x).relu().max_pool2d().flatten(1))


def pictures(count, rng):
    """Bars lying and standing, squares and crosses, at random places in noise; and which is which."""
    labels = rng.integers(0, 4, count)
    images = rng.random((count, 1, 14, 14), np.float32) * 0.5
    for image, label, (y, x) in zip(images, labels, rng.integers(2, 9, (count, 2))):
        shape = np.zeros((4, 4), np.float32)
        if label == 0:
            shape[1] = 1
        elif label == 1:
            shape[:, 1] = 1
        elif label == 2:
            shape[:] = 1
        else:
            shape[1], shape[:, 1] = 1, 1
        image[0, y:y + 4, x:x + 4] += shape
    return images, labels.astype(np.int32)


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    rng = np.random.default_rng(5)
    Tensor.manual_seed(5)
    images, labels = (Tensor(part).realize() for part in pictures(512, rng))
    network = Network()
    optimizer = nn.optim.Adam(nn.state.get_parameters(network), lr=0.01)

    @TinyJit
    def step(x, y):
        optimizer.zero_grad()
        loss = network(x).sparse_categorical_crossentropy(y).backward()
        return loss.realize(*optimizer.schedule_step())

    losses, times = [], []
    with Context(TRAINING=1):
        for n in range(steps):
            begin = time.perf_counter()
            at = n % 8 * 64
            losses.append(step(images[at:at + 64].contiguous().realize(), labels[at:at + 64].contiguous().realize()).item())
            times.append(time.perf_counter() - begin)
    assert losses[-1] < losses[0] * 0.7, losses
    print(f"tinygrad on {Device.DEFAULT}: loss {losses[0]:.4f} to {losses[-1]:.4f}, first steps "
          f"{sum(times[:3]):.1f} s, then {1000 * np.median(times[len(times) // 2:]):.2f} ms a step: passed")


if __name__ == "__main__":
    main()
