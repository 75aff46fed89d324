"""Diff: what changed between two clusterings, and whether it is better, without a truth.

Two clusterings of the same items come in, the baseline in the role of the paper's ideal clustering and the experiment
in that of the actual one. How much changed is computed exactly; whether the change is good is estimated, with
intervals, from people's answers to a few hundred questions "do these two belong together?". The papers on
application-based cluster diff evals give the ideas and the names; formulas are derived from the pointwise definitions.
"""
