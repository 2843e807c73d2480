"""A plugin of pytest: PyCUDA built without cuRAND, whose host library Weir does not have.

PyCUDA's curandom asks for the library's version by a function that such a build lacks."""
from pycuda import _driver

if not hasattr(_driver, "get_curand_version"):
    _driver.get_curand_version = lambda: (0, 0, 0)
