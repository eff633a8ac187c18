package record

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/table"
)

// What the index of recall holds of a namespace is kept in parts, so that a program needn't read all
// memories to make it again. It may be lost at any time. A part has words of memories, so a purge
// deletes each part that may have some of the memory: those between whose first and last ids the
// memory's is. The head lists exactly the parts that there are, and is written with each.

// IndexHead is what is kept of a namespace's index.
type IndexHead struct {
	// Settings are what it depends on.
	Settings string `json:"settings"`
	// Mark is another one after each purge: parts that were made before it aren't written after it.
	Mark string `json:"mark"`
	// Whole is whether all memories are in the parts that there were at their moments.
	Whole bool `json:"whole,omitempty"`
	// Parts are the parts, the earliest first.
	Parts []IndexPart `json:"parts,omitempty"`
}

// IndexPart is a part of what is kept of an index.
type IndexPart struct {
	// Name is the SHA-256 of the part's words, in hexadecimal, and Docs the SHA-256 of its other record.
	Name string `json:"name"`
	Docs string `json:"docs"`
	// Seq is the entry of the namespace's stream up to which the part has the changes.
	Seq uint64 `json:"seq"`
	// First and Last are the first and the last id of the memories of which it may have words.
	First string `json:"first"`
	Last  string `json:"last"`
}

// Widen makes the part's range include the one that it had, if it was there: what was removed since
// is still among its words.
func (p *IndexPart) Widen(was *IndexPart) {
	switch {
	case was == nil:
	case p.First == "":
		p.First, p.Last = was.First, was.Last
	default:
		p.First, p.Last = min(p.First, was.First), max(p.Last, was.Last)
	}
}

// IndexDigest is the digest of a record of a part.
func IndexDigest(value []byte) string {
	sum := sha256.Sum256(value)
	return hex.EncodeToString(sum[:])
}

// Find is the part with a name, nil if there is none.
func (h *IndexHead) Find(name string) *IndexPart {
	for i := range h.Parts {
		if h.Parts[i].Name == name {
			return &h.Parts[i]
		}
	}
	return nil
}

// IndexHeads are the heads, by namespace.
var IndexHeads = table.Kind[IndexHead]{
	Part: Part, Prefix: IndexPrefix, Passing: true,
	Doc: "namespace | what is kept of the index of recall: `{settings, mark, whole?, parts?: [{name, docs, seq, first, last}]}`. `settings` names the versions and the language that it depends on, `mark` changes with each purge, `whole` says that no memory was left out, `name` and `docs` are the SHA-256 of a part's two records, `seq` is the entry of the namespace's stream that the part is as of, and `first` and `last` are the ids between which its memories' are. A purge deletes the parts that may have the memory. All of it may be lost at any time",
	Valid: func(_ string, h *IndexHead) string {
		if h.Settings == "" || h.Mark == "" || slices.ContainsFunc(h.Parts, func(p IndexPart) bool { return p.Name == "" || p.Docs == "" }) {
			return "it isn't the head of an index"
		}
		return ""
	},
}

// IndexWords and IndexDocs are the two records of a part, by the namespace, a zero byte and its name.
var (
	IndexWords = indexKind(IndexWordsPrefix, "the words of a part, as `core/memory/text/layout.go` lays them out", func(p *IndexPart) string { return p.Name })
	IndexDocs  = indexKind(IndexDocsPrefix, "the rest of a part, as `core/memory/search/kept.go` lays it out", func(p *IndexPart) string { return p.Docs })
)

func indexKind(prefix, doc string, digest func(*IndexPart) string) table.Kind[[]byte] {
	return table.Kind[[]byte]{
		Part: Part, Prefix: prefix, Passing: true, Doc: "namespace 00 name | " + doc,
		Decode: func(_ string, value []byte) (*[]byte, error) { return &value, nil },
		Encode: func(value *[]byte) ([]byte, error) { return *value, nil },
		Agrees: func(r core.Reader, id string, value *[]byte) (wrong string, err error) {
			namespace, name, _ := strings.Cut(id, "\x00")
			head, err := IndexHeads.Get(r, namespace)
			if err != nil {
				return "", err
			}
			if head != nil {
				if p := head.Find(name); p != nil && digest(p) == IndexDigest(*value) {
					return "", nil
				}
			}
			return "the index of the namespace has no such part", nil
		},
	}
}

// IndexPartID is the id of the records of a part.
func IndexPartID(namespace, name string) string { return namespace + "\x00" + name }

// NewIndexHead is the head of an index of which nothing is kept yet.
func NewIndexHead(settings string) *IndexHead {
	return &IndexHead{Settings: settings, Mark: rand.Text()}
}

// DropIndexParts deletes the parts that a function chooses, and leaves them out of the head.
func DropIndexParts(tx core.Tx, namespace string, h *IndexHead, gone func(*IndexPart) bool) (err error) {
	h.Parts = slices.DeleteFunc(h.Parts, func(p IndexPart) bool {
		if err != nil || !gone(&p) {
			return false
		}
		id := IndexPartID(namespace, p.Name)
		err = cmp.Or(IndexWords.Delete(tx, id), IndexDocs.Delete(tx, id))
		return err == nil
	})
	return err
}

// forgetIndexed deletes what is kept of an index and may have words of a memory.
func forgetIndexed(t *Tx, m *core.Memory) error {
	head, err := IndexHeads.Get(t, m.Namespace)
	if err != nil || head == nil {
		return err
	}
	before := len(head.Parts)
	err = DropIndexParts(t, m.Namespace, head, func(p *IndexPart) bool { return p.First <= m.ID && m.ID <= p.Last })
	if err != nil {
		return err
	}
	head.Mark, head.Whole = rand.Text(), head.Whole && len(head.Parts) == before
	return IndexHeads.Put(t, m.Namespace, head)
}
