package gateway_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/cmd/host/internal/gateway"
)

func TestEvents_AreSplitWhereverTheyArriveInPieces(t *testing.T) {
	for stream, want := range map[string][]string{
		"data: a\n\ndata: b\n\n":                    {"|a", "|b"},
		"event: x\r\ndata: a\r\n\r\ndata:b\r\n\r\n": {"x|a", "|b"},
		"event: x\rdata: a\r\rdata: b\r\r":          {"x|a", "|b"},
		": comment\n\ndata: a\n\n":                  {"|", "|a"},
		"data: a\ndata: b\nid: 1\nretry: 5\n\n":     {"|a\nb"},
		"data\n\n":                                  {"|"},
		"\ufeffdata: ä€😀\n\n":                       {"|ä€😀"},
		"data: a\n\ndata: cut":                      {"|a", "|cut"},
		"data: a\n\n: tail\n":                       {"|a", "|"},
		"\n\n\n":                                    {"|", "|", "|"},
		"":                                          nil,
	} {

		for size := 1; size <= len(stream)+1; size++ {
			var pieces [][]byte
			for rest := []byte(stream); len(rest) > 0; {
				n := min(size, len(rest))
				pieces, rest = append(pieces, rest[:n:n]), rest[n:]
			}
			raw, names, data := gateway.SplitEvents(pieces...)
			if strings.Join(raw, "") != stream {
				t.Fatalf("%q by %d: bytes are lost: %q", stream, size, raw)
			}
			var got []string
			for i := range raw {
				if raw[i] != "\n" || len(want) > 0 && want[0] == "|" { // the second half of a CRLF may come later, and begins the next
					got = append(got, names[i]+"|"+data[i])
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%q by %d (-want +got):\n%s", stream, size, diff)
			}
		}
	}
}
