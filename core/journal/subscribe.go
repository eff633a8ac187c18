package journal

// LogTo returns a subscriber that logs each entry with a function like hclog's: a
// message, then alternating names and values.
func LogTo(log func(message string, args ...any)) Subscriber {
	return func(stream string, e Entry) {
		args := []any{"stream", stream, "seq", e.Seq, "at", e.At}
		if e.Subject != "" {
			args = append(args, "subject", e.Subject)
		}
		log(e.Type, append(args, "data", string(e.Data))...)
	}
}
