package scaffold_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/reflectory/reflectory/cmd/host/internal/scaffold"
	"github.com/reflectory/reflectory/core/coretest"
)

const sdkModule = "github.com/reflectory/reflectory/sdk"

// ofTheHost are the host's own libraries, which a plugin that is built on the sdk never pins.
var ofTheHost = []string{
	"go.opentelemetry.io/", "github.com/cockroachdb/", "github.com/google/cel-go", "github.com/tetratelabs/wazero", "github.com/jackc/",
	"github.com/prometheus/", "github.com/spf13/", "github.com/modelcontextprotocol/", "github.com/nikolalohinski/", "github.com/letsencrypt/",
}

// A plugin in Go, which requires the published sdk alone, is built and passes its own test, which
// runs the conformance kit. Its go.sum pins what the sdk is made of: for a module nothing but
// go-cmp, which the sdk's tests use, for a process gRPC and go-plugin too.
func TestTheGoTemplate_IsBuiltOnTheSDKAlone(t *testing.T) {
	coretest.Long(t)
	for runtime, most := range map[string]int{"process": 62, "wasm": 4} {
		t.Run(runtime, func(t *testing.T) {
			dir, _ := begin(t, scaffold.Options{Name: "acme/no-spam", Language: "go", Runtime: runtime})
			version := sdkVersion(t, dir)
			if ours := sdkVersion(t, "../../../.."); version != ours {
				t.Errorf("the plugin requires the sdk %s, and this module %s: name the same in scaffold.go", version, ours)
			}
			env := publishedSDK(t, version)
			// go mod tidy would also want what the tests of the sdk's libraries import, which nothing here downloads
			cmd := exec.CommandContext(t.Context(), "go", "test", "-mod=mod", "./...")
			cmd.Dir, cmd.Env = dir, env
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("go test: %v\n%s", err, out)
			}
			sums, err := os.ReadFile(filepath.Join(dir, "go.sum"))
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(sums), "\n"); n > most {
				t.Errorf("go.sum has %d lines (limit %d):\n%s", n, most, sums)
			}
			for line := range strings.Lines(string(sums)) {
				for _, library := range ofTheHost {
					if strings.HasPrefix(line, library) {
						t.Errorf("go.sum pins a library of the host: %s", line)
					}
				}
			}
		})
	}
}

// sdkVersion is the version of the sdk that the module in a folder requires.
func sdkVersion(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	_, version, _ := strings.Cut(string(text), sdkModule+" ")
	version, _, _ = strings.Cut(version, "\n")
	return version
}

// publishedSDK publishes the module sdk of this tree, at a version, to the go command of one test:
// what it returns is the command's environment. All other modules are the ones that have been
// downloaded already, so no network is needed. They are unpacked again in a folder of the test's,
// since the cache of modules must never have a version that isn't published.
func publishedSDK(t *testing.T, version string) []string {
	t.Helper()
	dir := t.TempDir()
	cache, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "proxy", filepath.FromSlash(sdkModule), "@v")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("../../../../sdk/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	archive, err := os.Create(filepath.Join(folder, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	if err := zip.CreateFromDir(archive, module.Version{Path: sdkModule, Version: version}, "../../../../sdk"); err != nil {
		t.Fatal(err)
	}
	for suffix, data := range map[string][]byte{".mod": mod, ".info": []byte(`{"Version":"` + version + `"}`)} {
		if err := os.WriteFile(filepath.Join(folder, version+suffix), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	downloaded := filepath.ToSlash(strings.TrimSpace(string(cache)))
	return append(os.Environ(), "GOWORK=off", "GOSUMDB=off", "GOFLAGS=-trimpath -modcacherw", "GOMODCACHE="+filepath.Join(dir, "modules"),
		"GOPROXY=file://"+filepath.ToSlash(dir)+"/proxy,file://"+downloaded+"/cache/download")
}
