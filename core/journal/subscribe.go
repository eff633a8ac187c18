package journal

// LogTo returns a subscriber that logs each entry by a function in the manner of
// hclog: a message, then names and values in turn.
func LogTo(log func(message string, args ...any)) Subscriber {
	return func(stream string, e Entry) {
		log(e.Type, "stream", stream, "seq", e.Seq, "at", e.At, "data", string(e.Data))
	}
}
