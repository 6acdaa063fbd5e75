"""A program for a child process: loads one BLAS and prints its facts and the speed of its dgemm as JSON.

A library may crash, hang or abort the process, so the process does nothing else. Its only argument is a JSON object
with `path` and `seconds` for timing (0 for none). It prints an error as {"error": sentence}. Nodes of a cluster run it
with their own Python, so it needs only the standard library of Python 3.9.
"""

from __future__ import annotations

import array
import ctypes
import json
import re
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROWS, BLOCK = 1280, 192
"""HPL's update C (rows x rows) -= A (rows x block) B (block x rows)."""
A, B = 0.5, 0.25
"""The values of all elements of A and of B: every element of A B is then block x A x B, without rounding."""
PREFIXES = ("", "scipy_")
WIDE = "uses 64-bit integers (ILP64); HPL needs a BLAS with 32-bit ones (LP64)"

Facts = dict[str, object]


def _string(library: ctypes.CDLL, name: str) -> str:
    try:
        function = getattr(library, name)
    except AttributeError:
        return ""
    function.restype = ctypes.c_char_p
    value = function()
    return value.decode(errors="replace") if value else ""


def _number(library: ctypes.CDLL, name: str) -> int | None:
    try:
        return int(getattr(library, name)())
    except AttributeError:
        return None


def _integer(value: int, next_word: int = 0x7FFF0000) -> ctypes.Array[ctypes.c_int]:
    """Make a 32-bit integer and four bytes after it; a library that reads 64 bits sees one huge number."""
    return (ctypes.c_int * 2)(value, next_word)


def _dgemm_gflops(library: ctypes.CDLL, prefix: str, seconds: float) -> float:
    """Time as many products as fit into `seconds` and return the best rate; with 0 s compute one tiny product.

    CPU time counts, because on a busy machine processes share a core and the wall time is several times as long.
    """
    rows, block = (ROWS, BLOCK) if seconds else (8, 8)
    a, b, c = (
        (ctypes.c_double * count).from_buffer(array.array("d", [value]) * count)
        for value, count in ((A, rows * block), (B, rows * block), (0.0, rows * rows))
    )
    minus, one = ctypes.byref(ctypes.c_double(-1.0)), ctypes.byref(ctypes.c_double(1.0))
    m, k = _integer(rows), _integer(block)
    lda, ldb = _integer(rows, next_word=0), _integer(block, next_word=0)  # then huge sizes are errors to every BLAS
    dgemm = getattr(library, f"{prefix}dgemm_")
    best, began, calls = float("inf"), time.perf_counter(), 0
    while not calls or time.perf_counter() - began < seconds:
        start = time.process_time()
        dgemm(b"N", b"N", m, m, k, minus, a, lda, b, ldb, one, c, lda)
        best = min(best, time.process_time() - start)
        calls += 1
    expected = -calls * block * A * B
    if any(abs(c[i] - expected) > 1e-9 * abs(expected) for i in (0, rows + 1, rows * rows - 1)):
        raise ValueError(f"computes wrong products, or {WIDE}")
    return 2.0 * rows * rows * block / best / 1e9


def _nvblas(library: ctypes.CDLL, prefix: str) -> Facts | None:  # noqa: ARG001 - all makers are asked alike
    if not Path(library._name).name.startswith("libnvblas.so"):  # noqa: SLF001 - ctypes has no other name for its file
        return None
    driver = "/libcuda.so" in Path("/proc/self/maps").read_text(encoding="utf-8")
    return {"family": "nvblas", "threading": "pthreads", "kernel": "gpu" if driver else "cpu"}


def _openblas(library: ctypes.CDLL, prefix: str) -> Facts | None:
    config = _string(library, f"{prefix}openblas_get_config")
    if not config:
        return None
    parallel = _number(library, f"{prefix}openblas_get_parallel")
    return {
        "family": "openblas",
        "version": next((word for word in config.split() if word[0].isdigit()), ""),
        "threading": {1: "pthreads", 2: "openmp"}.get(parallel or 0, "serial"),
        "kernel": _string(library, f"{prefix}openblas_get_corename"),
        "threads": _number(library, f"{prefix}openblas_get_num_threads"),
        "wide": "USE64BITINT" in config,
    }


def _blis(library: ctypes.CDLL, prefix: str) -> Facts | None:  # noqa: ARG001 - all makers are asked alike
    version = _string(library, "bli_info_get_version_str")
    if not version:
        return None
    library.bli_init()
    openmp, pthreads = _number(library, "bli_info_get_enable_openmp"), _number(library, "bli_info_get_enable_pthreads")
    ids = _blis_names(library)
    return {
        "family": "blis",
        "version": version.removeprefix("AOCL-BLIS").strip(),
        "threading": "openmp" if openmp else "pthreads" if pthreads else "serial",
        "kernel": next((name for name, number in ids.items() if number == library.bli_arch_query_id()), ""),
        "threads": _number(library, "bli_thread_get_num_threads") if openmp or pthreads else 1,
        "kernel_ids": ids,
        "wide": _number(library, "bli_info_get_blas_int_type_size") == 64,
    }


def _blis_names(library: ctypes.CDLL) -> dict[str, int]:
    """Numbers of the sub-configurations this version knows; "generic" is the last in every version."""
    name_of = library.bli_arch_string
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.c_int]
    ids: dict[str, int] = {}
    for number in range(64):
        name = name_of(number)
        if not name:
            break
        ids[name.decode()] = number
        if name == b"generic":
            break
    return ids


def _mkl(library: ctypes.CDLL, prefix: str) -> Facts | None:  # noqa: ARG001
    if not hasattr(library, "MKL_Get_Version_String"):
        return None
    version_text = ctypes.create_string_buffer(256)
    library.MKL_Get_Version_String(version_text, 256)
    version = re.search(r"Version (\d[\d.]*)", version_text.value.decode(errors="replace"))
    loaded = re.search(r"/libmkl_(def|mc\d?|avx\w*)\.so", Path("/proc/self/maps").read_text(encoding="utf-8"))
    return {
        "family": "mkl",
        "version": version[1] if version else "",
        "threading": "at run time",
        "kernel": loaded[1] if loaded else "",
        "threads": _number(library, "MKL_Get_Max_Threads"),
    }


def _atlas(library: ctypes.CDLL, prefix: str) -> Facts | None:  # noqa: ARG001
    if not hasattr(library, "ATL_buildinfo") and not hasattr(library, "ATL_dgemm"):
        return None
    threaded = any(hasattr(library, name) for name in ("ATL_thread_start", "ATL_tdgemm", "ATL_ptgemm"))
    return {"family": "atlas", "threading": "pthreads" if threaded else "serial"}


def _unknown(library: ctypes.CDLL, prefix: str) -> Facts:  # noqa: ARG001
    return {"family": "other"}


MAKERS: tuple[Callable[[ctypes.CDLL, str], Facts | None], ...] = (_nvblas, _openblas, _blis, _mkl, _atlas, _unknown)


def examine(path: str, seconds: float) -> Facts:
    """Load the library at `path` and return its facts; some libraries choose their kernel only at the first product."""
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        return {"error": f"does not load: {error}"}
    prefix = next((prefix for prefix in PREFIXES if hasattr(library, f"{prefix}dgemm_")), None)
    if prefix is None:
        wide = any(hasattr(library, f"{prefix}dgemm_64_") for prefix in PREFIXES)
        return {"error": WIDE if wide else "has no dgemm_: it is not a BLAS with Fortran names"}
    if _facts(library, prefix).get("wide"):
        return {"error": WIDE}
    gflops = _dgemm_gflops(library, prefix, seconds)
    blank: Facts = {"version": "", "threading": "serial", "kernel": "", "threads": None, "symbol_prefix": prefix}
    return {**blank, **_facts(library, prefix), "gflops": gflops if seconds else None}


def _facts(library: ctypes.CDLL, prefix: str) -> Facts:
    return next(facts for maker in MAKERS if (facts := maker(library, prefix)) is not None)


def _main(argument: str) -> None:
    request = json.loads(argument)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        answer = examine(request["path"], float(request["seconds"]))
    except Exception as error:  # noqa: BLE001 - the parent turns any error into a sentence
        answer = {"error": str(error)}
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    _main(sys.argv[1])
