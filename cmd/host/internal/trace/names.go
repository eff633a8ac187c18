package trace

import "go.opentelemetry.io/otel/attribute"

// The names of OpenTelemetry's conventions for generative AI, as they are in its repository
// semantic-conventions-genai in November 2026; the names for memory are from May 2026. They
// are still in development, and the Go module no longer has them since version 1.41. So
// they are listed here, where a change is noticed.
const (
	genAIOperation     = attribute.Key("gen_ai.operation.name")
	genAIProvider      = attribute.Key("gen_ai.provider.name")
	genAIRequestModel  = attribute.Key("gen_ai.request.model")
	genAIResponseModel = attribute.Key("gen_ai.response.model")
	genAIInputTokens   = attribute.Key("gen_ai.usage.input_tokens")
	genAIOutputTokens  = attribute.Key("gen_ai.usage.output_tokens")
	genAIWorkflow      = attribute.Key("gen_ai.workflow.name")
	errorType          = attribute.Key("error.type")

	genAIEvaluation            = "gen_ai.evaluation.result"
	genAIEvaluationName        = attribute.Key("gen_ai.evaluation.name")
	genAIEvaluationScore       = attribute.Key("gen_ai.evaluation.score.value")
	genAIEvaluationLabel       = attribute.Key("gen_ai.evaluation.score.label")
	genAIEvaluationExplanation = attribute.Key("gen_ai.evaluation.explanation")

	// Content: with --trace-content only.
	genAIOutput      = attribute.Key("gen_ai.output.messages")
	genAIMemoryQuery = attribute.Key("gen_ai.memory.query.text")

	invokeWorkflow = "invoke_workflow"
	chat           = "chat"
)

// The names of OpenTelemetry's conventions for HTTP, which are stable.
const (
	httpMethod = attribute.Key("http.request.method")
	httpRoute  = attribute.Key("http.route")
	httpStatus = attribute.Key("http.response.status_code")
)

// The names of things for which the conventions have no name.
const (
	runID     = attribute.Key("reflectory.run.id")
	runStatus = attribute.Key("reflectory.run.status")
	runScore  = attribute.Key("reflectory.run.score")
	namespace = attribute.Key("reflectory.namespace")
	node      = attribute.Key("reflectory.node")
	iteration = attribute.Key("reflectory.iteration")
	accepted  = attribute.Key("reflectory.attempt.accepted")
	plugin    = attribute.Key("reflectory.plugin")
	role      = attribute.Key("reflectory.role")
	action    = attribute.Key("reflectory.memory.action")

	operation = attribute.Key("reflectory.operation")
	code      = attribute.Key("reflectory.code")

	// Content: with --trace-content only.
	output = attribute.Key("reflectory.output")
)
