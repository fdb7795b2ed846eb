package functions

import (
	"fmt"
	"strings"
	"text/template"
)

// legacy is the set that templates were written against before Sprig was there.
var legacy = template.FuncMap{
	"contains":        strings.Contains,
	"hasPrefix":       strings.HasPrefix,
	"hasSuffix":       strings.HasSuffix,
	"formatPartition": legacyFormatPartition,
}

// legacyFormatPartition knows devices by the beginning of their names; what it does not know it leaves alone.
func legacyFormatPartition(device string, partition int) string {
	switch {
	case strings.HasPrefix(device, "/dev/nvme"):
		return fmt.Sprintf("%sp%d", device, partition)
	case hasAnyPrefix(device, "/dev/sd", "/dev/vd", "/dev/xvd", "/dev/hd"):
		return fmt.Sprintf("%s%d", device, partition)
	}
	return device
}

func hasAnyPrefix(text string, prefixes ...string) bool {
	for _, prefix := range prefixes {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return false
}
