package v1alpha1

type HardwareMetadata struct {
	State        string                `json:"state"`
	BondingMode  int64                 `json:"bonding_mode"`
	Manufacturer *MetadataManufacturer `json:"manufacturer"`
	Instance     *MetadataInstance     `json:"instance"`
	Custom       *MetadataCustom       `json:"custom"`
	Facility     *MetadataFacility     `json:"facility"`
}

type MetadataManufacturer struct {
	ID   string `json:"id"`
	Slug string `json:"slug"`
}

type MetadataFacility struct {
	PlanSlug        string `json:"plan_slug"`
	PlanVersionSlug string `json:"plan_version_slug"`
	FacilityCode    string `json:"facility_code"`
}

type MetadataCustom struct {
	PreinstalledOperatingSystemVersion *MetadataInstanceOperatingSystem `json:"preinstalled_operating_system_version"`
	PrivateSubnets                     []string                         `json:"private_subnets"`
}

type MetadataInstance struct {
	ID                  string                           `json:"id"`
	State               string                           `json:"state"`
	Hostname            string                           `json:"hostname"`
	AllowPxe            bool                             `json:"allow_pxe"`
	Rescue              bool                             `json:"rescue"`
	OperatingSystem     *MetadataInstanceOperatingSystem `json:"operating_system"`
	AlwaysPxe           bool                             `json:"always_pxe"`
	IpxeScriptURL       string                           `json:"ipxe_script_url"`
	Ips                 []*MetadataInstanceIP            `json:"ips"`
	Userdata            string                           `json:"userdata"`
	CryptedRootPassword string                           `json:"crypted_root_password"`
	Tags                []string                         `json:"tags"`
	Storage             *MetadataInstanceStorage         `json:"storage"`
	SSHKeys             []string                         `json:"ssh_keys"`
	NetworkReady        bool                             `json:"network_ready"`
}

type MetadataInstanceOperatingSystem struct {
	Slug     string `json:"slug"`
	Distro   string `json:"distro"`
	Version  string `json:"version"`
	ImageTag string `json:"image_tag"`
	OsSlug   string `json:"os_slug"`
}

type MetadataInstanceIP struct {
	Address    string `json:"address"`
	Netmask    string `json:"netmask"`
	Gateway    string `json:"gateway"`
	Family     int64  `json:"family"`
	Public     bool   `json:"public"`
	Management bool   `json:"management"`
}
