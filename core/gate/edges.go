package gate

import (
	"encoding/binary"
	"encoding/json"
	"errors"
)

// edges are pairs of node numbers, sorted. In JSON they are one string, the base64 of
// each number in two bytes: reading the largest graph as JSON numbers takes a hundred
// times as long as a decision that uses the graph.
type edges [][2]int32

// MarshalJSON implements [json.Marshaler]. Node numbers fit, since they are below
// [MaxNodes].
func (e edges) MarshalJSON() ([]byte, error) {
	packed := make([]byte, 0, 4*len(e))
	for _, edge := range e {
		packed = binary.BigEndian.AppendUint16(packed, uint16(edge[0]))
		packed = binary.BigEndian.AppendUint16(packed, uint16(edge[1]))
	}
	return json.Marshal(packed)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (e *edges) UnmarshalJSON(data []byte) error {
	var packed []byte
	if err := json.Unmarshal(data, &packed); err != nil {
		return err
	}
	if len(packed)%4 != 0 {
		return errors.New("half an edge")
	}
	*e = make(edges, len(packed)/4)
	for i := range *e {
		(*e)[i][0] = int32(binary.BigEndian.Uint16(packed[4*i:]))
		(*e)[i][1] = int32(binary.BigEndian.Uint16(packed[4*i+2:]))
	}
	return nil
}
