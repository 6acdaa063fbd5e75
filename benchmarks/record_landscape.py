"""Measures every legal point of a space with real HPL, at its N and at a small one, and writes a landscape file.

    python benchmarks/record_landscape.py machine SPACE.toml OUT.json --size 4032 --small 1408
    python benchmarks/record_landscape.py hosts SPACE.toml OUT.json --size 1600 --small 640     # needs root
    python benchmarks/record_landscape.py hosts SPACE.toml OUT.json --size 2000 --small 704 --again 0.2
    python benchmarks/record_landscape.py simulated SPACE.toml OUT.json --cluster kronos --small 4096

Rounds go through all points in an order of their own, so that a drift of the machine hits all alike. A round that is
done is written, so that a long recording may be stopped. With --again the rounds add to what OUT.json holds, for those
configurations whose rate is not further below the best than this part: there it matters what is noise. A run that
fails, times out or cannot be started is recorded as such, with what it cost.
"""

import argparse
import random
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from hosts_lab import HOSTS, Lab, lab_workshop
from script import as_script

from hpl.errors import HplError
from hpl.params import Scalar
from hpl.sizing import seconds
from hpl.witness import parse_panels
from runners.errors import RunnerError
from runners.virtual.load import load_cluster
from search_spaces.load import load
from search_spaces.machine import Machine
from search_spaces.space import SearchSpace
from tuner.engines.probes import Messages, Probes
from tuner.machine.calibrator import half_nb_of, messages_of
from tuner.options import TuneOptions
from tuner.replay.landscape import RecordedLandscape, RecordedPoint, Run, kept
from tuner.simulation.cluster import SimulatedCluster
from tuner.simulation.known import machine_of, probes_of
from tuner.simulation.session import cores_here
from tuner.simulation.simulator import Simulator
from tuner.stopping import StopRequest
from tuner.study.seeding import probes
from tuner.study.sizing.pilot import timed
from tuner.trial.launch import LaunchResult
from tuner.trial.launching import Launching, MemoryBook
from tuner.trial.plan import PlanError, plan
from tuner.trial.workbench import Workbench
from tuner.user_dirs import UserDirs

Point = Mapping[str, Scalar]
LIMIT_S = 600.0


@dataclass
class Recording:
    """What is known so far, by the key of a point."""

    name: str
    description: str
    text: str
    machine: Machine
    space: SearchSpace
    small_n: int
    probes: Probes = field(default_factory=Probes)
    full: dict[str, list[Run]] = field(default_factory=dict)
    small: dict[str, list[Run]] = field(default_factory=dict)
    chosen: frozenset[str] | None = None
    predicted_gflops: dict[str, float | None] = field(default_factory=dict)
    calibrated_s: float = 0.0
    simulated: bool = False

    def add_to(self, landscape: RecordedLandscape, below: float) -> None:
        """Go on with a recording, where the rate is at most this part below the best."""
        places = {self.space.key(place.params): place for place in landscape.places}
        self.full = {key: list(place.full) for key, place in places.items()}
        self.small = {key: list(place.small) for key, place in places.items()}
        self.predicted_gflops = {key: place.predicted_gflops for key, place in places.items()}
        self.calibrated_s = landscape.calibrated_s
        self.description = self.description or landscape.description
        known = self.probes
        self.probes = replace(
            known, messages=landscape.messages or known.messages, half_nb=landscape.half_nb or known.half_nb
        )
        best = max(place.gflops or 0.0 for place in places.values())
        self.chosen = frozenset(key for key, place in places.items() if (place.gflops or 0.0) >= best * (1 - below))

    def points(self) -> dict[str, Point]:
        """The points HPL can tell apart, by key."""
        return {self.space.key(point): point for point in reversed(list(self.space))}

    def save(self, path: Path) -> None:
        """Write what there is."""
        places = tuple(
            RecordedPoint(
                dict(point),
                tuple(self.full.get(key, ())),
                tuple(self.small.get(key, ())),
                self.predicted_gflops.get(key),
            )
            for key, point in self.points().items()
        )
        RecordedLandscape(
            name=self.name,
            description=self.description,
            space=self.text,
            machine=self.machine,
            N=int(self.space.first["N"]),
            small_n=self.small_n,
            probes=self.probes.dgemm_gflops,
            places=places,
            calibrated_s=self.calibrated_s,
            nodes=self.probes.nodes,
            simulated=self.simulated,
            messages=self.probes.messages,
            half_nb=self.probes.half_nb,
        ).save(path)


def with_timed(known: Probes, workshop: Workbench, space: SearchSpace) -> Probes:
    """What is known, with what a launch on all ranks tells before a study."""
    with tempfile.TemporaryDirectory(prefix="hpltune-landscape-") as folder:
        figures = timed(
            Launching(
                sites=[workshop.evaluator],
                book=MemoryBook(Path(folder)),
                listener=lambda _: None,
                stop=StopRequest(),
            ),
            workshop.evaluator,
            plan(space.first, workshop.site),
            Path(folder),
            LIMIT_S,
        )
    if figures is None:
        return known
    found = messages_of(figures)
    messages = Messages.under(space.first, 1e-6 * found.latency_us, found.bytes_s)
    return replace(known, messages=messages, half_nb=half_nb_of(figures))


def run_of(measured: LaunchResult, N: int) -> Run:
    """One launch in the words of the file."""
    fault = measured.verdict.faults[0]
    cost_s = round(measured.cost_s, 4)
    if fault or not measured.verdict.results:
        return Run(None, cost_s, cost_s, (), (fault and fault.reason) or "no result")
    gflops = measured.verdict.results[0].gflops
    panels = kept(N, [(panel.column, panel.time_s) for panel in parse_panels(measured.errors_text)])
    time_s = seconds(N, gflops)
    return Run(gflops, round(time_s, 4), cost_s, panels)


def launched(workshop: Workbench, wish: Point, folder: Path, stop: StopRequest) -> Run:
    """One real launch of a complete point, in the words of the file."""
    try:
        measured = workshop.evaluator.run(plan(wish, workshop.site), folder, LIMIT_S, stop)
    except (PlanError, HplError, RunnerError) as error:
        return Run(None, 0.0, 0.0, (), str(error))
    return run_of(measured, int(wish["N"]))


def record_real(recording: Recording, workshop: Workbench, rounds: int, out: Path) -> None:
    """Real runs, one at a time; the first round's launches also warm the disk's and the library's caches."""
    points = recording.points()
    chance = random.Random(1)
    stop = StopRequest()
    with tempfile.TemporaryDirectory(prefix="hpltune-landscape-") as folder:
        for turn in range(rounds):
            keys = [key for key in points if recording.chosen is None or key in recording.chosen]
            chance.shuffle(keys)
            for number, key in enumerate(keys):
                for runs, small in ((recording.full, False), (recording.small, True)):
                    complete = recording.space.complete(points[key])
                    wish = {**complete, "N": recording.small_n} if small else complete
                    place = Path(folder) / f"{turn}-{number}-{small}"
                    runs.setdefault(key, []).append(launched(workshop, wish, place, stop))
                if number % 20 == 0:
                    print(f"round {turn + 1} of {rounds}: {number} of {len(keys)} points", file=sys.stderr, flush=True)
            recording.save(out)


def record_simulated(recording: Recording, site: SimulatedCluster, out: Path) -> None:
    """Simulated runs, several at a time; one of each suffices, because they are all alike."""
    simulator, stop = Simulator(site, cores_here()), StopRequest()

    def simulated(place: Path, params: Point) -> Run:
        try:
            return run_of(simulator.run(simulator.plan(params), place, LIMIT_S, stop), int(params["N"]))
        except (PlanError, RunnerError) as error:
            return Run(None, 0.0, 0.0, (), str(error))

    wishes = [
        (key, small, {**complete, **({"N": recording.small_n} if small else {})})
        for key, point in recording.points().items()
        for complete in [recording.space.complete(point)]
        for small in (False, True)
    ]
    with (
        tempfile.TemporaryDirectory(prefix="hpltune-landscape-") as folder,
        ThreadPoolExecutor(cores_here()) as pool,
    ):
        places = [Path(folder) / str(number) for number in range(len(wishes))]
        found = pool.map(simulated, places, [params for _, _, params in wishes])
        for number, ((key, small, _), run) in enumerate(zip(wishes, found, strict=True)):
            (recording.small if small else recording.full).setdefault(key, []).append(run)
            if number % 200 == 0:
                print(f"{number} of {len(wishes)} runs", file=sys.stderr, flush=True)
    simulator.close()
    recording.save(out)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("where", choices=("machine", "hosts", "simulated"))
    parser.add_argument("space", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--size", type=int, default=None, help="N of the full runs where the space does not give it")
    parser.add_argument("--small", type=int, required=True, help="N of the small runs")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cluster", default="kronos", help="virtual cluster to simulate: a name or a file")
    parser.add_argument("--rate", default="100mbit", help="line rate of the hosts' network, as tc writes it")
    parser.add_argument("--again", type=float, default=None, metavar="PART", help="what is so near the best, again")
    parser.add_argument("--description", default="")
    asked = parser.parse_args(arguments)
    text = asked.space.read_text(encoding="utf-8")
    places = UserDirs.of_user()

    def recording(machine: Machine) -> Recording:
        space = load(asked.space.stem, machine, text=text)
        return Recording(asked.out.stem, asked.description, text, machine, space, asked.small)

    if asked.where == "simulated":
        site = SimulatedCluster.open(load_cluster(asked.cluster), places, None, None)
        whole = asked.size or site.largest_n(0.8)
        virtual = recording(machine_of(site.cluster, whole))
        virtual.simulated, virtual.probes = True, probes_of(site.cluster, virtual.space)
        record_simulated(virtual, site, asked.out)
        return 0
    with Lab(asked.rate) if asked.where == "hosts" else nullcontext() as lab:
        workshop = Workbench.open(TuneOptions(), places, lambda _: None)
        if lab is not None:
            workshop = lab_workshop(workshop, lab)
        real = recording(workshop.site.machine(all_blas=True, N=asked.size))
        known = with_timed(probes(workshop.site), workshop, real.space)
        real.probes = replace(known, nodes=HOSTS if lab else 1)
        if asked.again is not None:
            real.add_to(RecordedLandscape.read(asked.out), asked.again)
        record_real(real, workshop, asked.rounds, asked.out)
    return 0


if __name__ == "__main__":
    as_script(main)
