"""Trains a classifier of flowers and stores it with its accuracy."""
import argparse
import json

import joblib
import pandas
import provio
from sklearn.ensemble import RandomForestClassifier

parser = argparse.ArgumentParser()
parser.add_argument("--trees", type=int, default=5)
parser.add_argument("--depth", type=int, default=2)
parser.add_argument("--out", default="model.joblib")
arguments = parser.parse_args()

table = pandas.read_csv("flowers.csv")
model = RandomForestClassifier(arguments.trees, max_depth=arguments.depth, random_state=0)
model.fit(table[["length", "width"]], table["kind"])
accuracy = model.score(table[["length", "width"]], table["kind"])
provio.metric("accuracy", accuracy)
joblib.dump(model, arguments.out)
with open("accuracy.json", "w") as out:
    json.dump({"accuracy": accuracy}, out)
