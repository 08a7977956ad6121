"""`python -m polygraph`, the same as the command `polygraph`."""

from polygraph.cli import main

if __name__ == "__main__":
    main()
