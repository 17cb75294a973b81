"""The comparison of runs: a store and runs in, differences and verdicts out.

side         a run: its activities, with names that do not depend on the run
align        the activities of two runs that correspond
comparison   two runs with these pairs, and whether their files have the same content
expected     the differences that the user expects
differences  the differences of two runs, by kind
divergence   where two runs differ first
results      results that differ, by their values
answer       the answer of `provio diff`; `script_text` has the text differences in it

readers      two files of a format to the measures of their parts; `values` measures, `tolerances` are their limits
present      the content of a recorded version, if it is still there

repro        the answer of `provio repro` about several runs: `verdicts`, `schedule`, `activity_io`
numbers      the numbers in a file, for `statistics`
"""
