package client

import (
	"encoding/json"
	"reflect"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
)

// A result's JSON is what callers see, and for two results that is less than the program
// shows of them: of a run its result, and of a module not what its plugin.yaml says of its
// instances. Between the program's own two sides these go whole. A test finds any other.

// wholeModule is an inspection with what its JSON leaves out.
type wholeModule struct {
	*host.Inspection
	Stateful bool `json:"_stateful,omitempty"`
	Isolated bool `json:"_isolated,omitempty"`
}

// EncodeResult is an operation's result as the program needs it.
func EncodeResult(out any) (json.RawMessage, error) {
	switch out := out.(type) {
	case nil:
		return nil, nil
	case *operation.RunEnded:
		return core.EncodeJSON(out.Run)
	case *host.Inspection:
		whole := wholeModule{Inspection: out}
		if out.Module != nil {
			whole.Stateful, whole.Isolated = out.Module.Stateful, out.Module.Isolated
		}
		return core.EncodeJSON(whole)
	}
	return core.EncodeJSON(out)
}

// decodeResult reads what [EncodeResult] wrote of an operation's result.
func decodeResult(o *operation.Operation, data json.RawMessage) (any, error) {
	switch o.Out() {
	case reflect.TypeFor[operation.RunEnded]():
		run := &core.Run{}
		err := json.Unmarshal(data, run)
		return &operation.RunEnded{Run: run}, err
	case reflect.TypeFor[host.Inspection]():
		whole := wholeModule{Inspection: &host.Inspection{}}
		err := json.Unmarshal(data, &whole)
		if whole.Module != nil {
			whole.Module.Stateful, whole.Module.Isolated = whole.Stateful, whole.Isolated
		}
		return whole.Inspection, err
	}
	out := reflect.New(o.Out()).Interface()
	return out, json.Unmarshal(data, out)
}
