"""Batch systems, which give nodes to jobs that wait for them: a contract, and each system in a folder of its own."""
