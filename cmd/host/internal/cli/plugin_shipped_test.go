//go:build cgo && lua54

package cli

import (
	"testing"
	"testing/fstest"

	"github.com/reflectory/reflectory/plugins/lua-eval/luaeval"
	"github.com/reflectory/reflectory/plugins/schema-eval/schemaeval"
	"github.com/reflectory/reflectory/sdk/sdktest"
)

// The shipped plugins follow the contract, as all plugins must.
func TestTheShippedPluginsPassTheKit(t *testing.T) {
	t.Run("schema-eval", func(t *testing.T) {
		sdktest.Run(t, sdktest.InProcess(schemaeval.Plugin()), fstest.MapFS{
			"tests/good.json":   {Data: []byte(`{"config":{"schema":{"type":["object","string"]}},"request":{"output":{"n":1}},"want":{"valid":true,"score":1}}`)},
			"tests/bad.json":    {Data: []byte(`{"config":{"schema":{"type":"integer"}},"request":{"output":true},"want":{"valid":false,"errors":[{"code":"type"}]}}`)},
			"tests/config.json": {Data: []byte(`{"config":{"schema":{"type":"nonsense"}},"want":{"error":"invalid"}}`)},
		})
	})
	t.Run("lua-eval", func(t *testing.T) {
		sdktest.Run(t, sdktest.InProcess(luaeval.Plugin()), fstest.MapFS{
			"tests/judge.json":  {Data: []byte(`{"kind":"evaluator","config":{"code":"return output == 1"},"request":{"output":1},"want":{"valid":true}}`)},
			"tests/make.json":   {Data: []byte(`{"kind":"generator","config":{"code":"return state.n"},"request":{"state":{"n":7}},"want":{"output":7}}`)},
			"tests/repair.json": {Data: []byte(`{"kind":"corrector","config":{"code":"return #errors"},"request":{"output":1,"errors":[{"message":"m"}]},"want":{"output":1}}`)},
			"tests/config.json": {Data: []byte(`{"kind":"evaluator","config":{"code":"return ("},"want":{"error":"invalid"}}`)},
		})
	})
}
