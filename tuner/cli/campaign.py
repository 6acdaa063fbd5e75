"""`hpltune campaign`: what can be done with campaigns of a service."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from .common import complete_study, console
from .plain_help import PlainCommand, PlainGroup
from .server import needed_server, opened

if TYPE_CHECKING:
    from ..client.campaign import ServedCampaign
    from ..messages.queue import HandedInModel

campaign = typer.Typer(
    cls=PlainGroup,
    rich_markup_mode="rich",
    help="Watch, pause, resume or cancel a campaign of a service, with --server URL before this word.",
)
Named = Annotated[str, typer.Argument(metavar="CAMPAIGN", autocompletion=complete_study, help="The campaign.")]


@campaign.command(cls=PlainCommand)
def watch(context: typer.Context, name: Named) -> None:
    """Show a campaign live until it ends, and then what it found; Ctrl-C ends only the showing.

    Examples:

        hpltune --server http://127.0.0.1:8475 campaign watch default-1
    """
    from .served_ask import watch_there

    asked = needed_server(context)
    with opened(asked) as client:
        watch_there(asked, client, client.campaign(name), everything=False)


@campaign.command(cls=PlainCommand)
def pause(context: typer.Context, name: Named) -> None:
    """Pause a campaign; its running trial ends first, and nothing is lost.

    Examples:

        hpltune --server http://127.0.0.1:8475 campaign pause default-1
    """
    _change(context, name, lambda campaign: campaign.pause())


@campaign.command(cls=PlainCommand)
def resume(context: typer.Context, name: Named) -> None:
    """Let a campaign go on that was paused or cancelled, or that failed.

    Examples:

        hpltune --server http://127.0.0.1:8475 campaign resume default-1
    """
    _change(context, name, lambda campaign: campaign.resume())


@campaign.command(cls=PlainCommand)
def cancel(context: typer.Context, name: Named) -> None:
    """Cancel a campaign, and end its running trial now; what it has measured stays.

    Examples:

        hpltune --server http://127.0.0.1:8475 campaign cancel default-1
    """
    _change(context, name, lambda campaign: campaign.cancel())


@campaign.command("declare-dead", cls=PlainCommand)
def declare_dead(context: typer.Context, name: Named) -> None:
    """Say that the process of a campaign is dead, where its machine is gone; the campaign is queued again.

    Only admins may. A process that does run after all sees that the campaign is no longer its own, and ends.

    Examples:

        hpltune --server http://127.0.0.1:8475 campaign declare-dead default-1
    """
    _change(context, name, lambda campaign: campaign.declare_dead())


def _change(context: typer.Context, name: str, change: "Callable[[ServedCampaign], HandedInModel]") -> None:
    """Change a campaign of the service, and print how it stands then."""
    from .served import standing

    with opened(needed_server(context)) as client:
        console().print(standing(change(client.campaign(name))))
