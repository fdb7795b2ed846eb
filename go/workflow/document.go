// Package workflow renders what Tinkerbell's templates describe, in both of its shapes.
package workflow

import (
	"fmt"

	"gopkg.in/yaml.v3"
)

// Document is what a rendered template of shape A says. Scalars in fields of type string keep the text they have in the
// document (`0644` stays `0644`), which is yaml.v3's way.
type Document struct {
	Version       string  `yaml:"version" json:"version"`
	Name          string  `yaml:"name" json:"name"`
	ID            string  `yaml:"id" json:"-"`
	GlobalTimeout Seconds `yaml:"global_timeout" json:"globalTimeout"`
	Tasks         []Task  `yaml:"tasks" json:"tasks"`
}

// Task is what one worker does.
type Task struct {
	Name        string            `yaml:"name" json:"name"`
	Worker      string            `yaml:"worker" json:"worker"`
	Volumes     []string          `yaml:"volumes" json:"volumes"`
	Environment map[string]string `yaml:"environment" json:"environment"`
	Actions     []Action          `yaml:"actions" json:"actions"`
}

// Action is one container.
type Action struct {
	Name        string            `yaml:"name" json:"name"`
	Image       string            `yaml:"image" json:"image"`
	Timeout     Seconds           `yaml:"timeout" json:"timeout"`
	Command     []string          `yaml:"command" json:"command"`
	Volumes     []string          `yaml:"volumes" json:"volumes"`
	Environment map[string]string `yaml:"environment" json:"environment"`
	Pid         string            `yaml:"pid" json:"pid"`
	Namespaces  Namespaces        `yaml:"namespaces" json:"namespaces"`
	// Read by releases long ago and accepted since, whatever they hold.
	OnTimeout yaml.Node `yaml:"on-timeout" json:"-"`
	OnFailure yaml.Node `yaml:"on-failure" json:"-"`
}

// Namespaces are those of the machine that a container shares.
type Namespaces struct {
	Pid     string `yaml:"pid" json:"pid"`
	Network string `yaml:"network" json:"network"`
}

// Seconds is a limit of time.
type Seconds int64

// maxSeconds is 100 years. Instants much later than that cannot be stored.
const maxSeconds = 100 * 365 * 24 * 3600

// UnmarshalYAML refuses limits that are too long, with their line.
func (seconds *Seconds) UnmarshalYAML(node *yaml.Node) error {
	if err := node.Decode((*int64)(seconds)); err != nil {
		return err
	}
	if *seconds > maxSeconds {
		problem := fmt.Sprintf("line %d: a timeout of %s seconds is longer than 100 years (%d seconds)", node.Line, node.Value, maxSeconds)
		return &yaml.TypeError{Errors: []string{problem}}
	}
	return nil
}
