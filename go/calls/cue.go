package calls

import (
	"slipway/template/cuelang"
	"slipway/template/rendering"
	"slipway/template/workflow"
)

// evaluate reports CUE's errors in the form of all others.
func evaluate(request cuelang.Request) (*cuelang.Evaluated, *workflow.Failure) {
	value, problems := cuelang.Evaluate(request)
	if problems == nil {
		return value, nil
	}
	return nil, failureOf(problems[0].Message, problems)
}

// cued makes an operation of a function of cuelang.
func cued[Q, V any](run func(Q) (*V, *cuelang.Failed)) operation {
	answer := asked(func(question Q) (*V, *workflow.Failure) {
		value, failed := run(question)
		if failed == nil {
			return value, nil
		}
		return nil, failureOf(failed.Message(), failed.Problems)
	})
	return func(question []byte) (result Answer, err error) {
		defer func() {
			switch thrown := recover().(type) {
			case nil:
			case cuelang.UnknownPackages:
				result = Answer{IsUnknown: true}
			default:
				// The evaluator panics on some contradictory texts; what it was in the middle of is dropped.
				cuelang.Reset()
				problem := cuelang.Crashed(thrown)
				result = Answer{Failure: failureOf(problem.Message, []cuelang.Problem{problem})}
			}
		}()
		return answer(question)
	}
}

func failureOf(message string, problems []cuelang.Problem) *workflow.Failure {
	failure := workflow.Failure{Message: message}
	for _, problem := range problems {
		code := problem.Code
		if code == "" {
			code = "cue"
		}
		failure.Problems = append(failure.Problems, workflow.Problem{
			Code:    code,
			Message: problem.Message,
			Path:    problem.Path,
			File:    problem.File,
			Place:   rendering.Place{Line: problem.Line, Column: problem.Column},
		})
	}
	return &failure
}
