package calls

import (
	"slipway/template/helm"
	"slipway/template/rendering"
	"slipway/template/workflow"
)

// renderChart tells the problems of a chart in the form of all others.
func renderChart(request helm.Request) (*helm.Rendered, *workflow.Failure) {
	value, problems := helm.Render(request)
	if len(problems) == 0 {
		return value, nil
	}
	failure := workflow.Failure{Message: problems[0].Message}
	for _, problem := range problems {
		failure.Problems = append(failure.Problems, workflow.Problem{
			Code:    "helm",
			Message: problem.Message,
			Path:    problem.Path,
			Place:   rendering.Place{Line: problem.Line},
		})
	}
	return nil, &failure
}
