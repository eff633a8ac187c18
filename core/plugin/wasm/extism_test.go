package wasm_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/wasm"
	"github.com/reflectory/reflectory/sdk"
)

// extismPlugin is the path of a plug-in in the module of Extism's Go SDK.
func extismPlugin(t testing.TB, name string) string {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.modules["extism"] == "" {
		folder, err := coretest.SuiteModule(filepath.Join("..", "..", ".."), "github.com/extism/go-sdk")
		if err != nil {
			t.Fatal(err)
		}
		shared.modules["extism"] = filepath.Join(folder, "wasm")
	}
	return filepath.Join(shared.modules["extism"], name+".wasm")
}

// correct has a plug-in make an output of another.
func correct(i plugin.Instance, c plugin.Config, output string) (string, error) {
	results, err := i.Correct(context.Background(), c, []*sdk.CorrectRequest{{Output: json.RawMessage(output)}})
	if err != nil {
		return "", err
	}
	if results[0].Err != nil {
		return "", results[0].Err
	}
	return string(results[0].Response.Output), nil
}

func TestExtismPluginsRunAsTheyAre(t *testing.T) {
	coretest.Long(t)
	d := newDriver(t, wasm.Options{})
	for _, tt := range []struct{ name, config, input, want string }{
		{"count_vowels", `{"function":"count_vowels"}`, `"hello world"`, `{"count":3,"total":3,"vowels":"aeiouAEIOU"}`},
		{"hello", `{"function":"run_test"}`, `""`, `"Hello, world!"`},
		{"config", `{"function":"run_test","thing":"hello"}`, `""`, `{"config":"hello"}`},
		{"config", `{"function":"run_test"}`, `""`, `{"config":"<unset by host>"}`},
		{"alloc", `{"function":"run_test"}`, `""`, `""`},
		{"input_offset", `{"function":"input_offset_length"}`, `"hello world"`, ``},
		{"hello_haskell", `{"function":"testing","greeting":"Howdy"}`, `"John"`, `"Howdy, John"`},
		{"replace", `{"function":"run_test"}`, `"Hello, World!"`, ``},
		{"count_vowels_std", `{"function":"_start"}`, `"ben"`, ``},
	} {
		i := start(t, d, plugin.Installed{Name: "plug", Path: extismPlugin(t, tt.name)})
		first, err := correct(i, config(tt.config), tt.input)
		if err != nil || tt.want != "" && first != tt.want {
			t.Errorf("%s: %s %v", tt.name, first, err)
		}
		if again, err := correct(i, config(tt.config), tt.input); err != nil || again != first {
			t.Errorf("%s: %s, then %s %v", tt.name, first, again, err)
		}
	}
}

func TestAPlainExtismPluginIsOfEveryKind(t *testing.T) {
	d := newDriver(t, wasm.Options{})
	i := start(t, d, plugin.Installed{Name: "acme/plug", Version: "2.1.0", Path: extismPlugin(t, "count_vowels")})
	if m := i.Manifest(); m.Name != "plug" || m.Version != "2.1.0" || len(m.Kinds) != 3 || m.Validate() != nil {
		t.Errorf("%+v", m)
	}
	c := config(`{"function":"count_vowels","input":"text"}`)
	results, err := i.Generate(t.Context(), c, []*sdk.GenerateRequest{{State: json.RawMessage(`{"text":"aa"}`)}, {State: json.RawMessage(`{}`)}})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(results[0].Response.Output); !strings.HasPrefix(got, `{"count":2,`) || results[0].Response.Metadata[wasm.MetadataFuel] == "" {
		t.Error(got)
	}
	if sdk.ReasonOf(results[1].Err) != "input_missing" {
		t.Error(results[1].Err)
	}
	// Its output is JSON, but no verdict.
	if r, err := evaluate(i, c, `"aa"`); sdk.ReasonOf(err) != "response_invalid" || !strings.Contains(err.Error(), `{"count":2,`) {
		t.Errorf("%v %v", r, err)
	}
	for _, bad := range []string{`{}`, `{"function":"gone"}`, `{"function":1}`} {
		err := i.Prepare(t.Context(), sdk.KindEvaluator, config(bad))
		if sdk.ReasonOf(err) != "config_invalid" || sdk.AsError(err).Hint == "" {
			t.Errorf("%s: %v", bad, err)
		}
	}
	hello := start(t, d, plugin.Installed{Name: "plug", Path: extismPlugin(t, "hello")})
	if _, err := evaluate(hello, config(`{"function":"run_test"}`), `""`); sdk.ReasonOf(err) != "response_invalid" {
		t.Errorf("text as a verdict: %v", err)
	}
}

func TestAnExtismPluginsFailuresAreItsOwn(t *testing.T) {
	d := newDriver(t, wasm.Options{})
	fails := start(t, d, plugin.Installed{Name: "plug", Path: extismPlugin(t, "fail")})
	_, err := correct(fails, config(`{"function":"run_test"}`), `""`)
	if sdk.ReasonOf(err) != "plugin_failed" || !strings.Contains(err.Error(), "Some error message") {
		t.Error(err)
	}
	exits := start(t, d, plugin.Installed{Name: "plug", Path: extismPlugin(t, "exit")})
	_, err = correct(exits, config(`{"function":"_start","code":"500"}`), `""`)
	if sdk.ReasonOf(err) != "plugin_failed" || !strings.Contains(err.Error(), "failed with 500") {
		t.Error(err)
	}
}

func TestExtismVariablesLastAsLongAsTheGuest(t *testing.T) {
	d := newDriver(t, wasm.Options{})
	c := config(`{"function":"count_vowels"}`)
	for stateful, want := range map[bool]string{true: `"total":2`, false: `"total":1`} {
		i := start(t, d, plugin.Installed{Name: "plug", Path: extismPlugin(t, "count_vowels"), Stateful: stateful})
		var got string
		for range 2 {
			var err error
			if got, err = correct(i, c, `"a"`); err != nil {
				t.Fatal(err)
			}
		}
		if !strings.Contains(got, want) {
			t.Errorf("stateful %t: %s", stateful, got)
		}
	}
}

func TestAnExtismPluginLogs(t *testing.T) {
	var lines []string
	d := newDriver(t, wasm.Options{Log: func(l plugin.LogLine) { lines = append(lines, l.Level+" "+l.Message) }})
	i := start(t, d, plugin.Installed{Name: "plug", Path: extismPlugin(t, "log")})
	if _, err := correct(i, config(`{"function":"run_test"}`), `""`); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(lines, "|"); got != "info this is an info log|warn this is a warning log|error this is an error log" {
		t.Error(got)
	}
}

// loopback is a name server that knows one address.
type loopback struct{}

func (loopback) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

func TestExtismRequestsNeedTheirGrant(t *testing.T) {
	d := newDriver(t, wasm.Options{Resolver: loopback{}})
	c := config(`{"function":"run_test"}`)
	denied := start(t, d, plugin.Installed{Name: "plug", Path: extismPlugin(t, "http")})
	if _, err := correct(denied, c, `""`); sdk.ReasonOf(err) != "network_denied" {
		t.Error(err)
	}
	private := start(t, d, plugin.Installed{
		Name: "plug", Path: extismPlugin(t, "http"), Granted: plugin.Capabilities{Network: []string{"jsonplaceholder.typicode.com:443"}},
	})
	if _, err := correct(private, c, `""`); sdk.ReasonOf(err) != "address_denied" {
		t.Error(err)
	}
	if denied.Cause() != nil || private.Cause() != nil {
		t.Error("a refusal ended the instance")
	}
}

func TestAGuestReachesWhatItWasGranted(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		w.Write([]byte("short and stout " + r.Header.Get("X-Own")))
	}))
	defer server.Close()
	c := config(`{"do":"http","url":"` + server.URL + `"}`)
	d := newDriver(t, wasm.Options{})
	p := plugin.Installed{Path: goGuest(t, "c-shared")}
	if _, err := evaluate(start(t, d, p), c, `1`); sdk.ReasonOf(err) != "network_denied" || sdk.AsError(err).Hint == "" {
		t.Error(err)
	}
	p.Granted.Network = []string{server.Listener.Addr().String()}
	if got := feedback(t, start(t, d, p), c); got != "418 short and stout 1" {
		t.Error(got)
	}
}
