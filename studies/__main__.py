"""`python -m studies NAME...`, or all: several studies, with the options of `ccassg reproduce`; --list names them."""

import sys

from ccassg.cli import main
from studies.catalogue import STUDIES
from studies.command import DOCUMENT

if __name__ == "__main__":
    main(["reproduce", *sys.argv[1:]], given=(STUDIES, DOCUMENT))
