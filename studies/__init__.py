"""Research that settled a decision: `python -m studies.NAME` repeats it, from the root of the repository. Not in the package."""
