package modeltext

import "encoding/json"

// Usage is how many tokens an endpoint counted, each from 0 to [MaxTokens].
type Usage struct {
	In, Out int64
	// Estimated means that the endpoint didn't count In, Out or both.
	Estimated bool
}

// MaxTokens limits a count, so that a lying endpoint can't overflow a budget.
const MaxTokens = 1 << 40

// Where a prompt was probably cut without a word, as Ollama does at its context length: no
// tokenizer makes fewer than one token of charsPerTokenAtMost characters on average, and a
// short prompt fits everywhere.
const (
	charsPerTokenAtMost = 12
	promptCutFrom       = 8000
)

// charsPerToken is how many characters a token has on average, as in English.
const charsPerToken = 4

// promptCut reports whether the endpoint counted so few tokens for a prompt of this many
// characters that it can't have read all of it.
func (u Usage) promptCut(chars int) bool {
	return u.In > 0 && chars > promptCutFrom && u.In*charsPerTokenAtMost < int64(chars)
}

// counted is the usage as endpoints write it. The cached tokens of Anthropic's protocol
// aren't in input_tokens.
type counted struct {
	Prompt     count `json:"prompt_tokens"`
	Completion count `json:"completion_tokens"`
	Input      count `json:"input_tokens"`
	Output     count `json:"output_tokens"`
	CacheRead  count `json:"cache_read_input_tokens"`
	CacheWrite count `json:"cache_creation_input_tokens"`
	Total      count `json:"total_tokens"`
}

// latest keeps the largest counts: the last piece of a stream has the usage of the whole
// reply, and some endpoints send running totals before it.
func (c *counted) latest(d counted) {
	c.Prompt, c.Completion = max(c.Prompt, d.Prompt), max(c.Completion, d.Completion)
	c.Input, c.Output = max(c.Input, d.Input), max(c.Output, d.Output)
	c.CacheRead, c.CacheWrite = max(c.CacheRead, d.CacheRead), max(c.CacheWrite, d.CacheWrite)
	c.Total = max(c.Total, d.Total)
}

// usage is what the counts say. If the endpoint gives the total alone, the reply's tokens
// are estimated, and the rest are the prompt's.
func (c *counted) usage(chars int) Usage {
	u := Usage{In: int64(c.Prompt), Out: int64(max(c.Completion, c.Output))}
	if u.In == 0 {
		u.In = min(int64(c.Input)+int64(c.CacheRead)+int64(c.CacheWrite), MaxTokens)
	}
	total := int64(c.Total)
	switch {
	case total <= u.In+u.Out:
	case u.In > 0:
		u.Out = total - u.In
	case u.Out > 0:
		u.In = total - u.Out
	default:
		u.Out = min(total, tokens(chars))
		u.In, u.Estimated = total-u.Out, true
	}
	return u
}

func tokens(chars int) int64 { return int64((chars + charsPerToken - 1) / charsPerToken) }

// count is a number of tokens. What isn't a number is 0, and of a fraction the whole part
// counts.
type count int64

// UnmarshalJSON accepts any value.
func (c *count) UnmarshalJSON(raw []byte) error {
	var n json.Number
	if json.Unmarshal(raw, &n) != nil {
		return nil
	}
	f, _ := n.Float64() // infinite if it is too large
	*c = count(min(max(f, 0), MaxTokens))
	return nil
}
