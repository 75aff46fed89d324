"""The report: one HTML file about an evaluation or a comparison."""
