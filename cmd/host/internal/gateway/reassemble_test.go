package gateway_test

import (
	"bufio"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// message is a stream as a client puts it together, by the rules of the families' own clients.
type message struct {
	text  string
	calls []string
	err   string
}

// chunk has what the events of the three shapes have.
type chunk struct {
	Type    string
	Index   *int
	Error   *struct{ Message string }
	Message string
	Choices []struct {
		Delta struct {
			Content   string
			ToolCalls []struct {
				Index    *int
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
	}
	Block *struct {
		Type, ID, Name string
	} `json:"content_block"`
	Delta json.RawMessage
	Item  *struct {
		Type      string
		ID        string
		CallID    string `json:"call_id"`
		Name      string
		Arguments string
	}
	OutputIndex *int `json:"output_index"`
	Sequence    *int `json:"sequence_number"`
	Response    *struct {
		Output []struct {
			ID, Type  string
			Arguments string
			Content   []struct{ Text string }
		}
	}
}

func reassemble(t *testing.T, shape, stream string) (m message) {
	t.Helper()
	type call struct{ id, name, arguments string }
	var calls []*call
	var blocks []string // of messages and responses, by index
	at := map[int]*call{}
	sequence := -1
	lines := bufio.NewScanner(strings.NewReader(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(stream)))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		data, is := strings.CutPrefix(lines.Text(), "data:")
		if !is || strings.TrimSpace(data) == "[DONE]" {
			continue
		}
		var c chunk
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			var pong struct{ Type string } // deltas of responses are texts
			if json.Unmarshal([]byte(data), &pong) != nil {
				t.Fatalf("%v in %s", err, data)
			}
		}
		switch {
		case c.Error != nil:
			m.err = c.Error.Message
		case c.Type == "error":
			m.err = c.Message
		}
		for _, choice := range c.Choices {
			m.text += choice.Delta.Content
			for _, tc := range choice.Delta.ToolCalls {
				if *tc.Index == len(calls) {
					calls = append(calls, &call{})
				}
				if *tc.Index > len(calls) {
					t.Fatalf("index %d of %d calls in %s", *tc.Index, len(calls), data)
				}
				have := calls[*tc.Index]
				have.id += tc.ID
				have.name += tc.Function.Name
				have.arguments += tc.Function.Arguments
			}
		}
		if shape == "responses" && c.Sequence != nil && c.Type != "error" {
			if *c.Sequence != sequence+1 {
				t.Fatalf("sequence_number %d after %d", *c.Sequence, sequence)
			}
			sequence = *c.Sequence
		}
		switch c.Type {
		case "content_block_start":
			if *c.Index != len(blocks) {
				t.Fatalf("block %d begins as number %d", *c.Index, len(blocks))
			}
			if blocks = append(blocks, c.Block.Type); c.Block.Type == "tool_use" {
				at[*c.Index] = &call{c.Block.ID, c.Block.Name, ""}
				calls = append(calls, at[*c.Index])
			}
		case "content_block_delta":
			var d struct {
				Text, Thinking string
				JSON           string `json:"partial_json"`
			}
			_ = json.Unmarshal(c.Delta, &d)
			if m.text += d.Text; at[*c.Index] != nil {
				at[*c.Index].arguments += d.JSON
			}
		case "response.output_text.delta":
			var d string
			_ = json.Unmarshal(c.Delta, &d)
			m.text += d
		case "response.output_item.added":
			if *c.OutputIndex != len(blocks) {
				t.Fatalf("item %d is added as number %d", *c.OutputIndex, len(blocks))
			}
			blocks = append(blocks, c.Item.ID)
		case "response.output_item.done":
			if blocks[*c.OutputIndex] != c.Item.ID {
				t.Fatalf("item %d is %s, and was %s", *c.OutputIndex, c.Item.ID, blocks[*c.OutputIndex])
			}
			if c.Item.Type == "function_call" {
				calls = append(calls, &call{c.Item.CallID, c.Item.Name, c.Item.Arguments})
			}
		case "response.completed":
			var ids []string
			for _, item := range c.Response.Output {
				ids = append(ids, item.ID)
			}
			if !slices.Equal(ids, blocks) {
				t.Fatalf("the response has %v, and the stream had %v", ids, blocks)
			}
		}
	}
	for _, c := range calls {
		m.calls = append(m.calls, c.id+" "+c.name+" "+c.arguments)
	}
	return m
}
