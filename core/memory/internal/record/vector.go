package record

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
)

// MaxDimensions bounds a vector; models in use have up to 4,096.
const MaxDimensions = 1 << 14

// EmbeddedText is the text from which a memory's vector is made: title and content, or
// the content alone if the title is its start.
func EmbeddedText(m *core.Memory) string {
	if strings.HasPrefix(m.Content, m.Title) {
		return m.Content
	}
	return m.Title + "\n" + m.Content
}

// encodeVector is a vector's record: the length of the model's name in 2 bytes,
// the name, and the numbers in 4 bytes each, little-endian as in memory.
func encodeVector(model string, vector []float32) []byte {
	b := binary.BigEndian.AppendUint16(make([]byte, 0, 2+len(model)+4*len(vector)), uint16(len(model)))
	b = append(b, model...)
	for _, x := range vector {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// DecodeVector reads what [encodeVector] made.
func DecodeVector(id string, value []byte) (model string, vector []float32, err error) {
	return AppendVector(make([]float32, 0, len(value)/4), id, value)
}

// AppendVector does what [DecodeVector] does, and appends the vector to a slice.
func AppendVector(to []float32, id string, value []byte) (model string, vector []float32, err error) {
	if len(value) < 2 {
		return "", nil, Corrupt(id, VectorPrefix+id, "it is too short")
	}
	n := int(binary.BigEndian.Uint16(value))
	numbers := value[min(len(value), 2+n):]
	if len(value) < 2+n || len(numbers)%4 != 0 || len(numbers) > 4*MaxDimensions {
		return "", nil, Corrupt(id, VectorPrefix+id, "its length is wrong")
	}
	vector = slices.Grow(to, len(numbers)/4)[:len(to)+len(numbers)/4]
	for i := len(to); len(numbers) >= 4; i, numbers = i+1, numbers[4:] {
		vector[i] = math.Float32frombits(binary.LittleEndian.Uint32(numbers))
	}
	return string(value[2 : 2+n]), vector, nil
}

// ReadVector returns a memory's vector and its model; "" if it has none.
func ReadVector(r core.Reader, id string) (model string, vector []float32, err error) {
	value, found, err := r.Get(VectorKey(id))
	if err != nil || !found {
		return "", nil, err
	}
	return DecodeVector(id, value)
}
