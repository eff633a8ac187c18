package governance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// maxAssignments bounds one change: there are fewer fields than that.
const maxAssignments = 100

// Set changes fields of a level, a namespace or "*", by assignments such as
// "max_reflection_depth=2" or "locked=max_reflection_depth,limits". All problems
// are reported together, and then nothing is changed. A field that a level above
// locks is sdk.Denied, reason "field_locked". It returns the level's record.
func (g *Governor) Set(ctx context.Context, namespace string, assignments ...string) (*Record, error) {
	return g.SetIf(ctx, namespace, "", assignments...)
}

// SetIf is Set on the condition that the level's record has this version (see
// [Record.Version]); "" accepts any. If the version differs, the error is sdk.Conflict,
// reason "precondition_failed".
func (g *Governor) SetIf(ctx context.Context, namespace, version string, assignments ...string) (*Record, error) {
	changes, problems := parse(assignments)
	return g.change(ctx, namespace, version, problems, func(record *Record, above []level) []error {
		var problems []error
		for _, c := range changes {
			if by := lockedBy(above, c.field); by != "" {
				problems = append(problems, locked(namespace, c.field, by))
			}
			c.apply(record)
		}
		return problems
	})
}

// Unset removes fields from a level, so that the levels above decide. Without fields it
// removes everything that the level sets, even if that can't be read.
func (g *Governor) Unset(ctx context.Context, namespace string, fields ...string) (*Record, error) {
	return g.UnsetIf(ctx, namespace, "", fields...)
}

// UnsetIf is Unset on the condition that the level's record has this version: see
// [Governor.SetIf].
func (g *Governor) UnsetIf(ctx context.Context, namespace, version string, fields ...string) (*Record, error) {
	if len(fields) == 0 {
		return g.clear(ctx, namespace, version)
	}
	return g.change(ctx, namespace, version, unknownFields(fields), func(record *Record, _ []level) []error {
		for _, f := range Fields() {
			if slices.Contains(fields, f.Name) {
				f.set(record, nil)
			}
		}
		if slices.Contains(fields, lockedField) {
			record.Locked = nil
		}
		return nil
	})
}

// CheckSet reports everything that is wrong with a call of [Governor.Set] by itself, with a pointer to
// each assignment.
func CheckSet(namespace string, assignments ...string) error {
	_, problems := parse(assignments)
	return core.JoinErrors(append([]error{checkLevel(namespace)}, problems...)...)
}

// CheckUnset is CheckSet for [Governor.Unset].
func CheckUnset(namespace string, fields ...string) error {
	return core.JoinErrors(append([]error{checkLevel(namespace)}, unknownFields(fields)...)...)
}

// unknownFields lists the fields that don't exist.
func unknownFields(fields []string) (problems []error) {
	known := append([]string{lockedField}, fieldNames()...)
	for i, name := range fields {
		if !slices.Contains(known, name) {
			problems = append(problems, at("fields", i, unknown(name, known)))
		}
	}
	return problems
}

// at makes an item of a request's list the place of an error.
func at(list string, i int, err error) error {
	return sdk.AsError(err).WithDetail("pointer", fmt.Sprintf("/%s/%d", list, i))
}

// assignment is one change of a record.
type assignment struct {
	field string
	apply func(*Record)
}

// parse reads assignments, and reports everything that is wrong with them.
func parse(list []string) (changes []assignment, problems []error) {
	if len(list) == 0 || len(list) > maxAssignments {
		return nil, []error{invalid("", "%d fields are given (from 1 to %d are allowed)", len(list), maxAssignments).
			WithHint("write FIELD=VALUE, such as max_reflection_depth=2")}
	}
	var seen []string
	for i, text := range list {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			problems = append(problems, at("assignments", i, invalid(name, "%.80q isn't of the form FIELD=VALUE", text).WithHint("write it like max_reflection_depth=2")))
			continue
		}
		if slices.Contains(seen, name) {
			problems = append(problems, at("assignments", i, invalid(name, "%.80s is given twice", name).WithHint("give it once")))
			continue
		}
		seen = append(seen, name)
		change, err := parseOne(name, value)
		if err != nil {
			problems = append(problems, at("assignments", i, err))
			continue
		}
		changes = append(changes, change)
	}
	return changes, problems
}

func parseOne(name, value string) (assignment, error) {
	if name == lockedField {
		list, err := parseLocked(value)
		return assignment{name, func(r *Record) { r.Locked = list }}, err
	}
	fields := Fields()
	at := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })
	if at < 0 {
		return assignment{}, unknown(name, append(fieldNames(), lockedField))
	}
	f := fields[at]
	v, err := f.parse(value)
	if err == nil {
		err = f.check(v)
	}
	return assignment{name, func(r *Record) { f.set(r, &v) }}, err
}

// parseLocked reads a list of fields and groups with commas between them.
func parseLocked(value string) ([]string, error) {
	var list []string
	var problems []error
	for _, name := range strings.Split(value, ",") {
		name = strings.TrimSpace(name)
		switch {
		case name == "":
		case !slices.Contains(names(), name):
			problems = append(problems, unknown(name, names()))
		default:
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return slices.Compact(list), core.JoinErrors(problems...)
}

func fieldNames() []string {
	var list []string
	for _, f := range Fields() {
		list = append(list, f.Name)
	}
	return list
}

// lockedBy is the highest level that locks a field; "" if none does.
func lockedBy(levels []level, field string) string {
	for _, l := range levels {
		if l.record.locks(field) {
			return l.name
		}
	}
	return ""
}

func locked(namespace, field, by string) error {
	return sdk.Errorf(sdk.Denied, "field_locked", "%s can't be set in %s: %s locks it", field, namespace, by).
		WithHint("change it at %s, or unlock it there", by).
		WithDetail("field", field).WithDetail("namespace", namespace).WithDetail("locked_by", by)
}

// Replace has a level set what a record of another store does; nil sets nothing.
func (g *Governor) Replace(ctx context.Context, namespace string, record *Record) error {
	if record == nil {
		_, err := g.clear(ctx, namespace, "")
		return err
	}
	_, err := g.change(ctx, namespace, "", nil, func(own *Record, _ []level) []error {
		*own = *record
		return nil
	})
	return err
}

// change changes a level's record with fn, in one transaction with its event. problems
// are the problems found so far: if there are any, nothing is changed.
func (g *Governor) change(ctx context.Context, namespace, version string, problems []error, fn func(record *Record, above []level) []error) (*Record, error) {
	var after *Record
	err := g.writer.Update(ctx, func(tx *journal.Tx) error {
		levels, failure, err := chain(tx, namespace, read)
		if err != nil || failure != nil {
			return core.JoinErrors(append([]error{err, failure}, problems...)...)
		}
		own := &levels[len(levels)-1]
		before := own.record
		if err := checkVersion(namespace, version, recordJSON(before)); err != nil {
			return err
		}
		after = &Record{Namespace: namespace}
		if before != nil {
			*after = *before
		}
		own.record = after
		found := slices.Concat(problems, fn(after, levels[:len(levels)-1]))
		if len(found) == 0 {
			found = consistent(levels)
		}
		if err := core.JoinErrors(found...); err != nil {
			return err
		}
		return write(tx, recordJSON(before), after)
	})
	if err != nil {
		return nil, sdk.Wrap("change the settings of a namespace", err)
	}
	return after, nil
}

// consistent checks the settings in force at the last of the levels for contradictions
// between fields.
func consistent(levels []level) []error {
	var g core.Governance
	for _, f := range Fields() {
		if v := f.resolve(levels); v.Value != nil {
			f.apply(&g, *v.Value)
		}
	}
	if w := g.Retention; w.Revalidate > w.Active {
		return []error{invalid("retention.revalidate_threshold", "retention.revalidate_threshold would be %s, above retention.active_threshold, which is %s",
			text(w.Revalidate), text(w.Active)).WithHint("set both, so that revalidate_threshold isn't above active_threshold")}
	}
	return nil
}

// clear drops a level's record, whatever it holds.
func (g *Governor) clear(ctx context.Context, namespace, version string) (*Record, error) {
	after := &Record{Namespace: namespace}
	err := g.writer.Update(ctx, func(tx *journal.Tx) error {
		value, found, err := tx.Get(key(namespace))
		if err != nil {
			return err
		}
		stored := value
		if !found {
			stored = recordJSON(nil)
		}
		if err := checkVersion(namespace, version, stored); err != nil {
			return err
		}
		if !found { // a record that exists can be dropped, even if its name is invalid
			return checkLevel(namespace)
		}
		before := json.RawMessage(value)
		if _, err := decode(namespace, value); err != nil {
			before = jsontext.MustEncode(core.Digest(value))
		}
		return write(tx, before, after)
	})
	if err != nil {
		return nil, sdk.Wrap("drop the settings of a namespace", err)
	}
	return after, nil
}

// recordJSON is the stored form of a record; null for a record that sets nothing.
func recordJSON(r *Record) json.RawMessage {
	if r == nil || r.empty() {
		return json.RawMessage("null")
	}
	return jsontext.MustEncode(r)
}

// Version identifies what the record sets. Equal records have equal versions, so a change
// that was undone causes no conflict: what matters is the content that a caller has seen,
// not how often it changed.
func (r *Record) Version() string { return versionOf(recordJSON(r)) }

func versionOf(stored []byte) string {
	if string(stored) == "null" {
		return "0"
	}
	return core.Digest(stored)[7:23]
}

// checkVersion refuses to change a record that has changed since the caller saw it.
func checkVersion(namespace, version string, stored []byte) error {
	if is := versionOf(stored); version != "" && version != is {
		return sdk.Errorf(sdk.Conflict, "precondition_failed", "the settings of %s have the version %s, not %s", namespace, is, core.Cut(version)).
			WithHint("look at them again").WithAction("governance get", "namespace", namespace).
			WithDetail("namespace", namespace).WithDetail("version", is)
	}
	return nil
}

// write replaces the stored record and records the event. If nothing changes, it writes
// nothing.
func write(tx *journal.Tx, before json.RawMessage, after *Record) error {
	value := recordJSON(after)
	if bytes.Equal(before, value) {
		return nil
	}
	var err error
	if after.empty() {
		err = tx.Delete(key(after.Namespace))
	} else {
		err = tx.Put(key(after.Namespace), value)
	}
	if err != nil {
		return err
	}
	return tx.Append(journal.NamespaceStream(after.Namespace), journal.GovernanceChanged{
		Namespace: after.Namespace, AgentID: tx.Caller().Label, Before: before, After: value,
	})
}
