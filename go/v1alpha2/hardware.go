// Package v1alpha2 has the fields of Hardware as templates of shape B name them.
package v1alpha2

// Hardware is read for its spec only.
type Hardware struct {
	Spec HardwareSpec `json:"spec"`
}

type HardwareSpec struct {
	NetworkInterfaces map[string]NetworkInterface `json:"networkInterfaces"`
	IPXE              *IPXE                       `json:"ipxe"`
	OSIE              LocalObjectReference        `json:"osie"`
	KernelParams      []string                    `json:"kernelParams"`
	Instance          *Instance                   `json:"instance"`
	StorageDevices    []string                    `json:"storageDevices"`
	BMCRef            *LocalObjectReference       `json:"bmcRef"`
}

type NetworkInterface struct {
	DHCP           *DHCP `json:"dhcp"`
	DisableDHCP    bool  `json:"disableDhcp"`
	DisableNetboot bool  `json:"disableNetboot"`
}

type DHCP struct {
	IP               string   `json:"ip"`
	Netmask          string   `json:"netmask"`
	Gateway          *string  `json:"gateway"`
	Hostname         *string  `json:"hostname"`
	VLANID           *string  `json:"vlanId"`
	Nameservers      []string `json:"nameservers"`
	Timeservers      []string `json:"timeservers"`
	LeaseTimeSeconds *int64   `json:"leaseTimeSeconds"`
}

type IPXE struct {
	Inline *string `json:"inline"`
	URL    *string `json:"url"`
}

type Instance struct {
	Userdata   *string `json:"userdata"`
	Vendordata *string `json:"vendordata"`
}

type LocalObjectReference struct {
	Name string `json:"name"`
}
