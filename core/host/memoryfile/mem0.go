package memoryfile

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/reflectory/reflectory/core/jsontext"
)

// readMem0 reads what mem0's get_all returns (docs.mem0.ai, API reference, "Get all memories"): a list
// of memories, or an object with them as results and, from a graph store, with relations. A memory is
// {"id", "memory", "created_at", "updated_at", "metadata", "categories", "user_id", "agent_id", …}.
func (i *Import) readMem0(from io.Reader) error {
	buffered := bufio.NewReader(from)
	if first, _, err := buffered.ReadRune(); err == nil && first != '\ufeff' {
		_ = buffered.UnreadRune() // just read
	}
	d := json.NewDecoder(buffered)
	start, err := d.Token()
	switch {
	case err != nil:
		return invalid("the file isn't JSON: %w", jsontext.Problem(err))
	case start == json.Delim('['):
		return i.list(d, "", i.mem0)
	case start != json.Delim('{'):
		return invalid("the file is neither a list of memories nor an object with results").WithHint("save what get_all returned")
	}
	lists := 0
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return invalid("the file breaks off: %w", jsontext.Problem(err))
		}
		take := map[any]func(string, json.RawMessage) error{"results": i.mem0, "memories": i.mem0, "relations": i.mem0Relation}[key]
		if take == nil {
			var other json.RawMessage
			if err := d.Decode(&other); err != nil {
				return invalid("%v can't be read: %w", key, jsontext.Problem(err))
			}
			if key == "next" && string(other) != "null" {
				i.leave("next", string(other), "it is another page of memories: fetch it, and import it too")
			} else if !slices.Contains([]any{"next", "previous", "count"}, key.(any)) {
				i.leave(fmt.Sprint(key), string(other), "this key isn't known")
			}
			continue
		}
		if start, err := d.Token(); err != nil || start != json.Delim('[') {
			return invalid("%v isn't a list", key)
		}
		lists++
		if err := i.list(d, fmt.Sprint(key), take); err != nil {
			return err
		}
	}
	if lists == 0 {
		return invalid("the object has no list of results").WithHint("save what get_all returned")
	}
	return nil
}

// list takes the items of a list that has begun.
func (i *Import) list(d *json.Decoder, name string, take func(string, json.RawMessage) error) error {
	for n := 0; d.More(); n++ {
		at := fmt.Sprintf("%s[%d]", name, n)
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return invalid("%s can't be read: %w", at, jsontext.Problem(err))
		}
		if len(raw) > maxRecordBytes {
			i.leave(at, string(raw[:64]), "it has %d bytes (limit %d)", len(raw), maxRecordBytes)
			continue
		}
		if err := take(at, raw); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return invalid("the list breaks off: %w", jsontext.Problem(err))
	}
	return nil
}

// mem0 takes a memory.
func (i *Import) mem0(at string, raw json.RawMessage) error {
	object := i.objectOf(at, raw)
	if object == nil {
		return nil
	}
	named, rest := split(object, "memory", "text", "created_at", "updated_at", "metadata", "categories")
	rec := &record{at: at, source: rest}
	if !i.texts(rec, named, "memory", "text") {
		return nil
	}
	if err := decode(named, "categories", &rec.tags); err != nil {
		rec.source = append(rec.source, jsontext.Member{Key: "categories", Value: named["categories"]})
	}
	i.metadata(rec, named["metadata"])
	rec.times(named, "created_at", "updated_at")
	rec.key = []string{idOf(rest)}
	return i.take(rec)
}

// mem0Relation takes a relation of the graph store.
func (i *Import) mem0Relation(at string, raw json.RawMessage) error {
	object := i.objectOf(at, raw)
	if object == nil {
		return nil
	}
	named, rest := split(object, "source", "relationship", "relation", "target", "destination")
	var words []string
	for _, names := range [][2]string{{"source", "source"}, {"relationship", "relation"}, {"target", "destination"}} {
		var word string
		if decode(named, names[0], &word) != nil || word == "" && decode(named, names[1], &word) != nil || word == "" {
			i.leave(at, string(raw), "it has no %s", names[0])
			return nil
		}
		if other := named[names[1]]; names[0] != names[1] && other != nil && textOf(other) != word {
			i.leave(at, string(other), "it has a %s, and a %s too", names[0], names[1])
		}
		words = append(words, word)
	}
	return i.take(&record{
		at: at, title: words[0] + " " + words[1], text: words[0] + " " + words[1] + " " + words[2],
		source: append([]jsontext.Member{member("type", "relation"), member("from", words[0]), member("relation", words[1]), member("to", words[2])}, rest...),
		key:    append([]string{"relation"}, words...),
	})
}
