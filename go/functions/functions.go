// Package functions holds what templates can call: Sprig's functions that give the same answer every time, and ours.
package functions

import (
	"maps"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

// Options choose the functions of a template.
type Options struct {
	// Legacy gives contains, hasPrefix and hasSuffix the order of the standard library, and formatPartition its first table.
	Legacy bool `json:"legacy"`
	// AllowNonhermetic adds the functions whose answers depend on the clock, on chance or on the machine.
	AllowNonhermetic bool `json:"allowNonhermetic"`
}

// nonhermetic is written out here, so that a new version of Sprig cannot change what templates may call.
var nonhermetic = []string{
	"now", "date", "dateInZone", "date_in_zone", "dateModify", "date_modify", "htmlDate", "htmlDateInZone",
	"randAlphaNum", "randAlpha", "randAscii", "randNumeric", "randBytes", "uuidv4",
	"env", "expandenv", "getHostByName",
}

// New returns the functions in a map of the caller's own.
func New(options Options) template.FuncMap {
	all := sprig.TxtFuncMap()
	if !options.AllowNonhermetic {
		for _, name := range nonhermetic {
			delete(all, name)
		}
	}
	maps.Copy(all, template.FuncMap{
		"formatPartition":       formatPartition,
		"netmaskToPrefixLength": NetmaskToPrefixLength,
		"toYaml":                toYaml,
		"fromYaml":              fromYaml,
	})
	if options.Legacy {
		maps.Copy(all, legacy)
	}
	return all
}
