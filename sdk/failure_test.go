package sdk_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/reflectory/reflectory/sdk"
)

func TestPermanentIsWhatNoOtherTryChanges(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"no error":        {nil, false},
		"a foreign error": {errors.New("x"), false},
		"a denial":        {sdk.Errorf(sdk.Denied, "", "x"), true},
		"nothing there":   {sdk.Errorf(sdk.NotFound, "", "x"), true},
		"another version": {sdk.Errorf(sdk.Incompatible, "", "x"), true},
		"a wrong config":  {sdk.Errorf(sdk.Invalid, "config_invalid", "x"), true},
		"its own error":   {sdk.Errorf(sdk.Invalid, "bad_mood", "x"), false},
		"it went away":    {sdk.Errorf(sdk.Unavailable, "", "x"), false},
		"it says so":      {sdk.AsPermanent(errors.New("x")), true},
		"said and wrapped": {
			sdk.Wrap("outside", sdk.AsPermanent(sdk.Errorf(sdk.Invalid, "bad_mood", "x"))), true,
		},
	} {
		if got := sdk.Permanent(c.err); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if sdk.AsPermanent(nil) != nil {
		t.Error("no error became one")
	}
}

func TestWhatAnErrorSaysOfAnotherTrySurvivesJSON(t *testing.T) {
	err := sdk.Errorf(sdk.Unavailable, "busy", "x").WithDetail(sdk.RetryAfterDetail, int64(1500)).
		WithDetail(sdk.RawDetail, "not JSON")
	across := &sdk.Error{Code: err.Code}
	b, _ := json.Marshal(err.Details)
	if err := json.Unmarshal(b, &across.Details); err != nil {
		t.Fatal(err)
	}
	for _, e := range []*sdk.Error{err, across} {
		if got := sdk.RetryAfter(e); got != 1500*time.Millisecond {
			t.Errorf("wait %s", got)
		}
		if got := string(sdk.RawOf(e)); got != `"not JSON"` {
			t.Errorf("raw %s", got)
		}
	}
	none := errors.New("x")
	if sdk.RetryAfter(none) != 0 || sdk.RawOf(none) != nil || sdk.RetryAfter(nil) != 0 || sdk.RawOf(nil) != nil {
		t.Error("an error that says nothing said something")
	}
}
