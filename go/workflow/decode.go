package workflow

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// decode reads the first document of a rendered text, and lists the keys of it that mean nothing. An empty text is an empty
// document, of which validation then speaks.
func decode(rendered []byte) (Document, []Ignored, error) {
	var root yaml.Node
	var document Document
	err := yaml.Unmarshal(rendered, &root)
	if err == nil {
		err = root.Decode(&document)
	}
	if err != nil {
		return Document{}, nil, fmt.Errorf("parsing yaml data: err: %w%s", err, tabHint(err, string(rendered)))
	}
	return document, ignoredKeys(&root), nil
}

var lineOfMessage = regexp.MustCompile(`line (\d+): found (?:a tab|character that cannot start any token)`)

// tabHint explains the scanner's words where the line begins with a tab. The scanner counts lines from where the token
// before began, so the line itself may be the next.
func tabHint(err error, rendered string) string {
	found := lineOfMessage.FindStringSubmatch(err.Error())
	if found == nil {
		return ""
	}
	line, _ := strconv.Atoi(found[1])
	lines := strings.Split(rendered, "\n")
	for at := max(line-2, 0); at < min(line+1, len(lines)); at++ {
		indent := lines[at][:len(lines[at])-len(strings.TrimLeft(lines[at], " \t"))]
		if strings.Contains(indent, "\t") {
			return "; YAML forbids tabs for indentation"
		}
	}
	return ""
}
