# needs: unshare util-linux
# order: any
# gaps: the disk of the trace is full
# unseen: * because the trace lies on a small disk of its own, which is gone when the program has ended
# In a name space of mounts of its own, the trace's folder is a disk of 48 KiB; it fills up in the middle of the work.
unshare -m bash -c '
if [ -n "$PROVIO_TRACE" ]; then
    mount -t tmpfs -o size=48k none "${PROVIO_TRACE##*;}" || exit
fi
for n in $(seq 40); do
    seq $((n * 100)) >numbers$n
    sort -rn numbers$n | head -n 3 >sorted$n
done
ls | wc -l
cat sorted* | cksum
dd if=/dev/zero of=zeros bs=1k count=64 2>/dev/null
tar cf all.tar --mtime=@0 --owner=0 --group=0 numbers* sorted* zeros
cksum all.tar
if [ -n "$PROVIO_TRACE" ]; then
    dd if=/dev/zero of="${PROVIO_TRACE##*;}/rest" bs=4k >/dev/null 2>&1
fi
python3 -c "
import os, threading
def work(i):
    for j in range(200):
        with open(f\"t{i}\", \"a\") as file: file.write(f\"{j}\n\")
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
"
cksum t0 t1 t2 t3
exit 5'
echo "ended with $?"
