package fuel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/plugin/wasm/fuel"
	"github.com/reflectory/reflectory/sdk"
)

func TestMain(m *testing.M) { os.Exit(coretest.WithPlain(m).Run()) }

// script is a file of the WebAssembly spec tests, as wast2json writes it.
type script struct {
	Commands []command `json:"commands"`
}

type command struct {
	Type     string `json:"type"`
	Line     int    `json:"line"`
	Name     string `json:"name"`
	Filename string `json:"filename"`
	As       string `json:"as"`
	Action   struct {
		Type   string  `json:"type"`
		Module string  `json:"module"`
		Field  string  `json:"field"`
		Args   []value `json:"args"`
	} `json:"action"`
}

type value struct {
	Type  string          `json:"type"`
	Lane  string          `json:"lane_type"`
	Value json.RawMessage `json:"value"`
}

// tally is the result of a suite.
type tally struct {
	modules, metered, refused, calls, traps int
}

func (t *tally) add(o tally) {
	t.modules += o.modules
	t.metered += o.metered
	t.refused += o.refused
	t.calls += o.calls
	t.traps += o.traps
}

// The official tests, which wazero carries: every module that it accepts does the
// same with metering as without.
func TestSpecTestsGiveTheSameResultsMetered(t *testing.T) {
	coretest.Long(t)
	if coretest.Plain(t) {
		return
	}
	root := filepath.Join(moduleFolder(t, "github.com/tetratelabs/wazero"), "internal", "integration_test", "spectest")
	spectest := readFile(t, filepath.Join(root, "testdata", "spectest.wasm"))
	var all tally
	for _, suite := range []struct {
		name           string
		features       api.CoreFeatures
		modules, calls int // at least
	}{
		{"v2", api.CoreFeaturesV2, coretest.Heavy(600, 1500), coretest.Heavy(15_000, 45_000)}, {"threads", features, 5, 200}, {"tail-call", features, 5, 50},
		{"extended-const", features, 10, 50}, {"exception-handling", features, 10, 20}, {"typed-function-references", features, coretest.Heavy(80, 200), coretest.Heavy(200, 500)},
	} {
		t.Run(suite.name, func(t *testing.T) {
			files, err := filepath.Glob(filepath.Join(root, suite.name, "testdata", "*.json"))
			if err != nil {
				t.Fatal(err)
			}
			var sum tally
			for i, file := range files {
				if len(files) > 20 && i%coretest.Heavy(2, 1) > 0 {
					continue
				}
				sum.add(runScript(t, file, suite.features, spectest))
			}
			fmt.Printf("WebAssembly spec tests %s: %+v\n", suite.name, sum)
			if sum.modules < suite.modules || sum.calls < suite.calls {
				t.Errorf("found %+v, want at least %d modules and %d calls", sum, suite.modules, suite.calls)
			}
			all.add(sum)
		})
	}
	share := 100 * float64(all.metered) / float64(all.modules)
	fmt.Printf("WebAssembly spec tests: %d of %d modules metered (%.2f %%), %d calls and %d traps equal\n",
		all.metered, all.modules, share, all.calls, all.traps)
	if share < 99 {
		t.Errorf("%.2f %% of the modules were metered, want at least 99", share)
	}
}

// stage runs a script's modules as they are in one runtime and metered in another.
type stage struct {
	t              *testing.T
	file           string
	plain, metered *side
	tally          tally
}

// side is a runtime with what a script has put into it.
type side struct {
	runtime wazero.Runtime
	modules map[string]api.Module
	last    api.Module
}

func newSide(t *testing.T, features api.CoreFeatures, spectest []byte) *side {
	r := newRuntime(t, wazero.NewRuntimeConfig().WithCoreFeatures(features), endless)
	if _, err := r.InstantiateWithConfig(context.Background(), spectest, wazero.NewModuleConfig()); err != nil {
		t.Fatal(err)
	}
	return &side{runtime: r, modules: map[string]api.Module{}}
}

func runScript(t *testing.T, file string, features api.CoreFeatures, spectest []byte) tally {
	t.Helper()
	var s script
	if err := json.Unmarshal(readFile(t, file), &s); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	st := &stage{t: t, file: file, plain: newSide(t, features, spectest), metered: newSide(t, features, instrument(t, spectest))}
	defer st.plain.runtime.Close(context.Background())
	defer st.metered.runtime.Close(context.Background())
	for i, c := range s.Commands {
		as := ""
		if i+1 < len(s.Commands) && s.Commands[i+1].Type == "register" {
			as = s.Commands[i+1].As
		}
		st.run(c, as)
	}
	return st.tally
}

func (st *stage) run(c command, as string) {
	switch c.Type {
	case "module", "assert_unlinkable", "assert_uninstantiable":
		st.module(c, as)
	case "assert_return", "action", "assert_trap", "assert_exhaustion", "assert_exception":
		st.call(c)
	}
}

func (st *stage) errorf(c command, format string, args ...any) {
	st.t.Helper()
	st.t.Errorf("%s:%d: %s: %s", filepath.Base(st.file), c.Line, c.Type, fmt.Sprintf(format, args...))
}

func (st *stage) module(c command, as string) {
	if !strings.HasSuffix(c.Filename, ".wasm") {
		return
	}
	plain := readFile(st.t, filepath.Join(filepath.Dir(st.file), c.Filename))
	compiled, err := st.plain.runtime.CompileModule(context.Background(), plain)
	if err != nil {
		return // not one that wazero accepts
	}
	compiled.Close(context.Background())
	st.tally.modules++
	metered, err := fuel.Instrument(plain)
	if err != nil {
		if sdk.ReasonOf(err) != "fuel_unsupported" {
			st.errorf(c, "refused with %v", err)
		}
		st.tally.refused++
		metered = plain
	} else {
		st.tally.metered++
	}
	want, got := st.plain.instantiate(c.Name, as, plain), st.metered.instantiate(c.Name, as, metered)
	if want != got {
		st.errorf(c, "%s: plain %q, metered %q", c.Filename, want, got)
	}
	if want != "" && c.Type == "module" {
		st.errorf(c, "%s: %q", c.Filename, want)
	}
}

// instantiate returns how it failed, or "".
func (s *side) instantiate(name, as string, module []byte) string {
	m, err := s.runtime.InstantiateWithConfig(context.Background(), module, wazero.NewModuleConfig().WithName(as).WithStartFunctions())
	if err != nil {
		return failure(err)
	}
	s.last = m
	if name != "" {
		s.modules[name] = m
	}
	return ""
}

func (st *stage) call(c command) {
	want, wantErr := st.plain.do(c)
	got, gotErr := st.metered.do(c)
	trap := c.Type != "assert_return" && c.Type != "action"
	switch {
	case failure(wantErr) != failure(gotErr):
		st.errorf(c, "%s: plain %v, metered %v", c.Action.Field, wantErr, gotErr)
	case trap != (wantErr != nil):
		st.errorf(c, "%s: %v", c.Action.Field, wantErr)
	case trap:
		st.tally.traps++
	case fmt.Sprint(want) != fmt.Sprint(got):
		st.errorf(c, "%s: plain %v, metered %v", c.Action.Field, want, got)
	default:
		st.tally.calls++
	}
}

// do invokes a function or reads a global. References are given as whether they
// are null, since they are addresses.
func (s *side) do(c command) ([]uint64, error) {
	m := s.last
	if c.Action.Module != "" {
		m = s.modules[c.Action.Module]
	}
	if c.Action.Type == "get" {
		return []uint64{m.ExportedGlobal(c.Action.Field).Get()}, nil
	}
	var args []uint64
	for _, arg := range c.Action.Args {
		args = append(args, arg.bits()...)
	}
	f := m.ExportedFunction(c.Action.Field)
	out, err := f.Call(context.Background(), args...)
	at := 0
	for _, t := range f.Definition().ResultTypes() {
		if t != api.ValueTypeI32 && t != api.ValueTypeI64 && t != api.ValueTypeF32 && t != api.ValueTypeF64 && t != 0x7b && at < len(out) {
			out[at] = min(out[at], 1)
		}
		at++
		if t == 0x7b {
			at++
		}
	}
	return out, err
}

// failure is the part of an error that doesn't depend on where things lie.
func failure(err error) string {
	if err == nil {
		return ""
	}
	text, _, _ := strings.Cut(err.Error(), "\nwasm stack trace")
	if _, cause, ok := strings.Cut(text, "failed: "); ok && strings.HasPrefix(text, "start function[") {
		return cause
	}
	return text
}

// bits are an argument's 64-bit words.
func (v value) bits() []uint64 {
	if v.Type == "v128" {
		var lanes []string
		if err := json.Unmarshal(v.Value, &lanes); err != nil {
			panic(err)
		}
		width := 128 / len(lanes)
		words := make([]uint64, 2)
		for i, lane := range lanes {
			words[i*width/64] |= parseBits(lane, width) << (i * width % 64)
		}
		return words
	}
	var text string
	if err := json.Unmarshal(v.Value, &text); err != nil || text == "null" {
		return []uint64{0}
	}
	switch {
	case strings.HasSuffix(v.Type, "ref"):
		return []uint64{parseBits(text, 64) + 1} // 0 is null
	case strings.HasSuffix(v.Type, "32"):
		return []uint64{parseBits(text, 32)}
	}
	return []uint64{parseBits(text, 64)}
}

func parseBits(text string, width int) uint64 {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return uint64(n) & (1<<width - 1 | -uint64(width/64))
	}
	n, err := strconv.ParseUint(text, 10, width)
	if err != nil {
		panic(err)
	}
	return n
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
