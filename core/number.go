package core

import "math"

// Rounded is a score as it is compared and recorded: to 1e-9. Sums of decimal fractions
// are off by less, and processors differ by less, so what reads as the same number is.
func Rounded(x float64) float64 { return math.Round(x*1e9) / 1e9 }
