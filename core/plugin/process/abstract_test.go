//go:build linux

package process_test

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/plugin/process"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
)

// abstractNames are names of abstract unix sockets in all their forms, each unique to a test:
// with the NUL byte that makes it abstract, and "" for one that the kernel chooses.
func abstractNames(unique string) map[string]string {
	return map[string]string{
		"plain":            "\x00" + unique,
		"chosen by kernel": "",
		"one byte":         "\x00\x01",
		"with a NUL":       "\x00" + unique + "\x00tail",
		"NUL at the end":   "\x00" + unique + "-end\x00",
		"like a path":      "\x00/tmp/.X11-unix/" + unique,
		"not UTF-8":        "\x00" + unique + "\xff\xfe",
		"longest":          "\x00" + unique + strings.Repeat("x", 107-len(unique)),
		"of a bus":         "\x00/run/dbus/" + unique,
	}
}

// TestPlugin_ListensOnNoAbstractSocket of the host's: any program of the machine could connect to
// it, whatever Landlock and seccomp say, and take what the plugin knows.
func TestPlugin_ListensOnNoAbstractSocket(t *testing.T) {
	for _, processes := range []int{1, 2} {
		p := self(t, "serve")
		p.Limits.Processes = processes
		i := start(t, process.Options{}, p)
		if !holds(i).Network {
			if sandbox.Probe().Network {
				t.Errorf("%d processes: no network namespace, though the system has them: %+v", processes, holds(i))
			}
			continue // TestStatus_NamesAbstractSockets makes sure that the status says so
		}
		for form, name := range abstractNames(fmt.Sprintf("reflectory-%d-%d", os.Getpid(), processes)) {
			got, ok := strings.CutPrefix(try(t, i, "listen", strconv.Quote(name)), "got: ")
			if !ok {
				continue // refused is better still
			}
			if conn, err := dialAbstract(t, got); err == nil {
				_ = conn.Close()
				t.Errorf("%d processes, %s: the host reaches the plugin at %s", processes, form, got)
			}
		}
	}
}

// TestPlugin_SharesNoAbstractName with the host or with another plugin: two that listen at one
// name show that there are two tables of names.
func TestPlugin_SharesNoAbstractName(t *testing.T) {
	name := fmt.Sprintf("reflectory-shared-%d", os.Getpid())
	listener, err := net.Listen("unix", "@"+name)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for n := range 2 {
		i := start(t, process.Options{}, self(t, "serve"))
		if got := try(t, i, "listen", strconv.Quote("\x00"+name)); holds(i).Network && !strings.HasPrefix(got, "got: ") {
			t.Errorf("instance %d meets the host's names: %s", n, got)
		}
	}
}

// TestPlugin_ReachableWithoutSandbox shows that the tests above would find a plugin that listens.
func TestPlugin_ReachableWithoutSandbox(t *testing.T) {
	i := start(t, process.Options{Sandbox: sandbox.Off}, self(t, "serve"))
	got := strings.TrimPrefix(try(t, i, "listen", strconv.Quote("")), "got: ")
	conn, err := dialAbstract(t, got)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

func dialAbstract(t *testing.T, quoted string) (net.Conn, error) {
	t.Helper()
	name, err := strconv.Unquote(quoted)
	if err != nil {
		t.Fatal(quoted, err)
	}
	return net.Dial("unix", name) // "@" is what Go writes for the first NUL
}
