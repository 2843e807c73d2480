"""A plugin of pytest: numba-cuda's tests, which are in its wheel, ask for a fixture that is not."""
import pytest


@pytest.fixture(scope="class")
def initialize_from_pytest_config(request):
    """Whether checks of compiled text that fail are written to files: they are not."""
    request.cls._dump_failed_filechecks = False
