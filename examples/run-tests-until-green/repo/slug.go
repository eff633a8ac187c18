package slug

// Slug makes a title fit for a URL.
func Slug(title string) string { return title }
