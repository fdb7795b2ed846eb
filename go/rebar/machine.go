package rebar

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// Machine is .Machine: its fields, and what is made of them.
type Machine struct {
	*machineRecord
	data *RenderData
}

// Params are sent only if a template reads them as a whole.
func (m *Machine) Params() (map[string]any, error) {
	if m.machineRecord.Params == nil {
		m.data.needs.MachineParams = true
		return nil, errNeeded
	}
	return m.machineRecord.Params, nil
}

// MarshalJSON is the object of the wire, as toJson writes it.
func (m *Machine) MarshalJSON() ([]byte, error) {
	if _, err := m.Params(); err != nil {
		return nil, err
	}
	return json.Marshal(m.machineRecord)
}

func (m *Machine) UUID() string                   { return m.Uuid }
func (m *Machine) Key() string                    { return m.Uuid }
func (m *Machine) Path() string                   { return "machines/" + m.Uuid }
func (m *Machine) Url() string                    { return m.data.ProvisionerURL() + "/" + m.Path() }
func (m *Machine) HasProfile(profile string) bool { return slices.Contains(m.Profiles, profile) }

// ShortName ends before the first dot.
func (m *Machine) ShortName() string {
	short, _, _ := strings.Cut(m.Name, ".")
	return short
}

// HexAddress is the IPv4 address in eight digits; empty if there is none.
func (m *Machine) HexAddress() string {
	address := net.ParseIP(m.Address).To4()
	if address == nil {
		return ""
	}
	return fmt.Sprintf("%X", []byte(address))
}

// MacAddr is the address of the interface that asks; empty if it is unknown.
func (m *Machine) MacAddr(formats ...string) string {
	mac := m.data.request.Mac
	if mac != "" && len(formats) > 0 && formats[0] == "pxelinux" {
		return "01-" + strings.ReplaceAll(mac, ":", "-")
	}
	return mac
}

// samePart compares parts of versions, as numbers if both are.
func samePart(a, b string) bool {
	first, errFirst := strconv.ParseInt(a, 10, 64)
	second, errSecond := strconv.ParseInt(b, 10, 64)
	if errFirst == nil && errSecond == nil {
		return first == second
	}
	return a == b
}

var archAliases = map[string]string{
	"x86_64": "amd64",
	"i386":   "386", "i486": "386", "i686": "386", "486": "386", "686": "386",
	"armel": "arm", "armhfp": "arm",
	"aarch64":  "arm64",
	"power9":   "ppc64",
	"mips64el": "mips64le",
	"mipsel":   "mipsle",
}

// archOf is the name that machines use.
func archOf(name string) string {
	name = strings.ToLower(name)
	if alias, isAlias := archAliases[name]; isAlias {
		return alias
	}
	return name
}
