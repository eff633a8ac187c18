package luaeval_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/plugins/lua-eval/luaeval"
	"github.com/reflectory/reflectory/sdk"
)

func TestPluginDescribesItself(t *testing.T) {
	p := luaeval.Plugin()
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	m := p.Describe()
	if m.Name != "lua-eval" || len(m.Kinds) != 3 || m.Parallel < 4 {
		t.Errorf("manifest %+v", m)
	}
}

func TestBadConfigIsRefused(t *testing.T) {
	tests := []struct{ config, says string }{
		{``, "code is empty"},
		{`{}`, "code is empty"},
		{`{"code":"  "}`, "code is empty"},
		{`{"code":"return 1","colour":1}`, "colour"},
		{`{"code":"return 1"} x`, "invalid character 'x' after top-level value"},
		{`{"code":7}`, "number"},
		{`{"code":"\u001bLua"}`, "precompiled"},
		{`{"code":"return 1","chunk":"a b"}`, `chunk "a b"`},
		{`{"code":"return 1","chunk":""}`, `chunk ""`},
		{`{"code":"return 1","memory_bytes":1000}`, "memory_bytes 1000"},
		{`{"code":"return 1","memory_bytes":1099511627776}`, "memory_bytes 1099511627776"},
		{`{"code":"return 1","instructions":-1}`, "instructions -1"},
		{`{"code":"` + strings.Repeat("-", 1<<20+1) + `"}`, "code has 1048577 bytes"},
	}
	p := luaeval.Plugin()
	for _, tt := range tests {
		_, err := p.Evaluator(context.Background(), json.RawMessage(tt.config))
		if sdk.CodeOf(err) != sdk.Invalid || sdk.ReasonOf(err) != "config_invalid" || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%.60s: %v, want config_invalid with %q", tt.config, err, tt.says)
		}
	}
}

// What is asked is whether the configuration is right: a plugin built without Lua reads it too.
func TestConfig_TakesWholeNumbersHoweverTheyAreWritten(t *testing.T) {
	for _, rest := range []string{`"instructions":1e6`, `"instructions":2000000.0`, `"memory_bytes":16e6`, `"memory_bytes":1.6777216e7`} {
		if _, err := luaeval.Plugin().Evaluator(t.Context(), json.RawMessage(`{"code":"return 1",`+rest+`}`)); sdk.ReasonOf(err) == "config_invalid" {
			t.Errorf("%s: %v", rest, err)
		}
	}
	for _, rest := range []string{`"instructions":1e6.5`, `"instructions":1000000.5`, `"memory_bytes":"16e6"`, `"memory_bytes":1e30`} {
		if _, err := luaeval.Plugin().Evaluator(t.Context(), json.RawMessage(`{"code":"return 1",`+rest+`}`)); sdk.ReasonOf(err) != "config_invalid" {
			t.Errorf("%s: %v", rest, err)
		}
	}
}
