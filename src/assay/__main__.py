"""``python -m assay``: the commands."""

from assay.cli.app import main

main()
