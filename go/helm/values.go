package helm

import (
	"maps"
	"slices"
	"strings"
)

// merged returns base with over laid on it: objects merge, everything else replaces, and null removes a key.
func merged(base, over object) object {
	result := maps.Clone(base)
	if result == nil {
		result = object{}
	}
	for key, value := range over {
		if value == nil {
			delete(result, key)
			continue
		}
		inner, isObject := value.(object)
		below, wasObject := result[key].(object)
		switch {
		case isObject && wasObject:
			result[key] = merged(below, inner)
		case isObject:
			result[key] = merged(nil, inner)
		default:
			result[key] = value
		}
	}
	return result
}

// valuesFor returns the values of a chart with those of its sub-charts in them, and drops the sub-charts that are disabled.
func (made *chart) valuesFor(given object) object {
	values := merged(made.defaults, given)
	made.children = slices.DeleteFunc(slices.Clone(made.children), func(child *chart) bool {
		return !made.isEnabled(child, values)
	})
	globals, _ := values["global"].(object)
	for _, child := range made.children {
		own, _ := values[child.name].(object)
		if len(globals) > 0 {
			inner, _ := own["global"].(object)
			own = merged(own, object{"global": merged(inner, globals)})
		}
		of := child.valuesFor(own)
		values[child.name] = of
		values = merged(made.imported(child, of), values)
	}
	return values
}

// isEnabled follows conditions, of which the first that is set counts, and then tags.
func (made *chart) isEnabled(child *chart, values object) bool {
	declared := made.declarationOf(child)
	if declared == nil {
		return true
	}
	for _, condition := range strings.Split(declared.Condition, ",") {
		if isOn, isSet := at(values, strings.TrimSpace(condition)).(bool); isSet {
			return isOn
		}
	}
	tags, _ := values["tags"].(object)
	isEnabled, isDisabled := false, false
	for _, tag := range declared.Tags {
		if isOn, isSet := tags[tag].(bool); isSet {
			isEnabled, isDisabled = isEnabled || isOn, isDisabled || !isOn
		}
	}
	return isEnabled || !isDisabled
}

func (made *chart) declarationOf(child *chart) *dependency {
	for index := range made.dependencies {
		declared := &made.dependencies[index]
		if declared.Alias == child.name || (declared.Alias == "" && declared.Name == child.name) {
			return declared
		}
	}
	return nil
}

// imported returns what the parent takes over from the values of a sub-chart.
func (made *chart) imported(child *chart, values object) object {
	declared := made.declarationOf(child)
	if declared == nil {
		return nil
	}
	var result object
	for _, each := range declared.ImportValues {
		switch each := each.(type) {
		case string:
			if exported, isObject := at(values, "exports."+each).(object); isObject {
				result = merged(result, exported)
			}
		case object:
			if found, isObject := at(values, textOf(each["child"])).(object); isObject {
				result = merged(result, under(textOf(each["parent"]), found))
			}
		}
	}
	return result
}

func at(values object, path string) any {
	var value any = values
	for _, key := range strings.Split(path, ".") {
		inner, isObject := value.(object)
		if !isObject {
			return nil
		}
		value = inner[key]
	}
	return value
}

func under(path string, value object) object {
	if path == "" || path == "." {
		return value
	}
	keys := strings.Split(path, ".")
	slices.Reverse(keys)
	for _, key := range keys {
		value = object{key: value}
	}
	return value
}
