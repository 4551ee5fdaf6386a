"""`python3 -m reader STORE --passphrase-fd N [state|history ITEM|conflicts|verify]`"""

import sys

from .command import main

sys.exit(main())
