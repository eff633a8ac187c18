package memoryfile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// eachLine calls do for each line that isn't blank. A line that is too long is left out, and reading
// goes on behind it.
func (i *Import) eachLine(from io.Reader, do func(at string, line []byte) error) error {
	lines := bufio.NewReaderSize(from, maxRecordBytes)
	for number := 1; ; number++ {
		line, err := lines.ReadSlice('\n')
		at, long := fmt.Sprintf("line %d", number), errors.Is(err, bufio.ErrBufferFull)
		if long {
			i.leave(at, string(line[:64]), "it has more than %d bytes", maxRecordBytes)
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = lines.ReadSlice('\n')
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return sdk.Wrap(at, invalid("it can't be read: %w", err))
		}
		if number == 1 && !long {
			line = bytes.TrimPrefix(line, []byte("\ufeff")) // some editors put it at the start of a file
		}
		if line = bytes.TrimSpace(line); len(line) > 0 && !long {
			if err := do(at, line); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}

// readJSONL reads plain JSON Lines. The text is content, text or memory; what a memory has too is taken
// over, and everything else is kept as the source.
func (i *Import) readJSONL(from io.Reader) error {
	return i.eachLine(from, func(at string, line []byte) error {
		object := i.objectOf(at, line)
		if object == nil {
			return nil
		}
		named, rest := split(object, "content", "text", "memory", "title", "tags", "metadata", "namespace", "kind", "agent_id",
			"priority", "importance", "confidence", "occurred_at", "created_at", "timestamp", "date")
		rec := &record{at: at, source: rest}
		for _, problem := range []error{
			decode(named, "namespace", &rec.fields.Namespace), decode(named, "kind", &rec.fields.Kind), decode(named, "agent_id", &rec.fields.AgentID),
			decode(named, "priority", &rec.fields.Priority), decode(named, "importance", &rec.fields.Importance), decode(named, "confidence", &rec.fields.Confidence),
			decode(named, "title", &rec.title), decode(named, "tags", &rec.tags),
		} {
			if problem != nil {
				i.leave(at, string(line), "%s", problem)
				return nil
			}
		}
		if !i.texts(rec, named, "content", "text", "memory") {
			return nil
		}
		i.metadata(rec, named["metadata"])
		rec.times(named, "occurred_at", "created_at", "timestamp", "date")
		rec.key = []string{idOf(rest), rec.fields.Namespace, rec.title}
		return i.take(rec)
	})
}

// decode reads a member; a missing one is left as it is.
func decode(named map[string]json.RawMessage, name string, into any) error {
	raw, given := named[name]
	if !given {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("its %s is %s", name, jsontext.Kind(raw))
	}
	return nil
}

// texts sets a record's text: the first of the named members. The others are kept as the source. It
// leaves out a record that has none.
func (i *Import) texts(rec *record, named map[string]json.RawMessage, names ...string) bool {
	found := false
	for _, name := range names {
		raw, given := named[name]
		if !given {
			continue
		}
		if found {
			rec.source = append(rec.source, jsontext.Member{Key: name, Value: raw})
			continue
		}
		if err := decode(named, name, &rec.text); err != nil {
			i.leave(rec.at, string(raw), "%s, not a text", err)
			return false
		}
		found = true
	}
	if !found {
		i.leave(rec.at, string(jsontext.JoinMembers(rec.source)), "it has no %s", names[0])
	}
	return found
}

// times sets when a record happened: the first of the named members. The others are kept as the source.
func (rec *record) times(named map[string]json.RawMessage, names ...string) {
	for _, name := range names {
		raw, given := named[name]
		switch {
		case !given:
		case rec.time == nil:
			rec.time = raw
		default:
			rec.source = append(rec.source, jsontext.Member{Key: name, Value: raw})
		}
	}
}

// metadata takes over a record's metadata, or keeps what isn't an object as the source.
func (i *Import) metadata(rec *record, raw json.RawMessage) {
	switch members := jsontext.Members(raw); {
	case len(raw) == 0:
	case len(raw) > maxSourceBytes/2:
		i.leave(rec.at, "metadata", "it has %d bytes (limit %d)", len(raw), maxSourceBytes/2)
	case jsontext.RepeatedKey(raw) != "" || members == nil:
		rec.source = append(rec.source, jsontext.Member{Key: "metadata", Value: raw})
	default:
		rec.metadata = members
	}
}

// idOf is the id of a record, as it is written; "" if it has none.
func idOf(rest []jsontext.Member) string {
	if at := slices.IndexFunc(rest, func(m jsontext.Member) bool { return m.Key == "id" }); at >= 0 {
		return textOf(rest[at].Value)
	}
	return ""
}
