"""Studies on a table of runs: nothing is measured, the table tells what each configuration reached."""
