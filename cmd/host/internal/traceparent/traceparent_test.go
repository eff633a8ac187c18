package traceparent_test

import (
	"testing"

	"github.com/reflectory/reflectory/cmd/host/internal/traceparent"
)

// TestTrace_IsReadFromTraceparent, or the header is ignored as a whole.
func TestTrace_IsReadFromTraceparent(t *testing.T) {
	const id, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for header, want := range map[string]traceparent.Trace{
		"00-" + id + "-" + parent + "-01":                       {ID: id, Parent: parent},
		"00-" + id + "-" + parent + "-00":                       {ID: id, Parent: parent, Unsampled: true},
		"cc-" + id + "-" + parent + "-0b":                       {ID: id, Parent: parent}, // a later version
		"ff-" + id + "-" + parent + "-01":                       {},
		"00-" + id + "-0000000000000000-01":                     {},
		"00-00000000000000000000000000000000-" + parent + "-01": {},
		"00-" + id[1:] + "-" + parent + "-01":                   {},
		"00-" + id + "-" + parent:                               {},
		"00-" + id + "-" + parent + "-01\n":                     {},
		"":                                                      {},
	} {
		if got, ok := traceparent.Parse(header); got != want || ok != (want != traceparent.Trace{}) {
			t.Errorf("%q: %+v, %v", header, got, ok)
		}
	}
	if got := traceparent.Of(traceparent.With(t.Context(), traceparent.Trace{ID: id})); got.ID != id || traceparent.Of(t.Context()) != (traceparent.Trace{}) {
		t.Errorf("a context has %+v", got)
	}
}
