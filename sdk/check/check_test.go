package check_test

import (
	"strings"
	"testing"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/check"
)

func TestJSON_RefusesNumbersThatNoFloatHolds(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": 1e999}`:                         "has the number 1e999, which is out of range",
		`[-1E400, 1]`:                          "has the number -1E400",
		"[" + strings.Repeat("9", 400) + "]":   "has the number 99999999999999999999, ",
		"1e309":                                "has the number 1e309",
		`["1e999", "\\", "\"1e999", 1e308]`:    "",
		`[1e-999, 12345678901234567890123, 0]`: "",
		strings.Repeat("9", 300):               "",
		`{"a":true,"e":false}`:                 "",
	} {
		err := check.JSON([]byte(text))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: got %v, want %q", text, err, want)
		}
	}
	err := check.GenerateResponse(&sdk.GenerateResponse{Output: []byte("1e999")})
	if sdk.ReasonOf(err) != "response_invalid" || sdk.Permanent(err) {
		t.Errorf("an output: %v", err)
	}
}
