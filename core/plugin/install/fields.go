package install

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

// Bounds of limits. They keep slips of the pen from becoming limits; what a host
// can give is its operator's business.
const (
	minMemory, maxMemory = 1 << 20, 64 << 30
	maxModuleMemory      = 4 << 30 // what a 32-bit address reaches
	minOutput, maxOutput = 1 << 10, 1 << 30
	maxTimeout           = 24 * time.Hour
	maxFuel              = 1e15
	maxInstances         = 256
	maxParallel          = 1024
	maxProcesses         = 1024
)

// Bounds of a YAML file: more than anybody writes by hand.
const (
	maxYAMLBytes = 64 << 10
	maxYAMLDepth = 20
)

// reader reads a plugin.yaml or a trust file.
type reader struct{ *document.Problems }

func newReader(file string) *reader { return &reader{&document.Problems{File: file}} }

// parse reads a file whose root is a mapping. Without one it returns nil and has
// noted why.
func (r *reader) parse(text []byte) *document.Node {
	root := document.Read(string(text), document.Limits{Bytes: maxYAMLBytes, Depth: maxYAMLDepth}, r.Problems)
	if root != nil && root.Kind != document.Mapping {
		r.Add(root.At, "", "the file must be a mapping of keys to values")
		return nil
	}
	return root
}

// isScalar reports whether a node is a single value, whose text counts as it is
// written: 1.10 is a version. Null is an empty one.
func isScalar(n *document.Node) bool { return n.Kind != document.Mapping && n.Kind != document.List }

// kindOf names the kind of a node, whatever the type of a scalar.
func kindOf(n *document.Node) string {
	if isScalar(n) {
		return "a single value"
	}
	return string(n.Kind)
}

// scalar is a value that must be a single one; false if it is absent or isn't.
func (r *reader) scalar(n *document.Node, what string) bool {
	if n == nil {
		return false
	}
	if !isScalar(n) {
		r.Add(n.At, "", "%s must be a single value, not %s", what, kindOf(n))
		return false
	}
	if n.Text == "" {
		r.Add(n.At, "", "%s is empty", what)
		return false
	}
	return true
}

func (r *reader) text(n *document.Node, what string) string {
	if !r.scalar(n, what) {
		return ""
	}
	return n.Text
}

// form is text that must have a form.
func (r *reader) form(n *document.Node, what string, form func() *regexp.Regexp, hint string) string {
	text := r.text(n, what)
	if text != "" && !form().MatchString(text) {
		r.Add(n.At, hint, "%q can't be the %s", core.Cut(text), what)
	}
	return text
}

// oneOf is one of some words; the first one if the value is absent.
func (r *reader) oneOf(n *document.Node, what string, words ...string) string {
	text := r.text(n, what)
	if text == "" || slices.Contains(words, text) {
		if text == "" {
			return words[0]
		}
		return text
	}
	r.Add(n.At, sdk.DidYouMean(text, words, ""), "%s must be one of %s, not %q", what, strings.Join(words, ", "), core.Cut(text))
	return words[0]
}

func (r *reader) flag(n *document.Node, what string) bool {
	text := r.text(n, what)
	if text != "" && text != "true" && text != "false" {
		r.Add(n.At, "", "%s must be true or false, not %q", what, core.Cut(text))
	}
	return text == "true"
}

// list is a list of up to most items.
func (r *reader) list(n *document.Node, what string, most int) []*document.Node {
	switch {
	case n == nil:
		return nil
	case n.Kind != document.List:
		r.Add(n.At, "write it as ["+core.Cut(n.Text)+"]", "%s must be a list, not %s", what, kindOf(n))
		return nil
	case len(n.Items) > most:
		r.Add(n.At, "", "%s has more than %d items", what, most)
		return nil
	}
	return n.Items
}

func (r *reader) limits(n *document.Node, runtime plugin.Runtime) (l plugin.Limits) {
	if n == nil {
		return l
	}
	if n.Kind != document.Mapping {
		r.Add(n.At, "", "limits must be a mapping, not %s", kindOf(n))
		return l
	}
	r.Known(n, "limits", names(LimitKeys())...)
	memory := int64(maxMemory)
	if runtime == plugin.RuntimeWASM {
		memory = maxModuleMemory
	}
	l.MemoryBytes = r.size(n.Get("memory"), "memory", minMemory, memory)
	l.MessageBytes = int(r.size(n.Get("output"), "output", minOutput, maxOutput))
	l.Timeout = r.duration(n.Get("timeout"), "timeout")
	l.Fuel = uint64(r.count(n.Get("fuel"), "fuel", maxFuel))
	l.Instances = int(r.count(n.Get("instances"), "instances", maxInstances))
	l.Parallel = int(r.count(n.Get("parallel"), "parallel", maxParallel))
	l.Processes = int(r.count(n.Get("processes"), "processes", maxProcesses))
	r.only(n, runtime, LimitKeys())
	return l
}

// count is a whole number from 1, also written as 1e9. 0 means that it is absent.
func (r *reader) count(n *document.Node, what string, most float64) int64 {
	text := r.text(n, what)
	if text == "" {
		return 0
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v != math.Trunc(v) || v < 1 || v > most {
		r.Add(n.At, "", "%s must be a whole number from 1 to %.0f, not %q", what, most, core.Cut(text))
		return 0
	}
	return int64(v)
}

func (r *reader) duration(n *document.Node, what string) time.Duration {
	text := r.text(n, what)
	if text == "" {
		return 0
	}
	v, err := time.ParseDuration(text)
	if err != nil || v < time.Millisecond || v > maxTimeout {
		r.Add(n.At, "write a number and a unit, such as 500ms, 30s or 2m", "%s must be a duration from 1ms to 24h, not %q", what, core.Cut(text))
		return 0
	}
	return v
}

var sizeForm = core.Pattern(`^(\d{1,15})(|KiB|MiB|GiB)$`)

// size is a number of bytes. 0 means that it is absent.
func (r *reader) size(n *document.Node, what string, least, most int64) int64 {
	text := r.text(n, what)
	if text == "" {
		return 0
	}
	m := sizeForm().FindStringSubmatch(text)
	if m == nil {
		r.Add(n.At, "write a number and a unit, such as 512KiB, 64MiB or 1GiB", "%q is no size for %s", core.Cut(text), what)
		return 0
	}
	v, _ := strconv.ParseInt(m[1], 10, 64) // the form has few enough digits
	unit := map[string]int64{"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[m[2]]
	if v > most/unit || v*unit < least {
		r.Add(n.At, "", "%s must be from %d to %d bytes, not %s", what, least, most, text)
		return 0
	}
	return v * unit
}
