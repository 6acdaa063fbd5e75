"""A client of the service: `from hpltune.client import Client`.

Installations copy this file, so it holds no names of its own that could grow old.
"""

from tuner.client.facade import *  # noqa: F403
