"""Gives events to other systems.

redis_stream   the events of runs in, entries of a Redis Stream out
"""
