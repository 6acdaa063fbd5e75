"""One trial: plan, build, run, judge, record."""
