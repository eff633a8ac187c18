package luaeval

import (
	"encoding/json"
	"strings"

	"github.com/reflectory/reflectory/sdk/jsonconfig"
)

// Limits of a config.
const (
	// defaultMemory and defaultInstructions apply if a config doesn't set them. 64 MiB
	// is far more than a judgement on an 8 MiB message needs. 200 million instructions
	// take 1 to 2 s, well inside the default timeout of 30 s, so an endless loop ends
	// by itself.
	defaultMemory       = 64 << 20
	defaultInstructions = 200_000_000

	minMemory       = 256 << 10 // a fresh state takes about 30 KiB
	maxMemory       = 1 << 30
	minInstructions = 1_000
	maxInstructions = 1_000_000_000_000

	maxCode  = 1 << 20 // bytes; parsing can't be interrupted: 50 ms per MiB, or 0.7 s if a script uses gotos to be slow
	maxChunk = 40      // bytes; Lua shortens longer names in its messages
)

// configSchema is the JSON Schema of [config].
const configSchema = `{
  "type": "object",
  "required": ["code"],
  "additionalProperties": false,
  "properties": {
    "code": {"type": "string", "minLength": 1, "maxLength": 1048576, "description": "Lua 5.4 source"},
    "chunk": {"type": "string", "pattern": "^[A-Za-z0-9_.-]{1,40}$", "default": "code", "description": "what messages call the script"},
    "memory_bytes": {"type": "integer", "minimum": 262144, "maximum": 1073741824, "default": 67108864},
    "instructions": {"type": "integer", "minimum": 1000, "maximum": 1000000000000, "default": 200000000}
  }
}`

// config is what a workflow writes for a script.
type config struct {
	// Code is the script's source text.
	Code string
	// Chunk names the script in messages, as in "code:3: …". Default "code".
	Chunk string
	// MemoryBytes limits the memory of one evaluation. Default 64 MiB.
	MemoryBytes int64
	// Instructions limits the steps of one evaluation: virtual machine instructions,
	// and the inner steps of library functions. Default 2·10⁸.
	Instructions int64
}

// parseConfig reads a config strictly and fills in its defaults.
func parseConfig(data json.RawMessage) (*config, error) {
	c := &config{Chunk: "code", MemoryBytes: defaultMemory, Instructions: defaultInstructions}
	o := jsonconfig.Read(data)
	if o.Take("code", "text", &c.Code) || !o.Has("code") {
		c.checkCode(o)
	}
	if o.Take("chunk", "text", &c.Chunk); !validChunk(c.Chunk) {
		o.Report("chunk %q is not 1 to %d letters, digits, '_', '.' or '-'", c.Chunk, maxChunk)
	}
	takeWithin(o, "memory_bytes", &c.MemoryBytes, minMemory, maxMemory)
	takeWithin(o, "instructions", &c.Instructions, minInstructions, maxInstructions)
	o.Done()
	return c, o.Err("lua-eval config", `a config is {"code": "return output ~= nil"}, with chunk, memory_bytes and instructions as options`)
}

func (c *config) checkCode(o *jsonconfig.Object) {
	switch {
	case strings.TrimSpace(c.Code) == "":
		o.Report("code is empty")
	case len(c.Code) > maxCode:
		o.Report("code has %d bytes; the limit is %d", len(c.Code), maxCode)
	case strings.HasPrefix(c.Code, "\x1b"):
		o.Report("code is precompiled Lua; only source text is accepted")
	}
}

func takeWithin(o *jsonconfig.Object, key string, into *int64, least, most int64) {
	if o.Take(key, "a whole number", into) && (*into < least || *into > most) {
		o.Report("%s %d is not between %d and %d", key, *into, least, most)
	}
}

// validChunk reports whether a name can safely be written before ":LINE:".
func validChunk(name string) bool {
	if name == "" || len(name) > maxChunk {
		return false
	}
	for _, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && !strings.ContainsRune("_.-", r) {
			return false
		}
	}
	return true
}
