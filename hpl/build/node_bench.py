"""Builds programs that measure nodes (native/node_bench, native/node_pairs.c); they need no MPI."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from ..search_paths import SearchPaths
from .compiling import built_once, digest, run_compiler
from .programs import NATIVE, OWN_FLAGS
from .toolchain import ADVICE, ToolchainError, program_output

FLAGS = ("-O3", "-pthread", *(flag for flag in OWN_FLAGS if not flag.startswith("-O")))
"""Nothing for the CPU of this host only: the programs run on all nodes."""
LIBRARIES = ("-ldl", "-lm")


def build_node_bench(search: SearchPaths) -> Path:
    """Build the program that times memory and processor of a node, or take it from the cache.

    Raises:
        ToolchainError: there is no C compiler.
        BuildError: compiling failed, or the cache cannot be written.
    """
    return _built(search, "node_bench", sorted((NATIVE / "node_bench").glob("*.[ch]")))


def build_node_pairs(search: SearchPaths) -> Path:
    """Build the program that sends messages between nodes, or take it from the cache.

    Raises:
        ToolchainError, BuildError: as `build_node_bench`.
    """
    return _built(search, "node_pairs", [NATIVE / "node_pairs.c"])


def _built(search: SearchPaths, name: str, files: Sequence[Path]) -> Path:
    """Build a program; several processes may build at the same time."""
    compiler = c_compiler(search)
    version = program_output([compiler, "--version"], os.environ).splitlines()[0]
    key = digest([*(path.read_text(encoding="utf-8") for path in files), version, *FLAGS, *LIBRARIES])
    folder = search.cache / "builds" / f"{name.replace('_', '-')}-{key}"
    draft, program = folder / "draft", folder / name

    def make() -> None:
        sources = [str(path) for path in files if path.suffix == ".c"]
        argv = [compiler, *FLAGS, *sources, "-o", str(draft), *LIBRARIES]
        run_compiler(argv, os.environ, folder / "build.log")
        draft.replace(program)

    return built_once(program, make)


def c_compiler(search: SearchPaths) -> str:
    """Return the C compiler of this machine.

    Raises:
        ToolchainError: there is none.
    """
    private = search.prefix / "bin/cc" if search.prefix else None
    found = next(filter(None, (shutil.which(name) for name in ("cc", "gcc", "clang"))), None)
    if found is None and private is not None and private.exists():
        return str(private)
    if found is None:
        raise ToolchainError(f"no C compiler was found (cc): {ADVICE}")
    return found
