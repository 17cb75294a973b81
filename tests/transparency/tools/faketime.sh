# needs: faketime faketime
# also: run
# reads: in copied
# writes: copied sorted dated appended
# unseen: faketime_*
# Programs whose clock is another: it stands still, differs, runs faster; several programs share its state.
set -u
umask 022
printf '%s\n' pear apple fig >in
faketime -f '2020-01-01 00:00:00' sh -c 'date; cp in copied; date; sort copied >sorted; date >dated'
faketime -f '-1d' sh -c 'cat in >>appended; cat sorted >>appended; date +%s' | { read -r then && test "$then" -lt "$(date +%s)" && echo earlier; }
faketime -f '+10d' perl -e 'print time - $^T < 100 ? "one clock\n" : "two clocks\n"; open(my $f, ">>", "appended"); print $f "later\n"'
faketime -f '@2021-01-01 00:00:00 x10' sh -c 'sleep 1; cat in; date +%Y; cp sorted faster'
faketime -f '2020-01-01 00:00:00' python3 -c '
import os, time
print(time.time(), time.time() == time.time())
child = os.fork()
if child == 0:
    open("forked", "w").write(str(time.time()))
    os._exit(3)
print(os.waitpid(child, 0)[1] >> 8)
'
faketime 'no such time' true 2>/dev/null
echo "faketime ended with $?"
cat appended
