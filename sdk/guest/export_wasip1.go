package guest

import (
	"log/slog"
	"unsafe"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/abi"
)

// The module's plugin, and the buffers that belong to it until they are used. They are
// global because exported functions can't find them anywhere else.
var (
	registered *server
	buffers    = map[uint32][]byte{}
	reply      []byte // kept until the next call
)

// Register sets this module's plugin. Call it once, in an init function.
func Register(p sdk.Plugin) {
	warm()
	slog.SetDefault(slog.New(newLogHandler(writeLog)))
	registered = newServer(p, func(item int, piece string) {
		hostEmit(uint32(item), unsafe.Pointer(unsafe.StringData(piece)), uint32(len(piece)))
	})
}

//go:wasmexport reflectory_abi_version
func abiVersion() uint32 { return abi.Version }

//go:wasmexport reflectory_alloc
func alloc(size uint32) uint32 {
	b := make([]byte, max(size, 1))
	at := address(b)
	buffers[at] = b
	return at
}

//go:wasmexport reflectory_free
func free(ptr, _ uint32) {
	delete(buffers, ptr)
	reply = nil
}

//go:wasmexport reflectory_call
func call(op, ptr, size uint32) uint64 {
	request := take(ptr, size)
	if registered == nil {
		registered = newServer(sdk.Plugin{}, nil)
	}
	reply = registered.handle(abi.Op(op), request)
	return abi.Pack(address(reply), uint32(len(reply)))
}

// take returns the bytes that the host has placed at ptr.
func take(ptr, size uint32) []byte {
	b := buffers[ptr]
	delete(buffers, ptr)
	return b[:min(int(size), len(b))]
}

func address(b []byte) uint32 { return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

// The functions that the host provides.

//go:wasmimport reflectory:host http
func hostHTTP(ptr unsafe.Pointer, size uint32) uint64

//go:wasmimport reflectory:host service
func hostService(ptr unsafe.Pointer, size uint32) uint64

//go:wasmimport reflectory:host log
func hostLog(level uint32, ptr unsafe.Pointer, size uint32)

//go:wasmimport reflectory:host emit
func hostEmit(item uint32, ptr unsafe.Pointer, size uint32)

func callHTTP(request []byte) []byte {
	return take(abi.Unpack(hostHTTP(unsafe.Pointer(unsafe.SliceData(request)), uint32(len(request)))))
}

func callService(request []byte) []byte {
	return take(abi.Unpack(hostService(unsafe.Pointer(unsafe.SliceData(request)), uint32(len(request)))))
}

func writeLog(level int, line string) {
	hostLog(uint32(level), unsafe.Pointer(unsafe.StringData(line)), uint32(len(line)))
}
