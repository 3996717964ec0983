"""Run the pipeline from a checkout: python run.py --help."""

from pipeline.cli import main

if __name__ == "__main__":  # worker processes import this file too
    raise SystemExit(main())
