//go:build !cgo || !lua54

package luaeval_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/plugins/lua-eval/luaeval"
	"github.com/reflectory/reflectory/sdk"
)

func TestWithoutLuaPrepareNamesWhatIsMissing(t *testing.T) {
	p := luaeval.Plugin()
	config := json.RawMessage(`{"code":"return true"}`)
	_, evaluator := p.Evaluator(context.Background(), config)
	_, generator := p.Generator(context.Background(), config)
	_, corrector := p.Corrector(context.Background(), config)
	for _, err := range []error{evaluator, generator, corrector} {
		if sdk.CodeOf(err) != sdk.Unavailable || sdk.ReasonOf(err) != "lua_missing" {
			t.Fatalf("%v, want lua_missing", err)
		}
		hint := sdk.AsError(err).Hint
		for _, command := range []string{"apt-get install", "liblua5.4-dev", "make build", "-tags lua54"} {
			if !strings.Contains(hint, command) {
				t.Errorf("hint %q lacks %q", hint, command)
			}
		}
	}
}
