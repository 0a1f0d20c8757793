"""``python -m callmatch``."""

from callmatch.cli import main

main(prog_name="callmatch")
