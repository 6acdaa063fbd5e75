from pathlib import Path

import pytest
from found_here import OWN, found_mpi

from hpl.search_paths import SearchPaths


@pytest.fixture(scope="session")
def built(shared_cache: Path) -> SearchPaths:
    """A cache in which HPL is compiled once for all tests; skips where it cannot be."""
    found_mpi(building=True)
    return SearchPaths(OWN.prefix, shared_cache)
