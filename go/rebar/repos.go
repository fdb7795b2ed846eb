package rebar

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Repo is an entry of the param package-repositories.
type Repo struct {
	Tag            string   `json:"tag"`
	OS             []string `json:"os"`
	Arch           string   `json:"arch"`
	URL            string   `json:"url"`
	PackageType    string   `json:"packageType"`
	RepoType       string   `json:"repoType"`
	InstallSource  bool     `json:"installSource"`
	SecuritySource bool     `json:"securitySource"`
	Distribution   string   `json:"distribution"`
	BootLoc        string   `json:"bootloc"`
	Components     []string `json:"components"`
	data           *RenderData
	target         string
}

func (repo *Repo) R() *RenderData           { return repo.data }
func (repo *Repo) Target() string           { return repo.target }
func (repo *Repo) JoinedComponents() string { return strings.Join(repo.Components, " ") }

func (repo *Repo) family() string {
	family, _, _ := strings.Cut(repo.target, "-")
	return family
}

func (repo *Repo) style() string {
	if repo.RepoType != "" {
		return repo.RepoType
	}
	switch repo.family() {
	case "redhat", "rhel", "centos", "scientificlinux", "rocky", "alma", "almalinux", "fedora":
		return "yum"
	case "debian", "ubuntu":
		return "apt"
	}
	return ""
}

// UrlFor is where the packages of a component are, by the layout of the distribution's mirrors.
func (repo *Repo) UrlFor(component string) string {
	if repo.InstallSource || repo.Distribution == "" || component == "" {
		return repo.URL
	}
	switch repo.family() {
	case "centos":
		return fmt.Sprintf("%s/%s/%s/$basearch", repo.URL, repo.Distribution, component)
	case "scientificlinux":
		return fmt.Sprintf("%s/%s/$basearch/%s", repo.URL, repo.Distribution, component)
	}
	return repo.URL
}

// Install is the repository in the language of the distribution's installer.
func (repo *Repo) Install() (string, error) {
	switch repo.style() {
	case "yum":
		return repo.kickstart()
	case "apt":
		return repo.preseed()
	}
	return "", repo.unknown()
}

func (repo *Repo) unknown() error {
	return fmt.Errorf("No idea how to handle repos for %s", repo.target)
}

func (repo *Repo) kickstart() (string, error) {
	proxy, err := repo.data.proxy()
	if err != nil {
		return "", err
	}
	line := func(name, url string, cost int) string {
		return fmt.Sprintf("repo --name=%q --baseurl=%s --cost=%d%s\n", name, url, cost, proxy)
	}
	if repo.InstallSource {
		return "install\nurl --url " + repo.URL + "\n" + line(repo.Tag, repo.URL, 100), nil
	}
	if len(repo.Components) == 0 {
		return line(repo.Tag, repo.URL, 200), nil
	}
	var lines strings.Builder
	for _, component := range repo.Components {
		lines.WriteString(line(repo.Tag+"-"+component, repo.UrlFor(component), 200))
	}
	return lines.String(), nil
}

func (repo *Repo) preseed() (string, error) {
	if !repo.InstallSource && repo.data.Env != nil && repo.data.Env.OS.Family == "debian" {
		return "d-i apt-setup/security_host string " + repo.URL + "\n", nil
	}
	url, err := parseURL(repo.URL)
	if err != nil {
		return "", err
	}
	if repo.InstallSource {
		return fmt.Sprintf("d-i mirror/protocol string %s\nd-i mirror/http/hostname string %s\nd-i mirror/http/directory string %s\n",
			url.Scheme, url.Host, url.Path), nil
	}
	return fmt.Sprintf("d-i apt-setup/security_host string %s\nd-i apt-setup/security_path string %s\n", url.Host, url.Path), nil
}

// Lines is the repository as the package manager's configuration has it.
func (repo *Repo) Lines() (string, error) {
	switch repo.style() {
	case "apt":
		return fmt.Sprintf("deb %s %s %s\n", repo.URL, repo.Distribution, repo.JoinedComponents()), nil
	case "yum":
	default:
		return "", repo.unknown()
	}
	section := func(id, name, url string) string {
		return fmt.Sprintf("\n[%s]\nname=%s\nbaseurl=%s\ngpgcheck=0\n", id, name, url)
	}
	if len(repo.Components) == 0 {
		return section(repo.Tag, repo.target+" - "+repo.Tag, repo.URL), nil
	}
	var lines strings.Builder
	for _, component := range repo.Components {
		lines.WriteString(section(repo.Tag+"-"+component, repo.Tag+" - "+component, repo.UrlFor(component)))
	}
	return lines.String(), nil
}

// reposWhere are the repositories that are wanted, in their order; none if the param cannot be read as repositories.
func (r *RenderData) reposWhere(isWanted func(*Repo) bool) ([]*Repo, error) {
	value, isThere, err := r.lookUp("package-repositories")
	if err != nil || !isThere {
		return []*Repo{}, err
	}
	var all []*Repo
	text, err := json.Marshal(value)
	if err != nil || json.Unmarshal(text, &all) != nil {
		return []*Repo{}, err
	}
	wanted := []*Repo{}
	for _, repo := range all {
		if repo == nil {
			continue
		}
		repo.data = r
		repo.target = r.targetOf(repo)
		if isWanted(repo) {
			wanted = append(wanted, repo)
		}
	}
	return wanted, nil
}

// targetOf is the machine's system if the repository is for it.
func (r *RenderData) targetOf(repo *Repo) string {
	if r.Machine != nil && slices.Contains(repo.OS, r.Machine.OS) {
		return r.Machine.OS
	}
	if len(repo.OS) > 0 {
		return repo.OS[0]
	}
	return ""
}

// Repos are those with one of the tags.
func (r *RenderData) Repos(tags ...string) ([]*Repo, error) {
	return r.reposWhere(func(repo *Repo) bool { return slices.Contains(tags, repo.Tag) })
}

// localRepo is the installation tree that the server itself has for the machine's system.
func (r *RenderData) localRepo() *Repo {
	if r.Machine == nil || r.request.LocalRepo == nil {
		return nil
	}
	repo := *r.request.LocalRepo
	repo.data, repo.target = r, r.Machine.OS
	repo.OS, repo.InstallSource = []string{r.Machine.OS}, true
	if repo.style() == "apt" {
		repo.Distribution, repo.Components = "stable", []string{"main", "restricted"}
	}
	return &repo
}

// MachineRepos are those for the machine's system and architecture. A tree on the server is the only source of installations;
// those of Debian and its kin cannot serve packages afterwards.
func (r *RenderData) MachineRepos() ([]*Repo, error) {
	if r.Machine == nil {
		return []*Repo{}, nil
	}
	local := r.localRepo()
	found, err := r.reposWhere(func(repo *Repo) bool {
		isForArch := archOf(repo.Arch) == archOf(r.Machine.Arch) || (repo.Arch == "any" && !repo.InstallSource)
		return isForArch && slices.Contains(repo.OS, r.Machine.OS) && !(local != nil && repo.InstallSource)
	})
	if err == nil && local != nil && local.style() != "apt" {
		found = slices.Insert(found, 0, local)
	}
	return found, err
}

// InstallRepos are the source of the installation and, after it, that of security updates.
func (r *RenderData) InstallRepos() ([]*Repo, error) {
	all, err := r.MachineRepos()
	if err != nil {
		return nil, err
	}
	install := r.localRepo()
	var security *Repo
	for _, repo := range all {
		if install == nil && repo.InstallSource {
			install = repo
		}
		if security == nil && repo.SecuritySource {
			security = repo
		}
	}
	found := []*Repo{}
	for _, repo := range []*Repo{install, security} {
		if install != nil && repo != nil {
			found = append(found, repo)
		}
	}
	return found, nil
}

func (r *RenderData) proxy() (string, error) {
	value, _, err := r.lookUp("proxy-servers")
	if err != nil {
		return "", err
	}
	if list, isList := value.([]any); isList && len(list) > 0 {
		return fmt.Sprintf(` --proxy="%v"`, list[0]), nil
	}
	return "", nil
}
