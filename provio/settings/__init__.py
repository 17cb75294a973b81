"""Settings, and the folder of the record: schema, files, `.provio`, its lock, its owners."""
