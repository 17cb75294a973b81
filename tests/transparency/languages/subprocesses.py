# reads: in
# order: any
# writes: in out sorted through
# also: run
"""subprocess with each way to hand over descriptors, with and without vfork and posix_spawn; os.fork, exec, popen, signals."""
import os
import signal
import subprocess
import sys

with open("in", "w") as file:
    file.write("pear\napple\nfig\n")
with open("in") as source, open("out", "w") as target:
    subprocess.run(["sort"], stdin=source, stdout=target, check=True)
print(subprocess.check_output("sort -r in; echo err >&2", shell=True, stderr=subprocess.STDOUT, text=True))
print(subprocess.run(["cat"], input=b"typed", capture_output=True).stdout)
first = subprocess.Popen(["cat", "in"], stdout=subprocess.PIPE)
second = subprocess.Popen(["sort", "-o", "sorted"], stdin=first.stdout)
first.stdout.close()
print(second.wait(), first.wait())
read, write = os.pipe()
subprocess.run(["sh", "-c", f"echo through {write - write} >&{write}"], pass_fds=[write], check=True)
print(os.read(read, 100))
print(subprocess.run(["false"], close_fds=False).returncode)
print(subprocess.run(["sh", "-c", "kill -9 $$"]).returncode)
print(subprocess.run(["pwd"], cwd="/", capture_output=True, preexec_fn=lambda: os.umask(0)).stdout)
print(subprocess.run(["sh", "-c", "echo $A"], env={**os.environ, "A": "given"}, start_new_session=True, capture_output=True).stdout)
try:
    subprocess.run(["no such program"])
except FileNotFoundError as error:
    print(error)
try:
    subprocess.run(["sleep", "10"], timeout=0.2)
except subprocess.TimeoutExpired:
    print("timed out")
try:
    subprocess.run(["cat", "nothing"], check=True, stderr=subprocess.PIPE)
except subprocess.CalledProcessError as error:
    print(error.returncode, error.stderr)
child = os.fork()
if child == 0:
    descriptor = os.open("through", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(descriptor, 1)
    os.execvp("cat", ["cat", "in"])
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
actions = [(os.POSIX_SPAWN_OPEN, 1, "spawned", os.O_WRONLY | os.O_CREAT, 0o600), (os.POSIX_SPAWN_DUP2, 1, 2)]
child = os.posix_spawnp("sh", ["sh", "-c", "echo out; echo err >&2"], os.environ, file_actions=actions)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(os.system("echo by system >system; exit 3") >> 8)
print(os.popen("cat system").read())
child = os.fork()
if child == 0:
    signal.pause()
os.kill(child, signal.SIGTERM)
print(os.WTERMSIG(os.waitpid(child, 0)[1]))
sys.stdout.flush()
os.execlp("sh", "sh", "-c", "echo the end; exit 4")
