package loop

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// keyOutput is the reserved key of the current attempt.
const keyOutput = core.ReservedPrefix + "output"

// view makes the state that plugins see: the workflow's state together with the
// reflection_* keys. The workflow's part is encoded once.
type view struct {
	members map[string]json.RawMessage
	base    []byte // the members as `"k":v,` in key order, without reserved ones
}

// reflection has the values of the reserved keys in one call.
type reflection struct {
	iteration int
	output    json.RawMessage
	errors    json.RawMessage // an encoded list of findings
	feedback  string
	history   [][]byte // encoded entries, oldest first
	best      json.RawMessage
	bestScore float64
}

func newView(state json.RawMessage) (*view, error) {
	v := &view{members: map[string]json.RawMessage{}}
	if len(state) > 0 {
		if err := json.Unmarshal(state, &v.members); err != nil {
			return nil, sdk.Errorf(sdk.Invalid, "state_invalid", "the state is not a JSON object: %w", err)
		}
	}
	v.encode()
	return v, nil
}

// merge merges an object's members into the state, except reserved keys at any depth.
func (v *view) merge(patch json.RawMessage) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(withoutReserved(patch), &members); err != nil || members == nil {
		return sdk.Errorf(sdk.Invalid, "patch_invalid", "the corrector returned %s, which can't be merged into the state", jsontext.Kind(patch)).
			WithHint("with correct_mode: regenerate a corrector returns an object; with replace any value will do")
	}
	maps.Copy(v.members, members)
	v.encode()
	return nil
}

func (v *view) encode() {
	maps.DeleteFunc(v.members, isReserved[json.RawMessage])
	v.base = v.base[:0]
	for _, k := range slices.Sorted(maps.Keys(v.members)) {
		v.base = append(appendString(v.base, k), ':')
		v.base = append(append(v.base, v.members[k]...), ',')
	}
}

// state encodes the state with the reserved keys. Its size is the sum of its parts,
// so it grows linearly with the history.
func (v *view) state(r reflection) json.RawMessage {
	size := len(v.base) + len(r.output) + len(r.errors) + len(r.feedback) + len(r.best) + 256
	for _, h := range r.history {
		size += len(h) + 1
	}
	b := make([]byte, 0, size)
	b = append(append(b, '{'), v.base...)
	b = append(b, `"reflection_best":`...)
	b = appendRaw(b, r.best)
	b = append(b, `,"reflection_best_score":`...)
	b = strconv.AppendFloat(b, r.bestScore, 'g', -1, 64)
	b = append(b, `,"reflection_errors":`...)
	if len(r.errors) == 0 {
		b = append(b, "[]"...)
	}
	b = append(b, r.errors...)
	b = append(b, `,"reflection_feedback":`...)
	b = appendString(b, r.feedback)
	b = append(b, `,"reflection_history":[`...)
	b = append(b, bytes.Join(r.history, []byte{','})...)
	b = append(b, `],"reflection_iteration":`...)
	b = strconv.AppendInt(b, int64(r.iteration), 10)
	b = append(b, `,"reflection_output":`...)
	b = appendRaw(b, r.output)
	return append(b, '}')
}

// entryForPlugins is an attempt in reflection_history. An output may contain the state,
// which contains the history. The history must not be nested in itself, or each attempt
// would double its size. The store and the result keep outputs as they were made.
func entryForPlugins(a *core.Attempt) []byte {
	h := a.HistoryEntry()
	h.Output, h.Raw = withoutReserved(h.Output), withoutReserved(h.Raw)
	return jsontext.MustEncode(h)
}

// withoutReserved is an output without members that only the loop may write, at any
// depth. An output that has none is unchanged.
func withoutReserved(output json.RawMessage) json.RawMessage {
	if !bytes.Contains(output, []byte(`"`+core.ReservedPrefix)) {
		return output
	}
	value, err := jsontext.Decode(output)
	if err != nil {
		return output
	}
	return jsontext.MustEncode(strip(value))
}

// strip removes reserved members from a value, which it changes in place.
func strip(value any) any {
	switch v := value.(type) {
	case map[string]any:
		maps.DeleteFunc(v, isReserved[any])
		for key := range v {
			v[key] = strip(v[key])
		}
	case []any:
		for i := range v {
			v[i] = strip(v[i])
		}
	}
	return value
}

func isReserved[V any](key string, _ V) bool {
	return strings.HasPrefix(key, core.ReservedPrefix)
}

func appendRaw(b []byte, raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return append(b, "null"...)
	}
	return append(b, raw...)
}

func appendString(b []byte, s string) []byte {
	quoted, _ := json.Marshal(s) // a string can't fail to encode
	return append(b, quoted...)
}
