package access_test

import (
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/access"
)

// TestHide_LeavesCredentialsOut, whole or cut, and nothing else.
func TestHide_LeavesCredentialsOut(t *testing.T) {
	digits := strings.Repeat("0123456789abcdef", 4)
	for text, want := range map[string]string{
		"there is no memory rfl_0123456789abcdef_" + digits + ".":    "there is no memory [secret].",
		`"rfl_operator_` + digits[:9] + `…"`:                         `"[secret]…"`,
		"rfo_operator_" + digits + " rfs_0123456789abcdef_" + digits: "[secret] [secret]",
		"token 0123456789abcdef, rfl_wrong, rfl_0123456789abcdef":    "token 0123456789abcdef, rfl_wrong, rfl_0123456789abcdef",
	} {
		if got := string(access.Hide([]byte(text))); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
