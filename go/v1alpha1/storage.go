package v1alpha1

type MetadataInstanceStorage struct {
	Disks       []*MetadataInstanceStorageDisk       `json:"disks"`
	Raid        []*MetadataInstanceStorageRAID       `json:"raid"`
	Filesystems []*MetadataInstanceStorageFilesystem `json:"filesystems"`
}

type MetadataInstanceStorageDisk struct {
	Device     string                                  `json:"device"`
	WipeTable  bool                                    `json:"wipe_table"`
	Partitions []*MetadataInstanceStorageDiskPartition `json:"partitions"`
}

type MetadataInstanceStorageDiskPartition struct {
	Label    string `json:"label"`
	Number   int64  `json:"number"`
	Size     int64  `json:"size"`
	Start    int64  `json:"start"`
	TypeGUID string `json:"type_guid"`
}

type MetadataInstanceStorageRAID struct {
	Name    string   `json:"name"`
	Level   string   `json:"level"`
	Devices []string `json:"devices"`
	Spare   int64    `json:"spare"`
}

type MetadataInstanceStorageFilesystem struct {
	Mount *MetadataInstanceStorageMount `json:"mount"`
}

type MetadataInstanceStorageMount struct {
	Device string                                         `json:"device"`
	Format string                                         `json:"format"`
	Files  []*MetadataInstanceStorageFile                 `json:"files"`
	Create *MetadataInstanceStorageMountFilesystemOptions `json:"create"`
	Point  string                                         `json:"point"`
}

type MetadataInstanceStorageFile struct {
	Path     string `json:"path"`
	Contents string `json:"contents"`
	Mode     int64  `json:"mode"`
	UID      int64  `json:"uid"`
	GID      int64  `json:"gid"`
}

type MetadataInstanceStorageMountFilesystemOptions struct {
	Force   bool     `json:"force"`
	Options []string `json:"options"`
}
