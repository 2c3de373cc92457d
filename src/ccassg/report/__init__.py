"""Records to tables, figures and the HTML page; needs NumPy and scikit-learn only, never torch."""

from ccassg.report.page import ReportData, write_report

__all__ = ["ReportData", "write_report"]
