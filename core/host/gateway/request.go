package gateway

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/sdk"
)

// Request is what the gateway has to know of a client's request, whatever its shape. The surface keeps
// the bytes, and sends them up with [Edits].
type Request struct {
	// Model is the model's name as the client wrote it.
	Model string
	// Messages are the conversation without its system texts, the oldest first.
	Messages []Message
	// Tools are the function tools of the request. Hosted and custom tools aren't checked.
	Tools []Tool
	// Schema is the JSON Schema that the reply's text was asked to fit; nil if there is none.
	Schema json.RawMessage
	// Choices is how many replies the client wants; more than one are passed unchecked.
	Choices int
	// Stream is whether the client reads the reply as a stream.
	Stream bool
	// Session is the session in the client's own words; "" means that it is found by the answers that
	// were given.
	Session string
	// Previous is the id of the response that the request continues, where the upstream keeps the
	// history; "" if the messages are the whole conversation.
	Previous string
	// Refers are the ids of the responses, items and conversations that the upstream keeps and the request
	// names, Previous among them.
	Refers []string
}

// Role is who wrote a message.
type Role string

// The roles of messages. A tool's results are in a message of the user, in every shape.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	// Developer is an instruction in the middle of a conversation. It begins no turn.
	Developer Role = "developer"
)

// Message is one message of a conversation.
type Message struct {
	Role Role
	// Text is the message's text; parts are separated by a line break.
	Text string
	// Calls are the tool calls of an assistant.
	Calls []Call
	// Results are the results of tools.
	Results []Result
	// Canonical is the message for its digest: what the client wrote, without what changes from one
	// request to the next (cache marks, reasoning), in one order of members.
	Canonical []byte
}

// Tool is a function that the model may call.
type Tool struct {
	Name string
	// Schema is the JSON Schema of its arguments; nil means that any object fits.
	Schema json.RawMessage
}

// Call is the call of a tool in a reply.
type Call struct {
	ID, Name string
	// Arguments is the JSON text of the arguments as the model wrote it.
	Arguments string
	// Unchecked is whether the tool isn't one of the request's functions by its kind (hosted, custom).
	Unchecked bool
}

// Result is the result of a tool call.
type Result struct {
	CallID, Text string
	// Failed is whether the result says that the call failed, by the shape's own mark.
	Failed bool
}

// Reply is a model's whole reply.
type Reply struct {
	// IDs are the upstream's ids of the reply and of its items, by which later requests may refer to them.
	IDs []string
	// Text is the reply's text, without its reasoning.
	Text  string
	Calls []Call
	// Finish is why the reply ends.
	Finish Finish
	Usage  sdk.Usage
}

// Finish is why a reply ends.
type Finish string

// The ends of replies. A reply that was cut or refused is never checked.
const (
	Complete Finish = "complete"
	Cut      Finish = "cut"
	Refused  Finish = "refused"
)

// Edits are what goes up otherwise than the client wrote it. Everything else keeps its bytes.
type Edits struct {
	// Model is the upstream's name of the model.
	Model string
	// System is added at the end of the system text; "" adds nothing.
	System string
	// Context is added to messages of the user, by the message's index in [Request.Messages]: a text part
	// behind the message's last part.
	Context map[int]string
	// Findings is one more message of the user, which quotes a rejected reply and what is wrong with it;
	// "" adds none. Behind results of tools it is a text part.
	Findings string
}

// Hold is which parts of a reply the client doesn't get before they are judged.
type Hold int

// What is held. Text and reasoning stream at once while only calls are held.
const (
	HoldNothing Hold = iota
	HoldCalls
	HoldAll
)

// Attempt is one request to the upstream.
type Attempt struct {
	// Turn is what the answer's headers say of the request.
	Turn Turn
	// Number counts from 1.
	Number int
	Edits  Edits
	Hold   Hold
	// Whole is called with a streamed reply, as far as it is known, before its end reaches the client; nil is never
	// called.
	Whole func(*Reply)
}

// Turn is where a request belongs.
type Turn struct {
	Run, Session string
	// Number is the session's turn, from 1.
	Number int64
	// Snapshot is the id of the context that was added; "" if there was none.
	Snapshot string
}

// Upstream is the model behind the gateway, for one request of a client.
type Upstream interface {
	// Ask sends an attempt and returns the reply once it is whole. What isn't held may reach the client
	// before that; of an attempt after the first, calls alone.
	Ask(ctx context.Context, a *Attempt) (*Reply, error)
}

// Outcome is what the client gets.
type Outcome struct {
	Turn Turn
	// Attempt is the number of the attempt whose reply is the answer, and Attempts how many there were.
	Attempt, Attempts int
	// Verdict is passed, failed, or unchecked with the reason, as the header Reflectory-Verdict has it.
	Verdict string
}
