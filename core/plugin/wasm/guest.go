package wasm

import (
	"context"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/wasm/fuel"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/abi"
	"github.com/reflectory/reflectory/sdk/check"
)

// guest is one instance of a module. One goroutine at a time uses it.
type guest struct {
	plugin   *plugin.Installed
	module   *module
	instance *instance

	mod     api.Module
	memory  api.Memory
	linear  *linear             // what memory is made of
	globals []api.MutableGlobal // those that a snapshot keeps
	alloc   api.Function        // reactors
	call    api.Function        // reactors
	kernel  *kernel             // Extism plug-ins
	meter   fuelMeter
	streams streams

	// ctx is the context of the call under way, and life ends with the Instance.
	ctx context.Context
	// emit takes pieces of the output that the call under way generates.
	emit func(item int, piece string)
	life context.Context
	// engineCtx is the context that the engine gets: host functions find the guest in it.
	engineCtx context.Context

	born  time.Time
	calls int
	// prepared are the configs that it was sent, where it keeps its state from
	// call to call.
	prepared map[snapshotKey]bool
	// state is the snapshot that it was restored to; nil once it has run.
	state *snapshot

	runID      string    // of the call under way, if the plugin may know of runs
	emitted    int       // bytes that the call under way has emitted
	asked      int       // questions that it has put to the host
	allocating bool      // whether alloc is being called
	stack      [4]uint64 // parameters and results
	scratch    []byte    // the request
	reply      uint64    // where it is: see abi.Pack
}

type guestKey struct{}

func guestOf(ctx context.Context) *guest { return ctx.Value(guestKey{}).(*guest) }

// newGuest makes an instance whose own initialisation hasn't run yet.
func (i *instance) newGuest(ctx context.Context) (*guest, error) {
	g := &guest{plugin: &i.plugin, module: i.module, instance: i, ctx: ctx, life: i.life, born: i.driver.options.Now(), prepared: map[snapshotKey]bool{}}
	g.engineCtx = context.WithValue(context.Background(), guestKey{}, g)
	g.streams = streams{ambient: newAmbient(), stdout: i.output, stderr: i.output}
	if i.module.info.Kind == KindExtism {
		g.kernel = newKernel(i.plugin.Limits.MemoryBytes)
	}
	g.meter.begin(i.plugin.Limits.Fuel)
	err := g.run(func(ctx context.Context) (err error) {
		ctx = experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(g.allocate))
		g.mod, err = i.module.runtime.InstantiateModule(ctx, i.module.compiled, anonymous)
		return err
	})
	if err != nil {
		return nil, err
	}
	g.memory = g.mod.ExportedMemory(abi.ExportMemory)
	g.alloc, g.call = g.mod.ExportedFunction(abi.ExportAlloc), g.mod.ExportedFunction(abi.ExportCall)
	for _, name := range i.module.info.Globals {
		g.globals = append(g.globals, g.mod.ExportedGlobal(name).(api.MutableGlobal))
	}
	if i.module.info.Metered {
		g.meter.left = g.mod.ExportedGlobal(fuel.Global).(api.MutableGlobal)
	}
	return g, nil
}

// anonymous starts no function by itself, and may be instantiated many times.
var anonymous = wazero.NewModuleConfig().WithName("").WithStartFunctions()

// initialize runs what a toolchain wants to be run once, before anything else.
func (g *guest) initialize() error {
	if g.module.info.Kind == KindCommand {
		return nil
	}
	for _, name := range []string{abi.ExportInitialize, "__wasm_call_ctors"} {
		f := g.mod.ExportedFunction(name)
		if f == nil || len(f.Definition().ParamTypes())+len(f.Definition().ResultTypes()) > 0 {
			continue
		}
		if _, err := g.invoke(f); err != nil {
			return err
		}
		break // the first one calls the second itself
	}
	// Haskell's runtime system has its own start function.
	f := g.mod.ExportedFunction("hs_init")
	if g.kernel == nil || f == nil || len(f.Definition().ParamTypes()) != 2 {
		return nil
	}
	_, err := g.invoke(f, 0, 0)
	return err
}

// invoke calls a function, and returns its first result. Meanwhile the guest may call the
// host and the host may invoke another function: the engine has read the parameters by then,
// so that the stack can be used again.
func (g *guest) invoke(f api.Function, params ...uint64) (uint64, error) {
	stack := g.stack[:]
	copy(stack, params)
	var err error
	if g.module.info.Metered {
		err = f.CallWithStack(g.engineCtx, stack)
	} else {
		err = g.run(func(ctx context.Context) error { return f.CallWithStack(ctx, stack) })
	}
	return stack[0], err
}

// run runs code of the guest. A metered guest checks by itself whether its call must end.
// For others the engine does, and needs one context for all reasons.
func (g *guest) run(f func(context.Context) error) error {
	if g.module.info.Metered {
		return f(g.engineCtx)
	}
	ctx, cancel := g.hostContext()
	defer cancel()
	return f(context.WithValue(ctx, guestKey{}, g))
}

// hostContext is the context of the host's work for the guest. It ends with the call or
// with the instance, whichever is first.
func (g *guest) hostContext() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(g.ctx)
	stop := context.AfterFunc(g.life, func() { cancel(context.Cause(g.life)) })
	return ctx, func() { stop(); cancel(nil) }
}

// bytes is a view of the guest's memory, valid until it runs again.
func (g *guest) bytes(ptr, size uint32, what string) ([]byte, error) {
	if g.memory == nil {
		return nil, check.ResponseInvalid("%s is in its memory, of which it has none", what)
	}
	b, ok := g.memory.Read(ptr, size)
	if !ok {
		return nil, check.ResponseInvalid("%s of %d bytes at %d ends outside of its memory of %d bytes", what, size, ptr, g.memory.Size())
	}
	return b, nil
}

// copyIn copies a message into memory that the guest allocates.
func (g *guest) copyIn(b []byte) (ptr uint32, err error) {
	if g.allocating { // its alloc calls the host, which can't be answered without alloc
		return 0, check.ResponseInvalid("%s calls the host", abi.ExportAlloc)
	}
	g.allocating = true
	at, err := g.invoke(g.alloc, uint64(len(b)))
	g.allocating = false
	if err != nil {
		return 0, err
	}
	if uint32(at) == 0 {
		return 0, sdk.Errorf(sdk.Exhausted, "guest_memory_exhausted", "plugin %s has no memory left for a message of %d bytes", g.plugin.Name, len(b)).
			WithHint("send less in one call, or raise limits.memory in its plugin.yaml")
	}
	room, err := g.bytes(uint32(at), uint32(len(b)), "the room that "+abi.ExportAlloc+" gave")
	if err != nil {
		return 0, err
	}
	copy(room, b)
	return uint32(at), nil
}

func (g *guest) close() { _ = g.mod.Close(context.Background()) }

// trapHeadline is the useful part of an engine's error: what follows the engine's prefix,
// which for a start function names its index first.
func trapHeadline(err error) string {
	line := firstLine(err.Error())
	if _, trap, ok := strings.Cut(line, "wasm error: "); ok {
		return trap
	}
	return line
}
