package journal

// LogTo returns a subscriber that logs each entry by a function in the manner of
// hclog: a message, then names and values in turn.
func LogTo(log func(message string, args ...any)) Subscriber {
	return func(stream string, e Entry) {
		args := []any{"stream", stream, "seq", e.Seq, "at", e.At}
		if e.Subject != "" {
			args = append(args, "subject", e.Subject)
		}
		log(e.Type, append(args, "data", string(e.Data))...)
	}
}
