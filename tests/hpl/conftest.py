import os
import shutil
from pathlib import Path

import pytest

from hpl.search import SearchPaths


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> SearchPaths:
    """A cache in which HPL is compiled once for all tests; skips where it cannot be."""
    if shutil.which("mpicc") is None:
        pytest.skip("needs mpicc: `hpltune setup` installs it")
    cache = tmp_path_factory.mktemp("builds")
    own = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "hpltune/source"
    if own.is_dir():
        shutil.copytree(own, cache / "source")
    return SearchPaths(None, cache)
