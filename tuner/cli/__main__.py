"""`python -m tuner.cli` is `hpltune`."""

from . import main

main()
