package state

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// maxStatePath bounds a dotted path, in keys.
const maxStatePath = 32

// Set returns a state, a JSON object (nil is {}), with the value at a dotted path such as
// "user.name" set. Missing objects on the way are created. Anything else on the way, an
// empty key, and a reserved key at the top are refused, reason "state_key_invalid".
func Set(state json.RawMessage, path string, value json.RawMessage) (json.RawMessage, error) {
	keys := strings.Split(path, ".")
	if len(keys) > maxStatePath || slices.Contains(keys, "") {
		return nil, sdk.Errorf(sdk.Invalid, "state_key_invalid", "%q isn't a path into the state", core.Cut(path)).
			WithHint("write keys separated by dots, at most %d, such as user.name", maxStatePath)
	}
	if err := checkKey(keys[0]); err != nil {
		return nil, err
	}
	if _, err := jsontext.Decode(value); err != nil {
		return nil, sdk.Wrap("state."+path, err)
	}
	return setPath(state, keys, 0, value)
}

func setPath(object json.RawMessage, keys []string, depth int, value json.RawMessage) (json.RawMessage, error) {
	if depth == len(keys) {
		return value, nil
	}
	members, err := decodeObject(object)
	if err != nil {
		at := strings.Join(append([]string{"state"}, keys[:depth]...), ".")
		return nil, sdk.Errorf(sdk.Invalid, "state_key_invalid",
			"can't set %q: %s isn't an object", strings.Join(keys, "."), at)
	}
	if members[keys[depth]], err = setPath(members[keys[depth]], keys, depth+1, value); err != nil {
		return nil, err
	}
	return encodeObject(members), nil
}

// Merge returns a state with the members of patch, a JSON object: a key that is in both
// gets the patch's whole value. Reserved keys are refused, reason "state_key_invalid".
func Merge(state, patch json.RawMessage) (json.RawMessage, error) {
	base, err := decodeObject(state)
	if err != nil {
		return nil, sdk.Wrap("merge the state", err)
	}
	over, err := decodeObject(patch)
	if err != nil {
		return nil, sdk.Wrap("merge the state", err)
	}
	for _, key := range slices.Sorted(maps.Keys(over)) {
		if err := checkKey(key); err != nil {
			return nil, err
		}
		base[key] = over[key]
	}
	return encodeObject(base), nil
}

func checkKey(key string) error {
	if strings.HasPrefix(key, core.ReservedPrefix) {
		return sdk.Errorf(sdk.Invalid, "state_key_invalid", "state.%s is reserved: keys of loops begin with %s", key, core.ReservedPrefix).
			WithHint("choose a name that doesn't begin with %s", core.ReservedPrefix)
	}
	return nil
}

// decodeObject splits a JSON object; nil and null give an empty one.
func decodeObject(object json.RawMessage) (map[string]json.RawMessage, error) {
	members := map[string]json.RawMessage{}
	if len(object) == 0 {
		return members, nil
	}
	if _, err := jsontext.Decode(object); err != nil {
		return nil, err
	}
	if json.Unmarshal(object, &members) != nil { // it is JSON, but of another kind
		return nil, sdk.Errorf(sdk.Invalid, "state_invalid", "the state must be a JSON object, such as {\"name\": \"Ada\"}")
	}
	if members == nil {
		members = map[string]json.RawMessage{}
	}
	return members, nil
}

// encodeObject joins members, with keys sorted.
func encodeObject(members map[string]json.RawMessage) json.RawMessage {
	return jsontext.MustEncode(members)
}
