package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/plugins/checks-eval/checkseval"
	"github.com/reflectory/reflectory/plugins/command-eval/commandeval"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmeval"
	"github.com/reflectory/reflectory/plugins/lua-eval/luaeval"
	"github.com/reflectory/reflectory/plugins/mcp-eval/mcpeval"
	"github.com/reflectory/reflectory/plugins/schema-eval/schemaeval"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/process"
)

// plugins are the shipped plugins, one that counts and one that talks, served by
// this test binary under their own names, so that no build step is needed.
var plugins = map[string]func() sdk.Plugin{
	"reflectory/schema-eval":  schemaeval.Plugin,
	"reflectory/checks-eval":  checkseval.Plugin,
	"reflectory/command-eval": commandeval.Plugin,
	"reflectory/llm-eval":     func() sdk.Plugin { return llmeval.Plugin(llmeval.Options{}) },
	"reflectory/lua-eval":     luaeval.Plugin,
	"test/tally":              tally,
	"test/chatty":             chatty,
}

// quickGone is when hosts of the program quick-host count as gone: soon, so that a test
// doesn't wait for long, and not so soon that a slow machine makes one look gone.
const quickGone = 2 * time.Second

// gogc is the GOGC of the programs of the tests: they end before garbage is collected.
const gogc = "400"

// programs is a folder with this test binary, without the race detector, under the
// name of each plugin and of the host. Which program it is follows from the name
// that it is started by. How goroutines of the host and of the plugins share memory
// is seen in the tests that run them in this process, those that match concurrent.
var programs string

// ownFolder is the folder of this package, which some tests leave.
var ownFolder string

func TestMain(m *testing.M) {
	commands := map[string]func(){"reflectory": func() { os.Exit(mainWith(withClock(host.Config{}))) }, "memory-writer": writeMemories}
	for name, plugin := range plugins {
		commands[path.Base(name)] = func() { process.Main(plugin()) }
	}
	commands["quick-host"] = func() { os.Exit(mainWith(withClock(host.Config{GoneAfter: quickGone}))) }
	commands["mcp-eval"] = serveMCP
	commands["prying"] = func() { process.Main(prying()) }
	for name, serve := range corners {
		commands[name] = serve
	}
	for name, serve := range hostiles {
		commands[name] = serve
	}
	testscript.Main(tests{m, commands}, commands)
}

// clockAhead is the environment variable that says by how much a program's clock is ahead, as
// a duration.
const clockAhead = "REFLECTORY_TEST_CLOCK_AHEAD"

// withClock gives a program the clock that its environment names.
func withClock(c host.Config) host.Config {
	text := os.Getenv(clockAhead)
	if text == "" {
		return c
	}
	ahead, err := time.ParseDuration(text)
	if err != nil {
		panic(err)
	}
	c.Clock = shiftedClock(ahead)
	c.IDs = &core.SystemIDs{Clock: c.Clock}
	return c
}

// shiftedClock is the machine's clock, ahead by this duration.
type shiftedClock time.Duration

func (c shiftedClock) Now() time.Time { return time.Now().Add(time.Duration(c)) }

// concurrent matches the tests in which several things happen at once in this process: servers,
// jobs, streams, runs, and what is shown while something else goes on. The others take most of
// the time of all, for commands one after the other.
const concurrent = `^Test((CommandWorkers|Jobs|MCP|PluginLogs|Progress|Reflect|Run|Serve|Server|Stream)_|` +
	`AFolderEditedUnderLoad|ASecond|ASignal|ABadPlugin|BulkWork|FilesAreBounded|TwoRunsAtOnce|WhoWaits)`

func TestOthersWithoutTheRaceDetector(t *testing.T) {
	t.Parallel()
	coretest.Rest(t, concurrent)
}

// tests makes programs before the tests run, and removes it after them.
type tests struct {
	m        *testing.M
	commands map[string]func()
}

func (t tests) Run() int {
	var err error
	if ownFolder, err = os.Getwd(); err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp("", "reflectory-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // a sandboxed plugin is another user
		panic(err)
	}
	program, err := coretest.PlainBinary(dir)
	if err != nil {
		panic(err)
	}
	for name := range t.commands {
		if err := linkFile(program, filepath.Join(dir, name)); err != nil {
			panic(err)
		}
	}
	if err := shipMCP(dir, program); err != nil {
		panic(err)
	}
	if err := os.Setenv("GOGC", gogc); err != nil {
		panic(err)
	}
	programs = dir
	coretest.Split(concurrent, "TestOthersWithoutTheRaceDetector")
	return coretest.WithPlainAt(t.m, program).Run()
}

// serveMCP is the plugin mcp-eval.
func serveMCP() {
	p, err := mcpeval.Plugin(os.Args[len(os.Args)-1])
	if err != nil {
		panic(err)
	}
	process.Main(p)
}

// shipMCP puts mcp-eval where the program looks for it, to make packages of MCP servers.
func shipMCP(dir, program string) error {
	folder := filepath.Join(dir, "plugins", "reflectory", "mcp-eval")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return linkFile(program, filepath.Join(folder, "mcp-eval"))
}

// linkFile puts a program at another path too.
func linkFile(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	in, err := os.Open(from) // another file system
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Close()
}

// installed makes the packages of all plugins, and their lock, that installPlugins copies.
var installed sync.Once

// installPlugins makes packages of all plugins in a folder, and pins them in a
// lock beside them, whose path it returns.
func installPlugins(t *testing.T, dir string) string {
	t.Helper()
	all := filepath.Join(programs, "installed")
	installed.Do(func() {
		for name, plugin := range plugins {
			p := plugin()
			m := p.Describe()
			var services []string
			for _, asked := range m.Capabilities {
				if service, ok := strings.CutPrefix(asked, "host:"); ok {
					services = append(services, service)
				}
			}
			installPlugin(t, all, name, m.Version, m.Kinds, services...)
		}
	})
	if err := os.CopyFS(dir, os.DirFS(all)); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, install.LockFile)
}

// packageText is the plugin.yaml of a program of this test binary.
const packageText = `name: %s
version: %s
kinds: %s
entry: [sh, run.sh]
capabilities: {fs: [system, %q], host: %s}
`

// shippedLimits are the limits that the plugin.yaml of a shipped plugin sets.
func shippedLimits(name string) string {
	text, _ := os.ReadFile(filepath.Join(ownFolder, "../../../../plugins", path.Base(name), install.PackageFile)) // of others there is none
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "limits:") {
			return line
		}
	}
	return ""
}

// installPlugin makes a package whose file is a script that becomes a program of
// this test binary: a program of its size would be copied and hashed whenever a
// test uses it.
func installPlugin(t *testing.T, dir, name, version string, kinds []sdk.Kind, services ...string) {
	t.Helper()
	folder := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{
		install.PackageFile: fmt.Sprintf(packageText, name, version, string(jsontext.MustEncode(kinds)), programs, jsontext.MustEncode(append([]string{}, services...))) + shippedLimits(name),
		"run.sh":            fmt.Sprintf("GOGC=%s exec '%s/%s' \"$@\"\n", gogc, programs, path.Base(name)),
	} {
		if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	place := install.Place{Lock: filepath.Join(dir, install.LockFile), Dir: dir}
	if _, err := install.Add(context.Background(), folder, install.AddOptions{Place: place, InPlace: true}); err != nil {
		t.Fatal(err)
	}
}
