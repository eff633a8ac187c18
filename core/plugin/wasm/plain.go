package wasm

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/abi"
	"github.com/reflectory/reflectory/sdk/check"
)

// extismProtocol calls Extism plug-ins: those that know the contract by
// its operations, and to plain ones by the function that the config names.
type extismProtocol struct {
	exports []string
	plain   bool
	last    *plainConfig // of the last call
}

func newExtismProtocol(info Info) *extismProtocol {
	s := &extismProtocol{exports: info.Exports, plain: true}
	for op := abi.OpEvaluate; op <= abi.OpCorrect; op++ {
		s.plain = s.plain && !s.exported(op.String())
	}
	return s
}

func (s *extismProtocol) exported(name string) bool { return slices.Contains(s.exports, name) }

func (s *extismProtocol) call(g *guest, r *request) ([]byte, error) {
	switch {
	case s.exported(r.op.String()) && (!s.plain || r.op <= abi.OpPrepare):
		return g.callExtism(r.op.String(), appendRequest(nil, r, true, true), configValues(r.config.JSON))
	case r.op == abi.OpDescribe:
		return encode(abi.Reply[struct{}]{Manifest: s.manifest(g)})
	case s.plain:
		return s.callPlain(g, r)
	case r.op == abi.OpPrepare:
		return encode(abi.Reply[struct{}]{})
	}
	return nil, sdk.Errorf(sdk.Invalid, "kind_unsupported", "plugin %s has no function %s", g.plugin.Name, r.op).
		WithHint("it has: %s", strings.Join(s.exports, ", "))
}

// manifest is the manifest of a plug-in that doesn't describe itself.
func (s *extismProtocol) manifest(g *guest) *sdk.Manifest {
	m := &sdk.Manifest{
		Name: path.Base(g.plugin.Name), Version: g.plugin.Version, Contract: sdk.ContractVersion,
		Description: "an Extism plug-in: " + strings.Join(s.exports, ", "),
	}
	if m.Version == "" {
		m.Version = "0.0.0"
	}
	for _, k := range []struct {
		kind sdk.Kind
		op   abi.Op
	}{{sdk.KindCorrector, abi.OpCorrect}, {sdk.KindEvaluator, abi.OpEvaluate}, {sdk.KindGenerator, abi.OpGenerate}} {
		if len(g.plugin.Kinds) > 0 && !slices.Contains(g.plugin.Kinds, k.kind) {
			continue // its package says that it isn't for that
		}
		if s.plain || s.exported(k.op.String()) {
			m.Kinds = append(m.Kinds, k.kind)
		}
	}
	return m
}

// plainConfig is the config of a plain plug-in.
type plainConfig struct {
	Function string `json:"function"`
	Input    string `json:"input"`
	Verdict  string `json:"verdict"`

	verdict policypoint.ValueExpression // nil if the output is itself the verdict

	values map[string]string // all of it, as Extism has it
	json   json.RawMessage   // what it was read from
}

// configOf reads a request's config, unless it is the last call's.
func (s *extismProtocol) configOf(g *guest, r *request) (*plainConfig, error) {
	if s.last != nil && bytes.Equal(s.last.json, r.config.JSON) {
		return s.last, nil
	}
	c := &plainConfig{json: bytes.Clone(r.config.JSON), values: configValues(r.config.JSON)}
	if err := json.Unmarshal(r.config.JSON, c); err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "config_invalid", "the config of plugin %s: %w", g.plugin.Name, err).
			WithHint("set function, and where they are needed input and verdict, to strings")
	}
	if !s.exported(c.Function) {
		return nil, sdk.Errorf(sdk.Invalid, "config_invalid", "plugin %s has no function %q", g.plugin.Name, c.Function).
			WithHint("set function in its config to one of: %s", strings.Join(s.exports, ", "))
	}
	if c.Verdict != "" {
		var err error
		if c.verdict, err = compileVerdict(g, c.Verdict); err != nil {
			return nil, err
		}
	}
	s.last = c
	return c, nil
}

func (s *extismProtocol) callPlain(g *guest, r *request) ([]byte, error) {
	c, err := s.configOf(g, r)
	if err != nil {
		return nil, err
	}
	reply := abi.Reply[json.RawMessage]{Results: []abi.Result[json.RawMessage]{}}
	for _, item := range r.items {
		response, err := callItem(g, r.op, c, item)
		if e, ok := err.(*sdk.Error); ok { //nolint:errorlint // anything around it is the engine's, and ends the call
			reply.Results = append(reply.Results, abi.Result[json.RawMessage]{Error: abi.NewError(e)})
			continue
		}
		if err != nil {
			return nil, err
		}
		reply.Results = append(reply.Results, abi.Result[json.RawMessage]{Response: &response})
	}
	return encode(reply)
}

// callItem makes a response of what the function outputs for one item.
func callItem(g *guest, op abi.Op, c *plainConfig, item json.RawMessage) (json.RawMessage, error) {
	input, err := plainInput(op, c, item)
	if err != nil {
		return nil, err
	}
	output, err := g.callExtism(c.Function, input, c.values)
	if err != nil {
		return nil, err
	}
	field := `{"output":`
	if op == abi.OpEvaluate {
		field = `{"verdict":`
		if c.verdict != nil {
			if output, err = c.judge(g.ctx, output); err != nil {
				return nil, err
			}
		}
	} else if first := bytes.TrimLeft(output, " \t\r\n"); len(first) == 0 || first[0] != '{' && first[0] != '[' || check.JSON(output) != nil {
		if output, err = encode(string(output)); err != nil {
			return nil, err
		}
	}
	if err := check.JSON(output); err != nil {
		return nil, check.ResponseInvalid("what function %s outputs as a verdict %w", c.Function, err)
	}
	return slices.Concat([]byte(field), output, []byte("}")), nil
}

// plainInput is what a function is given of a request: text as it is, anything
// else as JSON.
func plainInput(op abi.Op, c *plainConfig, item json.RawMessage) ([]byte, error) {
	var req struct {
		State  json.RawMessage `json:"state"`
		Output json.RawMessage `json:"output"`
	}
	if err := json.Unmarshal(item, &req); err != nil {
		return nil, sdk.Errorf(sdk.Internal, "encode", "read a request: %w", err)
	}
	value := req.Output
	if op == abi.OpGenerate {
		value = req.State
		if c.Input != "" {
			var state map[string]json.RawMessage
			_ = json.Unmarshal(req.State, &state) // no object has no keys
			found, ok := state[c.Input]
			if !ok {
				return nil, sdk.Errorf(sdk.Invalid, "input_missing", "the state has no %q, which the plugin's input is", c.Input).
					WithHint("set it in the workflow's input, or another input in the plugin's config")
			}
			value = found
		}
	}
	return plainText(value), nil
}

// plainText is a JSON string's text, and other JSON as it is.
func plainText(value json.RawMessage) []byte {
	var text string
	if len(value) > 0 && value[0] == '"' && json.Unmarshal(value, &text) == nil {
		return []byte(text)
	}
	return value
}

// configValues are a config's entries as Extism has them: text.
func configValues(config json.RawMessage) map[string]string {
	var entries map[string]json.RawMessage
	_ = json.Unmarshal(config, &entries) // no object has no entries
	values := make(map[string]string, len(entries))
	for name, value := range entries {
		values[name] = string(plainText(value))
	}
	return values
}
