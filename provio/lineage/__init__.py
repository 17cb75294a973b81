"""Rules: the facts of one run in; conclusions out, such as which process used and which generated which version."""
