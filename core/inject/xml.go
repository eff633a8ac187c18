package inject

import (
	"encoding/xml"
	"errors"
	"io"
	"sort"
	"strings"
	"unicode/utf8"
)

// outline has the places where an XML payload may be cut: after each child of its root.
type outline struct {
	children []cut
	// closing is the root's end tag.
	closing      string
	closingChars int
}

// cut is the end of a child of the root.
type cut struct{ bytes, chars int }

// outlineOf reads XML: well-formed, with one root.
func outlineOf(payload string) (*outline, error) {
	o, depth, roots, ends := &outline{}, 0, 0, 0
	d := xml.NewDecoder(strings.NewReader(payload))
	for {
		from := d.InputOffset()
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if err := checkAttributes(t.Attr); err != nil {
				return nil, err
			}
			if depth == 0 {
				roots++
			}
			depth++
		case xml.EndElement:
			if depth--; depth == 1 {
				o.end(payload, int(d.InputOffset()))
			}
			if depth == 0 {
				o.closing, ends = payload[from:d.InputOffset()], int(d.InputOffset())
			}
		case xml.CharData:
			if depth == 0 && strings.TrimSpace(string(t)) != "" {
				return nil, errors.New("there is text outside of its root")
			}
		case xml.Directive:
			return nil, errors.New("it has a declaration of a document type")
		}
	}
	if roots != 1 || ends == 0 {
		return nil, errors.New("it doesn't have one root")
	}
	o.closingChars = utf8.RuneCountInString(o.closing)
	return o, checkNesting(payload)
}

// checkNesting refuses end tags that don't match, which reading raw tokens doesn't detect.
func checkNesting(payload string) error {
	d := xml.NewDecoder(strings.NewReader(payload))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// checkAttributes refuses an attribute that an element has twice.
func checkAttributes(list []xml.Attr) error {
	for i, a := range list {
		for _, b := range list[:i] {
			if a.Name == b.Name {
				return errors.New("an element has the attribute " + a.Name.Local + " twice")
			}
		}
	}
	return nil
}

// end notes the end of a child.
func (o *outline) end(payload string, at int) {
	before := cut{}
	if n := len(o.children); n > 0 {
		before = o.children[n-1]
	}
	o.children = append(o.children, cut{at, before.chars + utf8.RuneCountInString(payload[before.bytes:at])})
}

// longest is the payload with as many of the root's children as fit; "" if not even the first child
// fits. If some number of children fits, any smaller number fits too.
func (o *outline) longest(payload string, fits func(payload string, chars int) bool) string {
	first := func(n int) string { return payload[:o.children[n-1].bytes] + o.closing }
	n := sort.Search(len(o.children), func(i int) bool { return !fits(first(i+1), o.children[i].chars+o.closingChars) })
	if n == 0 {
		return ""
	}
	return first(n)
}
