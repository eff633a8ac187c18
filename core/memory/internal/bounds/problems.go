package bounds

import (
	"fmt"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Problems collects everything that is wrong with an input, so that all of it is reported
// at once.
type Problems struct {
	list []error
	// Of is a prefix that names the part of the input being checked, such as
	// "memories[3].".
	Of string
}

// Add notes a problem of a field.
func (p *Problems) Add(field, format string, args ...any) {
	name := p.Of + field
	p.append(sdk.Errorf(sdk.Invalid, invalid(field), "%s %s", name, fmt.Sprintf(format, args...)).
		WithDetail("field", name))
}

// invalid is the reason for a wrong field. All items of a list have the same reason.
func invalid(field string) string {
	name, _, _ := strings.Cut(field, "[")
	return name + "_invalid"
}

// Over notes that a field is larger than it may be.
func (p *Problems) Over(field string, got, most int, unit string) {
	if got <= most {
		return
	}
	name := p.Of + field
	p.append(sdk.Errorf(sdk.Invalid, invalid(field), "%s has %d %s (limit %d)", name, got, unit, most).
		WithDetail("field", name).WithDetail("most", most).WithDetail("got", got))
}

// Check adds an error that another package found in a field.
func (p *Problems) Check(err error) {
	if err == nil {
		return
	}
	if p.Of != "" {
		err = sdk.Wrap(p.Of[:len(p.Of)-1], err)
		if field, ok := sdk.AsError(err).Details["field"].(string); ok {
			err = sdk.AsError(err).WithDetail("field", p.Of+field)
		}
	}
	p.append(err)
}

// maxProblems is how many problems are reported: a request with more has a different problem.
const maxProblems = 64

func (p *Problems) append(err error) {
	if len(p.list) < maxProblems {
		p.list = append(p.list, err)
	}
}

// Err joins the problems into one error; nil if there are none.
func (p *Problems) Err() error { return core.JoinErrors(p.list...) }

// Words lists the values of an enumeration.
func Words[T ~string](values []T) string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = string(v)
	}
	return strings.Join(list, ", ")
}

// Shorten cuts an untrusted text for a message.
func Shorten(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
