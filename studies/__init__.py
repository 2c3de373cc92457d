"""Research that settled a decision: `python -m studies.NAME` repeats it. Not part of the package."""
