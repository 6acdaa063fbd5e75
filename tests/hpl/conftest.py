import shutil
from pathlib import Path

import pytest

from hpl.search_paths import SearchPaths


@pytest.fixture(scope="session")
def built(shared_cache: Path) -> SearchPaths:
    """A cache in which HPL is compiled once for all tests; skips where it cannot be."""
    if shutil.which("mpicc") is None:
        pytest.skip("needs mpicc: `hpltune setup` installs it")
    return SearchPaths(None, shared_cache)
