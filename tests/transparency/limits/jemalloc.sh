# library: libjemalloc.so.2 libjemalloc-dev
# also: run
# writes: out copy
# With another allocator preloaded too, before the shim and behind it.
for preload in "libjemalloc.so.2:$LD_PRELOAD" "$LD_PRELOAD:libjemalloc.so.2"; do
    export LD_PRELOAD=$preload
    python3 -c '
import subprocess, threading
assert "jemalloc" in open("/proc/self/maps").read()
def work():
    for i in range(100):
        with open("out", "a") as file: file.write("x" * 100)
threads = [threading.Thread(target=work) for i in range(8)]
[t.start() for t in threads]
[t.join() for t in threads]
print(subprocess.run(["wc", "-c", "out"], capture_output=True, text=True).stdout)
' || exit
    cp out copy
    sort copy | cksum
    rm out
done
