package record

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
)

// linkRecord is the stored form of a link.
type linkRecord struct {
	core.Link
	// Salt keys the digest of the metadata; "" if there is none.
	Salt string `json:"salt,omitempty"`
}

// PutLink writes a link from a memory of a namespace, and its index entry by the other
// end. It returns the digest of the metadata; "" if there is none.
func PutLink(t *Tx, namespace string, l *core.Link) (metadata string, err error) {
	record := linkRecord{Link: *l}
	if l.Metadata != nil {
		if record.Salt, err = t.NewSalt(); err != nil {
			return "", err
		}
		metadata = Keyed(record.Salt, string(l.Metadata))
	}
	value, err := jsontext.Encode(record)
	if err != nil {
		return "", err
	}
	if err := t.Write(namespace, LinkKey(l.From, l.Relation, l.To), value); err != nil {
		return "", err
	}
	return metadata, Links.Index(t, "", nil, l)
}

// DeleteLink removes a link from a memory of a namespace. The caller writes the event.
func DeleteLink(t *Tx, namespace, from, relation, to string) error {
	if err := t.Erase(namespace, LinkKey(from, relation, to)); err != nil {
		return err
	}
	return Links.Index(t, "", &core.Link{From: from, Relation: relation, To: to}, nil)
}

// LinksFrom returns the links that start at a memory, with a relation or, for "", with
// any, in the order of their keys; most limits their number.
func LinksFrom(r core.Reader, id, relation string, most int) (links []core.Link, err error) {
	start := []byte(LinkPrefix + id + "/")
	if relation != "" {
		start = append(start, relation+"/"...)
	}
	err = core.ScanPrefix(r, start, func(key, value []byte) (bool, error) {
		var l core.Link
		if err := json.Unmarshal(value, &l); err != nil {
			return false, Corrupt(id, string(key), "it can't be decoded: "+err.Error())
		}
		links = append(links, l)
		return len(links) < most, nil
	})
	return links, err
}

// LinkEnd is a link that ends at a memory, without its metadata.
type LinkEnd struct{ Relation, From string }

// LinksTo returns the links that end at a memory, in the order of their keys, at most
// most.
func LinksTo(r core.Reader, id string, most int) (ends []LinkEnd, err error) {
	start := []byte(LinkToPrefix + id + "/")
	err = core.ScanPrefix(r, start, func(key, _ []byte) (bool, error) {
		relation, from, _ := strings.Cut(string(key[len(start):]), "/")
		ends = append(ends, LinkEnd{relation, from})
		return len(ends) < most, nil
	})
	return ends, err
}

// ReadLink returns a link that [LinksTo] named.
func ReadLink(r core.Reader, from, relation, to string) (*core.Link, error) {
	return Links.Named(r, LinkToKey(to, relation, from), from+"/"+relation+"/"+to)
}

// unlink removes the links of a memory that is purged. Links that end at it stay, without
// their metadata, and are read as links to "purged:<id>" from then on, see package
// memory: however many there are, the purge is one transaction. Its links to what it supersedes
// stay in the same way, so that this doesn't become current again.
func unlink(t *Tx, m *core.Memory) error {
	id := m.ID
	links, err := LinksFrom(t, id, "", math.MaxInt)
	if err != nil {
		return err
	}
	for i := range links {
		l := &links[i]
		if l.Relation == core.RelationSupersedes && l.Metadata == nil {
			continue
		}
		if err := DeleteLink(t, m.Namespace, id, l.Relation, l.To); err != nil {
			return err
		}
		if l.Relation == core.RelationSupersedes {
			l.Metadata = nil
			if _, err := PutLink(t, m.Namespace, l); err != nil {
				return err
			}
		}
	}
	ends, err := LinksTo(t, id, math.MaxInt)
	if err != nil {
		return err
	}
	for _, e := range ends {
		l, err := ReadLink(t, e.From, e.Relation, id)
		if err != nil {
			return err
		}
		if l.Metadata == nil {
			continue
		}
		l.Metadata = nil
		from, err := Read(t, l.From)
		if err != nil {
			return err
		}
		if _, err := PutLink(t, from.Namespace, l); err != nil {
			return err
		}
	}
	return nil
}
