"""Asks a service: what `--server` and `hpltune.client` stand on."""
