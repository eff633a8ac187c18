package memoryfile

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/reflectory/reflectory/core/jsontext"
)

// readGraph reads the file of MCP's memory server (modelcontextprotocol/servers, src/memory): JSON
// Lines of {"type": "entity", "name", "entityType", "observations"} and {"type": "relation", "from",
// "to", "relationType"}. It has no times and no ids: an entity's name is its id.
func (i *Import) readGraph(from io.Reader) error {
	return i.eachLine(from, func(at string, line []byte) error {
		object := i.objectOf(at, line)
		if object == nil {
			return nil
		}
		named, _ := split(object, "type", "name", "entityType", "observations", "from", "to", "relationType")
		fields := map[string]string{}
		for _, name := range []string{"type", "name", "entityType", "from", "to", "relationType"} {
			var text string
			if err := decode(named, name, &text); err != nil {
				i.leave(at, string(line), "%s, not a text", err)
				return nil
			}
			fields[name] = text
		}
		switch {
		case fields["type"] == "entity" && fields["name"] != "":
			_, rest := split(object, "type", "name", "entityType", "observations")
			return i.entity(at, fields["name"], fields["entityType"], named["observations"], rest)
		case fields["type"] == "relation" && fields["from"] != "" && fields["to"] != "" && fields["relationType"] != "":
			_, rest := split(object, "type", "from", "to", "relationType")
			return i.take(&record{
				at: at, title: fields["from"] + " " + fields["relationType"], text: fields["from"] + " " + fields["relationType"] + " " + fields["to"],
				source: append([]jsontext.Member{member("type", "relation"), member("from", fields["from"]), member("to", fields["to"]), member("relationType", fields["relationType"])}, rest...),
				key:    []string{"relation", fields["from"], fields["relationType"], fields["to"]},
			})
		}
		i.leave(at, string(line), "it is neither an entity with a name nor a relation with from, to and relationType")
		return nil
	})
}

// entity takes one memory for each observation of an entity. Without any, its type is remembered.
func (i *Import) entity(at, name, kind string, observations json.RawMessage, rest []jsontext.Member) error {
	source := append([]jsontext.Member{member("type", "entity"), member("id", name), member("entityType", kind)}, rest...)
	title := name
	if kind != "" {
		title = fmt.Sprintf("%s (%s)", name, kind)
	}
	var list []json.RawMessage
	if len(observations) > 0 && json.Unmarshal(observations, &list) != nil {
		i.leave(at, string(observations), "its observations aren't a list")
		return nil
	}
	if len(list) == 0 && kind == "" {
		i.leave(at, name, "the entity has no observations and no type")
		return nil
	}
	if len(list) == 0 {
		return i.take(&record{at: at, title: title, text: title, source: source, key: []string{"entity", name}})
	}
	for n, raw := range list {
		place, text := fmt.Sprintf("%s, observations[%d]", at, n), ""
		if json.Unmarshal(raw, &text) != nil || string(raw) == "null" {
			i.leave(place, string(raw), "it isn't a text")
			continue
		}
		if err := i.take(&record{at: place, title: title, text: name + ": " + text, source: source, key: []string{"entity", name}}); err != nil {
			return err
		}
	}
	return nil
}
