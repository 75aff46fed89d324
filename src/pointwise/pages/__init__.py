"""Pages: what the report and the explorer share, so that both look alike.

Excerpts of results come in, bounded whatever the size of the data; grids, facts and sentences written for people go
out, with the templates and styles that draw them. Needs Jinja, but no charts.
"""
