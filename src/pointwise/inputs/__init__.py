"""Inputs: from whatever a user has to tables of items and clusters that can be trusted.

Paths, data frames, mappings and label arrays come in, with options that say how to read them. Tables with item ids of
one type go out, checked for what each must hold by itself. Here the paper's items, weights and clusterings begin.
"""
