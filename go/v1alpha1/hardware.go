// Package v1alpha1 has the fields of Hardware as templates of shape A name them. The names of the types are part of what
// text/template says of fields that do not exist.
package v1alpha1

// Hardware is read for its spec only.
type Hardware struct {
	Spec HardwareSpec `json:"spec,omitempty"`
}

// HardwareSpec has what templates can see; other fields are kept out.
type HardwareSpec struct {
	Disks      []Disk            `json:"disks,omitempty"`
	Interfaces []Interface       `json:"interfaces,omitempty"`
	Metadata   *HardwareMetadata `json:"metadata,omitempty"`
	UserData   string            `json:"userData,omitempty"`
	VendorData string            `json:"vendorData,omitempty"`
}

type Disk struct {
	Device string `json:"device,omitempty"`
}

type Interface struct {
	Netboot     *Netboot `json:"netboot,omitempty"`
	Isoboot     *Isoboot `json:"isoboot,omitempty"`
	DHCP        *DHCP    `json:"dhcp,omitempty"`
	DisableDHCP bool     `json:"disableDhcp,omitempty"`
}

type Netboot struct {
	AllowPXE      *bool     `json:"allowPXE,omitempty"`
	AllowWorkflow *bool     `json:"allowWorkflow,omitempty"`
	IPXE          *IPXE     `json:"ipxe,omitempty"`
	OSIE          *OSIE     `json:"osie,omitempty"`
	PXELINUX      *PXELINUX `json:"pxelinux,omitempty"`
	RPI           *RPI      `json:"rpi,omitempty"`
}

type PXELINUX struct {
	Config string `json:"config,omitempty"`
}

type RPI struct {
	ConfigTxt    string `json:"configTxt,omitempty"`
	FirmwarePath string `json:"firmwarePath,omitempty"`
	SerialNum    string `json:"serialNum"`
}

type Isoboot struct {
	SourceISO string `json:"sourceISO,omitempty"`
}

type IPXE struct {
	URL      string `json:"url,omitempty"`
	Contents string `json:"contents,omitempty"`
	Binary   string `json:"binary,omitempty"`
}

type OSIE struct {
	BaseURL      string   `json:"baseURL,omitempty"`
	Kernel       string   `json:"kernel,omitempty"`
	Initrd       string   `json:"initrd,omitempty"`
	KernelParams []string `json:"kernelParams,omitempty"`
}

type DHCP struct {
	MAC                   string                 `json:"mac,omitempty"`
	Hostname              string                 `json:"hostname,omitempty"`
	DomainName            string                 `json:"domain_name,omitempty"`
	LeaseTime             int64                  `json:"lease_time,omitempty"`
	NameServers           []string               `json:"name_servers,omitempty"`
	TimeServers           []string               `json:"time_servers,omitempty"`
	Arch                  string                 `json:"arch,omitempty"`
	UEFI                  bool                   `json:"uefi,omitempty"`
	IfaceName             string                 `json:"iface_name,omitempty"`
	IP                    *IP                    `json:"ip,omitempty"`
	VLANID                string                 `json:"vlan_id,omitempty"`
	ClasslessStaticRoutes []ClasslessStaticRoute `json:"classless_static_routes,omitempty"`
	TFTPServerName        string                 `json:"tftp_server_name,omitempty"`
	BootFileName          string                 `json:"boot_file_name,omitempty"`
}

type IP struct {
	Address string `json:"address,omitempty"`
	Netmask string `json:"netmask,omitempty"`
	Gateway string `json:"gateway,omitempty"`
	Family  int64  `json:"family,omitempty"`
}

type ClasslessStaticRoute struct {
	DestinationDescriptor string `json:"destination_descriptor"`
	Router                string `json:"router"`
}
