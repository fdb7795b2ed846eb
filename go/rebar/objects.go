// Package rebar renders the templates of Digital Rebar's tasks, stages and boot environments.
package rebar

import "strings"

// Objects as templates see them. Names of fields are those of the wire, which templates use.

type common struct {
	Validated   bool
	Available   bool
	Errors      []string
	ReadOnly    bool
	Meta        map[string]string
	Endpoint    string
	Bundle      string
	Description string
}

type machineRecord struct {
	common
	Name             string
	Uuid             string
	Address          string
	HardwareAddrs    []string
	Arch             string
	OS               string
	Workflow         string
	Stage            string
	BootEnv          string
	Context          string
	Profiles         []string
	Params           map[string]any
	Tasks            []string
	CurrentTask      int
	CurrentJob       string
	Runnable         bool
	Locked           bool
	Secret           string
	WorkflowComplete bool
	Pool             string
	PoolAllocated    bool
	PoolStatus       string
	RetryTaskAttempt int
	TaskErrorStacks  []any
	Fingerprint      map[string]any
	Partial          bool
}

type claim struct {
	Scope    string `json:"scope"`
	Action   string `json:"action"`
	Specific string `json:"specific"`
}

type templateInfo struct {
	Name     string
	Path     string
	ID       string
	Contents string
	Link     string
	Meta     map[string]string
}

// Task is .Task.
type Task struct {
	common
	Name           string
	Documentation  string
	Templates      []templateInfo
	RequiredParams []string
	OptionalParams []string
	Prerequisites  []string
	ExtraRoles     []string
	ExtraClaims    []claim
}

// Stage is .Stage.
type Stage struct {
	common
	Name           string
	Documentation  string
	BootEnv        string
	Tasks          []string
	Templates      []templateInfo
	RequiredParams []string
	OptionalParams []string
	Params         map[string]any
	Profiles       []string
	Reboot         bool
	RunnerWait     bool
}

type archInfo struct {
	IsoFile    string
	Sha256     string
	IsoUrl     string
	Kernel     string
	Initrds    []string
	BootParams string
	Loader     string
}

type osInfo struct {
	Name                   string
	Family                 string
	Codename               string
	Version                string
	IsoFile                string
	IsoSha256              string
	IsoUrl                 string
	SupportedArchitectures map[string]archInfo
}

type bootEnvRecord struct {
	common
	Name           string
	Documentation  string
	OS             osInfo
	Kernel         string
	Initrds        []string
	BootParams     string
	Templates      []templateInfo
	RequiredParams []string
	OptionalParams []string
	OnlyUnknown    bool
	Loaders        map[string]string
}

// Info is .Info.
type Info struct {
	Arch                     string         `json:"arch"`
	Os                       string         `json:"os"`
	Version                  string         `json:"version"`
	Id                       string         `json:"id"`
	LocalId                  string         `json:"local_id"`
	HaId                     string         `json:"ha_id"`
	ApiPort                  int            `json:"api_port"`
	FilePort                 int            `json:"file_port"`
	SecureFilePort           int            `json:"secure_file_port"`
	DhcpPort                 int            `json:"dhcp_port"`
	BinlPort                 int            `json:"binl_port"`
	TftpPort                 int            `json:"tftp_port"`
	TftpEnabled              bool           `json:"tftp_enabled"`
	DhcpEnabled              bool           `json:"dhcp_enabled"`
	BinlEnabled              bool           `json:"binl_enabled"`
	ProvisionerEnabled       bool           `json:"prov_enabled"`
	SecureProvisionerEnabled bool           `json:"secure_prov_enabled"`
	Address                  string         `json:"address"`
	ServerHostname           string         `json:"server_hostname"`
	Manager                  bool           `json:"manager"`
	Stats                    []any          `json:"stats"`
	Features                 []string       `json:"features"`
	Scopes                   map[string]any `json:"scopes"`
	License                  map[string]any
	Errors                   []string `json:"errors"`
	HaEnabled                bool     `json:"ha_enabled"`
	HaVirtualAddress         string   `json:"ha_virtual_address"`
	HaIsActive               bool     `json:"ha_is_active"`
	HaStatus                 string   `json:"ha_status"`
	HaActiveId               string   `json:"ha_active_id"`
	HaPassiveState           []any    `json:"ha_passive_state"`
}

// FamilyName is the distribution: Family, or else the first part of the name.
func (os osInfo) FamilyName() string {
	if os.Family != "" {
		return os.Family
	}
	family, _, _ := strings.Cut(os.Name, "-")
	return family
}

// FamilyType is the lineage of the distribution.
func (os osInfo) FamilyType() string {
	switch family := os.FamilyName(); family {
	case "centos", "redhat", "fedora", "scientificlinux":
		return "rhel"
	case "debian", "ubuntu":
		return "debian"
	default:
		return family
	}
}

// FamilyVersion is Version, or else the second part of the name.
func (os osInfo) FamilyVersion() string {
	if os.Version != "" {
		return os.Version
	}
	if parts := strings.Split(os.Name, "-"); len(parts) > 1 {
		return parts[1]
	}
	return ""
}

// VersionEq compares as many parts as the other version has: 7.3 is equal to 7, not to 7.3.11.
func (os osInfo) VersionEq(other string) bool {
	own, others := strings.Split(os.FamilyVersion(), "."), strings.Split(other, ".")
	if len(own) < len(others) {
		return false
	}
	for at, part := range others {
		if !samePart(own[at], part) {
			return false
		}
	}
	return true
}
