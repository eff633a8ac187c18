package wasm

import (
	"encoding/binary"

	"github.com/reflectory/reflectory/sdk"
)

// kernel is the memory that an Extism plug-in shares with its host: blocks that
// either side allocates, named by their offsets. Offset 0 is none.
type kernel struct {
	arena  []byte
	limit  int
	blocks map[uint64]uint64   // length by offset
	spare  map[uint64][]uint64 // freed offsets, by size

	input, output, failure block
	config, vars           map[string]string
	varBytes               int
	status                 uint32
	headers                []byte // of the last HTTP response, as JSON
}

type block struct{ offset, length uint64 }

// Bounds of a kernel in addition to the plugin's memory limit.
const (
	// maxVars bounds all variables, in bytes: Extism's own default.
	maxVars = 1 << 20
	// maxBlocks bounds how many blocks exist at a time: the host's record of each takes
	// some 50 bytes, which for small blocks would be a multiple of the arena.
	maxBlocks = 1 << 18
	// firstOffset is the offset of the first block.
	firstOffset = 8
)

func newKernel(limit int64) *kernel {
	k := &kernel{limit: int(limit), blocks: map[uint64]uint64{}, spare: map[uint64][]uint64{}, vars: map[string]string{}}
	k.reset()
	return k
}

// reset frees all blocks. The arena stays allocated; a block is cleared when it is allocated.
func (k *kernel) reset() {
	k.arena = append(k.arena[:0], make([]byte, firstOffset)...)
	clear(k.blocks)
	clear(k.spare)
	k.input, k.output, k.failure = block{}, block{}, block{}
	k.status, k.headers = 0, nil
}

// begin prepares the kernel for a call.
func (k *kernel) begin(input []byte, config map[string]string, keepVars bool) {
	k.reset()
	if !keepVars {
		clear(k.vars)
		k.varBytes = 0
	}
	k.config = config
	k.input = block{k.put(input), uint64(len(input))}
}

// alloc returns a cleared block; 0 for a block of no bytes.
func (k *kernel) alloc(n uint64) uint64 {
	if n == 0 {
		return 0
	}
	if n > uint64(k.limit) {
		panic(stopped{k.full()})
	}
	if len(k.blocks) >= maxBlocks {
		panic(stopped{sdk.Errorf(sdk.Exhausted, "guest_memory_exhausted", "the plugin's messages take more than %d blocks", maxBlocks).
			WithHint("free each block in the plugin once it has been read")})
	}
	room := (n + 7) &^ 7
	offset := uint64(len(k.arena))
	if free := k.spare[room]; len(free) > 0 {
		offset = free[len(free)-1]
		k.spare[room] = free[:len(free)-1]
		clear(k.arena[offset : offset+room])
	} else {
		if len(k.arena)+int(room) > k.limit {
			panic(stopped{k.full()})
		}
		k.arena = append(k.arena, make([]byte, room)...)
	}
	k.blocks[offset] = n
	return offset
}

func (k *kernel) full() error {
	return sdk.Errorf(sdk.Exhausted, "guest_memory_exhausted", "the plugin's messages take more than its limit of %d bytes", k.limit).
		WithHint("send less in one call, or raise limits.memory in its plugin.yaml")
}

func (k *kernel) free(offset uint64) {
	if n, ok := k.blocks[offset]; ok {
		delete(k.blocks, offset)
		room := (n + 7) &^ 7
		k.spare[room] = append(k.spare[room], offset)
	}
}

// put copies b into a new block.
func (k *kernel) put(b []byte) uint64 {
	offset := k.alloc(uint64(len(b)))
	copy(k.arena[offset:], b)
	return offset
}

// text is the block at an offset; "" if there is none.
func (k *kernel) text(offset uint64) string { return string(k.view(block{offset, k.blocks[offset]})) }

// view is a block's bytes; none if it isn't within the arena.
func (k *kernel) view(b block) []byte {
	size := uint64(len(k.arena))
	if b.offset > size || b.length > size-b.offset {
		return nil
	}
	return k.arena[b.offset : b.offset+b.length]
}

// load reads n bytes, little-endian; 0 if they aren't within the arena.
func (k *kernel) load(offset uint64, n int) uint64 {
	var word [8]byte
	copy(word[:n], k.view(block{offset, uint64(n)}))
	return binary.LittleEndian.Uint64(word[:])
}

// store writes the n lowest bytes of v, unless they aren't within the arena.
func (k *kernel) store(offset, v uint64, n int) {
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], v)
	copy(k.view(block{offset, uint64(n)}), word[:n])
}

// loadInput reads n bytes of the input; 0 if they aren't within it.
func (k *kernel) loadInput(at uint64, n int) uint64 {
	if at > k.input.length || uint64(n) > k.input.length-at {
		return 0
	}
	return k.load(k.input.offset+at, n)
}

// setVar stores a variable for later calls, or removes it.
func (k *kernel) setVar(name, value string, keep bool) {
	if old, ok := k.vars[name]; ok {
		k.varBytes -= len(name) + len(old)
		delete(k.vars, name)
	}
	if !keep {
		return
	}
	if k.varBytes += len(name) + len(value); k.varBytes > maxVars {
		panic(stopped{sdk.Errorf(sdk.Exhausted, "vars_exhausted", "the plugin's variables take more than %d bytes", maxVars).
			WithHint("keep less in variables")})
	}
	k.vars[name] = value
}
