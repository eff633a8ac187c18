package abi

import "slices"

// Version is the version of the ABI: a change that an older side can't follow
// raises it.
const Version = 1

// Exports of a reactor.
const (
	ExportMemory     = "memory"
	ExportVersion    = "reflectory_abi_version"
	ExportAlloc      = "reflectory_alloc"
	ExportCall       = "reflectory_call"
	ExportFree       = "reflectory_free"
	ExportInitialize = "_initialize"
)

// HostModule is the module of the host functions, which follow.
const (
	HostModule  = "reflectory:host"
	HostHTTP    = "http"
	HostService = "service"
	HostLog     = "log"
	HostEmit    = "emit"
)

// Op is what a call does.
type Op uint32

// The operations. 0 is none.
const (
	OpDescribe Op = iota + 1
	OpPrepare
	OpEvaluate
	OpGenerate
	OpCorrect
)

var opNames = [...]string{"", "describe", "prepare", "evaluate", "generate", "correct"}

// String returns the operation's name, "" for one that doesn't exist.
func (op Op) String() string {
	if int(op) >= len(opNames) {
		return ""
	}
	return opNames[op]
}

// ParseOp returns the operation of a name, 0 where there is none.
func ParseOp(name string) Op { return Op(max(0, slices.Index(opNames[:], name))) }

// Pack makes one result of a pointer and a length.
func Pack(ptr, size uint32) uint64 { return uint64(ptr)<<32 | uint64(size) }

// Unpack is the reverse of [Pack].
func Unpack(v uint64) (ptr, size uint32) { return uint32(v >> 32), uint32(v) }
