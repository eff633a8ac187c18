package core

import "math"

// Rounded rounds a score to 1e-9, the precision with which scores are compared and
// recorded. The errors of sums of decimal fractions are smaller, and so are differences
// between processors, so numbers that look equal are equal.
func Rounded(x float64) float64 { return math.Round(x*1e9) / 1e9 }
