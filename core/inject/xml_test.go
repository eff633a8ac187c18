package inject_test

import (
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/inject"
)

// FuzzXML: XML that is taken is well-formed with one root, it stays so wherever it is cut, and
// what was cut is within its bound and is taken again as it is.
func FuzzXML(f *testing.F) {
	for _, payload := range []string{
		"<r/>", "<r><a>1</a><b/>x</r>", "<r a='1'>é<!-- c --><c/><c/></r>\n", "<?xml version=\"1.0\"?><r><![CDATA[<]]><a/></r>",
		"<a:r xmlns:a=\"u\"><a:b/></a:r>", "<r>&lt;<a></a ></r><!-- end -->", "<r><a/>" + strings.Repeat("<b>some text</b>", 9) + "</r>", "<a></b>", "<a/><b/>",
	} {
		f.Add(payload, 60)
	}
	f.Fuzz(func(t *testing.T, payload string, most int) {
		d := draft("x", inject.Workflow, 1, payload)
		d.Format = inject.XML
		b, err := inject.NewBlock(d, inject.FromCaller)
		if err != nil {
			return
		}
		wellFormed(t, payload)
		most = max(0, min(most, 1<<16))
		s := assemble(t, inject.Policy{MaxChars: 1 << 20, CategoryCap: map[inject.Category]int{inject.Workflow: most}}, []*inject.Block{b})
		for _, u := range s.BlocksUsed {
			wellFormed(t, u.Payload)
			d.Payload = u.Payload
			again, err := inject.NewBlock(d, inject.FromCaller)
			if err != nil || again.Payload() != u.Payload || u.Chars > most {
				t.Fatalf("%q is cut to %q, %d of %d characters: %v", payload, u.Payload, u.Chars, most, err)
			}
		}
	})
}
