// Package v1alpha2 has the fields of Hardware as templates of shape B name them.
package v1alpha2

import "encoding/json"

// Hardware is read for its spec only.
type Hardware struct {
	Spec HardwareSpec `json:"spec,omitempty"`
}

type HardwareSpec struct {
	NetworkInterfaces map[string]NetworkInterface `json:"networkInterfaces,omitempty"`
	IPXE              *IPXE                       `json:"ipxe,omitempty"`
	OSIE              LocalObjectReference        `json:"osie,omitempty"`
	KernelParams      []string                    `json:"kernelParams,omitempty"`
	Instance          *Instance                   `json:"instance,omitempty"`
	StorageDevices    StorageDevices              `json:"storageDevices,omitempty"`
	BMCRef            *LocalObjectReference       `json:"bmcRef,omitempty"`
}

type NetworkInterface struct {
	DHCP           *DHCP `json:"dhcp,omitempty"`
	DisableDHCP    bool  `json:"disableDhcp,omitempty"`
	DisableNetboot bool  `json:"disableNetboot,omitempty"`
}

type DHCP struct {
	IP               string   `json:"ip,omitempty"`
	Netmask          string   `json:"netmask,omitempty"`
	Gateway          *string  `json:"gateway,omitempty"`
	Hostname         *string  `json:"hostname,omitempty"`
	VLANID           *int64   `json:"vlanId,omitempty"`
	Nameservers      []string `json:"nameservers,omitempty"`
	Timeservers      []string `json:"timeservers,omitempty"`
	LeaseTimeSeconds *int64   `json:"leaseTimeSeconds,omitempty"`
}

type IPXE struct {
	Inline *string `json:"inline,omitempty"`
	URL    *string `json:"url,omitempty"`
}

type Instance struct {
	Userdata   *string `json:"userdata,omitempty"`
	Vendordata *string `json:"vendordata,omitempty"`
}

type LocalObjectReference struct {
	Name string `json:"name,omitempty"`
}

// defaultLeaseTimeSeconds applies where the document says nothing.
const defaultLeaseTimeSeconds int64 = 86400

// UnmarshalJSON fills in the default lease time.
func (dhcp *DHCP) UnmarshalJSON(text []byte) error {
	type plain DHCP
	seconds := defaultLeaseTimeSeconds
	read := plain{LeaseTimeSeconds: &seconds}
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	*dhcp = DHCP(read)
	return nil
}

// StorageDevices are paths. Documents of the task-based draft have objects with a name.
type StorageDevices []string

// UnmarshalJSON reads both forms.
func (devices *StorageDevices) UnmarshalJSON(text []byte) error {
	var items []json.RawMessage
	if err := json.Unmarshal(text, &items); err != nil {
		return err
	}
	*devices = nil
	for _, item := range items {
		var device struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(item, &device) != nil {
			if err := json.Unmarshal(item, &device.Name); err != nil {
				return err
			}
		}
		*devices = append(*devices, device.Name)
	}
	return nil
}
