package exec

import "strings"

// output keeps the beginning and the end of what a program prints.
type output struct {
	head, tail []byte
	lost       bool
}

// maxOutput is how much of each of a program's outputs is kept, in bytes: half of it from the
// beginning, and half from the end.
const maxOutput = 4 << 20

// Write implements io.Writer.
func (o *output) Write(b []byte) (int, error) {
	n := len(b)
	first := min(maxOutput/2-len(o.head), n)
	o.head, o.tail = append(o.head, b[:first]...), append(o.tail, b[first:]...)
	if len(o.tail) > maxOutput { // rarely, so that a flood isn't moved with every write
		o.trim()
	}
	return n, nil
}

// trim drops what is too much of the end.
func (o *output) trim() {
	if over := len(o.tail) - maxOutput/2; over > 0 {
		o.lost = true
		o.tail = append(o.tail[:0], o.tail[over:]...)
	}
}

// text is what was kept, with what isn't UTF-8 replaced.
func (o *output) text() (text string, cut bool) {
	o.trim()
	return strings.ToValidUTF8(string(o.head)+string(o.tail), "\uFFFD"), o.lost
}
