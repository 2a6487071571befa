"""`python -m tilepdb`: the command `pdb`."""

from tilepdb.commands.main import run

if __name__ == "__main__":
    run()
