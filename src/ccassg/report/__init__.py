"""Records to tables, figures and the HTML page; needs NumPy and scikit-learn only, never torch."""

from ccassg.report.page import write_report

__all__ = ["write_report"]
