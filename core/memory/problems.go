package memory

import (
	"fmt"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// problems collects all that is wrong with an input, so that it is reported at once.
type problems struct {
	list []error
	// of names the part of the input that is looked at, such as "memories[3].".
	of string
}

// add notes a problem of a field.
func (p *problems) add(field, format string, args ...any) {
	name := p.of + field
	p.list = append(p.list, sdk.Errorf(sdk.Invalid, invalid(field), "%s %s", name, fmt.Sprintf(format, args...)).
		WithDetail("field", name))
}

// invalid is the reason for a field that is wrong, whichever of its items is.
func invalid(field string) string {
	name, _, _ := strings.Cut(field, "[")
	return name + "_invalid"
}

// over notes that a field is larger than it may be.
func (p *problems) over(field string, got, most int, unit string) {
	if got <= most {
		return
	}
	name := p.of + field
	p.list = append(p.list, sdk.Errorf(sdk.Invalid, invalid(field), "%s has %d %s (limit %d)", name, got, unit, most).
		WithDetail("field", name).WithDetail("most", most).WithDetail("got", got))
}

// check notes another part's refusal of a field.
func (p *problems) check(err error) {
	if err == nil {
		return
	}
	if p.of != "" {
		err = sdk.Wrap(p.of[:len(p.of)-1], err)
	}
	p.list = append(p.list, err)
}

// err is all of them as one error; nil for none.
func (p *problems) err() error { return core.Together(p.list...) }

// words lists the values of an enumeration.
func words[T ~string](values []T) string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = string(v)
	}
	return strings.Join(list, ", ")
}

// cut shortens a text from outside for a message.
func cut(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
