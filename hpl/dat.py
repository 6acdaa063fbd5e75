"""The content of an HPL.dat file as a frozen value, and its text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from .params import Bcast, Fact, Form, HplParams, Pmap, Swap

MAX_VALUES = 20
"""HPL_MAX_PARAM: the most values that a line may hold."""
MAX_LINE = 250
"""HPL reads at most 253 characters of a line; it would read the rest as the next line."""
DEVICE_STDOUT = 6
DEVICE_FILE = 0
"""As HPL reads the word `file`; every number but 6 and 7 means the output file."""


@dataclass(frozen=True)
class HplDat:
    """A whole HPL.dat: HPL runs every combination of the values in its lists.

    Attributes:
        Ns, NBs, grids, PFACTs, NBMINs, NDIVs, RFACTs, BCASTs, DEPTHs: 1 to 20 values each.
        title: the two comment lines at the top.
        output_file, device: where HPL prints; device 6 is standard output, 7 standard error, others the file.
        cautions: sentences about values that HPL would silently misread; only parsing sets them.
    """

    Ns: tuple[int, ...]
    NBs: tuple[int, ...]
    grids: tuple[tuple[int, int], ...]
    PMAP: Pmap = Pmap.ROW
    threshold: float = 16.0
    PFACTs: tuple[Fact, ...] = (Fact.RIGHT,)
    NBMINs: tuple[int, ...] = (4,)
    NDIVs: tuple[int, ...] = (2,)
    RFACTs: tuple[Fact, ...] = (Fact.CROUT,)
    BCASTs: tuple[Bcast, ...] = (Bcast.ONE_RING_M,)
    DEPTHs: tuple[int, ...] = (1,)
    SWAP: Swap = Swap.MIX
    swap_threshold: int = 64
    L1: Form = Form.TRANSPOSED
    U: Form = Form.TRANSPOSED
    EQUIL: bool = True
    alignment: int = 8
    title: tuple[str, str] = ("HPLinpack benchmark input file", "written by hpltune")
    output_file: str = "HPL.out"
    device: int = DEVICE_STDOUT
    cautions: tuple[str, ...] = ()

    @classmethod
    def of(cls, params: HplParams) -> HplDat:
        """Make the file that runs exactly one configuration."""
        return cls(
            Ns=(params.N,),
            NBs=(params.NB,),
            grids=((params.P, params.Q),),
            PMAP=params.PMAP,
            threshold=params.threshold,
            PFACTs=(params.PFACT,),
            NBMINs=(params.NBMIN,),
            NDIVs=(params.NDIV,),
            RFACTs=(params.RFACT,),
            BCASTs=(params.BCAST,),
            DEPTHs=(params.DEPTH,),
            SWAP=params.SWAP,
            swap_threshold=params.swap_threshold,
            L1=params.L1,
            U=params.U,
            EQUIL=params.EQUIL,
            alignment=params.alignment,
        )

    @classmethod
    def together(cls, runs: Sequence[HplParams]) -> HplDat | None:
        """Make the file that runs exactly these configurations, each once, or None where no file can.

        HPL runs the product of a file's lists. So the configurations must form such a product, and parameters without a
        list must be equal in all of them.

        Args:
            runs: at least one configuration, in any order; the file's `runs()` gives HPL's order.
        """
        dat = replace(
            cls.of(runs[0]),
            Ns=tuple(dict.fromkeys(run.N for run in runs)),
            NBs=tuple(dict.fromkeys(run.NB for run in runs)),
            grids=tuple(dict.fromkeys((run.P, run.Q) for run in runs)),
            PFACTs=tuple(dict.fromkeys(run.PFACT for run in runs)),
            NBMINs=tuple(dict.fromkeys(run.NBMIN for run in runs)),
            NDIVs=tuple(dict.fromkeys(run.NDIV for run in runs)),
            RFACTs=tuple(dict.fromkeys(run.RFACT for run in runs)),
            BCASTs=tuple(dict.fromkeys(run.BCAST for run in runs)),
            DEPTHs=tuple(dict.fromkeys(run.DEPTH for run in runs)),
        )
        if prod(map(len, dat.lists)) != len(runs) or set(dat.runs()) != set(runs):
            return None
        lines = render(dat).splitlines()
        fits = max(map(len, dat.lists)) <= MAX_VALUES and max(map(len, lines)) <= MAX_LINE
        return dat if fits else None

    @property
    def lists(self) -> tuple[Sequence[object], ...]:
        """The lists whose product HPL runs, in the order of its loops, outermost first."""
        return (
            self.grids, self.Ns, self.NBs, self.DEPTHs, self.BCASTs, self.RFACTs, self.PFACTs, self.NBMINs, self.NDIVs
        )  # fmt: skip

    @property
    def ranks(self) -> int:
        """The number of ranks that the largest grid of the file needs."""
        return max(P * Q for P, Q in self.grids)

    def runs(self) -> Iterator[HplParams]:
        """Yield the configurations in the order HPL runs them (the loops of `HPL_pddriver.c`, grids outermost)."""
        for (P, Q), N, NB, DEPTH, BCAST, RFACT, PFACT, NBMIN, NDIV in product(
            self.grids, self.Ns, self.NBs, self.DEPTHs, self.BCASTs, self.RFACTs, self.PFACTs, self.NBMINs, self.NDIVs
        ):
            yield HplParams(
                N=N,
                NB=NB,
                P=P,
                Q=Q,
                PMAP=self.PMAP,
                threshold=self.threshold,
                PFACT=PFACT,
                NBMIN=NBMIN,
                NDIV=NDIV,
                RFACT=RFACT,
                BCAST=BCAST,
                DEPTH=DEPTH,
                SWAP=self.SWAP,
                swap_threshold=self.swap_threshold,
                L1=self.L1,
                U=self.U,
                EQUIL=self.EQUIL,
                alignment=self.alignment,
            )


def render(dat: HplDat) -> str:
    """Write the text of a file: 31 lines, values separated by exactly one blank, because HPL misreads anything else."""
    lines = [
        dat.title[0][:MAX_LINE],
        dat.title[1][:MAX_LINE],
        _line(dat.output_file, "output file name (if any)"),
        _line(dat.device, "device out (6=stdout,7=stderr,file)"),
        *_list(dat.Ns, "# of problems sizes (N)", "Ns"),
        *_list(dat.NBs, "# of NBs", "NBs"),
        _line(int(dat.PMAP), "PMAP process mapping (0=Row-,1=Column-major)"),
        _line(len(dat.grids), "# of process grids (P x Q)"),
        _line(" ".join(str(P) for P, _ in dat.grids), "Ps"),
        _line(" ".join(str(Q) for _, Q in dat.grids), "Qs"),
        _line(dat.threshold, "threshold"),
        *_list(dat.PFACTs, "# of panel fact", "PFACTs (0=left, 1=Crout, 2=Right)"),
        *_list(dat.NBMINs, "# of recursive stopping criterium", "NBMINs (>= 1)"),
        *_list(dat.NDIVs, "# of panels in recursion", "NDIVs"),
        *_list(dat.RFACTs, "# of recursive panel fact.", "RFACTs (0=left, 1=Crout, 2=Right)"),
        *_list(dat.BCASTs, "# of broadcast", "BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)"),
        *_list(dat.DEPTHs, "# of lookahead depth", "DEPTHs (>=0)"),
        _line(int(dat.SWAP), "SWAP (0=bin-exch,1=long,2=mix)"),
        _line(dat.swap_threshold, "swapping threshold"),
        _line(int(dat.L1), "L1 in (0=transposed,1=no-transposed) form"),
        _line(int(dat.U), "U  in (0=transposed,1=no-transposed) form"),
        _line(int(dat.EQUIL), "Equilibration (0=no,1=yes)"),
        _line(dat.alignment, "memory alignment in double (> 0)"),
    ]
    return "\n".join(lines) + "\n"


def _line(value: object, comment: str) -> str:
    """Format one line; the comment is left out where values and comment are longer than HPL reads."""
    text = str(value)
    return f"{text:<12} {comment}" if len(text) + len(comment) < MAX_LINE else text


def _list(values: tuple[int, ...], count_comment: str, comment: str) -> tuple[str, str]:
    return _line(len(values), count_comment), _line(" ".join(str(int(value)) for value in values), comment)
