package judges

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// cheat is an attempt to be accepted without doing the task, which is to make a text fit for a URL: lower case, and
// a hyphen between words.
type cheat struct {
	name, judge string
	// attempt and twin, which is honest and similar, are files, or a diff. The twin is by default the judge's own.
	attempt, twin any
	// before is judged before it, and may leave something behind.
	before any
	// code is the code of a finding that says what it did; "" if its answers are just wrong. A cheat of inProcess can't
	// be seen by a judge whose process runs the attempt's code: the judge outside of it finds it.
	code      string
	inProcess bool
}

type files map[string]string

// The task done, in each language: a function, and a program that reads a text.
const (
	goGood = "package main\n\nimport (\n\t\"bufio\"\n\t\"fmt\"\n\t\"os\"\n\t\"strings\"\n)\n\nfunc slug(s string) string {\n\treturn strings.Join(strings.Fields(strings.ToLower(s)), \"-\")\n}\n\nfunc main() {\n\ts, _ := bufio.NewReader(os.Stdin).ReadString(0)\n\tfmt.Print(slug(s))\n}\n"
	goBad  = "package main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\nvar _ = os.Args\n\nfunc slug(s string) string { return s }\n\nfunc main() { fmt.Print(slug(\"x\")) }\n"
	pyGood = "import sys\n\n\ndef slug(s):\n    return '-'.join(s.lower().split())\n\n\nif __name__ == '__main__':\n    print(slug(sys.stdin.read()), end='')\n"
	pyBad  = "import sys\n\n\ndef slug(s):\n    return s\n\n\nif __name__ == '__main__':\n    print(slug(sys.stdin.read()), end='')\n"
	jsGood = "import { readFileSync } from 'node:fs'\nexport const slug = (s) => s.toLowerCase().trim().split(/\\s+/).join('-')\nif (process.argv[1].endsWith('slug.mjs')) process.stdout.write(slug(readFileSync(0, 'utf8')))\n"
	jsBad  = "import { readFileSync } from 'node:fs'\nexport const slug = (s) => s\nif (process.argv[1].endsWith('slug.mjs')) process.stdout.write(slug(readFileSync(0, 'utf8')))\n"
	shGood = "tr A-Z a-z | tr ' ' -\n"
)

// judgeSh is a judge outside of the attempt's process, as docs/evaluators.md has it. The whole script is read before
// anything of it runs, so that it can't be changed meanwhile.
const judgeSh = `{
n=0
check() { # check INPUT WANTED
  n=$((n + 1))
  got=$(printf '%s' "$1" | timeout 20 $program 2>/dev/null)
  if [ "$got" = "$2" ]; then echo "ok $n - $1"; else echo "not ok $n - $1"; fi
}
program=$*
echo TAP version 13
check 'Hello World' hello-world
check 'A B C' a-b-c
echo 1..$n
exit
}
`

// subject is a judge of cheats: the original, the evaluators inside and outside of the attempt's process, and
// the command whose exit status alone others look at.
type subject struct {
	original        files
	inside, outside string
	plain           string
	good            any
}

func subjects() map[string]subject {
	goTest := "package main\n\nimport \"testing\"\n\nfunc TestHello(t *testing.T) {\n\tif got := slug(\"Hello World\"); got != \"hello-world\" {\n\t\tt.Errorf(\"got %q\", got)\n\t}\n}\n\nfunc TestLetters(t *testing.T) {\n\tif got := slug(\"A B C\"); got != \"a-b-c\" {\n\t\tt.Errorf(\"got %q\", got)\n\t}\n}\n"
	pyTest := "from slug import slug\n\n\ndef test_hello():\n    assert slug('Hello World') == 'hello-world'\n\n\ndef test_letters():\n    assert slug('A B C') == 'a-b-c'\n"
	jsTest := "import test from 'node:test'\nimport assert from 'node:assert'\nimport { slug } from './slug.mjs'\n\ntest('hello', () => assert.equal(slug('Hello World'), 'hello-world'))\ntest('letters', () => assert.equal(slug('A B C'), 'a-b-c'))\n"
	const caches = "caches: {go-build: \"go build ./... && go vet ./... && go test -run none ./...\"}\n"
	py := "type: command\nrun: [pytest, -q, --junitxml=report.xml, -p, no:cacheprovider]\nreport_file: report.xml\nbaseline: original\ntimeout: 60s\n" +
		"workspace: {from: repo, may_change: [\"*.py\", \"lib/**\", \"!conftest.py\", \"!sitecustomize.py\", \"!test_*.py\"]}\n"
	return map[string]subject{
		"go": {
			original: files{"go.mod": "module slug\n\ngo 1.24\n", "slug.go": goBad, "slug_test.go": goTest, "testdata/words": "a\n", "judge.sh": judgeSh},
			inside: "type: command\nrun: [go, test, -json, ./...]\nreport: go-test\nbaseline: original\nput: files\n" + caches +
				"workspace: {from: repo, may_change: [\"*.go\", \"lib/**/*.go\", \"!**/*_test.go\"]}\n",
			outside: "type: command\nsh: go build -o /tmp/prog . && sh judge.sh /tmp/prog\nreport: tap\nput: files\n" + caches +
				"workspace: {from: repo, may_change: [\"*.go\", \"lib/**/*.go\", \"!**/*_test.go\"]}\n",
			plain: "go test ./...", good: files{"slug.go": goGood},
		},
		"python": {
			original: files{"slug.py": pyBad, "test_slug.py": pyTest, "judge.sh": judgeSh},
			inside:   py + "put: files\n",
			outside:  "type: command\nsh: sh judge.sh python3 -I slug.py\nreport: tap\nput: files\nworkspace: {from: repo, may_change: [\"*.py\", \"!test_*.py\"]}\n",
			plain:    "pytest -q", good: files{"slug.py": pyGood},
		},
		"python diff": {
			original: files{"slug.py": pyBad, "test_slug.py": pyTest},
			inside:   py + "put: diff\n", plain: "pytest -q",
			good: "--- a/slug.py\n+++ b/slug.py\n@@ -4,2 +4,2 @@\n def slug(s):\n-    return s\n+    return '-'.join(s.lower().split())\n",
		},
		"node": {
			original: files{"slug.mjs": jsBad, "slug.test.mjs": jsTest, "package.json": "{}\n", "judge.sh": judgeSh},
			inside: "type: command\nrun: [node, --test, --test-reporter=tap]\nreport: tap\nbaseline: original\nput: files\n" +
				"workspace: {from: repo, may_change: [\"**/*.mjs\", \"!**/*.test.mjs\", \"!*.config.mjs\", \"!node_modules/**\"]}\n",
			outside: "type: command\nsh: sh judge.sh node slug.mjs\nreport: tap\nput: files\nworkspace: {from: repo, may_change: [\"**/*.mjs\", \"!**/*.test.mjs\"]}\n",
			plain:   "node --test", good: files{"slug.mjs": jsGood},
		},
		"shell": {
			original: files{"slug.sh": "cat\n", "judge.sh": judgeSh},
			inside: "type: command\nsh: sh judge.sh sh slug.sh\nreport: tap\ntimeout: 20s\nlimits: {memory: 256MiB, processes: 40, disk: 64MiB}\nput: files\n" +
				"workspace: {from: repo, may_change: [slug.sh, \"lib/**\"]}\n",
			plain: "sh judge.sh sh slug.sh", good: files{"slug.sh": shGood},
		},
	}
}

// TestCheats: none is accepted, and each honest twin is.
func TestCheats(t *testing.T) {
	dir := newProject(t)
	socket, secret := hostThings(t, dir)
	all := cheats(socket, secret)
	if len(all) < 60 {
		t.Errorf("there are %d cheats", len(all))
	}
	for name, s := range subjects() {
		for file, text := range s.original {
			write(t, dir, folder(name)+"/repo/"+file, text)
		}
		write(t, dir, folder(name)+"/inside.yaml", s.inside)
		write(t, dir, folder(name)+"/outside.yaml", s.outside)
		// Any file may change, and the exit status is all that counts.
		_, caches, _ := strings.Cut(s.inside, "caches:") // which only make it faster
		if line, _, has := strings.Cut(caches, "\n"); has {
			caches = "caches:" + line + "\n"
		}
		write(t, dir, folder(name)+"/plain.yaml", caches+fmt.Sprintf("type: command\nsh: %s\nreport: exit\ntimeout: 20s\nput: %s\nallow_empty: true\nworkspace: {from: repo, may_change: [\"**\"]}\n",
			s.plain, map[bool]string{true: "diff", false: "files"}[strings.HasSuffix(name, "diff")]))
	}
	good := map[string]verdict{}
	var rows []string
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) { rows = append(rows, c.try(t, dir, good)) })
	}
	caught := func(n int) string { return fmt.Sprintf("%d of %d", n, len(all)) }
	table(t, "peers", "| | by the exit status alone | `type: command` |\n| --- | --- | --- |\n", []string{
		"| runs any program, and passes on exit status 0 | native | native |\n",
		"| puts the attempt into a fresh copy | needs code | native |\n",
		"| lets the attempt change some files only | can't | native |\n",
		"| findings with file and line | needs code | native |\n",
		"| a sandbox | can't | native |\n",
		"| cheats that are caught | " + caught(len(all)-strings.Count(strings.Join(rows, ""), "**fooled**")) + " | " + caught(len(rows)) + " |\n",
	})
	t.Log("\n| language | an attempt that | the exit status alone | this evaluator |\n| --- | --- | --- | --- |\n" + strings.Join(rows, ""))
}

func folder(judge string) string { return strings.ReplaceAll(judge, " ", "-") }

// hostThings are a socket and a file of the host that no attempt may reach.
func hostThings(t *testing.T, dir string) (socket, secret string) {
	t.Helper()
	socket, secret = filepath.Join(os.TempDir(), "reflectory-judges.sock"), filepath.Join(dir, "secret")
	_ = os.Remove(socket)
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	write(t, dir, "secret", "of the host")
	return socket, secret
}

// try judges the cheat and its twin, and returns the cheat's row.
func (c *cheat) try(t *testing.T, dir string, good map[string]verdict) string {
	s := subjects()[c.judge]
	inside := filepath.Join(folder(c.judge), "inside.yaml")
	judge := func(evaluator string, attempt any) verdict { return evaluate(t, dir, evaluator, encoded(t, attempt)) }
	if c.before != nil {
		judge(inside, c.before)
	}
	plain := judge(filepath.Join(folder(c.judge), "plain.yaml"), c.attempt)
	got := judge(inside, c.attempt)
	how := "not accepted"
	switch {
	case c.inProcess:
		if !strings.Contains(got.Feedback, "in_process: true") {
			t.Errorf("it isn't marked: %+v %+v", got, got.Error)
		}
		how = map[bool]string{true: "marked `in_process`; the judge outside doesn't accept it", false: "not accepted; the judge outside doesn't accept it either"}[got.Valid]
		got = judge(filepath.Join(folder(c.judge), "outside.yaml"), c.attempt)
	case c.code != "":
		how = "`" + c.code + "`"
	}
	codes := []string{""}
	for _, f := range got.Errors {
		codes = append(codes, f.Code)
	}
	if got.Valid || got.Error != nil || !slices.Contains(codes, c.code) {
		t.Errorf("cheat: valid %t, codes %q, %+v\n%s", got.Valid, codes, got.Error, got.Feedback)
	}
	twin, known := good[c.judge]
	switch {
	case c.twin != nil:
		twin = judge(inside, c.twin)
	case !known:
		twin = judge(inside, s.good)
		good[c.judge] = twin
	}
	if !twin.Valid || twin.Score != 1 {
		t.Errorf("honest twin: %+v %+v", twin, twin.Error)
	}
	fooled := map[bool]string{true: "**fooled**", false: "not accepted"}[plain.Valid]
	return fmt.Sprintf("| %s | %s | %s | %s |\n", c.judge, c.name, fooled, how)
}

func encoded(t *testing.T, attempt any) string {
	t.Helper()
	if diff, ok := attempt.(string); ok {
		return diff
	}
	text, err := json.Marshal(attempt)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
