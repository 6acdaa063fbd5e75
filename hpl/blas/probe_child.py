"""Runs alone in a child process: loads one BLAS, says what it is and how fast its dgemm is, as JSON on stdout.

A library may crash, hang or abort the process, so nothing else lives in it. It gets a JSON object as its only argument:
`path`, and `seconds` for timing (0 for none). Errors are {"error": sentence}.
"""

import ctypes
import json
import sys
import time

ROWS, BLOCK = 1280, 192
"""HPL's update C (rows x rows) -= A (rows x block) B (block x rows)."""
PREFIXES = ("", "scipy_")


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


def _dgemm_gflops(library: ctypes.CDLL, prefix: str, seconds: float) -> float:
    """The best of as many products as fit the time; one tiny product where the time is 0."""
    rows, block = (ROWS, BLOCK) if seconds else (8, 8)
    a = (ctypes.c_double * (rows * block))(*([0.5] * (rows * block)))
    b = (ctypes.c_double * (rows * block))(*([0.25] * (rows * block)))
    c = (ctypes.c_double * (rows * rows))()
    m, k = ctypes.byref(ctypes.c_int(rows)), ctypes.byref(ctypes.c_int(block))
    minus, one = ctypes.byref(ctypes.c_double(-1.0)), ctypes.byref(ctypes.c_double(1.0))
    dgemm = getattr(library, f"{prefix}dgemm_")
    best, began = float("inf"), time.perf_counter()
    while True:
        start = time.perf_counter()
        dgemm(b"N", b"N", m, m, k, minus, a, m, b, k, one, c, m)
        best = min(best, time.perf_counter() - start)
        if time.perf_counter() - began >= seconds:
            break
    if abs(c[0]) == 0.0:
        raise ValueError("dgemm computed nothing: does the library use 64-bit integers?")
    return 2.0 * rows * rows * block / best / 1e9


def _openblas(library: ctypes.CDLL, prefix: str) -> dict[str, object] | None:
    config = _string(library, f"{prefix}openblas_get_config")
    if not config:
        return None
    parallel = _number(library, f"{prefix}openblas_get_parallel")
    return {
        "family": "openblas",
        "version": next((word for word in config.split() if word[0].isdigit()), ""),
        "threading": {0: "serial", 1: "pthreads", 2: "openmp"}.get(parallel or 0, "serial"),
        "kernel": _string(library, f"{prefix}openblas_get_corename"),
        "threads": _number(library, f"{prefix}openblas_get_num_threads"),
    }


def _blis(library: ctypes.CDLL) -> dict[str, object] | None:
    version = _string(library, "bli_info_get_version_str")
    if not version:
        return None
    openmp, pthreads = _number(library, "bli_info_get_enable_openmp"), _number(library, "bli_info_get_enable_pthreads")
    name = library.bli_arch_string
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.c_int]
    ids = {}
    for number in range(64):
        text = name(number)
        if not text:
            break
        ids[text.decode()] = number
    return {
        "family": "blis",
        "version": version,
        "threading": "openmp" if openmp else "pthreads" if pthreads else "serial",
        "kernel": next((text for text, number in ids.items() if number == library.bli_arch_query_id()), ""),
        "threads": _number(library, "bli_thread_get_num_threads") if openmp or pthreads else 1,
        "kernel_ids": ids,
    }


def _mkl(library: ctypes.CDLL) -> dict[str, object] | None:
    if not hasattr(library, "MKL_Get_Version_String"):
        return None
    text = ctypes.create_string_buffer(256)
    library.MKL_Get_Version_String(text, 256)
    said = text.value.decode(errors="replace").strip()
    words = said.split()
    version = next((word for word in words if word[0].isdigit()), "")
    return {
        "family": "mkl",
        "version": version,
        "threading": "at run time",
        "kernel": "",
        "threads": _number(library, "MKL_Get_Max_Threads"),
    }


def _atlas(library: ctypes.CDLL) -> dict[str, object] | None:
    if not hasattr(library, "ATL_buildinfo") and not hasattr(library, "ATL_dgemm"):
        return None
    return {"family": "atlas", "version": "", "threading": "serial", "kernel": "", "threads": 1}


def examine(path: str, seconds: float) -> dict[str, object]:
    """What the library at `path` is; timing comes first, because BLIS must be initialised before it is asked."""
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        return {"error": f"does not load: {error}"}
    prefix = next((prefix for prefix in PREFIXES if hasattr(library, f"{prefix}dgemm_")), None)
    if prefix is None:
        wide = any(hasattr(library, name) for name in ("dgemm_64_", "scipy_dgemm_64_"))
        return {"error": "has 64-bit integers (dgemm_64_); HPL needs 32-bit ones" if wide else "has no dgemm_"}
    gflops = _dgemm_gflops(library, prefix, seconds)
    unknown: dict[str, object] = {
        "family": "other",
        "version": "",
        "threading": "serial",
        "kernel": "",
        "threads": None,
    }
    found = _openblas(library, prefix) or _blis(library) or _mkl(library) or _atlas(library) or unknown
    return {**found, "symbol_prefix": prefix, "gflops": gflops if seconds else None}


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    try:
        answer = examine(asked["path"], float(asked["seconds"]))
    except Exception as error:  # noqa: BLE001 - the parent turns whatever it was into a sentence
        answer = {"error": str(error)}
    print(json.dumps(answer), flush=True)
