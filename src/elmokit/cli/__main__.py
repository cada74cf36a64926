"""`python -m elmokit.cli`, which is how torchrun starts a command."""

from elmokit.cli.main import main

if __name__ == "__main__":
    main()
