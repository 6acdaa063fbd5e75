"""What tuning is worth on this machine: the best of a study against HPL's own HPL.dat and a textbook one.

    python benchmarks/against_textbook.py [--budget 5m] [--memory-fraction 0.8] [--out FILE.md]

1. `hpltune tune` with the default space.
2. The HPL.dat that ships with HPL (N up to 35), best of its 864 runs, with the BLAS as it comes.
3. A textbook HPL.dat: the same part of the memory, NB 192, squarest grid, OpenBLAS as it comes (kernel "auto").
4. The study's winner at that N (its HPL-full.dat).

Textbook and winner run after one another at the same N; other load on the machine hits both. Takes the budget and two
runs at full memory.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hpl.dat import HplDat, render
from hpl.params import Bcast, Fact, HplParams
from hpl.sizing import process_grids

HPLTUNE = Path(sys.executable).with_name("hpltune")
SHIPPED = HplDat(
    Ns=(29, 30, 34, 35),
    NBs=(1, 2, 3, 4),
    grids=((2, 2), (1, 4), (4, 1)),
    PFACTs=tuple(Fact),
    NBMINs=(2, 4),
    RFACTs=tuple(Fact),
    BCASTs=(Bcast.ONE_RING,),
    DEPTHs=(0,),
)


def call(*arguments: str) -> dict[str, Any]:
    """One command with --json; its progress goes to the terminal."""
    print("$ hpltune", *arguments, file=sys.stderr, flush=True)
    done = subprocess.run([str(HPLTUNE), *arguments, "--json"], stdout=subprocess.PIPE, text=True, check=False)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def best(found: dict[str, Any]) -> float:
    """The best valid rate among a file's runs, in GFLOPS."""
    return max(float(run["gflops"]) for run in found["runs"] if run["counts"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", default="5m")
    parser.add_argument("--memory-fraction", default="0.8")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    study = call("tune", "--budget", options.budget, "--memory-fraction", options.memory_fraction)
    winner = study["ranking"][0]
    N = int(Path(study["full_dat"]).read_text().splitlines()[5].split()[0])
    ranks = int(str(winner["params"]["layout"]).split("x")[0]) * int(str(winner["params"]["layout"]).split("x")[1])
    P, Q = process_grids(ranks)[0]
    with tempfile.TemporaryDirectory() as folder:
        shipped, textbook = Path(folder) / "shipped.dat", Path(folder) / "textbook.dat"
        shipped.write_text(render(SHIPPED))
        textbook.write_text(render(HplDat.of(HplParams(N=N, NB=192, P=P, Q=Q))))
        plain = ("--blas", "openblas", "--kernel", "auto")
        shipped_gflops = best(call("run", str(shipped), *plain, "--oversubscribe"))
        textbook_gflops = best(call("run", str(textbook), *plain))
    tuned = best(call("run", study["full_dat"], "--like", f"{study['study']}#{winner['trial']}"))
    rpeak = study["rpeak_gflops"]
    small = winner["params"]["N"]
    rows = [
        ("HPL.dat as HPL ships it, 4 ranks", "29 to 35", shipped_gflops),
        ("textbook: NB 192, squarest grid, OpenBLAS as it comes", N, textbook_gflops),
        (f"found by `tune` in {options.budget}, at its own N", small, winner["median_gflops"]),
        ("the same configuration at the textbook's N", N, tuned),
    ]
    lines = ["| configuration | N | GFLOPS | % of Rpeak | against the textbook |", "|---|---|---|---|---|"]
    for name, size, rate in rows:
        lines.append(f"| {name} | {size} | {rate:.4g} | {100 * rate / rpeak:.1f} | {rate / textbook_gflops:.4g} |")
    words = ("blas", "kernel", "layout", "grid", "NB", "BCAST", "DEPTH", "SWAP", "RFACT", "NBMIN")
    lines.append(
        "\nFound: " + " ".join(f"{word}={winner['params'][word]}" for word in words if word in winner["params"])
    )
    text = "\n".join(lines) + "\n"
    print(text)
    if options.out:
        options.out.write_text(text)


if __name__ == "__main__":
    main()
