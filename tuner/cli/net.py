"""`hpltune net`: the network between hosts."""

from pathlib import Path
from typing import Annotated

import typer

from .common import Db, Json, console, open_store
from .plain_help import PlainCommand, PlainGroup
from .terminal import show_report

net = typer.Typer(
    cls=PlainGroup,
    rich_markup_mode="rich",
    help="Show and restore settings of the network between hosts.",
)
Hosts = Annotated[
    str | None, typer.Option("--hosts", metavar="H1,H2", help="Hosts, reached by ssh; by default this machine.")
]
Interfaces = Annotated[
    str | None,
    typer.Option("--interface", metavar="NAME[,NAME]", help="Interfaces; by default those that are up."),
]
SshProgram = Annotated[
    str | None,
    typer.Option("--ssh", metavar="COMMAND", help='How hosts are reached: --ssh "ssh -F file". Default ssh.'),
]
ClusterFile = Annotated[
    Path | None, typer.Option("--cluster", metavar="FILE", help="The hosts of this cluster file, reached as it says.")
]


@net.command(cls=PlainCommand)
def show(
    hosts: Hosts = None,
    interface: Interfaces = None,
    ssh: SshProgram = None,
    cluster: ClusterFile = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Show what can be set on hosts, what it is now, and why something cannot be set there.

    The names are those of parameters in a search space.

    Examples:

        hpltune net show

        hpltune net show --hosts node1,node2 --interface eth0

        hpltune net show --hosts h1 --ssh "ssh -F lab/ssh_config" --json

        hpltune net show --cluster my-cluster.toml
    """
    from ..commands.hosts.net_settings import net_show
    from .common import user_dirs

    if db is None and not user_dirs().database.exists():
        shown = net_show(None, hosts, interface, ssh, cluster)
    else:
        with open_store(db, create=False) as store:
            shown = net_show(store, hosts, interface, ssh, cluster)
    show_report(console(), shown, as_json=as_json)


@net.command(cls=PlainCommand)
def restore(
    hosts: Annotated[
        str | None,
        typer.Option(
            "--hosts",
            metavar="H1,H2",
            help="Look at these hosts too, whichever database and user (as root) they were changed with.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Also what was changed from another machine, whose hpltune may still run.")
    ] = False,
    forget: Annotated[
        str | None, typer.Option("--forget", metavar="HOST", help="Drop what is recorded of a host that is gone.")
    ] = None,
    ssh: SshProgram = None,
    cluster: ClusterFile = None,
    db: Db = None,
) -> None:
    """Put back every host whose network a killed hpltune left changed.

    `tune` and `run` do the same when they start. A host that does not answer stays recorded.

    Examples:

        hpltune net restore

        hpltune net restore --cluster my-cluster.toml

        hpltune net restore --forget node7
    """
    from runners.settings.journal import tokens_of

    from ..commands.hosts.net_settings import net_restore, way_to_hosts

    reach, names = way_to_hosts(hosts, ssh, cluster)
    with open_store(db, create=True) as store:
        result = net_restore(store, names if hosts or cluster else (), tokens_of(reach), force=force, forget=forget)
    show_report(console(), result.report(), as_json=False)
    raise typer.Exit(1 if result.left else 0)


@net.command(cls=PlainCommand)
def sudoers(
    user: Annotated[
        str | None, typer.Option(metavar="NAME", help="Who runs hpltune; by default you. A group is %NAME.")
    ] = None,
    interface: Interfaces = None,
) -> None:
    """Print the sudo rules that a user who is not root needs on every node.

    Each rule allows one command with any legal value, and nothing else.

    Examples:

        hpltune net sudoers --interface eth0

        hpltune net sudoers --user alice | ssh root@node1 "cat > /etc/sudoers.d/hpltune"
    """
    import getpass

    from ..commands.hosts.net_settings import rules

    typer.echo(rules(getpass.getuser() if user is None else user, interface), nl=False)
