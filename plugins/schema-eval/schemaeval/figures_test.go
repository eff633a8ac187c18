//go:build bench

package schemaeval

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/sdk"
)

// TestFigures compares an evaluation in the plugin with the validator alone.
func TestFigures(t *testing.T) {
	for _, c := range benchCases() {
		e, err := prepare(json.RawMessage(`{"schema": ` + c.schema + `}`))
		if err != nil {
			t.Fatal(err)
		}
		validate := aloneSanthosh(t, c.schema)
		if strings.HasPrefix(c.name, engineGo) {
			validate = aloneGo(t, c.schema)
		}
		req := &sdk.EvaluateRequest{Output: json.RawMessage(c.output)}
		want := !strings.HasSuffix(c.name, "invalid")
		s := coretest.Interleave(11, 2000, func() {
			if resp, err := e.Evaluate(t.Context(), req); err != nil || resp.Verdict.Valid != want {
				t.Error(resp, err)
			}
		}, func() {
			if validate(c.output) != want {
				t.Error("the validator says otherwise")
			}
		})
		coretest.Ratio("schema evaluation over "+c.name, s[0], s[1], 1.5).Print(os.Stdout)
	}
}
