package operation

import (
	"fmt"
	"reflect"
	"strconv"
	"sync"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/governance"
	"github.com/reflectory/reflectory/core/jsontext"
)

// Versioned is a result about a single thing with a version, such as a memory.
type Versioned interface {
	// EntityVersion is the version, in letters, digits and dashes.
	EntityVersion() string
}

// EntityVersion is the version of the thing that a result shows; "" if it has none. Two
// results of an operation with equal versions, for the same request and caller, are equal
// byte for byte. HTTP sends it as the entity tag, and receives it as the if_version of a
// change, which compares it in its transaction.
func EntityVersion(out any) string {
	switch out := out.(type) {
	case Versioned:
		return out.EntityVersion()
	case *core.Memory:
		return fmt.Sprint(out.Version)
	case *core.Knowledge: // an entry changes only when it is superseded
		if out.SupersededBy != "" {
			return "2"
		}
		return "1"
	case *governance.Record:
		return out.Version()
	default:
		return ""
	}
}

// HasVersion reports whether an operation's results have an [EntityVersion].
func (o *Operation) HasVersion() bool {
	switch reflect.Zero(reflect.PointerTo(o.out)).Interface().(type) {
	case Versioned, *core.Memory, *core.Knowledge, *governance.Record:
		return true
	}
	return false
}

// EntityVersion implements [Versioned]. A change of the links that end at a memory, or of
// the links that the caller may see, doesn't change the memory itself, so the version
// includes these links.
func (m *Memory) EntityVersion() string {
	links := withoutLinks()
	if len(m.LinksFrom)+len(m.LinksTo) > 0 {
		links = linksVersion(m.LinksFrom, m.LinksTo)
	}
	return strconv.FormatInt(m.Version, 10) + "-" + links
}

func linksVersion(from, to []core.Link) string {
	return core.Digest(jsontext.MustEncode([]any{from, to}))[7:15]
}

// withoutLinks is the version of no links, which most memories have.
var withoutLinks = sync.OnceValue(func() string { return linksVersion([]core.Link{}, []core.Link{}) })
