package install

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/plugin"
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

// scalar is a value that must be a single one; false if it is absent or isn't.
func (d *document) scalar(n *node, what string) bool {
	if n == nil {
		return false
	}
	if n.kind != kindScalar {
		d.add(n, "", "%s must be a single value, not %s", what, n.kind)
		return false
	}
	if n.text == "" {
		d.add(n, "", "%s is empty", what)
		return false
	}
	return true
}

func (d *document) text(n *node, what string) string {
	if !d.scalar(n, what) {
		return ""
	}
	return n.text
}

// form is text that must have a form.
func (d *document) form(n *node, what string, form *regexp.Regexp, hint string) string {
	text := d.text(n, what)
	if text != "" && !form.MatchString(text) {
		d.add(n, hint, "%q can't be the %s", cut(text), what)
	}
	return text
}

// oneOf is one of some words; the first where the value is absent.
func (d *document) oneOf(n *node, what string, words ...string) string {
	text := d.text(n, what)
	if text == "" || slices.Contains(words, text) {
		if text == "" {
			return words[0]
		}
		return text
	}
	hint := ""
	if near := core.Nearest(text, words); near != "" {
		hint = "did you mean " + strconv.Quote(near) + "?"
	}
	d.add(n, hint, "%s must be one of %s, not %q", what, strings.Join(words, ", "), cut(text))
	return words[0]
}

func (d *document) flag(n *node, what string) bool {
	text := d.text(n, what)
	if text != "" && text != "true" && text != "false" {
		d.add(n, "", "%s must be true or false, not %q", what, cut(text))
	}
	return text == "true"
}

// list is a list of at most so many items.
func (d *document) list(n *node, what string, most int) []*node {
	switch {
	case n == nil:
		return nil
	case n.kind != kindList:
		d.add(n, "write it as ["+cut(n.text)+"]", "%s must be a list, not %s", what, n.kind)
		return nil
	case len(n.items) > most:
		d.add(n, "", "%s has more than %d items", what, most)
		return nil
	}
	return n.items
}

func (d *document) limits(n *node, runtime plugin.Runtime) (l plugin.Limits) {
	if n == nil {
		return l
	}
	if n.kind != kindMapping {
		d.add(n, "", "limits must be a mapping, not %s", n.kind)
		return l
	}
	d.known(n, "limits", "memory", "fuel", "timeout", "instances", "parallel", "output", "processes")
	memory := int64(maxMemory)
	if runtime == plugin.RuntimeWASM {
		memory = maxModuleMemory
	}
	l.MemoryBytes = d.size(n.get("memory"), "memory", minMemory, memory)
	l.MessageBytes = int(d.size(n.get("output"), "output", minOutput, maxOutput))
	l.Timeout = d.duration(n.get("timeout"), "timeout")
	l.Fuel = uint64(d.count(n.get("fuel"), "fuel", maxFuel))
	l.Instances = int(d.count(n.get("instances"), "instances", maxInstances))
	l.Parallel = int(d.count(n.get("parallel"), "parallel", maxParallel))
	l.Processes = int(d.count(n.get("processes"), "processes", maxProcesses))
	d.only(n, runtime, plugin.RuntimeProcess, "processes")
	d.only(n, runtime, plugin.RuntimeWASM, "fuel")
	return l
}

// count is a whole number from 1, also written as 1e9. 0 means that it is absent.
func (d *document) count(n *node, what string, most float64) int64 {
	text := d.text(n, what)
	if text == "" {
		return 0
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v != math.Trunc(v) || v < 1 || v > most {
		d.add(n, "", "%s must be a whole number from 1 to %.0f, not %q", what, most, cut(text))
		return 0
	}
	return int64(v)
}

func (d *document) duration(n *node, what string) time.Duration {
	text := d.text(n, what)
	if text == "" {
		return 0
	}
	v, err := time.ParseDuration(text)
	if err != nil || v < time.Millisecond || v > maxTimeout {
		d.add(n, "write a number and a unit, such as 500ms, 30s or 2m", "%s must be a duration from 1ms to 24h, not %q", what, cut(text))
		return 0
	}
	return v
}

var sizeForm = regexp.MustCompile(`^(\d{1,15})(|KiB|MiB|GiB)$`)

// size is a number of bytes. 0 means that it is absent.
func (d *document) size(n *node, what string, least, most int64) int64 {
	text := d.text(n, what)
	if text == "" {
		return 0
	}
	m := sizeForm.FindStringSubmatch(text)
	if m == nil {
		d.add(n, "write a number and a unit, such as 512KiB, 64MiB or 1GiB", "%q is no size for %s", cut(text), what)
		return 0
	}
	v, _ := strconv.ParseInt(m[1], 10, 64) // the form has few enough digits
	unit := map[string]int64{"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[m[2]]
	if v > most/unit || v*unit < least {
		d.add(n, "", "%s must be from %d to %d bytes, not %s", what, least, most, text)
		return 0
	}
	return v * unit
}
