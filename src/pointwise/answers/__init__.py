"""Answers: what a user asks of an evaluation: tables of items, clusters and slices, explanations, mistakes.

Evidence comes in: the common items and their cells. Tables and sentences go out. The paper's section 3 says how values
lift to sets of items; which sets are worth looking at is decided here.
"""
