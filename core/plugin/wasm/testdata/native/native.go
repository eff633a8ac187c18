// Package native is the work of the C guest's evaluator as native code, for the
// figures.
package native

// #cgo CFLAGS: -O2
// #include "../../../../../testdata/modules/check.h"
// static int check_once(const char *request, unsigned size) { return check_request(request, size); }
import "C"

import "unsafe"

// Check judges the output in a request.
func Check(request []byte) int {
	return int(C.check_once((*C.char)(unsafe.Pointer(unsafe.SliceData(request))), C.uint(len(request))))
}
