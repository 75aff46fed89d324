"""Core: the paper's section 3, from two clusterings to the metrics of items, clusters and everything together.

Tables that were read and checked come in. Cells with their confusion matrices go out, measured by any metric and lifted
as weighted averages. A step is a function from frame to frame that knows no engine.
"""
