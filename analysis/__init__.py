"""Run files in; tables, figures, pages and verdicts out."""
