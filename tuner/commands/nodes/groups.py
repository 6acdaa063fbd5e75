"""`hpltune nodes check --groups`: makes the step that runs HPL on groups of the nodes of a real cluster."""

from pathlib import Path

from hpl.blas.catalogue import BlasLibrary
from hpl.blas.registry import family
from hpl.build.needed import libraries_of
from hpl.build.programs import Recipe, build
from hpl.build.source import obtain
from hpl.search_paths import SearchPaths
from runners.hosts.cluster import Cluster, load_real_cluster

from ...errors import UsageError
from ...events import BuildStep, Listener, WorkEnded, WorkStarted
from ...machine.survey import usable_mpis
from ...nodes.groups.group_hpl import GroupHpl
from ...nodes.groups.group_site import group_site
from ...nodes.groups.groups_step import AskedGroups, Groups
from ...user_dirs import UserDirs
from ...words import counted


def cluster_for_groups(file: Path | None, size: int) -> Cluster:
    """Read a cluster whose nodes can be grouped.

    Raises:
        UsageError: it has fewer nodes than a group, or others choose its nodes.
        runners.toml_file.ClusterFileError: the file cannot be used.
    """
    if file is None:
        raise UsageError(f"--groups {size}: this machine is one node: name a cluster with --cluster FILE")
    cluster = load_real_cluster(file)
    if cluster.slurm is not None:
        raise UsageError(
            f"--groups {size}: {file} is of Slurm, through which no groups run yet; write a cluster file with "
            'backend = "ssh" and the hosts of an allocation'
        )
    if size > cluster.size:
        raise UsageError(f"--groups {size}: {cluster.name} has only {counted(cluster.size, 'node')}")
    return cluster


def groups_step(cluster: Cluster, asked: AskedGroups, library: BlasLibrary, listener: Listener) -> Groups:
    """Ask the nodes whether HPL can run on groups of them, and build it.

    Args:
        library: the build of the BLAS for one thread.

    Raises:
        TunerError: too few nodes can; the sentence says why.
        HplError: this machine has no MPI, or HPL cannot be built.
    """
    user_dirs = UserDirs.of_user()
    search = SearchPaths(user_dirs.prefix, user_dirs.cache)
    mpi = usable_mpis(search)[0]
    listener(WorkStarted(f"Asking {counted(cluster.size, 'node')} whether HPL can run on groups of them"))
    try:
        site = group_site(cluster, asked.size, mpi, () if cluster.copies else (library.path,), user_dirs.shared)
    finally:
        listener(WorkEnded())
    recipe = Recipe(obtain(search), mpi, library)
    xhpl = build(recipe, search, on_step=lambda *step: listener(BuildStep(*step)))
    libraries = libraries_of(xhpl.path, library, mpi.variables()) if cluster.copies else ()
    hpl = GroupHpl(site, xhpl.path, family(library.family).environment("auto", 1, library), libraries)
    return Groups(hpl, asked, user_dirs)
