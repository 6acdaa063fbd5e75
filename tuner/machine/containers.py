"""The image in which ranks run: opened, and looked into before the first run."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hpl.build.link import mpi_of_file
from hpl.build.programs import witness_library
from hpl.build.toolchain import Mpi
from hpl.programs.family import HplProgram
from hpl.programs.yours import ProgramFile
from hpl.search_paths import SearchPaths
from runners.containers.contract import Container
from runners.containers.looking import ImageFacts, look_into
from runners.containers.registry import ImageError, runtime_for

from ..errors import TunerError, UsageError
from ..events import Listener, Notice
from ..options import TuneOptions
from ..user_dirs import UserDirs
from .inventory import Inventory
from .mpi_start import require_start_in
from .survey import KIN

if TYPE_CHECKING:
    from runners.hosts.cluster import Cluster

SERIES = {"40.10": "3.1", "40.20": "4.0", "40.30": "4.1", "40.40": "5.0"}
"""Versions of Open MPI by the numbers in the name of its library, as libmpi.so.40.30.4."""


def container_of(options: TuneOptions, cluster: "Cluster | None", user_dirs: UserDirs) -> Container | None:
    """Open the image that was asked for; None where none was.

    Raises:
        UsageError: it is not there, or nothing here can start ranks in it.
        TunerError: the same of an image that stands in the file of a cluster.
    """
    if not options.image:
        return None
    batch = cluster.batch if cluster else None
    try:
        runtime, image = runtime_for(options.image, asked_here=batch is None)
        if runtime.launcher and (batch is None or batch.launcher != runtime.launcher):
            needs = f'a cluster behind a batch system with launcher = "{runtime.launcher}"'
            raise ImageError(f"{runtime.name}=IMAGE needs {needs}: name another runtime")
        folders = _folders(user_dirs)
        if why := runtime.prepare(image, folders):
            raise ImageError(why)
    except ImageError as error:
        raise _refused(options, str(error)) from error
    return Container(runtime, image, folders, runtime.digest(image))


def _refused(options: TuneOptions, sentence: str) -> TunerError:
    """The error that an image cannot be used, which names where it was asked for."""
    if options.container:
        return UsageError(sentence, field="container", given=options.container)
    return TunerError(f"container of the cluster file: {sentence}")


def _folders(user_dirs: UserDirs) -> tuple[Path, ...]:
    """The folders of the host that ranks see: those of runs, of programs, and of Open MPI's sessions."""
    named = [user_dirs.data, user_dirs.cache, *([user_dirs.prefix] if user_dirs.prefix else [])]
    named += [Path(folder)] if (folder := os.environ.get("TMPDIR")) else []
    paths = dict.fromkeys(path.absolute() for path in named)
    return tuple(path for path in paths if not any(path != other and path.is_relative_to(other) for other in paths))


@dataclass(frozen=True)
class _ImageQuestion:
    """What is asked of an image for a program."""

    machine: Inventory
    container: Container
    program: HplProgram
    search: SearchPaths

    def facts(self) -> ImageFacts:
        """Look into the image.

        Raises:
            ImageError: nothing starts in it.
        """
        if isinstance(self.program, ProgramFile):
            witness = witness_library(self.machine.mpi, self.search)
            return look_into(self.container, str(self.program.file), preloaded=witness)
        files = [library.path for entry in self.machine.blas for library in entry.libraries]
        return look_into(self.container, files=files)

    def faults(self, facts: ImageFacts) -> str:
        """The sentence why the program cannot run in the image; "" where nothing is known against it."""
        image = self.container.image
        if facts.cpu != os.uname().machine:
            return f"the image {image} is for {facts.cpu}, and this machine is {os.uname().machine}"
        if isinstance(self.program, ProgramFile) and not facts.program_there:
            return f"the image {image} has no program {self.program.file}"
        if not isinstance(self.program, ProgramFile) and not facts.same:
            first = self.machine.ranked_blas()[0].libraries[0].path
            return (
                f"the image {image} has no BLAS library of this machine at the same path: copy one into it, as {first},"
                " or name a program of the image with ⟦xhpl⟧"
            )
        return ""


def in_container(
    machine: Inventory, container: Container, options: TuneOptions, search: SearchPaths, listener: Listener
) -> Inventory:
    """The same machine with ranks in an image, and of its libraries those that fit the image.

    Raises:
        TunerError: the program cannot run in the image; the sentence says why.
    """
    container = replace(container, gpus=machine.program.gpus_of)
    if not container.runtime.installed:
        listener(Notice(f"The image {container.image} was not looked into: only its nodes can start something in it."))
        return replace(machine, container=container)
    for program in (machine.programs or {"": machine.program}).values():
        question = _ImageQuestion(machine, container, program, search)
        try:
            facts = question.facts()
        except ImageError as error:
            raise _refused(options, str(error)) from error
        if why := question.faults(facts):
            raise _refused(options, why)
        if isinstance(program, ProgramFile):
            machine = replace(machine, mpis=_fitting(machine.mpis, facts, container, program))
            container = replace(container, preloads=container.preloads and facts.loads)
            if not facts.loads:
                told = (
                    f"Ranks in the image {container.image} cannot tell what they run: it loads no library of this host"
                )
                listener(Notice(f"{told}.", caution=True))
        else:
            machine = _with_same(machine, facts, container, listener)
            if machine.mpis:
                require_start_in(machine.mpis[0], search, container)
    return replace(machine, container=container)


def _with_same(machine: Inventory, facts: ImageFacts, container: Container, listener: Listener) -> Inventory:
    """The same machine with those BLAS libraries that the image has, too."""
    kept = tuple(
        replace(entry, libraries=libraries)
        for entry in machine.blas
        if (libraries := tuple(library for library in entry.libraries if library.path in facts.same))
    )
    gone = [entry.name for entry in machine.blas if entry.name not in {one.name for one in kept}]
    if gone:
        listener(Notice(f"The image {container.image} does not have {', '.join(gone)} as this machine does: left out."))
    return replace(machine, blas=kept)


def _fitting(mpis: Sequence[Mpi], facts: ImageFacts, container: Container, program: ProgramFile) -> tuple[Mpi, ...]:
    """Those MPI libraries whose launchers start the program in the image; all where nobody knows its library.

    Raises:
        TunerError: none does.
    """
    linked, _, real = facts.mpi.partition(" ")
    name = mpi_of_file(Path(linked).name) if linked else None
    if name is None:
        return tuple(mpis)
    inside = _series(name, Path(real).name, facts)
    told = f"{program.file} in the image {container.image} is linked with {name}{f' {inside}' if inside else ''}"
    fitting = tuple(mpi for mpi in mpis if mpi.name in {name, KIN.get(name)})
    here = ", ".join(f"{mpi.name} {mpi.version}" for mpi in mpis)
    if not fitting:
        raise TunerError(f"{told}, and outside there is {here}: load or install {name}, which starts the ranks")
    if name != "openmpi" or not inside:
        return fitting
    same = tuple(mpi for mpi in fitting if mpi.version.partition(".")[0] == inside.partition(".")[0])
    if not same:
        major = inside.partition(".")[0]
        raise TunerError(f"{told}, and outside there is {here}, which cannot start it: load an Open MPI {major}")
    return same


def _series(name: str, file: str, facts: ImageFacts) -> str:
    """The version of the MPI library in an image; "" where nobody knows it."""
    if name != "openmpi":
        return ""
    numbers = re.search(r"\.so\.(\d+\.\d+)", file)
    told = re.search(r"v(\d+\.\d+\.\d+)", facts.mpi_tells.get("ompi_info", ""))
    return told[1] if told else SERIES.get(numbers[1], "") if numbers else ""
