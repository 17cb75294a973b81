"""Pending runs in, a published store out; the store is rebuilt, packed, removed from and backed up here."""
