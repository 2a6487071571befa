"""`python -m tilepdb`: the command `pdb`."""

from pdb_core.start import run

if __name__ == "__main__":
    run()
