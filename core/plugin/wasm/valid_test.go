package wasm

import (
	"strings"
	"testing"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/abi"
)

// What doesn't say whether it is valid is no verdict, which a "no" is.
func TestAVerdictSaysWhetherItIsValid(t *testing.T) {
	for verdict, says := range map[string]string{
		`{"verdict": {}}`:                 "{}",
		`{"verdict": null}`:               "null",
		`{}`:                              "nothing",
		`{"verdict": {"count": 3}}`:       `{"count": 3}`,
		`{"verdict": {"valid": null}}`:    `{"valid": null}`,
		`{"verdict": {"valid": "false"}}`: `this came instead: {"valid": "false"}`,
		`{"verdict": "no"}`:               `this came instead: "no"`,
		`"no"`:                            `this came instead: "no"`,
		"{\"verdict\": [1,\n2]}":          `this came instead: [1,\n2]`,
		`{"verdict": {"valid": true, "children": {"a": {"valid": true}, "b": {"score": 1}}}}`: `{"score": 1}`,
		`{"verdict": {"valid": true, "errors": [{}]}}`:                                        "finding 1 of the verdict has no message",
		`{"verdict": {"valid": false, "errors": [{"message": "a"}, {"path": "/b"}]}}`:         "finding 2 of the verdict has no message",
		`{"verdict": {"valid": true}}`:                                                        "",
		`{"verdict": {"valid": false, "children": {"a": {"valid": false}}}}`:                  "",
	} {
		results, _, err := decodeAll([]byte(`{"results": [{"response": `+verdict+`}]}`), 1, 0, refuseVerdict,
			func(r *abi.Evaluated) *map[string]string { return &r.Metadata })
		if err == nil {
			err = results[0].Err
		}
		if says == "" && err == nil {
			continue
		}
		if sdk.ReasonOf(err) != "response_invalid" || says == "" || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", verdict, err, says)
		}
	}
}
