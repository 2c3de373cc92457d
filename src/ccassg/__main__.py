"""`python -m ccassg`, for torchrun."""

from ccassg.cli import main

if __name__ == "__main__":
    main()
