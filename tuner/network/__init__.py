"""The settings of hosts around a study: shown, probed, changed and restored."""
