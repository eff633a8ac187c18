package scan_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/plugin/wasm/scan"
	"github.com/reflectory/reflectory/sdk"
)

// features are all that wazero runs.
const features = api.CoreFeaturesV2 | experimental.CoreFeaturesThreads | experimental.CoreFeaturesTailCall |
	experimental.CoreFeaturesExtendedConst | experimental.CoreFeaturesExceptionHandling |
	experimental.CoreFeaturesTypedFunctionReferences

func TestScan_RefusesCompileBombs(t *testing.T) {
	says := map[string]string{
		"4e9 locals": "4000000000 locals in a function (limit 50000)", "1e8 locals": "100000000 locals in a function (limit 50000)",
		"2,000 functions of 49,999 locals": " locals (limit 10000000)",
		"20,000 nested loops":              "1001 nested loops (limit 1000)", "50,000 nested blocks": "5001 nested blocks (limit 5000)",
		"a br_table of 2,000,000": "2000000 branch targets (limit 1000000)",
		"a table of 100,000,000":  "100000000 entries of tables (limit 1000000)",
	}
	for _, bomb := range coretest.CompileBombs() {
		_, err := scan.Scan(bomb.Module())
		switch {
		case !bomb.Refused:
			if err != nil {
				t.Errorf("%s: %v", bomb.Name, err)
			}
		case sdk.ReasonOf(err) != "module_too_complex" || says[bomb.Name] == "" || !strings.Contains(err.Error(), says[bomb.Name]):
			t.Errorf("%s: %v", bomb.Name, err)
		}
	}
}

// Each bound is met at its number, and passed by one more.
func TestScan_TakesWhatIsWithinTheBounds(t *testing.T) {
	for name, module := range map[string]func(n int) []byte{
		"nesting": func(n int) []byte { return oneBody("\x02\x40", n-1+scan.MaxNesting, 0) },
		"loops":   func(n int) []byte { return oneBody("\x02\x40\x03\x40\x0b\x03\x40", n-1+scan.MaxLoops, 0) },
		"locals":  func(n int) []byte { return oneBody("", 0, n-1+scan.MaxLocals) },
		"types": func(n int) []byte {
			return header(1, append(uleb(n-1+scan.MaxCount), make([]byte, scan.MaxCount+1)...))
		},
		"imports":          func(n int) []byte { return header(2, uleb(n-1+scan.MaxCount)) },
		"functions":        func(n int) []byte { return header(3, uleb(n-1+scan.MaxCount)) },
		"globals":          func(n int) []byte { return header(6, uleb(n-1+scan.MaxCount)) },
		"exports":          func(n int) []byte { return header(7, uleb(n-1+scan.MaxCount)) },
		"element segments": func(n int) []byte { return header(9, uleb(n-1+scan.MaxCount)) },
		"data segments":    func(n int) []byte { return header(11, uleb(n-1+scan.MaxCount)) },
		"tags":             func(n int) []byte { return header(13, uleb(n-1+scan.MaxCount)) },
		"entries of tables": func(n int) []byte {
			return header(4, append([]byte{1, 0x70, 0}, uleb(n-1+scan.MaxCount)...))
		},
		"targets": func(n int) []byte {
			body := append([]byte{0, 0x41, 0, 0x0e}, uleb(n-1+scan.MaxCount)...)
			return bodies(append(body, make([]byte, n+scan.MaxCount)...), 1)
		},
		"all locals": func(n int) []byte { // each of these functions has 50,000, and the last the rest
			const each, functions = 50_000, 200
			rest := append([]byte{1}, append(uleb(n-1), 0x7f)...)
			return bodies(append([]byte{1}, append(uleb(each), 0x7f)...), functions, rest...)
		},
		"bytes in a function": func(n int) []byte { return bodies(append([]byte{0}, make([]byte, n-1+scan.MaxBody-2)...), 1) },
	} {
		if _, err := scan.Scan(module(1)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := scan.Scan(module(2)); sdk.ReasonOf(err) != "module_too_complex" {
			t.Errorf("%s and one more: %v", name, err)
		}
	}
	if _, err := scan.Scan(make([]byte, scan.MaxModule+1)); sdk.ReasonOf(err) != "module_too_large" {
		t.Errorf("a module of more than %d bytes: %v", scan.MaxModule, err)
	}
}

func uleb(n int) []byte {
	var out []byte
	for ; n > 0x7f; n >>= 7 {
		out = append(out, byte(n)|0x80)
	}
	return append(out, byte(n))
}

// header is a module of one section.
func header(id byte, content []byte) []byte {
	return append(append([]byte("\x00asm\x01\x00\x00\x00"), append([]byte{id}, uleb(len(content))...)...), content...)
}

// bodies is a module with so many functions of one body, which ends there, and one more
// if it has a last.
func bodies(body []byte, times int, last ...byte) []byte {
	sized := func(b []byte) []byte { return append(uleb(len(b)+1), append(b, 0x0b)...) }
	code := bytes.Repeat(sized(body), times)
	if len(last) > 0 {
		times++
		code = append(code, sized(last)...)
	}
	// In a body of nothing but zeros each is the instruction unreachable.
	return header(10, append(uleb(times), code...))
}

// oneBody is a module of one function, in which blocks are opened so many times.
func oneBody(open string, times, locals int) []byte {
	body := append(append([]byte{1}, uleb(locals)...), 0x7f)
	depth := (strings.Count(open, "\x40") - strings.Count(open, "\x0b")) * times
	body = append(body, strings.Repeat(open, times)+strings.Repeat("\x0b", depth+1)...)
	return header(10, append(append([]byte{1}, uleb(len(body))...), body...))
}

func TestScan_RefusesWhatCannotBeBounded(t *testing.T) {
	for name, module := range map[string][]byte{
		"waiting for threads": header(10, []byte("\x01\x0b\x00\x41\x00\x41\x00\x42\x00\xfe\x01\x02\x00")),
		"catching exceptions": header(10, []byte("\x01\x06\x00\x1f\x40\x00\x0b\x0b")),
	} {
		if _, err := scan.Scan(module); sdk.ReasonOf(err) != "instruction_unsupported" || sdk.AsError(err).Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// eachSpecModule calls a function with the official tests' modules, which wazero
// carries.
func eachSpecModule(t testing.TB, do func(name string, module []byte)) {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(strings.TrimSpace(string(out)), "internal", "integration_test", "spectest")
	err = filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".wasm" {
			return err
		}
		module, err := os.ReadFile(path)
		do(strings.TrimPrefix(path, root), module)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The scan accepts what the engine accepts, except modules that wait or catch.
func TestScan_TakesWhatTheEngineTakes(t *testing.T) {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(features))
	defer r.Close(ctx)
	taken := 0
	eachSpecModule(t, func(name string, module []byte) {
		_, err := scan.Scan(module)
		if err == nil {
			taken++
			return
		}
		if sdk.ReasonOf(err) == "instruction_unsupported" {
			return
		}
		compiled, engine := r.CompileModule(ctx, module)
		if engine == nil {
			compiled.Close(ctx)
			t.Errorf("%s: %v", name, err)
		}
	})
	if taken < 5000 {
		t.Errorf("%d modules were taken", taken)
	}
}

// Whatever bytes it is given, the scan ends with an answer of its own.
func FuzzScan(f *testing.F) {
	n := 0
	eachSpecModule(f, func(_ string, module []byte) {
		if n++; n%40 == 0 && len(module) < 1<<12 {
			f.Add(module)
		}
	})
	f.Fuzz(func(t *testing.T, module []byte) {
		_, err := scan.Scan(module)
		switch sdk.ReasonOf(err) {
		case "", "module_invalid", "module_too_complex", "module_too_large", "instruction_unsupported":
		default:
			t.Fatal(err)
		}
		if err != nil && sdk.AsError(err).Hint == "" {
			t.Fatalf("no hint: %v", err)
		}
	})
}
