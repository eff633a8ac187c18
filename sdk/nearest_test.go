package sdk_test

import (
	"strings"
	"testing"

	"github.com/reflectory/reflectory/sdk"
)

func TestNearestFindsWhatWasMeant(t *testing.T) {
	long := strings.Repeat("x", 64)
	names := []string{"max_iterations", "name", "on_failure", "state", "states_of_all", "type", long, long + "y"}
	for word, want := range map[string]string{
		"max_iteration":          "max_iterations",
		"on_fialure":             "on_failure",
		"tpye":                   "type",
		"stat":                   "state",
		"namee":                  "name",
		"max":                    "max_iterations", // the beginning
		"states_of":              "states_of_all",
		"ma":                     "",
		"colour":                 "",
		"":                       "",
		long[1:]:                 long,
		long + "x":               "", // too long to be compared
		strings.Repeat("y", 300): "",
	} {
		if got := sdk.Nearest(word, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestDidYouMeanHasSomethingToSay(t *testing.T) {
	for word, want := range map[string]string{"tpye": `did you mean "type"?`, "colour": "there is only type"} {
		if got := sdk.DidYouMean(word, []string{"type"}, "there is only type"); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}
