package abi

import "slices"

// Version is the version of the ABI. It is raised by a change that an older side can't
// follow.
const Version = 1

// The exports of a reactor.
const (
	ExportMemory     = "memory"
	ExportVersion    = "reflectory_abi_version"
	ExportAlloc      = "reflectory_alloc"
	ExportCall       = "reflectory_call"
	ExportFree       = "reflectory_free"
	ExportInitialize = "_initialize"
)

// HostModule is the module of the host functions below.
const (
	HostModule  = "reflectory:host"
	HostHTTP    = "http"
	HostService = "service"
	HostLog     = "log"
	HostEmit    = "emit"
)

// Op is what a call does.
type Op uint32

// The operations. 0 means none.
const (
	OpDescribe Op = iota + 1
	OpPrepare
	OpEvaluate
	OpGenerate
	OpCorrect
)

var opNames = [...]string{"", "describe", "prepare", "evaluate", "generate", "correct"}

// String returns the operation's name, or "" for an unknown operation.
func (op Op) String() string {
	if int(op) >= len(opNames) {
		return ""
	}
	return opNames[op]
}

// ParseOp returns the operation with a name, or 0 if there is none.
func ParseOp(name string) Op { return Op(max(0, slices.Index(opNames[:], name))) }

// Pack combines a pointer and a length in one result.
func Pack(ptr, size uint32) uint64 { return uint64(ptr)<<32 | uint64(size) }

// Unpack is the reverse of [Pack].
func Unpack(v uint64) (ptr, size uint32) { return uint32(v >> 32), uint32(v) }
