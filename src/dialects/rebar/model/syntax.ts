import type { Collection, Job, Machine, ObjectOf, Stage, Task, TemplateInfo } from "../objects.ts";
import type { World } from "../world.ts";
import { schemaErrors, valueErrors } from "../params/values.ts";
import { entryErrors } from "./entries.ts";
import {
  architectureErrors,
  isArchitecture,
  isIpv4,
  isMac,
  isUuid,
  machineNameErrors,
  nameErrors,
  paramNameErrors,
  userNameErrors,
} from "./names.ts";

type Checks = {
  readonly [C in Collection]: (object: ObjectOf[C], world: World, old: ObjectOf[C] | undefined) => readonly string[];
};

const checks: Checks = {
  machines: machineErrors,
  jobs: jobErrors,
  tasks: taskErrors,
  stages: stageErrors,
  workflows: (workflow) => [
    ...nameErrors("Invalid Name", workflow.Name),
    ...workflow.Stages.flatMap((stage) => nameErrors("Invalid Stage", stage)),
  ],
  bootenvs: (bootEnv) => [
    ...nameErrors("Invalid Name", bootEnv.Name),
    ...needsErrors(bootEnv),
    ...templateErrors(bootEnv.Templates, true),
    ...Object.keys(bootEnv.Loaders).flatMap((loader) =>
      loaders.has(loader) ? [] : [`${loader} is not a supported loader type`],
    ),
    ...Object.keys(bootEnv.OS.SupportedArchitectures).flatMap((name) =>
      isArchitecture(name) || architectureErrors(name)[0]?.startsWith("Please") === true
        ? []
        : [`${name} is not a supported architecture`],
    ),
  ],
  params: (param) => [...paramNameErrors("Invalid Name", param.Name), ...schemaErrors(param)],
  profiles: (profile, world, old) => [
    ...nameErrors("Invalid Name", profile.Name),
    ...profilesErrors(profile.Profiles),
    ...Object.keys(profile.Params).flatMap((name) => paramNameErrors("Invalid Param Name", name)),
    ...valueErrors(profile.Params, world, old?.Params),
  ],
  templates: (template) => machineNameErrors("Invalid ID", template.ID),
  contexts: (context) => nameErrors("Invalid Name", context.Name),
  users: (user) => [
    ...userNameErrors("Invalid Name", user.Name),
    ...user.Roles.flatMap((role) => nameErrors("Invalid Role", role)),
  ],
  roles: (role) => nameErrors("Invalid Name", role.Name),
  plugins: (plugin, world, old) => [
    ...nameErrors("Invalid Name", plugin.Name),
    ...valueErrors(plugin.Params, world, old?.Params),
  ],
};

const loaders = new Set(["386-pcbios", "amd64-uefi", "arm64-uefi"]);

/**
 * Errors that prevent storing an object. Messages have no `KEY: ` prefix. The renderer parses templates. Expensive
 * checks are skipped for values that are unchanged from `old`, which was stored before.
 */
export const syntaxErrors = <C extends Collection>(
  collection: C,
  object: ObjectOf[C],
  world: World,
  old?: ObjectOf[C],
): readonly string[] => checks[collection](object, world, old);

function machineErrors(machine: Machine, world: World, old: Machine | undefined): readonly string[] {
  return [
    ...(isUuid(machine.Uuid) ? [] : [`Invalid Uuid \`${machine.Uuid}\``]),
    ...architectureErrors(machine.Arch),
    ...machineNameErrors("Invalid Name", machine.Name),
    ...(machine.Name === old?.Name ? [] : takenName(machine, world)),
    ...(machine.Address === old?.Address ? [] : addressErrors(machine, world)),
    ...(machine.Stage === "" ? [] : nameErrors("Invalid Stage", machine.Stage)),
    ...(machine.BootEnv === "" ? [] : nameErrors("Invalid BootEnv", machine.BootEnv)),
    ...(machine.Workflow === "" ? [] : nameErrors("Invalid Workflow", machine.Workflow)),
    ...profilesErrors(machine.Profiles),
    ...(machine.Tasks === old?.Tasks ? [] : entryErrors(machine.Tasks, "machine")),
    ...machine.HardwareAddrs.flatMap((mac) => (isMac(mac) ? [] : [`Invalid Hardware Address \`${mac}\``])),
    ...valueErrors(machine.Params, world, old?.Params),
  ];
}

function takenName(machine: Machine, world: World): readonly string[] {
  const other = world.all("machines").find((one) => one.Name === machine.Name && one.Uuid !== machine.Uuid);
  return other === undefined ? [] : [`Name ${machine.Name} is already used by machine ${other.Uuid}`];
}

function addressErrors(machine: Machine, world: World): readonly string[] {
  const { Address } = machine;
  if (Address === "" || Address === "0.0.0.0") return [];
  if (!isIpv4(Address)) return [`Invalid Address \`${Address}\`: expected an IPv4 address`];
  const other = world.all("machines").find((one) => one.Address === Address && one.Uuid !== machine.Uuid);
  return other === undefined ? [] : [`Address ${Address} is already used by machine ${other.Uuid}`];
}

function profilesErrors(profiles: readonly string[]): readonly string[] {
  const firstByName = new Map<string, number>();
  return profiles.flatMap((profile, index) => {
    const first = firstByName.get(profile);
    if (first !== undefined) return [`Duplicate profile ${profile}: at ${first} and ${index}`];
    firstByName.set(profile, index);
    return nameErrors("Invalid Profile", profile);
  });
}

const states: readonly string[] = ["created", "running", "failed", "finished", "incomplete"];
const exitStates: readonly string[] = ["", "complete", "failed", "reboot", "poweroff", "stop"];

function jobErrors(job: Job): readonly string[] {
  return [
    ...(isUuid(job.Uuid) ? [] : [`Invalid Uuid \`${job.Uuid}\``]),
    ...(states.includes(job.State) ? [] : [`Invalid State \`${job.State}\``]),
    ...(exitStates.includes(job.ExitState) ? [] : [`Invalid ExitState \`${job.ExitState}\``]),
  ];
}

const needsErrors = (object: {
  readonly RequiredParams: readonly string[];
  readonly OptionalParams: readonly string[];
}): readonly string[] => [
  ...object.RequiredParams.flatMap((name) => paramNameErrors("Invalid Required Param", name)),
  ...object.OptionalParams.flatMap((name) => paramNameErrors("Invalid Optional Param", name)),
];

function stageErrors(stage: Stage, world: World, old: Stage | undefined): readonly string[] {
  return [
    ...nameErrors("Invalid Name", stage.Name),
    ...(stage.BootEnv === "" ? [] : nameErrors("Invalid BootEnv", stage.BootEnv)),
    ...needsErrors(stage),
    ...templateErrors(stage.Templates, true),
    ...profilesErrors(stage.Profiles),
    ...entryErrors(stage.Tasks, "stage"),
    ...valueErrors(stage.Params, world, old?.Params),
  ];
}

function taskErrors(task: Task, world: World): readonly string[] {
  return [
    ...nameErrors("Invalid Name", task.Name),
    ...needsErrors(task),
    ...templateErrors(task.Templates, false),
    ...systemErrors(task.Templates),
    ...prerequisiteErrors(task, world),
  ];
}

function templateErrors(templates: readonly TemplateInfo[], needsPath: boolean): readonly string[] {
  const firstByName = new Map<string, number>();
  return templates.flatMap((template, index) => {
    const place = `Template[${index}]`;
    const first = firstByName.get(template.Name);
    if (first === undefined) firstByName.set(template.Name, index);
    const sources = [template.ID, template.Contents, template.Link].filter((source) => source !== "");
    return [
      ...(template.Name === "" ? [`${place} is missing a Name`] : []),
      ...(first !== undefined && template.Name !== ""
        ? [`Template ${first} and ${index} have the same name ${template.Name}`]
        : []),
      ...(needsPath && template.Path === "" ? [`${place} is missing a Path`] : []),
      ...(sources.length === 0 ? [`${place} must have either an ID, a Link, or Contents set`] : []),
      ...(template.ID !== "" && template.Contents !== "" ? [`${place} has both an ID and Contents`] : []),
    ];
  });
}

const systems = ["any", "darwin", "freebsd", "linux", "netbsd", "openbsd", "solaris", "windows", "esxi"];

/** Either every template of a task has `Meta.OS`, or none has. */
function systemErrors(templates: readonly TemplateInfo[]): readonly string[] {
  const unknown = templates.flatMap((template, index) =>
    (template.Meta["OS"] ?? "")
      .split(",")
      .map((system) => system.trim())
      .filter((system) => system !== "" && !systems.includes(system))
      .map((system) => `Template[${index}]: Invalid OS value ${system}; expected some of ${systems.join(",")}`),
  );
  const withSystem = templates.filter((template) => (template.Meta["OS"] ?? "") !== "").length;
  const isMixed = withSystem > 0 && withSystem < templates.length;
  return [...unknown, ...(isMixed ? ["Cannot mix templates with OS metadata and templates without OS metadata"] : [])];
}

/** Prerequisites must exist and must not be cyclic. Visits each task once. */
function prerequisiteErrors(task: Task, world: World): readonly string[] {
  const missing = task.Prerequisites.filter((name) => name !== task.Name && world.get("tasks", name) === undefined);
  if (missing.length > 0) return missing.map((name) => `Task ${task.Name} missing prerequisite ${name}`);
  const needsOf = (name: string): readonly string[] =>
    name === task.Name ? task.Prerequisites : (world.get("tasks", name)?.Prerequisites ?? []);
  const done = new Set<string>();
  const open = new Set<string>();
  let isCyclic = false;
  let needsItself = false;
  const visit = (name: string): void => {
    if (open.has(name)) isCyclic = true;
    if (open.has(name) && name === task.Name) needsItself = true;
    if (open.has(name) || done.has(name)) return;
    open.add(name);
    for (const next of needsOf(name)) visit(next);
    open.delete(name);
    done.add(name);
  };
  visit(task.Name);
  if (needsItself) return [`Task ${task.Name} depends on itself!`];
  return isCyclic ? [`Task ${task.Name} depends on a task with a circular dependency`] : [];
}
