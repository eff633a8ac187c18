package gateway

import (
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/core/workflow"
)

// Model is how the requests for one model of a gateway are served. Its zero value checks nothing,
// recalls nothing, and records the content.
type Model struct {
	// Name is what clients write, and Upstream what the upstream calls the model. Default Name.
	Name, Upstream string
	// Namespace is where its runs, sessions and memories are. Required.
	Namespace string
	Recall    Recall
	Check     Check
	// Learn is whether the outcomes of turns are recorded as feedback. It needs Recall.
	Learn  bool
	Record Record
	// BudgetTokens and BudgetUSD bound what the attempts at one request may use: no further one begins
	// once they reach it. 0 is no limit.
	BudgetTokens int64
	BudgetUSD    float64
	// OwnHistory is whether the upstream decides which of the responses that it keeps a request may refer
	// to, since it is asked with the client's own credentials. Otherwise they must be the caller's answers.
	OwnHistory bool
}

// Recall is what a turn is given of the namespace's memories.
type Recall struct {
	// MaxTokens bounds the turn's context, about four characters each; 0 recalls nothing.
	MaxTokens int
}

// Check is what a reply has to pass before it is the answer. A reply with several choices, and one that
// was cut or refused, isn't checked.
type Check struct {
	// Tools is whether calls of the request's function tools must fit their schemas.
	Tools bool
	// ResponseFormat is whether a reply must fit the schema that the request asks for.
	ResponseFormat bool
	// Evaluator judges the texts of replies without tool calls; nil judges none.
	Evaluator *workflow.Single
	// Folder is the folder of the file that names the evaluator; "" is none.
	Folder string
	// MaxIterations is how many attempts a request has: default 3.
	MaxIterations int
	// OnFailure is what the client gets if no attempt passes: the best one, which is the default, or
	// with [loop.Raise] an error.
	OnFailure loop.OnFailure
	// Live streams the first attempt at once, and only records its verdict.
	Live bool
}

// any reports whether anything is checked.
func (c *Check) any() bool { return c.Tools || c.ResponseFormat || c.Evaluator != nil }

// Record is what is kept of requests.
type Record string

// What is kept: everything, or only digests and numbers.
const (
	RecordContent Record = "content"
	RecordDigests Record = "digests"
)

// WhenUnrecorded is what happens with requests while the store can't write.
type WhenUnrecorded string

// What happens then: the request is served without a record, without recalling or learning, or it is
// refused.
const (
	UnrecordedRefuse WhenUnrecorded = "refuse"
	UnrecordedPass   WhenUnrecorded = "pass"
)
