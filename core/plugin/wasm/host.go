package wasm

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/guard"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/abi"
	"github.com/reflectory/reflectory/sdk/check"
)

// provideHost gives reactors the functions of module reflectory:host.
func provideHost(ctx context.Context, r wazero.Runtime) error {
	b := r.NewHostModuleBuilder(abi.HostModule)
	i64 := []api.ValueType{api.ValueTypeI64}
	for _, f := range []struct {
		name, params string
		results      []api.ValueType
		call         func(g *guest, stack []uint64)
	}{
		{abi.HostHTTP, "ii", i64, hostHTTP},
		{abi.HostService, "ii", i64, hostService},
		{abi.HostLog, "iii", nil, hostLog},
		{abi.HostEmit, "iii", nil, hostEmit},
	} {
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(ctx context.Context, _ api.Module, stack []uint64) {
			f.call(guestOf(ctx), narrow(f.params, stack))
		}), valueTypes(f.params), f.results).Export(f.name)
	}
	_, err := b.Instantiate(ctx)
	return err
}

// message is what a guest passes to a host function: a view, which is valid
// until the guest runs again. A bad pointer ends the call.
func (g *guest) message(ptr, size uint64) []byte {
	b, err := g.bytes(uint32(ptr), uint32(size), "what it passes to a host function")
	if err == nil {
		err = g.replyFits(len(b))
	}
	if err != nil {
		panic(stopped{err})
	}
	g.charge(len(b))
	return b
}

// answer places the result of a host function into the guest's memory.
func answer[R any](g *guest, response *R, failure error) uint64 {
	b, err := encode(abi.Result[R]{Response: response, Error: abi.NewError(failure)})
	if err != nil {
		panic(stopped{err})
	}
	if g.alloc == nil { // its start function runs, before anything can be called
		panic(stopped{check.ResponseInvalid("it calls the host before it has started")})
	}
	ptr, err := g.copyIn(b)
	if e, ok := errors.AsType[*sdk.Error](err); ok {
		panic(stopped{e})
	}
	if err != nil {
		panic(err)
	}
	return abi.Pack(ptr, uint32(len(b)))
}

func hostHTTP(g *guest, stack []uint64) {
	var req abi.HTTPRequest
	if err := decodeMessage(g.message(stack[0], stack[1]), &req); err != nil {
		stack[0] = answer[abi.HTTPResponse](g, nil, err)
		return
	}
	res, err := g.fetch(guard.Request{Method: req.Method, URL: req.URL, Header: req.Header, Body: req.Body})
	if err != nil {
		stack[0] = answer[abi.HTTPResponse](g, nil, err)
		return
	}
	stack[0] = answer(g, &abi.HTTPResponse{Status: res.Status, Header: res.Header, Body: res.Body}, nil)
}

// fetch makes an HTTP request for the guest, within what it was granted. An end
// of the call ends the guest's call.
func (g *guest) fetch(r guard.Request) (*guard.Response, error) {
	ctx, cancel := g.hostContext()
	defer cancel()
	r.Header = r.Header.Clone()
	res, err := g.instance.network.Do(ctx, r, g.plugin.Limits.MessageBytes/2) // base64 and a header come on top
	g.stopIfEnded(ctx)
	return res, err
}

// stopIfEnded ends the guest's call where its context has ended.
func (g *guest) stopIfEnded(ctx context.Context) {
	if ctx.Err() != nil {
		panic(stopped{context.Cause(ctx)})
	}
}

func hostService(g *guest, stack []uint64) {
	var req abi.ServiceRequest
	err := decodeMessage(g.message(stack[0], stack[1]), &req)
	if err == nil {
		var response json.RawMessage
		if response, err = g.serve(req); err == nil {
			stack[0] = answer(g, &response, nil)
			return
		}
	}
	stack[0] = answer[json.RawMessage](g, nil, err)
}

// serve answers a question, within the bounds of one call. It runs alone, so one
// question is open at a time.
func (g *guest) serve(req abi.ServiceRequest) (json.RawMessage, error) {
	g.asked++
	if err := check.HostCalls(g.asked); err != nil {
		return nil, err
	}
	if len(req.Body) > check.MaxHostBytes {
		return nil, check.HostCallTooLarge(sdk.Service(req.Service), len(req.Body), check.MaxHostBytes)
	}
	ctx, cancel := g.hostContext()
	defer cancel()
	response, err := plugin.Ask(ctx, g.instance.driver.options.Services, g.plugin, plugin.ServiceRequest{
		Service: plugin.Service(req.Service), RunID: g.runID, Body: req.Body,
	})
	g.stopIfEnded(ctx)
	return response, err
}

func decodeMessage(b []byte, into any) error {
	if err := check.JSON(b); err != nil {
		return sdk.Errorf(sdk.Invalid, "request_invalid", "the request to the host %w", err).WithHint("send one JSON object")
	}
	if err := json.Unmarshal(b, into); err != nil {
		return sdk.Errorf(sdk.Invalid, "request_invalid", "the request to the host: %w", err).WithHint("send the fields that package abi names")
	}
	return nil
}

// logLevels are the levels of log lines, by their number.
var logLevels = [...]string{"trace", "debug", "info", "warn", "error"}

func hostLog(g *guest, stack []uint64) {
	g.log(logLevels[min(stack[0], uint64(len(logLevels)-1))], string(g.message(stack[1], stack[2])))
}

// log delivers lines of a level, as a process's structured lines are.
func (g *guest) log(level, text string) {
	line, err := json.Marshal(map[string]string{"@level": level, "@message": strings.ToValidUTF8(text, "\uFFFD")})
	if err == nil {
		g.instance.output.Flush()
		_, _ = g.instance.output.Write(append(line, '\n'))
	}
}

func hostEmit(g *guest, stack []uint64) {
	piece := g.message(stack[1], stack[2])
	if g.emitted += len(piece); g.emitted > g.plugin.Limits.MessageBytes {
		panic(stopped{check.TooLarge("what plugin "+g.plugin.Name+" emits", g.emitted, g.plugin.Limits.MessageBytes)})
	}
	if g.emit != nil {
		g.emit(int(uint32(stack[0])), strings.ToValidUTF8(string(piece), "\uFFFD"))
	}
}
