"""``python -m assay``: the commands."""

from assay.cli.app import main

if __name__ == "__main__":
    main()
