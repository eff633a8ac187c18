package client

import (
	"encoding/json"
	"reflect"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/jsontext"
)

// Callers see a result's JSON. For two results, the JSON has less than the program shows: a
// run's JSON is only its result, and a module's JSON leaves out what its plugin.yaml sets
// for instances. Between a command and its own server, these two results are sent whole. A
// test finds any other such result.

// wholeModule is a plugin's description with what its JSON leaves out.
type wholeModule struct {
	*host.Inspection
	Stateful bool `json:"_stateful,omitempty"`
	Isolated bool `json:"_isolated,omitempty"`
}

// EncodeResult encodes an operation's result with everything that the program needs.
func EncodeResult(out any) (json.RawMessage, error) {
	switch out := out.(type) {
	case nil:
		return nil, nil
	case *operation.RunEnded:
		return jsontext.Encode(out.Run)
	case *host.Inspection:
		whole := wholeModule{Inspection: out}
		if out.Module != nil {
			whole.Stateful, whole.Isolated = out.Module.Stateful, out.Module.Isolated
		}
		return jsontext.Encode(whole)
	}
	return jsontext.Encode(out)
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
