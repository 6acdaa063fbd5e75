"""What programs compute: HPL, HPL-MxP or HPCG. Rates of two of them are never held against each other.

HPL-MxP solves the same system in low precision and refines the solution to double precision; its rate counts HPL's
operations, so it is a multiple of HPL's. HPCG solves a sparse system that is bound by the memory's bandwidth; its
rating is a few percent of HPL's rate. Sources: hpl-mxp.org, "HPL-MxP benchmark"; Dongarra, Heroux and Luszczek, "HPCG
benchmark: a new metric for ranking high performance computing systems" (2015).
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Workload:
    """A benchmark with lists of its own.

    Attributes:
        name: in records, documents and exports.
        title: in sentences.
        rate: the word for the rate of its fastest run.
        input_name: the file that its programs read, if they read one.
        space: the space that is searched unless the user names another.
        has_peak: its rate is a part of the peak in double precision.
    """

    name: str
    title: str
    rate: str
    input_name: str
    space: str
    has_peak: bool = True

    @property
    def is_hpl(self) -> bool:
        """Whether it is HPL itself."""
        return self is HPL


HPL = Workload("hpl", "HPL", "Rmax", "HPL.dat", "default")
HPL_MXP = Workload("hpl-mxp", "HPL-MxP", "HPL-MxP rate", "HPL-MxP.dat", "hpl-mxp", has_peak=False)
HPCG = Workload("hpcg", "HPCG", "HPCG rating", "hpcg.dat", "hpcg")
WORKLOADS = (HPL, HPL_MXP, HPCG)


def workload_named(name: object) -> Workload:
    """Return the workload of this name; HPL for a name that no workload has."""
    return next((workload for workload in WORKLOADS if workload.name == name), HPL)
