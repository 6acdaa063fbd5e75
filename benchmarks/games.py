"""Games of engines against recorded landscapes: played where a file does not keep them, and what scripts share."""

import json
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import asdict
from pathlib import Path

import optuna_tpe
from pydantic import TypeAdapter, ValidationError
from replay import Played

from tuner.engines.registry import check_engine
from tuner.errors import TunerError

WITHIN = (0.01, 0.02, 0.05)


GAME = TypeAdapter(Played)
BEGINS = '{"engine": '
"""What each game begins with in a file."""


class GamesError(TunerError):
    """A file that holds something else than games, to which none may be added."""


class Kept:
    """Games that a file keeps, one a line, so that an interrupted hour is not lost."""

    def __init__(self, file: Path | None) -> None:
        """Read them.

        Raises:
            GamesError: the file is one of something else.
        """
        self._file = file
        self._games: dict[tuple[str, str, int], Played] = {}
        if file and file.exists():
            text = file.read_text(encoding="utf-8", errors="replace")
            for number, line in enumerate(text.splitlines(), start=1):
                try:
                    game = GAME.validate_json(line)
                except ValidationError as error:
                    # The beginning of a game, or nothing: its writing was stopped.
                    if BEGINS.startswith(line[: len(BEGINS)]) and error.errors()[0]["type"] == "json_invalid":
                        continue
                    raise GamesError(f"--kept {file}, line {number}: this is no game; name another file") from error
                self._games[game.landscape, game.engine, game.seed] = game

    def _keep(self, game: Played) -> None:
        if self._file:
            with self._file.open("a", encoding="utf-8") as lines:
                lines.write("\n" + json.dumps(asdict(game)))

    def with_missing(
        self,
        landscape: str,
        wanted: Sequence[tuple[str, int]],
        play: Callable[[str, int], Played],
        pool: Executor | None,
    ) -> list[Played]:
        """Games of engines with seeds, in this order: those that are kept, and the others played and kept now.

        Args:
            pool: plays them; None plays none.
        """
        found = {wish: self._games.get((landscape, *wish)) for wish in wanted}
        waiting = [pool.submit(play, *wish) for wish, game in found.items() if not game] if pool else []
        for one in as_completed(waiting):
            game = one.result()
            self._keep(game)
            found[game.engine, game.seed] = game
        return [game for game in found.values() if game]


def quantile(values: Iterable[float], part: float) -> float:
    """The smallest value that at least this part of all does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -(-int(len(ordered) * part * 1000) // 1000) - 1))]


def checked(engines: str) -> list[str]:
    """The engines of a list with commas, made ready to be played, each with one thread.

    Raises:
        TunerError: there is no such engine.
    """
    names = engines.split(",")
    for name in {*names} - {optuna_tpe.NAME}:
        check_engine(name)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    return names
