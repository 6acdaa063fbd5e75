"""What tuning is worth at the N that counts: a study's HPL-full.dat, the textbook's and that of `dat`, run in turn.

    python benchmarks/against_textbook.py [--budget 5m] [--memory-fraction 0.8] [--part 0.2]
        [--rounds 3] [--out FILE.md]

1. `hpltune tune` with the default space; its HPL-full.dat is for --memory-fraction of the memory.
2. A textbook HPL.dat: NB 192, squarest grid, one rank on each core, OpenBLAS as it comes (kernel "auto").
3. What `hpltune dat` writes here.

All three run one after the other at the N that fills --part of the memory, the next round in the opposite order. N of
HPL-full.dat is 8 N^2 bytes of --memory-fraction, so that of --part follows from it. It takes the budget and the runs.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from hpl.dat import HplDat, render
from hpl.params import HplParams
from hpl.sizing import process_grids

HPLTUNE = Path(sys.executable).with_name("hpltune")
FOUND, TEXTBOOK, DAT = "HPL-full.dat of `tune`", "textbook: NB 192, OpenBLAS as it comes", "`hpltune dat`"


def call(*arguments: str) -> dict[str, Any]:
    """One command with --json; its progress goes to the terminal."""
    print("$ hpltune", *arguments, file=sys.stderr, flush=True)
    done = subprocess.run([str(HPLTUNE), *arguments, "--json"], stdout=subprocess.PIPE, text=True, check=False)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", default="5m")
    parser.add_argument("--memory-fraction", type=float, default=0.8)
    parser.add_argument("--part", type=float, default=0.2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    study = call("tune", "--budget", options.budget, "--memory-fraction", str(options.memory_fraction))
    full = study["full"]
    whole_dat, whole_n = Path(study["full_dat"]).read_text(), full["N"]
    N = int(whole_n * (options.part / options.memory_fraction) ** 0.5) // 64 * 64
    cores = study["ranking"][0]["params"]["layout"].split("x")
    P, Q = process_grids(int(cores[0]) * int(cores[1]))[0]
    with tempfile.TemporaryDirectory() as folder:
        files = {FOUND: Path(folder) / "found.dat", TEXTBOOK: Path(folder) / "book.dat", DAT: Path(folder) / "dat.dat"}
        call("dat", str(files[DAT]), "--N", str(N))
        files[FOUND].write_text(whole_dat.replace(f"\n{whole_n} ", f"\n{N} ", 1))
        files[TEXTBOOK].write_text(render(HplDat.of(HplParams(N=N, NB=192, P=P, Q=Q))))
        like = {
            FOUND: ("--like", f"{study['study']}#{full['trial']}"),
            TEXTBOOK: ("--blas", "openblas", "--kernel", "auto"),
            DAT: (),
        }
        rates: dict[str, list[float]] = {name: [] for name in files}
        for turn in range(options.rounds):
            for name in sorted(files, key=list(files).index, reverse=turn % 2 == 1):
                [run] = call("run", str(files[name]), *like[name])["runs"]
                rates[name].append(float(run["gflops"] or 0.0))
    lines = [f"| configuration | GFLOPS at N={N}, in turn | median | against the textbook |", "|---|---|---|---|"]
    for name, some in rates.items():
        against = median(some) / median(rates[TEXTBOOK])
        lines.append(f"| {name} | {', '.join(f'{rate:.4g}' for rate in some)} | {median(some):.4g} | {against:.4g} |")
    lines += ["", f"`tune` in {options.budget}: {full['sentence']}.", (full["in_turn"] or {}).get("sentence", "")]
    text = "\n".join(lines) + "\n"
    print(text)
    if options.out:
        options.out.write_text(text)


if __name__ == "__main__":
    main()
