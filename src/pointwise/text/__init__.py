"""Text: values and rows, written for people.

Values, rows and sentences come in; text for a terminal or HTML for a notebook goes out. Nothing here knows what a
clustering is: the words of the paper come from those who call.
"""
