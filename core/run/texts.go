package run

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// A node that recalls or writes memories has them in its result. A purge must remove
// them, but a visit never changes. So a visit holds a memory with [purgedText] in place
// of its texts, and the texts are in a separate record, whose key begins with the
// memory's id. A purge finds and deletes this record, whatever its run. A reader of the
// visit gets the visit with the texts put back byte for byte, or, if they were purged,
// the visit as it is stored.
//
// The visit and its event have the digest of that record, which holds a salt, so that
// nothing can be guessed from the digest once the record is gone.

// When a run is pruned, these records stay, but empty, so that a purge can report that
// the run received the memory.

// textPrefix begins the keys of these records.
const textPrefix = "run-memory/"

// purgedText is shown in place of what was purged.
const purgedText = "[purged]"

// textSaltBytes is the size of a salt: 128 bits, which can't be guessed.
const textSaltBytes = 16

// textKey is the key of the texts of a memory that a visit of a run holds.
func textKey(memory, run string, visit int) []byte {
	return binary.BigEndian.AppendUint32([]byte(textPrefix+memory+"/"+run+"/"), uint32(visit))
}

// textPlace returns the parts of a key made by textKey.
func textPlace(key []byte) (memory, run string, visit int, ok bool) {
	memory, rest, _ := strings.Cut(string(key[len(textPrefix):]), "/")
	run, number, _ := strings.Cut(rest, "/")
	if !core.ValidID(memory) || !validID(run) || len(number) != 4 {
		return "", "", 0, false
	}
	return memory, run, int(binary.BigEndian.Uint32([]byte(number))), true
}

// visitRecord is the stored form of a visit: its result without the texts of memories.
type visitRecord struct {
	core.Visit
	// Memories are the memories that the result holds, with the digests of their texts; a
	// memory without a digest was purged before the visit was recorded.
	Memories []journal.MemoryDigest `json:"memories,omitempty"`
}

// putTexts removes the texts of memories from a visit, and stores them.
func putTexts(tx core.Tx, run string, v *visitRecord, purged core.Purged) error {
	texts := map[string][]jsontext.Member{}
	var ids []string
	result, err := changeMemories(v.Result, func(id, block string, members []jsontext.Member) error {
		if texts[id] == nil {
			ids = append(ids, id)
		}
		texts[id] = append(texts[id], takeTexts(block, members)...)
		return nil
	})
	if err != nil {
		return err
	}
	result, removed := withoutSessions(result)
	v.Result = withoutPrompt(result, removed || len(ids) > 0)
	for _, id := range ids {
		held := journal.MemoryDigest{MemoryID: id}
		gone, err := purged.Any(tx, id)
		if err != nil {
			return err
		}
		if !gone {
			value, err := salted(texts[id])
			if err != nil {
				return err
			}
			held.Digest = core.Digest(value)
			if err := tx.Put(textKey(id, run, v.Number), value); err != nil {
				return err
			}
		}
		v.Memories = append(v.Memories, held)
	}
	return nil
}

// takeTexts replaces the texts of a memory, and returns them.
func takeTexts(block string, members []jsontext.Member) (texts []jsontext.Member) {
	for i, m := range members {
		if !isText(m.Key) {
			continue
		}
		texts = append(texts, jsontext.Member{Key: textName(block, m.Key), Value: m.Value})
		members[i].Value = jsontext.MustEncode(purgedText)
		if m.Key == "tags" {
			members[i].Value = jsontext.MustEncode([]string{purgedText})
		}
	}
	return texts
}

// textName is the name of a text among a memory's texts, since several blocks of a
// snapshot may have texts of the same memory.
func textName(block, key string) string {
	if block == "" {
		return key
	}
	return key + " " + block
}

// salted are texts with a salt.
func salted(texts []jsontext.Member) (json.RawMessage, error) {
	salt := make([]byte, textSaltBytes)
	if _, err := io.ReadFull(rand.Reader, salt); err != nil {
		return nil, err
	}
	return jsontext.JoinMembers(append(texts, jsontext.Member{Key: "salt", Value: jsontext.MustEncode(base64.RawURLEncoding.EncodeToString(salt))})), nil
}

// isText reports whether the member of a memory with that name is removed by a purge.
func isText(name string) bool {
	return name == payloadField || slices.Contains(core.MemoryTexts(), name)
}

// withTexts puts the texts of memories back into a visit's result. For purged texts,
// [purgedText] stays.
func withTexts(r core.Reader, run string, v *visitRecord) (json.RawMessage, error) {
	if !v.apart() {
		return v.Result, nil
	}
	result, err := changeMemories(v.Result, func(id, block string, members []jsontext.Member) error {
		key := textKey(id, run, v.Number)
		value, found, err := r.Get(key)
		if err != nil || !found {
			return err
		}
		texts := jsontext.Members(value)
		if texts == nil {
			return visitRecords.Damaged(key, "it can't be decoded")
		}
		for i := range members {
			at := slices.IndexFunc(texts, func(t jsontext.Member) bool { return t.Key == textName(block, members[i].Key) })
			if isText(members[i].Key) && at >= 0 {
				members[i].Value = texts[at].Value
			}
		}
		return nil
	})
	if err == nil {
		result, err = withSessions(r, result)
	}
	if err != nil {
		return nil, err
	}
	return withPrompt(result), nil
}

// changeMemories calls change for the members of each memory in the result of a node, and
// keeps the rest byte for byte. The result of memory.observe is a memory; the result of
// memory.recall has a list of memories, and the result of inject.snapshot a list of blocks, some
// of which have a memory's text.
func changeMemories(result json.RawMessage, change func(id, block string, members []jsontext.Member) error) (json.RawMessage, error) {
	if !bytes.Contains(result, []byte(`"content"`)) && !bytes.Contains(result, []byte(blocksField)) {
		return result, nil
	}
	members := jsontext.Members(result)
	if id := memoryID(members); id != "" {
		err := change(id, "", members)
		return jsontext.JoinMembers(members), err
	}
	at := slices.IndexFunc(members, func(m jsontext.Member) bool { return m.Key == "memories" || m.Key == blocksField })
	var list []json.RawMessage
	if at < 0 || json.Unmarshal(members[at].Value, &list) != nil {
		return result, nil
	}
	changed := false
	for i := range list {
		memory := jsontext.Members(list[i])
		id, block := memoryID(memory), ""
		if members[at].Key == blocksField {
			id, block = blockMemory(memory), strconv.Itoa(i)
		}
		if id != "" {
			if err := change(id, block, memory); err != nil {
				return nil, err
			}
			list[i], changed = jsontext.JoinMembers(memory), true
		}
	}
	if !changed {
		return result, nil
	}
	members[at].Value = joinList(list)
	return jsontext.JoinMembers(members), nil
}

// memoryID is the id of the memory in an object; "" if the object isn't a memory.
func memoryID(members []jsontext.Member) string {
	found := map[string]string{}
	for _, m := range members {
		switch m.Key {
		case "id", "namespace", "kind", "state", "content":
			var text string
			if json.Unmarshal(m.Value, &text) != nil || text == "" {
				return ""
			}
			found[m.Key] = text
		}
	}
	if len(found) < 5 || !core.ValidID(found["id"]) {
		return ""
	}
	return found["id"]
}

// Memories removes purged memories from the records of runs.
type Memories struct{}

var _ core.Forgetter = Memories{}

// Forget implements [core.Forgetter].
func (Memories) Forget(tx core.Tx, memoryID string) (runs []string, err error) {
	prefix := textPrefix + memoryID + "/"
	var keys [][]byte
	err = scanPrefix(tx, prefix, func(key, _ []byte) error {
		keys = append(keys, bytes.Clone(key))
		run, _, _ := strings.Cut(string(key[len(prefix):]), "/")
		if n := len(runs); n == 0 || runs[n-1] != run { // they are in order
			runs = append(runs, run)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if err := tx.Delete(key); err != nil {
			return nil, sdk.Wrap("remove memory "+memoryID+" from runs", err)
		}
	}
	doing, err := forgetSteps(tx, memoryID)
	return union(runs, doing), core.JoinErrors(err, sdk.Wrap("remove memory "+memoryID+" from the prompts of runs", forgetPrompts(tx, memoryID)))
}
