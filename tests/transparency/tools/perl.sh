# needs: perl perl
# also: run
# reads: in
# writes: out sysout backup.txt appended
# perl: buffered and raw calls, a fork with pipes both ways, in-memory files, locks, in-place editing, exec.
set -eu
umask 022
seq 1 500 >in
perl -e '
use strict; use warnings; use Fcntl qw(:DEFAULT :flock :seek);
open(my $in, "<", "in") or die; open(my $out, ">", "out") or die;
while (<$in>) { print $out "$_" if $_ % 2 } close($in); close($out);
open($out, "+<", "out"); seek($out, 10, SEEK_SET); read($out, my $part, 5); print "[$part]\n"; truncate($out, 100); close($out);
sysopen(my $raw, "sysout", O_RDWR|O_CREAT|O_EXCL, 0600) or die;
syswrite($raw, "x" x 5000); sysseek($raw, 0, 0); sysread($raw, my $back, 6000); print length($back), "\n"; close($raw);
pipe(my $r, my $w); my $pid = fork();
if (!$pid) { close($r); print $w "from the child\n"; close($w); exit 3 }
close($w); print scalar <$r>; waitpid($pid, 0); print $? >> 8, "\n";
open(my $p, "-|", "sort", "-rn", "in"); print scalar <$p>; close($p);
open($p, "|-", "cat >piped"); print $p "into a pipe\n"; close($p);
open(my $dup, ">&", \*STDOUT); print $dup "through a double\n"; close($dup);
open(my $memory, "<", \"a\nb\n"); my @lines = <$memory>; print scalar(@lines), "\n";
open(my $lock, ">>", "appended"); flock($lock, LOCK_EX); print $lock "locked\n"; close($lock);
rename("piped", "renamed"); link("renamed", "hard"); symlink("renamed", "soft"); unlink("hard");
mkdir("d"); opendir(my $dir, "."); print join(" ", sort grep { !/^\./ } readdir($dir)), "\n"; closedir($dir);
utime(1000000000, 1000000000, "renamed"); chmod(0400, "renamed");
local $SIG{ALRM} = sub { print "alarm\n" }; alarm 1; select(undef, undef, undef, 1.5);
open(my $none, "<", "nothing") or print "no: $!\n";
$! = 0; my @s = stat("in"); print "$s[7]\n";
'
seq 1 5 >backup.txt
perl -i.bak -pe 's/3/three/' backup.txt
perl -ne 'print if eof' in backup.txt
perl -0777 -ne 'print length, "\n"' in
perl -e 'exec "sh", "-c", "echo by exec; exit 6"' || echo "ended with $?"
{ perl -e 'kill 9, $$'; } 2>/dev/null || echo "ended with $?"
perl -e 'die "dying\n"'
