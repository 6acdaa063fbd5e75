"""The name under which programs in Python use hpltune; installed as the package `hpltune`."""
