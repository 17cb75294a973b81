"""`python -m provio`: the command `provio`, also where another program has that name."""

from provio.cli.main import main

if __name__ == "__main__":
    main()
