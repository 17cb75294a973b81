"""Settings and the place of the record: schema, files, `.provio`, its lock, its owners."""
