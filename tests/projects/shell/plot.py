"""The means as bars."""
import argparse

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas

from style import COLOUR

parser = argparse.ArgumentParser()
parser.add_argument("table")
parser.add_argument("figure")
parser.add_argument("--dpi", type=int, default=50)
arguments = parser.parse_args()

means = pandas.read_csv(arguments.table)
plt.bar(means["station"], means["value"], color=COLOUR)
plt.savefig(arguments.figure, dpi=arguments.dpi)
