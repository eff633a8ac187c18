package wasm

import (
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// image is a memory's content in a file that has no name. Guests map it as their
// own: they share the pages that they only read, and the system copies what they
// write, which is forgotten at once when the image is shown again.
type image struct {
	file *os.File
	size uint64
}

// newImage keeps a memory; nil if the system can't.
func newImage(memory []byte) (kept *image, bytes int) {
	if len(memory) < imageFrom {
		return nil, 0
	}
	fd, err := unix.MemfdCreate("reflectory-wasm", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, 0
	}
	file := os.NewFile(uintptr(fd), "memfd")
	err = file.Truncate(int64(len(memory)))
	for at := 0; at < len(memory) && err == nil; at += framePage {
		if page := memory[at : at+framePage]; !isZero(page) {
			_, err = file.WriteAt(page, int64(at))
			bytes += framePage
		}
	}
	if err != nil {
		_ = file.Close()
		return nil, 0
	}
	i := &image{file: file, size: uint64(len(memory))}
	runtime.AddCleanup(i, func(f *os.File) { _ = f.Close() }, file)
	return i, bytes
}

// read copies the image, for a memory that can't show it.
func (i *image) read(memory []byte) bool {
	_, err := i.file.ReadAt(memory[:i.size], 0)
	return err == nil
}

// show makes an image the memory's content, and everything after it zero. It
// reports whether it could.
func (m *linear) show(i *image) bool {
	if !m.reserved || i.size > uint64(len(m.room)) {
		return false
	}
	m.clearFrom(max(i.size, m.imageSize()))
	if m.shown == i {
		return discard(m.room[:i.size])
	}
	if old := m.imageSize(); old > i.size && !mapAnonymous(m.room[i.size:old]) {
		return false
	}
	const flags = unix.MAP_PRIVATE | unix.MAP_FIXED | unix.MAP_NORESERVE
	_, err := unix.MmapPtr(int(i.file.Fd()), 0, unsafe.Pointer(unsafe.SliceData(m.room)), uintptr(i.size), unix.PROT_READ|unix.PROT_WRITE, flags)
	runtime.KeepAlive(i)
	if err == nil {
		m.shown = i
	}
	return err == nil
}

func mapAnonymous(room []byte) bool {
	const flags = unix.MAP_PRIVATE | unix.MAP_ANON | unix.MAP_FIXED | unix.MAP_NORESERVE
	_, err := unix.MmapPtr(-1, 0, unsafe.Pointer(unsafe.SliceData(room)), uintptr(len(room)), unix.PROT_READ|unix.PROT_WRITE, flags)
	return err == nil
}

// reserve returns room that takes no memory until it is touched.
func reserve(size uint64) (room []byte, reserved bool) {
	room, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	return room, err == nil
}

func release(room []byte) { _ = unix.Munmap(room) }

// discard forgets what was written, and gives the memory back to the system.
func discard(room []byte) bool { return unix.Madvise(room, unix.MADV_DONTNEED) == nil }
