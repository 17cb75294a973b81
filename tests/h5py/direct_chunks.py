import h5py

with h5py.File("a.h5", "w") as f:
    d = f.create_dataset("d", shape=(10, 10), chunks=(5, 5), dtype="f4", compression="gzip")
    d[...] = 1
    mask, data = d.id.read_direct_chunk((0, 5))
    d.id.write_direct_chunk((5, 5), data, mask)
