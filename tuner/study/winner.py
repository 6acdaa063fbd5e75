"""Writes what a study found: the winner's HPL.dat, one for the whole memory, and the command that ran it."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hpl.dat import HplDat, render
from results.record import TrialRecord
from results.stats.ranking import Ranked
from results.store.store import Store
from runners.paths import AGENT

from ..trial.observers.sensors import SENSORS, SENSORS_FILE
from ..user_files import write_text

if TYPE_CHECKING:
    from .campaign import TuneOutcome

_WATCHED = re.compile(rf" (-x |-genv )?{SENSORS}[= ]{SENSORS_FILE}(?= )")
"""What a command passes to ranks only so that hpltune can watch them, as each launcher passes it."""

SCRIPT = """\
#!/bin/sh
# Best of study {study}, trial {number}. grep leaves out what ranks print for hpltune alone.
cd "$(dirname "$0")" || exit
exec 3>&1
ended=$({{ {{
{line}
echo $? >&4; }} 2>&1 >&3 | grep -v '^hpltune-' >&2; }} 4>&1)
exit "$ended"
"""


@dataclass(frozen=True)
class WinnerFiles:
    """What was written where.

    Attributes:
        full_dat: HPL.dat for the whole memory, or None where the study measured there.
        confirm: the command that measures it, or None.
        sentences: all of it for the user.
    """

    hpl_dat: str
    command: str
    full_dat: str | None
    confirm: str | None
    sentences: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        """The paths and commands by name."""
        return {name: value for name, value in asdict(self).items() if name != "sentences"}


def write_winner(
    folder: Path, outcome: "TuneOutcome", store: Store, db: str, others: Sequence[Ranked] = ()
) -> WinnerFiles:
    """Write the files of a study's best configuration.

    Args:
        folder: made where it is missing; files of an earlier writing are replaced.
        db: the option that names the store, for commands; "" where it is the user's own.
        others: of a front, beside the fastest; each gets an HPL.dat named after its trial.

    Raises:
        TunerError: a file cannot be written.
    """
    folder = folder.absolute()
    for stale in (*folder.glob("HPL-[0-9]*.dat"), folder / "HPL-full.dat"):
        stale.unlink(missing_ok=True)
    best = store.get(outcome.study, outcome.ranking[0].best_record_number)
    name = store.study(outcome.study).workload.input_name
    dat, command = folder / name, folder / "command.sh"
    sentences = [f"{name} of the best: {dat}"] if best.hpl_dat else []
    if best.hpl_dat:
        write_text(dat, best.hpl_dat)
    if best.simulated:
        seeded = f"hpltune tune ⟦from_simulation⟧ {shlex.quote(outcome.study)}{db}"
        beside = []
        for other in others:
            beside.append(f"HPL-{other.best_record_number}.dat")
            write_text(folder / beside[-1], store.get(outcome.study, other.best_record_number).hpl_dat)
        told = [f"HPL.dat of the {'fastest' if others else 'best'}, for a real cluster: {dat}"]
        if others:
            told.append(f"Those of the others, in their order, beside it: {', '.join(beside)}")
        told.append(f"Start a real study from it with\n  {seeded}")
        return WinnerFiles(str(dat), "", None, None, tuple(told))
    write_text(command, command_text(best), executable=True)
    agent = Path(best.directory) / AGENT
    if best.directory and agent.is_file():
        write_text(folder / AGENT, agent.read_text(encoding="utf-8"), executable=True)
    sentences.append(f"Its exact command line: {command}")
    from runners.settings.registry import host_settings  # noqa: PLC0415 - only the files of a study need it

    known = host_settings()
    changed = [f"{name} = {value}" for name, value in best.params.items() if name in known]
    if changed:
        put_back = "which is put back now; `hpltune run ⟦like⟧` sets it"
        if len(changed) > 1:
            put_back = "which are put back now; `hpltune run ⟦like⟧` sets them"
        sentences.append(f"It ran under {', '.join(changed)}, {put_back} again.")
    files = WinnerFiles(str(dat), str(command), None, None, ())
    predicted = outcome.predicted
    if predicted is not None and (stands := store.get(outcome.study, predicted.trial)).hpl:
        full = str(folder / "HPL-full.dat")
        title = ("HPLinpack benchmark input file, written by hpltune", f"{predicted.against_textbook}.")
        write_text(Path(full), render(replace(HplDat.of(replace(stands.hpl, N=predicted.full.N)), title=title)))
        confirm = f"hpltune run {shlex.quote(full)} ⟦like⟧ {shlex.quote(stands.study)}#{stands.number}{db}"
        files = replace(files, full_dat=full, confirm=confirm)
        sentences.append(f"HPL.dat for the whole memory: {full}")
    return replace(files, sentences=tuple(sentences))


def command_text(record: TrialRecord) -> str:
    """The script that repeats a trial in its own folder, where the trial's HPL.dat is.

    Lines that ranks print for hpltune are left out; it ends with the code of what it starts.
    """
    line = _WATCHED.sub("", record.command)
    if record.directory:
        line = line.replace(shlex.quote(record.directory), '"$PWD"')
    return SCRIPT.format(study=record.study, number=record.number, line=line)
