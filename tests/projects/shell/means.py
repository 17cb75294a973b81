"""The mean of each station."""
import sys

import pandas

table = pandas.read_csv(sys.argv[1])
table.groupby("station")["value"].mean().to_csv(sys.argv[2])
