"""The command line as a module, `python -m pointwise`, and as a file that `spark-submit` takes."""

from pointwise.cli import main

if __name__ == "__main__":
    main()
