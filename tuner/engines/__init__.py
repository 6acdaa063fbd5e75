"""Engines: what to try next. One algorithm a file, all behind the contract in base.py."""
