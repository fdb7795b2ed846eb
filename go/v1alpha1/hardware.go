// Package v1alpha1 has the fields of Hardware as templates of shape A name them. The names of the types are part of what
// text/template says of fields that do not exist.
package v1alpha1

// Hardware is read for its spec only.
type Hardware struct {
	Spec HardwareSpec `json:"spec"`
}

// HardwareSpec has what templates can see; other fields are kept out.
type HardwareSpec struct {
	Disks      []Disk            `json:"disks"`
	Interfaces []Interface       `json:"interfaces"`
	Metadata   *HardwareMetadata `json:"metadata"`
	UserData   string            `json:"userData"`
	VendorData string            `json:"vendorData"`
}

type Disk struct {
	Device string `json:"device"`
}

type Interface struct {
	Netboot     *Netboot `json:"netboot"`
	Isoboot     *Isoboot `json:"isoboot"`
	DHCP        *DHCP    `json:"dhcp"`
	DisableDHCP bool     `json:"disableDhcp"`
}

type Netboot struct {
	AllowPXE      *bool `json:"allowPXE"`
	AllowWorkflow *bool `json:"allowWorkflow"`
	IPXE          *IPXE `json:"ipxe"`
	OSIE          *OSIE `json:"osie"`
}

type Isoboot struct {
	SourceISO string `json:"sourceISO"`
}

type IPXE struct {
	URL      string `json:"url"`
	Contents string `json:"contents"`
	Binary   string `json:"binary"`
}

type OSIE struct {
	BaseURL      string   `json:"baseURL"`
	Kernel       string   `json:"kernel"`
	Initrd       string   `json:"initrd"`
	KernelParams []string `json:"kernelParams"`
}

type DHCP struct {
	MAC                   string                 `json:"mac"`
	Hostname              string                 `json:"hostname"`
	DomainName            string                 `json:"domain_name"`
	LeaseTime             int64                  `json:"lease_time"`
	NameServers           []string               `json:"name_servers"`
	TimeServers           []string               `json:"time_servers"`
	Arch                  string                 `json:"arch"`
	UEFI                  bool                   `json:"uefi"`
	IfaceName             string                 `json:"iface_name"`
	IP                    *IP                    `json:"ip"`
	VLANID                string                 `json:"vlan_id"`
	ClasslessStaticRoutes []ClasslessStaticRoute `json:"classless_static_routes"`
	TFTPServerName        string                 `json:"tftp_server_name"`
	BootFileName          string                 `json:"boot_file_name"`
}

type IP struct {
	Address string `json:"address"`
	Netmask string `json:"netmask"`
	Gateway string `json:"gateway"`
	Family  int64  `json:"family"`
}

type ClasslessStaticRoute struct {
	DestinationDescriptor string `json:"destination_descriptor"`
	Router                string `json:"router"`
}
