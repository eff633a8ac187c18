package sdk

import (
	"encoding/json"
	"strconv"
	"strings"
)

// WholeNumber is a JSON number in the form that Go reads as an integer, such as 5 for 5.0, 5e0 and
// 50e-1; false if it isn't whole, or has more than 20 digits. JSON Schema has no other integers.
func WholeNumber(number []byte) (json.RawMessage, bool) {
	text, negative := strings.CutPrefix(string(number), "-")
	mantissa, power, _ := strings.Cut(strings.ToLower(text), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	point := 0
	if power != "" {
		n, err := strconv.Atoi(power)
		if err != nil || n > 1000 || n < -1000 {
			return nil, false
		}
		point = n
	}
	digits := strings.TrimLeft(whole+fraction, "0")
	point -= len(fraction)
	for strings.HasSuffix(digits, "0") {
		digits, point = digits[:len(digits)-1], point+1
	}
	switch {
	case digits == "":
		return json.RawMessage("0"), true
	case point < 0 || len(digits)+point > 20 || strings.Trim(digits, "0123456789") != "":
		return nil, false
	case negative:
		digits = "-" + digits
	}
	return json.RawMessage(digits + strings.Repeat("0", point)), true
}
