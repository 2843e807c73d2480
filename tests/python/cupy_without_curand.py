"""A plugin of pytest: CuPy without cuRAND, whose host library has no kernels that Weir could run.

The older functions of cupy.random call it for each number; here they take NumPy's and copy them."""
import cupy
import numpy


def from_host(name):
    """The function of cupy.random of that name, on NumPy's numbers."""
    def draw(*arguments, **keywords):
        kind = keywords.pop("dtype", None)
        return cupy.asarray(getattr(numpy.random, name)(*arguments, **keywords), dtype=kind)
    return draw


for function in ("random", "rand", "randn", "randint", "uniform", "random_integers"):
    setattr(cupy.random, function, from_host(function))
