"""Related: the metrics of other families, which the paper's section 4 relates to its own.

Cells come in, as a frame on any engine. Pair metrics, B-cubed, F-measure, V-measure, purity and others go out.
"""
