"""Use cases about this machine and hosts: doctor, setup, build, clean, net."""
