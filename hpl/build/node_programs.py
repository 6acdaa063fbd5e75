"""Builds programs for nodes, without MPI: benchmarks (native/node_bench, node_pairs.c), HPL for one process (solo)."""

import os
from collections.abc import Sequence
from pathlib import Path

from ..search_paths import SearchPaths
from .programs import FLAGS, NATIVE, OWN_FLAGS, ROUTINES, header_flags
from .source import HplSource
from .toolchain import CompileJob, OnStep, built_once, c_compiler, compile_all, digest, program_output, run_compiler

NODE_FLAGS = ("-O3", "-pthread", *(flag for flag in OWN_FLAGS if not flag.startswith("-O")))
"""Nothing for the CPU of this host only: the programs run on all nodes."""
LIBRARIES = ("-ldl", "-lm")

SOLO = NATIVE / "solo"
BLAS_VARIABLE, PREFIX_VARIABLE = "HPLTUNE_BLAS", "HPLTUNE_BLAS_PREFIX"
"""Variables that tell the program its BLAS file, and what the names of its routines begin with."""
_POINTERS = tuple(f"-D{name}_=(*hpltune_{name})" for name in ROUTINES)
"""HPL then declares and calls pointers in place of routines."""


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
    key = digest([*(path.read_text(encoding="utf-8") for path in files), version, *NODE_FLAGS, *LIBRARIES])
    folder = search.cache / "builds" / f"{name.replace('_', '-')}-{key}"
    program = folder / name
    argv = [compiler, *NODE_FLAGS, *(str(path) for path in files if path.suffix == ".c"), *LIBRARIES]
    return built_once(program, lambda: run_compiler(argv, program, os.environ, folder / "build.log"))


def build_solo(source: HplSource, search: SearchPaths, on_step: OnStep | None = None) -> Path:
    """Build the program of a source, or take it from the cache; several processes may build at the same time.

    Raises:
        ToolchainError: there is no C compiler.
        BuildError: compiling or linking failed, or the cache cannot be written.
    """
    own = [*sorted(SOLO.glob("*.c")), *source.more]
    compiler = c_compiler(search)
    texts = [path.read_text(encoding="utf-8") for path in (*own, SOLO / "mpi.h", NATIVE / "mpi1_compat.h")]
    version = program_output([compiler, "--version"], os.environ).splitlines()[0]
    key = digest([source.kind, source.digest, version, *FLAGS, *_POINTERS, *texts])
    program = search.cache / "builds" / f"solo-{key}" / "xhpl-solo"
    return built_once(program, lambda: _build_solo(compiler, source, own, program, on_step or (lambda *_: None)))


def _build_solo(compiler: str, source: HplSource, own: Sequence[Path], program: Path, step: OnStep) -> None:
    folder, log = program.parent, program.parent / "build.log"
    theirs = sorted(path for part in ("src", "testing") for path in (source.root / part).rglob("*.c"))
    headers = [f"-I{SOLO}", *header_flags(source)]
    jobs: list[CompileJob] = [
        (
            path,
            folder / f"{path.parent.name}-{path.stem}.o",
            (*FLAGS, *(_POINTERS if path.parent.name == "blas" else ())),
        )
        for path in theirs
    ]
    jobs += [(path, folder / f"own-{path.stem}.o", OWN_FLAGS) for path in own]

    def run(arguments: Sequence[str], target: Path) -> None:
        run_compiler([compiler, *arguments], target, os.environ, log)

    objects = compile_all(jobs, run, headers, step)
    step("linking xhpl for one process", 1, 1)
    wrapped = [f"-Wl,--wrap={name}" for name in source.wrapped]
    run([*objects, *wrapped, "-ldl", "-lm"], program)
    for target in objects:
        Path(target).unlink()
