//go:build cgo && lua54

package cli

import (
	"context"
	"encoding/json"
	"testing"
	"testing/fstest"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/plugins/checks-eval/checkseval"
	"github.com/reflectory/reflectory/plugins/command-eval/commandeval"
	"github.com/reflectory/reflectory/plugins/lua-eval/luaeval"
	"github.com/reflectory/reflectory/plugins/schema-eval/schemaeval"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/sdktest"
)

// The shipped plugins follow the contract, as all plugins must.
func TestTheShippedPluginsPassTheKit(t *testing.T) {
	coretest.Long(t)
	t.Run("schema-eval", func(t *testing.T) {
		sdktest.Run(t, sdktest.InProcess(schemaeval.Plugin()), fstest.MapFS{
			"tests/good.json":   {Data: []byte(`{"config":{"schema":{"type":["object","string"]}},"request":{"output":{"n":1}},"want":{"valid":true,"score":1}}`)},
			"tests/bad.json":    {Data: []byte(`{"config":{"schema":{"type":"integer"}},"request":{"output":true},"want":{"valid":false,"errors":[{"code":"type"}]}}`)},
			"tests/config.json": {Data: []byte(`{"config":{"schema":{"type":"nonsense"}},"want":{"error":"invalid"}}`)},
		})
	})
	t.Run("checks-eval", func(t *testing.T) {
		sdktest.Run(t, sdktest.InProcess(checkseval.Plugin()), fstest.MapFS{
			"tests/good.json":   {Data: []byte(`{"config":{"all":[{"max_chars":3}]},"request":{"output":"abc"},"want":{"valid":true,"score":1}}`)},
			"tests/bad.json":    {Data: []byte(`{"config":{"all":[{"max_chars":3},{"is":"json"}]},"request":{"output":"abcdef"},"want":{"valid":false,"errors":[{"code":"max_chars"},{"code":"is"}]}}`)},
			"tests/config.json": {Data: []byte(`{"config":{"all":[{"matches":"("}]},"want":{"error":"invalid"}}`)},
		})
	})
	t.Run("command-eval", func(t *testing.T) { // the programs that it judges by are the host's to run
		plugin := commandeval.Plugin()
		judge := plugin.Evaluator
		host := sdk.HostFunc(func(context.Context, sdk.Service, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{"exit":0}`), nil
		})
		plugin.Evaluator = func(ctx context.Context, config json.RawMessage) (sdk.Evaluator, error) {
			e, err := judge(ctx, config)
			return sdk.EvaluatorFunc(func(ctx context.Context, r *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
				return e.Evaluate(sdk.WithHost(ctx, host), r)
			}), err
		}
		plugin.Generator, plugin.Corrector = nil, nil
		sdktest.Run(t, sdktest.InProcess(plugin), fstest.MapFS{
			"tests/good.json":   {Data: []byte(`{"config":{"run":["x"],"put":"stdin"},"request":{"output":"a"},"want":{"valid":true,"score":1}}`)},
			"tests/unfit.json":  {Data: []byte(`{"config":{"run":["x"],"put":"files","workspace":{"may_change":["**"]}},"request":{"output":[]},"want":{"valid":false,"errors":[{"code":"attempt"}]}}`)},
			"tests/config.json": {Data: []byte(`{"config":{"run":["x"],"report":"xml"},"want":{"error":"invalid"}}`)},
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
