"""Trains a model of one number, with declarations for provio: `train.py RATE BATCH [EPOCHS]`."""

import os
import sys

import provio

rate, batch = float(sys.argv[1]), int(sys.argv[2])
epochs = int(sys.argv[3]) if len(sys.argv) > 3 else 2
arguments = {"lr": rate, "batch": batch, "optimizer": {"name": "adam", "betas": [0.9, 0.999]}, "resume": False}
provio.configuration(arguments, kind="Hyperparameter", name="args")
provio.configuration("train.toml", name="train.toml")
table = provio.entity("patients", kind="Table", identifier="db:patients", rows=7)
provio.used(table)
model = 0.0


@provio.task(name="load", kind="function")
def load() -> list[int]:
    with open("counts.json") as counts:
        return [int(word.strip("},")) for word in counts.read().split()[1::2]]


numbers = load()
os.makedirs("models", exist_ok=True)
for epoch in range(epochs):
    with provio.activity("epoch", number=epoch) as activity:
        with provio.activity("shuffle"), open("west.csv") as data:
            model += rate * len(data.read())
        with open(f"models/{batch}-{epoch}.txt", "w") as file:
            file.write(f"{model}\n")
        provio.metric("accuracy", 0.5 + rate + epoch / 10, step=epoch, kind="Accuracy")
        provio.metric("loss", 1.0 / (batch + epoch), step=epoch, kind="Loss")
        provio.checkpoint(f"models/{batch}-{epoch}.txt", step=epoch, metrics={"f1": 0.25 * (epoch + 1)})
        activity.say(seen=batch * (epoch + 1))
if batch > 64:
    provio.configuration({**arguments, "lr": rate / 10}, kind="Hyperparameter", name="args")
score = provio.entity("score", value=model)
provio.generated(score)
with provio.activity("report"):
    with open("report.txt", "w") as report:
        report.write(f"{model} {numbers}\n")
    try:
        with provio.activity("plot"):
            raise ValueError
    except ValueError:
        pass
