package workflow

// withoutNulls gives absent lists and maps, which Go has no memory for, the form that readers of JSON expect.
func withoutNulls(document Document) Document {
	document.Tasks = orEmpty(document.Tasks)
	for at := range document.Tasks {
		task := &document.Tasks[at]
		task.Volumes = orEmpty(task.Volumes)
		task.Environment = orEmptyMap(task.Environment)
		task.Actions = orEmpty(task.Actions)
		for at := range task.Actions {
			action := &task.Actions[at]
			action.Command = orEmpty(action.Command)
			action.Volumes = orEmpty(action.Volumes)
			action.Environment = orEmptyMap(action.Environment)
		}
	}
	return document
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func orEmptyMap(given map[string]string) map[string]string {
	if given == nil {
		return map[string]string{}
	}
	return given
}
