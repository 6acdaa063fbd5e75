"""A program of its own that explains a study: JSON in, JSON out. So it takes no time from the service."""

import json
import os
import sys
from dataclasses import asdict

from results.store.store import Store

from ....commands.stored.explain import ExplainRequest, explain_study
from ....errors import TunerError


def main() -> None:
    """Explain the study that the input names, when nobody else wants the processor."""
    os.nice(19)
    asked = json.load(sys.stdin)
    with Store.open(asked["db"], create=False) as store:
        try:
            found: dict[str, object] = asdict(explain_study(store, ExplainRequest(asked["study"])).found)
        except TunerError as error:
            found = {"reason": str(error)}
    json.dump(found, sys.stdout, default=str)


if __name__ == "__main__":
    main()
