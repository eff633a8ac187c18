package coretest

import "os"

// StressEnv is the variable that, set to 1, has tests take the heavy figures of make
// stress: more seeds, crashes, kills and records than the same proof needs each time.
const StressEnv = "REFLECTORY_STRESS"

// Stress is whether a test takes its heavy figure.
func Stress() bool { return os.Getenv(StressEnv) == "1" }

// Heavy is how many of something a test takes: heavy of them in make stress, else some. As
// the step of a loop it thins what a test goes through one by one.
func Heavy[T ~int | ~int32 | ~int64 | ~uint64](some, heavy T) T {
	if Stress() {
		return heavy
	}
	return some
}
