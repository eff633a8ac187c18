//go:build linux

package process_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/plugin"
)

// shell runs a script in the plugin's own folder, by the system's programs.
func shell(script string) (string, error) {
	cmd := exec.Command("/bin/sh", "-euc", script)
	cmd.Dir = os.TempDir()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", errors.New(err.Error() + ": " + string(out))
	}
	return strings.TrimSpace(string(out)), nil
}

// programs are what ordinary programs do with files of their own. Each has the
// program that it needs, since not every system has all of them.
var programs = []struct{ needs, script string }{
	{"/bin/cp", `
		echo text > a
		touch a
		touch -d 2001-02-03 a
		chmod 0400 a
		chmod +x a
		cp -p a b
		mkdir -m 0755 sub
		cp -a b sub/c
		mv sub moved
		mkdir other
		mv moved other/
		test text = "$(cat other/moved/c)"`},
	{"/usr/bin/install", `echo text > i && install -m 0644 i j && install -d -m 0750 k/l && test text = "$(cat j)"`},
	{"/bin/tar", `
		mkdir from into && echo text > from/file && chmod 0500 from/file
		tar cf archive.tar from
		tar xpf archive.tar -C into
		test text = "$(cat into/from/file)"`},
	{"/usr/bin/git", `
		export HOME="$PWD" GIT_CONFIG_NOSYSTEM=1
		git init -q repository
		cd repository
		git config user.name a
		git config user.email a@example.org
		echo text > file
		git add file
		git commit -qm one
		git clone -q . ../clone
		test text = "$(cat ../clone/file)"`},
	{"/usr/bin/sqlite3", `test 3 = "$(sqlite3 base.db 'PRAGMA journal_mode=WAL; CREATE TABLE t(n); INSERT INTO t VALUES(1),(2); SELECT sum(n) FROM t' | tail -1)"`},
	{"/usr/bin/python3", `/usr/bin/python3 -I -c '
import os, shutil, sqlite3, tarfile, tempfile, zipfile
with tempfile.TemporaryDirectory() as d:
    a, b = os.path.join(d, "a"), os.path.join(d, "b")
    with open(a, "w") as f:
        f.write("text")
    os.chmod(a, 0o400)
    os.utime(a, (1, 1))
    shutil.copy(a, b)
    shutil.copy2(a, b + "2")
    shutil.copytree(d, os.path.join(d, "..", "tree"))
    shutil.move(b, b + "3")
    with tarfile.open(b + ".tar", "w") as t:
        t.add(a, "in")
    with tarfile.open(b + ".tar") as t:
        t.extractall(os.path.join(d, "out"))
    with zipfile.ZipFile(b + ".zip", "w") as z:
        z.write(a, "in")
    with zipfile.ZipFile(b + ".zip") as z:
        z.extractall(os.path.join(d, "unzipped"))
    base = sqlite3.connect(b + ".db")
    base.execute("CREATE TABLE t(n)")
    base.commit()
    with tempfile.NamedTemporaryFile() as f:
        os.fchmod(f.fileno(), 0o600)
        os.utime(f.fileno())
shutil.rmtree("tree")
'`},
}

// ordinaryPrograms has a plugin start programs that work in its own folder: what the
// sandbox keeps from them, they can do without.
func ordinaryPrograms(t *testing.T) {
	for _, p := range programs {
		if _, err := os.Stat(p.needs); err != nil {
			continue
		}
		t.Run(filepath.Base(p.needs), func(t *testing.T) {
			dir := shortTempDir(t)
			i := startHostile(t, dir, func(i *plugin.Installed) {
				i.Granted.FS, i.Limits.Processes, i.Limits.MemoryBytes = []string{"system"}, 16, 1<<30
			})
			if got := try(t, i, "shell", p.script); !strings.HasPrefix(got, "got:") {
				t.Error(got)
			}
			i.Kill(nil)
			wantEmpty(t, dir)
		})
	}
}
