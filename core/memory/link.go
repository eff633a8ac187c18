package memory

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/reflectory/reflectory/core"
)

// linkKey is a link's; linkToKey finds it from its other end.
func linkKey(from, relation, to string) []byte {
	return []byte(linkPrefix + from + "/" + relation + "/" + to)
}

func linkToKey(to, relation, from string) []byte {
	return []byte(linkToPrefix + to + "/" + relation + "/" + from)
}

// splitLink is what a key of a link names.
func splitLink(key string) (from, relation, to string, ok bool) {
	from, rest, _ := strings.Cut(strings.TrimPrefix(key, linkPrefix), "/")
	relation, to, ok = strings.Cut(rest, "/")
	return from, relation, to, ok
}

// linkRecord is a link as it is stored.
type linkRecord struct {
	core.Link
	// Salt keys the digest of the metadata; "" where there is none.
	Salt string `json:"salt,omitempty"`
}

// putLink writes a link of a memory of a namespace, and its other end's entry. It
// returns the digest of the metadata; "" where there is none.
func putLink(t *tx, namespace string, l *core.Link) (metadata string, err error) {
	record := linkRecord{Link: *l}
	if l.Metadata != nil {
		if record.Salt, err = t.newSalt(); err != nil {
			return "", err
		}
		metadata = keyed(record.Salt, string(l.Metadata))
	}
	value, err := core.EncodeJSON(record)
	if err != nil {
		return "", err
	}
	if err := t.write(namespace, linkKey(l.From, l.Relation, l.To), value); err != nil {
		return "", err
	}
	return metadata, t.Put(linkToKey(l.To, l.Relation, l.From), nil)
}

func deleteLink(t *tx, namespace, from, relation, to string) error {
	if err := t.erase(namespace, linkKey(from, relation, to)); err != nil {
		return err
	}
	return t.Delete(linkToKey(to, relation, from))
}

// linksFrom returns the links that start at a memory, of a relation or with ""
// of all, in the order of their keys, at most so many.
func linksFrom(r core.Reader, id, relation string, most int) (links []core.Link, err error) {
	start := []byte(linkPrefix + id + "/")
	if relation != "" {
		start = append(start, relation+"/"...)
	}
	err = core.ScanPrefix(r, start, func(key, value []byte) (bool, error) {
		var l core.Link
		if err := json.Unmarshal(value, &l); err != nil {
			return false, corrupt(id, string(key), "it can't be decoded: "+err.Error())
		}
		links = append(links, l)
		return len(links) < most, nil
	})
	return links, err
}

// end is a link without what it carries.
type end struct{ relation, from string }

// linksTo returns which links lead to a memory, in the order of their keys, at
// most so many.
func linksTo(r core.Reader, id string, most int) (ends []end, err error) {
	start := []byte(linkToPrefix + id + "/")
	err = core.ScanPrefix(r, start, func(key, _ []byte) (bool, error) {
		relation, from, _ := strings.Cut(string(key[len(start):]), "/")
		ends = append(ends, end{relation, from})
		return len(ends) < most, nil
	})
	return ends, err
}

// readLink returns a link that linksTo named.
func readLink(r core.Reader, from, relation, to string) (*core.Link, error) {
	key := linkKey(from, relation, to)
	value, found, err := r.Get(key)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, corrupt(from, string(key), "the link is missing, though its other end names it")
	}
	var l core.Link
	if err := json.Unmarshal(value, &l); err != nil {
		return nil, corrupt(from, string(key), "it can't be decoded: "+err.Error())
	}
	return &l, nil
}

// unlink removes the links of a memory that is purged. Those that led to it stay,
// without what they carried, and are read as links to "purged:<id>" from then on, see
// [pointAtTombstone]: however many they are, the purge is one transaction.
func unlink(t *tx, m *core.Memory) error {
	id := m.ID
	links, err := linksFrom(t, id, "", math.MaxInt)
	if err != nil {
		return err
	}
	for _, l := range links {
		if err := deleteLink(t, m.Namespace, id, l.Relation, l.To); err != nil {
			return err
		}
	}
	ends, err := linksTo(t, id, math.MaxInt)
	if err != nil {
		return err
	}
	for _, e := range ends {
		l, err := readLink(t, e.from, e.relation, id)
		if err != nil {
			return err
		}
		if l.Metadata == nil {
			continue
		}
		l.Metadata = nil
		from, err := read(t, l.From)
		if err != nil {
			return err
		}
		if _, err := putLink(t, from.Namespace, l); err != nil {
			return err
		}
	}
	return nil
}

// pointAtTombstone makes links that lead to what was purged say so.
func pointAtTombstone(r core.Reader, links []core.Link) error {
	for i := range links {
		gone, err := readTombstone(r, links[i].To)
		if err != nil {
			return err
		}
		if gone != nil {
			links[i].To = purgedMark + links[i].To
		}
	}
	return nil
}

// reflectsOn writes the links of a reflection to its sources.
func reflectsOn(t *tx, m *core.Memory, sources []string) error {
	for i, source := range sources {
		l := &core.Link{From: m.ID, Relation: core.RelationReflectsOn, To: source, Position: i, CreatedAt: m.CreatedAt}
		if _, err := putLink(t, m.Namespace, l); err != nil {
			return err
		}
	}
	return nil
}
