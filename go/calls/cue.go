package calls

import (
	"slipway/template/cuelang"
	"slipway/template/rendering"
	"slipway/template/workflow"
)

// evaluate tells CUE's errors in the form of all others.
func evaluate(request cuelang.Request) (*cuelang.Evaluated, *workflow.Failure) {
	value, problems := cuelang.Evaluate(request)
	if problems == nil {
		return value, nil
	}
	failure := workflow.Failure{Message: problems[0].Message}
	for _, problem := range problems {
		failure.Problems = append(failure.Problems, workflow.Problem{
			Code:    "cue",
			Message: problem.Message,
			Path:    problem.Path,
			Place:   rendering.Place{Line: problem.Line, Column: problem.Column},
		})
	}
	return nil, &failure
}
