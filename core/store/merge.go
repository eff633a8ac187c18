package store

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/sdk"
)

// Merged is what a merge copied.
type Merged struct {
	// Namespaces and Sessions are sorted. A session that the target already had,
	// identical to the source's, isn't listed.
	Namespaces, Sessions []string
	Records              int
}

// Merge copies namespaces from one store into another store that has other namespaces:
// each with its stream of the journal, the records that the stream proves, and the
// sessions whose turns the stream names. A pattern is a namespace, or, with /** at the
// end, a namespace and everything below it.
//
// Before anything is written, Merge refuses two things. If the target already has any of
// the data, the error is sdk.Conflict, reason "import_taken", and names all of it. If a
// link ends at a memory outside the patterns, the error is sdk.Invalid,
// "import_incomplete". At the end the parts rebuild their derived data and check the
// whole target; a target with problems is refused as by [Import]. A merge isn't atomic,
// so the target must be a store that is discarded if the merge fails.
func Merge(ctx context.Context, target *journal.Writer, source core.Store, patterns []string, parts []core.Checker) (Merged, error) {
	done := Merged{Namespaces: []string{}, Sessions: []string{}}
	err := source.View(ctx, func(from core.Reader) error {
		m := &merger{from: from, target: target, parts: parts, merged: done, records: map[string][]core.Proven{}}
		err := m.choose(ctx, patterns)
		if err == nil {
			err = target.Store.View(ctx, m.refuse)
		}
		if err == nil {
			err = m.copy(ctx)
		}
		done = m.merged
		return err
	})
	if err == nil {
		err = Rebuild(ctx, target.Store, parts)
	}
	if err == nil {
		err = refuse(ctx, target.Store, parts)
	}
	return done, sdk.Wrap("import into the store", err)
}

// merger is a merge in progress.
type merger struct {
	from   core.Reader
	target *journal.Writer
	parts  []core.Checker
	// records are the records that the chosen streams prove, by stream.
	records map[string][]core.Proven
	merged  Merged
}

// choose finds the namespaces that match the patterns, the sessions that they name, and
// all records of both.
func (m *merger) choose(ctx context.Context, patterns []string) error {
	all, err := m.namespaces()
	if err != nil {
		return err
	}
	for _, pattern := range patterns {
		top, tree := strings.CutSuffix(pattern, "/**")
		if err := core.CheckNamespace(top); err != nil {
			return err
		}
		found := false
		for _, namespace := range all {
			if namespace != top && !(tree && strings.HasPrefix(namespace, top+"/")) {
				continue
			}
			found = true
			if !slices.Contains(m.merged.Namespaces, namespace) {
				m.merged.Namespaces = append(m.merged.Namespaces, namespace)
			}
		}
		if !found {
			return sdk.Errorf(sdk.NotFound, "namespace_missing", "the export has no namespace that matches %s", pattern).
				WithHint("it has %s", shorten(all)).WithDetail("namespaces", all)
		}
	}
	slices.Sort(m.merged.Namespaces)
	sessions := map[string]bool{}
	for _, namespace := range m.merged.Namespaces {
		stream := journal.NamespaceStream(namespace)
		if err := m.proven(ctx, stream); err != nil {
			return err
		}
		if err := namedSessions(ctx, m.from, stream, sessions); err != nil {
			return err
		}
	}
	for _, session := range slices.Sorted(maps.Keys(sessions)) {
		head, err := journal.ReadHead(m.from, journal.SessionStream(session))
		if err != nil {
			return err
		}
		if head.Seq == 0 {
			continue // evidence may name any session
		}
		m.merged.Sessions = append(m.merged.Sessions, session)
		if err := m.proven(ctx, journal.SessionStream(session)); err != nil {
			return err
		}
	}
	return nil
}

// namespaces returns the namespaces that have a stream in the source.
func (m *merger) namespaces() (all []string, err error) {
	err = journal.Streams(m.from, func(s journal.StreamHead) (bool, error) {
		if namespace, is := strings.CutPrefix(s.Stream, journal.NamespaceStream("")); is && namespace != "*" {
			all = append(all, namespace)
		}
		return true, nil
	})
	return all, err
}

// namedSessions adds the sessions that the events of a stream name.
func namedSessions(ctx context.Context, r core.Reader, stream string, sessions map[string]bool) error {
	return journal.Read(r, stream, func(e journal.Entry) error {
		var event struct {
			SessionID string `json:"session_id"`
		}
		if json.Unmarshal(e.Data, &event) == nil && event.SessionID != "" {
			sessions[event.SessionID] = true
		}
		return ctx.Err()
	})
}

// proven collects the records that a stream proves.
func (m *merger) proven(ctx context.Context, stream string) error {
	m.records[stream] = nil
	for _, part := range m.parts {
		prover, ok := part.(core.Prover)
		if !ok {
			continue
		}
		list, err := prover.Proven(ctx, m.from, stream)
		if err != nil {
			return err
		}
		m.records[stream] = append(m.records[stream], list...)
	}
	return nil
}

// refuse refuses records that the target already has, and links whose target would be
// missing.
func (m *merger) refuse(target core.Reader) error {
	var taken []string
	for _, stream := range slices.Sorted(maps.Keys(m.records)) {
		there, err := journal.ReadHead(target, stream)
		if err != nil {
			return err
		}
		here, err := journal.ReadHead(m.from, stream)
		if err != nil {
			return err
		}
		session, isSession := strings.CutPrefix(stream, journal.SessionStream(""))
		if isSession && there == here { // an earlier import brought it
			delete(m.records, stream)
			m.merged.Sessions = slices.DeleteFunc(m.merged.Sessions, func(s string) bool { return s == session })
			continue
		}
		if there.Seq > 0 {
			taken = append(taken, stream)
		}
		if taken, err = takenKeys(target, m.records[stream], taken); err != nil {
			return err
		}
	}
	if len(taken) > 0 {
		return sdk.Errorf(sdk.Conflict, "import_taken", "the store already has %d of the records to be imported: %s", len(taken), shorten(taken)).
			WithHint("nothing was imported; ids, namespaces and sessions keep their names, so the store mustn't have any of them").WithDetail("taken", taken)
	}
	return m.whole()
}

// takenKeys adds the keys that the target already has: the keys of the records, and the
// keys next to which they can't exist (Excludes).
func takenKeys(target core.Reader, records []core.Proven, taken []string) ([]string, error) {
	for _, p := range records {
		for _, key := range [][]byte{p.Key, p.Excludes} {
			if key == nil {
				continue
			}
			_, found, err := target.Get(key)
			if err != nil {
				return nil, err
			}
			if found {
				taken = append(taken, run.DescribeKey(key))
			}
		}
	}
	return taken, nil
}

// whole refuses records that depend on records that weren't chosen.
func (m *merger) whole() error {
	chosen := map[string]bool{}
	for _, records := range m.records {
		for _, p := range records {
			chosen[string(p.Key)] = true
		}
	}
	var missing []string
	for _, records := range m.records {
		for _, p := range records {
			if len(p.Needs) > 0 && !slices.ContainsFunc(p.Needs, func(key []byte) bool { return chosen[string(key)] }) {
				missing = append(missing, run.DescribeKey(p.Key))
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return sdk.Errorf(sdk.Invalid, "import_incomplete", "%d links end at memories of namespaces that aren't chosen: %s", len(missing), shorten(missing)).
		WithHint("nothing was imported; choose those namespaces as well").WithDetail("links", missing)
}

// copy writes the records, and then the streams.
func (m *merger) copy(ctx context.Context) error {
	root, err := journal.ReadHead(m.from, journal.RootStream)
	if err != nil {
		return err
	}
	for _, stream := range slices.Sorted(maps.Keys(m.records)) {
		records := m.records[stream]
		if err := m.put(ctx, records); err != nil {
			return err
		}
		m.merged.Records += len(records)
		var events []journal.Event
		if namespace, is := strings.CutPrefix(stream, journal.NamespaceStream("")); is {
			head, err := journal.ReadHead(m.from, stream)
			if err != nil {
				return err
			}
			event := journal.NamespaceImported{Namespace: namespace, Head: head.String(), Records: len(records)}
			if root.Seq > 0 {
				event.Root = root.String()
			}
			events = append(events, event)
		}
		if err := journal.Adopt(ctx, m.target, m.from, stream, events...); err != nil {
			return err
		}
	}
	return nil
}

// put writes records in transactions of bounded size.
func (m *merger) put(ctx context.Context, records []core.Proven) error {
	for len(records) > 0 {
		n := 0
		err := m.target.Update(ctx, func(tx *journal.Tx) error {
			n = 0
			for size := 0; n < len(records) && size < batchBytes; n++ {
				value, found, err := m.from.Get(records[n].Key)
				if err == nil && found {
					err = tx.Put(records[n].Key, value)
				}
				if err != nil {
					return err
				}
				size += len(records[n].Key) + len(value)
			}
			return ctx.Err()
		})
		if err != nil {
			return err
		}
		records = records[n:]
	}
	return nil
}

// shorten lists the first few of many.
func shorten(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	if len(list) <= maxListed {
		return strings.Join(list, ", ")
	}
	return strings.Join(list[:maxListed], ", ") + ", …"
}
