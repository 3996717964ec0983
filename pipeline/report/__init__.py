"""Where the lost points are: what each stage costs, why each entity was missed, and every article in detail."""

from pipeline.report.build import Report, build_report

__all__ = ["Report", "build_report"]
