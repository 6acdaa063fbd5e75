"""The program that times a node, built and run: it measures, and it notices a BLAS that is wrong."""

import os
import subprocess
from pathlib import Path

import pytest
from found_here import shared_library
from needs import skip_without
from waiting import PATIENCE_S

from hpl.build.node_programs import build_node_bench
from hpl.build.toolchain import ToolchainError
from hpl.search_paths import SearchPaths

RIGHT = "c[i + j * (long)*m] += a[i + l * (long)*m] * b[l + j * (long)*k];"
DGEMM = """
void dgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k, const double *alpha,
            const double *a, const int *lda, const double *b, const int *ldb, const double *beta, double *c,
            const int *ldc)
{
    for (int j = 0; j < *n; j++)
        for (int i = 0; i < *m; i++) {
            c[i + j * (long)*m] = 0;
            for (int l = 0; l < *k; l++)
                RIGHT
        }
    AFTER;
}
"""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        return build_node_bench(SearchPaths(None, tmp_path_factory.mktemp("cache")))
    except ToolchainError:
        skip_without("mpicc")


def blas(folder: Path, after: str = "") -> Path:
    """A small BLAS of our own, which does something to its product afterwards."""
    return shared_library(folder / "libblas.so", DGEMM.replace("RIGHT", RIGHT).replace("AFTER", after))


def rows(bench: Path, *arguments: str) -> list[list[str]]:
    done = subprocess.run([str(bench), *arguments], capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    lines = done.stdout.splitlines()
    assert lines[-1] == "end"
    return [line.split("\t") for line in lines if line.startswith("run\t")]


def test_it_is_built_once(bench: Path) -> None:
    made = bench.stat().st_mtime_ns
    assert build_node_bench(SearchPaths(None, bench.parents[2])) == bench
    assert bench.stat().st_mtime_ns == made


@pytest.mark.parametrize(("cores", "which"), [("1", "1"), ("0", "all")])
def test_all_kernels_of_stream_run_and_are_right(bench: Path, cores: str, which: str) -> None:
    found = rows(bench, "stream", cores, "4000000")
    assert [row[1] for row in found] == [f"stream-{kernel}-{which}" for kernel in ("copy", "scale", "add", "triad")]
    assert all(float(row[2]) > 100 and row[3] == "ok" for row in found)


def test_arrays_that_fit_the_cache_are_said(bench: Path) -> None:
    done = subprocess.run([str(bench), "stream", "1", "80000"], capture_output=True, text=True, check=True)
    assert "less than four times the" in done.stdout


def test_a_right_product_is_accepted(bench: Path, tmp_path: Path) -> None:
    ((_, name, value, said, why),) = rows(bench, "dgemm", "0", "96", str(blas(tmp_path)))
    assert (name, said, why) == ("dgemm-all", "ok", "")
    assert float(value) > 0


@pytest.mark.parametrize(
    "after",
    [
        "c[5 + 7 * (long)*m] += 1e-6",
        "c[*m * (long)*n - 1] = 0.0 / 0.0",
        "static int calls; if (calls++ == 3) c[0] += 1",
    ],
)
def test_one_wrong_number_in_a_product_is_noticed(bench: Path, tmp_path: Path, after: str) -> None:
    ((*_, said, why),) = rows(bench, "dgemm", "1", "96", str(blas(tmp_path, after)))
    assert said == "wrong"
    assert "the scaled residual is" in why


@pytest.mark.parametrize(
    ("after", "why"),
    [("*(volatile int *)0 = 1", "it was ended by signal 11"), (None, "cannot open shared object file")],
)
def test_a_blas_that_fails_is_said_and_no_process_stays(
    bench: Path, tmp_path: Path, after: str | None, why: str
) -> None:
    library = tmp_path / "gone.so" if after is None else blas(tmp_path, after)
    argv = [str(bench), "dgemm", "0", "96", str(library)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=PATIENCE_S, env=dict(os.environ))
    assert done.returncode == 1
    assert why in done.stderr
    assert "end" not in done.stdout
