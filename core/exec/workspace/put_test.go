//go:build unix

package workspace

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/sdk"
)

// tree writes files: their text by path; "-> target" is a link, "x " before a text an executable
// file, and a path that ends in "/" a folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(at), 0o755))
		target, isLink := strings.CutPrefix(text, "-> ")
		run, isExec := strings.CutPrefix(text, "x ")
		switch {
		case strings.HasSuffix(name, "/"):
			must(t, os.MkdirAll(at, 0o755))
		case isLink:
			must(t, os.Symlink(target, at))
		case isExec:
			must(t, os.WriteFile(at, []byte(run), 0o755))
		default:
			must(t, os.WriteFile(at, []byte(text), 0o644))
		}
	}
	return dir
}

// listing is what tree wrote, read back.
func listing(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	must(t, filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, at)
		if d.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(at)
			files[name] = "-> " + target
			return err
		}
		text, err := os.ReadFile(at)
		info, _ := d.Info()
		if info.Mode()&0o100 != 0 {
			files[name] = "x "
		}
		files[name] += string(text)
		return err
	}))
	return files
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// original is what the tests change.
func original() map[string]string {
	return map[string]string{
		"main.go": "package main\n\nfunc main() {}\n", "main_test.go": "package main\n", "run.sh": "x echo\n", "Makefile": "all:\n",
		"pkg/a.go": "one\ntwo\nthree\nfour\n", "pkg/link.go": "-> a.go", "up": "-> pkg", "pkg/empty.go": "", ".git/config": "[core]\n", "go.mod": "module x\n",
	}
}

var goFiles = []string{"**/*.go", "!**/*_test.go", "*.sh"}

// putInto makes a workspace of the original with an attempt in it.
func putInto(t *testing.T, w sdk.ExecWorkspace) (map[string]string, []sdk.ExecRefusal, error) {
	t.Helper()
	dir := t.TempDir()
	w.From = "."
	_, refused, err := Make(context.Background(), Options{Dir: dir, Folder: tree(t, original())}, &w, "out/report.xml")
	return listing(t, dir), refused, err
}

func TestPut_Writes(t *testing.T) {
	for name, c := range map[string]struct {
		put  sdk.ExecPut
		want map[string]string // what differs from the original; "" is gone
	}{
		"nothing":                   {sdk.ExecPut{}, nil},
		"a file":                    {sdk.ExecPut{File: "main.go", Text: "new"}, map[string]string{"main.go": "new"}},
		"a file that isn't there":   {sdk.ExecPut{File: "deep/down/x.txt", Text: "new"}, map[string]string{"deep/down/x.txt": "new"}},
		"a file with odd letters":   {sdk.ExecPut{File: "a[b]{c}*.txt", Text: "new"}, map[string]string{"a[b]{c}*.txt": "new"}},
		"files":                     {sdk.ExecPut{Files: map[string]string{"main.go": "m", "./pkg/new.go": "n"}}, map[string]string{"main.go": "m", "pkg/new.go": "n"}},
		"an executable keeps mode":  {sdk.ExecPut{Files: map[string]string{"run.sh": "ls\n"}}, map[string]string{"run.sh": "x ls\n"}},
		"a plain diff":              {diff("--- a/pkg/a.go\n+++ b/pkg/a.go\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"), map[string]string{"pkg/a.go": "one\n2\nthree\nfour\n"}},
		"a diff without prefixes":   {diff("--- pkg/a.go\n+++ pkg/a.go\n@@ -4 +4 @@\n-four\n+4\n"), map[string]string{"pkg/a.go": "one\ntwo\nthree\n4\n"}},
		"a diff with times":         {diff("--- a/pkg/a.go\t2026-01-01 10:00:00\n+++ b/pkg/a.go\t2026-01-01 10:00:01\n@@ -4 +4 @@\n-four\n+4\n"), map[string]string{"pkg/a.go": "one\ntwo\nthree\n4\n"}},
		"a diff for other lines":    {diff("--- a/pkg/a.go\n+++ b/pkg/a.go\n@@ -30,2 +30,2 @@\n three\n-four\n+4\n"), map[string]string{"pkg/a.go": "one\ntwo\nthree\n4\n"}},
		"a diff at the largest one": {diff("--- a/pkg/a.go\n+++ b/pkg/a.go\n@@ -9223372036854775807 +1 @@\n-four\n+4\n"), map[string]string{"pkg/a.go": "one\ntwo\nthree\n4\n"}},
		"a diff in a fence":         {diff("Here it is:\n```diff\n--- a/pkg/a.go\n+++ b/pkg/a.go\n@@ -4 +4 @@\n-four\n+4\n```\nDone - as asked.\n"), map[string]string{"pkg/a.go": "one\ntwo\nthree\n4\n"}},
		"a diff without an end":     {diff("--- a/pkg/a.go\n+++ b/pkg/a.go\n@@ -4 +4 @@\n-four\n+4"), map[string]string{"pkg/a.go": "one\ntwo\nthree\n4\n"}},
		"a diff of no last newline": {diff("--- a/pkg/a.go\n+++ b/pkg/a.go\n@@ -4 +4 @@\n-four\n+4\n\\ No newline at end of file\n"), map[string]string{"pkg/a.go": "one\ntwo\nthree\n4"}},
		"two parts": {diff("diff --git a/pkg/a.go b/pkg/a.go\nindex 1..2 100644\n--- a/pkg/a.go\n+++ b/pkg/a.go\n@@ -1 +1 @@\n-one\n+1\n@@ -4 +4 @@\n-four\n+4\n"),
			map[string]string{"pkg/a.go": "1\ntwo\nthree\n4\n"}},
		"git: new":            {diff("diff --git a/n.go b/n.go\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/n.go\n@@ -0,0 +1 @@\n+n\n"), map[string]string{"n.go": "n\n"}},
		"git: new, no mode":   {diff("diff --git a/n.go b/n.go\n--- /dev/null\n+++ b/n.go\n@@ -0,0 +1 @@\n+n\n"), map[string]string{"n.go": "n\n"}},
		"git: new, runs":      {diff("diff --git a/n.sh b/n.sh\nnew file mode 100755\n--- /dev/null\n+++ b/n.sh\n@@ -0,0 +1 @@\n+n\n"), map[string]string{"n.sh": "x n\n"}},
		"git: new, empty":     {diff("diff --git a/n.go b/n.go\nnew file mode 100644\nindex 0000000..e69de29\n"), map[string]string{"n.go": "<empty>"}},
		"plain: new":          {diff("--- /dev/null\n+++ b/n.go\n@@ -0,0 +1 @@\n+n\n"), map[string]string{"n.go": "n\n"}},
		"plain: new by lines": {diff("--- a/n.go\n+++ b/n.go\n@@ -0,0 +1 @@\n+n\n"), map[string]string{"n.go": "n\n"}},
		"git: deleted":        {diff("diff --git a/pkg/a.go b/pkg/a.go\ndeleted file mode 100644\n--- a/pkg/a.go\n+++ /dev/null\n@@ -1,4 +0,0 @@\n-one\n-two\n-three\n-four\n"), map[string]string{"pkg/a.go": ""}},
		"plain: deleted":      {diff("--- a/pkg/a.go\n+++ /dev/null\n@@ -1,4 +0,0 @@\n-one\n-two\n-three\n-four\n"), map[string]string{"pkg/a.go": ""}},
		"git: renamed": {diff("diff --git a/pkg/a.go b/pkg/b.go\nsimilarity index 80%\nrename from pkg/a.go\nrename to pkg/b.go\n--- a/pkg/a.go\n+++ b/pkg/b.go\n@@ -1 +1 @@\n-one\n+1\n"),
			map[string]string{"pkg/a.go": "", "pkg/b.go": "1\ntwo\nthree\nfour\n"}},
		"git: copied":        {diff("diff --git a/run.sh b/b.sh\nsimilarity index 100%\ncopy from run.sh\ncopy to b.sh\n"), map[string]string{"b.sh": "x echo\n"}},
		"git: the same mode": {diff("diff --git a/pkg/a.go b/pkg/a.go\nold mode 100644\nnew mode 100644\n--- a/pkg/a.go\n+++ b/pkg/a.go\n@@ -4 +4 @@\n-four\n+4\n"), map[string]string{"pkg/a.go": "one\ntwo\nthree\n4\n"}},
		"git: a signature":   {diff("diff --git a/pkg/a.go b/pkg/a.go\n--- a/pkg/a.go\n+++ b/pkg/a.go\n@@ -4 +4 @@\n-four\n+4\n-- \n2.40.0\n"), map[string]string{"pkg/a.go": "one\ntwo\nthree\n4\n"}},
		"git: a quoted name": {diff("diff --git \"a/\\303\\251.go\" \"b/\\303\\251.go\"\nnew file mode 100644\n--- /dev/null\n+++ \"b/\\303\\251.go\"\n@@ -0,0 +1 @@\n+n\n"), map[string]string{"é.go": "n\n"}},
		"deletes and replaces": {diff("--- a/main.go\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-package main\n-\n-func main() {}\n--- /dev/null\n+++ b/cmd/main.go\n@@ -0,0 +1 @@\n+m\n"),
			map[string]string{"main.go": "", "cmd/main.go": "m\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			want := original()
			for name, text := range c.want {
				want[name] = strings.Replace(text, "<empty>", "", 1)
				if text == "" {
					delete(want, name)
				}
			}
			got, refused, err := putInto(t, sdk.ExecWorkspace{Put: c.put, MayChange: goFiles})
			if err != nil || len(refused) > 0 {
				t.Fatal(refused, err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func diff(text string) sdk.ExecPut { return sdk.ExecPut{Diff: text} }

func files(pairs ...string) sdk.ExecPut {
	p := sdk.ExecPut{Files: map[string]string{}}
	for i := 0; i < len(pairs); i += 2 {
		p.Files[pairs[i]] = pairs[i+1]
	}
	return p
}

// newFile is git's diff of a new file with a mode.
func newFile(name, mode string) sdk.ExecPut {
	return diff(fmt.Sprintf("diff --git a/%[1]s b/%[1]s\nnew file mode %[2]s\n--- /dev/null\n+++ b/%[1]s\n@@ -0,0 +1 @@\n+n\n", name, mode))
}

func TestPut_Refuses(t *testing.T) {
	closed := []string{"Makefile", "vendor", "conf/**"}
	for name, c := range map[string]struct {
		put  sdk.ExecPut
		want string // a path and a part of its message
	}{
		"a test":                     {files("main_test.go", "x"), "main_test.go: may_change doesn't name it"},
		"a test in a folder":         {files("pkg/z_test.go", "x"), "pkg/z_test.go: may_change doesn't name it"},
		"a test in capitals":         {files("pkg/Z_TEST.go", "x"), "pkg/Z_TEST.go: may_change doesn't name it"},
		"a new file elsewhere":       {files("new.txt", "x"), "new.txt: may_change doesn't name it"},
		"go.work":                    {files("go.work", "x"), "go.work: may_change"},
		"a closed folder":            {files("vendor/x.go", "x"), "vendor/x.go: protect names it"},
		"a closed folder, capitals":  {files("VENDOR/x.go", "x"), "VENDOR/x.go: protect names it"},
		"a closed pattern":           {files("conf/a/b.go", "x"), "conf/a/b.go: protect names it"},
		"the program's report":       {files("out/report.xml", "x"), "out/report.xml: is the path of the program's report"},
		"the report in capitals":     {files("OUT/Report.xml/x.go", "x"), "is the path of the program's report"},
		"the report's folder":        {files("out", "x"), "out: is the path of the program's report"},
		"upwards":                    {files("../x.go", "x"), `../x.go: has ".."`},
		"upwards inside":             {files("pkg/../../x.go", "x"), `has ".."`},
		"absolute":                   {files("/etc/x.go", "x"), "/etc/x.go: is absolute"},
		"empty":                      {files("", "x"), ": is empty"},
		"an empty part":              {files("pkg//x.go", "x"), "has an empty part"},
		"a dot":                      {files("pkg/./x.go", "x"), "has an empty part"},
		"a folder":                   {files("pkg/", "x"), "has an empty part"},
		"a backslash":                {files(`pkg\..\x.go`, "x"), "has a backslash"},
		"a NUL":                      {files("x\x00.go", "x"), "can't be seen"},
		"a newline":                  {files("x\n.go", "x"), "can't be seen"},
		"turned writing":             {files("x\u202eog.go", "x"), "can't be seen"},
		"a joiner":                   {files(".g\u200dit/x.go", "x"), "can't be seen"},
		"no UTF-8":                   {files("x\xff.go", "x"), "can't be seen"},
		"a dot that is wide":         {files("\uff0e\uff0e/x.go", "x"), "look like others"},
		"git's folder":               {files(".git/hooks/x.go", "x"), ".git/hooks/x.go: is inside git's own folder"},
		"git's folder in capitals":   {files(".GIT/x.go", "x"), "git's own folder"},
		"git's folder, short":        {files("GIT~1/x.go", "x"), "git's own folder"},
		"git's folder, a dot":        {files(".git./x.go", "x"), "git's own folder"},
		"git's folder, inner":        {files("pkg/.git/x.go", "x"), "git's own folder"},
		"git's folder, wide letters": {files(".\uff47it/x.go", "x"), "git's own folder"},
		"case of a file":             {files("Main.go", "x"), "Main.go: differs only in case or form from main.go"},
		"case of a folder":           {files("PKG/new.go", "x"), "differs only in case or form from pkg"},
		"case of its own":            {files("new.go", "x", "NEW.go", "y"), "is changed twice"},
		"a link":                     {files("pkg/link.go", "x"), "pkg/link.go: is a link"},
		"through a link":             {files("up/new.go", "x"), "up/new.go: up is a link"},
		"below a file":               {files("main.go/x.go", "x"), "main.go/x.go: main.go is not a folder"},
		"a file and a folder":        {files("n.go", "x", "n.go/x.go", "y"), "can't be a file and a folder"},
		"a long name":                {files(strings.Repeat("x", 251)+".go", "x"), "is too long"},
		"a long path":                {files(strings.Repeat("x/", 600)+"x.go", "x"), "is too long"},

		"diff: upwards":            {diff("--- a/../x.go\n+++ b/../x.go\n@@ -0,0 +1 @@\n+n\n"), `has ".."`},
		"diff: absolute":           {diff("--- /etc/x.go\n+++ /etc/x.go\n@@ -1 +1 @@\n-a\n+n\n"), "/etc/x.go: is absolute"},
		"diff: a test":             {newFile("x_test.go", "100644"), "x_test.go: may_change doesn't name it"},
		"diff: a link":             {newFile("x.go", "120000"), "x.go: is a link"},
		"diff: a submodule":        {newFile("x.go", "160000"), "x.go: is a submodule"},
		"diff: a folder's mode":    {newFile("x.go", "040000"), "isn't a file's"},
		"diff: a mode with a user": {newFile("x.go", "104755"), "which changes a user"},
		"diff: git's folder":       {newFile(".git/x.go", "100644"), "git's own folder"},
		"diff: there already":      {newFile("main.go", "100644"), "main.go: is there already"},
		"diff: through a link":     {newFile("up/x.go", "100644"), "up is a link"},
		"diff: mode":               {diff("diff --git a/main.go b/main.go\nold mode 100644\nnew mode 100755\n"), "main.go: its mode may not be changed"},
		"diff: mode, a lie":        {diff("diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100644\n--- a/run.sh\n+++ b/run.sh\n@@ -1 +1 @@\n-echo\n+ls\n"), "run.sh: its mode"},
		"diff: a link's target":    {diff("diff --git a/pkg/link.go b/pkg/link.go\nindex 1..2 120000\n--- a/pkg/link.go\n+++ b/pkg/link.go\n@@ -1 +1 @@\n-a.go\n\\ No newline at end of file\n+/etc/passwd\n\\ No newline at end of file\n"), "pkg/link.go: is a link"},
		"diff: a submodule moves":  {diff("diff --git a/sub.go b/sub.go\nindex 1..2 160000\n--- a/sub.go\n+++ b/sub.go\n@@ -1 +1 @@\n-Subproject commit 1\n+Subproject commit 2\n"), "sub.go: is a submodule"},
		"diff: deletes a test":     {diff("--- a/main_test.go\n+++ /dev/null\n@@ -1 +0,0 @@\n-package main\n"), "main_test.go: may_change doesn't name it"},
		"diff: deletes a part":     {diff("diff --git a/pkg/a.go b/pkg/a.go\ndeleted file mode 100644\n"), "not all that is in it"},
		"diff: renames a test":     {diff("diff --git a/main_test.go b/x.go\nsimilarity index 100%\nrename from main_test.go\nrename to x.go\n"), "x.go: comes from main_test.go, which can't be: may_change doesn't name it"},
		"diff: renames to a test":  {diff("diff --git a/main.go b/x_test.go\nsimilarity index 100%\nrename from main.go\nrename to x_test.go\n"), "x_test.go: may_change doesn't name it"},
		"diff: renames over":       {diff("diff --git a/main.go b/pkg/a.go\nsimilarity index 100%\nrename from main.go\nrename to pkg/a.go\n"), "pkg/a.go: is there already"},
		"diff: copies from above":  {diff("diff --git a/../x b/y.go\nsimilarity index 100%\ncopy from ../x\ncopy to y.go\n"), `has ".."`},
		"diff: copies a link":      {diff("diff --git a/pkg/link.go b/y.go\nsimilarity index 100%\ncopy from pkg/link.go\ncopy to y.go\n"), "is a link"},
		"diff: doesn't apply":      {diff("--- a/pkg/a.go\n+++ b/pkg/a.go\n@@ -1 +1 @@\n-eins\n+1\n"), "pkg/a.go: the diff doesn't apply: part 1, at line 1"},
		"diff: no such file":       {diff("--- a/no.go\n+++ b/no.go\n@@ -1 +1 @@\n-one\n+1\n"), "no.go: there is no file no.go"},
		"diff: twice":              {diff("--- a/pkg/a.go\n+++ b/pkg/a.go\n@@ -1 +1 @@\n-one\n+1\n--- a/pkg/a.go\n+++ b/pkg/a.go\n@@ -1 +1 @@\n-one\n+2\n"), "pkg/a.go: is changed twice"},
		"diff: too few lines":      {diff("--- a/pkg/a.go\n+++ b/pkg/a.go\n@@ -1,3 +1,3 @@\n-one\n+1\n"), ": the diff can't be read"},
		"diff: too many lines":     {diff("--- a/pkg/a.go\n+++ b/pkg/a.go\n@@ -1 +1 @@\n-one\n+1\n+1.5\n"), ": the diff can't be read: line 6 is beyond"},
		"diff: none":               {diff("I changed nothing."), ": there is no diff in it"},
		"diff: no header":          {diff("@@ -1 +1 @@\n-one\n+1\n"), ": the diff can't be read"},
		"diff: binary":             {diff("diff --git a/x.go b/x.go\nnew file mode 100644\nindex 0..1\nGIT binary patch\nliteral 1\nIcmZPo000310RR91\n\n"), "x.go: is a binary change"},
		"diff: binary, by name":    {diff("diff --git a/main.go b/main.go\nindex 1..2 100644\nBinary files a/main.go and b/main.go differ\n"), "main.go: is a binary change"},
		"diff: negative":           {diff("--- a/pkg/a.go\n+++ b/pkg/a.go\n@@ -1,-3 +1,-3 @@\n-one\n+1\n"), ": the diff can't be read"},
		"diff: the report":         {newFile("out/report.xml", "100644"), "is the path of the program's report"},
	} {
		t.Run(name, func(t *testing.T) {
			got, refused, err := putInto(t, sdk.ExecWorkspace{Put: c.put, MayChange: goFiles, Protect: closed})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(original(), got); d != "" {
				t.Errorf("the workspace was changed: %s", d)
			}
			all := fmt.Sprintln(refused)
			for _, r := range refused {
				all += r.Path + ": " + r.Message + "\n"
			}
			if len(refused) == 0 || !strings.Contains(all, c.want) {
				t.Errorf("got %s, want %q", all, c.want)
			}
		})
	}
}

func TestPut_NamesAll(t *testing.T) {
	_, refused, err := putInto(t, sdk.ExecWorkspace{MayChange: goFiles, Put: files("main_test.go", "", "ok.go", "", "../up.go", "", "go.work", "", "pkg/link.go", "")})
	var names []string
	for _, r := range refused {
		names = append(names, r.Path)
	}
	if want := []string{"../up.go", "go.work", "main_test.go", "pkg/link.go"}; err != nil || !cmp.Equal(names, want) {
		t.Error(names, err)
	}
	many := sdk.ExecPut{Files: map[string]string{}}
	for i := range 150 {
		many.Files[fmt.Sprintf("%03d.txt", i)] = ""
	}
	if _, refused, _ = putInto(t, sdk.ExecWorkspace{MayChange: goFiles, Put: many}); len(refused) != 101 || refused[100].Message != "and 50 more" {
		t.Error(len(refused))
	}
}

func TestPut_Settings(t *testing.T) {
	for name, w := range map[string]sdk.ExecWorkspace{
		"files without may_change": {Put: files("a.go", "")},
		"a diff without it":        {Put: diff("--- a/x\n")},
		"two forms":                {Put: sdk.ExecPut{File: "a", Diff: "b"}, MayChange: goFiles},
		"an empty pattern":         {MayChange: []string{""}},
		"only an exclamation mark": {MayChange: []string{"!"}},
		"a bad pattern":            {MayChange: []string{"a[b"}},
		"an open brace":            {Protect: []string{"{a,b"}},
		"an absolute pattern":      {MayChange: []string{"/src/**"}},
		"a folder":                 {MayChange: []string{"src/"}},
		"a long pattern":           {Protect: []string{strings.Repeat("x", 501)}},
		"many braces":              {MayChange: []string{strings.Repeat("{a,b}", 7)}},
		"many patterns":            {MayChange: make([]string, 201)},
		"an absolute file":         {Put: sdk.ExecPut{File: "/etc/passwd"}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := putInto(t, w); !isCode(err, sdk.Invalid) {
				t.Error(err)
			}
		})
	}
}

func FuzzPut_Diff(f *testing.F) {
	f.Add("diff --git a/pkg/a.go b/pkg/b.go\nrename from pkg/a.go\nrename to pkg/b.go\n--- a/pkg/a.go\n+++ b/pkg/b.go\n@@ -1 +1 @@\n-one\n+1\n")
	f.Add("--- a/pkg/a.go\n+++ b/pkg/a.go\n@@ -9223372036854775807,3 +1,3 @@\n one\n-two\n+2\n three\n")
	f.Add("diff --git \"a/\\303\\251\" b/x\nnew file mode 120000\n@@ -0,0 +1 @@\n+n\n")
	f.Fuzz(func(t *testing.T, text string) {
		dir := tree(t, map[string]string{"pkg/a.go": "one\ntwo\nthree\n", "closed_test.go": "x"})
		root, err := os.OpenRoot(dir)
		must(t, err)
		defer root.Close()
		w := sdk.ExecWorkspace{Put: diff(text), MayChange: goFiles}
		r, err := newRules(&w, "")
		must(t, err)
		if _, err := put(root, &w, r, nil); err != nil && !isCode(err, sdk.Unavailable) {
			t.Error(err)
		}
		if got := listing(t, dir); got["closed_test.go"] != "x" {
			t.Error(got)
		}
	})
}
