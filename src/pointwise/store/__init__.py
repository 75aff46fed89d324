"""Store: evaluations as folders that appear complete or not at all.

An evaluation comes in. A folder of Parquet files with a manifest goes out, and what was stored comes back. Any tool can
read the files; the manifest says what belongs to a run and how it was made.
"""
