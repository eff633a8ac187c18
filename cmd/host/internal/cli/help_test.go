//go:build cgo && lua54

package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core/coretest"
)

// Each example line is run as it is written, in the project that init --examples makes.
func TestEveryExampleInTheHelpWorks(t *testing.T) {
	coretest.Long(t)
	dir := t.TempDir()
	lock := installPlugins(t, filepath.Join(dir, "plugins"))
	env := map[string]string{"REFLECTORY_LOCK": lock, "HOME": dir}
	t.Chdir(dir)
	runLine(t, env, "reflectory init --examples")
	walkCommands((&App{}).root(), func(c *cobra.Command) {
		if c.Example == "" && c.Runnable() && !c.HasSubCommands() && !isCobras(c) {
			t.Errorf("%s has no example", c.CommandPath())
		}
		for line := range strings.Lines(c.Example) {
			runLine(t, env, strings.TrimSpace(line))
		}
	})
}

// isCobras reports whether a command came with the library.
func isCobras(c *cobra.Command) bool {
	return c.Name() == "help" || c.HasParent() && c.Parent().Name() == "completion"
}

// runLine runs a command line, with a redirection at most, and checks that it worked: 0 or
// 3, or was refused with the right answer.
func runLine(t *testing.T, env map[string]string, line string) {
	t.Helper()
	line, file, redirected := strings.Cut(line, " > ")
	words := splitWords(line)
	if len(words) < 2 || words[0] != "reflectory" {
		t.Fatalf("example %q is no command line of reflectory", line)
	}
	var stdout, stderr bytes.Buffer
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	// A server works until it is stopped, which is as soon as it says where it is.
	until := func(said *bytes.Buffer) io.Writer {
		return writerFunc(func(p []byte) (int, error) {
			if words[1] == "serve" && (bytes.Contains(p, []byte("serving on")) || bytes.Contains(p, []byte(`"listen"`))) {
				defer stop()
			}
			return said.Write(p)
		})
	}
	code := runProgram(ctx, words[1:], strings.NewReader(""), until(&stdout), until(&stderr), func(k string) string { return env[k] })
	answer := refusals[line]
	if code != exitPassed && code != exitNotValid && (answer == "" || !strings.Contains(stderr.String(), answer)) {
		t.Errorf("%s: exit %d\n%s%s", line, code, &stdout, &stderr)
	}
	if redirected {
		if err := os.WriteFile(file, stdout.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// refusals are the answers to examples that need what no new project has: a model, a server,
// a token, whose id can't be chosen, a shared database, and a release's plugins.
var refusals = map[string]string{
	"reflectory dream calibrate":                                  "is not calibrated",
	"reflectory dream calibrate --pairs pairs.jsonl":              "no file pairs.jsonl",
	"reflectory doctor llm":                                       "no model is named",
	"reflectory doctor llm workflow.yaml --write":                 "no model is named",
	"reflectory open":                                             "there is no server",
	"reflectory token revoke 65f0a1b2":                            "there is no token",
	"reflectory hosts drain 0193a1f2-7c3e-7d52-9b1a-6f0c2d4e8a91": "there is no host",
	"reflectory tenant move team --stores stores.yaml":            "no file stores.yaml",
	"reflectory tenant move team --stores stores.yaml --other postgres://app@db2.example.org/team":               "no file stores.yaml",
	"reflectory plugin add --mcp everything --grant fs:system -- npx -y @modelcontextprotocol/server-everything": "copy reflectory/mcp-eval",
	"reflectory plugin add --mcp search --url https://mcp.example.org/mcp --grant network:mcp.example.org:443":   "server",
	"reflectory plugin push":                                 "where hosts share a database",
	"reflectory policy push examples/policy-folder/policies": "where hosts share a database",
}
