package operation

import (
	"strings"
	"testing"
)

// FuzzPageToken tries texts as tokens of a list: only the ones that were made for that list
// and with that key are taken, byte for byte.
func FuzzPageToken(f *testing.F) {
	key, list := []byte("a key of the store's"), []byte(`["memory_list",{},"me",["a/**"]]`)
	f.Add(seal(key, list, "m-1"), "m-1")
	f.Add(seal(key, []byte("another list"), "m-1"), "m-1")
	f.Add(seal([]byte("another key"), list, "m-1"), "m-1")
	f.Add("", "")
	f.Add("e30", "\xff")
	f.Add(strings.Repeat("A", 5000), "a/b")
	f.Fuzz(func(t *testing.T, token, at string) {
		if got := unseal(key, list, token); got != "" && seal(key, list, got) != token {
			t.Errorf("%q is taken for %q, whose token is %q", token, got, seal(key, list, got))
		}
		made := seal(key, list, at)
		if got := unseal(key, list, made); got != at {
			t.Errorf("the token of %q gives %q", at, got)
		}
		if at != "" && (unseal(key, append(list, ' '), made) != "" || unseal(append(key, 1), list, made) == at) {
			t.Errorf("the token of %q is taken for another list", at)
		}
	})
}
