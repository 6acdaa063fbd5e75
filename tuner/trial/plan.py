"""From a point of the search space to something that can be run: the one place where names get their meaning."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TypeVar

from hpl import variant
from hpl.blas.catalogue import BlasLibrary
from hpl.blas.nvblas import NAME as NVBLAS
from hpl.blas.nvblas import ONE_GPU
from hpl.dat import HplDat, render
from hpl.params import HplParams, Scalar
from hpl.programs.family import AskedStart, HplProgram
from hpl.programs.registry import TO_BUILD
from hpl.programs.terms import OWN
from runners.errors import RunnerError
from runners.settings.registry import is_setting, setting
from runners.settings.setting import CHOICE, HostSetting, LaunchSetting, interfaces_of
from runners.settings.sys import with_tunables
from search_spaces.errors import SpaceError
from search_spaces.node_order import NODE_PARAMETERS, placement
from search_spaces.parameters.dimension import ranks_and_threads
from search_spaces.restriction import a_node_is_left, order_is_known
from search_spaces.space import SearchSpace

from ..errors import UsageError
from ..machine.equipment import PROGRAM
from ..machine.inventory import Inventory, node_shape, running

MPI_BYTES_PER_RANK = 64 * 2**20
"""Open MPI's own buffers and shared-memory segments; about 40 MiB a rank measured with 4.1 on one node."""
BLAS_BYTES_PER_THREAD = 32 * 2**20
"""Packing buffer of one OpenBLAS thread (BUFFER_SIZE of the x86-64 kernels); BLIS and MKL take less."""


class PlanError(UsageError):
    """A point that cannot be run here, with the sentence why."""


@dataclass(frozen=True)
class Launch:
    """How ranks are started.

    Attributes:
        binding: what each rank is bound to.
        mpi: name of the MPI library; "" for the site's preferred one.
        parameters: of the MPI library, as MCA parameters of Open MPI.
        nodes: hosts that the ranks fill, in this order; empty for all that the machine has.
    """

    binding: str = "core"
    mpi: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    nodes: tuple[str, ...] = ()

    @classmethod
    def of(cls, params: Mapping[str, Scalar], machine: Inventory) -> "Launch":
        """What `binding`, `mpi`, `mpi.*`, `nodes_dropped` and `rank_order` of a complete point mean."""
        return cls(
            binding=str(params.get("binding", "core")),
            mpi=str(params.get("mpi", "")),
            parameters={name[4:]: str(value) for name, value in params.items() if name.startswith("mpi.")},
            nodes=_nodes_of(params, machine),
        )

    def words(self) -> dict[str, Scalar]:
        """The parameters of a point that mean this."""
        named = {"mpi": self.mpi} if self.mpi else {}
        return {"binding": self.binding, **named, **{f"mpi.{name}": value for name, value in self.parameters.items()}}


@dataclass(frozen=True)
class TrialPlan:
    """Everything that decides what a run measures.

    Attributes:
        runs: what HPL.dat asks for, in HPL's own order; one for a search trial, several for a user's file.
        hpl_dat: the text of the file that the program reads, exactly as it will be written; HPL.dat for HPL.
        blas: name in the BLAS catalogue, or of the program's family where that brings its own.
        library: the file the program is linked with; None where it brings its own.
        kernel: "auto" or the kernel asked of the BLAS.
        environment: variables of the ranks: kernel, threads and settings.
        launch: how the ranks are started.
        settings: those of hosts and of the launch, by name; what is not named is left as it is.
        before: what stands before the program in the command of each rank.
        oversubscribe: more ranks than cores are wanted; they are not bound then.
        stop_at: part of the columns after which all ranks leave; None runs to the end.
        program: what runs.
        arguments: what its command line gets.
    """

    runs: tuple[HplParams, ...]
    hpl_dat: str
    blas: str
    library: BlasLibrary | None
    kernel: str
    ranks: int
    threads: int
    environment: Mapping[str, str]
    launch: Launch = Launch()
    settings: Mapping[str, Scalar] = field(default_factory=dict)
    before: tuple[str, ...] = ()
    oversubscribe: bool = False
    stop_at: float | None = None
    program: HplProgram = TO_BUILD
    arguments: tuple[str, ...] = ()

    @property
    def interfaces(self) -> tuple[str, ...]:
        """The interfaces MPI may use, as `net.interface` says; empty where it does not."""
        return interfaces_of(self.settings[CHOICE]) if CHOICE in self.settings else ()

    def with_setting(self, name: str) -> dict[str, Scalar]:
        """A setting with its value here, and the interfaces it is for; empty where it has none."""
        if name not in self.settings:
            return {}
        known = setting(name)
        of_interfaces = isinstance(known, HostSetting) and known.per_interface and CHOICE in self.settings
        return {one: self.settings[one] for one in ([name, CHOICE] if of_interfaces else [name])}

    @property
    def memory_bytes(self) -> int:
        """Bytes that all ranks together need, on however many nodes: matrix and panels, MPI and BLAS buffers."""
        own = MPI_BYTES_PER_RANK + self.threads * BLAS_BYTES_PER_THREAD
        return self.ranks * own + max(run.ranks * self.program.terms.memory_bytes(run) for run in self.runs)


def plan(params: Mapping[str, Scalar], machine: Inventory) -> TrialPlan:
    """Give the names of a complete legal point their meaning. Pure: nothing is looked up or written.

    Args:
        params: every HPL parameter, `blas`, `kernel`, `layout`, `binding`, `mpi.*` and settings of hosts, in the words
            of the space.
        machine: with its BLAS and MPI libraries and its nodes.

    Raises:
        PlanError: when the point asks for something this machine or this version cannot do.
        hpl.errors.HplError: when a value is out of HPL's range or the BLAS has no build for the threads.
    """
    machine = running(machine, str(params.get(PROGRAM, "")))
    ranks, threads = parse_layout(str(params["layout"]))
    hpl_params = machine.program.terms.run_of(params)
    if hpl_params.ranks != ranks:
        raise PlanError(
            f"the grid {hpl_params.P}x{hpl_params.Q} needs {hpl_params.ranks} ranks, the layout starts {ranks}"
        )
    placement = Placement(
        blas=str(params["blas"]),
        kernel=str(params.get("kernel", "auto")),
        ranks=ranks,
        threads=threads,
        launch=Launch.of(params, machine),
        settings=settings_of(params, machine),
        own=params,
    )
    return placed(machine, (hpl_params,), None, placement)


@dataclass(frozen=True)
class Placement:
    """How an HPL.dat is launched.

    Attributes:
        threads: of each rank.
        settings: those of hosts and of the launch, by name.
        own: the point with parameters of the program's own; what it lacks has its default.
    """

    blas: str
    kernel: str
    ranks: int
    threads: int
    launch: Launch
    settings: Mapping[str, Scalar] = field(default_factory=dict)
    own: Mapping[str, Scalar] = field(default_factory=dict)


def placed(machine: Inventory, runs: tuple[HplParams, ...], hpl_dat: str | None, placement: Placement) -> TrialPlan:
    """Plan the launch of an HPL.dat, with the library and the environment that its BLAS needs.

    Args:
        runs: what the file asks for.
        hpl_dat: its text; None lets the program's family write its input for the first run.

    Raises:
        PlanError: the program refuses a value of the file.
        TunerError: the BLAS or the MPI library is not on this machine.
    """
    terms, ranks_on_node = machine.program.terms, max(1, placement.ranks // machine.node_count)
    own = terms.own_of(placement.own)
    named = {OWN + name: value for name, value in own.items()}
    for run in runs:
        words = {**run.words(), **named, "binding": placement.launch.binding}
        for sentence in terms.refusals(words, ranks_on_node):
            raise PlanError(sentence)
    blas, kernel, threads = placement.blas, placement.kernel, placement.threads
    library = machine.library(blas, threads)
    machine.mpi_named(placement.launch.mpi)
    asked = AskedStart(runs, placement.ranks, threads, machine.node_count, node_shape(machine), own)
    start = machine.program.start(asked)
    environment = {**machine.environment(blas, kernel, threads), **start.environment}
    before: list[str] = []
    for name, value in placement.settings.items():
        known = setting(name)
        if isinstance(known, LaunchSetting):
            environment = with_tunables(environment, known.environment(known.text(value)))
            before += _before(known, known.text(value), machine)
    return TrialPlan(
        runs=runs,
        hpl_dat=machine.program.input_text(asked) if hpl_dat is None else hpl_dat,
        blas=blas,
        library=library,
        kernel=kernel,
        ranks=placement.ranks,
        threads=threads,
        environment=environment,
        launch=placement.launch,
        settings=placement.settings,
        before=(*machine.wrap, *before, *start.before, *(ONE_GPU if library and library.family == NVBLAS else ())),
        program=machine.program,
        arguments=start.arguments,
    )


def _before(known: LaunchSetting, value: str, machine: Inventory) -> tuple[str, ...]:
    """What a setting puts before the program.

    Raises:
        PlanError: nobody knows the nodes before the run, and the value means nothing without them.
    """
    try:
        return known.command(value, machine.offer.first)
    except RunnerError as error:
        raise PlanError(str(error)) from error


def _nodes_of(params: Mapping[str, Scalar], machine: Inventory) -> tuple[str, ...]:
    """The nodes of a point in the order in which its ranks fill them; empty where it leaves that to the machine.

    Raises:
        PlanError: nobody knows which nodes are meant.
    """
    if NODE_PARAMETERS.isdisjoint(params):
        return ()
    described = machine.machine(all_blas=False, N=None)
    for check in (a_node_is_left, order_is_known):
        sentence = check(params, described)
        if sentence:
            raise PlanError(sentence)
    return tuple(machine.node_names[number] for number in placement(params, described))


def settings_of(params: Mapping[str, Scalar], machine: Inventory) -> dict[str, Scalar]:
    """The settings of hosts that a point names.

    Raises:
        PlanError: there is no such setting, a value is not legal, or it cannot be had here.
    """
    settings = {name: value for name, value in params.items() if is_setting(name)}
    require_settings(settings, machine)
    for name, value in settings.items():
        why = machine.offer.why_not(name, value)
        if why:
            raise PlanError(why)
    return settings


def require_settings(names: Iterable[str], machine: Inventory) -> None:
    """Make sure that the settings among some parameters can be had on a machine.

    Raises:
        PlanError: there is no such setting, it is one of messages and all ranks run on one machine, nobody knows the
            nodes before the run, or it is not said which interface is meant.
    """
    try:
        asked = [setting(name) for name in names if is_setting(name)]
    except RunnerError as error:
        raise PlanError(str(error)) from error
    network = ", ".join(one.name for one in asked if one.between_nodes)
    hosts = ", ".join(one.name for one in asked if isinstance(one, HostSetting))
    if network and (machine.nodes is None or len(machine.node_names) == 1):
        where = "".join(machine.node_names) or "this machine"
        raise PlanError(
            f"{network}: all ranks run on {where} and speak through its memory, so settings of its "
            "network would change nothing"
        )
    batch = machine.nodes.cluster.batch if machine.nodes else None
    if batch and (network or hosts):
        whose = "their network cannot be set" if network else "they cannot be set"
        raise PlanError(f'{network or hosts}: {batch.words.title} chooses the nodes, so {whose}: backend = "ssh" can')
    if network and machine.nodes and not machine.nodes.cluster.interfaces and CHOICE not in network:
        raise PlanError(
            f'{network}: which interface? Say use_interfaces = ["eth0"] above [node] in the cluster '
            "file, or ⟦set⟧ net.interface=eth0"
        )


P = TypeVar("P", bound=TrialPlan)


def merge_plans(plans: Sequence[P]) -> P | None:
    """One plan for several of one run each, in HPL's order; None where no HPL.dat holds just them, or more differs."""
    first = plans[0]
    if len(plans) == 1:
        return first
    dat = HplDat.together([plan.runs[0] for plan in plans])
    alike = all(replace(plan, runs=first.runs, hpl_dat=first.hpl_dat) == first for plan in plans)
    if dat is None or not alike or not first.program.runs_lists or first.stop_at is not None:
        return None
    return replace(first, runs=tuple(dat.runs()), hpl_dat=render(dat))


def parse_layout(layout: str) -> tuple[int, int]:
    """Ranks and threads per rank of "RANKSxTHREADS".

    Raises:
        PlanError: when it is not of that form.
    """
    try:
        return ranks_and_threads(layout)
    except SpaceError as error:
        raise PlanError(str(error)) from error


def label(plan: TrialPlan, varied: str = "") -> str:
    """A configuration in one line, as tables and progress show it.

    Args:
        varied: what else tells it from others.
    """
    run = plan.runs[0]
    kernel = "" if plan.kernel == "auto" else f"/{plan.kernel}"
    more = f" (+{len(plan.runs) - 1} more)" if len(plan.runs) > 1 else ""
    mpi = f" {plan.launch.mpi}" if plan.launch.mpi else ""
    size = "" if plan.program.terms.lacks("N") else f" {run.P}x{run.Q} N={run.N} NB={run.NB}"
    return f"{plan.blas}{kernel}{mpi} {plan.ranks}x{plan.threads}{size} {varied}".rstrip() + more


NAMED = frozenset({"N", "NB", "grid", "layout", "blas", "kernel", "mpi", "memory_fraction"})
"""What a trial's label says anyway."""
CODED = tuple(field.name for field in fields(variant.Variant))
"""What HPL's own T/V code says."""
FEW = 2
"""So many of these are named; more of them are told by the code."""


def varying_label(params: Mapping[str, Scalar], varying: Collection[str]) -> str:
    """What a complete point has of the parameters that vary in its study and that its label does not say.

    HPL's own T/V code stands for those in it, where they are more than two.
    """
    shown = [name for name in varying if name not in NAMED and name in params]
    code = ""
    if _needs_code(shown):
        code = variant.encode(HplParams.from_words(params))
        shown = [name for name in shown if name not in CODED]
    words = [f"{name.removeprefix('net.')}={params[name]}" for name in shown]
    return " ".join([code, *words] if code else words)


def legend(space: SearchSpace) -> str | None:
    """The sentence that explains the code, or None where `varying_label` does not use it."""
    if not _needs_code(space.varying):
        return None
    run = HplParams.from_words(space.first)
    words = run.words()
    meant = " ".join(f"{name}={words[name]}" for name in CODED)
    return f"HPL's own codes stand in the lines of trials: {variant.encode(run)}, for example, means {meant}."


def _needs_code(names: Collection[str]) -> bool:
    return sum(name in CODED for name in names) > FEW
