//go:build !linux

package wasm

// image is for systems that can map one: see image_linux.go. Elsewhere pages are
// compared and copied.
type image struct{ size uint64 }

func newImage([]byte) (*image, int)         { return nil, 0 }
func (i *image) read([]byte) bool           { return false }
func (m *linear) show(*image) bool          { return false }
func reserve(uint64) (room []byte, ok bool) { return nil, false }
func release([]byte)                        {}
func discard([]byte) bool                   { return false }
