package gate

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
)

// The layout of keys. core/store/FORMAT.md is its table.
const (
	toolPrefix  = "evidence-tool/"
	tallyPrefix = "evidence-tally/"
	dagPrefix   = "evidence-dag/"
	omegaPrefix = "evidence-omega/"
	indexPrefix = "evidence-dag-index/"
)

// toolKey is the key of an outcome: one per memory, session, turn, tool and reference.
// Ids contain no "/", which ends them.
func toolKey(o *core.ToolOutcome) []byte {
	sum := sha256.Sum256(jsontext.MustEncode([]string{o.Tool, o.Ref}))
	return append(turnKey(o.MemoryID, core.TurnRef{Session: o.Session, Turn: o.Turn}), sum[:]...)
}

// turnKey is the prefix of the outcomes of one turn.
func turnKey(memory string, turn core.TurnRef) []byte {
	key := []byte(toolPrefix + memory + "/" + turn.Session + "/")
	return binary.BigEndian.AppendUint64(key, uint64(turn.Turn))
}

// toolTurn returns the turn of a key under [turnKey]; ok is false for any other key.
func toolTurn(key []byte) (turn core.TurnRef, ok bool) {
	rest := strings.TrimPrefix(string(key), toolPrefix)
	memory, rest, _ := strings.Cut(rest, "/")
	session, rest, _ := strings.Cut(rest, "/")
	if len(rest) != 8+sha256.Size || !core.ValidID(memory) || !core.ValidID(session) {
		return turn, false
	}
	return core.TurnRef{Session: session, Turn: int64(binary.BigEndian.Uint64([]byte(rest[:8])))}, true
}

func tallyKey(memory string) []byte { return []byte(tallyPrefix + memory) }
func dagKey(workflow string) []byte { return []byte(dagPrefix + workflow) }
func omegaKey(memory string) []byte { return []byte(omegaPrefix + memory) }

// indexKey is the index entry for a memory that a workflow's graph names.
func indexKey(memory, workflow string) []byte { return []byte(indexPrefix + memory + "/" + workflow) }

// splitIndex returns the parts of a key made by [indexKey].
func splitIndex(key []byte) (memory, workflow string) {
	memory, workflow, _ = strings.Cut(strings.TrimPrefix(string(key), indexPrefix), "/")
	return memory, workflow
}
