package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/reflectory/reflectory/"

// imports is the direction of the code: each package with the packages of this
// module that it may import, tests aside. A package that isn't listed, an edge
// that isn't listed, and a listed one that is gone fail. Don't change the table
// to fix a build: ask first which way the import should go.
var imports = map[string][]string{
	"sdk":             {},
	"sdk/modeltext":   {"sdk"},
	"sdk/abi":         {"sdk"},
	"sdk/apikey":      {},
	"sdk/check":       {"sdk"},
	"sdk/guest":       {"sdk", "sdk/abi"},
	"sdk/httpfault":   {"sdk"},
	"sdk/jsonconfig":  {"sdk"},
	"sdk/wire":        {"sdk", "sdk/check", "sdk/wire/wirepb"},
	"sdk/wire/wirepb": {},
	"sdk/process":     {"sdk", "sdk/abi", "sdk/wire"},
	"sdk/sdktest":     {"sdk"},

	"plugins/schema-eval":            {"plugins/schema-eval/schemaeval", "sdk/process"},
	"plugins/schema-eval/schemaeval": {"plugins/internal/schema", "sdk", "sdk/jsonconfig", "sdk/modeltext"},
	"plugins/checks-eval":            {"plugins/checks-eval/checkseval", "sdk/process"},
	"plugins/checks-eval/checkseval": {"plugins/internal/expression", "plugins/internal/schema", "sdk", "sdk/jsonconfig"},
	"plugins/mcp-eval":               {"plugins/mcp-eval/mcpeval", "sdk/process"},
	"plugins/mcp-eval/mcpeval":       {"plugins/internal/expression", "plugins/internal/schema", "sdk", "sdk/jsonconfig"},
	"plugins/internal/expression":    {"plugins/internal/schema", "policy/celcost"},
	"plugins/internal/schema":        {"sdk"},
	"plugins/llm-eval":               {"plugins/llm-eval/llmeval", "sdk/process"},
	"plugins/llm-eval/llmeval":       {"plugins/internal/schema", "sdk", "sdk/apikey", "sdk/httpfault", "sdk/jsonconfig", "sdk/modeltext"},
	"plugins/llm-eval/llmtest":       {},
	"plugins/lua-eval":               {"plugins/lua-eval/luaeval", "sdk/process"},
	"plugins/lua-eval/luaeval":       {"sdk", "sdk/jsonconfig"},

	"plugins/command-eval":             {"plugins/command-eval/commandeval", "sdk/process"},
	"plugins/command-eval/commandeval": {"plugins/command-eval/report", "plugins/internal/expression", "sdk", "sdk/jsonconfig"},
	"plugins/command-eval/report":      {"sdk"},

	"core":            {"core/jsontext", "sdk"},
	"core/coretest":   {"core", "sdk"},
	"core/gate":       {"core", "core/gate/verdict", "core/journal", "core/jsontext", "core/policypoint", "core/table", "sdk"},
	"core/governance": {"core", "core/journal", "core/jsontext", "sdk"},
	"core/decisions":  {"core", "core/journal", "core/policypoint", "sdk"},
	"core/document":   {"core", "core/jsontext", "sdk"},
	"core/codec":      {},
	"core/journal":    {"core", "core/codec", "core/jsontext", "sdk"},
	"core/inject": {
		"core", "core/inject/tokenizer", "core/journal", "core/jsontext", "core/memory/text", "core/plainfile", "core/policypoint",
		"core/table", "sdk",
	},
	"core/loop": {"core", "core/jsontext", "core/policypoint", "core/work", "sdk", "sdk/modeltext"},
	"core/memory": {
		"core", "core/dream", "core/gate/verdict", "core/journal", "core/jsontext", "core/memory/check", "core/memory/internal/bounds",
		"core/memory/internal/feed", "core/memory/internal/record", "core/memory/knowledge", "core/memory/lifecycle", "core/memory/search",
		"core/memory/text", "core/memory/turn", "core/policypoint", "core/work", "sdk",
	},
	"core/memory/trial": {"core"},
	"core/memory/check": {
		"core", "core/gate/verdict", "core/journal", "core/memory/internal/bounds", "core/memory/internal/record", "core/memory/knowledge",
		"core/memory/trial", "core/memory/turn", "core/table", "sdk",
	},
	"core/memory/internal/bounds": {"core", "core/jsontext", "sdk"},
	"core/memory/internal/feed":   {"core", "core/codec", "core/journal", "core/memory/internal/record", "core/memory/knowledge", "core/memory/search"},
	"core/memory/internal/record": {
		"core", "core/codec", "core/dream", "core/gate/verdict", "core/journal", "core/jsontext", "core/memory/internal/bounds",
		"core/memory/trial", "core/policypoint", "core/table", "sdk",
	},
	"core/dream": {"core", "core/jsontext", "core/memory/text", "core/memory/vector", "sdk"},
	"core/memory/knowledge": {
		"core", "core/journal", "core/jsontext", "core/memory/internal/bounds", "core/memory/internal/record", "core/memory/search", "sdk",
	},
	"core/memory/turn": {
		"core", "core/journal", "core/jsontext", "core/memory/internal/bounds", "core/memory/internal/record", "core/memory/lifecycle",
		"core/memory/trial", "core/policypoint", "sdk",
	},
	"core/memory/lifecycle": {"core", "core/policypoint", "sdk"},
	// It has tests alone.
	"core/memory/lives":     {},
	"core/outbound":         {"sdk"},
	"core/plugin":           {"core", "core/jsontext", "core/share", "core/work", "sdk", "sdk/apikey"},
	"core/plugin/guard":     {"sdk"},
	"core/plugin/install":   {"core", "core/document", "core/jsontext", "core/plainfile", "core/plugin", "sdk"},
	"core/plugin/logfile":   {"core", "core/jsontext", "core/plugin", "sdk"},
	"core/plugin/logs":      {"core/plugin", "sdk/check"},
	"core/exec":             {"core", "core/exec/workspace", "core/plugin/process/sandbox", "core/share", "sdk"},
	"core/plugin/services":  {"core", "core/exec", "core/jsontext", "core/plugin", "core/plugin/logs", "sdk"},
	"core/plugin/wasm/fuel": {"sdk"},
	"core/plugin/wasm/scan": {"sdk"},
	"core/plugin/wasm": {
		"core/jsontext", "core/plugin", "core/plugin/guard", "core/plugin/logs", "core/plugin/wasm/fuel", "core/plugin/wasm/scan",
		"core/policypoint", "sdk", "sdk/abi", "sdk/check",
	},
	"core/reflection":     {"core", "core/journal", "core/jsontext", "core/table", "sdk", "sdk/modeltext"},
	"core/rate":           {"core", "core/jsontext", "core/table", "sdk"},
	"core/run":            {"core", "core/codec", "core/journal", "core/jsontext", "core/table", "sdk"},
	"core/table":          {"core", "core/jsontext", "sdk"},
	"core/share":          {},
	"core/store":          {"core", "core/codec", "core/journal", "core/jsontext", "core/run", "core/table", "sdk"},
	"core/store/mem":      {"core", "core/store"},
	"core/store/pebble":   {"core", "core/jsontext", "core/store", "sdk"},
	"core/store/postgres": {"core", "core/store", "sdk"},
	// Tests alone import it.
	"core/store/postgres/postgrestest": {"core", "core/coretest", "core/store/postgres"},
	"core/store/storetest":             {"core", "core/store", "sdk"},
	"core/workflow": {
		"core", "core/document", "core/jsontext", "core/loop", "core/plainfile", "core/policypoint", "core/workflow/action",
		"core/workflow/state", "core/workflow/template", "sdk",
	},
	"core/workflow/action":   {"core", "core/jsontext", "core/loop", "core/work", "sdk"},
	"core/workflow/state":    {"core", "core/jsontext", "sdk"},
	"core/workflow/template": {"sdk"},

	// The composition, and the operations on it.
	"core/host": {
		"core", "core/access", "core/conversation", "core/decisions", "core/discover", "core/dream", "core/exec", "core/gate", "core/governance", "core/host/config",
		"core/idempotency", "core/inject", "core/inject/policytext", "core/inject/rolemix", "core/inject/window", "core/job", "core/journal",
		"core/jsontext", "core/loop", "core/memory", "core/memory/embed", "core/memory/embed/openai", "core/memory/lifecycle",
		"core/memory/text", "core/memory/vector", "core/outbound", "core/plugin", "core/plugin/guard", "core/plugin/install",
		"core/plugin/logfile", "core/plugin/process", "core/plugin/process/sandbox", "core/plugin/services", "core/plugin/wasm",
		"core/pluginlock", "core/policypoint", "core/policyset", "core/rate", "core/reflection", "core/run", "core/share", "core/store",
		"core/store/pebble", "core/store/postgres", "core/work", "core/workflow", "core/workflow/action", "core/workflow/state", "policy",
		"policy/format", "sdk", "sdk/apikey", "sdk/modeltext",
	},
	"core/host/config": {
		"core", "core/access", "core/document", "core/dream", "core/jsontext", "core/memory/embed", "core/memory/embed/openai",
		"core/memory/search", "core/memory/vector", "core/outbound", "core/plainfile", "core/plugin", "core/plugin/install",
		"core/plugin/process/sandbox", "core/store/pebble", "core/store/postgres", "sdk",
	},
	"core/host/gateway": {
		"core", "core/conversation", "core/document", "core/host", "core/host/config", "core/plainfile", "core/rate", "core/share", "core/inject", "core/jsontext", "core/loop", "core/memory", "core/memory/text", "core/run",
		"core/work", "core/workflow", "core/workflow/action", "sdk",
	},
	"core/host/memoryfile": {"core", "core/document", "core/jsontext", "core/plainfile", "sdk"},
	"core/host/operation": {
		"core", "core/access", "core/decisions", "core/discover", "core/dream", "core/gate", "core/gate/verdict", "core/governance",
		"core/host", "core/host/config", "core/idempotency", "core/inject", "core/job", "core/journal", "core/jsontext", "core/memory",
		"core/plugin", "core/plugin/install", "core/plugin/logfile", "core/policypoint", "core/reflection", "core/run", "core/store",
		"core/workflow", "core/workflow/action", "core/workflow/state", "policy", "sdk",
	},
	// Tests alone import it.
	"core/host/operation/operationtest": {
		"core", "core/access", "core/coretest", "core/decisions", "core/dream", "core/gate", "core/gate/verdict", "core/host",
		"core/host/config", "core/host/operation", "core/inject", "core/job", "core/journal", "core/jsontext", "core/memory",
		"core/plugin/install", "core/policypoint", "core/reflection", "core/store", "core/store/mem", "policy", "sdk", "sdk/process",
	},

	// Not for the host: surfaces are tested with the operations' fixtures.

	// What recall is made of.
	"core/memory/embed":        {"core", "core/memory/text"},
	"core/memory/embed/openai": {"core", "core/memory/vector", "sdk", "sdk/httpfault"},
	"core/memory/search":       {"core", "core/dream", "core/memory/lifecycle", "core/memory/text", "core/memory/top", "core/memory/vector"},
	"core/memory/text":         {"core/memory/top", "sdk"},
	"core/memory/top":          {},
	"core/memory/vector":       {"core/memory/top", "sdk"},

	// The sandbox begins with a launcher that imports nothing.
	"core/plugin/process":                  {"core/plugin", "core/plugin/logs", "core/plugin/process/sandbox", "sdk", "sdk/abi", "sdk/check", "sdk/wire"},
	"core/plugin/process/sandbox":          {"core/plugin/process/sandbox/launcher", "sdk"},
	"core/plugin/process/sandbox/launcher": {},

	"policy":            {"core", "core/jsontext", "core/policypoint", "policy/defaults", "policy/format", "policy/program", "sdk"},
	"policy/celcost":    {}, // which also bounds the expressions of plugins
	"policy/defaults":   {},
	"policy/format":     {"core", "core/document", "core/jsontext", "sdk"},
	"policy/policytest": {"policy", "policy/format", "policy/program", "sdk"},
	"policy/program":    {"core", "policy/celcost", "policy/format", "sdk"},

	"cmd/host": {"cmd/host/internal/cli"},
	"cmd/host/internal/cli": {
		"cmd/host/internal/acme", "cmd/host/internal/certs", "cmd/host/internal/client", "cmd/host/internal/connect", "cmd/host/internal/gateway", "cmd/host/internal/httpapi",
		"cmd/host/internal/identity", "cmd/host/internal/mcpserver", "cmd/host/internal/metrics", "cmd/host/internal/scaffold",
		"cmd/host/internal/term", "cmd/host/internal/trace", "cmd/host/internal/web", "core", "core/access", "core/discover", "core/document",
		"core/dream", "core/gate", "core/gate/verdict", "core/governance", "core/host", "core/host/config", "core/host/gateway", "core/host/memoryfile", "core/host/operation",
		"core/inject", "core/job", "core/journal", "core/jsontext", "core/loop", "core/memory", "core/plainfile", "core/plugin", "core/plugin/install",
		"core/plugin/process", "core/plugin/process/sandbox", "core/plugin/wasm", "core/policypoint", "core/run", "core/store",
		"core/store/pebble", "core/work", "core/workflow", "core/workflow/action", "core/workflow/state", "examples", "policy", "policy/format",
		"policy/policytest", "sdk", "sdk/sdktest",
	},
	"cmd/host/internal/gateway": {
		"cmd/host/internal/jsoncheck", "core/host/gateway", "core/jsontext", "sdk", "sdk/apikey", "sdk/httpfault", "sdk/modeltext",
	},
	// Tests alone import it.
	"cmd/host/internal/gateway/gatewaytest": {},
	"cmd/host/internal/acme":                {"sdk"},
	"cmd/host/internal/certs":               {"core", "core/plainfile", "sdk"},
	"cmd/host/internal/connect":             {"core", "core/jsontext", "core/plainfile", "sdk"},
	"cmd/host/internal/identity":            {"core", "core/access", "core/jsontext", "sdk"},
	"cmd/host/internal/web": {
		"cmd/host/internal/web/chart", "core", "core/access", "core/dream", "core/gate", "core/governance", "core/host", "core/host/operation",
		"core/inject", "core/job", "core/journal", "core/jsontext", "core/memory", "core/plugin", "core/policypoint", "core/run",
		"core/workflow", "core/workflow/action", "sdk",
	},
	"cmd/host/internal/web/chart": {},
	"cmd/host/internal/client":    {"cmd/host/internal/traceparent", "core", "core/host", "core/host/operation", "core/job", "core/jsontext", "sdk"},
	"cmd/host/internal/httpapi": {
		"cmd/host/internal/client", "cmd/host/internal/jsoncheck", "cmd/host/internal/traceparent", "core", "core/access", "core/codec", "core/governance",
		"core/host", "core/host/operation", "core/job", "core/journal", "core/jsontext", "core/memory", "core/policypoint", "core/rate",
		"core/share", "sdk",
	},
	"cmd/host/internal/metrics":  {"core", "core/host", "core/job", "core/journal", "core/plugin", "core/policypoint", "core/work", "sdk"},
	"cmd/host/internal/trace":    {"cmd/host/internal/traceparent", "core", "core/jsontext", "core/work", "sdk"},
	"cmd/host/internal/scaffold": {"examples", "sdk"},
	"cmd/host/internal/term":     {"sdk"},

	"cmd/host/internal/mcpserver": {
		"cmd/host/internal/client", "cmd/host/internal/jsoncheck", "cmd/host/internal/traceparent", "core", "core/host/operation", "core/job",
		"core/jsontext", "sdk",
	},

	"examples":                      {},
	"examples/wasm-evaluator":       {"sdk", "sdk/guest"},
	"examples/word-limit":           {"sdk", "sdk/process"},
	"core/access":                   {"core", "core/journal", "core/jsontext", "core/table", "sdk"},
	"core/conversation":             {"core", "core/table", "sdk"},
	"core/idempotency":              {"core", "core/jsontext", "core/table", "sdk"},
	"core/job":                      {"core", "core/journal", "core/jsontext", "core/share", "core/table", "sdk"},
	"core/inject/rolemix":           {"core", "core/document", "core/inject", "core/policypoint", "sdk"},
	"core/inject/tokenizer":         {},
	"core/inject/window":            {},
	"core/discover":                 {"core", "core/memory/text", "core/policypoint"},
	"examples/agent-turns":          {},
	"core/inject/policytext":        {"core", "core/document", "core/inject", "sdk"},
	"core/policyset":                {"core", "core/journal", "core/jsontext", "sdk"},
	"core/pluginlock":               {"core", "core/journal", "core/jsontext", "sdk"},
	"cmd/host/internal/jsoncheck":   {"core", "core/codec", "core/jsontext", "sdk"},
	"core/jsontext":                 {"sdk"},
	"core/gate/verdict":             {"core", "core/policypoint"},
	"core/policypoint":              {"core", "sdk"},
	"cmd/host/internal/traceparent": {"core"},
	"core/plainfile":                {"sdk"},
	"core/exec/workspace":           {"core/plainfile", "sdk"},
	"core/work":                     {"core", "sdk"},
}

// holders are the packages that may import a third party. Each has one holder,
// or a named few.
var holders = map[string][]string{
	"github.com/cockroachdb/pebble":         {"core/store/pebble"},
	"github.com/RaduBerinde/btreemap":       {"core/store/mem"},
	"github.com/jackc/pgx":                  {"core/store/postgres"},
	"github.com/anishathalye/porcupine":     {}, // tests
	"github.com/google/cel-go":              {"plugins/internal/expression", "policy/celcost", "policy/program"},
	"github.com/fsnotify/fsnotify":          {"policy"},
	"go.yaml.in/yaml/v3":                    {"core/document", "plugins/checks-eval/checkseval"},
	"github.com/go-json-experiment/json":    {"core/codec"},
	"github.com/nikolalohinski/gonja":       {"core/workflow/template"},
	"github.com/hashicorp/go-plugin":        {"core/plugin/process", "sdk/process", "sdk/wire"},
	"github.com/hashicorp/go-hclog":         {"core/plugin/process", "sdk/process", "sdk/wire"},
	"google.golang.org/grpc":                {"core/plugin/process", "sdk/process", "sdk/wire", "sdk/wire/wirepb"},
	"google.golang.org/protobuf":            {"core/plugin/process", "plugins/internal/expression", "sdk/wire", "sdk/wire/wirepb"},
	"golang.org/x/mod/semver":               {"core/plugin/install", "core/workflow"},
	"oras.land/oras-go":                     {"core/plugin/install"},
	"github.com/opencontainers":             {"core/plugin/install"},
	"golang.org/x/time":                     {"core/rate"},
	"github.com/google/jsonschema-go":       {"cmd/host/internal/httpapi", "cmd/host/internal/mcpserver"},
	"github.com/getkin/kin-openapi":         {}, // tests
	"github.com/caddyserver/certmagic":      {"cmd/host/internal/acme"},
	"go.uber.org/zap":                       {"cmd/host/internal/acme"},
	"github.com/letsencrypt/pebble":         {}, // tests
	"github.com/miekg/dns":                  {}, // tests
	"github.com/coreos/go-oidc":             {"cmd/host/internal/identity"},
	"github.com/oauth2-proxy/mockoidc":      {}, // tests
	"golang.org/x/net/bpf":                  {"core/plugin/process/sandbox"},
	"golang.org/x/net/http/httpproxy":       {"core/outbound"},
	"golang.org/x/net/proxy":                {"core/outbound"},
	"github.com/cenkalti/backoff":           {"core/memory/embed/openai", "plugins/llm-eval/llmeval"},
	"github.com/blevesearch/snowballstem":   {"core/memory/text"},
	"github.com/dlclark/regexp2":            {"core/inject/tokenizer"},
	"github.com/viterin/vek":                {"core/memory/vector"},
	"golang.org/x/text":                     {"cmd/host/internal/term", "core", "core/exec/workspace", "core/memory/text"},
	"github.com/bluekeyes/go-gitdiff":       {"core/exec/workspace"},
	"github.com/pelletier/go-toml":          {"cmd/host/internal/connect"},
	"github.com/rogpeppe/go-internal":       {"cmd/host/internal/connect"},
	"github.com/tailscale/hujson":           {"cmd/host/internal/connect"},
	"github.com/bmatcuk/doublestar":         {"core/exec/workspace"},
	"github.com/tetratelabs/wazero":         {"core/plugin/wasm"},
	"github.com/prometheus":                 {"cmd/host/internal/metrics"},
	"go.opentelemetry.io":                   {"cmd/host/internal/trace"},
	"github.com/spf13/cobra":                {"cmd/host/internal/cli"},
	"github.com/mattn/go-isatty":            {"cmd/host/internal/term"},
	"github.com/xeipuuv/gojsonschema":       {"plugins/schema-eval/schemaeval"},
	"github.com/santhosh-tekuri/jsonschema": {"plugins/internal/schema", "plugins/schema-eval/schemaeval"},
	"github.com/tmaxmax/go-sse":             {"plugins/llm-eval/llmeval"},

	"github.com/modelcontextprotocol/go-sdk": {"cmd/host/internal/mcpserver", "plugins/mcp-eval/mcpeval"},
}

type listed struct {
	ImportPath string
	Imports    []string
	Standard   bool
}

func TestImportsFollowTheTable(t *testing.T) {
	found := map[string]bool{}
	for _, p := range goList(t, "./...", "./sdk/...") {
		name := strings.TrimPrefix(p.ImportPath, module)
		found[name] = true
		allowed, known := imports[name]
		if !known {
			t.Errorf("package %s is not in the table", name)
			continue
		}
		for _, path := range p.Imports {
			if target, ours := strings.CutPrefix(path, module); ours && !slices.Contains(allowed, target) {
				t.Errorf("%s imports %s, which the table doesn't allow", name, target)
			}
			for party, who := range holders {
				if strings.HasPrefix(path, party) && !slices.Contains(who, name) {
					t.Errorf("%s imports %s, which is held by %v", name, path, who)
				}
			}
		}
		checkStandardOnly(t, name, p.Imports)
		for _, target := range allowed {
			if !slices.Contains(p.Imports, module+target) {
				t.Errorf("the table lets %s import %s, which it doesn't", name, target)
			}
		}
	}
	for name := range imports {
		if !found[name] {
			t.Errorf("the table lists %s, which is gone", name)
		}
	}
}

// checkStandardOnly holds the contract and the domain's root to the standard
// library, and to Unicode's forms, which that lacks: names of namespaces are in NFC.
func checkStandardOnly(t *testing.T, name string, paths []string) {
	t.Helper()
	if !slices.Contains([]string{"sdk", "sdk/modeltext", "core", "core/jsontext", "core/journal"}, name) {
		return
	}
	for _, path := range paths {
		first, _, _ := strings.Cut(path, "/")
		if strings.Contains(first, ".") && !strings.HasPrefix(path, module) && (name != "core" || path != "golang.org/x/text/unicode/norm") {
			t.Errorf("%s imports %s: the standard library only", name, path)
		}
	}
}

// Evaluators are optional parts: without their plugins, none of their libraries is
// in the host. The embedder that is named after a protocol is the
// host's own, and speaks it with the standard library.
func TestTheHostLinksNoEvaluatorsLibrary(t *testing.T) {
	for _, p := range goList(t, "-deps", "./cmd/host") {
		if strings.HasPrefix(p.ImportPath, "github.com/google/jsonschema-go/") {
			continue // it describes the API, and judges nothing
		}
		for _, library := range []string{"jsonschema", "lua", "openai", "anthropic"} {
			if !p.Standard && !strings.HasPrefix(p.ImportPath, module) && strings.Contains(strings.ToLower(p.ImportPath), library) {
				t.Errorf("the host links %s", p.ImportPath)
			}
		}
	}
}

func goList(t *testing.T, args ...string) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-tags", "lua54", "-json=ImportPath,Imports,Standard"}, args...)...)
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}
