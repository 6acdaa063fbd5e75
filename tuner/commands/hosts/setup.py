"""`hpltune setup`: decides what it will install, does it, and says what came of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from hpl.blas.nvblas import NAME as NVBLAS
from hpl.blas.nvblas import VENDOR
from hpl.errors import HplError
from hpl.programs.gpus import for_program
from hpl.programs.registry import obtain
from hpl.search_paths import SearchPaths
from results.report.model import Report, Sentence

from ...errors import UsageError
from ...events import Listener
from ...provision.install import Installation, Installers
from ...provision.plan import EXTRAS, Needs, SetupPlan, needs, plan
from ...provision.setup import ADVICE, absent_extras, install, missing_sentence
from ...user_dirs import UserDirs


@dataclass(frozen=True)
class PlannedSetup:
    """What is missing and would be installed; nothing has been changed yet.

    Attributes:
        extras: keys of `provision.packages.EXTRAS`.
        private: only the private prefix is used, even as root.
    """

    user_dirs: UserDirs
    extras: Sequence[str]
    private: bool
    installers: Installers
    missing: Needs
    plan: SetupPlan

    def report(self) -> Report:
        """The plan for people, and the facts of a setup that has not begun."""
        lines = self.plan.lines(self.user_dirs)
        parts = (Sentence(missing_sentence(self.missing)), *(Sentence(line, unbroken=True) for line in lines))
        return Report("Setup", parts, self.facts((), (), self.missing.names))

    def facts(self, installed: Sequence[str], problems: Sequence[str], left: Sequence[str]) -> dict[str, object]:
        """Everything for scripts."""
        return {
            "missing": list(self.missing.names),
            "plan": [
                {"name": package.name, "source": package.source, "why": package.why, "size_mb": package.size_mb}
                for package in self.plan.packages
            ],
            "installed": list(installed),
            "problems": list(problems),
            "still_missing": list(left),
        }


@dataclass(frozen=True)
class SetupResult:
    """What came of a setup.

    Attributes:
        installed: names of packages.
        problems: a sentence for each thing that could not be had.
        left: what is still missing.
        absent: extras that are still missing, each with the reason.
        source: version and origin of HPL's source, or the sentence why there is none.
        has_source: HPL's source is here.
    """

    planned: PlannedSetup
    installed: tuple[str, ...]
    problems: tuple[str, ...]
    left: Needs
    absent: Mapping[str, str]
    source: str
    has_source: bool

    @property
    def complete(self) -> bool:
        """Whether everything is here that was asked for."""
        return self.has_source and not self.left and not self.absent

    def report(self) -> Report:
        """What is here now, what is not, and what to do."""
        lines = [f"HPL's source: {self.source}" if self.has_source else self.source]
        lines += still_missing(self.left, self.planned.user_dirs)
        lines += [f"Still missing: {extra}, because {why}." for extra, why in self.absent.items()]
        facts = self.planned.facts(self.installed, self.problems, (*self.left.names, *self.absent))
        return Report("Setup", tuple(map(Sentence, lines)), facts)


def plan_setup(
    user_dirs: UserDirs, extras: Sequence[str] = (), *, private: bool = False, installers: Installers | None = None
) -> PlannedSetup:
    """Look for what is missing, and choose what to install.

    Args:
        installers: None for those that this process can use.

    Raises:
        UsageError: there is no such extra.
        NoGpuError: it computes on GPUs, and this machine shows none.
        SetupError: it cannot be had without root.
    """
    unknown = [name for name in extras if name not in EXTRAS]
    if unknown:
        raise UsageError(f"expected one of {', '.join(EXTRAS)}", field="with", given=unknown[0])
    if NVBLAS in extras:
        for_program(NVBLAS, VENDOR)
    means = installers or Installers.of_this_process()
    missing = needs(user_dirs, system=means.system)
    chosen = plan(missing, [*absent_extras(extras, user_dirs)], as_root=means.as_root and not private)
    return PlannedSetup(user_dirs, extras, private, means, missing, chosen)


def setup(planned: PlannedSetup, listener: Listener) -> SetupResult:
    """Install what was planned, and get HPL's source.

    Raises:
        SetupError: another package manager is at work.
    """
    user_dirs = planned.user_dirs
    work = Installation(user_dirs, listener, planned.installers)
    look = partial(needs, user_dirs, system=planned.installers.system)
    left = install(planned.plan, work, look, fall_back=not planned.private)
    try:
        found = obtain(SearchPaths(user_dirs.prefix, user_dirs.cache))
        source, has_source = f"{found.version} from {found.origin}", True
    except HplError as error:
        source, has_source = str(error), False
        work.problems.append(source)
    absent = absent_extras(planned.extras, user_dirs)
    return SetupResult(
        planned, tuple(work.done), tuple(work.problems), left, absent, source=source, has_source=has_source
    )


def still_missing(left: Needs, user_dirs: UserDirs) -> list[str]:
    """Sentences about what is still missing and what to do, or that all is there."""
    if not left:
        return ["Set up: `hpltune tune` can start."]
    return [
        f"Still missing: {left}. Do this instead: {ADVICE}.",
        f"Everything that was tried is in {user_dirs.cache / 'setup.log'}.",
    ]
