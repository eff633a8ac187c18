package sdk_test

import (
	"testing"

	"github.com/reflectory/reflectory/sdk"
)

func TestWholeNumber_IsAnIntegerHoweverItIsWritten(t *testing.T) {
	for text, want := range map[string]string{
		"5": "5", "5.0": "5", "5e0": "5", "50e-1": "5", "5E+0": "5", "0.5e1": "5", "-5.000": "-5", "0": "0", "-0": "0", "-0.0e9": "0", "0e400": "0",
		"1e3": "1000", "120.0e-1": "12", "9223372036854775807.0": "9223372036854775807", "1e19": "10000000000000000000",
		"5.5": "", "1e400": "", "1e-1": "", "5.0000000000000000001": "", "1e20": "", "1e99999999999999999999": "", "0.1": "", "NaN": "", "": "0",
	} {
		got, ok := sdk.WholeNumber([]byte(text))
		if string(got) != want || ok != (want != "") {
			t.Errorf("%s: %s, %t", text, got, ok)
		}
	}
}
