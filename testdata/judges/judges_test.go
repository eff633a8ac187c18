package judges

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// programs are the ones of the system that may run.
var programs = []string{
	"bash", "clang", "cppcheck", "flake8", "gcc", "go", "gofmt", "jq", "make", "mypy", "node", "perl", "prove", "pylint", "pytest", "python3", "sh",
	"shellcheck", "xmllint", "yamllint",
}

// fromNPM are programs that are installed below .tools.
var fromNPM = []string{"ajv", "eslint", "html-validate", "jest", "markdownlint", "prettier", "stylelint", "tsc", "vitest"}

// setting is what make test-judges sets.
func setting(t *testing.T, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Fatalf("%s isn't set: run make test-judges", name)
	}
	return value
}

// newProject makes a folder whose reflectory.yaml grants the programs.
func newProject(t *testing.T) string {
	t.Helper()
	tools, dir := setting(t, "REFLECTORY_JUDGES"), t.TempDir()
	allow := append(slices.Clone(programs), filepath.Join(tools, "bin", "staticcheck"))
	for _, name := range fromNPM {
		allow = append(allow, filepath.Join(tools, "node_modules", ".bin", name))
	}
	write(t, dir, "reflectory.yaml", fmt.Sprintf("commands: {allow: [%s], read: [/usr/local/go, %s]}\n", strings.Join(allow, ", "), tools))
	return dir
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// verdict is what evaluate prints.
type verdict struct {
	Valid    bool      `json:"valid"`
	Score    float64   `json:"score"`
	Errors   []finding `json:"errors"`
	Feedback string    `json:"feedback"`
	Error    *struct {
		Code, Message string
	} `json:"error"`
}

type finding struct {
	Message, Path, Code string
	Line, Column        int
}

// String is path:line:column and the code.
func (f finding) String() string {
	at := f.Path
	for _, n := range []int{f.Line, f.Column} {
		if n > 0 {
			at += fmt.Sprintf(":%d", n)
		}
	}
	return at + " " + f.Code
}

// evaluate judges an output in a project.
func evaluate(t *testing.T, dir, evaluator, output string) verdict {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), setting(t, "REFLECTORY_PROGRAM"), "evaluate", "--json", "--evaluator", evaluator, "-")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(output)
	cmd.Env = append(os.Environ(), "REFLECTORY_DATA_DIR="+filepath.Join(dir, "data"), "HOST_SECRET=of the host")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var v verdict
	if decoded := json.Unmarshal(stdout.Bytes(), &v); decoded != nil {
		t.Fatalf("%v, %v\n%s%s", decoded, err, &stdout, &stderr)
	}
	return v
}

// TestCatalogue: each judge says what is wrong and where, and passes what is good.
func TestCatalogue(t *testing.T) {
	files, err := filepath.Glob("catalogue/*.txtar")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d judges, %v", len(files), err)
	}
	dir := newProject(t)
	var rows []string
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			part := map[string]string{}
			for _, f := range a.Files {
				part[f.Name] = string(f.Data)
				write(t, dir, name+"/"+f.Name, string(f.Data))
			}
			judge := filepath.Join(name, "evaluator.yaml")
			bad := evaluate(t, dir, judge, part["bad"])
			var found strings.Builder
			for _, f := range bad.Errors {
				fmt.Fprintln(&found, f)
			}
			if bad.Valid || bad.Error != nil || !sameLines(found.String(), part["want"]) {
				t.Errorf("bad: %+v\ngot:\n%swant:\n%s%s", bad.Error, &found, part["want"], bad.Feedback)
			}
			if good := evaluate(t, dir, judge, part["good"]); !good.Valid || good.Score != 1 {
				t.Errorf("good: %+v %+v", good, good.Error)
			}
			rows = append(rows, row(name, string(bytes.TrimSpace(a.Comment)), part))
		})
	}
	table(t, "catalogue", "| judge | for | it runs | findings |\n| --- | --- | --- | --- |\n", rows)
}

// sameLines compares without the white space at ends of lines, which editors remove.
func sameLines(a, b string) bool {
	trimmed := func(s string) string {
		lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
		for i := range lines {
			lines[i] = strings.TrimSpace(lines[i])
		}
		return strings.Join(lines, "\n")
	}
	return trimmed(a) == trimmed(b)
}

// row is a judge of the table in the documents.
func row(name, about string, part map[string]string) string {
	run := ""
	for line := range strings.Lines(part["evaluator.yaml"]) {
		if strings.HasPrefix(line, "run:") || strings.HasPrefix(line, "sh:") || strings.HasPrefix(line, "report") {
			run += "`" + strings.TrimSpace(line) + "` "
		}
	}
	at := map[bool]string{true: "with file and line", false: "the exit status, and the output as feedback"}[strings.Contains(part["want"], ":")]
	return fmt.Sprintf("| %s | %s | %s| %s |\n", name, about, run, at)
}
