package dream

// The classes of differences between two texts. With a difference of a hard class they
// surely say different things; with one of a soft class they may.
const (
	Number     = "number"
	Unit       = "unit"
	Date       = "date"
	Version    = "version"
	Identifier = "identifier"
	Negation   = "negation"
	Antonym    = "antonym"
	Quantifier = "quantifier"
	Hedge      = "hedge"
	Condition  = "condition"
	Modality   = "modality"
	Tense      = "tense"
	Exception  = "exception"
	Name       = "name"
	Person     = "person"
	Value      = "value"
	SaysMore   = "says_more"
	Order      = "order"
	// Uncalibrated is the class of a pair that is near by a model that isn't calibrated: the
	// guard finds no difference, but nothing says that near means the same.
	Uncalibrated = "uncalibrated"
)

// Classes are the classes of the guard, the hard ones first, in the order in which they are
// looked for: a pair that differs in several is refused with the first.
func Classes() []string {
	return []string{
		Number, Unit, Date, Version, Identifier, Negation, Exception, Quantifier, Condition, Hedge, Modality, Antonym, Tense,
		Person, Name, Order, SaysMore, Value,
	}
}

// isHard is whether no judge may overrule a class.
func isHard(class string) bool {
	switch class {
	case Name, Person, Value, SaysMore, Order, Uncalibrated, "":
		return false
	}
	return true
}
