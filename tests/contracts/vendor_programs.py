"""Stand-ins for programs of vendors that are not here: they read HPL.dat, refuse what theirs refuses, and print alike.

None of them computes: each tells a rate that depends on its parameters, and sleeps as long as the run would take.
"""

import sys
from pathlib import Path

from as_user import program

READS = """
import os, sys, time

def rank():
    names = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID")
    return int(next((os.environ[name] for name in names if name in os.environ), 0))

def refuse(sentence):
    if rank() == 0:
        print(sentence, file=sys.stderr)
    sys.exit(1)

def hpl_dat(name="HPL.dat", broadcasts=8):
    lines = [line.split() for line in open(name)]
    if len(lines) < 31:
        refuse(f"{name} ends after {len(lines)} lines")
    at = dict(N=5, NB=7, PMAP=8, P=10, Q=11, PFACT=14, NBMIN=16, NDIV=18, RFACT=20, BCAST=22, DEPTH=24, SWAP=25,
              swap_threshold=26, L1=27, U=28, EQUIL=29)
    dat = {key: int(lines[number][0]) for key, number in at.items()}
    if dat["BCAST"] >= broadcasts:
        refuse(f"illegal BCAST {dat['BCAST']}")
    return dat

def solve(dat, gflops):
    N = dat["N"]
    time_s = (2 / 3 * N**3 + 1.5 * N**2) / gflops / 1e9
    time.sleep(time_s)
    return time_s

def checked(residual=0.0021):
    print("-" * 80)
    print(f"||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)= {residual:16.8e} ...... PASSED")
    print("=" * 80)
    print("\\nFinished      1 tests with the following results:")
    print("              1 tests completed and passed residual checks,")
    print("\\nEnd of Tests.\\n" + "=" * 80)
"""
"""What all of them begin with; the last rate of a run is what they are asked to show."""


def _stand_in(path: Path, text: str, gflops: float) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return program(path, f"#!{sys.executable} -IS\n{READS}\nGFLOPS = {gflops}\n{text}")


def amd_zen_hpl(folder: Path, gflops: float = 40.0) -> Path:
    """AMD Zen HPL: fastest with its own broadcast and NB = 384; it wants to be told where its threads are."""
    text = """
dat = hpl_dat()
if rank():
    sys.exit()
if os.environ.get("OMP_PROC_BIND") != "close":
    refuse("threads are nowhere")
if os.environ.get("BLIS_ARCH_TYPE", "zen4") not in ("zen3", "zen4"):
    refuse("unknown BLIS_ARCH_TYPE")
rate = GFLOPS * (1.0 if os.environ.get("BLIS_ARCH_TYPE") == "zen4" else 0.9)
rate *= (1.0 if dat["NB"] == 384 else 0.9) * (1.0 if dat["BCAST"] == 7 else 0.95)
print("=" * 80 + "\\nAMD Zen HPL 2024_10_08\\n" + "=" * 80, flush=True)
time_s = solve(dat, rate)
print("T/V         SWP           N    NB     P     Q            Time             Gflops\\n" + "-" * 80)
code = f"W{'RC'[dat['PMAP']]}C{dat['DEPTH'] % 10}{dat['BCAST']}R8C48c"
numbers = f"{dat['N']:12d} {dat['NB']:5d} {dat['P']:5d} {dat['Q']:5d}"
print(f"{code} 211{numbers}   {time_s:14.4f} {rate:18.4e}")
checked()
"""
    return _stand_in(folder / "amd-zen-hpl-2024_10_08/xhpl", text, gflops)


NETLIBS_ROW = """
code = f"W{'RC'[dat['PMAP']]}{dat['DEPTH']}{dat['BCAST']}"
code += f"{'LCR'[dat['RFACT']]}{dat['NDIV']}{'LCR'[dat['PFACT']]}{dat['NBMIN']}"
print("T/V                N    NB     P     Q               Time                 Gflops\\n" + "-" * 80)
print(f"{code:<12}{dat['N']:8d}{dat['NB']:6d}{dat['P']:6d}{dat['Q']:6d}{time_s:19.4f}{rate:23.4e}")
"""


def intel_hpl(folder: Path, gflops: float = 40.0) -> Path:
    """Intel's: fastest with broadcast 6 and large pages; its binary begins as netlib's HPL does."""
    text = f"""
dat = hpl_dat()
if rank():
    sys.exit()
if os.environ["HPL_LARGEPAGE"] not in ("0", "1"):
    refuse("HPL_LARGEPAGE")
nodes = os.environ.get("HPL_HOST_NODE", "0")
if not all(number.isdecimal() for number in nodes.split(",")):
    refuse("HPL_HOST_NODE")
rate = GFLOPS * (1.0 if os.environ["HPL_LARGEPAGE"] == "1" else 0.9) * (1.0 if dat["BCAST"] == 6 else 0.95)
print("=" * 80 + "\\nHPLinpack 2.3  --  High-Performance Linpack benchmark  --   December 2, 2018", flush=True)
time_s = solve(dat, rate)
{NETLIBS_ROW}
checked()
"""
    return _stand_in(folder / "xhpl_intel64_dynamic", text, gflops)


def fake_gpus(folder: Path, count: int = 2, model: str = "NVIDIA H100 80GB HBM3", mib: int = 81559) -> Path:
    """An `nvidia-smi` that tells of GPUs that are not here; the caller puts its folder on PATH."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = "\n".join(f"{model}, {mib}, 00000000:{17 + number:02X}:00.0" for number in range(count))
    return program(folder / "nvidia-smi", f"#!/bin/sh\ncat <<'END'\n{lines}\nEND\n")


def nvidia_hpl(folder: Path, gflops: float = 40.0) -> Path:
    """NVIDIA's `hpl.sh` with its program: fastest with ncclSend/Recv and NB = 384; it demands L1 as stored."""
    text = """
arguments = sys.argv[1:]
given = dict(zip(arguments[::2], arguments[1::2]))
known = {"--dat", "--gpu-affinity", "--cpu-affinity", "--mem-affinity", "--ucx-affinity"}
if not known.issuperset(given) or len(arguments) % 2:
    refuse(f"hpl.sh: unknown option in {arguments}")
dat = hpl_dat(given["--dat"])
if len(given["--gpu-affinity"].split(":")) != dat["P"] * dat["Q"]:
    refuse("a rank has no GPU")
if dat["L1"] != 1 or dat["U"] != 0:
    refuse("only L1 in no-transposed form and U in transposed form are supported")
if rank():
    sys.exit()
nvshmem = os.environ["HPL_USE_NVSHMEM"] == "1"
if not nvshmem and (os.environ["HPL_FCT_COMM_POLICY"] == "0" or os.environ["HPL_P2P_AS_BCAST"] == "4"):
    refuse("NVSHMEM is off")
rate = GFLOPS * (1.0 if os.environ["HPL_P2P_AS_BCAST"] == "1" else 0.9) * (1.0 if dat["NB"] == 384 else 0.9)
gpus = dat["P"] * dat["Q"]
print("NVIDIA-HPL 25.04.0  -- NVIDIA accelerated HPL benchmark -- NVIDIA", flush=True)
time_s = solve(dat, rate)
print("T/V                N    NB     P     Q         Time          Gflops (   per GPU)\\n" + "-" * 80)
numbers = f"{dat['N']:12d}{dat['NB']:6d}{dat['P']:6d}{dat['Q']:6d}"
print(f"WC0{numbers}{time_s:13.4f}{rate:16.4e} ({rate / gpus:10.3e})")
checked()
"""
    program(_folder(folder / "hpl-linux-x86_64") / "xhpl", "#!/bin/sh\nexit 1\n")
    return _stand_in(folder / "hpl.sh", text, gflops)


def roc_hpl(folder: Path, gflops: float = 40.0) -> Path:
    """rocHPL through `run_rochpl`: fastest where it splits in half; it refuses what rocHPL refuses, in its words."""
    text = f"""
arguments = sys.argv[1:]
given = dict(zip(arguments[::2], arguments[1::2]))
P, Q, p, q = (int(given[name]) for name in ("-P", "-Q", "-p", "-q"))
size = int(os.environ.get("OMPI_COMM_WORLD_LOCAL_SIZE") or os.environ.get("MPI_LOCALNRANKS") or 1)
if p * q != size or P % p or Q % q:
    refuse("Invalid MPI grid parameters; Unable to form node-local grid; aborting")
dat = hpl_dat(given["-i"], broadcasts=6)
for name, value in (("DEPTH", 1), ("SWAP", 1), ("U", 0), ("EQUIL", 0)):
    if dat[name] != value:
        refuse("HPL ERROR from process # 0, on line 600 of function HPL_pdinfo:\\n"
               f">>> Value of {{name}} must be {{value}} <<<")
if (dat["P"], dat["Q"]) != (P, Q):
    refuse("the grids differ")
print(f"Node Binding: Process {{rank()}} [(p,q)=(0,0)] CPU Cores: 1 - {{{{0}}}}", flush=True)
if rank():
    sys.exit()
rate = GFLOPS * (1 - abs(float(given["-f"]) - 0.5))
print("=" * 80 + "\\nHPLinpack 2.2  --  High-Performance Linpack benchmark  --   February 24, 2016", flush=True)
time_s = solve(dat, rate)
{NETLIBS_ROW}
print(f"Final Score:    {{rate:7.4e}} GFLOPS ")
checked()
"""
    return _stand_in(folder / "run_rochpl", text, gflops)


HPCGS_RUN = """
lines = [line.split() for line in open("hpcg.dat")]
sizes, seconds = [int(word) for word in lines[2]], int(lines[3][0])
if min(sizes) < 0.125 * max(sizes):
    refuse("The ratio of the smallest local dimension to the largest is too small")
if any(size < 16 or size % 8 for size in sizes):
    refuse("The local dimensions are none of HPCG's")
ranks = int(os.environ.get("OMPI_COMM_WORLD_SIZE") or os.environ.get("PMI_SIZE") or 1)
time_s = 0.15
time.sleep(time_s)
if rank():
    sys.exit()
rate = GFLOPS * (1.0 if sizes == [32, 16, 16] else 0.8) / ranks
told = {"Machine Summary::Distributed Processes": ranks}
told |= {f"Local Domain Dimensions::{name}": size for name, size in zip(("nx", "ny", "nz"), sizes)}
told |= {"Reproducibility Information::Scaled residual mean": 1.2e-16, "Benchmark Time Summary::Total": time_s}
told |= {"GFLOP/s Summary::Raw Total": rate * 1.01, "Final Summary": ""}
told["Final Summary::HPCG result is VALID with a GFLOP/s rating of"] = rate
written = "HPCG-Benchmark\\nversion=3.1\\n" + "".join(f"{name}={value}\\n" for name, value in told.items())
"""


def hpcg(folder: Path, gflops: float = 4.0) -> Path:
    """HPCG's reference program: fastest with 32 x 16 x 16 equations of a rank; its report is in a file of its own."""
    text = f"""{HPCGS_RUN}
with open("HPCG-Benchmark_3.1_2026-11-28_05-56-06.txt", "w") as report:
    report.write(written)
"""
    return _stand_in(folder / "xhpcg", text, gflops)


def nvidia_hpcg(folder: Path, gflops: float = 4.0) -> Path:
    """NVIDIA's `hpcg.sh`: it wants a GPU for each rank, and prints the report."""
    text = f"""
arguments = sys.argv[1:]
given = dict(zip(arguments[::2], arguments[1::2]))
if not {{"--dat", "--gpu-affinity", "--p2p", "--l2cmp"}}.issuperset(given) or given["--dat"] != "hpcg.dat":
    refuse(f"hpcg.sh: unknown option in {{arguments}}")
{HPCGS_RUN}
if len(given["--gpu-affinity"].split(":")) != ranks:
    refuse("a rank has no GPU")
print(written)
"""
    return _stand_in(folder / "hpcg.sh", text, gflops)


MXPS_RATE = """
memory = 4 * N * N / (P * Q)
rate = GFLOPS * (1.0 if memory < 0.6 * GPU_BYTES else 0.68) * (1.0 if NB == 3072 else 0.9)
time_s = (2 / 3 * N**3 + 1.5 * N**2) / rate / 1e9
"""


def nvidia_mxp(folder: Path, gflops: float = 3e7, gpu_bytes: float = 85.5e9) -> Path:
    """NVIDIA's `hpl-mxp.sh`: fastest with NB = 3072 where the matrix takes less than 60 % of the GPUs' memory."""
    text = f"""
arguments = sys.argv[1:]
given = dict(zip(arguments[::2], arguments[1::2]))
known = {{"--n", "--nb", "--nprow", "--npcol", "--nporder", "--gpu-affinity", "--cpu-affinity", "--mem-affinity",
         "--sloppy-type", "--u-panel-chunk-nbs", "--use-mpi-panel-broadcast", "--prioritize-trsm",
         "--prioritize-factorization", "--use-separate-stream-for-gemm", "--fill-device"}}
if not known.issuperset(given) or len(arguments) % 2:
    refuse(f"hpl-mxp.sh: unknown option in {{arguments}}")
N, NB, P, Q = (int(given[name]) for name in ("--n", "--nb", "--nprow", "--npcol"))
if given["--nporder"] not in ("row", "column") or len(given["--gpu-affinity"].split(":")) != P * Q:
    refuse("a rank has no GPU")
if rank():
    sys.exit()
GPU_BYTES = {gpu_bytes}
{MXPS_RATE}
print("HPL-MxP-NVIDIA 26.2.0  -- NVIDIA accelerated HPL-MxP benchmark -- NVIDIA", flush=True)
time.sleep(time_s)
print(f"LU seconds: AVG = {{time_s:.2f}}, MAX = {{time_s:.2f}} (0->here), MIN = {{time_s:.2f}} (0->here)")
print("GMRES iteration  2, L-infinite residual = 5.83940550e-14")
print("GMRES seconds: AVG = 0.00, MAX = 0.00 (0->here), MIN = 0.00 (0->here)")
print(" ****** HPL MxP Result    ****** ")
print("  ||Ax-b||_oo     . . . . . . . . . . . . . . . . .          =    5.839405E-14")
print("  ||Ax-b||_oo / (EPS * (||A||_oo * ||x||_oo + ||b||_oo) * N) =    9.644059E-04 ...... PASSED\\n")
print(f"    N = {{N}}, NB = {{NB}}, NPROW = {{P}}, NPCOL = {{Q}}, SLOPPY-TYPE = 2")
print(f"       GFLOPS = {{rate:.4e}}, per GPU = {{rate / P / Q:12.2f}}")
print(f"    LU GFLOPS = {{rate:.4e}}, per GPU = {{rate / P / Q:12.2f}}")
"""
    return _stand_in(folder / "hpl-mxp.sh", text, gflops)


def roc_mxp(folder: Path, gflops: float = 3e7, gpu_bytes: float = 64 * 2**30) -> Path:
    """rocHPL-MxP through `run_rochplmxp`: it reads HPL-MxP.dat, computes whole blocks, and prints as netlib's HPL."""
    text = f"""
arguments = sys.argv[1:]
given = dict(zip(arguments[::2], arguments[1::2]))
lines = [line.split() for line in open(given["-i"])]
N, NB, order, P, Q, broadcast = (int(lines[number][0]) for number in (5, 7, 8, 9, 10, 13))
if int(lines[3][0]) != 6 or N % NB or broadcast > 5:
    refuse("HPL-MxP.dat")
if (P, Q) != (int(given["-P"]), int(given["-Q"])) or P % int(given["-p"]) or Q % int(given["-q"]):
    refuse("Invalid MPI grid parameters; Unable to form node-local grid; aborting")
if rank():
    sys.exit()
GPU_BYTES = {gpu_bytes}
{MXPS_RATE}
print("=" * 80, flush=True)
time.sleep(time_s)
print("T/V                N    NB     P     Q               Time                 Gflops\\n" + "-" * 80)
print(f"W{{'RC'[order]}}{{broadcast}}{{N:17d}} {{NB:5d}} {{P:5d}} {{Q:5d}} {{time_s:18.2f}}     {{rate:18.3e}}")
print(f"Final Score:    {{rate:7.4e}} GFLOPS ")
print(f"||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)= {{0.0011:16.7f}} ...... PASSED")
print("\\nEnd of Tests.\\n")
"""
    return _stand_in(folder / "run_rochplmxp", text, gflops)


def _folder(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path
