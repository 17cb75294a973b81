# needs: git git
# also: run
# reads: work/file
# writes: work/file
# any: */index
# unseen: */hooks/*.sample because git copies its templates only where they are installed
# A repository from its first commit to its clone, with branches, a merge, a stash, packs and their repair.
set -eu
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@b
export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z' GIT_CONFIG_NOSYSTEM=1 GIT_PAGER=cat
umask 022
git init -q -b main work
cd work
git config gc.auto 0
git config pack.threads 1
seq 1 2000 >file
mkdir folder && for i in $(seq 1 30); do echo "$i" >folder/f$i; done
git add .
git commit -q -m first
git status --short
echo more >>file
git diff --stat
git commit -qam second
git checkout -q -b side HEAD~1
echo aside >folder/f1
git commit -qam aside
git checkout -q main
git merge -q --no-edit side
git log --oneline --graph
git mv folder/f2 folder/moved
git rm -q folder/f3
echo unsaved >folder/f4
git stash -q
git stash pop -q
git commit -qam third
git tag v1
git gc -q --prune=now
git fsck
git blame -s file | tail -1
git grep -n 1999
git archive --format=tar v1 | tar -t | tail -2
cd ..
git clone -q work clone
git clone -q --bare file://"$PWD"/work bare
cd clone
echo pushed >pushed
git add pushed
git commit -qm pushed
git push -q ../bare HEAD:refs/heads/other
git -C ../bare log --oneline other | head -1
git rev-parse HEAD HEAD^{tree}
git bisect start -q 2>/dev/null || true
git worktree add -q ../tree v1
git ls-files | wc -l
git checkout nothing 2>&1 | tail -1
