package host

import "testing"

func TestVersion_NamesWhatItWasBuiltFrom(t *testing.T) {
	v := Version{Version: "1.2.3", Go: "go1.26", Platform: "linux/arm64", Contract: 1, StoreFormat: 2}
	if got, want := v.String(), "reflectory 1.2.3 (go1.26, linux/arm64; plugin contract 1, store format 2)\n"; got != want {
		t.Errorf("%q", got)
	}
	v.Revision, v.Date = "0123456789abcdef0123", "2026-01-02T03:04:05Z"
	if got, want := v.String(), "reflectory 1.2.3 (0123456789ab of 2026-01-02, go1.26, linux/arm64; plugin contract 1, store format 2)\n"; got != want {
		t.Errorf("%q", got)
	}
}
