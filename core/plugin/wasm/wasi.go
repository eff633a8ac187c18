package wasm

import (
	"context"
	"encoding/binary"
	"errors"
	"io"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// WASI preview 1 as guests have it: standard streams, a clock, random bytes and
// the variables that were granted. There are no files, so every other descriptor
// is bad. Everything that a guest can learn about the world through WASI is
// here, and [streams] is all that is left of one call for the next.
const (
	wasiModule   = "wasi_snapshot_preview1"
	commandStart = "_start"
)

// errno is WASI's result of a function.
type errno = uint64

const (
	errnoSuccess errno = 0
	errnoBadf    errno = 8
	errnoFault   errno = 21
	errnoInval   errno = 28
	errnoNosys   errno = 52
	errnoSpipe   errno = 70
)

// wasiFunction is one function: its parameters, by a letter each ("i" is i32,
// "I" i64), and what it does. All but proc_exit return an errno.
type wasiFunction struct {
	params string
	call   func(g *guest, p []uint64) errno
}

func badDescriptor(*guest, []uint64) errno { return errnoBadf }
func unsupported(*guest, []uint64) errno   { return errnoNosys }

// wasiFunctions is a table: all of preview 1 but proc_exit.
func wasiFunctions() map[string]wasiFunction {
	return map[string]wasiFunction{
		"args_get":          {"ii", func(g *guest, p []uint64) errno { return g.putTexts(p[0], p[1], g.args()) }},
		"args_sizes_get":    {"ii", func(g *guest, p []uint64) errno { return g.putSizes(p[0], p[1], g.args()) }},
		"environ_get":       {"ii", func(g *guest, p []uint64) errno { return g.putTexts(p[0], p[1], g.plugin.Env) }},
		"environ_sizes_get": {"ii", func(g *guest, p []uint64) errno { return g.putSizes(p[0], p[1], g.plugin.Env) }},
		"clock_res_get":     {"ii", func(g *guest, p []uint64) errno { return g.putClock(p[0], p[1], clockStep) }},
		"clock_time_get":    {"iIi", func(g *guest, p []uint64) errno { return g.putClock(p[0], p[2], g.streams.now(p[0])) }},
		"random_get":        {"ii", randomGet},
		"sched_yield":       {"", func(*guest, []uint64) errno { return errnoSuccess }},
		"poll_oneoff":       {"iiii", pollOneoff},
		"proc_raise":        {"i", unsupported},

		"fd_read":               {"iiii", fdRead},
		"fd_write":              {"iiii", fdWrite},
		"fd_fdstat_get":         {"ii", fdStat},
		"fd_filestat_get":       {"ii", fdFilestat},
		"fd_seek":               {"iIii", onStream(errnoSpipe)},
		"fd_tell":               {"ii", onStream(errnoSpipe)},
		"fd_close":              {"i", onStream(errnoSuccess)}, // the next call has them again
		"fd_fdstat_set_flags":   {"ii", onStream(errnoSuccess)},
		"fd_fdstat_set_rights":  {"iII", onStream(errnoSuccess)},
		"fd_datasync":           {"i", onStream(errnoInval)},
		"fd_sync":               {"i", onStream(errnoInval)},
		"fd_renumber":           {"ii", badDescriptor},
		"fd_advise":             {"iIIi", badDescriptor},
		"fd_allocate":           {"iII", badDescriptor},
		"fd_filestat_set_size":  {"iI", badDescriptor},
		"fd_filestat_set_times": {"iIIi", badDescriptor},
		"fd_pread":              {"iiiIi", badDescriptor},
		"fd_pwrite":             {"iiiIi", badDescriptor},
		"fd_prestat_get":        {"ii", badDescriptor},
		"fd_prestat_dir_name":   {"iii", badDescriptor},
		"fd_readdir":            {"iiiIi", badDescriptor},

		"path_create_directory":   {"iii", badDescriptor},
		"path_filestat_get":       {"iiiii", badDescriptor},
		"path_filestat_set_times": {"iiiiIIi", badDescriptor},
		"path_link":               {"iiiiiii", badDescriptor},
		"path_open":               {"iiiiiIIii", badDescriptor},
		"path_readlink":           {"iiiiii", badDescriptor},
		"path_remove_directory":   {"iii", badDescriptor},
		"path_rename":             {"iiiiii", badDescriptor},
		"path_symlink":            {"iiiii", badDescriptor},
		"path_unlink_file":        {"iii", badDescriptor},
		"sock_accept":             {"iii", badDescriptor},
		"sock_recv":               {"iiiiii", badDescriptor},
		"sock_send":               {"iiiii", badDescriptor},
		"sock_shutdown":           {"ii", badDescriptor},
	}
}

func provideWASI(ctx context.Context, r wazero.Runtime) error {
	b := r.NewHostModuleBuilder(wasiModule)
	for name, f := range wasiFunctions() {
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(ctx context.Context, mod api.Module, stack []uint64) {
			g := guestOf(ctx)
			g.memory = mod.Memory() // it may have grown, or be needed before the instance is there
			stack[0] = f.call(g, narrow(f.params, stack))
		}), valueTypes(f.params), []api.ValueType{api.ValueTypeI32}).Export(name)
	}
	b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, _ api.Module, stack []uint64) {
		panic(exited{uint32(stack[0])})
	}), valueTypes("i"), nil).Export("proc_exit")
	_, err := b.Instantiate(ctx)
	return err
}

// exited is the panic of a guest that ends itself.
type exited struct{ code uint32 }

func (e exited) Error() string { return "proc_exit" }

// narrow clears what the engine leaves above 32-bit parameters.
func narrow(letters string, stack []uint64) []uint64 {
	for i, c := range letters {
		if c == 'i' {
			stack[i] = uint64(uint32(stack[i]))
		}
	}
	return stack
}

func valueTypes(letters string) []api.ValueType {
	types := make([]api.ValueType, len(letters))
	for i, c := range letters {
		types[i] = api.ValueTypeI32
		if c == 'I' {
			types[i] = api.ValueTypeI64
		}
	}
	return types
}

func (g *guest) put32(at, v uint64) errno {
	if !g.memory.WriteUint32Le(uint32(at), uint32(v)) {
		return errnoFault
	}
	return errnoSuccess
}

func (g *guest) putSizes(countAt, sizeAt uint64, values []string) errno {
	size := 0
	for _, v := range values {
		size += len(v) + 1
	}
	return max(g.put32(countAt, uint64(len(values))), g.put32(sizeAt, uint64(size)))
}

// args are a program's: its name alone, which runtimes of some languages need.
func (g *guest) args() []string { return []string{g.plugin.Name} }

// putTexts writes texts to a buffer, and where each begins to a list.
func (g *guest) putTexts(listAt, bufAt uint64, values []string) errno {
	at, buf := uint32(listAt), uint32(bufAt)
	for _, v := range values {
		if !g.memory.WriteUint32Le(at, buf) || !g.memory.WriteString(buf, v+"\x00") {
			return errnoFault
		}
		at, buf = at+4, buf+uint32(len(v))+1
	}
	return errnoSuccess
}

// putClock writes what a clock shows. There are four: real, monotonic, and the
// clocks of the process's and the thread's time, which are the same here.
func (g *guest) putClock(id, at uint64, value int64) errno {
	if id > 3 {
		return errnoInval
	}
	if !g.memory.WriteUint64Le(uint32(at), uint64(value)) {
		return errnoFault
	}
	return errnoSuccess
}

func randomGet(g *guest, p []uint64) errno {
	buf, ok := g.memory.Read(uint32(p[0]), uint32(p[1]))
	if !ok {
		return errnoFault
	}
	g.charge(len(buf))
	_, _ = g.streams.random.Read(buf) // it never fails
	return errnoSuccess
}

// pollOneoff answers that everything asked for has happened: sleeping takes no
// time but moves the clock. A subscription is 48 bytes and an event 32.
func pollOneoff(g *guest, p []uint64) errno {
	in, out, n := uint32(p[0]), uint32(p[1]), uint32(p[2])
	if n == 0 || n > 1<<20 {
		return errnoInval
	}
	subs, ok := g.memory.Read(in, n*48)
	events, ok2 := g.memory.Read(out, n*32)
	if !ok || !ok2 {
		return errnoFault
	}
	g.charge(len(subs))
	for i := range n {
		sub, event := subs[i*48:(i+1)*48], events[i*32:(i+1)*32]
		kind := sub[8]
		clear(event[8:])
		copy(event, sub[:8])
		event[10] = kind
		if kind == 0 { // a clock
			g.streams.sleep(binary.LittleEndian.Uint64(sub[24:]), sub[40]&1 != 0, uint64(binary.LittleEndian.Uint32(sub[16:])))
		}
	}
	return g.put32(p[3], uint64(n))
}

// onStream is a function whose first parameter is a descriptor, and that gives
// the same result for every standard stream.
func onStream(result errno) func(*guest, []uint64) errno {
	return func(_ *guest, p []uint64) errno {
		if p[0] > 2 {
			return errnoBadf
		}
		return result
	}
}

// fdStat describes a standard stream: a character device that may be read or
// written.
func fdStat(g *guest, p []uint64) errno {
	stat, ok := g.memory.Read(uint32(p[1]), 24)
	switch {
	case p[0] > 2:
		return errnoBadf
	case !ok:
		return errnoFault
	}
	clear(stat)
	stat[0] = 2 // character_device
	right := uint64(1 << 1)
	if p[0] > 0 {
		right = 1 << 6
	}
	binary.LittleEndian.PutUint64(stat[8:], right)
	return errnoSuccess
}

func fdFilestat(g *guest, p []uint64) errno {
	stat, ok := g.memory.Read(uint32(p[1]), 64)
	switch {
	case p[0] > 2:
		return errnoBadf
	case !ok:
		return errnoFault
	}
	clear(stat)
	stat[16] = 2 // character_device
	return errnoSuccess
}

func fdRead(g *guest, p []uint64) errno {
	if p[0] != 0 {
		return errnoBadf
	}
	return g.eachVector(p[1], p[2], p[3], g.streams.stdin.Read)
}

func fdWrite(g *guest, p []uint64) errno {
	switch p[0] {
	case 1:
		return g.eachVector(p[1], p[2], p[3], g.streams.stdout.Write)
	case 2:
		return g.eachVector(p[1], p[2], p[3], g.streams.stderr.Write)
	}
	return errnoBadf
}

// eachVector hands the buffers of a list of vectors to a stream, one by one, and
// writes how much of them was taken.
func (g *guest) eachVector(list, count, resultAt uint64, stream func([]byte) (int, error)) errno {
	if count > 1024 { // IOV_MAX
		return errnoInval
	}
	vectors, ok := g.memory.Read(uint32(list), uint32(count)*8)
	if !ok {
		return errnoFault
	}
	total := 0
	for i := range int(count) {
		at := binary.LittleEndian.Uint32(vectors[i*8:])
		buf, ok := g.memory.Read(at, binary.LittleEndian.Uint32(vectors[i*8+4:]))
		if !ok {
			return errnoFault
		}
		g.charge(len(buf))
		n, err := stream(buf)
		total += n
		if errors.Is(err, io.EOF) || n < len(buf) {
			break
		}
	}
	return g.put32(resultAt, uint64(total))
}
