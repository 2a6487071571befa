"""The `pdb` command. Each command has a file; heavy imports are inside functions, so that help and usage errors are
quick.
"""
