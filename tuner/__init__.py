"""The layer that knows all others: command line, plan, evaluation, the ask/tell loop, budget and engines."""
