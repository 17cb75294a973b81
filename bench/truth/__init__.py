"""Patterns of data flow with planted truth: is the recorded lineage the true one?

rows       the tables (programs.toml, patterns.toml, rows/*.toml) as rows: folders with files, steps and true answers
session    plants the files of rows, records their steps, returns provio's answers
verdict    compares an answer with the truth, and both with deviations.toml
page       docs/truth.md
"""
