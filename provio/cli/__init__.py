"""The command line: arguments in, a verb of `verbs` carried out."""
