package rendering

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Place is where in the template's text something is wrong. Both count from 1, columns in UTF-16 code units as editors do;
// 0 is unknown.
type Place struct {
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
}

// placed is how messages of text/template begin; errors of syntax name a line only.
var placed = regexp.MustCompile(`template: ` + Name + `:(\d+)(?::(\d+))?: `)

// PlaceOf reads the place out of a message of text/template, whose columns count bytes from 0.
func PlaceOf(err error, text string) Place {
	found := placed.FindStringSubmatch(err.Error())
	if found == nil {
		return Place{}
	}
	line, _ := strconv.Atoi(found[1])
	if found[2] == "" {
		return Place{Line: line}
	}
	bytes, _ := strconv.Atoi(found[2])
	return Place{Line: line, Column: columnOf(text, line, bytes)}
}

func columnOf(text string, line, bytes int) int {
	lines := strings.Split(text, "\n")
	if line > len(lines) || bytes > len(lines[line-1]) {
		return bytes + 1
	}
	return len(utf16.Encode([]rune(lines[line-1][:bytes]))) + 1
}
