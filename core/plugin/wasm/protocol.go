package wasm

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/tetratelabs/wazero/api"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/abi"
	"github.com/reflectory/reflectory/sdk/check"
)

// request is one call of a guest.
type request struct {
	op     abi.Op
	kind   sdk.Kind
	config plugin.Config
	items  []json.RawMessage
	runID  string
	// emit takes pieces of a generated output.
	emit func(item int, piece string)
}

// protocol makes calls on guests of one kind. A reply is valid until the guest runs again.
// An error comes from the engine, or reports what the guest did wrong.
type protocol interface {
	call(g *guest, r *request) (reply []byte, err error)
}

func protocolOf(info Info) protocol {
	switch info.Kind {
	case KindExtism:
		return newExtismProtocol(info)
	case KindCommand:
		return commandProtocol{}
	}
	return reactorProtocol{}
}

// appendRequest appends the message of a request. JSON values are copied unchanged. With
// whole the message has the config, otherwise only its digest.
func appendRequest(b []byte, r *request, named, whole bool) []byte {
	b = append(b, '{')
	if named {
		b = append(append(append(b, `"op":"`...), r.op.String()...), `",`...)
	}
	if r.op == abi.OpPrepare {
		b = append(append(append(b, `"kind":"`...), r.kind...), `",`...)
	}
	if r.op != abi.OpDescribe {
		b = appendString(append(b, `"config":{"digest":`...), r.config.Digest)
		if whole || r.op == abi.OpPrepare {
			b = append(append(b, `,"json":`...), r.config.JSON...)
		}
		b = append(b, `},`...)
	}
	if len(r.items) > 0 {
		b = append(b, `"items":[`...)
		for _, item := range r.items {
			b = append(append(b, item...), ',')
		}
		b[len(b)-1] = ']'
		b = append(b, ',')
	}
	if b[len(b)-1] == ',' {
		b = b[:len(b)-1]
	}
	return append(b, '}')
}

// appendString appends a string as JSON, without the encoder if nothing must be escaped.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(s) // a string can always be encoded
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// encode writes JSON as it is, without escapes for HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, sdk.Errorf(sdk.Internal, "encode", "encode a message: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// reactorProtocol is ABI version 1.
type reactorProtocol struct{}

func (reactorProtocol) call(g *guest, r *request) ([]byte, error) {
	if r.op == abi.OpDescribe {
		if err := g.checkVersion(); err != nil {
			return nil, err
		}
	}
	g.scratch = appendRequest(g.scratch[:0], r, false, false)
	if err := g.fits(len(g.scratch)); err != nil {
		return nil, err
	}
	at, err := g.copyIn(g.scratch)
	if err != nil {
		return nil, err
	}
	packed, err := g.invoke(g.call, uint64(r.op), uint64(at), uint64(len(g.scratch)))
	if err != nil {
		return nil, err
	}
	g.reply = packed
	ptr, size := abi.Unpack(packed)
	if err := g.replyFits(int(size)); err != nil {
		return nil, err
	}
	return g.bytes(ptr, size, "the reply")
}

// checkVersion refuses a guest of another ABI.
func (g *guest) checkVersion() error {
	version, err := g.invoke(g.mod.ExportedFunction(abi.ExportVersion))
	if err != nil {
		return err
	}
	if uint32(version) != abi.Version {
		return check.ContractMismatch(g.plugin.Name, "ABI", abi.Version, int(uint32(version)))
	}
	return nil
}

// fits refuses a message that is larger than the plugin's limit.
func (g *guest) fits(size int) error {
	if limit := g.plugin.Limits.MessageBytes; size > limit {
		return check.TooLarge("the request to plugin "+g.plugin.Name, size, limit)
	}
	return nil
}

// replyFits does the same for a reply.
func (g *guest) replyFits(size int) error {
	if limit := g.plugin.Limits.MessageBytes; size > limit {
		return check.TooLarge("the response of plugin "+g.plugin.Name, size, limit)
	}
	return nil
}

// free gives the memory of the last reply back to a stateful guest.
func (g *guest) free() error {
	f := g.mod.ExportedFunction(abi.ExportFree)
	if g.module.info.Kind != KindReactor || f == nil {
		return nil
	}
	ptr, size := abi.Unpack(g.reply)
	_, err := g.invoke(f, uint64(ptr), uint64(size))
	return err
}

// reactorExports are the exports of ABI version 1.
func reactorExports() []export {
	i32, i64 := api.ValueTypeI32, api.ValueTypeI64
	return []export{
		{abi.ExportVersion, nil, []api.ValueType{i32}, true},
		{abi.ExportAlloc, []api.ValueType{i32}, []api.ValueType{i32}, true},
		{abi.ExportCall, []api.ValueType{i32, i32, i32}, []api.ValueType{i64}, true},
		{abi.ExportFree, []api.ValueType{i32, i32}, nil, false},
		{abi.ExportInitialize, nil, nil, false},
	}
}

// commandProtocol uses the standard streams, with a new guest for each call.
type commandProtocol struct{}

func (commandProtocol) call(g *guest, r *request) ([]byte, error) {
	body := appendRequest(nil, r, true, true)
	if err := g.fits(len(body)); err != nil {
		return nil, err
	}
	out := &limitedBuffer{limit: g.plugin.Limits.MessageBytes}
	g.streams.stdin.Reset(body)
	g.streams.stdout = out
	_, err := g.invoke(g.mod.ExportedFunction(commandStart))
	if exit, ok := errors.AsType[exited](err); err != nil && (!ok || exit.code != 0) {
		return nil, err
	}
	if out.over {
		return nil, g.replyFits(out.limit + 1)
	}
	return out.Bytes(), nil
}
