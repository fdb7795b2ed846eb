package rebar

import (
	"fmt"
	"path"
	"strings"
)

// Env is .Env: the machine's boot environment, or the one whose templates are rendered.
type Env struct {
	*bootEnvRecord
	data *RenderData
}

func (e *Env) arch() string {
	if e.data.Machine == nil || e.data.Machine.Arch == "" {
		return "amd64"
	}
	return archOf(e.data.Machine.Arch)
}

// archInfo falls back to the fields of the boot environment itself.
func (e *Env) archInfo(arch string) archInfo {
	var found archInfo
	for name, info := range e.OS.SupportedArchitectures {
		if archOf(name) == archOf(arch) {
			found = info
		}
	}
	if found.Kernel == "" {
		found.Kernel = e.bootEnvRecord.Kernel
	}
	if len(found.Initrds) == 0 {
		found.Initrds = e.bootEnvRecord.Initrds
	}
	if found.BootParams == "" {
		found.BootParams = e.bootEnvRecord.BootParams
	}
	return found
}

func (e *Env) Kernel() string                  { return e.KernelFor(e.arch()) }
func (e *Env) KernelFor(arch string) string    { return e.archInfo(arch).Kernel }
func (e *Env) Initrds() []string               { return e.InitrdsFor(e.arch()) }
func (e *Env) InitrdsFor(arch string) []string { return e.archInfo(arch).Initrds }
func (e *Env) BootParams() (string, error)     { return e.BootParamsFor(e.arch()) }
func (e *Env) PathFor(protocol, file string) (string, error) {
	return e.PathForArch(protocol, file, e.arch())
}
func (e *Env) JoinInitrds(protocol string) (string, error) {
	return e.JoinInitrdsFor(protocol, e.arch())
}

// BootParamsFor are rendered. iPXE on UEFI finds the initrd by a parameter of its own.
func (e *Env) BootParamsFor(arch string) (string, error) {
	info := e.archInfo(arch)
	text, err := e.data.expand("machine", info.BootParams)
	if err != nil {
		return "", err
	}
	if strings.HasSuffix(e.data.path, ".ipxe") && len(info.Initrds) > 0 {
		text = "initrd=" + path.Base(info.Initrds[0]) + " " + text
	}
	return text, nil
}

// PathForArch is where the server has a file of the boot environment.
func (e *Env) PathForArch(protocol, file, arch string) (string, error) {
	parts := []string{"/", e.OS.Name}
	if name := archOf(arch); name != "amd64" {
		parts = append(parts, name)
	}
	if strings.HasSuffix(e.Name, "-install") {
		parts = append(parts, "install")
	}
	full := path.Join(append(parts, file)...)
	switch protocol {
	case "tftp":
		return strings.TrimPrefix(full, "/"), nil
	case "http":
		return e.data.ProvisionerURL() + full, nil
	}
	return "", fmt.Errorf("Unknown protocol %v", protocol)
}

func (e *Env) JoinInitrdsFor(protocol, arch string) (string, error) {
	var paths []string
	for _, initrd := range e.InitrdsFor(arch) {
		full, err := e.PathForArch(protocol, initrd, arch)
		if err != nil {
			return "", err
		}
		paths = append(paths, full)
	}
	return strings.Join(paths, " "), nil
}

// InstallUrl is the first install repository of the machine.
func (e *Env) InstallUrl() (string, error) {
	repos, err := e.data.InstallRepos()
	if err != nil {
		return "", err
	}
	if len(repos) == 0 {
		return "", fmt.Errorf("No install repository available")
	}
	return repos[0].URL, nil
}
