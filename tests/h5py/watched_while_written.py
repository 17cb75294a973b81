import h5py

writer = h5py.File("a.h5", "w", libver="latest")
d = writer.create_dataset("d", (0,), maxshape=(None,), chunks=(4,), dtype="i8")
writer.swmr_mode = True
reader = h5py.File("a.h5", "r", libver="latest", swmr=True)
for step in range(3):
    d.resize((step + 1,))
    d[step] = step
    d.flush()
    reader["d"].refresh()
    reader["d"][:]
writer.flush()
reader.close()
writer.close()
